#include "ptc_string.h"
using namespace ptc;

// The tables of characters stand in front of this text, see test_strings.py.
struct Given {
  const char* data;
  long bytes;
  Span span() const { return span_of(data, bytes); }
};

// A question about one or two strings. `op` is its number in the test's list.
extern "C" long ask(int op, Given a, Given b) {
  switch (op) {
    case 0: return string_length(a.span());
    case 1: return string_eq(a.span(), b.span());
    case 2: return string_lt(a.span(), b.span());
    case 3: return string_le(a.span(), b.span());
    case 4: return string_contains(a.span(), b.span());
    case 5: return string_startswith(a.span(), b.span());
    case 6: return string_endswith(a.span(), b.span());
    case 7: return string_find(a.span(), b.span());
    case 8: return string_rfind(a.span(), b.span());
    case 9: return string_count(a.span(), b.span());
    case 10: return all_in(a.span(), characters_isdigit);
    case 11: return all_in(a.span(), characters_isdecimal);
    case 12: return all_in(a.span(), characters_isnumeric);
    case 13: return all_in(a.span(), characters_isalpha);
    case 14: return all_in(a.span(), characters_isalnum);
    default: return string_isspace(a.span());
  }
}

static void make(Text& to, int op, const Span& a, const Span& b, long n, long m) {
  switch (op) {
    case 0: return string_slice(to, a, n, m);
    case 1: return string_item(to, a, n);
    case 2: return string_reversed(to, a);
    case 3: return string_repeat(to, a, n);
    case 4: return string_upper(to, a, characters_upper);
    case 5: return string_lower(to, a, characters_lower, characters_cased, characters_ignored);
    case 6: return string_strip(to, a);
    case 7: return string_lstrip(to, a);
    case 8: return string_rstrip(to, a);
    case 9: return string_strip(to, a, b);
    case 10: return string_lstrip(to, a, b);
    case 11: return string_rstrip(to, a, b);
    case 12: return string_removeprefix(to, a, b);
    case 13: return string_removesuffix(to, a, b);
    case 14: return string_replace(to, a, b, Span{"\xC3\xB6-", 3, 2});
    case 15: return string_replace(to, a, b, Span{"", 0, 0}, n);
    case 16: return string_zfill(to, a, n);
    case 17: return string_ljust(to, a, n, Span{"*", 1, 1});
    case 18: return string_rjust(to, a, n, Span{"\xC3\xA9", 2, 1});
    case 19: return string_center(to, a, n, Span{" ", 1, 1});
    case 20: return text_repr(to, a, characters_unprintable);
    default: return string_chr(to, n);
  }
}

// A string made of others; its length in bytes.
extern "C" long made(int op, Given a, Given b, long n, long m, char* out, long room) {
  Text text;
  make(text, op, a.span(), b.span(), n, m);
  if (text.failed || text.length > room) return -1;
  memcpy(out, text.c_str(), (size_t)text.length);
  return (long)text.length;
}

extern "C" int as_int(Given s, int64_t* out) { return read_int(s.span(), characters_zeros, out); }
extern "C" bool as_float(Given s, double* out) { return read_float(s.span(), characters_zeros, out); }
