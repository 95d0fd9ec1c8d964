// What people write around the instructions: names of the headers, operators, launches in macros, explicit template
// arguments without a namespace.
#include "ascendc/host_api/tiling/template_argument.h"
#include "kernel_operator.h"
#include "kernel_tensor.h"
#include "lib/matmul_intf.h"
#include "lib/matrix/matmul/matmul.h"
#include "tile.h"

#ifdef __CCE_KT_TEST__
#error "CANN's CPU mode is not what kernels are built for"
#endif

namespace {
using AscendC::GlobalTensor;
using AscendC::HardEvent;
using AscendC::LocalTensor;
using AscendC::TBuf;
using AscendC::TPipe;
using AscendC::TPosition;

template <typename T>
class Buffers {
 public:
  __aicore__ inline Buffers(GM_ADDR x, GM_ADDR y, uint32_t count, uint32_t outputs) : count_(count), outputs_(outputs) {
    pipe_.InitBuffer(in_, count * sizeof(T));
    pipe_.InitBuffer(out_, outputs * sizeof(T));
    xGm_.SetGlobalBuffer((__gm__ T*)x, count);
    yGm_.SetGlobalBuffer((__gm__ T*)y, outputs);
    DataCopy(in_.template Get<T>(), xGm_, count);
    Then<HardEvent::MTE2_V>();
  }
  __aicore__ inline void Store() {
    Then<HardEvent::V_MTE3>();
    DataCopy(yGm_, out_.template Get<T>(), outputs_);
  }
  __aicore__ inline LocalTensor<T> In() { return in_.template Get<T>(); }
  __aicore__ inline LocalTensor<T> Out() { return out_.template Get<T>(); }
  TPipe pipe_;

 private:
  TBuf<> in_, out_;
  GlobalTensor<T> xGm_, yGm_;
  uint32_t count_, outputs_;
};
}  // namespace

// No `using namespace`: the functions are found by their arguments, template arguments or not.
extern "C" __global__ __aicore__ void unqualified(GM_ADDR x, GM_ADDR y) {
  Buffers<float> b(x, y, 64, 64);
  TBuf<> work;
  b.pipe_.InitBuffer(work, 256);
  Duplicate<float>(b.Out(), 0.5f, 64);
  AscendC::PipeBarrier<PIPE_V>();
  ReduceSum<float>(b.Out(), b.In(), work.Get<float>(), 64);
  ASSERT(false && "left out");
  b.Store();
}

// x holds two rows of 64; y gets a row for each operator.
extern "C" __global__ __aicore__ void operators(GM_ADDR x, GM_ADDR y) {
  Buffers<float> b(x, y, 128, 256);
  const LocalTensor<float> left = b.In(), right = b.In()[64];
  LocalTensor<float> rows[4];
  for (int i = 0; i < 4; i++) {
    rows[i] = b.Out()[i * 64];
    rows[i].SetSize(64);
  }
  rows[0] = left + right;
  rows[1] = left - right;
  rows[2] = left * right;
  rows[3] = left / right;
  b.Store();
}

extern "C" __global__ __aicore__ void bits(GM_ADDR x, GM_ADDR y) {
  Buffers<int16_t> b(x, y, 128, 128);
  LocalTensor<int16_t> first = b.Out(), second = b.Out()[64];
  first.SetSize(64);
  second.SetSize(64);
  first = b.In() & b.In()[64];
  second = b.In() | b.In()[64];
  b.Store();
}

// Six comparisons of 64 elements, 8 bytes of bits each, 32 bytes apart.
extern "C" __global__ __aicore__ void comparisons(GM_ADDR x, GM_ADDR y) {
  Buffers<float> b(x, y, 128, 48);
  LocalTensor<float> left = b.In(), right = b.In()[64];
  left.SetSize(64);
  Duplicate(b.Out(), 0.0f, 48);
  AscendC::PipeBarrier<PIPE_V>();
  LocalTensor<uint8_t> results[6];
  for (int i = 0; i < 6; i++) results[i] = b.Out().ReinterpretCast<uint8_t>()[i * 32];
  results[0] = left < right;
  results[1] = left > right;
  results[2] = left == right;
  results[3] = left <= right;
  results[4] = left >= right;
  results[5] = left != right;
  b.Store();
}

extern "C" __global__ __aicore__ void powers(GM_ADDR x, GM_ADDR y) {
  Buffers<float> b(x, y, 64, 128);
  TBuf<> work;
  b.pipe_.InitBuffer(work, 256);
  Power(b.Out(), 2.0f, b.In(), 64);
  Power(b.Out()[64], 3.0f, b.In(), work.Get<uint8_t>(), 64);
  b.Store();
}

// Whole numbers and questions about the chip.
extern "C" __global__ __aicore__ void scalars(GM_ADDR y) {
  GlobalTensor<int32_t> yGm;
  yGm.SetGlobalBuffer((__gm__ int32_t*)y, 16);
  const int64_t wide = 70;
  const uint32_t narrow = 32;
  const int32_t values[] = {
      static_cast<int32_t>(AscendC::Ceil(wide, narrow)),
      static_cast<int32_t>(AscendC::CeilAlign(wide, 32)),
      static_cast<int32_t>(AscendC::DivCeil(65u, 32u)),
      static_cast<int32_t>(min(wide, 64)),
      static_cast<int32_t>(max(narrow, 64u)),
      static_cast<int32_t>(AscendC::Std::min(3, 2.5) * 2),
      static_cast<int32_t>(AscendC::DEFAULT_C0_SIZE),
      static_cast<int32_t>(AscendC::GetDataBlockSizeInBytes()),
      AscendC::AscendCUtils::GetC0Count(sizeof(half)),
      g_coreType == AscendC::AIV,
      AscendC::g_coreType == AscendC::AIC,
      likely(narrow == 32) ? 1 : 0,
      unlikely(narrow != 32) ? 1 : 0,
      static_cast<int32_t>(sizeof(optiling::TCubeTiling) == sizeof(AscendC::tiling::TCubeTiling)),
      static_cast<int32_t>(AscendC::GetUBSizeInBytes()),
      matmul::CFG_MDL.doMultiDataLoad,
  };
  for (int i = 0; i < 16; i++) yGm.SetValue(i, values[i]);
}

extern "C" __global__ __aicore__ void whole_buffer(GM_ADDR x, GM_ADDR y) {
  TPipe pipe;
  TBuf<> all;
  pipe.InitBuffer(all, AscendC::TOTAL_UB_SIZE);
  GlobalTensor<float> yGm;
  yGm.SetGlobalBuffer((__gm__ float*)y);
  yGm.SetValue(0, GetTPipePtr() == &pipe ? all.GetBufLen() : 0);
}

// 128 elements of 4 bits to half, incremented by one, and back.
extern "C" __global__ __aicore__ void nibbles(GM_ADDR x, GM_ADDR y, GM_ADDR wide) {
  TPipe pipe;
  TBuf<> packed, half_values;
  pipe.InitBuffer(packed, 64);
  pipe.InitBuffer(half_values, 256);
  GlobalTensor<AscendC::int4b_t> xGm, yGm;
  GlobalTensor<half> wideGm;
  xGm.SetGlobalBuffer((__gm__ AscendC::int4b_t*)x, 256);
  yGm.SetGlobalBuffer((__gm__ AscendC::int4b_t*)y, 128);
  wideGm.SetGlobalBuffer((__gm__ half*)wide, 128);
  LocalTensor<AscendC::int4b_t> small = packed.Get<uint8_t>().ReinterpretCast<AscendC::int4b_t>();
  LocalTensor<half> values = half_values.Get<half>();
  DataCopy(small, xGm[128], 128);
  Then<HardEvent::MTE2_V>();
  Cast(values, small, AscendC::RoundMode::CAST_NONE, small.GetSize());
  AscendC::PipeBarrier<PIPE_V>();
  Adds(values, values, half(1), 128);
  AscendC::PipeBarrier<PIPE_V>();
  Cast(small, values, AscendC::RoundMode::CAST_RINT, 128);
  Then<HardEvent::V_MTE3>();
  DataCopy(yGm, small, 128);
  DataCopy(wideGm, values, 128);
}

// Numbers of the matrix unit on their way to half.
extern "C" __global__ __aicore__ void scaled(GM_ADDR x, GM_ADDR y, float scale) {
  TPipe pipe;
  TBuf<> in, out;
  pipe.InitBuffer(in, 256);
  pipe.InitBuffer(out, 128);
  GlobalTensor<int32_t> xGm;
  GlobalTensor<half> yGm;
  xGm.SetGlobalBuffer((__gm__ int32_t*)x, 64);
  yGm.SetGlobalBuffer((__gm__ half*)y, 64);
  DataCopy(in.Get<int32_t>(), xGm, 64);
  Then<HardEvent::MTE2_V>();
  if (scale != 0) AscendC::SetDeqScale(static_cast<half>(scale));
  Cast(out.Get<half>(), in.Get<int32_t>(), AscendC::RoundMode::CAST_NONE, 64);
  Then<HardEvent::V_MTE3>();
  DataCopy(yGm, out.Get<half>(), 64);
}

// Two pools share one part of the unified buffer, one after the other.
extern "C" __global__ __aicore__ void pools(GM_ADDR x, GM_ADDR y) {
  TPipe pipe;
  AscendC::TBufPool<TPosition::VECCALC, 8> first, second;
  pipe.InitBufPool(first, 1024);
  pipe.InitBufPool(second, 1024, first);
  GlobalTensor<float> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ float*)x, 64);
  yGm.SetGlobalBuffer((__gm__ float*)y, 64);
  AscendC::TQue<TPosition::VECIN, 1> inQueue;
  first.InitBuffer(inQueue, 2, 256);
  TBuf<> kept;
  pipe.InitBuffer(kept, 256);
  LocalTensor<float> tile = inQueue.AllocTensor<float>();
  DataCopy(tile, xGm, 64);
  inQueue.EnQue(tile);
  tile = inQueue.DeQue<float>();
  Adds(kept.Get<float>(), tile, 1.0f, 64);
  inQueue.FreeTensor(tile);
  first.Reset();
  AscendC::TQue<TPosition::VECOUT, 1> outQueue;
  second.InitBuffer(outQueue, 1, 1024);
  LocalTensor<float> out = outQueue.AllocTensor<float>();
  Muls(out, kept.Get<float>(), 2.0f, 64);
  outQueue.EnQue(out);
  out = outQueue.DeQue<float>();
  DataCopy(yGm, out, 64);
  outQueue.FreeTensor(out);
}

extern "C" __global__ __aicore__ void past_pool(GM_ADDR y) {
  TPipe pipe;
  AscendC::TBufPool<TPosition::VECCALC> pool;
  pipe.InitBufPool(pool, 1024);
  TBuf<> buffer;
  pool.InitBuffer(buffer, 1056);
}

// The launch stands in a macro, and pointers come as void*.
extern "C" __global__ __aicore__ void add_float(GM_ADDR x, GM_ADDR y, float value) {
  Buffers<float> b(x, y, 64, 64);
  Adds(b.Out(), b.In(), value, 64);
  b.Store();
}
extern "C" __global__ __aicore__ void mul_float(GM_ADDR x, GM_ADDR y, float value) {
  Buffers<float> b(x, y, 64, 64);
  Muls(b.Out(), b.In(), value, 64);
  b.Store();
}
#define LAUNCH(NAME, TYPE)                                                             \
  extern "C" void NAME##_do(void* stream, void* x, const void* y, double value) {      \
    NAME##_##TYPE<<<1, nullptr, stream>>>(x, y, value);                                \
  }
LAUNCH(add, float)
LAUNCH(mul, float)
