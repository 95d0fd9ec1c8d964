// Triangles: Cholesky's factors and those of L D L^H by LAPACK, equations whose matrix is a triangle, and what factors of L U stand for.
#include "lapack.h"

namespace mt {
namespace {

template <class T>
int cholesky(int64_t potrf, const mt_tensor* given, const mt_tensor* out, int32_t* info, bool upper) {
  const Matrices<T> from(given);
  const int64_t size = from.rows;
  // Rows in memory are columns to LAPACK, so that it reads and writes the other triangle, of A^T = conj(A).
  char triangle = upper ? 'L' : 'U';
  int n = int(size);
  const LapackThreads few(given);
  return parallel(items_of(given), rows_grain(size * size, size), [&](int64_t first, int64_t last) -> int {
    Pace pace;
    for (; first < last; ++first) {
      T* to = static_cast<T*>(out->data) + first * size * size;
      from.by_rows(first, to);
      int fault = 0;
      lapack(potrf, &triangle, &n, to, &n, &fault);
      info[first] = fault;
      for (int64_t i = 0; i < size; ++i) std::fill(to + i * size + (upper ? 0 : i + 1), to + i * size + (upper ? i : size), T(0));
      if (pace.stops(size * size * size)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

// L and D in one lower triangle, and the exchanges of rows.
template <class T>
int ldl(int64_t trf, const mt_tensor* given, const mt_tensor* out, int32_t* pivots, int32_t* info) {
  const Matrices<T> from(given);
  const int64_t size = from.rows;
  char triangle = 'L';
  int n = int(size);
  const LapackThreads few(given);
  return parallel(items_of(given), matrices_grain(size, size), [&](int64_t first, int64_t last) -> int {
    const auto a = workspace<T>(size * size);
    if (!a) return MT_ERROR_MEMORY;
    T said{};
    int length = -1, none = 0;
    lapack(trf, &triangle, &n, a.get(), &n, pivots, &said, &length, &none);
    length = wanted(said);
    const auto work = workspace<T>(length);
    if (!work) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      T* to = static_cast<T*>(out->data) + first * size * size;
      from.by_columns(first, a.get(), size);
      lapack(trf, &triangle, &n, a.get(), &n, pivots + first * size, work.get(), &length, info + first);
      for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < size; ++j) to[i * size + j] = i >= j ? a[size_t(i + j * size)] : T(0);
      if (pace.stops(size * size * size)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

// Whether LAPACK can follow exchanges from both ends: rows from 1 on, or two negative ones beside each other for a block of D.
bool are_exchanges(const int32_t* pivots, int64_t n) {
  for (int64_t k = 0; k < n; ++k) {
    const bool is_block = pivots[k] < 0;
    if (is_block && (k + 1 == n || pivots[k + 1] >= 0 || pivots[k] < -n)) return false;
    k += int64_t(is_block);
    if (pivots[k] == 0 || pivots[k] > n || pivots[k] < -n) return false;
  }
  return true;
}

template <class T>
int ldl_solve(int64_t trs, const mt_tensor* factors, int32_t* pivots, const mt_tensor* given, const mt_tensor* out) {
  const Matrices<T> from(factors), right(given);
  const int64_t size = from.rows, count = right.columns;
  char triangle = 'L';
  int n = int(size), columns = int(count);
  const LapackThreads few(factors);
  return parallel(items_of(given), rows_grain(size * count, size), [&](int64_t first, int64_t last) -> int {
    const auto a = workspace<T>(size * size), b = workspace<T>(size * count);
    if (!a || !b) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      if (!are_exchanges(pivots + first * size, size)) return MT_ERROR_INDEX;
      from.by_columns(first, a.get(), size);
      right.by_columns(first, b.get(), size);
      int fault = 0;
      lapack(trs, &triangle, &n, &columns, a.get(), &n, pivots + first * size, b.get(), &n, &fault);
      rows_of_columns(b.get(), size, size, count, static_cast<T*>(out->data) + first * size * count);
      if (pace.stops(size * size * count)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

// What is read of a triangle.
struct Triangle {
  bool upper, ones;
};

// A X = B in place, of x with contiguous rows.
template <class T>
void solve_left(const T* a, int64_t down, int64_t right, int64_t n, T* x, int64_t count, Triangle given) {
  for (int64_t done = 0; done < n; ++done) {
    const int64_t i = given.upper ? n - 1 - done : done;
    T* row = x + i * count;
    for (int64_t k = given.upper ? i + 1 : 0; k < (given.upper ? n : i); ++k) {
      const T share = a[i * down + k * right];
      for (int64_t j = 0; j < count; ++j) subtract_product(row[j], share, x[k * count + j]);
    }
    if (given.ones) continue;
    const T by = a[i * (down + right)];
    for (int64_t j = 0; j < count; ++j) row[j] /= by;
  }
}

// X A = B in place, of x with contiguous rows.
template <class T>
void solve_right(const T* a, int64_t down, int64_t right, int64_t n, T* x, int64_t count, Triangle given) {
  for (int64_t i = 0; i < count; ++i) {
    T* row = x + i * n;
    for (int64_t done = 0; done < n; ++done) {
      const int64_t k = given.upper ? done : n - 1 - done;
      if (!given.ones) row[k] /= a[k * (down + right)];
      for (int64_t j = given.upper ? k + 1 : 0; j < (given.upper ? n : k); ++j) subtract_product(row[j], row[k], a[k * down + j * right]);
    }
  }
}

template <class T>
int solve_triangles(int64_t trsm, const mt_tensor* triangles, const mt_tensor* given, const mt_tensor* out, bool left, Triangle triangle) {
  const Matrices<T> from(triangles), right(given);
  const int64_t n = from.rows, rows = right.rows, columns = right.columns, count = left ? columns : rows;
  // To BLAS, rows in memory are columns: it solves X^T A^T = B^T, or A^T X^T = B^T.
  char side = left ? 'R' : 'L', upper = triangle.upper ? 'L' : 'U', turned = 'N', ones = triangle.ones ? 'U' : 'N';
  int size = int(n), m = int(columns), many = int(rows);
  const LapackThreads few(trsm == 0 ? nullptr : triangles);
  return parallel(items_of(given), rows_grain(n * count, n), [&](int64_t first, int64_t last) -> int {
    const auto a = workspace<T>(trsm == 0 ? 0 : n * n);
    if (!a) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      T* to = static_cast<T*>(out->data) + first * rows * columns;
      right.by_rows(first, to);
      if (trsm != 0) {
        T one(1);
        from.by_rows(first, a.get());
        lapack(trsm, &side, &upper, &turned, &ones, &m, &many, &one, a.get(), &size, to, &m);
      } else if (left) {
        solve_left(from.at(first), from.down, from.right, n, to, count, triangle);
      } else {
        solve_right(from.at(first), from.down, from.right, n, to, count, triangle);
      }
      if (pace.stops(n * n * count)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

// P, whose rows are exchanged in the order of the pivots, L and U.
template <class T>
int unpack(const mt_tensor* given, const mt_tensor* pivots, const mt_tensor* p, const mt_tensor* l, const mt_tensor* u) {
  const Matrices<T> from(given);
  const int64_t rows = from.rows, columns = from.columns, rank = std::min(rows, columns);
  return parallel(items_of(given), rows_grain(rows * (rows + columns)), [&](int64_t first, int64_t last) -> int {
    const auto order = workspace<int64_t>(rows);
    if (!order) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      const T* in = from.at(first);
      if (l->ndim > 1) {
        T *lower = static_cast<T*>(l->data) + first * rows * rank, *upper = static_cast<T*>(u->data) + first * rank * columns;
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < rank; ++j) lower[i * rank + j] = i > j ? in[i * from.down + j * from.right] : T(i == j);
        for (int64_t i = 0; i < rank; ++i)
          for (int64_t j = 0; j < columns; ++j) upper[i * columns + j] = i <= j ? in[i * from.down + j * from.right] : T(0);
      }
      if (p->ndim > 1) {
        const int32_t* exchanged = static_cast<const int32_t*>(pivots->data) + first * rank;
        for (int64_t i = 0; i < rows; ++i) order[size_t(i)] = i;
        for (int64_t k = 0; k < rank; ++k) {
          if (exchanged[k] < 1 || exchanged[k] > rows) return MT_ERROR_INDEX;
          std::swap(order[size_t(k)], order[size_t(exchanged[k] - 1)]);
        }
        T* permutation = static_cast<T*>(p->data) + first * rows * rows;
        std::fill(permutation, permutation + rows * rows, T(0));
        for (int64_t i = 0; i < rows; ++i) permutation[order[size_t(i)] * rows + i] = T(1);
      }
      if (pace.stops(rows * (rows + columns))) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

}  // namespace
}  // namespace mt

// L with A = L L^H, or U with A = U^H U; `info` is the first minor that is not positive, or 0.
MT_EXPORT int mt_cholesky(int64_t potrf, const mt_tensor* given, const mt_tensor* out, const mt_tensor* info, int64_t upper) {
  if (given->ndim < 2) return MT_ERROR_SHAPE;
  const int64_t size = given->shape[given->ndim - 1];
  if (given->shape[given->ndim - 2] != size || !mt::beside(given, out, size, size)) return MT_ERROR_SHAPE;
  if (!mt::beside(given, info, 0) || !mt::fit_lapack(size)) return MT_ERROR_SHAPE;
  if (given->dtype != out->dtype || info->dtype != MT_I32) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) {
    return mt::cholesky<decltype(like)>(potrf, given, out, static_cast<int32_t*>(info->data), upper != 0);
  });
}

// L and D of matrices of which the lower triangle is read, by sytrf or hetrf: `info` is the first block of D that is singular, or 0.
MT_EXPORT int mt_ldl(int64_t trf, const mt_tensor* given, const mt_tensor* out, const mt_tensor* pivots, const mt_tensor* info) {
  if (given->ndim < 2) return MT_ERROR_SHAPE;
  const int64_t size = given->shape[given->ndim - 1];
  if (given->shape[given->ndim - 2] != size || !mt::beside(given, out, size, size) || !mt::fit_lapack(size)) return MT_ERROR_SHAPE;
  if (!mt::vectors_beside(given, pivots, size) || !mt::beside(given, info, 0)) return MT_ERROR_SHAPE;
  if (given->dtype != out->dtype || pivots->dtype != MT_I32 || info->dtype != MT_I32) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) {
    return mt::ldl<decltype(like)>(trf, given, out, static_cast<int32_t*>(pivots->data), static_cast<int32_t*>(info->data));
  });
}

// X with A X = B, of what `mt_ldl` made of A, by sytrs or hetrs.
MT_EXPORT int mt_ldl_solve(int64_t trs, const mt_tensor* factors, const mt_tensor* pivots, const mt_tensor* given, const mt_tensor* out) {
  if (factors->ndim < 2 || given->ndim != factors->ndim || !mt::same_shape(given, out)) return MT_ERROR_SHAPE;
  const int64_t size = factors->shape[factors->ndim - 1], count = given->shape[given->ndim - 1];
  if (factors->shape[factors->ndim - 2] != size || !mt::beside(factors, out, size, count) || !mt::fit_lapack(size, count)) return MT_ERROR_SHAPE;
  if (!mt::vectors_beside(factors, pivots, size)) return MT_ERROR_SHAPE;
  if (factors->dtype != given->dtype || given->dtype != out->dtype || pivots->dtype != MT_I32) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) {
    return mt::ldl_solve<decltype(like)>(trs, factors, static_cast<int32_t*>(pivots->data), given, out);
  });
}

// X with A X = B, or X A = B, of triangles, in whose diagonal ones are taken to be where `ones` says so. With the address of BLAS's trsm it
// is what solves them: that of small ones is 0.
MT_EXPORT int mt_solve_triangles(int64_t trsm, const mt_tensor* triangles, const mt_tensor* given, const mt_tensor* out, int64_t left, int64_t upper,
                                 int64_t ones) {
  if (triangles->ndim < 2 || given->ndim != triangles->ndim) return MT_ERROR_SHAPE;
  const int64_t n = triangles->shape[triangles->ndim - 1], rows = given->shape[given->ndim - 2], columns = given->shape[given->ndim - 1];
  if (triangles->shape[triangles->ndim - 2] != n || n != (left ? rows : columns) || !mt::same_shape(given, out)) return MT_ERROR_SHAPE;
  if (!mt::beside(triangles, out, rows, columns) || !mt::fit_lapack(rows, columns)) return MT_ERROR_SHAPE;
  if (triangles->dtype != given->dtype || given->dtype != out->dtype) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) {
    return mt::solve_triangles<decltype(like)>(trsm, triangles, given, out, left != 0, {upper != 0, ones != 0});
  });
}

// P, L and U of what factors stand for; P, and L and U, have one dimension where they are not wanted.
MT_EXPORT int mt_lu_unpack(const mt_tensor* given, const mt_tensor* pivots, const mt_tensor* p, const mt_tensor* l, const mt_tensor* u) {
  if (given->ndim < 2 || (l->ndim > 1) != (u->ndim > 1)) return MT_ERROR_SHAPE;
  const int64_t rows = given->shape[given->ndim - 2], columns = given->shape[given->ndim - 1], rank = std::min(rows, columns);
  if (l->ndim > 1 && (!mt::beside(given, l, rows, rank) || !mt::beside(given, u, rank, columns))) return MT_ERROR_SHAPE;
  if (p->ndim > 1 && (!mt::beside(given, p, rows, rows) || !mt::vectors_beside(given, pivots, rank))) return MT_ERROR_SHAPE;
  if (p->ndim > 1 && pivots->dtype != MT_I32) return MT_ERROR_DTYPE;
  if (p->dtype != given->dtype || l->dtype != given->dtype || u->dtype != given->dtype) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) { return mt::unpack<decltype(like)>(given, pivots, p, l, u); });
}
