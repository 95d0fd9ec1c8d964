// Where elements are not 0: counted by pieces first, so that each piece knows where its rows of indices go.
#include <algorithm>
#include <vector>

#include "tensor.h"
#include "threads.h"

namespace mt {
namespace {

// The bits of an element that make it another number than 0: all but the sign of a floating point number, and but both of a
// complex one's.
template <class W>
W telling(int32_t dtype) {
  switch (dtype) {
    case MT_F16:
    case MT_BF16:
    case MT_F32:
    case MT_F64:
    case MT_F8_E4M3FN:
    case MT_F8_E5M2:  // those without a negative 0 have NaN there
      return W(W(~W(0)) >> 1);
    case MT_C32:
      return W(0x7fff7fff);
    case MT_C64:
      return W(0x7fffffff7fffffff);
    default:
      return W(~W(0));
  }
}
template <>
Sixteen telling(int32_t) {
  return {{~uint64_t(0) >> 1, ~uint64_t(0) >> 1}};
}

template <class W>
MT_INLINE bool is_some(W x, W bits) {
  return W(x & bits) != 0;
}
MT_INLINE bool is_some(Sixteen x, Sixteen bits) {
  return ((x.parts[0] & bits.parts[0]) | (x.parts[1] & bits.parts[1])) != 0;
}

// Elements in pieces, as many of them as there are counts.
struct Pieces {
  const mt_tensor *self, *counts;
  int64_t n, size;

  int init() {
    if (counts->dtype != MT_I64) return MT_ERROR_DTYPE;
    n = numel(self);
    if (self->ndim < 1 || self->ndim > kMaxDims || counts->ndim != 1 || (n > 0 && counts->shape[0] < 1)) return MT_ERROR_SHAPE;
    size = n == 0 ? 1 : (n + counts->shape[0] - 1) / counts->shape[0];
    return n == 0 || is_contiguous(counts) ? int(MT_OK) : int(MT_ERROR_SHAPE);
  }
  int64_t* count() const { return static_cast<int64_t*>(counts->data); }

  // Calls f(piece, first element, last element).
  template <class F>
  int each(F&& f) const {
    return n == 0 ? int(MT_OK) : parallel(counts->shape[0], std::max<int64_t>(1, kGrain / size), [&](int64_t from, int64_t to) -> int {
      Pace pace;
      for (; from < to; ++from) {
        f(from, std::min(n, from * size), std::min(n, (from + 1) * size));
        if (pace.stops(size)) return MT_ERROR_INTERRUPTED;
      }
      return MT_OK;
    });
  }

  // Calls f(position, first element, stride in elements, how many) for the elements of a piece, by rows of the last dimension.
  template <class W, class F>
  void rows(int64_t first, int64_t last, F&& f) const {
    const int64_t inner = self->ndim - 1, width = self->shape[inner];
    const W* x = static_cast<const W*>(self->data);
    int64_t at[kMaxDims];
    int64_t left = first;
    for (int64_t d = inner; d >= 0; --d) {
      at[d] = left % self->shape[d];
      left /= self->shape[d];
      x += at[d] * self->strides[d];
    }
    while (first < last) {
      const int64_t n = std::min(last - first, width - at[inner]);
      f(at, x, self->strides[inner], n);
      first += n;
      x -= at[inner] * self->strides[inner];
      at[inner] = 0;
      for (int64_t d = inner - 1; d >= 0; --d) {
        x += self->strides[d];
        if (++at[d] < self->shape[d]) break;
        x -= at[d] * self->strides[d];
        at[d] = 0;
      }
    }
  }
};

template <class W>
struct Count {
  MT_INLINE static int run(const W* x, int64_t stride, int64_t n, W bits, int64_t* count) {
    int64_t found = 0;
    if (stride == 1)
      for (int64_t i = 0; i < n; ++i) found += is_some(x[i], bits);
    else
      for (int64_t i = 0; i < n; ++i) found += is_some(x[i * stride], bits);
    *count += found;
    return MT_OK;
  }
};

// One row of all elements where they lie side by side: it is counted without going by dimensions.
struct Flat {
  mt_tensor tensor;
  int64_t shape, stride = 1;

  explicit Flat(const mt_tensor* self) : tensor(*self), shape(numel(self)) {
    tensor.ndim = 1;
    tensor.shape = &shape;
    tensor.strides = &stride;
  }
};

}  // namespace
}  // namespace mt

// How many elements are not 0, in each of as many pieces of the tensor as `counts` has elements.
MT_EXPORT int mt_nonzero_counts(const mt_tensor* self, const mt_tensor* counts) {
  mt::Pieces pieces{self, counts, 0, 0};
  if (int status = pieces.init()) return status;
  mt::Flat flat(self);
  if (mt::is_contiguous(self)) pieces.self = &flat.tensor;
  return mt::by_size(mt::item_size(self->dtype), [&](auto element) -> int {
    using W = decltype(element);
    static const auto fn = mt::PerIsa<mt::Count<W>, const W*, int64_t, int64_t, W, int64_t*>::pick();
    const W bits = mt::telling<W>(self->dtype);
    return pieces.each([&](int64_t piece, int64_t first, int64_t last) {
      int64_t* const count = pieces.count() + piece;
      *count = 0;
      pieces.rows<W>(first, last, [&](const int64_t*, const W* x, int64_t stride, int64_t n) { fn(x, stride, n, bits, count); });
    });
  });
}

// A row for each of them, its index in each dimension; `counts` are those of `mt_nonzero_counts`.
MT_EXPORT int mt_nonzero_rows(const mt_tensor* self, const mt_tensor* counts, const mt_tensor* rows) {
  mt::Pieces pieces{self, counts, 0, 0};
  if (int status = pieces.init()) return status;
  if (pieces.n == 0) return MT_OK;
  const int64_t dims = self->ndim, inner = dims - 1;
  std::vector<int64_t> starts(size_t(counts->shape[0]) + 1);
  for (int64_t i = 0; i < counts->shape[0]; ++i) starts[size_t(i) + 1] = starts[size_t(i)] + pieces.count()[i];
  if (rows->ndim != 2 || rows->shape[1] != dims || rows->shape[0] != starts.back()) return MT_ERROR_SHAPE;
  if (rows->dtype != MT_I64) return MT_ERROR_DTYPE;
  if (starts.back() == 0) return MT_OK;
  if (!mt::is_contiguous(rows)) return MT_ERROR_SHAPE;
  return mt::by_size(mt::item_size(self->dtype), [&](auto element) -> int {
    using W = decltype(element);
    const W bits = mt::telling<W>(self->dtype);
    return pieces.each([&](int64_t piece, int64_t first, int64_t last) {
      int64_t* row = static_cast<int64_t*>(rows->data) + starts[size_t(piece)] * dims;
      const int64_t* const end = static_cast<int64_t*>(rows->data) + starts[size_t(piece) + 1] * dims;
      pieces.rows<W>(first, last, [&](const int64_t* at, const W* x, int64_t stride, int64_t n) {
        for (int64_t i = 0; i < n && row < end; ++i) {
          if (!mt::is_some(x[i * stride], bits)) continue;
          for (int64_t d = 0; d < inner; ++d) row[d] = at[d];
          row[inner] = at[inner] + i;
          row += dims;
        }
      });
    });
  });
}
