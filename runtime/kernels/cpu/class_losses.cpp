// The scores of places at their targets, and the gradient of that.
#include <algorithm>
#include <vector>

#include "elementwise.h"
#include "half.h"
#include "indices.h"
#include "threads.h"

MT_EXPORT int mt_fill(const mt_tensor* out, double value);

namespace mt {
namespace {

enum Reduction : int64_t { kNone, kMean, kSum };

constexpr int64_t kPiece = 1 << 14;  // places that are summed up together, so that the sum does not depend on the threads

MT_INLINE double number(float v) { return double(v); }
MT_INLINE double number(double v) { return v; }
MT_INLINE double number(Float16 v) { return double(float(v)); }
MT_INLINE double number(BFloat16 v) { return double(to_float(v)); }

template <class T>
MT_INLINE void write(T* to, double v) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    *to = to_bfloat16(float(v));
  } else if constexpr (std::is_same_v<T, Float16>) {
    *to = Float16(float(v));
  } else {
    *to = T(v);
  }
}

// What the reduced loss, the weights' sum and the gradient of a reduced loss are kept in.
double read_number(const mt_tensor* t) {
  double value;
  cast_fn(MT_F64, t->dtype)(&value, 1, t->data, 1, 1);
  return value;
}
void write_number(const mt_tensor* t, double value) { cast_fn(t->dtype, MT_F64)(t->data, 1, &value, 1, 1); }

// Places (N, ...), each with a label and the scores (N, classes, ...) of all classes.
struct Places {
  Walk<3> walk;            // of scores without their classes, labels, and numbers of the places
  int64_t classes, apart;  // how many there are, and how far the scores of two lie apart
  int64_t ignored;
  std::vector<double> weights;  // of the classes; none: 1 for each

  // `each` has a number a place where there is one, else it is not read.
  int init(const mt_tensor* scores, const mt_tensor* target, const Indices& labels, const mt_tensor* weight, const mt_tensor* each) {
    if (scores->ndim < 2 || scores->ndim > kMaxDims || target->ndim != scores->ndim - 1) return MT_ERROR_SHAPE;
    if (!is_floating(scores->dtype)) return MT_ERROR_DTYPE;
    if (labels.status) return labels.status;
    int64_t strides[2][kMaxDims];
    int64_t step = 1;
    for (int64_t d = target->ndim - 1; d >= 0; --d) {
      const int64_t of_scores = d == 0 ? 0 : d + 1;
      if (target->shape[d] != scores->shape[of_scores]) return MT_ERROR_SHAPE;
      strides[0][d] = scores->strides[of_scores];
      strides[1][d] = step;
      step *= target->shape[d];
    }
    classes = scores->shape[1];
    apart = scores->strides[1];
    if (weight != nullptr) {
      if (numel(weight) != classes || (weight->ndim != 1 && !is_contiguous(weight))) return MT_ERROR_SHAPE;
      weights.resize(size_t(classes));
      cast_fn(MT_F64, weight->dtype)(weights.data(), 1, weight->data, weight->ndim == 1 ? weight->strides[0] : 1, classes);
    }
    for (int64_t i = 0; i < labels.count; ++i)
      if (labels.at[i] != ignored && (labels.at[i] < 0 || labels.at[i] >= classes)) return MT_ERROR_TARGET;
    const mt_tensor places = {scores->data, target->ndim, target->shape, strides[0], scores->dtype, scores->itemsize};
    const mt_tensor wide = {const_cast<int64_t*>(labels.at), target->ndim, target->shape, strides[1], MT_I64, 8};
    const mt_tensor* operands[] = {&places, &wide, each == nullptr ? &wide : each};
    if (each != nullptr && !same_shape(each, target)) return MT_ERROR_SHAPE;
    if (each != nullptr && each->dtype != scores->dtype) return MT_ERROR_DTYPE;
    if (int status = walk.init(operands)) return status;
    if (walk.ndim > 0) return MT_OK;
    walk.ndim = 1;
    walk.shape[0] = 1;
    for (int k = 0; k < 3; ++k) walk.strides[k][0] = 1;
    return MT_OK;
  }

  double weight_of(int64_t label) const { return label == ignored ? 0 : weights.empty() ? 1 : weights[size_t(label)]; }

  // Calls f(score, label, number) for the places from `first` to `last`.
  template <class T, class F>
  void each(int64_t first, int64_t last, F&& f) const {
    const int inner = walk.ndim - 1;
    const int64_t* step[] = {walk.strides[0], walk.strides[1], walk.strides[2]};
    Cursor cursor;
    cursor.advance(walk, first);
    for (int64_t count; first < last; first += count, cursor.advance(walk, count)) {
      count = std::min(last - first, walk.shape[inner] - cursor.index[inner]);
      T* scores = reinterpret_cast<T*>(cursor.address(walk, 0));
      const int64_t* labels = reinterpret_cast<const int64_t*>(cursor.address(walk, 1));
      T* numbers = reinterpret_cast<T*>(cursor.address(walk, 2));
      for (int64_t i = 0; i < count; ++i)
        f(scores + i * step[0][inner], labels[i * step[1][inner]], numbers + i * step[2][inner]);
    }
  }

  // Calls f for pieces of them by their number, first and last place.
  template <class F>
  int pieces(F&& f) const {
    return parallel((walk.numel + kPiece - 1) / kPiece, 1, [&](int64_t from, int64_t to) -> int {
      Pace pace;
      for (; from < to; ++from) {
        f(from, from * kPiece, std::min(walk.numel, (from + 1) * kPiece));
        if (pace.stops(kPiece)) return MT_ERROR_INTERRUPTED;
      }
      return MT_OK;
    });
  }
};

template <class T>
int losses(const Places& places, const mt_tensor* out, const mt_tensor* total_weight, int64_t reduction) {
  struct Sums {
    double loss = 0, weight = 0;
  };
  std::vector<Sums> found(size_t((places.walk.numel + kPiece - 1) / kPiece));
  const int status = places.pieces([&](int64_t piece, int64_t first, int64_t last) {
    Sums sums;
    places.each<T>(first, last, [&](const T* score, int64_t label, T* loss) {
      const double factor = places.weight_of(label);
      const double value = factor == 0 ? 0 : -factor * number(score[label * places.apart]);
      if (reduction == kNone) write(loss, value);
      sums.loss += value;
      sums.weight += factor;
    });
    found[size_t(piece)] = sums;
  });
  if (status) return status;
  Sums all;
  for (const Sums& sums : found) {
    all.loss += sums.loss;
    all.weight += sums.weight;
  }
  if (reduction != kNone) write_number(out, reduction == kMean ? all.loss / all.weight : all.loss);
  write_number(total_weight, reduction == kNone ? 0 : all.weight);
  return MT_OK;
}

template <class T>
int slopes(const Places& places, double slope, int64_t reduction) {
  return places.pieces([&](int64_t, int64_t first, int64_t last) {
    places.each<T>(first, last, [&](T* score, int64_t label, const T* grad) {
      if (label == places.ignored) return;
      write(score + label * places.apart, -places.weight_of(label) * (reduction == kNone ? number(*grad) : slope));
    });
  });
}

// Calls f with a value of a floating-point type.
template <class F>
int of_dtype(int32_t dtype, F&& f) {
  switch (dtype) {
    case MT_F16:
      return f(Float16());
    case MT_BF16:
      return f(BFloat16());
    case MT_F32:
      return f(float());
    default:
      return f(double());
  }
}

}  // namespace
}  // namespace mt

// Minus the score (N, classes, ...) of each place at its target (N, ...), times its class's weight: of each place (reduction 0), their
// sum over that of the weights (1), or their sum (2); and the sum of the weights. `weight` is read where has_weight.
MT_EXPORT int mt_nll_loss(const mt_tensor* self, const mt_tensor* target, const mt_tensor* weight, const mt_tensor* out,
                          const mt_tensor* total_weight, int64_t has_weight, int64_t reduction, int64_t ignored) {
  const mt::Indices labels(target);
  mt::Places places;
  places.ignored = ignored;
  const mt_tensor* each = reduction == mt::kNone ? out : nullptr;
  if (int status = places.init(self, target, labels, has_weight ? weight : nullptr, each)) return status;
  return mt::of_dtype(self->dtype, [&](auto zero) { return mt::losses<decltype(zero)>(places, out, total_weight, reduction); });
}

// The gradient of the scores: minus the weight of each place's target, there, times `grad`, which is one number or one a place.
MT_EXPORT int mt_nll_loss_backward(const mt_tensor* grad, const mt_tensor* target, const mt_tensor* weight, const mt_tensor* total_weight,
                                   const mt_tensor* out, int64_t has_weight, int64_t reduction, int64_t ignored) {
  const mt::Indices labels(target);
  mt::Places places;
  places.ignored = ignored;
  const mt_tensor* each = reduction == mt::kNone ? grad : nullptr;
  if (int status = places.init(out, target, labels, has_weight ? weight : nullptr, each)) return status;
  if (int status = mt_fill(out, 0)) return status;
  const double total = reduction == mt::kMean ? mt::read_number(total_weight) : 1;
  const double slope = reduction == mt::kNone ? 0 : mt::read_number(grad) / total;
  return mt::of_dtype(out->dtype, [&](auto zero) { return mt::slopes<decltype(zero)>(places, slope, reduction); });
}
