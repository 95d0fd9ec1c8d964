// Factors of matrices, L U with exchanged rows, and what follows from them: solutions and determinants. Large ones are LAPACK's.
#include <utility>

#include "lapack.h"

namespace mt {
namespace {

// The size by which LAPACK chooses a pivot.
template <class T>
MT_INLINE Real<T> size_of(T v) {
  if constexpr (kIsComplex<T>) return std::fabs(v.real()) + std::fabs(v.imag());
  else return std::fabs(v);
}

// Rows before each other: returns the first column, from 1 on, in which nothing but 0 was left to divide by, else 0.
template <class T>
int32_t factor(T* a, int64_t rows, int64_t columns, int32_t* pivots) {
  int32_t singular = 0;
  for (int64_t k = 0; k < std::min(rows, columns); ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < rows; ++i)
      if (size_of(a[i * columns + k]) > size_of(a[best * columns + k])) best = i;
    pivots[k] = int32_t(best + 1);
    const T pivot = a[best * columns + k];
    if (pivot == T(0)) {
      if (singular == 0) singular = int32_t(k + 1);
      continue;
    }
    if (best != k) std::swap_ranges(a + k * columns, a + (k + 1) * columns, a + best * columns);
    for (int64_t i = k + 1; i < rows; ++i) {
      const T share = a[i * columns + k] /= pivot;
      for (int64_t j = k + 1; j < columns; ++j) subtract_product(a[i * columns + j], share, a[k * columns + j]);
    }
  }
  return singular;
}

// A X = B, or A^H X = B, of n rows and `count` columns, in place.
template <class T>
void solve(const T* lu, const int32_t* pivots, int64_t n, T* x, int64_t count, bool turned) {
  const auto exchange = [&](int64_t k) {
    if (pivots[k] != k + 1) std::swap_ranges(x + k * count, x + (k + 1) * count, x + (pivots[k] - 1) * count);
  };
  const auto take = [&](int64_t i, int64_t k, T share) {
    for (int64_t j = 0; j < count; ++j) subtract_product(x[i * count + j], share, x[k * count + j]);
  };
  const auto divide = [&](int64_t i, T by) {
    for (int64_t j = 0; j < count; ++j) x[i * count + j] /= by;
  };
  if (turned) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < i; ++k) take(i, k, conjugate(lu[k * n + i]));
      divide(i, conjugate(lu[i * n + i]));
    }
    for (int64_t i = n - 1; i >= 0; --i)
      for (int64_t k = i + 1; k < n; ++k) take(i, k, conjugate(lu[k * n + i]));
    for (int64_t k = n - 1; k >= 0; --k) exchange(k);
  } else {
    for (int64_t k = 0; k < n; ++k) exchange(k);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < i; ++k) take(i, k, lu[i * n + k]);
    for (int64_t i = n - 1; i >= 0; --i) {
      for (int64_t k = i + 1; k < n; ++k) take(i, k, lu[i * n + k]);
      divide(i, lu[i * n + i]);
    }
  }
}

int64_t grain(int64_t rows, int64_t columns, int64_t depth) { return rows_grain(rows * columns, std::max<int64_t>(depth, 1)); }

template <class T>
int factor_all(int64_t getrf, const mt_tensor* given, const mt_tensor* out, int32_t* pivots, int32_t* info) {
  const Matrices<T> from(given);
  const int64_t rank = std::min(from.rows, from.columns), size = from.rows * from.columns;
  int m = int(from.rows), n = int(from.columns);
  const LapackThreads few(getrf == 0 ? nullptr : given);
  return parallel(items_of(given), grain(from.rows, from.columns, rank), [&](int64_t first, int64_t last) -> int {
    const auto a = workspace<T>(getrf == 0 ? 0 : size);
    if (!a) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      T* to = static_cast<T*>(out->data) + first * size;
      if (getrf != 0) {
        from.by_columns(first, a.get(), from.rows);
        lapack(getrf, &m, &n, a.get(), &m, pivots + first * rank, info + first);
        for (int64_t i = 0; i < from.rows; ++i)
          for (int64_t j = 0; j < from.columns; ++j) to[i * from.columns + j] = a[size_t(i + j * from.rows)];
      } else {
        from.by_rows(first, to);
        info[first] = factor(to, from.rows, from.columns, pivots + first * rank);
      }
      if (pace.stops(size * rank)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

template <class T>
int solve_all(int64_t getrs, const mt_tensor* lu, int32_t* pivots, const mt_tensor* given, const mt_tensor* out, bool left, bool adjoint) {
  const Matrices<T> from(lu), right(given);
  const int64_t n = lu->shape[lu->ndim - 1], count = left ? right.columns : right.rows, size = n * count;
  const bool turns = left ? adjoint : !adjoint;
  char how = turns ? 'C' : 'N';
  int rows = int(n), columns = int(count);
  const LapackThreads few(getrs == 0 ? nullptr : lu);
  return parallel(items_of(lu), grain(n, count, n), [&](int64_t first, int64_t last) -> int {
    const auto own = workspace<T>(left && getrs == 0 ? 0 : size), a = workspace<T>(getrs == 0 ? 0 : n * n);
    if (!own || !a) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      const T* in = right.at(first);
      T* to = static_cast<T*>(out->data) + first * size;
      T* x = left && getrs == 0 ? to : own.get();  // X A = B is A^H X^H = B^H
      const int64_t down = getrs == 0 ? count : 1, along = getrs == 0 ? 1 : n;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < count; ++j)
          x[i * down + j * along] = left ? in[i * right.down + j * right.right] : conjugate(in[j * right.down + i * right.right]);
      if (getrs != 0) {
        from.by_columns(first, a.get(), n);
        int status = 0;
        lapack(getrs, &how, &rows, &columns, a.get(), &rows, pivots + first * n, x, &rows, &status);
      } else {
        solve(from.at(first), pivots + first * n, n, x, count, turns);
      }
      for (int64_t i = 0; x != to && i < n; ++i)
        for (int64_t j = 0; j < count; ++j) {
          const T v = x[i * down + j * along];
          to[left ? i * count + j : j * n + i] = left ? v : conjugate(v);
        }
      if (pace.stops(size * n)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

// The determinant, or its direction and the logarithm of its magnitude.
template <class T>
int determinants(const mt_tensor* lu, const int32_t* pivots, T* found, Real<T>* logs) {
  const int64_t n = lu->shape[lu->ndim - 1], items = items_of(lu);
  Pace pace;
  for (int64_t item = 0; item < items; ++item) {
    const T* a = static_cast<const T*>(lu->data) + item * n * n;
    T product(1);
    Real<T> sum(0), sign(1);
    for (int64_t k = 0; k < n; ++k) {
      const T v = a[k * n + k];
      if (pivots[item * n + k] != k + 1) sign = -sign;
      if (logs == nullptr) {
        product *= v;
        continue;
      }
      const Real<T> length = std::abs(v);
      product *= length == 0 ? T(0) : v / length;
      sum += std::log(length);
    }
    found[item] = product * sign;
    if (logs != nullptr) logs[item] = sum;
    if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

int determinants(const mt_tensor* lu, const mt_tensor* pivots, const mt_tensor* found, const mt_tensor* logs) {
  if (lu->ndim < 2 || !beside(lu, lu, 2) || !beside(lu, pivots, 1) || !beside(lu, found, 0)) return MT_ERROR_SHAPE;
  const int64_t n = lu->shape[lu->ndim - 1];
  if (lu->shape[lu->ndim - 2] != n || pivots->shape[pivots->ndim - 1] != n) return MT_ERROR_SHAPE;
  if (lu->dtype != found->dtype || pivots->dtype != MT_I32) return MT_ERROR_DTYPE;
  if (logs != nullptr && !beside(lu, logs, 0)) return MT_ERROR_SHAPE;
  return by_dtype(lu->dtype, [&](auto like) -> int {
    using T = decltype(like);
    if (logs != nullptr && (is_complex(logs->dtype) || logs->itemsize != int32_t(sizeof(Real<T>)))) return MT_ERROR_DTYPE;
    return determinants<T>(lu, static_cast<const int32_t*>(pivots->data), static_cast<T*>(found->data),
                           logs == nullptr ? nullptr : static_cast<Real<T>*>(logs->data));
  });
}

}  // namespace
}  // namespace mt

// L and U of each matrix in one, with the row that each row was exchanged with, from 1 on, and the first 0 in U's diagonal. Outputs
// are contiguous. With the address of LAPACK's getrf it is what finds them: that of small ones is 0.
MT_EXPORT int mt_lu(int64_t getrf, const mt_tensor* given, const mt_tensor* out, const mt_tensor* pivots, const mt_tensor* info) {
  if (given->ndim < 2 || !mt::same_shape(given, out) || !mt::is_contiguous(out)) return MT_ERROR_SHAPE;
  if (!mt::beside(given, pivots, 1) || !mt::beside(given, info, 0)) return MT_ERROR_SHAPE;
  const int64_t rank = std::min(given->shape[given->ndim - 2], given->shape[given->ndim - 1]);
  if (pivots->shape[pivots->ndim - 1] != rank || !mt::fit_lapack(given->shape[given->ndim - 2], given->shape[given->ndim - 1])) return MT_ERROR_SHAPE;
  if (given->dtype != out->dtype || pivots->dtype != MT_I32 || info->dtype != MT_I32) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) {
    return mt::factor_all<decltype(like)>(getrf, given, out, static_cast<int32_t*>(pivots->data), static_cast<int32_t*>(info->data));
  });
}

// X with A X = B, or X A = B, of what `mt_lu` made of A; or with A^H. All but B are contiguous; the batches are the same. With the
// address of LAPACK's getrs it is what solves them: that of small ones is 0.
MT_EXPORT int mt_lu_solve(int64_t getrs, const mt_tensor* lu, const mt_tensor* pivots, const mt_tensor* given, const mt_tensor* out, int64_t left,
                          int64_t adjoint) {
  if (lu->ndim < 2 || !mt::beside(lu, lu, 2) || !mt::beside(lu, pivots, 1) || !mt::beside(lu, out, 2)) return MT_ERROR_SHAPE;
  const int64_t n = lu->shape[lu->ndim - 1];
  if (lu->shape[lu->ndim - 2] != n || pivots->shape[pivots->ndim - 1] != n || !mt::same_shape(given, out)) return MT_ERROR_SHAPE;
  if (given->shape[given->ndim - (left ? 2 : 1)] != n) return MT_ERROR_SHAPE;
  if (lu->dtype != given->dtype || lu->dtype != out->dtype || pivots->dtype != MT_I32) return MT_ERROR_DTYPE;
  if (!mt::fit_lapack(n, given->shape[given->ndim - (left ? 1 : 2)])) return MT_ERROR_SHAPE;
  int32_t* exchanged = static_cast<int32_t*>(pivots->data);
  for (int64_t i = 0; i < mt::numel(pivots); ++i)
    if (exchanged[i] < 1 || exchanged[i] > n) return MT_ERROR_INDEX;
  return mt::by_dtype(lu->dtype, [&](auto like) {
    return mt::solve_all<decltype(like)>(getrs, lu, exchanged, given, out, left != 0, adjoint != 0);
  });
}

// The determinants of what `mt_lu` made factors of. Contiguous.
MT_EXPORT int mt_lu_det(const mt_tensor* lu, const mt_tensor* pivots, const mt_tensor* found) {
  return mt::determinants(lu, pivots, found, nullptr);
}

// Their directions, and the logarithms of their magnitudes.
MT_EXPORT int mt_lu_slogdet(const mt_tensor* lu, const mt_tensor* pivots, const mt_tensor* directions, const mt_tensor* logs) {
  return mt::determinants(lu, pivots, directions, logs);
}
