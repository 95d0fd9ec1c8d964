// Products of bfloat16 numbers where the processor multiplies pairs of them: twice as many at a time as of float, whose sums are as precise.
#include <algorithm>
#include <cstring>

#include "matmul.h"
#include "matmul_pack.h"

namespace mt {
namespace {

// Lines of numbers that are packed in pairs: an operand's rows, or the other's columns.
struct Lines {
  Matrix<const BFloat16> matrix;
  int64_t depth;
};

// Two numbers as the processor takes them: the first in the lower bits.
MT_INLINE uint32_t pair(BFloat16 first, BFloat16 second) { return first.bits | uint32_t(second.bits) << 16; }

// Packs `pairs` pairs of `count` lines from (line, 2 * from) on into panels of Width lines; beyond a line's end, and beyond the last, are zeros.
template <int Width>
MT_INLINE void pack_pairs(const Lines& lines, int64_t line, int64_t count, int64_t from, int64_t pairs, float* out) {
  const Matrix<const BFloat16> part{&lines.matrix.at(line, 2 * from), lines.matrix.row, lines.matrix.column};
  const int64_t depth = std::min(2 * pairs, lines.depth - 2 * from);
  const auto put = [&](int64_t first, int64_t k, const uint32_t* places) {
    std::memcpy(out + first * pairs + k * Width, places, Width * sizeof(float));
  };
  const auto one_by_one = [&](int64_t first, int64_t begin) {
    for (int64_t k = begin; k < pairs; ++k) {
      uint32_t places[Width] = {};
      for (int64_t i = 0; i < std::min<int64_t>(Width, count - first); ++i)
        places[i] = pair(part.at(first + i, 2 * k), 2 * k + 1 < depth ? part.at(first + i, 2 * k + 1) : BFloat16{0});
      put(first, k, places);
    }
  };
  const int64_t whole = count / Width * Width;
  int64_t packed = 0;  // lines
  if (part.column == 1 && part.row % 2 == 0 && reinterpret_cast<uintptr_t>(part.data) % alignof(float) == 0) {
    // Pairs lie in memory as they are wanted.
    for (; packed < whole; packed += Width) {
      const auto* places = reinterpret_cast<const float*>(part.data + packed * part.row);
      pack<Width, float>({places, part.row / 2, 1}, Width, depth / 2, out + packed * pairs);
      one_by_one(packed, depth / 2);
    }
  } else if (part.row == 1) {
    for (int64_t begin = 0; begin < depth / 2; begin += kLinesTogether / 2)
      for (int64_t first = 0; first < whole; first += Width)
        for (int64_t k = begin; k < std::min(depth / 2, begin + kLinesTogether / 2); ++k) {
          const BFloat16 *low = &part.at(first, 2 * k), *high = &part.at(first, 2 * k + 1);
          uint32_t places[Width];
          for (int i = 0; i < Width; ++i) places[i] = pair(low[i], high[i]);
          put(first, k, places);
        }
    for (; packed < whole; packed += Width) one_by_one(packed, depth / 2);
  }
  for (; packed < count; packed += Width) one_by_one(packed, 0);
}

MT_TARGET_AVX512 void pack_rows(const void* data, int64_t row, int64_t rows, int64_t from, int64_t depth, int, float* out) {
  pack_pairs<kWidestRows>(*static_cast<const Lines*>(data), row, rows, from, depth, out);
}
MT_TARGET_AVX512 int pack_columns(const void* data, int64_t row, int64_t depth, int64_t column, int64_t columns, int, float* out) {
  pack_pairs<kWidestColumns>(*static_cast<const Lines*>(data), column, columns, row, depth, out);
  return MT_OK;
}

}  // namespace

int product(const Size& size, const Matrix<const BFloat16>& a, const Matrix<const BFloat16>& b, const Matrix<float>& c, double alpha,
            const Before<float>& before) {
  if (is_one_line(size, a, b)) return line_product(size, a, b, c, alpha, before);
  const Lines rows{a, size.k}, columns{{b.data, b.column, b.row}, size.k};
  return product_of_pairs({size.m, size.n, (size.k + 1) / 2}, {pack_rows, &rows}, {pack_columns, &columns}, c, alpha, before);
}

}  // namespace mt
