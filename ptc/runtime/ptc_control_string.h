// String variables of a program with control flow: counted references to bytes that never change.
//
// Owns StringData and how one is made. What the methods of str give is in ptc_string.h, lists of strings in
// ptc_control_texts.h.
#ifndef PTC_CONTROL_STRING_H
#define PTC_CONTROL_STRING_H

#include <string.h>

#include "ptc_control.h"
#include "ptc_string.h"

namespace ptc {

// The content follows, with a zero behind.
struct StringData {
  int32_t refs;
  int64_t bytes, count;
};

// A string variable. All bits zero: not assigned.
struct String {
  StringData* data;

  const char* content() const { return (const char*)(data + 1); }
  operator Span() const { return Span{content(), data->bytes, data->count}; }
};

inline void drop(Control*, String* s) {
  if (s->data && !--s->data->refs) free_bytes(s->data);
  s->data = nullptr;
}
inline void share(Control* c, String* to, const String* from) {
  String old = *to;
  *to = *from;
  if (to->data) ++to->data->refs;
  drop(c, &old);
}
inline void move(Control* c, String* to, String* from) {
  String old = *to;
  *to = *from;
  from->data = nullptr;
  drop(c, &old);
}

// A program that makes a string longer and longer ends with a status, not with the machine's memory.
enum : int64_t { MOST_STRING_BYTES = (int64_t)1 << 30 };

inline int no_text(Control* c) { return c->fail(STATUS_MEMORY, "no memory for a text"); }

// A new string in `to`, which is given up.
inline int string_new(Control* c, String* to, const char* bytes, int64_t count) {
  if (count > MOST_STRING_BYTES) return c->fail(STATUS_MEMORY, "a text of more than 1 GiB");
  String made = {(StringData*)allocate_bytes((int64_t)sizeof(StringData) + count + 1)};
  if (!made.data) return no_text(c);
  char* const content = (char*)(made.data + 1);
  if (count) memcpy(content, bytes, (size_t)count);
  content[count] = 0;
  *made.data = StringData{1, count, count_characters(content, count)};
  move(c, to, &made);
  return STATUS_OK;
}
inline int string_take(Control* c, String* to, const Text& text) {
  if (text.failed) return no_text(c);
  return string_new(c, to, text.data, text.length);
}

}  // namespace ptc

#endif
