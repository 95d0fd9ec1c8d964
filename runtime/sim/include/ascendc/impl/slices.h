// DataCopy of slices: parts of each axis of a tensor in global memory, or in the unified buffer, at once.
#pragma once

#include "copy.h"

namespace AscendC {

/// Of an axis of shapeValue elements those from startIndex to endIndex, and of these, pieces with a gap of `stride`
/// elements: of burstLen blocks of 32 bytes on the last axis, which comes first in a list, of one element on others.
struct SliceInfo {
  SliceInfo() = default;
  SliceInfo(uint32_t start, uint32_t end, uint32_t gap, uint32_t length, uint32_t shape)
      : startIndex(start), endIndex(end), stride(gap), burstLen(length), shapeValue(shape) {}
  uint32_t startIndex = 0;
  uint32_t endIndex = 0;
  uint32_t stride = 0;
  uint32_t burstLen = 0;
  uint32_t shapeValue = 0;
};

}  // namespace AscendC

namespace mtsim {

constexpr uint32_t kSliceAxes = 8;

/// Where the pieces of a slice begin, in elements, in the order of the list's axes from the last to the first.
template <typename T>
std::vector<uint64_t> slice_starts(const AscendC::SliceInfo slices[], uint32_t axes) {
  if (axes == 0 || axes > kSliceAxes)
    fault(kVectorCoreException, "DataCopy: slices of %u axes, there are 1 to %u", axes, kSliceAxes);
  std::vector<uint64_t> starts{0};
  for (uint32_t axis = axes; axis-- > 0;) {
    const AscendC::SliceInfo& slice = slices[axis];
    const uint64_t length = axis == 0 ? uint64_t{slice.burstLen} * kBlock / sizeof(T) : 1;
    const uint64_t step = length + slice.stride;
    if (length == 0 || slice.endIndex < slice.startIndex || slice.endIndex >= slice.shapeValue ||
        (uint64_t{slice.endIndex} - slice.startIndex + 1 + slice.stride) % step != 0)
      fault(kVectorCoreException,
            "DataCopy: axis %u of a slice, elements %u to %u of %u, is not made of whole pieces of %llu with gaps of %u",
            axis, slice.startIndex, slice.endIndex, slice.shapeValue, static_cast<unsigned long long>(length),
            slice.stride);
    std::vector<uint64_t> inner;
    for (const uint64_t start : starts)
      for (uint64_t at = slice.startIndex; at <= slice.endIndex; at += step)
        inner.push_back(start * slice.shapeValue + at);
    starts = inner;
  }
  return starts;
}

/// Calls move(where a piece goes to, where it comes from) for each piece, in elements, and as parameters of a copy.
template <typename T, typename Move>
void for_slices(const AscendC::SliceInfo to[], const AscendC::SliceInfo from[], uint32_t axes, Move&& move) {
  static_assert(sizeof(T) <= 4, "slices exist for types of 1, 2 and 4 bytes");
  const std::vector<uint64_t> targets = slice_starts<T>(to, axes), sources = slice_starts<T>(from, axes);
  if (targets.size() != sources.size() || to[0].burstLen != from[0].burstLen)
    fault(kVectorCoreException, "DataCopy: the slices have %zu pieces of %u blocks and %zu of %u", sources.size(),
          from[0].burstLen, targets.size(), to[0].burstLen);
  const auto bytes = static_cast<uint32_t>(from[0].burstLen * kBlock);
  for (size_t i = 0; i < targets.size(); ++i) move(targets[i], sources[i], AscendC::DataCopyExtParams(1, bytes, 0, 0, 0));
}

}  // namespace mtsim

namespace AscendC {

template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dstSliceInfo[],
              const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1) {
  mtsim::for_slices<T>(dstSliceInfo, srcSliceInfo, dimValue, [&](uint64_t to, uint64_t from, const auto& piece) {
    DataCopyPad(dst[to], src[from], piece, DataCopyPadExtParams<T>());
  });
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dstSliceInfo[],
              const SliceInfo srcSliceInfo[], const uint32_t dimValue = 1) {
  mtsim::for_slices<T>(dstSliceInfo, srcSliceInfo, dimValue,
                       [&](uint64_t to, uint64_t from, const auto& piece) { DataCopyPad(dst[to], src[from], piece); });
}

}  // namespace AscendC
