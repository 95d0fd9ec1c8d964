// Flags and barriers between a core's pipelines. They run one after the other here, so order is given; what is
// checked is what the chip would answer with a hang.
#pragma once

#include <chrono>
#include <thread>

#include "group.h"
#include "tensor.h"

namespace mtsim {

constexpr int32_t kEventIds = 8;
constexpr int32_t kBarrierEvent = kEventIds;  // none of the kernel's own

inline void set_bit(uint8_t& flags, int32_t id) {
  if (id < 0 || id >= kEventIds) fault({"limit"}, kVectorCoreException, "SetFlag: event id %d, there are 0 to %d", id,
      kEventIds - 1);
  flags = static_cast<uint8_t>(flags | (1u << id));
}

inline void clear_bit(uint8_t& flags, int32_t id) {
  if (id < 0 || id >= kEventIds) fault({"limit"}, kVectorCoreException, "WaitFlag: event id %d, there are 0 to %d", id,
      kEventIds - 1);
  if (!(flags >> id & 1)) fault({"flag"}, kVectorCoreTimeout, "WaitFlag: event %d was never set: the chip would wait for ever",
      id);
  flags = static_cast<uint8_t>(flags & ~(1u << id));
}

inline void set_flag(uint8_t& flags, pipe_t from, pipe_t to, int32_t id) {
  set_bit(flags, id);
  if constexpr (kChecked) mtsim_check_set_flag(from, to, id, MTSIM_FRAME);
}
inline void wait_flag(uint8_t& flags, pipe_t from, pipe_t to, int32_t id) {
  clear_bit(flags, id);
  if constexpr (kChecked) mtsim_check_wait_flag(from, to, id, MTSIM_FRAME);
}
inline uint8_t& pair_flags(pipe_t from, pipe_t to) { return core().pipe_flags[from * kPipes + to]; }

inline void barrier(pipe_t pipe) {
  if constexpr (kChecked)
    if (pipe == PIPE_ALL) mtsim_check_barrier();
}

/// What these pipes did comes before what any pipe does from now on.
inline void order_after(std::initializer_list<pipe_t> pipes) {
  constexpr pipe_t kAll[] = {PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX};
  if constexpr (kChecked) {
    for (const pipe_t from : pipes)
      for (const pipe_t to : kAll) {
        mtsim_check_set_flag(from, to, kBarrierEvent, MTSIM_FRAME);
        mtsim_check_wait_flag(from, to, kBarrierEvent, MTSIM_FRAME);
      }
  }
}

/// Keys of the signals between cores that the checker follows.
inline uint64_t flag_key(uint16_t flag) { return uint64_t{core().block} << 16 | flag; }
inline uint64_t block_flag_key(int32_t block, int32_t event) {
  return uint64_t{1} << 62 | static_cast<uint64_t>(static_cast<uint32_t>(event)) << 31 |
         static_cast<uint32_t>(block);
}

/// How long a block waits for another one before it is a hang.
constexpr std::chrono::seconds kBlockPatience{20};

inline void check_cross_core(const char* name, uint16_t flag) {
  if (flag >= Group::kFlags) fault(kVectorCoreException, "%s: flag %u, there are 0 to %u", name, flag,
      Group::kFlags - 1);
}

/// Blocks that wait for each other must all be alive, and each takes a core: a cube core where it has several.
inline void check_alive_together(const char* name) {
  const bool mixed = core().group != nullptr;
  const uint32_t cores = mixed || runs_cube() ? chip().cube_cores : chip().vector_cores;
  if (core().blocks > cores)
    fault(kVectorCoreTimeout, "%s: %u blocks wait for each other, %s has %u %s cores: the chip would wait for ever",
          name, core().blocks, chip().name, cores, mixed || runs_cube() ? "cube" : "vector");
}

inline Group& own_group(const char* name) {
  if (core().group == nullptr)
    fault(kVectorCoreTimeout, "%s: the block has one core, nobody answers: declare the kernel with "
          "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2)", name);
  return *core().group;
}

}  // namespace mtsim

namespace AscendC {

template <HardEvent event>
void SetFlag(int32_t eventID) {
  constexpr mtsim::EventPipes pipes = mtsim::pipes_of(event);
  mtsim::set_flag(mtsim::core().flags[static_cast<size_t>(event)], pipes.from, pipes.to, eventID);
}
template <HardEvent event>
void WaitFlag(int32_t eventID) {
  constexpr mtsim::EventPipes pipes = mtsim::pipes_of(event);
  mtsim::wait_flag(mtsim::core().flags[static_cast<size_t>(event)], pipes.from, pipes.to, eventID);
}
template <pipe_t pipe>
void PipeBarrier() {
  mtsim::barrier(pipe);
}

enum class MemDsbT : uint8_t { ALL, DDR, UB, SEQ };

/// Waits for the instructions that access this memory; SEQ is reserved, and waits for nothing.
template <MemDsbT memory>
void DataSyncBarrier() {
  if constexpr (memory == MemDsbT::ALL) mtsim::barrier(PIPE_ALL);
  if constexpr (memory == MemDsbT::DDR) mtsim::order_after({PIPE_S, PIPE_MTE2, PIPE_MTE3, PIPE_FIX});
  if constexpr (memory == MemDsbT::UB) mtsim::order_after({PIPE_S, PIPE_V, PIPE_MTE2, PIPE_MTE3});
}

using TEventID = int8_t;

/// Waits for all blocks. The launch stub of a source that names SyncAll keeps its blocks alive together.
template <bool isAIVOnly = true>
void SyncAll() {
  mtsim::check_alive_together("SyncAll");
  const uint32_t scope = mtsim::core().group == nullptr ? 0 : isAIVOnly ? 1 : 2;  // who meets
  if constexpr (mtsim::kChecked) mtsim_check_arrive(scope);
  if (scope == 0) mtsim_block_barrier();
  else mtsim::core().group->sync_all(isAIVOnly, [] { mtsim_block_barrier(); });
  if constexpr (mtsim::kChecked) mtsim_check_leave(scope);
}
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>&, const LocalTensor<int32_t>&, const int32_t usedCores = 0) {
  SyncAll<isAIVOnly>();
}

namespace detail {
inline void set_cross_core(const char* name, uint8_t mode, pipe_t pipe, uint16_t flag) {
  mtsim::check_cross_core(name, flag);
  if (mode == 0) {
    mtsim::core().everywhere |= 1u << flag;
    return;
  }
  if constexpr (mtsim::kChecked) mtsim_check_signal(mtsim::flag_key(flag), pipe);
  mtsim::own_group(name).set(mode, flag);
}
}  // namespace detail

/// Mode 0: all cores of a kind, of all blocks. Mode 1: a block's vector cores. Mode 2: a cube and its vector cores.
template <uint8_t modeId, pipe_t pipe>
void CrossCoreSetFlag(uint16_t flagId) {
  static_assert(modeId <= 2, "CrossCoreSetFlag: the mode is 0, 1 or 2");
  detail::set_cross_core("CrossCoreSetFlag", modeId, pipe, flagId);
}
/// Mode and flag as ffts_cross_core_sync takes them.
constexpr uint16_t GetffstMsg(uint16_t mode, uint16_t flagId) {
  return static_cast<uint16_t>(1 | (mode & 3) << 4 | (flagId & 0xF) << 8);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t flagId) {
  mtsim::check_cross_core("CrossCoreWaitFlag", flagId);
  uint32_t& everywhere = mtsim::core().everywhere;
  if (!(everywhere >> flagId & 1)) {
    mtsim::own_group("CrossCoreWaitFlag").wait(flagId);
    if constexpr (mtsim::kChecked) mtsim_check_await(mtsim::flag_key(flagId));
    return;
  }
  everywhere &= ~(1u << flagId);  // all cores of a kind that set it meet here
  if (mtsim::core().group != nullptr && mtsim::runs_cube())
    mtsim::fault(mtsim::kVectorCoreException, "CrossCoreWaitFlag: mode 0 between the cube cores of a mixed kernel is "
                 "not simulated: let the vector cores wait, or use SyncAll<false>");
  SyncAll();
}

namespace detail {
/// One word an event and block, 32 bytes apart, in global memory.
inline int32_t* block_flag(const char* name, const GlobalTensor<int32_t>& workspace, int32_t block, int32_t event) {
  const int64_t at = (int64_t{event} * mtsim::core().blocks + block) * 8;
  return mtsim::global_bytes(workspace, (at + 8) * 4, name, "gmWorkspace") + at;
}
}  // namespace detail

/// Tells the block that waits with IBWait for this one. The workspace starts as zeros.
template <bool isAIVOnly = true>
void IBSet(const GlobalTensor<int32_t>& workspace, const LocalTensor<int32_t>&, int32_t blockIdx, int32_t eventID) {
  if constexpr (mtsim::kChecked) mtsim_check_signal(mtsim::block_flag_key(blockIdx, eventID), 0xFF);
  __atomic_fetch_add(detail::block_flag("IBSet", workspace, blockIdx, eventID), 1, __ATOMIC_SEQ_CST);
}
template <bool isAIVOnly = true>
void IBWait(const GlobalTensor<int32_t>& workspace, const LocalTensor<int32_t>&, int32_t blockIdx, int32_t eventID) {
  mtsim::check_alive_together("IBWait");
  int32_t* flag = detail::block_flag("IBWait", workspace, blockIdx, eventID);
  const auto deadline = std::chrono::steady_clock::now() + mtsim::kBlockPatience;
  while (__atomic_load_n(flag, __ATOMIC_SEQ_CST) == 0) {
    if (std::chrono::steady_clock::now() > deadline)
      mtsim::fault(mtsim::kVectorCoreTimeout, "IBWait: block %d did not set event %d", blockIdx, eventID);
    std::this_thread::yield();
  }
  __atomic_fetch_sub(flag, 1, __ATOMIC_SEQ_CST);
  if constexpr (mtsim::kChecked) mtsim_check_await(mtsim::block_flag_key(blockIdx, eventID));
}

}  // namespace AscendC

namespace AscendC {

/// Flags from one pipe to another by their names.
template <pipe_t from, pipe_t to>
class TQueSync {
 public:
  void SetFlag(TEventID id) { mtsim::set_flag(mtsim::pair_flags(from, to), from, to, id); }
  void WaitFlag(TEventID id) { mtsim::wait_flag(mtsim::pair_flags(from, to), from, to, id); }
};

}  // namespace AscendC

inline void set_flag(pipe_t from, pipe_t to, int32_t id) {
  mtsim::set_flag(mtsim::pair_flags(from, to), from, to, id);
}
inline void wait_flag(pipe_t from, pipe_t to, int32_t id) {
  mtsim::wait_flag(mtsim::pair_flags(from, to), from, to, id);
}
inline void pipe_barrier(pipe_t pipe) { mtsim::barrier(pipe); }

/// The same between cores: mode and flag come as AscendC::GetffstMsg packs them.
inline void ffts_cross_core_sync(pipe_t pipe, uint64_t config) {
  const auto mode = static_cast<uint8_t>(config >> 4 & 3);
  if (mode == 3) mtsim::fault(mtsim::kVectorCoreException, "ffts_cross_core_sync: the mode is 0, 1 or 2");
  AscendC::detail::set_cross_core("ffts_cross_core_sync", mode, pipe, static_cast<uint16_t>(config >> 8 & 0xF));
}
inline void wait_flag_dev(int64_t flag) { AscendC::CrossCoreWaitFlag(static_cast<uint16_t>(flag)); }
inline void wait_flag_dev(pipe_t, int64_t flag) { wait_flag_dev(flag); }
inline void set_ffts_base_addr(uint64_t) {}
