// Functions of each element, computed in float, on contiguous memory of float32 (_f32) and float16 (_f16).
//   one tensor    (x, out, uint32 n)                  sqrt rsqrt reciprocal abs log square sigmoid tanh silu gelu gelu_tanh
//   gradients     (grad, x, out, uint32 n)            of silu, gelu and gelu_tanh by x, of sigmoid and tanh by their results
//   three tensors (x, y, z, out, float value, n)      addcmul: x + value * y * z; addcdiv: x + value * y / z
#include "tiles.h"

using namespace AscendC;

namespace mindtorch {

constexpr uint32_t kWide = kTileBytes / sizeof(float);  // elements of a tile, whatever their type

/// A tile of the arguments and of the result, all as floats, and room to compute in.
template <uint32_t arguments>
struct Floats {
  LocalTensor<float> out, x[arguments], work[2];
};

template <uint32_t arguments>
struct Addresses {
  GM_ADDR at[arguments];
};

/// out = operation(x...): `operation(floats, count)` computes a tile.
template <typename T, uint32_t arguments, typename Operation>
__aicore__ inline void in_floats(Addresses<arguments> from, GM_ADDR to, uint32_t n, Operation operation) {
  TPipe pipe;
  Input<T> inputs[arguments];
  Output<T> outputs;
  TBuf<TPosition::VECCALC> buffer;
  GlobalTensor<T> sources[arguments];
  for (uint32_t i = 0; i < arguments; ++i) {
    pipe.InitBuffer(inputs[i], kBuffers, kWide * sizeof(T));
    sources[i] = global<T>(from.at[i], n);
  }
  pipe.InitBuffer(outputs, kBuffers, kWide * sizeof(T));
  pipe.InitBuffer(buffer, (arguments + 3) * kWide * sizeof(float));
  const LocalTensor<float> all = buffer.Get<float>();
  Floats<arguments> floats;
  for (uint32_t i = 0; i < arguments; ++i) floats.x[i] = all[i * kWide];
  floats.out = all[arguments * kWide];
  for (uint32_t i = 0; i < 2; ++i) floats.work[i] = all[(arguments + 1 + i) * kWide];
  const auto target = global<T>(to, n);
  const Share<T> share(n);
  for (uint32_t at = share.begin; at < share.end; at += kWide) {
    const uint32_t count = share.end - at < kWide ? share.end - at : kWide;
    for (uint32_t i = 0; i < arguments; ++i) {
      LocalTensor<T> tile = fetch<T>(inputs[i], sources[i][at], count);
      widen<T>(floats.x[i], tile, count);
      inputs[i].FreeTensor(tile);
    }
    operation(floats, count);
    LocalTensor<T> result = outputs.template AllocTensor<T>();
    narrow<T>(result, floats.out, count);
    store<T>(outputs, result, target[at], count);
  }
}

/// out = 1 / x, exactly rounded, which the instruction `Reciprocal` is not.
__aicore__ inline void one_over(const LocalTensor<float>& out, const LocalTensor<float>& x, const LocalTensor<float>& ones,
                                uint32_t count) {
  Duplicate(ones, 1.0f, count);
  Div(out, ones, x, count);
}

/// out = 1 / (1 + exp(-x)). `out` may be `x`.
__aicore__ inline void logistic(const LocalTensor<float>& out, const LocalTensor<float>& x, const LocalTensor<float>& ones,
                                uint32_t count) {
  Muls(out, x, -1.0f, count);
  Exp(out, out, count);
  Adds(out, out, 1.0f, count);
  one_over(out, out, ones, count);
}

// Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016): x F(x), F the normal distribution's, or near that
// 1 / (1 + exp(-2u)) with u = sqrt(2 / pi) (x + 0.044715 x^3).
constexpr float kRootHalf = 0.70710678118654752f, kDensity = 0.3989422804014327f;
constexpr float kTwiceRoot = 1.5957691216057308f, kCubic = 0.044715f;

/// out = F(x).
__aicore__ inline void normal(const LocalTensor<float>& out, const LocalTensor<float>& x, const LocalTensor<float>& work,
                              uint32_t count) {
  Muls(work, x, kRootHalf, count);
  Erf(out, work, count);
  Adds(out, out, 1.0f, count);
  Muls(out, out, 0.5f, count);
}

/// out = 1 / (1 + exp(-2u)).
__aicore__ inline void near_normal(const LocalTensor<float>& out, const LocalTensor<float>& x,
                                   const LocalTensor<float>& work, uint32_t count) {
  Mul(out, x, x, count);
  Muls(out, out, kTwiceRoot * kCubic, count);
  Adds(out, out, kTwiceRoot, count);
  Mul(out, out, x, count);
  logistic(out, out, work, count);
}

}  // namespace mindtorch

#define WIDE_ONE(NAME, T, ...)                                                            \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR out, uint32_t n) {        \
    mindtorch::in_floats<T, 1>({{x}}, out, n, [](auto& f, uint32_t count) { __VA_ARGS__ }); \
  }
#define WIDE_TWO(NAME, T, ...)                                                                  \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR grad, GM_ADDR x, GM_ADDR out, uint32_t n) { \
    mindtorch::in_floats<T, 2>({{grad, x}}, out, n, [](auto& f, uint32_t count) { __VA_ARGS__ }); \
  }
#define WIDE_THREE(NAME, T, ...)                                                                                   \
  extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR out, float value, uint32_t n) { \
    mindtorch::in_floats<T, 3>({{x, y, z}}, out, n, [value](auto& f, uint32_t count) { __VA_ARGS__ });               \
  }
#define FOR_BOTH(KIND, NAME, ...)      \
  KIND(NAME##_f32, float, __VA_ARGS__) \
  KIND(NAME##_f16, half, __VA_ARGS__)

FOR_BOTH(WIDE_ONE, sqrt, Sqrt(f.out, f.x[0], count);)
FOR_BOTH(WIDE_ONE, rsqrt, Sqrt(f.out, f.x[0], count); mindtorch::one_over(f.out, f.out, f.work[0], count);)
FOR_BOTH(WIDE_ONE, reciprocal, mindtorch::one_over(f.out, f.x[0], f.work[0], count);)
FOR_BOTH(WIDE_ONE, abs, Abs(f.out, f.x[0], count);)
FOR_BOTH(WIDE_ONE, log, Ln(f.out, f.x[0], count);)
FOR_BOTH(WIDE_ONE, square, Mul(f.out, f.x[0], f.x[0], count);)
FOR_BOTH(WIDE_ONE, sigmoid, mindtorch::logistic(f.out, f.x[0], f.work[0], count);)
FOR_BOTH(WIDE_ONE, tanh, Tanh(f.out, f.x[0], count);)
FOR_BOTH(WIDE_ONE, silu, mindtorch::logistic(f.out, f.x[0], f.work[0], count); Mul(f.out, f.out, f.x[0], count);)
FOR_BOTH(WIDE_ONE, gelu, mindtorch::normal(f.out, f.x[0], f.work[0], count); Mul(f.out, f.out, f.x[0], count);)
FOR_BOTH(WIDE_ONE, gelu_tanh, mindtorch::near_normal(f.out, f.x[0], f.work[0], count); Mul(f.out, f.out, f.x[0], count);)

// grad y (1 - y)
FOR_BOTH(WIDE_TWO, sigmoid_backward,
         Muls(f.out, f.x[1], -1.0f, count); Adds(f.out, f.out, 1.0f, count); Mul(f.out, f.out, f.x[1], count);
         Mul(f.out, f.out, f.x[0], count);)
// grad (1 - y^2)
FOR_BOTH(WIDE_TWO, tanh_backward,
         Mul(f.out, f.x[1], f.x[1], count); Muls(f.out, f.out, -1.0f, count); Adds(f.out, f.out, 1.0f, count);
         Mul(f.out, f.out, f.x[0], count);)
// grad s (1 + x (1 - s))
FOR_BOTH(WIDE_TWO, silu_backward,
         mindtorch::logistic(f.work[1], f.x[1], f.work[0], count); Muls(f.out, f.work[1], -1.0f, count);
         Adds(f.out, f.out, 1.0f, count); Mul(f.out, f.out, f.x[1], count); Adds(f.out, f.out, 1.0f, count);
         Mul(f.out, f.out, f.work[1], count); Mul(f.out, f.out, f.x[0], count);)
// grad (F + x exp(-x^2 / 2) / sqrt(2 pi))
FOR_BOTH(WIDE_TWO, gelu_backward,
         mindtorch::normal(f.work[1], f.x[1], f.work[0], count); Mul(f.out, f.x[1], f.x[1], count);
         Muls(f.out, f.out, -0.5f, count); Exp(f.out, f.out, count); Muls(f.out, f.out, mindtorch::kDensity, count);
         Mul(f.out, f.out, f.x[1], count); Add(f.out, f.out, f.work[1], count); Mul(f.out, f.out, f.x[0], count);)
// grad s (1 + x (1 - s) 2 sqrt(2 / pi) (1 + 3 c x^2))
FOR_BOTH(WIDE_TWO, gelu_tanh_backward,
         mindtorch::near_normal(f.work[1], f.x[1], f.work[0], count); Muls(f.work[0], f.work[1], -1.0f, count);
         Adds(f.work[0], f.work[0], 1.0f, count); Mul(f.out, f.x[1], f.x[1], count);
         Muls(f.out, f.out, 3.0f * mindtorch::kCubic * mindtorch::kTwiceRoot, count);
         Adds(f.out, f.out, mindtorch::kTwiceRoot, count); Mul(f.out, f.out, f.x[1], count);
         Mul(f.out, f.out, f.work[0], count); Adds(f.out, f.out, 1.0f, count); Mul(f.out, f.out, f.work[1], count);
         Mul(f.out, f.out, f.x[0], count);)

FOR_BOTH(WIDE_THREE, addcmul,
         Mul(f.out, f.x[1], f.x[2], count); Muls(f.out, f.out, value, count); Add(f.out, f.out, f.x[0], count);)
FOR_BOTH(WIDE_THREE, addcdiv,
         Div(f.out, f.x[1], f.x[2], count); Muls(f.out, f.out, value, count); Add(f.out, f.out, f.x[0], count);)
