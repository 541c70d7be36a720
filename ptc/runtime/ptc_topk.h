// The k largest or smallest elements of one line of memory, equal ones chosen and placed as torch does.
//
// torch leaves both to the C++ library's selection, whose order of equals depends on every comparison made. A
// program that branches on a position sees it, so the same functions of the same library are called here. Knows
// nothing of shapes: the caller walks the lines.
#ifndef PTC_TOPK_H
#define PTC_TOPK_H

#include <algorithm>

#include "ptc_kernel.h"

namespace ptc {

namespace detail {

template <class T> struct Candidate {
  T value;
  int64_t place;
};

// Whether a is taken before b: NaN is the largest value.
template <class T> struct Preferred {
  bool largest;
  bool operator()(const Candidate<T>& a, const Candidate<T>& b) const {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (largest) return (a_nan && !b_nan) || a.value > b.value;
    return (b_nan && !a_nan) || a.value < b.value;
  }
};

}  // namespace detail

// Bytes of scratch for lines of n elements.
template <class T> constexpr int64_t topk_scratch(int64_t n) {
  return n * (int64_t)sizeof(detail::Candidate<T>) + 64;
}

// The first k of n elements into `values` and `positions`; `ordered`: in order. Strides in elements.
template <class T>
inline void topk_line(const T* x, int64_t stride, int64_t n, int64_t k, bool largest, bool ordered, T* values,
                      int64_t values_stride, int64_t* positions, int64_t positions_stride, void* scratch) {
  detail::Candidate<T>* const line = (detail::Candidate<T>*)scratch;
  for (int64_t i = 0; i < n; ++i) line[i] = detail::Candidate<T>{x[i * stride], i};
  const detail::Preferred<T> preferred{largest};
  if (k * 64 <= n) {  // torch's bound
    std::partial_sort(line, line + k, line + n, preferred);
  } else {
    std::nth_element(line, line + (k - 1), line + n, preferred);
    if (ordered) std::sort(line, line + (k - 1), preferred);
  }
  for (int64_t i = 0; i < k; ++i) {
    values[i * values_stride] = line[i].value;
    positions[i * positions_stride] = line[i].place;
  }
}

}  // namespace ptc

#endif
