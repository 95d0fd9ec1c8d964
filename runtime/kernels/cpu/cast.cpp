// Conversion between any two dtypes, by runs of strided elements.
#include <complex>
#include <limits>
#include <type_traits>

#include "half.h"

namespace mt {
namespace {

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};

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
  } else if constexpr (std::is_same_v<S, BFloat16>) {
    return convert<D>(to_float(v));
  } else if constexpr (std::is_same_v<S, Float16> && !std::is_same_v<D, float>) {
    return convert<D>(float(v));
  } else if constexpr (IsComplex<S>::value && std::is_same_v<D, bool>) {
    return v != S(0);
  } else if constexpr (IsComplex<S>::value && !IsComplex<D>::value) {
    return convert<D>(v.real());
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

template <class D, class... S>
void fill_row(CastFn* row) {
  ((*row++ = pick<D, S>()), ...);
}

constexpr int kDtypes = 15;

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

}  // namespace

CastFn cast_fn(int32_t dst_dtype, int32_t src_dtype) {
  static const Table<MT_ALL_TYPES> table;
  return table.fn[dst_dtype][src_dtype];
}

int32_t item_size(int32_t dtype) {
  static constexpr int32_t sizes[kDtypes] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 2, 4, 8};
  return sizes[dtype];
}

}  // namespace mt
