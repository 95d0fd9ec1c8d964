// The blocked product of two matrices, for kernels that come down to one.
#pragma once

#include <memory>
#include <new>

#include "half.h"
#include "tensor.h"
#include "transpose.h"

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

// What a product is added to, of contiguous rows: c itself, another matrix, whose rows may be one, or zeros.
template <class T>
struct Before {
  const T* data = nullptr;  // null: zeros
  int64_t row = 0;

  static Before zeros() { return {}; }
  static Before of(const Matrix<T>& c) { return {c.data, c.row}; }
  const T* at(int64_t i, int64_t j) const { return data == nullptr ? nullptr : data + i * row + j; }
};

// A second operand that is nowhere in memory as a matrix: `pack` writes `depth` x `columns` of it from (row, column) on, in panels
// of `width` columns, each depth-major, and filled up with zeros.
template <class T>
struct Operand {
  int (*pack)(const void* data, int64_t row, int64_t depth, int64_t column, int64_t columns, int width, T* out);
  const void* data;
};

// c = before, for products that add to it.
template <class T>
void begin(const Size& size, const Matrix<T>& c, const Before<T>& before) {
  if (before.data == c.data && before.row == c.row) return;
  for (int64_t i = 0; i < size.m; ++i) {
    T* row = &c.at(i, 0);
    for (int64_t j = 0; j < size.n; ++j) row[j] = before.data == nullptr ? T(0) : *before.at(i, j);
  }
}

constexpr int64_t kSmallProduct = 16 * 16 * 16;     // multiplications below which packing costs more than it saves
constexpr int64_t kThreadedProduct = 1 << 20;      // multiplications that are worth threads

// Which numbers float operands hold: any, or only such as bfloat16 has, two of which are multiplied at once where the processor does so.
enum class Numbers { kAny, kBFloat16 };

// Memory for packed operands, in which no vector lies in two lines of the cache.
template <class T>
struct Panels {
  static constexpr std::align_val_t kLine{64};
  struct Delete {
    void operator()(T* memory) const { ::operator delete[](memory, kLine); }
  };
  std::unique_ptr<T[], Delete> data;

  Panels() = default;
  explicit Panels(int64_t count) : data(static_cast<T*>(::operator new[](size_t(count) * sizeof(T), kLine, std::nothrow))) {}
};

// Columns of a product up to which its second operand is packed once for all rows, and stays in the L2 cache.
constexpr int64_t kFewColumns = 384;

// A first operand that is nowhere in memory as a matrix: `pack` writes `depth` numbers of each of `rows` rows from (row, from) on as one panel of
// `width` rows, depth-major, and filled up with zeros.
template <class T>
struct Rows {
  void (*pack)(const void* data, int64_t row, int64_t rows, int64_t from, int64_t depth, int width, T* out);
  const void* data;
};

// The first operand of products, float or double, packed once for all of them by all threads: no data where there is no memory. Defined
// in matmul.cpp.
template <class T>
class Packed {
 public:
  Packed() = default;
  Packed(const Matrix<const T>& a, int64_t rows, int64_t depth, Numbers numbers = Numbers::kAny);
  Packed(const Rows<T>& a, int64_t rows, int64_t depth, Numbers numbers = Numbers::kAny, int64_t from = 0);
  const T* data() const { return memory_.data.get(); }

 private:
  Panels<T> memory_;
};

// c = a @ b, or c += a @ b where it is not `fresh`, for float and double. What is not packed is packed as it is needed, which is for products
// of few rows, or of up to kFewColumns. What is packed was so for the same numbers. Defined in matmul.cpp.
template <class T>
int product_of(const Size& size, const Packed<T>& a, const Operand<T>& b, const Matrix<T>& c, bool fresh, Numbers numbers = Numbers::kAny);
template <class T>
int product_of(const Size& size, const Matrix<const T>& a, const Operand<T>& b, const Matrix<T>& c, bool fresh, Numbers numbers = Numbers::kAny);
template <class T>
int product_of(const Size& size, const Rows<T>& a, const Operand<T>& b, const Matrix<T>& c, bool fresh, Numbers numbers = Numbers::kAny);

// Whether the processor multiplies pairs of bfloat16 numbers. Defined in matmul.cpp.
bool multiplies_pairs();
// c = before + alpha * a @ b of panels with two bfloat16 numbers in each place, those that follow each other in the depth: size.k pairs.
int product_of_pairs(const Size& size, const Rows<float>& a, const Operand<float>& b, const Matrix<float>& c, double alpha, const Before<float>& before);

// How many rows of a first and columns of a second operand a panel has.
struct PanelShape {
  int rows, columns;
};
template <class T>
PanelShape panel_shape();

// c = a @ b, or c += a @ b where it is not `fresh`, of operands that are panels already, each with its whole depth, depth-major, on the caller's
// thread. Up to `most` numbers of a sum are added one to the other before they are added to c. For float; defined in matmul.cpp.
template <class T>
void panel_product(const Size& size, const T* a, const T* b, int64_t most, const Matrix<T>& c, bool fresh);

// c += a @ b, for float and double: an element's sum has the same order whichever part of the result it is computed in, which
// that of `product` has not, whose order for small results is another. Defined in matmul.cpp.
template <class T>
int blocked_product(const Size& size, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, Numbers numbers = Numbers::kAny);

// Whether one operand is a single line, and the other's lines are contiguous: each element of it is met once, so that to pack it would take
// longer than the product.
template <class S>
bool is_one_line(const Size& size, const Matrix<const S>& a, const Matrix<const S>& b) {
  return (size.m == 1 && (b.row == 1 || b.column == 1)) || (size.n == 1 && (a.row == 1 || a.column == 1));
}
// Such a product, c = before + alpha * a @ b: of float and double, and of bfloat16 with a result of float. Defined in one_row.cpp.
template <class T, class S>
int line_product(const Size& size, const Matrix<const S>& a, const Matrix<const S>& b, const Matrix<T>& c, double alpha, const Before<T>& before);

// c = before + alpha * a @ b with c of contiguous rows, for float, double and int64_t. Defined in matmul.cpp.
template <class T>
int product(const Size& size, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, double alpha, const Before<T>& before,
            Numbers numbers = Numbers::kAny);

// The same of bfloat16 numbers, where the processor `multiplies_pairs` or it `is_one_line`. Defined in matmul_bfloat16.cpp.
int product(const Size& size, const Matrix<const BFloat16>& a, const Matrix<const BFloat16>& b, const Matrix<float>& c, double alpha,
            const Before<float>& before);

// Writes four numbers of each of four lines, `step` apart, the other way round: a line for each place, `width` apart.
MT_INLINE void turn_four(const float* from, int64_t step, float* out, int64_t width) {
  Square<4>::turn(reinterpret_cast<char*>(out), width * 4, reinterpret_cast<const char*>(from), step * 4);
}
template <class T>
MT_INLINE void turn_four(const T* from, int64_t step, T* out, int64_t width) {
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 4; ++i) out[k * width + i] = from[i * step + k];
}

}  // namespace mt
