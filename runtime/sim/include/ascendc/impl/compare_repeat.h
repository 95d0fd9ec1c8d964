// Compare, CompareScalar and Select over repeats with a mask and strides; results in memory or in the compare register.
#pragma once

#include "compare.h"

namespace mtsim {

/// Compares the active lanes; `result(repeat, lane, holds)` receives each.
template <typename T, typename Right, typename Result>
void compare_lanes(const char* name, const LocalTensor<T>& src, const Lanes& lanes, uint32_t block, uint32_t repeat,
                   CMPMODE mode, Right&& right, Result&& result) {
  static_assert(one_of<T, half, float, int32_t>, "Compare exists for half, float, and int32_t with EQ");
  const auto left = strided(src, lanes, block, repeat, name, "src0");
  with_comparison(mode, [&](auto holds) {
    for_lanes(lanes, per_repeat<T>, [&](uint32_t r, uint32_t lane) {
      result(r, lane, holds(static_cast<Wide<T>>(left.at(r, lane)), static_cast<Wide<T>>(right(r, lane))));
    });
  });
}

inline void put_bit(uint8_t* bits, uint32_t at, bool value) {
  const auto bit = static_cast<uint8_t>(1u << (at % 8));
  bits[at / 8] = static_cast<uint8_t>(value ? bits[at / 8] | bit : bits[at / 8] & ~bit);
}

/// A repeat's bits follow the bits of the repeat before; inactive lanes keep theirs.
template <typename T, typename D>
auto into_memory(const char* name, const LocalTensor<D>& dst, const Lanes& lanes) {
  const int64_t bytes = int64_t{lanes.repeats} * per_repeat<T> / 8;
  auto* bits = reinterpret_cast<uint8_t*>(aligned_in_range(dst, bytes, name, "dst"));
  touch(bits, static_cast<uint64_t>(bytes), 1, name, "dst", MTSIM_WRITES);
  return [bits](uint32_t repeat, uint32_t lane, bool holds) { put_bit(bits, repeat * per_repeat<T> + lane, holds); };
}

inline auto into_register() {
  return [](uint32_t, uint32_t lane, bool holds) {
    uint64_t& word = lane < 64 ? core().compare_mask.low : core().compare_mask.high;
    const uint64_t bit = uint64_t{1} << (lane % 64);
    word = holds ? word | bit : word & ~bit;
  };
}

/// Where bit i of repeat r is: one repeat's bits for all, or each element's own.
template <typename T>
uint32_t selection_bit(SELMODE mode, uint32_t repeat, uint32_t lane) {
  return (mode == SELMODE::VSEL_CMPMASK_SPR ? 0 : repeat * per_repeat<T>) + lane;
}

/// `other(repeat, lane)` is where the alternative to src0 lies, NULL where it is the number `value`. `bits(repeat, lane)`
/// is the byte that chooses, NULL where the compare register does.
template <typename T, typename Chosen, typename Bits, typename Other>
void select_lanes(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const Lanes& lanes,
                  const AscendC::BinaryRepeatParams& params, Chosen&& chosen, Bits&& bits, Other&& other,
                  T value = T{}) {
  static_assert(one_of<T, half, float>, "Select exists for half and float on this chip");
  const auto out = strided(dst, lanes, params.dstBlkStride, params.dstRepStride, "Select", "dst");
  const auto left = strided(src0, lanes, params.src0BlkStride, params.src0RepStride, "Select", "src0");
  for_lanes(lanes, per_repeat<T>, [&](uint32_t r, uint32_t lane) {
    const T* from = chosen(r, lane) ? &left.at(r, lane) : other(r, lane);
    mtsim::chosen(&out.at(r, lane), from, bits(r, lane));
    out.at(r, lane) = from != nullptr ? *from : value;
  });
}

/// By a bit an element in memory.
template <typename T, typename M, typename Other>
void select_by_memory(const LocalTensor<T>& dst, const LocalTensor<M>& selection, const LocalTensor<T>& src0,
                      SELMODE mode, const Lanes& lanes, const AscendC::BinaryRepeatParams& params, Other&& other,
                      T value = T{}) {
  const uint8_t* bits = selection_bits<T>(selection, mode, uint64_t{lanes.repeats} * per_repeat<T>);
  const auto byte = [=](uint32_t repeat, uint32_t lane) { return bits + selection_bit<T>(mode, repeat, lane) / 8; };
  const auto choice = [=](uint32_t repeat, uint32_t lane) {
    const uint32_t at = selection_bit<T>(mode, repeat, lane);
    return bits[at / 8] >> (at % 8) & 1;
  };
  select_lanes(dst, src0, lanes, params, choice, byte, other, value);
}

}  // namespace mtsim

namespace AscendC {

// M is a count (uint64_t) or the bits of a mask (const uint64_t*).
#define MTSIM_MASK_FORMS(M) typename M, typename = std::enable_if_t<std::is_integral_v<M> || std::is_pointer_v<M>>

template <typename T, typename D, bool isSetMask = true, MTSIM_MASK_FORMS(M)>
void Compare(const LocalTensor<D>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
             M mask, uint8_t repeatTimes, const BinaryRepeatParams& params) {
  const mtsim::Instruction instruction("Compare", PIPE_V, mtsim::Flow::Lanes);
  const auto lanes = mtsim::lanes(mtsim::as_mask(mask), repeatTimes, mtsim::per_repeat<T>, isSetMask, "Compare");
  const auto right = mtsim::strided(src1, lanes, params.src1BlkStride, params.src1RepStride, "Compare", "src1");
  mtsim::compare_lanes("Compare", src0, lanes, params.src0BlkStride, params.src0RepStride, cmpMode,
                       [&](uint32_t r, uint32_t lane) { return right.at(r, lane); },
                       mtsim::into_memory<T>("Compare", dst, lanes));
}

/// Into the compare register, one repeat.
template <typename T, bool isSetMask = true, MTSIM_MASK_FORMS(M)>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, M mask,
             const BinaryRepeatParams& params) {
  const auto lanes = mtsim::lanes(mtsim::as_mask(mask), 1, mtsim::per_repeat<T>, isSetMask, "Compare");
  const auto right = mtsim::strided(src1, lanes, params.src1BlkStride, params.src1RepStride, "Compare", "src1");
  mtsim::compare_lanes("Compare", src0, lanes, params.src0BlkStride, params.src0RepStride, cmpMode,
                       [&](uint32_t r, uint32_t lane) { return right.at(r, lane); }, mtsim::into_register());
}

template <typename T, typename D, bool isSetMask = true, MTSIM_MASK_FORMS(M)>
void CompareScalar(const LocalTensor<D>& dst, const LocalTensor<T>& src0, const mtsim::Scalar<T> scalar,
                   CMPMODE cmpMode, M mask, uint8_t repeatTimes, const UnaryRepeatParams& params) {
  const mtsim::Instruction instruction("CompareScalar", PIPE_V, mtsim::Flow::Lanes);
  const auto lanes = mtsim::lanes(mtsim::as_mask(mask), repeatTimes, mtsim::per_repeat<T>, isSetMask, "CompareScalar");
  mtsim::compare_lanes("CompareScalar", src0, lanes, params.srcBlkStride, params.srcRepStride, cmpMode,
                       [scalar](uint32_t, uint32_t) { return scalar; },
                       mtsim::into_memory<T>("CompareScalar", dst, lanes));
}

template <typename T, typename U, bool isSetMask = true, MTSIM_MASK_FORMS(M)>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE selMode, M mask, uint8_t repeatTimes,
            const BinaryRepeatParams& params) {
  const mtsim::Instruction instruction("Select", PIPE_V, mtsim::Flow::Moves);
  const auto lanes = mtsim::lanes(mtsim::as_mask(mask), repeatTimes, mtsim::per_repeat<T>, isSetMask, "Select");
  const auto right = mtsim::strided(src1, lanes, params.src1BlkStride, params.src1RepStride, "Select", "src1");
  mtsim::select_by_memory(dst, selMask, src0, selMode, lanes, params,
                          [&](uint32_t r, uint32_t lane) { return &right.at(r, lane); });
}
template <typename T, typename U, bool isSetMask = true, MTSIM_MASK_FORMS(M)>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            mtsim::Scalar<T> src1, SELMODE selMode, M mask, uint8_t repeatTimes, const BinaryRepeatParams& params) {
  const mtsim::Instruction instruction("Select", PIPE_V, mtsim::Flow::Moves);
  const auto lanes = mtsim::lanes(mtsim::as_mask(mask), repeatTimes, mtsim::per_repeat<T>, isSetMask, "Select");
  mtsim::select_by_memory(dst, selMask, src0, selMode, lanes, params,
                          [](uint32_t, uint32_t) { return static_cast<const T*>(nullptr); }, src1);
}
#undef MTSIM_MASK_FORMS

/// By the compare register, which serves every repeat.
template <typename T, SELMODE selMode>
void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint8_t repeatTimes,
            const BinaryRepeatParams& params) {
  const mtsim::Instruction instruction("Select", PIPE_V, mtsim::Flow::Moves);
  const auto lanes = mtsim::lanes(uint64_t{mtsim::per_repeat<T>}, repeatTimes, mtsim::per_repeat<T>, false, "Select");
  const auto right = mtsim::strided(src1, lanes, params.src1BlkStride, params.src1RepStride, "Select", "src1");
  mtsim::select_lanes(dst, src0, lanes, params,
                      [](uint32_t, uint32_t lane) { return mtsim::core().compare_mask[lane]; },
                      [](uint32_t, uint32_t) { return static_cast<const uint8_t*>(nullptr); },
                      [&](uint32_t r, uint32_t lane) { return &right.at(r, lane); });
}

/// The compare register, 16 bytes, from and to memory.
template <typename T>
void SetCmpMask(const LocalTensor<T>& src) {
  std::memcpy(&mtsim::core().compare_mask, mtsim::aligned_bytes(src, 16, "SetCmpMask", "src"), 16);
}
template <typename T>
void GetCmpMask(const LocalTensor<T>& dst) {
  std::memcpy(mtsim::aligned_bytes(dst, 16, "GetCmpMask", "dst"), &mtsim::core().compare_mask, 16);
}

}  // namespace AscendC
