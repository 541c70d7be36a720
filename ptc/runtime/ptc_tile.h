// The register-tile kernel that matrix products and convolutions share, and how B is laid out for
// it.
//
// Owns the tile shapes of each target, the packed panel layout and the epilogue walk. A tile is MR
// rows by NV vectors; its result goes to a small row-major buffer that stays in L1, over which the
// epilogue runs. Knows nothing of whole matrices: ptc_gemm.h and ptc_conv.h choose tiles, order and
// scratch.
//
// Panels: B[K, N] is cut into panels of NR = panel_width(N) columns; a panel is dense [K][NR]. The
// last panel is only as many vectors wide as its columns need and padded with zeros.
#ifndef PTC_TILE_H
#define PTC_TILE_H

#include "ptc_vec.h"

namespace ptc {

// Called with PTC_VLEN finished values of row m, columns n ..; `lanes` of them exist.
//   void operator()(vec<T, PTC_VLEN> acc, i64 m, i64 n, int lanes) const

namespace detail {

template <class T> constexpr int native_lanes = PTC_VBYTES / (int)sizeof(T);

// Vectors a panel may have, and rows of a tile with `nv` vectors: accumulators, one row of B and a
// broadcast fit the registers (32 with AVX-512 and NEON, 16 else). More than 8 rows of a
// power-of-two stride fall on the same L1 sets.
#if defined(PTC_AVX512) && !defined(__clang__)
constexpr int kPanelVectors = 4;
constexpr int tile_rows(int nv) {
  return nv == 4 ? 7 : 8;
}  // 28 sums, 4 of B; A is broadcast by the additions
#elif defined(PTC_AVX512) || defined(__aarch64__)
constexpr int kPanelVectors = 4;
constexpr int tile_rows(int nv) { return nv == 4 ? 6 : 8; }
#else
constexpr int kPanelVectors = 2;
constexpr int tile_rows(int nv) { return nv == 2 ? 6 : 8; }
#endif

constexpr i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }
constexpr i64 min_of(i64 a, i64 b) { return a < b ? a : b; }
constexpr i64 max_of(i64 a, i64 b) { return a > b ? a : b; }

// Vectors of a panel for `v` vectors of columns: of the two best widths the one whose last panel is
// fuller.
constexpr int panel_vectors(i64 v) {
  if (v <= kPanelVectors) return v < 1 ? 1 : (int)v;
  if (kPanelVectors < 4) return kPanelVectors;
  i64 tail3 = v % 3 ? v % 3 : 3, tail4 = v % 4 ? v % 4 : 4;
  return tail4 > tail3 ? 4 : 3;
}

// One chain of k additions is at most this long before it is added to the tile's total: the
// rounding error then grows with the number of chunks, not with k.
constexpr i64 kChunk = 256;

// c[MR][NV * lanes] (+)= A B over `segments` runs of `length` along k. Row m of run s starts at
// a + offsets[s] + m * lda; B's rows are ldb apart and go on from run to run. With `add` the tile
// keeps what it holds.
template <class T, int MR, int NV>
PTC_NOINLINE void tile_kernel(int segments, i64 length, const T* a, const i64* offsets, i64 lda,
                              const T* b, i64 ldb, T* c, bool add) {
  constexpr int L = native_lanes<T>;
  typedef vec<T, L> V;
  V acc[MR][NV];
#pragma GCC unroll 16
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 8
    for (int j = 0; j < NV; ++j) acc[m][j] = V(T(0));
  i64 since = 0;
  for (int s = 0; s < segments; ++s) {
    const T* as = a + offsets[s];
    for (i64 left = length; left > 0;) {
      i64 step = min_of(left, kChunk - since);
      for (i64 k = 0; k < step; ++k) {
        V row[NV];
#pragma GCC unroll 8
        for (int j = 0; j < NV; ++j) row[j] = load<T, L>(b + j * L);
#pragma GCC unroll 16
        for (int m = 0; m < MR; ++m) {
          V x = V(as[m * lda]);
#pragma GCC unroll 8
          for (int j = 0; j < NV; ++j) acc[m][j] = acc[m][j] + x * row[j];
        }
        ++as;
        b += ldb;
      }
      left -= step;
      since += step;
      if (since == kChunk || (left == 0 && s == segments - 1)) {
#pragma GCC unroll 16
        for (int m = 0; m < MR; ++m)
#pragma GCC unroll 8
          for (int j = 0; j < NV; ++j) {
            T* p = c + (m * NV + j) * L;
            store(p, add ? load<T, L>(p) + acc[m][j] : acc[m][j]);
            acc[m][j] = V(T(0));
          }
        add = true;
        since = 0;
      }
    }
  }
}

template <class T>
using TileFn = void (*)(int segments, i64 length, const T* a, const i64* offsets, i64 lda,
                        const T* b, i64 ldb, T* c, bool add);

// Rows of a tile that may be asked for when the row count is unknown at compile time.
constexpr int floor_rows(int rows, int limit) {
  return rows >= limit ? limit : rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
}

// The kernel for `rows` rows. Rows (>= 0) is the whole row count when it is known: its tiles then
// have one of two sizes and only those are compiled.
template <class T, int NV, i64 Rows> inline TileFn<T> tile_for(int rows) {
  constexpr int limit = tile_rows(NV);
  if constexpr (Rows >= 0) {
    constexpr i64 tiles = max_of(1, ceil_div(Rows, limit));
    constexpr int small = (int)max_of(1, Rows / tiles);
    constexpr int large = (int)max_of(1, ceil_div(Rows, tiles));
    if constexpr (small != large)
      if (rows == small) return tile_kernel<T, small, NV>;
    return tile_kernel<T, large, NV>;
  } else {
    if (rows == limit) return tile_kernel<T, limit, NV>;
    if (rows == 4) return tile_kernel<T, 4, NV>;
    return rows == 2 ? tile_kernel<T, 2, NV> : tile_kernel<T, 1, NV>;
  }
}

// How `rows` rows are cut into tiles of at most Limit. Known count (Rows >= 0): sizes differ by at
// most one. Unknown: equal tiles, the last moved back over rows already done (`skip` of them
// computed again, not stored).
struct TileRows {
  i64 begin;
  int rows, skip;
};
template <int Limit, i64 Rows> PTC_INLINE i64 tile_count(i64 rows) {
  if constexpr (Rows >= 0) return ceil_div(rows, Limit);
  return ceil_div(rows, floor_rows((int)min_of(rows, Limit), Limit));
}
template <int Limit, i64 Rows> PTC_INLINE TileRows tile_at(i64 i, i64 tiles, i64 rows) {
  if constexpr (Rows >= 0) {
    i64 size = rows / tiles, larger = rows % tiles;
    return {i * size + min_of(i, larger), (int)(size + (i < larger)), 0};
  } else {
    int size = floor_rows((int)min_of(rows, Limit), Limit);
    i64 begin = min_of(i * size, rows - size);
    return {begin, size, (int)(i * size - begin)};
  }
}

// Room for `size` results. A reader takes PTC_VLEN values at a time, which for 8-byte types may be
// more than a row's rest: what lies behind the last row is then zero.
template <class T, int Size> struct TileBuffer {
  static constexpr int pad = native_lanes<T> < PTC_VLEN ? PTC_VLEN : 0;
  alignas(64) T values[Size + pad];
  PTC_INLINE TileBuffer() {
    for (int i = 0; i < pad; ++i) values[Size + i] = T(0);
  }
};

// Runs the epilogue over rows of a tile with `stride` values a row and `columns` real columns.
template <class T, class Epilogue>
PTC_INLINE void finish_tile(const T* c, int stride, i64 m, int rows, i64 n, int columns,
                            const Epilogue& epilogue) {
  for (int r = 0; r < rows; ++r) {
    int j = 0;
    for (; j + PTC_VLEN <= columns; j += PTC_VLEN)
      epilogue(load<T, PTC_VLEN>(c + r * stride + j), m + r, n + j, PTC_VLEN);
    if (j < columns) epilogue(load<T, PTC_VLEN>(c + r * stride + j), m + r, n + j, columns - j);
  }
}

}  // namespace detail

// Columns of a packed panel of a B with n columns.
template <class T> constexpr int panel_width(i64 n) {
  return detail::panel_vectors(detail::ceil_div(n, detail::native_lanes<T>)) *
         detail::native_lanes<T>;
}
// Elements of the packed form of B[k, n].
template <class T> constexpr i64 packed_b_size(i64 k, i64 n) {
  return k * detail::ceil_div(n, detail::native_lanes<T>) * detail::native_lanes<T>;
}

namespace detail {

// In place transpose of an L x L block held in L registers: log2(L) rounds of exchanging halves.
template <int Step, class V, int... I> PTC_INLINE V interleave_low(V a, V b, seq<I...>) {
  constexpr int L = (int)sizeof...(I);
  return __builtin_shufflevector(a, b, ((I / Step) % 2 == 0 ? I : I - Step + L)...);
}
template <int Step, class V, int... I> PTC_INLINE V interleave_high(V a, V b, seq<I...>) {
  constexpr int L = (int)sizeof...(I);
  return __builtin_shufflevector(a, b, ((I / Step) % 2 == 0 ? I + Step : I + L)...);
}
template <int Step, class N, int L> PTC_INLINE void transpose_rounds(N (&r)[L]) {
  if constexpr (Step >= 1) {
#pragma GCC unroll 16
    for (int i = 0; i < L; ++i)
      if ((i / Step) % 2 == 0) {
        N a = r[i], b = r[i + Step];
        r[i] = interleave_low<Step>(a, b, iota_seq<L>());
        r[i + Step] = interleave_high<Step>(a, b, iota_seq<L>());
      }
    transpose_rounds<Step / 2>(r);
  }
}
// dst[j * dst_stride + i] = src[i * src_stride + j] for an L x L block, converting S to T.
template <class T, class S>
PTC_NOINLINE void transpose_block(T* dst, i64 dst_stride, const S* src, i64 src_stride) {
  constexpr int L = native_lanes<T>;
  typename reg<T, L>::type r[L];
#pragma GCC unroll 16
  for (int i = 0; i < L; ++i) r[i] = convert<T>(load<S, L>(src + i * src_stride)).v;
  transpose_rounds<L / 2>(r);
#pragma GCC unroll 16
  for (int i = 0; i < L; ++i) store(dst + i * dst_stride, vec<T, L>::wrap(r[i]));
}

// One panel: dst[k][width] = b[k * stride_k + n * stride_n] for n < columns, zero up to `width`.
template <class T, class S>
PTC_NOINLINE void pack_panel(T* dst, int width, const S* b, i64 k, int columns, i64 stride_k,
                             i64 stride_n) {
  constexpr int L = native_lanes<T>;
  if (stride_n == 1) {
    for (i64 i = 0; i < k; ++i, dst += width, b += stride_k) {
      int j = 0;
      for (; j + L <= columns; j += L) store(dst + j, convert<T>(load<S, L>(b + j)));
      if (j < columns) store(dst + j, convert<T>(load_n<S, L>(b + j, columns - j)));
      for (j = (j < columns ? j + L : j); j < width; ++j) dst[j] = T(0);
    }
    return;
  }
  for (int j = 0; j < width; j += L) {
    int real = (int)max_of(0, min_of(L, columns - j));
    i64 i = 0;
    if (stride_k == 1 && real == L)
      for (; i + L <= k; i += L)
        transpose_block(dst + i * width + j, width, b + j * stride_n + i, stride_n);
    for (; i < k; ++i)
      for (int c = 0; c < L; ++c)
        dst[i * width + j + c] = c < real ? convert<T>(b[i * stride_k + (j + c) * stride_n]) : T(0);
  }
}

}  // namespace detail

// All panels of B[k, n] with any strides.
template <class T, class S>
inline void pack_b(T* packed, const S* b, i64 k, i64 n, i64 stride_k, i64 stride_n) {
  constexpr int L = detail::native_lanes<T>;
  int width = panel_width<T>(n);
  for (i64 j = 0; j < n; j += width) {
    int columns = (int)detail::min_of(width, n - j);
    detail::pack_panel(packed + k * j, (int)detail::ceil_div(columns, L) * L, b + j * stride_n, k,
                       columns, stride_k, stride_n);
  }
}

}  // namespace ptc

#endif
