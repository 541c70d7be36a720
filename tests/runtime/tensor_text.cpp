#include "ptc_tensor_text.h"
using namespace ptc;

static long taken(Text &text, bool accepted, char *out, long room) {
  if (!accepted)
    return -1;
  if (text.failed || text.length > room)
    return -2;
  __builtin_memcpy(out, text.c_str(), (__SIZE_TYPE__)text.length);
  return (long)text.length;
}
// `spec` null: str(t).
extern "C" long tensor_text(const TensorView *view, const PrintOptions *options,
                            const char *suffix, const char *spec, char *out,
                            long room) {
  Text text;
  text.add("some text\nbefore"); // must not matter
  const int64_t start = text.length;
  bool accepted = true;
  if (spec)
    accepted = text_tensor_format(text, *view, spec, *options, suffix);
  else
    text_tensor(text, *view, *options, suffix);
  text.erase(0, start);
  return taken(text, accepted, out, room);
}
extern "C" long size_text(const TensorView *view, char *out, long room) {
  Text text;
  text_size(text, view->dims, view->ndim);
  return taken(text, true, out, room);
}
