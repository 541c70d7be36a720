// The order of sets: the table of slots behind a set (ptc_set_table.h), in a list of ints of a control program.
//
// Owns what ptc/graph/set_tables.py says of tables; tests hold the two together. A table is changed in place, as lists
// are.
#ifndef PTC_CONTROL_SET_H
#define PTC_CONTROL_SET_H

#include "ptc_control_list.h"
#include "ptc_set_table.h"

namespace ptc {

inline SetTable table_of(List<int64_t> list) { return SetTable{list.items(), list.count()}; }

namespace detail {
// A table without elements. `to` must be empty.
inline int table_create(Control* c, List<int64_t>* to, int64_t slots) {
  if (const int status = list_create(c, to)) return status;
  const int64_t size = SetTable::size_of(slots);
  if (const int status = list_reserve(c, *to, size)) return status;
  to->data->count = size;
  table_of(*to).create();
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
  const SetTable table = table_of(list);
  const int64_t slots = table.slots_for(more_than);
  if (slots == SetTable::STAYS) return STATUS_OK;
  List<int64_t> made = {};
  const int status = table_create(c, &made, slots);
  if (!status) {
    const SetTable wider = table_of(made);
    wider.next() = table.next();
    wider.put_all(table);
    table_become(list, made);
  }
  drop(c, &made);
  return status;
}
}  // namespace detail

// An element comes last; it is not there yet.
inline int list_table_add(Control* c, List<int64_t> list, int64_t hashed) {
  return detail::table_resize(c, list, table_of(list).add(hashed));
}

// The element at a position goes, those behind it move up.
inline int list_table_remove(Control*, List<int64_t> list, int64_t position) {
  table_of(list).remove(position);
  return STATUS_OK;
}

// The position of the element that `pop` takes; there is one.
inline int list_table_next(Control*, int64_t* to, List<int64_t> list) {
  *to = table_of(list).next_out();
  return STATUS_OK;
}

inline int list_table_clear(Control* c, List<int64_t> list) {
  List<int64_t> made = {};
  const int status = detail::table_create(c, &made, SetTable::LEAST_SLOTS);
  if (!status) {
    table_of(made).next() = table_of(list).next();
    detail::table_become(list, made);
  }
  drop(c, &made);
  return status;
}

// Before `count` elements of a set or dictionary are added.
inline int list_table_reserve(Control* c, List<int64_t> list, int64_t count) {
  return detail::table_resize(c, list, table_of(list).reserve(count));
}

// After elements of something else were taken out.
inline int list_table_tidy(Control* c, List<int64_t> list) {
  return detail::table_resize(c, list, table_of(list).tidy());
}

// Whether a set, after `reserve`, takes another one's slots as they are.
inline int list_table_fits(Control*, bool* to, List<int64_t> list, List<int64_t> from) {
  *to = table_of(list).fits(table_of(from));
  return STATUS_OK;
}

inline int list_table_take(Control* c, List<int64_t> list, List<int64_t> from) {
  List<int64_t> made = {};
  const int status = list_copy(c, &made, from);
  if (!status) {
    table_of(made).next() = table_of(list).next();
    detail::table_become(list, made);
  }
  drop(c, &made);
  return status;
}

// The table of a copy of the set.
inline int list_table_copy(Control* c, List<int64_t>* to, List<int64_t> from) {
  const SetTable table = table_of(from);
  List<int64_t> made = {};
  int status = detail::table_create(c, &made, SetTable::LEAST_SLOTS);
  bool fits = false;
  if (!status && table.count()) status = list_table_reserve(c, made, table.count());
  if (!status) status = list_table_fits(c, &fits, made, from);
  if (!status && fits) status = list_table_take(c, made, from);
  if (!status && !fits && table.count()) table_of(made).put_all(table);
  if (!status) move(c, to, &made);
  drop(c, &made);
  return status;
}

// The positions of the elements in the order of iteration.
inline int list_table_order(Control* c, List<int64_t>* to, List<int64_t> from) {
  const SetTable table = table_of(from);
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
