// Operators on whole tensors: `dst = a + b` is Add over dst's elements, `bits = a < b` is Compare over a's.
#pragma once

#include "compare.h"
#include "vector.h"

namespace mtsim {

/// Two tensors and the instruction that combines them; assigning it to a tensor executes it.
template <typename T, typename Operation>
struct Combined {
  using TensorExpression = void;
  const LocalTensor<T>& a;
  const LocalTensor<T>& b;
  Operation operation;

  template <typename U>
  void into(const LocalTensor<U>& dst) const {
    operation(dst, a, b);
  }
};
template <typename T, typename Operation>
Combined<T, Operation> combined(const LocalTensor<T>& a, const LocalTensor<T>& b, Operation operation) {
  return {a, b, operation};
}

}  // namespace mtsim

namespace AscendC {

// clang-format off
#define MTSIM_OPERATOR(SYMBOL, NAME)                                                                                  \
  template <typename T>                                                                                               \
  auto operator SYMBOL(const LocalTensor<T>& a, const LocalTensor<T>& b) {                                            \
    return mtsim::combined(a, b, [](const LocalTensor<T>& dst, const LocalTensor<T>& left,                            \
                                    const LocalTensor<T>& right) {                                                    \
      NAME(dst, left, right, static_cast<int32_t>(dst.GetSize()));                                                    \
    });                                                                                                               \
  }
#define MTSIM_COMPARISON(SYMBOL, MODE)                                                                                \
  template <typename T>                                                                                               \
  auto operator SYMBOL(const LocalTensor<T>& a, const LocalTensor<T>& b) {                                            \
    return mtsim::combined(a, b, [](const LocalTensor<uint8_t>& dst, const LocalTensor<T>& left,                      \
                                    const LocalTensor<T>& right) {                                                    \
      Compare(dst, left, right, CMPMODE::MODE, left.GetSize());                                                       \
    });                                                                                                               \
  }
MTSIM_OPERATOR(+, Add)
MTSIM_OPERATOR(-, Sub)
MTSIM_OPERATOR(*, Mul)
MTSIM_OPERATOR(/, Div)
MTSIM_OPERATOR(&, And)
MTSIM_OPERATOR(|, Or)
MTSIM_COMPARISON(<, LT)
MTSIM_COMPARISON(>, GT)
MTSIM_COMPARISON(==, EQ)
MTSIM_COMPARISON(<=, LE)
MTSIM_COMPARISON(>=, GE)
MTSIM_COMPARISON(!=, NE)
// clang-format on
#undef MTSIM_COMPARISON
#undef MTSIM_OPERATOR

}  // namespace AscendC
