// ReduceSum, ReduceMax and ReduceMin over repeats with a mask, and sums of pairs.
#pragma once

#include "reduce.h"

namespace mtsim {

/// All active lanes of all repeats to one value; the index of the best is counted from the start of src.
template <typename T, typename M, typename Better>
void reduce_best_of_repeats(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask,
                            int32_t repeats, int32_t repeat_stride, bool index, Better better) {
  static_assert(one_of<T, half, float>, "reductions exist for half and float on this chip");
  const Lanes active = lanes(mask, static_cast<uint32_t>(repeats), per_repeat<T>, true, name);
  const auto in = strided(src, active, 1, repeat_stride, name, "src");
  T* out = checked_bytes(dst, static_cast<int64_t>(sizeof(T)) * (index ? 2 : 1), name, "dst");
  bool found = false;
  T best{};
  uint32_t where = 0;
  for_lanes(active, per_repeat<T>, [&](uint32_t repeat, uint32_t lane) {
    const T value = in.at(repeat, lane);
    if (found && !better(static_cast<float>(value), static_cast<float>(best))) return;
    found = true;
    best = value;
    where = repeat * static_cast<uint32_t>(repeat_stride) * (kBlock / sizeof(T)) + lane;
  });
  if (!found) return;
  out[0] = best;
  if (index) out[1] = index_bits<T>(where);
}

template <typename T, typename M>
void reduce_sum_of_repeats(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, int32_t repeats,
                           int32_t repeat_stride) {
  const Lanes active = lanes(mask, static_cast<uint32_t>(repeats), per_repeat<T>, true, "ReduceSum");
  const auto in = strided(src, active, 1, repeat_stride, "ReduceSum", "src");
  T* out = checked_bytes(dst, sizeof(T), "ReduceSum", "dst");
  std::array<T, 256> partial;
  uint32_t filled = 0;
  for_groups(active, in, per_repeat<T>, [&](uint32_t, uint32_t, const T* values, const uint32_t*, uint32_t count) {
    if (count > 0) partial[filled++] = sum_by_repeats(values, count);
  });
  if (filled > 0) *out = sum_by_repeats(partial.data(), filled);
}

template <typename T, typename M>
void pair_sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t repeats, M mask, int32_t dst_stride,
              int32_t block, int32_t repeat_stride, bool set_mask) {
  const Lanes active = lanes(mask, static_cast<uint32_t>(repeats), per_repeat<T>, set_mask, "PairReduceSum");
  const auto in = strided(src, active, block, repeat_stride, "PairReduceSum", "src");
  constexpr int64_t kPairs = per_repeat<T> / 2;
  const int64_t results = active.repeats == 0 ? 0 : (active.repeats - 1) * int64_t{dst_stride} * kPairs + kPairs;
  T* out = elements(dst, results, "PairReduceSum", "dst");
  for_groups(active, in, 2, [&](uint32_t repeat, uint32_t at, const T* values, const uint32_t*, uint32_t count) {
    if (count > 0) out[int64_t{repeat} * dst_stride * kPairs + at] = sum_by_repeats(values, count);
  });
}

}  // namespace mtsim

namespace AscendC {

template <typename T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t mask,
               const int32_t repeatTimes, const int32_t srcRepStride) {
  mtsim::reduce_sum_of_repeats(dst, src, static_cast<uint64_t>(mask), repeatTimes, srcRepStride);
}
template <typename T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const uint64_t mask[],
               const int32_t repeatTimes, const int32_t srcRepStride) {
  mtsim::reduce_sum_of_repeats(dst, src, mask, repeatTimes, srcRepStride);
}

#define MTSIM_REDUCE(NAME, BETTER)                                                                                    \
  template <typename T>                                                                                               \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t mask,          \
            const int32_t repeatTimes, const int32_t srcRepStride, bool calIndex = false) {                           \
    mtsim::reduce_best_of_repeats(#NAME, dst, src, static_cast<uint64_t>(mask), repeatTimes, srcRepStride, calIndex,  \
                                  mtsim::BETTER{});                                                                   \
  }                                                                                                                   \
  template <typename T>                                                                                               \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const uint64_t mask[],       \
            const int32_t repeatTimes, const int32_t srcRepStride, bool calIndex = false) {                           \
    mtsim::reduce_best_of_repeats(#NAME, dst, src, mask, repeatTimes, srcRepStride, calIndex, mtsim::BETTER{});       \
  }

MTSIM_REDUCE(ReduceMax, Greater)
MTSIM_REDUCE(ReduceMin, Less)
#undef MTSIM_REDUCE

/// dst[i] = src[2i] + src[2i + 1] within each repeat.
template <typename T, bool isSetMask = true, typename M = int32_t>
void PairReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTimes, const M mask,
                   const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride) {
  mtsim::pair_sum(dst, src, repeatTimes, mask, dstRepStride, srcBlkStride, srcRepStride, isSetMask);
}
template <typename T, bool isSetMask = true>
void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTimes,
                     const int32_t mask, const int32_t, const int32_t srcBlkStride, const int32_t dstRepStride,
                     const int32_t srcRepStride) {
  mtsim::whole_sum(dst, src, mask, repeatTimes, dstRepStride, srcBlkStride, srcRepStride, isSetMask);
}

}  // namespace AscendC
