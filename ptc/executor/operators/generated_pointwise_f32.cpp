// Written by ptc/executor/generate.py from the rules of ptc/ops.
#include "generated.h"
#include "ptc_math.h"

namespace ptc {

int pw_relu_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, maximum(x0, vec<float, 8>(0.0f)));
  }
  return 0;
}

int pw_hardtanh_f32(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[3];
  const double* const in1 = (const double*)a[2];
  const float* const in2 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const double x1 = in1[0];
  const double x2 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in2 + i0);
    const auto t0 = minimum(maximum(x0, vec<float, 8>(convert<float>(x1))), vec<float, 8>(convert<float>(x2)));
    store(out0 + i0, t0);
  }
  return 0;
}

int pw_relu6_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, minimum(maximum(x0, vec<float, 8>(0.0f)), vec<float, 8>(6.0f)));
  }
  return 0;
}

int pw_leaky_relu_f32(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const double x1 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const auto t0 = select((x0 > vec<float, 8>(0.0f)), x0, (x0 * vec<float, 8>(convert<float>(x1))));
    store(out0 + i0, t0);
  }
  return 0;
}

int pw_softshrink_f32(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const double x0 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const float v0 = convert<float>(x0);
    const vec<float, 8> x1 = load<float, 8>(in1 + i0);
    const auto t0 = select((x1 < vec<float, 8>(-v0)), (x1 + vec<float, 8>(v0)), (x1 * vec<float, 8>(0.0f)));
    store(out0 + i0, select((x1 > vec<float, 8>(v0)), (x1 - vec<float, 8>(v0)), t0));
  }
  return 0;
}

int pw__prelu_kernel_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  const float* const in1 = (const float*)a[2];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    const vec<float, 8> x1 = load<float, 8>(in1 + i0);
    store(out0 + i0, select((x0 > vec<float, 8>(0.0f)), x0, (x1 * x0)));
  }
  return 0;
}

int pw_silu_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, x0 * sigmoid(x0));
  }
  return 0;
}

int pw_hardsigmoid_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    const auto t0 = minimum(maximum((x0 + vec<float, 8>(3.0f)), vec<float, 8>(0.0f)), vec<float, 8>(6.0f));
    store(out0 + i0, t0 / vec<float, 8>(6.0f));
  }
  return 0;
}

int pw_hardswish_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    const auto t0 = minimum(maximum((x0 + vec<float, 8>(3.0f)), vec<float, 8>(0.0f)), vec<float, 8>(6.0f));
    store(out0 + i0, (x0 * t0) / vec<float, 8>(6.0f));
  }
  return 0;
}

int pw_elu_f32(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[3];
  const float* const in1 = (const float*)a[1];
  const double* const in2 = (const double*)a[2];
  const double* const in3 = (const double*)a[4];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const double x0 = in0[0];
  const double x2 = in3[0];
  const double x3 = in2[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const float v0 = convert<float>(x0);
    const vec<float, 8> x1 = load<float, 8>(in1 + i0);
    const auto t0 = expm1((x1 * vec<float, 8>(convert<float>(x2)))) * vec<float, 8>(convert<float>(x3) * v0);
    const auto t1 = select((x1 <= vec<float, 8>(0.0f)), t0, (x1 * vec<float, 8>(v0)));
    store(out0 + i0, t1);
  }
  return 0;
}

int pw_softplus_f32(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[2];
  const float* const in1 = (const float*)a[1];
  const double* const in2 = (const double*)a[3];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const double x0 = in0[0];
  const double x2 = in2[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const float v0 = convert<float>(x0);
    const vec<float, 8> x1 = load<float, 8>(in1 + i0);
    const vec<float, 8> v1 = x1 * vec<float, 8>(v0);
    const auto t0 = select((v1 > vec<float, 8>(convert<float>(x2))), x1, (log1p(exp(v1)) / vec<float, 8>(v0)));
    store(out0 + i0, t0);
  }
  return 0;
}

int pw_mish_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    const auto t0 = tanh((maximum(x0, vec<float, 8>(0.0f)) + log1p(exp((-abs(x0))))));
    store(out0 + i0, x0 * t0);
  }
  return 0;
}

int pw_log_sigmoid_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, minimum(x0, vec<float, 8>(0.0f)) - log1p(exp((-abs(x0)))));
  }
  return 0;
}

int pw_add_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[3];
  const float* const in1 = (const float*)a[2];
  const float* const in2 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const double x2 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in2 + i0);
    const vec<float, 8> x1 = load<float, 8>(in1 + i0);
    store(out0 + i0, x0 + (x1 * vec<float, 8>(convert<float>(x2))));
  }
  return 0;
}

int pw_sub_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[3];
  const float* const in1 = (const float*)a[2];
  const float* const in2 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const double x2 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in2 + i0);
    const vec<float, 8> x1 = load<float, 8>(in1 + i0);
    store(out0 + i0, x0 - (x1 * vec<float, 8>(convert<float>(x2))));
  }
  return 0;
}

int pw_rsub_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[3];
  const float* const in1 = (const float*)a[1];
  const float* const in2 = (const float*)a[2];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const double x2 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in2 + i0);
    const vec<float, 8> x1 = load<float, 8>(in1 + i0);
    store(out0 + i0, x0 - (x1 * vec<float, 8>(convert<float>(x2))));
  }
  return 0;
}

int pw_mul_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, x0 * x1);
  }
  return 0;
}

int pw_addcmul_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[3];
  const double* const in1 = (const double*)a[4];
  const float* const in2 = (const float*)a[2];
  const float* const in3 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const double x2 = in1[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in3 + i0);
    const vec<float, 8> x1 = load<float, 8>(in2 + i0);
    const vec<float, 8> x3 = load<float, 8>(in0 + i0);
    store(out0 + i0, x0 + ((x1 * vec<float, 8>(convert<float>(x2))) * x3));
  }
  return 0;
}

int pw_addcdiv_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[3];
  const double* const in1 = (const double*)a[4];
  const float* const in2 = (const float*)a[2];
  const float* const in3 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const double x2 = in1[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in3 + i0);
    const vec<float, 8> x1 = load<float, 8>(in2 + i0);
    const vec<float, 8> x3 = load<float, 8>(in0 + i0);
    store(out0 + i0, x0 + ((x1 * vec<float, 8>(convert<float>(x2))) / x3));
  }
  return 0;
}

int pw_div_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, x0 / x1);
  }
  return 0;
}

int pw_floor_divide_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    const vec<float, 8> v0 = x0 / x1;
    const vec<float, 8> v1 = fmod(x0, x1);
    const vec<float, 8> v2 = (x0 - v1) / x1;
    const auto t0 = (v1 != vec<float, 8>(0.0f)) & ((x1 < vec<float, 8>(0.0f)) != (v1 < vec<float, 8>(0.0f)));
    const vec<float, 8> v3 = select(t0, (v2 - vec<float, 8>(1.0f)), v2);
    const vec<float, 8> v4 = floor(v3);
    const auto t1 = select(((v3 - v4) > vec<float, 8>(0.5f)), (v4 + vec<float, 8>(1.0f)), v4);
    const auto t2 = select((v3 != vec<float, 8>(0.0f)), t1, copysign(vec<float, 8>(0.0f), v0));
    store(out0 + i0, select((x1 == vec<float, 8>(0.0f)), v0, t2));
  }
  return 0;
}

int pw_remainder_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    const vec<float, 8> v0 = fmod(x0, x1);
    const auto t0 = (v0 != vec<float, 8>(0.0f)) & ((x1 < vec<float, 8>(0.0f)) != (v0 < vec<float, 8>(0.0f)));
    store(out0 + i0, select(t0, (v0 + x1), v0));
  }
  return 0;
}

int pw_fmod_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, fmod(x0, x1));
  }
  return 0;
}

int pw_reciprocal_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, vec<float, 8>(1.0f) / x0);
  }
  return 0;
}

int pw_pow_Tensor_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, pow(x0, x1));
  }
  return 0;
}

int pw_square_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, x0 * x0);
  }
  return 0;
}

int pw_neg_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, -x0);
  }
  return 0;
}

int pw_abs_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, abs(x0));
  }
  return 0;
}

int pw_sign_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, sign(x0));
  }
  return 0;
}

int pw_copysign_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, copysign(x0, x1));
  }
  return 0;
}

int pw_maximum_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, maximum(x0, x1));
  }
  return 0;
}

int pw_minimum_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, minimum(x0, x1));
  }
  return 0;
}

int pw_fmax_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, select(isnan(x0), x1, select(isnan(x1), x0, maximum(x0, x1))));
  }
  return 0;
}

int pw_fmin_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, select(isnan(x0), x1, select(isnan(x1), x0, minimum(x0, x1))));
  }
  return 0;
}

int pw_lerp_Scalar_f32(Run* run, void* const* a, const int64_t* s) {
  const double* const in0 = (const double*)a[3];
  const float* const in1 = (const float*)a[1];
  const float* const in2 = (const float*)a[2];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const double x0 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const float v0 = convert<float>(x0);
    const vec<float, 8> x1 = load<float, 8>(in2 + i0);
    const vec<float, 8> x2 = load<float, 8>(in1 + i0);
    const vec<float, 8> v1 = x1 - x2;
    const auto t0 = select(mask<8>(abs(v0) < 0.5f), (x2 + (vec<float, 8>(v0) * v1)), (x1 - (v1 * vec<float, 8>(1.0f - v0))));
    store(out0 + i0, t0);
  }
  return 0;
}

int pw_lerp_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  const float* const in1 = (const float*)a[2];
  const float* const in2 = (const float*)a[3];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    const vec<float, 8> v0 = x0 - x1;
    const vec<float, 8> x2 = load<float, 8>(in2 + i0);
    const auto t0 = select((abs(x2) < vec<float, 8>(0.5f)), (x1 + (x2 * v0)), (x0 - (v0 * (vec<float, 8>(1.0f) - x2))));
    store(out0 + i0, t0);
  }
  return 0;
}

int pw_eq_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, x0 == x1);
  }
  return 0;
}

int pw_ne_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, x0 != x1);
  }
  return 0;
}

int pw_lt_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, x0 < x1);
  }
  return 0;
}

int pw_le_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, x0 <= x1);
  }
  return 0;
}

int pw_gt_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, x0 > x1);
  }
  return 0;
}

int pw_ge_Tensor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, x0 >= x1);
  }
  return 0;
}

int pw_logical_and_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, (x0 != vec<float, 8>(0.0f)) & (x1 != vec<float, 8>(0.0f)));
  }
  return 0;
}

int pw_logical_or_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, (x0 != vec<float, 8>(0.0f)) | (x1 != vec<float, 8>(0.0f)));
  }
  return 0;
}

int pw_logical_xor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, (x0 != vec<float, 8>(0.0f)) ^ (x1 != vec<float, 8>(0.0f)));
  }
  return 0;
}

int pw_logical_not_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, !(x0 != vec<float, 8>(0.0f)));
  }
  return 0;
}

int pw_isnan_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, isnan(x0));
  }
  return 0;
}

int pw_isinf_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, isinf(x0));
  }
  return 0;
}

int pw_isfinite_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, !(isnan(x0) | isinf(x0)));
  }
  return 0;
}

int pw_isposinf_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, isinf(x0) & (x0 > vec<float, 8>(0.0f)));
  }
  return 0;
}

int pw_isneginf_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, isinf(x0) & (x0 < vec<float, 8>(0.0f)));
  }
  return 0;
}

int pw_signbit_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store_mask(out0 + i0, copysign(vec<float, 8>(1.0f), x0) < vec<float, 8>(0.0f));
  }
  return 0;
}

int pw_sqrt_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, sqrt(x0));
  }
  return 0;
}

int pw_rsqrt_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, rsqrt(x0));
  }
  return 0;
}

int pw_exp_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, exp(x0));
  }
  return 0;
}

int pw_exp2_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, exp2(x0));
  }
  return 0;
}

int pw_expm1_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, expm1(x0));
  }
  return 0;
}

int pw_log_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, log(x0));
  }
  return 0;
}

int pw_log1p_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, log1p(x0));
  }
  return 0;
}

int pw_log2_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, log2(x0));
  }
  return 0;
}

int pw_log10_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, log10(x0));
  }
  return 0;
}

int pw_sin_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, sin(x0));
  }
  return 0;
}

int pw_cos_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, cos(x0));
  }
  return 0;
}

int pw_tan_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, tan(x0));
  }
  return 0;
}

int pw_asin_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, asin(x0));
  }
  return 0;
}

int pw_acos_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, acos(x0));
  }
  return 0;
}

int pw_atan_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, atan(x0));
  }
  return 0;
}

int pw_sinh_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, sinh(x0));
  }
  return 0;
}

int pw_cosh_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, cosh(x0));
  }
  return 0;
}

int pw_tanh_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, tanh(x0));
  }
  return 0;
}

int pw_asinh_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, asinh(x0));
  }
  return 0;
}

int pw_acosh_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, acosh(x0));
  }
  return 0;
}

int pw_atanh_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, atanh(x0));
  }
  return 0;
}

int pw_erf_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, erf(x0));
  }
  return 0;
}

int pw_erfc_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, erfc(x0));
  }
  return 0;
}

int pw_erfinv_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, erfinv(x0));
  }
  return 0;
}

int pw_lgamma_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, lgamma(x0));
  }
  return 0;
}

int pw_digamma_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, digamma(x0));
  }
  return 0;
}

int pw_sigmoid_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, sigmoid(x0));
  }
  return 0;
}

int pw_floor_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, floor(x0));
  }
  return 0;
}

int pw_ceil_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, ceil(x0));
  }
  return 0;
}

int pw_trunc_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, trunc(x0));
  }
  return 0;
}

int pw_round_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, round(x0));
  }
  return 0;
}

int pw_atan2_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, atan2(x0, x1));
  }
  return 0;
}

int pw_hypot_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, hypot(x0, x1));
  }
  return 0;
}

int pw_nextafter_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, nextafter(x0, x1));
  }
  return 0;
}

int pw_logaddexp_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    const auto t0 = select((isinf(x0) & (x0 == x1)), x0, (maximum(x0, x1) + log1p(exp((-abs((x0 - x1)))))));
    store(out0 + i0, t0);
  }
  return 0;
}

int pw_deg2rad_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, x0 * vec<float, 8>(0.01745329238474369f));
  }
  return 0;
}

int pw_rad2deg_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, x0 * vec<float, 8>(57.295780181884766f));
  }
  return 0;
}

int pw_angle_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    const auto t0 = select((x0 < vec<float, 8>(0.0f)), vec<float, 8>(3.1415927410125732f), vec<float, 8>(0.0f));
    store(out0 + i0, select(isnan(x0), x0, t0));
  }
  return 0;
}

int pw_gelu_none_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    const auto t0 = erf((x0 * vec<float, 8>(0.7071067690849304f))) + vec<float, 8>(1.0f);
    store(out0 + i0, (x0 * vec<float, 8>(0.5f)) * t0);
  }
  return 0;
}

int pw_gelu_tanh_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    const auto t0 = (x0 + (((x0 * x0) * x0) * vec<float, 8>(0.044714998453855515f))) * vec<float, 8>(0.7978845834732056f);
    store(out0 + i0, (x0 * vec<float, 8>(0.5f)) * (tanh(t0) + vec<float, 8>(1.0f)));
  }
  return 0;
}

int pw_div_Tensor_mode_trunc_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[2];
  const float* const in1 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in1 + i0);
    const vec<float, 8> x1 = load<float, 8>(in0 + i0);
    store(out0 + i0, trunc((x0 / x1)));
  }
  return 0;
}

int pw_clamp_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[3];
  const float* const in1 = (const float*)a[2];
  const float* const in2 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in2 + i0);
    const vec<float, 8> x1 = load<float, 8>(in1 + i0);
    const vec<float, 8> x2 = load<float, 8>(in0 + i0);
    store(out0 + i0, minimum(maximum(x0, x1), x2));
  }
  return 0;
}

int pw_logit_None_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, log((x0 / (vec<float, 8>(1.0f) - x0))));
  }
  return 0;
}

int pw_pow_Tensor_Scalar_3_0_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, (x0 * x0) * x0);
  }
  return 0;
}

int pw_pow_Tensor_Scalar__2_0_f32(Run* run, void* const* a, const int64_t* s) {
  const float* const in0 = (const float*)a[1];
  float* const out0 = (float*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const vec<float, 8> x0 = load<float, 8>(in0 + i0);
    store(out0 + i0, vec<float, 8>(1.0f) / (x0 * x0));
  }
  return 0;
}

}  // namespace ptc
