// Convolution in one, two and three dimensions, plain and transposed, with groups and dilation: as matrix products over
// pixels whose channels are innermost (ptc/runtime/ptc_conv.h). 16-bit floats are summed up as floats.
#include "convolution.h"

#include "ptc_conv.h"

namespace ptc::exec {

Tensor channels_inside(const Tensor& x) {
  const int spatial = x.rank() - 2;
  Tensor wide = x;
  for (int d = spatial; d < 3; ++d) wide = unsqueeze(wide, 2);
  return contiguous(permute(wide, {0, 2, 3, 4, 1}));
}

Tensor channels_first(const Tensor& x, int spatial) {
  Tensor result = permute(x, {0, 4, 1, 2, 3});
  for (int d = spatial; d < 3; ++d) {
    result.sizes.erase(2);
    result.strides.erase(2);
  }
  return result;
}

namespace {

// What of a shape the rows of ptc_conv.h know when they are compiled: whether a row of the filter is one segment.
struct JoinedRows {
  static constexpr Conv conv = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 0};
};
struct SeparateTaps {
  static constexpr Conv conv = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 2, 2, 2, 0};
};

template <class T> struct Finish {
  T* out;
  i64 channels;
  const T* bias;
  const T* residual;
  bool relu;

  PTC_INLINE void operator()(vec<T, PTC_VLEN> sum, i64 pixel, i64 channel, int lanes) const {
    typedef vec<T, PTC_VLEN> V;
    const i64 at = pixel * channels + channel;
    if (lanes == PTC_VLEN) {
      sum = sum + load<T, PTC_VLEN>(bias + channel);
      if (residual) sum = sum + load<T, PTC_VLEN>(residual + at);
      if (relu) sum = maximum(sum, V(T(0)));
      store(out + at, sum);
    } else {
      sum = sum + load_n<T, PTC_VLEN>(bias + channel, lanes);
      if (residual) sum = sum + load_n<T, PTC_VLEN>(residual + at, lanes);
      if (relu) sum = maximum(sum, V(T(0)));
      store_n(out + at, sum, lanes);
    }
  }
};

// Filters of all groups in panels [tap][input channel][output channel].
template <class T> Tensor pack_filters(const Conv& c, const Tensor& weight) {
  const Tensor w = contiguous(weight);
  const i64 taps = c.taps(), inputs = c.group_inputs(), outputs = c.group_outputs(), k = taps * inputs;
  const i64 size = packed_b_size<T>(k, outputs);
  Tensor packed = empty(dtype_of<T>, {c.groups * size});
  constexpr int L = ptc::detail::native_lanes<T>;
  const int width = panel_width<T>(outputs);
  for (i64 g = 0; g < c.groups; ++g) {
    const T* const from = w.data<T>() + g * outputs * k;
    T* const to = packed.data<T>() + g * size;
    if constexpr (std::is_same_v<T, float>) {
      for (i64 j = 0; j < outputs; j += width) {
        const int columns = (int)std::min<i64>(width, outputs - j);
        const int real = (int)ptc::detail::ceil_div(columns, L) * L;
        ptc::detail::pack_filters(to + j * k, real, c, from + j * k, columns, k, taps, c.kh * c.kw, c.kw, 1);
      }
    } else {
      std::vector<T> matrix((size_t)(k * outputs));
      for (i64 o = 0; o < outputs; ++o)
        for (i64 i = 0; i < inputs; ++i)
          for (i64 t = 0; t < taps; ++t) matrix[(size_t)((t * inputs + i) * outputs + o)] = from[o * k + i * taps + t];
      pack_b<T>(to, matrix.data(), k, outputs, outputs, 1);
    }
  }
  return packed;
}

// The values of one group under each output pixel as rows [taps * inputs].
template <class T> void gather_rows(T* to, const Conv& c, const T* x, i64 group, i64 begin, i64 end) {
  const i64 inputs = c.group_inputs();
  T* row = to + begin * c.taps() * inputs;
  for (i64 p = begin; p < end; ++p) {
    const i64 w = p % c.ow, h = p / c.ow % c.oh, d = p / (c.ow * c.oh) % c.od, n = p / (c.ow * c.oh * c.od);
    for (i64 t = 0; t < c.taps(); ++t, row += inputs) {
      const i64 id = d * c.sd - c.pd + t / (c.kh * c.kw) * c.dd, ih = h * c.sh - c.ph + t / c.kw % c.kh * c.dh,
                iw = w * c.sw - c.pw + t % c.kw * c.dw;
      if (id >= 0 && id < c.id && ih >= 0 && ih < c.ih && iw >= 0 && iw < c.iw)
        memcpy(row, x + (((n * c.id + id) * c.ih + ih) * c.iw + iw) * c.ic + group * inputs, (size_t)inputs * sizeof(T));
      else
        memset((void*)row, 0, (size_t)inputs * sizeof(T));
    }
  }
}

// One group at a time; pixels by blocks, so that the rows stay in cache.
template <class T> void convolve_gathered(Pool* pool, const Conv& c, const T* x, const T* packed, const Finish<T>& finish) {
  const i64 k = ptc::detail::conv_k(c), pixels = ptc::detail::conv_pixels(c), outputs = c.group_outputs();
  const i64 block = std::max<i64>(64, std::min<i64>(pixels, (1 << 18) / std::max<i64>(k, 1)));
  Tensor rows = empty(dtype_of<T>, {std::min(block, pixels), std::max<i64>(k, 1)});
  for (i64 g = 0; g < c.groups; ++g)
    for (i64 first = 0; first < pixels; first += block) {
      const i64 count = std::min(block, pixels - first);
      parallel(pool, count, (double)k, [&](i64 begin, i64 end) {
        gather_rows(rows.data<T>() - first * k, c, x, g, first + begin, first + end);
      });
      gemm_packed<ptc::Dims<>>(pool, count, outputs, k, rows.data<T>(), k, packed + g * packed_b_size<T>(k, outputs),
                          [&](vec<T, PTC_VLEN> sum, i64 m, i64 n, int lanes) {
                            finish(sum, first + m, g * outputs + n, lanes);
                          });
    }
}

template <class C> void convolve_image(Pool* pool, const Conv& c, const float* x, i64 pixel0, const float* packed,
                                       float* padded, const Finish<float>& finish) {
  using namespace ptc::detail;
  constexpr int L = native_lanes<float>;
  const i64 outputs = c.group_outputs(), k = conv_k(c), rows = c.od * c.oh;
  Image image = {x, c.iw};
  if (conv_padded(c)) {
    parallel_for(pool, c.id * c.ih, 8, [&](i64 begin, i64 end, int) { pad_rows(padded, c, x, begin, end); });
    image = {padded, conv_reach(c)};
  }
  const int width = panel_width<float>(outputs);
  const i64 panels = ceil_div(outputs, width);
  const Split split = split_work(pool, c.groups * panels, rows * 8, kSmallB + 1);
  parallel_for(pool, split.units, 1, [&](i64 begin, i64 end, int) {
    for (i64 u = begin; u < end; ++u) {
      const i64 share = split.share(u), g = split.panel(u) / panels, n0 = split.panel(u) % panels * width;
      const int columns = (int)min_of(width, outputs - n0), vectors = (int)ceil_div(columns, L);
      const float* const panel = packed + g * conv_group_size(c) + n0 * k;
      for (i64 r = rows * share / split.shares; r < rows * (share + 1) / split.shares; ++r)
        conv_row_of<C, kPanelVectors, packed_widths<float, -1>()>(vectors, c, image, r / c.oh, r % c.oh,
                                                                  g * c.group_inputs(), panel, g * outputs + n0, columns,
                                                                  pixel0 + r * c.ow, finish);
    }
  });
}

void convolve_floats(Pool* pool, const Conv& c, const float* x, const float* packed, const Finish<float>& finish) {
  if (c.pointwise()) {
    gemm_packed<ptc::Dims<>>(pool, ptc::detail::conv_pixels(c), c.oc, c.ic, x, c.ic, packed, finish);
    return;
  }
  if (c.ow < 5 && c.groups == 1) {
    convolve_gathered(pool, c, x, packed, finish);
    return;
  }
  const i64 image = c.id * c.ih * c.iw * c.ic, pixels = c.od * c.oh * c.ow;
  Tensor padded = empty(DType::U8, {std::max<i64>(ptc::detail::conv_image_bytes(c), 1)});
  const bool joined = c.groups == 1 && c.dw == 1;
  for (i64 n = 0; n < c.n; ++n)
    (joined ? convolve_image<JoinedRows> : convolve_image<SeparateTaps>)(pool, c, x + n * image, n * pixels, packed,
                                                                         padded.data<float>(), finish);
}

// --- shapes ---------------------------------------------------------------------------------------------------------

struct Geometry {
  Conv conv;
  int spatial;
};

int64_t output_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  const int64_t span = size + 2 * padding - (kernel - 1) * dilation - 1;
  if (span < 0) fail("a kernel of %lld taps does not fit into %lld", (long long)kernel, (long long)size);
  return span / stride + 1;
}

// `x` and `w` have all three spatial dimensions: n, d, h, w, c and o, c, d, h, w.
Conv plain_shape(const Tensor& x, const Tensor& w, const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups) {
  Conv c = {};
  c.n = x.sizes[0];
  c.id = x.sizes[1], c.ih = x.sizes[2], c.iw = x.sizes[3], c.ic = x.sizes[4];
  c.oc = w.sizes[0];
  c.kd = w.sizes[2], c.kh = w.sizes[3], c.kw = w.sizes[4];
  c.sd = stride[0], c.sh = stride[1], c.sw = stride[2];
  c.pd = padding[0], c.ph = padding[1], c.pw = padding[2];
  c.dd = dilation[0], c.dh = dilation[1], c.dw = dilation[2];
  c.groups = groups;
  if (groups < 1 || c.ic % groups || c.oc % groups || w.sizes[1] != c.ic / groups)
    fail("%lld input channels in %lld groups for a weight %s", (long long)c.ic, (long long)groups, dims_text(w.sizes).c_str());
  c.od = output_size(c.id, c.kd, c.sd, c.pd, c.dd);
  c.oh = output_size(c.ih, c.kh, c.sh, c.ph, c.dh);
  c.ow = output_size(c.iw, c.kw, c.sw, c.pw, c.dw);
  return c;
}

// Three numbers for depth, height and width; leading ones are `otherwise`.
Dims three(const Dims& given, int spatial, int64_t otherwise, int64_t lowest) {
  Dims result;
  for (int d = spatial; d < 3; ++d) result.push_back(otherwise);
  for (int64_t value : given) {
    if (value < lowest || value > ((int64_t)1 << 31)) fail("%lld as a stride, padding or dilation", (long long)value);
    result.push_back(value);
  }
  return result;
}

// Weights o, c, d, h, w.
Tensor wide_weight(Tensor w, int spatial) {
  for (int d = spatial; d < 3; ++d) w = unsqueeze(w, 2);
  return w;
}

// --- transposed -----------------------------------------------------------------------------------------------------

// A transposed convolution is a plain one of the input with zeros between its elements, with mirrored filters.
Tensor spread(const Tensor& x, const Dims& stride, const Dims& before, const Dims& after) {
  Dims sizes = x.sizes;
  for (int d = 0; d < 3; ++d) {
    const int64_t inner = x.sizes[d + 1] ? (x.sizes[d + 1] - 1) * stride[d] + 1 : 0;
    sizes[d + 1] = inner + before[d] + after[d];
    if (sizes[d + 1] < 0) fail("a transposed convolution without output");
  }
  Tensor result = zeros(x.dtype, sizes), target = result, source = x;
  for (int d = 0; d < 3; ++d) {
    // Of a line that begins outside, the first element inside.
    int64_t skipped = before[d] < 0 ? (-before[d] + stride[d] - 1) / stride[d] : 0;
    const int64_t start = before[d] + skipped * stride[d];
    int64_t count = x.sizes[d + 1] - skipped;
    if (start < sizes[d + 1]) count = std::min(count, (sizes[d + 1] - start + stride[d] - 1) / stride[d]);
    else count = 0;
    if (count <= 0) return result;
    source = narrow(source, d + 1, skipped, count);
    target = slice_view(target, d + 1, Value(start), Value(start + (count - 1) * stride[d] + 1), stride[d]);
  }
  copy_into(target, source);
  return result;
}

// [ic, oc / groups, d, h, w] as [oc, ic / groups, d, h, w] with the taps in reverse order.
Tensor mirrored_weight(const Tensor& w, int64_t groups) {
  if (groups < 1 || w.sizes[0] % groups) fail("a weight %s in %lld groups", dims_text(w.sizes).c_str(), (long long)groups);
  const int64_t inputs = w.sizes[0] / groups, outputs = w.sizes[1];
  const int64_t taps = w.sizes[2] * w.sizes[3] * w.sizes[4];
  const Tensor flat = reshape(w, {groups, inputs, outputs, taps});
  std::vector<int64_t> places;
  for (int64_t t = taps; t-- > 0;) places.push_back(t);
  const Tensor turned = select_along(permute(flat, {0, 2, 1, 3}), 3, places);
  return reshape(turned, {groups * outputs, inputs, w.sizes[2], w.sizes[3], w.sizes[4]});
}

// --- calls ----------------------------------------------------------------------------------------------------------

struct Prepared {
  Tensor packed, bias;
};

template <class T> Tensor run(const Call& call, const Conv& c, const Tensor& x, const Tensor& w, const ConvolutionEnd& end) {
  const auto prepare = [&] {
    auto prepared = std::make_shared<Prepared>();
    prepared->packed = pack_filters<T>(c, convert_to(w, dtype_of<T>));
    prepared->bias = zeros(dtype_of<T>, {c.oc + 64});
    if (const Tensor* bias = call.tensor_or_null(2)) {
      if (bias->rank() != 1 || bias->sizes[0] != c.oc) fail("a bias %s for %lld channels", dims_text(bias->sizes).c_str(), (long long)c.oc);
      copy_into(narrow(prepared->bias, 0, 0, c.oc), *bias);
    }
    return prepared;
  };
  const bool constant = call.is_constant(1) && call.is_constant(2);
  std::shared_ptr<Prepared> own = constant ? nullptr : prepare();
  const Prepared& ready = constant ? call.kept->get<Prepared>(prepare) : *own;
  Tensor out = empty(dtype_of<T>, {c.n, c.od, c.oh, c.ow, c.oc});
  Tensor residual;
  if (end.residual) {
    residual = channels_inside(convert_to(*end.residual, dtype_of<T>));
    if (residual.sizes != out.sizes) fail("a sum of %s and %s", dims_text(residual.sizes).c_str(), dims_text(out.sizes).c_str());
  }
  const Finish<T> finish = {out.data<T>(), c.oc, ready.bias.data<T>(), end.residual ? residual.data<T>() : nullptr, end.relu};
  if constexpr (std::is_same_v<T, float>) convolve_floats(call.pool, c, x.data<T>(), ready.packed.data<T>(), finish);
  else convolve_gathered(call.pool, c, x.data<T>(), ready.packed.data<T>(), finish);
  return out;
}

}  // namespace

Tensor convolve(const Call& call, const ConvolutionEnd& end) {
  Tensor x = call.tensor(0), w = call.tensor(1);
  const int spatial = w.rank() - 2;
  if (spatial < 1 || spatial > 3) fail("a weight of %d dimensions", w.rank());
  const bool batched = x.rank() == w.rank();
  if (x.rank() != w.rank() && x.rank() != w.rank() - 1) fail("an input of %d dimensions for a weight of %d", x.rank(), w.rank());
  if (!is_floating(x.dtype) || x.dtype != w.dtype) fail("%s and %s", dtype_name(x.dtype), dtype_name(w.dtype));
  if (!batched) x = unsqueeze(x, 0);
  const DType dtype = x.dtype, summed = dtype == DType::F64 ? DType::F64 : DType::F32;
  x = channels_inside(convert_to(x, summed));
  w = wide_weight(w, spatial);
  const Dims stride = three(call.dims(3, spatial), spatial, 1, 1), dilation = three(call.dims(5, spatial), spatial, 1, 1);
  Dims padding = three(call.dims(4, spatial), spatial, 0, 0);
  const int64_t groups = call.integer(8, 1);
  Conv c;
  if (call.flag(6, false)) {
    const Dims extra = three(call.dims(7, spatial), spatial, 0, 0);
    Dims before, after;
    for (int d = 0; d < 3; ++d) {
      const int64_t reach = (w.sizes[d + 2] - 1) * dilation[d];
      before.push_back(reach - padding[d]);
      after.push_back(reach - padding[d] + extra[d]);
    }
    x = spread(x, stride, before, after);
    w = mirrored_weight(w, groups);
    c = plain_shape(x, w, {1, 1, 1}, {0, 0, 0}, dilation, groups);
  } else {
    c = plain_shape(x, w, stride, padding, dilation, groups);
  }
  Tensor out = summed == DType::F64 ? run<double>(call, c, x, w, end) : run<float>(call, c, x, w, end);
  out = channels_first(convert_to(out, dtype), spatial);
  return batched ? out : select(out, 0, 0);
}

static Value convolution(Call& call) { return convolve(call, ConvolutionEnd()); }

// What loading makes of a convolution and what follows it (fuse.cpp): after the nine arguments the tensor that is added, or
// None, and whether negative values become zero.
static Value fused_convolution(Call& call) {
  ConvolutionEnd end;
  end.residual = call.tensor_or_null(9);
  end.relu = call.flag(10);
  return convolve(call, end);
}

static const OperatorRow rows[] = {
    {"aten::convolution", convolution},
    {"exec::convolution", fused_convolution},
};
PTC_EXEC_TABLE(convolution_operators, rows);

}  // namespace ptc::exec
