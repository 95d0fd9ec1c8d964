// Order along a dimension: all elements, the first few, or the one of a rank, and where they were. Elements become unsigned integers
// that are in the same order, NaN above all numbers; equal ones keep their order.
#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "tensor.h"
#include "threads.h"

namespace mt {
namespace {

constexpr int64_t kFew = 256;      // elements that are compared rather than counted
constexpr int64_t kFraction = 16;  // one of so many is few

template <class K>
struct Item {
  K key, place;
  bool operator<(const Item& other) const { return key < other.key || (key == other.key && place < other.place); }
};

template <class K, class T>
MT_INLINE K key_of(T v) {
  constexpr K top = K(1) << (8 * sizeof(K) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (v != v) return K(-1);
    K bits = 0;
    const T plain = v == 0 ? T(0) : v;  // of both signs
    std::memcpy(&bits, &plain, sizeof(T));
    return bits & top ? K(~bits) : K(bits | top);
  } else {
    return std::is_signed_v<T> ? K(K(v) ^ top) : K(v);
  }
}

// By bytes from the last on, each pass keeping the order of the one before; bytes that all keys share need none.
template <class K>
void sort_by_bytes(Item<K>* items, Item<K>* spare, int64_t n) {
  int64_t counts[sizeof(K)][256] = {};
  for (int64_t i = 0; i < n; ++i)
    for (size_t b = 0; b < sizeof(K); ++b) ++counts[b][items[i].key >> (8 * b) & 255];
  Item<K>* const result = items;
  for (size_t b = 0; b < sizeof(K); ++b) {
    int64_t* const starts = counts[b];
    if (starts[items[0].key >> (8 * b) & 255] == n) continue;
    int64_t sum = 0;
    for (int c = 0; c < 256; ++c) sum += std::exchange(starts[c], sum);
    for (int64_t i = 0; i < n; ++i) spare[starts[items[i].key >> (8 * b) & 255]++] = items[i];
    std::swap(items, spare);
  }
  if (items != result) std::copy(items, items + n, result);
}

// The first `count` of `n` items, in order.
template <class K>
void first_of(Item<K>* items, Item<K>* spare, int64_t n, int64_t count) {
  if (count * kFraction <= n) {  // most of the items are compared with the last of these alone
    std::partial_sort(items, items + count, items + n);
    return;
  }
  if (count < n) {
    std::nth_element(items, items + count - 1, items + n);
    n = count;
  }
  n <= kFew ? std::sort(items, items + n) : sort_by_bytes(items, spare, n);
}

constexpr int64_t kLongest = int64_t(1) << 56;  // for lines that are longer, as expanded ones may be, nothing has room

// The lines of a tensor along a dimension.
struct Lines {
  const mt_tensor *self, *values, *places;
  int64_t dim, length, count;
  bool descending;

  int64_t offset(const mt_tensor* t, int64_t line) const {
    int64_t found = 0;
    for (int64_t d = self->ndim - 1; d >= 0; --d) {
      if (d == dim) continue;
      found += line % self->shape[d] * t->strides[d];
      line /= self->shape[d];
    }
    return found;
  }
};

// The lines from `first` to `last`, whose elements are compared as T, by keys of type K.
template <class T, class K>
int order(const Lines& lines, int32_t dtype, int64_t first, int64_t last) {
  const int64_t n = lines.length, step = lines.self->strides[lines.dim], size = lines.self->itemsize;
  const int64_t value_step = lines.values->strides[lines.dim], place_step = lines.places->strides[lines.dim];
  const CastFn cast = cast_fn(dtype, lines.self->dtype);
  std::unique_ptr<T[]> read(new (std::nothrow) T[size_t(n)]);
  std::unique_ptr<Item<K>[]> items(new (std::nothrow) Item<K>[size_t(2 * n)]);
  if (!read || !items) return MT_ERROR_MEMORY;
  const K turn = lines.descending ? K(-1) : K(0);
  Pace pace;
  for (; first < last; ++first) {
    const char* from = static_cast<const char*>(lines.self->data) + lines.offset(lines.self, first) * size;
    cast(read.get(), 1, from, step, n);
    for (int64_t i = 0; i < n; ++i) items[size_t(i)] = {K(key_of<K>(read[size_t(i)]) ^ turn), K(i)};
    first_of(items.get(), items.get() + n, n, lines.count);
    char* values = static_cast<char*>(lines.values->data) + lines.offset(lines.values, first) * size;
    int64_t* places = static_cast<int64_t*>(lines.places->data) + lines.offset(lines.places, first);
    for (int64_t i = 0; i < lines.count; ++i) {
      const int64_t at = int64_t(items[size_t(i)].place);
      places[i * place_step] = at;
      std::memcpy(values + i * value_step * size, from + at * step * size, size_t(size));
    }
    if (pace.stops(n * 8)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

// Of each line the element that is there most often, the least of those, and a place of it: the last in what std::sort, which is
// PyTorch's too, makes of its elements. NaN, which equals nothing, is above all numbers.
template <class T>
int most_frequent(const Lines& lines, int32_t dtype, int64_t first, int64_t last) {
  const int64_t n = lines.length, step = lines.self->strides[lines.dim], size = lines.self->itemsize;
  const CastFn cast = cast_fn(dtype, lines.self->dtype);
  std::unique_ptr<T[]> read(new (std::nothrow) T[size_t(n)]);
  std::unique_ptr<std::pair<T, int64_t>[]> items(new (std::nothrow) std::pair<T, int64_t>[size_t(n)]);
  if (!read || !items) return MT_ERROR_MEMORY;
  Pace pace;
  for (; first < last; ++first) {
    const char* from = static_cast<const char*>(lines.self->data) + lines.offset(lines.self, first) * size;
    cast(read.get(), 1, from, step, n);
    for (int64_t i = 0; i < n; ++i) items[size_t(i)] = {read[size_t(i)], i};
    std::sort(items.get(), items.get() + n, [](const auto& a, const auto& b) {
      return a.first < b.first || (b.first != b.first && a.first == a.first);
    });
    int64_t found = 0, most = 0, count = 0;
    for (int64_t i = 0; i < n; ++i) {
      ++count;
      if (i + 1 < n && items[size_t(i)].first == items[size_t(i + 1)].first) continue;
      if (count > most) {
        most = count;
        found = items[size_t(i)].second;
      }
      count = 0;
    }
    std::memcpy(static_cast<char*>(lines.values->data) + lines.offset(lines.values, first) * size, from + found * step * size, size_t(size));
    static_cast<int64_t*>(lines.places->data)[lines.offset(lines.places, first)] = found;
    if (pace.stops(n * 16)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

// ---------------------------------------------------------------- one place of the order
constexpr int64_t kMiddle = -1;         // the lower of the elements in the middle; NaN where there is one
constexpr int64_t kMiddleNumber = -2;   // of what is not NaN

// The place of the element of a rank, from 0 on, among n; of equal ones the first stands before the others.
template <class T, class K>
int64_t place_of(const T* read, Item<K>* items, int64_t n, int64_t rank) {
  int64_t missing = 0;
  for (int64_t i = 0; i < n; ++i) {
    items[i] = {key_of<K>(read[i]), K(i)};
    if constexpr (std::is_floating_point_v<T>) missing += read[i] != read[i];
  }
  if (rank == kMiddle) rank = missing > 0 ? n - missing : (n - 1) / 2;
  if (rank == kMiddleNumber) rank = std::max(n - missing - 1, int64_t(0)) / 2;
  std::nth_element(items, items + rank, items + n);
  return int64_t(items[rank].place);
}

// Of each line the element of a rank, and its place, which may be left out.
template <class T, class K>
int ranked(const Lines& lines, int32_t dtype, int64_t rank, int64_t first, int64_t last) {
  const int64_t n = lines.length, step = lines.self->strides[lines.dim], size = lines.self->itemsize;
  const CastFn cast = cast_fn(dtype, lines.self->dtype);
  std::unique_ptr<T[]> read(new (std::nothrow) T[size_t(n)]);
  std::unique_ptr<Item<K>[]> items(new (std::nothrow) Item<K>[size_t(n)]);
  if (!read || !items) return MT_ERROR_MEMORY;
  Pace pace;
  for (; first < last; ++first) {
    const char* from = static_cast<const char*>(lines.self->data) + lines.offset(lines.self, first) * size;
    cast(read.get(), 1, from, step, n);
    const int64_t at = place_of<T, K>(read.get(), items.get(), n, rank);
    std::memcpy(static_cast<char*>(lines.values->data) + first * size, from + at * step * size, size_t(size));
    if (lines.places != nullptr) static_cast<int64_t*>(lines.places->data)[first] = at;
    if (pace.stops(n * 8)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

int ranked(const Lines& lines, int64_t rank) {
  if (lines.length > kLongest) return MT_ERROR_MEMORY;
  const auto run = [&](int32_t dtype, auto like, auto key) {
    return parallel(numel(lines.values), rows_grain(lines.length, 16), [&](int64_t first, int64_t last) -> int {
      return ranked<decltype(like), decltype(key)>(lines, dtype, rank, first, last);
    });
  };
  const bool few = lines.length <= int64_t(UINT32_MAX);
  switch (lines.self->dtype) {
    case MT_F32:
    case MT_F16:
    case MT_BF16:
      return few ? run(MT_F32, float(), uint32_t()) : run(MT_F64, double(), uint64_t());
    case MT_F64:
      return run(MT_F64, double(), uint64_t());
    case MT_U64:
      return run(MT_U64, uint64_t(), uint64_t());
    default:
      return compute_dtype(lines.self->dtype) == MT_I64 ? run(MT_I64, int64_t(), uint64_t()) : int(MT_ERROR_DTYPE);
  }
}

}  // namespace
}  // namespace mt

// The most frequent element of each line of `self` along `dim`, and a place of it; both outputs have size 1 there.
MT_EXPORT int mt_mode(const mt_tensor* self, int64_t dim, const mt_tensor* values, const mt_tensor* places) {
  if (!mt::same_shape(values, places) || values->ndim != self->ndim || dim < 0 || dim >= self->ndim) return MT_ERROR_SHAPE;
  if (values->dtype != self->dtype || places->dtype != MT_I64) return MT_ERROR_DTYPE;
  for (int64_t d = 0; d < self->ndim; ++d)
    if (values->shape[d] != (d == dim ? 1 : self->shape[d])) return MT_ERROR_SHAPE;
  if (self->shape[dim] == 0) return MT_ERROR_SHAPE;
  if (self->shape[dim] > mt::kLongest) return MT_ERROR_MEMORY;
  const mt::Lines lines{self, values, places, dim, self->shape[dim], 1, false};
  const auto run = [&](int32_t dtype, auto like) {
    return mt::parallel(mt::numel(values), mt::rows_grain(lines.length, 32), [&](int64_t first, int64_t last) -> int {
      return mt::most_frequent<decltype(like)>(lines, dtype, first, last);
    });
  };
  switch (self->dtype) {
    case MT_F64:
      return run(MT_F64, double());
    case MT_U64:
      return run(MT_U64, uint64_t());
    default:
      if (!mt::is_floating(self->dtype) && mt::compute_dtype(self->dtype) < 0) return MT_ERROR_DTYPE;
      return mt::is_floating(self->dtype) ? run(MT_F32, float()) : run(MT_I64, int64_t());
  }
}

// The first elements of each line of `self` along `dim` in rising or falling order, as many as `values` has, and their places.
MT_EXPORT int mt_order(const mt_tensor* self, int64_t dim, int64_t descending, const mt_tensor* values, const mt_tensor* places) {
  if (!mt::same_shape(values, places) || values->ndim != self->ndim || dim < 0 || dim >= self->ndim) return MT_ERROR_SHAPE;
  if (values->dtype != self->dtype || places->dtype != MT_I64) return MT_ERROR_DTYPE;
  for (int64_t d = 0; d < self->ndim; ++d)
    if (d == dim ? values->shape[d] > self->shape[d] : values->shape[d] != self->shape[d]) return MT_ERROR_SHAPE;
  const mt::Lines lines{self, values, places, dim, self->shape[dim], values->shape[dim], descending != 0};
  if (mt::numel(values) == 0) return MT_OK;
  if (lines.length > mt::kLongest) return MT_ERROR_MEMORY;
  const auto run = [&](int32_t dtype, auto like, auto key) {
    using T = decltype(like);
    using K = decltype(key);
    return mt::parallel(mt::numel(values) / lines.count, mt::rows_grain(lines.length, 16), [&](int64_t first, int64_t last) -> int {
      return mt::order<T, K>(lines, dtype, first, last);
    });
  };
  const bool few = lines.length <= int64_t(UINT32_MAX);
  switch (self->dtype) {
    case MT_F32:
    case MT_F16:
    case MT_BF16:
      return few ? run(MT_F32, float(), uint32_t()) : int(MT_ERROR_SHAPE);
    case MT_F64:
      return run(MT_F64, double(), uint64_t());
    case MT_U64:
      return run(MT_U64, uint64_t(), uint64_t());
    case MT_I64:
    case MT_U32:
      return run(MT_I64, int64_t(), uint64_t());
    default:
      if (mt::compute_dtype(self->dtype) < 0) return MT_ERROR_DTYPE;
      return few ? run(MT_I32, int32_t(), uint32_t()) : int(MT_ERROR_SHAPE);
  }
}

// Of each line of `self` along `dim` the element of a rank, from 0 on, or kMiddle or kMiddleNumber, and its place. The outputs, in
// which the dimension may be left out, are contiguous.
MT_EXPORT int mt_ranked(const mt_tensor* self, int64_t dim, int64_t rank, const mt_tensor* values, const mt_tensor* places) {
  if (!mt::same_shape(values, places) || dim < 0 || dim >= self->ndim || self->shape[dim] == 0) return MT_ERROR_SHAPE;
  if (!mt::is_contiguous(values) || !mt::is_contiguous(places)) return MT_ERROR_SHAPE;
  if (mt::numel(values) * self->shape[dim] != mt::numel(self)) return MT_ERROR_SHAPE;
  if (values->dtype != self->dtype || places->dtype != MT_I64) return MT_ERROR_DTYPE;
  if (rank < mt::kMiddleNumber || rank >= self->shape[dim]) return MT_ERROR_INDEX;
  return mt::ranked({self, values, places, dim, self->shape[dim], 1, false}, rank);
}

// The same of all elements, which are contiguous.
MT_EXPORT int mt_ranked_of_all(const mt_tensor* self, int64_t rank, const mt_tensor* value) {
  const int64_t n = mt::numel(self), step = 1;
  if (!mt::is_contiguous(self) || mt::numel(value) != 1 || n == 0) return MT_ERROR_SHAPE;
  if (value->dtype != self->dtype) return MT_ERROR_DTYPE;
  if (rank < mt::kMiddleNumber || rank >= n) return MT_ERROR_INDEX;
  const mt_tensor flat{self->data, 1, &n, &step, self->dtype, self->itemsize};
  return mt::ranked({&flat, value, nullptr, 0, n, 1, false}, rank);
}
