// Reads the text of the portable IR. Errors name the line; hostile text costs bounded time and space. What operators mean
// is not looked at here.
#include "parser.h"

namespace ptc::exec {

// A line of a few characters can stand for nodes of many bytes: their sum is bounded, not only the text.
void ModuleParser::spend(Line& at, size_t bytes) {
  spent_ += bytes;
  if (spent_ > kMaxProgram) at.fail("the program takes more than %d MiB of memory", (int)(kMaxProgram >> 20));
}

Line ModuleParser::line() {
  if (next_ >= text_.size()) bad_file("line %d: the text ends too early", row_);
  size_t end = text_.find('\n', next_);
  if (end == std::string_view::npos) end = text_.size();
  Line result(text_.substr(next_, end - next_), ++row_);
  next_ = end + 1;
  return result;
}

bool ModuleParser::starts(std::string_view prefix) const {
  const size_t begin = text_.find_first_not_of(' ', next_);
  return begin != std::string_view::npos && text_.substr(begin, prefix.size()) == prefix;
}

void ModuleParser::read_header() {
  Line header = line();
  header.word("ptir");
  const int64_t version = header.integer();
  header.end();
  if (version > kSchema)
    header.fail("version %lld of the text is newer than %d: a newer executor reads it", (long long)version, kSchema);
  if (version < 1) header.fail("version %lld", (long long)version);
  module_.schema = (int)version;
}

Module ModuleParser::run() {
  read_header();
  read_dims("dim", &module_.dims);
  Line head = line();
  head.word("graph");
  module_.name = head.text();
  head.mark("{");
  head.end();
  read_graph();
  if (next_ < text_.size()) line().fail("text after the end of the graph");
  if (text_.back() != '\n') bad_file("line %d: the last line has no end", row_);
  return std::move(module_);
}

void ModuleParser::read_graph() {
  while (starts("%")) read_definition();
  if (nested_ && module_.instructions.empty() && starts("assume ")) {
    while (starts("assume ")) read_assumption();
    while (starts("%")) read_definition();
  }
  while (starts("return ") || starts("write ")) read_output();
  Line last = line();
  last.mark("}");
  last.end();
}

// `assume EXPR >= 0`
void ModuleParser::read_assumption() {
  Line at = line();
  at.word("assume");
  spend(at, sizeof(Assumption));
  Assumption result;
  result.index = expression(at, false);
  if (at.accept_mark("=")) result.test = Assumption::Test::Zero;
  else if (at.accept_mark("!")) result.test = Assumption::Test::NotZero;
  else at.mark(">"), result.test = Assumption::Test::NotNegative;
  at.mark("=");
  if (at.integer() != 0) at.fail("an assumption compares with 0");
  at.end();
  module_.assumptions.push_back(std::move(result));
}

void ModuleParser::read_dims(const char* word, std::vector<Dim>* dims) {
  while (starts(std::string(word) + " ")) read_dim(word, dims);
}

void ModuleParser::read_dim(const char* word, std::vector<Dim>* dims) {
  Line at = line();
  at.word(word);
  const std::string name = at.name();
  spend(at, sizeof(Dim));
  Dim dim;
  dim.symbol = (int)module_.symbols.size();
  dim.name = at.text();
  dim.lower = at.integer();
  dim.bounded = !at.accept(TokenKind::Float, "inf");
  if (dim.bounded) dim.upper = at.integer();
  at.end();
  if (name.find('.') != std::string::npos || name.find(':') != std::string::npos || !symbols_.emplace(name, dim.symbol).second)
    at.fail("bad or repeated symbol `%s`", name.c_str());
  if (dim.upper < dim.lower) at.fail("empty range %lld..%lld", (long long)dim.lower, (long long)dim.upper);
  module_.symbols.push_back(name);
  dims->push_back(std::move(dim));
}

bool is_input_kind(std::string_view name) {
  return name == "user" || name == "scalar" || name == "parameter" || name == "buffer" || name == "constant";
}

void ModuleParser::read_definition() {
  Line at = line();
  const int number = at.value();
  if (number != module_.values) at.fail("%%%d is defined where %%%d comes next", number, module_.values);
  at.mark(":");
  // An input's sizes are of declared symbols; a result may introduce some. Which it is stands behind the type.
  const size_t symbols = module_.symbols.size();
  Type result = type(at, 0, true);
  at.mark("=");
  const std::string name = at.name();
  if (is_input_kind(name)) {
    if (!module_.instructions.empty()) at.fail("an input after the first instruction");
    if (module_.symbols.size() != symbols && !(nested_ && name == "scalar")) at.fail("unknown symbol `%s`", module_.symbols.back().c_str());
    if (result.kind == Type::Kind::Tuple) at.fail("an input cannot be a tuple");
    Input input{number, std::move(result), name, at.text()};
    at.end();
    module_.inputs.push_back(std::move(input));
    ++module_.values;
    return;
  }
  if (name.find("::") == std::string::npos) at.fail("`%s` is neither an input kind nor an operator", name.c_str());
  spend(at, sizeof(Instruction));
  Instruction item;
  item.number = number;
  item.type = std::move(result);
  item.op = name;
  item.row = at.row();
  arguments(at, &item);
  item.place = place(at);
  at.end();
  module_.instructions.push_back(std::move(item));
  ++module_.values;
}

void ModuleParser::read_output() {
  Line at = line();
  const std::string kind = at.name();
  Output output;
  output.value = argument(at, 0);
  const int64_t inputs = (int64_t)module_.inputs.size();
  if (kind == "write") output.writes = (int)at.below(inputs, "input");
  output.name = at.text();
  if (kind == "return" && at.accept_word("alias")) output.alias = (int)at.below(inputs, "input");
  at.end();
  module_.outputs.push_back(std::move(output));
}

Place ModuleParser::place(Line& at) {
  Place result;
  if (!at.accept_mark("#")) return result;
  result.file = at.text();
  at.mark(":");
  result.line = at.integer();
  result.text = at.text();
  return result;
}

// --- types ----------------------------------------------------------------------------------------------------------

DType ModuleParser::dtype(Line& at, std::string_view name) {
  DType result;
  if (!dtype_from_name(name.data(), name.size(), &result)) at.fail("unknown type `%s`", std::string(name).c_str());
  return result;
}

Type ModuleParser::type(Line& at, int depth, bool introduces) {
  if (depth > kMaxDepth) at.fail("nested too deep");
  spend(at, sizeof(Type));
  Type result;
  if (at.accept_mark("(")) {
    result.kind = Type::Kind::Tuple;
    while (!at.accept_mark(")")) {
      if (!result.items.empty()) at.mark(",");
      result.items.push_back(type(at, depth + 1, introduces));
    }
    return result;
  }
  const std::string name = at.name();
  const bool tensor = at.peek().kind == TokenKind::Mark && at.peek().text == "[";
  if (!tensor && (name == "int" || name == "float" || name == "bool" || name == "none")) {
    result.kind = name == "int"     ? Type::Kind::Int
                  : name == "float" ? Type::Kind::Float
                  : name == "bool"  ? Type::Kind::Bool
                                    : Type::Kind::None;
    if (name == "int" && at.accept_mark("{")) {
      result.shape.push_back(expression(at, introduces));
      at.mark("}");
    }
    return result;
  }
  result.kind = Type::Kind::Tensor;
  result.dtype = dtype(at, name);
  at.mark("[");
  while (!at.accept_mark("]")) {
    if (!result.shape.empty()) at.mark(",");
    if (result.shape.size() == kMaxRank) at.fail("more than %d dimensions", kMaxRank);
    result.shape.push_back(in_list_ && at.accept_mark("?") ? Index{} : expression(at, introduces));
  }
  return result;
}

// --- arguments ------------------------------------------------------------------------------------------------------

bool ModuleParser::keyword(Line& at, std::string* name) {
  const size_t start = at.position();
  if (at.peek().kind == TokenKind::Name) {
    *name = std::string(at.peek().text);
    at.skip();
    if (at.accept_mark("=")) return true;
  }
  at.seek(start);
  return false;
}

void ModuleParser::arguments(Line& at, Instruction* item) {
  at.mark("(");
  while (!at.accept_mark(")")) {
    if (!item->args.empty() || !item->keywords.empty()) at.mark(",");
    std::string name;
    if (keyword(at, &name)) {
      if (module_.schema >= 2) at.fail("a named argument");
      for (const auto& known : item->keywords)
        if (known.first == name) at.fail("argument `%s` is given twice", name.c_str());
      item->keywords.emplace_back(name, argument(at, 0));
    } else if (!item->keywords.empty()) {
      at.fail("a positional argument after a named one");
    } else {
      item->args.push_back(argument(at, 0));
    }
  }
}

Argument ModuleParser::argument(Line& at, int depth) {
  if (depth > kMaxDepth) at.fail("nested too deep");
  spend(at, sizeof(Argument));
  const Token token = at.peek();
  Argument result;
  switch (token.kind) {
    case TokenKind::Value:
      result.kind = Argument::Kind::Value;
      result.value = at.value();
      if (result.value >= module_.values) at.fail("%%%d is used before it is defined", result.value);
      return result;
    case TokenKind::Text: result.constant = Value(at.text()); return result;
    case TokenKind::Float: result.constant = Value(at.number()); return result;
    case TokenKind::Mark:
      if (token.text == "[") return list(at, depth);
      break;
    case TokenKind::Name:
      if (at.accept_word("True")) return result.constant = Value(true), result;
      if (at.accept_word("False")) return result.constant = Value(false), result;
      if (at.accept_word("None")) return result;
      if (token.text == "dtype" || token.text == "layout" || token.text == "memory_format" || token.text == "device") {
        const std::string kind(token.text);
        const size_t start = at.position();
        at.skip();
        if (!at.accept_mark("(")) {  // a symbol of that name
          at.seek(start);
          break;
        }
        if (kind == "dtype") result.constant = Value(dtype(at, at.name()));
        else result.constant = Value(Tag{kind, at.text()});
        at.mark(")");
        return result;
      }
      break;
    default: break;
  }
  result.kind = Argument::Kind::Index;
  result.index = expression(at, false);
  return result;
}

Argument ModuleParser::list(Line& at, int depth) {
  Argument result;
  result.kind = Argument::Kind::List;
  at.mark("[");
  while (!at.accept_mark("]")) {
    if (!result.items.empty()) at.mark(",");
    result.items.push_back(argument(at, depth + 1));
  }
  return result;
}

// --- size expressions -----------------------------------------------------------------------------------------------

Index ModuleParser::expression(Line& at, bool introduces) {
  Index index;
  introduces_ = introduces;
  const size_t start = at.position();
  sum(at, &index, 0);
  if (at.position() - start > (size_t)kMaxExpression) at.fail("a size expression is too long");
  return index;
}

int ModuleParser::node(Line& at, Index* index, Index::Node item) {
  if (index->nodes.size() >= (size_t)kMaxExpression) at.fail("a size expression is too long");
  spend(at, sizeof(Index::Node));
  index->nodes.push_back(item);
  return (int)index->nodes.size() - 1;
}

int ModuleParser::sum(Line& at, Index* index, int depth) {
  int left = term(at, index, depth);
  for (;;) {
    const bool plus = at.accept_mark("+");
    if (!plus && !at.accept_mark("-")) return left;
    const int right = term(at, index, depth);
    left = node(at, index, {plus ? Index::Op::Add : Index::Op::Subtract, 0, left, right, false});
  }
}

int ModuleParser::term(Line& at, Index* index, int depth) {
  int left = factor(at, index, depth);
  for (;;) {
    Index::Op op;
    if (at.accept_mark("*")) op = Index::Op::Multiply;
    else if (at.accept_mark("//")) op = Index::Op::FloorDivide;
    else if (at.accept_mark("%")) op = Index::Op::Remainder;
    else return left;
    const int right = factor(at, index, depth);
    left = node(at, index, {op, 0, left, right, false});
  }
}

int ModuleParser::factor(Line& at, Index* index, int depth) {
  if (depth > kMaxBrackets) at.fail("a size expression is nested too deep");
  if (at.accept_mark("-")) {
    if (at.peek().kind == TokenKind::Int) {
      if (at.peek().text == "9223372036854775808") {  // has no positive twin
        at.skip();
        return node(at, index, {Index::Op::Constant, INT64_MIN, -1, -1, false});
      }
    }
    const int inner = factor(at, index, depth + 1);
    if (index->nodes.back().op == Index::Op::Constant && !index->nodes.back().brackets && index->nodes.back().value >= 0) {
      index->nodes.back().value = -index->nodes.back().value;
      return inner;
    }
    return node(at, index, {Index::Op::Negative, 0, inner, -1, false});
  }
  if (at.accept_mark("(")) {
    const int inner = sum(at, index, depth + 1);
    at.mark(")");
    index->nodes[(size_t)inner].brackets = true;
    return inner;
  }
  if (at.peek().kind == TokenKind::Int) return node(at, index, {Index::Op::Constant, at.integer(), -1, -1, false});
  const std::string_view name = at.take(TokenKind::Name, "a size");
  if ((name == "min" || name == "max") && at.accept_mark("(")) {
    const Index::Op op = name == "min" ? Index::Op::Min : Index::Op::Max;
    const int left = sum(at, index, depth + 1);
    at.mark(",");
    const int right = sum(at, index, depth + 1);
    at.mark(")");
    return node(at, index, {op, 0, left, right, false});
  }
  return node(at, index, {Index::Op::Symbol, symbol(at, name), -1, -1, false});
}

int ModuleParser::symbol(Line& at, std::string_view name) {
  const std::string key(name);
  const auto known = symbols_.find(key);
  if (known != symbols_.end()) return known->second;
  if (!introduces_ || key.find('.') != std::string::npos || key.find(':') != std::string::npos)
    at.fail("unknown symbol `%s`", key.c_str());
  const int number = (int)module_.symbols.size();
  symbols_.emplace(key, number);
  module_.symbols.push_back(key);
  return number;
}

Module parse_module(const char* text, size_t length) {
  if (length > kMaxText) bad_file("the program is larger than %d MiB", (int)(kMaxText >> 20));
  return ModuleParser(text, length).run();
}

}  // namespace ptc::exec
