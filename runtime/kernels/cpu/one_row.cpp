// The product of one row and a matrix, as generating a token is made of: it takes as long as reading the matrix, which is therefore
// read once, from where it is, by all threads.
#pragma GCC optimize("fp-contract=fast")

#include <algorithm>
#include <memory>
#include <new>

#include "matmul.h"
#include "numbers.h"
#include "threads.h"
#include "vectors.h"

namespace mt {
namespace {

constexpr int64_t kNear = 1 << 14;       // bytes of a result that lines are added to: stays in the L1 cache
constexpr int64_t kThreaded = 1 << 16;   // elements of a matrix that are worth threads
constexpr int64_t kUnit = 64;            // columns that are not cut, so that no two threads write to one line of the cache

#define MT_ROW_TILE TileBase
#define MT_ROW_TILE_TARGET
#include "one_row_tile.inc"
#undef MT_ROW_TILE
#undef MT_ROW_TILE_TARGET
#define MT_ROW_TILE TileAvx2
#define MT_ROW_TILE_TARGET MT_TARGET_AVX2
#include "one_row_tile.inc"
#undef MT_ROW_TILE
#undef MT_ROW_TILE_TARGET
#define MT_ROW_TILE TileAvx512
#define MT_ROW_TILE_TARGET MT_TARGET_AVX512
#include "one_row_tile.inc"
#undef MT_ROW_TILE
#undef MT_ROW_TILE_TARGET

// y += x times a part of a matrix of `depth` x `count`, whose lines are its rows or its columns.
template <class T, class S>
struct Kernels {
  int (*by_sums)(int64_t depth, int64_t count, const T* x, const S* line, int64_t step, T* y);
  int (*by_dots)(int64_t depth, int64_t count, const T* x, const S* line, int64_t step, T* y);

  static Kernels pick() {
    switch (isa()) {
      case Isa::kAvx512:
        return {TileAvx512<T, S, 64>::by_sums, TileAvx512<T, S, 64>::by_dots};
      case Isa::kAvx2:
        return {TileAvx2<T, S, 32>::by_sums, TileAvx2<T, S, 32>::by_dots};
      default:
        return {TileBase<T, S, 16>::by_sums, TileBase<T, S, 16>::by_dots};
    }
  }
};

// y += alpha * x @ b for one row x of `depth` elements and a matrix b with contiguous rows or columns. Steps are in elements.
template <class T, class S>
int row_product(int64_t depth, int64_t columns, const S* x, int64_t x_step, const Matrix<const S>& b, T* y, int64_t y_step, double alpha) {
  static const auto kernels = Kernels<T, S>::pick();
  const int64_t scratch = depth + (y_step == 1 ? 0 : columns);
  std::unique_ptr<T[]> memory(new (std::nothrow) T[size_t(scratch)]);
  if (!memory) return MT_ERROR_MEMORY;
  T* const factors = memory.get();
  for (int64_t k = 0; k < depth; ++k) factors[k] = T(alpha) * number(x[k * x_step]);
  T* const sums = y_step == 1 ? y : factors + depth;
  if (y_step != 1)
    for (int64_t j = 0; j < columns; ++j) sums[j] = y[j * y_step];
  const bool by_dots = b.row == 1 && (b.column != 1 || columns < depth);
  const int64_t units = (columns + kUnit - 1) / kUnit;
  const int64_t grain = depth * columns < kThreaded ? units : even_grain(units, 1);
  const int status = parallel(units, grain, [&](int64_t first, int64_t last) -> int {
    first *= kUnit;
    last = std::min(last * kUnit, columns);
    if (by_dots) return kernels.by_dots(depth, last - first, factors, &b.at(0, first), b.column, sums + first);
    constexpr int64_t most = kNear / int64_t(sizeof(T));
    for (; first < last; first += most) {
      const int64_t count = std::min(most, last - first);
      if (int status = kernels.by_sums(depth, count, factors, &b.at(0, first), b.row, sums + first)) return status;
    }
    return MT_OK;
  });
  if (y_step != 1 && status == MT_OK)
    for (int64_t j = 0; j < columns; ++j) y[j * y_step] = sums[j];
  return status;
}

}  // namespace

template <class T, class S>
int line_product(const Size& size, const Matrix<const S>& a, const Matrix<const S>& b, const Matrix<T>& c, double alpha, const Before<T>& before) {
  begin(size, c, before);
  if (size.m == 1 && (b.row == 1 || b.column == 1)) return row_product<T, S>(size.k, size.n, a.data, a.column, b, c.data, 1, alpha);
  return row_product<T, S>(size.k, size.m, b.data, b.row, {a.data, a.column, a.row}, c.data, c.row, alpha);
}
#define MT_LINE_PRODUCT(T, S) \
  template int line_product<T, S>(const Size&, const Matrix<const S>&, const Matrix<const S>&, const Matrix<T>&, double, const Before<T>&);
MT_LINE_PRODUCT(float, float)
MT_LINE_PRODUCT(double, double)
MT_LINE_PRODUCT(float, BFloat16)

}  // namespace mt
