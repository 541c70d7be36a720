// Sorting and top-k of one line of memory, with torch's order: NaN is the largest value, equals keep their
// places.
//
// Owns the order and the algorithms (merge sort; a heap of k). Knows nothing of shapes: the caller walks the
// lines.
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
// The same with ties broken by position: a total order.
template <class T> PTC_INLINE bool comes_first(const T* v, int64_t i, int64_t j, bool descending) {
  if (precedes(v[i], v[j], descending)) return true;
  if (precedes(v[j], v[i], descending)) return false;
  return i < j;
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

// Move the root of a heap whose root comes last to its place.
template <class T> inline void sift_down(const T* v, int64_t* heap, int64_t size, bool descending) {
  int64_t at = 0;
  const int64_t item = heap[0];
  for (;;) {
    int64_t child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && comes_first(v, heap[child], heap[child + 1], descending)) ++child;
    if (!comes_first(v, item, heap[child], descending)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = item;
}

// The first k positions in order, in `heap`.
template <class T> inline void select_first(const T* v, int64_t n, int64_t k, bool descending, int64_t* heap) {
  int64_t size = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (size < k) {
      int64_t at = size++;
      for (; at > 0 && comes_first(v, heap[(at - 1) / 2], i, descending); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
      heap[at] = i;
    } else if (comes_first(v, i, heap[0], descending)) {
      heap[0] = i;
      sift_down(v, heap, size, descending);
    }
  }
  while (size > 1) {
    const int64_t last = heap[0];
    heap[0] = heap[--size];
    sift_down(v, heap, size, descending);
    heap[size] = last;
  }
}

}  // namespace detail

// Bytes of scratch for lines of n elements.
template <class T> constexpr int64_t sort_scratch(int64_t n) {
  return n * ((int64_t)sizeof(T) + 16) + 64;
}

// The first k of n elements (all of them: a sort) into `values` and `positions`. Strides in elements.
template <class T>
inline void sort_line(const T* x, int64_t stride, int64_t n, int64_t k, bool descending, T* values,
                      int64_t values_stride, int64_t* positions, int64_t positions_stride, void* scratch) {
  int64_t* order = (int64_t*)scratch;
  T* line = (T*)(order + 2 * n);
  for (int64_t i = 0; i < n; ++i) line[i] = x[i * stride];
  // A heap wins while few elements enter it.
  if (k * 8 < n)
    detail::select_first(line, n, k, descending, order);
  else
    order = detail::merge_sort(line, n, descending, order, order + n);
  for (int64_t i = 0; i < k; ++i) {
    values[i * values_stride] = line[order[i]];
    positions[i * positions_stride] = order[i];
  }
}

}  // namespace ptc

#endif
