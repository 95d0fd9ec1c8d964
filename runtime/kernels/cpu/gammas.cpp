// Gamma-distributed numbers, and how they, and beta-distributed ones, move with the parameters they were drawn by.
//
// A number x drawn by a parameter a keeps its place F(x; a) in the distribution: dx/da = -(dF/da) / density. F is a series or a
// continued fraction, whose derivative comes along with it in dual numbers.
#include <cmath>
#include <limits>

#include "draws.h"

namespace mt {
namespace {

// A value and its derivative.
struct Dual {
  double v, d;
};
Dual operator+(Dual x, Dual y) { return {x.v + y.v, x.d + y.d}; }
Dual operator-(Dual x, Dual y) { return {x.v - y.v, x.d - y.d}; }
Dual operator*(Dual x, Dual y) { return {x.v * y.v, x.d * y.v + x.v * y.d}; }
Dual operator/(Dual x, Dual y) { return {x.v / y.v, (x.d - x.v / y.v * y.d) / y.v}; }
Dual constant(double x) { return {x, 0}; }

constexpr double kTiny = 1e-300;
constexpr int kTerms = 100000;
constexpr double kLarge = 1e5;  // from here on a gamma distribution is normal but for terms of 1 / a

// The logarithmic derivative of the gamma function at x > 0: Stirling's series from 10 on, below by recurrence.
double digamma(double x) {
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  const double z = 1 / (x * x);
  const double tail = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * 691.0 / 32760)))));
  return sum + std::log(x) - 0.5 / x - tail;
}

// Marsaglia and Tsang (2000): a squeezed rejection of the cube of a normal number; below 1 by way of a + 1. The constants are
// PyTorch's, of single precision, and what it computes of a alone is computed in T.
template <class T>
double gamma(T a, Engine& engine) {
  if (a == 0) return 0;
  double scale = 1;
  if (a < 1) {
    scale = std::pow(1 - engine.uniform(), double(1 / a));
    a += 1;
  }
  const double d = a - 1.0f / 3.0f, c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x, y;
    do {
      x = next_normal<false>(engine, 0, 1);
      y = 1 + c * x;
    } while (!(y > 0) && y == y);
    const double v = y * y * y, u = 1 - engine.uniform(), square = x * x;
    if (u < 1 - double(0.0331f) * square * square) return scale * d * v;
    if (std::log(u) < 0.5 * square + d * (1 - v + std::log(v))) return scale * d * v;
    if (y != y) return y;  // of NaN
  }
}

// dx/da of x drawn by a gamma distribution of shape a.
double gamma_slope(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return 0;
  if (a > kLarge) return (a + x) / (2 * a);
  const double log_ratio = std::log(x) - digamma(a);
  if (x <= a + 1) {  // x^a e^-x / Gamma(a) times the sum of x^n / (a (a + 1) ... (a + n))
    Dual term = constant(1) / Dual{a, 1}, sum = term;
    for (int n = 1; n < kTerms; ++n) {
      term = term * constant(x) / Dual{a + n, 1};
      sum = sum + term;
      if (std::fabs(term.d) < 1e-16 * std::fabs(sum.d)) break;
    }
    return -x * (sum.v * log_ratio + sum.d);
  }
  Dual b{x + 1 - a, -1}, c = constant(1 / kTiny), d = constant(1) / b, h = d;
  for (int n = 1; n < kTerms; ++n) {  // Legendre's continued fraction, by Lentz's method
    const Dual numerator{-n * (n - a), double(n)};
    b = b + constant(2);
    d = constant(1) / (numerator * d + b);
    c = b + numerator / c;
    const Dual step = c * d;
    h = h * step;
    if (std::fabs(step.v - 1) + std::fabs(step.d) < 1e-15) break;
  }
  return x * (h.v * log_ratio + h.d);
}

// The continued fraction of the incomplete beta function, I = x^a (1 - x)^b / (a B(a, b)) times it.
Dual beta_fraction(Dual a, Dual b, double x) {
  const Dual at = constant(x), one = constant(1);
  Dual c = one, d = one / (one - (a + b) * at / (a + one)), h = d;
  for (int m = 1; m < kTerms; ++m) {
    const Dual n = constant(m), two = constant(2 * m);
    const Dual even = n * (b - n) * at / ((a + two - one) * (a + two));
    d = one / (one + even * d);
    c = one + even / c;
    h = h * d * c;
    const Dual odd = constant(-1) * (a + n) * (a + b + n) * at / ((a + two) * (a + two + one));
    d = one / (one + odd * d);
    c = one + odd / c;
    const Dual step = d * c;
    h = h * step;
    if (std::fabs(step.v - 1) + std::fabs(step.d) < 1e-15) break;
  }
  return h;
}

// dx/da of x drawn by a beta distribution of parameters a and b, divided by 1 - x.
double beta_slope(double x, double a, double b) {
  if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0 || x == 1) return 0;
  const double log_ratio = std::log(x) - digamma(a) + digamma(a + b);
  if (x < (a + 1) / (a + b + 2)) {
    const Dual h = beta_fraction({a, 1}, {b, 0}, x);
    return -x / a * (h.v * (log_ratio - 1 / a) + h.d);
  }
  const Dual h = beta_fraction({b, 0}, {a, 1}, 1 - x);
  return x / b * (h.v * log_ratio + h.d);
}

template <class T, int32_t Kind>
int draw_gammas(const mt_tensor* self, const mt_tensor* out, Engine& engine) {
  const mt_tensor* operands[] = {out, self};
  return of_elements<T, 2>(operands, Kind, [&](T a) { return T(gamma(a, engine)); });
}

}  // namespace
}  // namespace mt

MT_EXPORT int mt_standard_gamma(const mt_tensor* self, const mt_tensor* out, mt_generator* generator) {
  if (!mt::is_floating(self->dtype)) return MT_ERROR_DTYPE;
  mt::Engine engine(generator);
  return self->dtype == MT_F64 ? mt::draw_gammas<double, MT_F64>(self, out, engine)
                               : mt::draw_gammas<float, MT_F32>(self, out, engine);
}

MT_EXPORT int mt_standard_gamma_grad(const mt_tensor* self, const mt_tensor* drawn, const mt_tensor* out) {
  if (!mt::is_floating(self->dtype)) return MT_ERROR_DTYPE;
  const mt_tensor* operands[] = {out, self, drawn};
  return mt::of_elements<double, 3>(operands, MT_F64, mt::gamma_slope);
}

// Of x, its parameter, and the sum of the parameters of all.
MT_EXPORT int mt_dirichlet_grad(const mt_tensor* x, const mt_tensor* alpha, const mt_tensor* total, const mt_tensor* out) {
  if (!mt::is_floating(x->dtype)) return MT_ERROR_DTYPE;
  const mt_tensor* operands[] = {out, x, alpha, total};
  return mt::of_elements<double, 4>(operands, MT_F64,
                                    [](double at, double a, double sum) { return mt::beta_slope(at, a, sum - a); });
}
