// Convolution in NHWC (NDHWC), float, as a matrix product without im2col.
//
// For one kernel row the (kw, channel) values under an output pixel are contiguous in memory, so a
// row of output pixels is a tile of ptc_tile.h whose k runs through one segment per kernel row,
// with lda = stride * channels. Kernel rows outside the image are skipped; columns outside are
// zeros in a padded copy of the image (made only if there is padding). Owns the packed filters,
// grouping and dispatch (matrix product, depthwise, grouped, small images). Knows nothing of the
// epilogue: epilogue(acc, pixel, channel, lanes), pixel = ((n * od + d) * oh + h) * ow + w.
#ifndef PTC_CONV_H
#define PTC_CONV_H

#include <string.h>

#include "ptc_conv_shape.h"
#include "ptc_depthwise.h"
#include "ptc_gemm.h"
#include "ptc_winograd.h"

namespace ptc {
namespace detail {

// The matrix product of one group.
constexpr i64 conv_k(const Conv& c) { return c.taps() * c.group_inputs(); }
constexpr i64 conv_group_size(const Conv& c) {
  return packed_b_size<float>(conv_k(c), c.group_outputs());
}

// Input columns that an output row reads, and whether they all exist.
constexpr i64 conv_reach(const Conv& c) { return (c.ow - 1) * c.sw + (c.kw - 1) * c.dw + 1; }
constexpr bool conv_padded(const Conv& c) { return c.pw > 0 || conv_reach(c) > c.iw; }
// Output rows too short to fill a tile: gather all pixels first.
constexpr bool conv_gathered(const Conv& c) {
  return c.groups == 1 && !c.pointwise() && c.ow < 5 && c.od * c.oh * c.ow * c.n > c.ow;
}
constexpr i64 conv_pixels(const Conv& c) { return c.n * c.od * c.oh * c.ow; }

// Whether axes of the given sizes and strides, outermost first, are dense in memory. The stride of
// an axis of size 1 does not matter.
constexpr bool dense(const i64 (&sizes)[4], const i64 (&strides)[4]) {
  i64 expected = 1;
  for (int axis = 3; axis >= 0; --axis) {
    if (sizes[axis] != 1 && strides[axis] != expected) return false;
    expected *= sizes[axis];
  }
  return true;
}

// Filter rows of `columns` output channels to a panel [taps][run][width]. w is at the first of
// these channels.
PTC_NOINLINE inline void pack_filters(float* panel, int width, const Conv& c, const float* w,
                                      int columns, i64 s_o, i64 s_i, i64 s_kd, i64 s_kh, i64 s_kw) {
  constexpr int L = native_lanes<float>;
  const i64 taps = c.taps(), inputs = c.group_inputs(), total = taps * inputs;
  const bool by_channel = dense({inputs, c.kd, c.kh, c.kw}, {s_i, s_kd, s_kh, s_kw});
  const bool by_tap = !by_channel && dense({c.kd, c.kh, c.kw, inputs}, {s_kd, s_kh, s_kw, s_i});
  // Where one filter is dense, L filters by L values are transposed at a time; chunk by chunk, so
  // that the rows a chunk fills stay in cache while all columns get theirs.
  const i64 chunk = by_channel ? taps * L : 16 * L;
  for (i64 begin = 0; begin < total; begin += chunk)
    for (int j = 0; j < width; j += L) {
      const int real = (int)max_of(0, min_of(L, columns - j));
      const i64 end = min_of(begin + chunk, total);
      i64 at = begin;
      if (real == L && by_tap) {
        for (; at + L <= end; at += L)
          transpose_block(panel + at * width + j, width, w + j * s_o + at, s_o);
      } else if (real == L && by_channel) {
        alignas(64) float block[L * L];
        i64 tap = at % taps, i = at / taps;
        for (; at + L <= end; at += L) {
          transpose_block(block, L, w + j * s_o + at, s_o);
          for (int q = 0; q < L; ++q) {
            store(panel + (tap * inputs + i) * width + j, load<float, L>(block + q * L));
            if (++tap == taps) tap = 0, ++i;
          }
        }
      }
      for (; at < end; ++at) {
        i64 tap = by_tap ? at / inputs : at % taps, i = by_tap ? at % inputs : at / taps;
        i64 from =
            tap / (c.kh * c.kw) * s_kd + tap / c.kw % c.kh * s_kh + tap % c.kw * s_kw + i * s_i;
        for (int q = 0; q < L; ++q)
          panel[(tap * inputs + i) * width + j + q] = q < real ? w[(j + q) * s_o + from] : 0.0f;
      }
    }
}

}  // namespace detail

constexpr i64 conv_packed_size(const Conv& c) {
  if (detail::conv_is_narrow(c)) return detail::narrow_packed_size(c);
  if (detail::conv_is_winograd(c)) return detail::winograd_packed_size(c);
  return c.groups * detail::conv_group_size(c);
}

// Filters w[oc, ic / groups, kd, kh, kw] of any strides to their packed form. Inlined, so that of a
// shape known at compile time only its own way of packing is compiled.
PTC_INLINE void pack_conv(float* packed, const Conv& c, const float* w, i64 s_o, i64 s_i, i64 s_kd,
                          i64 s_kh, i64 s_kw) {
  if (detail::conv_is_narrow(c)) {
    detail::pack_narrow(packed, c, w, s_o, s_i, s_kh, s_kw);
    return;
  }
  if (detail::conv_is_winograd(c)) {
    detail::pack_winograd(packed, c, w, s_o, s_i, s_kh, s_kw);
    return;
  }
  constexpr int L = detail::native_lanes<float>;
  const i64 n = c.group_outputs(), k = detail::conv_k(c);
  const int width = panel_width<float>(n);
  for (i64 g = 0; g < c.groups; ++g)
    for (i64 j = 0; j < n; j += width) {
      int columns = (int)detail::min_of(width, n - j), real = (int)detail::ceil_div(columns, L) * L;
      float* panel = packed + g * detail::conv_group_size(c) + j * k;
      const float* from = w + (g * n + j) * s_o;
      detail::pack_filters(panel, real, c, from, columns, s_o, s_i, s_kd, s_kh, s_kw);
    }
}

namespace detail {

constexpr i64 conv_image_bytes(const Conv& c) {
  return conv_padded(c) ? round_up(c.id * c.ih * conv_reach(c) * c.ic * 4) : 0;
}

// Rows of one image from column -pw on, conv_reach(c) columns wide, zeros outside.
PTC_NOINLINE inline void pad_rows(float* to, const Conv& c, const float* image, i64 begin,
                                  i64 end) {
  i64 reach = conv_reach(c), left = min_of(c.pw, reach),
      real = max_of(0, min_of(c.iw, reach - left));
  for (i64 r = begin; r < end; ++r) {
    float* row = to + r * reach * c.ic;
    memset(row, 0, (size_t)(left * c.ic) * 4);
    memcpy(row + left * c.ic, image + r * c.iw * c.ic, (size_t)(real * c.ic) * 4);
    memset(row + (left + real) * c.ic, 0, (size_t)((reach - left - real) * c.ic) * 4);
  }
}

// Kernel positions [first, last) that fall inside [0, size) from `start` on.
struct Inside {
  i64 first, last;
};
constexpr Inside inside(i64 start, i64 k, i64 dilation, i64 size) {
  i64 first = start < 0 ? ceil_div(-start, dilation) : 0;
  i64 last = start >= size ? 0 : min_of(k, ceil_div(size - start, dilation));
  return {min_of(first, k), max_of(last, min_of(first, k))};
}

// A row of an image laid out with `columns` columns a row, first column at -pw.
struct Image {
  const float* data;
  i64 columns;
};

constexpr int kSegments = 128;

// Output row (d, h) of one image for one panel.
template <class C, int NV, class E>
inline void conv_row(const Conv& c, Image image, i64 d, i64 h, i64 channel0, const float* panel,
                     i64 n0, int columns, i64 pixel, const E& epilogue) {
  constexpr int limit = tile_rows(NV), width = NV * native_lanes<float>;
  constexpr bool joined = C::conv.groups == 1 && C::conv.dw == 1;  // a kernel row is one segment
  const i64 run = c.group_inputs(), row = image.columns * c.ic, lda = c.sw * c.ic;
  const i64 step = joined ? 1 : c.kw, length = joined ? c.kw * run : run;
  const i64 d0 = d * c.sd - c.pd, h0 = h * c.sh - c.ph;
  const Inside id = inside(d0, c.kd, c.dd, c.id), ih = inside(h0, c.kh, c.dh, c.ih);
  const i64 segments = (ih.last - ih.first) * step, tiles = tile_count<limit, C::conv.ow>(c.ow);
  i64 offsets[kSegments];
  alignas(64) float out[limit * width];
  for (i64 i = 0; i < tiles; ++i) {
    TileRows t = tile_at<limit, C::conv.ow>(i, tiles, c.ow);
    bool add = false;
    for (i64 kd = id.first; kd < id.last; ++kd)
      for (i64 s0 = 0; s0 < segments; s0 += kSegments) {
        int count = (int)min_of(kSegments, segments - s0);
        for (int s = 0; s < count; ++s) {
          i64 kh = ih.first + (s0 + s) / step, kw = (s0 + s) % step;
          offsets[s] = ((d0 + kd * c.dd) * c.ih + h0 + kh * c.dh) * row + kw * c.dw * c.ic;
        }
        const float* b = panel + ((kd * c.kh + ih.first) * step + s0) * length * width;
        tile_for<float, NV, C::conv.ow>(t.rows)(
            count, length, image.data + channel0 + t.begin * lda, offsets, lda, b, width, out, add);
        add = true;
      }
    if (!add) memset(out, 0, sizeof out);
    finish_tile(out + t.skip * width, width, pixel + t.begin + t.skip, t.rows - t.skip, n0, columns,
                epilogue);
  }
}

template <class C, int NV, int Widths, class... Args>
inline void conv_row_of(int vectors, const Args&... args) {
  if constexpr (NV >= 1) {
    if constexpr ((Widths >> NV & 1) != 0)
      if (vectors == NV) return conv_row<C, NV>(args...);
    conv_row_of<C, NV - 1, Widths>(vectors, args...);
  }
}

// One image; `scratch` holds the padded copy.
template <class C, class E>
inline void conv_image(Pool* pool, const Conv& c, const float* x, i64 pixel0, const float* packed,
                       float* scratch, const E& epilogue) {
  constexpr int L = native_lanes<float>;
  constexpr i64 N = C::conv.group_outputs();
  Image image = {x, c.iw};
  if (conv_padded(c)) {
    parallel_for(pool, c.id * c.ih, 8,
                 [&](i64 begin, i64 end, int) { pad_rows(scratch, c, x, begin, end); });
    image = {scratch, conv_reach(c)};
  }
  const i64 k = conv_k(c), rows = c.od * c.oh, panels = ceil_div(N, panel_width<float>(N));
  constexpr int width = panel_width<float>(N);
  Split split = split_work(pool, c.groups * panels, rows * 8, kSmallB + 1);
  parallel_for(pool, split.units, 1, [&](i64 begin, i64 end, int) {
    for (i64 u = begin; u < end; ++u) {
      i64 share = split.share(u), g = split.panel(u) / panels, n0 = split.panel(u) % panels * width;
      int columns = (int)min_of(width, N - n0), vectors = (int)ceil_div(columns, L);
      const float* panel = packed + g * conv_group_size(c) + n0 * k;
      for (i64 r = rows * share / split.shares; r < rows * (share + 1) / split.shares; ++r)
        conv_row_of<C, kPanelVectors, packed_widths<float, N>()>(
            vectors, c, image, r / c.oh, r % c.oh, g * c.group_inputs(), panel, g * N + n0, columns,
            pixel0 + r * c.ow, epilogue);
    }
  });
}

// The values under each output pixel as a row [taps * ic].
PTC_NOINLINE inline void gather_pixels(float* to, const Conv& c, const float* x, i64 begin,
                                       i64 end) {
  for (i64 p = begin; p < end; ++p) {
    i64 w = p % c.ow, h = p / c.ow % c.oh, d = p / (c.ow * c.oh) % c.od,
        n = p / (c.ow * c.oh * c.od);
    float* row = to + p * c.taps() * c.ic;
    for (i64 t = 0; t < c.taps(); ++t, row += c.ic) {
      i64 id = d * c.sd - c.pd + t / (c.kh * c.kw) * c.dd,
          ih = h * c.sh - c.ph + t / c.kw % c.kh * c.dh;
      i64 iw = w * c.sw - c.pw + t % c.kw * c.dw;
      bool real = id >= 0 && id < c.id && ih >= 0 && ih < c.ih && iw >= 0 && iw < c.iw;
      if (real)
        memcpy(row, x + (((n * c.id + id) * c.ih + ih) * c.iw + iw) * c.ic, (size_t)c.ic * 4);
      else
        memset(row, 0, (size_t)c.ic * 4);
    }
  }
}

constexpr i64 known_pixels(const Conv& c) {
  return c.n < 0 || c.od < 0 || c.oh < 0 || c.ow < 0 ? -1 : conv_pixels(c);
}

}  // namespace detail

// Bytes of 64-byte aligned scratch.
constexpr i64 conv_scratch(const Conv& c, int threads) {
  if (detail::conv_is_narrow(c) || c.pointwise()) return 0;
  if (detail::conv_is_winograd(c))
    return detail::round_up(detail::winograd_worker_floats(c) * 4) * threads;
  if (detail::conv_gathered(c))
    return detail::round_up(detail::conv_pixels(c) * c.taps() * c.ic * 4);
  return detail::conv_image_bytes(c) * (c.n >= threads ? threads : 1);
}

// The convolution of x with filters from pack_conv. C::conv says what is known at compile time, `c`
// everything.
template <class C, class E>
inline void conv(Pool* pool, const Conv& c, const float* x, const float* packed, void* scratch,
                 const E& epilogue) {
  constexpr Conv s = C::conv;
  if constexpr (detail::conv_is_narrow(s)) {
    detail::conv_narrow<C>(pool, c, x, packed, epilogue);
  } else if constexpr (detail::conv_is_winograd(s)) {
    detail::conv_winograd<C>(pool, c, x, packed, scratch, epilogue);
  } else if constexpr (s.pointwise()) {
    gemm_packed<Dims<detail::known_pixels(s), s.oc>>(pool, detail::conv_pixels(c), c.oc, c.ic, x,
                                                     c.ic, packed, epilogue);
  } else {
    if constexpr (s.groups == 1 && s.ow < 5)
      if (detail::conv_gathered(c)) {
        float* rows = (float*)scratch;
        i64 pixels = detail::conv_pixels(c), k = c.taps() * c.ic;
        parallel_for(pool, pixels, 8, [&](i64 begin, i64 end, int) {
          detail::gather_pixels(rows, c, x, begin, end);
        });
        gemm_packed<Dims<detail::known_pixels(s), s.oc>>(pool, pixels, c.oc, k, rows, k, packed,
                                                         epilogue);
        return;
      }
    const i64 image = c.id * c.ih * c.iw * c.ic, pixels = c.od * c.oh * c.ow;
    if (c.n >= pool_size(pool)) {
      parallel_for(pool, c.n, 1, [&](i64 begin, i64 end, int worker) {
        float* mine = (float*)((char*)scratch + detail::conv_image_bytes(c) * worker);
        for (i64 n = begin; n < end; ++n)
          detail::conv_image<C>(nullptr, c, x + n * image, n * pixels, packed, mine, epilogue);
      });
      return;
    }
    for (i64 n = 0; n < c.n; ++n)
      detail::conv_image<C>(pool, c, x + n * image, n * pixels, packed, (float*)scratch, epilogue);
  }
}

}  // namespace ptc

#endif
