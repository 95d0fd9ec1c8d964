// DataCopy, DataCopyPad and Copy: between device memory and local memory.
#pragma once

#include <cstring>
#include <mutex>

#include "mask.h"

namespace AscendC {

/// Counts of 32-byte blocks; strides are the gaps between one piece's end and the next one's start.
/// In DataCopyPad blockLen is in bytes, and so is the stride on the global side.
struct DataCopyParams {
  DataCopyParams() = default;
  DataCopyParams(uint16_t count, uint16_t len, uint16_t srcGap, uint16_t dstGap)
      : blockCount(count), blockLen(len), srcStride(srcGap), dstStride(dstGap) {}
  uint16_t blockCount = 1;
  uint16_t blockLen = 0;
  uint16_t srcStride = 0;
  uint16_t dstStride = 0;
};

struct DataCopyExtParams {
  DataCopyExtParams() = default;
  DataCopyExtParams(uint16_t count, uint32_t len, uint32_t srcGap, uint32_t dstGap, uint32_t reserved)
      : blockCount(count), blockLen(len), srcStride(srcGap), dstStride(dstGap), rsv(reserved) {}
  DataCopyExtParams(const DataCopyParams& narrow)
      : blockCount(narrow.blockCount), blockLen(narrow.blockLen), srcStride(narrow.srcStride),
          dstStride(narrow.dstStride) {}
  uint16_t blockCount = 1;
  uint32_t blockLen = 0;
  uint32_t srcStride = 0;
  uint32_t dstStride = 0;
  uint32_t rsv = 0;
};

/// Padding in elements; paddingValue holds the bits of an element.
struct DataCopyPadParams {
  DataCopyPadParams() = default;
  DataCopyPadParams(bool pad, uint8_t left, uint8_t right, uint64_t value)
      : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
  bool isPad = false;
  uint8_t leftPadding = 0;
  uint8_t rightPadding = 0;
  uint64_t paddingValue = 0;
};

template <typename T>
struct DataCopyPadExtParams {
  DataCopyPadExtParams() = default;
  DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, T value)
      : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
  bool isPad = false;
  uint8_t leftPadding = 0;
  uint8_t rightPadding = 0;
  T paddingValue{};
};

struct CopyRepeatParams {
  CopyRepeatParams() = default;
  CopyRepeatParams(uint16_t dst, uint16_t src, uint16_t dstRepeat, uint16_t srcRepeat)
      : dstStride(dst), srcStride(src), dstRepeatSize(dstRepeat), srcRepeatSize(srcRepeat) {}
  uint16_t dstStride = 1;
  uint16_t srcStride = 1;
  uint16_t dstRepeatSize = 8;
  uint16_t srcRepeatSize = 8;
};

}  // namespace AscendC

namespace mtsim {

inline std::mutex& atomic_lock() {
  static std::mutex lock;
  return lock;
}

/// Local to global memory, through the atomic operation that is set.
template <typename T>
void store_global(T* to, const T* from, size_t bytes) {
  const Atomic atomic = core().atomic;
  if (atomic == Atomic::None) {
    std::memcpy(to, from, bytes);
    return;
  }
  if constexpr (kBits<T> < 8) {
    fault(kVectorCoreException, "DataCopy: there are no atomic operations on int4b_t");
  } else {
    const std::lock_guard<std::mutex> guard(atomic_lock());
    for (size_t i = 0; i < bytes / sizeof(T); ++i) {
      if (atomic == Atomic::Add) to[i] = static_cast<T>(to[i] + from[i]);
      if (atomic == Atomic::Max) to[i] = to[i] > from[i] ? to[i] : from[i];
      if (atomic == Atomic::Min) to[i] = to[i] < from[i] ? to[i] : from[i];
    }
  }
}

[[gnu::cold, gnu::noinline]] inline void tell_of_rounding(uint64_t wanted, uint64_t copied) {
  char message[160];
  std::snprintf(message, sizeof message,
                "DataCopy copies %llu of %llu bytes: the last %llu do not fill a block of 32 bytes",
                static_cast<unsigned long long>(copied), static_cast<unsigned long long>(wanted),
                static_cast<unsigned long long>(wanted - copied));
  mtsim_check_found("rounded-down", kVectorCoreException, message,
                    "DataCopyPad copies any number of bytes; or make the count a multiple of 32 bytes", MTSIM_FRAME);
}

/// The pipe that copies from one local memory to another.
template <typename T, typename U>
pipe_t pipe_between(const LocalTensor<T>& dst, const LocalTensor<U>& src) {
  if (memory_of(src.GetPosition()) == kL1) return PIPE_MTE1;
  return memory_of(dst.GetPosition()) == kL1 ? PIPE_MTE3 : PIPE_V;
}
template <typename T>
pipe_t pipe_out_of(const LocalTensor<T>& src) {
  return memory_of(src.GetPosition()) == kL0C ? PIPE_FIX : PIPE_MTE3;
}
inline uint32_t store_access() { return core().atomic == Atomic::None ? MTSIM_WRITES : MTSIM_ATOMIC; }

/// One piece after the other, `bytes` each, with gaps in bytes between them.
struct Pieces {
  uint32_t count;
  uint64_t bytes;
  uint64_t src_step;
  uint64_t dst_step;

  explicit Pieces(const AscendC::DataCopyParams& blocks)
      : count(blocks.blockCount),
        bytes(uint64_t{blocks.blockLen} * kBlock),
        src_step(bytes + uint64_t{blocks.srcStride} * kBlock),
        dst_step(bytes + uint64_t{blocks.dstStride} * kBlock) {}
  explicit Pieces(uint64_t contiguous) : count(1), bytes(align_down(contiguous, kBlock)), src_step(0), dst_step(0) {
    if (kChecked && bytes != contiguous) tell_of_rounding(contiguous, bytes);
  }

  int64_t extent(uint64_t step) const { return count == 0 ? 0 : static_cast<int64_t>((count - 1) * step + bytes); }
};

template <typename To, typename From, typename Move>
void move_pieces(const Pieces& pieces, To* to, const From* from, Move&& move) {
  auto* dst = reinterpret_cast<uint8_t*>(to);
  const auto* src = reinterpret_cast<const uint8_t*>(from);
  for (uint32_t piece = 0; piece < pieces.count; ++piece)
    move(dst + piece * pieces.dst_step, src + piece * pieces.src_step, pieces.bytes);
}

template <typename To, typename From>
void touch_pieces(const Pieces& pieces, const To* to, const From* from, uint32_t dst_access) {
  if constexpr (kChecked) {
    Spans dst, src;
    for (uint32_t piece = 0; piece < pieces.count; ++piece) {
      dst.add(piece * pieces.dst_step, pieces.bytes);
      src.add(piece * pieces.src_step, pieces.bytes);
    }
    touch(to, dst, kBits<To>, "DataCopy", "dst", dst_access);
    touch(from, src, kBits<From>, "DataCopy", "src", MTSIM_READS);
  }
}

template <typename T>
void copy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Pieces& pieces) {
  const Instruction instruction("DataCopy", PIPE_MTE2, Flow::Moves);
  const T* from = global_bytes(src, pieces.extent(pieces.src_step), "DataCopy", "src");
  T* to = aligned_in_range(dst, pieces.extent(pieces.dst_step), "DataCopy", "dst");
  touch_pieces(pieces, to, from, MTSIM_WRITES);
  move_pieces(pieces, to, from, [](uint8_t* d, const uint8_t* s, size_t bytes) {
    moved(d, s, bytes);
    std::memcpy(d, s, bytes);
  });
}

template <typename T>
void copy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Pieces& pieces) {
  const Instruction instruction("DataCopy", pipe_out_of(src), Flow::Uses);
  T* to = global_bytes(dst, pieces.extent(pieces.dst_step), "DataCopy", "dst");
  const T* from = aligned_in_range(src, pieces.extent(pieces.src_step), "DataCopy", "src");
  touch_pieces(pieces, to, from, store_access());
  move_pieces(pieces, to, from, [](uint8_t* d, const uint8_t* s, size_t bytes) {
    store_global(reinterpret_cast<T*>(d), reinterpret_cast<const T*>(s), bytes);
  });
}

template <typename T, typename U>
void copy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const Pieces& pieces) {
  const Instruction instruction("DataCopy", pipe_between(dst, src), Flow::Moves);
  T* to = aligned_in_range(dst, pieces.extent(pieces.dst_step), "DataCopy", "dst");
  const U* from = aligned_in_range(src, pieces.extent(pieces.src_step), "DataCopy", "src");
  touch_pieces(pieces, to, from, MTSIM_WRITES);
  move_pieces(pieces, to, from, [](uint8_t* d, const uint8_t* s, size_t bytes) {
    moved(d, s, bytes);
    std::memmove(d, s, bytes);
  });
}

/// The padding that DataCopyPad puts around each block; both kinds of parameters come down to this.
template <typename T>
struct Padding {
  bool enabled;
  uint32_t left;
  uint32_t right;
  T value;
};

inline int64_t global_extent(const AscendC::DataCopyExtParams& params, uint32_t stride) {
  if (params.blockCount == 0) return 0;
  return (params.blockCount - int64_t{1}) * (int64_t{params.blockLen} + stride) + params.blockLen;
}

/// What DataCopyPad leaves around a block of `bytes`: values, or nothing where the padding is not enabled.
inline void tell_of_padding(uint8_t* to, const uint8_t* from, uint64_t left, uint64_t bytes, uint64_t whole,
                            bool undefined) {
  if constexpr (kChecked) {
    constexpr const char* kWhy = "DataCopyPad at {} leaves the padding undefined: isPad is false";
    mtsim_check_moved(to, nullptr, whole);
    mtsim_check_moved(to + left, from, bytes);
    if (!undefined) return;
    mtsim_check_undefined(to, left, kWhy, MTSIM_FRAME);
    mtsim_check_undefined(to + left + bytes, whole - left - bytes, kWhy, MTSIM_FRAME);
  }
}

template <typename T>
void copy_padded(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const AscendC::DataCopyExtParams& params,
                 const Padding<T>& padding) {
  const Instruction instruction("DataCopyPad", PIPE_MTE2, Flow::Moves);
  constexpr uint8_t kPoison = 0xFF;  // what is undefined on the chip shows up as NaN or -1
  const uint64_t left = padding.left * sizeof(T);
  const uint64_t right = padding.right * sizeof(T);
  if (left > kBlock || right > kBlock)
    fault(kVectorCoreException, "DataCopyPad: padding of %u and %u elements, at most 32 bytes fit a side",
        padding.left, padding.right);
  const uint64_t filled = left + params.blockLen + right;
  const uint64_t whole = align_up(filled, kBlock);
  const uint64_t step = whole + uint64_t{params.dstStride} * kBlock;
  const uint64_t extent = params.blockCount == 0 ? 0 : (params.blockCount - 1) * step + whole;
  auto* to = reinterpret_cast<uint8_t*>(aligned_in_range(dst, static_cast<int64_t>(extent), "DataCopyPad", "dst"));
  const auto* from = reinterpret_cast<const uint8_t*>(global_bytes(src, global_extent(params, params.srcStride),
      "DataCopyPad", "src"));
  for (uint32_t block = 0; block < params.blockCount; ++block, to += step, from += params.blockLen + params.srcStride) {
    if (params.blockLen == 0) continue;
    touch(to, whole, 8 * sizeof(T), "DataCopyPad", "dst", MTSIM_WRITES);
    touch(from, params.blockLen, 8 * sizeof(T), "DataCopyPad", "src", MTSIM_READS);
    tell_of_padding(to, from, left, params.blockLen, whole, !padding.enabled && left + right > 0);
    std::memcpy(to + left, from, params.blockLen);
    T filler = padding.value;
    if (left == 0 && right == 0) std::memcpy(&filler, from,
        sizeof filler < params.blockLen ? sizeof filler : params.blockLen);
    if (!padding.enabled && left + right > 0) std::memset(&filler, kPoison, sizeof filler);
    for (uint64_t at = 0; at < left; at += sizeof(T)) std::memcpy(to + at, &filler, sizeof filler);
    for (uint64_t at = left + params.blockLen; at + sizeof(T) <= whole; at += sizeof(T)) std::memcpy(to + at,
        &filler, sizeof filler);
  }
}

template <typename T>
void copy_unpadded(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const AscendC::DataCopyExtParams& params) {
  const Instruction instruction("DataCopyPad", pipe_out_of(src), Flow::Uses);
  const uint64_t step = align_up(params.blockLen, kBlock) + uint64_t{params.srcStride} * kBlock;
  const uint64_t extent = params.blockCount == 0 ? 0 : (params.blockCount - 1) * step + params.blockLen;
  const auto* from = reinterpret_cast<const uint8_t*>(aligned_in_range(src, static_cast<int64_t>(extent), "DataCopyPad",
      "src"));
  auto* to = reinterpret_cast<uint8_t*>(global_bytes(dst, global_extent(params, params.dstStride), "DataCopyPad",
      "dst"));
  for (uint32_t block = 0; block < params.blockCount; ++block, from += step, to += params.blockLen + params.dstStride) {
    touch(from, params.blockLen, 8 * sizeof(T), "DataCopyPad", "src", MTSIM_READS);
    touch(to, params.blockLen, 8 * sizeof(T), "DataCopyPad", "dst", store_access());
    store_global(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), params.blockLen);
  }
}

}  // namespace mtsim

namespace AscendC {

/// Whole 32-byte blocks: a count that does not fill its last block loses it, as on the chip.
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count) {
  mtsim::copy(dst, src, mtsim::Pieces(mtsim::bytes_for<T>(count)));
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count) {
  mtsim::copy(dst, src, mtsim::Pieces(mtsim::bytes_for<T>(count)));
}
template <typename T, typename U>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count) {
  mtsim::copy(dst, src, mtsim::Pieces(mtsim::bytes_for<T>(count)));
}
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params) {
  mtsim::copy(dst, src, mtsim::Pieces(params));
}
template <typename T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params) {
  mtsim::copy(dst, src, mtsim::Pieces(params));
}
template <typename T, typename U>
void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const DataCopyParams& params) {
  mtsim::copy(dst, src, mtsim::Pieces(params));
}

template <typename T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& params,
                 const DataCopyPadExtParams<mtsim::Scalar<T>>& padding) {
  mtsim::copy_padded(dst, src, params, {padding.isPad, padding.leftPadding, padding.rightPadding,
      padding.paddingValue});
}
template <typename T>
void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
                 const DataCopyPadParams& padding) {
  T value;
  std::memcpy(&value, &padding.paddingValue, sizeof value);
  mtsim::copy_padded(dst, src, DataCopyExtParams(params), {padding.isPad, padding.leftPadding, padding.rightPadding,
      value});
}
template <typename T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& params) {
  mtsim::copy_unpadded(dst, src, params);
}
template <typename T>
void DataCopyPad(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params) {
  mtsim::copy_unpadded(dst, src, DataCopyExtParams(params));
}

/// Local to local in the repeat form.
template <typename T, bool isSetMask = true>
void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, uint8_t repeatTimes,
    const CopyRepeatParams& params) {
  const mtsim::Instruction instruction("Copy", PIPE_V, mtsim::Flow::Lanes);
  const auto lanes = mtsim::lanes(mask, repeatTimes, mtsim::per_repeat<T>, isSetMask, "Copy");
  const auto to = mtsim::strided(dst, lanes, params.dstStride, params.dstRepeatSize, "Copy", "dst");
  const auto from = mtsim::strided(src, lanes, params.srcStride, params.srcRepeatSize, "Copy", "src");
  mtsim::for_lanes(lanes, mtsim::per_repeat<T>, [&](uint32_t r, uint32_t lane) { to.at(r, lane) = from.at(r, lane); });
}

/// Fills `size` elements of global memory.
template <typename T>
void InitGlobalMemory(const GlobalTensor<T>& gm, const uint64_t size, const mtsim::Scalar<T> value) {
  const mtsim::Instruction instruction("InitGlobalMemory", PIPE_MTE3, mtsim::Flow::Uses);
  T* to = mtsim::global_bytes(gm, static_cast<int64_t>(size * sizeof(T)), "InitGlobalMemory", "gm");
  mtsim::touch_elements(to, size, "InitGlobalMemory", "gm", MTSIM_WRITES);
  for (uint64_t i = 0; i < size; ++i) to[i] = value;
}
template <typename T>
void Fill(const GlobalTensor<T>& gm, const uint64_t size, const mtsim::Scalar<T> value) {
  InitGlobalMemory(gm, size, value);
}
template <typename T>
void InitOutput(const GlobalTensor<T>& gm, uint32_t size, mtsim::Scalar<T> value = 0) {
  InitGlobalMemory(gm, size, value);
}

/// From now on, copies to global memory combine with what is there, block by block without interference.
template <typename T>
void SetAtomicAdd() {
  mtsim::core().atomic = mtsim::Atomic::Add;
}
template <typename T>
void SetAtomicMax() {
  mtsim::core().atomic = mtsim::Atomic::Max;
}
template <typename T>
void SetAtomicMin() {
  mtsim::core().atomic = mtsim::Atomic::Min;
}
inline void SetAtomicNone() { mtsim::core().atomic = mtsim::Atomic::None; }
inline void DisableDmaAtomic() { SetAtomicNone(); }
/// The type that additions are for, which copies know anyway.
template <typename T>
void SetAtomicType() {
  static_assert(mtsim::one_of<T, int8_t, int16_t, int32_t, half, bfloat16_t, float>, "SetAtomicType: unknown type");
}

}  // namespace AscendC
