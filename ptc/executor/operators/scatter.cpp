// Writing at positions that are data: scatter, index_put, index_add and their kin. Writes go to a copy, in order, as
// positions may repeat; the last one wins.
#include <cmath>
#include <limits>

#include "indexing.h"

namespace ptc::exec {

namespace {

enum class Combine { Replace, Add, Multiply, Largest, Smallest };

// What `old` becomes. 16-bit floats are combined as floats and rounded each time, as in eager.
template <class T> T combined(Combine how, T old, T value) {
  if constexpr (is_complex_type<T>) {
    switch (how) {
      case Combine::Add: return old + value;
      case Combine::Multiply: return old * value;
      case Combine::Replace: return value;
      default: return old;
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    switch (how) {
      case Combine::Replace: return value;
      case Combine::Add:
      case Combine::Largest: return old || value;
      default: return old && value;
    }
  } else {
    using C = compute_t<T>;
    const C a = cast<C>(old), b = cast<C>(value);
    switch (how) {
      case Combine::Replace: return value;
      case Combine::Add:
      case Combine::Multiply:
        if constexpr (std::is_integral_v<C>) {
          const uint64_t x = (uint64_t)a, y = (uint64_t)b;
          return (T)(how == Combine::Add ? x + y : x * y);
        } else {
          return cast<T>(how == Combine::Add ? a + b : a * b);
        }
      case Combine::Largest: return a != a || b <= a ? old : value;
      case Combine::Smallest: return a != a || b >= a ? old : value;
    }
    return old;
  }
}

Combine combine_of(const std::string& name) {
  if (name == "sum" || name == "add" || name == "mean") return Combine::Add;
  if (name == "prod" || name == "multiply") return Combine::Multiply;
  if (name == "amax") return Combine::Largest;
  if (name == "amin") return Combine::Smallest;
  fail("a reduction `%s`", name.c_str());
}

// The number that changes nothing.
template <class T> T neutral(Combine how) {
  if constexpr (is_complex_type<T>) {
    return how == Combine::Multiply ? T(1) : T(0);
  } else if constexpr (std::is_integral_v<T>) {
    switch (how) {
      case Combine::Multiply: return (T)1;
      case Combine::Largest: return std::numeric_limits<T>::lowest();
      case Combine::Smallest: return std::numeric_limits<T>::max();
      default: return (T)0;
    }
  } else {
    const double infinity = std::numeric_limits<double>::infinity();
    switch (how) {
      case Combine::Multiply: return cast<T>(1.0);
      case Combine::Largest: return cast<T>(-infinity);
      case Combine::Smallest: return cast<T>(infinity);
      default: return cast<T>(0.0);
    }
  }
}

// out[i with position `dim` replaced by index[i]] = value(i), for all i of the index.
struct Scatter {
  Tensor out, places, source;  // source: of the index's sizes
  int dim = 0;
  Dims out_strides;

  Scatter(const Tensor& x, int64_t given_dim, const Tensor& given_index, const Tensor& given_source) {
    out = clone(x);
    Tensor index = given_index;
    source = given_source;
    if (x.rank() == 0) out.sizes = out.strides = Dims{1};
    if (index.rank() == 0) index = reshape(index, {1});
    if (source.rank() == 0) source = expand(source, index.sizes);
    dim = wrap_dim(given_dim, out.rank());
    places = contiguous_as(index, DType::I64);
    if (!is_integral(index.dtype)) fail("positions of type %s", dtype_name(index.dtype));
    if (index.numel() == 0) return;
    if (index.rank() != out.rank() || source.rank() != out.rank()) fail("%d dimensions of positions for %d", index.rank(), out.rank());
    for (int d = 0; d < index.rank(); ++d)
      if (index.sizes[d] > source.sizes[d] || (d != dim && index.sizes[d] > out.sizes[d]))
        fail("positions %s and values %s for %s", dims_text(index.sizes).c_str(), dims_text(source.sizes).c_str(), dims_text(out.sizes).c_str());
    for (int d = 0; d < index.rank(); ++d) source.sizes[d] = index.sizes[d];
    out_strides = out.strides;
    out_strides[dim] = 0;
  }

  // body(address in out, number of the element of source)
  template <class F> void each(const F& body) const {
    if (places.numel() == 0) return;
    const int64_t step = out.strides[dim], extent = out.sizes[dim];
    RowWalk<3> walk(places.sizes, {&places.strides, &out_strides, &source.strides});
    for (int64_t r = 0; r < walk.rows; ++r) {
      walk.seek(r);
      for (int64_t i = 0; i < walk.length; ++i) {
        const int64_t position = places.data<int64_t>()[walk.offset[0] + i * walk.stride[0]];
        body(walk.offset[1] + i * walk.stride[1] + checked_position(position, extent, false) * step,
             walk.offset[2] + i * walk.stride[2]);
      }
    }
  }

  Tensor result(const Dims& sizes) {
    out.sizes = sizes;
    out.strides = compact_strides(sizes);
    return out;
  }
};

}  // namespace

static Tensor scatter_with(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Combine how,
                           bool include_self, bool mean) {
  if (source.dtype != x.dtype) fail("values of type %s into %s", dtype_name(source.dtype), dtype_name(x.dtype));
  Scatter scatter(x, dim, index, source);
  Tensor counts = mean ? full_number(DType::I64, scatter.out.sizes, include_self ? 1 : 0) : Tensor();
  visit_all(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const out = scatter.out.data<T>();
    const T* const values = scatter.source.data<T>();
    if (!include_self) scatter.each([&](int64_t at, int64_t) { out[at] = neutral<T>(how); });
    scatter.each([&](int64_t at, int64_t from) { out[at] = combined(how, out[at], values[from]); });
    if (!mean) return;
    int64_t* const count = counts.data<int64_t>();
    scatter.each([&](int64_t at, int64_t) { ++count[at]; });
    for (int64_t i = 0; i < counts.numel(); ++i) {
      if (count[i] <= 1) continue;
      if constexpr (std::is_same_v<T, bool>) {
        continue;
      } else if constexpr (std::is_integral_v<T>) {
        const int64_t total = (int64_t)out[i], n = count[i];
        out[i] = (T)(total / n - (total % n != 0 && total < 0));
      } else if constexpr (is_complex_type<T>) {
        out[i] /= cast<T>(count[i]);
      } else {
        out[i] = cast<T>(cast<compute_t<T>>(out[i]) / (compute_t<T>)count[i]);
      }
    }
  });
  return scatter.result(x.sizes);
}

static Tensor source_of(const Call& c, int i) {
  const DType dtype = c.tensor(0).dtype;
  return c[i].is_tensor() ? convert_to(c.tensor(i), dtype) : full_number(dtype, {}, c[i]);
}

static Value scatter(Call& c) {
  return scatter_with(c.tensor(0), c.integer(1), c.tensor(2), source_of(c, 3), Combine::Replace, true, false);
}
static Value scatter_add(Call& c) {
  return scatter_with(c.tensor(0), c.integer(1), c.tensor(2), source_of(c, 3), Combine::Add, true, false);
}
static Value scatter_reduce(Call& c) {
  const std::string& name = c.text(4);
  return scatter_with(c.tensor(0), c.integer(1), c.tensor(2), source_of(c, 3), combine_of(name), c.flag(5, true), name == "mean");
}

// --- advanced indexing ----------------------------------------------------------------------------------------------

static Value index_put(Call& c) {
  const Tensor& x = c.tensor(0);
  const std::vector<Value>& given = c[1].list();
  const Tensor values = convert_to(c.tensor(2), x.dtype);
  const Combine how = c.flag(3, false) ? Combine::Add : Combine::Replace;
  Tensor result = clone(x);
  const IndexPlan plan = plan_index(result, given);
  const Tensor source = contiguous(expand(values, plan.sizes));
  visit_all(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const out = result.data<T>();
    const T* from = source.data<T>();
    plan.each([&](int64_t, int64_t at, int64_t stride, int64_t length) {
      for (int64_t i = 0; i < length; ++i) out[at + i * stride] = combined(how, out[at + i * stride], from[i]);
      from += length;
    });
  });
  return result;
}

// --- slices at positions --------------------------------------------------------------------------------------------

// body(target slice, number of the position) for each position along `dim`.
template <class F>
static Tensor each_slice(const Tensor& x, int64_t dim, const Tensor& index, bool wraps, const F& body) {
  Tensor result = clone(x), rows = x.rank() ? result : reshape(result, {1});
  const int at = wrap_dim(dim, rows.rank());
  const std::vector<int64_t> places = positions_of(index, rows.sizes[at], wraps);
  for (size_t i = 0; i < places.size(); ++i) body(select(rows, at, places[i]), (int64_t)i);
  return result;
}

static Tensor source_slice(const Tensor& source, int64_t dim, int64_t i) {
  return source.rank() ? select(source, dim, i) : source;
}

static void add_into(const Tensor& target, const Tensor& source, const Value& alpha) {
  const Tensor from = expand(source, target.sizes);
  visit_all(target.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T scale = element_of<T>(alpha);
    RowWalk<2> walk(target.sizes, {&target.strides, &from.strides});
    for (int64_t r = 0; r < walk.rows; ++r) {
      walk.seek(r);
      T* const to = target.data<T>() + walk.offset[0];
      const T* const values = from.data<T>() + walk.offset[1];
      for (int64_t i = 0; i < walk.length; ++i) {
        T& element = to[i * walk.stride[0]];
        element = combined(Combine::Add, element, combined(Combine::Multiply, values[i * walk.stride[1]], scale));
      }
    }
  });
}

static Value index_add(Call& c) {
  const int64_t dim = c.integer(1);
  const Tensor source = convert_to(c.tensor(3), c.tensor(0).dtype);
  const Value alpha = c.has(4) ? c[4] : Value(1);
  return each_slice(c.tensor(0), dim, c.tensor(2), false, [&](const Tensor& target, int64_t i) {
    add_into(target, source_slice(source, dim, i), alpha);
  });
}

static Value index_copy(Call& c) {
  const int64_t dim = c.integer(1);
  const Tensor& source = c.tensor(3);
  return each_slice(c.tensor(0), dim, c.tensor(2), false, [&](const Tensor& target, int64_t i) {
    copy_into(target, expand(source_slice(source, dim, i), target.sizes));
  });
}

static Value index_fill(Call& c) {
  return each_slice(c.tensor(0), c.integer(1), c.tensor(2), true,
                    [&](const Tensor& target, int64_t) { fill_number(target, c[3]); });
}

static Value masked_scatter(Call& c) {
  const Tensor& x = c.tensor(0);
  const Dims sizes = broadcast_sizes(x.sizes, c.tensor(1).sizes);
  const Tensor mask = contiguous_as(expand(c.tensor(1), sizes), DType::Bool);
  const Tensor source = contiguous_as(c.tensor(2), x.dtype);
  Tensor result = clone(expand(x, sizes));
  const int64_t n = result.numel(), available = source.numel();
  visit_size(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    int64_t next = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (!mask.data<bool>()[i]) continue;
      if (next == available) fail("fewer values than places: %lld", (long long)available);
      result.data<T>()[i] = source.data<T>()[next++];
    }
  });
  return result;
}

static const OperatorRow rows[] = {
    {"aten::scatter.src", scatter},
    {"aten::scatter.value", scatter},
    {"aten::scatter.reduce", scatter_reduce},
    {"aten::scatter.value_reduce", scatter_reduce},
    {"aten::scatter_add", scatter_add},
    {"aten::scatter_reduce.two", scatter_reduce},
    {"aten::index_put", index_put},
    {"aten::_unsafe_index_put", index_put},
    {"aten::index_add", index_add},
    {"aten::index_copy", index_copy},
    {"aten::index_fill.int_Scalar", index_fill},
    {"aten::index_fill.int_Tensor", index_fill},
    {"aten::masked_scatter", masked_scatter},
};
PTC_EXEC_TABLE(scatter_operators, rows);

}  // namespace ptc::exec
