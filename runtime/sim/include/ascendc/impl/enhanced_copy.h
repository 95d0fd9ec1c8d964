// DataCopy with DataCopyEnhancedParams: what the matrix unit left in L0C, fractal by fractal, to the unified buffer.
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "cast.h"
#include "cube.h"
#include "unified.h"

namespace AscendC {

enum class BlockMode : uint8_t {
  BLOCK_MODE_NORMAL, BLOCK_MODE_MATRIX, BLOCK_MODE_VECTOR, BLOCK_MODE_SMALL_CHANNEL, BLOCK_MODE_DEPTHWISE
};
enum class DeqScale : uint8_t { DEQ_NONE, DEQ, VDEQ, DEQ8, VDEQ8, DEQ16, VDEQ16 };

struct DataCopyEnhancedParams {
  BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
  DeqScale deqScale = DeqScale::DEQ_NONE;
  uint64_t deqValue = 0;
  uint8_t sidStoreMode = 0;
  bool isRelu = false;
  uint64_t deqTensorAddr = 0;
};

}  // namespace AscendC

namespace mtsim {

/// How DataCopy makes a half, an int16_t, an int8_t or a uint8_t of an int32_t of L0C: times a scale, and for the
/// smallest types plus an offset. DEQ takes the bits of a half; DEQ8 and DEQ16 take a float in the lower 32 bits, and an
/// offset of 9 bits from bit 37 on; the forms with a V take 16 of these from the unified buffer, one for each column.
class Scales {
 public:
  explicit Scales(const AscendC::DataCopyEnhancedParams& enhanced) : mode_(enhanced.deqScale) {
    using AscendC::DeqScale;
    of_halves_ = mode_ == DeqScale::DEQ || mode_ == DeqScale::VDEQ;
    if (mode_ == DeqScale::VDEQ || mode_ == DeqScale::VDEQ8 || mode_ == DeqScale::VDEQ16) {
      if (of_halves_) read<uint16_t>(enhanced.deqTensorAddr);
      else read<uint64_t>(enhanced.deqTensorAddr);
    } else {
      for (uint64_t& bits : bits_) bits = enhanced.deqValue;
    }
  }

  /// Whether a conversion from S to T is one of this mode's.
  template <typename T, typename S>
  bool fits() const {
    using AscendC::DeqScale;
    if (mode_ == DeqScale::DEQ_NONE) return !std::is_same_v<S, int32_t> || std::is_same_v<T, int32_t>;
    if (!std::is_same_v<S, int32_t>) return false;
    if (mode_ == DeqScale::DEQ8 || mode_ == DeqScale::VDEQ8) return one_of<T, int8_t, uint8_t>;
    return std::is_same_v<T, half> || (!of_halves_ && std::is_same_v<T, int16_t>);
  }

  template <typename T>
  T apply(int32_t value, uint32_t column) const {
    const uint64_t bits = bits_[column];
    float scale;
    if (of_halves_) {
      half narrow;
      std::memcpy(&narrow, &bits, sizeof narrow);
      scale = static_cast<float>(narrow);
    } else {
      std::memcpy(&scale, &bits, sizeof scale);
    }
    const float scaled = static_cast<float>(value) * scale;
    if constexpr (std::is_same_v<T, half>) return static_cast<half>(scaled);
    const auto low = static_cast<int32_t>(bits >> 37 & 0x1FF);
    const float offset = sizeof(T) == 1 ? static_cast<float>(low < 256 ? low : low - 512) : 0.0f;
    const float whole = std::nearbyint(scaled) + offset;
    using Limits = std::numeric_limits<T>;
    return static_cast<T>(whole < Limits::min() ? Limits::min() : whole > Limits::max() ? Limits::max() : whole);
  }

 private:
  template <typename Word>
  void read(uint64_t address) {
    const auto tensor = unified(reinterpret_cast<const Word*>(address), "DataCopy", "deqTensorAddr");
    const Word* words = elements(tensor, 16, "DataCopy", "deqTensorAddr");
    for (uint32_t i = 0; i < 16; ++i) bits_[i] = words[i];
  }

  AscendC::DeqScale mode_;
  bool of_halves_ = false;
  std::array<uint64_t, 16> bits_{};
};

/// Fractals of 16 x 16: blockLen and srcStride count them, dstStride counts blocks of 32 bytes.
template <typename T, typename Sum>
void copy_fractals(const LocalTensor<T>& dst, const LocalTensor<Sum>& src, const AscendC::DataCopyParams& params,
                   const AscendC::DataCopyEnhancedParams& enhanced) {
  constexpr uint32_t kElements = 256;
  const Scales scales(enhanced);
  if (!scales.fits<T, Sum>())
    fault(kVectorCoreException, "DataCopy: deqScale does not say how to make these types of one another");
  const Instruction instruction("DataCopy", PIPE_V, Flow::Lanes);
  const uint64_t length = uint64_t{params.blockLen} * kElements;
  const uint64_t src_step = length + uint64_t{params.srcStride} * kElements;
  const uint64_t dst_step = length + uint64_t{params.dstStride} * (kBlock / sizeof(T));
  const auto extent = [&](uint64_t step) {
    return static_cast<int64_t>(params.blockCount == 0 ? 0 : (params.blockCount - 1) * step + length);
  };
  T* out = elements_in_range(dst, extent(dst_step), "DataCopy", "dst");
  const Sum* in = elements_in_range(src, extent(src_step), "DataCopy", "src");
  Spans to, from;
  for (uint32_t block = 0; block < params.blockCount; ++block) {
    to.add(block * dst_step * sizeof(T), length * sizeof(T));
    from.add(block * src_step * sizeof(Sum), length * sizeof(Sum));
    for (uint64_t i = 0; i < length; ++i) {
      const Sum plain = in[block * src_step + i];
      const Sum value = enhanced.isRelu && plain < 0 ? Sum{0} : plain;
      T& result = out[block * dst_step + i];
      if constexpr (std::is_same_v<Sum, int32_t> && !std::is_same_v<T, int32_t>)
        result = scales.apply<T>(value, static_cast<uint32_t>(i % 16));
      else
        result = convert<T, Sum, RoundMode::CAST_NONE>(value);
    }
  }
  touch(out, to, 8 * sizeof(T), "DataCopy", "dst", MTSIM_WRITES);
  touch(in, from, 8 * sizeof(Sum), "DataCopy", "src", MTSIM_READS);
}

}  // namespace mtsim

namespace AscendC {

template <typename T, typename U>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams& enhanced) {
  if (mtsim::memory_of(src.GetPosition()) == mtsim::kL0C) {
    if (enhanced.blockMode != BlockMode::BLOCK_MODE_MATRIX)
      mtsim::fault(mtsim::kVectorCoreException, "DataCopy: out of L0C only BLOCK_MODE_MATRIX is simulated");
    mtsim::copy_fractals(dst, src, params, enhanced);
  } else {
    DataCopy(dst, src, params);
  }
}
/// Between other memories the rest says nothing, as on the chip.
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams&) {
  DataCopy(dst, src, params);
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams&) {
  DataCopy(dst, src, params);
}

}  // namespace AscendC
