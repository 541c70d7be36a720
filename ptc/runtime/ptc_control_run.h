// One run of a program with control flow: how it begins and ends, and its results.
//
// Owns run_control and results as DLTensors. Included by the host unit of a library that has such programs.
#ifndef PTC_CONTROL_RUN_H
#define PTC_CONTROL_RUN_H

#include <string.h>

#include "ptc_control.h"
#include "ptc_control_list.h"
#include "ptc_convert.h"
#include "ptc_host_tensors.h"

namespace ptc {

// --- entry --------------------------------------------------------------------------------------------

// Memory of the caller or of the session as a tensor variable.
inline int bind_tensor(Control* c, Tensor* to, const TensorSpec& spec, void* data, const int64_t* dims) {
  to->ndim = spec.ndim;
  to->code = spec.code;
  to->bits = spec.bits;
  for (int d = 0; d < spec.ndim; ++d) to->dims[d] = dims[d];
  to->storage = c->memory->borrow(data, to->bytes());
  return to->storage ? STATUS_OK : c->out_of_memory();
}

// Whether two variables are one tensor with content.
inline bool one_tensor(const Tensor& a, const Tensor& b) {
  return a.storage && a.storage == b.storage && a.storage->bytes > 0;
}

// A buffer of the model at the end: memory of the caller, or that another buffer may be given, is copied first.
inline int settle_buffer(Control* c, Tensor* value, const void* content) {
  const Storage* const storage = value->storage;
  if (!storage || storage->data == content || storage->size_class >= 0) return STATUS_OK;
  Tensor copy = {};
  if (const int status = create(c, &copy, value->code, value->bits, value->ndim, value->dims)) return status;
  memcpy(copy.storage->data, storage->data, (size_t)storage->bytes);
  move(c, value, &copy);
  return STATUS_OK;
}

// What the variable of a buffer refers to at the end is its new content.
inline int keep_buffer(Control* c, const Tensor& value, void* content, int64_t bytes) {
  if (!value.storage || value.storage->data == content) return STATUS_OK;
  if (value.bytes() != bytes) return c->fail(STATUS_RUNTIME, "a buffer of the model changed its size");
  memcpy(content, value.storage->data, (size_t)bytes);
  return STATUS_OK;
}

template <class T> inline T load_as(const void* data) {
  T value;
  memcpy(&value, data, sizeof value);
  return value;
}

// The one element of a tensor as a Python number.
template <class R> inline R read_item(const Tensor& t) {
  const void* const p = t.storage->data;
  switch (t.code * 256 + t.bits) {
    case 2 * 256 + 64: return (R)load_as<double>(p);
    case 2 * 256 + 32: return (R)load_as<float>(p);
    case 2 * 256 + 16: return (R)convert<float>(load_as<f16>(p));
    case 4 * 256 + 16: return (R)convert<float>(load_as<bf16>(p));
    case 0 * 256 + 64: return (R)load_as<int64_t>(p);
    case 0 * 256 + 32: return (R)load_as<int32_t>(p);
    case 0 * 256 + 16: return (R)load_as<int16_t>(p);
    case 0 * 256 + 8: return (R)load_as<int8_t>(p);
    case 1 * 256 + 8: return (R)load_as<uint8_t>(p);
    default: return (R)(load_as<uint8_t>(p) != 0);
  }
}

// A size that data gives, against the range that the kernels were made for.
inline int bind_size(Control* c, int64_t* to, int64_t value, int64_t lower, int64_t upper) {
  *to = value;
  if (value >= lower && (upper < 0 || value <= upper)) return STATUS_OK;
  return c->fail(STATUS_RUNTIME, "a size that depends on data is out of the range the model was compiled for");
}

// --- what persists ------------------------------------------------------------------------------------

// Of lists in lists, KEPT_IN_LIST for each list around the innermost ones.
enum KeptKind { KEPT_TENSOR, KEPT_STRING, KEPT_TENSORS, KEPT_STRINGS, KEPT_NUMBERS, KEPT_IN_LIST };

// A variable that persists, of any type: all bits zero is "no value".
struct KeptSlot {
  Tensor tensor;
};

template <class T> inline T* kept(Control* c, int number) {
  static_assert(sizeof(T) <= sizeof(KeptSlot), "a variable that does not fit its slot");
  return (T*)((KeptSlot*)c->session->kept + number);
}

// Memory of the caller or of a weight becomes the session's own, for all who share it.
inline int own_storage(Control* c, Storage* storage) {
  if (!storage || storage->size_class >= 0) return STATUS_OK;
  Storage* const made = c->memory->create(storage->bytes);
  if (!made) return c->out_of_memory();
  memcpy(made->data, storage->data, (size_t)storage->bytes);
  char* const data = storage->data;
  storage->data = made->data;
  storage->size_class = made->size_class;
  made->data = data;
  made->size_class = -1;
  c->memory->release(made);
  return STATUS_OK;
}
inline int own(Control* c, const Tensor& t) { return own_storage(c, t.storage); }
template <class T> inline int own(Control*, const T&) { return STATUS_OK; }
inline int own(Control* c, const List<Tensor>& list) {
  for (int64_t i = 0; list.data && i < list.count(); ++i)
    if (const int status = own(c, list.items()[i])) return status;
  return STATUS_OK;
}
template <class T> inline int own(Control* c, const List<List<T>>& list) {
  for (int64_t i = 0; list.data && i < list.count(); ++i)
    if (const int status = own(c, list.items()[i])) return status;
  return STATUS_OK;
}

template <class T> inline int keep(Control* c, int number, const T* value) {
  share(c, kept<T>(c, number), value);
  return own(c, *value);
}

static int make_kept(ptc_session* s) {
  if (s->kept || !model_spec.kept_count) return STATUS_OK;
  const int64_t bytes = model_spec.kept_count * (int64_t)sizeof(KeptSlot);
  s->kept = allocate_bytes(bytes);
  if (!s->kept) return STATUS_MEMORY;
  memset(s->kept, 0, (size_t)bytes);
  return STATUS_OK;
}

// Every list is laid out alike: only what its elements are matters.
inline void drop_list(Control* c, List<List<int64_t>>* list, int kind) {
  if (kind == KEPT_TENSORS) return drop(c, (List<Tensor>*)list);
  if (kind == KEPT_STRINGS) return drop(c, (List<String>*)list);
  if (kind == KEPT_NUMBERS) return drop(c, (List<int64_t>*)list);
  if (list->data && list->data->refs == 1) {
    for (int64_t i = 0; i < list->count(); ++i)
      drop_list(c, (List<List<int64_t>>*)&list->items()[i], kind - KEPT_IN_LIST);
    list->data->count = 0;
  }
  drop(c, list);
}

static void free_kept(ptc_session* s) {
  if (!s->kept) return;
  Control c = {s, s->memory, {}, &s->run};
  for (int i = 0; i < model_spec.kept_count; ++i) {
    switch (model_spec.kept_kinds[i]) {
      case KEPT_TENSOR: drop(&c, kept<Tensor>(&c, i)); break;
      case KEPT_STRING: drop(&c, kept<String>(&c, i)); break;
      default: drop_list(&c, kept<List<List<int64_t>>>(&c, i), model_spec.kept_kinds[i]);
    }
  }
  free_bytes(s->kept);
  s->kept = nullptr;
}

// --- results ------------------------------------------------------------------------------------------

// The memory for result `t`: the caller's after a check, else a block of the session. Null with `status` set.
inline void* place_result(Control* c, DLTensor* t, const TensorSpec& spec, const int64_t* dims, ptc_status* status) {
  const Message m = {c->session->error, sizeof c->session->error};
  if (t && !t->data) {
    if (!allocate_output(c->session, t, spec, dims))
      *status = m.fail(PTC_E_MEMORY, "no memory for output `%s`", spec.name);
    return t->data;
  }
  *status = check_tensor(m, "output", t, spec);
  if (!*status) *status = check_shape(m, "output", t, spec, dims);
  return *status ? nullptr : (char*)t->data + t->byte_offset;
}

// `is_last`: no later result is the same variable, its memory may become the result.
inline ptc_status give_result(Control* c, DLTensor* t, const TensorSpec& spec, Tensor* value, bool is_last) {
  ptc_status status = PTC_OK;
  Storage* const storage = value->storage;
  if (!storage) return PTC_OK;  // not part of this variant of the result
  const bool moves = is_last && t && !t->data && storage->refs == 1 && storage->size_class >= 0;
  if (moves && adopt_output(c->session, t, spec, value->dims, storage->data)) {
    c->memory->hand_over(storage->size_class);
    storage->data = nullptr;
    return PTC_OK;
  }
  void* const to = place_result(c, t, spec, value->dims, &status);
  if (to) memcpy(to, storage->data, (size_t)value->bytes());
  return status;
}

template <class T> inline ptc_status give_result(Control* c, DLTensor* t, const TensorSpec& spec, T* value, bool) {
  ptc_status status = PTC_OK;
  void* const to = place_result(c, t, spec, nullptr, &status);
  if (to) memcpy(to, value, sizeof(T));
  return status;
}

template <class T>
inline ptc_status give_result(Control* c, DLTensor* t, const TensorSpec& spec, List<T>* value, bool) {
  ptc_status status = PTC_OK;
  if (!value->data) return PTC_OK;
  const int64_t count = value->count();
  void* const to = place_result(c, t, spec, &count, &status);
  if (to && count) memcpy(to, value->items(), (size_t)count * sizeof(T));
  return status;
}

// A list of tensors: an array of `DLTensor *`; they, their shapes and contents lie in the same block.
inline ptc_status give_result(Control* c, DLTensor* t, const TensorSpec& spec, List<Tensor>* value, bool) {
  const Message m = {c->session->error, sizeof c->session->error};
  if (!value->data) return PTC_OK;
  if (!t || t->data)
    return m.fail(PTC_E_ARGUMENT, "output `%s` is a list: its data must be null, the library allocates it",
                  spec.name);
  const int64_t count = value->count();
  int64_t words = 0, content = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& item = value->items()[i];
    words += 2 * item.ndim;
    content += (item.bytes() + 63) / 64 * 64;
  }
  const int64_t head = count * (int64_t)(sizeof(DLTensor*) + sizeof(DLTensor)) + words * (int64_t)sizeof(int64_t);
  char* const block = allocate((head + 63) / 64 * 64 + content);
  if (!block || !adopt_output(c->session, t, spec, &count, block)) {
    free_bytes(block);
    return m.fail(PTC_E_MEMORY, "no memory for output `%s`", spec.name);
  }
  DLTensor** const pointers = (DLTensor**)block;
  DLTensor* const items = (DLTensor*)(pointers + count);
  int64_t* shape = (int64_t*)(items + count);
  char* data = block + (head + 63) / 64 * 64;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor& item = value->items()[i];
    const DenseView dense(item);
    pointers[i] = &items[i];
    const DLDataType type = {item.code, item.bits, 1};
    items[i] = DLTensor{data, DLDevice{1, 0}, item.ndim, type, shape, shape + item.ndim, 0};
    for (int d = 0; d < item.ndim; ++d) {
      shape[d] = item.dims[d];
      shape[item.ndim + d] = dense.strides[d];
    }
    memcpy(data, item.storage->data, (size_t)item.bytes());
    shape += 2 * item.ndim;
    data += (item.bytes() + 63) / 64 * 64;
  }
  return PTC_OK;
}

// --- runs ---------------------------------------------------------------------------------------------

// `Variables` is the struct of a program's variables, with its functions.
template <class Variables> inline int run_control(ptc_session* s, const EntrySpec& entry, ControlCall call) {
  const Message m = {s->error, sizeof s->error};
  if (!s->memory && (s->memory = (Memory*)allocate_bytes(sizeof(Memory))))
    memset((void*)s->memory, 0, sizeof(Memory));
  const bool placed = s->memory && !make_kept(s);
  Variables* const v = placed ? (Variables*)allocate_bytes(sizeof(Variables)) : nullptr;
  if (!v) return m.fail(PTC_E_MEMORY, "no memory for the call");
  memset((void*)v, 0, sizeof(Variables));
  s->run.message = "";
  s->run.cancelled = 0;
  Control c = {s, s->memory, {}, &s->run};
  int status = v->enter(&c, call);
  const bool entered = !status;
  if (entered) status = v->body(&c);
  if (status == STATUS_CANCELLED) s->run.message = "the run was cancelled";
  if (status == STATUS_MEMORY && !*s->run.message) s->run.message = "no memory for a kernel's scratch space";
  if (status && status != STATUS_RAISED) m.fail((ptc_status)status, "%s", s->run.message);
  for (int i = 0; i < entry.output_count; ++i) call.ours[i] = call.outputs[i] && !call.outputs[i]->data;
  // Before buffers get their new content: a result may be what a buffer was.
  if (!status) status = v->results(&c, entry, call);
  const int kept = entered ? v->leave(&c) : STATUS_OK;
  if (!status && kept) status = kept;
  if (kept && status == kept && kept != STATUS_RAISED) m.fail((ptc_status)kept, "%s", s->run.message);
  for (int i = 0; status && i < entry.output_count; ++i)
    if (call.ours[i] && call.outputs[i]->data) release_output(s, call.outputs[i]);
  v->drop_all(&c);
  free_bytes(v);
  const size_t used = (size_t)(s->arena_bytes + s->run.scratch_bytes + s->memory->peak);
  if (used > s->peak) s->peak = used;
  return status;
}

static void free_control_memory(ptc_session* s) {
  free_kept(s);
  if (s->memory) s->memory->clear();
  free_bytes(s->memory);
  s->memory = nullptr;
}

}  // namespace ptc

#endif
