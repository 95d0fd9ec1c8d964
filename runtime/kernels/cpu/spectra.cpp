// Singular values and eigenvalues of matrices, by LAPACK.
#include "lapack.h"

namespace mt {
namespace {

constexpr int32_t kNotFinite = -1;  // what `info` says where LAPACK was not asked

template <class T>
int svd(int64_t gesdd, const mt_tensor* given, const mt_tensor* u, const mt_tensor* s, const mt_tensor* vh, int32_t* info) {
  using R = Real<T>;
  const Matrices<T> from(given);
  const int64_t rank = std::min(from.rows, from.columns), most = std::max(from.rows, from.columns);
  const bool vectors = u->ndim == given->ndim, full = vectors && u->shape[u->ndim - 1] == from.rows && vh->shape[vh->ndim - 2] == from.columns;
  char job = !vectors ? 'N' : full ? 'A' : 'S';
  // Rows in memory are columns to LAPACK: it finds A^T = conj(V) S U^T, whose parts lie as those of A are to.
  int m = int(from.columns), n = int(from.rows), columns_of_u = full ? n : int(rank);
  const LapackThreads few(given);
  return parallel(items_of(given), matrices_grain(from.rows, from.columns), [&](int64_t first, int64_t last) -> int {
    const auto a = workspace<T>(from.rows * from.columns);
    const auto indices = workspace<int>(8 * rank);
    const auto reals = workspace<R>(!kIsComplex<T> ? 0 : vectors ? rank * std::max(5 * rank + 7, 2 * most + 2 * rank + 1) : 7 * rank);
    if (!a || !indices || !reals) return MT_ERROR_MEMORY;
    const auto call = [&](T* values_u, R* values, T* values_v, T* work, int length) {
      int fault = 0;
      if constexpr (kIsComplex<T>)
        lapack(gesdd, &job, &m, &n, a.get(), &m, values, values_v, &m, values_u, &columns_of_u, work, &length, reals.get(), indices.get(), &fault);
      else
        lapack(gesdd, &job, &m, &n, a.get(), &m, values, values_v, &m, values_u, &columns_of_u, work, &length, indices.get(), &fault);
      return fault;
    };
    T said{}, none{};
    R value{};
    call(&none, &value, &none, &said, -1);
    const int length = wanted(said);
    const auto work = workspace<T>(length);
    if (!work) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      T* to_u = vectors ? static_cast<T*>(u->data) + first * from.rows * columns_of_u : &none;
      T* to_v = vectors ? static_cast<T*>(vh->data) + first * (full ? from.columns : rank) * from.columns : &none;
      info[first] = from.by_rows(first, a.get()) ? call(to_u, static_cast<R*>(s->data) + first * rank, to_v, work.get(), length) : kNotFinite;
      if (pace.stops(8 * from.rows * from.columns * rank)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

// Of matrices that are not finite the results are NaN: LAPACK may find nothing for them, or never end.
template <class T>
int eigh(int64_t evd, const mt_tensor* given, const mt_tensor* values, const mt_tensor* vectors, int32_t* info, bool upper) {
  using R = Real<T>;
  const Matrices<T> from(given);
  const int64_t size = from.rows;
  char job = vectors->ndim == given->ndim ? 'V' : 'N', triangle = upper ? 'U' : 'L';
  int n = int(size);
  const LapackThreads few(given);
  return parallel(items_of(given), matrices_grain(size, size), [&](int64_t first, int64_t last) -> int {
    const auto a = workspace<T>(size * size);
    if (!a) return MT_ERROR_MEMORY;
    const auto call = [&](R* out, T* work, int length, R* reals, int reals_length, int* indices, int indices_length) {
      int fault = 0;
      if constexpr (kIsComplex<T>)
        lapack(evd, &job, &triangle, &n, a.get(), &n, out, work, &length, reals, &reals_length, indices, &indices_length, &fault);
      else
        lapack(evd, &job, &triangle, &n, a.get(), &n, out, work, &length, indices, &indices_length, &fault);
      return fault;
    };
    T said{};
    R value{}, said_real{};
    int indices_length = 0;
    call(&value, &said, -1, &said_real, -1, &indices_length, -1);
    const int length = wanted(said), reals_length = wanted(said_real);
    const auto work = workspace<T>(length);
    const auto reals = workspace<R>(kIsComplex<T> ? reals_length : 0);
    const auto indices = workspace<int>(indices_length);
    if (!work || !reals || !indices) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      R* to = static_cast<R*>(values->data) + first * size;
      const bool finite = from.by_columns(first, a.get(), size);
      info[first] = finite ? call(to, work.get(), length, reals.get(), reals_length, indices.get(), indices_length) : 0;
      const R missing = std::numeric_limits<R>::quiet_NaN();
      if (!finite) std::fill(to, to + size, missing);
      if (job == 'V') {
        T* out = static_cast<T*>(vectors->data) + first * size * size;
        for (int64_t i = 0; i < size; ++i)
          for (int64_t j = 0; j < size; ++j) out[i * size + j] = finite ? a[size_t(i + j * size)] : T(missing);
      }
      if (pace.stops(8 * size * size * size)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

template <class T>
int eig(int64_t geev, const mt_tensor* given, const mt_tensor* values, const mt_tensor* vectors, int32_t* info) {
  using R = Real<T>;
  using C = std::complex<R>;
  const Matrices<T> from(given);
  const int64_t size = from.rows;
  char none = 'N', job = vectors->ndim == given->ndim ? 'V' : 'N';
  int n = int(size);
  const LapackThreads few(given);
  return parallel(items_of(given), matrices_grain(size, size), [&](int64_t first, int64_t last) -> int {
    const auto a = workspace<T>(size * size), found = workspace<T>(job == 'V' ? size * size : 1), others = workspace<T>(size);
    const auto reals = workspace<R>(2 * size);  // real matrices' values in two parts
    if (!a || !found || !others || !reals) return MT_ERROR_MEMORY;
    T left{};
    const auto call = [&](T* work, int length) {
      int fault = 0;
      if constexpr (kIsComplex<T>)
        lapack(geev, &none, &job, &n, a.get(), &n, others.get(), &left, &n, found.get(), &n, work, &length, reals.get(), &fault);
      else
        lapack(geev, &none, &job, &n, a.get(), &n, reals.get(), reals.get() + size, &left, &n, found.get(), &n, work, &length, &fault);
      return fault;
    };
    T said{};
    call(&said, -1);
    const int length = wanted(said);
    const auto work = workspace<T>(length);
    if (!work) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      info[first] = from.by_columns(first, a.get(), size) ? call(work.get(), length) : kNotFinite;
      if (info[first] != 0) continue;
      C* to = static_cast<C*>(values->data) + first * size;
      C* out = job == 'V' ? static_cast<C*>(vectors->data) + first * size * size : nullptr;
      for (int64_t j = 0; j < size; ++j) {
        const T* column = found.get() + j * size;
        if constexpr (kIsComplex<T>) {
          to[j] = others[size_t(j)];
          for (int64_t i = 0; out != nullptr && i < size; ++i) out[i * size + j] = column[i];
        } else {
          const R turn = reals[size_t(size + j)];
          to[j] = C(reals[size_t(j)], turn);
          // Of two conjugates that stand beside each other, the first has the real parts and the second the imaginary ones.
          for (int64_t i = 0; out != nullptr && i < size; ++i)
            out[i * size + j] = turn > 0 ? C(column[i], column[i + size]) : turn < 0 ? C(column[i - size], -column[i]) : C(column[i]);
        }
      }
      if (pace.stops(16 * size * size * size)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

}  // namespace
}  // namespace mt

// U, S and V^H of each matrix; U and V^H have one dimension where they are not wanted. `info` is LAPACK's, or -1 for what is not finite.
MT_EXPORT int mt_svd(int64_t gesdd, const mt_tensor* given, const mt_tensor* u, const mt_tensor* s, const mt_tensor* vh, const mt_tensor* info) {
  if (given->ndim < 2) return MT_ERROR_SHAPE;
  const int64_t rows = given->shape[given->ndim - 2], columns = given->shape[given->ndim - 1], rank = std::min(rows, columns);
  if (!mt::vectors_beside(given, s, rank) || !mt::beside(given, info, 0) || !mt::fit_lapack(rows, columns)) return MT_ERROR_SHAPE;
  const bool full = mt::beside(given, u, rows, rows) && mt::beside(given, vh, columns, columns);
  const bool reduced = mt::beside(given, u, rows, rank) && mt::beside(given, vh, rank, columns), none = u->ndim == 1 && vh->ndim == 1;
  if (!full && !reduced && !none) return MT_ERROR_SHAPE;
  if (u->dtype != given->dtype || vh->dtype != given->dtype || !mt::is_real_of(s->dtype, given->dtype)) return MT_ERROR_DTYPE;
  if (info->dtype != MT_I32) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) { return mt::svd<decltype(like)>(gesdd, given, u, s, vh, static_cast<int32_t*>(info->data)); });
}

// The eigenvalues of Hermitian matrices, of which one triangle is read, and eigenvectors, which have one dimension where they are not wanted.
MT_EXPORT int mt_eigh(int64_t evd, const mt_tensor* given, const mt_tensor* values, const mt_tensor* vectors, const mt_tensor* info, int64_t upper) {
  if (given->ndim < 2) return MT_ERROR_SHAPE;
  const int64_t size = given->shape[given->ndim - 1];
  if (given->shape[given->ndim - 2] != size || !mt::fit_lapack(size) || !mt::vectors_beside(given, values, size)) return MT_ERROR_SHAPE;
  if (!mt::beside(given, info, 0) || !(vectors->ndim == 1 || mt::beside(given, vectors, size, size))) return MT_ERROR_SHAPE;
  if (vectors->dtype != given->dtype || !mt::is_real_of(values->dtype, given->dtype) || info->dtype != MT_I32) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) {
    return mt::eigh<decltype(like)>(evd, given, values, vectors, static_cast<int32_t*>(info->data), upper != 0);
  });
}

// The eigenvalues of square matrices, which are complex, as eigenvectors are, which have one dimension where they are not wanted. `info` is as
// that of `mt_svd`.
MT_EXPORT int mt_eig(int64_t geev, const mt_tensor* given, const mt_tensor* values, const mt_tensor* vectors, const mt_tensor* info) {
  if (given->ndim < 2) return MT_ERROR_SHAPE;
  const int64_t size = given->shape[given->ndim - 1];
  if (given->shape[given->ndim - 2] != size || !mt::fit_lapack(size) || !mt::vectors_beside(given, values, size)) return MT_ERROR_SHAPE;
  if (!mt::beside(given, info, 0) || !(vectors->ndim == 1 || mt::beside(given, vectors, size, size))) return MT_ERROR_SHAPE;
  const int32_t wide = given->dtype == MT_F32 ? MT_C64 : given->dtype == MT_F64 ? MT_C128 : given->dtype;
  if (values->dtype != wide || vectors->dtype != wide || info->dtype != MT_I32) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) {
    return mt::eig<decltype(like)>(geev, given, values, vectors, static_cast<int32_t*>(info->data));
  });
}
