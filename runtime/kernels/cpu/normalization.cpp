// Normalization: rows over all their elements, as of layers, and planes (all elements of one channel of one sample) with a
// mean and a variance each, which batches and groups are made of. All memory is contiguous, of float or double; sums are double.
#include <algorithm>
#include <cmath>
#include <memory>
#include <new>

#include "tensor.h"
#include "threads.h"

namespace mt {
namespace {

constexpr int kLanes = 16;  // independent accumulators, so that a sum vectorises

// The sum of f(i) for i < n. A lambda is part of the loop, which must be compiled with it for its instruction set.
template <class F>
MT_INLINE double lane_sum(int64_t n, F&& f) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] += f(i + l);
  for (int l = 0; i < n; ++i, ++l) lanes[l] += f(i);
  for (int l = 1; l < kLanes; ++l) lanes[0] += lanes[l];
  return lanes[0];
}
#define TERM(...) [__VA_ARGS__](int64_t i) __attribute__((always_inline)) -> double

// What the row functions take: operands of `rows` x `n`, of n (weights, which may be null) and of `rows` (statistics).
struct Rows {
  const void *x, *grad, *weight, *bias;
  void *out, *mean, *rstd;
  void *weight_grad, *bias_grad;
  int64_t rows, n;
  double eps;
  bool centered;  // about the mean; else by the root of the mean square alone
};

template <class T>
struct NormalizeRows {
  MT_INLINE static int run(const Rows* r) {
    const T* weight = static_cast<const T*>(r->weight);
    const T* bias = static_cast<const T*>(r->bias);
    const int64_t n = r->n;
    Pace pace;
    for (int64_t row = 0; row < r->rows; ++row) {
      const T* x = static_cast<const T*>(r->x) + row * n;
      T* out = static_cast<T*>(r->out) + row * n;
      const double mean = r->centered ? lane_sum(n, TERM(=) { return double(x[i]); }) / double(n) : 0.0;
      const double var = lane_sum(n, TERM(=) {
                           const double d = double(x[i]) - mean;
                           return d * d;
                         }) / double(n);
      const double rstd = 1.0 / std::sqrt(var + r->eps);
      const T scale = T(rstd), center = T(mean);
      if (weight == nullptr) {
        for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - center) * scale;
      } else {
        for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - center) * scale * weight[i];
      }
      if (bias != nullptr)
        for (int64_t i = 0; i < n; ++i) out[i] += bias[i];
      if (r->mean != nullptr) static_cast<T*>(r->mean)[row] = center;
      static_cast<T*>(r->rstd)[row] = scale;
      if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
};

// With g the gradient times the weight: out = rstd * (g - mean(g) - normalized * mean(g * normalized)).
template <class T>
struct NormalizeRowsBackward {
  MT_INLINE static int run(const Rows* r) {
    const T* weight = static_cast<const T*>(r->weight);
    const int64_t n = r->n;
    Pace pace;
    for (int64_t row = 0; row < r->rows; ++row) {
      const T* x = static_cast<const T*>(r->x) + row * n;
      const T* grad = static_cast<const T*>(r->grad) + row * n;
      const T center = r->centered ? static_cast<const T*>(r->mean)[row] : T(0);
      const T scale = static_cast<const T*>(r->rstd)[row];
      T* out = static_cast<T*>(r->out) + row * n;
      double total = 0, dot = 0;
      if (weight == nullptr) {
        if (r->centered) total = lane_sum(n, TERM(=) { return double(grad[i]); });
        dot = lane_sum(n, TERM(=) { return double(grad[i]) * double(x[i] - center); });
      } else {
        if (r->centered) total = lane_sum(n, TERM(=) { return double(grad[i] * weight[i]); });
        dot = lane_sum(n, TERM(=) { return double(grad[i] * weight[i]) * double(x[i] - center); });
      }
      const T shift = T(total / double(n)), slope = T(dot * double(scale) * double(scale) / double(n));
      if (weight == nullptr) {
        for (int64_t i = 0; i < n; ++i) out[i] = scale * (grad[i] - shift - (x[i] - center) * slope);
      } else {
        for (int64_t i = 0; i < n; ++i) out[i] = scale * (grad[i] * weight[i] - shift - (x[i] - center) * slope);
      }
      if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
};

constexpr int64_t kColumns = 128;  // whose sums are made side by side

// The gradients of weight and bias at `columns` <= kColumns places from `first` on, each a sum over all rows.
template <class T>
struct ParameterGradients {
  MT_INLINE static int run(const Rows* r, int64_t first, int64_t columns) {
    double weight_sums[kColumns] = {}, bias_sums[kColumns] = {};
    Pace pace;
    for (int64_t row = 0; row < r->rows; ++row) {
      const T* x = static_cast<const T*>(r->x) + row * r->n + first;
      const T* grad = static_cast<const T*>(r->grad) + row * r->n + first;
      const T center = r->centered ? static_cast<const T*>(r->mean)[row] : T(0);
      const T scale = static_cast<const T*>(r->rstd)[row];
      if (r->weight_grad != nullptr)
        for (int64_t i = 0; i < columns; ++i) weight_sums[i] += double(grad[i] * ((x[i] - center) * scale));
      if (r->bias_grad != nullptr)
        for (int64_t i = 0; i < columns; ++i) bias_sums[i] += double(grad[i]);
      if (pace.stops(columns)) return MT_ERROR_INTERRUPTED;
    }
    if (r->weight_grad != nullptr)
      for (int64_t i = 0; i < columns; ++i) static_cast<T*>(r->weight_grad)[first + i] = T(weight_sums[i]);
    if (r->bias_grad != nullptr)
      for (int64_t i = 0; i < columns; ++i) static_cast<T*>(r->bias_grad)[first + i] = T(bias_sums[i]);
    return MT_OK;
  }
};

// What the plane functions take: operands of `planes` x `n`, and numbers of double for each plane.
struct Planes {
  const void *a, *b;
  void* out;
  const double *first, *second, *third;
  double *sums, *dots;
  int64_t planes, n;
};

// sums: of a; dots: of a * (b - first).
template <class T>
struct PlaneSums {
  MT_INLINE static int run(const Planes* p) {
    const int64_t n = p->n;
    Pace pace;
    for (int64_t k = 0; k < p->planes; ++k) {
      const T* a = static_cast<const T*>(p->a) + k * n;
      const T* b = static_cast<const T*>(p->b) + k * n;
      const double center = p->first[k];
      p->sums[k] = lane_sum(n, TERM(=) { return double(a[i]); });
      p->dots[k] = lane_sum(n, TERM(=) { return double(a[i]) * (double(b[i]) - center); });
      if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
};

// out = a * first + (b - third) * second + dots.
template <class T>
struct PlaneLinear {
  MT_INLINE static int run(const Planes* p) {
    const int64_t n = p->n;
    Pace pace;
    for (int64_t k = 0; k < p->planes; ++k) {
      const T* a = static_cast<const T*>(p->a) + k * n;
      const T* b = static_cast<const T*>(p->b) + k * n;
      T* out = static_cast<T*>(p->out) + k * n;
      const T first = T(p->first[k]), second = T(p->second[k]), third = T(p->third[k]), shift = T(p->dots[k]);
      for (int64_t i = 0; i < n; ++i) out[i] = a[i] * first + (b[i] - third) * second + shift;
      if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
};

// What normalization by groups takes: each group is `size` planes of `area` elements, and a sample has `of_sample` groups.
struct Groups {
  const void *x, *weight, *bias;
  void *out, *mean, *rstd;
  int64_t groups, of_sample, size, area;
  double eps;
};

// The sum of n elements: of float32, sums of two are made before they are converted.
template <class T>
MT_INLINE double sum_of_twos(const T* x, int64_t n) {
  constexpr int kHalf = kLanes / 2;
  double lanes[kHalf] = {}, sum = 0;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kHalf; ++l) lanes[l] += double(x[i + l] + x[i + l + kHalf]);
  for (; i < n; ++i) sum += double(x[i]);
  for (int l = 0; l < kHalf; ++l) sum += lanes[l];
  return sum;
}

template <class T>
struct NormalizeGroups {
  MT_INLINE static int run(const Groups* g, int64_t first, int64_t last) {
    const int64_t n = g->size * g->area;
    Pace pace;
    for (int64_t group = first; group < last; ++group) {
      const T* x = static_cast<const T*>(g->x) + group * n;
      T* out = static_cast<T*>(g->out) + group * n;
      const double mean = sum_of_twos(x, n) / double(n);
      const T center = T(mean);
      const double squares = lane_sum(n, TERM(=) {
        const double d = double(x[i] - center);
        return d * d;
      });
      const double rounded = mean - double(center), var = squares / double(n) - rounded * rounded;
      const double rstd = 1.0 / std::sqrt((var < 0 ? 0 : var) + g->eps);
      for (int64_t plane = 0; plane < g->size; ++plane, x += g->area, out += g->area) {
        const int64_t channel = group % g->of_sample * g->size + plane;
        const T scale = g->weight == nullptr ? T(rstd) : T(rstd * double(static_cast<const T*>(g->weight)[channel]));
        const T shift = g->bias == nullptr ? T(0) : static_cast<const T*>(g->bias)[channel];
        for (int64_t i = 0; i < g->area; ++i) out[i] = (x[i] - center) * scale + shift;
      }
      static_cast<double*>(g->mean)[group] = mean;
      static_cast<double*>(g->rstd)[group] = rstd;
      if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
};

template <class T>
int normalize_groups(const Groups& g) {
  static const auto fn = PerIsa<NormalizeGroups<T>, const Groups*, int64_t, int64_t>::pick();
  return parallel(g.groups, rows_grain(g.size * g.area, 2), [&](int64_t first, int64_t last) -> int { return fn(&g, first, last); });
}

char* moved(const void* data, int64_t elements, int64_t itemsize) {
  return data == nullptr ? nullptr : const_cast<char*>(static_cast<const char*>(data)) + elements * itemsize;
}

// The rows from `first` to `last`.
template <class T>
Rows part(const Rows& r, int64_t first, int64_t last) {
  const int64_t size = sizeof(T), row = first * r.n;
  return {moved(r.x, row, size),       moved(r.grad, row, size),    r.weight,      r.bias,       moved(r.out, row, size),
          moved(r.mean, first, size), moved(r.rstd, first, size), r.weight_grad, r.bias_grad, last - first,
          r.n,                        r.eps,                      r.centered};
}

// The planes from `first` to `last`.
template <class T>
Planes part(const Planes& p, int64_t first, int64_t last) {
  const auto shifted = [first](auto* numbers) { return numbers == nullptr ? nullptr : numbers + first; };
  const int64_t size = sizeof(T), plane = first * p.n;
  return {moved(p.a, plane, size), moved(p.b, plane, size), moved(p.out, plane, size), shifted(p.first), shifted(p.second),
          shifted(p.third),        shifted(p.sums),         shifted(p.dots),           last - first,     p.n};
}

int64_t count(const Rows& r) { return r.rows; }
int64_t count(const Planes& p) { return p.planes; }

template <template <class> class Body, class T, class Work>
int run_as(const Work& work) {
  static const auto fn = PerIsa<Body<T>, const Work*>::pick();
  return parallel(count(work), rows_grain(work.n, 2), [&](int64_t first, int64_t last) -> int {
    const Work mine = part<T>(work, first, last);
    return fn(&mine);
  });
}

template <template <class> class Body, class Work>
int run(int32_t dtype, const Work& work) {
  if (dtype == MT_F32) return run_as<Body, float>(work);
  return dtype == MT_F64 ? run_as<Body, double>(work) : int(MT_ERROR_DTYPE);
}

// Rows of halves, one by one in float32; the parameters and statistics are of `parameters`.
int normalize_halves(int32_t dtype, int32_t parameters, const Rows& r) {
  static const auto fn = PerIsa<NormalizeRows<float>, const Rows*>::pick();
  const CastFn widen = cast_fn(MT_F32, dtype), round = cast_fn(dtype, MT_F32), keep = cast_fn(parameters, MT_F32);
  const int64_t n = r.n, size = item_size(dtype), kept = item_size(parameters);
  std::unique_ptr<float[]> wide(new (std::nothrow) float[size_t(2 * n)]);
  if (!wide) return MT_ERROR_MEMORY;
  float *const weight = r.weight == nullptr ? nullptr : wide.get(), *const bias = r.bias == nullptr ? nullptr : wide.get() + n;
  if (weight != nullptr) cast_fn(MT_F32, parameters)(weight, 1, r.weight, 1, n);
  if (bias != nullptr) cast_fn(MT_F32, parameters)(bias, 1, r.bias, 1, n);
  return parallel(r.rows, rows_grain(n, 2), [&](int64_t first, int64_t last) -> int {
    std::unique_ptr<float[]> line(new (std::nothrow) float[size_t(n)]);
    if (!line) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      float mean = 0, rstd = 0;
      const Rows one{line.get(), nullptr, weight, bias, line.get(), r.mean == nullptr ? nullptr : &mean, &rstd, nullptr, nullptr, 1, n, r.eps, r.centered};
      widen(line.get(), 1, moved(r.x, first * n, size), 1, n);
      if (int status = fn(&one)) return status;
      round(moved(r.out, first * n, size), 1, line.get(), 1, n);
      if (r.mean != nullptr) keep(moved(r.mean, first, kept), 1, &mean, 1, 1);
      keep(moved(r.rstd, first, kept), 1, &rstd, 1, 1);
      if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

template <class T>
int parameter_gradients(const Rows& r) {
  static const auto fn = PerIsa<ParameterGradients<T>, const Rows*, int64_t, int64_t>::pick();
  const int64_t blocks = (r.n + kColumns - 1) / kColumns;
  return parallel(blocks, rows_grain(r.rows * std::min(r.n, kColumns)), [&](int64_t first, int64_t last) -> int {
    for (; first < last; ++first)
      if (int status = fn(&r, first * kColumns, std::min(kColumns, r.n - first * kColumns))) return status;
    return MT_OK;
  });
}

// The first operand says how many rows or planes there are, and how long they are.
bool is_matrix(const mt_tensor* t) { return t->ndim == 2 && is_contiguous(t); }

}  // namespace
}  // namespace mt

// out = (x - mean) * rstd * weight + bias for each row; without `mean` by the root of the mean square alone.
// x has any shape; there are as many rows as `rstd` has elements. Parameters and statistics are of its dtype, or of float32 where x is of halves.
MT_EXPORT int mt_normalize_rows(const mt_tensor* x, void* weight, void* bias, void* out, void* mean, const mt_tensor* rstd, double eps) {
  const int64_t count = mt::numel(rstd);
  if (!mt::is_contiguous(x) || !mt::is_contiguous(rstd) || count < 1) return MT_ERROR_SHAPE;
  const bool halves = x->dtype == MT_F16 || x->dtype == MT_BF16;
  if (rstd->dtype != x->dtype && !(halves && rstd->dtype == MT_F32)) return MT_ERROR_DTYPE;
  mt::Rows rows{x->data, nullptr, weight,  bias,  out, mean, rstd->data, nullptr, nullptr, count, mt::numel(x) / count,
                eps,     mean != nullptr};
  return halves ? mt::normalize_halves(x->dtype, rstd->dtype, rows) : mt::run<mt::NormalizeRows>(x->dtype, rows);
}

// The gradients of `mt_normalize_rows`; any of the outputs may be null.
MT_EXPORT int mt_normalize_rows_backward(const mt_tensor* x, void* grad, void* weight, void* mean, void* rstd, void* out,
                                         void* weight_grad, void* bias_grad) {
  if (!mt::is_matrix(x)) return MT_ERROR_SHAPE;
  mt::Rows rows{x->data, grad, weight, nullptr, out, mean, rstd, weight_grad, bias_grad, x->shape[0], x->shape[1], 0, mean != nullptr};
  if (out != nullptr)
    if (int status = mt::run<mt::NormalizeRowsBackward>(x->dtype, rows)) return status;
  if (weight_grad == nullptr && bias_grad == nullptr) return MT_OK;
  if (x->dtype == MT_F32) return mt::parameter_gradients<float>(rows);
  return x->dtype == MT_F64 ? mt::parameter_gradients<double>(rows) : int(MT_ERROR_DTYPE);
}

// Of x (samples * channels, area) each group of channels of a sample by its own mean and variance, times its channels' weights and
// with their biases, which may be null, to `out`; mean and rstd are (samples, groups) of float64.
MT_EXPORT int mt_normalize_groups(const mt_tensor* x, void* weight, void* bias, void* out, const mt_tensor* mean, double* rstd, double eps) {
  if (!mt::is_matrix(x) || !mt::is_matrix(mean)) return MT_ERROR_SHAPE;
  if (mean->dtype != MT_F64) return MT_ERROR_DTYPE;
  const int64_t groups = mt::numel(mean);
  if (groups < 1 || x->shape[0] % groups != 0) return MT_ERROR_SHAPE;
  const mt::Groups g{x->data, weight, bias, out, mean->data, rstd, groups, mean->shape[1], x->shape[0] / groups, x->shape[1], eps};
  if (x->dtype == MT_F32) return mt::normalize_groups<float>(g);
  return x->dtype == MT_F64 ? mt::normalize_groups<double>(g) : int(MT_ERROR_DTYPE);
}

// Of each plane the sum of a, and that of a * (b - center).
MT_EXPORT int mt_plane_sums(const mt_tensor* a, void* b, double* centers, double* sums, double* dots) {
  if (!mt::is_matrix(a)) return MT_ERROR_SHAPE;
  mt::Planes planes{a->data, b, nullptr, centers, nullptr, nullptr, sums, dots, a->shape[0], a->shape[1]};
  return mt::run<mt::PlaneSums>(a->dtype, planes);
}

// out = a * scale + (b - center) * slope + shift for each plane.
MT_EXPORT int mt_plane_gradient(const mt_tensor* a, void* b, double* scales, double* centers, double* slopes, double* shifts,
                                void* out) {
  if (!mt::is_matrix(a)) return MT_ERROR_SHAPE;
  mt::Planes planes{a->data, b, out, scales, slopes, centers, nullptr, shifts, a->shape[0], a->shape[1]};
  return mt::run<mt::PlaneLinear>(a->dtype, planes);
}
