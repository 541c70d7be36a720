// Operators that compute element by element, for kernels that are made of others.
#ifndef PTC_EXECUTOR_POINTWISE_H
#define PTC_EXECUTOR_POINTWISE_H

#include "../operators.h"

namespace ptc::exec {

// The generated operator `name` on these arguments, all of its schema.
Tensor pointwise(const Call& from, const char* name, std::vector<Value> args);

}  // namespace ptc::exec

#endif
