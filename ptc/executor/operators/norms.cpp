// Normalisation: rows by the generated kernels, groups and channels by one multiply and add an element.
#include <math.h>

#include "common.h"
#include "promote.h"
#include "rows.h"

namespace ptc::exec {

namespace {

double one_value(DType dtype) { return dtype == DType::F64 ? 2.220446049250313e-16 : 1.1920928955078125e-07; }

// The last dimensions, as many as `normalized` has, which say their sizes.
Dims last_dims(const Tensor& x, const Dims& normalized) {
  Dims dims;
  const int first = x.rank() - normalized.size();
  for (int d = first; d < x.rank(); ++d) {
    if (d < 0 || x.sizes[d] != normalized[d - first]) fail("sizes of the normalised dimensions differ");
    dims.push_back(d);
  }
  return dims;
}

// A weight or bias of n elements in the type of computation; `otherwise` everywhere without one.
Tensor parameter(const Tensor* given, int64_t n, DType wide, double otherwise) {
  if (!given) return full(wide, {n}, otherwise);
  if (given->numel() != n) fail("a weight of %lld elements for %lld", (long long)given->numel(), (long long)n);
  return contiguous_as(*given, wide);
}

template <class F> decltype(auto) visit_wide(DType wide, const F& body) {
  if (wide == DType::F64) return body(type_tag<double>());
  if (wide == DType::F32) return body(type_tag<float>());
  fail("normalisation of elements of type %s", dtype_name(wide));
}

// out = (x - mean) * rstd * weight + bias along a row.
template <class T> void apply_row(const T* x, T* out, int64_t n, T mean, T rstd, const T* weight, const T* bias) {
  typedef vec<T, PTC_VLEN> V;
  int64_t i = 0;
  for (; i + PTC_VLEN <= n; i += PTC_VLEN) {
    V value = (load<T, PTC_VLEN>(x + i) - V(mean)) * V(rstd);
    if (weight) value = value * load<T, PTC_VLEN>(weight + i);
    if (bias) value = value + load<T, PTC_VLEN>(bias + i);
    store(out + i, value);
  }
  for (; i < n; ++i) {
    const T value = (x[i] - mean) * rstd * (weight ? weight[i] : (T)1);
    out[i] = bias ? value + bias[i] : value;
  }
}

Value layer_norm(Call& c) {
  const Tensor& x = c.tensor(0);
  const Dims normalized = c.dims(1);
  const double eps = c.number(4);
  const Rows rows = as_rows(x, last_dims(x, normalized), false);
  const Tensor *weight = c.tensor_or_null(2), *bias = c.tensor_or_null(3);
  const DType wide = rows.data.dtype;
  const Tensor out = empty(wide, x.sizes), mean = empty(wide, rows.kept(true)), rstd = empty(wide, rows.kept(true));
  const Tensor w = weight ? parameter(weight, rows.n, wide, 1) : Tensor(), b = bias ? parameter(bias, rows.n, wide, 0) : Tensor();
  run_rows(c, "statistics", rows, {mean, rstd}, {&eps});
  visit_wide(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel(c.pool, rows.outer, 3.0 * (double)rows.n, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        apply_row(rows.data.data<T>() + r * rows.n, out.data<T>() + r * rows.n, rows.n, mean.data<T>()[r], rstd.data<T>()[r],
                  weight ? w.data<T>() : nullptr, bias ? b.data<T>() : nullptr);
    });
  });
  const DType saved = weight && weight->dtype != x.dtype ? DType::F32 : x.dtype;
  return Value::list({convert_to(out, x.dtype), convert_to(mean, saved), convert_to(rstd, saved)});
}

Value rms_norm(Call& c) {
  const Tensor& x = c.tensor(0);
  const Rows rows = as_rows(x, last_dims(x, c.dims(1)), false);
  const Tensor* weight = c.tensor_or_null(2);
  const DType wide = rows.data.dtype, result = weight ? promote_types(x.dtype, weight->dtype) : x.dtype;
  const double eps = c.number(3, one_value(wide));
  const Tensor out = empty(wide, x.sizes);
  if (weight) {
    const Tensor w = parameter(weight, rows.n, wide, 1);
    run_rows(c, "rms_norm_affine", rows, {out}, {w.raw(), &eps});
  } else {
    run_rows(c, "rms_norm", rows, {out}, {&eps});
  }
  return convert_to(out, result);
}

// out[b, c, i] = x[b, c, i] * scale[b or 0, c] + shift[...] over dense memory.
template <class T> void scale_channels(Pool* pool, const T* x, T* out, int64_t batch, int64_t channels, int64_t area, const T* scale,
                                       const T* shift, bool by_batch) {
  parallel(pool, batch * channels, 2.0 * (double)area, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const int64_t at = by_batch ? u : u % channels;
      const T s = scale[at], t = shift[at];
      const T* const from = x + u * area;
      T* const to = out + u * area;
      int64_t i = 0;
      for (; i + PTC_VLEN <= area; i += PTC_VLEN) store(to + i, load<T, PTC_VLEN>(from + i) * vec<T, PTC_VLEN>(s) + vec<T, PTC_VLEN>(t));
      for (; i < area; ++i) to[i] = from[i] * s + t;
    }
  });
}

int64_t area_of(const Tensor& x) {
  int64_t area = 1;
  for (int d = 2; d < x.rank(); ++d) area *= x.sizes[d];
  return area;
}

Value group_norm(Call& c) {
  const Tensor& x = c.tensor(0);
  const int64_t groups = c.integer(6), batch = x.size(0), channels = x.size(1), area = area_of(x);
  const double eps = c.number(7);
  if (groups <= 0 || channels % groups) fail("%lld channels in %lld groups", (long long)channels, (long long)groups);
  const int64_t each = channels / groups;
  const DType wide = wide_type(x.dtype);
  Rows rows;
  rows.data = contiguous_as(x, wide);
  rows.outer = batch * groups;
  rows.n = each * area;
  const Tensor mean = empty(wide, {batch, groups}), rstd = empty(wide, {batch, groups}), out = empty(wide, x.sizes);
  run_rows(c, "statistics", rows, {mean, rstd}, {&eps});
  const Tensor *weight = c.tensor_or_null(1), *bias = c.tensor_or_null(2);
  const Tensor w = parameter(weight, channels, wide, 1), b = parameter(bias, channels, wide, 0);
  const Tensor scale = empty(wide, {batch, channels}), shift = empty(wide, {batch, channels});
  visit_wide(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < batch * channels; ++i) {
      const int64_t group = i / channels * groups + i % channels / each, channel = i % channels;
      scale.data<T>()[i] = rstd.data<T>()[group] * w.data<T>()[channel];
      shift.data<T>()[i] = b.data<T>()[channel] - mean.data<T>()[group] * scale.data<T>()[i];
    }
    scale_channels(c.pool, rows.data.data<T>(), out.data<T>(), batch, channels, area, scale.data<T>(), shift.data<T>(), true);
  });
  const DType saved = weight && weight->dtype != x.dtype ? DType::F32 : x.dtype;
  return Value::list({convert_to(out, x.dtype), convert_to(mean, saved), convert_to(rstd, saved)});
}

// Channels with given means and 1 / deviations.
Tensor normalise_channels(const Call& c, const Tensor& x, const Tensor* weight, const Tensor* bias, const Tensor& mean,
                          const Tensor& rstd) {
  const DType wide = wide_type(x.dtype);
  const int64_t channels = x.size(1);
  const Tensor w = parameter(weight, channels, wide, 1), b = parameter(bias, channels, wide, 0);
  const Tensor m = parameter(&mean, channels, wide, 0), r = parameter(&rstd, channels, wide, 0);
  const Tensor in = contiguous_as(x, wide), out = empty(wide, x.sizes), scale = empty(wide, {channels}), shift = empty(wide, {channels});
  visit_wide(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < channels; ++i) {
      scale.data<T>()[i] = r.data<T>()[i] * w.data<T>()[i];
      shift.data<T>()[i] = b.data<T>()[i] - m.data<T>()[i] * scale.data<T>()[i];
    }
    scale_channels(c.pool, in.data<T>(), out.data<T>(), x.size(0), channels, area_of(x), scale.data<T>(), shift.data<T>(), false);
  });
  return convert_to(out, x.dtype);
}

Tensor inverse_roots(const Tensor& variance, DType wide, double eps) {
  const Tensor v = contiguous_as(variance, wide), out = empty(wide, v.sizes);
  visit_wide(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0, n = v.numel(); i < n; ++i) out.data<T>()[i] = (T)1 / (T)::sqrt(v.data<T>()[i] + (T)eps);
  });
  return out;
}

Value inference(Call& c, const Tensor& x, int64_t first_statistic, double eps) {
  const DType wide = wide_type(x.dtype);
  const Tensor rstd = inverse_roots(c.tensor((int)first_statistic + 1), wide, eps);
  const Tensor out = normalise_channels(c, x, c.tensor_or_null(1), c.tensor_or_null(2), c.tensor((int)first_statistic), rstd);
  return Value::list({out, empty(wide, {0}), empty(wide, {0})});
}
Value no_training(Call& c) { return inference(c, c.tensor(0), 3, c.number(6)); }

struct Statistics {
  Tensor mean, variance, rstd;
};
Statistics batch_statistics(const Call& c, const Tensor& x, double eps) {
  const DType wide = wide_type(x.dtype);
  Dims dims{0};
  for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
  const double correction = 0;
  Statistics s;
  s.mean = reduce(c, "mean", x, dims, false, wide);
  s.variance = reduce(c, "var", x, dims, false, wide, {&correction});
  s.rstd = inverse_roots(s.variance, wide, eps);
  return s;
}

Value no_stats(Call& c) {
  const Tensor& x = c.tensor(0);
  const Statistics s = batch_statistics(c, x, c.number(5));
  return Value::list({normalise_channels(c, x, c.tensor_or_null(1), c.tensor_or_null(2), s.mean, s.rstd), s.mean, s.rstd});
}

// Functional: running statistics are not written here (functionalisation gives what they become).
Value with_training(Call& c) {
  const Tensor& x = c.tensor(0);
  if (!c.flag(5)) return inference(c, x, 3, c.number(7));
  const Statistics s = batch_statistics(c, x, c.number(7));
  return Value::list({normalise_channels(c, x, c.tensor_or_null(1), c.tensor_or_null(2), s.mean, s.rstd), s.mean, s.rstd});
}

const OperatorRow table[] = {
    {"aten::native_layer_norm", layer_norm}, {"ptc::rms_norm", rms_norm}, {"aten::native_group_norm", group_norm},
    {"aten::_native_batch_norm_legit_no_training", no_training}, {"aten::native_batch_norm", with_training},
    {"aten::_native_batch_norm_legit", with_training}, {"aten::_native_batch_norm_legit.no_stats", no_stats},
};

}  // namespace

PTC_EXEC_TABLE(norm_operators, table);

}  // namespace ptc::exec
