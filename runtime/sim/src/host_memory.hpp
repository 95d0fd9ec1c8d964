// Page-locked host memory: what aclrtMallocHost returns, and which addresses asynchronous copies may use.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <shared_mutex>

namespace mtsim {

class HostMemory {
public:
    void* allocate(std::size_t size);
    bool release(void* pointer);
    void release_all();

    // Bytes from `pointer` to the end of its block; empty for an address that aclrtMallocHost did not return.
    std::optional<std::size_t> bytes_left(const void* pointer) const;

private:
    mutable std::shared_mutex mutex_;
    std::map<const char*, std::size_t> blocks_;
};

}  // namespace mtsim
