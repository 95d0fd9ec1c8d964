// Advanced mathematics; every block takes its share of the elements.
#include "tile.h"

using namespace AscendC;

template <typename T>
__aicore__ inline void apply(GM_ADDR x, GM_ADDR y, int32_t function, uint32_t n) {
  const uint32_t share = (n + GetBlockNum() - 1) / GetBlockNum(), from = share * GetBlockIdx();
  if (from >= n) return;
  const uint32_t count = n - from < share ? n - from : share;
  TPipe pipe;
  Tile<T> in(pipe, x + from * sizeof(T), count), out(pipe, y + from * sizeof(T), count);
  TBuf<> work;
  pipe.InitBuffer(work, 1024);
  LocalTensor<uint8_t> tmp = work.Get<uint8_t>();
  LocalTensor<T> a = in.load(), b = out.local();
  switch (function) {
    case 0: Sigmoid(b, a, tmp, count); break;
    case 1: Tanh(b, a, count); break;
    case 2: Sin(b, a); break;
    case 3: Cos(b, a, tmp); break;
    case 4: Erf(b, a, count); break;
    case 5: Gelu(b, a, tmp, count); break;
    case 6: Silu(b, a, count); break;
    case 7: Swish(b, a, count, static_cast<T>(2.0f)); break;
    case 8: Power(b, a, a, count); break;
    case 9: Power(b, a, static_cast<T>(3.0f), count); break;
    case 10: Floor(b, a, count); break;
    case 11: Ceil(b, a, count); break;
    case 12: Trunc(b, a, count); break;
    case 13: Round(b, a, tmp, count); break;
    case 14: Sign(b, a, count); break;
    case 15: Log2(b, a, count); break;
    case 16: Fmod(b, a, a, count); break;
    case 17: ClampMax(b, a, static_cast<T>(1.0f), tmp, count); break;
    case 18: SwiGLU(b, a, a, 1.0f, count); break;
    case 19: Atan(b, a, count); break;
    case 20: Frac(b, a, count); break;
    case 21: Acosh(b, a, count); break;
  }
  out.store();
}
extern "C" __global__ __aicore__ void math_float(GM_ADDR x, GM_ADDR y, int32_t function, uint32_t n) {
  apply<float>(x, y, function, n);
}
extern "C" __global__ __aicore__ void math_half(GM_ADDR x, GM_ADDR y, int32_t function, uint32_t n) {
  apply<half>(x, y, function, n);
}

// kind 0: softmax; 1: from sums and maxima of another pass; 2: without them.
extern "C" __global__ __aicore__ void softmax(GM_ADDR x, GM_ADDR y, GM_ADDR sums, GM_ADDR maxima, int32_t kind,
                                              uint32_t m, uint32_t k, uint32_t used) {
  TPipe pipe;
  Tile<float> in(pipe, x, m * k), out(pipe, y, m * k), sum(pipe, sums, m * 8), peak(pipe, maxima, m * 8);
  TBuf<> work;
  pipe.InitBuffer(work, 4096);
  LocalTensor<uint8_t> tmp = work.Get<uint8_t>();
  SoftMaxTiling tiling;
  SoftMaxShapeInfo shape{m, k, m, used};
  SoftMax<float>(out.local(), sum.local(), peak.local(), in.load(), tmp, tiling, shape);
  if (kind == 1) SimpleSoftMax<float>(out.local(), sum.local(), peak.local(), in.load(), tiling, shape);
  if (kind == 2) SoftMax<float>(out.local(), in.load(), tmp, tiling, shape);
  out.store(), sum.store(), peak.store();
}

// Softmax of rows of 2k elements in two steps of k.
extern "C" __global__ __aicore__ void softmax_in_parts(GM_ADDR x, GM_ADDR y, uint32_t m, uint32_t k) {
  TPipe pipe;
  Tile<float> first(pipe, x, m * k), second(pipe, x + m * k * 4, m * k);
  Tile<float> out(pipe, y, m * k), last(pipe, y + m * k * 4, m * k);
  TBuf<> sums, peaks, shrink;
  pipe.InitBuffer(sums, m * 32);
  pipe.InitBuffer(peaks, m * 32);
  pipe.InitBuffer(shrink, m * 32);
  LocalTensor<float> sum = sums.Get<float>(), peak = peaks.Get<float>(), factor = shrink.Get<float>();
  SoftMaxTiling tiling;
  SoftMaxShapeInfo shape{m, k, m, k};
  SoftmaxFlashV2<float, false>(out.local(), sum, peak, first.load(), factor, sum, peak, tiling, shape);
  SoftmaxFlashV2<float, true>(last.local(), sum, peak, second.load(), factor, sum, peak, tiling, shape);
  Then<HardEvent::V_S>();
  for (uint32_t row = 0; row < m; row++) {
    const float inverse = 1 / sum.GetValue(row * 8);
    Muls(out.local()[row * k], out.local()[row * k], factor.GetValue(row * 8) * inverse, k);
    Muls(last.local()[row * k], last.local()[row * k], inverse, k);
  }
  out.store(), last.store();
}

extern "C" __global__ __aicore__ void rows(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y, GM_ADDR means,
                                           GM_ADDR variances, int32_t kind, uint32_t m, uint32_t k) {
  TPipe pipe;
  Tile<float> in(pipe, x, m * k), scale(pipe, gamma, k), shift(pipe, beta, k), out(pipe, y, m * k);
  Tile<float> mean(pipe, means, m), variance(pipe, variances, m);
  in.load(), scale.load(), shift.load(), mean.load(), variance.load(), out.load();
  TBuf<> work;
  pipe.InitBuffer(work, 1024);
  LocalTensor<uint8_t> tmp = work.Get<uint8_t>();
  if (kind == 0) {
    LayerNormTiling tiling;
    tiling.bLength = 1, tiling.sLength = m, tiling.hLength = k, tiling.originalHLength = k;
    LayerNorm(out.local(), mean.local(), variance.local(), in.local(), scale.local(), shift.local(), tmp, 1e-5f,
              tiling);
  }
  if (kind == 1) {
    RmsNormTiling tiling;
    tiling.bLength = 1, tiling.sLength = m, tiling.hLength = k, tiling.originalHLength = k;
    RmsNorm(out.local(), in.local(), scale.local(), tmp, 1e-6f, tiling);
  }
  const uint32_t shape[] = {m, k};
  if (kind == 2) ReduceSum<float, Pattern::Reduce::AR>(mean.local(), in.local(), tmp, shape, true);
  if (kind == 3) ReduceSum<float, Pattern::Reduce::RA>(out.local(), in.local(), tmp, shape, true);
  if (kind == 4) Mean(mean.local(), in.local(), MeanParams{m, k, k});
  if (kind == 5) Sum(mean.local(), in.local(), SumParams{m, k, k});
  out.store(), mean.store(), variance.store();
}
