// What each kind of core does, chosen in a header of the kernel's own.
#pragma once
#include <cmath>

#include "kernel_operator.h"

template <typename T>
__aicore__ inline T Number() {
  if constexpr (g_coreType == AscendC::AIC) {
    return T(100);
  } else if constexpr (g_coreType == AscendC::AIV) {
    return T(1) + T(AscendC::GetSubBlockIdx());
  }
  return T(std::abs(-7.0));
}
