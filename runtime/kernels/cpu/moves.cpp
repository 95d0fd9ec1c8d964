// Images whose elements are each one of another image, by an index for each dimension: padding by elements, and interpolation
// by the nearest one. And back: elements added up where they came from.
#include <algorithm>
#include <complex>
#include <initializer_list>

#include "tensor.h"
#include "threads.h"

namespace mt {
namespace {

constexpr int64_t kShortRun = 8;  // elements that are not worth a call that copies them

// The index along the rows of images: mostly a part of a row as it is, or every element twice.
struct AlongRows {
  const int64_t* index;
  int64_t count;
  int64_t first = 0, last = 0;  // the longest part in which indices go up by 1
  bool doubled;                 // whether the row is 0, 0, 1, 1, 2, 2, ...

  AlongRows(const int64_t* index_, int64_t count_) : index(index_), count(count_), doubled(count_ % 2 == 0) {
    for (int64_t x = 0, begin = 0; x < count; ++x) {
      if (x > 0 && index[x] != index[x - 1] + 1) begin = x;
      if (x + 1 - begin > last - first) {
        first = begin;
        last = x + 1;
      }
      doubled &= index[x] == x / 2;
    }
    if (last - first < kShortRun) first = last = 0;
  }

  template <class T>
  MT_INLINE void take(const T* from, T* to) const {
    if (doubled) {
#pragma GCC ivdep
      for (int64_t x = 0; x < count / 2; ++x) to[2 * x] = to[2 * x + 1] = from[x];
      return;
    }
    for (int64_t x = 0; x < first; ++x) to[x] = from[index[x]];
    if (first < last) std::memcpy(to + first, from + index[first], (last - first) * sizeof(T));
    for (int64_t x = last; x < count; ++x) to[x] = from[index[x]];
  }

  // In the order of the elements, as all are added.
  template <class T>
  MT_INLINE void add(const T* from, T* to) const {
    if (doubled) {
#pragma GCC ivdep
      for (int64_t x = 0; x < count / 2; ++x) to[x] = (to[x] + from[2 * x]) + from[2 * x + 1];
      return;
    }
    for (int64_t x = 0; x < first; ++x) to[index[x]] += from[x];
    if (first < last) {
      T* part = to + index[first];
#pragma GCC ivdep
      for (int64_t x = 0; x < last - first; ++x) part[x] += from[first + x];
    }
    for (int64_t x = last; x < count; ++x) to[index[x]] += from[x];
  }
};

// Of planes (count, D, H, W) the places that planes (count, d, h, w) have elements of.
struct Moves {
  int64_t size[3], places[3];
  const int64_t* index[3];

  int64_t rows() const { return places[0] * places[1]; }
  int64_t elements() const { return size[0] * size[1] * size[2]; }
  // Where the row is that a row of a plane's places has elements of.
  MT_INLINE int64_t row(int64_t at) const {
    return (index[0][at / places[1]] * size[1] + index[1][at % places[1]]) * size[2];
  }
};

template <class T>
int take(const Moves& m, int64_t planes, const void* input, void* output) {
  const AlongRows along(m.index[2], m.places[2]);
  return parallel(planes * m.rows(), rows_grain(along.count), [&](int64_t first, int64_t last) -> int {
    const T *before = nullptr, *in = static_cast<const T*>(input);
    T* to = static_cast<T*>(output) + first * along.count;
    Pace pace;
    for (int64_t at = first; at < last; ++at, to += along.count) {
      const T* from = in + at / m.rows() * m.elements() + m.row(at % m.rows());
      if (from == before) {
        std::memcpy(to, to - along.count, along.count * sizeof(T));
      } else {
        along.take(from, to);
      }
      before = from;
      if (pace.stops(along.count)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

template <class T>
struct AddBack {
  // The planes from `first` to `last`.
  MT_INLINE static int run(const Moves* m, const AlongRows* along, int64_t first, int64_t last, const void* grad, void* output) {
    const T* from = static_cast<const T*>(grad) + first * m->rows() * along->count;
    T* to = static_cast<T*>(output) + first * m->elements();
    Pace pace;
    for (; first < last; ++first, to += m->elements()) {
      std::fill_n(to, m->elements(), T(0));
      for (int64_t at = 0; at < m->rows(); ++at, from += along->count) {
        along->add(from, to + m->row(at));
        if (pace.stops(along->count)) return MT_ERROR_INTERRUPTED;
      }
      if (pace.stops(m->elements())) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
};

template <class T>
int add_back(const Moves& m, int64_t planes, const void* grad, void* output) {
  static const auto run = PerIsa<AddBack<T>, const Moves*, const AlongRows*, int64_t, int64_t, const void*, void*>::pick();
  const AlongRows along(m.index[2], m.places[2]);
  const int64_t cost = m.rows() * along.count + m.elements();
  return parallel(planes, rows_grain(cost), [&](int64_t first, int64_t last) -> int {
    return run(&m, &along, first, last, grad, output);
  });
}

int describe(Moves& m, const mt_tensor* whole, const mt_tensor* made, std::initializer_list<const mt_tensor*> indices) {
  if (whole->ndim != 4 || made->ndim != 4 || whole->shape[0] != made->shape[0]) return MT_ERROR_SHAPE;
  if (whole->dtype != made->dtype) return MT_ERROR_DTYPE;
  if (!is_contiguous(whole) || !is_contiguous(made)) return MT_ERROR_SHAPE;
  int d = 0;
  for (const mt_tensor* index : indices) {
    m.size[d] = whole->shape[d + 1];
    m.places[d] = made->shape[d + 1];
    if (index->dtype != MT_I64) return MT_ERROR_DTYPE;
    if (index->ndim != 1 || index->shape[0] != m.places[d] || !is_contiguous(index)) return MT_ERROR_SHAPE;
    m.index[d] = static_cast<const int64_t*>(index->data);
    for (int64_t i = 0; i < m.places[d]; ++i)
      if (m.index[d][i] < 0 || m.index[d][i] >= m.size[d]) return MT_ERROR_INDEX;
    ++d;
  }
  return MT_OK;
}

}  // namespace
}  // namespace mt

// out[p, z, y, x] = input[p, index0[z], index1[y], index2[x]]; all contiguous, of any dtype.
MT_EXPORT int mt_take_planes(const mt_tensor* input, const mt_tensor* out, const mt_tensor* index0, const mt_tensor* index1,
                             const mt_tensor* index2) {
  mt::Moves m;
  if (int status = mt::describe(m, input, out, {index0, index1, index2})) return status;
  if (mt::numel(out) == 0) return MT_OK;
  return mt::by_size(input->itemsize, [&](auto like) {
    return mt::take<decltype(like)>(m, input->shape[0], input->data, out->data);
  });
}

// out[p, index0[z], index1[y], index2[x]] += grad[p, z, y, x], from 0 on; all contiguous, of float32, float64 or complex numbers of
// these.
MT_EXPORT int mt_add_planes(const mt_tensor* grad, const mt_tensor* out, const mt_tensor* index0, const mt_tensor* index1,
                            const mt_tensor* index2) {
  mt::Moves m;
  if (int status = mt::describe(m, out, grad, {index0, index1, index2})) return status;
  if (mt::numel(out) == 0) return MT_OK;
  const auto run = [&](auto like) {
    return mt::add_back<decltype(like)>(m, grad->shape[0], grad->data, out->data);
  };
  switch (grad->dtype) {
    case MT_F32:
      return run(float());
    case MT_F64:
      return run(double());
    case MT_C64:
      return run(std::complex<float>());
    case MT_C128:
      return run(std::complex<double>());
    default:
      return MT_ERROR_DTYPE;
  }
}
