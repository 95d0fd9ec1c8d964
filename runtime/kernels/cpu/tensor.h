// Descriptors, dtypes and instruction sets: what every kernel file starts from.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "mindtorch_kernel.h"

#define MT_INLINE inline __attribute__((always_inline))
#define MT_EXPORT extern "C" __attribute__((visibility("default")))

namespace mt {

constexpr int kMaxDims = 64;
constexpr int64_t kStretch = 1 << 20;  // elements between two looks at whether to stop: a millisecond or a few
constexpr int64_t kBlock = 1024;  // elements converted at a time: a few such buffers fit the L1 cache

// Ends long kernels at Ctrl-C: counts elements, and asks the runtime after every stretch of them.
class Pace {
 public:
  // Whether to return MT_ERROR_INTERRUPTED, now that `n` more elements are done.
  MT_INLINE bool stops(int64_t n) { return __builtin_expect((left_ -= n) <= 0, 0) && asks(); }

 private:
  __attribute__((noinline)) bool asks() {
    left_ = kStretch;
    return mt_interrupted();
  }
  int64_t left_ = kStretch;
};

inline int64_t numel(const mt_tensor* t) {
  int64_t n = 1;
  for (int64_t d = 0; d < t->ndim; ++d) n *= t->shape[d];
  return n;
}

inline bool is_contiguous(const mt_tensor* t) {
  int64_t expected = 1;
  for (int64_t d = t->ndim - 1; d >= 0; --d) {
    if (t->shape[d] == 1) continue;
    if (t->strides[d] != expected) return false;
    expected *= t->shape[d];
  }
  return true;
}

inline bool same_shape(const mt_tensor* a, const mt_tensor* b) {
  if (a->ndim != b->ndim) return false;
  for (int64_t d = 0; d < a->ndim; ++d)
    if (a->shape[d] != b->shape[d]) return false;
  return true;
}

inline bool is_floating(int32_t dtype) {
  return dtype == MT_F16 || dtype == MT_BF16 || dtype == MT_F32 || dtype == MT_F64;
}
inline bool is_complex(int32_t dtype) { return dtype == MT_C64 || dtype == MT_C128; }
inline bool is_integer(int32_t dtype) { return dtype != MT_BOOL && !is_floating(dtype) && !is_complex(dtype); }

// The dtype that arithmetic on `dtype` is done in. Small integers wrap the same way when computed in 64 bits and cut
// to size afterwards, and half precision is rounded once, on the way out; so three types cover all. -1: no arithmetic.
inline int32_t compute_dtype(int32_t dtype) {
  if (dtype == MT_F64 || dtype == MT_F32) return dtype;
  if (dtype == MT_F16 || dtype == MT_BF16) return MT_F32;
  return is_complex(dtype) ? -1 : int32_t(MT_I64);
}

// Arithmetic in which integers wrap, as PyTorch's do, where plain C++ would be undefined.
template <class T>
MT_INLINE T wrap_add(T a, T b) {
  if constexpr (std::is_integral_v<T>) return T(uint64_t(a) + uint64_t(b));
  return a + b;
}
template <class T>
MT_INLINE T wrap_mul(T a, T b) {
  if constexpr (std::is_integral_v<T>) return T(uint64_t(a) * uint64_t(b));
  return a * b;
}

// The dtype two operands are compared in: PyTorch's promotion, in which a tensor without dimensions gives way to one
// with dimensions of the same category.
inline int32_t promote_for_comparison(const mt_tensor* a, const mt_tensor* b) {
  const bool fa = is_floating(a->dtype), fb = is_floating(b->dtype);
  const int32_t ca = compute_dtype(a->dtype), cb = compute_dtype(b->dtype);
  if (ca < 0 || cb < 0) return -1;
  if (fa != fb) return fa ? ca : cb;
  if ((a->ndim == 0) != (b->ndim == 0)) return a->ndim == 0 ? cb : ca;
  return ca > cb ? ca : cb;  // MT_I64 < MT_F32 < MT_F64
}

enum class Isa { kBase, kAvx2, kAvx512 };

inline Isa detect_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    return Isa::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    return Isa::kAvx2;
#endif
  return Isa::kBase;
}

inline Isa isa() {
  static const Isa value = detect_isa();
  return value;
}

#if defined(__x86_64__)
#define MT_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define MT_TARGET_AVX512 \
  __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c,prefer-vector-width=512")))
#else
#define MT_TARGET_AVX2
#define MT_TARGET_AVX512
#endif

// Compiles `Body::run` once for each instruction set and returns the best the processor has.
template <class Body, class... Args>
struct PerIsa {
  using Fn = int (*)(Args...);
  static int base(Args... args) { return Body::run(args...); }
  MT_TARGET_AVX2 static int avx2(Args... args) { return Body::run(args...); }
  MT_TARGET_AVX512 static int avx512(Args... args) { return Body::run(args...); }
  static Fn pick() {
    switch (isa()) {
      case Isa::kAvx512:
        return avx512;
      case Isa::kAvx2:
        return avx2;
      default:
        return base;
    }
  }
};

// Converts `n` elements between dtypes; strides in elements. Defined in cast.cpp.
using CastFn = int (*)(void* dst, int64_t dst_stride, const void* src, int64_t src_stride, int64_t n);
CastFn cast_fn(int32_t dst_dtype, int32_t src_dtype);
int32_t item_size(int32_t dtype);

}  // namespace mt
