#include "package.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "json.h"
#include "memory.h"
#include "sha256.h"

namespace ptc::exec {

// --- bytes ----------------------------------------------------------------------------------------------------------

void Bytes::swap(Bytes& o) {
  std::swap(data_, o.data_);
  std::swap(size_, o.size_);
  std::swap(mapped_, o.mapped_);
}

Bytes Bytes::map_file(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) bad_file("cannot open `%s`: %s", path, strerror(errno));
  struct stat status;
  void* data = MAP_FAILED;
  const bool sound = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  if (sound) data = mmap(nullptr, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (data == MAP_FAILED) bad_file("cannot read `%s`: %s", path, sound ? strerror(errno) : "it is empty or no file");
  Bytes bytes;
  bytes.data_ = (const char*)data;
  bytes.size_ = (size_t)status.st_size;
  bytes.mapped_ = true;
  return bytes;
}

Bytes Bytes::borrow(const void* data, size_t size) {
  Bytes bytes;
  bytes.data_ = (const char*)data;
  bytes.size_ = size;
  return bytes;
}

Bytes::~Bytes() {
  if (mapped_) munmap((void*)const_cast<char*>(data_), size_);
}

// --- numbers of files -----------------------------------------------------------------------------------------------

// `count` little-endian bytes at `at`, which must lie in `s`.
static uint64_t number(std::string_view s, size_t at, int count) {
  if (at > s.size() || s.size() - at < (size_t)count) bad_file("byte %zu: the file ends too early", at);
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | (unsigned char)s[at + (size_t)i];
  return value;
}

// --- zip ------------------------------------------------------------------------------------------------------------

namespace {

struct Entry {
  std::string_view name, data;
  size_t header = 0;
};

struct Directory {
  size_t offset = 0;
  uint64_t count = 0;
};

constexpr uint32_t kEnd = 0x06054b50, kEnd64 = 0x06064b50, kEnd64Place = 0x07064b50, kHeader = 0x02014b50, kLocal = 0x04034b50;
constexpr uint32_t kFull32 = 0xFFFFFFFF;

}  // namespace

static Directory find_directory(std::string_view s) {
  if (s.size() < 22) bad_file("%zu bytes are no zip file", s.size());
  // The end record is followed by a comment of at most 64 KiB, whose length it states.
  const size_t lowest = s.size() > 22 + 65535 ? s.size() - 22 - 65535 : 0;
  for (size_t at = s.size() - 22 + 1; at-- > lowest;) {
    if (number(s, at, 4) != kEnd || at + 22 + number(s, at + 20, 2) != s.size()) continue;
    Directory found{(size_t)number(s, at + 16, 4), number(s, at + 10, 2)};
    if (found.offset == kFull32 || found.count == 0xFFFF) {
      if (at < 20 || number(s, at - 20, 4) != kEnd64Place) bad_file("byte %zu: the zip64 end record is missing", at);
      const uint64_t end64 = number(s, at - 12, 8);
      if (end64 >= s.size() || number(s, (size_t)end64, 4) != kEnd64) bad_file("byte %zu: a bad zip64 end record", at);
      found.offset = (size_t)number(s, (size_t)end64 + 48, 8);
      found.count = number(s, (size_t)end64 + 32, 8);
    }
    return found;
  }
  bad_file("no zip file: it has no end record");
}

// Sizes and place that do not fit in 32 bits stand in the extra field 1, in this order.
static void read_zip64(std::string_view extra, uint64_t* size, uint64_t* stored, uint64_t* place) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const uint64_t id = number(extra, at, 2), length = number(extra, at + 2, 2);
    at += 4;
    if (length > extra.size() - at) bad_file("a bad extra field in the zip directory");
    if (id == 1) {
      const std::string_view field = extra.substr(at, (size_t)length);
      size_t next = 0;
      for (uint64_t* value : {size, stored, place})
        if (*value == kFull32) {
          *value = number(field, next, 8);
          next += 8;
        }
    }
    at += (size_t)length;
  }
}

static Entry read_entry(std::string_view s, size_t* at) {
  if (number(s, *at, 4) != kHeader) bad_file("byte %zu: expected an entry of the zip directory", *at);
  const uint64_t flags = number(s, *at + 8, 2), method = number(s, *at + 10, 2);
  uint64_t stored = number(s, *at + 20, 4), size = number(s, *at + 24, 4), place = number(s, *at + 42, 4);
  const size_t name_length = (size_t)number(s, *at + 28, 2), extra_length = (size_t)number(s, *at + 30, 2),
               comment_length = (size_t)number(s, *at + 32, 2);
  const size_t names = *at + 46;
  if (names > s.size() || s.size() - names < name_length + extra_length + comment_length)
    bad_file("byte %zu: the zip directory ends too early", *at);
  Entry entry;
  entry.name = s.substr(names, name_length);
  read_zip64(s.substr(names + name_length, extra_length), &size, &stored, &place);
  const std::string name(entry.name.substr(0, 64));
  if (method != 0 || flags & 1) bad_file("`%s` is compressed or encrypted", name.c_str());
  if (size != stored || size > s.size()) bad_file("`%s` is larger than the file", name.c_str());
  if (place >= s.size() || number(s, (size_t)place, 4) != kLocal)
    bad_file("`%s` is not where the directory says", name.c_str());
  const size_t head = (size_t)place;
  const size_t start = head + 30 + (size_t)number(s, head + 26, 2) + (size_t)number(s, head + 28, 2);
  if (number(s, head + 26, 2) != name_length || s.substr(std::min(head + 30, s.size()), name_length) != entry.name)
    bad_file("`%s` has another name at byte %zu", name.c_str(), head);
  if (start > s.size() || s.size() - start < size) bad_file("`%s` ends beyond the file", name.c_str());
  entry.header = head;
  entry.data = s.substr(start, (size_t)size);
  *at = names + name_length + extra_length + comment_length;
  return entry;
}

static std::vector<Entry> read_directory(std::string_view s) {
  const Directory directory = find_directory(s);
  if (directory.count != 3) bad_file("%llu entries, expected three", (unsigned long long)directory.count);
  std::vector<Entry> entries;
  size_t at = directory.offset;
  for (int i = 0; i < 3; ++i) entries.push_back(read_entry(s, &at));
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) { return a->header < b->header; });
  for (size_t i = 0; i + 1 < order.size(); ++i)
    if ((size_t)(order[i]->data.data() - s.data()) + order[i]->data.size() > order[i + 1]->header)
      bad_file("two entries lie over each other");
  return entries;
}

// --- safetensors ----------------------------------------------------------------------------------------------------

static bool stored_dtype(const std::string& name, DType* dtype) {
  static const struct {
    const char* name;
    DType dtype;
  } known[] = {{"F64", DType::F64}, {"F32", DType::F32}, {"F16", DType::F16}, {"BF16", DType::BF16}, {"I64", DType::I64},
               {"I32", DType::I32}, {"I16", DType::I16}, {"I8", DType::I8},   {"U8", DType::U8},     {"BOOL", DType::Bool},
               {"C64", DType::C64}, {"C128", DType::C128}, {"U16", DType::U16}, {"U32", DType::U32}, {"U64", DType::U64}};
  for (const auto& row : known)
    if (name == row.name) {
      *dtype = row.dtype;
      return true;
    }
  return false;
}

static Tensor read_tensor(JsonReader& json, const std::string& name, const char* data, size_t size) {
  Tensor tensor;
  uint64_t ends[2] = {1, 0};
  std::string dtype;
  json.begin_object();
  for (std::string key; json.next_key(&key);) {
    if (key == "dtype") {
      dtype = json.string();
    } else if (key == "shape") {
      tensor.sizes = Dims();
      json.begin_array();
      while (json.next_item()) {
        if (tensor.sizes.size() == kMaxRank) bad_file("tensor `%s` has more than %d dimensions", name.c_str(), kMaxRank);
        tensor.sizes.push_back(json.integer());
        if (tensor.sizes.back() < 0) bad_file("tensor `%s` has a negative size", name.c_str());
      }
    } else if (key == "data_offsets") {
      int count = 0;
      json.begin_array();
      while (json.next_item()) {
        const int64_t end = json.integer();
        if (count >= 2 || end < 0) bad_file("tensor `%s` has bad offsets", name.c_str());
        ends[count++] = (uint64_t)end;
      }
    } else {
      json.skip();
    }
  }
  if (!stored_dtype(dtype, &tensor.dtype)) bad_file("tensor `%s` has type `%.20s`", name.c_str(), dtype.c_str());
  if (ends[0] > ends[1] || ends[1] > size) bad_file("tensor `%s` leaves the file", name.c_str());
  uint64_t bytes = (uint64_t)itemsize(tensor.dtype);
  for (int64_t extent : tensor.sizes)
    if (__builtin_mul_overflow(bytes, (uint64_t)extent, &bytes)) bad_file("tensor `%s` is too large", name.c_str());
  if (bytes != ends[1] - ends[0]) bad_file("tensor `%s` has %llu bytes, its shape says %llu", name.c_str(),
                                           (unsigned long long)(ends[1] - ends[0]), (unsigned long long)bytes);
  tensor.strides = compact_strides(tensor.sizes);
  const char* const at = data + ends[0];
  if ((uintptr_t)at % (uintptr_t)itemsize(tensor.dtype)) {
    tensor.storage = allocate_storage((int64_t)bytes);
    memcpy(tensor.storage->data, at, (size_t)bytes);
    tensor.storage->borrowed = false;
  } else {
    tensor.storage = borrow_storage(const_cast<char*>(at), (int64_t)bytes);
  }
  if (tensor.dtype == DType::Bool)
    for (uint64_t i = 0; i < bytes; ++i)
      if ((unsigned char)at[i] > 1) bad_file("tensor `%s` holds a bool of %d", name.c_str(), (unsigned char)at[i]);
  return tensor;
}

std::map<std::string, Tensor> read_safetensors(const char* data, size_t size) {
  const std::string_view s(data, size);
  const uint64_t header = number(s, 0, 8);
  if (header > kMaxWeightsHeader || header > size - 8) bad_file("the weights' header has %llu bytes", (unsigned long long)header);
  const char* const content = data + 8 + header;
  const size_t rest = size - 8 - (size_t)header;
  std::map<std::string, Tensor> tensors;
  JsonReader json(data + 8, (size_t)header, "the weights' header");
  json.begin_object();
  for (std::string name; json.next_key(&name);) {
    if (name == "__metadata__") {
      json.skip();
      continue;
    }
    Tensor tensor = read_tensor(json, name, content, rest);
    if (!tensors.emplace(name, std::move(tensor)).second) bad_file("tensor `%s` is stored twice", name.c_str());
  }
  json.end();
  return tensors;
}

// --- packages -------------------------------------------------------------------------------------------------------

static std::string read_hash(JsonReader& json) {
  std::string hash;
  json.begin_object();
  for (std::string key; json.next_key(&key);) {
    if (key == "sha256") hash = json.string();
    else json.skip();
  }
  return hash;
}

int64_t read_manifest(std::string_view text, std::string* hash) {
  JsonReader json(text.data(), text.size(), "manifest.json");
  bool sound = false;
  int64_t schema = 0;
  json.begin_object();
  for (std::string key; json.next_key(&key);) {
    if (key == "format" && json.at_string()) sound = json.string() == "ptir";
    else if (key == "schema") schema = json.integer();
    else if (key == "weights") *hash = read_hash(json);
    else json.skip();
  }
  json.end();
  if (!sound) bad_file("the manifest is not one of the portable IR");
  return schema;
}

Package read_package(Bytes bytes, bool verify) {
  Package package;
  package.bytes = std::move(bytes);
  std::string_view weights;
  bool has_text = false, has_manifest = false, has_weights = false;
  for (const Entry& entry : read_directory(package.bytes.view())) {
    if (entry.name == "graph.ptir" && !has_text) {
      package.text = entry.data;
      has_text = true;
    } else if (entry.name == "manifest.json" && !has_manifest) {
      package.manifest = entry.data;
      has_manifest = true;
    } else if (entry.name == "weights.safetensors" && !has_weights) {
      weights = entry.data;
      has_weights = true;
    } else {
      bad_file("an unknown entry `%s`", std::string(entry.name.substr(0, 64)).c_str());
    }
  }
  if (package.manifest.size() > kMaxManifest) bad_file("a manifest of %zu bytes", package.manifest.size());
  std::string hash;
  package.schema = read_manifest(package.manifest, &hash);
  if (!hash.empty() && (verify || weights.size() <= kHashedAtOpening) && sha256(weights) != hash)
    bad_file("the weights do not match their hash");
  package.tensors = read_safetensors(weights.data(), weights.size());
  return package;
}

}  // namespace ptc::exec
