// Random numbers of a distribution, drawn as PyTorch draws them: int mt_<name>(out, parameters..., generator).
#include <cmath>

#include "draws.h"

namespace mt {
namespace {

constexpr int64_t kWords = 1024;  // drawn at a time

// Even over [from, to).
struct UniformFloat {
  template <bool Fused>
  MT_INLINE static int map(float* out, const uint32_t* words, int64_t n, float from, float to) {
    const float span = to - from;
    for (int64_t i = 0; i < n; ++i)
      out[i] = multiply_add<Fused>(float(int32_t(words[i] & 0xFFFFFF)) * 0x1p-24f, span, from);
    return MT_OK;
  }
  static int base(float* out, const uint32_t* words, int64_t n, float from, float to) {
    return map<false>(out, words, n, from, to);
  }
  MT_TARGET_AVX2 static int avx2(float* out, const uint32_t* words, int64_t n, float from, float to) {
    return map<true>(out, words, n, from, to);
  }
};

struct UniformDouble {
  template <bool Fused>
  MT_INLINE static int map(double* out, const uint32_t* words, int64_t n, double from, double to) {
    const double span = to - from;
    for (int64_t i = 0; i < n; ++i) {
      const uint64_t bits = (uint64_t(words[2 * i] & 0x1FFFFF) << 32) | words[2 * i + 1];
      out[i] = multiply_add<Fused>(double(int64_t(bits)) * 0x1p-53, span, from);
    }
    return MT_OK;
  }
  static int base(double* out, const uint32_t* words, int64_t n, double from, double to) {
    return map<false>(out, words, n, from, to);
  }
  MT_TARGET_AVX2 static int avx2(double* out, const uint32_t* words, int64_t n, double from, double to) {
    return map<true>(out, words, n, from, to);
  }
};

float rounded(int32_t dtype, float x) {
  return dtype == MT_F16 ? ToFloat16::round(x) : dtype == MT_BF16 ? ToBFloat16::round(x) : x;
}

int uniform_float(const mt_tensor* out, double from_, double to_, mt_generator* generator) {
  Engine engine(generator);
  const auto map = is_fused() ? UniformFloat::avx2 : UniformFloat::base;
  const float from = float(from_), to = float(to_);
  const int32_t dtype = out->dtype;
  const float low = rounded(dtype, from), high = rounded(dtype, to);
  return fill_with<float>(out, MT_F32, [&](float* values, int64_t n) {
    uint32_t words[kWords];
    for (int64_t done = 0; done < n; done += kWords) {
      const int64_t count = std::min(kWords, n - done);
      engine.words(words, count);
      float* at = values + done;
      map(at, words, count, from, to);
      if (is_half(dtype))
        for (int64_t i = 0; i < count; ++i) at[i] = rounded(dtype, at[i]);
      for (int64_t i = 0; i < count; ++i) at[i] = at[i] == high ? low : at[i];  // the upper bound, reached by rounding
    }
    return int(MT_OK);
  });
}

int uniform_double(const mt_tensor* out, double from, double to, mt_generator* generator) {
  Engine engine(generator);
  const auto map = is_fused() ? UniformDouble::avx2 : UniformDouble::base;
  return fill_with<double>(out, MT_F64, [&](double* values, int64_t n) {
    uint32_t words[kWords];
    for (int64_t done = 0; done < n; done += kWords / 2) {
      const int64_t count = std::min(kWords / 2, n - done);
      engine.words(words, 2 * count);
      double* at = values + done;
      map(at, words, count, from, to);
      for (int64_t i = 0; i < count; ++i) at[i] = at[i] == to ? from : at[i];
    }
    return int(MT_OK);
  });
}

// 1 where a number of 53 bits is below p. The comparison is of integers: p * 2^53 is exact.
struct Below {
  MT_INLINE static int run(uint8_t* out, const uint32_t* words, int64_t n, int64_t bound) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t bits = int64_t((uint64_t(words[2 * i] & 0x1FFFFF) << 32) | words[2 * i + 1]);
      out[i] = bits < bound;
    }
    return MT_OK;
  }
};

int bernoulli(const mt_tensor* out, double p, mt_generator* generator) {
  Engine engine(generator);
  static const auto below = PerIsa<Below, uint8_t*, const uint32_t*, int64_t, int64_t>::pick();
  const CastFn cast = cast_fn(out->dtype, MT_U8);
  const int64_t bound = int64_t(std::ceil(p * 0x1p53));
  uint32_t words[kWords];
  uint8_t hits[kWords / 2];
  const auto draw = [&](uint8_t* values, int64_t n) {
    for (int64_t done = 0; done < n; done += kWords / 2) {
      const int64_t count = std::min(kWords / 2, n - done);
      engine.words(words, 2 * count);
      below(values + done, words, count, bound);
    }
    return int(MT_OK);
  };
  if (!is_contiguous(out)) return fill_with<uint8_t>(out, MT_U8, draw);
  Pace pace;
  char* at = static_cast<char*>(out->data);
  for (int64_t left = numel(out); left > 0;) {
    const int64_t count = std::min(kWords / 2, left);
    draw(hits, count);
    cast(at, 1, hits, 1, count);
    at += count * out->itemsize;
    left -= count;
    if (pace.stops(count)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

// 1 with the probability at each place: of doubles by numbers of 53 bits, of other types by those of 24.
int bernoulli_at(const mt_tensor* out, const mt_tensor* p, mt_generator* generator) {
  if (numel(out) == 0) return MT_OK;  // whatever the shape of p, as in PyTorch
  Engine engine(generator);
  const mt_tensor* operands[] = {out, p};
  Walk<2> walk;
  if (int status = walk.init(operands)) return status;
  if (walk.ndim == 0) {
    walk.ndim = 1;
    walk.shape[0] = 1;
    walk.strides[0][0] = walk.strides[1][0] = 1;
  }
  const bool wide = p->dtype == MT_F64;
  const CastFn load = cast_fn(MT_F64, p->dtype), store = cast_fn(out->dtype, MT_U8);
  double each[kBlock];
  uint8_t hits[kBlock];
  Pace pace;
  Cursor at;
  for (int64_t done = 0; done < walk.numel;) {
    const int64_t n = std::min(kBlock, walk.numel - done);
    at.transfer(walk, 1, load, reinterpret_cast<char*>(each), sizeof(double), n, false);
    for (int64_t i = 0; i < n; ++i) {
      if (!(each[i] >= 0 && each[i] <= 1)) return MT_ERROR_PROBABILITY;
      hits[i] = (wide ? engine.uniform() : double(engine.word() & 0xFFFFFF) * 0x1p-24) < each[i];
    }
    at.transfer(walk, 0, store, reinterpret_cast<char*>(hits), 1, n, true);
    done += n;
    if (done < walk.numel) at.advance(walk, n);
    if (pace.stops(n)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}

// ---------------------------------------------------------------- integers
constexpr uint64_t kWide = uint64_t(1) << 28;  // ranges from here on are drawn from 64 bits

// `words % range` by two multiplications (Lemire, Kaser and Kurz, 2019).
class Remainder {
 public:
  explicit Remainder(uint32_t range) : inverse_(~uint64_t(0) / range + 1), range_(range) {}
  MT_INLINE uint32_t operator()(uint32_t word) const {
    return uint32_t((static_cast<unsigned __int128>(inverse_ * word) * range_) >> 64);
  }

 private:
  uint64_t inverse_;
  uint32_t range_;
};

int integers(const mt_tensor* out, uint64_t range, int64_t base, mt_generator* generator) {
  Engine engine(generator);
  const uint64_t first = uint64_t(base);
  if (range == 0 || range >= kWide)  // 0: all 64 bits
    return fill_with<int64_t>(out, MT_I64, [&](int64_t* values, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const uint64_t bits = engine.long_word();
        values[i] = int64_t(range == 0 ? bits : bits % range + first);
      }
      return int(MT_OK);
    });
  if (range == 1)
    return fill_with<int64_t>(out, MT_I64, [&](int64_t* values, int64_t n) {
      for (int64_t i = 0; i < n; ++i) values[i] = (engine.word(), base);
      return int(MT_OK);
    });
  const Remainder remainder{uint32_t(range)};
  return fill_with<int64_t>(out, MT_I64, [&](int64_t* values, int64_t n) {
    uint32_t words[kWords];
    for (int64_t done = 0; done < n; done += kWords) {
      const int64_t count = std::min(kWords, n - done);
      engine.words(words, count);
      for (int64_t i = 0; i < count; ++i) values[done + i] = int64_t(remainder(words[i]) + first);
    }
    return int(MT_OK);
  });
}

// How many integers, from 0 on, `random_()` draws from: all that the dtype tells apart. 0: it has no such kernel.
uint64_t integers_of(int32_t dtype) {
  switch (dtype) {
    case MT_BOOL:
      return 2;
    case MT_U8:
      return uint64_t(1) << 8;
    case MT_I8:
      return uint64_t(1) << 7;
    case MT_I16:
      return uint64_t(1) << 15;
    case MT_I32:
      return uint64_t(1) << 31;
    case MT_I64:
      return uint64_t(1) << 63;
    case MT_BF16:
      return (uint64_t(1) << 8) + 1;
    case MT_F16:
      return (uint64_t(1) << 11) + 1;
    case MT_F32:
      return (uint64_t(1) << 24) + 1;
    case MT_F64:
      return (uint64_t(1) << 53) + 1;
    default:
      return 0;
  }
}

int integers_of_all(const mt_tensor* out, mt_generator* generator) {
  const uint64_t range = integers_of(out->dtype);
  if (range == 0) return MT_ERROR_DTYPE;
  Engine engine(generator);
  const bool wide = out->dtype == MT_I64 || out->dtype == MT_F64;
  return fill_with<int64_t>(out, MT_I64, [&](int64_t* values, int64_t n) {
    for (int64_t i = 0; i < n; ++i) values[i] = int64_t((wide ? engine.long_word() : engine.word()) % range);
    return int(MT_OK);
  });
}

// ---------------------------------------------------------------- functions of a uniform number, in double
template <class Function>
int mapped(const mt_tensor* out, mt_generator* generator, Function&& function) {
  Engine engine(generator);
  return fill_with<double>(out, MT_F64, [&](double* values, int64_t n) {
    uniform_numbers(engine, values, n);
    for (int64_t i = 0; i < n; ++i) values[i] = function(values[i]);
    return int(MT_OK);
  });
}

MT_TARGET_AVX2 double fused(double x, double y, double z) { return __builtin_fma(x, y, z); }
double unfused(double x, double y, double z) { return x * y + z; }

}  // namespace
}  // namespace mt

MT_EXPORT int mt_uniform(const mt_tensor* out, double from, double to, mt_generator* generator) {
  if (mt::is_complex(out->dtype)) {
    const mt::RealView view(out);
    return view.fits() ? mt_uniform(view.tensor(), from, to, generator) : int(MT_ERROR_SHAPE);
  }
  if (!mt::is_floating(out->dtype)) return MT_ERROR_DTYPE;
  for (const double number : {from, to, to - from})
    if (!std::isfinite(number) || !mt::holds(out->dtype, number)) return MT_ERROR_OVERFLOW;
  return out->dtype == MT_F64 ? mt::uniform_double(out, from, to, generator)
                              : mt::uniform_float(out, from, to, generator);
}

// Integers from `base` on, `range` of them; 0: all that 64 bits hold, from wherever.
MT_EXPORT int mt_random_from_to(const mt_tensor* out, uint64_t range, int64_t base, mt_generator* generator) {
  if (mt::is_complex(out->dtype) || mt::is_float8(out->dtype)) return MT_ERROR_DTYPE;
  return mt::integers(out, range, base, generator);
}

MT_EXPORT int mt_random(const mt_tensor* out, mt_generator* generator) { return mt::integers_of_all(out, generator); }

MT_EXPORT int mt_bernoulli(const mt_tensor* out, double p, mt_generator* generator) {
  if (mt::is_complex(out->dtype) || out->dtype >= MT_U16) return MT_ERROR_DTYPE;
  return mt::bernoulli(out, p, generator);
}

MT_EXPORT int mt_bernoulli_at(const mt_tensor* out, const mt_tensor* p, mt_generator* generator) {
  if (mt::is_complex(out->dtype) || out->dtype >= MT_U16 || !mt::is_floating(p->dtype)) return MT_ERROR_DTYPE;
  return mt::bernoulli_at(out, p, generator);
}

MT_EXPORT int mt_exponential(const mt_tensor* out, double rate, mt_generator* generator) {
  if (!mt::is_floating(out->dtype)) return MT_ERROR_DTYPE;
  const double scale = -1.0 / rate;
  return mt::mapped(out, generator, [&](double u) { return scale * std::log1p(-u); });
}

MT_EXPORT int mt_cauchy(const mt_tensor* out, double median, double sigma, mt_generator* generator) {
  if (!mt::is_floating(out->dtype)) return MT_ERROR_DTYPE;
  const auto multiply_add = mt::is_fused() ? mt::fused : mt::unfused;
  return mt::mapped(out, generator, [&](double u) { return multiply_add(sigma, std::tan(M_PI * (u - 0.5)), median); });
}

// How many trials it takes, each a success with probability p.
MT_EXPORT int mt_geometric(const mt_tensor* out, double p, mt_generator* generator) {
  if (mt::is_complex(out->dtype) || out->dtype == MT_BOOL || out->dtype >= MT_U16) return MT_ERROR_DTYPE;
  const double scale = std::log1p(-p);
  return mt::mapped(out, generator, [&](double u) { return std::ceil(std::log(u) / scale); });
}

// The integers from 0 on in random order (Fisher and Yates), in a tensor of one dimension.
MT_EXPORT int mt_randperm(const mt_tensor* out, mt_generator* generator) {
  if (out->ndim != 1) return MT_ERROR_SHAPE;
  if (out->dtype != MT_I64 || out->strides[0] != 1) return MT_ERROR_DTYPE;
  mt::Engine engine(generator);
  mt::Pace pace;
  const int64_t n = out->shape[0];
  int64_t* r = static_cast<int64_t*>(out->data);
  if (n < int64_t(UINT32_MAX / 20)) {
    for (int64_t i = 0; i < n; ++i) r[i] = i;
    for (int64_t i = 0; i < n - 1; ++i) {
      std::swap(r[i], r[i + int64_t(engine.word() % uint32_t(n - i))]);
      if (pace.stops(1)) return MT_ERROR_INTERRUPTED;
    }
    return MT_OK;
  }
  for (int64_t i = 0; i < n; ++i) {  // from 64 bits, of which the remainder is even enough; "inside out"
    const int64_t other = int64_t(engine.long_word() % uint64_t(i + 1));
    r[i] = i;
    r[i] = r[other];
    r[other] = i;
    if (pace.stops(1)) return MT_ERROR_INTERRUPTED;
  }
  return MT_OK;
}
