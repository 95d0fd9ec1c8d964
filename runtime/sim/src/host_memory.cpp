#include "host_memory.hpp"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>

namespace mtsim {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

void* HostMemory::allocate(std::size_t size) {
    void* pointer = nullptr;
    if (posix_memalign(&pointer, kAlignment, size) != 0) {
        return nullptr;
    }
    std::unique_lock<std::shared_mutex> lock(mutex_);
    blocks_.emplace(static_cast<const char*>(pointer), size);
    return pointer;
}

bool HostMemory::release(void* pointer) {
    {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        if (blocks_.erase(static_cast<const char*>(pointer)) == 0) {
            return false;
        }
    }
    std::free(pointer);
    return true;
}

void HostMemory::release_all() {
    std::unique_lock<std::shared_mutex> lock(mutex_);
    for (const auto& block : blocks_) {
        std::free(const_cast<char*>(block.first));
    }
    blocks_.clear();
}

std::optional<std::size_t> HostMemory::bytes_left(const void* pointer) const {
    const auto* address = static_cast<const char*>(pointer);
    std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto next = blocks_.upper_bound(address);
    if (next == blocks_.begin()) {
        return std::nullopt;
    }
    const auto& [start, size] = *std::prev(next);
    const std::size_t offset = static_cast<std::size_t>(address - start);
    return offset < size ? std::optional<std::size_t>(size - offset) : std::nullopt;
}

}  // namespace mtsim
