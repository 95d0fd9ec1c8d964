// Arbitrary lengths with DataCopyPad; scalars by value in several types; one kernel a data type or idea.
#include "kernel_operator.h"

using namespace AscendC;

namespace {
constexpr uint32_t TILE = 1024;

// A block's share of n elements, in whole 32-byte chunks.
template <typename T>
struct Share {
  __aicore__ inline Share(uint32_t n) {
    const uint32_t unit = 32 / sizeof(T);
    const uint32_t each = (n + GetBlockNum() * unit - 1) / (GetBlockNum() * unit) * unit;
    begin = each * GetBlockIdx() < n ? each * GetBlockIdx() : n;
    end = begin + each < n ? begin + each : n;
  }
  uint32_t begin, end;
};

template <typename T, typename Op>
__aicore__ inline void map_tail(GM_ADDR x, GM_ADDR y, uint32_t n, Op op) {
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  pipe.InitBuffer(in, 2, TILE * sizeof(T));
  pipe.InitBuffer(out, 2, TILE * sizeof(T));
  GlobalTensor<T> xGm, yGm;
  xGm.SetGlobalBuffer((__gm__ T*)x, n);
  yGm.SetGlobalBuffer((__gm__ T*)y, n);
  Share<T> share(n);
  for (uint32_t at = share.begin; at < share.end; at += TILE) {
    const uint32_t count = share.end - at < TILE ? share.end - at : TILE;
    DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0};
    LocalTensor<T> a = in.AllocTensor<T>();
    DataCopyPad(a, xGm[at], copy, {false, 0, 0, 0});
    in.EnQue(a);
    a = in.DeQue<T>();
    LocalTensor<T> b = out.AllocTensor<T>();
    op(b, a, count);
    in.FreeTensor(a);
    out.EnQue(b);
    b = out.DeQue<T>();
    DataCopyPad(yGm[at], b, copy);
    out.FreeTensor(b);
  }
}
}  // namespace

extern "C" __global__ __aicore__ void muls_half(GM_ADDR x, GM_ADDR y, half factor, uint32_t n) {
  map_tail<half>(x, y, n, [factor](auto& b, auto& a, uint32_t count) { Muls(b, a, factor, count); });
}

extern "C" __global__ __aicore__ void scale_float(GM_ADDR x, GM_ADDR y, float factor, bool negate, uint16_t n) {
  map_tail<float>(x, y, n, [=](auto& b, auto& a, uint32_t count) {
    Muls(b, a, factor, count);
    if (negate) Muls(b, b, -1.0f, count);
  });
}

#define UNARY(NAME, T, CALL)                                                              \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, uint32_t n) {          \
    map_tail<T>(x, y, n, [](auto& b, auto& a, uint32_t count) { CALL(b, a, count); });    \
  }
UNARY(exp_float, float, Exp)
UNARY(ln_float, float, Ln)
UNARY(sqrt_float, float, Sqrt)
UNARY(rsqrt_float, float, Rsqrt)
UNARY(reciprocal_float, float, Reciprocal)
UNARY(abs_float, float, Abs)
UNARY(relu_float, float, Relu)
UNARY(exp_half, half, Exp)
UNARY(abs_half, half, Abs)
