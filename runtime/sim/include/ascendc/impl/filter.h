// Elements of rows kept or replaced by a mask of bytes or bits: SelectWithBytesMask and DropOut.
#pragma once

#include "elementwise.h"

namespace AscendC {

/// Rows of src and of the mask, which may be longer.
struct SelectWithBytesMaskShapeInfo {
  uint32_t firstAxis = 0;
  uint32_t srcLastAxis = 0;
  uint32_t maskLastAxis = 0;
};
struct DropOutShapeInfo {
  uint32_t firstAxis = 0;
  uint32_t srcLastAxis = 0;
  uint32_t maskLastAxis = 0;
};
constexpr uint32_t DROPOUT_MODE_BYTE_MISALIGN = 1;
constexpr uint32_t DROPOUT_MODE_BYTE_ALIGN = 2;
constexpr uint32_t DROPOUT_MODE_BIT_ALIGN = 3;
constexpr uint32_t DROPOUT_MODE_BIT_MISALIGN = 4;

}  // namespace AscendC

namespace mtsim {

/// dst[i] = pick(src[i], mask[i]): `bits` masks have eight elements to a byte.
template <typename T, typename M, typename Shape, typename Pick>
void filter(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<M>& mask,
            const Shape& shape, bool bits, Pick&& pick) {
  static_assert(one_of<T, half, float>, "functions over masked rows exist for half and float");
  static_assert(sizeof(M) == 1 || !std::is_same_v<Shape, AscendC::DropOutShapeInfo>, "a mask of DropOut is of uint8_t");
  const Instruction instruction(name, PIPE_V, Flow::Uses);
  const int64_t count = int64_t{shape.firstAxis} * shape.srcLastAxis;
  const T* in = elements(src, count, name, "src");
  const M* chosen = elements_in_range(mask, int64_t{shape.firstAxis} * shape.maskLastAxis, name, "mask");
  T* out = elements(dst, count, name, "dst");
  for (uint32_t row = 0; row < shape.firstAxis; ++row) {
    const M* flags = chosen + uint64_t{row} * shape.maskLastAxis;
    const uint64_t at = uint64_t{row} * shape.srcLastAxis;
    touch_elements(flags, bits ? (shape.srcLastAxis + 7) / 8 : shape.srcLastAxis, name, "mask", kUsed);
    for (uint32_t i = 0; i < shape.srcLastAxis; ++i) {
      const bool set = bits ? (static_cast<uint8_t>(flags[i / 8]) >> (i % 8)) & 1 : flags[i] != M(0);
      out[at + i] = pick(in[at + i], set);
    }
  }
}

}  // namespace mtsim

namespace AscendC {

/// src0 where the mask is 0, else src1; one of both is a number for all elements.
template <typename T, typename U, bool isReuseMask = true>
void SelectWithBytesMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const T src1, const LocalTensor<U>& mask,
                         const LocalTensor<uint8_t>&, const SelectWithBytesMaskShapeInfo& info) {
  mtsim::filter("SelectWithBytesMask", dst, src0, mask, info, false,
                [src1](T value, bool masked) { return masked ? src1 : value; });
}
template <typename T, typename U, bool isReuseMask = true>
void SelectWithBytesMask(const LocalTensor<T>& dst, const T src0, const LocalTensor<T>& src1, const LocalTensor<U>& mask,
                         const LocalTensor<uint8_t>&, const SelectWithBytesMaskShapeInfo& info) {
  mtsim::filter("SelectWithBytesMask", dst, src1, mask, info, false,
                [src0](T value, bool masked) { return masked ? value : src0; });
}

/// src / keepProb where the mask is 1, else 0. The mask has a byte or a bit for each element; without a mode its rows tell.
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
void DropOut(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& mask,
             const float keepProb, const DropOutShapeInfo& info) {
  const bool bits = dropOutMode == 0 ? info.maskLastAxis < info.srcLastAxis : dropOutMode >= DROPOUT_MODE_BIT_ALIGN;
  mtsim::filter("DropOut", dst, src, mask, info, bits, [factor = 1 / keepProb](T value, bool kept) {
    return static_cast<T>(kept ? static_cast<float>(value) * factor : 0.0f);
  });
}
template <typename T, bool isInitBitMode = false, uint32_t dropOutMode = 0>
void DropOut(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& mask,
             const LocalTensor<uint8_t>&, const float keepProb, const DropOutShapeInfo& info) {
  DropOut<T, isInitBitMode, dropOutMode>(dst, src, mask, keepProb, info);
}

}  // namespace AscendC
