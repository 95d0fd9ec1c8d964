// Flags and barriers between a core's pipelines. They run one after the other here, so order is given; what is
// checked is what the chip would answer with a hang.
#pragma once

#include "core.h"

namespace mtsim {

constexpr int32_t kEventIds = 8;

inline void set_bit(uint8_t& flags, int32_t id) {
  if (id < 0 || id >= kEventIds) fault(kVectorCoreException, "SetFlag: event id %d, there are 0 to %d", id,
      kEventIds - 1);
  flags = static_cast<uint8_t>(flags | (1u << id));
}

inline void clear_bit(uint8_t& flags, int32_t id) {
  if (id < 0 || id >= kEventIds) fault(kVectorCoreException, "WaitFlag: event id %d, there are 0 to %d", id,
      kEventIds - 1);
  if (!(flags >> id & 1)) fault(kVectorCoreTimeout, "WaitFlag: event %d was never set: the chip would wait for ever",
      id);
  flags = static_cast<uint8_t>(flags & ~(1u << id));
}

inline uint8_t& pair_flags(pipe_t from, pipe_t to) { return core().pipe_flags[from * kPipes + to]; }

}  // namespace mtsim

namespace AscendC {

template <HardEvent event>
void SetFlag(int32_t eventID) {
  mtsim::set_bit(mtsim::core().flags[static_cast<size_t>(event)], eventID);
}
template <HardEvent event>
void WaitFlag(int32_t eventID) {
  mtsim::clear_bit(mtsim::core().flags[static_cast<size_t>(event)], eventID);
}
template <pipe_t pipe>
void PipeBarrier() {}

using TEventID = int8_t;

}  // namespace AscendC

inline void set_flag(pipe_t from, pipe_t to, int32_t id) { mtsim::set_bit(mtsim::pair_flags(from, to), id); }
inline void wait_flag(pipe_t from, pipe_t to, int32_t id) { mtsim::clear_bit(mtsim::pair_flags(from, to), id); }
inline void pipe_barrier(pipe_t) {}
