#include "json.h"

#include <charconv>

#include "lexer.h"

namespace ptc::exec {

void JsonReader::fail(const char* text) const { bad_file("%s, byte %zu: %s", what_, at_, text); }

void JsonReader::space() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
}

char JsonReader::peek() {
  space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

void JsonReader::expect(char c) {
  if (peek() != c || at_ >= text_.size()) fail(format("expected `%c`", c).c_str());
  ++at_;
}

void JsonReader::open(char c) {
  expect(c);
  if (depth_ == kDepth) fail("nested too deep");
  first_[depth_++] = true;
}

void JsonReader::begin_object() { open('{'); }
void JsonReader::begin_array() { open('['); }

bool JsonReader::next_key(std::string* key) {
  if (peek() == '}') {
    ++at_;
    --depth_;
    return false;
  }
  if (!first_[depth_ - 1]) expect(',');
  first_[depth_ - 1] = false;
  *key = string();
  expect(':');
  return true;
}

bool JsonReader::next_item() {
  if (peek() == ']') {
    ++at_;
    --depth_;
    return false;
  }
  if (!first_[depth_ - 1]) expect(',');
  first_[depth_ - 1] = false;
  return true;
}

bool JsonReader::at_string() { return peek() == '"'; }

std::string JsonReader::string() {
  if (peek() != '"') fail("expected a string");
  size_t end = at_ + 1;
  for (; end < text_.size() && text_[end] != '"' && (unsigned char)text_[end] >= 0x20; ++end)
    if (text_[end] == '\\') ++end;
  if (end >= text_.size() || text_[end] != '"') fail("a string without end");
  std::string result;
  if (!decode_json_string(text_.substr(at_, end + 1 - at_), &result)) fail("a malformed string");
  at_ = end + 1;
  return result;
}

int64_t JsonReader::integer() {
  space();
  int64_t value = 0;
  const char* const begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc()) fail("expected an integer");
  at_ += (size_t)(end - begin);
  if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E')) fail("expected an integer");
  return value;
}

void JsonReader::literal() {
  const size_t start = at_;
  while (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+' || text_[at_] == '.' ||
                                (text_[at_] >= '0' && text_[at_] <= '9') || (text_[at_] >= 'a' && text_[at_] <= 'z') ||
                                (text_[at_] >= 'A' && text_[at_] <= 'Z')))
    ++at_;
  if (at_ == start) fail("expected a value");
}

void JsonReader::skip() {
  switch (peek()) {
    case '"': string(); return;
    case '{': {
      begin_object();
      for (std::string key; next_key(&key);) skip();
      return;
    }
    case '[':
      begin_array();
      while (next_item()) skip();
      return;
    default: literal();
  }
}

void JsonReader::end() {
  space();
  if (at_ != text_.size()) fail("text after the end");
}

}  // namespace ptc::exec
