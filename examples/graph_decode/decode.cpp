#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t kWidest = 1024;  // elements of a row

template <HardEvent event>
__aicore__ inline void then(TPipe& pipe) {
  const auto id = pipe.FetchEventID(event);
  SetFlag<event>(id);
  WaitFlag<event>(id);
}

__aicore__ inline DataCopyExtParams elements(uint32_t count) {
  return DataCopyExtParams(1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0);
}

// out = x @ weight.t(): the blocks share the rows of `weight`.
extern "C" __global__ __aicore__ void project(GM_ADDR x, GM_ADDR weight, GM_ADDR out, uint32_t rows, uint32_t outputs,
                                              uint32_t inputs) {
  ASSERT(inputs <= kWidest && "a row fits the unified buffer");
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, (3 * kWidest + 16) * sizeof(float));
  LocalTensor<float> left = buffer.Get<float>(), right = left[kWidest], work = right[kWidest], sum = work[kWidest];
  GlobalTensor<float> xs, weights, results;
  xs.SetGlobalBuffer((__gm__ float*)x);
  weights.SetGlobalBuffer((__gm__ float*)weight);
  results.SetGlobalBuffer((__gm__ float*)out);
  const DataCopyPadExtParams<float> whole(false, 0, 0, 0);
  for (uint32_t column = GetBlockIdx(); column < outputs; column += GetBlockNum()) {
    for (uint32_t row = 0; row < rows; ++row) {
      DataCopyPad(left, xs[row * inputs], elements(inputs), whole);
      DataCopyPad(right, weights[column * inputs], elements(inputs), whole);
      then<HardEvent::MTE2_V>(pipe);
      Mul(left, left, right, inputs);
      PipeBarrier<PIPE_V>();
      ReduceSum(sum, left, work, inputs);
      then<HardEvent::V_MTE3>(pipe);
      DataCopyPad(results[row * outputs + column], sum, elements(1));
      then<HardEvent::MTE3_MTE2>(pipe);
      then<HardEvent::MTE3_V>(pipe);
    }
  }
}

// cache[i, at_i] = rows[i]: a block for each of the two sequences.
extern "C" __global__ __aicore__ void write_rows(GM_ADDR cache, GM_ADDR rows, uint32_t first, uint32_t second,
                                                 uint32_t places, uint32_t width) {
  const uint32_t sequence = GetBlockIdx(), at = sequence == 0 ? first : second;
  ASSERT(width <= kWidest && "a row fits the unified buffer");
  ASSERT(at < places && "the cache has the place");
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, kWidest * sizeof(float));
  LocalTensor<float> tile = buffer.Get<float>();
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)rows);
  to.SetGlobalBuffer((__gm__ float*)cache);
  DataCopyPad(tile, from[sequence * width], elements(width), DataCopyPadExtParams<float>(false, 0, 0, 0));
  then<HardEvent::MTE2_MTE3>(pipe);
  DataCopyPad(to[(sequence * places + at) * width], tile, elements(width));
}
