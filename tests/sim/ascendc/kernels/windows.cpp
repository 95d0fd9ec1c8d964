// The rest of Load3D: its registers, repetitions, the whole matrix transposed, and fractals one by one. The result is L0A
// or L0B as it lies there, which a product with the identity brings out.
#include "product.h"

using namespace AscendC;

namespace {
struct Sizes {
  uint16_t height, width, channels, rows, columns;
  uint8_t filter, stride, pad;
};
constexpr IsResetLoad3dConfig REGISTERS = {false, false};

// y[m][n] = a2 (m x k) times b2 (k x n), one of them a unit matrix that comes as `unit`.
template <typename T, bool left>
struct Bench : CubeBuffers {
  __aicore__ inline Bench(TPipe& pipe, GM_ADDR x, GM_ADDR unit, uint32_t pixels, uint32_t k)
      : CubeBuffers(pipe, 65536, 65536, 65536) {
    GlobalTensor<T> xGm, unitGm;
    xGm.SetGlobalBuffer((__gm__ T*)x);
    unitGm.SetGlobalBuffer((__gm__ T*)unit);
    DataCopy(a1.Get<T>(), xGm, pixels);
    DataCopy(b1.Get<T>(), unitGm, Nd2NzParams(1, k, k, 0, k, k, 1, 0));
    Then<HardEvent::MTE2_MTE1>();
    const uint16_t groups = k * sizeof(T) / 32, tall = k / 16;
    if constexpr (left) {
      // A unit matrix is its own transpose.
      LoadData(b2.Get<T>(), b1.Get<T>(), LoadData2DParams(0, groups * tall, 1, 0, 0, false, 0));
    } else {
      for (uint16_t row = 0; row < tall; row++)
        LoadData(a2.Get<T>()[row * groups * 512 / sizeof(T)], b1.Get<T>(),
                 LoadData2DParams(row, groups, tall, 0, 0, false, 0));
    }
  }
  __aicore__ inline void Store(GM_ADDR y, uint16_t m, uint16_t n, uint16_t k) {
    Then<HardEvent::MTE1_M>();
    GlobalTensor<float> yGm;
    yGm.SetGlobalBuffer((__gm__ float*)y, m * n);
    Mmad(co1.Get<float>(), a2.Get<T>(), b2.Get<T>(), MmadParams(m, n, k, 0, false, true));
    Then<HardEvent::M_FIX>();
    Fixpipe(yGm, co1.Get<float>(), FixpipeParamsV220(n, m, m, n, false));
  }
};

template <typename T>
__aicore__ inline LoadData3DParamsV2<T> Windows(const Sizes& s) {
  LoadData3DParamsV2<T> p;
  p.l1H = s.height, p.l1W = s.width, p.channelSize = s.channels;
  for (int side = 0; side < 4; side++) p.padList[side] = s.pad;
  p.filterH = p.filterW = s.filter;
  p.strideH = p.strideW = s.stride;
  p.mExtension = s.rows, p.kExtension = s.columns;
  return p;
}

// The matrix of windows transposed as a whole: channels are the rows of the product.
template <typename T>
__aicore__ inline void Transposed(GM_ADDR x, GM_ADDR unit, GM_ADDR y, const Sizes& s) {
  TPipe pipe;
  Bench<T, true> bench(pipe, x, unit, s.height * s.width * s.channels, s.rows);
  LoadData3DParamsV2<T> p = Windows<T>(s);
  p.enTranspose = true;
  LoadData(bench.a2.template Get<T>(), bench.a1.template Get<T>(), p);
  bench.Store(y, s.columns, s.rows, s.rows);
}
}  // namespace

extern "C" __global__ __aicore__ void transposed_half(GM_ADDR x, GM_ADDR unit, GM_ADDR y, Sizes s) {
  Transposed<half>(x, unit, y, s);
}
extern "C" __global__ __aicore__ void transposed_float(GM_ADDR x, GM_ADDR unit, GM_ADDR y, Sizes s) {
  Transposed<float>(x, unit, y, s);
}

// The feature map and the padding come from the registers; `times` parts are `stride` units apart, downwards or across.
extern "C" __global__ __aicore__ void repeated(GM_ADDR x, GM_ADDR unit, GM_ADDR y, Sizes s, uint16_t stride,
                                               uint8_t times, uint8_t mode, float padding) {
  const uint16_t m = mode == 0 ? s.rows * times : s.rows, k = mode == 0 ? s.columns : s.columns * times;
  TPipe pipe;
  Bench<half, true> bench(pipe, x, unit, s.height * s.width * s.channels, k);
  const uint8_t pad[PAD_SIZE] = {s.pad, s.pad, s.pad, s.pad};
  SetFmatrix(s.height, s.width, pad, FmatrixMode::FMATRIX_LEFT);
  SetLoadDataPaddingValue(static_cast<half>(padding));
  SetLoadDataBoundary(0);
  SetLoadDataRepeat({stride, times, mode});
  LoadData3DParamsV2<half> p = Windows<half>(s);
  p.l1H = p.l1W = 1, p.padValue = 77;  // which say nothing
  LoadData<half, REGISTERS>(bench.a2.Get<half>(), bench.a1.Get<half>(), p);
  bench.Store(y, m, k, k);
}

// Fractal by fractal, the points of the filter side by side.
extern "C" __global__ __aicore__ void fractals_left(GM_ADDR x, GM_ADDR unit, GM_ADDR y, Sizes s) {
  TPipe pipe;
  Bench<half, true> bench(pipe, x, unit, s.height * s.width * s.channels, s.columns);
  LoadData3DParamsV1<half> p;
  p.l1H = s.height, p.l1W = s.width;
  for (int side = 0; side < 4; side++) p.padList[side] = s.pad;
  p.leftTopW = p.leftTopH = -s.pad;
  p.filterH = p.filterW = s.filter, p.strideH = p.strideW = s.stride;
  const uint16_t tall = s.rows / 16, wide = s.columns / 16;
  for (uint16_t column = 0; column < wide; column++) {  // one point of the filter, all windows
    const uint16_t points = s.filter * s.filter;
    p.c1Index = column / points, p.fetchFilterH = column % points / s.filter, p.fetchFilterW = column % s.filter;
    p.repeatMode = 1, p.repeatTime = tall, p.jumpStride = wide;
    LoadData(bench.a2.Get<half>()[column * 256], bench.a1.Get<half>(), p);
  }
  bench.Store(y, s.rows, s.columns, s.columns);
}

// All points of the filter for 16 windows in one go, as the right side: y is the windows' transpose.
extern "C" __global__ __aicore__ void fractals_right(GM_ADDR x, GM_ADDR unit, GM_ADDR y, Sizes s) {
  TPipe pipe;
  Bench<half, false> bench(pipe, x, unit, s.height * s.width * s.channels, 16);
  LoadData3DParamsV1<half> p;
  p.l1H = s.height, p.l1W = s.width;
  for (int side = 0; side < 4; side++) p.padList[side] = s.pad;
  p.leftTopW = p.leftTopH = -s.pad;
  p.filterH = p.filterW = s.filter, p.strideH = p.strideW = s.stride;
  p.repeatTime = s.columns / 16;
  LoadData(bench.b2.Get<half>(), bench.a1.Get<half>(), p);
  bench.Store(y, 16, s.columns, 16);
}

// Nothing is loaded where nothing is asked for: y stays what the first product left.
extern "C" __global__ __aicore__ void nothing_to_load(GM_ADDR x, GM_ADDR unit, GM_ADDR y, Sizes s) {
  TPipe pipe;
  Bench<half, true> bench(pipe, x, unit, s.height * s.width * s.channels, s.columns);
  LoadData3DParamsV2<half> p = Windows<half>(s);
  LoadData(bench.a2.Get<half>(), bench.a1.Get<half>(), p);
  PipeBarrier<PIPE_ALL>();
  p.padValue = 5;
  p.kExtension = 0;
  LoadData(bench.a2.Get<half>(), bench.a1.Get<half>(), p);
  p = Windows<half>(s);
  p.l1H = 0;
  LoadData(bench.a2.Get<half>(), bench.a1.Get<half>(), p);
  SetLoadDataRepeat({0, 0, 0});
  p = Windows<half>(s);
  LoadData(bench.a2.Get<half>(), bench.a1.Get<half>(), p);
  bench.Store(y, s.rows, s.columns, s.columns);
}

extern "C" __global__ __aicore__ void transposed_bytes(GM_ADDR x, GM_ADDR unit, GM_ADDR y, Sizes s) {
  TPipe pipe;
  TBuf<TPosition::A1> a1;
  TBuf<TPosition::A2> a2;
  pipe.InitBuffer(a1, 4096);
  pipe.InitBuffer(a2, 4096);
  LoadData3DParamsV2<int8_t> p = Windows<int8_t>(s);
  p.enTranspose = true;
  LoadData(a2.Get<int8_t>(), a1.Get<int8_t>(), p);
}
extern "C" __global__ __aicore__ void between_windows(GM_ADDR x, GM_ADDR unit, GM_ADDR y, Sizes s) {
  TPipe pipe;
  TBuf<TPosition::A1> a1;
  TBuf<TPosition::A2> a2;
  pipe.InitBuffer(a1, 4096);
  pipe.InitBuffer(a2, 4096);
  LoadData3DParamsV1<half> p;
  p.l1H = 4, p.l1W = 8, p.strideW = 2, p.leftTopW = 1;
  LoadData(a2.Get<half>(), a1.Get<half>(), p);
}
