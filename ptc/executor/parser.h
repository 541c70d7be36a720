// The reader of graphs, line by line. Programs with control flow are read by a parser built on it (control_parser.cpp).
#ifndef PTC_EXECUTOR_PARSER_H
#define PTC_EXECUTOR_PARSER_H

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lexer.h"
#include "module.h"

namespace ptc::exec {

bool is_input_kind(std::string_view name);

class ModuleParser {
 public:
  ModuleParser(const char* text, size_t length) : text_(text, length) {}
  Module run();

 protected:
  // Whether the next line begins so, behind its indentation.
  bool starts(std::string_view prefix) const;
  Line line();
  void read_header();
  void read_dims(const char* word, std::vector<Dim>* dims);
  // Definitions, assumptions and results up to the closing bracket.
  void read_graph();
  void read_assumption();
  void read_dim(const char* word, std::vector<Dim>* dims);
  void read_definition();
  void read_output();
  Place place(Line& line);
  Type type(Line& line, int depth, bool introduces);
  Argument argument(Line& line, int depth);
  Argument list(Line& line, int depth);
  void arguments(Line& line, Instruction* item);
  bool keyword(Line& line, std::string* name);
  DType dtype(Line& line, std::string_view name);
  Index expression(Line& line, bool introduces);
  int sum(Line& line, Index* index, int depth);
  int term(Line& line, Index* index, int depth);
  int factor(Line& line, Index* index, int depth);
  int node(Line& line, Index* index, Index::Node item);
  int symbol(Line& line, std::string_view name);

  std::string_view text_;
  size_t next_ = 0;
  int row_ = 0;
  void spend(Line& line, size_t bytes);

  bool introduces_ = false;
  bool in_list_ = false;  // `?` may be a size
  bool nested_ = false;   // a graph of a program: numbers that enter may be sizes of its own
  size_t spent_ = 0;
  Module module_;
  std::unordered_map<std::string, int> symbols_;
};

}  // namespace ptc::exec

#endif
