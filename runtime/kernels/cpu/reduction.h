// How a tensor is reduced over some of its dimensions, whatever the reduction: what is kept and what is reduced are walked in the
// order of memory, and loops over runs or rows of values fill accumulators. Sums of float32 are accumulated in float64; of long runs,
// sums of two.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>
#include <vector>

#include "numbers.h"
#include "tensor.h"
#include "threads.h"

namespace mt {

constexpr int kLanes = 32;  // independent accumulators, so that a run vectorises
constexpr int kRows = 4;      // that are added up together
constexpr int kFewLanes = 8;  // of what is left of it

// Dimensions walked together, outermost first, with strides of the input and of the output.
struct Dims {
  int n = 0;
  int64_t numel = 1;
  int64_t shape[kMaxDims], in[kMaxDims], out[kMaxDims];

  void add(int64_t size, int64_t in_stride, int64_t out_stride) {
    numel *= size;
    if (size == 1) return;
    if (n > 0 && in[n - 1] == in_stride * size && out[n - 1] == out_stride * size) {
      shape[n - 1] *= size;
      in[n - 1] = in_stride;
      out[n - 1] = out_stride;
      return;
    }
    shape[n] = size;
    in[n] = in_stride;
    out[n++] = out_stride;
  }
  int64_t inner_stride() const { return n == 0 ? 0 : std::abs(in[n - 1]); }

  // Calls f(in offset, out offset), until it returns another status than MT_OK, for every index of the dimensions but the
  // last `skip`.
  template <class F>
  int each(int skip, F&& f) const {
    int64_t index[kMaxDims] = {};
    const int outer = std::max(n - skip, 0);
    int64_t in_offset = 0, out_offset = 0;
    for (;;) {
      if (int status = f(in_offset, out_offset)) return status;
      int d = outer - 1;
      for (; d >= 0; --d) {
        in_offset += in[d];
        out_offset += out[d];
        if (++index[d] < shape[d]) break;
        in_offset -= in[d] * shape[d];
        out_offset -= out[d] * shape[d];
        index[d] = 0;
      }
      if (d < 0) return MT_OK;
    }
  }
};

// What is kept is visited in the order of the input's memory, and so is what is reduced unless its positions count.
inline int split(const mt_tensor* self, const mt_tensor* out, uint64_t mask, bool positions, Dims& kept, Dims& reduced) {
  if (self->ndim > kMaxDims) return MT_ERROR_SHAPE;
  const bool keepdim = out->ndim == self->ndim;
  int64_t order[kMaxDims], out_stride[kMaxDims], od = 0;
  for (int64_t d = 0; d < self->ndim; ++d) {
    const bool gone = mask >> d & 1;
    if (!gone && (od >= out->ndim || out->shape[od] != self->shape[d])) return MT_ERROR_SHAPE;
    out_stride[d] = gone ? 0 : out->strides[od];
    od += !gone || keepdim;
    order[d] = d;
  }
  if (od != out->ndim) return MT_ERROR_SHAPE;
  const auto farther = [&](int64_t a, int64_t b) {
    return std::abs(self->strides[a]) > std::abs(self->strides[b]) && !(positions && mask >> a & mask >> b & 1);
  };
  for (int64_t i = 1; i < self->ndim; ++i)  // by insertion, as most tensors are in order
    for (int64_t j = i; j > 0 && farther(order[j], order[j - 1]); --j) std::swap(order[j], order[j - 1]);
  for (int64_t i = 0; i < self->ndim; ++i) {
    const int64_t d = order[i];
    (mask >> d & 1 ? reduced : kept).add(self->shape[d], self->strides[d], out_stride[d]);
  }
  return MT_OK;
}

// What values of type T are added up in.
template <class T>
struct Wide {
  using Type = T;
};
template <>
struct Wide<float> {
  using Type = double;
};
template <>
struct Wide<std::complex<float>> {
  using Type = std::complex<double>;
};

// A reduction of values of type T: an accumulator, how a value and another accumulator enter it, and its result.
template <class T>
struct Sum {
  static constexpr bool kPositions = false;  // whether the result is one
  static constexpr bool kTerms = std::is_same_v<T, float>;
  using Acc = typename Wide<T>::Type;
  using Result = Acc;
  MT_INLINE static T term(T v) { return v; }
  static Acc init() { return 0; }
  MT_INLINE static void step(Acc& acc, T v, int64_t) { acc = wrap_add(acc, Acc(v)); }
  MT_INLINE static void merge(Acc& acc, Acc other) { acc = wrap_add(acc, other); }
  static Result finish(Acc acc, int64_t) { return acc; }
};

template <class T>
struct Mean : Sum<T> {
  using Acc = typename Sum<T>::Acc;
  using Result = std::conditional_t<std::is_same_v<Acc, std::complex<double>>, Acc, double>;
  static Result finish(Acc acc, int64_t n) { return Result(acc) / double(n); }
};

template <class T, bool Max>
struct Extreme {
  static constexpr bool kPositions = false;
  using Acc = T;
  using Result = T;
  static Acc init() {
    using L = std::numeric_limits<T>;
    if constexpr (L::has_infinity) return Max ? -L::infinity() : L::infinity();
    return Max ? L::lowest() : L::max();
  }
  MT_INLINE static void step(Acc& acc, T v, int64_t) { merge(acc, v); }
  MT_INLINE static void merge(Acc& acc, T v) {
    const bool better = Max ? v > acc : v < acc;
    acc = better | (v != v) ? v : acc;
  }
  static Result finish(Acc acc, int64_t) { return acc; }
};
// The position of the extreme: of the first NaN if there is one, else of the first of equals.
template <class T, bool Max>
struct ArgExtreme {
  static constexpr bool kPositions = true;
  struct Acc {
    T value;
    int64_t index;
  };
  using Result = int64_t;
  static Acc init() { return {T(0), -1}; }
  MT_INLINE static void step(Acc& acc, T v, int64_t index) { merge(acc, {v, index}); }
  MT_INLINE static void merge(Acc& acc, const Acc& other) {
    if (other.index < 0) return;
    const bool acc_nan = acc.value != acc.value, other_nan = other.value != other.value;
    const bool equal = other.value == acc.value || (acc_nan && other_nan);
    const bool better = !acc_nan && (other_nan || (Max ? other.value > acc.value : other.value < acc.value));
    if (acc.index < 0 || better || (equal && other.index < acc.index)) acc = other;
  }
  static Result finish(const Acc& acc, int64_t) { return acc.index; }
};
// Whether float32 is added up in float64: values are added in twos first, as taking them apart to convert them costs as much as
// adding them. That rounds once, as the result does, and does not grow with their number.
template <class Op, class = void>
constexpr bool kAddsFloats = false;
template <class Op>
constexpr bool kAddsFloats<Op, std::enable_if_t<Op::kTerms>> = true;

// Values from i on, as many as make whole rows of Lanes, into accumulators of their own and then into `Width`, in turns.
template <class Op, class T, int Lanes, int Width = 1>
MT_INLINE void step_lanes(typename Op::Acc* totals, const T* v, int64_t& i, int64_t n, int64_t first) {
  constexpr int kApart = kAddsFloats<Op> ? Lanes / 2 : 0;  // of the two that are added first
  typename Op::Acc lanes[Lanes];
  for (int l = 0; l < Lanes; ++l) lanes[l] = Op::init();
  for (; i + Lanes <= n; i += Lanes) {
    if constexpr (kApart > 0) {
      for (int l = 0; l < kApart; ++l) lanes[l] += Op::term(number(v[i + l])) + Op::term(number(v[i + l + kApart]));
    } else {
      for (int l = 0; l < Lanes; ++l) Op::step(lanes[l], number(v[i + l]), first + i + l);
    }
  }
  for (int step = Lanes / 2; step >= Width; step /= 2)
    for (int l = 0; l < step; ++l) Op::merge(lanes[l], lanes[l + step]);
  for (int l = 0; l < Width; ++l) Op::merge(totals[l], lanes[l]);
}

// A run of values into one accumulator; `first` is the position of the first value.
template <class Op, class T>
struct RunLoop {
  using Acc = typename Op::Acc;
  MT_INLINE static int run(void* acc, const void* data, int64_t n, int64_t first) {
    Acc total = *static_cast<Acc*>(acc);
    const T* v = static_cast<const T*>(data);
    int64_t i = 0;
    if (n >= kLanes) step_lanes<Op, T, kLanes>(&total, v, i, n, first);
    if (n - i >= kFewLanes) step_lanes<Op, T, kFewLanes>(&total, v, i, n, first);
    for (; i < n; ++i) Op::step(total, number(v[i]), first + i);
    *static_cast<Acc*>(acc) = total;
    return MT_OK;
  }
};

// The position of the extreme of a run: that is found first, as it is without positions, which vectorises; then its place.
template <class T, bool Max>
struct RunLoop<ArgExtreme<T, Max>, T> {
  MT_INLINE static int run(void* acc, const void* data, int64_t n, int64_t first) {
    const T* v = static_cast<const T*>(data);
    T found = Extreme<T, Max>::init();
    RunLoop<Extreme<T, Max>, T>::run(&found, data, n, first);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      bool here = false;
      for (int l = 0; l < kLanes; ++l) here |= (v[i + l] == found) | (v[i + l] != v[i + l]);
      if (here) break;
    }
    while (i < n && !(v[i] == found || v[i] != v[i])) ++i;
    if (i < n) ArgExtreme<T, Max>::merge(*static_cast<typename ArgExtreme<T, Max>::Acc*>(acc), {v[i], first + i});
    return MT_OK;
  }
};

// Complex numbers of two float32 are added up part by part, in turns into two accumulators.
template <class Op>
constexpr bool kOfParts = std::is_same_v<Op, Sum<std::complex<float>>> || std::is_same_v<Op, Mean<std::complex<float>>>;
struct PartsRunLoop {
  MT_INLINE static int run(void* acc, const void* data, int64_t n, int64_t) {
    double* totals = static_cast<double*>(acc);
    const float* v = static_cast<const float*>(data);
    int64_t i = 0;
    n *= 2;
    if (n >= kLanes) step_lanes<Sum<float>, float, kLanes, 2>(totals, v, i, n, 0);
    if (n - i >= kFewLanes) step_lanes<Sum<float>, float, kFewLanes, 2>(totals, v, i, n, 0);
    for (; i < n; ++i) totals[i % 2] += double(v[i]);
    return MT_OK;
  }
};
template <>
struct RunLoop<Sum<std::complex<float>>, std::complex<float>> : PartsRunLoop {};
template <>
struct RunLoop<Mean<std::complex<float>>, std::complex<float>> : PartsRunLoop {};

// As many runs as there are accumulators, each of `n` values, at distances of `apart`.
template <class Op, class T>
struct RunsLoop {
  using Acc = typename Op::Acc;
  MT_INLINE static int run(void* acc, const void* data, int64_t n, int64_t count, int64_t apart) {
    for (int64_t i = 0; i < count; ++i) RunLoop<Op, T>::run(static_cast<Acc*>(acc) + i, static_cast<const T*>(data) + i * apart, n, 0);
    return MT_OK;
  }
};

// Rows of values at distances of `apart`, each value into the accumulator of its column: some rows in a pass over these.
template <class Op, class T>
struct RowsLoop {
  using Acc = typename Op::Acc;
  MT_INLINE static int run(void* acc, const void* data, int64_t n, int64_t position, int64_t count, int64_t apart) {
    Acc* a = static_cast<Acc*>(acc);
    const T* v = static_cast<const T*>(data);
    for (; count >= kRows; count -= kRows, position += kRows, v += kRows * apart) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) {
        Acc one = a[i];
        if constexpr (kAddsFloats<Op>) {
          for (int r = 0; r < kRows; r += 2) one += Op::term(number(v[r * apart + i])) + Op::term(number(v[(r + 1) * apart + i]));
        } else {
          for (int r = 0; r < kRows; ++r) Op::step(one, number(v[r * apart + i]), position + r);
        }
        a[i] = one;
      }
    }
    for (; count > 0; --count, ++position, v += apart) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) Op::step(a[i], number(v[i]), position);
    }
    return MT_OK;
  }
};

struct PartsRowsLoop {
  MT_INLINE static int run(void* acc, const void* data, int64_t n, int64_t position, int64_t count, int64_t apart) {
    return RowsLoop<Sum<float>, float>::run(acc, data, 2 * n, position, count, 2 * apart);
  }
};
template <>
struct RowsLoop<Sum<std::complex<float>>, std::complex<float>> : PartsRowsLoop {};
template <>
struct RowsLoop<Mean<std::complex<float>>, std::complex<float>> : PartsRowsLoop {};

template <class R>
constexpr int32_t dtype_of() {
  if (std::is_same_v<R, bool>) return MT_BOOL;
  if (std::is_same_v<R, BFloat16>) return MT_BF16;
  if (std::is_same_v<R, int64_t>) return MT_I64;
  if (std::is_same_v<R, uint8_t>) return MT_U8;
  if (std::is_same_v<R, int8_t>) return MT_I8;
  if (std::is_same_v<R, int16_t>) return MT_I16;
  if (std::is_same_v<R, int32_t>) return MT_I32;
  if (std::is_same_v<R, std::complex<float>>) return MT_C64;
  if (std::is_same_v<R, std::complex<double>>) return MT_C128;
  return std::is_same_v<R, float> ? MT_F32 : MT_F64;
}

// Reads runs of the input as T, through a buffer unless they already are.
template <class T>
struct Reader {
  const char* data;
  int32_t itemsize;
  bool same;
  CastFn cast;
  T buffer[kBlock];

  explicit Reader(const mt_tensor* self)
      : data(static_cast<const char*>(self->data)),
        itemsize(self->itemsize),
        same(self->dtype == dtype_of<T>()),
        cast(cast_fn(dtype_of<T>(), self->dtype)) {}
  bool direct(int64_t stride) const { return same && stride == 1; }
  const void* read(int64_t offset, int64_t stride, int64_t n) {
    const char* address = data + offset * itemsize;
    if (direct(stride)) return address;
    cast(buffer, 1, address, stride, n);
    return buffer;
  }
};

// The loops of a reduction, over parts of what is kept and of what is reduced.
template <class Op, class T>
struct Reduction {
  using Acc = typename Op::Acc;
  using Result = typename Op::Result;
  using Fn = int (*)(void*, const void*, int64_t, int64_t);
  const mt_tensor *self, *out;
  const Dims &kept, &reduced;
  CastFn store;

  static Fn run_loop() {
    static const Fn fn = PerIsa<RunLoop<Op, T>, void*, const void*, int64_t, int64_t>::pick();
    return fn;
  }
  static auto runs_loop() {
    static const auto fn = PerIsa<RunsLoop<Op, T>, void*, const void*, int64_t, int64_t, int64_t>::pick();
    return fn;
  }
  static auto rows_loop() {
    static const auto fn = PerIsa<RowsLoop<Op, T>, void*, const void*, int64_t, int64_t, int64_t, int64_t>::pick();
    return fn;
  }
  bool by_rows() const {
    return kept.n > 0 && reduced.numel > 0 && (reduced.n == 0 || kept.inner_stride() < reduced.inner_stride());
  }
  void finish(const Acc& acc, int64_t out_offset) const {
    const Result result = Op::finish(acc, reduced.numel);
    store(static_cast<char*>(out->data) + out_offset * out->itemsize, 1, &result, 1, 1);
  }

  // `count` of what is reduced from the position `first` of the innermost dimension on, at one place of the others.
  int line(Reader<T>& reader, Pace& pace, Acc* acc, int64_t offset, int64_t first, int64_t count, int64_t position) const {
    const int64_t stride = reduced.n == 0 ? 1 : reduced.in[reduced.n - 1];
    const int64_t step = reader.direct(stride) ? kStretch : kBlock;
    const Fn loop = run_loop();
    for (int64_t i = 0; i < count; i += step) {
      const int64_t n = std::min(step, count - i);
      loop(acc, reader.read(offset + (first + i) * stride, stride, n), n, position + i);
      if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }

  // Places of `part` side by side, rows of what is reduced at a time; one row where it has to be converted.
  int rows(const Dims& part, int64_t in_base, int64_t out_base) const {
    const auto loop = rows_loop();
    const int last = part.n - 1;
    Reader<T> reader(self);
    Pace pace;
    Acc acc[kBlock];
    Result results[kBlock];
    const bool many = reduced.n > 0 && reader.direct(part.in[last]);
    const int64_t deep = many ? reduced.shape[reduced.n - 1] : 1, apart = many ? reduced.in[reduced.n - 1] : 0;
    return part.each(1, [&](int64_t in_offset, int64_t out_offset) -> int {
      for (int64_t j = 0; j < part.shape[last]; j += kBlock) {
        const int64_t n = std::min(kBlock, part.shape[last] - j);
        for (int64_t i = 0; i < n; ++i) acc[i] = Op::init();
        int64_t position = 0;
        const int64_t at = in_base + in_offset + j * part.in[last];
        const int status = reduced.each(many ? 1 : 0, [&](int64_t offset, int64_t) -> int {
          for (int64_t row = 0, count; row < deep; row += count, position += count) {
            count = std::min(kStretch / kBlock, deep - row);
            loop(acc, reader.read(at + offset + row * apart, part.in[last], n), n, position, count, apart);
            if (pace.stops(n * count)) return MT_ERROR_INTERRUPTED;
          }
          return MT_OK;
        });
        if (status) return status;
        for (int64_t i = 0; i < n; ++i) results[i] = Op::finish(acc[i], reduced.numel);
        char* const to = static_cast<char*>(out->data) + (out_base + out_offset + j * part.out[last]) * out->itemsize;
        store(to, part.out[last], results, 1, n);
      }
      return MT_OK;
    });
  }

  // Whether a place's values are one short run, of which many places' are reduced in a call.
  bool in_runs(const Reader<T>& reader) const {
    return kept.n > 0 && reduced.n == 1 && reduced.numel <= kBlock && reader.direct(reduced.in[0]);
  }

  // Places of `part` whose values are a run each.
  int runs(const Dims& part, int64_t in_base, int64_t out_base) const {
    const int last = part.n - 1;
    const auto loop = runs_loop();
    Pace pace;
    Acc acc[kBlock];
    Result results[kBlock];
    return part.each(1, [&](int64_t in_offset, int64_t out_offset) -> int {
      for (int64_t j = 0; j < part.shape[last]; j += kBlock) {
        const int64_t n = std::min(kBlock, part.shape[last] - j);
        for (int64_t i = 0; i < n; ++i) acc[i] = Op::init();
        loop(acc, static_cast<const T*>(self->data) + in_base + in_offset + j * part.in[last], reduced.numel, n, part.in[last]);
        for (int64_t i = 0; i < n; ++i) results[i] = Op::finish(acc[i], reduced.numel);
        char* const to = static_cast<char*>(out->data) + (out_base + out_offset + j * part.out[last]) * out->itemsize;
        store(to, part.out[last], results, 1, n);
        if (pace.stops(n * reduced.numel)) return MT_ERROR_INTERRUPTED;
      }
      return MT_OK;
    });
  }

  // One place of `part` after the other.
  int places(const Dims& part, int64_t in_base, int64_t out_base) const {
    const int64_t length = reduced.n == 0 ? reduced.numel : reduced.shape[reduced.n - 1];
    Reader<T> reader(self);
    if (in_runs(reader)) return runs(part, in_base, out_base);
    Pace pace;
    return part.each(0, [&](int64_t in_offset, int64_t out_offset) -> int {
      Acc acc = Op::init();
      int64_t position = 0;
      const auto one = [&](int64_t offset, int64_t) -> int {
        const int found = line(reader, pace, &acc, in_base + in_offset + offset, 0, length, position);
        position += length;
        return found;
      };
      // Where there is one dimension, its place is no index to be counted.
      const int status = reduced.numel == 0 ? MT_OK : (reduced.n < 2 ? one(0, 0) : reduced.each(1, one));
      if (status) return status;
      finish(acc, out_base + out_offset);
      return pace.stops(1) ? MT_ERROR_INTERRUPTED : MT_OK;
    });
  }

  // All of a long dimension to one number: by pieces of a length that is the number's own, so that the sum does not depend on the
  // threads. There are few, however many elements an expanded dimension has.
  int pieces(int64_t count) const {
    const int64_t size = std::max(kStretch / 4, count >> 20);
    std::vector<Acc> found(size_t((count - 1) / size + 1), Op::init());
    const int status = parallel(int64_t(found.size()), 1, [&](int64_t first, int64_t last) -> int {
      Reader<T> reader(self);
      Pace pace;
      for (int64_t i = first; i < last; ++i) {
        const int64_t at = i * size, n = std::min(size, count - at);
        if (int stopped = line(reader, pace, &found[size_t(i)], 0, at, n, at)) return stopped;
      }
      return MT_OK;
    });
    if (status) return status;
    Acc acc = Op::init();
    for (const Acc& piece : found) Op::merge(acc, piece);
    finish(acc, 0);
    return MT_OK;
  }

  int run() const {
    if (kept.numel == 0) return MT_OK;
    if (kept.n == 0) return reduced.n == 1 && reduced.numel > kStretch / 4 ? pieces(reduced.numel) : places(kept, 0, 0);
    const bool rowwise = by_rows();
    const int64_t each = reduced.numel * (kept.numel / kept.shape[0]);
    // Of rows that are read side by side each thread has one stretch, as long as can be: short ones are slow to read.
    const int64_t grain = rowwise && kept.n == 1 ? even_grain(kept.shape[0], rows_grain(each)) : rows_grain(each);
    return parallel(kept.shape[0], grain, [&](int64_t first, int64_t last) -> int {
      Dims part = kept;
      part.shape[0] = last - first;
      part.numel = kept.numel / kept.shape[0] * (last - first);
      const int64_t in_base = first * kept.in[0], out_base = first * kept.out[0];
      return rowwise ? rows(part, in_base, out_base) : places(part, in_base, out_base);
    });
  }
};

template <class Op, class T>
int reduce_as(const mt_tensor* self, const mt_tensor* out, const Dims& kept, const Dims& reduced) {
  const CastFn store = cast_fn(out->dtype, dtype_of<typename Op::Result>());
  return Reduction<Op, T>{self, out, kept, reduced, store}.run();
}

}  // namespace mt
