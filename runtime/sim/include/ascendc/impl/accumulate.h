// Instructions whose result is an operand, too: products that are added to what is there, or to which it is multiplied.
#pragma once

#include <tuple>

#include "elementwise.h"

namespace mtsim {

/// An operand that is only read; strides in 32-byte blocks for the repeat form.
template <typename T>
struct Source {
  const LocalTensor<T>& tensor;
  const char* name;
  uint32_t block = 1, repeat = 8;
};

/// dst = operation(dst, sources...) in float, over a count of elements.
template <typename T, typename Operation, typename... S>
void accumulate(const char* name, const LocalTensor<T>& dst, int32_t count, Operation operation,
                const Source<S>&... sources) {
  const Instruction instruction(name, PIPE_V, Flow::Lanes);
  T* out = elements(dst, count, name, "dst");
  touch_elements(out, count, name, "dst", MTSIM_READS);
  const std::tuple<const S*...> from{elements(sources.tensor, count, name, sources.name)...};
  std::apply(
      [&](const S*... in) {
        MTSIM_INDEPENDENT
        for (int32_t i = 0; i < count; ++i)
          out[i] = static_cast<T>(operation(static_cast<float>(out[i]), static_cast<float>(in[i])...));
      },
      from);
}

/// The same over lanes.
template <typename T, typename Operation, typename... S>
void accumulate(const char* name, const LocalTensor<T>& dst, const Lanes& lanes, uint32_t block, uint32_t repeat,
                Operation operation, const Source<S>&... sources) {
  const Instruction instruction(name, PIPE_V, Flow::Lanes);
  const auto out = strided(dst, lanes, block, repeat, name, "dst");
  touch_lanes(out, lanes, name, "dst", MTSIM_READS);
  const std::tuple<Strided<S>...> from{
      strided(sources.tensor, lanes, sources.block, sources.repeat, name, sources.name)...};
  std::apply(
      [&](const Strided<S>&... in) {
        for_lanes(lanes, per_repeat<T>, [&](uint32_t r, uint32_t lane) {
          T& to = out.at(r, lane);
          to = static_cast<T>(operation(static_cast<float>(to), static_cast<float>(in.at(r, lane))...));
        });
      },
      from);
}

/// half into half, float into float, and half into float.
template <typename T, typename U>
constexpr bool accumulates = one_of<U, half, float> && (std::is_same_v<T, U> || std::is_same_v<T, float>);

}  // namespace mtsim

namespace AscendC {

/// dst += scalar * src.
template <typename T, typename U, bool isSetMask = true>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const mtsim::Scalar<U>& scalar, const int32_t& count) {
  static_assert(mtsim::accumulates<T, U>, "Axpy exists for half to half, float to float and half to float");
  mtsim::accumulate("Axpy", dst, count, [b = static_cast<float>(scalar)](float d, float a) { return d + b * a; },
                    mtsim::Source<U>{src, "src"});
}
template <typename T, typename U, bool isSetMask = true, typename M = uint64_t>
void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const mtsim::Scalar<U>& scalar, M mask,
          const uint8_t repeatTimes, const UnaryRepeatParams& params) {
  static_assert(mtsim::accumulates<T, U>, "Axpy exists for half to half, float to float and half to float");
  const auto lanes = mtsim::lanes(mtsim::as_mask(mask), repeatTimes, mtsim::per_repeat<T>, isSetMask, "Axpy");
  mtsim::accumulate("Axpy", dst, lanes, params.dstBlkStride, params.dstRepStride,
                    [b = static_cast<float>(scalar)](float d, float a) { return d + b * a; },
                    mtsim::Source<U>{src, "src", params.srcBlkStride, params.srcRepStride});
}

// clang-format off
// S is the type of the sources, and the rest are the parameters of the template.
#define MTSIM_ACCUMULATE(NAME, EXPRESSION, S, ...)                                                                    \
  template <__VA_ARGS__, bool isSetMask = true>                                                                       \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<S>& src0, const LocalTensor<S>& src1,                        \
            const int32_t& count) {                                                                                   \
    static_assert(mtsim::accumulates<T, S>, #NAME " exists for half and float");                                      \
    mtsim::accumulate(#NAME, dst, count, [](float d, float a, float b) { return EXPRESSION; },                        \
                      mtsim::Source<S>{src0, "src0"}, mtsim::Source<S>{src1, "src1"});                                \
  }                                                                                                                   \
  template <__VA_ARGS__, bool isSetMask = true, typename M = uint64_t>                                                \
  void NAME(const LocalTensor<T>& dst, const LocalTensor<S>& src0, const LocalTensor<S>& src1, M mask,                \
            const uint8_t repeatTimes, const BinaryRepeatParams& params) {                                            \
    static_assert(mtsim::accumulates<T, S>, #NAME " exists for half and float");                                      \
    const auto lanes = mtsim::lanes(mtsim::as_mask(mask), repeatTimes, mtsim::per_repeat<T>, isSetMask, #NAME);       \
    mtsim::accumulate(#NAME, dst, lanes, params.dstBlkStride, params.dstRepStride,                                    \
                      [](float d, float a, float b) { return EXPRESSION; },                                           \
                      mtsim::Source<S>{src0, "src0", params.src0BlkStride, params.src0RepStride},                     \
                      mtsim::Source<S>{src1, "src1", params.src1BlkStride, params.src1RepStride});                    \
  }
// dst += src0 * src1, and dst = dst * src0 + src1, or 0 where that is negative.
MTSIM_ACCUMULATE(MulAddDst, d + a * b, U, typename T, typename U)
MTSIM_ACCUMULATE(FusedMulAdd, d * a + b, T, typename T)
MTSIM_ACCUMULATE(FusedMulAddRelu, d * a + b > 0 ? d * a + b : 0, T, typename T)
#undef MTSIM_ACCUMULATE
// clang-format on

}  // namespace AscendC
