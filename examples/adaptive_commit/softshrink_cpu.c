// CPU kernels of the example: softshrink and its gradient. A CPU kernel has nothing to commit; it takes the context as the
// NPU's does, and looks at the one thing in it that a CPU kernel could be wrong about: where it runs.
#include <math.h>
#include <mindtorch_kernel.h>

int softshrink_cpu(const float* x, float* out, float lambd, uint64_t n, const mt_context* context) {
  if (context->device != MT_DEVICE_CPU) return MT_ERROR_DTYPE;
  for (uint64_t i = 0; i < n; ++i) out[i] = x[i] > lambd ? x[i] - lambd : x[i] < -lambd ? x[i] + lambd : 0 * x[i];
  return MT_OK;
}

int softshrink_backward_cpu(const float* grad, const float* x, float* out, float lambd, uint64_t n,
                            const mt_context* context) {
  if (context->device != MT_DEVICE_CPU) return MT_ERROR_DTYPE;
  for (uint64_t i = 0; i < n; ++i) out[i] = x[i] > lambd || x[i] < -lambd ? grad[i] : 0;
  return MT_OK;
}
