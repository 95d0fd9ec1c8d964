// LocalMemAllocator: tensors one after the other in one of a core's memories, without a TPipe.
#pragma once

#include "tensor.h"

namespace AscendC {

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

template <Hardware hard = Hardware::UB>
class LocalMemAllocator {
 public:
  uint32_t GetCurAddr() const { return head_; }

  template <typename T, uint32_t tileSize>
  LocalTensor<T> Alloc() {
    return Alloc<kPosition, T>(tileSize);
  }
  template <TPosition pos, typename T, uint32_t tileSize>
  LocalTensor<T> Alloc() {
    return Alloc<pos, T>(tileSize);
  }
  template <typename T>
  LocalTensor<T> Alloc(uint32_t tileSize) {
    return Alloc<kPosition, T>(tileSize);
  }
  template <TPosition pos, typename T>
  LocalTensor<T> Alloc(uint32_t tileSize) {
    static_assert(mtsim::memory_of(pos) == mtsim::memory_of(kPosition), "the position is served by another memory");
    LocalTensor<T> tensor(pos, head_, tileSize);
    head_ += static_cast<uint32_t>(mtsim::align_up(mtsim::bytes_for<T>(tileSize), mtsim::kBlock));
    return tensor;
  }

 private:
  static constexpr TPosition kPosition = hard == Hardware::L1     ? TPosition::A1
                                         : hard == Hardware::L0A  ? TPosition::A2
                                         : hard == Hardware::L0B  ? TPosition::B2
                                         : hard == Hardware::L0C  ? TPosition::CO1
                                         : hard == Hardware::BIAS ? TPosition::C2
                                                                  : TPosition::VECCALC;
  static_assert(hard != Hardware::GM && hard != Hardware::FIXBUF && hard != Hardware::MAX, "no memory to allocate from");
  uint32_t head_ = 0;
};

}  // namespace AscendC
