// The product of one row and a matrix, as generating a token is made of: it takes as long as reading the matrix, which is therefore
// read once, from where it is, by all threads.
#pragma GCC optimize("fp-contract=fast")

#include <algorithm>
#include <memory>
#include <new>

#include "matmul.h"
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
template <class T>
struct Kernels {
  int (*by_sums)(int64_t depth, int64_t count, const T* x, const T* line, int64_t step, T* y);
  int (*by_dots)(int64_t depth, int64_t count, const T* x, const T* line, int64_t step, T* y);

  static Kernels pick() {
    switch (isa()) {
      case Isa::kAvx512:
        return {TileAvx512<T, 64>::by_sums, TileAvx512<T, 64>::by_dots};
      case Isa::kAvx2:
        return {TileAvx2<T, 32>::by_sums, TileAvx2<T, 32>::by_dots};
      default:
        return {TileBase<T, 16>::by_sums, TileBase<T, 16>::by_dots};
    }
  }
};

}  // namespace

template <class T>
int row_product(int64_t depth, int64_t columns, const T* x, int64_t x_step, const Matrix<const T>& b, T* y, int64_t y_step, double alpha) {
  static const Kernels<T> kernels = Kernels<T>::pick();
  const int64_t scratch = depth + (y_step == 1 ? 0 : columns);
  std::unique_ptr<T[]> memory(new (std::nothrow) T[size_t(scratch)]);
  if (!memory) return MT_ERROR_MEMORY;
  T* const factors = memory.get();
  for (int64_t k = 0; k < depth; ++k) factors[k] = T(alpha) * x[k * x_step];
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
#define MT_ROW_PRODUCT(T) \
  template int row_product<T>(int64_t, int64_t, const T*, int64_t, const Matrix<const T>&, T*, int64_t, double);
MT_ROW_PRODUCT(float)
MT_ROW_PRODUCT(double)

}  // namespace mt
