// Matrix products by the cube, of float32 (_f32) and float16 (_f16), one for each of `batch`:
//   product  (a, b, bias, c, workspace, uint32 batch, m, n, k, bool a_turned, bool b_turned)
// a is m x k, or k x m where it is turned, b is k x n, or n x k; `bias`, of n elements, may be null. Vector cores share parts
// of 128 x 128 of the results.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;
using namespace matmul;

namespace mindtorch {

constexpr int32_t kPart = 128, kBase = 64;  // rows and columns that a core takes, and that the cube multiplies, at a time

__aicore__ inline int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }
__aicore__ inline int32_t sixteens(int32_t n) { return (n + 15) / 16 * 16; }

__aicore__ inline void plan(TCubeTiling& tiling, uint32_t m, uint32_t n, uint32_t k, bool biased) {
  tiling.usedCoreNum = 1;
  tiling.M = m;
  tiling.N = n;
  tiling.Ka = tiling.Kb = tiling.singleCoreK = k;
  tiling.singleCoreM = least(kPart, m);
  tiling.singleCoreN = least(kPart, n);
  tiling.baseM = least(kBase, sixteens(m));
  tiling.baseN = least(kBase, sixteens(n));
  tiling.baseK = least(kBase, sixteens(k));
  tiling.depthA1 = tiling.depthB1 = tiling.stepM = tiling.stepN = tiling.stepKa = tiling.stepKb = 1;
  tiling.dbL0A = tiling.dbL0B = tiling.dbL0C = 1;
  tiling.isBias = biased;
}

template <typename T>
__aicore__ inline void product(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, uint32_t batch, uint32_t m, uint32_t n,
                               uint32_t k, bool aTurned, bool bTurned) {
  TPipe pipe;
  TCubeTiling tiling;
  plan(tiling, m, n, k, bias != nullptr);
  Matmul<MatmulType<TPosition::GM, CubeFormat::ND, T>, MatmulType<TPosition::GM, CubeFormat::ND, T>,
         MatmulType<TPosition::GM, CubeFormat::ND, T>, MatmulType<TPosition::GM, CubeFormat::ND, T>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling);
  const uint64_t down = (m + kPart - 1) / kPart, across = (n + kPart - 1) / kPart;
  const uint64_t rows = m, inner = k, aSize = rows * k, bSize = inner * n, cSize = rows * n;
  GlobalTensor<T> as, bs, cs, biases;
  as.SetGlobalBuffer((__gm__ T*)a, batch * aSize);
  bs.SetGlobalBuffer((__gm__ T*)b, batch * bSize);
  cs.SetGlobalBuffer((__gm__ T*)c, batch * cSize);
  biases.SetGlobalBuffer((__gm__ T*)bias, n);
  for (uint64_t part = GetBlockIdx(); part < batch * down * across; part += GetBlockNum() * GetTaskRation()) {
    const uint64_t which = part / (down * across), inside = part % (down * across);
    const uint32_t row = inside % down * kPart, column = inside / down * kPart;
    mm.SetTail(least(kPart, m - row), least(kPart, n - column));
    mm.SetTensorA(as[which * aSize + (aTurned ? row : static_cast<uint64_t>(row) * k)], aTurned);
    mm.SetTensorB(bs[which * bSize + (bTurned ? static_cast<uint64_t>(column) * k : column)], bTurned);
    if (bias != nullptr) mm.SetBias(biases[column]);
    mm.IterateAll(cs[which * cSize + static_cast<uint64_t>(row) * n + column]);
  }
  mm.End();
}

}  // namespace mindtorch

extern "C" __global__ __aicore__ void product_f32(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace,
                                                  uint32_t batch, uint32_t m, uint32_t n, uint32_t k, bool a_turned,
                                                  bool b_turned) {
  mindtorch::product<float>(a, b, bias, c, batch, m, n, k, a_turned, b_turned);
}
extern "C" __global__ __aicore__ void product_f16(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR c, GM_ADDR workspace,
                                                  uint32_t batch, uint32_t m, uint32_t n, uint32_t k, bool a_turned,
                                                  bool b_turned) {
  mindtorch::product<half>(a, b, bias, c, batch, m, n, k, a_turned, b_turned);
}
