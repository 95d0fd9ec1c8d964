// Copies of a matrix whose columns become rows, in squares of which each line of the cache is read and written once.
#pragma once

#include <algorithm>
#include <type_traits>

#include "tensor.h"

namespace mt {

// Sixteen bytes of elements, and the places of them that two such are interleaved by; written out, as the vectors in vectors.h.
template <int Size>
struct Lanes;
#define MT_LANES(Type)                                               \
  template <>                                                        \
  struct Lanes<sizeof(Type)> {                                       \
    using Element = Type;                                            \
    static constexpr int kCount = 16 / sizeof(Type);                 \
    typedef Type V __attribute__((vector_size(16), aligned(1), may_alias));     \
    typedef Type Register __attribute__((vector_size(16)));          \
  };
MT_LANES(uint8_t)
MT_LANES(uint16_t)
MT_LANES(uint32_t)
MT_LANES(uint64_t)
#undef MT_LANES

// Of a square of as many vectors as each has elements, the rows become columns: halves are interleaved until all have met.
template <int Size>
struct Square {
  using L = Lanes<Size>;
  using R = typename L::Register;
  static constexpr int kCount = L::kCount;

  MT_INLINE static R interleaved(R a, R b, int from) {
    R places;
    for (int i = 0; i < kCount; ++i) places[i] = typename L::Element(from + i / 2 + (i % 2) * kCount);
    return __builtin_shuffle(a, b, places);
  }
  MT_INLINE static void turn(char* to, int64_t to_apart, const char* from, int64_t from_apart) {
    R rows[kCount], next[kCount];
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) rows[i] = *reinterpret_cast<const typename L::V*>(from + i * from_apart);
#pragma GCC unroll 4
    for (int met = 1; met < kCount; met *= 2) {
#pragma GCC unroll 16
      for (int i = 0; i < kCount / 2; ++i) {
        next[2 * i] = interleaved(rows[i], rows[i + kCount / 2], 0);
        next[2 * i + 1] = interleaved(rows[i], rows[i + kCount / 2], kCount / 2);
      }
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i) rows[i] = next[i];
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) *reinterpret_cast<typename L::V*>(to + i * to_apart) = rows[i];
  }
};

constexpr int kLargestTurned = 8;  // bytes of an element
constexpr int64_t kLine = 64;  // bytes of a line of the cache

// to[i][j] = from[j][i]; rows of either are contiguous, at distances in bytes. By way of a square that is contiguous, as rows that are
// a power of two apart have few places in the cache.
template <int Size>
int transpose(char* to, int64_t to_apart, const char* from, int64_t from_apart, int64_t rows, int64_t columns, Pace& pace) {
  constexpr int64_t kSide = kLine / Size, kStep = Square<Size>::kCount;
  alignas(64) char square[kSide * kLine];
  for (int64_t i0 = 0; i0 < rows; i0 += kSide) {
    const int64_t height = std::min(kSide, rows - i0);
    for (int64_t j0 = 0; j0 < columns; j0 += kSide) {
      const int64_t width = std::min(kSide, columns - j0);
      const char* source = from + j0 * from_apart + i0 * Size;
      if (height == kSide && width == kSide) {
        for (int64_t j = 0; j < kSide; j += kStep)
          for (int64_t i = 0; i < kSide; i += kStep)
            Square<Size>::turn(square + i * kLine + j * Size, kLine, source + j * from_apart + i * Size, from_apart);
      } else {
        for (int64_t j = 0; j < width; ++j)
          for (int64_t i = 0; i < height; ++i) std::memcpy(square + i * kLine + j * Size, source + j * from_apart + i * Size, Size);
      }
      char* target = to + i0 * to_apart + j0 * Size;
      for (int64_t i = 0; i < height; ++i) {
        if (width == kSide) {
          std::memcpy(target + i * to_apart, square + i * kLine, kLine);
        } else {
          std::memcpy(target + i * to_apart, square + i * kLine, size_t(width) * Size);
        }
      }
      if (pace.stops(height * width)) return MT_ERROR_INTERRUPTED;
    }
  }
  return MT_OK;
}

}  // namespace mt
