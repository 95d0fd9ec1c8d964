// Which instruction set the kernels use: the best that the processor has, or what ATEN_CPU_CAPABILITY says, as in PyTorch.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tensor.h"

namespace mt {
namespace {

Isa chosen_isa() {
  const Isa best = best_isa();
  const char* wanted = std::getenv("ATEN_CPU_CAPABILITY");
  if (wanted == nullptr) return best;
  Isa asked = Isa::kBase;
  if (std::strcmp(wanted, "avx512") == 0) {
    asked = Isa::kAvx512;
  } else if (std::strcmp(wanted, "avx2") == 0) {
    asked = Isa::kAvx2;
  } else if (std::strcmp(wanted, "default") != 0 && std::strcmp(wanted, "neon") != 0) {
    std::fprintf(stderr, "mindtorch_v2: ignoring invalid value for ATEN_CPU_CAPABILITY: %s\n", wanted);
    return best;
  }
  return asked < best ? asked : best;  // what the processor lacks cannot be asked for
}

}  // namespace

Isa isa() {
  static const Isa value = chosen_isa();
  return value;
}

}  // namespace mt

// The name that PyTorch has for it, and NEON where that is what the build is for.
MT_EXPORT const char* mt_cpu_capability() {
  switch (mt::isa()) {
    case mt::Isa::kAvx512:
      return "AVX512";
    case mt::Isa::kAvx2:
      return "AVX2";
    default:
#if defined(__aarch64__)
      return "NEON";
#else
      return "DEFAULT";
#endif
  }
}
