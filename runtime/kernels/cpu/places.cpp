// Elements taken from, written to and added at places along a dimension, an index of its own for each.
#include <complex>

#include "places.h"

namespace mt {
namespace {

template <class T>
MT_INLINE void add(T& to, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    to = to || value;
  } else {
    to = wrap_add(to, value);
  }
}

// An index for the slices of a dimension as one for each element of `source`, which is as large as self in the others.
struct Spread {
  mt_tensor index;
  int64_t strides[kMaxDims] = {};
  int status = MT_ERROR_SHAPE;

  Spread(const mt_tensor* self, int64_t dim, const mt_tensor* slices, const mt_tensor* source) : index(*slices) {
    const int64_t n = source->ndim;
    if (n < 1 || n > kMaxDims || self->ndim != n || dim < 0 || dim >= n || slices->ndim != 1 || slices->shape[0] != source->shape[dim]) return;
    for (int64_t d = 0; d < n; ++d)
      if (d != dim && self->shape[d] != source->shape[d]) return;
    strides[dim] = slices->strides[0];
    index.ndim = n;
    index.shape = source->shape;
    index.strides = strides;
    status = MT_OK;
  }
};

}  // namespace
}  // namespace mt

// out[...] = self[..., index[...], ...], the index along `dim`; out has index's shape.
MT_EXPORT int mt_gather(const mt_tensor* self, int64_t dim, const mt_tensor* index, const mt_tensor* out) {
  const mt::Places places = mt::places_of(self, dim, index, out);
  if (int status = places.check()) return status;
  return mt::by_size(self->itemsize, [&](auto like) {
    using T = decltype(like);
    return places.run<T>(true, [](T& own, T& theirs) __attribute__((always_inline)) { theirs = own; });
  });
}

// self[..., index[...], ...] = src[...], of several to one place the last.
MT_EXPORT int mt_scatter(const mt_tensor* self, int64_t dim, const mt_tensor* index, const mt_tensor* src) {
  const mt::Places places = mt::places_of(self, dim, index, src);
  if (int status = places.check()) return status;
  return mt::by_size(self->itemsize, [&](auto like) {
    using T = decltype(like);
    return places.run<T>(false, [](T& own, T& theirs) __attribute__((always_inline)) { own = theirs; });
  });
}

// self[..., index[...], ...] += src[...], in the order of the places; of all dtypes but those of 16 bits that have a fraction.
MT_EXPORT int mt_scatter_add(const mt_tensor* self, int64_t dim, const mt_tensor* index, const mt_tensor* src) {
  const mt::Places places = mt::places_of(self, dim, index, src);
  if (int status = places.check()) return status;
  const auto run = [&](auto like) {
    using T = decltype(like);
    return places.run<T>(false, [](T& own, T& theirs) __attribute__((always_inline)) { mt::add(own, theirs); });
  };
  switch (self->dtype) {
    case MT_BOOL:
      return run(bool());
    case MT_U8:
      return run(uint8_t());
    case MT_I8:
      return run(int8_t());
    case MT_U16:
    case MT_I16:
      return run(uint16_t());
    case MT_U32:
    case MT_I32:
      return run(uint32_t());
    case MT_U64:
    case MT_I64:
      return run(uint64_t());
    case MT_F32:
      return run(float());
    case MT_F64:
      return run(double());
    case MT_C64:
      return run(std::complex<float>());
    case MT_C128:
      return run(std::complex<double>());
    default:
      return MT_ERROR_DTYPE;
  }
}

// Slices of self = those of source.
MT_EXPORT int mt_slices_copy(const mt_tensor* self, int64_t dim, const mt_tensor* index, const mt_tensor* source) {
  const mt::Spread spread(self, dim, index, source);
  return spread.status ? spread.status : mt_scatter(self, dim, &spread.index, source);
}

// Slices of self += those of source; see `mt_scatter_add`.
MT_EXPORT int mt_slices_add(const mt_tensor* self, int64_t dim, const mt_tensor* index, const mt_tensor* source) {
  const mt::Spread spread(self, dim, index, source);
  return spread.status ? spread.status : mt_scatter_add(self, dim, &spread.index, source);
}
