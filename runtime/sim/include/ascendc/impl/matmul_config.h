// What Matmul<> is given: the host's tiling, what is known when it is compiled, and how the chip schedules the work.
#pragma once

#include <cstdint>
#include <type_traits>

#include "types.h"

/// What the host's tiling function fills: sizes of the whole matrices, of a block's part, and of a base block.
struct TCubeTiling {
  int32_t usedCoreNum = 0, M = 0, N = 0, Ka = 0, Kb = 0, singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, baseM = 0,
          baseN = 0, baseK = 0, depthA1 = 0, depthB1 = 0, stepM = 0, stepN = 0, isBias = 0, transLength = 0,
          iterateOrder = 0, shareMode = 0, shareL1Size = 0, shareL0CSize = 0, shareUbSize = 0, batchM = 0, batchN = 0,
          singleBatchM = 0, singleBatchN = 0, stepKa = 0, stepKb = 0, depthAL1CacheUB = 0, depthBL1CacheUB = 0,
          dbL0A = 0, dbL0B = 0, dbL0C = 0, ALayoutInfoB = 0, ALayoutInfoS = 0, ALayoutInfoN = 0, ALayoutInfoG = 0,
          ALayoutInfoD = 0, BLayoutInfoB = 0, BLayoutInfoS = 0, BLayoutInfoN = 0, BLayoutInfoG = 0, BLayoutInfoD = 0,
          CLayoutInfoB = 0, CLayoutInfoS1 = 0, CLayoutInfoN = 0, CLayoutInfoG = 0, CLayoutInfoS2 = 0, BatchNum = 0,
          mxTypePara = 0;
};

enum class CubeFormat { ND, NZ, ZN, ZZ, NN, ND_ALIGN, SCALAR, VECTOR, ROW_MAJOR = ND };
enum class LayoutMode { NONE, BSNGD, SBNGD, BNGS1S2, NORMAL };
enum class BatchMode { NONE, BATCH_LESS_THAN_L1, BATCH_LARGE_THAN_L1, SINGLE_LARGE_THAN_L1 };
enum BatchOutMode { SINGLE_BATCH, MULTI_BATCH, DYNAMIC };
enum class IterateOrder { ORDER_M, ORDER_N, UNDEF };
enum class ScheduleType { INNER_PRODUCT, OUTER_PRODUCT };
enum IterateMode : uint8_t {
  ITERATE_MODE_NORMAL = 1,
  ITERATE_MODE_ALL = 2,
  ITERATE_MODE_BATCH = 4,
  ITERATE_MODE_N_BATCH = 8,
  ITERATE_MODE_DEFAULT = 255,
};

/// Choices, in the order that kernels list them in. Of those that are about what comes out, and not how the chip
/// schedules the work, iterateOrder and isEnableChannelSplit are simulated.
struct MatmulConfig {
  bool doNorm = false, doBasicBlock = false, doMultiDataLoad = false;
  uint32_t basicM = 0, basicN = 0, basicK = 0;
  bool intrinsicsCheck = false, isNBatch = false, enVecND2NZ = false, doSpecialBasicBlock = false;
  uint32_t doMTE2Preload = 0, singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, stepM = 0, stepN = 0, baseMN = 0,
           singleCoreMN = 0;
  bool enUnitFlag = true, isPerTensor = false, hasAntiQuantOffset = false, doIBShareNorm = false, doSpecialMDL = false,
       enableInit = true;
  BatchMode batchMode = BatchMode::NONE;
  bool enableEnd = true, enableGetTensorC = true, enableSetOrgShape = true, enableSetBias = true, enableSetTail = true,
       enableQuantVector = true, enableSetDefineData = true;
  uint8_t iterateMode = ITERATE_MODE_DEFAULT;
  bool enableReuse = true, enableUBReuse = false, enableL1CacheUB = false, intraBlockPartSum = false;
  IterateOrder iterateOrder = IterateOrder::UNDEF;
  ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
  bool enableDoubleCache = false, isBiasBatch = true, enableStaticPadZeros = false, isPartialOutput = false,
       enableMixDualMaster = false, isA2B2Shared = false, isEnableChannelSplit = false, enableKdimReorderLoad = false,
       isCO1Shared = false;
  uint32_t sharedCO1BufferSize = 64 * 1024;
  BatchOutMode bmmOutMode = SINGLE_BATCH;
  bool enableL1BankConflictOptimise = false, enableRelu = false;
};

// Parts of a MatmulConfig that GetMMConfig puts together.
enum class MatmulConfigMode { CONFIG_NORM, CONFIG_MDL, CONFIG_SPECIALMDL, CONFIG_IBSHARE };
struct MatmulShapeParams {
  uint32_t singleCoreM = 0, singleCoreN = 0, singleCoreK = 0, basicM = 0, basicN = 0, basicK = 0;
};
struct MatmulQuantParams {
  bool isPerTensor = false, hasAntiQuantOffset = false;
};
struct MatmulBatchParams {
  bool isNBatch = false;
  BatchMode batchMode = BatchMode::BATCH_LESS_THAN_L1;
  bool isBiasBatch = true;
  BatchOutMode bmmOutMode = SINGLE_BATCH;
};
struct MatmulFuncParams {
  bool intrinsicsCheck = false, enVecND2NZ = false, enableDoubleCache = false, enableL1CacheUB = false;
  uint32_t doMTE2Preload = 0;
  IterateOrder iterateOrder = IterateOrder::UNDEF;
  ScheduleType scheduleType = ScheduleType::INNER_PRODUCT;
  bool enableReuse = true, enableUBReuse = false, isPartialOutput = false, isA2B2Shared = false,
       isEnableChannelSplit = false, enableKdimReorderLoad = false, enableL1BankConflictOptimise = false,
       enableRelu = false;
};
struct MatmulBiasParams {
  bool enableSetBias = true;
};

/// A tiling whose sizes are constants, as far as they are known: -1 is left to the host's.
struct MatmulApiStaticTiling {
  int32_t usedCoreNum = -1, M = -1, N = -1, Ka = -1, Kb = -1, singleCoreM = -1, singleCoreN = -1, singleCoreK = -1,
          baseM = -1, baseN = -1, baseK = -1, depthA1 = -1, depthB1 = -1, stepM = -1, stepN = -1, isBias = -1,
          transLength = -1, iterateOrder = -1, shareMode = -1, shareL1Size = -1, shareL0CSize = -1, shareUbSize = -1,
          batchM = -1, batchN = -1, singleBatchM = -1, singleBatchN = -1, stepKa = -1, stepKb = -1,
          depthAL1CacheUB = -1, depthBL1CacheUB = -1, dbL0A = -1, dbL0B = -1, dbL0C = -1, mxTypePara = -1;
  MatmulConfig cfg{};
};

namespace AscendC {

using ::BatchMode;
using ::BatchOutMode;
using ::CubeFormat;
using ::IterateMode;
using ::IterateOrder;
using ::LayoutMode;
using ::MatmulApiStaticTiling;
using ::MatmulBatchParams;
using ::MatmulBiasParams;
using ::MatmulConfig;
using ::MatmulConfigMode;
using ::MatmulFuncParams;
using ::MatmulQuantParams;
using ::MatmulShapeParams;
using ::ScheduleType;
using ::TCubeTiling;

/// ``source`` is where an operand in L1 was before.
template <TPosition position, CubeFormat matrixFormat, typename Type, bool transposed = false,
          LayoutMode layoutMode = LayoutMode::NONE, bool ibShare = false, TPosition source = TPosition::GM>
struct MatmulType {
  using T = Type;
  static constexpr TPosition pos = position;
  static constexpr CubeFormat format = matrixFormat;
  static constexpr bool isTrans = transposed;
  static constexpr LayoutMode layout = layoutMode;
  static constexpr bool ibShare_ = ibShare;
  static constexpr TPosition srcPos = source;
};

constexpr MatmulConfig GetNormalConfig(bool intrinsicsLimit = false, bool batchLoop = false, bool isVecND2NZ = false,
                                       BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1, bool isMsgReuse = true,
                                       IterateOrder iterateOrder = IterateOrder::UNDEF,
                                       ScheduleType scheduleType = ScheduleType::INNER_PRODUCT, bool enUnitFlag = true,
                                       bool enableMixDualMaster = false, BatchOutMode bmmOutMode = SINGLE_BATCH) {
  MatmulConfig config;
  config.doNorm = true, config.intrinsicsCheck = intrinsicsLimit, config.isNBatch = batchLoop;
  config.enVecND2NZ = isVecND2NZ, config.batchMode = bmmMode, config.enableReuse = isMsgReuse;
  config.iterateOrder = iterateOrder, config.scheduleType = scheduleType, config.enUnitFlag = enUnitFlag;
  config.enableMixDualMaster = enableMixDualMaster, config.bmmOutMode = bmmOutMode;
  return config;
}
constexpr MatmulConfig GetMDLConfig(bool intrinsicsLimit = false, bool batchLoop = false, uint32_t doMTE2Preload = 0,
                                    bool isVecND2NZ = false, bool isPerTensor = false, bool hasAntiQuantOffset = false,
                                    bool enUnitFlag = false, bool isMsgReuse = true, bool enableUBReuse = true,
                                    bool enableL1CacheUB = false, bool enableMixDualMaster = false,
                                    bool enableKdimReorderLoad = false) {
  MatmulConfig config;
  config.doMultiDataLoad = true, config.intrinsicsCheck = intrinsicsLimit, config.isNBatch = batchLoop;
  config.doMTE2Preload = doMTE2Preload, config.enVecND2NZ = isVecND2NZ, config.isPerTensor = isPerTensor;
  config.hasAntiQuantOffset = hasAntiQuantOffset, config.enUnitFlag = enUnitFlag, config.enableReuse = isMsgReuse;
  config.enableUBReuse = enableUBReuse, config.enableL1CacheUB = enableL1CacheUB;
  config.enableMixDualMaster = enableMixDualMaster, config.enableKdimReorderLoad = enableKdimReorderLoad;
  return config;
}
constexpr MatmulConfig GetSpecialMDLConfig(bool intrinsicsLimit = false, bool batchLoop = false,
                                           uint32_t doMTE2Preload = 0, bool isVecND2NZ = false,
                                           bool isPerTensor = false, bool hasAntiQuantOffset = false) {
  MatmulConfig config =
      GetMDLConfig(intrinsicsLimit, batchLoop, doMTE2Preload, isVecND2NZ, isPerTensor, hasAntiQuantOffset);
  config.doSpecialMDL = true;
  return config;
}
constexpr MatmulConfig GetIBShareNormConfig(bool intrinsicsLimit = false, bool batchLoop = false,
                                            bool isVecND2NZ = false,
                                            BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1,
                                            bool isDoubleCache = false, bool enUnitFlag = true) {
  MatmulConfig config = GetNormalConfig(intrinsicsLimit, batchLoop, isVecND2NZ, bmmMode);
  config.doNorm = false, config.doIBShareNorm = true, config.enableDoubleCache = isDoubleCache;
  config.enUnitFlag = enUnitFlag;
  return config;
}
constexpr MatmulConfig GetBasicConfig(uint32_t basicM, uint32_t basicN, uint32_t basicK, bool intrinsicsLimit = false,
                                      bool batchLoop = false, BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1) {
  MatmulConfig config = GetNormalConfig(intrinsicsLimit, batchLoop, false, bmmMode);
  config.doNorm = false, config.doBasicBlock = true;
  config.basicM = basicM, config.basicN = basicN, config.basicK = basicK;
  return config;
}
constexpr MatmulConfig GetSpecialBasicConfig(uint32_t basicM, uint32_t basicN, uint32_t basicK, uint32_t singleCoreM,
                                             uint32_t singleCoreN, uint32_t singleCoreK, uint32_t stepM,
                                             uint32_t stepN, bool intrinsicsLimit = false, bool batchLoop = false,
                                             BatchMode bmmMode = BatchMode::BATCH_LESS_THAN_L1) {
  MatmulConfig config = GetBasicConfig(basicM, basicN, basicK, intrinsicsLimit, batchLoop, bmmMode);
  config.doBasicBlock = false, config.doSpecialBasicBlock = true, config.stepM = stepM, config.stepN = stepN;
  config.singleCoreM = singleCoreM, config.singleCoreN = singleCoreN, config.singleCoreK = singleCoreK;
  return config;
}

constexpr MatmulConfig CFG_NORM = GetNormalConfig();
constexpr MatmulConfig CFG_MDL = GetMDLConfig();
constexpr MatmulConfig CFG_IBSHARE_NORM = GetIBShareNormConfig();
constexpr MatmulConfig MM_CFG_BB = GetBasicConfig(128, 128, 128);

}  // namespace AscendC

namespace mtsim {

constexpr void put(MatmulConfig& config, const MatmulShapeParams& part) {
  config.singleCoreM = part.singleCoreM, config.singleCoreN = part.singleCoreN, config.singleCoreK = part.singleCoreK;
  config.basicM = part.basicM, config.basicN = part.basicN, config.basicK = part.basicK;
}
constexpr void put(MatmulConfig& config, const MatmulQuantParams& part) {
  config.isPerTensor = part.isPerTensor, config.hasAntiQuantOffset = part.hasAntiQuantOffset;
}
constexpr void put(MatmulConfig& config, const MatmulBatchParams& part) {
  config.isNBatch = part.isNBatch, config.batchMode = part.batchMode, config.isBiasBatch = part.isBiasBatch;
  config.bmmOutMode = part.bmmOutMode;
}
constexpr void put(MatmulConfig& config, const MatmulFuncParams& part) {
  config.intrinsicsCheck = part.intrinsicsCheck, config.enVecND2NZ = part.enVecND2NZ;
  config.enableDoubleCache = part.enableDoubleCache, config.enableL1CacheUB = part.enableL1CacheUB;
  config.doMTE2Preload = part.doMTE2Preload, config.iterateOrder = part.iterateOrder;
  config.scheduleType = part.scheduleType, config.enableReuse = part.enableReuse;
  config.enableUBReuse = part.enableUBReuse, config.isPartialOutput = part.isPartialOutput;
  config.isA2B2Shared = part.isA2B2Shared, config.isEnableChannelSplit = part.isEnableChannelSplit;
  config.enableKdimReorderLoad = part.enableKdimReorderLoad, config.enableRelu = part.enableRelu;
  config.enableL1BankConflictOptimise = part.enableL1BankConflictOptimise;
}
constexpr void put(MatmulConfig& config, const MatmulBiasParams& part) { config.enableSetBias = part.enableSetBias; }

constexpr const MatmulConfig& config_of(const MatmulConfig& config) { return config; }
constexpr const MatmulConfig& config_of(const MatmulApiStaticTiling& tiling) { return tiling.cfg; }

/// Whether a tiling is complete without the host's.
constexpr bool holds_base_block(const MatmulConfig&) { return false; }
constexpr bool holds_base_block(const MatmulApiStaticTiling& tiling) {
  return tiling.baseM > 0 && tiling.baseN > 0 && tiling.baseK > 0;
}

/// The host's tiling, and what is constant in its place. Matrices of unknown sizes are those of one block.
inline TCubeTiling with_constants(TCubeTiling tiling, const MatmulConfig& config) {
  if (config.iterateOrder != IterateOrder::UNDEF) tiling.iterateOrder = static_cast<int32_t>(config.iterateOrder);
  return tiling;
}
inline TCubeTiling with_constants(TCubeTiling tiling, const MatmulApiStaticTiling& constants) {
  using Constants = MatmulApiStaticTiling;
  constexpr struct {
    int32_t TCubeTiling::* to;
    int32_t Constants::* from;
  } kFields[] = {{&TCubeTiling::M, &Constants::M},
                 {&TCubeTiling::N, &Constants::N},
                 {&TCubeTiling::Ka, &Constants::Ka},
                 {&TCubeTiling::Kb, &Constants::Kb},
                 {&TCubeTiling::singleCoreM, &Constants::singleCoreM},
                 {&TCubeTiling::singleCoreN, &Constants::singleCoreN},
                 {&TCubeTiling::singleCoreK, &Constants::singleCoreK},
                 {&TCubeTiling::baseM, &Constants::baseM},
                 {&TCubeTiling::baseN, &Constants::baseN},
                 {&TCubeTiling::baseK, &Constants::baseK},
                 {&TCubeTiling::iterateOrder, &Constants::iterateOrder}};
  for (const auto& field : kFields)
    if (constants.*field.from != -1) tiling.*field.to = constants.*field.from;
  if (tiling.M == 0) tiling.M = tiling.singleCoreM;
  if (tiling.N == 0) tiling.N = tiling.singleCoreN;
  if (tiling.Ka == 0) tiling.Ka = tiling.singleCoreK;
  if (tiling.Kb == 0) tiling.Kb = tiling.singleCoreK;
  return with_constants(tiling, constants.cfg);
}

}  // namespace mtsim

namespace AscendC {

/// The config of a template, with parts of it changed: MatmulShapeParams, MatmulFuncParams, ... in any order.
template <MatmulConfigMode mode, typename... Parts>
constexpr MatmulConfig GetMMConfig(const Parts&... parts) {
  MatmulConfig config = mode == MatmulConfigMode::CONFIG_MDL          ? CFG_MDL
                        : mode == MatmulConfigMode::CONFIG_SPECIALMDL ? GetSpecialMDLConfig()
                        : mode == MatmulConfigMode::CONFIG_IBSHARE    ? CFG_IBSHARE_NORM
                                                                      : CFG_NORM;
  (mtsim::put(config, parts), ...);
  return config;
}

/// The sizes of a config as constants; the chip's own fills depths and steps by the size of L1, which nothing here asks.
template <typename A, typename B, typename C, typename Bias>
constexpr MatmulApiStaticTiling GetMatmulApiTiling(const MatmulConfig& mmCFG, int32_t /*l1Size*/ = 512 * 1024) {
  const auto known = [](uint32_t size) { return size == 0 ? -1 : static_cast<int32_t>(size); };
  MatmulApiStaticTiling tiling;
  tiling.singleCoreM = known(mmCFG.singleCoreM), tiling.singleCoreN = known(mmCFG.singleCoreN);
  tiling.singleCoreK = known(mmCFG.singleCoreK);
  tiling.baseM = known(mmCFG.basicM), tiling.baseN = known(mmCFG.basicN), tiling.baseK = known(mmCFG.basicK);
  tiling.cfg = mmCFG;
  return tiling;
}

/// Functions of the kernel's own that copy operands and results.
template <auto dataCopyOut = nullptr, auto copyA1 = nullptr, auto copyB1 = nullptr>
struct MatmulCallBackFunc {
  static constexpr bool kCopiesItself = std::is_null_pointer_v<decltype(dataCopyOut)> &&
                                        std::is_null_pointer_v<decltype(copyA1)> &&
                                        std::is_null_pointer_v<decltype(copyB1)>;
};

}  // namespace AscendC

namespace mtsim {

/// Whether a policy of Matmul leaves its copies to it.
template <typename Policy>
constexpr bool copies_itself = true;
template <auto... functions>
constexpr bool copies_itself<AscendC::MatmulCallBackFunc<functions...>> =
    AscendC::MatmulCallBackFunc<functions...>::kCopiesItself;

}  // namespace mtsim

namespace AscendC::tiling {
using ::TCubeTiling;
}
namespace optiling {
using ::TCubeTiling;
}
