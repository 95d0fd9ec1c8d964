// Elementary functions in straight-line code, so that loops over them vectorise: on float all, on double those that others are made of.
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

MT_INLINE double bits_to_double(int64_t bits) {
  double f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}
MT_INLINE int64_t double_to_bits(double f) {
  int64_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  return bits;
}
MT_INLINE double select(bool condition, double a, double b) {
  const int64_t mask = -int64_t(condition);
  return bits_to_double((double_to_bits(a) & mask) | (double_to_bits(b) & ~mask));
}
MT_INLINE double limited(double x, double least, double most) {
  const int64_t positive = double_to_bits(most), given = double_to_bits(x);
  const uint64_t below = uint64_t(given < positive ? given : positive);
  const uint64_t negative = uint64_t(double_to_bits(least));
  return bits_to_double(int64_t(below < negative ? below : negative));
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
  static constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, and its last nine bits are 0
  MT_INLINE explicit Reduced(float x) {
    const float sum = x * 1.44269504088896341f + kShift;
    const float k = sum - kShift;
    r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
    shifted = float_to_bits(sum);
  }
  MT_INLINE Reduced(float remainder, float sum) : r(remainder), shifted(float_to_bits(sum)) {}
  // Of x ln2.
  MT_INLINE static Reduced of_two(float x) {
    const float sum = x + kShift;
    return {(x - (sum - kShift)) * 0.693147180559945309f, sum};
  }
  // k in the place of a float's exponent.
  MT_INLINE int32_t exponent() const { return int32_t(uint32_t(shifted) << 23); }
};

// 2^k e^r of a number that was reduced; NaN of NaN. Relative error below 2 ulp.
MT_INLINE float vexp_of(const Reduced& x_, float x) {
  constexpr int32_t kLeast = -125 * (1 << 23), kOne = 127 << 23, kInfinity = 255 << 23;
  const int32_t given = x_.exponent();
  const int32_t normal = given > kLeast ? given : kLeast;  // beyond it 2^k is two factors, and the result subnormal
  const float p = (vexp_tail(x_.r) * x_.r + 1.0f) * x_.r + 1.0f;
  const float y = bits_to_float(float_to_bits(p) + normal) * bits_to_float(given - normal + kOne);
  const int32_t bits = float_to_bits(y);
  const float finite = bits_to_float(bits < kInfinity ? bits : kInfinity);
  return x != x ? x : finite;
}
MT_INLINE float vexp(float x) { return vexp_of(Reduced(limited(x, -104.0f, 89.0f)), x); }

// The same of double, where the series of e^r, to the last term that counts, is near enough.
MT_INLINE double vexp_tail(double r) {
  double p = 1.1470745597729725e-11;  // 1 / 14!
  p = p * r + 1.6059043836821613e-10;
  p = p * r + 2.0876756987868099e-09;
  p = p * r + 2.5052108385441719e-08;
  p = p * r + 2.7557319223985891e-07;
  p = p * r + 2.7557319223985893e-06;
  p = p * r + 2.4801587301587302e-05;
  p = p * r + 1.9841269841269841e-04;
  p = p * r + 1.3888888888888889e-03;
  p = p * r + 8.3333333333333333e-03;
  p = p * r + 4.1666666666666667e-02;
  p = p * r + 1.6666666666666667e-01;
  return p * r + 0.5;
}
struct WideReduced {
  double r;
  int64_t shifted;
  MT_INLINE explicit WideReduced(double x) {
    constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52
    const double sum = x * 1.44269504088896340736 + kShift;
    const double k = sum - kShift;
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    shifted = double_to_bits(sum);
  }
  MT_INLINE int64_t exponent() const { return int64_t(uint64_t(shifted) << 52); }
};
MT_INLINE double vexp(double x) {
  constexpr int64_t kBit = int64_t(1) << 52, kLeast = -1021 * kBit, kOne = 1023 * kBit, kInfinity = 2047 * kBit;
  const WideReduced x_(limited(x, -746.0, 710.0));
  const int64_t given = x_.exponent();
  const int64_t normal = given > kLeast ? given : kLeast;
  const double p = (vexp_tail(x_.r) * x_.r + 1.0) * x_.r + 1.0;
  const double y = bits_to_double(double_to_bits(p) + normal) * bits_to_double(given - normal + kOne);
  const int64_t bits = double_to_bits(y);
  const double finite = bits_to_double(bits < kInfinity ? bits : kInfinity);
  return x != x ? x : finite;
}
MT_INLINE float vexp2(float x) { return vexp_of(Reduced::of_two(limited(x, -150.0f, 128.0f)), x); }
MT_INLINE double vexp2(double x) { return std::exp2(x); }

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
MT_INLINE double vtanh(double x) {
  const int64_t bits = double_to_bits(x), sign = bits & std::numeric_limits<int64_t>::min();
  const double a = limited(bits_to_double(bits ^ sign), -0.0, 19.1);
  const WideReduced doubled(2.0 * a);
  const double r = doubled.r, scale = bits_to_double(doubled.exponent() + (int64_t(1023) << 52));
  const double m = scale * (vexp_tail(r) * (r * r) + r) + (scale - 1.0);
  const double y = m / (m + 2.0);
  return x != x ? x : bits_to_double(double_to_bits(y) | sign);
}

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

// x = 2^exponent m, where m lies in [sqrt(1/2), sqrt(2)), and ln m = f - (half_square - tail). The cases are told apart by integer
// comparisons: floating-point ones may trap, and would keep the loop from vectorising.
struct Parts {
  float exponent, f, half_square, tail;
  MT_INLINE explicit Parts(float x) {
    constexpr int32_t kSmallestNormal = 0x00800000;
    const int32_t given = float_to_bits(x);
    const float raised = x * 8388608.0f;  // of a subnormal, normal
    const int32_t bits = float_to_bits(select(given < kSmallestNormal, raised, x));
    const int32_t shift = given < kSmallestNormal ? 23 : 0;
    const int32_t e = int32_t(uint32_t(bits) - 0x3F3504F3u) >> 23;
    const float m = bits_to_float(int32_t(uint32_t(bits) - (uint32_t(e) << 23)));
    exponent = float(e - shift);
    f = m - 1.0f;
    const float s = f / (2.0f + f);
    const float z = s * s;
    float p = 0.24279078841f;
    p = p * z + 0.28498786688f;
    p = p * z + 0.40000972152f;
    p = p * z + 0.66666662693f;
    half_square = 0.5f * f * f;
    tail = s * (half_square + p * z);
  }
  // ln m, times a factor in double, and the exponent times that of 2.
  MT_INLINE float in_base(double of_e, double of_2) const {
    return float(double(exponent) * of_2 + double(f - (half_square - tail)) * of_e);
  }
};

// A logarithm's value y, or what it is of x outside of (0, infinity).
MT_INLINE float of_positive(float x, float y) {
  constexpr int32_t kInfinity = 0x7F800000;
  const int32_t given = float_to_bits(x);
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float outside = select(given >= kInfinity, x, select(uint32_t(given) << 1 == 0, -infinity, nan));
  return select(uint32_t(given) - 1u < uint32_t(kInfinity) - 1u, y, outside);  // given in [1, infinity)
}

MT_INLINE float vlog(float x) {
  const Parts p(x);
  const float tail = p.tail + p.exponent * 9.0580006145e-6f;
  return of_positive(x, p.exponent * 0.69313812256f - ((p.half_square - tail) - p.f));
}

// The same of double, where the series of the logarithm in s is near enough.
MT_INLINE double vlog(double x) {
  constexpr int64_t kInfinity = int64_t(2047) << 52, kSmallestNormal = int64_t(1) << 52;
  const int64_t given = double_to_bits(x);
  const double raised = x * 18014398509481984.0;  // 2^54
  const int64_t bits = double_to_bits(select(given < kSmallestNormal, raised, x));
  const int64_t shift = given < kSmallestNormal ? 54 : 0;
  const uint64_t above = (uint64_t(bits) - 0x3FE6A09E667F3BCDull) + (uint64_t(2048) << 52);  // which is shifted without a sign
  const int64_t e = int64_t(above >> 52) - 2048;
  const double m = bits_to_double(int64_t(uint64_t(bits) - (uint64_t(e) << 52)));
  // A small whole number as a double, without an instruction that few processors have for vectors.
  const double exponent = bits_to_double((e - shift + 4096) | 0x4330000000000000) - (4503599627370496.0 + 4096.0);
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double p = 2.0 / 23;
  p = p * z + 2.0 / 21;
  p = p * z + 2.0 / 19;
  p = p * z + 2.0 / 17;
  p = p * z + 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  const double half_square = 0.5 * f * f;
  const double tail = s * (half_square + p * z) + exponent * 1.90821492927058770002e-10;
  const double y = exponent * 6.93147180369123816490e-01 - ((half_square - tail) - f);
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double outside = select(given >= kInfinity, x, select(uint64_t(given) << 1 == 0, -infinity, nan));
  return select(uint64_t(given) - 1u < uint64_t(kInfinity) - 1u, y, outside);
}

// In base 2 and 10, where powers of these come out whole.
MT_INLINE float vlog2(float x) { return of_positive(x, Parts(x).in_base(1.44269504088896340736, 1.0)); }
MT_INLINE double vlog2(double x) { return std::log2(x); }
MT_INLINE float vlog10(float x) { return of_positive(x, Parts(x).in_base(0.43429448190325182765, 0.30102999566398119521)); }
MT_INLINE double vlog10(double x) { return std::log10(x); }

// log(1 + x): what 1 + x is rounded by is made up for to the first order.
MT_INLINE float vlog1p(float x) {
  const float u = 1.0f + x;
  const float y = vlog(u) + (x - (u - 1.0f)) / u;
  const float found = select(x > 1e9f, vlog(x), y);  // to infinity
  return select(x > -1.0f, select(uint32_t(float_to_bits(x)) << 1 == 0, x, found), vlog(u));
}
MT_INLINE double vlog1p(double x) {
  const double u = 1.0 + x;
  const double y = vlog(u) + (x - (u - 1.0)) / u;
  const double found = select(x > 1e18, vlog(x), y);
  return select(x > -1.0, select(uint64_t(double_to_bits(x)) << 1 == 0, x, found), vlog(u));
}

// e^x - 1 = 2^k (e^r - 1) + (2^k - 1): nothing cancels.
MT_INLINE float vexpm1(float x) {
  const Reduced x_(limited(x, -20.0f, 80.0f));
  const float r = x_.r, scale = bits_to_float(x_.exponent() + (127 << 23));
  const float m = scale * (vexp_tail(r) * (r * r) + r) + (scale - 1.0f);
  const float y = select(x > 79.0f, vexp(x), m);
  return x != x ? x : select(uint32_t(float_to_bits(x)) << 1 == 0, x, y);
}
MT_INLINE double vexpm1(double x) {
  const WideReduced x_(limited(x, -40.0, 700.0));
  const double r = x_.r, scale = bits_to_double(x_.exponent() + (int64_t(1023) << 52));
  const double m = scale * (vexp_tail(r) * (r * r) + r) + (scale - 1.0);
  const double y = select(x > 699.0, vexp(x), m);
  return x != x ? x : select(uint64_t(double_to_bits(x)) << 1 == 0, x, y);
}

// sin, cos and tan by way of double: x = k pi/2 + r, where k is so small that its products with the first part of pi/2 are exact.
struct Turned {
  double sine, cosine;  // of r
  int32_t quarter;      // the last bits of k
  MT_INLINE explicit Turned(float given) {
    constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52
    const double x = double(given);
    const double sum = x * 0.63661977236758134308 + kShift;
    const double k = sum - kShift;
    int64_t bits;
    std::memcpy(&bits, &sum, sizeof bits);
    quarter = int32_t(bits);
    const double r = (x - k * 1.5707963267341256) - k * 6.077100506506192e-11;
    const double s = r * r;
    double p = 2.7557319223985893e-06;
    p = p * s - 1.9841269841269841e-04;
    p = p * s + 8.3333333333333333e-03;
    p = p * s - 1.6666666666666667e-01;
    sine = r + r * (s * p);
    double q = -2.7557319223985888e-07;
    q = q * s + 2.4801587301587302e-05;
    q = q * s - 1.3888888888888889e-03;
    q = q * s + 4.1666666666666667e-02;
    cosine = 1.0 - 0.5 * s + (s * s) * q;
  }
  // The sine of x and some quarters of a turn.
  MT_INLINE float turned(int32_t quarters) const {
    const int32_t n = quarter + quarters;
    const float y = select((n & 1) != 0, float(cosine), float(sine));
    return bits_to_float(float_to_bits(y) ^ int32_t(uint32_t(n & 2) << 30));
  }
};
constexpr float kFewTurns = 1e5f;  // what they are good for; the C library is asked beyond
MT_INLINE float vsin(float x) { return select(uint32_t(float_to_bits(x)) << 1 == 0, x, Turned(x).turned(0)); }
MT_INLINE float vcos(float x) { return Turned(x).turned(1); }
MT_INLINE float vtan(float x) {
  const Turned t(x);
  const double y = (t.quarter & 1) != 0 ? -t.cosine / t.sine : t.sine / t.cosine;
  return select(uint32_t(float_to_bits(x)) << 1 == 0, x, float(y));
}

// The angle of (x, y), as of `atan2`, near enough for float: an odd polynomial of the smaller part of the larger, fitted at Chebyshev
// nodes. Numbers that are not negative are compared by their bits.
MT_INLINE double angle(double y, double x) {
  constexpr int64_t kSign = std::numeric_limits<int64_t>::min(), kInfinity = int64_t(2047) << 52;
  const int64_t across = double_to_bits(x) & ~kSign, up = double_to_bits(y) & ~kSign;
  const bool steep = up > across;
  const int64_t smaller = steep ? across : up, larger = steep ? up : across;
  const double given = bits_to_double(smaller) / bits_to_double(larger);
  const double q = select(larger == 0, 0.0, select(smaller == kInfinity && larger == kInfinity, 1.0, given));
  const double s = q * q;
  double p = -0.000273628280603363;
  p = p * s + 0.002208749508784376;
  p = p * s - 0.008374919757961216;
  p = p * s + 0.020161771325034078;
  p = p * s - 0.03551189293006107;
  p = p * s + 0.050635104654610796;
  p = p * s - 0.06375160465988389;
  p = p * s + 0.07617388191111807;
  p = p * s - 0.0907752737794047;
  p = p * s + 0.11109537094170996;
  p = p * s - 0.1428560207200324;
  p = p * s + 0.199999957891417;
  p = p * s - 0.3333333327068486;
  p = p * s + 0.9999999999984468;
  const double first = q * p;
  const double upright = select(steep, 1.57079632679489661923 - first, first);
  const double half = select(double_to_bits(x) < 0, 3.14159265358979323846 - upright, upright);
  return bits_to_double(double_to_bits(half) | (double_to_bits(y) & kSign));
}
MT_INLINE float vatan2(float y, float x) { return float(angle(double(y), double(x))); }
MT_INLINE double vatan2(double y, double x) { return std::atan2(y, x); }
MT_INLINE float vatan(float x) { return float(angle(double(x), 1.0)); }
MT_INLINE double vatan(double x) { return std::atan(x); }
// The other side of the triangle is exact enough as the root of two factors.
MT_INLINE float vasin(float x) { return float(angle(double(x), std::sqrt((1.0 - double(x)) * (1.0 + double(x))))); }
MT_INLINE double vasin(double x) { return std::asin(x); }
MT_INLINE float vacos(float x) { return float(angle(std::sqrt((1.0 - double(x)) * (1.0 + double(x))), double(x))); }
MT_INLINE double vacos(double x) { return std::acos(x); }

// erfc: e^(-x^2) times a polynomial of t = (x - 5/2) / (x + 5/2), fitted at Chebyshev nodes.
MT_INLINE float verfc(float x) {
  const double a = limited(std::fabs(double(x)), -0.0, 10.1);  // beyond it the result is 0
  const double t = (a - 2.5) / (a + 2.5);
  double p = 5.071482340918087e-08;
  p = p * t - 1.4240994886860395e-07;
  p = p * t - 1.5446429274564427e-06;
  p = p * t - 1.9369610276662008e-06;
  p = p * t + 7.5178321627379985e-06;
  p = p * t + 1.8411476726753973e-05;
  p = p * t - 3.42162527866267e-05;
  p = p * t - 0.00012882068635319474;
  p = p * t + 0.00022839602419722854;
  p = p * t + 0.0008759070304965455;
  p = p * t - 0.0026423686298910312;
  p = p * t - 0.003993700507026676;
  p = p * t + 0.03992253927247745;
  p = p * t - 0.1250330524027438;
  p = p * t + 0.2517131932122228;
  p = p * t - 0.3717367339487007;
  p = p * t + 0.21080636406116582;
  const double y = vexp(-a * a) * p;
  return x != x ? x : float(select(float_to_bits(x) < 0, 2.0 - y, y));
}
MT_INLINE double verfc(double x) { return std::erfc(x); }

// The inverse of erf: x times a polynomial of w = -ln(1 - x^2), and of its root where that is large (M. Giles, Approximating the erfinv
// function, 2011, has this form); fitted at Chebyshev nodes.
MT_INLINE float verfinv(float x) {
  const double given = double(x), w = -vlog((1.0 - given) * (1.0 + given));
  const double t = limited(w, -0.0, 5.0) * 0.4 - 1.0;
  double p = 2.931136941411357e-06;
  p = p * t + 4.149577447853983e-06;
  p = p * t - 4.140043595374816e-05;
  p = p * t + 2.5157435321732e-05;
  p = p * t + 0.0002921357795853094;
  p = p * t - 0.0008364687381698571;
  p = p * t - 0.0004878764749184575;
  p = p * t + 0.008525934497792318;
  p = p * t - 0.01957356427064713;
  p = p * t - 0.02610828076207635;
  p = p * t + 0.6166006919867002;
  p = p * t + 1.5014093517282383;
  const double u = (std::sqrt(limited(w, -0.0, 17.0)) - 3.1680339887498947) * 1.073000504233665;
  double q = 5.848770880635954e-05;
  q = q * u - 7.76224027066673e-05;
  q = q * u - 0.0002108935349195222;
  q = q * u + 0.0008010122926244056;
  q = q * u - 0.001554145370700953;
  q = q * u + 0.002464941344059339;
  q = q * u - 0.0037980347089112206;
  q = q * u + 0.005563742070875398;
  q = q * u + 0.9359706500286123;
  q = q * u + 3.0015267780789863;
  const float y = float(given * select(w < 5.0, p, q));
  const int32_t magnitude = float_to_bits(x) & 0x7fffffff;
  const float end = bits_to_float(float_to_bits(x) ^ magnitude ^ 0x7F800000);  // infinity, of x's sign
  const float outside = select(magnitude == 0x3F800000, end, std::numeric_limits<float>::quiet_NaN());
  return select(magnitude < 0x3F800000, y, outside);
}
// From an approximation to 3 digits (S. Winitzki, 2008) three of Halley's steps, each of which triples them; of the complement where
// the result is far out.
MT_INLINE double verfinv(double x) {
  const double a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? x * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  const double l = std::log1p(-a * a), m = 4.330746750799873 + 0.5 * l;
  double y = std::sqrt(std::sqrt(m * m - l * 6.802721088435374) - m);
  for (int step = 0; step < 3 && a > 0; ++step) {
    const double off = a < 0.5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const double newton = off / (1.1283791670955126 * std::exp(-y * y));
    y -= newton / (1 + y * newton);
  }
  return std::copysign(y, x);
}

// Beyond `kWhole` e^x may be infinite where its half is not.
template <class T>
constexpr T kWhole = sizeof(T) == 4 ? T(88) : T(709);
template <class T>
MT_INLINE T half_exp(T x) {
  const T root = vexp(x * T(0.5));
  return T(0.5) * root * root;
}
template <class T>
MT_INLINE T vcosh(T x) {
  const T a = std::fabs(x), e = vexp(a);
  return select(a > kWhole<T>, half_exp(a), T(0.5) * e + T(0.5) / e);
}
template <class T>
MT_INLINE T vsinh(T x) {
  const T a = std::fabs(x), m = vexpm1(a);
  return std::copysign(select(a > kWhole<T>, half_exp(a), T(0.5) * (m + m / (m + T(1)))), x);
}

}  // namespace mt
