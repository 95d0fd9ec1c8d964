// Matrix products written with the cube's own instructions, on a cube core alone and with vector cores behind it.
#include "product.h"

using namespace AscendC;

// C[m][n] = A[m][k] * B[k][n] in one piece; every size is a multiple of 16.
template <typename T>
class Product {
 public:
  __aicore__ inline void Process(TPipe& pipe, GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t m, uint16_t n, uint16_t k,
                                 bool relu, uint32_t fractal = 0) {
    GlobalTensor<T> aGm, bGm;
    GlobalTensor<float> cGm;
    aGm.SetGlobalBuffer((__gm__ T*)a);
    bGm.SetGlobalBuffer((__gm__ T*)b);
    cGm.SetGlobalBuffer((__gm__ float*)c);
    pipe.InitBuffer(inA1, 1, m * k * sizeof(T));
    pipe.InitBuffer(inB1, 1, k * n * sizeof(T));
    pipe.InitBuffer(inA2, 1, m * k * sizeof(T));
    pipe.InitBuffer(inB2, 1, k * n * sizeof(T));
    pipe.InitBuffer(outCO1, 1, m * n * sizeof(float));
    CopyIn(aGm, bGm, m, n, k);
    Split(m, n, k);
    LocalTensor<T> a2 = inA2.template DeQue<T>(), b2 = inB2.template DeQue<T>();
    LocalTensor<float> co1 = outCO1.template AllocTensor<float>();
    MmadParams mmad;
    mmad.m = m, mmad.n = n, mmad.k = k;
    Mmad(co1, a2, b2, mmad);
    outCO1.EnQue(co1);
    co1 = outCO1.template DeQue<float>();
    FixpipeParamsV220 out;
    out.nSize = n, out.mSize = m, out.srcStride = m, out.dstStride = n, out.reluEn = relu;
    if (fractal == 0) {
      Fixpipe(cGm, co1, out);
    } else {
      out.dstStride = m * fractal / 8, out.isChannelSplit = fractal == 8;
      Fixpipe<float, float, CFG_NZ>(cGm, co1, out);
    }
    inA2.FreeTensor(a2);
    inB2.FreeTensor(b2);
    outCO1.FreeTensor(co1);
  }

 private:
  __aicore__ inline void CopyIn(GlobalTensor<T>& aGm, GlobalTensor<T>& bGm, uint16_t m, uint16_t n, uint16_t k) {
    LocalTensor<T> a1 = inA1.template AllocTensor<T>(), b1 = inB1.template AllocTensor<T>();
    DataCopy(a1, aGm, Nd2NzParams(1, m, k, 0, k, m, 1, 0));
    DataCopy(b1, bGm, Nd2NzParams(1, k, n, 0, n, k, 1, 0));
    inA1.EnQue(a1);
    inB1.EnQue(b1);
  }
  __aicore__ inline void Split(uint16_t m, uint16_t n, uint16_t k) {
    LocalTensor<T> a1 = inA1.template DeQue<T>(), b1 = inB1.template DeQue<T>();
    LocalTensor<T> a2 = inA2.template AllocTensor<T>(), b2 = inB2.template AllocTensor<T>();
    const int rows = m / 16, columns = n / 16, inner = k / 16;
    for (int i = 0; i < rows; i++) {
      LoadData2DParams load;
      load.startIndex = i, load.repeatTimes = inner, load.srcStride = rows, load.ifTranspose = false;
      LoadData(a2[i * inner * 256], a1, load);
    }
    for (int i = 0; i < inner; i++) {
      LoadData2DParams load;
      load.startIndex = i, load.repeatTimes = columns, load.srcStride = inner, load.ifTranspose = true;
      LoadData(b2[i * columns * 256], b1, load);
    }
    inA2.EnQue(a2);
    inB2.EnQue(b2);
    inA1.FreeTensor(a1);
    inB1.FreeTensor(b1);
  }

  TQue<TPosition::A1, 1> inA1;
  TQue<TPosition::B1, 1> inB1;
  TQue<TPosition::A2, 1> inA2;
  TQue<TPosition::B2, 1> inB2;
  TQue<TPosition::CO1, 1> outCO1;
};

extern "C" __global__ __aicore__ void product_half(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t m, uint16_t n, uint16_t k,
                                                   bool relu) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  TPipe pipe;
  Product<half> op;
  op.Process(pipe, a, b, c, m, n, k, relu);
}
// C in the format NZ, its fractals so many columns wide.
extern "C" __global__ __aicore__ void product_fractals(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t m, uint16_t n,
                                                       uint16_t k, uint32_t fractal) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
  TPipe pipe;
  Product<half> op;
  op.Process(pipe, a, b, c, m, n, k, false, fractal);
}
extern "C" __global__ __aicore__ void product_bf16(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t m, uint16_t n, uint16_t k,
                                                   bool relu) {
  TPipe pipe;
  Product<bfloat16_t> op;
  op.Process(pipe, a, b, c, m, n, k, relu);
}

// Accumulates over parts of k and writes halves; A of each block is one of `blocks` row panels of 16.
extern "C" __global__ __aicore__ void product_in_parts(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t parts) {
  TPipe pipe;
  CubeBuffers cube(pipe, 512, 512, 1024);
  GlobalTensor<half> aGm, bGm, cGm;
  const uint16_t k = parts * 16;
  aGm.SetGlobalBuffer((__gm__ half*)a + GetBlockIdx() * 16 * k);
  bGm.SetGlobalBuffer((__gm__ half*)b);
  cGm.SetGlobalBuffer((__gm__ half*)c + GetBlockIdx() * 256);
  for (int part = 0; part < parts; part++) {
    if (part > 0) Then<HardEvent::MTE1_MTE2>();
    DataCopy(cube.a1.Get<half>(), aGm[part * 16], Nd2NzParams(1, 16, 16, 0, k, 16, 1, 0));
    DataCopy(cube.b1.Get<half>(), bGm[part * 256], Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
    Then<HardEvent::MTE2_MTE1>();
    if (part > 0) Then<HardEvent::M_MTE1>();
    LoadData(cube.a2.Get<half>(), cube.a1.Get<half>(), LoadData2DParams(0, 1, 1, 0, 0, false, 0));
    LoadData(cube.b2.Get<half>(), cube.b1.Get<half>(), LoadData2DParams(0, 1, 1, 0, 0, true, 0));
    Then<HardEvent::MTE1_M>();
    Mmad(cube.co1.Get<float>(), cube.a2.Get<half>(), cube.b2.Get<half>(), MmadParams(16, 16, 16, 0, false, part == 0));
  }
  Then<HardEvent::M_FIX>();
  DataCopy(cGm, cube.co1.Get<float>(), DataCopyCO12DstParams(16, 16, 16, 16, F322F16, 0, false, true));
}

// The cube multiplies into the workspace; each of its two vector cores adds 1 to a half and tells the cube.
extern "C" __global__ __aicore__ void product_then_add(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR order, uint16_t n) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  TPipe pipe;
  GlobalTensor<int32_t> orderGm;
  orderGm.SetGlobalBuffer((__gm__ int32_t*)order);
  if ASCEND_IS_AIC {
    const uint32_t at = GetBlockIdx() * n * n;
    Product<half> op;
    op.Process(pipe, a + at * 2, b, c + at * 4, n, n, n, false);
    CrossCoreSetFlag<0x2, PIPE_FIX>(3);
    CrossCoreWaitFlag(4);
    orderGm.SetValue(GetBlockIdx() * 8, 1 + orderGm.GetValue(GetBlockNum() * 8 + GetBlockIdx() * 16) +
                                            orderGm.GetValue(GetBlockNum() * 8 + GetBlockIdx() * 16 + 8));
  }
  if ASCEND_IS_AIV {
    const uint32_t half_size = n * n / 2;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, half_size * 4);
    GlobalTensor<float> cGm;
    cGm.SetGlobalBuffer((__gm__ float*)c + GetBlockIdx() * half_size);
    CrossCoreWaitFlag(3);
    DataCopy(buffer.Get<float>(), cGm, half_size);
    Then<HardEvent::MTE2_V>();
    Adds(buffer.Get<float>(), buffer.Get<float>(), 1.0f, half_size);
    Then<HardEvent::V_MTE3>();
    DataCopy(cGm, buffer.Get<float>(), half_size);
    orderGm.SetValue(GetBlockNum() * 8 + GetBlockIdx() * 8, 10 * (GetSubBlockIdx() + 1));
    CrossCoreSetFlag<0x2, PIPE_MTE3>(4);
  }
}

extern "C" __global__ __aicore__ void transposed_int8(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t m, uint16_t n,
                                                      uint16_t k) {
  ProductOfRows<int8_t, int32_t>(a, b, c, m, n, k);
}
extern "C" __global__ __aicore__ void transposed_float(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t m, uint16_t n,
                                                       uint16_t k) {
  ProductOfRows<float, float>(a, b, c, m, n, k);
}

// Starts from a bias in the bias table; A is a constant, B is transposed on its way.
extern "C" __global__ __aicore__ void constant_times_b(GM_ADDR b, GM_ADDR bias, GM_ADDR c, float value) {
  TPipe pipe;
  TBuf<TPosition::B1> b1;
  TBuf<TPosition::C1> c1;
  TBuf<TPosition::A2> a2;
  TBuf<TPosition::B2> b2;
  TBuf<TPosition::C2> c2;
  TBuf<TPosition::CO1> co1;
  pipe.InitBuffer(b1, 1024);
  pipe.InitBuffer(c1, 128);
  pipe.InitBuffer(a2, 512);
  pipe.InitBuffer(b2, 1024);
  pipe.InitBuffer(c2, 128);
  pipe.InitBuffer(co1, 2048);
  GlobalTensor<half> bGm;
  GlobalTensor<float> biasGm, cGm;
  bGm.SetGlobalBuffer((__gm__ half*)b);
  biasGm.SetGlobalBuffer((__gm__ float*)bias);
  cGm.SetGlobalBuffer((__gm__ float*)c);
  InitConstValue(a2.Get<half>(), {1, 1, 0, static_cast<half>(value)});
  DataCopy(b1.Get<half>(), bGm, Nd2NzParams(1, 16, 32, 0, 32, 16, 1, 0));
  Then<HardEvent::MTE2_MTE1>();
  LoadDataWithTranspose(b2.Get<half>(), b1.Get<half>(), LoadData2dTransposeParams(0, 2, 1, 0, 0));
  DataCopy(c1.Get<float>(), biasGm, 32);
  Then<HardEvent::MTE2_MTE1>();
  DataCopy(c2.Get<float>(), c1.Get<float>(), 32);
  Then<HardEvent::MTE1_M>();
  Mmad(co1.Get<float>(), a2.Get<half>(), b2.Get<half>(), c2.Get<float>(), MmadParams(16, 32, 16, 0, true, false));
  FixpipeParamsV220 out(32, 16, 16, 32, false);
  out.quantPre = NoQuant;
  Then<HardEvent::M_FIX>();
  Fixpipe(cGm, co1.Get<float>(), out);
}

extern "C" __global__ __aicore__ void waits_for_nobody(GM_ADDR c) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  if ASCEND_IS_AIV { CrossCoreWaitFlag(5); }
}

extern "C" __global__ __aicore__ void too_large_for_l0(GM_ADDR c) {
  TPipe pipe;
  TBuf<TPosition::A2> a2;
  pipe.InitBuffer(a2, 64 * 1024 + 32);
}

extern "C" __global__ __aicore__ void wrong_memory(GM_ADDR c) {
  TPipe pipe;
  TBuf<TPosition::A1> a1;
  TBuf<TPosition::B2> b2;
  TBuf<TPosition::CO1> co1;
  pipe.InitBuffer(a1, 512);
  pipe.InitBuffer(b2, 512);
  pipe.InitBuffer(co1, 1024);
  Mmad(co1.Get<float>(), a1.Get<half>(), b2.Get<half>(), MmadParams(16, 16, 16, 0, false, true));
}
