// The blocked product of two matrices, for kernels that come down to one.
#pragma once

#include "tensor.h"

namespace mt {

template <class T>
struct Matrix {
  T* data;
  int64_t row, column;  // strides in elements
  T& at(int64_t i, int64_t j) const { return data[i * row + j * column]; }
};

struct Size {
  int64_t m, n, k;
};

// c += alpha * a @ b with c of contiguous rows, for float, double and int64_t. Defined in matmul.cpp.
template <class T>
int product(const Size& size, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, double alpha);

}  // namespace mt
