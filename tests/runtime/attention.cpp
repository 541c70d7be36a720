#define PTC_THREADS_IMPLEMENTATION
#include "ptc_attention.h"
using namespace ptc;
struct Out {
  float* out;
  i64 heads, queries, dim;
  int* visits;
  void operator()(f32v acc, i64 b, i64 h, i64 q, i64 d, int lanes) const {
    i64 at = ((b * heads + h) * queries + q) * dim + d;
    for (int i = 0; i < lanes; ++i) {
      out[at + i] = acc.get(i);
      ++visits[at + i];
    }
  }
};
extern "C" Pool* open_pool(int threads) { return pool_open(threads); }
extern "C" void close_pool(Pool* p) { pool_close(p); }
extern "C" long scratch(const Attention* s, int threads) { return attention_scratch(*s, threads); }
extern "C" void run(Pool* pool, const Attention* s, const float* q, const float* k, const float* v,
                    void* scratch, float* o, int* visits) {
  Out out{o, s->heads, s->q_len, s->v_dim, visits};
  if (s->v_dim == 64)
    attention<64>(pool, *s, q, k, v, scratch, out);
  else
    attention(pool, *s, q, k, v, scratch, out);
}
