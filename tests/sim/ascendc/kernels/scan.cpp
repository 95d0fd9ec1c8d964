// CumSum and TopK over the rows of a matrix.
#include "kernel_operator.h"
#include "tile.h"

using namespace AscendC;

namespace {
constexpr CumSumConfig kDown{false, false, true};

template <typename T, const CumSumConfig& config>
__aicore__ inline void Sums(GM_ADDR x, GM_ADDR y, GM_ADDR last, uint32_t rows, uint32_t columns) {
  TPipe pipe;
  TBuf<> in, out, row, work;
  const uint32_t count = rows * columns;
  pipe.InitBuffer(in, count * sizeof(T));
  pipe.InitBuffer(out, count * sizeof(T));
  pipe.InitBuffer(row, columns * sizeof(T));
  pipe.InitBuffer(work, 256);
  GlobalTensor<T> xGm, yGm, lastGm;
  xGm.SetGlobalBuffer((__gm__ T*)x, count);
  yGm.SetGlobalBuffer((__gm__ T*)y, count);
  lastGm.SetGlobalBuffer((__gm__ T*)last, columns);
  DataCopy(in.Get<T>(), xGm, count);
  Duplicate(row.Get<T>(), T(-1), columns);
  Then<HardEvent::MTE2_V>();
  CumSum<T, config>(out.Get<T>(), row.Get<T>(), in.Get<T>(), work.Get<uint8_t>(), {rows, columns});
  Then<HardEvent::V_MTE3>();
  DataCopy(yGm, out.Get<T>(), count);
  DataCopy(lastGm, row.Get<T>(), columns);
}

template <typename T, bool named, bool stops, TopKMode mode>
__aicore__ inline void Best(GM_ADDR x, GM_ADDR values, GM_ADDR indices, const TopKInfo& info, int32_t k, bool largest) {
  TPipe pipe;
  TBuf<> in, names, finished, out, where, work;
  const uint32_t count = info.outter * info.inner;
  const uint32_t value_step = mode == TopKMode::TOPK_NSMALL ? k : AlignUp(k, int32_t(32 / sizeof(T)));
  const uint32_t index_step = mode == TopKMode::TOPK_NSMALL ? k : AlignUp(k, 8);
  const uint32_t got = AlignUp(info.outter * value_step, 32u), found = AlignUp(info.outter * index_step, 32u);
  pipe.InitBuffer(in, count * sizeof(T));
  pipe.InitBuffer(names, count * 4);
  pipe.InitBuffer(finished, 32);
  pipe.InitBuffer(out, got * sizeof(T));
  pipe.InitBuffer(where, found * 4);
  pipe.InitBuffer(work, 256);
  GlobalTensor<T> xGm, valuesGm;
  GlobalTensor<int32_t> indicesGm;
  xGm.SetGlobalBuffer((__gm__ T*)x, count);
  valuesGm.SetGlobalBuffer((__gm__ T*)values, got);
  indicesGm.SetGlobalBuffer((__gm__ int32_t*)indices, found);
  DataCopy(in.Get<T>(), xGm, count);
  CreateVecIndex(names.Get<int32_t>(), 100, count);
  Duplicate(out.Get<T>(), T(0), got);
  Duplicate(where.Get<int32_t>(), 0, found);
  LocalTensor<bool> stop = finished.Get<bool>();
  for (int32_t row = 0; row < 32; row++) stop.SetValue(row, row == 1);
  Then<HardEvent::MTE2_V>();
  TopK<T, named, stops, false, mode>(out.Get<T>(), where.Get<int32_t>(), in.Get<T>(), names.Get<int32_t>(), stop,
                                     work.Get<uint8_t>(), k, TopkTiling(), info, largest);
  Then<HardEvent::V_MTE3>();
  DataCopy(valuesGm, out.Get<T>(), got);
  DataCopy(indicesGm, where.Get<int32_t>(), found);
}
}  // namespace

extern "C" __global__ __aicore__ void sums_across(GM_ADDR x, GM_ADDR y, GM_ADDR last, uint32_t rows, uint32_t columns) {
  Sums<float, defaultCumSumConfig>(x, y, last, rows, columns);
}
extern "C" __global__ __aicore__ void sums_down(GM_ADDR x, GM_ADDR y, GM_ADDR last, uint32_t rows, uint32_t columns) {
  Sums<half, kDown>(x, y, last, rows, columns);
}
extern "C" __global__ __aicore__ void best(GM_ADDR x, GM_ADDR values, GM_ADDR indices, int32_t rows, int32_t inner,
                                           int32_t n, int32_t k, bool largest) {
  Best<float, false, false, TopKMode::TOPK_NORMAL>(x, values, indices, {rows, inner, n}, k, largest);
}
extern "C" __global__ __aicore__ void best_named(GM_ADDR x, GM_ADDR values, GM_ADDR indices, int32_t rows, int32_t inner,
                                                 int32_t n, int32_t k, bool largest) {
  Best<half, true, true, TopKMode::TOPK_NORMAL>(x, values, indices, {rows, inner, n}, k, largest);
}
extern "C" __global__ __aicore__ void best_small(GM_ADDR x, GM_ADDR values, GM_ADDR indices, int32_t rows, int32_t inner,
                                                 int32_t n, int32_t k, bool largest) {
  Best<float, false, false, TopKMode::TOPK_NSMALL>(x, values, indices, {rows, inner, n}, k, largest);
}
