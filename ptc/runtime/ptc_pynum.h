// Python's numbers: int (64 bits, overflow reported), float and bool with Python's meaning.
//
// Owns one function template py_<operation><R>(numbers, operands...) for each operation of the
// control flow IR (ptc/graph/control.py), dots as underscores. Operands are int64_t, double or
// bool; R is the target's type, Python's own result type or a wider one (bool -> int -> float). No
// operands trap: what Python raises and what does not fit 64 bits goes into `Numbers`. Knows no
// text and no tensors. Mathematics comes from libm, as CPython's does.
#ifndef PTC_PYNUM_H
#define PTC_PYNUM_H

#include <stdint.h>

#include "ptc_decimal.h"

namespace ptc {

// What went wrong first in a run. `exception` is the name of Python's exception with the text
// `failure`; null where Python goes on with a number that is none here.
struct Numbers {
  const char* failure = nullptr;
  const char* exception = nullptr;

  void overflow() { raise(nullptr, "integer overflow: a result does not fit 64 bits"); }
  void raise(const char* type, const char* text) {
    if (failure) return;
    failure = text;
    exception = type;
  }
  void divided_by_zero(const char* text) { raise("ZeroDivisionError", text); }
  void outside_domain() { raise("ValueError", "math domain error"); }
};

namespace detail {

template <class A, class B> constexpr bool same_number = false;
template <class A> constexpr bool same_number<A, A> = true;
template <class A>
constexpr bool is_number =
    same_number<A, int64_t> || same_number<A, double> || same_number<A, bool>;
template <class A> constexpr bool is_float_number = same_number<A, double>;
template <class A, class B> constexpr bool either_float = is_float_number<A> || is_float_number<B>;
template <class A, class B> constexpr bool both_bool = same_number<A, bool> && same_number<B, bool>;

// 0 bool, 1 int, 2 float.
template <class A>
constexpr int number_rank = same_number<A, bool> ? 0
                            : is_float_number<A> ? 2
                                                 : 1;

template <class R, class N> inline R number_as(N value) {
  static_assert(is_number<R> && is_number<N>, "a Python number is int64_t, double or bool");
  static_assert(number_rank<R> >= number_rank<N>, "the target is narrower than the result");
  return (R)value;
}

// A value whose origin the compiler does not see: no product is fused with the sum that takes it
// (Python rounds both), and no function of a constant is computed by the compiler's own library.
inline double opaque(double x) {
#if defined(__x86_64__)
  __asm__("" : "+x"(x));
  return x;
#elif defined(__aarch64__)
  __asm__("" : "+w"(x));
  return x;
#else
  volatile double y = x;
  return y;
#endif
}

inline bool is_nan(double x) { return x != x; }
inline bool is_inf(double x) { return __builtin_fabs(x) == __builtin_inf(); }
inline bool is_finite(double x) { return __builtin_fabs(x) < __builtin_inf(); }
inline double power_of_two(int exponent) {  // -1022 .. 1023
  return double_of_bits((uint64_t)(exponent + 1023) << 52);
}

// Order of two numbers by their exact values: -1, 0, 1; 2 if one is NaN.
inline int order(int64_t a, int64_t b) { return a < b ? -1 : a > b; }
inline int order(double a, double b) { return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2; }
inline int order(int64_t a, double b) {
  if (is_nan(b)) return 2;
  if (b >= 9223372036854775808.0) return -1;
  if (b < -9223372036854775808.0) return 1;
  const int64_t whole = (int64_t)b;
  if (a != whole) return a < whole ? -1 : 1;
  return order(0.0, b - (double)whole);
}
inline int order(double a, int64_t b) {
  const int reversed = order(b, a);
  return reversed == 2 ? 2 : -reversed;
}
template <class A, class B> inline int number_order(A a, B b) {
  if constexpr (is_float_number<A> && is_float_number<B>)
    return order(a, b);
  else if constexpr (is_float_number<A>)
    return order(a, (int64_t)b);
  else if constexpr (is_float_number<B>)
    return order((int64_t)a, b);
  else
    return order((int64_t)a, (int64_t)b);
}

// A whole double as an int.
inline int64_t whole(Numbers& n, double x) {
  if (x >= -9223372036854775808.0 && x < 9223372036854775808.0) return (int64_t)x;
  if (is_nan(x))
    n.raise("ValueError", "cannot convert float NaN to integer");
  else if (is_inf(x))
    n.raise("OverflowError", "cannot convert float infinity to integer");
  else
    n.overflow();
  return 0;
}

inline int64_t checked(Numbers& n, bool overflowed, int64_t result) {
  if (!overflowed) return result;
  n.overflow();
  return 0;
}
inline int64_t multiply(Numbers& n, int64_t a, int64_t b) {
  int64_t r;
  const bool overflowed = __builtin_mul_overflow(a, b, &r);
  return checked(n, overflowed, r);
}

inline uint64_t magnitude(int64_t x) { return x < 0 ? 0 - (uint64_t)x : (uint64_t)x; }

// a / b to the nearest double, also where a or b is none.
inline double divide(int64_t a, int64_t b) {
  const uint64_t top = magnitude(a), bottom = magnitude(b);
  const bool negative = (a < 0) != (b < 0);
  if (!top || (top <= 1ull << 53 && bottom <= 1ull << 53)) return (double)a / (double)b;
  // 64 or 65 bits of the quotient, all lower ones folded into the last.
  const int shift = 64 + __builtin_clzll(top) - __builtin_clzll(bottom);
  const unsigned __int128 scaled = (unsigned __int128)top << shift;
  unsigned __int128 quotient = scaled / bottom;
  const bool rest = scaled % bottom != 0;
  int unit = -shift;
  if (quotient >> 64) {
    quotient = quotient >> 1 | (quotient & 1);
    ++unit;
  }
  const double result = (double)((uint64_t)quotient | (rest ? 1 : 0)) * power_of_two(unit);
  return negative ? -result : result;
}

// A double's remainder with the divisor's sign, and the floor of the quotient that goes with it.
inline double float_mod(double a, double b) {
  const double rest = __builtin_fmod(opaque(a), opaque(b));
  if (rest == 0) return __builtin_copysign(0.0, b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}
inline double float_floordiv(double a, double b) {
  double rest = __builtin_fmod(opaque(a), opaque(b));
  // (a - rest) / b is a whole number up to rounding.
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return __builtin_copysign(0.0, a / b);
  const double floor = __builtin_floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

inline int64_t int_pow(Numbers& n, int64_t base, int64_t exponent) {
  int64_t result = 1;
  if (base == 0 || base == 1) return exponent ? base : 1;
  if (base == -1) return exponent & 1 ? -1 : 1;
  for (;;) {
    if (exponent & 1) result = multiply(n, result, base);
    exponent >>= 1;
    if (!exponent || n.failure) return result;
    base = multiply(n, base, base);
  }
}
inline double float_pow(Numbers& n, double base, double exponent) {
  const bool finite = is_finite(base) && is_finite(exponent);
  if (finite && base == 0 && exponent < 0) {
    n.divided_by_zero("0.0 cannot be raised to a negative power");
    return 0;
  }
  if (finite && base < 0 && __builtin_floor(exponent) != exponent) {
    n.raise(nullptr, "a negative number to a fractional power is complex");
    return 0;
  }
  const double result = __builtin_pow(opaque(base), opaque(exponent));
  if (finite && is_inf(result)) n.raise("OverflowError", "(34, 'Numerical result out of range')");
  return result;
}

// x to a multiple of 10^-digits, half to even.
inline int64_t round_int(Numbers& n, int64_t x, int64_t digits) {
  if (digits >= 0) return x;
  if (digits < -19) return 0;
  unsigned __int128 ten = 1;
  for (int64_t i = 0; i < -digits; ++i) ten *= 10;
  const unsigned __int128 value = magnitude(x);
  unsigned __int128 quotient = value / ten;
  const unsigned __int128 twice = value % ten * 2;
  if (twice > ten || (twice == ten && (quotient & 1))) ++quotient;
  quotient *= ten;
  const unsigned __int128 most = ((unsigned __int128)1 << 63) - (x < 0 ? 0 : 1);
  if (quotient > most) return checked(n, true, 0);
  return x < 0 ? (int64_t)(0 - (uint64_t)quotient) : (int64_t)(uint64_t)quotient;
}
inline double round_float(Numbers& n, double x, int64_t digits) {
  // Beyond these no double has digits to lose, or none has one to keep.
  if (!is_finite(x) || digits > 323) return x;
  if (digits < -308) return __builtin_copysign(0.0, x);
  Decimal decimal;
  decimal.set_exact(x);
  if (decimal.point + digits >= decimal.count) return x;
  decimal.round((int)(decimal.point + digits));
  const double result = decimal.value();
  if (is_inf(result)) n.raise("OverflowError", "rounded value too large to represent");
  return __builtin_copysign(result, x);
}

// sqrt(a*a + b*b) to the nearest double in practice: the squares' and the root's errors are
// carried.
inline double hypot(double a, double b) {
  a = __builtin_fabs(a);
  b = __builtin_fabs(b);
  if (is_inf(a) || is_inf(b)) return __builtin_inf();
  if (is_nan(a) || is_nan(b)) return __builtin_nan("");
  double big = a > b ? a : b, small = a > b ? b : a;
  if (small == 0) return big;
  // Powers of two keep the squares in range; what is lost of `small` is far below the last place.
  const int field = (int)(double_bits(big) >> 52);
  double unscale = 1;
  if (field > 1023 + 500) {
    unscale = power_of_two(600);
    big *= power_of_two(-600);
    small *= power_of_two(-600);
  } else if (field < 1023 - 450) {
    unscale = power_of_two(-600);
    big *= power_of_two(600);
    small *= power_of_two(600);
  }
  const double big_square = opaque(big * big), small_square = opaque(small * small);
  const double low =
      __builtin_fma(big, big, -big_square) + __builtin_fma(small, small, -small_square);
  const double sum = big_square + small_square;
  const double lost = small_square - (sum - big_square);
  const double root = __builtin_sqrt(sum);
  const double rest = __builtin_fma(-root, root, sum) + (lost + low);
  return (root + rest / (2 * root)) * unscale;
}

inline int64_t int_sqrt(int64_t x) {
  int64_t root = (int64_t)__builtin_sqrt((double)x);
  if (root > 3037000499) root = 3037000499;  // the largest whose square fits
  while (root * root > x) --root;
  while (root < 3037000499 && (root + 1) * (root + 1) <= x) ++root;
  return root;
}

}  // namespace detail

// --- arithmetic
// -----------------------------------------------------------------------------------

#define PTC_PY_UNARY(NAME) \
  template <class R, class A> inline R py_##NAME([[maybe_unused]] Numbers& n, A a)
#define PTC_PY_BINARY(NAME) \
  template <class R, class A, class B> inline R py_##NAME([[maybe_unused]] Numbers& n, A a, B b)

#define PTC_PY_ARITHMETIC(NAME, BUILTIN, FLOAT)                    \
  PTC_PY_BINARY(NAME) {                                            \
    using namespace detail;                                        \
    if constexpr (either_float<A, B>) {                            \
      const double x = (double)a, y = (double)b;                   \
      return number_as<R>(FLOAT);                                  \
    } else {                                                       \
      int64_t r;                                                   \
      const bool overflowed = BUILTIN((int64_t)a, (int64_t)b, &r); \
      return number_as<R>(checked(n, overflowed, r));              \
    }                                                              \
  }
PTC_PY_ARITHMETIC(add, __builtin_add_overflow, x + y)
PTC_PY_ARITHMETIC(sub, __builtin_sub_overflow, x - y)
PTC_PY_ARITHMETIC(mul, __builtin_mul_overflow, opaque(x* y))

PTC_PY_BINARY(truediv) {
  using namespace detail;
  if (b == 0) {
    n.divided_by_zero(either_float<A, B> ? "float division by zero" : "division by zero");
    return 0;
  }
  if constexpr (either_float<A, B>)
    return number_as<R>((double)a / (double)b);
  else
    return number_as<R>(divide((int64_t)a, (int64_t)b));
}
PTC_PY_BINARY(floordiv) {
  using namespace detail;
  if (b == 0) {
    n.divided_by_zero(either_float<A, B> ? "float floor division by zero"
                                         : "integer division or modulo by zero");
    return 0;
  }
  if constexpr (either_float<A, B>) {
    return number_as<R>(float_floordiv((double)a, (double)b));
  } else {
    const int64_t x = (int64_t)a, y = (int64_t)b;
    if (y == -1) return number_as<R>(checked(n, x == INT64_MIN, -x));
    return number_as<R>(x / y - (x % y != 0 && (x < 0) != (y < 0)));
  }
}
PTC_PY_BINARY(mod) {
  using namespace detail;
  if (b == 0) {
    n.divided_by_zero(either_float<A, B> ? "float modulo" : "integer modulo by zero");
    return 0;
  }
  if constexpr (either_float<A, B>) {
    return number_as<R>(float_mod((double)a, (double)b));
  } else {
    const int64_t x = (int64_t)a, y = (int64_t)b;
    const int64_t rest = y == -1 ? 0 : x % y;
    return number_as<R>(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
  }
}
// Of two ints: an int, but a float for a negative exponent. The target says which one is expected.
PTC_PY_BINARY(pow) {
  using namespace detail;
  if constexpr (either_float<A, B>) {
    return number_as<R>(float_pow(n, (double)a, (double)b));
  } else {
    const int64_t x = (int64_t)a, y = (int64_t)b;
    if (y >= 0) return number_as<R>(int_pow(n, x, y));
    const double result = float_pow(n, (double)x, (double)y);
    if constexpr (is_float_number<R>) return result;
    n.raise(nullptr, "an int to a negative power is not an int");
    return 0;
  }
}
// A power of floats that is infinite or NaN where Python raises.
PTC_PY_BINARY(power) {
  const double x = detail::opaque((double)a), y = detail::opaque((double)b);
  return detail::number_as<R>(__builtin_pow(x, y));
}
PTC_PY_UNARY(neg) {
  using namespace detail;
  if constexpr (is_float_number<A>)
    return number_as<R>(-a);
  else
    return number_as<R>(checked(n, (int64_t)a == INT64_MIN, -(int64_t)a));
}
PTC_PY_UNARY(pos) {
  if constexpr (detail::is_float_number<A>)
    return detail::number_as<R>(a);
  else
    return detail::number_as<R>((int64_t)a);
}
PTC_PY_UNARY(abs) {
  if constexpr (detail::is_float_number<A>)
    return detail::number_as<R>(__builtin_fabs(a));
  else
    return (int64_t)a < 0 ? py_neg<R>(n, (int64_t)a) : detail::number_as<R>((int64_t)a);
}

// --- bits
// -----------------------------------------------------------------------------------------

PTC_PY_UNARY(invert) {
  static_assert(!detail::is_float_number<A>, "bits of a float");
  return detail::number_as<R>(~(int64_t)a);
}
#define PTC_PY_BITS(NAME, OPERATOR)                                \
  PTC_PY_BINARY(NAME) {                                            \
    static_assert(!detail::either_float<A, B>, "bits of a float"); \
    const int64_t r = (int64_t)a OPERATOR(int64_t) b;              \
    if constexpr (detail::both_bool<A, B>)                         \
      return detail::number_as<R>((bool)r);                        \
    else                                                           \
      return detail::number_as<R>(r);                              \
  }
PTC_PY_BITS(and, &)
PTC_PY_BITS(or, |)
PTC_PY_BITS(xor, ^)
PTC_PY_BINARY(lshift) {
  static_assert(!detail::either_float<A, B>, "bits of a float");
  const int64_t x = (int64_t)a, y = (int64_t)b;
  if (y < 0) n.raise("ValueError", "negative shift count");
  if (y < 0 || x == 0) return 0;
  const bool fits = y < 64 && (int64_t)((uint64_t)x << y) >> y == x;
  return detail::number_as<R>(detail::checked(n, !fits, fits ? (int64_t)((uint64_t)x << y) : 0));
}
PTC_PY_BINARY(rshift) {
  static_assert(!detail::either_float<A, B>, "bits of a float");
  const int64_t x = (int64_t)a, y = (int64_t)b;
  if (y < 0) n.raise("ValueError", "negative shift count");
  return detail::number_as<R>(y < 0 ? (int64_t)0 : x >> (y > 63 ? 63 : y));
}

// --- comparisons, choice, conversion
// ---------------------------------------------------------------

#define PTC_PY_COMPARISON(NAME, TEST)             \
  PTC_PY_BINARY(NAME) {                           \
    const int order = detail::number_order(a, b); \
    return detail::number_as<R>((bool)(TEST));    \
  }
PTC_PY_COMPARISON(eq, order == 0)
PTC_PY_COMPARISON(ne, order != 0)
PTC_PY_COMPARISON(lt, order == -1)
PTC_PY_COMPARISON(le, order == -1 || order == 0)
PTC_PY_COMPARISON(gt, order == 1)
PTC_PY_COMPARISON(ge, order == 1 || order == 0)

PTC_PY_UNARY(not) { return detail::number_as<R>(a == 0); }
PTC_PY_UNARY(bool) { return detail::number_as<R>(a != 0); }
PTC_PY_UNARY(float) { return detail::number_as<R>((double)a); }
PTC_PY_UNARY(int) {
  if constexpr (detail::is_float_number<A>)
    return detail::number_as<R>(detail::whole(n, __builtin_trunc(a)));
  else
    return detail::number_as<R>((int64_t)a);
}
PTC_PY_UNARY(round) {
  if constexpr (detail::is_float_number<A>)
    return detail::number_as<R>(detail::whole(n, __builtin_rint(a)));
  else
    return detail::number_as<R>((int64_t)a);
}
PTC_PY_BINARY(round_to) {
  static_assert(!detail::is_float_number<B>, "the number of digits is an int");
  if constexpr (detail::is_float_number<A>)
    return detail::number_as<R>(detail::round_float(n, a, (int64_t)b));
  else
    return detail::number_as<R>(detail::round_int(n, (int64_t)a, (int64_t)b));
}
PTC_PY_BINARY(min) {
  return detail::number_order(b, a) == -1 ? detail::number_as<R>(b) : detail::number_as<R>(a);
}
PTC_PY_BINARY(max) {
  return detail::number_order(b, a) == 1 ? detail::number_as<R>(b) : detail::number_as<R>(a);
}
template <class R, class C, class A, class B> inline R py_select(Numbers&, C condition, A a, B b) {
  return condition != 0 ? detail::number_as<R>(a) : detail::number_as<R>(b);
}

// --- math
// -----------------------------------------------------------------------------------------

// A function of libm; a NaN or an infinity that the operand does not have is an error.
#define PTC_PY_MATH(NAME, MAY_OVERFLOW)                                  \
  PTC_PY_UNARY(math_##NAME) {                                            \
    const double x = detail::opaque((double)a), y = __builtin_##NAME(x); \
    if (detail::is_nan(y) && !detail::is_nan(x))                         \
      n.outside_domain();                                                \
    else if (detail::is_inf(y) && detail::is_finite(x)) {                \
      if (MAY_OVERFLOW)                                                  \
        n.raise("OverflowError", "math range error");                    \
      else                                                               \
        n.outside_domain();                                              \
    }                                                                    \
    return detail::number_as<R>(y);                                      \
  }
PTC_PY_MATH(sqrt, false)
PTC_PY_MATH(exp, true)
PTC_PY_MATH(log, false)
PTC_PY_MATH(log2, false)
PTC_PY_MATH(log10, false)
PTC_PY_MATH(log1p, false)
PTC_PY_MATH(expm1, true)
PTC_PY_MATH(sin, false)
PTC_PY_MATH(cos, false)
PTC_PY_MATH(tan, false)
PTC_PY_MATH(asin, false)
PTC_PY_MATH(acos, false)
PTC_PY_MATH(atan, false)
PTC_PY_MATH(sinh, true)
PTC_PY_MATH(cosh, true)
PTC_PY_MATH(tanh, false)
PTC_PY_MATH(asinh, false)
PTC_PY_MATH(acosh, false)
PTC_PY_MATH(atanh, false)
PTC_PY_MATH(exp2, true)
PTC_PY_MATH(erf, false)
PTC_PY_MATH(erfc, false)
PTC_PY_MATH(cbrt, false)

#define PTC_PY_WHOLE(NAME, FUNCTION)                                          \
  PTC_PY_UNARY(math_##NAME) {                                                 \
    if constexpr (detail::is_float_number<A>)                                 \
      return detail::number_as<R>(detail::whole(n, __builtin_##FUNCTION(a))); \
    else                                                                      \
      return detail::number_as<R>((int64_t)a);                                \
  }
PTC_PY_WHOLE(floor, floor)
PTC_PY_WHOLE(ceil, ceil)
PTC_PY_WHOLE(trunc, trunc)

PTC_PY_UNARY(math_fabs) { return detail::number_as<R>(__builtin_fabs((double)a)); }
PTC_PY_UNARY(math_isnan) { return detail::number_as<R>(detail::is_nan((double)a)); }
PTC_PY_UNARY(math_isinf) { return detail::number_as<R>(detail::is_inf((double)a)); }
PTC_PY_UNARY(math_isfinite) { return detail::number_as<R>(detail::is_finite((double)a)); }
PTC_PY_UNARY(math_degrees) {
  return detail::number_as<R>(detail::opaque((double)a * (180.0 / 3.141592653589793)));
}
PTC_PY_UNARY(math_radians) {
  return detail::number_as<R>(detail::opaque((double)a * (3.141592653589793 / 180.0)));
}
PTC_PY_UNARY(math_isqrt) {
  static_assert(!detail::is_float_number<A>, "isqrt of a float");
  if ((int64_t)a < 0) {
    n.raise("ValueError", "isqrt() argument must be nonnegative");
    return 0;
  }
  return detail::number_as<R>(detail::int_sqrt((int64_t)a));
}
PTC_PY_BINARY(math_gcd) {
  static_assert(!detail::either_float<A, B>, "gcd of a float");
  uint64_t x = detail::magnitude((int64_t)a), y = detail::magnitude((int64_t)b);
  while (y) {
    const uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return detail::number_as<R>(detail::checked(n, x > (uint64_t)INT64_MAX, (int64_t)x));
}
PTC_PY_BINARY(math_atan2) {
  const double x = detail::opaque((double)a), y = detail::opaque((double)b);
  return detail::number_as<R>(__builtin_atan2(x, y));
}
PTC_PY_BINARY(math_copysign) {
  return detail::number_as<R>(__builtin_copysign((double)a, (double)b));
}
PTC_PY_BINARY(math_hypot) { return detail::number_as<R>(detail::hypot((double)a, (double)b)); }
#define PTC_PY_REST(NAME)                                                                  \
  PTC_PY_BINARY(math_##NAME) {                                                             \
    const double x = detail::opaque((double)a), y = detail::opaque((double)b);             \
    const double r = __builtin_##NAME(x, y);                                               \
    if (detail::is_nan(r) && !detail::is_nan(x) && !detail::is_nan(y)) n.outside_domain(); \
    return detail::number_as<R>(r);                                                        \
  }
PTC_PY_REST(fmod)
PTC_PY_REST(remainder)
PTC_PY_BINARY(math_pow) {
  const double x = detail::opaque((double)a), y = detail::opaque((double)b);
  const double r = __builtin_pow(x, y);
  if (detail::is_finite(x) && detail::is_finite(y)) {
    if (detail::is_nan(r) || (detail::is_inf(r) && x == 0))
      n.outside_domain();
    else if (detail::is_inf(r))
      n.raise("OverflowError", "math range error");
  }
  return detail::number_as<R>(r);
}

#undef PTC_PY_UNARY
#undef PTC_PY_BINARY
#undef PTC_PY_ARITHMETIC
#undef PTC_PY_BITS
#undef PTC_PY_COMPARISON
#undef PTC_PY_MATH
#undef PTC_PY_WHOLE
#undef PTC_PY_REST

}  // namespace ptc

#endif
