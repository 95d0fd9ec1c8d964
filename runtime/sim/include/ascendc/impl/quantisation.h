// Numbers as 8-bit integers and back: AscendQuant, AscendAntiQuant, and AscendDequant for products in int32_t.
#pragma once

#include <type_traits>

#include "cast.h"

namespace AscendC {

/// m rows of n columns, of which calCount count; 0 means all.
struct DequantParams {
  uint32_t m = 0;
  uint32_t n = 0;
  uint32_t calCount = 0;
};
enum class DeQuantMode { DEQUANT_WITH_SINGLE_ROW, DEQUANT_WITH_MULTI_ROW };

struct AntiQuantShapeInfo {
  uint32_t offsetHeight = 0;
  uint32_t offsetWidth = 0;
  uint32_t scaleHeight = 0;
  uint32_t scaleWidth = 0;
};

/// Sizes known to the compiler; the arguments say the same.
struct AscendQuantConfig {
  uint32_t calcCount = 0;
  uint32_t offsetCount = 0;
  uint32_t scaleCount = 0;
  uint32_t workLocalSize = 0;
};
constexpr AscendQuantConfig ASCEND_QUANT_DEFAULT_CFG{};

}  // namespace AscendC

namespace mtsim {

/// A scale; uint64_t holds a float's bits, as the cube takes them.
template <typename T>
float scale_of(T scale) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    const auto bits = static_cast<uint32_t>(scale);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  } else {
    return static_cast<float>(scale);
  }
}

template <typename T, typename Scale, typename Offset>
void quantise(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, uint32_t count, Scale&& scale,
              Offset&& offset) {
  static_assert(one_of<T, half, float, bfloat16_t>, "AscendQuant exists for half, float and bfloat16_t");
  const Instruction instruction("AscendQuant", PIPE_V, Flow::Uses);
  const T* in = elements(src, count, "AscendQuant", "src");
  int8_t* out = elements(dst, count, "AscendQuant", "dst");
  for (uint32_t i = 0; i < count; ++i)
    out[i] = convert<int8_t, float, AscendC::RoundMode::CAST_RINT>(static_cast<float>(in[i]) * scale(i) + offset(i));
}

template <typename D, typename Scale>
void dequantise(const LocalTensor<D>& dst, const LocalTensor<int32_t>& src, const AscendC::DequantParams& params,
                Scale&& scale) {
  static_assert(one_of<D, half, float, bfloat16_t>, "AscendDequant gives half, float or bfloat16_t");
  const uint32_t used = params.calCount != 0 ? params.calCount : params.n;
  const uint64_t width = align_up(uint64_t{params.n} * sizeof(D), kBlock) / sizeof(D);  // of a row of dst
  const int32_t* in = elements_in_range(src, int64_t{params.m} * params.n, "AscendDequant", "src");
  D* out = elements_in_range(dst, static_cast<int64_t>(params.m * width), "AscendDequant", "dst");
  for (uint32_t row = 0; row < params.m; ++row) {
    const int32_t* from = in + uint64_t{row} * params.n;
    D* to = out + row * width;
    touch_elements(from, used, "AscendDequant", "src", MTSIM_READS);
    touch_elements(to, used, "AscendDequant", "dst", MTSIM_WRITES);
    for (uint32_t i = 0; i < used; ++i) to[i] = static_cast<D>(static_cast<float>(from[i]) * scale(i));
  }
}

template <bool transposed, typename S, typename D, typename Scale, typename Offset>
void antiquantise(const LocalTensor<D>& dst, const LocalTensor<S>& src, uint32_t k, Scale&& scale, Offset&& offset) {
  static_assert(std::is_same_v<S, int8_t>, "AscendAntiQuant is simulated for int8_t");
  static_assert(one_of<D, half, bfloat16_t>, "AscendAntiQuant gives half or bfloat16_t");
  const uint32_t count = src.GetSize();
  if (k == 0 || count % k != 0)
    fault(kVectorCoreException, "AscendAntiQuant: src has %u elements, which are no rows of K = %u", count, k);
  const uint32_t n = count / k;
  const S* in = elements(src, count, "AscendAntiQuant", "src");
  D* out = elements(dst, count, "AscendAntiQuant", "dst");
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t channel = transposed ? i / k : i % n;
    out[i] = static_cast<D>((static_cast<float>(in[i]) + offset(channel)) * scale(channel));
  }
}

}  // namespace mtsim

namespace AscendC {

/// round(src * scale + offset), of all elements or of calCount.
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const float scale, const float offset,
                 const uint32_t calCount) {
  mtsim::quantise(dst, src, calCount, [scale](uint32_t) { return scale; }, [offset](uint32_t) { return offset; });
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const float scale, const float offset) {
  AscendQuant<T, isReuseSource, config>(dst, src, scale, offset, src.GetSize());
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
                 const float scale, const float offset, const uint32_t calCount) {
  AscendQuant<T, isReuseSource, config>(dst, src, scale, offset, calCount);
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
                 const float scale, const float offset) {
  AscendQuant<T, isReuseSource, config>(dst, src, scale, offset, src.GetSize());
}
/// A scale, and maybe an offset, for each of scaleCount columns.
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
                 const LocalTensor<T>& scaleTensor, const mtsim::Scalar<T> offset, const uint32_t scaleCount,
                 const uint32_t calCount) {
  const T* scales = mtsim::elements(scaleTensor, scaleCount, "AscendQuant", "scaleTensor");
  mtsim::quantise(dst, src, calCount, [=](uint32_t i) { return static_cast<float>(scales[i % scaleCount]); },
                  [offset](uint32_t) { return static_cast<float>(offset); });
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& tmp,
                 const LocalTensor<T>& scaleTensor, const mtsim::Scalar<T> offset) {
  AscendQuant<T, isReuseSource, config>(dst, src, tmp, scaleTensor, offset, scaleTensor.GetSize(), src.GetSize());
}
template <typename T, bool isReuseSource = false, const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>
void AscendQuant(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
                 const LocalTensor<T>& scaleTensor, const LocalTensor<T>& offsetTensor, const uint32_t scaleCount,
                 const uint32_t offsetCount, const uint32_t calCount) {
  const T* scales = mtsim::elements(scaleTensor, scaleCount, "AscendQuant", "scaleTensor");
  const T* offsets = mtsim::elements(offsetTensor, offsetCount, "AscendQuant", "offsetTensor");
  mtsim::quantise(dst, src, calCount, [=](uint32_t i) { return static_cast<float>(scales[i % scaleCount]); },
                  [=](uint32_t i) { return static_cast<float>(offsets[i % offsetCount]); });
}

/// src * deqScale, a scale for each column or one for all. Rows of dst start at multiples of 32 bytes.
template <typename D, typename S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
void AscendDequant(const LocalTensor<D>& dst, const LocalTensor<int32_t>& src, const LocalTensor<S>& deqScale,
                   const LocalTensor<uint8_t>&, DequantParams params) {
  const mtsim::Instruction instruction("AscendDequant", PIPE_V, mtsim::Flow::Uses);
  const S* scales = mtsim::elements(deqScale, params.calCount != 0 ? params.calCount : params.n, "AscendDequant",
                                    "deqScale");
  mtsim::dequantise(dst, src, params, [scales](uint32_t i) { return mtsim::scale_of(scales[i]); });
}
template <typename D, typename S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>
void AscendDequant(const LocalTensor<D>& dst, const LocalTensor<int32_t>& src, const LocalTensor<S>& deqScale,
                   DequantParams params) {
  AscendDequant<D, S, mode>(dst, src, deqScale, LocalTensor<uint8_t>(), params);
}
template <typename D, typename S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW,
          typename = std::enable_if_t<std::is_arithmetic_v<S> || mtsim::one_of<S, half, bfloat16_t>>>
void AscendDequant(const LocalTensor<D>& dst, const LocalTensor<int32_t>& src, const S deqScale,
                   const LocalTensor<uint8_t>&, DequantParams params) {
  const mtsim::Instruction instruction("AscendDequant", PIPE_V, mtsim::Flow::Uses);
  mtsim::dequantise(dst, src, params, [value = mtsim::scale_of(deqScale)](uint32_t) { return value; });
}

/// (src + offset) * scale of a matrix K x N, or N x K where isTranspose; one offset and scale for each of N, or for all.
template <typename InputDataType, typename OutputDataType, bool isTranspose>
void AscendAntiQuant(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,
                     const LocalTensor<OutputDataType>& offset, const LocalTensor<OutputDataType>& scale,
                     const LocalTensor<uint8_t>&, const uint32_t k, const AntiQuantShapeInfo& = {}) {
  const mtsim::Instruction instruction("AscendAntiQuant", PIPE_V, mtsim::Flow::Uses);
  const int64_t channels = k == 0 ? 0 : src.GetSize() / k;
  const OutputDataType* offsets = mtsim::elements(offset, channels, "AscendAntiQuant", "offset");
  const OutputDataType* scales = mtsim::elements(scale, channels, "AscendAntiQuant", "scale");
  mtsim::antiquantise<isTranspose>(dst, src, k, [scales](uint32_t i) { return static_cast<float>(scales[i]); },
                                   [offsets](uint32_t i) { return static_cast<float>(offsets[i]); });
}
template <typename InputDataType, typename OutputDataType, bool isTranspose>
void AscendAntiQuant(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,
                     const OutputDataType offset, const OutputDataType scale, const LocalTensor<uint8_t>&,
                     const uint32_t k, const AntiQuantShapeInfo& = {}) {
  const mtsim::Instruction instruction("AscendAntiQuant", PIPE_V, mtsim::Flow::Uses);
  mtsim::antiquantise<isTranspose>(dst, src, k, [scale](uint32_t) { return static_cast<float>(scale); },
                                   [offset](uint32_t) { return static_cast<float>(offset); });
}

}  // namespace AscendC
