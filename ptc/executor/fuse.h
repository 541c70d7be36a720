// Rewrites of a program before it is prepared: what follows a convolution becomes part of it.
#ifndef PTC_EXECUTOR_FUSE_H
#define PTC_EXECUTOR_FUSE_H

#include <map>

#include "module.h"

namespace ptc::exec {

// Batch norms of running statistics go into the weights of the convolution before them, sums and relu into its end
// (`exec::convolution`). New weights join `tensors`, under new names. Values keep their numbers.
void fuse_convolutions(Module* module, std::map<std::string, Tensor>* tensors);

}  // namespace ptc::exec

#endif
