// Weights mapped from the library's own file or from a safetensors file.
//
// Owns the search for that file, the section inside a library and the reading of safetensors' header. Fills
// `ptc_model::weights`; what becomes of them is not known here.
#ifndef PTC_HOST_WEIGHTS_H
#define PTC_HOST_WEIGHTS_H

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ptc_host_spec.h"

namespace ptc {

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

// A section of an ELF file: its place in the file; without it, `bytes` is -1.
static ptc_status find_section(int file, const char* path, const char* wanted, off_t size, off_t* offset,
                               int64_t* bytes, Message m) {
  *bytes = -1;
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
    if (strcmp(name, wanted) != 0) continue;
    if (section.sh_offset > (Elf64_Off)size || section.sh_size > (Elf64_Off)size - section.sh_offset)
      return m.fail(PTC_E_IO, "%s is truncated: its weights are cut short", path);
    *offset = (off_t)section.sh_offset;
    *bytes = (int64_t)section.sh_size;
    return PTC_OK;
  }
  return PTC_OK;
}

// Map a whole file, or a section of a library; a section that is not there is an error or an empty mapping.
static ptc_status map_file(const char* path, const char* section, bool is_optional, Mapping* whole,
                           const char** content, size_t* bytes, Message m) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return m.fail(PTC_E_IO, "cannot open the weights %s: %s", path, strerror(errno));
  struct stat info;
  off_t offset = 0;
  int64_t size = 0;
  ptc_status status = PTC_OK;
  if (fstat(file, &info) != 0) status = m.fail(PTC_E_IO, "cannot read %s: %s", path, strerror(errno));
  else size = (int64_t)info.st_size;
  if (!status && section) status = find_section(file, path, section, info.st_size, &offset, &size, m);
  if (!status && size < 0 && !is_optional) status = m.fail(PTC_E_IO, "%s has no section %s", path, section);
  if (!status && size >= 0) {
    const off_t page = (off_t)sysconf(_SC_PAGESIZE), start = offset / page * page;
    *bytes = (size_t)size;
    whole->bytes = *bytes + (size_t)(offset - start);
    void* base = mmap(nullptr, whole->bytes ? whole->bytes : 1, PROT_READ, MAP_PRIVATE, file, start);
    if (base == MAP_FAILED) {
      status = m.fail(PTC_E_IO, "cannot map the weights in %s: %s", path, strerror(errno));
      whole->bytes = 0;
    } else {
      whole->base = (char*)base;
      *content = whole->base + (offset - start);
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

// Find every weight of the model in a safetensors image; `kept_only`: every one that a run reads.
static ptc_status read_index(const char* path, const char* image, size_t bytes, bool kept_only, void** weights,
                             Message m) {
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
    if (!weights[i] && model_spec.weights[i].bytes && (model_spec.weights[i].is_kept || !kept_only))
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
  ptc_status status = map_file(path, embedded ? ".ptc_weights" : nullptr, false, &whole, &image, &bytes, m);
  model->file = whole.base;
  model->file_bytes = whole.bytes;
  const bool kept_only = embedded && model->prepared_file;
  return status ? status : read_index(path, image, bytes, kept_only, model->weights, m);
}


}  // namespace ptc

#endif
