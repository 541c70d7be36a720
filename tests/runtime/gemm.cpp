#define PTC_THREADS_IMPLEMENTATION
#include "ptc_gemm.h"
using namespace ptc;
// Adds a bias and stores anywhere; counts visits so that a value written twice shows.
template <class T> struct Out {
  T* out;
  const T* bias;
  i64 row, column;
  i64 batch;
  int* visits;
  void put(vec<T, PTC_VLEN> acc, i64 at, i64 n, int lanes) const {
    for (int i = 0; i < lanes; ++i) {
      out[at + i * column] = (T)(acc.get(i) + bias[n + i]);
      ++visits[at + i * column];
    }
  }
  void operator()(vec<T, PTC_VLEN> acc, i64 m, i64 n, int lanes) const {
    put(acc, m * row + n * column, n, lanes);
  }
  void operator()(vec<T, PTC_VLEN> acc, i64 b, i64 m, i64 n, int lanes) const {
    put(acc, b * batch + m * row + n * column, n, lanes);
  }
};
extern "C" Pool* open_pool(int threads) { return pool_open(threads); }
extern "C" void close_pool(Pool* p) { pool_close(p); }
template <class T> void pack(T* p, const T* b, long k, long n, long sk, long sn) {
  pack_b(p, b, k, n, sk, sn);
}
extern "C" long packed_size(long k, long n) { return packed_b_size<float>(k, n); }
extern "C" long packed_size_double(long k, long n) { return packed_b_size<double>(k, n); }
extern "C" void pack_float(float* p, const float* b, long k, long n, long sk, long sn) {
  pack_b(p, b, k, n, sk, sn);
}
extern "C" void pack_double(double* p, const double* b, long k, long n, long sk, long sn) {
  pack_b(p, b, k, n, sk, sn);
}
extern "C" void packed(Pool* pool, long m, long n, long k, const float* a, long lda, const float* p,
                       float* o, const float* bias, int* v) {
  gemm_packed(pool, m, n, k, a, lda, p, Out<float>{o, bias, n, 1, 0, v});
}
extern "C" void packed_double(Pool* pool, long m, long n, long k, const double* a, long lda,
                              const double* p, double* o, const double* bias, int* v) {
  gemm_packed(pool, m, n, k, a, lda, p, Out<double>{o, bias, n, 1, 0, v});
}

#define SCRATCH(T, A)                                                       \
  extern "C" long scratch_##T##_##A(long m, long k, long ak, int threads) { \
    return gemm_scratch<T, A>(m, k, ak, threads);                           \
  }
#define LIVE(T, A, B)                                                                              \
  extern "C" void live_##T##_##A##_##B(Pool* pool, long batch, long m, long n, long k, const A* x, \
                                       long xb, long am, long ak, const B* w, long wb, long bk,    \
                                       long bn, void* s, T* o, const T* bias, int* v) {            \
    if (batch < 0)                                                                                 \
      gemm<T>(pool, m, n, k, x, am, ak, w, bk, bn, s, Out<T>{o, bias, n, 1, 0, v});                \
    else                                                                                           \
      gemm_batched<T>(pool, batch, m, n, k, x, xb, am, ak, w, wb, bk, bn, s,                       \
                      Out<T>{o, bias, n, 1, m * n, v});                                            \
  }
// Sizes known at compile time.
#define STATIC(I, M, N, K)                                                                        \
  extern "C" void packed_##I(Pool* pool, const float* a, const float* p, float* o,                \
                             const float* bias, int* v) {                                         \
    gemm_packed<Dims<M, N>>(pool, M, N, K, a, K, p, Out<float>{o, bias, N, 1, 0, v});             \
  }                                                                                               \
  extern "C" void live_##I(Pool* pool, const float* a, long am, long ak, const float* w, long bk, \
                           long bn, void* s, float* o, const float* bias, int* v) {               \
    gemm<float, Dims<M, N>>(pool, M, N, K, a, am, ak, w, bk, bn, s,                               \
                            Out<float>{o, bias, N, 1, 0, v});                                     \
  }
