// Written by ptc/executor/generate.py from the rules of ptc/ops.
#include "generated.h"
#include "ptc_math.h"

namespace ptc {

int pw_relu_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, x0 | mask<8>(false));
  }
  return 0;
}

int pw_hardtanh_bool(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[3];
  const int64_t* const in1 = (const int64_t*)a[2];
  const bool* const in2 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const int64_t x1 = in1[0];
  const int64_t x2 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in2 + i0);
    store_mask(out0 + i0, (x0 | mask<8>(to_bool(x1))) & mask<8>(to_bool(x2)));
  }
  return 0;
}

int pw_relu6_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, (x0 | mask<8>(false)) & mask<8>(true));
  }
  return 0;
}

int pw_add_Tensor_bool(Run* run, void* const* a, const int64_t* s) {
  const int64_t* const in0 = (const int64_t*)a[3];
  const bool* const in1 = (const bool*)a[2];
  const bool* const in2 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  const int64_t x2 = in0[0];
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in2 + i0);
    const mask<8> x1 = load_mask<8>(in1 + i0);
    store_mask(out0 + i0, x0 | (x1 & mask<8>(to_bool(x2))));
  }
  return 0;
}

int pw_mul_Tensor_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[2];
  const bool* const in1 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in1 + i0);
    const mask<8> x1 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, x0 & x1);
  }
  return 0;
}

int pw_pow_Tensor_Tensor_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[2];
  const bool* const in1 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in1 + i0);
    const mask<8> x1 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, x0 | (!x1));
  }
  return 0;
}

int pw_square_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[1];
  int64_t* const out0 = (int64_t*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in0 + i0);
    const vec<int64_t, 8> v0 = convert<int64_t>(x0);
    store(out0 + i0, v0 * v0);
  }
  return 0;
}

int pw_abs_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, x0);
  }
  return 0;
}

int pw_maximum_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[2];
  const bool* const in1 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in1 + i0);
    const mask<8> x1 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, x0 | x1);
  }
  return 0;
}

int pw_eq_Tensor_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[2];
  const bool* const in1 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in1 + i0);
    const mask<8> x1 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, x0 == x1);
  }
  return 0;
}

int pw_ne_Tensor_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[2];
  const bool* const in1 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in1 + i0);
    const mask<8> x1 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, x0 != x1);
  }
  return 0;
}

int pw_lt_Tensor_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[2];
  const bool* const in1 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in1 + i0);
    const mask<8> x1 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, !x0 & x1);
  }
  return 0;
}

int pw_le_Tensor_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[2];
  const bool* const in1 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in1 + i0);
    const mask<8> x1 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, !x0 | x1);
  }
  return 0;
}

int pw_gt_Tensor_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[2];
  const bool* const in1 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in1 + i0);
    const mask<8> x1 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, x0 & !x1);
  }
  return 0;
}

int pw_ge_Tensor_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[2];
  const bool* const in1 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in1 + i0);
    const mask<8> x1 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, x0 | !x1);
  }
  return 0;
}

int pw_logical_xor_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[2];
  const bool* const in1 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in1 + i0);
    const mask<8> x1 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, x0 ^ x1);
  }
  return 0;
}

int pw_logical_not_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, !x0);
  }
  return 0;
}

int pw_isnan_bool(Run* run, void* const* a, const int64_t* s) {
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    store_mask(out0 + i0, mask<8>(false));
  }
  return 0;
}

int pw_isfinite_bool(Run* run, void* const* a, const int64_t* s) {
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    store_mask(out0 + i0, mask<8>(true));
  }
  return 0;
}

int pw_clamp_bool(Run* run, void* const* a, const int64_t* s) {
  const bool* const in0 = (const bool*)a[3];
  const bool* const in1 = (const bool*)a[2];
  const bool* const in2 = (const bool*)a[1];
  bool* const out0 = (bool*)a[0];
  int64_t const n0 = (int64_t)s[0];
  (void)run, (void)a, (void)s;
  for (int64_t i0 = 0; i0 < n0 * 16; i0 += 8) {
    const mask<8> x0 = load_mask<8>(in2 + i0);
    const mask<8> x1 = load_mask<8>(in1 + i0);
    const mask<8> x2 = load_mask<8>(in0 + i0);
    store_mask(out0 + i0, (x0 | x1) & x2);
  }
  return 0;
}

}  // namespace ptc
