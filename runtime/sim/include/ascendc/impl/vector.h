// Elementwise vector instructions, each in three forms: a count of elements, and repeats with a counted or a
// bitwise mask. The tables below say what an instruction computes and for which types it exists.
#pragma once

#include <cmath>

#include "elementwise.h"

namespace AscendC {

#define MTSIM_CHECK_TYPE(NAME, ...) \
  static_assert(mtsim::one_of<T, __VA_ARGS__>, #NAME " exists for " #__VA_ARGS__ " on this chip")

// clang-format off
#define MTSIM_UNARY(NAME, EXPRESSION, ...)                                                                            \
  template <typename T, bool isSetMask = true>                                                                        \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count) {                             \
    MTSIM_CHECK_TYPE(NAME, __VA_ARGS__);                                                                              \
    mtsim::apply(#NAME, dst, src, count, [](auto a) { return EXPRESSION; });                                          \
  }                                                                                                                   \
  template <typename T, bool isSetMask = true>                                                                        \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, uint8_t repeatTimes,                 \
            const UnaryRepeatParams& params) {                                                                        \
    MTSIM_CHECK_TYPE(NAME, __VA_ARGS__);                                                                              \
    mtsim::apply(#NAME, dst, src, mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, isSetMask, #NAME), params,    \
                 [](auto a) { return EXPRESSION; });                                                                  \
  }                                                                                                                   \
  template <typename T, bool isSetMask = true>                                                                        \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[], uint8_t repeatTimes,         \
            const UnaryRepeatParams& params) {                                                                        \
    MTSIM_CHECK_TYPE(NAME, __VA_ARGS__);                                                                              \
    mtsim::apply(#NAME, dst, src, mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, isSetMask, #NAME), params,    \
                 [](auto a) { return EXPRESSION; });                                                                  \
  }

#define MTSIM_SCALAR(NAME, EXPRESSION, ...)                                                                           \
  template <typename T, bool isSetMask = true>                                                                        \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const mtsim::Scalar<T>& scalar,                     \
            const int32_t& count) {                                                                                   \
    MTSIM_CHECK_TYPE(NAME, __VA_ARGS__);                                                                              \
    mtsim::apply(#NAME, dst, src, count,                                                                              \
                 [b = static_cast<mtsim::Wide<T>>(scalar)](auto a) { return EXPRESSION; });                           \
  }                                                                                                                   \
  template <typename T, bool isSetMask = true>                                                                        \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const mtsim::Scalar<T>& scalar, uint64_t mask,      \
            uint8_t repeatTimes, const UnaryRepeatParams& params) {                                                   \
    MTSIM_CHECK_TYPE(NAME, __VA_ARGS__);                                                                              \
    mtsim::apply(#NAME, dst, src, mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, isSetMask, #NAME), params,    \
                 [b = static_cast<mtsim::Wide<T>>(scalar)](auto a) { return EXPRESSION; });                           \
  }                                                                                                                   \
  template <typename T, bool isSetMask = true>                                                                        \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const mtsim::Scalar<T>& scalar,                     \
            const uint64_t mask[], uint8_t repeatTimes, const UnaryRepeatParams& params) {                            \
    MTSIM_CHECK_TYPE(NAME, __VA_ARGS__);                                                                              \
    mtsim::apply(#NAME, dst, src, mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, isSetMask, #NAME), params,    \
                 [b = static_cast<mtsim::Wide<T>>(scalar)](auto a) { return EXPRESSION; });                           \
  }

#define MTSIM_BINARY(NAME, EXPRESSION, ...)                                                                           \
  template <typename T, bool isSetMask = true>                                                                        \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,                        \
            const int32_t& count) {                                                                                   \
    MTSIM_CHECK_TYPE(NAME, __VA_ARGS__);                                                                              \
    mtsim::apply(#NAME, dst, src0, src1, count, [](auto a, auto b) { return EXPRESSION; });                           \
  }                                                                                                                   \
  template <typename T, bool isSetMask = true>                                                                        \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,         \
            uint8_t repeatTimes, const BinaryRepeatParams& params) {                                                  \
    MTSIM_CHECK_TYPE(NAME, __VA_ARGS__);                                                                              \
    mtsim::apply(#NAME, dst, src0, src1, mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, isSetMask, #NAME),     \
                 params, [](auto a, auto b) { return EXPRESSION; });                                                  \
  }                                                                                                                   \
  template <typename T, bool isSetMask = true>                                                                        \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const uint64_t mask[], \
            uint8_t repeatTimes, const BinaryRepeatParams& params) {                                                  \
    MTSIM_CHECK_TYPE(NAME, __VA_ARGS__);                                                                              \
    mtsim::apply(#NAME, dst, src0, src1, mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, isSetMask, #NAME),     \
                 params, [](auto a, auto b) { return EXPRESSION; });                                                  \
  }

MTSIM_UNARY(Abs, std::fabs(a), half, float)
MTSIM_UNARY(Exp, ::expf(a), half, float)
MTSIM_UNARY(Ln, ::logf(a), half, float)
MTSIM_UNARY(Sqrt, std::sqrt(a), half, float)
MTSIM_UNARY(Rsqrt, 1 / std::sqrt(a), half, float)
MTSIM_UNARY(Reciprocal, 1 / a, half, float)
MTSIM_UNARY(Relu, a > 0 ? a : 0, half, float, int32_t)
MTSIM_UNARY(Neg, -a, half, float, int16_t, int32_t)
MTSIM_UNARY(Not, ~a, int16_t, uint16_t)

MTSIM_SCALAR(Adds, a + b, half, float, int16_t, int32_t)
MTSIM_SCALAR(Muls, a * b, half, float, int16_t, int32_t)
MTSIM_SCALAR(Maxs, a > b ? a : b, half, float, int16_t, int32_t)
MTSIM_SCALAR(Mins, a < b ? a : b, half, float, int16_t, int32_t)
MTSIM_SCALAR(LeakyRelu, a >= 0 ? a : a * b, half, float)
MTSIM_SCALAR(Divs, a / b, half, float)
MTSIM_SCALAR(Ands, a & b, int16_t, uint16_t)
MTSIM_SCALAR(Ors, a | b, int16_t, uint16_t)
MTSIM_SCALAR(ShiftLeft, a << b, int16_t, uint16_t, int32_t, uint32_t)
MTSIM_SCALAR(ShiftRight, a >> b, int16_t, uint16_t, int32_t, uint32_t)

MTSIM_BINARY(Add, a + b, half, float, int16_t, int32_t)
MTSIM_BINARY(Sub, a - b, half, float, int16_t, int32_t)
MTSIM_BINARY(Mul, a * b, half, float, int16_t, int32_t)
MTSIM_BINARY(Div, a / b, half, float)
MTSIM_BINARY(Max, a > b ? a : b, half, float, int16_t, int32_t)
MTSIM_BINARY(Min, a < b ? a : b, half, float, int16_t, int32_t)
MTSIM_BINARY(And, a & b, int16_t, uint16_t)
MTSIM_BINARY(Or, a | b, int16_t, uint16_t)
MTSIM_BINARY(AddRelu, a + b > 0 ? a + b : 0, half, float, int16_t)
MTSIM_BINARY(SubRelu, a - b > 0 ? a - b : 0, half, float, int16_t)
// clang-format on

#undef MTSIM_BINARY
#undef MTSIM_SCALAR
#undef MTSIM_UNARY
#undef MTSIM_CHECK_TYPE

/// A number divided by each element.
template <typename T, bool isSetMask = true>
void Divs(const LocalTensor<T>& dst, const mtsim::Scalar<T>& scalar, const LocalTensor<T>& src, const int32_t& count) {
  static_assert(mtsim::one_of<T, half, float>, "Divs exists for half and float");
  mtsim::apply("Divs", dst, src, count, [b = static_cast<float>(scalar)](float a) { return b / a; });
}

/// Fills `count` elements with one value.
template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const mtsim::Scalar<T>& value, const int32_t& count) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Duplicate exists for types of 2 and 4 bytes on this chip");
  T* out = mtsim::elements(dst, count, "Duplicate", "dst");
  for (int32_t i = 0; i < count; ++i) out[i] = value;
}

namespace detail {
template <typename T>
void duplicate(const LocalTensor<T>& dst, const T& value, const mtsim::Lanes& lanes, uint16_t block, uint8_t repeat) {
  const auto out = mtsim::strided(dst, lanes, block, repeat, "Duplicate", "dst");
  mtsim::for_lanes(lanes, mtsim::per_repeat<T>, [&](uint32_t r, uint32_t lane) { out.at(r, lane) = value; });
}
}  // namespace detail

template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const mtsim::Scalar<T>& value, uint64_t mask, uint8_t repeatTimes,
               uint16_t dstBlockStride, uint8_t dstRepeatStride) {
  const auto lanes = mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, isSetMask, "Duplicate");
  detail::duplicate(dst, value, lanes, dstBlockStride, dstRepeatStride);
}
template <typename T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, const mtsim::Scalar<T>& value, const uint64_t mask[], uint8_t repeatTimes,
               uint16_t dstBlockStride, uint8_t dstRepeatStride) {
  const auto lanes = mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, isSetMask, "Duplicate");
  detail::duplicate(dst, value, lanes, dstBlockStride, dstRepeatStride);
}

/// dst[i] = first + i * step.
template <typename T>
void CreateVecIndex(const LocalTensor<T>& dst, const mtsim::Scalar<T>& first, uint32_t count) {
  T* out = mtsim::elements(dst, count, "CreateVecIndex", "dst");
  for (uint32_t i = 0; i < count; ++i) out[i] = static_cast<T>(first + static_cast<T>(static_cast<int32_t>(i)));
}
namespace detail {
template <typename T>
void create_index(const LocalTensor<T>& dst, T first, const mtsim::Lanes& lanes, uint16_t block, uint8_t repeat) {
  const auto out = mtsim::strided(dst, lanes, block, repeat, "CreateVecIndex", "dst");
  mtsim::for_lanes(lanes, mtsim::per_repeat<T>, [&](uint32_t r, uint32_t lane) {
    out.at(r, lane) = static_cast<T>(first + static_cast<T>(static_cast<int32_t>(r * mtsim::per_repeat<T> + lane)));
  });
}
}  // namespace detail
/// The same for lanes: i counts those that the mask leaves out, too.
template <typename T>
void CreateVecIndex(const LocalTensor<T>& dst, const mtsim::Scalar<T>& first, uint64_t mask, uint8_t repeatTimes,
                    uint16_t dstBlkStride, uint8_t dstRepStride) {
  const auto lanes = mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, true, "CreateVecIndex");
  detail::create_index<T>(dst, first, lanes, dstBlkStride, dstRepStride);
}
template <typename T>
void CreateVecIndex(const LocalTensor<T>& dst, const mtsim::Scalar<T>& first, const uint64_t mask[],
                    uint8_t repeatTimes, uint16_t dstBlkStride, uint8_t dstRepStride) {
  const auto lanes = mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, true, "CreateVecIndex");
  detail::create_index<T>(dst, first, lanes, dstBlkStride, dstRepStride);
}

}  // namespace AscendC
