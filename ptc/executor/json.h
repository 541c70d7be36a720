// Reading JSON piece by piece, without a tree: memory and depth are bounded by what the caller keeps.
//
//   JsonReader json(text, length, "the manifest");
//   json.begin_object();
//   for (std::string key; json.next_key(&key);) { if (key == "schema") n = json.integer(); else json.skip(); }
//   json.end();
#ifndef PTC_EXECUTOR_JSON_H
#define PTC_EXECUTOR_JSON_H

#include <string>
#include <string_view>
#include <vector>

#include "error.h"

namespace ptc::exec {

class JsonReader {
 public:
  JsonReader(const char* text, size_t length, const char* what) : text_(text, length), what_(what) {}

  void begin_object();
  bool next_key(std::string* key);   // false at the object's end
  void begin_array();
  bool next_item();                  // false at the array's end
  std::string string();
  int64_t integer();
  void skip();                       // any value
  bool at_string();
  void end();                        // nothing may follow

 private:
  [[noreturn]] void fail(const char* text) const;
  void space();
  char peek();
  void expect(char c);
  void literal();
  void open(char c);

  static constexpr int kDepth = 64;
  std::string_view text_;
  const char* what_;
  size_t at_ = 0;
  bool first_[kDepth] = {};          // whether no element was read at this depth
  int depth_ = 0;
};

}  // namespace ptc::exec

#endif
