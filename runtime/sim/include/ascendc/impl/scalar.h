// What kernels do with single values and sizes: conversions, bit counts, rounding up, comparing types.
#pragma once

#include "cast.h"

namespace AscendC {

template <typename T, typename U>
struct IsSameType {
  static constexpr bool value = std::is_same_v<T, U>;
};

template <typename T>
constexpr T AlignUp(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}
constexpr int32_t CeilDivision(int32_t value, int32_t unit) { return (value + unit - 1) / unit; }

/// A float as an integer or a half, with a choice of rounding.
template <typename T, typename U, RoundMode roundMode>
U ScalarCast(T value) {
  return mtsim::convert<U, T, roundMode>(value);
}

/// The number of bits that are `countValue`, 0 or 1.
template <int countValue>
int64_t ScalarGetCountOfValue(uint64_t value) {
  static_assert(countValue == 0 || countValue == 1, "a bit is 0 or 1");
  return __builtin_popcountll(countValue == 1 ? value : ~value);
}
/// Where the lowest bit that is `countValue` stands; -1 where there is none.
template <int countValue>
int64_t ScalarGetSFFValue(uint64_t value) {
  static_assert(countValue == 0 || countValue == 1, "a bit is 0 or 1");
  const uint64_t bits = countValue == 1 ? value : ~value;
  return bits == 0 ? -1 : __builtin_ctzll(bits);
}
inline int64_t ScalarCountLeadingZero(uint64_t value) { return value == 0 ? 64 : __builtin_clzll(value); }

}  // namespace AscendC
