// A program of the portable IR as it is written: types, size expressions, arguments, instructions. What `parse_module`
// reads and `print_module` writes; docs/ptir.md describes the text.
#ifndef PTC_EXECUTOR_MODULE_H
#define PTC_EXECUTOR_MODULE_H

#include <string>
#include <vector>

#include "value.h"

namespace ptc::exec {

// Newest version of the text that this executor reads, and the oldest that it can run: before, arguments had names.
constexpr int kSchema = 2, kOldestRunnable = 2;

// --- sizes ----------------------------------------------------------------------------------------------------------

// A size expression: nodes in the order of evaluation, the last is the result. As written, so that it prints the same.
struct Index {
  enum class Op : uint8_t { Constant, Symbol, Negative, Add, Subtract, Multiply, FloorDivide, Remainder, Min, Max };
  struct Node {
    Op op;
    int64_t value = 0;  // a constant, or the number of a symbol (Module::symbols)
    int left = -1, right = -1;
    bool brackets = false;      // written in brackets
  };
  std::vector<Node> nodes;

  static Index constant(int64_t value) { return Index{{Node{Op::Constant, value, -1, -1, false}}}; }
  bool is_constant() const { return nodes.size() == 1 && nodes[0].op == Op::Constant; }
  bool is_symbol() const { return nodes.size() == 1 && nodes[0].op == Op::Symbol; }
};

// Values of the symbols; kUnknownSize for those that no result has told yet.
constexpr int64_t kUnknownSize = INT64_MIN;
// The value. Python's floor division and remainder; `fail`s on overflow, division by zero and unknown symbols.
int64_t evaluate(const Index& index, const int64_t* symbols);

// --- types ----------------------------------------------------------------------------------------------------------

struct Type {
  enum class Kind : uint8_t { Tensor, Int, Float, Bool, None, Text, Tuple, List };
  Kind kind = Kind::None;
  DType dtype = DType::F32;     // of a tensor
  std::vector<Index> shape;     // of a tensor; of an Int, its value if it is known as a size
  std::vector<Type> items;      // of a tuple; of a list, the one type of its elements
};

// --- arguments and instructions -------------------------------------------------------------------------------------

struct Argument {
  enum class Kind : uint8_t { Constant, Value, Index, List };
  Kind kind = Kind::Constant;
  Value constant;               // a number that is no integer, True, False, None, a string, a dtype, a tag
  int value = -1;               // %3
  Index index;                  // integers and size expressions
  std::vector<Argument> items;
};

struct Place {
  std::string file, text;
  int64_t line = 0;
  bool known() const { return line > 0; }
};

struct Instruction {
  int number = -1;              // the value that it defines
  Type type;
  std::string op;
  std::vector<Argument> args;
  std::vector<std::pair<std::string, Argument>> keywords;  // text version 1 only
  Place place;
  int row = 0;                  // line of the text
};

struct Input {
  int number = -1;
  Type type;
  std::string kind, name;       // kind: user, scalar, parameter, buffer, constant
  bool is_weight() const { return kind != "user" && kind != "scalar"; }
};

struct Output {
  Argument value;
  std::string name;
  int alias = -1, writes = -1;  // numbers of inputs
};

struct Dim {
  int symbol;                   // number
  std::string name;
  int64_t lower = 0, upper = INT64_MAX;
  bool bounded = false;         // whether there is an upper bound
};

// What a graph of a program relies on where it is called.
struct Assumption {
  enum class Test : uint8_t { Zero, NotZero, NotNegative };
  Index index;
  Test test = Test::Zero;
};

struct Module {
  int schema = kSchema;
  std::string name;
  std::vector<std::string> symbols;  // by number: declared ones first
  std::vector<Dim> dims;
  std::vector<Input> inputs;
  std::vector<Assumption> assumptions;
  std::vector<Instruction> instructions;
  std::vector<Output> outputs;
  int values = 0;                    // how many values are defined
};

// --- text -----------------------------------------------------------------------------------------------------------

// Limits of the reader, the same as in ptc/exporters/ptir/parser.py.
constexpr size_t kMaxText = (size_t)256 << 20, kMaxLine = (size_t)4 << 20;
constexpr size_t kMaxProgram = (size_t)1 << 30;  // bytes of the nodes that a text may become
constexpr int kMaxDepth = 16, kMaxExpression = 512, kMaxBrackets = 24;

// Throws Error File that names the line.
Module parse_module(const char* text, size_t length);
std::string print_module(const Module& module);

std::string index_text(const Index& index, const std::vector<std::string>& symbols);
std::string type_text(const Type& type, const std::vector<std::string>& symbols);
std::string quote(const std::string& text);        // JSON, ASCII only
std::string float_text(double value);              // as Python writes it

}  // namespace ptc::exec

#endif
