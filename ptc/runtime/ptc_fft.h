// Fourier transforms of lines of memory: complex, real to complex and back, of any length.
//
// Owns the algorithms: Stockham's with radices 2, 3, 4, 5 and odd primes up to 13, Bluestein's for
// lengths with larger primes. Real and imaginary parts lie apart. Several lines are transformed side
// by side, one in each lane, so that every step is whole vectors whatever the length. Knows nothing of
// tensors. Plans (factors and roots of unity, computed in double) live as long as the session.
#ifndef PTC_FFT_H
#define PTC_FFT_H

#include "ptc_kernel.h"

namespace ptc {

// What aten calls normalization.
enum FftScale { FFT_PLAIN = 0, FFT_BY_ROOT = 1, FFT_BY_LENGTH = 2 };

namespace detail {

constexpr i64 kLargestRadix = 13;
constexpr int kMostStages = 64;

// Memory of a plan, handed out piece by piece; without memory, how much it would be.
struct FftMemory {
  char* base;
  i64 used = 0;
  template <class T> T* take(i64 count) {
    T* const place = base ? (T*)(base + used) : nullptr;
    used += (count * (i64)sizeof(T) + 63) / 64 * 64;
    return place;
  }
};

// A transform of n complex numbers. `twiddles`: for each stage the m (radix - 1) factors of its
// outputs, real and imaginary part in turn. `circles`: for each stage cosine and sine of the radix's
// angles. Where `padded` is not 0, the length has a large prime: the
// transform is then a convolution with `chirp` of that length, done in double.
template <class T> struct FftPlan {
  i64 n, padded;
  int stages;
  int radix[kMostStages];
  T* twiddles;
  T* circles;
  double* chirp;
  double* spectrum;
  FftPlan<double>* inner;
  double* halves;  // roots of order 2n, for real lines of twice the length
};

// e^(-2 pi i k / n), 0 <= k < n. Only angles of up to an eighth of a turn are computed, so that what is
// symmetric comes out symmetric.
struct FftRoot {
  double re, im;
  FftRoot(i64 k, i64 n) {
    const i64 quarter = 4 * k / n, rest = 4 * k - quarter * n;
    const bool steep = 2 * rest > n;
    const double angle = 1.5707963267948966 * (double)(steep ? n - rest : rest) / (double)n;
    const double a = __builtin_cos(angle), b = __builtin_sin(angle);
    const double c = steep ? b : a, s = steep ? a : b;
    re = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
    im = -(quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c);
  }
};

// The radices of a length; the factor that is left over.
inline i64 fft_radices(i64 n, int* radix, int* stages) {
  *stages = 0;
  while (n % 4 == 0) radix[(*stages)++] = 4, n /= 4;
  for (int prime = 2; prime <= kLargestRadix; ++prime)
    while (n % prime == 0) radix[(*stages)++] = prime, n /= prime;
  return n;
}

template <class T> inline void fft_twiddles(const FftPlan<T>& plan) {
  T* to = plan.twiddles;
  T* circle = plan.circles;
  i64 n = plan.n;
  for (int stage = 0; stage < plan.stages; ++stage) {
    const i64 radix = plan.radix[stage], m = n / radix;
    for (i64 k = 0; k < radix; ++k) {
      const FftRoot root(k, radix);
      *circle++ = (T)root.re;
      *circle++ = (T)-root.im;
    }
    for (i64 p = 0; p < m; ++p)
      for (i64 j = 1; j < radix; ++j) {
        const FftRoot root(p * j, n);
        *to++ = (T)root.re;
        *to++ = (T)root.im;
      }
    n = m;
  }
}
inline i64 fft_twiddle_count(i64 n, const int* radix, int stages) {
  i64 count = 0;
  for (int stage = 0; stage < stages; ++stage) {
    n /= radix[stage];
    count += 2 * n * (radix[stage] - 1);
  }
  return count;
}

template <class T> inline FftPlan<T>* fft_plan(FftMemory& memory, i64 n, bool halves);

// Place for what Bluestein's algorithm needs, and its content.
template <class T> inline void fft_convolution(FftMemory& memory, FftPlan<T>* plan, i64 n) {
  i64 padded = 1;
  while (padded < 2 * n - 1) padded *= 2;
  double* const chirp = memory.take<double>(2 * n);
  double* const spectrum = memory.take<double>(2 * padded);
  FftPlan<double>* const inner = fft_plan<double>(memory, padded, false);
  if (!plan) return;
  plan->padded = padded;
  plan->chirp = chirp;
  plan->spectrum = spectrum;
  plan->inner = inner;
}

template <class T> inline FftPlan<T>* fft_plan(FftMemory& memory, i64 n, bool halves) {
  int radix[kMostStages], stages;
  const bool smooth = fft_radices(n, radix, &stages) == 1;
  FftPlan<T>* const plan = memory.take<FftPlan<T>>(1);
  T* const twiddles = memory.take<T>(smooth ? fft_twiddle_count(n, radix, stages) : 0);
  T* const circles = memory.take<T>(2 * kLargestRadix * stages);
  double* const roots = memory.take<double>(halves ? 2 * n + 2 : 0);
  if (plan) {
    plan->n = n;
    plan->padded = 0;
    plan->stages = smooth ? stages : 0;
    for (int stage = 0; stage < plan->stages; ++stage) plan->radix[stage] = radix[stage];
    plan->twiddles = twiddles;
    plan->circles = circles;
    plan->halves = roots;
    if (smooth) fft_twiddles(*plan);
    for (i64 k = 0; halves && k <= n; ++k) {
      const FftRoot root(k, 2 * n);
      roots[2 * k] = root.re;
      roots[2 * k + 1] = root.im;
    }
  }
  if (!smooth) fft_convolution(memory, plan, n);
  return plan;
}

// --- stages --------------------------------------------------------------------------------------

// W lanes; one number where W is 1.
template <class T, int W> struct FftLanes {
  typedef vec<T, W> V;
  static PTC_INLINE V get(const T* p) { return load<T, W>(p); }
  static PTC_INLINE void put(T* p, V x) { store(p, x); }
};
template <class T> struct FftLanes<T, 1> {
  typedef T V;
  static PTC_INLINE T get(const T* p) { return *p; }
  static PTC_INLINE void put(T* p, T x) { *p = x; }
};

template <class V> PTC_INLINE void fft_two(V* re, V* im) {
  const V a = re[0] - re[1], b = im[0] - im[1];
  re[0] = re[0] + re[1];
  im[0] = im[0] + im[1];
  re[1] = a;
  im[1] = b;
}
template <class V> PTC_INLINE void fft_four(V* re, V* im) {
  const V ar = re[0] + re[2], ai = im[0] + im[2], br = re[0] - re[2], bi = im[0] - im[2];
  const V cr = re[1] + re[3], ci = im[1] + im[3], dr = re[1] - re[3], di = im[1] - im[3];
  re[0] = ar + cr;
  im[0] = ai + ci;
  re[1] = br + di;
  im[1] = bi - dr;
  re[2] = ar - cr;
  im[2] = ai - ci;
  re[3] = br - di;
  im[3] = bi + dr;
}
// An odd prime: outputs j and radix - j are of the same sums and differences of inputs k, radix - k.
template <class V, class T> PTC_INLINE void fft_odd(int radix, V* re, V* im, const T* circle) {
  constexpr int most = (int)kLargestRadix / 2 + 1;
  V sr[most], si[most], dr[most], di[most];
  const V zr = re[0], zi = im[0];
  const int half = radix / 2;
  for (int k = 1; k <= half; ++k) {
    sr[k] = re[k] + re[radix - k];
    si[k] = im[k] + im[radix - k];
    dr[k] = re[k] - re[radix - k];
    di[k] = im[k] - im[radix - k];
    re[0] = re[0] + sr[k];
    im[0] = im[0] + si[k];
  }
  for (int j = 1; j <= half; ++j) {
    V ar = zr, ai = zi, br = V(0), bi = V(0);
    for (int k = 1; k <= half; ++k) {
      const V c = V(circle[2 * (j * k % radix)]), s = V(circle[2 * (j * k % radix) + 1]);
      ar = ar + c * sr[k];
      ai = ai + c * si[k];
      br = br + s * di[k];
      bi = bi - s * dr[k];
    }
    re[j] = ar + br;
    im[j] = ai + bi;
    re[radix - j] = ar - br;
    im[radix - j] = ai - bi;
  }
}
template <int Radix, class V, class T>
PTC_INLINE void fft_butterfly(int radix, V* re, V* im, const T* circle) {
  if constexpr (Radix == 2)
    fft_two(re, im);
  else if constexpr (Radix == 4)
    fft_four(re, im);
  else
    fft_odd(Radix ? Radix : radix, re, im, circle);
}

// Where a stage reads and writes: real and imaginary parts.
template <class T> struct FftStage {
  const T* in_re;
  const T* in_im;
  T* out_re;
  T* out_im;
  int radix;
  i64 in_step, out_step;  // from one of `radix` numbers to the next
  const T* circle;
};

// The numbers [q, end) of a stage that have the same factors `w`, W at a time.
template <int Radix, int W, class T>
PTC_INLINE i64 fft_numbers(const FftStage<T>& a, i64 from, i64 to, i64 q, i64 end, const T* w) {
  typedef FftLanes<T, W> L;
  typedef typename L::V V;
  const int radix = Radix ? Radix : a.radix;
  for (; q + W <= end; q += W) {
    V re[Radix ? Radix : kLargestRadix], im[Radix ? Radix : kLargestRadix];
    re[0] = L::get(a.in_re + from + q);
    im[0] = L::get(a.in_im + from + q);
    for (int k = 1; k < radix; ++k) {
      re[k] = L::get(a.in_re + from + q + k * a.in_step);
      im[k] = L::get(a.in_im + from + q + k * a.in_step);
    }
    fft_butterfly<Radix>(radix, re, im, a.circle);
    L::put(a.out_re + to + q, re[0]);
    L::put(a.out_im + to + q, im[0]);
    for (int j = 1; j < radix; ++j) {
      const V c = V(w[2 * j - 2]), s = V(w[2 * j - 1]);
      L::put(a.out_re + to + q + j * a.out_step, re[j] * c - im[j] * s);
      L::put(a.out_im + to + q + j * a.out_step, re[j] * s + im[j] * c);
    }
  }
  return q;
}
// One stage of transforms of n numbers that are `stride` apart.
template <int Radix, class T>
inline void fft_stage(const FftStage<T>& a, i64 n, i64 stride, const T* twiddles) {
  constexpr int lanes = PTC_VBYTES / (int)sizeof(T);
  const i64 radix = a.radix, m = n / radix;
  for (i64 p = 0; p < m; ++p) {
    const T* const w = twiddles + p * 2 * (radix - 1);
    const i64 from = p * stride, to = p * radix * stride;
    const i64 q = fft_numbers<Radix, lanes>(a, from, to, 0, stride, w);
    fft_numbers<Radix, 1>(a, from, to, q, stride, w);
  }
}

// Lines in work memory: number k of line l is at k * lines + l. The second pair is spare.
template <class T> struct FftLines {
  T* re;
  T* im;
  T* spare_re;
  T* spare_im;
  i64 lines;
  FftLines(T* memory, i64 n, i64 count)
      : re(memory), im(memory + n * count), spare_re(memory + 2 * n * count),
        spare_im(memory + 3 * n * count), lines(count) {}
  void swap_parts() {
    T* const kept = re;
    re = im;
    im = kept;
  }
  void swap_spare() {
    T* const kept_re = re;
    T* const kept_im = im;
    re = spare_re;
    im = spare_im;
    spare_re = kept_re;
    spare_im = kept_im;
  }
};

template <class T> inline void fft_stages(const FftPlan<T>& plan, FftLines<T>& x) {
  i64 n = plan.n, stride = x.lines;
  const T* twiddles = plan.twiddles;
  const T* circle = plan.circles;
  for (int stage = 0; stage < plan.stages; ++stage) {
    const int radix = plan.radix[stage];
    const i64 m = n / radix;
    const FftStage<T> a = {x.re, x.im, x.spare_re, x.spare_im, radix, m * stride, stride, circle};
    switch (radix) {
      case 2: fft_stage<2>(a, n, stride, twiddles); break;
      case 3: fft_stage<3>(a, n, stride, twiddles); break;
      case 4: fft_stage<4>(a, n, stride, twiddles); break;
      case 5: fft_stage<5>(a, n, stride, twiddles); break;
      default: fft_stage<0>(a, n, stride, twiddles);
    }
    x.swap_spare();
    twiddles += 2 * m * (radix - 1);
    circle += 2 * radix;
    stride *= radix;
    n = m;
  }
}

// --- large primes --------------------------------------------------------------------------------

// e^(-pi i k^2 / n) for all k, and the transform of its conjugate as a filter, by the padded length.
template <class T> inline void fft_chirp(const FftPlan<T>& plan, double* work) {
  const i64 n = plan.n, padded = plan.padded;
  FftLines<double> filter(work, padded, 1);
  for (i64 k = 0; k < padded; ++k) filter.re[k] = filter.im[k] = 0;
  for (i64 k = 0; k < n; ++k) {
    const FftRoot root(k * k % (2 * n), 2 * n);
    plan.chirp[2 * k] = root.re;
    plan.chirp[2 * k + 1] = root.im;
    filter.re[k] = filter.re[(padded - k) % padded] = root.re;
    filter.im[k] = filter.im[(padded - k) % padded] = -root.im;
  }
  fft_stages(*plan.inner, filter);
  for (i64 k = 0; k < padded; ++k) {
    plan.spectrum[2 * k] = filter.re[k] / (double)padded;
    plan.spectrum[2 * k + 1] = filter.im[k] / (double)padded;
  }
}
// Bluestein: j k is (j^2 + k^2 - (k - j)^2) / 2, which makes the transform a convolution.
template <class T> inline void fft_bluestein(const FftPlan<T>& plan, FftLines<T>& x, double* work) {
  const i64 n = plan.n, padded = plan.padded, lines = x.lines;
  FftLines<double> wide(work, padded, lines);
  for (i64 k = n * lines; k < padded * lines; ++k) wide.re[k] = wide.im[k] = 0;
  for (i64 k = 0; k < n; ++k) {
    const double c = plan.chirp[2 * k], s = plan.chirp[2 * k + 1];
    for (i64 at = k * lines; at < (k + 1) * lines; ++at) {
      wide.re[at] = (double)x.re[at] * c - (double)x.im[at] * s;
      wide.im[at] = (double)x.re[at] * s + (double)x.im[at] * c;
    }
  }
  fft_stages(*plan.inner, wide);
  for (i64 k = 0; k < padded; ++k) {
    const double c = plan.spectrum[2 * k], s = plan.spectrum[2 * k + 1];
    for (i64 at = k * lines; at < (k + 1) * lines; ++at) {
      const double re = wide.re[at] * c - wide.im[at] * s;
      wide.im[at] = wide.re[at] * s + wide.im[at] * c;
      wide.re[at] = re;
    }
  }
  wide.swap_parts();  // with parts exchanged before and after, a transform is the inverse one
  fft_stages(*plan.inner, wide);
  wide.swap_parts();
  for (i64 k = 0; k < n; ++k) {
    const double c = plan.chirp[2 * k], s = plan.chirp[2 * k + 1];
    for (i64 at = k * lines; at < (k + 1) * lines; ++at) {
      x.re[at] = (T)(wide.re[at] * c - wide.im[at] * s);
      x.im[at] = (T)(wide.re[at] * s + wide.im[at] * c);
    }
  }
}

// --- plans and work ------------------------------------------------------------------------------

// The plan for n complex numbers, made at the first call and kept with the session. Null: no memory.
template <class T> inline const FftPlan<T>* fft_kept_plan(Run* run, i64 n, bool halves) {
  const i64 key = (n * 2 + halves) * 16 + (i64)sizeof(T);
  void* known = run->kept(key);
  if (known) return (const FftPlan<T>*)known;
  FftMemory needed = {nullptr};
  fft_plan<T>(needed, n, halves);
  FftMemory memory = {(char*)run->keep(key, needed.used)};
  if (!memory.base) return nullptr;
  FftPlan<T>* const plan = fft_plan<T>(memory, n, halves);
  if (plan->padded) {
    Scratch<double> work(4 * plan->padded);
    if (!work.data) {
      run->forget_newest();
      return nullptr;
    }
    fft_chirp(*plan, work.data);
  }
  return plan;
}

// Numbers that are worked on at a time: four arrays of them stay in the second level cache.
constexpr i64 kFftNumbers = 8192;
constexpr i64 kFftLines = 16;

// `each(x, first)` for some lines at a time: it fills x, transforms it, stores it.
template <class T, class F>
inline int fft_each(Run* run, i64 lines, const FftPlan<T>& plan, const F& each) {
  const i64 longest = plan.padded ? plan.padded : plan.n;
  const i64 together = index_max(1, index_min(kFftLines, kFftNumbers / longest));
  const double work = 20.0 * (double)longest;
  return parallel(run, lines, 1, work, [&](i64 begin, i64 end) {
    const i64 most = index_min(together, end - begin);
    Scratch<T> numbers(4 * plan.n * most);
    Scratch<double> wide(4 * plan.padded * most);
    if (!numbers.data || !wide.data) return (int)STATUS_MEMORY;
    for (i64 first = begin; first < end; first += most) {
      FftLines<T> x(numbers.data, plan.n, index_min(most, end - first));
      each(x, first, wide.data);
    }
    return (int)STATUS_OK;
  });
}

template <class T> inline void fft_lines(const FftPlan<T>& plan, FftLines<T>& x, double* wide) {
  if (plan.padded)
    fft_bluestein(plan, x, wide);
  else
    fft_stages(plan, x);
}

template <class T> inline T fft_factor(i64 n, int scale) {
  if (scale == FFT_BY_LENGTH) return (T)(1.0 / (double)n);
  return scale == FFT_BY_ROOT ? (T)(1.0 / __builtin_sqrt((double)n)) : (T)1;
}

// A real line of even length as complex numbers half as many: what follows from their transform.
template <class T>
inline void fft_split(const FftPlan<T>& plan, const FftLines<T>& x, i64 line, T factor, T* re, T* im) {
  const i64 h = plan.n, lines = x.lines;
  const T* const zr = x.re + line;
  const T* const zi = x.im + line;
  re[0] = (zr[0] + zi[0]) * factor;
  re[h] = (zr[0] - zi[0]) * factor;
  im[0] = im[h] = 0;
  for (i64 k = 1; k < h; ++k) {
    const i64 a = k * lines, b = (h - k) * lines;
    const T er = (T)0.5 * (zr[a] + zr[b]), ei = (T)0.5 * (zi[a] - zi[b]);
    const T odd_re = (T)0.5 * (zi[a] + zi[b]), odd_im = (T)0.5 * (zr[b] - zr[a]);
    const T c = (T)plan.halves[2 * k], s = (T)plan.halves[2 * k + 1];
    re[k] = (er + (odd_re * c - odd_im * s)) * factor;
    im[k] = (ei + (odd_re * s + odd_im * c)) * factor;
  }
}
// The way back: the complex numbers whose inverse transform is a real line of even length.
template <class T>
inline void fft_join(const FftPlan<T>& plan, FftLines<T>& x, i64 line, const T* re, const T* im) {
  const i64 h = plan.n, lines = x.lines;
  x.re[line] = re[0] + re[h];
  x.im[line] = re[0] - re[h];
  for (i64 k = 1; k < h; ++k) {
    const T er = re[k] + re[h - k], ei = im[k] - im[h - k];
    const T dr = re[k] - re[h - k], di = im[k] + im[h - k];
    const T c = (T)plan.halves[2 * k], s = -(T)plan.halves[2 * k + 1];
    x.re[k * lines + line] = er - (dr * s + di * c);
    x.im[k * lines + line] = ei + (dr * c - di * s);
  }
}

}  // namespace detail

// --- transforms ----------------------------------------------------------------------------------

// Lines of n complex numbers.
template <class T>
inline int fft(Run* run, i64 lines, i64 n, bool forward, int scale, const T* re, const T* im, T* out_re,
               T* out_im) {
  if (lines <= 0 || n <= 0) return STATUS_OK;
  const auto* const plan = detail::fft_kept_plan<T>(run, n, false);
  if (!plan) return STATUS_MEMORY;
  const T factor = detail::fft_factor<T>(n, scale);
  return detail::fft_each(run, lines, *plan, [&](detail::FftLines<T>& x, i64 first, double* wide) {
    for (i64 l = 0; l < x.lines; ++l)
      for (i64 k = 0; k < n; ++k) {
        x.re[k * x.lines + l] = re[(first + l) * n + k];
        x.im[k * x.lines + l] = im[(first + l) * n + k];
      }
    if (!forward) x.swap_parts();
    detail::fft_lines(*plan, x, wide);
    if (!forward) x.swap_parts();
    for (i64 l = 0; l < x.lines; ++l)
      for (i64 k = 0; k < n; ++k) {
        out_re[(first + l) * n + k] = x.re[k * x.lines + l] * factor;
        out_im[(first + l) * n + k] = x.im[k * x.lines + l] * factor;
      }
  });
}

// Lines of n real numbers to n / 2 + 1 complex ones.
template <class T>
inline int rfft(Run* run, i64 lines, i64 n, int scale, const T* in, T* re, T* im) {
  if (lines <= 0 || n <= 0) return STATUS_OK;
  const bool even = n % 2 == 0;
  const auto* const plan = detail::fft_kept_plan<T>(run, even ? n / 2 : n, even);
  if (!plan) return STATUS_MEMORY;
  const T factor = detail::fft_factor<T>(n, scale);
  const i64 m = n / 2 + 1;
  return detail::fft_each(run, lines, *plan, [&](detail::FftLines<T>& x, i64 first, double* wide) {
    for (i64 l = 0; l < x.lines; ++l)
      for (i64 k = 0; k < plan->n; ++k) {
        const T* const from = in + (first + l) * n + (even ? 2 * k : k);
        x.re[k * x.lines + l] = from[0];
        x.im[k * x.lines + l] = even ? from[1] : (T)0;
      }
    detail::fft_lines(*plan, x, wide);
    for (i64 l = 0; l < x.lines; ++l) {
      T* const to_re = re + (first + l) * m;
      T* const to_im = im + (first + l) * m;
      if (even) {
        detail::fft_split(*plan, x, l, factor, to_re, to_im);
        continue;
      }
      for (i64 k = 0; k < m; ++k) {
        to_re[k] = x.re[k * x.lines + l] * factor;
        to_im[k] = k ? x.im[k * x.lines + l] * factor : (T)0;
      }
    }
  });
}

// Lines of n / 2 + 1 complex numbers to the n real ones of which they are the transform. What is
// imaginary in the first one, and for even n in the last one, is not read.
template <class T>
inline int irfft(Run* run, i64 lines, i64 n, int scale, const T* re, const T* im, T* out) {
  if (lines <= 0 || n <= 0) return STATUS_OK;
  const bool even = n % 2 == 0;
  const auto* const plan = detail::fft_kept_plan<T>(run, even ? n / 2 : n, even);
  if (!plan) return STATUS_MEMORY;
  const T factor = detail::fft_factor<T>(n, scale);
  const i64 m = n / 2 + 1;
  return detail::fft_each(run, lines, *plan, [&](detail::FftLines<T>& x, i64 first, double* wide) {
    for (i64 l = 0; l < x.lines; ++l) {
      const T* const from_re = re + (first + l) * m;
      const T* const from_im = im + (first + l) * m;
      if (even) {
        detail::fft_join(*plan, x, l, from_re, from_im);
        continue;
      }
      for (i64 k = 0; k < n; ++k) {
        x.re[k * x.lines + l] = k < m ? from_re[k] : from_re[n - k];
        x.im[k * x.lines + l] = !k ? (T)0 : k < m ? from_im[k] : -from_im[n - k];
      }
    }
    x.swap_parts();
    detail::fft_lines(*plan, x, wide);
    x.swap_parts();
    for (i64 l = 0; l < x.lines; ++l)
      for (i64 k = 0; k < plan->n; ++k) {
        T* const to = out + (first + l) * n + (even ? 2 * k : k);
        to[0] = x.re[k * x.lines + l] * factor;
        if (even) to[1] = x.im[k * x.lines + l] * factor;
      }
  });
}

}  // namespace ptc

#endif
