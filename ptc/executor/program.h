// A program prepared to run: kernels found, arguments ready, the last use of every value known, weights in place.
#ifndef PTC_EXECUTOR_PROGRAM_H
#define PTC_EXECUTOR_PROGRAM_H

#include <memory>

#include "module.h"
#include "operators.h"
#include "package.h"

namespace ptc::exec {

// An argument of a step. What does not depend on the run is a value already.
struct Operand {
  enum class Kind : uint8_t { Ready, Value, Move, Index, List };
  Kind kind = Kind::Ready;
  Value ready;
  int value = -1;               // Value, Move: number of the value; Move is its last use
  const Index* index = nullptr;
  std::vector<Operand> items;
};

struct Step {
  const Instruction* source = nullptr;
  Kernel kernel = nullptr;
  std::vector<Operand> operands;
  std::vector<int> dead;        // values whose last use this was, and that no operand moves
  uint64_t constants = 0;       // see Call
  bool first_only = false;
  std::unique_ptr<Kept> kept = std::make_unique<Kept>();
  int result = -1;
};

struct ControlProgram;

struct Program {
  Program();
  ~Program();
  Package package;
  Module module;
  std::vector<Step> steps;
  std::vector<Operand> outputs;
  std::vector<Value> values;    // the weights and literals in their places, the others none
  std::vector<char> constant;   // by value: a weight that no run writes
  std::vector<int> call_inputs; // numbers of the inputs that a call gives
  std::vector<int> written;     // numbers of the weights that runs write
  std::unique_ptr<ControlProgram> control;  // of a program with control flow; `module` has its inputs and results then
};

// Throws Error File: an unknown operator, a weight that is missing or of another type, a program that only an older or
// newer executor runs. `text_only`: neither kernels nor weights are looked for. `verify`: weights are compared with their
// hash, whatever their size.
std::unique_ptr<Program> prepare_program(Bytes bytes, bool text_only = false, bool verify = false);

// Finds kernels and weights for the module of `program`; fuses where that changes nothing.
void prepare_graph(Program* program);

// The program as the printers write it; without kernels it may have been opened as `text_only`.
std::string printed_text(const Program& program);

// "%5 = aten::add.Tensor(...), model.py:12"
std::string place_text(const Instruction& instruction);

}  // namespace ptc::exec

#endif
