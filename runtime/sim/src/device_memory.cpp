#include "device_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <mutex>
#include <vector>

#include "check_global.hpp"
#include "error.hpp"
#include "thread_state.hpp"

namespace mtsim {
namespace {

constexpr std::size_t kPage = 4096;
// After every allocation, so that a kernel that runs over its end does not reach its neighbour.
constexpr std::size_t kGuard = kPage;
// Address space beyond the capacity, for guards, rounding to pages and fragmentation. It costs nothing until touched.
constexpr std::size_t kSlack = std::size_t{32} << 30;
// All ones is NaN in every floating type and -1 in every signed one: what is read before it is written shows.
constexpr int kPoison = 0xFF;
// Poisoning touches the pages; of a huge allocation only this much is poisoned, and the rest stays sparse.
constexpr std::size_t kPoisonLimit = std::size_t{64} << 20;

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

std::size_t span_of(const Allocation& allocation) { return round_up(allocation.usable, kPage) + kGuard; }

// What lies between an allocation and the end of its last page, behind the block of 32 bytes that copies fill up.
struct Tail {
    std::size_t begin, bytes;
};
Tail tail_of(const Allocation& allocation) {
    const std::size_t begin = round_up(allocation.requested, 32);
    return {allocation.offset + begin, round_up(allocation.usable, kPage) - begin};
}

char* map_alias(int file, std::size_t length, int protection) {
    void* address = mmap(nullptr, length, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
    return address == MAP_FAILED ? nullptr : static_cast<char*>(address);
}

}  // namespace

DeviceMemory::DeviceMemory(std::size_t capacity) : capacity_(capacity) {
    const std::size_t length = round_up(2 * capacity + kSlack, kPage);
    file_ = memfd_create("mtsim-device", MFD_CLOEXEC);
    if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(length)) == 0) {
        host_ = map_alias(file_, length, PROT_NONE);
        kernel_ = map_alias(file_, length, PROT_READ | PROT_WRITE);
    }
    if (host_ == nullptr || kernel_ == nullptr) {
        error_ = format("cannot map %zu bytes of simulated device memory: %s", length, std::strerror(errno));
        return;
    }
    madvise(kernel_, length, MADV_DONTDUMP);
    span_ = length;
    free_.emplace(kGuard, length - kGuard);
}

void* DeviceMemory::allocate(std::size_t requested) {
    Allocation allocation{0, requested, round_up(requested, 32) + 32};
    {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        if (requested > capacity_ || allocation.usable > capacity_ - used_) {
            return nullptr;
        }
        const std::optional<std::size_t> offset = reserve(span_of(allocation));
        if (!offset) {
            return nullptr;
        }
        allocation.offset = *offset;
        used_ += allocation.usable;
    }
    std::memset(kernel_ + allocation.offset, kPoison, std::min(allocation.usable, kPoisonLimit));
    const Tail tail = tail_of(allocation);
    std::memset(kernel_ + tail.begin, kPoison, tail.bytes);
    check::Unwritten::get().allocated(kernel_ + allocation.offset, requested);
    std::unique_lock<std::shared_mutex> lock(mutex_);
    live_.emplace(allocation.offset, allocation);
    ++changes_;
    return host_ + allocation.offset;
}

bool DeviceMemory::release(const void* pointer) {
    Allocation allocation{};
    {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        const auto found = in_host_alias(pointer) ? live_.find(offset_in(host_, pointer)) : live_.end();
        if (found == live_.end()) {
            return false;
        }
        allocation = found->second;
        live_.erase(found);
        ++changes_;
    }
    check::Unwritten::get().written(kernel_ + allocation.offset, allocation.usable);
    scrub(allocation);
    std::unique_lock<std::shared_mutex> lock(mutex_);
    used_ -= allocation.usable;
    give_back(allocation.offset, span_of(allocation));
    return true;
}

void DeviceMemory::release_all() {
    std::vector<std::size_t> offsets;
    {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        for (const auto& entry : live_) {
            offsets.push_back(entry.first);
        }
    }
    for (const std::size_t offset : offsets) {
        release(host_ + offset);
    }
}

std::optional<Allocation> DeviceMemory::find(const void* pointer) const {
    return find(pointer, ThreadState::get().memory);
}

std::optional<Allocation> DeviceMemory::find(const void* pointer, FoundMemory& found) const {
    const std::size_t wanted = offset(pointer);
    const std::uint64_t changes = changes_.load();  // before the look: what is found is at least as new
    FoundMemory::Entry& latest = found.latest[wanted / kPage % std::size(found.latest)];
    if (latest.memory == this && latest.changes == changes && latest.allocation.holds(wanted)) {
        return latest.allocation;
    }
    const std::optional<Allocation> near = nearest_before(pointer);
    if (!near || !near->holds(wanted)) {
        return std::nullopt;
    }
    latest = {this, changes, *near};
    return near;
}

std::optional<Allocation> DeviceMemory::nearest_before(const void* pointer) const {
    const std::size_t wanted = offset(pointer);
    std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto next = live_.upper_bound(wanted);
    return next == live_.begin() ? std::nullopt : std::optional<Allocation>(std::prev(next)->second);
}

void DeviceMemory::close_gaps() const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    mprotect(kernel_, span_, PROT_NONE);
    for (const auto& [offset, allocation] : live_) {
        mprotect(kernel_ + offset, round_up(allocation.usable, kPage), PROT_READ | PROT_WRITE);
    }
}

std::optional<Allocation> DeviceMemory::overrun() const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    for (const auto& [offset, allocation] : live_) {
        const Tail tail = tail_of(allocation);
        const auto untouched = [](char byte) { return static_cast<unsigned char>(byte) == kPoison; };
        char* const begin = kernel_ + tail.begin;
        if (!std::all_of(begin, begin + tail.bytes, untouched)) {
            std::memset(begin, kPoison, tail.bytes);
            return allocation;
        }
    }
    return std::nullopt;
}

std::size_t DeviceMemory::available() const {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    return capacity_ - used_;
}

// First fit; needs the lock.
std::optional<std::size_t> DeviceMemory::reserve(std::size_t length) {
    const auto fits = [=](const auto& range) { return range.second >= length; };
    const auto found = std::find_if(free_.begin(), free_.end(), fits);
    if (found == free_.end()) {
        return std::nullopt;
    }
    const auto [offset, size] = *found;
    free_.erase(found);
    if (size > length) {
        free_.emplace(offset + length, size - length);
    }
    return offset;
}

// Joins the range with its free neighbours; needs the lock.
void DeviceMemory::give_back(std::size_t offset, std::size_t length) {
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + length == next->first) {
        length += next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin()) {
        const auto previous = std::prev(next);
        if (previous->first + previous->second == offset) {
            previous->second += length;
            return;
        }
    }
    free_.emplace(offset, length);
}

// What a freed pointer still reaches is poison (the first page), and the pages behind it go back to the system.
void DeviceMemory::scrub(const Allocation& allocation) {
    std::memset(kernel_ + allocation.offset, kPoison, std::min(allocation.usable, kPage));
    const std::size_t pages = round_up(allocation.usable, kPage) + kGuard;
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(allocation.offset + kPage),
              static_cast<off_t>(pages - kPage));
}

}  // namespace mtsim
