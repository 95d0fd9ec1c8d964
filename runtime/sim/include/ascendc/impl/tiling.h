// Tiling data: a plain struct in global memory, copied field for field into the block.
#pragma once

#include "confusion_transpose.h"
#include "group.h"
#include "normalization.h"
#include "pad.h"
#include "rows.h"
#include "tensor.h"

namespace mtsim {

template <typename Tiling>
Tiling read_tiling(const __gm__ uint8_t* address) {
  static_assert(std::is_trivially_copyable_v<Tiling>, "tiling data must be a plain struct");
  Tiling tiling;
  std::memcpy(&tiling, mtsim_kernel_alias(address), sizeof tiling);
  return tiling;
}
template <typename Tiling>
const __gm__ Tiling* tiling_at(const __gm__ uint8_t* address) {
  static_assert(std::is_trivially_copyable_v<Tiling>, "tiling data must be a plain struct");
  return reinterpret_cast<const Tiling*>(mtsim_kernel_alias(address));
}

}  // namespace mtsim

namespace mtsim {

/// What TILING_KEY_IS asks, see mtsim_key.h. Built without a key, a kernel that asks only for others than 0 is a fault
/// instead of a kernel that does nothing.
template <uint64_t built_with, bool given>
constexpr bool key_is(uint64_t key) {
  if constexpr (!given)
    if (!__builtin_is_constant_evaluated()) core().ask_key(key, key == built_with);
  return key == built_with;
}
template <uint64_t built_with, bool given, typename... Keys>
constexpr bool key_is_one(Keys... keys) {
  return (key_is<built_with, given>(static_cast<uint64_t>(keys)) || ...);
}

}  // namespace mtsim

// The struct of GET_TILING_DATA: what the kernel registers; or what a host source beside it declares, which the builder
// gives behind these headers together with another REGISTER_TILING_DEFAULT, see from_source in docs/hardware.md.
#define REGISTER_TILING_DEFAULT(STRUCT) using MtsimDefaultTiling = STRUCT
#define REGISTER_TILING_FOR_TILINGKEY(EXPRESSION, STRUCT)
#define GET_TILING_DATA(NAME, ADDRESS) MtsimDefaultTiling NAME = ::mtsim::read_tiling<MtsimDefaultTiling>(ADDRESS)
#define GET_TILING_DATA_WITH_STRUCT(STRUCT, NAME, ADDRESS) STRUCT NAME = ::mtsim::read_tiling<STRUCT>(ADDRESS)
#define GET_TILING_DATA_MEMBER(STRUCT, MEMBER, NAME, ADDRESS) auto NAME = ::mtsim::read_tiling<STRUCT>(ADDRESS).MEMBER
// A pointer to the tiling where it lies, and one to a copy of it.
#define GET_TILING_DATA_PTR_WITH_STRUCT(STRUCT, NAME, ADDRESS) \
  const __gm__ STRUCT* NAME = ::mtsim::tiling_at<STRUCT>(ADDRESS)
#define COPY_TILING_WITH_STRUCT(STRUCT, SOURCE, NAME) \
  const STRUCT NAME##Copy = *(SOURCE);                \
  const STRUCT* NAME = &NAME##Copy
#define REGISTER_NONE_TILING
#define ENABLE_DETERMINISTIC()
#define ENABLE_PRINTF()
#define ENABLE_PRINTF_DUMP_SIZE()
#define ENABLE_ASSERT()
#define ENABLE_ASSERT_DUMP_SIZE()
#define __tiling_data_ptr__

#define KERNEL_TASK_TYPE_DEFAULT(TYPE) ::mtsim::declare_task(TYPE)

// What ORIG_DTYPE_<NAME> is compared with; like DTYPE_<NAME>, a C++ type, it is a definition that the build is given.
#define DT_FLOAT 0
#define DT_FLOAT16 1
#define DT_INT8 2
#define DT_INT32 3
#define DT_UINT8 4
#define DT_INT16 6
#define DT_UINT16 7
#define DT_UINT32 8
#define DT_INT64 9
#define DT_UINT64 10
#define DT_DOUBLE 11
#define DT_BOOL 12
#define DT_BF16 27
#define DT_INT4 29

// The structs of CANN's tiling functions, under the names that kernels and hosts of several generations know them by.
#define MTSIM_TILINGS                                                                                           \
  using AscendC::ConfusionTransposeTiling;                                                                      \
  using AscendC::DeepNormTiling;                                                                                \
  using AscendC::LayerNormTiling;                                                                               \
  using AscendC::PadTiling;                                                                                     \
  using AscendC::RmsNormTiling;                                                                                 \
  using AscendC::SoftMaxTiling;                                                                                 \
  using AscendC::UnPadTiling;
namespace AscendC::tiling {
MTSIM_TILINGS
}
namespace optiling {
MTSIM_TILINGS
}
MTSIM_TILINGS
#undef MTSIM_TILINGS
