// Python's strings: UTF-8 that never changes, by code points. What their methods give, as bytes into a Text.
//
// Owns Span, walks over characters and the rules of str's methods. Properties of characters come as tables that
// the builder made. Knows nothing of runs and variables (ptc_control_string.h).
#ifndef PTC_STRING_H
#define PTC_STRING_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ptc_format.h"
#include "ptc_text.h"

namespace ptc {

// Bytes of a string and how many characters they are.
struct Span {
  const char* data;
  int64_t bytes, count;
};

// Ranges of characters, first and last of each, in order.
struct CharacterSet {
  const uint32_t* ranges;
  int32_t count;  // of ranges

  bool has(uint32_t c) const {
    int32_t low = 0, high = count;
    while (low < high) {
      const int32_t middle = (low + high) / 2;
      if (ranges[2 * middle + 1] < c) low = middle + 1;
      else high = middle;
    }
    return low < count && ranges[2 * low] <= c;
  }
};

// Characters that others become: rows of four, a character and up to three (zeros behind), in order.
struct CharacterMap {
  const uint32_t* rows;
  int32_t count;

  const uint32_t* of(uint32_t c) const {
    int32_t low = 0, high = count;
    while (low < high) {
      const int32_t middle = (low + high) / 2;
      if (rows[4 * middle] < c) low = middle + 1;
      else high = middle;
    }
    return low < count && rows[4 * low] == c ? rows + 4 * low + 1 : nullptr;
  }
};

inline int character_size(char first) {
  const unsigned char c = (unsigned char)first;
  return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

inline uint32_t character_at(const char* s) {
  const unsigned char* const b = (const unsigned char*)s;
  switch (character_size(*s)) {
    case 1: return b[0];
    case 2: return (b[0] & 31u) << 6 | (b[1] & 63u);
    case 3: return (b[0] & 15u) << 12 | (b[1] & 63u) << 6 | (b[2] & 63u);
    default: return (b[0] & 7u) << 18 | (b[1] & 63u) << 12 | (b[2] & 63u) << 6 | (b[3] & 63u);
  }
}

inline int64_t count_characters(const char* s, int64_t bytes) {
  int64_t count = 0;
  for (int64_t i = 0; i < bytes; ++i) count += ((unsigned char)s[i] & 0xC0) != 0x80;
  return count;
}

inline Span span_of(const char* s, int64_t bytes) { return Span{s, bytes, count_characters(s, bytes)}; }

// The byte where character number `index` begins; the end for the number behind the last one.
inline int64_t byte_offset(const Span& s, int64_t index) {
  if (s.bytes == s.count) return index;
  int64_t at = 0;
  for (; index > 0; --index) at += character_size(s.data[at]);
  return at;
}

// A character, lone surrogates as the three bytes that UTF-8 would have for them.
inline void add_character(Text& text, uint32_t c) {
  char bytes[4];
  const int count = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  if (count == 1) {
    text.add((char)c);
    return;
  }
  uint32_t rest = c;
  for (int i = count - 1; i > 0; --i) {
    bytes[i] = (char)(0x80 | (rest & 63));
    rest >>= 6;
  }
  bytes[0] = (char)((0xF00 >> count & 0xF0) | rest);
  text.add(bytes, count);
}

// --- questions ----------------------------------------------------------------------------------------

// Order of code points, which is the order of the bytes of UTF-8.
inline int string_compare(const Span& a, const Span& b) {
  const int64_t least = a.bytes < b.bytes ? a.bytes : b.bytes;
  const int order = least ? memcmp(a.data, b.data, (size_t)least) : 0;
  return order ? order : a.bytes < b.bytes ? -1 : a.bytes > b.bytes;
}
inline bool string_eq(const Span& a, const Span& b) { return a.bytes == b.bytes && !string_compare(a, b); }
inline bool string_lt(const Span& a, const Span& b) { return string_compare(a, b) < 0; }
inline bool string_le(const Span& a, const Span& b) { return string_compare(a, b) <= 0; }

// The first byte from `from` on where `part` stands; -1 if nowhere.
inline int64_t find_bytes(const Span& s, const Span& part, int64_t from) {
  for (int64_t at = from; at + part.bytes <= s.bytes; ++at) {
    if (part.bytes) {
      const void* const hit =
          memchr(s.data + at, part.data[0], (size_t)(s.bytes - part.bytes - at + 1));
      if (!hit) return -1;
      at = (const char*)hit - s.data;
    }
    if (!part.bytes || !memcmp(s.data + at, part.data, (size_t)part.bytes)) return at;
  }
  return -1;
}
inline bool string_contains(const Span& s, const Span& part) { return find_bytes(s, part, 0) >= 0; }
inline bool string_startswith(const Span& s, const Span& part) {
  return part.bytes <= s.bytes && (!part.bytes || !memcmp(s.data, part.data, (size_t)part.bytes));
}
inline bool string_endswith(const Span& s, const Span& part) {
  return part.bytes <= s.bytes &&
         (!part.bytes || !memcmp(s.data + s.bytes - part.bytes, part.data, (size_t)part.bytes));
}
inline int64_t string_length(const Span& s) { return s.count; }
inline int64_t string_find(const Span& s, const Span& part) {
  const int64_t at = find_bytes(s, part, 0);
  return at < 0 ? -1 : count_characters(s.data, at);
}
inline int64_t string_rfind(const Span& s, const Span& part) {
  for (int64_t at = s.bytes - part.bytes; at >= 0; --at)
    if (!part.bytes || !memcmp(s.data + at, part.data, (size_t)part.bytes)) return count_characters(s.data, at);
  return -1;
}
inline int64_t string_count(const Span& s, const Span& part) {
  if (!part.bytes) return s.count + 1;
  int64_t count = 0;
  for (int64_t at = find_bytes(s, part, 0); at >= 0; at = find_bytes(s, part, at + part.bytes)) ++count;
  return count;
}
inline int64_t string_ord(const Span& s) { return (int64_t)character_at(s.data); }

inline bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// Whether there are characters and all are in a set: `isdigit` and its like.
inline bool all_in(const Span& s, const CharacterSet& set) {
  for (int64_t at = 0; at < s.bytes; at += character_size(s.data[at]))
    if (!set.has(character_at(s.data + at))) return false;
  return s.bytes > 0;
}
inline bool string_isspace(const Span& s) {
  for (int64_t at = 0; at < s.bytes; at += character_size(s.data[at]))
    if (!is_space(character_at(s.data + at))) return false;
  return s.bytes > 0;
}

// --- numbers in strings -------------------------------------------------------------------------------

namespace detail {

// The text without white space around it, decimal digits of all scripts as ASCII, anything else that is not ASCII as
// '?'. `zeros` has the zero of each script.
inline void plain_number(Text& text, const Span& s, const CharacterSet& zeros) {
  int64_t start = 0, stop = s.bytes;
  while (start < stop && is_space(character_at(s.data + start))) start += character_size(s.data[start]);
  int64_t last = start;
  for (int64_t at = start; at < stop; at += character_size(s.data[at]))
    if (!is_space(character_at(s.data + at))) last = at + character_size(s.data[at]);
  for (int64_t at = start; at < last; at += character_size(s.data[at])) {
    const uint32_t c = character_at(s.data + at);
    char digit = c < 0x80 ? (char)c : '?';
    for (uint32_t i = 0; c >= 0x80 && i < 10; ++i)
      if (zeros.has(c - i)) digit = (char)('0' + i);
    text.add(digit ? digit : '?');
  }
}

// Digits with single underscores between them to `to`; where they end.
inline const char* take_digits(const char* p, Text& to, int64_t& count) {
  count = 0;
  for (; (*p >= '0' && *p <= '9') || (*p == '_' && count && p[1] >= '0' && p[1] <= '9' && p[-1] != '_'); ++p) {
    if (*p == '_') continue;
    to.add(*p);
    ++count;
  }
  return p;
}

inline bool same_word(const char* s, const char* word) {
  for (; *s && *word; ++s, ++word)
    if ((*s | 32) != *word) return false;
  return !*s && !*word;
}

}  // namespace detail

// int(s): 0 for a number, 1 where Python refuses the text, 2 for one of more than 64 bits.
inline int read_int(const Span& s, const CharacterSet& zeros, int64_t* result) {
  Text plain, digits;
  detail::plain_number(plain, s, zeros);
  const char* p = plain.c_str();
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  int64_t count = 0;
  p = detail::take_digits(p, digits, count);
  if (*p || !count) return 1;
  uint64_t size = 0;
  const char* d = digits.c_str();
  for (; *d; ++d) {
    const uint64_t digit = (uint64_t)(*d - '0');
    if (size > (UINT64_MAX - digit) / 10) return 2;
    size = size * 10 + digit;
  }
  if (size > (uint64_t)INT64_MAX + negative) return 2;
  *result = negative ? (int64_t)(0 - size) : (int64_t)size;
  return 0;
}

// float(s), exactly rounded; false where Python refuses the text.
inline bool read_float(const Span& s, const CharacterSet& zeros, double* result) {
  Text plain, number;
  detail::plain_number(plain, s, zeros);
  const char* p = plain.c_str();
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const double sign = negative ? -1.0 : 1.0;
  if (detail::same_word(p, "inf") || detail::same_word(p, "infinity")) {
    *result = sign * __builtin_inf();
    return true;
  }
  if (detail::same_word(p, "nan")) {
    *result = __builtin_copysign(__builtin_nan(""), sign);
    return true;
  }
  int64_t whole = 0, part = 0, exponent = 0;
  Text fraction;
  p = detail::take_digits(p, number, whole);
  if (*p == '.') p = detail::take_digits(p + 1, fraction, part);
  if (!whole && !part) return false;
  // As digits and an exponent: strtod would take the point of the process's locale
  number.add(fraction.c_str(), part);
  int64_t shift = -part;
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool down = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    Text digits;
    p = detail::take_digits(p, digits, exponent);
    if (!exponent) return false;
    int64_t value = 0;
    for (const char* d = digits.c_str(); *d; ++d)
      if (value < INT64_MAX / 100) value = value * 10 + (*d - '0');
    shift += down ? -value : value;
  }
  if (*p) return false;
  number.add('e');
  text_str(number, shift);
  *result = sign * strtod(number.c_str(), nullptr);
  return true;
}

// --- new strings --------------------------------------------------------------------------------------

inline void string_chr(Text& to, int64_t number) { add_character(to, (uint32_t)number); }
inline void string_slice(Text& to, const Span& s, int64_t start, int64_t stop) {
  const int64_t first = byte_offset(s, start);
  to.add(s.data + first, byte_offset(s, stop) - first);
}
inline void string_item(Text& to, const Span& s, int64_t index) { string_slice(to, s, index, index + 1); }
inline void string_reversed(Text& to, const Span& s) {
  for (int64_t stop = s.bytes; stop > 0;) {
    int64_t start = stop - 1;
    while (((unsigned char)s.data[start] & 0xC0) == 0x80) --start;
    to.add(s.data + start, stop - start);
    stop = start;
  }
}
inline void string_repeat(Text& to, const Span& s, int64_t count) { to.repeat(s.data, s.bytes, count); }

inline void string_mapped(Text& to, const Span& s, const CharacterMap& map) {
  for (int64_t at = 0; at < s.bytes; at += character_size(s.data[at])) {
    const uint32_t* const others = map.of(character_at(s.data + at));
    if (!others) to.add(s.data + at, character_size(s.data[at]));
    for (int i = 0; others && i < 3 && others[i]; ++i) add_character(to, others[i]);
  }
}
inline void string_upper(Text& to, const Span& s, const CharacterMap& map) { string_mapped(to, s, map); }

// Whether the sigma at `at` ends a word: behind a letter with case, not before one. `ignored` are characters that
// words go on over.
inline bool is_final_sigma(const Span& s, int64_t at, const CharacterSet& cased, const CharacterSet& ignored) {
  int64_t before = at;
  do {
    if (!before) return false;
    do --before;
    while (((unsigned char)s.data[before] & 0xC0) == 0x80);
  } while (ignored.has(character_at(s.data + before)));
  if (!cased.has(character_at(s.data + before))) return false;
  for (int64_t i = at + 2; i < s.bytes; i += character_size(s.data[i])) {
    const uint32_t c = character_at(s.data + i);
    if (!ignored.has(c)) return !cased.has(c);
  }
  return true;
}
inline void string_lower(Text& to, const Span& s, const CharacterMap& map, const CharacterSet& cased,
                         const CharacterSet& ignored) {
  for (int64_t at = 0; at < s.bytes; at += character_size(s.data[at])) {
    const Span one = {s.data + at, character_size(s.data[at]), 1};
    if (character_at(one.data) == 0x3A3 && is_final_sigma(s, at, cased, ignored)) add_character(to, 0x3C2);
    else string_mapped(to, one, map);
  }
}

// Characters to take off the ends: white space, or those of `set`.
inline bool is_stripped(const char* c, const Span* set) {
  if (!set) return is_space(character_at(c));
  return find_bytes(*set, Span{c, character_size(*c), 1}, 0) >= 0;
}
inline void string_stripped(Text& to, const Span& s, const Span* set, bool left, bool right) {
  int64_t start = 0, stop = s.bytes;
  while (left && start < stop && is_stripped(s.data + start, set)) start += character_size(s.data[start]);
  while (right && start < stop) {
    int64_t last = stop - 1;
    while (((unsigned char)s.data[last] & 0xC0) == 0x80) --last;
    if (!is_stripped(s.data + last, set)) break;
    stop = last;
  }
  to.add(s.data + start, stop - start);
}
inline void string_strip(Text& to, const Span& s) { string_stripped(to, s, nullptr, true, true); }
inline void string_lstrip(Text& to, const Span& s) { string_stripped(to, s, nullptr, true, false); }
inline void string_rstrip(Text& to, const Span& s) { string_stripped(to, s, nullptr, false, true); }
inline void string_strip(Text& to, const Span& s, const Span& set) { string_stripped(to, s, &set, true, true); }
inline void string_lstrip(Text& to, const Span& s, const Span& set) { string_stripped(to, s, &set, true, false); }
inline void string_rstrip(Text& to, const Span& s, const Span& set) { string_stripped(to, s, &set, false, true); }

inline void string_removeprefix(Text& to, const Span& s, const Span& part) {
  const int64_t start = string_startswith(s, part) ? part.bytes : 0;
  to.add(s.data + start, s.bytes - start);
}
inline void string_removesuffix(Text& to, const Span& s, const Span& part) {
  to.add(s.data, s.bytes - (string_endswith(s, part) ? part.bytes : 0));
}

inline void string_replace(Text& to, const Span& s, const Span& old, const Span& other, int64_t most = -1) {
  int64_t at = 0;
  for (int64_t done = 0; most < 0 || done < most; ++done) {
    if (!old.bytes) {  // around every character
      to.add(other.data, other.bytes);
      if (at == s.bytes) return;
      const int size = character_size(s.data[at]);
      to.add(s.data + at, size);
      at += size;
      continue;
    }
    const int64_t hit = find_bytes(s, old, at);
    if (hit < 0) break;
    to.add(s.data + at, hit - at);
    to.add(other.data, other.bytes);
    at = hit + old.bytes;
  }
  to.add(s.data + at, s.bytes - at);
}

inline void string_padded(Text& to, const Span& s, int64_t before, int64_t after, const Span& fill) {
  to.repeat(fill.data, fill.bytes, before);
  to.add(s.data, s.bytes);
  to.repeat(fill.data, fill.bytes, after);
}
inline int64_t missing(const Span& s, int64_t width) { return width > s.count ? width - s.count : 0; }
inline void string_ljust(Text& to, const Span& s, int64_t width, const Span& fill) {
  string_padded(to, s, 0, missing(s, width), fill);
}
inline void string_rjust(Text& to, const Span& s, int64_t width, const Span& fill) {
  string_padded(to, s, missing(s, width), 0, fill);
}
inline void string_center(Text& to, const Span& s, int64_t width, const Span& fill) {
  const int64_t all = missing(s, width);
  const int64_t before = all / 2 + (all & width & 1);  // CPython's rounding
  string_padded(to, s, before, all - before, fill);
}
inline void string_zfill(Text& to, const Span& s, int64_t width) {
  const bool sign = s.bytes && (s.data[0] == '-' || s.data[0] == '+');
  to.add(s.data, sign);
  to.repeat("0", 1, missing(s, width));
  to.add(s.data + sign, s.bytes - sign);
}

// repr(s); `unprintable` are the characters that are written as escapes.
inline void text_repr(Text& to, const Span& s, const CharacterSet& unprintable) {
  const bool single = memchr(s.data, '\'', (size_t)s.bytes) != nullptr;
  const char quote = single && !memchr(s.data, '"', (size_t)s.bytes) ? '"' : '\'';
  const char* const hex = "0123456789abcdef";
  to.add(quote);
  for (int64_t at = 0; at < s.bytes; at += character_size(s.data[at])) {
    const uint32_t c = character_at(s.data + at);
    if (c == (uint32_t)quote || c == '\\') {
      to.add('\\');
      to.add((char)c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      to.add(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
    } else if (unprintable.has(c)) {
      const int digits = c < 0x100 ? 2 : c < 0x10000 ? 4 : 8;
      to.add(digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U");
      for (int i = digits - 1; i >= 0; --i) to.add(hex[c >> 4 * i & 15]);
    } else {
      to.add(s.data + at, character_size(s.data[at]));
    }
  }
  to.add(quote);
}

}  // namespace ptc

#endif
