// Operations on texts by name, with the rules of ptc/runtime/ptc_string.h, and how values read as text.
#ifndef PTC_EXECUTOR_CONTROL_TEXTS_H
#define PTC_EXECUTOR_CONTROL_TEXTS_H

#include "control_module.h"
#include "ptc_text.h"
#include "ptc_view.h"

namespace ptc::exec {

struct TextRow {
  const char* name;
  int least, most;              // operands; most < 0: any number
  Value (*function)(const std::vector<Value>& args);
};

// Null where there is no such operation.
const TextRow* find_text(const std::string& name);

// A tensor as functions of ptc/runtime look at it.
TensorView tensor_view(const Tensor& tensor);

// A value behind what `text` has: str, repr or format of it, as Python and torch write it.
void add_text(ptc::Text& text, const Value& value, ControlOperand::Conversion conversion, const std::string& spec);

}  // namespace ptc::exec

#endif
