#include "session.h"

#include "control_run.h"

#include <stdio.h>

#include "ptc_random.h"

namespace ptc::exec {

Model::~Model() {
  program.reset();
  if (pool) pool_close(pool);
}

Session::Session(const Program* program, Session* outer)
    : program_(program), outer_(outer), memory_(outer->memory_), run_(outer->run_) {
  values_ = program_->values;
  symbols_.assign(program_->module.symbols.size(), kUnknownSize);
}

Session::Session(Model* model) : model_(model), program_(model->program.get()) {
  const int64_t limit = model->memory_limit > 0 ? model->memory_limit : (int64_t)1 << 46;
  memory_ = Memory::create(limit);
  run_->pool = model->pool;
  values_ = model->program->values;
  symbols_.assign(model->program->module.symbols.size(), kUnknownSize);
  try {
    if (program_->control) control_ = std::make_unique<ControlRun>(this);
    reset();
  } catch (...) {
    values_.clear();
    memory_->release();
    throw;
  }
}

Session::~Session() {
  values_.clear();
  arguments_.clear();
  control_.reset();
  if (outer_) return;
  own_run_.forget_all();
  free_bytes(own_run_.scratch);
  memory_->release();
}

void Session::reset() {
  MemoryScope scope(memory_);
  if (control_) control_->reset();
  for (int number : program_->written)
    values_[(size_t)number] = clone(program_->values[(size_t)number].tensor());
}

void Session::seed(uint64_t seed) {
  MemoryScope scope(memory_);
  const int64_t given = (int64_t)seed;
  Tensor state = empty(DType::I32, {kRandomWords});
  random_seeded(1, &given, state.data<int32_t>());
  if (control_) return control_->set_generator(state);
  for (const Input& input : program_->module.inputs) {
    if (input.name != kGenerator || !input.is_weight()) continue;
    const Tensor& held = values_[(size_t)input.number].tensor();
    if (held.dtype == state.dtype && held.sizes == state.sizes) values_[(size_t)input.number] = state;
  }
}

void Session::emit(int channel, const std::string& label, const std::string& text) {
  if (emit_) {
    emit_(emit_user_, channel, label.c_str(), text.c_str(), text.size());
    return;
  }
  FILE* const to = channel == 0 ? stdout : stderr;
  if (channel >= 2 && !label.empty()) fprintf(to, "%s: ", label.c_str());
  fwrite(text.data(), 1, text.size(), to);
  fflush(to);
}

// --- inputs ---------------------------------------------------------------------------------------------------------

static std::string expected_text(const Dim& dim) {
  std::string text = "expected at least " + std::to_string(dim.lower);
  return dim.bounded ? text + " and at most " + std::to_string(dim.upper) : text;
}

static const Dim* find_dim(const Module& module, int64_t symbol) {
  for (const Dim& dim : module.dims)
    if (dim.symbol == symbol) return &dim;
  return nullptr;
}

// Sizes that are symbols tell their values; the others are compared when all are known.
void Session::bind_tensor(const Input& input, const Tensor& tensor) {
  const Module& module = program_->module;
  const char* const name = input.name.c_str();
  if (tensor.dtype != input.type.dtype)
    fail_with(Status::Dtype, "input `%s` is %s, expected %s", name, dtype_name(tensor.dtype), dtype_name(input.type.dtype));
  if (tensor.rank() != (int)input.type.shape.size())
    fail_with(Status::Shape, "input `%s` has %d dimensions, expected %zu", name, tensor.rank(), input.type.shape.size());
  for (int d = 0; d < tensor.rank(); ++d) {
    const Index& size = input.type.shape[(size_t)d];
    if (!size.is_symbol()) continue;
    int64_t& value = symbols_[(size_t)size.nodes[0].value];
    if (value != kUnknownSize) continue;
    const Dim* dim = find_dim(module, size.nodes[0].value);
    if (dim && (tensor.sizes[d] < dim->lower || tensor.sizes[d] > dim->upper))
      fail_with(Status::Shape, "input `%s`: dimension %d (%s) is %lld, %s", name, d, dim->name.c_str(),
                (long long)tensor.sizes[d], expected_text(*dim).c_str());
    value = tensor.sizes[d];
  }
}

static void require_kind(const Input& input, const Value& value) {
  const bool fits = input.type.kind == Type::Kind::Tensor  ? value.is_tensor()
                    : input.type.kind == Type::Kind::Int   ? value.is_int()
                    : input.type.kind == Type::Kind::Float ? value.is_float()
                                                           : value.is_bool();
  if (!fits) fail_with(Status::Dtype, "input `%s` is %s", input.name.c_str(), value.kind_name());
}

void Session::bind_inputs(std::vector<Value> inputs) {
  const Program& program = *program_;
  const Module& module = program.module;
  if (inputs.size() != program.call_inputs.size())
    fail_with(Status::Argument, "%s takes %zu inputs, got %zu", module.name.c_str(), program.call_inputs.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = module.inputs[(size_t)program.call_inputs[i]];
    require_kind(input, inputs[i]);
    if (input.type.kind == Type::Kind::Tensor) bind_tensor(input, inputs[i].tensor());
    if (input.type.kind != Type::Kind::Int || input.type.shape.empty() || !input.type.shape[0].is_symbol()) continue;
    int64_t& value = symbols_[(size_t)input.type.shape[0].nodes[0].value];
    const Dim* dim = find_dim(module, input.type.shape[0].nodes[0].value);
    const int64_t given = inputs[i].integer();
    if (dim && (given < dim->lower || given > dim->upper))
      fail_with(Status::Shape, "input `%s` is %lld, %s", input.name.c_str(), (long long)given, expected_text(*dim).c_str());
    if (value == kUnknownSize) value = given;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = module.inputs[(size_t)program.call_inputs[i]];
    if (input.type.kind == Type::Kind::Tensor) {
      const Tensor& tensor = inputs[i].tensor();
      for (int d = 0; d < tensor.rank(); ++d) {
        const int64_t expected = evaluate(input.type.shape[(size_t)d], symbols_.data());
        if (expected != tensor.sizes[d])
          fail_with(Status::Shape, "input `%s`: dimension %d is %lld, expected %lld", input.name.c_str(), d,
                    (long long)tensor.sizes[d], (long long)expected);
      }
    } else if (!input.type.shape.empty() && evaluate(input.type.shape[0], symbols_.data()) != inputs[i].integer()) {
      fail_with(Status::Shape, "input `%s` is %lld, expected %lld", input.name.c_str(), (long long)inputs[i].integer(),
                (long long)evaluate(input.type.shape[0], symbols_.data()));
    }
    values_[(size_t)input.number] = std::move(inputs[i]);
  }
}

// --- steps ----------------------------------------------------------------------------------------------------------

Value Session::operand(const Operand& operand) {
  switch (operand.kind) {
    case Operand::Kind::Ready: return operand.ready;
    case Operand::Kind::Value: return values_[(size_t)operand.value];
    case Operand::Kind::Move: {
      Value taken = std::move(values_[(size_t)operand.value]);
      values_[(size_t)operand.value] = Value();
      return taken;
    }
    case Operand::Kind::Index: return Value(evaluate(*operand.index, symbols_.data()));
    case Operand::Kind::List: break;
  }
  std::vector<Value> items;
  items.reserve(operand.items.size());
  for (const Operand& item : operand.items) items.push_back(this->operand(item));
  return Value::list(std::move(items));
}

void Session::check_size(const Index& stated, int64_t actual, const char* what) {
  if (stated.is_symbol()) {
    int64_t& known = symbols_[(size_t)stated.nodes[0].value];
    if (known == kUnknownSize) {
      known = actual;
      return;
    }
  }
  for (const Index::Node& node : stated.nodes)
    if (node.op == Index::Op::Symbol && symbols_[(size_t)node.value] == kUnknownSize) return;
  const int64_t expected = evaluate(stated, symbols_.data());
  if (expected != actual)
    fail("%s of the result is %lld, the program says %lld", what, (long long)actual, (long long)expected);
}

void Session::check_result(const Type& type, const Value& value) {
  switch (type.kind) {
    case Type::Kind::Tensor: {
      const Tensor& tensor = value.tensor();
      if (tensor.dtype != type.dtype)
        fail("the result is %s, the program says %s", dtype_name(tensor.dtype), dtype_name(type.dtype));
      if (tensor.rank() != (int)type.shape.size())
        fail("the result has %d dimensions, the program says %zu", tensor.rank(), type.shape.size());
      for (int d = 0; d < tensor.rank(); ++d) check_size(type.shape[(size_t)d], tensor.sizes[d], "a size");
      return;
    }
    case Type::Kind::Int:
      if (!value.is_int()) break;
      if (!type.shape.empty()) check_size(type.shape[0], value.integer(), "the value");
      return;
    case Type::Kind::Float: if (!value.is_float()) break; return;
    case Type::Kind::Bool: if (!value.is_bool()) break; return;
    case Type::Kind::None: if (!value.is_none()) break; return;
    case Type::Kind::Text: if (!value.is_text()) break; return;
    case Type::Kind::Tuple: {
      const std::vector<Value>& items = value.list();
      if (items.size() != type.items.size()) fail("%zu results, the program says %zu", items.size(), type.items.size());
      for (size_t i = 0; i < items.size(); ++i) check_result(type.items[i], items[i]);
      return;
    }
    case Type::Kind::List:
      for (const Value& item : value.list()) check_result(type.items[0], item);
      return;
  }
  fail("the result is %s", value.kind_name());
}

void Session::run_step(const Step& step) {
  if (is_cancelled()) fail_with(Status::Cancelled, "the run was cancelled");
  try {
    for (const Operand& item : step.operands) arguments_.push_back(operand(item));
    Call call{step.source->op.c_str(), arguments_, &step.source->type, run_->pool, run_, step.kept.get(), step.constants, step.first_only};
    run_->message = "";
    Value result = step.kernel(call);
    arguments_.clear();
    check_result(step.source->type, result);
    values_[(size_t)step.result] = std::move(result);
  } catch (Error& error) {
    arguments_.clear();
    error.locate(place_text(*step.source));
    throw;
  }
  for (int value : step.dead) values_[(size_t)value] = Value();
}

// --- runs -----------------------------------------------------------------------------------------------------------

void Session::write_back(std::vector<std::pair<int, Tensor>>* written, std::vector<Value>* results) {
  const Program& program = *program_;
  std::vector<std::pair<int, Value>> buffers;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Output& output = program.module.outputs[i];
    Value value = operand(program.outputs[i]);
    if (output.writes < 0) {
      results->push_back(std::move(value));
      continue;
    }
    const Input& input = program.module.inputs[(size_t)output.writes];
    if (input.type.kind != Type::Kind::Tensor || value.tensor().dtype != input.type.dtype)
      fail("what is written into `%s` has another type", input.name.c_str());
    if (input.is_weight()) buffers.emplace_back(input.number, clone(value.tensor()));
    else written->emplace_back(output.writes, value.tensor());
  }
  for (auto& [number, value] : buffers) {
    if (value.tensor().sizes != values_[(size_t)number].tensor().sizes) fail("what is written into a buffer has another size");
    values_[(size_t)number] = std::move(value);
  }
}

namespace {

// What a run leaves behind is let go, however it ends.
template <class F> struct AtEnd {
  F body;
  ~AtEnd() { body(); }
};
template <class F> AtEnd(F) -> AtEnd<F>;

}  // namespace

std::vector<Value> Session::evaluate_graph(std::vector<Value> inputs, std::vector<std::pair<int, Tensor>>* written) {
  const Program& program = *program_;
  AtEnd cleanup{[&] {
    arguments_.clear();
    for (int number : program.call_inputs) values_[(size_t)program.module.inputs[(size_t)number].number] = Value();
    for (const Step& step : program.steps) values_[(size_t)step.result] = Value();
    if (!outer_) cancelled_.store(false);
  }};
  bind_inputs(std::move(inputs));
  if (control_) return control_->run(values_, symbols_);
  for (const Assumption& item : program.module.assumptions) {
    const int64_t value = evaluate(item.index, symbols_.data());
    const bool holds = item.test == Assumption::Test::Zero      ? value == 0
                       : item.test == Assumption::Test::NotZero ? value != 0
                                                                : value >= 0;
    if (!holds) fail("what the program says of `%s` does not hold", index_text(item.index, program.module.symbols).c_str());
  }
  for (const Step& step : program.steps) run_step(step);
  std::vector<Value> results;
  write_back(written, &results);
  return results;
}

std::vector<Value> Session::run(std::vector<Value> inputs, std::vector<std::pair<int, Tensor>>* written) {
  MemoryScope scope(memory_);
  std::fill(symbols_.begin(), symbols_.end(), kUnknownSize);
  return evaluate_graph(std::move(inputs), written);
}

std::vector<Value> Session::run_graph(std::vector<Value> inputs, const std::vector<int64_t>& known,
                                      std::vector<std::pair<int, Tensor>>* written) {
  std::fill(symbols_.begin(), symbols_.end(), kUnknownSize);
  std::copy(known.begin(), known.end(), symbols_.begin());
  return evaluate_graph(std::move(inputs), written);
}

}  // namespace ptc::exec
