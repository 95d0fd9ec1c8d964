// Running sums and products along a dimension: int mt_cumsum(self, out, dim), of contiguous tensors of one dtype. Those of float32 are
// kept in float64.
#include <algorithm>
#include <type_traits>

#include "tensor.h"
#include "threads.h"

namespace mt {
namespace {

struct Sums {
  static constexpr int kStart = 0;
  template <class T>
  MT_INLINE static T step(T a, T b) {
    return wrap_add(a, b);
  }
};
struct Products {
  static constexpr int kStart = 1;
  template <class T>
  MT_INLINE static T step(T a, T b) {
    return wrap_mul(a, b);
  }
};

// `n` lines of `width` elements each, one after the other, of which the first `columns` are gone through.
template <class Op, class T>
struct Running {
  MT_INLINE static int run(const void* from, void* to, int64_t n, int64_t width, int64_t columns) {
    using Acc = std::conditional_t<std::is_same_v<T, float>, double, T>;
    const T* x = static_cast<const T*>(from);
    T* out = static_cast<T*>(to);
    Pace pace;
    if (columns == 1) {
      Acc acc = Op::kStart;
      for (int64_t done = 0; done < n; done += kStretch) {
        const int64_t last = std::min(n, done + kStretch);
        for (int64_t i = done; i < last; ++i) out[i * width] = T(acc = Op::step(acc, Acc(x[i * width])));
        if (pace.stops(last - done)) return MT_ERROR_INTERRUPTED;
      }
      return MT_OK;
    }
    Acc acc[kBlock];
    for (int64_t c = 0; c < columns; ++c) acc[c] = Op::kStart;
    for (int64_t i = 0; i < n; ++i, x += width, out += width) {
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c) {
        acc[c] = Op::step(acc[c], Acc(x[c]));
        out[c] = T(acc[c]);
      }
      if (pace.stops(columns)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
};

template <class Op, class T>
int lines(const mt_tensor* self, const mt_tensor* out, int64_t n, int64_t width) {
  static const auto fn = PerIsa<Running<Op, T>, const void*, void*, int64_t, int64_t, int64_t>::pick();
  const int64_t outer = numel(self) / (n * width), blocks = (width + kBlock - 1) / kBlock;
  return parallel(outer * blocks, rows_grain(n * std::min(width, kBlock)), [=](int64_t first, int64_t last) -> int {
    for (; first < last; ++first) {
      const int64_t column = first % blocks * kBlock, at = first / blocks * n * width + column;
      const T* from = static_cast<const T*>(self->data) + at;
      if (int status = fn(from, static_cast<T*>(out->data) + at, n, width, std::min(kBlock, width - column))) return status;
    }
    return MT_OK;
  });
}

template <class Op>
int along(const mt_tensor* self, const mt_tensor* out, int64_t dim) {
  if (!same_shape(self, out) || dim < 0 || dim >= self->ndim) return MT_ERROR_SHAPE;
  if (self->dtype != out->dtype) return MT_ERROR_DTYPE;
  if (numel(self) == 0) return MT_OK;  // whose strides may be any
  if (!is_contiguous(self) || !is_contiguous(out)) return MT_ERROR_SHAPE;
  int64_t width = 1;
  for (int64_t d = dim + 1; d < self->ndim; ++d) width *= self->shape[d];
  switch (self->dtype) {
    case MT_F32:
      return lines<Op, float>(self, out, self->shape[dim], width);
    case MT_F64:
      return lines<Op, double>(self, out, self->shape[dim], width);
    case MT_I64:
      return lines<Op, int64_t>(self, out, self->shape[dim], width);
    default:
      return MT_ERROR_DTYPE;
  }
}

}  // namespace
}  // namespace mt

MT_EXPORT int mt_cumsum(const mt_tensor* self, const mt_tensor* out, int64_t dim) { return mt::along<mt::Sums>(self, out, dim); }
MT_EXPORT int mt_cumprod(const mt_tensor* self, const mt_tensor* out, int64_t dim) { return mt::along<mt::Products>(self, out, dim); }
