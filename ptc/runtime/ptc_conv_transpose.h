// Transposed convolution in NHWC (NDHWC), float.
//
// Output positions that are equal modulo the stride (a phase) see the same taps, one input apart
// for neighbouring outputs of the phase: each phase is an ordinary convolution of stride 1,
// computed by ptc_tile.h's kernel. Conv's i* are the sizes of what is given, o* of the result;
// filters are w[ic, oc / groups, kd, kh, kw].
#ifndef PTC_CONV_TRANSPOSE_H
#define PTC_CONV_TRANSPOSE_H

#include "ptc_conv.h"

namespace ptc {
namespace detail {

// Taps k of one axis with (phase + padding - k * dilation) divisible by the stride.
struct PhaseTaps {
  i64 first, step, count;
};
inline PhaseTaps phase_taps(i64 phase, i64 k, i64 stride, i64 padding, i64 dilation) {
  PhaseTaps t = {0, 0, 0};
  for (i64 i = 0; i < k; ++i)
    if ((phase + padding - i * dilation) % stride == 0) {
      if (t.count == 0) t.first = i;
      if (t.count == 1) t.step = i - t.first;
      ++t.count;
    }
  return t;
}
// The input under output `phase` for tap k, relative to the phase's index.
PTC_INLINE i64 phase_input(i64 phase, i64 k, i64 stride, i64 padding, i64 dilation) {
  return (phase + padding - k * dilation) / stride;  // exact, so the sign does not matter
}

// Columns before and from the first input on that some output asks for.
constexpr i64 transpose_left(const Conv& c) {
  return max_of(0, ceil_div((c.kw - 1) * c.dw - c.pw, c.sw));
}
constexpr i64 transpose_right(const Conv& c) { return max_of(c.iw, (c.ow - 1 + c.pw) / c.sw + 1); }
constexpr i64 transpose_columns(const Conv& c) { return transpose_left(c) + transpose_right(c); }
constexpr bool transpose_padded(const Conv& c) { return transpose_columns(c) > c.iw; }
constexpr i64 transpose_k(const Conv& c) { return c.taps() * c.group_inputs(); }
constexpr i64 transpose_group_size(const Conv& c) {
  return packed_b_size<float>(transpose_k(c), c.group_outputs());
}

}  // namespace detail

constexpr i64 conv_transpose_packed_size(const Conv& c) {
  return c.groups * detail::transpose_group_size(c);
}

// Panels hold the phases one after the other, in each its taps in rising order.
inline void pack_conv_transpose(float* packed, const Conv& c, const float* w, i64 s_o, i64 s_i,
                                i64 s_kd, i64 s_kh, i64 s_kw) {
  constexpr int L = detail::native_lanes<float>;
  const i64 inputs = c.group_inputs(), n = c.group_outputs(), k = detail::transpose_k(c);
  const int width = panel_width<float>(n);
  for (i64 g = 0; g < c.groups; ++g)
    for (i64 j = 0; j < n; j += width) {
      int columns = (int)detail::min_of(width, n - j), real = (int)detail::ceil_div(columns, L) * L;
      float* to = packed + g * detail::transpose_group_size(c) + j * k;
      const float* from = w + g * inputs * s_i + j * s_o;
      for (i64 phase = 0; phase < c.sd * c.sh * c.sw; ++phase) {
        auto d = detail::phase_taps(phase / (c.sh * c.sw), c.kd, c.sd, c.pd, c.dd);
        auto h = detail::phase_taps(phase / c.sw % c.sh, c.kh, c.sh, c.ph, c.dh);
        auto x = detail::phase_taps(phase % c.sw, c.kw, c.sw, c.pw, c.dw);
        for (i64 a = 0; a < d.count; ++a)
          for (i64 b = 0; b < h.count; ++b)
            for (i64 e = 0; e < x.count; ++e, to += inputs * real)
              detail::pack_panel(to, real,
                                 from + (d.first + a * d.step) * s_kd +
                                     (h.first + b * h.step) * s_kh + (x.first + e * x.step) * s_kw,
                                 inputs, columns, s_i, s_o);
      }
    }
}

constexpr i64 conv_transpose_scratch(const Conv& c, int threads) {
  return detail::transpose_padded(c)
             ? detail::round_up(c.id * c.ih * detail::transpose_columns(c) * c.ic * 4) * threads
             : 0;
}

namespace detail {

inline void transpose_pad(float* to, const Conv& c, const float* image) {
  i64 left = transpose_left(c), columns = transpose_columns(c);
  for (i64 r = 0; r < c.id * c.ih; ++r, to += columns * c.ic) {
    __builtin_memset(to, 0, (size_t)(left * c.ic) * 4);
    __builtin_memcpy(to + left * c.ic, image + r * c.iw * c.ic, (size_t)(c.iw * c.ic) * 4);
    __builtin_memset(to + (left + c.iw) * c.ic, 0, (size_t)((columns - left - c.iw) * c.ic) * 4);
  }
}

// Outputs of one phase in output row (d, h); `b` is the phase's first tap in the panel. `image` is
// at input column 0.
template <int NV, class E>
inline void transpose_row(const Conv& c, Image image, i64 d, i64 h, i64 phase_w, const float* b,
                          i64 n0, int columns, i64 pixel, const E& epilogue) {
  constexpr int limit = tile_rows(NV), width = NV * native_lanes<float>;
  const i64 run = c.group_inputs(), row = image.columns * c.ic, phase_d = d % c.sd,
            phase_h = h % c.sh;
  const PhaseTaps td = phase_taps(phase_d, c.kd, c.sd, c.pd, c.dd),
                  th = phase_taps(phase_h, c.kh, c.sh, c.ph, c.dh);
  const PhaseTaps tw = phase_taps(phase_w, c.kw, c.sw, c.pw, c.dw);
  const i64 outputs = ceil_div(c.ow - phase_w, c.sw);
  if (outputs <= 0) return;
  const i64 tiles = tile_count<limit, -1>(outputs);
  i64 offsets[kSegments];
  float out[limit * width];
  auto stepped = [&](f32v acc, i64 t, i64 channel, int lanes) {
    epilogue(acc, pixel + phase_w + t * c.sw, channel, lanes);
  };
  for (i64 i = 0; i < tiles; ++i) {
    TileRows t = tile_at<limit, -1>(i, tiles, outputs);
    bool add = false;
    for (i64 a = 0; a < td.count; ++a) {
      i64 id = d / c.sd + phase_input(phase_d, td.first + a * td.step, c.sd, c.pd, c.dd);
      if (id < 0 || id >= c.id) continue;
      for (i64 e = 0; e < th.count; ++e) {
        i64 ih = h / c.sh + phase_input(phase_h, th.first + e * th.step, c.sh, c.ph, c.dh);
        if (ih < 0 || ih >= c.ih) continue;
        for (i64 s0 = 0; s0 < tw.count; s0 += kSegments) {
          int count = (int)min_of(kSegments, tw.count - s0);
          for (int s = 0; s < count; ++s)
            offsets[s] =
                (id * c.ih + ih) * row +
                phase_input(phase_w, tw.first + (s0 + s) * tw.step, c.sw, c.pw, c.dw) * c.ic;
          tile_for<float, NV, -1>(t.rows)(count, run, image.data + t.begin * c.ic, offsets, c.ic,
                                          b + ((a * th.count + e) * tw.count + s0) * run * width,
                                          width, out, add);
          add = true;
        }
      }
    }
    if (!add) __builtin_memset(out, 0, sizeof out);
    finish_tile(out + t.skip * width, width, t.begin + t.skip, t.rows - t.skip, n0, columns,
                stepped);
  }
}

template <int NV, int Widths, class... Args>
inline void transpose_row_of(int vectors, const Args&... args) {
  if constexpr (NV >= 1) {
    if constexpr ((Widths >> NV & 1) != 0)
      if (vectors == NV) return transpose_row<NV>(args...);
    transpose_row_of<NV - 1, Widths>(vectors, args...);
  }
}

// Output rows [begin, end) of one image.
template <class C, class E>
inline void transpose_rows(const Conv& c, Image image, i64 begin, i64 end, i64 pixel0,
                           const float* packed, const E& epilogue) {
  constexpr i64 N = C::conv.group_outputs();
  constexpr int L = native_lanes<float>, width = panel_width<float>(N);
  const i64 k = transpose_k(c);
  for (i64 g = 0; g < c.groups; ++g)
    for (i64 n0 = 0; n0 < N; n0 += width) {
      int columns = (int)min_of(width, N - n0), vectors = (int)ceil_div(columns, L);
      for (i64 r = begin; r < end; ++r) {
        i64 d = r / c.oh, h = r % c.oh, phase = 0;
        const float* b = packed + g * transpose_group_size(c) + n0 * k;
        Image from = {image.data + g * c.group_inputs(), image.columns};
        for (i64 pd = 0; pd < c.sd; ++pd)
          for (i64 ph = 0; ph < c.sh; ++ph)
            for (i64 pw = 0; pw < c.sw; ++pw, ++phase) {
              if (pd == d % c.sd && ph == h % c.sh)
                transpose_row_of<kPanelVectors, packed_widths<float, N>()>(
                    vectors, c, from, d, h, pw, b, g * N + n0, columns, pixel0 + r * c.ow,
                    epilogue);
              b += phase_taps(pd, c.kd, c.sd, c.pd, c.dd).count *
                   phase_taps(ph, c.kh, c.sh, c.ph, c.dh).count *
                   phase_taps(pw, c.kw, c.sw, c.pw, c.dw).count * c.group_inputs() * vectors * L;
            }
      }
    }
}

}  // namespace detail

// The transposed convolution of x with filters from pack_conv_transpose.
template <class C, class E>
inline void conv_transpose(Pool* pool, const Conv& c, const float* x, const float* packed,
                           void* scratch, const E& epilogue) {
  const i64 pixels = c.od * c.oh * c.ow, rows = c.od * c.oh;
  const i64 bytes = conv_transpose_scratch(c, 1);
  auto prepare = [&](i64 n, char* at) -> detail::Image {
    const float* image = x + n * c.id * c.ih * c.iw * c.ic;
    if (!detail::transpose_padded(c)) return {image, c.iw};
    detail::transpose_pad((float*)at, c, image);
    return {(const float*)at + detail::transpose_left(c) * c.ic, detail::transpose_columns(c)};
  };
  if (c.n >= pool_size(pool)) {
    parallel_for(pool, c.n, 1, [&](i64 begin, i64 end, int worker) {
      for (i64 n = begin; n < end; ++n)
        detail::transpose_rows<C>(c, prepare(n, (char*)scratch + bytes * worker), 0, rows,
                                  n * pixels, packed, epilogue);
    });
    return;
  }
  for (i64 n = 0; n < c.n; ++n) {
    detail::Image image = prepare(n, (char*)scratch);
    parallel_for(pool, rows, 2, [&](i64 begin, i64 end, int) {
      detail::transpose_rows<C>(c, image, begin, end, n * pixels, packed, epilogue);
    });
  }
}

}  // namespace ptc

#endif
