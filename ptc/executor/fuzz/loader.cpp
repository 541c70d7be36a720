// libFuzzer's entry for what reads files: packages, and texts alone. Build with `ptc.executor.build.build_fuzzer`.
#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "json.h"
#include "program.h"

using namespace ptc::exec;

// A text that is read prints as something that reads again, and prints the same.
static void read_text(const char* text, size_t size) {
  const std::string printed = print_module(parse_module(text, size));
  if (print_module(parse_module(printed.data(), printed.size())) != printed) __builtin_trap();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Weights are looked at where they lie: memory of the alignment that files have.
  std::vector<uint64_t> aligned(size / 8 + 1);
  memcpy(aligned.data(), data, size);
  const char* const bytes = (const char*)aligned.data();
  const bool text = size >= 4 && !memcmp(bytes, "ptir", 4);
  const bool json = size >= 1 && bytes[0] == '{';
  try {
    if (text) {
      read_text(bytes, size);
    } else if (json) {
      JsonReader reader(bytes, size, "the input");
      reader.skip();
      reader.end();
    } else if (size >= 8 && bytes[7] == 0 && bytes[8 < size ? 8 : 0] == '{') {
      read_safetensors(bytes, size);
    } else {
      prepare_program(Bytes::borrow(bytes, size));
    }
  } catch (const Error&) {
  }
  return 0;
}
