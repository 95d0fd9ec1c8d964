// Where numbers stand in sorted sequences.
#include <initializer_list>

#include "tensor.h"
#include "threads.h"

namespace mt {
namespace {

constexpr int64_t kStepWeight = 4;  // what one comparison with an element somewhere costs

// Behind all that is less, or behind all that is not larger. As in PyTorch NaN is behind all numbers, whatever it is compared with.
template <class T>
int64_t place_in(const T* sequence, int64_t n, T value, bool right) {
  int64_t first = 0;
  while (first < n) {
    const int64_t middle = first + (n - first) / 2;
    const bool behind = right ? !(sequence[middle] > value) : !(sequence[middle] >= value);
    (behind ? first : n) = behind ? middle + 1 : middle;
  }
  return first;
}

template <class T, class P>
int search(const mt_tensor* sequence, const mt_tensor* values, bool right, const mt_tensor* out) {
  const int64_t length = sequence->shape[sequence->ndim - 1];
  const int64_t row = sequence->ndim == 1 ? 0 : values->shape[values->ndim - 1];  // values that are sought in one sequence; 0: all
  int64_t steps = 1;
  while (length >> steps > 0) ++steps;
  return parallel(numel(values), rows_grain(steps, kStepWeight), [&](int64_t first, int64_t last) -> int {
    Pace pace;
    for (; first < last; ++first) {
      const T* in = static_cast<const T*>(sequence->data) + (row == 0 ? 0 : first / row * length);
      static_cast<P*>(out->data)[first] = P(place_in(in, length, static_cast<const T*>(values->data)[first], right));
      if (pace.stops(steps)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

template <class T>
int search(const mt_tensor* sequence, const mt_tensor* values, bool right, const mt_tensor* out) {
  if (out->dtype == MT_I64) return search<T, int64_t>(sequence, values, right, out);
  return out->dtype == MT_I32 ? search<T, int32_t>(sequence, values, right, out) : int(MT_ERROR_DTYPE);
}

}  // namespace
}  // namespace mt

// Where each of `values` would stand in `sequence`, or in that sequence of several whose other indices are its own. All contiguous.
MT_EXPORT int mt_search(const mt_tensor* sequence, const mt_tensor* values, int64_t right, const mt_tensor* out) {
  if (!mt::same_shape(values, out) || sequence->ndim < 1) return MT_ERROR_SHAPE;
  if (sequence->ndim > 1) {
    if (sequence->ndim != values->ndim) return MT_ERROR_SHAPE;
    for (int64_t d = 0; d + 1 < values->ndim; ++d)
      if (sequence->shape[d] != values->shape[d]) return MT_ERROR_SHAPE;
  }
  for (const mt_tensor* t : {sequence, values, out})
    if (!mt::is_contiguous(t)) return MT_ERROR_SHAPE;
  if (sequence->dtype != values->dtype) return MT_ERROR_DTYPE;
  switch (values->dtype) {
    case MT_F32:
      return mt::search<float>(sequence, values, right != 0, out);
    case MT_F64:
      return mt::search<double>(sequence, values, right != 0, out);
    case MT_I64:
      return mt::search<int64_t>(sequence, values, right != 0, out);
    case MT_I32:
      return mt::search<int32_t>(sequence, values, right != 0, out);
    default:
      return MT_ERROR_DTYPE;
  }
}
