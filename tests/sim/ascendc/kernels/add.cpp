// Two inputs through double-buffered queues; tiling as a struct by value.
#include "kernel_operator.h"

using namespace AscendC;

struct AddTiling {
  uint32_t totalLength;
  uint32_t tileLength;
};

constexpr int32_t BUFFER_NUM = 2;

class KernelAdd {
 public:
  __aicore__ inline KernelAdd() {}

  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, AddTiling tiling) {
    blockLength = tiling.totalLength / GetBlockNum();
    tileLength = tiling.tileLength;
    xGm.SetGlobalBuffer((__gm__ float*)x + blockLength * GetBlockIdx(), blockLength);
    yGm.SetGlobalBuffer((__gm__ float*)y + blockLength * GetBlockIdx(), blockLength);
    zGm.SetGlobalBuffer((__gm__ float*)z + blockLength * GetBlockIdx(), blockLength);
    pipe.InitBuffer(inQueueX, BUFFER_NUM, tileLength * sizeof(float));
    pipe.InitBuffer(inQueueY, BUFFER_NUM, tileLength * sizeof(float));
    pipe.InitBuffer(outQueueZ, BUFFER_NUM, tileLength * sizeof(float));
  }

  __aicore__ inline void Process() {
    for (uint32_t i = 0; i < blockLength / tileLength; i++) {
      CopyIn(i);
      Compute();
      CopyOut(i);
    }
  }

 private:
  __aicore__ inline void CopyIn(uint32_t progress) {
    LocalTensor<float> xLocal = inQueueX.AllocTensor<float>();
    LocalTensor<float> yLocal = inQueueY.AllocTensor<float>();
    DataCopy(xLocal, xGm[progress * tileLength], tileLength);
    DataCopy(yLocal, yGm[progress * tileLength], tileLength);
    inQueueX.EnQue(xLocal);
    inQueueY.EnQue(yLocal);
  }
  __aicore__ inline void Compute() {
    LocalTensor<float> xLocal = inQueueX.DeQue<float>();
    LocalTensor<float> yLocal = inQueueY.DeQue<float>();
    LocalTensor<float> zLocal = outQueueZ.AllocTensor<float>();
    Add(zLocal, xLocal, yLocal, tileLength);
    outQueueZ.EnQue<float>(zLocal);
    inQueueX.FreeTensor(xLocal);
    inQueueY.FreeTensor(yLocal);
  }
  __aicore__ inline void CopyOut(uint32_t progress) {
    LocalTensor<float> zLocal = outQueueZ.DeQue<float>();
    DataCopy(zGm[progress * tileLength], zLocal, tileLength);
    outQueueZ.FreeTensor(zLocal);
  }

  TPipe pipe;
  TQue<QuePosition::VECIN, BUFFER_NUM> inQueueX, inQueueY;
  TQue<QuePosition::VECOUT, BUFFER_NUM> outQueueZ;
  GlobalTensor<float> xGm, yGm, zGm;
  uint32_t blockLength;
  uint32_t tileLength;
};

extern "C" __global__ __aicore__ void add_struct(GM_ADDR x, GM_ADDR y, GM_ADDR z, AddTiling tiling) {
  KernelAdd op;
  op.Init(x, y, z, tiling);
  op.Process();
}

extern "C" __global__ __aicore__ void add_global(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA_WITH_STRUCT(AddTiling, data, tiling);
  KernelAdd op;
  op.Init(x, y, z, data);
  op.Process();
}

extern "C" __global__ __aicore__ void add_pointer(__gm__ uint8_t* x, __gm__ uint8_t* y, __gm__ uint8_t* z,
                                                  __gm__ AddTiling* tiling) {
  AddTiling data;
  data.totalLength = tiling->totalLength;
  data.tileLength = tiling->tileLength;
  KernelAdd op;
  op.Init(x, y, z, data);
  op.Process();
}

#ifndef __CCE_KT_TEST__
void add_do(uint32_t blockDim, void* stream, uint8_t* x, uint8_t* y, uint8_t* z, AddTiling tiling) {
  add_struct<<<blockDim, nullptr, stream>>>(x, y, z, tiling);
}
#endif
