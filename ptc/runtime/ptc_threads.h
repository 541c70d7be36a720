// The thread pool of a library: a range is split over a fixed number of threads.
//
// Owns Pool and parallel_for. Exactly one translation unit of a library defines
// PTC_THREADS_IMPLEMENTATION before including this header; the others see declarations only.
// Threads start at the first parallel_for that needs them. A pool of one thread never starts any,
// and a null pool runs everything on the caller.
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
// Split [0, n) in blocks of at least `grain` over the pool, wait for all of them. Not nested:
// called from inside a worker it runs serially. Calls from several threads of the caller take
// turns.
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

#if defined(PTC_THREADS_IMPLEMENTATION)

#include <stdlib.h>

#include "ptc_threads_system.h"

namespace ptc {

struct Pool {
  int threads;  // with the caller
  int started;  // helper threads that run
  bool stopping;
  bool cancelled;        // atomic
  detail::Lock turn;     // one pool_run at a time
  detail::Lock lock;
  detail::Condition work, done;
  // The current call, set under `lock`; `call` counts calls so that a helper joins each one once.
  uint64_t call;
  RangeFn fn;
  void* context;
  int64_t n, block;
  int64_t next;  // atomic: first element not yet handed out
  int active;    // helpers in the current call; written under `lock`
  bool open;     // whether helpers may still join it
  Pool* link;    // all pools of this library, for fork
  detail::Thread ids[1];
};

namespace detail {

static Lock pools_lock = PTC_LOCK_INITIALIZER;
static Pool* pools = nullptr;
static bool fork_handler = false;
static __thread bool inside_pool = false;

struct HelperStart {
  Pool* pool;
  int worker;
};

static void reset_locks(Pool* pool) {
  lock_init(&pool->turn);
  lock_init(&pool->lock);
  condition_init(&pool->work);
  condition_init(&pool->done);
}

// A forked child has none of the helpers, and locks in whatever state they were.
static void after_fork() {
  lock_init(&pools_lock);
  inside_pool = false;
  for (Pool* pool = pools; pool; pool = pool->link) {
    reset_locks(pool);
    pool->started = 0;
    pool->active = 0;
    pool->open = false;
  }
}

static void take_blocks(Pool* pool, int worker) {
  inside_pool = true;
  for (;;) {
    int64_t begin = __atomic_fetch_add(&pool->next, pool->block, __ATOMIC_RELAXED);
    if (begin >= pool->n || __atomic_load_n(&pool->cancelled, __ATOMIC_RELAXED)) break;
    int64_t end = begin + pool->block < pool->n ? begin + pool->block : pool->n;
    pool->fn(pool->context, begin, end, worker);
  }
  inside_pool = false;
}

static inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}
// Kernels of a model follow each other within microseconds: look for the next one before sleeping.
constexpr int kSpins = 2000;

static void helper(void* argument) {
  const HelperStart start = *(HelperStart*)argument;
  free(argument);
  Pool* pool = start.pool;
  uint64_t seen = 0;
  for (;;) {
    for (int i = 0; i < kSpins && __atomic_load_n(&pool->call, __ATOMIC_ACQUIRE) == seen; ++i)
      spin_pause();
    lock_take(&pool->lock);
    while (pool->call == seen && !pool->stopping) condition_wait(&pool->work, &pool->lock);
    seen = pool->call;
    const bool stop = pool->stopping, joined = pool->open && !stop;
    if (joined) __atomic_add_fetch(&pool->active, 1, __ATOMIC_RELEASE);
    lock_release(&pool->lock);
    if (stop) return;
    if (!joined) continue;  // woken too late, the others have done it all
    take_blocks(pool, start.worker);
    lock_take(&pool->lock);
    if (__atomic_sub_fetch(&pool->active, 1, __ATOMIC_RELEASE) == 0)
      condition_wake_all(&pool->done);
    lock_release(&pool->lock);
  }
}

// Starts missing helpers. Fewer than wanted is fine.
static void start_helpers(Pool* pool) {
  const SignalsBlocked blocked;
  (void)blocked;
  pool->call = 0;
  while (pool->started < pool->threads - 1) {
    HelperStart* start = (HelperStart*)malloc(sizeof(HelperStart));
    if (!start) break;
    *start = {pool, pool->started + 1};
    if (!thread_start(&pool->ids[pool->started], helper, start)) {
      free(start);
      break;
    }
    ++pool->started;
  }
}

}  // namespace detail

Pool* pool_open(int threads) {
  if (threads <= 0) threads = detail::processor_count();
  if (threads < 1) threads = 1;
  Pool* pool = (Pool*)calloc(1, sizeof(Pool) + sizeof(detail::Thread) * (size_t)threads);
  if (!pool) return nullptr;
  pool->threads = threads;
  detail::reset_locks(pool);
  detail::lock_take(&detail::pools_lock);
  if (!detail::fork_handler)
    detail::fork_handler = detail::call_after_fork(detail::after_fork);
  pool->link = detail::pools;
  detail::pools = pool;
  detail::lock_release(&detail::pools_lock);
  return pool;
}

void pool_close(Pool* pool) {
  if (!pool) return;
  detail::lock_take(&detail::pools_lock);
  for (Pool** at = &detail::pools; *at; at = &(*at)->link)
    if (*at == pool) {
      *at = pool->link;
      break;
    }
  detail::lock_release(&detail::pools_lock);
  detail::lock_take(&pool->lock);
  pool->stopping = true;
  __atomic_add_fetch(&pool->call, 1, __ATOMIC_RELEASE);
  detail::condition_wake_all(&pool->work);
  detail::lock_release(&pool->lock);
  for (int i = 0; i < pool->started; ++i) detail::thread_join(pool->ids[i]);
  detail::condition_destroy(&pool->work);
  detail::condition_destroy(&pool->done);
  detail::lock_destroy(&pool->lock);
  detail::lock_destroy(&pool->turn);
  free(pool);
}

int pool_threads(const Pool* pool) { return pool ? pool->threads : 1; }

void pool_run(Pool* pool, int64_t n, int64_t grain, RangeFn fn, void* context) {
  if (n <= 0) return;
  if (!pool || pool->threads == 1 || n <= grain || detail::inside_pool) {
    if (!pool_cancelled(pool)) fn(context, 0, n, 0);
    return;
  }
  detail::lock_take(&pool->turn);
  detail::lock_take(&pool->lock);
  if (pool->started < pool->threads - 1 && pool->started == 0) detail::start_helpers(pool);
  int64_t blocks = 4 * (int64_t)(pool->started + 1);
  int64_t block = (n + blocks - 1) / blocks;
  pool->fn = fn;
  pool->context = context;
  pool->n = n;
  pool->block = block > grain ? block : (grain > 0 ? grain : 1);
  pool->next = 0;
  pool->active = 0;
  pool->open = true;
  __atomic_add_fetch(&pool->call, 1, __ATOMIC_RELEASE);
  detail::condition_wake_all(&pool->work);
  detail::lock_release(&pool->lock);
  detail::take_blocks(pool, 0);
  // No block is left: whoever has not joined need not, the others are waited for.
  detail::lock_take(&pool->lock);
  pool->open = false;
  detail::lock_release(&pool->lock);
  for (int i = 0; i < detail::kSpins && __atomic_load_n(&pool->active, __ATOMIC_ACQUIRE); ++i)
    detail::spin_pause();
  detail::lock_take(&pool->lock);
  while (pool->active) detail::condition_wait(&pool->done, &pool->lock);
  detail::lock_release(&pool->lock);
  detail::lock_release(&pool->turn);
}

void pool_cancel(Pool* pool) {
  if (pool) __atomic_store_n(&pool->cancelled, true, __ATOMIC_RELAXED);
}
void pool_resume(Pool* pool) {
  if (pool) __atomic_store_n(&pool->cancelled, false, __ATOMIC_RELAXED);
}
bool pool_cancelled(const Pool* pool) {
  return pool && __atomic_load_n(&pool->cancelled, __ATOMIC_RELAXED);
}

}  // namespace ptc

#endif  // PTC_THREADS_IMPLEMENTATION

#endif
