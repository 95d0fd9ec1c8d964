// AscendC kernels of the definitions in operators.py.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void scaled_add(GM_ADDR x, GM_ADDR y, GM_ADDR out, float scale, uint32_t n) {
  GlobalTensor<float> a, b, to;
  a.SetGlobalBuffer((__gm__ float*)x, n);
  b.SetGlobalBuffer((__gm__ float*)y, n);
  to.SetGlobalBuffer((__gm__ float*)out, n);
  for (uint32_t i = GetBlockIdx(); i < n; i += GetBlockNum()) to.SetValue(i, a.GetValue(i) + scale * b.GetValue(i));
}

extern "C" __global__ __aicore__ void scaled_add_grad(GM_ADDR grad, GM_ADDR out, float scale, uint32_t n) {
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer((__gm__ float*)grad, n);
  to.SetGlobalBuffer((__gm__ float*)out, n);
  for (uint32_t i = GetBlockIdx(); i < n; i += GetBlockNum()) to.SetValue(i, scale * from.GetValue(i));
}

struct RowSumsTiling {
  uint32_t rows, n;
  float scale;
};

// A block for every row; the workspace holds a float for each.
extern "C" __global__ __aicore__ void row_sums(GM_ADDR x, GM_ADDR out, GM_ADDR workspace, RowSumsTiling tiling) {
  GlobalTensor<float> from, to, sums;
  from.SetGlobalBuffer((__gm__ float*)x, tiling.rows * tiling.n);
  to.SetGlobalBuffer((__gm__ float*)out, tiling.rows);
  sums.SetGlobalBuffer((__gm__ float*)workspace, tiling.rows);
  for (uint32_t r = GetBlockIdx(); r < tiling.rows; r += GetBlockNum()) {
    sums.SetValue(r, 0);
    for (uint32_t i = 0; i < tiling.n; ++i) sums.SetValue(r, sums.GetValue(r) + from.GetValue(r * tiling.n + i));
    to.SetValue(r, tiling.scale * sums.GetValue(r));
  }
}
