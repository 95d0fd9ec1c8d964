// Batches of matrices, in the dtypes of linear algebra.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

#include "tensor.h"
#include "threads.h"

namespace mt {

template <class T>
struct RealOf {
  using Type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using Type = R;
};
template <class T>
using Real = typename RealOf<T>::Type;
template <class T>
constexpr bool kIsComplex = !std::is_same_v<T, Real<T>>;

template <class T>
MT_INLINE T conjugate(T v) {
  if constexpr (kIsComplex<T>) return std::conj(v);
  return v;
}
template <class T>
MT_INLINE bool is_finite(T v) {
  if constexpr (kIsComplex<T>) return std::isfinite(v.real()) && std::isfinite(v.imag());
  else return std::isfinite(v);
}
// a -= b * c, without the care for infinity that complex products of the library take.
template <class T>
MT_INLINE void subtract_product(T& a, T b, T c) {
  if constexpr (kIsComplex<T>) {
    a = T(a.real() - (b.real() * c.real() - b.imag() * c.imag()), a.imag() - (b.real() * c.imag() + b.imag() * c.real()));
  } else {
    a -= b * c;
  }
}

// A batch of matrices.
template <class T>
struct Matrices {
  const mt_tensor* tensor;
  int64_t rows, columns, down, right;

  explicit Matrices(const mt_tensor* t)
      : tensor(t), rows(t->shape[t->ndim - 2]), columns(t->shape[t->ndim - 1]), down(t->strides[t->ndim - 2]), right(t->strides[t->ndim - 1]) {}
  T* at(int64_t item) const {
    int64_t offset = 0;
    for (int64_t d = tensor->ndim - 3; d >= 0; --d) {
      offset += item % tensor->shape[d] * tensor->strides[d];
      item /= tensor->shape[d];
    }
    return static_cast<T*>(tensor->data) + offset;
  }
  // Writes one by rows, or by columns: each with `step` numbers from one to the next. Returns whether all numbers are finite.
  bool by_rows(int64_t item, T* out) const { return moved(at(item), rows, columns, down, right, out, columns); }
  bool by_columns(int64_t item, T* out, int64_t step) const { return moved(at(item), columns, rows, right, down, out, step); }

 private:
  static bool moved(const T* in, int64_t lines, int64_t length, int64_t line, int64_t along, T* out, int64_t step) {
    bool finite = true;
    for (int64_t i = 0; i < lines; ++i)
      for (int64_t j = 0; j < length; ++j) {
        const T v = out[i * step + j] = in[i * line + j * along];
        finite &= is_finite(v);
      }
    return finite;
  }
};

inline int64_t items_of(const mt_tensor* t) {
  int64_t n = 1;
  for (int64_t d = 0; d < t->ndim - 2; ++d) n *= t->shape[d];
  return n;
}

// Whether a tensor is a contiguous batch of what has `trailing` dimensions, a batch of matrices' each.
inline bool beside(const mt_tensor* matrices, const mt_tensor* t, int64_t trailing) {
  if (matrices->ndim < 2 || t->ndim != matrices->ndim - 2 + trailing || !is_contiguous(t)) return false;
  for (int64_t d = 0; d < matrices->ndim - 2; ++d)
    if (t->shape[d] != matrices->shape[d]) return false;
  return true;
}

// Whether a tensor is a contiguous batch of matrices of a size, one for each of another batch.
inline bool beside(const mt_tensor* matrices, const mt_tensor* t, int64_t rows, int64_t columns) {
  return beside(matrices, t, 2) && t->shape[t->ndim - 2] == rows && t->shape[t->ndim - 1] == columns;
}

// As `beside`, of vectors of a length.
inline bool vectors_beside(const mt_tensor* matrices, const mt_tensor* t, int64_t length) {
  return beside(matrices, t, 1) && t->shape[t->ndim - 1] == length;
}

template <class F>
int by_dtype(int32_t dtype, F&& f) {
  switch (dtype) {
    case MT_F32:
      return f(float());
    case MT_F64:
      return f(double());
    case MT_C64:
      return f(std::complex<float>());
    case MT_C128:
      return f(std::complex<double>());
    default:
      return MT_ERROR_DTYPE;
  }
}

// Whether a dtype is that of a complex number's parts, or that of a real number itself.
inline bool is_real_of(int32_t real, int32_t dtype) {
  return real == (dtype == MT_C64 ? int32_t(MT_F32) : dtype == MT_C128 ? int32_t(MT_F64) : dtype);
}

}  // namespace mt
