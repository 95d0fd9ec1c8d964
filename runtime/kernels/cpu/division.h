// Division to a whole quotient, and its remainder, of integers and of floating-point numbers; and of complex numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>

#include "elementwise.h"
#include "half.h"
#include "vmath.h"

namespace mt {

// Division by -1 is left out of hardware division, which traps on the most negative integer.
MT_INLINE int64_t trunc_quotient(int64_t a, int64_t b) { return b == -1 ? int64_t(0 - uint64_t(a)) : a / b; }
MT_INLINE int64_t trunc_remainder(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }

// What divisions make of operands and the remainder of their quotient cut to an integer, which has the sign of `a`.
template <class T>
MT_INLINE T floor_remainder(T b, T r) {
  return ((r != 0) & ((r < 0) != (b < 0))) ? r + b : r;
}

template <class R, class T>
MT_INLINE T floor_quotient(T a, T b, T r) {
  const bool below = (r != 0) & ((b < 0) != (r < 0));
  const T cut = R::round(R::round(a - r) / b);
  const T quotient = below ? R::round(cut - T(1)) : cut;
  const T floor = std::floor(quotient);
  const T nearest = quotient - floor > T(0.5) ? floor + T(1) : floor;
  const T found = quotient == 0 ? std::copysign(T(0), a / b) : nearest;
  return b == 0 ? a / b : found;
}

// Whole numbers of up to `kSmall`, as doubles and back, without instructions that few processors have for vectors. A quotient of two is
// farther from the next whole number than it is rounded by: cut to one it is exact.
constexpr int64_t kSmall = int64_t(1) << 50;
constexpr double kWholes = 0x1.8p52;  // from which on, for as many more and less, the last bit is 1
MT_INLINE double small_to_double(int64_t a) { return of_bits<double>(wrap_add(a, bits_of(kWholes))) - kWholes; }
MT_INLINE int64_t small_from_double(double x) { return wrap_add(bits_of(x + kWholes), -bits_of(kWholes)); }
MT_INLINE int64_t is_large(int64_t a) { return int64_t((uint64_t(a) + uint64_t(kSmall)) >> 51); }  // 0 where it is not
MT_INLINE double floor_of_small(double x) {
  const double nearest = (x + kWholes) - kWholes;
  return nearest - (nearest > x ? 1.0 : 0.0);
}
MT_INLINE double trunc_of_small(double x) { return std::copysign(floor_of_small(std::fabs(x)), x); }

// Division rounded down, and towards 0; R rounds what comes before as the operands' dtype does.
template <class R>
struct FloorDivide {
  explicit FloorDivide(const double*) {}
  MT_INLINE int64_t operator()(int64_t a, int64_t b) const {
    const int64_t q = trunc_quotient(a, b);
    return (trunc_remainder(a, b) != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
  }
  MT_INLINE static double of_wholes(double a, double b) { return floor_of_small(a / b); }
  template <class T>
  MT_INLINE static T of(T a, T b, T r) {
    return floor_quotient<R>(a, b, r);
  }
};
template <class R>
struct DivTrunc {
  explicit DivTrunc(const double*) {}
  MT_INLINE int64_t operator()(int64_t a, int64_t b) const { return trunc_quotient(a, b); }
  MT_INLINE static double of_wholes(double a, double b) { return trunc_of_small(a / b); }
  template <class T>
  MT_INLINE T operator()(T a, T b) const {
    return std::trunc(R::round(a / b));
  }
};
struct Fmod {
  explicit Fmod(const double*) {}
  MT_INLINE int64_t operator()(int64_t a, int64_t b) const { return trunc_remainder(a, b); }
  MT_INLINE static double of_wholes(double a, double b) { return a - trunc_of_small(a / b) * b; }
  template <class T>
  MT_INLINE static T of(T, T, T r) {
    return r;
  }
};
struct Remainder {
  explicit Remainder(const double*) {}
  MT_INLINE int64_t operator()(int64_t a, int64_t b) const { return floor_remainder(b, trunc_remainder(a, b)); }
  MT_INLINE static double of_wholes(double a, double b) { return a - floor_of_small(a / b) * b; }
  template <class T>
  MT_INLINE static T of(T, T b, T r) {
    return floor_remainder(b, r);
  }
};

// |a| less the multiple of |b| below it, exactly, where the quotient q is `kExact` at most: its product is exact in double, or not
// rounded before it is taken from a. Rounded up to an integer, the quotient is one too many.
MT_INLINE float rest(float a, float b, double& q) {
  const double x = std::abs(a), y = std::abs(b);
  q = std::trunc(x / y);
  const double r = x - q * y;
  return float(q == 0 ? x : (r < 0 ? r + y : r));
}
MT_INLINE double rest(double a, double b, double& q) {
  const double x = std::abs(a), y = std::abs(b);
  q = std::trunc(x / y);
  const double r = __builtin_fma(-q, y, x);
  return q == 0 ? x : (r < 0 ? r + y : r);
}
template <class T>
constexpr double kExact = std::is_same_v<T, float> ? 0x1p28 : 0x1p50;

constexpr int64_t kAtOnce = 64;  // elements that are looked at together for one that straight code has not got

// The loop of a function of the remainder: in straight code but where a quotient is large, or no number.
template <class Op, class T>
struct RemainderLoop {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    T* out = static_cast<T*>(p[0]);
    const T* a = static_cast<const T*>(p[1]);
    const T* b = static_cast<const T*>(p[2]);
    for (int64_t i = 0; i < n; i += kAtOnce, out += kAtOnce, a += kAtOnce, b += kAtOnce) {
      const int64_t count = std::min(kAtOnce, n - i);
      T r[kAtOnce];
      int64_t hard = 0;  // as wide as the quotients
      for (int64_t k = 0; k < count; ++k) {
        double q;
        r[k] = std::copysign(rest(a[k], b[k], q), a[k]);
        hard |= q < kExact<T> ? 0 : 1;
      }
      if (hard)
        for (int64_t k = 0; k < count; ++k) r[k] = std::fmod(a[k], b[k]);
#pragma GCC ivdep
      for (int64_t k = 0; k < count; ++k) out[k] = Op::of(a[k], b[k], r[k]);
    }
    return MT_OK;
  }
};
#define OF_REMAINDER(Op)                                                \
  template <>                                                           \
  struct Loop<Op, float, float, 2> : RemainderLoop<Op, float> {};       \
  template <>                                                           \
  struct Loop<Op, double, double, 2> : RemainderLoop<Op, double> {};
OF_REMAINDER(Fmod)
OF_REMAINDER(Remainder)
OF_REMAINDER(FloorDivide<Unrounded>)
OF_REMAINDER(FloorDivide<ToFloat16>)
OF_REMAINDER(FloorDivide<ToBFloat16>)
#undef OF_REMAINDER

// Integer division cannot signal from inside a vector loop: the divisors are looked at first. No processor divides integers of 64 bits in
// vectors: small ones are divided as doubles.
template <class Op>
struct CheckedDivision {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    int64_t* out = static_cast<int64_t*>(p[0]);
    const int64_t* a = static_cast<const int64_t*>(p[1]);
    const int64_t* b = static_cast<const int64_t*>(p[2]);
    bool zero = false;
    for (int64_t i = 0; i < n; ++i) zero |= b[i] == 0;
    if (zero) return MT_ERROR_DIVISION;
    const Op op{nullptr};
    for (int64_t i = 0; i < n; i += kAtOnce, out += kAtOnce, a += kAtOnce, b += kAtOnce) {
      const int64_t count = std::min(kAtOnce, n - i);
      int64_t r[kAtOnce], large = 0;
      for (int64_t k = 0; k < count; ++k) {
        large |= is_large(a[k]) | is_large(b[k]);
        r[k] = small_from_double(Op::of_wholes(small_to_double(a[k]), small_to_double(b[k])));
      }
      if (large)
        for (int64_t k = 0; k < count; ++k) r[k] = op(a[k], b[k]);
      std::memcpy(out, r, size_t(count) * sizeof(int64_t));
    }
    return MT_OK;
  }
};

// Quotients of complex numbers of float32: in double nothing overflows, and products are exact. What is no number, or none that float32
// has, is as the C library has it.
struct ComplexDivision {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    float* out = static_cast<float*>(p[0]);
    const float* a = static_cast<const float*>(p[1]);
    const float* b = static_cast<const float*>(p[2]);
    for (int64_t i = 0; i < n; i += kAtOnce, out += 2 * kAtOnce, a += 2 * kAtOnce, b += 2 * kAtOnce) {
      const int64_t count = 2 * std::min(kAtOnce, n - i);
      float r[2 * kAtOnce], off = 0;
      for (int64_t k = 0; k < count; k += 2) {
        const double x = a[k], y = a[k + 1], u = b[k], v = b[k + 1];
        const double scale = 1.0 / (u * u + v * v);
        r[k] = float((x * u + y * v) * scale);
        r[k + 1] = float((y * u - x * v) * scale);
        off += (r[k] - r[k]) + (r[k + 1] - r[k + 1]);  // NaN of what is not finite
      }
      if (off != 0)
        for (int64_t k = 0; k < count; k += 2) {
          const std::complex<float> q = std::complex<float>(a[k], a[k + 1]) / std::complex<float>(b[k], b[k + 1]);
          r[k] = q.real();
          r[k + 1] = q.imag();
        }
      std::memcpy(out, r, size_t(count) * sizeof(float));
    }
    return MT_OK;
  }
};

}  // namespace mt
