// libFuzzer's entry for what reads files: packages, manifests, weights, and texts alone, with control flow and without. Build with `ptc.executor.build.build_fuzzer`.
#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "control_program.h"
#include "package.h"
#include "program.h"

using namespace ptc::exec;

// A text that is read prints as something that reads again, and prints the same.
template <class Parse, class Print> static auto read_text(std::string_view text, const Parse& parse, const Print& print) {
  auto module = parse(text.data(), text.size());
  const std::string printed = print(module);
  if (print(parse(printed.data(), printed.size())) != printed) __builtin_trap();
  return module;
}

// Prepared without weights: those of packages are the ones that have some.
static void open_control(ControlModule module) {
  Program program;
  program.control = std::make_unique<ControlProgram>();
  program.control->module = std::move(module);
  program.module = interface_of(program.control->module);
  prepare_control(&program);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Weights are looked at where they lie: memory of the alignment that files have.
  std::vector<uint64_t> aligned(size / 8 + 1);
  memcpy(aligned.data(), data, size);
  const char* const bytes = (const char*)aligned.data();
  const bool text = size >= 4 && !memcmp(bytes, "ptir", 4);
  const bool json = size >= 1 && bytes[0] == '{';
  try {
    if (text && is_control({bytes, size})) {
      open_control(read_text({bytes, size}, parse_control, print_control));
    } else if (text) {
      read_text({bytes, size}, parse_module, print_module);
    } else if (json) {
      std::string hash;
      read_manifest({bytes, size}, &hash);
    } else if (size >= 8 && bytes[7] == 0 && bytes[8 < size ? 8 : 0] == '{') {
      read_safetensors(bytes, size);
    } else {
      prepare_program(Bytes::borrow(bytes, size));
    }
  } catch (const Error&) {
  }
  return 0;
}
