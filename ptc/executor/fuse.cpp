#include "fuse.h"

#include <cmath>

namespace ptc::exec {

namespace {

constexpr const char* kFused = "exec::convolution";

class Fusion {
 public:
  Fusion(Module* module, std::map<std::string, Tensor>* tensors) : module_(*module), tensors_(*tensors) {}
  void run();

 private:
  void count_uses();
  void count(const Argument& argument, int user);
  void find_weights();
  const Tensor* weight(const Argument& argument) const;
  Instruction* producer(const Argument& argument);
  Instruction* convolution(const Argument& argument);
  int only_element(int value);
  void fold_norm(Instruction& norm);
  void add_sum(Instruction& sum);
  void add_relu(Instruction& relu);
  Argument literal(const Tensor& tensor);
  void become(Instruction& target, Instruction& from);
  void widen(Instruction& item);
  void drop_removed();

  Module& module_;
  std::map<std::string, Tensor>& tensors_;
  std::vector<int> uses_, user_, maker_;        // by value: how often, the last user's position, the position that defines it
  std::vector<const Tensor*> weights_;          // by value
  std::vector<char> removed_;                   // by position
  std::vector<Instruction> literals_;
};

void Fusion::count(const Argument& argument, int user) {
  if (argument.kind == Argument::Kind::Value) {
    ++uses_[(size_t)argument.value];
    user_[(size_t)argument.value] = user;
  }
  for (const Argument& item : argument.items) count(item, user);
}

void Fusion::count_uses() {
  const size_t values = (size_t)module_.values;
  uses_.assign(values, 0);
  user_.assign(values, -1);
  maker_.assign(values, -1);
  for (size_t i = 0; i < module_.instructions.size(); ++i) {
    maker_[(size_t)module_.instructions[i].number] = (int)i;
    for (const Argument& argument : module_.instructions[i].args) count(argument, (int)i);
  }
  for (const Output& output : module_.outputs) count(output.value, -1);
}

void Fusion::find_weights() {
  weights_.assign((size_t)module_.values, nullptr);
  const auto place = [&](int value, const std::string& name) {
    const auto found = tensors_.find(name);
    if (found != tensors_.end()) weights_[(size_t)value] = &found->second;
  };
  for (const Input& input : module_.inputs)
    if (input.is_weight()) place(input.number, input.name);
  for (const Instruction& item : module_.instructions)
    if (item.op == "prim::literal" && item.args.size() == 1 && item.args[0].constant.is_text())
      place(item.number, item.args[0].constant.text());
  for (const Output& output : module_.outputs)
    if (output.writes >= 0) weights_[(size_t)module_.inputs[(size_t)output.writes].number] = nullptr;
}

const Tensor* Fusion::weight(const Argument& argument) const {
  return argument.kind == Argument::Kind::Value ? weights_[(size_t)argument.value] : nullptr;
}

Instruction* Fusion::producer(const Argument& argument) {
  if (argument.kind != Argument::Kind::Value) return nullptr;
  const int at = maker_[(size_t)argument.value];
  return at < 0 || removed_[(size_t)at] ? nullptr : &module_.instructions[(size_t)at];
}

static bool is_none(const Argument& argument) { return argument.kind == Argument::Kind::Constant && argument.constant.is_none(); }
static bool is_true(const Argument& argument) {
  return argument.kind == Argument::Kind::Constant && argument.constant.is_bool() && argument.constant.boolean();
}

// A plain convolution in float or double, whose result only one instruction looks at.
Instruction* Fusion::convolution(const Argument& argument) {
  Instruction* const item = producer(argument);
  if (!item || (item->op != "aten::convolution" && item->op != kFused) || item->args.size() < 9) return nullptr;
  if (uses_[(size_t)argument.value] != 1 || is_true(item->args[6])) return nullptr;
  const bool exact = item->type.kind == Type::Kind::Tensor && (item->type.dtype == DType::F32 || item->type.dtype == DType::F64);
  return exact ? item : nullptr;
}

// The position of the `prim::element(value, 0)` that alone looks at a value; -1 if there is another use.
int Fusion::only_element(int value) {
  const int at = user_[(size_t)value];
  if (uses_[(size_t)value] != 1 || at < 0) return -1;
  const Instruction& item = module_.instructions[(size_t)at];
  const bool first = item.op == "prim::element" && item.args.size() == 2 && item.args[1].kind == Argument::Kind::Index &&
                     item.args[1].index.is_constant() && item.args[1].index.nodes[0].value == 0;
  return first ? at : -1;
}

// A new weight: the value that a literal at the program's beginning defines.
Argument Fusion::literal(const Tensor& tensor) {
  Instruction item;
  item.number = module_.values++;
  item.op = "prim::literal";
  item.type.kind = Type::Kind::Tensor;
  item.type.dtype = tensor.dtype;
  for (int64_t size : tensor.sizes) item.type.shape.push_back(Index::constant(size));
  std::string name = "folded " + std::to_string(item.number);
  while (tensors_.count(name)) name += "'";
  item.args.emplace_back();
  item.args[0].constant = Value(name);
  const Tensor& stored = tensors_.emplace(name, tensor).first->second;
  weights_.push_back(&stored);
  uses_.push_back(1);
  user_.push_back(-1);
  maker_.push_back(-1);
  Argument result;
  result.kind = Argument::Kind::Value;
  result.value = item.number;
  literals_.push_back(std::move(item));
  return result;
}

// `target`, at its later place, does what `from` does; `from` goes.
void Fusion::become(Instruction& target, Instruction& from) {
  removed_[(size_t)maker_[(size_t)from.number]] = 1;
  target.op = kFused;
  target.args = std::move(from.args);
  const int at = maker_[(size_t)target.number];
  for (const Argument& argument : target.args)
    if (argument.kind == Argument::Kind::Value) user_[(size_t)argument.value] = at;
}

// The two arguments of what happens at the end.
void Fusion::widen(Instruction& item) {
  if (item.args.size() >= 11) return;
  item.args.resize(9);
  item.args.emplace_back();
  item.args.emplace_back();
  item.args[10].constant = Value(false);
}

template <class T>
static void scale_weights(const Tensor& from, const Tensor& to, const std::vector<double>& scale) {
  const int64_t each = to.numel() / (int64_t)scale.size();
  for (size_t o = 0; o < scale.size(); ++o)
    for (int64_t i = 0; i < each; ++i)
      to.data<T>()[(int64_t)o * each + i] = (T)((double)from.data<T>()[(int64_t)o * each + i] * scale[o]);
}

static std::vector<double> numbers(const Tensor* tensor, int64_t count, double otherwise) {
  std::vector<double> result((size_t)count, otherwise);
  if (!tensor) return result;
  const Tensor wide = contiguous_as(*tensor, DType::F64);
  for (int64_t i = 0; i < count; ++i) result[(size_t)i] = wide.data<double>()[i];
  return result;
}

// _native_batch_norm_legit_no_training(convolution, weight, bias, mean, variance, momentum, eps)
void Fusion::fold_norm(Instruction& norm) {
  if (norm.args.size() != 7 || norm.args[6].kind != Argument::Kind::Constant || !norm.args[6].constant.is_float()) return;
  Instruction* const conv = convolution(norm.args[0]);
  const int element = only_element(norm.number);
  if (!conv || conv->op != "aten::convolution" || element < 0) return;
  const Tensor* const filters = weight(conv->args[1]);
  const Tensor* const bias = weight(conv->args[2]);
  if (!filters || (!bias && !is_none(conv->args[2])) || filters->rank() < 3 || filters->sizes[0] == 0) return;
  const int64_t channels = filters->sizes[0];
  const Tensor* parts[4];
  for (int i = 0; i < 4; ++i) {
    parts[i] = weight(norm.args[(size_t)i + 1]);
    if (!parts[i] && !(i < 2 && is_none(norm.args[(size_t)i + 1]))) return;
    if (parts[i] && (parts[i]->rank() != 1 || parts[i]->sizes[0] != channels || !is_floating(parts[i]->dtype))) return;
  }
  if (bias && (bias->rank() != 1 || bias->sizes[0] != channels)) return;
  const double eps = norm.args[6].constant.number();
  std::vector<double> scale = numbers(parts[0], channels, 1), shift = numbers(parts[1], channels, 0);
  const std::vector<double> mean = numbers(parts[2], channels, 0), variance = numbers(parts[3], channels, 1);
  const std::vector<double> own = numbers(bias, channels, 0);
  Tensor folded_bias = empty(filters->dtype, {channels});
  for (size_t i = 0; i < scale.size(); ++i) {
    scale[i] /= std::sqrt(variance[i] + eps);
    shift[i] += (own[i] - mean[i]) * scale[i];
    if (!std::isfinite(scale[i]) || !std::isfinite(shift[i])) return;
    if (filters->dtype == DType::F32) folded_bias.data<float>()[i] = (float)shift[i];
    else folded_bias.data<double>()[i] = shift[i];
  }
  const Tensor from = contiguous(*filters);
  Tensor folded = empty(filters->dtype, filters->sizes);
  if (folded.dtype == DType::F32) scale_weights<float>(from, folded, scale);
  else scale_weights<double>(from, folded, scale);
  Instruction& target = module_.instructions[(size_t)element];
  removed_[(size_t)maker_[(size_t)norm.number]] = 1;
  become(target, *conv);
  target.args[1] = literal(folded);
  target.args[2] = literal(folded_bias);
  widen(target);
}

static bool same_type(const Type& a, const Type& b, const std::vector<std::string>& symbols) {
  return type_text(a, symbols) == type_text(b, symbols);
}

// add.Tensor(a, b, 1) of which one is a convolution, and the other of the same type.
void Fusion::add_sum(Instruction& sum) {
  if (sum.args.size() != 3 || sum.args[2].kind != Argument::Kind::Index || !sum.args[2].index.is_constant() ||
      sum.args[2].index.nodes[0].value != 1)
    return;
  Instruction* conv = nullptr;
  size_t other = 0;
  for (size_t i = 0; i < 2; ++i) {
    Instruction* const found = convolution(sum.args[i]);
    // Of two convolutions the later one: its operands are new.
    if (!found || (found->args.size() > 9 && (!is_none(found->args[9]) || is_true(found->args[10])))) continue;
    if (conv && maker_[(size_t)conv->number] > maker_[(size_t)found->number]) continue;
    conv = found;
    other = 1 - i;
  }
  Instruction* const residual = conv ? producer(sum.args[other]) : nullptr;
  if (!conv || !residual || !same_type(residual->type, sum.type, module_.symbols) || !same_type(conv->type, sum.type, module_.symbols))
    return;
  const Argument kept = sum.args[other];
  become(sum, *conv);
  widen(sum);
  sum.args[9] = kept;
}

void Fusion::add_relu(Instruction& relu) {
  Instruction* const conv = relu.args.size() == 1 ? convolution(relu.args[0]) : nullptr;
  if (!conv || (conv->args.size() > 10 && is_true(conv->args[10]))) return;
  become(relu, *conv);
  widen(relu);
  relu.args[10].constant = Value(true);
}

void Fusion::drop_removed() {
  std::vector<Instruction> kept = std::move(literals_);
  for (size_t i = 0; i < module_.instructions.size(); ++i)
    if (!removed_[i]) kept.push_back(std::move(module_.instructions[i]));
  module_.instructions = std::move(kept);
}

void Fusion::run() {
  bool any = false;
  for (const Instruction& item : module_.instructions) any = any || item.op == "aten::convolution";
  if (!any) return;
  removed_.assign(module_.instructions.size(), 0);
  count_uses();
  find_weights();
  for (size_t i = 0; i < module_.instructions.size(); ++i) {
    Instruction& item = module_.instructions[i];
    if (item.op == "aten::_native_batch_norm_legit_no_training") fold_norm(item);
    else if (item.op == "aten::add.Tensor") add_sum(item);
    else if (item.op == "aten::relu") add_relu(item);
  }
  drop_removed();
}

}  // namespace

void fuse_convolutions(Module* module, std::map<std::string, Tensor>* tensors) { Fusion(module, tensors).run(); }

}  // namespace ptc::exec
