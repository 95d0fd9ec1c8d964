// Rows, and columns, of a contiguous matrix, for float32 (_f32) and float16 (_f16), whose sums are float:
//   sum_rows, sum_columns        (x, out, uint32 rows, uint32 n, float scale)    a sum of each row or column, times scale
//   add_row                      (x, row, out, uint32 rows, uint32 n)            one row added to each
//   softmax, log_softmax         (x, out, uint32 rows, uint32 n)
//   softmax_backward, log_...    (grad, y, out, uint32 rows, uint32 n)           by their results
//   layer_norm                   (x, weight, bias, out, mean, rstd, uint32 rows, uint32 n, float eps)
//   layer_norm_backward          (grad, x, mean, rstd, weight, out, uint32 rows, uint32 n)
//   layer_norm_columns           (grad, x, mean, rstd, of_weight, of_bias, uint32 rows, uint32 n)
//   embedding                    (table, int64 indices, out, uint32 rows, uint32 n, int64 table_rows)
//   embedding_backward           (grad, int64 indices, out, uint32 rows, uint32 n, int64 table_rows, int64 padding)
// Layer norm and the gradient of a table are float32 alone. `weight` and `bias` may be null. Softmax and layer norm hold a
// row at a time: n is at most 4096. The gradient of a table is added to `out`, in the order of the indices.
#include "tiles.h"

using namespace AscendC;

namespace mindtorch {

constexpr uint32_t kLongest = 4096;  // elements of a row that is held; five such rows of floats and their queues fit
constexpr uint32_t kColumns = 512;   // that a block takes at a time, all rows of them

/// Floats that a kernel computes with, in parts of `size`, and sums of them.
class Room {
 public:
  __aicore__ inline Room(TPipe& pipe, uint32_t size, uint32_t parts) : pipe_(pipe), size_(size) {
    pipe_.InitBuffer(buffer_, (size * (parts + 1) + 8) * sizeof(float));
    all_ = buffer_.Get<float>();
    work_ = all_[parts * size];
    one_ = all_[(parts + 1) * size];
  }
  __aicore__ inline LocalTensor<float> part(uint32_t i) const { return all_[i * size_]; }

  __aicore__ inline float sum(const LocalTensor<float>& x, uint32_t count) {
    ReduceSum(one_, x, work_, count);
    then<HardEvent::V_S>(pipe_);
    return one_.GetValue(0);
  }
  __aicore__ inline float highest(const LocalTensor<float>& x, uint32_t count) {
    ReduceMax(one_, x, work_, count, false);
    then<HardEvent::V_S>(pipe_);
    return one_.GetValue(0);
  }
  /// A number's logarithm, by the vector unit.
  __aicore__ inline float log(float x) {
    Duplicate(one_, x, 8);
    Ln(one_, one_, 8);
    then<HardEvent::V_S>(pipe_);
    return one_.GetValue(0);
  }
  __aicore__ inline float root(float x) {
    Duplicate(one_, x, 8);
    Sqrt(one_, one_, 8);
    then<HardEvent::V_S>(pipe_);
    return one_.GetValue(0);
  }

 private:
  TPipe& pipe_;
  uint32_t size_;
  TBuf<TPosition::VECCALC> buffer_;
  LocalTensor<float> all_, work_, one_;
};

/// Rows that go through one queue each, at most `size` elements at a time.
template <typename T>
class Reader {
 public:
  __aicore__ inline Reader(TPipe& pipe, GM_ADDR from, uint64_t n, uint32_t size) : source_(global<T>(from, n)) {
    pipe.InitBuffer(queue_, kBuffers, size * sizeof(T));
  }
  __aicore__ inline void read(const LocalTensor<float>& wide, uint64_t at, uint32_t count) {
    LocalTensor<T> tile = fetch<T>(queue_, source_[at], count);
    widen<T>(wide, tile, count);
    queue_.FreeTensor(tile);
  }
  /// The same, of other memory.
  __aicore__ inline void read_from(GM_ADDR other, const LocalTensor<float>& wide, uint32_t count) {
    LocalTensor<T> tile = fetch<T>(queue_, global<T>(other, count), count);
    widen<T>(wide, tile, count);
    queue_.FreeTensor(tile);
  }

 private:
  Input<T> queue_;
  GlobalTensor<T> source_;
};

template <typename T>
class Writer {
 public:
  __aicore__ inline Writer(TPipe& pipe, GM_ADDR to, uint64_t n, uint32_t size) : target_(global<T>(to, n)) {
    pipe.InitBuffer(queue_, 1, size * sizeof(T));
  }
  __aicore__ inline void write(const LocalTensor<float>& wide, uint64_t at, uint32_t count) {
    LocalTensor<T> tile = queue_.template AllocTensor<T>();
    narrow<T>(tile, wide, count);
    store<T>(queue_, tile, target_[at], count);
  }
  __aicore__ inline void write(float number, uint64_t at) {
    LocalTensor<T> tile = queue_.template AllocTensor<T>();
    Duplicate(tile, static_cast<T>(number), 32 / sizeof(T));
    store<T>(queue_, tile, target_[at], 1);
  }

 private:
  Output<T> queue_;
  GlobalTensor<T> target_;
};

__aicore__ inline uint32_t padded(uint32_t n) { return (n + 63) / 64 * 64; }  // whole repeats of floats

template <typename T>
__aicore__ inline void sum_rows(GM_ADDR x, GM_ADDR out, uint32_t rows, uint32_t n, float scale) {
  constexpr uint32_t tile = kTileBytes / sizeof(float);
  TPipe pipe;
  Room room(pipe, tile, 1);
  Reader<T> xs(pipe, x, static_cast<uint64_t>(rows) * n, tile);
  Writer<T> outs(pipe, out, rows, 16);
  const Share<T> share(rows);
  for (uint32_t row = share.begin; row < share.end; ++row) {
    float sum = 0;
    for (uint32_t at = 0; at < n; at += tile) {
      const uint32_t count = n - at < tile ? n - at : tile;
      xs.read(room.part(0), static_cast<uint64_t>(row) * n + at, count);
      sum += room.sum(room.part(0), count);
    }
    outs.write(sum * scale, row);
  }
}

template <typename T>
__aicore__ inline void sum_columns(GM_ADDR x, GM_ADDR out, uint32_t rows, uint32_t n, float scale) {
  TPipe pipe;
  Room room(pipe, kColumns, 2);
  Reader<T> xs(pipe, x, static_cast<uint64_t>(rows) * n, kColumns);
  Writer<T> outs(pipe, out, n, kColumns);
  LocalTensor<float> sum = room.part(0), row = room.part(1);
  for (uint32_t at = GetBlockIdx() * kColumns; at < n; at += GetBlockNum() * kColumns) {
    const uint32_t count = n - at < kColumns ? n - at : kColumns;
    Duplicate(sum, 0.0f, count);
    for (uint32_t i = 0; i < rows; ++i) {
      xs.read(row, static_cast<uint64_t>(i) * n + at, count);
      Add(sum, sum, row, count);
    }
    Muls(sum, sum, scale, count);
    outs.write(sum, at, count);
  }
}

template <typename T>
__aicore__ inline void add_row(GM_ADDR x, GM_ADDR row, GM_ADDR out, uint32_t rows, uint32_t n) {
  TPipe pipe;
  Room room(pipe, kColumns, 2);
  Reader<T> xs(pipe, x, static_cast<uint64_t>(rows) * n, kColumns), added(pipe, row, n, kColumns);
  Writer<T> outs(pipe, out, static_cast<uint64_t>(rows) * n, kColumns);
  LocalTensor<float> part = room.part(0), other = room.part(1);
  for (uint32_t at = GetBlockIdx() * kColumns; at < n; at += GetBlockNum() * kColumns) {
    const uint32_t count = n - at < kColumns ? n - at : kColumns;
    added.read(other, at, count);
    for (uint32_t i = 0; i < rows; ++i) {
      const uint64_t from = static_cast<uint64_t>(i) * n + at;
      xs.read(part, from, count);
      Add(part, part, other, count);
      outs.write(part, from, count);
    }
  }
}

/// The rows [begin, end) that this block handles.
struct Rows {
  __aicore__ inline explicit Rows(uint32_t rows) {
    const uint64_t blocks = GetBlockNum();
    begin = rows * GetBlockIdx() / blocks;
    end = rows * (GetBlockIdx() + 1) / blocks;
  }
  uint64_t begin, end;
};

template <typename T, bool logarithms>
__aicore__ inline void softmax(GM_ADDR x, GM_ADDR out, uint32_t rows, uint32_t n) {
  TPipe pipe;
  const uint32_t size = padded(n);
  Room room(pipe, size, 2);
  Reader<T> xs(pipe, x, static_cast<uint64_t>(rows) * n, size);
  Writer<T> outs(pipe, out, static_cast<uint64_t>(rows) * n, size);
  LocalTensor<float> shifted = room.part(0), share = room.part(1);
  const Rows mine(rows);
  for (uint64_t row = mine.begin; row < mine.end; ++row) {
    xs.read(shifted, row * n, n);
    Adds(shifted, shifted, -room.highest(shifted, n), n);
    Exp(share, shifted, n);
    const float sum = room.sum(share, n);
    if constexpr (logarithms) {
      Adds(shifted, shifted, -room.log(sum), n);
      outs.write(shifted, row * n, n);
    } else {
      Muls(share, share, 1.0f / sum, n);
      outs.write(share, row * n, n);
    }
  }
}

/// (grad - sum(grad y)) y; of logarithms grad - sum(grad) exp(y).
template <typename T, bool logarithms>
__aicore__ inline void softmax_backward(GM_ADDR grad, GM_ADDR y, GM_ADDR out, uint32_t rows, uint32_t n) {
  TPipe pipe;
  const uint32_t size = padded(n);
  Room room(pipe, size, 3);
  Reader<T> grads(pipe, grad, static_cast<uint64_t>(rows) * n, size), ys(pipe, y, static_cast<uint64_t>(rows) * n, size);
  Writer<T> outs(pipe, out, static_cast<uint64_t>(rows) * n, size);
  LocalTensor<float> g = room.part(0), value = room.part(1), product = room.part(2);
  const Rows mine(rows);
  for (uint64_t row = mine.begin; row < mine.end; ++row) {
    grads.read(g, row * n, n);
    ys.read(value, row * n, n);
    if constexpr (logarithms) {
      Exp(value, value, n);
      Muls(value, value, -room.sum(g, n), n);
      Add(g, g, value, n);
    } else {
      Mul(product, g, value, n);
      Adds(g, g, -room.sum(product, n), n);
      Mul(g, g, value, n);
    }
    outs.write(g, row * n, n);
  }
}

__aicore__ inline void layer_norm(GM_ADDR x, GM_ADDR weight, GM_ADDR bias, GM_ADDR out, GM_ADDR mean, GM_ADDR rstd,
                                  uint32_t rows, uint32_t n, float eps) {
  TPipe pipe;
  const uint32_t size = padded(n);
  Room room(pipe, size, 4);
  Reader<float> xs(pipe, x, static_cast<uint64_t>(rows) * n, size);
  Writer<float> outs(pipe, out, static_cast<uint64_t>(rows) * n, size), means(pipe, mean, rows, 8), rstds(pipe, rstd, rows, 8);
  LocalTensor<float> row = room.part(0), squares = room.part(1), weights = room.part(2), biases = room.part(3);
  if (weight != nullptr) xs.read_from(weight, weights, n);
  if (bias != nullptr) xs.read_from(bias, biases, n);
  const Rows mine(rows);
  for (uint64_t i = mine.begin; i < mine.end; ++i) {
    xs.read(row, i * n, n);
    const float center = room.sum(row, n) / n;
    Adds(row, row, -center, n);
    Mul(squares, row, row, n);
    const float inverse = 1.0f / room.root(room.sum(squares, n) / n + eps);
    Muls(row, row, inverse, n);
    if (weight != nullptr) Mul(row, row, weights, n);
    if (bias != nullptr) Add(row, row, biases, n);
    outs.write(row, i * n, n);
    means.write(center, i);
    rstds.write(inverse, i);
  }
}

/// With z = (x - mean) rstd and g = grad weight: (g - mean(g) - z mean(g z)) rstd.
__aicore__ inline void layer_norm_backward(GM_ADDR grad, GM_ADDR x, GM_ADDR mean, GM_ADDR rstd, GM_ADDR weight, GM_ADDR out,
                                           uint32_t rows, uint32_t n) {
  TPipe pipe;
  const uint32_t size = padded(n);
  Room room(pipe, size, 4);
  Reader<float> grads(pipe, grad, static_cast<uint64_t>(rows) * n, size), xs(pipe, x, static_cast<uint64_t>(rows) * n, size);
  Writer<float> outs(pipe, out, static_cast<uint64_t>(rows) * n, size);
  const auto means = global<float>(mean, rows), rstds = global<float>(rstd, rows);
  LocalTensor<float> g = room.part(0), z = room.part(1), product = room.part(2), weights = room.part(3);
  if (weight != nullptr) xs.read_from(weight, weights, n);
  const Rows mine(rows);
  for (uint64_t i = mine.begin; i < mine.end; ++i) {
    const float inverse = rstds.GetValue(i);
    grads.read(g, i * n, n);
    xs.read(z, i * n, n);
    Adds(z, z, -means.GetValue(i), n);
    Muls(z, z, inverse, n);
    if (weight != nullptr) Mul(g, g, weights, n);
    Mul(product, g, z, n);
    Muls(z, z, -room.sum(product, n) / n, n);
    Adds(z, z, -room.sum(g, n) / n, n);
    Add(g, g, z, n);
    Muls(g, g, inverse, n);
    outs.write(g, i * n, n);
  }
}

/// The sums over rows of grad z, with z = (x - mean) rstd, and of grad.
__aicore__ inline void layer_norm_columns(GM_ADDR grad, GM_ADDR x, GM_ADDR mean, GM_ADDR rstd, GM_ADDR ofWeight,
                                          GM_ADDR ofBias, uint32_t rows, uint32_t n) {
  TPipe pipe;
  Room room(pipe, kColumns, 4);
  Reader<float> grads(pipe, grad, static_cast<uint64_t>(rows) * n, kColumns),
      xs(pipe, x, static_cast<uint64_t>(rows) * n, kColumns);
  Writer<float> weights(pipe, ofWeight, n, kColumns), biases(pipe, ofBias, n, kColumns);
  const auto means = global<float>(mean, rows), rstds = global<float>(rstd, rows);
  LocalTensor<float> g = room.part(0), z = room.part(1), products = room.part(2), sum = room.part(3);
  for (uint32_t at = GetBlockIdx() * kColumns; at < n; at += GetBlockNum() * kColumns) {
    const uint32_t count = n - at < kColumns ? n - at : kColumns;
    Duplicate(products, 0.0f, count);
    Duplicate(sum, 0.0f, count);
    for (uint32_t i = 0; i < rows; ++i) {
      grads.read(g, static_cast<uint64_t>(i) * n + at, count);
      xs.read(z, static_cast<uint64_t>(i) * n + at, count);
      Adds(z, z, -means.GetValue(i), count);
      Muls(z, z, rstds.GetValue(i), count);
      Mul(z, z, g, count);
      Add(products, products, z, count);
      Add(sum, sum, g, count);
    }
    weights.write(products, at, count);
    biases.write(sum, at, count);
  }
}

/// The row that an index names; one that is no row ends the kernel with an error, as it does on other devices.
__aicore__ inline int64_t row_of(const GlobalTensor<int64_t>& indices, uint64_t i, int64_t rows) {
  const int64_t index = indices.GetValue(i);
  if (index < 0 || index >= rows) Trap();
  return index;
}

template <typename T>
__aicore__ inline void embedding(GM_ADDR table, GM_ADDR index, GM_ADDR out, uint32_t rows, uint32_t n, int64_t tableRows) {
  constexpr uint32_t tile = kTileBytes / sizeof(T);
  TPipe pipe;
  TQueBind<TPosition::VECIN, TPosition::VECOUT, kBuffers> through;
  pipe.InitBuffer(through, kBuffers, kTileBytes);
  const auto source = global<T>(table, static_cast<uint64_t>(tableRows) * n);
  const auto target = global<T>(out, static_cast<uint64_t>(rows) * n);
  const auto indices = global<int64_t>(index, rows);
  const Rows mine(rows);
  for (uint64_t i = mine.begin; i < mine.end; ++i) {
    const uint64_t from = static_cast<uint64_t>(row_of(indices, i, tableRows)) * n;
    for (uint32_t at = 0; at < n; at += tile) {
      const uint32_t count = n - at < tile ? n - at : tile;
      LocalTensor<T> part = through.template AllocTensor<T>();
      DataCopyPad(part, source[from + at], bytes_of<T>(count), DataCopyPadExtParams<T>(false, 0, 0, 0));
      through.EnQue(part);
      part = through.template DeQue<T>();
      DataCopyPad(target[i * n + at], part, bytes_of<T>(count));
      through.FreeTensor(part);
    }
  }
}

__aicore__ inline void embedding_backward(GM_ADDR grad, GM_ADDR index, GM_ADDR out, uint32_t rows, uint32_t n,
                                          int64_t tableRows, int64_t padding) {
  TPipe pipe;
  Room room(pipe, kColumns, 1);
  Reader<float> grads(pipe, grad, static_cast<uint64_t>(rows) * n, kColumns);
  Writer<float> outs(pipe, out, static_cast<uint64_t>(tableRows) * n, kColumns);
  const auto indices = global<int64_t>(index, rows);
  SetAtomicAdd<float>();
  for (uint32_t at = GetBlockIdx() * kColumns; at < n; at += GetBlockNum() * kColumns) {
    const uint32_t count = n - at < kColumns ? n - at : kColumns;
    for (uint32_t i = 0; i < rows; ++i) {
      const int64_t row = row_of(indices, i, tableRows);
      if (row == padding) continue;
      grads.read(room.part(0), static_cast<uint64_t>(i) * n + at, count);
      outs.write(room.part(0), static_cast<uint64_t>(row) * n + at, count);
    }
  }
  SetAtomicNone();
}

}  // namespace mindtorch

#define FOR_BOTH(KIND, NAME) KIND(NAME, f32, float) KIND(NAME, f16, half)
#define SUM(NAME, SUFFIX, T)                                                                                               \
  extern "C" __global__ __aicore__ void NAME##_##SUFFIX(GM_ADDR x, GM_ADDR out, uint32_t rows, uint32_t n, float scale) { \
    mindtorch::NAME<T>(x, out, rows, n, scale);                                                                            \
  }
#define SOFTMAX(NAME, SUFFIX, T)                                                                                            \
  extern "C" __global__ __aicore__ void NAME##_##SUFFIX(GM_ADDR x, GM_ADDR out, uint32_t rows, uint32_t n) {                \
    mindtorch::softmax<T, false>(x, out, rows, n);                                                                          \
  }                                                                                                                         \
  extern "C" __global__ __aicore__ void log_##NAME##_##SUFFIX(GM_ADDR x, GM_ADDR out, uint32_t rows, uint32_t n) {          \
    mindtorch::softmax<T, true>(x, out, rows, n);                                                                           \
  }                                                                                                                         \
  extern "C" __global__ __aicore__ void NAME##_backward_##SUFFIX(GM_ADDR grad, GM_ADDR y, GM_ADDR out, uint32_t rows,       \
                                                                 uint32_t n) {                                              \
    mindtorch::softmax_backward<T, false>(grad, y, out, rows, n);                                                           \
  }                                                                                                                         \
  extern "C" __global__ __aicore__ void log_##NAME##_backward_##SUFFIX(GM_ADDR grad, GM_ADDR y, GM_ADDR out, uint32_t rows, \
                                                                       uint32_t n) {                                        \
    mindtorch::softmax_backward<T, true>(grad, y, out, rows, n);                                                            \
  }
#define ADD_ROW(NAME, SUFFIX, T)                                                                                            \
  extern "C" __global__ __aicore__ void NAME##_##SUFFIX(GM_ADDR x, GM_ADDR row, GM_ADDR out, uint32_t rows, uint32_t n) { \
    mindtorch::NAME<T>(x, row, out, rows, n);                                                                               \
  }
#define EMBEDDING(NAME, SUFFIX, T)                                                                                       \
  extern "C" __global__ __aicore__ void NAME##_##SUFFIX(GM_ADDR table, GM_ADDR indices, GM_ADDR out, uint32_t rows,     \
                                                        uint32_t n, int64_t table_rows) {                                \
    mindtorch::NAME<T>(table, indices, out, rows, n, table_rows);                                                       \
  }

FOR_BOTH(SUM, sum_rows)
FOR_BOTH(SUM, sum_columns)
FOR_BOTH(ADD_ROW, add_row)
FOR_BOTH(SOFTMAX, softmax)
FOR_BOTH(EMBEDDING, embedding)

extern "C" __global__ __aicore__ void layer_norm_f32(GM_ADDR x, GM_ADDR weight, GM_ADDR bias, GM_ADDR out, GM_ADDR mean,
                                                     GM_ADDR rstd, uint32_t rows, uint32_t n, float eps) {
  mindtorch::layer_norm(x, weight, bias, out, mean, rstd, rows, n, eps);
}
extern "C" __global__ __aicore__ void layer_norm_backward_f32(GM_ADDR grad, GM_ADDR x, GM_ADDR mean, GM_ADDR rstd,
                                                              GM_ADDR weight, GM_ADDR out, uint32_t rows, uint32_t n) {
  mindtorch::layer_norm_backward(grad, x, mean, rstd, weight, out, rows, n);
}
extern "C" __global__ __aicore__ void layer_norm_columns_f32(GM_ADDR grad, GM_ADDR x, GM_ADDR mean, GM_ADDR rstd,
                                                             GM_ADDR of_weight, GM_ADDR of_bias, uint32_t rows, uint32_t n) {
  mindtorch::layer_norm_columns(grad, x, mean, rstd, of_weight, of_bias, rows, n);
}
extern "C" __global__ __aicore__ void embedding_backward_f32(GM_ADDR grad, GM_ADDR indices, GM_ADDR out, uint32_t rows,
                                                             uint32_t n, int64_t table_rows, int64_t padding) {
  mindtorch::embedding_backward(grad, indices, out, rows, n, table_rows, padding);
}
