// Sets of weights: made empty, shared by a model and its sessions, exchanged whole, freed by whoever is last.
//
// Owns the counting. What fills a set is in ptc_host_weights.h and ptc_host_prepared.h.
#ifndef PTC_HOST_SETS_H
#define PTC_HOST_SETS_H

#include "ptc_host_files.h"
#include "ptc_host_prepared.h"
#include "ptc_host_spec.h"

namespace ptc {

static void free_set(WeightSet* set) {
  if (!set) return;
  for (uint32_t i = 0; set->prepared && i < model_spec.program_count; ++i) {
    for (int j = 0; set->prepared[i] && j < model_spec.entries[i].prepared_count; ++j)
      if (model_spec.entries[i].prepared[j].owner < 0) free_prepared(set, &set->prepared[i][j]);
    free_bytes(set->prepared[i]);
  }
  for (int i = 0; set->constants && i < model_spec.weight_count; ++i) free_bytes(set->constants[i]);
  free_bytes(set->prepared);
  free_bytes(set->constants);
  free_bytes(set->weights);
  unmap(set->file);
  unmap(set->prepared_file);
  free_bytes(set);
}

// A set without weights, with one owner; null when memory is short.
static WeightSet* new_set() {
  WeightSet* set = (WeightSet*)allocate(sizeof(WeightSet));
  if (!set) return nullptr;
  memset((void*)set, 0, sizeof *set);
  set->owners = 1;
  const size_t weights = (size_t)model_spec.weight_count * sizeof(void*);
  const size_t entries = model_spec.program_count * sizeof(void**);
  set->weights = (void**)allocate((int64_t)weights);
  set->constants = (void**)allocate((int64_t)weights);
  set->prepared = (void***)allocate((int64_t)entries);
  if (set->weights) memset(set->weights, 0, weights);
  if (set->constants) memset(set->constants, 0, weights);
  if (set->prepared) memset(set->prepared, 0, entries);
  if (set->weights && set->constants && set->prepared) return set;
  free_set(set);
  return nullptr;
}

// What was packed is not read again; the pages come back from the file if it is.
static void drop_pages(const WeightSet* set) {
#if !defined(_WIN32)
  if (set->file.base) madvise(set->file.base, set->file.bytes, MADV_DONTNEED);
#else
  (void)set;
#endif
}

// Held for a few instructions only, so that waiting is cheaper than sleeping.
struct SetLock {
  ptc_model* model;
  explicit SetLock(ptc_model* m) : model(m) {
    while (__atomic_test_and_set(&model->locked, __ATOMIC_ACQUIRE)) {
    }
  }
  ~SetLock() { __atomic_clear(&model->locked, __ATOMIC_RELEASE); }
};

// The model's weights as they are now, with one owner more.
static WeightSet* take(ptc_model* model) {
  SetLock lock(model);
  ++model->current->owners;
  return model->current;
}

static void give_back(ptc_model* model, WeightSet* set) {
  bool is_last = false;
  if (set) {
    SetLock lock(model);
    is_last = --set->owners == 0;
  }
  if (is_last) free_set(set);
}

// Files of weights lack the constants of the model's code: those of `current`, copied. A file that has no weight of
// the model's at all is another model's.
static ptc_status keep_constants(WeightSet* set, const WeightSet* current, const char* path, Message m) {
  bool has_any = !model_spec.weight_count;
  for (int i = 0; i < model_spec.weight_count; ++i) has_any = has_any || set->weights[i];
  if (!has_any) return m.fail(PTC_E_IO, "%s has none of the model's weights", path);
  for (int i = 0; i < model_spec.weight_count; ++i) {
    const WeightSpec& spec = model_spec.weights[i];
    if (set->weights[i] || spec.is_saved || !spec.bytes) continue;
    set->constants[i] = allocate(spec.bytes);
    if (!set->constants[i]) return m.fail(PTC_E_MEMORY, "no memory for new weights");
    memcpy(set->constants[i], current->weights[i], (size_t)spec.bytes);
    set->weights[i] = set->constants[i];
  }
  return PTC_OK;
}

// Gives the set that was the model's, with the model's ownership of it.
static WeightSet* exchange_current(ptc_model* model, WeightSet* set) {
  SetLock lock(model);
  WeightSet* old = model->current;
  model->current = set;
  return old;
}

}  // namespace ptc

#endif
