// The gradient of 3 x 3 filters by the tiles of winograd.h: what its points are multiplied for is summed over tiles, so that here a point of the
// outputs' gradients by a point of the inputs is a product whose depth are the tiles. G' ((A y A') (B' d B)) G, the transpose of the convolution.
#pragma once

#include "winograd.h"

namespace mt {

constexpr int64_t kTilesDeep = 224;  // tiles of a product: panels of them stay in the L1 cache; as in a convolution, no sum depends on the threads

// Tiles of 2 x 2 outputs, of which an odd number ends with zeros: the geometry of what is filled in.
inline Geometry output_tiles_of(const Geometry& g) {
  Geometry tiles = tiles_of(g);
  tiles.channels = g.filters;
  for (int d = 0; d < 3; ++d) {
    tiles.size[d] = g.out[d];
    tiles.kernel[d] = d == 0 ? 1 : 2;
    tiles.padding[d] = 0;
  }
  return tiles;
}

// Points of some tiles of an image as a panel: a line of some channels for each tile.
template <class T>
struct ChannelPoints {
  template <int Width>
  MT_INLINE static void of_inputs(const Places<T>& p, int64_t channel, int64_t tile, int64_t count, T* points, int64_t apart) {
    int64_t shifts[kPoints];
    for (int k = 0; k < kPoints; ++k) shifts[k] = p.offset(0, k / 4, k % 4) + channel;
    for (int64_t t = tile; t < tile + count; ++t, points += Width) {
      const T* const at = p.copy.get() + p.places[size_t(t)];
      tile_points<Width>([&](int k) __attribute__((always_inline)) { return at + shifts[k]; }, points, apart);
    }
  }

  // A y A' of gradients. Some more are written than a line has: they are the next one's, and are written again.
  template <int Rows>
  MT_INLINE static void of_outputs(const Places<T>& p, int64_t filter, int64_t tile, int64_t count, T* points, int64_t apart) {
    constexpr int kWidth = (Rows + 3) / 4 * 4;
    const int64_t down = p.offset(0, 1, 0), right = p.offset(0, 0, 1);
    for (int64_t t = tile; t < tile + count; ++t, points += Rows) {
      const T* const at = p.copy.get() + p.places[size_t(t)] + filter;
#pragma GCC ivdep
      for (int i = 0; i < kWidth; ++i) {
        const T a = at[i], b = at[right + i], c = at[down + i], d = at[down + right + i];
        const T rows[4][2] = {{a, b}, {a + c, b + d}, {a - c, b - d}, {-c, -d}};
#pragma GCC unroll 4
        for (int y = 0; y < 4; ++y) {
          T* const to = points + y * 4 * apart + i;
          to[0] = rows[y][0];
          to[apart] = rows[y][0] + rows[y][1];
          to[2 * apart] = rows[y][0] - rows[y][1];
          to[3 * apart] = -rows[y][1];
        }
      }
    }
  }

  MT_INLINE static int run(const Places<T>* p, bool inputs, int64_t channel, int64_t tile, int64_t count, T* points, int64_t apart) {
    const auto take_inputs = [&](auto width) __attribute__((always_inline)) -> int {
      of_inputs<width>(*p, channel, tile, count, points, apart);
      return MT_OK;
    };
    const auto take_outputs = [&](auto rows) __attribute__((always_inline)) -> int {
      of_outputs<rows>(*p, channel, tile, count, points, apart);
      return MT_OK;
    };
    return inputs ? by_columns_of_panel<T>(take_inputs) : by_rows_of_panel<T>(take_outputs);
  }
};

// The taps of a filter in all channels from its points: G' p G. What is not finite leaves `odd` no zero.
template <class T>
struct FilterTaps {
  MT_INLINE static int run(const T* points, int64_t apart, int64_t channels, T* taps, T* odd) {
    const auto three = [](T a, T b, T c, T d, T* to) __attribute__((always_inline)) {
      const T sum = T(0.5) * (b + c);
      to[0] = a + sum;
      to[1] = T(0.5) * (b - c);
      to[2] = sum + d;
    };
    for (int64_t c = 0; c < channels; ++c) {
      const T* const p = points + c;
      T columns[4][3];
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) three(p[x * apart], p[(4 + x) * apart], p[(8 + x) * apart], p[(12 + x) * apart], columns[x]);
#pragma GCC unroll 3
      for (int y = 0; y < 3; ++y) {
        T* const to = taps + c * 9 + y * 3;
        three(columns[0][y], columns[1][y], columns[2][y], columns[3][y], to);
        *odd += T(0) * (to[0] + to[1] + to[2]);
      }
    }
    return MT_OK;
  }
};

// The gradient of a group's filters by tiles.
template <class T>
struct TiledGradient {
  const Geometry& g;
  const Geometry inputs = tiles_of(g), outputs = output_tiles_of(g);  // their tiles
  const Points<T> points{g.filters * g.channels};                     // of all filters, (filters, channels)

  explicit TiledGradient(const Geometry& geometry) : g(geometry) {}

  // Some panels of filters by some of channels, of images whose channels lie side by side: added to the points, or in their place.
  int part(const Places<T>* in, const Places<T>* out, int64_t images, int64_t filter, int64_t filters, int64_t channel, int64_t channels,
           bool fresh) const {
    static const auto turn = PerIsa<ChannelPoints<T>, const Places<T>*, bool, int64_t, int64_t, int64_t, T*, int64_t>::pick();
    const PanelShape shape = panel_shape<T>();
    const int64_t positions = inputs.positions(), tiles = images * positions, blocks = up(tiles, kTilesDeep), deep = up(tiles, blocks);
    const Points<T> of_inputs(up(channels, shape.columns) * shape.columns * deep), of_outputs(up(filters, shape.rows) * shape.rows * deep);
    if (!of_inputs || !of_outputs) return MT_ERROR_MEMORY;
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t first = tiles * block / blocks, last = tiles * (block + 1) / blocks, depth = last - first;
      const auto turn_all = [&](const Places<T>* from, bool is_input, int64_t at, int64_t count, int width, const Points<T>& to) {
        for (int64_t c = 0; c < count; c += width)
          for (int64_t t = first; t < last;) {
            const int64_t image = t / positions, tile = t % positions, some = std::min(positions - tile, last - t);
            turn(from + image, is_input, at + c, tile, some, to.at(c * depth + (t - first) * width), to.apart);
            t += some;
          }
      };
      turn_all(in, true, channel, channels, shape.columns, of_inputs);
      turn_all(out, false, filter, filters, shape.rows, of_outputs);
      for (int k = 0; k < kPoints; ++k)
        panel_product<T>({filters, channels, depth}, of_outputs.at(k * of_outputs.apart), of_inputs.at(k * of_inputs.apart), depth,
                         {points.at(k * points.apart + filter * g.channels + channel), g.channels, 1}, fresh && block == 0);
      if (mt_interrupted()) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }

  // Some images of a group: channels side by side first, then parts of filters and channels.
  int images(const T* input, const T* output, int64_t count, bool fresh) const {
    static const auto fill = PerIsa<typename Places<T>::Fill, const Places<T>*, const T*>::pick();
    const std::unique_ptr<Places<T>[]> in(new (std::nothrow) Places<T>[size_t(count)]), out(new (std::nothrow) Places<T>[size_t(count)]);
    if (!in || !out) return MT_ERROR_MEMORY;
    const int status = parallel(2 * count, 1, [&](int64_t first, int64_t last) -> int {
      for (; first < last; ++first) {
        const int64_t image = first / 2;
        const bool is_input = first % 2 == 0;
        Places<T>& places = (is_input ? in : out)[size_t(image)];
        if (!places.take(is_input ? inputs : outputs)) return MT_ERROR_MEMORY;
        const T* const from = is_input ? input + image * g.groups * g.channels * g.plane() : output + image * g.groups * g.filters * g.positions();
        if (int found = fill(&places, from)) return found;
      }
      return MT_OK;
    });
    if (status) return status;
    const PanelShape shape = panel_shape<T>();
    const int64_t channels = up(g.channels, shape.columns), filters = up(g.filters, shape.rows);
    const int64_t across = std::min<int64_t>(threads(), channels), along = std::min(up(threads(), across), filters);
    return parallel(across * along, 1, [&](int64_t first, int64_t last) -> int {
      for (; first < last; ++first) {
        const int64_t x = first % across, y = first / across;
        const int64_t channel = channels * x / across * shape.columns, filter = filters * y / along * shape.rows;
        const int64_t channel_end = std::min(channels * (x + 1) / across * shape.columns, g.channels);
        const int64_t filter_end = std::min(filters * (y + 1) / along * shape.rows, g.filters);
        if (int found = part(in.get(), out.get(), count, filter, filter_end - filter, channel, channel_end - channel, fresh)) return found;
      }
      return MT_OK;
    });
  }

  int give(T* weight) const {
    static const auto turn = PerIsa<FilterTaps<T>, const T*, int64_t, int64_t, T*, T*>::pick();
    return parallel(g.filters, rows_grain(g.channels * kPoints), [&](int64_t first, int64_t last) -> int {
      T odd = 0;
      for (; first < last; ++first) turn(points.at(first * g.channels), points.apart, g.channels, weight + first * g.channels * 9, &odd);
      return odd == 0 ? MT_OK : kNotByTiles;
    });
  }
};

// Writes the gradient of the filters of a convolution that `takes_tiles`. Gives kNotByTiles where it is not to be used.
template <class T>
int filters_by_tiles(const Geometry& g, const T* input, T* weight, const T* output) {
  const TiledGradient<T> tiled(g);
  if (!tiled.points) return MT_ERROR_MEMORY;
  const int64_t count = images_together(g);
  for (int64_t group = 0; group < g.groups; ++group) {
    for (int64_t image = 0; image < g.batch; image += count) {
      const int64_t at = image * g.groups + group;
      const T *const in = input + at * g.channels * g.plane(), *const out = output + at * g.filters * g.positions();
      if (int status = tiled.images(in, out, std::min(count, g.batch - image), image == 0)) return status;
    }
    if (int status = tiled.give(weight + group * g.filters * g.channels * 9)) return status;
  }
  return MT_OK;
}

// Writes what a convolution is asked for by tiles; gives kNotByTiles where it is for the sums.
template <class T>
int convolve_by_tiles(const Geometry& g, What what, T* input, T* weight, T* output) {
  if (what == kOutput) return takes_tiles(g) ? convolve_tiles<T>(g, weight, false, input, output) : kNotByTiles;
  if (what == kWeightGradient) return takes_tiles(g) ? filters_by_tiles<T>(g, input, weight, output) : kNotByTiles;
  const Geometry turned = g.turned();
  return g.turns() && takes_tiles(turned) ? convolve_tiles<T>(turned, weight, true, output, input) : kNotByTiles;
}

}  // namespace mt
