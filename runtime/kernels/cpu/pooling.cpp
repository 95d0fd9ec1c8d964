// The largest element of each window of an image, and where it is; the means of windows.
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "half.h"
#include "threads.h"

namespace mt {
namespace {

constexpr int64_t kWindowWeight = 16;  // what a window costs, beside an element of a sum
constexpr int64_t kWeightAt = 8;       // and what an element costs that is added where an index says
constexpr int64_t kPlaces = 64;        // whose windows are looked at side by side

struct Windows {
  const int64_t* ends[3];  // for each place of the output along a dimension, where its window begins and ends
  int64_t step[3];         // between elements of a window
  int64_t size[3], out[3];
  int64_t first, last, stride;  // of the last dimension the places whose windows are alike, and how far these are apart

  // Finds them: the whole inside of an image, where an index in a plane is one of 32 bits.
  void find_alike() {
    const auto length = [this](int64_t at) { return ends[2][2 * at + 1] - ends[2][2 * at]; };
    first = last = 0;
    stride = 1;
    if (size[0] * size[1] * size[2] > std::numeric_limits<int32_t>::max()) return;
    const int64_t middle = out[2] / 2;
    first = middle;
    last = std::min(middle + 1, out[2]);
    if (last > first && length(middle) < 1) last = first;  // in the padding alone
    if (last == first) return;
    if (last < out[2]) stride = ends[2][2 * last] - ends[2][2 * middle];
    if (stride < 1) return;
    const auto alike = [&](int64_t at) {
      return length(at) == length(middle) && ends[2][2 * at] - ends[2][2 * middle] == (at - middle) * stride;
    };
    while (first > 0 && alike(first - 1)) --first;
    while (last < out[2] && alike(last)) ++last;
  }
};

template <class T>
struct MaxPool {
  template <class V>
  MT_INLINE static V widened(V v) { return v; }
  MT_INLINE static float widened(BFloat16 v) { return to_float(v); }
  MT_INLINE static float widened(Float16 v) { return float(v); }
  using Value = decltype(widened(T()));
  // Of a window that lies in the padding alone.
  MT_INLINE static T least() {
    if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::lowest();
    if constexpr (std::is_same_v<T, BFloat16>) return to_bfloat16(-std::numeric_limits<float>::infinity());
    if constexpr (!std::is_same_v<T, BFloat16>) return T(-std::numeric_limits<float>::infinity());
  }

  MT_INLINE static int64_t* from_place(int64_t* indices, int64_t at) { return indices == nullptr ? nullptr : indices + at; }

  // A row of the output, in a plane of the input: its windows' extents along the dimensions before the last.
  struct Row {
    const T* in;
    const int64_t *ez, *ey;
  };
  MT_INLINE static int64_t lines_of(const Row& row) {
    return std::max<int64_t>(row.ez[1] - row.ez[0], 0) * std::max<int64_t>(row.ey[1] - row.ey[0], 0);
  }

  MT_INLINE static void place(const Windows* w, const Row& row, int64_t ox, T* out, int64_t* index) {
    const int64_t* ex = w->ends[2] + 2 * ox;
    int64_t best = (row.ez[0] * w->size[1] + row.ey[0]) * w->size[2] + ex[0];
    if (lines_of(row) == 0 || ex[0] >= ex[1]) {
      *out = least();
      if (index != nullptr) *index = best;
      return;
    }
    Value value = widened(row.in[best]);
    for (int64_t z = row.ez[0]; z < row.ez[1]; z += w->step[0])
      for (int64_t y = row.ey[0]; y < row.ey[1]; y += w->step[1]) {
        const int64_t line = (z * w->size[1] + y) * w->size[2];
        for (int64_t x = ex[0]; x < ex[1]; x += w->step[2]) {
          const Value v = widened(row.in[line + x]);
          if (v > value || v != v) {
            value = v;
            best = line + x;
          }
        }
      }
    *out = row.in[best];
    if (index != nullptr) *index = best;
  }

  // Places whose windows are alike, kPlaces or `few`, an element of each window after the other.
  template <int Stride, bool Full>
  MT_INLINE static void places(const Windows* w, const Row& row, int64_t ox, int64_t few, T* out, int64_t* indices) {
    const int64_t stride = Stride > 0 ? Stride : w->stride, count = Full ? kPlaces : few;
    const int64_t* ex = w->ends[2] + 2 * ox;
    Value value[kPlaces];
    int32_t at[kPlaces];
    bool begun = false;
    for (int64_t z = row.ez[0]; z < row.ez[1]; z += w->step[0])
      for (int64_t y = row.ey[0]; y < row.ey[1]; y += w->step[1]) {
        const int64_t line = (z * w->size[1] + y) * w->size[2];
        for (int64_t x = ex[0]; x < ex[1]; x += w->step[2]) {
          const T* in = row.in + line + x;
          const int32_t from = int32_t(line + x), apart = int32_t(stride);
          if (!begun) {
            for (int32_t i = 0; i < count; ++i) value[i] = widened(in[i * stride]);
            for (int32_t i = 0; i < count; ++i) at[i] = from + i * apart;
            begun = true;
            continue;
          }
          for (int32_t i = 0; i < count; ++i) {
            const Value v = widened(in[i * stride]);
            const bool better = (v > value[i]) | (v != v);
            value[i] = better ? v : value[i];
            at[i] = better ? from + i * apart : at[i];
          }
        }
      }
    if (indices != nullptr)
      for (int64_t i = 0; i < count; ++i) indices[i] = at[i];
    if constexpr (std::is_same_v<T, Value>) {
      for (int64_t i = 0; i < count; ++i) out[i] = value[i];
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = row.in[at[i]];
    }
  }

  // What is left of a row is done with places before it, which come out as they are, where there are as many.
  template <int Stride>
  MT_INLINE static void places(const Windows* w, const Row& row, int64_t ox, int64_t count, T* out, int64_t* indices) {
    const int64_t from = ox + count - kPlaces;
    if (from >= w->first) {
      places<Stride, true>(w, row, from, count, out + from, from_place(indices, from));
    } else {
      places<Stride, false>(w, row, ox, count, out + ox, from_place(indices, ox));
    }
  }

  // Rows of the output from `first` to `last`, of all planes.
  MT_INLINE static int run(const Windows* w, int64_t first, int64_t last, const void* input, void* output, int64_t* indices) {
    T* out = static_cast<T*>(output) + first * w->out[2];
    indices = from_place(indices, first * w->out[2]);
    Pace pace;
    for (; first < last; ++first, out += w->out[2], indices = from_place(indices, w->out[2])) {
      const int64_t oy = first % w->out[1], oz = first / w->out[1] % w->out[0], plane = first / w->out[1] / w->out[0];
      const Row row{static_cast<const T*>(input) + plane * w->size[0] * w->size[1] * w->size[2], w->ends[0] + 2 * oz, w->ends[1] + 2 * oy};
      const int64_t lines = lines_of(row);
      for (int64_t ox = 0, count; ox < w->out[2]; ox += count) {
        const bool alike = lines > 0 && ox >= w->first && ox < w->last;
        count = alike ? std::min(kPlaces, w->last - ox) : 1;
        if (!alike) {
          place(w, row, ox, out + ox, from_place(indices, ox));
        } else if (w->stride == 1) {
          places<1>(w, row, ox, count, out, indices);
        } else if (w->stride == 2) {
          places<2>(w, row, ox, count, out, indices);
        } else {
          places<0>(w, row, ox, count, out, indices);
        }
        const int64_t* ex = w->ends[2] + 2 * ox;
        if (pace.stops(std::max<int64_t>(lines * (ex[1] - ex[0]) * count, 1))) return MT_ERROR_INTERRUPTED;
      }
    }
    return MT_OK;
  }
};

// The part of each plane that one thread computes is rows of the output.
template <class T>
int max_pool(const Windows& w, const mt_tensor* input, const mt_tensor* out, int64_t* indices) {
  static const auto run = PerIsa<MaxPool<T>, const Windows*, int64_t, int64_t, const void*, void*, int64_t*>::pick();
  if (numel(out) == 0) return MT_OK;
  const int64_t rows = numel(out) / w.out[2];
  return parallel(rows, rows_grain(w.out[2], kWindowWeight), [&](int64_t first, int64_t last) -> int {
    return run(&w, first, last, input->data, out->data, indices);
  });
}

// Calls f(out + index, value) for the elements of each plane and their places in it.
template <class T, class F>
int at_places(const mt_tensor* grad, const mt_tensor* indices, const mt_tensor* out, F&& f) {
  const int64_t count = grad->shape[1], size = out->shape[1];
  return parallel(grad->shape[0], rows_grain(count, kWeightAt), [&](int64_t first, int64_t last) -> int {
    Pace pace;
    for (int64_t p = first; p < last; ++p) {
      const T* from = static_cast<const T*>(grad->data) + p * count;
      const int64_t* index = static_cast<const int64_t*>(indices->data) + p * count;
      T* to = static_cast<T*>(out->data) + p * size;
      for (int64_t i = 0; i < count; ++i) {
        if (index[i] < 0 || index[i] >= size) return MT_ERROR_INDEX;
        f(to + index[i], from[i]);
        if (pace.stops(1)) return MT_ERROR_INTERRUPTED;
      }
    }
    return MT_OK;
  });
}

template <class T>
int add_at(const mt_tensor* grad, const mt_tensor* indices, const mt_tensor* out) {
  return at_places<T>(grad, indices, out, [](T* to, T value) { *to = wrap_add(*to, value); });
}

int max_pool_of(Windows& w, const mt_tensor* input, const mt_tensor* out, int64_t* indices) {
  w.find_alike();
  switch (input->dtype) {
    case MT_F32:
      return max_pool<float>(w, input, out, indices);
    case MT_F64:
      return max_pool<double>(w, input, out, indices);
    case MT_F16:
      return max_pool<Float16>(w, input, out, indices);
    case MT_BF16:
      return max_pool<BFloat16>(w, input, out, indices);
    case MT_I64:
      return max_pool<int64_t>(w, input, out, indices);
    case MT_I32:
      return max_pool<int32_t>(w, input, out, indices);
    case MT_I16:
      return max_pool<int16_t>(w, input, out, indices);
    case MT_I8:
      return max_pool<int8_t>(w, input, out, indices);
    case MT_U8:
      return max_pool<uint8_t>(w, input, out, indices);
    default:
      return MT_ERROR_DTYPE;
  }
}

// Windows along a dimension of a plane.
struct Span {
  int64_t size, places, kernel, stride, padding, dilation;

  bool valid() const { return places > 0 && kernel > 0 && stride > 0 && dilation > 0 && padding >= 0; }
  int64_t start(int64_t at) const { return at * stride - padding; }
  // Where each begins and ends within the plane; one that lies in the padding alone ends where it begins, or before.
  void find_ends(int64_t* ends) const {
    for (int64_t at = 0; at < places; ++at) {
      const int64_t first = start(at);
      ends[2 * at] = first >= 0 ? first : first + (dilation - 1 - first) / dilation * dilation;
      ends[2 * at + 1] = std::min(first + (kernel - 1) * dilation + 1, size);
    }
  }
};

// Of a dimension's place at a time the window within the image, and how many elements it counts for.
struct Stretch {
  int64_t first, last, count;
};

// The windows of a pooling of means.
struct Means {
  int64_t size[3], places[3];
  int64_t divisor;  // stands for how many elements a window has, where it is not 0
  int64_t window;   // about how many one has
  std::unique_ptr<Stretch[]> room;
  const Stretch* of[3];

  // Of windows told by `spans` of three dimensions; none: of such that share each dimension out evenly.
  int init(const Span* spans, bool padded) {
    room.reset(new (std::nothrow) Stretch[size_t(places[0] + places[1] + places[2])]);
    if (!room) return MT_ERROR_MEMORY;
    Stretch* next = room.get();
    window = 1;
    for (int d = 0; d < 3; ++d) {
      of[d] = next;
      for (int64_t at = 0; at < places[d]; ++at) *next++ = spans != nullptr ? found(spans[d], size[d], at, padded) : share(size[d], places[d], at);
      window *= spans != nullptr ? spans[d].kernel : 1 + size[d] / places[d];
    }
    return MT_OK;
  }
  static Stretch share(int64_t size, int64_t places, int64_t at) {
    const int64_t first = at * size / places, last = ((at + 1) * size + places - 1) / places;
    return {first, last, last - first};
  }
  static Stretch found(const Span& span, int64_t size, int64_t at, bool padded) {
    const int64_t start = span.start(at), end = std::min(start + span.kernel, size + span.padding);
    const int64_t first = std::max(start, int64_t(0)), last = std::min(end, size);
    return {first, last, padded ? end - start : last - first};
  }
};

template <class T>
int mean_pool(const Means& w, const mt_tensor* input, const mt_tensor* out) {
  const int64_t rows = numel(out) / w.places[2];
  return parallel(rows, rows_grain(w.places[2], w.window), [&](int64_t begin, int64_t end) -> int {
    Pace pace;
    for (; begin < end; ++begin) {
      const int64_t plane = begin / w.places[1] / w.places[0];
      const T* from = static_cast<const T*>(input->data) + plane * w.size[0] * w.size[1] * w.size[2];
      T* to = static_cast<T*>(out->data) + begin * w.places[2];
      const Stretch deep = w.of[0][begin / w.places[1] % w.places[0]], high = w.of[1][begin % w.places[1]];
      int64_t weight = 0;
      for (int64_t place = 0; place < w.places[2]; ++place) {
        const Stretch wide = w.of[2][place];
        T sum(0);
        for (int64_t z = deep.first; z < deep.last; ++z)
          for (int64_t y = high.first; y < high.last; ++y) {
            const T* line = from + (z * w.size[1] + y) * w.size[2];
            for (int64_t x = wide.first; x < wide.last; ++x) sum += line[x];
          }
        const bool some = deep.first < deep.last && high.first < high.last && wide.first < wide.last;
        to[place] = some ? sum / T(w.divisor != 0 ? w.divisor : deep.count * high.count * wide.count) : T(0);
        weight += 1 + (wide.last - wide.first) * (deep.last - deep.first) * (high.last - high.first);
      }
      if (pace.stops(weight)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  });
}

// The sizes of the last `dims` dimensions of planes, and 1 for those missing of three; false where `out` is not as `input` but for these.
bool find_sizes(const mt_tensor* input, const mt_tensor* out, int64_t dims, int64_t* size, int64_t* places) {
  if (dims < 1 || dims > 3 || input->ndim < dims || out->ndim != input->ndim || !is_contiguous(input) || !is_contiguous(out)) return false;
  for (int64_t d = 0; d < input->ndim - dims; ++d)
    if (input->shape[d] != out->shape[d]) return false;
  for (int64_t d = 0; d < 3; ++d) {
    size[d] = d < 3 - dims ? 1 : input->shape[input->ndim - 3 + d];
    places[d] = d < 3 - dims ? 1 : out->shape[out->ndim - 3 + d];
  }
  return numel(out) > 0 && numel(input) > 0;
}

// The means of windows along the last `dims` dimensions, told by `numbers` along three of them: the kernel, the stride, the padding; by none,
// of windows that share these out.
int mean_pool_of(const mt_tensor* input, const mt_tensor* out, int64_t dims, const int64_t (*numbers)[3], bool padded, int64_t divisor) {
  Means w{{}, {}, divisor, 1, nullptr, {}};
  if (!find_sizes(input, out, dims, w.size, w.places)) return MT_ERROR_SHAPE;
  if (out->dtype != input->dtype) return MT_ERROR_DTYPE;
  Span spans[3];
  for (int d = 0; d < 3 && numbers != nullptr; ++d) {
    spans[d] = {w.size[d], w.places[d], numbers[d][0], numbers[d][1], numbers[d][2], 1};
    if (!spans[d].valid()) return MT_ERROR_SHAPE;
  }
  if (int status = w.init(numbers != nullptr ? spans : nullptr, padded)) return status;
  if (input->dtype == MT_F32) return mean_pool<float>(w, input, out);
  return input->dtype == MT_F64 ? mean_pool<double>(w, input, out) : int(MT_ERROR_DTYPE);
}

// Room for the ends of windows along three dimensions.
struct Ends {
  std::unique_ptr<int64_t[]> room;
  int64_t* of[3];

  bool init(const int64_t* places) {
    room.reset(new (std::nothrow) int64_t[size_t(2 * (places[0] + places[1] + places[2]))]);
    if (!room) return false;
    of[0] = room.get();
    of[1] = of[0] + 2 * places[0];
    of[2] = of[1] + 2 * places[1];
    return true;
  }
  Windows windows(const int64_t* size, const int64_t* places, const int64_t* step) const {
    return {{of[0], of[1], of[2]}, {step[0], step[1], step[2]}, {size[0], size[1], size[2]}, {places[0], places[1], places[2]}, 0, 0, 1};
  }
};

// Where windows begin that start by chance: evenly from a sample on, the last where the image ends. As PyTorch computes them, each step
// rounded to the samples' dtype.
template <class Value, class Round>
bool find_fractional(Value sample, Round&& rounded, int64_t size, int64_t places, int64_t kernel, int64_t* ends) {
  const auto whole = [](Value v, int64_t* n) {
    const bool fits = v > Value(-0x1p30) && v < Value(0x1p30);
    *n = fits ? int64_t(v) : 0;
    return fits;
  };
  const Value step = places > 1 ? rounded(rounded(Value(size - kernel)) / rounded(Value(places - 1))) : Value(0);
  int64_t from, start;
  for (int64_t at = 0; at < places; ++at) {
    start = size - kernel;
    if (at < places - 1) {
      if (!whole(rounded(sample * step), &from) || !whole(rounded(rounded(rounded(Value(at)) + sample) * step), &start)) return false;
      start -= from;
    }
    if (start < 0 || start > size - kernel) return false;
    ends[2 * at] = start;
    ends[2 * at + 1] = start + kernel;
  }
  return true;
}

bool find_fractional_of(const mt_tensor* samples, int64_t at, int64_t size, int64_t places, int64_t kernel, int64_t* ends) {
  const auto as_is = [](auto v) { return v; };
  switch (samples->dtype) {
    case MT_F32:
      return find_fractional(static_cast<const float*>(samples->data)[at], as_is, size, places, kernel, ends);
    case MT_F64:
      return find_fractional(static_cast<const double*>(samples->data)[at], as_is, size, places, kernel, ends);
    case MT_F16:
      return find_fractional(float(static_cast<const Float16*>(samples->data)[at]), ToFloat16::round, size, places, kernel, ends);
    case MT_BF16:
      return find_fractional(to_float(static_cast<const BFloat16*>(samples->data)[at]), ToBFloat16::round, size, places, kernel, ends);
    default:
      return false;
  }
}

constexpr int64_t kOnes[] = {1, 1, 1};

// The largest of windows told by their numbers along three dimensions: the kernel, the stride, the padding, the dilation.
int max_pool_by_numbers(const mt_tensor* input, const mt_tensor* out, int64_t* indices, int64_t dims, const int64_t (*numbers)[4]) {
  int64_t size[3], places[3], steps[3];
  if (!find_sizes(input, out, dims, size, places)) return MT_ERROR_SHAPE;
  if (out->dtype != input->dtype) return MT_ERROR_DTYPE;
  Ends ends;
  if (!ends.init(places)) return MT_ERROR_MEMORY;
  for (int d = 0; d < 3; ++d) {
    const Span span{size[d], places[d], numbers[d][0], numbers[d][1], numbers[d][2], numbers[d][3]};
    if (!span.valid()) return MT_ERROR_SHAPE;
    span.find_ends(ends.of[d]);
    steps[d] = span.dilation;
  }
  Windows w = ends.windows(size, places, steps);
  return max_pool_of(w, input, out, indices);
}

}  // namespace
}  // namespace mt

// Of `input` (planes, D, H, W) the largest elements, or a NaN, of windows, and their places in a plane, to `out` and
// `indices`, of int64, (planes, d, h, w); these may be null. Ends of windows are (d, 2), (h, 2), (w, 2), of int64; of an empty one
// the least number there is, where it would begin. All contiguous.
MT_EXPORT int mt_max_pool(const mt_tensor* input, const mt_tensor* out, int64_t* indices, const mt_tensor* ends0,
                          const mt_tensor* ends1, const mt_tensor* ends2, int64_t step0, int64_t step1, int64_t step2) {
  if (input->ndim != 4 || out->ndim != 4 || out->shape[0] != input->shape[0]) return MT_ERROR_SHAPE;
  if (out->dtype != input->dtype) return MT_ERROR_DTYPE;
  const mt_tensor* ends[] = {ends0, ends1, ends2};
  for (const mt_tensor* t : {input, out, ends0, ends1, ends2})
    if (!mt::is_contiguous(t)) return MT_ERROR_SHAPE;
  mt::Windows w{{}, {step0, step1, step2}, {}, {}, 0, 0, 1};
  for (int d = 0; d < 3; ++d) {
    w.size[d] = input->shape[d + 1];
    w.out[d] = out->shape[d + 1];
    if (ends[d]->dtype != MT_I64) return MT_ERROR_DTYPE;
    if (ends[d]->ndim != 2 || ends[d]->shape[0] != w.out[d] || ends[d]->shape[1] != 2 || w.step[d] < 1) return MT_ERROR_SHAPE;
    w.ends[d] = static_cast<const int64_t*>(ends[d]->data);
    for (int64_t i = 0; i < w.out[d]; ++i)
      if (w.ends[d][2 * i] < 0 || w.ends[d][2 * i + 1] > w.size[d]) return MT_ERROR_INDEX;
  }
  return mt::max_pool_of(w, input, out, indices);
}

// The same of the last two dimensions of images, of windows told by their numbers. The image and the outputs are contiguous.
MT_EXPORT int mt_max_pool2d(const mt_tensor* input, const mt_tensor* out, int64_t* indices, int64_t kernel0, int64_t kernel1, int64_t stride0,
                            int64_t stride1, int64_t padding0, int64_t padding1, int64_t dilation0, int64_t dilation1) {
  const int64_t numbers[][4] = {{1, 1, 0, 1}, {kernel0, stride0, padding0, dilation0}, {kernel1, stride1, padding1, dilation1}};
  return mt::max_pool_by_numbers(input, out, indices, 2, numbers);
}

// Of the last three dimensions of volumes.
MT_EXPORT int mt_max_pool3d(const mt_tensor* input, const mt_tensor* out, int64_t* indices, int64_t kernel0, int64_t kernel1, int64_t kernel2,
                            int64_t stride0, int64_t stride1, int64_t stride2, int64_t padding0, int64_t padding1, int64_t padding2,
                            int64_t dilation0, int64_t dilation1, int64_t dilation2) {
  const int64_t numbers[][4] = {
      {kernel0, stride0, padding0, dilation0}, {kernel1, stride1, padding1, dilation1}, {kernel2, stride2, padding2, dilation2}};
  return mt::max_pool_by_numbers(input, out, indices, 3, numbers);
}

// The means of those windows, without gaps, of float32 or float64: the sums by how many elements a window has, with those of the padding
// if `padded`, or by `divisor`, where that is not 0.
MT_EXPORT int mt_avg_pool2d(const mt_tensor* input, const mt_tensor* out, int64_t kernel0, int64_t kernel1, int64_t stride0, int64_t stride1,
                            int64_t padding0, int64_t padding1, int64_t padded, int64_t divisor) {
  const int64_t numbers[][3] = {{1, 1, 0}, {kernel0, stride0, padding0}, {kernel1, stride1, padding1}};
  return mt::mean_pool_of(input, out, 2, numbers, padded != 0, divisor);
}

// The same of the last three dimensions of volumes.
MT_EXPORT int mt_avg_pool3d(const mt_tensor* input, const mt_tensor* out, int64_t kernel0, int64_t kernel1, int64_t kernel2, int64_t stride0,
                            int64_t stride1, int64_t stride2, int64_t padding0, int64_t padding1, int64_t padding2, int64_t padded) {
  const int64_t numbers[][3] = {{kernel0, stride0, padding0}, {kernel1, stride1, padding1}, {kernel2, stride2, padding2}};
  return mt::mean_pool_of(input, out, 3, numbers, padded != 0, 0);
}

// The means of windows that share the last dimensions out evenly, of float32 or float64.
MT_EXPORT int mt_adaptive_avg_pool(const mt_tensor* input, const mt_tensor* out, int64_t dims) {
  return mt::mean_pool_of(input, out, dims, nullptr, false, 0);
}

// The largest elements of such windows, or a NaN, and their places in a plane.
MT_EXPORT int mt_adaptive_max_pool(const mt_tensor* input, const mt_tensor* out, int64_t* indices, int64_t dims) {
  int64_t size[3], places[3];
  if (!mt::find_sizes(input, out, dims, size, places)) return MT_ERROR_SHAPE;
  if (out->dtype != input->dtype) return MT_ERROR_DTYPE;
  mt::Ends ends;
  if (!ends.init(places)) return MT_ERROR_MEMORY;
  for (int d = 0; d < 3; ++d)
    for (int64_t at = 0; at < places[d]; ++at) {
      const mt::Stretch found = mt::Means::share(size[d], places[d], at);
      ends.of[d][2 * at] = found.first;
      ends.of[d][2 * at + 1] = found.last;
    }
  mt::Windows w = ends.windows(size, places, mt::kOnes);
  return mt::max_pool_of(w, input, out, indices);
}

// The same of windows that begin by chance, as `samples` (batch, channels, dims) say of each plane: of width and height, or of depth, height, width.
MT_EXPORT int mt_fractional_max_pool(const mt_tensor* input, const mt_tensor* samples, const mt_tensor* out, int64_t* indices, int64_t kernel0,
                                     int64_t kernel1, int64_t kernel2) {
  const int64_t dims = samples->ndim == 3 ? samples->shape[2] : 0, kernels[] = {kernel0, kernel1, kernel2};
  int64_t size[3], places[3];
  if (!mt::find_sizes(input, out, dims, size, places) || !mt::is_contiguous(samples)) return MT_ERROR_SHAPE;
  if (out->dtype != input->dtype) return MT_ERROR_DTYPE;
  for (int d = 0; d < 3; ++d)
    if (kernels[d] < 1 || kernels[d] > size[d]) return MT_ERROR_SHAPE;
  const int64_t from = size[0] * size[1] * size[2], to = places[0] * places[1] * places[2], planes = mt::numel(input) / from;
  if (mt::numel(samples) < planes * dims) return MT_ERROR_SHAPE;
  mt::Ends ends;
  if (!ends.init(places)) return MT_ERROR_MEMORY;
  const int64_t of_plane[2][4] = {{1, size[0], size[1], size[2]}, {1, places[0], places[1], places[2]}}, strides[] = {0, 0, 0, 0};
  ends.of[0][0] = 0;
  ends.of[0][1] = 1;
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t d = 3 - dims; d < 3; ++d) {
      const int64_t which = dims == 2 ? 2 - d : d - 3 + dims;
      if (!mt::find_fractional_of(samples, plane * dims + which, size[d], places[d], kernels[d], ends.of[d])) return MT_ERROR_INDEX;
    }
    mt::Windows w = ends.windows(size, places, mt::kOnes);
    const mt_tensor one{static_cast<char*>(input->data) + plane * from * input->itemsize, 4, of_plane[0], strides, input->dtype, input->itemsize};
    const mt_tensor found{static_cast<char*>(out->data) + plane * to * out->itemsize, 4, of_plane[1], strides, out->dtype, out->itemsize};
    if (int status = mt::max_pool_of(w, &one, &found, indices + plane * to)) return status;
  }
  return MT_OK;
}

// out[p, indices[p, i]] += grad[p, i]; all are matrices, contiguous, of float32, float64 or int64.
MT_EXPORT int mt_add_at(const mt_tensor* grad, const mt_tensor* indices, const mt_tensor* out) {
  if (grad->ndim != 2 || !mt::same_shape(grad, indices) || out->ndim != 2) return MT_ERROR_SHAPE;
  if (out->shape[0] != grad->shape[0]) return MT_ERROR_SHAPE;
  if (grad->dtype != out->dtype || indices->dtype != MT_I64) return MT_ERROR_DTYPE;
  for (const mt_tensor* t : {grad, indices, out})
    if (!mt::is_contiguous(t)) return MT_ERROR_SHAPE;
  switch (out->dtype) {
    case MT_F32:
      return mt::add_at<float>(grad, indices, out);
    case MT_F64:
      return mt::add_at<double>(grad, indices, out);
    case MT_I64:
      return mt::add_at<int64_t>(grad, indices, out);
    default:
      return MT_ERROR_DTYPE;
  }
}

// The same, the last one written staying. Of any dtype.
MT_EXPORT int mt_put_at(const mt_tensor* from, const mt_tensor* indices, const mt_tensor* out) {
  if (from->ndim != 2 || !mt::same_shape(from, indices) || out->ndim != 2 || out->shape[0] != from->shape[0]) return MT_ERROR_SHAPE;
  if (from->dtype != out->dtype || indices->dtype != MT_I64) return MT_ERROR_DTYPE;
  for (const mt_tensor* t : {from, indices, out})
    if (!mt::is_contiguous(t)) return MT_ERROR_SHAPE;
  return mt::by_size(out->itemsize, [&](auto zero) {
    return mt::at_places<decltype(zero)>(from, indices, out, [](auto* to, auto value) { *to = value; });
  });
}
