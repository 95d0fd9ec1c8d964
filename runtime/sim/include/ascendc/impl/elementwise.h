// Elementwise instructions over checked operands, in the count form and the repeat form.
#pragma once

#include "lanes.h"
#include "mask.h"

namespace mtsim {

template <typename T, typename Operation>
void apply(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t count, Operation operation) {
  const Instruction instruction(name, PIPE_V, Flow::Lanes);
  T* out = elements(dst, count, name, "dst");
  const T* in = elements(src, count, name, "src");
  map_lanes(out, static_cast<uint32_t>(count), operation, in);
}

template <typename T, typename Operation>
void apply(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
           int32_t count, Operation operation) {
  const Instruction instruction(name, PIPE_V, Flow::Lanes);
  T* out = elements(dst, count, name, "dst");
  const T* left = elements(src0, count, name, "src0");
  const T* right = elements(src1, count, name, "src1");
  map_lanes(out, static_cast<uint32_t>(count), operation, left, right);
}

template <typename T, typename Operation>
void apply(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, const Lanes& lanes,
           const AscendC::UnaryRepeatParams& params, Operation operation) {
  const Instruction instruction(name, PIPE_V, Flow::Lanes);
  const auto out = strided(dst, lanes, params.dstBlkStride, params.dstRepStride, name, "dst");
  const auto in = strided(src, lanes, params.srcBlkStride, params.srcRepStride, name, "src");
  for_lanes(lanes, per_repeat<T>, [&](uint32_t repeat, uint32_t lane) {
    out.at(repeat, lane) = static_cast<T>(operation(static_cast<Wide<T>>(in.at(repeat, lane))));
  });
}

template <typename T, typename Operation>
void apply(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
           const Lanes& lanes, const AscendC::BinaryRepeatParams& params, Operation operation) {
  const Instruction instruction(name, PIPE_V, Flow::Lanes);
  const auto out = strided(dst, lanes, params.dstBlkStride, params.dstRepStride, name, "dst");
  const auto left = strided(src0, lanes, params.src0BlkStride, params.src0RepStride, name, "src0");
  const auto right = strided(src1, lanes, params.src1BlkStride, params.src1RepStride, name, "src1");
  for_lanes(lanes, per_repeat<T>, [&](uint32_t repeat, uint32_t lane) {
    out.at(repeat, lane) = static_cast<T>(
        operation(static_cast<Wide<T>>(left.at(repeat, lane)), static_cast<Wide<T>>(right.at(repeat, lane))));
  });
}

}  // namespace mtsim
