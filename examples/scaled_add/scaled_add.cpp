// AscendC kernels of the example: out = x + scale * y, and its gradient out = scale * grad.
//
// Ordinary AscendC, as for a device: the same file is compiled by CANN for an NPU, and by g++ for the simulated one.
// A block takes every block_num-th tile of TILE elements; two buffers a queue let copies overlap with arithmetic.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t TILE = 2048;   // elements: 8 KiB of float, 48 KiB of unified buffer for three double-buffered queues
constexpr int32_t BUFFERS = 2;

__aicore__ inline void CopyIn(TQue<QuePosition::VECIN, BUFFERS>& queue, const GlobalTensor<float>& source, uint32_t start,
                              uint32_t count) {
  LocalTensor<float> tile = queue.AllocTensor<float>();
  // DataCopyPad, because the last tile need not fill a 32-byte block.
  DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
  DataCopyPadExtParams<float> pad{false, 0, 0, 0.0f};
  DataCopyPad(tile, source[start], copy, pad);
  queue.EnQue(tile);
}

__aicore__ inline void CopyOut(TQue<QuePosition::VECOUT, BUFFERS>& queue, const GlobalTensor<float>& target,
                               uint32_t start, uint32_t count) {
  LocalTensor<float> tile = queue.DeQue<float>();
  DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
  DataCopyPad(target[start], tile, copy);
  queue.FreeTensor(tile);
}

class ScaledAdd {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR out, float scale, uint32_t n) {
    scale_ = scale;
    n_ = n;
    x_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), n);
    y_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), n);
    out_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out), n);
    pipe_.InitBuffer(x_queue_, BUFFERS, TILE * sizeof(float));
    pipe_.InitBuffer(y_queue_, BUFFERS, TILE * sizeof(float));
    pipe_.InitBuffer(out_queue_, BUFFERS, TILE * sizeof(float));
  }

  __aicore__ inline void Process() {
    for (uint32_t start = GetBlockIdx() * TILE; start < n_; start += GetBlockNum() * TILE) {
      const uint32_t count = n_ - start < TILE ? n_ - start : TILE;
      CopyIn(x_queue_, x_, start, count);
      CopyIn(y_queue_, y_, start, count);
      Compute(count);
      CopyOut(out_queue_, out_, start, count);
    }
  }

 private:
  __aicore__ inline void Compute(uint32_t count) {
    LocalTensor<float> x = x_queue_.DeQue<float>();
    LocalTensor<float> y = y_queue_.DeQue<float>();
    LocalTensor<float> out = out_queue_.AllocTensor<float>();
    Muls(out, y, scale_, count);
    Add(out, x, out, count);
    out_queue_.EnQue(out);
    x_queue_.FreeTensor(x);
    y_queue_.FreeTensor(y);
  }

  TPipe pipe_;
  TQue<QuePosition::VECIN, BUFFERS> x_queue_;
  TQue<QuePosition::VECIN, BUFFERS> y_queue_;
  TQue<QuePosition::VECOUT, BUFFERS> out_queue_;
  GlobalTensor<float> x_;
  GlobalTensor<float> y_;
  GlobalTensor<float> out_;
  float scale_;
  uint32_t n_;
};

class ScaledAddGrad {
 public:
  __aicore__ inline void Init(GM_ADDR grad, GM_ADDR out, float scale, uint32_t n) {
    scale_ = scale;
    n_ = n;
    grad_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(grad), n);
    out_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out), n);
    pipe_.InitBuffer(grad_queue_, BUFFERS, TILE * sizeof(float));
    pipe_.InitBuffer(out_queue_, BUFFERS, TILE * sizeof(float));
  }

  __aicore__ inline void Process() {
    for (uint32_t start = GetBlockIdx() * TILE; start < n_; start += GetBlockNum() * TILE) {
      const uint32_t count = n_ - start < TILE ? n_ - start : TILE;
      CopyIn(grad_queue_, grad_, start, count);
      Compute(count);
      CopyOut(out_queue_, out_, start, count);
    }
  }

 private:
  __aicore__ inline void Compute(uint32_t count) {
    LocalTensor<float> grad = grad_queue_.DeQue<float>();
    LocalTensor<float> out = out_queue_.AllocTensor<float>();
    Muls(out, grad, scale_, count);
    out_queue_.EnQue(out);
    grad_queue_.FreeTensor(grad);
  }

  TPipe pipe_;
  TQue<QuePosition::VECIN, BUFFERS> grad_queue_;
  TQue<QuePosition::VECOUT, BUFFERS> out_queue_;
  GlobalTensor<float> grad_;
  GlobalTensor<float> out_;
  float scale_;
  uint32_t n_;
};

extern "C" __global__ __aicore__ void scaled_add(GM_ADDR x, GM_ADDR y, GM_ADDR out, float scale, uint32_t n) {
  ScaledAdd op;
  op.Init(x, y, out, scale, n);
  op.Process();
}

extern "C" __global__ __aicore__ void scaled_add_grad(GM_ADDR grad, GM_ADDR out, float scale, uint32_t n) {
  ScaledAddGrad op;
  op.Init(grad, out, scale, n);
  op.Process();
}
