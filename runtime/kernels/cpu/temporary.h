// Tensors in the dtype that a kernel computes in, for as long as it does.
#pragma once

#include <algorithm>
#include <memory>
#include <new>

#include "tensor.h"

MT_EXPORT int mt_copy(const mt_tensor* src, const mt_tensor* dst);

namespace mt {

// Memory for a contiguous copy of a tensor of up to 5 dimensions in another dtype: none where there is too little.
struct Temporary {
  std::unique_ptr<char[]> memory;
  int64_t strides[5];
  mt_tensor tensor;

  Temporary(const Temporary&) = delete;
  Temporary(const mt_tensor* like, int32_t dtype) {
    tensor = *like;
    tensor.dtype = dtype;
    tensor.itemsize = item_size(dtype);
    int64_t n = 1;
    for (int64_t d = like->ndim - 1; d >= 0; --d) {
      strides[d] = n;
      n *= like->shape[d];
    }
    tensor.strides = strides;
    memory.reset(new (std::nothrow) char[size_t(std::max<int64_t>(n, 1) * tensor.itemsize)]);
    tensor.data = memory.get();
  }
};

}  // namespace mt
