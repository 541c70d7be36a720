// x[indices] as loops: which parts of x positions that are data select, and in which order.
#ifndef PTC_EXECUTOR_OPERATORS_INDEXING_H
#define PTC_EXECUTOR_OPERATORS_INDEXING_H

#include "common.h"

namespace ptc::exec {

// Checked positions of an index tensor in row-major order.
std::vector<int64_t> positions_of(const Tensor& index, int64_t size, bool wraps);

// Index tensors next to each other put their common dimensions in their place, else at the front.
struct IndexPlan {
  Dims before_sizes, before_strides;  // of dimensions of x before the common ones
  Dims common;                        // what the index tensors broadcast to
  Dims after_sizes, after_strides;
  Dims sizes;                         // of the result: before, common, after
  std::vector<int64_t> places;        // by common element: offset in x

  // body(first element of the result, offset in x, stride in x, length) for rows in the order of the result.
  template <class F> void each(const F& body) const {
    RowWalk<1> before(before_sizes, {&before_strides});
    RowWalk<1> after(after_sizes, {&after_strides});
    int64_t at = 0;
    for (int64_t b = 0; b < before.rows; ++b) {
      before.seek(b);
      for (int64_t e = 0; e < before.length; ++e)
        for (int64_t place : places)
          for (int64_t a = 0; a < after.rows; ++a) {
            after.seek(a);
            body(at, before.offset[0] + e * before.stride[0] + place + after.offset[0], after.stride[0], after.length);
            at += after.length;
          }
    }
  }
};

IndexPlan plan_index(const Tensor& x, const std::vector<Value>& indices);

// condition ? a : b, broadcast.
Tensor choose(const Tensor& condition, const Tensor& a, const Tensor& b, DType dtype);

}  // namespace ptc::exec

#endif
