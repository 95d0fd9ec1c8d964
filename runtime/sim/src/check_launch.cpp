#include "check_launch.hpp"

#include <utility>

#include "error.hpp"
#include "runtime.hpp"

namespace mtsim::check {

void Launch::hide(const std::string& folder) {
    const std::lock_guard<std::mutex> lock(mutex_);
    hidden_.insert(folder);
}

void Launch::add(GlobalHistory history) {
    const std::lock_guard<std::mutex> lock(mutex_);
    histories_.push_back(std::move(history));
}

void Launch::release(std::uint64_t key, const Others& known) {
    const std::lock_guard<std::mutex> lock(mutex_);
    signals_[key].join(known);
}

Others Launch::acquire(std::uint64_t key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return signals_[key];
}

std::optional<Report> Launch::report() {
    const std::lock_guard<std::mutex> lock(mutex_);
    findings_.add(findings_in(histories_, blocks_));
    return findings_.report(kernel_, blocks_);
}

Launch* LaunchSlot::get() {
    if (Launch* launch = launch_.load()) {
        return launch;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (launch_.load() == nullptr) {
        Unwritten::get().track();
        launch_.store(new Launch(kernel_, blocks_, Runtime::get().config));
    }
    return launch_.load();
}

std::string place_in_device_memory(std::uintptr_t begin, std::uintptr_t end) {
    const auto* pointer = reinterpret_cast<const char*>(begin);
    for (const auto& device : Runtime::get().devices) {
        const DeviceMemory& memory = device->memory;
        if (!memory.in_kernel_alias(pointer) && !memory.in_host_alias(pointer)) {
            continue;
        }
        if (const std::optional<Allocation> allocation = memory.find(pointer)) {
            const std::size_t from = memory.offset(pointer) - allocation->offset;
            const void* start = memory.host_alias(allocation->offset);
            const std::string bytes = end - begin == 1 ? format("byte %zu", from)
                                                       : format("bytes %zu to %zu", from, from + (end - begin) - 1);
            return format("%s of the %zu bytes of device memory at %p", bytes.c_str(), allocation->requested, start);
        }
    }
    return format("%zu bytes at %p, outside of every allocation", end - begin, reinterpret_cast<void*>(begin));
}

}  // namespace mtsim::check
