// Elementwise vector instructions, each in three forms: a count of elements, and repeats with a counted or a
// bitwise mask. The tables below say what an instruction computes and for which types it exists.
#pragma once

#include <cmath>

#include "elementwise.h"

namespace mtsim {

/// dst = finish(dst * src0 + src1).
template <typename T, typename Finish>
void multiply_add(const char* name, const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                  int32_t count, Finish finish) {
  static_assert(one_of<T, half, float>, "products with a sum exist for half and float");
  const Instruction instruction(name, PIPE_V, Flow::Lanes);
  T* out = elements(dst, count, name, "dst");
  touch_elements(out, count, name, "dst", MTSIM_READS);
  const T* left = elements(src0, count, name, "src0");
  const T* right = elements(src1, count, name, "src1");
  MTSIM_INDEPENDENT
  for (int32_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(
        finish(static_cast<float>(out[i]) * static_cast<float>(left[i]) + static_cast<float>(right[i])));
}

}  // namespace mtsim

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

/// dst += scalar * src. A half source may accumulate into float.
template <typename T, typename U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const mtsim::Scalar<U>& scalar, const int32_t& count) {
  static_assert(mtsim::one_of<U, half, float> && (std::is_same_v<T, U> || std::is_same_v<T, float>),
                "Axpy exists for half to half, float to float and half to float");
  const mtsim::Instruction instruction("Axpy", PIPE_V, mtsim::Flow::Lanes);
  T* out = mtsim::elements(dst, count, "Axpy", "dst");
  mtsim::touch_elements(out, count, "Axpy", "dst", MTSIM_READS);
  const U* in = mtsim::elements(src, count, "Axpy", "src");
  const auto factor = static_cast<float>(scalar);
  MTSIM_INDEPENDENT
  for (int32_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(static_cast<float>(out[i]) + factor * static_cast<float>(in[i]));
}

/// dst += src0 * src1.
template <typename T, typename U, bool isSetMask = true>
void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    const int32_t& count) {
  static_assert(mtsim::one_of<U, half, float> && (std::is_same_v<T, U> || std::is_same_v<T, float>),
                "MulAddDst exists for half to half, float to float and half to float");
  const mtsim::Instruction instruction("MulAddDst", PIPE_V, mtsim::Flow::Lanes);
  T* out = mtsim::elements(dst, count, "MulAddDst", "dst");
  mtsim::touch_elements(out, count, "MulAddDst", "dst", MTSIM_READS);
  const U* left = mtsim::elements(src0, count, "MulAddDst", "src0");
  const U* right = mtsim::elements(src1, count, "MulAddDst", "src1");
  MTSIM_INDEPENDENT
  for (int32_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(static_cast<float>(out[i]) + static_cast<float>(left[i]) * static_cast<float>(right[i]));
}

/// A number divided by each element.
template <typename T, bool isSetMask = true>
void Divs(const LocalTensor<T>& dst, const mtsim::Scalar<T>& scalar, const LocalTensor<T>& src, const int32_t& count) {
  static_assert(mtsim::one_of<T, half, float>, "Divs exists for half and float");
  mtsim::apply("Divs", dst, src, count, [b = static_cast<float>(scalar)](float a) { return b / a; });
}

/// dst = dst * src0 + src1.
template <typename T, bool isSetMask = true>
void FusedMulAdd(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    const int32_t& count) {
  mtsim::multiply_add("FusedMulAdd", dst, src0, src1, count, [](float a) { return a; });
}
/// The same, and 0 where that is negative.
template <typename T, bool isSetMask = true>
void FusedMulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
                     const int32_t& count) {
  mtsim::multiply_add("FusedMulAddRelu", dst, src0, src1, count, [](float a) { return a > 0 ? a : 0; });
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

}  // namespace AscendC
