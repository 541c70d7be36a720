// Random numbers from a state that lies in memory: what `torch.Generator` on the CPU draws.
//
// Owns the Mersenne twister and what is made of its words: uniform, normal, exponential numbers,
// integers, permutations. A state is 628 words: 624 of the twister, the position of the next one
// (624: all are used up), whether a second normal number waits, and its bits. Every routine reads
// one state and writes the state after it. Knows nothing of tensors.
#ifndef PTC_RANDOM_H
#define PTC_RANDOM_H

#include "ptc_kernel.h"

namespace ptc {

constexpr int kRandomWords = 628;  // of a state

namespace detail {

constexpr int kTwisterWords = 624;
constexpr int kTwisterShift = 397;
constexpr i64 kNormalBlock = 16;
// From this range on, a draw has 64 bits.
constexpr uint64_t kWideRange = (uint64_t)1 << 28;
constexpr double kTwoPi = 6.283185307179586476925286766559;

PTC_INLINE float unit_log(float x) { return __builtin_logf(x); }
PTC_INLINE double unit_log(double x) { return __builtin_log(x); }
PTC_INLINE float unit_root(float x) { return __builtin_sqrtf(x); }
PTC_INLINE double unit_root(double x) { return __builtin_sqrt(x); }
PTC_INLINE float unit_cos(float x) { return __builtin_cosf(x); }
PTC_INLINE double unit_cos(double x) { return __builtin_cos(x); }
PTC_INLINE float unit_sin(float x) { return __builtin_sinf(x); }
PTC_INLINE double unit_sin(double x) { return __builtin_sin(x); }

// x * scale + shift in one rounding, on every processor.
PTC_INLINE float scaled(float x, float scale, float shift) { return __builtin_fmaf(x, scale, shift); }
PTC_INLINE double scaled(double x, double scale, double shift) {
  return __builtin_fma(x, scale, shift);
}

// The state of one generator, in the memory of the state that is written.
class Twister {
 public:
  Twister(const int32_t* from, int32_t* to) : words_((uint32_t*)to) {
    __builtin_memcpy(to, from, (kTwisterWords + 4) * sizeof(int32_t));
    to[kTwisterWords + 1] = to[kTwisterWords + 1] != 0;
  }
  uint32_t word() {
    uint32_t& place = words_[kTwisterWords];
    if (place >= kTwisterWords) {
      renew();
      place = 0;
    }
    uint32_t y = words_[place++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  uint64_t long_word() {
    const uint64_t high = word();
    return high << 32 | word();
  }
  // Uniform in [0, 1).
  void unit(float* value) { *value = (float)(word() & 0xffffffu) * 0x1p-24f; }
  void unit(double* value) {
    *value = (double)(long_word() & (((uint64_t)1 << 53) - 1)) * 0x1p-53;
  }
  // One of a pair; the other waits for the next call.
  double normal() {
    uint32_t* const waits = words_ + kTwisterWords + 1;
    double value;
    if (*waits) {
      __builtin_memcpy(&value, waits + 1, sizeof value);
      __builtin_memset(waits, 0, 3 * sizeof *waits);
      return value;
    }
    double angle, size;
    unit(&angle);
    unit(&size);
    const double radius = unit_root(-2 * __builtin_log1p(-size));
    value = radius * unit_sin(kTwoPi * angle);
    *waits = 1;
    __builtin_memcpy(waits + 1, &value, sizeof value);
    return radius * unit_cos(kTwoPi * angle);
  }

 private:
  uint32_t* words_;

  static uint32_t twisted(uint32_t upper, uint32_t lower) {
    const uint32_t mixed = (upper & 0x80000000u) | (lower & 0x7fffffffu);
    return mixed >> 1 ^ (lower & 1 ? 0x9908b0dfu : 0);
  }
  void renew() {
    constexpr int n = kTwisterWords, m = kTwisterShift;
    for (int i = 0; i < n; ++i) {
      const int next = i + 1 < n ? i + 1 : 0, far = i + m < n ? i + m : i + m - n;
      words_[i] = words_[far] ^ twisted(words_[i], words_[next]);
    }
  }
};

// 16 uniform numbers as normal ones.
template <class T> inline void pair_up(T* values) {
  for (int i = 0; i < kNormalBlock / 2; ++i) {
    const T radius = unit_root((T)-2 * unit_log((T)1 - values[i]));
    const T angle = (T)kTwoPi * values[i + 8];
    values[i] = radius * unit_cos(angle);
    values[i + 8] = radius * unit_sin(angle);
  }
}

}  // namespace detail

// The state of a generator with a seed, of which the lower 32 bits count.
inline void random_seeded(i64, const int64_t* seed, int32_t* state) {
  uint32_t* words = (uint32_t*)state;
  words[0] = (uint32_t)*seed;
  for (int i = 1; i < detail::kTwisterWords; ++i)
    words[i] = 1812433253u * (words[i - 1] ^ words[i - 1] >> 30) + (uint32_t)i;
  words[detail::kTwisterWords] = detail::kTwisterWords;
  for (int i = 1; i < 4; ++i) words[detail::kTwisterWords + i] = 0;
}
// n numbers, uniform in [low, high).
template <class T>
inline void random_uniform(i64 n, const int32_t* from, const double* low, const double* high, T* values,
                           int32_t* to) {
  detail::Twister twister(from, to);
  const T first = (T)*low, span = (T)*high - first;
  for (i64 i = 0; i < n; ++i) {
    twister.unit(values + i);
    values[i] = detail::scaled(values[i], span, first);
  }
}
// n normal numbers: below 16 pair by pair; else all uniform numbers first, and the last 16 anew
// where n is no multiple of 16.
template <class T>
inline void random_normal(i64 n, const int32_t* from, const double* mean, const double* std, T* values,
                          int32_t* to) {
  detail::Twister twister(from, to);
  if (n < detail::kNormalBlock) {
    const double scale = *std, shift = *mean;
    for (i64 i = 0; i < n; ++i) values[i] = (T)(twister.normal() * scale + shift);
    return;
  }
  for (i64 i = 0; i < n; ++i) twister.unit(values + i);
  i64 done = 0;
  for (; done + detail::kNormalBlock <= n; done += detail::kNormalBlock) detail::pair_up(values + done);
  if (done < n) {
    T* const last = values + n - detail::kNormalBlock;
    for (i64 i = 0; i < detail::kNormalBlock; ++i) twister.unit(last + i);
    detail::pair_up(last);
  }
  const T scale = (T)*std, shift = (T)*mean;
  for (i64 i = 0; i < n; ++i) values[i] = detail::scaled(values[i], scale, shift);
}
template <class T>
inline void random_exponential(i64 n, const int32_t* from, const double* rate, T* values, int32_t* to) {
  detail::Twister twister(from, to);
  const double scale = -1.0 / *rate;
  for (i64 i = 0; i < n; ++i) {
    double unit;
    twister.unit(&unit);
    values[i] = (T)(scale * __builtin_log1p(-unit));
  }
}
// n integers in [low, high).
inline void random_integers(i64 n, const int32_t* from, const int64_t* low, const int64_t* high,
                            int64_t* values, int32_t* to) {
  detail::Twister twister(from, to);
  const uint64_t first = (uint64_t)*low, span = (uint64_t)*high - first;
  const bool wide = span >= detail::kWideRange;
  for (i64 i = 0; i < n; ++i) {
    const uint64_t word = wide ? twister.long_word() : twister.word();
    values[i] = (int64_t)(first + word % span);
  }
}
// 0 .. n - 1 in an order of chance (Fisher and Yates).
inline void random_permutation(i64 n, const int32_t* from, int64_t* values, int32_t* to) {
  detail::Twister twister(from, to);
  for (i64 i = 0; i < n; ++i) values[i] = i;
  for (i64 i = 0; i + 1 < n; ++i) {
    const i64 other = i + (i64)(twister.word() % (uint64_t)(n - i));
    const int64_t value = values[i];
    values[i] = values[other];
    values[other] = value;
  }
}

}  // namespace ptc

#endif
