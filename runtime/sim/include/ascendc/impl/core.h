// One core running one block: its local memories, flags and registers, and how a fault ends the block.
#pragma once

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>

#include "../../mtsim.h"
#include "types.h"

namespace AscendC {
class TPipe;
}

namespace mtsim {

constexpr uint32_t kVectorCoreException = 507035;
constexpr uint32_t kVectorCoreTimeout = 507034;

/// Ends the block after its fault was reported; caught where the block was started.
struct BlockFault {};

/// Reports an asynchronous error for the stream and ends the block. The simulator adds the kernel and the block.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] inline void fault(uint32_t code, const char* format,
                                                                                   ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  mtsim_kernel_fault(code, message);
  throw BlockFault{};
}

enum Memory : uint8_t { kUnified, kL1, kL0A, kL0B, kL0C, kMemories };

struct MemoryTraits {
  const char* name;
  uint32_t bytes;  // what a kernel may allocate
};

// 910B: the last 256 bytes of the unified buffer belong to the system.
constexpr std::array<MemoryTraits, kMemories> kMemoryTraits{{{"unified buffer", 192 * 1024 - 256},
                                                             {"L1", 512 * 1024},
                                                             {"L0A", 64 * 1024},
                                                             {"L0B", 64 * 1024},
                                                             {"L0C", 128 * 1024}}};

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
    case P::CO1:
      return kL0C;
    default:
      return kUnified;
  }
}

/// Which of a repeat's elements an instruction touches.
struct Mask {
  uint64_t low;
  uint64_t high;

  bool operator[](uint32_t lane) const { return lane < 128 && ((lane < 64 ? low >> lane : high >> (lane - 64)) & 1); }
  static Mask first(uint64_t count) {
    const auto ones = [](uint64_t n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; };
    return {ones(count), count > 64 ? ones(count - 64) : 0};
  }
};

constexpr size_t kPipes = PIPE_FIX + 1;

enum class Atomic : uint8_t { None, Add, Max, Min };

struct Core {
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  // Kept from block to block, as the chip's memories keep their contents.
  std::array<std::unique_ptr<uint8_t, Free>, kMemories> memories;

  AscendC::TPipe* pipe = nullptr;
  std::array<uint8_t, static_cast<size_t>(AscendC::HardEvent::MAX)> flags{};  // a bit an event id
  std::array<uint8_t, kPipes * kPipes> pipe_flags{};                              // the same, for raw pipe pairs
  Atomic atomic = Atomic::None;
  Mask mask{~uint64_t{0}, ~uint64_t{0}};
  uint64_t mask_count = 0;
  AscendC::MaskMode mask_mode = AscendC::MaskMode::NORMAL;
  Mask compare_mask{};

  uint8_t* memory(Memory kind) {
    auto& owner = memories[kind];
    if (!owner) {
      const size_t bytes = align_up(kMemoryTraits[kind].bytes, 4096);
      owner.reset(static_cast<uint8_t*>(std::aligned_alloc(4096, bytes)));
      if (!owner) fault(kVectorCoreException, "no host memory for the %s", kMemoryTraits[kind].name);
    }
    return owner.get();
  }

  void start_block() {
    pipe = nullptr;
    flags.fill(0);
    pipe_flags.fill(0);
    atomic = Atomic::None;
    mask = {~uint64_t{0}, ~uint64_t{0}};
    mask_mode = AscendC::MaskMode::NORMAL;
  }
};

inline Core& core() {
  static thread_local Core instance;
  return instance;
}

/// Runs one block of a kernel; a fault inside it has already been reported when this returns.
template <typename Body>
void run_block(Body&& body) {
  core().start_block();
  try {
    body();
  } catch (const BlockFault&) {  // the block stops here, the stream's next synchronisation tells
  }
}

}  // namespace mtsim
