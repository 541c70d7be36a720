// The order of sets: hashes as CPython has them, and the table of slots behind a set, in a list of ints.
//
// Owns what ptc/graph/set_tables.py says of both, which defines the layout and the meaning; tests hold the two
// together. A table is changed in place, as lists are. Knows no elements, only their hashes and positions.
#ifndef PTC_CONTROL_SET_H
#define PTC_CONTROL_SET_H

#include "ptc_control_list.h"

namespace ptc {

enum : int64_t { SLOT_FREE = -1, SLOT_LEFT = -2 };

struct SetTable {
  enum : int64_t { HEAD = 3, LEAST_SLOTS = 8, NEIGHBOURS = 9, MANY = 50000 };
  int64_t* items;
  int64_t size;

  explicit SetTable(List<int64_t> list) : items(list.items()), size(list.count()) {}
  int64_t& next() const { return items[0]; }
  int64_t& taken() const { return items[1]; }
  int64_t& count() const { return items[2]; }
  int64_t slots() const { return (size - HEAD) / 2; }
  int64_t& position(int64_t slot) const { return items[HEAD + 2 * slot]; }
  int64_t& hash(int64_t slot) const { return items[HEAD + 2 * slot + 1]; }
  int64_t room() const { return count() > MANY ? count() * 2 : count() * 4; }

  // In the last one that was left of the slots on the way to the first free one, or in that: returns whether it
  // was free.
  bool put(int64_t at, int64_t hashed) const {
    const uint64_t mask = (uint64_t)slots() - 1;
    uint64_t rest = (uint64_t)hashed, slot = rest & mask;
    int64_t found = -1;
    for (;;) {
      const uint64_t last = slot + NEIGHBOURS <= mask ? slot + NEIGHBOURS : slot;
      for (uint64_t s = slot; s <= last; ++s) {
        const int64_t state = position((int64_t)s);
        if (state >= 0) continue;
        if (state == SLOT_LEFT || found < 0) found = (int64_t)s;
        if (state == SLOT_LEFT) continue;
        const bool was_free = position(found) == SLOT_FREE;
        position(found) = at;
        hash(found) = hashed;
        return was_free;
      }
      rest >>= 5;
      slot = (slot * 5 + 1 + rest) & mask;
    }
  }
  void put_all(const SetTable& from) const {
    for (int64_t s = 0; s < from.slots(); ++s)
      if (from.position(s) >= 0) put(from.position(s), from.hash(s));
  }
};

namespace detail {
// A table without elements. `to` must be empty.
inline int table_create(Control* c, List<int64_t>* to, int64_t slots) {
  if (const int status = list_create(c, to)) return status;
  const int64_t size = SetTable::HEAD + 2 * slots;
  if (const int status = list_reserve(c, *to, size)) return status;
  to->data->count = size;
  for (int64_t i = 0; i < size; ++i) to->items()[i] = 0;
  const SetTable table(*to);
  for (int64_t s = 0; s < slots; ++s) table.position(s) = SLOT_FREE;
  return STATUS_OK;
}
// The content of `from` goes to the list that `to` refers to, for all who share it.
inline void table_become(List<int64_t> to, List<int64_t> from) {
  const ListData old = *to.data;
  to.data->items = from.data->items;
  to.data->count = from.data->count;
  to.data->capacity = from.data->capacity;
  from.data->items = old.items;
  from.data->count = old.count;
  from.data->capacity = old.capacity;
}
inline int table_resize(Control* c, List<int64_t> list, int64_t more_than) {
  const SetTable table(list);
  int64_t slots = SetTable::LEAST_SLOTS;
  while (slots <= more_than) slots *= 2;
  if (slots == SetTable::LEAST_SLOTS && slots == table.slots() && table.taken() == table.count()) return STATUS_OK;
  List<int64_t> made = {};
  const int status = table_create(c, &made, slots);
  if (!status) {
    const SetTable wider(made);
    wider.next() = table.next();
    wider.taken() = wider.count() = table.count();
    wider.put_all(table);
    table_become(list, made);
  }
  drop(c, &made);
  return status;
}
}  // namespace detail

// An element comes last; it is not there yet.
inline int list_table_add(Control* c, List<int64_t> list, int64_t hashed) {
  const SetTable table(list);
  const bool was_free = table.put(table.count(), hashed);
  ++table.count();
  if (!was_free) return STATUS_OK;
  ++table.taken();
  if (table.taken() * 5 < (table.slots() - 1) * 3) return STATUS_OK;
  return detail::table_resize(c, list, table.room());
}

// The element at a position goes, those behind it move up.
inline int list_table_remove(Control*, List<int64_t> list, int64_t position) {
  const SetTable table(list);
  for (int64_t s = 0; s < table.slots(); ++s)
    if (table.position(s) == position)
      table.position(s) = SLOT_LEFT;
    else if (table.position(s) > position)
      --table.position(s);
  --table.count();
  return STATUS_OK;
}

// The position of the element that `pop` takes; there is one.
inline int list_table_next(Control*, int64_t* to, List<int64_t> list) {
  const SetTable table(list);
  int64_t slot = table.next() & (table.slots() - 1);
  while (table.position(slot) < 0) slot = slot + 1 < table.slots() ? slot + 1 : 0;
  table.next() = slot + 1;
  *to = table.position(slot);
  return STATUS_OK;
}

inline int list_table_clear(Control* c, List<int64_t> list) {
  List<int64_t> made = {};
  const int status = detail::table_create(c, &made, SetTable::LEAST_SLOTS);
  if (!status) {
    SetTable(made).next() = SetTable(list).next();
    detail::table_become(list, made);
  }
  drop(c, &made);
  return status;
}

// Before `count` elements of a set or dictionary are added.
inline int list_table_reserve(Control* c, List<int64_t> list, int64_t count) {
  const SetTable table(list);
  if ((table.taken() + count) * 5 < (table.slots() - 1) * 3) return STATUS_OK;
  return detail::table_resize(c, list, (table.count() + count) * 2);
}

// After elements of something else were taken out.
inline int list_table_tidy(Control* c, List<int64_t> list) {
  const SetTable table(list);
  if (table.taken() - table.count() <= (table.slots() - 1) / 4) return STATUS_OK;
  return detail::table_resize(c, list, table.room());
}

// Whether a set, after `reserve`, takes another one's slots as they are.
inline int list_table_fits(Control*, bool* to, List<int64_t> list, List<int64_t> from) {
  const SetTable table(list), other(from);
  *to = !table.taken() && table.size == other.size && other.taken() == other.count();
  return STATUS_OK;
}

inline int list_table_take(Control* c, List<int64_t> list, List<int64_t> from) {
  List<int64_t> made = {};
  const int status = list_copy(c, &made, from);
  if (!status) {
    SetTable(made).next() = SetTable(list).next();
    detail::table_become(list, made);
  }
  drop(c, &made);
  return status;
}

// The table of a copy of the set.
inline int list_table_copy(Control* c, List<int64_t>* to, List<int64_t> from) {
  const SetTable table(from);
  List<int64_t> made = {};
  int status = detail::table_create(c, &made, SetTable::LEAST_SLOTS);
  bool fits = false;
  if (!status && table.count()) status = list_table_reserve(c, made, table.count());
  if (!status) status = list_table_fits(c, &fits, made, from);
  if (!status && fits) status = list_table_take(c, made, from);
  if (!status && !fits && table.count()) {
    const SetTable copy(made);
    copy.taken() = copy.count() = table.count();
    copy.put_all(table);
  }
  if (!status) move(c, to, &made);
  drop(c, &made);
  return status;
}

// The positions of the elements in the order of iteration.
inline int list_table_order(Control* c, List<int64_t>* to, List<int64_t> from) {
  const SetTable table(from);
  List<int64_t> made = {};
  int status = list_create(c, &made);
  if (!status) status = list_reserve(c, made, table.count());
  for (int64_t s = 0; s < table.slots() && !status; ++s)
    if (table.position(s) >= 0) status = list_append(c, made, table.position(s));
  if (!status) move(c, to, &made);
  drop(c, &made);
  return status;
}

}  // namespace ptc

#endif
