// Elements at arrays of indices, which stand for some dimensions of a tensor: taken, written, added.
#include <algorithm>
#include <complex>

#include "indices.h"
#include "numbers.h"
#include "threads.h"

namespace mt {
namespace {

// What is picked of `self`: its dimensions whose bits in `mask` are set give way to those of `at`, which come before the `place`-th
// of the others. `at` says where its elements are in self; `other` has an element, of its own or a common one, for each.
struct Picked {
  const mt_tensor *self, *at, *other;
  uint64_t mask;
  int64_t place, ndim = 0;
  int64_t shape[kMaxDims + 1], own[kMaxDims + 1], where[kMaxDims + 1], theirs[kMaxDims + 1];  // sizes, and steps in the three

  Picked(const mt_tensor* of, uint64_t dims, int64_t at_place, const mt_tensor* offsets, const mt_tensor* with)
      : self(of), at(offsets), other(with), mask(dims), place(at_place) {}

  int prepare() {
    int64_t left = self->ndim;
    for (int64_t d = 0; d < self->ndim && d < kMaxDims; ++d) left -= mask >> d & 1;
    if (self->ndim > kMaxDims || left + at->ndim != other->ndim || other->ndim > kMaxDims || place < 0 || place > left) return MT_ERROR_SHAPE;
    if (at->dtype != MT_I64 || self->dtype != other->dtype) return MT_ERROR_DTYPE;
    int64_t taken = 0, d = 0;
    const auto add = [&](int64_t size, int64_t step, int64_t at_step) {
      if (other->shape[taken] != size) return false;
      const int64_t other_step = other->strides[taken++];
      // What lies in one run with the dimension before it, in all three, is one with it.
      if (ndim && own[ndim - 1] == step * size && where[ndim - 1] == at_step * size && theirs[ndim - 1] == other_step * size) {
        shape[--ndim] *= size;
      } else {
        shape[ndim] = size;
      }
      own[ndim] = step;
      where[ndim] = at_step;
      theirs[ndim++] = other_step;
      return true;
    };
    for (int64_t rest = 0;; ++rest) {
      for (int64_t k = 0; rest == place && k < at->ndim; ++k)
        if (!add(at->shape[k], 0, at->strides[k])) return MT_ERROR_SHAPE;
      while (d < self->ndim && (mask >> d & 1)) ++d;
      if (d == self->ndim) break;
      if (!add(self->shape[d], self->strides[d], 0)) return MT_ERROR_SHAPE;
      ++d;
    }
    if (ndim == 0) shape[ndim] = 1, own[ndim] = where[ndim] = 0, theirs[ndim++] = 0;
    return MT_OK;
  }

  // Calls f(element of self, element of other) for the places from `first` to `last` of the first dimension.
  template <class T, class F>
  MT_INLINE int each(int64_t first, int64_t last, F&& f) const {
    const int inner = int(ndim) - 1;
    const int64_t count = inner == 0 ? last - first : shape[inner];
    const int64_t step = own[inner], at_step = where[inner], other_step = theirs[inner];
    int64_t index[kMaxDims] = {};
    index[0] = first;
    Pace pace;
    for (;;) {
      int64_t from = 0, place_of = 0, to = 0;
      for (int d = 0; d < std::max(inner, 1); ++d) {
        from += index[d] * own[d];
        place_of += index[d] * where[d];
        to += index[d] * theirs[d];
      }
      const int64_t* places = static_cast<const int64_t*>(at->data) + place_of;
      T* mine = static_cast<T*>(self->data) + from;
      T* given = static_cast<T*>(other->data) + to;
      if (at_step == 0 && step == 1 && other_step == 1) {
        mine += places[0];
        for (int64_t i = 0; i < count; ++i) f(mine[i], given[i]);
      } else {
        for (int64_t i = 0; i < count; ++i) f(mine[i * step + places[i * at_step]], given[i * other_step]);
      }
      if (pace.stops(count)) return MT_ERROR_INTERRUPTED;
      if (inner == 0) return MT_OK;
      int d = inner - 1;
      for (; d > 0 && ++index[d] == shape[d]; --d) index[d] = 0;
      if (d == 0 && ++index[0] == last) return MT_OK;
    }
  }

  // The same for all places, in their order or, where that does not matter, by threads.
  template <class T, class F>
  int run(bool by_threads, F&& f) const {
    int64_t each_of = 1;
    for (int64_t d = 1; d < ndim; ++d) each_of *= shape[d];
    if (each_of == 0 || shape[0] == 0) return MT_OK;
    return parallel(shape[0], by_threads ? rows_grain(each_of, 2) : shape[0], [&](int64_t first, int64_t last) -> int {
      return each<T>(first, last, f);
    });
  }
};

// Sums in a dtype that has none, made in a wider one.
template <class T, class Wide>
int add_rounded(const Picked& picked, int32_t wide) {
  const CastFn read = cast_fn(wide, picked.self->dtype), write = cast_fn(picked.self->dtype, wide);
  return picked.run<T>(false, [=](T& own, T& theirs) {
    Wide a, b;
    read(&a, 1, &own, 1, 1);
    read(&b, 1, &theirs, 1, 1);
    a += b;
    write(&own, 1, &a, 1, 1);
  });
}

template <class T>
int add_numbers(const Picked& picked) {
  return picked.run<T>(false, [](T& own, T& theirs) __attribute__((always_inline)) {
    if constexpr (std::is_same_v<T, bool>) {
      own |= theirs;
    } else {
      put(own, wrap_add(number(own), number(theirs)));
    }
  });
}

}  // namespace
}  // namespace mt

// at += stride * index, where an index below 0 counts from `size`. `first`: at, which is contiguous, is not read.
MT_EXPORT int mt_index_offsets(const mt_tensor* index, int64_t size, int64_t stride, const mt_tensor* at, bool first) {
  if (!mt::same_shape(index, at) || !mt::is_contiguous(at)) return MT_ERROR_SHAPE;
  if (at->dtype != MT_I64 || !mt::is_integer(index->dtype)) return MT_ERROR_DTYPE;
  const mt::Indices indices(index);
  if (indices.status) return indices.status;
  int64_t* to = static_cast<int64_t*>(at->data);
  for (int64_t i = 0; i < indices.count; ++i) {
    const int64_t given = indices.at[i];
    if (given < -size || given >= size) return MT_ERROR_INDEX;
    to[i] = (first ? 0 : to[i]) + (given < 0 ? given + size : given) * stride;
  }
  return MT_OK;
}

// out = what is picked of self.
MT_EXPORT int mt_index_take(const mt_tensor* self, uint64_t mask, int64_t place, const mt_tensor* at, const mt_tensor* out) {
  mt::Picked picked(self, mask, place, at, out);
  if (int status = picked.prepare()) return status;
  return mt::by_size(self->itemsize, [&](auto like) {
    using T = decltype(like);
    return picked.run<T>(true, [](T& own, T& theirs) __attribute__((always_inline)) { theirs = own; });
  });
}

// What is picked of self = values: of several that come to one place the last.
MT_EXPORT int mt_index_write(const mt_tensor* self, uint64_t mask, int64_t place, const mt_tensor* at, const mt_tensor* values) {
  mt::Picked picked(self, mask, place, at, values);
  if (int status = picked.prepare()) return status;
  return mt::by_size(self->itemsize, [&](auto like) {
    using T = decltype(like);
    return picked.run<T>(false, [](T& own, T& theirs) __attribute__((always_inline)) { own = theirs; });
  });
}

// What is picked of self += values, one after the other: each sum is rounded to self's dtype.
MT_EXPORT int mt_index_add(const mt_tensor* self, uint64_t mask, int64_t place, const mt_tensor* at, const mt_tensor* values) {
  mt::Picked picked(self, mask, place, at, values);
  if (int status = picked.prepare()) return status;
  if (self->dtype == MT_C64) return mt::add_numbers<std::complex<float>>(picked);
  if (self->dtype == MT_C128) return mt::add_numbers<std::complex<double>>(picked);
  if (self->dtype == MT_C32) return mt::add_rounded<uint32_t, std::complex<float>>(picked, MT_C64);
  if (mt::is_float8(self->dtype)) return mt::add_rounded<uint8_t, float>(picked, MT_F32);
  return mt::by_number(self->dtype, [&](auto like) { return mt::add_numbers<decltype(like)>(picked); });
}
