// What ptc/executor/generate.py writes: kernels made of the rules of ptc/ops, and tables of them.
#ifndef PTC_EXECUTOR_GENERATED_H
#define PTC_EXECUTOR_GENERATED_H

#include "ptc_kernel.h"

namespace ptc {

// `a`: results, then arguments in the order of the schema; `s`: sizes. What it returns is a ptc_status.
typedef int GeneratedKernel(Run* run, void* const* a, const int64_t* s);

namespace exec {

// Operands are promoted to a common type; its class says which kernel computes.
enum PointwiseClass { kF32, kF64, kI64, kBool, kPointwiseClasses };
enum PointwiseFlag {
  kViaFloat = 1,    // integers and bools become f32 first
  kIdentity = 2,    // a class without kernel: the first operand is the result
  kSeparate = 4,    // each operand is looked at in its own type: whether it is not 0
  kNoHalf = 8       // nothing for 16-bit floats
};
struct PointwiseRow {
  const char* name;
  const char* form;      // a letter an argument: o operand (a tensor or a number), n number, s static
  const char* statics;   // values of the static arguments, with | between
  uint32_t rounded;      // bit i: a number as argument i is rounded to the common type before it is widened
  uint32_t flags;
  const char* results;   // a letter a class: c common type, b bool, l i64, f f32, - none
  GeneratedKernel* kernels[kPointwiseClasses];
};
extern const PointwiseRow pointwise_rows[];
extern const int pointwise_row_count;

// Along rows [o, n], or along the middle of [o, n, i] (`..._inner`): `s` has these sizes.
struct RowsKernel {
  const char* name;
  GeneratedKernel* kernels[kPointwiseClasses];
};
extern const RowsKernel rows_kernels[];
extern const int rows_kernel_count;

}  // namespace exec
}  // namespace ptc

#endif
