/* Element counts, strides and addresses of strided tensors in checked arithmetic. Nothing else multiplies sizes.
 *
 * Sizes and strides are in elements and not negative. Each function returns 0, or 1 where a result needs more than the 63
 * bits that PyTorch gives it; what it has written then means nothing.
 */
#ifndef MINDTORCH_GEOMETRY_H
#define MINDTORCH_GEOMETRY_H

#include <stdint.h>

/* The product of the sizes. From the front and in 64 bits without a sign, as PyTorch multiplies: {0, 2**62, 4} and
 * {2, 2**62, 0} are 0 elements, {2**62, 4, 0} too many. */
static inline int mt_count(int nd, const int64_t* sizes, int64_t* count) {
  uint64_t product = 1;
  int wide = 0;
  for (int i = 0; i < nd; ++i) wide |= __builtin_mul_overflow(product, (uint64_t)sizes[i], &product);
  *count = (int64_t)product;
  return wide | (product > INT64_MAX);
}

/* Strides of a contiguous tensor, in which a size of 0 counts as 1, and its element count. */
static inline int mt_row_major(int nd, const int64_t* sizes, int64_t* strides, int64_t* count) {
  int64_t step = 1;
  int wide = 0, wide_stride = 0, empty = 0;
  for (int i = nd - 1; i >= 0; --i) {
    strides[i] = step;
    wide_stride = wide;
    empty |= sizes[i] == 0;
    wide |= __builtin_mul_overflow(step, sizes[i] ? sizes[i] : 1, &step);
  }
  *count = step;
  return empty ? wide_stride | mt_count(nd, sizes, count) : wide;
}

/* The element count, and whether the elements lie in row-major order without gaps. */
static inline int mt_measure(int nd, const int64_t* sizes, const int64_t* strides, int64_t* count, uint8_t* contiguous) {
  int64_t step = 1;
  int wide = 0, rows = 1;
  for (int i = nd - 1; i >= 0; --i) {
    rows &= (sizes[i] == 1) | (strides[i] == step);
    wide |= __builtin_mul_overflow(step, sizes[i], &step);
  }
  *count = step;
  *contiguous = (uint8_t)rows;
  if (!wide && step != 0) return 0;
  wide = mt_count(nd, sizes, count);
  *contiguous = *count == 0;
  return wide;
}

/* How many elements a storage must have for a view that is not empty: the last one's index and 1. */
static inline int mt_reach(int nd, const int64_t* sizes, const int64_t* strides, int64_t offset, int64_t* reach) {
  int64_t end, span;
  int wide = __builtin_add_overflow(offset, 1, &end);
  for (int i = 0; i < nd; ++i) {
    wide |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &span);
    wide |= __builtin_add_overflow(end, span, &end);
  }
  *reach = end;
  return wide;
}

/* offset + index * stride */
static inline int mt_advance(int64_t offset, int64_t index, int64_t stride, int64_t* result) {
  int64_t span;
  int wide = __builtin_mul_overflow(index, stride, &span);
  return wide | __builtin_add_overflow(offset, span, result);
}

#endif
