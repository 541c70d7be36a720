// What a library's host unit describes, and what an open model and its sessions hold.
//
// Owns the tables (ModelSpec and its parts), ptc_model, ptc_session and how failures are told. Knows nothing of
// how tables are read.
#ifndef PTC_HOST_SPEC_H
#define PTC_HOST_SPEC_H

#include <stdarg.h>
#include <stdio.h>

#include "ptc_abi.h"
#include "ptc_kernel.h"

namespace ptc {

// Memory of one call of an entry. `inputs` and `outputs` in the program's order.
struct Frame {
  void* const* inputs;
  void* const* outputs;
  void* const* weights;
  void* const* prepared;
  char* arena;
  const int64_t* sizes;
};

struct TensorSpec {
  const char* name;
  uint8_t code, bits;  // DLDataType; bool is code 6 with 8 bits
  int32_t ndim;
  int64_t itemsize;
};

// A symbolic size, read from dimension `dim` of input `input` (dim -1: the value of an integer scalar).
struct SizeSpec {
  const char* name;
  int64_t lower, upper;  // upper -1: none
  int32_t input, dim;
};

// After a successful run, output `output` is copied to input `input` (>= 0) or the session's copy of
// weight `weight`.
struct WriteBackSpec {
  int32_t output, input, weight;
};

// A block that `prepare` fills: its size, or the function that tells it; whether a run reads it, or only
// `prepare` itself.
struct PreparedSpec {
  int64_t bytes;
  int64_t (*size)();
  bool is_kept;
};

struct EntrySpec {
  const char* name;
  int32_t input_count, output_count, all_output_count, size_count, write_back_count;
  int32_t raw_input_count;  // pointers before the outputs in run_raw: inputs, and live weights
  const TensorSpec* inputs;
  const TensorSpec* outputs;  // all of them, those written back last
  const SizeSpec* sizes;
  const WriteBackSpec* write_backs;
  void (*shapes)(const int64_t* sizes, int64_t* dims);  // of inputs, then of all outputs, one after the other
  int64_t (*arena_bytes)(const int64_t* sizes);
  int (*body)(Run* run, const Frame* frame);
  int32_t prepared_count;
  const PreparedSpec* prepared;
  int64_t prepare_arena_bytes;
  int (*prepare)(Run* run, const Frame* frame);  // null: nothing to do
};

struct WeightSpec {
  const char* key;    // JSON string with quotes, as in the file's header
  const char* dtype;  // safetensors' name of the element type
  int64_t bytes;
  bool is_written;  // by an entry: sessions get their own copy
  bool is_kept;     // read by a run, not by `prepare` alone
  int rank;
  int64_t dims[8];  // the first ones of a tensor that has more
};

struct ModelSpec {
  const char* name;
  const char* manifest;
  uint32_t entry_count;
  const EntrySpec* entries;
  int32_t weight_count;
  const WeightSpec* weights;
  const char* weights_file;         // null: embedded in the library
  const char* const* cpu_features;  // names of what the code needs, null at the end
};

// What the library at hand is; defined by its host unit.
PTC_HIDDEN extern const ModelSpec model_spec;

}  // namespace ptc

struct ptc_model {
  ptc::Pool* pool;
  char* file;  // mapped weights
  size_t file_bytes;
  void** weights;
  void*** prepared;  // the blocks of each entry: in the mapped file, or allocated
  char* prepared_file;
  size_t prepared_file_bytes;
};

struct ptc_session {
  ptc_model* model;
  ptc::Run run;
  char* arena;
  int64_t arena_bytes;
  size_t peak;
  void** weights;  // the model's, with the session's own copies in place of those written
  struct Block* blocks;
  char error[512];
};

// An output allocated by the library: the block, then shape and strides.
struct Block {
  Block* next;
  void* data;
};

namespace ptc {

// --- messages and memory ----------------------------------------------------------------------------

static void print_to(char* buffer, size_t capacity, const char* format, va_list args) {
  if (buffer && capacity) vsnprintf(buffer, capacity, format, args);
}

struct Message {
  char* text;
  size_t capacity;
  __attribute__((format(printf, 3, 4))) ptc_status fail(ptc_status status, const char* format, ...) const {
    va_list args;
    va_start(args, format);
    print_to(text, capacity, format, args);
    va_end(args);
    return status;
  }
};

static char* allocate(int64_t bytes) { return (char*)allocate_bytes(bytes); }

}  // namespace ptc

#endif
