// Descriptors, dtypes and instruction sets: what every kernel file starts from.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "mindtorch_kernel.h"

#define MT_INLINE inline __attribute__((always_inline))
#define MT_EXPORT extern "C" __attribute__((visibility("default")))

namespace mt {

constexpr int kMaxDims = 64;
constexpr int64_t kStretch = 1 << 20;  // elements between two looks at whether to stop: a millisecond or a few
constexpr int64_t kBlock = 1024;  // elements converted at a time: a few such buffers fit the L1 cache

// Whether the range that the calling thread has a part of is to end: another part of it failed. Defined in threads.cpp.
bool is_stopped();

// Ends long kernels at Ctrl-C, of which the calling thread learns, and the pool's from it: counts elements, and asks the runtime after every stretch of them.
class Pace {
 public:
  // Whether to return MT_ERROR_INTERRUPTED, now that `n` more elements are done.
  MT_INLINE bool stops(int64_t n) { return __builtin_expect((left_ -= n) <= 0, 0) && asks(); }

 private:
  __attribute__((noinline)) bool asks() {
    left_ = kStretch;
    return is_stopped() || mt_interrupted();
  }
  int64_t left_ = kStretch;
};

inline int64_t numel(const mt_tensor* t) {
  int64_t n = 1;
  for (int64_t d = 0; d < t->ndim; ++d) n *= t->shape[d];
  return n;
}

inline bool is_contiguous(const mt_tensor* t) {  // one without elements is, whatever its strides
  int64_t expected = 1;
  bool in_rows = true;
  for (int64_t d = t->ndim - 1; d >= 0; --d) {
    if (t->shape[d] == 0) return true;
    if (t->shape[d] == 1) continue;
    in_rows &= t->strides[d] == expected;
    expected *= t->shape[d];
  }
  return in_rows;
}

inline bool same_shape(const mt_tensor* a, const mt_tensor* b) {
  if (a->ndim != b->ndim) return false;
  for (int64_t d = 0; d < a->ndim; ++d)
    if (a->shape[d] != b->shape[d]) return false;
  return true;
}

// Numbers of 8 bits with an exponent: they are kept and converted, and nothing is computed with them.
inline bool is_float8(int32_t dtype) { return dtype >= MT_F8_E4M3FN && dtype <= MT_F8_E5M2FNUZ; }
// What there is arithmetic of: not those of 8 bits.
inline bool is_floating(int32_t dtype) {
  return dtype == MT_F16 || dtype == MT_BF16 || dtype == MT_F32 || dtype == MT_F64;
}
inline bool is_complex(int32_t dtype) { return dtype == MT_C64 || dtype == MT_C128 || dtype == MT_C32; }
inline bool is_wide_unsigned(int32_t dtype) { return dtype >= MT_U16 && dtype <= MT_U64; }
inline bool is_integer(int32_t dtype) { return (dtype >= MT_U8 && dtype <= MT_I64) || is_wide_unsigned(dtype); }

// The dtype that arithmetic on `dtype` is done in. Small integers wrap the same way when computed in 64 bits and cut
// to size afterwards, and half precision is rounded once, on the way out; so three types cover all. -1: no arithmetic.
inline int32_t compute_dtype(int32_t dtype) {
  if (dtype == MT_F64 || dtype == MT_F32) return dtype;
  if (dtype == MT_F16 || dtype == MT_BF16) return MT_F32;
  return is_complex(dtype) || is_float8(dtype) ? -1 : int32_t(MT_I64);
}

// The dtype that arithmetic on complex numbers is done in: those of two halves have none of their own.
inline int32_t complex_compute_dtype(int32_t dtype) { return dtype == MT_C32 ? int32_t(MT_C64) : dtype; }

// Whether a dtype holds a number that an operator computes with: a factor, a limit. As in PyTorch, infinity and NaN fit
// every floating-point type, a fraction is dropped, and unsigned integers take the negatives of what they hold.
inline bool holds(int32_t dtype, double number) {
  const auto within = [number](double least, double largest) { return number >= least && number <= largest; };
  switch (dtype) {
    case MT_F32:
      return std::fabs(number) <= std::numeric_limits<float>::max() || !std::isfinite(number);
    case MT_F16:
      return std::fabs(number) <= 65504 || !std::isfinite(number);
    case MT_BF16:
      return std::fabs(number) <= 0x1.fep127 || !std::isfinite(number);
    case MT_U8:
    case MT_I8:
      return dtype == MT_U8 ? within(-0xff, 0xff) : within(-0x80, 0x7f);
    case MT_U16:
    case MT_I16:
      return dtype == MT_U16 ? within(-0xffff, 0xffff) : within(-0x8000, 0x7fff);
    case MT_U32:
    case MT_I32:
      return dtype == MT_U32 ? within(-0xffffffffp0, 0xffffffffp0) : within(-0x1p31, 0x7fffffffp0);
    case MT_U64:
    case MT_I64:  // the largest numbers are no doubles: the next one after them is
      return dtype == MT_U64 ? std::fabs(number) < 0x1p64 : number >= -0x1p63 && number < 0x1p63;
    default:
      return true;
  }
}

// Half precision computes with factors in float32; only the sums of `add` and the limits of `clamp` take them as halves.
inline bool holds_factor(int32_t dtype, double number) {
  return holds(dtype == MT_F16 || dtype == MT_BF16 ? int32_t(MT_F32) : dtype, number);
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

// Whether two operands have a common dtype: uint16, uint32 and uint64 have one with floating-point types only. One
// without dimensions gives way to one with dimensions, but for an integer beside truth values.
inline bool have_common_dtype(const mt_tensor* a, const mt_tensor* b) {
  if (a->dtype == b->dtype || (!is_wide_unsigned(a->dtype) && !is_wide_unsigned(b->dtype))) return true;
  if (is_floating(a->dtype) || is_floating(b->dtype)) return true;
  if ((a->ndim == 0) == (b->ndim == 0) || is_complex(a->dtype) || is_complex(b->dtype)) return false;
  return (a->ndim == 0 ? b : a)->dtype != MT_BOOL;
}

// The dtype two operands are compared in: PyTorch's promotion, in which a tensor without dimensions gives way to one
// with dimensions of the same category. -1: there is none.
inline int32_t promote_for_comparison(const mt_tensor* a, const mt_tensor* b) {
  const bool fa = is_floating(a->dtype), fb = is_floating(b->dtype);
  const int32_t ca = compute_dtype(a->dtype), cb = compute_dtype(b->dtype);
  if (ca < 0 || cb < 0 || !have_common_dtype(a, b)) return -1;
  if (fa != fb) return fa ? ca : cb;
  if ((a->ndim == 0) != (b->ndim == 0)) return a->ndim == 0 ? cb : ca;
  return ca > cb ? ca : cb;  // MT_I64 < MT_F32 < MT_F64
}

// The dtype that two operands are tested for equality in: complex numbers have one, though no order.
inline int32_t promote_for_equality(const mt_tensor* a, const mt_tensor* b) {
  if (!is_complex(a->dtype) && !is_complex(b->dtype)) return promote_for_comparison(a, b);
  if (is_float8(a->dtype) || is_float8(b->dtype)) return -1;
  const bool wide = a->dtype == MT_C128 || b->dtype == MT_C128 || a->dtype == MT_F64 || b->dtype == MT_F64;
  return wide ? MT_C128 : MT_C64;
}

// The instruction sets that kernels are compiled for, by rising capability; the first is what the build is for, which
// on AArch64 has NEON.
enum class Isa { kBase, kAvx2, kAvx512 };

inline Isa best_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    return Isa::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
    return Isa::kAvx2;
#endif
  return Isa::kBase;
}

// Chosen once; defined in capability.cpp.
Isa isa();

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

// Elements are moved whatever they are: by their bytes.
struct Sixteen {
  uint64_t parts[2];
};

// Calls f with a value of a type of that size.
template <class F>
int by_size(int32_t itemsize, F&& f) {
  switch (itemsize) {
    case 1:
      return f(uint8_t());
    case 2:
      return f(uint16_t());
    case 4:
      return f(uint32_t());
    case 8:
      return f(uint64_t());
    default:
      return f(Sixteen());
  }
}

// Converts `n` elements between dtypes; strides in elements. Defined in cast.cpp.
using CastFn = int (*)(void* dst, int64_t dst_stride, const void* src, int64_t src_stride, int64_t n);
CastFn cast_fn(int32_t dst_dtype, int32_t src_dtype);
int32_t item_size(int32_t dtype);

}  // namespace mt
