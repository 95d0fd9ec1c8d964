// Busy waiting for a few microseconds, to spare the cost of sleeping when the other side is about to answer.
#pragma once

#include <atomic>
#include <chrono>

namespace mtsim {

// About what it takes to wake a sleeping thread; longer would take a core from the kernels on small machines.
constexpr std::chrono::microseconds kSpin{20};

inline void pause_cpu() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Spins where it has paid off lately: after a spin in vain the next ones are left out, but for one now and then. Two
// sides that answer each other quickly so stay awake, and where they cannot, on a busy machine, neither wastes the time
// of the other's wake-up.
class Spin {
public:
    // True as soon as `ready()` is; false when it was not soon enough, or is not at once and spinning does not pay.
    template <class Predicate>
    bool until(Predicate ready) {
        if (ready()) {
            return true;
        }
        const unsigned left_out = left_out_.load(std::memory_order_relaxed);
        if (left_out > 0) {
            left_out_.store(left_out - 1, std::memory_order_relaxed);
            return false;
        }
        const auto deadline = std::chrono::steady_clock::now() + kSpin;
        do {
            for (int i = 0; i < 8; ++i) {
                pause_cpu();
            }
            if (ready()) {
                return true;
            }
        } while (std::chrono::steady_clock::now() < deadline);
        left_out_.store(kLeaveOut, std::memory_order_relaxed);
        return false;
    }

private:
    static constexpr unsigned kLeaveOut = 63;
    std::atomic<unsigned> left_out_{0};  // a hint: threads that race for it do no harm
};

}  // namespace mtsim
