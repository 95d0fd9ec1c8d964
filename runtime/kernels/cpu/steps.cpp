// Steps of optimizers in one pass over memory. Each number is rounded as where the step is composed of operators.
#include <cmath>
#include <initializer_list>

#include "tensor.h"
#include "threads.h"

namespace mt {
namespace {

constexpr int64_t kStepGrain = kGrain / 4;  // an element costs several cheap operations

// ------------------------------------------------------------------------------------------------- Adam
struct AdamNumbers {
  double shrink, decay, share, keep, fresh, root, eps, rate;
  bool maximize;
};

template <class T>
struct AdamTensors {
  T *p, *mean, *square, *greatest;  // greatest: NULL unless the step is by the greatest square so far
  const T* grad;
};

template <class T, bool kDecays, bool kGreatest>
struct Adam {
  MT_INLINE static int run(const AdamTensors<T>& t, int64_t first, int64_t last, const AdamNumbers& numbers) {
    T *p = t.p, *mean = t.mean, *square = t.square, *greatest = t.greatest;
    const T* grad = t.grad;
    const T shrink = T(numbers.shrink), decay = T(numbers.decay), share = T(numbers.share);
    const T keep = T(numbers.keep), fresh = T(numbers.fresh), root = T(numbers.root), eps = T(numbers.eps);
    const T rate = T(numbers.rate);
    const bool near = std::abs(share) < T(0.5), maximize = numbers.maximize;  // near: as `lerp`
#pragma GCC ivdep
    for (int64_t i = first; i < last; ++i) {
      T g = maximize ? -grad[i] : grad[i];
      if constexpr (kDecays) g = g + decay * p[i];
      const T span = g - mean[i];
      const T m = near ? mean[i] + share * span : g - span * (T(1) - share);
      T v = square[i] * keep + fresh * g * g;
      mean[i] = m;
      square[i] = v;
      if constexpr (kGreatest) {
        const T most = greatest[i];
        v = most > v || most != most ? most : v;  // a NaN passes
        greatest[i] = v;
      }
      p[i] = p[i] * shrink + rate * (m / (std::sqrt(v) / root + eps));
    }
    return MT_OK;
  }
};

template <class T, bool kDecays, bool kGreatest>
int adam(const AdamTensors<T>& t, int64_t n, const AdamNumbers& numbers) {
  const auto step = PerIsa<Adam<T, kDecays, kGreatest>, const AdamTensors<T>&, int64_t, int64_t, const AdamNumbers&>::pick();
  return parallel(n, kStepGrain, [&](int64_t first, int64_t last) -> int { return step(t, first, last, numbers); });
}

template <class T>
int adam(const mt_tensor* p, const mt_tensor* grad, const mt_tensor* mean, const mt_tensor* square, const mt_tensor* greatest,
         const AdamNumbers& numbers) {
  const AdamTensors<T> t = {static_cast<T*>(p->data), static_cast<T*>(mean->data), static_cast<T*>(square->data),
                            greatest ? static_cast<T*>(greatest->data) : nullptr, static_cast<const T*>(grad->data)};
  const int64_t n = numel(p);
  if (numbers.decay != 0) return greatest ? adam<T, true, true>(t, n, numbers) : adam<T, true, false>(t, n, numbers);
  return greatest ? adam<T, false, true>(t, n, numbers) : adam<T, false, false>(t, n, numbers);
}

// ---------------------------------------------------------------------------------------------------- SGD
struct SgdNumbers {
  double decay, momentum, fresh, rate;
  bool maximize, first, nesterov;
};

template <class T, bool kDecays, bool kMoves>
struct Sgd {
  MT_INLINE static int run(T* p, const T* grad, T* buffer, int64_t first, int64_t last, const SgdNumbers& numbers) {
    const T decay = T(numbers.decay), momentum = T(numbers.momentum), fresh = T(numbers.fresh);
    const T rate = T(numbers.rate);
    const bool maximize = numbers.maximize, begins = numbers.first, nesterov = numbers.nesterov;
#pragma GCC ivdep
    for (int64_t i = first; i < last; ++i) {
      T g = maximize ? -grad[i] : grad[i];
      if constexpr (kDecays) g = g + decay * p[i];
      if constexpr (kMoves) {
        const T b = begins ? g : buffer[i] * momentum + fresh * g;
        buffer[i] = b;
        g = nesterov ? g + momentum * b : b;
      }
      p[i] = p[i] + rate * g;
    }
    return MT_OK;
  }
};

template <class T, bool kDecays, bool kMoves>
int sgd(T* p, const T* grad, T* buffer, int64_t n, const SgdNumbers& numbers) {
  const auto step = PerIsa<Sgd<T, kDecays, kMoves>, T*, const T*, T*, int64_t, int64_t, const SgdNumbers&>::pick();
  return parallel(n, kStepGrain, [&](int64_t first, int64_t last) -> int { return step(p, grad, buffer, first, last, numbers); });
}

template <class T>
int sgd(const mt_tensor* self, const mt_tensor* gradient, const mt_tensor* momenta, const SgdNumbers& numbers) {
  T *p = static_cast<T*>(self->data), *buffer = momenta ? static_cast<T*>(momenta->data) : nullptr;
  const T* grad = static_cast<const T*>(gradient->data);
  const int64_t n = numel(self);
  if (numbers.decay != 0) return buffer ? sgd<T, true, true>(p, grad, buffer, n, numbers) : sgd<T, true, false>(p, grad, buffer, n, numbers);
  return buffer ? sgd<T, false, true>(p, grad, buffer, n, numbers) : sgd<T, false, false>(p, grad, buffer, n, numbers);
}

// A tensor's partners have its shape and dtype, and all are contiguous; one that is not there fits.
bool fits(const mt_tensor* t, const mt_tensor* partner) {
  return partner == nullptr || (partner->dtype == t->dtype && same_shape(t, partner) && is_contiguous(partner));
}

}  // namespace
}  // namespace mt

// A step of Adam: `decay` of the parameter goes into the gradient, `shrink` is what decoupled decay leaves of it; `share` and `fresh`
// are how much of the gradient and of its square go into their means, and `keep` how much of that of squares stays; `root` and `rate`
// are corrected for the start at 0. `greatest` is not looked at unless the step is by it.
MT_EXPORT int mt_adam(const mt_tensor* p, const mt_tensor* grad, const mt_tensor* mean, const mt_tensor* square,
                      const mt_tensor* greatest, bool by_greatest, bool maximize, double shrink, double decay, double share, double keep, double fresh,
                      double root, double eps, double rate) {
  if (!by_greatest) greatest = nullptr;
  for (const mt_tensor* t : {p, grad, mean, square, greatest})
    if (!mt::fits(p, t)) return MT_ERROR_SHAPE;
  const mt::AdamNumbers numbers = {shrink, decay, share, keep, fresh, root, eps, rate, maximize};
  if (p->dtype == MT_F32) return mt::adam<float>(p, grad, mean, square, greatest, numbers);
  if (p->dtype == MT_F64) return mt::adam<double>(p, grad, mean, square, greatest, numbers);
  return MT_ERROR_DTYPE;
}

// A step of stochastic gradient descent, where it `moves` by `momenta`, which are not looked at otherwise; in the `first` step
// these become the gradient.
MT_EXPORT int mt_sgd(const mt_tensor* p, const mt_tensor* grad, const mt_tensor* momenta, bool moves, bool maximize, bool first, bool nesterov,
                     double decay, double momentum, double fresh, double rate) {
  if (!moves) momenta = nullptr;
  for (const mt_tensor* t : {p, grad, momenta})
    if (!mt::fits(p, t)) return MT_ERROR_SHAPE;
  const mt::SgdNumbers numbers = {decay, momentum, fresh, rate, maximize, first, nesterov};
  if (p->dtype == MT_F32) return mt::sgd<float>(p, grad, momenta, numbers);
  if (p->dtype == MT_F64) return mt::sgd<double>(p, grad, momenta, numbers);
  return MT_ERROR_DTYPE;
}
