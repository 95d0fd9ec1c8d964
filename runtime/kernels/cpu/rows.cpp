// Slices at indices, and the scores of rows at their targets.
#include <algorithm>
#include <vector>

#include "tensor.h"
#include "threads.h"

MT_EXPORT int mt_copy(const mt_tensor* src, const mt_tensor* dst);
MT_EXPORT int mt_fill(const mt_tensor* out, double value);

namespace mt {
namespace {

// The elements of a tensor of integers, in the order of its places, as int64.
class Indices {
 public:
  explicit Indices(const mt_tensor* t) : count(numel(t)) {
    if (t->dtype == MT_I64 && is_contiguous(t)) {
      at = static_cast<const int64_t*>(t->data);
      return;
    }
    copied_.resize(size_t(count));
    int64_t strides[kMaxDims], step = 1;
    for (int64_t d = t->ndim - 1; d >= 0; --d) {
      strides[d] = step;
      step *= t->shape[d];
    }
    const mt_tensor wide = {copied_.data(), t->ndim, t->shape, strides, MT_I64, 8};
    status = mt_copy(t, &wide);
    at = copied_.data();
  }
  bool within(int64_t size) const {
    for (int64_t i = 0; i < count; ++i)
      if (at[i] < 0 || at[i] >= size) return false;
    return true;
  }

  const int64_t count;
  const int64_t* at;
  int status = MT_OK;

 private:
  std::vector<int64_t> copied_;
};

// The slice of a tensor at one place of a dimension, without it.
struct Slice {
  int64_t shape[kMaxDims], strides[kMaxDims];
  mt_tensor tensor;

  Slice(const mt_tensor* of, int64_t dim, int64_t place) {
    int64_t n = 0;
    for (int64_t d = 0; d < of->ndim; ++d) {
      if (d == dim) continue;
      shape[n] = of->shape[d];
      strides[n++] = of->strides[d];
    }
    tensor = {static_cast<char*>(of->data) + place * of->strides[dim] * of->itemsize, n, shape, strides, of->dtype, of->itemsize};
  }
};

int select_runs(const mt_tensor* self, int64_t dim, const Indices& indices, const mt_tensor* out) {
  int64_t outer = 1, run = self->itemsize;
  for (int64_t d = 0; d < self->ndim; ++d) (d < dim ? outer : run) *= d == dim ? 1 : self->shape[d];
  const int64_t size = self->shape[dim];
  return parallel(outer * indices.count, rows_grain(run / 4), [&](int64_t first, int64_t last) -> int {
    Pace pace;
    for (; first < last; ++first) {
      const int64_t from = first / indices.count * size + indices.at[first % indices.count];
      std::memcpy(static_cast<char*>(out->data) + first * run, static_cast<const char*>(self->data) + from * run, size_t(run));
      if (pace.stops(run / 4)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

struct Classes {
  const mt_tensor* weight;  // null: 1 for each
  int64_t count, ignored;

  double weight_of(int64_t label) const {
    double weight_here = 1;
    if (weight != nullptr) read(weight, label * weight->strides[0], &weight_here);
    return weight_here;
  }
  static void read(const mt_tensor* t, int64_t offset, double* to) {
    cast_fn(MT_F64, t->dtype)(to, 1, static_cast<const char*>(t->data) + offset * t->itemsize, 1, 1);
  }
  static void write(const mt_tensor* t, int64_t offset, double value) {
    cast_fn(t->dtype, MT_F64)(static_cast<char*>(t->data) + offset * t->itemsize, 1, &value, 1, 1);
  }
};

enum Reduction : int64_t { kNone, kMean, kSum };

bool is_weight(const mt_tensor* weight, int64_t classes) {
  return weight == nullptr || (weight->ndim == 1 && weight->shape[0] == classes);
}

int labels_fit(const Indices& labels, const Classes& classes) {
  if (labels.status) return labels.status;
  for (int64_t i = 0; i < labels.count; ++i)
    if (labels.at[i] != classes.ignored && (labels.at[i] < 0 || labels.at[i] >= classes.count)) return MT_ERROR_TARGET;
  return MT_OK;
}

}  // namespace
}  // namespace mt

// out = self at `index` along `dim`: with the dimensions of `index`, which may be several, in the place of `dim`.
MT_EXPORT int mt_index_select(const mt_tensor* self, int64_t dim, const mt_tensor* index, const mt_tensor* out) {
  if (dim < 0) dim += self->ndim;
  if (dim < 0 || dim >= self->ndim || self->ndim > mt::kMaxDims || index->ndim > mt::kMaxDims) return MT_ERROR_SHAPE;
  if (self->dtype != out->dtype || !mt::is_integer(index->dtype)) return MT_ERROR_DTYPE;
  const mt::Indices indices(index);
  if (indices.status) return indices.status;
  if (!indices.within(self->shape[dim])) return MT_ERROR_INDEX;
  int64_t expected = indices.count;
  for (int64_t d = 0; d < self->ndim; ++d) expected *= d == dim ? 1 : self->shape[d];
  if (mt::numel(out) != expected) return MT_ERROR_SHAPE;
  if (expected == 0) return MT_OK;
  if (mt::is_contiguous(self) && mt::is_contiguous(out)) return mt::select_runs(self, dim, indices, out);
  if (index->ndim != 1 || out->ndim != self->ndim) return MT_ERROR_SHAPE;
  for (int64_t i = 0; i < indices.count; ++i) {
    const mt::Slice from(self, dim, indices.at[i]), to(out, dim, i);
    if (int status = mt_copy(&from.tensor, &to.tensor)) return status;
  }
  return MT_OK;
}

// Minus the score (N, classes) of each row at its target, times its class's weight: of each row (reduction 0), their sum over
// that of the weights (1), or their sum (2); and the sum of the weights. `weight` is read where has_weight.
MT_EXPORT int mt_nll_loss(const mt_tensor* self, const mt_tensor* target, const mt_tensor* weight, const mt_tensor* out,
                          const mt_tensor* total_weight, int64_t has_weight, int64_t reduction, int64_t ignored) {
  if (self->ndim != 2 || target->ndim != 1 || target->shape[0] != self->shape[0]) return MT_ERROR_SHAPE;
  if (!mt::is_floating(self->dtype)) return MT_ERROR_DTYPE;
  if (!has_weight) weight = nullptr;
  if (!mt::is_weight(weight, self->shape[1])) return MT_ERROR_SHAPE;
  const mt::Classes classes{weight, self->shape[1], ignored};
  const mt::Indices labels(target);
  if (int status = mt::labels_fit(labels, classes)) return status;
  double sum = 0, total = 0;
  for (int64_t i = 0; i < labels.count; ++i) {
    double loss = 0;
    const double factor = labels.at[i] == ignored ? 0 : classes.weight_of(labels.at[i]);
    if (factor != 0) {
      mt::Classes::read(self, i * self->strides[0] + labels.at[i] * self->strides[1], &loss);
      loss *= -factor;
    }
    if (reduction == mt::kNone) mt::Classes::write(out, i * out->strides[0], loss);
    sum += loss;
    total += factor;
  }
  if (reduction != mt::kNone) mt::Classes::write(out, 0, reduction == mt::kMean ? sum / total : sum);
  mt::Classes::write(total_weight, 0, reduction == mt::kNone ? 0 : total);
  return MT_OK;
}

// The gradient of the scores: minus the weight of each row's target, there, times `grad`, which is one number or one a row.
MT_EXPORT int mt_nll_loss_backward(const mt_tensor* grad, const mt_tensor* target, const mt_tensor* weight, const mt_tensor* total_weight,
                                   const mt_tensor* out, int64_t has_weight, int64_t reduction, int64_t ignored) {
  if (out->ndim != 2 || target->ndim != 1 || target->shape[0] != out->shape[0]) return MT_ERROR_SHAPE;
  if (!mt::is_floating(out->dtype)) return MT_ERROR_DTYPE;
  if (!has_weight) weight = nullptr;
  if (!mt::is_weight(weight, out->shape[1])) return MT_ERROR_SHAPE;
  const mt::Classes classes{weight, out->shape[1], ignored};
  const mt::Indices labels(target);
  if (int status = mt::labels_fit(labels, classes)) return status;
  if (int status = mt_fill(out, 0)) return status;
  double slope = 0, total = 1;
  if (reduction == mt::kMean) mt::Classes::read(total_weight, 0, &total);
  if (reduction != mt::kNone) mt::Classes::read(grad, 0, &slope);
  for (int64_t i = 0; i < labels.count; ++i) {
    if (labels.at[i] == ignored) continue;
    if (reduction == mt::kNone) mt::Classes::read(grad, i * grad->strides[0], &slope);
    const double value = -classes.weight_of(labels.at[i]) * (slope / total);
    mt::Classes::write(out, i * out->strides[0] + labels.at[i] * out->strides[1], value);
  }
  return MT_OK;
}
