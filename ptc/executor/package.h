// A `.ptir` file: a zip of exactly three stored entries, of which the weights are a safetensors file. Everything is looked
// at where it lies; nothing is copied but what is not aligned.
#ifndef PTC_EXECUTOR_PACKAGE_H
#define PTC_EXECUTOR_PACKAGE_H

#include <map>
#include <string>
#include <string_view>

#include "tensor.h"

namespace ptc::exec {

// Bytes of a file, mapped, or of the caller.
class Bytes {
 public:
  static Bytes map_file(const char* path);
  static Bytes borrow(const void* data, size_t size);
  Bytes() = default;
  Bytes(Bytes&& o) noexcept { swap(o); }
  Bytes& operator=(Bytes&& o) noexcept {
    swap(o);
    return *this;
  }
  ~Bytes();
  const char* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view view() const { return std::string_view(data_, size_); }

 private:
  void swap(Bytes& o);
  const char* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
};

constexpr size_t kMaxManifest = (size_t)64 << 20;
constexpr size_t kMaxWeightsHeader = (size_t)100 << 20;
// Weights up to this size are compared with their hash at every opening, larger ones where it is asked for.
constexpr size_t kHashedAtOpening = (size_t)4 << 20;

struct Package {
  Bytes bytes;                             // keeps what the others look at
  std::string_view text, manifest;
  std::map<std::string, Tensor> tensors;   // borrowed memory
  int64_t schema = 0;
};

// Throw Error File for anything but a sound package.
Package read_package(Bytes bytes, bool verify = false);
// The version of the schema that a manifest states; `hash`: of the weights, "" where none is stated.
int64_t read_manifest(std::string_view text, std::string* hash);
std::map<std::string, Tensor> read_safetensors(const char* data, size_t size);

}  // namespace ptc::exec

#endif
