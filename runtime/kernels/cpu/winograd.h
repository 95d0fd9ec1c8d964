// Convolution with filters of 3 x 3 and step 1 by tiles of 2 x 2 outputs: Winograd's F(2 x 2, 3 x 3), which multiplies 16 numbers for what 36
// are multiplied for else. See Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), where the three matrices are and
// whose measurements of float32 put its error below that of the sums written out. Tiles and filters are turned into 16 points each; a point of
// all filters by a point of all tiles is a product of matrices.
#pragma once

#include <algorithm>
#include <memory>
#include <new>

#include "patches.h"

namespace mt {

constexpr int kPoints = 16;            // of a tile of 4 x 4 inputs, of a filter, and of a product before it is 2 x 2 outputs
constexpr int kNotFinite = -1;         // a status: of points that are not finite, outputs are not all that the sums themselves would be
constexpr int64_t kTileBytes = 1 << 19;  // of the points of tiles that filters pass by: what stays in the L2 cache
constexpr int64_t kTilesTogether = 4096; // of the images that are taken in together
constexpr int64_t kFewestTiles = 96, kFewestChannels = 32, kFewestProducts = 1 << 19;  // below which the points take longer than they save
constexpr int64_t kPanelsTogether = 2; // of filters, whose products with the tiles of a block stay near until they are outputs

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

// The points of lines of `width` filters from their nine taps: G g G'.
template <class T>
struct FilterPoints {
  MT_INLINE static int run(const T* taps, int64_t width, T* points, int64_t apart) {
    const auto three = [](T a, T b, T c, T* to) __attribute__((always_inline)) {
      const T half = T(0.5) * (a + c);
      to[0] = a;
      to[1] = half + T(0.5) * b;
      to[2] = half - T(0.5) * b;
      to[3] = c;
    };
    for (int64_t i = 0; i < width; ++i) {
      const T* const g = taps + i;
      T columns[3][4], row[4];
      for (int x = 0; x < 3; ++x) three(g[x * width], g[(3 + x) * width], g[(6 + x) * width], columns[x]);
      for (int y = 0; y < 4; ++y) {
        three(columns[0][y], columns[1][y], columns[2][y], row);
        for (int x = 0; x < 4; ++x) points[(y * 4 + x) * apart + i] = row[x];
      }
    }
    return MT_OK;
  }
};

// The nine taps of filters that are `step` apart, as lines of `width` filters.
template <class T>
MT_INLINE void take_taps(const T* from, int64_t step, int64_t filters, bool turned, int64_t width, T* taps) {
  T* const first = turned ? taps + 8 * width : taps;
  const int64_t line = turned ? -width : width, squares = filters / 4 * 4;
  for (int64_t i = 0; i < squares; i += 4)
    for (int k = 0; k < 8; k += 4) turn_four(from + i * step + k, step, first + k * line + i, line);
  for (int64_t i = 0; i < filters; ++i)
    for (int k = i < squares ? 8 : 0; k < 9; ++k) first[k * line + i] = from[i * step + k];
}

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

// Memory of a thread for a block of tiles, and what it computes there.
template <class T>
struct TileBlock {
  const TiledImages<T>* images;
  const T* filters;        // their points, as panels
  int64_t filters_apart;   // from one point of all filters to the next
  Panels<T> tiles, products;
  int64_t tiles_apart, products_apart;  // the same; a few lines more than there are, so that points do not meet in the same sets of a cache

  bool take(const TiledImages<T>& of, const T* points, int64_t apart, int64_t panels) {
    const PanelShape shape = panel_shape<T>();
    const int64_t rows = kPanelsTogether * shape.rows, columns = panels * shape.columns;
    images = &of;
    filters = points;
    filters_apart = apart;
    tiles_apart = of.g->channels * columns + kWidest;
    products_apart = rows * columns + kWidest;
    tiles = Panels<T>(kPoints * tiles_apart);
    products = Panels<T>(kPoints * products_apart);
    if (!tiles.data || !products.data) return false;
    std::fill_n(products.data.get(), kPoints * products_apart, T(0));  // columns that no tile has are read with the others
    return true;
  }

  // Panels of tiles from `first` to `last` with panels of filters from `from` to `to`.
  template <int Width>
  MT_INLINE int run_as(int64_t first, int64_t last, int64_t from, int64_t to) {
    const Geometry& g = *images->g;
    const int64_t rows = panel_shape<T>().rows, most = (last - first) * Width, columns = std::min(most, images->tiles() - first * Width);
    T* const points = tiles.data.get();
    T* const made = products.data.get();
    TileRun runs[kWidest];
    for (int64_t p = first; p < last; ++p)
      panel_points<Width>(*images->patches, runs, images->runs_of(p * Width, Width, runs), points + (p - first) * g.channels * Width, tiles_apart);
    alignas(64) T odd[Width] = {};
    for (; from < to; from += kPanelsTogether) {
      const int64_t filter = from * rows, count = std::min(std::min(to, from + kPanelsTogether) * rows, g.filters) - filter;
      for (int k = 0; k < kPoints; ++k)
        panel_product<T>({count, columns, g.channels}, filters + k * filters_apart + filter * g.channels, points + k * tiles_apart,
                         {made + k * products_apart, most, 1}, true);
      for (int64_t p = first; p < last; ++p) {
        const int found = images->runs_of(p * Width, Width, runs);
        for (int64_t i = 0; i < count; ++i)
          tile_outputs<Width>(made + i * most + (p - first) * Width, products_apart, runs, found, g.out[2],
                              images->output + (filter + i) * g.positions(), odd);
      }
    }
    return std::all_of(odd, odd + Width, [](T number) { return number == 0; }) ? MT_OK : kNotFinite;
  }

  MT_INLINE static int run(TileBlock* block, int64_t first, int64_t last, int64_t from, int64_t to) {
    switch (panel_shape<T>().columns) {
      case 8:
        return block->template run_as<8>(first, last, from, to);
      case 16:
        return block->template run_as<16>(first, last, from, to);
      default:
        return block->template run_as<kWidest>(first, last, from, to);
    }
  }
};

// A convolution by tiles.
template <class T>
struct Tiled {
  const Geometry& g;
  const Geometry tiles;
  const int64_t panels, apart;  // of a group's filters; their points
  const Panels<T> filters;

  explicit Tiled(const Geometry& geometry)
      : g(geometry), tiles(tiles_of(g)), panels(up(g.filters, panel_shape<T>().rows)),
        apart(panels * panel_shape<T>().rows * g.channels + kWidest), filters(kPoints * apart) {}

  // Takes in a group's filters, (filters, channels, 3, 3); or, where they are `turned`, (channels, filters, 3, 3) with taps in the other order.
  int take_filters(const T* weight, bool turned) const {
    static const auto turn = PerIsa<FilterPoints<T>, const T*, int64_t, T*, int64_t>::pick();
    const int64_t width = panel_shape<T>().rows;
    return parallel(panels, rows_grain(g.channels * width * kPoints), [&](int64_t first, int64_t last) -> int {
      T taps[9 * kWidest] = {};
      for (; first < last; ++first)
        for (int64_t c = 0; c < g.channels; ++c) {
          const int64_t filter = first * width, step = turned ? 9 : 9 * g.channels;
          const T* const from = weight + (turned ? c * g.filters + filter : filter * g.channels + c) * 9;
          take_taps(from, step, std::min(width, g.filters - filter), turned, width, taps);
          turn(taps, width, filters.data.get() + (first * g.channels + c) * width, apart);
        }
      return MT_OK;
    });
  }

  // Some images of a group: blocks of tiles, and parts of the filters where these come out uneven.
  int images(const T* input, T* output, int64_t count) const {
    static const auto run = PerIsa<TileBlock<T>, TileBlock<T>*, int64_t, int64_t, int64_t, int64_t>::pick();
    Patches<T> patches;
    if (!patches.take(tiles, input, count, g.groups * g.channels * g.plane())) return MT_ERROR_MEMORY;
    const TiledImages<T> of{&g, &patches, output, count};
    const int64_t columns = panel_shape<T>().columns, units = up(of.tiles(), columns);
    const int64_t near = std::max<int64_t>(1, kTileBytes / (int64_t(sizeof(T)) * kPoints * g.channels * columns)), blocks = up(units, near);
    const int64_t parts = taken_whole(blocks) ? 1 : std::min<int64_t>(threads(), panels);
    return parallel(blocks * parts, 1, [&](int64_t first, int64_t last) -> int {
      TileBlock<T> block;
      if (!block.take(of, filters.data.get(), apart, up(units, blocks))) return MT_ERROR_MEMORY;
      for (; first < last; ++first) {
        const int64_t at = first / parts, part = first % parts;
        const int status = run(&block, units * at / blocks, units * (at + 1) / blocks, panels * part / parts, panels * (part + 1) / parts);
        if (status) return status;
        if (mt_interrupted()) return MT_ERROR_INTERRUPTED;
      }
      return MT_OK;
    });
  }
};

// Writes the output of a convolution that `takes_tiles`; filters are those of all groups, as in `take_filters`. Gives kNotFinite where the
// output is not to be used.
template <class T>
int convolve_tiles(const Geometry& g, const T* weight, bool turned, const T* input, T* output) {
  const Tiled<T> tiled(g);
  if (!tiled.filters.data) return MT_ERROR_MEMORY;
  const int64_t inputs = g.channels * g.plane(), outputs = g.filters * g.positions();
  const int64_t count = images_together(g);
  for (int64_t group = 0; group < g.groups; ++group) {
    if (int status = tiled.take_filters(weight + group * g.filters * g.channels * 9, turned)) return status;
    for (int64_t image = 0; image < g.batch; image += count) {
      const int64_t at = image * g.groups + group;
      if (int status = tiled.images(input + at * inputs, output + at * outputs, std::min(count, g.batch - image))) return status;
    }
  }
  return MT_OK;
}

}  // namespace mt
