// Mathematical functions on float, double and vectors of them, under the same names.
//
// f32: each function is written once, as a template over the "float-like" type F (float or vec<float, W>), so a
// scalar tail gives what a vector lane gives. f64 and rare f32 functions call libm lane by lane. Worst
// errors over all of f32, with and without FMA, in units in the last place (tests/runtime measures them):
//
//   exp exp2 1.1  expm1 1.7  log 0.9  log2 log10 1.9 (1.0 with FMA)  log1p 1.4  sin cos 1.6  tan 3.3
//   tanh 2.4  sinh cosh 2.3  asin 2.3  acos 1.1  atan 1.5  asinh acosh 1.8  atanh 2.1  erf 3.1  sigmoid 2.0
//   pow 0.51  sqrt 0.5  rsqrt 1.5
//
// inf, NaN, denormals and signed zeros follow C99. Polynomials are minimax fits of our own (Remez, then
// coefficients rounded to f32 from the lowest up, the others refitted each time).
#ifndef PTC_MATH_H
#define PTC_MATH_H

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
    return bitcast<double>(bitcast<uint64_t>(x) & decltype(bitcast<uint64_t>(x))(0x8000000000000000ull));
}
template <class F> PTC_INLINE F clear_sign(F x) {
  if constexpr (is_f32<F>)
    return bitcast<float>(bitcast<uint32_t>(x) & decltype(bitcast<uint32_t>(x))(0x7FFFFFFFu));
  else
    return bitcast<double>(bitcast<uint64_t>(x) & decltype(bitcast<uint64_t>(x))(0x7FFFFFFFFFFFFFFFull));
}
// a with the sign bit of s or-ed in; a >= 0.
template <class F> PTC_INLINE F or_sign(F a, F s) {
  if constexpr (is_f32<F>)
    return bitcast<float>(bitcast<uint32_t>(a) | bitcast<uint32_t>(sign_bits(s)));
  else
    return bitcast<double>(bitcast<uint64_t>(a) | bitcast<uint64_t>(sign_bits(s)));
}

// Round to an integer, half to even, |x| < 2^22: the integer as a float and, in the low bits of the sum, as an int.
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

constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLn2High = 0.693359375f;  // 9 bits: its product with an exponent is exact
constexpr float kLn2Low = -2.12194440e-4f;
constexpr float kInf = __builtin_inff();

// e^r - 1 for |r| <= ln(2) / 2, relative error 1e-8.
template <class F> PTC_INLINE F expm1_reduced(F r) {
  F p = F(1.392046222e-3f);
  p = p * r + F(8.369340561e-3f);
  p = p * r + F(4.166658595e-2f);
  p = p * r + F(1.666651517e-1f);
  p = p * r + F(0.5f);
  return p * (r * r) + r;
}

template <class F> PTC_INLINE F exp_f32(F x) {
  x = min_fast(F(89.0f), max_fast(F(-104.0f), x));  // NaN stays: the second operand wins
  int_like<F> n;
  F nf = round_small(x * F(kLog2E), n);
  F r = x - nf * F(kLn2High);
  r = r - nf * F(kLn2Low);
  return scale(expm1_reduced(r) + F(1.0f), nf, n);
}
template <class F> PTC_INLINE F exp2_f32(F x) {
  x = min_fast(F(129.0f), max_fast(F(-151.0f), x));
  int_like<F> n;
  F nf = round_small(x, n);
  return scale(expm1_reduced((x - nf) * F(0.693147182f)) + F(1.0f), nf, n);
}
// Without the sign of a zero; the caller restores it.
template <class F> PTC_INLINE F expm1_unsigned_zero(F x) {
  x = min_fast(F(89.0f), max_fast(F(-20.0f), x));
  int_like<F> n;
  F nf = round_small(x * F(kLog2E), n);
  F r = x - nf * F(kLn2High);
  r = r - nf * F(kLn2Low);
  F s = power_of_two<F>(n - int_like<F>(1));  // 2^(n-1): n may be 128
  F e = s * expm1_reduced(r) + (s - F(0.5f));
  return e + e;
}

// ln(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)], error 1e-8 of ln(1 + f).
template <class F> PTC_INLINE F log1p_rest(F f) {
  F p = F(-7.609893382e-2f);
  p = p * f + F(1.277293861e-1f);
  p = p * f + F(-1.316848844e-1f);
  p = p * f + F(1.420044750e-1f);
  p = p * f + F(-1.662286967e-1f);
  p = p * f + F(2.000126690e-1f);
  p = p * f + F(-2.500082850e-1f);
  p = p * f + F(3.333333135e-1f);
  F z = f * f;
  return (p * f) * z - z * F(0.5f);
}
// x = (1 + f) * 2^e for positive finite x, 1 + f in [sqrt(1/2), sqrt(2)).
template <class F> PTC_INLINE F split_exponent(F x, F& f) {
  auto tiny = x < F(1.17549435e-38f);
  F scaled = select(tiny, x * F(8388608.0f), x);
  int_like<F> bits = bitcast<int32_t>(scaled);
  int_like<F> e = (bits - int_like<F>(0x3F3504F3)) >> int_like<F>(23);
  f = bitcast<float>(bits - (e << int_like<F>(23))) - F(1.0f);
  return convert<float>(e) - select(tiny, F(23.0f), F(0.0f));
}
// What every logarithm gives outside (0, inf).
template <class F> PTC_INLINE F log_special(F x, F y) {
  y = select(x < F(kInf), y, x);
  y = select(x < F(0.0f), F(__builtin_nanf("")), y);
  return select(x == F(0.0f), F(-kInf), y);
}
template <class F> PTC_INLINE F log_f32(F x) {
  F f, e = split_exponent(x, f);
  F y = log1p_rest(f) + e * F(kLn2Low);
  return log_special(x, e * F(kLn2High) + (f + y));
}
// log to another base: `high` + `low` is 1 / ln(base), `unit_*` the base's logarithm of 2.
template <class F> PTC_INLINE F log_base(F x, float high, float low, float unit_high, float unit_low) {
  F f, e = split_exponent(x, f);
  F y = log1p_rest(f);
  F t = y * F(high) + f * F(low);
  t = f * F(high) + t;
  return log_special(x, e * F(unit_high) + (e * F(unit_low) + t));
}
template <class F> PTC_INLINE F log1p_f32(F x) {
  // 1 + x = 2^e * (1 + f), f formed from x itself so that a small x keeps all its bits.
  F u = F(1.0f) + x;
  int_like<F> bits = bitcast<int32_t>(u);
  int_like<F> e = (bits - int_like<F>(0x3F3504F3)) >> int_like<F>(23);
  int_like<F> h = e >> int_like<F>(1);  // 2^-e in two factors: e reaches 128
  F s1 = power_of_two<F>(int_like<F>(0) - h), s2 = power_of_two<F>(h - e);
  F f = (x * s1) * s2 + (s1 * s2 - F(1.0f));
  F ef = convert<float>(e);
  F y = log1p_rest(f) + ef * F(kLn2Low);
  y = ef * F(kLn2High) + (f + y);
  y = select(x < F(kInf), y, x);
  y = select(x < F(-1.0f), F(__builtin_nanf("")), y);
  y = select(x == F(-1.0f), F(-kInf), y);
  return select(x == F(0.0f), x, y);
}

// sin on |r| <= pi/4.
template <class F> PTC_INLINE F sin_reduced(F r) {
  F z = r * r;
  F p = F(-1.951860468e-4f);
  p = p * z + F(8.332191035e-3f);
  p = p * z + F(-1.666665524e-1f);
  return (p * z) * r + r;
}
template <class F> PTC_INLINE F cos_reduced(F r) {
  F z = r * r;
  F p = F(2.443067024e-5f);
  p = p * z + F(-1.388730132e-3f);
  p = p * z + F(4.166664556e-2f);
  return (p * z) * z + (F(1.0f) - z * F(0.5f));
}
constexpr float kTrigLimit = 30000.0f;  // beyond it, lane by lane through libm
// x - n * pi/2 for |x| <= kTrigLimit. The first difference is exact with FMA: n has 15 bits, pi/2's head 24.
template <class F> PTC_INLINE F trig_reduce(F x, int_like<F>& n) {
  F nf = round_small(x * F(0.636619772f), n);
  F r = x - nf * F(1.57079637e+00f);
  r = r + nf * F(4.37113883e-08f);
  return r + nf * F(1.71512489e-15f);
}
// sin(x) for quarter = 0, cos(x) for quarter = 1.
template <class F> PTC_INLINE F sin_quarter(F x, int quarter) {
  int_like<F> n;
  F r = trig_reduce(x, n);
  n = n + int_like<F>(quarter);
  F y = select((n & int_like<F>(1)) != int_like<F>(0), cos_reduced(r), sin_reduced(r));
  int_like<F> flip = (n & int_like<F>(2)) << int_like<F>(30);
  return bitcast<float>(bitcast<int32_t>(y) ^ flip);
}
template <class F> PTC_INLINE F tan_small(F x) {
  int_like<F> n;
  F r = trig_reduce(x, n);
  F s = sin_reduced(r), c = cos_reduced(r);
  auto odd = (n & int_like<F>(1)) != int_like<F>(0);
  return select(odd, F(0.0f) - c, s) / select(odd, s, c);
}

// atan on [0, 1].
template <class F> PTC_INLINE F atan_unit(F t) {
  F z = t * t;
  F p = F(-1.818711055e-3f);
  p = p * z + F(1.102895383e-2f);
  p = p * z + F(-3.139444068e-2f);
  p = p * z + F(5.817805603e-2f);
  p = p * z + F(-8.416460454e-2f);
  p = p * z + F(1.095665768e-1f);
  p = p * z + F(-1.426509172e-1f);
  p = p * z + F(1.999862641e-1f);
  p = p * z + F(-3.333330154e-1f);
  return (p * z) * t + t;
}
// asin(t) - t for t in [0, 1/2], divided by t.
template <class F> PTC_INLINE F asin_rest(F z) {
  F p = F(3.767312691e-2f);
  p = p * z + F(1.432918943e-2f);
  p = p * z + F(3.183605522e-2f);
  p = p * z + F(4.451363534e-2f);
  p = p * z + F(7.500521094e-2f);
  p = p * z + F(1.666665971e-1f);
  return p * z;
}

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

// Round to an integer. Mode as in the x86 instructions: 0 nearest even, 1 down, 2 up, 3 towards zero.
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
#define PTC_UNARY(NAME, EXPR32, BUILTIN)                                              \
  template <class F> PTC_INLINE F NAME(F x) {                                         \
    if constexpr (detail::is_f32<F>)                                                  \
      return EXPR32;                                                                  \
    else                                                                              \
      return detail::each([](double v) { return __builtin_##BUILTIN(v); }, x);        \
  }
// The same with libm for f32 too.
#define PTC_UNARY_LIBM(NAME, BUILTIN)                                                 \
  template <class F> PTC_INLINE F NAME(F x) {                                         \
    if constexpr (detail::is_f32<F>)                                                  \
      return detail::each([](float v) { return __builtin_##BUILTIN##f(v); }, x);      \
    else                                                                              \
      return detail::each([](double v) { return __builtin_##BUILTIN(v); }, x);        \
  }

// --- sign, magnitude, rounding ----------------------------------------------------------------------

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
template <class F> PTC_INLINE F copysign(F x, F s) { return detail::or_sign(detail::clear_sign(x), s); }
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
template <class F> PTC_INLINE F rint(F x) { return detail::round_to<0>(x); }   // half to even
template <class F> PTC_INLINE F round(F x) { return detail::round_to<0>(x); }  // torch.round: half to even
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

// --- exponentials and logarithms ------------------------------------------------------------------

PTC_UNARY(exp, detail::exp_f32(x), exp)
PTC_UNARY(exp2, detail::exp2_f32(x), exp2)
PTC_UNARY(expm1, detail::or_sign(detail::clear_sign(detail::expm1_unsigned_zero(x)), x), expm1)
PTC_UNARY(log, detail::log_f32(x), log)
PTC_UNARY(log1p, detail::log1p_f32(x), log1p)
PTC_UNARY(log2, detail::log_base(x, 1.44269502e+00f, 1.92596299e-08f, 1.0f, 0.0f), log2)
PTC_UNARY(log10, detail::log_base(x, 4.34294492e-01f, -1.01030395e-08f, 3.01025391e-01f, 4.60503907e-06f), log10)

// 1 / (1 + e^-x), by that formula, as eager.
template <class F> PTC_INLINE F sigmoid(F x) {
  F one = F((detail::element_of<F>)1);
  return one / (one + exp(-x));
}
template <class F> PTC_INLINE F silu(F x) {
  F one = F((detail::element_of<F>)1);
  return x / (one + exp(-x));
}

namespace detail {
template <class F> PTC_INLINE F tanh_f32(F x) {
  F e = expm1_unsigned_zero(min_fast(F(20.0f), clear_sign(x) * F(2.0f)));
  return or_sign(e / (e + F(2.0f)), x);
}
template <class F> PTC_INLINE F sinh_f32(F x) {
  F a = clear_sign(x);
  F e = expm1_unsigned_zero(a);
  F y = F(0.5f) * (e + e / (e + F(1.0f)));
  F t = exp_f32(a * F(0.5f));  // e^a overflows before sinh does
  return or_sign(select(a > F(88.0f), (F(0.5f) * t) * t, y), x);
}
template <class F> PTC_INLINE F cosh_f32(F x) {
  F a = clear_sign(x);
  F e = exp_f32(a);
  F y = F(0.5f) * (e + F(1.0f) / e);
  F t = exp_f32(a * F(0.5f));
  return select(a > F(88.0f), (F(0.5f) * t) * t, y);
}
// erf(x) = 1 - e^(-x R(x)), R a polynomial fitted to -ln(erfc(x)) / x: one expm1, no cancellation at 0.
template <class F> PTC_INLINE F erf_f32(F x) {
  F a = min_fast(F(3.95f), clear_sign(x));
  F p = F(4.526789780e-6f);
  p = p * a + F(2.692105454e-6f);
  p = p * a + F(-2.552414080e-4f);
  p = p * a + F(1.042139251e-3f);
  p = p * a + F(3.925156489e-4f);
  p = p * a + F(-1.940870471e-2f);
  p = p * a + F(1.028334796e-1f);
  p = p * a + F(6.366149783e-1f);
  p = p * a + F(1.128379226f);
  return or_sign(clear_sign(expm1_unsigned_zero(-(a * p))), x);
}
template <class F> PTC_INLINE F asin_f32(F x) {
  F a = clear_sign(x);
  auto outer = a > F(0.5f);
  F z = select(outer, (F(1.0f) - a) * F(0.5f), a * a);
  F t = select(outer, ptc::sqrt(z), a);
  F y = t * asin_rest(z) + t;
  y = select(outer, F(1.57079637f) - (y + y + F(4.37113883e-08f)), y);
  return select(a != a, x, or_sign(y, x));
}
template <class F> PTC_INLINE F acos_f32(F x) {
  F a = clear_sign(x);
  auto outer = a > F(0.5f);
  F z = select(outer, (F(1.0f) - a) * F(0.5f), a * a);
  F t = select(outer, ptc::sqrt(z), a);
  F rest = t * asin_rest(z);
  F twice = F(2.0f) * (t + rest);
  F far = select(x < F(0.0f), F(3.14159274f) - (twice + F(8.74227766e-08f)), twice);
  F s = or_sign(t, x), r = select(x < F(0.0f), F(0.0f) - rest, rest);
  F near = F(1.57079637f) - (s + (r + F(4.37113883e-08f)));
  return select(outer, far, near);
}
template <class F> PTC_INLINE F atan_f32(F x) {
  F a = clear_sign(x);
  auto outer = a > F(1.0f);
  F y = atan_unit(select(outer, F(1.0f) / a, a));
  y = select(outer, F(1.57079637f) - (y + F(4.37113883e-08f)), y);
  return or_sign(y, x);
}
template <class F> PTC_INLINE F asinh_f32(F x) {
  F a = clear_sign(x);
  F big = F(1.0e9f);
  F b = min_fast(big, a);
  F s = ptc::sqrt(b * b + F(1.0f));
  F y = log1p_f32(b * (b / (s + F(1.0f))) + b);
  F large = log_f32(a) + F(0.693147181f);
  return or_sign(clear_sign(select(a >= big, large, y)), x);
}
template <class F> PTC_INLINE F acosh_f32(F x) {
  F big = F(1.0e9f);
  F t = min_fast(big, x) - F(1.0f);
  F y = log1p_f32(t + ptc::sqrt(t * (t + F(2.0f))));
  F large = log_f32(x) + F(0.693147181f);
  return select(x >= big, large, select(x < F(1.0f), F(__builtin_nanf("")), y));
}
template <class F> PTC_INLINE F atanh_f32(F x) {
  F a = clear_sign(x);
  F y = F(0.5f) * log1p_f32((a + a) / (F(1.0f) - a));
  return or_sign(y, x);
}
template <class F> PTC_INLINE F trig_f32(F x, int quarter) {
#if defined(PTC_FMA)
  F y = sin_quarter(x, quarter);
  if (quarter == 0) y = select(x == F(0.0f), x, y);
  auto far = clear_sign(x) > F(kTrigLimit);
  if (__builtin_expect(any(far), 0)) {
    F exact = quarter ? each([](float v) { return __builtin_cosf(v); }, x)
                      : each([](float v) { return __builtin_sinf(v); }, x);
    y = select(far, exact, y);
  }
  return y;
#else
  return quarter ? each([](float v) { return __builtin_cosf(v); }, x)
                 : each([](float v) { return __builtin_sinf(v); }, x);
#endif
}
template <class F> PTC_INLINE F tan_f32(F x) {
#if defined(PTC_FMA)
  F y = select(x == F(0.0f), x, tan_small(x));
  auto far = clear_sign(x) > F(kTrigLimit);
  if (__builtin_expect(any(far), 0))
    y = select(far, each([](float v) { return __builtin_tanf(v); }, x), y);
  return y;
#else
  return each([](float v) { return __builtin_tanf(v); }, x);
#endif
}
}  // namespace detail

PTC_UNARY(tanh, detail::tanh_f32(x), tanh)
PTC_UNARY(sinh, detail::sinh_f32(x), sinh)
PTC_UNARY(cosh, detail::cosh_f32(x), cosh)
PTC_UNARY(asinh, detail::asinh_f32(x), asinh)
PTC_UNARY(acosh, detail::acosh_f32(x), acosh)
PTC_UNARY(atanh, detail::atanh_f32(x), atanh)
PTC_UNARY(sin, detail::trig_f32(x, 0), sin)
PTC_UNARY(cos, detail::trig_f32(x, 1), cos)
PTC_UNARY(tan, detail::tan_f32(x), tan)
PTC_UNARY(asin, detail::asin_f32(x), asin)
PTC_UNARY(acos, detail::acos_f32(x), acos)
PTC_UNARY(atan, detail::atan_f32(x), atan)
PTC_UNARY(erf, detail::erf_f32(x), erf)
PTC_UNARY_LIBM(erfc, erfc)
PTC_UNARY_LIBM(lgamma, lgamma)

// x Phi(x), both forms torch has.
template <class F> PTC_INLINE F gelu_erf(F x) {
  typedef detail::element_of<F> E;
  return x * F(E(0.5)) * (F(E(1)) + erf(x * F(E(0.70710678118654752))));
}
// x / (1 + e^-2u) = x/2 (1 + tanh u), without the cancellation for negative u.
template <class F> PTC_INLINE F gelu_tanh(F x) {
  typedef detail::element_of<F> E;
  F u2 = x * (F(E(1.5957691216057308)) + F(E(0.071354816222734354)) * (x * x));
  return x / (F(E(1)) + exp(-u2));
}

// --- two arguments -----------------------------------------------------------------------------------

#define PTC_BINARY_LIBM(NAME, BUILTIN)                                                              \
  template <class F> PTC_INLINE F NAME(F x, F y) {                                                  \
    if constexpr (detail::is_f32<F>)                                                                \
      return detail::each([](float a, float b) { return __builtin_##BUILTIN##f(a, b); }, x, y);     \
    else                                                                                            \
      return detail::each([](double a, double b) { return __builtin_##BUILTIN(a, b); }, x, y);      \
  }
PTC_BINARY_LIBM(atan2, atan2)
PTC_BINARY_LIBM(hypot, hypot)
PTC_BINARY_LIBM(nextafter, nextafter)
PTC_BINARY_LIBM(fmod_libm, fmod)

namespace detail {

// log2 of positive normal doubles (zero gives a large negative number), error 1e-15; 2^t for |t| < 1020, 2e-14.
template <class D> PTC_INLINE D log2_f64(D x) {
  auto bits = bitcast<int64_t>(x);
  typedef decltype(bits) I;
  I e = (bits - I((int64_t)0x3FE6A09E667F3BCDll)) >> I((int64_t)52);
  D m = bitcast<double>(bits - (e << I((int64_t)52)));
  D s = (m - D(1.0)) / (m + D(1.0));
  D z = s * s;
  D p = D(0.2429812276242564);
  p = p * z + D(0.2614388184362066);
  p = p * z + D(0.32061655730231836);
  p = p * z + D(0.41219839962960814);
  p = p * z + D(0.5770780172618842);
  p = p * z + D(0.9617966939242982);
  p = p * z + D(2.885390081777927);
  return p * s + convert<double>(e);
}
template <class D> PTC_INLINE D exp2_f64(D t) {
  D magic = D(6755399441055744.0);  // 1.5 * 2^52
  D shifted = t + magic;
  auto n = bitcast<int64_t>(shifted);
  typedef decltype(n) I;
  D r = t - (shifted - magic);
  D p = D(1.0210925286161805e-07);
  p = p * r + D(1.3258554924017005e-06);
  p = p * r + D(1.5252645285107295e-05);
  p = p * r + D(0.0001540343984884917);
  p = p * r + D(0.001333355825088328);
  p = p * r + D(0.009618129182631208);
  p = p * r + D(0.055504108664325126);
  p = p * r + D(0.2402265069571697);
  p = p * r + D(0.6931471805599514);
  p = p * r + D(1.0);
  I one = I((int64_t)1023) << I((int64_t)52);
  return p * bitcast<double>((n << I((int64_t)52)) + one);
}
// Through double, so that the result is right to the last place but for double rounding.
template <class F> PTC_INLINE F pow_f32(F x, F y) {
  F ax = clear_sign(x), ay = clear_sign(y);
  F inf = F(kInf), zero = F(0.0f), one = F(1.0f);
  auto wide = log2_f64(convert<double>(ax));
  typedef decltype(wide) D;
  D t = convert<double>(min_fast(F(1.0e30f), max_fast(F(-1.0e30f), y))) * wide;
  t = min_fast(D(400.0), max_fast(D(-400.0), t));
  F r = convert<float>(exp2_f64(t));
  r = select(ax == zero, select(y < zero, inf, zero), r);
  r = select(ax == inf, select(y < zero, zero, inf), r);
  r = select(ax == one, one, r);
  F whole = trunc(y);
  auto integral = (whole == y) | (ay >= F(8388608.0f));
  F half = y * F(0.5f);
  auto odd = integral & (trunc(half) != half) & (ay < F(16777216.0f));
  r = select(odd, or_sign(r, x), r);
  F nan = F(__builtin_nanf(""));
  r = select((x < zero) & (ax < inf) & !integral, nan, r);
  r = select((x != x) | (y != y), nan, r);
  return select((y == zero) | (x == one), one, r);
}
template <class T> inline T pow_int(T base, T exponent) {
  if (exponent < 0) return base == 1 ? T(1) : base == T(-1) ? (exponent % 2 ? T(-1) : T(1)) : T(0);
  T r = 1;
  for (; exponent; exponent = (T)(exponent >> 1), base = (T)(base * base))
    if (exponent & 1) r = (T)(r * base);
  return r;
}

}  // namespace detail

// C99 pow; integers wrap, and a negative exponent gives what torch gives (0 but for base 1 and -1).
template <class F> PTC_INLINE F pow(F x, F y) {
  typedef detail::element_of<F> E;
  if constexpr (detail::same<E, float>::value)
    return detail::pow_f32(x, y);
  else if constexpr (detail::same<E, double>::value)
    return detail::each([](double a, double b) { return __builtin_pow(a, b); }, x, y);
  else
    return detail::each([](E a, E b) { return detail::pow_int(a, b); }, x, y);
}

namespace detail {

// C's integer quotient, defined everywhere: by zero it is 0, and the lowest number by -1 wraps. Lanes
// beyond a loop's end hold zeros, which must not trap.
template <class F> PTC_INLINE F int_quotient(F x, F y) {
  typedef element_of<F> E;
  F zero = F(E(0)), one = F(E(1));
  auto none = y == zero;
  if constexpr (E(-1) < E(0)) {
    auto minus = y == F(E(-1));
    F q = F(x / select(none | minus, one, y));
    return select(none, zero, select(minus, F(zero - x), q));
  } else {
    return select(none, zero, F(x / select(none, one, y)));
  }
}
// x - quotient * y; 0 for a divisor of 0.
template <class F> PTC_INLINE F int_rest(F x, F y) {
  F zero = F(element_of<F>(0));
  return select(y == zero, zero, F(x - F(int_quotient(x, y) * y)));
}

}  // namespace detail

// C's fmod (the dividend's sign).
template <class F> PTC_INLINE F fmod(F x, F y) {
  if constexpr (detail::is_float<detail::element_of<F>>)
    return fmod_libm(x, y);
  else
    return detail::int_rest(x, y);
}
// Python's % (the divisor's sign), for floats and integers. An integer divisor of 0 gives 0.
template <class F> PTC_INLINE F remainder(F x, F y) {
  F zero = F(detail::element_of<F>(0));
  F m = fmod(x, y);
  return select((m != zero) & ((y < zero) != (m < zero)), F(m + y), m);
}
// Division rounded down: torch's rounding_mode="floor". An integer divisor of 0 gives 0.
template <class F> PTC_INLINE F floor_divide(F x, F y) {
  typedef detail::element_of<F> E;
  F zero = F(E(0)), one = F(E(1));
  if constexpr (detail::is_float<E>) {
    F m = fmod(x, y);
    F q = (x - m) / y;
    q = select((m != zero) & ((y < zero) != (m < zero)), q - one, q);
    F down = floor(q);
    down = select(q - down > F(E(0.5)), down + one, down);
    return select(y == zero, x / y, select(q == zero, copysign(zero, x / y), down));
  } else {
    F q = detail::int_quotient(x, y);
    return select((y != zero) & (x != F(q * y)) & ((x < zero) != (y < zero)), F(q - one), q);
  }
}
template <class F> PTC_INLINE F trunc_divide(F x, F y) {
  if constexpr (detail::is_float<detail::element_of<F>>)
    return trunc(x / y);
  else
    return detail::int_quotient(x, y);
}

namespace detail {

// Reflection for negative numbers, recurrence up to 8, then the asymptotic series.
inline double digamma_f64(double x) {
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  if (x != x || x == -__builtin_inf()) return __builtin_nan("");
  if (x == __builtin_inf()) return x;
  double shift = 0;
  if (x < 0) {
    const double whole = __builtin_floor(x);
    if (x == whole) return __builtin_nan("");
    shift = -3.14159265358979323846 / __builtin_tan(3.14159265358979323846 * (x - whole));
    x = 1 - x;
  }
  for (; x < 8; x += 1) shift -= 1 / x;
  static const double terms[] = {1.0 / 12,  -691.0 / 32760, 1.0 / 132, -1.0 / 240,
                                 1.0 / 252, -1.0 / 120,     1.0 / 12};
  const double inverse = 1 / (x * x);
  double series = 0;
  for (double term : terms) series = (series + term) * inverse;
  return shift + __builtin_log(x) - 0.5 / x - series;
}

// A guess by Winitzki's formula, then Newton's method on erf (on erfc in the tails).
inline double erfinv_f64(double x) {
  const double size = __builtin_fabs(x);
  if (!(size <= 1)) return __builtin_nan("");
  if (size == 1) return __builtin_copysign(__builtin_inf(), x);
  if (size == 0) return x;
  const double pi = 3.14159265358979323846;
  const double tail = __builtin_log((1 - size) * (1 + size));
  const double half = 2 / (pi * 0.147) + 0.5 * tail;
  double guess = __builtin_sqrt(__builtin_sqrt(half * half - tail / 0.147) - half);
  for (int i = 0; i < 4; ++i) {
    const double error = size > 0.5 ? (1 - size) - __builtin_erfc(guess) : __builtin_erf(guess) - size;
    const double slope = 2 / __builtin_sqrt(pi) * __builtin_exp(-guess * guess);
    if (slope == 0) break;
    const double step = error / slope;
    guess -= step / (1 + guess * step);
  }
  return __builtin_copysign(guess, x);
}

}  // namespace detail

template <class F> PTC_INLINE F digamma(F x) {
  typedef detail::element_of<F> E;
  return detail::each([](E v) { return (E)detail::digamma_f64(v); }, x);
}
template <class F> PTC_INLINE F erfinv(F x) {
  typedef detail::element_of<F> E;
  return detail::each([](E v) { return (E)detail::erfinv_f64(v); }, x);
}

#undef PTC_UNARY
#undef PTC_UNARY_LIBM
#undef PTC_BINARY_LIBM

}  // namespace ptc

#endif
