// What generated kernels share: the run's state, index arithmetic, scratch memory, shifts.
//
// Owns Run, the state of one call of an entry that kernels see. Knows no tensors and no sessions
// (ptc_host.h) and no vectors beyond shifts.
#ifndef PTC_KERNEL_H
#define PTC_KERNEL_H

#include "ptc_threads.h"
#include "ptc_vec.h"

namespace ptc {

// Memory aligned for any vector, at least one byte; null when there is none. libc through builtins:
// headers cost compile time, and declarations of one's own clash with some of them.
inline void* allocate_bytes(int64_t bytes) {
  char* block = (char*)__builtin_malloc((__SIZE_TYPE__)(bytes > 0 ? bytes : 1) + 128);
  if (!block) return nullptr;
  char* aligned = (char*)(((uintptr_t)block + 128) / 64 * 64);
  ((void**)aligned)[-1] = block;
  return aligned;
}
inline void free_bytes(void* memory) {
  if (memory) __builtin_free(((void**)memory)[-1]);
}

// Values of ptc_status in ptc_abi.h that kernels report.
enum { STATUS_OK = 0, STATUS_MEMORY = 6, STATUS_RUNTIME = 9, STATUS_CANCELLED = 10 };

// What a kernel keeps between runs: a list of blocks by key, freed with the session. The data follow.
struct alignas(64) Kept {
  Kept* next;
  int64_t key;
};

// One call of an entry. `message` is a string literal. `scratch` grows on demand and is kept between
// runs; one kernel uses it at a time.
struct Run {
  Pool* pool = nullptr;
  const char* message = "";
  char* scratch = nullptr;
  int64_t scratch_bytes = 0;
  volatile int cancelled = 0;
  Kept* first_kept = nullptr;
  int kept_count = 0;

  // Called from several threads: any one message is right.
  int fail(const char* text) {
    __atomic_store_n(&message, text, __ATOMIC_RELAXED);
    return STATUS_RUNTIME;
  }
  // At least `bytes`, 64-byte aligned, contents undefined; null when memory is short.
  void* reserve(int64_t bytes) {
    if (bytes <= scratch_bytes && scratch) return scratch;
    free_bytes(scratch);
    scratch = (char*)allocate_bytes(bytes);
    scratch_bytes = scratch ? bytes : 0;
    return scratch;
  }
  // What `keep` gave for a key; null if nothing, or nothing any more.
  void* kept(int64_t key) const {
    for (Kept* at = first_kept; at; at = at->next)
      if (at->key == key) return at + 1;
    return nullptr;
  }
  // A block to fill now and to find again. Only so many are kept: sizes may differ at each call.
  void* keep(int64_t key, int64_t bytes) {
    if (kept_count >= 64) forget_all();
    Kept* const block = (Kept*)allocate_bytes(bytes + (int64_t)sizeof(Kept));
    if (!block) return nullptr;
    block->next = first_kept;
    block->key = key;
    first_kept = block;
    ++kept_count;
    return block + 1;
  }
  // Frees the newest block, which could not be filled.
  void forget_newest() {
    Kept* const block = first_kept;
    first_kept = block->next;
    --kept_count;
    free_bytes(block);
  }
  void forget_all() {
    while (first_kept) forget_newest();
  }
};

// Row buffers whose size is known at run time only; freed at the end of the block.
template <class T> struct Scratch {
  T* data;
  explicit Scratch(int64_t count) : data((T*)allocate_bytes(count * (int64_t)sizeof(T))) {}
  ~Scratch() { free_bytes(data); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

// A complex number of its parts: arithmetic would make NaN of infinite ones.
PTC_INLINE __complex__ float make_complex(float real, float imag) {
  __complex__ float z;
  __real__ z = real;
  __imag__ z = imag;
  return z;
}
PTC_INLINE __complex__ double make_complex(double real, double imag) {
  __complex__ double z;
  __real__ z = real;
  __imag__ z = imag;
  return z;
}

// Python's // and % for a positive divisor.
PTC_INLINE int64_t index_floordiv(int64_t a, int64_t b) { return a / b - (a % b < 0); }
PTC_INLINE int64_t index_mod(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r < 0 ? r + b : r;
}
PTC_INLINE int64_t index_min(int64_t a, int64_t b) { return a < b ? a : b; }
PTC_INLINE int64_t index_max(int64_t a, int64_t b) { return a > b ? a : b; }

// Shifts defined for every count: out of range gives 0, or the sign for a right shift, as NumPy.
template <class T> PTC_INLINE T shift_left(T x, T n) {
  return (uint64_t)n < sizeof(T) * 8 ? (T)((uint64_t)x << n) : (T)0;
}
template <class T> PTC_INLINE T shift_right(T x, T n) {
  return (uint64_t)n < sizeof(T) * 8 ? (T)(x >> n) : (T)(x < 0 ? -1 : 0);
}
template <class T, int W> PTC_INLINE vec<T, W> shift_left(vec<T, W> x, vec<T, W> n) {
  return map_lanes([](T a, T b) { return shift_left(a, b); }, x, n);
}
template <class T, int W> PTC_INLINE vec<T, W> shift_right(vec<T, W> x, vec<T, W> n) {
  return map_lanes([](T a, T b) { return shift_right(a, b); }, x, n);
}

// Whether `x` replaces `best` in argmin and argmax: NaN wins, equals keep the first.
template <class T> PTC_INLINE bool beats_max(T x, T best) { return x > best || (x != x && best == best); }
template <class T> PTC_INLINE bool beats_min(T x, T best) { return x < best || (x != x && best == best); }
template <class T, int W> PTC_INLINE mask<W> beats_max(vec<T, W> x, vec<T, W> best) {
  return (x > best) | ((x != x) & (best == best));
}
template <class T, int W> PTC_INLINE mask<W> beats_min(vec<T, W> x, vec<T, W> best) {
  return (x < best) | ((x != x) & (best == best));
}

// Split [0, n) over the pool; body(begin, end) gives a status, the first bad one is the result.
// `align`: blocks begin at multiples of it. `work` is the cost of one step in rough additions: ranges
// too small to pay for waking a thread (about 10 us) run on the caller.
template <class F> inline int parallel(Run* run, int64_t n, int64_t align, double work, const F& body) {
  const double grain = 40000.0 / (work > 1 ? work : 1);
  const int64_t blocks = (n + align - 1) / align;
  int64_t least = grain > (double)n ? n : (int64_t)grain + 1;
  least = (least + align - 1) / align;
  int status = 0;
  parallel_for(run->pool, blocks, least, [&](int64_t begin, int64_t end, int) {
    const int64_t last = end * align;
    const int result = body(begin * align, last < n ? last : n);
    if (result) __atomic_store_n(&status, result, __ATOMIC_RELAXED);
  });
  return status;
}

}  // namespace ptc

#endif
