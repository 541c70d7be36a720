// Written by ptc/executor/generate.py from the rules of ptc/ops.
#include "generated.h"
#include "ptc_math.h"

namespace ptc {

int pw_relu_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, maximum(x0, vec<int64_t, 4>(0L)));
  }
  return 0;
}

int pw_hardtanh_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[3];
  const int64_t* const in1 = (const int64_t*)a[2];
  const int64_t* const in2 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const int64_t x1 = in1[0];
  const int64_t x2 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in2 + i0);
    store(out0 + i0, minimum(maximum(x0, vec<int64_t, 4>(x1)), vec<int64_t, 4>(x2)));
  }
  return 0;
}

int pw_relu6_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, minimum(maximum(x0, vec<int64_t, 4>(0L)), vec<int64_t, 4>(6L)));
  }
  return 0;
}

int pw_leaky_relu_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const int64_t x1 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in1 + i0);
    const auto t0 = select((x0 > vec<int64_t, 4>(0L)), x0, (x0 * vec<int64_t, 4>(x1)));
    store(out0 + i0, t0);
  }
  return 0;
}

int pw_softshrink_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  const int64_t* const in1 = (const int64_t*)a[2];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const int64_t x1 = in1[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0);
    const auto t0 = select((x0 < vec<int64_t, 4>(-x1)), (x0 + vec<int64_t, 4>(x1)), (x0 * vec<int64_t, 4>(0L)));
    const auto t1 = select((x0 > vec<int64_t, 4>(x1)), (x0 - vec<int64_t, 4>(x1)), t0);
    store(out0 + i0, t1);
  }
  return 0;
}

int pw__prelu_kernel_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  const int64_t* const in1 = (const int64_t*)a[2];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in1 + i0);
    store(out0 + i0, select((x0 > vec<int64_t, 4>(0L)), x0, (x1 * x0)));
  }
  return 0;
}

int pw_add_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[3];
  const int64_t* const in1 = (const int64_t*)a[2];
  const int64_t* const in2 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const int64_t x2 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in2 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in1 + i0);
    store(out0 + i0, x0 + (x1 * vec<int64_t, 4>(x2)));
  }
  return 0;
}

int pw_sub_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[3];
  const int64_t* const in1 = (const int64_t*)a[2];
  const int64_t* const in2 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const int64_t x2 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in2 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in1 + i0);
    store(out0 + i0, x0 - (x1 * vec<int64_t, 4>(x2)));
  }
  return 0;
}

int pw_rsub_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[3];
  const int64_t* const in1 = (const int64_t*)a[1];
  const int64_t* const in2 = (const int64_t*)a[2];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const int64_t x2 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in2 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in1 + i0);
    store(out0 + i0, x0 - (x1 * vec<int64_t, 4>(x2)));
  }
  return 0;
}

int pw_mul_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in1 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, x0 * x1);
  }
  return 0;
}

int pw_addcmul_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[3];
  const int64_t* const in1 = (const int64_t*)a[4];
  const int64_t* const in2 = (const int64_t*)a[2];
  const int64_t* const in3 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const int64_t x2 = in1[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in3 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in2 + i0);
    const vec<int64_t, 4> x3 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, x0 + ((x1 * vec<int64_t, 4>(x2)) * x3));
  }
  return 0;
}

int pw_floor_divide_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; ++i0) {
    const int64_t x0 = in0[i0];
    const int64_t v0 = x0;
    if (!(v0 != 0L)) return run->fail("integer division by zero");
    const int64_t x1 = in1[i0];
    out0[i0] = floor_divide(x1, v0);
  }
  return STATUS_OK;
}

int pw_remainder_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; ++i0) {
    const int64_t x0 = in0[i0];
    const int64_t v0 = x0;
    if (!(v0 != 0L)) return run->fail("integer division by zero");
    const int64_t x1 = in1[i0];
    out0[i0] = remainder(x1, v0);
  }
  return STATUS_OK;
}

int pw_fmod_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; ++i0) {
    const int64_t x0 = in0[i0];
    const int64_t v0 = x0;
    if (!(v0 != 0L)) return run->fail("integer division by zero");
    const int64_t x1 = in1[i0];
    out0[i0] = fmod(x1, v0);
  }
  return STATUS_OK;
}

int pw_pow_Tensor_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in1 + i0);
    const auto t0 = select(((x0 & vec<int64_t, 4>(1L)) != vec<int64_t, 4>(0L)), vec<int64_t, 4>((-1L)), vec<int64_t, 4>(1L));
    const auto t1 = select((x1 == vec<int64_t, 4>(1L)), vec<int64_t, 4>(1L), select((x1 == vec<int64_t, 4>((-1L))), t0, vec<int64_t, 4>(0L)));
    const auto t2 = select((x0 < vec<int64_t, 4>(0L)), t1, pow(x1, maximum(x0, vec<int64_t, 4>(0L))));
    store(out0 + i0, t2);
  }
  return 0;
}

int pw_square_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, x0 * x0);
  }
  return 0;
}

int pw_neg_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, -x0);
  }
  return 0;
}

int pw_abs_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, abs(x0));
  }
  return 0;
}

int pw_sign_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, sign(x0));
  }
  return 0;
}

int pw_maximum_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in1 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, maximum(x0, x1));
  }
  return 0;
}

int pw_minimum_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in1 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, minimum(x0, x1));
  }
  return 0;
}

int pw_lerp_Scalar_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  const int64_t* const in1 = (const int64_t*)a[2];
  const int64_t* const in2 = (const int64_t*)a[3];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const int64_t x2 = in2[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in1 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0);
    const vec<int64_t, 4> v0 = x0 - x1;
    const auto t0 = select(mask<4>(abs(x2) < 0L), (x1 + (vec<int64_t, 4>(x2) * v0)), (x0 - (v0 * vec<int64_t, 4>(1L - x2))));
    store(out0 + i0, t0);
  }
  return 0;
}

int pw_lerp_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  const int64_t* const in1 = (const int64_t*)a[2];
  const int64_t* const in2 = (const int64_t*)a[3];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in1 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0);
    const vec<int64_t, 4> v0 = x0 - x1;
    const vec<int64_t, 4> x2 = load<int64_t, 4>(in2 + i0);
    const auto t0 = select((abs(x2) < vec<int64_t, 4>(0L)), (x1 + (x2 * v0)), (x0 - (v0 * (vec<int64_t, 4>(1L) - x2))));
    store(out0 + i0, t0);
  }
  return 0;
}

int pw_eq_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<int64_t, 8> x0 = load<int64_t, 8>(in1 + i0);
    const vec<int64_t, 8> x1 = load<int64_t, 8>(in0 + i0);
    store_mask(out0 + i0, x0 == x1);
  }
  return 0;
}

int pw_ne_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<int64_t, 8> x0 = load<int64_t, 8>(in1 + i0);
    const vec<int64_t, 8> x1 = load<int64_t, 8>(in0 + i0);
    store_mask(out0 + i0, x0 != x1);
  }
  return 0;
}

int pw_lt_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<int64_t, 8> x0 = load<int64_t, 8>(in1 + i0);
    const vec<int64_t, 8> x1 = load<int64_t, 8>(in0 + i0);
    store_mask(out0 + i0, x0 < x1);
  }
  return 0;
}

int pw_le_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<int64_t, 8> x0 = load<int64_t, 8>(in1 + i0);
    const vec<int64_t, 8> x1 = load<int64_t, 8>(in0 + i0);
    store_mask(out0 + i0, x0 <= x1);
  }
  return 0;
}

int pw_gt_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<int64_t, 8> x0 = load<int64_t, 8>(in1 + i0);
    const vec<int64_t, 8> x1 = load<int64_t, 8>(in0 + i0);
    store_mask(out0 + i0, x0 > x1);
  }
  return 0;
}

int pw_ge_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<int64_t, 8> x0 = load<int64_t, 8>(in1 + i0);
    const vec<int64_t, 8> x1 = load<int64_t, 8>(in0 + i0);
    store_mask(out0 + i0, x0 >= x1);
  }
  return 0;
}

int pw_logical_and_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<int64_t, 8> x0 = load<int64_t, 8>(in1 + i0);
    const vec<int64_t, 8> x1 = load<int64_t, 8>(in0 + i0);
    store_mask(out0 + i0, (x0 != vec<int64_t, 8>(0L)) & (x1 != vec<int64_t, 8>(0L)));
  }
  return 0;
}

int pw_logical_or_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<int64_t, 8> x0 = load<int64_t, 8>(in1 + i0);
    const vec<int64_t, 8> x1 = load<int64_t, 8>(in0 + i0);
    store_mask(out0 + i0, (x0 != vec<int64_t, 8>(0L)) | (x1 != vec<int64_t, 8>(0L)));
  }
  return 0;
}

int pw_logical_xor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<int64_t, 8> x0 = load<int64_t, 8>(in1 + i0);
    const vec<int64_t, 8> x1 = load<int64_t, 8>(in0 + i0);
    store_mask(out0 + i0, (x0 != vec<int64_t, 8>(0L)) ^ (x1 != vec<int64_t, 8>(0L)));
  }
  return 0;
}

int pw_logical_not_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<int64_t, 8> x0 = load<int64_t, 8>(in0 + i0);
    store_mask(out0 + i0, !(x0 != vec<int64_t, 8>(0L)));
  }
  return 0;
}

int pw_bitwise_and_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in1 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, x0 & x1);
  }
  return 0;
}

int pw_bitwise_or_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in1 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, x0 | x1);
  }
  return 0;
}

int pw_bitwise_xor_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in1 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, x0 ^ x1);
  }
  return 0;
}

int pw_bitwise_not_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, ~x0);
  }
  return 0;
}

int pw_bitwise_left_shift_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in0 + i0);
    const mask<4> v0 = (x0 >= vec<int64_t, 4>(0L)) & (x0 < vec<int64_t, 4>(64L));
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in1 + i0);
    const auto t0 = select(v0, shift_left(x1, select(v0, x0, vec<int64_t, 4>(0L))), vec<int64_t, 4>(0L));
    store(out0 + i0, t0);
  }
  return 0;
}

int pw_bitwise_right_shift_Tensor_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in1 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in0 + i0);
    const auto t0 = select(((x1 >= vec<int64_t, 4>(0L)) & (x1 <= vec<int64_t, 4>(63L))), x1, vec<int64_t, 4>(63L));
    store(out0 + i0, shift_right(x0, t0));
  }
  return 0;
}

int pw_isnan_i64(Run* run, void* const* a, const int64_t* s) {
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    store_mask(out0 + i0, mask<8>(false));
  }
  return 0;
}

int pw_isfinite_i64(Run* run, void* const* a, const int64_t* s) {
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    store_mask(out0 + i0, mask<8>(true));
  }
  return 0;
}

int pw_signbit_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<int64_t, 8> x0 = load<int64_t, 8>(in0 + i0);
    store_mask(out0 + i0, x0 < vec<int64_t, 8>(0L));
  }
  return 0;
}

int pw_div_Tensor_mode_trunc_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[2];
  const int64_t* const in1 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; ++i0) {
    const int64_t x0 = in0[i0];
    const int64_t v0 = x0;
    if (!(v0 != 0L)) return run->fail("integer division by zero");
    const int64_t x1 = in1[i0];
    out0[i0] = trunc_divide(x1, v0);
  }
  return STATUS_OK;
}

int pw_clamp_i64(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[3];
  const int64_t* const in1 = (const int64_t*)a[2];
  const int64_t* const in2 = (const int64_t*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 4) {
    const vec<int64_t, 4> x0 = load<int64_t, 4>(in2 + i0);
    const vec<int64_t, 4> x1 = load<int64_t, 4>(in1 + i0);
    const vec<int64_t, 4> x2 = load<int64_t, 4>(in0 + i0);
    store(out0 + i0, minimum(maximum(x0, x1), x2));
  }
  return 0;
}

}  // namespace ptc
