// Functions of LAPACK and BLAS, by their addresses: who calls a kernel has them from the library that SciPy brings.
#pragma once

#include "matrices.h"

namespace mt {

// All arguments of these functions are pointers, and numbers are `int`.
template <class... Args>
void lapack(int64_t address, Args*... args) {
  reinterpret_cast<void (*)(Args*...)>(address)(args...);
}

// Whether sizes are numbers of LAPACK's.
template <class... Sizes>
bool fit_lapack(Sizes... sizes) {
  return ((sizes <= std::numeric_limits<int>::max()) && ...);
}

// The length of a workspace, of what a function says that it wants: a float, which may have been rounded.
template <class T>
int wanted(T said) {
  const double length = std::real(said) * (1 + 0x1p-22) + 1;
  return length < 0x1p31 ? int(length) : std::numeric_limits<int>::max();
}

// Memory for a part of a batch, null where there is none.
template <class T>
std::unique_ptr<T[]> workspace(int64_t count) {
  return std::unique_ptr<T[]>(new (std::nothrow) T[size_t(std::max<int64_t>(count, 1))]);
}

// Writes a matrix by rows of what LAPACK left, columns that begin `step` numbers apart.
template <class T>
void rows_of_columns(const T* given, int64_t step, int64_t rows, int64_t columns, T* out) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) out[i * columns + j] = given[i + j * step];
}

// How many items of a batch are worth a thread, of so many operations each.
inline int64_t matrices_grain(int64_t rows, int64_t columns) { return rows_grain(rows * columns, 8 * std::max<int64_t>(std::min(rows, columns), 1)); }

// While it lives the library has one thread, or as many as kernels have for a single large matrix: its own number is for callers of SciPy,
// and its threads would stand in the way of those that take parts of a batch. Defined in lapack.cpp.
class LapackThreads {
 public:
  explicit LapackThreads(const mt_tensor* matrices);  // null: it is not called
  ~LapackThreads();
  LapackThreads(const LapackThreads&) = delete;
  LapackThreads& operator=(const LapackThreads&) = delete;

 private:
  bool entered_ = false;
};

}  // namespace mt
