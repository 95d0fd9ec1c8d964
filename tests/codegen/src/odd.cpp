#include <cstdint>

extern "C" float more(float value, int32_t by);

extern "C" int32_t odd(const float* math, float* out, int32_t library, int32_t torch) {
  *out = more(*math, library) + static_cast<float>(torch);
  return 0;
}
