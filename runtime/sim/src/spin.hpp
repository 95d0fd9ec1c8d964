// Busy waiting for a few microseconds, to spare the cost of sleeping when the other side is about to answer.
#pragma once

#include <chrono>

namespace mtsim {

constexpr std::chrono::microseconds kSpin{5};  // longer would take a core from the kernels on small machines

inline void pause_cpu() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// True as soon as `ready()` is; false when it was not within kSpin.
template <class Predicate>
bool spin_until(Predicate ready) {
    if (ready()) {
        return true;
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
    return false;
}

}  // namespace mtsim
