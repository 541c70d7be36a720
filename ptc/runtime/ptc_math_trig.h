// Trigonometric functions and their inverses. See ptc_math.h.
#ifndef PTC_MATH_TRIG_H
#define PTC_MATH_TRIG_H

#include "ptc_math_base.h"

namespace ptc {

namespace detail {

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
// x - n * pi/2 for |x| <= kTrigLimit. The first difference is exact with FMA: n has 15 bits, pi/2's
// head 24.
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

PTC_UNARY(sin, detail::trig_f32(x, 0), sin)
PTC_UNARY(cos, detail::trig_f32(x, 1), cos)
PTC_UNARY(tan, detail::tan_f32(x), tan)
PTC_UNARY(asin, detail::asin_f32(x), asin)
PTC_UNARY(acos, detail::acos_f32(x), acos)
PTC_UNARY(atan, detail::atan_f32(x), atan)

}  // namespace ptc

#endif
