// TQue, TQueBind and TBuf: buffers of local memory and the order in which pipelines hand them on.
#pragma once

#include "tensor.h"

namespace AscendC {

class TPipe;

/// A queue of equal buffers: each is free, allocated, or waiting in first-in-first-out order. Running one after
/// the other, the pipelines need no events; what would hang or corrupt the chip is reported instead.
template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
 public:
  static constexpr TPosition srcPosition = src;
  static constexpr TPosition dstPosition = dst;
  /// Where the buffers are, and who fills them: TSCM is in L1, whatever copies there.
  static constexpr TPosition held = dst == TPosition::TSCM ? dst : src;
  static constexpr pipe_t producer =
      dst == TPosition::TSCM && mtsim::memory_of(src) == mtsim::kUnified && src != TPosition::GM ? PIPE_MTE3
                                                                                              : mtsim::producer_of(src);

  template <typename T>
  LocalTensor<T> AllocTensor() {
    for (uint8_t tried = 0; tried < num_; ++tried) {
      const uint8_t slot = next_;
      next_ = static_cast<uint8_t>(next_ + 1 == num_ ? 0 : next_ + 1);
      if (state_[slot] == kFree) {
        state_[slot] = kAllocated;
        step<MTSIM_ALLOC>(slot);
        return tensor<T>(slot);
      }
    }
    if (num_ == 0) mtsim::fault({"queue"}, mtsim::kVectorCoreException,
        "AllocTensor: the queue has no buffers: InitBuffer comes first");
    mtsim::fault({"queue", begin_}, mtsim::kVectorCoreTimeout,
        "AllocTensor: all %u buffers of the queue are in use: a FreeTensor is missing", num_);
  }
  template <typename T>
  void AllocTensor(LocalTensor<T>& result) {
    result = AllocTensor<T>();
  }

  template <typename T>
  bool EnQue(const LocalTensor<T>& item) {
    return enque<kOwnPipe, kOwnPipe>(item);
  }
  template <TPosition from, TPosition to, typename T>
  bool EnQue(const LocalTensor<T>& item) {
    return enque<mtsim::producer_of(from), mtsim::consumer_of(to)>(item);
  }

  template <typename T>
  LocalTensor<T> DeQue() {
    return deque<T, kOwnPipe, kOwnPipe>();
  }
  template <TPosition from, TPosition to, typename T>
  LocalTensor<T> DeQue() {
    return deque<T, mtsim::producer_of(from), mtsim::consumer_of(to)>();
  }
  template <typename T>
  void DeQue(LocalTensor<T>& result) {
    result = DeQue<T>();
  }

  template <typename T>
  void FreeTensor(const LocalTensor<T>& item) {
    const uint8_t slot = slot_of(item.bytes(), "FreeTensor");
    if (state_[slot] != kAllocated) mtsim::fault({"queue", item.bytes()}, mtsim::kVectorCoreException,
        "FreeTensor: the tensor is %s", kStates[state_[slot]]);
    state_[slot] = kFree;
    step<MTSIM_FREE>(slot);
  }
  template <typename T>
  void FreeAllEvent() {}
  void FreeAllEvent() {}

  bool VacantInQue() const { return waiting_ < kDepth; }
  bool HasTensorInQue() const { return waiting_ > 0; }
  int32_t GetTensorCountInQue() const { return waiting_; }
  bool HasIdleBuffer() const {
    for (uint8_t slot = 0; slot < num_; ++slot)
      if (state_[slot] == kFree) return true;
    return false;
  }

  void adopt(uint8_t* begin, uint8_t num, uint32_t bytes) {
    begin_ = begin;
    bytes_ = bytes;
    num_ = num;
    next_ = head_ = waiting_ = 0;
    state_.fill(kFree);
  }

 private:
  enum State : uint8_t { kFree, kAllocated, kQueued };
  static constexpr const char* kStates[] = {"not allocated", "not in the queue", "still in the queue"};
  static constexpr uint32_t kOwnPipe = 0xFF;  // the one that fills, or empties, this queue
  static constexpr uint8_t kSlots = 8;
  static constexpr uint8_t kDepth = depth < 1 ? 1 : depth;  // depth 0 is the in-place form: one tensor

  template <uint32_t producer, uint32_t consumer, typename T>
  bool enque(const LocalTensor<T>& item) {
    const uint8_t slot = slot_of(item.bytes(), "EnQue");
    if (state_[slot] != kAllocated) mtsim::fault({"queue", item.bytes()}, mtsim::kVectorCoreException,
        "EnQue: the tensor is %s", kStates[state_[slot]]);
    if (waiting_ >= kDepth)
      mtsim::fault({"queue", item.bytes()}, mtsim::kVectorCoreException,
          "EnQue: %u tensors wait in a queue of depth %d: DeQue one first", waiting_, depth);
    state_[slot] = kQueued;
    order_[(head_ + waiting_) % kSlots] = slot;
    ++waiting_;
    step<MTSIM_ENQUE, producer, consumer>(slot);
    return true;
  }
  template <typename T, uint32_t producer, uint32_t consumer>
  LocalTensor<T> deque() {
    if (waiting_ == 0) mtsim::fault({"queue", begin_}, mtsim::kVectorCoreTimeout,
        "DeQue: the queue is empty: an EnQue is missing");
    const uint8_t slot = order_[head_];
    head_ = static_cast<uint8_t>((head_ + 1) % kSlots);
    --waiting_;
    state_[slot] = kAllocated;
    step<MTSIM_DEQUE, producer, consumer>(slot);
    return tensor<T>(slot);
  }
  template <uint32_t kind, uint32_t producer = kOwnPipe, uint32_t consumer = kOwnPipe>
  void step(uint8_t slot) const {
    if constexpr (mtsim::kChecked)
      mtsim_check_queue(kind, begin_ + uint64_t{slot} * bytes_, producer, consumer, MTSIM_FRAME);
  }
  template <typename T>
  LocalTensor<T> tensor(uint8_t slot) const {
    return LocalTensor<T>(begin_ + uint64_t{slot} * bytes_, bytes_, held);
  }
  uint8_t slot_of(const uint8_t* data, const char* operation) const {
    if (num_ == 0 || data < begin_ || data >= begin_ + uint64_t{num_} * bytes_)
      mtsim::fault({"queue", data}, mtsim::kVectorCoreException, "%s: the tensor does not come from this queue", operation);
    return static_cast<uint8_t>(static_cast<uint64_t>(data - begin_) / bytes_);
  }

  uint8_t* begin_ = nullptr;
  uint32_t bytes_ = 0;
  uint8_t num_ = 0;
  uint8_t next_ = 0;  // where AllocTensor looks first, so that buffers alternate
  uint8_t head_ = 0;
  uint8_t waiting_ = 0;
  std::array<State, kSlots> state_{};
  std::array<uint8_t, kSlots> order_{};
};

/// A queue at one position: VECIN is filled from global memory, VECOUT is emptied into it.
template <TPosition position, int32_t depth, auto mask = 0>
class TQue : public TQueBind<position, position, depth, mask> {};

/// A queue in L1, filled from global memory or from the unified buffer, for Matmul and the cube's own instructions.
template <TPosition position, int32_t depth = 1, auto mask = 0>
class TSCM : public TQueBind<position, TPosition::TSCM, depth, mask> {};

/// One buffer without a queue, for what a kernel keeps to itself.
template <TPosition position = TPosition::VECCALC>
class TBuf {
 public:
  template <typename T>
  LocalTensor<T> Get() const {
    return LocalTensor<T>(begin_, bytes_, position);
  }
  template <typename T>
  LocalTensor<T> Get(uint32_t len) const {
    return GetWithOffset<T>(len, 0);
  }
  template <typename T>
  LocalTensor<T> GetWithOffset(uint32_t len, uint32_t offset) const {
    const uint64_t bytes = uint64_t{len} * sizeof(T);
    if (offset + bytes > bytes_)
      mtsim::fault({"out-of-range", begin_}, mtsim::kVectorCoreException, "TBuf::Get: %llu bytes from %u on, the buffer has %u",
                   static_cast<unsigned long long>(bytes), offset, bytes_);
    LocalTensor<T> tensor(begin_ + offset, bytes_ - offset, position);
    tensor.SetSize(len);
    return tensor;
  }
  template <typename T>
  void EnQue(const LocalTensor<T>&) {}
  template <typename T>
  LocalTensor<T> DeQue() const {
    return Get<T>();
  }
  template <typename T>
  LocalTensor<T> AllocTensor() const {
    return Get<T>();
  }
  template <typename T>
  void FreeTensor(const LocalTensor<T>&) {}
  uint32_t GetBufLen() const { return bytes_; }

  void adopt(uint8_t* begin, uint32_t bytes) {
    begin_ = begin;
    bytes_ = bytes;
  }

 private:
  uint8_t* begin_ = nullptr;
  uint32_t bytes_ = 0;
};

}  // namespace AscendC
