// Masks and repeats: which elements an instruction of the repeat form touches, and where they lie.
#pragma once

#include "tensor.h"

namespace mtsim {

/// The lanes of every repeat. Only the last repeat of counter mode may differ from the others.
struct Lanes {
  Mask mask;
  Mask last;
  uint32_t repeats;

  const Mask& of(uint32_t repeat) const { return repeat + 1 == repeats ? last : mask; }

  /// Bytes from an operand's start to the end of its last touched block-strided element.
  uint64_t extent(uint32_t element, uint32_t block_stride, uint32_t repeat_stride) const {
    uint64_t furthest = 0;
    const uint32_t per_block = kBlock / element;
    const uint32_t from = repeats > 1 ? repeats - 2 : 0;  // earlier repeats lie before these two
    for (uint32_t repeat = from; repeat < repeats; ++repeat)
      for (uint32_t lane = 0; lane < kRepeat / element && lane < 128; ++lane)
        if (of(repeat)[lane]) {
          const uint64_t block = uint64_t{repeat} * repeat_stride + uint64_t{lane / per_block} * block_stride;
          const uint64_t end = block * kBlock + (lane % per_block + 1) * element;
          furthest = end > furthest ? end : furthest;
        }
    return furthest;
  }
};

inline Lanes counted_lanes(uint64_t count, uint32_t per_repeat) {
  const uint64_t rest = count % per_repeat;
  return {Mask::first(per_repeat), Mask::first(rest == 0 ? per_repeat : rest),
          static_cast<uint32_t>((count + per_repeat - 1) / per_repeat)};
}

/// `mask` elements of each of `repeats` repeats; in counter mode `mask` elements altogether.
inline Lanes lanes(uint64_t mask, uint32_t repeats, uint32_t per_repeat, bool set_mask, const char* operation) {
  const Core& state = core();
  if (state.mask_mode == AscendC::MaskMode::COUNTER) return counted_lanes(set_mask ? mask : state.mask_count,
      per_repeat);
  if (!set_mask) {
    const Mask bits = state.mask & Mask::first(per_repeat);
    return {bits, bits, repeats};
  }
  if (mask > per_repeat)
    fault(kVectorCoreException, "%s: mask %llu, a repeat has %u elements", operation,
          static_cast<unsigned long long>(mask), per_repeat);
  if (mask == 0) repeats = 0;
  return {Mask::first(mask), Mask::first(mask), repeats};
}

/// The same with a bit an element: mask[0] for elements 0 to 63, mask[1] for 64 to 127.
inline Lanes lanes(const uint64_t* mask, uint32_t repeats, uint32_t per_repeat, bool set_mask, const char*) {
  const Core& state = core();
  const Mask bits = (set_mask ? Mask{mask[0], per_repeat > 64 ? mask[1] : 0} : state.mask) & Mask::first(per_repeat);
  return {bits, bits, repeats};
}

/// A mask argument as one of the two kinds above, whichever integer type a count has.
template <typename M>
auto as_mask(M mask) {
  if constexpr (std::is_pointer_v<M>) return static_cast<const uint64_t*>(mask);
  else return static_cast<uint64_t>(mask);
}

/// An operand of the repeat form; strides in 32-byte blocks.
template <typename T>
struct Strided {
  T* data;
  uint32_t block;
  uint32_t repeat;

  T& at(uint32_t repeat_index, uint32_t lane) const {
    constexpr uint32_t per_block = kBlock / sizeof(T);
    return data[(uint64_t{repeat_index} * repeat + uint64_t{lane / per_block} * block) * per_block + lane % per_block];
  }
};

template <typename T>
void touch_lanes(const Strided<T>& operand, const Lanes& lanes, const char* operation, const char* name,
                 uint32_t access);

template <typename T>
Strided<T> strided(const LocalTensor<T>& tensor, const Lanes& lanes, uint32_t block, uint32_t repeat,
    const char* operation,
                   const char* operand) {
  const auto bytes = static_cast<int64_t>(lanes.extent(sizeof(T), block, repeat));
  const Strided<T> all{aligned_in_range(tensor, bytes, operation, operand), block, repeat};
  touch_lanes(all, lanes, operation, operand, access_of(operand));
  return all;
}

template <typename Visit>
void for_lanes(const Lanes& lanes, uint32_t per_repeat, Visit&& visit) {
  for (uint32_t repeat = 0; repeat < lanes.repeats; ++repeat) {
    const Mask& mask = lanes.of(repeat);
    for (uint32_t lane = 0; lane < per_repeat && lane < 128; ++lane)
      if (mask[lane]) visit(repeat, lane);
  }
}

template <typename T>
constexpr uint32_t per_repeat = kRepeat / sizeof(T);

template <typename T>
void touch_lanes(const Strided<T>& operand, const Lanes& lanes, const char* operation, const char* name,
                 uint32_t access) {
  if constexpr (!kChecked) return;
  Spans spans;
  for_lanes(lanes, per_repeat<T>, [&](uint32_t repeat, uint32_t lane) {
    spans.add(static_cast<uint64_t>(&operand.at(repeat, lane) - operand.data) * sizeof(T), sizeof(T));
  });
  touch(operand.data, spans, 8 * sizeof(T), operation, name, access);
}

}  // namespace mtsim

namespace AscendC {

inline void SetMaskNorm() { mtsim::core().mask_mode = MaskMode::NORMAL; }
inline void SetMaskCount() { mtsim::core().mask_mode = MaskMode::COUNTER; }

/// The mask registers, for instructions with isSetMask = false. In counter mode `low` is the count of elements.
template <typename T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(uint64_t high, uint64_t low) {
  mtsim::core().mask = {low, high};
  mtsim::core().mask_count = low;
}
template <typename T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(int32_t count) {
  mtsim::core().mask = mtsim::Mask::first(static_cast<uint64_t>(count));
  mtsim::core().mask_count = static_cast<uint64_t>(count);
}
inline void ResetMask() { mtsim::core().mask = {~uint64_t{0}, ~uint64_t{0}}; }

}  // namespace AscendC
