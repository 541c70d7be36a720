#include "control_texts.h"

#include <unordered_map>

#include "boundary.h"
#include "control_characters.h"
#include "ptc_tensor_text.h"

namespace ptc::exec {

namespace {

using Args = std::vector<Value>;

constexpr int64_t kMostText = (int64_t)1 << 30;

Span span(const Value& value) {
  const std::string& text = value.text();
  return span_of(text.data(), (int64_t)text.size());
}

Value taken(const ptc::Text& text) {
  if (text.failed || text.length > kMostText) fail_with(Status::Memory, "no memory for a text");
  return Value(text.length ? std::string(text.data, (size_t)text.length) : std::string());
}

template <class F> Value made(const F& body) {
  ptc::Text text;
  body(text);
  return taken(text);
}

Value piece(const char* data, int64_t bytes) { return Value(std::string(data, (size_t)bytes)); }

Value text_choose(const Args& args) {
  Args items;
  for (const Value& place : args[0].list()) {
    const int64_t number = place.integer();
    if (number < 0 || number >= (int64_t)args.size() - 1) fail("text %lld of %zu", (long long)number, args.size() - 1);
    items.push_back(Value(args[(size_t)number + 1].text()));
  }
  return Value::list(std::move(items));
}

Value text_split(const Args& args) {
  const Span s = span(args[0]);
  Args items;
  if (args.size() < 2) {
    for (int64_t at = 0; at < s.bytes;) {
      const int64_t start = at;
      while (at < s.bytes && !is_space(character_at(s.data + at))) at += character_size(s.data[at]);
      if (at > start) items.push_back(piece(s.data + start, at - start));
      if (at < s.bytes) at += character_size(s.data[at]);
    }
    return Value::list(std::move(items));
  }
  const Span separator = span(args[1]);
  if (!separator.bytes) fail("an empty separator");
  int64_t at = 0;
  for (int64_t hit = find_bytes(s, separator, 0); hit >= 0; hit = find_bytes(s, separator, at)) {
    items.push_back(piece(s.data + at, hit - at));
    at = hit + separator.bytes;
  }
  items.push_back(piece(s.data + at, s.bytes - at));
  return Value::list(std::move(items));
}

Value text_characters(const Args& args) {
  const Span s = span(args[0]);
  Args items;
  for (int64_t at = 0; at < s.bytes; at += character_size(s.data[at])) items.push_back(piece(s.data + at, character_size(s.data[at])));
  return Value::list(std::move(items));
}

Value text_join(const Args& args) {
  const std::string& separator = args[0].text();
  std::string result;
  bool first = true;
  for (const Value& item : args[1].list()) {
    if (!first) result += separator;
    first = false;
    result += item.text();
    if ((int64_t)result.size() > kMostText) fail_with(Status::Memory, "no memory for a text");
  }
  return Value(std::move(result));
}

Value text_int(const Args& args) {
  int64_t result = 0;
  const int status = read_int(span(args[0]), characters_zeros, &result);
  if (status == 2) fail("integer overflow: an int of more than 64 bits is read from a text");
  if (status) fail("a text that is no int");
  return Value(result);
}

Value text_float(const Args& args) {
  double result = 0;
  if (!read_float(span(args[0]), characters_zeros, &result)) fail("a text that is no float");
  return Value(result);
}

Value text_is_int(const Args& args) {
  int64_t result = 0;
  return Value(read_int(span(args[0]), characters_zeros, &result) != 1);
}
Value text_is_float(const Args& args) {
  double result = 0;
  return Value(read_float(span(args[0]), characters_zeros, &result));
}

Value text_slice(const Args& args) {
  const Span s = span(args[0]);
  const int64_t start = args[1].integer(), stop = args[2].integer();
  if (start < 0 || stop < start || stop > s.count)
    fail("characters %lld to %lld of %lld", (long long)start, (long long)stop, (long long)s.count);
  return made([&](ptc::Text& text) { string_slice(text, s, start, stop); });
}
Value text_item(const Args& args) {
  const Span s = span(args[0]);
  const int64_t index = args[1].integer();
  if (index < 0 || index >= s.count) fail("character %lld of %lld", (long long)index, (long long)s.count);
  return made([&](ptc::Text& text) { string_item(text, s, index); });
}
Value text_ord(const Args& args) {
  const Span s = span(args[0]);
  if (s.count != 1) fail("the number of %lld characters", (long long)s.count);
  return Value(string_ord(s));
}
Value text_chr(const Args& args) {
  const int64_t number = args[0].integer();
  if (number < 0 || number > 0x10FFFF) fail("there is no character %lld", (long long)number);
  return made([&](ptc::Text& text) { string_chr(text, number); });
}
Value text_padded(const Args& args, void (*pad)(ptc::Text&, const Span&, int64_t, const Span&)) {
  const Span filling = span(args[2]);
  if (filling.count != 1) fail("a filling of %lld characters", (long long)filling.count);
  return made([&](ptc::Text& text) { pad(text, span(args[0]), args[1].integer(), filling); });
}
Value text_replace(const Args& args) {
  const int64_t most = args.size() > 3 ? args[3].integer() : -1;
  return made([&](ptc::Text& text) { string_replace(text, span(args[0]), span(args[1]), span(args[2]), most); });
}

#define PTC_TEST(NAME, CALL) {NAME, 2, 2, [](const Args& a) { return Value(CALL(span(a[0]), span(a[1]))); }},
#define PTC_SET(NAME) {#NAME, 1, 1, [](const Args& a) { return Value(all_in(span(a[0]), characters_##NAME)); }},
#define PTC_STRIP(NAME)                                                                                  \
  {#NAME, 1, 2, [](const Args& a) {                                                                      \
     return made([&](ptc::Text& text) {                                                                  \
       if (a.size() > 1) string_##NAME(text, span(a[0]), span(a[1]));                                    \
       else string_##NAME(text, span(a[0]));                                                             \
     });                                                                                                 \
   }},
#define PTC_PART(NAME)                                                                                   \
  {#NAME, 2, 2, [](const Args& a) { return made([&](ptc::Text& text) { string_##NAME(text, span(a[0]), span(a[1])); }); }},
#define PTC_PAD(NAME) {#NAME, 3, 3, [](const Args& a) { return text_padded(a, string_##NAME); }},
const TextRow rows[] = {
    {"length", 1, 1, [](const Args& a) { return Value(span(a[0]).count); }},
    PTC_TEST("eq", string_eq) PTC_TEST("lt", string_lt) PTC_TEST("le", string_le) PTC_TEST("contains", string_contains)
    PTC_TEST("startswith", string_startswith) PTC_TEST("endswith", string_endswith) PTC_TEST("find", string_find)
    PTC_TEST("rfind", string_rfind) PTC_TEST("count", string_count)
    PTC_SET(isdigit) PTC_SET(isdecimal) PTC_SET(isnumeric) PTC_SET(isalpha) PTC_SET(isalnum)
    {"isspace", 1, 1, [](const Args& a) { return Value(string_isspace(span(a[0]))); }},
    {"is_int", 1, 1, text_is_int},
    {"is_float", 1, 1, text_is_float},
    {"int", 1, 1, text_int},
    {"float", 1, 1, text_float},
    {"chr", 1, 1, text_chr},
    {"ord", 1, 1, text_ord},
    {"item", 2, 2, text_item},
    {"slice", 3, 3, text_slice},
    {"reversed", 1, 1, [](const Args& a) { return made([&](ptc::Text& text) { string_reversed(text, span(a[0])); }); }},
    {"repeat", 2, 2, [](const Args& a) { return made([&](ptc::Text& text) { string_repeat(text, span(a[0]), a[1].integer()); }); }},
    {"upper", 1, 1, [](const Args& a) { return made([&](ptc::Text& text) { string_upper(text, span(a[0]), characters_upper); }); }},
    {"lower", 1, 1, [](const Args& a) {
       return made([&](ptc::Text& text) { string_lower(text, span(a[0]), characters_lower, characters_cased, characters_ignored); });
     }},
    PTC_STRIP(strip) PTC_STRIP(lstrip) PTC_STRIP(rstrip) PTC_PART(removeprefix) PTC_PART(removesuffix)
    {"replace", 3, 4, text_replace},
    {"zfill", 2, 2, [](const Args& a) { return made([&](ptc::Text& text) { string_zfill(text, span(a[0]), a[1].integer()); }); }},
    PTC_PAD(ljust) PTC_PAD(rjust) PTC_PAD(center)
    {"join", 2, 2, text_join},
    {"split", 1, 2, text_split},
    {"characters", 1, 1, text_characters},
    {"choose", 1, -1, text_choose},
};

// --- formatting -----------------------------------------------------------------------------------------------------

void add_repr(ptc::Text& text, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::Bool: return text_str(text, value.boolean());
    case Value::Kind::Int: return text_str(text, value.integer());
    case Value::Kind::Float: return text_str(text, value.number());
    case Value::Kind::Text: return text_repr(text, span(value), characters_unprintable);
    case Value::Kind::Tensor: return text_tensor(text, tensor_view(value.tensor()), PrintOptions());
    case Value::Kind::List: break;
    default: fail("a text of %s", value.kind_name());
  }
  text.add('[');
  bool first = true;
  for (const Value& item : value.list()) {
    if (!first) text.add(", ");
    first = false;
    add_repr(text, item);
  }
  text.add(']');
}

bool add_format(ptc::Text& text, const Value& value, const char* spec) {
  switch (value.kind()) {
    case Value::Kind::Bool: return text_format(text, value.boolean(), spec);
    case Value::Kind::Int: return text_format(text, value.integer(), spec);
    case Value::Kind::Float: return text_format(text, value.number(), spec);
    case Value::Kind::Text: return text_format_string(text, value.text().data(), (int64_t)value.text().size(), spec);
    case Value::Kind::Tensor: return text_tensor_format(text, tensor_view(value.tensor()), spec, PrintOptions());
    default: add_repr(text, value); return !*spec;
  }
}

}  // namespace

TensorView tensor_view(const Tensor& tensor) {
  const DLDataType type = dlpack_type(tensor.dtype);
  return TensorView{tensor.raw(), tensor.sizes.data(), tensor.strides.data(), tensor.rank(), type.code, type.bits};
}

void add_text(ptc::Text& text, const Value& value, ControlOperand::Conversion conversion, const std::string& spec) {
  using Conversion = ControlOperand::Conversion;
  if (conversion == Conversion::Format) {
    if (!add_format(text, value, spec.c_str())) fail("%s has no format \"%s\"", value.kind_name(), spec.c_str());
  } else if (conversion == Conversion::Str && value.is_text()) {
    text.add(value.text().data(), (int64_t)value.text().size());
  } else {
    add_repr(text, value);
  }
  if (text.failed || text.length > kMostText) fail_with(Status::Memory, "no memory for a text");
}

const TextRow* find_text(const std::string& name) {
  static const std::unordered_map<std::string, const TextRow*> known = [] {
    std::unordered_map<std::string, const TextRow*> result;
    for (const TextRow& row : rows) result.emplace(row.name, &row);
    return result;
  }();
  const auto found = known.find(name);
  return found == known.end() ? nullptr : found->second;
}

}  // namespace ptc::exec
