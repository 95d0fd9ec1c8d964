// The sum of all elements, and their mean, deterministic for a given block_dim: (x, out, workspace, uint32 n).
// The workspace holds 32 bytes a block. Sums are float for either type; out holds one element.
// Blocks wait for each other, so block_dim may not exceed the number of vector cores.
#include "tiles.h"

using namespace AscendC;

namespace mindtorch {

constexpr uint32_t kSlot = 8;  // floats a block has in the workspace: one 32-byte block, which no other block writes

__aicore__ inline void copy_widened(const LocalTensor<float>& wide, const LocalTensor<float>& tile, uint32_t count) {
  Adds(wide, tile, 0.0f, count);
}
__aicore__ inline void copy_widened(const LocalTensor<float>& wide, const LocalTensor<half>& tile, uint32_t count) {
  Cast(wide, tile, RoundMode::CAST_NONE, count);
}

template <typename T>
__aicore__ inline void store_scalar(TPipe& pipe, const GlobalTensor<T>& out, float value) {
  Output<T> outputs;
  pipe.InitBuffer(outputs, 1, 32);
  LocalTensor<T> result = outputs.template AllocTensor<T>();
  Duplicate(result, static_cast<T>(value), 32 / sizeof(T));
  store<T>(outputs, result, out, 1);
}

template <typename T>
__aicore__ inline void sum(GM_ADDR x, GM_ADDR out, GM_ADDR workspace, uint32_t n, float scale) {
  constexpr uint32_t tile = kTileBytes / sizeof(T);
  TPipe pipe;
  Input<T> inputs;
  TBuf<TPosition::VECCALC> wideBuffer, workBuffer, totalBuffer;
  pipe.InitBuffer(inputs, kBuffers, kTileBytes);
  pipe.InitBuffer(wideBuffer, tile * sizeof(float));
  pipe.InitBuffer(workBuffer, tile * sizeof(float));
  pipe.InitBuffer(totalBuffer, 32);
  LocalTensor<float> wide = wideBuffer.Get<float>();
  LocalTensor<float> work = workBuffer.Get<float>();
  LocalTensor<float> total = totalBuffer.Get<float>();

  const auto source = global<T>(x, n);
  const Share<T> share(n);
  float sum = 0;
  for (uint32_t at = share.begin; at < share.end; at += tile) {
    const uint32_t count = share.end - at < tile ? share.end - at : tile;
    LocalTensor<T> in = fetch<T>(inputs, source[at], count);
    copy_widened(wide, in, count);
    inputs.FreeTensor(in);
    ReduceSum(total, wide, work, count);
    // The scalar unit reads what the vector unit wrote.
    const auto done = pipe.FetchEventID(HardEvent::V_S);
    SetFlag<HardEvent::V_S>(done);
    WaitFlag<HardEvent::V_S>(done);
    sum += total.GetValue(0);
  }

  const uint32_t blocks = GetBlockNum();
  const auto partial = global<float>(workspace, blocks * kSlot);
  store_scalar<float>(pipe, partial[GetBlockIdx() * kSlot], sum);
  SyncAll();
  if (GetBlockIdx() != 0) return;
  DataCopy(wide, partial, blocks * kSlot);
  const auto copied = pipe.FetchEventID(HardEvent::MTE2_S);
  SetFlag<HardEvent::MTE2_S>(copied);
  WaitFlag<HardEvent::MTE2_S>(copied);
  sum = 0;
  for (uint32_t block = 0; block < blocks; ++block) sum += wide.GetValue(block * kSlot);
  store_scalar<T>(pipe, global<T>(out, 1), sum * scale);
}

}  // namespace mindtorch

#define SUM(NAME, T, SCALE)                                                                                     \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR out, GM_ADDR workspace, uint32_t n) {           \
    mindtorch::sum<T>(x, out, workspace, n, SCALE);                                                             \
  }

SUM(sum_f32, float, 1.0f)
SUM(sum_f16, half, 1.0f)
SUM(mean_f32, float, 1.0f / n)
SUM(mean_f16, half, 1.0f / n)
