// What the products of a convolution are of: patches of images, packed from copies in which a line of a panel is few runs of memory.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "matmul.h"
#include "threads.h"

namespace mt {

enum What : int64_t { kOutput, kInputGradient, kWeightGradient };

struct Geometry {
  int64_t batch, groups, channels, filters;  // channels and filters of a group
  int64_t size[3], kernel[3], out[3];        // depth, height, width: of input, filters and output
  int64_t stride[3], padding[3], dilation[3];
  Numbers numbers;  // of all operands

  int64_t plane() const { return size[0] * size[1] * size[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t positions() const { return out[0] * out[1] * out[2]; }
  int64_t rows() const { return out[0] * out[1]; }
  // Of the input with its padding: where the filters end at the last output, if that is beyond it.
  int64_t extent(int d) const { return std::max(size[d] + 2 * padding[d], (out[d] - 1) * stride[d] + dilation[d] * (kernel[d] - 1) + 1); }
  // Whether the gradient of the input is a convolution.
  bool turns() const {
    for (int d = 0; d < 3; ++d)
      if (stride[d] != 1 || dilation[d] * (kernel[d] - 1) < padding[d]) return false;
    return true;
  }
  // Of the convolution that gives the gradient of the input from that of the output, where this one `turns`.
  Geometry turned() const {
    Geometry other = *this;
    std::swap(other.channels, other.filters);
    std::swap(other.size, other.out);
    for (int d = 0; d < 3; ++d) other.padding[d] = dilation[d] * (kernel[d] - 1) - padding[d];
    return other;
  }
  // Whether the input is the matrix of patches as it is.
  bool is_pointwise() const {
    for (int d = 0; d < 3; ++d)
      if (kernel[d] != 1 || stride[d] != 1 || padding[d] != 0) return false;
    return true;
  }
};

MT_INLINE int64_t up(int64_t n, int64_t by) { return n <= 0 ? 0 : (n + by - 1) / by; }

constexpr int kWidest = 32;  // columns of a panel

// Numbers of a panel's line that lie side by side in a copy, from where the line is in it.
struct Run {
  int to, count;
  int64_t from;
};

// A run is copied by the whole width, as vectors are: what is too much lies where the next run, or the next line, will; after the last
// line there is nothing, so that it has its length. A copy has kWidest elements more, which are read with its last run.
template <int Width, class T>
MT_INLINE void pack_panel(const T* data, const int64_t* lines, int64_t depth, const Run* runs, int found, int count, T* out) {
  for (int64_t k = 0; k < depth; ++k, out += Width) {
    const T* from = data + lines[k];
    if (k + 1 < depth) {
      for (int r = 0; r < found; ++r) std::memcpy(out + runs[r].to, from + runs[r].from, Width * sizeof(T));
    } else {
      for (int r = 0; r < found; ++r)
        for (int i = 0; i < runs[r].count; ++i) out[runs[r].to + i] = from[runs[r].from + i];
    }
    for (int i = count; i < Width; ++i) out[i] = 0;
  }
}

// Panels of `width` of some columns of a copy, whose lines begin at `lines`; `runs_of` tells the runs of a panel by its first column.
template <class T, class F>
MT_INLINE int pack_runs(const T* data, const int64_t* lines, int64_t depth, int64_t columns, int width, T* out, F&& runs_of) {
  Run runs[kWidest];
  for (int64_t j = 0; j < columns; j += width, out += depth * width) {
    const int count = int(std::min<int64_t>(width, columns - j)), found = runs_of(j, count, runs);
    switch (width) {
      case 4:
        pack_panel<4>(data, lines, depth, runs, found, count, out);
        break;
      case 8:
        pack_panel<8>(data, lines, depth, runs, found, count, out);
        break;
      case 16:
        pack_panel<16>(data, lines, depth, runs, found, count, out);
        break;
      case kWidest:
        pack_panel<kWidest>(data, lines, depth, runs, found, count, out);
        break;
      default:
        return MT_ERROR_SHAPE;
    }
  }
  return MT_OK;
}

// The patches of a group's channels in some images, one after the other, as the second operand of a product that packs itself: from a copy of the channels with their
// padding, so that every element is there, and with what a step skips apart, so that a line of a panel is a few runs of memory.
template <class T>
struct Patches {
  const Geometry* g;
  int64_t lines, extent[3];     // of the matrix; of a channel with its padding, whose rows are `phases` of `extent[2]`
  int64_t image;                // elements of one in the copy
  std::unique_ptr<T[]> copy;    // and kWidest elements more, as a run is read by the whole width
  std::unique_ptr<int64_t[]> shifts;  // of each line: where its tap is in the copy

  int64_t row() const { return g->stride[2] * extent[2]; }

  // Rows of images' channels with their padding, which are `apart`.
  struct CopyRows {
    MT_INLINE static int run(const Patches* p, const T* input, int64_t apart, int64_t first, int64_t last) {
      const int64_t rows = p->image / p->row();
      for (; first < last; ++first) p->copy_row(first % rows, input + first / rows * apart, p->copy.get() + first * p->row());
      return MT_OK;
    }
  };

  MT_INLINE void copy_row(int64_t at, const T* input, T* to) const {
    const int64_t y = at % extent[1] - g->padding[1], z = at / extent[1] % extent[0] - g->padding[0];
    const int64_t c = at / extent[1] / extent[0], step = g->stride[2], left = g->padding[2];
    std::fill_n(to, row(), T(0));
    if (y < 0 || y >= g->size[1] || z < 0 || z >= g->size[0]) return;
    input += ((c * g->size[0] + z) * g->size[1] + y) * g->size[2];
    if (step == 1) {
      std::memcpy(to + left, input, size_t(g->size[2]) * sizeof(T));
      return;
    }
    for (int64_t first = 0; first < std::min(step, g->size[2]); ++first) {
      T* const phase = to + (first + left) % step * extent[2] + (first + left) / step;
      const T* const from = input + first;
      const int64_t count = up(g->size[2] - first, step);
      if (step == 2) {  // a constant, for which the compiler has vectors
        for (int64_t x = 0; x < count; ++x) phase[x] = from[2 * x];
      } else {
        for (int64_t x = 0; x < count; ++x) phase[x] = from[step * x];
      }
    }
  }

  // Calls f(element of an image's channels, its place in the copy) for each, in rows.
  template <class E, class F>
  MT_INLINE void each_inside(E* input, F&& f) const {
    const int64_t step = g->stride[2], left = g->padding[2];
    for (int64_t c = 0; c < g->channels; ++c)
      for (int64_t z = 0; z < g->size[0]; ++z)
        for (int64_t y = 0; y < g->size[1]; ++y, input += g->size[2]) {
          T* const line = copy.get() + ((c * extent[0] + z + g->padding[0]) * extent[1] + y + g->padding[1]) * row();
          if (step == 1) {
            for (int64_t x = 0; x < g->size[2]; ++x) f(input[x], line[left + x]);
            continue;
          }
          for (int64_t first = 0; first < std::min(step, g->size[2]); ++first) {
            T* phase = line + (first + left) % step * extent[2] + (first + left) / step;
            for (int64_t x = first; x < g->size[2]; x += step) f(input[x], *phase++);
          }
        }
  }
  // Adds the copy of one image's channels to these, without its padding.
  void add_to(T* input) const {
    each_inside(input, [](T& element, const T& there) { element = wrap_add(element, there); });
  }
  // Takes one image's channels in, where the padding is there.
  void fill_inside(const T* input) {
    each_inside(input, [](const T& element, T& there) { there = element; });
  }

  // Takes the channels of images in, which are `apart`; false where there is no memory.
  bool take(const Geometry& geometry, const T* input, int64_t images, int64_t apart) {
    if (!take_places(geometry, images)) return false;
    static const auto copy_rows = PerIsa<CopyRows, const Patches*, const T*, int64_t, int64_t, int64_t>::pick();
    parallel(images * (image / row()), rows_grain(row()), [&](int64_t first, int64_t last) -> int {
      return copy_rows(this, input, apart, first, last);
    });
    return true;
  }

  // Makes room for images, and finds the places of taps; false where there is no memory.
  bool take_places(const Geometry& geometry, int64_t images) {
    g = &geometry;
    lines = g->channels * g->taps();
    for (int d = 0; d < 3; ++d) extent[d] = g->extent(d);
    const int64_t step = g->stride[2];
    extent[2] = up(extent[2], step);
    const int64_t plane = extent[0] * extent[1] * row();
    image = g->channels * plane;
    const int64_t total = images * image;
    copy.reset(new (std::nothrow) T[size_t(total + kWidest)]);
    shifts.reset(new (std::nothrow) int64_t[size_t(lines)]);
    if (!copy || !shifts) return false;
    std::fill_n(copy.get() + total, kWidest, T(0));
    for (int64_t line = 0; line < lines; ++line) {
      const int64_t tap = line % g->taps(), x = tap % g->kernel[2] * g->dilation[2];
      const int64_t z = tap / (g->kernel[1] * g->kernel[2]) * g->dilation[0];
      const int64_t y = tap / g->kernel[2] % g->kernel[1] * g->dilation[1];
      shifts[size_t(line)] = line / g->taps() * plane + (z * extent[1] + y) * row() + x % step * extent[2] + x / step;
    }
    return true;
  }

  // The runs of the outputs' rows in a panel of `count` columns from `column` on: the images' columns follow one another.
  MT_INLINE int runs_of(int64_t column, int count, Run* runs) const {
    int found = 0;
    for (int at = 0; at < count;) {
      const int64_t position = (column + at) % g->positions(), line = position / g->out[2], x = position % g->out[2];
      const int64_t z = line / g->out[1] * g->stride[0], y = line % g->out[1] * g->stride[1];
      const int length = int(std::min<int64_t>(count - at, g->out[2] - x));
      runs[found++] = {at, length, (column + at) / g->positions() * image + (z * extent[1] + y) * row() + x};
      at += length;
    }
    return found;
  }

  MT_INLINE static int run(const void* data, int64_t first, int64_t depth, int64_t column, int64_t columns, int width, T* out) {
    const Patches& p = *static_cast<const Patches*>(data);
    return pack_runs(p.copy.get(), p.shifts.get() + first, depth, columns, width, out,
                     [&](int64_t at, int count, Run* runs) { return p.runs_of(column + at, count, runs); });
  }
};

// The same patches the other way round, of one image: a line for each output, a column for each tap and, next to one another, the channels.
// From a copy of the channels with their padding, in which the channels of a place lie side by side.
template <class T>
struct Places {
  const Geometry* g;
  int64_t extent[3];  // of a channel with its padding
  std::unique_ptr<T[]> copy;
  std::unique_ptr<int64_t[]> places;  // of each output: where its first tap is in the copy

  // Takes in a geometry; false where there is no memory.
  bool take(const Geometry& geometry) {
    g = &geometry;
    for (int d = 0; d < 3; ++d) extent[d] = g->extent(d);
    const int64_t total = extent[0] * extent[1] * extent[2] * g->channels + kWidest;
    copy.reset(new (std::nothrow) T[size_t(total)]);
    places.reset(new (std::nothrow) int64_t[size_t(g->positions())]);
    if (!copy || !places) return false;
    std::fill_n(copy.get(), total, T(0));
    int64_t at = 0;
    for (int64_t z = 0; z < g->out[0]; ++z)
      for (int64_t y = 0; y < g->out[1]; ++y)
        for (int64_t x = 0; x < g->out[2]; ++x) places[size_t(at++)] = offset(z * g->stride[0], y * g->stride[1], x * g->stride[2]);
    return true;
  }

  int64_t offset(int64_t z, int64_t y, int64_t x) const { return ((z * extent[1] + y) * extent[2] + x) * g->channels; }

  // Takes in an image's channels.
  struct Fill {
    MT_INLINE static int run(const Places* p, const T* input) {
      const Geometry& g = *p->g;
      Pace pace;
      for (int64_t z = 0; z < g.size[0]; ++z)
        for (int64_t y = 0; y < g.size[1]; ++y) {
          T* const to = p->copy.get() + p->offset(z + g.padding[0], y + g.padding[1], g.padding[2]);
          const T* const from = input + (z * g.size[1] + y) * g.size[2];
          if (int status = transpose<sizeof(T)>(reinterpret_cast<char*>(to), g.channels * int64_t(sizeof(T)), reinterpret_cast<const char*>(from),
                                                g.plane() * int64_t(sizeof(T)), g.size[2], g.channels, pace))
            return status;
        }
      return MT_OK;
    }
  };

  // The runs of `count` columns from `column` on: taps next to one another in a row are one, where they are so in the copy.
  MT_INLINE int runs_of(int64_t column, int count, Run* runs) const {
    const int64_t row = g->dilation[2] == 1 ? g->kernel[2] : 1, longest = row * g->channels;
    int found = 0;
    for (int at = 0; at < count;) {
      const int64_t tap = (column + at) / longest * row, within = (column + at) % longest;
      const int64_t z = tap / (g->kernel[1] * g->kernel[2]), y = tap / g->kernel[2] % g->kernel[1], x = tap % g->kernel[2];
      const int length = int(std::min<int64_t>(count - at, longest - within));
      runs[found++] = {at, length, offset(z * g->dilation[0], y * g->dilation[1], x * g->dilation[2]) + within};
      at += length;
    }
    return found;
  }

  MT_INLINE static int run(const void* data, int64_t first, int64_t depth, int64_t column, int64_t columns, int width, T* out) {
    const Places& p = *static_cast<const Places*>(data);
    return pack_runs(p.copy.get(), p.places.get() + first, depth, columns, width, out,
                     [&](int64_t at, int count, Run* runs) { return p.runs_of(column + at, count, runs); });
  }
};

}  // namespace mt
