// Written by ptc/executor/generate.py from the rules of ptc/ops.
#include "generated.h"

namespace ptc {

GeneratedKernel pw_relu_f32;
GeneratedKernel pw_hardtanh_f32;
GeneratedKernel pw_relu6_f32;
GeneratedKernel pw_leaky_relu_f32;
GeneratedKernel pw_softshrink_f32;
GeneratedKernel pw__prelu_kernel_f32;
GeneratedKernel pw_silu_f32;
GeneratedKernel pw_hardsigmoid_f32;
GeneratedKernel pw_hardswish_f32;
GeneratedKernel pw_elu_f32;
GeneratedKernel pw_softplus_f32;
GeneratedKernel pw_mish_f32;
GeneratedKernel pw_log_sigmoid_f32;
GeneratedKernel pw_add_Tensor_f32;
GeneratedKernel pw_sub_Tensor_f32;
GeneratedKernel pw_rsub_Tensor_f32;
GeneratedKernel pw_mul_Tensor_f32;
GeneratedKernel pw_addcmul_f32;
GeneratedKernel pw_addcdiv_f32;
GeneratedKernel pw_div_Tensor_f32;
GeneratedKernel pw_floor_divide_f32;
GeneratedKernel pw_remainder_Tensor_f32;
GeneratedKernel pw_fmod_Tensor_f32;
GeneratedKernel pw_reciprocal_f32;
GeneratedKernel pw_pow_Tensor_Tensor_f32;
GeneratedKernel pw_square_f32;
GeneratedKernel pw_neg_f32;
GeneratedKernel pw_abs_f32;
GeneratedKernel pw_sign_f32;
GeneratedKernel pw_copysign_Tensor_f32;
GeneratedKernel pw_maximum_f32;
GeneratedKernel pw_minimum_f32;
GeneratedKernel pw_fmax_f32;
GeneratedKernel pw_fmin_f32;
GeneratedKernel pw_lerp_Scalar_f32;
GeneratedKernel pw_lerp_Tensor_f32;
GeneratedKernel pw_eq_Tensor_f32;
GeneratedKernel pw_ne_Tensor_f32;
GeneratedKernel pw_lt_Tensor_f32;
GeneratedKernel pw_le_Tensor_f32;
GeneratedKernel pw_gt_Tensor_f32;
GeneratedKernel pw_ge_Tensor_f32;
GeneratedKernel pw_logical_and_f32;
GeneratedKernel pw_logical_or_f32;
GeneratedKernel pw_logical_xor_f32;
GeneratedKernel pw_logical_not_f32;
GeneratedKernel pw_isnan_f32;
GeneratedKernel pw_isinf_f32;
GeneratedKernel pw_isfinite_f32;
GeneratedKernel pw_isposinf_f32;
GeneratedKernel pw_isneginf_f32;
GeneratedKernel pw_signbit_f32;
GeneratedKernel pw_sqrt_f32;
GeneratedKernel pw_rsqrt_f32;
GeneratedKernel pw_exp_f32;
GeneratedKernel pw_exp2_f32;
GeneratedKernel pw_expm1_f32;
GeneratedKernel pw_log_f32;
GeneratedKernel pw_log1p_f32;
GeneratedKernel pw_log2_f32;
GeneratedKernel pw_log10_f32;
GeneratedKernel pw_sin_f32;
GeneratedKernel pw_cos_f32;
GeneratedKernel pw_tan_f32;
GeneratedKernel pw_asin_f32;
GeneratedKernel pw_acos_f32;
GeneratedKernel pw_atan_f32;
GeneratedKernel pw_sinh_f32;
GeneratedKernel pw_cosh_f32;
GeneratedKernel pw_tanh_f32;
GeneratedKernel pw_asinh_f32;
GeneratedKernel pw_acosh_f32;
GeneratedKernel pw_atanh_f32;
GeneratedKernel pw_erf_f32;
GeneratedKernel pw_erfc_f32;
GeneratedKernel pw_erfinv_f32;
GeneratedKernel pw_lgamma_f32;
GeneratedKernel pw_digamma_f32;
GeneratedKernel pw_sigmoid_f32;
GeneratedKernel pw_floor_f32;
GeneratedKernel pw_ceil_f32;
GeneratedKernel pw_trunc_f32;
GeneratedKernel pw_round_f32;
GeneratedKernel pw_atan2_f32;
GeneratedKernel pw_hypot_f32;
GeneratedKernel pw_nextafter_f32;
GeneratedKernel pw_logaddexp_f32;
GeneratedKernel pw_deg2rad_f32;
GeneratedKernel pw_rad2deg_f32;
GeneratedKernel pw_angle_f32;
GeneratedKernel pw_gelu_none_f32;
GeneratedKernel pw_gelu_tanh_f32;
GeneratedKernel pw_div_Tensor_mode_trunc_f32;
GeneratedKernel pw_clamp_f32;
GeneratedKernel pw_logit_None_f32;
GeneratedKernel pw_pow_Tensor_Scalar_3_0_f32;
GeneratedKernel pw_pow_Tensor_Scalar__2_0_f32;
GeneratedKernel pw_relu_f64;
GeneratedKernel pw_hardtanh_f64;
GeneratedKernel pw_relu6_f64;
GeneratedKernel pw_leaky_relu_f64;
GeneratedKernel pw_softshrink_f64;
GeneratedKernel pw__prelu_kernel_f64;
GeneratedKernel pw_silu_f64;
GeneratedKernel pw_hardsigmoid_f64;
GeneratedKernel pw_hardswish_f64;
GeneratedKernel pw_elu_f64;
GeneratedKernel pw_softplus_f64;
GeneratedKernel pw_mish_f64;
GeneratedKernel pw_log_sigmoid_f64;
GeneratedKernel pw_add_Tensor_f64;
GeneratedKernel pw_sub_Tensor_f64;
GeneratedKernel pw_rsub_Tensor_f64;
GeneratedKernel pw_mul_Tensor_f64;
GeneratedKernel pw_addcmul_f64;
GeneratedKernel pw_addcdiv_f64;
GeneratedKernel pw_div_Tensor_f64;
GeneratedKernel pw_floor_divide_f64;
GeneratedKernel pw_remainder_Tensor_f64;
GeneratedKernel pw_fmod_Tensor_f64;
GeneratedKernel pw_reciprocal_f64;
GeneratedKernel pw_pow_Tensor_Tensor_f64;
GeneratedKernel pw_square_f64;
GeneratedKernel pw_neg_f64;
GeneratedKernel pw_abs_f64;
GeneratedKernel pw_sign_f64;
GeneratedKernel pw_copysign_Tensor_f64;
GeneratedKernel pw_maximum_f64;
GeneratedKernel pw_minimum_f64;
GeneratedKernel pw_fmax_f64;
GeneratedKernel pw_fmin_f64;
GeneratedKernel pw_lerp_Scalar_f64;
GeneratedKernel pw_lerp_Tensor_f64;
GeneratedKernel pw_eq_Tensor_f64;
GeneratedKernel pw_ne_Tensor_f64;
GeneratedKernel pw_lt_Tensor_f64;
GeneratedKernel pw_le_Tensor_f64;
GeneratedKernel pw_gt_Tensor_f64;
GeneratedKernel pw_ge_Tensor_f64;
GeneratedKernel pw_logical_and_f64;
GeneratedKernel pw_logical_or_f64;
GeneratedKernel pw_logical_xor_f64;
GeneratedKernel pw_logical_not_f64;
GeneratedKernel pw_isnan_f64;
GeneratedKernel pw_isinf_f64;
GeneratedKernel pw_isfinite_f64;
GeneratedKernel pw_isposinf_f64;
GeneratedKernel pw_isneginf_f64;
GeneratedKernel pw_signbit_f64;
GeneratedKernel pw_sqrt_f64;
GeneratedKernel pw_rsqrt_f64;
GeneratedKernel pw_exp_f64;
GeneratedKernel pw_exp2_f64;
GeneratedKernel pw_expm1_f64;
GeneratedKernel pw_log_f64;
GeneratedKernel pw_log1p_f64;
GeneratedKernel pw_log2_f64;
GeneratedKernel pw_log10_f64;
GeneratedKernel pw_sin_f64;
GeneratedKernel pw_cos_f64;
GeneratedKernel pw_tan_f64;
GeneratedKernel pw_asin_f64;
GeneratedKernel pw_acos_f64;
GeneratedKernel pw_atan_f64;
GeneratedKernel pw_sinh_f64;
GeneratedKernel pw_cosh_f64;
GeneratedKernel pw_tanh_f64;
GeneratedKernel pw_asinh_f64;
GeneratedKernel pw_acosh_f64;
GeneratedKernel pw_atanh_f64;
GeneratedKernel pw_erf_f64;
GeneratedKernel pw_erfc_f64;
GeneratedKernel pw_erfinv_f64;
GeneratedKernel pw_lgamma_f64;
GeneratedKernel pw_digamma_f64;
GeneratedKernel pw_sigmoid_f64;
GeneratedKernel pw_floor_f64;
GeneratedKernel pw_ceil_f64;
GeneratedKernel pw_trunc_f64;
GeneratedKernel pw_round_f64;
GeneratedKernel pw_atan2_f64;
GeneratedKernel pw_hypot_f64;
GeneratedKernel pw_nextafter_f64;
GeneratedKernel pw_logaddexp_f64;
GeneratedKernel pw_deg2rad_f64;
GeneratedKernel pw_rad2deg_f64;
GeneratedKernel pw_angle_f64;
GeneratedKernel pw_gelu_none_f64;
GeneratedKernel pw_gelu_tanh_f64;
GeneratedKernel pw_div_Tensor_mode_trunc_f64;
GeneratedKernel pw_clamp_f64;
GeneratedKernel pw_logit_None_f64;
GeneratedKernel pw_pow_Tensor_Scalar_3_0_f64;
GeneratedKernel pw_pow_Tensor_Scalar__2_0_f64;
GeneratedKernel pw_relu_i64;
GeneratedKernel pw_hardtanh_i64;
GeneratedKernel pw_relu6_i64;
GeneratedKernel pw_leaky_relu_i64;
GeneratedKernel pw_softshrink_i64;
GeneratedKernel pw__prelu_kernel_i64;
GeneratedKernel pw_add_Tensor_i64;
GeneratedKernel pw_sub_Tensor_i64;
GeneratedKernel pw_rsub_Tensor_i64;
GeneratedKernel pw_mul_Tensor_i64;
GeneratedKernel pw_addcmul_i64;
GeneratedKernel pw_floor_divide_i64;
GeneratedKernel pw_remainder_Tensor_i64;
GeneratedKernel pw_fmod_Tensor_i64;
GeneratedKernel pw_pow_Tensor_Tensor_i64;
GeneratedKernel pw_square_i64;
GeneratedKernel pw_neg_i64;
GeneratedKernel pw_abs_i64;
GeneratedKernel pw_sign_i64;
GeneratedKernel pw_maximum_i64;
GeneratedKernel pw_minimum_i64;
GeneratedKernel pw_lerp_Scalar_i64;
GeneratedKernel pw_lerp_Tensor_i64;
GeneratedKernel pw_eq_Tensor_i64;
GeneratedKernel pw_ne_Tensor_i64;
GeneratedKernel pw_lt_Tensor_i64;
GeneratedKernel pw_le_Tensor_i64;
GeneratedKernel pw_gt_Tensor_i64;
GeneratedKernel pw_ge_Tensor_i64;
GeneratedKernel pw_logical_and_i64;
GeneratedKernel pw_logical_or_i64;
GeneratedKernel pw_logical_xor_i64;
GeneratedKernel pw_logical_not_i64;
GeneratedKernel pw_bitwise_and_Tensor_i64;
GeneratedKernel pw_bitwise_or_Tensor_i64;
GeneratedKernel pw_bitwise_xor_Tensor_i64;
GeneratedKernel pw_bitwise_not_i64;
GeneratedKernel pw_bitwise_left_shift_Tensor_i64;
GeneratedKernel pw_bitwise_right_shift_Tensor_i64;
GeneratedKernel pw_isnan_i64;
GeneratedKernel pw_isfinite_i64;
GeneratedKernel pw_signbit_i64;
GeneratedKernel pw_div_Tensor_mode_trunc_i64;
GeneratedKernel pw_clamp_i64;
GeneratedKernel pw_relu_bool;
GeneratedKernel pw_hardtanh_bool;
GeneratedKernel pw_relu6_bool;
GeneratedKernel pw_add_Tensor_bool;
GeneratedKernel pw_mul_Tensor_bool;
GeneratedKernel pw_pow_Tensor_Tensor_bool;
GeneratedKernel pw_square_bool;
GeneratedKernel pw_abs_bool;
GeneratedKernel pw_maximum_bool;
GeneratedKernel pw_eq_Tensor_bool;
GeneratedKernel pw_ne_Tensor_bool;
GeneratedKernel pw_lt_Tensor_bool;
GeneratedKernel pw_le_Tensor_bool;
GeneratedKernel pw_gt_Tensor_bool;
GeneratedKernel pw_ge_Tensor_bool;
GeneratedKernel pw_logical_xor_bool;
GeneratedKernel pw_logical_not_bool;
GeneratedKernel pw_isnan_bool;
GeneratedKernel pw_isfinite_bool;
GeneratedKernel pw_clamp_bool;

namespace exec {

const PointwiseRow pointwise_rows[] = {
    {"aten::relu", "o", "", 0, 0, "cccc", {pw_relu_f32, pw_relu_f64, pw_relu_i64, pw_relu_bool}},
    {"aten::hardtanh", "onn", "", 6, 0, "cccc", {pw_hardtanh_f32, pw_hardtanh_f64, pw_hardtanh_i64, pw_hardtanh_bool}},
    {"aten::relu6", "o", "", 0, 0, "cccc", {pw_relu6_f32, pw_relu6_f64, pw_relu6_i64, pw_relu6_bool}},
    {"aten::leaky_relu", "on", "", 0, 0, "ccc-", {pw_leaky_relu_f32, pw_leaky_relu_f64, pw_leaky_relu_i64, nullptr}},
    {"aten::softshrink", "on", "", 0, 0, "ccc-", {pw_softshrink_f32, pw_softshrink_f64, pw_softshrink_i64, nullptr}},
    {"aten::_prelu_kernel", "oo", "", 3, 0, "ccc-", {pw__prelu_kernel_f32, pw__prelu_kernel_f64, pw__prelu_kernel_i64, nullptr}},
    {"aten::silu", "o", "", 0, 0, "cc--", {pw_silu_f32, pw_silu_f64, nullptr, nullptr}},
    {"aten::hardsigmoid", "o", "", 0, 0, "cc--", {pw_hardsigmoid_f32, pw_hardsigmoid_f64, nullptr, nullptr}},
    {"aten::hardswish", "o", "", 0, 0, "cc--", {pw_hardswish_f32, pw_hardswish_f64, nullptr, nullptr}},
    {"aten::elu", "onnn", "", 0, 0, "cc--", {pw_elu_f32, pw_elu_f64, nullptr, nullptr}},
    {"aten::softplus", "onn", "", 0, 0, "cc--", {pw_softplus_f32, pw_softplus_f64, nullptr, nullptr}},
    {"aten::mish", "o", "", 0, 0, "cc--", {pw_mish_f32, pw_mish_f64, nullptr, nullptr}},
    {"aten::log_sigmoid", "o", "", 0, 0, "cc--", {pw_log_sigmoid_f32, pw_log_sigmoid_f64, nullptr, nullptr}},
    {"aten::add.Tensor", "oon", "", 3, 0, "cccc", {pw_add_Tensor_f32, pw_add_Tensor_f64, pw_add_Tensor_i64, pw_add_Tensor_bool}},
    {"aten::add.Scalar", "oon", "", 3, 0, "cccc", {pw_add_Tensor_f32, pw_add_Tensor_f64, pw_add_Tensor_i64, pw_add_Tensor_bool}},
    {"aten::sub.Tensor", "oon", "", 3, 0, "ccc-", {pw_sub_Tensor_f32, pw_sub_Tensor_f64, pw_sub_Tensor_i64, nullptr}},
    {"aten::sub.Scalar", "oon", "", 3, 0, "ccc-", {pw_sub_Tensor_f32, pw_sub_Tensor_f64, pw_sub_Tensor_i64, nullptr}},
    {"aten::rsub.Tensor", "oon", "", 3, 0, "ccc-", {pw_rsub_Tensor_f32, pw_rsub_Tensor_f64, pw_rsub_Tensor_i64, nullptr}},
    {"aten::rsub.Scalar", "oon", "", 3, 0, "ccc-", {pw_rsub_Tensor_f32, pw_rsub_Tensor_f64, pw_rsub_Tensor_i64, nullptr}},
    {"aten::mul.Tensor", "oo", "", 1, 0, "cccc", {pw_mul_Tensor_f32, pw_mul_Tensor_f64, pw_mul_Tensor_i64, pw_mul_Tensor_bool}},
    {"aten::mul.Scalar", "oo", "", 1, 0, "cccc", {pw_mul_Tensor_f32, pw_mul_Tensor_f64, pw_mul_Tensor_i64, pw_mul_Tensor_bool}},
    {"aten::addcmul", "ooon", "", 7, 0, "ccc-", {pw_addcmul_f32, pw_addcmul_f64, pw_addcmul_i64, nullptr}},
    {"aten::addcdiv", "ooon", "", 7, 0, "cc--", {pw_addcdiv_f32, pw_addcdiv_f64, nullptr, nullptr}},
    {"aten::div.Tensor", "oo", "", 1, 1, "ccff", {pw_div_Tensor_f32, pw_div_Tensor_f64, nullptr, nullptr}},
    {"aten::div.Scalar", "oo", "", 1, 1, "ccff", {pw_div_Tensor_f32, pw_div_Tensor_f64, nullptr, nullptr}},
    {"aten::floor_divide", "oo", "", 1, 0, "ccc-", {pw_floor_divide_f32, pw_floor_divide_f64, pw_floor_divide_i64, nullptr}},
    {"aten::floor_divide.Scalar", "oo", "", 1, 0, "ccc-", {pw_floor_divide_f32, pw_floor_divide_f64, pw_floor_divide_i64, nullptr}},
    {"aten::remainder.Tensor", "oo", "", 3, 0, "ccc-", {pw_remainder_Tensor_f32, pw_remainder_Tensor_f64, pw_remainder_Tensor_i64, nullptr}},
    {"aten::remainder.Scalar", "oo", "", 3, 0, "ccc-", {pw_remainder_Tensor_f32, pw_remainder_Tensor_f64, pw_remainder_Tensor_i64, nullptr}},
    {"aten::remainder.Scalar_Tensor", "oo", "", 3, 0, "ccc-", {pw_remainder_Tensor_f32, pw_remainder_Tensor_f64, pw_remainder_Tensor_i64, nullptr}},
    {"aten::fmod.Tensor", "oo", "", 3, 0, "ccc-", {pw_fmod_Tensor_f32, pw_fmod_Tensor_f64, pw_fmod_Tensor_i64, nullptr}},
    {"aten::fmod.Scalar", "oo", "", 3, 0, "ccc-", {pw_fmod_Tensor_f32, pw_fmod_Tensor_f64, pw_fmod_Tensor_i64, nullptr}},
    {"aten::reciprocal", "o", "", 0, 1, "ccff", {pw_reciprocal_f32, pw_reciprocal_f64, nullptr, nullptr}},
    {"aten::pow.Tensor_Tensor", "oo", "", 3, 0, "cccc", {pw_pow_Tensor_Tensor_f32, pw_pow_Tensor_Tensor_f64, pw_pow_Tensor_Tensor_i64, pw_pow_Tensor_Tensor_bool}},
    {"aten::pow.Scalar", "oo", "", 3, 0, "cccc", {pw_pow_Tensor_Tensor_f32, pw_pow_Tensor_Tensor_f64, pw_pow_Tensor_Tensor_i64, pw_pow_Tensor_Tensor_bool}},
    {"aten::square", "o", "", 0, 0, "cccl", {pw_square_f32, pw_square_f64, pw_square_i64, pw_square_bool}},
    {"aten::neg", "o", "", 0, 0, "ccc-", {pw_neg_f32, pw_neg_f64, pw_neg_i64, nullptr}},
    {"aten::abs", "o", "", 0, 0, "cccc", {pw_abs_f32, pw_abs_f64, pw_abs_i64, pw_abs_bool}},
    {"aten::sign", "o", "", 0, 0, "cccc", {pw_sign_f32, pw_sign_f64, pw_sign_i64, pw_abs_bool}},
    {"aten::sgn", "o", "", 0, 0, "cccc", {pw_sign_f32, pw_sign_f64, pw_sign_i64, pw_abs_bool}},
    {"aten::copysign.Tensor", "oo", "", 3, 1, "ccff", {pw_copysign_Tensor_f32, pw_copysign_Tensor_f64, nullptr, nullptr}},
    {"aten::copysign.Scalar", "oo", "", 3, 1, "ccff", {pw_copysign_Tensor_f32, pw_copysign_Tensor_f64, nullptr, nullptr}},
    {"aten::maximum", "oo", "", 3, 0, "cccc", {pw_maximum_f32, pw_maximum_f64, pw_maximum_i64, pw_maximum_bool}},
    {"aten::minimum", "oo", "", 3, 0, "cccc", {pw_minimum_f32, pw_minimum_f64, pw_minimum_i64, pw_mul_Tensor_bool}},
    {"aten::fmax", "oo", "", 3, 0, "cccc", {pw_fmax_f32, pw_fmax_f64, pw_maximum_i64, pw_maximum_bool}},
    {"aten::fmin", "oo", "", 3, 0, "cccc", {pw_fmin_f32, pw_fmin_f64, pw_minimum_i64, pw_mul_Tensor_bool}},
    {"aten::clamp_min", "oo", "", 3, 0, "cccc", {pw_maximum_f32, pw_maximum_f64, pw_maximum_i64, pw_maximum_bool}},
    {"aten::clamp_min.Tensor", "oo", "", 3, 0, "cccc", {pw_maximum_f32, pw_maximum_f64, pw_maximum_i64, pw_maximum_bool}},
    {"aten::clamp_max", "oo", "", 3, 0, "cccc", {pw_minimum_f32, pw_minimum_f64, pw_minimum_i64, pw_mul_Tensor_bool}},
    {"aten::clamp_max.Tensor", "oo", "", 3, 0, "cccc", {pw_minimum_f32, pw_minimum_f64, pw_minimum_i64, pw_mul_Tensor_bool}},
    {"aten::lerp.Scalar", "oon", "", 3, 0, "ccc-", {pw_lerp_Scalar_f32, pw_lerp_Scalar_f64, pw_lerp_Scalar_i64, nullptr}},
    {"aten::lerp.Tensor", "ooo", "", 3, 0, "ccc-", {pw_lerp_Tensor_f32, pw_lerp_Tensor_f64, pw_lerp_Tensor_i64, nullptr}},
    {"aten::eq.Tensor", "oo", "", 3, 0, "bbbc", {pw_eq_Tensor_f32, pw_eq_Tensor_f64, pw_eq_Tensor_i64, pw_eq_Tensor_bool}},
    {"aten::ne.Tensor", "oo", "", 3, 0, "bbbc", {pw_ne_Tensor_f32, pw_ne_Tensor_f64, pw_ne_Tensor_i64, pw_ne_Tensor_bool}},
    {"aten::lt.Tensor", "oo", "", 3, 0, "bbbc", {pw_lt_Tensor_f32, pw_lt_Tensor_f64, pw_lt_Tensor_i64, pw_lt_Tensor_bool}},
    {"aten::le.Tensor", "oo", "", 3, 0, "bbbc", {pw_le_Tensor_f32, pw_le_Tensor_f64, pw_le_Tensor_i64, pw_le_Tensor_bool}},
    {"aten::gt.Tensor", "oo", "", 3, 0, "bbbc", {pw_gt_Tensor_f32, pw_gt_Tensor_f64, pw_gt_Tensor_i64, pw_gt_Tensor_bool}},
    {"aten::ge.Tensor", "oo", "", 3, 0, "bbbc", {pw_ge_Tensor_f32, pw_ge_Tensor_f64, pw_ge_Tensor_i64, pw_ge_Tensor_bool}},
    {"aten::eq.Scalar", "oo", "", 3, 0, "bbbc", {pw_eq_Tensor_f32, pw_eq_Tensor_f64, pw_eq_Tensor_i64, pw_eq_Tensor_bool}},
    {"aten::ne.Scalar", "oo", "", 3, 0, "bbbc", {pw_ne_Tensor_f32, pw_ne_Tensor_f64, pw_ne_Tensor_i64, pw_ne_Tensor_bool}},
    {"aten::lt.Scalar", "oo", "", 3, 0, "bbbc", {pw_lt_Tensor_f32, pw_lt_Tensor_f64, pw_lt_Tensor_i64, pw_lt_Tensor_bool}},
    {"aten::le.Scalar", "oo", "", 3, 0, "bbbc", {pw_le_Tensor_f32, pw_le_Tensor_f64, pw_le_Tensor_i64, pw_le_Tensor_bool}},
    {"aten::gt.Scalar", "oo", "", 3, 0, "bbbc", {pw_gt_Tensor_f32, pw_gt_Tensor_f64, pw_gt_Tensor_i64, pw_gt_Tensor_bool}},
    {"aten::ge.Scalar", "oo", "", 3, 0, "bbbc", {pw_ge_Tensor_f32, pw_ge_Tensor_f64, pw_ge_Tensor_i64, pw_ge_Tensor_bool}},
    {"aten::logical_and", "oo", "", 0, 4, "bbbc", {pw_logical_and_f32, pw_logical_and_f64, pw_logical_and_i64, pw_mul_Tensor_bool}},
    {"aten::logical_or", "oo", "", 0, 4, "bbbc", {pw_logical_or_f32, pw_logical_or_f64, pw_logical_or_i64, pw_maximum_bool}},
    {"aten::logical_xor", "oo", "", 0, 4, "bbbc", {pw_logical_xor_f32, pw_logical_xor_f64, pw_logical_xor_i64, pw_logical_xor_bool}},
    {"aten::logical_not", "o", "", 0, 0, "bbbc", {pw_logical_not_f32, pw_logical_not_f64, pw_logical_not_i64, pw_logical_not_bool}},
    {"aten::bitwise_and.Tensor", "oo", "", 0, 0, "--cc", {nullptr, nullptr, pw_bitwise_and_Tensor_i64, pw_mul_Tensor_bool}},
    {"aten::bitwise_and.Scalar", "oo", "", 0, 0, "--cc", {nullptr, nullptr, pw_bitwise_and_Tensor_i64, pw_mul_Tensor_bool}},
    {"aten::bitwise_and.Scalar_Tensor", "oo", "", 0, 0, "--cc", {nullptr, nullptr, pw_bitwise_and_Tensor_i64, pw_mul_Tensor_bool}},
    {"aten::bitwise_or.Tensor", "oo", "", 0, 0, "--cc", {nullptr, nullptr, pw_bitwise_or_Tensor_i64, pw_maximum_bool}},
    {"aten::bitwise_or.Scalar", "oo", "", 0, 0, "--cc", {nullptr, nullptr, pw_bitwise_or_Tensor_i64, pw_maximum_bool}},
    {"aten::bitwise_or.Scalar_Tensor", "oo", "", 0, 0, "--cc", {nullptr, nullptr, pw_bitwise_or_Tensor_i64, pw_maximum_bool}},
    {"aten::bitwise_xor.Tensor", "oo", "", 0, 0, "--cc", {nullptr, nullptr, pw_bitwise_xor_Tensor_i64, pw_logical_xor_bool}},
    {"aten::bitwise_xor.Scalar", "oo", "", 0, 0, "--cc", {nullptr, nullptr, pw_bitwise_xor_Tensor_i64, pw_logical_xor_bool}},
    {"aten::bitwise_xor.Scalar_Tensor", "oo", "", 0, 0, "--cc", {nullptr, nullptr, pw_bitwise_xor_Tensor_i64, pw_logical_xor_bool}},
    {"aten::bitwise_not", "o", "", 0, 0, "--cc", {nullptr, nullptr, pw_bitwise_not_i64, pw_logical_not_bool}},
    {"aten::bitwise_left_shift.Tensor", "oo", "", 0, 0, "--c-", {nullptr, nullptr, pw_bitwise_left_shift_Tensor_i64, nullptr}},
    {"aten::bitwise_left_shift.Tensor_Scalar", "oo", "", 0, 0, "--c-", {nullptr, nullptr, pw_bitwise_left_shift_Tensor_i64, nullptr}},
    {"aten::__lshift__.Tensor", "oo", "", 0, 0, "--c-", {nullptr, nullptr, pw_bitwise_left_shift_Tensor_i64, nullptr}},
    {"aten::__lshift__.Scalar", "oo", "", 0, 0, "--c-", {nullptr, nullptr, pw_bitwise_left_shift_Tensor_i64, nullptr}},
    {"aten::bitwise_right_shift.Tensor", "oo", "", 0, 0, "--c-", {nullptr, nullptr, pw_bitwise_right_shift_Tensor_i64, nullptr}},
    {"aten::bitwise_right_shift.Tensor_Scalar", "oo", "", 0, 0, "--c-", {nullptr, nullptr, pw_bitwise_right_shift_Tensor_i64, nullptr}},
    {"aten::__rshift__.Tensor", "oo", "", 0, 0, "--c-", {nullptr, nullptr, pw_bitwise_right_shift_Tensor_i64, nullptr}},
    {"aten::__rshift__.Scalar", "oo", "", 0, 0, "--c-", {nullptr, nullptr, pw_bitwise_right_shift_Tensor_i64, nullptr}},
    {"aten::isnan", "o", "", 0, 0, "bbbc", {pw_isnan_f32, pw_isnan_f64, pw_isnan_i64, pw_isnan_bool}},
    {"aten::isinf", "o", "", 0, 0, "bbbc", {pw_isinf_f32, pw_isinf_f64, pw_isnan_i64, pw_isnan_bool}},
    {"aten::isfinite", "o", "", 0, 0, "bbbc", {pw_isfinite_f32, pw_isfinite_f64, pw_isfinite_i64, pw_isfinite_bool}},
    {"aten::isposinf", "o", "", 0, 0, "bbbc", {pw_isposinf_f32, pw_isposinf_f64, pw_isnan_i64, pw_isnan_bool}},
    {"aten::isneginf", "o", "", 0, 0, "bbbc", {pw_isneginf_f32, pw_isneginf_f64, pw_isnan_i64, pw_isnan_bool}},
    {"aten::signbit", "o", "", 0, 0, "bbbc", {pw_signbit_f32, pw_signbit_f64, pw_signbit_i64, pw_isnan_bool}},
    {"aten::sqrt", "o", "", 0, 1, "ccff", {pw_sqrt_f32, pw_sqrt_f64, nullptr, nullptr}},
    {"aten::rsqrt", "o", "", 0, 1, "ccff", {pw_rsqrt_f32, pw_rsqrt_f64, nullptr, nullptr}},
    {"aten::exp", "o", "", 0, 1, "ccff", {pw_exp_f32, pw_exp_f64, nullptr, nullptr}},
    {"aten::exp2", "o", "", 0, 1, "ccff", {pw_exp2_f32, pw_exp2_f64, nullptr, nullptr}},
    {"aten::expm1", "o", "", 0, 1, "ccff", {pw_expm1_f32, pw_expm1_f64, nullptr, nullptr}},
    {"aten::log", "o", "", 0, 1, "ccff", {pw_log_f32, pw_log_f64, nullptr, nullptr}},
    {"aten::log1p", "o", "", 0, 1, "ccff", {pw_log1p_f32, pw_log1p_f64, nullptr, nullptr}},
    {"aten::log2", "o", "", 0, 1, "ccff", {pw_log2_f32, pw_log2_f64, nullptr, nullptr}},
    {"aten::log10", "o", "", 0, 1, "ccff", {pw_log10_f32, pw_log10_f64, nullptr, nullptr}},
    {"aten::sin", "o", "", 0, 1, "ccff", {pw_sin_f32, pw_sin_f64, nullptr, nullptr}},
    {"aten::cos", "o", "", 0, 1, "ccff", {pw_cos_f32, pw_cos_f64, nullptr, nullptr}},
    {"aten::tan", "o", "", 0, 1, "ccff", {pw_tan_f32, pw_tan_f64, nullptr, nullptr}},
    {"aten::asin", "o", "", 0, 1, "ccff", {pw_asin_f32, pw_asin_f64, nullptr, nullptr}},
    {"aten::acos", "o", "", 0, 1, "ccff", {pw_acos_f32, pw_acos_f64, nullptr, nullptr}},
    {"aten::atan", "o", "", 0, 1, "ccff", {pw_atan_f32, pw_atan_f64, nullptr, nullptr}},
    {"aten::sinh", "o", "", 0, 1, "ccff", {pw_sinh_f32, pw_sinh_f64, nullptr, nullptr}},
    {"aten::cosh", "o", "", 0, 1, "ccff", {pw_cosh_f32, pw_cosh_f64, nullptr, nullptr}},
    {"aten::tanh", "o", "", 0, 1, "ccff", {pw_tanh_f32, pw_tanh_f64, nullptr, nullptr}},
    {"aten::asinh", "o", "", 0, 1, "ccff", {pw_asinh_f32, pw_asinh_f64, nullptr, nullptr}},
    {"aten::acosh", "o", "", 0, 1, "ccff", {pw_acosh_f32, pw_acosh_f64, nullptr, nullptr}},
    {"aten::atanh", "o", "", 0, 1, "ccff", {pw_atanh_f32, pw_atanh_f64, nullptr, nullptr}},
    {"aten::erf", "o", "", 0, 1, "ccff", {pw_erf_f32, pw_erf_f64, nullptr, nullptr}},
    {"aten::erfc", "o", "", 0, 1, "ccff", {pw_erfc_f32, pw_erfc_f64, nullptr, nullptr}},
    {"aten::erfinv", "o", "", 0, 1, "ccff", {pw_erfinv_f32, pw_erfinv_f64, nullptr, nullptr}},
    {"aten::lgamma", "o", "", 0, 1, "ccff", {pw_lgamma_f32, pw_lgamma_f64, nullptr, nullptr}},
    {"aten::digamma", "o", "", 0, 1, "ccff", {pw_digamma_f32, pw_digamma_f64, nullptr, nullptr}},
    {"aten::sigmoid", "o", "", 0, 1, "ccff", {pw_sigmoid_f32, pw_sigmoid_f64, nullptr, nullptr}},
    {"aten::floor", "o", "", 0, 2, "cccc", {pw_floor_f32, pw_floor_f64, nullptr, nullptr}},
    {"aten::ceil", "o", "", 0, 2, "cccc", {pw_ceil_f32, pw_ceil_f64, nullptr, nullptr}},
    {"aten::trunc", "o", "", 0, 2, "cccc", {pw_trunc_f32, pw_trunc_f64, nullptr, nullptr}},
    {"aten::round", "o", "", 0, 2, "cccc", {pw_round_f32, pw_round_f64, nullptr, nullptr}},
    {"aten::atan2", "oo", "", 3, 1, "ccff", {pw_atan2_f32, pw_atan2_f64, nullptr, nullptr}},
    {"aten::hypot", "oo", "", 3, 1, "ccff", {pw_hypot_f32, pw_hypot_f64, nullptr, nullptr}},
    {"aten::nextafter", "oo", "", 3, 8, "cc--", {pw_nextafter_f32, pw_nextafter_f64, nullptr, nullptr}},
    {"aten::logaddexp", "oo", "", 3, 1, "ccff", {pw_logaddexp_f32, pw_logaddexp_f64, nullptr, nullptr}},
    {"aten::deg2rad", "o", "", 0, 1, "ccff", {pw_deg2rad_f32, pw_deg2rad_f64, nullptr, nullptr}},
    {"aten::rad2deg", "o", "", 0, 1, "ccff", {pw_rad2deg_f32, pw_rad2deg_f64, nullptr, nullptr}},
    {"aten::angle", "o", "", 0, 1, "ccff", {pw_angle_f32, pw_angle_f64, nullptr, nullptr}},
    {"aten::gelu", "os", "none", 0, 0, "cc--", {pw_gelu_none_f32, pw_gelu_none_f64, nullptr, nullptr}},
    {"aten::gelu", "os", "tanh", 0, 0, "cc--", {pw_gelu_tanh_f32, pw_gelu_tanh_f64, nullptr, nullptr}},
    {"aten::div.Tensor_mode", "oos", "floor", 1, 0, "ccc-", {pw_floor_divide_f32, pw_floor_divide_f64, pw_floor_divide_i64, nullptr}},
    {"aten::div.Tensor_mode", "oos", "trunc", 1, 0, "ccc-", {pw_div_Tensor_mode_trunc_f32, pw_div_Tensor_mode_trunc_f64, pw_div_Tensor_mode_trunc_i64, nullptr}},
    {"aten::div.Tensor_mode", "oos", "None", 1, 1, "ccff", {pw_div_Tensor_f32, pw_div_Tensor_f64, nullptr, nullptr}},
    {"aten::div.Scalar_mode", "oos", "floor", 1, 0, "ccc-", {pw_floor_divide_f32, pw_floor_divide_f64, pw_floor_divide_i64, nullptr}},
    {"aten::div.Scalar_mode", "oos", "trunc", 1, 0, "ccc-", {pw_div_Tensor_mode_trunc_f32, pw_div_Tensor_mode_trunc_f64, pw_div_Tensor_mode_trunc_i64, nullptr}},
    {"aten::div.Scalar_mode", "oos", "None", 1, 1, "ccff", {pw_div_Tensor_f32, pw_div_Tensor_f64, nullptr, nullptr}},
    {"aten::clamp", "ooo", "", 7, 0, "cccc", {pw_clamp_f32, pw_clamp_f64, pw_clamp_i64, pw_clamp_bool}},
    {"aten::clamp", "oso", "None", 5, 0, "cccc", {pw_minimum_f32, pw_minimum_f64, pw_minimum_i64, pw_mul_Tensor_bool}},
    {"aten::clamp", "oos", "None", 3, 0, "cccc", {pw_maximum_f32, pw_maximum_f64, pw_maximum_i64, pw_maximum_bool}},
    {"aten::clamp.Tensor", "ooo", "", 7, 0, "cccc", {pw_clamp_f32, pw_clamp_f64, pw_clamp_i64, pw_clamp_bool}},
    {"aten::clamp.Tensor", "oso", "None", 5, 0, "cccc", {pw_minimum_f32, pw_minimum_f64, pw_minimum_i64, pw_mul_Tensor_bool}},
    {"aten::clamp.Tensor", "oos", "None", 3, 0, "cccc", {pw_maximum_f32, pw_maximum_f64, pw_maximum_i64, pw_maximum_bool}},
    {"aten::logit", "os", "None", 0, 1, "ccff", {pw_logit_None_f32, pw_logit_None_f64, nullptr, nullptr}},
    {"aten::pow.Tensor_Scalar", "os", "0.5", 0, 1, "ccff", {pw_sqrt_f32, pw_sqrt_f64, nullptr, nullptr}},
    {"aten::pow.Tensor_Scalar", "os", "2.0", 0, 1, "ccff", {pw_square_f32, pw_square_f64, nullptr, nullptr}},
    {"aten::pow.Tensor_Scalar", "os", "3.0", 0, 1, "ccff", {pw_pow_Tensor_Scalar_3_0_f32, pw_pow_Tensor_Scalar_3_0_f64, nullptr, nullptr}},
    {"aten::pow.Tensor_Scalar", "os", "-0.5", 0, 1, "ccff", {pw_rsqrt_f32, pw_rsqrt_f64, nullptr, nullptr}},
    {"aten::pow.Tensor_Scalar", "os", "-1.0", 0, 1, "ccff", {pw_reciprocal_f32, pw_reciprocal_f64, nullptr, nullptr}},
    {"aten::pow.Tensor_Scalar", "os", "-2.0", 0, 1, "ccff", {pw_pow_Tensor_Scalar__2_0_f32, pw_pow_Tensor_Scalar__2_0_f64, nullptr, nullptr}},
    {"aten::pow.Tensor_Scalar", "oo", "", 3, 0, "cccc", {pw_pow_Tensor_Tensor_f32, pw_pow_Tensor_Tensor_f64, pw_pow_Tensor_Tensor_i64, pw_pow_Tensor_Tensor_bool}},
};
const int pointwise_row_count = sizeof pointwise_rows / sizeof *pointwise_rows;

}  // namespace exec
}  // namespace ptc
