// CumSum and TopK: over the rows of a matrix.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "elementwise.h"

namespace AscendC {

struct CumSumConfig {
  bool isLastAxis = true;
  bool isReuseSource = false;
  bool outputLastRow = false;
};
constexpr CumSumConfig defaultCumSumConfig{};

/// `outter` rows of `inner` elements.
struct CumSumInfo {
  uint32_t outter = 0;
  uint32_t inner = 0;
};

/// Sums of the elements so far, along the rows (isLastAxis) or down the columns, in float. With outputLastRow, the last
/// row of the result goes to lastRowTensor too.
template <typename T, const CumSumConfig& config = defaultCumSumConfig>
void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow, const LocalTensor<T>& src,
            const CumSumInfo& info) {
  static_assert(mtsim::one_of<T, half, float>, "CumSum exists for half and float");
  const mtsim::Instruction instruction("CumSum", PIPE_V, mtsim::Flow::Uses);
  const uint32_t rows = info.outter, columns = info.inner;
  if (columns * sizeof(T) % mtsim::kBlock != 0)
    mtsim::fault(mtsim::kVectorCoreException, "CumSum: a row of %u elements is not a multiple of 32 bytes", columns);
  const T* in = mtsim::elements(src, int64_t{rows} * columns, "CumSum", "src");
  T* out = mtsim::elements(dst, int64_t{rows} * columns, "CumSum", "dst");
  std::vector<float> sums(std::max(rows, columns));
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t column = 0; column < columns; ++column) {
      float& sum = sums[config.isLastAxis ? row : column];
      out[uint64_t{row} * columns + column] = static_cast<T>(sum += static_cast<float>(in[uint64_t{row} * columns + column]));
    }
  if constexpr (config.outputLastRow) {
    T* last = mtsim::elements(lastRow, columns, "CumSum", "dstLastRow");
    if (rows > 0) std::copy_n(out + uint64_t{rows - 1} * columns, columns, last);
  }
}
template <typename T, const CumSumConfig& config = defaultCumSumConfig>
void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow, const LocalTensor<T>& src,
            const LocalTensor<uint8_t>&, const CumSumInfo& info) {
  CumSum<T, config>(dst, lastRow, src, info);
}

enum class TopKMode { TOPK_NORMAL, TOPK_NSMALL };

/// `outter` rows, `inner` elements apart, of which the first n count.
struct TopKInfo {
  int32_t outter = 1;
  int32_t inner = 0;
  int32_t n = 0;
};

}  // namespace AscendC

namespace mtsim {

/// The k largest or smallest of each row and where they were, in that order; of equal ones the first comes first. Rows of
/// results start at multiples of 32 bytes, in TOPK_NSMALL one behind the other.
template <bool given_indices, bool small, typename T>
void top_k(const LocalTensor<T>& values, const LocalTensor<int32_t>& indices, const LocalTensor<T>& src,
           const LocalTensor<int32_t>& src_indices, const LocalTensor<bool>* finished, int32_t k,
           const AscendC::TopKInfo& info, bool largest) {
  static_assert(one_of<T, half, float>, "TopK exists for half and float");
  const Instruction instruction("TopK", PIPE_V, Flow::Uses);
  if (k < 1 || k > info.n || info.n > info.inner)
    fault(kVectorCoreException, "TopK: k = %d of n = %d of inner = %d: 1 <= k <= n <= inner", k, info.n, info.inner);
  if (info.inner % 32 != 0 || (small && info.inner != 32))
    fault(kVectorCoreException, "TopK: inner is %d, it must be %s", info.inner, small ? "32" : "a multiple of 32");
  const int64_t value_step = small ? k : static_cast<int64_t>(align_up(static_cast<uint64_t>(k), kBlock / sizeof(T)));
  const int64_t index_step = small ? k : static_cast<int64_t>(align_up(static_cast<uint64_t>(k), kBlock / 4));
  const T* in = elements(src, int64_t{info.outter} * info.inner, "TopK", "src");
  const int32_t* names = given_indices ? elements(src_indices, small ? int64_t{info.outter} * info.inner : info.inner,
                                                  "TopK", "srcIndex") : nullptr;
  const bool* done = finished == nullptr ? nullptr : checked_bytes(*finished, info.outter, "TopK", "finish");
  T* out = elements(values, (info.outter - 1) * value_step + k, "TopK", "dstValue");
  int32_t* where = elements(indices, (info.outter - 1) * index_step + k, "TopK", "dstIndex");
  std::vector<int32_t> order(static_cast<size_t>(info.n));
  for (int32_t row = 0; row < info.outter; ++row) {
    const T* elements_of = in + int64_t{row} * info.inner;
    const int32_t* names_of = names == nullptr ? nullptr : names + (small ? int64_t{row} * info.inner : 0);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const auto first = static_cast<float>(elements_of[a]), second = static_cast<float>(elements_of[b]);
      return largest ? first > second : first < second;
    });
    for (int32_t i = 0; i < k; ++i) {
      const int32_t best = order[static_cast<size_t>(i)];
      out[row * value_step + i] = elements_of[best];
      where[row * index_step + i] = done != nullptr && done[row] ? info.n
                                    : names_of != nullptr        ? names_of[best]
                                                                 : best;
    }
  }
}

}  // namespace mtsim

namespace AscendC {

/// What the host's tiling function fills; the values come out without it.
struct TopkTiling {
  int32_t tmpLocalSize, allDataSize, innerDataSize, sortRepeat, mrgSortRepeat, kAlignFourBytes, kAlignTwoBytes,
      maskOffset, maskVreducev2FourBytes, maskVreducev2TwoBytes, mrgSortSrc1offset, mrgSortSrc2offset,
      mrgSortSrc3offset, mrgSortTwoQueueSrc1Offset, mrgFourQueueTailPara1, mrgFourQueueTailPara2, srcIndexOffset;
  uint32_t copyUbToUbBlockCount;
  int32_t topkMrgSrc1MaskSizeOffset, topkNSmallSrcIndexOffset;
  uint32_t vreduceValMask0, vreduceValMask1, vreduceIdxMask0, vreduceIdxMask1;
  uint16_t vreducehalfValMask0, vreducehalfValMask1, vreducehalfValMask2, vreducehalfValMask3, vreducehalfValMask4,
      vreducehalfValMask5, vreducehalfValMask6, vreducehalfValMask7;
};

template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL>
void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex, const LocalTensor<T>& src,
          const LocalTensor<int32_t>& srcIndex, const LocalTensor<bool>& finish, const int32_t k, const TopkTiling&,
          const TopKInfo& info, const bool isLargest = true) {
  mtsim::top_k<isInitIndex, topkMode == TopKMode::TOPK_NSMALL>(dstValue, dstIndex, src, srcIndex,
                                                               isHasfinish ? &finish : nullptr, k, info, isLargest);
}
template <typename T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL>
void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex, const LocalTensor<T>& src,
          const LocalTensor<int32_t>& srcIndex, const LocalTensor<bool>& finish, const LocalTensor<uint8_t>&,
          const int32_t k, const TopkTiling& tiling, const TopKInfo& info, const bool isLargest = true) {
  TopK<T, isInitIndex, isHasfinish, isReuseSrc, topkMode>(dstValue, dstIndex, src, srcIndex, finish, k, tiling, info,
                                                          isLargest);
}

}  // namespace AscendC
