// What an operator takes and gives, and what a variable of the program holds: a number, a text, a tensor, or several values.
#ifndef PTC_EXECUTOR_VALUE_H
#define PTC_EXECUTOR_VALUE_H

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensor.h"

namespace ptc::exec {

// A torch enumeration as an argument: layout("strided"), memory_format("channels_last"), device("cpu").
struct Tag {
  std::string kind, text;
};

class Value;
// Tuples and lists alike. Shared: copying a Value that is a list gives the same list, as Python's assignment does.
using ListRef = std::shared_ptr<std::vector<Value>>;

class Value {
 public:
  // In the order of the alternatives below.
  enum class Kind { None, Bool, Int, Float, Complex, Text, DType, Tag, Tensor, List };

  Value() = default;
  Value(bool v) : content_(v) {}
  Value(int64_t v) : content_(v) {}
  Value(int v) : content_((int64_t)v) {}
  Value(double v) : content_(v) {}
  Value(c128 v) : content_(v) {}
  Value(exec::DType v) : content_(v) {}
  Value(exec::Tensor v) : content_(std::move(v)) {}
  Value(exec::Tag v) : content_(std::make_shared<const exec::Tag>(std::move(v))) {}
  Value(std::string v) : content_(std::make_shared<const std::string>(std::move(v))) {}
  Value(const char* v) : Value(std::string(v)) {}
  Value(ListRef v) : content_(std::move(v)) {}
  Value(std::vector<Value> v) : content_(std::make_shared<std::vector<Value>>(std::move(v))) {}
  static Value list(std::vector<Value> values) { return Value(std::move(values)); }

  Kind kind() const { return (Kind)content_.index(); }
  bool is_none() const { return kind() == Kind::None; }
  bool is_bool() const { return kind() == Kind::Bool; }
  bool is_int() const { return kind() == Kind::Int; }
  bool is_float() const { return kind() == Kind::Float; }
  bool is_complex() const { return kind() == Kind::Complex; }
  bool is_number() const { return kind() >= Kind::Bool && kind() <= Kind::Complex; }
  bool is_text() const { return kind() == Kind::Text; }
  bool is_tensor() const { return kind() == Kind::Tensor; }
  bool is_list() const { return kind() == Kind::List; }

  // Exact alternatives; calling one of another kind throws Error Runtime ("expected a tensor, got an int").
  const exec::Tensor& tensor() const { return get<exec::Tensor>("a tensor"); }
  exec::Tensor& tensor() { return const_cast<exec::Tensor&>(get<exec::Tensor>("a tensor")); }
  bool boolean() const { return get<bool>("a bool"); }
  exec::DType dtype() const { return get<exec::DType>("a dtype"); }
  const std::string& text() const { return *get<std::shared_ptr<const std::string>>("a string"); }
  const exec::Tag& tag() const { return *get<std::shared_ptr<const exec::Tag>>("a tag"); }
  std::vector<Value>& list() const { return *get<ListRef>("a list"); }
  const ListRef& list_ref() const { return get<ListRef>("a list"); }
  // With Python's widening: a bool is an int, an int a float, a float a complex; a tensor of one element gives it.
  int64_t integer() const;
  double number() const;
  c128 complex_number() const;
  bool truth() const;  // Python's bool() of numbers, None, texts, lists; of a tensor with one element, whether it is not 0

  const char* kind_name() const;  // "an int", for messages

 private:
  template <class T> const T& get(const char* expected) const {
    const T* found = std::get_if<T>(&content_);
    if (!found) fail("expected %s, got %s", expected, kind_name());
    return *found;
  }
  std::variant<std::monostate, bool, int64_t, double, c128, std::shared_ptr<const std::string>, exec::DType,
               std::shared_ptr<const exec::Tag>, exec::Tensor, ListRef>
      content_;
};

}  // namespace ptc::exec

#endif
