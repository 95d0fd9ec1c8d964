// Instructions that no other kernel of these tests has: each on 64 elements of x and z, its result in y.
#include "kernel_operator.h"
#include "tile.h"

using namespace AscendC;

namespace {
template <typename T, typename D = T, typename Body>
__aicore__ inline void Apply(GM_ADDR x, GM_ADDR z, GM_ADDR y, Body&& body) {
  TPipe pipe;
  Tile<T> a(pipe, x, 64), b(pipe, z, 64);
  Tile<D> out(pipe, y, 64);
  a.load();
  b.load();
  out.load();
  body(out.local(), a.local(), b.local());
  out.store();
}
}  // namespace

#define EVERY(NAME, T, D, BODY)                                                                \
  extern "C" __global__ __aicore__ void NAME##_of_##T(GM_ADDR x, GM_ADDR z, GM_ADDR y) {       \
    Apply<T, D>(x, z, y, [](const auto& o, const auto& a, const auto& b) { BODY; (void)b; }); \
  }
#define ONE(NAME, T) EVERY(NAME, T, T, NAME(o, a, 64))
#define TWO(NAME, T) EVERY(NAME, T, T, NAME(o, a, b, 64))
#define NUMBER(NAME, T) EVERY(NAME, T, T, NAME(o, a, T(2), 64))
ONE(Neg, float)
ONE(Neg, int32_t)
ONE(Not, int16_t)
TWO(Max, float)
TWO(Max, int32_t)
TWO(Min, half)
TWO(And, int16_t)
TWO(Or, uint16_t)
TWO(AddRelu, float)
TWO(SubRelu, half)
NUMBER(Maxs, float)
NUMBER(Mins, int32_t)
NUMBER(ShiftLeft, int32_t)
NUMBER(ShiftRight, int32_t)
NUMBER(ClampMin, float)
EVERY(Axpy, half, float, Axpy(o, a, half(2), 64))
EVERY(MulAddDst, float, float, MulAddDst(o, a, b, 64))
ONE(Acos, float)
ONE(Asin, float)
ONE(Asinh, float)
ONE(Atanh, float)
ONE(Cosh, float)
ONE(Sinh, float)
ONE(Tan, float)
ONE(Erfc, float)
ONE(Lgamma, float)
ONE(Log, float)
ONE(Log10, float)
ONE(FasterGelu, float)
TWO(GeGLU, float)
TWO(ReGlu, float)
TWO(Hypot, float)
EVERY(ArithProgression, float, float, ArithProgression(o, 3.0f, 0.5f, 64))
EVERY(Copy, float, float, Copy(o, a, 32, 1, CopyRepeatParams(1, 1, 8, 8)))
EVERY(BlockReduceMin, float, float, BlockReduceMin(o, a, 1, 64, 1, 1, 8))
EVERY(BlockReduceSum, float, float, BlockReduceSum(o, a, 1, 64, 1, 1, 8))
EVERY(WholeReduceMin, float, float, WholeReduceMin(o, a, 64, 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE))
EVERY(RepeatReduceSum, float, float, RepeatReduceSum(o, a, 1, 64, 0, 1, 1, 8))

TWO(Xor, int16_t)
EVERY(AddReluCast, half, int8_t, AddReluCast(o, a, b, 64))
EVERY(AddReluCast, float, half, AddReluCast(o, a, b, 64))
EVERY(SubReluCast, int16_t, int8_t, SubReluCast(o, a, b, 64))
EVERY(MulCast, half, int8_t, MulCast(o, a, b, 64))
EVERY(AddDeqRelu, int32_t, half, (SetDeqScale(half(0.125)), AddDeqRelu(o, a, b, 64)))

namespace {
constexpr uint32_t kWhole[] = {2, 32}, kRow[] = {1, 32}, kColumn[] = {2, 1};
}
EVERY(Broadcast, float, float, (Broadcast<float, 2, 0>(o, a, kWhole, kRow)))
EVERY(BroadCast, float, float, (BroadCast<float, 2, 1>(o, a, kWhole, kColumn)))

// Raw intrinsics: one repeat of 64 floats, 128 halves or 64 words.
#define AT(TENSOR, T) reinterpret_cast<__ubuf__ T*>(TENSOR.GetPhyAddr())
#define RAW_ONE(NAME, T) EVERY(NAME, T, T, NAME(AT(o, T), AT(a, T), 1, 1, 1, 8, 8))
#define RAW_TWO(NAME, T) EVERY(NAME, T, T, NAME(AT(o, T), AT(a, T), AT(b, T), 1, 1, 1, 1, 8, 8, 8))
#define RAW_NUMBER(NAME, T) EVERY(NAME, T, T, NAME(AT(o, T), AT(a, T), T(2), 1, 1, 1, 8, 8))
#define RAW_CAST(NAME, T, D, DST, SRC) EVERY(NAME, T, D, NAME(AT(o, D), AT(a, T), 1, 1, 1, DST, SRC))
RAW_ONE(vabs, float)
RAW_ONE(vln, float)
RAW_ONE(vsqrt, float)
RAW_ONE(vrsqrt, float)
RAW_ONE(vrec, float)
RAW_ONE(vrelu, float)
RAW_TWO(vsub, float)
RAW_TWO(vmul, float)
RAW_TWO(vmin, float)
RAW_NUMBER(vadds, float)
RAW_NUMBER(vmaxs, float)
RAW_NUMBER(vmins, float)
RAW_CAST(vconv_f162f32, half, float, 8, 4)
RAW_CAST(vconv_bf162f32, bfloat16_t, float, 8, 4)
RAW_CAST(vconv_f322f16, float, half, 4, 8)
RAW_CAST(vconv_f322bf16r, float, bfloat16_t, 4, 8)
RAW_CAST(vconv_f322s32r, float, int32_t, 8, 8)
RAW_CAST(vconv_f322s32f, float, int32_t, 8, 8)
RAW_CAST(vconv_f322s32c, float, int32_t, 8, 8)
RAW_CAST(vconv_f322s32z, float, int32_t, 8, 8)
RAW_CAST(vconv_s322f32, int32_t, float, 8, 8)
#define HALF_OF_THE_LANES(BODY) (set_vector_mask(0, ~0ull), BODY, set_vector_mask(~0ull, ~0ull))
EVERY(vand, int16_t, int16_t, HALF_OF_THE_LANES(vand(AT(o, int16_t), AT(a, int16_t), AT(b, int16_t), 1, 1, 1, 1, 8, 8, 8)))
EVERY(vor, int16_t, int16_t, HALF_OF_THE_LANES(vor(AT(o, int16_t), AT(a, int16_t), AT(b, int16_t), 1, 1, 1, 1, 8, 8, 8)))
EVERY(vnot, int16_t, int16_t, HALF_OF_THE_LANES(vnot(AT(o, int16_t), AT(a, int16_t), 1, 1, 1, 8, 8)))
EVERY(set_mask_count, float, float,
      (set_mask_count(), set_vector_mask(0, 40), vabs(AT(o, float), AT(a, float), 1, 1, 1, 8, 8), set_mask_norm(),
       set_vector_mask(~0ull, ~0ull)))
EVERY(copy_ubuf_to_ubuf, float, float, copy_ubuf_to_ubuf(o.GetPhyAddr(), a.GetPhyAddr(), 0, 2, 2, 1, 1))

// What is in y before the kernel takes part.
#define ATOMIC(NAME, BODY)                                                                   \
  extern "C" __global__ __aicore__ void NAME##_of_float(GM_ADDR x, GM_ADDR z, GM_ADDR y) {  \
    TPipe pipe;                                                                              \
    Tile<float> a(pipe, x, 64);                                                              \
    a.load();                                                                                \
    GlobalTensor<float> yGm;                                                                 \
    yGm.SetGlobalBuffer((__gm__ float*)y, 64);                                               \
    Then<HardEvent::MTE2_MTE3>();                                                            \
    BODY;                                                                                    \
    DataCopy(yGm, a.local(), 64);                                                            \
    set_atomic_none();                                                                       \
  }
ATOMIC(SetAtomicMax, SetAtomicMax<float>())
ATOMIC(SetAtomicMin, SetAtomicMin<float>())
ATOMIC(DisableDmaAtomic, (SetAtomicAdd<float>(), DisableDmaAtomic()))
ATOMIC(SetAtomicType, (SetAtomicAdd<float>(), SetAtomicType<float>()))
ATOMIC(set_atomic_add, (set_atomic_f32(), set_atomic_add()))
ATOMIC(set_atomic_max, (set_atomic_f32(), set_atomic_max()))
ATOMIC(set_atomic_min, (set_atomic_f32(), set_atomic_min()))

// The kinds of element that additions are told of, which copies know anyway.
extern "C" __global__ __aicore__ void kinds_of_additions(GM_ADDR x, GM_ADDR z, GM_ADDR y) {
  TPipe pipe;
  Tile<half> a(pipe, x, 64);
  a.load();
  Tile<int32_t> b(pipe, z, 32);
  b.load();
  GlobalTensor<half> halves;
  GlobalTensor<int32_t> words;
  halves.SetGlobalBuffer((__gm__ half*)y, 64);
  words.SetGlobalBuffer((__gm__ int32_t*)y + 32, 32);
  Then<HardEvent::MTE2_MTE3>();
  set_atomic_add();
  set_atomic_f16();
  DataCopy(halves, a.local(), 64);
  set_atomic_s32();
  DataCopy(words, b.local(), 32);
  set_atomic_none();
  DataCopy(words[24], b.local(), 8);
}

extern "C" __global__ __aicore__ void fills(GM_ADDR x, GM_ADDR z, GM_ADDR y) {
  GlobalTensor<float> yGm;
  yGm.SetGlobalBuffer((__gm__ float*)y, 64);
  InitOutput(yGm, 48, 2.5f);
}

// Through one queue from global memory to global memory.
extern "C" __global__ __aicore__ void bound(GM_ADDR x, GM_ADDR z, GM_ADDR y) {
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
  pipe.InitBuffer(queue, 1, 256);
  GlobalTensor<float> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ float*)x, 64);
  yGm.SetGlobalBuffer((__gm__ float*)y, 64);
  LocalTensor<float> tile = queue.AllocTensor<float>();
  DataCopy(tile, xGm, 64);
  queue.EnQue(tile);
  tile = queue.DeQue<float>();
  DataCopy(yGm, tile, 64);
  queue.FreeTensor(tile);
}

// What a kernel asks, and what has no value: the clock only goes on, and caches hold nothing back.
extern "C" __global__ __aicore__ void questions(GM_ADDR x, GM_ADDR z, GM_ADDR y) {
  GlobalTensor<int32_t> yGm;
  GlobalTensor<uint64_t> xGm;
  yGm.SetGlobalBuffer((__gm__ int32_t*)y, 16);
  xGm.SetGlobalBuffer((__gm__ uint64_t*)x, 8);
  const int64_t before = GetSystemCycle();
  ICachePreLoad(1);
  DataCachePreload(xGm, 0);
  const int32_t values[] = {
      static_cast<int32_t>(get_block_num()),
      static_cast<int32_t>(get_subblockdim()),
      static_cast<int32_t>(get_subblockid()),
      static_cast<int32_t>(GetTaskRation()),
      GetSystemCycle() >= before && before > 0,
      static_cast<int32_t>(GetSortOffset<float>(3)),
      GetMDLConfig().doMultiDataLoad,
      GetNormalConfig().doNorm,
      GetIBShareNormConfig().doIBShareNorm,
      GetBasicConfig(64, 32, 16).basicN == 32,
      GetSpecialMDLConfig().doMultiDataLoad,
      half(ToFloat(ToBfloat16(1.5f))) == half(1.5f),
      static_cast<int32_t>(GetTaskRatio()),
  };
  for (int i = 0; i < 13; i++) yGm.SetValue(i, values[i]);
  dcci(y, 0);
}

// One element by its address.
extern "C" __global__ __aicore__ void past_the_cache(GM_ADDR x, GM_ADDR z, GM_ADDR y) {
  SetNextTaskStart();
  const int32_t value = ReadGmByPassDCache((__gm__ int32_t*)x + 3);
  WriteGmByPassDCache((__gm__ int32_t*)y + 5, value + 1);
  WaitPreTaskEnd();
}
extern "C" __global__ __aicore__ void past_the_end(GM_ADDR x, GM_ADDR z, GM_ADDR y) {
  WriteGmByPassDCache((__gm__ int32_t*)y + 1000, 1);
}

extern "C" __global__ __aicore__ void traps(GM_ADDR x, GM_ADDR z, GM_ADDR y) { Trap(); }
