// Loops over functions whose straight-line code is good for few turns only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "elementwise.h"
#include "vmath.h"

namespace mt {

// Of numbers that are few turns all at once, and then of each that is not.
template <class T, T (*kFast)(T), T (*kFar)(T)>
struct TurnLoop {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    T* out = static_cast<T*>(p[0]);
    const T* given = static_cast<const T*>(p[1]);
    T x[kRun];  // which out may overwrite
    for (int64_t done = 0; done < n; done += kRun, out += kRun, given += kRun) {
      const int64_t count = std::min(kRun, n - done);
      std::memcpy(x, given, size_t(count) * sizeof(T));
      int far = 0;
      for (int64_t i = 0; i < count; ++i) far |= int(!(std::fabs(x[i]) <= FewTurns<T>::kMost));
      for (int64_t i = 0; i < count; ++i) out[i] = kFast(x[i]);
      if (far)
        for (int64_t i = 0; i < count; ++i)
          if (!(std::fabs(x[i]) <= FewTurns<T>::kMost)) out[i] = kFar(x[i]);
    }
    return MT_OK;
  }
};

}  // namespace mt
