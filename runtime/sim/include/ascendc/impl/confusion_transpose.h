// ConfusionTranspose: axes exchanged between matrices in rows (ND) and in fractals of 16 x 16 (NZ).
#pragma once

#include "elementwise.h"

namespace AscendC {

enum class TransposeType : uint8_t {
  TRANSPOSE_TYPE_NONE, TRANSPOSE_NZ2ND_0213, TRANSPOSE_NZ2NZ_0213, TRANSPOSE_NZ2NZ_012_WITH_N,
  TRANSPOSE_NZ2ND_012_WITH_N, TRANSPOSE_NZ2ND_012_WITHOUT_N, TRANSPOSE_NZ2NZ_012_WITHOUT_N, TRANSPOSE_ND2ND_ONLY,
  TRANSPOSE_ND_UB_GM
};

/// For ND2ND_ONLY a block's elements, the height and the width; for the 0213 kinds a block's elements, B, A1, and A3 and
/// A2 rounded up to 16; for the 012 kinds a block's elements, B, N, H/N, and param6 (of NZ2NZ_012_WITH_N param7) is S / 16
/// rounded up. The rest is for the chip.
struct ConfusionTransposeTiling {
  uint32_t param0 = 0, param1 = 0, param2 = 0, param3 = 0, param4 = 0, param5 = 0, param6 = 0, param7 = 0, param8 = 0,
           param9 = 0, param10 = 0, param11 = 0, param12 = 0, param13 = 0, param14 = 0, param15 = 0, param16 = 0,
           param17 = 0;
};

}  // namespace AscendC

namespace mtsim {

constexpr uint64_t kFractalSide = 16;

/// Where an element of a matrix of so many rows is, as NZ: columns of fractals.
constexpr uint64_t in_fractals(uint64_t row, uint64_t column, uint64_t rows) {
  return (column / kFractalSide * (rows / kFractalSide) + row / kFractalSide) * kFractalSide * kFractalSide + row % kFractalSide * kFractalSide +
         column % kFractalSide;
}

/// One element at a time, as the checker follows values.
template <typename T>
struct Move {
  T* out;
  const T* in;
  void operator()(uint64_t to, uint64_t from) const {
    out[to] = in[from];
    moved(out + to, in + from, sizeof(T));
  }
};

template <typename T>
void transpose_matrix(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t height, uint64_t width) {
  const char* name = "ConfusionTranspose";
  if (height % kFractalSide != 0 || width % (kBlock / sizeof(T)) != 0)
    fault({"limit"}, kVectorCoreException, "ConfusionTranspose: %llu x %llu: 16 must divide the height, 32 bytes the width",
          static_cast<unsigned long long>(height), static_cast<unsigned long long>(width));
  const Instruction instruction(name, PIPE_V, Flow::Moves);
  const auto count = static_cast<int64_t>(height * width);
  const Move<T> move{elements(dst, count, name, "dst"), elements(src, count, name, "src")};
  for (uint64_t row = 0; row < height; ++row)
    for (uint64_t column = 0; column < width; ++column) move(column * height + row, row * width + column);
}

/// B matrices of A1 x A2 x A3, each A2 x A3 in fractals, as A2 x A1 x A3: in rows, or each A1 x A3 in fractals.
template <typename T>
void exchange_middle(const LocalTensor<T>& dst, const LocalTensor<T>& src, const AscendC::ConfusionTransposeTiling& tiling,
                     bool to_fractals) {
  const char* name = "ConfusionTranspose";
  const Instruction instruction(name, PIPE_V, Flow::Moves);
  const uint64_t b = tiling.param1, a1 = tiling.param2, a3 = tiling.param3, a2 = tiling.param4;
  const uint64_t rows = to_fractals ? align_up(a1, kFractalSide) : a1;
  const Move<T> move{elements_in_range(dst, static_cast<int64_t>(b * a2 * rows * a3), name, "dst"),
                     elements(src, static_cast<int64_t>(b * a1 * a2 * a3), name, "src")};
  if (rows == a1) touch_elements(move.out, b * a2 * rows * a3, name, "dst", MTSIM_WRITES);
  for (uint64_t batch = 0; batch < b; ++batch)
    for (uint64_t i = 0; i < a1; ++i)
      for (uint64_t j = 0; j < a2; ++j)
        for (uint64_t k = 0; k < a3; ++k) {
          const uint64_t within = to_fractals ? in_fractals(i, k, rows) : i * a3 + k;
          const uint64_t to = (batch * a2 + j) * rows * a3 + within;
          if (rows != a1) touch_elements(move.out + to, 1, name, "dst", MTSIM_WRITES);
          move(to, (batch * a1 + i) * a2 * a3 + in_fractals(j, k, a2));
        }
}

/// B matrices of S x H in fractals as N of S x H/N each (split), or back: to rows or to fractals.
template <typename T>
void regroup_columns(const LocalTensor<T>& dst, const LocalTensor<T>& src, const AscendC::ConfusionTransposeTiling& tiling,
                     uint64_t fractal_rows, bool split, bool to_fractals) {
  const char* name = "ConfusionTranspose";
  const uint64_t b = tiling.param1, n = tiling.param2, part = tiling.param3, s = fractal_rows * kFractalSide, h = n * part;
  if (part % kFractalSide != 0)
    fault({"limit"}, kVectorCoreException, "ConfusionTranspose: H/N is %llu: 16 must divide it", static_cast<unsigned long long>(part));
  const Instruction instruction(name, PIPE_V, Flow::Moves);
  const auto count = static_cast<int64_t>(b * s * h);
  const Move<T> move{elements(dst, count, name, "dst"), elements(src, count, name, "src")};
  const auto within = [&](bool in_nz, uint64_t row, uint64_t column, uint64_t width) {
    return in_nz ? in_fractals(row, column, s) : row * width + column;
  };
  for (uint64_t batch = 0; batch < b; ++batch)
    for (uint64_t row = 0; row < s; ++row)
      for (uint64_t column = 0; column < h; ++column) {
        const uint64_t whole = batch * s * h + within(split || to_fractals, row, column, h);
        const uint64_t parted =
            (batch * n + column / part) * s * part + within(!split || to_fractals, row, column % part, part);
        split ? move(parted, whole) : move(whole, parted);
      }
}

}  // namespace mtsim

namespace AscendC {

template <typename T>
void ConfusionTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src, TransposeType transposeType,
                        const ConfusionTransposeTiling& tiling) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "ConfusionTranspose exists for elements of 2 and 4 bytes");
  switch (transposeType) {
    case TransposeType::TRANSPOSE_ND2ND_ONLY:
      return mtsim::transpose_matrix(dst, src, tiling.param1, tiling.param2);
    case TransposeType::TRANSPOSE_NZ2ND_0213:
    case TransposeType::TRANSPOSE_NZ2NZ_0213:
      return mtsim::exchange_middle(dst, src, tiling, transposeType == TransposeType::TRANSPOSE_NZ2NZ_0213);
    case TransposeType::TRANSPOSE_NZ2NZ_012_WITH_N:
      return mtsim::regroup_columns(dst, src, tiling, tiling.param7, true, true);
    case TransposeType::TRANSPOSE_NZ2ND_012_WITH_N:
      return mtsim::regroup_columns(dst, src, tiling, tiling.param6, true, false);
    case TransposeType::TRANSPOSE_NZ2ND_012_WITHOUT_N:
    case TransposeType::TRANSPOSE_NZ2NZ_012_WITHOUT_N:
      return mtsim::regroup_columns(dst, src, tiling, tiling.param6, false,
                                    transposeType == TransposeType::TRANSPOSE_NZ2NZ_012_WITHOUT_N);
    default:
      mtsim::fault({"not-simulated"}, mtsim::kVectorCoreException,
                   "ConfusionTranspose: type %d is not simulated, see docs/ascendc.md", static_cast<int>(transposeType));
  }
}
template <typename T>
void ConfusionTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>&,
                        TransposeType transposeType, const ConfusionTransposeTiling& tiling) {
  ConfusionTranspose(dst, src, transposeType, tiling);
}

}  // namespace AscendC
