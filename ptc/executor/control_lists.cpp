// What statements do with lists.
#include "control_run.h"

namespace ptc::exec {

namespace {

using Items = std::vector<Value>;

int64_t place_in(ControlRun& run, const ControlOperand& operand, size_t length) {
  const int64_t index = run.integer(operand);
  if (index < 0 || index >= (int64_t)length) fail("index %lld of a list of %zu", (long long)index, length);
  return index;
}

void do_new(ControlRun& run, const Statement& s) {
  for (const ControlOperand& operand : s.args)
    if (run.has_none(operand)) return run.forget(s.targets[0]);
  Items items;
  for (const ControlOperand& operand : s.args) items.push_back(run.value(operand));
  run.set(s.targets[0], Value::list(std::move(items)));
}
void do_copy(ControlRun& run, const Statement& s) { run.set(s.targets[0], Value::list(run.list(s.args[0]))); }
void do_concat(ControlRun& run, const Statement& s) {
  Items items = run.list(s.args[0]);
  const Items& more = run.list(s.args[1]);
  items.insert(items.end(), more.begin(), more.end());
  run.set(s.targets[0], Value::list(std::move(items)));
}
void do_slice(ControlRun& run, const Statement& s) {
  const Items& items = run.list(s.args[0]);
  const int64_t length = (int64_t)items.size();
  const auto bound = [&](int64_t at) { return at < 0 ? (at + length < 0 ? 0 : at + length) : at > length ? length : at; };
  const int64_t start = bound(run.integer(s.args[1])), stop = bound(run.integer(s.args[2]));
  run.set(s.targets[0], Value::list(start < stop ? Items(items.begin() + start, items.begin() + stop) : Items()));
}
void do_append(ControlRun& run, const Statement& s) {
  Value item = run.value(s.args[1]);
  run.list(s.args[0]).push_back(std::move(item));
}
void do_extend(ControlRun& run, const Statement& s) {
  const Items more = run.list(s.args[1]);
  Items& items = run.list(s.args[0]);
  items.insert(items.end(), more.begin(), more.end());
}
void do_insert(ControlRun& run, const Statement& s) {
  Items& items = run.list(s.args[0]);
  const int64_t at = place_in(run, s.args[1], items.size() + 1);
  items.insert(items.begin() + at, run.value(s.args[2]));
}
void do_set(ControlRun& run, const Statement& s) {
  Items& items = run.list(s.args[0]);
  items[(size_t)place_in(run, s.args[1], items.size())] = run.value(s.args[2]);
}
void do_clear(ControlRun& run, const Statement& s) { run.list(s.args[0]).clear(); }
void do_reverse(ControlRun& run, const Statement& s) {
  Items& items = run.list(s.args[0]);
  for (size_t i = 0, j = items.size(); i + 1 < j; ++i) std::swap(items[i], items[--j]);
}
void do_get(ControlRun& run, const Statement& s) {
  Items& items = run.list(s.args[0]);
  run.set(s.targets[0], items[(size_t)place_in(run, s.args[1], items.size())]);
}
void do_pop(ControlRun& run, const Statement& s) {
  Items& items = run.list(s.args[0]);
  const int64_t at = place_in(run, s.args[1], items.size());
  Value item = std::move(items[(size_t)at]);
  items.erase(items.begin() + at);
  run.set(s.targets[0], std::move(item));
}
void do_length(ControlRun& run, const Statement& s) { run.set(s.targets[0], Value((int64_t)run.list(s.args[0]).size())); }
void do_same(ControlRun& run, const Statement& s) {
  run.set(s.targets[0], Value(&run.list(s.args[0]) == &run.list(s.args[1])));
}
void do_lengths(ControlRun& run, const Statement& s) {
  Items found;
  for (const Value& inner : run.list(s.args[0])) found.push_back(Value((int64_t)inner.list().size()));
  run.set(s.targets[0], Value::list(std::move(found)));
}
void do_flat(ControlRun& run, const Statement& s) {
  Items found;
  for (const Value& inner : run.list(s.args[0])) found.insert(found.end(), inner.list().begin(), inner.list().end());
  run.set(s.targets[0], Value::list(std::move(found)));
}
void do_pick(ControlRun& run, const Statement& s) {
  const Items& items = run.list(s.args[0]);
  Items found;
  for (const Value& place : run.list(s.args[1])) {
    const int64_t at = place.integer();
    if (at < 0 || at >= (int64_t)items.size()) fail("index %lld of a list of %zu", (long long)at, items.size());
    found.push_back(items[(size_t)at]);
  }
  run.set(s.targets[0], Value::list(std::move(found)));
}
void do_filled(ControlRun& run, const Statement& s) {
  run.set(s.targets[0], Value::list(Items(run.list(s.args[0]).size(), run.value(s.args[1]))));
}

// --- keys

bool is_key(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::Bool: return a.boolean() == b.boolean();
    case Value::Kind::Int: return a.integer() == b.integer();
    case Value::Kind::Float: return a.number() == b.number();
    case Value::Kind::Text: return a.text() == b.text();
    case Value::Kind::List: break;
    default: fail("%s as a key", a.kind_name());
  }
  const Items &one = a.list(), &other = b.list();
  if (&one == &other) return true;
  bool equal = one.size() == other.size();
  for (size_t i = 0; equal && i < one.size(); ++i) equal = is_key(one[i], other[i]);
  return equal;
}
bool lacks_itself(const Value& value) {
  if (value.is_float()) return value.number() != value.number();
  bool found = false;
  if (value.is_list())
    for (const Value& item : value.list()) found = found || lacks_itself(item);
  return found;
}

// The first row at which each of the lists has the element beside it.
void do_find(ControlRun& run, const Statement& s) {
  if (s.args.empty() || s.args.size() % 2) fail("find with %zu operands", s.args.size());
  std::vector<const Items*> columns;
  Items wanted;
  for (size_t i = 0; i < s.args.size(); i += 2) {
    columns.push_back(&run.list(s.args[i]));
    wanted.push_back(run.value(s.args[i + 1]));
    if (lacks_itself(wanted.back())) fail("a NaN is used as a key");
    if (columns.back()->size() < columns[0]->size()) fail("lists of keys differ in length");
  }
  for (size_t row = 0; row < columns[0]->size(); ++row) {
    bool hit = true;
    for (size_t k = 0; hit && k < columns.size(); ++k) hit = is_key((*columns[k])[row], wanted[k]);
    if (hit) return run.set(s.targets[0], Value((int64_t)row));
  }
  run.set(s.targets[0], Value((int64_t)-1));
}

// --- tensors

void join(ControlRun& run, const Statement& s, const char* name) {
  std::vector<Value> args = {run.value(s.args[0]), Value(run.integer(s.args[1]))};
  ptc::Run* const scratch = run.scratch();
  Call call{name, args, nullptr, scratch->pool, scratch, nullptr, 0, false};
  Value made = find_operator(name)(call);
  args.clear();
  const bool apart = made.tensor().only_owner() && made.tensor().is_contiguous();
  run.set(s.targets[0], apart ? std::move(made) : Value(clone(made.tensor())));
}
void do_stack(ControlRun& run, const Statement& s) { join(run, s, "aten::stack"); }
void do_cat(ControlRun& run, const Statement& s) { join(run, s, "aten::cat"); }

const ActionRow rows[] = {
    {"new", 0, -1, 1, do_new},         {"copy", 1, 1, 1, do_copy},       {"concat", 2, 2, 1, do_concat},
    {"slice", 3, 3, 1, do_slice},      {"append", 2, 2, 0, do_append},   {"extend", 2, 2, 0, do_extend},
    {"insert", 3, 3, 0, do_insert},    {"set", 3, 3, 0, do_set},         {"clear", 1, 1, 0, do_clear},
    {"reverse", 1, 1, 0, do_reverse},  {"get", 2, 2, 1, do_get},         {"pop", 2, 2, 1, do_pop},
    {"length", 1, 1, 1, do_length},    {"same", 2, 2, 1, do_same},       {"lengths", 1, 1, 1, do_lengths},
    {"flat", 1, 1, 1, do_flat},        {"pick", 2, 2, 1, do_pick},       {"filled", 2, 2, 1, do_filled},
    {"find", 2, -1, 1, do_find},       {"stack", 2, 2, 1, do_stack},     {"cat", 2, 2, 1, do_cat},
};

}  // namespace

const ActionRow* find_list_action(const std::string& name) {
  for (const ActionRow& row : rows)
    if (name == row.name) return &row;
  return nullptr;
}

}  // namespace ptc::exec
