// How operators are written and found.
//
// A kernel is `Value kernel(Call& call)`: it looks at its positional arguments, all of the operator's schema in order with
// defaults written out (text version 2), and gives a tensor, a number, or a list of results. A file of kernels ends with
// its table:
//
//   static Value relu(Call& c) { ... }
//   static const OperatorRow rows[] = {{"aten::relu", relu}, {"aten::add.Tensor", add}};
//   extern const OperatorTable activation_operators = {rows, sizeof rows / sizeof *rows};
//
// and operator_list.cpp names the tables. The overload `default` is not written in names.
//
// Operands may have any strides; results too (views are free). Functional: see Tensor::only_owner for when an operand's
// memory may be taken over. Throw with `fail(...)`: the operator's name and the user's line are added by who calls.
#ifndef PTC_EXECUTOR_OPERATORS_H
#define PTC_EXECUTOR_OPERATORS_H

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "ptc_kernel.h"
#include "threads.h"
#include "value.h"

namespace ptc::exec {

struct Type;  // module.h

// What an instruction keeps for a model's life, shared by its sessions: packed weights, plans. Made once.
class Kept {
 public:
  // The object, made by `make()` (a std::shared_ptr<T>) at the first call; later calls give the same.
  template <class T, class F> const T& get(const F& make) {
    std::call_once(once_, [&] { object_ = std::static_pointer_cast<void>(std::shared_ptr<T>(make())); });
    return *(const T*)object_.get();
  }

 private:
  std::once_flag once_;
  std::shared_ptr<void> object_;
};

struct Call {
  const char* name = "";             // "aten::add.Tensor"
  std::vector<Value>& args;
  const Type* result = nullptr;      // what the text says of the result; null where it says nothing (module.h)
  Pool* pool = nullptr;              // may be null: one thread
  ptc::Run* run = nullptr;           // scratch for the kernels of ptc/runtime (`run->reserve(bytes)`), its pool is `pool`
  Kept* kept = nullptr;              // of this instruction; null where nothing may be kept
  uint64_t constants = 0;            // bit i: argument i is a weight that no run writes
  bool first_only = false;           // of several results only the first is looked at

  int count() const { return (int)args.size(); }
  const Value& operator[](int i) const {
    if (i >= (int)args.size()) fail("argument %d is missing", i);
    return args[(size_t)i];
  }
  bool has(int i) const { return i < (int)args.size() && !args[(size_t)i].is_none(); }
  const Tensor& tensor(int i) const { return (*this)[i].tensor(); }
  // Null for None or a missing argument.
  const Tensor* tensor_or_null(int i) const { return has(i) ? &args[(size_t)i].tensor() : nullptr; }
  std::vector<Tensor> tensors(int i) const;                    // of a list of tensors
  int64_t integer(int i) const { return (*this)[i].integer(); }
  int64_t integer(int i, int64_t otherwise) const { return has(i) ? integer(i) : otherwise; }
  double number(int i) const { return (*this)[i].number(); }
  double number(int i, double otherwise) const { return has(i) ? number(i) : otherwise; }
  bool flag(int i) const { return (*this)[i].truth(); }
  bool flag(int i, bool otherwise) const { return has(i) ? flag(i) : otherwise; }
  Dims dims(int i) const;                                      // a list of ints, or one int
  Dims dims(int i, int count) const;                           // the same; one number is repeated `count` times
  DType dtype(int i, DType otherwise) const { return has(i) ? (*this)[i].dtype() : otherwise; }
  const std::string& text(int i) const { return (*this)[i].text(); }
  // Whether argument i has the same content in every run, so that what is computed from it may be `kept`.
  bool is_constant(int i) const { return kept && i < 64 && (constants >> i & 1); }
};

typedef Value (*Kernel)(Call& call);

struct OperatorRow {
  const char* name;
  Kernel kernel;
};
struct OperatorTable {
  const OperatorRow* rows;
  int count;
};

// Null where there is no such operator. A perfect lookup is not needed: it happens at load.
Kernel find_operator(const std::string& name);
// Every name, sorted, for `ptc-exec --operators` and tests.
std::vector<std::string> operator_names();

// Calling a kernel from another one: `call_kernel(aten_softmax, call, {x, -1, false})`.
inline Value call_kernel(Kernel kernel, const Call& from, std::vector<Value> args) {
  Call inner{from.name, args, nullptr, from.pool, from.run, nullptr, 0, false};
  return kernel(inner);
}

}  // namespace ptc::exec

#endif
