// One core running one block: its local memories, flags and registers, and how a fault ends the block.
#pragma once

#include <array>
#include <atomic>
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>

#include "check.h"
#include "chip.h"

namespace AscendC {
class TPipe;
}

namespace mtsim {

class Group;

constexpr uint32_t kVectorCoreException = 507035;
constexpr uint32_t kVectorCoreTimeout = 507034;

/// Ends the block after its fault was reported; caught where the block was started.
struct BlockFault {};

/// Records an asynchronous error for the stream of the running kernel.
inline void report(uint32_t code, const char* message);

/// What a fault is about: the name that the checker gives to its kind, and the address it concerns, if any.
struct Mistake {
  const char* kind = "fault";
  const void* subject = nullptr;
};

[[noreturn, gnu::cold, gnu::noinline]] inline void fault_with(const Mistake& mistake, uint32_t code,
                                                              const char* format, va_list arguments) {
  char message[512];
  std::vsnprintf(message, sizeof message, format, arguments);
  if constexpr (kChecked) mtsim_check_fault(mistake.kind, code, message, mistake.subject, MTSIM_FRAME);
  else report(code, message);
  throw BlockFault{};
}

/// Reports an asynchronous error for the stream and ends the block. The simulator adds the kernel and the block.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] inline void fault(uint32_t code, const char* format,
                                                                                   ...) {
  va_list arguments;
  va_start(arguments, format);
  fault_with({}, code, format, arguments);
}
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 3, 4)]] inline void fault(const Mistake& mistake,
                                                                                   uint32_t code, const char* format,
                                                                                   ...) {
  va_list arguments;
  va_start(arguments, format);
  fault_with(mistake, code, format, arguments);
}

/// Which of a repeat's elements an instruction touches.
struct Mask {
  uint64_t low;
  uint64_t high;

  Mask operator&(const Mask& other) const { return {low & other.low, high & other.high}; }
  bool operator[](uint32_t lane) const { return lane < 128 && ((lane < 64 ? low >> lane : high >> (lane - 64)) & 1); }
  static Mask first(uint64_t count) {
    const auto ones = [](uint64_t n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; };
    return {ones(count), count > 64 ? ones(count - 64) : 0};
  }
};

/// The registers of Load3D: a feature map, the padding's bits, and repetitions, see image.h.
struct Load3d {
  uint16_t height = 0, width = 0;
  uint8_t pad[4] = {0, 0, 0, 0};
  uint64_t padding = 0;
  uint16_t repeat_stride = 0;
  uint8_t repeat_time = 1, repeat_mode = 0;
};

/// The registers of Fixpipe that kernels set by hand: how many matrices lie how far apart, and a scale.
struct FixpipeRegisters {
  uint16_t matrices = 1, source_stride = 0, destination_stride = 0;
  uint64_t scale = 0;
};

/// What the last reduction over a count found, as bits.
struct Reduced {
  uint64_t sum = 0, best = 0, index = 0;
};

constexpr size_t kPipes = PIPE_FIX + 1;

enum class Atomic : uint8_t { None, Add, Max, Min };

/// What a core is for its kernel. `Any` executes every instruction: a kernel that declares no task type.
enum class Role : uint8_t { Any, Cube, Vector };

/// The first fault of a core that runs on a thread of its own, for the block's thread to report.
struct Fault {
  uint32_t code = 0;
  std::string message;
};

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
  float deq_scale = 1;  // what Cast multiplies by on the way from int32_t to half
  Mask mask{~uint64_t{0}, ~uint64_t{0}};
  uint64_t mask_count = 0;
  uint64_t gathered = 0;  // how many elements the last GatherMask kept
  AscendC::MaskMode mask_mode = AscendC::MaskMode::NORMAL;
  Mask compare_mask{};
  bool asks_for_key = false;  // of the tiling, by TILING_KEY_IS
  bool has_key = false;
  uint64_t asked_key = 0;     // the last one that is not the kernel's
  Load3d load3d;
  FixpipeRegisters fixpipe;
  Reduced reduced;
  bool hf32 = false, hf32_away = false;  // whether Mmad rounds floats to 11 bits, and ties away from 0
  std::array<uint16_t, 4> merged{};  // how many elements MrgSort took from each of its lists

  std::jmp_buf* escape = nullptr;  // where a checked core goes on after an access that must not happen

  Role role = Role::Any;
  uint32_t block = 0;       // of the launch, which has `blocks`
  uint32_t blocks = 1;
  uint32_t sub_block = 0;   // among the block's vector cores
  uint32_t everywhere = 0;  // cross-core flags set in mode 0, a bit a flag
  Group* group = nullptr;   // the cores of a block that has several
  Fault* fault = nullptr;

  uint8_t* memory(Memory kind) {
    auto& owner = memories[kind];
    if (!owner) {
      const size_t bytes = align_up(chip().bytes[kind], 4096);
      owner.reset(static_cast<uint8_t*>(std::aligned_alloc(4096, bytes)));
      if (!owner) mtsim::fault(kVectorCoreException, "no host memory for the %s", kMemoryNames[kind]);
      show_memory(kind);
    }
    return owner.get();
  }

  void show_memory(size_t kind) const {
    if constexpr (kChecked) mtsim_check_memory(kind, kMemoryNames[kind], memories[kind].get(), chip().bytes[kind]);
  }

  void ask_key(uint64_t key, bool is_own) {
    asks_for_key = true;
    has_key |= is_own;
    if (!is_own) asked_key = key;
  }
  void check_key() const {
    if (asks_for_key && !has_key)
      mtsim::fault({"tiling"}, kVectorCoreException,
                   "the kernel asks TILING_KEY_IS(%llu) and was built without a key: define TILING_KEY_VAR=%llu for the "
                   "build", static_cast<unsigned long long>(asked_key), static_cast<unsigned long long>(asked_key));
  }

  void start_block() {
    pipe = nullptr;
    asks_for_key = has_key = false;
    flags.fill(0);
    pipe_flags.fill(0);
    atomic = Atomic::None;
    deq_scale = 1;
    load3d = {};
    fixpipe = {};
    reduced = {};
    hf32 = hf32_away = false;
    mask = {~uint64_t{0}, ~uint64_t{0}};
    mask_mode = AscendC::MaskMode::NORMAL;
    role = Role::Any;
    block = mtsim_block_idx();
    blocks = mtsim_block_num();
    sub_block = 0;
    everywhere = 0;
    group = nullptr;
    fault = nullptr;
  }
};

/// Where kernels find device memory, for the checker. Every core sets it to what it is anyway.
struct DeviceWindow {
  std::atomic<uintptr_t> begin{0}, bytes{0};
  void find() {
    uintptr_t found[2];
    mtsim_check_window(&found[0], &found[1]);
    begin.store(found[0], std::memory_order_relaxed);
    bytes.store(found[1], std::memory_order_relaxed);
  }
};
inline DeviceWindow device_window;

inline Core& core() {
  static thread_local Core instance;
  return instance;
}

inline void report(uint32_t code, const char* message) {
  Fault* own = core().fault;
  if (own == nullptr) mtsim_kernel_fault(code, message);
  else if (own->code == 0) *own = {code, message};
}

}  // namespace mtsim
