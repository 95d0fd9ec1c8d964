// Half precision, which C++17 lacks, and arithmetic that rounds to it after every step.
#pragma once

#include "tensor.h"

namespace mt {

// _Float16 in C++ came to x86 with g++ 12 and to AArch64 with g++ 13; __fp16 is the same format.
#if defined(__aarch64__) && !defined(__clang__) && __GNUC__ < 13
using Float16 = __fp16;
#else
using Float16 = _Float16;
#endif

struct BFloat16 {
  uint16_t bits;
};

MT_INLINE float to_float(BFloat16 v) {
  const uint32_t bits = uint32_t(v.bits) << 16;
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}

MT_INLINE BFloat16 to_bfloat16(float f) {
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;  // to nearest, ties to even
  const uint32_t quiet_nan = (bits >> 16) | 0x40;
  return {uint16_t(int32_t(bits & 0x7FFFFFFF) > 0x7F800000 ? quiet_nan : rounded)};  // signed, as processors compare vectors
}

// Two halves: a complex number.
struct ComplexHalf {
  Float16 real, imag;
};

// What a step's result becomes in the dtype of the operands.
struct Unrounded {
  template <class T>
  MT_INLINE static T round(T x) {
    return x;
  }
};
struct ToFloat16 {
  MT_INLINE static float round(float x) { return float(Float16(x)); }
};
struct ToBFloat16 {
  MT_INLINE static float round(float x) { return to_float(to_bfloat16(x)); }
};

}  // namespace mt
