// DataCopy with DataCopyEnhancedParams: what the matrix unit left in L0C, fractal by fractal, to the unified buffer.
#pragma once

#include "cast.h"
#include "cube.h"

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
};

}  // namespace AscendC

namespace mtsim {

inline void check_enhanced(const AscendC::DataCopyEnhancedParams& enhanced) {
  if (enhanced.deqScale != AscendC::DeqScale::DEQ_NONE)
    fault(kVectorCoreException, "DataCopy: DataCopyEnhancedParams::deqScale other than DEQ_NONE is not simulated");
}

/// Fractals of 16 x 16: blockLen and srcStride count them, dstStride counts blocks of 32 bytes.
template <typename T, typename Sum>
void copy_fractals(const LocalTensor<T>& dst, const LocalTensor<Sum>& src, const AscendC::DataCopyParams& params,
                   bool relu) {
  constexpr uint32_t kElements = 256;
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
      const Sum value = in[block * src_step + i];
      out[block * dst_step + i] = convert<T, Sum, RoundMode::CAST_NONE>(relu && value < 0 ? Sum{0} : value);
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
  mtsim::check_enhanced(enhanced);
  if (mtsim::memory_of(src.GetPosition()) == mtsim::kL0C) {
    if (enhanced.blockMode != BlockMode::BLOCK_MODE_MATRIX)
      mtsim::fault(mtsim::kVectorCoreException, "DataCopy: out of L0C only BLOCK_MODE_MATRIX is simulated");
    mtsim::copy_fractals(dst, src, params, enhanced.isRelu);
  } else {
    DataCopy(dst, src, params);
  }
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams& enhanced) {
  mtsim::check_enhanced(enhanced);
  DataCopy(dst, src, params);
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params,
              const DataCopyEnhancedParams& enhanced) {
  mtsim::check_enhanced(enhanced);
  DataCopy(dst, src, params);
}

}  // namespace AscendC
