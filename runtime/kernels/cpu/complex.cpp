// Complex numbers that are made of two real ones each: their parts, or magnitude and angle.
#include <cmath>
#include <complex>

#include "elementwise.h"

namespace mt {
namespace {

template <class T>
struct OfParts {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    std::complex<T>* out = static_cast<std::complex<T>*>(p[0]);
    const T *real = static_cast<const T*>(p[1]), *imag = static_cast<const T*>(p[2]);
    for (int64_t i = 0; i < n; ++i) out[i] = std::complex<T>(real[i], imag[i]);
    return MT_OK;
  }
};
template <class T>
struct OfPolar {
  MT_INLINE static int run(void* const* p, int64_t n, const double*) {
    std::complex<T>* out = static_cast<std::complex<T>*>(p[0]);
    const T *size = static_cast<const T*>(p[1]), *angle = static_cast<const T*>(p[2]);
    for (int64_t i = 0; i < n; ++i) out[i] = std::complex<T>(size[i] * std::cos(angle[i]), size[i] * std::sin(angle[i]));
    return MT_OK;
  }
};

template <template <class> class Body>
int of_two(const mt_tensor* first, const mt_tensor* second, const mt_tensor* out) {
  if (!is_floating(first->dtype) || first->dtype != second->dtype || !is_complex(out->dtype)) return MT_ERROR_DTYPE;
  const bool wide = out->dtype == MT_C128;
  const int32_t real = wide ? MT_F64 : MT_F32;
  const int32_t dtypes[] = {complex_compute_dtype(out->dtype), real, real};
  const mt_tensor* operands[] = {out, first, second};
  using Args = PerIsa<Body<float>, void* const*, int64_t, const double*>;
  using WideArgs = PerIsa<Body<double>, void* const*, int64_t, const double*>;
  return elementwise<3>(operands, dtypes, wide ? WideArgs::pick() : Args::pick(), nullptr);
}

}  // namespace
}  // namespace mt

// out = real + imag i; of two halves the numbers of two halves
MT_EXPORT int mt_complex(const mt_tensor* real, const mt_tensor* imag, const mt_tensor* out) { return mt::of_two<mt::OfParts>(real, imag, out); }

// out = abs (cos(angle) + sin(angle) i)
MT_EXPORT int mt_polar(const mt_tensor* abs, const mt_tensor* angle, const mt_tensor* out) { return mt::of_two<mt::OfPolar>(abs, angle, out); }
