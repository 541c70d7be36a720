// Tensors at the door: what callers hand over is checked, sizes are read from it, outputs are placed.
//
// Owns the checks and the blocks of outputs that a session allocated. Knows nothing of running an entry.
#ifndef PTC_HOST_TENSORS_H
#define PTC_HOST_TENSORS_H

#include <stdio.h>
#include <string.h>

#include "ptc_host_spec.h"

namespace ptc {

static const char* dtype_name(uint8_t code, uint8_t bits, char* text, size_t capacity) {
  static const char* const kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  if (code == 6) return "bool";
  snprintf(text, capacity, "%s%d", code < 7 ? kinds[code] : "type", bits);
  return text;
}

static ptc_status check_tensor(const Message& m, const char* what, const DLTensor* t, const TensorSpec& spec) {
  char got[24], expected[24];
  if (!t) return m.fail(PTC_E_ARGUMENT, "%s `%s` is null", what, spec.name);
  if (t->device.device_type != 1)
    return m.fail(PTC_E_DEVICE, "%s `%s` is on device type %d, expected CPU memory", what, spec.name,
                  t->device.device_type);
  if (t->dtype.code != spec.code || t->dtype.bits != spec.bits || t->dtype.lanes != 1)
    return m.fail(PTC_E_DTYPE, "%s `%s` is %s, expected %s", what, spec.name,
                  dtype_name(t->dtype.code, t->dtype.bits, got, sizeof got),
                  dtype_name(spec.code, spec.bits, expected, sizeof expected));
  if (t->ndim != spec.ndim)
    return m.fail(PTC_E_SHAPE, "%s `%s` has %d dimensions, expected %d", what, spec.name, t->ndim, spec.ndim);
  if (t->ndim && !t->shape) return m.fail(PTC_E_ARGUMENT, "%s `%s` has no shape", what, spec.name);
  return PTC_OK;
}

static ptc_status check_shape(const Message& m, const char* what, const DLTensor* t, const TensorSpec& spec,
                              const int64_t* expected) {
  int64_t count = 1;
  for (int d = 0; d < spec.ndim; ++d) {
    if (t->shape[d] != expected[d])
      return m.fail(PTC_E_SHAPE, "%s `%s`: dimension %d is %lld, expected %lld", what, spec.name, d,
                    (long long)t->shape[d], (long long)expected[d]);
    count *= expected[d];
  }
  int64_t stride = 1;
  for (int d = spec.ndim - 1; t->strides && count && d >= 0; --d) {
    if (expected[d] != 1 && t->strides[d] != stride)
      return m.fail(PTC_E_LAYOUT, "%s `%s` is not compact row-major: dimension %d has stride %lld, expected %lld",
                    what, spec.name, d, (long long)t->strides[d], (long long)stride);
    stride *= expected[d];
  }
  if (count && !t->data) return m.fail(PTC_E_ARGUMENT, "%s `%s` has no data", what, spec.name);
  if (((uintptr_t)t->data + t->byte_offset) % (uint64_t)(spec.itemsize > 8 ? 8 : spec.itemsize))
    return m.fail(PTC_E_LAYOUT, "%s `%s` is not aligned to its element size, %lld bytes", what, spec.name,
                  (long long)spec.itemsize);
  return PTC_OK;
}

static ptc_status bind_sizes(const Message& m, const EntrySpec& entry, DLTensor* const* inputs, int64_t* sizes) {
  for (int i = 0; i < entry.size_count; ++i) {
    const SizeSpec& size = entry.sizes[i];
    const DLTensor* t = inputs[size.input];
    const char* name = entry.inputs[size.input].name;
    int64_t value;
    if (size.dim >= 0) {
      value = t->shape[size.dim];
    } else {
      if (!t->data) return m.fail(PTC_E_ARGUMENT, "input `%s` has no data", name);
      memcpy(&value, (char*)t->data + t->byte_offset, sizeof value);
    }
    if (value < size.lower || (size.upper >= 0 && value > size.upper)) {
      char upper[32] = "";
      if (size.upper >= 0) snprintf(upper, sizeof upper, " and at most %lld", (long long)size.upper);
      if (size.dim < 0)
        return m.fail(PTC_E_SHAPE, "input `%s` is %lld, expected at least %lld%s", name, (long long)value,
                      (long long)size.lower, upper);
      return m.fail(PTC_E_SHAPE, "input `%s`: dimension %d (%s) is %lld, expected at least %lld%s", name, size.dim,
                    size.name, (long long)value, (long long)size.lower, upper);
    }
    sizes[i] = value;
  }
  return PTC_OK;
}

static int64_t byte_count(const TensorSpec& spec, const int64_t* dims) {
  int64_t bytes = spec.itemsize;
  for (int d = 0; d < spec.ndim; ++d) bytes *= dims[d];
  return bytes;
}

// `data` becomes a block of the session and the content of `t`, whose shape and strides lie in the block's head.
static bool adopt_output(ptc_session* session, DLTensor* t, const TensorSpec& spec, const int64_t* dims, void* data) {
  Block* block = (Block*)allocate((int64_t)sizeof(Block) + 2 * spec.ndim * (int64_t)sizeof(int64_t));
  if (!block) return false;
  block->data = data;
  block->next = session->blocks;
  session->blocks = block;
  int64_t* shape = (int64_t*)(block + 1);
  int64_t* strides = shape + spec.ndim;
  int64_t stride = 1;
  for (int d = spec.ndim - 1; d >= 0; --d) {
    shape[d] = dims[d];
    strides[d] = stride;
    stride *= dims[d];
  }
  t->data = block->data;
  t->device = DLDevice{1, 0};
  t->ndim = spec.ndim;
  t->dtype = DLDataType{spec.code, spec.bits, 1};
  t->shape = shape;
  t->strides = strides;
  t->byte_offset = 0;
  return true;
}

// A block for one output.
static bool allocate_output(ptc_session* session, DLTensor* t, const TensorSpec& spec, const int64_t* dims) {
  void* const data = allocate(byte_count(spec, dims));
  if (data && adopt_output(session, t, spec, dims, data)) return true;
  free_bytes(data);
  return false;
}

static void release_output(ptc_session* session, DLTensor* t) {
  if (!session || !t) return;
  for (Block** place = &session->blocks; *place; place = &(*place)->next) {
    Block* block = *place;
    if (block->data != t->data) continue;
    *place = block->next;
    free_bytes(block->data);
    free_bytes(block);
    t->data = nullptr;
    t->shape = t->strides = nullptr;
    return;
  }
}

static bool overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes) {
  const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return a_bytes && b_bytes && x < y + (uintptr_t)b_bytes && y < x + (uintptr_t)a_bytes;
}

// An input that is written to shares no memory with another: the entry takes them for different tensors.
static ptc_status check_inputs_apart(const Message& m, const EntrySpec& entry, const int64_t* dims,
                                     void* const* pointers) {
  const int64_t* own = dims;
  for (int i = 0; i < entry.input_count; own += entry.inputs[i].ndim, ++i) {
    if (!entry.inputs[i].is_written) continue;
    const int64_t* other = dims;
    for (int j = 0; j < entry.input_count; other += entry.inputs[j].ndim, ++j)
      if (i != j && overlap(pointers[i], byte_count(entry.inputs[i], own), pointers[j],
                            byte_count(entry.inputs[j], other)))
        return m.fail(PTC_E_ARGUMENT, "the inputs `%s` and `%s` share memory, and `%s` is written to",
                      entry.inputs[i].name, entry.inputs[j].name, entry.inputs[i].name);
  }
  return PTC_OK;
}

static ptc_status check_inputs(const Message& m, const EntrySpec& entry, DLTensor* const* inputs, int64_t* sizes,
                               int64_t* dims, void** pointers) {
  for (int i = 0; i < entry.input_count; ++i)
    if (ptc_status status = check_tensor(m, "input", inputs[i], entry.inputs[i])) return status;
  if (ptc_status status = bind_sizes(m, entry, inputs, sizes)) return status;
  entry.shapes(sizes, dims);
  const int64_t* place = dims;
  for (int i = 0; i < entry.input_count; ++i) {
    if (ptc_status status = check_shape(m, "input", inputs[i], entry.inputs[i], place)) return status;
    place += entry.inputs[i].ndim;
    pointers[i] = (char*)inputs[i]->data + inputs[i]->byte_offset;
  }
  return check_inputs_apart(m, entry, dims, pointers);
}

// An output's memory is its own: inputs are still read when the first outputs are written.
static ptc_status check_apart(const Message& m, const EntrySpec& entry, const int64_t* dims, void* const* inputs,
                              void* const* outputs) {
  const int64_t* first_output = dims;
  for (int i = 0; i < entry.input_count; ++i) first_output += entry.inputs[i].ndim;
  const int64_t* place = first_output;
  for (int o = 0; o < entry.output_count; place += entry.outputs[o].ndim, ++o) {
    const int64_t bytes = byte_count(entry.outputs[o], place);
    if (!bytes) continue;
    const int64_t* other = dims;
    for (int i = 0; i < entry.input_count; other += entry.inputs[i].ndim, ++i)
      if (overlap(outputs[o], bytes, inputs[i], byte_count(entry.inputs[i], other)))
        return m.fail(PTC_E_ARGUMENT, "output `%s` shares memory with input `%s`", entry.outputs[o].name,
                      entry.inputs[i].name);
    other = first_output;
    for (int p = 0; p < o; other += entry.outputs[p].ndim, ++p)
      if (overlap(outputs[o], bytes, outputs[p], byte_count(entry.outputs[p], other)))
        return m.fail(PTC_E_ARGUMENT, "outputs `%s` and `%s` share memory", entry.outputs[p].name,
                      entry.outputs[o].name);
  }
  return PTC_OK;
}

// Outputs the caller sees, then blocks for the values that are written back.
static ptc_status place_outputs(ptc_session* session, const EntrySpec& entry, DLTensor* const* outputs,
                                const int64_t* dims, void** pointers, bool* ours) {
  const Message m = {session->error, sizeof session->error};
  for (int i = 0; i < entry.all_output_count; ++i) {
    const TensorSpec& spec = entry.outputs[i];
    if (i >= entry.output_count) {
      pointers[i] = allocate(byte_count(spec, dims));
      ours[i] = true;
    } else if (outputs[i] && !outputs[i]->data) {
      ours[i] = allocate_output(session, outputs[i], spec, dims);
      pointers[i] = outputs[i]->data;
    } else {
      if (ptc_status status = check_tensor(m, "output", outputs[i], spec)) return status;
      if (ptc_status status = check_shape(m, "output", outputs[i], spec, dims)) return status;
      pointers[i] = (char*)outputs[i]->data + outputs[i]->byte_offset;
    }
    if (!pointers[i]) return m.fail(PTC_E_MEMORY, "no memory for output `%s`", spec.name);
    dims += spec.ndim;
  }
  return PTC_OK;
}

}  // namespace ptc

#endif
