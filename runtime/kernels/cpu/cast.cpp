// Conversion between any two dtypes, by runs of strided elements.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <complex>
#include <limits>
#include <type_traits>
#include <utility>

#include "float8.h"
#include "half.h"

namespace mt {
namespace {

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};

template <class T>
struct IsFloat8 : std::false_type {};
template <int Fraction, int Bias, Special kSpecial>
struct IsFloat8<Float8<Fraction, Bias, kSpecial>> : std::true_type {};

// A number without its fraction; what I cannot hold, and NaN, is I's least number, as in PyTorch on x86.
template <class I, class F>
MT_INLINE I whole(F v) {
  constexpr F limit = F(uint64_t(1) << (8 * sizeof(I) - 1));
  return v > -limit - F(1) && v < limit ? static_cast<I>(v) : std::numeric_limits<I>::min();
}

// By way of the signed integer that PyTorch's conversion takes: narrow types keep its low bits, uint64 has two halves.
template <class D, class F>
MT_INLINE D to_integer(F v) {
  if constexpr (std::is_same_v<D, uint64_t>) {
    constexpr F half = F(uint64_t(1) << 63);
    return v >= half ? uint64_t(whole<int64_t>(v - half)) ^ uint64_t(1) << 63 : uint64_t(whole<int64_t>(v));
  } else if constexpr (sizeof(D) == 8 || std::is_same_v<D, uint32_t> || std::is_same_v<D, uint8_t>) {
    return static_cast<D>(whole<int64_t>(v));
  } else {
    return static_cast<D>(whole<int32_t>(v));
  }
}

template <class D, class S>
MT_INLINE D convert(S v) {
  if constexpr (std::is_same_v<D, S>) {
    return v;
  } else if constexpr (IsFloat8<D>::value) {
    return to_float8<D>(v);
  } else if constexpr (std::is_same_v<D, ComplexHalf>) {
    return {Float16(float(v.real())), Float16(float(v.imag()))};
  } else if constexpr (std::is_same_v<S, ComplexHalf>) {
    return D(v.real, v.imag);
  } else if constexpr (std::is_same_v<S, BFloat16> || IsFloat8<S>::value) {
    return convert<D>(to_float(v));
  } else if constexpr (std::is_same_v<S, Float16> && !std::is_same_v<D, float>) {
    return convert<D>(float(v));
  } else if constexpr (IsComplex<S>::value && std::is_same_v<D, bool>) {
    return v != S(0);
  } else if constexpr (IsComplex<S>::value && !IsComplex<D>::value) {
    return convert<D>(v.real());
  } else if constexpr (std::is_same_v<D, Float16> && std::is_same_v<S, double>) {
    return Float16(float(v));  // in two steps, as PyTorch rounds
  } else if constexpr (std::is_same_v<D, BFloat16>) {
    return to_bfloat16(float(v));
  } else if constexpr (IsComplex<D>::value && IsComplex<S>::value) {
    return D(v);
  } else if constexpr (IsComplex<D>::value) {
    return D(convert<typename D::value_type>(v));
  } else if constexpr (std::is_same_v<D, bool>) {
    return v != S(0);
  } else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<D>) {
    return to_integer<D>(v);
  } else {
    return static_cast<D>(v);
  }
}

template <class D, class S>
struct Cast {
  MT_INLINE static int run(void* dst, int64_t dst_stride, const void* src, int64_t src_stride, int64_t n) {
    D* d = static_cast<D*>(dst);
    const S* s = static_cast<const S*>(src);
    if (dst_stride == 1 && src_stride == 1) {
      if constexpr (std::is_same_v<D, S>) {
        std::memmove(dst, src, size_t(n) * sizeof(D));
      } else {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) d[i] = convert<D>(s[i]);
      }
    } else if (dst_stride == 1 && src_stride == 0) {
      const D v = convert<D>(*s);
      for (int64_t i = 0; i < n; ++i) d[i] = v;
    } else {
      for (int64_t i = 0; i < n; ++i) d[i * dst_stride] = convert<D>(s[i * src_stride]);
    }
    return MT_OK;
  }
};

template <class D, class S>
CastFn pick() {
  return PerIsa<Cast<D, S>, void*, int64_t, const void*, int64_t, int64_t>::pick();
}

#if defined(__x86_64__)
// Halves by the processor's instructions for eight of them, which compilers use for one at a time.
MT_TARGET_AVX2 int widen(void* dst, int64_t dst_stride, const void* src, int64_t src_stride, int64_t n) {
  if (dst_stride != 1 || src_stride != 1) return Cast<float, Float16>::run(dst, dst_stride, src, src_stride, n);
  float* d = static_cast<float*>(dst);
  const Float16* s = static_cast<const Float16*>(src);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(d + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(s + i))));
  for (; i < n; ++i) d[i] = float(s[i]);
  return MT_OK;
}
MT_TARGET_AVX2 int narrow(void* dst, int64_t dst_stride, const void* src, int64_t src_stride, int64_t n) {
  if (dst_stride != 1 || src_stride != 1) return Cast<Float16, float>::run(dst, dst_stride, src, src_stride, n);
  Float16* d = static_cast<Float16*>(dst);
  const float* s = static_cast<const float*>(src);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(d + i), _mm256_cvtps_ph(_mm256_loadu_ps(s + i), _MM_FROUND_TO_NEAREST_INT));
  for (; i < n; ++i) d[i] = Float16(s[i]);
  return MT_OK;
}
template <>
CastFn pick<float, Float16>() {
  return isa() == Isa::kBase ? PerIsa<Cast<float, Float16>, void*, int64_t, const void*, int64_t, int64_t>::base : widen;
}
template <>
CastFn pick<Float16, float>() {
  return isa() == Isa::kBase ? PerIsa<Cast<Float16, float>, void*, int64_t, const void*, int64_t, int64_t>::base : narrow;
}
#endif

template <class D, class... S>
void fill_row(CastFn* row) {
  ((*row++ = pick<D, S>()), ...);
}

constexpr int kDtypes = MT_U64 + 1;  // that are converted to one another at once

// In the order of enum mt_dtype.
#define MT_ALL_TYPES                                                                                                \
  bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Float16, BFloat16, float, double, std::complex<float>,          \
      std::complex<double>, uint16_t, uint32_t, uint64_t

template <class... D>
struct Table {
  CastFn fn[kDtypes][kDtypes];
  Table() {
    int row = 0;
    (fill_row<D, MT_ALL_TYPES>(fn[row++]), ...);
  }
};

// The others are converted by way of one of those: a float, or a complex number of two.
template <int32_t Dtype>
struct Narrow;
template <>
struct Narrow<MT_F8_E4M3FN> {
  using Type = Float8E4M3FN;
};
template <>
struct Narrow<MT_F8_E5M2> {
  using Type = Float8E5M2;
};
template <>
struct Narrow<MT_F8_E4M3FNUZ> {
  using Type = Float8E4M3FNUZ;
};
template <>
struct Narrow<MT_F8_E5M2FNUZ> {
  using Type = Float8E5M2FNUZ;
};

constexpr int kAllDtypes = MT_C32 + 1;

constexpr bool is_narrow(int32_t dtype) { return dtype >= kDtypes; }
constexpr int32_t wide(int32_t dtype) { return dtype == MT_C32 ? MT_C64 : MT_F32; }

struct Step {
  CastFn cast;
  int64_t stride;  // of the operand that is not the buffer, in bytes
};

__attribute__((noinline)) int in_two_steps(char* dst, const char* src, int64_t n, Step load, int64_t src_stride, Step store,
                                           int64_t dst_stride) {
  alignas(64) std::complex<float> buffer[kBlock];
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t count = n - done < kBlock ? n - done : kBlock;
    load.cast(buffer, 1, src + done * load.stride, src_stride, count);
    store.cast(dst + done * store.stride, dst_stride, buffer, 1, count);
  }
  return MT_OK;
}

template <int32_t Dst, int32_t Src>
int by_way(void* dst, int64_t dst_stride, const void* src, int64_t src_stride, int64_t n) {
  constexpr int32_t between = wide(is_narrow(Src) ? Src : Dst);
  return in_two_steps(static_cast<char*>(dst), static_cast<const char*>(src), n,
                      {cast_fn(between, Src), src_stride * item_size(Src)}, src_stride,
                      {cast_fn(Dst, between), dst_stride * item_size(Dst)}, dst_stride);
}

// Where one of the two is narrow.
template <int32_t Dst, int32_t Src>
CastFn pick_narrow() {
  if constexpr (Dst == Src) {
    return Dst == MT_C32 ? pick<uint32_t, uint32_t>() : pick<uint8_t, uint8_t>();
  } else if constexpr (Dst == MT_C32 && Src == MT_C64) {
    return pick<ComplexHalf, std::complex<float>>();
  } else if constexpr (Dst == MT_C64 && Src == MT_C32) {
    return pick<std::complex<float>, ComplexHalf>();
  } else if constexpr (is_narrow(Dst) && Src == wide(Dst)) {  // the code for one instruction set is enough: these are rare
    return Cast<typename Narrow<Dst>::Type, float>::run;
  } else if constexpr (is_narrow(Src) && Dst == wide(Src)) {
    return Cast<float, typename Narrow<Src>::Type>::run;
  } else if constexpr (is_narrow(Dst) || is_narrow(Src)) {
    return by_way<Dst, Src>;
  } else {
    return nullptr;
  }
}

struct NarrowTable {
  CastFn fn[kAllDtypes][kAllDtypes];
  template <int... Dst>
  explicit NarrowTable(std::integer_sequence<int, Dst...> all) {
    (fill<Dst>(all), ...);
  }
  template <int Dst, int... Src>
  void fill(std::integer_sequence<int, Src...>) {
    ((fn[Dst][Src] = pick_narrow<Dst, Src>()), ...);
  }
};

}  // namespace

CastFn cast_fn(int32_t dst_dtype, int32_t src_dtype) {
  static const Table<MT_ALL_TYPES> table;
  if (dst_dtype < kDtypes && src_dtype < kDtypes) return table.fn[dst_dtype][src_dtype];
  static const NarrowTable narrow(std::make_integer_sequence<int, kAllDtypes>{});
  return narrow.fn[dst_dtype][src_dtype];
}

int32_t item_size(int32_t dtype) {
  static constexpr int32_t sizes[kAllDtypes] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 2, 4, 8, 1, 1, 1, 1, 4};
  return sizes[dtype];
}

}  // namespace mt
