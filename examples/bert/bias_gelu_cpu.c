/* CPU kernels of the example. They return 0, or an error code that the runtime raises.
 *
 * gelu(x) = x * s(2u), u = sqrt(2 / pi) (x + 0.044715 x^3), where s(v) = 1 / (1 + exp(-v)): the tanh form of Hendrycks and
 * Gimpel, "Gaussian Error Linear Units" (2016), since (1 + tanh u) / 2 = s(2u). The loops have no calls, so that a compiler
 * makes vectors of them.
 */
#include <stdint.h>

#define TWICE_ROOT 1.5957691216057308f /* 2 sqrt(2 / pi) */
#define CUBIC 0.044715f

/* exp(v) by 2^n exp(r), |r| <= ln 2 / 2, the latter by its series up to the seventh power: within 2 units in the last place. */
static inline float exponential(float v) {
  v = v < -87.0f ? -87.0f : (v > 87.0f ? 87.0f : v);
  const float n = __builtin_rintf(v * 1.44269504f);
  const float r = (v - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  union {
    int32_t bits;
    float value;
  } power = {((int32_t)n + 127) << 23};
  return p * power.value;
}

static inline float share(float z) { return 1.0f / (1.0f + exponential(-TWICE_ROOT * (z + CUBIC * z * z * z))); }

int bias_gelu_cpu(const float* restrict x, const float* restrict bias, float* restrict out, uint64_t rows, uint64_t columns) {
  for (uint64_t row = 0; row < rows; ++row, x += columns, out += columns)
    for (uint64_t i = 0; i < columns; ++i) {
      const float z = x[i] + bias[i];
      out[i] = z * share(z);
    }
  return 0;
}

int bias_gelu_grad_cpu(const float* restrict grad, const float* restrict x, const float* restrict bias, float* restrict of_x,
                       float* restrict of_bias, uint64_t rows, uint64_t columns) {
  for (uint64_t i = 0; i < columns; ++i) of_bias[i] = 0.0f;
  for (uint64_t row = 0; row < rows; ++row, grad += columns, x += columns, of_x += columns)
    for (uint64_t i = 0; i < columns; ++i) {
      const float z = x[i] + bias[i], s = share(z);
      const float slope = s + z * s * (1.0f - s) * TWICE_ROOT * (1.0f + 3.0f * CUBIC * z * z);
      of_x[i] = grad[i] * slope;
      of_bias[i] += of_x[i];
    }
  return 0;
}
