// Windows of a feature map times a filter: LoadData3DParamsV2 into L0A and L0B, and DataCopy out of L0C with
// DataCopyEnhancedParams, as kernels for the 310P do it.
#include "kernel_operator.h"
#include "tile.h"

using namespace AscendC;

namespace {
struct Sizes {
  uint16_t height, width, channels, windows;
  uint8_t filter_h, filter_w, stride, dilation, pad, output_channels;
};

// y[m][n] as columns of fractals: `left` says which side the windows are on.
template <bool left>
__aicore__ inline void Convolve(GM_ADDR x, GM_ADDR w, GM_ADDR y, const Sizes& s, bool relu) {
  TPipe pipe;
  TBuf<TPosition::A1> a1;
  TBuf<TPosition::B1> b1;
  TBuf<TPosition::A2> a2;
  TBuf<TPosition::B2> b2;
  TBuf<TPosition::CO1> co1;
  TBuf<> result;
  const uint32_t pixels = s.height * s.width * s.channels;
  const uint32_t inner = s.channels * s.filter_h * s.filter_w;
  const uint32_t m = left ? AlignUp(uint32_t{s.windows}, 16u) : s.output_channels;
  const uint32_t k = left ? inner : s.windows;
  const uint32_t n = left ? s.output_channels : inner;
  pipe.InitBuffer(a1, pixels * 2);
  pipe.InitBuffer(b1, 32768);
  pipe.InitBuffer(a2, 65536);
  pipe.InitBuffer(b2, 65536);
  pipe.InitBuffer(co1, m * n * 4);
  pipe.InitBuffer(result, m * n * 4);
  GlobalTensor<half> xGm, wGm;
  GlobalTensor<float> yGm;
  xGm.SetGlobalBuffer((__gm__ half*)x, pixels);
  wGm.SetGlobalBuffer((__gm__ half*)w);
  yGm.SetGlobalBuffer((__gm__ float*)y, m * n);
  const uint32_t weights = (left ? k * n : m * k);
  DataCopy(a1.Get<half>(), xGm, pixels);
  DataCopy(b1.Get<half>(), wGm, weights);
  PipeBarrier<PIPE_ALL>();
  LoadData3DParamsV2<half> windows;
  windows.l1H = s.height;
  windows.l1W = s.width;
  windows.channelSize = s.channels;
  for (int side = 0; side < 4; side++) windows.padList[side] = s.pad;
  windows.filterH = s.filter_h;
  windows.filterW = s.filter_w;
  windows.strideH = windows.strideW = s.stride;
  windows.dilationFilterH = windows.dilationFilterW = s.dilation;
  windows.mExtension = s.windows;
  windows.kExtension = inner;
  // The other side comes as whole fractals, in the order of L0.
  const auto fractals = static_cast<uint8_t>(weights / 256);
  if constexpr (left) {
    LoadData(a2.Get<half>(), a1.Get<half>(), windows);
    LoadData(b2.Get<half>(), b1.Get<half>(), LoadData2dParams(0, fractals, 1, 0, 0, false, 0));
  } else {
    LoadData(a2.Get<half>(), b1.Get<half>(), LoadData2dParams(0, fractals, 1, 0, 0, false, 0));
    LoadData(b2.Get<half>(), a1.Get<half>(), windows);
  }
  PipeBarrier<PIPE_ALL>();
  MmadParams product;
  product.m = m;
  product.n = n;
  product.k = k;
  product.cmatrixInitVal = true;
  Mmad(co1.Get<float>(), a2.Get<half>(), b2.Get<half>(), product);
  PipeBarrier<PIPE_ALL>();
  DataCopyEnhancedParams enhanced;
  enhanced.blockMode = BlockMode::BLOCK_MODE_MATRIX;
  enhanced.isRelu = relu;
  DataCopy(result.Get<float>(), co1.Get<float>(),
           DataCopyParams(static_cast<uint16_t>(n / 16), static_cast<uint16_t>(m / 16), 0, 0), enhanced);
  PipeBarrier<PIPE_ALL>();
  DataCopy(yGm, result.Get<float>(), m * n);
}
}  // namespace

extern "C" __global__ __aicore__ void windows_left(GM_ADDR x, GM_ADDR w, GM_ADDR y, Sizes shape, bool relu) {
  Convolve<true>(x, w, y, shape, relu);
}
extern "C" __global__ __aicore__ void windows_right(GM_ADDR x, GM_ADDR w, GM_ADDR y, Sizes shape, bool relu) {
  Convolve<false>(x, w, y, shape, relu);
}
