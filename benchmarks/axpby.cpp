// out = a * x + b * y: six arguments, for what a launch costs.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void axpby(GM_ADDR x, GM_ADDR y, GM_ADDR out, float a, float b, uint32_t n) {
  if (n == 0) return;
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 2 * n * sizeof(float));
  LocalTensor<float> left = buffer.Get<float>(), right = left[n];
  GlobalTensor<float> from, other, to;
  from.SetGlobalBuffer((__gm__ float*)x, n);
  other.SetGlobalBuffer((__gm__ float*)y, n);
  to.SetGlobalBuffer((__gm__ float*)out, n);
  DataCopy(left, from, n);
  DataCopy(right, other, n);
  PipeBarrier<PIPE_ALL>();
  Muls(left, left, a, n);
  Muls(right, right, b, n);
  PipeBarrier<PIPE_V>();
  Add(left, left, right, n);
  PipeBarrier<PIPE_ALL>();
  DataCopy(to, left, n);
}
