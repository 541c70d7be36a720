#define PTC_THREADS_IMPLEMENTATION
#include "ptc_spectral.h"
using namespace ptc;

#define FACTORISATIONS(T, NAME)                                                                  \
  extern "C" int NAME##_lu(i64 batch, i64 m, i64 n, const T* a, T* lu, int32_t* p, int32_t* i) { \
    Run run;                                                                                     \
    return lu_factor(&run, batch, m, n, a, lu, p, i);                                            \
  }                                                                                              \
  extern "C" int NAME##_lu_solve(i64 batch, i64 n, i64 k, int transposed, const T* lu,           \
                                 const int32_t* p, const T* b, T* x) {                           \
    Run run;                                                                                     \
    return lu_solve(&run, batch, n, k, transposed, lu, p, b, x);                                 \
  }                                                                                              \
  extern "C" int NAME##_triangular(i64 batch, i64 n, i64 k, int transposed, int upper, int unit, \
                                   const T* a, const T* b, T* x) {                               \
    Run run;                                                                                     \
    return solve_triangular(&run, batch, n, k, transposed, upper, unit, a, b, x);                \
  }                                                                                              \
  extern "C" int NAME##_cholesky(i64 batch, i64 n, const T* a, T* l, int32_t* info) {            \
    Run run;                                                                                     \
    return cholesky(&run, batch, n, a, l, info);                                                 \
  }                                                                                              \
  extern "C" int NAME##_qr(i64 batch, i64 m, i64 n, i64 columns, i64 rows, const T* a, T* q,     \
                           T* r) {                                                               \
    Run run;                                                                                     \
    return qr(&run, batch, m, n, columns, rows, a, q, r);                                        \
  }                                                                                              \
  extern "C" int NAME##_householder(i64 batch, i64 m, i64 n, i64 k, const T* a, const T* taus,   \
                                    T* q) {                                                      \
    Run run;                                                                                     \
    return householder_product(&run, batch, m, n, k, a, taus, q);                                \
  }                                                                                              \
  extern "C" int NAME##_eigh(i64 batch, i64 n, int upper, const T* a, T* values, T* vectors,     \
                             int32_t* info) {                                                    \
    Run run;                                                                                     \
    return eigh(&run, batch, n, upper, a, values, vectors, info);                                \
  }                                                                                              \
  extern "C" int NAME##_svd(i64 batch, i64 m, i64 n, i64 columns, i64 rows, const T* a, T* u,    \
                            T* s, T* vh, int32_t* info) {                                        \
    Run run;                                                                                     \
    return svd(&run, batch, m, n, columns, rows, a, u, s, vh, info);                             \
  }                                                                                              \
  extern "C" int NAME##_matrix_exp(i64 batch, i64 n, const T* a, T* result) {                    \
    Run run;                                                                                     \
    return matrix_exp(&run, batch, n, a, result);                                                \
  }
FACTORISATIONS(float, f32)
FACTORISATIONS(double, f64)
