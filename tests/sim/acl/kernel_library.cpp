// Kernels whose arguments are of every type, with the launch functions and signatures that the builder generates.
#include <mtsim_stub.h>

struct Tiling {
  int32_t length;
  double scale;
  uint8_t tail[8];
};

// Each argument as a double at its position, so that the caller sees what arrived.
extern "C" __global__ __aicore__ void every_type(GM_ADDR out, float a, double b, half c, bfloat16_t d, bool e, int8_t f,
                                                 int16_t g, int32_t h, int64_t i, uint8_t j, uint16_t k, uint32_t l,
                                                 uint64_t m, Tiling n) {
  double values[] = {a, b, static_cast<float>(c), static_cast<float>(d), double(e), double(f), double(g), double(h),
                     double(i), double(j), double(k), double(l), double(m), double(n.length), n.scale,
                     double(n.tail[7])};
  for (size_t index = 0; index < 16; ++index) reinterpret_cast<double*>(out)[index] = values[index];
}

// More numbers than there are registers, of both kinds, so that their order on the stack counts.
extern "C" __global__ __aicore__ void many(GM_ADDR out, float a, float b, float c, float d, float e, float f, float g,
                                           float h, float i, int32_t j, int32_t k, int32_t l, int32_t m, int32_t n,
                                           int32_t o, float p, int32_t q, double r) {
  double values[] = {a, b, c, d, e, f, g, h, i, double(j), double(k), double(l), double(m), double(n), double(o),
                     p, double(q), r};
  for (size_t index = 0; index < 18; ++index) reinterpret_cast<double*>(out)[index] = values[index];
}

// out[block] = sum of `count` numbers at `data`, times the number of blocks.
extern "C" __global__ __aicore__ void sum(GM_ADDR out, GM_ADDR data, uint32_t count) {
  int64_t total = 0;
  for (uint32_t index = 0; index < count; ++index) total += reinterpret_cast<int64_t*>(data)[index];
  reinterpret_cast<int64_t*>(out)[mtsim_block_idx()] = total * mtsim_block_num();
}

extern "C" __global__ __aicore__ void no_arguments() {}

#define EXPORT(kernel, parameters, values)                                                                   \
  extern "C" MTSIM_EXPORT uint32_t aclrtlaunch_##kernel parameters {                                         \
    return mtsim::LauncherOf<&::kernel>::launch values;                                                      \
  }                                                                                                          \
  extern "C" {                                                                                               \
  extern MTSIM_EXPORT const decltype(mtsim::describe(&::kernel)) mtsim_signature_##kernel;                   \
  }                                                                                                          \
  constexpr decltype(mtsim::describe(&::kernel)) mtsim_signature_##kernel = mtsim::describe(&::kernel);

EXPORT(every_type,
       (uint32_t blocks, void* stream, void* out, float a, double b, uint16_t c, uint16_t d, bool e, int8_t f,
        int16_t g, int32_t h, int64_t i, uint8_t j, uint16_t k, uint32_t l, uint64_t m, const void* n),
       (mtsim_launch, "every_type", blocks, stream, out, a, b, c, d, e, f, g, h, i, j, k, l, m, n))
EXPORT(many,
       (uint32_t blocks, void* stream, void* out, float a, float b, float c, float d, float e, float f, float g,
        float h, float i, int32_t j, int32_t k, int32_t l, int32_t m, int32_t n, int32_t o, float p, int32_t q, double r),
       (mtsim_launch, "many", blocks, stream, out, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r))
EXPORT(sum, (uint32_t blocks, void* stream, void* out, void* data, uint32_t count),
       (mtsim_launch, "sum", blocks, stream, out, data, count))
EXPORT(no_arguments, (uint32_t blocks, void* stream), (mtsim_launch, "no_arguments", blocks, stream))

extern "C" MTSIM_EXPORT uint32_t aclrtlaunch_without_signature(uint32_t, void*) { return 0; }
extern "C" MTSIM_EXPORT uint32_t aclrtlaunch_odd(uint32_t, void*, void*) { return 0; }
extern "C" {
extern MTSIM_EXPORT const char mtsim_signature_odd[];
}
const char mtsim_signature_odd[] = "ptr,complex";
