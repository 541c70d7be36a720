// Linear algebra: factorisations of ptc_linalg.h and ptc_spectral.h on batches of matrices of f32 or f64, and what is made
// of the factors. A system from the other side is one of transposed matrices.
#include "ptc_linalg.h"

#include <math.h>

#include "common.h"
#include "ptc_spectral.h"

namespace ptc::exec {

namespace {

int64_t rows_of(const Tensor& a) { return a.sizes[a.rank() - 2]; }
int64_t columns_of(const Tensor& a) { return a.sizes[a.rank() - 1]; }
Dims batch_of(const Tensor& a, int kept = 2) {
  if (a.rank() < kept) fail("a tensor of %d dimensions", a.rank());
  return Dims(a.sizes.begin(), a.sizes.end() - kept);
}
Dims joined(Dims batch, std::initializer_list<int64_t> rest) {
  for (int64_t size : rest) batch.push_back(size);
  return batch;
}
Tensor flipped(const Tensor& a) { return transpose(a, -2, -1); }
Tensor for_batch(const Tensor& a, const Dims& batch, int kept = 2) {
  if (a.rank() < kept) fail("a tensor of %d dimensions", a.rank());
  Dims sizes = batch;
  for (int d = a.rank() - kept; d < a.rank(); ++d) sizes.push_back(a.sizes[d]);
  return contiguous(expand(a, sizes));
}

// Matrices of a type that is factorised, dense.
Tensor matrices(const Tensor& a) {
  if (a.rank() < 2) fail("a matrix is needed");
  if (a.dtype != DType::F32 && a.dtype != DType::F64) fail("a factorisation of a matrix of %s", dtype_name(a.dtype));
  return contiguous(a);
}
Tensor square(const Tensor& a) {
  const Tensor whole = matrices(a);
  if (rows_of(whole) != columns_of(whole)) fail("a square matrix is needed, not %s", dims_text(a.sizes).c_str());
  return whole;
}
template <class F> void visit_matrix(const Tensor& a, const F& body) {
  if (a.dtype == DType::F64) body(type_tag<double>());
  else body(type_tag<float>());
}
void require_ok(const Call& c, int status) {
  if (status) fail_with((Status)status, "%s", status == ptc::STATUS_MEMORY ? "no memory" : c.run->message);
}
int64_t count_of(const Dims& batch) { return product(batch); }
int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// Fails where a factorisation ended early.
void require_success(const Tensor& info, const char* message) {
  const Tensor whole = contiguous_as(info, DType::I64);
  for (int64_t i = 0, n = whole.numel(); i < n; ++i)
    if (whole.data<int64_t>()[i]) fail("%s", message);
}
std::string failure(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  const char* const reason =
      has("inv")        ? "the inversion could not be completed because the input matrix is singular"
      : has("solve")    ? "The solver failed because the input matrix is singular"
      : has("cholesky") ? "The factorization could not be completed because the input is not positive-definite"
                        : "the factorisation has a zero on its diagonal";
  return name + ": " + reason + ".";
}
Value check_errors(Call& c) {
  require_success(c.tensor(0), failure(c.text(1)).c_str());
  return Value();
}

// --- LU -------------------------------------------------------------------------------------------------------------

struct Factors {
  Tensor lu, pivots, info;
};
Factors factorised(const Call& c, const Tensor& given) {
  const Tensor a = matrices(given);
  const Dims batch = batch_of(a);
  const int64_t m = rows_of(a), n = columns_of(a);
  Factors f{empty(a.dtype, a.sizes), empty(DType::I32, joined(batch, {smaller(m, n)})), empty(DType::I32, batch)};
  visit_matrix(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    require_ok(c, ptc::lu_factor(c.run, count_of(batch), m, n, a.data<T>(), f.lu.data<T>(), f.pivots.data<int32_t>(), f.info.data<int32_t>()));
  });
  return f;
}

// X of A X = B, or of A^T X = B.
Tensor solved(const Call& c, const Tensor& lu, const Tensor& pivots, const Tensor& right, bool transposed) {
  const Dims batch = broadcast_sizes(batch_of(lu), batch_of(right));
  const Tensor a = for_batch(matrices(lu), batch), p = for_batch(convert_to(pivots, DType::I32), batch, 1), b = for_batch(right, batch);
  if (rows_of(a) != columns_of(a) || rows_of(b) != rows_of(a) || b.dtype != a.dtype || p.sizes.back() != rows_of(a))
    fail("sizes of a system do not fit");
  const Tensor x = empty(b.dtype, b.sizes);
  visit_matrix(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    require_ok(c, ptc::lu_solve(c.run, count_of(batch), rows_of(b), columns_of(b), transposed, a.data<T>(), p.data<int32_t>(), b.data<T>(), x.data<T>()));
  });
  return x;
}
Tensor solved_from(const Call& c, const Tensor& lu, const Tensor& pivots, const Tensor& right, bool left, bool transposed) {
  if (left) return solved(c, lu, pivots, right, transposed);
  return flipped(solved(c, lu, pivots, flipped(right), !transposed));
}

Value lu_factor(Call& c) {
  if (!c.flag(1)) fail("an LU factorisation without pivots");
  const Factors f = factorised(c, c.tensor(0));
  if (c.flag(2)) require_success(f.info, failure("torch.linalg.lu_factor_ex").c_str());
  return Value::list({f.lu, f.pivots, f.info});
}
Value lu_solve(Call& c) { return solved_from(c, c.tensor(0), c.tensor(1), c.tensor(2), c.flag(3), c.flag(4)); }

Value solve(Call& c) {
  const Tensor &a = c.tensor(0), &right = c.tensor(1);
  const bool left = c.flag(2);
  const Factors f = factorised(c, a);
  if (c.flag(3)) require_success(f.info, failure("torch.linalg.solve_ex").c_str());
  const bool vector = right.rank() == 1 || (right.rank() == a.rank() - 1 && right.sizes == Dims(a.sizes.begin(), a.sizes.end() - 1));
  const Tensor x = vector ? squeeze(solved(c, f.lu, f.pivots, unsqueeze(right, right.rank()), !left), -1)
                          : solved_from(c, f.lu, f.pivots, right, left, false);
  return Value::list({x, f.lu, f.pivots, f.info});
}

Value inverse(Call& c) {
  const Tensor& a = c.tensor(0);
  const Factors f = factorised(c, square(a));
  if (c.flag(1)) require_success(f.info, failure("linalg.inv_ex").c_str());
  const Tensor one = zeros(a.dtype, a.sizes);
  const int64_t n = rows_of(a), count = count_of(batch_of(a));
  visit_matrix(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t b = 0; b < count; ++b)
      for (int64_t i = 0; i < n; ++i) one.data<T>()[(b * n + i) * n + i] = 1;
  });
  return Value::list({solved(c, f.lu, f.pivots, one, false), f.info});
}

// The product of U's diagonal (or of its signs) times the sign of the permutation, and the sum of its logarithms.
struct Diagonal {
  Tensor product, sign, logarithm;
};
Diagonal diagonal_of(const Factors& f) {
  const Dims batch = batch_of(f.lu);
  const int64_t n = rows_of(f.lu), count = count_of(batch);
  Diagonal d{empty(f.lu.dtype, batch), empty(f.lu.dtype, batch), empty(f.lu.dtype, batch)};
  visit_matrix(f.lu, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t b = 0; b < count; ++b) {
      T product = 1, sign = 1, sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const T value = f.lu.data<T>()[(b * n + i) * n + i], turn = f.pivots.data<int32_t>()[b * n + i] == i + 1 ? (T)1 : (T)-1;
        product *= value * turn;
        sign *= (value > 0 ? (T)1 : value < 0 ? (T)-1 : (T)0) * turn;
        sum += (T)::log(::fabs(value));
      }
      d.product.data<T>()[b] = product, d.sign.data<T>()[b] = sign, d.logarithm.data<T>()[b] = sum;
    }
  });
  return d;
}
// The factors are those of the transpose, as eager's are for a matrix in row-major order.
Value determinant(Call& c) {
  const Factors f = factorised(c, flipped(square(c.tensor(0))));
  return Value::list({diagonal_of(f).product, f.lu, f.pivots});
}
Value log_determinant(Call& c) {
  const Factors f = factorised(c, flipped(square(c.tensor(0))));
  const Diagonal d = diagonal_of(f);
  return Value::list({d.sign, d.logarithm, f.lu, f.pivots});
}

Tensor permutation(const Call& c, const Tensor& lu, const Tensor& pivots) {
  const Dims batch = batch_of(lu);
  const int64_t m = rows_of(lu), count = count_of(batch);
  const Tensor p = contiguous_as(pivots, DType::I32), order = empty(DType::I64, joined(batch, {m})), out = zeros(lu.dtype, joined(batch, {m, m}));
  if (batch_of(p, 1) != batch) fail("sizes of pivots do not fit");
  require_ok(c, ptc::lu_order(c.run, count, m, p.sizes.back(), p.data<int32_t>(), order.data<int64_t>()));
  visit_matrix(lu, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t b = 0; b < count; ++b)
      for (int64_t j = 0; j < m; ++j) out.data<T>()[(b * m + order.data<int64_t>()[b * m + j]) * m + j] = 1;
  });
  return out;
}
Value lu_unpack(Call& c) {
  const Tensor lu = matrices(c.tensor(0)), nothing = empty(lu.dtype, {0});
  const Tensor p = c.flag(3) ? permutation(c, lu, c.tensor(1)) : nothing;
  if (!c.flag(2)) return Value::list({p, nothing, nothing});
  const Dims batch = batch_of(lu);
  const int64_t m = rows_of(lu), n = columns_of(lu), steps = smaller(m, n), count = count_of(batch);
  const Tensor lower = empty(lu.dtype, joined(batch, {m, steps})), upper = empty(lu.dtype, joined(batch, {steps, n}));
  visit_matrix(lu, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t b = 0; b < count; ++b) {
      const T* const from = lu.data<T>() + b * m * n;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < steps; ++j) lower.data<T>()[(b * m + i) * steps + j] = i > j ? from[i * n + j] : (T)(i == j);
      for (int64_t i = 0; i < steps; ++i)
        for (int64_t j = 0; j < n; ++j) upper.data<T>()[(b * steps + i) * n + j] = i <= j ? from[i * n + j] : (T)0;
    }
  });
  return Value::list({p, lower, upper});
}

// --- triangles, Cholesky, QR ----------------------------------------------------------------------------------------

Value solve_triangular(Call& c) {
  const bool upper = c.flag(2), left = c.flag(3), unit = c.flag(4);
  const Tensor right = left ? c.tensor(1) : flipped(c.tensor(1));
  const Dims batch = broadcast_sizes(batch_of(c.tensor(0)), batch_of(right));
  const Tensor a = for_batch(matrices(c.tensor(0)), batch), b = for_batch(right, batch);
  if (rows_of(a) != columns_of(a) || rows_of(b) != rows_of(a) || b.dtype != a.dtype) fail("sizes of a system do not fit");
  const Tensor x = empty(b.dtype, b.sizes);
  visit_matrix(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    require_ok(c, ptc::solve_triangular(c.run, count_of(batch), rows_of(b), columns_of(b), !left, upper, unit, a.data<T>(), b.data<T>(), x.data<T>()));
  });
  return left ? x : flipped(x);
}

Value cholesky(Call& c) {
  const bool upper = c.flag(1);
  const Tensor a = square(upper ? flipped(c.tensor(0)) : c.tensor(0));
  const Tensor l = empty(a.dtype, a.sizes), info = empty(DType::I32, batch_of(a));
  visit_matrix(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    require_ok(c, ptc::cholesky(c.run, count_of(batch_of(a)), rows_of(a), a.data<T>(), l.data<T>(), info.data<int32_t>()));
  });
  if (c.flag(2)) require_success(info, failure("linalg.cholesky_ex").c_str());
  return Value::list({upper ? flipped(l) : l, info});
}

Value qr(Call& c) {
  const Tensor a = matrices(c.tensor(0));
  const std::string& mode = c.text(1);
  const Dims batch = batch_of(a);
  const int64_t m = rows_of(a), n = columns_of(a), kept = mode == "complete" ? m : smaller(m, n), columns = mode == "r" ? 0 : kept;
  const Tensor q = empty(a.dtype, joined(batch, {m, columns})), r = empty(a.dtype, joined(batch, {kept, n}));
  visit_matrix(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    require_ok(c, ptc::qr(c.run, count_of(batch), m, n, columns, kept, a.data<T>(), q.data<T>(), r.data<T>()));
  });
  return Value::list({mode == "r" ? empty(a.dtype, {0}) : q, r});
}

Value householder_product(Call& c) {
  const Tensor a = matrices(c.tensor(0)), taus = contiguous_as(c.tensor(1), a.dtype), q = empty(a.dtype, a.sizes);
  if (batch_of(taus, 1) != batch_of(a) || taus.sizes.back() > columns_of(a)) fail("sizes of reflections do not fit");
  visit_matrix(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    require_ok(c, ptc::householder_product(c.run, count_of(batch_of(a)), rows_of(a), columns_of(a), taus.sizes.back(), a.data<T>(), taus.data<T>(), q.data<T>()));
  });
  return q;
}

// --- values and vectors ---------------------------------------------------------------------------------------------

Value eigh(Call& c) {
  const Tensor a = square(c.tensor(0));
  const std::string& triangle = c.text(1);
  const bool upper = triangle == "U" || triangle == "u", vectors = c.flag(2);
  const Tensor values = empty(a.dtype, joined(batch_of(a), {rows_of(a)})), info = empty(DType::I32, batch_of(a));
  const Tensor found = empty(a.dtype, vectors ? a.sizes : Dims{0});
  visit_matrix(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    require_ok(c, ptc::eigh(c.run, count_of(batch_of(a)), rows_of(a), upper, a.data<T>(), values.data<T>(), vectors ? found.data<T>() : (T*)nullptr,
                            info.data<int32_t>()));
  });
  require_success(info, "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated eigenvalues.");
  return Value::list({values, found});
}

Value svd(Call& c) {
  const Tensor a = matrices(c.tensor(0));
  const bool vectors = c.flag(2), whole = c.flag(1) && vectors;
  const Dims batch = batch_of(a);
  const int64_t m = rows_of(a), n = columns_of(a), steps = smaller(m, n), columns = whole ? m : steps, rows = whole ? n : steps;
  const Tensor u = empty(a.dtype, joined(batch, {m, columns})), s = empty(a.dtype, joined(batch, {steps}));
  const Tensor vh = empty(a.dtype, joined(batch, {rows, n})), info = empty(DType::I32, batch);
  visit_matrix(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    require_ok(c, ptc::svd(c.run, count_of(batch), m, n, columns, rows, a.data<T>(), u.data<T>(), s.data<T>(), vh.data<T>(), info.data<int32_t>()));
  });
  require_success(info, "linalg.svd: The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated singular values.");
  if (vectors) return Value::list({u, s, vh});
  return Value::list({empty(a.dtype, {0}), s, empty(a.dtype, {0})});
}

Value matrix_exp(Call& c) {
  const Tensor a = square(c.tensor(0)), out = empty(a.dtype, a.sizes);
  visit_matrix(a, [&](auto tag) {
    using T = typename decltype(tag)::type;
    require_ok(c, ptc::matrix_exp(c.run, count_of(batch_of(a)), rows_of(a), a.data<T>(), out.data<T>()));
  });
  return out;
}

const OperatorRow table[] = {
    {"aten::_linalg_check_errors", check_errors}, {"aten::linalg_lu_factor_ex", lu_factor}, {"aten::linalg_lu_solve", lu_solve},
    {"aten::_linalg_solve_ex", solve}, {"aten::linalg_inv_ex", inverse}, {"aten::_linalg_det", determinant},
    {"aten::_linalg_slogdet", log_determinant}, {"aten::lu_unpack", lu_unpack}, {"aten::linalg_solve_triangular", solve_triangular},
    {"aten::linalg_cholesky_ex", cholesky}, {"aten::linalg_qr", qr}, {"aten::linalg_householder_product", householder_product},
    {"aten::_linalg_eigh", eigh}, {"aten::_linalg_svd", svd}, {"aten::linalg_matrix_exp", matrix_exp},
};

}  // namespace

PTC_EXEC_TABLE(linear_algebra_operators, table);

}  // namespace ptc::exec
