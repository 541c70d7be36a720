// The C interface of a model (ptc_abi.h), driven by the tables that a library's host unit defines.
//
// Owns models, sessions, the checks of tensors at the door, output allocation, weights mapped from the
// library's own file or from a safetensors file. Knows nothing of kernels: it calls an entry's `body`.
// Compiled without the target's instruction set, since it runs before the CPU was checked.
#ifndef PTC_HOST_H
#define PTC_HOST_H

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ptc_abi.h"
#include "ptc_kernel.h"
#include "ptc_threads.h"

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

// A block that `prepare` fills: its size, or the function that tells it.
struct PreparedSpec {
  int64_t bytes;
  int64_t (*size)();
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
  void*** prepared;  // the blocks of each entry
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

// --- the processor ------------------------------------------------------------------------------------

#if defined(__x86_64__)

// Where CPUID tells a feature: leaf, sub-leaf, register (eax 0, ebx 1, ecx 2, edx 3), bit; and the state
// that the system must save for it (bits of XCR0).
struct CpuFeature {
  const char* name;
  uint32_t leaf, subleaf, reg, bit, state;
};
static const CpuFeature cpu_features[] = {
    {"sse3", 1, 0, 2, 0, 0},           {"ssse3", 1, 0, 2, 9, 0},        {"fma", 1, 0, 2, 12, 6},
    {"sse4.1", 1, 0, 2, 19, 0},        {"sse4.2", 1, 0, 2, 20, 0},      {"movbe", 1, 0, 2, 22, 0},
    {"popcnt", 1, 0, 2, 23, 0},        {"avx", 1, 0, 2, 28, 6},         {"f16c", 1, 0, 2, 29, 6},
    {"bmi", 7, 0, 1, 3, 0},            {"avx2", 7, 0, 1, 5, 6},         {"bmi2", 7, 0, 1, 8, 0},
    {"avx512f", 7, 0, 1, 16, 0xE6},    {"avx512dq", 7, 0, 1, 17, 0xE6}, {"avx512ifma", 7, 0, 1, 21, 0xE6},
    {"avx512cd", 7, 0, 1, 28, 0xE6},   {"avx512bw", 7, 0, 1, 30, 0xE6}, {"avx512vl", 7, 0, 1, 31, 0xE6},
    {"avx512vbmi", 7, 0, 2, 1, 0xE6},  {"avx512vbmi2", 7, 0, 2, 6, 0xE6}, {"gfni", 7, 0, 2, 8, 0},
    {"vaes", 7, 0, 2, 9, 6},           {"vpclmulqdq", 7, 0, 2, 10, 6},  {"avx512vnni", 7, 0, 2, 11, 0xE6},
    {"avx512bitalg", 7, 0, 2, 12, 0xE6}, {"avx512vpopcntdq", 7, 0, 2, 14, 0xE6},
    {"avx512bf16", 7, 1, 0, 5, 0xE6},  {"lzcnt", 0x80000001u, 0, 2, 5, 0},
};

static void cpuid(uint32_t leaf, uint32_t subleaf, uint32_t* regs) {
  __asm__("cpuid" : "=a"(regs[0]), "=b"(regs[1]), "=c"(regs[2]), "=d"(regs[3]) : "a"(leaf), "c"(subleaf));
}

static bool cpu_has(const char* name) {
  uint32_t regs[4], low = 0, high = 0;
  for (const CpuFeature& f : cpu_features) {
    if (strcmp(f.name, name) != 0) continue;
    cpuid(f.leaf & 0x80000000u, 0, regs);
    if (regs[0] < f.leaf) return false;
    cpuid(f.leaf, f.subleaf, regs);
    if (!(regs[f.reg] >> f.bit & 1)) return false;
    if (!f.state) return true;
    cpuid(1, 0, regs);
    if (!(regs[2] >> 27 & 1)) return false;  // the system does not use XSAVE
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & f.state) == f.state;
  }
  return false;
}

#else

static bool cpu_has(const char*) { return true; }

#endif

// --- weights ------------------------------------------------------------------------------------------

struct Mapping {
  char* base = nullptr;
  size_t bytes = 0;
};

static bool read_at(int file, void* to, size_t bytes, off_t offset) {
  return pread(file, to, bytes, offset) == (ssize_t)bytes;
}

// Where this library was loaded from: as the loader says, else as the kernel does.
static bool own_path(char* path, size_t capacity) {
  Dl_info info;
  if (dladdr((void*)&model_spec, &info) && info.dli_fname && access(info.dli_fname, R_OK) == 0) {
    snprintf(path, capacity, "%s", info.dli_fname);
    return true;
  }
  FILE* maps = fopen("/proc/self/maps", "r");
  if (!maps) return false;
  char line[4608];
  bool found = false;
  while (!found && fgets(line, sizeof line, maps)) {
    unsigned long low, high;
    int name = 0;
    if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &low, &high, &name) < 2 || !name) continue;
    if ((unsigned long)&model_spec < low || (unsigned long)&model_spec >= high) continue;
    line[strcspn(line, "\n")] = 0;
    snprintf(path, capacity, "%s", line + name);
    found = true;
  }
  fclose(maps);
  return found;
}

// The section `.ptc_weights` of an ELF file: its place in the file.
static ptc_status find_section(int file, const char* path, off_t size, off_t* offset, size_t* bytes, Message m) {
  Elf64_Ehdr head;
  if (!read_at(file, &head, sizeof head, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(Elf64_Shdr))
    return m.fail(PTC_E_IO, "%s is not the library that was loaded", path);
  Elf64_Shdr names;
  if (!read_at(file, &names, sizeof names, (off_t)(head.e_shoff + (Elf64_Off)head.e_shstrndx * sizeof names)))
    return m.fail(PTC_E_IO, "%s is truncated: its section table is missing", path);
  for (int i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section;
    char name[16] = {};
    if (!read_at(file, &section, sizeof section, (off_t)(head.e_shoff + (Elf64_Off)i * sizeof section)))
      return m.fail(PTC_E_IO, "%s is truncated: its section table is cut short", path);
    if (pread(file, name, sizeof name - 1, (off_t)(names.sh_offset + section.sh_name)) <= 0) continue;
    if (strcmp(name, ".ptc_weights") != 0) continue;
    if ((off_t)(section.sh_offset + section.sh_size) > size)
      return m.fail(PTC_E_IO, "%s is truncated: its weights are cut short", path);
    *offset = (off_t)section.sh_offset;
    *bytes = section.sh_size;
    return PTC_OK;
  }
  return m.fail(PTC_E_IO, "%s has no section .ptc_weights", path);
}

// Map the safetensors image in `path` (the whole file, or the library's weight section).
static ptc_status map_weights(const char* path, bool is_library, Mapping* whole, const char** image,
                              size_t* bytes, Message m) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return m.fail(PTC_E_IO, "cannot open the weights %s: %s", path, strerror(errno));
  struct stat info;
  off_t offset = 0;
  ptc_status status = PTC_OK;
  if (fstat(file, &info) != 0) status = m.fail(PTC_E_IO, "cannot read %s: %s", path, strerror(errno));
  *bytes = status ? 0 : (size_t)info.st_size;
  if (!status && is_library) status = find_section(file, path, info.st_size, &offset, bytes, m);
  if (!status) {
    const off_t page = (off_t)sysconf(_SC_PAGESIZE), start = offset / page * page;
    whole->bytes = *bytes + (size_t)(offset - start);
    void* base = mmap(nullptr, whole->bytes ? whole->bytes : 1, PROT_READ, MAP_PRIVATE, file, start);
    if (base == MAP_FAILED) {
      status = m.fail(PTC_E_IO, "cannot map the weights in %s: %s", path, strerror(errno));
      whole->bytes = 0;
    } else {
      whole->base = (char*)base;
      *image = whole->base + (offset - start);
    }
  }
  close(file);
  return status;
}

// A reader of the JSON header of a safetensors file: objects of strings, numbers, arrays of numbers.
struct Json {
  const char* at;
  const char* end;

  void space() {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) ++at;
  }
  bool take(char c) {
    space();
    if (at >= end || *at != c) return false;
    ++at;
    return true;
  }
  // The string with its quotes; escapes are kept.
  bool string(const char** text, size_t* length) {
    space();
    if (at >= end || *at != '"') return false;
    *text = at++;
    while (at < end && *at != '"') at += *at == '\\' ? 2 : 1;
    if (at >= end) return false;
    *length = (size_t)(++at - *text);
    return true;
  }
  bool number(int64_t* value) {
    space();
    if (at >= end || *at < '0' || *at > '9') return false;
    for (*value = 0; at < end && *at >= '0' && *at <= '9'; ++at) {
      if (*value > (INT64_MAX - 9) / 10) return false;
      *value = *value * 10 + (*at - '0');
    }
    return true;
  }
  bool numbers(int64_t* values, int capacity, int* count) {
    *count = 0;
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      int64_t value;
      if (!number(&value)) return false;
      if (*count < capacity) values[*count] = value;
      ++*count;
    } while (take(','));
    return take(']');
  }
  // An object of strings only (`__metadata__`).
  bool skip_strings() {
    const char* text;
    size_t length;
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      if (!string(&text, &length) || !take(':') || !string(&text, &length)) return false;
    } while (take(','));
    return take('}');
  }
};

static bool same_text(const char* expected, const char* text, size_t length) {
  return strlen(expected) == length && memcmp(expected, text, length) == 0;
}

// Find every weight of the model in a safetensors image.
static ptc_status read_index(const char* path, const char* image, size_t bytes, void** weights, Message m) {
  uint64_t header = 0;
  if (bytes >= 8) memcpy(&header, image, 8);
  if (bytes < 8 || header > bytes - 8)
    return m.fail(PTC_E_IO, "the weights in %s are truncated or no safetensors file", path);
  const char* data = image + 8 + header;
  const int64_t data_bytes = (int64_t)(bytes - 8 - header);
  Json json{image + 8, data};
  const ptc_status broken = PTC_E_IO;
  if (!json.take('{')) return m.fail(broken, "the weights in %s have a malformed header", path);
  bool more = !json.take('}');
  while (more) {
    const char *key, *text, *dtype = "\"\"";
    size_t key_length, length, dtype_length = 2;
    int64_t offsets[2] = {0, -1}, dims[8];
    int count = 0, rank = 0;
    bool good = json.string(&key, &key_length) && json.take(':');
    if (good && same_text("\"__metadata__\"", key, key_length)) {
      good = json.skip_strings();
    } else if (good) {
      good = json.take('{');
      do {
        good = good && json.string(&text, &length) && json.take(':');
        if (good && same_text("\"dtype\"", text, length)) good = json.string(&dtype, &dtype_length);
        else if (good && same_text("\"shape\"", text, length)) good = json.numbers(dims, 8, &rank);
        else if (good && same_text("\"data_offsets\"", text, length)) good = json.numbers(offsets, 2, &count);
        else good = false;
      } while (good && json.take(','));
      good = good && json.take('}') && count == 2;
      for (int i = 0; good && i < model_spec.weight_count; ++i) {
        const WeightSpec& spec = model_spec.weights[i];
        if (!same_text(spec.key, key, key_length)) continue;
        if (offsets[0] > offsets[1] || offsets[1] > data_bytes)
          return m.fail(broken, "the weights in %s are truncated: %s ends beyond the file", path, spec.key);
        if (offsets[1] - offsets[0] != spec.bytes || !same_text(spec.dtype, dtype + 1, dtype_length - 2))
          return m.fail(broken, "weight %s in %s has another type or size than the model was built with",
                        spec.key, path);
        bool same_shape = rank == spec.rank;
        for (int d = 0; same_shape && d < rank && d < 8; ++d) same_shape = dims[d] == spec.dims[d];
        if (!same_shape)
          return m.fail(broken, "weight %s in %s has another shape than the model was built with",
                        spec.key, path);
        weights[i] = (void*)(data + offsets[0]);
      }
    }
    if (!good) return m.fail(broken, "the weights in %s have a malformed header", path);
    more = json.take(',');
    if (!more && !json.take('}')) return m.fail(broken, "the weights in %s have a malformed header", path);
  }
  for (int i = 0; i < model_spec.weight_count; ++i)
    if (!weights[i] && model_spec.weights[i].bytes)
      return m.fail(broken, "the weights in %s lack %s", path, model_spec.weights[i].key);
  return PTC_OK;
}

static ptc_status load_weights(ptc_model* model, const char* given, Message m) {
  char path[4352];
  const bool embedded = !given && !model_spec.weights_file;
  if (given) {
    snprintf(path, sizeof path, "%s", given);
  } else {
    if (!own_path(path, 4096)) return m.fail(PTC_E_IO, "cannot find the library's own file");
    if (!embedded) {
      char* slash = strrchr(path, '/');
      char* name = slash ? slash + 1 : path;
      snprintf(name, sizeof path - (size_t)(name - path), "%s", model_spec.weights_file);
    }
  }
  Mapping whole;
  const char* image = nullptr;
  size_t bytes = 0;
  ptc_status status = map_weights(path, embedded, &whole, &image, &bytes, m);
  model->file = whole.base;
  model->file_bytes = whole.bytes;
  return status ? status : read_index(path, image, bytes, model->weights, m);
}

// --- models -------------------------------------------------------------------------------------------

static void close_model(ptc_model* model) {
  if (!model) return;
  for (uint32_t i = 0; model->prepared && i < model_spec.entry_count; ++i) {
    for (int j = 0; model->prepared[i] && j < model_spec.entries[i].prepared_count; ++j) free_bytes(model->prepared[i][j]);
    free_bytes(model->prepared[i]);
  }
  free_bytes(model->prepared);
  free_bytes(model->weights);
  if (model->file) munmap(model->file, model->file_bytes);
  if (model->pool) pool_close(model->pool);
  free_bytes(model);
}

// Everything that follows from the weights alone: packed and folded weights of each entry.
static ptc_status prepare_entries(ptc_model* model, Message m) {
  Run run;
  run.pool = model->pool;
  ptc_status status = PTC_OK;
  for (uint32_t i = 0; i < model_spec.entry_count && !status; ++i) {
    const EntrySpec& entry = model_spec.entries[i];
    const size_t table = (size_t)entry.prepared_count * sizeof(void*);
    void** blocks = (void**)allocate((int64_t)table);
    model->prepared[i] = blocks;
    if (!blocks) return m.fail(PTC_E_MEMORY, "no memory for a model");
    memset(blocks, 0, table);
    for (int j = 0; j < entry.prepared_count && !status; ++j) {
      const PreparedSpec& spec = entry.prepared[j];
      const int64_t bytes = spec.size ? spec.size() : spec.bytes;
      blocks[j] = allocate(bytes);
      if (!blocks[j]) status = m.fail(PTC_E_MEMORY, "no memory for %lld bytes of prepared weights", (long long)bytes);
    }
    char* arena = status || !entry.prepare ? nullptr : allocate(entry.prepare_arena_bytes);
    if (arena) {
      const Frame frame = {nullptr, nullptr, model->weights, blocks, arena, nullptr};
      status = (ptc_status)entry.prepare(&run, &frame);
      if (status) m.fail(status, "cannot prepare the weights: %s", run.message);
      free_bytes(arena);
    } else if (!status && entry.prepare) {
      status = m.fail(PTC_E_MEMORY, "no memory to prepare the weights");
    }
  }
  free_bytes(run.scratch);
  return status;
}

static ptc_status open_model(const ptc_open_options* options, ptc_model** result, char* text, size_t capacity) {
  const Message m = {text, capacity};
  if (text && capacity) text[0] = 0;
  if (!result) return m.fail(PTC_E_ARGUMENT, "open: the place for the model is null");
  *result = nullptr;
  if (options && options->struct_size < offsetof(ptc_open_options, weights_path))
    return m.fail(PTC_E_ARGUMENT, "open: options have struct_size %u", options->struct_size);
  for (const char* const* feature = model_spec.cpu_features; *feature; ++feature)
    if (!cpu_has(*feature))
      return m.fail(PTC_E_CPU, "%s was built for CPUs with %s, which this one lacks", model_spec.name, *feature);
  ptc_model* model = (ptc_model*)allocate(sizeof(ptc_model));
  if (!model) return m.fail(PTC_E_MEMORY, "no memory for a model");
  memset((void*)model, 0, sizeof *model);
  const size_t weights = (size_t)model_spec.weight_count * sizeof(void*);
  const size_t entries = model_spec.entry_count * sizeof(void**);
  model->weights = (void**)allocate((int64_t)weights);
  model->prepared = (void***)allocate((int64_t)entries);
  ptc_status status = PTC_OK;
  if (!model->weights || !model->prepared) {
    status = m.fail(PTC_E_MEMORY, "no memory for a model");
  } else {
    memset(model->weights, 0, weights);
    memset(model->prepared, 0, entries);
  }
  const bool has_path = options && options->struct_size >= offsetof(ptc_open_options, weights_path) + sizeof(char*);
  const bool has_pointers = options && options->struct_size >= sizeof(ptc_open_options) && options->weight_pointers;
  if (!status && model_spec.weight_count) {
    if (has_pointers)
      memcpy(model->weights, options->weight_pointers, weights);
    else
      status = load_weights(model, has_path ? options->weights_path : nullptr, m);
  }
  if (!status) {
    model->pool = pool_open(options ? options->threads : 0);
    status = prepare_entries(model, m);
  }
  if (status) {
    close_model(model);
    return status;
  }
  // What was packed is not read again; the pages come back from the file if it is.
  if (model->file) madvise(model->file, model->file_bytes, MADV_DONTNEED);
  *result = model;
  return PTC_OK;
}

// --- sessions -----------------------------------------------------------------------------------------

static void free_session(ptc_session* session) {
  if (!session) return;
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
  free_bytes(session->arena);
  free_bytes(session->run.scratch);
  free_bytes(session);
}

static ptc_status new_session(ptc_model* model, ptc_session** result) {
  if (!model || !result) return PTC_E_ARGUMENT;
  *result = nullptr;
  ptc_session* session = (ptc_session*)allocate(sizeof(ptc_session));
  if (!session) return PTC_E_MEMORY;
  memset((void*)session, 0, sizeof *session);
  session->model = model;
  session->run.pool = model->pool;
  session->run.message = "";
  const size_t bytes = (size_t)model_spec.weight_count * sizeof(void*);
  session->weights = (void**)allocate((int64_t)bytes);
  bool good = session->weights != nullptr;
  if (good) memcpy(session->weights, model->weights, bytes);
  for (int i = 0; i < model_spec.weight_count; ++i) {
    const WeightSpec& spec = model_spec.weights[i];
    if (!spec.is_written || !session->weights) continue;
    void* copy = good ? allocate(spec.bytes) : nullptr;
    if (copy) memcpy(copy, model->weights[i], (size_t)spec.bytes);
    good = copy != nullptr;
    session->weights[i] = copy;
  }
  if (!good) {
    free_session(session);
    return PTC_E_MEMORY;
  }
  *result = session;
  return PTC_OK;
}

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

static ptc_status run_frame(ptc_session* session, uint32_t index, void* const* inputs, void* const* outputs,
                            const int64_t* sizes) {
  const EntrySpec& entry = model_spec.entries[index];
  const Message m = {session->error, sizeof session->error};
  const int64_t bytes = entry.arena_bytes(sizes);
  if (!reserve_arena(session, bytes))
    return m.fail(PTC_E_MEMORY, "no memory for an arena of %lld bytes", (long long)bytes);
  const Frame frame = {inputs, outputs, session->weights, session->model->prepared[index], session->arena, sizes};
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

// --- checked runs -------------------------------------------------------------------------------------

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

// A block for one output; the tensor's shape and strides lie in the block's head.
static bool allocate_output(ptc_session* session, DLTensor* t, const TensorSpec& spec, const int64_t* dims) {
  Block* block = (Block*)allocate((int64_t)sizeof(Block) + 2 * spec.ndim * (int64_t)sizeof(int64_t));
  if (!block) return false;
  block->data = allocate(byte_count(spec, dims));
  if (!block->data) {
    free_bytes(block);
    return false;
  }
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

static ptc_status check_inputs(const Message& m, const EntrySpec& entry, DLTensor* const* inputs, int64_t* sizes,
                               int64_t* dims, void** pointers) {
  for (int i = 0; i < entry.input_count; ++i)
    if (ptc_status status = check_tensor(m, "input", inputs[i], entry.inputs[i])) return status;
  if (ptc_status status = bind_sizes(m, entry, inputs, sizes)) return status;
  entry.shapes(sizes, dims);
  for (int i = 0; i < entry.input_count; ++i) {
    if (ptc_status status = check_shape(m, "input", inputs[i], entry.inputs[i], dims)) return status;
    dims += entry.inputs[i].ndim;
    pointers[i] = (char*)inputs[i]->data + inputs[i]->byte_offset;
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
  const Message m = {session->error, sizeof session->error};
  if (index >= model_spec.entry_count)
    return m.fail(PTC_E_ARGUMENT, "no entry %u, there are %u", index, model_spec.entry_count);
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
  const int64_t words = entry.size_count + dim_count + values + (entry.all_output_count + 7) / 8 + 1;
  int64_t* block = words <= 512 ? stack : (int64_t*)allocate(words * 8);
  if (!block) return m.fail(PTC_E_MEMORY, "no memory for the call");
  int64_t* sizes = block;
  int64_t* dims = sizes + entry.size_count;
  void** in = (void**)(dims + dim_count);
  void** out = in + entry.input_count;
  bool* ours = (bool*)(out + entry.all_output_count);
  memset(out, 0, (size_t)entry.all_output_count * sizeof(void*));
  memset(ours, 0, (size_t)entry.all_output_count);
  int64_t* output_dims = dims;
  for (int i = 0; i < entry.input_count; ++i) output_dims += entry.inputs[i].ndim;
  ptc_status status = check_inputs(m, entry, inputs, sizes, dims, in);
  if (!status) status = place_outputs(session, entry, outputs, output_dims, out, ours);
  if (!status) status = run_frame(session, index, in, out, sizes);
  if (!status) write_back(session, entry, output_dims, in, out);
  for (int i = 0; i < entry.all_output_count; ++i) {
    if (!ours[i]) continue;
    if (i >= entry.output_count) free_bytes(out[i]);
    else if (status) release_output(session, outputs[i]);
  }
  if (block != stack) free_bytes(block);
  return status;
}

static ptc_status run_raw(ptc_session* session, uint32_t index, void* const* pointers, const int64_t* sizes) {
  if (!session || index >= model_spec.entry_count) return PTC_E_ARGUMENT;
  session->error[0] = 0;
  const EntrySpec& entry = model_spec.entries[index];
  return run_frame(session, index, pointers, pointers + entry.raw_input_count, sizes);
}

static int32_t entry_index(const char* name) {
  for (uint32_t i = 0; name && i < model_spec.entry_count; ++i)
    if (strcmp(model_spec.entries[i].name, name) == 0) return (int32_t)i;
  return -1;
}

static const ptc_api api_table = {
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
    [](const ptc_session* session) { return session ? session->error : "the session is null"; },
    [](ptc_session* session) {
      if (session) session->run.cancelled = 1;
    },
    [](const ptc_session* session) { return session ? session->peak : 0; },
    run_raw,
};

}  // namespace ptc

#endif
