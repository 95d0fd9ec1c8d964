// Elementwise operators on contiguous memory, for float32 (_f32) and float16 (_f16).
//   binary   (x, y, out, uint32 n)                 add sub mul div
//   scaled   (x, y, out, float alpha, uint32 n)    add_alpha: x + alpha * y
//   unary    (x, out, uint32 n)                    relu exp neg
//   scalar   (x, out, float value, uint32 n)       adds muls divs
//   backward (grad, x, out, float threshold, n)    threshold_backward: grad where x > threshold, else 0
//   fill     (out, float value, uint32 n)
//   expand   (x, out, uint32 n)                    n copies of x[0]
#include "tiles.h"

using namespace AscendC;

namespace mindtorch {

/// grad where x > threshold, else 0. Compare works on whole repeats: past `count` the tile holds anything.
template <typename T>
__aicore__ inline void threshold_backward(GM_ADDR grad, GM_ADDR x, GM_ADDR out, float threshold, uint32_t n) {
  constexpr uint32_t per_repeat = 256 / sizeof(T);
  TPipe pipe;
  TBuf<TPosition::VECCALC> bits;
  pipe.InitBuffer(bits, kTileBytes / sizeof(T) / 8);
  zip<T>(pipe, grad, x, out, n, [&](auto& result, auto& g, auto& value, uint32_t count) {
    const uint32_t whole = (count + per_repeat - 1) / per_repeat * per_repeat;
    LocalTensor<uint8_t> mask = bits.Get<uint8_t>();
    CompareScalar(mask, value, static_cast<T>(threshold), CMPMODE::GT, whole);
    Select(result, mask, g, static_cast<T>(0.0f), SELMODE::VSEL_TENSOR_SCALAR_MODE, whole);
  });
}

template <typename T>
__aicore__ inline void fill(GM_ADDR out, T value, uint32_t n) {
  constexpr uint32_t tile = kTileBytes / sizeof(T);
  TPipe pipe;
  Output<T> outputs;
  pipe.InitBuffer(outputs, kBuffers, kTileBytes);
  const auto target = global<T>(out, n);
  const Share<T> share(n);
  for (uint32_t at = share.begin; at < share.end; at += tile) {
    const uint32_t count = share.end - at < tile ? share.end - at : tile;
    LocalTensor<T> result = outputs.template AllocTensor<T>();
    Duplicate(result, value, count);
    store<T>(outputs, result, target[at], count);
  }
}

}  // namespace mindtorch

#define BINARY(NAME, T, CALL)                                                                           \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR out, uint32_t n) {           \
    TPipe pipe;                                                                                         \
    mindtorch::zip<T>(pipe, x, y, out, n,                                                               \
                      [](auto& result, auto& a, auto& b, uint32_t count) { CALL(result, a, b, count); }); \
  }
#define UNARY(NAME, T, CALL)                                                                            \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR out, uint32_t n) {                      \
    TPipe pipe;                                                                                         \
    mindtorch::map<T>(pipe, x, out, n, [](auto& result, auto& a, uint32_t count) { CALL(result, a, count); }); \
  }
#define SCALAR(NAME, T, CALL)                                                                           \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR out, float value, uint32_t n) {         \
    TPipe pipe;                                                                                         \
    const T scalar = static_cast<T>(value);                                                             \
    mindtorch::map<T>(pipe, x, out, n,                                                                  \
                      [scalar](auto& result, auto& a, uint32_t count) { CALL(result, a, scalar, count); }); \
  }
#define ADD_ALPHA(NAME, T)                                                                              \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR out, float alpha, uint32_t n) { \
    TPipe pipe;                                                                                         \
    const T scalar = static_cast<T>(alpha);                                                             \
    mindtorch::zip<T>(pipe, x, y, out, n, [scalar](auto& result, auto& a, auto& b, uint32_t count) {    \
      Muls(result, b, scalar, count);                                                                   \
      Add(result, a, result, count);                                                                    \
    });                                                                                                 \
  }
#define DIVS(result, a, scalar, count)  \
  Duplicate(result, scalar, count);     \
  Div(result, a, result, count)
#define NEGATE(result, a, count) Muls(result, a, static_cast<decltype(a.GetValue(0))>(-1.0f), count)
#define THRESHOLD_BACKWARD(NAME, T)                                                                     \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR grad, GM_ADDR x, GM_ADDR out, float threshold, uint32_t n) { \
    mindtorch::threshold_backward<T>(grad, x, out, threshold, n);                                       \
  }
#define FILL(NAME, T) \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR out, float value, uint32_t n) { \
    mindtorch::fill<T>(out, static_cast<T>(value), n);                                               \
  }
#define EXPAND(NAME, T)                                                          \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR out, uint32_t n) { \
    mindtorch::fill<T>(out, mindtorch::global<T>(x, 1).GetValue(0), n);          \
  }

BINARY(add_f32, float, Add)
BINARY(add_f16, half, Add)
BINARY(sub_f32, float, Sub)
BINARY(sub_f16, half, Sub)
BINARY(mul_f32, float, Mul)
BINARY(mul_f16, half, Mul)
BINARY(div_f32, float, Div)
BINARY(div_f16, half, Div)
ADD_ALPHA(add_alpha_f32, float)
ADD_ALPHA(add_alpha_f16, half)
UNARY(relu_f32, float, Relu)
UNARY(relu_f16, half, Relu)
UNARY(exp_f32, float, Exp)
UNARY(exp_f16, half, Exp)
UNARY(neg_f32, float, NEGATE)
UNARY(neg_f16, half, NEGATE)
SCALAR(adds_f32, float, Adds)
SCALAR(adds_f16, half, Adds)
SCALAR(muls_f32, float, Muls)
SCALAR(muls_f16, half, Muls)
SCALAR(divs_f32, float, DIVS)
SCALAR(divs_f16, half, DIVS)
THRESHOLD_BACKWARD(threshold_backward_f32, float)
THRESHOLD_BACKWARD(threshold_backward_f16, half)
FILL(fill_f32, float)
FILL(fill_f16, half)
EXPAND(expand_f32, float)
EXPAND(expand_f16, half)
