// Arithmetic on sizes and other numbers of the program, as Python does it.
#include <cmath>

#include "common.h"

namespace ptc::exec {

static bool both_ints(const Call& c) { return !c[0].is_float() && !c[1].is_float(); }

template <class F, class G> static Value arithmetic(const Call& c, const F& ints, const G& floats) {
  if (!both_ints(c)) return Value((double)floats(c.number(0), c.number(1)));
  int64_t result;
  if (ints(c.integer(0), c.integer(1), &result)) fail("a number beyond 64 bits");
  return Value(result);
}

static Value add(Call& c) {
  return arithmetic(
      c, [](int64_t a, int64_t b, int64_t* r) { return __builtin_add_overflow(a, b, r); }, [](double a, double b) { return a + b; });
}
static Value multiply(Call& c) {
  return arithmetic(
      c, [](int64_t a, int64_t b, int64_t* r) { return __builtin_mul_overflow(a, b, r); }, [](double a, double b) { return a * b; });
}

static Value divide(Call& c) {
  if (c.number(1) == 0) fail("division by zero");
  // Python rounds the quotient of two ints once.
  if (both_ints(c)) return Value((double)((long double)c.integer(0) / (long double)c.integer(1)));
  return Value(c.number(0) / c.number(1));
}

static Value power(Call& c) {
  if (!both_ints(c) || c.integer(1) < 0) {
    if (c.number(0) == 0 && c.number(1) < 0) fail("zero to a negative power");
    return Value(std::pow(c.number(0), c.number(1)));
  }
  int64_t result = 1, base = c.integer(0), exponent = c.integer(1);
  for (; exponent; exponent >>= 1) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) fail("a number beyond 64 bits");
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) fail("a number beyond 64 bits");
  }
  return Value(result);
}

// -1, 0, 1, or 2 where NaN takes part.
static int order(const Call& c) {
  if (both_ints(c)) return c.integer(0) < c.integer(1) ? -1 : c.integer(0) > c.integer(1);
  const double a = c.number(0), b = c.number(1);
  return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
}
static Value equal(Call& c) { return Value(order(c) == 0); }
static Value not_equal(Call& c) { return Value(order(c) != 0); }
static Value less(Call& c) { return Value(order(c) == -1); }
static Value less_equal(Call& c) { return Value(order(c) == -1 || order(c) == 0); }
static Value greater(Call& c) { return Value(order(c) == 1); }
static Value greater_equal(Call& c) { return Value(order(c) == 1 || order(c) == 0); }
// Of two ints the bits, of two bools the truth.
static Value conjunction(Call& c) {
  if (c[0].is_bool() && c[1].is_bool()) return Value(c.flag(0) && c.flag(1));
  return Value(c.integer(0) & c.integer(1));
}
static Value disjunction(Call& c) {
  if (c[0].is_bool() && c[1].is_bool()) return Value(c.flag(0) || c.flag(1));
  return Value(c.integer(0) | c.integer(1));
}
static Value largest(Call& c) {
  if (both_ints(c)) return Value(std::max(c.integer(0), c.integer(1)));
  return Value(std::max(c.number(0), c.number(1)));
}
static Value smallest(Call& c) {
  if (both_ints(c)) return Value(std::min(c.integer(0), c.integer(1)));
  return Value(std::min(c.number(0), c.number(1)));
}
static Value to_float(Call& c) { return Value(c.number(0)); }
static Value negation(Call& c) { return Value(!c.flag(0)); }

static Value integer_of(double value) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) fail("%g has no integer of 64 bits", value);
  return Value((int64_t)value);
}
static Value floored(Call& c) { return c[0].is_float() ? integer_of(std::floor(c.number(0))) : Value(c.integer(0)); }
static Value raised(Call& c) { return c[0].is_float() ? integer_of(std::ceil(c.number(0))) : Value(c.integer(0)); }
static Value truncated(Call& c) { return c[0].is_float() ? integer_of(std::trunc(c.number(0))) : Value(c.integer(0)); }

static const OperatorRow rows[] = {
    {"scalar::add", add},           {"scalar::mul", multiply},  {"scalar::truediv", divide}, {"scalar::pow", power},
    {"scalar::eq", equal},          {"scalar::ne", not_equal},  {"scalar::lt", less},        {"scalar::le", less_equal},
    {"scalar::gt", greater},        {"scalar::ge", greater_equal}, {"scalar::and", conjunction}, {"scalar::or", disjunction},
    {"scalar::max", largest},       {"scalar::min", smallest},  {"scalar::float", to_float}, {"scalar::not", negation},
    {"scalar::floor", floored},     {"scalar::ceil", raised},   {"scalar::trunc", truncated},
};
PTC_EXEC_TABLE(number_operators, rows);

}  // namespace ptc::exec
