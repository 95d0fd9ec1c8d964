// Cross products.
#include <initializer_list>

#include "tensor.h"
#include "threads.h"

namespace mt {
namespace {

constexpr int64_t kWeight = 8;  // what a vector costs, beside an element of a sum

template <class T>
int cross(const mt_tensor* self, const mt_tensor* other, const mt_tensor* out, int64_t dim) {
  int64_t inner = 1;
  for (int64_t d = dim + 1; d < self->ndim; ++d) inner *= self->shape[d];
  return parallel(numel(self) / 3, rows_grain(1, kWeight), [&](int64_t first, int64_t last) -> int {
    Pace pace;
    for (; first < last; ++first) {
      const int64_t at = first / inner * 3 * inner + first % inner;
      const T *a = static_cast<const T*>(self->data) + at, *b = static_cast<const T*>(other->data) + at;
      T* c = static_cast<T*>(out->data) + at;
      const T a0 = a[0], a1 = a[inner], a2 = a[2 * inner], b0 = b[0], b1 = b[inner], b2 = b[2 * inner];
      c[0] = a1 * b2 - a2 * b1;
      c[inner] = a2 * b0 - a0 * b2;
      c[2 * inner] = a0 * b1 - a1 * b0;
      if (pace.stops(3)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

}  // namespace
}  // namespace mt

// The cross products of vectors along a dimension. All contiguous and of one shape.
MT_EXPORT int mt_cross(const mt_tensor* self, const mt_tensor* other, const mt_tensor* out, int64_t dim) {
  if (!mt::same_shape(self, other) || !mt::same_shape(self, out)) return MT_ERROR_SHAPE;
  if (dim < 0 || dim >= self->ndim || self->shape[dim] != 3) return MT_ERROR_SHAPE;
  for (const mt_tensor* t : {self, other, out})
    if (!mt::is_contiguous(t)) return MT_ERROR_SHAPE;
  if (self->dtype != other->dtype || self->dtype != out->dtype) return MT_ERROR_DTYPE;
  switch (self->dtype) {
    case MT_F32:
      return mt::cross<float>(self, other, out, dim);
    case MT_F64:
      return mt::cross<double>(self, other, out, dim);
    default:
      return MT_ERROR_DTYPE;
  }
}
