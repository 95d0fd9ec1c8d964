// One filter on one channel, where a product's tile would be mostly empty: rows of the output in registers, which meet a copy of the channel with
// its padding, tap by tap. And what goes back: to the channel, and to the filter.
#pragma once

#include <algorithm>
#include <memory>
#include <new>

#include "patches.h"

namespace mt {

// A channel's copy, the places in it, and the filter; `rows` are those of the output.
template <class T>
struct Channel {
  const Geometry* g;
  T* copy;                // with its padding, and what a step skips apart: see Patches
  const int64_t* shifts;  // of each tap
  int64_t extent, row;    // rows of a plane of the copy; elements of one

  // The part of the copy that a row of the output meets at the first tap.
  T* under(int64_t at) const { return copy + (at / g->out[1] * g->stride[0] * extent + at % g->out[1] * g->stride[1]) * row; }
};

// output += filter * channel
template <class T>
struct ChannelOutput {
  static constexpr int kTogether = 4;  // rows of a tile

  template <int Rows, int Width>
  MT_INLINE static void tile(const Channel<T>& c, int64_t at, int64_t x, const T* filter, T* output) {
    const int64_t width = c.g->out[2], taps = c.g->taps();
    const int count = int(std::min<int64_t>(Width, width - x));
    const T* under[Rows];
    T sums[Rows][Width];
    for (int r = 0; r < Rows; ++r) {
      under[r] = c.under(at + r) + x;
      for (int j = 0; j < Width; ++j) sums[r][j] = 0;
    }
    for (int64_t tap = 0; tap < taps; ++tap) {
      const T w = filter[tap];
      const int64_t shift = c.shifts[tap];
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        const T* in = under[r] + shift;
        for (int j = 0; j < Width; ++j) sums[r][j] = wrap_add(sums[r][j], wrap_mul(w, in[j]));
      }
    }
    for (int r = 0; r < Rows; ++r) {
      T* out = output + (at + r) * width + x;
      for (int j = 0; j < count; ++j) out[j] = wrap_add(out[j], sums[r][j]);
    }
  }
  template <int Width>
  MT_INLINE static void all(const Channel<T>& c, const T* filter, T* output) {
    const int64_t rows = c.g->rows(), width = c.g->out[2];
    int64_t at = 0;
    for (; at + kTogether <= rows; at += kTogether)
      for (int64_t x = 0; x < width; x += Width) tile<kTogether, Width>(c, at, x, filter, output);
    for (; at < rows; ++at)
      for (int64_t x = 0; x < width; x += Width) tile<1, Width>(c, at, x, filter, output);
  }
  MT_INLINE static int run(const Channel<T>* c, const T* filter, T* output) {
    if (c->g->out[2] <= 8) {
      all<8>(*c, filter, output);
    } else if (c->g->out[2] <= 16) {
      all<16>(*c, filter, output);
    } else {
      all<32>(*c, filter, output);
    }
    return MT_OK;
  }
};

// channel += filter * output, each element where it came from; for any step.
template <class T>
struct ChannelGradient {
  MT_INLINE static int run(const Channel<T>* c, const T* filter, const T* output) {
    const int64_t rows = c->g->rows(), width = c->g->out[2], taps = c->g->taps();
    for (int64_t at = 0; at < rows; ++at)
      for (int64_t tap = 0; tap < taps; ++tap) {
        T* in = c->under(at) + c->shifts[tap];
        const T* out = output + at * width;
        const T w = filter[tap];
#pragma GCC ivdep
        for (int64_t x = 0; x < width; ++x) in[x] = wrap_add(in[x], wrap_mul(w, out[x]));
      }
    return MT_OK;
  }
};

constexpr int kSummed = 16;  // elements of a row that a tap's sums are of, side by side

// The output's gradient as rows of whole vectors, filled up with zeros; where nothing is skipped, as one row for a plane, laid out as the copy is.
template <class T>
struct OutputRows {
  int64_t count, wide;    // rows, and elements of one
  bool flat;              // a row is a plane
  std::unique_ptr<T[]> data;

  bool take(const Geometry& g, int64_t row) {
    flat = g.stride[1] == 1 && g.stride[2] == 1;
    count = flat ? g.out[0] : g.rows();
    wide = up(flat ? (g.out[1] - 1) * row + g.out[2] : g.out[2], kSummed) * kSummed;
    data.reset(new (std::nothrow) T[size_t(count * wide)]);
    if (data) std::fill_n(data.get(), count * wide, T(0));
    return data != nullptr;
  }
  void fill(const Geometry& g, int64_t row, const T* output) {
    for (int64_t at = 0; at < g.rows(); ++at, output += g.out[2])
      std::copy_n(output, g.out[2], data.get() + (flat ? at / g.out[1] * wide + at % g.out[1] * row : at * wide));
  }
};

// filter += output * channel, summed over the output
template <class T>
struct FilterGradient {
  static constexpr int kTaps = 8;

  template <int Taps>
  MT_INLINE static void some(const Channel<T>& c, const OutputRows<T>& rows, const int64_t* shifts, T* all) {
    T sums[Taps][kSummed] = {};
    for (int64_t at = 0; at < rows.count; ++at) {
      const T *under = c.under(rows.flat ? at * c.g->out[1] : at), *out = rows.data.get() + at * rows.wide;
      for (int64_t x = 0; x < rows.wide; x += kSummed) {
        __asm__ volatile("");  // else GCC makes vectors of several x, and shuffles their elements
#pragma GCC unroll 8
        for (int t = 0; t < Taps; ++t) {
          const T* in = under + shifts[t] + x;
          for (int j = 0; j < kSummed; ++j) sums[t][j] = wrap_add(sums[t][j], wrap_mul(out[x + j], in[j]));
        }
      }
    }
    std::memcpy(all, sums, sizeof sums);
  }
  MT_INLINE static int run(const Channel<T>* c, const OutputRows<T>* rows, T* filter, const T* output) {
    const int64_t taps = c->g->taps();
    T all[kTaps * kSummed];
    for (int64_t tap = 0, count; tap < taps; tap += count) {
      const int64_t* const shifts = c->shifts + tap;
      count = std::min<int64_t>(taps - tap, kTaps);
      if (count == kTaps) {
        some<kTaps>(*c, *rows, shifts, all);
      } else if (count >= 3) {
        some<3>(*c, *rows, shifts, all);
        count = 3;
      } else {
        some<1>(*c, *rows, shifts, all);
        count = 1;
      }
      for (int64_t t = 0; t < count; ++t) {
        T sum = total(all + t * kSummed);
        // Zeros that fill rows up may have met what is infinite.
        if (sum - sum != T(0)) sum = exactly(*c, shifts[t], output);
        filter[tap + t] = wrap_add(filter[tap + t], sum);
      }
    }
    return MT_OK;
  }

 private:
  // Apart from where they are summed up: what is read one by one there, GCC would keep one by one.
  __attribute__((noinline)) static T total(const T* sums) {
    T sum = 0;
    for (int j = 0; j < kSummed; ++j) sum = wrap_add(sum, sums[j]);
    return sum;
  }
  __attribute__((noinline)) static T exactly(const Channel<T>& c, int64_t shift, const T* output) {
    T sum = 0;
    for (int64_t at = 0; at < c.g->rows(); ++at)
      for (int64_t x = 0; x < c.g->out[2]; ++x) sum = wrap_add(sum, wrap_mul(*output++, c.under(at)[shift + x]));
    return sum;
  }
};

// Groups of few channels and filters, one of one image after the other: `what` is added to. The order of a sum does not depend on the number of
// threads, each of which has one of these.
template <class T>
class FewChannels {
 public:
  // False where there is no memory.
  bool take(const Geometry& geometry, What asked) {
    g_ = geometry;
    what_ = asked;
    turns_ = what_ == kInputGradient && g_.turns();
    if (turns_) {  // it is a convolution of the output's gradient, with the filters turned round
      what_ = kOutput;
      std::swap(g_.channels, g_.filters);
      std::swap(g_.size, g_.out);
      for (int d = 0; d < 3; ++d) g_.padding[d] = g_.dilation[d] * (g_.kernel[d] - 1) - g_.padding[d];
      turned_.reset(new (std::nothrow) T[size_t(g_.channels * g_.filters * g_.taps())]);
      if (!turned_) return false;
    }
    if (!patches_.take_places(g_, 1)) return false;
    std::fill_n(patches_.copy.get(), patches_.image, T(0));  // of which the padding stays as it is
    return what_ != kWeightGradient || rows_.take(g_, patches_.row());
  }

  void run(T* input, T* weight, T* output) {
    if (turns_) {
      std::swap(input, output);
      weight = turn(weight);
    }
    if (what_ == kInputGradient) {
      std::fill_n(patches_.copy.get(), patches_.image, T(0));
    } else {
      patches_.fill_inside(input);
    }
    for (int64_t c = 0; c < g_.channels; ++c)
      for (int64_t f = 0; f < g_.filters; ++f) one(c, weight + (f * g_.channels + c) * g_.taps(), output + f * g_.positions());
    if (what_ == kInputGradient) patches_.add_to(input);
  }

 private:
  void one(int64_t c, T* filter, T* output) {
    static const auto forward = PerIsa<ChannelOutput<T>, const Channel<T>*, const T*, T*>::pick();
    static const auto to_channel = PerIsa<ChannelGradient<T>, const Channel<T>*, const T*, const T*>::pick();
    static const auto to_filter = PerIsa<FilterGradient<T>, const Channel<T>*, const OutputRows<T>*, T*, const T*>::pick();
    const Channel<T> channel{&g_, patches_.copy.get() + c * patches_.image / g_.channels, patches_.shifts.get(), patches_.extent[1], patches_.row()};
    if (what_ == kOutput) forward(&channel, filter, output);
    if (what_ == kInputGradient) to_channel(&channel, filter, output);
    if (what_ == kWeightGradient) {
      rows_.fill(g_, patches_.row(), output);
      to_filter(&channel, &rows_, filter, output);
    }
  }

  T* turn(const T* weight) {
    const int64_t taps = g_.taps();
    for (int64_t f = 0; f < g_.filters; ++f)
      for (int64_t c = 0; c < g_.channels; ++c) {
        const T* const from = weight + (c * g_.filters + f) * taps;
        std::reverse_copy(from, from + taps, turned_.get() + (f * g_.channels + c) * taps);
      }
    return turned_.get();
  }

  Geometry g_;
  What what_;
  bool turns_;
  Patches<T> patches_;
  OutputRows<T> rows_;
  std::unique_ptr<T[]> turned_;
};

}  // namespace mt
