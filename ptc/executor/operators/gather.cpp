// Reading at positions that are data, and choosing between tensors by masks.
#include "indexing.h"

namespace ptc::exec {

// --- positions along one dimension ----------------------------------------------------------------------------------

std::vector<int64_t> positions_of(const Tensor& index, int64_t size, bool wraps) {
  if (!is_integral(index.dtype)) fail("positions of type %s", dtype_name(index.dtype));
  const Tensor dense = contiguous_as(index, DType::I64);
  const int64_t* const at = dense.data<int64_t>();
  std::vector<int64_t> places((size_t)dense.numel());
  for (size_t i = 0; i < places.size(); ++i) places[i] = checked_position(at[i], size, wraps);
  return places;
}

// x with `dim` replaced by the dimensions of `index`.
static Tensor select_rows(const Tensor& x, int dim, const Tensor& index) {
  Tensor result = select_along(x, dim, positions_of(index, x.sizes[dim], false));
  if (index.rank() == 1) return result;
  Dims sizes(x.sizes.begin(), x.sizes.begin() + dim);
  for (int64_t size : index.sizes) sizes.push_back(size);
  for (int d = dim + 1; d < x.rank(); ++d) sizes.push_back(x.sizes[d]);
  return reshape(result, sizes);
}

static Value embedding(Call& c) {
  if (c.tensor(0).rank() != 2) fail("a weight of %d dimensions", c.tensor(0).rank());
  return select_rows(c.tensor(0), 0, c.tensor(1));
}

static Value index_select(Call& c) {
  const Tensor& x = c.tensor(0);
  const Tensor& index = c.tensor(2);
  if (x.rank() == 0) {
    positions_of(index, 1, false);
    return x;
  }
  return select_rows(x, wrap_dim(c.integer(1), x.rank()), index.rank() ? index : reshape(index, {1}));
}

static Value gathered(Call& c) {
  Tensor x = c.tensor(0), index = c.tensor(2);
  if (x.rank() == 0) x = reshape(x, {1});
  const Dims sizes = index.sizes;
  if (index.rank() == 0) index = reshape(index, {1});
  const int dim = wrap_dim(c.integer(1), x.rank());
  if (index.numel() == 0) return empty(x.dtype, sizes);
  if (index.rank() != x.rank()) fail("%d dimensions of positions for %d", index.rank(), x.rank());
  for (int d = 0; d < x.rank(); ++d)
    if (d != dim && index.sizes[d] > x.sizes[d]) fail("positions %s in %s", dims_text(index.sizes).c_str(), dims_text(x.sizes).c_str());
  const Tensor places = contiguous_as(index, DType::I64);
  Tensor result = empty(x.dtype, index.sizes);
  Dims strides = x.strides;
  strides[dim] = 0;
  const int64_t step = x.strides[dim], extent = x.sizes[dim];
  visit_size(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    RowWalk<2> walk(index.sizes, {&result.strides, &strides});
    for (int64_t r = 0; r < walk.rows; ++r) {
      walk.seek(r);
      const int64_t* const at = places.data<int64_t>() + walk.offset[0];
      T* const to = result.data<T>() + walk.offset[0];
      const T* const from = x.data<T>() + walk.offset[1];
      for (int64_t i = 0; i < walk.length; ++i)
        to[i] = from[i * walk.stride[1] + checked_position(at[i], extent, false) * step];
    }
  });
  result.sizes = sizes;
  result.strides = compact_strides(sizes);
  return result;
}

static Value taken(Call& c) {
  const Tensor flat = reshape(c.tensor(0), {c.tensor(0).numel()});
  const Tensor& index = c.tensor(1);
  return reshape(select_along(flat, 0, positions_of(index, flat.sizes[0], true)), index.sizes);
}

// --- advanced indexing ----------------------------------------------------------------------------------------------

Tensor nonzero(const Tensor& given) {
  const Tensor x = contiguous_as(given, DType::Bool);
  const bool* const flags = x.data<bool>();
  const int64_t n = x.numel();
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += flags[i];
  const int rank = x.rank();
  Tensor result = empty(DType::I64, {count, rank});
  int64_t* to = result.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    if (!flags[i]) continue;
    int64_t rest = i;
    for (int d = rank - 1; d >= 0; --d) {
      to[d] = rest % x.sizes[d];
      rest /= x.sizes[d];
    }
    to += rank;
  }
  return result;
}

IndexPlan plan_index(const Tensor& x, const std::vector<Value>& given) {
  std::vector<std::pair<int, Tensor>> indices;  // by dimension of x
  int dim = 0;
  for (const Value& value : given) {
    if (value.is_none()) {
      ++dim;
      continue;
    }
    const Tensor& index = value.tensor();
    if (index.dtype != DType::Bool && index.dtype != DType::U8) {
      indices.emplace_back(dim++, index);
      continue;
    }
    // A mask stands for the positions where it is set, one tensor for each of its dimensions.
    const Tensor places = nonzero(index);
    for (int d = 0; d < index.rank(); ++d) {
      if (dim >= x.rank() || x.sizes[dim] != index.sizes[d]) fail("a mask %s for %s", dims_text(index.sizes).c_str(), dims_text(x.sizes).c_str());
      indices.emplace_back(dim++, select(places, 1, d));
    }
    if (index.rank() == 0) fail("a mask without dimensions");
  }
  if (dim > x.rank()) fail("%d indices for %d dimensions", dim, x.rank());
  IndexPlan plan;
  bool taken[kMaxRank] = {};
  for (const auto& [at, index] : indices) {
    plan.common = broadcast_sizes(plan.common, index.sizes);
    taken[at] = true;
  }
  const bool adjacent = !indices.empty() && indices.back().first - indices.front().first + 1 == (int)indices.size();
  const int start = adjacent ? indices.front().first : 0;
  for (int d = 0; d < x.rank(); ++d) {
    if (taken[d]) continue;
    const bool first = d < start;
    (first ? plan.before_sizes : plan.after_sizes).push_back(x.sizes[d]);
    (first ? plan.before_strides : plan.after_strides).push_back(x.strides[d]);
  }
  plan.places.assign((size_t)product(plan.common), 0);
  for (const auto& [at, index] : indices) {
    const std::vector<int64_t> positions = positions_of(expand(index, plan.common), x.sizes[at], true);
    for (size_t i = 0; i < positions.size(); ++i) plan.places[i] += positions[i] * x.strides[at];
  }
  plan.sizes = plan.before_sizes;
  for (int64_t size : plan.common) plan.sizes.push_back(size);
  for (int64_t size : plan.after_sizes) plan.sizes.push_back(size);
  return plan;
}

static Value indexed(Call& c) {
  const Tensor& x = c.tensor(0);
  const std::vector<Value>& given = c[1].list();
  bool any = false;
  for (const Value& value : given) any = any || !value.is_none();
  if (!any) return x;
  const IndexPlan plan = plan_index(x, given);
  Tensor result = empty(x.dtype, plan.sizes);
  visit_size(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = result.data<T>();
    const T* const from = x.data<T>();
    plan.each([&](int64_t, int64_t at, int64_t stride, int64_t length) {
      if (stride == 1) memcpy(to, from + at, (size_t)length * sizeof(T));
      else
        for (int64_t i = 0; i < length; ++i) to[i] = from[at + i * stride];
      to += length;
    });
  });
  return result;
}

// --- masks ----------------------------------------------------------------------------------------------------------

Tensor choose(const Tensor& condition, const Tensor& a, const Tensor& b, DType dtype) {
  const Dims sizes = broadcast_sizes(condition.sizes, broadcast_sizes(a.sizes, b.sizes));
  const Tensor mask = expand(convert_to(condition, DType::Bool), sizes);
  const Tensor x = expand(convert_to(a, dtype), sizes), y = expand(convert_to(b, dtype), sizes);
  Tensor result = empty(dtype, sizes);
  visit_size(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    RowWalk<4> walk(sizes, {&result.strides, &mask.strides, &x.strides, &y.strides});
    for (int64_t r = 0; r < walk.rows; ++r) {
      walk.seek(r);
      T* const to = result.data<T>() + walk.offset[0];
      const bool* const m = mask.data<bool>() + walk.offset[1];
      const T* const p = x.data<T>() + walk.offset[2];
      const T* const q = y.data<T>() + walk.offset[3];
      const int64_t sm = walk.stride[1], sp = walk.stride[2], sq = walk.stride[3];
      for (int64_t i = 0; i < walk.length; ++i) to[i] = m[i * sm] ? p[i * sp] : q[i * sq];
    }
  });
  return result;
}

// A number beside tensors, in the result's type.
static Tensor number_as(const Value& value, DType dtype) {
  return value.is_tensor() ? value.tensor() : full_number(dtype, {}, value);
}

static Value where(Call& c) {
  DType dtype = DType::F32;
  if (c[1].is_tensor() && c[2].is_tensor()) dtype = promote_types(c.tensor(1).dtype, c.tensor(2).dtype);
  else if (c[1].is_tensor() || c[2].is_tensor()) dtype = c.tensor(c[1].is_tensor() ? 1 : 2).dtype;
  dtype = result_dtype(c, dtype);
  return choose(c.tensor(0), number_as(c[1], dtype), number_as(c[2], dtype), dtype);
}

static Value masked_fill(Call& c) {
  const Tensor& x = c.tensor(0);
  return choose(c.tensor(1), number_as(c[2], x.dtype), x, x.dtype);
}

static const OperatorRow rows[] = {
    {"aten::embedding", embedding},
    {"aten::index_select", index_select},
    {"aten::gather", gathered},
    {"aten::take", taken},
    {"aten::index.Tensor", indexed},
    {"aten::_unsafe_index.Tensor", indexed},
    {"aten::where.self", where},
    {"aten::where.Scalar", where},
    {"aten::where.ScalarOther", where},
    {"aten::where.ScalarSelf", where},
    {"aten::masked_fill.Scalar", masked_fill},
    {"aten::masked_fill.Tensor", masked_fill},
};
PTC_EXEC_TABLE(gather_operators, rows);

}  // namespace ptc::exec
