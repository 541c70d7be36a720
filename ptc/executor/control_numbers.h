// Operations on Python numbers by name, with the mathematics of ptc/runtime/ptc_pynum.h.
#ifndef PTC_EXECUTOR_CONTROL_NUMBERS_H
#define PTC_EXECUTOR_CONTROL_NUMBERS_H

#include "ptc_pyhash.h"
#include "value.h"

namespace ptc::exec {

struct NumberRow {
  const char* name;
  int operands;
  Value (*function)(Numbers& numbers, const Value* args);
};

// Null where there is no such operation.
const NumberRow* find_number(const std::string& name);

}  // namespace ptc::exec

#endif
