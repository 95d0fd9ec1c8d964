// Live objects behind opaque handles. A handle is a serial number that is never used twice, so a stale one is found
// out and never reaches freed memory; its value needs more than 32 bits, so that a truncated one is found out as well.
#pragma once

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

    // Takes the object out; empty when another thread was faster or the handle is stale.
    std::shared_ptr<Object> remove(const void* handle) {
        std::unique_lock<std::shared_mutex> lock(mutex_);
        auto node = objects_.extract(handle);
        return node.empty() ? nullptr : std::move(node.mapped());
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
        if (*object != nullptr) {
            return ACL_SUCCESS;
        }
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument %s: expected a live %s, got %s", argument,
                    kHandleNames[static_cast<std::uint64_t>(kKind)],
                    handle == nullptr ? "NULL" : describe_handle(handle, kKind).c_str());
    }

private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<const void*, std::shared_ptr<Object>> objects_;
    std::uint64_t serial_ = 0;
};

}  // namespace mtsim
