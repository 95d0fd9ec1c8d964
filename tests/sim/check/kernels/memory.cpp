// Accesses outside of memory, to the wrong place in it, and to values that are not there: each beside its right form.
#include "kernel_operator.h"

using namespace AscendC;

namespace {
// Two tiles of local memory and two of global memory.
struct Tiles {
  __aicore__ inline Tiles(GM_ADDR x, GM_ADDR y, uint32_t n) {
    pipe.InitBuffer(inQueue, 1, 256);
    pipe.InitBuffer(outQueue, 1, 256);
    xGm.SetGlobalBuffer((__gm__ float*)x, n);
    yGm.SetGlobalBuffer((__gm__ float*)y, n);
  }
  __aicore__ inline void Load(uint32_t count) {
    LocalTensor<float> t = inQueue.AllocTensor<float>();
    DataCopy(t, xGm, count);
    inQueue.EnQue(t);
    in = inQueue.DeQue<float>();
    out = outQueue.AllocTensor<float>();
  }
  __aicore__ inline void Store(uint32_t count) {
    outQueue.EnQue(out);
    out = outQueue.DeQue<float>();
    DataCopy(yGm, out, count);
    outQueue.FreeTensor(out);
    inQueue.FreeTensor(in);
  }
  TPipe pipe;
  TQue<TPosition::VECIN, 1> inQueue;
  TQue<TPosition::VECOUT, 1> outQueue;
  GlobalTensor<float> xGm, yGm;
  LocalTensor<float> in, out;
};
}  // namespace

extern "C" __global__ __aicore__ void past_buffer(GM_ADDR x, GM_ADDR y, uint32_t count) {
  Tiles tiles(x, y, 64);
  tiles.Load(64);
  Exp(tiles.out, tiles.in, count);
  tiles.Store(64);
}

extern "C" __global__ __aicore__ void past_buffer_by_repeats(GM_ADDR x, GM_ADDR y, uint8_t stride) {
  Tiles tiles(x, y, 64);
  tiles.Load(64);
  Adds(tiles.out, tiles.in, 1.0f, 32, 2, {1, 1, stride, 4});
  tiles.Store(64);
}

extern "C" __global__ __aicore__ void past_declared(GM_ADDR x, GM_ADDR y, uint32_t n) {
  Tiles tiles(x, y, n);
  tiles.Load(64);
  Exp(tiles.out, tiles.in, 64);
  tiles.Store(64);
}

extern "C" __global__ __aicore__ void past_allocation(GM_ADDR x, GM_ADDR y, uint32_t from) {
  Tiles tiles(x + from * sizeof(float), y, 64);
  tiles.Load(64);
  Exp(tiles.out, tiles.in, 64);
  tiles.Store(64);
}

extern "C" __global__ __aicore__ void past_index(GM_ADDR x, GM_ADDR y, uint32_t index) {
  Tiles tiles(x, y, 64);
  tiles.Load(64);
  Exp(tiles.out, tiles.in, 64);
  const auto id = tiles.pipe.FetchEventID(HardEvent::V_S);
  SetFlag<HardEvent::V_S>(id);
  WaitFlag<HardEvent::V_S>(id);
  tiles.xGm.SetValue(0, tiles.out.GetValue(index));
  tiles.Store(64);
}

extern "C" __global__ __aicore__ void gather_past(GM_ADDR x, GM_ADDR y, uint32_t step) {
  Tiles tiles(x, y, 64);
  TBuf<> buffer;
  tiles.pipe.InitBuffer(buffer, 256);
  LocalTensor<int32_t> offsets = buffer.Get<int32_t>();
  tiles.Load(64);
  CreateVecIndex(offsets, 0, 64);
  Muls(offsets, offsets, (int32_t)step, 64);
  Gather(tiles.out, tiles.in, offsets.ReinterpretCast<uint32_t>(), 0, 64);
  tiles.Store(64);
}

extern "C" __global__ __aicore__ void fractals_past(GM_ADDR x, GM_ADDR y, uint8_t fractals) {
  TPipe pipe;
  TBuf<TPosition::A1> a1;
  TBuf<TPosition::A2> a2;
  pipe.InitBuffer(a1, 1024);
  pipe.InitBuffer(a2, 2048);
  GlobalTensor<half> xGm;
  xGm.SetGlobalBuffer((__gm__ half*)x);
  DataCopy(a1.Get<half>(), xGm, 512);
  SetFlag<HardEvent::MTE2_MTE1>(0);
  WaitFlag<HardEvent::MTE2_MTE1>(0);
  LoadData(a2.Get<half>(), a1.Get<half>(), LoadData2DParams(0, fractals, 1, 0, 0, false, 0));
}

extern "C" __global__ __aicore__ void misaligned(GM_ADDR x, GM_ADDR y, uint32_t at) {
  Tiles tiles(x, y, 64);
  tiles.Load(64);
  Exp(tiles.out, tiles.in, 64);
  Adds(tiles.out[at], tiles.in, 1.0f, 8);
  tiles.Store(64);
}

extern "C" __global__ __aicore__ void rounded_down(GM_ADDR x, GM_ADDR y, uint32_t count) {
  Tiles tiles(x, y, 64);
  tiles.Load(64);
  Exp(tiles.out, tiles.in, 64);
  tiles.Store(count);
}

extern "C" __global__ __aicore__ void uninitialised(GM_ADDR x, GM_ADDR y, uint32_t count) {
  Tiles tiles(x, y, 64);
  tiles.Load(64);
  Exp(tiles.out, tiles.in, count);
  Muls(tiles.out, tiles.out, 2.0f, 64);
  tiles.Store(64);
}

extern "C" __global__ __aicore__ void padded(GM_ADDR x, GM_ADDR y, bool isPad) {
  Tiles tiles(x, y, 64);
  LocalTensor<float> t = tiles.inQueue.AllocTensor<float>();
  DataCopyPad(t, tiles.xGm, DataCopyExtParams(1, 20, 0, 0, 0), DataCopyPadExtParams<float>(isPad, 0, 3, 0.0f));
  tiles.inQueue.EnQue(t);
  tiles.in = tiles.inQueue.DeQue<float>();
  tiles.out = tiles.outQueue.AllocTensor<float>();
  Duplicate(tiles.out, 0.0f, 64);
  WholeReduceSum(tiles.out, tiles.in, 8, 1, 1, 1, 8);
  tiles.Store(64);
}

extern "C" __global__ __aicore__ void compare_tail(GM_ADDR x, GM_ADDR y, uint32_t count) {
  Tiles tiles(x, y, 64);
  TBuf<> bits;
  tiles.pipe.InitBuffer(bits, 32);
  LocalTensor<uint8_t> mask = bits.Get<uint8_t>();
  tiles.Load(64);
  CompareScalar(mask, tiles.in, 0.0f, CMPMODE::GT, count);
  Select(tiles.out, mask, tiles.in, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);
  tiles.Store(64);
}

// y is not written by anyone before it is added to.
extern "C" __global__ __aicore__ void adds_to(GM_ADDR x, GM_ADDR y) {
  Tiles tiles(x, y, 64);
  tiles.Load(64);
  Exp(tiles.out, tiles.in, 64);
  SetAtomicAdd<float>();
  tiles.Store(64);
  SetAtomicNone();
}

// From y, which nobody may have written, to x.
extern "C" __global__ __aicore__ void copies(GM_ADDR x, GM_ADDR y) {
  Tiles tiles(y, x, 64);
  tiles.Load(64);
  Exp(tiles.out, tiles.in, 64);
  tiles.Store(64);
}

// By a pointer of the kernel's own: `at` is an element.
extern "C" __global__ __aicore__ void writes_by_pointer(GM_ADDR x, GM_ADDR y, uint32_t at) {
  TPipe pipe;
  __gm__ float* out = (__gm__ float*)y;
  out[at] = ((__gm__ float*)x)[0];
}
extern "C" __global__ __aicore__ void reads_by_pointer(GM_ADDR x, GM_ADDR y, uint32_t at) {
  ((__gm__ float*)y)[0] = ((__gm__ float*)x)[at];
}
struct Pair {
  float first[3];
};
extern "C" __global__ __aicore__ void copies_a_struct(GM_ADDR x, GM_ADDR y, uint32_t at) {
  *((__gm__ Pair*)y + at) = *(__gm__ Pair*)x;
}
extern "C" __global__ __aicore__ void writes_to_nobody(GM_ADDR x, GM_ADDR y, bool somewhere) {
  *(somewhere ? (__gm__ float*)y : nullptr) = 1;
}
