// LocalTensor and GlobalTensor: typed windows on a core's local memory and on device memory.
#pragma once

#include "core.h"

namespace AscendC {

enum class DataFormat : uint8_t { ND, NZ, NCHW, NC1HWC0, NHWC };

/// A shape that a kernel gives a tensor, for the functions over rows.
struct ShapeInfo {
  ShapeInfo() = default;
  ShapeInfo(uint8_t dim, const uint32_t sizes[], DataFormat format = DataFormat::ND)
      : ShapeInfo(dim, sizes, dim, sizes, format) {}
  ShapeInfo(uint8_t dim, const uint32_t sizes[], uint8_t originalDim, const uint32_t originalSizes[], DataFormat format)
      : shapeDim(dim), originalShapeDim(originalDim), dataFormat(format) {
    for (uint8_t i = 0; i < dim && i < 8; ++i) shape[i] = sizes[i];
    for (uint8_t i = 0; i < originalDim && i < 8; ++i) originalShape[i] = originalSizes[i];
  }
  uint8_t shapeDim = 0;
  uint8_t originalShapeDim = 0;
  uint32_t shape[8] = {};
  uint32_t originalShape[8] = {};
  DataFormat dataFormat = DataFormat::ND;
};

/// A window on local memory. Copies refer to the same elements. It knows where its buffer ends, so that every
/// instruction can check its range once.
template <typename T>
class LocalTensor {
 public:
  using PrimType = T;

  LocalTensor() = default;
  LocalTensor(uint8_t* begin, uint32_t bytes, TPosition position)
      : data_(begin), limit_(begin + bytes), size_(static_cast<uint32_t>(mtsim::count_in<T>(bytes))), position_(position) {}

  /// `count` elements from byte `address` of the memory that serves `position`: without a TPipe.
  LocalTensor(TPosition position, uint32_t address, uint32_t count) : size_(count), position_(position) {
    const mtsim::Memory memory = mtsim::memory_of(position);
    const uint32_t available = mtsim::chip().bytes[memory];
    if (address + mtsim::bytes_for<T>(count) > available)
      mtsim::fault({"out-of-range"}, mtsim::kVectorCoreException, "LocalTensor: %u elements from byte %u on, the %s has %u bytes", count,
                   address, mtsim::kMemoryNames[memory], available);
    data_ = mtsim::core().memory(memory) + address;
    limit_ = data_ + mtsim::bytes_for<T>(count);
  }

  T GetValue(uint32_t index) const {
    const mtsim::Instruction instruction("GetValue", PIPE_S, mtsim::Flow::Uses);
    const T* element = at(index, "GetValue");
    mtsim::touch_elements(element, 1, "GetValue", "the tensor", MTSIM_READS);
    return *element;
  }
  template <typename U>
  void SetValue(uint32_t index, U value) const {
    const mtsim::Instruction instruction("SetValue", PIPE_S, mtsim::Flow::Uses);
    T* element = at(index, "SetValue");
    mtsim::touch_elements(element, 1, "SetValue", "the tensor", MTSIM_WRITES);
    *element = static_cast<T>(value);
  }
  /// What `a + b` and its kin are, see operators.h, over the whole tensor.
  template <typename Expression, typename = typename Expression::TensorExpression>
  LocalTensor& operator=(const Expression& expression) {
    expression.into(*this);
    return *this;
  }

  /// What the caller does with the element is not seen: it counts as read, and as having a value from now on.
  T& operator()(uint32_t index) const {
    const mtsim::Instruction instruction("operator()", PIPE_S, mtsim::Flow::Moves);
    T* element = at(index, "operator()");
    mtsim::touch_elements(element, 1, "operator()", "the tensor", MTSIM_READS);
    mtsim::moved(element, nullptr, sizeof(T));
    return *element;
  }

  LocalTensor operator[](uint32_t offset) const {
    LocalTensor tail = *this;
    if (mtsim::bytes_for<T>(offset) > static_cast<uint64_t>(limit_ - data_)) out_of_range(offset, "operator[]");
    tail.data_ += mtsim::bytes_for<T>(offset);
    tail.size_ = offset < size_ ? size_ - offset : 0;
    return tail;
  }

  template <typename U>
  LocalTensor<U> ReinterpretCast() const {
    LocalTensor<U> other(data_, static_cast<uint32_t>(limit_ - data_), position_);
    other.SetSize(static_cast<uint32_t>(mtsim::count_in<U>(mtsim::bytes_for<T>(size_))));
    return other;
  }

  uint32_t GetSize() const { return size_; }
  void SetSize(uint32_t size) { size_ = size; }
  uint32_t GetLength() const { return static_cast<uint32_t>(mtsim::bytes_for<T>(size_)); }
  TPosition GetPosition() const { return position_; }
  int32_t GetUserTag() const { return tag_; }
  void SetUserTag(int32_t tag) { tag_ = tag; }
  /// Only the last axis is kept, by which functions over rows go where no other shape is given.
  void SetShapeInfo(const ShapeInfo& shape) { columns_ = shape.shapeDim == 0 ? 0 : shape.shape[shape.shapeDim - 1]; }
  uint32_t columns() const { return columns_; }
  __ubuf__ T* GetPhyAddr(uint32_t offset = 0) const { return reinterpret_cast<T*>(data_) + offset; }

  uint8_t* bytes() const { return data_; }
  uint64_t capacity() const { return static_cast<uint64_t>(limit_ - data_); }

 private:
  T* at(uint32_t index, const char* what) const {
    static_assert(mtsim::kBits<T> >= 8, "an element of int4b_t has no address: ReinterpretCast<uint8_t>() first");
    if ((index + uint64_t{1}) * sizeof(T) > capacity()) out_of_range(index, what);
    return reinterpret_cast<T*>(data_) + index;
  }
  [[noreturn, gnu::cold]] void out_of_range(uint32_t index, const char* what) const {
    mtsim::fault({"out-of-range", data_}, mtsim::kVectorCoreException,
                 "LocalTensor::%s: index %u is past the buffer's end (%llu elements)", what, index,
                 static_cast<unsigned long long>(mtsim::count_in<T>(capacity())));
  }

  uint8_t* data_ = nullptr;
  uint8_t* limit_ = nullptr;
  uint32_t size_ = 0;
  uint32_t columns_ = 0;
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
    available_ = static_cast<int64_t>((mtsim::kChecked ? mtsim_check_bytes_available : mtsim_bytes_available)(data_));
    size_ = size;
    if (mtsim::kChecked && size > 0) declared_ = static_cast<int64_t>(mtsim::bytes_for<T>(size));
  }
  T GetValue(uint64_t index) const {
    const mtsim::Instruction instruction("GetValue", PIPE_S, mtsim::Flow::Uses);
    const T* element = at(index, "GetValue");
    mtsim::touch_elements(element, 1, "GetValue", "the tensor", MTSIM_READS);
    return *element;
  }
  template <typename U>
  void SetValue(uint64_t index, U value) const {
    const mtsim::Instruction instruction("SetValue", PIPE_S, mtsim::Flow::Uses);
    T* element = at(index, "SetValue");
    mtsim::touch_elements(element, 1, "SetValue", "the tensor", MTSIM_WRITES);
    *element = static_cast<T>(value);
  }
  /// What the caller does with the element is not seen.
  T& operator()(uint64_t index) const { return *at(index, "operator()"); }
  GlobalTensor operator[](uint64_t offset) const {
    GlobalTensor tail = *this;
    const auto bytes = static_cast<int64_t>(mtsim::bytes_for<T>(offset));
    tail.data_ += mtsim::kBits<T> < 8 ? bytes : static_cast<int64_t>(offset);
    tail.available_ -= bytes;
    if (mtsim::kChecked && declared_ != kUndeclared) tail.declared_ -= bytes;
    tail.size_ = offset < size_ ? size_ - offset : 0;
    return tail;
  }
  __gm__ T* GetPhyAddr(uint64_t offset = 0) const { return data_ + offset; }
  uint64_t GetSize() const { return size_; }
  template <typename U>
  GlobalTensor<U> ReinterpretCast() const {
    GlobalTensor<U> other;
    other.SetGlobalBuffer(reinterpret_cast<U*>(data_), mtsim::count_in<U>(mtsim::bytes_for<T>(size_)));
    return other;
  }
  void SetL2CacheHint(CacheMode) {}

  /// Bytes to the end of the allocation, negative past it.
  int64_t available() const { return available_; }
  /// Bytes to the end of what SetGlobalBuffer declared, which only the checker insists on.
  int64_t declared() const { return declared_; }

 private:
  static constexpr int64_t kUndeclared = INT64_MAX;

  T* at(uint64_t index, const char* what) const {
    if (mtsim::kChecked && static_cast<int64_t>((index + 1) * sizeof(T)) > declared_)
      mtsim::fault({"out-of-range"}, mtsim::kVectorCoreException,
                   "GlobalTensor::%s: index %llu is past the %lld elements that SetGlobalBuffer declared", what,
                   static_cast<unsigned long long>(index), static_cast<long long>(declared_ / int64_t{sizeof(T)}));
    if (static_cast<int64_t>((index + 1) * sizeof(T)) > available_)
      mtsim::fault({"out-of-range", data_}, mtsim::kVectorCoreException,
                   "GlobalTensor::%s: index %llu is outside of the device memory it refers to", what,
                    static_cast<unsigned long long>(index));
    return data_ + index;
  }

  T* data_ = nullptr;
  int64_t available_ = 0;
  int64_t declared_ = kUndeclared;
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
  fault({"out-of-range", data}, kVectorCoreException, "%s: %s needs %lld bytes, its buffer has %llu left", operation,
        operand,
        static_cast<long long>(needed), static_cast<unsigned long long>(capacity));
}

[[noreturn, gnu::cold, gnu::noinline]] inline void misaligned(const char* operation, const char* operand,
    const void* data) {
  fault({"misaligned", data}, kVectorCoreException, "%s: %s starts %u bytes past a 32-byte boundary of local memory",
        operation, operand,
        static_cast<unsigned>(reinterpret_cast<uintptr_t>(data) % kBlock));
}

/// The first of `bytes` bytes of a tensor, once per instruction checked to exist. `operand` is "dst", "src0", ...
template <typename T>
T* bytes_in_range(const LocalTensor<T>& tensor, int64_t bytes, const char* operation, const char* operand) {
  static_assert(!has_layout<T>, "instructions over tensors with a layout are not simulated, see docs/ascendc.md");
  if (tensor.bytes() == nullptr || bytes < 0 || static_cast<uint64_t>(bytes) > tensor.capacity())
    bad_range(operation, operand, tensor.bytes(), bytes, tensor.capacity());
  return reinterpret_cast<T*>(tensor.bytes());
}

/// The same, and aligned to 32 bytes as vector and copy instructions want their operands.
template <typename T>
T* aligned_in_range(const LocalTensor<T>& tensor, int64_t bytes, const char* operation, const char* operand) {
  T* data = bytes_in_range(tensor, bytes, operation, operand);
  if (reinterpret_cast<uintptr_t>(data) % kBlock != 0) misaligned(operation, operand, data);
  return data;
}

/// The same where the instruction touches all of these bytes; what it does to them goes by the operand's name.
template <typename T>
T* checked_bytes(const LocalTensor<T>& tensor, int64_t bytes, const char* operation, const char* operand) {
  T* data = bytes_in_range(tensor, bytes, operation, operand);
  touch(data, static_cast<uint64_t>(bytes), kBits<T>, operation, operand, access_of(operand));
  return data;
}
template <typename T>
T* aligned_bytes(const LocalTensor<T>& tensor, int64_t bytes, const char* operation, const char* operand) {
  T* data = aligned_in_range(tensor, bytes, operation, operand);
  touch(data, static_cast<uint64_t>(bytes), kBits<T>, operation, operand, access_of(operand));
  return data;
}

/// The first of `bytes` bytes of device memory, checked against the end of its allocation.
template <typename T>
T* global_bytes(const GlobalTensor<T>& tensor, int64_t bytes, const char* operation, const char* operand) {
  static_assert(!has_layout<T>, "instructions over tensors with a layout are not simulated, see docs/ascendc.md");
  T* data = tensor.GetPhyAddr();
  if (data == nullptr) fault(kVectorCoreException, "%s: %s has no buffer: SetGlobalBuffer comes first", operation,
      operand);
  if (kChecked && bytes > tensor.declared() && bytes <= tensor.available())
    fault({"out-of-range", data}, kVectorCoreException,
          "%s: %s needs %lld bytes, SetGlobalBuffer declared %lld from there on", operation, operand,
          static_cast<long long>(bytes), static_cast<long long>(tensor.declared() > 0 ? tensor.declared() : 0));
  if (bytes > tensor.available())
    fault({"out-of-range", data}, kVectorCoreException, "%s: %s reaches %lld bytes past the end of its device memory",
          operation, operand,
          static_cast<long long>(bytes - tensor.available()));
  return data;
}

template <typename T>
T* elements(const LocalTensor<T>& tensor, int64_t count, const char* operation, const char* operand) {
  return aligned_bytes(tensor, count * kBits<T> / 8, operation, operand);
}

template <typename T>
T* elements_in_range(const LocalTensor<T>& tensor, int64_t count, const char* operation, const char* operand) {
  return aligned_in_range(tensor, count * static_cast<int64_t>(sizeof(T)), operation, operand);
}

}  // namespace mtsim
