// The repeat forms of reductions, comparisons and selections.
#include "tile.h"

using namespace AscendC;

// kind 0: sum, 1: maximum, 2: minimum, of `repeats` repeats that start `stride` blocks apart.
template <typename T>
__aicore__ inline void reduce(GM_ADDR x, GM_ADDR y, int32_t kind, int32_t mask, int32_t repeats, int32_t stride) {
  TPipe pipe;
  Tile<T> in(pipe, x, 2048), out(pipe, y, 2);
  TBuf<> work;
  pipe.InitBuffer(work, 4096);
  LocalTensor<T> w = work.Get<T>(), r = out.local();
  Duplicate(r, static_cast<T>(0.0f), 2);
  if (kind == 0) ReduceSum(r, in.load(), w, mask, repeats, stride);
  if (kind == 1) ReduceMax(r, in.load(), w, mask, repeats, stride, true);
  if (kind == 2) ReduceMin(r, in.load(), w, mask, repeats, stride, true);
  out.store();
}
extern "C" __global__ __aicore__ void reduce_float(GM_ADDR x, GM_ADDR y, int32_t kind, int32_t mask, int32_t repeats,
                                                   int32_t stride) {
  reduce<float>(x, y, kind, mask, repeats, stride);
}
extern "C" __global__ __aicore__ void reduce_half(GM_ADDR x, GM_ADDR y, int32_t kind, int32_t mask, int32_t repeats,
                                                  int32_t stride) {
  reduce<half>(x, y, kind, mask, repeats, stride);
}

extern "C" __global__ __aicore__ void reduce_bits(GM_ADDR x, GM_ADDR y, uint64_t low, uint64_t high) {
  TPipe pipe;
  Tile<half> in(pipe, x, 256), out(pipe, y, 2);
  uint64_t mask[2] = {low, high};
  ReduceMax(out.local(), in.load(), in.local(), mask, 2, 8, true);
  out.store();
}

extern "C" __global__ __aicore__ void pair_sums(GM_ADDR x, GM_ADDR y, int32_t repeats) {
  TPipe pipe;
  Tile<float> in(pipe, x, repeats * 64), out(pipe, y, repeats * 32);
  PairReduceSum(out.local(), in.load(), repeats, 64, 1, 1, 8);
  out.store();
}

// z = x > y ? x : y, by bits in memory, where y is one repeat that serves all.
extern "C" __global__ __aicore__ void larger(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint64_t mask, uint8_t repeats) {
  TPipe pipe;
  Tile<float> a(pipe, x, repeats * 64), b(pipe, y, 64), c(pipe, z, repeats * 64);
  TBuf<> bits;
  pipe.InitBuffer(bits, repeats * 8);
  LocalTensor<uint8_t> m = bits.Get<uint8_t>();
  BinaryRepeatParams rows(1, 1, 1, 8, 8, 0);
  a.load(), b.load(), c.load();
  Compare(m, a.local(), b.local(), CMPMODE::GT, mask, repeats, rows);
  Select(c.local(), m, a.local(), b.local(), SELMODE::VSEL_TENSOR_TENSOR_MODE, mask, repeats, rows);
  c.store();
}

// Keeps what is at least the limit, else 0.
extern "C" __global__ __aicore__ void at_least(GM_ADDR x, GM_ADDR z, float limit, uint8_t repeats) {
  TPipe pipe;
  Tile<float> a(pipe, x, repeats * 64), c(pipe, z, repeats * 64);
  TBuf<> bits;
  pipe.InitBuffer(bits, repeats * 8);
  LocalTensor<uint8_t> m = bits.Get<uint8_t>();
  uint64_t mask[2] = {~0ull, 0};
  CompareScalar(m, a.load(), limit, CMPMODE::GE, mask, repeats, {1, 1, 8, 8});
  Select(c.local(), m, a.local(), 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, mask, repeats, {1, 1, 1, 8, 8, 8});
  c.store();
}

// The first repeat's comparison chooses in every repeat, through the compare register and a copy of it.
extern "C" __global__ __aicore__ void choose_by_first(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint8_t repeats) {
  TPipe pipe;
  Tile<float> a(pipe, x, repeats * 64), b(pipe, y, repeats * 64), c(pipe, z, repeats * 64);
  TBuf<> saved;
  pipe.InitBuffer(saved, 32);
  a.load(), b.load();
  Compare(a.local(), b.local(), CMPMODE::LT, uint64_t(64), {1, 1, 1, 8, 8, 8});
  GetCmpMask(saved.Get<uint64_t>());
  Compare(a.local(), b.local(), CMPMODE::NE, uint64_t(64), {1, 1, 1, 8, 8, 8});
  SetCmpMask(saved.Get<uint64_t>());
  Select<float, SELMODE::VSEL_CMPMASK_SPR>(c.local(), a.local(), b.local(), repeats, {1, 1, 1, 8, 8, 8});
  c.store();
}
