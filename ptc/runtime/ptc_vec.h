// SIMD vectors of any element type and lane count, on the compiler's vector extensions.
//
// Owns vec<T, W>, mask<W>, select and reductions. Two parts have files of their own and come with
// it: ptc_memory.h (loads and stores) and ptc_convert.h (conversion between element types). Knows
// nothing of maths functions (ptc_math.h) or kernels.
//
// Lane count: PTC_VLEN is the number of f32 lanes of a native register (16 AVX-512, 8 AVX, 4 else).
// Generated code uses W = PTC_VLEN for every element type of a kernel; a vec wider than a register
// (f64, i64) is a pair of halves. W is a power of two. bool is mask<W> in registers and one byte in
// memory.
//
// Every operation has a scalar overload of the same name where that makes sense (select, convert,
// maximum, ...), so that a scalar tail is the same text as the vector body.
#ifndef PTC_VEC_H
#define PTC_VEC_H

#include <stdint.h>

#include "ptc_moves.h"

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#define PTC_AVX512 1
#define PTC_VLEN 16
#elif defined(__AVX__)
#define PTC_VLEN 8
#else
#define PTC_VLEN 4
#endif
#define PTC_VBYTES (PTC_VLEN * 4)
#define PTC_INLINE inline __attribute__((always_inline))
#define PTC_NOINLINE __attribute__((noinline))

namespace ptc {

typedef int64_t i64;

// Element types without arithmetic: 16-bit floats in memory. Convert to float to compute.
struct bf16 {
  uint16_t bits;
};
struct f16 {
  uint16_t bits;
};

template <class T, int W> struct vec;
template <int W> struct mask;

namespace detail {

template <bool C, class A, class B> struct pick {
  typedef A type;
};
template <class A, class B> struct pick<false, A, B> {
  typedef B type;
};
// The arithmetic type that holds an element: 16-bit floats are held as their bits.
template <class T> struct raw {
  typedef T type;
};
template <> struct raw<bf16> {
  typedef uint16_t type;
};
template <> struct raw<f16> {
  typedef uint16_t type;
};
template <int Bytes> struct int_of;
template <> struct int_of<1> {
  typedef int8_t type;
};
template <> struct int_of<2> {
  typedef int16_t type;
};
template <> struct int_of<4> {
  typedef int32_t type;
};
template <> struct int_of<8> {
  typedef int64_t type;
};
template <class A, class B> struct same {
  static constexpr bool value = false;
};
template <class A> struct same<A, A> {
  static constexpr bool value = true;
};

template <int... I> struct seq {};
#if defined(__clang__)
template <class, int... I> using seq_of = seq<I...>;
template <int N> using iota_seq = __make_integer_seq<seq_of, int, N>;
#else
template <int N> using iota_seq = seq<__integer_pack(N)...>;
#endif

template <class T, int W> struct reg {
  typedef typename raw<T>::type element;
  typedef element type __attribute__((vector_size(sizeof(element) * W)));
  // The same bytes in memory at any address, allowed to alias anything.
  typedef element unaligned
      __attribute__((vector_size(sizeof(element) * W), aligned(1), may_alias));
};

template <class T, int W, bool Split> struct storage {
  typename reg<T, W>::type v;
};
template <class T, int W> struct storage<T, W, true> {
  vec<T, W / 2> lo, hi;
};
template <class T, int W> constexpr bool is_split = (int)sizeof(T) * W > PTC_VBYTES;

template <class V, int... I> PTC_INLINE auto low_half(V v, seq<I...>) {
  return __builtin_shufflevector(v, v, I...);
}
template <class V, int... I> PTC_INLINE auto high_half(V v, seq<I...>) {
  return __builtin_shufflevector(v, v, (I + (int)sizeof...(I))...);
}
template <class V, int... I> PTC_INLINE auto join(V a, V b, seq<I...>) {
  return __builtin_shufflevector(a, b, I...);
}
template <class V, int... I> PTC_INLINE V reversed(V v, seq<I...>) {
  return __builtin_shufflevector(v, v, ((int)sizeof...(I) - 1 - I)...);
}
template <class V, class E, int... I> PTC_INLINE V counting(E first, seq<I...>) {
  return V{(E)(first + (E)I)...};
}

}  // namespace detail

// --- vec ---------------------------------------------------------------------------------------

#define PTC_BINARY(OP)                              \
  friend PTC_INLINE vec operator OP(vec a, vec b) { \
    if constexpr (split)                            \
      return pair(a.lo OP b.lo, a.hi OP b.hi);      \
    else                                            \
      return wrap(a.v OP b.v);                      \
  }
#define PTC_COMPARE(OP)                                 \
  friend PTC_INLINE mask<W> operator OP(vec a, vec b) { \
    if constexpr (split)                                \
      return mask<W>::join(a.lo OP b.lo, a.hi OP b.hi); \
    else                                                \
      return mask<W>::narrow((signed_reg)(a.v OP b.v)); \
  }

// W lanes of T. Arithmetic is C's on each lane (integers wrap; shifts need 0 <= n < bits; integer
// division by zero traps). A T converts to a vec by broadcast: `x * 0.5f`.
template <class T, int W> struct vec : detail::storage<T, W, detail::is_split<T, W>> {
  static constexpr bool split = detail::is_split<T, W>;
  static constexpr int lanes = W;
  typedef T element;
  typedef typename detail::raw<T>::type E;
  typedef typename detail::int_of<sizeof(T)>::type I;
  typedef typename detail::reg<T, split ? W / 2 : W>::type native;
  typedef typename detail::reg<I, split ? W / 2 : W>::type signed_reg;
  typedef vec<T, (W > 1 ? W / 2 : 1)> half;

  PTC_INLINE vec() {}
  PTC_INLINE vec(T x) {
    E e;
    __builtin_memcpy(&e, &x, sizeof e);
    if constexpr (split) {
      this->lo = half(x);
      this->hi = half(x);
    } else {
      this->v = e - native{};  // x - 0 keeps -0.0, x + 0 would not
    }
  }
  static PTC_INLINE vec wrap(native v) {
    vec r;
    r.v = v;
    return r;
  }
  static PTC_INLINE vec pair(half lo, half hi) {
    vec r;
    if constexpr (split) {
      r.lo = lo;
      r.hi = hi;
    } else {
      r.v = detail::join(lo.v, hi.v, detail::iota_seq<W>());
    }
    return r;
  }
  PTC_INLINE half low() const {
    if constexpr (split)
      return this->lo;
    else
      return half::wrap(detail::low_half(this->v, detail::iota_seq<W / 2>()));
  }
  PTC_INLINE half high() const {
    if constexpr (split)
      return this->hi;
    else
      return half::wrap(detail::high_half(this->v, detail::iota_seq<W / 2>()));
  }
  // One lane; a run-time `i` goes through memory.
  PTC_INLINE T get(int i) const {
    E e;
    if constexpr (split)
      return i < W / 2 ? this->lo.get(i) : this->hi.get(i - W / 2);
    else
      e = this->v[i];
    T x;
    __builtin_memcpy(&x, &e, sizeof x);
    return x;
  }
  PTC_INLINE void set(int i, T x) {
    if constexpr (split) {
      if (i < W / 2)
        this->lo.set(i, x);
      else
        this->hi.set(i - W / 2, x);
    } else {
      E e;
      __builtin_memcpy(&e, &x, sizeof e);
      this->v[i] = e;
    }
  }

  PTC_BINARY(+)
  PTC_BINARY(-)
  PTC_BINARY(*)
  PTC_BINARY(/)
  PTC_BINARY(%)
  PTC_BINARY(&)
  PTC_BINARY(|)
  PTC_BINARY(^)
  PTC_BINARY(<<)
  PTC_BINARY(>>)
  PTC_COMPARE(==)
  PTC_COMPARE(!=)
  PTC_COMPARE(<)
  PTC_COMPARE(<=)
  PTC_COMPARE(>)
  PTC_COMPARE(>=)
  friend PTC_INLINE vec operator-(vec a) {
    if constexpr (split)
      return pair(-a.lo, -a.hi);
    else
      return wrap(-a.v);
  }
  friend PTC_INLINE vec operator~(vec a) {
    if constexpr (split)
      return pair(~a.lo, ~a.hi);
    else
      return wrap(~a.v);
  }
  PTC_INLINE vec& operator+=(vec b) { return *this = *this + b; }
  PTC_INLINE vec& operator-=(vec b) { return *this = *this - b; }
  PTC_INLINE vec& operator*=(vec b) { return *this = *this * b; }
};

#undef PTC_BINARY
#undef PTC_COMPARE

typedef vec<float, PTC_VLEN> f32v;
typedef vec<double, PTC_VLEN> f64v;
typedef vec<int32_t, PTC_VLEN> i32v;
typedef vec<int64_t, PTC_VLEN> i64v;

// A truth value per lane, held as 0 / -1 in 32-bit lanes whatever the compared type was.
template <int W> struct mask {
  typedef vec<int32_t, W> M;
  M m;

  PTC_INLINE mask() {}
  PTC_INLINE mask(bool b) : m(b ? -1 : 0) {}
  static PTC_INLINE mask of(M m) {
    mask r;
    r.m = m;
    return r;
  }
  // From the 0 / -1 lanes of a comparison of any element width.
  template <class R> static PTC_INLINE mask narrow(R r) {
    if constexpr (M::split) {
      return of(M::pair(mask<W / 2>::narrow(detail::low_half(r, detail::iota_seq<W / 2>())).m,
                        mask<W / 2>::narrow(detail::high_half(r, detail::iota_seq<W / 2>())).m));
    } else if constexpr (sizeof(R) == sizeof(typename M::native)) {
      return of(M::wrap((typename M::native)r));
    } else {
      return of(M::wrap(__builtin_convertvector(r, typename M::native)));
    }
  }
  static PTC_INLINE mask join(mask<(W > 1 ? W / 2 : 1)> lo, mask<(W > 1 ? W / 2 : 1)> hi) {
    return of(M::pair(lo.m, hi.m));
  }
  PTC_INLINE mask<(W > 1 ? W / 2 : 1)> low() const { return mask<W / 2>::of(m.low()); }
  PTC_INLINE mask<(W > 1 ? W / 2 : 1)> high() const { return mask<W / 2>::of(m.high()); }
  PTC_INLINE bool get(int i) const { return m.get(i) != 0; }
  friend PTC_INLINE mask operator&(mask a, mask b) { return of(a.m & b.m); }
  friend PTC_INLINE mask operator|(mask a, mask b) { return of(a.m | b.m); }
  friend PTC_INLINE mask operator^(mask a, mask b) { return of(a.m ^ b.m); }
  friend PTC_INLINE mask operator==(mask a, mask b) { return of(~(a.m ^ b.m)); }
  friend PTC_INLINE mask operator!=(mask a, mask b) { return of(a.m ^ b.m); }
  friend PTC_INLINE mask operator!(mask a) { return of(~a.m); }
  friend PTC_INLINE mask operator~(mask a) { return of(~a.m); }
};

// --- making vectors ----------------------------------------------------------------------------

template <class T, int W> PTC_INLINE vec<T, W> splat(T x) { return vec<T, W>(x); }

// first, first + 1, first + 2, ...
template <class T, int W> PTC_INLINE vec<T, W> iota(T first = T(0)) {
  typedef vec<T, W> V;
  if constexpr (V::split)
    return V::pair(iota<T, W / 2>(first), iota<T, W / 2>((T)(first + (T)(W / 2))));
  else
    return V::wrap(detail::counting<typename V::native>(first, detail::iota_seq<W>()));
}

// Lanes 0 .. n-1 true.
template <int W> PTC_INLINE mask<W> first_lanes(int n) {
  return iota<int32_t, W>(0) < vec<int32_t, W>((int32_t)n);
}

// --- select, conversion ------------------------------------------------------------------------

namespace detail {
template <class R, int W> PTC_INLINE R widen_mask(mask<W> m) {
  if constexpr (sizeof(R) == sizeof(m.m.v))
    return (R)m.m.v;
  else
    return __builtin_convertvector(m.m.v, R);
}
}  // namespace detail

// m ? a : b on each lane; a and b are both evaluated.
template <class T, int W> PTC_INLINE vec<T, W> select(mask<W> m, vec<T, W> a, vec<T, W> b) {
  typedef vec<T, W> V;
  if constexpr (V::split || mask<W>::M::split) {
    return V::pair(select(m.low(), a.low(), b.low()), select(m.high(), a.high(), b.high()));
  } else {
    typedef typename V::signed_reg S;
    return V::wrap(detail::widen_mask<S>(m) != 0 ? a.v : b.v);
  }
}
template <int W> PTC_INLINE mask<W> select(mask<W> m, mask<W> a, mask<W> b) {
  return mask<W>::of((m.m & a.m) | (~m.m & b.m));
}
template <class T> PTC_INLINE T select(bool m, T a, T b) { return m ? a : b; }

template <class U, class T, int W> PTC_INLINE vec<U, W> bitcast(vec<T, W> x) {
  static_assert(sizeof(U) == sizeof(T), "bitcast keeps the element size");
  if constexpr (vec<T, W>::split)
    return vec<U, W>::pair(bitcast<U>(x.lo), bitcast<U>(x.hi));
  else
    return vec<U, W>::wrap((typename vec<U, W>::native)x.v);
}
template <class U, class T> PTC_INLINE U bitcast(T x) {
  U u;
  static_assert(sizeof(U) == sizeof(T), "bitcast keeps the element size");
  __builtin_memcpy(&u, &x, sizeof u);
  return u;
}

// --- lane-wise minimum and maximum -------------------------------------------------------------

template <class X> PTC_INLINE X max_fast(X a, X b) {
  return select(a > b, a, b);
}  // b if either is NaN
template <class X> PTC_INLINE X min_fast(X a, X b) {
  return select(a < b, a, b);
}  // b if either is NaN
// torch.maximum / minimum: NaN if either is NaN.
template <class X> PTC_INLINE X maximum(X a, X b) { return select(a != a, a, max_fast(a, b)); }
template <class X> PTC_INLINE X minimum(X a, X b) { return select(a != a, a, min_fast(a, b)); }
// torch.fmax / fmin: the other operand if one is NaN.
template <class X> PTC_INLINE X fmax(X a, X b) { return select(b != b, a, max_fast(a, b)); }
template <class X> PTC_INLINE X fmin(X a, X b) { return select(b != b, a, min_fast(a, b)); }
template <class X> PTC_INLINE X clamp(X x, X lo, X hi) { return minimum(maximum(x, lo), hi); }
template <class X> PTC_INLINE X fma(X a, X b, X c) {
  return a * b + c;
}  // one rounding where the target has FMA

// --- horizontal reductions ---------------------------------------------------------------------

// Sums and products of all lanes (pairwise, so the order differs from a serial loop).
template <class T, int W> PTC_INLINE T hsum(vec<T, W> x) {
  if constexpr (W == 1)
    return x.get(0);
  else if constexpr (W == 2)
    return (T)(x.get(0) + x.get(1));
  else
    return hsum(x.low() + x.high());
}
template <class T, int W> PTC_INLINE T hprod(vec<T, W> x) {
  if constexpr (W == 1)
    return x.get(0);
  else if constexpr (W == 2)
    return (T)(x.get(0) * x.get(1));
  else
    return hprod(x.low() * x.high());
}
// NaN if any lane is NaN.
template <class T, int W> PTC_INLINE T hmax(vec<T, W> x) {
  if constexpr (W == 1)
    return x.get(0);
  else if constexpr (W == 2)
    return maximum(x.get(0), x.get(1));
  else
    return hmax(maximum(x.low(), x.high()));
}
template <class T, int W> PTC_INLINE T hmin(vec<T, W> x) {
  if constexpr (W == 1)
    return x.get(0);
  else if constexpr (W == 2)
    return minimum(x.get(0), x.get(1));
  else
    return hmin(minimum(x.low(), x.high()));
}
template <int W> PTC_INLINE bool any(mask<W> m) {
  if constexpr (W <= 2)
    return m.get(0) || m.get(W - 1);
  else if constexpr (W * 4 > 16)
    return any(m.low() | m.high());
  else {
    auto pairs = bitcast<int32_t>(m.m);
    int64_t two[2];
    __builtin_memcpy(two, &pairs, sizeof two);
    return (two[0] | two[1]) != 0;
  }
}
template <int W> PTC_INLINE bool all(mask<W> m) { return !any(!m); }
PTC_INLINE bool any(bool b) { return b; }
PTC_INLINE bool all(bool b) { return b; }

template <class T, int W> PTC_INLINE vec<T, W> reverse(vec<T, W> x) {
  if constexpr (vec<T, W>::split)
    return vec<T, W>::pair(reverse(x.hi), reverse(x.lo));
  else
    return vec<T, W>::wrap(detail::reversed(x.v, detail::iota_seq<W>()));
}

}  // namespace ptc

#include "ptc_memory.h"
#include "ptc_convert.h"

#endif
