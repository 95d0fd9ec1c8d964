// Compare and Select: a bit an element, the first element in the lowest bit.
#pragma once

#include "elementwise.h"

namespace mtsim {

using AscendC::CMPMODE;
using AscendC::SELMODE;

template <typename T>
bool holds(CMPMODE mode, T left, T right) {
  switch (mode) {
    case CMPMODE::LT:
      return left < right;
    case CMPMODE::GT:
      return left > right;
    case CMPMODE::EQ:
      return left == right;
    case CMPMODE::LE:
      return left <= right;
    case CMPMODE::GE:
      return left >= right;
    default:
      return left != right;
  }
}

/// Only whole repeats are compared: a tail that does not fill 256 bytes keeps the bits it had.
template <typename D, typename T, typename Right>
void compare(const char* name, const LocalTensor<D>& dst, const LocalTensor<T>& src, CMPMODE mode, uint64_t count,
             Right&& right) {
  static_assert(one_of<D, uint8_t, int8_t>, "Compare writes bits into bytes");
  static_assert(one_of<T, half, float, int32_t>, "Compare exists for half, float, and int32_t with EQ");
  const uint64_t compared = align_down(count, per_repeat<T>);
  auto* bits = reinterpret_cast<uint8_t*>(aligned_bytes(dst, static_cast<int64_t>(compared / 8), name, "dst"));
  const T* left = elements(src, static_cast<int64_t>(compared), name, "src0");
  for (uint64_t i = 0; i < compared; i += 8) {
    uint8_t byte = 0;
    for (uint64_t bit = 0; bit < 8; ++bit)
      byte = static_cast<uint8_t>(byte | static_cast<uint8_t>(holds<Wide<T>>(mode, left[i + bit], right(i + bit))) << bit);
    bits[i / 8] = byte;
  }
}

template <typename T, typename M>
const uint8_t* selection_bits(const LocalTensor<M>& selection, SELMODE mode, uint64_t count) {
  // One repeat's bits serve every repeat in the first mode, in the others each element has its own.
  const uint64_t bits = mode == SELMODE::VSEL_CMPMASK_SPR ? per_repeat<T> : count;
  return reinterpret_cast<const uint8_t*>(checked_bytes(selection, static_cast<int64_t>((bits + 7) / 8), "Select", "selMask"));
}

template <typename T, typename Otherwise>
void select(T* out, const uint8_t* bits, SELMODE mode, const T* chosen, uint64_t count, Otherwise&& otherwise) {
  const bool repeated = mode == SELMODE::VSEL_CMPMASK_SPR;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bit = repeated ? i % per_repeat<T> : i;
    out[i] = bits[bit / 8] >> (bit % 8) & 1 ? chosen[i] : otherwise(i);
  }
}

}  // namespace mtsim

namespace AscendC {

template <typename T, typename D>
void Compare(const LocalTensor<D>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, uint32_t count) {
  const uint64_t compared = mtsim::align_down(count, mtsim::per_repeat<T>);
  const T* right = mtsim::elements(src1, static_cast<int64_t>(compared), "Compare", "src1");
  mtsim::compare("Compare", dst, src0, cmpMode, count, [right](uint64_t i) { return right[i]; });
}

template <typename T, typename D>
void CompareScalar(const LocalTensor<D>& dst, const LocalTensor<T>& src0, const mtsim::Scalar<T> scalar, CMPMODE cmpMode,
                   uint32_t count) {
  mtsim::compare("CompareScalar", dst, src0, cmpMode, count, [scalar](uint64_t) { return scalar; });
}

/// dst[i] = bit i of selMask ? src0[i] : src1[i].
template <typename T, typename M>
void Select(const LocalTensor<T>& dst, const LocalTensor<M>& selMask, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
            SELMODE selMode, uint32_t count) {
  static_assert(mtsim::one_of<T, half, float>, "Select exists for half and float on this chip");
  const T* other = mtsim::elements(src1, count, "Select", "src1");
  mtsim::select(mtsim::elements(dst, count, "Select", "dst"), mtsim::selection_bits<T>(selMask, selMode, count), selMode,
                mtsim::elements(src0, count, "Select", "src0"), count, [other](uint64_t i) { return other[i]; });
}

template <typename T, typename M>
void Select(const LocalTensor<T>& dst, const LocalTensor<M>& selMask, const LocalTensor<T>& src0, mtsim::Scalar<T> src1,
            SELMODE selMode, uint32_t count) {
  static_assert(mtsim::one_of<T, half, float>, "Select exists for half and float on this chip");
  mtsim::select(mtsim::elements(dst, count, "Select", "dst"), mtsim::selection_bits<T>(selMask, selMode, count), selMode,
                mtsim::elements(src0, count, "Select", "src0"), count, [src1](uint64_t) { return src1; });
}

}  // namespace AscendC
