// Operators whose result's shape depends on data, on tensors of any shape, strides and element
// type: nonzero, masked_select, unique, repeat_interleave, bincount.
//
// Owns two phases of each: `_count` tells the size, `_fill` writes the result, row-major unless
// told otherwise, into memory of the caller's. Elements come in row-major order. Knows nothing of
// who allocates and what a result is bound to.
#ifndef PTC_DATA_SIZED_H
#define PTC_DATA_SIZED_H

#include "ptc_view.h"

namespace ptc {

// Values of ptc_status that operators report.
enum { SIZED_OK = 0, SIZED_NO_MEMORY = 6, SIZED_REFUSED = 9 };

namespace detail {

// f(E()) with the unsigned type E of the elements' size.
template <class F> inline void with_bits(const TensorView& x, const F& f) {
  switch (x.itemsize()) {
    case 1:
      return f((uint8_t)0);
    case 2:
      return f((uint16_t)0);
    case 4:
      return f((uint32_t)0);
    case 8:
      return f((uint64_t)0);
    default:
      return f((unsigned __int128)0);
  }
}

// The bits of an element that make it differ from zero: not the signs of floats. NaN is not zero.
template <class E> inline E telling_bits(const TensorView& x) {
  const E all = (E) ~(E)0;
  if (x.is_floating()) return (E)(all >> 1);
  if (x.code != VIEW_COMPLEX) return all;
  const E part = (E)(((E)1 << (x.bits / 2 - 1)) - 1);
  return (E)(part << x.bits / 2 | part);
}

// visit(walk) for every element in row-major order.
template <class F> inline void each_element(const TensorView& x, const F& visit) {
  const int64_t count = x.count();
  ViewWalk walk(x);
  for (int64_t i = 0; i < count; ++i, walk.advance()) visit(walk);
}

// The elements along the last dimension; one for a tensor without dimensions.
struct Row {
  int64_t length = 1, stride = 0;
  explicit Row(const TensorView& x) {
    if (!x.ndim) return;
    length = x.dims[x.ndim - 1];
    stride = x.strides[x.ndim - 1];
  }
};
// A view's first dimensions: walking it visits the starts of the rows.
inline TensorView without_last(TensorView x) {
  if (x.ndim) --x.ndim;
  return x;
}

inline void copy_element(void* to, int64_t index, const TensorView& x, int64_t at) {
  const int64_t size = x.itemsize();
  char* const out = (char*)to + index * size;
  const char* const in = (const char*)x.data + at * size;
  switch (size) {
    case 1:
      *out = *in;
      break;
    case 2:
      __builtin_memcpy(out, in, 2);
      break;
    case 4:
      __builtin_memcpy(out, in, 4);
      break;
    case 8:
      __builtin_memcpy(out, in, 8);
      break;
    default:
      __builtin_memcpy(out, in, (__SIZE_TYPE__)size);
  }
}

}  // namespace detail

// --- nonzero, masked_select ---------------------------------------------------------------------

inline int64_t nonzero_count(const TensorView& x) {
  const detail::Row row(x);
  int64_t count = 0;
  detail::with_bits(x, [&](auto bits) {
    const auto telling = detail::telling_bits<decltype(bits)>(x);
    detail::each_element(detail::without_last(x), [&](const ViewWalk& walk) {
      for (int64_t i = 0; i < row.length; ++i)
        count += (x.at<decltype(bits)>(walk.position + i * row.stride) & telling) != 0;
    });
  });
  return count;
}
// Index `dim` of result `row` goes to out[row * row_stride + dim * dim_stride]. Eager's result has
// the strides 1 and count.
inline void nonzero_fill(const TensorView& x, int64_t* out, int64_t row_stride,
                         int64_t dim_stride) {
  const detail::Row row(x);
  const int last = x.ndim - 1;
  int64_t left = x.ndim ? nonzero_count(x) : 0;
  detail::with_bits(x, [&](auto bits) {
    const auto telling = detail::telling_bits<decltype(bits)>(x);
    detail::each_element(detail::without_last(x), [&](const ViewWalk& walk) {
      // Every index is written and only some are kept: which ones no branch predictor knows.
      for (int64_t i = 0; i < row.length && left; ++i) {
        for (int d = 0; d < last; ++d) out[d * dim_stride] = walk.index[d];
        out[last * dim_stride] = i;
        const auto element = x.at<decltype(bits)>(walk.position + i * row.stride);
        const bool keep = (element & telling) != 0;
        out += keep ? row_stride : 0;
        left -= keep;
      }
    });
  });
}
inline void nonzero_fill(const TensorView& x, int64_t* out) { nonzero_fill(x, out, x.ndim, 1); }

inline int64_t masked_select_count(const TensorView& mask) { return nonzero_count(mask); }
// Shapes are equal; `mask` is of bools.
inline void masked_select_fill(const TensorView& x, const TensorView& mask, void* out) {
  const detail::Row row(x), mask_row(mask);
  const TensorView mask_rows = detail::without_last(mask);
  int64_t left = masked_select_count(mask);
  ViewWalk chosen(mask_rows);
  detail::with_bits(x, [&](auto bits) {
    typedef decltype(bits) E;
    E* to = (E*)out;
    detail::each_element(detail::without_last(x), [&](const ViewWalk& walk) {
      for (int64_t i = 0; i < row.length && left; ++i) {
        *to = x.at<E>(walk.position + i * row.stride);
        const bool keep = mask.at<uint8_t>(chosen.position + i * mask_row.stride) != 0;
        to += keep;
        left -= keep;
      }
      chosen.advance();
    });
  });
}

// --- unique -------------------------------------------------------------------------------------

// The elements of a tensor in order, equal ones in their own order; NaN comes last and equals
// nothing.
struct Unique {
  TensorView view = {};
  int64_t size = 0;
  uint64_t* keys = nullptr;  // sorted
  int64_t* order = nullptr;  // row-major numbers of the elements that the keys are of
  void* block = nullptr;

  Unique() = default;
  ~Unique() { __builtin_free(block); }
  Unique(const Unique&) = delete;
  Unique& operator=(const Unique&) = delete;

  // Whether sorted element i is the first of its value.
  bool begins(int64_t i) const {
    return i == 0 || keys[i] != keys[i - 1] || (view.is_floating() && keys[i] == NOT_A_NUMBER);
  }

  static constexpr uint64_t NOT_A_NUMBER = ~0ull, SIGN = 1ull << 63;
  // Unsigned numbers in the order of the elements; both zeros are one.
  static uint64_t key(const TensorView& x, int64_t at) {
    if (!x.is_floating()) return (uint64_t)x.int_at(at) ^ (x.code == VIEW_INT ? SIGN : 0);
    const double value = x.float_at(at) + 0.0;
    if (value != value) return NOT_A_NUMBER;
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits & SIGN ? ~bits : bits | SIGN;
  }
  // Radix sort by bytes, from the last to the first; bytes that all keys share take no pass.
  void sort(uint64_t* spare_keys, int64_t* spare_order) {
    uint64_t all_ones = ~0ull, any_ones = 0;
    for (int64_t i = 0; i < size; ++i) {
      all_ones &= keys[i];
      any_ones |= keys[i];
    }
    for (int shift = 0; shift < 64; shift += 8) {
      if (((all_ones ^ any_ones) >> shift & 255) == 0) continue;
      int64_t place[257] = {0};
      for (int64_t i = 0; i < size; ++i) ++place[(keys[i] >> shift & 255) + 1];
      for (int byte = 0; byte < 256; ++byte) place[byte + 1] += place[byte];
      for (int64_t i = 0; i < size; ++i) {
        const int64_t to = place[keys[i] >> shift & 255]++;
        spare_keys[to] = keys[i];
        spare_order[to] = order[i];
      }
      uint64_t* const other_keys = keys;
      int64_t* const other_order = order;
      keys = spare_keys;
      order = spare_order;
      spare_keys = other_keys;
      spare_order = other_order;
    }
  }
};

// `x` and its dims stay as they are until `unique_fill`.
inline int unique_count(Unique& u, const TensorView& x, int64_t* count) {
  u.view = x;
  u.size = x.count();
  __builtin_free(u.block);
  u.block = __builtin_malloc((__SIZE_TYPE__)(u.size + 1) * 32);
  if (!u.block) return SIZED_NO_MEMORY;
  u.keys = (uint64_t*)u.block;
  u.order = (int64_t*)(u.keys + 2 * u.size);
  int64_t number = 0;
  detail::each_element(x, [&](const ViewWalk& walk) {
    u.keys[number] = Unique::key(x, walk.position);
    u.order[number] = number;
    ++number;
  });
  u.sort(u.keys + u.size, u.order + u.size);
  *count = 0;
  for (int64_t i = 0; i < u.size; ++i) *count += u.begins(i);
  return SIZED_OK;
}
// Of each value its first element. `inverse` (row-major with the tensor's shape) and `counts` may
// be null.
inline void unique_fill(const Unique& u, void* values, int64_t* inverse, int64_t* counts) {
  int64_t group = -1;
  for (int64_t i = 0; i < u.size; ++i) {
    if (u.begins(i)) {
      ++group;
      int64_t at = 0, number = u.order[i];
      for (int d = u.view.ndim - 1; d >= 0; --d) {
        at += number % u.view.dims[d] * u.view.strides[d];
        number /= u.view.dims[d];
      }
      detail::copy_element(values, group, u.view, at);
      if (counts) counts[group] = 0;
    }
    if (counts) ++counts[group];
    if (inverse) inverse[u.order[i]] = group;
  }
}

// --- repeat_interleave, bincount ----------------------------------------------------------------

// `repeats` are ints. Refused: a negative number.
inline int repeat_interleave_count(const TensorView& repeats, int64_t* count) {
  int64_t total = 0;
  int status = SIZED_OK;
  detail::each_element(repeats, [&](const ViewWalk& walk) {
    const int64_t times = repeats.int_at(walk.position);
    if (times < 0) status = SIZED_REFUSED;
    if (__builtin_add_overflow(total, times, &total) && !status) status = SIZED_NO_MEMORY;
  });
  *count = status ? 0 : total;
  return status;
}
// The number of each element as often as the element says, in the elements' type.
inline void repeat_interleave_fill(const TensorView& repeats, void* out) {
  int64_t number = 0, at = 0;
  const int64_t one = 0, stride = 1;
  const TensorView source = {&number, &one, &stride, 0, repeats.code, repeats.bits};
  detail::each_element(repeats, [&](const ViewWalk& walk) {
    const int64_t times = repeats.int_at(walk.position);
    for (int64_t i = 0; i < times; ++i) detail::copy_element(out, at++, source, 0);
    ++number;
  });
}

// `x` holds ints. Refused: a negative one, or a negative length.
inline int bincount_count(const TensorView& x, int64_t minlength, int64_t* count) {
  int64_t most = minlength - 1;
  int status = minlength < 0 ? SIZED_REFUSED : SIZED_OK;
  detail::each_element(x, [&](const ViewWalk& walk) {
    const int64_t value = x.int_at(walk.position);
    if (value < 0) status = SIZED_REFUSED;
    if (value > most) most = value;
  });
  if (__builtin_add_overflow(most, (int64_t)1, count) && !status) status = SIZED_NO_MEMORY;
  if (status) *count = 0;
  return status;
}
inline void bincount_fill(const TensorView& x, int64_t count, int64_t* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = 0;
  detail::each_element(x, [&](const ViewWalk& walk) { ++out[x.int_at(walk.position)]; });
}

}  // namespace ptc

#endif
