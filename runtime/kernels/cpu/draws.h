// Random numbers into a tensor of any strides and dtype, in the order of its memory, as PyTorch's serial kernels go.
#pragma once

#include <algorithm>
#include <cmath>

#include "elementwise.h"
#include "half.h"
#include "engine.h"

namespace mt {

inline bool is_half(int32_t dtype) { return dtype == MT_F16 || dtype == MT_BF16; }

inline int32_t part_of(int32_t dtype) { return dtype == MT_C128 ? MT_F64 : dtype == MT_C64 ? MT_F32 : MT_F16; }

// A complex tensor as one of real numbers, with a last dimension of two.
class RealView {
 public:
  explicit RealView(const mt_tensor* t)
      : view_{t->data, t->ndim + 1, shape_, strides_, part_of(t->dtype), t->itemsize / 2} {
    if (!fits()) return;
    for (int64_t d = 0; d < t->ndim; ++d) {
      shape_[d] = t->shape[d];
      strides_[d] = 2 * t->strides[d];
    }
    shape_[t->ndim] = 2;
    strides_[t->ndim] = 1;
  }
  bool fits() const { return view_.ndim <= kMaxDims; }
  const mt_tensor* tensor() const { return &view_; }

 private:
  int64_t shape_[kMaxDims], strides_[kMaxDims];
  mt_tensor view_;
};

// `draw(values, n)` makes the next `n` values, of type T. Halves are rounded to float first where T is not: PyTorch's
// halves are made of floats only.
template <class T, class Draw>
int fill_with(const mt_tensor* out, int32_t dtype, Draw&& draw) {
  Pace pace;
  if (out->dtype == dtype && is_contiguous(out)) {
    T* values = static_cast<T*>(out->data);
    for (int64_t total = numel(out); total > 0;) {
      const int64_t n = std::min(kStretch, total);
      if (int status = draw(values, n)) return status;
      values += n;
      total -= n;
      if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
  Walk<1> walk;
  if (int status = walk.init(&out)) return status;
  if (walk.numel == 0) return MT_OK;
  if (walk.ndim == 0) {
    walk.ndim = 1;
    walk.shape[0] = 1;
    walk.strides[0][0] = 1;
  }
  T values[kBlock];
  float singles[kBlock];
  const bool through_float = is_half(out->dtype) && dtype != MT_F32;
  const CastFn cast = cast_fn(out->dtype, through_float ? int32_t(MT_F32) : dtype);
  Cursor at;
  for (int64_t done = 0; done < walk.numel;) {
    const int64_t n = std::min(kBlock, walk.numel - done);
    if (int status = draw(values, n)) return status;
    if (through_float) {
      for (int64_t i = 0; i < n; ++i) singles[i] = float(values[i]);
      at.transfer(walk, 0, cast, reinterpret_cast<char*>(singles), sizeof(float), n, true);
    } else {
      at.transfer(walk, 0, cast, reinterpret_cast<char*>(values), sizeof(T), n, true);
    }
    done += n;
    if (done < walk.numel) at.advance(walk, n);
    if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

// Even over [0, 1), with 53 bits each.
inline void uniform_numbers(Engine& engine, double* out, int64_t n) {
  uint32_t words[2 * kBlock];
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t count = std::min(kBlock, n - done);
    engine.words(words, 2 * count);
    for (int64_t i = 0; i < count; ++i)
      out[done + i] = double(int64_t((uint64_t(words[2 * i] & 0x1FFFFF) << 32) | words[2 * i + 1])) * 0x1p-53;
  }
}

// Whether PyTorch's kernels would have been compiled with fused multiply-adds: it has those for processors with AVX2.
inline bool is_fused() { return isa() != Isa::kBase; }

// x * y + z, rounded once or twice.
template <bool Fused>
MT_INLINE double multiply_add(double x, double y, double z) {
  return Fused ? __builtin_fma(x, y, z) : x * y + z;
}
template <bool Fused>
MT_INLINE float multiply_add(float x, float y, float z) {
  return Fused ? __builtin_fmaf(x, y, z) : x * y + z;
}

// A normal number; the second of each pair is kept with the generator.
template <bool Fused>
MT_INLINE double next_normal(Engine& engine, double mean, double std) {
  mt_generator* kept = engine.state();
  double value = kept->normal;
  if (kept->has_normal) {
    kept->has_normal = 0;
  } else {
    const double u1 = engine.uniform(), u2 = engine.uniform();
    const double radius = std::sqrt(-2.0 * std::log1p(-u2));
    const double theta = 2.0 * M_PI * u1;
    kept->normal = radius * std::sin(theta);
    kept->has_normal = 1;
    value = radius * std::cos(theta);
  }
  return multiply_add<Fused>(value, std, mean);
}

// out = draw(inputs...), element by element in the order of out's memory, in T.
template <class T, int N, class Draw>
int of_elements(const mt_tensor* const* operands, int32_t dtype, Draw&& draw) {
  Walk<N> walk;
  if (int status = walk.init(operands)) return status;
  if (walk.numel == 0) return MT_OK;
  if (walk.ndim == 0) {
    walk.ndim = 1;
    walk.shape[0] = 1;
    for (int k = 0; k < N; ++k) walk.strides[k][0] = 1;
  }
  T values[N][kBlock / 4];
  Pace pace;
  Cursor at;
  for (int64_t done = 0; done < walk.numel;) {
    const int64_t n = std::min(kBlock / 4, walk.numel - done);
    for (int k = 1; k < N; ++k)
      at.transfer(walk, k, cast_fn(dtype, operands[k]->dtype), reinterpret_cast<char*>(values[k]), sizeof(T), n, false);
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (N == 2) {
        values[0][i] = draw(values[1][i]);
      } else if constexpr (N == 3) {
        values[0][i] = draw(values[1][i], values[2][i]);
      } else {
        values[0][i] = draw(values[1][i], values[2][i], values[3][i]);
      }
    }
    at.transfer(walk, 0, cast_fn(operands[0]->dtype, dtype), reinterpret_cast<char*>(values[0]), sizeof(T), n, true);
    done += n;
    if (done < walk.numel) at.advance(walk, n);
    if (pace.stops(16 * n)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

}  // namespace mt
