// The largest element of each window of an image, and where it is.
#include <initializer_list>

#include "half.h"
#include "threads.h"

namespace mt {
namespace {

constexpr int64_t kWindowWeight = 16;  // what a window costs, beside an element of a sum
constexpr int64_t kWeightAt = 8;       // and what an element costs that is added where an index says

struct Windows {
  const int64_t* ends[3];  // for each place of the output along a dimension, where its window begins and ends
  int64_t step[3];         // between elements of a window
  int64_t size[3], out[3];
};

template <class T>
struct MaxPool {
  // Rows of the output from `first` to `last`, of all planes.
  MT_INLINE static int run(const Windows* w, int64_t first, int64_t last, const void* input, void* output, int64_t* indices) {
    T* out = static_cast<T*>(output) + first * w->out[2];
    indices += first * w->out[2];
    Pace pace;
    for (; first < last; ++first) {
      const int64_t oy = first % w->out[1], oz = first / w->out[1] % w->out[0], plane = first / w->out[1] / w->out[0];
      const T* in = static_cast<const T*>(input) + plane * w->size[0] * w->size[1] * w->size[2];
      const int64_t *ez = w->ends[0] + 2 * oz, *ey = w->ends[1] + 2 * oy;
      for (int64_t ox = 0; ox < w->out[2]; ++ox) {
        const int64_t* ex = w->ends[2] + 2 * ox;
        int64_t best = (ez[0] * w->size[1] + ey[0]) * w->size[2] + ex[0];
        auto value = widened(in[best]);
        for (int64_t z = ez[0]; z < ez[1]; z += w->step[0])
          for (int64_t y = ey[0]; y < ey[1]; y += w->step[1]) {
            const int64_t row = (z * w->size[1] + y) * w->size[2];
            for (int64_t x = ex[0]; x < ex[1]; x += w->step[2]) {
              const auto v = widened(in[row + x]);
              if (v > value || v != v) {
                value = v;
                best = row + x;
              }
            }
          }
        *out++ = in[best];
        *indices++ = best;
        if (pace.stops((ez[1] - ez[0]) * (ey[1] - ey[0]) * (ex[1] - ex[0]))) return MT_ERROR_INTERRUPTED;
      }
    }
    return MT_OK;
  }
  template <class V>
  MT_INLINE static V widened(V v) { return v; }
  MT_INLINE static float widened(BFloat16 v) { return to_float(v); }
  MT_INLINE static float widened(Float16 v) { return float(v); }
};

// The part of each plane that one thread computes is rows of the output.
template <class T>
int max_pool(const Windows& w, const mt_tensor* input, const mt_tensor* out, const mt_tensor* indices) {
  static const auto run = PerIsa<MaxPool<T>, const Windows*, int64_t, int64_t, const void*, void*, int64_t*>::pick();
  if (numel(out) == 0) return MT_OK;
  const int64_t rows = numel(out) / w.out[2];
  return parallel(rows, rows_grain(w.out[2], kWindowWeight), [&](int64_t first, int64_t last) -> int {
    return run(&w, first, last, input->data, out->data, static_cast<int64_t*>(indices->data));
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
// `indices` (planes, d, h, w). Ends of windows are (d, 2), (h, 2), (w, 2), of int64; no window is empty. All contiguous.
MT_EXPORT int mt_max_pool(const mt_tensor* input, const mt_tensor* out, const mt_tensor* indices, const mt_tensor* ends0,
                          const mt_tensor* ends1, const mt_tensor* ends2, int64_t step0, int64_t step1, int64_t step2) {
  if (input->ndim != 4 || !mt::same_shape(out, indices) || out->ndim != 4) return MT_ERROR_SHAPE;
  if (out->shape[0] != input->shape[0]) return MT_ERROR_SHAPE;
  if (out->dtype != input->dtype || indices->dtype != MT_I64) return MT_ERROR_DTYPE;
  const mt_tensor* ends[] = {ends0, ends1, ends2};
  for (const mt_tensor* t : {input, out, indices, ends0, ends1, ends2})
    if (!mt::is_contiguous(t)) return MT_ERROR_SHAPE;
  mt::Windows w{{}, {step0, step1, step2}, {}, {}};
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
