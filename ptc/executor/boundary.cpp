#include "boundary.h"

#include "memory.h"

namespace ptc::exec {

DLDataType dlpack_type(DType dtype) {
  const uint8_t bits = (uint8_t)(itemsize(dtype) * 8);
  if (dtype == DType::BF16) return DLDataType{4, 16, 1};
  if (dtype == DType::Bool) return DLDataType{6, 8, 1};
  const uint8_t code = is_complex(dtype) ? 5 : is_floating(dtype) ? 2 : is_signed(dtype) ? 0 : 1;
  return DLDataType{code, bits, 1};
}

bool dtype_from_dlpack(DLDataType type, DType* dtype) {
  for (int i = 0; i < kDTypes; ++i) {
    const DLDataType known = dlpack_type((DType)i);
    if (known.code != type.code || known.bits != type.bits || type.lanes != 1) continue;
    *dtype = (DType)i;
    return true;
  }
  return false;
}

// The host's tensor as one of ours; `name` is said where it is wrong.
static Tensor borrow_tensor(const std::string& name, const DLTensor* given) {
  const char* const label = name.c_str();
  if (!given) fail_with(Status::Argument, "`%s` is null", label);
  if (given->device.device_type != 1)
    fail_with(Status::Device, "`%s` is on device type %d, expected CPU memory", label, given->device.device_type);
  Tensor tensor;
  if (!dtype_from_dlpack(given->dtype, &tensor.dtype))
    fail_with(Status::Dtype, "`%s` has an element type of code %d and %d bits", label, given->dtype.code, given->dtype.bits);
  if (given->ndim < 0 || given->ndim > kMaxRank) fail_with(Status::Shape, "`%s` has %d dimensions", label, given->ndim);
  if (given->ndim && !given->shape) fail_with(Status::Argument, "`%s` has no shape", label);
  int64_t last = 0;
  bool none = false;
  for (int d = 0; d < given->ndim; ++d) {
    if (given->shape[d] < 0) fail_with(Status::Shape, "`%s`: dimension %d is %lld", label, d, (long long)given->shape[d]);
    tensor.sizes.push_back(given->shape[d]);
    none = none || given->shape[d] == 0;
  }
  tensor.strides = compact_strides(tensor.sizes);
  for (int d = 0; d < given->ndim && given->strides; ++d) {
    if (tensor.sizes[d] <= 1 || none) continue;
    if (given->strides[d] < 0) fail_with(Status::Layout, "`%s`: dimension %d has a negative stride", label, d);
    tensor.strides[d] = given->strides[d];
  }
  for (int d = 0; d < given->ndim && !none; ++d) last += (tensor.sizes[d] - 1) * tensor.strides[d];
  if (!none && !given->data) fail_with(Status::Argument, "`%s` has no data", label);
  char* const data = (char*)given->data + given->byte_offset;
  const int64_t size = itemsize(tensor.dtype);
  if (!none && (uintptr_t)data % (uintptr_t)(size > 8 ? 8 : size))
    fail_with(Status::Layout, "`%s` is not aligned to its element size, %lld bytes", label, (long long)size);
  tensor.storage = borrow_storage(data, none ? 0 : (last + 1) * size);
  return tensor;
}

Value value_of_input(const Input& input, const DLTensor* given) {
  Tensor tensor = borrow_tensor(input.name, given);
  const Type::Kind kind = input.type.kind;
  if (kind == Type::Kind::Tensor) return tensor;
  const DType expected = kind == Type::Kind::Int ? DType::I64 : kind == Type::Kind::Float ? DType::F64 : DType::Bool;
  if (tensor.dtype != expected)
    fail_with(Status::Dtype, "input `%s` is %s, expected %s", input.name.c_str(), dtype_name(tensor.dtype), dtype_name(expected));
  if (tensor.rank() != 0) fail_with(Status::Shape, "input `%s` is a number, got %d dimensions", input.name.c_str(), tensor.rank());
  if (kind == Type::Kind::Int) return Value(tensor.item<int64_t>());
  if (kind == Type::Kind::Float) return Value(tensor.item<double>());
  return Value(tensor.item<bool>());
}

// --- results --------------------------------------------------------------------------------------------------------

DLTensor OutputBlock::view() const {
  DLTensor header = {};
  header.data = (void*)tensor.storage->data;
  header.device = DLDevice{1, 0};
  header.ndim = sizes.size();
  header.dtype = parts.empty() && headers.empty() ? dlpack_type(tensor.dtype) : DLDataType{3, 64, 1};
  header.shape = const_cast<int64_t*>(sizes.data());
  header.strides = const_cast<int64_t*>(strides.data());
  return header;
}

static Tensor text_tensor(const std::string& text) {
  Tensor bytes = empty(DType::U8, {(int64_t)text.size() + 1});
  memcpy(bytes.raw(), text.c_str(), text.size() + 1);
  bytes.sizes[0] = (int64_t)text.size();
  return bytes;
}

// `element`: what a list has where it has nothing; may be null.
static Tensor numbers_tensor(const std::vector<Value>& items, const Type* element) {
  const bool typed = items.empty() && element;
  const bool floats = typed ? element->kind == Type::Kind::Float : !items.empty() && items[0].is_float();
  const bool bools = typed ? element->kind == Type::Kind::Bool : !items.empty() && items[0].is_bool();
  Tensor result = empty(floats ? DType::F64 : bools ? DType::Bool : DType::I64, {(int64_t)items.size()});
  for (size_t i = 0; i < items.size(); ++i) {
    if (floats) result.data<double>()[i] = items[i].number();
    else if (bools) result.data<bool>()[i] = items[i].boolean();
    else result.data<int64_t>()[i] = items[i].integer();
  }
  return result;
}

// A tensor of addresses of the parts' headers.
static void adopt_parts(OutputBlock* block, const std::vector<Value>& items) {
  for (const Value& item : items) block->parts.push_back(block_of_result(item));
  for (const auto& part : block->parts) block->headers.push_back(part->view());
  block->tensor = empty(DType::I64, {(int64_t)items.size()});
  for (size_t i = 0; i < items.size(); ++i) {
    DLTensor* const header = &block->headers[i];
    memcpy(block->tensor.raw() + i * sizeof header, &header, sizeof header);
  }
}

static bool is_number_type(const Type& type) {
  return type.kind == Type::Kind::Int || type.kind == Type::Kind::Float || type.kind == Type::Kind::Bool;
}

std::unique_ptr<OutputBlock> block_of_result(const Value& value, const Type* type) {
  std::unique_ptr<OutputBlock> block = std::make_unique<OutputBlock>();
  switch (value.kind()) {
    case Value::Kind::Tensor: {
      const Tensor& tensor = value.tensor();
      const bool own = tensor.only_owner() && tensor.offset == 0 && tensor.is_contiguous();
      block->tensor = own ? tensor : clone(tensor);
      break;
    }
    case Value::Kind::Bool: block->tensor = scalar_tensor(value.boolean()); break;
    case Value::Kind::Int: block->tensor = scalar_tensor(value.integer()); break;
    case Value::Kind::Float: block->tensor = scalar_tensor(value.number()); break;
    case Value::Kind::Text: block->tensor = text_tensor(value.text()); break;
    case Value::Kind::List: {
      const std::vector<Value>& items = value.list();
      const Type* const element = type && type->kind == Type::Kind::List ? &type->items[0] : nullptr;
      if (items.empty() ? !element || is_number_type(*element) : items[0].is_number()) block->tensor = numbers_tensor(items, element);
      else adopt_parts(block.get(), items);
      break;
    }
    default: fail("a result that is %s", value.kind_name());
  }
  block->sizes = block->tensor.sizes;
  block->strides = compact_strides(block->sizes);
  return block;
}

void copy_to_host(const OutputBlock& block, const std::string& name, const DLTensor* given) {
  Tensor target = borrow_tensor(name, given);
  if (target.dtype != block.tensor.dtype || !block.parts.empty())
    fail_with(Status::Dtype, "output `%s` is %s, expected %s", name.c_str(), dtype_name(target.dtype), dtype_name(block.tensor.dtype));
  if (target.sizes != block.sizes)
    fail_with(Status::Shape, "output `%s` is %s, expected %s", name.c_str(), dims_text(target.sizes).c_str(),
              dims_text(block.sizes).c_str());
  copy_into(target, block.tensor);
}

}  // namespace ptc::exec
