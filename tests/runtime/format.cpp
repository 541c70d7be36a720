#include "ptc_format.h"
#include "ptc_pynum.h"
using namespace ptc;

// Each gives the text's length, -1 where format() refuses, -2 without memory or
// room.
static long taken(Text &text, bool accepted, char *out, long room) {
  if (!accepted)
    return -1;
  if (text.failed || text.length > room)
    return -2;
  __builtin_memcpy(out, text.c_str(), (__SIZE_TYPE__)text.length);
  return (long)text.length;
}
template <class T>
static long formatted(T x, const char *spec, char *out, long room) {
  Text text;
  if (spec)
    return taken(text, text_format(text, x, spec), out, room);
  text_str(text, x);
  return taken(text, true, out, room);
}
extern "C" long format_float(double x, const char *spec, char *out, long room) {
  return formatted(x, spec, out, room);
}
extern "C" long format_int(int64_t x, const char *spec, char *out, long room) {
  return formatted(x, spec, out, room);
}
extern "C" long format_bool(bool x, const char *spec, char *out, long room) {
  return formatted(x, spec, out, room);
}
extern "C" long format_string(const char *s, const char *spec, char *out,
                              long room) {
  Text text;
  const int64_t length = (int64_t)__builtin_strlen(s);
  return taken(text, text_format_string(text, s, length, spec), out, room);
}
extern "C" long apply(double x, const char *spec, char *out, long room) {
  Text text;
  text.add("x=");
  const int64_t start = text.length;
  text_str(text, x);
  return taken(text, text_apply(text, start, spec), out, room);
}
template <class T>
static long listed(const T *x, long n, char *out, long room) {
  Text text;
  text_list(text, x, n);
  return taken(text, true, out, room);
}
extern "C" long list_float(const double *x, long n, char *out, long room) {
  return listed(x, n, out, room);
}
extern "C" long list_int(const int64_t *x, long n, char *out, long room) {
  return listed(x, n, out, room);
}
extern "C" long list_bool(const bool *x, long n, char *out, long room) {
  return listed(x, n, out, room);
}
// str() of many floats, a line each.
extern "C" long lines(const double *x, long n, char *out, long room) {
  Text text;
  for (long i = 0; i < n; ++i) {
    text_str(text, x[i]);
    text.add('\n');
  }
  return taken(text, true, out, room);
}
// The nearest doubles to digits and a place of the point.
extern "C" double value(const char *digits, int count, int point) {
  Decimal d;
  for (int i = 0; i < count; ++i)
    d.digit[i] = (char)(digits[i] - '0');
  d.count = count;
  d.point = point;
  d.trim();
  return d.value();
}
