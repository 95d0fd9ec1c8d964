// The tiling key that a kernel is built with, -DTILING_KEY_VAR=2, or none, which is 0; and what goes by it. It stands apart
// from the other headers: g++ does not take compiled headers in which a macro's name occurs that it is given.
#pragma once

#ifndef TILING_KEY_VAR
#define TILING_KEY_VAR 0
#define MTSIM_KEY_IS_GIVEN 0
#else
#define MTSIM_KEY_IS_GIVEN 1
#endif
#define TILING_KEY_IS(key) (::mtsim::key_is<TILING_KEY_VAR, MTSIM_KEY_IS_GIVEN != 0>(key))
#define TILING_KEY_LIST(...) (::mtsim::key_is_one<TILING_KEY_VAR, MTSIM_KEY_IS_GIVEN != 0>(__VA_ARGS__))
#define KERNEL_TASK_TYPE(KEY, TYPE) \
  if (TILING_KEY_VAR == (KEY)) ::mtsim::declare_task(TYPE)
