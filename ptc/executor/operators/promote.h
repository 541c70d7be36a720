// The common type of tensors and numbers, by torch's rules (torch.result_type).
#ifndef PTC_EXECUTOR_PROMOTE_H
#define PTC_EXECUTOR_PROMOTE_H

#include "../value.h"

namespace ptc::exec {

// bool < integer < float < complex.
inline int kind_rank(DType d) { return d == DType::Bool ? 0 : is_complex(d) ? 3 : is_floating(d) ? 2 : 1; }

// Tensors with dimensions decide; those without, then numbers, matter only if they are of a higher kind, and a number
// counts with its default type.
class Promotion {
 public:
  void add(const Value& value) {
    if (value.is_tensor()) return add(value.tensor());
    if (value.is_bool()) join(2, DType::Bool);
    else if (value.is_int()) join(2, DType::I64);
    else if (value.is_complex()) join(2, DType::C64);
    else join(2, DType::F32);
  }
  void add(const Tensor& tensor) { join(tensor.rank() ? 0 : 1, tensor.dtype); }
  DType result() const {
    bool any = false;
    DType found = DType::F32;
    for (int i = 0; i < 3; ++i)
      if (has_[i] && (!any || kind_rank(known_[i]) > kind_rank(found))) found = joined(found, known_[i], any), any = true;
    if (!any) fail("no operands");
    return found;
  }

 private:
  // A complex number with a double tensor is a double complex.
  static DType joined(DType found, DType higher, bool any) {
    return any && higher == DType::C64 && found == DType::F64 ? DType::C128 : higher;
  }
  void join(int rank, DType dtype) {
    known_[rank] = has_[rank] ? promote_types(known_[rank], dtype) : dtype;
    has_[rank] = true;
  }
  bool has_[3] = {};
  DType known_[3];
};

inline DType result_type(const Tensor& a, const Tensor& b) {
  Promotion p;
  p.add(a);
  p.add(b);
  return p.result();
}
inline DType result_type(const Value& a, const Value& b) {
  Promotion p;
  p.add(a);
  p.add(b);
  return p.result();
}
// Integers and bools become the default float type.
inline DType float_type(DType d) { return is_floating(d) || is_complex(d) ? d : DType::F32; }

}  // namespace ptc::exec

#endif
