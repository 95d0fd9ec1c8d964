// Advanced elementwise mathematics. Each function exists with and without a count and a buffer for intermediate
// results, which the host does not need; results are rounded once from float.
#pragma once

#include <cmath>
#include <limits>

#include "elementwise.h"

namespace mtsim {

inline float sign(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a; }
inline float sigmoid(float a) { return 1 / (1 + std::exp(-a)); }
inline float gelu_tanh(float a) {  // the usual approximation of the Gaussian error linear unit
  return a * sigmoid(1.5957691216057308f * (a + 0.044715f * a * a * a));
}
/// The derivative of lgamma: by reflection, then upwards to where its expansion at infinity holds.
inline float digamma(float x) {
  double a = x, sum = 0;
  if (a <= 0) {
    if (a == std::floor(a)) return std::numeric_limits<float>::quiet_NaN();
    constexpr double kPi = 3.14159265358979323846;
    sum = -kPi / std::tan(kPi * a);
    a = 1 - a;
  }
  for (; a < 8; ++a) sum -= 1 / a;
  const double b = 1 / (a * a);
  sum += std::log(a) - 0.5 / a - b * (1 / 12.0 - b * (1 / 120.0 - b * (1 / 252.0 - b * (1 / 240.0 - b / 132.0))));
  return static_cast<float>(sum);
}
inline float fast_gelu(float a) { return a * sigmoid(1.702f * a); }

/// The number of elements of an operation that is given none.
template <typename T>
uint32_t count_of(const LocalTensor<T>& src) {
  return src.GetSize();
}

template <typename T>
constexpr void check_math() {
  static_assert(one_of<T, half, float>, "advanced mathematics exists for half and float");
}

}  // namespace mtsim

namespace AscendC {

// clang-format off
#define MTSIM_MATH1(NAME, EXPRESSION)                                                                                 \
  template <typename T, bool isReuseSource = false>                                                                   \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t calCount) {                          \
    mtsim::check_math<T>();                                                                                           \
    mtsim::apply(#NAME, dst, src, static_cast<int32_t>(calCount), [](float a) -> float { return EXPRESSION; });       \
  }                                                                                                                   \
  template <typename T, bool isReuseSource = false>                                                                   \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src) {                                                   \
    NAME<T, isReuseSource>(dst, src, mtsim::count_of(src));                                                           \
  }                                                                                                                   \
  template <typename T, bool isReuseSource = false>                                                                   \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,                        \
            const uint32_t calCount) {                                                                                \
    NAME<T, isReuseSource>(dst, src, calCount);                                                                       \
  }                                                                                                                   \
  template <typename T, bool isReuseSource = false>                                                                   \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&) {                      \
    NAME<T, isReuseSource>(dst, src, mtsim::count_of(src));                                                           \
  }

#define MTSIM_MATH2(NAME, EXPRESSION)                                                                                 \
  template <typename T, bool isReuseSource = false>                                                                   \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,                        \
            const uint32_t calCount) {                                                                                \
    mtsim::check_math<T>();                                                                                           \
    mtsim::apply(#NAME, dst, src0, src1, static_cast<int32_t>(calCount),                                              \
                 [](float a, float b) -> float { return EXPRESSION; });                                               \
  }                                                                                                                   \
  template <typename T, bool isReuseSource = false>                                                                   \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1) {                      \
    NAME<T, isReuseSource>(dst, src0, src1, mtsim::count_of(src0));                                                   \
  }                                                                                                                   \
  template <typename T, bool isReuseSource = false>                                                                   \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,                        \
            const LocalTensor<uint8_t>&, const uint32_t calCount) {                                                   \
    NAME<T, isReuseSource>(dst, src0, src1, calCount);                                                                \
  }                                                                                                                   \
  template <typename T, bool isReuseSource = false>                                                                   \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,                        \
            const LocalTensor<uint8_t>&) {                                                                            \
    NAME<T, isReuseSource>(dst, src0, src1, mtsim::count_of(src0));                                                   \
  }

// A number in place of an operand.
#define MTSIM_MATH_SCALAR(NAME, EXPRESSION)                                                                           \
  template <typename T, bool isReuseSource = false>                                                                   \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const mtsim::Scalar<T>& scalar,                     \
            const uint32_t calCount) {                                                                                \
    mtsim::check_math<T>();                                                                                           \
    mtsim::apply(#NAME, dst, src, static_cast<int32_t>(calCount),                                                     \
                 [b = static_cast<float>(scalar)](float a) -> float { return EXPRESSION; });                          \
  }                                                                                                                   \
  template <typename T, bool isReuseSource = false>                                                                   \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const mtsim::Scalar<T>& scalar,                     \
            const LocalTensor<uint8_t>&, const uint32_t calCount) {                                                   \
    NAME<T, isReuseSource>(dst, src, scalar, calCount);                                                               \
  }

MTSIM_MATH1(Sigmoid, mtsim::sigmoid(a))
MTSIM_MATH1(Tanh, std::tanh(a))
MTSIM_MATH1(Sin, std::sin(a))
MTSIM_MATH1(Cos, std::cos(a))
MTSIM_MATH1(Tan, std::tan(a))
MTSIM_MATH1(Sinh, std::sinh(a))
MTSIM_MATH1(Cosh, std::cosh(a))
MTSIM_MATH1(Asin, std::asin(a))
MTSIM_MATH1(Acos, std::acos(a))
MTSIM_MATH1(Atan, std::atan(a))
MTSIM_MATH1(Asinh, std::asinh(a))
MTSIM_MATH1(Acosh, std::acosh(a))
MTSIM_MATH1(Atanh, std::atanh(a))
MTSIM_MATH1(Erf, std::erf(a))
MTSIM_MATH1(Erfc, std::erfc(a))
MTSIM_MATH1(Log, std::log(a))
MTSIM_MATH1(Log2, std::log2(a))
MTSIM_MATH1(Log10, std::log10(a))
MTSIM_MATH1(Lgamma, std::lgamma(a))
MTSIM_MATH1(Digamma, mtsim::digamma(a))
MTSIM_MATH1(Floor, std::floor(a))
MTSIM_MATH1(Ceil, std::ceil(a))
MTSIM_MATH1(Trunc, std::trunc(a))
MTSIM_MATH1(Round, std::nearbyint(a))
MTSIM_MATH1(Frac, a - std::trunc(a))
MTSIM_MATH1(Sign, mtsim::sign(a))
MTSIM_MATH1(Gelu, mtsim::gelu_tanh(a))
MTSIM_MATH1(FasterGelu, mtsim::fast_gelu(a))

MTSIM_MATH2(Power, std::pow(a, b))
MTSIM_MATH2(Fmod, std::fmod(a, b))
MTSIM_MATH2(Hypot, std::hypot(a, b))
MTSIM_MATH2(GeGLU, a * mtsim::gelu_tanh(b))
MTSIM_MATH2(ReGlu, a * (b > 0 ? b : 0))

MTSIM_MATH_SCALAR(Power, std::pow(a, b))
MTSIM_MATH_SCALAR(ClampMax, a < b ? a : b)
MTSIM_MATH_SCALAR(ClampMin, a > b ? a : b)
// clang-format on

#undef MTSIM_MATH_SCALAR
#undef MTSIM_MATH2
#undef MTSIM_MATH1

/// Bits that differ.
template <typename T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const uint32_t calCount) {
  static_assert(mtsim::one_of<T, int16_t, uint16_t>, "Xor exists for int16_t and uint16_t");
  mtsim::apply("Xor", dst, src0, src1, static_cast<int32_t>(calCount), [](T a, T b) { return a ^ b; });
}
template <typename T, bool isReuseSource = false>
void Xor(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
         const LocalTensor<uint8_t>&, const uint32_t calCount) {
  Xor<T, isReuseSource>(dst, src0, src1, calCount);
}

/// A number to the power of each element.
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const mtsim::Scalar<T>& scalar, const LocalTensor<T>& src,
           const uint32_t calCount) {
  mtsim::check_math<T>();
  mtsim::apply("Power", dst, src, static_cast<int32_t>(calCount),
               [b = static_cast<float>(scalar)](float a) -> float { return std::pow(b, a); });
}
template <typename T, bool isReuseSource = false>
void Power(const LocalTensor<T>& dst, const mtsim::Scalar<T>& scalar, const LocalTensor<T>& src,
           const LocalTensor<uint8_t>&, const uint32_t calCount) {
  Power<T, isReuseSource>(dst, scalar, src, calCount);
}

/// src * sigmoid(src).
template <typename T, bool isReuseSource = false>
void Silu(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize) {
  mtsim::apply("Silu", dst, src, static_cast<int32_t>(dataSize), [](float a) { return a * mtsim::sigmoid(a); });
}
/// src * sigmoid(scalar * src).
template <typename T, bool isReuseSource = false>
void Swish(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint32_t dataSize, const mtsim::Scalar<T> scalar) {
  mtsim::apply("Swish", dst, src, static_cast<int32_t>(dataSize),
               [b = static_cast<float>(scalar)](float a) { return a * mtsim::sigmoid(b * a); });
}
/// src0 * swish(src1).
template <typename T, bool isReuseSource = false>
void SwiGLU(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const float& beta,
            uint32_t calCount) {
  mtsim::apply("SwiGLU", dst, src0, src1, static_cast<int32_t>(calCount),
               [beta](float a, float b) { return a * b * mtsim::sigmoid(beta * b); });
}

/// dst[i] = first + i * step.
template <typename T>
void ArithProgression(const LocalTensor<T>& dst, const mtsim::Scalar<T> first, const mtsim::Scalar<T> step,
                      const int32_t count) {
  T* out = mtsim::elements(dst, count, "ArithProgression", "dst");
  for (int32_t i = 0; i < count; ++i) out[i] = static_cast<T>(first + static_cast<T>(i) * step);
}

template <typename T>
void Arange(const LocalTensor<T>& dst, const mtsim::Scalar<T> first, const mtsim::Scalar<T> step, const int32_t count) {
  ArithProgression(dst, first, step, count);
}

/// Between min and max.
template <typename T, bool isReuseSource = false>
void Clamp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const mtsim::Scalar<T>& min,
           const mtsim::Scalar<T>& max, const uint32_t count) {
  mtsim::check_math<T>();
  mtsim::apply("Clamp", dst, src, static_cast<int32_t>(count),
               [low = static_cast<float>(min), high = static_cast<float>(max)](float a) -> float {
                 return a < low ? low : a > high ? high : a;
               });
}

}  // namespace AscendC
