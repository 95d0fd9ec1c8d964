// Two operands at a time, and the result of another type: what is added, subtracted or multiplied is converted at once.
#pragma once

#include "cast.h"
#include "elementwise.h"

namespace mtsim {

template <typename D, typename S, typename Operation>
void apply_and_cast(const char* name, const LocalTensor<D>& dst, const LocalTensor<S>& src0, const LocalTensor<S>& src1,
                    uint32_t count, Operation operation) {
  const Instruction instruction(name, PIPE_V, Flow::Lanes);
  D* out = elements(dst, count, name, "dst");
  const S* left = elements(src0, count, name, "src0");
  const S* right = elements(src1, count, name, "src1");
  for (uint32_t i = 0; i < count; ++i)
    out[i] = operation(static_cast<Wide<S>>(left[i]), static_cast<Wide<S>>(right[i]));
}

/// The conversions that these instructions have.
template <typename D, typename S>
constexpr bool casts_down = (std::is_same_v<S, float> && std::is_same_v<D, half>) ||
                            (one_of<S, half, int16_t> && std::is_same_v<D, int8_t>);

template <typename D, typename W>
D narrow(W value) {
  return convert<D, W, RoundMode::CAST_RINT>(value);
}

}  // namespace mtsim

namespace AscendC {

/// float to half, half to int8_t and int16_t to int8_t; below 0 the result is 0.
template <typename T, typename U, bool isSetMask = true>
void AddReluCast(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                 const uint32_t count) {
  static_assert(mtsim::casts_down<T, U>, "AddReluCast exists for float to half, half to int8_t, int16_t to int8_t");
  mtsim::apply_and_cast("AddReluCast", dst, src0, src1, count, [](auto a, auto b) {
    const auto sum = static_cast<decltype(a)>(a + b);
    return mtsim::narrow<T>(sum > 0 ? sum : decltype(sum){0});
  });
}
template <typename T, typename U, bool isSetMask = true>
void SubReluCast(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                 const uint32_t count) {
  static_assert(mtsim::casts_down<T, U>, "SubReluCast exists for float to half, half to int8_t, int16_t to int8_t");
  mtsim::apply_and_cast("SubReluCast", dst, src0, src1, count, [](auto a, auto b) {
    const auto difference = static_cast<decltype(a)>(a - b);
    return mtsim::narrow<T>(difference > 0 ? difference : decltype(difference){0});
  });
}
template <typename T, typename U, bool isSetMask = true>
void MulCast(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, const uint32_t count) {
  static_assert(std::is_same_v<U, half> && mtsim::one_of<T, int8_t, uint8_t>,
                "MulCast exists for half to int8_t and half to uint8_t");
  mtsim::apply_and_cast("MulCast", dst, src0, src1, count, [](float a, float b) { return mtsim::narrow<T>(a * b); });
}
/// Integers of the matrix unit, times the scale of SetDeqScale.
template <typename T, typename U, bool isSetMask = true>
void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
                const int32_t& count) {
  static_assert(std::is_same_v<T, half> && std::is_same_v<U, int32_t>, "AddDeqRelu exists for int32_t to half");
  mtsim::apply_and_cast("AddDeqRelu", dst, src0, src1, static_cast<uint32_t>(count), [](int32_t a, int32_t b) {
    const float scaled = static_cast<float>(int64_t{a} + b) * mtsim::core().deq_scale;
    return mtsim::narrow<half>(scaled > 0 ? scaled : 0.0f);
  });
}

}  // namespace AscendC
