// The chips that can be simulated: sizes of a core's memories and numbers of cores. MTSIM_SOC_NAME chooses one when a
// kernel runs; a kernel compiled with -D__NPU_ARCH__=... sees that chip's macros too.
#pragma once

#include <array>
#include <cstring>

#include "../../mtsim.h"
#include "types.h"

namespace mtsim {

enum Memory : uint8_t { kUnified, kL1, kL0A, kL0B, kL0C, kBias, kMemories };

constexpr std::array<const char*, kMemories> kMemoryNames{"unified buffer", "L1", "L0A", "L0B", "L0C", "bias table"};

struct Chip {
  const char* name;
  std::array<uint32_t, kMemories> bytes;  // what a kernel may allocate
  uint32_t cube_cores;
  uint32_t vector_cores;
};

constexpr uint32_t kKi = 1024;

// 910B: the last 256 bytes of the unified buffer belong to the system, and vector cores are on their own.
constexpr std::array<Chip, 4> kChips{{
    {"Ascend910B", {192 * kKi - 256, 512 * kKi, 64 * kKi, 64 * kKi, 128 * kKi, kKi}, 24, 48},
    {"Ascend310P", {256 * kKi, 1024 * kKi, 64 * kKi, 64 * kKi, 256 * kKi, kKi}, 8, 8},
    {"Ascend310B", {248 * kKi, 1024 * kKi, 64 * kKi, 64 * kKi, 128 * kKi, kKi}, 1, 1},
    {"Ascend910A", {256 * kKi, 1024 * kKi, 64 * kKi, 64 * kKi, 256 * kKi, kKi}, 32, 32},
}};

static_assert(__NPU_ARCH__ != 2201 || AscendC::TOTAL_UB_SIZE == kChips[0].bytes[kUnified]);

/// The chip a SoC's name tells, by its longest matching start; what is unknown, A3's 910_93 included, is like a 910B.
inline const Chip& chip_named(const char* soc) {
  for (const Chip& chip : kChips)
    if (std::strncmp(soc, chip.name, std::strlen(chip.name)) == 0) return chip;
  if (std::strncmp(soc, "Ascend910Pro", 12) == 0) return kChips[3];
  return kChips[0];
}

inline const Chip& chip() {
  static const Chip& instance = chip_named(aclrtGetSocName());
  return instance;
}

constexpr Memory memory_of(AscendC::TPosition position) {
  using P = AscendC::TPosition;
  switch (position) {
    case P::A1:
    case P::B1:
    case P::C1:
    case P::TSCM:
      return kL1;
    case P::A2:
      return kL0A;
    case P::B2:
      return kL0B;
    case P::C2:
      return kBias;
    case P::CO1:
      return kL0C;
    default:
      return kUnified;
  }
}

}  // namespace mtsim
