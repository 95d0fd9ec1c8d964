// The repeat forms: counted and bitwise masks, strides, and what a mask leaves alone.
#include "tile.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void add_masked(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint64_t low, uint64_t high,
    uint64_t count) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> bufX, bufY, bufZ;
  pipe.InitBuffer(bufX, 1024);
  pipe.InitBuffer(bufY, 1024);
  pipe.InitBuffer(bufZ, 1024);
  LocalTensor<float> a = bufX.Get<float>(), b = bufY.Get<float>(), c = bufZ.Get<float>();
  GlobalTensor<float> xGm, yGm, zGm;
  xGm.SetGlobalBuffer((__gm__ float*)x);
  yGm.SetGlobalBuffer((__gm__ float*)y);
  zGm.SetGlobalBuffer((__gm__ float*)z);
  DataCopy(a, xGm, 256);
  DataCopy(b, yGm, 256);
  event_t eventId = static_cast<event_t>(pipe.FetchEventID(HardEvent::MTE2_V));
  SetFlag<HardEvent::MTE2_V>(eventId);
  WaitFlag<HardEvent::MTE2_V>(eventId);
  Duplicate(c, -1.0f, 256);
  PipeBarrier<PIPE_V>();
  if (count > 0) {
    Add(c, a, b, count, 4, {1, 1, 1, 8, 8, 8});
  } else {
    uint64_t mask[2] = {low, high};
    Add(c, a, b, mask, 4, {1, 1, 1, 8, 8, 8});
  }
  Then<HardEvent::V_MTE3>();
  DataCopy(zGm, c, 256);
}

// Every other block of x, halved in number: a source block stride of 2.
extern "C" __global__ __aicore__ void gather_blocks(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<> bufX, bufZ;
  pipe.InitBuffer(bufX, 512 * sizeof(float));
  pipe.InitBuffer(bufZ, 256 * sizeof(float));
  LocalTensor<float> a = bufX.Get<float>(), c = bufZ.Get<float>();
  GlobalTensor<float> xGm, zGm;
  xGm.SetGlobalBuffer((__gm__ float*)x);
  zGm.SetGlobalBuffer((__gm__ float*)z);
  DataCopy(a, xGm, 512);
  Then<HardEvent::MTE2_V>();
  Adds(c, a, 1.0f, 64, 4, {1, 2, 8, 16});
  Then<HardEvent::V_MTE3>();
  DataCopy(zGm, c, 256);
}

// Counter mode: the mask is the number of elements altogether.
extern "C" __global__ __aicore__ void counter_mode(GM_ADDR x, GM_ADDR z, uint64_t count) {
  TPipe pipe;
  TBuf<> bufX, bufZ;
  pipe.InitBuffer(bufX, 1024);
  pipe.InitBuffer(bufZ, 1024);
  LocalTensor<float> a = bufX.Get<float>(), c = bufZ.Get<float>();
  GlobalTensor<float> xGm, zGm;
  xGm.SetGlobalBuffer((__gm__ float*)x);
  zGm.SetGlobalBuffer((__gm__ float*)z);
  DataCopy(a, xGm, 256);
  Then<HardEvent::MTE2_V>();
  Duplicate(c, 0.0f, 256);
  SetMaskCount();
  SetVectorMask<float, MaskMode::COUNTER>(0, count);
  Muls<float, false>(c, a, 2.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
  SetMaskNorm();
  ResetMask();
  Then<HardEvent::V_MTE3>();
  DataCopy(zGm, c, 256);
}
