// Normally distributed numbers by the transform of Box and Muller (1958), pairs of uniform ones at a time.
#include <cmath>

#include "draws.h"
#include "vmath.h"

namespace mt {
namespace {

// ln x of a positive normal number: exponent and mantissa, and Cephes' polynomial (Moshier, logf.c), with multiplications fused
// into additions where PyTorch's compiler does.
MT_INLINE float log_fused(float x) {
  const int32_t bits = bits_of(x);
  float e = float((bits >> 23) - 126);
  float m = of_bits<float>((bits & 0x007FFFFF) | 0x3F000000);  // in [1/2, 1)
  const bool below = bits_of(m) < 0x3F3504F3;             // sqrt(1/2)
  e = e - select(below, 1.0f, 0.0f);
  m = (m - 1.0f) + select(below, m, 0.0f);
  const float z = m * m;
  float y = 7.0376836292E-2f;
  y = __builtin_fmaf(y, m, -1.1514610310E-1f);
  y = __builtin_fmaf(y, m, 1.1676998740E-1f);
  y = __builtin_fmaf(y, m, -1.2420140846E-1f);
  y = __builtin_fmaf(y, m, 1.4249322787E-1f);
  y = __builtin_fmaf(y, m, -1.6668057665E-1f);
  y = __builtin_fmaf(y, m, 2.0000714765E-1f);
  y = __builtin_fmaf(y, m, -2.4999993993E-1f);
  y = __builtin_fmaf(y, m, 3.3333331174E-1f);
  y = __builtin_fmaf(y * m, z, e * -2.12194440e-4f);
  y = __builtin_fmaf(z, -0.5f, y);
  return __builtin_fmaf(e, 0.693359375f, m + y);
}

// Sine and cosine of 0 <= x < 8192 (Moshier, sinf.c): the octant, x less a multiple of pi/2 in three parts, two polynomials.
MT_INLINE void sin_cos_fused(float x, float* sine, float* cosine) {
  const int32_t octant = (int32_t(x * 1.27323954473516f) + 1) & ~1;
  const float y = float(octant);
  float r = __builtin_fmaf(y, -0.78515625f, x);
  r = __builtin_fmaf(y, -2.4187564849853515625e-4f, r);
  r = __builtin_fmaf(y, -3.77489497744594108e-8f, r);
  const float z = r * r;
  float c = 2.443315711809948E-005f;
  c = __builtin_fmaf(c, z, -1.388731625493765E-003f);
  c = __builtin_fmaf(c, z, 4.166664568298827E-002f);
  c = __builtin_fmaf(c * z, z, -(z * 0.5f)) + 1.0f;
  float s = -1.9515295891E-4f;
  s = __builtin_fmaf(s, z, 8.3321608736E-3f);
  s = __builtin_fmaf(s, z, -1.6666654611E-1f);
  s = __builtin_fmaf(s * z, r, r);
  const bool swapped = (octant & 2) != 0;
  const int32_t sine_sign = int32_t(uint32_t(octant & 4) << 29);
  const int32_t cosine_sign = int32_t(uint32_t(~(octant - 2) & 4) << 29);
  *sine = of_bits<float>(bits_of(select(swapped, c, s)) ^ sine_sign);
  *cosine = of_bits<float>(bits_of(select(swapped, s, c)) ^ cosine_sign);
}

// Uniform numbers made normal in place, 16 at a time: the first 8 are radii, the last 8 angles. They are taken apart first, so
// that the loop over them vectorises.
struct SixteenFused {
  MT_TARGET_AVX2 static int run(float* at, int64_t n, float mean, float std) {
    float radii[kBlock / 2], angles[kBlock / 2], cosines[kBlock / 2], sines[kBlock / 2];
    const int64_t pairs = n / 2;
    for (int64_t i = 0; i < pairs; i += 8) {
      std::memcpy(radii + i, at + 2 * i, 8 * sizeof(float));
      std::memcpy(angles + i, at + 2 * i + 8, 8 * sizeof(float));
    }
    for (int64_t i = 0; i < pairs; ++i) {
      const float radius = std::sqrt(-2.0f * log_fused(1.0f - radii[i]));
      float sine, cosine;
      sin_cos_fused(float(2.0f * M_PI) * angles[i], &sine, &cosine);
      cosines[i] = __builtin_fmaf(radius * cosine, std, mean);
      sines[i] = __builtin_fmaf(radius * sine, std, mean);
    }
    for (int64_t i = 0; i < pairs; i += 8) {
      std::memcpy(at + 2 * i, cosines + i, 8 * sizeof(float));
      std::memcpy(at + 2 * i + 8, sines + i, 8 * sizeof(float));
    }
    return MT_OK;
  }
};

template <class T>
int sixteen(T* at, int64_t n, T mean, T std) {
  for (int64_t i = 0; i + 16 <= n; i += 16)
    for (int64_t j = i; j < i + 8; ++j) {
      const T radius = std::sqrt(-2 * std::log(1 - at[j]));
      const T theta = T(2.0f * M_PI * at[j + 8]);
      at[j] = std::fma(radius * std::cos(theta), std, mean);
      at[j + 8] = std::fma(radius * std::sin(theta), std, mean);
    }
  return MT_OK;
}

void uniform_numbers(Engine& engine, float* out, int64_t n) {
  uint32_t words[kBlock];
  for (int64_t done = 0; done < n; done += kBlock) {
    const int64_t count = std::min(kBlock, n - done);
    engine.words(words, count);
    for (int64_t i = 0; i < count; ++i) out[done + i] = float(int32_t(words[i] & 0xFFFFFF)) * 0x1p-24f;
  }
}
// A contiguous tensor of 16 elements or more: blocks of 16; the last 16 once more where some are left over.
template <class T, class Map>
int in_blocks(const mt_tensor* out, Engine& engine, Map&& map) {
  constexpr int32_t dtype = std::is_same_v<T, double> ? int32_t(MT_F64) : int32_t(MT_F32);
  const CastFn cast = cast_fn(out->dtype, dtype);
  const bool direct = out->dtype == dtype;
  const int64_t total = numel(out);
  char* memory = static_cast<char*>(out->data);
  T buffer[kBlock];
  Pace pace;
  const auto block = [&](int64_t at, int64_t n) {
    T* values = direct ? reinterpret_cast<T*>(memory) + at : buffer;
    uniform_numbers(engine, values, n);
    map(values, n);
    if (!direct) cast(memory + at * out->itemsize, 1, buffer, 1, n);
  };
  for (int64_t done = 0; done + 16 <= total;) {
    const int64_t n = std::min<int64_t>(kBlock, (total - done) & ~int64_t(15));
    block(done, n);
    done += n;
    if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
  }
  if (direct && total % 16 != 0) {  // a float's or a double's remainder has used up numbers that are overwritten
    T spent[16];
    uniform_numbers(engine, spent, total % 16);
  }
  if (total % 16 != 0) block(total - 16, 16);
  return MT_OK;
}

struct OneByOne {
  MT_TARGET_AVX2 static double fused(Engine& engine, double mean, double std) {
    return next_normal<true>(engine, mean, std);
  }
  static double unfused(Engine& engine, double mean, double std) { return next_normal<false>(engine, mean, std); }
};

}  // namespace
}  // namespace mt

MT_EXPORT int mt_normal(const mt_tensor* out, double mean, double std, mt_generator* generator) {
  using namespace mt;
  if (is_complex(out->dtype)) {  // real and imaginary parts have half of the variance each
    const RealView view(out);
    return view.fits() ? mt_normal(view.tensor(), mean, std / std::sqrt(2.0), generator) : int(MT_ERROR_SHAPE);
  }
  if (!is_floating(out->dtype)) return MT_ERROR_DTYPE;
  Engine engine(generator);
  if (numel(out) >= 16 && is_contiguous(out)) {
    if (out->dtype == MT_F64)
      return in_blocks<double>(out, engine, [&](double* at, int64_t n) { return sixteen(at, n, mean, std); });
    const auto map = is_fused() ? SixteenFused::run : sixteen<float>;
    return in_blocks<float>(out, engine, [&](float* at, int64_t n) { return map(at, n, float(mean), float(std)); });
  }
  const auto next = is_fused() ? OneByOne::fused : OneByOne::unfused;
  return fill_with<double>(out, MT_F64, [&](double* values, int64_t n) {
    for (int64_t i = 0; i < n; ++i) values[i] = next(engine, mean, std);
    return int(MT_OK);
  });
}

// e to the power of normally distributed numbers.
MT_EXPORT int mt_log_normal(const mt_tensor* out, double mean, double std, mt_generator* generator) {
  using namespace mt;
  if (!is_floating(out->dtype)) return MT_ERROR_DTYPE;
  Engine engine(generator);
  const auto next = is_fused() ? OneByOne::fused : OneByOne::unfused;
  return fill_with<double>(out, MT_F64, [&](double* values, int64_t n) {
    for (int64_t i = 0; i < n; ++i) values[i] = std::exp(next(engine, mean, std));
    return int(MT_OK);
  });
}
