// What follows from the weights alone: packed and folded weights, computed at open, or once by the builder and then
// mapped from the library's own file.
//
// Owns their layout in section `.ptc_prepared`, and the blocks of a model. Knows neither kernels nor tensors.
#ifndef PTC_HOST_PREPARED_H
#define PTC_HOST_PREPARED_H

#include <stddef.h>
#include <string.h>

#include "ptc_abi.h"
#include "ptc_host_files.h"
#include "ptc_host_spec.h"
#include "ptc_host_weights.h"
#include "ptc_kernel.h"

namespace ptc {

// The head of section `.ptc_prepared`; the kept blocks of each entry follow, each at a multiple of 64 bytes.
struct PreparedHead {
  char magic[8];
  uint64_t bytes, blocks, reserved;
  uint8_t digest[32];  // of all that follows, filled in by the builder
};
static const char prepared_magic[8] = {'p', 't', 'c', 'p', 'r', 'e', 'p', '1'};

static int64_t prepared_bytes(const PreparedSpec& spec) { return spec.size ? spec.size() : spec.bytes; }

// The head that fits this library.
static PreparedHead prepared_head() {
  PreparedHead head = {};
  memcpy(head.magic, prepared_magic, sizeof head.magic);
  head.bytes = sizeof head;
  for (uint32_t i = 0; i < model_spec.program_count; ++i)
    for (int j = 0; j < model_spec.entries[i].prepared_count; ++j) {
      const PreparedSpec& spec = model_spec.entries[i].prepared[j];
      if (!spec.is_kept || spec.owner >= 0) continue;
      head.bytes += ((uint64_t)prepared_bytes(spec) + 63) / 64 * 64;
      ++head.blocks;
    }
  return head;
}

static bool has_prepared() {
  for (uint32_t i = 0; i < model_spec.program_count; ++i)
    if (model_spec.entries[i].prepare) return true;
  return false;
}

// Tables of blocks, the kept ones at their places behind `head`, or null.
static ptc_status place_prepared(WeightSet* set, char* head, Message m) {
  char* at = head + sizeof(PreparedHead);
  for (uint32_t i = 0; i < model_spec.program_count; ++i) {
    const EntrySpec& entry = model_spec.entries[i];
    const size_t table = (size_t)entry.prepared_count * sizeof(void*);
    void** blocks = (void**)allocate((int64_t)table);
    set->prepared[i] = blocks;
    if (!blocks) return m.fail(PTC_E_MEMORY, "no memory for a model");
    memset(blocks, 0, table);
    for (int j = 0; head && j < entry.prepared_count; ++j) {
      const PreparedSpec& spec = entry.prepared[j];
      if (spec.owner >= 0) blocks[j] = set->prepared[spec.owner][spec.place];
      if (!spec.is_kept || spec.owner >= 0) continue;
      blocks[j] = at;
      at += (prepared_bytes(spec) + 63) / 64 * 64;
    }
  }
  return PTC_OK;
}

#if defined(PTC_OWN_SECTIONS)

// Map what the builder stored in this library; leaves `prepared_file` empty where it stored nothing.
static ptc_status map_prepared(WeightSet* set, Message m) {
  const char* content = nullptr;
  size_t bytes = 0;
  ptc_status status = map_own_section(".ptc_prepared", true, &set->prepared_file, &content, &bytes, m);
  if (status || !set->prepared_file.base) return status;
  const PreparedHead expected = prepared_head();
  if (bytes < sizeof expected || memcmp(content, &expected, offsetof(PreparedHead, digest)) != 0 ||
      bytes < expected.bytes)
    return m.fail(PTC_E_IO, "the prepared weights of %s are not this library's", model_spec.name);
  return place_prepared(set, (char*)content, m);
}

// Room for the prepared weights at the end of `path`, from a page's start on: they are computed there.
static ptc_status store_prepared(WeightSet* set, const char* path, Message m) {
  const PreparedHead head = prepared_head();
  const off_t page = (off_t)sysconf(_SC_PAGESIZE);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  struct stat info;
  int error = file < 0 || fstat(file, &info) != 0 ? errno : 0;
  const off_t start = error ? 0 : (info.st_size + page - 1) / page * page;
  // Without this a full disk would be a SIGBUS when the pages are written.
  if (!error) error = posix_fallocate(file, start, (off_t)head.bytes);
  if (!error) {
    void* base = mmap(nullptr, head.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, start);
    if (base == MAP_FAILED) {
      error = errno;
    } else {
      set->prepared_file = Mapping{(char*)base, head.bytes};
      memcpy(base, &head, sizeof head);
    }
  }
  if (file >= 0) close(file);
  if (error) return m.fail(PTC_E_IO, "cannot write the prepared weights to %s: %s", path, strerror(error));
  return place_prepared(set, set->prepared_file.base, m);
}

#else

static ptc_status map_prepared(WeightSet*, Message) { return PTC_OK; }

static ptc_status store_prepared(WeightSet*, const char* path, Message m) {
  return m.fail(PTC_E_ARGUMENT, "this platform stores no prepared weights, %s stays as it is", path);
}

#endif

// Free a block unless it lies in the mapped file.
static void free_prepared(WeightSet* set, void** block) {
  const uintptr_t at = (uintptr_t)*block, base = (uintptr_t)set->prepared_file.base;
  if (!base || at < base || at - base >= set->prepared_file.bytes) free_bytes(*block);
  *block = nullptr;
}

// Everything that follows from the weights alone: packed and folded weights of each entry. Blocks that have
// no place yet are allocated; those that only `prepare` reads are freed again.
static ptc_status prepare_entries(WeightSet* set, Pool* pool, Message m) {
  Run run;
  run.pool = pool;
  ptc_status status = PTC_OK;
  for (uint32_t i = 0; i < model_spec.program_count && !status; ++i) {
    const EntrySpec& entry = model_spec.entries[i];
    void** blocks = set->prepared[i];
    for (int j = 0; j < entry.prepared_count && !status; ++j) {
      const PreparedSpec& spec = entry.prepared[j];
      if (spec.owner >= 0) blocks[j] = set->prepared[spec.owner][spec.place];
      if (blocks[j]) continue;
      const int64_t bytes = prepared_bytes(spec);
      blocks[j] = allocate(bytes);
      if (!blocks[j]) status = m.fail(PTC_E_MEMORY, "no memory for %lld bytes of prepared weights", (long long)bytes);
    }
    char* arena = status || !entry.prepare ? nullptr : allocate(entry.prepare_arena_bytes);
    if (arena) {
      const Frame frame = {nullptr, nullptr, set->weights, blocks, arena, nullptr};
      status = (ptc_status)entry.prepare(&run, &frame);
      if (status) m.fail(status, "cannot prepare the weights: %s", run.message);
      free_bytes(arena);
    } else if (!status && entry.prepare) {
      status = m.fail(PTC_E_MEMORY, "no memory to prepare the weights");
    }
    for (int j = 0; j < entry.prepared_count; ++j)
      if (!entry.prepared[j].is_kept && entry.prepared[j].owner < 0) free_prepared(set, &blocks[j]);
  }
  run.forget_all();
  free_bytes(run.scratch);
  return status;
}

}  // namespace ptc

#endif
