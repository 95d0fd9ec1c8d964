// Functions of two tensors, broadcast against one another: int mt_<name>(self, other, out), and with a Python number
// for `other` int mt_<name>_scalar(self, number, out). Arithmetic computes in out's dtype, comparisons in the promoted
// dtype of the inputs.
#include <cmath>
#include <complex>
#include <numeric>
#include <type_traits>

#include "division.h"
#include "elementwise.h"
#include "half.h"
#include "vmath.h"

MT_EXPORT int mt_sqrt(const mt_tensor* self, const mt_tensor* out);
MT_EXPORT int mt_rsqrt(const mt_tensor* self, const mt_tensor* out);
MT_EXPORT int mt_square(const mt_tensor* self, const mt_tensor* out);
MT_EXPORT int mt_reciprocal(const mt_tensor* self, const mt_tensor* out);

namespace mt {
namespace {

template <class T>
constexpr bool kFloat = std::is_floating_point_v<T>;

template <class T>
constexpr bool is_complex_number = false;
template <class T>
constexpr bool is_complex_number<std::complex<T>> = true;

template <class T>
MT_INLINE T power(T a, T b) {
  if constexpr (is_complex_number<T>) {
    return b == T(0) ? T(1) : std::pow(a, b);
  } else if constexpr (kFloat<T>) {
    return std::pow(a, b);
  } else {
    if (b < 0) return a == 1 ? 1 : (a == -1 ? (b % 2 == 0 ? 1 : -1) : 0);
    T result = 1;
    for (; b > 0; b >>= 1, a = wrap_mul(a, a))
      if (b & 1) result = wrap_mul(result, a);
    return result;
  }
}

// The bits of numbers of one sign are in their order.
template <class T>
MT_INLINE T next_after(T a, T b) {
  const Bits<T> away = wrap_add(bits_of(a), Bits<T>(1)), back = wrap_add(bits_of(a), Bits<T>(-1));
  const T next = of_bits<T>((a < b) == (bits_of(a) >= 0) ? away : back);
  const T found = select(is_zero(a), std::copysign(std::numeric_limits<T>::denorm_min(), b), next);
  return a == b ? b : (a != a || b != b ? a + b : found);
}

// A function of a and b of type T, with what it says of itself.
#define FUNCTION(Name, Result, says, expression)             \
  struct Name {                                              \
    says explicit Name(const double*) {}                     \
    template <class T>                                       \
    MT_INLINE Result operator()(T a, T b) const {            \
      return expression;                                     \
    }                                                        \
  };
#define SAYS_COMPLEX static constexpr bool kComplex = true;
#define SAYS_BRIEF static constexpr bool kBrief = true;
#define SAYS_NARROW static constexpr bool kNarrow = true, kTruth = true;
#define BINARY(Name, expression) FUNCTION(Name, T, , expression)
// Of narrow integers and truth values, too.
#define BINARY_NARROW(Name, expression) FUNCTION(Name, T, SAYS_NARROW, expression)
#define COMPARISON(Name, expression) FUNCTION(Name, bool, SAYS_NARROW, expression)
#define COMPARISON_COMPLEX(Name, expression) FUNCTION(Name, bool, SAYS_COMPLEX SAYS_NARROW, expression)
// With one parameter, converted to the compute dtype.
#define BINARY_WITH(Name, parameter, expression)        \
  struct Name {                                         \
    static constexpr bool kBrief = true;                \
    double value;                                       \
    explicit Name(const double* p) : value(p[0]) {}     \
    template <class T>                                  \
    MT_INLINE T operator()(T a, T b) const {            \
      const T parameter = T(value);                     \
      return expression;                                \
    }                                                   \
  };

struct Add {
  static constexpr bool kComplex = true, kComplexHalf = true, kNarrow = true, kBrief = true;
  double value;
  explicit Add(const double* p) : value(p[0]) {}
  template <class T>
  MT_INLINE T operator()(T a, T b) const {
    if constexpr (is_complex_number<T>) {
      return a + typename T::value_type(value) * b;
    } else {
      return wrap_add(a, wrap_mul(factor<T>(), b));
    }
  }
  template <class T>
  MT_INLINE T factor() const {
    if constexpr (std::is_integral_v<T>) return T(int64_t(value));  // cut to size: a narrow type does not hold all negatives
    return T(value);
  }
};
struct Mul {
  static constexpr bool kComplex = true, kComplexHalf = true, kNarrow = true, kTruth = true, kBrief = true;
  explicit Mul(const double*) {}
  template <class T>
  MT_INLINE T operator()(T a, T b) const {
    return wrap_mul(a, b);
  }
};
FUNCTION(Div, T, SAYS_COMPLEX SAYS_BRIEF, a / b)
FUNCTION(Pow, T, SAYS_COMPLEX static constexpr bool kReversed = false;, power(a, b))
FUNCTION(PowReversed, T, SAYS_COMPLEX static constexpr bool kReversed = true;, power(b, a))
FUNCTION(Maximum, T, SAYS_NARROW SAYS_BRIEF, (a > b) | (a != a) ? a : b)  // a NaN in either wins
FUNCTION(Minimum, T, SAYS_NARROW SAYS_BRIEF, (a < b) | (a != a) ? a : b)
BINARY(Atan2, vatan2(a, b))
COMPARISON_COMPLEX(Eq, a == b)
COMPARISON_COMPLEX(Ne, a != b)
COMPARISON(Lt, a < b)
COMPARISON(Le, a <= b)
COMPARISON(Gt, a > b)
COMPARISON(Ge, a >= b)
COMPARISON_COMPLEX(LogicalAnd, (a != T(0)) & (b != T(0)))
COMPARISON_COMPLEX(LogicalOr, (a != T(0)) | (b != T(0)))
COMPARISON_COMPLEX(LogicalXor, (a != T(0)) != (b != T(0)))

// What only floating-point numbers have.
BINARY(Hypot, vhypot(a, b))
BINARY(CopySign, std::copysign(a, b))
BINARY(NextAfter, next_after(a, b))
BINARY(Xlogy, b != b ? b : (a == 0 ? T(0) : a * vlog(b)))
BINARY(Xlog1py, b != b ? b : (a == 0 ? T(0) : a * vlog1p(b)))
// The larger of two numbers and what the smaller adds to it, in straight code; of two alike infinities, which have no difference, these.
template <class T>
MT_INLINE T with_added(T a, T b, T added) {
  const T top = a > b ? a : b;
  const T sum = a != a || b != b ? a + b : top + added;
  return select((a == b) & (a - b != T(0)), a, sum);
}
template <class T>
MT_INLINE T log_of_sum(T a, T b) {  // log(exp(a) + exp(b))
  return with_added(a, b, vlog1p_of_share(vexp(-std::fabs(a - b))));
}
template <class T>
MT_INLINE T log2_of_sum(T a, T b) {  // log2(2 ** a + 2 ** b)
  return with_added(a, b, vlog1p_of_share(vexp2(-std::fabs(a - b))) * T(1.44269504088896340736));
}
BINARY(LogAddExp, log_of_sum(a, b))
BINARY(LogAddExp2, log2_of_sum(a, b))

// What is missing gives way to a number.
BINARY(Fmax, a != a ? b : (b != b || a > b ? a : b))
BINARY(Fmin, a != a ? b : (b != b || a < b ? a : b))
BINARY(Heaviside, a == 0 ? b : T(a > 0))

// What only integers have. A shift by none of the bits, or more than there are, leaves the sign's.
MT_INLINE int64_t size_of_number(int64_t a) { return a < 0 ? int64_t(0 - uint64_t(a)) : a; }
MT_INLINE int64_t greatest_divisor(int64_t a, int64_t b) {
  uint64_t x = uint64_t(size_of_number(a)), y = uint64_t(size_of_number(b));
  while (y != 0) {
    const uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return int64_t(x);
}
MT_INLINE int64_t least_multiple(int64_t a, int64_t b) {
  const int64_t divisor = greatest_divisor(a, b);
  return divisor == 0 ? 0 : size_of_number(wrap_mul(a / divisor, b));
}
BINARY(Gcd, greatest_divisor(a, b))
BINARY(Lcm, least_multiple(a, b))
BINARY(LeftShift, b < 0 || b >= 64 ? 0 : int64_t(uint64_t(a) << b))
BINARY(RightShift, b < 0 || b >= 64 ? (a < 0 ? -1 : 0) : a >> b)

// To the power of a number that float32 takes for another kind: whether one is odd its last digit tells, and 0 is whole.
struct PowOfDouble {
  double exponent;
  explicit PowOfDouble(const double* p) : exponent(p[0]) {}
  template <class T>
  MT_INLINE T operator()(T a, T) const {
    return T(std::pow(double(a), exponent));
  }
};

struct Cube {
  explicit Cube(const double*) {}
  template <class T>
  MT_INLINE T operator()(T a, T) const {
    return a * a * a;
  }
};

}  // namespace

// Products of complex numbers, part by part; as PyTorch's they make nothing of the NaN that infinities leave.
template <class T>
struct Loop<Mul, std::complex<T>, std::complex<T>, 2> {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    T* out = static_cast<T*>(p[0]);
    const T* a = static_cast<const T*>(p[1]);
    const T* b = static_cast<const T*>(p[2]);
#pragma GCC ivdep
    for (int64_t i = 0; i < 2 * n; i += 2) {
      const T real = a[i] * b[i] - a[i + 1] * b[i + 1], imag = a[i] * b[i + 1] + a[i + 1] * b[i];
      out[i] = real;
      out[i + 1] = imag;
    }
    return MT_OK;
  }
};

template <>
struct Loop<Div, std::complex<float>, std::complex<float>, 2> : ComplexDivision {};

// Powers of float32 by way of the logarithm in double, whose error is far below what rounding to float32 leaves; of what is not
// positive, or no number, as the C library has them.
template <class Op>
struct PowerLoop {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    constexpr int64_t kAtOnce = 64;
    float* out = static_cast<float*>(p[0]);
    const float* a = static_cast<const float*>(p[1]);
    const float* b = static_cast<const float*>(p[2]);
    for (int64_t i = 0; i < n; i += kAtOnce, out += kAtOnce, a += kAtOnce, b += kAtOnce) {
      const int64_t count = std::min(kAtOnce, n - i);
      const float *base = Op::kReversed ? b : a, *exponent = Op::kReversed ? a : b;
      float r[kAtOnce];
      int32_t hard = 0;
      for (int64_t k = 0; k < count; ++k) hard |= is_hard(base[k], exponent[k]);
      for (int64_t k = 0; k < count; ++k) r[k] = float(vexp(double(exponent[k]) * vlog(double(base[k]))));
      if (hard)
        for (int64_t k = 0; k < count; ++k)
          if (is_hard(base[k], exponent[k])) r[k] = std::pow(base[k], exponent[k]);
      std::memcpy(out, r, size_t(count) * sizeof(float));
    }
    return MT_OK;
  }

 private:
  MT_INLINE static int32_t is_hard(float base, float exponent) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return int32_t(!(base > 0.0f)) | int32_t(!(base < kInfinity)) | int32_t(!(std::abs(exponent) < kInfinity));
  }
};
template <>
struct Loop<Pow, float, float, 2> : PowerLoop<Pow> {};
template <>
struct Loop<PowReversed, float, float, 2> : PowerLoop<PowReversed> {};

namespace {

BINARY_NARROW(BitwiseAnd, a& b)
BINARY_NARROW(BitwiseOr, a | b)
BINARY_NARROW(BitwiseXor, a ^ b)

// Gradients, from the incoming gradient `a` and the value `b` saved by the forward pass.
BINARY_WITH(ThresholdBackward, threshold, b <= threshold ? T(0) : a)
BINARY_WITH(LeakyReluBackward, slope, b > 0 ? a : a * slope)
FUNCTION(HardswishBackward, T, SAYS_BRIEF, b <= T(-3) ? T(0) : (b < T(3) ? a * (b / T(3) + T(0.5)) : a))
FUNCTION(SigmoidBackward, T, SAYS_BRIEF, a*(T(1) - b) * b)
FUNCTION(TanhBackward, T, SAYS_BRIEF, a*(T(1) - b * b))
BINARY(SiluBackward, a* vsigmoid(b) * (T(1) + b * (T(1) - vsigmoid(b))))
BINARY(GeluBackward, a*(vnormal(b) + b * T(0.39894228040143267794) * vexp(T(-0.5) * b * b)))
struct GeluTanhBackward {
  explicit GeluTanhBackward(const double*) {}
  template <class T>
  MT_INLINE T operator()(T grad, T x) const {
    const T beta = T(0.79788456080286535588), kappa = T(0.044715);
    const T t = vtanh(beta * (x + kappa * x * x * x));
    return grad * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * beta * (T(1) + T(3) * kappa * x * x));
  }
};

template <class Op>
int division(const mt_tensor* const* operands) {
  if (compute_dtype(operands[0]->dtype) != MT_I64) return arithmetic<Op, 2, false>(operands);
  const int32_t dtypes[] = {MT_I64, MT_I64, MT_I64};
  if (operands[0]->dtype == MT_BOOL || operands[0]->dtype == MT_U64 || is_complex(operands[1]->dtype) || is_complex(operands[2]->dtype))
    return MT_ERROR_DTYPE;
  static const BlockFn fn = PerIsa<CheckedDivision<Op>, void* const*, int64_t, const double*>::pick();
  return elementwise<3>(WrappedPair(operands).operands, dtypes, fn, nullptr);
}

// Division to an integral quotient: in half precision the quotient is rounded before its fraction is dropped.
template <template <class> class Op>
int rounded_division(const mt_tensor* const* operands) {
  if (operands[0]->dtype == MT_F16) return arithmetic<Op<ToFloat16>, 2, true>(operands);
  if (operands[0]->dtype == MT_BF16) return arithmetic<Op<ToBFloat16>, 2, true>(operands);
  return division<Op<Unrounded>>(operands);
}

template <class Op>
int bitwise(const mt_tensor* const* operands) {
  int32_t dtypes[] = {MT_I64, MT_I64, MT_I64};
  for (int k = 0; k < 3; ++k)
    if (compute_dtype(operands[k]->dtype) != MT_I64) return MT_ERROR_DTYPE;
  const BlockFn fn = narrowed<Op, 2, false>(operands, dtypes, pick_loop<Op, int64_t, int64_t, 2>());
  return elementwise<3>(operands, dtypes, fn, nullptr);
}

// As `bitwise`, of functions that truth values do not have.
template <class Op>
int of_integers(const mt_tensor* const* operands) {
  return operands[0]->dtype == MT_BOOL ? int(MT_ERROR_DTYPE) : bitwise<Op>(operands);
}

// A number as half precision holds it; any other dtype takes it as it is.
double rounded_number(double number, int32_t dtype) {
  if (dtype == MT_F16) return ToFloat16::round(float(number));
  return dtype == MT_BF16 ? double(ToBFloat16::round(float(number))) : number;
}

// What a tensor without dimensions holds, where that is a float or a double, as half precision beside it has it; else the tensor.
class Beside {
 public:
  Beside(const mt_tensor* number, const mt_tensor* tensor) : operand(number) {
    const bool half = tensor->dtype == MT_F16 || tensor->dtype == MT_BF16;
    if (!half || tensor->ndim == 0 || number->ndim != 0 || (number->dtype != MT_F32 && number->dtype != MT_F64)) return;
    const double held = number->dtype == MT_F32 ? double(*static_cast<const float*>(number->data)) : *static_cast<const double*>(number->data);
    value_ = rounded_number(held, tensor->dtype);
    tensor_ = scalar_operand(&value_);
    operand = &tensor_;
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  const mt_tensor* operand;

 private:
  double value_ = 0;
  mt_tensor tensor_{};
};

template <class Op>
int compare(const mt_tensor* const* given) {
  const Beside first(given[1], given[2]), second(given[2], given[1]);
  const mt_tensor* operands[] = {given[0], first.operand, second.operand};
  if constexpr (TakesComplex<Op>::value)
    return predicate<Op, 2>(operands, promote_for_equality(operands[1], operands[2]));
  return predicate<Op, 2>(operands, promote_for_comparison(operands[1], operands[2]));
}

// Against a number: in the tensor's dtype, or in double where an integer tensor meets a fraction.
template <class Op>
int compare_scalar(const mt_tensor* self, double number, const mt_tensor* out) {
  number = rounded_number(number, self->dtype);
  const mt_tensor scalar = scalar_operand(&number);
  const mt_tensor* operands[] = {out, self, &scalar};
  int32_t dtype = is_complex(self->dtype) && TakesComplex<Op>::value ? self->dtype : compute_dtype(self->dtype);
  if (dtype == MT_I64 && number != std::floor(number)) dtype = MT_F64;
  return predicate<Op, 2>(operands, dtype);
}

}  // namespace
}  // namespace mt

#define TENSOR_TENSOR const mt_tensor *self, const mt_tensor *other, const mt_tensor *out
#define TENSOR_SCALAR const mt_tensor *self, double number, const mt_tensor *out
#define OPERANDS const mt_tensor* operands[] = {out, self, other};
#define SCALAR_OPERANDS                                       \
  const mt_tensor scalar = mt::scalar_operand(&number);       \
  const mt_tensor* operands[] = {out, self, &scalar};

#define EXPORT_PAIR(name, call)                                             \
  MT_EXPORT int mt_##name(TENSOR_TENSOR) { OPERANDS return call(operands); } \
  MT_EXPORT int mt_##name##_scalar(TENSOR_SCALAR) { SCALAR_OPERANDS return call(operands); }
#define EXPORT_COMPARISON(name, Name)                                                     \
  MT_EXPORT int mt_##name(TENSOR_TENSOR) { OPERANDS return mt::compare<mt::Name>(operands); } \
  MT_EXPORT int mt_##name##_scalar(TENSOR_SCALAR) { return mt::compare_scalar<mt::Name>(self, number, out); }

// out = self + alpha * other; half precision rounds the numbers first, integers take no fraction, truth values no count
MT_EXPORT int mt_add(TENSOR_TENSOR, double alpha) {
  if (mt::compute_dtype(out->dtype) == MT_I64 && alpha != std::floor(alpha)) return MT_ERROR_FACTOR;
  if (!mt::holds(out->dtype, alpha)) return MT_ERROR_OVERFLOW;
  alpha = out->dtype == MT_BOOL ? alpha != 0 : mt::rounded_number(alpha, out->dtype);
  OPERANDS return mt::arithmetic<mt::Add, 2, false>(operands, &alpha);
}
MT_EXPORT int mt_add_scalar(TENSOR_SCALAR, double alpha) {
  if (!mt::holds(out->dtype, alpha)) return MT_ERROR_OVERFLOW;
  alpha = mt::rounded_number(alpha, out->dtype);
  number = mt::rounded_number(number, out->dtype);
  SCALAR_OPERANDS return mt::arithmetic<mt::Add, 2, false>(operands, &alpha);
}
// out = self - alpha * other; truth values have no difference
MT_EXPORT int mt_sub(TENSOR_TENSOR, double alpha) {
  if (self->dtype == MT_BOOL || other->dtype == MT_BOOL) return MT_ERROR_DTYPE;
  return mt_add(self, other, out, -alpha);
}
MT_EXPORT int mt_sub_scalar(TENSOR_SCALAR, double alpha) { return mt_add_scalar(self, number, out, -alpha); }
// out = number - alpha * self
MT_EXPORT int mt_rsub_scalar(TENSOR_SCALAR, double alpha) {
  if (!mt::holds(out->dtype, alpha)) return MT_ERROR_OVERFLOW;
  alpha = mt::rounded_number(-alpha, out->dtype);
  number = mt::rounded_number(number, out->dtype);
  const mt_tensor scalar = mt::scalar_operand(&number);
  const mt_tensor* operands[] = {out, &scalar, self};
  return mt::arithmetic<mt::Add, 2, false>(operands, &alpha);
}

EXPORT_PAIR(mul, (mt::arithmetic<mt::Mul, 2, false>))
EXPORT_PAIR(div, mt::true_division<mt::Div>)
EXPORT_PAIR(div_floor, mt::rounded_division<mt::FloorDivide>)
EXPORT_PAIR(div_trunc, mt::rounded_division<mt::DivTrunc>)
EXPORT_PAIR(remainder, mt::division<mt::Remainder>)
EXPORT_PAIR(fmod, mt::division<mt::Fmod>)
MT_EXPORT int mt_pow(TENSOR_TENSOR) { OPERANDS return mt::arithmetic_of_numbers<mt::Pow, 2, false>(operands); }
MT_EXPORT int mt_pow_scalar(TENSOR_SCALAR) {
  if (out->dtype != MT_F32 && !mt::holds(out->dtype, number)) return MT_ERROR_OVERFLOW;
  number = mt::rounded_number(number, out->dtype);
  SCALAR_OPERANDS
  // As PyTorch takes them, also where the general power of infinity and of -0 is another.
  if (mt::is_floating(out->dtype)) {
    if (number == 2) return mt_square(self, out);
    if (number == 3) return mt::arithmetic<mt::Cube, 2, true>(operands);
    if (number == -2 && out->dtype != MT_F16) {  // rounded in between
      const int status = mt_square(self, out);
      return status ? status : mt_reciprocal(out, out);
    }
    if (number == 0.5 && out->dtype != MT_F16) return mt_sqrt(self, out);
    if (number == -0.5 && out->dtype != MT_F16) return mt_rsqrt(self, out);
  }
  const double magnitude = std::abs(number);
  if (out->dtype == MT_F32 && double(float(number)) != number && (magnitude >= 0x1p24 || magnitude < 0x1p-126))
    return mt::arithmetic<mt::PowOfDouble, 2, true>(operands, &number);
  return mt::arithmetic_of_numbers<mt::Pow, 2, false>(operands);
}
EXPORT_PAIR(maximum, (mt::arithmetic<mt::Maximum, 2, false>))
EXPORT_PAIR(minimum, (mt::arithmetic<mt::Minimum, 2, false>))
EXPORT_PAIR(atan2, mt::true_division<mt::Atan2>)
EXPORT_PAIR(bitwise_and, mt::bitwise<mt::BitwiseAnd>)
EXPORT_PAIR(bitwise_or, mt::bitwise<mt::BitwiseOr>)
EXPORT_PAIR(bitwise_xor, mt::bitwise<mt::BitwiseXor>)
EXPORT_PAIR(hypot, (mt::arithmetic<mt::Hypot, 2, true>))
EXPORT_PAIR(copysign, (mt::arithmetic<mt::CopySign, 2, true>))
EXPORT_PAIR(nextafter, (mt::arithmetic<mt::NextAfter, 2, true>))
EXPORT_PAIR(xlogy, (mt::arithmetic<mt::Xlogy, 2, true>))
EXPORT_PAIR(xlog1py, (mt::arithmetic<mt::Xlog1py, 2, true>))
EXPORT_PAIR(logaddexp, (mt::arithmetic<mt::LogAddExp, 2, true>))
EXPORT_PAIR(logaddexp2, (mt::arithmetic<mt::LogAddExp2, 2, true>))
EXPORT_PAIR(fmax, (mt::arithmetic<mt::Fmax, 2, false>))
EXPORT_PAIR(fmin, (mt::arithmetic<mt::Fmin, 2, false>))
EXPORT_PAIR(heaviside, (mt::arithmetic<mt::Heaviside, 2, false>))
EXPORT_PAIR(gcd, mt::of_integers<mt::Gcd>)
EXPORT_PAIR(lcm, mt::of_integers<mt::Lcm>)
EXPORT_PAIR(left_shift, mt::of_integers<mt::LeftShift>)
EXPORT_PAIR(right_shift, mt::of_integers<mt::RightShift>)
EXPORT_COMPARISON(eq, Eq)
EXPORT_COMPARISON(ne, Ne)
EXPORT_COMPARISON(lt, Lt)
EXPORT_COMPARISON(le, Le)
EXPORT_COMPARISON(gt, Gt)
EXPORT_COMPARISON(ge, Ge)
EXPORT_COMPARISON(logical_and, LogicalAnd)
EXPORT_COMPARISON(logical_or, LogicalOr)
EXPORT_COMPARISON(logical_xor, LogicalXor)

// out = number ** self
MT_EXPORT int mt_rpow_scalar(TENSOR_SCALAR) {
  number = mt::rounded_number(number, out->dtype);
  SCALAR_OPERANDS return mt::arithmetic_of_numbers<mt::PowReversed, 2, false>(operands);
}

#define EXPORT_GRADIENT(name, Name)                                                          \
  MT_EXPORT int mt_##name(const mt_tensor* grad, const mt_tensor* saved, const mt_tensor* out) { \
    const mt_tensor* operands[] = {out, grad, saved};                                        \
    return mt::arithmetic<mt::Name, 2, true>(operands);                                      \
  }
EXPORT_GRADIENT(sigmoid_backward, SigmoidBackward)
EXPORT_GRADIENT(tanh_backward, TanhBackward)
EXPORT_GRADIENT(hardswish_backward, HardswishBackward)
EXPORT_GRADIENT(silu_backward, SiluBackward)
EXPORT_GRADIENT(gelu_backward, GeluBackward)
EXPORT_GRADIENT(gelu_tanh_backward, GeluTanhBackward)

// out = grad where self > threshold, else 0
MT_EXPORT int mt_threshold_backward(const mt_tensor* grad, const mt_tensor* self, const mt_tensor* out,
                                    double threshold) {
  const mt_tensor* operands[] = {out, grad, self};
  if (!mt::holds_factor(out->dtype, threshold)) return MT_ERROR_OVERFLOW;
  if (out->dtype == MT_U8 && threshold < 0) threshold += 256;
  return mt::arithmetic<mt::ThresholdBackward, 2, false>(operands, &threshold);
}

// out = grad where self is positive, else grad * slope
MT_EXPORT int mt_leaky_relu_backward(const mt_tensor* grad, const mt_tensor* self, const mt_tensor* out, double slope) {
  if (!mt::holds_factor(out->dtype, slope)) return MT_ERROR_OVERFLOW;
  const mt_tensor* operands[] = {out, grad, self};
  return mt::arithmetic<mt::LeakyReluBackward, 2, true>(operands, &slope);
}
