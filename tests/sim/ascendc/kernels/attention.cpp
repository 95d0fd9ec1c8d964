// Attention over tiles of keys with a running softmax: the vector cores of a mixed kernel share the rows of queries.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"
#include "tile.h"

using namespace AscendC;

constexpr uint32_t kRows = 16;   // queries at a time
constexpr uint32_t kKeys = 64;   // keys at a time

struct AttentionTiling {
  uint32_t tokens;
  uint32_t width;
  float scale;
};

class Attention {
  using Left = matmul::MatmulType<TPosition::GM, CubeFormat::ND, half>;
  using Result = matmul::MatmulType<TPosition::VECIN, CubeFormat::ND, float>;
  using Weights = matmul::MatmulType<TPosition::VECOUT, CubeFormat::ND, half>;

 public:
  matmul::Matmul<Left, matmul::MatmulType<TPosition::GM, CubeFormat::ND, half, true>, Result> scores;
  matmul::Matmul<Weights, Left, Result> mix;

  __aicore__ inline void Init(TPipe& pipe, GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR out, AttentionTiling tiling) {
    this->tiling = tiling;
    const uint32_t size = tiling.tokens * tiling.width;
    qGm.SetGlobalBuffer((__gm__ half*)q, size);
    kGm.SetGlobalBuffer((__gm__ half*)k, size);
    vGm.SetGlobalBuffer((__gm__ half*)v, size);
    outGm.SetGlobalBuffer((__gm__ float*)out, size);
    pipe.InitBuffer(scoreBuf, kRows * kKeys * sizeof(float));
    pipe.InitBuffer(weightBuf, kRows * kKeys * sizeof(half));
    pipe.InitBuffer(partBuf, kRows * tiling.width * sizeof(float));
    pipe.InitBuffer(sumBuf, kRows * tiling.width * sizeof(float));
    pipe.InitBuffer(rowBuf, 3 * kRows * 32);
    TCubeTiling first = Shape(kRows, kKeys, tiling.width), second = Shape(kRows, tiling.width, kKeys);
    scores.Init(&first);
    mix.Init(&second);
  }
  __aicore__ inline void Process() {
    const uint32_t cores = GetBlockNum() * GetSubBlockNum();
    for (uint32_t row = GetBlockIdx() * kRows; row < tiling.tokens; row += cores * kRows) ProcessRows(row);
  }

 private:
  __aicore__ inline TCubeTiling Shape(int m, int n, int k) {
    TCubeTiling shape;
    shape.M = shape.singleCoreM = shape.baseM = m;
    shape.N = shape.singleCoreN = shape.baseN = n;
    shape.Ka = shape.Kb = shape.singleCoreK = shape.baseK = k;
    return shape;
  }
  __aicore__ inline void ProcessRows(uint32_t row) {
    LocalTensor<float> s = scoreBuf.Get<float>(), part = partBuf.Get<float>(), total = sumBuf.Get<float>();
    LocalTensor<half> weights = weightBuf.Get<half>();
    LocalTensor<float> sum = rowBuf.GetWithOffset<float>(kRows * 8, 0);
    LocalTensor<float> peak = rowBuf.GetWithOffset<float>(kRows * 8, kRows * 32);
    LocalTensor<float> shrink = rowBuf.GetWithOffset<float>(kRows * 8, kRows * 64);
    SoftMaxTiling plan;
    SoftMaxShapeInfo shape{kRows, kKeys, kRows, kKeys};
    Then<HardEvent::MTE3_V>();
    Duplicate(total, 0.0f, kRows * tiling.width);
    for (uint32_t key = 0; key < tiling.tokens; key += kKeys) {
      scores.SetTensorA(qGm[row * tiling.width]);
      scores.SetTensorB(kGm[key * tiling.width], true);
      scores.IterateAll(s);
      Muls(s, s, tiling.scale, kRows * kKeys);
      if (key == 0) {
        SoftmaxFlashV2<float, false>(s, sum, peak, s, shrink, sum, peak, plan, shape);
      } else {
        SoftmaxFlashV2<float, true>(s, sum, peak, s, shrink, sum, peak, plan, shape);
        ScaleRows(total, shrink);
      }
      Cast(weights, s, RoundMode::CAST_RINT, kRows * kKeys);
      mix.SetTensorA(weights);
      mix.SetTensorB(vGm[key * tiling.width]);
      mix.IterateAll(part);
      Add(total, total, part, kRows * tiling.width);
    }
    Reciprocal(sum, sum, kRows * 8);
    ScaleRows(total, sum);
    Then<HardEvent::V_MTE3>();
    DataCopy(outGm[row * tiling.width], total, kRows * tiling.width);
  }
  // Each row times its factor, which fills a block.
  __aicore__ inline void ScaleRows(LocalTensor<float>& rows, LocalTensor<float>& factors) {
    const uint8_t stride = tiling.width / 8;
    for (uint32_t column = 0; column < tiling.width; column += 64) {
      const uint64_t mask = tiling.width - column < 64 ? tiling.width - column : 64;
      Mul(rows[column], rows[column], factors, mask, kRows, {1, 1, 0, stride, stride, 1});
    }
  }

  AttentionTiling tiling;
  GlobalTensor<half> qGm, kGm, vGm;
  GlobalTensor<float> outGm;
  TBuf<TPosition::VECCALC> scoreBuf, partBuf, sumBuf, rowBuf;
  TBuf<TPosition::VECOUT> weightBuf;
};

extern "C" __global__ __aicore__ void attention(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR out, GM_ADDR workspace,
                                                GM_ADDR tilingGm) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  GET_TILING_DATA_WITH_STRUCT(AttentionTiling, tiling, tilingGm);
  SetSysWorkspace(workspace);
  if (GetSysWorkSpacePtr() == nullptr) return;
  ASSERT(tiling.tokens % kKeys == 0 && "keys come in whole tiles");
  TPipe pipe;
  Attention op;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), op.scores, nullptr, op.mix, nullptr);
  op.Init(pipe, q, k, v, out, tiling);
  op.Process();
}
