// Distances between the rows of matrices.
#include <math.h>

#include "common.h"
#include "rows.h"

namespace ptc::exec {

namespace {

template <class T> T distance(const T* x, const T* y, int64_t n, double p) {
  T total = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T d = (T)fabs(x[i] - y[i]);
    if (p == 0) total += (T)(d != 0);
    else if (p == 1) total += d;
    else if (p == 2) total += d * d;
    else if (p == INFINITY) total = d > total || d != d ? d : total;
    else total += (T)pow(d, (T)p);
  }
  if (p == 2) return (T)sqrt(total);
  return p == 0 || p == 1 || p == INFINITY ? total : (T)pow(total, (T)(1.0 / p));
}

template <class F> void visit_wide(const Tensor& x, const F& body) {
  if (x.dtype == DType::F64) return body(type_tag<double>());
  if (x.dtype == DType::F32) return body(type_tag<float>());
  fail("distances of elements of type %s", dtype_name(x.dtype));
}

Value cdist(Call& c) {
  const Tensor &x = c.tensor(0), &y = c.tensor(1);
  const double p = c.number(2);
  if (x.rank() < 2 || y.rank() < 2 || x.sizes.back() != y.sizes.back()) fail("distances need rows of one size");
  const DType wide = wide_type(x.dtype);
  const Dims lead = broadcast_sizes(Dims(x.sizes.begin(), x.sizes.end() - 2), Dims(y.sizes.begin(), y.sizes.end() - 2));
  const auto spread = [&](const Tensor& t) {
    Dims sizes = lead;
    sizes.push_back(t.sizes[t.rank() - 2]);
    sizes.push_back(t.sizes.back());
    return contiguous_as(expand(t, sizes), wide);
  };
  const Tensor left = spread(x), right = spread(y);
  const int64_t rows = x.sizes[x.rank() - 2], columns = y.sizes[y.rank() - 2], width = x.sizes.back();
  Dims sizes = lead;
  sizes.push_back(rows);
  sizes.push_back(columns);
  const Tensor out = empty(wide, sizes);
  if (!out.numel()) return convert_to(out, x.dtype);
  visit_wide(out, [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel(c.pool, product(lead) * rows, 4.0 * (double)(columns * width), [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u)
        for (int64_t j = 0; j < columns; ++j)
          out.data<T>()[u * columns + j] = distance(left.data<T>() + u * width, right.data<T>() + (u / rows * columns + j) * width, width, p);
    });
  });
  return convert_to(out, x.dtype);
}

Value pdist(Call& c) {
  const Tensor& x = c.tensor(0);
  const double p = c.number(1);
  if (x.rank() != 2) fail("distances need a matrix");
  const Tensor wide = contiguous_as(x, wide_type(x.dtype));
  const int64_t rows = x.sizes[0], width = x.sizes[1];
  const Tensor out = empty(wide.dtype, {rows > 0 ? rows * (rows - 1) / 2 : 0});
  visit_wide(out, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = out.data<T>();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = i + 1; j < rows; ++j) *to++ = distance(wide.data<T>() + i * width, wide.data<T>() + j * width, width, p);
  });
  return convert_to(out, x.dtype);
}

const OperatorRow table[] = {{"aten::_cdist_forward", cdist}, {"aten::_pdist_forward", pdist}};

}  // namespace

PTC_EXEC_TABLE(distance_operators, table);

}  // namespace ptc::exec
