// The thread pool of a library: a range is split over a fixed number of threads.
//
// Owns Pool and parallel_for. Exactly one translation unit of a library defines
// PTC_THREADS_IMPLEMENTATION before including this header; the others see declarations only.
// Threads start at the first parallel_for that needs them. A pool of one thread never starts any, and
// a null pool runs everything on the caller.
#ifndef PTC_THREADS_H
#define PTC_THREADS_H

#include <stdint.h>

namespace ptc {

struct Pool;

// Work on [begin, end) as worker number `worker` (0 <= worker < pool_size).
typedef void (*RangeFn)(void* context, int64_t begin, int64_t end, int worker);

#define PTC_HIDDEN __attribute__((visibility("hidden")))

// threads <= 0: one per online CPU. Null if memory is short (null works as a pool of one).
PTC_HIDDEN Pool* pool_open(int threads);
PTC_HIDDEN void pool_close(Pool* pool);
PTC_HIDDEN int pool_threads(const Pool* pool);
// Split [0, n) in blocks of at least `grain` over the pool, wait for all of them. Not nested: called
// from inside a worker it runs serially. Calls from several threads of the caller take turns.
PTC_HIDDEN void pool_run(Pool* pool, int64_t n, int64_t grain, RangeFn fn, void* context);
// A cancelled pool skips blocks not yet begun until `pool_resume`; running blocks finish.
PTC_HIDDEN void pool_cancel(Pool* pool);
PTC_HIDDEN void pool_resume(Pool* pool);
PTC_HIDDEN bool pool_cancelled(const Pool* pool);

inline int pool_size(const Pool* pool) { return pool ? pool_threads(pool) : 1; }

// body(begin, end, worker), a callable object. One call on this thread when the pool has one thread
// or the range is at most one grain.
template <class F> inline void parallel_for(Pool* pool, int64_t n, int64_t grain, const F& body) {
  if (n <= 0) return;
  if (!pool || n <= grain || pool_threads(pool) == 1) {
    body((int64_t)0, n, 0);
    return;
  }
  pool_run(
      pool, n, grain,
      [](void* context, int64_t begin, int64_t end, int worker) {
        (*(const F*)context)(begin, end, worker);
      },
      (void*)&body);
}

}  // namespace ptc

#endif
