// Depthwise convolution in NHWC, float: one filter a channel, lanes along channels.
//
// Owns the packed filters [channel block][taps][lanes] and the tile: kRows output rows by 7 columns of one channel
// vector, edges by a pointer to zeros. ptc_conv.h dispatches here.
#ifndef PTC_DEPTHWISE_H
#define PTC_DEPTHWISE_H

#include "ptc_conv_shape.h"
#include "ptc_threads.h"
#include "ptc_tile.h"

namespace ptc {
namespace detail {

constexpr i64 depthwise_packed_size(const Conv& c) { return c.taps() * ceil_div(c.oc, PTC_VLEN) * PTC_VLEN; }

inline void pack_depthwise(float* packed, const Conv& c, const float* w, i64 s_o, i64 s_kd, i64 s_kh, i64 s_kw) {
  for (i64 block = 0; block < c.oc; block += PTC_VLEN)
    for (i64 d = 0; d < c.kd; ++d)
      for (i64 h = 0; h < c.kh; ++h)
        for (i64 x = 0; x < c.kw; ++x)
          for (int lane = 0; lane < PTC_VLEN; ++lane)
            *packed++ = block + lane < c.oc ? w[(block + lane) * s_o + d * s_kd + h * s_kh + x * s_kw] : 0.0f;
}

// Output columns a tile has, and output rows, as registers allow.
constexpr int kDepthwiseColumns = 7;
#if defined(PTC_AVX512) || defined(__aarch64__)
constexpr int kDepthwiseRows = 2;
#else
constexpr int kDepthwiseRows = 1;
#endif

// One tile of one channel vector: `out` gets Rows x 7 vectors. `rows` holds, for each output row and kernel row, the input row's
// start (null: outside the image) at column 0 and this channel; iw0 is the leftmost input column.
template <class C, int Rows, bool Edge>
PTC_INLINE void depthwise_tile(const float* const* rows, i64 iw0, i64 iw, i64 ic, const float* w, int lanes, float* out) {
  constexpr int KH = (int)C::conv.kh, KW = (int)C::conv.kw, S = (int)C::conv.sw, D = (int)C::conv.dw;
  constexpr int Cols = kDepthwiseColumns, Reach = (Cols - 1) * S + (KW - 1) * D + 1;
  f32v acc[Rows][Cols];
#pragma GCC unroll 2
  for (int q = 0; q < Rows; ++q)
#pragma GCC unroll 8
    for (int t = 0; t < Cols; ++t) acc[q][t] = f32v(0.0f);
  for (int kh = 0; kh < KH; ++kh, w += KW * PTC_VLEN) {
#pragma GCC unroll 2
    for (int q = 0; q < Rows; ++q) {
      const float* row = rows[q * KH + kh];
      if (!row) continue;
#pragma GCC unroll 64
      for (int i = 0; i < Reach; ++i) {
        bool used = false;
#pragma GCC unroll 16
        for (int t = 0; t < Cols; ++t) used |= i >= t * S && (i - t * S) % D == 0 && (i - t * S) / D < KW;
        if (!used) continue;
        if (Edge && (iw0 + i < 0 || iw0 + i >= iw)) continue;
        f32v x = lanes == PTC_VLEN ? load<float, PTC_VLEN>(row + (iw0 + i) * ic)
                                   : load_n<float, PTC_VLEN>(row + (iw0 + i) * ic, lanes);
#pragma GCC unroll 16
        for (int t = 0; t < Cols; ++t)
          if (i >= t * S && (i - t * S) % D == 0 && (i - t * S) / D < KW)
            acc[q][t] = acc[q][t] + x * load<float, PTC_VLEN>(w + (i - t * S) / D * PTC_VLEN);
      }
    }
  }
#pragma GCC unroll 2
  for (int q = 0; q < Rows; ++q)
#pragma GCC unroll 8
    for (int t = 0; t < Cols; ++t) store(out + (q * Cols + t) * PTC_VLEN, acc[q][t]);
}

// All channel vectors of one tile: whole ones, then the ragged last.
template <class C, int Rows, bool Edge, class E>
PTC_NOINLINE void depthwise_channels(const Conv& c, const float* image, i64 oh0, i64 ow0, int skip_rows, i64 first, i64 end_column,
                                     i64 pixel0, const float* packed, const E& epilogue) {
  constexpr int KH = (int)C::conv.kh, Cols = kDepthwiseColumns;
  constexpr i64 taps = C::conv.kh * C::conv.kw;
  const float* rows[Rows * KH];
  alignas(64) float out[Rows * Cols * PTC_VLEN];
  i64 iw0 = ow0 * c.sw - c.pw;
  for (i64 ch = 0; ch < c.ic; ch += PTC_VLEN) {
    for (int q = 0; q < Rows; ++q)
      for (int kh = 0; kh < KH; ++kh) {
        i64 ih = (oh0 + q) * c.sh - c.ph + kh * c.dh;
        rows[q * KH + kh] = ih < 0 || ih >= c.ih ? nullptr : image + ih * c.iw * c.ic + ch;
      }
    int lanes = (int)min_of(PTC_VLEN, c.ic - ch);
    const float* w = packed + ch * taps;
    if (lanes == PTC_VLEN)
      depthwise_tile<C, Rows, Edge>(rows, iw0, c.iw, c.ic, w, PTC_VLEN, out);
    else
      depthwise_tile<C, Rows, Edge>(rows, iw0, c.iw, c.ic, w, lanes, out);
    for (int q = skip_rows; q < Rows; ++q)
      for (i64 t = first; t < end_column; ++t) {
        f32v value = load<float, PTC_VLEN>(out + (q * Cols + t - ow0) * PTC_VLEN);
        i64 pixel = pixel0 + (oh0 + q) * c.ow + t;
        if (lanes == PTC_VLEN)
          epilogue(value, pixel, ch, PTC_VLEN);
        else
          epilogue(value, pixel, ch, lanes);
      }
  }
}

// Output rows [oh0, oh0 + Rows) of one image; the first skip_rows are known already.
template <class C, int Rows, class E>
inline void depthwise_rows(const Conv& c, const float* image, i64 oh0, int skip_rows, i64 pixel0, const float* packed, const E& epilogue) {
  constexpr int Cols = kDepthwiseColumns;
  i64 reach = (Cols - 1) * c.sw + (c.kw - 1) * c.dw + 1;
  for (i64 next = 0; next < c.ow; next += Cols) {
    // The last tile of a row moves back over columns already done.
    i64 ow0 = max_of(0, min_of(next, c.ow - Cols)), end = min_of(ow0 + Cols, c.ow);
    i64 iw0 = ow0 * c.sw - c.pw;
    if (iw0 >= 0 && iw0 + reach <= c.iw)
      depthwise_channels<C, Rows, false>(c, image, oh0, ow0, skip_rows, next, end, pixel0, packed, epilogue);
    else
      depthwise_channels<C, Rows, true>(c, image, oh0, ow0, skip_rows, next, end, pixel0, packed, epilogue);
  }
}

template <class C, class E>
inline void depthwise(Pool* pool, const Conv& c, const float* x, const float* packed, const E& epilogue) {
  constexpr int R = C::conv.oh == 1 ? 1 : kDepthwiseRows;
  i64 bands = ceil_div(c.oh, R);
  parallel_for(pool, c.n * bands, 1, [&](i64 begin, i64 end, int) {
    for (i64 u = begin; u < end; ++u) {
      i64 n = u / bands, oh0 = u % bands * R;
      const float* image = x + n * c.ih * c.iw * c.ic;
      i64 pixel0 = n * c.oh * c.ow;
      if (oh0 + R <= c.oh) {
        depthwise_rows<C, R>(c, image, oh0, 0, pixel0, packed, epilogue);
      } else if (c.oh >= R) {
        depthwise_rows<C, R>(c, image, c.oh - R, (int)(R - (c.oh - oh0)), pixel0, packed, epilogue);
      } else if constexpr (R > 1 && C::conv.oh < R) {
        depthwise_rows<C, 1>(c, image, oh0, 0, pixel0, packed, epilogue);
      }
    }
  });
}

}  // namespace detail
}  // namespace ptc

#endif
