// What a line of contiguous numbers comes to: its largest, its sum. Written so that they vectorise.
#pragma once

#include <limits>
#include <type_traits>

#include "tensor.h"

namespace mt {

constexpr int kSumLanes = 16;  // independent accumulators
constexpr int kMaxLanes = 32;

// The largest of n numbers; NaN is passed over.
template <class T>
MT_INLINE T block_max(const T* x, int64_t n) {
  T lanes[kMaxLanes];
  for (int l = 0; l < kMaxLanes; ++l) lanes[l] = -std::numeric_limits<T>::infinity();
  int64_t i = 0;
  for (; i + kMaxLanes <= n; i += kMaxLanes)
    for (int l = 0; l < kMaxLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  for (int l = 0; i < n; ++i, ++l) lanes[l] = x[i] > lanes[l] ? x[i] : lanes[l];
  T m = lanes[0];
  for (int l = 1; l < kMaxLanes; ++l) m = lanes[l] > m ? lanes[l] : m;
  return m;
}

// The sum of n numbers, in float64. Two of float32 are added before they are converted, which rounds once.
template <class T>
MT_INLINE double block_sum(const T* x, int64_t n) {
  double lanes[kSumLanes] = {};
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    for (; i + 2 * kSumLanes <= n; i += 2 * kSumLanes)
      for (int l = 0; l < kSumLanes; ++l) lanes[l] += x[i + l] + x[i + l + kSumLanes];
  }
  for (; i + kSumLanes <= n; i += kSumLanes)
    for (int l = 0; l < kSumLanes; ++l) lanes[l] += double(x[i + l]);
  for (int l = 0; i < n; ++i, ++l) lanes[l] += double(x[i]);
  for (int l = 1; l < kSumLanes; ++l) lanes[0] += lanes[l];
  return lanes[0];
}

// The sum of n products, in float64.
template <class T>
MT_INLINE double block_dot(const T* x, const T* y, int64_t n) {
  double lanes[kSumLanes] = {};
  int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes)
    for (int l = 0; l < kSumLanes; ++l) lanes[l] += double(x[i + l]) * double(y[i + l]);
  for (int l = 0; i < n; ++i, ++l) lanes[l] += double(x[i]) * double(y[i]);
  for (int l = 1; l < kSumLanes; ++l) lanes[0] += lanes[l];
  return lanes[0];
}

}  // namespace mt
