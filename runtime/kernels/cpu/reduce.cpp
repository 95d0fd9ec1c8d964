// Reductions: int mt_<name>(self, out, dims), where bit d of `dims` says that dimension d of self is reduced. `out` has
// the reduced dimensions either left out or of size 1.
#include "reduction.h"
#include "vmath.h"

namespace mt {
namespace {

template <class T>
struct Prod : Sum<T> {
  static constexpr bool kTerms = false;
  using Acc = typename Sum<T>::Acc;
  static Acc init() { return 1; }
  MT_INLINE static void step(Acc& acc, T v, int64_t) { acc = wrap_mul(acc, Acc(v)); }
  MT_INLINE static void merge(Acc& acc, Acc other) { acc = wrap_mul(acc, other); }
};

// The sum of what is not NaN.
template <class T>
struct NanSum : Sum<T> {
  using Acc = typename Sum<T>::Acc;
  MT_INLINE static T term(T v) {
    if constexpr (std::is_floating_point_v<T>) return select(v == v, v, T(0));
    return v;
  }
  MT_INLINE static void step(Acc& acc, T v, int64_t) { acc = wrap_add(acc, Acc(term(v))); }
};

template <class T>
using Amax = Extreme<T, true>;
template <class T>
using Amin = Extreme<T, false>;

template <class T>
using Argmax = ArgExtreme<T, true>;
template <class T>
using Argmin = ArgExtreme<T, false>;

template <class T>
struct Any {
  static constexpr bool kPositions = false;
  using Acc = uint8_t;
  using Result = bool;
  static Acc init() { return 0; }
  MT_INLINE static void step(Acc& acc, T v, int64_t) { acc |= v != T(0); }
  MT_INLINE static void merge(Acc& acc, Acc other) { acc |= other; }
  static Result finish(Acc acc, int64_t) { return acc != 0; }
};
template <class T>
struct All : Any<T> {
  static uint8_t init() { return 1; }
  MT_INLINE static void step(uint8_t& acc, T v, int64_t) { acc &= v != T(0); }
  MT_INLINE static void merge(uint8_t& acc, uint8_t other) { acc &= other; }
};

// How many are not 0.
template <class T>
struct Count : Sum<int64_t> {
  MT_INLINE static void step(int64_t& acc, T v, int64_t) { acc += v != T(0); }
};

constexpr int kNotNarrow = -1;

// Of narrow integers, and of truth values as bytes of 0 and 1, without making wide ones of them.
template <template <class> class Op>
int reduce_narrow(const mt_tensor* self, const mt_tensor* out, const Dims& kept, const Dims& reduced) {
  constexpr bool kTruth = std::is_same_v<typename Op<uint8_t>::Result, bool>;  // for which any byte's bits do
  mt_tensor bytes = *self, result = *out;
  if (self->dtype == MT_BOOL || (kTruth && self->dtype == MT_I8)) bytes.dtype = MT_U8;
  if (out->dtype == MT_BOOL && !kTruth) result.dtype = MT_U8;
  if (bytes.dtype == MT_U8) return reduce_as<Op<uint8_t>, uint8_t>(&bytes, &result, kept, reduced);
  if constexpr (!kTruth) {
    switch (self->dtype) {
      case MT_I8:
        return reduce_as<Op<int8_t>, int8_t>(self, out, kept, reduced);
      case MT_I16:
        return reduce_as<Op<int16_t>, int16_t>(self, out, kept, reduced);
      case MT_I32:
        return reduce_as<Op<int32_t>, int32_t>(self, out, kept, reduced);
    }
  }
  return kNotNarrow;
}

// Complex numbers, which have no order, are reduced, in double precision, where `Complex` says so; narrow integers among themselves
// where the result has no more bits.
template <template <class> class Op, bool Complex, bool Narrow>
int reduce(const mt_tensor* self, const mt_tensor* out, uint64_t mask, int32_t dtype) {
  Dims kept, reduced;
  const bool complex = is_complex(self->dtype) || is_complex(out->dtype);
  if ((complex && !Complex) || out->dtype == MT_C32) return MT_ERROR_DTYPE;
  if (int status = split(self, out, mask, Op<float>::kPositions, kept, reduced)) return status;
  if constexpr (Complex) {
    if constexpr (kOfParts<Op<std::complex<float>>>) {
      if (self->dtype == MT_C64 && out->dtype == MT_C64)
        return reduce_as<Op<std::complex<float>>, std::complex<float>>(self, out, kept, reduced);
    }
    if (complex) return reduce_as<Op<std::complex<double>>, std::complex<double>>(self, out, kept, reduced);
  }
  if constexpr (Narrow) {
    if (int status = reduce_narrow<Op>(self, out, kept, reduced); status != kNotNarrow) return status;
  }
  switch (dtype) {
    case MT_F32:
      if constexpr (!Op<float>::kPositions)
        if (self->dtype == MT_BF16) return reduce_as<Op<float>, BFloat16>(self, out, kept, reduced);
      return reduce_as<Op<float>, float>(self, out, kept, reduced);
    case MT_F64:
      return reduce_as<Op<double>, double>(self, out, kept, reduced);
    case MT_I64:
      return reduce_as<Op<int64_t>, int64_t>(self, out, kept, reduced);
    default:
      return MT_ERROR_DTYPE;
  }
}

}  // namespace
}  // namespace mt

// `source` is the tensor whose dtype the reduction is computed in.
#define EXPORT_REDUCTION(name, Op, source, Complex, Narrow)                              \
  MT_EXPORT int mt_##name(const mt_tensor* self, const mt_tensor* out, uint64_t dims) {  \
    return mt::reduce<mt::Op, Complex, Narrow>(self, out, dims, mt::compute_dtype(source->dtype));        \
  }
EXPORT_REDUCTION(sum, Sum, out, true, false)
EXPORT_REDUCTION(mean, Mean, out, true, false)
EXPORT_REDUCTION(nansum, NanSum, out, false, false)
EXPORT_REDUCTION(prod, Prod, out, true, false)
EXPORT_REDUCTION(amax, Amax, self, false, true)
EXPORT_REDUCTION(amin, Amin, self, false, true)
EXPORT_REDUCTION(argmax, Argmax, self, false, true)
EXPORT_REDUCTION(argmin, Argmin, self, false, true)
EXPORT_REDUCTION(count_nonzero, Count, self, true, true)
EXPORT_REDUCTION(any, Any, self, true, true)
EXPORT_REDUCTION(all, All, self, true, true)

MT_EXPORT int mt_max_dim(const mt_tensor* self, const mt_tensor* values, const mt_tensor* indices, uint64_t dims) {
  if (int status = mt_amax(self, values, dims)) return status;
  return mt_argmax(self, indices, dims);
}
MT_EXPORT int mt_min_dim(const mt_tensor* self, const mt_tensor* values, const mt_tensor* indices, uint64_t dims) {
  if (int status = mt_amin(self, values, dims)) return status;
  return mt_argmin(self, indices, dims);
}
