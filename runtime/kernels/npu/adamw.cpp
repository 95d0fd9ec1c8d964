// A step of AdamW (Loshchilov and Hutter, 2019) for one float32 parameter, in place:
//   adamw  (parameter, grad, mean, square, step, uint32 n, float rate, beta2, rest1, rest2, log_beta1, log_beta2,
//         decay, eps)
// `step` is one float32, the number of this step; `rest` are 1 - beta, and `log_beta` logarithms: computed here they would
// lose what is near 1.
#include "tiles.h"

using namespace AscendC;

namespace mindtorch {

constexpr uint32_t kTile = kTileBytes / sizeof(float);

/// 1 - exp(t) for t < 0, to the last bits near 0 too.
__aicore__ inline float missing(TPipe& pipe, const LocalTensor<float>& room, float t) {
  if (t > -0.25f) {
    float sum = 1.0f;
    for (int i = 9; i > 1; --i) sum = 1.0f + sum * t / i;
    return -t * sum;
  }
  Duplicate(room, t, 8);
  Exp(room, room, 8);
  then<HardEvent::V_S>(pipe);
  return 1.0f - room.GetValue(0);
}

}  // namespace mindtorch

extern "C" __global__ __aicore__ void adamw_f32(GM_ADDR parameter, GM_ADDR grad, GM_ADDR mean, GM_ADDR square, GM_ADDR step,
                                                uint32_t n, float rate, float beta2, float rest1, float rest2,
                                                float log_beta1, float log_beta2, float decay, float eps) {
  using namespace mindtorch;
  TPipe pipe;
  Input<float> inputs[4];
  Output<float> outputs[3];
  TBuf<TPosition::VECCALC> buffer;
  for (auto& queue : inputs) pipe.InitBuffer(queue, kBuffers, kTileBytes);
  for (auto& queue : outputs) pipe.InitBuffer(queue, 1, kTileBytes);
  pipe.InitBuffer(buffer, kTileBytes);
  LocalTensor<float> work = buffer.Get<float>();
  const float number = global<float>(step, 1).GetValue(0);
  const float first = missing(pipe, work, number * log_beta1), second = missing(pipe, work, number * log_beta2);
  Duplicate(work, second, 8);
  Sqrt(work, work, 8);
  then<HardEvent::V_S>(pipe);
  const float root = 1.0f / work.GetValue(0);
  const auto p = global<float>(parameter, n), g = global<float>(grad, n), m = global<float>(mean, n),
             v = global<float>(square, n);
  const Share<float> share(n);
  for (uint32_t at = share.begin; at < share.end; at += kTile) {
    const uint32_t count = share.end - at < kTile ? share.end - at : kTile;
    LocalTensor<float> ps = fetch<float>(inputs[0], p[at], count), gs = fetch<float>(inputs[1], g[at], count);
    LocalTensor<float> ms = fetch<float>(inputs[2], m[at], count), vs = fetch<float>(inputs[3], v[at], count);
    LocalTensor<float> newP = outputs[0].AllocTensor<float>(), newM = outputs[1].AllocTensor<float>(),
                       newV = outputs[2].AllocTensor<float>();
    Sub(newM, gs, ms, count);  // m + (g - m) rest1
    Muls(newM, newM, rest1, count);
    Add(newM, newM, ms, count);
    Mul(newV, gs, gs, count);  // v beta2 + g^2 rest2
    Muls(newV, newV, rest2, count);
    Muls(work, vs, beta2, count);
    Add(newV, newV, work, count);
    Sqrt(work, newV, count);  // p (1 - rate decay) - rate / first m / (sqrt(v) / sqrt(second) + eps)
    Muls(work, work, root, count);
    Adds(work, work, eps, count);
    Div(work, newM, work, count);
    Muls(work, work, -rate / first, count);
    Muls(newP, ps, 1.0f - rate * decay, count);
    Add(newP, newP, work, count);
    for (uint32_t i = 0; i < 4; ++i) inputs[i].FreeTensor(i == 0 ? ps : i == 1 ? gs : i == 2 ? ms : vs);
    store<float>(outputs[0], newP, p[at], count);
    store<float>(outputs[1], newM, m[at], count);
    store<float>(outputs[2], newV, v[at], count);
  }
}
