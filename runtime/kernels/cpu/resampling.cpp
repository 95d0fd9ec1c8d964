// Sums of weighted elements along one dimension: what interpolation, means of windows and the gradients of these come to,
// one dimension after another.
#include <algorithm>
#include <initializer_list>

#include "tensor.h"

namespace mt {
namespace {

// For each place of the output, the elements from offsets[i] to offsets[i + 1] of `index`, and of `weight` if it is there.
struct Taps {
  const int64_t *offsets, *index;
  const double* weight;
};
struct Extents {
  int64_t outer, from, to, inner;
};

template <class T>
struct Resample {
  MT_INLINE static T weighted(const Taps& taps, int64_t k, T v) {
    return taps.weight == nullptr ? v : wrap_mul(T(taps.weight[k]), v);
  }
  MT_INLINE static int run(const Extents* e, const Taps* taps_, const void* input, void* output) {
    const T* in = static_cast<const T*>(input);
    T* out = static_cast<T*>(output);
    const Taps taps = *taps_;
    Pace pace;
    for (int64_t o = 0; o < e->outer; ++o, in += e->from * e->inner)
      for (int64_t i = 0; i < e->to; ++i, out += e->inner) {
        const int64_t first = taps.offsets[i], last = taps.offsets[i + 1];
        if (e->inner == 1) {
          T sum = first < last ? weighted(taps, first, in[taps.index[first]]) : T(0);
          for (int64_t k = first + 1; k < last; ++k) sum = wrap_add(sum, weighted(taps, k, in[taps.index[k]]));
          *out = sum;
        } else {
          if (first == last) std::fill_n(out, e->inner, T(0));
          for (int64_t k = first; k < last; ++k) {
            const T* row = in + taps.index[k] * e->inner;
            const T w = taps.weight == nullptr ? T(1) : T(taps.weight[k]);
            if (k == first && taps.weight == nullptr) {
              std::copy_n(row, e->inner, out);
            } else if (k == first) {
#pragma GCC ivdep
              for (int64_t j = 0; j < e->inner; ++j) out[j] = wrap_mul(w, row[j]);
            } else {
#pragma GCC ivdep
              for (int64_t j = 0; j < e->inner; ++j) out[j] = wrap_add(out[j], wrap_mul(w, row[j]));
            }
          }
        }
        if (pace.stops((last - first) * e->inner)) return MT_ERROR_INTERRUPTED;
      }
    return MT_OK;
  }
};

template <class T>
int resample(const Extents& e, const Taps& taps, const mt_tensor* input, const mt_tensor* out) {
  static const auto run = PerIsa<Resample<T>, const Extents*, const Taps*, const void*, void*>::pick();
  return run(&e, &taps, input->data, out->data);
}

}  // namespace
}  // namespace mt

// out[o, i, j] = sum of weight[k] * input[o, index[k], j] for k from offsets[i] to offsets[i + 1]; without weights
// (an empty tensor of them) the elements' sum. All contiguous; float32, float64 or, without weights, integers of 8 to 64
// bits, which wrap.
MT_EXPORT int mt_resample(const mt_tensor* input, const mt_tensor* out, const mt_tensor* offsets, const mt_tensor* index,
                          const mt_tensor* weight) {
  if (input->ndim != 3 || out->ndim != 3 || offsets->ndim != 1 || index->ndim != 1) return MT_ERROR_SHAPE;
  if (offsets->dtype != MT_I64 || index->dtype != MT_I64 || weight->dtype != MT_F64) return MT_ERROR_DTYPE;
  for (const mt_tensor* t : {input, out, offsets, index, weight})
    if (!mt::is_contiguous(t)) return MT_ERROR_SHAPE;
  const mt::Extents e{input->shape[0], input->shape[1], out->shape[1], input->shape[2]};
  if (out->shape[0] != e.outer || out->shape[2] != e.inner || offsets->shape[0] != e.to + 1) return MT_ERROR_SHAPE;
  const bool weighted = mt::numel(weight) != 0;
  if (weighted && weight->shape[0] != index->shape[0]) return MT_ERROR_SHAPE;
  if (out->dtype != input->dtype || (weighted && !mt::is_floating(input->dtype))) return MT_ERROR_DTYPE;
  if (mt::numel(out) == 0) return MT_OK;
  const mt::Taps taps{static_cast<const int64_t*>(offsets->data), static_cast<const int64_t*>(index->data),
                      weighted ? static_cast<const double*>(weight->data) : nullptr};
  for (int64_t i = 0; i < e.to; ++i)
    if (taps.offsets[i] < 0 || taps.offsets[i] > taps.offsets[i + 1] || taps.offsets[i + 1] > index->shape[0])
      return MT_ERROR_INDEX;
  for (int64_t k = 0; k < index->shape[0]; ++k)
    if (taps.index[k] < 0 || taps.index[k] >= e.from) return MT_ERROR_INDEX;
  switch (input->dtype) {
    case MT_F32:
      return mt::resample<float>(e, taps, input, out);
    case MT_F64:
      return mt::resample<double>(e, taps, input, out);
    case MT_I64:
      return mt::resample<int64_t>(e, taps, input, out);
    case MT_I32:
      return mt::resample<int32_t>(e, taps, input, out);
    case MT_I16:
      return mt::resample<int16_t>(e, taps, input, out);
    case MT_I8:
      return mt::resample<int8_t>(e, taps, input, out);
    case MT_U8:
      return mt::resample<uint8_t>(e, taps, input, out);
    default:
      return MT_ERROR_DTYPE;
  }
}
