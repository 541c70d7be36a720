// Functions of two arguments: powers, remainders, quotients. See ptc_math.h.
#ifndef PTC_MATH_PAIRS_H
#define PTC_MATH_PAIRS_H

#include "ptc_math_base.h"

namespace ptc {

// --- two arguments -----------------------------------------------------------------------------

#define PTC_BINARY_LIBM(NAME, BUILTIN)                                                          \
  template <class F> PTC_INLINE F NAME(F x, F y) {                                              \
    if constexpr (detail::is_f32<F>)                                                            \
      return detail::each([](float a, float b) { return __builtin_##BUILTIN##f(a, b); }, x, y); \
    else                                                                                        \
      return detail::each([](double a, double b) { return __builtin_##BUILTIN(a, b); }, x, y);  \
  }
PTC_BINARY_LIBM(atan2, atan2)
PTC_BINARY_LIBM(hypot, hypot)
PTC_BINARY_LIBM(nextafter, nextafter)
PTC_BINARY_LIBM(fmod_libm, fmod)

namespace detail {

// log2 of positive normal doubles (zero gives a large negative number), error 1e-15; 2^t for |t| <
// 1020, 2e-14.
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

// C's integer quotient, defined everywhere: by zero it is 0, and the lowest number by -1 wraps.
// Lanes beyond a loop's end hold zeros, which must not trap.
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

}  // namespace ptc

#endif
