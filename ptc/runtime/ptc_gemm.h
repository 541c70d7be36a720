// Matrix products with an epilogue: out(m, n) = epilogue(sum over k of A[m, k] * B[k, n]).
//
// Owns the loop order, blocking and packing around ptc_tile.h's kernel: gemm_packed for weights
// packed once by pack_b, gemm and gemm_batched for operands that live elsewhere and may change. T
// is the type of the sums: float, double, int32_t or int64_t; operands of other types are converted
// when packed. Knows nothing of what the epilogue does.
#ifndef PTC_GEMM_H
#define PTC_GEMM_H

#include "ptc_threads.h"
#include "ptc_tile.h"

namespace ptc {

// Sizes known at compile time, -1 where unknown. Known sizes mean fewer kernels to compile and
// exact tails.
template <i64 M_ = -1, i64 N_ = -1> struct Dims {
  static constexpr i64 M = M_, N = N_;
};

namespace detail {

// Beyond this many k a panel no longer stays in L2 beside the rest: k is blocked and a group of
// tiles keeps its sums in a buffer meanwhile.
constexpr i64 kDepth = 2048;
constexpr int kGroup = 8;

// Rows given by tiles [first, last) of `tiles`, one panel of `columns` real columns.
template <class T, int NV, i64 Rows, class E>
inline void run_panel(i64 first, i64 last, i64 tiles, i64 m, i64 k, const T* a, i64 lda, const T* b,
                      i64 ldb, i64 n, int columns, const E& epilogue) {
  constexpr int limit = tile_rows(NV), width = NV * native_lanes<T>;
  const i64 zero = 0;
  if (k <= kDepth) {
    TileBuffer<T, limit * width> buffer;
    T* c = buffer.values;
    for (i64 i = first; i < last; ++i) {
      TileRows t = tile_at<limit, Rows>(i, tiles, m);
      tile_for<T, NV, Rows>(t.rows)(1, k, a + t.begin * lda, &zero, lda, b, ldb, c, false);
      finish_tile(c + t.skip * width, width, t.begin + t.skip, t.rows - t.skip, n, columns,
                  epilogue);
    }
    return;
  }
  TileBuffer<T, kGroup * limit * width> buffer;
  T* c = buffer.values;
  for (i64 g = first; g < last; g += kGroup) {
    i64 end = min_of(g + kGroup, last);
    for (i64 k0 = 0; k0 < k; k0 += kDepth)
      for (i64 i = g; i < end; ++i) {
        TileRows t = tile_at<limit, Rows>(i, tiles, m);
        tile_for<T, NV, Rows>(t.rows)(1, min_of(kDepth, k - k0), a + t.begin * lda + k0, &zero, lda,
                                      b + k0 * ldb, ldb, c + (i - g) * limit * width, k0 > 0);
      }
    for (i64 i = g; i < end; ++i) {
      TileRows t = tile_at<limit, Rows>(i, tiles, m);
      finish_tile(c + ((i - g) * limit + t.skip) * width, width, t.begin + t.skip, t.rows - t.skip,
                  n, columns, epilogue);
    }
  }
}

// Panel widths in vectors as a set of bits: those of a packed B with N columns (N < 0: any).
template <class T, i64 N> constexpr int packed_widths() {
  if (N < 0) return (2 << kPanelVectors) - 2;
  i64 v = ceil_div(N, native_lanes<T>);
  int full = panel_vectors(v);
  return 1 << full | (v % full ? 1 << v % full : 0);
}

// run_panel for `vectors` vectors a panel, one of the set Widths: only those are compiled.
template <class T, int NV, i64 Rows, int Widths, class... Args>
inline void run_panel_of(int vectors, i64 share, i64 shares, i64 m, Args&&... args) {
  if constexpr (NV >= 1) {
    if constexpr ((Widths >> NV & 1) != 0) {
      if (vectors == NV) {
        i64 tiles = tile_count<tile_rows(NV), Rows>(m);
        run_panel<T, NV, Rows>(tiles * share / shares, tiles * (share + 1) / shares, tiles, m,
                               args...);
        return;
      }
    }
    run_panel_of<T, NV - 1, Rows, Widths>(vectors, share, shares, m, args...);
  }
}

// Work is cut in units of one panel and one share of the rows. Panels outside, so that each is read
// once and stays in L2 while all rows pass; but when B as a whole fits there, shares of rows
// outside: A is then read once and the output written row by row.
struct Split {
  i64 panels, shares, units;
  bool rows_outer;
  PTC_INLINE i64 panel(i64 unit) const { return rows_outer ? unit % panels : unit / shares; }
  PTC_INLINE i64 share(i64 unit) const { return rows_outer ? unit / panels : unit % shares; }
};
constexpr i64 kSmallB = 256 << 10, kShareRows = 96;
inline Split split_work(Pool* pool, i64 panels, i64 m, i64 b_bytes) {
  i64 threads = pool_size(pool);
  bool rows_outer = panels > 1 && b_bytes <= kSmallB && m > kShareRows;
  i64 shares = rows_outer ? ceil_div(m, kShareRows) : 1;
  if (threads > 1) shares = max_of(shares, min_of(ceil_div(m, 16), ceil_div(4 * threads, panels)));
  return {panels, shares, panels * shares, rows_outer};
}

// One row times two neighbouring full panels: six or eight chains of additions cover the latency.
// Weights that come from memory (Far) are prefetched 2 KB ahead; those in L3 arrive faster without.
constexpr i64 kFarBytes = 16 << 20;
template <class T, int NV, bool Far>
PTC_NOINLINE void gemv_kernel(i64 k, const T* a, const T* b, T* c) {
  constexpr int L = native_lanes<T>;
  typedef vec<T, L> V;
  const T* b1 = b + k * NV * L;
  V total[2 * NV];
  for (int j = 0; j < 2 * NV; ++j) total[j] = V(T(0));
  for (i64 k0 = 0; k0 < k; k0 += kChunk) {
    V acc[2 * NV];
#pragma GCC unroll 8
    for (int j = 0; j < 2 * NV; ++j) acc[j] = V(T(0));
    for (i64 i = k0, end = min_of(k, k0 + kChunk); i < end; ++i) {
      V x = V(a[i]);
      if constexpr (Far) {
        constexpr int line = 64 / (int)sizeof(T), ahead = 2048 / (int)sizeof(T);
#pragma GCC unroll 8
        for (int j = 0; j < NV * L; j += line) {
          __builtin_prefetch(b + ahead + j);
          __builtin_prefetch(b1 + ahead + j);
        }
      }
#pragma GCC unroll 4
      for (int j = 0; j < NV; ++j) {
        acc[j] = acc[j] + x * load<T, L>(b + j * L);
        acc[NV + j] = acc[NV + j] + x * load<T, L>(b1 + j * L);
      }
      b += NV * L;
      b1 += NV * L;
    }
#pragma GCC unroll 8
    for (int j = 0; j < 2 * NV; ++j) total[j] = total[j] + acc[j];
  }
#pragma GCC unroll 8
  for (int j = 0; j < 2 * NV; ++j) store(c + j * L, total[j]);
}

template <class T, int NV, int Widths>
inline void gemv_pair(int vectors, bool far, i64 k, const T* a, const T* b, T* c) {
  if constexpr (NV >= 1) {
    if constexpr ((Widths >> NV & 1) != 0)
      if (vectors == NV)
        return (far ? gemv_kernel<T, NV, true> : gemv_kernel<T, NV, false>)(k, a, b, c);
    gemv_pair<T, NV - 1, Widths>(vectors, far, k, a, b, c);
  }
}

template <class T, i64 N, class E>
inline void gemv_packed(Pool* pool, i64 n, i64 k, const T* a, const T* packed, int width,
                        const E& epilogue) {
  constexpr int L = native_lanes<T>, widths = packed_widths<T, N>();
  const bool far = n * k * (i64)sizeof(T) > kFarBytes;
  parallel_for(pool, ceil_div(n, 2 * width), 1, [&](i64 begin, i64 end, int) {
    for (i64 u = begin; u < end; ++u) {
      i64 n0 = u * 2 * width;
      int columns = (int)min_of(2 * width, n - n0), vectors = (int)ceil_div(columns, L);
      if (vectors == 2 * (width / L)) {
        TileBuffer<T, 2 * kPanelVectors * L> buffer;
        T* c = buffer.values;
        gemv_pair<T, kPanelVectors, widths>(width / L, far, k, a, packed + k * n0, c);
        finish_tile(c, 2 * width, 0, 1, n0, columns, epilogue);
        continue;
      }
      for (int j = 0; j < columns; j += width) {
        int part = (int)min_of(width, columns - j), v = (int)ceil_div(part, L);
        run_panel_of<T, kPanelVectors, 1, widths>(v, 0, 1, 1, k, a, k, packed + k * (n0 + j),
                                                  (i64)(v * L), n0 + j, part, epilogue);
      }
    }
  });
}

}  // namespace detail

// out = A[m, k] B with B packed by pack_b<T>(.., k, n, ..). `a` has rows lda elements apart.
template <class D = Dims<>, class T, class E>
inline void gemm_packed(Pool* pool, i64 m, i64 n, i64 k, const T* a, i64 lda, const T* packed,
                        const E& epilogue) {
  constexpr int L = detail::native_lanes<T>;
  if (m <= 0) return;
  int width = panel_width<T>(n);
  if constexpr (D::M == 1 || D::M < 0)
    if (m == 1) {
      detail::gemv_packed<T, D::N>(pool, n, k, a, packed, width, epilogue);
      return;
    }
  detail::Split split =
      detail::split_work(pool, detail::ceil_div(n, width), m, k * n * (i64)sizeof(T));
  parallel_for(pool, split.units, 1, [&](i64 begin, i64 end, int) {
    for (i64 u = begin; u < end; ++u) {
      i64 n0 = split.panel(u) * width;
      int columns = (int)detail::min_of(width, n - n0);
      int vectors = (int)detail::ceil_div(columns, L);
      detail::run_panel_of<T, detail::kPanelVectors, D::M, detail::packed_widths<T, D::N>()>(
          vectors, split.share(u), split.shares, m, k, a, lda, packed + k * n0, (i64)(vectors * L),
          n0, columns, epilogue);
    }
  });
}

namespace detail {

// Four sums of lanes, as four neighbouring values.
template <class T, int L>
PTC_INLINE void store_sums4(T* p, vec<T, L> a, vec<T, L> b, vec<T, L> c, vec<T, L> d) {
  typedef vec<T, L> V;
  if constexpr (L < 4) {
    p[0] = hsum(a);
    p[1] = hsum(b);
    p[2] = hsum(c);
    p[3] = hsum(d);
  } else {
    auto s = iota_seq<L>();
    V ab = V::wrap(interleave_low<1>(a.v, b.v, s)) + V::wrap(interleave_high<1>(a.v, b.v, s));
    V cd = V::wrap(interleave_low<1>(c.v, d.v, s)) + V::wrap(interleave_high<1>(c.v, d.v, s));
    V all = V::wrap(interleave_low<2>(ab.v, cd.v, s)) + V::wrap(interleave_high<2>(ab.v, cd.v, s));
    if constexpr (L == 4)
      store(p, all);
    else if constexpr (L == 8)
      store(p, all.low() + all.high());
    else {
      auto half = all.low() + all.high();
      store(p, half.low() + half.high());
    }
  }
}

// c[MR][4] at stride ldc: MR rows of A times four rows of B (given as [n, k]), lanes along k.
template <class T, int MR>
PTC_NOINLINE void dot_kernel(i64 k, const T* a, i64 lda, const T* b, i64 ldb, T* c, i64 ldc) {
  constexpr int L = native_lanes<T>;
  typedef vec<T, L> V;
  V acc[MR][4];
#pragma GCC unroll 8
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) acc[m][j] = V(T(0));
  i64 i = 0;
  for (; i + L <= k; i += L) {
    V row[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) row[j] = load<T, L>(b + j * ldb + i);
#pragma GCC unroll 8
    for (int m = 0; m < MR; ++m) {
      V x = load<T, L>(a + m * lda + i);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) acc[m][j] = acc[m][j] + x * row[j];
    }
  }
  if (i < k) {
    int left = (int)(k - i);
    V row[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) row[j] = load_n<T, L>(b + j * ldb + i, left);
#pragma GCC unroll 8
    for (int m = 0; m < MR; ++m) {
      V x = load_n<T, L>(a + m * lda + i, left);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) acc[m][j] = acc[m][j] + x * row[j];
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < MR; ++m) store_sums4(c + m * ldc, acc[m][0], acc[m][1], acc[m][2], acc[m][3]);
}

#if defined(PTC_AVX512) || defined(__aarch64__)
constexpr int kDotRows = 5;
#else
constexpr int kDotRows = 2;
#endif

template <class T>
using DotFn = void (*)(i64 k, const T* a, i64 lda, const T* b, i64 ldb, T* c, i64 ldc);
template <class T, i64 Rows> inline DotFn<T> dot_for(int rows) {
  if constexpr (Rows >= 0) {
    constexpr i64 tiles = max_of(1, ceil_div(Rows, kDotRows));
    constexpr int small = (int)max_of(1, Rows / tiles),
                  large = (int)max_of(1, ceil_div(Rows, tiles));
    if constexpr (small != large)
      if (rows == small) return dot_kernel<T, small>;
    return dot_kernel<T, large>;
  } else {
    if (rows == kDotRows) return dot_kernel<T, kDotRows>;
    if constexpr (kDotRows > 4)
      if (rows == 4) return dot_kernel<T, 4>;
    return rows == 2 ? dot_kernel<T, 2> : dot_kernel<T, 1>;
  }
}

// out for columns [n0, n0 + columns), columns <= PTC_VLEN, B given as rows [n, k], n >= 4. The last
// four columns of a ragged n are computed as one group that overlaps its neighbour.
template <class T, i64 Rows, class E>
inline void dot_block(i64 m, i64 k, const T* a, i64 lda, const T* b, i64 ldb, i64 n, i64 n0,
                      int columns, const E& epilogue) {
  constexpr int limit = kDotRows, group = 12;
  alignas(64) T c[group * limit * PTC_VLEN];
  T four[limit * 4];
  i64 tiles = tile_count<limit, Rows>(m);
  for (i64 g = 0; g < tiles; g += group) {
    i64 end = min_of(g + group, tiles);
    for (int j = 0; j < columns; j += 4) {
      i64 at = min_of(n0 + j, n - 4);
      int shift = (int)(n0 + j - at);
      for (i64 i = g; i < end; ++i) {
        TileRows t = tile_at<limit, Rows>(i, tiles, m);
        T* to = c + (i - g) * limit * PTC_VLEN + j;
        dot_for<T, Rows>(t.rows)(k, a + t.begin * lda, lda, b + at * ldb, ldb, shift ? four : to,
                                 shift ? 4 : PTC_VLEN);
        if (shift)
          for (int r = 0; r < t.rows; ++r)
            for (int q = shift; q < 4; ++q) to[r * PTC_VLEN + q - shift] = four[r * 4 + q];
      }
    }
    for (i64 i = g; i < end; ++i) {
      TileRows t = tile_at<limit, Rows>(i, tiles, m);
      finish_tile(c + ((i - g) * limit + t.skip) * PTC_VLEN, PTC_VLEN, t.begin + t.skip,
                  t.rows - t.skip, n0, columns, epilogue);
    }
  }
}

// A as rows of T with inner stride 1, copied to `to` ([m][k]) unless it is that already.
template <class T, class A>
PTC_NOINLINE const T* dense_rows(T* to, const A* a, i64 m, i64 k, i64 a_m, i64 a_k, i64& lda) {
  constexpr int L = native_lanes<T>;
  if constexpr (same<A, T>::value)
    if (a_k == 1) {
      lda = a_m;
      return a;
    }
  lda = k;
  i64 r = 0;
  if (a_k != 1 && a_m == 1)
    for (; r + L <= m; r += L) {
      i64 c = 0;
      for (; c + L <= k; c += L) transpose_block(to + r * k + c, k, a + r + c * a_k, a_k);
      for (; c < k; ++c)
        for (int i = 0; i < L; ++i) to[(r + i) * k + c] = convert<T>(a[r + i + c * a_k]);
    }
  for (; r < m; ++r) {
    const A* row = a + r * a_m;
    i64 c = 0;
    if (a_k == 1)
      for (; c + L <= k; c += L) store(to + r * k + c, convert<T>(load<A, L>(row + c)));
    for (; c < k; ++c) to[r * k + c] = convert<T>(row[c * a_k]);
  }
  return to;
}

constexpr i64 round_up(i64 bytes) { return (bytes + 63) / 64 * 64; }

// Columns of one unit of work of an unpacked product. Unknown n: panels of a fixed number of
// vectors, or one, so that few kernels are compiled.
constexpr int kLooseVectors = kPanelVectors < 3 ? kPanelVectors : 3;
template <class T, i64 N> PTC_INLINE int loose_width(i64 n) {
  if constexpr (N >= 0)
    return panel_width<T>(N);
  else
    return (n > native_lanes<T> ? kLooseVectors : 1) * native_lanes<T>;
}
template <class T, i64 N> constexpr int loose_widths() {
  if constexpr (N >= 0)
    return packed_widths<T, N>();
  else
    return 1 << kLooseVectors | 2;
}

// Up to this many rows a product whose B is [n, k] reads it in place; beyond, panels are packed.
constexpr i64 kDotLimit = 10;
// The same for B as [k, n], whose rows a tile can read directly.
constexpr i64 kDirectLimit = 16;
// Up to this many rows, a B as [k, n] is streamed row by row.
constexpr int kStreamLimit = 4;

// y[MR][width] = A B over whole rows of B[k, columns], eight rows at a time; width is `columns`
// rounded up to vectors.
template <class T, int MR>
PTC_NOINLINE void stream_kernel(i64 k, const T* a, i64 lda, const T* b, i64 ldb, T* y, int width,
                                int columns) {
  constexpr int L = native_lanes<T>, U = 8;
  typedef vec<T, L> V;
  for (i64 i = 0; i < k; i += U) {
    int rows = (int)min_of(U, k - i);
    const T *x = a + i, *r = b + i * ldb;
    for (int j = 0; j < columns; j += L) {
      int left = columns - j;
      V acc[MR];
#pragma GCC unroll 4
      for (int m = 0; m < MR; ++m) acc[m] = i ? load<T, L>(y + m * width + j) : V(T(0));
      if (rows == U && left >= L) {
#pragma GCC unroll 8
        for (int u = 0; u < U; ++u) {
          V row = load<T, L>(r + u * ldb + j);
#pragma GCC unroll 4
          for (int m = 0; m < MR; ++m) acc[m] = acc[m] + V(x[m * lda + u]) * row;
        }
      } else {
        for (int u = 0; u < rows; ++u) {
          V row = left >= L ? load<T, L>(r + u * ldb + j) : load_n<T, L>(r + u * ldb + j, left);
          for (int m = 0; m < MR; ++m) acc[m] = acc[m] + V(x[m * lda + u]) * row;
        }
      }
      for (int m = 0; m < MR; ++m) store(y + m * width + j, acc[m]);
    }
  }
}

// out for columns [n0, n0 + columns) of a product of at most kStreamLimit rows.
constexpr int kStreamColumns = 1024;
template <class T, int MR, i64 Rows, class E>
inline void stream_block(i64 m, i64 k, const T* a, i64 lda, const T* b, i64 ldb, i64 n0,
                         int columns, const E& epilogue) {
  if constexpr (MR > 0) {
    if (Rows == MR || (Rows < 0 && m == MR)) {
      TileBuffer<T, MR * kStreamColumns> y;
      int width = (int)ceil_div(columns, native_lanes<T>) * native_lanes<T>;
      stream_kernel<T, MR>(k, a, lda, b + n0, ldb, y.values, width, columns);
      finish_tile(y.values, width, 0, MR, n0, columns, epilogue);
      return;
    }
    stream_block<T, MR - 1, Rows>(m, k, a, lda, b, ldb, n0, columns, epilogue);
  }
}

// One panel's worth of columns of an unpacked product, rows share `share` of `shares`.
template <class T, class D, class B, class E>
inline void loose_panel(i64 share, i64 shares, i64 m, i64 n, i64 k, const T* a, i64 lda, const B* b,
                        i64 b_k, i64 b_n, i64 n0, int width, T* panel, const E& epilogue) {
  constexpr int L = native_lanes<T>;
  constexpr int widths = loose_widths<T, D::N>();
  int columns = (int)min_of(width, n - n0);
  if constexpr (same<B, T>::value) {
    if (b_n == 1 && m <= kDirectLimit && columns == width) {
      run_panel_of<T, kPanelVectors, D::M, widths>(width / L, share, shares, m, k, a, lda, b + n0,
                                                   b_k, n0, columns, epilogue);
      return;
    }
  }
  int vectors = D::N >= 0 ? (int)ceil_div(columns, L) : columns <= L ? 1 : width / L;
  pack_panel(panel, vectors * L, b + n0 * b_n, k, columns, b_k, b_n);
  run_panel_of<T, kPanelVectors, D::M, widths>(vectors, share, shares, m, k, a, lda, panel,
                                               (i64)(vectors * L), n0, columns, epilogue);
}

template <class T, class D, class A, class B, class E>
inline void gemm_on(Pool* pool, i64 m, i64 n, i64 k, const A* a, i64 a_m, i64 a_k, const B* b,
                    i64 b_k, i64 b_n, char* scratch, i64 panel_bytes, const E& epilogue) {
  if (m <= 0 || n <= 0) return;
  i64 lda;
  i64 panels_bytes = panel_bytes * pool_size(pool);
  const T* rows = dense_rows((T*)(scratch + panels_bytes), a, m, k, a_m, a_k, lda);
  if constexpr (same<B, T>::value) {
    if (b_k == 1 && b_n != 1 && m <= kDotLimit && k >= 4 * native_lanes<T> && n >= 4) {
      parallel_for(pool, ceil_div(n, PTC_VLEN), 1, [&](i64 begin, i64 end, int) {
        for (i64 u = begin; u < end; ++u)
          dot_block<T, D::M>(m, k, rows, lda, b, b_n, n, u * PTC_VLEN,
                             (int)min_of(PTC_VLEN, n - u * PTC_VLEN), epilogue);
      });
      return;
    }
  }
  if constexpr (same<B, T>::value && (D::M < 0 || D::M <= kStreamLimit)) {
    if (b_n == 1 && m <= kStreamLimit) {
      i64 blocks = ceil_div(n, kStreamColumns);
      parallel_for(pool, blocks, 1, [&](i64 begin, i64 end, int) {
        for (i64 u = begin; u < end; ++u)
          stream_block<T, kStreamLimit, D::M>(m, k, rows, lda, b, b_k, u * kStreamColumns,
                                              (int)min_of(kStreamColumns, n - u * kStreamColumns),
                                              epilogue);
      });
      return;
    }
  }
  int width = loose_width<T, D::N>(n);
  Split split =
      split_work(pool, ceil_div(n, width), m, kSmallB + 1);  // a panel is packed once a unit
  parallel_for(pool, split.units, 1, [&](i64 begin, i64 end, int worker) {
    for (i64 u = begin; u < end; ++u)
      loose_panel<T, D>(split.share(u), split.shares, m, n, k, rows, lda, b, b_k, b_n,
                        split.panel(u) * width, width, (T*)(scratch + panel_bytes * worker),
                        epilogue);
  });
}

template <class T> constexpr i64 panel_bytes(i64 k) {
  return round_up(k * kPanelVectors * native_lanes<T> * (i64)sizeof(T));
}
template <class T, class A> constexpr i64 rows_bytes(i64 m, i64 k, i64 a_k) {
  return same<A, T>::value && a_k == 1 ? 0 : round_up(m * k * (i64)sizeof(T));
}

}  // namespace detail

// Bytes of 64-byte aligned scratch for gemm and gemm_batched with `threads` threads.
template <class T, class A> constexpr i64 gemm_scratch(i64 m, i64 k, i64 a_k, int threads) {
  return threads * (detail::panel_bytes<T>(k) + detail::rows_bytes<T, A>(m, k, a_k));
}

// out = A B with A[m, k] at a + m * a_m + k * a_k and B[k, n] at b + k * b_k + n * b_n, packed as
// it pays.
template <class T, class D = Dims<>, class A, class B, class E>
inline void gemm(Pool* pool, i64 m, i64 n, i64 k, const A* a, i64 a_m, i64 a_k, const B* b, i64 b_k,
                 i64 b_n, void* scratch, const E& epilogue) {
  detail::gemm_on<T, D>(pool, m, n, k, a, a_m, a_k, b, b_k, b_n, (char*)scratch,
                        detail::panel_bytes<T>(k), epilogue);
}

// `batch` products; operands advance by a_batch and b_batch (0: shared). The epilogue is called
// with the batch number first: epilogue(acc, batch, m, n, lanes).
template <class T, class D = Dims<>, class A, class B, class E>
inline void gemm_batched(Pool* pool, i64 batch, i64 m, i64 n, i64 k, const A* a, i64 a_batch,
                         i64 a_m, i64 a_k, const B* b, i64 b_batch, i64 b_k, i64 b_n, void* scratch,
                         const E& epilogue) {
  i64 panel = detail::panel_bytes<T>(k), one = panel + detail::rows_bytes<T, A>(m, k, a_k);
  auto product = [&](Pool* inner, i64 i, char* at) {
    auto bound = [&](vec<T, PTC_VLEN> acc, i64 row, i64 column, int lanes) {
      epilogue(acc, i, row, column, lanes);
    };
    detail::gemm_on<T, D>(inner, m, n, k, a + i * a_batch, a_m, a_k, b + i * b_batch, b_k, b_n, at,
                          panel, bound);
  };
  if (batch < pool_size(pool)) {
    for (i64 i = 0; i < batch; ++i) product(pool, i, (char*)scratch);
    return;
  }
  parallel_for(pool, batch, 1, [&](i64 begin, i64 end, int worker) {
    for (i64 i = begin; i < end; ++i) product(nullptr, i, (char*)scratch + one * worker);
  });
}

}  // namespace ptc

#endif
