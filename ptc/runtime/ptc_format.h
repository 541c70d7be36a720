// format(value, spec) of Python's ints, floats, bools and strings: the whole mini-language.
//
// Owns the parser of specs, grouping and padding. All functions give false where CPython raises.
// The `n` type groups nothing: the locale is C, as in a Python process that has not set one. Knows
// nothing of tensors.
#ifndef PTC_FORMAT_H
#define PTC_FORMAT_H

#include "ptc_text.h"

namespace ptc {

namespace detail {

// Bytes of the character that begins with `lead`.
inline int character_bytes(char lead) {
  const unsigned char c = (unsigned char)lead;
  return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}
inline bool begins_character(char c) { return ((unsigned char)c & 0xC0) != 0x80; }
inline int64_t character_count(const char* s, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += begins_character(s[i]);
  return count;
}

// [[fill]align][sign][z][#][0][width][grouping][.precision][type]
struct FormatSpec {
  char fill[4] = {' ', 0, 0, 0};
  int fill_bytes = 1;
  char align = 0;
  char sign = 0;
  bool no_negative_zero = false;
  bool alternate = false;
  int64_t width = -1;
  char grouping = 0;
  int64_t precision = -1;
  char type = 0;

  // Of a number (right-aligned by default) or of a string.
  bool parse(const char* s, bool number) {
    const bool filled = parse_align(s);
    const bool aligned = align != 0;
    if (!aligned) align = number ? '>' : '<';
    if (*s == '+' || *s == '-' || *s == ' ') sign = *s++;
    if (*s == 'z') no_negative_zero = *s++ != 0;
    if (*s == '#') alternate = *s++ != 0;
    if (!filled && *s == '0') {
      fill[0] = '0';
      if (!aligned && number) align = '=';
      ++s;
    }
    if (!parse_count(s, width)) return false;
    if (*s == ',' || *s == '_') grouping = *s++;
    if (grouping && (*s == ',' || *s == '_')) return false;
    if (*s == '.') {
      ++s;
      if (!parse_count(s, precision) || precision < 0) return false;
    }
    if (*s) type = *s++;
    return !*s && grouping_fits(number);
  }

 private:
  static bool is_align(char c) { return c == '<' || c == '>' || c == '=' || c == '^'; }
  bool parse_align(const char*& s) {
    if (!*s) return false;
    const int bytes = character_bytes(*s);
    for (int i = 1; i < bytes; ++i)
      if (!s[i]) return false;
    if (is_align(s[bytes])) {
      for (int i = 0; i < bytes; ++i) fill[i] = s[i];
      fill_bytes = bytes;
      align = s[bytes];
      s += bytes + 1;
      return true;
    }
    if (is_align(*s)) align = *s++;
    return false;
  }
  static bool parse_count(const char*& s, int64_t& count) {
    for (; *s >= '0' && *s <= '9'; ++s) {
      if (count < 0) count = 0;
      const bool large = __builtin_mul_overflow(count, (int64_t)10, &count);
      if (large || __builtin_add_overflow(count, (int64_t)(*s - '0'), &count)) return false;
    }
    return true;
  }
  bool grouping_fits(bool number) const {
    if (!grouping) return true;
    if (!type) return number;
    for (const char* c = "defgEG%F"; *c; ++c)
      if (type == *c) return true;
    return grouping == '_' && (type == 'b' || type == 'o' || type == 'x' || type == 'X');
  }
};

// Where fill goes: `before` and `after` a text of `count` characters.
struct Padding {
  int64_t before = 0, after = 0;
  Padding(const FormatSpec& spec, int64_t count) {
    const int64_t all = spec.width > count ? spec.width - count : 0;
    before = spec.align == '>' ? all : spec.align == '^' ? all / 2 : 0;
    after = spec.align == '=' ? 0 : all - before;
  }
};

// The parts of a number's text: sign, prefix (0x), digits before the point, all that follows.
struct NumberText {
  char sign = 0;
  const char* prefix = "";
  const char* digits = "";
  int64_t digit_count = 0;
  const char* rest = "";
  int64_t rest_count = 0;
  int64_t rest_characters = 0;
};

// Digits in groups from the right, with zeros in front for at least `width` characters.
inline void add_grouped(Text& text, const NumberText& number, char separator, int group,
                        int64_t width) {
  // A group that begins with a separator gets one more zero.
  int64_t digits = number.digit_count;
  const int64_t unit = separator ? group + 1 : 1;
  if (width > digits) {
    const int64_t whole = width / unit * (unit - (separator ? 1 : 0)), left = width % unit;
    const int64_t least = separator ? whole + (left ? left : 1) : width;
    if (least > digits) digits = least;
  }
  if (!text.reserve(digits)) return;
  for (int64_t i = 0; i < digits; ++i) {
    const int64_t zeros = digits - number.digit_count;
    if (separator && i && (digits - i) % group == 0) text.add(separator);
    text.add(i < zeros ? '0' : number.digits[i - zeros]);
  }
}

inline void add_number(Text& text, const FormatSpec& spec, const NumberText& number, int group) {
  const int64_t prefix = (int64_t)__builtin_strlen(number.prefix);
  const int64_t around = (number.sign ? 1 : 0) + prefix + number.rest_characters;
  const bool zeros = spec.fill_bytes == 1 && spec.fill[0] == '0' && spec.align == '=';
  const int64_t digit_width = zeros && number.digit_count ? spec.width - around : 0;
  Text digits;
  add_grouped(digits, number, spec.grouping, group, digit_width);
  if (digits.failed) text.failed = true;
  const int64_t count = around + digits.length;
  const Padding padding(spec, count);
  text.repeat(spec.fill, spec.fill_bytes, padding.before);
  if (number.sign) text.add(number.sign);
  text.add(number.prefix, prefix);
  if (spec.align == '=') text.repeat(spec.fill, spec.fill_bytes, spec.width - count);
  text.add(digits.data, digits.length);
  text.add(number.rest, number.rest_count);
  text.repeat(spec.fill, spec.fill_bytes, padding.after);
}

inline char shown_sign(const FormatSpec& spec, bool negative) {
  return negative ? '-' : spec.sign == '+' || spec.sign == ' ' ? spec.sign : (char)0;
}

inline bool format_float(Text& text, double x, const FormatSpec& spec) {
  FloatStyle style;
  style.alternate = spec.alternate;
  style.upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  if (spec.precision > 0x7FFFFFFF) return false;
  if (spec.precision >= 0) style.precision = (int)spec.precision;
  switch (spec.type) {
    case 0:
      style.dot_zero = true;
      style.type = spec.precision < 0 ? 'r' : 'g';
      break;
    case 'e':
    case 'E':
      style.type = 'e';
      break;
    case 'f':
    case 'F':
    case '%':
      style.type = 'f';
      break;
    case 'g':
    case 'G':
    case 'n':
      style.type = 'g';
      break;
    default:
      return false;
  }
  if (spec.type == '%') x *= 100;
  Text all;
  const bool nonzero = add_float(all, x, style);
  if (spec.type == '%') all.add('%');
  if (all.failed) text.failed = true;
  NumberText number;
  const bool negative = x == x && has_sign(x) && (nonzero || !spec.no_negative_zero);
  number.sign = shown_sign(spec, negative);
  number.digits = all.data;
  while (number.digit_count < all.length && all.data[number.digit_count] >= '0' &&
         all.data[number.digit_count] <= '9')
    ++number.digit_count;
  number.rest = all.data + number.digit_count;
  number.rest_count = number.rest_characters = all.length - number.digit_count;
  add_number(text, spec, number, 3);
  return true;
}

// The character with the number x, UTF-8. A lone surrogate has no UTF-8.
inline bool encode_character(uint64_t x, char* bytes, int& count) {
  if (x > 0x10FFFF || (x >= 0xD800 && x < 0xE000)) return false;
  const unsigned c = (unsigned)x;
  count = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  if (count == 1) {
    bytes[0] = (char)c;
    return true;
  }
  for (int i = count - 1, shift = 0; i > 0; --i, shift += 6)
    bytes[i] = (char)(0x80 | (c >> shift & 63));
  bytes[0] = (char)((0xF00 >> count & 0xF0) | c >> 6 * (count - 1));
  return true;
}

// The int of a sign and a size.
inline bool format_int(Text& text, bool negative, uint64_t size, const FormatSpec& spec) {
  int base = 10, group = 3;
  NumberText number;
  switch (spec.type) {
    case 0:
    case 'd':
    case 'n':
      break;
    case 'b':
      base = 2;
      number.prefix = "0b";
      break;
    case 'o':
      base = 8;
      number.prefix = "0o";
      break;
    case 'x':
      base = 16;
      number.prefix = "0x";
      break;
    case 'X':
      base = 16;
      number.prefix = "0X";
      break;
    case 'c':
      break;
    default:
      return format_float(text, negative ? -(double)size : (double)size, spec);
  }
  if (spec.precision >= 0 || spec.no_negative_zero) return false;
  if (spec.type == 'c') {
    char bytes[4];
    int count = 0;
    if (spec.sign || spec.alternate || negative || !encode_character(size, bytes, count))
      return false;
    number.rest = bytes;
    number.rest_count = count;
    number.rest_characters = 1;
    add_number(text, spec, number, 3);
    return true;
  }
  if (!spec.alternate) number.prefix = "";
  if (base != 10) group = 4;
  Text digits;
  add_unsigned(digits, size, base, spec.type == 'X');
  if (digits.failed) text.failed = true;
  number.sign = shown_sign(spec, negative);
  number.digits = digits.data;
  number.digit_count = digits.length;
  add_number(text, spec, number, group);
  return true;
}

inline bool format_whole(Text& text, bool negative, uint64_t size, const char* spec) {
  FormatSpec parsed;
  return parsed.parse(spec, true) && format_int(text, negative, size, parsed);
}

}  // namespace detail

inline bool text_format(Text& text, int64_t x, const char* spec) {
  return detail::format_whole(text, x < 0, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, spec);
}
inline bool text_format(Text& text, double x, const char* spec) {
  detail::FormatSpec parsed;
  if (!*spec) {
    text_str(text, x);
    return true;
  }
  return parsed.parse(spec, true) && detail::format_float(text, x, parsed);
}
// A bool is an int but for its plain text.
inline bool text_format(Text& text, bool x, const char* spec) {
  if (*spec) return text_format(text, (int64_t)x, spec);
  text_str(text, x);
  return true;
}
// `s` is UTF-8 and not part of `text`.
inline bool text_format_string(Text& text, const char* s, int64_t length, const char* spec) {
  detail::FormatSpec parsed;
  if (!parsed.parse(spec, false)) return false;
  if ((parsed.type && parsed.type != 's') || parsed.sign || parsed.no_negative_zero) return false;
  if (parsed.alternate || parsed.align == '=') return false;
  int64_t count = detail::character_count(s, length);
  if (parsed.precision >= 0 && parsed.precision < count) {
    count = parsed.precision;
    int64_t bytes = 0;
    for (int64_t i = 0; i < count; ++i) bytes += detail::character_bytes(s[bytes]);
    length = bytes;
  }
  const detail::Padding padding(parsed, count);
  text.repeat(parsed.fill, parsed.fill_bytes, padding.before);
  text.add(s, length);
  text.repeat(parsed.fill, parsed.fill_bytes, padding.after);
  return true;
}
// What was added since the text's length was `start`, formatted as a string: `{x!r:>10}`.
inline bool text_apply(Text& text, int64_t start, const char* spec) {
  Text formatted;
  if (!text_format_string(formatted, text.data + start, text.length - start, spec)) return false;
  if (formatted.failed) text.failed = true;
  text.length = start;
  text.add(formatted.data, formatted.length);
  return true;
}

}  // namespace ptc

#endif
