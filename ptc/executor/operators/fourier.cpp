// Fourier transforms along the last dimension, of real and imaginary parts (ptc_fft.h).
#include "ptc_fft.h"

#include "common.h"

namespace ptc::exec {

namespace {

template <class F> void visit_part(const Tensor& x, const F& body) {
  if (x.dtype == DType::F64) return body(type_tag<double>());
  if (x.dtype == DType::F32) return body(type_tag<float>());
  fail("a Fourier transform of elements of type %s", dtype_name(x.dtype));
}
void require_ok(const Call& c, int status) {
  if (status) fail_with((Status)status, "%s", status == ptc::STATUS_MEMORY ? "no memory" : c.run->message);
}
Tensor lines_of(const Tensor& x) {
  if (!x.rank()) fail("a transform needs a dimension");
  return contiguous(x);
}
int64_t count_of(const Tensor& x) { return x.sizes.back() ? x.numel() / x.sizes.back() : 0; }
Dims with_last(const Tensor& x, int64_t n) {
  Dims sizes = x.sizes;
  sizes.back() = n;
  return sizes;
}
void require_pair(const Tensor& re, const Tensor& im) {
  if (re.sizes != im.sizes || re.dtype != im.dtype) fail("real and imaginary parts differ in size or type");
}

Value fft(Call& c) {
  const Tensor re = lines_of(c.tensor(0)), im = lines_of(c.tensor(1));
  require_pair(re, im);
  const Tensor out_re = empty_like(re), out_im = empty_like(re);
  visit_part(re, [&](auto tag) {
    using T = typename decltype(tag)::type;
    require_ok(c, ptc::fft(c.run, count_of(re), re.sizes.back(), c.flag(2), (int)c.integer(3), re.data<T>(), im.data<T>(), out_re.data<T>(), out_im.data<T>()));
  });
  return Value::list({out_re, out_im});
}
Value rfft(Call& c) {
  const Tensor x = lines_of(c.tensor(0));
  const Dims half = with_last(x, x.sizes.back() / 2 + 1);
  const Tensor re = empty(x.dtype, half), im = empty(x.dtype, half);
  visit_part(x, [&](auto tag) {
    using T = typename decltype(tag)::type;
    require_ok(c, ptc::rfft(c.run, count_of(x), x.sizes.back(), (int)c.integer(1), x.data<T>(), re.data<T>(), im.data<T>()));
  });
  return Value::list({re, im});
}
Value irfft(Call& c) {
  const Tensor re = lines_of(c.tensor(0)), im = lines_of(c.tensor(1));
  require_pair(re, im);
  const int64_t n = c.integer(2);
  if (n < 0 || re.sizes.back() != n / 2 + 1) fail("%lld numbers of a transform for %lld", (long long)re.sizes.back(), (long long)n);
  const Tensor out = empty(re.dtype, with_last(re, n));
  visit_part(re, [&](auto tag) {
    using T = typename decltype(tag)::type;
    require_ok(c, ptc::irfft(c.run, count_of(re), n, (int)c.integer(3), re.data<T>(), im.data<T>(), out.data<T>()));
  });
  return out;
}
// All n elements of a line with mirror symmetry, of the first n // 2 + 1.
Value mirror(Call& c) {
  const Tensor half = lines_of(c.tensor(0));
  const int64_t n = c.integer(1), known = half.sizes.back();
  const bool negated = c.flag(2);
  if (n < known || known != n / 2 + 1) fail("%lld numbers of a transform for %lld", (long long)known, (long long)n);
  const Tensor out = empty(half.dtype, with_last(half, n));
  visit_part(half, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t line = 0, lines = count_of(half); line < lines; ++line) {
      const T* const from = half.data<T>() + line * known;
      T* const to = out.data<T>() + line * n;
      for (int64_t i = 0; i < known; ++i) to[i] = from[i];
      for (int64_t i = known; i < n; ++i) to[i] = negated ? -from[n - i] : from[n - i];
    }
  });
  return out;
}

const OperatorRow table[] = {{"ptc::fft", fft}, {"ptc::rfft", rfft}, {"ptc::irfft", irfft}, {"ptc::mirror", mirror}};

}  // namespace

PTC_EXEC_TABLE(fourier_operators, table);

}  // namespace ptc::exec
