// Depthwise and narrow grouped convolution in NHWC, float: groups of 1, 2, 4 or 8 channels, lanes
// along channels.
//
// Within a group every output channel needs every input channel: the input vector is permuted so
// that each lane sees member j of its group, for each j. Owns the packed filters [channel
// block][tap][j][lanes] and the tile: one or two output rows by 7 columns of one channel vector;
// rows outside the image are skipped, columns outside too in edge tiles. ptc_conv.h dispatches
// here.
#ifndef PTC_DEPTHWISE_H
#define PTC_DEPTHWISE_H

#include "ptc_conv_shape.h"
#include "ptc_threads.h"
#include "ptc_tile.h"

namespace ptc {
namespace detail {

// Groups narrow enough that whole groups fill a vector, as many outputs as inputs, flat.
PTC_INLINE constexpr bool conv_is_narrow(const Conv& c) {
  i64 width = c.groups > 0 ? c.group_inputs() : 0;
  return c.groups > 1 && c.oc == c.ic &&
         (width == 1 || ((width == 2 || width == 4 || width == 8) && width * 2 <= PTC_VLEN)) &&
         c.kd == 1 && c.sd == 1 && c.pd == 0;
}

constexpr i64 narrow_packed_size(const Conv& c) {
  return c.taps() * c.group_inputs() * ceil_div(c.oc, PTC_VLEN) * PTC_VLEN;
}

inline void pack_narrow(float* packed, const Conv& c, const float* w, i64 s_o, i64 s_i, i64 s_kh,
                        i64 s_kw) {
  for (i64 block = 0; block < c.oc; block += PTC_VLEN)
    for (i64 h = 0; h < c.kh; ++h)
      for (i64 x = 0; x < c.kw; ++x)
        for (i64 j = 0; j < c.group_inputs(); ++j)
          for (int lane = 0; lane < PTC_VLEN; ++lane)
            *packed++ = block + lane < c.oc
                            ? w[(block + lane) * s_o + j * s_i + h * s_kh + x * s_kw]
                            : 0.0f;
}

// Output columns a tile has, and output rows, as registers allow.
constexpr int kDepthwiseColumns = 7;
#if defined(PTC_AVX512) || defined(__aarch64__)
constexpr int kDepthwiseRows = 2;
#else
constexpr int kDepthwiseRows = 1;
#endif

// What the tiles depend on: layers with equal filters share their code.
template <int KH_, int KW_, int SH_, int SW_, int DH_, int DW_, int Width_> struct Filter {
  static constexpr int KH = KH_, KW = KW_, SH = SH_, SW = SW_, DH = DH_, DW = DW_, Width = Width_;
  static constexpr int Reach = (kDepthwiseColumns - 1) * SW + (KW - 1) * DW + 1;
};
template <class C>
using FilterOf = Filter<(int)C::conv.kh, (int)C::conv.kw, (int)C::conv.sh, (int)C::conv.sw,
                        (int)C::conv.dh, (int)C::conv.dw, (int)C::conv.group_inputs()>;

// Lane l gets x[l / Width * Width + J]: member J of each group of Width channels.
template <int Width, int J, int... I> PTC_INLINE f32v spread_member(f32v x, seq<I...>) {
  return f32v::wrap(__builtin_shufflevector(x.v, x.v, (I / Width * Width + J)...));
}

// acc[t] += member j of x times the filter tap under column t, for j = J .. Width - 1.
template <int Width, int J, int S, int D, int KW, int Cols>
PTC_INLINE void add_members(f32v (&acc)[Cols], f32v x, int i, const float* w) {
  if constexpr (J < Width) {
    f32v member = Width == 1 ? x : spread_member<Width, J>(x, iota_seq<PTC_VLEN>());
#pragma GCC unroll 16
    for (int t = 0; t < Cols; ++t)
      if (i >= t * S && (i - t * S) % D == 0 && (i - t * S) / D < KW)
        acc[t] =
            acc[t] + member * load<float, PTC_VLEN>(w + ((i - t * S) / D * Width + J) * PTC_VLEN);
    add_members<Width, J + 1, S, D, KW, Cols>(acc, x, i, w);
  }
}

// Masked where that is one instruction, else out of line: edge tiles are rare and many loads long.
#if defined(PTC_AVX512)
PTC_INLINE f32v load_edge(const float* p, int lanes) { return load_n<float, PTC_VLEN>(p, lanes); }
#else
PTC_NOINLINE static f32v load_partial(const float* p, int lanes) {
  return load_n<float, PTC_VLEN>(p, lanes);
}
PTC_INLINE f32v load_edge(const float* p, int lanes) {
  return lanes == PTC_VLEN ? load<float, PTC_VLEN>(p) : load_partial(p, lanes);
}
#endif

template <int S, int D, int KW, int Cols> constexpr bool column_used(int i) {
  for (int t = 0; t < Cols; ++t)
    if (i >= t * S && (i - t * S) % D == 0 && (i - t * S) / D < KW) return true;
  return false;
}

// One tile of one channel vector: `out` gets Rows x 7 vectors. rows[q * KH + kh] is the input row
// under output row q and kernel row kh at the tile's leftmost column and this channel (null:
// outside the image). Of the columns only [first, last) exist.
template <class Filter, int Rows, bool Edge>
PTC_NOINLINE void narrow_tile(const float* const* rows, i64 offset, i64 first, i64 last, i64 ic,
                              const float* w, int lanes, float* out) {
  constexpr int KH = Filter::KH, KW = Filter::KW, S = Filter::SW, D = Filter::DW,
                Width = Filter::Width;
  constexpr int Cols = kDepthwiseColumns, Reach = Filter::Reach;
  f32v acc[Rows][Cols];
#pragma GCC unroll 2
  for (int q = 0; q < Rows; ++q)
#pragma GCC unroll 8
    for (int t = 0; t < Cols; ++t) acc[q][t] = f32v(0.0f);
  for (int kh = 0; kh < KH; ++kh, w += KW * Width * PTC_VLEN) {
#pragma GCC unroll 2
    for (int q = 0; q < Rows; ++q) {
      const float* row = rows[q * KH + kh];
      if (!row) continue;
      row += offset;
#pragma GCC unroll 64
      for (int i = 0; i < Reach; ++i) {
        if (!column_used<S, D, KW, Cols>(i)) continue;
        if (Edge && (i < first || i >= last)) continue;
        f32v x = Edge ? load_edge(row + i * ic, lanes) : load<float, PTC_VLEN>(row + i * ic);
        add_members<Width, 0, S, D, KW, Cols>(acc[q], x, i, w);
      }
    }
  }
#pragma GCC unroll 2
  for (int q = 0; q < Rows; ++q)
#pragma GCC unroll 8
    for (int t = 0; t < Cols; ++t) store(out + (q * Cols + t) * PTC_VLEN, acc[q][t]);
}

// Where a tile's values go: rows [skip, Rows) and columns [first, first + columns) of it are new.
struct TileTarget {
  i64 pixel;  // of the tile's first row and column
  int skip_rows, first, columns;
};

template <int Rows, class E>
inline void finish_narrow(const Conv& c, const float* out, TileTarget to, i64 ch, int lanes,
                          const E& epilogue) {
  for (int q = to.skip_rows; q < Rows; ++q)
    for (int t = to.first; t < to.first + to.columns; ++t) {
      f32v value = load<float, PTC_VLEN>(out + (q * kDepthwiseColumns + t) * PTC_VLEN);
      if (lanes == PTC_VLEN)
        epilogue(value, to.pixel + q * c.ow + t, ch, PTC_VLEN);
      else
        epilogue(value, to.pixel + q * c.ow + t, ch, lanes);
    }
}

// Channel vectors from `ch` on of one tile: whole ones, and in edge tiles the ragged last.
template <class C, int Rows, bool Edge, class E>
inline void narrow_channels(const Conv& c, const float* const* rows, i64 iw0, i64 ch, TileTarget to,
                            const float* packed, const E& epilogue) {
  constexpr i64 weights = C::conv.taps() * C::conv.group_inputs();
  alignas(64) float out[Rows * kDepthwiseColumns * PTC_VLEN];
  for (; ch + (Edge ? 1 : PTC_VLEN) <= c.ic; ch += PTC_VLEN) {
    int lanes = (int)min_of(PTC_VLEN, c.ic - ch);
    narrow_tile<FilterOf<C>, Rows, Edge>(rows, iw0 * c.ic + ch, -iw0, c.iw - iw0, c.ic,
                                         packed + ch * weights, lanes, out);
    finish_narrow<Rows>(c, out, to, ch, lanes, epilogue);
  }
}

// Few taps, many registers: tiles side by side and all inside the image are computed with the
// filter in registers and each input vector loaded once for both output rows. `out` gets the tiles
// one after the other.
template <class Filter>
constexpr bool kNarrowInner =
    kDepthwiseRows == 2 && Filter::Width == 1 && Filter::KH * Filter::KW <= 9;
constexpr int kInnerTiles = 8;

template <class Filter, int Rows>
PTC_NOINLINE void narrow_inner(const float* x, i64 row, i64 ic, i64 tiles, const float* w,
                               float* out) {
  constexpr int KH = Filter::KH, KW = Filter::KW, SH = Filter::SH, S = Filter::SW, DH = Filter::DH,
                D = Filter::DW;
  constexpr int Cols = kDepthwiseColumns, Reach = Filter::Reach,
                Depth = (Rows - 1) * SH + (KH - 1) * DH + 1;
  f32v filter[KH * KW];
#pragma GCC unroll 16
  for (int i = 0; i < KH * KW; ++i) filter[i] = load<float, PTC_VLEN>(w + i * PTC_VLEN);
  for (i64 tile = 0; tile < tiles; ++tile, x += Cols * S * ic, out += Rows * Cols * PTC_VLEN) {
    f32v acc[Rows][Cols];
#pragma GCC unroll 2
    for (int q = 0; q < Rows; ++q)
#pragma GCC unroll 8
      for (int t = 0; t < Cols; ++t) acc[q][t] = f32v(0.0f);
#pragma GCC unroll 32
    for (int r = 0; r < Depth; ++r) {
      if (!column_used<SH, DH, KH, Rows>(r)) continue;
#pragma GCC unroll 64
      for (int i = 0; i < Reach; ++i) {
        if (!column_used<S, D, KW, Cols>(i)) continue;
        f32v v = load<float, PTC_VLEN>(x + r * row + i * ic);
#pragma GCC unroll 2
        for (int q = 0; q < Rows; ++q)
#pragma GCC unroll 16
          for (int t = 0; t < Cols; ++t)
            if (r >= q * SH && (r - q * SH) % DH == 0 && (r - q * SH) / DH < KH && i >= t * S &&
                (i - t * S) % D == 0 && (i - t * S) / D < KW)
              acc[q][t] = acc[q][t] + v * filter[(r - q * SH) / DH * KW + (i - t * S) / D];
      }
    }
#pragma GCC unroll 2
    for (int q = 0; q < Rows; ++q)
#pragma GCC unroll 8
      for (int t = 0; t < Cols; ++t) store(out + (q * Cols + t) * PTC_VLEN, acc[q][t]);
  }
}

// `tiles` inner tiles of a band of two rows, whole channel vectors. Returns the channels done.
template <class C, class E>
inline i64 narrow_inner_tiles(const Conv& c, const float* x, i64 tiles, TileTarget to,
                              const float* packed, const E& epilogue) {
  constexpr int Cols = kDepthwiseColumns, size = 2 * Cols * PTC_VLEN;
  alignas(64) float out[kInnerTiles * size];
  i64 ch = 0;
  for (; ch + PTC_VLEN <= c.ic; ch += PTC_VLEN)
    for (i64 i = 0; i < tiles; i += kInnerTiles) {
      i64 count = min_of(kInnerTiles, tiles - i);
      narrow_inner<FilterOf<C>, 2>(x + i * Cols * c.sw * c.ic + ch, c.iw * c.ic, c.ic, count,
                                   packed + ch * C::conv.taps(), out);
      for (i64 j = 0; j < count; ++j) {
        TileTarget at = to;
        at.pixel += (i + j) * Cols;
        finish_narrow<2>(c, out + j * size, at, ch, PTC_VLEN, epilogue);
      }
    }
  return ch;
}

// Output rows [oh0, oh0 + Rows) of one image; the first skip_rows are known already.
template <class C, int Rows, class E>
inline void narrow_rows(const Conv& c, const float* image, i64 oh0, int skip_rows, i64 pixel0,
                        const float* packed, const E& epilogue) {
  constexpr int Cols = kDepthwiseColumns, KH = (int)C::conv.kh;
  const float* rows[Rows * KH];
  bool whole = true;
  for (int q = 0; q < Rows; ++q)
    for (int kh = 0; kh < KH; ++kh) {
      i64 ih = (oh0 + q) * c.sh - c.ph + kh * c.dh;
      bool real = ih >= 0 && ih < c.ih;
      rows[q * KH + kh] = real ? image + ih * c.iw * c.ic : nullptr;
      whole &= real;
    }
  const i64 reach = (Cols - 1) * c.sw + (c.kw - 1) * c.dw + 1;
  for (i64 next = 0; next < c.ow;) {
    // The last tile of a row moves back over columns already done.
    i64 ow0 = max_of(0, min_of(next, c.ow - Cols)), iw0 = ow0 * c.sw - c.pw;
    TileTarget to = {pixel0 + oh0 * c.ow + ow0, skip_rows, (int)(next - ow0),
                     (int)(min_of(ow0 + Cols, c.ow) - next)};
    bool inner = iw0 >= 0 && iw0 + reach <= c.iw;
    if constexpr (kNarrowInner<FilterOf<C>> && Rows == 2) {
      i64 tiles = 0, ch = 0;
      if (inner && whole && next == ow0)
        tiles = min_of((c.ow - ow0) / Cols, (c.iw - iw0 - reach) / (Cols * c.sw) + 1);
      if (tiles > 0)
        ch = narrow_inner_tiles<C>(c, rows[0] + iw0 * c.ic, tiles, to, packed, epilogue);
      tiles = max_of(tiles, 1);
      if (ch < c.ic)
        for (i64 i = 0; i < tiles; ++i, to.pixel += Cols)
          narrow_channels<C, Rows, true>(c, rows, iw0 + i * Cols * c.sw, ch, to, packed, epilogue);
      next += tiles * Cols;
    } else {
      if (inner) narrow_channels<C, Rows, false>(c, rows, iw0, 0, to, packed, epilogue);
      i64 done = inner ? c.ic / PTC_VLEN * PTC_VLEN : 0;
      if (done < c.ic) narrow_channels<C, Rows, true>(c, rows, iw0, done, to, packed, epilogue);
      next += Cols;
    }
  }
}

template <class C, class E>
inline void conv_narrow(Pool* pool, const Conv& c, const float* x, const float* packed,
                        const E& epilogue) {
  // Two rows share the filter's loads; with wider groups the permutations outweigh them and code
  // size halves.
  constexpr int R = C::conv.oh == 1 || C::conv.group_inputs() > 1 ? 1 : kDepthwiseRows;
  i64 bands = ceil_div(c.oh, R);
  parallel_for(pool, c.n * bands, 1, [&](i64 begin, i64 end, int) {
    for (i64 u = begin; u < end; ++u) {
      i64 n = u / bands, oh0 = u % bands * R;
      const float* image = x + n * c.ih * c.iw * c.ic;
      i64 pixel0 = n * c.oh * c.ow;
      if (oh0 + R <= c.oh) {
        narrow_rows<C, R>(c, image, oh0, 0, pixel0, packed, epilogue);
      } else if (c.oh >= R) {
        narrow_rows<C, R>(c, image, c.oh - R, (int)(R - (c.oh - oh0)), pixel0, packed, epilogue);
      } else if constexpr (R > 1 && C::conv.oh < R) {
        narrow_rows<C, 1>(c, image, oh0, 0, pixel0, packed, epilogue);
      }
    }
  });
}

}  // namespace detail
}  // namespace ptc

#endif
