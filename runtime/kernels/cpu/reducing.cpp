// Products and extremes of what comes to the same place along a dimension.
#include <complex>

#include "numbers.h"
#include "places.h"

namespace mt {
namespace {

struct Product {
  template <class T>
  MT_INLINE static T start(T) {
    return T(1);
  }
  template <class T>
  MT_INLINE static T step(T a, T b) {
    return wrap_mul(a, b);
  }
  MT_INLINE static bool step(bool a, bool b) { return a && b; }
  template <class T>
  MT_INLINE static std::complex<T> step(std::complex<T> a, std::complex<T> b) {  // as written: std's looks for infinities
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};

template <bool largest>
struct Extreme {
  template <class T>
  MT_INLINE static T start(T) {
    using Limits = std::numeric_limits<T>;
    if constexpr (Limits::has_infinity) return largest ? -Limits::infinity() : Limits::infinity();
    return largest ? Limits::lowest() : Limits::max();
  }
  template <class T>
  MT_INLINE static T step(T a, T b) {  // NaN stays
    const bool moves = (largest ? a < b : b < a) | (b != b);
    return moves ? b : a;
  }
};

template <class Op, class T>
int reduce(const Places& places, bool afresh) {
  if (afresh) {
    const auto begin = [](T& own, T&) __attribute__((always_inline)) { put(own, Op::start(number(own))); };
    if (int status = places.run<T>(false, begin)) return status;
  }
  return places.run<T>(false, [](T& own, T& theirs) __attribute__((always_inline)) { put(own, Op::step(number(own), number(theirs))); });
}

template <class Op>
int reduce_numbers(const Places& places, bool afresh) {
  return by_number(places.self->dtype, [&](auto like) { return reduce<Op, decltype(like)>(places, afresh); });
}

}  // namespace
}  // namespace mt

// self[..., index[...], ...] times src[...], in the order of the places; `afresh`, without what was there.
MT_EXPORT int mt_scatter_prod(const mt_tensor* self, int64_t dim, const mt_tensor* index, const mt_tensor* src, bool afresh) {
  const mt::Places places = mt::places_of(self, dim, index, src);
  if (int status = places.check()) return status;
  if (self->dtype == MT_C64) return mt::reduce<mt::Product, std::complex<float>>(places, afresh);
  if (self->dtype == MT_C128) return mt::reduce<mt::Product, std::complex<double>>(places, afresh);
  return mt::reduce_numbers<mt::Product>(places, afresh);
}

// The largest, or the least, of self[..., index[...], ...] and src[...].
MT_EXPORT int mt_scatter_amax(const mt_tensor* self, int64_t dim, const mt_tensor* index, const mt_tensor* src, bool afresh) {
  const mt::Places places = mt::places_of(self, dim, index, src);
  if (int status = places.check()) return status;
  return mt::reduce_numbers<mt::Extreme<true>>(places, afresh);
}
MT_EXPORT int mt_scatter_amin(const mt_tensor* self, int64_t dim, const mt_tensor* index, const mt_tensor* src, bool afresh) {
  const mt::Places places = mt::places_of(self, dim, index, src);
  if (int status = places.check()) return status;
  return mt::reduce_numbers<mt::Extreme<false>>(places, afresh);
}
