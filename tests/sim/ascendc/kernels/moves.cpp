// Elements moved by offsets, masks and sorting.
#include "tile.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void gather_float(GM_ADDR x, GM_ADDR offsets, GM_ADDR y, uint32_t m, uint32_t n) {
  TPipe pipe;
  Tile<float> in(pipe, x, m), out(pipe, y, n);
  Tile<uint32_t> at(pipe, offsets, n);
  Gather(out.local(), in.load(), at.load(), 0, n);
  out.store();
}

extern "C" __global__ __aicore__ void gather_half_masked(GM_ADDR x, GM_ADDR offsets, GM_ADDR y, uint64_t mask) {
  TPipe pipe;
  Tile<half> in(pipe, x, 256), out(pipe, y, 256);
  Tile<uint32_t> at(pipe, offsets, 256);
  Duplicate(out.local(), half(-1), 256);
  Gather(out.local(), in.load(), at.load(), 0, mask, 2, 8);
  out.store();
}

extern "C" __global__ __aicore__ void gather_blocks(GM_ADDR x, GM_ADDR offsets, GM_ADDR y, uint8_t repeats) {
  TPipe pipe;
  Tile<int32_t> in(pipe, x, 64 * 8), out(pipe, y, repeats * 64);
  Tile<uint32_t> at(pipe, offsets, repeats * 8);
  Gatherb(out.local(), in.load(), at.load(), repeats, {1, 8});
  out.store();
}

extern "C" __global__ __aicore__ void scatter_float(GM_ADDR x, GM_ADDR offsets, GM_ADDR y, uint32_t n) {
  TPipe pipe;
  Tile<float> in(pipe, x, n), out(pipe, y, n);
  Tile<uint32_t> at(pipe, offsets, n);
  out.load();
  Scatter(out.local(), in.load(), at.load(), 0, n);
  out.store();
}

extern "C" __global__ __aicore__ void keep_pattern(GM_ADDR x, GM_ADDR y, GM_ADDR kept, uint8_t pattern, bool counted,
                                                   uint32_t mask, uint32_t n) {
  TPipe pipe;
  Tile<int16_t> in(pipe, x, n), out(pipe, y, n);
  uint64_t count = 0;
  out.load();
  const uint16_t repeats = counted ? n / mask : n / 128;
  GatherMask(out.local(), in.load(), pattern, counted, mask, {1, repeats, uint16_t(counted ? mask / 16 : 8), 0}, count);
  out.store();
  GlobalTensor<uint32_t> keptGm;
  keptGm.SetGlobalBuffer((__gm__ uint32_t*)kept);
  keptGm.SetValue(0, count);
}

extern "C" __global__ __aicore__ void keep_bits(GM_ADDR x, GM_ADDR bits, GM_ADDR y, GM_ADDR kept, uint32_t n) {
  TPipe pipe;
  Tile<float> in(pipe, x, n), out(pipe, y, n);
  Tile<uint32_t> pattern(pipe, bits, n / 32);
  uint64_t count = 0;
  out.load();
  GatherMask(out.local(), in.load(), pattern.load(), true, n, {1, 1, 0, 0}, count);
  out.store();
  GlobalTensor<uint32_t> keptGm;
  keptGm.SetGlobalBuffer((__gm__ uint32_t*)kept);
  keptGm.SetValue(0, count);
}

template <typename T>
__aicore__ inline void broadcast(GM_ADDR x, GM_ADDR y, uint8_t repeats) {
  TPipe pipe;
  Tile<T> in(pipe, x, repeats * 8), out(pipe, y, repeats * 64 * 4 / sizeof(T));
  Brcb(out.local(), in.load(), repeats, {1, 8});
  out.store();
}
extern "C" __global__ __aicore__ void brcb_float(GM_ADDR x, GM_ADDR y, uint8_t repeats) {
  broadcast<float>(x, y, repeats);
}
extern "C" __global__ __aicore__ void brcb_half(GM_ADDR x, GM_ADDR y, uint8_t repeats) {
  broadcast<half>(x, y, repeats);
}

// Sorts n = 32, 64 or 128 scores by groups of 32 that MrgSort makes one.
template <typename T>
__aicore__ inline void sort_merge(GM_ADDR x, GM_ADDR indices, GM_ADDR values, GM_ADDR order, uint32_t n) {
  TPipe pipe;
  Tile<T> in(pipe, x, n), out(pipe, values, n);
  Tile<uint32_t> index(pipe, indices, n), sorted_index(pipe, order, n);
  TBuf<> groups, merged;
  pipe.InitBuffer(groups, n * 8);
  pipe.InitBuffer(merged, n * 8);
  LocalTensor<T> from = groups.Get<T>(), to = merged.Get<T>();
  Sort32(from, in.load(), index.load(), n / 32);
  if (n > 32) {
    const uint32_t step = GetSortLen<T>(32);
    const uint32_t lists = n / 32;
    MrgSort4Info info;
    for (uint32_t i = 0; i < 4; i++) info.elementLengths[i] = i < lists ? 32 : 0;
    info.validBit = (1 << lists) - 1;
    MrgSort(to, MrgSortSrcList<T>(from, from[step], from[lists > 2 ? 2 * step : 0], from[lists > 2 ? 3 * step : 0]),
            info);
  } else {
    DataCopy(to, from, GetSortLen<T>(n));
  }
  Extract(out.local(), sorted_index.local(), to, n / 32);
  out.store();
  sorted_index.store();
}
extern "C" __global__ __aicore__ void sort_float(GM_ADDR x, GM_ADDR i, GM_ADDR values, GM_ADDR order, uint32_t n) {
  sort_merge<float>(x, i, values, order, n);
}
extern "C" __global__ __aicore__ void sort_half(GM_ADDR x, GM_ADDR i, GM_ADDR values, GM_ADDR order, uint32_t n) {
  sort_merge<half>(x, i, values, order, n);
}

extern "C" __global__ __aicore__ void sort_full(GM_ADDR x, GM_ADDR indices, GM_ADDR values, GM_ADDR order, uint32_t n) {
  TPipe pipe;
  Tile<float> in(pipe, x, n), out(pipe, values, n);
  Tile<uint32_t> index(pipe, indices, n), sorted_index(pipe, order, n);
  TBuf<> list, work;
  pipe.InitBuffer(list, n * 8);
  pipe.InitBuffer(work, n * 8);
  LocalTensor<float> concat, tmp = work.Get<float>();
  Concat(concat, in.load(), tmp, n / 16);
  Sort<float, true>(list.Get<float>(), concat, index.load(), tmp, n / 32);
  Extract(out.local(), sorted_index.local(), list.Get<float>(), n / 32);
  out.store();
  sorted_index.store();
}

// Two sorted lists of 32, until one is used up; tells how many came from each.
extern "C" __global__ __aicore__ void merge_until_exhausted(GM_ADDR x, GM_ADDR indices, GM_ADDR values, GM_ADDR taken) {
  TPipe pipe;
  Tile<float> in(pipe, x, 64), out(pipe, values, 64);
  Tile<uint32_t> index(pipe, indices, 64);
  TBuf<> groups, merged;
  pipe.InitBuffer(groups, 64 * 8);
  pipe.InitBuffer(merged, 64 * 8);
  LocalTensor<float> from = groups.Get<float>(), to = merged.Get<float>();
  Duplicate(to, 0.0f, 128);
  Sort32(from, in.load(), index.load(), 2);
  const uint16_t lengths[4] = {32, 32, 0, 0};
  MrgSort(to, MrgSortSrcList<float>(from, from[64], from, from), MrgSort4Info(lengths, true, 3, 1));
  uint16_t first, second, third, fourth;
  GetMrgSortResult(first, second, third, fourth);
  Extract(out.local(), index.local(), to, 2);
  out.store();
  GlobalTensor<uint32_t> takenGm;
  takenGm.SetGlobalBuffer((__gm__ uint32_t*)taken);
  takenGm.SetValue(0, first);
  takenGm.SetValue(1, second);
}

// Two sorted lists of 32, without as many at the front of each, merged from where they then begin.
extern "C" __global__ __aicore__ void merge_rests(GM_ADDR x, GM_ADDR indices, GM_ADDR values, GM_ADDR order,
                                                  uint16_t first, uint16_t second) {
  TPipe pipe;
  Tile<float> in(pipe, x, 64), out(pipe, values, 64);
  Tile<uint32_t> index(pipe, indices, 64), sorted_index(pipe, order, 64);
  TBuf<> groups, merged;
  pipe.InitBuffer(groups, 64 * 8);
  pipe.InitBuffer(merged, 64 * 8);
  LocalTensor<float> from = groups.Get<float>(), to = merged.Get<float>();
  Duplicate(to, 0.0f, 128);
  Sort32(from, in.load(), index.load(), 2);
  const uint16_t lengths[4] = {static_cast<uint16_t>(32 - first), static_cast<uint16_t>(32 - second), 0, 0};
  uint32_t taken[4];
  MrgSort<float>(to, MrgSortSrcList<float>(from[GetSortOffset<float>(first)], from[64 + GetSortOffset<float>(second)], from, from),
                 lengths, taken, 3, 1);
  Extract(out.local(), sorted_index.local(), to, 2);
  out.store();
  sorted_index.store();
}
