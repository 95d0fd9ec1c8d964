// Busy waiting for a few microseconds, to spare the cost of sleeping when the other side is about to answer.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace mtsim {

// About what it takes to wake a sleeping thread; longer would take a core from the kernels on small machines.
constexpr std::chrono::microseconds kSpin{20};
// Between two looks, some tenths of a microsecond: each takes the line that is looked at from who is to write it.
constexpr int kPauses = 16;

inline void pause_cpu() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Asks for a cache line that is about to be written. A compiler that does not know the processor would ask for it to
// be read, and the other core would have to be asked again; where there is no such instruction this one does nothing.
inline void fetch_to_write(const void* line) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
    __builtin_prefetch(line, 1);
#endif
}

// Spins where it has paid off lately: after a spin in vain the next one is left out, after another in vain more, twice
// as many each time. Two sides that answer each other quickly so stay awake, and are soon again after one of them had
// to be woken; where they cannot, on a busy machine, neither wastes the time of the other's wake-up.
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
            for (int i = 0; i < kPauses; ++i) {
                pause_cpu();
            }
            if (ready()) {
                next_left_out_.store(1, std::memory_order_relaxed);
                return true;
            }
        } while (std::chrono::steady_clock::now() < deadline);
        const unsigned now_left_out = next_left_out_.load(std::memory_order_relaxed);
        left_out_.store(now_left_out, std::memory_order_relaxed);
        next_left_out_.store(std::min(2 * now_left_out, kMostLeftOut), std::memory_order_relaxed);
        return false;
    }

private:
    static constexpr unsigned kMostLeftOut = 64;
    // Hints: threads that race for them do no harm.
    std::atomic<unsigned> left_out_{0}, next_left_out_{1};
};

}  // namespace mtsim
