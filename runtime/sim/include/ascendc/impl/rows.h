// Functions over the rows of a matrix in local memory: sums, means and normalisation, and what softmax.h needs of rows. The
// tiling structs are what the host's tiling functions fill; results here do not depend on them.
#pragma once

#include <cmath>
#include <vector>

#include "reduce.h"

namespace AscendC {

struct SoftMaxTiling {
  uint32_t srcM = 0, srcK = 0, srcSize = 0, outMaxM = 0, outMaxK = 0, outMaxSize = 0, splitM = 0, splitK = 0,
           splitSize = 0, reduceM = 0, reduceK = 0, reduceSize = 0, rangeM = 0, tailM = 0, tailSplitSize = 0,
           tailReduceSize = 0;
};

/// srcK columns lie in memory, oriSrcK of them count; 0 means all.
struct SoftMaxShapeInfo {
  uint32_t srcM = 0;
  uint32_t srcK = 0;
  uint32_t oriSrcM = 0;
  uint32_t oriSrcK = 0;
};

struct SumParams {
  uint32_t outter = 1;
  uint32_t inner = 0;
  uint32_t n = 0;
};
using MeanParams = SumParams;

struct RmsNormTiling {
  uint32_t bLength = 0, sLength = 0, hLength = 0, originalHLength = 0, reciprocalOfHLength = 0, mainBshLength = 0,
           mainBsLength = 0, mainBsLengthAlign = 0, loopRound = 0, inputTailPos = 0, tailBshLength = 0,
           tailBsLength = 0;
};

struct LayerNormTiling {
  uint32_t bLength = 0, sLength = 0, hLength = 0, originalHLength = 0, inputXSize = 0, meanVarSize = 0,
           numberOfTmpBuf = 0, meanTmpTensorPos = 0, meanTmpTensorSize = 0, varianceTmpTensorPos = 0,
           varianceTmpTensorSize = 0, tmpBufSize = 0, oneTmpSize = 0, firstTmpStartPos = 0, secondTmpStartPos = 0,
           thirdTmpStartPos = 0, loopRound = 0, inputRoundSize = 0, inputTailSize = 0, inputTailPos = 0,
           meanVarRoundSize = 0, meanVarTailSize = 0, meanVarTailPos = 0, bshCurLength = 0, bsCurLength = 0,
           lastDimValueBack = 0;
};

namespace Pattern::Reduce {
struct AR {};
struct RA {};
}  // namespace Pattern::Reduce

}  // namespace AscendC

namespace mtsim {

/// The rows of a source: its own shape where no shape was given.
struct Rows {
  uint32_t count;
  uint32_t width;  // of a row in memory
  uint32_t used;   // columns that count

  template <typename T>
  static Rows of(const LocalTensor<T>& src, const AscendC::SoftMaxShapeInfo& shape,
                 const AscendC::SoftMaxTiling& tiling, const char* name) {
    const uint32_t width = shape.srcK != 0 ? shape.srcK : src.columns() != 0 ? src.columns() : tiling.srcK;
    if (width == 0) fault(kVectorCoreException, "%s: neither the shape nor the tiling gives the length of a row", name);
    const bool shaped = shape.srcM == 0 && src.columns() != 0;
    const uint32_t count = shape.srcM != 0 ? shape.srcM
                           : shaped || tiling.srcM == 0 ? src.GetSize() / width
                                                        : tiling.srcM;
    return {count, width, shape.oriSrcK != 0 ? shape.oriSrcK : width};
  }
  int64_t size() const { return int64_t{count} * width; }
};

/// A row's value: in every element of its 32 bytes, or in one element where `packed`.
template <typename T>
class PerRow {
 public:
  PerRow(const LocalTensor<T>& tensor, uint32_t rows, const char* name, const char* operand, bool packed = false)
      : width_(packed ? 1 : kBlock / sizeof(T)), data_(elements(tensor, rows * width_, name, operand)) {}
  float get(uint32_t row) const { return static_cast<float>(data_[row * width_]); }
  void set(uint32_t row, float value) const {
    for (int64_t i = 0; i < width_; ++i) data_[row * width_ + i] = static_cast<T>(value);
  }

 private:
  int64_t width_;
  T* data_;
};

inline float largest(const std::vector<float>& values) {
  float best = values[0];
  for (const float value : values) best = value > best ? value : best;
  return best;
}

/// Exponentials of a row less `peak`; returns their sum.
inline float exponentiate(std::vector<float>& row, float peak) {
  for (float& value : row) value = std::exp(value - peak);
  std::vector<float> copy = row;
  return tree_sum(copy.data(), static_cast<uint32_t>(copy.size()));
}

struct Moments {
  float mean, variance;
};
inline Moments moments_of(const std::vector<float>& values) {
  const auto count = static_cast<uint32_t>(values.size());
  std::vector<float> work = values;
  const float mean = tree_sum(work.data(), count) / static_cast<float>(count);
  for (uint32_t i = 0; i < count; ++i) work[i] = (values[i] - mean) * (values[i] - mean);
  return {mean, tree_sum(work.data(), count) / static_cast<float>(count)};
}

/// Makes of values (values - mean) / sqrt(variance + epsilon) * scale + shift; the moments are what they were.
template <typename T>
Moments normalise(std::vector<float>& values, const T* scale, const T* shift, float epsilon) {
  const Moments moments = moments_of(values);
  const float factor = 1 / std::sqrt(moments.variance + epsilon);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (values[i] - moments.mean) * factor * static_cast<float>(scale[i]) + static_cast<float>(shift[i]);
  return moments;
}

/// Calls body(row, values, out) for each row as floats; the columns past the used ones become 0.
template <typename T, typename Body>
void for_rows(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, const Rows& rows, Body&& body) {
  static_assert(one_of<T, half, float>, "functions over rows exist for half and float");
  const Instruction instruction(name, PIPE_V, Flow::Uses);
  const T* in = elements_in_range(src, rows.size(), name, "src");
  T* out = elements(dst, rows.size(), name, "dst");
  for (uint32_t row = 0; kChecked && row < rows.count; ++row)
    touch_elements(in + uint64_t{row} * rows.width, rows.used, name, "src", MTSIM_READS);
  std::vector<float> values(rows.used);
  for (uint32_t row = 0; row < rows.count; ++row) {
    widen(in + uint64_t{row} * rows.width, values.data(), rows.used);
    body(row, values);
    narrow(values.data(), out + uint64_t{row} * rows.width, rows.used);
    for (uint32_t i = rows.used; i < rows.width; ++i) out[uint64_t{row} * rows.width + i] = static_cast<T>(0.0f);
  }
}

/// One value for each row of a matrix of srcShape, or for each column.
template <typename pattern, typename T, typename Reduce>
void reduce_matrix(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t shape[],
                   bool padded, Reduce&& reduce) {
  const Instruction instruction(name, PIPE_V, Flow::Uses);
  const uint32_t first = shape[0], last = shape[1];
  const uint64_t width = padded ? align_up(last * sizeof(T), kBlock) / sizeof(T) : last;
  constexpr bool kRowwise = std::is_same_v<pattern, AscendC::Pattern::Reduce::AR>;
  const T* in = elements_in_range(src, static_cast<int64_t>(first * width), name, "src");
  for (uint32_t row = 0; kChecked && row < first; ++row)
    touch_elements(in + row * width, last, name, "src", MTSIM_READS);
  T* out = elements(dst, kRowwise ? first : last, name, "dst");
  std::vector<float> values(kRowwise ? last : first);
  for (uint32_t kept = 0; kept < (kRowwise ? first : last); ++kept) {
    for (uint32_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(kRowwise ? in[kept * width + i] : in[i * width + kept]);
    out[kept] = static_cast<T>(reduce(values));
  }
}

}  // namespace mtsim

namespace AscendC {

/// The sum of the first n of each row's `inner` elements.
template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SumParams& params) {
  const T* in = mtsim::elements(src, int64_t{params.outter} * params.inner, "Sum", "src");
  T* out = mtsim::elements(dst, params.outter, "Sum", "dst");
  for (uint32_t row = 0; row < params.outter; ++row)
    out[row] = mtsim::sum_by_repeats(in + uint64_t{row} * params.inner, params.n);
}
template <typename T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&, const SumParams& params) {
  Sum(dst, src, params);
}
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const MeanParams& params) {
  const T* in = mtsim::elements(src, int64_t{params.outter} * params.inner, "Mean", "src");
  T* out = mtsim::elements(dst, params.outter, "Mean", "dst");
  std::vector<float> row_values(params.n);
  for (uint32_t row = 0; row < params.outter; ++row) {
    mtsim::widen(in + uint64_t{row} * params.inner, row_values.data(), params.n);
    out[row] = static_cast<T>(mtsim::tree_sum(row_values.data(), params.n) / static_cast<float>(params.n));
  }
}
template <typename T, typename accType = T, bool isReuseSource = false, bool isBasicBlock = false,
          int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
          const MeanParams& params) {
  Mean<T, accType>(dst, src, params);
}

/// AR reduces a matrix {first, last} along its last axis, RA along its first. With srcInnerPad, rows start at
/// multiples of 32 bytes.
template <typename T, typename pattern, bool isReuseSource = false>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
               const uint32_t srcShape[], bool srcInnerPad) {
  mtsim::reduce_matrix<pattern>("ReduceSum", dst, src, srcShape, srcInnerPad, [](std::vector<float>& values) {
    return mtsim::tree_sum(values.data(), static_cast<uint32_t>(values.size()));
  });
}
/// 1 where an element is not 0, or where all are not; else 0.
template <typename T, typename pattern, bool isReuseSource = false>
void ReduceAny(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
               const uint32_t srcShape[], bool srcInnerPad) {
  mtsim::reduce_matrix<pattern>("ReduceAny", dst, src, srcShape, srcInnerPad, [](std::vector<float>& values) {
    for (const float value : values)
      if (value != 0) return 1.0f;
    return 0.0f;
  });
}
template <typename T, typename pattern, bool isReuseSource = false>
void ReduceAll(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
               const uint32_t srcShape[], bool srcInnerPad) {
  mtsim::reduce_matrix<pattern>("ReduceAll", dst, src, srcShape, srcInnerPad, [](std::vector<float>& values) {
    for (const float value : values)
      if (value == 0) return 0.0f;
    return 1.0f;
  });
}
template <typename T, typename pattern, bool isReuseSource = false>
void ReduceMean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
                const uint32_t srcShape[], bool srcInnerPad) {
  mtsim::reduce_matrix<pattern>("ReduceMean", dst, src, srcShape, srcInnerPad, [](std::vector<float>& values) {
    const auto count = static_cast<uint32_t>(values.size());
    return mtsim::tree_sum(values.data(), count) / static_cast<float>(count);
  });
}
template <typename T, typename pattern, bool isReuseSource = false>
void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
               const uint32_t srcShape[], bool srcInnerPad) {
  mtsim::reduce_matrix<pattern>("ReduceMax", dst, src, srcShape, srcInnerPad,
                                [](std::vector<float>& values) { return mtsim::largest(values); });
}
template <typename T, typename pattern, bool isReuseSource = false>
void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
               const uint32_t srcShape[], bool srcInnerPad) {
  mtsim::reduce_matrix<pattern>("ReduceMin", dst, src, srcShape, srcInnerPad, [](std::vector<float>& values) {
    for (float& value : values) value = -value;
    return -mtsim::largest(values);
  });
}
template <typename T, typename pattern, bool isReuseSource = false>
void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t srcShape[], bool srcInnerPad) {
  ReduceSum<T, pattern, isReuseSource>(dst, src, LocalTensor<uint8_t>(), srcShape, srcInnerPad);
}
template <typename T, typename pattern, bool isReuseSource = false>
void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t srcShape[], bool srcInnerPad) {
  ReduceMax<T, pattern, isReuseSource>(dst, src, LocalTensor<uint8_t>(), srcShape, srcInnerPad);
}
template <typename T, typename pattern, bool isReuseSource = false>
void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t srcShape[], bool srcInnerPad) {
  ReduceMin<T, pattern, isReuseSource>(dst, src, LocalTensor<uint8_t>(), srcShape, srcInnerPad);
}

/// A row or a column, or a vector of one element, repeated to dstShape; `axis` is the one that grows.
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim],
               const uint32_t srcShape[dim]) {
  static_assert((dim == 1 || dim == 2) && (axis == 0 || axis == 1), "Broadcast takes one or two dimensions");
  const uint32_t rows = dim == 1 ? 1 : dstShape[0];
  const uint32_t columns = dstShape[dim - 1];
  const uint32_t from_rows = dim == 1 ? 1 : srcShape[0];
  const uint32_t from_columns = srcShape[dim - 1];
  const T* in = mtsim::elements(src, int64_t{from_rows} * from_columns, "Broadcast", "src");
  T* out = mtsim::elements(dst, int64_t{rows} * columns, "Broadcast", "dst");
  for (uint32_t i = 0; i < rows; ++i)
    for (uint32_t j = 0; j < columns; ++j)
      out[uint64_t{i} * columns + j] = in[uint64_t{i % from_rows} * from_columns + j % from_columns];
}
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim],
               const uint32_t srcShape[dim], const LocalTensor<uint8_t>&) {
  Broadcast<T, dim, axis>(dst, src, dstShape, srcShape);
}
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t dstShape[dim],
               const uint32_t srcShape[dim]) {
  Broadcast<T, dim, axis>(dst, src, dstShape, srcShape);
}

/// src / sqrt(mean(src^2) + epsilon) * gamma over rows of hLength, of which originalHLength count.
template <typename T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma,
             const mtsim::Scalar<T> epsilon, const RmsNormTiling& tiling) {
  const mtsim::Rows rows{tiling.bLength * tiling.sLength, tiling.hLength, tiling.originalHLength};
  const T* scale = mtsim::elements(gamma, rows.used, "RmsNorm", "gamma");
  mtsim::for_rows("RmsNorm", dst, src, rows, [&](uint32_t, std::vector<float>& values) {
    std::vector<float> squares = values;
    for (float& value : squares) value *= value;
    const float mean = mtsim::tree_sum(squares.data(), rows.used) / static_cast<float>(rows.used);
    const float factor = 1 / std::sqrt(mean + static_cast<float>(epsilon));
    for (uint32_t i = 0; i < rows.used; ++i) values[i] *= factor * static_cast<float>(scale[i]);
  });
}
template <typename T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma,
             const LocalTensor<uint8_t>&, const mtsim::Scalar<T> epsilon, const RmsNormTiling& tiling) {
  RmsNorm(dst, src, gamma, epsilon, tiling);
}

/// (input - mean) / sqrt(variance + epsilon) * gamma + beta; mean and variance of each row are results too.
template <typename T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance,
               const LocalTensor<T>& inputX, const LocalTensor<T>& gamma, const LocalTensor<T>& beta,
               const mtsim::Scalar<T> epsilon, const LayerNormTiling& tiling) {
  const mtsim::Rows rows{tiling.bLength * tiling.sLength, tiling.hLength,
                         tiling.originalHLength != 0 ? tiling.originalHLength : tiling.hLength};
  const T* scale = mtsim::elements(gamma, rows.used, "LayerNorm", "gamma");
  const T* shift = mtsim::elements(beta, rows.used, "LayerNorm", "beta");
  T* means = mtsim::elements(outputMean, rows.count, "LayerNorm", "outputMean");
  T* variances = mtsim::elements(outputVariance, rows.count, "LayerNorm", "outputVariance");
  mtsim::for_rows("LayerNorm", output, inputX, rows, [&](uint32_t row, std::vector<float>& values) {
    const mtsim::Moments moments = mtsim::normalise(values, scale, shift, static_cast<float>(epsilon));
    means[row] = static_cast<T>(moments.mean);
    variances[row] = static_cast<T>(moments.variance);
  });
}
template <typename T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance,
               const LocalTensor<T>& inputX, const LocalTensor<T>& gamma, const LocalTensor<T>& beta,
               const LocalTensor<uint8_t>&, const mtsim::Scalar<T> epsilon, const LayerNormTiling& tiling) {
  LayerNorm(output, outputMean, outputVariance, inputX, gamma, beta, epsilon, tiling);
}

}  // namespace AscendC
