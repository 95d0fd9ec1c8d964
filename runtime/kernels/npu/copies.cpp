// Elements from one layout to another, of 1, 2, 4 or 8 bytes (_b1, ...):
//   copy  (x, out, uint32 sizes[4], int64 of_x[4], int64 of_out[4], uint32 n, int64 step)
// All but the innermost dimension are sizes and strides, in elements; of n elements each is `step` after the one before it
// in x, and one in out. The blocks share tiles of these.
#include "tiles.h"

using namespace AscendC;

namespace mindtorch {

struct Outer {
  uint32_t size[4];
  int64_t ofX[4], ofOut[4];
};

template <typename T>
__aicore__ inline void copy(GM_ADDR x, GM_ADDR out, const Outer& outer, uint32_t n, int64_t step) {
  constexpr uint32_t tile = kTileBytes / sizeof(T);
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, kBuffers> through;
  pipe.InitBuffer(through, kBuffers, kTileBytes);
  GlobalTensor<T> source, target;
  source.SetGlobalBuffer((__gm__ T*)x);
  target.SetGlobalBuffer((__gm__ T*)out);
  const uint64_t tiles = (n + tile - 1) / tile, blocks = GetBlockNum();
  uint64_t units = tiles;
  for (uint32_t i = 0; i < 4; ++i) units *= outer.size[i];
  const uint64_t end = units * (GetBlockIdx() + 1) / blocks;
  for (uint64_t unit = units * GetBlockIdx() / blocks; unit < end; ++unit) {
    const uint32_t at = unit % tiles * tile, count = n - at < tile ? n - at : tile;
    uint64_t row = unit / tiles;
    int64_t from = at * step, to = at;
    for (int32_t i = 3; i >= 0; --i) {
      const int64_t place = row % outer.size[i];
      row /= outer.size[i];
      from += place * outer.ofX[i];
      to += place * outer.ofOut[i];
    }
    LocalTensor<T> part = through.template AllocTensor<T>();
    if (step == 1) {
      DataCopyPad(part, source[from], bytes_of<T>(count), DataCopyPadExtParams<T>(false, 0, 0, 0));
    } else {
      for (uint32_t i = 0; i < count; ++i) part.SetValue(i, source.GetValue(from + i * step));
      then<HardEvent::S_MTE3>(pipe);
    }
    through.EnQue(part);
    part = through.template DeQue<T>();
    DataCopyPad(target[to], part, bytes_of<T>(count));
    through.FreeTensor(part);
  }
}

}  // namespace mindtorch

#define COPY(NAME, T)                                                                                                     \
  extern "C" __global__ __aicore__ void NAME(                                                                             \
      GM_ADDR x, GM_ADDR out, uint32_t size0, uint32_t size1, uint32_t size2, uint32_t size3, int64_t x0, int64_t x1,     \
      int64_t x2, int64_t x3, int64_t out0, int64_t out1, int64_t out2, int64_t out3, uint32_t n, int64_t step) {         \
    mindtorch::copy<T>(x, out, {{size0, size1, size2, size3}, {x0, x1, x2, x3}, {out0, out1, out2, out3}}, n, step);      \
  }

COPY(copy_b1, int8_t)
COPY(copy_b2, int16_t)
COPY(copy_b4, int32_t)
COPY(copy_b8, int64_t)
