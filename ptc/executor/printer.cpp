// The text of a module. Reading what Python's printer wrote and printing it gives the same bytes.
#include <charconv>
#include <cmath>

#include "control_module.h"

namespace ptc::exec {

std::string quote(const std::string& text) {
  std::string result = "\"";
  const auto unit = [&](uint32_t code) { result += format("\\u%04x", code); };
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = (unsigned char)text[i];
    if (c < 0x80) {
      ++i;
      switch (c) {
        case '"': result += "\\\""; break;
        case '\\': result += "\\\\"; break;
        case '\n': result += "\\n"; break;
        case '\r': result += "\\r"; break;
        case '\t': result += "\\t"; break;
        case '\f': result += "\\f"; break;
        case '\b': result += "\\b"; break;
        default:
          if (c < 0x20) unit(c);
          else result += (char)c;
      }
      continue;
    }
    const int length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    uint32_t code = length == 4 ? c & 7u : length == 3 ? c & 15u : c & 31u;
    for (int k = 1; k < length; ++k) code = code << 6 | (i + (size_t)k < text.size() ? (unsigned char)text[i + (size_t)k] & 63u : 0u);
    i += (size_t)length;
    if (code >= 0x10000) {
      unit(0xD800 + ((code - 0x10000) >> 10));
      unit(0xDC00 + ((code - 0x10000) & 0x3FF));
    } else {
      unit(code);
    }
  }
  return result + "\"";
}

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, std::fabs(value), std::chars_format::scientific).ptr;
  std::string text(digits, end);
  const size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  std::string mantissa = text.substr(0, e);
  if (mantissa.size() > 1) mantissa.erase(1, 1);
  const int count = (int)mantissa.size();
  std::string result;
  if (exponent < -4 || exponent >= 16) {
    result = mantissa.substr(0, 1);
    if (count > 1) result += "." + mantissa.substr(1);
    result += format("e%c%02d", exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
  } else if (exponent < 0) {
    result = "0." + std::string((size_t)(-exponent - 1), '0') + mantissa;
  } else if (count <= exponent + 1) {
    result = mantissa + std::string((size_t)(exponent + 1 - count), '0') + ".0";
  } else {
    result = mantissa.substr(0, (size_t)exponent + 1) + "." + mantissa.substr((size_t)exponent + 1);
  }
  return (std::signbit(value) ? "-" : "") + result;
}

static std::string node_text(const Index& index, int at, const std::vector<std::string>& symbols) {
  const Index::Node& node = index.nodes[(size_t)at];
  const auto part = [&](int child) { return node_text(index, child, symbols); };
  std::string text;
  switch (node.op) {
    case Index::Op::Constant: text = std::to_string(node.value); break;
    case Index::Op::Symbol: text = symbols[(size_t)node.value]; break;
    case Index::Op::Negative: text = "-" + part(node.left); break;
    case Index::Op::Add: text = part(node.left) + " + " + part(node.right); break;
    case Index::Op::Subtract: text = part(node.left) + " - " + part(node.right); break;
    case Index::Op::Multiply: text = part(node.left) + "*" + part(node.right); break;
    case Index::Op::FloorDivide: text = part(node.left) + " // " + part(node.right); break;
    case Index::Op::Remainder: text = part(node.left) + " % " + part(node.right); break;
    case Index::Op::Min: text = "min(" + part(node.left) + ", " + part(node.right) + ")"; break;
    case Index::Op::Max: text = "max(" + part(node.left) + ", " + part(node.right) + ")"; break;
  }
  return node.brackets ? "(" + text + ")" : text;
}

std::string index_text(const Index& index, const std::vector<std::string>& symbols) {
  return node_text(index, (int)index.nodes.size() - 1, symbols);
}

static std::string sizes_text(const std::vector<Index>& sizes, const std::vector<std::string>& symbols) {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i)
    text += (i ? ", " : "") + (sizes[i].nodes.empty() ? "?" : index_text(sizes[i], symbols));
  return text;
}

std::string type_text(const Type& type, const std::vector<std::string>& symbols) {
  std::string text;
  switch (type.kind) {
    case Type::Kind::Tensor: return std::string(dtype_name(type.dtype)) + "[" + sizes_text(type.shape, symbols) + "]";
    case Type::Kind::Int: return type.shape.empty() ? "int" : "int{" + sizes_text(type.shape, symbols) + "}";
    case Type::Kind::Float: return "float";
    case Type::Kind::Bool: return "bool";
    case Type::Kind::None: return "none";
    case Type::Kind::Text: return "str";
    case Type::Kind::List: return "list[" + type_text(type.items[0], symbols) + "]";
    case Type::Kind::Tuple:
      for (size_t i = 0; i < type.items.size(); ++i) text += (i ? ", " : "") + type_text(type.items[i], symbols);
      return "(" + text + ")";
  }
  return text;
}

static std::string constant_text(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::None: return "None";
    case Value::Kind::Bool: return value.boolean() ? "True" : "False";
    case Value::Kind::Float: return float_text(value.number());
    case Value::Kind::Text: return quote(value.text());
    case Value::Kind::DType: return std::string("dtype(") + dtype_name(value.dtype()) + ")";
    case Value::Kind::Tag: return value.tag().kind + "(" + quote(value.tag().text) + ")";
    default: fail("%s in a program", value.kind_name());
  }
}

static std::string argument_text(const Argument& argument, const std::vector<std::string>& symbols) {
  std::string text;
  switch (argument.kind) {
    case Argument::Kind::Constant: return constant_text(argument.constant);
    case Argument::Kind::Value: return "%" + std::to_string(argument.value);
    case Argument::Kind::Index: return index_text(argument.index, symbols);
    case Argument::Kind::List:
      for (size_t i = 0; i < argument.items.size(); ++i)
        text += (i ? ", " : "") + argument_text(argument.items[i], symbols);
      return "[" + text + "]";
  }
  return text;
}

std::string place_suffix(const Place& place) {
  if (!place.line && place.file.empty()) return "";
  return "  # " + quote(place.file) + ":" + std::to_string(place.line) + " " + quote(place.text);
}

static std::string instruction_text(const Instruction& item, const std::vector<std::string>& symbols) {
  std::string words;
  for (const Argument& argument : item.args) words += (words.empty() ? "" : ", ") + argument_text(argument, symbols);
  for (const auto& [name, argument] : item.keywords)
    words += (words.empty() ? "" : ", ") + name + "=" + argument_text(argument, symbols);
  std::string text = "%" + std::to_string(item.number) + " : " + type_text(item.type, symbols) + " = " + item.op + "(" + words + ")";
  return text + place_suffix(item.place);
}

static std::string output_text(const Output& item, const std::vector<std::string>& symbols) {
  const std::string value = argument_text(item.value, symbols);
  if (item.writes >= 0) return "write " + value + " " + std::to_string(item.writes) + " " + quote(item.name);
  return "return " + value + " " + quote(item.name) + (item.alias < 0 ? "" : " alias " + std::to_string(item.alias));
}

std::string dim_text(const char* word, const Dim& dim, const std::vector<std::string>& symbols) {
  return std::string(word) + " " + symbols[(size_t)dim.symbol] + " " + quote(dim.name) + " " + std::to_string(dim.lower) + " " +
         (dim.bounded ? std::to_string(dim.upper) : "inf") + "\n";
}

std::string graph_text(const Module& module, const std::string& indent) {
  static const char* const tests[] = {"==", "!=", ">="};
  std::string text = indent + "graph " + quote(module.name) + " {\n";
  const std::string inner = indent + "  ";
  for (const Input& item : module.inputs)
    text += inner + "%" + std::to_string(item.number) + " : " + type_text(item.type, module.symbols) + " = " + item.kind + " " +
            quote(item.name) + "\n";
  for (const Assumption& item : module.assumptions)
    text += inner + "assume " + index_text(item.index, module.symbols) + " " + tests[(int)item.test] + " 0\n";
  for (const Instruction& item : module.instructions) text += inner + instruction_text(item, module.symbols) + "\n";
  for (const Output& item : module.outputs) text += inner + output_text(item, module.symbols) + "\n";
  return text + indent + "}\n";
}

std::string print_module(const Module& module) {
  std::string text = "ptir " + std::to_string(module.schema) + "\n";
  for (const Dim& dim : module.dims) text += dim_text("dim", dim, module.symbols);
  return text + graph_text(module, "");
}

}  // namespace ptc::exec
