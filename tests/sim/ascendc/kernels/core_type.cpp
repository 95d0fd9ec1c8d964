// The kind of core: in `if constexpr`, in the source and in a header beside it; and what says which cores a kernel has.
#define ASCENDC_CUBE_ONLY
#include "kernel_operator.h"

#include "core_type/part.h"
#include "lib/matmul_intf.h"
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

namespace {
__aicore__ inline void Mark(GM_ADDR y, int32_t cube) {
  GlobalTensor<int32_t> yGm;
  yGm.SetGlobalBuffer((__gm__ int32_t*)y, 24);
  if ASCEND_IS_AIC { yGm.SetValue(0, cube); }
  if ASCEND_IS_AIV { yGm.SetValue(8 + GetBlockIdx() * 8, 1 + GetBlockIdx()); }
}
// As people have it in a header of their own.
template <typename T>
__aicore__ inline T AlignUp(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}
}  // namespace

// By qualifiers, before and behind the others, on a template too.
template <int32_t cube>
__schedmode__(1) __global__ __mix__(1, 2) void mixed_template(GM_ADDR y) {
  Mark(y, cube);
}
void mixed_template_do(void* stream, GM_ADDR y) { mixed_template<100><<<1, nullptr, stream>>>(y); }
extern "C" __mix__(1, 2) __global__ __aicore__ void mixed(GM_ADDR y) { Mark(y, 100); }
extern "C" __global__ __cube__ void cube(GM_ADDR y) { Mark(y, AlignUp(35, 20)); }
extern "C" __global__ __vector__ void vector(GM_ADDR y) { Mark(y, 100); }

// By a declaration that comes last, by one for the key, and by what is done in the kernel (this source multiplies).
extern "C" __global__ __aicore__ void late(GM_ADDR y) {
  if ASCEND_IS_AIC { Mark(y, AlignUp(uint32_t(35), uint32_t(20))); }
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
}
extern "C" __global__ __aicore__ void keyed(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  if (TILING_KEY_IS(1)) KERNEL_TASK_TYPE(1, KERNEL_TYPE_MIX_AIC_1_1);
  if (TILING_KEY_IS(0)) KERNEL_TASK_TYPE(0, KERNEL_TYPE_AIC_ONLY);
  Mark(y, 40);
}
extern "C" __global__ __aicore__ void undeclared(GM_ADDR y) {
  if ASCEND_IS_AIC { Mark(y, 100); }
  if ASCEND_IS_AIV { Mark(y, 100); }
}

// The cube core multiplies for itself (ASCENDC_CUBE_ONLY) and tells its vector cores, which add 1 to a half each.
extern "C" __global__ __aicore__ void bare_mix(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR y, TCubeTiling tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  TPipe pipe;
  GlobalTensor<float> cGm, yGm;
  cGm.SetGlobalBuffer((__gm__ float*)c, 1024);
  yGm.SetGlobalBuffer((__gm__ float*)y, 1024);
  if ASCEND_IS_AIC {
    GlobalTensor<half> aGm, bGm;
    aGm.SetGlobalBuffer((__gm__ half*)a, 1024);
    bGm.SetGlobalBuffer((__gm__ half*)b, 1024);
    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half>, MatmulType<TPosition::GM, CubeFormat::ND, half>,
           MatmulType<TPosition::GM, CubeFormat::ND, float>> mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling);
    mm.SetTensorA(aGm);
    mm.SetTensorB(bGm);
    mm.IterateAll(cGm);
    mm.End();
    CrossCoreSetFlag<2, PIPE_FIX>(3);
  }
  if ASCEND_IS_AIV {
    CrossCoreWaitFlag(3);
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 2048);
    LocalTensor<float> half_of_it = buffer.Get<float>();
    const uint32_t from = GetSubBlockIdx() * 512;
    DataCopy(half_of_it, cGm[from], 512);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Adds(half_of_it, half_of_it, 1.0f, 512);
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
    WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(yGm[from], half_of_it, 512);
  }
}

// Flags by the raw instruction: the cube core tells both vector cores.
extern "C" __global__ __mix__(1, 2) void raw_flags(GM_ADDR x, GM_ADDR y) {
  GlobalTensor<int32_t> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ int32_t*)x, 8);
  yGm.SetGlobalBuffer((__gm__ int32_t*)y, 24);
  set_ffts_base_addr(0);
  if ASCEND_IS_AIC {
    xGm.SetValue(0, 42);
    ffts_cross_core_sync(PIPE_FIX, GetffstMsg(2, 4));
  }
  if ASCEND_IS_AIV {
    wait_flag_dev(4);
    yGm.SetValue(get_subblockid() * 8, xGm.GetValue(0) + get_subblockdim() + get_subblockid() * 3);
  }
}
