// What a block asks about itself and its machine.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>

#include "group.h"
#include "pipe.h"
#include "tensor.h"

namespace AscendC {

/// What a core is: g_coreType == AIC.
enum CoreKind : int32_t { MIX = 0, AIC = 1, AIV = 2 };

inline int64_t GetBlockNum() { return mtsim::core().blocks; }
inline int64_t GetSubBlockIdx() { return mtsim::core().sub_block; }
/// How many vector cores there are to a cube core.
inline int64_t GetTaskRation() { return mtsim::core().group != nullptr ? mtsim::core().group->vectors() : 1; }
inline int64_t GetTaskRatio() { return GetTaskRation(); }
inline int64_t GetSubBlockNum() { return GetTaskRation(); }
/// 0 to n on cube cores; on the vector cores of a mixed kernel 0 to 2n.
inline int64_t GetBlockIdx() {
  const mtsim::Core& core = mtsim::core();
  return core.role == mtsim::Role::Vector ? core.block * GetTaskRation() + core.sub_block : core.block;
}

/// Nanoseconds here; the chip's counter has a period of its own.
inline int64_t GetSystemCycle() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/// The launch passes the kernel's own workspace, without a part for the system before it.
inline __gm__ uint8_t* GetUserWorkspace(__gm__ uint8_t* workspace) { return workspace; }
/// The part that the system would use. Nothing is kept there, but kernels end when it is NULL.
inline void SetSysWorkspace(__gm__ uint8_t*) {}
inline __gm__ uint8_t* GetSysWorkSpacePtr() {
  static uint8_t unused;
  return &unused;
}

template <typename... Values>
void PRINTF(const char* format, Values... values) {
  std::printf(format, values...);
}
using std::printf;

/// Prints the first `count` elements with the description that tells one dump from another.
template <typename Tensor>
void DumpTensor(const Tensor& tensor, uint32_t description, uint32_t count) {
  if constexpr (mtsim::kChecked) mtsim_check_barrier();  // a dump waits for what it shows
  std::printf("DumpTensor %u, block %lld: [", description, static_cast<long long>(GetBlockIdx()));
  for (uint32_t i = 0; i < count; ++i)
    std::printf(i == 0 ? "%g" : ", %g", static_cast<double>(static_cast<float>(tensor.GetValue(i))));
  std::printf("]\n");
}

enum class CacheLine : uint64_t { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };

/// Scalar accesses to device memory go past no cache here; what is left is their order.
template <typename T, CacheLine line, DcciDst destination = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T>& tensor) {
  mtsim::global_bytes(tensor, sizeof(T), "DataCacheCleanAndInvalid", "dst");
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
template <typename T, CacheLine line, DcciDst destination = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const LocalTensor<T>&) {}
template <typename T>
void DataCachePreload(const GlobalTensor<uint64_t>&, const T) {}
template <typename T>
void ICachePreLoad(const T) {}

/// One element of global memory by its address, past the cache.
template <typename T>
T ReadGmByPassDCache(__gm__ T* addr) {
  GlobalTensor<T> tensor;
  tensor.SetGlobalBuffer(addr);
  return tensor.GetValue(0);
}
template <typename T>
void WriteGmByPassDCache(__gm__ T* addr, T value) {
  GlobalTensor<T> tensor;
  tensor.SetGlobalBuffer(addr);
  tensor.SetValue(0, value);
}

/// Registers of the chip that kernels set before anything else; the simulator's cores start as they are to be.
inline void InitSocState() {}
inline void SetSyncBaseAddr(uint64_t) {}

/// Kernels that follow each other on a core may overlap on the chip; here one ends before the next begins.
inline void SetNextTaskStart() {}
inline void WaitPreTaskEnd() {}

[[noreturn]] inline void Trap() { mtsim::fault(mtsim::kVectorCoreException, "Trap"); }

}  // namespace AscendC

// Kernels name these with and without their namespace.
using AscendC::GetSysWorkSpacePtr;
using AscendC::GetTPipePtr;
using AscendC::GetUserWorkspace;
using AscendC::SetSysWorkspace;

namespace mtsim {
/// Known when the kernel runs: a mixed kernel is compiled once for both kinds of core.
struct CoreType {
  operator AscendC::CoreKind() const { return runs_cube() ? AscendC::AIC : AscendC::AIV; }
};
}  // namespace mtsim
inline constexpr mtsim::CoreType g_coreType{};
namespace AscendC {
using ::g_coreType;
}

inline int64_t get_block_idx() { return AscendC::GetBlockIdx(); }
inline int64_t get_block_num() { return AscendC::GetBlockNum(); }
inline int64_t get_subblockid() { return AscendC::GetSubBlockIdx(); }
inline int64_t get_subblockdim() { return AscendC::GetSubBlockNum(); }

inline void dcci(const void*, uint64_t, uint64_t = 0) { std::atomic_thread_fence(std::memory_order_seq_cst); }

#ifndef ASSERT
#define ASSERT(condition) ascendc_assert(condition)
#endif
#define ascendc_assert(condition, ...) \
  ((condition) ? (void)0 : ::mtsim::fault(::mtsim::kVectorCoreException, "%s:%d: %s", __FILE__, __LINE__, #condition))
