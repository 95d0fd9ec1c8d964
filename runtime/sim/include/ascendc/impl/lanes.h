// Host loops that the compiler vectorises: 16-bit floats widened a tile at a time, bits spread to bytes and back.
#pragma once

#include <cmath>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "types.h"

// The vector forms of the C library's functions, which it otherwise offers to -ffast-math only.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
extern "C" __attribute__((__simd__("notinbranch"))) float expf(float) noexcept;
extern "C" __attribute__((__simd__("notinbranch"))) float logf(float) noexcept;
#endif

// An instruction reads an element before it writes it, and operands are either the same or apart: the loops
// carry no dependence, which the compiler cannot know.
#define MTSIM_INDEPENDENT _Pragma("GCC ivdep")

namespace mtsim {

/// What an operation computes in: float for the 16-bit floats, else T itself.
template <typename T>
using Wide = std::conditional_t<one_of<T, half, bfloat16_t>, float, T>;

template <typename T>
constexpr bool is_narrow = !std::is_same_v<Wide<T>, T>;

constexpr uint32_t kTile = 256;  // elements widened at a time: they stay in the first-level cache

template <typename T>
void widen(const T* from, float* to, uint32_t count) {
  uint32_t i = 0;
#if defined(__F16C__)
  if constexpr (std::is_same_v<T, half>)
    for (; i + 8 <= count; i += 8)
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

template <typename T>
void narrow(const float* from, T* to, uint32_t count) {
  uint32_t i = 0;
#if defined(__F16C__)
  if constexpr (std::is_same_v<T, half>)
    for (; i + 8 <= count; i += 8)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i),
          _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < count; ++i) to[i] = static_cast<T>(from[i]);
}

/// A few elements in the wide type.
template <typename T>
void load_wide(const T* from, Wide<T>* to, uint32_t count) {
  if constexpr (is_narrow<T>) widen(from, to, count);
  else std::memcpy(to, from, count * sizeof(T));
}

/// An integer of T's size, to move values as they are.
template <typename T>
using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;

template <typename T>
Bits<T> bits_of(T value) {
  Bits<T> bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// The value of these bits.
template <typename T>
T value_of(uint64_t wide) {
  const auto bits = static_cast<Bits<T>>(wide);
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// to[i] = operation(from[i]...) in the wide type.
template <typename T, typename Operation, typename... From>
void map_lanes(T* to, uint32_t count, Operation operation, const From*... from) {
  if constexpr (is_narrow<T>) {
    constexpr size_t operands = sizeof...(From);
    float tiles[operands][kTile];
    float results[kTile];
    for (uint32_t at = 0; at < count; at += kTile) {
      const uint32_t n = count - at < kTile ? count - at : kTile;
      size_t operand = 0;
      (widen(from + at, tiles[operand++], n), ...);
      for (uint32_t i = 0; i < n; ++i) {
        if constexpr (operands == 1) results[i] = operation(tiles[0][i]);
        else results[i] = operation(tiles[0][i], tiles[1][i]);
      }
      narrow(results, to + at, n);
    }
  } else {
    MTSIM_INDEPENDENT
    for (uint32_t i = 0; i < count; ++i) to[i] = static_cast<T>(operation(from[i]...));
  }
}

/// Eight flags of 0 or 1 as the bits of a byte, the first lowest. The product gathers byte i's bit at 56 + i.
inline uint8_t pack_flags(const uint8_t* flags) {
  uint64_t bytes;
  std::memcpy(&bytes, flags, sizeof bytes);
  return static_cast<uint8_t>((bytes * 0x0102040810204080u) >> 56);
}

/// A byte's bits as eight flags, zero or not. The product repeats the byte, and each copy keeps its own bit.
inline void spread_flags(uint8_t bits, uint8_t* flags) {
  const uint64_t bytes = (bits * uint64_t{0x0101010101010101u}) & 0x8040201008040201u;
  std::memcpy(flags, &bytes, sizeof bytes);
}
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the simulated chip and these packings are little endian");

}  // namespace mtsim
