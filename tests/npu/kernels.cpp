// Kernels for the launcher's tests, one for each thing that is tested.
#include "kernel_operator.h"

using namespace AscendC;

// out[i] = factor * x[i], a block for every block_num-th element.
extern "C" __global__ __aicore__ void scale(GM_ADDR x, GM_ADDR out, float factor, uint32_t n) {
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)x, n);
  to.SetGlobalBuffer((__gm__ float*)out, n);
  for (uint32_t i = GetBlockIdx(); i < n; i += GetBlockNum()) to.SetValue(i, factor * from.GetValue(i));
}

// Runs until *flag is set by a copy on another stream; the test decides when.
extern "C" __global__ __aicore__ void wait_for(GM_ADDR flag) {
  volatile __gm__ int32_t* word = (volatile __gm__ int32_t*)flag;
  while (*word == 0) {
  }
}

struct Tiling {
  uint32_t n;
  bool negate;
  double offset;
};

// out[i] = offset +- i, with the tiling by value.
extern "C" __global__ __aicore__ void iota(GM_ADDR out, Tiling tiling) {
  GlobalTensor<float> to;
  to.SetGlobalBuffer((__gm__ float*)out, tiling.n);
  if (GetBlockIdx() != 0) return;
  for (uint32_t i = 0; i < tiling.n; ++i) to.SetValue(i, float(tiling.offset + (tiling.negate ? -1.0 : 1.0) * i));
}

// The same with the tiling in global memory.
extern "C" __global__ __aicore__ void iota_global(GM_ADDR out, GM_ADDR tiling) {
  const __gm__ Tiling* values = (const __gm__ Tiling*)tiling;
  GlobalTensor<float> to;
  to.SetGlobalBuffer((__gm__ float*)out, values->n);
  if (GetBlockIdx() != 0) return;
  for (uint32_t i = 0; i < values->n; ++i) to.SetValue(i, float(values->offset + (values->negate ? -1.0 : 1.0) * i));
}

// Asks for more local memory than there is.
extern "C" __global__ __aicore__ void too_large(GM_ADDR x) {
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 1024 * 1024);
}

// *counter += 1: what is lost was not ordered.
extern "C" __global__ __aicore__ void bump(GM_ADDR counter) {
  GlobalTensor<int32_t> number;
  number.SetGlobalBuffer((__gm__ int32_t*)counter, 1);
  number.SetValue(0, number.GetValue(0) + 1);
}
