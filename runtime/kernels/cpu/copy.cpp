// Copies, conversions, fills and ranges.
#include "elementwise.h"
#include "transpose.h"

namespace mt {
namespace {

constexpr int64_t kTile = 32;  // elements: a tile of a transpose stays in the L1 cache
constexpr int64_t kShortRun = 1024;  // bytes of a run beyond which a call for it is little

// A run of elements, stretch by stretch. Where source and target overlap, from the end at which nothing is overwritten.
int copy_run(CastFn cast, char* dst, int64_t dst_step, const char* src, int64_t src_step, int64_t dst_itemsize,
             int64_t src_itemsize, int64_t n, Pace& pace) {
  const bool backwards = dst > src;
  for (int64_t done = 0; done < n;) {
    const int64_t count = std::min(kStretch, n - done);
    const int64_t first = backwards ? n - done - count : done;
    cast(dst + first * dst_step * dst_itemsize, dst_step, src + first * src_step * src_itemsize, src_step, count);
    done += count;
    if (pace.stops(count)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

// A matrix whose rows are contiguous in one operand and whose columns are in the other: copied tile by tile.
bool is_transposed(const Walk<2>& walk) {
  return walk.ndim == 2 && walk.strides[0][1] == 1 && walk.strides[1][0] == 1;
}

// Of one dtype, where neither is written over.
int copy_turned(const Walk<2>& walk, CastFn) {
  Pace pace;
  const int64_t to_apart = walk.strides[0][0] * walk.itemsize[0], from_apart = walk.strides[1][1] * walk.itemsize[1];
  return by_size(walk.itemsize[0], [&](auto element) -> int {
    constexpr int kSize = sizeof(element);
    if constexpr (kSize > kLargestTurned) return MT_ERROR_DTYPE;
    else return transpose<kSize>(walk.data[0], to_apart, walk.data[1], from_apart, walk.shape[0], walk.shape[1], pace);
  });
}

int copy_transposed(const Walk<2>& walk, CastFn cast) {
  Pace pace;
  for (int64_t i0 = 0; i0 < walk.shape[0]; i0 += kTile)
    for (int64_t j0 = 0; j0 < walk.shape[1]; j0 += kTile) {
      const int64_t columns = std::min(kTile, walk.shape[1] - j0);
      for (int64_t i = i0; i < std::min(i0 + kTile, walk.shape[0]); ++i)
        cast(walk.data[0] + (i * walk.strides[0][0] + j0) * walk.itemsize[0], 1,
             walk.data[1] + (i + j0 * walk.strides[1][1]) * walk.itemsize[1], walk.strides[1][1], columns);
      if (pace.stops(kTile * kTile)) return MT_ERROR_INTERRUPTED;
    }
  return MT_OK;
}

// Calls f(to, from, runs, apart) until it returns another status than MT_OK: the runs of the last two dimensions, at fixed distances.
template <class F>
int each_runs(const Walk<2>& walk, F&& f) {
  Cursor cursor;
  const int inner = walk.ndim - 1;
  const int64_t run = walk.shape[inner], runs = inner > 0 ? walk.shape[inner - 1] : 1;
  int64_t apart[2] = {};
  for (int k = 0; k < 2 && inner > 0; ++k) apart[k] = walk.strides[k][inner - 1] * walk.itemsize[k];
  for (int64_t done = 0; done < walk.numel; done += run * runs) {
    if (int status = f(cursor.address(walk, 0), cursor.address(walk, 1), runs, apart)) return status;
    cursor.advance(walk, run * runs);
  }
  return MT_OK;
}

int copy_runs(const Walk<2>& walk, CastFn cast) {
  Pace pace;
  const int inner = walk.ndim - 1;
  return each_runs(walk, [&](char* to, const char* from, int64_t runs, const int64_t* apart) -> int {
    for (int64_t i = 0; i < runs; ++i, to += apart[0], from += apart[1])
      if (int status = copy_run(cast, to, walk.strides[0][inner], from, walk.strides[1][inner], walk.itemsize[0],
                                walk.itemsize[1], walk.shape[inner], pace))
        return status;
    return MT_OK;
  });
}

// Bytes of runs at fixed distances.
struct MoveRuns {
  MT_INLINE static int run(char* to, const char* from, const int64_t* apart, int64_t runs, int64_t bytes) {
    for (int64_t i = 0; i < runs; ++i, to += apart[0], from += apart[1]) {
      int64_t done = 0;
      for (; done + kLine <= bytes; done += kLine) std::memcpy(to + done, from + done, kLine);
      if (done < bytes) std::memcpy(to + done, from + done, size_t(bytes - done));
    }
    return MT_OK;
  }
};

// The same of runs without gaps, of one dtype, where neither operand is written over: a call for each would take as long as it.
int copy_short_runs(const Walk<2>& walk, CastFn) {
  static const auto move = PerIsa<MoveRuns, char*, const char*, const int64_t*, int64_t, int64_t>::pick();
  Pace pace;
  const int64_t run = walk.shape[walk.ndim - 1], some = std::max<int64_t>(1, kStretch / run);
  return each_runs(walk, [&](char* to, const char* from, int64_t runs, const int64_t* apart) -> int {
    for (int64_t i = 0, count; i < runs; i += count, to += count * apart[0], from += count * apart[1]) {
      count = std::min(some, runs - i);
      move(to, from, apart, count, run * walk.itemsize[0]);
      if (pace.stops(count * run)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

// Whether runs are such, and short.
bool has_short_runs(const Walk<2>& walk, bool same_dtype) {
  const int inner = walk.ndim - 1;
  return same_dtype && inner > 0 && walk.strides[0][inner] == 1 && walk.strides[1][inner] == 1 && walk.shape[inner] * walk.itemsize[0] <= kShortRun;
}

// Whether no byte is of both operands, so that it does not matter what is copied first.
bool is_apart(const Walk<2>& walk) {
  const char *low[2], *high[2];
  for (int k = 0; k < 2; ++k) {
    low[k] = walk.data[k];
    high[k] = walk.data[k] + walk.itemsize[k];
    for (int d = 0; d < walk.ndim; ++d) {
      const int64_t length = (walk.shape[d] - 1) * walk.strides[k][d] * walk.itemsize[k];
      (length < 0 ? low : high)[k] += length;
    }
  }
  return high[0] <= low[1] || high[1] <= low[0];
}

constexpr int64_t kShort = 8;  // elements of a run: beginning one costs as much

// Makes runs of what lies side by side, where those along the last dimension are short.
void lengthen_runs(Walk<2>& walk) {
  const int inner = walk.ndim - 1;
  if (inner < 1 || walk.shape[inner] >= kShort || walk.shape[inner - 1] < 2 * kShort) return;
  std::swap(walk.shape[inner], walk.shape[inner - 1]);
  for (int64_t* strides : walk.strides) std::swap(strides[inner], strides[inner - 1]);
}

// The part of a walk that indices from `first` to `last` of its outermost dimension have.
Walk<2> part_of(const Walk<2>& walk, int64_t first, int64_t last) {
  Walk<2> part = walk;
  for (int k = 0; k < 2; ++k) part.data[k] += first * walk.strides[k][0] * walk.itemsize[k];
  part.numel = walk.numel / walk.shape[0] * (last - first);
  part.shape[0] = last - first;
  return part;
}

int copy(const mt_tensor* src, const mt_tensor* dst) {
  const mt_tensor* operands[] = {dst, src};
  const CastFn cast = cast_fn(dst->dtype, src->dtype);
  if (same_shape(src, dst) && is_contiguous(src) && is_contiguous(dst) && numel(dst) <= kGrain) {
    Pace pace;
    return copy_run(cast, static_cast<char*>(dst->data), 1, static_cast<const char*>(src->data), 1, dst->itemsize,
                    src->itemsize, numel(dst), pace);
  }
  Walk<2> walk;
  if (int status = walk.init(operands)) return status;
  if (walk.numel == 0) return MT_OK;
  if (walk.ndim == 0) return cast(walk.data[0], 1, walk.data[1], 1, 1);
  const bool apart = is_apart(walk), transposed = is_transposed(walk);
  const bool turned = transposed && apart && dst->dtype == src->dtype && dst->itemsize <= kLargestTurned;
  if (apart && !transposed) lengthen_runs(walk);
  const bool short_runs = apart && !transposed && has_short_runs(walk, dst->dtype == src->dtype);
  const auto whole = turned ? copy_turned : transposed ? copy_transposed : short_runs ? copy_short_runs : copy_runs;
  const int64_t length = walk.shape[0];
  return parallel(length, apart ? rows_grain(walk.numel / length) : length, [&](int64_t first, int64_t last) -> int {
    return last - first == length ? whole(walk, cast) : whole(part_of(walk, first, last), cast);
  });
}

template <class T>
int arange(const mt_tensor* out, T start, T step, int32_t dtype) {
  const int64_t n = numel(out);
  if (out->ndim != 1) return MT_ERROR_SHAPE;
  const CastFn cast = cast_fn(out->dtype, dtype);
  T buffer[kBlock];
  Pace pace;
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t count = std::min(kBlock, n - done);
    for (int64_t i = 0; i < count; ++i) buffer[i] = start + step * T(done + i);
    cast(static_cast<char*>(out->data) + done * out->strides[0] * out->itemsize, out->strides[0], buffer, 1, count);
    if (pace.stops(count)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

// Places `at` and on of `n`. Each half is counted from its own end, so that both ends are met exactly; each number is
// rounded once, as in PyTorch.
template <class T>
struct Spaced {
  MT_INLINE static int run(T* to, int64_t at, int64_t count, int64_t n, T first, T last, T step) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = at + i;
      to[i] = place < n / 2 ? std::fma(step, T(place), first) : std::fma(-step, T(n - place - 1), last);
    }
    return MT_OK;
  }
};

template <class T>
int linspace(const mt_tensor* out, T first, T last, int32_t dtype) {
  const int64_t n = numel(out);
  if (out->ndim != 1) return MT_ERROR_SHAPE;
  if (n == 1) last = first;
  const T step = n > 1 ? (last - first) / T(n - 1) : T(0);
  static const auto spaced = PerIsa<Spaced<T>, T*, int64_t, int64_t, int64_t, T, T, T>::pick();
  const CastFn cast = cast_fn(out->dtype, dtype);
  T buffer[kBlock];
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t count = std::min(kBlock, n - done);
    spaced(buffer, done, count, n, first, last, step);
    cast(static_cast<char*>(out->data) + done * out->strides[0] * out->itemsize, out->strides[0], buffer, 1, count);
  }
  return MT_OK;
}

template <class T>
struct Fill {
  MT_INLINE static int run(T* to, int64_t n, T value) {
    for (int64_t i = 0; i < n; ++i) to[i] = value;
    return MT_OK;
  }
};

// A number, converted once, at every place.
int fill(const mt_tensor* out, const void* value, int32_t dtype) {
  Sixteen element;
  const mt_tensor one = {&element, 0, nullptr, nullptr, out->dtype, out->itemsize};
  const CastFn cast = cast_fn(out->dtype, dtype);
  if (cast == nullptr) return MT_ERROR_DTYPE;
  if (int status = cast(&element, 1, value, 1, 1)) return status;
  if (!is_contiguous(out)) return copy(&one, out);
  return by_size(out->itemsize, [&](auto as) -> int {
    using T = decltype(as);
    static const auto loop = PerIsa<Fill<T>, T*, int64_t, T>::pick();
    std::memcpy(&as, &element, sizeof(T));
    return parallel(numel(out), kGrain, [=](int64_t first, int64_t last) -> int {
      Pace pace;
      for (; first < last; first += kStretch) {
        const int64_t count = std::min(kStretch, last - first);
        loop(static_cast<T*>(out->data) + first, count, as);
        if (pace.stops(count)) return MT_ERROR_INTERRUPTED;
      }
      return MT_OK;
    });
  });
}

}  // namespace
}  // namespace mt

// dst[...] = src, converted to dst's dtype; src is broadcast to dst's shape.
MT_EXPORT int mt_copy(const mt_tensor* src, const mt_tensor* dst) { return mt::copy(src, dst); }

MT_EXPORT int mt_fill(const mt_tensor* out, double value) { return mt::fill(out, &value, MT_F64); }

// As mt_fill, exact for integers beyond 2^53.
MT_EXPORT int mt_fill_i64(const mt_tensor* out, int64_t value) { return mt::fill(out, &value, MT_I64); }

// out[i] = start + i * step, for a tensor of one dimension.
MT_EXPORT int mt_arange(const mt_tensor* out, double start, double step) {
  return mt::arange<double>(out, start, step, MT_F64);
}
// Evenly spaced numbers from start to end, both included, in a tensor of one dimension.
MT_EXPORT int mt_linspace(const mt_tensor* out, double start, double end) {
  const bool wide = out->dtype == MT_F64 || !mt::is_floating(out->dtype);
  return wide ? mt::linspace<double>(out, start, end, MT_F64)
              : mt::linspace<float>(out, float(start), float(end), MT_F32);
}
MT_EXPORT int mt_arange_i64(const mt_tensor* out, int64_t start, int64_t step) {
  return mt::arange<int64_t>(out, start, step, MT_I64);
}
