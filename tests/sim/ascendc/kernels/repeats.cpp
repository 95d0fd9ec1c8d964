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

// Rows of 128: what is added to ones by lanes of x (256 floats) and h (128 halves), and an index behind them.
extern "C" __global__ __aicore__ void accumulations(GM_ADDR x, GM_ADDR h, GM_ADDR y) {
  TPipe pipe;
  Tile<float> in(pipe, x, 256), out(pipe, y, 768);
  Tile<half> narrow(pipe, h, 128);
  LocalTensor<float> o = out.local(), a = in.load(), b = a[128];
  Duplicate(o, 1.0f, 768);
  const uint64_t even[2] = {0x5555555555555555, 0};
  Axpy(o, a, 2.0f, uint64_t{32}, 2, UnaryRepeatParams(1, 1, 8, 8));
  Axpy<float, half>(o[128], narrow.load(), half(3), even, 2, UnaryRepeatParams(1, 1, 8, 4));
  MulAddDst(o[256], a, b, uint64_t{64}, 2, BinaryRepeatParams(1, 1, 1, 8, 8, 8));
  FusedMulAdd<float, true>(o[384], a, b, even, 2, BinaryRepeatParams(1, 1, 1, 8, 8, 8));
  FusedMulAddRelu(o[512], a, b, uint64_t{64}, 2, BinaryRepeatParams(1, 1, 1, 8, 8, 8));
  LocalTensor<int32_t> index = o[640].ReinterpretCast<int32_t>();
  CreateVecIndex(index, 5, uint64_t{32}, 1, 1, 8);
  CreateVecIndex(index[64], -2, even, 1, 1, 8);
  out.store();
}
