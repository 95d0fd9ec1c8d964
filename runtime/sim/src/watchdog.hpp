// Looks for kernels that never end, so that those who wait for them are told.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "stream.hpp"

namespace mtsim {

class Watchdog {
public:
    using Streams = std::vector<std::shared_ptr<Stream>>;

    // `limit` 0: nothing is watched. `streams` says which there are.
    Watchdog(std::chrono::seconds limit, std::function<Streams()> streams)
        : limit_(limit), streams_(std::move(streams)) {}

    bool enabled() const { return limit_.count() > 0; }

    // Starts the watch at the first kernel.
    void start() {
        if (!watching_.load(std::memory_order_acquire)) {
            start_thread();
        }
    }
    void stop();

private:
    void start_thread();
    void watch();

    const std::chrono::seconds limit_;
    const std::function<Streams()> streams_;
    std::atomic<bool> watching_{false};
    std::once_flag started_;
    std::mutex mutex_;
    std::condition_variable stopping_;
    bool stopped_ = false;
    std::thread thread_;
    Streams lost_;  // their workers may still be inside a kernel
};

}  // namespace mtsim
