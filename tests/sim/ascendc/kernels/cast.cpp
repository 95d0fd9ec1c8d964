// Cast between every pair of types that a test asks for; the mode comes as a number.
#include "tile.h"

using namespace AscendC;

namespace {
template <typename D, typename S>
__aicore__ inline void run(GM_ADDR x, GM_ADDR y, int32_t mode, uint32_t n) {
  TPipe pipe;
  TBuf<> source, target;
  pipe.InitBuffer(source, n * sizeof(S));
  pipe.InitBuffer(target, n * sizeof(D));
  GlobalTensor<S> xGm;
  GlobalTensor<D> yGm;
  xGm.SetGlobalBuffer((__gm__ S*)x, n);
  yGm.SetGlobalBuffer((__gm__ D*)y, n);
  LocalTensor<S> a = source.Get<S>();
  LocalTensor<D> b = target.Get<D>();
  DataCopyPad(a, xGm, DataCopyParams(1, n * sizeof(S), 0, 0), DataCopyPadParams());
  Then<HardEvent::MTE2_V>();
  Cast(b, a, static_cast<RoundMode>(mode), n);
  Then<HardEvent::V_MTE3>();
  DataCopyPad(yGm, b, DataCopyParams(1, n * sizeof(D), 0, 0));
}
}  // namespace

#define CAST(NAME, D, S)                                                                             \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, int32_t mode, uint32_t n) {       \
    run<D, S>(x, y, mode, n);                                                                        \
  }
CAST(float_to_half, half, float)
CAST(half_to_float, float, half)
CAST(float_to_bfloat16, bfloat16_t, float)
CAST(bfloat16_to_float, float, bfloat16_t)
CAST(float_to_int32, int32_t, float)
CAST(float_to_int16, int16_t, float)
CAST(half_to_int8, int8_t, half)
CAST(half_to_uint8, uint8_t, half)
CAST(int32_to_float, float, int32_t)
CAST(int64_to_int32, int32_t, int64_t)
CAST(uint8_to_half, half, uint8_t)
CAST(float_to_float, float, float)
