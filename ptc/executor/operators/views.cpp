// Views: other shapes and strides over the same memory. The `_copy` forms are the same, as nothing is written in place.
#include "common.h"

namespace ptc::exec {

static Value identity(Call& c) { return c.tensor(0); }
static Value to_contiguous(Call& c) { return contiguous(c.tensor(0)); }
static Value to_copy(Call& c) { return convert_to(c.tensor(0), c.dtype(1, c.tensor(0).dtype)); }
static Value convert_element_type(Call& c) { return convert_to(c.tensor(0), c[1].dtype()); }
static Value view(Call& c) { return reshape(c.tensor(0), c.dims(1)); }
static Value expand_to(Call& c) { return expand(c.tensor(0), c.dims(1)); }
static Value permuted(Call& c) { return permute(c.tensor(0), c.dims(1)); }
static Value transposed(Call& c) { return transpose(c.tensor(0), c.integer(1), c.integer(2)); }
static Value unsqueezed(Call& c) { return unsqueeze(c.tensor(0), c.integer(1)); }
static Value narrowed(Call& c) {
  const Tensor& x = c.tensor(0);
  const int64_t size = x.size(c.integer(1)), start = c.integer(2);
  return narrow(x, c.integer(1), start < 0 ? start + size : start, c.integer(3));
}
static Value selected(Call& c) { return select(c.tensor(0), c.integer(1), c.integer(2)); }

static Value transposed_matrix(Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.rank() > 2) fail("a tensor of %d dimensions", x.rank());
  return x.rank() < 2 ? x : transpose(x, 0, 1);
}

static Tensor squeeze_dims(const Tensor& x, const bool* wanted) {
  Tensor result = x;
  result.sizes = Dims();
  result.strides = Dims();
  for (int d = 0; d < x.rank(); ++d) {
    if (wanted[d] && x.sizes[d] == 1) continue;
    result.sizes.push_back(x.sizes[d]);
    result.strides.push_back(x.strides[d]);
  }
  return result;
}

static Value squeezed(Call& c) {
  bool wanted[kMaxRank];
  for (bool& flag : wanted) flag = true;
  if (c.count() > 1) {
    for (bool& flag : wanted) flag = false;
    for (int64_t dim : c.dims(1)) wanted[wrap_dim(dim, c.tensor(0).rank())] = true;
  }
  return squeeze_dims(c.tensor(0), wanted);
}

Tensor slice_view(const Tensor& x, int64_t dim, const Value& from, const Value& to, int64_t step) {
  if (x.rank() == 0) fail("a part of a tensor without dimensions");
  if (step < 1) fail("a step of %lld", (long long)step);
  const int at = wrap_dim(dim, x.rank());
  const int64_t size = x.sizes[at];
  int64_t start = from.is_none() ? 0 : from.integer(), end = to.is_none() ? size : to.integer();
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = start < 0 ? 0 : start > size ? size : start;
  end = end < start ? start : end > size ? size : end;
  Tensor result = x;
  result.offset += start * x.strides[at];
  result.sizes[at] = (end - start + step - 1) / step;
  if (__builtin_mul_overflow(result.strides[at], result.sizes[at] > 1 ? step : 1, &result.strides[at])) fail("a step of %lld", (long long)step);
  return result;
}

static Value sliced(Call& c) { return slice_view(c.tensor(0), c.integer(1, 0), c[2], c[3], c.integer(4, 1)); }

Tensor diagonal_view(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const int a = wrap_dim(dim1, x.rank()), b = wrap_dim(dim2, x.rank());
  if (a == b || x.rank() < 2) fail("the diagonal of dimensions %lld and %lld", (long long)dim1, (long long)dim2);
  const int64_t rows = x.sizes[a], columns = x.sizes[b];
  int64_t length = offset >= 0 ? (offset >= columns ? 0 : std::min(rows, columns - offset))
                               : (-offset >= rows ? 0 : std::min(rows + offset, columns));
  Tensor result = x;
  if (length > 0) result.offset += offset >= 0 ? offset * x.strides[b] : -offset * x.strides[a];
  result.sizes.erase(a > b ? a : b);
  result.sizes.erase(a > b ? b : a);
  result.strides.erase(a > b ? a : b);
  result.strides.erase(a > b ? b : a);
  result.sizes.push_back(length);
  result.strides.push_back(x.strides[a] + x.strides[b]);
  return result;
}

static Value diagonal(Call& c) { return diagonal_view(c.tensor(0), c.integer(1, 0), c.integer(2, 0), c.integer(3, 1)); }

static Value strided(Call& c) {
  // Of the memory as it would be row-major, and never beyond the tensor's own elements.
  const Tensor x = contiguous(c.tensor(0));
  Tensor bounds = x;
  const int64_t offset = c.has(3) ? c.integer(3) : 0;
  const Dims sizes = c.dims(1), strides = c.dims(2);
  if (product(sizes) > 0) {
    int64_t last = offset;
    for (int d = 0; d < sizes.size() && d < strides.size(); ++d) {
      int64_t reach;
      if (__builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) || __builtin_add_overflow(last, reach, &last))
        fail("strides %s are too large", dims_text(strides).c_str());
    }
    if (offset < 0 || last >= x.numel()) fail("element %lld of a tensor of %lld", (long long)last, (long long)x.numel());
  }
  return as_view(x, sizes, strides, x.offset + (product(sizes) > 0 ? offset : 0));
}

static Value reshape_alias(Call& c) { return reshape(c.tensor(0), c.dims(1)); }

static Value move_dims(const Tensor& x, const Dims& from, const Dims& to) {
  if (from.size() != to.size()) fail("%d dimensions are moved to %d places", from.size(), to.size());
  int source[kMaxRank];  // by place in the result
  bool moved[kMaxRank] = {};
  for (int d = 0; d < x.rank(); ++d) source[d] = -1;
  for (int i = 0; i < from.size(); ++i) {
    const int a = wrap_dim(from[i], x.rank()), b = wrap_dim(to[i], x.rank());
    if (x.rank() == 0) return x;
    if (moved[a] || source[b] >= 0) fail("a dimension is moved twice");
    moved[a] = true;
    source[b] = a;
  }
  Dims order;
  int next = 0;
  for (int d = 0; d < x.rank(); ++d) {
    if (source[d] < 0) {
      while (moved[next]) ++next;
      source[d] = next++;
    }
    order.push_back(source[d]);
  }
  return permute(x, order);
}

static Value moved(Call& c) { return move_dims(c.tensor(0), c.dims(1), c.dims(2)); }

static Value unfolded(Call& c) {
  const Tensor& x = c.tensor(0);
  const int64_t size = c.integer(2), step = c.integer(3);
  const int at = wrap_dim(c.integer(1), x.rank());
  const int64_t extent = x.rank() ? x.sizes[at] : 1;
  if (size < 0 || size > extent || step < 1)
    fail("windows of %lld every %lld in a dimension of %lld", (long long)size, (long long)step, (long long)extent);
  Tensor result = x;
  const int64_t stride = x.rank() ? x.strides[at] : 1;
  if (x.rank()) {
    result.sizes[at] = (extent - size) / step + 1;
    result.strides[at] = result.sizes[at] > 1 ? stride * step : stride;
  }
  result.sizes.push_back(size);
  result.strides.push_back(stride);
  return result;
}

// --- parts ----------------------------------------------------------------------------------------------------------

static Value split_sizes(const Tensor& x, const std::vector<int64_t>& sizes, int64_t dim) {
  std::vector<Value> parts;
  int64_t start = 0;
  for (int64_t size : sizes) {
    parts.push_back(narrow(x, dim, start, size));
    start += size;
  }
  if (start != x.size(dim)) fail("parts of %lld elements in all, the dimension has %lld", (long long)start, (long long)x.size(dim));
  return Value::list(std::move(parts));
}

static Value split_evenly(Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.rank() == 0) fail("parts of a tensor without dimensions");
  const int64_t size = c.integer(1), extent = x.size(c.integer(2, 0));
  if (size < 0 || (size == 0 && extent > 0)) fail("parts of %lld elements", (long long)size);
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < extent; start += size) sizes.push_back(std::min(size, extent - start));
  if (sizes.empty()) sizes.push_back(extent);
  return split_sizes(x, sizes, c.integer(2, 0));
}

static Value split_with_sizes(Call& c) {
  std::vector<int64_t> sizes;
  for (const Value& size : c[1].list()) sizes.push_back(size.integer());
  return split_sizes(c.tensor(0), sizes, c.integer(2, 0));
}

static Value unbound(Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.rank() == 0) fail("parts of a tensor without dimensions");
  std::vector<Value> parts;
  const int64_t dim = c.integer(1, 0);
  for (int64_t i = 0; i < x.size(dim); ++i) parts.push_back(select(x, dim, i));
  return Value::list(std::move(parts));
}

static Value element(Call& c) {
  const std::vector<Value>& items = c[0].list();
  const int64_t index = c.integer(1);
  if (index < 0 || index >= (int64_t)items.size()) fail("element %lld of %zu", (long long)index, items.size());
  return items[(size_t)index];
}

// --- complex numbers ------------------------------------------------------------------------------------------------

// Real (0) or imaginary (1) parts of complex elements, in place.
static Tensor part_view(const Tensor& x, int part) {
  if (!is_complex(x.dtype)) fail("elements of type %s have no parts", dtype_name(x.dtype));
  Tensor result = x;
  result.dtype = real_of(x.dtype);
  for (int64_t& stride : result.strides) stride *= 2;
  result.offset = 2 * x.offset + part;
  return result;
}

static Value real_part(Call& c) { return is_complex(c.tensor(0).dtype) ? part_view(c.tensor(0), 0) : c.tensor(0); }
static Value imaginary_part(Call& c) { return part_view(c.tensor(0), 1); }

static const OperatorRow rows[] = {
    {"aten::alias", identity},
    {"aten::detach", identity},
    {"aten::clone", identity},
    {"aten::lift_fresh", identity},
    {"aten::lift_fresh_copy", identity},
    {"aten::resolve_conj", identity},
    {"aten::resolve_neg", identity},
    {"aten::contiguous", to_contiguous},
    {"aten::_to_copy", to_copy},
    {"prims::convert_element_type", convert_element_type},
    {"aten::view", view},
    {"aten::view_copy", view},
    {"aten::reshape", view},
    {"aten::_unsafe_view", view},
    {"aten::_reshape_alias", reshape_alias},
    {"aten::expand", expand_to},
    {"aten::expand_copy", expand_to},
    {"aten::permute", permuted},
    {"aten::permute_copy", permuted},
    {"aten::transpose.int", transposed},
    {"aten::transpose_copy.int", transposed},
    {"aten::t", transposed_matrix},
    {"aten::t_copy", transposed_matrix},
    {"aten::unsqueeze", unsqueezed},
    {"aten::unsqueeze_copy", unsqueezed},
    {"aten::squeeze", squeezed},
    {"aten::squeeze.dim", squeezed},
    {"aten::squeeze.dims", squeezed},
    {"aten::squeeze_copy", squeezed},
    {"aten::squeeze_copy.dim", squeezed},
    {"aten::squeeze_copy.dims", squeezed},
    {"aten::narrow", narrowed},
    {"aten::select.int", selected},
    {"aten::select_copy.int", selected},
    {"aten::slice.Tensor", sliced},
    {"aten::slice_copy.Tensor", sliced},
    {"aten::diagonal", diagonal},
    {"aten::diagonal_copy", diagonal},
    {"aten::as_strided", strided},
    {"aten::as_strided_copy", strided},
    {"aten::movedim.int", moved},
    {"aten::movedim.intlist", moved},
    {"aten::unfold", unfolded},
    {"aten::unfold_copy", unfolded},
    {"aten::split.Tensor", split_evenly},
    {"aten::split_copy.Tensor", split_evenly},
    {"aten::unsafe_split.Tensor", split_evenly},
    {"aten::split_with_sizes", split_with_sizes},
    {"aten::split_with_sizes_copy", split_with_sizes},
    {"aten::unbind.int", unbound},
    {"aten::unbind_copy.int", unbound},
    {"prim::element", element},
    {"ptc::real", real_part},
    {"ptc::imag", imaginary_part},
    {"aten::real", real_part},
    {"aten::imag", imaginary_part},
};
PTC_EXEC_TABLE(view_operators, rows);

}  // namespace ptc::exec
