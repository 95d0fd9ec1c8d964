// AscendC kernels of the example: gelu(x + bias) in its tanh form, and its gradients; see bias_gelu_cpu.c for the formula.
//
// A block takes every block_num-th tile of TILE columns, and all rows of it, so that the gradient of the bias is a sum that
// never leaves the block.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t TILE = 256;  // columns: eight tiles of 1 KiB in the unified buffer
constexpr float TWICE_ROOT = 1.5957691216057308f, CUBIC = 0.044715f;

template <HardEvent event>
__aicore__ inline void Then(TPipe& pipe) {
  const auto id = pipe.FetchEventID(event);
  SetFlag<event>(id);
  WaitFlag<event>(id);
}

__aicore__ inline void Load(const LocalTensor<float>& tile, const GlobalTensor<float>& from, uint32_t at, uint32_t count) {
  const DataCopyExtParams part(1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0);
  DataCopyPad(tile, from[at], part, DataCopyPadExtParams<float>(false, 0, 0, 0));
}

__aicore__ inline void Store(const GlobalTensor<float>& to, uint32_t at, const LocalTensor<float>& tile, uint32_t count) {
  DataCopyPad(to[at], tile, DataCopyExtParams(1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0));
}

// s = 1 / (1 + exp(-2u)) of z; `square` becomes z * z.
__aicore__ inline void Share(const LocalTensor<float>& s, const LocalTensor<float>& square, const LocalTensor<float>& z,
                             const LocalTensor<float>& ones, uint32_t count) {
  Mul(square, z, z, count);
  PipeBarrier<PIPE_V>();
  Muls(s, square, -TWICE_ROOT * CUBIC, count);
  PipeBarrier<PIPE_V>();
  Adds(s, s, -TWICE_ROOT, count);
  PipeBarrier<PIPE_V>();
  Mul(s, s, z, count);
  PipeBarrier<PIPE_V>();
  Mins(s, s, 80.0f, count);  // beyond it exp is infinite, and the share 0 all the same
  PipeBarrier<PIPE_V>();
  Exp(s, s, count);
  PipeBarrier<PIPE_V>();
  Adds(s, s, 1.0f, count);
  PipeBarrier<PIPE_V>();
  Div(s, ones, s, count);
  PipeBarrier<PIPE_V>();
}

extern "C" __global__ __aicore__ void bias_gelu(GM_ADDR x, GM_ADDR bias, GM_ADDR out, uint32_t rows, uint32_t columns) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 5 * TILE * sizeof(float));
  LocalTensor<float> z = buffer.Get<float>(), added = z[TILE], s = added[TILE], square = s[TILE], ones = square[TILE];
  GlobalTensor<float> xs, biases, outs;
  xs.SetGlobalBuffer((__gm__ float*)x);
  biases.SetGlobalBuffer((__gm__ float*)bias);
  outs.SetGlobalBuffer((__gm__ float*)out);
  Duplicate(ones, 1.0f, TILE);
  for (uint32_t start = GetBlockIdx() * TILE; start < columns; start += GetBlockNum() * TILE) {
    const uint32_t count = columns - start < TILE ? columns - start : TILE;
    Load(added, biases, start, count);
    for (uint32_t row = 0; row < rows; ++row) {
      Load(z, xs, row * columns + start, count);
      Then<HardEvent::MTE2_V>(pipe);
      Add(z, z, added, count);
      PipeBarrier<PIPE_V>();
      Share(s, square, z, ones, count);
      Mul(s, s, z, count);
      Then<HardEvent::V_MTE3>(pipe);
      Store(outs, row * columns + start, s, count);
      Then<HardEvent::MTE3_V>(pipe);
      Then<HardEvent::V_MTE2>(pipe);
    }
  }
}

extern "C" __global__ __aicore__ void bias_gelu_grad(GM_ADDR grad, GM_ADDR x, GM_ADDR bias, GM_ADDR of_x, GM_ADDR of_bias,
                                                     uint32_t rows, uint32_t columns) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 8 * TILE * sizeof(float));
  LocalTensor<float> z = buffer.Get<float>(), added = z[TILE], s = added[TILE], square = s[TILE], ones = square[TILE];
  LocalTensor<float> slope = ones[TILE], given = slope[TILE], sum = given[TILE];
  GlobalTensor<float> grads, xs, biases, of_xs, of_biases;
  grads.SetGlobalBuffer((__gm__ float*)grad);
  xs.SetGlobalBuffer((__gm__ float*)x);
  biases.SetGlobalBuffer((__gm__ float*)bias);
  of_xs.SetGlobalBuffer((__gm__ float*)of_x);
  of_biases.SetGlobalBuffer((__gm__ float*)of_bias);
  Duplicate(ones, 1.0f, TILE);
  for (uint32_t start = GetBlockIdx() * TILE; start < columns; start += GetBlockNum() * TILE) {
    const uint32_t count = columns - start < TILE ? columns - start : TILE;
    Duplicate(sum, 0.0f, TILE);
    Load(added, biases, start, count);
    for (uint32_t row = 0; row < rows; ++row) {
      Load(z, xs, row * columns + start, count);
      Load(given, grads, row * columns + start, count);
      Then<HardEvent::MTE2_V>(pipe);
      Add(z, z, added, count);
      PipeBarrier<PIPE_V>();
      Share(s, square, z, ones, count);
      // slope = s + z s (1 - s) 2 sqrt(2 / pi) (1 + 3 c z^2)
      Muls(square, square, 3.0f * CUBIC * TWICE_ROOT, count);
      PipeBarrier<PIPE_V>();
      Adds(square, square, TWICE_ROOT, count);
      PipeBarrier<PIPE_V>();
      Mul(square, square, z, count);
      Sub(slope, ones, s, count);
      PipeBarrier<PIPE_V>();
      Mul(slope, slope, square, count);
      PipeBarrier<PIPE_V>();
      Adds(slope, slope, 1.0f, count);
      PipeBarrier<PIPE_V>();
      Mul(slope, slope, s, count);
      PipeBarrier<PIPE_V>();
      Mul(slope, slope, given, count);
      PipeBarrier<PIPE_V>();
      Add(sum, sum, slope, count);
      Then<HardEvent::V_MTE3>(pipe);
      Store(of_xs, row * columns + start, slope, count);
      Then<HardEvent::MTE3_V>(pipe);
      Then<HardEvent::V_MTE2>(pipe);
    }
    Then<HardEvent::V_MTE3>(pipe);
    Store(of_biases, start, sum, count);
    Then<HardEvent::MTE3_V>(pipe);
    Then<HardEvent::MTE3_MTE2>(pipe);
  }
}
