#define PTC_THREADS_IMPLEMENTATION
#include "ptc_threads.h"
using namespace ptc;
extern "C" Pool* open_pool(int threads) { return pool_open(threads); }
extern "C" void close_pool(Pool* p) { pool_close(p); }
extern "C" int size(Pool* p) { return pool_size(p); }
extern "C" void cancel(Pool* p) { pool_cancel(p); }
extern "C" void resume(Pool* p) { pool_resume(p); }
// visits[i] counts, worker[i] names who did i; negative sizes of a block mark a broken split.
extern "C" void split(Pool* p, long n, long grain, int* visits, int* workers, int* smallest) {
  parallel_for(p, n, grain, [&](int64_t begin, int64_t end, int worker) {
    if (end != n && end - begin < grain) *smallest = (int)(end - begin);
    for (int64_t i = begin; i < end; ++i) {
      __atomic_add_fetch(&visits[i], 1, __ATOMIC_RELAXED);
      workers[i] = worker;
    }
  });
}
extern "C" void nested(Pool* p, long n, int* visits) {
  parallel_for(p, n, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i)
      parallel_for(p, n, 1, [&](int64_t a, int64_t b, int) {
        for (int64_t j = a; j < b; ++j) __atomic_add_fetch(&visits[i * n + j], 1, __ATOMIC_RELAXED);
      });
  });
}
extern "C" void stop_early(Pool* p, long n, int* visits) {
  parallel_for(p, n, 1, [&](int64_t begin, int64_t end, int) {
    pool_cancel(p);
    for (int64_t i = begin; i < end; ++i) __atomic_add_fetch(&visits[i], 1, __ATOMIC_RELAXED);
  });
}
