#include "control_run.h"

#include <unordered_map>

#include "control_numbers.h"
#include "control_texts.h"
#include "ptc_data_sized.h"

namespace ptc::exec {

ControlRun::ControlRun(Session* session)
    : session_(session), program_(*session->program_), control_(*session->program_->control) {
  graphs_.resize(control_.graphs.size());
}

void ControlRun::reset() {
  kept_.clear();
  for (const ControlInput& input : control_.module.inputs)
    if (input.is_weight() && input.written) kept_.emplace_back(input.slot, clone(program_.package.tensors.at(input.name)));
  for (const State& state : control_.module.states) kept_.emplace_back(state.slot, state.initial);
}

void ControlRun::set_generator(const Tensor& state) {
  for (const ControlInput& input : control_.module.inputs)
    for (auto& [slot, value] : kept_)
      if (input.name == kGenerator && input.is_weight() && slot == input.slot && value.is_tensor() &&
          value.tensor().dtype == state.dtype && value.tensor().sizes == state.sizes)
        value = state;
}

// --- a run ----------------------------------------------------------------------------------------------------------

std::vector<Value> ControlRun::run(std::vector<Value>& values, const std::vector<int64_t>& symbols) {
  slots_.assign(control_.module.slots.size(), Value());
  symbols_ = symbols;
  size_t next = 0;
  for (const ControlInput& input : control_.module.inputs) {
    if (input.is_weight()) continue;
    slots_[(size_t)input.slot] = std::move(values[(size_t)program_.call_inputs[next++]]);
    if (input.written && slots_[(size_t)input.slot].is_tensor())
      writable_.push_back(slots_[(size_t)input.slot].tensor().storage);
  }
  for (const auto& [slot, value] : kept_) slots_[(size_t)slot] = value;
  try {
    block(control_.module.body);
  } catch (...) {
    leave();
    slots_.clear();
    throw;
  }
  leave();
  std::vector<Value> found = results();
  slots_.clear();
  return found;
}

void ControlRun::leave() {
  std::map<const Storage*, Tensor> copies;
  for (auto& [slot, value] : kept_) value = keep(slots_[(size_t)slot], &copies);
  writable_.clear();
}

// What stays is no memory of the caller.
Value ControlRun::keep(const Value& value, std::map<const Storage*, Tensor>* copies) const {
  if (value.is_list())
    for (Value& item : value.list())
      if (item.is_list() || item.is_tensor()) item = keep(item, copies);
  if (!value.is_tensor() || !value.tensor().storage->borrowed) return value;
  const Storage* const storage = &*value.tensor().storage.operator->();
  auto found = copies->find(storage);
  if (found == copies->end()) found = copies->emplace(storage, clone(value.tensor())).first;
  return found->second.sizes == value.tensor().sizes ? Value(found->second) : Value(clone(value.tensor()));
}

std::vector<Value> ControlRun::results() {
  const ControlModule& module = control_.module;
  session_->variant_ = 0;
  if (module.selector >= 0) session_->variant_ = (int)slots_[(size_t)module.selector].integer();
  std::vector<Value> found;
  for (const auto& [reference, name] : module.outputs) {
    if (reference.is_size) {
      const int64_t size = symbols_[(size_t)reference.number];
      found.push_back(size == kUnknownSize ? Value() : Value(size));
    } else {
      found.push_back(slots_[(size_t)reference.number]);
    }
    if (found.back().is_none() && module.selector < 0) fail("the result `%s` has no value", name.c_str());
  }
  return found;
}

void ControlRun::block(const Block& block) {
  for (const Statement& statement : block) {
    if (statement.kind == Statement::Kind::Plain) plain(statement);
    else region(statement);
  }
}

static std::string place_of(const Statement& statement) {
  std::string text = "line " + std::to_string(statement.row) + " " + statement.op;
  if (statement.place.known()) text += " (" + statement.place.file + ":" + std::to_string(statement.place.line) + ")";
  return text;
}

void ControlRun::plain(const Statement& statement) {
  try {
    statement.action(*this, statement);
  } catch (Error& error) {
    error.locate(place_of(statement));
    throw;
  }
}

void ControlRun::region(const Statement& statement) {
  const auto subject = [&]() -> const Value& {
    const Value& value = slots_[(size_t)statement.subject];
    if (value.is_none()) fail("line %d: a variable is used before it has a value", statement.row);
    return value;
  };
  switch (statement.kind) {
    case Statement::Kind::If: return block(statement.arms[subject().boolean() ? 0 : 1]);
    case Statement::Kind::Switch: {
      const int64_t chosen = subject().is_int() ? subject().integer() : -1;
      if (chosen < 0 || chosen >= (int64_t)statement.arms.size())
        fail("line %d: alternative %lld of %zu", statement.row, (long long)chosen, statement.arms.size());
      return block(statement.arms[(size_t)chosen]);
    }
    default: break;
  }
  do {
    if (session_->is_cancelled()) fail_with(Status::Cancelled, "the run was cancelled");
    block(statement.arms[0]);
  } while (subject().boolean());
}

// --- variables ------------------------------------------------------------------------------------------------------

int64_t ControlRun::size_of(int symbol) const {
  const int64_t size = symbols_[(size_t)symbol];
  if (size == kUnknownSize) fail("the size `%s` is used before it has a value", control_.module.symbols[(size_t)symbol].c_str());
  return size;
}

const Value& ControlRun::value(const ControlOperand& operand, Value* made) const {
  if (operand.kind == ControlOperand::Kind::Constant) return operand.constant;
  if (operand.reference.is_size) return *made = Value(size_of(operand.reference.number));
  const Value& found = slots_[(size_t)operand.reference.number];
  if (found.is_none())
    fail("`%s` is used before it has a value", control_.module.slots[(size_t)operand.reference.number].name.c_str());
  return found;
}

bool ControlRun::has_none(const ControlOperand& operand) const {
  return operand.kind == ControlOperand::Kind::Reference && !operand.reference.is_size &&
         slots_[(size_t)operand.reference.number].is_none();
}

const Tensor& ControlRun::tensor(const ControlOperand& operand) const {
  Value made;
  return value(operand, &made).tensor();
}

int64_t ControlRun::integer(const ControlOperand& operand) const {
  Value made;
  const Value& found = value(operand, &made);
  if (found.is_tensor()) fail("expected an int, got a tensor");
  return found.integer();
}

std::vector<Value>& ControlRun::list(const ControlOperand& operand) const {
  Value made;
  return value(operand, &made).list();
}

static bool fits(const Type& type, const Value& value) {
  switch (type.kind) {
    case Type::Kind::Int: return value.is_int();
    case Type::Kind::Float: return value.is_float();
    case Type::Kind::Bool: return value.is_bool();
    case Type::Kind::Text: return value.is_text();
    case Type::Kind::List: return value.is_list();
    case Type::Kind::Tensor: break;
    default: return false;
  }
  if (!value.is_tensor() || value.tensor().dtype != type.dtype || value.tensor().rank() != (int)type.shape.size()) return false;
  for (int d = 0; d < value.tensor().rank(); ++d) {
    const Index& size = type.shape[(size_t)d];
    if (size.is_constant() && size.nodes[0].value != value.tensor().sizes[d]) return false;
  }
  return true;
}

void ControlRun::set(const Reference& target, Value value) {
  if (target.is_size) return bind_size(target.number, value.integer());
  const Slot& slot = control_.module.slots[(size_t)target.number];
  if (!fits(slot.type, value)) fail("`%s` gets %s, which is not of its type", slot.name.c_str(), value.kind_name());
  slots_[(size_t)target.number] = std::move(value);
}

void ControlRun::forget(const Reference& target) {
  if (!target.is_size) slots_[(size_t)target.number] = Value();
}

void ControlRun::bind_size(int symbol, int64_t size) {
  const Dim& dim = control_.module.sizes[(size_t)symbol - control_.module.dims.size()];
  if (size < dim.lower || size > dim.upper)
    fail("`%s` (%s) is %lld, out of its range", dim.name.c_str(), control_.module.symbols[(size_t)symbol].c_str(), (long long)size);
  symbols_[(size_t)symbol] = size;
}

std::string ControlRun::text(const Statement& statement, size_t first) const {
  ptc::Text text;
  Value made;
  for (size_t i = first; i < statement.args.size(); ++i) {
    const ControlOperand& part = statement.args[i];
    if (part.kind == ControlOperand::Kind::Constant) {
      const std::string& plain = part.constant.text();
      text.add(plain.data(), (int64_t)plain.size());
      if (text.failed) fail_with(Status::Memory, "no memory for a text");
      continue;
    }
    add_text(text, value(part, &made), part.conversion, part.spec);
  }
  return text.length ? std::string(text.data, (size_t)text.length) : std::string();
}

// --- graphs ---------------------------------------------------------------------------------------------------------

void ControlRun::call_graph(const Statement& statement) {
  const size_t number = (size_t)statement.args[0].constant.integer();
  const GraphProgram& graph = *control_.graphs[number];
  if (!graphs_[number]) graphs_[number] = std::make_unique<Session>(&graph.program, session_);
  std::vector<Value> inputs;
  ControlOperand operand;
  operand.kind = ControlOperand::Kind::Reference;
  for (const Reference& reference : graph.inputs) {
    operand.reference = reference;
    inputs.push_back(value(operand));
  }
  std::vector<std::pair<int, Tensor>> written;
  std::vector<Value> results = graphs_[number]->run_graph(std::move(inputs), symbols_, &written);
  store_results(graph, std::move(results), std::move(written));
}

// Memory that a variable may have as its own.
static bool is_apart(const Tensor& tensor) { return tensor.only_owner() && tensor.is_contiguous(); }

void ControlRun::store_results(const GraphProgram& graph, std::vector<Value> results,
                               std::vector<std::pair<int, Tensor>> written) {
  const auto variable = [&](int input) -> const Value& {
    const std::vector<int>& numbers = graph.program.call_inputs;
    const int number = graph.program.module.inputs[(size_t)input].number;
    size_t i = 0;
    while (i + 1 < numbers.size() && numbers[i] != number) ++i;
    return slots_[(size_t)graph.inputs[i].number];
  };
  for (size_t i = 0; i < results.size(); ++i) {
    const int input = graph.results[i].same_as;
    if (input >= 0) results[i] = variable(input);
    else if (results[i].is_tensor() && !is_apart(results[i].tensor())) results[i] = clone(results[i].tensor());
  }
  for (auto& [input, tensor] : written)
    if (!is_apart(tensor)) tensor = clone(tensor);
  for (const auto& [input, tensor] : written) write_tensor(variable(input).tensor(), tensor);
  for (size_t i = 0; i < results.size(); ++i) set(Reference{false, graph.results[i].slot}, std::move(results[i]));
}

void ControlRun::write_tensor(const Tensor& target, const Tensor& content) {
  if (target.sizes != content.sizes) fail("what is written has another size");
  bool allowed = !target.storage->borrowed;
  for (const StorageRef& storage : writable_) allowed = allowed || storage == target.storage;
  if (!allowed) fail("memory of the caller that the program does not declare as written");
  copy_into(target, content);
}

// --- plain statements -----------------------------------------------------------------------------------------------

namespace {

void do_number(ControlRun& run, const Statement& s) {
  Value args[3];
  for (size_t i = 0; i < s.args.size(); ++i) args[i] = run.value(s.args[i]);
  Numbers numbers;
  Value result = s.number->function(numbers, args);
  if (numbers.failure) {
    if (numbers.exception) throw Error(std::string(numbers.exception), std::string(numbers.failure));
    fail("%s", numbers.failure);
  }
  run.set(s.targets[0], std::move(result));
}

void do_text(ControlRun& run, const Statement& s) {
  std::vector<Value> args;
  for (const ControlOperand& operand : s.args) args.push_back(run.value(operand));
  run.set(s.targets[0], s.text->function(args));
}

void do_make(ControlRun& run, const Statement& s) { run.set(s.targets[0], Value(run.text(s, 0))); }

void do_call(ControlRun& run, const Statement& s) { run.call_graph(s); }

void do_assign(ControlRun& run, const Statement& s) {
  if (run.has_none(s.args[0])) run.forget(s.targets[0]);
  else run.set(s.targets[0], run.value(s.args[0]));
}

void do_item(ControlRun& run, const Statement& s) {
  const Tensor& tensor = run.tensor(s.args[0]);
  if (is_complex(tensor.dtype)) fail("a complex number");
  if (tensor.dtype == DType::U64 && tensor.item<uint64_t>() > (uint64_t)INT64_MAX) fail("integer overflow: an element beyond 64 bits");
  run.set(s.targets[0], is_floating(tensor.dtype)      ? Value(tensor.item<double>())
                        : tensor.dtype == DType::Bool ? Value(tensor.item<bool>())
                                                      : Value(tensor.item<int64_t>()));
}

void do_size(ControlRun& run, const Statement& s) {
  if (s.args.size() == 1) return run.set(s.targets[0], Value(run.integer(s.args[0])));
  const Tensor& tensor = run.tensor(s.args[0]);
  const int64_t dim = run.integer(s.args[1]);
  if (dim < 0 || dim >= tensor.rank()) fail("dimension %lld of a tensor with %d", (long long)dim, tensor.rank());
  run.set(s.targets[0], Value(tensor.sizes[(int)dim]));
}

void do_emit(ControlRun& run, const Statement& s) {
  static const char* const channels[] = {"stdout", "stderr", "log", "warning"};
  const std::string channel = run.value(s.args[0]).text();
  for (int i = 0; i < 4; ++i)
    if (channel == channels[i]) return run.session().emit(i, run.value(s.args[1]).text(), run.text(s, 2));
  fail("there is no channel `%s`", channel.c_str());
}

void do_raise(ControlRun& run, const Statement& s) {
  const std::string type = run.value(s.args[0]).text();
  throw Error(type, run.text(s, 1));
}

// --- operators whose result data sizes

void check_sized(int status, const char* text) {
  if (status == SIZED_REFUSED) throw Error(std::string("RuntimeError"), std::string(text));
  if (status) fail_with(Status::Memory, "no memory for a tensor");
}

void do_nonzero(ControlRun& run, const Statement& s) {
  const Tensor& x = run.tensor(s.args[0]);
  const TensorView view = tensor_view(x);
  Tensor made = empty(DType::I64, {nonzero_count(view), x.rank()});
  nonzero_fill(view, made.data<int64_t>());
  run.set(s.targets[0], std::move(made));
}

void do_masked_select(ControlRun& run, const Statement& s) {
  const Tensor &x = run.tensor(s.args[0]), &mask = run.tensor(s.args[1]);
  if (mask.dtype != DType::Bool || x.sizes != mask.sizes) fail("a mask of another type or size");
  Tensor made = empty(x.dtype, {masked_select_count(tensor_view(mask))});
  masked_select_fill(tensor_view(x), tensor_view(mask), made.raw());
  run.set(s.targets[0], std::move(made));
}

void do_unique(ControlRun& run, const Statement& s) {
  const Tensor x = run.tensor(s.args[0]);
  if (is_complex(x.dtype)) fail("complex numbers have no order");
  ptc::Unique unique;
  int64_t count = 0;
  check_sized(unique_count(unique, tensor_view(x), &count), "no order");
  Tensor values = empty(x.dtype, {count}), places, numbers;
  const bool more = s.targets.size() == 3;
  if (more) {
    places = empty(DType::I64, x.sizes);
    numbers = empty(DType::I64, {count});
  }
  unique_fill(unique, values.raw(), more ? places.data<int64_t>() : nullptr, more ? numbers.data<int64_t>() : nullptr);
  run.set(s.targets[0], std::move(values));
  if (!more) return;
  run.set(s.targets[1], std::move(places));
  run.set(s.targets[2], std::move(numbers));
}

void do_repeat_interleave(ControlRun& run, const Statement& s) {
  const Tensor& repeats = run.tensor(s.args[0]);
  if (repeats.rank() != 1 || (repeats.dtype != DType::I64 && repeats.dtype != DType::I32)) fail("expected a vector of ints");
  int64_t count = 0;
  check_sized(repeat_interleave_count(tensor_view(repeats), &count), "repeats can not be negative");
  Tensor made = empty(repeats.dtype, {count});
  repeat_interleave_fill(tensor_view(repeats), made.raw());
  run.set(s.targets[0], std::move(made));
}

void do_bincount(ControlRun& run, const Statement& s) {
  const Tensor& x = run.tensor(s.args[0]);
  if (x.rank() != 1 || !is_integral(x.dtype)) fail("expected a vector of ints");
  const bool given = s.args.size() > 1 && !(s.args[1].kind == ControlOperand::Kind::Constant && s.args[1].constant.is_none());
  int64_t count = 0;
  const int64_t least = given ? run.integer(s.args[1]) : 0;
  check_sized(bincount_count(tensor_view(x), least, &count), "bincount only supports 1-d non-negative integral inputs.");
  Tensor made = empty(DType::I64, {count});
  bincount_fill(tensor_view(x), count, made.data<int64_t>());
  run.set(s.targets[0], std::move(made));
}

const ActionRow rows[] = {
    {"prim::call", 1, 1, 0, do_call},
    {"prim::assign", 1, 1, 1, do_assign},
    {"prim::item", 1, 1, 1, do_item},
    {"prim::size", 1, 2, 1, do_size},
    {"prim::emit", 2, -1, 0, do_emit},
    {"prim::raise", 1, -1, 0, do_raise},
    {"text::make", 0, -1, 1, do_make},
    {"sized::nonzero", 1, 1, 1, do_nonzero},
    {"sized::masked_select", 2, 2, 1, do_masked_select},
    {"sized::unique", 1, 1, -1, do_unique},
    {"sized::repeat_interleave", 1, 1, 1, do_repeat_interleave},
    {"sized::bincount", 1, 2, 1, do_bincount},
};
const ActionRow number_row = {"number::", 0, 3, 1, do_number};
const ActionRow text_row = {"text::", 0, -1, 1, do_text};

}  // namespace

const ActionRow* find_action(const std::string& name) {
  for (const ActionRow& row : rows)
    if (name == row.name) return &row;
  if (name.compare(0, 8, "number::") == 0 && find_number(name.substr(8))) return &number_row;
  if (name.compare(0, 6, "text::") == 0 && find_text(name.substr(6))) return &text_row;
  if (name.compare(0, 12, "list::table_") == 0) return find_table_action(name.substr(12));
  if (name.compare(0, 6, "list::") == 0) return find_list_action(name.substr(6));
  return nullptr;
}

}  // namespace ptc::exec
