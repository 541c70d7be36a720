// Keys of dictionaries and sets: where a row of parallel lists is.
//
// Owns Column and `find`. Short lists are searched from the front. A longer one gets a table of hashes once searches
// have cost as much as it does; appending keeps the table, any other change of a list drops it.
#ifndef PTC_CONTROL_KEYS_H
#define PTC_CONTROL_KEYS_H

#include <string.h>

#include "ptc_control_list.h"

namespace ptc {

// One of the lists of a `find`, with what is looked for in it.
template <class T> struct Column {
  List<T> list;
  T wanted;
};

enum : int64_t {
  SHORT_KEYS = 16,       // fewer are searched from the front
  SEARCHES_OF_KEYS = 3,  // of all keys from the front, before they get a table
};

// Belongs to the first list of a `find`. Behind it lie the stamps of the lists that it was made of, then the slots:
// the position of a row and one, or 0.
struct KeyTable {
  int64_t rows;      // the first so many are in it
  int64_t searched;  // elements that were looked at without it
  int64_t columns, slots;

  int64_t* stamps() { return (int64_t*)(this + 1); }
  int64_t* slot() { return stamps() + columns; }
};

namespace detail {
inline bool is_key(int64_t a, int64_t b) { return a == b; }
inline bool is_key(double a, double b) { return a == b; }
inline bool is_key(bool a, bool b) { return a == b; }
inline bool is_key(const String& a, const String& b) {
  return a.data == b.data ||
         (a.data->bytes == b.data->bytes && !memcmp(a.content(), b.content(), (size_t)a.data->bytes));
}
template <class T> inline bool is_key(const List<T>& a, const List<T>& b) {
  if (a.data == b.data) return true;
  if (a.count() != b.count()) return false;
  for (int64_t i = 0; i < a.count(); ++i)
    if (!is_key(a.items()[i], b.items()[i])) return false;
  return true;
}
inline bool lacks_itself(int64_t) { return false; }
inline bool lacks_itself(double value) { return value != value; }
inline bool lacks_itself(bool) { return false; }
inline bool lacks_itself(const String&) { return false; }
template <class T> inline bool lacks_itself(const List<T>& list) {
  for (int64_t i = 0; i < list.count(); ++i)
    if (lacks_itself(list.items()[i])) return true;
  return false;
}

// --- searched from the front

// The first place at or behind `start`, by one list.
template <class T> inline int64_t key_from(const Column<T>& column, int64_t start) {
  const int64_t count = column.list.count();
  const T* const items = column.list.items();
  for (int64_t i = start; i < count; ++i)
    if (is_key(items[i], column.wanted)) return i;
  return -1;
}
template <class... T> inline bool is_wanted(int64_t row, const Column<T>&... columns) {
  return (is_key(columns.list.items()[row], columns.wanted) && ...);
}
template <class T, class... Rest> inline int64_t search(const Column<T>& first, const Column<Rest>&... rest) {
  int64_t at = key_from(first, 0);
  while (at >= 0 && !is_wanted(at, first, rest...)) at = key_from(first, at + 1);
  return at;
}

// --- by a table

// Golden ratio times 2^64: a product's upper bits depend on all bits.
enum : uint64_t { HASH_FACTOR = 0x9E3779B97F4A7C15u };

inline uint64_t hash_more(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * HASH_FACTOR;
  return hash ^ hash >> 32;
}
inline uint64_t hash_key(uint64_t hash, int64_t value) { return hash_more(hash, (uint64_t)value); }
inline uint64_t hash_key(uint64_t hash, bool value) { return hash_more(hash, value); }
inline uint64_t hash_key(uint64_t hash, double value) {
  uint64_t word = 0;
  if (value != 0) memcpy(&word, &value, sizeof word);  // 0.0 and -0.0 are one key
  return hash_more(hash, word);
}
inline uint64_t hash_key(uint64_t hash, const String& value) {
  const int64_t bytes = value.data->bytes;
  uint64_t word;
  int64_t at = 0;
  for (; bytes - at >= 8; at += 8) {
    memcpy(&word, value.content() + at, 8);
    hash = hash_more(hash, word);
  }
  word = 0;
  memcpy(&word, value.content() + at, (size_t)(bytes - at));
  return hash_more(hash_more(hash, word), (uint64_t)bytes);
}
template <class T> inline uint64_t hash_key(uint64_t hash, const List<T>& list) {
  for (int64_t i = 0; i < list.count(); ++i) hash = hash_key(hash, list.items()[i]);
  return hash_more(hash, (uint64_t)list.count());
}

// The slot of the first row for which `fits`, or the free one where it would be.
template <class Fits> inline int64_t* slot_of(KeyTable* table, uint64_t hash, Fits fits) {
  int64_t* const slots = table->slot();
  uint64_t at = hash * HASH_FACTOR >> (__builtin_clzll((uint64_t)table->slots) + 1);
  while (slots[at] && !fits(slots[at] - 1)) at = (at + 1) & (uint64_t)(table->slots - 1);
  return &slots[at];
}

inline KeyTable* new_table(int64_t columns, int64_t slots) {
  const int64_t bytes = (int64_t)sizeof(KeyTable) + (columns + slots) * (int64_t)sizeof(int64_t);
  KeyTable* const table = (KeyTable*)allocate_bytes(bytes);
  if (!table) return nullptr;
  memset((void*)table, 0, (size_t)bytes);
  table->columns = columns;
  table->slots = slots;
  return table;
}

// The table of a first list, which holds rows only if its lists are as they were. Null when memory is short.
inline KeyTable* current_table(Control* c, ListData* const* lists, int64_t columns) {
  KeyTable* table = lists[0]->table;
  if (!table || table->columns != columns) {
    free_bytes(table);
    table = lists[0]->table = new_table(columns, 0);
    if (!table) return nullptr;
  }
  for (int64_t i = 0; i < columns; ++i) {
    if (!lists[i]->stamp) lists[i]->stamp = ++c->memory->stamps;
    if (table->stamps()[i] == lists[i]->stamp) continue;
    table->stamps()[i] = lists[i]->stamp;
    table->rows = table->searched = 0;
  }
  return table;
}

// Room for `count` rows and as many again. Null when memory is short.
inline KeyTable* wide_table(ListData* owner, int64_t count) {
  KeyTable* const old = owner->table;
  if (count * 2 <= old->slots) {
    if (!old->rows) memset((void*)old->slot(), 0, (size_t)old->slots * sizeof(int64_t));
    return old;
  }
  KeyTable* const table = new_table(old->columns, (int64_t)1 << (65 - __builtin_clzll((uint64_t)count)));
  if (!table) return nullptr;
  memcpy(table->stamps(), old->stamps(), (size_t)old->columns * sizeof(int64_t));
  free_bytes(old);
  owner->table = table;
  return table;
}

template <class... T> inline void fill_table(KeyTable* table, int64_t count, const Column<T>&... columns) {
  for (int64_t& row = table->rows; row < count; ++row) {
    uint64_t hash = 0;
    ((hash = hash_key(hash, columns.list.items()[row])), ...);
    const auto equal = [&](int64_t other) {
      return (is_key(columns.list.items()[other], columns.list.items()[row]) && ...);
    };
    int64_t* const slot = slot_of(table, hash, equal);
    if (!*slot) *slot = row + 1;
  }
}

template <class... T>
inline int find_in_table(Control* c, int64_t* to, ListData* owner, int64_t count, const Column<T>&... columns) {
  ListData* const lists[] = {columns.list.data...};
  KeyTable* table = current_table(c, lists, (int64_t)sizeof...(T));
  if (table && !table->rows && table->searched < SEARCHES_OF_KEYS * count) {
    *to = search(columns...);
    table->searched += *to < 0 ? count : *to + 1;
    return STATUS_OK;
  }
  if (table) table = wide_table(owner, count);
  if (!table) return c->fail(STATUS_MEMORY, "no memory for a table of keys");
  fill_table(table, count, columns...);
  uint64_t hash = 0;
  ((hash = hash_key(hash, columns.wanted)), ...);
  *to = *slot_of(table, hash, [&](int64_t row) { return is_wanted(row, columns...); }) - 1;
  return STATUS_OK;
}
}  // namespace detail

// `to` = the first index at which each of the lists has what is looked for in it; -1 if there is none.
template <class T, class... Rest>
inline int list_find(Control* c, int64_t* to, const Column<T>& first, const Column<Rest>&... rest) {
  if (detail::lacks_itself(first.wanted) || (detail::lacks_itself(rest.wanted) || ...))
    return c->fail(STATUS_RUNTIME, "a NaN is used as a key, which Python knows by its identity");
  const int64_t count = first.list.count();
  if (count >= SHORT_KEYS) return detail::find_in_table(c, to, first.list.data, count, first, rest...);
  *to = detail::search(first, rest...);
  return STATUS_OK;
}

}  // namespace ptc

#endif
