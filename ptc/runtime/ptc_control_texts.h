// Lists of strings, numbers in strings, and strings as results: what programs do with them.
#ifndef PTC_CONTROL_TEXTS_H
#define PTC_CONTROL_TEXTS_H

#include "ptc_control_list.h"
#include "ptc_control_string.h"
#include "ptc_host_tensors.h"

namespace ptc {

inline int texts_add(Control* c, List<String> list, const char* bytes, int64_t count) {
  String item = {};
  int status = string_new(c, &item, bytes, count);
  if (!status) status = list_append(c, list, item);
  drop(c, &item);
  return status;
}

// `to` = what `fill` puts into a new list.
template <class Fill> inline int texts_new(Control* c, List<String>* to, Fill fill) {
  List<String> made = {};
  int status = list_create(c, &made);
  if (!status) status = fill(made);
  if (!status) move(c, to, &made);
  drop(c, &made);
  return status;
}

// str.split: at white space, or at each `separator`.
inline int texts_split(Control* c, List<String>* to, const Span& s) {
  return texts_new(c, to, [&](List<String> list) -> int {
    for (int64_t at = 0; at < s.bytes;) {
      const int64_t start = at;
      while (at < s.bytes && !is_space(character_at(s.data + at))) at += character_size(s.data[at]);
      if (at > start)
        if (const int status = texts_add(c, list, s.data + start, at - start)) return status;
      if (at < s.bytes) at += character_size(s.data[at]);
    }
    return STATUS_OK;
  });
}
inline int texts_split(Control* c, List<String>* to, const Span& s, const Span& separator) {
  return texts_new(c, to, [&](List<String> list) -> int {
    int64_t at = 0;
    for (int64_t hit = find_bytes(s, separator, 0); hit >= 0; hit = find_bytes(s, separator, at)) {
      if (const int status = texts_add(c, list, s.data + at, hit - at)) return status;
      at = hit + separator.bytes;
    }
    return texts_add(c, list, s.data + at, s.bytes - at);
  });
}

inline int texts_characters(Control* c, List<String>* to, const Span& s) {
  return texts_new(c, to, [&](List<String> list) -> int {
    for (int64_t at = 0; at < s.bytes; at += character_size(s.data[at]))
      if (const int status = texts_add(c, list, s.data + at, character_size(s.data[at]))) return status;
    return STATUS_OK;
  });
}

// `texts[place]` for each of `places`.
inline int texts_choose(Control* c, List<String>* to, List<int64_t> places, const Span* texts) {
  return texts_new(c, to, [&](List<String> list) -> int {
    for (int64_t i = 0; i < places.count(); ++i) {
      const Span& one = texts[places.items()[i]];
      if (const int status = texts_add(c, list, one.data, one.bytes)) return status;
    }
    return STATUS_OK;
  });
}

inline void string_join(Text& to, const Span& separator, List<String> list) {
  for (int64_t i = 0; i < list.count(); ++i) {
    const Span one = list.items()[i];
    if (i) to.add(separator.data, separator.bytes);
    to.add(one.data, one.bytes);
  }
}

// repr of a list of strings.
inline void text_list(Text& to, List<String> list, const CharacterSet& unprintable) {
  to.add('[');
  for (int64_t i = 0; i < list.count(); ++i) {
    if (i) to.add(", ");
    text_repr(to, list.items()[i], unprintable);
  }
  to.add(']');
}

template <class T> inline void text_list(Text& to, List<List<T>> list, const CharacterSet& unprintable) {
  to.add('[');
  for (int64_t i = 0; i < list.count(); ++i) {
    if (i) to.add(", ");
    text_list(to, list.items()[i], unprintable);
  }
  to.add(']');
}

// int(s) of a text that it reads.
inline int text_int(Control* c, int64_t* to, const Span& s, const CharacterSet& zeros) {
  if (!read_int(s, zeros, to)) return STATUS_OK;
  return c->fail(STATUS_RUNTIME, "an int of more than 64 bits is read from a text");
}

// --- results ------------------------------------------------------------------------------------------

// Bytes in memory of the library, with a zero behind them that is not counted.
inline ptc_status give_text(Control* c, DLTensor* t, const TensorSpec& spec, const Span& s) {
  const Message m = {c->session->error, sizeof c->session->error};
  if (!t || t->data)
    return m.fail(PTC_E_ARGUMENT, "output `%s` is a text: its data must be null, the library allocates it",
                  spec.name);
  char* const block = allocate(s.bytes + 1);
  if (!block || !adopt_output(c->session, t, spec, &s.bytes, block)) {
    free_bytes(block);
    return m.fail(PTC_E_MEMORY, "no memory for output `%s`", spec.name);
  }
  memcpy(block, s.data, (size_t)s.bytes);
  block[s.bytes] = 0;
  return PTC_OK;
}
inline ptc_status give_result(Control* c, DLTensor* t, const TensorSpec& spec, String* value, bool) {
  return value->data ? give_text(c, t, spec, *value) : PTC_OK;
}

// An array of `DLTensor *`, each the bytes of one text; all lie in the same block.
inline ptc_status give_result(Control* c, DLTensor* t, const TensorSpec& spec, List<String>* value, bool) {
  const Message m = {c->session->error, sizeof c->session->error};
  if (!value->data) return PTC_OK;
  if (!t || t->data)
    return m.fail(PTC_E_ARGUMENT, "output `%s` is a list: its data must be null, the library allocates it",
                  spec.name);
  const int64_t count = value->count();
  int64_t content = 0;
  for (int64_t i = 0; i < count; ++i) content += value->items()[i].data->bytes + 1;
  const int64_t row = (int64_t)(sizeof(DLTensor*) + sizeof(DLTensor) + 2 * sizeof(int64_t));
  char* const block = allocate(count * row + content + 1);
  if (!block || !adopt_output(c->session, t, spec, &count, block)) {
    free_bytes(block);
    return m.fail(PTC_E_MEMORY, "no memory for output `%s`", spec.name);
  }
  DLTensor** const pointers = (DLTensor**)block;
  DLTensor* const items = (DLTensor*)(pointers + count);
  int64_t* shape = (int64_t*)(items + count);
  char* data = (char*)(shape + 2 * count);
  for (int64_t i = 0; i < count; ++i, shape += 2) {
    const Span one = value->items()[i];
    pointers[i] = &items[i];
    items[i] = DLTensor{data, DLDevice{1, 0}, 1, DLDataType{1, 8, 1}, shape, shape + 1, 0};
    shape[0] = one.bytes;
    shape[1] = 1;
    memcpy(data, one.data, (size_t)one.bytes + 1);
    data += one.bytes + 1;
  }
  return PTC_OK;
}

}  // namespace ptc

#endif
