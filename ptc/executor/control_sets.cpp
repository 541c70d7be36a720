// What statements do with the tables of slots behind sets, which are lists of ints (docs/ptir.md, section 6).
#include "control_run.h"
#include "ptc_set_table.h"

namespace ptc::exec {

namespace {

using Items = std::vector<Value>;
constexpr int64_t kMostElements = (int64_t)1 << 26;

// A table read from a list; a list that is none ends the run, as going through its slots might not end.
class Table {
 public:
  explicit Table(const Items& items) {
    for (const Value& item : items) ints_.push_back(item.integer());
    require(ints_.size() >= (size_t)SetTable::size_of(SetTable::LEAST_SLOTS));
    const SetTable t = table();
    const int64_t slots = t.slots();
    require(t.size % 2 == 1 && (slots & (slots - 1)) == 0);
    int64_t taken = 0, count = 0;
    for (int64_t s = 0; s < slots; ++s) {
      require(t.position(s) >= SLOT_LEFT);
      taken += t.position(s) != SLOT_FREE;
      count += t.position(s) >= 0;
    }
    require(taken == t.taken() && count == t.count() && taken < slots);
  }
  explicit Table(int64_t slots) : ints_((size_t)SetTable::size_of(slots)) { table().create(); }

  SetTable table() { return SetTable{ints_.data(), (int64_t)ints_.size()}; }
  void resize(int64_t more_than) {
    const int64_t slots = table().slots_for(more_than);
    if (slots == SetTable::STAYS) return;
    Table wider(slots);
    wider.table().next() = table().next();
    wider.table().put_all(table());
    ints_ = std::move(wider.ints_);
  }
  void reserve(int64_t count) {
    if (count < 0 || count > kMostElements) fail("a set of %lld elements", (long long)count);
    resize(table().reserve(count));
  }
  // Another one's slots.
  void take(Table other) {
    other.table().next() = table().next();
    ints_ = std::move(other.ints_);
  }
  Items items() const { return Items(ints_.begin(), ints_.end()); }

 private:
  static void require(bool holds) {
    if (!holds) fail("a list that is no table of a set");
  }
  std::vector<int64_t> ints_;
};

Table read(ControlRun& run, const Statement& s, size_t operand = 0) { return Table(run.list(s.args[operand])); }

// The table of the first operand changes, for all who share the list.
template <class F> void change(ControlRun& run, const Statement& s, const F& body) {
  Table table = read(run, s);
  body(table);
  run.list(s.args[0]) = table.items();
}

void do_add(ControlRun& run, const Statement& s) {
  const int64_t hash = run.integer(s.args[1]);
  change(run, s, [&](Table& t) { t.resize(t.table().add(hash)); });
}
void do_remove(ControlRun& run, const Statement& s) {
  const int64_t position = run.integer(s.args[1]);
  change(run, s, [&](Table& t) {
    const int64_t count = t.table().count();
    if (position < 0 || position >= count) fail("element %lld of a set of %lld", (long long)position, (long long)count);
    t.table().remove(position);
  });
}
void do_next(ControlRun& run, const Statement& s) {
  int64_t found = 0;
  change(run, s, [&](Table& t) {
    if (!t.table().count()) fail("an element of an empty set");
    found = t.table().next_out();
  });
  run.set(s.targets[0], Value(found));
}
void do_clear(ControlRun& run, const Statement& s) {
  change(run, s, [](Table& t) { t.take(Table((int64_t)SetTable::LEAST_SLOTS)); });
}
void do_reserve(ControlRun& run, const Statement& s) {
  const int64_t count = run.integer(s.args[1]);
  change(run, s, [&](Table& t) { t.reserve(count); });
}
void do_tidy(ControlRun& run, const Statement& s) {
  change(run, s, [](Table& t) { t.resize(t.table().tidy()); });
}
void do_take(ControlRun& run, const Statement& s) {
  change(run, s, [&](Table& t) { t.take(read(run, s, 1)); });
}
void do_fits(ControlRun& run, const Statement& s) {
  Table table = read(run, s), other = read(run, s, 1);
  run.set(s.targets[0], Value(table.table().fits(other.table())));
}
void do_copy(ControlRun& run, const Statement& s) {
  Table from = read(run, s), made((int64_t)SetTable::LEAST_SLOTS);
  const int64_t count = from.table().count();
  if (count) {
    made.reserve(count);
    if (made.table().fits(from.table())) made.take(std::move(from));
    else made.table().put_all(from.table());
  }
  run.set(s.targets[0], Value::list(made.items()));
}
void do_order(ControlRun& run, const Statement& s) {
  Table from = read(run, s);
  const SetTable table = from.table();
  Items found;
  for (int64_t slot = 0; slot < table.slots(); ++slot)
    if (table.position(slot) >= 0) found.push_back(Value(table.position(slot)));
  run.set(s.targets[0], Value::list(std::move(found)));
}

const ActionRow rows[] = {
    {"add", 2, 2, 0, do_add},         {"remove", 2, 2, 0, do_remove}, {"next", 1, 1, 1, do_next},
    {"clear", 1, 1, 0, do_clear},     {"reserve", 2, 2, 0, do_reserve}, {"tidy", 1, 1, 0, do_tidy},
    {"take", 2, 2, 0, do_take},       {"fits", 2, 2, 1, do_fits},     {"copy", 1, 1, 1, do_copy},
    {"order", 1, 1, 1, do_order},
};

}  // namespace

const ActionRow* find_table_action(const std::string& name) {
  for (const ActionRow& row : rows)
    if (name == row.name) return &row;
  return nullptr;
}

}  // namespace ptc::exec
