// Mathematical functions on float, double and vectors of them, under the same names.
//
// f32: each function is written once, as a template over the "float-like" type F (float or
// vec<float, W>), so a scalar tail gives what a vector lane gives. f64 and rare f32 functions call
// libm lane by lane. Worst errors over all of f32, with and without FMA, in units in the last place
// (tests/runtime measures them):
//
//   exp exp2 1.1  expm1 1.7  log 0.9  log2 log10 1.9 (1.0 with FMA)  log1p 1.4  sin cos 1.6 tan 3.3
//   tanh 2.4  sinh cosh 2.3  asin 2.3  acos 1.1  atan 1.5  asinh acosh 1.8  atanh 2.1  erf 3.1
//   sigmoid 2.0 pow 0.51  sqrt 0.5  rsqrt 1.5
//
// inf, NaN, denormals and signed zeros follow C99. Polynomials are minimax fits of our own (Remez,
// then coefficients rounded to f32 from the lowest up, the others refitted each time).
#ifndef PTC_MATH_H
#define PTC_MATH_H

#include "ptc_math_base.h"
#include "ptc_math_exp.h"
#include "ptc_math_pairs.h"
#include "ptc_math_trig.h"

#endif
