// Functions of three tensors, and those that combine a tensor with limits, a mask or a weight.
#include <cmath>
#include <complex>
#include <limits>

#include "elementwise.h"

namespace mt {
namespace {

#define TERNARY_WITH(Name, parameter, expression)       \
  struct Name {                                         \
    static constexpr bool kBrief = true;                \
    double value;                                       \
    explicit Name(const double* p) : value(p[0]) {}     \
    template <class T>                                  \
    MT_INLINE T operator()(T a, T b, T c) const {       \
      const T parameter = T(value);                     \
      return expression;                                \
    }                                                   \
  };

TERNARY_WITH(Addcmul, factor, wrap_add(a, wrap_mul(wrap_mul(factor, b), c)))
TERNARY_WITH(Addcdiv, factor, a + factor * (b / c))
struct Lerp {
  static constexpr bool kBrief = true;
  explicit Lerp(const double*) {}
  template <class T>
  MT_INLINE T operator()(T start, T end, T weight) const {
    // Two forms, so that weight 0 and weight 1 give start and end themselves.
    const T span = end - start;
    return std::abs(weight) < T(0.5) ? start + weight * span : end - span * (T(1) - weight);
  }
};

// A NaN passes; where the lower limit is above the upper one, the upper one wins.
struct Clamp {
  static constexpr bool kNarrow = true, kBrief = true;
  explicit Clamp(const double*) {}
  template <class T>
  MT_INLINE T operator()(T x, T low, T high) const {
    const T raised = (x < low) | (low != low) ? low : x;
    return (raised > high) | (high != high) ? high : raised;
  }
};

template <class T>
struct Where {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    T* out = static_cast<T*>(p[0]);
    const bool* condition = static_cast<const bool*>(p[1]);
    const T* a = static_cast<const T*>(p[2]);
    const T* b = static_cast<const T*>(p[3]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = condition[i] ? a[i] : b[i];
    return MT_OK;
  }
};

// Elements are chosen, not computed with: in the output's dtype, whatever it is, by their size.
int where(const mt_tensor* const* operands) {
  const int32_t dtype = operands[0]->dtype;
  if (is_float8(dtype)) return MT_ERROR_DTYPE;
  const int32_t dtypes[] = {dtype, MT_BOOL, dtype, dtype};
  return by_size(item_size(dtype), [&](auto element) {
    return elementwise<4>(operands, dtypes, PerIsa<Where<decltype(element)>, void* const*, int64_t, const double*>::pick(), nullptr);
  });
}

// A limit as an operand, in the dtype that the tensor has where that is computed in as it is.
struct Limit {
  union {
    double f64;
    int64_t i64;
    int32_t i32;
    uint8_t u8;
  };
  mt_tensor operand{&f64, 0, nullptr, nullptr, MT_F64, 8};

  Limit(int32_t dtype, double value) : f64(value) {
    if (dtype == MT_U8) set(u8, uint8_t(value), dtype);
    if (dtype == MT_I32) set(i32, int32_t(value), dtype);
  }
  // The end of the dtype's range, which stands for a missing one.
  Limit(int32_t dtype, bool low) : f64(low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity()) {
    if (dtype == MT_U8) set(u8, end<uint8_t>(low), dtype);
    else if (dtype == MT_I32) set(i32, end<int32_t>(low), dtype);
    else if (compute_dtype(dtype) == MT_I64) set(i64, end<int64_t>(low), MT_I64);
  }
  Limit(const Limit&) = delete;

 private:
  template <class T>
  static T end(bool low) {
    return low ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
  template <class T>
  void set(T& place, T value, int32_t dtype) {
    place = value;
    operand.dtype = dtype;
    operand.itemsize = sizeof(T);
  }
};

int clamp(const mt_tensor* self, const mt_tensor* low, const mt_tensor* high, const mt_tensor* out) {
  const Limit lowest(out->dtype, true), highest(out->dtype, false);
  const mt_tensor* operands[] = {out, self, low ? low : &lowest.operand, high ? high : &highest.operand};
  return arithmetic<Clamp, 3, false>(operands);
}

}  // namespace
}  // namespace mt

#define EXPORT_TERNARY(name, Name, FloatOnly)                                                              \
  MT_EXPORT int mt_##name(const mt_tensor* self, const mt_tensor* tensor1, const mt_tensor* tensor2,       \
                          const mt_tensor* out, double value) {                                            \
    const mt_tensor* operands[] = {out, self, tensor1, tensor2};                                           \
    if (!mt::holds_factor(out->dtype, value)) return MT_ERROR_OVERFLOW;                                    \
    const bool fractions = mt::is_floating(tensor1->dtype) || mt::is_floating(tensor2->dtype);             \
    if (fractions && !mt::is_floating(out->dtype)) return MT_ERROR_DTYPE;                                  \
    return mt::arithmetic_of_numbers<mt::Name, 3, FloatOnly>(operands, &value);                            \
  }
EXPORT_TERNARY(addcmul, Addcmul, false)
EXPORT_TERNARY(addcdiv, Addcdiv, true)

MT_EXPORT int mt_lerp(const mt_tensor* self, const mt_tensor* end, const mt_tensor* weight, const mt_tensor* out) {
  if (self->dtype != end->dtype) return MT_ERROR_DTYPE;
  const mt_tensor* operands[] = {out, self, end, weight};
  return mt::arithmetic<mt::Lerp, 3, true>(operands);
}

MT_EXPORT int mt_lerp_scalar(const mt_tensor* self, const mt_tensor* end, double weight, const mt_tensor* out) {
  if (mt::is_floating(out->dtype) && !mt::holds_factor(out->dtype, weight)) return MT_ERROR_OVERFLOW;
  const mt_tensor scalar = mt::scalar_operand(&weight);
  return mt_lerp(self, end, &scalar, out);
}

// out = self where condition, else other
MT_EXPORT int mt_where(const mt_tensor* condition, const mt_tensor* self, const mt_tensor* other,
                       const mt_tensor* out) {
  if (condition->dtype != MT_BOOL && condition->dtype != MT_U8) return MT_ERROR_DTYPE;
  const mt_tensor* operands[] = {out, condition, self, other};
  return mt::where(operands);
}

// out = value where mask, else self
MT_EXPORT int mt_masked_fill(const mt_tensor* self, const mt_tensor* mask, double value, const mt_tensor* out) {
  if (mask->dtype != MT_BOOL) return MT_ERROR_DTYPE;
  if (!mt::holds(out->dtype, value)) return MT_ERROR_OVERFLOW;
  if (out->dtype == MT_F16 || out->dtype == MT_BF16) value = double(float(value));  // as PyTorch converts numbers
  const mt_tensor scalar = mt::scalar_operand(&value);
  const mt_tensor* operands[] = {out, mask, &scalar, self};
  return mt::where(operands);
}

// Limits may be null.
MT_EXPORT int mt_clamp(const mt_tensor* self, const mt_tensor* low, const mt_tensor* high, const mt_tensor* out) {
  return mt::clamp(self, low, high, out);
}

MT_EXPORT int mt_clamp_scalar(const mt_tensor* self, int32_t has_low, double low, int32_t has_high, double high,
                              const mt_tensor* out) {
  if ((has_low && !mt::holds(out->dtype, low)) || (has_high && !mt::holds(out->dtype, high))) return MT_ERROR_OVERFLOW;
  const mt::Limit l(out->dtype, has_low ? low : 0), h(out->dtype, has_high ? high : 0);
  return mt::clamp(self, has_low ? &l.operand : nullptr, has_high ? &h.operand : nullptr, out);
}
