// A lock for a few instructions that nobody sleeps in.
#pragma once

#include <atomic>
#include <thread>

#include "spin.hpp"

namespace mtsim {

// Giving it back is a plain store, where a mutex's would wait until the other cores have given up what was written
// meanwhile: most of what it takes to tell another thread of something.
class SpinLock {
public:
    void lock() {
        while (held_.exchange(true, std::memory_order_acquire)) {
            for (int looks = 0; held_.load(std::memory_order_relaxed); ++looks) {
                if (looks < kLooks) {
                    pause_cpu();
                } else {
                    std::this_thread::yield();  // whoever holds it may wait for this core
                }
            }
        }
    }
    void unlock() { held_.store(false, std::memory_order_release); }

private:
    static constexpr int kLooks = 64;
    std::atomic<bool> held_{false};
};

}  // namespace mtsim
