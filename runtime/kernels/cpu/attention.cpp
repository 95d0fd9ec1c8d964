// Attention in blocks of queries and keys, so that memory grows with the length of sequences, not with its square: a row's
// softmax is corrected as further keys come (Milakov and Gimelshein, 2018). Products are those of matmul.cpp.
// Fused multiply-adds, where the processor has them, for the polynomials of exponentials.
#pragma GCC optimize("fp-contract=fast")

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>

#include "lines.h"
#include "tensor.h"
#include "threads.h"
#include "vmath.h"

MT_EXPORT int mt_addmm(const mt_tensor* self, const mt_tensor* mat1, const mt_tensor* mat2, const mt_tensor* out, double beta,
                       double alpha);

namespace mt {
namespace {

constexpr int64_t kQueries = 128;  // of a block
constexpr int64_t kKeys = 512;

// A matrix somewhere in a tensor's memory, or in a buffer.
struct Matrix {
  int64_t shape[2], strides[2];
  mt_tensor tensor;

  Matrix(void* data, int32_t dtype, int64_t rows, int64_t columns, int64_t row, int64_t column)
      : shape{rows, columns}, strides{row, column}, tensor{data, 2, shape, strides, dtype, item_size(dtype)} {}
  Matrix(const Matrix& other) : Matrix(other.tensor.data, other.tensor.dtype, other.shape[0], other.shape[1], other.strides[0], other.strides[1]) {}

  Matrix transposed() const { return {tensor.data, tensor.dtype, shape[1], shape[0], strides[1], strides[0]}; }
};

// Rows [first, first + count) of the matrix of one head of a tensor (batch, heads, rows, columns).
Matrix rows_of(const mt_tensor* t, int64_t batch, int64_t head, int64_t first, int64_t count) {
  const int64_t offset = batch * t->strides[0] + head * t->strides[1] + first * t->strides[2];
  return {static_cast<char*>(t->data) + offset * t->itemsize, t->dtype, count, t->shape[3], t->strides[2], t->strides[3]};
}

// out = beta * out + alpha * a @ b
int product(const Matrix& a, const Matrix& b, const Matrix& out, double beta, double alpha) {
  return mt_addmm(&out.tensor, &a.tensor, &b.tensor, &out.tensor, beta, alpha);
}

// Elements between rows of scores: not a power of two, of which some rows would share the few places of a cache.
constexpr int64_t kScoresRow = kKeys + 16;

// A block of scores: `rows` x `keys`, of which row i sees the first `visible(i)`, in rows of kScoresRow.
struct Block {
  void* scores;
  void* slopes;  // of the scores, in the backward pass
  const void* mask;
  int64_t mask_row, mask_column;
  int64_t rows, keys, first_row, first_key;
  bool causal;
  void* sums;  // of outputs, rows of `width`
  int64_t width;
  double *largest, *totals;
  const double *logs, *deltas;
  double scale;

  MT_INLINE int64_t visible(int64_t row) const {
    return causal ? std::min(std::max<int64_t>(first_row + row - first_key + 1, 0), keys) : keys;
  }
};

template <class T>
MT_INLINE void add_mask(const Block* b, int64_t row, T* scores, int64_t count) {
  if (b->mask == nullptr) return;
  const T* mask = static_cast<const T*>(b->mask) + row * b->mask_row;
  if (b->mask_column == 1) {
    for (int64_t i = 0; i < count; ++i) scores[i] += mask[i];
  } else {
    for (int64_t i = 0; i < count; ++i) scores[i] += mask[i * b->mask_column];
  }
}

// Scores become exponentials about the largest score so far; what was summed about an earlier one is scaled to it.
template <class T>
struct Exponentials {
  MT_INLINE static int run(const Block* b) {
    for (int64_t row = 0; row < b->rows; ++row) {
      T* s = static_cast<T*>(b->scores) + row * kScoresRow;
      const int64_t count = b->visible(row);
      add_mask(b, row, s, count);
      const T m = std::max(T(b->largest[row]), block_max(s, count));
      for (int64_t i = count; i < b->keys; ++i) s[i] = 0;
      if (m == -std::numeric_limits<T>::infinity() && block_sum(s, count) <= 0) {  // nothing is seen yet: not even NaN
        for (int64_t i = 0; i < count; ++i) s[i] = 0;
        continue;
      }
      for (int64_t i = 0; i < count; ++i) s[i] = vexp(s[i] - m);
      const double before = b->totals[row] == 0 ? 0 : std::exp(b->largest[row] - double(m));
      b->totals[row] = b->totals[row] * before + block_sum(s, count);
      b->largest[row] = double(m);
      T* sums = static_cast<T*>(b->sums) + row * b->width;
      if (before != 1)
        for (int64_t c = 0; c < b->width; ++c) sums[c] *= T(before);
    }
    return MT_OK;
  }
};

// Scores become probabilities, and gradients of probabilities those of scores before they were scaled.
template <class T>
struct Slopes {
  MT_INLINE static int run(const Block* b) {
    for (int64_t row = 0; row < b->rows; ++row) {
      T* s = static_cast<T*>(b->scores) + row * kScoresRow;
      T* d = static_cast<T*>(b->slopes) + row * kScoresRow;
      const int64_t count = b->visible(row);
      const T log = T(b->logs[row]), delta = T(b->deltas[row]), scale = T(b->scale);
      add_mask(b, row, s, count);
      for (int64_t i = 0; i < count; ++i) s[i] = vexp(s[i] - log);
      for (int64_t i = 0; i < count; ++i) d[i] = s[i] * (d[i] - delta) * scale;
      for (int64_t i = count; i < b->keys; ++i) s[i] = d[i] = 0;
    }
    return MT_OK;
  }
};

struct Call {
  const mt_tensor *query, *key, *value, *mask;  // mask: null, or (batch, heads, queries, keys) of any strides
  double scale;
  bool causal;

  int64_t batches() const { return query->shape[0]; }
  int64_t heads() const { return query->shape[1]; }
  int64_t queries() const { return query->shape[2]; }
  int64_t keys() const { return key->shape[2]; }
  int64_t blocks() const { return (queries() + kQueries - 1) / kQueries; }
  // What a block of queries costs.
  int64_t block_cost() const { return std::min(kQueries, queries()) * keys() * query->shape[3] / 4; }
  int64_t sharing() const { return heads() / key->shape[1]; }  // heads of queries that share one of keys
  int64_t key_head(int64_t head) const { return head / sharing(); }
  // Keys that queries before `last` may see.
  int64_t keys_for(int64_t last) const { return causal ? std::min(keys(), last) : keys(); }

  int check() const {
    for (const mt_tensor* t : {query, key, value})
      if (t->ndim != 4 || t->shape[0] != batches()) return MT_ERROR_SHAPE;
    if (key->shape[1] == 0 || heads() % key->shape[1] || value->shape[1] != key->shape[1]) return MT_ERROR_SHAPE;
    if (value->shape[2] != keys() || key->shape[3] != query->shape[3]) return MT_ERROR_SHAPE;
    if (key->dtype != query->dtype || value->dtype != query->dtype) return MT_ERROR_DTYPE;
    if (mask == nullptr) return MT_OK;
    if (mask->ndim != 4 || mask->dtype != query->dtype) return MT_ERROR_DTYPE;
    const bool fits = mask->shape[0] == batches() && mask->shape[1] == heads() && mask->shape[2] == queries() && mask->shape[3] == keys();
    return fits ? MT_OK : MT_ERROR_SHAPE;
  }

  void set_mask(Block& block, int64_t batch, int64_t head) const {
    if (mask == nullptr) return;
    const int64_t offset = batch * mask->strides[0] + head * mask->strides[1] + block.first_row * mask->strides[2] +
                           block.first_key * mask->strides[3];
    block.mask = static_cast<const char*>(mask->data) + offset * mask->itemsize;
    block.mask_row = mask->strides[2];
    block.mask_column = mask->strides[3];
  }

  Block block(int64_t row, int64_t last_row, int64_t first_key, int64_t last_key, void* scores) const {
    Block b = {};
    b.scores = scores;
    b.rows = last_row - row;
    b.keys = last_key - first_key;
    b.first_row = row;
    b.first_key = first_key;
    b.causal = causal;
    b.scale = scale;
    return b;
  }
};

// The blocks of queries from `first` to `last`, of all heads of all batches.
template <class T>
int forward_blocks(const Call& call, const mt_tensor* out, const mt_tensor* logs, int64_t first, int64_t last) {
  static const auto exponentials = PerIsa<Exponentials<T>, const Block*>::pick();
  const int32_t dtype = call.query->dtype;
  const int64_t width = call.value->shape[3];
  std::unique_ptr<T[]> memory(new (std::nothrow) T[size_t(kQueries * (kScoresRow + width))]);
  if (!memory) return MT_ERROR_MEMORY;
  T* const scores = memory.get();
  T* const sums = scores + kQueries * kScoresRow;
  double largest[kQueries], totals[kQueries];
  for (; first < last; ++first) {
    const int64_t row = first % call.blocks() * kQueries, head = first / call.blocks() % call.heads();
    const int64_t batch = first / call.blocks() / call.heads();
    const int64_t last_row = std::min(row + kQueries, call.queries());
    const int64_t rows = last_row - row;
    std::fill(sums, sums + rows * width, T(0));
    std::fill(largest, largest + rows, -std::numeric_limits<double>::infinity());
    std::fill(totals, totals + rows, 0.0);
    const Matrix queries = rows_of(call.query, batch, head, row, rows);
    const int64_t keys = call.keys_for(last_row);
    for (int64_t key = 0; key < keys; key += kKeys) {
      const int64_t last_key = std::min(key + kKeys, keys);
      const int64_t kv = call.key_head(head);
      const Matrix found(scores, dtype, rows, last_key - key, kScoresRow, 1);
      const Matrix of_keys = rows_of(call.key, batch, kv, key, last_key - key);
      if (int status = product(queries, of_keys.transposed(), found, 0, call.scale)) return status;
      Block block = call.block(row, last_row, key, last_key, scores);
      call.set_mask(block, batch, head);
      block.sums = sums;
      block.width = width;
      block.largest = largest;
      block.totals = totals;
      exponentials(&block);
      const Matrix result(sums, dtype, rows, width, width, 1);
      if (int status = product(found, rows_of(call.value, batch, kv, key, last_key - key), result, 1, 1)) return status;
    }
    const Matrix target = rows_of(out, batch, head, row, rows);
    T* log = static_cast<T*>(logs->data) + batch * logs->strides[0] + head * logs->strides[1] + row * logs->strides[2];
    for (int64_t i = 0; i < rows; ++i) {
      T* to = static_cast<T*>(target.tensor.data) + i * target.strides[0];
      const T scale = totals[i] == 0 ? T(0) : T(1 / totals[i]);  // a query that sees nothing gets zeros
      for (int64_t c = 0; c < width; ++c) to[c * target.strides[1]] = sums[i * width + c] * scale;
      log[i * logs->strides[2]] = totals[i] == 0 ? T(0) : T(largest[i] + std::log(totals[i]));
    }
  }
  return MT_OK;
}

template <class T>
int forward(const Call& call, const mt_tensor* out, const mt_tensor* logs) {
  const int64_t blocks = call.batches() * call.heads() * call.blocks();
  return parallel(blocks, rows_grain(call.block_cost()), [&](int64_t first, int64_t last) -> int {
    return forward_blocks<T>(call, out, logs, first, last);
  });
}

// What the outputs of the backward pass are added to: zeros, contiguous.
struct Gradients {
  const mt_tensor *query, *key, *value;
};

// The heads of keys from `part` to `last_part`, of all batches: what queries that share them add to their gradients is one part.
template <class T>
int backward_heads(const Call& call, const mt_tensor* grad, const mt_tensor* out, const mt_tensor* logs, const Gradients& to,
                   int64_t part, int64_t last_part) {
  static const auto slopes = PerIsa<Slopes<T>, const Block*>::pick();
  const int32_t dtype = call.query->dtype;
  const int64_t width = call.value->shape[3];
  std::unique_ptr<T[]> memory(new (std::nothrow) T[size_t(2 * kQueries * kScoresRow)]);
  if (!memory) return MT_ERROR_MEMORY;
  T* const scores = memory.get();
  T* const changes = scores + kQueries * kScoresRow;
  double row_logs[kQueries], deltas[kQueries];
  for (; part < last_part; ++part)
    for (int64_t shared = 0; shared < call.sharing(); ++shared)
      for (int64_t row = 0; row < call.queries(); row += kQueries) {
        const int64_t head = part % call.key->shape[1] * call.sharing() + shared, batch = part / call.key->shape[1];
        const int64_t last_row = std::min(row + kQueries, call.queries());
        const int64_t rows = last_row - row;
        const Matrix queries = rows_of(call.query, batch, head, row, rows), grads = rows_of(grad, batch, head, row, rows);
        const Matrix outs = rows_of(out, batch, head, row, rows), to_queries = rows_of(to.query, batch, head, row, rows);
        const T* log = static_cast<const T*>(logs->data) + batch * logs->strides[0] + head * logs->strides[1] + row * logs->strides[2];
        for (int64_t i = 0; i < rows; ++i) {
          const T* g = static_cast<const T*>(grads.tensor.data) + i * grads.strides[0];
          const T* o = static_cast<const T*>(outs.tensor.data) + i * outs.strides[0];
          double delta = 0;
          for (int64_t c = 0; c < width; ++c) delta += double(g[c * grads.strides[1]]) * double(o[c * outs.strides[1]]);
          deltas[i] = delta;
          row_logs[i] = double(log[i * logs->strides[2]]);
        }
        const int64_t keys = call.keys_for(last_row);
        for (int64_t key = 0; key < keys; key += kKeys) {
          const int64_t count = std::min(key + kKeys, keys) - key;
          const int64_t kv = call.key_head(head);
          const Matrix of_keys = rows_of(call.key, batch, kv, key, count), values = rows_of(call.value, batch, kv, key, count);
          const Matrix found(scores, dtype, rows, count, kScoresRow, 1), change(changes, dtype, rows, count, kScoresRow, 1);
          if (int status = product(queries, of_keys.transposed(), found, 0, call.scale)) return status;
          if (int status = product(grads, values.transposed(), change, 0, 1)) return status;
          Block block = call.block(row, last_row, key, key + count, scores);
          call.set_mask(block, batch, head);
          block.slopes = changes;
          block.logs = row_logs;
          block.deltas = deltas;
          slopes(&block);
          if (int status = product(found.transposed(), grads, rows_of(to.value, batch, kv, key, count), 1, 1)) return status;
          if (int status = product(change, of_keys, to_queries, 1, 1)) return status;
          if (int status = product(change.transposed(), queries, rows_of(to.key, batch, kv, key, count), 1, 1)) return status;
        }
      }
  return MT_OK;
}

template <class T>
int backward(const Call& call, const mt_tensor* grad, const mt_tensor* out, const mt_tensor* logs, const Gradients& to) {
  const int64_t cost = call.block_cost() * call.blocks() * call.sharing();
  return parallel(call.batches() * call.key->shape[1], rows_grain(cost, 2), [&](int64_t first, int64_t last) -> int {
    return backward_heads<T>(call, grad, out, logs, to, first, last);
  });
}

}  // namespace
}  // namespace mt

// out = softmax(scale * query @ key.T + mask) @ value, and the logarithms of the softmax's sums; mask is read where has_mask.
// A query that sees no key gets zeros, and 0 for the logarithm.
MT_EXPORT int mt_attention(const mt_tensor* query, const mt_tensor* key, const mt_tensor* value, const mt_tensor* mask,
                           const mt_tensor* out, const mt_tensor* logs, double scale, int64_t causal, int64_t has_mask) {
  const mt::Call call{query, key, value, has_mask ? mask : nullptr, scale, causal != 0};
  if (int status = call.check()) return status;
  if (query->dtype == MT_F32) return mt::forward<float>(call, out, logs);
  return query->dtype == MT_F64 ? mt::forward<double>(call, out, logs) : int(MT_ERROR_DTYPE);
}

// Adds to the gradients of query, key and value; scores are computed again from the logarithms.
MT_EXPORT int mt_attention_backward(const mt_tensor* grad, const mt_tensor* query, const mt_tensor* key, const mt_tensor* value,
                                    const mt_tensor* mask, const mt_tensor* out, const mt_tensor* logs,
                                    const mt_tensor* grad_query, const mt_tensor* grad_key, const mt_tensor* grad_value,
                                    double scale, int64_t causal, int64_t has_mask) {
  const mt::Call call{query, key, value, has_mask ? mask : nullptr, scale, causal != 0};
  if (int status = call.check()) return status;
  const mt::Gradients to{grad_query, grad_key, grad_value};
  if (query->dtype == MT_F32) return mt::backward<float>(call, grad, out, logs, to);
  return query->dtype == MT_F64 ? mt::backward<double>(call, grad, out, logs, to) : int(MT_ERROR_DTYPE);
}
