#include "control_numbers.h"

#include <unordered_map>

namespace ptc::exec {

namespace {

using ptc::detail::both_bool;
using ptc::detail::either_float;
using ptc::detail::is_float_number;
using ptc::detail::number_order;

// `body` with the number as bool, int64_t or double.
template <class F> Value unary(const Value& value, const F& body) {
  switch (value.kind()) {
    case Value::Kind::Bool: return body(value.boolean());
    case Value::Kind::Int: return body(value.integer());
    case Value::Kind::Float: return body(value.number());
    default: fail("expected a number, got %s", value.kind_name());
  }
}
template <class F> Value binary(const Value* args, const F& body) {
  return unary(args[0], [&](auto a) { return unary(args[1], [&](auto b) { return body(a, b); }); });
}

[[noreturn]] void no_floats() { fail("expected ints, got a float"); }

template <class... A> constexpr bool any_float = (is_float_number<A> || ...);
template <class... A> using arithmetic = std::conditional_t<any_float<A...>, double, int64_t>;

#define PTC_ONE(NAME, RESULT)                                                      \
  Value number_##NAME(Numbers& n, const Value* args) {                             \
    return unary(args[0], [&](auto a) {                                            \
      [[maybe_unused]] typedef decltype(a) A;                                      \
      return Value(py_##NAME<RESULT>(n, a));                                       \
    });                                                                            \
  }
#define PTC_ONE_INT(NAME)                                                          \
  Value number_##NAME(Numbers& n, const Value* args) {                             \
    return unary(args[0], [&](auto a) -> Value {                                   \
      if constexpr (any_float<decltype(a)>) no_floats();                           \
      else return Value(py_##NAME<int64_t>(n, a));                                 \
    });                                                                            \
  }
#define PTC_TWO(NAME, RESULT)                                                      \
  Value number_##NAME(Numbers& n, const Value* args) {                             \
    return binary(args, [&](auto a, auto b) {                                      \
      [[maybe_unused]] typedef decltype(a) A;                                      \
      [[maybe_unused]] typedef decltype(b) B;                                      \
      return Value(py_##NAME<RESULT>(n, a, b));                                    \
    });                                                                            \
  }
#define PTC_TWO_INT(NAME, RESULT)                                                  \
  Value number_##NAME(Numbers& n, const Value* args) {                             \
    return binary(args, [&](auto a, auto b) -> Value {                             \
      typedef decltype(a) A;                                                       \
      typedef decltype(b) B;                                                       \
      if constexpr (any_float<A, B>) no_floats();                                  \
      else return Value(py_##NAME<RESULT>(n, a, b));                               \
    });                                                                            \
  }
#define PTC_ARITHMETIC arithmetic<A, B>
#define PTC_SAME arithmetic<A>
#define PTC_BITS std::conditional_t<both_bool<A, B>, bool, int64_t>
PTC_TWO(add, PTC_ARITHMETIC) PTC_TWO(sub, PTC_ARITHMETIC) PTC_TWO(mul, PTC_ARITHMETIC)
PTC_TWO(floordiv, PTC_ARITHMETIC) PTC_TWO(mod, PTC_ARITHMETIC)
PTC_TWO(truediv, double) PTC_TWO(power, double)
PTC_ONE(neg, PTC_SAME) PTC_ONE(pos, PTC_SAME) PTC_ONE(abs, PTC_SAME)
PTC_ONE_INT(invert) PTC_ONE_INT(math_isqrt)
PTC_TWO_INT(and, PTC_BITS) PTC_TWO_INT(or, PTC_BITS) PTC_TWO_INT(xor, PTC_BITS)
PTC_TWO_INT(lshift, int64_t) PTC_TWO_INT(rshift, int64_t) PTC_TWO_INT(math_gcd, int64_t)
PTC_TWO_INT(hash_part, int64_t) PTC_TWO_INT(hash_end, int64_t)
PTC_TWO(eq, bool) PTC_TWO(ne, bool) PTC_TWO(lt, bool) PTC_TWO(le, bool) PTC_TWO(gt, bool) PTC_TWO(ge, bool)
PTC_ONE(not, bool) PTC_ONE(bool, bool) PTC_ONE(float, double) PTC_ONE(int, int64_t) PTC_ONE(round, int64_t)
PTC_ONE(hash, int64_t)
PTC_ONE(math_floor, int64_t) PTC_ONE(math_ceil, int64_t) PTC_ONE(math_trunc, int64_t)
PTC_ONE(math_isnan, bool) PTC_ONE(math_isinf, bool) PTC_ONE(math_isfinite, bool)
#define PTC_MATH_ONE(X)                                                                                              \
  X(sqrt) X(exp) X(log) X(log2) X(log10) X(log1p) X(expm1) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh)      \
  X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(exp2) X(erf) X(erfc) X(cbrt) X(fabs) X(degrees) X(radians)
#define PTC_MATH_TWO(X) X(atan2) X(copysign) X(hypot) X(fmod) X(remainder) X(pow)
#define PTC_DEFINE(NAME) PTC_ONE(math_##NAME, double)
PTC_MATH_ONE(PTC_DEFINE)
#undef PTC_DEFINE
#define PTC_DEFINE(NAME) PTC_TWO(math_##NAME, double)
PTC_MATH_TWO(PTC_DEFINE)
#undef PTC_DEFINE

// Of two ints a float where the exponent is negative.
Value number_pow(Numbers& n, const Value* args) {
  return binary(args, [&](auto a, auto b) -> Value {
    if constexpr (any_float<decltype(a), decltype(b)>) return Value(py_pow<double>(n, a, b));
    else if ((int64_t)b < 0) return Value(py_pow<double>(n, a, b));
    else return Value(py_pow<int64_t>(n, a, b));
  });
}
Value number_round_to(Numbers& n, const Value* args) {
  return binary(args, [&](auto a, auto b) -> Value {
    if constexpr (any_float<decltype(b)>) no_floats();
    else return Value(py_round_to<arithmetic<decltype(a)>>(n, a, b));
  });
}
// One of the operands as it is, with its own kind.
Value number_min(Numbers&, const Value* args) {
  return binary(args, [](auto a, auto b) { return number_order(b, a) == -1 ? Value(b) : Value(a); });
}
Value number_max(Numbers&, const Value* args) {
  return binary(args, [](auto a, auto b) { return number_order(b, a) == 1 ? Value(b) : Value(a); });
}
Value number_select(Numbers&, const Value* args) {
  const Value& chosen = args[args[0].truth() ? 1 : 2];
  return unary(chosen, [](auto a) { return Value(a); });
}

#define PTC_ROW1(NAME) {#NAME, 1, number_##NAME},
#define PTC_ROW2(NAME) {#NAME, 2, number_##NAME},
#define PTC_MATH1(NAME) {"math." #NAME, 1, number_math_##NAME},
#define PTC_MATH2(NAME) {"math." #NAME, 2, number_math_##NAME},
const NumberRow rows[] = {
    PTC_ROW2(add) PTC_ROW2(sub) PTC_ROW2(mul) PTC_ROW2(truediv) PTC_ROW2(floordiv) PTC_ROW2(mod) PTC_ROW2(pow)
    PTC_ROW2(power) PTC_ROW1(neg) PTC_ROW1(pos) PTC_ROW1(abs) PTC_ROW1(invert) PTC_ROW2(and) PTC_ROW2(or) PTC_ROW2(xor)
    PTC_ROW2(lshift) PTC_ROW2(rshift) PTC_ROW2(eq) PTC_ROW2(ne) PTC_ROW2(lt) PTC_ROW2(le) PTC_ROW2(gt) PTC_ROW2(ge)
    PTC_ROW1(not) PTC_ROW1(int) PTC_ROW1(float) PTC_ROW1(bool) PTC_ROW1(round) PTC_ROW2(round_to) PTC_ROW2(min)
    PTC_ROW2(max) {"select", 3, number_select}, PTC_ROW1(hash) PTC_ROW2(hash_part) PTC_ROW2(hash_end)
    PTC_MATH_ONE(PTC_MATH1) PTC_MATH_TWO(PTC_MATH2) PTC_MATH1(floor) PTC_MATH1(ceil) PTC_MATH1(trunc)
    PTC_MATH1(isnan) PTC_MATH1(isinf) PTC_MATH1(isfinite) PTC_MATH1(isqrt) PTC_MATH2(gcd)
};

}  // namespace

const NumberRow* find_number(const std::string& name) {
  static const std::unordered_map<std::string, const NumberRow*> known = [] {
    std::unordered_map<std::string, const NumberRow*> result;
    for (const NumberRow& row : rows) result.emplace(row.name, &row);
    return result;
  }();
  const auto found = known.find(name);
  return found == known.end() ? nullptr : found->second;
}

}  // namespace ptc::exec
