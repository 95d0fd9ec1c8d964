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

// The key that TILING_KEY_IS compares with is chosen when the kernel is built: -DTILING_KEY_VAR=2.
#ifndef TILING_KEY_VAR
#define TILING_KEY_VAR 0
#endif
#define TILING_KEY_IS(key) (TILING_KEY_VAR == (key))

#define REGISTER_TILING_DEFAULT(STRUCT) using MtsimDefaultTiling = STRUCT
#define REGISTER_TILING_FOR_TILINGKEY(EXPRESSION, STRUCT)
#define GET_TILING_DATA(NAME, ADDRESS) MtsimDefaultTiling NAME = ::mtsim::read_tiling<MtsimDefaultTiling>(ADDRESS)
#define GET_TILING_DATA_WITH_STRUCT(STRUCT, NAME, ADDRESS) STRUCT NAME = ::mtsim::read_tiling<STRUCT>(ADDRESS)
#define GET_TILING_DATA_MEMBER(STRUCT, MEMBER, NAME, ADDRESS) auto NAME = ::mtsim::read_tiling<STRUCT>(ADDRESS).MEMBER

#define KERNEL_TASK_TYPE_DEFAULT(TYPE) ::mtsim::declare_task(TYPE)
#define KERNEL_TASK_TYPE(KEY, TYPE) \
  if (TILING_KEY_IS(KEY)) ::mtsim::declare_task(TYPE)
