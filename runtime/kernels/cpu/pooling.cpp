// The largest element of each window of an image, and where it is; the means of windows.
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
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

int max_pool_of(Windows& w, const mt_tensor* input, const mt_tensor* out, int64_t* indices) {
  w.find_alike();
  switch (input->dtype) {
    case MT_F32:
      return max_pool<float>(w, input, out, indices);
    case MT_F64:
      return max_pool<double>(w, input, out, indices);
    case MT_F16:
      return max_pool<Float16>(w, input, out, indices);
    case MT_BF16:
      return max_pool<BFloat16>(w, input, out, indices);
    case MT_I64:
      return max_pool<int64_t>(w, input, out, indices);
    case MT_I32:
      return max_pool<int32_t>(w, input, out, indices);
    case MT_I16:
      return max_pool<int16_t>(w, input, out, indices);
    case MT_I8:
      return max_pool<int8_t>(w, input, out, indices);
    case MT_U8:
      return max_pool<uint8_t>(w, input, out, indices);
    default:
      return MT_ERROR_DTYPE;
  }
}

// Windows along a dimension of a plane.
struct Span {
  int64_t size, places, kernel, stride, padding, dilation;

  bool valid() const { return places > 0 && kernel > 0 && stride > 0 && dilation > 0 && padding >= 0; }
  int64_t start(int64_t at) const { return at * stride - padding; }
  // Where each begins and ends within the plane; whether none is empty.
  bool find_ends(int64_t* ends) const {
    for (int64_t at = 0; at < places; ++at) {
      const int64_t first = start(at);
      ends[2 * at] = first >= 0 ? first : first + (dilation - 1 - first) / dilation * dilation;
      ends[2 * at + 1] = std::min(first + (kernel - 1) * dilation + 1, size);
      if (ends[2 * at] >= ends[2 * at + 1]) return false;
    }
    return true;
  }
};

// Of planes `out` is as `input`, but for the last two dimensions.
bool has_planes(const mt_tensor* input, const mt_tensor* out) {
  if (input->ndim < 2 || out->ndim != input->ndim || !is_contiguous(input) || !is_contiguous(out)) return false;
  for (int64_t d = 0; d < input->ndim - 2; ++d)
    if (input->shape[d] != out->shape[d]) return false;
  return numel(out) > 0;
}

template <class T>
int mean_pool(const Span& high, const Span& wide, const mt_tensor* input, const mt_tensor* out, bool padded, int64_t divisor) {
  const int64_t rows = numel(out) / wide.places;
  return parallel(rows, rows_grain(wide.places, high.kernel * wide.kernel), [&](int64_t first, int64_t last) -> int {
    Pace pace;
    for (; first < last; ++first) {
      const T* plane = static_cast<const T*>(input->data) + first / high.places * high.size * wide.size;
      T* to = static_cast<T*>(out->data) + first * wide.places;
      const int64_t top = high.start(first % high.places), below = std::min(top + high.kernel, high.size + high.padding);
      const int64_t y0 = std::max(top, int64_t(0)), y1 = std::min(below, high.size);
      for (int64_t at = 0; at < wide.places; ++at) {
        const int64_t left = wide.start(at), behind = std::min(left + wide.kernel, wide.size + wide.padding);
        const int64_t x0 = std::max(left, int64_t(0)), x1 = std::min(behind, wide.size);
        const int64_t count = divisor != 0 ? divisor : padded ? (below - top) * (behind - left) : (y1 - y0) * (x1 - x0);
        T sum(0);
        for (int64_t y = y0; y < y1; ++y)
          for (int64_t x = x0; x < x1; ++x) sum += plane[y * wide.size + x];
        to[at] = y0 < y1 && x0 < x1 ? sum / T(count) : T(0);
      }
      if (pace.stops(wide.places * high.kernel * wide.kernel)) return MT_ERROR_INTERRUPTED;
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
  return mt::max_pool_of(w, input, out, indices);
}

// The same of the last two dimensions of images, of windows told by their numbers. The image and the outputs are contiguous.
MT_EXPORT int mt_max_pool2d(const mt_tensor* input, const mt_tensor* out, int64_t* indices, int64_t kernel0, int64_t kernel1, int64_t stride0,
                            int64_t stride1, int64_t padding0, int64_t padding1, int64_t dilation0, int64_t dilation1) {
  if (!mt::has_planes(input, out)) return MT_ERROR_SHAPE;
  if (out->dtype != input->dtype) return MT_ERROR_DTYPE;
  const int64_t *size = input->shape + input->ndim - 2, *places = out->shape + out->ndim - 2;
  const mt::Span high{size[0], places[0], kernel0, stride0, padding0, dilation0}, wide{size[1], places[1], kernel1, stride1, padding1, dilation1};
  if (!high.valid() || !wide.valid()) return MT_ERROR_SHAPE;
  const std::unique_ptr<int64_t[]> ends(new (std::nothrow) int64_t[size_t(2 * (1 + places[0] + places[1]))]);
  if (!ends) return MT_ERROR_MEMORY;
  ends[0] = 0;
  ends[1] = 1;
  int64_t *rows = ends.get() + 2, *columns = rows + 2 * places[0];
  if (!high.find_ends(rows) || !wide.find_ends(columns)) return MT_ERROR_INDEX;
  mt::Windows w{{ends.get(), rows, columns}, {1, dilation0, dilation1}, {1, size[0], size[1]}, {1, places[0], places[1]}, 0, 0, 1};
  return mt::max_pool_of(w, input, out, indices);
}

// The means of those windows, without gaps, of float32 or float64: the sums by how many elements a window has, with those of the padding
// if `padded`, or by `divisor`, where that is not 0.
MT_EXPORT int mt_avg_pool2d(const mt_tensor* input, const mt_tensor* out, int64_t kernel0, int64_t kernel1, int64_t stride0, int64_t stride1,
                            int64_t padding0, int64_t padding1, int64_t padded, int64_t divisor) {
  if (!mt::has_planes(input, out)) return MT_ERROR_SHAPE;
  if (out->dtype != input->dtype) return MT_ERROR_DTYPE;
  const int64_t *size = input->shape + input->ndim - 2, *places = out->shape + out->ndim - 2;
  const mt::Span high{size[0], places[0], kernel0, stride0, padding0, 1}, wide{size[1], places[1], kernel1, stride1, padding1, 1};
  if (!high.valid() || !wide.valid()) return MT_ERROR_SHAPE;
  if (input->dtype == MT_F32) return mt::mean_pool<float>(high, wide, input, out, padded != 0, divisor);
  return input->dtype == MT_F64 ? mt::mean_pool<double>(high, wide, input, out, padded != 0, divisor) : int(MT_ERROR_DTYPE);
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
