// Convolution as other parts of the executor call it.
#ifndef PTC_EXECUTOR_OPERATORS_CONVOLUTION_H
#define PTC_EXECUTOR_OPERATORS_CONVOLUTION_H

#include "common.h"

namespace ptc::exec {

// What happens to finished sums before they are stored: the bias is added, then `residual` (of the result's sizes), then
// negative values become zero.
struct ConvolutionEnd {
  const Tensor* residual = nullptr;
  bool relu = false;
};

// aten::convolution of the first nine arguments of the call. Results lie in memory with the channels innermost.
Tensor convolve(const Call& call, const ConvolutionEnd& end);

// x[n, c, spatial...] as n, d, h, w, c: row-major memory, a view where it lies so already.
Tensor channels_inside(const Tensor& x);
// The way back, with `spatial` dimensions.
Tensor channels_first(const Tensor& x, int spatial);

}  // namespace ptc::exec

#endif
