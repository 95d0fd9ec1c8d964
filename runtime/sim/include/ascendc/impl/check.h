// What the headers tell the checker. Without -DMTSIM_CHECK all of it is empty, and kernels are compiled as if it were
// not here; MINDTORCH_SIM_CHECK=1 makes the kernel builder define it.
#pragma once

#include <cstring>
#include <exception>
#include <string_view>
#include <vector>

#include "../../mtsim_check.h"
#include "types.h"

#define MTSIM_FRAME __builtin_frame_address(0)

namespace mtsim {

#ifdef MTSIM_CHECK
constexpr bool kChecked = true;
#else
constexpr bool kChecked = false;
#endif

/// What becomes of undefined values that an instruction reads, see mtsim_check.h.
enum class Flow : uint32_t { Lanes = MTSIM_FLOW_LANES, Moves = MTSIM_FLOW_MOVES, Uses = MTSIM_FLOW_USES };

#ifdef MTSIM_CHECK
/// One instruction, from the check of its operands to its result. Functions without one are an instruction an operand.
class Instruction {
 public:
  Instruction(const char* name, pipe_t pipe, Flow flow) : unwinding_(std::uncaught_exceptions()) {
    mtsim_check_begin(name, pipe, static_cast<uint32_t>(flow), MTSIM_FRAME);
  }
  ~Instruction() { mtsim_check_end(std::uncaught_exceptions() > unwinding_); }
  Instruction(const Instruction&) = delete;
  Instruction& operator=(const Instruction&) = delete;

 private:
  const int unwinding_;
};
#else
struct Instruction {
  constexpr Instruction(const char*, pipe_t, Flow) {}
  ~Instruction() {}  // so that it counts as used
};
#endif

/// Operands are named as in the API's documentation, where results are called dst; these are the exceptions.
constexpr bool is_result(std::string_view operand) {
  constexpr std::string_view kOthers[] = {"gm", "sumTensor", "maxTensor", "expSumTensor", "expMaxTensor"};
  for (const std::string_view other : kOthers)
    if (operand == other) return true;
  return (operand.substr(0, 3) == "dst" && operand != "dstOffset") || operand.substr(0, 6) == "output";
}
constexpr uint32_t access_of(const char* operand) { return is_result(operand) ? MTSIM_WRITES : MTSIM_READS; }

/// The bytes of an operand, piece by piece in the order of its elements.
class Spans {
 public:
  void add(uint64_t begin, uint64_t bytes) {
    if (!list_.empty() && list_.back().begin + list_.back().bytes == begin) list_.back().bytes += bytes;
    else list_.push_back({begin, bytes});
  }
  const mtsim_span* data() const { return list_.data(); }
  size_t size() const { return list_.size(); }

 private:
  std::vector<mtsim_span> list_;
};

/// An instruction touches these bytes of an operand with elements of `bits`.
inline void touch(const void* base, const Spans& spans, uint32_t bits, const char* operation, const char* operand,
                  uint32_t access) {
  if constexpr (kChecked)
    mtsim_check_operand(operation, operand, access, bits, base, spans.data(), spans.size(), MTSIM_FRAME);
}
inline void touch(const void* base, uint64_t bytes, uint32_t bits, const char* operation, const char* operand,
                  uint32_t access) {
  if constexpr (kChecked) {
    const mtsim_span whole{0, bytes};
    mtsim_check_operand(operation, operand, access, bits, base, &whole, 1, MTSIM_FRAME);
  }
}
template <typename T>
void touch_elements(const T* first, uint64_t count, const char* operation, const char* operand, uint32_t access) {
  touch(first, count * sizeof(T), 8 * sizeof(T), operation, operand, access);
}

/// The same for one value that an instruction uses even if it only moves others: an offset, a bit that chooses.
constexpr uint32_t kUsed = MTSIM_READS | MTSIM_USED;

inline void moved(const void* to, const void* from, uint64_t bytes) {
  if constexpr (kChecked) mtsim_check_moved(to, from, bytes);
}

/// The pipes that fill and empty the queues of a position.
constexpr pipe_t producer_of(AscendC::TPosition position) {
  using P = AscendC::TPosition;
  switch (position) {
    case P::VECOUT:
    case P::VECCALC:
      return PIPE_V;
    case P::A2:
    case P::B2:
    case P::C2:
      return PIPE_MTE1;
    case P::CO1:
      return PIPE_M;
    case P::CO2:
      return PIPE_FIX;
    default:
      return PIPE_MTE2;
  }
}
constexpr pipe_t consumer_of(AscendC::TPosition position) {
  using P = AscendC::TPosition;
  switch (position) {
    case P::A1:
    case P::B1:
    case P::C1:
    case P::TSCM:
      return PIPE_MTE1;
    case P::A2:
    case P::B2:
    case P::C2:
      return PIPE_M;
    case P::CO1:
      return PIPE_FIX;
    case P::VECIN:
    case P::VECCALC:
      return PIPE_V;
    default:
      return PIPE_MTE3;
  }
}

/// The two pipes of a hardware event: the one that sets it and the one that waits.
struct EventPipes {
  pipe_t from, to;
};
constexpr EventPipes pipes_of(AscendC::HardEvent event) {
  constexpr pipe_t S = PIPE_S, V = PIPE_V, M = PIPE_M, T1 = PIPE_MTE1, T2 = PIPE_MTE2, T3 = PIPE_MTE3, F = PIPE_FIX;
  // In the order of HardEvent.
  constexpr EventPipes kEvents[] = {{T2, T1}, {T1, T2}, {T1, M},  {M, T1},  {T2, V}, {V, T2}, {T3, V},
                                    {V, T3},  {M, V},   {V, M},   {V, V},   {T3, T1}, {T1, T3}, {T1, V},
                                    {T2, M},  {M, T2},  {V, T1},  {M, F},   {F, M},  {T3, T2}, {T2, T3},
                                    {S, V},   {V, S},   {S, T2},  {T2, S},  {S, T3}, {T3, S},  {T2, F},
                                    {F, T2},  {F, S},   {M, S},   {F, T3},  {T1, F}, {F, T1},  {F, F}};
  static_assert(sizeof kEvents / sizeof kEvents[0] == static_cast<size_t>(AscendC::HardEvent::MAX));
  return kEvents[static_cast<size_t>(event)];
}

}  // namespace mtsim
