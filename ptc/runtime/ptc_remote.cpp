// Runs a library for another process: requests on standard input, replies on standard output, little-endian. So a
// library for another processor is compared with eager, in an emulator.
//
//   program LIBRARY SYMBOL
//
// A request is a letter: `R` entry, inputs, outputs runs; `Z` resets; `S` seed (u64) seeds. A reply is any number of
// `E` channel, label, text and then `D` status, error, exception type, variant, and after a run the inputs' bytes and
// the outputs. Texts have their length (u64) before them; tensors are code, bits (u8), ndim (u32), dims (i64), bytes.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptc_abi.h"

static void take(void* to, size_t bytes) {
  if (bytes && fread(to, 1, bytes, stdin) != bytes) exit(3);
}
template <class T> static T taken() {
  T value;
  take(&value, sizeof value);
  return value;
}
static void put(const void* from, size_t bytes) {
  if (bytes && fwrite(from, 1, bytes, stdout) != bytes) exit(3);
}
template <class T> static void put_value(T value) { put(&value, sizeof value); }
static void put_text(const char* text, size_t length) {
  put_value((uint64_t)length);
  put(text, length);
}

static void* memory(size_t bytes) {
  void* block = nullptr;
  if (posix_memalign(&block, 64, bytes ? bytes : 64)) exit(4);
  return block;
}

static size_t bytes_of(const DLTensor* tensor) {
  size_t bytes = tensor->dtype.bits / 8;
  for (int32_t i = 0; i < tensor->ndim; ++i) bytes *= (size_t)tensor->shape[i];
  return bytes;
}

static DLTensor* take_tensor() {
  DLTensor* tensor = (DLTensor*)calloc(1, sizeof(DLTensor));
  tensor->device.device_type = 1;
  tensor->dtype.lanes = 1;
  tensor->dtype.code = taken<uint8_t>();
  tensor->dtype.bits = taken<uint8_t>();
  tensor->ndim = (int32_t)taken<uint32_t>();
  tensor->shape = (int64_t*)memory((size_t)tensor->ndim * sizeof(int64_t));
  take(tensor->shape, (size_t)tensor->ndim * sizeof(int64_t));
  return tensor;
}

static void put_tensor(const DLTensor* tensor) {
  put_value(tensor->dtype.code);
  put_value(tensor->dtype.bits);
  put_value((uint32_t)tensor->ndim);
  put(tensor->shape, (size_t)tensor->ndim * sizeof(int64_t));
  if (tensor->dtype.code == 3) {  // a list: its elements
    DLTensor* const* items = (DLTensor* const*)tensor->data;
    for (int64_t i = 0; i < tensor->shape[0]; ++i) put_tensor(items[i]);
  } else {
    put((const char*)tensor->data + tensor->byte_offset, bytes_of(tensor));
  }
}

static void emit(void*, int32_t channel, const char* label, const char* text, size_t length) {
  put_value('E');
  put_value(channel);
  put_text(label ? label : "", label ? strlen(label) : 0);
  put_text(text, length);
}

static void put_status(const ptc_api* api, ptc_session* session, ptc_status status) {
  const char* error = status ? api->last_error(session) : "";
  const char* raised = status ? api->exception_type(session) : "";
  put_value('D');
  put_value((int32_t)status);
  put_text(error, strlen(error));
  put_text(raised, strlen(raised));
  put_value(api->variant(session));
}

static void free_tensor(DLTensor* tensor, bool with_shape) {
  if (with_shape) free(tensor->shape);
  free(tensor);
}

static void run(const ptc_api* api, ptc_session* session) {
  const uint32_t entry = taken<uint32_t>(), input_count = taken<uint32_t>();
  DLTensor** inputs = (DLTensor**)memory(input_count * sizeof(DLTensor*));
  for (uint32_t i = 0; i < input_count; ++i) {
    inputs[i] = take_tensor();
    inputs[i]->data = memory(bytes_of(inputs[i]));
    take(inputs[i]->data, bytes_of(inputs[i]));
  }
  const uint32_t output_count = taken<uint32_t>();
  DLTensor** outputs = (DLTensor**)memory(output_count * sizeof(DLTensor*));
  int64_t** shapes = (int64_t**)memory(output_count * sizeof(int64_t*));
  bool* given = (bool*)memory(output_count);
  for (uint32_t i = 0; i < output_count; ++i) {
    given[i] = taken<uint8_t>() != 0;
    outputs[i] = take_tensor();
    shapes[i] = outputs[i]->shape;
    if (given[i]) outputs[i]->data = memory(bytes_of(outputs[i]));
  }
  const ptc_status status = api->run(session, entry, inputs, input_count, outputs, output_count);
  put_status(api, session, status);
  for (uint32_t i = 0; i < input_count; ++i) {
    put(inputs[i]->data, bytes_of(inputs[i]));
    free(inputs[i]->data);
    free_tensor(inputs[i], true);
  }
  for (uint32_t i = 0; i < output_count; ++i) {
    const bool has_data = !status && outputs[i]->data;
    put_value((uint8_t)has_data);
    if (has_data) put_tensor(outputs[i]);
    if (given[i]) free(outputs[i]->data);
    else if (has_data) api->release(session, outputs[i]);
    free(shapes[i]);
    free_tensor(outputs[i], false);
  }
  free(inputs);
  free(outputs);
  free(shapes);
  free(given);
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const ptc_api* (*get)(void) = (const ptc_api* (*)(void))dlsym(library, arguments[2]);
  if (!get) return 2;
  const ptc_api* api = get();
  ptc_open_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  ptc_model* model = nullptr;
  ptc_session* session = nullptr;
  char message[1024] = "";
  if (api->open(&options, &model, message, sizeof message) || api->session_new(model, &session)) {
    fprintf(stderr, "%s\n", message);
    return 2;
  }
  api->set_emit(session, emit, nullptr);
  for (int request = getchar(); request != EOF; request = getchar()) {
    if (request == 'R') run(api, session);
    else if (request == 'Z') put_status(api, session, api->reset(session));
    else if (request == 'S') put_status(api, session, api->seed(session, taken<uint64_t>()));
    else return 3;
    fflush(stdout);
  }
  api->session_free(session);
  api->close(model);
  return 0;
}
