// Softmax, log-softmax and their gradients along one dimension; rows are computed in float32 or float64.
// Fused multiply-adds, where the processor has them, for the polynomials of exponentials.
#pragma GCC optimize("fp-contract=fast")

#include <algorithm>
#include <limits>
#include <vector>

#include "lines.h"
#include "tensor.h"
#include "threads.h"
#include "vmath.h"

namespace mt {
namespace {

// Calls f(first, count) for the stretches of a row, whose passes are as long as it is.
template <class F>
MT_INLINE int stretches(int64_t n, Pace& pace, F&& f) {
  for (int64_t first = 0; first < n; first += kStretch) {
    const int64_t count = std::min(kStretch, n - first);
    f(first, count);
    if (pace.stops(count)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}
// A part of a row function, which must be compiled with it for its instruction set.
#define STRETCH(...) [__VA_ARGS__](int64_t first, int64_t count) __attribute__((always_inline))

constexpr int64_t kRowWeight = 8;  // what an element costs, beside one of a sum

template <class T>
MT_INLINE int row_max(const T* x, int64_t n, Pace& pace, T* result) {
  T m = -std::numeric_limits<T>::infinity();
  const int status = stretches(n, pace, STRETCH(&) {
    const T largest = block_max(x + first, count);
    m = largest > m ? largest : m;
  });
  *result = m;
  return status;
}

template <class T>
MT_INLINE int row_sum(const T* x, int64_t n, Pace& pace, double* result) {
  double total = 0;
  const int status = stretches(n, pace, STRETCH(&) { total += block_sum(x + first, count); });
  *result = total;
  return status;
}

// Each row function: `out` from `a` (and `b`), all contiguous rows of n; out may be a.
template <class T>
struct Softmax {
  MT_INLINE static int run(void* out_, const void* a_, const void*, int64_t n, Pace* pace) {
    T* out = static_cast<T*>(out_);
    const T* x = static_cast<const T*>(a_);
    T m;
    if (int status = row_max(x, n, *pace, &m)) return status;
    if (int status = stretches(n, *pace, STRETCH(=) {
          for (int64_t i = first; i < first + count; ++i) out[i] = vexp(x[i] - m);
        }))
      return status;
    double total;
    if (int status = row_sum(out, n, *pace, &total)) return status;
    const T scale = T(1.0 / total);
    return stretches(n, *pace, STRETCH(=) {
      for (int64_t i = first; i < first + count; ++i) out[i] *= scale;
    });
  }
};

template <class T>
struct LogSoftmax {
  MT_INLINE static int run(void* out_, const void* a_, const void*, int64_t n, Pace* pace) {
    T* out = static_cast<T*>(out_);
    const T* x = static_cast<const T*>(a_);
    T m;
    if (int status = row_max(x, n, *pace, &m)) return status;
    double total = 0;
    T block[kBlock];  // the exponentials are needed for their sum only
    for (int64_t start = 0; start < n; start += kBlock) {
      const int64_t count = std::min(kBlock, n - start);
      for (int64_t i = 0; i < count; ++i) block[i] = vexp(x[start + i] - m);
      total += block_sum(block, count);
      if (pace->stops(count)) return MT_ERROR_INTERRUPTED;
    }
    const T log_total = T(std::log(total));
    return stretches(n, *pace, STRETCH(=) {
      for (int64_t i = first; i < first + count; ++i) out[i] = x[i] - m - log_total;
    });
  }
};

// a: gradient, b: the softmax itself. out = b * (a - sum(a * b))
template <class T>
struct SoftmaxBackward {
  MT_INLINE static int run(void* out_, const void* a_, const void* b_, int64_t n, Pace* pace) {
    T* out = static_cast<T*>(out_);
    const T* grad = static_cast<const T*>(a_);
    const T* y = static_cast<const T*>(b_);
    double dot = 0;
    if (int status = stretches(n, *pace, STRETCH(&) {
          dot += block_dot(grad + first, y + first, count);
        }))
      return status;
    const T d = T(dot);
    return stretches(n, *pace, STRETCH(=) {
      for (int64_t i = first; i < first + count; ++i) out[i] = y[i] * (grad[i] - d);
    });
  }
};

// a: gradient, b: the log-softmax itself. out = a - exp(b) * sum(a)
template <class T>
struct LogSoftmaxBackward {
  MT_INLINE static int run(void* out_, const void* a_, const void* b_, int64_t n, Pace* pace) {
    T* out = static_cast<T*>(out_);
    const T* grad = static_cast<const T*>(a_);
    const T* y = static_cast<const T*>(b_);
    double sum;
    if (int status = row_sum(grad, n, *pace, &sum)) return status;
    const T total = T(sum);
    return stretches(n, *pace, STRETCH(=) {
      for (int64_t i = first; i < first + count; ++i) out[i] = grad[i] - vexp(y[i]) * total;
    });
  }
};

// Applies a row function along `dim` of operands of one shape, to its rows from `first` to `last`: [0] the output, then one
// or two inputs.
template <template <class> class Row, class T>
int rows(const mt_tensor* const* operands, int count, int64_t dim, int64_t first, int64_t last) {
  static const auto fn = PerIsa<Row<T>, void*, const void*, const void*, int64_t, Pace*>::pick();
  const int32_t dtype = sizeof(T) == 4 ? MT_F32 : MT_F64;
  const mt_tensor* out = operands[0];
  const int64_t n = out->ndim == 0 ? 1 : out->shape[dim];
  int64_t stride[3] = {}, offset[3] = {}, index[kMaxDims] = {};
  bool direct[3] = {};
  std::vector<T> buffers[3];
  CastFn cast[3] = {};
  Pace pace;
  for (int k = 0; k < count; ++k) {
    stride[k] = out->ndim == 0 ? 1 : operands[k]->strides[dim];
    direct[k] = operands[k]->dtype == dtype && (stride[k] == 1 || n == 1);
    if (!direct[k]) buffers[k].resize(size_t(n));
    cast[k] = k == 0 ? cast_fn(out->dtype, dtype) : cast_fn(dtype, operands[k]->dtype);
  }
  int64_t left = first;
  for (int64_t d = out->ndim - 1; d >= 0; --d) {
    if (d == dim) continue;
    index[d] = left % out->shape[d];
    left /= out->shape[d];
    for (int k = 0; k < count; ++k) offset[k] += index[d] * operands[k]->strides[d];
  }
  for (int64_t row = first; row < last; ++row) {
    void* p[3] = {};
    char* address[3] = {};
    for (int k = 0; k < count; ++k) {
      address[k] = static_cast<char*>(operands[k]->data) + offset[k] * operands[k]->itemsize;
      p[k] = direct[k] ? static_cast<void*>(address[k]) : buffers[k].data();
      if (!direct[k] && k > 0) cast[k](p[k], 1, address[k], stride[k], n);
    }
    if (int status = fn(p[0], p[1], p[2], n, &pace)) return status;
    if (!direct[0]) cast[0](address[0], stride[0], p[0], 1, n);
    for (int64_t d = out->ndim - 1; d >= 0; --d) {
      if (d == dim) continue;
      for (int k = 0; k < count; ++k) offset[k] += operands[k]->strides[d];
      if (++index[d] < out->shape[d]) break;
      for (int k = 0; k < count; ++k) offset[k] -= operands[k]->strides[d] * out->shape[d];
      index[d] = 0;
    }
  }
  return MT_OK;
}

template <template <class> class Row>
int along(const mt_tensor* const* operands, int count, int64_t dim) {
  const mt_tensor* out = operands[0];
  if (out->ndim > kMaxDims) return MT_ERROR_SHAPE;
  for (int k = 0; k < count; ++k) {
    if (!is_floating(operands[k]->dtype)) return MT_ERROR_DTYPE;
    if (!same_shape(out, operands[k])) return MT_ERROR_SHAPE;
  }
  const int64_t dims = out->ndim == 0 ? 1 : out->ndim;
  if (dim < 0) dim += dims;
  if (dim < 0 || dim >= dims) return MT_ERROR_INDEX;
  const int64_t total = numel(out), length = out->ndim == 0 ? 1 : out->shape[dim];
  if (total == 0) return MT_OK;
  const bool wide = compute_dtype(out->dtype) == MT_F64;
  return parallel(total / length, rows_grain(length, kRowWeight), [=](int64_t first, int64_t last) -> int {
    return wide ? rows<Row, double>(operands, count, dim, first, last) : rows<Row, float>(operands, count, dim, first, last);
  });
}

template <template <class> class Row>
int along_one_dtype(const mt_tensor* const* operands, int count, int64_t dim) {
  for (int k = 1; k < count; ++k)
    if (operands[k]->dtype != operands[0]->dtype) return MT_ERROR_DTYPE;
  return along<Row>(operands, count, dim);
}

}  // namespace
}  // namespace mt

MT_EXPORT int mt_softmax(const mt_tensor* self, const mt_tensor* out, int64_t dim) {
  const mt_tensor* operands[] = {out, self};
  return mt::along<mt::Softmax>(operands, 2, dim);
}
MT_EXPORT int mt_log_softmax(const mt_tensor* self, const mt_tensor* out, int64_t dim) {
  const mt_tensor* operands[] = {out, self};
  return mt::along<mt::LogSoftmax>(operands, 2, dim);
}
MT_EXPORT int mt_softmax_backward(const mt_tensor* grad, const mt_tensor* output, const mt_tensor* out, int64_t dim) {
  const mt_tensor* operands[] = {out, grad, output};
  return mt::along_one_dtype<mt::SoftmaxBackward>(operands, 3, dim);
}
MT_EXPORT int mt_log_softmax_backward(const mt_tensor* grad, const mt_tensor* output, const mt_tensor* out,
                                      int64_t dim) {
  const mt_tensor* operands[] = {out, grad, output};
  return mt::along_one_dtype<mt::LogSoftmaxBackward>(operands, 3, dim);
}
