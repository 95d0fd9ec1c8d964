// Functions of one tensor: int mt_<name>(self, out). They compute in out's dtype; predicates write bool.
#include <cmath>
#include <type_traits>

#include "elementwise.h"
#include "vmath.h"

namespace mt {
namespace {

template <class T>
constexpr bool kFloat = std::is_floating_point_v<T>;

#define UNARY(Name, expression)                 \
  struct Name {                                 \
    explicit Name(const double*) {}             \
    template <class T>                          \
    MT_INLINE T operator()(T x) const {         \
      return expression;                        \
    }                                           \
  };
#define PREDICATE(Name, expression)             \
  struct Name {                                 \
    explicit Name(const double*) {}             \
    template <class T>                          \
    MT_INLINE bool operator()(T x) const {      \
      return expression;                        \
    }                                           \
  };

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

UNARY(Neg, unsigned_neg(x))
UNARY(Abs, magnitude(x))
UNARY(Sign, T((x > 0) - (x < 0)))
UNARY(Square, squared(x))
UNARY(Floor, rounded_down(x))
UNARY(Ceil, rounded_up(x))
UNARY(Round, rounded_to_even(x))
UNARY(Trunc, truncated(x))
UNARY(Relu, x < 0 ? T(0) : x)  // NaN is not below 0 and passes
UNARY(Exp, vexp(x))
UNARY(Log, vlog(x))
UNARY(Sqrt, std::sqrt(x))
UNARY(Rsqrt, T(1) / std::sqrt(x))
UNARY(Reciprocal, T(1) / x)
UNARY(Sigmoid, vsigmoid(x))
UNARY(Tanh, vtanh(x))
UNARY(Silu, x * vsigmoid(x))
UNARY(Expm1, std::expm1(x))
UNARY(Log1p, std::log1p(x))
UNARY(Log2, std::log2(x))
UNARY(Log10, std::log10(x))
UNARY(Exp2, std::exp2(x))
UNARY(Sin, std::sin(x))
UNARY(Cos, std::cos(x))
UNARY(Tan, std::tan(x))
UNARY(Asin, std::asin(x))
UNARY(Acos, std::acos(x))
UNARY(Atan, std::atan(x))
UNARY(Sinh, std::sinh(x))
UNARY(Cosh, std::cosh(x))
UNARY(Erf, verf(x))
UNARY(Gelu, x * T(0.5) * (T(1) + verf(x * T(0.70710678118654752440))))
UNARY(GeluTanh, x * T(0.5) * (T(1) + vtanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x))))
PREDICATE(LogicalNot, x == 0)
PREDICATE(IsNan, x != x)
PREDICATE(IsInf, kFloat<T> && (x - x != 0) && x == x)
PREDICATE(IsFinite, x - x == 0)

struct BitwiseNot {
  explicit BitwiseNot(const double*) {}
  template <class T>
  MT_INLINE T operator()(T x) const {
    return ~x;
  }
};

}  // namespace
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
    return mt::predicate<mt::Name, 1>(operands, mt::compute_dtype(self->dtype));   \
  }

EXPORT_OF_NUMBERS(neg, Neg)
EXPORT_OF_NUMBERS(abs, Abs)
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
EXPORT_ARITHMETIC(gelu, Gelu, true)
EXPORT_ARITHMETIC(gelu_tanh, GeluTanh, true)
EXPORT_PREDICATE(logical_not, LogicalNot)
EXPORT_PREDICATE(isnan, IsNan)
EXPORT_PREDICATE(isinf, IsInf)
EXPORT_PREDICATE(isfinite, IsFinite)

// On bool the logical complement.
MT_EXPORT int mt_bitwise_not(const mt_tensor* self, const mt_tensor* out) {
  if (self->dtype == MT_BOOL) return mt_logical_not(self, out);
  if (mt::compute_dtype(out->dtype) != MT_I64) return MT_ERROR_DTYPE;
  const mt_tensor* operands[] = {out, self};
  const int32_t dtypes[] = {MT_I64, MT_I64};
  return mt::elementwise<2>(operands, dtypes, mt::pick_loop<mt::BitwiseNot, int64_t, int64_t, 1>(), nullptr);
}
