// Written by ptc/executor/generate.py from the rules of ptc/ops.
#include "generated.h"
#include "ptc_math.h"

namespace ptc {

int rows_sum_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 0.0f;
    vec<float, 8> lanes0 = vec<float, 8>(0.0f);
    for (int64_t k0 = 0; k0 < n1; k0 += 2048) {
      const int64_t e0 = index_min(k0 + 2048, n1);
      vec<float, 8> lanes1[4] = {vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f)};
      int64_t k1 = k0;
      for (; k1 + 32 <= e0; k1 += 32) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 8;
          const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + x0;
        }
      }
      for (; k1 + 8 <= e0; k1 += 8) {
        const int64_t i1 = k1;
        const vec<float, 8> x1 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + x1;
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<float, 8> x2 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<8>(c0), lanes1[0] + x2, lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    out0[i0] = acc0;
  }
  return 0;
}

int rows_sum_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    vec<double, 4> lanes0 = vec<double, 4>(0.0);
    for (int64_t k0 = 0; k0 < n1; k0 += 1024) {
      const int64_t e0 = index_min(k0 + 1024, n1);
      vec<double, 4> lanes1[4] = {vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0)};
      int64_t k1 = k0;
      for (; k1 + 16 <= e0; k1 += 16) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 4;
          const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + x0;
        }
      }
      for (; k1 + 4 <= e0; k1 += 4) {
        const int64_t i1 = k1;
        const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + x1;
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<4>(c0), lanes1[0] + x2, lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    out0[i0] = acc0;
  }
  return 0;
}

int rows_sum_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t acc0 = 0L;
    vec<int64_t, 4> lanes0[4] = {vec<int64_t, 4>(0L), vec<int64_t, 4>(0L), vec<int64_t, 4>(0L), vec<int64_t, 4>(0L)};
    int64_t k0 = 0;
    for (; k0 + 16 <= n1; k0 += 16) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 4;
        const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0 * n1 + i1);
        lanes0[u] = lanes0[u] + x0;
      }
    }
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0 * n1 + i1);
      lanes0[0] = lanes0[0] + x1;
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<int64_t, 4> x2 = load_n<int64_t, 4>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<4>(c0), lanes0[0] + x2, lanes0[0]);
    }
    acc0 = acc0 + hsum(((lanes0[0] + lanes0[1]) + (lanes0[2] + lanes0[3])));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_sum_inner_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      vec<float, 8> acc0 = vec<float, 8>(0.0f);
      for (int64_t k1 = 0; k1 < n2; k1 += 128) {
        const int64_t e0 = index_min(k1 + 128, n2);
        vec<float, 8> part0 = vec<float, 8>(0);
        for (int64_t i2 = k1; i2 < e0; ++i2) {
          const vec<float, 8> x0 = load<float, 8>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
          part0 = part0 + x0;
        }
        acc0 = acc0 + part0;
      }
      store(out0 + n1 * i0 + i1, acc0);
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<float, 8> acc1 = vec<float, 8>(0.0f);
      for (int64_t k2 = 0; k2 < n2; k2 += 128) {
        const int64_t e1 = index_min(k2 + 128, n2);
        vec<float, 8> part1 = vec<float, 8>(0);
        for (int64_t i2 = k2; i2 < e1; ++i2) {
          const vec<float, 8> x1 = load_n<float, 8>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
          part1 = part1 + x1;
        }
        acc1 = acc1 + part1;
      }
      store_n(out0 + n1 * i0 + i1, acc1, c0);
    }
  }
  return 0;
}

int rows_sum_inner_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      vec<double, 4> acc0 = vec<double, 4>(0.0);
      for (int64_t k1 = 0; k1 < n2; k1 += 128) {
        const int64_t e0 = index_min(k1 + 128, n2);
        vec<double, 4> part0 = vec<double, 4>(0);
        for (int64_t i2 = k1; i2 < e0; ++i2) {
          const vec<double, 4> x0 = load<double, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
          part0 = part0 + x0;
        }
        acc0 = acc0 + part0;
      }
      store(out0 + n1 * i0 + i1, acc0);
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<double, 4> acc1 = vec<double, 4>(0.0);
      for (int64_t k2 = 0; k2 < n2; k2 += 128) {
        const int64_t e1 = index_min(k2 + 128, n2);
        vec<double, 4> part1 = vec<double, 4>(0);
        for (int64_t i2 = k2; i2 < e1; ++i2) {
          const vec<double, 4> x1 = load_n<double, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
          part1 = part1 + x1;
        }
        acc1 = acc1 + part1;
      }
      store_n(out0 + n1 * i0 + i1, acc1, c0);
    }
  }
  return 0;
}

int rows_sum_inner_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      vec<int64_t, 4> acc0 = vec<int64_t, 4>(0L);
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
        acc0 = acc0 + x0;
      }
      store(out0 + n1 * i0 + i1, acc0);
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<int64_t, 4> acc1 = vec<int64_t, 4>(0L);
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<int64_t, 4> x1 = load_n<int64_t, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
        acc1 = acc1 + x1;
      }
      store_n(out0 + n1 * i0 + i1, acc1, c0);
    }
  }
  return 0;
}

int rows_mean_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 0.0f;
    vec<float, 8> lanes0 = vec<float, 8>(0.0f);
    for (int64_t k0 = 0; k0 < n1; k0 += 2048) {
      const int64_t e0 = index_min(k0 + 2048, n1);
      vec<float, 8> lanes1[4] = {vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f)};
      int64_t k1 = k0;
      for (; k1 + 32 <= e0; k1 += 32) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 8;
          const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + x0;
        }
      }
      for (; k1 + 8 <= e0; k1 += 8) {
        const int64_t i1 = k1;
        const vec<float, 8> x1 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + x1;
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<float, 8> x2 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<8>(c0), lanes1[0] + x2, lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    out0[i0] = acc0 / convert<float>(n1);
  }
  return 0;
}

int rows_mean_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    vec<double, 4> lanes0 = vec<double, 4>(0.0);
    for (int64_t k0 = 0; k0 < n1; k0 += 1024) {
      const int64_t e0 = index_min(k0 + 1024, n1);
      vec<double, 4> lanes1[4] = {vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0)};
      int64_t k1 = k0;
      for (; k1 + 16 <= e0; k1 += 16) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 4;
          const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + x0;
        }
      }
      for (; k1 + 4 <= e0; k1 += 4) {
        const int64_t i1 = k1;
        const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + x1;
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<4>(c0), lanes1[0] + x2, lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    out0[i0] = acc0 / convert<double>(n1);
  }
  return 0;
}

int rows_mean_inner_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      vec<float, 8> acc0 = vec<float, 8>(0.0f);
      for (int64_t k1 = 0; k1 < n2; k1 += 128) {
        const int64_t e0 = index_min(k1 + 128, n2);
        vec<float, 8> part0 = vec<float, 8>(0);
        for (int64_t i2 = k1; i2 < e0; ++i2) {
          const vec<float, 8> x0 = load<float, 8>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
          part0 = part0 + x0;
        }
        acc0 = acc0 + part0;
      }
      store(out0 + n1 * i0 + i1, acc0 / vec<float, 8>(convert<float>(n2)));
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<float, 8> acc1 = vec<float, 8>(0.0f);
      for (int64_t k2 = 0; k2 < n2; k2 += 128) {
        const int64_t e1 = index_min(k2 + 128, n2);
        vec<float, 8> part1 = vec<float, 8>(0);
        for (int64_t i2 = k2; i2 < e1; ++i2) {
          const vec<float, 8> x1 = load_n<float, 8>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
          part1 = part1 + x1;
        }
        acc1 = acc1 + part1;
      }
      store_n(out0 + n1 * i0 + i1, acc1 / vec<float, 8>(convert<float>(n2)), c0);
    }
  }
  return 0;
}

int rows_mean_inner_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      vec<double, 4> acc0 = vec<double, 4>(0.0);
      for (int64_t k1 = 0; k1 < n2; k1 += 128) {
        const int64_t e0 = index_min(k1 + 128, n2);
        vec<double, 4> part0 = vec<double, 4>(0);
        for (int64_t i2 = k1; i2 < e0; ++i2) {
          const vec<double, 4> x0 = load<double, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
          part0 = part0 + x0;
        }
        acc0 = acc0 + part0;
      }
      store(out0 + n1 * i0 + i1, acc0 / vec<double, 4>(convert<double>(n2)));
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<double, 4> acc1 = vec<double, 4>(0.0);
      for (int64_t k2 = 0; k2 < n2; k2 += 128) {
        const int64_t e1 = index_min(k2 + 128, n2);
        vec<double, 4> part1 = vec<double, 4>(0);
        for (int64_t i2 = k2; i2 < e1; ++i2) {
          const vec<double, 4> x1 = load_n<double, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
          part1 = part1 + x1;
        }
        acc1 = acc1 + part1;
      }
      store_n(out0 + n1 * i0 + i1, acc1 / vec<double, 4>(convert<double>(n2)), c0);
    }
  }
  return 0;
}

int rows_prod_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 1.0f;
    vec<float, 8> lanes0[4] = {vec<float, 8>(1.0f), vec<float, 8>(1.0f), vec<float, 8>(1.0f), vec<float, 8>(1.0f)};
    int64_t k0 = 0;
    for (; k0 + 32 <= n1; k0 += 32) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 8;
        const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes0[u] = lanes0[u] * x0;
      }
    }
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      const vec<float, 8> x1 = load<float, 8>(in0 + i0 * n1 + i1);
      lanes0[0] = lanes0[0] * x1;
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<float, 8> x2 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<8>(c0), lanes0[0] * x2, lanes0[0]);
    }
    acc0 = acc0 * hprod(((lanes0[0] * lanes0[1]) * (lanes0[2] * lanes0[3])));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_prod_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 1.0;
    vec<double, 4> lanes0[4] = {vec<double, 4>(1.0), vec<double, 4>(1.0), vec<double, 4>(1.0), vec<double, 4>(1.0)};
    int64_t k0 = 0;
    for (; k0 + 16 <= n1; k0 += 16) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 4;
        const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes0[u] = lanes0[u] * x0;
      }
    }
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
      lanes0[0] = lanes0[0] * x1;
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<4>(c0), lanes0[0] * x2, lanes0[0]);
    }
    acc0 = acc0 * hprod(((lanes0[0] * lanes0[1]) * (lanes0[2] * lanes0[3])));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_prod_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t acc0 = 1L;
    vec<int64_t, 4> lanes0[4] = {vec<int64_t, 4>(1L), vec<int64_t, 4>(1L), vec<int64_t, 4>(1L), vec<int64_t, 4>(1L)};
    int64_t k0 = 0;
    for (; k0 + 16 <= n1; k0 += 16) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 4;
        const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0 * n1 + i1);
        lanes0[u] = lanes0[u] * x0;
      }
    }
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0 * n1 + i1);
      lanes0[0] = lanes0[0] * x1;
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<int64_t, 4> x2 = load_n<int64_t, 4>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<4>(c0), lanes0[0] * x2, lanes0[0]);
    }
    acc0 = acc0 * hprod(((lanes0[0] * lanes0[1]) * (lanes0[2] * lanes0[3])));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_amax_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = (-__builtin_inff());
    vec<float, 8> lanes0[4] = {vec<float, 8>(-__builtin_inff()), vec<float, 8>(-__builtin_inff()), vec<float, 8>(-__builtin_inff()), vec<float, 8>(-__builtin_inff())};
    int64_t k0 = 0;
    for (; k0 + 32 <= n1; k0 += 32) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 8;
        const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes0[u] = maximum(lanes0[u], x0);
      }
    }
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      const vec<float, 8> x1 = load<float, 8>(in0 + i0 * n1 + i1);
      lanes0[0] = maximum(lanes0[0], x1);
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<float, 8> x2 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<8>(c0), maximum(lanes0[0], x2), lanes0[0]);
    }
    acc0 = maximum(acc0, hmax((maximum((maximum(lanes0[0], lanes0[1])), (maximum(lanes0[2], lanes0[3]))))));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_amax_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = (-__builtin_inf());
    vec<double, 4> lanes0[4] = {vec<double, 4>(-__builtin_inf()), vec<double, 4>(-__builtin_inf()), vec<double, 4>(-__builtin_inf()), vec<double, 4>(-__builtin_inf())};
    int64_t k0 = 0;
    for (; k0 + 16 <= n1; k0 += 16) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 4;
        const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes0[u] = maximum(lanes0[u], x0);
      }
    }
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
      lanes0[0] = maximum(lanes0[0], x1);
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<4>(c0), maximum(lanes0[0], x2), lanes0[0]);
    }
    acc0 = maximum(acc0, hmax((maximum((maximum(lanes0[0], lanes0[1])), (maximum(lanes0[2], lanes0[3]))))));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_amax_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t acc0 = (-9223372036854775807L - 1);
    vec<int64_t, 4> lanes0[4] = {vec<int64_t, 4>((-9223372036854775807L - 1)), vec<int64_t, 4>((-9223372036854775807L - 1)), vec<int64_t, 4>((-9223372036854775807L - 1)), vec<int64_t, 4>((-9223372036854775807L - 1))};
    int64_t k0 = 0;
    for (; k0 + 16 <= n1; k0 += 16) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 4;
        const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0 * n1 + i1);
        lanes0[u] = maximum(lanes0[u], x0);
      }
    }
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0 * n1 + i1);
      lanes0[0] = maximum(lanes0[0], x1);
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<int64_t, 4> x2 = load_n<int64_t, 4>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<4>(c0), maximum(lanes0[0], x2), lanes0[0]);
    }
    acc0 = maximum(acc0, hmax((maximum((maximum(lanes0[0], lanes0[1])), (maximum(lanes0[2], lanes0[3]))))));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_amax_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    bool acc0 = false;
    mask<8> lanes0[4] = {mask<8>(false), mask<8>(false), mask<8>(false), mask<8>(false)};
    int64_t k0 = 0;
    for (; k0 + 32 <= n1; k0 += 32) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 8;
        const mask<8> x0 = load_mask<8>(in0 + i0 * n1 + i1);
        lanes0[u] = lanes0[u] | x0;
      }
    }
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      const mask<8> x1 = load_mask<8>(in0 + i0 * n1 + i1);
      lanes0[0] = lanes0[0] | x1;
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const mask<8> x2 = load_mask_n<8>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<8>(c0), lanes0[0] | x2, lanes0[0]);
    }
    acc0 = acc0 | any(((lanes0[0] | lanes0[1]) | (lanes0[2] | lanes0[3])));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_amax_inner_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      vec<float, 8> acc0 = vec<float, 8>((-__builtin_inff()));
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<float, 8> x0 = load<float, 8>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
        acc0 = maximum(acc0, x0);
      }
      store(out0 + n1 * i0 + i1, acc0);
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<float, 8> acc1 = vec<float, 8>((-__builtin_inff()));
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<float, 8> x1 = load_n<float, 8>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
        acc1 = maximum(acc1, x1);
      }
      store_n(out0 + n1 * i0 + i1, acc1, c0);
    }
  }
  return 0;
}

int rows_amax_inner_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      vec<double, 4> acc0 = vec<double, 4>((-__builtin_inf()));
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<double, 4> x0 = load<double, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
        acc0 = maximum(acc0, x0);
      }
      store(out0 + n1 * i0 + i1, acc0);
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<double, 4> acc1 = vec<double, 4>((-__builtin_inf()));
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<double, 4> x1 = load_n<double, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
        acc1 = maximum(acc1, x1);
      }
      store_n(out0 + n1 * i0 + i1, acc1, c0);
    }
  }
  return 0;
}

int rows_amax_inner_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      vec<int64_t, 4> acc0 = vec<int64_t, 4>((-9223372036854775807L - 1));
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
        acc0 = maximum(acc0, x0);
      }
      store(out0 + n1 * i0 + i1, acc0);
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<int64_t, 4> acc1 = vec<int64_t, 4>((-9223372036854775807L - 1));
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<int64_t, 4> x1 = load_n<int64_t, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
        acc1 = maximum(acc1, x1);
      }
      store_n(out0 + n1 * i0 + i1, acc1, c0);
    }
  }
  return 0;
}

int rows_amax_inner_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      mask<8> acc0 = mask<8>(false);
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const mask<8> x0 = load_mask<8>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
        acc0 = acc0 | x0;
      }
      store_mask(out0 + n1 * i0 + i1, acc0);
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      mask<8> acc1 = mask<8>(false);
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const mask<8> x1 = load_mask_n<8>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
        acc1 = acc1 | x1;
      }
      store_mask_n(out0 + n1 * i0 + i1, acc1, c0);
    }
  }
  return 0;
}

int rows_amin_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = __builtin_inff();
    vec<float, 8> lanes0[4] = {vec<float, 8>(__builtin_inff()), vec<float, 8>(__builtin_inff()), vec<float, 8>(__builtin_inff()), vec<float, 8>(__builtin_inff())};
    int64_t k0 = 0;
    for (; k0 + 32 <= n1; k0 += 32) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 8;
        const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes0[u] = minimum(lanes0[u], x0);
      }
    }
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      const vec<float, 8> x1 = load<float, 8>(in0 + i0 * n1 + i1);
      lanes0[0] = minimum(lanes0[0], x1);
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<float, 8> x2 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<8>(c0), minimum(lanes0[0], x2), lanes0[0]);
    }
    acc0 = minimum(acc0, hmin((minimum((minimum(lanes0[0], lanes0[1])), (minimum(lanes0[2], lanes0[3]))))));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_amin_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = __builtin_inf();
    vec<double, 4> lanes0[4] = {vec<double, 4>(__builtin_inf()), vec<double, 4>(__builtin_inf()), vec<double, 4>(__builtin_inf()), vec<double, 4>(__builtin_inf())};
    int64_t k0 = 0;
    for (; k0 + 16 <= n1; k0 += 16) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 4;
        const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes0[u] = minimum(lanes0[u], x0);
      }
    }
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
      lanes0[0] = minimum(lanes0[0], x1);
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<4>(c0), minimum(lanes0[0], x2), lanes0[0]);
    }
    acc0 = minimum(acc0, hmin((minimum((minimum(lanes0[0], lanes0[1])), (minimum(lanes0[2], lanes0[3]))))));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_amin_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t acc0 = 9223372036854775807L;
    vec<int64_t, 4> lanes0[4] = {vec<int64_t, 4>(9223372036854775807L), vec<int64_t, 4>(9223372036854775807L), vec<int64_t, 4>(9223372036854775807L), vec<int64_t, 4>(9223372036854775807L)};
    int64_t k0 = 0;
    for (; k0 + 16 <= n1; k0 += 16) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 4;
        const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0 * n1 + i1);
        lanes0[u] = minimum(lanes0[u], x0);
      }
    }
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0 * n1 + i1);
      lanes0[0] = minimum(lanes0[0], x1);
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<int64_t, 4> x2 = load_n<int64_t, 4>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<4>(c0), minimum(lanes0[0], x2), lanes0[0]);
    }
    acc0 = minimum(acc0, hmin((minimum((minimum(lanes0[0], lanes0[1])), (minimum(lanes0[2], lanes0[3]))))));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_amin_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    bool acc0 = true;
    mask<8> lanes0[4] = {mask<8>(true), mask<8>(true), mask<8>(true), mask<8>(true)};
    int64_t k0 = 0;
    for (; k0 + 32 <= n1; k0 += 32) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 8;
        const mask<8> x0 = load_mask<8>(in0 + i0 * n1 + i1);
        lanes0[u] = lanes0[u] & x0;
      }
    }
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      const mask<8> x1 = load_mask<8>(in0 + i0 * n1 + i1);
      lanes0[0] = lanes0[0] & x1;
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const mask<8> x2 = load_mask_n<8>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<8>(c0), lanes0[0] & x2, lanes0[0]);
    }
    acc0 = acc0 & all(((lanes0[0] & lanes0[1]) & (lanes0[2] & lanes0[3])));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_amin_inner_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      vec<float, 8> acc0 = vec<float, 8>(__builtin_inff());
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<float, 8> x0 = load<float, 8>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
        acc0 = minimum(acc0, x0);
      }
      store(out0 + n1 * i0 + i1, acc0);
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<float, 8> acc1 = vec<float, 8>(__builtin_inff());
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<float, 8> x1 = load_n<float, 8>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
        acc1 = minimum(acc1, x1);
      }
      store_n(out0 + n1 * i0 + i1, acc1, c0);
    }
  }
  return 0;
}

int rows_amin_inner_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      vec<double, 4> acc0 = vec<double, 4>(__builtin_inf());
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<double, 4> x0 = load<double, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
        acc0 = minimum(acc0, x0);
      }
      store(out0 + n1 * i0 + i1, acc0);
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<double, 4> acc1 = vec<double, 4>(__builtin_inf());
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<double, 4> x1 = load_n<double, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
        acc1 = minimum(acc1, x1);
      }
      store_n(out0 + n1 * i0 + i1, acc1, c0);
    }
  }
  return 0;
}

int rows_amin_inner_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      vec<int64_t, 4> acc0 = vec<int64_t, 4>(9223372036854775807L);
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
        acc0 = minimum(acc0, x0);
      }
      store(out0 + n1 * i0 + i1, acc0);
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<int64_t, 4> acc1 = vec<int64_t, 4>(9223372036854775807L);
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<int64_t, 4> x1 = load_n<int64_t, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
        acc1 = minimum(acc1, x1);
      }
      store_n(out0 + n1 * i0 + i1, acc1, c0);
    }
  }
  return 0;
}

int rows_amin_inner_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      mask<8> acc0 = mask<8>(true);
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const mask<8> x0 = load_mask<8>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
        acc0 = acc0 & x0;
      }
      store_mask(out0 + n1 * i0 + i1, acc0);
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      mask<8> acc1 = mask<8>(true);
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const mask<8> x1 = load_mask_n<8>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
        acc1 = acc1 & x1;
      }
      store_mask_n(out0 + n1 * i0 + i1, acc1, c0);
    }
  }
  return 0;
}

int rows_argmax_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[1];
  int64_t const n1 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  if (!(n0 > 0L)) return run->fail("a maximum or minimum over dimension 1, which has no elements");
  for (int64_t i0 = 0; i0 < n1; ++i0) {
    int64_t acc0_at = -1L;
    float acc0 = (-__builtin_inff());
    for (int64_t i1 = 0; i1 < n0; ++i1) {
      const float x0 = in0[i0 * n0 + i1];
      const auto x1 = x0;
      if (acc0_at < 0 || beats_max(x1, acc0)) acc0 = x1, acc0_at = i1;
    }
    out0[i0] = acc0_at;
  }
  return STATUS_OK;
}

int rows_argmax_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[1];
  int64_t const n1 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  if (!(n0 > 0L)) return run->fail("a maximum or minimum over dimension 1, which has no elements");
  for (int64_t i0 = 0; i0 < n1; ++i0) {
    int64_t acc0_at = -1L;
    double acc0 = (-__builtin_inf());
    for (int64_t i1 = 0; i1 < n0; ++i1) {
      const double x0 = in0[i0 * n0 + i1];
      const auto x1 = x0;
      if (acc0_at < 0 || beats_max(x1, acc0)) acc0 = x1, acc0_at = i1;
    }
    out0[i0] = acc0_at;
  }
  return STATUS_OK;
}

int rows_argmax_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[1];
  int64_t const n1 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  if (!(n0 > 0L)) return run->fail("a maximum or minimum over dimension 1, which has no elements");
  for (int64_t i0 = 0; i0 < n1; ++i0) {
    int64_t acc0_at = -1L;
    int64_t acc0 = (-9223372036854775807L - 1);
    for (int64_t i1 = 0; i1 < n0; ++i1) {
      const int64_t x0 = in0[i0 * n0 + i1];
      const auto x1 = x0;
      if (acc0_at < 0 || beats_max(x1, acc0)) acc0 = x1, acc0_at = i1;
    }
    out0[i0] = acc0_at;
  }
  return STATUS_OK;
}

int rows_argmin_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[1];
  int64_t const n1 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  if (!(n0 > 0L)) return run->fail("a maximum or minimum over dimension 1, which has no elements");
  for (int64_t i0 = 0; i0 < n1; ++i0) {
    int64_t acc0_at = -1L;
    float acc0 = __builtin_inff();
    for (int64_t i1 = 0; i1 < n0; ++i1) {
      const float x0 = in0[i0 * n0 + i1];
      const auto x1 = x0;
      if (acc0_at < 0 || beats_min(x1, acc0)) acc0 = x1, acc0_at = i1;
    }
    out0[i0] = acc0_at;
  }
  return STATUS_OK;
}

int rows_argmin_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[1];
  int64_t const n1 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  if (!(n0 > 0L)) return run->fail("a maximum or minimum over dimension 1, which has no elements");
  for (int64_t i0 = 0; i0 < n1; ++i0) {
    int64_t acc0_at = -1L;
    double acc0 = __builtin_inf();
    for (int64_t i1 = 0; i1 < n0; ++i1) {
      const double x0 = in0[i0 * n0 + i1];
      const auto x1 = x0;
      if (acc0_at < 0 || beats_min(x1, acc0)) acc0 = x1, acc0_at = i1;
    }
    out0[i0] = acc0_at;
  }
  return STATUS_OK;
}

int rows_argmin_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[1];
  int64_t const n1 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  if (!(n0 > 0L)) return run->fail("a maximum or minimum over dimension 1, which has no elements");
  for (int64_t i0 = 0; i0 < n1; ++i0) {
    int64_t acc0_at = -1L;
    int64_t acc0 = 9223372036854775807L;
    for (int64_t i1 = 0; i1 < n0; ++i1) {
      const int64_t x0 = in0[i0 * n0 + i1];
      const auto x1 = x0;
      if (acc0_at < 0 || beats_min(x1, acc0)) acc0 = x1, acc0_at = i1;
    }
    out0[i0] = acc0_at;
  }
  return STATUS_OK;
}

int rows_var_f32(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[1];
  int64_t const n1 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const double x0 = in0[0];
  const float v0 = maximum((convert<float>(n0) - convert<float>(x0)), 0.0f);
  for (int64_t i0 = 0; i0 < n1; ++i0) {
    float acc0 = 0.0f;
    vec<float, 8> lanes0 = vec<float, 8>(0.0f);
    for (int64_t k0 = 0; k0 < n0; k0 += 2048) {
      const int64_t e0 = index_min(k0 + 2048, n0);
      vec<float, 8> lanes1[4] = {vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f)};
      int64_t k1 = k0;
      for (; k1 + 32 <= e0; k1 += 32) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 8;
          const vec<float, 8> x1 = load<float, 8>(in1 + i0 * n0 + i1);
          lanes1[u] = lanes1[u] + x1;
        }
      }
      for (; k1 + 8 <= e0; k1 += 8) {
        const int64_t i1 = k1;
        const vec<float, 8> x2 = load<float, 8>(in1 + i0 * n0 + i1);
        lanes1[0] = lanes1[0] + x2;
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<float, 8> x3 = load_n<float, 8>(in1 + i0 * n0 + i1, c0);
        lanes1[0] = select(first_lanes<8>(c0), lanes1[0] + x3, lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    const float v1 = acc0 / convert<float>(n0);
    float acc1 = 0.0f;
    vec<float, 8> lanes2 = vec<float, 8>(0.0f);
    for (int64_t k2 = 0; k2 < n0; k2 += 2048) {
      const int64_t e1 = index_min(k2 + 2048, n0);
      vec<float, 8> lanes3[4] = {vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f)};
      int64_t k3 = k2;
      for (; k3 + 32 <= e1; k3 += 32) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i2 = k3 + u * 8;
          const vec<float, 8> x4 = load<float, 8>(in1 + i0 * n0 + i2);
          const vec<float, 8> v2 = x4 - vec<float, 8>(v1);
          lanes3[u] = lanes3[u] + (v2 * v2);
        }
      }
      for (; k3 + 8 <= e1; k3 += 8) {
        const int64_t i2 = k3;
        const vec<float, 8> x5 = load<float, 8>(in1 + i0 * n0 + i2);
        const vec<float, 8> v3 = x5 - vec<float, 8>(v1);
        lanes3[0] = lanes3[0] + (v3 * v3);
      }
      if (k3 < e1) {
        const int c1 = (int)(e1 - k3);
        const int64_t i2 = k3;
        const vec<float, 8> x6 = load_n<float, 8>(in1 + i0 * n0 + i2, c1);
        const vec<float, 8> v4 = x6 - vec<float, 8>(v1);
        lanes3[0] = select(first_lanes<8>(c1), lanes3[0] + (v4 * v4), lanes3[0]);
      }
      lanes2 = lanes2 + ((lanes3[0] + lanes3[1]) + (lanes3[2] + lanes3[3]));
    }
    acc1 = acc1 + hsum(lanes2);
    out0[i0] = acc1 / v0;
  }
  return 0;
}

int rows_var_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  const double* const in1 = (const double*)a[2];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  const double x6 = in1[0];
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    vec<double, 4> lanes0 = vec<double, 4>(0.0);
    for (int64_t k0 = 0; k0 < n1; k0 += 1024) {
      const int64_t e0 = index_min(k0 + 1024, n1);
      vec<double, 4> lanes1[4] = {vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0)};
      int64_t k1 = k0;
      for (; k1 + 16 <= e0; k1 += 16) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 4;
          const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + x0;
        }
      }
      for (; k1 + 4 <= e0; k1 += 4) {
        const int64_t i1 = k1;
        const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + x1;
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<4>(c0), lanes1[0] + x2, lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    const double v0 = convert<double>(n1);
    const double v1 = acc0 / v0;
    double acc1 = 0.0;
    vec<double, 4> lanes2 = vec<double, 4>(0.0);
    for (int64_t k2 = 0; k2 < n1; k2 += 1024) {
      const int64_t e1 = index_min(k2 + 1024, n1);
      vec<double, 4> lanes3[4] = {vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0)};
      int64_t k3 = k2;
      for (; k3 + 16 <= e1; k3 += 16) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i2 = k3 + u * 4;
          const vec<double, 4> x3 = load<double, 4>(in0 + i0 * n1 + i2);
          const vec<double, 4> v2 = x3 - vec<double, 4>(v1);
          lanes3[u] = lanes3[u] + (v2 * v2);
        }
      }
      for (; k3 + 4 <= e1; k3 += 4) {
        const int64_t i2 = k3;
        const vec<double, 4> x4 = load<double, 4>(in0 + i0 * n1 + i2);
        const vec<double, 4> v3 = x4 - vec<double, 4>(v1);
        lanes3[0] = lanes3[0] + (v3 * v3);
      }
      if (k3 < e1) {
        const int c1 = (int)(e1 - k3);
        const int64_t i2 = k3;
        const vec<double, 4> x5 = load_n<double, 4>(in0 + i0 * n1 + i2, c1);
        const vec<double, 4> v4 = x5 - vec<double, 4>(v1);
        lanes3[0] = select(first_lanes<4>(c1), lanes3[0] + (v4 * v4), lanes3[0]);
      }
      lanes2 = lanes2 + ((lanes3[0] + lanes3[1]) + (lanes3[2] + lanes3[3]));
    }
    acc1 = acc1 + hsum(lanes2);
    out0[i0] = acc1 / maximum((v0 - x6), 0.0);
  }
  return 0;
}

int rows_norm_inf_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 0.0f;
    vec<float, 8> lanes0 = vec<float, 8>(-__builtin_inff());
    int64_t k0 = 0;
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
      lanes0 = maximum(lanes0, abs(x0));
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<float, 8> x1 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
      lanes0 = select(first_lanes<8>(c0), maximum(lanes0, abs(x1)), lanes0);
    }
    acc0 = maximum(acc0, hmax(lanes0));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_norm_inf_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    vec<double, 4> lanes0 = vec<double, 4>(-__builtin_inf());
    int64_t k0 = 0;
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
      lanes0 = maximum(lanes0, abs(x0));
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<double, 4> x1 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
      lanes0 = select(first_lanes<4>(c0), maximum(lanes0, abs(x1)), lanes0);
    }
    acc0 = maximum(acc0, hmax(lanes0));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_norm_minus_inf_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = __builtin_inff();
    vec<float, 8> lanes0 = vec<float, 8>(__builtin_inff());
    int64_t k0 = 0;
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
      lanes0 = minimum(lanes0, abs(x0));
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<float, 8> x1 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
      lanes0 = select(first_lanes<8>(c0), minimum(lanes0, abs(x1)), lanes0);
    }
    acc0 = minimum(acc0, hmin(lanes0));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_norm_minus_inf_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = __builtin_inf();
    vec<double, 4> lanes0 = vec<double, 4>(__builtin_inf());
    int64_t k0 = 0;
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
      lanes0 = minimum(lanes0, abs(x0));
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<double, 4> x1 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
      lanes0 = select(first_lanes<4>(c0), minimum(lanes0, abs(x1)), lanes0);
    }
    acc0 = minimum(acc0, hmin(lanes0));
    out0[i0] = acc0;
  }
  return 0;
}

int rows_norm_0_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 0.0f;
    vec<float, 8> lanes0 = vec<float, 8>(0.0f);
    for (int64_t k0 = 0; k0 < n1; k0 += 2048) {
      const int64_t e0 = index_min(k0 + 2048, n1);
      vec<float, 8> lanes1[4] = {vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f)};
      int64_t k1 = k0;
      for (; k1 + 32 <= e0; k1 += 32) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 8;
          const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + convert<float>((x0 != vec<float, 8>(0.0f)));
        }
      }
      for (; k1 + 8 <= e0; k1 += 8) {
        const int64_t i1 = k1;
        const vec<float, 8> x1 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + convert<float>((x1 != vec<float, 8>(0.0f)));
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<float, 8> x2 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<8>(c0), lanes1[0] + convert<float>((x2 != vec<float, 8>(0.0f))), lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    out0[i0] = acc0;
  }
  return 0;
}

int rows_norm_0_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    vec<double, 4> lanes0 = vec<double, 4>(0.0);
    for (int64_t k0 = 0; k0 < n1; k0 += 1024) {
      const int64_t e0 = index_min(k0 + 1024, n1);
      vec<double, 4> lanes1[4] = {vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0)};
      int64_t k1 = k0;
      for (; k1 + 16 <= e0; k1 += 16) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 4;
          const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + convert<double>((x0 != vec<double, 4>(0.0)));
        }
      }
      for (; k1 + 4 <= e0; k1 += 4) {
        const int64_t i1 = k1;
        const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + convert<double>((x1 != vec<double, 4>(0.0)));
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<4>(c0), lanes1[0] + convert<double>((x2 != vec<double, 4>(0.0))), lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    out0[i0] = acc0;
  }
  return 0;
}

int rows_norm_1_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 0.0f;
    vec<float, 8> lanes0 = vec<float, 8>(0.0f);
    for (int64_t k0 = 0; k0 < n1; k0 += 512) {
      const int64_t e0 = index_min(k0 + 512, n1);
      vec<float, 8> lanes1 = vec<float, 8>(0.0f);
      int64_t k1 = k0;
      for (; k1 + 8 <= e0; k1 += 8) {
        const int64_t i1 = k1;
        const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes1 = lanes1 + abs(x0);
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<float, 8> x1 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
        lanes1 = select(first_lanes<8>(c0), lanes1 + abs(x1), lanes1);
      }
      lanes0 = lanes0 + lanes1;
    }
    acc0 = acc0 + hsum(lanes0);
    out0[i0] = acc0;
  }
  return 0;
}

int rows_norm_1_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    vec<double, 4> lanes0 = vec<double, 4>(0.0);
    for (int64_t k0 = 0; k0 < n1; k0 += 256) {
      const int64_t e0 = index_min(k0 + 256, n1);
      vec<double, 4> lanes1 = vec<double, 4>(0.0);
      int64_t k1 = k0;
      for (; k1 + 4 <= e0; k1 += 4) {
        const int64_t i1 = k1;
        const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes1 = lanes1 + abs(x0);
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<double, 4> x1 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
        lanes1 = select(first_lanes<4>(c0), lanes1 + abs(x1), lanes1);
      }
      lanes0 = lanes0 + lanes1;
    }
    acc0 = acc0 + hsum(lanes0);
    out0[i0] = acc0;
  }
  return 0;
}

int rows_norm_2_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 0.0f;
    vec<float, 8> lanes0 = vec<float, 8>(0.0f);
    for (int64_t k0 = 0; k0 < n1; k0 += 512) {
      const int64_t e0 = index_min(k0 + 512, n1);
      vec<float, 8> lanes1 = vec<float, 8>(0.0f);
      int64_t k1 = k0;
      for (; k1 + 8 <= e0; k1 += 8) {
        const int64_t i1 = k1;
        const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
        const vec<float, 8> v0 = abs(x0);
        lanes1 = lanes1 + (v0 * v0);
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<float, 8> x1 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
        const vec<float, 8> v1 = abs(x1);
        lanes1 = select(first_lanes<8>(c0), lanes1 + (v1 * v1), lanes1);
      }
      lanes0 = lanes0 + lanes1;
    }
    acc0 = acc0 + hsum(lanes0);
    out0[i0] = sqrt(acc0);
  }
  return 0;
}

int rows_norm_2_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    vec<double, 4> lanes0 = vec<double, 4>(0.0);
    for (int64_t k0 = 0; k0 < n1; k0 += 256) {
      const int64_t e0 = index_min(k0 + 256, n1);
      vec<double, 4> lanes1 = vec<double, 4>(0.0);
      int64_t k1 = k0;
      for (; k1 + 4 <= e0; k1 += 4) {
        const int64_t i1 = k1;
        const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
        const vec<double, 4> v0 = abs(x0);
        lanes1 = lanes1 + (v0 * v0);
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<double, 4> x1 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
        const vec<double, 4> v1 = abs(x1);
        lanes1 = select(first_lanes<4>(c0), lanes1 + (v1 * v1), lanes1);
      }
      lanes0 = lanes0 + lanes1;
    }
    acc0 = acc0 + hsum(lanes0);
    out0[i0] = sqrt(acc0);
  }
  return 0;
}

int rows_norm_p_f32(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  const double x0 = in0[0];
  const float v0 = 1.0f / convert<float>(x0);
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 0.0f;
    vec<float, 8> lanes0 = vec<float, 8>(0.0f);
    for (int64_t k0 = 0; k0 < n1; k0 += 512) {
      const int64_t e0 = index_min(k0 + 512, n1);
      vec<float, 8> lanes1 = vec<float, 8>(0.0f);
      int64_t k1 = k0;
      for (; k1 + 8 <= e0; k1 += 8) {
        const int64_t i1 = k1;
        const vec<float, 8> x1 = load<float, 8>(in1 + i0 * n1 + i1);
        lanes1 = lanes1 + pow(abs(x1), vec<float, 8>(convert<float>(x0)));
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<float, 8> x2 = load_n<float, 8>(in1 + i0 * n1 + i1, c0);
        lanes1 = select(first_lanes<8>(c0), lanes1 + pow(abs(x2), vec<float, 8>(convert<float>(x0))), lanes1);
      }
      lanes0 = lanes0 + lanes1;
    }
    acc0 = acc0 + hsum(lanes0);
    out0[i0] = pow(acc0, v0);
  }
  return 0;
}

int rows_norm_p_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[2];
  const double* const in1 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  const double x0 = in0[0];
  const double v0 = 1.0 / x0;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    vec<double, 4> lanes0 = vec<double, 4>(0.0);
    for (int64_t k0 = 0; k0 < n1; k0 += 256) {
      const int64_t e0 = index_min(k0 + 256, n1);
      vec<double, 4> lanes1 = vec<double, 4>(0.0);
      int64_t k1 = k0;
      for (; k1 + 4 <= e0; k1 += 4) {
        const int64_t i1 = k1;
        const vec<double, 4> x1 = load<double, 4>(in1 + i0 * n1 + i1);
        lanes1 = lanes1 + pow(abs(x1), vec<double, 4>(x0));
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<double, 4> x2 = load_n<double, 4>(in1 + i0 * n1 + i1, c0);
        lanes1 = select(first_lanes<4>(c0), lanes1 + pow(abs(x2), vec<double, 4>(x0)), lanes1);
      }
      lanes0 = lanes0 + lanes1;
    }
    acc0 = acc0 + hsum(lanes0);
    out0[i0] = pow(acc0, v0);
  }
  return 0;
}

static int rows_softmax_f32_0(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[2];
  float* const out1 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = (-__builtin_inff());
    vec<float, 8> lanes0[4] = {vec<float, 8>(-__builtin_inff()), vec<float, 8>(-__builtin_inff()), vec<float, 8>(-__builtin_inff()), vec<float, 8>(-__builtin_inff())};
    int64_t k0 = 0;
    for (; k0 + 32 <= n1; k0 += 32) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 8;
        const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes0[u] = maximum(lanes0[u], x0);
      }
    }
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      const vec<float, 8> x1 = load<float, 8>(in0 + i0 * n1 + i1);
      lanes0[0] = maximum(lanes0[0], x1);
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<float, 8> x2 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<8>(c0), maximum(lanes0[0], x2), lanes0[0]);
    }
    acc0 = maximum(acc0, hmax((maximum((maximum(lanes0[0], lanes0[1])), (maximum(lanes0[2], lanes0[3]))))));
    float acc1 = 0.0f;
    vec<float, 8> lanes1 = vec<float, 8>(0.0f);
    for (int64_t k1 = 0; k1 < n1; k1 += 512) {
      const int64_t e0 = index_min(k1 + 512, n1);
      vec<float, 8> lanes2 = vec<float, 8>(0.0f);
      int64_t k2 = k1;
      for (; k2 + 8 <= e0; k2 += 8) {
        const int64_t i2 = k2;
        const vec<float, 8> x3 = load<float, 8>(in0 + i0 * n1 + i2);
        const vec<float, 8> v0 = exp((x3 - vec<float, 8>(acc0)));
        store(out0 + i0 * n1 + i2, v0);
        lanes2 = lanes2 + v0;
      }
      if (k2 < e0) {
        const int c1 = (int)(e0 - k2);
        const int64_t i2 = k2;
        const vec<float, 8> x4 = load_n<float, 8>(in0 + i0 * n1 + i2, c1);
        const vec<float, 8> v1 = exp((x4 - vec<float, 8>(acc0)));
        store_n(out0 + i0 * n1 + i2, v1, c1);
        lanes2 = select(first_lanes<8>(c1), lanes2 + v1, lanes2);
      }
      lanes1 = lanes1 + lanes2;
    }
    acc1 = acc1 + hsum(lanes1);
    int64_t k3 = 0;
    for (; k3 + 8 <= n1; k3 += 8) {
      const int64_t i3 = k3;
      const vec<float, 8> x5 = load<float, 8>(out0 + i0 * n1 + i3);
      store(out1 + i0 * n1 + i3, x5 / vec<float, 8>(acc1));
    }
    if (k3 < n1) {
      const int64_t i3 = k3;
      const int c2 = (int)(n1 - k3);
      const vec<float, 8> x6 = load_n<float, 8>(out0 + i0 * n1 + i3, c2);
      store_n(out1 + i0 * n1 + i3, x6 / vec<float, 8>(acc1), c2);
    }
  }
  return 0;
}

int rows_softmax_f32(Run* run, void* const* a, const int64_t* s) {
  Scratch<float> kernel_1(s[0]*s[1]);
  if (!kernel_1.data) return STATUS_MEMORY;
  void* const all[] = {a[0], a[1], kernel_1.data};
  if (const int status = rows_softmax_f32_0(run, all, s)) return status;
  return 0;
}

static int rows_softmax_f64_0(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[2];
  double* const out1 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = (-__builtin_inf());
    vec<double, 4> lanes0[4] = {vec<double, 4>(-__builtin_inf()), vec<double, 4>(-__builtin_inf()), vec<double, 4>(-__builtin_inf()), vec<double, 4>(-__builtin_inf())};
    int64_t k0 = 0;
    for (; k0 + 16 <= n1; k0 += 16) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 4;
        const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes0[u] = maximum(lanes0[u], x0);
      }
    }
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
      lanes0[0] = maximum(lanes0[0], x1);
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<4>(c0), maximum(lanes0[0], x2), lanes0[0]);
    }
    acc0 = maximum(acc0, hmax((maximum((maximum(lanes0[0], lanes0[1])), (maximum(lanes0[2], lanes0[3]))))));
    double acc1 = 0.0;
    vec<double, 4> lanes1 = vec<double, 4>(0.0);
    for (int64_t k1 = 0; k1 < n1; k1 += 256) {
      const int64_t e0 = index_min(k1 + 256, n1);
      vec<double, 4> lanes2 = vec<double, 4>(0.0);
      int64_t k2 = k1;
      for (; k2 + 4 <= e0; k2 += 4) {
        const int64_t i2 = k2;
        const vec<double, 4> x3 = load<double, 4>(in0 + i0 * n1 + i2);
        const vec<double, 4> v0 = exp((x3 - vec<double, 4>(acc0)));
        store(out0 + i0 * n1 + i2, v0);
        lanes2 = lanes2 + v0;
      }
      if (k2 < e0) {
        const int c1 = (int)(e0 - k2);
        const int64_t i2 = k2;
        const vec<double, 4> x4 = load_n<double, 4>(in0 + i0 * n1 + i2, c1);
        const vec<double, 4> v1 = exp((x4 - vec<double, 4>(acc0)));
        store_n(out0 + i0 * n1 + i2, v1, c1);
        lanes2 = select(first_lanes<4>(c1), lanes2 + v1, lanes2);
      }
      lanes1 = lanes1 + lanes2;
    }
    acc1 = acc1 + hsum(lanes1);
    int64_t k3 = 0;
    for (; k3 + 4 <= n1; k3 += 4) {
      const int64_t i3 = k3;
      const vec<double, 4> x5 = load<double, 4>(out0 + i0 * n1 + i3);
      store(out1 + i0 * n1 + i3, x5 / vec<double, 4>(acc1));
    }
    if (k3 < n1) {
      const int64_t i3 = k3;
      const int c2 = (int)(n1 - k3);
      const vec<double, 4> x6 = load_n<double, 4>(out0 + i0 * n1 + i3, c2);
      store_n(out1 + i0 * n1 + i3, x6 / vec<double, 4>(acc1), c2);
    }
  }
  return 0;
}

int rows_softmax_f64(Run* run, void* const* a, const int64_t* s) {
  Scratch<double> kernel_1(s[0]*s[1]);
  if (!kernel_1.data) return STATUS_MEMORY;
  void* const all[] = {a[0], a[1], kernel_1.data};
  if (const int status = rows_softmax_f64_0(run, all, s)) return status;
  return 0;
}

static int rows_softmax_inner_f32_0(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[2];
  float* const out1 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      vec<float, 8> acc0 = vec<float, 8>((-__builtin_inff()));
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<float, 8> x0 = load<float, 8>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
        acc0 = maximum(acc0, x0);
      }
      vec<float, 8> acc1 = vec<float, 8>(0.0f);
      for (int64_t k1 = 0; k1 < n2; k1 += 128) {
        const int64_t e0 = index_min(k1 + 128, n2);
        vec<float, 8> part0 = vec<float, 8>(0);
        for (int64_t i3 = k1; i3 < e0; ++i3) {
          const vec<float, 8> x1 = load<float, 8>(in0 + n1 * i0 * n2 + n1 * i3 + i1);
          const vec<float, 8> v0 = exp((x1 - acc0));
          store(out0 + n1 * i0 * n2 + n1 * i3 + i1, v0);
          part0 = part0 + v0;
        }
        acc1 = acc1 + part0;
      }
      for (int64_t i4 = 0; i4 < n2; ++i4) {
        const vec<float, 8> x2 = load<float, 8>(out0 + n1 * i0 * n2 + n1 * i4 + i1);
        store(out1 + n1 * i0 * n2 + n1 * i4 + i1, x2 / acc1);
      }
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<float, 8> acc2 = vec<float, 8>((-__builtin_inff()));
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<float, 8> x3 = load_n<float, 8>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
        acc2 = maximum(acc2, x3);
      }
      vec<float, 8> acc3 = vec<float, 8>(0.0f);
      for (int64_t k2 = 0; k2 < n2; k2 += 128) {
        const int64_t e1 = index_min(k2 + 128, n2);
        vec<float, 8> part1 = vec<float, 8>(0);
        for (int64_t i3 = k2; i3 < e1; ++i3) {
          const vec<float, 8> x4 = load_n<float, 8>(in0 + n1 * i0 * n2 + n1 * i3 + i1, c0);
          const vec<float, 8> v1 = exp((x4 - acc2));
          store_n(out0 + n1 * i0 * n2 + n1 * i3 + i1, v1, c0);
          part1 = part1 + v1;
        }
        acc3 = acc3 + part1;
      }
      for (int64_t i4 = 0; i4 < n2; ++i4) {
        const vec<float, 8> x5 = load_n<float, 8>(out0 + n1 * i0 * n2 + n1 * i4 + i1, c0);
        store_n(out1 + n1 * i0 * n2 + n1 * i4 + i1, x5 / acc3, c0);
      }
    }
  }
  return 0;
}

int rows_softmax_inner_f32(Run* run, void* const* a, const int64_t* s) {
  Scratch<float> kernel_1(s[0]*s[1]*s[2]);
  if (!kernel_1.data) return STATUS_MEMORY;
  void* const all[] = {a[0], a[1], kernel_1.data};
  if (const int status = rows_softmax_inner_f32_0(run, all, s)) return status;
  return 0;
}

static int rows_softmax_inner_f64_0(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[2];
  double* const out1 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[2];
  int64_t const n2 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t k0 = 0;
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      vec<double, 4> acc0 = vec<double, 4>((-__builtin_inf()));
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<double, 4> x0 = load<double, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1);
        acc0 = maximum(acc0, x0);
      }
      vec<double, 4> acc1 = vec<double, 4>(0.0);
      for (int64_t k1 = 0; k1 < n2; k1 += 128) {
        const int64_t e0 = index_min(k1 + 128, n2);
        vec<double, 4> part0 = vec<double, 4>(0);
        for (int64_t i3 = k1; i3 < e0; ++i3) {
          const vec<double, 4> x1 = load<double, 4>(in0 + n1 * i0 * n2 + n1 * i3 + i1);
          const vec<double, 4> v0 = exp((x1 - acc0));
          store(out0 + n1 * i0 * n2 + n1 * i3 + i1, v0);
          part0 = part0 + v0;
        }
        acc1 = acc1 + part0;
      }
      for (int64_t i4 = 0; i4 < n2; ++i4) {
        const vec<double, 4> x2 = load<double, 4>(out0 + n1 * i0 * n2 + n1 * i4 + i1);
        store(out1 + n1 * i0 * n2 + n1 * i4 + i1, x2 / acc1);
      }
    }
    if (k0 < n1) {
      const int64_t i1 = k0;
      const int c0 = (int)(n1 - k0);
      vec<double, 4> acc2 = vec<double, 4>((-__builtin_inf()));
      for (int64_t i2 = 0; i2 < n2; ++i2) {
        const vec<double, 4> x3 = load_n<double, 4>(in0 + n1 * i0 * n2 + n1 * i2 + i1, c0);
        acc2 = maximum(acc2, x3);
      }
      vec<double, 4> acc3 = vec<double, 4>(0.0);
      for (int64_t k2 = 0; k2 < n2; k2 += 128) {
        const int64_t e1 = index_min(k2 + 128, n2);
        vec<double, 4> part1 = vec<double, 4>(0);
        for (int64_t i3 = k2; i3 < e1; ++i3) {
          const vec<double, 4> x4 = load_n<double, 4>(in0 + n1 * i0 * n2 + n1 * i3 + i1, c0);
          const vec<double, 4> v1 = exp((x4 - acc2));
          store_n(out0 + n1 * i0 * n2 + n1 * i3 + i1, v1, c0);
          part1 = part1 + v1;
        }
        acc3 = acc3 + part1;
      }
      for (int64_t i4 = 0; i4 < n2; ++i4) {
        const vec<double, 4> x5 = load_n<double, 4>(out0 + n1 * i0 * n2 + n1 * i4 + i1, c0);
        store_n(out1 + n1 * i0 * n2 + n1 * i4 + i1, x5 / acc3, c0);
      }
    }
  }
  return 0;
}

int rows_softmax_inner_f64(Run* run, void* const* a, const int64_t* s) {
  Scratch<double> kernel_1(s[0]*s[1]*s[2]);
  if (!kernel_1.data) return STATUS_MEMORY;
  void* const all[] = {a[0], a[1], kernel_1.data};
  if (const int status = rows_softmax_inner_f64_0(run, all, s)) return status;
  return 0;
}

int rows_log_softmax_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = (-__builtin_inff());
    vec<float, 8> lanes0[4] = {vec<float, 8>(-__builtin_inff()), vec<float, 8>(-__builtin_inff()), vec<float, 8>(-__builtin_inff()), vec<float, 8>(-__builtin_inff())};
    int64_t k0 = 0;
    for (; k0 + 32 <= n1; k0 += 32) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 8;
        const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes0[u] = maximum(lanes0[u], x0);
      }
    }
    for (; k0 + 8 <= n1; k0 += 8) {
      const int64_t i1 = k0;
      const vec<float, 8> x1 = load<float, 8>(in0 + i0 * n1 + i1);
      lanes0[0] = maximum(lanes0[0], x1);
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<float, 8> x2 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<8>(c0), maximum(lanes0[0], x2), lanes0[0]);
    }
    acc0 = maximum(acc0, hmax((maximum((maximum(lanes0[0], lanes0[1])), (maximum(lanes0[2], lanes0[3]))))));
    float acc1 = 0.0f;
    vec<float, 8> lanes1 = vec<float, 8>(0.0f);
    for (int64_t k1 = 0; k1 < n1; k1 += 512) {
      const int64_t e0 = index_min(k1 + 512, n1);
      vec<float, 8> lanes2 = vec<float, 8>(0.0f);
      int64_t k2 = k1;
      for (; k2 + 8 <= e0; k2 += 8) {
        const int64_t i2 = k2;
        const vec<float, 8> x3 = load<float, 8>(in0 + i0 * n1 + i2);
        lanes2 = lanes2 + exp((x3 - vec<float, 8>(acc0)));
      }
      if (k2 < e0) {
        const int c1 = (int)(e0 - k2);
        const int64_t i2 = k2;
        const vec<float, 8> x4 = load_n<float, 8>(in0 + i0 * n1 + i2, c1);
        lanes2 = select(first_lanes<8>(c1), lanes2 + exp((x4 - vec<float, 8>(acc0))), lanes2);
      }
      lanes1 = lanes1 + lanes2;
    }
    acc1 = acc1 + hsum(lanes1);
    const float v0 = acc1;
    const float v1 = log(v0);
    int64_t k3 = 0;
    for (; k3 + 8 <= n1; k3 += 8) {
      const int64_t i3 = k3;
      const vec<float, 8> x5 = load<float, 8>(in0 + i0 * n1 + i3);
      store(out0 + i0 * n1 + i3, (x5 - vec<float, 8>(acc0)) - vec<float, 8>(v1));
    }
    if (k3 < n1) {
      const int64_t i3 = k3;
      const int c2 = (int)(n1 - k3);
      const vec<float, 8> x6 = load_n<float, 8>(in0 + i0 * n1 + i3, c2);
      store_n(out0 + i0 * n1 + i3, (x6 - vec<float, 8>(acc0)) - vec<float, 8>(v1), c2);
    }
  }
  return 0;
}

int rows_log_softmax_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = (-__builtin_inf());
    vec<double, 4> lanes0[4] = {vec<double, 4>(-__builtin_inf()), vec<double, 4>(-__builtin_inf()), vec<double, 4>(-__builtin_inf()), vec<double, 4>(-__builtin_inf())};
    int64_t k0 = 0;
    for (; k0 + 16 <= n1; k0 += 16) {
      #pragma GCC unroll 4
      for (int u = 0; u < 4; ++u) {
        const int64_t i1 = k0 + u * 4;
        const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes0[u] = maximum(lanes0[u], x0);
      }
    }
    for (; k0 + 4 <= n1; k0 += 4) {
      const int64_t i1 = k0;
      const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
      lanes0[0] = maximum(lanes0[0], x1);
    }
    if (k0 < n1) {
      const int c0 = (int)(n1 - k0);
      const int64_t i1 = k0;
      const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
      lanes0[0] = select(first_lanes<4>(c0), maximum(lanes0[0], x2), lanes0[0]);
    }
    acc0 = maximum(acc0, hmax((maximum((maximum(lanes0[0], lanes0[1])), (maximum(lanes0[2], lanes0[3]))))));
    double acc1 = 0.0;
    vec<double, 4> lanes1 = vec<double, 4>(0.0);
    for (int64_t k1 = 0; k1 < n1; k1 += 256) {
      const int64_t e0 = index_min(k1 + 256, n1);
      vec<double, 4> lanes2 = vec<double, 4>(0.0);
      int64_t k2 = k1;
      for (; k2 + 4 <= e0; k2 += 4) {
        const int64_t i2 = k2;
        const vec<double, 4> x3 = load<double, 4>(in0 + i0 * n1 + i2);
        lanes2 = lanes2 + exp((x3 - vec<double, 4>(acc0)));
      }
      if (k2 < e0) {
        const int c1 = (int)(e0 - k2);
        const int64_t i2 = k2;
        const vec<double, 4> x4 = load_n<double, 4>(in0 + i0 * n1 + i2, c1);
        lanes2 = select(first_lanes<4>(c1), lanes2 + exp((x4 - vec<double, 4>(acc0))), lanes2);
      }
      lanes1 = lanes1 + lanes2;
    }
    acc1 = acc1 + hsum(lanes1);
    const double v0 = acc1;
    const double v1 = log(v0);
    int64_t k3 = 0;
    for (; k3 + 4 <= n1; k3 += 4) {
      const int64_t i3 = k3;
      const vec<double, 4> x5 = load<double, 4>(in0 + i0 * n1 + i3);
      store(out0 + i0 * n1 + i3, (x5 - vec<double, 4>(acc0)) - vec<double, 4>(v1));
    }
    if (k3 < n1) {
      const int64_t i3 = k3;
      const int c2 = (int)(n1 - k3);
      const vec<double, 4> x6 = load_n<double, 4>(in0 + i0 * n1 + i3, c2);
      store_n(out0 + i0 * n1 + i3, (x6 - vec<double, 4>(acc0)) - vec<double, 4>(v1), c2);
    }
  }
  return 0;
}

int rows_cumsum_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 0.0f;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const float x0 = in0[i0 * n1 + i1];
      acc0 = acc0 + x0;
      out0[i0 * n1 + i1] = acc0;
    }
  }
  return 0;
}

int rows_cumsum_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const double x0 = in0[i0 * n1 + i1];
      acc0 = acc0 + x0;
      out0[i0 * n1 + i1] = acc0;
    }
  }
  return 0;
}

int rows_cumsum_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t acc0 = 0L;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const int64_t x0 = in0[i0 * n1 + i1];
      acc0 = acc0 + x0;
      out0[i0 * n1 + i1] = acc0;
    }
  }
  return 0;
}

int rows_cumprod_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 1.0f;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const float x0 = in0[i0 * n1 + i1];
      acc0 = acc0 * x0;
      out0[i0 * n1 + i1] = acc0;
    }
  }
  return 0;
}

int rows_cumprod_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 1.0;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const double x0 = in0[i0 * n1 + i1];
      acc0 = acc0 * x0;
      out0[i0 * n1 + i1] = acc0;
    }
  }
  return 0;
}

int rows_cumprod_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t acc0 = 1L;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const int64_t x0 = in0[i0 * n1 + i1];
      acc0 = acc0 * x0;
      out0[i0 * n1 + i1] = acc0;
    }
  }
  return 0;
}

static int rows_cummax_f32_0(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = (-__builtin_inff());
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const float x0 = in0[i0 * n1 + i1];
      acc0 = maximum(acc0, x0);
      out0[i0 * n1 + i1] = acc0;
    }
  }
  return 0;
}

static int rows_cummax_f32_1(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  int64_t* const out0 = (int64_t*)a[1];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = (-__builtin_inff());
    int64_t acc1 = 0L;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const float x0 = in0[i0 * n1 + i1];
      const float v0 = x0;
      acc0 = maximum(acc0, v0);
      acc1 = maximum(acc1, select(((v0 == acc0) | isnan(v0)), i1, 0L));
      out0[i0 * n1 + i1] = acc1;
    }
  }
  return 0;
}

int rows_cummax_f32(Run* run, void* const* a, const int64_t* s) {
  void* const all[] = {a[0], a[1], a[2]};
  if (const int status = rows_cummax_f32_0(run, all, s)) return status;
  if (const int status = rows_cummax_f32_1(run, all, s)) return status;
  return 0;
}

static int rows_cummax_f64_0(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[2];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = (-__builtin_inf());
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const double x0 = in0[i0 * n1 + i1];
      acc0 = maximum(acc0, x0);
      out0[i0 * n1 + i1] = acc0;
    }
  }
  return 0;
}

static int rows_cummax_f64_1(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[2];
  int64_t* const out0 = (int64_t*)a[1];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = (-__builtin_inf());
    int64_t acc1 = 0L;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const double x0 = in0[i0 * n1 + i1];
      const double v0 = x0;
      acc0 = maximum(acc0, v0);
      acc1 = maximum(acc1, select(((v0 == acc0) | isnan(v0)), i1, 0L));
      out0[i0 * n1 + i1] = acc1;
    }
  }
  return 0;
}

int rows_cummax_f64(Run* run, void* const* a, const int64_t* s) {
  void* const all[] = {a[0], a[1], a[2]};
  if (const int status = rows_cummax_f64_0(run, all, s)) return status;
  if (const int status = rows_cummax_f64_1(run, all, s)) return status;
  return 0;
}

static int rows_cummax_i64_0(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t acc0 = (-9223372036854775807L - 1);
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const int64_t x0 = in0[i0 * n1 + i1];
      acc0 = maximum(acc0, x0);
      out0[i0 * n1 + i1] = acc0;
    }
  }
  return 0;
}

static int rows_cummax_i64_1(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  int64_t* const out0 = (int64_t*)a[1];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t acc0 = (-9223372036854775807L - 1);
    int64_t acc1 = 0L;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const int64_t x0 = in0[i0 * n1 + i1];
      const int64_t v0 = x0;
      acc0 = maximum(acc0, v0);
      acc1 = maximum(acc1, select((v0 == acc0), i1, 0L));
      out0[i0 * n1 + i1] = acc1;
    }
  }
  return 0;
}

int rows_cummax_i64(Run* run, void* const* a, const int64_t* s) {
  void* const all[] = {a[0], a[1], a[2]};
  if (const int status = rows_cummax_i64_0(run, all, s)) return status;
  if (const int status = rows_cummax_i64_1(run, all, s)) return status;
  return 0;
}

static int rows_cummin_f32_0(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = __builtin_inff();
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const float x0 = in0[i0 * n1 + i1];
      acc0 = minimum(acc0, x0);
      out0[i0 * n1 + i1] = acc0;
    }
  }
  return 0;
}

static int rows_cummin_f32_1(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  int64_t* const out0 = (int64_t*)a[1];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = __builtin_inff();
    int64_t acc1 = 0L;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const float x0 = in0[i0 * n1 + i1];
      const float v0 = x0;
      acc0 = minimum(acc0, v0);
      acc1 = maximum(acc1, select(((v0 == acc0) | isnan(v0)), i1, 0L));
      out0[i0 * n1 + i1] = acc1;
    }
  }
  return 0;
}

int rows_cummin_f32(Run* run, void* const* a, const int64_t* s) {
  void* const all[] = {a[0], a[1], a[2]};
  if (const int status = rows_cummin_f32_0(run, all, s)) return status;
  if (const int status = rows_cummin_f32_1(run, all, s)) return status;
  return 0;
}

static int rows_cummin_f64_0(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[2];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = __builtin_inf();
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const double x0 = in0[i0 * n1 + i1];
      acc0 = minimum(acc0, x0);
      out0[i0 * n1 + i1] = acc0;
    }
  }
  return 0;
}

static int rows_cummin_f64_1(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[2];
  int64_t* const out0 = (int64_t*)a[1];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = __builtin_inf();
    int64_t acc1 = 0L;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const double x0 = in0[i0 * n1 + i1];
      const double v0 = x0;
      acc0 = minimum(acc0, v0);
      acc1 = maximum(acc1, select(((v0 == acc0) | isnan(v0)), i1, 0L));
      out0[i0 * n1 + i1] = acc1;
    }
  }
  return 0;
}

int rows_cummin_f64(Run* run, void* const* a, const int64_t* s) {
  void* const all[] = {a[0], a[1], a[2]};
  if (const int status = rows_cummin_f64_0(run, all, s)) return status;
  if (const int status = rows_cummin_f64_1(run, all, s)) return status;
  return 0;
}

static int rows_cummin_i64_0(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t acc0 = 9223372036854775807L;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const int64_t x0 = in0[i0 * n1 + i1];
      acc0 = minimum(acc0, x0);
      out0[i0 * n1 + i1] = acc0;
    }
  }
  return 0;
}

static int rows_cummin_i64_1(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  int64_t* const out0 = (int64_t*)a[1];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    int64_t acc0 = 9223372036854775807L;
    int64_t acc1 = 0L;
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const int64_t x0 = in0[i0 * n1 + i1];
      const int64_t v0 = x0;
      acc0 = minimum(acc0, v0);
      acc1 = maximum(acc1, select((v0 == acc0), i1, 0L));
      out0[i0 * n1 + i1] = acc1;
    }
  }
  return 0;
}

int rows_cummin_i64(Run* run, void* const* a, const int64_t* s) {
  void* const all[] = {a[0], a[1], a[2]};
  if (const int status = rows_cummin_i64_0(run, all, s)) return status;
  if (const int status = rows_cummin_i64_1(run, all, s)) return status;
  return 0;
}

int rows_logcumsumexp_f32(Run* run, void* const* a, const int64_t* s) {
  float* const out0 = (float*)a[0];
  const float* const in0 = (const float*)a[1];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const float x0 = (i1 > 0L) ? out0[i0 * n1 + i1 - 1] : (-__builtin_inff());
      const float v0 = x0;
      const float x1 = in0[i0 * n1 + i1];
      const float v1 = x1;
      const float v2 = maximum(v0, v1);
      const auto t0 = select((isinf(v2) & (v0 == v1)), v2, (v2 + log1p(exp((minimum(v0, v1) - v2)))));
      out0[i0 * n1 + i1] = t0;
    }
  }
  return 0;
}

int rows_logcumsumexp_f64(Run* run, void* const* a, const int64_t* s) {
  double* const out0 = (double*)a[0];
  const double* const in0 = (const double*)a[1];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    for (int64_t i1 = 0; i1 < n1; ++i1) {
      const double x0 = (i1 > 0L) ? out0[i0 * n1 + i1 - 1] : (-__builtin_inf());
      const double v0 = x0;
      const double x1 = in0[i0 * n1 + i1];
      const double v1 = x1;
      const double v2 = maximum(v0, v1);
      const auto t0 = select((isinf(v2) & (v0 == v1)), v2, (v2 + log1p(exp((minimum(v0, v1) - v2)))));
      out0[i0 * n1 + i1] = t0;
    }
  }
  return 0;
}

static int rows_statistics_f32_0(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const double* const in1 = (const double*)a[3];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  const double x6 = in1[0];
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 0.0f;
    vec<float, 8> lanes0 = vec<float, 8>(0.0f);
    for (int64_t k0 = 0; k0 < n1; k0 += 2048) {
      const int64_t e0 = index_min(k0 + 2048, n1);
      vec<float, 8> lanes1[4] = {vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f)};
      int64_t k1 = k0;
      for (; k1 + 32 <= e0; k1 += 32) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 8;
          const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + x0;
        }
      }
      for (; k1 + 8 <= e0; k1 += 8) {
        const int64_t i1 = k1;
        const vec<float, 8> x1 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + x1;
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<float, 8> x2 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<8>(c0), lanes1[0] + x2, lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    const float v0 = convert<float>(n1);
    const float v1 = acc0 / v0;
    float acc1 = 0.0f;
    vec<float, 8> lanes2 = vec<float, 8>(0.0f);
    for (int64_t k2 = 0; k2 < n1; k2 += 2048) {
      const int64_t e1 = index_min(k2 + 2048, n1);
      vec<float, 8> lanes3[4] = {vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f)};
      int64_t k3 = k2;
      for (; k3 + 32 <= e1; k3 += 32) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i2 = k3 + u * 8;
          const vec<float, 8> x3 = load<float, 8>(in0 + i0 * n1 + i2);
          const vec<float, 8> v2 = x3 - vec<float, 8>(v1);
          lanes3[u] = lanes3[u] + (v2 * v2);
        }
      }
      for (; k3 + 8 <= e1; k3 += 8) {
        const int64_t i2 = k3;
        const vec<float, 8> x4 = load<float, 8>(in0 + i0 * n1 + i2);
        const vec<float, 8> v3 = x4 - vec<float, 8>(v1);
        lanes3[0] = lanes3[0] + (v3 * v3);
      }
      if (k3 < e1) {
        const int c1 = (int)(e1 - k3);
        const int64_t i2 = k3;
        const vec<float, 8> x5 = load_n<float, 8>(in0 + i0 * n1 + i2, c1);
        const vec<float, 8> v4 = x5 - vec<float, 8>(v1);
        lanes3[0] = select(first_lanes<8>(c1), lanes3[0] + (v4 * v4), lanes3[0]);
      }
      lanes2 = lanes2 + ((lanes3[0] + lanes3[1]) + (lanes3[2] + lanes3[3]));
    }
    acc1 = acc1 + hsum(lanes2);
    const float v5 = 1.0f / sqrt(((acc1 / v0) + convert<float>(x6)));
    out0[i0] = v1;
  }
  return 0;
}

static int rows_statistics_f32_1(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const double* const in1 = (const double*)a[3];
  float* const out0 = (float*)a[1];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  const double x6 = in1[0];
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 0.0f;
    vec<float, 8> lanes0 = vec<float, 8>(0.0f);
    for (int64_t k0 = 0; k0 < n1; k0 += 2048) {
      const int64_t e0 = index_min(k0 + 2048, n1);
      vec<float, 8> lanes1[4] = {vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f)};
      int64_t k1 = k0;
      for (; k1 + 32 <= e0; k1 += 32) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 8;
          const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + x0;
        }
      }
      for (; k1 + 8 <= e0; k1 += 8) {
        const int64_t i1 = k1;
        const vec<float, 8> x1 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + x1;
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<float, 8> x2 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<8>(c0), lanes1[0] + x2, lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    const float v0 = convert<float>(n1);
    const float v1 = acc0 / v0;
    float acc1 = 0.0f;
    vec<float, 8> lanes2 = vec<float, 8>(0.0f);
    for (int64_t k2 = 0; k2 < n1; k2 += 2048) {
      const int64_t e1 = index_min(k2 + 2048, n1);
      vec<float, 8> lanes3[4] = {vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f)};
      int64_t k3 = k2;
      for (; k3 + 32 <= e1; k3 += 32) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i2 = k3 + u * 8;
          const vec<float, 8> x3 = load<float, 8>(in0 + i0 * n1 + i2);
          const vec<float, 8> v2 = x3 - vec<float, 8>(v1);
          lanes3[u] = lanes3[u] + (v2 * v2);
        }
      }
      for (; k3 + 8 <= e1; k3 += 8) {
        const int64_t i2 = k3;
        const vec<float, 8> x4 = load<float, 8>(in0 + i0 * n1 + i2);
        const vec<float, 8> v3 = x4 - vec<float, 8>(v1);
        lanes3[0] = lanes3[0] + (v3 * v3);
      }
      if (k3 < e1) {
        const int c1 = (int)(e1 - k3);
        const int64_t i2 = k3;
        const vec<float, 8> x5 = load_n<float, 8>(in0 + i0 * n1 + i2, c1);
        const vec<float, 8> v4 = x5 - vec<float, 8>(v1);
        lanes3[0] = select(first_lanes<8>(c1), lanes3[0] + (v4 * v4), lanes3[0]);
      }
      lanes2 = lanes2 + ((lanes3[0] + lanes3[1]) + (lanes3[2] + lanes3[3]));
    }
    acc1 = acc1 + hsum(lanes2);
    const float v5 = 1.0f / sqrt(((acc1 / v0) + convert<float>(x6)));
    out0[i0] = v5;
  }
  return 0;
}

int rows_statistics_f32(Run* run, void* const* a, const int64_t* s) {
  void* const all[] = {a[0], a[1], a[2], a[3]};
  if (const int status = rows_statistics_f32_0(run, all, s)) return status;
  if (const int status = rows_statistics_f32_1(run, all, s)) return status;
  return 0;
}

static int rows_statistics_f64_0(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[2];
  const double* const in1 = (const double*)a[3];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  const double x6 = in1[0];
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    vec<double, 4> lanes0 = vec<double, 4>(0.0);
    for (int64_t k0 = 0; k0 < n1; k0 += 1024) {
      const int64_t e0 = index_min(k0 + 1024, n1);
      vec<double, 4> lanes1[4] = {vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0)};
      int64_t k1 = k0;
      for (; k1 + 16 <= e0; k1 += 16) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 4;
          const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + x0;
        }
      }
      for (; k1 + 4 <= e0; k1 += 4) {
        const int64_t i1 = k1;
        const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + x1;
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<4>(c0), lanes1[0] + x2, lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    const double v0 = convert<double>(n1);
    const double v1 = acc0 / v0;
    double acc1 = 0.0;
    vec<double, 4> lanes2 = vec<double, 4>(0.0);
    for (int64_t k2 = 0; k2 < n1; k2 += 1024) {
      const int64_t e1 = index_min(k2 + 1024, n1);
      vec<double, 4> lanes3[4] = {vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0)};
      int64_t k3 = k2;
      for (; k3 + 16 <= e1; k3 += 16) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i2 = k3 + u * 4;
          const vec<double, 4> x3 = load<double, 4>(in0 + i0 * n1 + i2);
          const vec<double, 4> v2 = x3 - vec<double, 4>(v1);
          lanes3[u] = lanes3[u] + (v2 * v2);
        }
      }
      for (; k3 + 4 <= e1; k3 += 4) {
        const int64_t i2 = k3;
        const vec<double, 4> x4 = load<double, 4>(in0 + i0 * n1 + i2);
        const vec<double, 4> v3 = x4 - vec<double, 4>(v1);
        lanes3[0] = lanes3[0] + (v3 * v3);
      }
      if (k3 < e1) {
        const int c1 = (int)(e1 - k3);
        const int64_t i2 = k3;
        const vec<double, 4> x5 = load_n<double, 4>(in0 + i0 * n1 + i2, c1);
        const vec<double, 4> v4 = x5 - vec<double, 4>(v1);
        lanes3[0] = select(first_lanes<4>(c1), lanes3[0] + (v4 * v4), lanes3[0]);
      }
      lanes2 = lanes2 + ((lanes3[0] + lanes3[1]) + (lanes3[2] + lanes3[3]));
    }
    acc1 = acc1 + hsum(lanes2);
    const double v5 = 1.0 / sqrt(((acc1 / v0) + x6));
    out0[i0] = v1;
  }
  return 0;
}

static int rows_statistics_f64_1(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[2];
  const double* const in1 = (const double*)a[3];
  double* const out0 = (double*)a[1];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  const double x6 = in1[0];
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    vec<double, 4> lanes0 = vec<double, 4>(0.0);
    for (int64_t k0 = 0; k0 < n1; k0 += 1024) {
      const int64_t e0 = index_min(k0 + 1024, n1);
      vec<double, 4> lanes1[4] = {vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0)};
      int64_t k1 = k0;
      for (; k1 + 16 <= e0; k1 += 16) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 4;
          const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + x0;
        }
      }
      for (; k1 + 4 <= e0; k1 += 4) {
        const int64_t i1 = k1;
        const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + x1;
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<4>(c0), lanes1[0] + x2, lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    const double v0 = convert<double>(n1);
    const double v1 = acc0 / v0;
    double acc1 = 0.0;
    vec<double, 4> lanes2 = vec<double, 4>(0.0);
    for (int64_t k2 = 0; k2 < n1; k2 += 1024) {
      const int64_t e1 = index_min(k2 + 1024, n1);
      vec<double, 4> lanes3[4] = {vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0)};
      int64_t k3 = k2;
      for (; k3 + 16 <= e1; k3 += 16) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i2 = k3 + u * 4;
          const vec<double, 4> x3 = load<double, 4>(in0 + i0 * n1 + i2);
          const vec<double, 4> v2 = x3 - vec<double, 4>(v1);
          lanes3[u] = lanes3[u] + (v2 * v2);
        }
      }
      for (; k3 + 4 <= e1; k3 += 4) {
        const int64_t i2 = k3;
        const vec<double, 4> x4 = load<double, 4>(in0 + i0 * n1 + i2);
        const vec<double, 4> v3 = x4 - vec<double, 4>(v1);
        lanes3[0] = lanes3[0] + (v3 * v3);
      }
      if (k3 < e1) {
        const int c1 = (int)(e1 - k3);
        const int64_t i2 = k3;
        const vec<double, 4> x5 = load_n<double, 4>(in0 + i0 * n1 + i2, c1);
        const vec<double, 4> v4 = x5 - vec<double, 4>(v1);
        lanes3[0] = select(first_lanes<4>(c1), lanes3[0] + (v4 * v4), lanes3[0]);
      }
      lanes2 = lanes2 + ((lanes3[0] + lanes3[1]) + (lanes3[2] + lanes3[3]));
    }
    acc1 = acc1 + hsum(lanes2);
    const double v5 = 1.0 / sqrt(((acc1 / v0) + x6));
    out0[i0] = v5;
  }
  return 0;
}

int rows_statistics_f64(Run* run, void* const* a, const int64_t* s) {
  void* const all[] = {a[0], a[1], a[2], a[3]};
  if (const int status = rows_statistics_f64_0(run, all, s)) return status;
  if (const int status = rows_statistics_f64_1(run, all, s)) return status;
  return 0;
}

int rows_rms_norm_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  const double* const in1 = (const double*)a[2];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  const double x3 = in1[0];
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 0.0f;
    vec<float, 8> lanes0 = vec<float, 8>(0.0f);
    for (int64_t k0 = 0; k0 < n1; k0 += 2048) {
      const int64_t e0 = index_min(k0 + 2048, n1);
      vec<float, 8> lanes1[4] = {vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f)};
      int64_t k1 = k0;
      for (; k1 + 32 <= e0; k1 += 32) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 8;
          const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + (x0 * x0);
        }
      }
      for (; k1 + 8 <= e0; k1 += 8) {
        const int64_t i1 = k1;
        const vec<float, 8> x1 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + (x1 * x1);
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<float, 8> x2 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<8>(c0), lanes1[0] + (x2 * x2), lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    const float v0 = 1.0f / sqrt(((acc0 / convert<float>(n1)) + convert<float>(x3)));
    int64_t k2 = 0;
    for (; k2 + 8 <= n1; k2 += 8) {
      const int64_t i2 = k2;
      const vec<float, 8> x4 = load<float, 8>(in0 + i0 * n1 + i2);
      store(out0 + i0 * n1 + i2, x4 * vec<float, 8>(v0));
    }
    if (k2 < n1) {
      const int64_t i2 = k2;
      const int c1 = (int)(n1 - k2);
      const vec<float, 8> x5 = load_n<float, 8>(in0 + i0 * n1 + i2, c1);
      store_n(out0 + i0 * n1 + i2, x5 * vec<float, 8>(v0), c1);
    }
  }
  return 0;
}

int rows_rms_norm_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  const double* const in1 = (const double*)a[2];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  const double x3 = in1[0];
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    vec<double, 4> lanes0 = vec<double, 4>(0.0);
    for (int64_t k0 = 0; k0 < n1; k0 += 1024) {
      const int64_t e0 = index_min(k0 + 1024, n1);
      vec<double, 4> lanes1[4] = {vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0)};
      int64_t k1 = k0;
      for (; k1 + 16 <= e0; k1 += 16) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 4;
          const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + (x0 * x0);
        }
      }
      for (; k1 + 4 <= e0; k1 += 4) {
        const int64_t i1 = k1;
        const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + (x1 * x1);
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<4>(c0), lanes1[0] + (x2 * x2), lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    const double v0 = 1.0 / sqrt(((acc0 / convert<double>(n1)) + x3));
    int64_t k2 = 0;
    for (; k2 + 4 <= n1; k2 += 4) {
      const int64_t i2 = k2;
      const vec<double, 4> x4 = load<double, 4>(in0 + i0 * n1 + i2);
      store(out0 + i0 * n1 + i2, x4 * vec<double, 4>(v0));
    }
    if (k2 < n1) {
      const int64_t i2 = k2;
      const int c1 = (int)(n1 - k2);
      const vec<double, 4> x5 = load_n<double, 4>(in0 + i0 * n1 + i2, c1);
      store_n(out0 + i0 * n1 + i2, x5 * vec<double, 4>(v0), c1);
    }
  }
  return 0;
}

int rows_rms_norm_affine_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  const double* const in1 = (const double*)a[3];
  const float* const in2 = (const float*)a[2];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  const double x3 = in1[0];
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    float acc0 = 0.0f;
    vec<float, 8> lanes0 = vec<float, 8>(0.0f);
    for (int64_t k0 = 0; k0 < n1; k0 += 2048) {
      const int64_t e0 = index_min(k0 + 2048, n1);
      vec<float, 8> lanes1[4] = {vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f), vec<float, 8>(0.0f)};
      int64_t k1 = k0;
      for (; k1 + 32 <= e0; k1 += 32) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 8;
          const vec<float, 8> x0 = load<float, 8>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + (x0 * x0);
        }
      }
      for (; k1 + 8 <= e0; k1 += 8) {
        const int64_t i1 = k1;
        const vec<float, 8> x1 = load<float, 8>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + (x1 * x1);
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<float, 8> x2 = load_n<float, 8>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<8>(c0), lanes1[0] + (x2 * x2), lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    const float v0 = 1.0f / sqrt(((acc0 / convert<float>(n1)) + convert<float>(x3)));
    int64_t k2 = 0;
    for (; k2 + 8 <= n1; k2 += 8) {
      const int64_t i2 = k2;
      const vec<float, 8> x4 = load<float, 8>(in0 + i0 * n1 + i2);
      const vec<float, 8> x5 = load<float, 8>(in2 + i2);
      store(out0 + i0 * n1 + i2, (x4 * vec<float, 8>(v0)) * x5);
    }
    if (k2 < n1) {
      const int64_t i2 = k2;
      const int c1 = (int)(n1 - k2);
      const vec<float, 8> x6 = load_n<float, 8>(in0 + i0 * n1 + i2, c1);
      const vec<float, 8> x7 = load_n<float, 8>(in2 + i2, c1);
      store_n(out0 + i0 * n1 + i2, (x6 * vec<float, 8>(v0)) * x7, c1);
    }
  }
  return 0;
}

int rows_rms_norm_affine_f64(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[1];
  const double* const in1 = (const double*)a[3];
  const double* const in2 = (const double*)a[2];
  double* const out0 = (double*)a[0];
  int64_t const n0 = (int64_t)s[0];
  int64_t const n1 = (int64_t)s[1];
  (void)run, (void)a, (void)s;
  const double x3 = in1[0];
  for (int64_t i0 = 0; i0 < n0; ++i0) {
    double acc0 = 0.0;
    vec<double, 4> lanes0 = vec<double, 4>(0.0);
    for (int64_t k0 = 0; k0 < n1; k0 += 1024) {
      const int64_t e0 = index_min(k0 + 1024, n1);
      vec<double, 4> lanes1[4] = {vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0), vec<double, 4>(0.0)};
      int64_t k1 = k0;
      for (; k1 + 16 <= e0; k1 += 16) {
        #pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
          const int64_t i1 = k1 + u * 4;
          const vec<double, 4> x0 = load<double, 4>(in0 + i0 * n1 + i1);
          lanes1[u] = lanes1[u] + (x0 * x0);
        }
      }
      for (; k1 + 4 <= e0; k1 += 4) {
        const int64_t i1 = k1;
        const vec<double, 4> x1 = load<double, 4>(in0 + i0 * n1 + i1);
        lanes1[0] = lanes1[0] + (x1 * x1);
      }
      if (k1 < e0) {
        const int c0 = (int)(e0 - k1);
        const int64_t i1 = k1;
        const vec<double, 4> x2 = load_n<double, 4>(in0 + i0 * n1 + i1, c0);
        lanes1[0] = select(first_lanes<4>(c0), lanes1[0] + (x2 * x2), lanes1[0]);
      }
      lanes0 = lanes0 + ((lanes1[0] + lanes1[1]) + (lanes1[2] + lanes1[3]));
    }
    acc0 = acc0 + hsum(lanes0);
    const double v0 = 1.0 / sqrt(((acc0 / convert<double>(n1)) + x3));
    int64_t k2 = 0;
    for (; k2 + 4 <= n1; k2 += 4) {
      const int64_t i2 = k2;
      const vec<double, 4> x4 = load<double, 4>(in0 + i0 * n1 + i2);
      const vec<double, 4> x5 = load<double, 4>(in2 + i2);
      store(out0 + i0 * n1 + i2, (x4 * vec<double, 4>(v0)) * x5);
    }
    if (k2 < n1) {
      const int64_t i2 = k2;
      const int c1 = (int)(n1 - k2);
      const vec<double, 4> x6 = load_n<double, 4>(in0 + i0 * n1 + i2, c1);
      const vec<double, 4> x7 = load_n<double, 4>(in2 + i2, c1);
      store_n(out0 + i0 * n1 + i2, (x6 * vec<double, 4>(v0)) * x7, c1);
    }
  }
  return 0;
}

}  // namespace ptc

namespace ptc::exec {

const RowsKernel rows_kernels[] = {
    {"sum", {rows_sum_f32, rows_sum_f64, rows_sum_i64, nullptr}},
    {"sum_inner", {rows_sum_inner_f32, rows_sum_inner_f64, rows_sum_inner_i64, nullptr}},
    {"mean", {rows_mean_f32, rows_mean_f64, nullptr, nullptr}},
    {"mean_inner", {rows_mean_inner_f32, rows_mean_inner_f64, nullptr, nullptr}},
    {"prod", {rows_prod_f32, rows_prod_f64, rows_prod_i64, nullptr}},
    {"amax", {rows_amax_f32, rows_amax_f64, rows_amax_i64, rows_amax_bool}},
    {"amax_inner", {rows_amax_inner_f32, rows_amax_inner_f64, rows_amax_inner_i64, rows_amax_inner_bool}},
    {"amin", {rows_amin_f32, rows_amin_f64, rows_amin_i64, rows_amin_bool}},
    {"amin_inner", {rows_amin_inner_f32, rows_amin_inner_f64, rows_amin_inner_i64, rows_amin_inner_bool}},
    {"argmax", {rows_argmax_f32, rows_argmax_f64, rows_argmax_i64, nullptr}},
    {"argmin", {rows_argmin_f32, rows_argmin_f64, rows_argmin_i64, nullptr}},
    {"any", {nullptr, nullptr, nullptr, rows_amax_bool}},
    {"all", {nullptr, nullptr, nullptr, rows_amin_bool}},
    {"var", {rows_var_f32, rows_var_f64, nullptr, nullptr}},
    {"norm_inf", {rows_norm_inf_f32, rows_norm_inf_f64, nullptr, nullptr}},
    {"norm_-inf", {rows_norm_minus_inf_f32, rows_norm_minus_inf_f64, nullptr, nullptr}},
    {"norm_0", {rows_norm_0_f32, rows_norm_0_f64, nullptr, nullptr}},
    {"norm_1", {rows_norm_1_f32, rows_norm_1_f64, nullptr, nullptr}},
    {"norm_2", {rows_norm_2_f32, rows_norm_2_f64, nullptr, nullptr}},
    {"norm_p", {rows_norm_p_f32, rows_norm_p_f64, nullptr, nullptr}},
    {"softmax", {rows_softmax_f32, rows_softmax_f64, nullptr, nullptr}},
    {"softmax_inner", {rows_softmax_inner_f32, rows_softmax_inner_f64, nullptr, nullptr}},
    {"log_softmax", {rows_log_softmax_f32, rows_log_softmax_f64, nullptr, nullptr}},
    {"cumsum", {rows_cumsum_f32, rows_cumsum_f64, rows_cumsum_i64, nullptr}},
    {"cumprod", {rows_cumprod_f32, rows_cumprod_f64, rows_cumprod_i64, nullptr}},
    {"cummax", {rows_cummax_f32, rows_cummax_f64, rows_cummax_i64, nullptr}},
    {"cummin", {rows_cummin_f32, rows_cummin_f64, rows_cummin_i64, nullptr}},
    {"logcumsumexp", {rows_logcumsumexp_f32, rows_logcumsumexp_f64, nullptr, nullptr}},
    {"statistics", {rows_statistics_f32, rows_statistics_f64, nullptr, nullptr}},
    {"rms_norm", {rows_rms_norm_f32, rows_rms_norm_f64, nullptr, nullptr}},
    {"rms_norm_affine", {rows_rms_norm_affine_f32, rows_rms_norm_affine_f64, nullptr, nullptr}},
};
const int rows_kernel_count = sizeof rows_kernels / sizeof *rows_kernels;

}  // namespace ptc::exec
