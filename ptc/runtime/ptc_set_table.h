// The table of slots behind a set, as CPython has it: which slot an element gets, which one goes, which order they show.
//
// Owns what ptc/graph/set_tables.py says of tables whose size does not change, and when one has to; works on ints that
// someone else holds. Knows no elements, only their hashes and positions, and nothing of lists (ptc_control_set.h).
#ifndef PTC_SET_TABLE_H
#define PTC_SET_TABLE_H

#include <stdint.h>

namespace ptc {

enum : int64_t { SLOT_FREE = -1, SLOT_LEFT = -2 };

struct SetTable {
  enum : int64_t { HEAD = 3, LEAST_SLOTS = 8, NEIGHBOURS = 9, MANY = 50000, STAYS = -1 };
  int64_t* items;
  int64_t size;

  static int64_t size_of(int64_t slots) { return HEAD + 2 * slots; }
  int64_t& next() const { return items[0]; }
  int64_t& taken() const { return items[1]; }
  int64_t& count() const { return items[2]; }
  int64_t slots() const { return (size - HEAD) / 2; }
  int64_t& position(int64_t slot) const { return items[HEAD + 2 * slot]; }
  int64_t& hash(int64_t slot) const { return items[HEAD + 2 * slot + 1]; }
  int64_t room() const { return count() > MANY ? count() * 2 : count() * 4; }

  // Without elements.
  void create() const {
    for (int64_t i = 0; i < size; ++i) items[i] = 0;
    for (int64_t s = 0; s < slots(); ++s) position(s) = SLOT_FREE;
  }

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
  // The elements of another one, into a table without any.
  void put_all(const SetTable& from) const {
    taken() = count() = from.count();
    for (int64_t s = 0; s < from.slots(); ++s)
      if (from.position(s) >= 0) put(from.position(s), from.hash(s));
  }

  // --- what these give is what `slots_for` takes: more than so many slots are wanted, or STAYS

  int64_t add(int64_t hashed) const {
    const bool was_free = put(count(), hashed);
    ++count();
    if (!was_free) return STAYS;
    ++taken();
    return taken() * 5 < (slots() - 1) * 3 ? (int64_t)STAYS : room();
  }
  int64_t reserve(int64_t more) const {
    return (taken() + more) * 5 < (slots() - 1) * 3 ? (int64_t)STAYS : (count() + more) * 2;
  }
  int64_t tidy() const { return taken() - count() <= (slots() - 1) / 4 ? (int64_t)STAYS : room(); }
  // The slots of the table that takes this one's place, or STAYS.
  int64_t slots_for(int64_t more_than) const {
    if (more_than == STAYS) return STAYS;
    int64_t wanted = LEAST_SLOTS;
    while (wanted <= more_than) wanted *= 2;
    return wanted == LEAST_SLOTS && wanted == slots() && taken() == count() ? (int64_t)STAYS : wanted;
  }

  void remove(int64_t gone) const {
    for (int64_t s = 0; s < slots(); ++s)
      if (position(s) == gone)
        position(s) = SLOT_LEFT;
      else if (position(s) > gone)
        --position(s);
    --count();
  }
  // The position of the element that `pop` takes; there is one.
  int64_t next_out() const {
    int64_t slot = next() & (slots() - 1);
    while (position(slot) < 0) slot = slot + 1 < slots() ? slot + 1 : 0;
    next() = slot + 1;
    return position(slot);
  }
  bool fits(const SetTable& other) const { return !taken() && size == other.size && other.taken() == other.count(); }
};

}  // namespace ptc

#endif
