// What a line of contiguous numbers comes to: its largest, its sum. Written so that they vectorise.
#pragma once

#include <limits>
#include <type_traits>

#include "tensor.h"

namespace mt {

constexpr int kMaxLanes = 32;  // independent accumulators
constexpr int kSumLanes = 16;
constexpr int kFewLanes = 8;   // of what is left of it

template <class T>
MT_INLINE T larger(T a, T b) {
  return a > b ? a : b;
}

// As many values from i on as make whole rows of Lanes.
template <class T, int Lanes>
MT_INLINE T lanes_max(const T* x, int64_t& i, int64_t n) {
  T lanes[Lanes];
  for (int l = 0; l < Lanes; ++l) lanes[l] = x[i + l];
  for (i += Lanes; i + Lanes <= n; i += Lanes)
    for (int l = 0; l < Lanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  for (int step = Lanes / 2; step > 0; step /= 2)
    for (int l = 0; l < step; ++l) lanes[l] = larger(lanes[l + step], lanes[l]);
  return lanes[0];
}

// The largest of n numbers; NaN is passed over.
template <class T>
MT_INLINE T block_max(const T* x, int64_t n) {
  T m = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  if (n >= kMaxLanes) m = larger(lanes_max<T, kMaxLanes>(x, i, n), m);
  if (n - i >= kFewLanes) m = larger(lanes_max<T, kFewLanes>(x, i, n), m);
  for (; i < n; ++i) m = larger(x[i], m);
  return m;
}

// The sum of n terms of float64.
template <int Lanes, class F>
MT_INLINE double lanes_sum(F&& term, int64_t& i, int64_t n) {
  double lanes[Lanes] = {};
  for (; i + Lanes <= n; i += Lanes)
    for (int l = 0; l < Lanes; ++l) lanes[l] += term(i + l);
  for (int step = Lanes / 2; step > 0; step /= 2)
    for (int l = 0; l < step; ++l) lanes[l] += lanes[l + step];
  return lanes[0];
}
template <class F>
MT_INLINE double terms_sum(F&& term, int64_t i, int64_t n) {
  double total = 0;
  if (n - i >= kSumLanes) total += lanes_sum<kSumLanes>(term, i, n);
  if (n - i >= kFewLanes) total += lanes_sum<kFewLanes>(term, i, n);
  for (; i < n; ++i) total += term(i);
  return total;
}
#define TERM(...) [__VA_ARGS__](int64_t i) __attribute__((always_inline))

// The sum of n terms of T, in float64. Two of float32 are added before they are converted, which rounds once.
template <class T, class F>
MT_INLINE double sum_in_twos(F&& term, int64_t n) {
  int64_t i = 0;
  double total = 0;
  if constexpr (std::is_same_v<T, float>) {
    const int64_t twos = n / (2 * kSumLanes) * kSumLanes;
    total = terms_sum(TERM(=) { return double(term(i) + term(i + twos)); }, 0, twos);
    i = 2 * twos;
  }
  return total + terms_sum(TERM(=) { return double(term(i)); }, i, n);
}
template <class T>
MT_INLINE double block_sum(const T* x, int64_t n) {
  return sum_in_twos<T>(TERM(=) { return x[i]; }, n);
}

// The sum of n products, in float64.
template <class T>
MT_INLINE double block_dot(const T* x, const T* y, int64_t n) {
  return terms_sum(TERM(=) { return double(x[i]) * double(y[i]); }, 0, n);
}

}  // namespace mt
