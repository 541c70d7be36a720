// 3x3 convolution of stride 1 by Winograd's F(4x4, 3x3), NHWC, float: 36 multiplications for 16
// outputs instead of 144.
//
// Blocks of 6x6 input tiles are transformed, multiplied by the transformed filters in 36 small
// matrix products, and transformed back with the epilogue; a block's values stay in L2. The
// interpolation points are 0, +-21/32, +-3/2 and infinity: the rounding error is then about 1.5
// times that of direct summation (with the usual 0, +-1, +-2 it is more than 3 times). Filters grow
// fourfold, so layers whose transformed filters do not fit the last-level cache stay direct.
// ptc_conv.h dispatches here when Conv::winograd allows it.
#ifndef PTC_WINOGRAD_H
#define PTC_WINOGRAD_H

#include "ptc_conv_shape.h"
#include "ptc_gemm.h"

namespace ptc {
namespace detail {

constexpr int kTile = 6, kStep = 4, kPositions = kTile * kTile;
constexpr i64 kWinogradFilterBytes = 12 << 20;
constexpr i64 kWinogradBlockBytes = 640 << 10;
constexpr i64 kWinogradTiles = 28;

PTC_INLINE constexpr bool conv_is_winograd(const Conv& c) {
  return c.winograd != 0 && c.groups == 1 && c.id == 1 && c.kd == 1 && c.sd == 1 && c.pd == 0 &&
         c.kh == 3 && c.kw == 3 && c.sh == 1 && c.sw == 1 && c.dh == 1 && c.dw == 1 &&
         c.ic % PTC_VLEN == 0 && c.oc % PTC_VLEN == 0 && c.ic >= 32 && c.oc >= 32 && c.oh >= 5 &&
         c.ow >= 5 && kPositions * c.ic * c.oc * 4 <= kWinogradFilterBytes;
}

constexpr i64 winograd_tiles(const Conv& c) {
  return ceil_div(c.oh, kStep) * ceil_div(c.ow, kStep);
}
// Tiles of one block: as many as L2 takes, blocks of equal size.
constexpr i64 winograd_block(const Conv& c) {
  i64 most = max_of(1, min_of(kWinogradTiles, kWinogradBlockBytes / (kPositions * 4 * c.ic)));
  return ceil_div(winograd_tiles(c), ceil_div(winograd_tiles(c), most));
}
constexpr i64 winograd_packed_size(const Conv& c) {
  return kPositions * packed_b_size<float>(c.ic, c.oc);
}
constexpr i64 winograd_worker_floats(const Conv& c) {
  return kPositions * winograd_block(c) * (c.ic + panel_width<float>(c.oc));
}

constexpr float kPointA = 0.65625f, kPointB = 1.5f, kA2 = kPointA * kPointA,
                kB2 = kPointB * kPointB;

// Filters to [panel][position][ic][width]: G g G^T in double, rounded once.
PTC_NOINLINE inline void pack_winograd(float* packed, const Conv& c, const float* w, i64 s_o,
                                       i64 s_i, i64 s_kh, i64 s_kw) {
  constexpr int L = native_lanes<float>;
  const double a = kPointA, b = kPointB, points[5] = {0, a, -a, b, -b};
  double g[kTile][3] = {};
  for (int i = 0; i < 5; ++i) {
    double n = 1;
    for (int j = 0; j < 5; ++j)
      if (j != i) n *= points[i] - points[j];
    g[i][0] = 1 / n;
    g[i][1] = points[i] / n;
    g[i][2] = points[i] * points[i] / n;
  }
  g[5][2] = 1;
  const int width = panel_width<float>(c.oc);
  for (i64 n0 = 0; n0 < c.oc; n0 += width) {
    int columns = (int)min_of(width, c.oc - n0), real = (int)ceil_div(columns, L) * L;
    float* panel = packed + n0 * kPositions * c.ic;
    for (i64 i = 0; i < c.ic; ++i)
      for (int o = 0; o < real; o += L) {
        const float* from = w + (n0 + o) * s_o + i * s_i;
        f64v half[kTile][3];
        for (int x = 0; x < 3; ++x) {
          f64v f[3];
          for (int r = 0; r < 3; ++r)
            f[r] = convert<double>(load_strided<float, L>(from + r * s_kh + x * s_kw, s_o));
          for (int r = 0; r < kTile; ++r)
            half[r][x] = f64v(g[r][0]) * f[0] + f64v(g[r][1]) * f[1] + f64v(g[r][2]) * f[2];
        }
        for (int r = 0; r < kTile; ++r)
          for (int x = 0; x < kTile; ++x) {
            f64v u = f64v(g[x][0]) * half[r][0] + f64v(g[x][1]) * half[r][1] +
                     f64v(g[x][2]) * half[r][2];
            store(panel + ((r * kTile + x) * c.ic + i) * real + o, convert<float>(u));
          }
      }
  }
}

// One dimension of the input transform: six values to six.
PTC_INLINE void winograd_forward(const f32v (&d)[kTile], f32v (&o)[kTile]) {
  const f32v q = f32v(kA2 * kB2), s = f32v(kA2 + kB2), a2 = f32v(kA2), b2 = f32v(kB2);
  f32v even_a = d[4] - b2 * d[2], odd_a = f32v(kPointA) * (d[3] - b2 * d[1]);
  f32v even_b = d[4] - a2 * d[2], odd_b = f32v(kPointB) * (d[3] - a2 * d[1]);
  o[0] = q * d[0] + (d[4] - s * d[2]);
  o[1] = even_a + odd_a;
  o[2] = even_a - odd_a;
  o[3] = even_b + odd_b;
  o[4] = even_b - odd_b;
  o[5] = q * d[1] + (d[5] - s * d[3]);
}
// One dimension of the way back: six values to four.
PTC_INLINE void winograd_backward(const f32v (&m)[kTile], f32v (&y)[kStep]) {
  f32v s1 = m[1] + m[2], d1 = m[1] - m[2], s2 = m[3] + m[4], d2 = m[3] - m[4];
  y[0] = m[0] + s1 + s2;
  y[1] = f32v(kPointA) * d1 + f32v(kPointB) * d2;
  y[2] = f32v(kA2) * s1 + f32v(kB2) * s2;
  y[3] = f32v(kA2 * kPointA) * d1 + (f32v(kB2 * kPointB) * d2 + m[5]);
}

// `channels` of one tile; x is at the tile's corner, `row` and `column` are its strides. Position p
// goes to v + p * step.
PTC_NOINLINE inline void winograd_input(const float* x, i64 row, i64 column, i64 channels, float* v,
                                        i64 step) {
  for (i64 ch = 0; ch < channels; ch += PTC_VLEN) {
    f32v t[kTile][kTile];
#pragma GCC unroll 6
    for (int c = 0; c < kTile; ++c) {
      f32v d[kTile], o[kTile];
#pragma GCC unroll 6
      for (int r = 0; r < kTile; ++r) d[r] = load<float, PTC_VLEN>(x + r * row + c * column + ch);
      winograd_forward(d, o);
#pragma GCC unroll 6
      for (int r = 0; r < kTile; ++r) t[r][c] = o[r];
    }
#pragma GCC unroll 6
    for (int r = 0; r < kTile; ++r) {
      f32v o[kTile];
      winograd_forward(t[r], o);
#pragma GCC unroll 6
      for (int c = 0; c < kTile; ++c) store(v + (r * kTile + c) * step + ch, o[c]);
    }
  }
}

// The part [first, last) of a tile's rows or columns that lies in the image.
struct TileRange {
  i64 first, last;
};

// The same for a tile that reaches over the image's edge: through a copy with zeros outside.
PTC_NOINLINE inline void winograd_edge(const float* x, i64 row, i64 column, i64 channels,
                                       TileRange rows, TileRange columns, float* v, i64 step) {
  alignas(64) float copy[kPositions * PTC_VLEN];
  for (i64 ch = 0; ch < channels; ch += PTC_VLEN) {
    for (int r = 0; r < kTile; ++r)
      for (int c = 0; c < kTile; ++c) {
        bool real = r >= rows.first && r < rows.last && c >= columns.first && c < columns.last;
        store(copy + (r * kTile + c) * PTC_VLEN,
              real ? load<float, PTC_VLEN>(x + r * row + c * column + ch) : f32v(0.0f));
      }
    winograd_input(copy, kTile * PTC_VLEN, PTC_VLEN, PTC_VLEN, v + ch, step);
  }
}

// One tile, one vector of channels: 16 outputs, row by row, to `out`.
PTC_NOINLINE inline void winograd_output(const float* m, i64 step, float* out) {
  f32v t[kStep][kTile];
#pragma GCC unroll 6
  for (int c = 0; c < kTile; ++c) {
    f32v v[kTile], y[kStep];
#pragma GCC unroll 6
    for (int r = 0; r < kTile; ++r) v[r] = load<float, PTC_VLEN>(m + (r * kTile + c) * step);
    winograd_backward(v, y);
#pragma GCC unroll 4
    for (int r = 0; r < kStep; ++r) t[r][c] = y[r];
  }
#pragma GCC unroll 4
  for (int r = 0; r < kStep; ++r) {
    f32v y[kStep];
    winograd_backward(t[r], y);
#pragma GCC unroll 4
    for (int c = 0; c < kStep; ++c) store(out + (r * kStep + c) * PTC_VLEN, y[c]);
  }
}

// The 36 products of one panel: m[position][tile][width] = v[position][tile][ic] u[position].
template <int NV, i64 Tiles>
inline void winograd_products(i64 ic, const float* v, const float* u, float* m) {
  constexpr int limit = tile_rows(NV), width = NV * native_lanes<float>;
  constexpr i64 count = ceil_div(Tiles, limit);
  const i64 zero = 0;
  for (int p = 0; p < kPositions; ++p, v += Tiles * ic, u += ic * width, m += Tiles * width)
    for (i64 i = 0; i < count; ++i) {
      TileRows t = tile_at<limit, Tiles>(i, count, Tiles);
      tile_for<float, NV, Tiles>(t.rows)(1, ic, v + t.begin * ic, &zero, ic, u, width,
                                         m + t.begin * width, false);
    }
}
template <int NV, int Widths, i64 Tiles, class... Args>
inline void winograd_products_of(int vectors, Args... args) {
  if constexpr (NV >= 1) {
    if constexpr ((Widths >> NV & 1) != 0)
      if (vectors == NV) return winograd_products<NV, Tiles>(args...);
    winograd_products_of<NV - 1, Widths, Tiles>(vectors, args...);
  }
}

// Tiles [t0, t0 + block) of one image; those before `fresh` are known already.
template <class C, class E>
inline void winograd_tiles_of(const Conv& c, const float* image, i64 t0, i64 fresh, i64 pixel0,
                              const float* packed, float* v, const E& epilogue) {
  constexpr i64 tiles = winograd_block(C::conv), across = ceil_div(C::conv.ow, kStep);
  constexpr int width = panel_width<float>(C::conv.oc), L = native_lanes<float>;
  const i64 row = c.iw * c.ic, step = tiles * c.ic;
  float* m = v + kPositions * step;
  for (i64 t = 0; t < tiles; ++t) {
    i64 h = (t0 + t) / across * kStep - c.ph, w = (t0 + t) % across * kStep - c.pw;
    TileRange rows = {-h, c.ih - h}, columns = {-w, c.iw - w};
    bool inner =
        rows.first <= 0 && rows.last >= kTile && columns.first <= 0 && columns.last >= kTile;
    const float* x = image + h * row + w * c.ic;
    if (inner)
      winograd_input(x, row, c.ic, c.ic, v + t * c.ic, step);
    else
      winograd_edge(x, row, c.ic, c.ic, rows, columns, v + t * c.ic, step);
  }
  alignas(64) float out[kStep * kStep * PTC_VLEN];
  for (i64 n0 = 0; n0 < c.oc; n0 += width) {
    int columns = (int)min_of(width, c.oc - n0), vectors = (int)ceil_div(columns, L);
    winograd_products_of<kPanelVectors, packed_widths<float, C::conv.oc>(), tiles>(
        vectors, c.ic, (const float*)v, packed + n0 * kPositions * c.ic, m);
    for (i64 t = fresh - t0; t < tiles; ++t) {
      i64 h = (t0 + t) / across * kStep, w = (t0 + t) % across * kStep;
      int high = (int)min_of(kStep, c.oh - h), wide = (int)min_of(kStep, c.ow - w);
      for (int j = 0; j < columns; j += PTC_VLEN) {
        winograd_output(m + t * columns + j, tiles * columns, out);
        for (int r = 0; r < high; ++r)
          for (int q = 0; q < wide; ++q)
            epilogue(load<float, PTC_VLEN>(out + (r * kStep + q) * PTC_VLEN),
                     pixel0 + (h + r) * c.ow + w + q, n0 + j, PTC_VLEN);
      }
    }
  }
}

template <class C, class E>
inline void conv_winograd(Pool* pool, const Conv& c, const float* x, const float* packed,
                          void* scratch, const E& epilogue) {
  constexpr i64 all = winograd_tiles(C::conv), block = winograd_block(C::conv),
                blocks = ceil_div(all, block);
  parallel_for(pool, c.n * blocks, 1, [&](i64 begin, i64 end, int worker) {
    float* mine = (float*)scratch + winograd_worker_floats(c) * worker;
    for (i64 u = begin; u < end; ++u) {
      i64 n = u / blocks, fresh = u % blocks * block, t0 = min_of(fresh, all - block);
      winograd_tiles_of<C>(c, x + n * c.ih * c.iw * c.ic, t0, fresh, n * c.oh * c.ow, packed, mine,
                           epilogue);
    }
  });
}

}  // namespace detail
}  // namespace ptc

#endif
