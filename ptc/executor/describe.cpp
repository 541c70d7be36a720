#include "describe.h"

namespace ptc::exec {

static std::string kind_text(const Type& type) {
  switch (type.kind) {
    case Type::Kind::Tensor: return dtype_name(type.dtype);
    case Type::Kind::Int: return "int";
    case Type::Kind::Float: return "float";
    case Type::Kind::Bool: return "bool";
    case Type::Kind::None: return "none";
    case Type::Kind::Text: return "str";
    case Type::Kind::Tuple: return "tuple";
    case Type::Kind::List: return "list";
  }
  return "";
}

// "dtype": "f32", "dims": [2, "s0"]; sizes that are no numbers as text.
static std::string type_json(const Type& type, const std::vector<std::string>& symbols) {
  std::string dims;
  for (const Index& size : type.shape) {
    const std::string text = index_text(size, symbols);
    dims += (dims.empty() ? "" : ", ") + (size.is_constant() ? text : quote(text));
  }
  const char* const tensor = type.kind == Type::Kind::Tensor ? "true" : "false";
  return "\"dtype\": " + quote(kind_text(type)) + ", \"tensor\": " + tensor + ", \"dims\": [" + dims + "]";
}

// Types by the number of the value.
static std::vector<const Type*> value_types(const Module& module) {
  std::vector<const Type*> types((size_t)module.values, nullptr);
  for (const Input& input : module.inputs) types[(size_t)input.number] = &input.type;
  for (const Instruction& item : module.instructions) types[(size_t)item.number] = &item.type;
  return types;
}

static Type argument_type(const Argument& argument, const std::vector<const Type*>& types) {
  Type type;
  if (argument.kind == Argument::Kind::Value && types[(size_t)argument.value]) return *types[(size_t)argument.value];
  if (argument.kind == Argument::Kind::Index) {
    type.kind = Type::Kind::Int;
    type.shape.push_back(argument.index);
  } else if (argument.kind == Argument::Kind::Constant) {
    if (argument.constant.is_bool()) type.kind = Type::Kind::Bool;
    else if (argument.constant.is_float()) type.kind = Type::Kind::Float;
    else if (argument.constant.is_text()) type.kind = Type::Kind::Text;
  }
  return type;
}

std::string describe(const Module& module) {
  std::string inputs, outputs, dims;
  for (const Input& input : module.inputs) {
    if (input.is_weight()) continue;
    inputs += (inputs.empty() ? "" : ", ");
    inputs += "{\"name\": " + quote(input.name) + ", \"kind\": " + quote(input.kind) + ", " + type_json(input.type, module.symbols) + "}";
  }
  const std::vector<const Type*> types = value_types(module);
  for (const Output& output : module.outputs) {
    if (output.writes >= 0) continue;
    outputs += (outputs.empty() ? "" : ", ");
    outputs += "{\"name\": " + quote(output.name) + ", " + type_json(argument_type(output.value, types), module.symbols) +
               ", \"alias\": " + (output.alias < 0 ? "null" : std::to_string(output.alias)) + "}";
  }
  for (const Dim& dim : module.dims)
    dims += (dims.empty() ? "" : ", ") + ("{\"symbol\": " + quote(module.symbols[(size_t)dim.symbol])) + ", \"name\": " +
            quote(dim.name) + ", \"lower\": " + std::to_string(dim.lower) + ", \"upper\": " +
            (dim.bounded ? std::to_string(dim.upper) : "null") + "}";
  return "{\"name\": " + quote(module.name) + ", \"inputs\": [" + inputs + "], \"outputs\": [" + outputs + "], \"dims\": [" + dims + "]}";
}

}  // namespace ptc::exec
