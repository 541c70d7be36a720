// Matrix products: the packed products of ptc_gemm.h for floats, plain loops for integers. 16-bit floats are summed up in
// f32 and rounded once.
#include "linear.h"

#include "common.h"
#include "ptc_gemm.h"
#include "rows.h"

namespace ptc::exec {

namespace {

// An addend as the epilogue reads it: strides of batch, row and column, 0 where it is broadcast.
template <class T> struct Extra {
  const T* data = nullptr;
  int64_t batch = 0, row = 0, column = 0;

  vec<T, PTC_VLEN> at(int64_t b, int64_t m, int64_t n, int lanes) const {
    const T* const p = data + b * batch + m * row + n * column;
    if (column == 1) return lanes == PTC_VLEN ? load<T, PTC_VLEN>(p) : load_n<T, PTC_VLEN>(p, lanes);
    if (column == 0) return vec<T, PTC_VLEN>(*p);
    return load_strided<T, PTC_VLEN>(p, column, lanes);
  }
};

template <class T> struct Finish {
  T* out;
  int64_t batch, row;
  T alpha, beta;
  Extra<T> addend, residual;
  bool scaled, relu;

  void operator()(vec<T, PTC_VLEN> sum, int64_t b, int64_t m, int64_t n, int lanes) const {
    typedef vec<T, PTC_VLEN> V;
    if (scaled) sum = sum * V(alpha);
    if (addend.data) {
      const V extra = addend.at(b, m, n, lanes);
      sum = beta == (T)1 ? sum + extra : sum + extra * V(beta);
    }
    if (residual.data) sum = sum + residual.at(b, m, n, lanes);
    if (relu) sum = maximum(sum, V((T)0));
    T* const to = out + b * batch + m * row + n;
    if (lanes == PTC_VLEN) store(to, sum);
    else store_n(to, sum, lanes);
  }
  void operator()(vec<T, PTC_VLEN> sum, int64_t m, int64_t n, int lanes) const { (*this)(sum, 0, m, n, lanes); }
};

template <class T> Extra<T> extra_of(const Tensor* given, const Tensor& out, Tensor* hold) {
  Extra<T> e;
  if (!given) return e;
  *hold = expand(convert_to(*given, out.dtype), out.sizes);
  e.data = hold->data<T>();
  e.batch = hold->strides[0];
  e.row = hold->strides[1];
  e.column = hold->sizes[2] == 1 ? 0 : hold->strides[2];
  return e;
}

struct Packed {
  char* memory = nullptr;
  ~Packed() { ptc::free_bytes(memory); }
};
template <class T> std::shared_ptr<Packed> pack(const Tensor& y) {
  const int64_t k = y.sizes[1], n = y.sizes[2];
  auto made = std::make_shared<Packed>();
  made->memory = (char*)ptc::allocate_bytes(ptc::packed_b_size<T>(k, n) * (int64_t)sizeof(T));
  if (!made->memory) fail_with(Status::Memory, "no memory for packed weights");
  ptc::pack_b<T>((T*)(void*)made->memory, y.data<T>(), k, n, y.strides[1], y.strides[2]);
  return made;
}

template <class T>
void float_product(const Call& c, const Tensor& x, const Tensor& y, const Tensor& out, const ProductEnd& end, Kept* packed) {
  const int64_t batch = x.sizes[0], m = x.sizes[1], k = x.sizes[2], n = y.sizes[2];
  Tensor held[2];
  Finish<T> finish{out.data<T>(), m * n, n, (T)end.alpha, (T)end.beta, extra_of<T>(end.beta == 0 ? nullptr : end.addend, out, held),
                   extra_of<T>(end.residual, out, held + 1), end.alpha != 1, end.relu};
  if (packed) {
    const Packed& weights = packed->get<Packed>([&] { return pack<T>(y); });
    Tensor rows = x;
    if (k > 1 && x.strides[2] != 1) rows = contiguous(x);
    ptc::gemm_packed<ptc::Dims<>, T>(c.pool, m, n, k, rows.data<T>(), rows.strides[1], (const T*)(const void*)weights.memory, finish);
    return;
  }
  const int64_t bytes = ptc::gemm_scratch<T, T>(m, k, x.strides[2], ptc::pool_size(c.pool));
  ptc::Scratch<char> scratch(bytes);
  if (!scratch.data) fail_with(Status::Memory, "no memory for a matrix product");
  ptc::gemm_batched<T>(c.pool, batch, m, n, k, x.data<T>(), batch > 1 ? x.strides[0] : 0, x.strides[1], x.strides[2], y.data<T>(),
                       batch > 1 ? y.strides[0] : 0, y.strides[1], y.strides[2], scratch.data, finish);
}

// Sums wrap as in eager: in 64 bits and converted once.
void integer_product(const Call& c, const Tensor& x, const Tensor& y, const Tensor& out, const ProductEnd& end) {
  const int64_t batch = x.sizes[0], m = x.sizes[1], k = x.sizes[2], n = y.sizes[2];
  Tensor held[2];
  const Extra<int64_t> addend = extra_of<int64_t>(end.beta == 0 ? nullptr : end.addend, out, held);
  const Extra<int64_t> residual = extra_of<int64_t>(end.residual, out, held + 1);
  const uint64_t alpha = (uint64_t)(int64_t)end.alpha, beta = (uint64_t)(int64_t)end.beta;
  parallel(c.pool, batch * m, 2.0 * (double)(k * n), [&](int64_t begin, int64_t end_row) {
    for (int64_t u = begin; u < end_row; ++u) {
      const int64_t b = u / m, i = u % m;
      for (int64_t j = 0; j < n; ++j) {
        uint64_t sum = 0;
        for (int64_t r = 0; r < k; ++r)
          sum += (uint64_t)x.data<int64_t>()[b * x.strides[0] + i * x.strides[1] + r * x.strides[2]] *
                 (uint64_t)y.data<int64_t>()[b * y.strides[0] + r * y.strides[1] + j * y.strides[2]];
        sum *= alpha;
        if (addend.data) sum += beta * (uint64_t)addend.data[b * addend.batch + i * addend.row + j * addend.column];
        if (residual.data) sum += (uint64_t)residual.data[b * residual.batch + i * residual.row + j * residual.column];
        out.data<int64_t>()[u * n + j] = end.relu && (int64_t)sum < 0 ? 0 : (int64_t)sum;
      }
    }
  });
}

}  // namespace

Tensor matrix_product(const Call& c, const Tensor& x, const Tensor& y, const ProductEnd& end, Kept* packed) {
  if (x.rank() != 3 || y.rank() != 3 || x.sizes[0] != y.sizes[0] || x.sizes[2] != y.sizes[1])
    fail("a product of %s and %s", dims_text(x.sizes).c_str(), dims_text(y.sizes).c_str());
  if (x.dtype != y.dtype) fail("a product of %s and %s", dtype_name(x.dtype), dtype_name(y.dtype));
  const DType wide = wide_type(x.dtype);
  if (wide == DType::Bool) fail("a product of bools");
  const Tensor out = empty(wide, {x.sizes[0], x.sizes[1], y.sizes[2]});
  if (!out.numel()) return convert_to(out, x.dtype);
  // Sums of nothing are 0: those of one product of zeros.
  if (!x.sizes[2]) return matrix_product(c, zeros(x.dtype, {x.sizes[0], x.sizes[1], 1}), zeros(y.dtype, {y.sizes[0], 1, y.sizes[2]}), end);
  const Tensor left = convert_to(x, wide), right = convert_to(y, wide);
  if (wide == DType::F32) float_product<float>(c, left, right, out, end, packed);
  else if (wide == DType::F64) float_product<double>(c, left, right, out, end, packed);
  else integer_product(c, left, right, out, end);
  return convert_to(out, x.dtype);
}

Tensor linear(const Call& c, const ProductEnd& given) {
  const Tensor &x = c.tensor(0), &weight = c.tensor(1);
  if (weight.rank() != 2 || x.rank() < 1) fail("linear needs a matrix of weights");
  ProductEnd end = given;
  const Tensor* bias = c.tensor_or_null(2);
  if (bias) end.addend = bias;
  Dims sizes = x.sizes;
  sizes.back() = weight.sizes[0];
  int64_t rows = 1;
  for (int d = 0; d + 1 < x.rank(); ++d) rows *= x.sizes[d];
  Tensor residual;
  if (end.residual) {
    residual = reshape(*end.residual, {1, rows, weight.sizes[0]});
    end.residual = &residual;
  }
  const Tensor flat = reshape(x, {1, rows, x.sizes.back()}), columns = unsqueeze(transpose(weight, 0, 1), 0);
  return reshape(matrix_product(c, flat, columns, end, c.is_constant(1) ? c.kept : nullptr), sizes);
}

namespace {

Tensor squeezed(const Tensor& x, std::initializer_list<int> dims) {
  Tensor t = x;
  for (int d : dims) t = squeeze(t, d);
  return t;
}

Value linear_operator(Call& c) { return linear(c, {}); }

Tensor matrices(const Call& c, const Tensor& x, const Tensor& y, const ProductEnd& end, int constant) {
  if (x.rank() != 2 || y.rank() != 2) fail("a matrix product needs matrices");
  Kept* const packed = c.is_constant(constant) ? c.kept : nullptr;
  return squeezed(matrix_product(c, unsqueeze(x, 0), unsqueeze(y, 0), end, packed), {0});
}
Value mm(Call& c) { return matrices(c, c.tensor(0), c.tensor(1), {}, 1); }
ProductEnd blend(const Call& c) {
  ProductEnd end;
  end.addend = &c.tensor(0);
  end.beta = c.number(3);
  end.alpha = c.number(4);
  return end;
}
Value addmm(Call& c) { return matrices(c, c.tensor(1), c.tensor(2), blend(c), 2); }
Value bmm(Call& c) { return matrix_product(c, c.tensor(0), c.tensor(1)); }
Value baddbmm(Call& c) { return matrix_product(c, c.tensor(1), c.tensor(2), blend(c)); }
Value mv(Call& c) { return squeezed(matrix_product(c, unsqueeze(c.tensor(0), 0), unsqueeze(unsqueeze(c.tensor(1), 1), 0)), {0, -1}); }
Value addmv(Call& c) {
  ProductEnd end = blend(c);
  const Tensor tall = c.tensor(0).rank() ? unsqueeze(c.tensor(0), 1) : c.tensor(0);
  end.addend = &tall;
  return squeezed(matrix_product(c, unsqueeze(c.tensor(1), 0), unsqueeze(unsqueeze(c.tensor(2), 1), 0), end), {0, -1});
}
Value dot(Call& c) {
  if (c.tensor(0).rank() != 1 || c.tensor(1).rank() != 1) fail("a dot product needs vectors");
  const Tensor row = unsqueeze(unsqueeze(c.tensor(0), 0), 0), column = unsqueeze(unsqueeze(c.tensor(1), 1), 0);
  return reshape(matrix_product(c, row, column), {});
}

const OperatorRow table[] = {
    {"ptc::linear", linear_operator}, {"aten::linear", linear_operator}, {"aten::mm", mm},   {"aten::addmm", addmm},
    {"aten::bmm", bmm},               {"aten::baddbmm", baddbmm},         {"aten::mv", mv},   {"aten::addmv", addmv},
    {"aten::dot", dot},               {"aten::vdot", dot},
};

}  // namespace

PTC_EXEC_TABLE(linear_operators, table);

}  // namespace ptc::exec
