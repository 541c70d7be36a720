// The C interface of a model (ptc_abi.h), driven by the tables that a library's host unit defines. A unit of its own
// includes it, the same for every library.
//
// Owns models, sessions and runs; the tables are in ptc_host_spec.h, weights, tensors and the processor in headers of
// their own. Knows nothing of kernels: it calls an entry's `body`.
// Compiled without the target's instruction set, since it runs before the CPU was checked.
#ifndef PTC_HOST_H
#define PTC_HOST_H

#include <string.h>

#include "ptc_abi.h"
#include "ptc_host_cpu.h"
#include "ptc_host_prepared.h"
#include "ptc_host_sets.h"
#include "ptc_host_spec.h"
#include "ptc_host_tensors.h"
#include "ptc_host_weights.h"
#include "ptc_kernel.h"
#include "ptc_random.h"
#include "ptc_threads.h"

namespace ptc {

// --- models -------------------------------------------------------------------------------------------

static void close_model(ptc_model* model) {
  if (!model) return;
  free_set(model->current);
  if (model->pool) pool_close(model->pool);
  free_bytes(model);
}

// What of the options there is: they may come from a program that knows fewer.
struct OpenOptions {
  const char* weights = nullptr;
  const void* const* pointers = nullptr;
  const char* store = nullptr;
  int threads = 0;

  explicit OpenOptions(const ptc_open_options* given) {
    if (!given) return;
    threads = given->threads;
    if (given->struct_size >= offsetof(ptc_open_options, weights_path) + sizeof(char*)) weights = given->weights_path;
    if (given->struct_size >= offsetof(ptc_open_options, prepared_path)) pointers = given->weight_pointers;
    if (given->struct_size >= sizeof(ptc_open_options)) store = given->prepared_path;
  }
};

// The weights that the library has, or those that the options give.
static ptc_status fill_set(WeightSet* set, Pool* pool, const OpenOptions& options, Message m) {
  ptc_status status = PTC_OK;
  const bool own_weights = !options.pointers && !options.weights && !model_spec.weights_file;
  if (has_prepared() && own_weights && !options.store) status = map_prepared(set, m);
  if (!status && model_spec.weight_count) {
    if (options.pointers)
      memcpy(set->weights, options.pointers, (size_t)model_spec.weight_count * sizeof(void*));
    else
      status = load_weights(set, options.weights, false, m);
  }
  if (!status && !set->prepared_file.base) {
    status = options.store && has_prepared() ? store_prepared(set, options.store, m) : place_prepared(set, nullptr, m);
    if (!status) status = prepare_entries(set, pool, m);
  }
  return status;
}

static ptc_status open_model(const ptc_open_options* given, ptc_model** result, char* text, size_t capacity) {
  const Message m = {text, capacity};
  if (text && capacity) text[0] = 0;
  if (!result) return m.fail(PTC_E_ARGUMENT, "open: the place for the model is null");
  *result = nullptr;
  if (given && given->struct_size < offsetof(ptc_open_options, weights_path))
    return m.fail(PTC_E_ARGUMENT, "open: options have struct_size %u", given->struct_size);
  for (const char* const* feature = model_spec.cpu_features; *feature; ++feature)
    if (!cpu_has(*feature))
      return m.fail(PTC_E_CPU, "%s was built for CPUs with %s, which this one lacks", model_spec.name, *feature);
  ptc_model* model = (ptc_model*)allocate(sizeof(ptc_model));
  if (!model) return m.fail(PTC_E_MEMORY, "no memory for a model");
  memset((void*)model, 0, sizeof *model);
  const OpenOptions options(given);
  model->pool = pool_open(options.threads);
  model->current = new_set();
  ptc_status status = PTC_OK;
  if (!model->current) status = m.fail(PTC_E_MEMORY, "no memory for a model");
  if (!status) status = fill_set(model->current, model->pool, options, m);
  if (status) {
    close_model(model);
    return status;
  }
  drop_pages(model->current);
  *result = model;
  return PTC_OK;
}

// A file's weights in place of those that the model has; runs that have begun keep theirs.
static ptc_status update_weights(ptc_model* model, const char* path, char* text, size_t capacity) {
  const Message m = {text, capacity};
  if (text && capacity) text[0] = 0;
  if (!model || !path) return m.fail(PTC_E_ARGUMENT, "update_weights: the model or the path is null");
  WeightSet* set = new_set();
  if (!set) return m.fail(PTC_E_MEMORY, "no memory for new weights");
  ptc_status status = load_weights(set, path, true, m);
  if (!status) {
    WeightSet* current = take(model);
    status = keep_constants(set, current, path, m);
    give_back(model, current);
  }
  if (!status) status = place_prepared(set, nullptr, m);
  if (!status) status = prepare_entries(set, model->pool, m);
  if (status) {
    free_set(set);
    return status;
  }
  drop_pages(set);
  give_back(model, exchange_current(model, set));
  return PTC_OK;
}

// --- sessions -----------------------------------------------------------------------------------------

// The model's current weights in place of those that the session's last run read. What the session wrote stays.
static void take_current(ptc_session* session) {
  WeightSet* set = take(session->model);
  if (set == session->set) return give_back(session->model, set);
  give_back(session->model, session->set);
  session->set = set;
  for (int i = 0; i < model_spec.weight_count; ++i)
    if (!model_spec.weights[i].is_written) session->weights[i] = set->weights[i];
}

static void free_session(ptc_session* session) {
  if (!session) return;
  give_back(session->model, session->set);
  if (session->weights)
    for (int i = 0; i < model_spec.weight_count; ++i)
      if (model_spec.weights[i].is_written) free_bytes(session->weights[i]);
  free_bytes(session->weights);
  while (session->blocks) {
    Block* next = session->blocks->next;
    free_bytes(session->blocks->data);
    free_bytes(session->blocks);
    session->blocks = next;
  }
  if (model_spec.free_memory) model_spec.free_memory(session);
  free_bytes(session->state);
  free_bytes(session->exception_text);
  free_bytes(session->arena);
  session->run.forget_all();
  free_bytes(session->run.scratch);
  free_bytes(session);
}

static ptc_status reset_session(ptc_session* session) {
  if (!session) return PTC_E_ARGUMENT;
  take_current(session);
  for (int i = 0; i < model_spec.weight_count; ++i) {
    const WeightSpec& spec = model_spec.weights[i];
    if (spec.is_written) memcpy(session->weights[i], session->set->weights[i], (size_t)spec.bytes);
  }
  for (int i = 0; i < model_spec.state_count; ++i) session->state[i] = model_spec.states[i].initial;
  if (model_spec.free_memory) model_spec.free_memory(session);
  return PTC_OK;
}

// Whether a weight is the state of the generator that torch draws from where it is given none.
static bool is_own_generator(const WeightSpec& spec) {
  return spec.is_written && spec.rank == 1 && spec.dims[0] == kRandomWords && !strcmp(spec.dtype, "I32") &&
         !strcmp(spec.key, "\"default_generator\"");
}

static ptc_status seed_session(ptc_session* session, uint64_t seed) {
  if (!session) return PTC_E_ARGUMENT;
  const int64_t given = (int64_t)seed;
  for (int i = 0; i < model_spec.weight_count; ++i)
    if (is_own_generator(model_spec.weights[i])) random_seeded(1, &given, (int32_t*)session->weights[i]);
  return PTC_OK;
}

static ptc_status new_session(ptc_model* model, ptc_session** result) {
  if (!model || !result) return PTC_E_ARGUMENT;
  *result = nullptr;
  ptc_session* session = (ptc_session*)allocate(sizeof(ptc_session));
  if (!session) return PTC_E_MEMORY;
  memset((void*)session, 0, sizeof *session);
  session->model = model;
  session->set = take(model);
  session->run.pool = model->pool;
  session->run.message = "";
  const size_t bytes = (size_t)model_spec.weight_count * sizeof(void*);
  session->weights = (void**)allocate((int64_t)bytes);
  bool good = session->weights != nullptr;
  if (good) memcpy(session->weights, session->set->weights, bytes);
  for (int i = 0; i < model_spec.weight_count; ++i) {
    const WeightSpec& spec = model_spec.weights[i];
    if (!spec.is_written || !session->weights) continue;
    void* copy = good ? allocate(spec.bytes) : nullptr;
    if (copy) memcpy(copy, session->set->weights[i], (size_t)spec.bytes);
    good = copy != nullptr;
    session->weights[i] = copy;
  }
  session->exception_type = "";
  session->state = (int64_t*)allocate(model_spec.state_count * (int64_t)sizeof(int64_t));
  if (!good || !session->state) {
    free_session(session);
    return PTC_E_MEMORY;
  }
  for (int i = 0; i < model_spec.state_count; ++i) session->state[i] = model_spec.states[i].initial;
  *result = session;
  return PTC_OK;
}

static ptc_status run_frame(ptc_session* session, uint32_t index, void* const* inputs, void* const* outputs,
                            const int64_t* sizes) {
  const EntrySpec& entry = model_spec.entries[index];
  const Message m = {session->error, sizeof session->error};
  const int64_t bytes = entry.arena_bytes(sizes);
  if (!reserve_arena(session, bytes))
    return m.fail(PTC_E_MEMORY, "no memory for an arena of %lld bytes", (long long)bytes);
  const Frame frame = {inputs, outputs, session->weights, session->set->prepared[index], session->arena, sizes};
#ifdef PTC_POISON  // tests: what a run reads, it must have written
  memset(session->arena, 0xFF, (size_t)session->arena_bytes);
  if (session->run.scratch) memset(session->run.scratch, 0xFF, (size_t)session->run.scratch_bytes);
#endif
  session->run.message = "";
  session->run.cancelled = 0;
  const int status = entry.body(&session->run, &frame);
  const size_t used = (size_t)(session->arena_bytes + session->run.scratch_bytes);
  if (used > session->peak) session->peak = used;
  if (!status) return PTC_OK;
  const char* text = session->run.message;
  if (status == PTC_E_CANCELLED) text = "the run was cancelled";
  if (status == PTC_E_MEMORY) text = "no memory for a kernel's scratch space";
  return m.fail((ptc_status)status, "%s", text);
}

// --- runs ----------------------------------------------------------------------------------------------

static void write_back(ptc_session* session, const EntrySpec& entry, const int64_t* output_dims, void** inputs,
                       void** outputs) {
  for (int i = 0; i < entry.write_back_count; ++i) {
    const WriteBackSpec& spec = entry.write_backs[i];
    const int64_t* dims = output_dims;
    for (int o = 0; o < spec.output; ++o) dims += entry.outputs[o].ndim;
    void* to = spec.input >= 0 ? inputs[spec.input] : session->weights[spec.weight];
    memcpy(to, outputs[spec.output], (size_t)byte_count(entry.outputs[spec.output], dims));
  }
}

static ptc_status run_checked(ptc_session* session, uint32_t index, DLTensor* const* inputs, size_t input_count,
                              DLTensor* const* outputs, size_t output_count) {
  if (!session) return PTC_E_ARGUMENT;
  session->error[0] = 0;
  session->exception_type = "";
  session->variant = 0;
  const Message m = {session->error, sizeof session->error};
  if (index >= model_spec.entry_count)
    return m.fail(PTC_E_ARGUMENT, "no entry %u, there are %u", index, model_spec.entry_count);
  take_current(session);
  const EntrySpec& entry = model_spec.entries[index];
  if (input_count != (size_t)entry.input_count || output_count != (size_t)entry.output_count)
    return m.fail(PTC_E_ARGUMENT, "%s takes %d inputs and gives %d outputs, got %d and %d", entry.name,
                  entry.input_count, entry.output_count, (int)input_count, (int)output_count);
  if ((input_count && !inputs) || (output_count && !outputs))
    return m.fail(PTC_E_ARGUMENT, "%s: the array of tensors is null", entry.name);
  int64_t dim_count = 1;
  for (int i = 0; i < entry.input_count; ++i) dim_count += entry.inputs[i].ndim;
  for (int i = 0; i < entry.all_output_count; ++i) dim_count += entry.outputs[i].ndim;
  const int64_t values = entry.input_count + entry.all_output_count;
  // One block: sizes, dims, pointers, flags. Small, so that a stack buffer serves almost always.
  int64_t stack[512];
  const int flags = entry.output_count > entry.all_output_count ? entry.output_count : entry.all_output_count;
  const int64_t words = entry.size_count + dim_count + values + (flags + 7) / 8 + 1;
  int64_t* block = words <= 512 ? stack : (int64_t*)allocate(words * 8);
  if (!block) return m.fail(PTC_E_MEMORY, "no memory for the call");
  int64_t* sizes = block;
  int64_t* dims = sizes + entry.size_count;
  void** in = (void**)(dims + dim_count);
  void** out = in + entry.input_count;
  bool* ours = (bool*)(out + entry.all_output_count);
  memset(out, 0, (size_t)entry.all_output_count * sizeof(void*));
  memset(ours, 0, (size_t)flags);
  int64_t* output_dims = dims;
  for (int i = 0; i < entry.input_count; ++i) output_dims += entry.inputs[i].ndim;
  ptc_status status = check_inputs(m, entry, inputs, sizes, dims, in);
  if (entry.control) {
    if (!status) status = (ptc_status)entry.control(session, entry, ControlCall{in, dims, sizes, outputs, ours});
  } else {
    if (!status) status = place_outputs(session, entry, outputs, output_dims, out, ours);
    if (!status) status = check_apart(m, entry, dims, in, out);
    if (!status) status = run_frame(session, index, in, out, sizes);
    if (!status) write_back(session, entry, output_dims, in, out);
  }
  for (int i = 0; i < entry.all_output_count; ++i) {
    if (!ours[i]) continue;
    if (i >= entry.output_count) free_bytes(out[i]);
    else if (status) release_output(session, outputs[i]);
  }
  if (block != stack) free_bytes(block);
  return status;
}

static ptc_status run_raw(ptc_session* session, uint32_t index, void* const* pointers, const int64_t* sizes) {
  if (!session || index >= model_spec.entry_count || model_spec.entries[index].control) return PTC_E_ARGUMENT;
  session->error[0] = 0;
  session->exception_type = "";
  take_current(session);
  const EntrySpec& entry = model_spec.entries[index];
  return run_frame(session, index, pointers, pointers + entry.raw_input_count, sizes);
}

static int32_t entry_index(const char* name) {
  for (uint32_t i = 0; name && i < model_spec.entry_count; ++i)
    if (strcmp(model_spec.entries[i].name, name) == 0) return (int32_t)i;
  return -1;
}

static const char* last_error(const ptc_session* session) {
  if (!session) return "the session is null";
  return *session->exception_type ? session->exception_text : session->error;
}

const ptc_api api_table = {
    PTC_ABI_VERSION,
    sizeof(ptc_api),
    [] { return model_spec.manifest; },
    open_model,
    close_model,
    new_session,
    free_session,
    [] { return model_spec.entry_count; },
    entry_index,
    run_checked,
    release_output,
    last_error,
    [](ptc_session* session) {
      if (session) session->run.cancelled = 1;
    },
    [](const ptc_session* session) { return session ? session->peak : 0; },
    run_raw,
    [](const ptc_session* session) { return session ? session->exception_type : ""; },
    [](const ptc_session* session) { return session ? session->variant : 0; },
    [](ptc_session* session, ptc_emit emit, void* user) {
      if (!session) return;
      session->emit = emit;
      session->emit_user = user;
    },
    reset_session,
    [](ptc_session* session, int64_t** numbers, void* const** weights) {
      if (!session || !numbers || !weights) return PTC_E_ARGUMENT;
      *numbers = session->state;
      *weights = session->weights;
      return PTC_OK;
    },
    seed_session,
    update_weights,
    [] { return model_spec.isa; },
};

}  // namespace ptc

#endif
