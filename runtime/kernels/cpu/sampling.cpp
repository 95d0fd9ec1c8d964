// Images sampled at the places of a grid, and the gradients of both. Places are taken by blocks: which elements the places of
// a block take, and with which weights, is found once for all channels.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "tensor.h"
#include "threads.h"

namespace mt {
namespace {

constexpr int64_t kPlaces = 128;      // of a block, whose elements and weights fit the L1 cache
constexpr int kMostAxes = 3, kMostTaps = 4, kMostCorners = 16;
constexpr int64_t kCornerWeight = 2;  // what an element costs that is taken where an index says

enum Mode { kLinear, kNearest, kCubic };
enum Padding { kZeros, kBorder, kReflection };

struct Sampling {
  int dims, corners;
  int tap[kMostCorners][kMostAxes];  // which of an axis a corner has: those of the last axis change first
  int64_t mode, padding;
  bool align;
  int64_t size[kMostAxes], plane, channels, places, blocks;  // blocks: of one image's places
  const void *image, *grid, *grad;                           // grad: of what is sampled
  void* out;
};

// For one dimension: the elements that each place takes, or -1 beyond the image, their weights, and the weights' slopes.
template <class T>
struct Axis {
  // No plane of float32 has elements that 32 bits do not count.
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  Index index[kMostTaps][kPlaces];
  T weight[kMostTaps][kPlaces], slope[kMostTaps][kPlaces];

  // Places beyond an end as far within, and the sign of their slope.
  MT_INLINE static void reflect(T* place, T* slope, int64_t n, int64_t size, bool align) {
    const T low = align ? T(0) : T(-0.5), span = align ? T(size - 1) : T(size);
    if (span == 0) {
      std::fill_n(place, n, T(0));
      std::fill_n(slope, n, T(0));
      return;
    }
    Index far = 0;
    for (int64_t i = 0; i < n; ++i) {
      const T distance = place[i] - low;
      slope[i] = distance < 0 ? T(-1) : T(1);
      place[i] = std::fabs(distance);
      far |= place[i] < 2 * span ? 0 : 1;
    }
    if (far != 0)  // a division for each, which a grid seldom needs
      for (int64_t i = 0; i < n; ++i) place[i] = place[i] < 2 * span ? place[i] : std::fmod(place[i], 2 * span);
    for (int64_t i = 0; i < n; ++i) {
      const bool back = place[i] >= span;
      place[i] = (back ? span - (place[i] - span) : place[i]) + low;
      slope[i] = back ? -slope[i] : slope[i];
    }
  }

  // Places moved into the image as the padding says, and their slope; -100 for those that are nowhere.
  MT_INLINE static void bound(T* place, T* slope, int64_t n, int64_t size, int64_t padding, bool align) {
    if (padding == kReflection) reflect(place, slope, n, size, align);
    if (padding == kZeros) {
      for (int64_t i = 0; i < n; ++i) place[i] = std::fabs(place[i]) < T(0x1p31) ? place[i] : T(-100);
    } else {
      const T last = T(size - 1);
      for (int64_t i = 0; i < n; ++i) {
        slope[i] = place[i] <= 0 || place[i] >= last ? T(0) : slope[i];
        place[i] = place[i] > 0 ? std::min(place[i], last) : T(0);  // 0 of a NaN, too
      }
    }
  }

  MT_INLINE void take(int tap, const T* at, int64_t n, int64_t size) {
    const Index last = Index(size - 1);
    const T end = T(size), most = T(last);  // rounded up where they are large
    for (int64_t i = 0; i < n; ++i) {
      const T within = at[i] < most ? at[i] : most;
      const Index found = std::min(Index(within > 0 ? within : T(0)), last);
      index[tap][i] = (at[i] >= 0) & (at[i] < end) ? found : Index(-1);
    }
  }

  // What weighs the elements at distances x and slopes there: within 1, and within 2, of the place.
  MT_INLINE static T near(T x) { return (T(1.25) * x - T(2.25)) * x * x + 1; }
  MT_INLINE static T near_slope(T x) { return (T(3.75) * x - T(4.5)) * x; }
  MT_INLINE static T far(T x) { return ((T(-0.75) * x + T(3.75)) * x - T(6)) * x + T(3); }
  MT_INLINE static T far_slope(T x) { return (T(-2.25) * x + T(7.5)) * x - T(6); }

  // From numbers of the grid, `step` apart.
  MT_INLINE void find(const Sampling& s, const T* grid, int64_t step, int64_t n, int64_t size) {
    const T half = T(double(s.align ? size - 1 : size) / 2), shift = s.align ? T(0) : T(0.5);
    T place[kPlaces], along[kPlaces], share[kPlaces], at[kPlaces];
    for (int64_t i = 0; i < n; ++i) {
      place[i] = (grid[i * step] + 1) * half - shift;
      along[i] = 1;
    }
    bound(place, along, n, size, s.mode == kCubic ? int64_t(kZeros) : s.padding, s.align);
    for (int64_t i = 0; i < n; ++i) along[i] *= half;
    if (s.mode == kNearest) {
      for (int64_t i = 0; i < n; ++i) place[i] = std::nearbyint(place[i]);
      take(0, place, n, size);
      return;  // all weights are 1
    }
    for (int64_t i = 0; i < n; ++i) {
      const T low = std::floor(place[i]);
      share[i] = place[i] - low;
      place[i] = low;
    }
    if (s.mode == kLinear) {
      for (int64_t i = 0; i < n; ++i) {
        weight[0][i] = 1 - share[i];
        weight[1][i] = share[i];
        slope[0][i] = -along[i];
        slope[1][i] = along[i];
        at[i] = place[i] + 1;
      }
      take(0, place, n, size);
      take(1, at, n, size);
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const T before = share[i], after = 1 - before;
      weight[0][i] = far(before + 1);
      weight[1][i] = near(before);
      weight[2][i] = near(after);
      weight[3][i] = far(after + 1);
      slope[0][i] = far_slope(before + 1) * along[i];
      slope[1][i] = near_slope(before) * along[i];
      slope[2][i] = -near_slope(after) * along[i];
      slope[3][i] = -far_slope(after + 1) * along[i];
    }
    for (int tap = 0; tap < kMostTaps; ++tap) {
      for (int64_t i = 0; i < n; ++i) at[i] = place[i] + T(tap - 1);
      if (s.padding != kZeros) bound(at, share, n, size, s.padding, s.align);
      take(tap, at, n, size);
    }
  }
};

// Of a block of places all elements that each takes, one for each tap of each axis: their places in the image, or -1, and weights.
template <class T>
struct Block {
  using Index = typename Axis<T>::Index;
  int64_t n, image, first;  // how many places, of which image, from which of them on
  bool whole;               // whether all elements are within the image
  Axis<T> axes[kMostAxes];
  Index index[kMostCorners][kPlaces];
  T weight[kMostCorners][kPlaces];

  // The weights of a corner, or their slopes along an axis.
  MT_INLINE void weigh(const Sampling& s, int corner, int sloped, T* to) const {
    const auto of = [&](int d) { return (d == sloped ? axes[d].slope : axes[d].weight)[s.tap[corner][d]]; };
    const T *outer = of(0), *inner = of(1);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = outer[i] * inner[i];
    for (int d = 2; d < s.dims; ++d) {
      const T* by = of(d);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] *= by[i];
    }
  }

  // Where in an image a corner's elements are, given their places along outer axes and the next one.
  MT_INLINE void place(int corner, const Index* outer, const Index* inner, Index size) {
    Index* to = index[corner];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = (outer[i] | inner[i]) < 0 ? Index(-1) : outer[i] * size + inner[i];
  }

  MT_INLINE void find(const Sampling& s, int64_t number) {
    image = number / s.blocks;
    first = number % s.blocks * kPlaces;
    n = std::min(kPlaces, s.places - first);
    const T* grid = static_cast<const T*>(s.grid) + (image * s.places + first) * s.dims;
    for (int d = 0; d < s.dims; ++d) axes[d].find(s, grid + s.dims - 1 - d, s.dims, n, s.size[d]);
    Index signs = 0;
    for (int k = 0; k < s.corners; ++k) {
      place(k, axes[0].index[s.tap[k][0]], axes[1].index[s.tap[k][1]], Index(s.size[1]));
      for (int d = 2; d < s.dims; ++d) place(k, index[k], axes[d].index[s.tap[k][d]], Index(s.size[d]));
      for (int64_t i = 0; i < n; ++i) signs |= index[k][i];
      if (s.mode != kNearest) weigh(s, k, -1, weight[k]);
    }
    whole = signs >= 0;
  }
};

// Calls f with the number of corners as a constant.
template <class F>
MT_INLINE int by_corners(int corners, F&& f) {
  switch (corners) {
    case 1:
      return f(std::integral_constant<int, 1>());
    case 4:
      return f(std::integral_constant<int, 4>());
    case 8:
      return f(std::integral_constant<int, 8>());
    default:
      return f(std::integral_constant<int, 16>());
  }
}

// What is sampled at the blocks from `first` to `last`.
template <class T>
struct Sample {
  template <int Corners, bool Whole>
  MT_INLINE static void channel(const Block<T>& b, const T* from, T* to) {
#pragma GCC ivdep
    for (int64_t i = 0; i < b.n; ++i) {
      T sum = 0;
#pragma GCC unroll 16
      for (int k = 0; k < Corners; ++k) {
        const auto at = b.index[k][i];
        const T v = from[Whole || at >= 0 ? at : 0];
        if constexpr (Corners == 1) {
          sum = Whole || at >= 0 ? v : T(0);
        } else {
          const T share = v * b.weight[k][i];
          sum += Whole || at >= 0 ? share : T(0);
        }
      }
      to[i] = sum;
    }
  }

  MT_INLINE static int run(const Sampling* s, int64_t first, int64_t last) {
    return by_corners(s->corners, [&](auto corners) __attribute__((always_inline)) -> int {
      constexpr int kCorners = decltype(corners)::value;
      Block<T> b;
      Pace pace;
      for (int64_t number = first; number < last; ++number) {
        b.find(*s, number);
        const T* from = static_cast<const T*>(s->image) + b.image * s->channels * s->plane;
        T* to = static_cast<T*>(s->out) + b.image * s->channels * s->places + b.first;
        for (int64_t c = 0; c < s->channels; ++c, from += s->plane, to += s->places) {
          if (b.whole) {
            channel<kCorners, true>(b, from, to);
          } else {
            channel<kCorners, false>(b, from, to);
          }
          if (pace.stops(b.n * kCorners)) return MT_ERROR_INTERRUPTED;
        }
      }
      return MT_OK;
    });
  }
};

// The gradient of the grid at the blocks from `first` to `last`.
template <class T>
struct GridGradient {
  template <int Corners, bool Whole>
  MT_INLINE static void channel(const Block<T>& b, const T* from, const T* grad, T (*dots)[kPlaces]) {
#pragma GCC ivdep
    for (int64_t i = 0; i < b.n; ++i) {
#pragma GCC unroll 16
      for (int k = 0; k < Corners; ++k) {
        const auto at = b.index[k][i];
        const T share = grad[i] * from[Whole || at >= 0 ? at : 0];
        dots[k][i] += Whole || at >= 0 ? share : T(0);
      }
    }
  }

  MT_INLINE static int run(const Sampling* s, int64_t first, int64_t last) {
    return by_corners(s->corners, [&](auto corners) __attribute__((always_inline)) -> int {
      constexpr int kCorners = decltype(corners)::value;
      Block<T> b;
      T dots[kCorners][kPlaces], slope[kPlaces], sum[kPlaces];  // dots: of the gradient and a corner's elements, over the channels
      Pace pace;
      for (int64_t number = first; number < last; ++number) {
        b.find(*s, number);
        const T* from = static_cast<const T*>(s->image) + b.image * s->channels * s->plane;
        const T* grad = static_cast<const T*>(s->grad) + b.image * s->channels * s->places + b.first;
        for (auto& of_corner : dots) std::fill_n(of_corner, b.n, T(0));
        for (int64_t c = 0; c < s->channels; ++c, from += s->plane, grad += s->places) {
          if (b.whole) {
            channel<kCorners, true>(b, from, grad, dots);
          } else {
            channel<kCorners, false>(b, from, grad, dots);
          }
          if (pace.stops(b.n * kCorners)) return MT_ERROR_INTERRUPTED;
        }
        T* to = static_cast<T*>(s->out) + (b.image * s->places + b.first) * s->dims;
        for (int d = 0; d < s->dims; ++d) {
          std::fill_n(sum, b.n, T(0));
          for (int k = 0; k < kCorners; ++k) {
            b.weigh(*s, k, d, slope);
            for (int64_t i = 0; i < b.n; ++i) sum[i] += dots[k][i] * slope[i];
          }
          for (int64_t i = 0; i < b.n; ++i) to[i * s->dims + s->dims - 1 - d] = sum[i];
        }
      }
      return MT_OK;
    });
  }
};

// The gradient of the image's planes from `first` to `last`, of all images one after another.
template <class T>
struct ImageGradient {
  MT_INLINE static int run(const Sampling* s, int64_t first, int64_t last) {
    Block<T> b;
    Pace pace;
    std::fill_n(static_cast<T*>(s->out) + first * s->plane, (last - first) * s->plane, T(0));
    for (int64_t plane = first, next; plane < last; plane = next) {
      const int64_t image = plane / s->channels;
      next = std::min(last, (image + 1) * s->channels);
      for (int64_t number = image * s->blocks; number < (image + 1) * s->blocks; ++number) {
        b.find(*s, number);
        for (int64_t p = plane; p < next; ++p) {
          const T* grad = static_cast<const T*>(s->grad) + p * s->places + b.first;
          T* to = static_cast<T*>(s->out) + p * s->plane;
          for (int k = 0; k < s->corners; ++k)
            for (int64_t i = 0; i < b.n; ++i) {
              const auto at = b.index[k][i];
              if (at >= 0) to[at] += s->mode == kNearest ? grad[i] : grad[i] * b.weight[k][i];
            }
          if (pace.stops(b.n * s->corners)) return MT_ERROR_INTERRUPTED;
        }
      }
    }
    return MT_OK;
  }
};

// Fills in all but the output of an image (N, C, ...), a grid (N, ..., dims), and what is sampled or its gradient, (N, C, ...).
int describe(Sampling& s, const mt_tensor* image, const mt_tensor* grid, const mt_tensor* sampled, int64_t mode,
             int64_t padding, int64_t align) {
  s.mode = mode;
  s.padding = padding;
  s.align = align != 0;
  const int64_t ndim = image->ndim;
  if ((ndim != 4 && ndim != 5) || grid->ndim != ndim || sampled->ndim != ndim) return MT_ERROR_SHAPE;
  s.dims = int(ndim) - 2;
  if (s.mode < kLinear || s.mode > kCubic || s.padding < kZeros || s.padding > kReflection) return MT_ERROR_INDEX;
  if (grid->shape[ndim - 1] != s.dims || (s.mode == kCubic && s.dims == kMostAxes)) return MT_ERROR_SHAPE;
  if (image->shape[0] != grid->shape[0] || image->shape[0] != sampled->shape[0] || image->shape[1] != sampled->shape[1])
    return MT_ERROR_SHAPE;
  for (const mt_tensor* t : {image, grid, sampled}) {
    if (!is_contiguous(t)) return MT_ERROR_SHAPE;
    if (t->dtype != image->dtype || (t->dtype != MT_F32 && t->dtype != MT_F64)) return MT_ERROR_DTYPE;
  }
  const int taps = s.mode == kNearest ? 1 : s.mode == kLinear ? 2 : kMostTaps;
  s.corners = s.plane = s.places = 1;
  s.channels = image->shape[1];
  for (int d = 0; d < s.dims; ++d) {
    if (grid->shape[d + 1] != sampled->shape[d + 2]) return MT_ERROR_SHAPE;
    s.size[d] = image->shape[d + 2];
    s.corners *= taps;
    s.plane *= s.size[d];
    s.places *= grid->shape[d + 1];
  }
  for (int k = 0; k < s.corners; ++k)
    for (int d = s.dims - 1, rest = k; d >= 0; --d, rest /= taps) s.tap[k][d] = rest % taps;
  s.blocks = (s.places + kPlaces - 1) / kPlaces;
  if (image->dtype == MT_F32 && s.plane > std::numeric_limits<int32_t>::max()) return MT_ERROR_SHAPE;
  s.image = image->data;
  s.grid = grid->data;
  s.grad = sampled->data;
  return numel(image) == 0 ? MT_ERROR_SHAPE : MT_OK;
}

// Runs a body over parts of a range that are not below `grain`.
template <template <class> class Body>
int run(int32_t dtype, const Sampling& s, int64_t n, int64_t grain) {
  using Fn = int (*)(const Sampling*, int64_t, int64_t);
  static const Fn of_f32 = PerIsa<Body<float>, const Sampling*, int64_t, int64_t>::pick();
  static const Fn of_f64 = PerIsa<Body<double>, const Sampling*, int64_t, int64_t>::pick();
  const Fn fn = dtype == MT_F32 ? of_f32 : of_f64;
  return parallel(n, grain, [&](int64_t first, int64_t last) -> int { return fn(&s, first, last); });
}

// A thread has blocks of places of all channels.
template <template <class> class Body>
int run_blocks(int32_t dtype, const Sampling& s, int64_t images) {
  return run<Body>(dtype, s, images * s.blocks, rows_grain(kPlaces * (s.channels + 4), kCornerWeight * s.corners));
}

}  // namespace
}  // namespace mt

// out (N, C, ...) = the image (N, C, ...) at the places (N, ..., dims) of the grid; all contiguous, of float32 or float64. No image
// is empty, and one of float32 has less than 2**31 elements.
MT_EXPORT int mt_grid_sample(const mt_tensor* image, const mt_tensor* grid, const mt_tensor* out, int64_t mode,
                             int64_t padding, int64_t align) {
  mt::Sampling s{};
  if (int status = mt::describe(s, image, grid, out, mode, padding, align)) return status;
  s.out = out->data;
  return mt::run_blocks<mt::Sample>(image->dtype, s, image->shape[0]);
}

// The gradient of the grid, given that of what was sampled.
MT_EXPORT int mt_grid_sample_of_grid(const mt_tensor* grad, const mt_tensor* image, const mt_tensor* grid,
                                     const mt_tensor* out, int64_t mode, int64_t padding, int64_t align) {
  mt::Sampling s{};
  if (int status = mt::describe(s, image, grid, grad, mode, padding, align)) return status;
  if (!mt::same_shape(grid, out) || !mt::is_contiguous(out) || out->dtype != grid->dtype) return MT_ERROR_SHAPE;
  s.out = out->data;
  return mt::run_blocks<mt::GridGradient>(image->dtype, s, image->shape[0]);
}

// The gradient of the image: a thread has planes of it, so that no two add to one element.
MT_EXPORT int mt_grid_sample_of_image(const mt_tensor* grad, const mt_tensor* image, const mt_tensor* grid,
                                      const mt_tensor* out, int64_t mode, int64_t padding, int64_t align) {
  mt::Sampling s{};
  if (int status = mt::describe(s, image, grid, grad, mode, padding, align)) return status;
  if (!mt::same_shape(image, out) || !mt::is_contiguous(out) || out->dtype != image->dtype) return MT_ERROR_SHAPE;
  s.out = out->data;
  const int64_t planes = image->shape[0] * s.channels;
  const int64_t grain = mt::rows_grain(s.places, mt::kCornerWeight * s.corners);
  return mt::run<mt::ImageGradient>(image->dtype, s, planes, mt::even_grain(planes, grain));
}
