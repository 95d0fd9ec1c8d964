// Copies and fills. Every address is checked when the call is made, so that a wrong one is an error and not a fault.
#include <cstring>

#include "check_global.hpp"
#include "error.hpp"
#include "runtime.hpp"

using namespace mtsim;

namespace {

enum class Side { kHost, kDevice, kEither };

// Where an argument points, as an address that this process may touch.
struct Place {
    char* address = nullptr;
    bool device = false;
    bool pageable = false;  // host memory that aclrtMallocHost did not return
};

struct Argument {
    const char* name;
    const void* pointer;
    Side side;
};

struct CopyTask {
    static constexpr bool kAlways = false;
    static constexpr const char* kKind = "copy";
    char* target;
    const char* source;
    std::size_t count;
    const char* way;
    void run(Stream&) { std::memmove(target, source, count); }
    Label label() const { return Label{kKind, way, 0, count}; }
};

struct FillTask {
    static constexpr bool kAlways = false;
    static constexpr const char* kKind = "fill";
    char* target;
    int value;
    std::size_t count;
    void run(Stream&) { std::memset(target, value, count); }
    Label label() const { return Label{kKind, std::string(), 0, count}; }
};

aclError out_of_bounds(const char* function, const Argument& argument, std::size_t count, std::size_t left) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                "argument count: expected at most %zu, the bytes from %s = %p to the end of its allocation, got %zu",
                left, argument.name, argument.pointer, count);
}

aclError locate_on_device(const char* function, const Argument& argument, std::size_t count, const Device& device,
                          ThreadState& thread, Place* place) {
    const std::optional<Allocation> allocation = device.memory.find(argument.pointer, thread.memory);
    const std::size_t offset = device.memory.offset(argument.pointer);
    if (!allocation) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                    "argument %s: expected an address in live memory, got %p, which was freed or never allocated",
                    argument.name, argument.pointer);
    }
    const std::size_t end = allocation->offset + allocation->requested;
    const std::size_t left = offset < end ? end - offset : 0;
    if (count > left) {
        return out_of_bounds(function, argument, count, left);
    }
    *place = Place{device.memory.kernel_alias(argument.pointer), true, false};
    return ACL_SUCCESS;
}

aclError locate(const char* function, const Argument& argument, std::size_t count, ThreadState& thread, Place* place) {
    MTSIM_TRY(require_pointer(function, argument.name, argument.pointer));
    const Device* device = device_of(argument.pointer);
    if ((argument.side == Side::kHost && device != nullptr) || (argument.side == Side::kDevice && device == nullptr)) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument %s: expected %s memory, got %p, which is %s memory",
                    argument.name, device == nullptr ? "device" : "host", argument.pointer,
                    device == nullptr ? "host" : "device");
    }
    if (device != nullptr) {
        return locate_on_device(function, argument, count, *device, thread, place);
    }
    const std::optional<std::size_t> left = Runtime::get().host.bytes_left(argument.pointer);
    if (left && count > *left) {
        return out_of_bounds(function, argument, count, *left);
    }
    *place = Place{static_cast<char*>(const_cast<void*>(argument.pointer)), false, !left};
    return ACL_SUCCESS;
}

aclError check_room(const char* function, const char* name, std::size_t room, std::size_t count) {
    if (count <= room) {
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument count: expected at most %s = %zu, got %zu", name, room,
                count);
}

struct Copy {
    Place target;
    Place source;
    bool pageable() const { return target.pageable || source.pageable; }
    CopyTask task(std::size_t count) const {
        constexpr const char* kWays[2][2] = {{"host to host", "host to device"}, {"device to host", "device to device"}};
        return CopyTask{target.address, source.address, count, kWays[source.device][target.device]};
    }
};

aclError check_copy(const char* function, void* dst, std::size_t room, const void* src, std::size_t count,
                    aclrtMemcpyKind kind, ThreadState& thread, Copy* copy) {
    struct Sides {
        Side dst;
        Side src;
    };
    constexpr Sides kSides[] = {{Side::kHost, Side::kHost},
                                {Side::kDevice, Side::kHost},
                                {Side::kHost, Side::kDevice},
                                {Side::kDevice, Side::kDevice},
                                {Side::kEither, Side::kEither}};
    if (static_cast<unsigned>(kind) > ACL_MEMCPY_DEFAULT) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument kind: expected 0 to 4, got %d",
                    static_cast<int>(kind));
    }
    MTSIM_TRY(check_room(function, "destMax", room, count));
    MTSIM_TRY(locate(function, {"dst", dst, kSides[kind].dst}, count, thread, &copy->target));
    MTSIM_TRY(locate(function, {"src", src, kSides[kind].src}, count, thread, &copy->source));
    check::Unwritten::get().written(copy->target.address, count);
    return ACL_SUCCESS;
}

aclError check_fill(const char* function, void* pointer, std::size_t room, std::size_t count, Place* target) {
    MTSIM_TRY(check_room(function, "maxCount", room, count));
    MTSIM_TRY(locate(function, {"devPtr", pointer, Side::kEither}, count, ThreadState::get(), target));
    check::Unwritten::get().written(target->address, count);
    return ACL_SUCCESS;
}

// Queues the task; with pageable host memory also waits for it, since that memory may be gone when the call returns. A
// capture that allows so synchronous a copy has it made at once and keeps nothing of it.
template <class Task>
aclError queue(const char* function, Stream& stream, Task task, bool pageable) {
    if (pageable) {
        MTSIM_TRY(Runtime::get().captures.allow_synchronous(function, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC));
        if (const std::shared_ptr<Recorder> recorder = stream.recorder()) {
            MTSIM_TRY(recorder->bypass(function, stream));
            run_told(task, nullptr, stream.device, [&] { task.run(stream); });
            return ACL_SUCCESS;
        }
    }
    std::uint64_t ticket = 0;
    MTSIM_TRY(stream.push(function, task, &ticket));
    if (pageable && !stream.on_worker_thread()) {
        stream.wait(ticket);
    }
    return ACL_SUCCESS;
}

}  // namespace

// A synchronous copy is not ordered with any stream: it happens at once, on the calling thread.
aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
    const Context* context = nullptr;
    Copy copy;
    MTSIM_TRY(require_context("aclrtMemcpy", &context));
    MTSIM_TRY(check_copy("aclrtMemcpy", dst, destMax, src, count, kind, ThreadState::get(), &copy));
    MTSIM_TRY(context->runtime->captures.allow_synchronous("aclrtMemcpy", ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT));
    run_told(copy.task(count), nullptr, context->device->id,
             [&] { std::memmove(copy.target.address, copy.source.address, count); });
    return ACL_SUCCESS;
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
    Stream* target = nullptr;
    Copy copy;
    ThreadState& thread = ThreadState::get();
    MTSIM_TRY(borrow_stream("aclrtMemcpyAsync", stream, &target, thread));
    MTSIM_TRY(check_copy("aclrtMemcpyAsync", dst, destMax, src, count, kind, thread, &copy));
    return queue("aclrtMemcpyAsync", *target, copy.task(count), copy.pageable());
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
    const Context* context = nullptr;
    Place target;
    MTSIM_TRY(require_context("aclrtMemset", &context));
    MTSIM_TRY(check_fill("aclrtMemset", devPtr, maxCount, count, &target));
    MTSIM_TRY(context->runtime->captures.allow_synchronous("aclrtMemset", ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT));
    run_told(FillTask{target.address, value, count}, nullptr, context->device->id,
             [&] { std::memset(target.address, value, count); });
    return ACL_SUCCESS;
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
    Stream* queued = nullptr;
    Place target;
    MTSIM_TRY(borrow_stream("aclrtMemsetAsync", stream, &queued));
    MTSIM_TRY(check_fill("aclrtMemsetAsync", devPtr, maxCount, count, &target));
    return queue("aclrtMemsetAsync", *queued, FillTask{target.address, value, count}, target.pageable);
}
