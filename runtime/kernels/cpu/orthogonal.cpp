// Matrices of orthogonal columns by LAPACK, and least squares, which these give.
#include "lapack.h"

namespace mt {
namespace {

// Q of `inner` columns, where it is wanted, and R.
template <class T>
int qr(int64_t geqrf, int64_t orgqr, const mt_tensor* given, const mt_tensor* q, const mt_tensor* r) {
  const Matrices<T> from(given);
  const int64_t rank = std::min(from.rows, from.columns), inner = r->shape[r->ndim - 2];
  const bool wants_q = q->ndim == given->ndim;
  int m = int(from.rows), n = int(from.columns), columns_of_q = int(inner), reflections = int(rank);
  const LapackThreads few(given);
  return parallel(items_of(given), matrices_grain(from.rows, from.columns), [&](int64_t first, int64_t last) -> int {
    const auto a = workspace<T>(from.rows * std::max(from.columns, inner)), factors = workspace<T>(rank);
    if (!a || !factors) return MT_ERROR_MEMORY;
    T said{}, said_of_q{};
    int fault = 0, length = -1;
    lapack(geqrf, &m, &n, a.get(), &m, factors.get(), &said, &length, &fault);
    if (wants_q) lapack(orgqr, &m, &columns_of_q, &reflections, a.get(), &m, factors.get(), &said_of_q, &length, &fault);
    length = std::max(wanted(said), wanted(said_of_q));
    const auto work = workspace<T>(length);
    if (!work) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      from.by_columns(first, a.get(), from.rows);
      lapack(geqrf, &m, &n, a.get(), &m, factors.get(), work.get(), &length, &fault);
      T* to = static_cast<T*>(r->data) + first * inner * from.columns;
      for (int64_t i = 0; i < inner; ++i)
        for (int64_t j = 0; j < from.columns; ++j) to[i * from.columns + j] = i <= j ? a[size_t(i + j * from.rows)] : T(0);
      if (wants_q) {
        lapack(orgqr, &m, &columns_of_q, &reflections, a.get(), &m, factors.get(), work.get(), &length, &fault);
        rows_of_columns(a.get(), from.rows, from.rows, inner, static_cast<T*>(q->data) + first * from.rows * inner);
      }
      if (pace.stops(4 * from.rows * from.columns * rank)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

// R, the vectors of the reflections below it, and their factors.
template <class T>
int reflections(int64_t geqrf, const mt_tensor* given, const mt_tensor* out, const mt_tensor* factors) {
  const Matrices<T> from(given);
  const int64_t rank = std::min(from.rows, from.columns);
  int m = int(from.rows), n = int(from.columns);
  const LapackThreads few(given);
  return parallel(items_of(given), matrices_grain(from.rows, from.columns), [&](int64_t first, int64_t last) -> int {
    const auto a = workspace<T>(from.rows * from.columns);
    if (!a) return MT_ERROR_MEMORY;
    T said{};
    int fault = 0, length = -1;
    lapack(geqrf, &m, &n, a.get(), &m, static_cast<T*>(factors->data), &said, &length, &fault);
    length = wanted(said);
    const auto work = workspace<T>(length);
    if (!work) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      from.by_columns(first, a.get(), from.rows);
      lapack(geqrf, &m, &n, a.get(), &m, static_cast<T*>(factors->data) + first * rank, work.get(), &length, &fault);
      rows_of_columns(a.get(), from.rows, from.rows, from.columns, static_cast<T*>(out->data) + first * from.rows * from.columns);
      if (pace.stops(4 * from.rows * from.columns * rank)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

// The first columns of the product of the reflections that `reflections` gives.
template <class T>
int reflected(int64_t orgqr, const mt_tensor* given, const mt_tensor* factors, const mt_tensor* out) {
  const Matrices<T> from(given);
  const int64_t rows = from.rows, columns = from.columns, many = factors->shape[factors->ndim - 1];
  int m = int(rows), n = int(columns), count = int(many);
  const LapackThreads few(given);
  return parallel(items_of(given), matrices_grain(rows, columns), [&](int64_t first, int64_t last) -> int {
    const auto a = workspace<T>(rows * columns);
    if (!a) return MT_ERROR_MEMORY;
    T said{};
    int fault = 0, length = -1;
    lapack(orgqr, &m, &n, &count, a.get(), &m, static_cast<T*>(factors->data), &said, &length, &fault);
    length = wanted(said);
    const auto work = workspace<T>(length);
    if (!work) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      from.by_columns(first, a.get(), rows);
      lapack(orgqr, &m, &n, &count, a.get(), &m, static_cast<T*>(factors->data) + first * many, work.get(), &length, &fault);
      rows_of_columns(a.get(), rows, rows, columns, static_cast<T*>(out->data) + first * rows * columns);
      if (pace.stops(4 * rows * columns * columns)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

// What finds least squares: by a full rank, by QR with exchanged columns, by singular values (of two kinds).
enum Driver { kGels, kGelsy, kGelsd, kGelss };

template <class T>
int least_squares(int64_t address, Driver driver, const mt_tensor* given, const mt_tensor* wanted_, const mt_tensor* found, const mt_tensor* rest,
                  const mt_tensor* ranks, const mt_tensor* values, int32_t* info, double share) {
  using R = Real<T>;
  const Matrices<T> from(given), right(wanted_);
  const int64_t rows = from.rows, columns = from.columns, count = right.columns, rank = std::min(rows, columns), most = std::max(rows, columns);
  int m = int(rows), n = int(columns), many = int(std::max<int64_t>(count, 1)), step = int(most);
  const bool wants_rest = vectors_beside(given, rest, count);
  char turned = 'N';
  R limit = R(share);
  const LapackThreads few(given);
  return parallel(items_of(given), matrices_grain(rows, columns + count), [&](int64_t first, int64_t last) -> int {
    const auto a = workspace<T>(rows * columns), b = workspace<T>(most * many);
    const auto own_values = workspace<R>(rank);
    const auto order = workspace<int>(columns);
    if (!a || !b || !own_values || !order) return MT_ERROR_MEMORY;
    const auto call = [&](R* s, int* of_rank, T* work, int length, R* reals, int* indices) {
      int fault = 0;
      T *pa = a.get(), *pb = b.get();
      if (driver == kGels) {
        lapack(address, &turned, &m, &n, &many, pa, &m, pb, &step, work, &length, &fault);
      } else if (driver == kGelsy) {
        if constexpr (kIsComplex<T>) lapack(address, &m, &n, &many, pa, &m, pb, &step, order.get(), &limit, of_rank, work, &length, reals, &fault);
        else lapack(address, &m, &n, &many, pa, &m, pb, &step, order.get(), &limit, of_rank, work, &length, &fault);
      } else if (driver == kGelsd) {
        if constexpr (kIsComplex<T>) lapack(address, &m, &n, &many, pa, &m, pb, &step, s, &limit, of_rank, work, &length, reals, indices, &fault);
        else lapack(address, &m, &n, &many, pa, &m, pb, &step, s, &limit, of_rank, work, &length, indices, &fault);
      } else {
        if constexpr (kIsComplex<T>) lapack(address, &m, &n, &many, pa, &m, pb, &step, s, &limit, of_rank, work, &length, reals, &fault);
        else lapack(address, &m, &n, &many, pa, &m, pb, &step, s, &limit, of_rank, work, &length, &fault);
      }
      return fault;
    };
    T said{};
    R said_real{};
    int said_index = 0, of_rank = 0;
    call(own_values.get(), &of_rank, &said, -1, &said_real, &said_index);
    const int length = wanted(said);
    const auto work = workspace<T>(length);
    const auto reals = workspace<R>(std::max<int64_t>(wanted(said_real), std::max(2 * columns, 5 * rank)));
    const auto indices = workspace<int>(said_index);
    if (!work || !reals || !indices) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      const bool finite = from.by_columns(first, a.get(), rows) & right.by_columns(first, b.get(), most);
      for (int64_t j = 0; j < many; ++j) std::fill(b.get() + j * most + (j < count ? rows : 0), b.get() + (j + 1) * most, T(0));
      std::fill(order.get(), order.get() + columns, 0);
      R* s = driver >= kGelsd ? static_cast<R*>(values->data) + first * rank : own_values.get();
      of_rank = 0;
      if (finite) {
        info[first] = call(s, &of_rank, work.get(), length, reals.get(), indices.get());
      } else {  // LAPACK is not asked
        const auto is_nan = [](T v) { return v != v; };
        const bool has_nan = std::any_of(a.get(), a.get() + rows * columns, is_nan) || std::any_of(b.get(), b.get() + most * count, is_nan);
        info[first] = has_nan ? -1 : 0;
        std::fill(b.get(), b.get() + most * count, T(std::numeric_limits<R>::quiet_NaN()));
        std::fill(s, s + rank, std::numeric_limits<R>::quiet_NaN());
      }
      rows_of_columns(b.get(), most, columns, count, static_cast<T*>(found->data) + first * columns * count);
      if (driver != kGels) static_cast<int64_t*>(ranks->data)[first] = of_rank;
      for (int64_t j = 0; wants_rest && j < count; ++j) {  // what is left of b lies behind the solution
        R sum(0);
        for (int64_t i = columns; i < rows; ++i) sum += std::norm(b[size_t(i + j * most)]);
        static_cast<R*>(rest->data)[first * count + j] = sum;
      }
      if (pace.stops(8 * rows * columns * rank)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

}  // namespace
}  // namespace mt

// Q and R of each matrix: R has as many rows as Q columns. Q has one dimension where it is not wanted.
MT_EXPORT int mt_qr(int64_t geqrf, int64_t orgqr, const mt_tensor* given, const mt_tensor* q, const mt_tensor* r) {
  if (given->ndim < 2 || r->ndim != given->ndim) return MT_ERROR_SHAPE;
  const int64_t rows = given->shape[given->ndim - 2], columns = given->shape[given->ndim - 1], inner = r->shape[r->ndim - 2];
  if ((inner != rows && inner != std::min(rows, columns)) || !mt::beside(given, r, inner, columns)) return MT_ERROR_SHAPE;
  if (!mt::fit_lapack(rows, columns)) return MT_ERROR_SHAPE;
  if (q->ndim != 1 && !mt::beside(given, q, rows, inner)) return MT_ERROR_SHAPE;
  if (q->dtype != given->dtype || r->dtype != given->dtype) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) { return mt::qr<decltype(like)>(geqrf, orgqr, given, q, r); });
}

// R and reflections, as LAPACK's geqrf has them.
MT_EXPORT int mt_reflections(int64_t geqrf, const mt_tensor* given, const mt_tensor* out, const mt_tensor* factors) {
  if (given->ndim < 2) return MT_ERROR_SHAPE;
  const int64_t rows = given->shape[given->ndim - 2], columns = given->shape[given->ndim - 1];
  if (!mt::beside(given, out, rows, columns) || !mt::vectors_beside(given, factors, std::min(rows, columns))) return MT_ERROR_SHAPE;
  if (!mt::fit_lapack(rows, columns)) return MT_ERROR_SHAPE;
  if (out->dtype != given->dtype || factors->dtype != given->dtype) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) { return mt::reflections<decltype(like)>(geqrf, given, out, factors); });
}

// The first columns of the product of reflections, of no more than these.
MT_EXPORT int mt_reflected(int64_t orgqr, const mt_tensor* given, const mt_tensor* factors, const mt_tensor* out) {
  if (given->ndim < 2 || !mt::beside(given, factors, 1)) return MT_ERROR_SHAPE;
  const int64_t rows = given->shape[given->ndim - 2], columns = given->shape[given->ndim - 1];
  if (rows < columns || columns < factors->shape[factors->ndim - 1] || !mt::beside(given, out, rows, columns)) return MT_ERROR_SHAPE;
  if (!mt::fit_lapack(rows)) return MT_ERROR_SHAPE;
  if (out->dtype != given->dtype || factors->dtype != given->dtype) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) { return mt::reflected<decltype(like)>(orgqr, given, factors, out); });
}

// The least squares of A X = B, by one of four functions of LAPACK (gels, gelsy, gelsd, gelss), and of each matrix its rank, but by the first;
// its singular values, by the last two; and where `rest` has room for it, of each column the square of what is left. `info` is LAPACK's, or -1 where
// there is NaN; of what is infinite the results are NaN.
MT_EXPORT int mt_least_squares(int64_t address, int64_t driver, const mt_tensor* given, const mt_tensor* right, const mt_tensor* found,
                               const mt_tensor* rest, const mt_tensor* ranks, const mt_tensor* values, const mt_tensor* info, double share) {
  if (given->ndim < 2 || right->ndim != given->ndim || driver < mt::kGels || driver > mt::kGelss) return MT_ERROR_SHAPE;
  const int64_t rows = given->shape[given->ndim - 2], columns = given->shape[given->ndim - 1], count = right->shape[right->ndim - 1];
  for (int64_t d = 0; d < given->ndim - 1; ++d)
    if (right->shape[d] != given->shape[d]) return MT_ERROR_SHAPE;
  if (!mt::beside(given, found, columns, count) || !mt::beside(given, info, 0) || !mt::fit_lapack(rows, columns, count)) return MT_ERROR_SHAPE;
  if (mt::numel(rest) != 0 && (rows < columns || !mt::vectors_beside(given, rest, count))) return MT_ERROR_SHAPE;
  if (driver != mt::kGels && !mt::beside(given, ranks, 0)) return MT_ERROR_SHAPE;
  if (driver >= mt::kGelsd && !mt::vectors_beside(given, values, std::min(rows, columns))) return MT_ERROR_SHAPE;
  if (right->dtype != given->dtype || found->dtype != given->dtype || ranks->dtype != MT_I64 || info->dtype != MT_I32) return MT_ERROR_DTYPE;
  if (!mt::is_real_of(rest->dtype, given->dtype) || !mt::is_real_of(values->dtype, given->dtype)) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) {
    return mt::least_squares<decltype(like)>(address, mt::Driver(driver), given, right, found, rest, ranks, values,
                                             static_cast<int32_t*>(info->data), share);
  });
}
