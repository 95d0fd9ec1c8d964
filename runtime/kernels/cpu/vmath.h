// Elementary functions on float in straight-line code, so that loops over them vectorise; on double the C library's.
#pragma once

#include <cmath>
#include <limits>

#include "tensor.h"

namespace mt {

MT_INLINE float bits_to_float(int32_t bits) {
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}

MT_INLINE int32_t float_to_bits(float f) {
  int32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  return bits;
}

MT_INLINE float power_of_two(int32_t exponent) { return bits_to_float(int32_t(uint32_t(exponent + 127) << 23)); }

// A choice by bits: unlike ?:, it never becomes a branch that keeps a loop from vectorising.
MT_INLINE float select(bool condition, float a, float b) {
  const int32_t mask = -int32_t(condition);
  return bits_to_float((float_to_bits(a) & mask) | (float_to_bits(b) & ~mask));
}

// e^x = 2^k e^r with |r| <= ln2/2; a degree 6 polynomial for e^r; relative error below 2 ulp.
MT_INLINE float vexp(float x) {
  const float raised = x > -104.0f ? x : -104.0f;  // also for NaN, which has no integer part
  const float clipped = raised > 88.8f ? 88.8f : raised;
  const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const float k = (clipped * 1.44269504088896341f + shift) - shift;
  const float r = (clipped - k * 0.693359375f) + k * 2.12194440e-4f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const int32_t half_k = int32_t(k) >> 1;  // in two factors, so that results near the ends of the range stay finite
  const int32_t rest_k = int32_t(k) - half_k;
  const float y = p * power_of_two(half_k) * power_of_two(rest_k);
  return x != x ? x : (x > 88.73f ? std::numeric_limits<float>::infinity() : y);
}
MT_INLINE double vexp(double x) { return std::exp(x); }

// tanh by its Taylor-like odd polynomial near 0, where 1 - 2/(e^2x + 1) would cancel.
MT_INLINE float vtanh(float x) {
  const float a = std::fabs(x);
  const float big = 1.0f - 2.0f / (vexp(2.0f * a) + 1.0f);
  const float s = x * x;
  float p = -5.70498872745e-3f;
  p = p * s + 2.06390887954e-2f;
  p = p * s - 5.37397155531e-2f;
  p = p * s + 1.33314422036e-1f;
  p = p * s - 3.33332819422e-1f;
  const float small = a + a * s * p;
  return std::copysign(a < 0.625f ? small : big, x);  // of -0 too
}
MT_INLINE double vtanh(double x) { return std::tanh(x); }

template <class T>
MT_INLINE T vsigmoid(T x) {
  const T e = vexp(x < 0 ? x : -x);  // of the negative magnitude, which cannot overflow
  const T y = T(1) / (T(1) + e);
  return x < 0 ? e * y : y;
}

// erf: an odd polynomial below 1; above, 1 - e^q(x), where q approximates ln(erfc(x)). Fitted at Chebyshev nodes.
MT_INLINE float verf(float x) {
  const float a = std::fabs(x);
  const float s = x * x;
  float p = 7.882497117e-05f;
  p = p * s - 8.018854994e-04f;
  p = p * s + 5.189311943e-03f;
  p = p * s - 2.685432880e-02f;
  p = p * s + 1.128359746e-01f;
  p = p * s - 3.761262690e-01f;
  p = p * s + 1.128379166e+00f;
  const float c = a > 4.0f ? 4.0f : a;
  float q = 1.614061607e-06f;
  q = q * c - 4.559062253e-05f;
  q = q * c + 5.927695386e-04f;
  q = q * c - 4.740222345e-03f;
  q = q * c + 2.636471737e-02f;
  q = q * c - 1.099782451e-01f;
  q = q * c - 6.319370936e-01f;
  q = q * c - 1.130166676e+00f;
  q = q * c + 3.032129732e-04f;
  return a < 1.0f ? x * p : (x != x ? x : std::copysign(1.0f - vexp(q), x));
}
MT_INLINE double verf(double x) { return std::erf(x); }

// e^x for x from -87 to 0, where the result is a normal number: `vexp` without its ends.
MT_INLINE float vexp_of_negative(float x) {
  const float shift = 12582912.0f;
  const float k = (x * 1.44269504088896341f + shift) - shift;
  const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * power_of_two(int32_t(k));
}

// The normal distribution's share below x. Below 0 it is e^(-z^2) r(z) for z = |x| / sqrt 2, where r, half the scaled complement of
// erf, is a ratio of two polynomials without a negative term: nothing cancels. Fitted at Chebyshev nodes.
MT_INLINE float vnormal(float x) {
  const float given = std::fabs(x) * 0.70710678118654752440f;
  const float z = given < 9.3f ? given : 9.3f;
  float p = 1.635412114e-02f;
  p = p * z + 1.143992317e-01f;
  p = p * z + 3.653612593e-01f;
  p = p * z + 6.187844471e-01f;
  p = p * z + 5.000000028e-01f;
  float q = 5.797313643e-02f;
  q = q * z + 4.055615388e-01f;
  q = q * z + 1.323722788e+00f;
  q = q * z + 2.400400476e+00f;
  q = q * z + 2.365948629e+00f;
  q = q * z + 1.0f;
  const float tail = vexp_of_negative(-z * z) * (p / q);
  const float below = given < 9.3f ? tail : 0.0f;
  return x != x ? x : (x < 0 ? below : 1.0f - below);
}
MT_INLINE double vnormal(double x) { return 0.5 * (1.0 + std::erf(x * 0.70710678118654752440)); }

// log on float through the exponent and a polynomial in s = (m-1)/(m+1). The cases are told apart by integer
// comparisons: floating-point ones may trap, and would keep the loop from vectorising.
MT_INLINE float vlog(float x) {
  constexpr int32_t kInfinity = 0x7F800000, kSmallestNormal = 0x00800000;
  const int32_t given = float_to_bits(x);
  const float raised = x * 8388608.0f;  // of a subnormal, normal
  const int32_t bits = float_to_bits(select(given < kSmallestNormal, raised, x));
  const int32_t shift = given < kSmallestNormal ? 23 : 0;
  const int32_t e = int32_t(uint32_t(bits) - 0x3F3504F3u) >> 23;  // of the mantissa in [sqrt(1/2), sqrt(2))
  const float m = bits_to_float(int32_t(uint32_t(bits) - (uint32_t(e) << 23)));
  const float exponent = float(e - shift);
  const float f = m - 1.0f;
  const float s = f / (2.0f + f);
  const float z = s * s;
  float p = 0.24279078841f;
  p = p * z + 0.28498786688f;
  p = p * z + 0.40000972152f;
  p = p * z + 0.66666662693f;
  const float half_square = 0.5f * f * f;
  const float tail = s * (half_square + p * z) + exponent * 9.0580006145e-6f;
  const float y = exponent * 0.69313812256f - ((half_square - tail) - f);
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float outside = select(given >= kInfinity, x, select(uint32_t(given) << 1 == 0, -infinity, nan));
  return select(uint32_t(given) - 1u < uint32_t(kInfinity) - 1u, y, outside);  // given in [1, infinity)
}
MT_INLINE double vlog(double x) { return std::log(x); }

}  // namespace mt
