// Splitting work over the model's threads: ptc/runtime/ptc_threads.h with a measure of what pays.
//
// Bodies run on threads of the pool and must not throw: look at operands before, collect what is wrong in an atomic and
// `fail` behind the loop. They must not allocate tensors.
#ifndef PTC_EXECUTOR_THREADS_H
#define PTC_EXECUTOR_THREADS_H

#include "ptc_threads.h"

namespace ptc::exec {

using ptc::Pool;

// body(begin, end) over [0, n). `work`: the cost of one step in rough additions; ranges too small to pay for waking a
// thread run on the caller.
template <class F> inline void parallel(Pool* pool, int64_t n, double work, const F& body) {
  const double grain = 40000.0 / (work > 1 ? work : 1);
  const int64_t least = grain > (double)n ? n : (int64_t)grain + 1;
  parallel_for(pool, n, least, [&](int64_t begin, int64_t end, int) { body(begin, end); });
}

}  // namespace ptc::exec

#endif
