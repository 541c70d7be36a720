#include "error.h"

#include <stdio.h>

namespace ptc::exec {

std::string format_list(const char* text, va_list list) {
  va_list again;
  va_copy(again, list);
  const int length = vsnprintf(nullptr, 0, text, again);
  va_end(again);
  if (length <= 0) return std::string();
  std::string result((size_t)length + 1, '\0');
  vsnprintf(&result[0], result.size(), text, list);
  result.resize((size_t)length);
  return result;
}

std::string format(const char* text, ...) {
  va_list list;
  va_start(list, text);
  std::string result = format_list(text, list);
  va_end(list);
  return result;
}

#define PTC_EXEC_THROW(STATUS)                    \
  va_list list;                                   \
  va_start(list, text);                           \
  std::string message = format_list(text, list);  \
  va_end(list);                                   \
  throw Error(STATUS, std::move(message))

void fail(const char* text, ...) { PTC_EXEC_THROW(Status::Runtime); }
void bad_file(const char* text, ...) { PTC_EXEC_THROW(Status::File); }
void fail_with(Status status, const char* text, ...) { PTC_EXEC_THROW(status); }

}  // namespace ptc::exec
