// Values of a program with control flow: tensors on counted storage, and the memory they live in.
//
// Owns Memory (blocks of a session, kept by size class), Storage, Tensor and Control, the state of one run that
// generated control functions see, and the call of a segment. Knows no lists (ptc_control_list.h), no text, and
// nothing of how a run begins and ends (ptc_control_run.h).
#ifndef PTC_CONTROL_H
#define PTC_CONTROL_H

#include <string.h>

#include "ptc_host_spec.h"
#include "ptc_kernel.h"
#include "ptc_pyhash.h"
#include "ptc_view.h"

namespace ptc {

enum { STATUS_RAISED = 11, MAX_DIMS = 8 };

// --- memory -------------------------------------------------------------------------------------------

// Content that tensor variables share. `size_class` below 0: memory of the caller or of the session.
struct Storage {
  char* data;
  int64_t bytes;
  int32_t refs, size_class;
  Storage* next;  // while it is free
};

// Blocks of one session. A block that was given back serves the next demand of its size class: a loop takes no
// memory from the system after its first iterations.
struct Memory {
  enum { CLASSES = 256 };
  void* blocks[CLASSES];
  Storage* storages;
  int64_t held, peak;  // bytes taken from the system
  int64_t stamps;      // given to lists, see ptc_control_keys.h

  // Sizes in four steps from each power of two to the next, the first is 64 bytes.
  static int size_class(int64_t bytes) {
    if (bytes <= 64) return 0;
    const int power = 63 - __builtin_clzll((unsigned long long)(bytes - 1));
    return (power - 6) * 4 + (int)((bytes - 1) >> (power - 2) & 3) + 1;
  }
  static int64_t class_bytes(int number) {
    if (number == 0) return 64;
    const int step = number - 1;
    return (int64_t)(5 + step % 4) << (step / 4 + 4);
  }

  void* take(int number) {
    void* block = blocks[number];
    if (block) {
      memcpy(&blocks[number], block, sizeof block);
      return block;
    }
    block = allocate_bytes(class_bytes(number));
    if (!block && trim()) block = allocate_bytes(class_bytes(number));
    if (!block) return nullptr;
    held += class_bytes(number);
    if (held > peak) peak = held;
    return block;
  }
  void give(void* block, int number) {
    memcpy(block, &blocks[number], sizeof(void*));
    blocks[number] = block;
  }
  // A block whose new owner frees it with free_bytes.
  void hand_over(int number) { held -= class_bytes(number); }

  // Free all unused blocks; whether there were any.
  bool trim() {
    bool any = false;
    for (int i = 0; i < CLASSES; ++i)
      while (void* block = blocks[i]) {
        memcpy(&blocks[i], block, sizeof block);
        free_bytes(block);
        held -= class_bytes(i);
        any = true;
      }
    return any;
  }
  void clear() {
    trim();
    while (Storage* storage = storages) {
      storages = storage->next;
      free_bytes(storage);
    }
  }

  Storage* new_storage() {
    Storage* storage = storages;
    if (storage) storages = storage->next;
    else storage = (Storage*)allocate_bytes(sizeof(Storage));
    return storage;
  }
  // With one reference; null when memory is short. Content is undefined.
  Storage* create(int64_t bytes) {
    Storage* storage = new_storage();
    if (!storage) return nullptr;
    const int number = size_class(bytes);
    *storage = Storage{(char*)take(number), bytes, 1, number, nullptr};
    if (!storage->data) {
      free_node(storage);
      return nullptr;
    }
#ifdef PTC_POISON  // tests: what is read must have been written
    memset(storage->data, 0xFF, (size_t)bytes);
#endif
    return storage;
  }
  // Memory that belongs to someone else.
  Storage* borrow(void* data, int64_t bytes) {
    Storage* storage = new_storage();
    if (storage) *storage = Storage{(char*)data, bytes, 1, -1, nullptr};
    return storage;
  }
  void release(Storage* storage) {
    if (!storage || --storage->refs) return;
    if (storage->size_class >= 0 && storage->data) give(storage->data, storage->size_class);
    free_node(storage);
  }
  void free_node(Storage* storage) {
    storage->next = storages;
    storages = storage;
  }
};

// --- tensors ------------------------------------------------------------------------------------------

// A tensor variable: a reference to row-major content. All bits zero: not assigned.
struct Tensor {
  Storage* storage;
  int32_t ndim;
  uint8_t code, bits;  // DLDataType
  int64_t dims[MAX_DIMS];

  char* data() const { return storage->data; }
  int64_t itemsize() const { return (bits + 7) / 8; }
  int64_t count() const {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= dims[d];
    return n;
  }
  int64_t bytes() const { return count() * itemsize(); }
};

// Where a segment reads a tensor; null for one that is not assigned, which it does not read.
inline void* content(const Tensor& t) { return t.storage ? t.storage->data : nullptr; }

// A view of a whole tensor for functions that take any strides.
struct DenseView {
  int64_t strides[MAX_DIMS];
  TensorView view;
  explicit DenseView(const Tensor& t) : view{t.storage->data, t.dims, strides, t.ndim, t.code, t.bits} {
    int64_t stride = 1;
    for (int d = t.ndim - 1; d >= 0; --d) {
      strides[d] = stride;
      stride *= t.dims[d];
    }
  }
  operator const TensorView&() const { return view; }
};

// --- runs ---------------------------------------------------------------------------------------------

// One run of a control function.
struct Control {
  ptc_session* session;
  Memory* memory;
  Numbers numbers;
  Run* run;

  int fail(int status, const char* text) {
    run->message = text;
    return status;
  }
  int out_of_memory() { return fail(STATUS_MEMORY, "no memory for a tensor"); }
  // What became of arithmetic on Python numbers: an exception of Python's, or a limit of this form.
  int number_status() {
    if (!numbers.failure) return STATUS_OK;
    const char* const text = numbers.failure;
    return numbers.exception ? raise(numbers.exception, text) : fail(STATUS_RUNTIME, text);
  }
  // End the run as Python ends it.
  int raise(const char* type, const char* text) {
    return session->raise(type, text, (int64_t)strlen(text)) ? STATUS_RAISED : out_of_memory();
  }
};

inline void drop(Control* c, Tensor* t) {
  c->memory->release(t->storage);
  t->storage = nullptr;
}

// `to` = `from`, which is left empty.
inline void move(Control* c, Tensor* to, Tensor* from) {
  Storage* const old = to->storage;
  *to = *from;
  from->storage = nullptr;
  c->memory->release(old);
}

inline void share(Control* c, Tensor* to, const Tensor* from) {
  Storage* const old = to->storage;
  *to = *from;
  if (to->storage) ++to->storage->refs;
  c->memory->release(old);
}

// A fresh tensor with undefined content in `to`, which must be empty.
inline int create(Control* c, Tensor* to, uint8_t code, uint8_t bits, int ndim, const int64_t* dims) {
  to->ndim = ndim;
  to->code = code;
  to->bits = bits;
  for (int d = 0; d < ndim; ++d) to->dims[d] = dims[d];
  to->storage = c->memory->create(to->bytes());
  return to->storage ? STATUS_OK : c->out_of_memory();
}

// Give the storage of `to` the content of `value`, a fresh tensor of the same size that is left empty: everyone who
// shares the storage sees it.
inline void write_tensor(Control* c, const Tensor* to, Tensor* value) {
  Storage* const a = to->storage;
  Storage* const b = value->storage;
  if (a->size_class >= 0) {
    char* const data = a->data;
    a->data = b->data;
    b->data = data;
    const int32_t number = a->size_class;
    a->size_class = b->size_class;
    b->size_class = number;
  } else {
    memcpy(a->data, b->data, (size_t)a->bytes);
  }
  drop(c, value);
}

// Run program number `program` of the library; its results, those written back last, go to `results`, which
// are empty. Not inlined: what it takes from the stack is given back before the next iteration of a loop.
static __attribute__((noinline)) int call_segment(Control* c, uint32_t program, void* const* inputs,
                                                  const int64_t* sizes, Tensor* results) {
  const EntrySpec& entry = model_spec.entries[program];
  ptc_session* const s = c->session;
  if (c->run->cancelled) return STATUS_CANCELLED;
  int64_t input_dims = 0, output_dims = 0;
  for (int i = 0; i < entry.input_count; ++i) input_dims += entry.inputs[i].ndim;
  for (int i = 0; i < entry.all_output_count; ++i) output_dims += entry.outputs[i].ndim;
  int64_t* const dims = (int64_t*)__builtin_alloca((size_t)(input_dims + output_dims + 1) * sizeof(int64_t));
  void** const outputs = (void**)__builtin_alloca((size_t)(entry.all_output_count + 1) * sizeof(void*));
  entry.shapes(sizes, dims);
  const int64_t* at = dims + input_dims;
  for (int i = 0; i < entry.all_output_count; ++i) {
    const TensorSpec& spec = entry.outputs[i];
    if (const int status = create(c, &results[i], spec.code, spec.bits, spec.ndim, at)) return status;
    outputs[i] = results[i].storage->data;
    at += spec.ndim;
  }
  const int64_t arena = entry.arena_bytes(sizes);
  if (!reserve_arena(s, arena)) return c->fail(STATUS_MEMORY, "no memory for an arena");
#ifdef PTC_POISON
  memset(s->arena, 0xFF, (size_t)s->arena_bytes);
  if (c->run->scratch) memset(c->run->scratch, 0xFF, (size_t)c->run->scratch_bytes);
#endif
  const Frame frame = {inputs, outputs, s->weights, s->set->prepared[program], s->arena, sizes};
  return entry.body(c->run, &frame);
}

}  // namespace ptc

#endif
