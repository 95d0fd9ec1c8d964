// Norms of vectors: int mt_vector_norm(self, out, dims, order), of floating point numbers.
#include "reduction.h"

namespace mt {
namespace {

// Magnitudes are added up in double: the root of their squares, themselves, and how many are not 0.
template <class T>
struct Squares : Sum<double> {
  MT_INLINE static void step(double& acc, T v, int64_t) { acc += double(v) * double(v); }
  static double finish(double acc, int64_t) { return std::sqrt(acc); }
};
template <class T>
struct Magnitudes : Sum<double> {
  MT_INLINE static void step(double& acc, T v, int64_t) { acc += std::abs(double(v)); }
};
template <class T>
struct Count : Sum<double> {
  MT_INLINE static void step(double& acc, T v, int64_t) { acc += v != T(0) ? 1.0 : 0.0; }
};

// The largest and smallest magnitude.
template <class T, bool Max>
struct ExtremeMagnitude : Extreme<T, Max> {
  MT_INLINE static void step(T& acc, T v, int64_t) { Extreme<T, Max>::merge(acc, std::abs(v)); }
};
template <class T>
using LargestMagnitude = ExtremeMagnitude<T, true>;
template <class T>
using SmallestMagnitude = ExtremeMagnitude<T, false>;

template <template <class> class Op>
int norm(const mt_tensor* self, const mt_tensor* out, uint64_t mask) {
  Dims kept, reduced;
  if (int status = split(self, out, mask, false, kept, reduced)) return status;
  return compute_dtype(self->dtype) == MT_F64 ? reduce_as<Op<double>, double>(self, out, kept, reduced)
                                              : reduce_as<Op<float>, float>(self, out, kept, reduced);
}

}  // namespace
}  // namespace mt

// Of order 2, 1, 0, infinity or -infinity; of another one, or of what is no real floating point number, MT_ERROR_DTYPE.
MT_EXPORT int mt_vector_norm(const mt_tensor* self, const mt_tensor* out, uint64_t dims, double order) {
  if (!mt::is_floating(self->dtype) || !mt::is_floating(out->dtype)) return MT_ERROR_DTYPE;
  if (order == 2) return mt::norm<mt::Squares>(self, out, dims);
  if (order == 1) return mt::norm<mt::Magnitudes>(self, out, dims);
  if (order == 0) return mt::norm<mt::Count>(self, out, dims);
  if (!std::isinf(order)) return MT_ERROR_DTYPE;
  return order > 0 ? mt::norm<mt::LargestMagnitude>(self, out, dims) : mt::norm<mt::SmallestMagnitude>(self, out, dims);
}
