// Blocks that wait for each other in every way, caches, workspaces, tiling macros, printing.
#include "tile.h"

using namespace AscendC;

// A chain: each block adds its number to what the block before it wrote.
extern "C" __global__ __aicore__ void chain(GM_ADDR x, GM_ADDR flags) {
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 256);
  LocalTensor<int32_t> ub = buffer.Get<int32_t>();
  GlobalTensor<int32_t> xGm, flagsGm;
  xGm.SetGlobalBuffer((__gm__ int32_t*)x);
  flagsGm.SetGlobalBuffer((__gm__ int32_t*)flags);
  const int32_t block = GetBlockIdx();
  if (block > 0) IBWait(flagsGm, ub, block - 1, 1);
  DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(xGm);
  xGm.SetValue(block, block + (block > 0 ? xGm.GetValue(block - 1) : 0));
  DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(xGm);
  if (block + 1 < GetBlockNum()) IBSet(flagsGm, ub, block, 1);
}

// Every vector core of a mixed kernel writes its number, and after all did, reads the one opposite.
extern "C" __global__ __aicore__ void opposite(GM_ADDR x, GM_ADDR y, bool byFlags) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  if ASCEND_IS_AIC return;
  GlobalTensor<int32_t> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ int32_t*)x);
  yGm.SetGlobalBuffer((__gm__ int32_t*)y);
  const int32_t cores = GetBlockNum() * GetSubBlockNum();
  xGm.SetValue(GetBlockIdx(), GetBlockIdx() + 1);
  if (byFlags) {
    CrossCoreSetFlag<0x0, PIPE_MTE3>(2);
    CrossCoreWaitFlag(2);
  } else {
    SyncAll();
  }
  yGm.SetValue(GetBlockIdx(), xGm.GetValue(cores - 1 - GetBlockIdx()));
}

// The two vector cores of each block exchange a number; one cube core beside them.
extern "C" __global__ __aicore__ void exchange(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  if ASCEND_IS_AIV {
    GlobalTensor<int32_t> xGm, yGm;
    xGm.SetGlobalBuffer((__gm__ int32_t*)x);
    yGm.SetGlobalBuffer((__gm__ int32_t*)y);
    xGm.SetValue(GetBlockIdx(), 10 * GetBlockIdx());
    CrossCoreSetFlag<0x1, PIPE_MTE3>(7);
    CrossCoreWaitFlag<0x1, PIPE_MTE3>(7);
    yGm.SetValue(GetBlockIdx(), xGm.GetValue(GetBlockIdx() ^ 1));
  }
}

// Cube cores and vector cores meet twice.
extern "C" __global__ __aicore__ void all_meet(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
  GlobalTensor<int32_t> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ int32_t*)x);
  yGm.SetGlobalBuffer((__gm__ int32_t*)y);
  const int32_t next = (GetBlockIdx() + 1) % GetBlockNum();
  if ASCEND_IS_AIC xGm.SetValue(GetBlockIdx(), 5 * GetBlockIdx());
  SyncAll<false>();
  if ASCEND_IS_AIV yGm.SetValue(GetBlockIdx(), xGm.GetValue(next));
  SyncAll<false>();
  if ASCEND_IS_AIC xGm.SetValue(GetBlockIdx(), yGm.GetValue(next) + 1);
}

struct ScaleTiling {
  uint32_t n;
  float factor;
};

// Tiling from global memory, and a workspace the halves of the work meet in.
extern "C" __global__ __aicore__ void by_tiling(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GET_TILING_DATA_WITH_STRUCT(ScaleTiling, data, tiling);
  GM_ADDR user = GetUserWorkspace(workspace);
  if (TILING_KEY_IS(0)) {
    TPipe pipe;
    Tile<float> in(pipe, x, data.n), between(pipe, user, data.n), out(pipe, y, data.n);
    Muls(between.local(), in.load(), data.factor, data.n);
    between.store();
    PipeBarrier<PIPE_ALL>();
    Duplicate(between.local(), 0.0f, data.n);
    Adds(out.local(), between.load(), 1.0f, data.n);
    out.store();
  }
}

extern "C" __global__ __aicore__ void prints(GM_ADDR x) {
  TPipe pipe;
  Tile<float> in(pipe, x, 8);
  if (GetBlockIdx() == 1) {
    AscendC::printf("block %d of %d\n", (int)GetBlockIdx(), (int)GetBlockNum());
    PRINTF("half %.1f\n", 0.5);
    DumpTensor(in.load(), 42, 3);
  }
}

extern "C" __global__ __aicore__ void asserts(GM_ADDR x) { ascendc_assert(GetBlockNum() == 2); }

// What single values become: conversions, bits, shapes.
extern "C" __global__ __aicore__ void scalars(GM_ADDR y) {
  GlobalTensor<int32_t> yGm;
  yGm.SetGlobalBuffer((__gm__ int32_t*)y);
  InitGlobalMemory(yGm, 16, -1);
  PipeBarrier<PIPE_ALL>();
  yGm.SetValue(0, ScalarCast<float, int32_t, RoundMode::CAST_CEIL>(1.25f));
  yGm.SetValue(1, ScalarGetCountOfValue<1>(0xF0F));
  yGm.SetValue(2, ScalarGetSFFValue<1>(0xF00));
  yGm.SetValue(3, ScalarCountLeadingZero(1));
  yGm.SetValue(4, AlignUp(33, 32));
  yGm.SetValue(5, CeilDivision(65, 32));
  yGm.SetValue(6, IsSameType<half, half>::value);
  yGm.SetValue(7, ToFloat(ToBfloat16(257.0f)));
}

// Local memory by address, without a TPipe; flags between named pipes.
extern "C" __global__ __aicore__ void by_address(GM_ADDR x, GM_ADDR y, uint32_t at, uint32_t n) {
  LocalTensor<float> in(TPosition::VECIN, at, n), out(TPosition::VECOUT, 0, n);
  GlobalTensor<float> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ float*)x, n);
  yGm.SetGlobalBuffer((__gm__ float*)y, n);
  TQueSync<PIPE_MTE2, PIPE_V> loaded;
  TQueSync<PIPE_V, PIPE_MTE3> computed;
  DataCopy(in, xGm, n);
  loaded.SetFlag(0);
  loaded.WaitFlag(0);
  Duplicate(out, 1.0f, n);
  FusedMulAdd(out, in, in, n);
  computed.SetFlag(0);
  computed.WaitFlag(0);
  DataCopy(yGm, out, n);
}
