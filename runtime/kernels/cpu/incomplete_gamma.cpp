// The regularised incomplete gamma functions P and Q = 1 - P, in double for every dtype.
#include <cmath>
#include <limits>

#include "elementwise.h"
#include "vmath.h"

namespace mt {
namespace {

// (1 / gamma(1 + a) - 1) / a for 0 <= a <= 1 (error 7e-18), and the coefficients c_k of Temme's expansion as polynomials of eta, whose
// terms here are those that count for a >= 100 and |eta| < 0.34. Both are made by fits.py.
static constexpr double kReciprocal[] = {
    1.7200070946431934e-08, -2.1896988906648608e-07, 1.1389962411508655e-06, -1.2436534652553382e-06,
    -2.0149457390763776e-05, 0.000128063513304448, -0.00021524914822683067, -0.0011651647525430678, 0.007218942511576732,
    -0.009621971400288845, -0.042197734569778066, 0.16653861138323703, -0.042002635034127836, -0.6558780715202535,
    0.5772156649015329};
static constexpr double kTemme0[] = {
    -2.5514193994946248e-11, 9.14769958223679e-10, -4.382036018453353e-09, 1.0261809784240309e-08, 6.707853543401498e-09,
    -1.7665952736826078e-07, 8.296711340953087e-07, -1.85406221071516e-06, -2.185448510679992e-06, 3.919263178522438e-05,
    -0.0001787551440329218, 0.0003527336860670194, 0.0011574074074074073, -0.014814814814814815, 0.08333333333333333,
    -0.3333333333333333};
static constexpr double kTemme1[] = {
    -1.0091543710600413e-09, -1.7543241719747647e-11, 1.1951628599778148e-08, -5.752545603517705e-08, 1.378633446915721e-07,
    4.647127802807434e-09, -1.6120900894563446e-06, 7.64916091608111e-06, -1.8098550334489977e-05, -4.018775720164609e-07,
    0.00020576131687242798, -0.0009902263374485596, 0.0026455026455026454, -0.003472222222222222, -0.001851851851851852};
static constexpr double kTemme2[] = {
    -1.409252991086752e-08, -2.0477098421990866e-10, 1.4280614206064242e-07, -6.298992138380055e-07, 1.3721957309062934e-06,
    3.423578734096138e-08, -1.2760635188618728e-05, 5.2923448829120125e-05, -0.0001073665322636516, 2.0093878600823047e-06,
    0.0007716049382716049, -0.0026813271604938273, 0.004133597883597883};
static constexpr double kTemme3[] = {
    -1.6958404091930278e-07, -2.7861080291528143e-11, 1.4230900732435883e-06, -5.6749528269915965e-06,
    1.1082654115347302e-05, -2.396505113867297e-07, -7.561801671883977e-05, 0.00026772063206283885, -0.0004691894943952557,
    0.00022947209362139917, 0.0006494341563786008};
static constexpr double kTemme4[] = {
    -1.6954149536558305e-06, 2.507497226237533e-10, 1.1375726970678419e-05, -3.968365047179435e-05, 6.641498215465122e-05,
    -1.4638452578843418e-06, -0.0002990724803031902, 0.0007840392217200666, -0.0008618882909167117};
static constexpr double kTemme5[] = {
    -1.3594048189768693e-05, 1.419062920643967e-07, 6.797780477937208e-05, -0.00019932570516188847, 0.0002772753244959392,
    -6.972813758365857e-05, -0.00033679855336635813};
static constexpr double kTemme6[] = {
    0.0002708782096718045, -0.0005921664373536939, 0.0005313079364639922};
static constexpr double kTemme7[] = {
    0.00034436760689237765};

constexpr double kLarge = 100, kNear = 0.3;  // from which a on, and how near x / a is to 1, where that expansion is good
constexpr int kTerms = 2000;

// 1 / gamma(1 + a) for 0 <= a < 8.
double reciprocal_gamma(double a) {
  double product = 1;
  for (; a > 1; a -= 1) product *= a;
  return (1 + a * horner(kReciprocal, a)) / product;
}

// m - ln(1 + m), without cancellation near 0: with r = m / (2 + m) it is r (m - 2 r^2 (1/3 + r^2 / 5 + r^4 / 7 + ...)).
double less_log(double m, double x, double a) {
  constexpr double kOdd[] = {1.0 / 31, 1.0 / 29, 1.0 / 27, 1.0 / 25, 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17,
                             1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
  if (std::fabs(m) > 0.5) return m - std::log(x / a);
  const double r = m / (2 + m), s = r * r;
  return r * (m - 2 * s * horner(kOdd, s));
}

// x^a e^-x / gamma(1 + a): from 8 on by Stirling's series.
double density(double a, double x) {
  constexpr double kStirling[] = {43867.0 / 244188, -3617.0 / 122400, 1.0 / 156,    -691.0 / 360360, 1.0 / 1188,
                                  -1.0 / 1680,      1.0 / 1260,       -1.0 / 360, 1.0 / 12};
  if (a < 8) {  // e^-x in two parts, as it may be subnormal where the product is not
    if (x > 1e4) return 0;
    const double part = std::exp(-0.5 * x);
    return part * (std::pow(x, a) * reciprocal_gamma(a)) * part;
  }
  const double v = 1 / a, rest = v * horner(kStirling, v * v);
  return std::exp(-a * less_log((x - a) / a, x, a) - rest) / std::sqrt(2 * M_PI * a);
}

// P by its series, of which every term is positive.
double lower_series(double a, double x, double least) {
  double term = density(a, x), sum = term;
  if (term == 0) return 0;
  for (int n = 1; n < kTerms && term > least * sum; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum;
}

// Q for a and x up to 1, where neither 1 - P nor the fraction below is any good (DLMF 8.7.3):
// 1 - x^a / gamma(1 + a) - a x^a / gamma(1 + a) times the sum of (-x)^n / (n! (a + n)) from n = 1 on.
double upper_series(double a, double x, double least) {
  const double rest = horner(kReciprocal, a), reciprocal = 1 + a * rest, lacking = std::expm1(a * std::log(x));
  double power = 1, sum = 0, term = 1;
  for (int n = 1; n < kTerms && std::fabs(term) > least * std::fabs(sum); ++n) {
    power *= -x / n;
    term = power / (a + n);
    sum += term;
  }
  return -(lacking * reciprocal + a * rest) - a * reciprocal * (lacking + 1) * sum;
}

// Q by Legendre's continued fraction 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...))), whose numerators and
// denominators are made forwards, so that one division serves a few of them.
double upper_fraction(double a, double x, double least) {
  const double scale = a * density(a, x);
  if (scale == 0) return 0;
  double b = x + 1 - a, above = 1, above_before = 0, below = b, below_before = 1, found = 0;
  for (int n = 1; n < kTerms;) {
    for (const int last = n + 4; n < last; ++n) {
      const double factor = n * (a - n);
      b += 2;
      const double next = b * above + factor * above_before, next_below = b * below + factor * below_before;
      above_before = above, above = next;
      below_before = below, below = next_below;
    }
    const double unit = 1 / below, before = found;
    found = above * unit;
    if (std::fabs(found - before) <= least * found) break;
    above = found, below = 1;
    above_before *= unit, below_before *= unit;
  }
  return scale * found;
}

// Either, by N. Temme's uniform expansion (The asymptotic expansion of the incomplete gamma functions, SIAM J. Math. Anal. 10, 1979;
// DLMF 8.12): eta^2 / 2 = m - ln(1 + m), where x = a (1 + m), and eta has the sign of m.
double uniform(double a, double x, bool upper) {
  const double m = (x - a) / a, half = less_log(m, x, a), eta = std::copysign(std::sqrt(2 * half), m), v = 1 / a;
  double sum = kTemme7[0];
  sum = sum * v + horner(kTemme6, eta);
  sum = sum * v + horner(kTemme5, eta);
  sum = sum * v + horner(kTemme4, eta);
  sum = sum * v + horner(kTemme3, eta);
  sum = sum * v + horner(kTemme2, eta);
  sum = sum * v + horner(kTemme1, eta);
  sum = sum * v + horner(kTemme0, eta);
  const double rest = std::exp(-a * half) / std::sqrt(2 * M_PI * a) * sum;
  const double z = std::copysign(std::sqrt(a * half), m);
  return upper ? 0.5 * std::erfc(z) + rest : 0.5 * std::erfc(-z) - rest;
}

// Whether Q is not small, so that it is 1 - P, or P is asked for: the fraction is slow near a.
MT_INLINE bool is_lower(double a, double x, bool upper) {
  if (!upper) return x <= a + 8;
  return (x > 1 || a > 1) && x <= a + 0.5 * std::sqrt(a);
}

// P or Q, terms below `least` of it left out. Ends are PyTorch's, in its order.
double share(double a, double x, bool upper, double least) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto end = [upper](bool all) { return all == upper ? 0.0 : 1.0; };  // all of the gamma function below x, or nothing
  if (x < 0 || a < 0) return kNone;
  if (a == 0) return x > 0 ? end(true) : kNone;
  if (x == 0) return end(false);
  if (std::isinf(a)) return std::isinf(x) ? kNone : end(false);
  if (std::isinf(x)) return end(true);
  if (a != a || x != x) return kNone;
  if (a >= kLarge && std::fabs(x - a) < kNear * a) return uniform(a, x, upper);
  if (is_lower(a, x, upper)) {
    const double p = lower_series(a, x, least);
    return upper ? 1 - p : p;
  }
  if (upper && a <= 1 && x <= 1) return upper_series(a, x, least);
  const double q = upper_fraction(a, x, least);
  return upper ? q : 1 - q;
}

template <class T>
constexpr double kLeast = sizeof(T) == 4 ? 1e-9 : 2.3e-16;

template <bool Upper>
struct Share {
  explicit Share(const double*) {}
};

}  // namespace

// The usual numbers, of a below 8 and the series of P, are computed together, so that loops vectorise, and others one by one.
template <bool Upper, class T>
struct Loop<Share<Upper>, T, T, 2> {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    for (int64_t done = 0; done < n; done += kRun) {
      const int64_t count = std::min(kRun, n - done);
      some(static_cast<T*>(p[0]) + done, static_cast<const T*>(p[1]) + done, static_cast<const T*>(p[2]) + done, count);
    }
    return MT_OK;
  }

 private:
  MT_INLINE static void some(T* out, const T* given_a, const T* given_x, int64_t count) {
    double a[kRun], x[kRun], found[kRun];
    bool usual[kRun], any = false;
    for (int64_t i = 0; i < count; ++i) {
      a[i] = double(given_a[i]), x[i] = double(given_x[i]);
      usual[i] = (a[i] > 0) & (a[i] < 8) & (x[i] > 0) && is_lower(a[i], x[i], Upper);
      any |= usual[i];
    }
    if (any) {
      const int64_t lanes = (count + 7) & -8;
      double b[kRun], y[kRun];  // numbers in the places of others, too
      for (int64_t i = 0; i < lanes; ++i) {
        const bool good = i < count && usual[i];
        b[i] = good ? a[i] : 1.0, y[i] = good ? x[i] : 1.0;
      }
      densities(found, b, y, lanes);
      sums(found, b, y, lanes);
    }
    for (int64_t i = 0; i < count; ++i) {
      if (usual[i]) {
        out[i] = T(Upper ? 1 - found[i] : found[i]);
      } else {
        out[i] = T(share(a[i], x[i], Upper, kLeast<T>));
      }
    }
  }

  // As `density`: of x that are at most 16, e^-x is in one part.
  MT_INLINE static void densities(double* out, const double* a, const double* x, int64_t lanes) {
    if constexpr (sizeof(T) == 8)  // where a ln x would not have the digits
      for (int64_t i = 0; i < lanes; ++i) out[i] = std::pow(x[i], a[i]);
    for (int64_t i = 0; i < lanes; ++i) {
      double left = a[i], product = 1;
      for (int step = 0; step < 7; ++step) {
        const bool more = left > 1;
        product *= select(more, left, 1.0);
        left -= select(more, 1.0, 0.0);
      }
      const double scale = (1 + left * horner(kReciprocal, left)) / product;
      if constexpr (sizeof(T) == 8) {
        out[i] *= vexp(-x[i]) * scale;
      } else {
        out[i] = vexp(a[i] * vlog(x[i]) - x[i]) * scale;
      }
    }
  }

  // As `lower_series`, two terms by one division.
  MT_INLINE static void sums(double* out, const double* a, const double* x, int64_t lanes) {
    double sum[kRun], term[kRun];
    for (int64_t i = 0; i < lanes; ++i) sum[i] = term[i] = 1;
    for (int n = 1, more = 1; more != 0;) {
      for (const int last = n + 4; n < last; n += 2)
        for (int64_t i = 0; i < lanes; ++i) {
          const double next = a[i] + n + 1, part = term[i] * x[i] / ((a[i] + n) * next);
          term[i] = part * x[i];
          sum[i] += part * next + term[i];
        }
      more = 0;
      for (int64_t i = 0; i < lanes; ++i) {
        const bool counts = term[i] > kLeast<T> * sum[i];
        term[i] = select(counts, term[i], 0.0);  // a sum is not to depend on those beside it
        more |= int(counts);
      }
    }
    for (int64_t i = 0; i < lanes; ++i) out[i] *= sum[i];
  }
};

}  // namespace mt

MT_EXPORT int mt_igamma(const mt_tensor* self, const mt_tensor* other, const mt_tensor* out) {
  const mt_tensor* operands[] = {out, self, other};
  return mt::true_division<mt::Share<false>>(operands);
}
MT_EXPORT int mt_igammac(const mt_tensor* self, const mt_tensor* other, const mt_tensor* out) {
  const mt_tensor* operands[] = {out, self, other};
  return mt::true_division<mt::Share<true>>(operands);
}
