// What a library's host unit describes, and what an open model and its sessions hold.
//
// Owns the tables (ModelSpec and its parts), ptc_model, ptc_session and how failures are told. Knows nothing of
// how tables are read.
#ifndef PTC_HOST_SPEC_H
#define PTC_HOST_SPEC_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ptc_abi.h"
#include "ptc_kernel.h"

// What other programs call.
#if !defined(PTC_EXPORT)
#if defined(_WIN32)
#define PTC_EXPORT __declspec(dllexport)
#else
#define PTC_EXPORT __attribute__((visibility("default")))
#endif
#endif

namespace ptc {

struct Block;
struct Memory;

// Memory of one call of an entry. `inputs` and `outputs` in the program's order.
struct Frame {
  void* const* inputs;
  void* const* outputs;
  void* const* weights;
  void* const* prepared;
  char* arena;
  const int64_t* sizes;
};

// What a program with control flow sees of a call: data and dimensions of the inputs, sizes, places for the results.
struct ControlCall {
  void* const* inputs;
  const int64_t* dims;
  const int64_t* sizes;
  DLTensor* const* outputs;
  bool* ours;  // outputs that the library allocates
};

struct TensorSpec {
  const char* name;
  uint8_t code, bits;  // DLDataType; bool is code 6 with 8 bits
  int32_t ndim;
  int64_t itemsize;
  bool is_written;  // an input: by the entry, in place
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
// `prepare` itself. With an `owner` it is block `place` of that earlier program.
struct PreparedSpec {
  int64_t bytes;
  int64_t (*size)();
  bool is_kept;
  int32_t owner, place;
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
  // A program with control flow runs this in place of `body`; `outputs` then describes what it gives, of any shape.
  int (*control)(ptc_session* session, const EntrySpec& entry, const ControlCall& call);
};

// A Python number that calls change: eight bytes in the session.
struct StateSpec {
  int64_t initial;  // the bits of an int, a double or a bool
};

struct WeightSpec {
  const char* key;    // JSON string with quotes, as in the file's header
  const char* const* aliases;  // other keys of it, null at the end; null: none
  const char* dtype;  // safetensors' name of the element type
  int64_t bytes;
  bool is_written;  // by an entry: sessions get their own copy
  bool is_kept;     // read by a run, not by `prepare` alone
  bool is_saved;    // in files of the model's weights; else a constant of its code
  int rank;
  int64_t dims[8];  // the first ones of a tensor that has more
};

struct ModelSpec {
  const char* name;
  const char* manifest;
  uint32_t entry_count;    // of those that callers see
  uint32_t program_count;  // with the segments of programs with control flow, which follow
  const EntrySpec* entries;
  int32_t weight_count;
  const WeightSpec* weights;
  const char* weights_file;         // null: embedded in the library
  const char* image;                // embedded in its memory, up to `image_end`; null: in a section of its file
  const char* image_end;
  const char* isa;                  // what the kernels were compiled for
  const char* const* cpu_features;  // names of what the code needs, null at the end
  int32_t state_count;
  const StateSpec* states;
  void (*free_memory)(ptc_session* session);  // of programs with control flow; null: there are none
  int32_t kept_count;  // tensors, strings and lists that persist
  const uint8_t* kept_kinds;  // KeptKind of each
};

// Pages of a file.
struct Mapping {
  char* base = nullptr;
  size_t bytes = 0;
};

// A model's weights at one time, and all that was computed from them. It never changes once sessions see it: new
// weights are another set. The model and sessions own it together; the last one frees it.
struct WeightSet {
  int64_t owners;
  Mapping file;  // mapped weights
  void** weights;
  void** constants;  // copies of what a file of new weights lacks, null where there are none
  void*** prepared;  // the blocks of each entry: in the mapped file, or allocated
  Mapping prepared_file;
};

// What the library at hand is; defined by its host unit.
PTC_HIDDEN extern const ModelSpec model_spec;

// The C interface that the tables drive; defined by ptc_host.h.
PTC_HIDDEN extern const ptc_api api_table;

}  // namespace ptc

struct ptc_model {
  ptc::Pool* pool;
  bool locked;              // atomic, for `current` and every set's `owners`
  ptc::WeightSet* current;  // what sessions take at their next run
};

struct ptc_session {
  ptc_model* model;
  ptc::WeightSet* set;  // what the last run read
  ptc::Run run;
  char* arena;
  int64_t arena_bytes;
  size_t peak;
  void** weights;  // the set's, with the session's own copies in place of those written
  ptc::Block* blocks;
  char error[512];
  // Of programs with control flow: memory of their tensors, Python numbers that persist, which of the possible
  // structures the last result has, where text goes, the exception that ended the last run ("" if none did).
  ptc::Memory* memory;
  int64_t* state;
  void* kept;  // tensors, strings and lists that persist: KeptSlot for each; null before the first run
  int32_t variant;
  ptc_emit emit;
  void* emit_user;
  const char* exception_type;
  char* exception_text;  // `ValueError: text`

  // False when memory is short.
  bool raise(const char* type, const char* text, int64_t length);
};

namespace ptc {

// An output allocated by the library: the block, then shape and strides.
struct Block {
  Block* next;
  void* data;
};

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

static bool reserve_arena(ptc_session* session, int64_t bytes) {
  if (bytes > session->arena_bytes || !session->arena) {
    free_bytes(session->arena);
    session->arena_bytes = 0;
    session->arena = allocate(bytes);
    if (!session->arena) return false;
    session->arena_bytes = bytes;
  }
  return true;
}

}  // namespace ptc

inline bool ptc_session::raise(const char* type, const char* text, int64_t length) {
  const size_t head = strlen(type);
  ptc::free_bytes(exception_text);
  exception_text = ptc::allocate((int64_t)head + 2 + length + 1);
  if (!exception_text) return false;
  exception_type = type;
  memcpy(exception_text, type, head + 1);
  if (!length) return true;
  memcpy(exception_text + head, ": ", 2);
  memcpy(exception_text + head + 2, text, (size_t)length);
  exception_text[head + 2 + (size_t)length] = 0;
  return true;
}

#endif
