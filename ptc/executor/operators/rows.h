// Generated kernels along rows: how tensors of any type and layout come to them, for several files of operators.
#ifndef PTC_EXECUTOR_ROWS_H
#define PTC_EXECUTOR_ROWS_H

#include <string>

#include "../operators.h"
#include "generated.h"

namespace ptc::exec {

int class_of(DType dtype);      // the class that computes elements of `dtype`; `fail`s for complex ones
DType class_type(int of);       // its element type
inline DType wide_type(DType dtype) { return class_type(class_of(dtype)); }

// A tensor as rows in memory: [outer, n, inner].
struct Rows {
  Tensor data;        // dense, in the type of its class
  int64_t outer = 1, n = 1, inner = 1;
  Dims dims;          // which dimensions are combined, sorted
  Dims sizes;         // of the tensor as it was given
  bool moved = false; // dimensions were permuted: kept ones first
  Dims kept(bool keepdim) const;  // sizes of a result with one element a row
};

// The dimensions of argument `dims` of a tensor: a number, a list, or None (and an empty list) for all.
Dims wanted_dims(const Value& dims, int rank);
// `middle`: whether a kernel takes an inner dimension.
Rows as_rows(const Tensor& x, const Dims& dims, bool middle);
// Runs the kernel `name` over all rows, in parallel. `steps`: elements of each result for one row.
void run_rows(const Call& c, const std::string& name, const Rows& rows, std::vector<Tensor> results,
              const std::vector<const void*>& extra);
// One result of one element a row.
Tensor reduce(const Call& c, const std::string& name, const Tensor& x, const Dims& dims, bool keepdim, DType result,
              const std::vector<const void*>& extra = {});
// Results with the sizes of x, along one dimension.
std::vector<Tensor> along(const Call& c, const std::string& name, const Tensor& x, int64_t dim, std::vector<DType> results);

}  // namespace ptc::exec

#endif
