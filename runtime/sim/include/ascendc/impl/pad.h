// Pad and UnPad: columns added to the rows of a matrix in local memory, and taken from them.
#pragma once

#include "elementwise.h"

namespace AscendC {

struct PadParams {
  uint16_t leftPad = 0;
  uint16_t rightPad = 0;
  int32_t padValue = 0;
};
struct UnPadParams {
  uint16_t leftPad = 0;
  uint16_t rightPad = 0;
};

/// srcHeight rows of srcWidth columns in memory, of which srcOriWidth count. The rest is for the chip.
struct PadTiling {
  uint32_t srcHeight = 0, srcWidth = 0, srcOriWidth = 0, widthWithoutLastBlock = 0, blocksPerRow = 0, heightTiling = 0,
           heightFractal = 0, heightFractalTail = 0, mainLoopOffset = 0, tailBlockOffset = 0, tmpBuffer1BlockNum = 0,
           tmpBuffer1RowNum = 0, tmpBuffer2Offset = 0, widthTiling = 0, widthFractal = 0, widthFractalTail = 0,
           widthFractalTailAlingned = 0, brcbTiling = 0, brcbFractal = 0, brcbFractalTail = 0, maxRepeatTimes = 0,
           brcbTilingRepeatTimes = 0, brcbTilingRepeatTimesTail = 0;
};
struct UnPadTiling {
  uint32_t srcHeight = 0, srcWidth = 0, tmpBuffer1BlockNum = 0, tmpBuffer1RowNum = 0, tmpBuffer2Offset = 0,
           widthTiling = 0, widthFractal = 0, widthFractalTail = 0;
};

/// leftPad and rightPad columns of padValue around each row.
template <typename T>
void Pad(const LocalTensor<T>& dst, const LocalTensor<T>& src, PadParams& padParams, PadTiling& tiling) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Pad exists for elements of 2 and 4 bytes");
  const mtsim::Instruction instruction("Pad", PIPE_V, mtsim::Flow::Moves);
  const uint32_t used = tiling.srcOriWidth != 0 ? tiling.srcOriWidth : tiling.srcWidth;
  const uint32_t width = padParams.leftPad + used + padParams.rightPad;
  const T* in = mtsim::elements_in_range(src, int64_t{tiling.srcHeight} * tiling.srcWidth, "Pad", "src");
  T* out = mtsim::elements(dst, int64_t{tiling.srcHeight} * width, "Pad", "dst");
  for (uint32_t row = 0; row < tiling.srcHeight; ++row) {
    const T* from = in + uint64_t{row} * tiling.srcWidth;
    T* to = out + uint64_t{row} * width;
    mtsim::touch_elements(from, used, "Pad", "src", MTSIM_READS);
    for (uint32_t i = 0; i < width; ++i) to[i] = static_cast<T>(padParams.padValue);
    std::memcpy(to + padParams.leftPad, from, used * sizeof(T));
    mtsim::moved(to + padParams.leftPad, from, used * sizeof(T));
    if (padParams.leftPad != 0) mtsim::moved(to, nullptr, padParams.leftPad * sizeof(T));
    if (padParams.rightPad != 0) mtsim::moved(to + width - padParams.rightPad, nullptr, padParams.rightPad * sizeof(T));
  }
}
template <typename T>
void Pad(const LocalTensor<T>& dst, const LocalTensor<T>& src, PadParams& padParams, const LocalTensor<uint8_t>&,
         PadTiling& tiling) {
  Pad(dst, src, padParams, tiling);
}

/// Without the first leftPad and the last rightPad columns of each row.
template <typename T>
void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, UnPadParams& unPadParams, UnPadTiling& tiling) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "UnPad exists for elements of 2 and 4 bytes");
  const mtsim::Instruction instruction("UnPad", PIPE_V, mtsim::Flow::Moves);
  const uint32_t dropped = unPadParams.leftPad + unPadParams.rightPad;
  if (dropped > tiling.srcWidth)
    mtsim::fault(mtsim::kVectorCoreException, "UnPad: rows of %u columns cannot lose %u", tiling.srcWidth, dropped);
  const uint32_t width = tiling.srcWidth - dropped;
  const T* in = mtsim::elements_in_range(src, int64_t{tiling.srcHeight} * tiling.srcWidth, "UnPad", "src");
  T* out = mtsim::elements(dst, int64_t{tiling.srcHeight} * width, "UnPad", "dst");
  for (uint32_t row = 0; row < tiling.srcHeight; ++row) {
    const T* from = in + uint64_t{row} * tiling.srcWidth + unPadParams.leftPad;
    T* to = out + uint64_t{row} * width;
    mtsim::touch_elements(from, width, "UnPad", "src", MTSIM_READS);
    std::memmove(to, from, width * sizeof(T));
    mtsim::moved(to, from, width * sizeof(T));
  }
}
template <typename T>
void UnPad(const LocalTensor<T>& dst, const LocalTensor<T>& src, UnPadParams& unPadParams, const LocalTensor<uint8_t>&,
           UnPadTiling& tiling) {
  UnPad(dst, src, unPadParams, tiling);
}

}  // namespace AscendC
