// Exponentials of matrices: Taylor's polynomial of a matrix that is halved until that is exact, then squared as often. All in double: of the small
// elements of large ones, float would keep few digits.
#include "lapack.h"
#include "matmul.h"

namespace mt {
namespace {

// A degree, how many powers of the matrix its polynomial is made of, and up to which norm it is as exact as a double: where the sum of
// |c_k| norm^(k - 1) is at most 2^-53, for c_k of the series of log(exp(-x) T(x)).
struct Degree {
  int degree, powers;
  double norm;
};
constexpr Degree kDegrees[] = {{1, 1, 2.2e-16}, {2, 2, 2.58e-8}, {4, 2, 3.39e-4}, {6, 3, 9.06e-3}, {9, 3, 8.95e-2}, {12, 4, 0.2996}, {16, 4, 0.7802}};
constexpr const Degree& kLast = kDegrees[std::size(kDegrees) - 1];
constexpr int64_t kTiny = 8;  // rows up to which a product is not worth a call

// The exponential of a matrix of n rows, in memory for `kParts` of them.
class Exponential {
 public:
  static constexpr int64_t kParts = 6;

  Exponential(double* memory, int64_t n) : n_(n), size_(n * n), sum_(memory + 4 * size_), next_(memory + 5 * size_) {
    for (int k = 0; k < 4; ++k) powers_[k] = memory + k * size_;
  }
  double* matrix() { return powers_[0]; }
  const double* result() const { return sum_; }

  int run() {
    double norm = norm_of(powers_[0]);
    if (!std::isfinite(norm)) {
      std::fill(sum_, sum_ + size_, std::numeric_limits<double>::quiet_NaN());
      return MT_OK;
    }
    int halvings = 0;
    if (norm > 0x1p64) {  // whose powers would be infinite
      halvings = std::ilogb(norm) - 63;
      scale(powers_[0], -halvings);
      norm = std::ldexp(norm, -halvings);
    }
    const Degree* chosen = std::find_if(std::begin(kDegrees), std::end(kDegrees) - 1, [&](const Degree& d) { return norm <= d.norm; });
    for (int k = 1; k < chosen->powers; ++k)
      if (const int status = multiply(powers_[k - 1], powers_[0], powers_[k], nullptr)) return status;
    if (norm > kLast.norm) {
      const int more = halvings_for(norm);
      for (int k = 0; k < 4; ++k) scale(powers_[k], -more * (k + 1));
      halvings += more;
    }
    if (const int status = polynomial(*chosen)) return status;
    for (int k = 0; k < halvings; ++k) {
      if (const int status = multiply(sum_, sum_, next_, nullptr)) return status;
      std::swap(sum_, next_);
    }
    return MT_OK;
  }

 private:
  // c = a b, or before + a b.
  int multiply(const double* a, const double* b, double* c, const double* before) const {
    if (n_ <= kTiny) {
      for (int64_t i = 0; i < n_; ++i) {
        double row[kTiny];
        for (int64_t j = 0; j < n_; ++j) row[j] = before == nullptr ? 0.0 : before[i * n_ + j];
        for (int64_t k = 0; k < n_; ++k)
          for (int64_t j = 0; j < n_; ++j) row[j] += a[i * n_ + k] * b[k * n_ + j];
        std::copy(row, row + n_, c + i * n_);
      }
      return MT_OK;
    }
    return product<double>({n_, n_, n_}, {a, n_, 1}, {b, n_, 1}, {c, n_, 1}, 1.0, {before, n_});
  }

  // The largest sum of a column.
  double norm_of(const double* a) const {
    double largest = 0;
    for (int64_t j = 0; j < n_; ++j) next_[j] = 0;
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < n_; ++j) next_[j] += std::fabs(a[i * n_ + j]);
    for (int64_t j = 0; j < n_; ++j) largest = next_[j] <= largest ? largest : next_[j];  // NaN is kept
    return largest;
  }

  void scale(double* a, int exponent) const {
    if (exponent == 0) return;
    const double by = std::ldexp(1.0, exponent);
    for (int64_t i = 0; i < size_; ++i) a[i] *= by;
  }

  // How often the matrix is halved: by its powers' norms, which say more than its own where they are smaller (Al-Mohy and Higham, 2009), and until
  // rounding errors are as small, which its elements' magnitudes say.
  int halvings_for(double norm) {
    const double second = std::sqrt(norm_of(powers_[1])), third = std::cbrt(norm_of(powers_[2])), fourth = std::sqrt(std::sqrt(norm_of(powers_[3])));
    const double least = std::min({norm, std::max(second, third), std::max(third, fourth)});
    const auto halvings_of = [](double size) { return size <= kLast.norm ? 0.0 : std::ceil(std::log2(size / kLast.norm)); };
    const int by_powers = int(halvings_of(least));
    // The norm of |A|^17, from the left, halved as far.
    double *sums = next_, *others = sum_, largest = 0;
    const double by = std::ldexp(1.0, -by_powers);
    std::fill(sums, sums + n_, 1.0);
    for (int k = 0; k <= kLast.degree; ++k) {
      std::fill(others, others + n_, 0.0);
      for (int64_t i = 0; i < n_; ++i)
        for (int64_t j = 0; j < n_; ++j) others[j] += sums[i] * by * std::fabs(powers_[0][i * n_ + j]);
      std::swap(sums, others);
    }
    for (int64_t j = 0; j < n_; ++j) largest = std::max(largest, sums[j]);
    const double error = largest / (norm * by) * 0x1p53 / std::tgamma(kLast.degree + 2.0);
    const double more = error > 1 ? std::ceil(std::log2(error) / kLast.degree) : 0.0;
    return int(std::min(by_powers + more, halvings_of(norm)));
  }

  // By the powers, as Paterson and Stockmeyer: each run of terms is a sum of the lower powers, and a product with the highest carries it on.
  int polynomial(const Degree& chosen) {
    double factors[kLast.degree + 1] = {1.0};
    for (int k = 1; k <= chosen.degree; ++k) factors[k] = factors[k - 1] / k;
    const double* highest = powers_[chosen.powers - 1];
    const int runs = chosen.degree / chosen.powers;
    for (int64_t i = 0; i < size_; ++i) sum_[i] = factors[chosen.degree] * highest[i];
    add_run(sum_, factors + (runs - 1) * chosen.powers, chosen.powers);
    for (int run = runs - 2; run >= 0; --run) {
      std::fill(next_, next_ + size_, 0.0);
      add_run(next_, factors + run * chosen.powers, chosen.powers);
      if (const int status = multiply(sum_, highest, next_, next_)) return status;
      std::swap(sum_, next_);
    }
    return MT_OK;
  }
  void add_run(double* to, const double* factors, int count) const {
    for (int64_t i = 0; i < n_; ++i) to[i * (n_ + 1)] += factors[0];
    for (int k = 1; k < count; ++k)
      for (int64_t i = 0; i < size_; ++i) to[i] += factors[k] * powers_[k - 1][i];
  }

  int64_t n_, size_;
  double* powers_[4];
  double *sum_, *next_;
};

template <class T>
int exponentials(const mt_tensor* given, const mt_tensor* out) {
  const Matrices<T> from(given);
  // A complex number is a matrix of four real ones, [[re, -im], [im, re]].
  const int64_t n = from.rows, wide = kIsComplex<T> ? 2 * n : n;
  return parallel(items_of(given), rows_grain(wide * wide, 10 * wide), [&](int64_t first, int64_t last) -> int {
    const auto memory = workspace<double>(Exponential::kParts * wide * wide);
    if (!memory) return MT_ERROR_MEMORY;
    Pace pace;
    for (; first < last; ++first) {
      const T* in = from.at(first);
      T* to = static_cast<T*>(out->data) + first * n * n;
      if (n == 1) {
        to[0] = std::exp(in[0]);
        continue;
      }
      Exponential exponential(memory.get(), wide);
      double* matrix = exponential.matrix();
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const T v = in[i * from.down + j * from.right];
          matrix[i * wide + j] = std::real(v);
          if constexpr (kIsComplex<T>) {
            matrix[(i + n) * wide + j + n] = v.real();
            matrix[(i + n) * wide + j] = v.imag();
            matrix[i * wide + j + n] = -double(v.imag());
          }
        }
      if (const int status = exponential.run()) return status;
      const double* found = exponential.result();
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          if constexpr (kIsComplex<T>) to[i * n + j] = T(Real<T>(found[i * wide + j]), Real<T>(found[(i + n) * wide + j]));
          else to[i * n + j] = T(found[i * wide + j]);
        }
      if (pace.stops(10 * wide * wide * wide)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

}  // namespace
}  // namespace mt

// The exponential of each square matrix. The output is contiguous.
MT_EXPORT int mt_matrix_exp(const mt_tensor* given, const mt_tensor* out) {
  if (given->ndim < 2) return MT_ERROR_SHAPE;
  const int64_t n = given->shape[given->ndim - 1];
  if (given->shape[given->ndim - 2] != n || !mt::beside(given, out, n, n)) return MT_ERROR_SHAPE;
  if (given->dtype != out->dtype) return MT_ERROR_DTYPE;
  return mt::by_dtype(given->dtype, [&](auto like) { return mt::exponentials<decltype(like)>(given, out); });
}
