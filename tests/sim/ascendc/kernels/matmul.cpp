// Matmul<>: whole parts and base blocks, with a bias, transposed operands, tails, and a vector step behind it.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;
using namespace matmul;

__aicore__ inline void copy_tiling(TCubeTiling* tiling, GM_ADDR from) {
  int32_t* to = reinterpret_cast<int32_t*>(tiling);
  for (uint32_t i = 0; i < sizeof(TCubeTiling) / 4; i++) to[i] = ((__gm__ int32_t*)from)[i];
}

// Blocks share C by rows and columns of singleCoreM x singleCoreN.
template <typename T, typename C>
__aicore__ inline void product(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace, GM_ADDR tilingGm,
                               bool transA, bool transB, bool byBlocks) {
  TPipe pipe;
  TCubeTiling tiling;
  copy_tiling(&tiling, tilingGm);
  Matmul<MatmulType<TPosition::GM, CubeFormat::ND, T>, MatmulType<TPosition::GM, CubeFormat::ND, T>,
         MatmulType<TPosition::GM, CubeFormat::ND, C>, MatmulType<TPosition::GM, CubeFormat::ND, C>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling);
  const int rows = (tiling.M + tiling.singleCoreM - 1) / tiling.singleCoreM;
  const int row = GetBlockIdx() % rows * tiling.singleCoreM, column = GetBlockIdx() / rows * tiling.singleCoreN;
  if (column >= tiling.N) return;
  GlobalTensor<T> aGm, bGm;
  GlobalTensor<C> biasGm, cGm;
  aGm.SetGlobalBuffer((__gm__ T*)a, tiling.M * tiling.Ka);
  bGm.SetGlobalBuffer((__gm__ T*)b, tiling.Kb * tiling.N);
  biasGm.SetGlobalBuffer((__gm__ C*)bias, tiling.N);
  cGm.SetGlobalBuffer((__gm__ C*)c, tiling.M * tiling.N);
  mm.SetTail(tiling.M - row < tiling.singleCoreM ? tiling.M - row : tiling.singleCoreM,
             tiling.N - column < tiling.singleCoreN ? tiling.N - column : tiling.singleCoreN);
  mm.SetTensorA(aGm[transA ? row : row * tiling.Ka], transA);
  mm.SetTensorB(bGm[transB ? column * tiling.Kb : column], transB);
  if (tiling.isBias) mm.SetBias(biasGm[column]);
  if (byBlocks) {
    while (mm.Iterate()) mm.GetTensorC(cGm[row * tiling.N + column]);
  } else {
    mm.IterateAll(cGm[row * tiling.N + column]);
  }
  mm.End();
}

extern "C" __global__ __aicore__ void matmul_half(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace,
                                                  GM_ADDR tiling, bool transA, bool transB, bool byBlocks) {
  product<half, float>(a, b, bias, c, workspace, tiling, transA, transB, byBlocks);
}
extern "C" __global__ __aicore__ void matmul_float(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace,
                                                   GM_ADDR tiling, bool transA, bool transB, bool byBlocks) {
  product<float, float>(a, b, bias, c, workspace, tiling, transA, transB, byBlocks);
}
extern "C" __global__ __aicore__ void matmul_int8(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace,
                                                  GM_ADDR tiling, bool transA, bool transB, bool byBlocks) {
  product<int8_t, int32_t>(a, b, bias, c, workspace, tiling, transA, transB, byBlocks);
}

// Base blocks through local memory with a LeakyRelu, on a mixed kernel whose vector cores share the rows.
extern "C" __global__ __aicore__ void matmul_leaky(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR workspace,
                                                   GM_ADDR tilingGm) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  TPipe pipe;
  TCubeTiling tiling;
  copy_tiling(&tiling, tilingGm);
  Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half>, MatmulType<TPosition::GM, CubeFormat::ND, half>,
         MatmulType<TPosition::VECIN, CubeFormat::ND, float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling);
  GlobalTensor<half> aGm, bGm;
  GlobalTensor<float> cGm;
  const uint32_t row = GetBlockIdx() * tiling.singleCoreM;
  aGm.SetGlobalBuffer((__gm__ half*)a + row * tiling.Ka);
  bGm.SetGlobalBuffer((__gm__ half*)b);
  cGm.SetGlobalBuffer((__gm__ float*)c + row * tiling.N);
  TQue<TPosition::VECOUT, 1> queue;
  const uint32_t size = tiling.baseM * tiling.baseN;
  pipe.InitBuffer(queue, 1, size * sizeof(float));
  mm.SetTensorA(aGm);
  mm.SetTensorB(bGm);
  const uint32_t down = tiling.singleCoreM / tiling.baseM;
  for (uint32_t i = 0; mm.Iterate<true>(); i++) {
    LocalTensor<float> part = queue.AllocTensor<float>();
    mm.GetTensorC<true>(part, false, true);
    LeakyRelu(part, part, 0.1f, size);
    queue.EnQue(part);
    part = queue.DeQue<float>();
    DataCopyParams rows(tiling.baseM, tiling.baseN / 8, 0, (tiling.N - tiling.baseN) / 8);
    DataCopy(cGm[i % down * tiling.baseM * tiling.N + i / down * tiling.baseN], part, rows);
    queue.FreeTensor(part);
  }
  mm.End();
}

// Products that all blocks add to one C.
extern "C" __global__ __aicore__ void matmul_split_k(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tilingGm) {
  TPipe pipe;
  TCubeTiling tiling;
  copy_tiling(&tiling, tilingGm);
  Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half>, MatmulType<TPosition::GM, CubeFormat::ND, half>,
         MatmulType<TPosition::GM, CubeFormat::ND, float>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm);
  mm.Init(&tiling);
  GlobalTensor<half> aGm, bGm;
  GlobalTensor<float> cGm;
  const uint32_t from = GetBlockIdx() * tiling.singleCoreK;
  aGm.SetGlobalBuffer((__gm__ half*)a + from);
  bGm.SetGlobalBuffer((__gm__ half*)b + from * tiling.N);
  cGm.SetGlobalBuffer((__gm__ float*)c);
  mm.SetTensorA(aGm);
  mm.SetTensorB(bGm);
  mm.IterateAll(cGm, 1);
  mm.End();
}

// int8_t into half: with a scale for each column, or with one for all.
extern "C" __global__ __aicore__ void matmul_scaled(GM_ADDR a, GM_ADDR b, GM_ADDR scales, GM_ADDR c, GM_ADDR tilingGm,
                                                    uint64_t scale) {
  TPipe pipe;
  TCubeTiling tiling;
  copy_tiling(&tiling, tilingGm);
  Matmul<MatmulType<TPosition::GM, CubeFormat::ND, int8_t>, MatmulType<TPosition::GM, CubeFormat::ND, int8_t>,
         MatmulType<TPosition::GM, CubeFormat::ND, half>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling);
  if (GetBlockIdx() > 0) return;
  GlobalTensor<int8_t> aGm, bGm;
  GlobalTensor<uint64_t> scalesGm;
  GlobalTensor<half> cGm;
  aGm.SetGlobalBuffer((__gm__ int8_t*)a);
  bGm.SetGlobalBuffer((__gm__ int8_t*)b);
  scalesGm.SetGlobalBuffer((__gm__ uint64_t*)scales, tiling.N);
  cGm.SetGlobalBuffer((__gm__ half*)c);
  if (scale != 0) mm.SetQuantScalar(scale);
  else mm.SetQuantVector(scalesGm);
  mm.SetTensorA(aGm);
  mm.SetTensorB(bGm);
  while (mm.Iterate()) mm.GetTensorC(cGm);
  mm.End();
}
