// What several families of kernels need: numbers as elements, types that a call asks for, tables.
#ifndef PTC_EXECUTOR_OPERATORS_COMMON_H
#define PTC_EXECUTOR_OPERATORS_COMMON_H

#include "../module.h"
#include "../operators.h"

namespace ptc::exec {

// A number of the program as an element: an int keeps its 64 bits.
template <class T> inline T element_of(const Value& number) {
  if (number.is_float()) return cast<T>(number.number());
  if (number.is_complex()) return cast<T>(number.complex_number());
  if (number.is_tensor()) return number.tensor().item<T>();
  return cast<T>(number.integer());
}

// dst[...] = number.
inline void fill_number(const Tensor& dst, const Value& number) {
  visit_all(dst.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T element = element_of<T>(number);
    RowWalk<1> walk(dst.sizes, {&dst.strides});
    for (int64_t r = 0; r < walk.rows; ++r) {
      walk.seek(r);
      T* const row = dst.data<T>() + walk.offset[0];
      for (int64_t i = 0; i < walk.length; ++i) row[i * walk.stride[0]] = element;
    }
  });
}

inline Tensor full_number(DType dtype, const Dims& sizes, const Value& number) {
  Tensor result = empty(dtype, sizes);
  fill_number(result, number);
  return result;
}

// The type of argument i, else that of the result in the text, else `otherwise`.
inline DType wanted_dtype(const Call& c, int i, DType otherwise) {
  if (c.has(i)) return c[i].dtype();
  return c.result && c.result->kind == Type::Kind::Tensor ? c.result->dtype : otherwise;
}
inline DType result_dtype(const Call& c, DType otherwise) {
  return c.result && c.result->kind == Type::Kind::Tensor ? c.result->dtype : otherwise;
}

// Positions along a dimension of `size`, checked; negative ones count from the end where `wraps`.
inline int64_t checked_position(int64_t position, int64_t size, bool wraps) {
  if (position < (wraps ? -size : 0) || position >= size)
    fail("index %lld is out of range for a dimension of %lld", (long long)position, (long long)size);
  return position < 0 ? position + size : position;
}

// out[..., i, ...] = x[..., places[i], ...] along `dim`; places are checked.
Tensor select_along(const Tensor& x, int dim, const std::vector<int64_t>& places);
// x[start:end:step] with Python's rules for starts and ends.
Tensor slice_view(const Tensor& x, int64_t dim, const Value& start, const Value& end, int64_t step);
Tensor diagonal_view(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2);
Tensor concatenate(const std::vector<Tensor>& tensors, int64_t dim, DType dtype);
// Row-major positions of the elements that are not 0: n rows of one number for each dimension.
Tensor nonzero(const Tensor& x);

#define PTC_EXEC_TABLE(NAME, ROWS)            \
  extern const OperatorTable NAME;            \
  const OperatorTable NAME = {ROWS, (int)(sizeof ROWS / sizeof *ROWS)}

}  // namespace ptc::exec

#endif
