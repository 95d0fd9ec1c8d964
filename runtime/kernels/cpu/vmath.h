// Elementary functions in straight-line code, so that loops over them vectorise: on float, and where one way is good for both, on double.
#pragma once

#include <cmath>
#include <limits>

#include "tensor.h"

namespace mt {

// What the format of a floating-point type is, and what functions of it are made of.
template <class T>
struct Format;
template <>
struct Format<float> {
  using Bits = int32_t;
  using Unsigned = uint32_t;
  static constexpr int kFraction = 23;  // bits, which the exponent stands above
  static constexpr Bits kBias = 127, kRootOfHalf = 0x3F3504F3;
  static constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, and its last bits are 0
  static constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;         // whose products with small integers are exact
  static constexpr float kLogHigh = 0.69313812256f, kLogLow = 9.0580006145e-6f;      // the same, closer
  static constexpr float kLeastExp = -104.0f, kMostExp = 89.0f, kLeastExp2 = -150.0f, kMostExp2 = 128.0f;
  static constexpr float kTanhOne = 9.1f, kExpm1Least = -20.0f, kExpm1Most = 80.0f, kPlusOne = 1e9f;
  static constexpr float kRaise = 8388608.0f;  // 2^kRaised
  static constexpr Bits kRaised = 23;
};
template <>
struct Format<double> {
  using Bits = int64_t;
  using Unsigned = uint64_t;
  static constexpr int kFraction = 52;
  static constexpr Bits kBias = 1023, kRootOfHalf = 0x3FE6A09E667F3BCD;
  static constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kLogHigh = kLn2High, kLogLow = kLn2Low;
  static constexpr double kLeastExp = -746.0, kMostExp = 710.0, kLeastExp2 = -1076.0, kMostExp2 = 1024.0;
  static constexpr double kTanhOne = 19.1, kExpm1Least = -40.0, kExpm1Most = 700.0, kPlusOne = 1e18;
  static constexpr double kRaise = 18014398509481984.0;
  static constexpr Bits kRaised = 54;
};
template <class T>
using Bits = typename Format<T>::Bits;
template <class T>
using Unsigned = typename Format<T>::Unsigned;
template <class T>
constexpr Bits<T> kSign = std::numeric_limits<Bits<T>>::min();
template <class T>
constexpr Bits<T> kInfinity = (2 * Format<T>::kBias + 1) << Format<T>::kFraction;

template <class T>
MT_INLINE Bits<T> bits_of(T x) {
  Bits<T> bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
template <class T>
MT_INLINE T of_bits(Bits<T> bits) {
  T x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// A choice by bits: unlike ?:, it never becomes a branch that keeps a loop from vectorising.
template <class T>
MT_INLINE T select(bool condition, T a, T b) {
  const Bits<T> mask = -Bits<T>(condition);
  return of_bits<T>((bits_of(a) & mask) | (bits_of(b) & ~mask));
}
template <class T>
MT_INLINE bool is_zero(T x) {
  return Unsigned<T>(bits_of(x)) << 1 == 0;
}

// What numbers are limited to by their bits: comparisons of them, of which there are several in a row, become a branch or a mask
// each. Below `least`, which is negative, and above `most`, which is positive; NaN becomes one of them.
template <class T>
MT_INLINE T limited(T x, T least, T most) {
  const Bits<T> positive = bits_of(most), given = bits_of(x);
  const Unsigned<T> below = Unsigned<T>(given < positive ? given : positive);  // a negative number is a negative integer
  const Unsigned<T> negative = Unsigned<T>(bits_of(least));
  return of_bits<T>(Bits<T>(below < negative ? below : negative));  // and the larger, the further from 0
}

// The value of a polynomial, the coefficient of the highest power first.
template <class T, int N>
MT_INLINE T horner(const T (&of)[N], T x) {
  T p = of[0];
#pragma GCC unroll 32
  for (int i = 1; i < N; ++i) p = p * x + of[i];
  return p;
}

// (e^r - 1 - r) / r^2 for |r| <= ln2/2; the error of r^2 times it is 1.4e-8 r. Fitted for the least largest error.
MT_INLINE float vexp_tail(float r) {
  float p = 1.394760679e-03f;
  p = p * r + 8.367251605e-03f;
  p = p * r + 4.166626558e-02f;
  p = p * r + 1.666653752e-01f;
  return p * r + 0.5f;
}

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
// x = k ln2 + r, where k is a whole number, which `shifted` holds in its last bits.
template <class T>
struct Reduced {
  T r;
  Bits<T> shifted;
  MT_INLINE Reduced(T remainder, T sum) : r(remainder), shifted(bits_of(sum)) {}
  MT_INLINE explicit Reduced(T x) : Reduced(x, x * T(1.44269504088896340736) + Format<T>::kShift, Format<T>::kLn2High) {}
  // Of x ln2.
  MT_INLINE static Reduced of_two(T x) {
    const T sum = x + Format<T>::kShift;
    return {(x - (sum - Format<T>::kShift)) * T(0.69314718055994530942), sum};
  }
  // k in the place of an exponent, and 2^k.
  MT_INLINE Bits<T> exponent() const { return Bits<T>(Unsigned<T>(shifted) << Format<T>::kFraction); }
  MT_INLINE T scale() const { return of_bits<T>(exponent() + (Format<T>::kBias << Format<T>::kFraction)); }

 private:
  MT_INLINE Reduced(T x, T sum, T high) {
    const T k = sum - Format<T>::kShift;
    r = (x - k * high) - k * Format<T>::kLn2Low;
    shifted = bits_of(sum);
  }
};

// 2^k e^r of a number that was reduced; NaN of NaN. Relative error below 2 ulp.
template <class T>
MT_INLINE T vexp_of(const Reduced<T>& x_, T x) {
  constexpr Bits<T> kBias = Format<T>::kBias, kLeast = -((kBias - 2) << Format<T>::kFraction), kOne = kBias << Format<T>::kFraction;
  const Bits<T> given = x_.exponent();
  const Bits<T> normal = given > kLeast ? given : kLeast;  // beyond it 2^k is two factors, and the result subnormal
  const T p = (vexp_tail(x_.r) * x_.r + T(1)) * x_.r + T(1);
  const T y = of_bits<T>(bits_of(p) + normal) * of_bits<T>(given - normal + kOne);
  const Bits<T> bits = bits_of(y);
  const T finite = of_bits<T>(bits < kInfinity<T> ? bits : kInfinity<T>);
  return x != x ? x : finite;
}
template <class T>
MT_INLINE T vexp(T x) {
  return vexp_of(Reduced<T>(limited(x, Format<T>::kLeastExp, Format<T>::kMostExp)), x);
}
template <class T>
MT_INLINE T vexp2(T x) {
  return vexp_of(Reduced<T>::of_two(limited(x, Format<T>::kLeastExp2, Format<T>::kMostExp2)), x);
}

// 2^k e^r - 1 = 2^k (e^r - 1) + (2^k - 1): nothing cancels.
template <class T>
MT_INLINE T less_one(const Reduced<T>& x) {
  const T scale = x.scale();
  return scale * (vexp_tail(x.r) * (x.r * x.r) + x.r) + (scale - T(1));
}

// tanh a = m / (m + 2), where m = e^2a - 1.
template <class T>
MT_INLINE T vtanh(T x) {
  const Bits<T> bits = bits_of(x), sign = bits & kSign<T>;
  const T a = limited(of_bits<T>(bits ^ sign), -T(0), Format<T>::kTanhOne);  // beyond it the result is 1
  const T m = less_one(Reduced<T>(T(2) * a));
  const T y = m / (m + T(2));
  return x != x ? x : of_bits<T>(bits_of(y) | sign);
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

// e^x for x from -87 to 0, where the result is a normal number: `vexp` without its ends.
MT_INLINE float vexp_of_negative(float x) {
  const Reduced<float> x_(x);
  const float p = (vexp_tail(x_.r) * x_.r + 1.0f) * x_.r + 1.0f;
  return of_bits<float>(bits_of(p) + x_.exponent());
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

// (ln m - f + f^2/2 - s f^2/2) / (s z) of m = 1 + f, s = f / (2 + f) and z = s^2: of double the series, to the last term that counts.
MT_INLINE float vlog_tail(float z) {
  float p = 0.24279078841f;
  p = p * z + 0.28498786688f;
  p = p * z + 0.40000972152f;
  return p * z + 0.66666662693f;
}
MT_INLINE double vlog_tail(double z) {
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
  return p * z + 2.0 / 3;
}

// A whole number, as of an exponent: of double without an instruction that few processors have for vectors.
MT_INLINE float whole(int32_t n) { return float(n); }
MT_INLINE double whole(int64_t n) {
  constexpr int64_t kAbove = 4096;
  return of_bits<double>((n + kAbove) | 0x4330000000000000) - (4503599627370496.0 + double(kAbove));
}

// x = 2^exponent m, where m lies in [sqrt(1/2), sqrt(2)), and ln m = f - (half_square - tail). The cases are told apart by integer
// comparisons: floating-point ones may trap, and would keep the loop from vectorising.
template <class T>
struct Parts {
  T exponent, f, half_square, tail;
  MT_INLINE explicit Parts(T x) {
    using F = Format<T>;
    constexpr Bits<T> kSmallestNormal = Bits<T>(1) << F::kFraction;
    constexpr Unsigned<T> kOffset = Unsigned<T>(kSign<T>);  // so that what is shifted has no sign
    const Bits<T> given = bits_of(x);
    const T raised = x * F::kRaise;  // of a subnormal, normal
    const Bits<T> bits = bits_of(select(given < kSmallestNormal, raised, x));
    const Bits<T> shift = given < kSmallestNormal ? F::kRaised : 0;
    const Unsigned<T> above = (Unsigned<T>(bits) - Unsigned<T>(F::kRootOfHalf)) + kOffset;
    const Bits<T> e = Bits<T>(above >> F::kFraction) - Bits<T>(kOffset >> F::kFraction);
    const T m = of_bits<T>(Bits<T>(Unsigned<T>(bits) - (Unsigned<T>(e) << F::kFraction)));
    exponent = whole(Bits<T>(e - shift));
    f = m - T(1);
    const T s = f / (T(2) + f);
    const T z = s * s;
    half_square = T(0.5) * f * f;
    tail = s * (half_square + vlog_tail(z) * z);
  }
};

// A logarithm's value y, or what it is of x outside of (0, infinity).
template <class T>
MT_INLINE T of_positive(T x, T y) {
  const Bits<T> given = bits_of(x);
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T outside = select(given >= kInfinity<T>, x, select(is_zero(x), -infinity, nan));
  return select(Unsigned<T>(given) - 1u < Unsigned<T>(kInfinity<T>) - 1u, y, outside);  // given in [1, infinity)
}

template <class T>
MT_INLINE T vlog(T x) {
  const Parts<T> p(x);
  const T tail = p.tail + p.exponent * Format<T>::kLogLow;
  return of_positive(x, p.exponent * Format<T>::kLogHigh - ((p.half_square - tail) - p.f));
}

// In a base b: ln m in a part whose product with the first part of 1 / ln b is exact, and the rest. Powers of 2 and 10 come out whole.
template <class T>
MT_INLINE T vlog_in_base(T x, T of_e, T of_e_low, T of_2, T of_2_low) {
  const Parts<T> p(x);
  const T high = of_bits<T>(bits_of(p.f - p.half_square) & ~((Bits<T>(1) << (sizeof(T) == 4 ? 12 : 32)) - 1));
  const T low = ((p.f - high) - p.half_square) + p.tail;
  const T whole = p.exponent * of_2, fraction = high * of_e;
  const T sum = whole + fraction;
  const T rest = p.exponent * of_2_low + ((low + high) * of_e_low + low * of_e);
  return of_positive(x, sum + (((whole - sum) + fraction) + rest));
}
MT_INLINE float vlog2(float x) { return vlog_in_base(x, 1.4423828125f, 3.1222839e-04f, 1.0f, 0.0f); }
MT_INLINE double vlog2(double x) { return vlog_in_base(x, 1.4426950407214463, 1.6751713164886512e-10, 1.0, 0.0); }
MT_INLINE float vlog10(float x) { return vlog_in_base(x, 0.4342041015625f, 9.038034e-05f, 0.301025390625f, 4.605039e-06f); }
MT_INLINE double vlog10(double x) {
  return vlog_in_base(x, 0.4342944818781689, 2.5082946711645275e-11, 0.30102999566361177, 3.694239077158931e-13);
}

// log(1 + x): what 1 + x is rounded by is made up for to the first order.
template <class T>
MT_INLINE T vlog1p(T x) {
  const T u = T(1) + x;
  const T y = vlog(u) + (x - (u - T(1))) / u;
  const T found = select(x > Format<T>::kPlusOne, vlog(x), y);  // to infinity
  return select(x > T(-1), select(is_zero(x), x, found), vlog(u));
}

// The same of x from 0 to 1.
template <class T>
MT_INLINE T vlog1p_of_share(T x) {
  const T u = T(1) + x;
  const Parts<T> p(u);
  const T tail = p.tail + p.exponent * Format<T>::kLogLow;
  const T y = p.exponent * Format<T>::kLogHigh - ((p.half_square - tail) - p.f);
  return y + (x - (u - T(1))) / u;
}

// e^x - 1 for x up to `kExpm1Most`.
template <class T>
MT_INLINE T vexpm1_of_small(T x) {
  const T m = less_one(Reduced<T>(limited(x, Format<T>::kExpm1Least, Format<T>::kExpm1Most)));
  return x != x ? x : select(is_zero(x), x, m);
}
template <class T>
MT_INLINE T vexpm1(T x) {
  return select(x > Format<T>::kExpm1Most - T(1), vexp(x), vexpm1_of_small(x));
}

// The sine of an angle and n quarters of a turn, from the sine and cosine of the angle.
template <class T>
MT_INLINE T after_quarters(T sine, T cosine, Bits<T> n) {
  const T y = select((n & 1) != 0, cosine, sine);
  return of_bits<T>(bits_of(y) ^ Bits<T>(Unsigned<T>(n & 2) << (8 * sizeof(T) - 2)));
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
  MT_INLINE float turned(int32_t quarters) const { return after_quarters(float(sine), float(cosine), quarter + quarters); }
};
template <class T>
struct FewTurns;  // what they are good for; the C library is asked beyond
template <>
struct FewTurns<float> {
  static constexpr float kMost = 1e5f;
};
MT_INLINE float vsin(float x) { return select(is_zero(x), x, Turned(x).turned(0)); }
MT_INLINE float vcos(float x) { return Turned(x).turned(1); }
MT_INLINE float vtan(float x) {
  const Turned t(x);
  const double y = (t.quarter & 1) != 0 ? -t.cosine / t.sine : t.sine / t.cosine;
  return select(is_zero(x), x, float(y));
}

// (atan q - q) / q^3 of s = q^2 <= 1, to 1e-8 and 2e-17 of atan q.
MT_INLINE float vatan_tail(float s) {
  constexpr float kOf[] = {-0.002386997316724113f, 0.013507771427020535f, -0.03587153898204336f, 0.06250169444749563f, -0.08656880430154522f,
                           0.11033764115313455f,   -0.14278568748210602f, 0.1999973932983558f,   -0.3333333173306352f};
  return horner(kOf, s);
}
MT_INLINE double vatan_tail(double s) {
  constexpr double kOf[] = {1.806195461861215e-05, -0.00019996189377901382, 0.0010496035084968515, -0.0034958859739163094,
                            0.008368931178450162,  -0.015535152475414177,   0.023696731580048622,  -0.031277189066996385,
                            0.03749486812535247,   -0.04260356632601652,    0.04737749579527779,   -0.052579733342841106,
                            0.05881506877793656,   -0.06666564699289104,    0.07692298971033217,   -0.09090908590891934,
                            0.11111111093490827,   -0.14285714285384132,    0.1999999999999753,    -0.3333333333333333};
  return horner(kOf, s);
}

// The angle of (x, y): an odd polynomial of the smaller part of the larger, from a quarter of a turn where it is steep. Numbers that
// are not negative are compared by their bits.
template <class T>
MT_INLINE T vatan2(T y, T x) {
  constexpr T kQuarter = T(1.57079632679489661923), kHalf = 2 * kQuarter;
  constexpr T kQuarterLow = sizeof(T) == 4 ? T(-4.3711390001862426e-08) : T(6.123233995736766e-17), kHalfLow = 2 * kQuarterLow;
  const Bits<T> across = bits_of(x) & ~kSign<T>, up = bits_of(y) & ~kSign<T>;
  const bool steep = up > across, back = bits_of(x) < 0;
  const Bits<T> smaller = steep ? across : up, larger = steep ? up : across;
  const T given = of_bits<T>(smaller) / of_bits<T>(larger);
  const T q = select(larger == 0, T(0), select(smaller == kInfinity<T> && larger == kInfinity<T>, T(1), given));
  const T s = q * q;
  const T first = q + q * (s * vatan_tail(s));
  const T turned = of_bits<T>(bits_of(first) ^ (steep != back ? kSign<T> : 0));
  const T from = select(steep, kQuarter, select(back, kHalf, T(0)));
  const T low = select(steep, kQuarterLow, select(back, kHalfLow, T(0)));
  return of_bits<T>(bits_of(from + (turned + low)) | (bits_of(y) & kSign<T>));
}
template <class T>
MT_INLINE T vatan(T x) {
  return vatan2(x, T(1));
}
// The other side of the triangle is exact enough as the root of two factors.
MT_INLINE double vasin(double x) { return vatan2(x, std::sqrt((1.0 - x) * (1.0 + x))); }
MT_INLINE double vacos(double x) { return vatan2(std::sqrt((1.0 - x) * (1.0 + x)), x); }
MT_INLINE float vasin(float x) { return float(vasin(double(x))); }
MT_INLINE float vacos(float x) { return float(vacos(double(x))); }

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
  return x != x ? x : float(select(bits_of(x) < 0, 2.0 - y, y));
}

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
  const int32_t magnitude = bits_of(x) & 0x7fffffff;
  const float end = of_bits<float>(bits_of(x) ^ magnitude ^ 0x7F800000);  // infinity, of x's sign
  const float outside = select(magnitude == 0x3F800000, end, std::numeric_limits<float>::quiet_NaN());
  return select(magnitude < 0x3F800000, y, outside);
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

#include "vmath_double.h"  // their overloads for double
