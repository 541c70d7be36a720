// A tensor as functions that compute with any layout see it. Owns TensorView, knows nothing else.
#ifndef PTC_VIEW_H
#define PTC_VIEW_H

#include <stdint.h>

namespace ptc {

// `strides` in elements; `code` and `bits` as in DLPack (bool: code 6, 8 bits).
struct TensorView {
  const void* data;
  const int64_t* dims;
  const int64_t* strides;
  int ndim;
  uint8_t code, bits;
};

}  // namespace ptc

#endif
