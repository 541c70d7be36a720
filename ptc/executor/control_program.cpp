#include "control_program.h"

#include <unordered_map>

#include "control_numbers.h"
#include "control_run.h"
#include "control_texts.h"
#include "unsupported.h"

namespace ptc::exec {

namespace {

bool same_type(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Type::Kind::Tensor) return a.dtype == b.dtype && a.shape.size() == b.shape.size();
  return a.kind != Type::Kind::List || same_type(a.items[0], b.items[0]);
}

class ControlPreparation {
 public:
  explicit ControlPreparation(Program* program)
      : program_(*program), control_(*program->control), module_(program->control->module) {
    for (size_t i = 0; i < module_.slots.size(); ++i) slots_.emplace(module_.slots[i].name, (int)i);
    for (size_t i = 0; i < module_.symbols.size(); ++i) symbols_.emplace(module_.symbols[i], (int)i);
  }
  void run();

 private:
  void check_weight(const ControlInput& input);
  void prepare_graph_program(const Module& graph);
  void take_weight(Program* program, const std::string& name);
  void tie_results(GraphProgram* graph);
  void prepare_block(Block* block);
  void prepare_plain(Statement* statement);
  void check_types(const Statement& statement);
  Type type_of(const ControlOperand& operand) const;
  const Type& type_of(const Reference& reference) const;
  void require(const Statement& s, bool holds) const {
    if (!holds) bad_file("line %d: operands of `%s` have other types", s.row, s.op.c_str());
  }

  Program& program_;
  ControlProgram& control_;
  ControlModule& module_;
  std::unordered_map<std::string, int> slots_, symbols_;
  Type int_{Type::Kind::Int, DType::F32, {}, {}};
};

void ControlPreparation::check_weight(const ControlInput& input) {
  const auto found = program_.package.tensors.find(input.name);
  if (found == program_.package.tensors.end()) bad_file("the weights file has no tensor `%s`", input.name.c_str());
  const Tensor& tensor = found->second;
  bool fits = input.type.kind == Type::Kind::Tensor && input.type.dtype == tensor.dtype &&
              (int)input.type.shape.size() == tensor.rank();
  for (int d = 0; fits && d < tensor.rank(); ++d)
    fits = input.type.shape[(size_t)d].is_constant() && input.type.shape[(size_t)d].nodes[0].value == tensor.sizes[d];
  if (!fits) bad_file("the weight `%s` is not of the type that the program says", input.name.c_str());
}

// --- graphs ---------------------------------------------------------------------------------------------------------

void ControlPreparation::take_weight(Program* program, const std::string& name) {
  const auto found = program_.package.tensors.find(name);
  if (found == program_.package.tensors.end()) bad_file("the weights file has no tensor `%s`", name.c_str());
  program->package.tensors.emplace(name, found->second);
}

void ControlPreparation::prepare_graph_program(const Module& source) {
  auto graph = std::make_unique<GraphProgram>();
  Program& program = graph->program;
  program.module = source;
  for (const Input& input : source.inputs)
    if (input.is_weight()) take_weight(&program, input.name);
  for (const Instruction& item : source.instructions)
    if (item.op == "prim::literal" && item.args.size() == 1 && item.args[0].constant.is_text())
      take_weight(&program, item.args[0].constant.text());
  for (const Output& output : source.outputs)
    if (output.writes >= 0 && source.inputs[(size_t)output.writes].kind != "user")
      bad_file("graph %s writes to `%s`, which is no variable", source.name.c_str(), output.name.c_str());
  tie_results(graph.get());
  prepare_graph(&program);
  for (int number : program.call_inputs) {
    const Input& input = source.inputs[(size_t)number];
    const auto slot = slots_.find(input.name);
    const auto symbol = symbols_.find(input.name);
    if (slot != slots_.end()) graph->inputs.push_back(Reference{false, slot->second});
    else if (input.kind == "scalar" && symbol != symbols_.end()) graph->inputs.push_back(Reference{true, symbol->second});
    else bad_file("graph %s reads `%s`, which is no variable", source.name.c_str(), input.name.c_str());
  }
  control_.graphs.push_back(std::move(graph));
}

static bool is_value(const Argument& argument, int number) {
  return argument.kind == Argument::Kind::Value && argument.value == number;
}

void ControlPreparation::tie_results(GraphProgram* graph) {
  const Module& module = graph->program.module;
  for (const Output& output : module.outputs) {
    if (output.writes >= 0) continue;
    const auto slot = slots_.find(output.name);
    if (slot == slots_.end()) bad_file("graph %s sets `%s`, which is no variable", module.name.c_str(), output.name.c_str());
    GraphProgram::Result result{slot->second, -1};
    if (output.alias >= 0 && module.inputs[(size_t)output.alias].kind == "user") {
      bool same = is_value(output.value, module.inputs[(size_t)output.alias].number);
      for (const Output& write : module.outputs)
        same = same || (write.writes == output.alias && write.value.kind == Argument::Kind::Value && is_value(output.value, write.value.value));
      if (same) result.same_as = output.alias;
    }
    graph->results.push_back(result);
  }
}

// --- statements -----------------------------------------------------------------------------------------------------

const Type& ControlPreparation::type_of(const Reference& reference) const {
  return reference.is_size ? int_ : module_.slots[(size_t)reference.number].type;
}

Type ControlPreparation::type_of(const ControlOperand& operand) const {
  Type type;
  if (operand.kind == ControlOperand::Kind::Reference) return type_of(operand.reference);
  if (operand.kind == ControlOperand::Kind::Formatted) return type;
  type.kind = operand.constant.is_bool()    ? Type::Kind::Bool
              : operand.constant.is_int()   ? Type::Kind::Int
              : operand.constant.is_float() ? Type::Kind::Float
              : operand.constant.is_text()  ? Type::Kind::Text
                                            : Type::Kind::None;
  return type;
}

// Types of what goes into lists, and of lists that become another's: no list can come to hold itself.
void ControlPreparation::check_types(const Statement& s) {
  std::vector<Type> args;
  for (const ControlOperand& operand : s.args) args.push_back(type_of(operand));
  const Type* const target = s.targets.empty() ? nullptr : &type_of(s.targets[0]);
  const std::string op = s.op.compare(0, 6, "list::") == 0 ? s.op.substr(6) : "";
  const auto element = [&](const Type& list) -> const Type& {
    require(s, list.kind == Type::Kind::List);
    return list.items[0];
  };
  if (s.op == "prim::assign") return require(s, same_type(*target, args[0]));
  if (s.op.compare(0, 6, "text::") == 0 && target->kind == Type::Kind::List)
    return require(s, element(*target).kind == Type::Kind::Text);
  if (op.empty()) return require(s, !target || target->kind != Type::Kind::List);
  if (op == "new") {
    for (const Type& arg : args) require(s, same_type(element(*target), arg));
    return require(s, target->kind == Type::Kind::List);
  }
  const Type& held = element(args[0]);
  if (op == "append" || op == "insert" || op == "set") return require(s, same_type(held, args.back()));
  if (op == "extend" || op == "same") return require(s, same_type(args[0], args[1]));
  if (op == "get" || op == "pop" || op == "flat") return require(s, same_type(*target, held));
  if (op == "copy" || op == "slice" || op == "pick") return require(s, same_type(*target, args[0]));
  if (op == "concat") return require(s, same_type(*target, args[0]) && same_type(args[0], args[1]));
  if (op == "filled") return require(s, same_type(element(*target), args[1]));
  if (op.compare(0, 6, "table_") == 0) {
    const size_t tables = op == "table_take" || op == "table_fits" ? 2 : 1;
    for (size_t i = 0; i < tables; ++i) require(s, element(args[i]).kind == Type::Kind::Int);
    return require(s, !target || target->kind != Type::Kind::List || target->items[0].kind == Type::Kind::Int);
  }
  if (op == "lengths") return require(s, held.kind == Type::Kind::List && element(*target).kind == Type::Kind::Int);
  require(s, !target || target->kind != Type::Kind::List);
}

void ControlPreparation::prepare_plain(Statement* s) {
  const ActionRow* const row = find_action(s->op);
  if (!row) throw Unsupported(s->row, "statement", s->op);
  int least = row->least, most = row->most;
  if (s->op.compare(0, 8, "number::") == 0) {
    s->number = find_number(s->op.substr(8));
    least = most = s->number->operands;
  } else if (s->op.compare(0, 6, "text::") == 0 && s->op != "text::make") {
    s->text = find_text(s->op.substr(6));
    least = s->text->least;
    most = s->text->most;
  }
  const int count = (int)s->args.size(), targets = (int)s->targets.size();
  if (count < least || (most >= 0 && count > most)) bad_file("line %d: `%s` with %d operands", s->row, s->op.c_str(), count);
  if (row->targets < 0 ? targets != 1 && targets != 3 : targets != row->targets)
    bad_file("line %d: `%s` with %d results", s->row, s->op.c_str(), targets);
  const bool has_parts = s->op == "prim::emit" || s->op == "prim::raise" || s->op == "text::make";
  for (const ControlOperand& operand : s->args)
    if (has_parts ? operand.kind == ControlOperand::Kind::Reference || (operand.kind == ControlOperand::Kind::Constant && !operand.constant.is_text())
                  : operand.kind == ControlOperand::Kind::Formatted)
      bad_file("line %d: an operand that `%s` does not take", s->row, s->op.c_str());
  for (const Reference& target : s->targets)
    if (target.is_size != (s->op == "prim::size")) bad_file("line %d: a target that `%s` does not have", s->row, s->op.c_str());
  if (s->op == "prim::call") {
    const ControlOperand& number = s->args[0];
    if (number.kind != ControlOperand::Kind::Constant || !number.constant.is_int() || number.constant.integer() < 0 ||
        number.constant.integer() >= (int64_t)module_.graphs.size())
      bad_file("line %d: there is no such graph", s->row);
  }
  check_types(*s);
  s->action = row->action;
}

void ControlPreparation::prepare_block(Block* block) {
  for (Statement& statement : *block) {
    if (statement.kind == Statement::Kind::Plain) {
      prepare_plain(&statement);
      continue;
    }
    const Type::Kind wanted = statement.kind == Statement::Kind::Switch ? Type::Kind::Int : Type::Kind::Bool;
    if (module_.slots[(size_t)statement.subject].type.kind != wanted)
      bad_file("line %d: `%s` of another type", statement.row, module_.slots[(size_t)statement.subject].name.c_str());
    for (Block& arm : statement.arms) prepare_block(&arm);
  }
}

void ControlPreparation::run() {
  if (module_.graphs.empty() ? false : module_.graphs[0].schema < kOldestRunnable) bad_file("the text is of a version that does not run");
  program_.values.resize((size_t)program_.module.values);
  for (const Input& input : program_.module.inputs) {
    const Type::Kind kind = input.type.kind;
    if (kind != Type::Kind::Tensor && kind != Type::Kind::Int && kind != Type::Kind::Float && kind != Type::Kind::Bool)
      bad_file("input `%s` is neither a tensor nor a number", input.name.c_str());
    program_.call_inputs.push_back(input.number);
  }
  for (const ControlInput& input : module_.inputs)
    if (input.is_weight()) check_weight(input);
  if (module_.selector >= 0 && module_.slots[(size_t)module_.selector].type.kind != Type::Kind::Int)
    bad_file("what selects the result is no int");
  for (const Module& graph : module_.graphs) prepare_graph_program(graph);
  prepare_block(&module_.body);
}

}  // namespace

void prepare_control(Program* program) { ControlPreparation(program).run(); }

}  // namespace ptc::exec
