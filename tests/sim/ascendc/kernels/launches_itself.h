#pragma once
#include <cstdint>

struct Affine {
  uint32_t n;
  float factor;
  float offset;
};
