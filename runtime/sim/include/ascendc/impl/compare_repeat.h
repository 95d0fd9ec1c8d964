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
  auto* bits = reinterpret_cast<uint8_t*>(aligned_bytes(dst, bytes, name, "dst"));
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
bool selected(const uint8_t* bits, SELMODE mode, uint32_t repeat, uint32_t lane) {
  const uint32_t at = (mode == SELMODE::VSEL_CMPMASK_SPR ? 0 : repeat * per_repeat<T>) + lane;
  return bits[at / 8] >> (at % 8) & 1;
}

template <typename T, typename Chosen, typename Otherwise>
void select_lanes(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const Lanes& lanes,
                  const AscendC::BinaryRepeatParams& params, Chosen&& chosen, Otherwise&& otherwise) {
  static_assert(one_of<T, half, float>, "Select exists for half and float on this chip");
  const auto out = strided(dst, lanes, params.dstBlkStride, params.dstRepStride, "Select", "dst");
  const auto left = strided(src0, lanes, params.src0BlkStride, params.src0RepStride, "Select", "src0");
  for_lanes(lanes, per_repeat<T>, [&](uint32_t r, uint32_t lane) {
    out.at(r, lane) = chosen(r, lane) ? left.at(r, lane) : otherwise(r, lane);
  });
}

template <typename T, typename M>
auto choice_of(const LocalTensor<M>& selection, SELMODE mode, const Lanes& lanes) {
  const uint8_t* bits = selection_bits<T>(selection, mode, uint64_t{lanes.repeats} * per_repeat<T>);
  return [bits, mode](uint32_t repeat, uint32_t lane) { return selected<T>(bits, mode, repeat, lane); };
}

}  // namespace mtsim

namespace AscendC {

// M is a count (uint64_t) or the bits of a mask (const uint64_t*).
#define MTSIM_MASK_FORMS(M) typename M, typename = std::enable_if_t<std::is_integral_v<M> || std::is_pointer_v<M>>

template <typename T, typename D, bool isSetMask = true, MTSIM_MASK_FORMS(M)>
void Compare(const LocalTensor<D>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
             M mask, uint8_t repeatTimes, const BinaryRepeatParams& params) {
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
  const auto lanes = mtsim::lanes(mtsim::as_mask(mask), repeatTimes, mtsim::per_repeat<T>, isSetMask, "CompareScalar");
  mtsim::compare_lanes("CompareScalar", src0, lanes, params.srcBlkStride, params.srcRepStride, cmpMode,
                       [scalar](uint32_t, uint32_t) { return scalar; },
                       mtsim::into_memory<T>("CompareScalar", dst, lanes));
}

template <typename T, typename U, bool isSetMask = true, MTSIM_MASK_FORMS(M)>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            const LocalTensor<T>& src1, SELMODE selMode, M mask, uint8_t repeatTimes,
            const BinaryRepeatParams& params) {
  const auto lanes = mtsim::lanes(mtsim::as_mask(mask), repeatTimes, mtsim::per_repeat<T>, isSetMask, "Select");
  const auto right = mtsim::strided(src1, lanes, params.src1BlkStride, params.src1RepStride, "Select", "src1");
  mtsim::select_lanes(dst, src0, lanes, params, mtsim::choice_of<T>(selMask, selMode, lanes),
                      [&](uint32_t r, uint32_t lane) { return right.at(r, lane); });
}
template <typename T, typename U, bool isSetMask = true, MTSIM_MASK_FORMS(M)>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            mtsim::Scalar<T> src1, SELMODE selMode, M mask, uint8_t repeatTimes, const BinaryRepeatParams& params) {
  const auto lanes = mtsim::lanes(mtsim::as_mask(mask), repeatTimes, mtsim::per_repeat<T>, isSetMask, "Select");
  mtsim::select_lanes(dst, src0, lanes, params, mtsim::choice_of<T>(selMask, selMode, lanes),
                      [src1](uint32_t, uint32_t) { return src1; });
}
#undef MTSIM_MASK_FORMS

/// By the compare register, which serves every repeat.
template <typename T, SELMODE selMode>
void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint8_t repeatTimes,
            const BinaryRepeatParams& params) {
  const auto lanes = mtsim::lanes(uint64_t{mtsim::per_repeat<T>}, repeatTimes, mtsim::per_repeat<T>, false, "Select");
  const auto right = mtsim::strided(src1, lanes, params.src1BlkStride, params.src1RepStride, "Select", "src1");
  mtsim::select_lanes(dst, src0, lanes, params,
                      [](uint32_t, uint32_t lane) { return mtsim::core().compare_mask[lane]; },
                      [&](uint32_t r, uint32_t lane) { return right.at(r, lane); });
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
