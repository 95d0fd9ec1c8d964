/* CPU kernels of the example. They return 0, or an error code that the runtime raises. */
#include <stdint.h>

int scaled_add_cpu(const float* x, const float* y, float* out, float scale, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) out[i] = x[i] + scale * y[i];
  return 0;
}

int scaled_add_grad_cpu(const float* grad, float* out, float scale, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) out[i] = scale * grad[i];
  return 0;
}
