#include "value.h"

#include "operators.h"

namespace ptc::exec {

const char* Value::kind_name() const {
  static const char* const names[] = {"None",  "a bool",  "an int", "a float",  "a complex number",
                                      "a string", "a dtype", "a tag",  "a tensor", "a list"};
  return names[content_.index()];
}

int64_t Value::integer() const {
  switch (kind()) {
    case Kind::Bool: return std::get<bool>(content_);
    case Kind::Int: return std::get<int64_t>(content_);
    case Kind::Tensor: return tensor().item<int64_t>();
    default: fail("expected an int, got %s", kind_name());
  }
}

double Value::number() const {
  switch (kind()) {
    case Kind::Float: return std::get<double>(content_);
    case Kind::Tensor: return tensor().item<double>();
    case Kind::Bool:
    case Kind::Int: return (double)integer();
    default: fail("expected a number, got %s", kind_name());
  }
}

c128 Value::complex_number() const {
  if (kind() == Kind::Complex) return std::get<c128>(content_);
  if (kind() == Kind::Tensor) return tensor().item<c128>();
  return number();
}

bool Value::truth() const {
  switch (kind()) {
    case Kind::None: return false;
    case Kind::Bool: return std::get<bool>(content_);
    case Kind::Int: return std::get<int64_t>(content_) != 0;
    case Kind::Float: return std::get<double>(content_) != 0;
    case Kind::Complex: return std::get<c128>(content_) != 0.0;
    case Kind::Text: return !text().empty();
    case Kind::Tensor: return tensor().item<bool>();
    case Kind::List: return !list().empty();
    default: fail("expected a bool, got %s", kind_name());
  }
}

std::vector<Tensor> Call::tensors(int i) const {
  std::vector<Tensor> result;
  for (const Value& item : (*this)[i].list()) result.push_back(item.tensor());
  return result;
}

Dims Call::dims(int i) const {
  const Value& value = (*this)[i];
  if (!value.is_list()) return Dims{value.integer()};
  Dims result;
  for (const Value& item : value.list()) result.push_back(item.integer());
  return result;
}

Dims Call::dims(int i, int count) const {
  Dims result = dims(i);
  if (result.size() == 1 && count != 1) return Dims(count, result[0]);
  if (result.size() != count) fail("argument %d has %d numbers, expected %d", i, result.size(), count);
  return result;
}

}  // namespace ptc::exec
