// A tensor as functions of the control flow runtime see it: any strides, any element type.
//
// Owns TensorView and the reading of single elements. Not for kernels: those know their types.
#ifndef PTC_VIEW_H
#define PTC_VIEW_H

#include <stdint.h>

namespace ptc {

// Codes of DLDataType.
enum {
  VIEW_INT = 0,
  VIEW_UINT = 1,
  VIEW_FLOAT = 2,
  VIEW_BFLOAT = 4,
  VIEW_COMPLEX = 5,
  VIEW_BOOL = 6
};

// Strides are in elements. Positions of elements are in elements from `data` as well.
struct TensorView {
  const void* data;
  const int64_t* dims;
  const int64_t* strides;
  int ndim;
  uint8_t code, bits;

  int64_t itemsize() const { return (bits + 7) / 8; }
  int64_t count() const {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= dims[d];
    return n;
  }
  bool is_floating() const { return code == VIEW_FLOAT || code == VIEW_BFLOAT; }

  template <class T> T at(int64_t position) const {
    T value;
    __builtin_memcpy(&value, (const char*)data + position * (int64_t)sizeof(T), sizeof(T));
    return value;
  }
  // An int, unsigned or bool element; the bits of a large uint64.
  int64_t int_at(int64_t position) const {
    const bool is_signed = code == VIEW_INT;
    switch (bits) {
      case 8:
        return is_signed ? at<int8_t>(position) : at<uint8_t>(position);
      case 16:
        return is_signed ? at<int16_t>(position) : at<uint16_t>(position);
      case 32:
        return is_signed ? at<int32_t>(position) : (int64_t)at<uint32_t>(position);
      default:
        return at<int64_t>(position);
    }
  }
  // A float element; of a complex one its real (0) or imaginary (1) part.
  double float_at(int64_t position, int part = 0) const {
    if (code == VIEW_COMPLEX) {
      const int64_t half = 2 * position + part;
      return bits == 64 ? at<float>(half) : at<double>(half);
    }
    if (bits == 64) return at<double>(position);
    if (bits == 32) return at<float>(position);
    const uint32_t stored = at<uint16_t>(position);
    return code == VIEW_BFLOAT ? of_bits(stored << 16) : of_half(stored);
  }

 private:
  static float of_bits(uint32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
  }
  static double of_half(uint32_t half) {
    const uint32_t sign = (half & 0x8000) << 16, body = half & 0x7FFF;
    if (body >= 0x7C00) return of_bits(sign | 0x7F800000 | (body & 0x3FF) << 13);
    // The half's exponent field in a float's place is 112 too small; scaling by 2^112 is exact.
    return (double)of_bits(sign | body << 13) * 5192296858534827628530496329220096.0;
  }
};

// The position of every element in row-major order, without division.
struct ViewWalk {
  enum { MOST = 64 };
  const TensorView& view;
  int64_t index[MOST];
  int64_t position = 0;

  explicit ViewWalk(const TensorView& v) : view(v) {
    for (int d = 0; d < v.ndim; ++d) index[d] = 0;
  }
  void advance() {
    for (int d = view.ndim - 1; d >= 0; --d) {
      position += view.strides[d];
      if (++index[d] < view.dims[d]) return;
      position -= view.strides[d] * view.dims[d];
      index[d] = 0;
    }
  }
};

}  // namespace ptc

#endif
