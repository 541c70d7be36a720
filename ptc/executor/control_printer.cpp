// The text of a program with control flow. Reading what Python's printer wrote and printing it gives the same bytes.
#include "control_module.h"

namespace ptc::exec {

namespace {

class ControlPrinter {
 public:
  explicit ControlPrinter(const ControlModule& module) : module_(module) {}
  std::string run();

 private:
  std::string name(const std::string& name) const;
  std::string reference(const Reference& reference) const;
  std::string slot(int number) const { return name(module_.slots[(size_t)number].name); }
  std::string number(const Value& value) const;
  std::string operand(const ControlOperand& operand) const;
  std::string declared(const Type& type) const;
  void block(const Block& block, const std::string& indent);
  void plain(const Statement& statement, const std::string& indent);
  void region(const Statement& statement, const std::string& indent);

  const ControlModule& module_;
  std::string text_;
};

std::string ControlPrinter::name(const std::string& name) const {
  bool plain = !name.empty();
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    plain = plain && (letter || (i && ((c >= '0' && c <= '9') || c == '.')));
  }
  return "$" + (plain ? name : quote(name));
}

std::string ControlPrinter::reference(const Reference& reference) const {
  return reference.is_size ? module_.symbols[(size_t)reference.number] : slot(reference.number);
}

std::string ControlPrinter::number(const Value& value) const {
  if (value.is_none()) return "None";
  if (value.is_text()) return quote(value.text());
  if (value.is_bool()) return value.boolean() ? "True" : "False";
  return value.is_float() ? float_text(value.number()) : std::to_string(value.integer());
}

std::string ControlPrinter::operand(const ControlOperand& operand) const {
  if (operand.kind == ControlOperand::Kind::Constant) return number(operand.constant);
  if (operand.kind == ControlOperand::Kind::Reference) return reference(operand.reference);
  static const char* const words[] = {"str", "repr", "format"};
  const std::string spec = operand.spec.empty() ? "" : ", " + quote(operand.spec);
  return std::string(words[(int)operand.conversion]) + "(" + reference(operand.reference) + spec + ")";
}

std::string ControlPrinter::declared(const Type& type) const {
  if (type.kind == Type::Kind::Text) return "text";
  if (type.kind == Type::Kind::List) return "list(" + declared(type.items[0]) + ")";
  return type_text(type, module_.symbols);
}

void ControlPrinter::plain(const Statement& s, const std::string& indent) {
  text_ += indent;
  for (size_t i = 0; i < s.targets.size(); ++i) text_ += (i ? ", " : "") + reference(s.targets[i]);
  if (!s.targets.empty()) text_ += " = ";
  text_ += s.op + "(";
  for (size_t i = 0; i < s.args.size(); ++i) text_ += (i ? ", " : "") + operand(s.args[i]);
  text_ += ")" + place_suffix(s.place) + "\n";
}

void ControlPrinter::region(const Statement& s, const std::string& indent) {
  static const char* const words[] = {"", "if ", "switch ", "while "};
  const bool loops = s.kind == Statement::Kind::While;
  text_ += indent + words[(int)s.kind] + (loops ? "" : slot(s.subject) + " ") + quote(s.construct) + " {" + place_suffix(s.place) + "\n";
  for (size_t i = 0; i < s.arms.size(); ++i) {
    if (i) text_ += indent + (s.kind == Statement::Kind::If ? "} else {\n" : "} case {\n");
    block(s.arms[i], indent + "  ");
  }
  text_ += indent + "}" + (loops ? " again " + slot(s.subject) : "") + "\n";
}

void ControlPrinter::block(const Block& block, const std::string& indent) {
  for (const Statement& statement : block) {
    if (statement.kind == Statement::Kind::Plain) plain(statement, indent);
    else region(statement, indent);
  }
}

std::string ControlPrinter::run() {
  text_ = "ptir " + std::to_string(kSchema) + "\n";
  for (const Dim& dim : module_.dims) text_ += dim_text("dim", dim, module_.symbols);
  for (const Dim& dim : module_.sizes) text_ += dim_text("size", dim, module_.symbols);
  text_ += "program " + quote(module_.name) + " {\n";
  for (const ControlInput& input : module_.inputs)
    text_ += "  input " + quote(input.name) + " : " + type_text(input.type, module_.symbols) + " = " + input.kind +
             (input.written ? " written" : "") + "\n";
  for (size_t i = (size_t)module_.declared; i < module_.slots.size(); ++i)
    text_ += "  var " + slot((int)i) + " : " + declared(module_.slots[i].type) + "\n";
  for (const State& state : module_.states)
    text_ += "  state " + slot(state.slot) + " " + quote(state.path) +
             (state.initial.is_none() ? "" : " " + number(state.initial)) + "\n";
  for (const Module& graph : module_.graphs) text_ += graph_text(graph, "  ");
  text_ += "  body {\n";
  block(module_.body, "    ");
  text_ += "  }\n";
  for (const auto& [value, name] : module_.outputs) text_ += "  return " + reference(value) + " " + quote(name) + "\n";
  if (module_.selector >= 0) text_ += "  select " + slot(module_.selector) + "\n";
  return text_ + "}\n";
}

}  // namespace

std::string print_control(const ControlModule& module) { return ControlPrinter(module).run(); }

}  // namespace ptc::exec
