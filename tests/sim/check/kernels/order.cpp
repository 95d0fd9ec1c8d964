// Flags that are missing or too many, and what is then done in no order: by pipes of a core, and by cores.
#include "kernel_operator.h"

using namespace AscendC;

// mistake: 0 none; 1 set twice; 2 set and never waited for; 3 waited for and never set
extern "C" __global__ __aicore__ void flags(GM_ADDR x, int32_t mistake) {
  if (mistake != 3) SetFlag<HardEvent::MTE2_V>(EVENT_ID1);
  if (mistake == 1) SetFlag<HardEvent::MTE2_V>(EVENT_ID1);
  if (mistake != 2) WaitFlag<HardEvent::MTE2_V>(EVENT_ID1);
}

namespace {
template <HardEvent event>
__aicore__ inline void Order(bool ordered) {
  if (!ordered) return;
  SetFlag<event>(EVENT_ID0);
  WaitFlag<event>(EVENT_ID0);
}
}  // namespace

// missing: the step that nothing orders after the one before; 0 none
extern "C" __global__ __aicore__ void pipeline(GM_ADDR x, GM_ADDR y, int32_t missing) {
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 256);
  LocalTensor<float> tile = buffer.Get<float>();
  GlobalTensor<float> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ float*)x, 128);
  yGm.SetGlobalBuffer((__gm__ float*)y, 128);
  DataCopy(tile, xGm, 64);
  Order<HardEvent::MTE2_V>(missing != 1);
  Muls(tile, tile, 2.0f, 64);
  Order<HardEvent::V_S>(missing != 2);
  const float first = tile.GetValue(0);
  tile.SetValue(1, first);
  Order<HardEvent::S_MTE3>(missing != 3);
  Order<HardEvent::V_MTE3>(missing != 4);
  DataCopy(yGm, tile, 64);
  Order<HardEvent::MTE3_MTE2>(missing != 5);
  DataCopy(tile, xGm[64], 64);
  Order<HardEvent::MTE2_MTE3>(true);
  DataCopy(yGm[64], tile, 64);
}

// Through a queue: what a tile that is used without EnQue and DeQue looks like.
extern "C" __global__ __aicore__ void without_queue(GM_ADDR x, GM_ADDR y, bool queued) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> inQueue;
  TBuf<> buffer;
  pipe.InitBuffer(inQueue, 1, 256);
  pipe.InitBuffer(buffer, 256);
  GlobalTensor<float> xGm;
  xGm.SetGlobalBuffer((__gm__ float*)x, 64);
  LocalTensor<float> tile = inQueue.AllocTensor<float>();
  DataCopy(tile, xGm, 64);
  if (queued) {
    inQueue.EnQue(tile);
    tile = inQueue.DeQue<float>();
  }
  Exp(buffer.Get<float>(), tile, 64);
  inQueue.FreeTensor(tile);
}

// The scalar unit reads a tile that a queue gave out: DeQue made the vector unit wait for the copy, and nobody else.
extern "C" __global__ __aicore__ void scalar_behind_queue(GM_ADDR x, GM_ADDR y, bool ordered) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> inQueue;
  TBuf<> buffer;
  pipe.InitBuffer(inQueue, 1, 256);
  pipe.InitBuffer(buffer, 256);
  GlobalTensor<float> xGm;
  xGm.SetGlobalBuffer((__gm__ float*)x, 64);
  LocalTensor<float> tile = inQueue.AllocTensor<float>();
  DataCopy(tile, xGm, 64);
  inQueue.EnQue(tile);
  tile = inQueue.DeQue<float>();
  Order<HardEvent::MTE2_S>(ordered);
  Duplicate(buffer.Get<float>(), tile.GetValue(0), 64);
  inQueue.FreeTensor(tile);
}

// The cube's pipes: L1 to L0 to the product and out.
extern "C" __global__ __aicore__ void product(GM_ADDR x, GM_ADDR y, int32_t missing) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  TPipe pipe;
  TBuf<TPosition::A1> a1;
  TBuf<TPosition::A2> a2;
  TBuf<TPosition::B2> b2;
  TBuf<TPosition::CO1> co1;
  pipe.InitBuffer(a1, 512);
  pipe.InitBuffer(a2, 512);
  pipe.InitBuffer(b2, 512);
  pipe.InitBuffer(co1, 1024);
  GlobalTensor<half> xGm;
  GlobalTensor<float> yGm;
  xGm.SetGlobalBuffer((__gm__ half*)x, 256);
  yGm.SetGlobalBuffer((__gm__ float*)y, 256);
  DataCopy(a1.Get<half>(), xGm, Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
  Order<HardEvent::MTE2_MTE1>(missing != 1);
  LoadData(a2.Get<half>(), a1.Get<half>(), LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  LoadData(b2.Get<half>(), a1.Get<half>(), LoadData2DParams(0, 1, 1, 0, 0, true, 0));
  Order<HardEvent::MTE1_M>(missing != 2);
  Mmad(co1.Get<float>(), a2.Get<half>(), b2.Get<half>(), MmadParams(16, 16, 16, 0, false, true));
  Order<HardEvent::M_FIX>(missing != 3);
  Fixpipe(yGm, co1.Get<float>(), FixpipeParamsV220(16, 16, 16, 16, false));
}

namespace {
__aicore__ inline void Write(TPipe& pipe, GM_ADDR y, uint32_t at, float value) {
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 32);
  GlobalTensor<float> yGm;
  yGm.SetGlobalBuffer((__gm__ float*)y);
  LocalTensor<float> tile = buffer.Get<float>();
  Duplicate(tile, value, 8);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(yGm[at], tile, 8);
}
}  // namespace

// Every block writes 32 bytes, `step` floats apart.
extern "C" __global__ __aicore__ void write_blocks(GM_ADDR y, uint32_t step) {
  TPipe pipe;
  Write(pipe, y, GetBlockIdx() * step, GetBlockIdx());
}

// Every block adds to the same 32 bytes, which the last one also overwrites where `overwrite` says so.
extern "C" __global__ __aicore__ void add_blocks(GM_ADDR y, bool overwrite) {
  TPipe pipe;
  if (!overwrite || GetBlockIdx() + 1 < GetBlockNum()) SetAtomicAdd<float>();
  Write(pipe, y, 0, 1.0f);
  SetAtomicNone();
}

// Every block reads what its neighbour wrote. The source names SyncAll, so all blocks are alive together.
extern "C" __global__ __aicore__ void read_neighbour(GM_ADDR x, GM_ADDR y, bool together) {
  TPipe pipe;
  Write(pipe, x, GetBlockIdx() * 8, GetBlockIdx());
  if (together) SyncAll();
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 32);
  LocalTensor<float> tile = buffer.Get<float>();
  GlobalTensor<float> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ float*)x);
  yGm.SetGlobalBuffer((__gm__ float*)y);
  DataCopy(tile, xGm[(GetBlockIdx() + 1) % GetBlockNum() * 8], 8);
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  DataCopy(yGm[GetBlockIdx() * 8], tile, 8);
}

// A core that reads back what it has just written.
extern "C" __global__ __aicore__ void read_back(GM_ADDR x, GM_ADDR y, bool ordered) {
  TPipe pipe;
  Write(pipe, x, 0, 1.0f);
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 32);
  LocalTensor<float> tile = buffer.Get<float>();
  GlobalTensor<float> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ float*)x);
  yGm.SetGlobalBuffer((__gm__ float*)y);
  Order<HardEvent::MTE3_MTE2>(ordered);
  DataCopy(tile, xGm, 8);
  Order<HardEvent::MTE2_MTE3>(true);
  DataCopy(yGm, tile, 8);
}

// The cube core hands a number to its vector cores, with and without a flag.
extern "C" __global__ __aicore__ void hand_over(GM_ADDR x, GM_ADDR y, bool flagged) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  GlobalTensor<int32_t> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ int32_t*)x);
  yGm.SetGlobalBuffer((__gm__ int32_t*)y);
  if ASCEND_IS_AIC {
    xGm.SetValue(0, 7);
    if (flagged) CrossCoreSetFlag<0x2, PIPE_FIX>(3);
  }
  if ASCEND_IS_AIV {
    if (flagged) CrossCoreWaitFlag(3);
    yGm.SetValue(GetSubBlockIdx(), xGm.GetValue(0));
  }
}
