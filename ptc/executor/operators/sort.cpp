// Order along a dimension: sorting, selection, positions in sorted sequences, counts in bins.
#include "ptc_sort.h"

#include <atomic>

#include "common.h"
#include "promote.h"
#include "ptc_topk.h"
#include "rows.h"

namespace ptc::exec {

namespace {

// The types that are compared; bools as numbers.
template <class F> void visit_compared(DType wide, const F& body) {
  switch (wide) {
    case DType::F32: return body(type_tag<float>());
    case DType::F64: return body(type_tag<double>());
    default: return body(type_tag<int64_t>());
  }
}
DType compared_type(DType dtype) { return dtype == DType::Bool ? DType::I64 : wide_type(dtype); }

// A tensor with dimension `dim` at the end, and back.
Tensor to_end(const Tensor& x, int dim) {
  Dims order;
  for (int d = 0; d < x.rank(); ++d)
    if (d != dim) order.push_back(d);
  order.push_back(dim);
  return permute(x, order);
}
Tensor from_end(const Tensor& x, int dim) {
  Dims order;
  for (int d = 0; d + 1 < x.rank(); ++d) order.push_back(d);
  order.insert(dim, x.rank() - 1);
  return permute(x, order);
}

// Values and positions of `count` elements of each line; line(x, n, values, positions, scratch) does one.
template <class Scratch, class Line>
Value ordered(const Call& c, const Tensor& x, int64_t given, int64_t count, const Scratch& scratch_bytes, const Line& line) {
  const int dim = wrap_dim(given, x.rank());
  if (!x.rank()) return Value::list({x, scalar_tensor<int64_t>(0)});
  const Tensor lines = contiguous_as(to_end(x, dim), compared_type(x.dtype));
  const int64_t n = lines.sizes.back(), total = n ? lines.numel() / n : 0;
  Dims sizes = lines.sizes;
  sizes.back() = count;
  const Tensor values = empty(lines.dtype, sizes), places = empty(DType::I64, sizes);
  visit_compared(lines.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::atomic<bool> failed{false};
    parallel(c.pool, total, 12.0 * (double)n, [&](int64_t begin, int64_t end) {
      ptc::Scratch<char> scratch(scratch_bytes(tag, n));
      if (!scratch.data) failed = true;
      for (int64_t i = begin; i < end && !failed; ++i)
        line(lines.data<T>() + i * n, n, values.data<T>() + i * count, places.data<int64_t>() + i * count, scratch.data);
    });
    if (failed) fail_with(Status::Memory, "no memory for sorting");
  });
  return Value::list({convert_to(from_end(values, dim), x.dtype), from_end(places, dim)});
}

Value sorted(const Call& c, const Tensor& x, int64_t dim, bool descending) {
  return ordered(
      c, x, dim, x.rank() ? x.size(dim) : 1,
      [](auto tag, int64_t n) { return ptc::sort_scratch<typename decltype(tag)::type>(n); },
      [=](const auto* line, int64_t n, auto* values, int64_t* places, void* scratch) {
        ptc::sort_line(line, 1, n, descending, values, 1, places, 1, scratch);
      });
}
Value sort(Call& c) { return sorted(c, c.tensor(0), c.integer(1), c.flag(2)); }
Value sort_stable(Call& c) { return sorted(c, c.tensor(0), c.integer(2), c.flag(3)); }

Value topk(Call& c) {
  const Tensor& x = c.tensor(0);
  const int64_t k = c.integer(1), size = x.rank() ? x.size(c.integer(2)) : 1;
  if (k < 0 || k > size) fail("the %lld first of %lld elements", (long long)k, (long long)size);
  const bool largest = c.flag(3), in_order = c.flag(4);
  return ordered(
      c, x, c.integer(2), k, [](auto tag, int64_t n) { return ptc::topk_scratch<typename decltype(tag)::type>(n); },
      [=](const auto* line, int64_t n, auto* values, int64_t* places, void* scratch) {
        if (k) ptc::topk_line(line, 1, n, k, largest, in_order, values, 1, places, 1, scratch);
      });
}

// --- sorted sequences -----------------------------------------------------------------------------------------------

// How many elements of the line lie before `value` (with `after`, or equal it). NaN goes to the end.
template <class T> int64_t elements_before(const T* line, int64_t n, T value, bool after) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const bool beyond = after ? line[middle] > value : line[middle] >= value;
    if (beyond) high = middle;
    else low = middle + 1;
  }
  return low;
}

Value positions(const Call& c, const Tensor& sequence, const Value& wanted, bool narrow_result, bool after) {
  Promotion promotion;
  promotion.add(sequence);
  promotion.add(wanted);
  const DType common = promotion.result(), wide = compared_type(common);
  const Tensor x = contiguous_as(convert_to(wanted.is_tensor() ? wanted.tensor() : full_number(common, {}, wanted), common), wide);
  const Tensor lines = contiguous_as(convert_to(sequence, common), wide);
  if (!lines.rank()) fail("a sequence without dimensions");
  const int64_t n = lines.sizes.back(), per_line = lines.rank() > 1 ? (x.rank() ? x.sizes.back() : 1) : x.numel();
  if (lines.rank() > 1) {
    bool same = x.rank() == lines.rank();
    for (int d = 0; same && d + 1 < x.rank(); ++d) same = x.sizes[d] == lines.sizes[d];
    if (!same) fail("sizes of sequences and values differ");
  }
  const Tensor out = empty(DType::I64, x.sizes);
  visit_compared(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel(c.pool, x.numel(), 20, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        out.data<int64_t>()[i] = elements_before(lines.data<T>() + (lines.rank() > 1 ? i / per_line * n : 0), n, x.data<T>()[i], after);
    });
  });
  return narrow_result ? convert_to(out, DType::I32) : out;
}
Value searchsorted(Call& c) {
  if (c.has(5)) fail("searchsorted with a sorter");
  return positions(c, c.tensor(0), c[1], c.flag(2), c.flag(3) || (c.has(4) && c.text(4) == "right"));
}
Value bucketize(Call& c) { return positions(c, c.tensor(1), c[0], c.flag(2), c.flag(3)); }

// --- counts ---------------------------------------------------------------------------------------------------------

Value histc(Call& c) {
  const Tensor& given = c.tensor(0);
  const int64_t bins = c.integer(1);
  const double low = c.number(2), high = c.number(3);
  if (bins <= 0) fail("a histogram of %lld bins", (long long)bins);
  if (!(low < high)) fail("a histogram over the range of its own data");
  const Tensor x = contiguous_as(given, wide_type(given.dtype));
  Tensor counts = zeros(DType::I64, {bins});
  const auto count = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T least = (T)low, most = (T)high;
    for (int64_t i = 0, n = x.numel(); i < n; ++i) {
      const T value = x.data<T>()[i];
      if (!(value >= least && value <= most)) continue;
      const int64_t place = (int64_t)((value - least) * (T)bins / (most - least));
      ++counts.data<int64_t>()[place < 0 ? 0 : place < bins - 1 ? place : bins - 1];
    }
  };
  if (x.dtype == DType::F32) count(type_tag<float>());
  else if (x.dtype == DType::F64) count(type_tag<double>());
  else if (x.dtype == DType::I64) count(type_tag<int64_t>());
  else fail("a histogram of elements of type %s", dtype_name(given.dtype));
  return convert_to(counts, given.dtype);
}

const OperatorRow table[] = {
    {"aten::sort", sort}, {"aten::sort.stable", sort_stable}, {"aten::topk", topk},
    {"aten::searchsorted.Tensor", searchsorted}, {"aten::searchsorted.Scalar", searchsorted},
    {"aten::bucketize.Tensor", bucketize}, {"aten::bucketize.Scalar", bucketize}, {"aten::histc", histc},
};

}  // namespace

PTC_EXEC_TABLE(sort_operators, table);

}  // namespace ptc::exec
