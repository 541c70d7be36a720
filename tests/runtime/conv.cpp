#define PTC_THREADS_IMPLEMENTATION
#include "ptc_conv.h"
#include "ptc_conv_transpose.h"
using namespace ptc;
struct Out {
  float* out;
  const float* bias;
  i64 channels;
  int* visits;
  void operator()(f32v acc, i64 pixel, i64 channel, int lanes) const {
    for (int i = 0; i < lanes; ++i) {
      out[pixel * channels + channel + i] = acc.get(i) + bias[channel + i];
      ++visits[pixel * channels + channel + i];
    }
  }
};
extern "C" Pool* open_pool(int threads) { return pool_open(threads); }
extern "C" void close_pool(Pool* p) { pool_close(p); }

// FAMILY is conv or conv_transpose; Known and Actual are types with the shape as `conv`.
#define INSTANCE(I, FAMILY, Known, Actual)                                                      \
  extern "C" long packed_size_##I() { return FAMILY##_packed_size(Actual::conv); }              \
  extern "C" long scratch_##I(int threads) { return FAMILY##_scratch(Actual::conv, threads); }  \
  extern "C" void pack_##I(float* p, const float* w, long o, long ic, long d, long h, long x) { \
    pack_##FAMILY(p, Actual::conv, w, o, ic, d, h, x);                                          \
  }                                                                                             \
  extern "C" void run_##I(Pool* pool, const float* x, const float* p, void* s, float* o,        \
                          const float* b, int* v) {                                             \
    FAMILY<Known>(pool, Actual::conv, x, p, s, Out{o, b, Actual::conv.oc, v});                  \
  }
