// Functions of one tensor: int mt_<name>(self, out). They compute in out's dtype; predicates write bool.
// Fused multiply-adds, where the processor has them: what is slow here are polynomials.
#pragma GCC optimize("fp-contract=fast")

#include <cmath>
#include <complex>
#include <type_traits>

#include "elementwise.h"
#include "turns.h"
#include "vmath.h"

namespace mt {
namespace {

template <class T>
constexpr bool kFloat = std::is_floating_point_v<T>;
template <class T>
constexpr bool is_complex_number = false;
template <class T>
constexpr bool is_complex_number<std::complex<T>> = true;

// A function of x of type T, with what it says of itself; the last argument is its body.
#define FUNCTION(Name, Result, says, ...)                    \
  struct Name {                                              \
    says explicit Name(const double*) {}                     \
    template <class T>                                       \
    MT_INLINE Result operator()(T x) const {                 \
      __VA_ARGS__                                            \
    }                                                        \
  };
#define SAYS_COMPLEX static constexpr bool kComplex = true;
#define SAYS_BRIEF static constexpr bool kBrief = true;
#define SAYS_INTEGERS static constexpr bool kNarrow = true;
#define SAYS_NARROW SAYS_INTEGERS static constexpr bool kTruth = true;
#define OF_COMPLEX(expression, of_complex)                   \
  if constexpr (is_complex_number<T>) {                      \
    return of_complex;                                       \
  } else {                                                   \
    return expression;                                       \
  }
#define UNARY(Name, expression) FUNCTION(Name, T, , return expression;)
#define UNARY_BRIEF(Name, expression) FUNCTION(Name, T, SAYS_BRIEF, return expression;)
#define PREDICATE(Name, expression) FUNCTION(Name, bool, , return expression;)
// With a meaning for complex numbers, too: their own expression, in which T is the complex type.
#define UNARY_COMPLEX(Name, expression, of_complex) FUNCTION(Name, T, SAYS_COMPLEX, OF_COMPLEX(expression, of_complex))
// Of narrow integers and truth values, too.
#define UNARY_NARROW(Name, expression) FUNCTION(Name, T, SAYS_NARROW SAYS_BRIEF, return expression;)
// Of narrow integers.
#define UNARY_INTEGERS(Name, expression) FUNCTION(Name, T, SAYS_INTEGERS SAYS_BRIEF, return expression;)
#define UNARY_OF_ALL(Name, says, expression, of_complex) FUNCTION(Name, T, SAYS_COMPLEX says, OF_COMPLEX(expression, of_complex))
#define PREDICATE_OF_ALL(Name, expression, of_complex) \
  FUNCTION(Name, bool, SAYS_COMPLEX SAYS_NARROW, OF_COMPLEX(expression, of_complex))

template <class T>
MT_INLINE T unsigned_neg(T x) {
  if constexpr (kFloat<T>) return -x;
  return T(uint64_t(0) - uint64_t(x));  // the most negative integer negates to itself
}
template <class T>
MT_INLINE T squared(T x) {
  if constexpr (kFloat<T>) return x * x;
  return T(uint64_t(x) * uint64_t(x));  // wraps
}
template <class T>
MT_INLINE T rounded_down(T x) {
  if constexpr (kFloat<T>) return std::floor(x);
  return x;
}
template <class T>
MT_INLINE T rounded_up(T x) {
  if constexpr (kFloat<T>) return std::ceil(x);
  return x;
}
template <class T>
MT_INLINE T rounded_to_even(T x) {
  if constexpr (kFloat<T>) return std::nearbyint(x);
  return x;
}
template <class T>
MT_INLINE T truncated(T x) {
  if constexpr (kFloat<T>) return std::trunc(x);
  return x;
}
template <class T>
MT_INLINE T magnitude(T x) {
  if constexpr (kFloat<T>) return std::fabs(x);
  return x < 0 ? unsigned_neg(x) : x;
}

template <class T>
MT_INLINE bool negative(T x) {
  if constexpr (kFloat<T>) return std::signbit(x);
  return x < 0;
}
MT_INLINE float log_gamma(float x) {
  int sign;
  return lgammaf_r(x, &sign);  // `lgamma` writes the sign to a global
}
MT_INLINE double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// log |1 + x| is of x itself, where that is small.
template <class T>
MT_INLINE std::complex<T> log1p_of(std::complex<T> x) {
  const T a = x.real(), b = x.imag();
  if (!(a * a + b * b < T(0.25))) return std::log(std::complex<T>(T(1) + a, b));
  const T more = a * (T(2) + a) + b * b;  // |1 + x|^2 - 1
  return {more == 0 ? a : T(0.5) * std::log1p(more), std::atan2(b, T(1) + a)};
}

UNARY_OF_ALL(Neg, SAYS_INTEGERS SAYS_BRIEF, unsigned_neg(x), -x)
UNARY_NARROW(Abs, magnitude(x))
UNARY_OF_ALL(Sign, SAYS_NARROW SAYS_BRIEF, T((x > 0) - (x < 0)), x == T(0) ? T(0) : x / std::abs(x))
UNARY_OF_ALL(Square, SAYS_INTEGERS SAYS_BRIEF, squared(x), x * x)
UNARY_INTEGERS(Floor, rounded_down(x))
UNARY_INTEGERS(Ceil, rounded_up(x))
UNARY_INTEGERS(Round, rounded_to_even(x))
UNARY_INTEGERS(Trunc, truncated(x))
UNARY_NARROW(Relu, x < 0 ? T(0) : x)  // NaN is not below 0 and passes
UNARY_COMPLEX(Exp, vexp(x), std::exp(x))
UNARY_COMPLEX(Log, vlog(x), std::log(x))
UNARY_OF_ALL(Sqrt, SAYS_BRIEF, std::sqrt(x), std::sqrt(x))
UNARY_OF_ALL(Rsqrt, SAYS_BRIEF, T(1) / std::sqrt(x), T(1) / std::sqrt(x))
UNARY_OF_ALL(Reciprocal, SAYS_BRIEF, T(1) / x, T(1) / x)
UNARY_COMPLEX(Sigmoid, vsigmoid(x), T(1) / (T(1) + std::exp(-x)))
UNARY_COMPLEX(Tanh, vtanh(x), std::tanh(x))
UNARY_COMPLEX(Silu, x * vsigmoid(x), x / (T(1) + std::exp(-x)))
UNARY_COMPLEX(Expm1, vexpm1(x), std::exp(x) - T(1))
UNARY_COMPLEX(Log1p, vlog1p(x), log1p_of(x))
UNARY_COMPLEX(Log2, vlog2(x), std::log(x) / decltype(x.real())(0.69314718055994530942))
UNARY_COMPLEX(Log10, vlog10(x), std::log10(x))
UNARY_COMPLEX(Exp2, vexp2(x), std::exp(x * T(0.69314718055994530942)))
UNARY_COMPLEX(Sin, std::sin(x), std::sin(x))
UNARY_COMPLEX(Cos, std::cos(x), std::cos(x))
UNARY_COMPLEX(Tan, std::tan(x), std::tan(x))
UNARY_COMPLEX(Asin, vasin(x), std::asin(x))
UNARY_COMPLEX(Acos, vacos(x), std::acos(x))
UNARY_COMPLEX(Atan, vatan(x), std::atan(x))
UNARY_COMPLEX(Sinh, vsinh(x), std::sinh(x))
UNARY_COMPLEX(Cosh, vcosh(x), std::cosh(x))
UNARY(Erf, verf(x))
// x + 3 moved into the range from 0 to 6; a NaN passes.
template <class T>
MT_INLINE T ramp(T x) {
  const T raised = x + T(3) < T(0) ? T(0) : x + T(3);
  return raised > T(6) ? T(6) : raised;
}
UNARY_BRIEF(Hardsigmoid, ramp(x) / T(6))
UNARY_BRIEF(Hardswish, x* ramp(x) / T(6))
UNARY(Gelu, x * vnormal(x))
UNARY(GeluTanh, x * T(0.5) * (T(1) + vtanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x))))
PREDICATE_OF_ALL(LogicalNot, x == 0, x == T(0))
PREDICATE_OF_ALL(IsNan, x != x, x != x)
PREDICATE_OF_ALL(IsInf, kFloat<T> && (x - x != 0) && x == x, std::isinf(x.real()) || std::isinf(x.imag()))
PREDICATE_OF_ALL(IsFinite, x - x == 0, std::isfinite(x.real()) && std::isfinite(x.imag()))

UNARY_COMPLEX(Asinh, vasinh(x), std::asinh(x))
UNARY_COMPLEX(Acosh, vacosh(x), std::acosh(x))
UNARY_COMPLEX(Atanh, vatanh(x), std::atanh(x))
UNARY(Erfc, verfc(x))
UNARY(Erfinv, verfinv(x))
UNARY(Lgamma, log_gamma(x))
UNARY_BRIEF(Frac, x - truncated(x))
UNARY_COMPLEX(Sinc, x == 0 ? T(1) : std::sin(T(M_PI) * x) / (T(M_PI) * x), x == T(0) ? T(1) : std::sin(T(M_PI) * x) / (T(M_PI) * x))
PREDICATE(SignBit, negative(x))
PREDICATE(IsPosInf, kFloat<T> && x > 0 && x - x != 0)
PREDICATE(IsNegInf, kFloat<T> && x < 0 && x - x != 0)

struct BitwiseNot {
  static constexpr bool kNarrow = true;
  explicit BitwiseNot(const double*) {}
  template <class T>
  MT_INLINE T operator()(T x) const {
    return ~x;
  }
};

}  // namespace

#define TURNS(Name, T, fast, far) \
  template <>                     \
  struct Loop<Name, T, T, 1> : TurnLoop<T, fast, far> {};
TURNS(Sin, float, vsin, std::sin)
TURNS(Cos, float, vcos, std::cos)
TURNS(Tan, float, vtan, std::tan)
TURNS(Sin, double, vsin, std::sin)
TURNS(Cos, double, vcos, std::cos)
TURNS(Tan, double, vtan, std::tan)
#undef TURNS

}  // namespace mt

#define EXPORT_ARITHMETIC(name, Name, FloatOnly)                       \
  MT_EXPORT int mt_##name(const mt_tensor* self, const mt_tensor* out) { \
    const mt_tensor* operands[] = {out, self};                         \
    return mt::arithmetic<mt::Name, 1, FloatOnly>(operands);           \
  }
#define EXPORT_OF_NUMBERS(name, Name)                                  \
  MT_EXPORT int mt_##name(const mt_tensor* self, const mt_tensor* out) { \
    const mt_tensor* operands[] = {out, self};                         \
    return mt::arithmetic_of_numbers<mt::Name, 1, false>(operands);    \
  }
#define EXPORT_PREDICATE(name, Name)                                               \
  MT_EXPORT int mt_##name(const mt_tensor* self, const mt_tensor* out) {           \
    const mt_tensor* operands[] = {out, self};                                     \
    return mt::predicate<mt::Name, 1>(                                             \
        operands, mt::is_complex(self->dtype) ? self->dtype : mt::compute_dtype(self->dtype)); \
  }

EXPORT_ARITHMETIC(sign, Sign, false)
EXPORT_ARITHMETIC(square, Square, false)
EXPORT_OF_NUMBERS(floor, Floor)
EXPORT_OF_NUMBERS(ceil, Ceil)
EXPORT_OF_NUMBERS(round, Round)
EXPORT_OF_NUMBERS(trunc, Trunc)
EXPORT_OF_NUMBERS(relu, Relu)
EXPORT_ARITHMETIC(exp, Exp, true)
EXPORT_ARITHMETIC(exp2, Exp2, true)
EXPORT_ARITHMETIC(expm1, Expm1, true)
EXPORT_ARITHMETIC(log, Log, true)
EXPORT_ARITHMETIC(log2, Log2, true)
EXPORT_ARITHMETIC(log10, Log10, true)
EXPORT_ARITHMETIC(log1p, Log1p, true)
EXPORT_ARITHMETIC(sqrt, Sqrt, true)
EXPORT_ARITHMETIC(rsqrt, Rsqrt, true)
EXPORT_ARITHMETIC(reciprocal, Reciprocal, true)
EXPORT_ARITHMETIC(sigmoid, Sigmoid, true)
EXPORT_ARITHMETIC(silu, Silu, true)
EXPORT_ARITHMETIC(tanh, Tanh, true)
EXPORT_ARITHMETIC(sin, Sin, true)
EXPORT_ARITHMETIC(cos, Cos, true)
EXPORT_ARITHMETIC(tan, Tan, true)
EXPORT_ARITHMETIC(asin, Asin, true)
EXPORT_ARITHMETIC(acos, Acos, true)
EXPORT_ARITHMETIC(atan, Atan, true)
EXPORT_ARITHMETIC(sinh, Sinh, true)
EXPORT_ARITHMETIC(cosh, Cosh, true)
EXPORT_ARITHMETIC(erf, Erf, true)
EXPORT_ARITHMETIC(asinh, Asinh, true)
EXPORT_ARITHMETIC(acosh, Acosh, true)
EXPORT_ARITHMETIC(atanh, Atanh, true)
EXPORT_ARITHMETIC(erfc, Erfc, true)
EXPORT_ARITHMETIC(erfinv, Erfinv, true)
EXPORT_ARITHMETIC(lgamma, Lgamma, true)
EXPORT_ARITHMETIC(frac, Frac, true)
EXPORT_ARITHMETIC(sinc, Sinc, true)
EXPORT_ARITHMETIC(gelu, Gelu, true)
EXPORT_ARITHMETIC(gelu_tanh, GeluTanh, true)
EXPORT_ARITHMETIC(hardsigmoid, Hardsigmoid, true)
EXPORT_ARITHMETIC(hardswish, Hardswish, true)
EXPORT_PREDICATE(logical_not, LogicalNot)
EXPORT_PREDICATE(isnan, IsNan)
EXPORT_PREDICATE(isinf, IsInf)
EXPORT_PREDICATE(isfinite, IsFinite)
EXPORT_PREDICATE(signbit, SignBit)
EXPORT_PREDICATE(isposinf, IsPosInf)
EXPORT_PREDICATE(isneginf, IsNegInf)

namespace {

// x where it is positive, else a factor times e^(another x) - 1; times a scale. Where the other's factor is not negative, nothing is
// computed of large numbers.
template <bool kGrows>
struct Elu {
  double negative, scale, input;
  explicit Elu(const double* p) : negative(p[0] * p[1]), scale(p[1]), input(p[2]) {}
  template <class T>
  MT_INLINE T operator()(T x) const {
    const T raised = x * T(input);
    return x > 0 ? x * T(scale) : (kGrows ? mt::vexpm1(raised) : mt::vexpm1_of_small(raised)) * T(negative);
  }
};

// log(1 + e^(x times a factor)) by the factor; x where the product is above a limit.
struct Softplus {
  double factor, most;
  explicit Softplus(const double* p) : factor(p[0]), most(p[1]) {}
  template <class T>
  MT_INLINE T operator()(T x) const {
    const T raised = x * T(factor);
    const T found = mt::vlog1p(mt::vexp(raised > T(most) ? T(most) : raised)) / T(factor);
    return raised > T(most) ? x : found;
  }
};

// x * tanh(softplus(x))
struct Mish : Softplus {
  using Softplus::Softplus;
  template <class T>
  MT_INLINE T operator()(T x) const {
    return x * mt::vtanh(Softplus::operator()(x));
  }
};

// Function by function over a run: what the compiler fuses of one does not depend on the next, as of tensors.
template <class T, bool kMish>
struct SoftplusLoop {
  MT_INLINE static int run(void* const* p, int64_t n, const double* params) {
    const T factor = T(params[0]), most = T(params[1]);
    T* out = static_cast<T*>(p[0]);
    const T* x = static_cast<const T*>(p[1]);
    T y[mt::kRun];
    for (int64_t done = 0; done < n; done += mt::kRun, out += mt::kRun, x += mt::kRun) {
      const int64_t count = std::min(mt::kRun, n - done);
      for (int64_t i = 0; i < count; ++i) y[i] = mt::vexp(x[i] * factor > most ? most : x[i] * factor);
      for (int64_t i = 0; i < count; ++i) y[i] = mt::vlog1p(y[i]);
      for (int64_t i = 0; i < count; ++i) y[i] = x[i] * factor > most ? x[i] : y[i] / factor;
      if (kMish)
        for (int64_t i = 0; i < count; ++i) y[i] = mt::vtanh(y[i]);
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) out[i] = kMish ? x[i] * y[i] : y[i];
    }
    return MT_OK;
  }
};

struct Softshrink {
  double least;
  explicit Softshrink(const double* p) : least(p[0]) {}
  template <class T>
  MT_INLINE T operator()(T x) const {
    const T near = x < T(-least) ? x + T(least) : x * T(0);
    return x > T(least) ? x - T(least) : near;
  }
};

struct Hardshrink {
  double least;
  explicit Hardshrink(const double* p) : least(p[0]) {}
  template <class T>
  MT_INLINE T operator()(T x) const {
    return std::fabs(x) <= T(least) ? T(0) : x;
  }
};

// Numbers that are all positive need no function: often they are in the runs of an activation.
template <bool kGrows, class T>
struct EluLoop {
  MT_INLINE static int run(void* const* p, int64_t n, const double* params) {
    const Elu<kGrows> op{params};
    const T scale = T(op.scale);
    T* out = static_cast<T*>(p[0]);
    const T* x = static_cast<const T*>(p[1]);
    for (int64_t done = 0; done < n; done += mt::kRun, out += mt::kRun, x += mt::kRun) {
      const int64_t count = std::min(mt::kRun, n - done);
      mt::Bits<T> others = 0;
      for (int64_t i = 0; i < count; ++i) others |= mt::Bits<T>(!(x[i] > 0));
      if (others == 0) {
#pragma GCC ivdep
        for (int64_t i = 0; i < count; ++i) out[i] = x[i] * scale;
      } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < count; ++i) out[i] = op(x[i]);
      }
    }
    return MT_OK;
  }
};

// What is no number, and what is infinite, replaced; integers are neither.
struct NanToNum {
  static constexpr bool kNarrow = true, kTruth = true, kBrief = true, kComplex = true;
  double nan, above, below;
  explicit NanToNum(const double* p) : nan(p[0]), above(p[1]), below(p[2]) {}
  template <class T>
  MT_INLINE T operator()(T x) const {
    if constexpr (mt::is_complex_number<T>) {
      return {(*this)(x.real()), (*this)(x.imag())};
    } else if constexpr (mt::kFloat<T>) {
      constexpr T kInfinity = std::numeric_limits<T>::infinity();
      const T of_infinite = x == kInfinity ? T(above) : (x == -kInfinity ? T(below) : x);
      return x != x ? T(nan) : of_infinite;
    } else {
      return x;
    }
  }
};

// The largest finite number of a floating-point dtype, or of a complex one's parts.
double largest(int32_t dtype) {
  switch (dtype) {
    case MT_F16:
      return 65504;
    case MT_BF16:
      return 0x1.fep127;
    case MT_F32:
    case MT_C64:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

struct LeakyRelu {
  static constexpr bool kBrief = true;
  double slope;
  explicit LeakyRelu(const double* p) : slope(p[0]) {}
  template <class T>
  MT_INLINE T operator()(T x) const {
    return x > 0 ? x : x * T(slope);
  }
};

}  // namespace

template <bool kGrows>
struct mt::Loop<Elu<kGrows>, float, float, 1> : EluLoop<kGrows, float> {};
template <bool kGrows>
struct mt::Loop<Elu<kGrows>, double, double, 1> : EluLoop<kGrows, double> {};
template <>
struct mt::Loop<Softplus, float, float, 1> : SoftplusLoop<float, false> {};
template <>
struct mt::Loop<Softplus, double, double, 1> : SoftplusLoop<double, false> {};
template <>
struct mt::Loop<Mish, float, float, 1> : SoftplusLoop<float, true> {};
template <>
struct mt::Loop<Mish, double, double, 1> : SoftplusLoop<double, true> {};

namespace {

// The sign of halves is a bit, whatever the rest.
template <bool kKept>
struct SignLoop {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    uint16_t* out = static_cast<uint16_t*>(p[0]);
    const uint16_t* x = static_cast<const uint16_t*>(p[1]);
    for (int64_t i = 0; i < n; ++i) out[i] = kKept ? x[i] ^ 0x8000 : x[i] & 0x7FFF;
    return MT_OK;
  }
};
template <bool kKept>
int of_sign(const mt_tensor* self, const mt_tensor* out) {
  const mt_tensor* operands[] = {out, self};
  const int32_t dtypes[] = {out->dtype, out->dtype};
  return mt::elementwise<2>(operands, dtypes, mt::PerIsa<SignLoop<kKept>, void* const*, int64_t, const double*>::pick(), nullptr);
}
bool are_halves(const mt_tensor* self, const mt_tensor* out) {
  return self->dtype == out->dtype && (out->dtype == MT_BF16 || out->dtype == MT_F16);
}

// The magnitude of complex numbers, a real one.
template <class T>
struct MagnitudeLoop {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    T* out = static_cast<T*>(p[0]);
    const std::complex<T>* x = static_cast<const std::complex<T>*>(p[1]);
    for (int64_t i = 0; i < n; ++i) out[i] = std::hypot(x[i].real(), x[i].imag());
    return MT_OK;
  }
};
template <class T>
struct PhaseLoop {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    T* out = static_cast<T*>(p[0]);
    const std::complex<T>* x = static_cast<const std::complex<T>*>(p[1]);
    for (int64_t i = 0; i < n; ++i) out[i] = mt::vatan2(x[i].imag(), x[i].real());
    return MT_OK;
  }
};
template <class T>
struct ConjugateLoop {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    std::complex<T>* out = static_cast<std::complex<T>*>(p[0]);
    const std::complex<T>* x = static_cast<const std::complex<T>*>(p[1]);
    for (int64_t i = 0; i < n; ++i) out[i] = std::conj(x[i]);
    return MT_OK;
  }
};
template <template <class> class Body>
int of_complex(const mt_tensor* self, const mt_tensor* out, bool real_result) {
  if (!mt::is_complex(self->dtype)) return MT_ERROR_DTYPE;
  const bool wide = self->dtype == MT_C128;
  const int32_t real = wide ? MT_F64 : MT_F32;
  const int32_t whole = mt::complex_compute_dtype(self->dtype);
  const int32_t dtypes[] = {real_result ? real : whole, whole};
  const mt_tensor* operands[] = {out, self};
  using Args = mt::PerIsa<Body<float>, void* const*, int64_t, const double*>;
  using WideArgs = mt::PerIsa<Body<double>, void* const*, int64_t, const double*>;
  return mt::elementwise<2>(operands, dtypes, wide ? WideArgs::pick() : Args::pick(), nullptr);
}

}  // namespace

MT_EXPORT int mt_neg(const mt_tensor* self, const mt_tensor* out) {
  if (are_halves(self, out)) return of_sign<true>(self, out);
  const mt_tensor* operands[] = {out, self};
  return mt::arithmetic_of_numbers<mt::Neg, 1, false>(operands);
}
MT_EXPORT int mt_abs(const mt_tensor* self, const mt_tensor* out) {
  if (are_halves(self, out)) return of_sign<false>(self, out);
  const mt_tensor* operands[] = {out, self};
  return mt::arithmetic_of_numbers<mt::Abs, 1, false>(operands);
}

MT_EXPORT int mt_magnitude(const mt_tensor* self, const mt_tensor* out) { return of_complex<MagnitudeLoop>(self, out, true); }
MT_EXPORT int mt_phase(const mt_tensor* self, const mt_tensor* out) { return of_complex<PhaseLoop>(self, out, true); }
MT_EXPORT int mt_conjugate(const mt_tensor* self, const mt_tensor* out) { return of_complex<ConjugateLoop>(self, out, false); }

// On bool the logical complement.
MT_EXPORT int mt_bitwise_not(const mt_tensor* self, const mt_tensor* out) {
  if (self->dtype == MT_BOOL) return mt_logical_not(self, out);
  if (mt::compute_dtype(out->dtype) != MT_I64) return MT_ERROR_DTYPE;
  const mt_tensor* operands[] = {out, self};
  int32_t dtypes[] = {MT_I64, MT_I64};
  const mt::BlockFn fn = mt::narrowed<mt::BitwiseNot, 1, false>(operands, dtypes, mt::pick_loop<mt::BitwiseNot, int64_t, int64_t, 1>());
  return mt::elementwise<2>(operands, dtypes, fn, nullptr);
}

MT_EXPORT int mt_elu(const mt_tensor* self, const mt_tensor* out, double alpha, double scale, double input_scale) {
  const double params[] = {alpha, scale, input_scale};
  for (double number : params)
    if (!mt::holds_factor(out->dtype, number)) return MT_ERROR_OVERFLOW;
  const mt_tensor* operands[] = {out, self};
  return input_scale < 0 ? mt::arithmetic<Elu<true>, 1, true>(operands, params) : mt::arithmetic<Elu<false>, 1, true>(operands, params);
}

MT_EXPORT int mt_leaky_relu(const mt_tensor* self, const mt_tensor* out, double slope) {
  if (!mt::holds_factor(out->dtype, slope)) return MT_ERROR_OVERFLOW;
  const mt_tensor* operands[] = {out, self};
  return mt::arithmetic<LeakyRelu, 1, true>(operands, &slope);
}

MT_EXPORT int mt_softplus(const mt_tensor* self, const mt_tensor* out, double factor, double most) {
  const double params[] = {factor, most};
  for (double number : params)
    if (!mt::holds_factor(out->dtype, number)) return MT_ERROR_OVERFLOW;
  const mt_tensor* operands[] = {out, self};
  return mt::arithmetic<Softplus, 1, true>(operands, params);
}
MT_EXPORT int mt_mish(const mt_tensor* self, const mt_tensor* out) {
  static constexpr double kUsual[] = {1, 20};
  const mt_tensor* operands[] = {out, self};
  return mt::arithmetic<Mish, 1, true>(operands, kUsual);
}
MT_EXPORT int mt_softshrink(const mt_tensor* self, const mt_tensor* out, double least) {
  if (!mt::holds_factor(out->dtype, least)) return MT_ERROR_OVERFLOW;
  const mt_tensor* operands[] = {out, self};
  return mt::arithmetic<Softshrink, 1, true>(operands, &least);
}
MT_EXPORT int mt_hardshrink(const mt_tensor* self, const mt_tensor* out, double least) {
  if (!mt::holds_factor(out->dtype, least)) return MT_ERROR_OVERFLOW;
  const mt_tensor* operands[] = {out, self};
  return mt::arithmetic<Hardshrink, 1, true>(operands, &least);
}

// Infinities become the largest number of either sign where no other is given.
MT_EXPORT int mt_nan_to_num(const mt_tensor* self, const mt_tensor* out, double nan, int32_t has_above, double above, int32_t has_below,
                            double below) {
  const double top = largest(self->dtype);
  const double params[] = {nan, has_above ? above : top, has_below ? below : -top};
  const mt_tensor* operands[] = {out, self};
  return mt::arithmetic<NanToNum, 1, false>(operands, params);
}
