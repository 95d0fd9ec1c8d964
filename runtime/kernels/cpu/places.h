// Places along a dimension: an index of its own for each element of a tensor.
#pragma once

#include <algorithm>

#include "tensor.h"
#include "threads.h"

namespace mt {

// One element of `other` for each of `index`, and one of `self`: where the index says along `dim`, at the same place else.
struct Places {
  const mt_tensor *self, *index, *other;
  int64_t dim, size;

  int check() const {
    const int64_t n = index->ndim;
    if (n < 1 || n > kMaxDims || self->ndim != n || other->ndim != n || dim < 0 || dim >= n) return MT_ERROR_SHAPE;
    for (int64_t d = 0; d < n; ++d)
      if (index->shape[d] > other->shape[d] || (d != dim && index->shape[d] > self->shape[d])) return MT_ERROR_SHAPE;
    if (index->dtype != MT_I64 && index->dtype != MT_I32) return MT_ERROR_DTYPE;
    return self->dtype == other->dtype ? MT_OK : MT_ERROR_DTYPE;
  }

  template <class T, class F>
  MT_INLINE static void line(T* own, int64_t step, T* theirs, int64_t other_step, int64_t count, F&& f) {
    if (step == 1 && other_step == 1) {
      for (int64_t i = 0; i < count; ++i) f(own[i], theirs[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) f(own[i * step], theirs[i * other_step]);
    }
  }

  // Calls f(element of self, element of other) for the places from `first` to `last` of the first dimension.
  template <class T, class I, class F>
  MT_INLINE int each(int64_t first, int64_t last, F&& f) const {
    const int inner = int(index->ndim) - 1;
    const int64_t count = inner == 0 ? last - first : index->shape[inner], along = self->strides[dim];
    const int64_t step = inner == dim ? 0 : self->strides[inner];
    const int64_t index_step = index->strides[inner], other_step = other->strides[inner];
    int64_t at[kMaxDims] = {};
    at[0] = first;
    Pace pace;
    for (;;) {
      int64_t from = 0, where = 0, to = 0;
      for (int d = 0; d < std::max(inner, 1); ++d) {
        if (d != dim) from += at[d] * self->strides[d];
        where += at[d] * index->strides[d];
        to += at[d] * other->strides[d];
      }
      T* own = static_cast<T*>(self->data) + from;
      const I* places = static_cast<const I*>(index->data) + where;
      T* theirs = static_cast<T*>(other->data) + to;
      if (index_step == 0 && inner != dim) {  // one place for the whole line
        const int64_t place = int64_t(places[0]);
        if (place < 0 || place >= size) return MT_ERROR_INDEX;
        line(own + place * along, step, theirs, other_step, count, f);
      } else {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t place = int64_t(places[i * index_step]);
          if (place < 0 || place >= size) return MT_ERROR_INDEX;
          f(own[i * step + place * along], theirs[i * other_step]);
        }
      }
      if (pace.stops(count)) return MT_ERROR_INTERRUPTED;
      if (inner == 0) return MT_OK;
      int d = inner - 1;
      for (; d > 0 && ++at[d] == index->shape[d]; --d) at[d] = 0;
      if (d == 0 && ++at[0] == last) return MT_OK;
    }
  }

  // The same for all places: by threads, where no two of them come to one element of self.
  template <class T, class F>
  int run(bool reads, F&& f) const {
    if (numel(index) == 0) return MT_OK;
    const int64_t count = index->shape[0], each_of = numel(index) / count;
    return parallel(count, reads || dim != 0 ? rows_grain(each_of, 4) : count, [&](int64_t first, int64_t last) -> int {
      return index->dtype == MT_I64 ? each<T, int64_t>(first, last, f) : each<T, int32_t>(first, last, f);
    });
  }
};

inline Places places_of(const mt_tensor* self, int64_t dim, const mt_tensor* index, const mt_tensor* other) {
  return {self, index, other, dim, dim >= 0 && dim < self->ndim ? self->shape[dim] : 0};
}

}  // namespace mt
