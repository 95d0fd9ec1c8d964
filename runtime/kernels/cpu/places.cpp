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
