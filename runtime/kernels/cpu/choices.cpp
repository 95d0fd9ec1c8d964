// Indices that are counted off: the places of a triangle, all choices of some elements.
#include <algorithm>

#include "tensor.h"

// The rows and the columns, one after the other in `out`, of the places of a matrix on and below a diagonal (lower), or on and above it.
MT_EXPORT int mt_triangle_indices(const mt_tensor* out, int64_t rows, int64_t columns, int64_t diagonal, bool lower) {
  if (out->ndim != 2 || out->shape[0] != 2 || !mt::is_contiguous(out)) return MT_ERROR_SHAPE;
  if (out->dtype != MT_I64) return MT_ERROR_DTYPE;
  const int64_t count = out->shape[1];
  int64_t* of_row = static_cast<int64_t*>(out->data);
  int64_t* of_column = of_row + count;
  int64_t done = 0;
  mt::Pace pace;
  for (int64_t row = 0; row < rows && done < count; ++row) {
    // Where the part on and above the diagonal begins, or that above it; a diagonal may be any number.
    const int64_t from = lower ? row + 1 : row;
    const int64_t cut = diagonal < -from ? 0 : diagonal > columns - from ? columns : from + diagonal;
    const int64_t first = lower ? 0 : cut, last = lower ? cut : columns;
    if (last - first > count - done) return MT_ERROR_SHAPE;
    for (int64_t column = first; column < last; ++column) {
      of_row[done] = row;
      of_column[done++] = column;
    }
    if (pace.stops(last - first + 1)) return MT_ERROR_INTERRUPTED;
  }
  return done == count ? MT_OK : MT_ERROR_SHAPE;
}

// All choices of some of `n` numbers in rising order, a row each; with `repeats`, a number as often as there is room for it.
MT_EXPORT int mt_combinations(const mt_tensor* out, int64_t n, bool repeats) {
  if (out->ndim != 2 || out->shape[1] < 1 || !mt::is_contiguous(out)) return MT_ERROR_SHAPE;
  if (out->dtype != MT_I64) return MT_ERROR_DTYPE;
  const int64_t width = out->shape[1], step = repeats ? 0 : 1;
  int64_t* to = static_cast<int64_t*>(out->data);
  mt::Pace pace;
  for (int64_t i = 0; i < out->shape[0]; ++i, to += width) {
    int64_t changed = 0;  // the last number that there is a larger one for
    if (i > 0) {
      const int64_t* before = to - width;
      for (changed = width - 1; changed > 0 && before[changed] == n - 1 - step * (width - 1 - changed); --changed) {
      }
      std::copy(before, before + changed, to);
      to[changed] = before[changed] + 1;
    } else {
      to[0] = 0;
    }
    for (int64_t k = changed + 1; k < width; ++k) to[k] = to[k - 1] + step;
    if (to[width - 1] >= n) return MT_ERROR_SHAPE;
    if (pace.stops(width)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}
