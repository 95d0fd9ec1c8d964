// The largest element of each window of an image, and where it is.
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "half.h"
#include "threads.h"

namespace mt {
namespace {

constexpr int64_t kWindowWeight = 16;  // what a window costs, beside an element of a sum
constexpr int64_t kWeightAt = 8;       // and what an element costs that is added where an index says
constexpr int64_t kPlaces = 64;        // whose windows are looked at side by side

struct Windows {
  const int64_t* ends[3];  // for each place of the output along a dimension, where its window begins and ends
  int64_t step[3];         // between elements of a window
  int64_t size[3], out[3];
  int64_t first, last, stride;  // of the last dimension the places whose windows are alike, and how far these are apart

  // Finds them: the whole inside of an image, where an index in a plane is one of 32 bits.
  void find_alike() {
    const auto length = [this](int64_t at) { return ends[2][2 * at + 1] - ends[2][2 * at]; };
    first = last = 0;
    stride = 1;
    if (size[0] * size[1] * size[2] > std::numeric_limits<int32_t>::max()) return;
    const int64_t middle = out[2] / 2;
    first = middle;
    last = std::min(middle + 1, out[2]);
    if (last < out[2]) stride = ends[2][2 * last] - ends[2][2 * middle];
    if (stride < 1) return;
    const auto alike = [&](int64_t at) {
      return length(at) == length(middle) && ends[2][2 * at] - ends[2][2 * middle] == (at - middle) * stride;
    };
    while (first > 0 && alike(first - 1)) --first;
    while (last < out[2] && alike(last)) ++last;
  }
};

template <class T>
struct MaxPool {
  template <class V>
  MT_INLINE static V widened(V v) { return v; }
  MT_INLINE static float widened(BFloat16 v) { return to_float(v); }
  MT_INLINE static float widened(Float16 v) { return float(v); }
  using Value = decltype(widened(T()));

  MT_INLINE static int64_t* from_place(int64_t* indices, int64_t at) { return indices == nullptr ? nullptr : indices + at; }

  // A row of the output, in a plane of the input: its windows' extents along the dimensions before the last.
  struct Row {
    const T* in;
    const int64_t *ez, *ey;
  };

  MT_INLINE static void place(const Windows* w, const Row& row, int64_t ox, T* out, int64_t* index) {
    const int64_t* ex = w->ends[2] + 2 * ox;
    int64_t best = (row.ez[0] * w->size[1] + row.ey[0]) * w->size[2] + ex[0];
    Value value = widened(row.in[best]);
    for (int64_t z = row.ez[0]; z < row.ez[1]; z += w->step[0])
      for (int64_t y = row.ey[0]; y < row.ey[1]; y += w->step[1]) {
        const int64_t line = (z * w->size[1] + y) * w->size[2];
        for (int64_t x = ex[0]; x < ex[1]; x += w->step[2]) {
          const Value v = widened(row.in[line + x]);
          if (v > value || v != v) {
            value = v;
            best = line + x;
          }
        }
      }
    *out = row.in[best];
    if (index != nullptr) *index = best;
  }

  // Places whose windows are alike, kPlaces or `few`, an element of each window after the other.
  template <int Stride, bool Full>
  MT_INLINE static void places(const Windows* w, const Row& row, int64_t ox, int64_t few, T* out, int64_t* indices) {
    const int64_t stride = Stride > 0 ? Stride : w->stride, count = Full ? kPlaces : few;
    const int64_t* ex = w->ends[2] + 2 * ox;
    Value value[kPlaces];
    int32_t at[kPlaces];
    bool begun = false;
    for (int64_t z = row.ez[0]; z < row.ez[1]; z += w->step[0])
      for (int64_t y = row.ey[0]; y < row.ey[1]; y += w->step[1]) {
        const int64_t line = (z * w->size[1] + y) * w->size[2];
        for (int64_t x = ex[0]; x < ex[1]; x += w->step[2]) {
          const T* in = row.in + line + x;
          const int32_t from = int32_t(line + x), apart = int32_t(stride);
          if (!begun) {
            for (int32_t i = 0; i < count; ++i) value[i] = widened(in[i * stride]);
            for (int32_t i = 0; i < count; ++i) at[i] = from + i * apart;
            begun = true;
            continue;
          }
          for (int32_t i = 0; i < count; ++i) {
            const Value v = widened(in[i * stride]);
            const bool better = (v > value[i]) | (v != v);
            value[i] = better ? v : value[i];
            at[i] = better ? from + i * apart : at[i];
          }
        }
      }
    if (indices != nullptr)
      for (int64_t i = 0; i < count; ++i) indices[i] = at[i];
    if constexpr (std::is_same_v<T, Value>) {
      for (int64_t i = 0; i < count; ++i) out[i] = value[i];
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = row.in[at[i]];
    }
  }

  // What is left of a row is done with places before it, which come out as they are, where there are as many.
  template <int Stride>
  MT_INLINE static void places(const Windows* w, const Row& row, int64_t ox, int64_t count, T* out, int64_t* indices) {
    const int64_t from = ox + count - kPlaces;
    if (from >= w->first) {
      places<Stride, true>(w, row, from, count, out + from, from_place(indices, from));
    } else {
      places<Stride, false>(w, row, ox, count, out + ox, from_place(indices, ox));
    }
  }

  // Rows of the output from `first` to `last`, of all planes.
  MT_INLINE static int run(const Windows* w, int64_t first, int64_t last, const void* input, void* output, int64_t* indices) {
    T* out = static_cast<T*>(output) + first * w->out[2];
    indices = from_place(indices, first * w->out[2]);
    Pace pace;
    for (; first < last; ++first, out += w->out[2], indices = from_place(indices, w->out[2])) {
      const int64_t oy = first % w->out[1], oz = first / w->out[1] % w->out[0], plane = first / w->out[1] / w->out[0];
      const Row row{static_cast<const T*>(input) + plane * w->size[0] * w->size[1] * w->size[2], w->ends[0] + 2 * oz, w->ends[1] + 2 * oy};
      const int64_t lines = (row.ez[1] - row.ez[0]) * (row.ey[1] - row.ey[0]);
      for (int64_t ox = 0, count; ox < w->out[2]; ox += count) {
        const bool alike = ox >= w->first && ox < w->last;
        count = alike ? std::min(kPlaces, w->last - ox) : 1;
        if (!alike) {
          place(w, row, ox, out + ox, from_place(indices, ox));
        } else if (w->stride == 1) {
          places<1>(w, row, ox, count, out, indices);
        } else if (w->stride == 2) {
          places<2>(w, row, ox, count, out, indices);
        } else {
          places<0>(w, row, ox, count, out, indices);
        }
        const int64_t* ex = w->ends[2] + 2 * ox;
        if (pace.stops(lines * (ex[1] - ex[0]) * count)) return MT_ERROR_INTERRUPTED;
      }
    }
    return MT_OK;
  }
};

// The part of each plane that one thread computes is rows of the output.
template <class T>
int max_pool(const Windows& w, const mt_tensor* input, const mt_tensor* out, int64_t* indices) {
  static const auto run = PerIsa<MaxPool<T>, const Windows*, int64_t, int64_t, const void*, void*, int64_t*>::pick();
  if (numel(out) == 0) return MT_OK;
  const int64_t rows = numel(out) / w.out[2];
  return parallel(rows, rows_grain(w.out[2], kWindowWeight), [&](int64_t first, int64_t last) -> int {
    return run(&w, first, last, input->data, out->data, indices);
  });
}

template <class T>
int add_at(const mt_tensor* grad, const mt_tensor* indices, const mt_tensor* out) {
  const int64_t count = grad->shape[1], size = out->shape[1];
  return parallel(grad->shape[0], rows_grain(count, kWeightAt), [&](int64_t first, int64_t last) -> int {
    Pace pace;
    for (int64_t p = first; p < last; ++p) {
      const T* from = static_cast<const T*>(grad->data) + p * count;
      const int64_t* index = static_cast<const int64_t*>(indices->data) + p * count;
      T* to = static_cast<T*>(out->data) + p * size;
      for (int64_t i = 0; i < count; ++i) {
        if (index[i] < 0 || index[i] >= size) return MT_ERROR_INDEX;
        to[index[i]] = wrap_add(to[index[i]], from[i]);
        if (pace.stops(1)) return MT_ERROR_INTERRUPTED;
      }
    }
    return MT_OK;
  });
}

}  // namespace
}  // namespace mt

// Of `input` (planes, D, H, W) the largest elements, or a NaN, of windows, and their places in a plane, to `out` and
// `indices`, of int64, (planes, d, h, w); these may be null. Ends of windows are (d, 2), (h, 2), (w, 2), of int64; no window is empty. All contiguous.
MT_EXPORT int mt_max_pool(const mt_tensor* input, const mt_tensor* out, int64_t* indices, const mt_tensor* ends0,
                          const mt_tensor* ends1, const mt_tensor* ends2, int64_t step0, int64_t step1, int64_t step2) {
  if (input->ndim != 4 || out->ndim != 4 || out->shape[0] != input->shape[0]) return MT_ERROR_SHAPE;
  if (out->dtype != input->dtype) return MT_ERROR_DTYPE;
  const mt_tensor* ends[] = {ends0, ends1, ends2};
  for (const mt_tensor* t : {input, out, ends0, ends1, ends2})
    if (!mt::is_contiguous(t)) return MT_ERROR_SHAPE;
  mt::Windows w{{}, {step0, step1, step2}, {}, {}, 0, 0, 1};
  for (int d = 0; d < 3; ++d) {
    w.size[d] = input->shape[d + 1];
    w.out[d] = out->shape[d + 1];
    if (ends[d]->dtype != MT_I64) return MT_ERROR_DTYPE;
    if (ends[d]->ndim != 2 || ends[d]->shape[0] != w.out[d] || ends[d]->shape[1] != 2 || w.step[d] < 1) return MT_ERROR_SHAPE;
    w.ends[d] = static_cast<const int64_t*>(ends[d]->data);
    for (int64_t i = 0; i < w.out[d]; ++i)
      if (w.ends[d][2 * i] < 0 || w.ends[d][2 * i] >= w.ends[d][2 * i + 1] || w.ends[d][2 * i + 1] > w.size[d])
        return MT_ERROR_INDEX;
  }
  w.find_alike();
  switch (input->dtype) {
    case MT_F32:
      return mt::max_pool<float>(w, input, out, indices);
    case MT_F64:
      return mt::max_pool<double>(w, input, out, indices);
    case MT_F16:
      return mt::max_pool<mt::Float16>(w, input, out, indices);
    case MT_BF16:
      return mt::max_pool<mt::BFloat16>(w, input, out, indices);
    case MT_I64:
      return mt::max_pool<int64_t>(w, input, out, indices);
    case MT_I32:
      return mt::max_pool<int32_t>(w, input, out, indices);
    case MT_I16:
      return mt::max_pool<int16_t>(w, input, out, indices);
    case MT_I8:
      return mt::max_pool<int8_t>(w, input, out, indices);
    case MT_U8:
      return mt::max_pool<uint8_t>(w, input, out, indices);
    default:
      return MT_ERROR_DTYPE;
  }
}

// out[p, indices[p, i]] += grad[p, i]; all are matrices, contiguous, of float32, float64 or int64.
MT_EXPORT int mt_add_at(const mt_tensor* grad, const mt_tensor* indices, const mt_tensor* out) {
  if (grad->ndim != 2 || !mt::same_shape(grad, indices) || out->ndim != 2) return MT_ERROR_SHAPE;
  if (out->shape[0] != grad->shape[0]) return MT_ERROR_SHAPE;
  if (grad->dtype != out->dtype || indices->dtype != MT_I64) return MT_ERROR_DTYPE;
  for (const mt_tensor* t : {grad, indices, out})
    if (!mt::is_contiguous(t)) return MT_ERROR_SHAPE;
  switch (out->dtype) {
    case MT_F32:
      return mt::add_at<float>(grad, indices, out);
    case MT_F64:
      return mt::add_at<double>(grad, indices, out);
    case MT_I64:
      return mt::add_at<int64_t>(grad, indices, out);
    default:
      return MT_ERROR_DTYPE;
  }
}
