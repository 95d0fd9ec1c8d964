// One mistake a kernel: each is what the chip answers with an exception or a hang.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void too_large(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> queue;
  pipe.InitBuffer(queue, 2, 64 * 1024);
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 65 * 1024);
}

extern "C" __global__ __aicore__ void exactly_fits(GM_ADDR x) {
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 192 * 1024 - 256 - 31);  // rounds up to the last byte
}

extern "C" __global__ __aicore__ void too_many_buffers(GM_ADDR x) {
  TPipe pipe;
  TBuf<> buffers[65];
  for (auto& buffer : buffers) pipe.InitBuffer(buffer, 32);
}

extern "C" __global__ __aicore__ void too_many_queue_buffers(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> queues[3];
  for (auto& queue : queues) pipe.InitBuffer(queue, 3, 32);
}

extern "C" __global__ __aicore__ void misaligned(GM_ADDR x) {
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 256);
  GlobalTensor<float> xGm;
  xGm.SetGlobalBuffer((__gm__ float*)x);
  DataCopy(buffer.Get<float>()[3], xGm, 8);
}

extern "C" __global__ __aicore__ void past_local_end(GM_ADDR x) {
  TPipe pipe;
  TBuf<> a, b;
  pipe.InitBuffer(a, 256);
  pipe.InitBuffer(b, 256);
  Exp(b.Get<float>(), a.Get<float>(), 72);
}

extern "C" __global__ __aicore__ void past_global_end(GM_ADDR x) {
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 4096);
  GlobalTensor<float> xGm;
  xGm.SetGlobalBuffer((__gm__ float*)x);
  DataCopy(buffer.Get<float>(), xGm, 1024);
}

extern "C" __global__ __aicore__ void never_freed(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECIN, 2> queue;
  pipe.InitBuffer(queue, 2, 256);
  for (int i = 0; i < 3; i++) queue.EnQue(queue.AllocTensor<float>()), queue.DeQue<float>();
}

extern "C" __global__ __aicore__ void empty_queue(GM_ADDR x) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> queue;
  pipe.InitBuffer(queue, 1, 256);
  queue.DeQue<float>();
}

extern "C" __global__ __aicore__ void wait_without_set(GM_ADDR x) { WaitFlag<HardEvent::MTE2_V>(EVENT_ID3); }

extern "C" __global__ __aicore__ void event_out_of_range(GM_ADDR x) { SetFlag<HardEvent::V_MTE3>(8); }

extern "C" __global__ __aicore__ void second_block_faults(GM_ADDR x) {
  if (GetBlockIdx() == 2) SetFlag<HardEvent::V_MTE3>(-1);
}

extern "C" __global__ __aicore__ void null_tensor(GM_ADDR x) {
  LocalTensor<float> nowhere;
  Duplicate(nowhere, 0.0f, 8);
}
