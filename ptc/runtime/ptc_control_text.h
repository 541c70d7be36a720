// What a program with control flow tells the outside: printing, log records, warnings, exceptions.
//
// Owns channels, texts of values, and how a run ends with an exception. How numbers and tensors read is in
// ptc_format.h and ptc_tensor_text.h.
#ifndef PTC_CONTROL_TEXT_H
#define PTC_CONTROL_TEXT_H

#include <stdio.h>

#include "ptc_control.h"
#include "ptc_control_list.h"
#include "ptc_control_string.h"
#include "ptc_format.h"
#include "ptc_tensor_text.h"

namespace ptc {

enum { CHANNEL_STDOUT, CHANNEL_STDERR, CHANNEL_LOG, CHANNEL_WARNING };

// Text to the host's function, or to the process's own streams.
inline int emit(Control* c, int channel, const char* label, Text& text) {
  const char* const data = text.c_str();
  if (text.failed) return no_text(c);
  ptc_session* const s = c->session;
  if (s->emit) {
    s->emit(s->emit_user, channel, label, data, (size_t)text.length);
    return STATUS_OK;
  }
  FILE* const stream = channel == CHANNEL_STDOUT ? stdout : stderr;
  if (channel >= CHANNEL_LOG) fprintf(stream, channel == CHANNEL_LOG ? "%s:" : "%s: ", label);
  fwrite(data, 1, (size_t)text.length, stream);
  if (channel >= CHANNEL_LOG) fputc('\n', stream);
  fflush(stream);
  return STATUS_OK;
}

// End the run with the user's exception.
inline int raise(Control* c, const char* type, Text& text) {
  const char* const data = text.c_str();
  if (text.failed || !c->session->raise(type, data, text.length)) return no_text(c);
  return STATUS_RAISED;
}

inline void text_of(Text& text, const Tensor& t, const PrintOptions& options) {
  text_tensor(text, DenseView(t), options);
}
inline void text_of(Text& text, int64_t value, const PrintOptions&) { text_str(text, value); }
inline void text_of(Text& text, double value, const PrintOptions&) { text_str(text, value); }
inline void text_of(Text& text, bool value, const PrintOptions&) { text_str(text, value); }
inline void text_of(Text& text, const String& s, const PrintOptions&) { text.add(s.content(), s.data->bytes); }
void text_of(Text&, List<String>, const PrintOptions&) = delete;  // see text_list
template <class T> inline void text_of(Text& text, List<T> list, const PrintOptions& options) {
  text.add('[');
  for (int64_t i = 0; i < list.count(); ++i) {
    if (i) text.add(", ");
    text_of(text, list.items()[i], options);
  }
  text.add(']');
}

inline bool text_formatted(Text& text, const Tensor& t, const char* spec, const PrintOptions& options) {
  return text_tensor_format(text, DenseView(t), spec, options);
}
inline bool text_formatted(Text& text, const String& s, const char* spec, const PrintOptions&) {
  return text_format_string(text, s.content(), s.data->bytes, spec);
}
template <class T> inline bool text_formatted(Text& text, T value, const char* spec, const PrintOptions&) {
  return text_format(text, value, spec);
}
template <class T>
inline bool text_formatted(Text& text, List<T> list, const char* spec, const PrintOptions& options) {
  text_of(text, list, options);
  return !*spec;
}

}  // namespace ptc

#endif
