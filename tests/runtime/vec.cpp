#include "ptc_vec.h"
using namespace ptc;
constexpr int W = PTC_VLEN;
extern "C" int lanes() { return W; }
template <class U, class T> void convert_all(U* out, const T* in, long n, bool vector) {
  long i = 0;
  for (; vector && i < n; i += W) {
    int left = (int)(n - i < W ? n - i : W);
    store_n(out + i, convert<U>(load_n<T, W>(in + i, left)), left);
  }
  for (; i < n; ++i) out[i] = convert<U>(in[i]);
}
template <class T> void reduce_all(T* out, const T* in) {
  auto x = load<T, W>(in);
  out[0] = hsum(x);
  out[1] = hmax(x);
  out[2] = hmin(x);
  out[3] = hprod(x);
  store(out + 4, reverse(x));
  store(out + 4 + W, iota<T, W>(T(3)));
  store(out + 4 + 2 * W, select(x > T(1), x, splat<T, W>(T(1))));
  store(out + 4 + 3 * W, maximum(x, vec<T, W>(T(2))));
}
template <class T>
void memory_forms(T* out, const T* in, const int64_t* index, const bool* on, long n) {
  int k = (int)n;
  auto at = load<int64_t, W>(index);
  store(out, load_n<T, W>(in, k));
  store(out + W, load_strided<T, W>(in, 3, k));
  store(out + 2 * W, gather(in, at, k));
  store(out + 3 * W, load_where(in, load_mask<W>(on), vec<T, W>(T(7))));
  store(out + 4 * W, gather_where(in, at, load_mask<W>(on), vec<T, W>(T(7))));
  scatter(out + 5 * W, at, load_n<T, W>(in, k), k);
  store_strided(out + 9 * W, 3, load_n<T, W>(in, k), k);
}
extern "C" void masks(bool* out, const float* x, const double* y, long n) {
  auto a = load<float, W>(x) > 0.0f;
  auto b = load<double, W>(y) > 0.0;
  store_mask(out, a & b);
  store_mask(out + W, a | b);
  store_mask(out + 2 * W, a ^ b);
  store_mask(out + 3 * W, !a);
  store_mask(out + 4 * W, first_lanes<W>((int)n));
  out[5 * W] = any(a);
  out[5 * W + 1] = all(a);
  out[5 * W + 2] = any(b);
  out[5 * W + 3] = all(b);
}
extern "C" void halves(float* out, const uint16_t* bits, long n, bool half, bool vector) {
  if (half)
    convert_all(out, (const f16*)bits, n, vector);
  else
    convert_all(out, (const bf16*)bits, n, vector);
}
extern "C" void to_halves(uint16_t* out, const float* x, long n, bool half, bool vector) {
  if (half)
    convert_all((f16*)out, x, n, vector);
  else
    convert_all((bf16*)out, x, n, vector);
}
// A vector's own type promises an aligned address; with AVX nothing comes of it (ptc_moves.h).
extern "C" void twice_typed(float* out, const float* in) {
#if defined(__AVX__)
  typedef detail::reg<float, W>::type V;
  const V x = *(const V*)in;
  *(V*)out = x + x;
#else
  store(out, load<float, W>(in) + load<float, W>(in));
#endif
}
