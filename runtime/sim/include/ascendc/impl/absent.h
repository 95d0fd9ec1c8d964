// What kernels name and the simulator does not have, where an error text helps more than an unknown name.
#pragma once

#include "tensor.h"

namespace AscendC {

enum HcclServerType { HCCL_SERVER_TYPE_AICPU, HCCL_SERVER_TYPE_CCU, HCCL_SERVER_TYPE_END };
enum HcclReduceOp { HCCL_REDUCE_SUM, HCCL_REDUCE_PROD, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN, HCCL_REDUCE_RESERVED };
enum HcclDataType {
  HCCL_DATA_TYPE_INT8, HCCL_DATA_TYPE_INT16, HCCL_DATA_TYPE_INT32, HCCL_DATA_TYPE_FP16, HCCL_DATA_TYPE_FP32,
  HCCL_DATA_TYPE_INT64, HCCL_DATA_TYPE_UINT64, HCCL_DATA_TYPE_UINT8, HCCL_DATA_TYPE_UINT16, HCCL_DATA_TYPE_UINT32,
  HCCL_DATA_TYPE_FP64, HCCL_DATA_TYPE_BFP16, HCCL_DATA_TYPE_INT128, HCCL_DATA_TYPE_RESERVED
};
enum class CoreType : uint8_t { DEFAULT, ON_AIV, ON_AIC };
enum class ScopeType : uint8_t { ALL, QUEUE, BLOCK, INVALID_TYPE };
struct HcclServerConfig {
  CoreType type;
  int64_t blockId;
};
constexpr HcclServerConfig DEFAULT_CFG = {CoreType::DEFAULT, 0};
using HcclHandle = int8_t;
constexpr int8_t INVALID_HANDLE_ID = -1;
constexpr uint32_t HCCL_GROUP_ID_0 = 0;
constexpr uint32_t HCCL_MAX_RANK_NUM = 32;

/// One kernel runs on one device here, without others to talk to: the first call ends the kernel and says so.
template <HcclServerType serverType = HCCL_SERVER_TYPE_AICPU, const auto& config = DEFAULT_CFG>
class Hccl {
 public:
// A method that takes what it is given, and one with a template argument before.
#define MTSIM_ABSENT(NAME, RESULT)       \
  template <typename... Arguments>       \
  RESULT NAME(Arguments&&...) {          \
    absent(#NAME);                       \
  }
#define MTSIM_ABSENT_CHOICE(NAME, RESULT, CHOICE)        \
  template <CHOICE, typename... Arguments>               \
  RESULT NAME(Arguments&&...) {                          \
    absent(#NAME);                                       \
  }
  MTSIM_ABSENT(Init, void)
  MTSIM_ABSENT(InitV2, void)
  MTSIM_ABSENT(SetCcTiling, int32_t)
  MTSIM_ABSENT(SetCcTilingV2, int32_t)
  MTSIM_ABSENT(SetReduceDataTypeAbility, bool)
  MTSIM_ABSENT(Commit, void)
  MTSIM_ABSENT(Wait, int32_t)
  MTSIM_ABSENT(Query, int32_t)
  MTSIM_ABSENT(InterHcclGroupSync, void)
  MTSIM_ABSENT(GetRankId, uint32_t)
  MTSIM_ABSENT(GetRankDim, uint32_t)
  MTSIM_ABSENT(GetWindowsInAddr, __gm__ uint8_t*)
  MTSIM_ABSENT(GetWindowsOutAddr, __gm__ uint8_t*)
  MTSIM_ABSENT_CHOICE(AllReduce, HcclHandle, bool commit = false)
  MTSIM_ABSENT_CHOICE(AllGather, HcclHandle, bool commit = false)
  MTSIM_ABSENT_CHOICE(ReduceScatter, HcclHandle, bool commit = false)
  MTSIM_ABSENT_CHOICE(AlltoAll, HcclHandle, bool commit = false)
  MTSIM_ABSENT_CHOICE(AlltoAllV, HcclHandle, bool commit = false)
  MTSIM_ABSENT_CHOICE(AlltoAllvWrite, HcclHandle, bool commit = false)
  MTSIM_ABSENT_CHOICE(BatchWrite, HcclHandle, bool commit = false)
  MTSIM_ABSENT_CHOICE(Iterate, int32_t, bool sync = true)
  MTSIM_ABSENT_CHOICE(Finalize, void, bool sync = true)
  MTSIM_ABSENT_CHOICE(QueueBarrier, void, ScopeType type = ScopeType::ALL)
#undef MTSIM_ABSENT
#undef MTSIM_ABSENT_CHOICE

 private:
  [[noreturn]] static void absent(const char* method) {
    mtsim::fault({"not-simulated"}, mtsim::kVectorCoreException,
                 "Hccl::%s: communication between devices inside a kernel is not simulated, see docs/ascendc.md", method);
  }
};

template <uint32_t index>
__gm__ uint8_t* GetHcclContext() {
  mtsim::fault({"not-simulated"}, mtsim::kVectorCoreException,
               "GetHcclContext: communication between devices inside a kernel is not simulated, see docs/ascendc.md");
}

template <typename T, typename U, typename S, typename Params>
void MmadWithSparse(const LocalTensor<T>&, const LocalTensor<U>&, const LocalTensor<S>&, const Params&) {
  mtsim::fault({"not-simulated"}, mtsim::kVectorCoreException, "MmadWithSparse: sparse matrices are not simulated, see docs/ascendc.md");
}
template <typename T, typename U, typename Params>
void LoadDataWithSparse(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<U>&, const Params&) {
  mtsim::fault({"not-simulated"}, mtsim::kVectorCoreException, "LoadDataWithSparse: sparse matrices are not simulated, see docs/ascendc.md");
}

}  // namespace AscendC
