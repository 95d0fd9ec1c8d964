// LocalTensor and GlobalTensor: typed windows on a core's local memory and on device memory.
#pragma once

#include "core.h"

namespace AscendC {

/// A window on local memory. Copies refer to the same elements. It knows where its buffer ends, so that every
/// instruction can check its range once.
template <typename T>
class LocalTensor {
 public:
  using PrimType = T;

  LocalTensor() = default;
  LocalTensor(uint8_t* begin, uint32_t bytes, TPosition position)
      : data_(begin), limit_(begin + bytes), size_(bytes / sizeof(T)), position_(position) {}

  /// `count` elements from byte `address` of the memory that serves `position`: without a TPipe.
  LocalTensor(TPosition position, uint32_t address, uint32_t count) : size_(count), position_(position) {
    const mtsim::Memory memory = mtsim::memory_of(position);
    const uint32_t available = mtsim::chip().bytes[memory];
    if (address + count * uint64_t{sizeof(T)} > available)
      mtsim::fault(mtsim::kVectorCoreException, "LocalTensor: %u elements from byte %u on, the %s has %u bytes", count,
                   address, mtsim::kMemoryNames[memory], available);
    data_ = mtsim::core().memory(memory) + address;
    limit_ = data_ + count * sizeof(T);
  }

  T GetValue(uint32_t index) const { return *at(index, "GetValue"); }
  template <typename U>
  void SetValue(uint32_t index, U value) const {
    *at(index, "SetValue") = static_cast<T>(value);
  }
  T& operator()(uint32_t index) const { return *at(index, "operator()"); }

  LocalTensor operator[](uint32_t offset) const {
    LocalTensor tail = *this;
    if (offset * uint64_t{sizeof(T)} > static_cast<uint64_t>(limit_ - data_)) out_of_range(offset, "operator[]");
    tail.data_ += offset * sizeof(T);
    tail.size_ = offset < size_ ? size_ - offset : 0;
    return tail;
  }

  template <typename U>
  LocalTensor<U> ReinterpretCast() const {
    LocalTensor<U> other(data_, static_cast<uint32_t>(limit_ - data_), position_);
    other.SetSize(static_cast<uint32_t>(size_ * uint64_t{sizeof(T)} / sizeof(U)));
    return other;
  }

  uint32_t GetSize() const { return size_; }
  void SetSize(uint32_t size) { size_ = size; }
  uint32_t GetLength() const { return size_ * sizeof(T); }
  TPosition GetPosition() const { return position_; }
  int32_t GetUserTag() const { return tag_; }
  void SetUserTag(int32_t tag) { tag_ = tag; }
  __ubuf__ T* GetPhyAddr(uint32_t offset = 0) const { return reinterpret_cast<T*>(data_) + offset; }

  uint8_t* bytes() const { return data_; }
  uint64_t capacity() const { return static_cast<uint64_t>(limit_ - data_); }

 private:
  T* at(uint32_t index, const char* what) const {
    if ((index + uint64_t{1}) * sizeof(T) > capacity()) out_of_range(index, what);
    return reinterpret_cast<T*>(data_) + index;
  }
  [[noreturn, gnu::cold]] void out_of_range(uint32_t index, const char* what) const {
    mtsim::fault(mtsim::kVectorCoreException, "LocalTensor::%s: index %u is past the buffer's end (%llu elements)",
        what,
                 index, static_cast<unsigned long long>(capacity() / sizeof(T)));
  }

  uint8_t* data_ = nullptr;
  uint8_t* limit_ = nullptr;
  uint32_t size_ = 0;
  int32_t tag_ = 0;
  TPosition position_ = TPosition::MAX;
};

/// A window on device memory. An address handed out by the allocator becomes one that kernels may touch.
template <typename T>
class GlobalTensor {
 public:
  using PrimType = T;

  void SetGlobalBuffer(__gm__ T* buffer, uint64_t size = 0) {
    data_ = static_cast<T*>(mtsim_kernel_alias(buffer));
    available_ = static_cast<int64_t>(mtsim_bytes_available(data_));
    size_ = size;
  }
  T GetValue(uint64_t index) const { return *at(index, "GetValue"); }
  template <typename U>
  void SetValue(uint64_t index, U value) const {
    *at(index, "SetValue") = static_cast<T>(value);
  }
  T& operator()(uint64_t index) const { return *at(index, "operator()"); }
  GlobalTensor operator[](uint64_t offset) const {
    GlobalTensor tail = *this;
    tail.data_ += offset;
    tail.available_ -= static_cast<int64_t>(offset * sizeof(T));
    tail.size_ = offset < size_ ? size_ - offset : 0;
    return tail;
  }
  __gm__ T* GetPhyAddr(uint64_t offset = 0) const { return data_ + offset; }
  uint64_t GetSize() const { return size_; }
  template <typename U>
  GlobalTensor<U> ReinterpretCast() const {
    GlobalTensor<U> other;
    other.SetGlobalBuffer(reinterpret_cast<U*>(data_), size_ * sizeof(T) / sizeof(U));
    return other;
  }
  void SetL2CacheHint(CacheMode) {}

  /// Bytes to the end of the allocation, negative past it.
  int64_t available() const { return available_; }

 private:
  T* at(uint64_t index, const char* what) const {
    if (static_cast<int64_t>((index + 1) * sizeof(T)) > available_)
      mtsim::fault(mtsim::kVectorCoreException,
          "GlobalTensor::%s: index %llu is outside of the device memory it refers to",
                   what, static_cast<unsigned long long>(index));
    return data_ + index;
  }

  T* data_ = nullptr;
  int64_t available_ = 0;
  uint64_t size_ = 0;
};

}  // namespace AscendC

namespace mtsim {

using AscendC::GlobalTensor;
using AscendC::LocalTensor;

[[noreturn, gnu::cold, gnu::noinline]] inline void bad_range(const char* operation, const char* operand,
    const void* data,
                                                             int64_t needed, uint64_t capacity) {
  if (data == nullptr) fault(kVectorCoreException, "%s: %s has no memory: Alloc, DeQue or Get it first", operation,
      operand);
  if (needed < 0) fault(kVectorCoreException, "%s: the count is negative", operation);
  fault(kVectorCoreException, "%s: %s needs %lld bytes, its buffer has %llu left", operation, operand,
        static_cast<long long>(needed), static_cast<unsigned long long>(capacity));
}

[[noreturn, gnu::cold, gnu::noinline]] inline void misaligned(const char* operation, const char* operand,
    const void* data) {
  fault(kVectorCoreException, "%s: %s starts %u bytes past a 32-byte boundary of local memory", operation, operand,
        static_cast<unsigned>(reinterpret_cast<uintptr_t>(data) % kBlock));
}

/// The first of `bytes` bytes of a tensor, once per instruction checked to exist. `operand` is "dst", "src0", ...
template <typename T>
T* checked_bytes(const LocalTensor<T>& tensor, int64_t bytes, const char* operation, const char* operand) {
  if (tensor.bytes() == nullptr || bytes < 0 || static_cast<uint64_t>(bytes) > tensor.capacity())
    bad_range(operation, operand, tensor.bytes(), bytes, tensor.capacity());
  return reinterpret_cast<T*>(tensor.bytes());
}

/// The same, and aligned to 32 bytes as vector and copy instructions want their operands.
template <typename T>
T* aligned_bytes(const LocalTensor<T>& tensor, int64_t bytes, const char* operation, const char* operand) {
  T* data = checked_bytes(tensor, bytes, operation, operand);
  if (reinterpret_cast<uintptr_t>(data) % kBlock != 0) misaligned(operation, operand, data);
  return data;
}

/// The first of `bytes` bytes of device memory, checked against the end of its allocation.
template <typename T>
T* global_bytes(const GlobalTensor<T>& tensor, int64_t bytes, const char* operation, const char* operand) {
  T* data = tensor.GetPhyAddr();
  if (data == nullptr) fault(kVectorCoreException, "%s: %s has no buffer: SetGlobalBuffer comes first", operation,
      operand);
  if (bytes > tensor.available())
    fault(kVectorCoreException, "%s: %s reaches %lld bytes past the end of its device memory", operation, operand,
          static_cast<long long>(bytes - tensor.available()));
  return data;
}

template <typename T>
T* elements(const LocalTensor<T>& tensor, int64_t count, const char* operation, const char* operand) {
  return aligned_bytes(tensor, count * static_cast<int64_t>(sizeof(T)), operation, operand);
}

}  // namespace mtsim
