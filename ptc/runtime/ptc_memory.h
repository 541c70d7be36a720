// Vectors from and to memory: whole, partial, strided, indexed, masked, lane by lane. Comes with
// ptc_vec.h, which it is part of.
//
// ptc_vec.h comes first even for who includes this file alone; it includes this file at its end.
#include "ptc_vec.h"

#ifndef PTC_MEMORY_H
#define PTC_MEMORY_H

namespace ptc {

template <class T, int W> PTC_INLINE vec<T, W> load(const T* p) {
  typedef vec<T, W> V;
  if constexpr (V::split)
    return V::pair(load<T, W / 2>(p), load<T, W / 2>(p + W / 2));
  else
    return V::wrap((typename V::native) * (const typename detail::reg<T, W>::unaligned*)p);
}

template <class T, int W> PTC_INLINE void store(T* p, vec<T, W> x) {
  if constexpr (vec<T, W>::split) {
    store(p, x.lo);
    store(p + W / 2, x.hi);
  } else {
    *(typename detail::reg<T, W>::unaligned*)p = x.v;
  }
}

#if defined(__AVX__)
// All bits set in the first n lanes of `size` bytes, none in the others; V has 32 bytes.
template <class V> PTC_INLINE V first_lanes(int n, i64 size) {
  static const int ones_then_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  V mask;
  __builtin_memcpy(&mask.v, (const char*)ones_then_zeros + 32 - n * size, 32);
  return mask;
}
#endif

// The first n lanes (0 <= n <= W) from memory, the others zero. Touches no byte beyond them.
template <class T, int W> PTC_INLINE vec<T, W> load_n(const T* p, int n) {
  typedef vec<T, W> V;
#if defined(PTC_AVX512)
  if constexpr (sizeof(T) == 4 && W == 16) {
    V r;
    unsigned k = (1u << n) - 1;
    __asm__("kmovw %2, %%k1\n\tvmovups (%1), %0%{%%k1%}%{z%}"
            : "=v"(r.v)
            : "r"(p), "r"(k), "m"(*(const char (*)[64])p)
            : "k1");
    return r;
  }
#endif
#if defined(__AVX__)
  // No array on the stack here: some GCC (PR 109780, before 12.4 and 13.3) keep no alignment for
  // one that is reached through a register only.
  if constexpr (sizeof(T) * W == 32 && sizeof(T) >= 4 && sizeof(typename V::E) == sizeof(T)) {
    V r;
    const V mask = first_lanes<V>(n, sizeof(T));
    if constexpr (sizeof(T) == 4)
      __asm__("vmaskmovps (%1), %2, %0"
              : "=x"(r.v)
              : "r"(p), "x"(mask.v), "m"(*(const char (*)[32])p));
    else
      __asm__("vmaskmovpd (%1), %2, %0"
              : "=x"(r.v)
              : "r"(p), "x"(mask.v), "m"(*(const char (*)[32])p));
    return r;
  }
#endif
  typename V::E lanes[W] = {};
  for (int i = 0; i < W && i < n; ++i) __builtin_memcpy(&lanes[i], p + i, sizeof(T));
  return load<T, W>((const T*)lanes);
}

// The first n lanes (0 <= n <= W) to memory; no other byte is written.
template <class T, int W> PTC_INLINE void store_n(T* p, vec<T, W> x, int n) {
#if defined(PTC_AVX512)
  if constexpr (sizeof(T) == 4 && W == 16) {
    unsigned k = (1u << n) - 1;
    __asm__ volatile("kmovw %2, %%k1\n\tvmovups %0, (%1)%{%%k1%}"
                     :
                     : "v"(x.v), "r"(p), "r"(k)
                     : "k1", "memory");
    return;
  }
#endif
#if defined(__AVX__)
  if constexpr (sizeof(T) * W == 32 && sizeof(T) >= 4 &&
                sizeof(typename vec<T, W>::E) == sizeof(T)) {
    const vec<T, W> mask = first_lanes<vec<T, W>>(n, sizeof(T));
    if constexpr (sizeof(T) == 4)
      __asm__ volatile("vmaskmovps %0, %1, (%2)" ::"x"(x.v), "x"(mask.v), "r"(p) : "memory");
    else
      __asm__ volatile("vmaskmovpd %0, %1, (%2)" ::"x"(x.v), "x"(mask.v), "r"(p) : "memory");
    return;
  }
#endif
  typename vec<T, W>::E lanes[W];
  store((T*)lanes, x);
  for (int i = 0; i < W && i < n; ++i) __builtin_memcpy(p + i, &lanes[i], sizeof(T));
}

// p[0], p[stride], p[2 * stride], ...: n lanes, the others zero.
template <class T, int W> PTC_INLINE vec<T, W> load_strided(const T* p, i64 stride, int n = W) {
  typename vec<T, W>::E lanes[W] = {};
  for (int i = 0; i < W && i < n; ++i) __builtin_memcpy(&lanes[i], p + i * stride, sizeof(T));
  return load<T, W>((const T*)lanes);
}
template <class T, int W> PTC_INLINE void store_strided(T* p, i64 stride, vec<T, W> x, int n = W) {
  typename vec<T, W>::E lanes[W];
  store((T*)lanes, x);
  for (int i = 0; i < W && i < n; ++i) __builtin_memcpy(p + i * stride, &lanes[i], sizeof(T));
}

// base[index[lane]]: n lanes, the others zero and their indices unread.
template <class T, int W, class I>
PTC_INLINE vec<T, W> gather(const T* base, vec<I, W> index, int n = W) {
  typename vec<T, W>::E lanes[W] = {};
  I at[W];
  store(at, index);
  for (int i = 0; i < W && i < n; ++i) __builtin_memcpy(&lanes[i], base + at[i], sizeof(T));
  return load<T, W>((const T*)lanes);
}
// base[index[lane]] = x[lane], in lane order, for the first n lanes.
template <class T, int W, class I>
PTC_INLINE void scatter(T* base, vec<I, W> index, vec<T, W> x, int n = W) {
  typename vec<T, W>::E lanes[W];
  I at[W];
  store((T*)lanes, x);
  store(at, index);
  for (int i = 0; i < W && i < n; ++i) __builtin_memcpy(base + at[i], &lanes[i], sizeof(T));
}

// Lanes where m holds from p[lane], `other` elsewhere; memory is read only where m holds.
template <class T, int W> PTC_INLINE vec<T, W> load_where(const T* p, mask<W> m, vec<T, W> other) {
#if defined(PTC_AVX512)
  if constexpr (sizeof(T) == 4 && W == 16) {
    vec<T, W> r = other;
    __asm__("vpmovd2m %2, %%k1\n\tvmovups (%1), %0%{%%k1%}"
            : "+v"(r.v)
            : "r"(p), "v"(m.m.v), "m"(*(const char(*)[64])p)
            : "k1");
    return r;
  }
#endif
  // Padding is thin: most vectors are inside or outside altogether.
  if (all(m)) return load<T, W>(p);
  if (!any(m)) return other;
  typename vec<T, W>::E lanes[W];
  int32_t on[W];
  store((T*)lanes, other);
  store(on, m.m);
  for (int i = 0; i < W; ++i)
    if (on[i]) __builtin_memcpy(&lanes[i], p + i, sizeof(T));
  return load<T, W>((const T*)lanes);
}
// base[index[lane]] where m holds, `other` elsewhere.
template <class T, int W, class I>
PTC_INLINE vec<T, W> gather_where(const T* base, vec<I, W> index, mask<W> m, vec<T, W> other) {
  if (!any(m)) return other;
  typename vec<T, W>::E lanes[W];
  int32_t on[W];
  I at[W];
  store((T*)lanes, other);
  store(on, m.m);
  store(at, index);
  for (int i = 0; i < W; ++i)
    if (on[i]) __builtin_memcpy(&lanes[i], base + at[i], sizeof(T));
  return load<T, W>((const T*)lanes);
}

// f(lane) on each lane: for operations without a vector form.
template <class F, class T, int W> PTC_INLINE vec<T, W> map_lanes(F f, vec<T, W> x) {
  typename vec<T, W>::E lanes[W];
  store((T*)lanes, x);
  for (int i = 0; i < W; ++i) lanes[i] = f(lanes[i]);
  return load<T, W>((const T*)lanes);
}
template <class F, class T, int W> PTC_INLINE vec<T, W> map_lanes(F f, vec<T, W> x, vec<T, W> y) {
  typename vec<T, W>::E a[W], b[W];
  store((T*)a, x);
  store((T*)b, y);
  for (int i = 0; i < W; ++i) a[i] = f(a[i], b[i]);
  return load<T, W>((const T*)a);
}

}  // namespace ptc

#endif
