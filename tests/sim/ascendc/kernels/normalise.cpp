// Rows normalised: with a residual beside them, and by moments that are known.
#include "tile.h"
#include "lib/normalization/deepnorm.h"
#include "lib/normalization/normalize.h"

using namespace AscendC;

namespace {
constexpr uint32_t kRows = 4, kColumns = 32, kUsed = 30, kCount = kRows * kColumns;
DeepNormTiling Deep() {
  DeepNormTiling tiling;
  tiling.bLength = 2, tiling.sLength = 2, tiling.hLength = kColumns, tiling.originalHLength = kUsed;
  return tiling;
}
constexpr NormalizeConfig kWithoutShift = GetNormalizeConfig(true, false);
constexpr NormalizePara kPara = {kRows, kUsed, kColumns};
}  // namespace

template <typename T>
__aicore__ inline void Deepened(GM_ADDR x, GM_ADDR gx, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, GM_ADDR moments, bool own) {
  TPipe pipe;
  Tile<T> in(pipe, x, kCount), beside(pipe, gx, kCount), scale(pipe, gamma, kColumns), shift(pipe, beta, kColumns);
  Tile<T> out(pipe, y, kCount), mean(pipe, moments, 16), variance(pipe, moments + 16 * sizeof(T), 16);
  in.load(), beside.load(), scale.load(), shift.load(), mean.load(), variance.load();
  LocalTensor<uint8_t> tmp;
  DeepNormTiling tiling = Deep();
  if (own) {
    DeepNorm<T, false, false>(out.local(), mean.local(), variance.local(), in.local(), beside.local(), shift.local(),
                              scale.local(), tmp, T(0.5), T(0.25), tiling);
  } else {
    DeepNorm(out.local(), mean.local(), variance.local(), in.local(), beside.local(), shift.local(), scale.local(), T(0.5),
             T(0.25), tiling);
  }
  out.store(), mean.store(), variance.store();
}
extern "C" __global__ __aicore__ void deepened_float(GM_ADDR x, GM_ADDR gx, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y,
                                                     GM_ADDR moments, bool own) {
  Deepened<float>(x, gx, gamma, beta, y, moments, own);
}
extern "C" __global__ __aicore__ void deepened_half(GM_ADDR x, GM_ADDR gx, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y,
                                                    GM_ADDR moments, bool own) {
  Deepened<half>(x, gx, gamma, beta, y, moments, own);
}

// 0: scale and shift; 1: no shift; 2: no scale; 3: neither; 4: with a buffer.
extern "C" __global__ __aicore__ void normalised(GM_ADDR x, GM_ADDR moments, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y,
                                                 GM_ADDR rstd, int32_t kind) {
  TPipe pipe;
  Tile<half> in(pipe, x, kCount), out(pipe, y, kCount);
  Tile<float> scale(pipe, gamma, kColumns), shift(pipe, beta, kColumns), mean(pipe, moments, 8),
      variance(pipe, moments + 32, 8), factor(pipe, rstd, 8);
  in.load(), scale.load(), shift.load(), mean.load(), variance.load(), factor.load();
  LocalTensor<half> o = out.local(), a = in.local();
  LocalTensor<float> r = factor.local(), m = mean.local(), v = variance.local(), g = scale.local(), b = shift.local(), none;
  LocalTensor<uint8_t> tmp;
  if (kind == 0) Normalize<float, half>(o, r, m, v, a, g, b, 0.25f, kPara);
  if (kind == 1) Normalize<float, half, false, kWithoutShift>(o, r, m, v, a, g, none, 0.25f, kPara);
  if (kind == 2) Normalize<float, half, false, NLCFG_NOGAMMA>(o, r, m, v, a, none, b, 0.25f, kPara);
  if (kind == 3) Normalize<float, half, false, NLCFG_NOOPT>(o, r, m, v, a, none, none, 0.25f, kPara);
  if (kind == 4) Normalize<float, half>(o, r, m, v, a, g, b, tmp, 0.25f, kPara);
  out.store(), factor.store();
}

// Each with an operand that is one block too short; or which reads what was copied without waiting for the copy.
extern "C" __global__ __aicore__ void wrong(GM_ADDR x, int32_t kind) {
  TPipe pipe;
  Tile<float> in(pipe, x, kCount), out(pipe, x, kCount), moments(pipe, x, kCount);
  TBuf<> small;
  pipe.InitBuffer(small, kCount * 4 - 32);
  LocalTensor<float> rest = small.Get<float>(), o = out.local(), m = moments.local(), a = in.local();
  Duplicate(m, 1.0f, kCount);
  Duplicate(rest, 1.0f, kCount - 8);
  if (kind < 4) Duplicate(a, 1.0f, kCount);
  else DataCopy(a, in.global, kCount);
  DeepNormTiling tiling = Deep();
  if (kind == 0) DeepNorm(o, m, m[32], a, rest, m, m, 1.0f, 0.0f, tiling);
  if (kind == 1) DeepNorm(o, m, m[32], rest, a, m, m, 1.0f, 0.0f, tiling);
  if (kind == 2) Normalize<float, float>(rest, m[32], m, m, a, m, m, 0.0f, kPara);
  if (kind == 3) Normalize<float, float>(o, m[32], m, m, a, rest[104], m, 0.0f, kPara);
  if (kind == 4) DeepNorm(o, m[32], m[64], m, a, m, m, 1.0f, 0.0f, {1, 1, kColumns});
  if (kind == 5) Normalize<float, float>(o, m[32], m, m, a, m, m, 0.0f, kPara);
}
