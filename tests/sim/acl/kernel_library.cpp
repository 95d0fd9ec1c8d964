// A kernel library by hand: each kernel's launch function, as C declares it, and the text of its signature.
#include <cstring>

#include "mtsim.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define SIGNATURE(kernel, text)                             \
    EXPORT const char mtsim_signature_##kernel[];           \
    const char mtsim_signature_##kernel[] = text;

struct Tiling {
    int32_t length;
    double scale;
    uint8_t tail[8];
};

template <std::size_t count>
struct Numbers {
    double* out;
    double values[count];

    static void store(const void* raw) {
        const auto* self = static_cast<const Numbers*>(raw);
        std::memcpy(self->out, self->values, sizeof self->values);
    }
};

// Queues a kernel that stores the arguments as doubles at `out`, so that the caller sees what arrived.
template <class... T>
static uint32_t launch_store(const char* kernel, uint32_t blocks, void* stream, void* out, T... arguments) {
    using Kernel = Numbers<sizeof...(T)>;
    Kernel numbers{nullptr, {static_cast<double>(arguments)...}};
    void* alias = nullptr;
    if (const uint32_t status = mtsim_kernel_arg(kernel, 0, out, &alias)) {
        return status;
    }
    numbers.out = static_cast<double*>(alias);
    return mtsim_launch(kernel, blocks, stream, Kernel::store, &numbers, sizeof numbers);
}

SIGNATURE(every_type, "ptr,f32,f64,f16,bf16,bool,i8,i16,i32,i64,u8,u16,u32,u64,struct:24")
EXPORT uint32_t aclrtlaunch_every_type(uint32_t blocks, void* stream, void* out, float a, double b, uint16_t c,
                                       uint16_t d, bool e, int8_t f, int16_t g, int32_t h, int64_t i, uint8_t j,
                                       uint16_t k, uint32_t l, uint64_t m, const void* n) {
    Tiling tiling;
    std::memcpy(&tiling, n, sizeof tiling);
    return launch_store("every_type", blocks, stream, out, a, b, c, d, e, f, g, h, i, j, k, l, m, tiling.length,
                        tiling.scale, tiling.tail[7]);
}

// More numbers than there are registers, of both kinds, so that their order on the stack counts.
SIGNATURE(many, "ptr,f32,f32,f32,f32,f32,f32,f32,f32,f32,i32,i32,i32,i32,i32,i32,f32,i32,f64")
EXPORT uint32_t aclrtlaunch_many(uint32_t blocks, void* stream, void* out, float a, float b, float c, float d, float e,
                                 float f, float g, float h, float i, int32_t j, int32_t k, int32_t l, int32_t m,
                                 int32_t n, int32_t o, float p, int32_t q, double r) {
    return launch_store("many", blocks, stream, out, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
}

// out[block] = sum of `count` numbers at `data`, times the number of blocks.
struct Sum {
    void* out;
    void* data;
    uint32_t count;

    static void run(const void* raw) {
        const auto* self = static_cast<const Sum*>(raw);
        int64_t total = 0;
        for (uint32_t index = 0; index < self->count; ++index) {
            total += static_cast<const int64_t*>(self->data)[index];
        }
        static_cast<int64_t*>(self->out)[mtsim_block_idx()] = total * mtsim_block_num();
    }
};

SIGNATURE(sum, "ptr,ptr,u32")
EXPORT uint32_t aclrtlaunch_sum(uint32_t blocks, void* stream, void* out, void* data, uint32_t count) {
    Sum sum{nullptr, nullptr, count};
    if (const uint32_t status = mtsim_kernel_arg("sum", 0, out, &sum.out)) {
        return status;
    }
    if (const uint32_t status = mtsim_kernel_arg("sum", 1, data, &sum.data)) {
        return status;
    }
    return mtsim_launch("sum", blocks, stream, Sum::run, &sum, sizeof sum);
}

SIGNATURE(no_arguments, "")
EXPORT uint32_t aclrtlaunch_no_arguments(uint32_t blocks, void* stream) {
    return mtsim_launch("no_arguments", blocks, stream, [](const void*) {}, nullptr, 0);
}

EXPORT uint32_t aclrtlaunch_without_signature(uint32_t, void*) { return 0; }

SIGNATURE(odd, "ptr,complex")
EXPORT uint32_t aclrtlaunch_odd(uint32_t, void*, void*) { return 0; }
