// 16 x 16 tiles turned, by tensor lists and by addresses.
#include "tile.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void transpose_tile(GM_ADDR x, GM_ADDR y) {
  TPipe pipe;
  Tile<half> in(pipe, x, 256), out(pipe, y, 256);
  Transpose(out.local(), in.load());
  out.store();
}

// 16 rows of 16 * tiles halves become 16 * tiles rows of 16.
extern "C" __global__ __aicore__ void transpose_half(GM_ADDR x, GM_ADDR y, uint8_t tiles) {
  TPipe pipe;
  Tile<half> in(pipe, x, 256 * tiles), out(pipe, y, 256 * tiles);
  LocalTensor<half> from = in.load(), to = out.local();
  LocalTensor<half> dst[16], src[16];
  for (int i = 0; i < 16; i++) src[i] = from[i * 16 * tiles], dst[i] = to[i * 16];
  TransDataTo5HD<half>(dst, src, {false, false, tiles, uint16_t(tiles == 1 ? 0 : 16), uint16_t(tiles == 1 ? 0 : 1)});
  out.store();
}

// 16 rows of 8 floats become 8 rows of 16.
extern "C" __global__ __aicore__ void transpose_float(GM_ADDR x, GM_ADDR y) {
  TPipe pipe;
  Tile<float> in(pipe, x, 128), out(pipe, y, 128);
  LocalTensor<float> from = in.load(), to = out.local();
  uint64_t dst[16], src[16];
  for (int i = 0; i < 16; i++) {
    src[i] = (uint64_t)from[i * 8].GetPhyAddr();
    dst[i] = (uint64_t)to[i * 8].GetPhyAddr();
  }
  TransDataTo5HD<float>(dst, src, TransDataTo5HDParams(false, false, 1, 0, 0));
  out.store();
}

extern "C" __global__ __aicore__ void transpose_bytes(GM_ADDR x, GM_ADDR y, bool dstHigh, bool srcHigh) {
  TPipe pipe;
  Tile<int8_t> in(pipe, x, 512), out(pipe, y, 512);
  out.load();
  LocalTensor<int8_t> from = in.load(), to = out.local();
  LocalTensor<int8_t> dst[16], src[16];
  for (int i = 0; i < 16; i++) src[i] = from[i * 32], dst[i] = to[i * 32];
  TransDataTo5HD<int8_t>(dst, src, {dstHigh, srcHigh, 1, 0, 0});
  out.store();
}
