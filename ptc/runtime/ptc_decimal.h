// Doubles as exact decimal digits, and back: what text and decimal rounding of Python's floats
// need.
//
// Owns the exact expansion, the shortest digits that read back as the same double, rounding to a
// number of digits (half to even on the exact value) and the nearest double of digits. Everything
// is integer arithmetic: no libc, no locale, no rounding error. Knows nothing of signs and layouts
// of text (ptc_text.h).
#ifndef PTC_DECIMAL_H
#define PTC_DECIMAL_H

#include <stdint.h>

namespace ptc {

namespace detail {

// A natural number below 2^3072: the smallest double times 10^1076 has 2550 bits, a nearest-double
// division of 350 digits has fewer.
struct Natural {
  enum { LIMBS = 96 };
  uint32_t limb[LIMBS];
  int size = 0;  // limbs in use; the last one is not zero

  void set(uint64_t x) {
    size = 0;
    for (; x; x >>= 32) limb[size++] = (uint32_t)x;
  }
  void multiply_add(uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (int i = 0; i < size; ++i) {
      carry += (uint64_t)limb[i] * factor;
      limb[i] = (uint32_t)carry;
      carry >>= 32;
    }
    if (carry && size < LIMBS) limb[size++] = (uint32_t)carry;
  }
  void multiply_power_of_five(int exponent) {
    for (; exponent >= 13; exponent -= 13) multiply_add(1220703125u, 0);
    for (; exponent > 0; --exponent) multiply_add(5, 0);
  }
  void shift_left(int bits) {
    if (!size) return;
    const int whole = bits / 32, rest = bits % 32;
    if (size + whole + 1 > LIMBS) return;
    limb[size] = 0;
    for (int i = size; i >= 0; --i) {
      const uint64_t pair = (uint64_t)limb[i] << 32 | (i ? limb[i - 1] : 0);
      limb[i + whole] = (uint32_t)(pair << rest >> 32);
    }
    for (int i = 0; i < whole; ++i) limb[i] = 0;
    size += whole + 1;
    trim();
  }
  // Divides by `divisor`; gives the remainder.
  uint32_t divide(uint32_t divisor) {
    uint64_t rest = 0;
    for (int i = size - 1; i >= 0; --i) {
      rest = rest << 32 | limb[i];
      limb[i] = (uint32_t)(rest / divisor);
      rest %= divisor;
    }
    trim();
    return (uint32_t)rest;
  }
  int bit_length() const { return size ? size * 32 - __builtin_clz(limb[size - 1]) : 0; }
  bool at_least(const Natural& other) const {
    if (size != other.size) return size > other.size;
    for (int i = size - 1; i >= 0; --i)
      if (limb[i] != other.limb[i]) return limb[i] > other.limb[i];
    return true;
  }
  // `other` is not larger.
  void subtract(const Natural& other) {
    int64_t borrow = 0;
    for (int i = 0; i < size; ++i) {
      borrow += (int64_t)limb[i] - (i < other.size ? other.limb[i] : 0);
      limb[i] = (uint32_t)borrow;
      borrow >>= 32;
    }
    trim();
  }
  void trim() {
    while (size && !limb[size - 1]) --size;
  }
  // Writes the decimal digits (values 0 to 9), gives their number; leaves zero.
  int take_digits(char* digits) {
    int count = 0;
    while (size) {
      uint32_t nine = divide(1000000000u);
      for (int i = 0; i < 9 && (size || nine); ++i, nine /= 10) digits[count++] = (char)(nine % 10);
    }
    for (int i = 0, j = count - 1; i < j; ++i, --j) {
      const char swap = digits[i];
      digits[i] = digits[j];
      digits[j] = swap;
    }
    return count;
  }
};

inline uint64_t double_bits(double x) {
  uint64_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline double double_of_bits(uint64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// |x| = mantissa * 2^exponent.
struct Parts {
  uint64_t mantissa;
  int exponent;
  explicit Parts(double x) {
    const uint64_t bits = double_bits(x);
    const int field = (int)(bits >> 52 & 2047);
    mantissa = (bits & 0xFFFFFFFFFFFFFull) | (field ? 1ull << 52 : 0);
    exponent = (field ? field : 1) - 1075;
  }
};

// The decimal digits of value * 2^exponent * 10^max(0, -exponent).
inline int scaled_digits(uint64_t value, int exponent, char* digits) {
  Natural n;
  n.set(value);
  if (exponent >= 0)
    n.shift_left(exponent);
  else
    n.multiply_power_of_five(-exponent);
  return n.take_digits(digits);
}

}  // namespace detail

// The number 0.d1 d2 d3 ... * 10^point; no digits are zero. The first and the last digit are not 0.
struct Decimal {
  enum { MOST = 800 };
  char digit[MOST];
  int count = 0;
  int point = 0;

  void trim() {
    while (count && !digit[count - 1]) --count;
    if (!count) point = 0;
  }
  // The exact value of |x|, which is finite.
  void set_exact(double x) {
    const detail::Parts parts(x);
    count = detail::scaled_digits(parts.mantissa, parts.exponent, digit);
    point = count + (parts.exponent < 0 ? parts.exponent : 0);
    trim();
  }
  // Keep the first `keep` digits (any number; below 0 nothing is left), half to even.
  void round(int keep) {
    if (keep >= count) return;
    bool up = false;
    if (keep >= 0) {
      const char next = digit[keep];
      const bool exactly_half = next == 5 && keep + 1 == count;
      up = exactly_half ? keep > 0 && (digit[keep - 1] & 1) : next >= 5;
    }
    count = keep > 0 ? keep : 0;
    if (up) {
      while (count && digit[count - 1] == 9) --count;
      if (count) {
        ++digit[count - 1];
      } else {
        digit[count++] = 1;
        point += keep > 0 ? 1 : 1 - keep;
      }
    }
    trim();
  }
  // The fewest digits that read back as |x|, finite; of several the nearest ones.
  void set_shortest(double x);
  // The nearest double, ties to even; inf beyond the largest. At most 400 digits, |point| below
  // 800.
  double value() const;
};

inline void Decimal::set_shortest(double x) {
  const detail::Parts parts(x);
  count = point = 0;
  if (!parts.mantissa) return;
  // Everything between the middles to the neighbours reads back as x; the middles do so for an even
  // mantissa. All three in units of 2^(exponent - 2), hence as integers of one decimal scale.
  const uint64_t middle = parts.mantissa * 4;
  const bool narrow = parts.mantissa == 1ull << 52 && parts.exponent > -1074;
  const bool even = !(parts.mantissa & 1);
  const int exponent = parts.exponent - 2;
  char low[MOST], exact[MOST], high[MOST];
  const int low_count = detail::scaled_digits(middle - (narrow ? 1 : 2), exponent, low);
  const int exact_count = detail::scaled_digits(middle, exponent, exact);
  const int width = detail::scaled_digits(middle + 2, exponent, high);
  const auto at = [width](const char* digits, int n, int i) {  // digit i of `width`, zeros in front
    return i < width - n ? (char)0 : digits[i - (width - n)];
  };
  for (int keep = 1; keep <= width; ++keep) {
    // Candidates: the first digits of x, and the same plus one in the last place.
    int below_low = 0, above_high = 0;  // order of the candidates to the ends, zeros behind
    for (int i = 0; i < width && !below_low; ++i)
      below_low = (i < keep ? at(exact, exact_count, i) : 0) - at(low, low_count, i);
    char up[MOST];
    for (int i = 0; i < keep; ++i) up[i] = at(exact, exact_count, i);
    int carry = keep - 1;
    while (carry >= 0 && up[carry] == 9) up[carry--] = 0;
    if (carry >= 0) ++up[carry];
    if (carry < 0) above_high = 1;
    for (int i = 0; i < width && !above_high; ++i) above_high = (i < keep ? up[i] : 0) - high[i];
    const bool down_fits = below_low > 0 || (below_low == 0 && even);
    const bool up_fits = above_high < 0 || (above_high == 0 && even);
    if (!down_fits && !up_fits) continue;
    bool take_up = up_fits;
    if (down_fits && up_fits) {
      int half = keep < width ? at(exact, exact_count, keep) - 5 : -5;
      for (int i = keep + 1; i < width && !half; ++i) half = at(exact, exact_count, i);
      take_up = half > 0 || (half == 0 && (at(exact, exact_count, keep - 1) & 1));
    }
    int zeros = 0;
    for (int i = 0; i < keep; ++i) {
      const char d = take_up ? up[i] : at(exact, exact_count, i);
      if (!count && !d)
        ++zeros;
      else
        digit[count++] = d;
    }
    point = width - zeros + (exponent < 0 ? exponent : 0);
    trim();
    return;
  }
}

inline double Decimal::value() const {
  if (!count) return 0.0;
  // top / bottom is the number; shifts make the quotient lie in [1, 2).
  detail::Natural top, bottom;
  for (int i = 0; i < count; ++i) top.multiply_add(10, (uint32_t)digit[i]);
  bottom.set(1);
  const int ten = point - count;
  (ten < 0 ? bottom : top).multiply_power_of_five(ten < 0 ? -ten : ten);
  int exponent = top.bit_length() - bottom.bit_length();
  (exponent < 0 ? top : bottom).shift_left(exponent < 0 ? -exponent : exponent);
  if (!top.at_least(bottom)) {
    top.shift_left(1);
    --exponent;
  }
  exponent += ten;
  // Bits of the mantissa: 53, fewer below the normal range; one more to round by.
  int bits = 53;
  if (exponent < -1022) bits = exponent + 1075;
  if (bits < 0) return 0.0;
  uint64_t quotient = 0;
  for (int i = 0; i <= bits; ++i) {
    quotient <<= 1;
    if (top.at_least(bottom)) {
      top.subtract(bottom);
      quotient |= 1;
    }
    top.shift_left(1);
  }
  const bool half = quotient & 1, odd = quotient & 2;
  quotient >>= 1;
  if (half && (top.size || odd)) ++quotient;
  // The mantissa's units are 2^unit; a carry into the next power of two is carried by the addition.
  const int unit = exponent - bits + 1;
  if (exponent > 1023) return __builtin_inf();
  const uint64_t field = bits == 53 ? (uint64_t)(unit + 1074) : 0;
  return detail::double_of_bits((field << 52) + quotient);
}

}  // namespace ptc

#endif
