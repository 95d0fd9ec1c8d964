// The kind of core in `if constexpr`, in the source and in a header beside it.
#include "kernel_operator.h"

#include "core_type/part.h"
#define ON(KIND) if constexpr (AscendC::g_coreType == AscendC::KIND)

using namespace AscendC;

extern "C" __global__ __aicore__ void kinds(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  GlobalTensor<int32_t> yGm;
  yGm.SetGlobalBuffer((__gm__ int32_t*)y, 24);
  if constexpr (sizeof(int32_t) == 2) yGm.SetValue(1000, 0);
  ON(AIC) { yGm.SetValue(0, Number<int32_t>()); }
  if constexpr (g_coreType != AIC) {
    yGm.SetValue(8 + GetSubBlockIdx() * 8, Number<int32_t>());
  }
}

void kinds_do(void* stream, GM_ADDR y) { kinds<<<1, nullptr, stream>>>(y); }
