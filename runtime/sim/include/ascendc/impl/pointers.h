// Accesses through a kernel's own pointers. The kernel builder compiles for the checker with -fsanitize=kernel-address, by
// which the compiler calls these functions before every access; they take the place of the kernel's sanitizer.
#pragma once

#include "core.h"

#ifdef MTSIM_CHECK
#define MTSIM_UNCHECKED __attribute__((used, noinline, visibility("hidden"), no_sanitize("kernel-address")))

namespace mtsim {

/// Ends the block of an access that must not happen. An exception would not do: the compiler takes the calls for ones that
/// throw nothing.
MTSIM_UNCHECKED inline void check_pointer(const void* at, size_t bytes, uint32_t access) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  constexpr auto kRelaxed = std::memory_order_relaxed;
  if (address - device_window.begin.load(kRelaxed) >= device_window.bytes.load(kRelaxed) && address >= 4096) return;
  if (mtsim_check_pointer(at, bytes, access, MTSIM_FRAME) == 0) std::longjmp(*core().escape, 1);
}

}  // namespace mtsim

extern "C" {
#define MTSIM_ACCESS(BYTES)                                                                                           \
  MTSIM_UNCHECKED inline void __asan_load##BYTES##_noabort(void* at) { mtsim::check_pointer(at, BYTES, MTSIM_READS); }  \
  MTSIM_UNCHECKED inline void __asan_store##BYTES##_noabort(void* at) { mtsim::check_pointer(at, BYTES, MTSIM_WRITES); }
MTSIM_ACCESS(1)
MTSIM_ACCESS(2)
MTSIM_ACCESS(4)
MTSIM_ACCESS(8)
MTSIM_ACCESS(16)
#undef MTSIM_ACCESS
MTSIM_UNCHECKED inline void __asan_loadN_noabort(void* at, long bytes) {
  mtsim::check_pointer(at, static_cast<size_t>(bytes), MTSIM_READS);
}
MTSIM_UNCHECKED inline void __asan_storeN_noabort(void* at, long bytes) {
  mtsim::check_pointer(at, static_cast<size_t>(bytes), MTSIM_WRITES);
}
MTSIM_UNCHECKED inline void __asan_handle_no_return() {}
MTSIM_UNCHECKED inline void __asan_before_dynamic_init(const void*) {}
MTSIM_UNCHECKED inline void __asan_after_dynamic_init() {}
}

#undef MTSIM_UNCHECKED
#endif
