// Matmul<> by what is known when it is compiled: templates of configs, sizes as constants, formats of the result.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;

namespace {
using Left = MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NONE, true>;
using Right = MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NONE, false, TPosition::GM>;
using Rows = MatmulType<TPosition::GM, CubeFormat::ND, float>;
using Fractals = MatmulType<TPosition::GM, CubeFormat::NZ, float>;
using Halves = MatmulType<TPosition::GM, CubeFormat::NZ, half>;

constexpr MatmulShapeParams kShape{64, 96, 48, 32, 48, 16};
constexpr MatmulFuncParams kFunction{
    false, false, false, false, 0, IterateOrder::ORDER_N, ScheduleType::INNER_PRODUCT, true, false};
constexpr MatmulConfig kByColumns = GetMMConfig<MatmulConfigMode::CONFIG_MDL>(kShape, kFunction);
constexpr MatmulConfig kParts = GetMMConfig<MatmulConfigMode::CONFIG_NORM>(
    MatmulBiasParams{false}, MatmulQuantParams{true, true}, MatmulBatchParams{true, BatchMode::BATCH_LARGE_THAN_L1});
static_assert(kByColumns.doMultiDataLoad && !kByColumns.doNorm && kByColumns.basicN == 48);
static_assert(kParts.doNorm && !kParts.enableSetBias && kParts.hasAntiQuantOffset && kParts.isNBatch &&
              kParts.batchMode == BatchMode::BATCH_LARGE_THAN_L1 && kParts.isBiasBatch);
static_assert(GetMMConfig<MatmulConfigMode::CONFIG_IBSHARE>().doIBShareNorm);
static_assert(GetMMConfig<MatmulConfigMode::CONFIG_SPECIALMDL>().doSpecialMDL);

// As kernels list it themselves, or change it member by member.
constexpr MatmulConfig kListed{false, false, true, 0, 0, 0, false, false, false, false, false, 0, 0, 0, 0, 0, 0, 0, true};
constexpr MatmulConfig changed() {
  MatmulConfig config = CFG_NORM;
  config.enableSetTail = false;
  config.iterateMode = IterateMode::ITERATE_MODE_NORMAL;
  config.iterateOrder = IterateOrder::ORDER_M;
  return config;
}
constexpr MatmulConfig kChanged = changed();
constexpr MatmulConfig kSplit = GetMMConfig<MatmulConfigMode::CONFIG_NORM>(
    MatmulFuncParams{false, false, false, false, 0, IterateOrder::UNDEF, ScheduleType::INNER_PRODUCT, true, false,
                     false, false, true});
constexpr MatmulConfig kBasic = GetBasicConfig(32, 48, 16);
constexpr MatmulConfig kSpecial = GetSpecialBasicConfig(32, 48, 16, 64, 96, 48, 1, 1);

constexpr MatmulApiStaticTiling kConstant = GetMatmulApiTiling<Left, Right, Rows, Rows>(kByColumns, 524288);
constexpr MatmulApiStaticTiling kUnknown = GetMatmulApiTiling<Left, Right, Rows, Rows>(CFG_MDL);

// Base blocks behind one another in c, in the order in which they come; the sizes of base blocks may be constants.
template <typename C, const auto& config>
__aicore__ inline void blocks(GM_ADDR a, GM_ADDR b, GM_ADDR c, const TCubeTiling* tiling, bool inPlace) {
  using T = typename C::T;
  TPipe pipe;
  Matmul<Left, Right, C, C, config, MatmulCallBackFunc<nullptr, nullptr, nullptr>> mm;
  REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, tiling);
  if (GetBlockIdx() > 0) return;
  GlobalTensor<half> aGm, bGm;
  GlobalTensor<T> cGm;
  aGm.SetGlobalBuffer((__gm__ half*)a, 64 * 48);
  bGm.SetGlobalBuffer((__gm__ half*)b, 48 * 96);
  cGm.SetGlobalBuffer((__gm__ T*)c, 64 * 96);
  mm.SetSelfDefineData(0);
  mm.SetTensorA(aGm);
  mm.SetTensorB(bGm);
  if (inPlace) {
    mm.IterateAll(cGm);
  } else {
    for (uint32_t i = 0; mm.Iterate(); i++) mm.GetTensorC(cGm[i * 32 * 48], 0, true);
  }
  mm.End();
}
}  // namespace

#define PRODUCT(NAME, C, CONFIG)                                                                                     \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tilingGm, bool inPlace) {      \
    if (tilingGm == nullptr) return blocks<C, CONFIG>(a, b, c, nullptr, inPlace);                                    \
    GET_TILING_DATA_WITH_STRUCT(TCubeTiling, tiling, tilingGm);                                                      \
    blocks<C, CONFIG>(a, b, c, &tiling, inPlace);                                                                    \
  }
PRODUCT(norm, Rows, CFG_NORM)
PRODUCT(mdl, Rows, CFG_MDL)
PRODUCT(ibshare, Rows, CFG_IBSHARE_NORM)
PRODUCT(listed, Rows, kListed)
PRODUCT(by_rows, Rows, kChanged)
PRODUCT(by_columns, Rows, kByColumns)
PRODUCT(basic, Rows, kBasic)
PRODUCT(special, Rows, kSpecial)
PRODUCT(constant, Rows, kConstant)
PRODUCT(unknown, Rows, kUnknown)
PRODUCT(fractals, Fractals, CFG_NORM)
PRODUCT(split, Fractals, kSplit)
PRODUCT(halves, Halves, CFG_NORM)
