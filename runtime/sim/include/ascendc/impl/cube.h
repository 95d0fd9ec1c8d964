// The cube core: matrices cut into fractals of 512 bytes, moved to L0, multiplied, and written back.
//   L1 and global NZ: columns of fractals, each 16 rows of 32 bytes.   L0A: rows of such fractals.
//   L0B: rows of fractals whose 16 columns lie one behind the other.   L0C: columns of 16 x 16 fractals.
#pragma once

#include <cmath>
#include <vector>

#include "copy.h"

// How Fixpipe converts what it writes; the numbers are the hardware's.
// Those with a V take a scale for each column.
enum QuantMode_t {
  NoQuant = 0, F322F16 = 1, VDEQF16 = 4, DEQF16 = 5, VQF322B8_PRE = 8, QF322B8_PRE = 9, VREQ8 = 10, REQ8 = 11,
  F322BF16 = 16
};

namespace AscendC {

using ::DEQF16;
using ::F322BF16;
using ::F322F16;
using ::NoQuant;

/// One matrix after the other: `nValue` rows of `dValue` elements, rows srcDValue apart. In the result, columns of
/// blocks are dstNzC0Stride blocks apart and rows dstNzNStride blocks.
struct Nd2NzParams {
  Nd2NzParams() = default;
  Nd2NzParams(uint16_t matrices, uint16_t n, uint16_t d, uint16_t srcMatrix, uint16_t srcD, uint16_t dstC0,
              uint16_t dstN, uint16_t dstMatrix)
      : ndNum(matrices), nValue(n), dValue(d), srcNdMatrixStride(srcMatrix), srcDValue(srcD), dstNzC0Stride(dstC0),
        dstNzNStride(dstN), dstNzMatrixStride(dstMatrix) {}
  uint16_t ndNum = 0;
  uint16_t nValue = 0;
  uint16_t dValue = 0;
  uint16_t srcNdMatrixStride = 0;
  uint16_t srcDValue = 0;
  uint16_t dstNzC0Stride = 0;
  uint16_t dstNzNStride = 0;
  uint16_t dstNzMatrixStride = 0;
};

/// In fractals: from startIndex on every srcStride-th, with gaps of dstGap between the results.
struct LoadData2DParams {
  LoadData2DParams() = default;
  LoadData2DParams(uint16_t start, uint8_t repeats, uint16_t src, uint8_t id, uint16_t gap, bool transpose,
                   uint8_t mode)
      : startIndex(start), dstGap(gap), srcStride(src), ifTranspose(transpose), repeatTimes(repeats), sid(id),
        addrMode(mode) {}
  uint16_t startIndex = 0;
  uint16_t dstGap = 0;
  uint16_t srcStride = 0;
  bool ifTranspose = false;
  uint8_t repeatTimes = 0;
  uint8_t sid = 0;
  uint8_t addrMode = 0;
};

using LoadData2dParams = LoadData2DParams;

/// Squares of 16 x 16; strides as in LoadData2DParams.
struct LoadData2dTransposeParams {
  LoadData2dTransposeParams() = default;
  LoadData2dTransposeParams(uint16_t start, uint8_t repeats, uint16_t src, uint16_t gap, uint16_t fractalGap)
      : startIndex(start), repeatTimes(repeats), srcStride(src), dstGap(gap), dstFracGap(fractalGap) {}
  uint16_t startIndex = 0;
  uint8_t repeatTimes = 0;
  uint16_t srcStride = 0;
  uint16_t dstGap = 0;
  uint16_t dstFracGap = 0;
};

/// Rows of blocks filled with one value: 32 bytes in L1, fractals in L0.
template <typename T>
struct InitConstValueParams {
  uint16_t repeatTimes = 0;
  uint16_t blockNum = 0;
  uint16_t dstGap = 0;
  T initValue = 0;
};

struct MmadParams {
  MmadParams() = default;
  MmadParams(uint16_t rows, uint16_t columns, uint16_t inner, uint8_t unit, bool fromBias, bool zero)
      : m(rows), n(columns), k(inner), unitFlag(unit), cmatrixSource(fromBias), cmatrixInitVal(zero) {}
  MmadParams(uint16_t rows, uint16_t columns, uint16_t inner, bool accumulate)
      : m(rows), n(columns), k(inner), isBias(accumulate), cmatrixInitVal(!accumulate) {}
  uint16_t m = 0;
  uint16_t n = 0;
  uint16_t k = 0;
  bool isBias = false;
  int32_t fmOffset = 0;
  uint8_t unitFlag = 0;
  bool cmatrixSource = false;  // true: from the bias table instead of L0C
  bool cmatrixInitVal = true;  // true: starts from 0
  bool kDirectionAlign = false;
};

enum class CO2Layout : uint8_t { NZ, ROW_MAJOR };
struct FixpipeConfig {
  CO2Layout format;
};
constexpr FixpipeConfig CFG_NZ{CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR{CO2Layout::ROW_MAJOR};

/// srcStride: blocks of 16 elements from one column of fractals to the next; dstStride: elements from row to row (or,
/// for NZ, blocks of 32 bytes from column to column).
struct FixpipeParamsV220 {
  FixpipeParamsV220() = default;
  FixpipeParamsV220(uint16_t columns, uint16_t rows, uint16_t src, uint32_t dst, bool relu)
      : nSize(columns), mSize(rows), srcStride(src), dstStride(dst), reluEn(relu) {}
  FixpipeParamsV220(uint16_t columns, uint16_t rows, uint16_t src, uint32_t dst, bool relu, QuantMode_t quant,
                    uint64_t scale, uint16_t matrices, uint16_t srcMatrix, uint16_t dstMatrix, uint8_t flag,
                    bool split = false)
      : nSize(columns), mSize(rows), srcStride(src), dstStride(dst), quantPre(quant), deqScalar(scale),
        ndNum(matrices), srcNdStride(srcMatrix), dstNdStride(dstMatrix), reluEn(relu), unitFlag(flag),
        isChannelSplit(split) {}
  uint16_t nSize = 0;
  uint16_t mSize = 0;
  uint16_t srcStride = 0;
  uint32_t dstStride = 0;
  QuantMode_t quantPre = NoQuant;
  uint64_t deqScalar = 0;
  uint16_t ndNum = 1;
  uint16_t srcNdStride = 0;
  uint16_t dstNdStride = 0;
  bool reluEn = false;
  uint8_t unitFlag = 0;
  bool isChannelSplit = false;
};

/// DataCopy's form of the same; nz2ndEn chooses rows instead of NZ.
struct DataCopyCO12DstParams {
  DataCopyCO12DstParams() = default;
  DataCopyCO12DstParams(uint16_t columns, uint16_t rows, uint32_t dst, uint16_t src, QuantMode_t quant, uint8_t relu,
                        bool split, bool nd)
      : nSize(columns), mSize(rows), dstStride(dst), srcStride(src), quantPre(quant), reluPre(relu),
        channelSplit(split), nz2ndEn(nd) {}
  uint16_t nSize = 0;
  uint16_t mSize = 0;
  uint32_t dstStride = 0;
  uint16_t srcStride = 0;
  QuantMode_t quantPre = NoQuant;
  uint8_t reluPre = 0;
  bool channelSplit = false;
  bool nz2ndEn = false;
};

}  // namespace AscendC

namespace mtsim {

constexpr uint32_t kFractal = 512;
constexpr uint32_t kFractalRows = 16;

template <typename T>
constexpr uint32_t kC0 = kBlock * 8 / kBits<T>;

template <typename T>
void require_memory(const LocalTensor<T>& tensor, Memory expected, const char* operation, const char* operand) {
  const Memory got = memory_of(tensor.GetPosition());
  if (got != expected)
    fault(kVectorCoreException, "%s: %s must lie in %s, it lies in %s", operation, operand, kMemoryNames[expected],
          kMemoryNames[got]);
}

/// Whole fractals from L1 or global memory to L0, each transposed on the way where that is asked for.
template <typename T>
void load_fractals(const LocalTensor<T>& dst, const T* from, const AscendC::LoadData2DParams& params) {
  constexpr uint32_t kElements = kFractal / sizeof(T);
  const int64_t span = params.repeatTimes == 0 ? 0 : (params.repeatTimes - 1) * int64_t{params.dstGap + 1u} + 1;
  T* to = aligned_in_range(dst, span * kFractal, "LoadData", "dst");
  for (uint32_t repeat = 0; repeat < params.repeatTimes; ++repeat) {
    const T* in = from + (params.startIndex + uint64_t{repeat} * params.srcStride) * kElements;
    T* out = to + uint64_t{repeat} * (params.dstGap + 1u) * kElements;
    touch_elements(in, kElements, "LoadData", "src", MTSIM_READS);
    touch_elements(out, kElements, "LoadData", "dst", MTSIM_WRITES);
    if (!params.ifTranspose) moved(out, in, kFractal);
    if constexpr (sizeof(T) == 2) {
      if (params.ifTranspose) {
        for (uint32_t row = 0; row < 16; ++row)
          for (uint32_t column = 0; column < 16; ++column) {
            moved(out + column * 16 + row, in + row * 16 + column, sizeof(T));
            out[column * 16 + row] = in[row * 16 + column];
          }
        continue;
      }
    } else if (params.ifTranspose) {
      fault(kVectorCoreException, "LoadData: ifTranspose exists for types of 2 bytes");
    }
    std::memcpy(out, in, kFractal);
  }
}

inline int64_t fractal_extent(const AscendC::LoadData2DParams& params) {
  if (params.repeatTimes == 0) return 0;
  return (params.startIndex + (params.repeatTimes - int64_t{1}) * params.srcStride + 1) * kFractal;
}

/// C[m][n] += A[m][k] * B[k][n], all of them as rows; B's row is the inner loop's, which the compiler vectorises.
template <typename Sum>
void multiply(Sum* c, const Sum* a, const Sum* b, uint32_t m, uint32_t n, uint32_t k) {
  for (uint32_t i = 0; i < m; ++i)
    for (uint32_t p = 0; p < k; ++p) {
      const Sum factor = a[uint64_t{i} * k + p];
      const Sum* row = b + uint64_t{p} * n;
      Sum* out = c + uint64_t{i} * n;
      MTSIM_INDEPENDENT
      for (uint32_t j = 0; j < n; ++j) out[j] += factor * row[j];
    }
}

/// Where the element of row m, column n of L0C is; `rows` is the height of a column of fractals.
inline uint64_t l0c_index(uint32_t m, uint32_t n, uint64_t rows) { return (n / 16 * rows + m) * 16 + n % 16; }

/// The elements of `rows` x `columns` that an instruction touches, of which element (i, j) lies at place(i, j).
template <typename T, typename Place>
void touch_matrix(const T* data, uint32_t rows, uint32_t columns, const char* operation, const char* operand,
                  uint32_t access, Place&& place) {
  if constexpr (kChecked) {
    Spans spans;
    for (uint32_t i = 0; i < rows; ++i)
      for (uint32_t j = 0; j < columns; ++j)
        if (kBits<T> >= 8 || j % 2 == 0) spans.add(bytes_for<T>(place(i, j)), sizeof(T));
    touch(data, spans, 8 * sizeof(T), operation, operand, access);
  }
}

/// A float with 11 bits behind the point.
inline float hf32(float value, bool away) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (!std::isfinite(value)) return value;
  bits += 0x7FFu + (away ? 1u : bits >> 12 & 1u);
  bits &= ~0xFFFu;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// An element of an operand of Mmad; of int4b_t the half of a byte, with its sign.
template <typename Sum, typename T>
Sum factor(const T* data, uint64_t index) {
  if constexpr (std::is_same_v<T, float>) {
    return core().hf32 ? hf32(data[index], core().hf32_away) : data[index];
  } else if constexpr (std::is_same_v<T, AscendC::int4b_t>) {
    const auto bits = static_cast<uint8_t>(data[index / 2].pair >> index % 2 * 4 & 15);
    return bits < 8 ? bits : bits - 16;
  } else {
    return static_cast<Sum>(data[index]);
  }
}

template <typename Sum, typename A, typename B>
void mmad(const LocalTensor<Sum>& dst, const LocalTensor<A>& left, const LocalTensor<B>& right,
          const AscendC::MmadParams& params, const Sum* bias) {
  static_assert(std::is_same_v<Sum, int32_t> == (sizeof(A) == 1) && kBits<A> == kBits<B> && sizeof(Sum) == 4,
                "Mmad multiplies int8_t or int4b_t into int32_t, and half, bfloat16_t or float into float");
  const Instruction instruction("Mmad", PIPE_M, Flow::Uses);
  require_memory(dst, kL0C, "Mmad", "dst");
  require_memory(left, kL0A, "Mmad", "fm");
  require_memory(right, kL0B, "Mmad", "filter");
  const uint32_t m = params.m, n = params.n, k = params.k;
  const auto rows = static_cast<uint32_t>(align_up(m, 16));
  const auto columns = static_cast<uint32_t>(align_up(n, 16));
  const auto inner = static_cast<uint32_t>(align_up(k, kC0<A>));
  const auto bytes = [=](uint32_t outer) { return static_cast<int64_t>(bytes_for<A>(uint64_t{outer} * inner)); };
  const A* a = aligned_in_range(left, bytes(rows), "Mmad", "fm");
  const B* b = aligned_in_range(right, bytes(columns), "Mmad", "filter");
  Sum* c = aligned_in_range(dst, int64_t{rows} * columns * sizeof(Sum), "Mmad", "dst");
  const uint32_t deep = kC0<A>;
  const auto place_a = [=](uint32_t i, uint32_t p) {
    return (i / 16 * inner + p / deep * deep) * 16 + i % 16 * deep + p % deep;
  };
  const auto place_b = [=](uint32_t p, uint32_t j) { return p / deep * deep * columns + j * deep + p % deep; };
  touch_matrix(a, m, k, "Mmad", "fm", MTSIM_READS, place_a);
  // Of the inner dimension two neighbours share a byte where an element has 4 bits.
  touch_matrix(b, n, k, "Mmad", "filter", MTSIM_READS, [=](uint32_t j, uint32_t p) { return place_b(p, j); });
  touch_matrix(c, m, n, "Mmad", "dst", bias != nullptr || params.cmatrixInitVal ? MTSIM_WRITES : MTSIM_UPDATES,
               [=](uint32_t i, uint32_t j) { return l0c_index(i, j, rows); });
  std::vector<Sum> plain_a(uint64_t{m} * k), plain_b(uint64_t{k} * n), plain_c(uint64_t{m} * n);
  for (uint32_t i = 0; i < m; ++i)
    for (uint32_t p = 0; p < k; ++p)
      plain_a[uint64_t{i} * k + p] = factor<Sum>(a, place_a(i, p));
  for (uint32_t p = 0; p < k; ++p)
    for (uint32_t j = 0; j < n; ++j)
      plain_b[uint64_t{p} * n + j] = factor<Sum>(b, place_b(p, j));
  for (uint32_t i = 0; i < m; ++i)
    for (uint32_t j = 0; j < n; ++j)
      plain_c[uint64_t{i} * n + j] = bias != nullptr ? bias[j] : params.cmatrixInitVal ? Sum{0} : c[l0c_index(i, j,
          rows)];
  multiply(plain_c.data(), plain_a.data(), plain_b.data(), m, n, k);
  for (uint32_t i = 0; i < m; ++i)
    for (uint32_t j = 0; j < n; ++j) c[l0c_index(i, j, rows)] = plain_c[uint64_t{i} * n + j];
}

/// Whether a mode scales, and whether by a number of each column.
inline bool scales_columns(QuantMode_t mode) { return mode == VDEQF16 || mode == VQF322B8_PRE || mode == VREQ8; }
inline bool scales(QuantMode_t mode) {
  return scales_columns(mode) || mode == DEQF16 || mode == QF322B8_PRE || mode == REQ8;
}

/// A scale is a float, and above it an offset of 9 bits for results of 8.
inline float scale_of(uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  float scale;
  std::memcpy(&scale, &low, sizeof scale);
  return scale;
}
inline int32_t offset_of(uint64_t bits) {
  const auto nine = static_cast<int32_t>(bits >> 37 & 0x1FF);
  return nine < 256 ? nine : nine - 512;
}

/// What Fixpipe makes of an element: scaled where the mode says so, then cut off below 0, then converted.
template <typename T, typename Sum>
T fix(Sum value, QuantMode_t mode, bool relu, uint64_t bits) {
  auto wide = static_cast<float>(value);
  if constexpr (std::is_same_v<T, Sum>) return relu && value < Sum{0} ? Sum{0} : value;
  if (scales(mode)) wide *= scale_of(bits);
  if (relu && wide < 0) wide = 0;
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    wide = std::nearbyint(wide) + static_cast<float>(scales(mode) ? offset_of(bits) : 0);
    wide = wide < Limits::min() ? Limits::min() : wide > Limits::max() ? Limits::max() : wide;
  }
  return static_cast<T>(wide);
}

template <typename T, typename Sum>
void fixpipe(const GlobalTensor<T>& dst, const LocalTensor<Sum>& src, const AscendC::FixpipeParamsV220& params,
             bool row_major, const uint64_t* column_scales = nullptr) {
  const Instruction instruction("Fixpipe", PIPE_FIX, Flow::Uses);
  require_memory(src, kL0C, "Fixpipe", "src");
  if (scales_columns(params.quantPre) && column_scales == nullptr)
    fault(kVectorCoreException, "Fixpipe: quantPre scales each column by its own number: give a tensor of these");
  if constexpr (!std::is_same_v<T, Sum>) {
    if (params.quantPre == NoQuant)
      fault(kVectorCoreException, "Fixpipe: the result has another type than L0C: quantPre must say how to convert");
  }
  const bool splits = params.isChannelSplit;
  if (splits && (row_major || !std::is_same_v<T, float>))
    fault(kVectorCoreException, "Fixpipe: isChannelSplit is for floats in the format NZ");
  const uint32_t width = row_major || (sizeof(T) > 1 && !splits) ? 16 : splits ? 8 : 32;  // of a fractal
  const uint32_t m = params.mSize, n = params.nSize;
  if (m == 0 || n == 0) return;
  for (uint32_t matrix = 0; matrix < params.ndNum; ++matrix) {
    const uint64_t src_start = uint64_t{matrix} * params.srcNdStride * 256;
    const uint64_t dst_start = uint64_t{matrix} * params.dstNdStride;
    const auto last = static_cast<int64_t>(src_start + l0c_index(m - 1, n - 1, params.srcStride) + 1);
    const Sum* in = aligned_in_range(src, last * static_cast<int64_t>(sizeof(Sum)), "Fixpipe", "src") + src_start;
    touch_matrix(in, m, n, "Fixpipe", "src", MTSIM_READS,
                 [&](uint32_t i, uint32_t j) { return l0c_index(i, j, params.srcStride); });
    const auto place = [&](uint32_t i, uint32_t j) {
      if (row_major) return dst_start + uint64_t{i} * params.dstStride + j;
      return dst_start + uint64_t{j / width} * params.dstStride * kC0<T> + i * width + j % width;
    };
    const auto end = static_cast<int64_t>((place(m - 1, n - 1) + 1) * sizeof(T));
    T* out = global_bytes(dst, end, "Fixpipe", "dst");
    touch_matrix(out, m, n, "Fixpipe", "dst", store_access(), place);
    std::vector<T> row(width);
    for (uint32_t i = 0; i < m; ++i)
      for (uint32_t j = 0; j < n; j += width) {
        const uint32_t count = n - j < width ? n - j : width;
        for (uint32_t x = 0; x < count; ++x) row[x] =
            fix<T>(in[l0c_index(i, j + x, params.srcStride)], params.quantPre, params.reluEn,
                   column_scales != nullptr ? column_scales[j + x] : params.deqScalar);
        store_global(out + place(i, j), row.data(), count * sizeof(T));
      }
  }
}

}  // namespace mtsim

namespace AscendC {

/// Rows of global memory into NZ; the last block of a row is filled up with zeros.
template <typename T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& params) {
  static_assert(mtsim::kBits<T> >= 8, "rows of int4b_t are copied as int8_t: ReinterpretCast<int8_t>() first");
  constexpr uint32_t kWidth = mtsim::kC0<T>;
  if (params.nValue == 0 || params.dValue == 0) return;
  const mtsim::Instruction instruction("DataCopy", PIPE_MTE2, mtsim::Flow::Moves);
  for (uint32_t matrix = 0; matrix < params.ndNum; ++matrix) {
    const uint64_t from = uint64_t{matrix} * params.srcNdMatrixStride;
    const uint64_t src_end = from + (params.nValue - uint64_t{1}) * params.srcDValue + params.dValue;
    const T* in = mtsim::global_bytes(src, static_cast<int64_t>(src_end * sizeof(T)), "DataCopy", "src") + from;
    const auto place = [&](uint32_t n, uint32_t block) {
      return uint64_t{matrix} * params.dstNzMatrixStride + (uint64_t{block} * params.dstNzC0Stride +
          uint64_t{n} * params.dstNzNStride) * kWidth;
    };
    const uint32_t blocks = (params.dValue + kWidth - 1) / kWidth;
    const uint64_t dst_end = place(params.nValue - 1, blocks - 1) + kWidth;
    T* out = mtsim::elements_in_range(dst, static_cast<int64_t>(dst_end), "DataCopy", "dst");
    for (uint32_t n = 0; n < params.nValue; ++n)
      for (uint32_t block = 0; block < blocks; ++block) {
        const uint32_t left = params.dValue - block * kWidth;
        T* to = out + place(n, block);
        mtsim::touch_elements(to, kWidth, "DataCopy", "dst", MTSIM_WRITES);
        const T* row = in + uint64_t{n} * params.srcDValue + block * kWidth;
        const uint64_t used = left < kWidth ? left : kWidth;
        mtsim::touch_elements(row, used, "DataCopy", "src", MTSIM_READS);
        mtsim::moved(to, nullptr, kWidth * sizeof(T));
        mtsim::moved(to, row, used * sizeof(T));
        std::memset(static_cast<void*>(to), 0, kWidth * sizeof(T));
        std::memcpy(static_cast<void*>(to), in + uint64_t{n} * params.srcDValue + block * kWidth,
                    (left < kWidth ? left : kWidth) * sizeof(T));
      }
  }
}

template <typename T>
void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& params) {
  const mtsim::Instruction instruction("LoadData", PIPE_MTE1, mtsim::Flow::Moves);
  mtsim::require_memory(src, mtsim::kL1, "LoadData", "src");
  const T* from = mtsim::aligned_in_range(src, mtsim::fractal_extent(params), "LoadData", "src");
  mtsim::load_fractals(dst, from, params);
}
template <typename T>
void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& params) {
  const mtsim::Instruction instruction("LoadData", PIPE_MTE2, mtsim::Flow::Moves);
  const T* from = mtsim::global_bytes(src, mtsim::fractal_extent(params), "LoadData", "src");
  mtsim::load_fractals(dst, from, params);
}

/// Each 16 x 16 square of 2-byte elements transposed, which is one fractal.
template <typename T>
void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                           const LoadData2dTransposeParams& params) {
  static_assert(sizeof(T) == 2, "LoadDataWithTranspose is simulated for types of 2 bytes");
  LoadData(dst, src, LoadData2DParams(params.startIndex, params.repeatTimes, params.srcStride, 0, params.dstGap, true,
                                      0));
}

template <typename T>
void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<T>& params) {
  constexpr uint32_t kWidth = mtsim::kC0<T>;
  const uint64_t unit = mtsim::memory_of(dst.GetPosition()) == mtsim::kL1 ? 1 : mtsim::kFractal / mtsim::kBlock;
  const uint64_t step = (uint64_t{params.blockNum} + params.dstGap) * unit * kWidth;
  const uint64_t filled = params.blockNum * unit * kWidth;
  const uint64_t extent = params.repeatTimes == 0 ? 0 : (params.repeatTimes - uint64_t{1}) * step + filled;
  const mtsim::Instruction instruction("InitConstValue", unit == 1 ? PIPE_MTE2 : PIPE_MTE1, mtsim::Flow::Uses);
  T* out = mtsim::elements_in_range(dst, static_cast<int64_t>(extent), "InitConstValue", "dst");
  for (uint32_t repeat = 0; mtsim::kChecked && repeat < params.repeatTimes; ++repeat)
    mtsim::touch_elements(out + repeat * step, filled, "InitConstValue", "dst", MTSIM_WRITES);
  for (uint32_t repeat = 0; repeat < params.repeatTimes; ++repeat)
    for (uint64_t i = 0; i < filled; ++i) out[repeat * step + i] = params.initValue;
}

template <typename T>
void Fill(const LocalTensor<T>& dst, const InitConstValueParams<T>& params) {
  InitConstValue(dst, params);
}

/// Floats are rounded to 11 bits before they are multiplied, to even or (the transformed mode) away from 0.
inline void SetHF32Mode(bool hf32Mode) { mtsim::core().hf32 = hf32Mode; }
inline void SetHF32TransMode(bool hf32TransMode) { mtsim::core().hf32_away = hf32TransMode; }
/// The order in which the chip multiplies, which no result depends on.
inline void SetMMLayoutTransform(bool) {}

template <typename Sum, typename A, typename B>
void Mmad(const LocalTensor<Sum>& dst, const LocalTensor<A>& fm, const LocalTensor<B>& filter,
          const MmadParams& params) {
  mtsim::mmad(dst, fm, filter, params, static_cast<const Sum*>(nullptr));
}
/// Starts from a row of n biases, in the bias table or in L0C.
template <typename Sum, typename A, typename B>
void Mmad(const LocalTensor<Sum>& dst, const LocalTensor<A>& fm, const LocalTensor<B>& filter,
          const LocalTensor<Sum>& bias, const MmadParams& params) {
  const mtsim::Instruction instruction("Mmad", PIPE_M, mtsim::Flow::Uses);
  const Sum* row = mtsim::elements(bias, params.n, "Mmad", "bias");
  mtsim::mmad(dst, fm, filter, params, row);
}

template <typename T, typename Sum, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<Sum>& src, const FixpipeParamsV220& params) {
  mtsim::fixpipe(dst, src, params, config.format == CO2Layout::ROW_MAJOR);
}

/// With a scale of each column, in L1.
template <typename T, typename Sum, const FixpipeConfig& config = CFG_ROW_MAJOR>
void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<Sum>& src, const LocalTensor<uint64_t>& cbufWorkspace,
             const FixpipeParamsV220& params) {
  mtsim::require_memory(cbufWorkspace, mtsim::kL1, "Fixpipe", "cbufWorkspace");
  const mtsim::Instruction instruction("Fixpipe", PIPE_FIX, mtsim::Flow::Uses);
  const uint64_t* bits = mtsim::elements(cbufWorkspace, params.nSize, "Fixpipe", "cbufWorkspace");
  mtsim::fixpipe(dst, src, params, config.format == CO2Layout::ROW_MAJOR, bits);
}

/// How many matrices DataCopy takes out of L0C at once: srcNdStride fractals apart there, and elements in the result.
inline void SetFixpipeNz2ndFlag(uint16_t ndNum, uint16_t srcNdStride, uint16_t dstNdStride) {
  mtsim::FixpipeRegisters& registers = mtsim::core().fixpipe;
  registers.matrices = ndNum, registers.source_stride = srcNdStride, registers.destination_stride = dstNdStride;
}
/// The scale of DataCopy out of L0C.
inline void SetFixpipePreQuantFlag(uint64_t config) { mtsim::core().fixpipe.scale = config; }

template <typename T, typename Sum>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<Sum>& src, const DataCopyCO12DstParams& params) {
  const mtsim::FixpipeRegisters& registers = mtsim::core().fixpipe;
  FixpipeParamsV220 same(params.nSize, params.mSize, params.srcStride, params.dstStride, params.reluPre != 0);
  same.quantPre = params.quantPre;
  same.deqScalar = registers.scale;
  same.isChannelSplit = params.channelSplit;
  if (params.nz2ndEn)
    same.ndNum = registers.matrices, same.srcNdStride = registers.source_stride,
    same.dstNdStride = registers.destination_stride;
  mtsim::fixpipe(dst, src, same, params.nz2ndEn);
}

}  // namespace AscendC
