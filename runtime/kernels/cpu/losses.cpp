// Losses of numbers against numbers, a value for each element, and what their gradients are: in one pass, in out's dtype.
#include <cmath>

#include "elementwise.h"
#include "half.h"

namespace mt {
namespace {

// What all have: a number, at which a parabola ends. R rounds steps as PyTorch does in a dtype, some in half precision.
template <class R>
struct Bounded {
  static constexpr bool kBrief = true;
  double value;
  explicit Bounded(const double* p) : value(p[0]) {}
  template <class T>
  MT_INLINE T bound() const {
    return R::round(T(value));
  }
};

// A NaN passes.
template <class T>
MT_INLINE T held(T x, T least, T most) {
  const T raised = x < least ? least : x;
  return raised > most ? most : raised;
}

template <class R>
struct Huber : Bounded<R> {
  using Bounded<R>::Bounded;
  template <class T>
  MT_INLINE T operator()(T a, T b) const {
    const T delta = this->template bound<T>(), size = std::fabs(R::round(a - b));
    const T parabola = R::round(T(0.5) * size) * size, line = delta * R::round(size - R::round(T(0.5) * delta));
    return size <= delta ? parabola : line;
  }
};

template <class R>
struct HuberSlope : Bounded<R> {
  using Bounded<R>::Bounded;
  template <class T>
  MT_INLINE T operator()(T grad, T a, T b) const {
    const T delta = this->template bound<T>();
    return held(T(R::round(a - b)), -delta, delta) * grad;
  }
};

template <class R>
struct SmoothL1 : Bounded<R> {
  using Bounded<R>::Bounded;
  template <class T>
  MT_INLINE T operator()(T a, T b) const {
    const T beta = this->template bound<T>(), size = std::fabs(R::round(a - b));
    const T parabola = R::round(R::round(T(0.5) * size) * size) / beta, line = size - R::round(T(0.5) * beta);
    return size < beta ? parabola : line;
  }
};

template <class R>
struct SmoothL1Slope : Bounded<R> {
  using Bounded<R>::Bounded;
  template <class T>
  MT_INLINE T operator()(T grad, T a, T b) const {
    const T beta = this->template bound<T>(), apart = R::round(a - b);
    const T sign = apart != apart ? apart : T((apart > 0) - (apart < 0));
    return (beta == 0 ? sign : held(apart / beta, T(-1), T(1))) * grad;
  }
};

}  // namespace
}  // namespace mt

#define LOSS(name) MT_EXPORT int mt_##name(const mt_tensor* self, const mt_tensor* target, const mt_tensor* out, double bound)
#define SLOPE(name) \
  MT_EXPORT int mt_##name(const mt_tensor* grad, const mt_tensor* self, const mt_tensor* target, const mt_tensor* out, double bound)

LOSS(huber) {
  const mt_tensor* operands[] = {out, self, target};
  if (out->dtype == MT_BF16) return mt::arithmetic<mt::Huber<mt::ToBFloat16>, 2, true>(operands, &bound);
  return mt::arithmetic<mt::Huber<mt::Unrounded>, 2, true>(operands, &bound);
}
SLOPE(huber_slope) {
  const mt_tensor* operands[] = {out, grad, self, target};
  if (out->dtype == MT_BF16) return mt::arithmetic<mt::HuberSlope<mt::ToBFloat16>, 3, true>(operands, &bound);
  if (out->dtype == MT_F16) return mt::arithmetic<mt::HuberSlope<mt::ToFloat16>, 3, true>(operands, &bound);
  return mt::arithmetic<mt::HuberSlope<mt::Unrounded>, 3, true>(operands, &bound);
}
LOSS(smooth_l1) {
  const mt_tensor* operands[] = {out, self, target};
  if (out->dtype == MT_F16) return mt::arithmetic<mt::SmoothL1<mt::ToFloat16>, 2, true>(operands, &bound);
  return mt::arithmetic<mt::SmoothL1<mt::Unrounded>, 2, true>(operands, &bound);
}
SLOPE(smooth_l1_slope) {
  const mt_tensor* operands[] = {out, grad, self, target};
  return mt::arithmetic<mt::SmoothL1Slope<mt::Unrounded>, 3, true>(operands, &bound);
}
