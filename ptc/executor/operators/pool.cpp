// Pooling windows: maxima with their positions, means, and windows that adapt to a given output. Memory has the channels
// innermost, so that a window is a loop over neighbours whatever its shape.
#include "convolution.h"

namespace ptc::exec {

namespace {

// The taps of a window over one dimension: position(out, tap) = out * stride + tap * dilation - padding.
struct Window {
  int64_t size = 1, output = 1, taps = 1, stride = 1, padding = 0, dilation = 1;
  bool adapts = false;

  int64_t first(int64_t out) const { return adapts ? out * size / output : out * stride - padding; }
  // One behind the last position, which may lie outside.
  int64_t last(int64_t out) const {
    return adapts ? ((out + 1) * size + output - 1) / output : out * stride - padding + (taps - 1) * dilation + 1;
  }
};

struct Windows {
  Window dims[3];  // depth, height, width
  int spatial = 0;
  bool batched = true;
  Tensor x;        // n, d, h, w, c
};

Windows place_input(const Call& c, int spatial) {
  Windows result;
  Tensor x = c.tensor(0);
  result.spatial = spatial;
  result.batched = x.rank() == spatial + 2;
  if (!result.batched && x.rank() != spatial + 1) fail("an input of %d dimensions", x.rank());
  result.x = channels_inside(result.batched ? x : unsqueeze(x, 0));
  for (int d = 0; d < 3; ++d) result.dims[d].size = result.x.sizes[d + 1];
  return result;
}

Windows fixed_windows(const Call& c, int spatial, int dilation, int ceil_mode) {
  Windows result = place_input(c, spatial);
  const Dims taps = c.dims(1, spatial);
  const bool has_stride = c.has(2) && !(c[2].is_list() && c[2].list().empty());
  const Dims stride = has_stride ? c.dims(2, spatial) : taps, padding = c.has(3) ? c.dims(3, spatial) : Dims(spatial, 0);
  const Dims gaps = dilation >= 0 && c.has(dilation) ? c.dims(dilation, spatial) : Dims(spatial, 1);
  for (int i = 0; i < spatial; ++i) {
    Window& w = result.dims[3 - spatial + i];
    w.taps = taps[i], w.stride = stride[i], w.padding = padding[i], w.dilation = gaps[i];
    if (w.taps < 1 || w.stride < 1 || w.dilation < 1 || w.padding < 0 || w.padding > w.taps / 2)
      fail("a window of %lld taps, stride %lld, padding %lld, dilation %lld", (long long)w.taps, (long long)w.stride,
           (long long)w.padding, (long long)w.dilation);
    const int64_t span = w.size + 2 * w.padding - w.dilation * (w.taps - 1) - 1;
    if (span < 0) fail("a window of %lld taps over %lld", (long long)w.taps, (long long)w.size);
    w.output = span / w.stride + 1;
    if (c.flag(ceil_mode, false))
      w.output = std::min((span + w.stride - 1) / w.stride + 1, (w.size + w.padding + w.stride - 1) / w.stride);
  }
  return result;
}

Windows adaptive_windows(const Call& c, int spatial) {
  Windows result = place_input(c, spatial);
  const Dims outputs = c.dims(1, spatial);
  for (int i = 0; i < spatial; ++i) {
    Window& w = result.dims[3 - spatial + i];
    w.output = outputs[i];
    w.adapts = true;
    if (w.output < 0) fail("an output of %lld", (long long)w.output);
  }
  return result;
}

Dims output_sizes(const Windows& w) {
  return {w.x.sizes[0], w.dims[0].output, w.dims[1].output, w.dims[2].output, w.x.sizes[4]};
}

Tensor finished(const Windows& w, const Tensor& out) {
  const Tensor result = channels_first(out, w.spatial);
  return w.batched ? result : select(result, 0, 0);
}

// body(output pixel, image's first element, d, h, w: ranges inside the image) for every output pixel.
struct Range {
  int64_t begin, end, step;
};
Range inside(const Window& w, int64_t out) {
  Range range = {w.first(out), w.last(out), w.adapts ? 1 : w.dilation};
  if (range.begin < 0) range.begin += (-range.begin + range.step - 1) / range.step * range.step;
  range.end = std::min(range.end, w.size);
  return range;
}

template <class F> void each_pixel(Pool* pool, const Windows& w, double work, const F& body) {
  const Window &d = w.dims[0], &h = w.dims[1], &v = w.dims[2];
  const int64_t pixels = w.x.sizes[0] * d.output * h.output * v.output;
  const int64_t image = d.size * h.size * v.size;
  parallel(pool, pixels, work, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t ow = p % v.output, oh = p / v.output % h.output, od = p / (v.output * h.output) % d.output;
      const int64_t n = p / (v.output * h.output * d.output);
      body(p, n * image, od, oh, ow);
    }
  });
}

// body(position in the image) for the taps of a window that lie inside.
template <class F> inline void each_tap(const Windows& w, int64_t od, int64_t oh, int64_t ow, const F& body) {
  const Range d = inside(w.dims[0], od), h = inside(w.dims[1], oh), v = inside(w.dims[2], ow);
  for (int64_t i = d.begin; i < d.end; i += d.step)
    for (int64_t j = h.begin; j < h.end; j += h.step)
      for (int64_t k = v.begin; k < v.end; k += v.step) body((i * w.dims[1].size + j) * w.dims[2].size + k);
}

double window_work(const Windows& w) {
  double taps = 1;
  for (const Window& window : w.dims) taps *= (double)(window.adapts ? window.size / std::max<int64_t>(window.output, 1) + 1 : window.taps);
  return taps * (double)w.x.sizes[4];
}

// --- maxima ---------------------------------------------------------------------------------------------------------

template <class T> void largest_only(Pool* pool, const Windows& w, const Tensor& out) {
  const int64_t channels = w.x.sizes[4];
  each_pixel(pool, w, window_work(w), [&](int64_t pixel, int64_t image, int64_t od, int64_t oh, int64_t ow) {
    T* const best = out.data<T>() + pixel * channels;
    bool first = true;
    each_tap(w, od, oh, ow, [&](int64_t position) {
      const T* const values = w.x.data<T>() + (image + position) * channels;
      if (first) memcpy((void*)best, (const void*)values, (size_t)channels * sizeof(T));
      else
        for (int64_t c = 0; c < channels; ++c) best[c] = values[c] > best[c] || values[c] != values[c] ? values[c] : best[c];
      first = false;
    });
  });
}

template <class T> void largest_with_positions(Pool* pool, const Windows& w, const Tensor& out, const Tensor& positions) {
  using C = compute_t<T>;
  const int64_t channels = w.x.sizes[4];
  each_pixel(pool, w, window_work(w) * 2, [&](int64_t pixel, int64_t image, int64_t od, int64_t oh, int64_t ow) {
    T* const best = out.data<T>() + pixel * channels;
    int64_t* const where = positions.data<int64_t>() + pixel * channels;
    bool first = true;
    each_tap(w, od, oh, ow, [&](int64_t position) {
      const T* const values = w.x.data<T>() + (image + position) * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const C value = cast<C>(values[c]), old = cast<C>(best[c]);
        if (!first && !(value > old || value != value)) continue;
        best[c] = values[c];
        where[c] = position;
      }
      first = false;
    });
  });
}

Value largest(const Call& c, const Windows& w) {
  Tensor out = empty(w.x.dtype, output_sizes(w));
  for (const Window& window : w.dims)
    if (window.size == 0 && out.numel()) fail("a window without elements");
  if (c.first_only && w.x.dtype == DType::F32) {
    largest_only<float>(c.pool, w, out);
    const Tensor result = finished(w, out);
    return Value::list({result, expand(scalar_tensor((int64_t)0), result.sizes)});
  }
  Tensor positions = empty(DType::I64, out.sizes);
  visit_real(w.x.dtype, [&](auto tag) { largest_with_positions<typename decltype(tag)::type>(c.pool, w, out, positions); });
  return Value::list({finished(w, out), finished(w, positions)});
}

// --- means ----------------------------------------------------------------------------------------------------------

// How many taps a mean is divided by.
int64_t divisor(const Windows& w, const int64_t (&out)[3], bool with_padding) {
  int64_t count = 1;
  for (int d = 0; d < 3; ++d) {
    const Window& window = w.dims[d];
    const int64_t begin = window.first(out[d]), end = window.last(out[d]);
    if (window.adapts) count *= end - begin;
    else if (with_padding) count *= std::min(end, window.size + window.padding) - begin;
    else count *= std::min(end, window.size) - std::max<int64_t>(begin, 0);
  }
  return count;
}

template <class T> void means(Pool* pool, const Windows& w, const Tensor& out, bool with_padding, int64_t fixed) {
  using C = std::conditional_t<std::is_integral_v<T>, int64_t, compute_t<T>>;
  const int64_t channels = w.x.sizes[4];
  each_pixel(pool, w, window_work(w), [&](int64_t pixel, int64_t image, int64_t od, int64_t oh, int64_t ow) {
    constexpr int64_t kBlock = 256;
    C sums[kBlock];
    const int64_t count = fixed ? fixed : divisor(w, {od, oh, ow}, with_padding);
    for (int64_t c0 = 0; c0 < channels; c0 += kBlock) {
      const int64_t block = std::min(kBlock, channels - c0);
      for (int64_t c = 0; c < block; ++c) sums[c] = C(0);
      each_tap(w, od, oh, ow, [&](int64_t position) {
        const T* const values = w.x.data<T>() + (image + position) * channels + c0;
        for (int64_t c = 0; c < block; ++c) sums[c] += cast<C>(values[c]);
      });
      T* const to = out.data<T>() + pixel * channels + c0;
      for (int64_t c = 0; c < block; ++c) to[c] = cast<T>((C)(sums[c] / (C)count));
    }
  });
}

Value mean(const Call& c, const Windows& w, bool with_padding, int64_t fixed) {
  Tensor out = empty(w.x.dtype, output_sizes(w));
  visit_real(w.x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) fail("means of bools");
    else means<T>(c.pool, w, out, with_padding, fixed);
  });
  return finished(w, out);
}

Value mean_of_windows(const Call& c, int spatial) {
  int64_t fixed = 0;
  if (c.has(6)) {
    fixed = c.integer(6);
    if (fixed == 0) fail("a divisor of zero");
  }
  return mean(c, fixed_windows(c, spatial, -1, 4), c.flag(5, true), fixed);
}

}  // namespace

static Value max_pool2d(Call& c) { return largest(c, fixed_windows(c, 2, 4, 5)); }
static Value max_pool3d(Call& c) { return largest(c, fixed_windows(c, 3, 4, 5)); }
static Value adaptive_max1d(Call& c) { return largest(c, adaptive_windows(c, 1)); }
static Value adaptive_max2d(Call& c) { return largest(c, adaptive_windows(c, 2)); }
static Value adaptive_max3d(Call& c) { return largest(c, adaptive_windows(c, 3)); }
static Value avg_pool1d(Call& c) { return mean_of_windows(c, 1); }
static Value avg_pool2d(Call& c) { return mean_of_windows(c, 2); }
static Value avg_pool3d(Call& c) { return mean_of_windows(c, 3); }
static Value adaptive_avg1d(Call& c) { return mean(c, adaptive_windows(c, 1), true, 0); }
static Value adaptive_avg2d(Call& c) { return mean(c, adaptive_windows(c, 2), true, 0); }
static Value adaptive_avg3d(Call& c) { return mean(c, adaptive_windows(c, 3), true, 0); }

static const OperatorRow rows[] = {
    {"aten::max_pool2d_with_indices", max_pool2d},
    {"aten::max_pool3d_with_indices", max_pool3d},
    {"aten::adaptive_max_pool1d", adaptive_max1d},
    {"aten::adaptive_max_pool2d", adaptive_max2d},
    {"aten::adaptive_max_pool3d", adaptive_max3d},
    {"aten::avg_pool1d", avg_pool1d},
    {"aten::avg_pool2d", avg_pool2d},
    {"aten::avg_pool3d", avg_pool3d},
    {"aten::adaptive_avg_pool1d", adaptive_avg1d},
    {"aten::_adaptive_avg_pool2d", adaptive_avg2d},
    {"aten::_adaptive_avg_pool3d", adaptive_avg3d},
};
PTC_EXEC_TABLE(pool_operators, rows);

}  // namespace ptc::exec
