// Rows moved as they are: slices at indices, triangles, flips.
#include <algorithm>

#include "indices.h"
#include "threads.h"

namespace mt {
namespace {

// The slice of a tensor at one place of a dimension, without it.
struct Slice {
  int64_t shape[kMaxDims], strides[kMaxDims];
  mt_tensor tensor;

  Slice(const mt_tensor* of, int64_t dim, int64_t place) {
    int64_t n = 0;
    for (int64_t d = 0; d < of->ndim; ++d) {
      if (d == dim) continue;
      shape[n] = of->shape[d];
      strides[n++] = of->strides[d];
    }
    tensor = {static_cast<char*>(of->data) + place * of->strides[dim] * of->itemsize, n, shape, strides, of->dtype, of->itemsize};
  }
};

// Single elements, of rows of `size`.
template <class T>
void select_elements(const mt_tensor* self, int64_t size, const Indices& indices, const mt_tensor* out, int64_t first, int64_t last) {
  T* to = static_cast<T*>(out->data) + first;
  for (int64_t count; first < last; first += count, to += count) {
    const int64_t column = first % indices.count;
    count = std::min(last - first, indices.count - column);
    const T* from = static_cast<const T*>(self->data) + first / indices.count * size;
    const int64_t* at = indices.at + column;
    for (int64_t i = 0; i < count; ++i) to[i] = from[at[i]];
  }
}

int select_runs(const mt_tensor* self, int64_t dim, const Indices& indices, const mt_tensor* out) {
  int64_t outer = 1, run = self->itemsize;
  for (int64_t d = 0; d < self->ndim; ++d) (d < dim ? outer : run) *= d == dim ? 1 : self->shape[d];
  const int64_t size = self->shape[dim];
  return parallel(outer * indices.count, rows_grain(run / 4), [&](int64_t first, int64_t last) -> int {
    Pace pace;
    while (run == self->itemsize && first < last) {
      const int64_t end = std::min(last, first + kStretch);
      by_size(self->itemsize, [&](auto like) -> int {
        select_elements<decltype(like)>(self, size, indices, out, first, end);
        return MT_OK;
      });
      if (pace.stops(end - first)) return MT_ERROR_INTERRUPTED;
      first = end;
    }
    for (; first < last; ++first) {
      const int64_t from = first / indices.count * size + indices.at[first % indices.count];
      std::memcpy(static_cast<char*>(out->data) + first * run, static_cast<const char*>(self->data) + from * run, size_t(run));
      if (pace.stops(run / 4)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

template <class T>
struct Reverse {
  MT_INLINE static int run(const T* x, T* to, int64_t n) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = x[n - 1 - i];
    return MT_OK;
  }
};

// The rows from `first` to `last` of what is flipped along the dimensions whose bits are in `mask`.
template <class T>
int flip(const mt_tensor* self, const mt_tensor* out, uint64_t mask, int64_t first, int64_t last) {
  static const auto reverse = PerIsa<Reverse<T>, const T*, T*, int64_t>::pick();
  const int64_t inner = self->ndim - 1, n = self->shape[inner];
  Pace pace;
  for (; first < last; ++first) {
    int64_t left = first, from = 0, step = 1;
    for (int64_t d = inner - 1; d >= 0; --d) {
      const int64_t at = left % self->shape[d];
      from += (mask >> d & 1 ? self->shape[d] - 1 - at : at) * step;
      step *= self->shape[d];
      left /= self->shape[d];
    }
    const T* x = static_cast<const T*>(self->data) + from * n;
    T* to = static_cast<T*>(out->data) + first * n;
    if (mask >> inner & 1) {
      reverse(x, to, n);
    } else {
      std::memcpy(to, x, size_t(n) * sizeof(T));
    }
    if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

// The triangle of a matrix whose rows from `first` to `last` are of one or more matrices, one after the other.
int triangle(const mt_tensor* self, const mt_tensor* out, int64_t diagonal, bool lower, int64_t first, int64_t last) {
  const int64_t rows = self->shape[self->ndim - 2], columns = self->shape[self->ndim - 1], size = self->itemsize;
  Pace pace;
  for (; first < last; ++first) {
    const char* from = static_cast<const char*>(self->data) + first * columns * size;
    char* to = static_cast<char*>(out->data) + first * columns * size;
    // Where the part that is above the diagonal begins; a diagonal may be any number.
    const int64_t row = first % rows, above = lower ? row + 1 : row;
    const int64_t cut = diagonal < -above ? 0 : diagonal > columns - above ? columns : above + diagonal;
    if (lower) {
      std::memcpy(to, from, size_t(cut * size));
      std::memset(to + cut * size, 0, size_t((columns - cut) * size));
    } else {
      std::memset(to, 0, size_t(cut * size));
      std::memcpy(to + cut * size, from + cut * size, size_t((columns - cut) * size));
    }
    if (pace.stops(columns)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

}  // namespace
}  // namespace mt

// out = self on and below a diagonal (lower), or on and above it, of the last two dimensions; 0 elsewhere. Contiguous, of any dtype.
MT_EXPORT int mt_triangle(const mt_tensor* self, const mt_tensor* out, int64_t diagonal, bool lower) {
  if (self->ndim < 2 || !mt::same_shape(self, out)) return MT_ERROR_SHAPE;
  if (self->dtype != out->dtype) return MT_ERROR_DTYPE;
  if (mt::numel(self) == 0) return MT_OK;  // whose strides may be any
  if (!mt::is_contiguous(self) || !mt::is_contiguous(out)) return MT_ERROR_SHAPE;
  const int64_t columns = self->shape[self->ndim - 1];
  return mt::parallel(mt::numel(self) / columns, mt::rows_grain(columns), [=](int64_t first, int64_t last) -> int {
    return mt::triangle(self, out, diagonal, lower, first, last);
  });
}

// out = self at `index` along `dim`: with the dimensions of `index`, which may be several, in the place of `dim`.
MT_EXPORT int mt_index_select(const mt_tensor* self, int64_t dim, const mt_tensor* index, const mt_tensor* out) {
  if (dim < 0) dim += self->ndim;
  if (dim < 0 || dim >= self->ndim || self->ndim > mt::kMaxDims || index->ndim > mt::kMaxDims) return MT_ERROR_SHAPE;
  if (self->dtype != out->dtype || !mt::is_integer(index->dtype)) return MT_ERROR_DTYPE;
  const mt::Indices indices(index);
  if (indices.status) return indices.status;
  if (!indices.within(self->shape[dim])) return MT_ERROR_INDEX;
  int64_t expected = indices.count;
  for (int64_t d = 0; d < self->ndim; ++d) expected *= d == dim ? 1 : self->shape[d];
  if (mt::numel(out) != expected) return MT_ERROR_SHAPE;
  if (expected == 0) return MT_OK;
  if (mt::is_contiguous(self) && mt::is_contiguous(out)) return mt::select_runs(self, dim, indices, out);
  mt_tensor lined = *out;  // with the dimensions of `index` as one
  int64_t shape[mt::kMaxDims], strides[mt::kMaxDims], step = 1;
  if (index->ndim != 1 || out->ndim != self->ndim) {
    if (!mt::is_contiguous(out)) return MT_ERROR_SHAPE;
    for (int64_t d = self->ndim - 1; d >= 0; --d) {
      shape[d] = d == dim ? indices.count : self->shape[d];
      strides[d] = step;
      step *= shape[d];
    }
    lined = {out->data, self->ndim, shape, strides, out->dtype, out->itemsize};
  }
  for (int64_t i = 0; i < indices.count; ++i) {
    const mt::Slice from(self, dim, indices.at[i]), to(&lined, dim, i);
    if (int status = mt_copy(&from.tensor, &to.tensor)) return status;
  }
  return MT_OK;
}

// out = self in reverse along the dimensions whose bits are in `mask`. Contiguous, of at least one dimension, of any dtype.
MT_EXPORT int mt_flip(const mt_tensor* self, const mt_tensor* out, uint64_t mask) {
  if (self->ndim < 1 || self->ndim > mt::kMaxDims || !mt::same_shape(self, out)) return MT_ERROR_SHAPE;
  if (self->dtype != out->dtype) return MT_ERROR_DTYPE;
  if (mt::numel(self) == 0) return MT_OK;
  if (!mt::is_contiguous(self) || !mt::is_contiguous(out)) return MT_ERROR_SHAPE;
  const int64_t n = self->shape[self->ndim - 1];
  return mt::parallel(mt::numel(self) / n, mt::rows_grain(n), [=](int64_t first, int64_t last) -> int {
    return mt::by_size(self->itemsize, [=](auto like) { return mt::flip<decltype(like)>(self, out, mask, first, last); });
  });
}
