// NumPy's `.npy` files, for the program: what it reads as inputs and writes as results.
#ifndef PTC_EXECUTOR_NPY_H
#define PTC_EXECUTOR_NPY_H

#include <string>

#include "tensor.h"

namespace ptc::exec {

// Row-major and of this machine's byte order. bf16 comes as `<u2`, which the caller may take for it. Error File.
Tensor read_npy(const std::string& path);
void write_npy(const std::string& path, const Tensor& tensor);

}  // namespace ptc::exec

#endif
