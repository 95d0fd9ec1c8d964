// What kernels do with single values and sizes: conversions, bit counts, rounding up, comparing types.
#pragma once

#include "cast.h"

namespace AscendC {

template <typename T, typename U>
struct IsSameType {
  static constexpr bool value = std::is_same_v<T, U>;
};

template <bool condition, typename T, typename U>
struct Conditional {
  using type = std::conditional_t<condition, T, U>;
};

// No templates: kernels have templates of these names, of which calls are not to be ambiguous.
constexpr uint32_t AlignUp(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; }
constexpr int32_t CeilDivision(int32_t value, int32_t unit) { return (value + unit - 1) / unit; }
constexpr uint32_t DivCeil(uint32_t value, uint32_t unit) { return (value + unit - 1) / unit; }

/// Quotients and multiples of whole numbers, rounded up.
template <typename T, typename U, typename = std::enable_if_t<std::is_integral_v<T> && std::is_integral_v<U>>>
constexpr auto Ceil(T value, U unit) {
  return unit == 0 ? std::common_type_t<T, U>(0) : (value + unit - 1) / unit;
}
template <typename T, typename U, typename = std::enable_if_t<std::is_integral_v<T> && std::is_integral_v<U>>>
constexpr auto CeilAlign(T value, U unit) {
  return Ceil(value, unit) * unit;
}

constexpr int16_t GetDataBlockSizeInBytes() { return ONE_BLK_SIZE; }
constexpr uint32_t GetUBSizeInBytes() { return TOTAL_UB_SIZE; }

/// Sizes that the headers' own functions go by, and the mask registers under older names.
class AscendCUtils {
 public:
  static constexpr int32_t GetC0Size() { return DEFAULT_C0_SIZE; }
  static constexpr int32_t GetC0Count(int32_t dtypeSize) { return static_cast<int32_t>(DEFAULT_C0_SIZE) / dtypeSize; }
  static constexpr int32_t GetBitSize(int32_t byteSize) { return byteSize * 8; }
  template <typename T, bool isSetMask = true>
  static void SetMask(uint64_t high, uint64_t low) {
    if constexpr (isSetMask) SetVectorMask<T>(high, low);
  }
  template <typename T, bool isSetMask = true>
  static void SetMask(int32_t count) {
    if constexpr (isSetMask) SetVectorMask<T>(count);
  }
  static void ResetMask() { AscendC::ResetMask(); }
  /// How many elements the last GatherMask kept.
  static int64_t GetRsvdCnt() { return static_cast<int64_t>(mtsim::core().gathered); }
  /// Whether infinities saturate, which they do not here.
  static void SetOverflow(uint64_t) {}
};

/// What the last ReduceSum, ReduceMax or ReduceMin of a count found, from registers.
template <typename T>
T GetReduceRepeatSumSpr() {
  return mtsim::value_of<T>(mtsim::core().reduced.sum);
}
template <typename T>
void GetReduceRepeatMaxMinSpr(T& maxMinValue, T& maxMinIndex) {
  maxMinValue = mtsim::value_of<T>(mtsim::core().reduced.best);
  maxMinIndex = mtsim::value_of<T>(mtsim::core().reduced.index);
}
template <typename T>
void GetReduceRepeatMaxMinSpr(T& maxMinValue) {
  maxMinValue = mtsim::value_of<T>(mtsim::core().reduced.best);
}
/// Their names before CANN 8.
inline uint64_t GetAccVal() { return mtsim::core().reduced.sum; }
template <typename T>
void GetReduceMaxMinCount(T& maxMinValue, T& maxMinIndex) {
  GetReduceRepeatMaxMinSpr(maxMinValue, maxMinIndex);
}

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
