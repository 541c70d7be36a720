// Sorting of one line of memory, with torch's order: NaN is the largest value, equals keep their places.
//
// Owns the order and the algorithm (merge sort). Knows nothing of shapes: the caller walks the lines.
#ifndef PTC_SORT_H
#define PTC_SORT_H

#include "ptc_kernel.h"

namespace ptc {

namespace detail {

// Whether value a goes strictly before b.
template <class T> PTC_INLINE bool precedes(T a, T b, bool descending) {
  const bool a_nan = a != a, b_nan = b != b;
  if (descending) return a_nan ? !b_nan : !b_nan && a > b;
  return b_nan ? !a_nan : !a_nan && a < b;
}
// Positions 0 .. n-1 in order. `order` and `spare` hold n each; the result is in the one returned.
template <class T>
inline int64_t* merge_sort(const T* v, int64_t n, bool descending, int64_t* order, int64_t* spare) {
  constexpr int64_t run = 16;
  for (int64_t begin = 0; begin < n; begin += run) {
    const int64_t end = begin + run < n ? begin + run : n;
    for (int64_t i = begin; i < end; ++i) {
      int64_t j = i;
      for (; j > begin && precedes(v[i], v[order[j - 1]], descending); --j) order[j] = order[j - 1];
      order[j] = i;
    }
  }
  for (int64_t width = run; width < n; width *= 2) {
    for (int64_t begin = 0; begin < n; begin += 2 * width) {
      const int64_t middle = begin + width < n ? begin + width : n;
      const int64_t end = begin + 2 * width < n ? begin + 2 * width : n;
      int64_t a = begin, b = middle;
      for (int64_t to = begin; to < end; ++to) {
        const bool second = a >= middle || (b < end && precedes(v[order[b]], v[order[a]], descending));
        spare[to] = second ? order[b++] : order[a++];
      }
    }
    int64_t* swap = order;
    order = spare;
    spare = swap;
  }
  return order;
}

}  // namespace detail

// Bytes of scratch for lines of n elements.
template <class T> constexpr int64_t sort_scratch(int64_t n) {
  return n * ((int64_t)sizeof(T) + 16) + 64;
}

// n elements in order into `values` and `positions`. Strides in elements.
template <class T>
inline void sort_line(const T* x, int64_t stride, int64_t n, bool descending, T* values, int64_t values_stride,
                      int64_t* positions, int64_t positions_stride, void* scratch) {
  int64_t* order = (int64_t*)scratch;
  T* line = (T*)(order + 2 * n);
  for (int64_t i = 0; i < n; ++i) line[i] = x[i * stride];
  order = detail::merge_sort(line, n, descending, order, order + n);
  for (int64_t i = 0; i < n; ++i) {
    values[i * values_stride] = line[order[i]];
    positions[i * positions_stride] = order[i];
  }
}

}  // namespace ptc

#endif
