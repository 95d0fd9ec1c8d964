// Local memory by address: what raw intrinsics and address lists name, as tensors that know where their memory ends.
#pragma once

#include "elementwise.h"

namespace mtsim {

/// From `pointer` to the end of the unified buffer.
template <typename T>
LocalTensor<T> unified(const T* pointer, const char* name, const char* operand) {
  const uint32_t size = chip().bytes[kUnified];
  auto* address = reinterpret_cast<uint8_t*>(const_cast<std::remove_cv_t<T>*>(pointer));
  uint8_t* begin = core().memory(kUnified);
  if (address < begin || address >= begin + size)
    fault(kVectorCoreException, "%s: %s is at %p, outside of the unified buffer", name, operand,
          static_cast<void*>(address));
  return LocalTensor<T>(address, size - static_cast<uint32_t>(address - begin), AscendC::TPosition::VECCALC);
}

}  // namespace mtsim
