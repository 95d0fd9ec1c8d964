// Numbers of 8 bits with an exponent: what their bits say, and what becomes of a float.
#pragma once

#include "tensor.h"

namespace mt {

enum class Special {
  kNan,         // all bits but the sign: NaN; what is too large becomes the largest number
  kIeee,        // as in IEEE 754: infinities, and NaN above them
  kNegativeZero // the bits of -0 are the one NaN, and all that is too large; there is no -0
};

// A sign, an exponent and `Fraction` bits; `Bias` is subtracted from the exponent.
template <int Fraction, int Bias, Special kSpecial>
struct Float8 {
  uint8_t bits;

  static constexpr uint32_t kInfinity = 0x7F800000;  // the bits of floats
  static constexpr uint32_t kLargest = kSpecial == Special::kNan ? 0x7E : kSpecial == Special::kIeee ? 0x7B : 0x7F;
  static constexpr uint32_t kTooLarge = kSpecial == Special::kNan ? 0x7E : kSpecial == Special::kIeee ? 0x7C : 0x80;
  static constexpr uint32_t kNan = kSpecial == Special::kNegativeZero ? 0x80 : 0x7F;
  static constexpr uint32_t kLeastNormal = uint32_t(128 - Bias) << 23;
  static constexpr bool kSignless = kSpecial == Special::kNegativeZero;  // of 0
  static constexpr int kDropped = 23 - Fraction;                         // bits of a float's fraction
  static constexpr uint32_t kHalf = (1u << (kDropped - 1)) - 1;          // of what they may be, but 1
  static constexpr uint32_t kRebias = uint32_t(127 - Bias) << 23;
  // A float whose last bit counts as much as ours of a number without an exponent.
  static constexpr uint32_t kShift = uint32_t(127 + 24 - Bias - Fraction) << 23;

  // The bits of the float that `code` stands for.
  static constexpr uint32_t decoded(uint32_t code) {
    const uint32_t sign = (code & 0x80) << 24, magnitude = code & 0x7F;
    if (kSpecial == Special::kNegativeZero && code == 0x80) return kInfinity | 1;
    if (kSpecial == Special::kNan && magnitude == 0x7F) return sign | kInfinity | 0x700000;
    if (kSpecial == Special::kIeee && magnitude > 0x7C) return sign | kInfinity | 0x400000 | (magnitude & 3) << 21;
    if (kSpecial == Special::kIeee && magnitude == 0x7C) return sign | kInfinity;
    int exponent = int(magnitude >> Fraction) + 127 - Bias;
    uint32_t fraction = magnitude << (23 - Fraction) & 0x7FFFFF;
    if (magnitude >> Fraction == 0) {
      if (fraction == 0) return sign;
      for (++exponent; fraction < 0x800000; fraction <<= 1) --exponent;
      fraction &= 0x7FFFFF;
    }
    return sign | uint32_t(exponent) << 23 | fraction;
  }

  struct Table {
    uint32_t floats[256];
    constexpr Table() : floats() {
      for (uint32_t code = 0; code < 256; ++code) floats[code] = decoded(code);
    }
  };
  static constexpr Table kTable{};
};

template <int Fraction, int Bias, Special kSpecial>
MT_INLINE float to_float(Float8<Fraction, Bias, kSpecial> v) {
  float f;
  std::memcpy(&f, &Float8<Fraction, Bias, kSpecial>::kTable.floats[v.bits], sizeof f);
  return f;
}

// To nearest, ties to even.
template <class F8>
MT_INLINE F8 to_float8(float f) {
  uint32_t bits, shifted;
  float shift;
  std::memcpy(&bits, &f, sizeof bits);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  std::memcpy(&f, &magnitude, sizeof f);
  std::memcpy(&shift, &F8::kShift, sizeof shift);
  f += shift;  // rounds what has no exponent of ours
  std::memcpy(&shifted, &f, sizeof shifted);
  const uint32_t rounded = magnitude - F8::kRebias + F8::kHalf + (magnitude >> F8::kDropped & 1);
  uint32_t code = magnitude < F8::kLeastNormal ? shifted - F8::kShift : rounded >> F8::kDropped;
  code = code > F8::kLargest ? F8::kTooLarge : code;
  code = magnitude > F8::kInfinity ? F8::kNan : code;
  const uint32_t sign = F8::kSignless && code == 0 ? 0 : bits >> 24 & 0x80;
  return {uint8_t(code | sign)};
}

using Float8E4M3FN = Float8<3, 7, Special::kNan>;
using Float8E5M2 = Float8<2, 15, Special::kIeee>;
using Float8E4M3FNUZ = Float8<3, 8, Special::kNegativeZero>;
using Float8E5M2FNUZ = Float8<2, 16, Special::kNegativeZero>;

}  // namespace mt
