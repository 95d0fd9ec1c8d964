// y = x / sqrt(mean(x * x) + epsilon) * weight for each row of x, in float whatever the operator's dtype is.
#include "kernel_operator.h"

using namespace AscendC;

template <typename T>
class KernelRowScale {
 public:
  __aicore__ inline KernelRowScale() {}

  __aicore__ inline void Init(GM_ADDR x, GM_ADDR weight, GM_ADDR y, const RowScaleTilingData& tiling) {
    columns_ = tiling.columns;
    epsilon_ = tiling.epsilon;
    const uint32_t first = GetBlockIdx() * tiling.rowsPerBlock;
    rows_ = first >= tiling.rows ? 0 : min(tiling.rowsPerBlock, tiling.rows - first);
    xGm_.SetGlobalBuffer((__gm__ T*)x + uint64_t(first) * columns_, uint64_t(rows_) * columns_);
    yGm_.SetGlobalBuffer((__gm__ T*)y + uint64_t(first) * columns_, uint64_t(rows_) * columns_);
    weightGm_.SetGlobalBuffer((__gm__ T*)weight, columns_);
    const uint32_t padded = AlignUp(columns_, 16u);
    pipe_.InitBuffer(inQueue_, 2, padded * sizeof(T));
    pipe_.InitBuffer(outQueue_, 2, padded * sizeof(T));
    pipe_.InitBuffer(weightQueue_, 1, padded * sizeof(T));
    pipe_.InitBuffer(row_, padded * sizeof(float));
    pipe_.InitBuffer(scale_, padded * sizeof(float));
    pipe_.InitBuffer(square_, padded * sizeof(float));
    pipe_.InitBuffer(sum_, 32);
  }

  __aicore__ inline void Process() {
    if (rows_ == 0) return;
    LoadWeight();
    for (uint32_t row = 0; row < rows_; row++) {
      CopyIn(row);
      Compute();
      CopyOut(row);
    }
  }

 private:
  __aicore__ inline void ToFloat(const LocalTensor<float>& dst, const LocalTensor<T>& src) {
    if constexpr (IsSameType<T, float>::value) Adds(dst, src, 0.0f, columns_);
    else Cast(dst, src, RoundMode::CAST_NONE, columns_);
  }
  __aicore__ inline void Load(const LocalTensor<T>& dst, const GlobalTensor<T>& src) {
    DataCopyExtParams row{1, static_cast<uint32_t>(columns_ * sizeof(T)), 0, 0, 0};
    DataCopyPad(dst, src, row, {false, 0, 0, 0});
  }
  __aicore__ inline void LoadWeight() {
    LocalTensor<T> weight = weightQueue_.AllocTensor<T>();
    Load(weight, weightGm_);
    weightQueue_.EnQue(weight);
    weight = weightQueue_.DeQue<T>();
    ToFloat(scale_.Get<float>(), weight);
    weightQueue_.FreeTensor(weight);
  }
  __aicore__ inline void CopyIn(uint32_t row) {
    LocalTensor<T> x = inQueue_.AllocTensor<T>();
    Load(x, xGm_[uint64_t(row) * columns_]);
    inQueue_.EnQue(x);
  }
  __aicore__ inline void Compute() {
    LocalTensor<T> x = inQueue_.DeQue<T>();
    LocalTensor<T> y = outQueue_.AllocTensor<T>();
    LocalTensor<float> row = row_.Get<float>(), square = square_.Get<float>(), sum = sum_.Get<float>();
    ToFloat(row, x);
    inQueue_.FreeTensor(x);
    Mul(square, row, row, columns_);
    ReduceSum<float>(sum, square, square, columns_);
    Muls(sum, sum, 1.0f / columns_, 1);
    Adds(sum, sum, epsilon_, 1);
    Sqrt(sum, sum, 1);
    const float factor = 1.0f / sum.GetValue(0);  // the compiler makes the scalar unit wait for Sqrt
    Muls(row, row, factor, columns_);
    Mul(row, row, scale_.Get<float>(), columns_);
    if constexpr (IsSameType<T, float>::value) Adds(y, row, 0.0f, columns_);
    else Cast(y, row, RoundMode::CAST_RINT, columns_);
    outQueue_.EnQue(y);
  }
  __aicore__ inline void CopyOut(uint32_t row) {
    LocalTensor<T> y = outQueue_.DeQue<T>();
    DataCopyExtParams bytes{1, static_cast<uint32_t>(columns_ * sizeof(T)), 0, 0, 0};
    DataCopyPad(yGm_[uint64_t(row) * columns_], y, bytes);
    outQueue_.FreeTensor(y);
  }

  TPipe pipe_;
  TQue<QuePosition::VECIN, 2> inQueue_;
  TQue<QuePosition::VECOUT, 2> outQueue_;
  TQue<QuePosition::VECIN, 1> weightQueue_;
  TBuf<> row_, scale_, square_, sum_;
  GlobalTensor<T> xGm_, weightGm_, yGm_;
  uint32_t rows_, columns_;
  float epsilon_;
};

extern "C" __global__ __aicore__ void row_scale(GM_ADDR x, GM_ADDR weight, GM_ADDR y, GM_ADDR workspace,
                                                GM_ADDR tiling) {
  GET_TILING_DATA(tilingData, tiling);
  if (TILING_KEY_IS(1)) {
    KernelRowScale<DTYPE_X> op;
    op.Init(x, weight, y, tilingData);
    op.Process();
  }
}
