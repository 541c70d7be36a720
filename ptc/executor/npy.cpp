#include "npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <memory>

namespace ptc::exec {

static const struct {
  const char* name;
  DType dtype;
} types[] = {{"<f8", DType::F64}, {"<f4", DType::F32}, {"<f2", DType::F16}, {"<i8", DType::I64}, {"<i4", DType::I32},
             {"<i2", DType::I16}, {"|i1", DType::I8},  {"|u1", DType::U8},  {"|b1", DType::Bool}, {"<c8", DType::C64},
             {"<c16", DType::C128}, {"<u2", DType::U16}, {"<u4", DType::U32}, {"<u8", DType::U64}};

struct CloseFile {
  void operator()(FILE* file) const { fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

// What follows `'key':` in the header, without spaces at its beginning.
static std::string field(const std::string& header, const char* key, const std::string& path) {
  const size_t at = header.find("'" + std::string(key) + "'");
  const size_t colon = at == std::string::npos ? at : header.find(':', at);
  if (colon == std::string::npos) bad_file("`%s`: the header has no `%s`", path.c_str(), key);
  const size_t start = header.find_first_not_of(' ', colon + 1);
  return start == std::string::npos ? std::string() : header.substr(start);
}

static Tensor described(const std::string& header, const std::string& path) {
  const std::string descr = field(header, "descr", path), shape = field(header, "shape", path);
  if (field(header, "fortran_order", path).compare(0, 5, "False") != 0) bad_file("`%s` is not row-major", path.c_str());
  const size_t quote = descr.find('\'', 1);
  const std::string name = descr.empty() || descr[0] != '\'' || quote == std::string::npos ? descr : descr.substr(1, quote - 1);
  Tensor tensor;
  bool known = false;
  for (const auto& type : types)
    if (name == type.name) {
      tensor.dtype = type.dtype;
      known = true;
    }
  if (!known) bad_file("`%s` holds elements `%.20s`", path.c_str(), name.c_str());
  if (shape.empty() || shape[0] != '(') bad_file("`%s`: a bad shape", path.c_str());
  const char* at = shape.c_str() + 1;
  while (*at && *at != ')') {
    char* end;
    errno = 0;
    const long long size = strtoll(at, &end, 10);
    if (end == at || errno || size < 0) bad_file("`%s`: a bad shape", path.c_str());
    tensor.sizes.push_back(size);
    at = end;
    while (*at == ',' || *at == ' ' || *at == 'L') ++at;
  }
  return tensor;
}

Tensor read_npy(const std::string& path) {
  File file(fopen(path.c_str(), "rb"));
  if (!file) bad_file("cannot open `%s`: %s", path.c_str(), strerror(errno));
  unsigned char head[12];
  if (fread(head, 1, 10, file.get()) != 10 || memcmp(head, "\x93NUMPY", 6) != 0) bad_file("`%s` is no .npy file", path.c_str());
  size_t length = (size_t)head[8] | (size_t)head[9] << 8;
  if (head[6] >= 2) {
    if (fread(head + 10, 1, 2, file.get()) != 2) bad_file("`%s` ends too early", path.c_str());
    length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
  }
  if (length > (size_t)1 << 20) bad_file("`%s` has a header of %zu bytes", path.c_str(), length);
  std::string header(length, '\0');
  if (fread(&header[0], 1, length, file.get()) != length) bad_file("`%s` ends too early", path.c_str());
  const Tensor shape = described(header, path);
  Tensor tensor = empty(shape.dtype, shape.sizes);
  const size_t bytes = (size_t)tensor.bytes();
  if (fread(tensor.raw(), 1, bytes, file.get()) != bytes) bad_file("`%s` ends too early", path.c_str());
  if (tensor.dtype == DType::Bool)
    for (size_t i = 0; i < bytes; ++i) tensor.raw()[i] = tensor.raw()[i] != 0;
  return tensor;
}

void write_npy(const std::string& path, const Tensor& given) {
  const Tensor tensor = contiguous(given);
  const char* name = "<u2";  // bf16 as its bits
  for (const auto& type : types)
    if (type.dtype == tensor.dtype) name = type.name;
  std::string shape;
  for (int64_t size : tensor.sizes) shape += std::to_string(size) + ", ";
  if (tensor.rank() > 1) shape.resize(shape.size() - 2);
  std::string header = "{'descr': '" + std::string(name) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  File file(fopen(path.c_str(), "wb"));
  if (!file) bad_file("cannot write `%s`: %s", path.c_str(), strerror(errno));
  const unsigned char head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(header.size() & 255), (unsigned char)(header.size() >> 8)};
  const size_t bytes = (size_t)tensor.bytes();
  if (fwrite(head, 1, 10, file.get()) != 10 || fwrite(header.data(), 1, header.size(), file.get()) != header.size() ||
      fwrite(tensor.raw(), 1, bytes, file.get()) != bytes || fflush(file.get()) != 0)
    bad_file("cannot write `%s`: %s", path.c_str(), strerror(errno));
}

}  // namespace ptc::exec
