#include "ptc_data_sized.h"
using namespace ptc;

extern "C" int64_t sized_nonzero_count(const TensorView *x) {
  return nonzero_count(*x);
}
extern "C" void sized_nonzero(const TensorView *x, int64_t *out, int64_t row,
                              int64_t dim) {
  if (row)
    nonzero_fill(*x, out, row, dim);
  else
    nonzero_fill(*x, out);
}
extern "C" int64_t sized_masked_count(const TensorView *mask) {
  return masked_select_count(*mask);
}
extern "C" void sized_masked(const TensorView *x, const TensorView *mask,
                             void *out) {
  masked_select_fill(*x, *mask, out);
}
static Unique unique;
extern "C" int sized_unique_count(const TensorView *x, int64_t *count) {
  return unique_count(unique, *x, count);
}
extern "C" void sized_unique(void *values, int64_t *inverse, int64_t *counts) {
  unique_fill(unique, values, inverse, counts);
}
extern "C" int sized_repeat_count(const TensorView *x, int64_t *count) {
  return repeat_interleave_count(*x, count);
}
extern "C" void sized_repeat(const TensorView *x, void *out) {
  repeat_interleave_fill(*x, out);
}
extern "C" int sized_bincount_count(const TensorView *x, int64_t minlength,
                                    int64_t *count) {
  return bincount_count(*x, minlength, count);
}
extern "C" void sized_bincount(const TensorView *x, int64_t count,
                               int64_t *out) {
  bincount_fill(*x, count, out);
}
