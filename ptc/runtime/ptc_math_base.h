// What the mathematical functions share: float-like types, exponent arithmetic, sign, rounding,
// square roots, and the macros that define a function for f32 and f64. See ptc_math.h.
#ifndef PTC_MATH_BASE_H
#define PTC_MATH_BASE_H

#include "ptc_vec.h"

#if defined(__FMA__) || defined(PTC_AVX512) || defined(__ARM_FEATURE_FMA)
#define PTC_FMA 1
#endif

namespace ptc {

namespace detail {

// The element type and lane-wise integer of a float-like type.
template <class F> struct like {
  typedef F element;
  typedef int32_t int32;
  typedef bool truth;
  static constexpr bool vector = false;
};
template <> struct like<double> {
  typedef double element;
  typedef int64_t int64;
  typedef bool truth;
  static constexpr bool vector = false;
};
template <class T, int W> struct like<vec<T, W>> {
  typedef T element;
  typedef vec<int32_t, W> int32;
  typedef vec<int64_t, W> int64;
  typedef mask<W> truth;
  static constexpr bool vector = true;
};
template <class F> using element_of = typename like<F>::element;
template <class F> using int_like = typename like<F>::int32;
template <class F> constexpr bool is_f32 = same<element_of<F>, float>::value;

// A function that libm has, on each lane.
template <class Fn, class F> PTC_INLINE F each(Fn fn, F x) {
  if constexpr (like<F>::vector)
    return map_lanes(fn, x);
  else
    return fn(x);
}
template <class Fn, class F> PTC_INLINE F each(Fn fn, F x, F y) {
  if constexpr (like<F>::vector)
    return map_lanes(fn, x, y);
  else
    return fn(x, y);
}

template <class F> PTC_INLINE F sign_bits(F x) {
  if constexpr (is_f32<F>)
    return bitcast<float>(bitcast<uint32_t>(x) & decltype(bitcast<uint32_t>(x))(0x80000000u));
  else
    return bitcast<double>(bitcast<uint64_t>(x) &
                           decltype(bitcast<uint64_t>(x))(0x8000000000000000ull));
}
template <class F> PTC_INLINE F clear_sign(F x) {
  if constexpr (is_f32<F>)
    return bitcast<float>(bitcast<uint32_t>(x) & decltype(bitcast<uint32_t>(x))(0x7FFFFFFFu));
  else
    return bitcast<double>(bitcast<uint64_t>(x) &
                           decltype(bitcast<uint64_t>(x))(0x7FFFFFFFFFFFFFFFull));
}
// a with the sign bit of s or-ed in; a >= 0.
template <class F> PTC_INLINE F or_sign(F a, F s) {
  if constexpr (is_f32<F>)
    return bitcast<float>(bitcast<uint32_t>(a) | bitcast<uint32_t>(sign_bits(s)));
  else
    return bitcast<double>(bitcast<uint64_t>(a) | bitcast<uint64_t>(sign_bits(s)));
}

// Round to an integer, half to even, |x| < 2^22: the integer as a float and, in the low bits of the
// sum, as an int.
constexpr float kRoundMagic = 12582912.0f;  // 1.5 * 2^23
template <class F> PTC_INLINE F round_small(F x, int_like<F>& n) {
  F t = x + F(kRoundMagic);
  n = bitcast<int32_t>(t) - int_like<F>(0x4B400000);
  return t - F(kRoundMagic);
}

// 2^n for an int n in [-126, 127].
template <class F> PTC_INLINE F power_of_two(int_like<F> n) {
  return bitcast<float>((n + int_like<F>(127)) << int_like<F>(23));
}
// y * 2^n for an integral n in [-252, 254], denormal results rounded once.
template <class F> PTC_INLINE F scale(F y, F n_float, int_like<F> n) {
#if defined(PTC_AVX512)
  if constexpr (like<F>::vector) {
    if constexpr (!F::split && sizeof(F) >= 16) {
      F r;
      __asm__("vscalefps %2, %1, %0" : "=v"(r.v) : "v"(y.v), "v"(n_float.v));
      return r;
    }
  }
#endif
  (void)n_float;
  int_like<F> half = n >> int_like<F>(1);
  return y * power_of_two<F>(half) * power_of_two<F>(n - half);
}

constexpr float kInf = __builtin_inff();

// Square root by the machine's instruction on whole registers.
template <class V> PTC_INLINE V sqrt_vec(V x) {
  if constexpr (V::split) {
    return V::pair(sqrt_vec(x.lo), sqrt_vec(x.hi));
  } else if constexpr (sizeof(x.v) >= 16) {
    V r;
#if defined(__AVX__)
    if constexpr (sizeof(typename V::element) == 4)
      __asm__("vsqrtps %1, %0" : "=v"(r.v) : "v"(x.v));
    else
      __asm__("vsqrtpd %1, %0" : "=v"(r.v) : "v"(x.v));
#elif defined(__SSE2__)
    if constexpr (sizeof(typename V::element) == 4)
      __asm__("sqrtps %1, %0" : "=x"(r.v) : "x"(x.v));
    else
      __asm__("sqrtpd %1, %0" : "=x"(r.v) : "x"(x.v));
#elif defined(__aarch64__)
    if constexpr (sizeof(typename V::element) == 4)
      __asm__("fsqrt %0.4s, %1.4s" : "=w"(r.v) : "w"(x.v));
    else
      __asm__("fsqrt %0.2d, %1.2d" : "=w"(r.v) : "w"(x.v));
#else
    for (int i = 0; i < V::lanes; ++i) r.v[i] = __builtin_sqrt(x.v[i]);
#endif
    return r;
  } else {
    for (int i = 0; i < V::lanes; ++i) x.v[i] = __builtin_sqrt(x.v[i]);
    return x;
  }
}

// Round to an integer. Mode as in the x86 instructions: 0 nearest even, 1 down, 2 up, 3 towards
// zero.
template <int Mode, class F> PTC_INLINE F round_generic(F x) {
  constexpr bool single = is_f32<F>;
  F big = single ? F((element_of<F>)8388608.0) : F((element_of<F>)4503599627370496.0);
  F a = clear_sign(x);
  F n = (a + big) - big;  // nearest even, |x| < 2^23 (2^52)
  if constexpr (Mode == 3) n = select(n > a, n - F((element_of<F>)1), n);
  n = or_sign(n, x);
  if constexpr (Mode == 1) n = select(n > x, n - F((element_of<F>)1), n);
  if constexpr (Mode == 2) n = or_sign(clear_sign(select(n < x, n + F((element_of<F>)1), n)), x);
  return select(a < big, n, x);
}
template <int Mode, class F> PTC_INLINE F round_to(F x) {
#if defined(__SSE4_1__)
  if constexpr (!like<F>::vector) {
    F r;
#if defined(__AVX__)
    if constexpr (is_f32<F>)
      __asm__("vroundss %2, %1, %1, %0" : "=x"(r) : "x"(x), "i"(Mode | 8));
    else
      __asm__("vroundsd %2, %1, %1, %0" : "=x"(r) : "x"(x), "i"(Mode | 8));
#else
    if constexpr (is_f32<F>)
      __asm__("roundss %2, %1, %0" : "=x"(r) : "x"(x), "i"(Mode | 8));
    else
      __asm__("roundsd %2, %1, %0" : "=x"(r) : "x"(x), "i"(Mode | 8));
#endif
    return r;
  } else if constexpr (F::split) {
    return F::pair(round_to<Mode>(x.lo), round_to<Mode>(x.hi));
  } else if constexpr (sizeof(x.v) >= 16) {
    F r;
#if defined(PTC_AVX512)
    if constexpr (is_f32<F>)
      __asm__("vrndscaleps %2, %1, %0" : "=v"(r.v) : "v"(x.v), "i"(Mode | 8));
    else
      __asm__("vrndscalepd %2, %1, %0" : "=v"(r.v) : "v"(x.v), "i"(Mode | 8));
#elif defined(__AVX__)
    if constexpr (is_f32<F>)
      __asm__("vroundps %2, %1, %0" : "=x"(r.v) : "x"(x.v), "i"(Mode | 8));
    else
      __asm__("vroundpd %2, %1, %0" : "=x"(r.v) : "x"(x.v), "i"(Mode | 8));
#else
    if constexpr (is_f32<F>)
      __asm__("roundps %2, %1, %0" : "=x"(r.v) : "x"(x.v), "i"(Mode | 8));
    else
      __asm__("roundpd %2, %1, %0" : "=x"(r.v) : "x"(x.v), "i"(Mode | 8));
#endif
    return r;
  }
#endif
  return round_generic<Mode>(x);
}

}  // namespace detail

// Defines NAME(F) for float-like F: EXPR32 on f32, libm's BUILTIN on each f64 lane.
#define PTC_UNARY(NAME, EXPR32, BUILTIN)                                       \
  template <class F> PTC_INLINE F NAME(F x) {                                  \
    if constexpr (detail::is_f32<F>)                                           \
      return EXPR32;                                                           \
    else                                                                       \
      return detail::each([](double v) { return __builtin_##BUILTIN(v); }, x); \
  }
// The same with libm for f32 too.
#define PTC_UNARY_LIBM(NAME, BUILTIN)                                            \
  template <class F> PTC_INLINE F NAME(F x) {                                    \
    if constexpr (detail::is_f32<F>)                                             \
      return detail::each([](float v) { return __builtin_##BUILTIN##f(v); }, x); \
    else                                                                         \
      return detail::each([](double v) { return __builtin_##BUILTIN(v); }, x);   \
  }

// --- sign, magnitude, rounding -----------------------------------------------------------------

template <class F> PTC_INLINE F abs(F x) {
  typedef detail::element_of<F> E;
  if constexpr (detail::is_float<E>)
    return detail::clear_sign(x);
  else
    return select(x < F(E(0)), F(F(E(0)) - x), x);
}
template <class F> PTC_INLINE F neg(F x) { return -x; }
// -1, 0, 1; zero for NaN and both zeros.
template <class F> PTC_INLINE F sign(F x) {
  typedef detail::element_of<F> E;
  F zero = F(E(0));
  return select(x > zero, F(E(1)), select(x < zero, F(E(-1)), zero));
}
template <class F> PTC_INLINE F copysign(F x, F s) {
  return detail::or_sign(detail::clear_sign(x), s);
}
template <class F> PTC_INLINE auto isnan(F x) { return x != x; }
template <class F> PTC_INLINE auto isinf(F x) {
  return detail::clear_sign(x) == F((detail::element_of<F>)__builtin_inf());
}
template <class F> PTC_INLINE auto isfinite(F x) {
  return detail::clear_sign(x) < F((detail::element_of<F>)__builtin_inf());
}
// True for negative numbers, -0.0 and NaN with the sign bit.
template <class F> PTC_INLINE auto signbit(F x) {
  if constexpr (detail::is_f32<F>)
    return bitcast<int32_t>(x) < decltype(bitcast<int32_t>(x))(0);
  else
    return bitcast<int64_t>(x) < decltype(bitcast<int64_t>(x))(0);
}
template <class F> PTC_INLINE F rint(F x) { return detail::round_to<0>(x); }  // half to even
template <class F> PTC_INLINE F round(F x) {
  return detail::round_to<0>(x);
}  // torch.round: half to even
template <class F> PTC_INLINE F floor(F x) { return detail::round_to<1>(x); }
template <class F> PTC_INLINE F ceil(F x) { return detail::round_to<2>(x); }
template <class F> PTC_INLINE F trunc(F x) { return detail::round_to<3>(x); }

template <class F> PTC_INLINE F sqrt(F x) {
  if constexpr (detail::like<F>::vector)
    return detail::sqrt_vec(x);
  else if constexpr (detail::is_f32<F>)
    return __builtin_sqrtf(x);
  else
    return __builtin_sqrt(x);
}
template <class F> PTC_INLINE F rsqrt(F x) { return F((detail::element_of<F>)1) / sqrt(x); }
template <class F> PTC_INLINE F reciprocal(F x) { return F((detail::element_of<F>)1) / x; }

}  // namespace ptc

#endif
