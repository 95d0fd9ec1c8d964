// Slices at indices.
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

int select_runs(const mt_tensor* self, int64_t dim, const Indices& indices, const mt_tensor* out) {
  int64_t outer = 1, run = self->itemsize;
  for (int64_t d = 0; d < self->ndim; ++d) (d < dim ? outer : run) *= d == dim ? 1 : self->shape[d];
  const int64_t size = self->shape[dim];
  return parallel(outer * indices.count, rows_grain(run / 4), [&](int64_t first, int64_t last) -> int {
    Pace pace;
    for (; first < last; ++first) {
      const int64_t from = first / indices.count * size + indices.at[first % indices.count];
      std::memcpy(static_cast<char*>(out->data) + first * run, static_cast<const char*>(self->data) + from * run, size_t(run));
      if (pace.stops(run / 4)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

}  // namespace
}  // namespace mt

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
  if (index->ndim != 1 || out->ndim != self->ndim) return MT_ERROR_SHAPE;
  for (int64_t i = 0; i < indices.count; ++i) {
    const mt::Slice from(self, dim, indices.at[i]), to(out, dim, i);
    if (int status = mt_copy(&from.tensor, &to.tensor)) return status;
  }
  return MT_OK;
}
