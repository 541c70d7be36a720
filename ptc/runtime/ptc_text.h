// Text that grows, and Python's numbers in it: str(x), which is repr(x) for them.
//
// Owns the buffer and the digits of floats in every style (shortest, e, f, g). The mini-language of
// format() is ptc_format.h; tensors are ptc_tensor_text.h.
#ifndef PTC_TEXT_H
#define PTC_TEXT_H

#include <stdint.h>

#include "ptc_decimal.h"

namespace ptc {

// UTF-8. Where memory ends `failed` is set and text gets lost, nothing else: test it at the end.
struct Text {
  char* data = nullptr;
  int64_t length = 0;
  int64_t capacity = 0;
  bool failed = false;

  Text() = default;
  ~Text() { __builtin_free(data); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  void clear() { length = 0; }
  // Room for `more` bytes and a zero behind them.
  bool reserve(int64_t more) {
    if (more < capacity - length) return true;
    const int64_t limit = INT64_MAX / 4;
    int64_t wanted = more < limit - length ? length + more + 1 : limit;
    if (wanted < 2 * capacity) wanted = 2 * capacity;
    if (wanted < 64) wanted = 64;
    char* grown = wanted < limit ? (char*)__builtin_realloc(data, (__SIZE_TYPE__)wanted) : nullptr;
    if (!grown) {
      failed = true;
      return false;
    }
    data = grown;
    capacity = wanted;
    return true;
  }
  void add(const char* s, int64_t n) {
    if (n <= 0 || !reserve(n)) return;
    __builtin_memmove(data + length, s, (__SIZE_TYPE__)n);
    length += n;
  }
  void add(const char* s) { add(s, (int64_t)__builtin_strlen(s)); }
  void add(char c) { add(&c, 1); }
  // `unit` (n bytes) `count` times.
  void repeat(const char* unit, int64_t n, int64_t count) {
    if (n <= 0 || count <= 0) return;
    if (count > INT64_MAX / 8 / n) {
      failed = true;
      return;
    }
    if (!reserve(n * count)) return;
    for (int64_t i = 0; i < count; ++i) add(unit, n);
  }
  void spaces(int64_t count) { repeat(" ", 1, count); }
  // Remove `count` bytes at `at`.
  void erase(int64_t at, int64_t count) {
    if (at + count > length) return;
    __builtin_memmove(data + at, data + at + count, (__SIZE_TYPE__)(length - at - count));
    length -= count;
  }
  // With a zero behind; "" without memory.
  const char* c_str() {
    if (!reserve(0)) return "";
    data[length] = 0;
    return data;
  }
};

// How the digits of a float are laid out, as CPython's float formatting: `type` is 'e', 'f', 'g',
// or 'r' for the shortest digits that read back as the number.
struct FloatStyle {
  char type = 'r';
  int precision = 6;
  bool alternate = false;  // '#': a point always, zeros of 'g' stay
  bool dot_zero = false;   // whole numbers end in ".0" unless they have an exponent
  bool upper = false;
};

namespace detail {

inline void add_unsigned(Text& text, uint64_t x, int base, bool upper = false) {
  char digits[64];
  int at = 64;
  const char* const names = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  do {
    digits[--at] = names[x % (uint64_t)base];
    x /= (uint64_t)base;
  } while (x);
  text.add(digits + at, 64 - at);
}

// Digits [from, to) of a decimal, zeros beyond its own.
inline void add_digits(Text& text, const Decimal& d, int from, int to) {
  char own[Decimal::MOST];
  int count = 0;
  int i = from;
  for (; i < to && i < d.count && i >= 0; ++i) own[count++] = (char)('0' + d.digit[i]);
  text.add(own, count);
  text.repeat("0", 1, to - i);
}

// A decimal in exponent form with `places` digits behind the point.
inline void add_exponent_form(Text& text, const Decimal& d, int places, const FloatStyle& style) {
  add_digits(text, d, 0, 1);
  if (places > 0 || style.alternate) text.add('.');
  add_digits(text, d, 1, 1 + places);
  const int exponent = d.count ? d.point - 1 : 0;
  text.add(style.upper ? 'E' : 'e');
  text.add(exponent < 0 ? '-' : '+');
  const int size = exponent < 0 ? -exponent : exponent;
  if (size < 10) text.add('0');
  add_unsigned(text, (uint64_t)size, 10);
}

// The same with `places` digits behind the point and no exponent.
inline void add_fixed_form(Text& text, const Decimal& d, int places, const FloatStyle& style) {
  if (d.count && d.point > 0)
    add_digits(text, d, 0, d.point);
  else
    text.add('0');
  if (places > 0 || style.alternate || style.dot_zero) text.add('.');
  if (places <= 0 && style.dot_zero) text.add('0');
  const int zeros = d.count && d.point < 0 ? (-d.point < places ? -d.point : places) : 0;
  text.repeat("0", 1, zeros);
  if (places <= 0) return;
  if (!d.count)
    text.repeat("0", 1, places);
  else
    add_digits(text, d, d.point > 0 ? d.point : 0, d.point > 0 ? d.point + places : places - zeros);
}

// Shortest digits, and 'g': whichever form is shorter, by CPython's thresholds.
inline void add_general_form(Text& text, const Decimal& d, const FloatStyle& style) {
  const bool shortest = style.type == 'r';
  const int precision = style.precision > 0 ? style.precision : 1;
  const int largest = shortest ? 16 : precision - (style.dot_zero ? 1 : 0);
  const int point = d.count ? d.point : 1;
  int kept = d.count ? d.count : 1;
  if (!shortest && style.alternate && kept < precision) kept = precision;
  if (point <= -4 || point > largest)
    add_exponent_form(text, d, kept - 1, style);
  else
    add_fixed_form(text, d, kept > point ? kept - point : 0, style);
}

// |x| in a style, without sign; gives whether a digit is not zero.
inline bool add_float(Text& text, double x, const FloatStyle& style) {
  if (x != x) {
    text.add(style.upper ? "NAN" : "nan");
    return true;
  }
  if (__builtin_fabs(x) == __builtin_inf()) {
    text.add(style.upper ? "INF" : "inf");
    return true;
  }
  Decimal d;
  if (style.type == 'r')
    d.set_shortest(x);
  else
    d.set_exact(x);
  // More digits than any double has change nothing.
  const int precision = style.precision < 2000 ? style.precision : 2000;
  if (style.type == 'e') {
    d.round(precision + 1);
    add_exponent_form(text, d, style.precision, style);
  } else if (style.type == 'f') {
    d.round(d.point + precision);
    add_fixed_form(text, d, style.precision, style);
  } else {
    if (style.type == 'g') d.round(precision > 0 ? precision : 1);
    add_general_form(text, d, style);
  }
  return d.count > 0;
}

inline bool has_sign(double x) { return double_bits(x) >> 63; }

}  // namespace detail

inline void text_str(Text& text, int64_t x) {
  if (x < 0) text.add('-');
  detail::add_unsigned(text, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, 10);
}
inline void text_str(Text& text, double x) {
  FloatStyle style;
  style.dot_zero = true;
  if (x == x && detail::has_sign(x)) text.add('-');
  detail::add_float(text, x, style);
}
inline void text_str(Text& text, bool x) { text.add(x ? "True" : "False"); }
inline void text_none(Text& text) { text.add("None"); }

// A list of numbers: [1, 2].
template <class T> inline void text_list(Text& text, const T* items, int64_t count) {
  text.add('[');
  for (int64_t i = 0; i < count; ++i) {
    if (i) text.add(", ");
    text_str(text, items[i]);
  }
  text.add(']');
}

}  // namespace ptc

#endif
