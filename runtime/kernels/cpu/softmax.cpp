// Softmax, log-softmax and their gradients along one dimension; computed in float32 or float64, one row after the other where rows lie
// in one piece and are long, else many side by side.
// Fused multiply-adds, where the processor has them, for the polynomials of exponentials.
#pragma GCC optimize("fp-contract=fast")

#include <algorithm>
#include <limits>
#include <vector>

#include "elementwise.h"
#include "lines.h"
#include "tensor.h"
#include "threads.h"
#include "vmath.h"

namespace mt {
namespace {

// Calls f(first, count) for the stretches of a row, whose passes are as long as it is.
template <class F>
MT_INLINE int stretches(int64_t n, Pace& pace, F&& f) {
  for (int64_t first = 0; first < n; first += kStretch) {
    const int64_t count = std::min(kStretch, n - first);
    f(first, count);
    if (pace.stops(count)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}
// A part of a row function, which must be compiled with it for its instruction set.
#define STRETCH(...) [__VA_ARGS__](int64_t first, int64_t count) __attribute__((always_inline))

constexpr int64_t kWide = 256;  // rows that are computed side by side

// An operand's elements of rows side by side: line i has the i-th of each. Where they are not one after the other, and of type T,
// they are kept in a buffer: all lines of it, where it holds them.
template <class T>
struct Lines {
  char* data;
  int64_t line, step;  // how far apart lines are, in bytes, and the elements of one
  CastFn cast;
  bool direct;
  T* buffer;
  int64_t apart;       // the lines in it; 0: it holds one

  MT_INLINE const T* read(int64_t i, int64_t width) const {
    if (direct) return reinterpret_cast<const T*>(data + i * line);
    cast(buffer + i * apart, 1, data + i * line, step, width);
    return buffer + i * apart;
  }
  // A line that was read before.
  MT_INLINE const T* again(int64_t i, int64_t width) const { return direct || apart == 0 ? read(i, width) : buffer + i * apart; }
  // Where to write line i, which `written` then keeps.
  MT_INLINE T* place(int64_t i) const { return direct ? reinterpret_cast<T*>(data + i * line) : buffer; }
  MT_INLINE void written(int64_t i, int64_t width) const {
    if (!direct) cast(data + i * line, step, buffer, 1, width);
  }
};

// Calls f(line) for each of n.
template <class F>
MT_INLINE int each_line(int64_t n, int64_t width, Pace& pace, F&& f) {
  for (int64_t i = 0; i < n; ++i) {
    f(i);
    if (pace.stops(width)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}
#define LINE(...) [__VA_ARGS__](int64_t i) __attribute__((always_inline))

// Of each row its largest number, and the sum of the exponentials of the distances from it.
template <class T>
MT_INLINE int columns_exp_sum(const Lines<T>& a, int64_t n, int64_t width, Pace& pace, T* m, double* total) {
  for (int64_t w = 0; w < width; ++w) m[w] = -std::numeric_limits<T>::infinity(), total[w] = 0;
  const int status = each_line(n, width, pace, LINE(&) {
    const T* x = a.read(i, width);
    for (int64_t w = 0; w < width; ++w) m[w] = x[w] > m[w] ? x[w] : m[w];
  });
  if (status) return status;
  return each_line(n, width, pace, LINE(&) {
    const T* x = a.again(i, width);
    for (int64_t w = 0; w < width; ++w) total[w] += double(vexp(x[w] - m[w]));
  });
}

constexpr int64_t kRowWeight = 8;  // what an element costs, beside one of a sum

template <class T>
MT_INLINE int row_max(const T* x, int64_t n, Pace& pace, T* result) {
  T m = -std::numeric_limits<T>::infinity();
  const int status = stretches(n, pace, STRETCH(&) {
    const T largest = block_max(x + first, count);
    m = largest > m ? largest : m;
  });
  *result = m;
  return status;
}

template <class T>
MT_INLINE int row_sum(const T* x, int64_t n, Pace& pace, double* result) {
  double total = 0;
  const int status = stretches(n, pace, STRETCH(&) { total += block_sum(x + first, count); });
  *result = total;
  return status;
}

// Each function: `out` from `a` (and `b`), which out may be: `run` of a contiguous row of n, `columns` of rows side by side.
template <class T>
struct Softmax {
  MT_INLINE static int run(void* out_, const void* a_, const void*, int64_t n, Pace* pace) {
    T* out = static_cast<T*>(out_);
    const T* x = static_cast<const T*>(a_);
    T m;
    if (int status = row_max(x, n, *pace, &m)) return status;
    if (int status = stretches(n, *pace, STRETCH(=) {
          for (int64_t i = first; i < first + count; ++i) out[i] = vexp(x[i] - m);
        }))
      return status;
    double total;
    if (int status = row_sum(out, n, *pace, &total)) return status;
    const T scale = T(1.0 / total);
    return stretches(n, *pace, STRETCH(=) {
      for (int64_t i = first; i < first + count; ++i) out[i] *= scale;
    });
  }

  MT_INLINE static int columns(const Lines<T>* l, int64_t n, int64_t width, Pace* pace) {
    T m[kWide], scale[kWide];
    double total[kWide];
    if (int status = columns_exp_sum(l[1], n, width, *pace, m, total)) return status;
    for (int64_t w = 0; w < width; ++w) scale[w] = T(1.0 / total[w]);
    return each_line(n, width, *pace, LINE(&) {
      const T* x = l[1].again(i, width);
      T* out = l[0].place(i);
#pragma GCC ivdep
      for (int64_t w = 0; w < width; ++w) out[w] = vexp(x[w] - m[w]) * scale[w];
      l[0].written(i, width);
    });
  }
};

template <class T>
struct LogSoftmax {
  MT_INLINE static int run(void* out_, const void* a_, const void*, int64_t n, Pace* pace) {
    T* out = static_cast<T*>(out_);
    const T* x = static_cast<const T*>(a_);
    T m;
    if (int status = row_max(x, n, *pace, &m)) return status;
    double total = 0;
    T block[kBlock];  // the exponentials are needed for their sum only
    for (int64_t start = 0; start < n; start += kBlock) {
      const int64_t count = std::min(kBlock, n - start);
      for (int64_t i = 0; i < count; ++i) block[i] = vexp(x[start + i] - m);
      total += block_sum(block, count);
      if (pace->stops(count)) return MT_ERROR_INTERRUPTED;
    }
    const T log_total = vlog(T(total));
    return stretches(n, *pace, STRETCH(=) {
      for (int64_t i = first; i < first + count; ++i) out[i] = x[i] - m - log_total;
    });
  }

  MT_INLINE static int columns(const Lines<T>* l, int64_t n, int64_t width, Pace* pace) {
    T m[kWide], log_total[kWide];
    double total[kWide];
    if (int status = columns_exp_sum(l[1], n, width, *pace, m, total)) return status;
    for (int64_t w = 0; w < width; ++w) log_total[w] = vlog(T(total[w]));
    return each_line(n, width, *pace, LINE(&) {
      const T* x = l[1].again(i, width);
      T* out = l[0].place(i);
#pragma GCC ivdep
      for (int64_t w = 0; w < width; ++w) out[w] = x[w] - m[w] - log_total[w];
      l[0].written(i, width);
    });
  }
};

// a: gradient, b: the softmax itself. out = b * (a - sum(a * b))
template <class T>
struct SoftmaxBackward {
  MT_INLINE static int run(void* out_, const void* a_, const void* b_, int64_t n, Pace* pace) {
    T* out = static_cast<T*>(out_);
    const T* grad = static_cast<const T*>(a_);
    const T* y = static_cast<const T*>(b_);
    double dot = 0;
    if (int status = stretches(n, *pace, STRETCH(&) {
          dot += block_dot(grad + first, y + first, count);
        }))
      return status;
    const T d = T(dot);
    return stretches(n, *pace, STRETCH(=) {
      for (int64_t i = first; i < first + count; ++i) out[i] = y[i] * (grad[i] - d);
    });
  }

  MT_INLINE static int columns(const Lines<T>* l, int64_t n, int64_t width, Pace* pace) {
    double dot[kWide] = {};
    T d[kWide];
    const int status = each_line(n, width, *pace, LINE(&) {
      const T *grad = l[1].read(i, width), *y = l[2].read(i, width);
      for (int64_t w = 0; w < width; ++w) dot[w] += double(grad[w]) * double(y[w]);
    });
    if (status) return status;
    for (int64_t w = 0; w < width; ++w) d[w] = T(dot[w]);
    return each_line(n, width, *pace, LINE(&) {
      const T *grad = l[1].again(i, width), *y = l[2].again(i, width);
      T* out = l[0].place(i);
#pragma GCC ivdep
      for (int64_t w = 0; w < width; ++w) out[w] = y[w] * (grad[w] - d[w]);
      l[0].written(i, width);
    });
  }
};

// a: gradient, b: the log-softmax itself. out = a - exp(b) * sum(a)
template <class T>
struct LogSoftmaxBackward {
  MT_INLINE static int run(void* out_, const void* a_, const void* b_, int64_t n, Pace* pace) {
    T* out = static_cast<T*>(out_);
    const T* grad = static_cast<const T*>(a_);
    const T* y = static_cast<const T*>(b_);
    double sum;
    if (int status = row_sum(grad, n, *pace, &sum)) return status;
    const T total = T(sum);
    return stretches(n, *pace, STRETCH(=) {
      for (int64_t i = first; i < first + count; ++i) out[i] = grad[i] - vexp(y[i]) * total;
    });
  }

  MT_INLINE static int columns(const Lines<T>* l, int64_t n, int64_t width, Pace* pace) {
    double sum[kWide] = {};
    T total[kWide];
    const int status = each_line(n, width, *pace, LINE(&) {
      const T* grad = l[1].read(i, width);
      for (int64_t w = 0; w < width; ++w) sum[w] += double(grad[w]);
    });
    if (status) return status;
    for (int64_t w = 0; w < width; ++w) total[w] = T(sum[w]);
    return each_line(n, width, *pace, LINE(&) {
      const T *grad = l[1].again(i, width), *y = l[2].read(i, width);
      T* out = l[0].place(i);
#pragma GCC ivdep
      for (int64_t w = 0; w < width; ++w) out[w] = grad[w] - vexp(y[w]) * total[w];
      l[0].written(i, width);
    });
  }
};

// Rows that lie `apart` bytes from each other.
template <template <class> class Function, class T>
struct EachRow {
  MT_INLINE static int run(char* const* p, const int64_t* apart, int64_t n, int64_t count, Pace* pace) {
    for (int64_t row = 0; row < count; ++row)
      if (int status = Function<T>::run(p[0] + row * apart[0], p[1] + row * apart[1], p[2] + row * apart[2], n, pace)) return status;
    return MT_OK;
  }
};

template <template <class> class Function, class T>
struct Columns {
  MT_INLINE static int run(const Lines<T>* lines, int64_t n, int64_t width, Pace* pace) {
    return Function<T>::columns(lines, n, width, pace);
  }
};

// Operands of one shape without the dimension that a function goes along: [0] the output, then one or two inputs.
template <int N>
struct Rows {
  Walk<N> walk;
  int64_t n;           // of a row
  int64_t stride[N];   // from one of its elements to the next
  int32_t dtype[N];

  int init(const mt_tensor* const* operands, int64_t dim) {
    const mt_tensor* out = operands[0];
    n = out->ndim == 0 ? 1 : out->shape[dim];
    int64_t shape[kMaxDims], strides[N][kMaxDims];
    mt_tensor without[N];
    const mt_tensor* given[N];
    for (int k = 0; k < N; ++k) {
      int64_t left = 0;
      for (int64_t d = 0; d < out->ndim; ++d) {
        if (d == dim) continue;
        shape[left] = out->shape[d];
        strides[k][left++] = operands[k]->strides[d];
      }
      stride[k] = out->ndim == 0 ? 1 : operands[k]->strides[dim];
      dtype[k] = operands[k]->dtype;
      without[k] = {operands[k]->data, left, shape, strides[k], dtype[k], operands[k]->itemsize};
      given[k] = &without[k];
    }
    if (int status = walk.init(given)) return status;
    if (walk.ndim == 0) {  // one row: give the cursor a dimension to walk
      walk.ndim = 1;
      walk.shape[0] = 1;
      for (int k = 0; k < N; ++k) walk.strides[k][0] = 1;
    }
    return MT_OK;
  }

  // Whether many rows are computed side by side: where a row's elements are apart, or so few that a row is too little.
  bool side_by_side() const {
    const int64_t few = is_narrow(dtype[1]) ? 2 * kFew : kFew;
    return n > 1 && walk.shape[walk.ndim - 1] >= kFew && (stride[1] != 1 || n < few);
  }
  static bool is_narrow(int32_t dtype) { return dtype == MT_F16 || dtype == MT_BF16; }
  static constexpr int64_t kFew = 16;
  static constexpr int64_t kHeld = 64;  // lines that fit a fast cache

  template <class T>
  CastFn cast(int k) const {
    const int32_t own = sizeof(T) == 4 ? MT_F32 : MT_F64;
    return k == 0 ? cast_fn(dtype[0], own) : cast_fn(own, dtype[k]);
  }
  template <class T>
  bool is_plain(int k, int64_t step) const {
    return dtype[k] == (sizeof(T) == 4 ? MT_F32 : MT_F64) && step == 1;
  }

  // The rows from `first` to `last`, one after the other.
  template <template <class> class Function, class T>
  int one_by_one(int64_t first, int64_t last) const {
    static const auto fn = PerIsa<EachRow<Function, T>, char* const*, const int64_t*, int64_t, int64_t, Pace*>::pick();
    const int inner = walk.ndim - 1;
    std::vector<T> buffers[N];
    CastFn casts[N];
    bool direct[N], all = true;
    int64_t apart[3] = {};
    for (int k = 0; k < N; ++k) {
      casts[k] = cast<T>(k);
      direct[k] = is_plain<T>(k, n == 1 ? 1 : stride[k]);
      all = all && direct[k];
      apart[k] = walk.strides[k][inner] * walk.itemsize[k];
      if (!direct[k]) buffers[k].resize(size_t(n));
    }
    Pace pace;
    Cursor cursor;
    cursor.advance(walk, first);
    for (int64_t count; first < last; first += count, cursor.advance(walk, count)) {
      count = all ? std::min(last - first, walk.shape[inner] - cursor.index[inner]) : 1;
      char* p[3] = {};
      for (int k = 0; k < N; ++k) {
        char* address = cursor.address(walk, k);
        p[k] = direct[k] ? address : reinterpret_cast<char*>(buffers[k].data());
        if (!direct[k] && k > 0) casts[k](p[k], 1, address, stride[k], n);
      }
      if (int status = fn(p, apart, n, count, &pace)) return status;
      if (!direct[0]) casts[0](cursor.address(walk, 0), stride[0], p[0], 1, n);
    }
    return MT_OK;
  }

  // The rows from `first` to `last`, side by side.
  template <template <class> class Function, class T>
  int many(int64_t first, int64_t last) const {
    static const auto fn = PerIsa<Columns<Function, T>, const Lines<T>*, int64_t, int64_t, Pace*>::pick();
    const int inner = walk.ndim - 1;
    const bool held = n <= kHeld;
    std::vector<T> buffers[N];
    Lines<T> lines[N];
    for (int k = 0; k < N; ++k) {
      lines[k].line = stride[k] * walk.itemsize[k];
      lines[k].step = walk.strides[k][inner];
      lines[k].cast = cast<T>(k);
      lines[k].direct = is_plain<T>(k, walk.strides[k][inner]);
      if (!lines[k].direct) buffers[k].resize(size_t(kWide * (held ? n : 1)));
      lines[k].buffer = buffers[k].data();
      lines[k].apart = held ? kWide : 0;
    }
    Pace pace;
    Cursor cursor;
    cursor.advance(walk, first);
    for (int64_t width; first < last; first += width, cursor.advance(walk, width)) {
      width = std::min({kWide, last - first, walk.shape[inner] - cursor.index[inner]});
      for (int k = 0; k < N; ++k) lines[k].data = cursor.address(walk, k);
      if (int status = fn(lines, n, width, &pace)) return status;
    }
    return MT_OK;
  }

  template <template <class> class Function, class T>
  int run() const {
    const bool columns = side_by_side();
    return parallel(walk.numel, rows_grain(n, kRowWeight), [=](int64_t first, int64_t last) -> int {
      return columns ? many<Function, T>(first, last) : one_by_one<Function, T>(first, last);
    });
  }
};

template <template <class> class Function, int N>
int along(const mt_tensor* const* operands, int64_t dim) {
  const mt_tensor* out = operands[0];
  if (out->ndim > kMaxDims) return MT_ERROR_SHAPE;
  for (int k = 0; k < N; ++k) {
    if (!is_floating(operands[k]->dtype)) return MT_ERROR_DTYPE;
    if (N == 3 && operands[k]->dtype != out->dtype) return MT_ERROR_DTYPE;
    if (!same_shape(out, operands[k])) return MT_ERROR_SHAPE;
  }
  const int64_t dims = out->ndim == 0 ? 1 : out->ndim;
  if (dim < 0) dim += dims;
  if (dim < 0 || dim >= dims) return MT_ERROR_INDEX;
  if (numel(out) == 0) return MT_OK;
  Rows<N> rows;
  if (int status = rows.init(operands, dim)) return status;
  return compute_dtype(out->dtype) == MT_F64 ? rows.template run<Function, double>() : rows.template run<Function, float>();
}

}  // namespace
}  // namespace mt

MT_EXPORT int mt_softmax(const mt_tensor* self, const mt_tensor* out, int64_t dim) {
  const mt_tensor* operands[] = {out, self};
  return mt::along<mt::Softmax, 2>(operands, dim);
}
MT_EXPORT int mt_log_softmax(const mt_tensor* self, const mt_tensor* out, int64_t dim) {
  const mt_tensor* operands[] = {out, self};
  return mt::along<mt::LogSoftmax, 2>(operands, dim);
}
MT_EXPORT int mt_softmax_backward(const mt_tensor* grad, const mt_tensor* output, const mt_tensor* out, int64_t dim) {
  const mt_tensor* operands[] = {out, grad, output};
  return mt::along<mt::SoftmaxBackward, 3>(operands, dim);
}
MT_EXPORT int mt_log_softmax_backward(const mt_tensor* grad, const mt_tensor* output, const mt_tensor* out,
                                      int64_t dim) {
  const mt_tensor* operands[] = {out, grad, output};
  return mt::along<mt::LogSoftmaxBackward, 3>(operands, dim);
}
