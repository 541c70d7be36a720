// Weights in the library itself, mapped from its own file or from a safetensors file.
//
// Owns where a model's weights lie and the reading of safetensors' header. Fills `WeightSet::weights`; what becomes of
// them is not known here.
#ifndef PTC_HOST_WEIGHTS_H
#define PTC_HOST_WEIGHTS_H

#include <stdio.h>
#include <string.h>

#include "ptc_host_files.h"
#include "ptc_host_spec.h"

namespace ptc {

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

static bool is_alias(const WeightSpec& spec, const char* key, size_t length) {
  for (const char* const* alias = spec.aliases; alias && *alias; ++alias)
    if (same_text(*alias, key, length)) return true;
  return false;
}

// Find every weight of the model in a safetensors image; `kept_only`: every one that a run reads; `saved_only`: every
// one that files of weights have.
static ptc_status read_index(const char* path, const char* image, size_t bytes, bool kept_only, bool saved_only,
                             void** weights, Message m) {
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
        if (!same_text(spec.key, key, key_length) && (weights[i] || !is_alias(spec, key, key_length))) continue;
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
  for (int i = 0; i < model_spec.weight_count; ++i) {
    const WeightSpec& spec = model_spec.weights[i];
    if (!weights[i] && spec.bytes && (spec.is_kept || !kept_only) && (spec.is_saved || !saved_only))
      return m.fail(broken, "the weights in %s lack %s", path, spec.key);
  }
  return PTC_OK;
}

// Fill `set` from the file `given`, or without one from where the library has its weights. `set->prepared_file`: the
// library has prepared ones too, and may lack what only they were made of.
static ptc_status load_weights(WeightSet* set, const char* given, bool saved_only, Message m) {
  char path[4352];
  Mapping whole;
  const char* image = nullptr;
  size_t bytes = 0;
  ptc_status status = PTC_OK;
  const bool embedded = !given && !model_spec.weights_file;
  snprintf(path, sizeof path, "%s", given ? given : model_spec.name);
  if (embedded && model_spec.image) {
    image = model_spec.image;
    bytes = (size_t)(model_spec.image_end - image);
  } else if (embedded) {
#if defined(PTC_OWN_SECTIONS)
    status = map_own_section(".ptc_weights", false, &whole, &image, &bytes, m);
#else
    status = m.fail(PTC_E_IO, "the library has no weights");
#endif
  } else {
    if (!given) {
      if (!own_path(path, 4096)) return m.fail(PTC_E_IO, "cannot find the library's own file");
      char* slash = last_separator(path);
      char* name = slash ? slash + 1 : path;
      snprintf(name, sizeof path - (size_t)(name - path), "%s", model_spec.weights_file);
    }
    status = map_whole(path, &whole, m);
    image = whole.base;
    bytes = whole.bytes;
  }
  set->file = whole;
  const bool kept_only = embedded && set->prepared_file.base;
  return status ? status : read_index(path, image, bytes, kept_only, saved_only, set->weights, m);
}

}  // namespace ptc

#endif
