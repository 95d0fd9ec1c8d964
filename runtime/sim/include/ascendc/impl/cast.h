// Cast: conversion between types with a choice of rounding. To integers it saturates, and NaN becomes 0.
#pragma once

#include <cmath>

#include "elementwise.h"

namespace mtsim {

using AscendC::RoundMode;

template <typename T>
constexpr bool is_floating = one_of<T, half, bfloat16_t, float>;

template <RoundMode mode>
float round_to_integral(float value) {
  if constexpr (mode == RoundMode::CAST_FLOOR) return std::floor(value);
  if constexpr (mode == RoundMode::CAST_CEIL) return std::ceil(value);
  if constexpr (mode == RoundMode::CAST_TRUNC) return std::trunc(value);
  // The largest float below one half: adding it never carries a value below a tie upwards.
  if constexpr (mode == RoundMode::CAST_ROUND) return std::trunc(value + std::copysign(0x1.fffffep-2f, value));
  return std::nearbyint(value);
}

template <typename D>
D saturate(double value) {
  using Limits = std::numeric_limits<D>;
  const double above = std::ldexp(1.0, Limits::digits);
  if (!(value == value)) return 0;
  if (value >= above) return Limits::max();
  if (value < static_cast<double>(Limits::min())) return Limits::min();
  return static_cast<D>(value);
}

/// The next representable value away from zero (+1) or towards it (-1); sign and magnitude make it the bits' neighbour.
template <typename D>
D neighbour(D value, int step) {
  const auto bits = static_cast<Bits<D>>(bits_of(value) + step);
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

template <typename D>
bool is_odd(D value) {
  return bits_of(value) & 1;
}

/// Rounds to a float type with fewer digits. Every source is exact in double.
template <typename D, RoundMode mode>
D round_to_float(double value) {
  const D nearest = static_cast<D>(static_cast<float>(value));
  if constexpr (mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT) return nearest;
  const double got = static_cast<float>(nearest);
  if (got == value || !(value == value)) return nearest;
  const bool too_far = std::fabs(got) > std::fabs(value);
  const D inner = too_far ? neighbour(nearest, -1) : nearest;  // towards zero
  const D outer = too_far ? nearest : neighbour(nearest, 1);   // away from zero
  if constexpr (mode == RoundMode::CAST_TRUNC) return inner;
  if constexpr (mode == RoundMode::CAST_FLOOR) return value < 0 ? outer : inner;
  if constexpr (mode == RoundMode::CAST_CEIL) return value < 0 ? inner : outer;
  if constexpr (mode == RoundMode::CAST_ODD) return is_odd(inner) ? inner : outer;
  const double below = std::fabs(value - static_cast<float>(inner));  // CAST_ROUND: ties go away from zero
  const double above = std::fabs(static_cast<float>(outer) - value);
  return below < above ? inner : outer;
}

template <typename D, typename S, RoundMode mode>
D convert(S value) {
  if constexpr (std::is_same_v<D, S>) {
    if constexpr (!is_floating<D> || mode == RoundMode::CAST_NONE) return value;
    else return static_cast<D>(round_to_integral<mode>(static_cast<float>(value)));
  } else if constexpr (is_floating<S> && !is_floating<D>) {
    return saturate<D>(round_to_integral<mode>(static_cast<float>(value)));
  } else if constexpr (is_floating<S>) {
    if constexpr (sizeof(D) > sizeof(S)) return static_cast<D>(value);
    else return round_to_float<D, mode>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<D, float> && (mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT)) {
    return static_cast<float>(value);  // at once: not every int64_t is exact in double
  } else if constexpr (is_floating<D>) {
    return round_to_float<D, mode>(static_cast<double>(value));
  } else {
    return saturate<D>(static_cast<double>(value));
  }
}

/// An integer of the matrix unit on its way to half: the scale that SetDeqScale gave, then rounded once.
template <typename D, typename S, RoundMode mode>
D convert_scaled(S value) {
  if constexpr (std::is_same_v<D, half> && std::is_same_v<S, int32_t>)
    return convert<D, float, mode>(static_cast<float>(value) * core().deq_scale);
  else return convert<D, S, mode>(value);
}

/// Calls `body` with the mode as a constant, so that the loop inside it is free of the choice.
template <typename Body>
void with_mode(RoundMode mode, Body&& body) {
  switch (mode) {
    case RoundMode::CAST_FLOOR:
      return body(std::integral_constant<RoundMode, RoundMode::CAST_FLOOR>{});
    case RoundMode::CAST_CEIL:
      return body(std::integral_constant<RoundMode, RoundMode::CAST_CEIL>{});
    case RoundMode::CAST_ROUND:
      return body(std::integral_constant<RoundMode, RoundMode::CAST_ROUND>{});
    case RoundMode::CAST_TRUNC:
      return body(std::integral_constant<RoundMode, RoundMode::CAST_TRUNC>{});
    case RoundMode::CAST_ODD:
      return body(std::integral_constant<RoundMode, RoundMode::CAST_ODD>{});
    case RoundMode::CAST_RINT:
      return body(std::integral_constant<RoundMode, RoundMode::CAST_RINT>{});
    default:
      return body(std::integral_constant<RoundMode, RoundMode::CAST_NONE>{});
  }
}

template <typename D, typename S>
void check_mode(RoundMode mode) {
  if (mode == RoundMode::CAST_ODD && !(std::is_same_v<D, half> && std::is_same_v<S, float>))
    fault(kVectorCoreException, "Cast: CAST_ODD exists for float to half only");
}

template <typename D, typename S>
void cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, RoundMode mode, const Lanes& lanes, uint32_t per_repeat,
          const AscendC::UnaryRepeatParams& params) {
  check_mode<D, S>(mode);
  const Instruction instruction("Cast", PIPE_V, Flow::Lanes);
  const auto out = strided(dst, lanes, params.dstBlkStride, params.dstRepStride, "Cast", "dst");
  const auto in = strided(src, lanes, params.srcBlkStride, params.srcRepStride, "Cast", "src");
  with_mode(mode, [&](auto constant) {
    for_lanes(lanes, per_repeat,
              [&](uint32_t r, uint32_t lane) { out.at(r, lane) = convert_scaled<D, S, constant.value>(in.at(r, lane)); });
  });
}

template <typename D, typename S>
constexpr uint32_t cast_per_repeat = kRepeat / (sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S));

template <typename D, typename S>
void cast_count(const LocalTensor<D>& dst, const LocalTensor<S>& src, RoundMode mode, uint32_t count) {
  check_mode<D, S>(mode);
  const Instruction instruction("Cast", PIPE_V, Flow::Lanes);
  D* out = elements(dst, count, "Cast", "dst");
  const S* in = elements(src, count, "Cast", "src");
  with_mode(mode, [&](auto constant) {
    MTSIM_INDEPENDENT
    for (uint32_t i = 0; i < count; ++i) out[i] = convert_scaled<D, S, constant.value>(in[i]);
  });
}

/// Between half and int4b_t, which takes -8 to 7. An odd last element leaves the other half of its byte.
template <typename D, typename S>
void cast_nibbles(const LocalTensor<D>& dst, const LocalTensor<S>& src, RoundMode mode, uint32_t count) {
  using AscendC::int4b_t;
  static_assert(one_of<half, D, S>, "Cast: int4b_t is converted to half and from half");
  const Instruction instruction("Cast", PIPE_V, Flow::Lanes);
  auto* out = reinterpret_cast<uint8_t*>(elements(dst, count, "Cast", "dst"));
  const auto* in = reinterpret_cast<const uint8_t*>(elements(src, count, "Cast", "src"));
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t shift = i % 2 * 4;
    if constexpr (std::is_same_v<S, int4b_t>) {
      const int nibble = in[i / 2] >> shift & 0xF;
      reinterpret_cast<half*>(out)[i] = static_cast<half>(static_cast<float>(nibble < 8 ? nibble : nibble - 16));
    } else {
      with_mode(mode, [&](auto constant) {
        const float value = round_to_integral<constant.value>(static_cast<float>(reinterpret_cast<const half*>(in)[i]));
        const int nibble = value < -8 ? -8 : value > 7 ? 7 : value == value ? static_cast<int>(value) : 0;
        out[i / 2] = static_cast<uint8_t>((out[i / 2] & ~(0xF << shift)) | (nibble & 0xF) << shift);
      });
    }
  }
}

}  // namespace mtsim

namespace AscendC {

template <typename D, typename S, bool isSetMask = true>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode, const uint32_t count) {
  if constexpr (mtsim::one_of<int4b_t, D, S>) return mtsim::cast_nibbles(dst, src, mode, count);
  else mtsim::cast_count(dst, src, mode, count);
}

/// The scale of what Cast makes of int32_t in half, from here to the end of the block.
inline void SetDeqScale(half scale) { mtsim::core().deq_scale = static_cast<float>(scale); }
template <typename D, typename S, bool isSetMask = true>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode, const uint64_t mask,
          uint8_t repeatTimes, const UnaryRepeatParams& params) {
  constexpr uint32_t per_repeat = mtsim::cast_per_repeat<D, S>;
  mtsim::cast(dst, src, mode, mtsim::lanes(mask, repeatTimes, per_repeat, isSetMask, "Cast"), per_repeat, params);
}
template <typename D, typename S, bool isSetMask = true>
void Cast(const LocalTensor<D>& dst, const LocalTensor<S>& src, const RoundMode& mode, const uint64_t mask[],
          uint8_t repeatTimes, const UnaryRepeatParams& params) {
  constexpr uint32_t per_repeat = mtsim::cast_per_repeat<D, S>;
  mtsim::cast(dst, src, mode, mtsim::lanes(mask, repeatTimes, per_repeat, isSetMask, "Cast"), per_repeat, params);
}

}  // namespace AscendC
