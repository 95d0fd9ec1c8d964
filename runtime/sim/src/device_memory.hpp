// The memory of one simulated device: an address space the host cannot touch and kernels can.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>

namespace mtsim {

struct Allocation {
    std::size_t offset;     // from the start of the address space
    std::size_t requested;  // bytes asked for
    std::size_t usable;     // requested, rounded up to 32, plus 32

    bool holds(std::size_t other) const { return other - offset < usable; }
};

class DeviceMemory;

// Which allocations a thread found lately, each as long as the memory's allocations are those they were.
struct FoundMemory {
    struct Entry {
        const DeviceMemory* memory;
        std::uint64_t changes;
        Allocation allocation;
    };
    Entry latest[128]{};
};

// One sparse memfd mapped twice. The host alias, whose addresses aclrtMalloc returns, has no access rights: a host
// dereference faults. The kernels' alias is readable and writable. Two mappings, and not one whose protection is
// toggled, because toggling would open the memory for every thread while one stream works.
class DeviceMemory {
public:
    explicit DeviceMemory(std::size_t capacity);
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    // Why the address space could not be mapped; empty when it was.
    const std::string& error() const { return error_; }

    // The host alias of a fresh, poisoned allocation; NULL when the capacity or the address space is used up.
    void* allocate(std::size_t requested);

    // Frees the allocation that starts at `pointer`; false when there is none.
    bool release(const void* pointer);
    void release_all();

    // The live allocation that holds `pointer` (any address inside it, in either alias). Launches and kernels ask for
    // the same few over and over: a thread remembers the latest, and takes no lock until one is made or freed.
    std::optional<Allocation> find(const void* pointer) const;
    std::optional<Allocation> find(const void* pointer, FoundMemory& found) const;

    // The live allocation at or before `pointer`, in either alias.
    std::optional<Allocation> nearest_before(const void* pointer) const;

    bool in_host_alias(const void* pointer) const { return offset_in(host_, pointer) < span_; }
    bool in_kernel_alias(const void* pointer) const { return offset_in(kernel_, pointer) < span_; }

    // Only for an address with in_host_alias().
    char* kernel_alias(const void* pointer) const { return kernel_ + offset_in(host_, pointer); }
    // The address that aclrtMalloc handed out for an offset.
    void* host_alias(std::size_t offset) const { return host_ + offset; }
    std::size_t offset(const void* pointer) const {
        return in_host_alias(pointer) ? offset_in(host_, pointer) : offset_in(kernel_, pointer);
    }

    // Held by the thread that forks, so that the child finds the tables as they are and not halfway through a change.
    // Shared, as a lock for writing belongs to a thread, which is another one in the child.
    std::shared_lock<std::shared_mutex> freeze() const { return std::shared_lock<std::shared_mutex>(mutex_); }

    // For a process that is a copy of this one: from now on kernels reach what is allocated and nothing else.
    void close_gaps() const;
    // The first live allocation whose end a kernel wrote over, which is made good again.
    std::optional<Allocation> overrun() const;

    // Where kernels find the memory of this device.
    const char* kernel_begin() const { return kernel_; }
    std::size_t span() const { return span_; }

    std::size_t capacity() const { return capacity_; }
    std::size_t available() const;

private:
    static std::size_t offset_in(const char* base, const void* pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(base);
    }
    std::optional<std::size_t> reserve(std::size_t length);
    void give_back(std::size_t offset, std::size_t length);
    void scrub(const Allocation& allocation);

    const std::size_t capacity_;
    std::size_t span_ = 0;  // bytes of address space
    char* host_ = nullptr;
    char* kernel_ = nullptr;
    int file_ = -1;
    std::string error_;

    mutable std::shared_mutex mutex_;
    std::size_t used_ = 0;
    std::map<std::size_t, Allocation> live_;        // by offset
    std::atomic<std::uint64_t> changes_{0};         // of live_; written with the lock, after the change
    std::map<std::size_t, std::size_t> free_;       // offset -> length of unused address space
};

}  // namespace mtsim
