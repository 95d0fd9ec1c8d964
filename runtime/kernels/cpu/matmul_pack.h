// Operands of a product as its tiles read them: panels of some rows each, depth-major.
#pragma once

#include <algorithm>
#include <cstring>

#include "matmul.h"

namespace mt {

constexpr int kWidestRows = 12, kWidestVectors = 2;  // of a tile with AVX-512
constexpr int kWidestColumns = 16 * kWidestVectors;  // of float

constexpr int64_t kTurned = 16;          // numbers of a line that are packed at a time: what one of the cache holds
constexpr int64_t kAhead = 4 * kTurned;  // of a line that are asked for before it is their turn
constexpr int64_t kLinesTogether = 8;    // that are packed side by side

// Packs `rows` x `depth` of a matrix into panels of Width rows, depth-major, padded with zeros. Lines of the cache are asked for
// some time before they are read: they lie apart, which processors do not foresee.
template <int Width, class T>
MT_INLINE void pack(const Matrix<const T>& source, int64_t rows, int64_t depth, T* out) {
  const int64_t whole = source.row == 1 || source.column == 1 ? rows / Width * Width : 0;
  if (source.row == 1) {
    for (int64_t k0 = 0; k0 < depth; k0 += kLinesTogether)
      for (int64_t i0 = 0; i0 < whole; i0 += Width)
        for (int64_t k = k0; k < std::min(depth, k0 + kLinesTogether); ++k)
          std::memcpy(out + i0 * depth + k * Width, &source.at(i0, k), Width * sizeof(T));
  } else {
    constexpr int kFours = Width / 4 * 4;
    for (int64_t i0 = 0; i0 < whole; i0 += Width) {
      const T* from = &source.at(i0, 0);
      T* to = out + i0 * depth;
      int64_t k0 = 0;
      for (; k0 + kTurned <= depth; k0 += kTurned)
        for (int i = 0; i < kFours; i += 4) {
          for (int r = 0; r < 4; ++r) __builtin_prefetch(from + (i + r) * source.row + k0 + kAhead);
          for (int64_t k = k0; k < k0 + kTurned; k += 4) turn_four(from + i * source.row + k, source.row, to + k * Width + i, Width);
        }
      for (int i = 0; i < Width; ++i)
        for (int64_t k = i < kFours ? k0 : 0; k < depth; ++k) to[k * Width + i] = from[i * source.row + k];
    }
  }
  for (int64_t i0 = whole; i0 < rows; i0 += Width) {
    const int count = int(std::min<int64_t>(Width, rows - i0));
    T* to = out + i0 * depth;
    for (int64_t k = 0; k < depth; ++k, to += Width) {
      for (int i = 0; i < count; ++i) to[i] = source.at(i0 + i, k);
      for (int i = count; i < Width; ++i) to[i] = 0;
    }
  }
}

}  // namespace mt
