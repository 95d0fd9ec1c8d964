// Kernels that write down what they are told: an AscendC kernel gets the context by value, a function of C a pointer to it.
#include "kernel_operator.h"
#include "mindtorch_kernel.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void tell(GM_ADDR x, GM_ADDR out, uint32_t n, mt_context context) {
  GlobalTensor<float> source, target;
  source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), n);
  target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out), n);
  for (uint32_t i = 0; i < n; ++i) target.SetValue(i, source.GetValue(i));
  const int64_t told[] = {context.size, context.next, context.device, context.device_index, context.next_device,
                          context.next_device_index, context.commit_and_continue, context.position, context.operations};
  for (uint32_t i = 0; i < 9 && i < n; ++i) target.SetValue(i, static_cast<float>(told[i]));
}

extern "C" __global__ __aicore__ void busy(GM_ADDR x, GM_ADDR out, uint32_t n, uint32_t rounds) {
  GlobalTensor<float> source, target;
  source.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), n);
  target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out), n);
  for (uint32_t round = 0; round < rounds; ++round)
    for (uint32_t i = 0; i < n; ++i) target.SetValue(i, source.GetValue(i) + 1.0f);
}

// What no header knows: a struct that is longer than the runtime's.
struct mt_newer {
  mt_context context;
  int64_t added;
};

extern "C" __global__ __aicore__ void newer(GM_ADDR out, mt_newer context) {
  GlobalTensor<float> target;
  target.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(out), 1);
  target.SetValue(0, static_cast<float>(context.added));
}
