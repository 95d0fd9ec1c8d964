// What a block asks about itself and its machine.
#pragma once

#include <chrono>
#include <cstdio>

#include "tensor.h"

namespace AscendC {

inline int64_t GetBlockIdx() { return mtsim_block_idx(); }
inline int64_t GetBlockNum() { return mtsim_block_num(); }
inline int64_t GetSubBlockIdx() { return 0; }
inline int64_t GetSubBlockNum() { return 1; }
inline int64_t GetTaskRation() { return 1; }

/// Nanoseconds here; the chip's counter has a period of its own.
inline int64_t GetSystemCycle() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/// Waits for all blocks. The launch stub of a source that names SyncAll keeps its blocks alive together.
template <bool isAIVOnly = true>
void SyncAll() {
  mtsim_block_barrier();
}
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>&, const LocalTensor<int32_t>&, const int32_t usedCores = 0) {
  mtsim_block_barrier();
}

/// The launch passes the kernel's own workspace, without a part for the system before it.
inline __gm__ uint8_t* GetUserWorkspace(__gm__ uint8_t* workspace) { return workspace; }
inline void SetSysWorkspace(__gm__ uint8_t*) {}

template <typename... Values>
void PRINTF(const char* format, Values... values) {
  std::printf(format, values...);
}

}  // namespace AscendC

inline int64_t get_block_idx() { return AscendC::GetBlockIdx(); }
inline int64_t get_block_num() { return AscendC::GetBlockNum(); }
