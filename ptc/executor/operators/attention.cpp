// Scaled dot-product attention: ptc_attention.h in f32, plain loops in f64.
#include "ptc_attention.h"

#include <math.h>

#include "common.h"
#include "rows.h"

namespace ptc::exec {

namespace {

// Leading dimensions as exactly batch and head.
Tensor four_dims(const Tensor& x) {
  Dims sizes;
  const int lead = x.rank() - 2;
  int64_t batch = 1;
  for (int d = 0; d + 1 < lead; ++d) batch *= x.sizes[d];
  sizes = {batch, lead ? x.sizes[lead - 1] : 1, x.sizes[lead], x.sizes[lead + 1]};
  return reshape(x, sizes);
}
Tensor with_lead(const Tensor& x, const Dims& lead) {
  Dims sizes = lead;
  sizes.push_back(x.sizes[x.rank() - 2]);
  sizes.push_back(x.sizes[x.rank() - 1]);
  return expand(x, sizes);
}
Dims lead_of(const Tensor& x) { return Dims(x.sizes.begin(), x.sizes.end() - 2); }
Tensor rows_dense(const Tensor& x) { return x.sizes[3] <= 1 || x.strides[3] == 1 ? x : contiguous(x); }

// Whether all dimensions before that of heads are equal.
bool same_batches(const Tensor& q, const Tensor& k) {
  for (int d = 0; d + 3 < q.rank(); ++d)
    if (q.sizes[d] != k.sizes[d]) return false;
  return true;
}

struct Operands {
  Tensor q, k, v, mask;
  bool causal;
  double scale;
};

// One row after the other, as eager defines it.
void plain_attention(const Operands& o, const Tensor& out, Pool* pool) {
  const Tensor &q = o.q, &k = o.k, &v = o.v, &mask = o.mask;
  const int64_t heads = q.sizes[1], rows = q.sizes[2], length = k.sizes[2], width = q.sizes[3], columns = v.sizes[3];
  const int64_t repeats = heads / k.sizes[1];
  const auto at = [](const Tensor& t, int64_t b, int64_t h, int64_t i) {
    return t.data<double>() + b * t.strides[0] + h * t.strides[1] + i * t.strides[2];
  };
  parallel(pool, q.sizes[0] * heads * rows, 2.0 * (double)(length * (width + columns)), [&](int64_t begin, int64_t end) {
    ptc::Scratch<double> scores(length);
    for (int64_t u = begin; u < end; ++u) {
      const int64_t i = u % rows, h = u / rows % heads, b = u / rows / heads;
      double top = -INFINITY, total = 0;
      for (int64_t s = 0; s < length; ++s) {
        double sum = 0;
        const double *x = at(q, b, h, i), *y = at(k, b, h / repeats, s);
        for (int64_t e = 0; e < width; ++e) sum += x[e * q.strides[3]] * y[e * k.strides[3]];
        sum *= o.scale;
        if (mask.defined()) {
          const int64_t place = b * mask.strides[0] + h * mask.strides[1] + i * mask.strides[2] + s * mask.strides[3];
          if (mask.dtype == DType::Bool) sum = mask.data<bool>()[place] ? sum : -INFINITY;
          else sum += mask.data<double>()[place];
        }
        if (o.causal && s > i) sum = -INFINITY;
        scores.data[s] = sum;
        top = sum != sum || sum > top ? sum : top;
      }
      const double shift = top == -INFINITY ? 0 : top;
      for (int64_t s = 0; s < length; ++s) total += scores.data[s] = exp(scores.data[s] - shift);
      double* const to = out.data<double>() + u * columns;
      for (int64_t d = 0; d < columns; ++d) {
        double sum = 0;
        for (int64_t s = 0; s < length; ++s)
          if (scores.data[s] != 0) sum += scores.data[s] * at(v, b, h / repeats, s)[d * v.strides[3]];
        to[d] = total == 0 ? 0 : sum / total;
      }
    }
  });
}

void blocked_attention(const Operands& o, const Tensor& out, Pool* pool) {
  const Tensor q = rows_dense(o.q), k = rows_dense(o.k), v = rows_dense(o.v);
  const Tensor& mask = o.mask;
  ptc::Attention s{};
  s.batch = q.sizes[0], s.heads = q.sizes[1], s.kv_heads = k.sizes[1], s.q_len = q.sizes[2], s.k_len = k.sizes[2];
  s.dim = q.sizes[3], s.v_dim = v.sizes[3];
  s.q_b = q.strides[0], s.q_h = q.strides[1], s.q_s = q.strides[2];
  s.k_b = k.strides[0], s.k_h = k.strides[1], s.k_s = k.strides[2];
  s.v_b = v.strides[0], s.v_h = v.strides[1], s.v_s = v.strides[2];
  s.scale = (float)o.scale;
  s.causal = o.causal;
  if (mask.defined()) {
    s.mask = mask.raw();
    s.mask_kind = mask.dtype == DType::Bool ? ptc::MASK_BOOL : ptc::MASK_FLOAT;
    s.m_b = mask.strides[0], s.m_h = mask.strides[1], s.m_q = mask.strides[2], s.m_k = mask.strides[3];
  }
  ptc::Scratch<char> scratch(ptc::attention_scratch(s, ptc::pool_size(pool)));
  if (!scratch.data) fail_with(Status::Memory, "no memory for attention");
  float* const to = out.data<float>();
  const int64_t heads = s.heads, rows = s.q_len, columns = s.v_dim;
  ptc::attention<-1>(pool, s, q.data<float>(), k.data<float>(), v.data<float>(), scratch.data,
                     [=](ptc::f32v sum, int64_t b, int64_t h, int64_t i, int64_t d, int lanes) {
                       ptc::store_n(to + ((b * heads + h) * rows + i) * columns + d, sum, lanes);
                     });
}

Value attention(Call& c) {
  Tensor q = c.tensor(0), k = c.tensor(1), v = c.tensor(2);
  if (c.number(4, 0) != 0) fail("attention with dropout");
  const bool shared = c.flag(7, false);
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2) fail("attention needs matrices");
  Dims lead = lead_of(q);
  if (!shared) {
    lead = broadcast_sizes(broadcast_sizes(lead, lead_of(k)), lead_of(v));
    q = with_lead(q, lead), k = with_lead(k, lead), v = with_lead(v, lead);
  } else if (k.rank() != q.rank() || lead_of(k) != lead_of(v) || lead.empty() || !same_batches(q, k) || !k.sizes[k.rank() - 3] || q.sizes[q.rank() - 3] % k.sizes[k.rank() - 3]) {
    fail("query heads do not share key heads evenly");
  }
  const int64_t rows = q.sizes[q.rank() - 2], width = q.sizes[q.rank() - 1], length = k.sizes[k.rank() - 2], columns = v.sizes[v.rank() - 1];
  if (k.sizes[k.rank() - 1] != width || v.sizes[v.rank() - 2] != length) fail("sizes of keys and values do not fit");
  const DType wide = wide_type(q.dtype);
  Operands o;
  o.q = four_dims(convert_to(q, wide)), o.k = four_dims(convert_to(k, wide)), o.v = four_dims(convert_to(v, wide));
  o.causal = c.flag(5);
  o.scale = c.has(6) ? c.number(6) : width ? 1.0 / sqrt((double)width) : 1.0;
  if (const Tensor* mask = c.tensor_or_null(3)) {
    Dims sizes = lead;
    sizes.push_back(rows);
    sizes.push_back(length);
    o.mask = four_dims(expand(mask->dtype == DType::Bool ? *mask : convert_to(*mask, wide), sizes));
  }
  const Tensor out = empty(wide, {o.q.sizes[0], o.q.sizes[1], rows, columns});
  if (out.numel()) {
    if (wide == DType::F32) blocked_attention(o, out, c.pool);
    else if (wide == DType::F64) plain_attention(o, out, c.pool);
    else fail("attention of elements of type %s", dtype_name(q.dtype));
  }
  Dims sizes = lead;
  sizes.push_back(rows);
  sizes.push_back(columns);
  return convert_to(reshape(out, sizes), q.dtype);
}

const OperatorRow table[] = {{"ptc::sdpa", attention}, {"aten::scaled_dot_product_attention", attention}};

}  // namespace

PTC_EXEC_TABLE(attention_operators, table);

}  // namespace ptc::exec
