// Between DLPack tensors of a host and values: inputs are looked at where they lie, results get blocks of the session.
#ifndef PTC_EXECUTOR_BOUNDARY_H
#define PTC_EXECUTOR_BOUNDARY_H

#include "module.h"
#include "ptc_abi.h"

namespace ptc::exec {

DLDataType dlpack_type(DType dtype);
bool dtype_from_dlpack(DLDataType type, DType* dtype);

// A value over the memory of `tensor`. Errors Argument, Device, Dtype, Layout.
Value value_of_input(const Input& input, const DLTensor* tensor);

// What a result given to the host holds on to: found again by the address of its data.
struct OutputBlock {
  Tensor tensor;
  Dims sizes, strides;
  std::vector<std::unique_ptr<OutputBlock>> parts;  // of a list of tensors or texts
  std::vector<DLTensor> headers;
  DLTensor view() const;
};

// A block with a result's content in memory that is the block's alone. `type`: what the program says of it, where it does.
std::unique_ptr<OutputBlock> block_of_result(const Value& value, const Type* type = nullptr);
// Content of `block` into memory of the host. Errors Shape, Dtype.
void copy_to_host(const OutputBlock& block, const std::string& name, const DLTensor* tensor);

}  // namespace ptc::exec

#endif
