// What the simulated NPU's library costs per launch, from C++.
//
//   g++ -std=c++17 -O2 benchmarks/sim_launch.cpp -Iruntime/sim/include -L<folder of libascendcl_sim.so> -lascendcl_sim
//       -Wl,-rpath,<that folder> -o /tmp/sim_launch && /tmp/sim_launch
//
// "queue" is the time until mtsim_launch returns, measured in bursts that fit the stream's queue, so that the device
// never holds the host back; "queue and run" includes the synchronisation after each burst.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "acl/acl.h"
#include "mtsim.h"

namespace {

struct Arguments {
    void* x;
    void* y;
    void* out;
    float scale;
    unsigned count;
};

void empty_kernel(const void*) {}

double nanoseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

// Median time of one of `burst` calls in a row, over many bursts: without and with the synchronisation.
template <class Body>
void measure(const char* name, int burst, void* stream, Body body) {
    std::vector<double> queued, run;
    for (int repeat = 0; repeat < 500; ++repeat) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < burst; ++i) {
            body();
        }
        queued.push_back(nanoseconds_since(start) / burst);
        aclrtSynchronizeStream(stream);
        run.push_back(nanoseconds_since(start) / burst);
    }
    std::printf("%-44s %8.0f ns queue %8.0f ns queue and run\n", name, median(queued), median(run));
}

}  // namespace

int main() {
    void *stream = nullptr, *device = nullptr;
    if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS ||
        aclrtCreateStream(&stream) != ACL_SUCCESS ||
        aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) {
        std::fprintf(stderr, "%s\n", aclGetRecentErrMsg());
        return 1;
    }
    Arguments arguments{device, device, device, 2.0f, 1024};
    const auto launch = [&](void* target, unsigned blocks) {
        mtsim_launch("empty", blocks, target, empty_kernel, &arguments, sizeof arguments);
    };
    const auto checked = [&] {
        mtsim_kernel_arg("empty", 0, device, &arguments.x);
        mtsim_kernel_arg("empty", 1, device, &arguments.y);
        mtsim_kernel_arg("empty", 2, device, &arguments.out);
        launch(stream, 1);
    };
    measure("1 block, default stream, bursts of 1000", 1000, nullptr, [&] { launch(nullptr, 1); });
    measure("1 block, own stream, bursts of 1000", 1000, stream, [&] { launch(stream, 1); });
    measure("1 block, three checked pointers", 1000, stream, checked);
    measure("8 blocks, own stream, bursts of 1000", 1000, stream, [&] { launch(stream, 8); });
    measure("1 block, synchronised after each launch", 1, stream, [&] { launch(stream, 1); });
    return 0;
}
