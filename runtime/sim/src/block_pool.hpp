// The threads that run a kernel's blocks beside the stream's worker: as many as the machine has cores.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mtsim {

class BlockPool {
public:
    explicit BlockPool(unsigned cores) : helpers_wanted_(cores > 1 ? cores - 1 : 0) {}

    // Calls body(i) once for every i in [0, count) and returns when all have returned. Blocks that turn out short run
    // on the calling thread only, because waking another one would take longer than they do.
    void run(std::uint32_t count, const std::function<void(std::uint32_t)>& body);

    // Ends the helpers; later runs use the calling thread only.
    void stop();

private:
    struct Job;
    void help();
    void share(Job& job);

    const unsigned helpers_wanted_;
    std::mutex mutex_;
    std::condition_variable work_;
    std::condition_variable left_;
    std::vector<Job*> jobs_;  // with blocks to hand out; each lives on its caller's stack
    std::vector<std::thread> helpers_;
    bool stopped_ = false;
};

}  // namespace mtsim
