#define PTC_THREADS_IMPLEMENTATION
#include "ptc_fft.h"
using namespace ptc;

// Two calls of one session: the second one finds the plan.
#define TRANSFORMS(T, NAME)                                                                     \
  extern "C" int NAME##_fft(i64 lines, i64 n, int forward, int scale, const T* re, const T* im, \
                            T* out_re, T* out_im) {                                             \
    Run run;                                                                                    \
    int status = 0;                                                                             \
    for (int i = 0; i < 2 && !status; ++i)                                                      \
      status = fft(&run, lines, n, forward, scale, re, im, out_re, out_im);                     \
    run.forget_all();                                                                           \
    return status;                                                                              \
  }                                                                                             \
  extern "C" int NAME##_rfft(i64 lines, i64 n, int scale, const T* x, T* re, T* im) {           \
    Run run;                                                                                    \
    const int status = rfft(&run, lines, n, scale, x, re, im);                                  \
    run.forget_all();                                                                           \
    return status;                                                                              \
  }                                                                                             \
  extern "C" int NAME##_irfft(i64 lines, i64 n, int scale, const T* re, const T* im, T* out) {  \
    Run run;                                                                                    \
    const int status = irfft(&run, lines, n, scale, re, im, out);                               \
    run.forget_all();                                                                           \
    return status;                                                                              \
  }
TRANSFORMS(float, f32)
TRANSFORMS(double, f64)

// Transforms of n lengths in one session: more than it keeps plans for. The first element of each.
extern "C" int f64_lengths(i64 count, double* firsts) {
  Run run;
  int status = 0;
  for (i64 n = 1; n <= count && !status; ++n) {
    Scratch<double> x(4 * n);
    for (i64 k = 0; k < 2 * n; ++k) x.data[k] = k < n ? 1 : 0;
    status = fft(&run, 1, n, true, FFT_PLAIN, x.data, x.data + n, x.data + 2 * n, x.data + 3 * n);
    firsts[n - 1] = x.data[2 * n];
  }
  run.forget_all();
  return status;
}
