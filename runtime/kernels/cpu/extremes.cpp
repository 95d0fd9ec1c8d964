// Running extremes along a dimension, and the last place of each: int mt_cummax(self, values, places, dim), of contiguous tensors.
#include <algorithm>

#include "numbers.h"
#include "threads.h"

namespace mt {
namespace {

// Whether an element takes the place of the extreme so far: NaN does, and is replaced by NaN alone.
template <bool largest, class T>
MT_INLINE bool moves(T x, T extreme) {
  return (largest ? x >= extreme : x <= extreme) | (x != x);
}

// `n` lines of `width` elements each, one after the other, of which the first `columns` are gone through.
template <bool largest, class T>
struct RunningExtreme {
  MT_INLINE static int run(const void* from, void* to, int64_t* at, int64_t n, int64_t width, int64_t columns) {
    const T* x = static_cast<const T*>(from);
    T* out = static_cast<T*>(to);
    Pace pace;
    if (columns == 1) {
      T extreme = x[0];
      int64_t place = 0;
      for (int64_t done = 0; done < n; done += kStretch) {
        const int64_t last = std::min(n, done + kStretch);
        for (int64_t i = done; i < last; ++i) {
          if (moves<largest>(number(x[i * width]), number(extreme))) {
            extreme = x[i * width];
            place = i;
          }
          out[i * width] = extreme;
          at[i * width] = place;
        }
        if (pace.stops(last - done)) return MT_ERROR_INTERRUPTED;
      }
      return MT_OK;
    }
    std::copy(x, x + columns, out);
    std::fill(at, at + columns, int64_t(0));
    for (int64_t i = 1; i < n; ++i, out += width, at += width) {
      x += width;
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c) {
        const bool moved = moves<largest>(number(x[c]), number(out[c]));
        out[width + c] = moved ? x[c] : out[c];
        at[width + c] = moved ? i : at[c];
      }
      if (pace.stops(columns)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
};

template <bool largest, class T>
int lines(const mt_tensor* self, const mt_tensor* values, const mt_tensor* places, int64_t n, int64_t width) {
  static const auto fn = PerIsa<RunningExtreme<largest, T>, const void*, void*, int64_t*, int64_t, int64_t, int64_t>::pick();
  const int64_t outer = numel(self) / (n * width), blocks = (width + kBlock - 1) / kBlock;
  return parallel(outer * blocks, rows_grain(n * std::min(width, kBlock)), [=](int64_t first, int64_t last) -> int {
    for (; first < last; ++first) {
      const int64_t column = first % blocks * kBlock, at = first / blocks * n * width + column;
      const T* from = static_cast<const T*>(self->data) + at;
      int64_t* where = static_cast<int64_t*>(places->data) + at;
      if (int status = fn(from, static_cast<T*>(values->data) + at, where, n, width, std::min(kBlock, width - column))) return status;
    }
    return MT_OK;
  });
}

template <bool largest>
int along(const mt_tensor* self, const mt_tensor* values, const mt_tensor* places, int64_t dim) {
  if (!same_shape(self, values) || !same_shape(self, places) || dim < 0 || dim >= self->ndim) return MT_ERROR_SHAPE;
  if (self->dtype != values->dtype || places->dtype != MT_I64) return MT_ERROR_DTYPE;
  if (numel(self) == 0) return MT_OK;  // whose strides may be any
  if (!is_contiguous(self) || !is_contiguous(values) || !is_contiguous(places)) return MT_ERROR_SHAPE;
  int64_t width = 1;
  for (int64_t d = dim + 1; d < self->ndim; ++d) width *= self->shape[d];
  return by_number(self->dtype, [&](auto like) { return lines<largest, decltype(like)>(self, values, places, self->shape[dim], width); });
}

}  // namespace
}  // namespace mt

MT_EXPORT int mt_cummax(const mt_tensor* self, const mt_tensor* values, const mt_tensor* places, int64_t dim) {
  return mt::along<true>(self, values, places, dim);
}
MT_EXPORT int mt_cummin(const mt_tensor* self, const mt_tensor* values, const mt_tensor* places, int64_t dim) {
  return mt::along<false>(self, values, places, dim);
}
