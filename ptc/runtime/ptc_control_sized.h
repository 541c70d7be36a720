// Operators whose result's shape depends on data, on variables of a program with control flow.
//
// Owns their memory; what they compute is in ptc_data_sized.h.
#ifndef PTC_CONTROL_SIZED_H
#define PTC_CONTROL_SIZED_H

#include "ptc_control.h"
#include "ptc_data_sized.h"

namespace ptc {

enum { CODE_INT = 0 };

inline int sized_nonzero(Control* c, Tensor* to, const Tensor& x) {
  const DenseView view(x);
  const int64_t dims[] = {nonzero_count(view), x.ndim};
  Tensor made = {};
  if (const int status = create(c, &made, CODE_INT, 64, 2, dims)) return status;
  nonzero_fill(view, (int64_t*)made.data());
  move(c, to, &made);
  return STATUS_OK;
}

inline int sized_masked_select(Control* c, Tensor* to, const Tensor& x, const Tensor& mask) {
  const DenseView values(x), chosen(mask);
  const int64_t count = masked_select_count(chosen);
  Tensor made = {};
  if (const int status = create(c, &made, x.code, x.bits, 1, &count)) return status;
  masked_select_fill(values, chosen, made.data());
  move(c, to, &made);
  return STATUS_OK;
}

// `inverse` and `counts` may be null.
inline int sized_unique(Control* c, Tensor* to, Tensor* inverse, Tensor* counts, const Tensor& x) {
  const DenseView view(x);
  Unique unique;
  int64_t count = 0;
  if (const int status = unique_count(unique, view, &count)) return c->fail(status, "no memory to sort a tensor");
  Tensor values = {}, places = {}, numbers = {};
  int status = create(c, &values, x.code, x.bits, 1, &count);
  if (!status && inverse) status = create(c, &places, CODE_INT, 64, x.ndim, x.dims);
  if (!status && counts) status = create(c, &numbers, CODE_INT, 64, 1, &count);
  if (!status) {
    unique_fill(unique, values.data(), inverse ? (int64_t*)places.data() : nullptr,
                counts ? (int64_t*)numbers.data() : nullptr);
    move(c, to, &values);
    if (inverse) move(c, inverse, &places);
    if (counts) move(c, counts, &numbers);
  }
  drop(c, &values);
  drop(c, &places);
  drop(c, &numbers);
  return status;
}

inline int sized_repeat_interleave(Control* c, Tensor* to, const Tensor& repeats) {
  const DenseView view(repeats);
  int64_t count = 0;
  if (const int status = repeat_interleave_count(view, &count))
    return status == STATUS_RUNTIME ? c->raise("RuntimeError", "repeats can not be negative") : c->out_of_memory();
  Tensor made = {};
  if (const int status = create(c, &made, repeats.code, repeats.bits, 1, &count)) return status;
  repeat_interleave_fill(view, made.data());
  move(c, to, &made);
  return STATUS_OK;
}

inline int sized_bincount(Control* c, Tensor* to, const Tensor& x, int64_t minlength) {
  const DenseView view(x);
  int64_t count = 0;
  if (const int status = bincount_count(view, minlength, &count)) {
    const char* const text = "bincount only supports 1-d non-negative integral inputs.";
    return status == STATUS_RUNTIME ? c->raise("RuntimeError", text) : c->out_of_memory();
  }
  Tensor made = {};
  if (const int status = create(c, &made, CODE_INT, 64, 1, &count)) return status;
  bincount_fill(view, count, (int64_t*)made.data());
  move(c, to, &made);
  return STATUS_OK;
}

}  // namespace ptc

#endif
