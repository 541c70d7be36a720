#include "ptc_math.h"
using namespace ptc;
template <class T, class F> void vector_form(T* out, const T* x, const T* y, long n, F f) {
  constexpr int W = PTC_VLEN;
  for (long i = 0; i < n; i += W) {
    int left = (int)(n - i < W ? n - i : W);
    store_n(out + i, f(load_n<T, W>(x + i, left), load_n<T, W>(y + i, left)), left);
  }
}
template <class T, class F> void scalar_form(T* out, const T* x, const T* y, long n, F f) {
  for (long i = 0; i < n; ++i) out[i] = f(x[i], y[i]);
}
