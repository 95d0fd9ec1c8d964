// TPipe: gives local memory and event ids to a kernel's queues and buffers.
#pragma once

#include "queue.h"

namespace AscendC {

template <TPosition pos, uint32_t bufIDSize = 4>
class TBufPool;

class TPipe {
 public:
  TPipe() { Init(); }
  TPipe(const TPipe&) = delete;
  TPipe& operator=(const TPipe&) = delete;

  void Init() {
    Reset();
    mtsim::core().pipe = this;
  }
  void Reset() {
    used_.fill(0);
    queue_buffers_.fill(0);
    events_.fill(0);
    buffers_ = 0;
    if constexpr (mtsim::kChecked) mtsim_check_no_buffers();
  }
  void Destroy() { Reset(); }

  /// Gives a queue `num` buffers of `len` bytes, each rounded up to 32. num = 2 is double buffering.
  template <TPosition src, TPosition dst, int32_t depth, auto mask>
  bool InitBuffer(TQueBind<src, dst, depth, mask>& queue, uint8_t num, uint32_t len) {
    constexpr TPosition held = TQueBind<src, dst, depth, mask>::held;
    take_queue_buffers(held, num);
    const auto bytes = static_cast<uint32_t>(mtsim::align_up(len, mtsim::kBlock));
    uint8_t* begin = allocate(held, num, bytes);
    if constexpr (mtsim::kChecked)
      mtsim_check_buffers(begin, num, bytes, true, TQueBind<src, dst, depth, mask>::producer, mtsim::consumer_of(dst),
                          MTSIM_FRAME);
    queue.adopt(begin, num, bytes);
    return true;
  }

  template <TPosition position>
  bool InitBuffer(TBuf<position>& buffer, uint32_t len) {
    const auto bytes = static_cast<uint32_t>(mtsim::align_up(len, mtsim::kBlock));
    uint8_t* begin = allocate(position, 1, bytes);
    if constexpr (mtsim::kChecked) mtsim_check_buffers(begin, 1, bytes, false, PIPE_S, PIPE_S, MTSIM_FRAME);
    buffer.adopt(begin, bytes);
    return true;
  }

  /// Gives a pool `len` bytes, or those of another pool.
  template <TPosition position, uint32_t ids>
  bool InitBufPool(TBufPool<position, ids>& pool, uint32_t len) {
    const auto bytes = static_cast<uint32_t>(mtsim::align_up(len, mtsim::kBlock));
    pool.adopt(allocate(position, 1, bytes), bytes);
    return true;
  }
  template <TPosition position, uint32_t ids, typename Shared>
  bool InitBufPool(TBufPool<position, ids>& pool, uint32_t len, Shared& shared) {
    pool.share(shared, len);
    return true;
  }

  /// An event id of this kind that nobody holds. There are eight of each.
  template <HardEvent event>
  int8_t AllocEventID() {
    uint8_t& taken = events_[static_cast<size_t>(event)];
    const int8_t id = free_event(event);
    taken = static_cast<uint8_t>(taken | (1u << id));
    return id;
  }
  template <HardEvent event>
  void ReleaseEventID(int8_t id) {
    uint8_t& taken = events_[static_cast<size_t>(event)];
    if (id < 0 || id >= kEventIds || !(taken >> id & 1))
      mtsim::fault({"flag"}, mtsim::kVectorCoreException, "ReleaseEventID: event id %d is not allocated", id);
    taken = static_cast<uint8_t>(taken & ~(1u << id));
  }
  template <HardEvent event>
  int8_t FetchEventID() {
    return free_event(event);
  }
  int8_t FetchEventID(HardEvent event) { return free_event(event); }

 private:
  static constexpr uint32_t kMaxBuffers = 64;
  static constexpr uint32_t kMaxQueueBuffers = 8;
  static constexpr int8_t kEventIds = 8;

  uint8_t* allocate(TPosition position, uint8_t num, uint32_t bytes) {
    using namespace mtsim;
    const Memory kind = memory_of(position);
    const uint32_t size = chip().bytes[kind];
    const uint64_t total = uint64_t{num} * bytes;
    if (num == 0 || bytes == 0) fault({"limit"}, kVectorCoreException,
        "InitBuffer: %u buffers of %u bytes: both must be positive", num, bytes);
    if (buffers_ + num > kMaxBuffers)
      fault({"limit"}, kVectorCoreException, "InitBuffer: %u buffers, at most %u fit a kernel", buffers_ + num, kMaxBuffers);
    if (used_[kind] + total > size)
      fault({"limit"}, kVectorCoreException,
            "InitBuffer: %u x %u bytes do not fit the %s: %u of %u bytes are taken; use smaller tiles or fewer buffers",
            num, bytes, kMemoryNames[kind], used_[kind], size);
    uint8_t* begin = core().memory(kind) + used_[kind];
    used_[kind] += static_cast<uint32_t>(total);
    buffers_ += num;
    return begin;
  }

  void take_queue_buffers(TPosition position, uint8_t num) {
    uint8_t& count = queue_buffers_[static_cast<size_t>(position)];
    if (count + num > static_cast<int>(kMaxQueueBuffers))
      mtsim::fault({"limit"}, mtsim::kVectorCoreException, "InitBuffer: %u queue buffers at one position, it has event ids for %u",
                   count + num, kMaxQueueBuffers);
    count = static_cast<uint8_t>(count + num);
  }

  int8_t free_event(HardEvent event) const {
    const uint8_t taken = events_[static_cast<size_t>(event)];
    if (taken == 0xFF) mtsim::fault({"limit"}, mtsim::kVectorCoreException, "AllocEventID: all %d ids of this event are in use",
        kEventIds);
    return static_cast<int8_t>(__builtin_ctz(~static_cast<unsigned>(taken)));
  }

  std::array<uint32_t, mtsim::kMemories> used_{};
  std::array<uint8_t, static_cast<size_t>(TPosition::MAX)> queue_buffers_{};
  std::array<uint8_t, static_cast<size_t>(HardEvent::MAX)> events_{};
  uint32_t buffers_ = 0;
};

/// A part of the local memory of a position, cut into buffers of its own. Pools of the same part, which InitBufPool
/// makes when it is given another pool, share its memory: Reset one before the other is used.
template <TPosition pos, uint32_t bufIDSize>
class TBufPool {
 public:
  static constexpr TPosition poolPos = pos;

  template <TPosition src, TPosition dst, int32_t depth, auto mask>
  bool InitBuffer(TQueBind<src, dst, depth, mask>& queue, uint8_t num, uint32_t len) {
    const auto bytes = static_cast<uint32_t>(mtsim::align_up(len, mtsim::kBlock));
    uint8_t* begin = take(num, bytes);
    if constexpr (mtsim::kChecked)
      mtsim_check_buffers(begin, num, bytes, true, TQueBind<src, dst, depth, mask>::producer, mtsim::consumer_of(dst),
                          MTSIM_FRAME);
    queue.adopt(begin, num, bytes);
    return true;
  }
  template <TPosition position>
  bool InitBuffer(TBuf<position>& buffer, uint32_t len) {
    const auto bytes = static_cast<uint32_t>(mtsim::align_up(len, mtsim::kBlock));
    uint8_t* begin = take(1, bytes);
    if constexpr (mtsim::kChecked) mtsim_check_buffers(begin, 1, bytes, false, PIPE_S, PIPE_S, MTSIM_FRAME);
    buffer.adopt(begin, bytes);
    return true;
  }
  template <typename Pool>
  bool InitBufPool(Pool& pool, uint32_t len) {
    const auto bytes = static_cast<uint32_t>(mtsim::align_up(len, mtsim::kBlock));
    pool.adopt(take(1, bytes), bytes);
    return true;
  }
  template <typename Pool, typename Shared>
  bool InitBufPool(Pool& pool, uint32_t len, Shared& shared) {
    pool.share(shared, len);
    return true;
  }
  void Reset() {
    used_ = 0;
    buffers_ = 0;
    if constexpr (mtsim::kChecked) mtsim_check_forget_buffers(begin_, bytes_);
  }

  void adopt(uint8_t* begin, uint32_t bytes) {
    begin_ = begin;
    bytes_ = bytes;
    used_ = 0;
    buffers_ = 0;
  }
  template <typename Shared>
  void share(Shared& shared, uint32_t len) {
    if (len > shared.size())
      mtsim::fault({"limit"}, mtsim::kVectorCoreException, "InitBufPool: %u bytes, the pool to share has %u", len,
                   shared.size());
    adopt(shared.begin(), len);
  }
  uint8_t* begin() const { return begin_; }
  uint32_t size() const { return bytes_; }

 private:
  uint8_t* take(uint8_t num, uint32_t bytes) {
    const uint64_t total = uint64_t{num} * bytes;
    if (num == 0 || bytes == 0 || used_ + total > bytes_)
      mtsim::fault({"limit"}, mtsim::kVectorCoreException,
                   "InitBuffer: %u x %u bytes do not fit the pool: %u of %u bytes are taken", num, bytes, used_, bytes_);
    if (buffers_ + num > bufIDSize)
      mtsim::fault({"limit"}, mtsim::kVectorCoreException, "InitBuffer: %u buffers, the pool has ids for %u",
                   buffers_ + num, bufIDSize);
    uint8_t* begin = begin_ + used_;
    used_ += static_cast<uint32_t>(total);
    buffers_ += num;
    return begin;
  }

  uint8_t* begin_ = nullptr;
  uint32_t bytes_ = 0;
  uint32_t used_ = 0;
  uint32_t buffers_ = 0;
};

inline TPipe* GetTPipePtr() { return mtsim::core().pipe; }

}  // namespace AscendC
