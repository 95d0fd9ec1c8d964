// Reductions within a block, between blocks by atomic addition, and between blocks that wait for each other.
#include "tile.h"

using namespace AscendC;

template <typename T>
__aicore__ inline void reduce(GM_ADDR x, GM_ADDR y, int32_t kind, uint32_t n) {
  TPipe pipe;
  TBuf<> in, work, out;
  pipe.InitBuffer(in, n * sizeof(T));
  pipe.InitBuffer(work, n * sizeof(T));
  pipe.InitBuffer(out, 32);
  GlobalTensor<T> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ T*)x, n);
  yGm.SetGlobalBuffer((__gm__ T*)y, 2);
  LocalTensor<T> a = in.Get<T>(), w = work.Get<T>(), r = out.Get<T>();
  DataCopyPad(a, xGm, {1, static_cast<uint16_t>(n * sizeof(T)), 0, 0}, {false, 0, 0, 0});
  Then<HardEvent::MTE2_V>();
  Duplicate(r, static_cast<T>(0.0f), 32 / sizeof(T));
  if (kind == 0) ReduceSum(r, a, w, n);
  if (kind == 1) ReduceMax(r, a, w, n, true);
  if (kind == 2) ReduceMin(r, a, w, n, true);
  Then<HardEvent::V_MTE3>();
  DataCopyPad(yGm, r, {1, 2 * sizeof(T), 0, 0});
}

extern "C" __global__ __aicore__ void reduce_float(GM_ADDR x, GM_ADDR y, int32_t kind, uint32_t n) { reduce<float>(x,
    y, kind, n); }
extern "C" __global__ __aicore__ void reduce_half(GM_ADDR x, GM_ADDR y, int32_t kind, uint32_t n) { reduce<half>(x,
    y, kind, n); }

// Rows of 64 floats: the sum of each row, and the maximum of each of its eight blocks.
extern "C" __global__ __aicore__ void reduce_rows(GM_ADDR x, GM_ADDR sums, GM_ADDR maxima, GM_ADDR best, int32_t rows) {
  TPipe pipe;
  TBuf<> in, a, b, c;
  pipe.InitBuffer(in, rows * 256);
  pipe.InitBuffer(a, rows * 4);
  pipe.InitBuffer(b, rows * 32);
  pipe.InitBuffer(c, rows * 8);
  GlobalTensor<float> xGm, sumsGm, maximaGm, bestGm;
  xGm.SetGlobalBuffer((__gm__ float*)x);
  sumsGm.SetGlobalBuffer((__gm__ float*)sums);
  maximaGm.SetGlobalBuffer((__gm__ float*)maxima);
  bestGm.SetGlobalBuffer((__gm__ float*)best);
  LocalTensor<float> data = in.Get<float>();
  DataCopy(data, xGm, rows * 64);
  Then<HardEvent::MTE2_V>();
  WholeReduceSum(a.Get<float>(), data, 64, rows, 1, 1, 8);
  BlockReduceMax(b.Get<float>(), data, rows, 64, 1, 1, 8);
  WholeReduceMax(c.Get<float>(), data, 64, rows, 1, 1, 8);
  Then<HardEvent::V_MTE3>();
  DataCopy(sumsGm, a.Get<float>(), rows);
  DataCopy(maximaGm, b.Get<float>(), rows * 8);
  DataCopy(bestGm, c.Get<float>(), rows * 2);
}

// Every block adds its index + 1 to each of eight numbers, and writes it behind them for itself.
extern "C" __global__ __aicore__ void add_atomically(GM_ADDR y) {
  TPipe pipe;
  TBuf<> buffer;
  pipe.InitBuffer(buffer, 32);
  GlobalTensor<float> yGm;
  yGm.SetGlobalBuffer((__gm__ float*)y, 8 + 8 * GetBlockNum());
  LocalTensor<float> ones = buffer.Get<float>();
  Duplicate(ones, static_cast<float>(GetBlockIdx() + 1), 8);
  Then<HardEvent::V_MTE3>();
  SetAtomicAdd<float>();
  DataCopy(yGm, ones, 8);
  SetAtomicNone();
  DataCopy(yGm[8 + 8 * GetBlockIdx()], ones, 8);
}

// Each block writes a number, and after the barrier reads its right neighbour's.
extern "C" __global__ __aicore__ void rotate(GM_ADDR x, GM_ADDR y) {
  GlobalTensor<int32_t> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ int32_t*)x);
  yGm.SetGlobalBuffer((__gm__ int32_t*)y);
  xGm.SetValue(GetBlockIdx(), GetBlockIdx() * 10);
  SyncAll();
  yGm.SetValue(GetBlockIdx(), xGm.GetValue((GetBlockIdx() + 1) % GetBlockNum()));
}

// What reductions of 100 elements leave in registers, under the names of two generations: sum, sum, maximum, index,
// minimum, index.
extern "C" __global__ __aicore__ void registers(GM_ADDR x, GM_ADDR y) {
  TPipe pipe;
  Tile<float> in(pipe, x, 100), out(pipe, y, 8);
  LocalTensor<float> a = in.load(), r = out.local();
  float values[6];
  ReduceSum(r, a, r, 100);
  Then<HardEvent::V_S>();
  const uint64_t sum = GetAccVal();
  values[0] = *reinterpret_cast<const float*>(&sum);
  values[1] = GetReduceRepeatSumSpr<float>();
  ReduceMax(r, a, r, 100, true);
  Then<HardEvent::V_S>();
  GetReduceRepeatMaxMinSpr(values[2], values[3]);
  ReduceMin(r, a, r, 100, true);
  Then<HardEvent::V_S>();
  GetReduceRepeatMaxMinSpr(values[4]);
  GetReduceMaxMinCount(values[4], values[5]);
  Duplicate(r, 0.0f, 8);
  Then<HardEvent::V_S>();
  for (int i = 0; i < 6; i++) r.SetValue(i, values[i]);
  Then<HardEvent::S_MTE3>();
  out.store();
}
