#include "lexer.h"

#include <charconv>

#include "module.h"

namespace ptc::exec {

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_name_start(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }
static bool is_name(char c) { return is_name_start(c) || is_digit(c) || c == '.'; }
static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

Line::Line(std::string_view text, int row) : text_(text), row_(row) {
  while (!text_.empty() && is_space(text_.back())) text_.remove_suffix(1);
  if (text.size() > kMaxLine) fail("longer than %d MiB", (int)(kMaxLine >> 20));
  for (char c : text_)
    if ((unsigned char)c >= 0x80) {
      text_ = std::string_view();
      fail("a byte of %d, which is no ASCII", (unsigned char)c);
    }
}

void Line::fail(const char* text, ...) const {
  va_list list;
  va_start(list, text);
  std::string message = "line " + std::to_string(row_) + ": " + format_list(text, list);
  va_end(list);
  size_t begin = 0;
  while (begin < text_.size() && is_space(text_[begin])) ++begin;
  std::string shown(text_.substr(begin, 117));
  if (text_.size() - begin > 120) shown += "...";
  throw Error(Status::File, message + "\n  " + shown);
}

// The end of `-?(digits.digits?(e[+-]digits)? | digits e[+-]?digits | inf)` or `nan` at `at`; `at` where there is none.
static size_t float_end(std::string_view s, size_t at) {
  const auto word = [&](size_t from, std::string_view w) {
    return s.substr(from, w.size()) == w && (from + w.size() == s.size() || !is_name(s[from + w.size()]) || s[from + w.size()] == '.');
  };
  if (word(at, "nan")) return at + 3;
  size_t i = at;
  if (i < s.size() && s[i] == '-') ++i;
  if (word(i, "inf")) return i + 3;
  size_t digits = i;
  while (i < s.size() && is_digit(s[i])) ++i;
  if (i == digits) return at;
  bool marked = false;
  if (i < s.size() && s[i] == '.') {
    marked = true;
    ++i;
    while (i < s.size() && is_digit(s[i])) ++i;
  }
  if (i < s.size() && s[i] == 'e') {
    size_t e = i + 1;
    if (e < s.size() && (s[e] == '+' || s[e] == '-')) ++e;
    const size_t first = e;
    while (e < s.size() && is_digit(s[e])) ++e;
    if (e > first) return e;
  }
  return marked ? i : at;
}

Token Line::read() const {
  size_t at = at_;
  const std::string_view s = text_;
  while (at < s.size() && is_space(s[at])) ++at;
  Token token;
  token.end = at;
  if (at >= s.size()) return token;
  const auto make = [&](TokenKind kind, size_t end) {
    token.kind = kind;
    token.text = s.substr(at, end - at);
    token.end = end;
    return token;
  };
  const char c = s[at];
  size_t i = at + 1;
  if (c == '"') {
    for (; i < s.size() && s[i] != '"' && (unsigned char)s[i] >= 0x20; ++i)
      if (s[i] == '\\' && i + 1 < s.size()) ++i;
    if (i < s.size() && s[i] == '"') return make(TokenKind::Text, i + 1);
    fail("a string without end");
  }
  if (c == '%' && i < s.size() && is_digit(s[i])) {
    while (i < s.size() && is_digit(s[i]) && i - at < 10) ++i;
    return make(TokenKind::Value, i);
  }
  const size_t end = float_end(s, at);
  if (end > at) return make(TokenKind::Float, end);
  if (is_digit(c)) {
    while (i < s.size() && is_digit(s[i])) ++i;
    return make(TokenKind::Int, i);
  }
  if (is_name_start(c)) {
    while (i < s.size() && is_name(s[i])) ++i;
    if (i + 2 < s.size() && s[i] == ':' && s[i + 1] == ':' && is_name(s[i + 2])) {
      i += 2;
      while (i < s.size() && is_name(s[i])) ++i;
    }
    return make(TokenKind::Name, i);
  }
  if (c == '/' && i < s.size() && s[i] == '/') return make(TokenKind::Mark, at + 2);
  if (std::string_view("][(){},:=#*%+-$?!>").find(c) != std::string_view::npos) return make(TokenKind::Mark, at + 1);
  fail("unexpected `%s`", std::string(s.substr(at, 10)).c_str());
}

const Token& Line::peek() {
  if (!known_) {
    next_ = read();
    known_ = true;
  }
  return next_;
}

bool Line::accept(TokenKind kind, std::string_view text) {
  if (peek().kind != kind || next_.text != text) return false;
  skip();
  return true;
}

std::string_view Line::take(TokenKind kind, const char* what) {
  const Token token = peek();
  if (token.kind != kind) {
    const std::string found = token.kind == TokenKind::End ? "the end of the line" : std::string(token.text.substr(0, 40));
    fail("expected %s, found %s", what, found.c_str());
  }
  skip();
  return token.text;
}

void Line::mark(const char* text) {
  if (!accept_mark(text)) {
    const std::string found = peek().kind == TokenKind::End ? "the end of the line" : std::string(next_.text.substr(0, 40));
    fail("expected `%s`, found %s", text, found.c_str());
  }
}

void Line::word(const char* text) {
  if (take(TokenKind::Name, text) != text) fail("expected `%s`", text);
}

std::string Line::text() {
  std::string result;
  if (!decode_json_string(take(TokenKind::Text, "a string"), &result)) fail("malformed string");
  return result;
}

int64_t Line::integer() {
  const bool negative = accept_mark("-");
  const std::string_view digits = take(TokenKind::Int, "a number");
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value > (uint64_t)INT64_MAX + (negative ? 1 : 0))
    fail("a number beyond 64 bits");
  return negative ? (int64_t)(0 - value) : (int64_t)value;
}

int64_t Line::below(int64_t limit, const char* what) {
  const int64_t number = integer();
  if (number < 0 || number >= limit) fail("there is no %s %lld", what, (long long)number);
  return number;
}

int Line::value() {
  const std::string_view token = take(TokenKind::Value, "a value");
  int number = 0;
  for (char c : token.substr(1)) number = number * 10 + (c - '0');  // at most nine digits
  return number;
}

double Line::number() {
  std::string_view token = take(TokenKind::Float, "a number");
  double value = 0;
  const bool negative = token[0] == '-';
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error == std::errc::result_out_of_range) {
    // As Python: beyond the largest is infinite, below the smallest zero.
    const size_t e = token.find('e');
    const bool tiny = e != std::string_view::npos && token[e + 1] == '-';
    value = tiny ? 0.0 : __builtin_inf();
    if (negative) value = -value;
  } else if (error != std::errc() || end != token.data() + token.size()) {
    fail("malformed number");
  }
  return value;
}

void Line::end() {
  if (peek().kind != TokenKind::End) fail("unexpected %s", std::string(next_.text.substr(0, 40)).c_str());
}

static void append_utf8(uint32_t code, std::string* to) {
  if (code < 0x80) {
    *to += (char)code;
  } else if (code < 0x800) {
    *to += (char)(0xC0 | code >> 6);
    *to += (char)(0x80 | (code & 63));
  } else if (code < 0x10000) {
    *to += (char)(0xE0 | code >> 12);
    *to += (char)(0x80 | (code >> 6 & 63));
    *to += (char)(0x80 | (code & 63));
  } else {
    *to += (char)(0xF0 | code >> 18);
    *to += (char)(0x80 | (code >> 12 & 63));
    *to += (char)(0x80 | (code >> 6 & 63));
    *to += (char)(0x80 | (code & 63));
  }
}

static bool hex4(std::string_view s, size_t at, uint32_t* code) {
  *code = 0;
  for (size_t i = at; i < at + 4; ++i) {
    if (i >= s.size()) return false;
    const char c = s[i];
    const int digit = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return false;
    *code = *code * 16 + (uint32_t)digit;
  }
  return true;
}

bool decode_json_string(std::string_view literal, std::string* result) {
  result->clear();
  if (literal.size() < 2 || literal.front() != '"' || literal.back() != '"') return false;
  const std::string_view s = literal.substr(1, literal.size() - 2);
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\') {
      *result += s[i];
      continue;
    }
    if (++i >= s.size()) return false;
    switch (s[i]) {
      case '"': case '\\': case '/': *result += s[i]; break;
      case 'n': *result += '\n'; break;
      case 't': *result += '\t'; break;
      case 'r': *result += '\r'; break;
      case 'b': *result += '\b'; break;
      case 'f': *result += '\f'; break;
      case 'u': {
        uint32_t code, low;
        if (!hex4(s, i + 1, &code)) return false;
        i += 4;
        if (code >= 0xD800 && code < 0xDC00 && i + 2 < s.size() && s[i + 1] == '\\' && s[i + 2] == 'u' &&
            hex4(s, i + 3, &low) && low >= 0xDC00 && low < 0xE000) {
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
          i += 6;
        }
        append_utf8(code, result);
        break;
      }
      default: return false;
    }
  }
  return true;
}

}  // namespace ptc::exec
