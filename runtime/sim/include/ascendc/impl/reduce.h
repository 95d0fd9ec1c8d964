// Reductions: over a count of elements, over each repeat, and over each 32-byte block.
#pragma once

#include "elementwise.h"

namespace mtsim {

/// Sums pairwise, halving until one is left, as the chip's adders do; `values` is overwritten.
inline float tree_sum(float* values, uint32_t count) {
  while (count > 1) {
    const uint32_t half_count = count / 2;
    for (uint32_t i = 0; i < half_count; ++i) values[i] = values[2 * i] + values[2 * i + 1];
    if (count % 2) values[half_count] = values[count - 1];
    count = half_count + count % 2;
  }
  return values[0];
}

/// Repeat by repeat into a vector of partial sums of T, then over that vector, until one value is left.
template <typename T>
T sum_by_repeats(const T* data, uint32_t count) {
  float lanes[per_repeat<T>];
  std::array<T, per_repeat<T>> partial;  // one repeat of partial sums at a time
  T total = T(0.0f);
  uint32_t filled = 0;
  const auto fold = [&](const T* values, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) lanes[i] = static_cast<float>(values[i]);
    return static_cast<T>(tree_sum(lanes, n));
  };
  for (uint32_t from = 0; from < count; from += per_repeat<T>) {
    partial[filled++] = fold(data + from, count - from < per_repeat<T> ? count - from : per_repeat<T>);
    if (filled == per_repeat<T> || from + per_repeat<T> >= count) {
      total = static_cast<T>(static_cast<float>(total) + static_cast<float>(fold(partial.data(), filled)));
      filled = 0;
    }
  }
  return total;
}

struct Greater {
  template <typename T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Less {
  template <typename T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};

/// The lowest index of the best value.
template <typename T, typename Better>
uint32_t best_index(const T* data, uint32_t count, Better better) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < count; ++i)
    if (better(static_cast<float>(data[i]), static_cast<float>(data[best]))) best = i;
  return best;
}

template <typename T>
T index_bits(uint32_t index) {
  return value_of<T>(index);
}

/// The reduced value, and after it the index as bits of T where it is asked for.
template <typename T, typename Better>
void reduce_best(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t count, bool index,
                 Better better) {
  static_assert(one_of<T, half, float>, "reductions exist for half and float on this chip");
  if (count <= 0) return;
  const T* in = elements(src, count, name, "src");
  T* out = checked_bytes(dst, static_cast<int64_t>(sizeof(T)) * (index ? 2 : 1), name, "dst");
  const uint32_t best = best_index(in, static_cast<uint32_t>(count), better);
  const T value = in[best];
  core().reduced.best = bits_of(value), core().reduced.index = best;
  out[0] = value;
  if (index) out[1] = index_bits<T>(best);
}

/// Calls `reduce(lane values, their lanes, count)` for the active lanes of each group of `group` lanes.
template <typename T, typename Reduce>
void for_groups(const Lanes& lanes, const Strided<T>& in, uint32_t group, Reduce&& reduce) {
  for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat)
    for (uint32_t first = 0; first < per_repeat<T>; first += group) {
      T values[per_repeat<T>];
      uint32_t where[per_repeat<T>];
      uint32_t count = 0;
      for (uint32_t lane = first; lane < first + group; ++lane)
        if (lanes.of(repeat)[lane]) {
          values[count] = in.at(repeat, lane);
          where[count++] = lane;
        }
      reduce(repeat, first / group, values, where, count);
    }
}

template <typename T, typename M>
void whole_sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, int32_t repeats, int32_t dst_stride,
               int32_t block, int32_t repeat_stride, bool set_mask) {
  const Lanes active = lanes(mask, static_cast<uint32_t>(repeats), per_repeat<T>, set_mask, "WholeReduceSum");
  const auto in = strided(src, active, block, repeat_stride, "WholeReduceSum", "src");
  const int64_t results = active.repeats == 0 ? 0 : (active.repeats - 1) * int64_t{dst_stride} + 1;
  T* out = checked_bytes(dst, results * static_cast<int64_t>(sizeof(T)), "WholeReduceSum", "dst");
  for_groups(active, in, per_repeat<T>, [&](uint32_t repeat, uint32_t, const T* values, const uint32_t*,
      uint32_t count) {
    out[int64_t{repeat} * dst_stride] = sum_by_repeats(values, count);
  });
}

template <typename T, typename M, typename Better>
void whole_best(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, M mask, int32_t repeats,
                int32_t dst_stride, int32_t block, int32_t repeat_stride, AscendC::ReduceOrder order, bool set_mask,
                Better better) {
  using AscendC::ReduceOrder;
  const bool value = order != ReduceOrder::ORDER_ONLY_INDEX;
  const bool index = order != ReduceOrder::ORDER_ONLY_VALUE;
  const int64_t width = int64_t{value} + int64_t{index};
  const int64_t value_at = order == ReduceOrder::ORDER_INDEX_VALUE ? 1 : 0;
  const int64_t index_at = order == ReduceOrder::ORDER_VALUE_INDEX ? 1 : 0;
  const Lanes active = lanes(mask, static_cast<uint32_t>(repeats), per_repeat<T>, set_mask, name);
  const auto in = strided(src, active, block, repeat_stride, name, "src");
  const int64_t results = active.repeats == 0 ? 0 : ((active.repeats - 1) * int64_t{dst_stride} + 1) * width;
  T* out = checked_bytes(dst, results * static_cast<int64_t>(sizeof(T)), name, "dst");
  for_groups(active, in, per_repeat<T>, [&](uint32_t repeat, uint32_t, const T* values, const uint32_t* where,
      uint32_t count) {
    if (count == 0) return;
    const uint32_t best = best_index(values, count, better);
    T* pair = out + int64_t{repeat} * dst_stride * width;
    if (value) pair[value_at] = values[best];
    if (index) pair[index_at] = index_bits<T>(where[best]);
  });
}

/// One result a block, eight a repeat; repeats of results lie `dst_stride` times eight results apart.
template <typename T, typename M, typename Fold>
void block_reduce(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t repeats, M mask,
                  int32_t dst_stride, int32_t block, int32_t repeat_stride, bool set_mask, Fold fold) {
  constexpr uint32_t kBlocks = kRepeat / kBlock;
  const Lanes active = lanes(mask, static_cast<uint32_t>(repeats), per_repeat<T>, set_mask, name);
  const auto in = strided(src, active, block, repeat_stride, name, "src");
  const int64_t results = active.repeats == 0 ? 0 : (active.repeats - 1) * int64_t{dst_stride} * kBlocks + kBlocks;
  T* out = checked_bytes(dst, results * static_cast<int64_t>(sizeof(T)), name, "dst");
  for_groups(active, in, kBlock / sizeof(T), [&](uint32_t repeat, uint32_t at, const T* values, const uint32_t*,
      uint32_t count) {
    if (count > 0) out[(int64_t{repeat} * dst_stride) * kBlocks + at] = fold(values, count);
  });
}

}  // namespace mtsim

namespace AscendC {

template <typename T, bool isSetMask = true>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t count) {
  static_assert(mtsim::one_of<T, half, float>, "ReduceSum exists for half and float on this chip");
  if (count <= 0) return;
  const T* in = mtsim::elements(src, count, "ReduceSum", "src");
  const T sum = mtsim::sum_by_repeats(in, static_cast<uint32_t>(count));
  mtsim::core().reduced.sum = mtsim::bits_of(sum);
  *mtsim::checked_bytes(dst, sizeof(T), "ReduceSum", "dst") = sum;
}
template <typename T>
void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t count,
    bool calIndex = false) {
  mtsim::reduce_best("ReduceMax", dst, src, count, calIndex, mtsim::Greater{});
}
template <typename T>
void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>&, const int32_t count,
    bool calIndex = false) {
  mtsim::reduce_best("ReduceMin", dst, src, count, calIndex, mtsim::Less{});
}

template <typename T, bool isSetMask = true, typename M = int32_t>
void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const M mask, const int32_t repeatTimes,
                    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride) {
  mtsim::whole_sum(dst, src, mask, repeatTimes, dstRepStride, srcBlkStride, srcRepStride, isSetMask);
}
template <typename T, bool isSetMask = true, typename M = int32_t>
void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const M mask, const int32_t repeatTimes,
                    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX) {
  mtsim::whole_best("WholeReduceMax", dst, src, mask, repeatTimes, dstRepStride, srcBlkStride, srcRepStride, order,
      isSetMask,
                    mtsim::Greater{});
}
template <typename T, bool isSetMask = true, typename M = int32_t>
void WholeReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const M mask, const int32_t repeatTimes,
                    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX) {
  mtsim::whole_best("WholeReduceMin", dst, src, mask, repeatTimes, dstRepStride, srcBlkStride, srcRepStride, order,
      isSetMask,
                    mtsim::Less{});
}

enum class ReduceType : uint8_t { SUM, MAX, MIN };

/// The three of them under their name since CANN 9.
template <ReduceType type, typename T, typename U = T, bool isSetMask = true, typename M = int32_t>
void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<U>& src, const M mask, const int32_t repeatTimes,
                  const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
                  ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX) {
  static_assert(std::is_same_v<T, U>, "ReduceRepeat is simulated for results of the operand's type");
  if constexpr (type == ReduceType::SUM)
    WholeReduceSum<T, isSetMask>(dst, src, mask, repeatTimes, dstRepStride, srcBlkStride, srcRepStride);
  else if constexpr (type == ReduceType::MAX)
    WholeReduceMax<T, isSetMask>(dst, src, mask, repeatTimes, dstRepStride, srcBlkStride, srcRepStride, order);
  else
    WholeReduceMin<T, isSetMask>(dst, src, mask, repeatTimes, dstRepStride, srcBlkStride, srcRepStride, order);
}

template <typename T, bool isSetMask = true, typename M = int32_t>
void BlockReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTimes, const M mask,
                    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride) {
  mtsim::block_reduce("BlockReduceSum", dst, src, repeatTimes, mask, dstRepStride, srcBlkStride, srcRepStride,
      isSetMask,
                      [](const T* values, uint32_t count) { return mtsim::sum_by_repeats(values, count); });
}
template <typename T, bool isSetMask = true, typename M = int32_t>
void BlockReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTimes, const M mask,
                    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride) {
  mtsim::block_reduce("BlockReduceMax", dst, src, repeatTimes, mask, dstRepStride, srcBlkStride, srcRepStride,
      isSetMask,
                      [](const T* values, uint32_t count) { return values[mtsim::best_index(values, count,
                          mtsim::Greater{})]; });
}
template <typename T, bool isSetMask = true, typename M = int32_t>
void BlockReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeatTimes, const M mask,
                    const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride) {
  mtsim::block_reduce("BlockReduceMin", dst, src, repeatTimes, mask, dstRepStride, srcBlkStride, srcRepStride,
      isSetMask,
                      [](const T* values, uint32_t count) { return values[mtsim::best_index(values, count,
                          mtsim::Less{})]; });
}

}  // namespace AscendC
