// Normalization by batches: each channel of (N, C, ...) by a mean and a variance of its own. A channel's elements lie in planes, one
// of each sample, or side by side with those of the others (channels last). Sums are double.
#include <algorithm>
#include <cmath>
#include <vector>

#include "lines.h"
#include "tensor.h"
#include "threads.h"

namespace mt {
namespace {

constexpr int64_t kCached = 1 << 14;  // elements of which statistics are made at a time: they are read twice, and fit a fast cache

struct Layout {
  int64_t n, c, size;  // samples, channels, elements of a plane
  bool last;           // channels last
  int64_t rows;        // of channels, that are one piece; where the channels are last

  int init(const mt_tensor* t) {
    if (t->ndim < 2) return MT_ERROR_SHAPE;
    n = t->shape[0], c = t->shape[1], size = 1;
    for (int64_t d = 2; d < t->ndim; ++d) size *= t->shape[d];
    last = size == 1 || !is_contiguous(t);
    rows = std::max<int64_t>(1, kCached / std::max<int64_t>(c, 1));
    return last && !is_channels_last(t) ? int(MT_ERROR_SHAPE) : int(MT_OK);
  }
  static bool is_channels_last(const mt_tensor* t) {
    int64_t expected = t->shape[1];
    bool fits = t->shape[1] == 1 || t->strides[1] == 1;
    for (int64_t i = 1; i < t->ndim; ++i) {
      const int64_t d = i < t->ndim - 1 ? t->ndim - i : 0;
      fits = fits && (t->shape[d] == 1 || t->strides[d] == expected);
      expected *= t->shape[d];
    }
    return fits;
  }
  bool is_of(const mt_tensor* t) const { return last ? is_channels_last(t) : is_contiguous(t); }
  int64_t each() const { return n * size; }  // elements of a channel
  // Pieces whose statistics are made apart: samples, or rows of all channels.
  int64_t pieces() const { return last ? (each() + rows - 1) / rows : n; }
  int64_t count(int64_t piece) const { return last ? std::min(rows, each() - piece * rows) : size; }
};

// Elements that are read, or written, as T.
template <class T>
struct Elements {
  char* data = nullptr;
  int32_t itemsize = 0;
  CastFn load = nullptr, store = nullptr;  // null: they are of T

  Elements() = default;
  explicit Elements(const mt_tensor* t) : data(static_cast<char*>(t->data)), itemsize(t->itemsize) {
    const int32_t own = sizeof(T) == 4 ? MT_F32 : MT_F64;
    if (t->dtype == own) return;
    load = cast_fn(own, t->dtype);
    store = cast_fn(t->dtype, own);
  }
  MT_INLINE const T* read(int64_t at, int64_t count, T* buffer) const {
    if (load == nullptr) return reinterpret_cast<const T*>(data) + at;
    load(buffer, 1, data + at * itemsize, 1, count);
    return buffer;
  }
  MT_INLINE T* place(int64_t at, T* buffer) const { return load == nullptr ? reinterpret_cast<T*>(data) + at : buffer; }
  MT_INLINE void written(int64_t at, int64_t count, const T* buffer) const {
    if (load != nullptr) store(data + at * itemsize, 1, buffer, 1, count);
  }
};

template <class T>
struct Work {
  Layout layout;
  Elements<T> x, grad, out;
  const T *center, *scale, *slope, *shift;  // of each channel
  double *first, *second;                   // of each piece and channel

  // Calls f(position, count, first channel) for stretches of elements of a piece's row (channels last), or of a plane.
  template <class F>
  MT_INLINE void stretches(int64_t unit, F&& f) const {
    const int64_t length = layout.last ? layout.c : layout.size, start = unit * length;
    for (int64_t j = 0; j < length; j += kBlock) f(start + j, std::min(kBlock, length - j), layout.last ? j : unit % layout.c);
  }
};
#define PART(...) [__VA_ARGS__](int64_t at, int64_t count, int64_t channel) __attribute__((always_inline))

// first: the mean of each piece; second: the sum of the squared distances from it.
template <class T>
struct Moments {
  MT_INLINE static int run(const Work<T>* w, int64_t from, int64_t to) {
    const Layout& l = w->layout;
    T buffer[kBlock];
    Pace pace;
    for (int64_t unit = from; unit < to; ++unit) {
      double* mean = w->first + unit * (l.last ? l.c : 1);
      double* squares = w->second + unit * (l.last ? l.c : 1);
      if (!l.last) {
        double sum = 0, dot = 0;
        w->stretches(unit, PART(&) { sum += block_sum(w->x.read(at, count, buffer), count); });
        *mean = sum / double(l.size);
        const T center = T(*mean);
        w->stretches(unit, PART(&) {
          const T* x = w->x.read(at, count, buffer);
          dot += sum_in_twos<T>(TERM(=) { return (x[i] - center) * (x[i] - center); }, count);
        });
        const double rounded = *mean - double(center);
        *squares = dot - rounded * rounded * double(l.size);
        if (pace.stops(l.size)) return MT_ERROR_INTERRUPTED;
        continue;
      }
      const int64_t first = unit * l.rows, rows = l.count(unit);
      for (int64_t c = 0; c < l.c; ++c) mean[c] = squares[c] = 0;
      for (int64_t row = first; row < first + rows; ++row)
        w->stretches(row, PART(&) {
          const T* x = w->x.read(at, count, buffer);
          double* m = mean + channel;
#pragma GCC ivdep
          for (int64_t i = 0; i < count; ++i) m[i] += double(x[i]);
        });
      for (int64_t c = 0; c < l.c; ++c) mean[c] /= double(rows);
      for (int64_t row = first; row < first + rows; ++row)
        w->stretches(row, PART(&) {
          const T* x = w->x.read(at, count, buffer);
          const double* m = mean + channel;
          double* s = squares + channel;
#pragma GCC ivdep
          for (int64_t i = 0; i < count; ++i) {
            const double d = double(x[i]) - m[i];
            s[i] += d * d;
          }
        });
      if (pace.stops(rows * l.c)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
};

// first: the sum of the gradients; second: that of gradients times distances from the center.
template <class T>
struct GradientSums {
  MT_INLINE static int run(const Work<T>* w, int64_t from, int64_t to) {
    const Layout& l = w->layout;
    T xs[kBlock], grads[kBlock];
    Pace pace;
    for (int64_t unit = from; unit < to; ++unit) {
      if (!l.last) {
        double sum = 0, dot = 0;
        w->stretches(unit, PART(&) {
          const T *x = w->x.read(at, count, xs), *grad = w->grad.read(at, count, grads);
          const T center = w->center[channel];
          sum += block_sum(grad, count);
          dot += sum_in_twos<T>(TERM(=) { return grad[i] * (x[i] - center); }, count);
        });
        w->first[unit] = sum;
        w->second[unit] = dot;
        if (pace.stops(l.size)) return MT_ERROR_INTERRUPTED;
        continue;
      }
      double *sums = w->first + unit * l.c, *dots = w->second + unit * l.c;
      for (int64_t c = 0; c < l.c; ++c) sums[c] = dots[c] = 0;
      for (int64_t row = unit * l.rows, rows = l.count(unit); rows > 0; ++row, --rows)
        w->stretches(row, PART(&) {
          const T *x = w->x.read(at, count, xs), *grad = w->grad.read(at, count, grads), *center = w->center + channel;
          double *s = sums + channel, *d = dots + channel;
#pragma GCC ivdep
          for (int64_t i = 0; i < count; ++i) {
            s[i] += double(grad[i]);
            d[i] += double(grad[i]) * double(x[i] - center[i]);
          }
        });
      if (pace.stops(l.count(unit) * l.c)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
};

// out = (x - center) * slope + shift, and where there are gradients those times scale besides; of planes, or of rows of channels.
template <class T>
struct Linear {
  MT_INLINE static int run(const Work<T>* w, int64_t from, int64_t to) {
    T xs[kBlock], grads[kBlock], outs[kBlock];
    Pace pace;
    for (int64_t unit = from; unit < to; ++unit) {
      w->stretches(unit, PART(&) {
        const T* x = w->x.read(at, count, xs);
        const T* grad = w->grad.data == nullptr ? nullptr : w->grad.read(at, count, grads);
        T* out = w->out.place(at, outs);
        const T *center = w->center + channel, *scale = w->scale + channel, *slope = w->slope + channel, *shift = w->shift + channel;
        if (!w->layout.last) {
          const T m = *center, f = *slope, s = *shift;
          if (grad == nullptr) {
#pragma GCC ivdep
            for (int64_t i = 0; i < count; ++i) out[i] = (x[i] - m) * f + s;
          } else {
            const T g = *scale;
#pragma GCC ivdep
            for (int64_t i = 0; i < count; ++i) out[i] = grad[i] * g + (x[i] - m) * f + s;
          }
        } else if (grad == nullptr) {
#pragma GCC ivdep
          for (int64_t i = 0; i < count; ++i) out[i] = (x[i] - center[i]) * slope[i] + shift[i];
        } else {
#pragma GCC ivdep
          for (int64_t i = 0; i < count; ++i) out[i] = grad[i] * scale[i] + (x[i] - center[i]) * slope[i] + shift[i];
        }
        w->out.written(at, count, outs);
      });
      if (pace.stops(w->layout.last ? w->layout.c : w->layout.size)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
};

// Runs a body over units that cost `length` elements each.
template <template <class> class Body, class T>
int over(const Work<T>& work, int64_t units, int64_t length) {
  static const auto fn = PerIsa<Body<T>, const Work<T>*, int64_t, int64_t>::pick();
  return parallel(units, rows_grain(length, 2), [&](int64_t from, int64_t to) -> int { return fn(&work, from, to); });
}
template <template <class> class Body, class T>
int over_pieces(const Work<T>& work) {  // of planes each is one of its own
  const Layout& l = work.layout;
  return over<Body>(work, l.last ? l.pieces() : l.n * l.c, l.last ? l.rows * l.c : l.size);
}
template <template <class> class Body, class T>
int over_all(const Work<T>& work) {
  const Layout& l = work.layout;
  return over<Body>(work, l.last ? l.each() : l.n * l.c, l.last ? l.c : l.size);
}

// A number for each channel, `otherwise` where there is no tensor of them.
std::vector<double> numbers(const mt_tensor* t, double otherwise, int64_t c) {
  std::vector<double> found(size_t(c), otherwise);
  if (t != nullptr) cast_fn(MT_F64, t->dtype)(found.data(), 1, t->data, t->strides[0], c);
  return found;
}
void keep(const mt_tensor* t, const std::vector<double>& values) {
  if (t != nullptr) cast_fn(t->dtype, MT_F64)(t->data, t->strides[0], values.data(), 1, int64_t(values.size()));
}
bool is_vector(const mt_tensor* t, int64_t c) { return t == nullptr || (t->ndim == 1 && t->shape[0] == c && is_floating(t->dtype)); }

// As PyTorch's: what does not vary is divided by nothing, be there an eps or not.
double inverse_root(double variance, double eps) { return variance == 0 && eps == 0 ? 0 : 1 / std::sqrt(variance + eps); }

struct Statistics {
  std::vector<double> mean, total;  // of each channel; the sum of the squared distances from the mean
};

template <class T>
int statistics(Work<T> work, Statistics& found) {
  const Layout& l = work.layout;
  const int64_t pieces = l.pieces();
  std::vector<double> means(size_t(pieces * l.c)), squares(means.size());
  work.first = means.data();
  work.second = squares.data();
  if (int status = over_pieces<Moments>(work)) return status;
  found.mean.assign(size_t(l.c), 0);
  found.total.assign(size_t(l.c), 0);
  for (int64_t p = 0; p < pieces; ++p)
    for (int64_t c = 0; c < l.c; ++c) found.mean[c] += means[p * l.c + c] * double(l.count(p));
  for (double& mean : found.mean) mean /= double(l.each());
  for (int64_t p = 0; p < pieces; ++p)
    for (int64_t c = 0; c < l.c; ++c) {
      const double apart = means[p * l.c + c] - found.mean[c];
      found.total[c] += squares[p * l.c + c] + double(l.count(p)) * apart * apart;
    }
  for (double& total : found.total) total = total < 0 ? 0 : total;  // by rounding
  return MT_OK;
}

template <class T>
struct Channels : std::vector<T> {
  explicit Channels(int64_t c, T value = 0) : std::vector<T>(size_t(c), value) {}
};

struct Forward {
  const mt_tensor *x, *weight, *bias, *running_mean, *running_var, *save_mean, *save_spread, *out;
  bool training, keeps_variance;
  double momentum, eps;

  template <class T>
  int run(const Layout& l) const {
    Work<T> work{};
    work.layout = l;
    work.x = Elements<T>(x);
    std::vector<double> mean = numbers(running_mean, 0, l.c), root(size_t(l.c));
    if (training) {
      Statistics seen;
      if (int status = statistics(work, seen)) return status;
      std::vector<double> var = numbers(running_var, 0, l.c), variance(size_t(l.c));
      for (int64_t c = 0; c < l.c; ++c) {
        mean[c] = (1 - momentum) * mean[c] + momentum * seen.mean[c];
        var[c] = (1 - momentum) * var[c] + momentum * (seen.total[c] / double(l.each() - 1));
        variance[c] = seen.total[c] / double(l.each());
        root[c] = inverse_root(variance[c], eps);
      }
      keep(running_mean, mean);
      keep(running_var, var);
      mean = std::move(seen.mean);
      keep(save_mean, mean);
      keep(save_spread, keeps_variance ? variance : root);
    } else {
      root = numbers(running_var, 1, l.c);
      for (double& r : root) r = 1 / std::sqrt(r + eps);
    }
    if (out == nullptr) return MT_OK;
    const std::vector<double> factors = numbers(weight, 1, l.c), shifts = numbers(bias, 0, l.c);
    Channels<T> center(l.c), slope(l.c), shift(l.c);
    for (int64_t c = 0; c < l.c; ++c) center[c] = T(mean[c]), slope[c] = T(root[c] * factors[c]), shift[c] = T(shifts[c]);
    work.center = center.data(), work.slope = slope.data(), work.shift = shift.data();
    work.out = Elements<T>(out);
    return over_all<Linear>(work);
  }
};

struct Backward {
  const mt_tensor *grad, *x, *weight, *mean, *spread, *x_grad, *weight_grad, *bias_grad;
  bool training;
  double eps;

  template <class T>
  int run(const Layout& l) const {
    Work<T> work{};
    work.layout = l;
    work.x = Elements<T>(x);
    work.grad = Elements<T>(grad);
    const std::vector<double> centers = numbers(mean, 0, l.c), factors = numbers(weight, 1, l.c);
    std::vector<double> root = numbers(spread, 1, l.c), sums(size_t(l.c)), dots(size_t(l.c));
    if (!training)
      for (double& r : root) r = 1 / std::sqrt(r + eps);
    Channels<T> center(l.c), scale(l.c), slope(l.c), shift(l.c);
    for (int64_t c = 0; c < l.c; ++c) center[c] = T(centers[c]);
    work.center = center.data(), work.scale = scale.data(), work.slope = slope.data(), work.shift = shift.data();
    if (training || weight_grad != nullptr || bias_grad != nullptr) {
      const int64_t pieces = l.pieces();
      std::vector<double> first(size_t(pieces * l.c)), second(first.size());
      work.first = first.data(), work.second = second.data();
      if (int status = over_pieces<GradientSums>(work)) return status;
      for (int64_t p = 0; p < pieces; ++p)
        for (int64_t c = 0; c < l.c; ++c) sums[c] += first[p * l.c + c], dots[c] += second[p * l.c + c];
      keep(bias_grad, sums);
      for (int64_t c = 0; c < l.c; ++c) dots[c] *= root[c];
      keep(weight_grad, dots);
    }
    if (x_grad == nullptr) return MT_OK;
    for (int64_t c = 0; c < l.c; ++c) {
      const double own = root[c] * factors[c], share = training ? own / double(l.each()) : 0;  // of the statistics' own gradients
      scale[c] = T(own), slope[c] = T(-share * dots[c] * root[c]), shift[c] = T(-share * sums[c]);
    }
    work.out = Elements<T>(x_grad);
    return over_all<Linear>(work);
  }
};

const mt_tensor* where(int64_t given, int bit, const mt_tensor* t) { return given >> bit & 1 ? t : nullptr; }

}  // namespace
}  // namespace mt

// out = (x - mean) / sqrt(variance + eps) * weight + bias of each channel of x (N, C, ...), by the batch's statistics while training, to
// which running ones move by `momentum`, else by these. x and out are contiguous, or have their channels last. `given` has a bit for each
// of weight, bias, running_mean, running_var, save_mean, save_spread and out that there is; save_spread is 1 / the root, or the variance.
MT_EXPORT int mt_batch_norm(const mt_tensor* x, const mt_tensor* weight, const mt_tensor* bias, const mt_tensor* running_mean,
                            const mt_tensor* running_var, const mt_tensor* save_mean, const mt_tensor* save_spread, const mt_tensor* out,
                            int64_t given, int64_t training, int64_t keeps_variance, double momentum, double eps) {
  using mt::where;
  const mt::Forward call{x,
                         where(given, 0, weight),
                         where(given, 1, bias),
                         where(given, 2, running_mean),
                         where(given, 3, running_var),
                         where(given, 4, save_mean),
                         where(given, 5, save_spread),
                         where(given, 6, out),
                         training != 0,
                         keeps_variance != 0,
                         momentum,
                         eps};
  mt::Layout layout;
  if (int status = layout.init(x)) return status;
  if (!mt::is_floating(x->dtype) || (call.out != nullptr && out->dtype != x->dtype)) return MT_ERROR_DTYPE;
  for (const mt_tensor* t : {call.weight, call.bias, call.running_mean, call.running_var, call.save_mean, call.save_spread})
    if (!mt::is_vector(t, layout.c)) return MT_ERROR_SHAPE;
  if (call.out != nullptr && (!mt::same_shape(x, out) || !layout.is_of(out))) return MT_ERROR_SHAPE;
  return x->dtype == MT_F64 ? call.run<double>(layout) : call.run<float>(layout);
}

// The gradients of `mt_batch_norm`, by the statistics that it used: means and 1 / roots while training, else means and variances. `given`
// has a bit for each of weight, mean, spread, x_grad, weight_grad and bias_grad that there is.
MT_EXPORT int mt_batch_norm_backward(const mt_tensor* grad, const mt_tensor* x, const mt_tensor* weight, const mt_tensor* mean,
                                     const mt_tensor* spread, const mt_tensor* x_grad, const mt_tensor* weight_grad,
                                     const mt_tensor* bias_grad, int64_t given, int64_t training, double eps) {
  using mt::where;
  const mt::Backward call{grad,
                          x,
                          where(given, 0, weight),
                          where(given, 1, mean),
                          where(given, 2, spread),
                          where(given, 3, x_grad),
                          where(given, 4, weight_grad),
                          where(given, 5, bias_grad),
                          training != 0,
                          eps};
  mt::Layout layout;
  if (int status = layout.init(x)) return status;
  for (const mt_tensor* t : {x, grad, call.x_grad}) {
    if (t == nullptr) continue;
    if (t->dtype != x->dtype || !mt::is_floating(t->dtype)) return MT_ERROR_DTYPE;
    if (!mt::same_shape(x, t) || !layout.is_of(t)) return MT_ERROR_SHAPE;
  }
  for (const mt_tensor* t : {call.weight, call.mean, call.spread, call.weight_grad, call.bias_grad})
    if (!mt::is_vector(t, layout.c)) return MT_ERROR_SHAPE;
  return x->dtype == MT_F64 ? call.run<double>(layout) : call.run<float>(layout);
}
