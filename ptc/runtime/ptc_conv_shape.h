// The shape of a convolution, and what follows from it alone. Used by the kernels and by whoever
// plans memory.
#ifndef PTC_CONV_SHAPE_H
#define PTC_CONV_SHAPE_H

#include <stdint.h>

namespace ptc {

// Sizes of a 3-D convolution; 2-D is id = od = kd = 1, 1-D is also ih = oh = kh = 1. Input [n, id,
// ih, iw, ic], output [n, od, oh, ow, oc], s* strides, p* padding before the first element, d*
// dilations. In a type's static `conv`, -1 marks what is unknown at compile time (n and spatial
// sizes only).
struct Conv {
  int64_t n, id, ih, iw, ic, od, oh, ow, oc;
  int64_t kd, kh, kw, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups;
  // 1: a 3x3 convolution of stride 1 may be computed by ptc_winograd.h where that is faster. For
  // filters packed once; oh and ow must be known at compile time. An input that is not finite then
  // spoils its whole 4x4 tile of outputs. 0 (the default): never.
  int64_t winograd = 0;

  constexpr int64_t taps() const { return kd * kh * kw; }
  constexpr int64_t group_inputs() const { return ic / groups; }
  constexpr int64_t group_outputs() const { return oc / groups; }
  // A matrix product over pixels.
  constexpr bool pointwise() const {
    return groups == 1 && taps() == 1 && sd == 1 && sh == 1 && sw == 1 && pd == 0 && ph == 0 &&
           pw == 0;
  }
};

}  // namespace ptc

#endif
