// The memories of a matrix product in one piece, and one of rows with rows: what several kernels of these tests do.
#pragma once
#include "tile.h"

/// A and B in L1 and in L0, of so many bytes each, and their product in L0C.
struct CubeBuffers {
  AscendC::TBuf<AscendC::TPosition::A1> a1;
  AscendC::TBuf<AscendC::TPosition::B1> b1;
  AscendC::TBuf<AscendC::TPosition::A2> a2;
  AscendC::TBuf<AscendC::TPosition::B2> b2;
  AscendC::TBuf<AscendC::TPosition::CO1> co1;

  __aicore__ inline CubeBuffers(AscendC::TPipe& pipe, uint32_t left, uint32_t right, uint32_t product) {
    pipe.InitBuffer(a1, left);
    pipe.InitBuffer(b1, right);
    pipe.InitBuffer(a2, left);
    pipe.InitBuffer(b2, right);
    pipe.InitBuffer(co1, product);
  }
};

/// A (m x k) times B^T (n x k), which needs no turning; the result comes in columns of 16. A row is copied as
/// elements of `Stored`, which for int4b_t are bytes.
template <typename T, typename Sum, typename Stored = T>
__aicore__ inline void ProductOfRows(GM_ADDR a, GM_ADDR b, GM_ADDR c, uint16_t m, uint16_t n, uint16_t k) {
  using namespace AscendC;
  constexpr uint32_t kBits = std::is_same_v<T, int4b_t> ? 4 : 8 * sizeof(T), kFractal = 512 * 8 / kBits;
  const uint16_t width = k * kBits / 8 / sizeof(Stored), groups = k * kBits / 256, rows = m / 16, columns = n / 16;
  TPipe pipe;
  CubeBuffers cube(pipe, m * k * kBits / 8, n * k * kBits / 8, m * n * sizeof(Sum));
  GlobalTensor<Stored> aGm, bGm;
  GlobalTensor<Sum> cGm;
  aGm.SetGlobalBuffer((__gm__ Stored*)a, m * width);
  bGm.SetGlobalBuffer((__gm__ Stored*)b, n * width);
  cGm.SetGlobalBuffer((__gm__ Sum*)c, m * n);
  DataCopy(cube.a1.Get<Stored>(), aGm, Nd2NzParams(1, m, width, 0, width, m, 1, 0));
  DataCopy(cube.b1.Get<Stored>(), bGm, Nd2NzParams(1, n, width, 0, width, n, 1, 0));
  Then<HardEvent::MTE2_MTE1>();
  for (uint16_t row = 0; row < rows; row++)
    LoadData(cube.a2.Get<T>()[row * groups * kFractal], cube.a1.Get<T>(),
             LoadData2DParams(row, groups, rows, 0, 0, false, 0));
  LoadData(cube.b2.Get<T>(), cube.b1.Get<T>(), LoadData2DParams(0, groups * columns, 1, 0, 0, false, 0));
  Then<HardEvent::MTE1_M>();
  Mmad(cube.co1.Get<Sum>(), cube.a2.Get<T>(), cube.b2.Get<T>(), MmadParams(m, n, k, 0, false, true));
  Then<HardEvent::M_FIX>();
  Fixpipe<Sum, Sum, CFG_NZ>(cGm, cube.co1.Get<Sum>(), FixpipeParamsV220(n, m, m, 2 * m, false));
}
