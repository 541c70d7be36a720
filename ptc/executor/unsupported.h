// A sound file with something that this executor does not have; another reader may.
#ifndef PTC_EXECUTOR_UNSUPPORTED_H
#define PTC_EXECUTOR_UNSUPPORTED_H

#include "error.h"

namespace ptc::exec {

// The line of the program's text and what it has: "operator `aten::svd`".
class Unsupported : public Error {
 public:
  Unsupported(int row, const char* kind, const std::string& name)
      : Error(Status::File, format("line %d: there is no %s `%s`", row, kind, name.c_str())) {}
};

}  // namespace ptc::exec

#endif
