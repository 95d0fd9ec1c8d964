// Variances and means of one pass each, for few elements: of many, sums are taken by `reduce.cpp`.
#include <cmath>
#include <initializer_list>
#include <memory>
#include <new>

#include "tensor.h"

namespace mt {
namespace {

template <class T>
int spread(const mt_tensor* self, const mt_tensor* found, const mt_tensor* mean, uint64_t reduced, double correction, bool root) {
  const int64_t n = numel(self), results = numel(found), count = results > 0 ? n / results : 0;
  int64_t steps[kMaxDims], at[kMaxDims] = {};
  for (int64_t d = self->ndim - 1, step = 1; d >= 0; --d) {
    steps[d] = reduced >> d & 1 ? 0 : step;
    step *= reduced >> d & 1 ? 1 : self->shape[d];
  }
  const std::unique_ptr<double[]> totals(new (std::nothrow) double[size_t(2 * results)]());
  if (!totals) return MT_ERROR_MEMORY;
  double *sums = totals.get(), *squares = sums + results;
  const T* x = static_cast<const T*>(self->data);
  const auto each = [&](auto&& add) -> int {
    int64_t place = 0;
    Pace pace;
    for (int64_t i = 0; i < n; ++i) {
      add(place, double(x[i]));
      for (int64_t d = self->ndim - 1; d >= 0; --d) {
        place += steps[d];
        if (++at[d] < self->shape[d]) break;
        place -= steps[d] * self->shape[d];
        at[d] = 0;
      }
      if (pace.stops(1)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  };
  if (int status = each([&](int64_t place, double v) { sums[place] += v; })) return status;
  for (int64_t r = 0; r < results; ++r) sums[r] /= double(count);
  if (int status = each([&](int64_t place, double v) { squares[place] += (v - sums[place]) * (v - sums[place]); })) return status;
  const double free = std::fmax(0, double(count) - correction);
  for (int64_t r = 0; r < results; ++r) {
    const double square = squares[r] / free;
    static_cast<T*>(found->data)[r] = T(root ? std::sqrt(square) : square);
    static_cast<T*>(mean->data)[r] = T(sums[r]);
  }
  return MT_OK;
}

}  // namespace
}  // namespace mt

// Over the dimensions whose bits are in `reduced` the squares of distances to the mean, summed, by n - `correction`, or their roots;
// and the mean. All contiguous, of float32 or float64; in the outputs these dimensions are of size 1 or left out.
MT_EXPORT int mt_var_mean(const mt_tensor* self, const mt_tensor* found, const mt_tensor* mean, uint64_t reduced, double correction, int64_t root) {
  if (self->ndim > mt::kMaxDims || !mt::same_shape(found, mean)) return MT_ERROR_SHAPE;
  int64_t left = 1;
  for (int64_t d = 0; d < self->ndim; ++d) left *= reduced >> d & 1 ? 1 : self->shape[d];
  if (mt::numel(found) != left || mt::numel(self) == 0) return MT_ERROR_SHAPE;
  for (const mt_tensor* t : {self, found, mean})
    if (!mt::is_contiguous(t)) return MT_ERROR_SHAPE;
  if (found->dtype != self->dtype || mean->dtype != self->dtype) return MT_ERROR_DTYPE;
  if (self->dtype == MT_F32) return mt::spread<float>(self, found, mean, reduced, correction, root != 0);
  return self->dtype == MT_F64 ? mt::spread<double>(self, found, mean, reduced, correction, root != 0) : int(MT_ERROR_DTYPE);
}
