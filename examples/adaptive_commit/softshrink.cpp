// AscendC kernels of the example: softshrink(x) = x - clamp(x, -lambd, lambd), and its gradient, grad where |x| > lambd.
//
// Both get the runtime's context by value, as a kernel on the device gets any struct. What comes next concerns the host,
// which commits; a kernel reads what it needs, here whether its work may stay encoded: then results may stay in the
// second-level cache for the kernel that follows, else they are written through for whoever reads them on the host.
#include "kernel_operator.h"
#include "mindtorch_kernel.h"

using namespace AscendC;

constexpr uint32_t TILE = 2048;  // elements: 8 KiB of float
constexpr uint32_t REPEAT = 64;  // elements of float in a repeat: comparisons work on whole ones
constexpr int32_t BUFFERS = 2;

using Input = TQue<QuePosition::VECIN, BUFFERS>;
using Output = TQue<QuePosition::VECOUT, BUFFERS>;

__aicore__ inline LocalTensor<float> Fetch(Input& queue, const GlobalTensor<float>& source, uint32_t start,
                                           uint32_t count) {
  LocalTensor<float> tile = queue.AllocTensor<float>();
  DataCopyPad(tile, source[start], DataCopyExtParams(1, count * static_cast<uint32_t>(sizeof(float)), 0, 0, 0),
              DataCopyPadExtParams<float>(false, 0, 0, 0.0f));
  queue.EnQue(tile);
  return queue.DeQue<float>();
}

__aicore__ inline void Store(Output& queue, LocalTensor<float> tile, const GlobalTensor<float>& target, uint32_t start,
                             uint32_t count) {
  queue.EnQue(tile);
  tile = queue.DeQue<float>();
  DataCopyPad(target[start], tile, DataCopyExtParams(1, count * static_cast<uint32_t>(sizeof(float)), 0, 0, 0));
  queue.FreeTensor(tile);
}

__aicore__ inline void SetCache(GlobalTensor<float>& target, const mt_context& context) {
  target.SetL2CacheHint(context.commit_and_continue ? CacheMode::CACHE_MODE_NORMAL : CacheMode::CACHE_MODE_DISABLE);
}

extern "C" __global__ __aicore__ void softshrink(GM_ADDR x, GM_ADDR out, float lambd, uint32_t n, mt_context context) {
  TPipe pipe;
  Input inputs;
  Output outputs;
  pipe.InitBuffer(inputs, BUFFERS, TILE * sizeof(float));
  pipe.InitBuffer(outputs, BUFFERS, TILE * sizeof(float));
  GlobalTensor<float> source, target;
  source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), n);
  target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out), n);
  SetCache(target, context);
  for (uint32_t start = GetBlockIdx() * TILE; start < n; start += GetBlockNum() * TILE) {
    const uint32_t count = n - start < TILE ? n - start : TILE;
    LocalTensor<float> value = Fetch(inputs, source, start, count);
    LocalTensor<float> result = outputs.AllocTensor<float>();
    Mins(result, value, lambd, count);
    Maxs(result, result, -lambd, count);
    Sub(result, value, result, count);
    inputs.FreeTensor(value);
    Store(outputs, result, target, start, count);
  }
}

extern "C" __global__ __aicore__ void softshrink_backward(GM_ADDR grad, GM_ADDR x, GM_ADDR out, float lambd, uint32_t n,
                                                          mt_context context) {
  TPipe pipe;
  Input grads, inputs;
  Output outputs;
  TBuf<TPosition::VECCALC> magnitudes, bits;
  pipe.InitBuffer(grads, BUFFERS, TILE * sizeof(float));
  pipe.InitBuffer(inputs, BUFFERS, TILE * sizeof(float));
  pipe.InitBuffer(outputs, BUFFERS, TILE * sizeof(float));
  pipe.InitBuffer(magnitudes, TILE * sizeof(float));
  pipe.InitBuffer(bits, TILE / 8);
  GlobalTensor<float> gradient, source, target;
  gradient.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(grad), n);
  source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), n);
  target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out), n);
  SetCache(target, context);
  for (uint32_t start = GetBlockIdx() * TILE; start < n; start += GetBlockNum() * TILE) {
    const uint32_t count = n - start < TILE ? n - start : TILE;
    const uint32_t whole = (count + REPEAT - 1) / REPEAT * REPEAT;  // past `count` the tiles hold anything
    LocalTensor<float> g = Fetch(grads, gradient, start, count);
    LocalTensor<float> value = Fetch(inputs, source, start, count);
    LocalTensor<float> magnitude = magnitudes.Get<float>();
    LocalTensor<uint8_t> mask = bits.Get<uint8_t>();
    LocalTensor<float> result = outputs.AllocTensor<float>();
    Abs(magnitude, value, whole);
    CompareScalar(mask, magnitude, lambd, CMPMODE::GT, whole);
    Select(result, mask, g, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, whole);
    grads.FreeTensor(g);
    inputs.FreeTensor(value);
    Store(outputs, result, target, start, count);
  }
}
