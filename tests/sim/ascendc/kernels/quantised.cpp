// Products of small integers, and what comes out of L0C on the way to the unified buffer.
#include "product.h"

using namespace AscendC;

// Two elements to a byte, in rows of k / 2 bytes.
extern "C" __global__ __aicore__ void nibbles(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t m, uint16_t n, uint16_t k) {
  ProductOfRows<int4b_t, int32_t, int8_t>(a, b, c, m, n, k);
}

// x (16 x 16) times y (16 x 16) of floats, rounded as HF32.
extern "C" __global__ __aicore__ void rounded(GM_ADDR x, GM_ADDR unit, GM_ADDR y, bool on, bool away) {
  TPipe pipe;
  CubeBuffers cube(pipe, 1024, 1024, 1024);
  GlobalTensor<float> xGm, unitGm, yGm;
  xGm.SetGlobalBuffer((__gm__ float*)x, 256);
  unitGm.SetGlobalBuffer((__gm__ float*)unit, 256);
  yGm.SetGlobalBuffer((__gm__ float*)y, 256);
  DataCopy(cube.a1.Get<float>(), xGm, Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
  DataCopy(cube.b1.Get<float>(), unitGm, Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
  Then<HardEvent::MTE2_MTE1>();
  LoadData(cube.a2.Get<float>(), cube.a1.Get<float>(), LoadData2DParams(0, 2, 1, 0, 0, false, 0));
  LoadData(cube.b2.Get<float>(), cube.b1.Get<float>(), LoadData2DParams(0, 2, 1, 0, 0, false, 0));
  Then<HardEvent::MTE1_M>();
  SetHF32Mode(on);
  SetHF32TransMode(away);
  SetMMLayoutTransform(true);
  Mmad(cube.co1.Get<float>(), cube.a2.Get<float>(), cube.b2.Get<float>(), MmadParams(16, 16, 16, 0, false, true));
  Then<HardEvent::M_FIX>();
  Fixpipe(yGm, cube.co1.Get<float>(), FixpipeParamsV220(16, 16, 16, 16, false));
}

namespace {
// 16 x 16 integers of L0C, each x times 1, as T: with one scale, or with 16 of them that lie in the unified buffer.
template <typename T, typename Scale>
__aicore__ inline void Dequantise(GM_ADDR x, GM_ADDR unit, GM_ADDR scales, GM_ADDR y, DeqScale mode, uint64_t value,
                                  bool relu) {
  TPipe pipe;
  CubeBuffers cube(pipe, 512, 512, 1024);
  TBuf<> result, table;
  pipe.InitBuffer(result, 256 * sizeof(T));
  pipe.InitBuffer(table, 16 * sizeof(Scale));
  GlobalTensor<int8_t> xGm, unitGm;
  GlobalTensor<Scale> scalesGm;
  GlobalTensor<T> yGm;
  xGm.SetGlobalBuffer((__gm__ int8_t*)x, 512);
  unitGm.SetGlobalBuffer((__gm__ int8_t*)unit, 512);
  scalesGm.SetGlobalBuffer((__gm__ Scale*)scales, 16);
  yGm.SetGlobalBuffer((__gm__ T*)y, 256);
  DataCopy(cube.a1.Get<int8_t>(), xGm, 512);
  DataCopy(cube.b1.Get<int8_t>(), unitGm, 512);
  DataCopy(table.Get<Scale>(), scalesGm, 16);
  Then<HardEvent::MTE2_MTE1>();
  LoadData(cube.a2.Get<int8_t>(), cube.a1.Get<int8_t>(), LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  LoadData(cube.b2.Get<int8_t>(), cube.b1.Get<int8_t>(), LoadData2DParams(0, 1, 1, 0, 0, false, 0));
  Then<HardEvent::MTE1_M>();
  Mmad(cube.co1.Get<int32_t>(), cube.a2.Get<int8_t>(), cube.b2.Get<int8_t>(), MmadParams(16, 16, 32, 0, false, true));
  PipeBarrier<PIPE_ALL>();
  DataCopyEnhancedParams enhanced;
  enhanced.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  enhanced.deqScale = mode;
  enhanced.deqValue = value;
  enhanced.deqTensorAddr = (uint64_t)table.Get<Scale>().GetPhyAddr();
  enhanced.isRelu = relu;
  DataCopy(result.Get<T>(), cube.co1.Get<int32_t>(), DataCopyParams(1, 1, 0, 0), enhanced);
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

// a (32 x 32) times the transpose of b (32 x 32), out of L0C with a scale for each column as half, and by DataCopy with
// the scale and the two matrices that registers say as int8_t, and in fractals of that.
extern "C" __global__ __aicore__ void scaled_out(GM_ADDR a, GM_ADDR b, GM_ADDR scales, GM_ADDR y, GM_ADDR z, GM_ADDR w,
                                                 uint64_t scale, bool forgets) {
  TPipe pipe;
  CubeBuffers cube(pipe, 1024, 1024, 4096);
  TBuf<TPosition::C1> table;
  pipe.InitBuffer(table, 256);
  GlobalTensor<int8_t> aGm, bGm, zGm, wGm;
  GlobalTensor<uint64_t> scalesGm;
  GlobalTensor<half> yGm;
  aGm.SetGlobalBuffer((__gm__ int8_t*)a, 1024);
  bGm.SetGlobalBuffer((__gm__ int8_t*)b, 1024);
  scalesGm.SetGlobalBuffer((__gm__ uint64_t*)scales, 32);
  yGm.SetGlobalBuffer((__gm__ half*)y, 1024);
  zGm.SetGlobalBuffer((__gm__ int8_t*)z, 1024);
  wGm.SetGlobalBuffer((__gm__ int8_t*)w, 1024);
  DataCopy(cube.a1.Get<int8_t>(), aGm, Nd2NzParams(1, 32, 32, 0, 32, 32, 1, 0));
  DataCopy(cube.b1.Get<int8_t>(), bGm, Nd2NzParams(1, 32, 32, 0, 32, 32, 1, 0));
  DataCopy(table.Get<uint64_t>(), scalesGm, 32);
  Then<HardEvent::MTE2_MTE1>();
  Then<HardEvent::MTE2_FIX>();
  LoadData(cube.a2.Get<int8_t>(), cube.a1.Get<int8_t>(), LoadData2DParams(0, 2, 1, 0, 0, false, 0));
  LoadData(cube.b2.Get<int8_t>(), cube.b1.Get<int8_t>(), LoadData2DParams(0, 2, 1, 0, 0, false, 0));
  Then<HardEvent::MTE1_M>();
  Mmad(cube.co1.Get<int32_t>(), cube.a2.Get<int8_t>(), cube.b2.Get<int8_t>(), MmadParams(32, 32, 32, 0, false, true));
  Then<HardEvent::M_FIX>();
  FixpipeParamsV220 params(32, 32, 32, 32, false);
  params.quantPre = QuantMode_t::VDEQF16;
  if (forgets) Fixpipe(yGm, cube.co1.Get<int32_t>(), params);
  Fixpipe<half, int32_t, CFG_ROW_MAJOR>(yGm, cube.co1.Get<int32_t>(), table.Get<uint64_t>(), params);
  SetFixpipePreQuantFlag(scale);
  SetFixpipeNz2ndFlag(2, 2, 16);
  DataCopy(zGm, cube.co1.Get<int32_t>(), DataCopyCO12DstParams(16, 32, 32, 32, QuantMode_t::REQ8, 0, false, true));
  FixpipeParamsV220 fractals(32, 32, 32, 32, false, QuantMode_t::REQ8, scale, 1, 0, 0, 0, false);
  Fixpipe<int8_t, int32_t, CFG_NZ>(wGm, cube.co1.Get<int32_t>(), fractals);
}
