// Files as libraries need them on every platform: where this library lies, a file or a part of it mapped to memory.
//
// Owns what differs between systems: names, mapping, and that only ELF files have sections that a library finds in
// itself (PTC_OWN_SECTIONS). Knows no weights.
#ifndef PTC_HOST_FILES_H
#define PTC_HOST_FILES_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ptc_host_spec.h"

#if defined(_WIN32)
#include "ptc_windows.h"
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#if defined(__linux__)
#define PTC_OWN_SECTIONS 1
#include <elf.h>
#endif

namespace ptc {

#if defined(_WIN32)

// UTF-8 as Windows has paths; false where it is too long or no UTF-8.
static bool wide_path(const char* path, wchar_t* wide, int capacity) {
  return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, capacity) > 0;
}

static bool own_path(char* path, size_t capacity) {
  HMODULE module = nullptr;
  wchar_t wide[4096];
  const DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!GetModuleHandleExW(how, (LPCWSTR)(const void*)&model_spec, &module)) return false;
  const DWORD length = GetModuleFileNameW(module, wide, 4096);
  if (!length || length >= 4096) return false;
  return WideCharToMultiByte(CP_UTF8, 0, wide, -1, path, (int)capacity, nullptr, nullptr) > 0;
}

static void unmap(const Mapping& mapping) {
  if (mapping.base) UnmapViewOfFile(mapping.base);
}

static char* last_separator(char* path) {
  char* found = strrchr(path, '/');
  char* back = strrchr(path, '\\');
  return back && (!found || back > found) ? back : found;
}

static ptc_status map_whole(const char* path, Mapping* whole, Message m) {
  wchar_t wide[4096];
  if (!wide_path(path, wide, 4096)) return m.fail(PTC_E_IO, "%s is not the name of a file", path);
  HANDLE file = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING,
                            FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE)
    return m.fail(PTC_E_IO, "cannot open the weights %s: error %lu", path, GetLastError());
  LARGE_INTEGER size;
  ptc_status status = PTC_OK;
  if (!GetFileSizeEx(file, &size)) status = m.fail(PTC_E_IO, "cannot read %s: error %lu", path, GetLastError());
  if (!status && size.QuadPart > 0) {  // an empty file has no mapping
    HANDLE pages = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
    whole->base = pages ? (char*)MapViewOfFile(pages, FILE_MAP_READ, 0, 0, 0) : nullptr;
    if (!whole->base) status = m.fail(PTC_E_IO, "cannot map the weights in %s: error %lu", path, GetLastError());
    else whole->bytes = (size_t)size.QuadPart;
    if (pages) CloseHandle(pages);
  }
  CloseHandle(file);
  return status;
}

#else

// Where this library was loaded from: as the loader says, else as the kernel does.
static bool own_path(char* path, size_t capacity) {
  Dl_info info;
  if (dladdr((void*)&model_spec, &info) && info.dli_fname && access(info.dli_fname, R_OK) == 0) {
    snprintf(path, capacity, "%s", info.dli_fname);
    return true;
  }
#if defined(__linux__)
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
#else
  return false;
#endif
}

static void unmap(const Mapping& mapping) {
  if (mapping.base) munmap(mapping.base, mapping.bytes ? mapping.bytes : 1);
}

static char* last_separator(char* path) { return strrchr(path, '/'); }

// Map `size` bytes of an open file from `offset` on.
static ptc_status map_part(int file, const char* path, off_t offset, size_t size, Mapping* whole,
                           const char** content, Message m) {
  const off_t page = (off_t)sysconf(_SC_PAGESIZE), start = offset / page * page;
  const size_t bytes = size + (size_t)(offset - start);
  void* base = mmap(nullptr, bytes ? bytes : 1, PROT_READ, MAP_PRIVATE, file, start);
  if (base == MAP_FAILED) return m.fail(PTC_E_IO, "cannot map the weights in %s: %s", path, strerror(errno));
  *whole = Mapping{(char*)base, bytes};
  *content = (char*)base + (offset - start);
  return PTC_OK;
}

static ptc_status open_file(const char* path, int* file, off_t* size, Message m) {
  *file = open(path, O_RDONLY | O_CLOEXEC);
  if (*file < 0) return m.fail(PTC_E_IO, "cannot open the weights %s: %s", path, strerror(errno));
  struct stat info;
  if (fstat(*file, &info) == 0) {
    *size = info.st_size;
    return PTC_OK;
  }
  const ptc_status status = m.fail(PTC_E_IO, "cannot read %s: %s", path, strerror(errno));
  close(*file);
  return status;
}

static ptc_status map_whole(const char* path, Mapping* whole, Message m) {
  int file = -1;
  off_t size = 0;
  const char* content = nullptr;
  ptc_status status = open_file(path, &file, &size, m);
  if (status) return status;
  status = map_part(file, path, 0, (size_t)size, whole, &content, m);
  close(file);
  return status;
}

#endif

#if defined(PTC_OWN_SECTIONS)

static bool read_at(int file, void* to, size_t bytes, off_t offset) {
  return pread(file, to, bytes, offset) == (ssize_t)bytes;
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

// Map a section of this library's own file; one that is not there is an error or an empty mapping.
static ptc_status map_own_section(const char* section, bool is_optional, Mapping* whole, const char** content,
                                  size_t* bytes, Message m) {
  char path[4352];
  if (!own_path(path, 4096)) return m.fail(PTC_E_IO, "cannot find the library's own file");
  int file = -1;
  off_t offset = 0, whole_size = 0;
  int64_t size = -1;
  ptc_status status = open_file(path, &file, &whole_size, m);
  if (status) return status;
  status = find_section(file, path, section, whole_size, &offset, &size, m);
  if (!status && size < 0 && !is_optional) status = m.fail(PTC_E_IO, "%s has no section %s", path, section);
  if (!status && size >= 0) {
    *bytes = (size_t)size;
    status = map_part(file, path, offset, *bytes, whole, content, m);
  }
  close(file);
  return status;
}

#endif

}  // namespace ptc

#endif
