// DeepNorm and Normalize: rows of a matrix in local memory, normalised with a residual beside them, or by moments that
// are known already.
#pragma once

#include "rows.h"

namespace AscendC {

struct DeepNormTiling {
  uint32_t bLength = 0, sLength = 0, hLength = 0, originalHLength = 0, inputXSize = 0, meanVarSize = 0,
           numberOfTmpBuf = 0, meanTmpTensorPos = 0, meanTmpTensorSize = 0, varianceTmpTensorPos = 0,
           varianceTmpTensorSize = 0, tmpBufSize = 0, oneTmpSize = 0, firstTmpStartPos = 0, secondTmpStartPos = 0,
           thirdTmpStartPos = 0, loopRound = 0, inputRoundSize = 0, inputTailSize = 0, inputTailPos = 0,
           meanVarRoundSize = 0, meanVarTailSize = 0, meanVarTailPos = 0, bshCurLength = 0, bsCurLength = 0;
  float lastDimValueBack = 0;
};

/// LayerNorm(alpha * inputX + inputGx) over rows of hLength, of which originalHLength count; mean and variance of each
/// row are results too.
template <typename T, bool isReuseSource = false, bool isBasicBlock = false>
void DeepNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance,
              const LocalTensor<T>& inputX, const LocalTensor<T>& inputGx, const LocalTensor<T>& beta,
              const LocalTensor<T>& gamma, const mtsim::Scalar<T> alpha, const mtsim::Scalar<T> epsilon,
              const DeepNormTiling& tiling) {
  const mtsim::Rows rows{tiling.bLength * tiling.sLength, tiling.hLength,
                         tiling.originalHLength != 0 ? tiling.originalHLength : tiling.hLength};
  const T* scale = mtsim::elements(gamma, rows.used, "DeepNorm", "gamma");
  const T* shift = mtsim::elements(beta, rows.used, "DeepNorm", "beta");
  const T* beside = mtsim::elements(inputGx, rows.size(), "DeepNorm", "inputGx");
  T* means = mtsim::elements(outputMean, rows.count, "DeepNorm", "outputMean");
  T* variances = mtsim::elements(outputVariance, rows.count, "DeepNorm", "outputVariance");
  mtsim::for_rows("DeepNorm", output, inputX, rows, [&](uint32_t row, std::vector<float>& values) {
    for (uint32_t i = 0; i < rows.used; ++i)
      values[i] = static_cast<float>(alpha) * values[i] + static_cast<float>(beside[uint64_t{row} * rows.width + i]);
    const mtsim::Moments moments = mtsim::normalise(values, scale, shift, static_cast<float>(epsilon));
    means[row] = static_cast<T>(moments.mean);
    variances[row] = static_cast<T>(moments.variance);
  });
}
template <typename T, bool isReuseSource = false, bool isBasicBlock = false>
void DeepNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance,
              const LocalTensor<T>& inputX, const LocalTensor<T>& inputGx, const LocalTensor<T>& beta,
              const LocalTensor<T>& gamma, const LocalTensor<uint8_t>&, const mtsim::Scalar<T> alpha,
              const mtsim::Scalar<T> epsilon, const DeepNormTiling& tiling) {
  DeepNorm(output, outputMean, outputVariance, inputX, inputGx, beta, gamma, alpha, epsilon, tiling);
}

enum class ReducePattern : uint32_t { AR, RA };

struct NormalizeConfig {
  ReducePattern reducePattern = ReducePattern::AR;
  int32_t aLength = -1;
  bool isNoBeta = false;
  bool isNoGamma = false;
  bool isOnlyOutput = false;
};
constexpr NormalizeConfig GetNormalizeConfig(bool isNoBeta, bool isNoGamma) {
  return {ReducePattern::AR, -1, isNoBeta, isNoGamma, false};
}
constexpr NormalizeConfig NLCFG_NORM = GetNormalizeConfig(false, false);
constexpr NormalizeConfig NLCFG_NOBETA = GetNormalizeConfig(true, false);
constexpr NormalizeConfig NLCFG_NOGAMMA = GetNormalizeConfig(false, true);
constexpr NormalizeConfig NLCFG_NOOPT = GetNormalizeConfig(true, true);

/// aLength rows that lie rLengthWithPadding apart, of which rLength columns count.
struct NormalizePara {
  uint32_t aLength = 0;
  uint32_t rLength = 0;
  uint32_t rLengthWithPadding = 0;
};

/// (inputX - mean) / sqrt(variance + epsilon) * gamma + beta; the reciprocal of the root is a result too.
template <typename U, typename T, bool isReuseSource = false, const NormalizeConfig& config = NLCFG_NORM>
void Normalize(const LocalTensor<T>& output, const LocalTensor<float>& outputRstd, const LocalTensor<float>& inputMean,
               const LocalTensor<float>& inputVariance, const LocalTensor<T>& inputX, const LocalTensor<U>& gamma,
               const LocalTensor<U>& beta, const float epsilon, const NormalizePara& para) {
  static_assert(config.reducePattern == ReducePattern::AR && !config.isOnlyOutput,
                "Normalize exists for the last axis, and with outputRstd");
  static_assert(std::is_same_v<U, T> || std::is_same_v<U, float>, "gamma and beta are of the rows' type, or float");
  const mtsim::Rows rows{para.aLength, para.rLengthWithPadding, para.rLength};
  const U* scale = config.isNoGamma ? nullptr : mtsim::elements(gamma, rows.used, "Normalize", "gamma");
  const U* shift = config.isNoBeta ? nullptr : mtsim::elements(beta, rows.used, "Normalize", "beta");
  const float* means = mtsim::elements(inputMean, rows.count, "Normalize", "inputMean");
  const float* variances = mtsim::elements(inputVariance, rows.count, "Normalize", "inputVariance");
  float* factors = mtsim::elements(outputRstd, rows.count, "Normalize", "outputRstd");
  mtsim::for_rows("Normalize", output, inputX, rows, [&](uint32_t row, std::vector<float>& values) {
    const float factor = 1 / std::sqrt(variances[row] + epsilon);
    for (uint32_t i = 0; i < rows.used; ++i)
      values[i] = (values[i] - means[row]) * factor * (scale == nullptr ? 1.0f : static_cast<float>(scale[i])) +
                  (shift == nullptr ? 0.0f : static_cast<float>(shift[i]));
    factors[row] = factor;
  });
}
template <typename U, typename T, bool isReuseSource = false, const NormalizeConfig& config = NLCFG_NORM>
void Normalize(const LocalTensor<T>& output, const LocalTensor<float>& outputRstd, const LocalTensor<float>& inputMean,
               const LocalTensor<float>& inputVariance, const LocalTensor<T>& inputX, const LocalTensor<U>& gamma,
               const LocalTensor<U>& beta, const LocalTensor<uint8_t>&, const float epsilon,
               const NormalizePara& para) {
  Normalize<U, T, isReuseSource, config>(output, outputRstd, inputMean, inputVariance, inputX, gamma, beta, epsilon,
                                         para);
}

}  // namespace AscendC
