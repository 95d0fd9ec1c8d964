// Elementary functions of double in straight-line code: those whose fits are others than float's, to 2 units of the last place,
// erfc to 5, as in the C library.
// The polynomials interpolate at Chebyshev nodes, in 60 digits; an error that is given is the largest of the fit.
#pragma once

#include <cmath>
#include <limits>

#include "vmath.h"

namespace mt {

// The sine and cosine of r + low, where |r| <= pi/4, x = k pi/2 + r + low, and `quarter` has the last bits of k. pi/2 is in three
// parts (W. Cody, W. Waite, Software Manual for the Elementary Functions, 1980), of which products of k < 2^20 with two are exact.
struct WideTurned {
  double sine, cosine;
  int64_t quarter;
  MT_INLINE explicit WideTurned(double x) {
    constexpr double kFirst = 1.5707963267341256, kSecond = 6.077100506303966e-11, kThird = 2.0222662487959506e-21;
    constexpr double kSine[] = {-7.586691094197958e-13, 1.6058531516797758e-10,  -2.5052106231802837e-08, 2.7557319219337312e-06,
                                -0.00019841269841265063, 0.008333333333333331, -0.16666666666666666};
    constexpr double kCosine[] = {-1.1382623647474604e-11, 2.087614614655861e-09,  -2.7557317271145144e-07,
                                  2.480158729876456e-05,   -0.0013888888888887398, 0.041666666666666664};
    const double sum = x * 0.6366197723675814 + Format<double>::kShift;
    const double k = sum - Format<double>::kShift;
    quarter = bits_of(sum);
    const double most = x - k * kFirst;
    const double part = most - k * kSecond;
    const double left = ((most - part) - k * kSecond) - k * kThird;
    const double r = part + left, low = (part - r) + left;
    const double s = r * r, half = 0.5 * s, whole = 1.0 - half;
    sine = r + (r * (s * horner(kSine, s)) + low * whole);
    cosine = whole + (((1.0 - whole) - half) + (s * s * horner(kCosine, s) - r * low));
  }
  // The sine of x and some quarters of a turn.
  MT_INLINE double turned(int64_t quarters) const { return after_quarters(sine, cosine, quarter + quarters); }
};
template <>
struct FewTurns<double> {
  static constexpr double kMost = 1e6;
};
MT_INLINE double vsin(double x) { return select(is_zero(x), x, WideTurned(x).turned(0)); }
MT_INLINE double vcos(double x) { return WideTurned(x).turned(1); }
MT_INLINE double vtan(double x) {
  const WideTurned t(x);
  const bool odd = (t.quarter & 1) != 0;
  const double y = select(odd, -t.cosine, t.sine) / select(odd, t.sine, t.cosine);
  return select(is_zero(x), x, y);
}

// erf below 1, an odd polynomial (error 8e-18), and erfc of |x|: e^(-x^2) / (1 + 2 |x|) times a polynomial of t = (|x| - 4) / (|x| + 4)
// (M. Shepherd, J. Laframboise, Chebyshev Approximation of (1 + 2x) exp(x^2) erfc x, 1981; error 1.3e-17).
struct ErrorFunction {
  double inner, outer;
  MT_INLINE explicit ErrorFunction(double x) {
    constexpr double kInner[] = {-7.795898827002142e-10, 1.3720064546777686e-08, -1.6208483801871705e-07, 1.6447424703317362e-06,
                                 -1.492473690741966e-05, 0.00012055294904839707, -0.0008548325975389692,  0.0052239776071164225,
                                 -0.02686617064323777,   0.11283791670945006,    -0.37612638903183543,    1.1283791670955126};
    constexpr double kOuter[] = {-1.907388627007971e-09, -1.3952812123042384e-08, -7.796210935750394e-09, 1.1597564919712835e-07,
                                 6.326381936013846e-08,  -8.356886054802244e-07,  3.006053020270926e-07,  5.718067004785881e-06,
                                 -1.1224293594679385e-05, -2.4403160497192634e-05, 0.0001506220523230599, -0.00019925553476007838,
                                 -0.0007577732963739462, 0.005031969765051122,    -0.016197734065502876,  0.03716751556105671,
                                 -0.0663303658110103,    0.09373283499690535,     -0.10103906603637362,   0.0680970542547336,
                                 0.015379652102621091,   -0.13962111684056286,    1.2329951186255526};
    inner = x * horner(kInner, x * x);
    const double a = limited(std::fabs(x), -0.0, 27.3);  // beyond it erfc is 0
    const double rounded = of_bits<double>(bits_of(a) & ~int64_t(0x7FFFFFF));  // whose square is exact
    const double d = (rounded - a) * (rounded + a);                            // and what it lacks of -a^2
    const double e = vexp(-rounded * rounded) * (1.0 + d * (1.0 + d * (0.5 + d * 0.16666666666666666)));
    outer = e * (horner(kOuter, (a - 4.0) / (a + 4.0)) / (1.0 + 2.0 * a));
  }
};
MT_INLINE double verf(double x) {
  const ErrorFunction f(x);
  const double y = select((bits_of(x) & ~kSign<double>) < bits_of(1.0), f.inner, std::copysign(1.0 - f.outer, x));
  return x != x ? x : y;
}
MT_INLINE double verfc(double x) {
  const ErrorFunction f(x);
  const double far = select(bits_of(x) < 0, 2.0 - f.outer, f.outer);
  const double y = select((bits_of(x) & ~kSign<double>) < bits_of(0.5), 1.0 - f.inner, far);
  return x != x ? x : y;
}
MT_INLINE double vnormal(double x) { return 0.5 * (1.0 + verf(x * 0.70710678118654752440)); }

// The inverse of erf. From an approximation to 3 digits (S. Winitzki, 2008) three of Halley's steps, each of which triples them; of the
// complement where the result is far out.
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

// The inverse hyperbolic functions by way of log1p, in double for float, too.
MT_INLINE double vasinh(double x) {
  constexpr double kFar = 268435456.0;  // where 1 + x^2 is x^2
  const double a = std::fabs(x), s = a * a;
  const double near = vlog1p(a + s / (1.0 + std::sqrt(1.0 + s))), far = vlog(a) + 0.69314718055994530942;
  return std::copysign(select(a > kFar, far, near), x);
}
MT_INLINE double vacosh(double x) {
  constexpr double kFar = 268435456.0;
  const double t = x - 1.0;
  const double y = select(x > kFar, vlog(x) + 0.69314718055994530942, vlog1p(t + std::sqrt(t * (t + 2.0))));
  return select(t < 0.0, std::numeric_limits<double>::quiet_NaN(), y);
}
MT_INLINE double vatanh(double x) {
  const double a = std::fabs(x);
  return std::copysign(0.5 * vlog1p(2.0 * a / (1.0 - a)), x);
}
MT_INLINE float vasinh(float x) { return float(vasinh(double(x))); }
MT_INLINE float vacosh(float x) { return float(vacosh(double(x))); }
MT_INLINE float vatanh(float x) { return float(vatanh(double(x))); }

// The third side of a triangle with a right angle. Of double in a range where no square overflows or is subnormal.
MT_INLINE float vhypot(float x, float y) {
  const double a = double(x), b = double(y);
  const int32_t infinite = kInfinity<float>, across = bits_of(x) & ~kSign<float>, up = bits_of(y) & ~kSign<float>;
  const float root = float(std::sqrt(a * a + b * b));
  return select(across == infinite || up == infinite, std::numeric_limits<float>::infinity(), root);
}
MT_INLINE double vhypot(double x, double y) {
  const int64_t across = bits_of(x) & ~kSign<double>, up = bits_of(y) & ~kSign<double>, larger = across > up ? across : up;
  const bool huge = larger > bits_of(0x1p500), tiny = larger < bits_of(0x1p-500);
  const double scale = select(huge, 0x1p-600, select(tiny, 0x1p600, 1.0)), back = select(huge, 0x1p600, select(tiny, 0x1p-600, 1.0));
  const double a = x * scale, b = y * scale;
  const double root = std::sqrt(a * a + b * b) * back;
  const bool infinite = across == kInfinity<double> || up == kInfinity<double>;
  return select(infinite, std::numeric_limits<double>::infinity(), root);
}

}  // namespace mt
