// Reads programs with control flow. References are sound afterwards: variables, sizes and graphs exist. What statements
// mean is found in control_program.cpp.
#include "control_module.h"
#include "parser.h"

namespace ptc::exec {

namespace {

class ProgramParser : ModuleParser {
 public:
  using ModuleParser::ModuleParser;
  ControlModule program();

 private:
  void opens(const char* word, std::string* name);
  void closes();
  void read_input();
  void read_variable();
  void read_state();
  void read_nested_graph();
  void read_result();
  Type declared_type(Line& at, int depth);
  Type element_type(Line& at, int depth);
  std::string variable_name(Line& at);
  int declare(Line& at, const std::string& name, Type type);
  int variable(Line& at);
  Reference reference(Line& at);
  bool next_is_variable(Line& at) { return at.peek().kind == TokenKind::Mark && at.peek().text == "$"; }
  bool number(Line& at, Value* value);
  Block block(int depth);
  Statement region(int depth);
  Statement plain();
  ControlOperand operand(Line& at);
  ControlOperand formatted(Line& at, ControlOperand::Conversion conversion);
  void next_arm(const char* word);

  ControlModule control_;
  std::unordered_map<std::string, int> slots_;   // -1: a weight that nothing writes to
};

void ProgramParser::opens(const char* word, std::string* name) {
  Line at = line();
  at.word(word);
  if (name) *name = at.text();
  at.mark("{");
  at.end();
}

void ProgramParser::closes() {
  Line at = line();
  at.mark("}");
  at.end();
}

ControlModule ProgramParser::program() {
  read_header();
  read_dims("dim", &control_.dims);
  read_dims("size", &control_.sizes);
  control_.symbols = module_.symbols;
  opens("program", &control_.name);
  while (starts("input ")) read_input();
  control_.declared = (int)control_.slots.size();
  while (starts("var ")) read_variable();
  while (starts("state ")) read_state();
  while (starts("graph ")) read_nested_graph();
  opens("body", nullptr);
  control_.body = block(0);
  closes();
  while (starts("return ")) read_result();
  if (starts("select ")) {
    Line at = line();
    at.word("select");
    control_.selector = variable(at);
    at.end();
  }
  closes();
  if (next_ < text_.size()) line().fail("text after the end of the program");
  if (text_.back() != '\n') bad_file("line %d: the last line has no end", row_);
  return std::move(control_);
}

// --- declarations ---------------------------------------------------------------------------------------------------

void ProgramParser::read_input() {
  Line at = line();
  spend(at, sizeof(ControlInput) + sizeof(Slot));
  at.word("input");
  ControlInput input;
  input.name = at.text();
  at.mark(":");
  input.type = type(at, 0, false);
  at.mark("=");
  input.kind = at.name();
  if (!is_input_kind(input.kind)) at.fail("`%s` is no input kind", input.kind.c_str());
  input.written = at.accept_word("written");
  at.end();
  if (input.is_weight() && !input.written) {
    if (!slots_.emplace(input.name, -1).second) at.fail("`%s` is declared twice", input.name.c_str());
  } else {
    input.slot = declare(at, input.name, input.type);
  }
  control_.inputs.push_back(std::move(input));
}

int ProgramParser::declare(Line& at, const std::string& name, Type type) {
  spend(at, sizeof(Slot) + name.size());
  const int number = (int)control_.slots.size();
  if (!slots_.emplace(name, number).second) at.fail("`%s` is declared twice", name.c_str());
  control_.slots.push_back(Slot{name, std::move(type)});
  return number;
}

std::string ProgramParser::variable_name(Line& at) {
  at.mark("$");
  return at.peek().kind == TokenKind::Text ? at.text() : at.name();
}

void ProgramParser::read_variable() {
  Line at = line();
  at.word("var");
  const std::string name = variable_name(at);
  at.mark(":");
  Type declared = declared_type(at, 0);
  at.end();
  declare(at, name, std::move(declared));
}

Type ProgramParser::declared_type(Line& at, int depth) {
  if (depth > kMaxDepth) at.fail("nested too deep");
  Type result;
  if (at.accept_word("text")) {
    result.kind = Type::Kind::Text;
    return result;
  }
  if (!at.accept_word("list")) return type(at, 0, false);
  spend(at, sizeof(Type));
  result.kind = Type::Kind::List;
  at.mark("(");
  result.items.push_back(element_type(at, depth + 1));
  at.mark(")");
  return result;
}

Type ProgramParser::element_type(Line& at, int depth) {
  const std::string_view next = at.peek().text;
  if (next == "text" || next == "list") return declared_type(at, depth);
  in_list_ = true;
  Type result = type(at, 0, false);
  in_list_ = false;
  return result;
}

void ProgramParser::read_state() {
  Line at = line();
  at.word("state");
  State state;
  state.slot = variable(at);
  state.path = at.text();
  number(at, &state.initial);
  at.end();
  control_.states.push_back(std::move(state));
}

// Symbols of the program keep their numbers in each graph, its own come behind them.
void ProgramParser::read_nested_graph() {
  const std::unordered_map<std::string, int> outer = symbols_;
  Module graph;
  graph.schema = module_.schema;
  graph.symbols = control_.symbols;
  module_ = std::move(graph);
  nested_ = true;
  Line at = line();
  for (const std::string& name : control_.symbols) spend(at, sizeof name + name.size() + 64);
  at.word("graph");
  module_.name = at.text();
  at.mark("{");
  at.end();
  read_graph();
  control_.graphs.push_back(std::move(module_));
  symbols_ = outer;
  nested_ = false;
  module_ = Module();
  module_.schema = control_.graphs.back().schema;
  module_.symbols = control_.symbols;
}

void ProgramParser::read_result() {
  Line at = line();
  at.word("return");
  const Reference value = reference(at);
  control_.outputs.emplace_back(value, at.text());
  at.end();
}

int ProgramParser::variable(Line& at) {
  const std::string name = variable_name(at);
  const auto found = slots_.find(name);
  if (found == slots_.end() || found->second < 0) at.fail("there is no variable `%s`", name.c_str());
  return found->second;
}

Reference ProgramParser::reference(Line& at) {
  if (next_is_variable(at)) return Reference{false, variable(at)};
  const std::string name = at.name();
  const auto found = symbols_.find(name);
  if (found == symbols_.end()) at.fail("there is no size `%s`", name.c_str());
  return Reference{true, found->second};
}

bool ProgramParser::number(Line& at, Value* value) {
  const Token token = at.peek();
  if (token.kind == TokenKind::Float) *value = Value(at.number());
  else if (token.kind == TokenKind::Int || (token.kind == TokenKind::Mark && token.text == "-")) *value = Value(at.integer());
  else if (at.accept_word("True")) *value = Value(true);
  else if (at.accept_word("False")) *value = Value(false);
  else return false;
  return true;
}

// --- statements -----------------------------------------------------------------------------------------------------

Block ProgramParser::block(int depth) {
  Block found;
  while (!starts("}"))
    found.push_back(starts("if ") || starts("switch ") || starts("while ") ? region(depth) : plain());
  return found;
}

void ProgramParser::next_arm(const char* word) {
  Line at = line();
  at.mark("}");
  at.word(word);
  at.mark("{");
  at.end();
}

Statement ProgramParser::region(int depth) {
  Line at = line();
  if (depth >= kMaxNesting) at.fail("nested too deep");
  spend(at, sizeof(Statement) + 4 * sizeof(Block));
  Statement result;
  result.row = at.row();
  const std::string word = at.name();
  result.kind = word == "if" ? Statement::Kind::If : word == "switch" ? Statement::Kind::Switch : Statement::Kind::While;
  if (result.kind != Statement::Kind::While) result.subject = variable(at);
  result.construct = at.text();
  at.mark("{");
  result.place = place(at);
  at.end();
  result.arms.push_back(block(depth + 1));
  if (result.kind == Statement::Kind::If) {
    next_arm("else");
    result.arms.push_back(block(depth + 1));
  }
  while (result.kind == Statement::Kind::Switch && starts("} case")) {
    next_arm("case");
    result.arms.push_back(block(depth + 1));
  }
  if (result.kind != Statement::Kind::While) {
    closes();
    return result;
  }
  Line last = line();
  last.mark("}");
  last.word("again");
  result.subject = variable(last);
  last.end();
  return result;
}

Statement ProgramParser::plain() {
  Line at = line();
  spend(at, sizeof(Statement));
  Statement result;
  result.row = at.row();
  while (next_is_variable(at)) {
    spend(at, sizeof(Reference));
    result.targets.push_back(Reference{false, variable(at)});
    if (!at.accept_mark(",")) break;
  }
  if (!result.targets.empty()) at.mark("=");
  result.op = at.name();
  if (result.targets.empty() && at.accept_mark("=")) {
    const auto found = symbols_.find(result.op);
    if (found == symbols_.end() || found->second < (int)control_.dims.size())
      at.fail("there is no size `%s` that the program sets", result.op.c_str());
    result.targets.push_back(Reference{true, found->second});
    result.op = at.name();
  }
  at.mark("(");
  while (!at.accept_mark(")")) {
    if (!result.args.empty()) at.mark(",");
    result.args.push_back(operand(at));
  }
  result.place = place(at);
  at.end();
  return result;
}

ControlOperand ProgramParser::operand(Line& at) {
  spend(at, sizeof(ControlOperand));
  ControlOperand result;
  if (at.peek().kind == TokenKind::Text) {
    result.constant = Value(at.text());
    return result;
  }
  if (next_is_variable(at)) {
    result.kind = ControlOperand::Kind::Reference;
    result.reference = reference(at);
    return result;
  }
  const size_t start = at.position();
  using Conversion = ControlOperand::Conversion;
  const std::pair<const char*, Conversion> words[] = {
      {"str", Conversion::Str}, {"repr", Conversion::Repr}, {"format", Conversion::Format}};
  for (const auto& [word, conversion] : words) {
    if (at.accept_word(word) && at.accept_mark("(")) return formatted(at, conversion);
    at.seek(start);
  }
  if (at.accept_word("None") || number(at, &result.constant)) return result;
  result.kind = ControlOperand::Kind::Reference;
  result.reference = reference(at);
  return result;
}

ControlOperand ProgramParser::formatted(Line& at, ControlOperand::Conversion conversion) {
  ControlOperand result;
  result.kind = ControlOperand::Kind::Formatted;
  result.conversion = conversion;
  result.reference = reference(at);
  if (at.accept_mark(",")) result.spec = at.text();
  at.mark(")");
  return result;
}

}  // namespace

bool is_control(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == std::string_view::npos) end = text.size();
    const std::string_view row = text.substr(at, end - at);
    if (row.substr(0, 8) == "program ") return true;
    if (row.substr(0, 6) == "graph ") return false;
    at = end + 1;
  }
  return false;
}

ControlModule parse_control(const char* text, size_t length) {
  if (length > kMaxText) bad_file("the program is larger than %d MiB", (int)(kMaxText >> 20));
  return ProgramParser(text, length).program();
}

Module interface_of(const ControlModule& control) {
  Module module;
  module.name = control.name;
  module.symbols = control.symbols;
  module.dims = control.dims;
  for (const ControlInput& input : control.inputs)
    if (!input.is_weight()) module.inputs.push_back(Input{module.values++, input.type, input.kind, input.name});
  // Each result is a value of its variable's type.
  for (const auto& [value, name] : control.outputs) {
    Type type;
    type.kind = Type::Kind::Int;
    if (!value.is_size) type = control.slots[(size_t)value.number].type;
    Instruction item;
    item.number = module.values++;
    item.type = std::move(type);
    Output output;
    output.value.kind = Argument::Kind::Value;
    output.value.value = item.number;
    output.name = name;
    module.instructions.push_back(std::move(item));
    module.outputs.push_back(std::move(output));
  }
  return module;
}

}  // namespace ptc::exec
