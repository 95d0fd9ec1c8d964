/* CPU kernels of the definitions in operators.py. They return 0, or a code that becomes an error. */
#include <math.h>
#include <stdint.h>

#include "mindtorch_kernel.h"

int scaled_add(const float* x, const float* y, float* out, float scale, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) out[i] = x[i] + scale * y[i];
  return 0;
}

int scaled_add_grad(const float* grad, float* out, float scale, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) out[i] = scale * grad[i];
  return 0;
}

int layer_norm(const double* x, const double* weight, const double* bias, double* out, double* mean, double* rstd, int64_t rows,
               int64_t n, double eps) {
  for (int64_t r = 0; r < rows; ++r, x += n, out += n) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    mean[r] = sum / n;
    for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean[r]) * (x[i] - mean[r]);
    rstd[r] = 1 / sqrt(squares / n + eps);
    for (int64_t i = 0; i < n; ++i)
      out[i] = (x[i] - mean[r]) * rstd[r] * (weight ? weight[i] : 1) + (bias ? bias[i] : 0);
  }
  return 0;
}

struct row_sums_tiling {
  uint32_t rows, n;
  float scale;
};

int row_sums(const float* x, float* out, const struct row_sums_tiling* tiling) {
  for (uint32_t r = 0; r < tiling->rows; ++r) {
    out[r] = 0;
    for (uint32_t i = 0; i < tiling->n; ++i) out[r] += tiling->scale * x[r * tiling->n + i];
  }
  return 0;
}

int product(const mt_tensor* x, const mt_tensor* y, mt_tensor* out, double alpha) {
  const float *a = x->data, *b = y->data;
  float* to = out->data;
  int64_t n = 1;
  for (int64_t i = 0; i < out->ndim; ++i) n *= out->shape[i];
  for (int64_t i = 0; i < n; ++i) to[i] = a[i] * b[i] * (float)alpha;
  return 0;
}

/* Runs until Ctrl-C; the tensor has enough elements for the interpreter to be let go meanwhile. */
int endless(const float* x) {
  (void)x;
  while (!mt_interrupted()) continue;
  return 0;
}

int failing(const float* x, int32_t status) {
  (void)x;
  return status;
}

struct tile { int32_t n; };

int tiled(const float* x, const float* y, float* out, const struct tile* tile) {
  out[0] = (float)tile->n;
  return 0;
}
