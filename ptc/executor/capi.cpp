// The C interface: exceptions become statuses and messages here, and nowhere else.
#define PTC_THREADS_IMPLEMENTATION
#include "ptc_exec.h"

#include <string.h>

#include <new>

#include "boundary.h"
#include "control_module.h"
#include "describe.h"
#include "session.h"
#include "unsupported.h"

using namespace ptc::exec;

struct ptc_model : Model {
  std::string description, text;
};

struct ptc_session {
  explicit ptc_session(ptc_model* model) : session(model) {}
  std::vector<std::unique_ptr<OutputBlock>> blocks;
  Session session;
  std::string error, exception_type;
};

// Runs `body`; what it throws becomes a status and `*message`.
template <class F> static ptc_status guarded(std::string* message, std::string* exception_type, const F& body) {
  try {
    body();
    return PTC_OK;
  } catch (const Unsupported& error) {
    *message = error.text();
    return (ptc_status)PTC_EXEC_E_UNSUPPORTED;
  } catch (const Error& error) {
    const bool raised = error.status() == Status::Raised;
    if (exception_type && raised) *exception_type = error.exception_type();
    *message = raised ? error.exception_type() + ": " + error.text() : error.text();
    return (ptc_status)error.status();
  } catch (const std::bad_alloc&) {
    *message = "no memory";
    return PTC_E_MEMORY;
  } catch (const std::length_error&) {
    *message = "no memory";
    return PTC_E_MEMORY;
  } catch (const std::exception& error) {
    *message = error.what();
    return PTC_E_RUNTIME;
  }
}

static void put_message(const std::string& from, char* to, size_t capacity) {
  if (!to || !capacity) return;
  const size_t length = from.size() < capacity - 1 ? from.size() : capacity - 1;
  memcpy(to, from.data(), length);
  to[length] = 0;
}

template <class F>
static ptc_status open_bytes(const F& bytes, const ptc_exec_options* options, ptc_model** result, char* message, size_t capacity) {
  std::string text;
  if (message && capacity) message[0] = 0;
  const ptc_status status = guarded(&text, nullptr, [&] {
    if (!result) fail_with(Status::Argument, "open: the place for the model is null");
    *result = nullptr;
    ptc_exec_options given = {};
    if (options) memcpy(&given, options, options->struct_size < sizeof given ? options->struct_size : sizeof given);
    std::unique_ptr<ptc_model> model = std::make_unique<ptc_model>();
    model->program = prepare_program(bytes(), false, given.verify != 0);
    model->manifest = std::string(model->program->package.manifest);
    model->memory_limit = given.memory_limit > (uint64_t)1 << 62 ? (int64_t)1 << 62 : (int64_t)given.memory_limit;
    model->pool = ptc::pool_open(given.threads);
    *result = model.release();
  });
  put_message(text, message, capacity);
  return status;
}

ptc_status ptc_exec_open(const char* path, const ptc_exec_options* options, ptc_model** model, char* message, size_t capacity) {
  return open_bytes(
      [&] {
        if (!path) fail_with(Status::Argument, "open: the path is null");
        return Bytes::map_file(path);
      },
      options, model, message, capacity);
}

ptc_status ptc_exec_open_memory(const void* data, size_t size, const ptc_exec_options* options, ptc_model** model,
                                char* message, size_t capacity) {
  return open_bytes(
      [&] {
        if (!data) fail_with(Status::Argument, "open: the memory is null");
        return Bytes::borrow(data, size);
      },
      options, model, message, capacity);
}

static ptc_status api_open(const ptc_open_options* given, ptc_model** model, char* message, size_t capacity) {
  ptc_exec_options options = {sizeof options, given ? given->threads : 0, 0, 0};
  return ptc_exec_open(given ? given->weights_path : nullptr, &options, model, message, capacity);
}

static ptc_status api_session_new(ptc_model* model, ptc_session** result) {
  if (!model || !result) return PTC_E_ARGUMENT;
  *result = nullptr;
  std::string message;
  return guarded(&message, nullptr, [&] { *result = new ptc_session(model); });
}

static void api_run_checked(ptc_session* session, DLTensor* const* inputs, size_t input_count, DLTensor* const* outputs,
                            size_t output_count) {
  const Program& program = *session->session.model().program;
  size_t returned = 0;
  for (const Output& output : program.module.outputs) returned += output.writes < 0;
  if (input_count != program.call_inputs.size() || output_count != returned)
    fail_with(Status::Argument, "%s takes %zu inputs and gives %zu outputs, got %zu and %zu", program.module.name.c_str(),
              program.call_inputs.size(), returned, input_count, output_count);
  if ((input_count && !inputs) || (output_count && !outputs)) fail_with(Status::Argument, "the array of tensors is null");
  for (size_t i = 0; i < output_count; ++i)
    if (!outputs[i]) fail_with(Status::Argument, "output %zu is null", i);
  std::vector<Value> values;
  for (size_t i = 0; i < input_count; ++i)
    values.push_back(value_of_input(program.module.inputs[(size_t)program.call_inputs[i]], inputs[i]));
  std::vector<Value> given = values;
  std::vector<std::pair<int, Tensor>> written;
  std::vector<Value> results = session->session.run(std::move(values), &written);
  MemoryScope scope(session->session.memory());
  std::vector<std::unique_ptr<OutputBlock>> blocks;
  for (size_t i = 0; i < results.size(); ++i) {
    const Type* const type = program.control ? &program.module.instructions[i].type : nullptr;
    blocks.push_back(results[i].is_none() ? nullptr : block_of_result(results[i], type));
  }
  for (auto& [input, tensor] : written)
    if (tensor.storage->borrowed) tensor = clone(tensor);
  for (const auto& [input, tensor] : written)
    for (size_t i = 0; i < input_count; ++i)
      if (program.call_inputs[i] == program.module.inputs[(size_t)input].number) copy_into(given[i].tensor(), tensor);
  size_t next = 0;
  for (const Output& output : program.module.outputs) {
    if (output.writes >= 0) continue;
    DLTensor* const target = outputs[next];
    std::unique_ptr<OutputBlock>& block = blocks[next++];
    if (!block) continue;  // has no meaning in this variant of the result
    if (target->data) {
      copy_to_host(*block, output.name, target);
    } else {
      *target = block->view();
      session->blocks.push_back(std::move(block));
    }
  }
}

static ptc_status api_run(ptc_session* session, uint32_t entry, DLTensor* const* inputs, size_t input_count,
                          DLTensor* const* outputs, size_t output_count) {
  if (!session) return PTC_E_ARGUMENT;
  session->error.clear();
  session->exception_type.clear();
  return guarded(&session->error, &session->exception_type, [&] {
    if (entry != 0) fail_with(Status::Argument, "no entry %u, there is one", entry);
    api_run_checked(session, inputs, input_count, outputs, output_count);
  });
}

static void api_release(ptc_session* session, DLTensor* output) {
  if (!session || !output) return;
  for (auto& block : session->blocks)
    if (block->tensor.storage->data == output->data) {
      block = std::move(session->blocks.back());
      session->blocks.pop_back();
      output->data = nullptr;
      return;
    }
}

static const char* api_last_error(const ptc_session* session) { return session ? session->error.c_str() : "the session is null"; }

static ptc_status api_reset(ptc_session* session) {
  if (!session) return PTC_E_ARGUMENT;
  return guarded(&session->error, nullptr, [&] { session->session.reset(); });
}

static ptc_status api_seed(ptc_session* session, uint64_t seed) {
  if (!session) return PTC_E_ARGUMENT;
  return guarded(&session->error, nullptr, [&] { session->session.seed(seed); });
}

static void api_set_emit(ptc_session* session, ptc_emit emit, void* user) {
  if (session) session->session.set_emit(emit, user);
}

static ptc_status api_update_weights(ptc_model*, const char*, char* message, size_t capacity) {
  if (message && capacity) snprintf(message, capacity, "the weights of a .ptir file are part of it: export the model again");
  return PTC_E_ARGUMENT;
}

#if defined(__AVX512F__)
static const char* const instruction_set = "avx512";
#elif defined(__AVX2__)
static const char* const instruction_set = "avx2";
#elif defined(__aarch64__)
static const char* const instruction_set = "neon";
#else
static const char* const instruction_set = "baseline";
#endif

static const ptc_api table = {
    PTC_ABI_VERSION,
    sizeof(ptc_api),
    [] { return ""; },
    api_open,
    [](ptc_model* model) { delete model; },
    api_session_new,
    [](ptc_session* session) { delete session; },
    [] { return (uint32_t)1; },
    [](const char* name) { return name ? 0 : -1; },
    api_run,
    api_release,
    api_last_error,
    [](ptc_session* session) {
      if (session) session->session.cancel();
    },
    [](const ptc_session* session) { return session ? (size_t)session->session.peak_memory() : 0; },
    [](ptc_session*, uint32_t, void* const*, const int64_t*) { return PTC_E_ARGUMENT; },
    [](const ptc_session* session) { return session ? session->exception_type.c_str() : ""; },
    [](const ptc_session* session) { return session ? session->session.variant() : 0; },
    api_set_emit,
    api_reset,
    [](ptc_session*, int64_t**, void* const**) { return PTC_E_ARGUMENT; },
    api_seed,
    api_update_weights,
    [] { return instruction_set; },
};

const ptc_api* ptc_exec_api(void) { return &table; }

const char* ptc_exec_manifest(const ptc_model* model) { return model ? model->manifest.c_str() : nullptr; }

const char* ptc_exec_description(ptc_model* model) {
  std::string message;
  const bool good = model && guarded(&message, nullptr, [&] {
                      if (model->description.empty()) model->description = describe(model->program->module);
                    }) == PTC_OK;
  return good ? model->description.c_str() : nullptr;
}

const char* ptc_exec_text(ptc_model* model) {
  std::string message;
  const bool good = model && guarded(&message, nullptr, [&] {
                      const std::string_view text = model->program->package.text;
                      if (!model->text.empty()) return;
                      model->text = is_control(text) ? print_control(parse_control(text.data(), text.size()))
                                                     : print_module(parse_module(text.data(), text.size()));
                    }) == PTC_OK;
  return good ? model->text.c_str() : nullptr;
}

const char* ptc_exec_operators(void) {
  static std::string names;
  std::string message;
  const bool good = guarded(&message, nullptr, [&] {
                      if (names.empty())
                        for (const std::string& name : operator_names()) names += name + "\n";
                    }) == PTC_OK;
  return good ? names.c_str() : nullptr;
}
