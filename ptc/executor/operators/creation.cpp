// Tensors made of numbers and sizes.
#include <cmath>

#include "common.h"

namespace ptc::exec {

static DType number_dtype(const Value& number) {
  return number.is_bool() ? DType::Bool : number.is_int() ? DType::I64 : number.is_complex() ? DType::C64 : DType::F32;
}

static Value filled(Call& c) { return full_number(wanted_dtype(c, 2, number_dtype(c[1])), c.dims(0), c[1]); }
static Value filled_like(Call& c) {
  return full_number(c.dtype(2, c.tensor(0).dtype), c.tensor(0).sizes, c[1]);
}
static Value filled_new(Call& c) { return full_number(c.dtype(3, c.tensor(0).dtype), c.dims(1), c[2]); }
static Value filled_zeros(Call& c) { return zeros(wanted_dtype(c, 1, DType::F32), c.dims(0)); }
static Value filled_ones(Call& c) { return full_number(wanted_dtype(c, 1, DType::F32), c.dims(0), 1); }
static Value zeros_like(Call& c) { return zeros(c.dtype(1, c.tensor(0).dtype), c.tensor(0).sizes); }
static Value ones_like(Call& c) { return full_number(c.dtype(1, c.tensor(0).dtype), c.tensor(0).sizes, 1); }
static Value new_zeros(Call& c) { return zeros(c.dtype(2, c.tensor(0).dtype), c.dims(1)); }
static Value new_ones(Call& c) { return full_number(c.dtype(2, c.tensor(0).dtype), c.dims(1), 1); }
// What torch leaves undefined is zero here: runs repeat.
static Value empty_permuted(Call& c) { return zeros(wanted_dtype(c, 2, DType::F32), c.dims(0)); }
static Value scalar(Call& c) { return full_number(wanted_dtype(c, 1, number_dtype(c[0])), {}, c[0]); }
static Value fill_like(Call& c) { return full_number(c.tensor(0).dtype, c.tensor(0).sizes, c[1]); }
static Value fill_tensor(Call& c) {
  const Tensor& x = c.tensor(0);
  const Tensor value = convert_to(c.tensor(1), x.dtype);
  Tensor result = empty(x.dtype, x.sizes);
  copy_into(result, expand(value, x.sizes));
  return result;
}

static Tensor unit_matrix(DType dtype, int64_t rows, int64_t columns) {
  Tensor result = zeros(dtype, {rows, columns});
  fill_number(diagonal_view(result, 0, 0, 1), 1);
  return result;
}
static Value eye(Call& c) { return unit_matrix(wanted_dtype(c, 1, DType::F32), c.integer(0), c.integer(0)); }
static Value eye_wide(Call& c) { return unit_matrix(wanted_dtype(c, 2, DType::F32), c.integer(0), c.integer(1)); }

// start + i * step, of ints in 64 bits, of others in double.
static Value sequence(const Value& start, const Value& end, const Value& step, DType dtype) {
  const bool ints = !start.is_float() && !end.is_float() && !step.is_float();
  int64_t count;
  if (ints) {
    const int64_t from = start.integer(), to = end.integer(), by = step.integer();
    if (by == 0 || (by > 0 ? to < from : to > from)) fail("a range from %lld to %lld by %lld", (long long)from, (long long)to, (long long)by);
    const __int128 span = (__int128)to - from;
    count = (int64_t)((span + by - (by > 0 ? 1 : -1)) / by);
  } else {
    const double by = step.number();
    const double length = std::ceil((end.number() - start.number()) / by);
    if (!(length >= 0) || length > 1e15) fail("a range from %g to %g by %g", start.number(), end.number(), by);
    count = (int64_t)length;
  }
  Tensor result = empty(dtype, {count});
  visit_all(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* const out = result.data<T>();
    if (!is_floating(dtype) && !is_complex(dtype)) {
      // Elements that are integers count in integers, whatever the bounds are.
      const int64_t from = ints ? start.integer() : (int64_t)start.number(), by = ints ? step.integer() : (int64_t)step.number();
      for (int64_t i = 0; i < count; ++i) out[i] = cast<T>((int64_t)((uint64_t)from + (uint64_t)i * (uint64_t)by));
    } else {
      const double from = start.number(), by = step.number();
      for (int64_t i = 0; i < count; ++i) out[i] = cast<T>(from + (double)i * by);
    }
  });
  return result;
}

static DType range_dtype(const Call& c, int dtype, int numbers) {
  bool floats = false;
  for (int i = 0; i < numbers; ++i) floats = floats || c[i].is_float();
  return wanted_dtype(c, dtype, floats ? DType::F32 : DType::I64);
}
static Value arange(Call& c) { return sequence(0, c[0], 1, range_dtype(c, 1, 1)); }
static Value arange_start(Call& c) { return sequence(c[0], c[1], 1, range_dtype(c, 2, 2)); }
static Value arange_step(Call& c) { return sequence(c[0], c[1], c[2], range_dtype(c, 3, 3)); }

static Value iota(Call& c) {
  const int64_t count = c.integer(0), start = c.integer(1), step = c.integer(2);
  Tensor result = empty(c[3].dtype(), {count});
  visit_all(result.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < count; ++i)
      result.data<T>()[i] = cast<T>((int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)step));
  });
  return result;
}

// Rows and columns of the elements of a triangle of a matrix, as two rows.
static Value triangle_indices(Call& c, bool lower) {
  const int64_t rows = c.integer(0), columns = c.integer(1), offset = c.integer(2, 0);
  if (rows < 0 || columns < 0) fail("a matrix of %lld by %lld", (long long)rows, (long long)columns);
  const auto clamped = [&](int64_t column) { return column < 0 ? 0 : column > columns ? columns : column; };
  const auto begin = [&](int64_t row) { return lower ? (int64_t)0 : clamped(row + offset); };
  const auto end = [&](int64_t row) { return lower ? clamped(row + offset + 1) : columns; };
  int64_t count = 0;
  for (int64_t row = 0; row < rows; ++row) count += std::max(end(row) - begin(row), (int64_t)0);
  Tensor result = empty(DType::I64, {2, count});
  int64_t* const out = result.data<int64_t>();
  int64_t next = 0;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = begin(row); column < end(row); ++column, ++next) {
      out[next] = row;
      out[count + next] = column;
    }
  return convert_to(result, wanted_dtype(c, 3, DType::I64));
}
static Value tril_indices(Call& c) { return triangle_indices(c, true); }
static Value triu_indices(Call& c) { return triangle_indices(c, false); }

static Value complex_of_parts(Call& c) {
  const Tensor &real = c.tensor(0), &imaginary = c.tensor(1);
  const Dims sizes = broadcast_sizes(real.sizes, imaginary.sizes);
  const bool wide = real.dtype == DType::F64;
  Tensor result = empty(wide ? DType::C128 : DType::C64, sizes);
  Tensor part = result;
  part.dtype = real_of(result.dtype);
  for (int64_t& stride : part.strides) stride *= 2;
  copy_into(part, expand(real, sizes));
  part.offset = 1;
  copy_into(part, expand(imaginary, sizes));
  return result;
}

static const OperatorRow rows[] = {
    {"aten::full", filled},
    {"aten::full_like", filled_like},
    {"aten::new_full", filled_new},
    {"aten::zeros", filled_zeros},
    {"aten::zeros_like", zeros_like},
    {"aten::new_zeros", new_zeros},
    {"aten::ones", filled_ones},
    {"aten::ones_like", ones_like},
    {"aten::new_ones", new_ones},
    {"aten::empty.memory_format", filled_zeros},
    {"aten::empty_like", zeros_like},
    {"aten::new_empty", new_zeros},
    {"aten::empty_permuted", empty_permuted},
    {"aten::empty_strided", empty_permuted},
    {"aten::scalar_tensor", scalar},
    {"aten::fill.Scalar", fill_like},
    {"aten::fill.Tensor", fill_tensor},
    {"aten::eye", eye},
    {"aten::eye.m", eye_wide},
    {"aten::arange", arange},
    {"aten::arange.start", arange_start},
    {"aten::arange.start_step", arange_step},
    {"prims::iota", iota},
    {"aten::tril_indices", tril_indices},
    {"aten::triu_indices", triu_indices},
    {"aten::complex", complex_of_parts},
};
PTC_EXEC_TABLE(creation_operators, rows);

}  // namespace ptc::exec
