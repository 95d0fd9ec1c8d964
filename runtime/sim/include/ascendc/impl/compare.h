// Compare and Select: a bit an element, the first element in the lowest bit.
#pragma once

#include <algorithm>

#include "elementwise.h"

namespace mtsim {

using AscendC::CMPMODE;
using AscendC::SELMODE;

/// Calls `body` with the comparison as a function object, so that the loop inside it is free of the choice.
template <typename Body>
void with_comparison(CMPMODE mode, Body&& body) {
  switch (mode) {
    case CMPMODE::LT:
      return body([](auto a, auto b) { return a < b; });
    case CMPMODE::GT:
      return body([](auto a, auto b) { return a > b; });
    case CMPMODE::EQ:
      return body([](auto a, auto b) { return a == b; });
    case CMPMODE::LE:
      return body([](auto a, auto b) { return a <= b; });
    case CMPMODE::GE:
      return body([](auto a, auto b) { return a >= b; });
    default:
      return body([](auto a, auto b) { return a != b; });
  }
}

/// Only whole repeats are compared: a tail that does not fill 256 bytes keeps the bits it had.
/// `load_right(from, to)` puts the other operand's repeat that starts at element `from` into `to`.
template <typename D, typename T, typename LoadRight>
void compare(const char* name, const LocalTensor<D>& dst, const LocalTensor<T>& src, CMPMODE mode, uint64_t count,
             LoadRight&& load_right) {
  static_assert(one_of<D, uint8_t, int8_t>, "Compare writes bits into bytes");
  static_assert(one_of<T, half, float, int32_t>, "Compare exists for half, float, and int32_t with EQ");
  const uint64_t compared = align_down(count, per_repeat<T>);
  const Instruction instruction(name, PIPE_V, Flow::Lanes);
  auto* bits = reinterpret_cast<uint8_t*>(aligned_in_range(dst, static_cast<int64_t>(compared / 8), name, "dst"));
  touch(bits, compared / 8, 1, name, "dst", MTSIM_WRITES);
  if constexpr (kChecked) {
    const uint64_t tail = (count + 7) / 8 - compared / 8;
    mtsim_check_explain(bits + compared / 8, tail <= dst.capacity() - compared / 8 ? tail : 0,
                        "Compare at {} does not compute the bits of a tail that fills no 256 bytes", MTSIM_FRAME);
  }
  const T* left = elements(src, static_cast<int64_t>(compared), name, "src0");
  with_comparison(mode, [&](auto holds) {
    Wide<T> a[per_repeat<T>];
    Wide<T> b[per_repeat<T>];
    uint8_t flags[per_repeat<T>];
    for (uint64_t from = 0; from < compared; from += per_repeat<T>) {
      load_wide(left + from, a, per_repeat<T>);
      load_right(from, b);
      for (uint32_t i = 0; i < per_repeat<T>; ++i) flags[i] = holds(a[i], b[i]);
      for (uint32_t i = 0; i < per_repeat<T>; i += 8) bits[(from + i) / 8] = pack_flags(flags + i);
    }
  });
}

template <typename T, typename M>
const uint8_t* selection_bits(const LocalTensor<M>& selection, SELMODE mode, uint64_t count) {
  // One repeat's bits serve every repeat in the first mode, in the others each element has its own.
  const uint64_t bits = mode == SELMODE::VSEL_CMPMASK_SPR ? per_repeat<T> : count;
  const auto bytes = static_cast<int64_t>((bits + 7) / 8);
  const auto* first = reinterpret_cast<const uint8_t*>(bytes_in_range(selection, bytes, "Select", "selMask"));
  touch(first, static_cast<uint64_t>(bytes), 1, "Select", "selMask", MTSIM_READS);
  return first;
}

/// An element of a result is what was chosen for it; `from` is NULL where that is a number.
template <typename T>
void chosen(const T* to, const T* from, const uint8_t* bits) {
  if constexpr (kChecked) mtsim_check_chosen(to, from, sizeof(T), bits);
}

template <typename T, typename Otherwise>
void select(T* dst, const uint8_t* bits, SELMODE mode, const T* src0, const T* src1, uint64_t count,
            Otherwise&& otherwise) {
  auto* out = reinterpret_cast<Bits<T>*>(dst);
  const auto* chosen = reinterpret_cast<const Bits<T>*>(src0);
  const bool repeated = mode == SELMODE::VSEL_CMPMASK_SPR;
  uint8_t flags[per_repeat<T>];
  for (uint64_t from = 0; from < count; from += per_repeat<T>) {
    const uint64_t n = count - from < per_repeat<T> ? count - from : per_repeat<T>;
    for (uint64_t i = 0; i < n; i += 8) spread_flags(bits[((repeated ? 0 : from) + i) / 8], flags + i);
    for (uint64_t i = 0; kChecked && i < n; ++i)
      mtsim::chosen(dst + from + i, flags[i] ? src0 + from + i : src1 == nullptr ? nullptr : src1 + from + i,
                    bits + ((repeated ? 0 : from) + i) / 8);
    MTSIM_INDEPENDENT
    for (uint64_t i = 0; i < n; ++i) out[from + i] = flags[i] ? chosen[from + i] : otherwise(from + i);
  }
}

}  // namespace mtsim

namespace AscendC {

template <typename T, typename D>
void Compare(const LocalTensor<D>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
    uint32_t count) {
  const mtsim::Instruction instruction("Compare", PIPE_V, mtsim::Flow::Lanes);
  const uint64_t compared = mtsim::align_down(count, mtsim::per_repeat<T>);
  const T* right = mtsim::elements(src1, static_cast<int64_t>(compared), "Compare", "src1");
  mtsim::compare("Compare", dst, src0, cmpMode, count, 
                 [right](uint64_t from, mtsim::Wide<T>* to) { mtsim::load_wide(right + from, to,
                     mtsim::per_repeat<T>); });
}

template <typename T, typename D>
void CompareScalar(const LocalTensor<D>& dst, const LocalTensor<T>& src0, const mtsim::Scalar<T> scalar,
    CMPMODE cmpMode,
                   uint32_t count) {
  mtsim::compare("CompareScalar", dst, src0, cmpMode, count,
                 [value = static_cast<mtsim::Wide<T>>(scalar)](uint64_t, mtsim::Wide<T>* to) {
                   std::fill_n(to, mtsim::per_repeat<T>, value);
                 });
}

/// dst[i] = bit i of selMask ? src0[i] : src1[i].
template <typename T, typename M>
void Select(const LocalTensor<T>& dst, const LocalTensor<M>& selMask, const LocalTensor<T>& src0,
    const LocalTensor<T>& src1,
            SELMODE selMode, uint32_t count) {
  static_assert(mtsim::one_of<T, half, float>, "Select exists for half and float on this chip");
  const mtsim::Instruction instruction("Select", PIPE_V, mtsim::Flow::Moves);
  const T* other = mtsim::elements(src1, count, "Select", "src1");
  mtsim::select(mtsim::elements(dst, count, "Select", "dst"), mtsim::selection_bits<T>(selMask, selMode, count),
      selMode,
                mtsim::elements(src0, count, "Select", "src0"), other, count,
                [other](uint64_t i) { return mtsim::bits_of(other[i]); });
}

template <typename T, typename M>
void Select(const LocalTensor<T>& dst, const LocalTensor<M>& selMask, const LocalTensor<T>& src0, mtsim::Scalar<T> src1,
            SELMODE selMode, uint32_t count) {
  static_assert(mtsim::one_of<T, half, float>, "Select exists for half and float on this chip");
  const mtsim::Instruction instruction("Select", PIPE_V, mtsim::Flow::Moves);
  mtsim::select(mtsim::elements(dst, count, "Select", "dst"), mtsim::selection_bits<T>(selMask, selMode, count),
      selMode,
                mtsim::elements(src0, count, "Select", "src0"), static_cast<const T*>(nullptr), count,
                [value = mtsim::bits_of<T>(src1)](uint64_t) { return value; });
}

}  // namespace AscendC
