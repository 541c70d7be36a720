// A program with control flow prepared to run: actions of statements found, graphs prepared, their inputs and results tied to
// variables.
#ifndef PTC_EXECUTOR_CONTROL_PROGRAM_H
#define PTC_EXECUTOR_CONTROL_PROGRAM_H

#include "control_module.h"
#include "program.h"

namespace ptc::exec {

struct GraphProgram {
  Program program;
  std::vector<Reference> inputs;   // for each of `program.call_inputs`
  struct Result {
    int slot;
    int same_as = -1;              // the result is the variable of this input (index of Module::inputs)
  };
  std::vector<Result> results;     // of the `return` lines
};

struct ControlProgram {
  ControlModule module;
  std::vector<std::unique_ptr<GraphProgram>> graphs;
  std::vector<int> given;          // slots of the inputs of a call, in order
};

// `program->control->module` is read. Throws Error File.
void prepare_control(Program* program);

}  // namespace ptc::exec

#endif
