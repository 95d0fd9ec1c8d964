// Random counts and indices: Poisson and binomial distributions, weights to draw by, the largest of a row.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "draws.h"

namespace mt {
namespace {

// Hoermann's transformed rejection (PTRS, 1993) from 10 on; below, the product of uniform numbers.
double poisson(double mean, Engine& engine) {
  if (mean == 0) return 0;
  if (mean < 10) {
    const double bound = std::exp(-mean);
    double product = 1;
    for (int64_t count = 0;; ++count)
      if ((product *= engine.uniform()) <= bound) return double(count);
  }
  const double root = std::sqrt(mean), log_mean = std::log(mean);
  const double b = 0.931 + 2.53 * root;
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = engine.uniform() - 0.5;
    const double v = engine.uniform();
    const double us = 0.5 - std::fabs(u);
    const int64_t k = int64_t(std::floor((2 * a / us + b) * u + mean + 0.43));
    if (us >= 0.07 && v <= v_r) return double(k);
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -mean + double(k) * log_mean - std::lgamma(double(k + 1)))
      return double(k);
  }
}

// ln k! less Stirling's approximation of it.
double stirling_tail(double k) {
  static const double first[] = {0.0810614667953272,  0.0413406959554092,  0.0276779256849983, 0.02079067210376509,
                                 0.0166446911898211,  0.0138761288230707,  0.0118967099458917, 0.0104112652619720,
                                 0.00925546218271273, 0.00833056343336287};
  if (k < 10) return first[int(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Of a few successes: the trials up to each are geometric.
template <class T>
T binomial_by_gaps(T count, T p, Engine& engine) {
  const double scale = std::log1p(-p);
  double trials = 0;
  for (T successes = 0;; successes += 1) {
    trials += std::ceil(std::log(engine.uniform()) / scale);
    if (trials > count) return successes;
  }
}

// Hoermann's transformed rejection with squeeze (BTRS, 1993).
template <class T>
T binomial_by_rejection(T count, T p, Engine& engine) {
  const double spread = std::sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * spread;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = count * p + 0.5;
  const double v_r = 0.92 - 4.2 / b;
  const double odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * spread;
  const double m = std::floor((count + 1) * p);
  for (;;) {
    const double u = engine.uniform() - 0.5;
    double v = engine.uniform();
    const double us = 0.5 - std::fabs(u);
    const T k = T(std::floor((2 * a / us + b) * u + c));
    if (k < 0 || k > count) continue;
    if (us >= 0.07 && v <= v_r) return k;
    v = std::log(v * alpha / (a / (us * us) + b));
    const double bound = (m + 0.5) * std::log((m + 1) / (odds * (count - m + 1))) +
                         (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                         (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) + stirling_tail(m) +
                         stirling_tail(count - m) - stirling_tail(k) - stirling_tail(count - k);
    if (v <= bound) return k;
  }
}

template <class T>
T few(T count, T p, Engine& engine) {
  return count * p >= 10.0 ? binomial_by_rejection(count, p, engine) : binomial_by_gaps(count, p, engine);
}

template <class T>
T binomial(T count, T p, Engine& engine) {
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  if (p <= 0.5) return few(count, p, engine);
  if (p > 0.5) return count - few(count, T(1.0 - p), engine);
  return std::numeric_limits<T>::quiet_NaN();  // of NaN
}

template <class T>
T at(const mt_tensor* t, int64_t row, int64_t column) {
  T value;
  const int64_t offset = (t->ndim == 2 ? row * t->strides[0] : 0) + column * t->strides[t->ndim - 1];
  cast_fn(std::is_same_v<T, double> ? int32_t(MT_F64) : int32_t(MT_F32), t->dtype)(
      &value, 1, static_cast<const char*>(t->data) + offset * t->itemsize, 1, 1);
  return value;
}

// By bisection of the sums of a row's weights, which are made of T and end at 1.
template <class T>
int draw_by_weights(const mt_tensor* weights, const mt_tensor* out, Engine& engine) {
  const int64_t rows = weights->ndim == 2 ? weights->shape[0] : 1;
  const int64_t categories = weights->shape[weights->ndim - 1], samples = out->shape[out->ndim - 1];
  std::vector<T> sums(static_cast<size_t>(categories));
  Pace pace;
  for (int64_t row = 0; row < rows; ++row) {
    T sum = 0;
    for (int64_t j = 0; j < categories; ++j) sums[size_t(j)] = sum = sum + at<T>(weights, row, j);
    if (sum > 0)
      for (T& each : sums) each /= sum;
    sums.back() = 1;
    for (int64_t j = 0; j < samples; ++j) {
      const double u = engine.uniform();
      const auto found = std::lower_bound(sums.begin(), sums.end(), u, [](T s, double x) { return double(s) < x; });
      static_cast<int64_t*>(out->data)[row * samples + j] = found - sums.begin();
    }
    if (pace.stops(categories + 16 * samples)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

// The places of a row's k largest values, from the largest on. Which of equals comes first is the algorithm's choice.
template <class T>
int largest(const mt_tensor* values, const mt_tensor* out) {
  const int64_t rows = values->ndim == 2 ? values->shape[0] : 1;
  const int64_t n = values->shape[values->ndim - 1], k = out->shape[out->ndim - 1];
  using Entry = std::pair<T, int64_t>;
  const auto above = [](const Entry& x, const Entry& y) { return x.first > y.first; };
  std::vector<Entry> entries(static_cast<size_t>(n));
  Pace pace;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t j = 0; j < n; ++j) entries[size_t(j)] = {at<T>(values, row, j), j};
    if (k * 64 <= n) {
      std::partial_sort(entries.begin(), entries.begin() + k, entries.end(), above);
    } else {
      std::nth_element(entries.begin(), entries.begin() + k - 1, entries.end(), above);
      std::sort(entries.begin(), entries.begin() + k - 1, above);
    }
    for (int64_t j = 0; j < k; ++j) static_cast<int64_t*>(out->data)[row * k + j] = entries[size_t(j)].second;
    if (pace.stops(4 * n)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

}  // namespace
}  // namespace mt

MT_EXPORT int mt_poisson(const mt_tensor* self, const mt_tensor* out, mt_generator* generator) {
  if (!mt::is_floating(self->dtype)) return MT_ERROR_DTYPE;
  mt::Engine engine(generator);
  const mt_tensor* operands[] = {out, self};
  return mt::of_elements<double, 2>(operands, MT_F64, [&](double mean) { return mt::poisson(mean, engine); });
}

MT_EXPORT int mt_binomial(const mt_tensor* count, const mt_tensor* p, const mt_tensor* out, mt_generator* generator) {
  mt::Engine engine(generator);
  const mt_tensor* operands[] = {out, count, p};
  if (out->dtype == MT_F64)
    return mt::of_elements<double, 3>(operands, MT_F64, [&](double n, double q) { return mt::binomial(n, q, engine); });
  if (out->dtype != MT_F32) return MT_ERROR_DTYPE;
  return mt::of_elements<float, 3>(operands, MT_F32, [&](float n, float q) { return mt::binomial(n, q, engine); });
}

// Indices into each row of `weights`, with replacement. `out` is contiguous.
MT_EXPORT int mt_draw_by_weights(const mt_tensor* weights, const mt_tensor* out, mt_generator* generator) {
  if (!mt::is_floating(weights->dtype) || out->dtype != MT_I64) return MT_ERROR_DTYPE;
  mt::Engine engine(generator);
  return weights->dtype == MT_F64 ? mt::draw_by_weights<double>(weights, out, engine)
                                  : mt::draw_by_weights<float>(weights, out, engine);
}

// The places of the largest values of each row, of one dimension or two, as many as `out`, which is contiguous, has room for.
MT_EXPORT int mt_largest(const mt_tensor* values, const mt_tensor* out) {
  if (!mt::is_floating(values->dtype) || out->dtype != MT_I64) return MT_ERROR_DTYPE;
  return values->dtype == MT_F64 ? mt::largest<double>(values, out) : mt::largest<float>(values, out);
}
