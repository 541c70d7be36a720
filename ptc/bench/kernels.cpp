// What ptc.bench.kernels instantiates: one exported function a case, with a bias as the epilogue.
#define PTC_THREADS_IMPLEMENTATION
#include "ptc_attention.h"
#include "ptc_conv.h"
#include "ptc_math.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace ptc;

// Row-major result with a bias.
struct Biased {
  float* out;
  const float* bias;
  i64 columns;
  PTC_INLINE void operator()(f32v acc, i64 m, i64 n, int lanes) const {
    float* to = out + m * columns + n;
    if (lanes == PTC_VLEN)
      store(to, acc + load<float, PTC_VLEN>(bias + n));
    else
      store_n(to, acc + load_n<float, PTC_VLEN>(bias + n, lanes), lanes);
  }
};

// [query][head][64]
struct Heads {
  float* out;
  i64 heads;
  PTC_INLINE void operator()(f32v acc, i64, i64 head, i64 query, i64 d, int) const {
    store(out + (query * heads + head) * 64 + d, acc);
  }
};

#define GEMM(I, M, N, K)                                                                        \
  EXPORT int64_t packed_##I() { return packed_b_size<float>(K, N) * 4; }                        \
  EXPORT int64_t scratch_##I() { return 0; }                                                    \
  EXPORT void pack_##I(float* packed, const float* w) { pack_b(packed, w, K, N, 1, K); }        \
  EXPORT void run_##I(float* out, const float* a, const float* packed, void*, const float* b) { \
    gemm_packed<Dims<M, N>>(nullptr, M, N, K, a, K, packed, Biased{out, b, N});                 \
  }

#define LIVE(I, M, N, K)                                                                         \
  EXPORT int64_t scratch_##I() { return gemm_scratch<float, float>(M, K, 1, 1); }                \
  EXPORT void run_##I(float* out, const float* a, const float* w, void* s, const float* b) {     \
    gemm<float, Dims<M, N>>(nullptr, M, N, K, a, K, 1, w, 1, K, s, Biased{out, b, N});           \
  }

#define CONV(I, ...)                                                                             \
  struct Conv##I {                                                                               \
    static constexpr Conv conv = {__VA_ARGS__};                                                  \
  };                                                                                             \
  EXPORT int64_t packed_##I() { return conv_packed_size(Conv##I::conv) * 4; }                    \
  EXPORT int64_t scratch_##I() { return conv_scratch(Conv##I::conv, 1); }                        \
  EXPORT void pack_##I(float* packed, const float* w) {                                          \
    constexpr Conv c = Conv##I::conv;                                                            \
    pack_conv(packed, c, w, c.group_inputs() * c.kh * c.kw, c.kh * c.kw, 0, c.kw, 1);            \
  }                                                                                              \
  EXPORT void run_##I(float* out, const float* x, const float* packed, void* s, const float* b) { \
    conv<Conv##I>(nullptr, Conv##I::conv, x, packed, s, Biased{out, b, Conv##I::conv.oc});       \
  }

constexpr Attention self_attention(i64 heads, i64 length) {
  i64 row = heads * 64;
  return {1, heads, heads, length, length, 64, 64, 0, 64, row, 0, 64, row, 0, 64, row,
          0.125f, false, nullptr, MASK_NONE, 0, 0, 0, 0};
}

#define ATTENTION(I, H, S)                                                                       \
  EXPORT int64_t scratch_##I() { return attention_scratch(self_attention(H, S), 1); }            \
  EXPORT void run_##I(float* out, const float* q, const float* k, const float* v, void* s) {     \
    attention<64>(nullptr, self_attention(H, S), q, k, v, s, Heads{out, H});                     \
  }

#define MATHS(I, NAME, COUNT)                                                                    \
  EXPORT void run_##I(float* out, const float* x) {                                              \
    for (i64 i = 0; i < COUNT; i += PTC_VLEN)                                                    \
      store(out + i, ptc::NAME(load<float, PTC_VLEN>(x + i)));                                   \
  }
