// One line of the text, token by token from the left. Bounded: nothing in a line can make it read beyond, or recurse deep.
#ifndef PTC_EXECUTOR_LEXER_H
#define PTC_EXECUTOR_LEXER_H

#include <string>
#include <string_view>

#include "error.h"

namespace ptc::exec {

enum class TokenKind { End, Text, Value, Float, Int, Name, Mark };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;  // as written
  size_t end = 0;         // where the line goes on
};

class Line {
 public:
  Line() = default;
  Line(std::string_view text, int row);

  int row() const { return row_; }
  // Error File with the number and the text of the line.
  [[noreturn]] void fail(const char* text, ...) const __attribute__((format(printf, 2, 3)));

  const Token& peek();
  void skip() { at_ = peek().end; known_ = false; }  // the token that `peek` gave
  size_t position() const { return at_; }
  void seek(size_t position) { at_ = position; known_ = false; }

  bool accept(TokenKind kind, std::string_view text);
  bool accept_mark(std::string_view text) { return accept(TokenKind::Mark, text); }
  bool accept_word(std::string_view text) { return accept(TokenKind::Name, text); }
  std::string_view take(TokenKind kind, const char* what);
  void mark(const char* text);
  void word(const char* text);
  std::string name() { return std::string(take(TokenKind::Name, "a name")); }
  std::string text();        // a string literal, decoded to UTF-8
  int64_t integer();         // with a sign
  int64_t below(int64_t limit, const char* what);
  int value();               // %3
  double number();           // of a Float token
  void end();

 private:
  Token read() const;

  std::string_view text_;
  int row_ = 0;
  size_t at_ = 0;
  bool known_ = false;
  Token next_;
};

// The content of a JSON string literal with its quotes; false where an escape is malformed. Lone surrogates are kept as
// three bytes, so that they print again.
bool decode_json_string(std::string_view literal, std::string* result);

}  // namespace ptc::exec

#endif
