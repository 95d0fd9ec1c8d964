// Rows in order, and what is left of rows of which equal ones follow one another. Rows are contiguous; complex numbers count as two.
#include <algorithm>
#include <complex>

#include "numbers.h"

namespace mt {
namespace {

template <class F>
int by_part(int32_t dtype, F&& f) {
  if (dtype == MT_C64) return f(float(), 2);
  if (dtype == MT_C128) return f(double(), 2);
  return by_number(dtype, [&](auto like) { return f(like, 1); });
}

// Whether a row comes before another, NaN behind all numbers: 1 or -1; 0 where neither does.
template <class T>
int compare(const T* a, const T* b, int64_t width) {
  for (int64_t k = 0; k < width; ++k) {
    const auto x = number(a[k]), y = number(b[k]);
    if (x == y) continue;
    if (x < y || (y != y && x == x)) return -1;
    if (y < x || x == x || y == y) return 1;
  }
  return 0;
}

template <class T>
int order_rows(const T* rows, int64_t* order, int64_t n, int64_t width) {
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  std::sort(order, order + n, [=](int64_t i, int64_t j) {
    const int found = compare(rows + i * width, rows + j * width, width);
    return found < 0 || (found == 0 && i < j);
  });
  return MT_OK;
}

// NaN equals nothing.
template <class T>
MT_INLINE bool alike(const T* a, const T* b, int64_t width) {
  for (int64_t k = 0; k < width; ++k)
    if (number(a[k]) != number(b[k])) return false;
  return true;
}

// Single elements without branches, which no processor could foresee: what one leaves behind is written over unless it is new.
template <class T>
MT_INLINE int unique_rows(const T* rows, T* values, int64_t* inverse, int64_t* counts, int64_t* found, int64_t n, int64_t width) {
  int64_t count = 0;
  const int64_t stretch = std::max(kStretch / width, int64_t(1));
  Pace pace;
  for (int64_t done = 0; done < n; done += stretch) {
    const int64_t last = std::min(n, done + stretch);
    for (int64_t i = done; i < last; ++i) {
      const bool is_new = i == 0 || !alike(rows + (i - 1) * width, rows + i * width, width);
      if (width == 1 || is_new) std::copy(rows + i * width, rows + (i + 1) * width, values + count * width);
      if (counts) counts[count] = i;
      count += is_new;
      if (inverse) inverse[i] = count - 1;
    }
    if (pace.stops((last - done) * width)) return MT_ERROR_INTERRUPTED;
  }
  for (int64_t k = 0; counts && k < count; ++k) counts[k] = (k + 1 < count ? counts[k + 1] : n) - counts[k];
  *found = count;
  return MT_OK;
}

int64_t* integers(const mt_tensor* t) { return numel(t) ? static_cast<int64_t*>(t->data) : nullptr; }

}  // namespace
}  // namespace mt

// The order that sorts the rows of a matrix by their first elements, then the second and so on; equal ones keep theirs.
MT_EXPORT int mt_order_rows(const mt_tensor* rows, const mt_tensor* order) {
  if (rows->ndim != 2 || order->ndim != 1 || order->shape[0] != rows->shape[0]) return MT_ERROR_SHAPE;
  if (order->dtype != MT_I64) return MT_ERROR_DTYPE;
  if (mt::numel(rows) == 0 || !mt::is_contiguous(rows) || !mt::is_contiguous(order)) return MT_ERROR_SHAPE;
  return mt::by_part(rows->dtype, [=](auto like, int64_t parts) {
    using T = decltype(like);
    return mt::order_rows(static_cast<const T*>(rows->data), mt::integers(order), rows->shape[0], parts * rows->shape[1]);
  });
}

// The rows without those that are equal to the one before, how many these are, and, where there is room for it, where each row is
// among them and how often each is there.
MT_EXPORT int mt_unique_rows(const mt_tensor* rows, const mt_tensor* values, const mt_tensor* inverse, const mt_tensor* counts,
                             const mt_tensor* found) {
  if (rows->ndim != 2 || !mt::same_shape(rows, values) || mt::numel(found) != 1) return MT_ERROR_SHAPE;
  if (rows->dtype != values->dtype || found->dtype != MT_I64) return MT_ERROR_DTYPE;
  if (mt::numel(rows) == 0 || !mt::is_contiguous(rows) || !mt::is_contiguous(values)) return MT_ERROR_SHAPE;
  const int64_t n = rows->shape[0];
  for (const mt_tensor* each : {inverse, counts}) {
    if (each->dtype != MT_I64) return MT_ERROR_DTYPE;
    if (mt::numel(each) && (mt::numel(each) != n || !mt::is_contiguous(each))) return MT_ERROR_SHAPE;
  }
  return mt::by_part(rows->dtype, [=](auto like, int64_t parts) {
    using T = decltype(like);
    const T* from = static_cast<const T*>(rows->data);
    T* to = static_cast<T*>(values->data);
    const int64_t width = parts * rows->shape[1];
    const auto run = [=](int64_t w) __attribute__((always_inline)) {
      return mt::unique_rows(from, to, mt::integers(inverse), mt::integers(counts), mt::integers(found), n, w);
    };
    return width == 1 ? run(1) : run(width);
  });
}
