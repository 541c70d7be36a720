// Bringing tensors to the generated kernels that work along rows, and operators that need no more than that: reductions,
// scans, softmax.
#include "rows.h"

#include <math.h>

#include <atomic>
#include <string_view>
#include <unordered_map>

#include "common.h"
#include "promote.h"

namespace ptc::exec {

DType class_type(int of) { return of == kF32 ? DType::F32 : of == kF64 ? DType::F64 : of == kI64 ? DType::I64 : DType::Bool; }
int class_of(DType d) {
  if (d == DType::F64) return kF64;
  if (is_floating(d)) return kF32;
  if (d == DType::Bool) return kBool;
  if (is_complex(d) || d == DType::U64) fail("elements of type %s", dtype_name(d));
  return kI64;
}

Dims wanted_dims(const Value& dims, int rank) {
  Dims all;
  bool chosen[kMaxRank] = {}, any = false;
  const auto choose = [&](int64_t dim) {
    const int at = wrap_dim(dim, rank);
    any = true;
    if (!rank) return;
    if (chosen[at]) fail("dimension %d appears twice", at);
    chosen[at] = true;
  };
  if (dims.is_list())
    for (const Value& dim : dims.list()) choose(dim.integer());
  else if (!dims.is_none())
    choose(dims.integer());
  for (int d = 0; d < rank; ++d)
    if (!any || chosen[d]) all.push_back(d);
  return all;
}

Dims Rows::kept(bool keepdim) const {
  Dims result;
  int at = 0;
  for (int d = 0; d < sizes.size(); ++d) {
    const bool combined = at < dims.size() && dims[at] == d;
    at += combined;
    if (!combined) result.push_back(sizes[d]);
    else if (keepdim) result.push_back(1);
  }
  return result;
}

Rows as_rows(const Tensor& x, const Dims& dims, bool middle) {
  Rows rows;
  rows.sizes = x.sizes;
  rows.dims = dims;
  bool combined[kMaxRank] = {};
  for (int64_t d : dims) combined[d] = true;
  const int first = dims.empty() ? x.rank() : (int)dims[0];
  const bool block = dims.empty() || dims.back() - dims[0] + 1 == dims.size();
  const bool last = block && (dims.empty() || dims.back() == x.rank() - 1);
  for (int d = 0; d < x.rank(); ++d) (combined[d] ? rows.n : d < first || !block ? rows.outer : rows.inner) *= x.sizes[d];
  const DType wide = wide_type(x.dtype);
  if (last || (block && middle && x.is_contiguous())) {
    rows.data = contiguous_as(x, wide);
    return rows;
  }
  Dims order;
  for (int d = 0; d < x.rank(); ++d)
    if (!combined[d]) order.push_back(d);
  for (int64_t d : dims) order.push_back(d);
  rows.data = contiguous_as(permute(x, order), wide);
  rows.outer *= rows.inner;
  rows.inner = 1;
  rows.moved = true;
  return rows;
}

static GeneratedKernel* find_rows(const std::string& name, int of) {
  static const std::unordered_map<std::string_view, const RowsKernel*> found = [] {
    std::unordered_map<std::string_view, const RowsKernel*> map;
    for (int i = 0; i < rows_kernel_count; ++i) map.emplace(rows_kernels[i].name, rows_kernels + i);
    return map;
  }();
  const auto at = found.find(name);
  GeneratedKernel* const kernel = at == found.end() ? nullptr : at->second->kernels[of];
  if (!kernel) fail("%s of elements of type %s", name.c_str(), dtype_name(class_type(of)));
  return kernel;
}

void run_rows(const Call& c, const std::string& name, const Rows& rows, std::vector<Tensor> results,
              const std::vector<const void*>& extra) {
  if (!rows.outer || !rows.inner) return;
  const int64_t total = rows.outer * rows.inner;
  GeneratedKernel* const kernel = find_rows(rows.inner > 1 ? name + "_inner" : name, class_of(rows.data.dtype));
  std::vector<int64_t> steps;
  for (const Tensor& result : results) steps.push_back(result.numel() / total * rows.inner * itemsize(result.dtype));
  const int64_t each = rows.n * rows.inner, block = each ? (32768 + each - 1) / each : 32768;
  std::atomic<int> failed{0};
  parallel(c.pool, (rows.outer + block - 1) / block, (double)(2 * block * (each + 4)), [&](int64_t begin, int64_t end) {
    ptc::Run run;
    std::vector<void*> a(results.size() + 1 + extra.size());
    for (size_t i = 0; i < extra.size(); ++i) a[results.size() + 1 + i] = const_cast<void*>(extra[i]);
    for (int64_t b = begin; b < end; ++b) {
      const int64_t from = b * block, to = from + block < rows.outer ? from + block : rows.outer;
      for (size_t i = 0; i < results.size(); ++i) a[i] = results[i].raw() + steps[i] * from;
      a[results.size()] = rows.data.raw() + from * each * itemsize(rows.data.dtype);
      const int64_t sizes[] = {to - from, rows.n, rows.inner};
      if (const int status = kernel(&run, a.data(), sizes)) failed = status;
    }
  });
  if (failed) fail_with((Status)(int)failed, "a kernel along rows failed");
}

Tensor reduce(const Call& c, const std::string& name, const Tensor& x, const Dims& dims, bool keepdim, DType result,
              const std::vector<const void*>& extra) {
  const bool middle = name == "sum" || name == "mean" || name == "amax" || name == "amin";
  const Rows rows = as_rows(x, dims, middle);
  const bool position = name == "argmax" || name == "argmin";
  const Tensor out = empty(position ? DType::I64 : rows.data.dtype, rows.kept(keepdim));
  run_rows(c, name, rows, {out}, extra);
  return convert_to(out, result);
}

std::vector<Tensor> along(const Call& c, const std::string& name, const Tensor& x, int64_t dim, std::vector<DType> types) {
  Dims dims;
  if (x.rank()) dims.push_back(wrap_dim(dim, x.rank()));
  else wrap_dim(dim, 0);
  const Rows rows = as_rows(x, dims, name == "softmax");
  std::vector<Tensor> results;
  for (size_t i = 0; i < types.size(); ++i) results.push_back(empty(i ? DType::I64 : rows.data.dtype, rows.data.sizes));
  run_rows(c, name, rows, results, {});
  for (size_t i = 0; i < types.size(); ++i) {
    if (rows.moved) {  // the dimension was moved to the end
      Dims back;
      for (int d = 0, kept = 0; d < x.rank(); ++d) back.push_back(d == dims[0] ? x.rank() - 1 : kept++);
      results[i] = permute(results[i], back);
    }
    results[i] = convert_to(results[i], types[i]);
  }
  return results;
}

namespace {

// --- sums, means, products ------------------------------------------------------------------------------------------

DType sum_type(DType d) { return is_floating(d) ? d : DType::I64; }

Tensor combined(Call& c, const char* kernel, const Value& dims, bool keepdim, DType result) {
  const Tensor x = convert_to(c.tensor(0), result);
  return reduce(c, kernel, x, wanted_dims(dims, x.rank()), keepdim, result);
}
Value sum(Call& c) { return combined(c, "sum", Value(), false, c.dtype(1, sum_type(c.tensor(0).dtype))); }
Value sum_dim(Call& c) { return combined(c, "sum", c[1], c.flag(2), c.dtype(3, sum_type(c.tensor(0).dtype))); }
Value mean(Call& c) { return combined(c, "mean", Value(), false, c.dtype(1, c.tensor(0).dtype)); }
Value mean_dim(Call& c) { return combined(c, "mean", c[1], c.flag(2), c.dtype(3, c.tensor(0).dtype)); }
Value prod(Call& c) { return combined(c, "prod", Value(), false, c.dtype(1, sum_type(c.tensor(0).dtype))); }
Value prod_dim(Call& c) { return combined(c, "prod", c[1], c.flag(2), c.dtype(3, sum_type(c.tensor(0).dtype))); }

// --- extremes -------------------------------------------------------------------------------------------------------

void require_elements(const Tensor& x, const Dims& dims) {
  for (int64_t d : dims)
    if (!x.sizes[(int)d]) fail("a maximum or minimum over dimension %d, which has no elements", (int)d);
}
Value extreme(Call& c, const char* kernel, const Value& dims, bool keepdim, bool chooses) {
  const Tensor& x = c.tensor(0);
  const Dims over = wanted_dims(dims, x.rank());
  if (chooses) require_elements(x, over);
  return reduce(c, kernel, x, over, keepdim, x.dtype);
}
Value amax(Call& c) { return extreme(c, "amax", c[1], c.flag(2), false); }
Value amin(Call& c) { return extreme(c, "amin", c[1], c.flag(2), false); }
Value max_all(Call& c) { return extreme(c, "amax", Value(), false, true); }
Value min_all(Call& c) { return extreme(c, "amin", Value(), false, true); }

// Bools are compared as numbers.
Tensor comparable(const Tensor& x) { return x.dtype == DType::Bool ? convert_to(x, DType::U8) : x; }

Tensor position(Call& c, const char* kernel, const Value& dims, bool keepdim) {
  const Tensor x = comparable(c.tensor(0));
  const Dims over = wanted_dims(dims, x.rank());
  require_elements(x, over);
  return reduce(c, kernel, x, over, keepdim, DType::I64);
}
Value argmax(Call& c) { return position(c, "argmax", c[1], c.flag(2)); }
Value argmin(Call& c) { return position(c, "argmin", c[1], c.flag(2)); }
Value max_dim(Call& c) {
  return Value::list({extreme(c, "amax", c[1], c.flag(2), true), position(c, "argmax", c[1], c.flag(2))});
}
Value min_dim(Call& c) {
  return Value::list({extreme(c, "amin", c[1], c.flag(2), true), position(c, "argmin", c[1], c.flag(2))});
}

// Bytes answer in bytes: they were torch's booleans once.
Value test(Call& c, const char* kernel, const Value& dims, bool keepdim) {
  const Tensor& x = c.tensor(0);
  return reduce(c, kernel, convert_to(x, DType::Bool), wanted_dims(dims, x.rank()), keepdim, x.dtype == DType::U8 ? DType::U8 : DType::Bool);
}
Value any_all(Call& c) { return test(c, "any", Value(), false); }
Value any_dim(Call& c) { return test(c, "any", c[1], c.flag(2)); }
Value all_all(Call& c) { return test(c, "all", Value(), false); }
Value all_dim(Call& c) { return test(c, "all", c[1], c.flag(2)); }

// --- variances and norms --------------------------------------------------------------------------------------------

Tensor rooted(const Tensor& x) {
  Tensor out = empty_like(x);
  visit_floating(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, compute_t<T>>)
      for (int64_t i = 0, n = x.numel(); i < n; ++i) out.data<T>()[i] = (T)::sqrt(x.data<T>()[i]);
  });
  return out;
}
Tensor variance(Call& c, const Value& dims, double correction, bool keepdim, bool root) {
  const Tensor& x = c.tensor(0);
  if (!is_floating(x.dtype)) fail("a variance of elements of type %s", dtype_name(x.dtype));
  const Tensor wide = reduce(c, "var", x, wanted_dims(dims, x.rank()), keepdim, wide_type(x.dtype), {&correction});
  return convert_to(root ? rooted(wide) : wide, x.dtype);
}
template <bool Root> Value var_correction(Call& c) { return variance(c, c[1], c.number(2, 1), c.flag(3), Root); }
template <bool Root> Value var_dim(Call& c) { return variance(c, c[1], c.flag(2), c.flag(3), Root); }
template <bool Root> Value var_all(Call& c) { return variance(c, Value(), c.flag(1), false, Root); }
template <bool Root> Value var_mean(Call& c) {
  const Tensor& x = c.tensor(0);
  return Value::list({variance(c, c[1], c.number(2, 1), c.flag(3), Root),
                      reduce(c, "mean", x, wanted_dims(c[1], x.rank()), c.flag(3), x.dtype)});
}

Value vector_norm(Call& c) {
  const DType dtype = c.dtype(4, c.tensor(0).dtype);
  const Tensor x = convert_to(c.tensor(0), dtype);
  const double order = c.number(1);
  const char* const name = order == INFINITY ? "norm_inf" : order == -INFINITY ? "norm_-inf" : order == 0 ? "norm_0"
                           : order == 1      ? "norm_1"   : order == 2         ? "norm_2"    : "norm_p";
  return reduce(c, name, x, wanted_dims(c[2], x.rank()), c.flag(3), dtype, {&order});
}

// --- along a dimension ----------------------------------------------------------------------------------------------

Value softmax(Call& c) {
  return along(c, "softmax", c.tensor(0), c.integer(1), {c.flag(2) ? DType::F32 : c.tensor(0).dtype})[0];
}
Value log_softmax(Call& c) {
  return along(c, "log_softmax", c.tensor(0), c.integer(1), {c.flag(2) ? DType::F32 : c.tensor(0).dtype})[0];
}
Value scan(Call& c, const char* name) {
  const DType dtype = c.dtype(2, sum_type(c.tensor(0).dtype));
  return along(c, name, convert_to(c.tensor(0), dtype), c.integer(1), {dtype})[0];
}
Value cumsum(Call& c) { return scan(c, "cumsum"); }
Value cumprod(Call& c) { return scan(c, "cumprod"); }
Value logcumsumexp(Call& c) { return along(c, "logcumsumexp", c.tensor(0), c.integer(1), {c.tensor(0).dtype})[0]; }
Value running(Call& c, const char* name) {
  const std::vector<Tensor> found = along(c, name, comparable(c.tensor(0)), c.integer(1), {c.tensor(0).dtype, DType::I64});
  return Value::list({found[0], found[1]});
}
Value cummax(Call& c) { return running(c, "cummax"); }
Value cummin(Call& c) { return running(c, "cummin"); }

const OperatorRow rows[] = {
    {"aten::sum", sum}, {"aten::sum.dim_IntList", sum_dim}, {"aten::mean", mean}, {"aten::mean.dim", mean_dim},
    {"aten::prod", prod}, {"aten::prod.dim_int", prod_dim}, {"aten::amax", amax}, {"aten::amin", amin},
    {"aten::max", max_all}, {"aten::min", min_all}, {"aten::max.dim", max_dim}, {"aten::min.dim", min_dim},
    {"aten::argmax", argmax}, {"aten::argmin", argmin},
    {"aten::any", any_all}, {"aten::any.dim", any_dim}, {"aten::any.dims", any_dim}, {"aten::_is_any_true", any_all},
    {"aten::all", all_all}, {"aten::all.dim", all_dim}, {"aten::all.dims", all_dim}, {"aten::_is_all_true", all_all},
    {"aten::var.correction", var_correction<false>}, {"aten::std.correction", var_correction<true>},
    {"aten::var.dim", var_dim<false>}, {"aten::std.dim", var_dim<true>},
    {"aten::var", var_all<false>}, {"aten::std", var_all<true>},
    {"aten::var_mean.correction", var_mean<false>}, {"aten::std_mean.correction", var_mean<true>},
    {"aten::linalg_vector_norm", vector_norm},
    {"aten::_softmax", softmax}, {"aten::_log_softmax", log_softmax},
    {"aten::cumsum", cumsum}, {"aten::cumprod", cumprod}, {"aten::cummax", cummax}, {"aten::cummin", cummin},
    {"aten::logcumsumexp", logcumsumexp},
};

}  // namespace

PTC_EXEC_TABLE(row_operators, rows);

}  // namespace ptc::exec
