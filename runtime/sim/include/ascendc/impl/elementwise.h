// The loops of elementwise instructions. Operations compute in `Wide<T>`: float for the 16-bit floats, else T itself.
#pragma once

#include <type_traits>

#include "mask.h"

namespace mtsim {

template <typename T>
using Wide = std::conditional_t<one_of<T, half, bfloat16_t>, float, T>;

// An instruction reads an element before it writes it, and operands are either the same or apart: the loops
// carry no dependence, which the compiler cannot know.
#define MTSIM_INDEPENDENT _Pragma("GCC ivdep")

template <typename T, typename Operation>
void apply(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t count, Operation operation) {
  T* out = elements(dst, count, name, "dst");
  const T* in = elements(src, count, name, "src");
  MTSIM_INDEPENDENT
  for (int32_t i = 0; i < count; ++i) out[i] = static_cast<T>(operation(static_cast<Wide<T>>(in[i])));
}

template <typename T, typename Operation>
void apply(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
           int32_t count, Operation operation) {
  T* out = elements(dst, count, name, "dst");
  const T* left = elements(src0, count, name, "src0");
  const T* right = elements(src1, count, name, "src1");
  MTSIM_INDEPENDENT
  for (int32_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(operation(static_cast<Wide<T>>(left[i]), static_cast<Wide<T>>(right[i])));
}

template <typename T, typename Operation>
void apply(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, const Lanes& lanes,
           const AscendC::UnaryRepeatParams& params, Operation operation) {
  const auto out = strided(dst, lanes, params.dstBlkStride, params.dstRepStride, name, "dst");
  const auto in = strided(src, lanes, params.srcBlkStride, params.srcRepStride, name, "src");
  for_lanes(lanes, per_repeat<T>, [&](uint32_t repeat, uint32_t lane) {
    out.at(repeat, lane) = static_cast<T>(operation(static_cast<Wide<T>>(in.at(repeat, lane))));
  });
}

template <typename T, typename Operation>
void apply(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
           const Lanes& lanes, const AscendC::BinaryRepeatParams& params, Operation operation) {
  const auto out = strided(dst, lanes, params.dstBlkStride, params.dstRepStride, name, "dst");
  const auto left = strided(src0, lanes, params.src0BlkStride, params.src0RepStride, name, "src0");
  const auto right = strided(src1, lanes, params.src1BlkStride, params.src1RepStride, name, "src1");
  for_lanes(lanes, per_repeat<T>, [&](uint32_t repeat, uint32_t lane) {
    out.at(repeat, lane) = static_cast<T>(
        operation(static_cast<Wide<T>>(left.at(repeat, lane)), static_cast<Wide<T>>(right.at(repeat, lane))));
  });
}

}  // namespace mtsim
