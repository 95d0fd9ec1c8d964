// Tensors used before, after and beside their time, and more of everything than the chip has.
#include "kernel_operator.h"

using namespace AscendC;

// where: 0 in order; 1 after FreeTensor; 2 between EnQue and DeQue; 3 freed twice; 4 never freed; 5 left in its queue
extern "C" __global__ __aicore__ void life(GM_ADDR x, GM_ADDR y, int32_t where) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> inQueue;
  TBuf<> buffer;
  pipe.InitBuffer(inQueue, 2, 256);
  pipe.InitBuffer(buffer, 256);
  GlobalTensor<float> xGm;
  xGm.SetGlobalBuffer((__gm__ float*)x, 64);
  LocalTensor<float> out = buffer.Get<float>();
  LocalTensor<float> in = inQueue.AllocTensor<float>();
  DataCopy(in, xGm, 64);
  inQueue.EnQue(in);
  if (where == 5) return;
  if (where == 2) Exp(out, in, 64);
  in = inQueue.DeQue<float>();
  Exp(out, in, 64);
  if (where != 4) inQueue.FreeTensor(in);
  if (where == 1) Exp(out, in, 64);
  if (where == 3) inQueue.FreeTensor(in);
}

extern "C" __global__ __aicore__ void budget(GM_ADDR x, uint32_t tile) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> inQueue;
  TQue<TPosition::VECOUT, 1> outQueue;
  TBuf<> work;
  pipe.InitBuffer(inQueue, 2, tile);
  pipe.InitBuffer(outQueue, 2, tile);
  pipe.InitBuffer(work, tile);
}

extern "C" __global__ __aicore__ void buffers(GM_ADDR x, int32_t count) {
  TPipe pipe;
  TBuf<> all[65];
  for (int32_t i = 0; i < count; i++) pipe.InitBuffer(all[i], 32);
}

extern "C" __global__ __aicore__ void events(GM_ADDR x, int32_t count) {
  TPipe pipe;
  for (int32_t i = 0; i < count; i++) {
    const auto id = pipe.AllocEventID<HardEvent::MTE2_V>();
    SetFlag<HardEvent::MTE2_V>(id);
    WaitFlag<HardEvent::MTE2_V>(id);
  }
}

extern "C" __global__ __aicore__ void queue_buffers(GM_ADDR x, uint8_t each) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> a, b;
  pipe.InitBuffer(a, each, 32);
  pipe.InitBuffer(b, 4, 32);
}
