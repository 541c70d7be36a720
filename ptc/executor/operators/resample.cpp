// Images of another size, and images at positions that are data. Source positions follow eager: computed in f32, or in f64
// for images of f64, from the same scale.
#include <math.h>

#include "common.h"
#include "rows.h"

namespace ptc::exec {

namespace {

// One dimension that is resized. `factor` is the scale factor as the user gave it, 0 if they did not.
struct Axis {
  int64_t size = 1, output = 1;
  double factor = 0;

  // Source positions a step of the output.
  template <class T> T scale(bool align_corners) const {
    if (align_corners) return output > 1 ? (T)(size - 1) / (T)(output - 1) : (T)0;
    return factor > 0 ? (T)(1.0 / factor) : (T)size / (T)output;
  }
  template <class T> T source(int64_t i, bool align_corners) const {
    const T step = scale<T>(align_corners);
    return align_corners ? step * (T)i : step * ((T)i + (T)0.5) - (T)0.5;
  }
};
typedef std::vector<Axis> Axes;

int64_t cut(int64_t at, int64_t size) { return at < 0 ? 0 : at >= size ? size - 1 : at; }
// A whole float as an integer; what does not fit lies far outside of any image.
template <class T> int64_t whole_number(T v) { return fabs(v) < (T)1e18 ? (int64_t)v : INT64_MIN / 2; }

// Axes of the last dimensions. Sizes are arguments `sizes`, or follow from the factors.
Axes axes_of(const Tensor& x, const Dims& output, const std::vector<double>& factors) {
  const int rank = output.size();
  if (x.rank() != rank + 2) fail("interpolation of %d dimensions of a tensor of %d", rank, x.rank());
  Axes axes;
  for (int d = 0; d < rank; ++d) {
    if (output[d] < 0 || (output[d] && !x.sizes[d + 2])) fail("an output of %lld", (long long)output[d]);
    axes.push_back({x.sizes[d + 2], output[d], factors.empty() ? 0 : factors[(size_t)d]});
  }
  return axes;
}
// Arguments `output size, factor, factor...` from number `first` on; `at`: where the factors begin.
Axes axes_of_sizes(const Call& c, int at) {
  const Dims output = c.dims(1);
  std::vector<double> factors;
  for (int d = 0; d < output.size(); ++d) factors.push_back(c.number(at + d, 0));
  return axes_of(c.tensor(0), output, factors);
}
// The form that takes either an output size (argument 1) or factors (argument `at`).
Axes axes_of_vector(const Call& c, int at) {
  const Tensor& x = c.tensor(0);
  if (c.has(1)) return axes_of(x, c.dims(1), {});
  std::vector<double> factors;
  Dims output;
  if ((int)c[at].list().size() != x.rank() - 2) fail("%d factors for a tensor of %d dimensions", (int)c[at].list().size(), x.rank());
  for (const Value& factor : c[at].list()) {
    factors.push_back(factor.number());
    output.push_back((int64_t)floor((double)x.sizes[output.size() + 2] * factors.back()));
  }
  return axes_of(x, output, factors);
}

Dims resized(const Tensor& x, const Axes& axes) {
  Dims sizes{x.sizes[0], x.sizes[1]};
  for (const Axis& axis : axes) sizes.push_back(axis.output);
  return sizes;
}
// Three axes, the first ones trivial.
Axes three(Axes axes) {
  while (axes.size() < 3) axes.insert(axes.begin(), Axis());
  return axes;
}

// --- nearest --------------------------------------------------------------------------------------------------------

Tensor nearest(const Call& c, const Axes& given, bool exact) {
  const Tensor x = contiguous(c.tensor(0));
  const Tensor out = empty(x.dtype, resized(x, given));
  if (!out.numel()) return out;
  const Axes axes = three(given);
  std::vector<int64_t> places[3];
  for (int a = 0; a < 3; ++a)
    for (int64_t i = 0; i < axes[a].output; ++i) {
      const float position = exact ? (float)i + 0.5f : (float)i;
      places[a].push_back(cut(whole_number(floorf(position * axes[a].scale<float>(false))), axes[a].size));
    }
  const int64_t image = axes[0].size * axes[1].size * axes[2].size;
  visit_size(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t rows = axes[0].output * axes[1].output, columns = axes[2].output;
    parallel(c.pool, x.sizes[0] * x.sizes[1] * rows, 2.0 * (double)columns, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        const int64_t d = places[0][(size_t)(u % rows / axes[1].output)], h = places[1][(size_t)(u % axes[1].output)];
        const T* const from = x.data<T>() + u / rows * image + (d * axes[1].size + h) * axes[2].size;
        T* const to = out.data<T>() + u * columns;
        for (int64_t i = 0; i < columns; ++i) to[i] = from[places[2][(size_t)i]];
      }
    });
  });
  return out;
}
Value nearest_sizes(Call& c) { return nearest(c, axes_of_sizes(c, 2), false); }
Value nearest_vector(Call& c) { return nearest(c, axes_of_vector(c, 2), false); }
Value exact_sizes(Call& c) { return nearest(c, axes_of_sizes(c, 2), true); }
Value exact_vector(Call& c) { return nearest(c, axes_of_vector(c, 2), true); }

// --- linear and cubic -----------------------------------------------------------------------------------------------

template <class T> void cubic_weights(T t, T a, T* w) {
  const auto near = [a](T d) { return ((d * (a + 2) - (a + 3)) * d) * d + 1; };
  const auto far = [a](T d) { return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a; };
  w[0] = far(t + 1), w[1] = near(t), w[2] = near(1 - t), w[3] = far((1 - t) + 1);
}

// Source positions and weights of each output of an axis, `count` of them.
template <class T> struct Taps {
  int count = 1;
  std::vector<int64_t> places;
  std::vector<T> weights;
};
template <class T> T unit(T v) { return v < 0 ? (T)0 : v > 1 ? (T)1 : v; }

template <class T> Taps<T> trivial_taps() { return {1, {0}, {(T)1}}; }
template <class T> Taps<T> linear_taps(const Axis& axis, bool align_corners) {
  Taps<T> taps{2, {}, {}};
  for (int64_t i = 0; i < axis.output; ++i) {
    T real = axis.source<T>(i, align_corners);
    if (!align_corners && real < 0) real = 0;
    const int64_t base = cut(whole_number((T)floor(real)), axis.size);
    const T rest = unit(real - (T)base);
    taps.places.insert(taps.places.end(), {base, cut(base + 1, axis.size)});
    taps.weights.insert(taps.weights.end(), {(T)1 - rest, rest});
  }
  return taps;
}
template <class T> Taps<T> cubic_taps(const Axis& axis, bool align_corners) {
  Taps<T> taps{4, {}, {}};
  for (int64_t i = 0; i < axis.output; ++i) {
    const T real = axis.source<T>(i, align_corners);
    int64_t base = whole_number((T)floor(real));
    if (base > axis.size - 1) base = axis.size - 1;
    T weights[4];
    cubic_weights(unit(real - (T)base), (T)-0.75, weights);
    for (int step = -1; step <= 2; ++step) taps.places.push_back(cut(base + step, axis.size));
    taps.weights.insert(taps.weights.end(), weights, weights + 4);
  }
  return taps;
}

// P, Q and R: taps of an output along each axis. The first term of a sum is not added to 0, which keeps -0.
template <int P, int Q, int R, class T>
void interpolate(const Call& c, const Tensor& x, const Tensor& out, const Axes& axes, const Taps<T> (&taps)[3]) {
  const int64_t rows = axes[0].output * axes[1].output, columns = axes[2].output, width = axes[2].size;
  const int64_t image = axes[0].size * axes[1].size * width;
  const int64_t* const across = taps[2].places.data();
  const T* const across_weights = taps[2].weights.data();
  parallel(c.pool, x.sizes[0] * x.sizes[1] * rows, 2.0 * (double)columns * P * Q * R, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const size_t d = (size_t)(u % rows / axes[1].output * P), h = (size_t)(u % axes[1].output * Q);
      const T *lines[P * Q], *const from = x.data<T>() + u / rows * image;
      T deep[P], down[Q];
      for (int p = 0; p < P; ++p) deep[p] = taps[0].weights[d + (size_t)p];
      for (int q = 0; q < Q; ++q) down[q] = taps[1].weights[h + (size_t)q];
      for (int p = 0; p < P; ++p)
        for (int q = 0; q < Q; ++q)
          lines[p * Q + q] = from + (taps[0].places[d + (size_t)p] * axes[1].size + taps[1].places[h + (size_t)q]) * width;
      T* const to = out.data<T>() + u * columns;
      for (int64_t i = 0; i < columns; ++i) {
        T total = 0;
        for (int p = 0; p < P; ++p) {
          T plane = 0;
          for (int q = 0; q < Q; ++q) {
            T sum = 0;
            for (int r = 0; r < R; ++r) {
              const T term = across_weights[i * R + r] * lines[p * Q + q][across[i * R + r]];
              sum = r ? sum + term : term;
            }
            plane = q ? plane + down[q] * sum : down[0] * sum;
          }
          total = p ? total + deep[p] * plane : deep[0] * plane;
        }
        to[i] = total;
      }
    }
  });
}

template <class F> void visit_image(DType dtype, const F& body) {
  if (!is_floating(dtype)) fail("interpolation of images of %s", dtype_name(dtype));
  if (dtype == DType::F64) body(type_tag<double>());
  else body(type_tag<float>());
}

Tensor smooth(const Call& c, const Axes& given, bool align_corners, bool cubic) {
  const Tensor& image = c.tensor(0);
  Tensor out;
  visit_image(image.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Tensor x = contiguous_as(image, dtype_of<T>);
    out = empty(x.dtype, resized(x, given));
    if (!out.numel()) return;
    Taps<T> taps[3] = {trivial_taps<T>(), trivial_taps<T>(), trivial_taps<T>()};
    for (size_t a = 0; a < given.size(); ++a)
      taps[3 - given.size() + a] = cubic ? cubic_taps<T>(given[a], align_corners) : linear_taps<T>(given[a], align_corners);
    const auto run = cubic               ? interpolate<1, 4, 4, T>
                     : given.size() == 3 ? interpolate<2, 2, 2, T>
                     : given.size() == 2 ? interpolate<1, 2, 2, T>
                                         : interpolate<1, 1, 2, T>;
    run(c, x, out, three(given), taps);
  });
  return convert_to(out, image.dtype);
}
Value linear_sizes(Call& c) { return smooth(c, axes_of_sizes(c, 3), c.flag(2), false); }
Value linear_vector(Call& c) { return smooth(c, axes_of_vector(c, 3), c.flag(2), false); }
Value cubic_sizes(Call& c) { return smooth(c, axes_of_sizes(c, 3), c.flag(2), true); }
Value cubic_vector(Call& c) { return smooth(c, axes_of_vector(c, 3), c.flag(2), true); }

// --- antialiased ----------------------------------------------------------------------------------------------------

template <class T> T filter(T distance, bool cubic) {
  const T x = (T)fabs(distance), a = (T)-0.5;
  if (!cubic) return x < 1 ? 1 - x : (T)0;
  if (x < 1) return ((x * (a + 2) - (a + 3)) * x) * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : (T)0;
}

// The elements that an output covers, weighted.
template <class T> struct Cover {
  int64_t first = 0;
  std::vector<T> weights;
};
template <class T> std::vector<Cover<T>> covers(const Axis& axis, bool align_corners, bool cubic) {
  const T scale = axis.scale<T>(align_corners), reach = cubic ? 2 : 1;
  const T support = (scale > 1 ? scale : (T)1) * reach, inverse = scale > 1 ? (T)1 / scale : (T)1;
  std::vector<Cover<T>> all((size_t)axis.output);
  for (int64_t i = 0; i < axis.output; ++i) {
    Cover<T>& cover = all[(size_t)i];
    const T center = scale * ((T)i + (T)0.5);
    const int64_t low = (int64_t)(center - support + (T)0.5), high = (int64_t)(center + support + (T)0.5);
    cover.first = low < 0 ? 0 : low;
    T total = 0;
    for (int64_t at = cover.first; at < high && at < axis.size; ++at) {
      cover.weights.push_back(filter(((T)at - center + (T)0.5) * inverse, cubic));
      total += cover.weights.back();
    }
    for (T& weight : cover.weights) weight /= total;
  }
  return all;
}

// x with dimension `dim` resampled.
template <class T> Tensor resampled(const Call& c, const Tensor& x, int dim, const Axis& axis, bool align_corners, bool cubic) {
  Dims sizes = x.sizes;
  sizes[dim] = axis.output;
  const Tensor out = empty(x.dtype, sizes);
  int64_t inner = 1, outer = 1;
  for (int d = 0; d < x.rank(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : x.sizes[d];
  const std::vector<Cover<T>> all = covers<T>(axis, align_corners, cubic);
  parallel(c.pool, outer * axis.output, 8.0 * (double)inner, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const Cover<T>& cover = all[(size_t)(u % axis.output)];
      const T* const from = x.data<T>() + (u / axis.output * axis.size + cover.first) * inner;
      T* const to = out.data<T>() + u * inner;
      for (int64_t i = 0; i < inner; ++i) {
        T total = 0;
        for (size_t t = 0; t < cover.weights.size(); ++t) total += cover.weights[t] * from[(int64_t)t * inner + i];
        to[i] = total;
      }
    }
  });
  return out;
}

Value antialiased(Call& c, bool cubic) {
  const Tensor& image = c.tensor(0);
  const Axes axes = axes_of_sizes(c, 3);
  Tensor x = image;
  visit_image(image.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int a = (int)axes.size() - 1; a >= 0; --a)
      x = convert_to(resampled<T>(c, contiguous_as(x, dtype_of<T>), a + 2, axes[(size_t)a], c.flag(2), cubic), image.dtype);
  });
  return x;
}
Value bilinear_aa(Call& c) { return antialiased(c, false); }
Value bicubic_aa(Call& c) { return antialiased(c, true); }

// --- positions that are data ----------------------------------------------------------------------------------------

enum { kBilinear, kNearest, kBicubic };
enum { kZeros, kBorder, kReflection };

// How positions of one dimension of the image come from the grid, and how those outside are treated.
template <class T> struct GridAxis {
  int64_t size;
  int64_t padding;
  bool align_corners;

  T position(T v) const { return align_corners ? (v + 1) / 2 * ((T)size - 1) : ((v + 1) * (T)size - 1) / 2; }
  T inside(T v) const {
    if (padding == kZeros) return v;
    if (padding == kReflection) v = reflected(v);
    const T last = (T)size - 1;
    return v != v ? v : v < 0 ? (T)0 : v > last ? last : v;
  }
  // Mirrored at the centres (or the outer edges) of the border elements.
  T reflected(T v) const {
    const T low = align_corners ? (T)0 : (T)-0.5, span = align_corners ? (T)size - 1 : (T)size;
    if (align_corners && size == 1) return 0;
    const T away = (T)fabs(v - low), extra = (T)fmod(away, span), flips = (T)floor(away / span);
    return fmod(flips, (T)2) == 0 ? extra + low : span - extra + low;
  }
};

template <class T> struct GridTaps {
  int count = 1;
  int64_t places[4];
  bool real[4];
  T weights[4];
  void add(int n, T whole, T weight, int64_t size) {
    const int64_t at = whole_number(whole);
    real[n] = at >= 0 && at < size;
    places[n] = cut(at, size);
    weights[n] = weight;
  }
};
template <class T> GridTaps<T> grid_taps(const GridAxis<T>& axis, T v, int64_t mode) {
  GridTaps<T> taps;
  if (mode == kNearest) {
    taps.add(0, (T)rint(axis.inside(v)), 1, axis.size);
  } else if (mode == kBilinear) {
    const T place = axis.inside(v), floor_ = (T)floor(place), above = place - floor_;
    taps.count = 2;
    taps.add(0, floor_, 1 - above, axis.size);
    taps.add(1, floor_ + 1, above, axis.size);
  } else {
    const T floor_ = (T)floor(v);
    T weights[4];
    cubic_weights(v - floor_, (T)-0.75, weights);
    taps.count = 4;
    for (int n = 0; n < 4; ++n) taps.add(n, (T)rint(axis.inside(floor_ + (T)(n - 1))), weights[n], axis.size);
  }
  return taps;
}

Value grid_sampler(Call& c) {
  const Tensor &image = c.tensor(0), &positions = c.tensor(1);
  const int64_t mode = c.integer(2), padding = c.integer(3);
  const bool align_corners = c.flag(4);
  if (image.rank() != 4 || positions.rank() != 4 || positions.sizes[3] != 2 || positions.sizes[0] != image.sizes[0])
    fail("an image of %s and positions of %s", dims_text(image.sizes).c_str(), dims_text(positions.sizes).c_str());
  if (mode < kBilinear || mode > kBicubic || padding < kZeros || padding > kReflection) fail("an unknown mode");
  const int64_t channels = image.sizes[1], height = image.sizes[2], width = image.sizes[3];
  const int64_t rows = positions.sizes[1], columns = positions.sizes[2], area = rows * columns;
  Tensor out;
  visit_image(image.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Tensor x = contiguous_as(image, dtype_of<T>), grid = contiguous_as(positions, dtype_of<T>);
    out = empty(x.dtype, {image.sizes[0], channels, rows, columns});
    if (!out.numel()) return;
    if (!height || !width) fail("an image without elements");
    const GridAxis<T> down{height, padding, align_corners}, across{width, padding, align_corners};
    parallel(c.pool, image.sizes[0] * area, 40.0 + 8.0 * (double)channels, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        const GridTaps<T> column = grid_taps(across, across.position(grid.data<T>()[2 * u]), mode);
        const GridTaps<T> row = grid_taps(down, down.position(grid.data<T>()[2 * u + 1]), mode);
        for (int64_t channel = 0; channel < channels; ++channel) {
          const T* const plane = x.data<T>() + (u / area * channels + channel) * height * width;
          T total = 0;
          for (int p = 0; p < row.count; ++p)
            for (int q = 0; q < column.count; ++q) {
              const T element = row.real[p] && column.real[q] ? plane[row.places[p] * width + column.places[q]] : (T)0;
              const T term = element * (row.weights[p] * column.weights[q]);
              total = p || q ? total + term : term;
            }
          out.data<T>()[(u / area * channels + channel) * area + u % area] = total;
        }
      }
    });
  });
  return convert_to(out, image.dtype);
}

const OperatorRow table[] = {
    {"aten::upsample_nearest1d", nearest_sizes}, {"aten::upsample_nearest2d", nearest_sizes}, {"aten::upsample_nearest3d", nearest_sizes},
    {"aten::upsample_nearest1d.vec", nearest_vector}, {"aten::upsample_nearest2d.vec", nearest_vector}, {"aten::upsample_nearest3d.vec", nearest_vector},
    {"aten::_upsample_nearest_exact1d", exact_sizes}, {"aten::_upsample_nearest_exact2d", exact_sizes}, {"aten::_upsample_nearest_exact3d", exact_sizes},
    {"aten::_upsample_nearest_exact1d.vec", exact_vector}, {"aten::_upsample_nearest_exact2d.vec", exact_vector}, {"aten::_upsample_nearest_exact3d.vec", exact_vector},
    {"aten::upsample_linear1d", linear_sizes}, {"aten::upsample_bilinear2d", linear_sizes}, {"aten::upsample_trilinear3d", linear_sizes},
    {"aten::upsample_linear1d.vec", linear_vector}, {"aten::upsample_bilinear2d.vec", linear_vector}, {"aten::upsample_trilinear3d.vec", linear_vector},
    {"aten::upsample_bicubic2d", cubic_sizes}, {"aten::upsample_bicubic2d.vec", cubic_vector},
    {"aten::_upsample_bilinear2d_aa", bilinear_aa}, {"aten::_upsample_bicubic2d_aa", bicubic_aa},
    {"aten::grid_sampler_2d", grid_sampler},
};

}  // namespace

PTC_EXEC_TABLE(resample_operators, table);

}  // namespace ptc::exec
