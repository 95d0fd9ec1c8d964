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

// A choice by bits: unlike ?:, it never becomes a branch that keeps a loop from vectorising.
MT_INLINE float select(bool condition, float a, float b) {
  const int32_t mask = -int32_t(condition);
  return bits_to_float((float_to_bits(a) & mask) | (float_to_bits(b) & ~mask));
}

// What floats are limited to by their bits: comparisons of floats, of which there are several in a row, become a branch or a
// mask each. Below `least`, which is negative, and above `most`, which is positive; NaN becomes one of them.
MT_INLINE float limited(float x, float least, float most) {
  const int32_t positive = float_to_bits(most), given = float_to_bits(x);
  const uint32_t below = uint32_t(given < positive ? given : positive);  // a negative number is a negative integer
  const uint32_t negative = uint32_t(float_to_bits(least));
  return bits_to_float(int32_t(below < negative ? below : negative));  // and the larger, the further from 0
}

// (e^r - 1 - r) / r^2 for |r| <= ln2/2; the error of r^2 times it is 1.4e-8 r. Fitted for the least largest error.
MT_INLINE float vexp_tail(float r) {
  float p = 1.394760679e-03f;
  p = p * r + 8.367251605e-03f;
  p = p * r + 4.166626558e-02f;
  p = p * r + 1.666653752e-01f;
  return p * r + 0.5f;
}

// x = k ln2 + r, where k is a whole number below 2^21 in magnitude: `shifted` holds it in its last bits.
struct Reduced {
  float r;
  int32_t shifted;
  MT_INLINE explicit Reduced(float x) {
    constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, and its last nine bits are 0
    const float sum = x * 1.44269504088896341f + kShift;
    const float k = sum - kShift;
    r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    shifted = float_to_bits(sum);
  }
  // k in the place of a float's exponent.
  MT_INLINE int32_t exponent() const { return int32_t(uint32_t(shifted) << 23); }
};

// e^x = 2^k e^r; relative error below 2 ulp.
MT_INLINE float vexp(float x) {
  constexpr int32_t kLeast = -125 * (1 << 23), kOne = 127 << 23, kInfinity = 255 << 23;
  const Reduced x_(limited(x, -104.0f, 89.0f));
  const int32_t given = x_.exponent();
  const int32_t normal = given > kLeast ? given : kLeast;  // beyond it 2^k is two factors, and the result subnormal
  const float p = (vexp_tail(x_.r) * x_.r + 1.0f) * x_.r + 1.0f;
  const float y = bits_to_float(float_to_bits(p) + normal) * bits_to_float(given - normal + kOne);
  const int32_t bits = float_to_bits(y);
  const float finite = bits_to_float(bits < kInfinity ? bits : kInfinity);
  return x != x ? x : finite;
}
MT_INLINE double vexp(double x) { return std::exp(x); }

// tanh a = m / (m + 2), where m = e^2a - 1 = 2^k (e^r - 1) + (2^k - 1): nothing cancels.
MT_INLINE float vtanh(float x) {
  const int32_t bits = float_to_bits(x);
  const float a = limited(bits_to_float(bits & 0x7fffffff), -0.0f, 9.1f);  // beyond it the result is 1
  const Reduced doubled(2.0f * a);
  const float r = doubled.r, scale = bits_to_float(doubled.exponent() + (127 << 23));
  const float m = scale * (vexp_tail(r) * (r * r) + r) + (scale - 1.0f);
  const float y = m / (m + 2.0f);
  return x != x ? x : bits_to_float(float_to_bits(y) | (bits & int32_t(0x80000000)));
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
  const Reduced x_(x);
  const float p = (vexp_tail(x_.r) * x_.r + 1.0f) * x_.r + 1.0f;
  return bits_to_float(float_to_bits(p) + x_.exponent());
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
