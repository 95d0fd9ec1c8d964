// A kernel in a process of its own, so that the one that launched it survives whatever the kernel does.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "stream.hpp"

namespace mtsim {

// Which block of a kernel a thread runs, to name it where it crashes.
struct BlockPlace {
    std::uint32_t index;
    std::uint32_t count;
};

// Runs `blocks` in a forked child that shares the devices' memory, and nothing else that it writes. Returns what went
// wrong: the first fault that the blocks reported, the signal that ended them, or that `limit` (0: none) has passed.
// `place` is asked in the thread that crashes.
std::optional<Failure> run_isolated(const char* kernel, std::chrono::seconds limit, BlockPlace (*place)(),
                                    const std::function<void()>& blocks);

// In the child: keeps the first fault for the parent. False in any other process, which keeps its faults itself.
bool report_to_parent(aclError code, const std::string& message);

}  // namespace mtsim
