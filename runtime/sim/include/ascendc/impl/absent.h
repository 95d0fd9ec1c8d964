// What kernels name and the simulator does not have, where an error text helps more than an unknown name.
#pragma once

#include "tensor.h"

namespace AscendC {

enum HcclServerType { HCCL_SERVER_TYPE_AICPU, HCCL_SERVER_TYPE_CCU, HCCL_SERVER_TYPE_END };
using HcclHandle = int8_t;
constexpr uint32_t HCCL_GROUP_ID_0 = 0;

/// One kernel runs on one device here, without others to talk to: the first call ends the kernel and says so.
template <HcclServerType serverType = HCCL_SERVER_TYPE_AICPU>
class Hccl {
 public:
  template <typename... Arguments>
  void Init(Arguments&&...) {
    mtsim::fault({"not-simulated"}, mtsim::kVectorCoreException,
                 "Hccl::Init: communication between devices inside a kernel is not simulated");
  }
};

template <uint32_t index>
__gm__ uint8_t* GetHcclContext() {
  mtsim::fault({"not-simulated"}, mtsim::kVectorCoreException,
               "GetHcclContext: communication between devices inside a kernel is not simulated");
}

template <typename T, typename U, typename S, typename Params>
void MmadWithSparse(const LocalTensor<T>&, const LocalTensor<U>&, const LocalTensor<S>&, const Params&) {
  mtsim::fault({"not-simulated"}, mtsim::kVectorCoreException, "MmadWithSparse: sparse matrices are not simulated");
}
template <typename T, typename U, typename Params>
void LoadDataWithSparse(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<U>&, const Params&) {
  mtsim::fault({"not-simulated"}, mtsim::kVectorCoreException, "LoadDataWithSparse: sparse matrices are not simulated");
}

}  // namespace AscendC
