// Which level of x86-64 this processor and its operating system have, asked of the processor itself: what compilers
// offer for it depends on their run-time libraries.
#include "methods.hpp"

#if defined(__x86_64__) || defined(_M_X64)
#define ELECTORATE_X86_64
#ifdef _MSC_VER
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace electorate::python {
namespace {

#ifdef ELECTORATE_X86_64
struct Leaf {
  u32 a = 0, b = 0, c = 0, d = 0;
};

// The registers of a question; zeros where the processor does not know it.
Leaf cpuid(u32 question) {
#ifdef _MSC_VER
  int found[4];
  __cpuid(found, question & 0x80000000);
  if (static_cast<u32>(found[0]) < question) return {};
  __cpuidex(found, question, 0);
  return {u32(found[0]), u32(found[1]), u32(found[2]), u32(found[3])};
#else
  Leaf leaf;
  if (!__get_cpuid_count(question, 0, &leaf.a, &leaf.b, &leaf.c, &leaf.d)) return {};
  return leaf;
#endif
}

// The registers that the operating system saves.
u64 saved_registers() {
#ifdef _MSC_VER
  return _xgetbv(0);
#else
  u32 low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<u64>(high) << 32 | low;
#endif
}

constexpr u32 bits(auto... numbers) { return ((u32{1} << numbers) | ...); }
bool has(u32 found, u32 wanted) { return (found & wanted) == wanted; }
#endif

// 2, 3 or 4 for x86-64-v2, v3 and v4; 0 for less and for other processors.
i64 cpu_level() {
#ifdef ELECTORATE_X86_64
  const Leaf basic = cpuid(1), more = cpuid(7), extended = cpuid(0x80000001);
  // sse3, ssse3, cmpxchg16b, sse4.1, sse4.2, popcnt; lahf
  if (!has(basic.c, bits(0, 9, 13, 19, 20, 23)) || !has(extended.c, bits(0))) return 0;
  // osxsave, fma, movbe, avx, f16c; avx2, bmi1, bmi2; lzcnt
  if (!has(basic.c, bits(27, 12, 22, 28, 29)) || !has(more.b, bits(5, 3, 8)) || !has(extended.c, bits(5))) return 2;
  const u64 saved = saved_registers();
  if ((saved & 0x06) != 0x06) return 2;
  // avx512f, dq, cd, bw, vl
  return has(more.b, bits(16, 17, 28, 30, 31)) && (saved & 0xe6) == 0xe6 ? 4 : 3;
#else
  return 0;
#endif
}

}  // namespace

std::vector<PyMethodDef> cpu_methods() { return {kernel<"cpu_level", cpu_level>()}; }

}  // namespace electorate::python
