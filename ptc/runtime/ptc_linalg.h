// Factorisations of dense matrices and what is solved with them: LU, Cholesky, QR, triangles.
//
// Owns the algorithms, for batches of row-major matrices of f32 or f64 that lie one behind the
// other. A batch is shared out over the pool, one matrix is one thread's. Knows nothing of tensors.
// What LAPACK fixes is as there: pivots, the signs of reflections, `info`.
#ifndef PTC_LINALG_H
#define PTC_LINALG_H

#include "ptc_kernel.h"

namespace ptc {

namespace detail {

PTC_INLINE float root(float x) { return __builtin_sqrtf(x); }
PTC_INLINE double root(double x) { return __builtin_sqrt(x); }
PTC_INLINE float magnitude(float x) { return __builtin_fabsf(x); }
PTC_INLINE double magnitude(double x) { return __builtin_fabs(x); }

template <class T> PTC_INLINE void copy_row(T* to, const T* from, i64 n) {
  if (n > 0) __builtin_memcpy(to, from, (__SIZE_TYPE__)n * sizeof(T));
}
template <class T> PTC_INLINE void swap_rows(T* __restrict a, T* __restrict b, i64 n) {
  for (i64 j = 0; j < n; ++j) {
    const T value = a[j];
    a[j] = b[j];
    b[j] = value;
  }
}
// row += factor * other
template <class T>
PTC_INLINE void add_row(T* __restrict row, const T* __restrict other, T factor, i64 n) {
  for (i64 j = 0; j < n; ++j) row[j] += factor * other[j];
}
template <class T> inline T dot_rows(const T* a, const T* b, i64 n) {
  constexpr int lanes = PTC_VBYTES / (int)sizeof(T);
  typedef vec<T, lanes> V;
  T sum = 0;
  i64 j = 0;
  if (n >= lanes) {
    V sums = V((T)0);
    for (; j + lanes <= n; j += lanes)
      sums = fma(load<T, lanes>(a + j), load<T, lanes>(b + j), sums);
    sum = hsum(sums);
  }
  for (; j < n; ++j) sum += a[j] * b[j];
  return sum;
}

// --- LU ------------------------------------------------------------------------------------------

// Columns that are finished before the rest of the rows learns of them.
constexpr i64 kPanel = 32;

// The row from `first` on with the largest magnitude, the first of equals. `column` steps by rows.
template <class T> inline i64 pivot_row(const T* column, i64 step, i64 first, i64 rows) {
  i64 best = first;
  T largest = magnitude(column[first * step]);
  for (i64 i = first + 1; i < rows; ++i) {
    const T value = magnitude(column[i * step]);
    if (value > largest) {
      largest = value;
      best = i;
    }
  }
  return best;
}

// Columns [first, last) of L and U, all rows swapped.
template <class T>
inline void lu_panel(T* a, i64 m, i64 n, i64 first, i64 last, int32_t* pivots, int32_t* info) {
  for (i64 k = first; k < last; ++k) {
    const i64 chosen = pivot_row(a + k, n, k, m);
    pivots[k] = (int32_t)(chosen + 1);
    T* const top = a + k * n;
    if (chosen != k) swap_rows(top, a + chosen * n, n);
    if (top[k] == 0) {
      if (!*info) *info = (int32_t)(k + 1);
      continue;
    }
    for (i64 i = k + 1; i < m; ++i) {
      T* const row = a + i * n;
      row[k] /= top[k];
      add_row(row + k + 1, top + k + 1, -row[k], last - k - 1);
    }
  }
}

template <class T> inline void lu_matrix(T* a, i64 m, i64 n, int32_t* pivots, int32_t* info) {
  const i64 steps = index_min(m, n);
  *info = 0;
  for (i64 first = 0; first < steps; first += kPanel) {
    const i64 last = index_min(first + kPanel, steps);
    lu_panel(a, m, n, first, last, pivots, info);
    for (i64 i = first + 1; i < m; ++i)
      for (i64 k = first; k < index_min(i, last); ++k)
        add_row(a + i * n + last, a + k * n + last, -a[i * n + k], n - last);
  }
}

// --- triangles -----------------------------------------------------------------------------------

// X of A X = X in place: A [n, n] a triangle of a matrix with rows of `lda`, X [n, k].
template <class T>
inline void solve_rows(const T* a, i64 lda, i64 n, T* x, i64 k, bool upper, bool unit) {
  for (i64 step = 0; step < n; ++step) {
    const i64 i = upper ? n - 1 - step : step;
    const i64 begin = upper ? i + 1 : 0, end = upper ? n : i;
    const T* const row = a + i * lda;
    T* const to = x + i * k;
    if (k == 1) {
      to[0] -= dot_rows(row + begin, x + begin, end - begin);
    } else {
      for (i64 j = begin; j < end; ++j) add_row(to, x + j * k, -row[j], k);
    }
    if (!unit)
      for (i64 c = 0; c < k; ++c) to[c] /= row[i];
  }
}

// The same with the transpose of A; `upper` says where the triangle lies in A itself.
template <class T>
inline void solve_columns(const T* a, i64 lda, i64 n, T* x, i64 k, bool upper, bool unit) {
  for (i64 step = 0; step < n; ++step) {
    const i64 i = upper ? step : n - 1 - step;
    const i64 begin = upper ? i + 1 : 0, end = upper ? n : i;
    const T* const row = a + i * lda;
    T* const from = x + i * k;
    if (!unit)
      for (i64 c = 0; c < k; ++c) from[c] /= row[i];
    if (k == 1) {
      add_row(x + begin, row + begin, -from[0], end - begin);
    } else {
      for (i64 j = begin; j < end; ++j) add_row(x + j * k, from, -row[j], k);
    }
  }
}

// Rows of X as the pivots of A say, or back.
template <class T>
inline void pivot_rows(const int32_t* pivots, i64 n, T* x, i64 k, bool back) {
  for (i64 step = 0; step < n; ++step) {
    const i64 i = back ? n - 1 - step : step;
    if (pivots[i] - 1 != i) swap_rows(x + i * k, x + (pivots[i] - 1) * k, k);
  }
}

inline bool pivots_fit(const int32_t* pivots, i64 steps, i64 rows) {
  bool fit = true;
  for (i64 i = 0; i < steps; ++i) fit &= pivots[i] >= 1 && pivots[i] <= rows;
  return fit;
}
constexpr const char* kBadPivots = "pivots of a matrix that are not among its rows";

template <class T>
inline void lu_solve_matrix(const T* lu, const int32_t* pivots, i64 n, T* x, i64 k,
                            bool transposed) {
  if (transposed) {
    solve_columns(lu, n, n, x, k, true, false);
    solve_columns(lu, n, n, x, k, false, true);
    pivot_rows(pivots, n, x, k, true);
  } else {
    pivot_rows(pivots, n, x, k, false);
    solve_rows(lu, n, n, x, k, false, true);
    solve_rows(lu, n, n, x, k, true, false);
  }
}

// --- Cholesky ------------------------------------------------------------------------------------

// The lower factor of the lower triangle of `l`, in place; 0 above it. Ends at the first leading
// minor that is not positive.
template <class T> inline int32_t cholesky_matrix(T* l, i64 n) {
  for (i64 i = 0; i < n; ++i)
    for (i64 j = i + 1; j < n; ++j) l[i * n + j] = 0;
  for (i64 j = 0; j < n; ++j) {
    T* const top = l + j * n;
    const T square = top[j] - dot_rows(top, top, j);
    if (!(square > 0)) {
      top[j] = square;
      return (int32_t)(j + 1);
    }
    top[j] = root(square);
    for (i64 i = j + 1; i < n; ++i) {
      T* const row = l + i * n;
      row[j] = (row[j] - dot_rows(row, top, j)) / top[j];
    }
  }
  return 0;
}

// --- QR ------------------------------------------------------------------------------------------

constexpr double kInfinity = __builtin_inf();

// The length of a column of m elements, without overflow on the way.
inline double length(const float* x, i64 m, i64 step) {
  double sum = 0;
  for (i64 i = 0; i < m; ++i) sum += (double)x[i * step] * x[i * step];
  return root(sum);
}
inline double length(const double* x, i64 m, i64 step) {
  double largest = 0;
  for (i64 i = 0; i < m; ++i) {
    const double value = magnitude(x[i * step]);
    if (value > largest) largest = value;
  }
  // Squares of what lies outside overflow or vanish; infinity is no scale.
  const bool plain = (largest > 1e-140 && largest < 1e140) || largest == 0 || largest == kInfinity;
  const double scale = plain ? 1 : largest;
  double sum = 0;
  for (i64 i = 0; i < m; ++i) {
    const double value = x[i * step] / scale;
    sum += value * value;
  }
  return scale * root(sum);
}

// Rows [0, m) of `a` minus tau v (v^T a), with v = (1, column below it). `products` holds n.
template <class T>
inline void reflect(T* a, i64 lda, i64 m, i64 n, const T* column, i64 step, T tau, T* products) {
  if (tau == 0) return;
  copy_row(products, a, n);
  for (i64 i = 1; i < m; ++i) add_row(products, a + i * lda, column[i * step], n);
  for (i64 j = 0; j < n; ++j) a[j] -= tau * products[j];
  for (i64 i = 1; i < m; ++i) add_row(a + i * lda, products, -tau * column[i * step], n);
}

// R in the upper triangle of `a`, the reflections below it and in `taus`.
template <class T> inline void qr_matrix(T* a, i64 m, i64 n, T* taus, T* products) {
  for (i64 k = 0; k < index_min(m, n); ++k) {
    T* const top = a + k * n + k;
    const double below = length(top + n, m - k - 1, n);
    taus[k] = 0;
    if (below == 0) continue;
    const double pair[2] = {(double)top[0], below};
    const double norm = length(pair, 2, 1);
    const double beta = -__builtin_copysign(norm, (double)top[0]);
    const double scale = (double)top[0] - beta;
    taus[k] = (T)((beta - top[0]) / beta);
    for (i64 i = 1; i < m - k; ++i) top[i * n] = (T)(top[i * n] / scale);
    top[0] = (T)beta;
    reflect(top + 1, n, m - k, n - k - 1, top, n, taus[k], products);
  }
}

// The first `columns` columns of Q, of what qr_matrix left in `a`.
template <class T>
inline void q_matrix(const T* a, i64 m, i64 n, const T* taus, T* q, i64 columns, T* products) {
  for (i64 i = 0; i < m; ++i)
    for (i64 j = 0; j < columns; ++j) q[i * columns + j] = i == j;
  for (i64 k = index_min(index_min(m, n), columns) - 1; k >= 0; --k)
    reflect(q + k * columns + k, columns, m - k, columns - k, a + k * n + k, n, taus[k], products);
}

// Each matrix of a batch, of `work` rough additions: body(number).
template <class F> inline int each_matrix(Run* run, i64 batch, double work, const F& body) {
  return parallel(run, batch, 1, work, [&](i64 begin, i64 end) {
    for (i64 number = begin; number < end; ++number) {
      const int status = body(number);
      if (status) return status;
    }
    return (int)STATUS_OK;
  });
}

}  // namespace detail

// a [m, n] -> lu [m, n], pivots [min(m, n)] counted from 1, info: 0, or the first zero of U's
// diagonal counted from 1.
template <class T>
inline int lu_factor(Run* run, i64 batch, i64 m, i64 n, const T* a, T* lu, int32_t* pivots,
                     int32_t* info) {
  const i64 steps = index_min(m, n);
  return detail::each_matrix(run, batch, (double)m * n * steps, [=](i64 number) {
    T* const matrix = lu + number * m * n;
    detail::copy_row(matrix, a + number * m * n, m * n);
    detail::lu_matrix(matrix, m, n, pivots + number * steps, info + number);
    return (int)STATUS_OK;
  });
}

// x [n, k] with A x = b, or A^T x = b, for the A [n, n] that lu and pivots are of.
template <class T>
inline int lu_solve(Run* run, i64 batch, i64 n, i64 k, bool transposed, const T* lu,
                    const int32_t* pivots, const T* b, T* x) {
  return detail::each_matrix(run, batch, 2.0 * n * n * k, [=](i64 number) {
    const int32_t* const rows = pivots + number * n;
    if (!detail::pivots_fit(rows, n, n)) return run->fail(detail::kBadPivots);
    T* const to = x + number * n * k;
    detail::copy_row(to, b + number * n * k, n * k);
    detail::lu_solve_matrix(lu + number * n * n, rows, n, to, k, transposed);
    return (int)STATUS_OK;
  });
}

// order [m]: where the rows of L U are in A.
inline int lu_order(Run* run, i64 batch, i64 m, i64 steps, const int32_t* pivots, i64* order) {
  for (i64 number = 0; number < batch; ++number, order += m, pivots += steps) {
    if (!detail::pivots_fit(pivots, steps, m)) return run->fail(detail::kBadPivots);
    for (i64 i = 0; i < m; ++i) order[i] = i;
    detail::pivot_rows(pivots, steps, order, 1, false);
  }
  return STATUS_OK;
}

// x [n, k] with A x = b, or A^T x = b, where A is a triangle of a [n, n]; `unit`: ones on its
// diagonal.
template <class T>
inline int solve_triangular(Run* run, i64 batch, i64 n, i64 k, bool transposed, bool upper,
                            bool unit, const T* a, const T* b, T* x) {
  return detail::each_matrix(run, batch, (double)n * n * k, [=](i64 number) {
    T* const to = x + number * n * k;
    detail::copy_row(to, b + number * n * k, n * k);
    const auto solve = transposed ? detail::solve_columns<T> : detail::solve_rows<T>;
    solve(a + number * n * n, n, n, to, k, upper, unit);
    return (int)STATUS_OK;
  });
}

// The lower triangle of a [n, n] -> l [n, n], info: 0, or the order of the first leading minor that
// is not positive.
template <class T>
inline int cholesky(Run* run, i64 batch, i64 n, const T* a, T* l, int32_t* info) {
  return detail::each_matrix(run, batch, (double)n * n * n / 3, [=](i64 number) {
    T* const matrix = l + number * n * n;
    detail::copy_row(matrix, a + number * n * n, n * n);
    info[number] = detail::cholesky_matrix(matrix, n);
    return (int)STATUS_OK;
  });
}

// a [m, n] -> q [m, columns], r [rows, n].
template <class T>
inline int qr(Run* run, i64 batch, i64 m, i64 n, i64 columns, i64 rows, const T* a, T* q, T* r) {
  const i64 steps = index_min(m, n), wide = index_max(n, columns);
  return detail::each_matrix(run, batch, 4.0 * m * n * steps, [=](i64 number) {
    Scratch<T> scratch(m * n + steps + wide);
    if (!scratch.data) return (int)STATUS_MEMORY;
    T *const work = scratch.data, *const taus = work + m * n, *const products = taus + steps;
    detail::copy_row(work, a + number * m * n, m * n);
    detail::qr_matrix(work, m, n, taus, products);
    T* const to = r + number * rows * n;
    for (i64 i = 0; i < rows; ++i)
      for (i64 j = 0; j < n; ++j) to[i * n + j] = j < i ? 0 : work[i * n + j];
    detail::q_matrix(work, m, n, taus, q + number * m * columns, columns, products);
    return (int)STATUS_OK;
  });
}

// q [m, n]: the first columns of the product of the k reflections below the diagonal of a [m, n].
template <class T>
inline int householder_product(Run* run, i64 batch, i64 m, i64 n, i64 k, const T* a, const T* taus,
                               T* q) {
  return detail::each_matrix(run, batch, 4.0 * m * n * k, [=](i64 number) {
    Scratch<T> scratch(2 * n);
    if (!scratch.data) return (int)STATUS_MEMORY;
    T *const all = scratch.data, *const products = all + n;
    for (i64 i = 0; i < n; ++i) all[i] = i < k ? taus[number * k + i] : 0;
    detail::q_matrix(a + number * m * n, m, n, all, q + number * m * n, n, products);
    return (int)STATUS_OK;
  });
}

}  // namespace ptc

#endif
