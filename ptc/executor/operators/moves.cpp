// Elements moved to other places that the call's numbers tell: joined, repeated, rolled, padded, parts replaced.
#include "common.h"

namespace ptc::exec {

// --- joining --------------------------------------------------------------------------------------------------------

Tensor concatenate(const std::vector<Tensor>& tensors, int64_t dim, DType dtype) {
  // Tensors of the one shape [0] are left out, whatever the others are: torch still takes them.
  std::vector<const Tensor*> parts;
  for (const Tensor& tensor : tensors)
    if (tensor.rank() != 1 || tensor.sizes[0] != 0) parts.push_back(&tensor);
  if (tensors.empty()) fail("no tensors");
  if (parts.empty()) return empty(dtype, {0});
  const int at = wrap_dim(dim, parts[0]->rank());
  if (parts[0]->rank() == 0) fail("tensors without dimensions are joined");
  Dims sizes = parts[0]->sizes;
  sizes[at] = 0;
  for (const Tensor* part : parts) {
    if (part->rank() != sizes.size()) fail("tensors of %d and %d dimensions are joined", sizes.size(), part->rank());
    for (int d = 0; d < sizes.size(); ++d)
      if (d != at && part->sizes[d] != parts[0]->sizes[d])
        fail("%s and %s are joined along dimension %d", dims_text(parts[0]->sizes).c_str(), dims_text(part->sizes).c_str(), at);
    sizes[at] += part->sizes[at];
  }
  Tensor result = empty(dtype, sizes);
  int64_t start = 0;
  for (const Tensor* part : parts) {
    copy_into(narrow(result, at, start, part->sizes[at]), *part);
    start += part->sizes[at];
  }
  return result;
}

static DType common_dtype(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) fail("no tensors");
  DType dtype = tensors[0].dtype;
  for (const Tensor& tensor : tensors) dtype = promote_types(dtype, tensor.dtype);
  return dtype;
}

static Value joined(Call& c) {
  const std::vector<Tensor> tensors = c.tensors(0);
  return concatenate(tensors, c.integer(1, 0), result_dtype(c, common_dtype(tensors)));
}

static Value stacked(Call& c) {
  std::vector<Tensor> tensors = c.tensors(0);
  const DType dtype = result_dtype(c, common_dtype(tensors));
  const int at = wrap_dim(c.integer(1, 0), tensors[0].rank() + 1);
  for (Tensor& tensor : tensors) tensor = unsqueeze(tensor, at);
  return concatenate(tensors, at, dtype);
}

// --- repeating ------------------------------------------------------------------------------------------------------

static Value repeated(Call& c) {
  const Tensor& x = c.tensor(0);
  const Dims repeats = c.dims(1);
  const int shift = repeats.size() - x.rank();
  if (shift < 0) fail("%d repeats for %d dimensions", repeats.size(), x.rank());
  Dims sizes, wide, from_strides;
  for (int d = 0; d < repeats.size(); ++d) {
    const int64_t own = d < shift ? 1 : x.sizes[d - shift];
    int64_t size;
    if (repeats[d] < 0 || __builtin_mul_overflow(own, repeats[d], &size)) fail("repeats %s", dims_text(repeats).c_str());
    sizes.push_back(size);
    if (repeats[d] != 1) {
      wide.push_back(repeats[d]);
      from_strides.push_back(0);
    }
    if (d >= shift) {
      wide.push_back(own);
      from_strides.push_back(x.strides[d - shift]);
    }
  }
  Tensor result = empty(x.dtype, sizes), target = result, source = x;
  target.sizes = source.sizes = wide;
  target.strides = compact_strides(wide);
  source.strides = from_strides;
  copy_into(target, source);
  return result;
}

Tensor select_along(const Tensor& given, int dim, const std::vector<int64_t>& places) {
  const Tensor x = contiguous(given);
  Dims sizes = x.sizes;
  sizes[dim] = (int64_t)places.size();
  Tensor result = empty(x.dtype, sizes);
  int64_t outer = 1, inner = 1;
  for (int d = 0; d < dim; ++d) outer *= x.sizes[d];
  for (int d = dim + 1; d < x.rank(); ++d) inner *= x.sizes[d];
  const int64_t extent = x.sizes[dim], count = (int64_t)places.size();
  for (int64_t place : places) checked_position(place, extent, false);
  visit_size(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const from = x.data<T>();
    T* to = result.data<T>();
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < count; ++i, to += inner) {
        const T* const row = from + (o * extent + places[(size_t)i]) * inner;
        if (inner == 1) *to = *row;
        else memcpy(to, row, (size_t)inner * sizeof(T));
      }
  });
  return result;
}

static Value flipped(Call& c) {
  Tensor x = c.tensor(0);
  for (int64_t given : c.dims(1)) {
    const int dim = wrap_dim(given, x.rank());
    if (x.rank() == 0) break;
    std::vector<int64_t> places((size_t)x.sizes[dim]);
    for (size_t i = 0; i < places.size(); ++i) places[i] = (int64_t)(places.size() - 1 - i);
    x = select_along(x, dim, places);
  }
  return x;
}

static Tensor roll_along(const Tensor& x, int dim, int64_t shift) {
  const int64_t size = x.sizes[dim];
  if (size == 0) return x;
  const int64_t start = ((shift % size) + size) % size;
  Tensor result = empty(x.dtype, x.sizes);
  copy_into(narrow(result, dim, start, size - start), narrow(x, dim, 0, size - start));
  copy_into(narrow(result, dim, 0, start), narrow(x, dim, size - start, start));
  return result;
}

static Value rolled(Call& c) {
  Tensor x = c.tensor(0);
  const Dims shifts = c.dims(1), dims = c.has(2) ? c.dims(2) : Dims();
  if (dims.empty()) {
    if (shifts.size() != 1) fail("%d shifts without dimensions", shifts.size());
    const Dims sizes = x.sizes;
    return reshape(roll_along(reshape(x, {x.numel()}), 0, shifts[0]), sizes);
  }
  if (dims.size() != shifts.size()) fail("%d shifts for %d dimensions", shifts.size(), dims.size());
  for (int i = 0; i < dims.size() && x.rank(); ++i) x = roll_along(x, wrap_dim(dims[i], x.rank()), shifts[i]);
  return x;
}

// --- padding --------------------------------------------------------------------------------------------------------

static Value padded(Call& c) {
  const Tensor& x = c.tensor(0);
  const std::vector<Value>& pad = c[1].list();
  if (pad.size() % 2 || pad.size() / 2 > (size_t)x.rank()) fail("%zu numbers to pad %d dimensions", pad.size(), x.rank());
  Dims sizes = x.sizes;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    int64_t& size = sizes[x.rank() - 1 - (int)i];
    if (__builtin_add_overflow(size, pad[2 * i].integer(), &size) || __builtin_add_overflow(size, pad[2 * i + 1].integer(), &size) || size < 0)
      fail("a size below 0 after padding");
  }
  Tensor result = full_number(x.dtype, sizes, c.has(2) ? c[2] : Value(0));
  Tensor target = result, source = x;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int dim = x.rank() - 1 - (int)i;
    const int64_t before = pad[2 * i].integer(), first = before < 0 ? -before : 0, place = before > 0 ? before : 0;
    const int64_t length = std::min(x.sizes[dim] - first, sizes[dim] - place);
    if (length <= 0) return result;
    source = narrow(source, dim, first, length);
    target = narrow(target, dim, place, length);
  }
  copy_into(target, source);
  return result;
}

static Value pad_by_places(Call& c, bool reflects) {
  Tensor x = c.tensor(0);
  const std::vector<Value>& pad = c[1].list();
  if (pad.size() / 2 > (size_t)x.rank()) fail("%zu numbers to pad %d dimensions", pad.size(), x.rank());
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int dim = x.rank() - 1 - (int)i;
    const int64_t before = pad[2 * i].integer(), after = pad[2 * i + 1].integer(), size = x.sizes[dim];
    if (reflects && (before >= size || after >= size)) fail("a reflection of %lld in a dimension of %lld", (long long)std::max(before, after), (long long)size);
    if (size + before + after < 0 || (size == 0 && before + after > 0)) fail("padding of a dimension of %lld", (long long)size);
    std::vector<int64_t> places;
    for (int64_t place = -before; place < size + after; ++place) {
      int64_t from = place;
      if (place < 0) from = reflects ? -place : 0;
      if (place >= size) from = reflects ? 2 * (size - 1) - place : size - 1;
      places.push_back(from);
    }
    x = select_along(x, dim, places);
  }
  return x;
}
static Value reflected(Call& c) { return pad_by_places(c, true); }
static Value replicated(Call& c) { return pad_by_places(c, false); }

// --- triangles ------------------------------------------------------------------------------------------------------

static Value triangle(Call& c, bool lower) {
  const Tensor x = contiguous(c.tensor(0));
  const int64_t diagonal = c.integer(1, 0);
  if (x.rank() < 2) fail("a triangle of a tensor of %d dimensions", x.rank());
  Tensor result = empty(x.dtype, x.sizes);
  const int64_t rows = x.size(-2), columns = x.size(-1), matrices = x.numel() ? x.numel() / (rows * columns) : 0;
  visit_size(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = x.data<T>();
    T* to = result.data<T>();
    for (int64_t m = 0; m < matrices; ++m)
      for (int64_t row = 0; row < rows; ++row, from += columns, to += columns)
        for (int64_t column = 0; column < columns; ++column) {
          const bool kept = lower ? column - row <= diagonal : column - row >= diagonal;
          to[column] = kept ? from[column] : T();
        }
  });
  return result;
}
static Value lower_triangle(Call& c) { return triangle(c, true); }
static Value upper_triangle(Call& c) { return triangle(c, false); }

// --- parts replaced -------------------------------------------------------------------------------------------------

static Value replaced(const Tensor& x, const Tensor& source, Tensor (*part)(const Call&, const Tensor&), const Call& c) {
  Tensor result = clone(x);
  const Tensor target = part(c, result);
  copy_into(target, expand(source, target.sizes));
  return result;
}

static Value slice_scatter(Call& c) {
  return replaced(c.tensor(0), c.tensor(1), [](const Call& c, const Tensor& t) {
    return slice_view(t, c.integer(2, 0), c[3], c[4], c.integer(5, 1));
  }, c);
}
static Value select_scatter(Call& c) {
  return replaced(c.tensor(0), c.tensor(1), [](const Call& c, const Tensor& t) { return select(t, c.integer(2), c.integer(3)); }, c);
}
static Value diagonal_scatter(Call& c) {
  return replaced(c.tensor(0), c.tensor(1), [](const Call& c, const Tensor& t) {
    return diagonal_view(t, c.integer(2, 0), c.integer(3, 0), c.integer(4, 1));
  }, c);
}

static Value copied(Call& c) {
  const Tensor &x = c.tensor(0), &source = c.tensor(1);
  return expand(convert_to(source, x.dtype), x.sizes);
}

static const OperatorRow rows[] = {
    {"aten::cat", joined},
    {"aten::stack", stacked},
    {"aten::repeat", repeated},
    {"aten::flip", flipped},
    {"aten::roll", rolled},
    {"aten::constant_pad_nd", padded},
    {"aten::reflection_pad1d", reflected},
    {"aten::reflection_pad2d", reflected},
    {"aten::reflection_pad3d", reflected},
    {"aten::replication_pad1d", replicated},
    {"aten::replication_pad2d", replicated},
    {"aten::replication_pad3d", replicated},
    {"aten::tril", lower_triangle},
    {"aten::triu", upper_triangle},
    {"aten::slice_scatter", slice_scatter},
    {"aten::select_scatter", select_scatter},
    {"aten::diagonal_scatter", diagonal_scatter},
    {"aten::copy", copied},
};
PTC_EXEC_TABLE(move_operators, rows);

}  // namespace ptc::exec
