// Copies: what rounding, strides and padding leave in local memory, copied out whole.
#include "tile.h"

using namespace AscendC;

constexpr uint32_t WINDOW = 256;  // elements of local memory shown to the test

class Window {
 public:
  __aicore__ inline Window(GM_ADDR x, GM_ADDR y) {
    pipe.InitBuffer(buffer, WINDOW * sizeof(int32_t));
    source.SetGlobalBuffer((__gm__ int32_t*)x);
    target.SetGlobalBuffer((__gm__ int32_t*)y);
    local = buffer.Get<int32_t>();
    Duplicate(local, -7, WINDOW);
    Then<HardEvent::V_MTE2>();
  }
  __aicore__ inline void Show() {
    PipeBarrier<PIPE_ALL>();
    DataCopy(target, local, WINDOW);
  }

  TPipe pipe;
  TBuf<> buffer;
  GlobalTensor<int32_t> source, target;
  LocalTensor<int32_t> local;
};

extern "C" __global__ __aicore__ void copy_count(GM_ADDR x, GM_ADDR y, uint32_t count) {
  Window window(x, y);
  DataCopy(window.local, window.source, count);
  window.Show();
}

extern "C" __global__ __aicore__ void copy_blocks(GM_ADDR x, GM_ADDR y, uint16_t count, uint16_t len,
    uint16_t srcGap, uint16_t dstGap) {
  Window window(x, y);
  DataCopy(window.local, window.source, DataCopyParams(count, len, srcGap, dstGap));
  window.Show();
}

extern "C" __global__ __aicore__ void copy_padded(GM_ADDR x, GM_ADDR y, uint16_t count, uint32_t len,
    uint32_t srcGap, uint32_t dstGap,
                                                   bool isPad, uint8_t left, uint8_t right, int32_t value) {
  Window window(x, y);
  DataCopyPad(window.local, window.source, DataCopyExtParams{count, len, srcGap, dstGap, 0},
              DataCopyPadExtParams<int32_t>{isPad, left, right, value});
  window.Show();
}

extern "C" __global__ __aicore__ void copy_out_unpadded(GM_ADDR x, GM_ADDR y, uint16_t count, uint32_t len,
    uint32_t srcGap,
                                                         uint32_t dstGap) {
  Window window(x, y);
  DataCopy(window.local, window.source, WINDOW);
  Then<HardEvent::MTE2_MTE3>();
  DataCopyPad(window.target, window.local, DataCopyExtParams{count, len, srcGap, dstGap, 0});
}

// Of 3 rows of 87 elements: rows 0 and 2, and of each 24 elements from 16 and from 47 on; to `y` one after the other, and
// back to where they were.
extern "C" __global__ __aicore__ void copy_slices(GM_ADDR x, GM_ADDR y, uint32_t gap) {
  Window window(x, y);
  const SliceInfo rows[] = {{16, 70, gap, 3, 87}, {0, 2, 1, 1, 3}}, packed[] = {{0, 47, 0, 3, 48}, {0, 1, 0, 1, 2}};
  DataCopy(window.local, window.source, packed, rows, 2);
  Then<HardEvent::MTE2_MTE3>();
  DataCopy(window.target, window.local, rows, packed, 2);
}
