#include "program.h"

#include "control_program.h"
#include "fuse.h"
#include "unsupported.h"

namespace ptc::exec {

std::string place_text(const Instruction& item) {
  std::string text = "%" + std::to_string(item.number) + " = " + item.op;
  if (item.place.known()) text += " (" + item.place.file + ":" + std::to_string(item.place.line) + ")";
  return text;
}

namespace {

class Preparation {
 public:
  explicit Preparation(Program* program) : program_(*program), module_(program->module) {}
  void run();

 private:
  void place_weights();
  void place_weight(const Input& input);
  void find_last_uses();
  void use(const Argument& argument, int step);
  void prepare_step(const Instruction& item, int number);
  bool place_literal(const Instruction& item);
  Operand operand(const Argument& argument, int step);
  bool is_constant(const Argument& argument) const;
  void find_first_only();

  Program& program_;
  Module& module_;
  std::vector<int> last_use_;   // by value: the step; the number of steps for outputs; -1 for none
  std::vector<int> uses_;       // by value, in its last step
};

void Preparation::place_weight(const Input& input) {
  const auto found = program_.package.tensors.find(input.name);
  if (found == program_.package.tensors.end()) bad_file("the weights file has no tensor `%s`", input.name.c_str());
  const Tensor& tensor = found->second;
  bool fits = input.type.kind == Type::Kind::Tensor && input.type.dtype == tensor.dtype &&
              (int)input.type.shape.size() == tensor.rank();
  for (int d = 0; fits && d < tensor.rank(); ++d) {
    const Index& size = input.type.shape[(size_t)d];
    fits = size.is_constant() && size.nodes[0].value == tensor.sizes[d];
  }
  if (!fits)
    bad_file("the weight `%s` is %s%s, the program says %s", input.name.c_str(), dtype_name(tensor.dtype),
             dims_text(tensor.sizes).c_str(), type_text(input.type, module_.symbols).c_str());
  program_.values[(size_t)input.number] = tensor;
}

void Preparation::place_weights() {
  for (const Input& input : module_.inputs) {
    if (input.is_weight()) {
      place_weight(input);
      program_.constant[(size_t)input.number] = 1;
    } else {
      const Type::Kind kind = input.type.kind;
      if (kind != Type::Kind::Tensor && kind != Type::Kind::Int && kind != Type::Kind::Float && kind != Type::Kind::Bool)
        bad_file("input `%s` is %s", input.name.c_str(), type_text(input.type, module_.symbols).c_str());
      program_.call_inputs.push_back(input.number);
    }
  }
  for (const Output& output : module_.outputs) {
    if (output.writes < 0 || !module_.inputs[(size_t)output.writes].is_weight()) continue;
    char& constant = program_.constant[(size_t)module_.inputs[(size_t)output.writes].number];
    if (constant) program_.written.push_back(module_.inputs[(size_t)output.writes].number);
    constant = 0;
  }
}

bool Preparation::place_literal(const Instruction& item) {
  if (item.op != "prim::literal") return false;
  const bool named = item.args.size() == 1 && item.args[0].kind == Argument::Kind::Constant && item.args[0].constant.is_text();
  if (!named) bad_file("line %d: a literal without a name", item.row);
  Input input{item.number, item.type, "constant", item.args[0].constant.text()};
  place_weight(input);
  program_.constant[(size_t)item.number] = 1;
  return true;
}

void Preparation::use(const Argument& argument, int step) {
  if (argument.kind == Argument::Kind::Value) {
    int& last = last_use_[(size_t)argument.value];
    uses_[(size_t)argument.value] = last == step ? uses_[(size_t)argument.value] + 1 : 1;
    last = step;
  }
  for (const Argument& item : argument.items) use(item, step);
}

void Preparation::find_last_uses() {
  last_use_.assign((size_t)module_.values, -1);
  uses_.assign((size_t)module_.values, 0);
  const int count = (int)module_.instructions.size();
  for (int i = 0; i < count; ++i)
    for (const Argument& argument : module_.instructions[(size_t)i].args) use(argument, i);
  for (const Output& output : module_.outputs) use(output.value, count);
  // Weights stay.
  for (const Input& input : module_.inputs)
    if (input.is_weight()) last_use_[(size_t)input.number] = count + 1;
}

bool Preparation::is_constant(const Argument& argument) const {
  switch (argument.kind) {
    case Argument::Kind::Constant: return true;
    case Argument::Kind::Value: return program_.constant[(size_t)argument.value];
    case Argument::Kind::Index:
      for (const Index::Node& node : argument.index.nodes)
        if (node.op == Index::Op::Symbol) return false;
      return true;
    case Argument::Kind::List:
      for (const Argument& item : argument.items)
        if (!is_constant(item)) return false;
      return true;
  }
  return false;
}

Operand Preparation::operand(const Argument& argument, int step) {
  Operand result;
  switch (argument.kind) {
    case Argument::Kind::Constant: result.ready = argument.constant; return result;
    case Argument::Kind::Value: {
      const size_t value = (size_t)argument.value;
      result.value = argument.value;
      if (program_.constant[value]) result.ready = program_.values[value];
      else result.kind = last_use_[value] == step && uses_[value] == 1 ? Operand::Kind::Move : Operand::Kind::Value;
      return result;
    }
    case Argument::Kind::Index:
      if (is_constant(argument)) {
        result.ready = Value(evaluate(argument.index, nullptr));
      } else {
        result.kind = Operand::Kind::Index;
        result.index = &argument.index;
      }
      return result;
    case Argument::Kind::List: {
      std::vector<Value> ready;
      const bool constant = is_constant(argument);
      for (const Argument& item : argument.items) {
        Operand inner = operand(item, step);
        if (constant) ready.push_back(std::move(inner.ready));
        else result.items.push_back(std::move(inner));
      }
      if (constant) result.ready = Value::list(std::move(ready));
      else result.kind = Operand::Kind::List;
      return result;
    }
  }
  return result;
}

static void collect_values(const Argument& argument, std::vector<int>* values) {
  if (argument.kind == Argument::Kind::Value) values->push_back(argument.value);
  for (const Argument& item : argument.items) collect_values(item, values);
}

// Steps with several results of which every use takes the first.
void Preparation::find_first_only() {
  std::vector<char> other((size_t)module_.values, 0);
  const auto looked_at = [&](const Argument& argument, bool first) {
    std::vector<int> used;
    collect_values(argument, &used);
    for (int value : used) other[(size_t)value] |= !first;
  };
  for (const Instruction& item : module_.instructions)
    for (size_t i = 0; i < item.args.size(); ++i) {
      const bool first = item.op == "prim::element" && i == 0 && item.args.size() == 2 &&
                         item.args[1].kind == Argument::Kind::Index && item.args[1].index.is_constant() &&
                         item.args[1].index.nodes[0].value == 0;
      looked_at(item.args[i], first);
    }
  for (const Output& output : module_.outputs) looked_at(output.value, false);
  for (Step& step : program_.steps) step.first_only = step.source->type.kind == Type::Kind::Tuple && !other[(size_t)step.result];
}

void Preparation::prepare_step(const Instruction& item, int number) {
  Step step;
  step.source = &item;
  step.result = item.number;
  step.kernel = find_operator(item.op);
  if (!step.kernel) throw Unsupported(item.row, "operator", item.op);
  std::vector<int> used;
  for (size_t i = 0; i < item.args.size(); ++i) {
    step.operands.push_back(operand(item.args[i], number));
    if (i < 64 && is_constant(item.args[i])) step.constants |= (uint64_t)1 << i;
    collect_values(item.args[i], &used);
  }
  for (int value : used)
    if (last_use_[(size_t)value] == number && uses_[(size_t)value] > 1) step.dead.push_back(value);
  if (last_use_[(size_t)item.number] < 0) step.dead.push_back(item.number);
  program_.steps.push_back(std::move(step));
}

void Preparation::run() {
  if (module_.schema < kOldestRunnable)
    bad_file("the text has version %d, which this executor only prints: export the model again", module_.schema);
  program_.values.resize((size_t)module_.values);
  program_.constant.assign((size_t)module_.values, 0);
  place_weights();
  find_last_uses();
  const int count = (int)module_.instructions.size();
  for (int i = 0; i < count; ++i)
    if (!place_literal(module_.instructions[(size_t)i])) prepare_step(module_.instructions[(size_t)i], i);
  find_first_only();
  for (const Output& output : module_.outputs) program_.outputs.push_back(operand(output.value, count));
}

}  // namespace

Program::Program() = default;
Program::~Program() = default;

std::string printed_text(const Program& program) {
  return program.control ? print_control(program.control->module) : print_module(program.module);
}

void prepare_graph(Program* program) {
  if (program->module.schema >= kOldestRunnable) fuse_convolutions(&program->module, &program->package.tensors);
  Preparation(program).run();
}

std::unique_ptr<Program> prepare_program(Bytes bytes, bool text_only, bool verify) {
  std::unique_ptr<Program> program = std::make_unique<Program>();
  program->package = read_package(std::move(bytes), verify);
  const std::string_view text = program->package.text;
  if (is_control(text)) {
    program->control = std::make_unique<ControlProgram>();
    program->control->module = parse_control(text.data(), text.size());
    program->module = interface_of(program->control->module);
    if (!text_only) prepare_control(program.get());
    return program;
  }
  program->module = parse_module(text.data(), text.size());
  if (!text_only) prepare_graph(program.get());
  return program;
}

}  // namespace ptc::exec
