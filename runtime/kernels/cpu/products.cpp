// Matrix products of tensors, and of batches of them, in the dtype that they are computed in.
#include <algorithm>

#include "matmul.h"
#include "temporary.h"
#include "threads.h"

MT_EXPORT int mt_mul_scalar(const mt_tensor* self, double number, const mt_tensor* out);

namespace mt {
namespace {

Size size_of(const mt_tensor* a, const mt_tensor* b) {
  const int64_t d = a->ndim - 2;
  return {a->shape[d], b->shape[d + 1], a->shape[d + 1]};
}

// The matrix that is the last two dimensions, at a place in the batch.
template <class T>
Matrix<T> matrix_of(const mt_tensor* t, int64_t batch = 0) {
  const int64_t d = t->ndim - 2;
  return {static_cast<T*>(t->data) + (d ? batch * t->strides[0] : 0), t->strides[d], t->strides[d + 1]};
}

// Products of a batch that are worth a thread.
int64_t items_grain(const Size& size) { return std::max<int64_t>(1, kThreadedProduct / std::max<int64_t>(1, size.m * size.n * size.k)); }

// Whether the product of bfloat16 matrices is computed from them as they are.
bool takes_bfloat16(const mt_tensor* a, const mt_tensor* b, const mt_tensor* c) {
  if (a->dtype != MT_BF16 || b->dtype != MT_BF16 || c->dtype != MT_BF16) return false;
  const Size size = size_of(a, b);
  return size.m * size.n * size.k > kSmallProduct && (multiplies_pairs() || is_one_line(size, matrix_of<const BFloat16>(a), matrix_of<const BFloat16>(b)));
}

template <class T>
int batched(const mt_tensor* a, const mt_tensor* b, const mt_tensor* c, double alpha, const mt_tensor* before) {
  const int64_t batches = a->ndim == 3 ? a->shape[0] : 1;
  const Size size = size_of(a, b);
  return parallel(batches, items_grain(size), [&](int64_t first, int64_t last) -> int {
    for (int64_t i = first; i < last; ++i) {
      Before<T> old;
      if (before != nullptr) old = Before<T>::of(matrix_of<T>(before, i));
      if (int status = product(size, matrix_of<const T>(a, i), matrix_of<const T>(b, i), matrix_of<T>(c, i), alpha, old)) return status;
    }
    return MT_OK;
  });
}

// The same of bfloat16: each product is one of float32, which is rounded once it is whole.
int batched_bfloat16(const mt_tensor* a, const mt_tensor* b, const mt_tensor* c, double alpha, const mt_tensor* before) {
  static const CastFn widen = cast_fn(MT_F32, MT_BF16), round = cast_fn(MT_BF16, MT_F32);
  const int64_t batches = a->ndim == 3 ? a->shape[0] : 1;
  const Size size = size_of(a, b);
  const auto each_row = [&](int64_t rows, auto&& convert) {
    parallel(rows, rows_grain(size.n), [&](int64_t row, int64_t end) -> int {
      for (; row < end; ++row) convert(row);
      return MT_OK;
    });
  };
  return parallel(batches, items_grain(size), [&](int64_t first, int64_t last) -> int {
    const Panels<float> memory((before == nullptr ? 1 : 2) * size.m * size.n);
    if (!memory.data) return MT_ERROR_MEMORY;
    const Matrix<float> wide{memory.data.get(), size.n, 1};
    for (int64_t i = first; i < last; ++i) {
      Before<float> old;
      if (before != nullptr) {
        const auto given = matrix_of<BFloat16>(before, i);
        float* const to = wide.data + size.m * size.n;
        each_row(given.row == 0 ? 1 : size.m, [&](int64_t row) { widen(to + row * size.n, 1, &given.at(row, 0), given.column, size.n); });
        old = {to, given.row == 0 ? 0 : size.n};
      }
      if (int status = product(size, matrix_of<const BFloat16>(a, i), matrix_of<const BFloat16>(b, i), wide, alpha, old)) return status;
      const auto result = matrix_of<BFloat16>(c, i);
      each_row(size.m, [&](int64_t row) { round(&result.at(row, 0), result.column, wide.data + row * size.n, 1, size.n); });
    }
    return MT_OK;
  });
}

// A tensor in the shape of another one, to which it is broadcast.
struct Broadcast {
  int64_t strides[3] = {};
  mt_tensor tensor;
  bool fits;

  Broadcast(const mt_tensor* self, const mt_tensor* out) : tensor(*self), fits(self->ndim <= out->ndim && self->dtype == out->dtype) {
    tensor.ndim = out->ndim;
    tensor.shape = out->shape;
    tensor.strides = strides;
    for (int64_t d = 0; fits && d < self->ndim; ++d) {
      const int64_t at = out->ndim - self->ndim + d;
      fits = self->shape[d] == out->shape[at] || self->shape[d] == 1;
      strides[at] = self->shape[d] == 1 ? 0 : self->strides[d];
    }
  }
  // Whether a product can read it while it is written: its rows are contiguous, and it is `out` itself or lies elsewhere.
  bool is_readable(const mt_tensor* out) const {
    if (!fits || (strides[tensor.ndim - 1] != 1 && tensor.shape[tensor.ndim - 1] != 1)) return false;
    if (tensor.data == out->data && std::equal(strides, strides + out->ndim, out->strides)) return true;
    return end(&tensor) <= out->data || end(out) <= tensor.data;
  }
  static const void* end(const mt_tensor* t) {
    int64_t last = 0;
    for (int64_t d = 0; d < t->ndim; ++d) last += (t->shape[d] - 1) * t->strides[d];
    return static_cast<const char*>(t->data) + (last + 1) * t->itemsize;
  }
};

int check(const mt_tensor* a, const mt_tensor* b, const mt_tensor* c) {
  const int64_t n = a->ndim;
  if ((n != 2 && n != 3) || b->ndim != n || c->ndim != n) return MT_ERROR_SHAPE;
  if (n == 3 && (a->shape[0] != b->shape[0] || a->shape[0] != c->shape[0])) return MT_ERROR_SHAPE;
  const bool fits = a->shape[n - 1] == b->shape[n - 2] && c->shape[n - 2] == a->shape[n - 2] &&
                    c->shape[n - 1] == b->shape[n - 1];
  return fits ? MT_OK : MT_ERROR_SHAPE;
}

// c = before + alpha * a @ b, where `before` is c, or of its shape and dtype and with contiguous rows, or null for zeros; in the compute
// dtype of c, through temporaries for operands that are not of it.
int accumulate(const mt_tensor* a, const mt_tensor* b, const mt_tensor* c, double alpha, const mt_tensor* before) {
  const int32_t dtype = compute_dtype(c->dtype);
  if (c->dtype == MT_BOOL || dtype < 0 || is_complex(a->dtype) || is_complex(b->dtype)) return MT_ERROR_DTYPE;
  if (takes_bfloat16(a, b, c)) return batched_bfloat16(a, b, c, alpha, before);
  if (a->dtype != dtype) {
    Temporary t(a, dtype);
    if (!t.memory) return MT_ERROR_MEMORY;
    if (int status = mt_copy(a, &t.tensor)) return status;
    return accumulate(&t.tensor, b, c, alpha, before);
  }
  if (b->dtype != dtype) {
    Temporary t(b, dtype);
    if (!t.memory) return MT_ERROR_MEMORY;
    if (int status = mt_copy(b, &t.tensor)) return status;
    return accumulate(a, &t.tensor, c, alpha, before);
  }
  if (c->dtype != dtype || (c->strides[c->ndim - 1] != 1 && c->shape[c->ndim - 1] != 1)) {
    Temporary t(c, dtype);
    if (!t.memory) return MT_ERROR_MEMORY;
    if (before != nullptr)
      if (int status = mt_copy(before, &t.tensor)) return status;
    if (int status = accumulate(a, b, &t.tensor, alpha, before == nullptr ? nullptr : &t.tensor)) return status;
    return mt_copy(&t.tensor, c);
  }
  if (numel(c) == 0) return MT_OK;
  if (dtype == MT_F32) return batched<float>(a, b, c, alpha, before);
  if (dtype == MT_F64) return batched<double>(a, b, c, alpha, before);
  return batched<int64_t>(a, b, c, alpha, before);
}

}  // namespace
}  // namespace mt

// out = self @ mat2, for matrices or for equally long batches of matrices
MT_EXPORT int mt_matmul(const mt_tensor* self, const mt_tensor* mat2, const mt_tensor* out) {
  if (int status = mt::check(self, mat2, out)) return status;
  return mt::accumulate(self, mat2, out, 1, nullptr);
}

// out = beta * self + alpha * mat1 @ mat2; self is broadcast, and not read where beta is 0
MT_EXPORT int mt_addmm(const mt_tensor* self, const mt_tensor* mat1, const mt_tensor* mat2, const mt_tensor* out,
                       double beta, double alpha) {
  if (int status = mt::check(mat1, mat2, out)) return status;
  if (!mt::holds_factor(out->dtype, beta) || !mt::holds_factor(out->dtype, alpha)) return MT_ERROR_OVERFLOW;
  if (beta == 0) return mt::accumulate(mat1, mat2, out, alpha, nullptr);
  mt::Broadcast before(self, out);
  if (beta == 1 && before.is_readable(out)) return mt::accumulate(mat1, mat2, out, alpha, &before.tensor);
  if (beta != 1 || self != out)
    if (int status = beta == 1 ? mt_copy(self, out) : mt_mul_scalar(self, beta, out)) return status;
  return mt::accumulate(mat1, mat2, out, alpha, out);
}
