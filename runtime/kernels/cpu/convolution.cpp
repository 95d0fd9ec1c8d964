// Convolution over up to three dimensions and its two gradients: patches of the input as columns of a matrix, block by
// block, and the product that is in matmul.cpp; for 3 x 3 filters of many channels, the tiles of winograd.h; where a group has few channels,
// channel by channel without the matrix.
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <new>
#include <type_traits>

#include "one_channel.h"
#include "patches.h"
#include "temporary.h"
#include "winograd_gradient.h"

namespace mt {
namespace {

constexpr int64_t kColumnBytes = 1 << 20;  // of the matrix of patches: what stays in the L2 cache
constexpr int64_t kTogether = 768;         // columns of a product for which images are taken together
constexpr int64_t kPartial = 1 << 20;      // elements of gradients of filters that images have one each of
constexpr int64_t kFewChannels = 2;        // outputs of a group for which a product's tile would be mostly empty

// Calls f(row of the output, offset in the input of what its first element meets, first, last) for rows of the output
// and one tap: elements from first to last meet the input, others its padding. The offset may lie outside the input.
template <class F>
MT_INLINE void each_row(const Geometry& g, int64_t tap, int64_t row, int64_t end, F&& f) {
  const int64_t at[3] = {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1], tap % g.kernel[2]};
  int64_t shift[3];
  for (int d = 0; d < 3; ++d) shift[d] = at[d] * g.dilation[d] - g.padding[d];
  const int64_t first = std::min(up(-shift[2], g.stride[2]), g.out[2]);
  const int64_t last = std::max(first, std::min(up(g.size[2] - shift[2], g.stride[2]), g.out[2]));
  for (; row < end; ++row) {
    const int64_t z = row / g.out[1] * g.stride[0] + shift[0], y = row % g.out[1] * g.stride[1] + shift[1];
    const bool inside = z >= 0 && z < g.size[0] && y >= 0 && y < g.size[1];
    f(row, inside ? (z * g.size[1] + y) * g.size[2] + shift[2] : 0, inside ? first : g.out[2], inside ? last : g.out[2]);
  }
}
#define EACH [&](int64_t row, int64_t from, int64_t first, int64_t last) __attribute__((always_inline))

// Patches of a group's channels under rows of the output, a line for each channel and tap.
template <class T>
struct Gather {
  MT_INLINE static int run(const Geometry* g, const T* input, T* columns, int64_t begin, int64_t end) {
    const int64_t width = g->out[2], step = g->stride[2];
    for (int64_t c = 0; c < g->channels; ++c)
      for (int64_t tap = 0; tap < g->taps(); ++tap) {
        const T* in = input + c * g->plane();
        each_row(*g, tap, begin, end, EACH {
          T* out = columns + (row - begin) * width;
          for (int64_t x = 0; x < first; ++x) out[x] = 0;
          if (step == 1) {
            for (int64_t x = first; x < last; ++x) out[x] = in[from + x];
          } else {
            for (int64_t x = first; x < last; ++x) out[x] = in[from + x * step];
          }
          for (int64_t x = last; x < width; ++x) out[x] = 0;
        });
        columns += (end - begin) * width;
      }
    return MT_OK;
  }
};

// The same back: lines added to where they were gathered.
template <class T>
struct Scatter {
  MT_INLINE static int run(const Geometry* g, T* input, const T* columns, int64_t begin, int64_t end) {
    const int64_t width = g->out[2], step = g->stride[2];
    for (int64_t c = 0; c < g->channels; ++c)
      for (int64_t tap = 0; tap < g->taps(); ++tap) {
        T* in = input + c * g->plane();
        each_row(*g, tap, begin, end, EACH {
          const T* out = columns + (row - begin) * width;
          if (step == 1) {
#pragma GCC ivdep
            for (int64_t x = first; x < last; ++x) in[from + x] = wrap_add(in[from + x], out[x]);
          } else {
            for (int64_t x = first; x < last; ++x) in[from + x * step] = wrap_add(in[from + x * step], out[x]);
          }
        });
        columns += (end - begin) * width;
      }
    return MT_OK;
  }
};

// Filters as rows of the convolution that gives the gradient of the input: turned round, with filters and channels changed.
template <class T>
struct Turned {
  int64_t channels, taps;
  const T* weight;  // of a group

  static void pack(const void* data, int64_t row, int64_t rows, int64_t from, int64_t depth, int width, T* out) {
    const Turned& t = *static_cast<const Turned*>(data);
    for (int64_t k = 0; k < depth;) {
      const int64_t filter = (from + k) / t.taps, tap = (from + k) % t.taps, count = std::min(t.taps - tap, depth - k);
      t.taps_of(filter, row, rows, t.taps - tap, count, width, out + k * width);
      k += count;
    }
  }

  // `count` taps of one filter, from the one before `end` downwards, a line of `out` each.
  void taps_of(int64_t filter, int64_t row, int64_t rows, int64_t end, int64_t count, int width, T* out) const {
    const T* const in = weight + (filter * channels + row) * taps + end - count;
    T* const last = out + (count - 1) * width;  // of the first of the taps in memory
    const int64_t squares = rows / 4 * 4, turned = count / 4 * 4;
    for (int64_t i = 0; i < squares; i += 4)
      for (int64_t tap = 0; tap < turned; tap += 4) turn_four(in + i * taps + tap, taps, last - tap * width + i, -width);
    for (int64_t tap = 0; tap < count; ++tap) {
      T* const line = last - tap * width;
      for (int64_t i = tap < turned ? squares : 0; i < rows; ++i) line[i] = in[i * taps + tap];
      for (int64_t i = rows; i < width; ++i) line[i] = 0;
    }
  }
};

// A convolution that is one product for some images of a group.
template <class T>
struct Forward {
  Geometry g;
  const T* weight;
  bool turned;                           // the filters are read as `Turned`
  std::unique_ptr<Packed<T>[]> filters;  // by group: packed once for all images, or not at all where one product has them all
  int64_t together = 1;                  // images of a product: enough for what reading the filters takes

  // Takes in the filters of all groups, (groups, filters, channels * taps), or (groups, channels, filters * taps) where they are turned; false
  // where there is no memory.
  bool take(const Geometry& geometry, const T* of_all, bool as_turned) {
    g = geometry;
    weight = of_all;
    turned = as_turned;
    together = up(g.batch, up(g.batch, std::max<int64_t>(1, kTogether / g.positions())));
    if (chunks() == 1 && g.batch * g.positions() <= kFewColumns) return true;
    filters.reset(new (std::nothrow) Packed<T>[size_t(g.groups)]);
    if (!filters) return false;
    for (int64_t k = 0; k < g.groups; ++k) {
      filters[size_t(k)] = filters_of(k, [&](const auto& rows) { return Packed<T>(rows, g.filters, lines(), g.numbers); });
      if (filters[size_t(k)].data() == nullptr) return false;
    }
    return true;
  }

  // Images [first, last) of a group, added to `output`, or in its place where that is `fresh`; both are those of the first image.
  int run(int64_t group, int64_t first, int64_t last, const T* input, T* output, bool fresh) const {
    const int64_t inputs = g.channels * g.plane(), positions = g.positions(), outputs = g.filters * positions, images = last - first;
    Patches<T> patches;
    if (!patches.take(g, input + (first * g.groups + group) * inputs, images, g.groups * inputs)) return MT_ERROR_MEMORY;
    T* const out = output + (first * g.groups + group) * outputs;
    if (images == 1) return product_for(group, patches, images, {out, positions, 1}, fresh);
    // Images side by side in a matrix of their own, so that no tile of the product ends where an image does.
    const int64_t columns = images * positions, apart = g.groups * outputs;
    const Panels<T> memory(g.filters * columns);
    if (!memory.data) return MT_ERROR_MEMORY;
    const auto each = [&](auto&& copy) {
      parallel(g.filters, rows_grain(columns), [&](int64_t filter, int64_t end) -> int {
        for (; filter < end; ++filter)
          for (int64_t i = 0; i < images; ++i) copy(out + i * apart + filter * positions, memory.data.get() + filter * columns + i * positions);
        return MT_OK;
      });
    };
    if (!fresh) each([&](const T* there, T* here) { std::memcpy(here, there, size_t(positions) * sizeof(T)); });
    const int status = product_for(group, patches, images, {memory.data.get(), columns, 1}, fresh);
    if (status == MT_OK) each([&](T* there, const T* here) { std::memcpy(there, here, size_t(positions) * sizeof(T)); });
    return status;
  }

  int64_t chunks() const { return up(g.batch, together); }

 private:
  int64_t lines() const { return g.channels * g.taps(); }

  template <class Use>
  auto filters_of(int64_t group, Use&& use) const {
    const T* const of_group = weight + group * g.filters * lines();
    const Turned<T> as_turned{g.filters, g.taps(), of_group};
    return turned ? use(Rows<T>{Turned<T>::pack, &as_turned}) : use(Matrix<const T>{of_group, lines(), 1});
  }

  int product_for(int64_t group, const Patches<T>& patches, int64_t images, const Matrix<T>& out, bool fresh) const {
    static const auto pack = PerIsa<Patches<T>, const void*, int64_t, int64_t, int64_t, int64_t, int, T*>::pick();
    const Size size{g.filters, images * g.positions(), lines()};
    const Operand<T> columns{pack, &patches};
    if (filters) return product_of<T>(size, filters[size_t(group)], columns, out, fresh, g.numbers);
    return filters_of(group, [&](const auto& rows) { return product_of<T>(size, rows, columns, out, fresh, g.numbers); });
  }
};

// c += a @ b, in which no part of c differs from the same part of a larger one.
template <class T>
int multiply(const Size& size, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& c, Numbers numbers) {
  if constexpr (std::is_floating_point_v<T>) return blocked_product<T>(size, a, b, c, numbers);
  return product<T>(size, a, b, c, 1, Before<T>::of(c));  // integers have no order
}

// Zeros for what a group is asked for.
template <class T>
void clear(const Geometry& g, What what, T* input, T* weight, T* output) {
  T* const asked = what == kOutput ? output : what == kInputGradient ? input : weight;
  const int64_t counts[] = {g.filters * g.positions(), g.channels * g.plane(), g.filters * g.channels * g.taps()};
  std::fill_n(asked, counts[what], T(0));
}

// The part of one group of one image that `some` of its channels have, added to what is asked for; `input` and `weight` begin
// with the first of them.
template <class T>
int channels_of_group(const Geometry& g, int64_t some, What what, T* input, T* weight, T* output) {
  static const auto gather = PerIsa<Gather<T>, const Geometry*, const T*, T*, int64_t, int64_t>::pick();
  static const auto scatter = PerIsa<Scatter<T>, const Geometry*, T*, const T*, int64_t, int64_t>::pick();
  Geometry part = g;
  part.channels = some;
  const int64_t all_lines = g.channels * g.taps(), lines = some * g.taps(), positions = g.positions(), width = g.out[2];
  const bool as_it_is = g.is_pointwise();
  const int64_t fitting = kColumnBytes / int64_t(sizeof(T)) / std::max<int64_t>(1, all_lines * width);
  const int64_t block = as_it_is ? g.rows() : std::clamp<int64_t>(fitting, 1, g.rows());
  std::unique_ptr<T[]> memory;
  if (!as_it_is) {
    memory.reset(new (std::nothrow) T[size_t(lines * block * width)]);
    if (!memory) return MT_ERROR_MEMORY;
  }
  for (int64_t begin = 0; begin < g.rows(); begin += block) {
    const int64_t end = std::min(begin + block, g.rows()), count = (end - begin) * width;
    T* columns = as_it_is ? input : memory.get();
    T* out = output + begin * width;
    int status;
    if (what == kInputGradient) {  // columns += weight.T @ out
      if (!as_it_is) std::fill_n(columns, lines * count, T(0));
      status = multiply<T>({lines, count, g.filters}, {weight, 1, all_lines}, {out, positions, 1}, {columns, count, 1}, g.numbers);
      if (!as_it_is) scatter(&part, input, columns, begin, end);
    } else {
      if (!as_it_is) gather(&part, input, columns, begin, end);
      if (what == kOutput)  // out += weight @ columns
        status = multiply<T>({g.filters, count, lines}, {weight, all_lines, 1}, {columns, count, 1}, {out, positions, 1}, g.numbers);
      else  // weight += out @ columns.T
        status = multiply<T>({g.filters, lines, count}, {out, positions, 1}, {columns, 1, count}, {weight, all_lines, 1}, g.numbers);
    }
    if (status) return status;
    if (mt_interrupted()) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

// One group of one image, added to what is asked for. Gradients are cut by channels, of which each has its own, and their patches
// with them; where there are no patches, or few channels, the product is cut instead.
template <class T>
int group(const Geometry& g, What what, T* input, T* weight, T* output) {
  const bool by_channels = what != kOutput && !g.is_pointwise() && taken_whole(g.channels);
  const int64_t each = g.positions() * g.filters * g.taps();
  const int64_t grain = by_channels ? even_grain(g.channels, rows_grain(each)) : g.channels;
  return parallel(g.channels, grain, [&](int64_t first, int64_t last) -> int {
    return channels_of_group(g, last - first, what, input + first * g.plane(), weight + first * g.taps(), output);
  });
}

// One group of one image of a convolution whose patches are the input itself: its output, or the gradient of its input.
template <class T>
int pointwise(const Geometry& g, What what, T* input, const T* weight, T* output, bool fresh) {
  const int64_t positions = g.positions();
  const Matrix<T> asked{what == kOutput ? output : input, positions, 1};
  const Before<T> before = fresh ? Before<T>::zeros() : Before<T>::of(asked);
  if (what == kOutput)
    return product<T>({g.filters, positions, g.channels}, {weight, g.channels, 1}, {input, positions, 1}, asked, 1, before, g.numbers);
  return product<T>({g.channels, positions, g.filters}, {weight, 1, g.channels}, {output, positions, 1}, asked, 1, before, g.numbers);
}

template <class T>
int convolve_forward(const Geometry& g, What what, T* input, T* weight, T* output, bool fresh) {
  T* const from = what == kOutput ? input : output;
  T* const to = what == kOutput ? output : input;
  const bool turned = what == kInputGradient;
  Forward<T> forward;
  if (!forward.take(turned ? g.turned() : g, weight, turned)) return MT_ERROR_MEMORY;
  const int64_t pieces = forward.chunks() * g.groups, cost = g.filters * g.positions() * g.channels * g.taps() * forward.together;
  return parallel(pieces, taken_whole(pieces) ? rows_grain(cost) : pieces, [&](int64_t first, int64_t last) -> int {
    for (; first < last; ++first) {
      const int64_t image = first / g.groups * forward.together, end = std::min(image + forward.together, g.batch);
      if (int status = forward.run(first % g.groups, image, end, from, to, fresh)) return status;
    }
    return MT_OK;
  });
}

// One image's part of the gradient of a group's filters, in their order but for the channels, which are innermost: (filters, taps, channels).
template <class T>
int filters_by_places(const Places<T>& places, const T* input, T* own, const T* output) {
  static const auto fill = PerIsa<typename Places<T>::Fill, const Places<T>*, const T*>::pick();
  static const auto pack = PerIsa<Places<T>, const void*, int64_t, int64_t, int64_t, int64_t, int, T*>::pick();
  const Geometry& g = *places.g;
  if (int status = fill(&places, input)) return status;
  const int64_t lines = g.channels * g.taps(), positions = g.positions();
  const Matrix<const T> out{output, positions, 1};
  return product_of<T>({g.filters, lines, positions}, out, {pack, &places}, {own, lines, 1}, true, g.numbers);
}

// The gradient of filters, which all images add to: images side by side, each with one of its own, and then these in their order.
template <class T>
int filters_gradient(const Geometry& g, T* input, T* weight, T* output, bool fresh) {
  const int64_t inputs = g.channels * g.plane(), outputs = g.filters * g.positions(), each = g.channels * g.taps(), weights = g.filters * each;
  const bool by_places = std::is_floating_point_v<T> && g.taps() > 1;
  std::unique_ptr<T[]> memory(new (std::nothrow) T[size_t(g.batch * g.groups * weights)]);
  if (!memory) return MT_ERROR_MEMORY;
  const int64_t pieces = g.batch * g.groups;
  const int status = parallel(pieces, taken_whole(pieces) ? 1 : pieces, [&](int64_t first, int64_t last) -> int {
    Places<T> places;
    if (by_places && !places.take(g)) return MT_ERROR_MEMORY;
    for (; first < last; ++first) {
      T *const own = memory.get() + first * weights, *const in = input + first * inputs, *const out = output + first * outputs;
      int found;
      if constexpr (std::is_floating_point_v<T>) {
        if (by_places) {
          if ((found = filters_by_places<T>(places, in, own, out))) return found;
          continue;
        }
      }
      std::fill_n(own, weights, T(0));
      if ((found = group(g, kWeightGradient, in, own, out))) return found;
    }
    return MT_OK;
  });
  if (status) return status;
  return parallel(g.groups * g.filters, rows_grain(each * g.batch), [&](int64_t first, int64_t last) -> int {
    for (; first < last; ++first) {
      T *const sum = memory.get() + first * each, *const to = weight + first * each;
      for (int64_t image = 1; image < g.batch; ++image) {
        const T* from = sum + image * g.groups * weights;
        for (int64_t i = 0; i < each; ++i) sum[i] = wrap_add(sum[i], from[i]);
      }
      const int64_t outer = by_places ? g.channels : 1, inner = each / outer;
      for (int64_t i = 0; i < outer; ++i)
        for (int64_t k = 0; k < inner; ++k) {
          T& element = to[i * inner + k];
          element = fresh ? sum[k * outer + i] : wrap_add(element, sum[k * outer + i]);
        }
    }
    return MT_OK;
  });
}

template <class T>
int convolve(const Geometry& g, What what, void* input_, void* weight_, void* output_, bool fresh) {
  const int64_t positions = g.positions();
  const bool few = g.channels <= kFewChannels && g.filters <= kFewChannels;
  const bool forward = !few && !g.is_pointwise() && (what == kOutput || (what == kInputGradient && g.turns()));
  if constexpr (std::is_same_v<T, float>) {
    // Pairs are as fast as tiles, which are not products of the numbers themselves.
    const bool by_pairs = g.numbers == Numbers::kBFloat16 && multiplies_pairs();
    const int status = fresh && !by_pairs ? convolve_by_tiles(g, what, static_cast<T*>(input_), static_cast<T*>(weight_), static_cast<T*>(output_)) : kNotByTiles;
    if (status != kNotByTiles) return status;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (forward) return convolve_forward(g, what, static_cast<T*>(input_), static_cast<T*>(weight_), static_cast<T*>(output_), fresh);
  }
  const int64_t partial = g.batch * g.groups * g.filters * g.channels * g.taps();
  if (what == kWeightGradient && !few && g.batch > 1 && partial <= kPartial)
    return filters_gradient(g, static_cast<T*>(input_), static_cast<T*>(weight_), static_cast<T*>(output_), fresh);
  const auto one = [&](FewChannels<T>& channels, int64_t image, int64_t k, bool first) -> int {
    T* input = static_cast<T*>(input_) + (image * g.groups + k) * g.channels * g.plane();
    T* weight = static_cast<T*>(weight_) + k * g.filters * g.channels * g.taps();
    T* output = static_cast<T*>(output_) + (image * g.groups + k) * g.filters * positions;
    if (!few && what != kWeightGradient && g.is_pointwise()) return pointwise(g, what, input, weight, output, first);
    if (first) clear(g, what, input, weight, output);
    if (!few) return group(g, what, input, weight, output);
    channels.run(input, weight, output);
    return mt_interrupted() ? MT_ERROR_INTERRUPTED : MT_OK;
  };
  // The groups of images side by side, but where all images add to one gradient, that of the filters: there only groups are.
  const int64_t images = what == kWeightGradient ? g.batch : 1, pieces = g.batch / images * g.groups;
  const int64_t cost = images * positions * g.filters * g.channels * g.taps();
  return parallel(pieces, taken_whole(pieces) ? rows_grain(cost) : pieces, [&](int64_t first, int64_t last) -> int {
    FewChannels<T> channels;
    if (few && !channels.take(g, what)) return MT_ERROR_MEMORY;
    for (; first < last; ++first)
      for (int64_t i = 0; i < images; ++i)
        if (int status = one(channels, first / g.groups + i, first % g.groups, fresh && i == 0)) return status;
    return MT_OK;
  });
}

// The same in float32, of halves.
int convolve_halves(const Geometry& g, What what, const mt_tensor* input, const mt_tensor* weight, const mt_tensor* output, bool fresh) {
  const mt_tensor* const given[] = {output, input, weight};  // in the order of `What`
  const Temporary wide[] = {{output, MT_F32}, {input, MT_F32}, {weight, MT_F32}};
  for (int i = 0; i < 3; ++i) {
    if (!wide[i].memory) return MT_ERROR_MEMORY;
    if (i != what || !fresh)
      if (int status = mt_copy(given[i], &wide[i].tensor)) return status;
  }
  if (int status = convolve<float>(g, what, wide[1].tensor.data, wide[2].tensor.data, wide[0].tensor.data, fresh)) return status;
  return mt_copy(&wide[what].tensor, given[what]);
}

}  // namespace
}  // namespace mt

// Adds to `output` (N, filters, D, H, W) the convolution of `input` (N, channels, D, H, W) with `weight` (filters,
// channels / groups, d, h, w); or, by `what`, to one of these two its gradient, with the output's in `output`. All are
// contiguous, of one dtype: floating, of which halves are computed in float32, or int64. What is `fresh` may hold anything: it is written, not
// added to.
MT_EXPORT int mt_convolution(const mt_tensor* input, const mt_tensor* weight, const mt_tensor* output, int64_t what,
                             int64_t fresh, int64_t groups, int64_t stride0, int64_t stride1, int64_t stride2, int64_t padding0,
                             int64_t padding1, int64_t padding2, int64_t dilation0, int64_t dilation1, int64_t dilation2) {
  for (const mt_tensor* t : {input, weight, output}) {
    if (t->ndim != 5 || !mt::is_contiguous(t)) return MT_ERROR_SHAPE;
    if (t->dtype != output->dtype) return MT_ERROR_DTYPE;
  }
  if (groups < 1 || what < 0 || what > 2) return MT_ERROR_SHAPE;
  const auto numbers = output->dtype == MT_BF16 ? mt::Numbers::kBFloat16 : mt::Numbers::kAny;
  mt::Geometry g{input->shape[0], groups, weight->shape[1], weight->shape[0] / groups, {}, {}, {},
                 {stride0, stride1, stride2}, {padding0, padding1, padding2}, {dilation0, dilation1, dilation2}, numbers};
  for (int d = 0; d < 3; ++d) {
    g.size[d] = input->shape[d + 2];
    g.kernel[d] = weight->shape[d + 2];
    g.out[d] = output->shape[d + 2];
    if (g.stride[d] < 1 || g.dilation[d] < 1) return MT_ERROR_SHAPE;
  }
  const bool fits = output->shape[0] == g.batch && output->shape[1] == g.filters * groups &&
                    weight->shape[0] == g.filters * groups && input->shape[1] == g.channels * groups;
  if (!fits) return MT_ERROR_SHAPE;
  if (mt::numel(output) == 0 || mt::numel(input) == 0 || mt::numel(weight) == 0) return MT_OK;
  const auto asked = static_cast<mt::What>(what);
  switch (output->dtype) {
    case MT_F16:
    case MT_BF16:
      return mt::convolve_halves(g, asked, input, weight, output, fresh != 0);
    case MT_F32:
      return mt::convolve<float>(g, asked, input->data, weight->data, output->data, fresh != 0);
    case MT_F64:
      return mt::convolve<double>(g, asked, input->data, weight->data, output->data, fresh != 0);
    case MT_I64:
      return mt::convolve<int64_t>(g, asked, input->data, weight->data, output->data, fresh != 0);
    default:
      return MT_ERROR_DTYPE;
  }
}
