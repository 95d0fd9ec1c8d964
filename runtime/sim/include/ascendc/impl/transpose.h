// Transpose and TransDataTo5HD: 16 rows of 32 bytes turned into columns.
#pragma once

#include "unified.h"

namespace AscendC {

struct TransDataTo5HDParams {
  TransDataTo5HDParams() = default;
  TransDataTo5HDParams(bool dst, bool src, uint8_t repeats, uint16_t dstRepeat, uint16_t srcRepeat)
      : dstHighHalf(dst), srcHighHalf(src), repeatTimes(repeats), dstRepStride(dstRepeat), srcRepStride(srcRepeat) {}
  bool dstHighHalf = false;
  bool srcHighHalf = false;
  uint8_t repeatTimes = 1;
  uint16_t dstRepStride = 0;
  uint16_t srcRepStride = 0;
};

}  // namespace AscendC

namespace mtsim {

constexpr uint32_t kRows = 16;

/// One repeat: 16 rows of a block each. Two-byte elements make 16 columns; four-byte elements make 8, each in two
/// rows of the result; one-byte elements use one half of the 32 of a row.
template <typename T>
void transpose_rows(T* const (&to)[kRows], const T* const (&from)[kRows], bool dst_high, bool src_high) {
  constexpr uint32_t kColumns = kBlock / sizeof(T);
  T rows[kRows][kColumns];
  const auto put = [](T* to_element, T value, const T* came_from) {
    moved(to_element, came_from, sizeof(T));
    *to_element = value;
  };
  for (uint32_t row = 0; row < kRows; ++row) std::memcpy(rows[row], from[row], kBlock);
  if constexpr (sizeof(T) == 4) {
    for (uint32_t row = 0; row < kRows; ++row)
      for (uint32_t column = 0; column < kColumns; ++column)
        put(to[2 * column + row / kColumns] + row % kColumns, rows[row][column], from[row] + column);
  } else {
    constexpr bool kHalves = sizeof(T) == 1;
    for (uint32_t row = 0; row < kRows; ++row)
      for (uint32_t column = 0; column < kRows; ++column)
        put(to[column] + row + (kHalves && dst_high ? kRows : 0), rows[row][column + (kHalves && src_high ? kRows : 0)],
            from[row] + column + (kHalves && src_high ? kRows : 0));
  }
}

template <typename T>
void to_5hd(const LocalTensor<T> (&dst)[kRows], const LocalTensor<T> (&src)[kRows],
            const AscendC::TransDataTo5HDParams& params) {
  static_assert(sizeof(T) <= 4, "TransDataTo5HD exists for types of 1, 2 and 4 bytes");
  const Instruction instruction("TransDataTo5HD", PIPE_V, Flow::Moves);
  constexpr int64_t kPerBlock = kBlock / sizeof(T);
  for (uint32_t repeat = 0; repeat < params.repeatTimes; ++repeat) {
    T* to[kRows];
    const T* from[kRows];
    for (uint32_t row = 0; row < kRows; ++row) {
      const int64_t dst_at = int64_t{repeat} * params.dstRepStride * kPerBlock;
      const int64_t src_at = int64_t{repeat} * params.srcRepStride * kPerBlock;
      to[row] = elements_in_range(dst[row], dst_at + kPerBlock, "TransDataTo5HD", "dst") + dst_at;
      from[row] = elements_in_range(src[row], src_at + kPerBlock, "TransDataTo5HD", "src") + src_at;
      touch_elements(to[row], kPerBlock, "TransDataTo5HD", "dst", MTSIM_WRITES);
      touch_elements(from[row], kPerBlock, "TransDataTo5HD", "src", MTSIM_READS);
    }
    transpose_rows(to, from, params.dstHighHalf, params.srcHighHalf);
  }
}

}  // namespace mtsim

namespace AscendC {

/// A 16 x 16 matrix of two-byte elements.
template <typename T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src) {
  static_assert(sizeof(T) == 2, "Transpose exists for types of 2 bytes");
  const mtsim::Instruction instruction("Transpose", PIPE_V, mtsim::Flow::Moves);
  T* out = mtsim::elements(dst, 256, "Transpose", "dst");
  const T* in = mtsim::elements(src, 256, "Transpose", "src");
  T* to[mtsim::kRows];
  const T* from[mtsim::kRows];
  for (uint32_t row = 0; row < mtsim::kRows; ++row) to[row] = out + row * 16, from[row] = in + row * 16;
  mtsim::transpose_rows(to, from, false, false);
}

template <typename T>
void TransDataTo5HD(const LocalTensor<T> (&dstList)[16], const LocalTensor<T> (&srcList)[16],
                    const TransDataTo5HDParams& params) {
  mtsim::to_5hd(dstList, srcList, params);
}
/// The rows by their addresses, as GetPhyAddr gives them.
template <typename T>
void TransDataTo5HD(uint64_t dstList[16], uint64_t srcList[16], const TransDataTo5HDParams& params) {
  LocalTensor<T> dst[16];
  LocalTensor<T> src[16];
  for (uint32_t row = 0; row < 16; ++row) {
    dst[row] = mtsim::unified(reinterpret_cast<T*>(dstList[row]), "TransDataTo5HD", "dst");
    src[row] = mtsim::unified(reinterpret_cast<T*>(srcList[row]), "TransDataTo5HD", "src");
  }
  mtsim::to_5hd(dst, src, params);
}

}  // namespace AscendC
