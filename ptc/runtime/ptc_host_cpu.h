// Which instructions this machine's processor has, by the names that a model's table uses.
#ifndef PTC_HOST_CPU_H
#define PTC_HOST_CPU_H

#include <stdint.h>
#include <string.h>

namespace ptc {

#if defined(__x86_64__)

// Where CPUID tells a feature: leaf, sub-leaf, register (eax 0, ebx 1, ecx 2, edx 3), bit; and the state
// that the system must save for it (bits of XCR0).
struct CpuFeature {
  const char* name;
  uint32_t leaf, subleaf, reg, bit, state;
};
static const CpuFeature cpu_features[] = {
    {"sse3", 1, 0, 2, 0, 0},           {"ssse3", 1, 0, 2, 9, 0},        {"fma", 1, 0, 2, 12, 6},
    {"sse4.1", 1, 0, 2, 19, 0},        {"sse4.2", 1, 0, 2, 20, 0},      {"movbe", 1, 0, 2, 22, 0},
    {"popcnt", 1, 0, 2, 23, 0},        {"avx", 1, 0, 2, 28, 6},         {"f16c", 1, 0, 2, 29, 6},
    {"bmi", 7, 0, 1, 3, 0},            {"avx2", 7, 0, 1, 5, 6},         {"bmi2", 7, 0, 1, 8, 0},
    {"avx512f", 7, 0, 1, 16, 0xE6},    {"avx512dq", 7, 0, 1, 17, 0xE6}, {"avx512ifma", 7, 0, 1, 21, 0xE6},
    {"avx512cd", 7, 0, 1, 28, 0xE6},   {"avx512bw", 7, 0, 1, 30, 0xE6}, {"avx512vl", 7, 0, 1, 31, 0xE6},
    {"avx512vbmi", 7, 0, 2, 1, 0xE6},  {"avx512vbmi2", 7, 0, 2, 6, 0xE6}, {"gfni", 7, 0, 2, 8, 0},
    {"vaes", 7, 0, 2, 9, 6},           {"vpclmulqdq", 7, 0, 2, 10, 6},  {"avx512vnni", 7, 0, 2, 11, 0xE6},
    {"avx512bitalg", 7, 0, 2, 12, 0xE6}, {"avx512vpopcntdq", 7, 0, 2, 14, 0xE6},
    {"avx512bf16", 7, 1, 0, 5, 0xE6},  {"lzcnt", 0x80000001u, 0, 2, 5, 0},
};

static void cpuid(uint32_t leaf, uint32_t subleaf, uint32_t* regs) {
  __asm__("cpuid" : "=a"(regs[0]), "=b"(regs[1]), "=c"(regs[2]), "=d"(regs[3]) : "a"(leaf), "c"(subleaf));
}

static bool cpu_has(const char* name) {
  uint32_t regs[4], low = 0, high = 0;
  for (const CpuFeature& f : cpu_features) {
    if (strcmp(f.name, name) != 0) continue;
    cpuid(f.leaf & 0x80000000u, 0, regs);
    if (regs[0] < f.leaf) return false;
    cpuid(f.leaf, f.subleaf, regs);
    if (!(regs[f.reg] >> f.bit & 1)) return false;
    if (!f.state) return true;
    cpuid(1, 0, regs);
    if (!(regs[2] >> 27 & 1)) return false;  // the system does not use XSAVE
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & f.state) == f.state;
  }
  return false;
}

#else

static bool cpu_has(const char*) { return true; }

#endif

}  // namespace ptc

#endif
