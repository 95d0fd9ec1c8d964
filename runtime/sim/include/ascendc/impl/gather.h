// Gather, Gatherb, Scatter, GatherMask and Brcb: elements moved by offsets, by masks, and one to a block.
#pragma once

#include "elementwise.h"

namespace AscendC {

struct GatherRepeatParams {
  GatherRepeatParams() = default;
  GatherRepeatParams(uint8_t block, uint16_t repeat) : dstBlkStride(block), dstRepStride(repeat) {}
  uint32_t blockNumber = DEFAULT_BLK_NUM;
  uint8_t dstBlkStride = 1;
  uint16_t dstRepStride = 8;
  bool repeatStrideMode = false;
  bool strideSizeMode = false;
};

struct GatherMaskParams {
  GatherMaskParams() = default;
  GatherMaskParams(uint8_t block, uint16_t repeats, uint16_t repeat, uint8_t pattern)
      : src0BlockStride(block), repeatTimes(repeats), src0RepeatStride(repeat), src1RepeatStride(pattern) {}
  uint8_t src0BlockStride = 1;
  uint16_t repeatTimes = 0;
  uint16_t src0RepeatStride = 0;
  uint8_t src1RepeatStride = 0;
};

enum class GatherMaskMode : uint8_t { VERSION_V1, VERSION_V2 };

struct BrcbRepeatParams {
  BrcbRepeatParams() = default;
  BrcbRepeatParams(uint16_t block, uint16_t repeat) : dstBlkStride(block), dstRepStride(repeat) {}
  uint32_t blockNumber = DEFAULT_BLK_NUM;
  uint16_t dstBlkStride = 1;
  uint16_t dstRepStride = 8;
};

}  // namespace AscendC

namespace mtsim {

/// The element `offset` bytes past a tensor's start.
template <typename T>
T* at_offset(const LocalTensor<T>& tensor, uint64_t offset, const char* name, const char* operand) {
  if (offset % sizeof(T) != 0)
    fault(kVectorCoreException, "%s: an offset of %llu bytes does not meet an element of %zu bytes", name,
          static_cast<unsigned long long>(offset), sizeof(T));
  T* element = bytes_in_range(tensor, static_cast<int64_t>(offset + sizeof(T)), name, operand) + offset / sizeof(T);
  touch_elements(element, 1, name, operand, access_of(operand));
  return element;
}

/// Offsets and patterns, which decide what is moved: they are used, not moved.
template <typename T>
const T* deciding(const LocalTensor<T>& tensor, int64_t count, const char* name, const char* operand) {
  const T* first = elements_in_range(tensor, count, name, operand);
  touch_elements(first, static_cast<uint64_t>(count), name, operand, kUsed);
  return first;
}

template <typename T>
void move_element(T* to, const T* from) {
  moved(to, from, sizeof(T));
  *to = *from;
}

template <typename T>
constexpr void check_movable() {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "Gather and Scatter exist for types of 2 and 4 bytes on this chip");
}

template <typename T>
void gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offsets, uint32_t base,
            const Lanes& lanes, uint16_t repeat_stride) {
  check_movable<T>();
  const Instruction instruction("Gather", PIPE_V, Flow::Moves);
  const auto out = strided(dst, lanes, 1, repeat_stride, "Gather", "dst");
  const int64_t used = int64_t{lanes.repeats} * per_repeat<T>;
  const uint32_t* from = elements_in_range(offsets, used, "Gather", "srcOffset");
  for_lanes(lanes, per_repeat<T>, [&](uint32_t r, uint32_t lane) {
    const uint32_t* offset = from + r * per_repeat<T> + lane;
    touch_elements(offset, 1, "Gather", "srcOffset", kUsed);
    move_element(&out.at(r, lane), at_offset(src, uint64_t{base} + *offset, "Gather", "src"));
  });
}

/// What a built-in pattern keeps: every other element from 0 or 1 on, every fourth from 0 to 3 on, or all.
inline bool pattern_keeps(uint8_t pattern, uint32_t index) {
  if (pattern <= 2) return index % 2 == pattern - 1u;
  return pattern == 7 || index % 4 == pattern - 3u;
}

/// Keeps the elements `keeps(repeat, index)` names, one behind the other, and returns their number. In normal mode a
/// repeat has 256 bytes, in counter mode `mask` elements.
template <typename T, typename Keeps>
uint64_t gather_mask(const LocalTensor<T>& dst, const LocalTensor<T>& src, bool counted, uint32_t mask,
                     const AscendC::GatherMaskParams& params, Keeps&& keeps) {
  check_movable<T>();
  constexpr uint32_t kPerBlock = kBlock / sizeof(T);
  const uint32_t count = counted ? mask : per_repeat<T>;
  T* out = elements_in_range(dst, 0, "GatherMask", "dst");
  uint64_t kept = 0;
  for (uint32_t repeat = 0; repeat < params.repeatTimes; ++repeat)
    for (uint32_t i = 0; i < count; ++i) {
      if (!keeps(repeat, i)) continue;
      const uint64_t block = uint64_t{repeat} * params.src0RepeatStride + uint64_t{i / kPerBlock} *
          params.src0BlockStride;
      const T* from = at_offset(src, block * kBlock + i % kPerBlock * sizeof(T), "GatherMask", "src0");
      bytes_in_range(dst, static_cast<int64_t>((kept + 1) * sizeof(T)), "GatherMask", "dst");
      touch_elements(out + kept, 1, "GatherMask", "dst", MTSIM_WRITES);
      move_element(out + kept++, from);
    }
  return kept;
}

}  // namespace mtsim

namespace AscendC {

/// dst[i] is the element srcBaseAddr + srcOffset[i] bytes past the start of src.
template <typename T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
            const uint32_t srcBaseAddr, const uint32_t count) {
  mtsim::check_movable<T>();
  const mtsim::Instruction instruction("Gather", PIPE_V, mtsim::Flow::Moves);
  T* out = mtsim::elements(dst, count, "Gather", "dst");
  const uint32_t* offsets = mtsim::deciding(srcOffset, count, "Gather", "srcOffset");
  for (uint32_t i = 0; i < count; ++i)
    mtsim::move_element(out + i, mtsim::at_offset(src, uint64_t{srcBaseAddr} + offsets[i], "Gather", "src"));
}
template <typename T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
            const uint32_t srcBaseAddr, const uint64_t mask, const uint8_t repeatTimes, const uint16_t dstRepStride) {
  const auto lanes = mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, true, "Gather");
  mtsim::gather(dst, src, srcOffset, srcBaseAddr, lanes, dstRepStride);
}
template <typename T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
            const uint32_t srcBaseAddr, const uint64_t mask[], const uint8_t repeatTimes,
            const uint16_t dstRepStride) {
  const auto lanes = mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, true, "Gather");
  mtsim::gather(dst, src, srcOffset, srcBaseAddr, lanes, dstRepStride);
}

/// Eight 32-byte blocks a repeat, each from its own offset in bytes.
template <typename T>
void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offset,
             const uint8_t repeatTimes, const GatherRepeatParams& params) {
  mtsim::check_movable<T>();
  const mtsim::Instruction instruction("Gatherb", PIPE_V, mtsim::Flow::Moves);
  const uint32_t blocks = repeatTimes * 8u;
  const uint32_t* from = mtsim::deciding(offset, blocks, "Gatherb", "offset");
  for (uint32_t i = 0; i < blocks; ++i) {
    const uint64_t to = (uint64_t{i / 8} * params.dstRepStride + uint64_t{i % 8} * params.dstBlkStride) * ONE_BLK_SIZE;
    const int64_t src_end = int64_t{from[i]} + ONE_BLK_SIZE;
    const uint8_t* block = src.bytes() + from[i];
    if (from[i] % ONE_BLK_SIZE != 0) mtsim::misaligned("Gatherb", "a block of src", block);
    mtsim::bytes_in_range(src, src_end, "Gatherb", "src");
    mtsim::aligned_in_range(dst, static_cast<int64_t>(to + ONE_BLK_SIZE), "Gatherb", "dst");
    mtsim::touch(block, ONE_BLK_SIZE, 8 * sizeof(T), "Gatherb", "src", MTSIM_READS);
    mtsim::touch(dst.bytes() + to, ONE_BLK_SIZE, 8 * sizeof(T), "Gatherb", "dst", MTSIM_WRITES);
    mtsim::moved(dst.bytes() + to, block, ONE_BLK_SIZE);
    std::memcpy(dst.bytes() + to, block, ONE_BLK_SIZE);
  }
}

/// The element dstBaseAddr + dstOffset[i] bytes past the start of dst becomes src[i].
template <typename T>
void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& dstOffset,
             const uint32_t dstBaseAddr, const uint32_t count) {
  mtsim::check_movable<T>();
  const mtsim::Instruction instruction("Scatter", PIPE_V, mtsim::Flow::Moves);
  const T* in = mtsim::elements(src, count, "Scatter", "src");
  const uint32_t* offsets = mtsim::deciding(dstOffset, count, "Scatter", "dstOffset");
  for (uint32_t i = 0; i < count; ++i)
    mtsim::move_element(mtsim::at_offset(dst, uint64_t{dstBaseAddr} + offsets[i], "Scatter", "dst"), in + i);
}

/// By a built-in pattern: 1 and 2 keep even and odd elements, 3 to 6 every fourth, 7 all.
template <typename T, GatherMaskMode mode = GatherMaskMode::VERSION_V2>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern, const bool reduceMode,
                const uint32_t mask, const GatherMaskParams& params, uint64_t& rsvdCnt) {
  if (src1Pattern < 1 || src1Pattern > 7)
    mtsim::fault(mtsim::kVectorCoreException, "GatherMask: pattern %u, there are 1 to 7", src1Pattern);
  const mtsim::Instruction instruction("GatherMask", PIPE_V, mtsim::Flow::Moves);
  rsvdCnt = mtsim::core().gathered = mtsim::gather_mask(dst, src0, reduceMode, mask, params,
                               [&](uint32_t, uint32_t i) { return mtsim::pattern_keeps(src1Pattern, i); });
}

/// By a bit an element; a repeat's bits start src1RepeatStride blocks behind the one before's.
template <typename T, typename U, GatherMaskMode mode = GatherMaskMode::VERSION_V2>
void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& src1Pattern,
                const bool reduceMode, const uint32_t mask, const GatherMaskParams& params, uint64_t& rsvdCnt) {
  static_assert(sizeof(U) == sizeof(T) && std::is_unsigned_v<U>,
                "GatherMask: the pattern's type is the unsigned integer of the elements' size");
  const mtsim::Instruction instruction("GatherMask", PIPE_V, mtsim::Flow::Moves);
  const uint32_t count = reduceMode ? mask : mtsim::per_repeat<T>;
  const auto bits = src1Pattern.template ReinterpretCast<uint8_t>();
  rsvdCnt = mtsim::core().gathered = mtsim::gather_mask(dst, src0, reduceMode, mask, params, [&](uint32_t repeat, uint32_t i) {
    const uint64_t start = uint64_t{repeat} * params.src1RepeatStride * ONE_BLK_SIZE;
    const int64_t end = static_cast<int64_t>(start + (count + 7) / 8);
    const uint8_t* byte = mtsim::bytes_in_range(bits, end, "GatherMask", "src1Pattern") + start + i / 8;
    mtsim::touch_elements(byte, 1, "GatherMask", "src1Pattern", mtsim::kUsed);
    return *byte >> (i % 8) & 1;
  });
}

/// Eight elements a repeat; each fills a 32-byte block.
template <typename T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t repeatTimes,
          const BrcbRepeatParams& params) {
  mtsim::check_movable<T>();
  const mtsim::Instruction instruction("Brcb", PIPE_V, mtsim::Flow::Moves);
  constexpr uint32_t kPerBlock = ONE_BLK_SIZE / sizeof(T);
  const T* in = mtsim::elements(src0, repeatTimes * 8, "Brcb", "src0");
  for (uint32_t i = 0; i < repeatTimes * 8u; ++i) {
    const uint64_t at = uint64_t{i / 8} * params.dstRepStride + uint64_t{i % 8} * params.dstBlkStride;
    T* out = mtsim::elements_in_range(dst, static_cast<int64_t>((at + 1) * kPerBlock), "Brcb", "dst") + at * kPerBlock;
    mtsim::touch_elements(out, kPerBlock, "Brcb", "dst", MTSIM_WRITES);
    const T value = in[i];
    for (uint32_t k = 0; k < kPerBlock; ++k) {
      mtsim::moved(out + k, in + i, sizeof(T));
      out[k] = value;
    }
  }
}

}  // namespace AscendC
