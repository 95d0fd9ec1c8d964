// The one pool of threads that kernels share: ranges are cut into parts, which the caller and the pool's threads take.
#pragma once

#include <cstdint>

namespace mt {

// What it costs to wake a thread, in elements of a cheap operation: ranges that hold less are not cut.
constexpr int64_t kGrain = 1 << 15;

using RangeFn = int (*)(void* body, int64_t first, int64_t last);

// Calls fn(body, first, last) for parts that make up [0, n), none shorter than `grain` but the last; the first status that is
// not MT_OK is returned, after which no part is begun. Within a part, and while another caller has the pool, there is one
// thread. Defined in threads.cpp.
int run_parallel(int64_t n, int64_t grain, RangeFn fn, void* body);

// How many threads there are for a range. Defined in threads.cpp.
int threads();

// `run_parallel` of a lambda (first, last) -> status. Where a result depends on how a range is cut, let `n` count pieces of a fixed size:
// it must not depend on the number of threads.
template <class F>
int parallel(int64_t n, int64_t grain, F&& body) {
  const RangeFn call = [](void* f, int64_t first, int64_t last) -> int { return (*static_cast<F*>(f))(first, last); };
  if (n <= grain) return n > 0 ? body(int64_t(0), n) : 0;
  return run_parallel(n, grain, call, &body);
}

// How many rows of `length` elements, each of which costs as much as `weight` cheap operations, are worth a thread.
inline int64_t rows_grain(int64_t length, int64_t weight = 1) {
  const int64_t cost = length < 1 ? weight : length * weight;
  return cost >= kGrain ? 1 : (kGrain + cost - 1) / cost;
}

// The grain that makes one part for each thread of a range, none below `grain`: for work whose parts have costs of their own.
inline int64_t even_grain(int64_t n, int64_t grain) {
  const int64_t share = n / threads();
  return share > grain ? share : grain;
}

// Whether threads take pieces of work whole. Where these are few and come out uneven, each is cut itself instead.
inline bool taken_whole(int64_t pieces) { return pieces % threads() == 0 || pieces >= 4 * threads(); }

}  // namespace mt
