// Tiling data: a plain struct in global memory, copied field for field into the block.
#pragma once

#include "group.h"
#include "tensor.h"

namespace mtsim {

template <typename Tiling>
Tiling read_tiling(const __gm__ uint8_t* address) {
  static_assert(std::is_trivially_copyable_v<Tiling>, "tiling data must be a plain struct");
  Tiling tiling;
  std::memcpy(&tiling, mtsim_kernel_alias(address), sizeof tiling);
  return tiling;
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

}  // namespace mtsim

// The struct of GET_TILING_DATA: what the kernel registers; or what a host source beside it declares, which the builder
// gives behind these headers together with another REGISTER_TILING_DEFAULT, see from_source in docs/hardware.md.
#define REGISTER_TILING_DEFAULT(STRUCT) using MtsimDefaultTiling = STRUCT
#define REGISTER_TILING_FOR_TILINGKEY(EXPRESSION, STRUCT)
#define GET_TILING_DATA(NAME, ADDRESS) MtsimDefaultTiling NAME = ::mtsim::read_tiling<MtsimDefaultTiling>(ADDRESS)
#define GET_TILING_DATA_WITH_STRUCT(STRUCT, NAME, ADDRESS) STRUCT NAME = ::mtsim::read_tiling<STRUCT>(ADDRESS)
#define GET_TILING_DATA_MEMBER(STRUCT, MEMBER, NAME, ADDRESS) auto NAME = ::mtsim::read_tiling<STRUCT>(ADDRESS).MEMBER

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
