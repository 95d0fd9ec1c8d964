// Indices that a tensor of integers holds.
#pragma once

#include <vector>

#include "tensor.h"

MT_EXPORT int mt_copy(const mt_tensor* src, const mt_tensor* dst);

namespace mt {

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

}  // namespace mt
