// Matrix products as other parts of the executor call them.
#ifndef PTC_EXECUTOR_OPERATORS_LINEAR_H
#define PTC_EXECUTOR_OPERATORS_LINEAR_H

#include "../operators.h"

namespace ptc::exec {

// What happens to finished sums: alpha * sum + beta * addend + residual, then relu. Addend and residual are broadcast to
// the result; both may be null.
struct ProductEnd {
  double alpha = 1, beta = 1;
  const Tensor* addend = nullptr;
  const Tensor* residual = nullptr;
  bool relu = false;
};

// x[b, m, k] times y[b, k, n], of one type and any strides. `packed`: where y may be kept in packed form (a constant of the
// program, b = 1); null where it may not.
Tensor matrix_product(const Call& call, const Tensor& x, const Tensor& y, const ProductEnd& end = {}, Kept* packed = nullptr);

// ptc::linear of the first three arguments of the call: x, weight, bias.
Tensor linear(const Call& call, const ProductEnd& end);

}  // namespace ptc::exec

#endif
