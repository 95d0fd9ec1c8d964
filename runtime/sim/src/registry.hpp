// Live objects behind opaque handles. A handle is a serial number that is never used twice, so a stale one is found
// out and never reaches freed memory; its value needs more than 32 bits, so that a truncated one is found out as well.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "error.hpp"

namespace mtsim {

enum class HandleKind : std::uint64_t {
    kContext = 1,
    kStream = 2,
    kEvent = 3,
    kModel = 4,
    kTaskGroup = 5,
    kBinary = 6,
    kFunction = 7,
    kArgumentList = 8
};

constexpr const char* kHandleNames[] = {nullptr,      "context", "stream",   "event",        "model",
                                        "task group", "binary",  "function", "argument list"};
constexpr std::uint64_t kHandlePrefix = 0x51AULL << 36;  // bits 36 and up; then the kind (4 bits), the serial (32)
constexpr unsigned kKindShift = 32;

// "the stream 0x..., which was destroyed", "the event 0x..." or "0x..., which is no handle": for messages.
inline std::string describe_handle(const void* handle, HandleKind expected) {
    const auto value = reinterpret_cast<std::uint64_t>(handle);
    const std::uint64_t kind = (value >> kKindShift) & 0xF;
    if ((value >> 36) != (kHandlePrefix >> 36) || kind < 1 || kind >= std::size(kHandleNames)) {
        return format("%p, which is no handle", handle);
    }
    const char* state = kind == static_cast<std::uint64_t>(expected) ? ", which was destroyed" : "";
    return format("the %s %p%s", kHandleNames[kind], handle, state);
}

// What a thread recalls of a registry.
template <class Object>
class Recollection {
public:
    struct Entry {
        const void* registry = nullptr;
        const void* handle = nullptr;
        std::uint64_t removals = 0;  // from the registry, before the object was found
        std::shared_ptr<Object> object;
    };

    Entry& of(const void* handle) { return latest_[reinterpret_cast<std::uintptr_t>(handle) % std::size(latest_)]; }

    // So that whoever destroys an object is the last to have it.
    void forget(const void* handle) {
        if (of(handle).handle == handle) {
            of(handle) = Entry{};
        }
    }

private:
    Entry latest_[32];
};

template <class Object, HandleKind kKind>
class Registry {
public:
    // Adds `object` and sets its member `handle`.
    void add(const std::shared_ptr<Object>& object) {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        const std::uint64_t value = kHandlePrefix | (static_cast<std::uint64_t>(kKind) << kKindShift) | ++serial_;
        object->handle = reinterpret_cast<void*>(value);
        objects_.emplace(object->handle, object);
    }

    std::shared_ptr<Object> find(const void* handle) const {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        const auto found = objects_.find(handle);
        return found == objects_.end() ? nullptr : found->second;
    }

    // The same for a thread that asks for the same few over and over: without a lock, until something is taken out. The
    // object lives at least until the thread asks for another.
    const std::shared_ptr<Object>& recall(const void* handle, Recollection<Object>& recollection) const {
        typename Recollection<Object>::Entry& latest = recollection.of(handle);
        const std::uint64_t removals = removals_.load(std::memory_order_acquire);  // before the look
        if (latest.registry != this || latest.handle != handle || latest.removals != removals) {
            latest = {nullptr, handle, removals, find(handle)};
            latest.registry = latest.object != nullptr ? this : nullptr;
        }
        return latest.object;
    }

    // Takes the object out; empty when another thread was faster or the handle is stale.
    std::shared_ptr<Object> remove(const void* handle) {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        auto node = objects_.extract(handle);
        if (node.empty()) {
            return nullptr;
        }
        removals_.fetch_add(1, std::memory_order_release);
        return std::move(node.mapped());
    }

    std::vector<std::shared_ptr<Object>> all() const {
        std::shared_lock<std::shared_mutex> lock(mutex_);
        std::vector<std::shared_ptr<Object>> objects;
        objects.reserve(objects_.size());
        for (const auto& entry : objects_) {
            objects.push_back(entry.second);
        }
        return objects;
    }

    // Finds a handle passed as `argument` of `function`, or fails with 107000.
    aclError require(const char* function, const char* argument, const void* handle,
                     std::shared_ptr<Object>* object) const {
        *object = find(handle);
        return *object != nullptr ? ACL_SUCCESS : refuse(function, argument, handle);
    }

    aclError refuse(const char* function, const char* argument, const void* handle) const {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument %s: expected a live %s, got %s", argument,
                    kHandleNames[static_cast<std::uint64_t>(kKind)],
                    handle == nullptr ? "NULL" : describe_handle(handle, kKind).c_str());
    }

private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<const void*, std::shared_ptr<Object>> objects_;
    std::uint64_t serial_ = 0;
    std::atomic<std::uint64_t> removals_{0};  // written with the lock
};

}  // namespace mtsim
