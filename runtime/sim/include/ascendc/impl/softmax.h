// Softmax over the rows of a matrix in local memory, whole or in parts, and its gradient.
#pragma once

#include "rows.h"

namespace mtsim {

template <typename T>
void softmax_grad(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                  const Rows& rows, bool only_sums) {
  const Instruction instruction(name, PIPE_V, Flow::Uses);
  const T* slopes = elements_in_range(grad, rows.size(), name, "grad");
  const T* values = elements_in_range(src, rows.size(), name, "src");
  for (uint32_t row = 0; kChecked && row < rows.count; ++row) {
    touch_elements(slopes + uint64_t{row} * rows.width, rows.used, name, "grad", MTSIM_READS);
    touch_elements(values + uint64_t{row} * rows.width, rows.used, name, "src", MTSIM_READS);
  }
  const uint32_t out_width = only_sums ? kBlock / sizeof(T) : rows.width;
  T* out = elements(dst, int64_t{rows.count} * out_width, name, "dst");
  std::vector<float> products(rows.used);
  for (uint32_t row = 0; row < rows.count; ++row) {
    const uint64_t at = uint64_t{row} * rows.width;
    for (uint32_t i = 0; i < rows.used; ++i)
      products[i] = static_cast<float>(slopes[at + i]) * static_cast<float>(values[at + i]);
    const float sum = tree_sum(products.data(), rows.used);
    T* to = out + uint64_t{row} * out_width;
    for (uint32_t i = 0; i < out_width; ++i) {
      const bool counts = only_sums || i < rows.used;
      to[i] = static_cast<T>(only_sums ? sum
                             : counts  ? (static_cast<float>(slopes[at + i]) - sum) * static_cast<float>(values[at + i])
                                       : 0.0f);
    }
  }
}

}  // namespace mtsim

namespace AscendC {

/// Whether a row's sum and maximum fill 32 bytes, or are one element beside the next row's.
enum class SoftmaxMode { SOFTMAX_NORMAL, SOFTMAX_OUTPUT_WITHOUT_BRC };

struct SoftmaxConfig {
  bool isCheckTiling = true;
  uint32_t oriSrcM = 0;
  uint32_t oriSrcK = 0;
  SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};
constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG{};

/// Softmax of each row; a row's sum and maximum fill its 32 bytes of sumTensor and maxTensor.
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename U>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<U>& sumTensor, const LocalTensor<U>& maxTensor,
             const LocalTensor<T>& src, const SoftMaxTiling& tiling = {}, const SoftMaxShapeInfo& shape = {}) {
  static_assert(!isDataFormatNZ, "SoftMax: the NZ format is not simulated");
  const mtsim::Instruction instruction("SoftMax", PIPE_V, mtsim::Flow::Uses);
  const auto rows = mtsim::Rows::of(src, shape, tiling, "SoftMax");
  const mtsim::PerRow<U> sums(sumTensor, rows.count, "SoftMax", "sumTensor");
  const mtsim::PerRow<U> peaks(maxTensor, rows.count, "SoftMax", "maxTensor");
  mtsim::for_rows("SoftMax", dst, src, rows, [&](uint32_t row, std::vector<float>& values) {
    const float peak = mtsim::largest(values);
    const float sum = mtsim::exponentiate(values, peak);
    for (float& value : values) value /= sum;
    sums.set(row, sum);
    peaks.set(row, peak);
  });
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename U>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<U>& sumTensor, const LocalTensor<U>& maxTensor,
             const LocalTensor<T>& src, const LocalTensor<uint8_t>&, const SoftMaxTiling& tiling,
             const SoftMaxShapeInfo& shape = {}) {
  SoftMax<T, isReuseSource, isBasicBlock, isDataFormatNZ, config>(dst, sumTensor, maxTensor, src, tiling, shape);
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
             const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {}) {
  static_assert(!isDataFormatNZ, "SoftMax: the NZ format is not simulated");
  const mtsim::Instruction instruction("SoftMax", PIPE_V, mtsim::Flow::Uses);
  const auto rows = mtsim::Rows::of(src, shape, tiling, "SoftMax");
  mtsim::for_rows("SoftMax", dst, src, rows, [&](uint32_t, std::vector<float>& values) {
    const float sum = mtsim::exponentiate(values, mtsim::largest(values));
    for (float& value : values) value /= sum;
  });
}

/// exp(src - max) / sum with sums and maxima already known.
template <typename T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false,
          const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename U>
void SimpleSoftMax(const LocalTensor<T>& dst, const LocalTensor<U>& inSumTensor, const LocalTensor<U>& inMaxTensor,
                   const LocalTensor<T>& src, const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {}) {
  const mtsim::Instruction instruction("SimpleSoftMax", PIPE_V, mtsim::Flow::Uses);
  const auto rows = mtsim::Rows::of(src, shape, tiling, "SimpleSoftMax");
  const mtsim::PerRow<U> sums(inSumTensor, rows.count, "SimpleSoftMax", "inSumTensor");
  const mtsim::PerRow<U> peaks(inMaxTensor, rows.count, "SimpleSoftMax", "inMaxTensor");
  mtsim::for_rows("SimpleSoftMax", dst, src, rows, [&](uint32_t row, std::vector<float>& values) {
    for (float& value : values) value = std::exp(value - peaks.get(row)) / sums.get(row);
  });
}

/// A step of attention over parts of a row: exponentials without division; with isUpdate, sums and maxima go on from
/// the parts before, and expMax is the factor by which what was accumulated shrinks.
template <typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename U>
void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<U>& expSumTensor, const LocalTensor<U>& maxTensor,
                    const LocalTensor<T>& src, const LocalTensor<T>& expMaxTensor,
                    const LocalTensor<U>& inExpSumTensor, const LocalTensor<U>& inMaxTensor,
                    const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {}) {
  constexpr const char* kName = "SoftmaxFlashV2";
  constexpr bool kPacked = config.mode == SoftmaxMode::SOFTMAX_OUTPUT_WITHOUT_BRC;
  const mtsim::Instruction instruction(kName, PIPE_V, mtsim::Flow::Uses);
  const auto rows = mtsim::Rows::of(src, shape, tiling, kName);
  const mtsim::PerRow<U> sums(expSumTensor, rows.count, kName, "expSumTensor", kPacked);
  const mtsim::PerRow<U> peaks(maxTensor, rows.count, kName, "maxTensor", kPacked);
  const auto pass = [&](auto&& start) {
    mtsim::for_rows(kName, dst, src, rows, [&](uint32_t row, std::vector<float>& values) {
      const auto [before, old_peak] = start(row);
      float peak = mtsim::largest(values);
      peak = isUpdate && old_peak > peak ? old_peak : peak;
      const float factor = isUpdate ? std::exp(old_peak - peak) : 0;
      const float sum = mtsim::exponentiate(values, peak) + factor * before;
      if constexpr (isUpdate) mtsim::PerRow<T>(expMaxTensor, rows.count, kName, "expMaxTensor", kPacked).set(row, factor);
      sums.set(row, sum);
      peaks.set(row, peak);
    });
  };
  if constexpr (isUpdate) {
    const mtsim::PerRow<U> old_sums(inExpSumTensor, rows.count, kName, "inExpSumTensor", kPacked);
    const mtsim::PerRow<U> old_peaks(inMaxTensor, rows.count, kName, "inMaxTensor", kPacked);
    pass([&](uint32_t row) { return std::pair<float, float>(old_sums.get(row), old_peaks.get(row)); });
  } else {
    pass([](uint32_t) { return std::pair<float, float>(0, 0); });
  }
}

template <typename T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, typename U>
void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<U>& expSumTensor, const LocalTensor<U>& maxTensor,
                    const LocalTensor<T>& src, const LocalTensor<T>& expMaxTensor,
                    const LocalTensor<U>& inExpSumTensor, const LocalTensor<U>& inMaxTensor,
                    const LocalTensor<uint8_t>&, const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {}) {
  SoftmaxFlashV2<T, isUpdate, isReuseSource, isBasicBlock, isDataFormatNZ, config>(
      dst, expSumTensor, maxTensor, src, expMaxTensor, inExpSumTensor, inMaxTensor, tiling, shape);
}

/// Rows whose maximum has the bits `from` become `to`; returns whether there was one.
template <typename T1, typename T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
bool AdjustSoftMaxRes(const LocalTensor<T1>& softMaxRes, const LocalTensor<T2>& maxTensor, const uint32_t from,
                      const T1 to, const SoftMaxShapeInfo& softmaxShapeInfo) {
  static_assert(!isDataFormatNZ, "AdjustSoftMaxRes: the NZ format is not simulated");
  constexpr const char* kName = "AdjustSoftMaxRes";
  const mtsim::Instruction instruction(kName, PIPE_V, mtsim::Flow::Uses);
  const auto rows = mtsim::Rows::of(softMaxRes, softmaxShapeInfo, {}, kName);
  const int64_t step = stepSizeMode != 0 ? stepSizeMode : int64_t{mtsim::kBlock} / int64_t{sizeof(T2)};
  const T2* peaks = mtsim::elements(maxTensor, rows.count * step, kName, "inMaxTensor");
  T1* out = mtsim::elements_in_range(softMaxRes, rows.size(), kName, "dst");
  bool found = false;
  for (uint32_t row = 0; row < rows.count; ++row) {
    if (mtsim::bits_of(peaks[row * step]) != static_cast<mtsim::Bits<T2>>(from)) continue;
    found = true;
    T1* first = out + uint64_t{row} * rows.width;
    mtsim::touch_elements(first, rows.width, kName, "dst", MTSIM_WRITES);
    for (uint32_t i = 0; i < rows.width; ++i) first[i] = to;
  }
  return found;
}

/// The sum of grad * src over each row, in every element of its 32 bytes.
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>
void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                      const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {}) {
  static_assert(!isDataFormatNZ, "SoftmaxGradFront: the NZ format is not simulated");
  mtsim::softmax_grad("SoftmaxGradFront", dst, grad, src, mtsim::Rows::of(src, shape, tiling, "SoftmaxGradFront"), true);
}
template <typename T, bool isBasicBlock = false, bool isDataFormatNZ = false>
void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                      const LocalTensor<uint8_t>&, const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {}) {
  SoftmaxGradFront<T, isBasicBlock, isDataFormatNZ>(dst, grad, src, tiling, shape);
}

/// (grad - the row's sum of grad * src) * src, or that sum where isFront.
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                 const SoftMaxTiling& tiling, bool isFront = false, const SoftMaxShapeInfo& shape = {}) {
  static_assert(!isDataFormatNZ, "SoftmaxGrad: the NZ format is not simulated");
  mtsim::softmax_grad("SoftmaxGrad", dst, grad, src, mtsim::Rows::of(src, shape, tiling, "SoftmaxGrad"), isFront);
}
template <typename T, bool isReuseSource = false, bool isDataFormatNZ = false>
void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                 const LocalTensor<uint8_t>&, const SoftMaxTiling& tiling, bool isFront = false,
                 const SoftMaxShapeInfo& shape = {}) {
  SoftmaxGrad<T, isReuseSource, isDataFormatNZ>(dst, grad, src, tiling, isFront, shape);
}

/// Tilings that a kernel makes for itself: the matrix, as all that results depend on.
inline SoftMaxTiling SoftMaxFlashV2TilingFunc(const SoftMaxShapeInfo& shape, uint32_t, uint32_t, uint32_t,
                                              bool = false, bool = false, bool = false, bool = false) {
  SoftMaxTiling tiling;
  tiling.srcM = shape.srcM;
  tiling.srcK = shape.srcK;
  tiling.srcSize = shape.srcM * shape.srcK;
  return tiling;
}
inline bool SoftMaxTilingFunc(uint32_t, const SoftMaxShapeInfo& shape, SoftMaxTiling& tiling, uint32_t = 0,
                              uint32_t = 0, bool = false, bool = false) {
  tiling = SoftMaxFlashV2TilingFunc(shape, 0, 0, 0);
  return true;
}

}  // namespace AscendC
