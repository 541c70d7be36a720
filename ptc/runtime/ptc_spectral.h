// Eigenvalues of symmetric matrices, singular values and exponentials of dense ones.
//
// Owns the algorithms, for batches of row-major matrices of f32 or f64 that lie one behind the
// other; all compute in f64. A batch is shared out over the pool, one matrix is one thread's. Knows
// nothing of tensors. Which of the possible vectors come out: docs/operators.md.
#ifndef PTC_SPECTRAL_H
#define PTC_SPECTRAL_H

#include "ptc_linalg.h"

namespace ptc {

namespace detail {

constexpr double kEpsilon = 0x1p-53;
constexpr double kSmallest = 0x1p-1022;

template <class A, class B> inline void convert(A* to, const B* from, i64 n) {
  for (i64 i = 0; i < n; ++i) to[i] = (A)from[i];
}
inline bool all_finite(const double* x, i64 n) {
  bool finite = true;
  for (i64 i = 0; i < n; ++i) finite &= magnitude(x[i]) < kInfinity;
  return finite;
}
inline void set_identity(double* a, i64 n) {
  for (i64 i = 0; i < n; ++i)
    for (i64 j = 0; j < n; ++j) a[i * n + j] = i == j;
}
template <class T> inline void transpose(T* to, const double* from, i64 rows, i64 columns) {
  for (i64 i = 0; i < rows; ++i)
    for (i64 j = 0; j < columns; ++j) to[j * rows + i] = (T)from[i * columns + j];
}

// A power of two that brings elements whose squares would overflow or vanish near 1; else 1.
inline double safe_scale(const double* x, i64 n) {
  double largest = 0;
  for (i64 i = 0; i < n; ++i) largest = magnitude(x[i]) > largest ? magnitude(x[i]) : largest;
  if (largest == 0 || (largest > 1e-100 && largest < 1e100)) return 1;
  return largest < 1 ? 0x1p600 : 0x1p-600;
}

// (x, y) = (c x - s y, s x + c y), element by element.
inline void rotate_rows(double* __restrict x, double* __restrict y, double c, double s, i64 n) {
  for (i64 i = 0; i < n; ++i) {
    const double a = x[i], b = y[i];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}

// --- symmetric matrices --------------------------------------------------------------------------

// Reflections that leave a symmetric matrix [n, n] a diagonal d and the elements e beside it. Row i
// of `a` keeps the i-th reflection after its diagonal, `taus` its factor; `products` holds n.
inline void tridiagonalise(double* a, i64 n, double* d, double* e, double* taus, double* products) {
  for (i64 i = 0; i + 1 < n; ++i) {
    double* const v = a + i * n + i + 1;
    const i64 rest = n - i - 1;
    double* const block = a + (i + 1) * n + i + 1;
    const double below = length(v + 1, rest - 1, 1);
    e[i] = v[0];
    taus[i] = 0;
    if (below == 0) continue;
    const double beta = -__builtin_copysign(root(v[0] * v[0] + below * below), v[0]);
    taus[i] = (beta - v[0]) / beta;
    const double scale = v[0] - beta;
    e[i] = beta;
    v[0] = 1;
    for (i64 j = 1; j < rest; ++j) v[j] /= scale;
    for (i64 j = 0; j < rest; ++j) products[j] = taus[i] * dot_rows(block + j * n, v, rest);
    add_row(products, v, -0.5 * taus[i] * dot_rows(products, v, rest), rest);
    for (i64 j = 0; j < rest; ++j) {
      add_row(block + j * n, products, -v[j], rest);
      add_row(block + j * n, v, -products[j], rest);
    }
  }
  for (i64 i = 0; i < n; ++i) d[i] = a[i * n + i];
}

// The transpose of the product of those reflections.
inline void tridiagonal_basis(const double* a, i64 n, const double* taus, double* z) {
  set_identity(z, n);
  for (i64 i = n - 2; i >= 0; --i) {
    const double* const v = a + i * n + i + 1;
    const i64 rest = n - i - 1;
    if (taus[i] == 0) continue;
    for (i64 j = i + 1; j < n; ++j) {
      double* const row = z + j * n + i + 1;
      add_row(row, v, -taus[i] * dot_rows(row, v, rest), rest);
    }
  }
}

// The part of a tridiagonal matrix between two zeros beside the diagonal, seen from one of its ends.
struct Tridiagonal {
  double *d, *e, *z;  // z: rows that are rotated along, none if null
  i64 n, step;        // +1 or -1: the way from the end where values split off
  double& beside(i64 i) const { return e[step > 0 ? i : i - 1]; }
  void turn(i64 x, i64 y, double c, double s) const {
    if (z) rotate_rows(z + x * n, z + y * n, c, s, n);
  }
};

// The first place from `end` on whose neighbour on the way to `other` is as good as zero.
inline i64 next_split(const Tridiagonal& t, i64 end, i64 other) {
  for (i64 m = end; m != other; m += t.step) {
    const double square = t.beside(m) * t.beside(m);
    if (square <= kEpsilon * kEpsilon * magnitude(t.d[m]) * magnitude(t.d[m + t.step]) + kSmallest) {
      t.beside(m) = 0;
      return m;
    }
  }
  return other;
}

// Both values of the two by two block at i and i + 1, the one of larger magnitude first.
inline void split_pair(const Tridiagonal& t, i64 i) {
  const double a = t.d[i], b = t.e[i], c = t.d[i + 1];
  const double sum = a + c, difference = a - c, twice = b + b;
  const double distance = root(difference * difference + twice * twice);
  const double first = 0.5 * (sum < 0 ? sum - distance : sum + distance);
  const double large = magnitude(a) > magnitude(c) ? a : c, small = large == a ? c : a;
  const double second = sum == 0 ? -first : (large / first) * small - (b / first) * b;
  const double edge = difference >= 0 ? difference + distance : difference - distance;
  double cosine = 1, sine = 0;
  if (magnitude(edge) > magnitude(twice)) {
    const double ratio = -twice / edge;
    sine = 1 / root(1 + ratio * ratio);
    cosine = ratio * sine;
  } else if (twice != 0) {
    const double ratio = -edge / twice;
    cosine = 1 / root(1 + ratio * ratio);
    sine = ratio * cosine;
  }
  if ((sum < 0) == (difference < 0)) {
    const double kept = cosine;
    cosine = -sine;
    sine = kept;
  }
  t.d[i] = first;
  t.d[i + 1] = second;
  t.e[i] = 0;
  t.turn(i + 1, i, cosine, sine);
}

// One implicit step with a shift from the end `l` of the block that reaches to `m`.
inline void implicit_step(const Tridiagonal& t, i64 l, i64 m) {
  const i64 step = t.step;
  const double half = (t.d[l + step] - t.d[l]) / (2 * t.beside(l));
  const double far = root(half * half + 1);
  double g = t.d[m] - t.d[l] + t.beside(l) / (half + __builtin_copysign(far, half));
  double s = 1, c = 1, p = 0;
  for (i64 i = m - step;; i -= step) {
    const double f = s * t.beside(i), b = c * t.beside(i);
    double r = root(g * g + f * f);
    if (f == 0) {
      c = 1, s = 0, r = g;
    } else {
      r = __builtin_copysign(r, g);
      c = g / r, s = f / r;
    }
    if (i != m - step) t.beside(i + step) = r;
    g = t.d[i + step] - p;
    r = (t.d[i] - g) * s + 2 * c * b;
    p = s * r;
    t.d[i + step] = g + p;
    g = c * r - b;
    t.turn(i, i + step, c, s);
    if (i == l) break;
  }
  t.d[l] -= p;
  t.beside(l) = g;
}

// The values of a tridiagonal matrix in d, unsorted; the rows of z are turned along. Gives how many
// elements beside the diagonal did not vanish: 0 but for values that are not finite.
inline int32_t diagonalise(double* d, double* e, i64 n, double* z) {
  i64 budget = 30 * n;
  for (i64 first = 0; first < n;) {
    i64 last = first;
    while (last + 1 < n && magnitude(e[last]) > root(magnitude(d[last])) *
                               root(magnitude(d[last + 1])) * kEpsilon)
      ++last;
    if (last + 1 < n) e[last] = 0;
    // From the end with the smaller value
    const bool up = magnitude(d[last]) >= magnitude(d[first]);
    const Tridiagonal t = {d, e, z, n, up ? 1 : -1};
    i64 l = up ? first : last;
    const i64 end = up ? last : first;
    while (up ? l <= end : l >= end) {
      const i64 m = next_split(t, l, end);
      if (m == l) {
        l += t.step;
      } else if (m == l + t.step) {
        split_pair(t, up ? l : m);
        l += 2 * t.step;
      } else if (budget-- > 0) {
        implicit_step(t, l, m);
      } else {
        break;
      }
    }
    first = last + 1;
  }
  int32_t left = 0;
  for (i64 i = 0; i + 1 < n; ++i) left += e[i] != 0;
  return left;
}

// Values ascending, the rows of z with them.
inline void sort_values(double* d, double* z, i64 n) {
  for (i64 i = 0; i + 1 < n; ++i) {
    i64 least = i;
    for (i64 j = i + 1; j < n; ++j)
      if (d[j] < d[least]) least = j;
    if (least == i) continue;
    const double value = d[i];
    d[i] = d[least];
    d[least] = value;
    if (z) swap_rows(z + i * n, z + least * n, n);
  }
}

// Whether a vector is to be turned round: its first element of at least half the largest magnitude
// is to be positive.
inline bool is_turned(const double* x, i64 n, i64 step) {
  double largest = 0;
  for (i64 i = 0; i < n; ++i) {
    const double value = magnitude(x[i * step]);
    if (value > largest) largest = value;
  }
  for (i64 i = 0; i < n; ++i)
    if (2 * magnitude(x[i * step]) >= largest) return x[i * step] < 0;
  return false;
}
inline void turn_round(double* x, i64 n, i64 step) {
  for (i64 i = 0; i < n; ++i) x[i * step] = -x[i * step];
}

// --- singular values -----------------------------------------------------------------------------

// Turns rows of w [n, m] until they are orthogonal; those of v [n, n] along. False if they never
// are.
inline bool orthogonalise(double* w, double* v, i64 n, i64 m) {
  const double small = kEpsilon * root((double)(m + 1));
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool turned = false;
    for (i64 i = 0; i < n; ++i) {
      for (i64 j = i + 1; j < n; ++j) {
        double *const x = w + i * m, *const y = w + j * m;
        const double xx = dot_rows(x, x, m), yy = dot_rows(y, y, m), xy = dot_rows(x, y, m);
        if (!(magnitude(xy) > small * root(xx) * root(yy))) continue;
        turned = true;
        const double ratio = (yy - xx) / (2 * xy);
        const double size = magnitude(ratio);
        const double tangent =
            __builtin_copysign(1 / (size + (size < 1e100 ? root(1 + size * size) : size)), ratio);
        const double c = 1 / root(1 + tangent * tangent);
        rotate_rows(x, y, c, c * tangent, m);
        rotate_rows(v + i * n, v + j * n, c, c * tangent, n);
      }
    }
    if (!turned) return true;
  }
  return false;
}

// Rows of w [n, m] and v by descending length, which `s` gets.
inline void sort_by_length(double* w, double* v, i64 n, i64 m, double* s) {
  for (i64 i = 0; i < n; ++i) s[i] = length(w + i * m, m, 1);
  for (i64 i = 0; i < n; ++i) {
    i64 longest = i;
    for (i64 j = i + 1; j < n; ++j)
      if (s[j] > s[longest]) longest = j;
    if (longest == i) continue;
    const double value = s[i];
    s[i] = s[longest];
    s[longest] = value;
    swap_rows(w + i * m, w + longest * m, m);
    swap_rows(v + i * n, v + longest * n, n);
  }
}

// What svd_tall needs beside its results.
inline i64 tall_scratch(i64 m, i64 n, i64 columns) { return 2 * m * n + n + index_max(n, columns); }

// at [n, m] = A^T with m >= n -> u [m, columns], s [n], vt [n, n]; `at` is lost. False if the
// algorithm does not come to its end.
inline bool svd_tall(double* at, i64 m, i64 n, i64 columns, double* u, double* s, double* vt,
                     double* scratch) {
  const double scale = safe_scale(at, n * m);
  for (i64 i = 0; i < n * m; ++i) at[i] *= scale;
  set_identity(vt, n);
  if (!orthogonalise(at, vt, n, m)) return false;
  sort_by_length(at, vt, n, m, s);
  double *const a = scratch, *const taus = a + m * n, *const products = taus + n;
  transpose(a, at, n, m);
  qr_matrix(a, m, n, taus, products);
  q_matrix(a, m, n, taus, u, columns, products);
  for (i64 j = 0; j < n; ++j)
    if (a[j * n + j] < 0) turn_round(u + j, m, columns);
  for (i64 i = 0; i < n; ++i) s[i] /= scale;
  return true;
}

// The signs of pairs of vectors, by the left ones, and of those without a partner. Vectors are
// columns of u [m, columns] with m >= n, and rows of vt [n, n]; `swapped`: u are the right ones.
inline void turn_pairs(double* u, i64 m, i64 columns, double* vt, i64 n, bool swapped) {
  for (i64 j = 0; j < columns; ++j) {
    const bool alone = j >= n;
    double *const tall = u + j, *const row = vt + j * n;
    const bool turned = swapped && !alone ? is_turned(row, n, 1) : is_turned(tall, m, columns);
    if (!turned) continue;
    turn_round(tall, m, columns);
    if (!alone) turn_round(row, n, 1);
  }
}

// --- exponentials --------------------------------------------------------------------------------

// c = a b, all [n, n].
inline void multiply(double* __restrict c, const double* a, const double* b, i64 n) {
  for (i64 i = 0; i < n * n; ++i) c[i] = 0;
  for (i64 i = 0; i < n; ++i)
    for (i64 k = 0; k < n; ++k) add_row(c + i * n, b + k * n, a[i * n + k], n);
}

// Coefficients of the diagonal Pade approximant of order 13 of exp, and the norm up to which it is
// exact in f64 (Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, 2005).
constexpr double kPade[14] = {64764752532480000., 32382376266240000., 7771770303897600.,
                              1187353796428800.,  129060195264000.,   10559470521600.,
                              670442572800.,      33522128640.,       1323241920.,
                              40840800.,          960960.,            16380.,
                              182.,               1.};
constexpr double kPadeNorm = 5.371920351148152;

// sum[i] = first a2[i] + second a4[i] + third a6[i]
inline void combine(double* sum, const double* powers, i64 size, double first, double second,
                    double third) {
  for (i64 i = 0; i < size; ++i)
    sum[i] = first * powers[i] + second * powers[size + i] + third * powers[2 * size + i];
}
inline void add_diagonal(double* a, i64 n, double value) {
  for (i64 i = 0; i < n; ++i) a[i * n + i] += value;
}

// a -> exp(a) [n, n]; `scratch` holds 6 n^2, `pivots` n.
inline void exponential(double* a, i64 n, double* scratch, int32_t* pivots) {
  const i64 size = n * n;
  double norm = 0;
  for (i64 j = 0; j < n; ++j) {
    double column = 0;
    for (i64 i = 0; i < n; ++i) column += magnitude(a[i * n + j]);
    norm = column > norm ? column : norm;
  }
  int squarings = 0;
  for (; norm > kPadeNorm && squarings < 1100; ++squarings) norm *= 0.5;
  for (i64 i = 0; i < size; ++i) a[i] = __builtin_ldexp(a[i], -squarings);
  double *const powers = scratch, *const odd = scratch + 3 * size, *const even = odd + size,
               *const sum = even + size;
  multiply(powers, a, a, n);
  multiply(powers + size, powers, powers, n);
  multiply(powers + 2 * size, powers, powers + size, n);
  // odd = a (a6 (b13 a6 + b11 a4 + b9 a2) + b7 a6 + b5 a4 + b3 a2 + b1)
  combine(sum, powers, size, kPade[9], kPade[11], kPade[13]);
  multiply(even, powers + 2 * size, sum, n);
  combine(sum, powers, size, kPade[3], kPade[5], kPade[7]);
  for (i64 i = 0; i < size; ++i) sum[i] += even[i];
  add_diagonal(sum, n, kPade[1]);
  multiply(odd, a, sum, n);
  // even = a6 (b12 a6 + b10 a4 + b8 a2) + b6 a6 + b4 a4 + b2 a2 + b0
  combine(sum, powers, size, kPade[8], kPade[10], kPade[12]);
  multiply(even, powers + 2 * size, sum, n);
  combine(sum, powers, size, kPade[2], kPade[4], kPade[6]);
  for (i64 i = 0; i < size; ++i) even[i] += sum[i];
  add_diagonal(even, n, kPade[0]);
  for (i64 i = 0; i < size; ++i) {
    a[i] = even[i] + odd[i];
    even[i] -= odd[i];
  }
  int32_t info = 0;
  lu_matrix(even, n, n, pivots, &info);
  lu_solve_matrix(even, pivots, n, a, n, false);
  for (; squarings > 0; --squarings) {
    multiply(sum, a, a, n);
    copy_row(a, sum, size);
  }
}

}  // namespace detail

// The `upper` or the lower triangle of a symmetric a [n, n] -> values [n] ascending, vectors [n, n]
// in columns (none if null), info: 0, or for what does not converge another number.
template <class T>
inline int eigh(Run* run, i64 batch, i64 n, bool upper, const T* a, T* values, T* vectors,
                int32_t* info) {
  const bool wanted = vectors != nullptr;
  return detail::each_matrix(run, batch, (wanted ? 9.0 : 3.0) * n * n * n, [=](i64 number) {
    Scratch<double> scratch(2 * n * n + 4 * n);
    if (!scratch.data) return (int)STATUS_MEMORY;
    double *const work = scratch.data, *const basis = work + n * n, *const d = basis + n * n,
           *const e = d + n, *const taus = e + n, *const products = taus + n;
    const T* const from = a + number * n * n;
    for (i64 i = 0; i < n; ++i)
      for (i64 j = 0; j < n; ++j)
        work[i * n + j] = (double)((j > i) == upper || i == j ? from[i * n + j] : from[j * n + i]);
    T* const to = values + number * n;
    info[number] = detail::all_finite(work, n * n) ? 0 : (int32_t)n;
    if (info[number]) return (int)STATUS_OK;
    const double scale = detail::safe_scale(work, n * n);
    for (i64 i = 0; i < n * n; ++i) work[i] *= scale;
    detail::tridiagonalise(work, n, d, e, taus, products);
    if (wanted) detail::tridiagonal_basis(work, n, taus, basis);
    info[number] = detail::diagonalise(d, e, n, wanted ? basis : nullptr);
    detail::sort_values(d, wanted ? basis : nullptr, n);
    for (i64 i = 0; i < n; ++i) to[i] = (T)(d[i] / scale);
    for (i64 i = 0; i < n && wanted; ++i)
      if (detail::is_turned(basis + i * n, n, 1)) detail::turn_round(basis + i * n, n, 1);
    if (wanted) detail::transpose(vectors + number * n * n, basis, n, n);
    return (int)STATUS_OK;
  });
}

// a [m, n] -> u [m, columns], s [min(m, n)] descending, vh [rows, n], info: 0, or for what does not
// converge another number. `columns` and `rows` are min(m, n), or all of m and n.
template <class T>
inline int svd(Run* run, i64 batch, i64 m, i64 n, i64 columns, i64 rows, const T* a, T* u, T* s,
               T* vh, int32_t* info) {
  const i64 steps = index_min(m, n), longer = index_max(m, n);
  const bool wide = m < n;
  const i64 kept = wide ? rows : columns;  // columns of the longer side's vectors
  const double work = 30.0 * steps * steps * longer;
  return detail::each_matrix(run, batch, work, [=](i64 number) {
    const i64 needed = detail::tall_scratch(longer, steps, kept);
    Scratch<double> scratch(longer * steps + longer * kept + steps * steps + steps + needed);
    if (!scratch.data) return (int)STATUS_MEMORY;
    double *const at = scratch.data, *const left = at + longer * steps,
                 *const right = left + longer * kept, *const lengths = right + steps * steps,
                 *const rest = lengths + steps;
    const T* const from = a + number * m * n;
    for (i64 i = 0; i < m; ++i)
      for (i64 j = 0; j < n; ++j) at[wide ? i * n + j : j * m + i] = (double)from[i * n + j];
    info[number] = detail::all_finite(at, longer * steps) ? 0 : (int32_t)(steps + 1);
    if (info[number]) return (int)STATUS_OK;
    if (!detail::svd_tall(at, longer, steps, kept, left, lengths, right, rest)) {
      info[number] = (int32_t)steps;
      return (int)STATUS_OK;
    }
    detail::turn_pairs(left, longer, kept, right, steps, wide);
    detail::convert(s + number * steps, lengths, steps);
    T *const to_u = u + number * m * columns, *const to_vh = vh + number * rows * n;
    if (wide) {
      detail::transpose(to_u, right, steps, steps);
      detail::transpose(to_vh, left, longer, kept);
    } else {
      detail::convert(to_u, left, longer * kept);
      detail::convert(to_vh, right, steps * steps);
    }
    return (int)STATUS_OK;
  });
}

// a [n, n] -> exp(a).
template <class T> inline int matrix_exp(Run* run, i64 batch, i64 n, const T* a, T* result) {
  return detail::each_matrix(run, batch, 25.0 * n * n * n, [=](i64 number) {
    const i64 size = n * n;
    Scratch<double> scratch(7 * size);
    Scratch<int32_t> pivots(n);
    if (!scratch.data || !pivots.data) return (int)STATUS_MEMORY;
    detail::convert(scratch.data, a + number * size, size);
    detail::exponential(scratch.data, n, scratch.data + size, pivots.data);
    detail::convert(result + number * size, scratch.data, size);
    return (int)STATUS_OK;
  });
}

// The values and the info of eigh.
template <class T>
inline int eigvalsh(Run* run, i64 batch, i64 n, bool upper, const T* a, T* values, int32_t* info) {
  return eigh(run, batch, n, upper, a, values, (T*)nullptr, info);
}

}  // namespace ptc

#endif
