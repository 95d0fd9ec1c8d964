// Convolution with filters of 3 x 3 and step 1 by tiles of 2 x 2 outputs: Winograd's F(2 x 2, 3 x 3), which multiplies 16 numbers for what 36
// are multiplied for else. See Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), where the three matrices are and
// whose measurements of float32 put its error below that of the sums written out. Tiles and filters are turned into 16 points each; a point of
// all filters by a point of all tiles is a product of matrices.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <type_traits>

#include "patches.h"

namespace mt {

constexpr int kPoints = 16;            // of a tile of 4 x 4 inputs, of a filter, and of a product before it is 2 x 2 outputs
constexpr int64_t kTileBytes = 1 << 19;  // of the points of tiles that filters pass by: what stays in the L2 cache
constexpr int64_t kTilesTogether = 4096; // of the images that are taken in together
constexpr int64_t kFewestTiles = 48, kFewestChannels = 32, kFewestProducts = 1 << 19;  // below which the points take longer than they save
constexpr int64_t kShortSum = 64;      // channels that are summed at a time: what the points lose of precision, short sums win back
constexpr int64_t kPanelsTogether = 2; // of filters, whose products with the tiles of a block stay near until they are outputs

// A status: the sums themselves are for this. They take less time; or points were not finite, from which outputs do not come as from the sums.
constexpr int kNotByTiles = -1;

// Tiles of 4 x 4 that are two apart, of the geometry of a convolution.
inline Geometry tiles_of(const Geometry& g) {
  Geometry tiles = g;
  for (int d = 1; d < 3; ++d) {
    tiles.kernel[d] = 4;
    tiles.stride[d] = 2;
    tiles.out[d] = up(g.out[d], 2);
  }
  return tiles;
}

// Whether a convolution is one of tiles, and large enough to gain from it.
inline bool takes_tiles(const Geometry& g) {
  if (g.size[0] != 1 || g.kernel[0] != 1 || g.padding[0] != 0) return false;
  for (int d = 1; d < 3; ++d)
    if (g.kernel[d] != 3 || g.stride[d] != 1 || g.dilation[d] != 1) return false;
  const int64_t tiles = g.batch * tiles_of(g).positions();
  return g.channels >= kFewestChannels && g.filters >= kFewestChannels && tiles >= kFewestTiles && tiles * g.channels * g.filters >= kFewestProducts;
}

// Images that are taken in together: about as many each time.
inline int64_t images_together(const Geometry& g) {
  return up(g.batch, up(g.batch, std::max<int64_t>(1, kTilesTogether / tiles_of(g).positions())));
}

// Calls f(the rows, or the columns, of a panel as a constant).
template <int First, int Second, int Third, class F>
MT_INLINE int by_width(int width, F&& f) {
  switch (width) {
    case First:
      return f(std::integral_constant<int, First>());
    case Second:
      return f(std::integral_constant<int, Second>());
    case Third:
      return f(std::integral_constant<int, Third>());
    default:
      return MT_ERROR_SHAPE;
  }
}
template <class T, class F>
MT_INLINE int by_rows_of_panel(F&& f) {
  return by_width<4, 6, 12>(panel_shape<T>().rows, f);
}
template <class T, class F>
MT_INLINE int by_columns_of_panel(F&& f) {
  return by_width<8, 16, kWidest>(panel_shape<T>().columns, f);
}

// The points of a panel's filters from their nine taps: G g G' of each, a line of `Rows` filters for each channel.
template <class T>
struct TurnFilters {
  const T* from;          // the panel's first filter
  int64_t step, channel;  // from one of the panel's filters to the next, and from one channel to the next
  int64_t filters, channels;
  bool turned;  // whether taps are in the other order

  // The taps as lines of `Rows` filters.
  template <int Rows>
  MT_INLINE void take(const T* filter, T* taps) const {
    T* const first = turned ? taps + 8 * Rows : taps;
    const int64_t line = turned ? -Rows : Rows, squares = filters / 4 * 4;
    for (int64_t i = 0; i < squares; i += 4)
      for (int k = 0; k < 8; k += 4) turn_four(filter + i * step + k, step, first + k * line + i, line);
    for (int64_t i = 0; i < filters; ++i)
      for (int k = i < squares ? 8 : 0; k < 9; ++k) first[k * line + i] = filter[i * step + k];
  }

  template <int Rows>
  MT_INLINE static void turn(const T* taps, T* points, int64_t apart) {
    const auto three = [](T a, T b, T c, T* to) __attribute__((always_inline)) {
      const T ends = T(0.5) * (a + c), middle = T(0.5) * b;
      to[0] = a;
      to[1] = ends + middle;
      to[2] = ends - middle;
      to[3] = c;
    };
#pragma GCC ivdep
    for (int i = 0; i < Rows; ++i) {
      const T* const g = taps + i;
      T columns[3][4], row[4];
#pragma GCC unroll 3
      for (int x = 0; x < 3; ++x) three(g[x * Rows], g[(3 + x) * Rows], g[(6 + x) * Rows], columns[x]);
#pragma GCC unroll 4
      for (int y = 0; y < 4; ++y) {
        three(columns[0][y], columns[1][y], columns[2][y], row);
#pragma GCC unroll 4
        for (int x = 0; x < 4; ++x) points[(y * 4 + x) * apart + i] = row[x];
      }
    }
  }

  MT_INLINE static int run(const TurnFilters* f, T* points, int64_t apart) {
    return by_rows_of_panel<T>([&](auto rows) __attribute__((always_inline)) -> int {
      T taps[9 * rows] = {};
      for (int64_t c = 0; c < f->channels; ++c, points += rows) {
        f->template take<rows>(f->from + c * f->channel, taps);
        turn<rows>(taps, points, apart);
      }
      return MT_OK;
    });
  }
};

// Tiles that lie side by side in a panel and in a row of an image.
struct TileRun {
  int to, count;   // columns of the panel
  int64_t from;    // of the first tile in the copy of the images
  int64_t output;  // of its first output, from the first image's on
  int rows, wide;  // outputs that there are: one or two rows of a tile, columns of them all
};

// Images that a convolution's tiles are taken from, and a group's outputs of the first of them.
template <class T>
struct TiledImages {
  const Geometry* g;  // of the convolution
  const Patches<T>* patches;
  T* output;
  int64_t count;

  int64_t tiles() const { return count * patches->g->positions(); }

  // The runs of up to `width` tiles from `tile` on.
  int runs_of(int64_t tile, int width, TileRun* runs) const {
    Run places[kWidest];
    const int found = patches->runs_of(tile, int(std::min<int64_t>(width, tiles() - tile)), places);
    const int64_t positions = patches->g->positions(), tiles_wide = patches->g->out[2], image = g->groups * g->filters * g->positions();
    for (int r = 0; r < found; ++r) {
      const int64_t at = tile + places[r].to, y = at % positions / tiles_wide * 2, x = at % tiles_wide * 2;
      runs[r] = {places[r].to, places[r].count, places[r].from, at / positions * image + y * g->out[2] + x,
                 int(std::min<int64_t>(2, g->out[1] - y)), int(std::min<int64_t>(2 * places[r].count, g->out[2] - x))};
    }
    return found;
  }
};

// The points of `Width` tiles side by side: B' d B of each, of 16 lines of inputs, point by point `apart`.
template <int Width, class T, class Lines>
MT_INLINE void tile_points(const Lines& line, T* points, int64_t apart) {
#pragma GCC ivdep
  for (int i = 0; i < Width; ++i) {
    T columns[4][4];
#pragma GCC unroll 4
    for (int x = 0; x < 4; ++x) {
      const T a = line(x)[i], b = line(4 + x)[i], c = line(8 + x)[i], d = line(12 + x)[i];
      columns[x][0] = a - c;
      columns[x][1] = b + c;
      columns[x][2] = c - b;
      columns[x][3] = b - d;
    }
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      T* const to = points + y * 4 * apart + i;
      to[0] = columns[0][y] - columns[2][y];
      to[apart] = columns[1][y] + columns[2][y];
      to[2 * apart] = columns[2][y] - columns[1][y];
      to[3 * apart] = columns[1][y] - columns[3][y];
    }
  }
}

// The same of a panel's tiles in all channels: a line of `Width` tiles for each channel.
template <int Width, class T>
MT_INLINE void panel_points(const Patches<T>& patches, const TileRun* runs, int found, T* points, int64_t apart) {
  alignas(64) T lines[kPoints * Width + kWidest];  // a run is copied by the whole width, the last one beyond the end
  for (int64_t c = 0; c < patches.g->channels; ++c, points += Width) {
    const int64_t* const shifts = patches.shifts.get() + c * kPoints;
    for (int k = 0; k < kPoints; ++k)
      for (int r = 0; r < found; ++r) std::memcpy(lines + k * Width + runs[r].to, patches.copy.get() + shifts[k] + runs[r].from, Width * sizeof(T));
    tile_points<Width>([&](int k) __attribute__((always_inline)) { return lines + k * Width; }, points, apart);
  }
}

// The outputs of a panel's tiles for one filter: A' m A, of points that are `apart`. What is not finite leaves `odd` no zero.
template <int Width, class T>
MT_INLINE void tile_outputs(const T* points, int64_t apart, const TileRun* runs, int found, int64_t row, T* output, T* odd) {
  alignas(64) T line[4][Width];
#pragma GCC ivdep
  for (int i = 0; i < Width; ++i) {
    const T* const m = points + i;
    T upper[4], lower[4];
#pragma GCC unroll 4
    for (int x = 0; x < 4; ++x) {
      const T a = m[x * apart], b = m[(4 + x) * apart], c = m[(8 + x) * apart], d = m[(12 + x) * apart];
      upper[x] = a + b + c;
      lower[x] = b - c - d;
    }
    line[0][i] = upper[0] + upper[1] + upper[2];
    line[1][i] = upper[1] - upper[2] - upper[3];
    line[2][i] = lower[0] + lower[1] + lower[2];
    line[3][i] = lower[1] - lower[2] - lower[3];
    odd[i] += T(0) * (line[0][i] + line[1][i] + line[2][i] + line[3][i]);
  }
  for (int r = 0; r < found; ++r)
    for (int y = 0; y < runs[r].rows; ++y) {
      T* const to = output + runs[r].output + y * row;
      const T *const left = line[2 * y] + runs[r].to, *const right = left + Width;
      const int both = runs[r].wide / 2;
      for (int x = 0; x < both; ++x) {
        to[2 * x] = left[x];
        to[2 * x + 1] = right[x];
      }
      if (runs[r].wide % 2) to[2 * both] = left[both];
    }
}

// Points of panels: memory, and how far one point of all of them is from the next, which is a few lines more than they are, so that points
// do not meet in the same sets of a cache.
template <class T>
struct Points {
  int64_t apart;
  Panels<T> panels;

  explicit Points(int64_t count) : apart(count + kWidest), panels(kPoints * apart) {}
  T* at(int64_t place) const { return panels.data.get() + place; }
  explicit operator bool() const { return panels.data != nullptr; }
};

// The points of panels of tiles from `first` to `last`.
template <class T>
struct TurnTiles {
  MT_INLINE static int run(const TiledImages<T>* images, int64_t first, int64_t last, T* points, int64_t apart) {
    return by_columns_of_panel<T>([&](auto width) __attribute__((always_inline)) -> int {
      TileRun runs[kWidest];
      for (; first < last; ++first, points += images->g->channels * width)
        panel_points<width>(*images->patches, runs, images->runs_of(first * width, width, runs), points, apart);
      return MT_OK;
    });
  }
};

// The outputs of the same for `count` filters, of products whose rows are as long as the panels are wide.
template <class T>
struct TakeOutputs {
  MT_INLINE static int run(const TiledImages<T>* images, int64_t first, int64_t last, int64_t filter, int64_t count, const T* products,
                           int64_t apart) {
    return by_columns_of_panel<T>([&](auto width) __attribute__((always_inline)) -> int {
      const Geometry& g = *images->g;
      TileRun runs[kWidest];
      alignas(64) T odd[width] = {};
      for (int64_t p = first; p < last; ++p) {
        const int found = images->runs_of(p * width, width, runs);
        for (int64_t i = 0; i < count; ++i) {
          const T* const panel = products + (i * (last - first) + p - first) * width;
          tile_outputs<width>(panel, apart, runs, found, g.out[2], images->output + (filter + i) * g.positions(), odd);
        }
      }
      return std::all_of(odd, odd + width, [](T number) { return number == 0; }) ? MT_OK : kNotByTiles;
    });
  }
};

// A convolution by tiles, of filters (groups, filters, channels, 3, 3); or, where they are `turned`, (groups, channels, filters, 3, 3) whose
// taps are in the other order.
template <class T>
struct Tiled {
  const Geometry& g;
  const T* weight;
  const bool turned;
  const Geometry tiles = tiles_of(g);
  const PanelShape shape = panel_shape<T>();
  const int64_t panels = up(g.filters, shape.rows), together = kPanelsTogether * shape.rows;  // of filters; filters that are multiplied together

  int turn_filters(int64_t group, int64_t first, int64_t last, T* points, int64_t apart) const {
    static const auto turn = PerIsa<TurnFilters<T>, const TurnFilters<T>*, T*, int64_t>::pick();
    const int64_t taps = 9, step = turned ? taps : taps * g.channels, channel = turned ? taps * g.filters : taps;
    const T* const of_group = weight + group * g.filters * g.channels * taps;
    for (; first < last; ++first, points += shape.rows * g.channels) {
      const int64_t filter = first * shape.rows;
      const TurnFilters<T> panel{of_group + filter * step, step, channel, std::min<int64_t>(shape.rows, g.filters - filter), g.channels, turned};
      if (int status = turn(&panel, points, apart)) return status;
    }
    return MT_OK;
  }

  int turn_tiles(const TiledImages<T>& images, int64_t first, int64_t last, T* points, int64_t apart) const {
    static const auto turn = PerIsa<TurnTiles<T>, const TiledImages<T>*, int64_t, int64_t, T*, int64_t>::pick();
    return turn(&images, first, last, points, apart);
  }

  // The outputs of some panels of tiles for up to as many filters as are taken together, from `filter` on. Columns of `products` that no tile has
  // are read with the others.
  int multiply(const TiledImages<T>& images, int64_t first, int64_t last, int64_t filter, const T* filters, int64_t filters_apart,
               const Points<T>& of_tiles, const Points<T>& products) const {
    static const auto take = PerIsa<TakeOutputs<T>, const TiledImages<T>*, int64_t, int64_t, int64_t, int64_t, const T*, int64_t>::pick();
    const int64_t wide = (last - first) * shape.columns, count = std::min(together, g.filters - filter);
    const Size size{count, std::min(wide, images.tiles() - first * shape.columns), g.channels};
    for (int k = 0; k < kPoints; ++k)
      panel_product<T>(size, filters + k * filters_apart, of_tiles.at(k * of_tiles.apart), kShortSum,
                       {products.at(k * products.apart), wide, 1}, true);
    if (mt_interrupted()) return MT_ERROR_INTERRUPTED;
    return take(&images, first, last, filter, count, products.at(0), products.apart);
  }

  bool room(const Points<T>& products) const {
    if (products) std::fill_n(products.at(0), kPoints * products.apart, T(0));
    return bool(products);
  }

  // Many tiles: all filters' points first, then tiles block by block, each for all filters; or for a part of them, where blocks come out uneven.
  int by_tiles(const TiledImages<T>& images, const Points<T>& filters, int64_t units) const {
    const int64_t near = std::max<int64_t>(1, kTileBytes / (int64_t(sizeof(T)) * kPoints * g.channels * shape.columns)), blocks = up(units, near);
    const int64_t pairs = up(panels, kPanelsTogether), parts = taken_whole(blocks) ? 1 : std::min<int64_t>(threads(), pairs);
    return parallel(blocks * parts, 1, [&](int64_t at, int64_t end) -> int {
      const int64_t wide = up(units, blocks) * shape.columns;
      const Points<T> of_tiles(g.channels * wide), products(together * wide);
      if (!of_tiles || !room(products)) return MT_ERROR_MEMORY;
      for (; at < end; ++at) {
        const int64_t block = at / parts, part = at % parts, first = units * block / blocks, last = units * (block + 1) / blocks;
        if (int status = turn_tiles(images, first, last, of_tiles.at(0), of_tiles.apart)) return status;
        for (int64_t pair = pairs * part / parts; pair < pairs * (part + 1) / parts; ++pair) {
          const int64_t filter = pair * together;
          if (int status = multiply(images, first, last, filter, filters.at(filter * g.channels), filters.apart, of_tiles, products)) return status;
        }
      }
      return MT_OK;
    });
  }

  // Few tiles: those of all images first, then some filters' points at a time, which stay in the cache.
  int by_filters(const TiledImages<T>& images, int64_t group, int64_t units) const {
    const Points<T> of_tiles(g.channels * units * shape.columns);
    if (!of_tiles) return MT_ERROR_MEMORY;
    const int status = parallel(units, 1, [&](int64_t first, int64_t last) -> int {
      return turn_tiles(images, first, last, of_tiles.at(first * g.channels * shape.columns), of_tiles.apart);
    });
    if (status) return status;
    return parallel(up(panels, kPanelsTogether), 1, [&](int64_t pair, int64_t end) -> int {
      const Points<T> filters(together * g.channels), products(together * units * shape.columns);
      if (!filters || !room(products)) return MT_ERROR_MEMORY;
      for (; pair < end; ++pair) {
        const int64_t first = pair * kPanelsTogether, last = std::min(panels, first + kPanelsTogether);
        if (int found = turn_filters(group, first, last, filters.at(0), filters.apart)) return found;
        if (int found = multiply(images, 0, units, pair * together, filters.at(0), filters.apart, of_tiles, products)) return found;
      }
      return MT_OK;
    });
  }

  // All images of a group, some at a time.
  int run(int64_t group, const T* input, T* output) const {
    const int64_t count = images_together(g);
    const bool few = g.batch * tiles.positions() <= g.filters;
    const Points<T> filters(few ? 0 : panels * shape.rows * g.channels);
    if (!filters) return MT_ERROR_MEMORY;
    const int status = parallel(few ? 0 : panels, rows_grain(g.channels * shape.rows * kPoints), [&](int64_t first, int64_t last) -> int {
      return turn_filters(group, first, last, filters.at(first * shape.rows * g.channels), filters.apart);
    });
    if (status) return status;
    for (int64_t image = 0; image < g.batch; image += count) {
      const int64_t at = image * g.groups + group, some = std::min(count, g.batch - image);
      Patches<T> patches;
      if (!patches.take(tiles, input + at * g.channels * g.plane(), some, g.groups * g.channels * g.plane())) return MT_ERROR_MEMORY;
      const TiledImages<T> images{&g, &patches, output + at * g.filters * g.positions(), some};
      const int64_t units = up(images.tiles(), shape.columns);
      if (int status = few ? by_filters(images, group, units) : by_tiles(images, filters, units)) return status;
    }
    return MT_OK;
  }
};

// Writes the output of a convolution that `takes_tiles`. Gives kNotByTiles where it is not to be used.
template <class T>
int convolve_tiles(const Geometry& g, const T* weight, bool turned, const T* input, T* output) {
  const Tiled<T> tiled{g, weight, turned};
  for (int64_t group = 0; group < g.groups; ++group)
    if (int status = tiled.run(group, input, output)) return status;
  return MT_OK;
}

}  // namespace mt
