// Fourier transforms of short lines: by factors of their length, as Stockham orders them, and Bluestein's way where a factor is a large
// prime. All is computed in double precision, several lines side by side.
#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include "tensor.h"

namespace mt {
namespace {

constexpr double kTurn = 6.283185307179586476925286766559;
constexpr int64_t kLargestFactor = 31;    // of a length that is taken apart; one with a larger prime is done by a convolution
constexpr int64_t kSideBySide = 1 << 9;   // elements of lines that are transformed together: their buffers stay in the L1 cache
constexpr size_t kPlans = 64;             // lengths that a thread keeps ready

// exp(-i turn k / n), the angle brought into an eighth of a turn by whole numbers, for its last bits.
void root(int64_t k, int64_t n, double* re, double* im) {
  k = 8 * (k % n);
  const int64_t part = k / n, rest = k % n;
  const double angle = kTurn / 8 * (double(part % 2 == 0 ? rest : n - rest) / double(n));
  const double c = std::cos(angle), s = std::sin(angle);
  const bool crossed = ((part + 1) / 2) % 2 == 1;
  const double x = crossed ? s : c, y = crossed ? c : s;
  *re = part >= 2 && part < 6 ? -x : x;
  *im = part < 4 ? -y : y;
}

struct Numbers {
  std::vector<double> re, im;

  explicit Numbers(int64_t n = 0) : re(size_t(n)), im(size_t(n)) {}
};

// What a length needs.
struct Plan {
  int64_t n;
  std::vector<int64_t> factors;
  Numbers roots;                      // exp(-i turn k / n)
  std::shared_ptr<const Plan> power;  // Bluestein's: of the convolution's length, a power of two
  Numbers chirp, spectrum;            // exp(-i turn k^2 / 2n), and the transform of its conjugate

  explicit Plan(int64_t length);
};

// Each thread keeps its own, so that nothing is locked, which a forked child might find locked for ever.
std::shared_ptr<const Plan> plan_for(int64_t n) {
  thread_local std::vector<std::shared_ptr<const Plan>> plans;  // the last used is the last
  const auto known = std::find_if(plans.begin(), plans.end(), [n](const auto& plan) { return plan->n == n; });
  if (known != plans.end()) {
    std::rotate(known, known + 1, plans.end());
    return plans.back();
  }
  std::shared_ptr<const Plan> made = std::make_shared<Plan>(n);
  if (plans.size() == kPlans) plans.erase(plans.begin());
  plans.push_back(made);
  return made;
}

// ---------------------------------------------------------------- a transform
// Lines in two buffers: element k of line b is re[k * lines + b]. The result lies in `re` and `im`; the others are written over.
struct Lines {
  double *re, *im, *other_re, *other_im;
};

struct Transform {
  // A factor R, or `factor`, of what is left of the length: m is the rest of it, s how many numbers lie side by side.
  template <int R>
  MT_INLINE static void pass(const Plan* plan, Lines* at, int64_t factor, int64_t m, int64_t s, int64_t lines) {
    const int64_t r = R > 0 ? R : factor, apart = s * m, step = s / lines;
    const double *roots_re = plan->roots.re.data(), *roots_im = plan->roots.im.data();
    double turn_re[kLargestFactor + 1], turn_im[kLargestFactor + 1];
    for (int64_t j = 0; j < r; ++j) {
      turn_re[j] = roots_re[plan->n / r * j];
      turn_im[j] = roots_im[plan->n / r * j];
    }
    for (int64_t p = 0; p < m; ++p) {
      const double *__restrict re = at->re + s * p, *__restrict im = at->im + s * p;
      double *__restrict to_re = at->other_re + s * r * p, *__restrict to_im = at->other_im + s * r * p;
      double w_re[kLargestFactor + 1], w_im[kLargestFactor + 1];
      for (int64_t j = 0; j < r; ++j) {
        w_re[j] = roots_re[step * p * j];
        w_im[j] = roots_im[step * p * j];
      }
      for (int64_t q = 0; q < s; ++q) {
        const auto put = [&](int64_t j, double x, double y) {
          to_re[s * j + q] = x * w_re[j] - y * w_im[j];
          to_im[s * j + q] = x * w_im[j] + y * w_re[j];
        };
        const double x0 = re[q], y0 = im[q];
        if constexpr (R == 2) {
          const double x1 = re[apart + q], y1 = im[apart + q];
          to_re[q] = x0 + x1;
          to_im[q] = y0 + y1;
          put(1, x0 - x1, y0 - y1);
        } else if constexpr (R == 4) {
          const double x1 = re[apart + q], y1 = im[apart + q], x2 = re[2 * apart + q], y2 = im[2 * apart + q];
          const double x3 = re[3 * apart + q], y3 = im[3 * apart + q];
          const double a = x0 + x2, b = y0 + y2, c = x1 + x3, d = y1 + y3, e = x0 - x2, f = y0 - y2, g = x1 - x3, h = y1 - y3;
          to_re[q] = a + c;
          to_im[q] = b + d;
          put(1, e + h, f - g);
          put(2, a - c, b - d);
          put(3, e - h, f + g);
        } else {  // an odd one: its elements k and r - k go together
          constexpr int64_t kHalf = R > 0 ? R / 2 : kLargestFactor / 2;
          double sx[kHalf + 1], sy[kHalf + 1], dx[kHalf + 1], dy[kHalf + 1], x = x0, y = y0;
          for (int64_t k = 1; k <= r / 2; ++k) {
            const int64_t one = k * apart + q, another = (r - k) * apart + q;
            x += sx[k] = re[one] + re[another];
            y += sy[k] = im[one] + im[another];
            dx[k] = re[one] - re[another];
            dy[k] = im[one] - im[another];
          }
          to_re[q] = x;
          to_im[q] = y;
          for (int64_t j = 1; j <= r / 2; ++j) {
            double a = x0, b = y0, c = 0, d = 0;
            for (int64_t k = 1, t = j; k <= r / 2; ++k, t = t + j < r ? t + j : t + j - r) {
              a += sx[k] * turn_re[t];
              b += sy[k] * turn_re[t];
              c -= dy[k] * turn_im[t];
              d += dx[k] * turn_im[t];
            }
            put(j, a + c, b + d);
            put(r - j, a - c, b - d);
          }
        }
      }
    }
    std::swap(at->re, at->other_re);
    std::swap(at->im, at->other_im);
  }

  MT_INLINE static int run(const Plan* plan, Lines* at, int64_t lines) {
    int64_t m = plan->n, s = lines;
    for (const int64_t factor : plan->factors) {
      m /= factor;
      if (factor == 4) {
        pass<4>(plan, at, 4, m, s, lines);
      } else if (factor == 2) {
        pass<2>(plan, at, 2, m, s, lines);
      } else if (factor == 3) {
        pass<3>(plan, at, 3, m, s, lines);
      } else if (factor == 5) {
        pass<5>(plan, at, 5, m, s, lines);
      } else {
        pass<0>(plan, at, factor, m, s, lines);
      }
      s *= factor;
    }
    return MT_OK;
  }
};

int by_factors(const Plan* plan, Lines* at, int64_t lines) {
  static const auto run = PerIsa<Transform, const Plan*, Lines*, int64_t>::pick();
  return run(plan, at, lines);
}

// As a convolution with a chirp. The buffers hold as many elements as the convolution is long.
void by_convolution(const Plan* plan, Lines* at, int64_t lines) {
  const int64_t n = plan->n, m = plan->power->n;
  const auto times = [lines](double* re, double* im, int64_t k, double x, double y) {
    for (int64_t i = k * lines; i < (k + 1) * lines; ++i) {
      const double a = re[i], b = im[i];
      re[i] = a * x - b * y;
      im[i] = a * y + b * x;
    }
  };
  for (int64_t k = 0; k < n; ++k) times(at->re, at->im, k, plan->chirp.re[size_t(k)], plan->chirp.im[size_t(k)]);
  std::fill(at->re + n * lines, at->re + m * lines, 0.0);
  std::fill(at->im + n * lines, at->im + m * lines, 0.0);
  by_factors(plan->power.get(), at, lines);
  for (int64_t k = 0; k < m; ++k) times(at->re, at->im, k, plan->spectrum.re[size_t(k)], plan->spectrum.im[size_t(k)]);
  std::swap(at->re, at->im);  // so that the transform is the inverse one
  std::swap(at->other_re, at->other_im);
  by_factors(plan->power.get(), at, lines);
  std::swap(at->re, at->im);
  std::swap(at->other_re, at->other_im);
  for (int64_t k = 0; k < n; ++k) times(at->re, at->im, k, plan->chirp.re[size_t(k)] / double(m), plan->chirp.im[size_t(k)] / double(m));
}

Plan::Plan(int64_t length) : n(length), roots(length) {
  for (int64_t k = 0; k < n; ++k) root(k, n, &roots.re[size_t(k)], &roots.im[size_t(k)]);
  int64_t rest = n;
  for (; rest % 4 == 0; rest /= 4) factors.push_back(4);
  for (int64_t factor = 2; rest > 1; factor = factor * factor > rest ? rest : factor + 1)
    for (; rest % factor == 0; rest /= factor) factors.push_back(factor);
  if (factors.empty() || *std::max_element(factors.begin(), factors.end()) <= kLargestFactor) return;
  int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  power = plan_for(m);
  chirp = Numbers(n);
  spectrum = Numbers(m);
  Numbers other(m);
  for (int64_t k = 0; k < n; ++k) {
    double *re = &chirp.re[size_t(k)], *im = &chirp.im[size_t(k)];
    root(int64_t(uint64_t(k) * uint64_t(k) % uint64_t(2 * n)), 2 * n, re, im);
    for (const int64_t at : {k, k > 0 ? m - k : 0}) {
      spectrum.re[size_t(at)] = *re;
      spectrum.im[size_t(at)] = -*im;
    }
  }
  Lines at{spectrum.re.data(), spectrum.im.data(), other.re.data(), other.im.data()};
  by_factors(power.get(), &at, 1);
  if (at.re != spectrum.re.data()) std::swap(spectrum, other);
}

// ---------------------------------------------------------------- lines of tensors
enum class Kind { kComplex, kToComplex, kToReal };

// Elements of a line, `lines` of which are interleaved. Of real numbers half of the transform is enough.
template <class T>
void load(const T* from, int64_t stride, int64_t n, Kind kind, double* re, double* im, int64_t lines) {
  if (kind == Kind::kToComplex) {
    for (int64_t k = 0; k < n; ++k) {
      re[k * lines] = double(from[k * stride]);
      im[k * lines] = 0;
    }
    return;
  }
  const int64_t count = kind == Kind::kToReal ? n / 2 + 1 : n;
  for (int64_t k = 0; k < count; ++k) {
    re[k * lines] = double(from[2 * k * stride]);
    im[k * lines] = double(from[2 * k * stride + 1]);
  }
  if (kind == Kind::kComplex) return;
  im[0] = 0;
  if (n % 2 == 0) im[n / 2 * lines] = 0;
  for (int64_t k = count; k < n; ++k) {
    re[k * lines] = re[(n - k) * lines];
    im[k * lines] = -im[(n - k) * lines];
  }
}

template <class T>
void store(T* to, int64_t stride, int64_t n, int64_t count, Kind kind, const double* re, const double* im, int64_t lines, double scale) {
  if (kind == Kind::kToReal) {
    for (int64_t k = 0; k < n; ++k) to[k * stride] = T(re[k * lines] * scale);
    return;
  }
  for (int64_t k = 0; k < count; ++k) {
    const bool mirrored = kind == Kind::kToComplex && k > n / 2, real = kind == Kind::kToComplex && (k == 0 || 2 * k == n);
    const int64_t at = mirrored ? n - k : k;
    const double y = im[at * lines] * scale;
    to[2 * k * stride] = T(re[at * lines] * scale);
    to[2 * k * stride + 1] = T(real ? 0 : mirrored ? -y : y);
  }
}

bool is_wide(const mt_tensor* t) { return t->dtype == MT_F64 || t->dtype == MT_C128; }

// All lines of `in` along a dimension, to `out`, which may be the same tensor. Throws std::bad_alloc.
int transform_lines(const mt_tensor* in, const mt_tensor* out, int64_t dim, Kind kind, bool forward, double scale) {
  const int64_t n = kind == Kind::kToReal ? out->shape[dim] : in->shape[dim], all = numel(in) / in->shape[dim];
  const std::shared_ptr<const Plan> plan = plan_for(n);
  const int64_t room = plan->power ? plan->power->n : n, together = std::min(all, std::max(int64_t(1), kSideBySide / room));
  const std::unique_ptr<double[]> buffer(new double[size_t(4 * room * together)]);
  const int64_t size = is_wide(in) ? 8 : 4, from_size = is_complex(in->dtype) ? 2 * size : size, to_size = is_complex(out->dtype) ? 2 * size : size;
  int64_t index[kMaxDims] = {0}, from = 0, to = 0;  // of the line that is read next, and of the one that is written next
  const auto advance = [&](int64_t* offset, const mt_tensor* t, int64_t* of) {
    for (int64_t d = t->ndim - 1; d >= 0; --d) {
      if (d == dim) continue;
      *offset += t->strides[d];
      if (++of[d] < t->shape[d]) return;
      *offset -= t->strides[d] * t->shape[d];
      of[d] = 0;
    }
  };
  int64_t written[kMaxDims] = {0};
  for (int64_t line = 0, count; line < all; line += count) {
    count = std::min(together, all - line);
    double* part[4];
    for (int i = 0; i < 4; ++i) part[i] = buffer.get() + i * room * count;
    Lines at{part[0], part[1], part[2], part[3]};
    for (int64_t b = 0; b < count; ++b, advance(&from, in, index)) {
      const char* data = static_cast<const char*>(in->data) + from * from_size;
      if (size == 8) {
        load(reinterpret_cast<const double*>(data), in->strides[dim], n, kind, at.re + b, at.im + b, count);
      } else {
        load(reinterpret_cast<const float*>(data), in->strides[dim], n, kind, at.re + b, at.im + b, count);
      }
    }
    if (!forward) at = {at.im, at.re, at.other_im, at.other_re};
    if (plan->power) {
      by_convolution(plan.get(), &at, count);
    } else {
      by_factors(plan.get(), &at, count);
    }
    if (!forward) std::swap(at.re, at.im);
    for (int64_t b = 0; b < count; ++b, advance(&to, out, written)) {
      char* data = static_cast<char*>(out->data) + to * to_size;
      if (size == 8) {
        store(reinterpret_cast<double*>(data), out->strides[dim], n, out->shape[dim], kind, at.re + b, at.im + b, count, scale);
      } else {
        store(reinterpret_cast<float*>(data), out->strides[dim], n, out->shape[dim], kind, at.re + b, at.im + b, count, scale);
      }
    }
  }
  return MT_OK;
}

int transform(const mt_tensor* in, const mt_tensor* out, int64_t dim, Kind kind, bool forward, double scale) {
  try {
    return transform_lines(in, out, dim, kind, forward, scale);
  } catch (const std::bad_alloc&) {
    return MT_ERROR_MEMORY;
  }
}

// Whether `out` is as `in` but for the size of a dimension, and both have elements.
bool fit(const mt_tensor* in, const mt_tensor* out, int64_t other, int64_t dim) {
  if (in->ndim != out->ndim || in->ndim > kMaxDims || std::min(other, dim) < 0 || std::max(other, dim) >= in->ndim) return false;
  for (int64_t d = 0; d < in->ndim; ++d)
    if (d != dim && in->shape[d] != out->shape[d]) return false;
  return numel(in) > 0 && numel(out) > 0;
}

// What each element is multiplied by: 1, or 1 by the root of how many there are (1), or by how many (2).
double factor(int64_t n, int64_t normalization) {
  return normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(double(n)) : 1 / double(n);
}

}  // namespace
}  // namespace mt

// The transform over a dimension, or over two, of which `other` is the first: of complex numbers, forwards or back.
MT_EXPORT int mt_fft_c2c(const mt_tensor* self, const mt_tensor* out, int64_t other, int64_t dim, int64_t normalization, int64_t forward) {
  if (!mt::fit(self, out, other, dim) || self->shape[dim] != out->shape[dim]) return MT_ERROR_SHAPE;
  if (self->dtype != out->dtype || (out->dtype != MT_C64 && out->dtype != MT_C128)) return MT_ERROR_DTYPE;
  const double scale = mt::factor(out->shape[dim] * (other == dim ? 1 : out->shape[other]), normalization);
  if (int status = mt::transform(self, out, dim, mt::Kind::kComplex, forward != 0, scale)) return status;
  return other == dim ? int(MT_OK) : mt::transform(out, out, other, mt::Kind::kComplex, forward != 0, 1);
}

// Of real numbers forwards: all of `dim`, or its first half.
MT_EXPORT int mt_fft_r2c(const mt_tensor* self, const mt_tensor* out, int64_t other, int64_t dim, int64_t normalization) {
  if (!mt::fit(self, out, other, dim)) return MT_ERROR_SHAPE;
  const int64_t n = self->shape[dim], count = out->shape[dim];
  if (count != n && count != n / 2 + 1) return MT_ERROR_SHAPE;
  if (!(self->dtype == MT_F32 && out->dtype == MT_C64) && !(self->dtype == MT_F64 && out->dtype == MT_C128)) return MT_ERROR_DTYPE;
  const double scale = mt::factor(n * (other == dim ? 1 : out->shape[other]), normalization);
  if (int status = mt::transform(self, out, dim, mt::Kind::kToComplex, true, scale)) return status;
  return other == dim ? int(MT_OK) : mt::transform(out, out, other, mt::Kind::kComplex, true, 1);
}

// Back to real numbers, of the first half of their transform in `dim`.
MT_EXPORT int mt_fft_c2r(const mt_tensor* self, const mt_tensor* out, int64_t other, int64_t dim, int64_t normalization) {
  if (!mt::fit(self, out, other, dim) || self->shape[dim] != out->shape[dim] / 2 + 1) return MT_ERROR_SHAPE;
  if (!(self->dtype == MT_C64 && out->dtype == MT_F32) && !(self->dtype == MT_C128 && out->dtype == MT_F64)) return MT_ERROR_DTYPE;
  const double scale = mt::factor(out->shape[dim] * (other == dim ? 1 : out->shape[other]), normalization);
  if (other == dim) return mt::transform(self, out, dim, mt::Kind::kToReal, false, scale);
  int64_t strides[mt::kMaxDims], step = 1;
  for (int64_t d = self->ndim - 1; d >= 0; step *= self->shape[d--]) strides[d] = step;
  const std::unique_ptr<char[]> memory(new (std::nothrow) char[size_t(step * self->itemsize)]);
  if (!memory) return MT_ERROR_MEMORY;
  const mt_tensor between{memory.get(), self->ndim, self->shape, strides, self->dtype, self->itemsize};
  if (int status = mt::transform(self, &between, other, mt::Kind::kComplex, false, 1)) return status;
  return mt::transform(&between, out, dim, mt::Kind::kToReal, false, scale);
}
