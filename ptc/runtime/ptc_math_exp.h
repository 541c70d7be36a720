// Exponentials, logarithms, hyperbolic functions, erf, and the activations made of them. See
// ptc_math.h.
#ifndef PTC_MATH_EXP_H
#define PTC_MATH_EXP_H

#include "ptc_math_base.h"

namespace ptc {

namespace detail {

constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLn2High = 0.693359375f;  // 9 bits: its product with an exponent is exact
constexpr float kLn2Low = -2.12194440e-4f;

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
template <class F>
PTC_INLINE F log_base(F x, float high, float low, float unit_high, float unit_low) {
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

}  // namespace detail

// --- exponentials and logarithms ---------------------------------------------------------------

PTC_UNARY(exp, detail::exp_f32(x), exp)
PTC_UNARY(exp2, detail::exp2_f32(x), exp2)
PTC_UNARY(expm1, detail::or_sign(detail::clear_sign(detail::expm1_unsigned_zero(x)), x), expm1)
PTC_UNARY(log, detail::log_f32(x), log)
PTC_UNARY(log1p, detail::log1p_f32(x), log1p)
PTC_UNARY(log2, detail::log_base(x, 1.44269502e+00f, 1.92596299e-08f, 1.0f, 0.0f), log2)
PTC_UNARY(log10,
          detail::log_base(x, 4.34294492e-01f, -1.01030395e-08f, 3.01025391e-01f, 4.60503907e-06f),
          log10)

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
// erf(x) = 1 - e^(-x R(x)), R a polynomial fitted to -ln(erfc(x)) / x: no cancellation at 0. The
// exponent lies in [-16.1, 0].
template <class F> PTC_INLINE F erf_f32(F x) {
  F a = min_fast(F(3.95f), clear_sign(x));
  F p = F(-3.582264253e-5f);
  p = p * a + F(3.481496824e-4f);
  p = p * a + F(-1.169228228e-3f);
  p = p * a + F(-3.034080437e-4f);
  p = p * a + F(1.937804371e-2f);
  p = p * a + F(-1.028290391e-1f);
  p = p * a + F(-6.366151571e-1f);
  p = p * a + F(-1.128379226f);
  F y = a * p;
  int_like<F> n;
  F nf = round_small(y * F(kLog2E), n);
  F r = y - nf * F(kLn2High);
  r = r - nf * F(kLn2Low);
  F s = power_of_two<F>(n);
  return or_sign(clear_sign(s * expm1_reduced(r) + (s - F(1.0f))), x);
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
}  // namespace detail

PTC_UNARY(tanh, detail::tanh_f32(x), tanh)
PTC_UNARY(sinh, detail::sinh_f32(x), sinh)
PTC_UNARY(cosh, detail::cosh_f32(x), cosh)
PTC_UNARY(asinh, detail::asinh_f32(x), asinh)
PTC_UNARY(acosh, detail::acosh_f32(x), acosh)
PTC_UNARY(atanh, detail::atanh_f32(x), atanh)
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
    const double error =
        size > 0.5 ? (1 - size) - __builtin_erfc(guess) : __builtin_erf(guess) - size;
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

}  // namespace ptc

#endif
