// Hashes of Python's numbers, and of tuples of them, as CPython's sets and dictionaries order them.
//
// Owns py_hash, py_hash_part and py_hash_end, operations as those of ptc_pynum.h.
#ifndef PTC_PYHASH_H
#define PTC_PYHASH_H

#include "ptc_pynum.h"

namespace ptc {

// Modulo the prime 2^61 - 1, in which a power of two turns the bits around. -1 says that there is
// none.
template <class R, class A> inline R py_hash([[maybe_unused]] Numbers& n, A a) {
  constexpr uint64_t PRIME = ((uint64_t)1 << 61) - 1;
  uint64_t r;
  bool negative;
  if constexpr (detail::is_float_number<A>) {
    if (detail::is_nan(a)) {
      n.raise(nullptr, "the hash of a NaN is that of the object");
      return 0;
    }
    negative = a < 0;
    if (detail::is_inf(a)) return detail::number_as<R>((int64_t)(negative ? -314159 : 314159));
    uint64_t bits;
    __builtin_memcpy(&bits, &a, sizeof bits);
    const int exponent = (int)(bits >> 52 & 0x7ff);
    const uint64_t digits = bits & (((uint64_t)1 << 52) - 1);
    r = exponent ? digits | (uint64_t)1 << 52 : digits;
    const int turn = (((exponent ? exponent : 1) - 1075) % 61 + 61) % 61;
    r = ((r << turn) & PRIME) | (turn ? r >> (61 - turn) : 0);
  } else {
    negative = (int64_t)a < 0;
    r = detail::magnitude((int64_t)a) % PRIME;
  }
  const int64_t signed_hash = negative ? -(int64_t)r : (int64_t)r;
  return detail::number_as<R>(signed_hash == -1 ? (int64_t)-2 : signed_hash);
}
// See ptc/graph/set_tables.py.
template <class R, class A, class B> inline R py_hash_part([[maybe_unused]] Numbers& n, A a, B b) {
  static_assert(!detail::either_float<A, B>, "a hash is an int");
  uint64_t mixed = (uint64_t)(int64_t)a + (uint64_t)(int64_t)b * 14029467366897019727u;
  mixed = mixed << 31 | mixed >> 33;
  return detail::number_as<R>((int64_t)(mixed * 11400714785074694791u));
}
template <class R, class A, class B> inline R py_hash_end([[maybe_unused]] Numbers& n, A a, B b) {
  static_assert(!detail::either_float<A, B>, "a hash is an int");
  const int64_t found =
      (int64_t)((uint64_t)(int64_t)a + ((uint64_t)(int64_t)b ^ 2870177450012600261u ^ 3527539u));
  return detail::number_as<R>(found == -1 ? (int64_t)1546275796 : found);
}

}  // namespace ptc

#endif
