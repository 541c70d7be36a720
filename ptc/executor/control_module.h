// A program with control flow as it is written: statements over variables, around graphs. What `parse_control` reads and
// `print_control` writes; docs/ptir.md describes the text.
#ifndef PTC_EXECUTOR_CONTROL_MODULE_H
#define PTC_EXECUTOR_CONTROL_MODULE_H

#include "module.h"

namespace ptc::exec {

constexpr int kMaxNesting = 200;  // blocks inside blocks

// A variable or a size.
struct Reference {
  bool is_size = false;
  int number = -1;              // of a slot (ControlModule::slots), or of a symbol
};

struct ControlOperand {
  enum class Kind : uint8_t { Reference, Constant, Formatted };
  enum class Conversion : uint8_t { Str, Repr, Format };
  Kind kind = Kind::Constant;
  Conversion conversion = Conversion::Str;
  Reference reference;
  Value constant;               // a number, a text or None
  std::string spec;             // of `format`
};

struct Statement;
using Block = std::vector<Statement>;

class ControlRun;
using Action = void (*)(ControlRun&, const Statement&);
struct NumberRow;
struct TextRow;

struct Statement {
  enum class Kind : uint8_t { Plain, If, Switch, While };
  Kind kind = Kind::Plain;
  std::string op;               // of a plain one
  std::vector<ControlOperand> args;
  std::vector<Reference> targets;
  int subject = -1;             // slot of the condition, the selector, or what `again` looks at
  std::vector<Block> arms;      // of a while: its body
  std::string construct;
  Place place;
  int row = 0;
  // Found when the program is prepared.
  Action action = nullptr;
  const NumberRow* number = nullptr;
  const TextRow* text = nullptr;
};

struct Slot {
  std::string name;
  Type type;
};

struct ControlInput {
  std::string name, kind;
  Type type;
  bool written = false;
  int slot = -1;                // of a weight that nothing writes to: none
  bool is_weight() const { return kind != "user" && kind != "scalar"; }
};

struct State {
  int slot = -1;
  std::string path;
  Value initial;                // None: no value in a new session
};

struct ControlModule {
  std::string name;
  std::vector<std::string> symbols;  // of `dims`, then of `sizes`
  std::vector<Dim> dims, sizes;
  std::vector<ControlInput> inputs;
  std::vector<Slot> slots;           // inputs that are variables, then what `var` declares
  int declared = 0;                  // the first slot of a `var`
  std::vector<State> states;
  std::vector<Module> graphs;
  Block body;
  std::vector<std::pair<Reference, std::string>> outputs;
  int selector = -1;                 // slot
};

// Whether a text is that of a program with control flow.
bool is_control(std::string_view text);
// Throws Error File that names the line.
ControlModule parse_control(const char* text, size_t length);
std::string print_control(const ControlModule& module);
// Inputs and results of a call, as those of a straight program.
Module interface_of(const ControlModule& module);

std::string graph_text(const Module& graph, const std::string& indent);
std::string dim_text(const char* word, const Dim& dim, const std::vector<std::string>& symbols);
std::string place_suffix(const Place& place);

}  // namespace ptc::exec

#endif
