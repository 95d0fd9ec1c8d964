// Products of small integers, and what comes out of L0C on the way to the unified buffer.
#include "kernel_operator.h"
#include "tile.h"

using namespace AscendC;

// A (m x k) times B^T (n x k), both two elements to a byte and in rows of k / 2 bytes; the result in columns of 16.
extern "C" __global__ __aicore__ void nibbles(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t m, uint16_t n, uint16_t k) {
  TPipe pipe;
  TBuf<TPosition::A1> a1;
  TBuf<TPosition::B1> b1;
  TBuf<TPosition::A2> a2;
  TBuf<TPosition::B2> b2;
  TBuf<TPosition::CO1> co1;
  const uint16_t bytes = k / 2;
  pipe.InitBuffer(a1, m * bytes);
  pipe.InitBuffer(b1, n * bytes);
  pipe.InitBuffer(a2, m * bytes);
  pipe.InitBuffer(b2, n * bytes);
  pipe.InitBuffer(co1, m * n * 4);
  GlobalTensor<int8_t> aGm, bGm;
  GlobalTensor<int32_t> cGm;
  aGm.SetGlobalBuffer((__gm__ int8_t*)a, m * bytes);
  bGm.SetGlobalBuffer((__gm__ int8_t*)b, n * bytes);
  cGm.SetGlobalBuffer((__gm__ int32_t*)c, m * n);
  DataCopy(a1.Get<int8_t>(), aGm, Nd2NzParams(1, m, bytes, 0, bytes, m, 1, 0));
  DataCopy(b1.Get<int8_t>(), bGm, Nd2NzParams(1, n, bytes, 0, bytes, n, 1, 0));
  const int inner = k / 64, rows = m / 16, columns = n / 16;
  Then<HardEvent::MTE2_MTE1>();
  for (int i = 0; i < rows; i++)
    LoadData(a2.Get<int4b_t>()[i * inner * 1024], a1.Get<int4b_t>(),
             LoadData2DParams(i, inner, rows, 0, 0, false, 0));
  LoadData(b2.Get<int4b_t>(), b1.Get<int4b_t>(), LoadData2DParams(0, inner * columns, 1, 0, 0, false, 0));
  Then<HardEvent::MTE1_M>();
  Mmad(co1.Get<int32_t>(), a2.Get<int4b_t>(), b2.Get<int4b_t>(), MmadParams(m, n, k, 0, false, true));
  Then<HardEvent::M_FIX>();
  Fixpipe<int32_t, int32_t, CFG_NZ>(cGm, co1.Get<int32_t>(), FixpipeParamsV220(n, m, m, 2 * m, false));
}

// x (16 x 16) times y (16 x 16) of floats, rounded as HF32.
extern "C" __global__ __aicore__ void rounded(GM_ADDR x, GM_ADDR unit, GM_ADDR y, bool on, bool away) {
  TPipe pipe;
  TBuf<TPosition::A1> a1;
  TBuf<TPosition::B1> b1;
  TBuf<TPosition::A2> a2;
  TBuf<TPosition::B2> b2;
  TBuf<TPosition::CO1> co1;
  pipe.InitBuffer(a1, 1024);
  pipe.InitBuffer(b1, 1024);
  pipe.InitBuffer(a2, 1024);
  pipe.InitBuffer(b2, 1024);
  pipe.InitBuffer(co1, 1024);
  GlobalTensor<float> xGm, unitGm, yGm;
  xGm.SetGlobalBuffer((__gm__ float*)x, 256);
  unitGm.SetGlobalBuffer((__gm__ float*)unit, 256);
  yGm.SetGlobalBuffer((__gm__ float*)y, 256);
  DataCopy(a1.Get<float>(), xGm, Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
  DataCopy(b1.Get<float>(), unitGm, Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
  Then<HardEvent::MTE2_MTE1>();
  LoadData(a2.Get<float>(), a1.Get<float>(), LoadData2DParams(0, 2, 1, 0, 0, false, 0));
  LoadData(b2.Get<float>(), b1.Get<float>(), LoadData2DParams(0, 2, 1, 0, 0, false, 0));
  Then<HardEvent::MTE1_M>();
  SetHF32Mode(on);
  SetHF32TransMode(away);
  SetMMLayoutTransform(true);
  Mmad(co1.Get<float>(), a2.Get<float>(), b2.Get<float>(), MmadParams(16, 16, 16, 0, false, true));
  Then<HardEvent::M_FIX>();
  Fixpipe(yGm, co1.Get<float>(), FixpipeParamsV220(16, 16, 16, 16, false));
}

namespace {
// 16 x 16 integers of L0C, each x times 1, as T: with one scale, or with 16 of them that lie in the unified buffer.
template <typename T, typename Scale>
__aicore__ inline void Dequantise(GM_ADDR x, GM_ADDR unit, GM_ADDR scales, GM_ADDR y, DeqScale mode, uint64_t value,
                                  bool relu) {
  TPipe pipe;
  TBuf<TPosition::A1> a1;
  TBuf<TPosition::B1> b1;
  TBuf<TPosition::A2> a2;
  TBuf<TPosition::B2> b2;
  TBuf<TPosition::CO1> co1;
  TBuf<> result, table;
  pipe.InitBuffer(a1, 512);
  pipe.InitBuffer(b1, 512);
  pipe.InitBuffer(a2, 512);
  pipe.InitBuffer(b2, 512);
  pipe.InitBuffer(co1, 1024);
  pipe.InitBuffer(result, 256 * sizeof(T));
  pipe.InitBuffer(table, 16 * sizeof(Scale));
  GlobalTensor<int8_t> xGm, unitGm;
  GlobalTensor<Scale> scalesGm;
  GlobalTensor<T> yGm;
  xGm.SetGlobalBuffer((__gm__ int8_t*)x, 512);
  unitGm.SetGlobalBuffer((__gm__ int8_t*)unit, 512);
  scalesGm.SetGlobalBuffer((__gm__ Scale*)scales, 16);
  yGm.SetGlobalBuffer((__gm__ T*)y, 256);
  DataCopy(a1.Get<int8_t>(), xGm, 512);
  DataCopy(b1.Get<int8_t>(), unitGm, 512);
  DataCopy(table.Get<Scale>(), scalesGm, 16);
  Then<HardEvent::MTE2_MTE1>();
  LoadData(a2.Get<int8_t>(), a1.Get<int8_t>(), LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  LoadData(b2.Get<int8_t>(), b1.Get<int8_t>(), LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  Then<HardEvent::MTE1_M>();
  Mmad(co1.Get<int32_t>(), a2.Get<int8_t>(), b2.Get<int8_t>(), MmadParams(16, 16, 32, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  DataCopyEnhancedParams enhanced;
  enhanced.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  enhanced.deqScale = mode;
  enhanced.deqValue = value;
  enhanced.deqTensorAddr = (uint64_t)table.Get<Scale>().GetPhyAddr();
  enhanced.isRelu = relu;
  DataCopy(result.Get<T>(), co1.Get<int32_t>(), DataCopyParams(1, 1, 0, 0), enhanced);
  PipeBarrier<PIPE_ALL>();
  DataCopy(yGm, result.Get<T>(), 256);
}
}  // namespace

#define DEQUANTISE(NAME, T, SCALE)                                                                                   \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR unit, GM_ADDR scales, GM_ADDR y, uint8_t mode,       \
                                             uint64_t value, bool relu) {                                            \
    Dequantise<T, SCALE>(x, unit, scales, y, static_cast<DeqScale>(mode), value, relu);                              \
  }
DEQUANTISE(to_half, half, uint64_t)
DEQUANTISE(to_half_by_halves, half, half)
DEQUANTISE(to_int16, int16_t, uint64_t)
DEQUANTISE(to_int8, int8_t, uint64_t)
DEQUANTISE(to_uint8, uint8_t, uint64_t)
