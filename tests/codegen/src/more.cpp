#include <cstdint>

extern "C" float more(float value, int32_t by) { return value + static_cast<float>(by); }
