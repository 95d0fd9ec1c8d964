// aclrtCreateStream, aclrtSynchronizeStream and their kin.
#include "error.hpp"
#include "runtime.hpp"

using namespace mtsim;

namespace {

constexpr uint32_t kLowestPriority = 7;

struct HostFunctionTask {
    static constexpr bool kAlways = false;
    static constexpr const char* kKind = "host function";
    aclrtHostFunc function;
    void* argument;
    void run(Stream&) { function(argument); }
};

aclError create(const char* function, aclrtStream* stream) {
    const Context* context = nullptr;
    MTSIM_TRY(require_pointer(function, "stream", stream));
    MTSIM_TRY(require_context(function, &context));
    const auto created = std::make_shared<Stream>(context, context->device->id);
    context->runtime->streams.add(created);
    *stream = created->handle;
    return ACL_SUCCESS;
}

// A callback in a stream that waits for this very stream would wait forever.
aclError require_other_thread(const char* function, const Stream& stream) {
    if (!stream.on_worker_thread()) {
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                "argument stream: expected a stream other than the one that runs the calling host function, got %p",
                stream.handle);
}

aclError require_unrecorded(const char* function, Stream& stream) {
    const std::shared_ptr<Recorder> recorder = stream.recorder();
    return recorder != nullptr ? recorder->refuse(function, stream) : ACL_SUCCESS;
}

aclError report(const char* function, const Failure& failure) {
    return fail(failure.code, function, "a task queued earlier failed, not this call: %s", failure.message.c_str());
}

aclError synchronize(const char* function, aclrtStream handle, std::optional<int32_t> milliseconds) {
    std::shared_ptr<Stream> stream;
    MTSIM_TRY(require_stream(function, handle, &stream));
    MTSIM_TRY(require_other_thread(function, *stream));
    MTSIM_TRY(require_unrecorded(function, *stream));
    std::optional<Stream::Clock::time_point> deadline;
    if (milliseconds) {
        deadline = Stream::Clock::now() + std::chrono::milliseconds(*milliseconds);
    }
    if (!stream->wait(stream->submitted(), deadline)) {
        return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, function,
                    "stream %p has unfinished tasks after %d ms: a kernel that does not end, or a wait for an event "
                    "that nothing records", handle, *milliseconds);
    }
    const std::optional<Failure> failure = stream->take_failure();
    return failure ? report(function, *failure) : ACL_SUCCESS;
}

}  // namespace

aclError aclrtCreateStream(aclrtStream* stream) { return create("aclrtCreateStream", stream); }

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
    (void)flag;  // hints on speed; the simulator's streams are all alike
    if (priority > kLowestPriority) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCreateStreamWithConfig",
                    "argument priority: expected 0 to %u, got %u", kLowestPriority, priority);
    }
    return create("aclrtCreateStreamWithConfig", stream);
}

aclError aclrtDestroyStream(aclrtStream stream) {
    const char* function = "aclrtDestroyStream";
    MTSIM_TRY(require_pointer(function, "stream", stream));
    std::shared_ptr<Stream> found;
    MTSIM_TRY(require_stream(function, stream, &found));
    MTSIM_TRY(require_other_thread(function, *found));
    MTSIM_TRY(require_unrecorded(function, *found));
    ThreadState::get().streams.forget(stream);
    if (Runtime::get().streams.remove(stream) != nullptr) {
        found->drain();
    }
    return ACL_SUCCESS;
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
    return synchronize("aclrtSynchronizeStream", stream, std::nullopt);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    const char* function = "aclrtSynchronizeStreamWithTimeout";
    if (timeout == 0 || timeout < -1) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                    "argument timeout: expected -1 (no limit) or a positive number of milliseconds, got %d", timeout);
    }
    return synchronize(function, stream, timeout == -1 ? std::nullopt : std::optional<int32_t>(timeout));
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
    std::shared_ptr<Stream> found;
    MTSIM_TRY(require_pointer("aclrtStreamQuery", "status", status));
    MTSIM_TRY(require_stream("aclrtStreamQuery", stream, &found));
    MTSIM_TRY(require_unrecorded("aclrtStreamQuery", *found));
    const bool done = found->reached(found->submitted());
    *status = done ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    const std::optional<Failure> failure = found->failure();
    return failure ? report("aclrtStreamQuery", *failure) : ACL_SUCCESS;
}

aclError aclrtSynchronizeDevice() {
    const char* function = "aclrtSynchronizeDevice";
    const Context* context = nullptr;
    MTSIM_TRY(require_context(function, &context));
    const std::int32_t device = context->device->id;
    for (const auto& capture : context->runtime->captures.all()) {
        if (capture->uses_device(device)) {
            return capture->invalidate(ACL_ERROR_RT_STREAM_CAPTURED, function,
                                       format("a stream of device %d is being captured, which does not allow this "
                                              "call before aclmdlRICaptureEnd", device));
        }
    }
    aclError code = ACL_SUCCESS;
    for (const auto& stream : context->runtime->streams.all()) {
        if (stream->device != device) {
            continue;
        }
        MTSIM_TRY(require_other_thread(function, *stream));
        stream->wait(stream->submitted());
        // One failure per call, and the others stay for the calls that follow, but every stream is waited for.
        if (const std::optional<Failure> failure = code ? std::nullopt : stream->take_failure()) {
            code = report(function, *failure);
        }
    }
    return code;
}

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
    std::shared_ptr<Stream> found;
    MTSIM_TRY(require_stream("aclrtSetStreamFailureMode", stream, &found));
    if (mode != ACL_CONTINUE_ON_FAILURE && mode != ACL_STOP_ON_FAILURE) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSetStreamFailureMode",
                    "argument mode: expected 0 (continue) or 1 (stop), got %llu",
                    static_cast<unsigned long long>(mode));
    }
    found->stop_on_failure(mode == ACL_STOP_ON_FAILURE);
    return ACL_SUCCESS;
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
    Stream* target = nullptr;
    MTSIM_TRY(require_pointer("aclrtLaunchHostFunc", "fn", reinterpret_cast<const void*>(fn)));
    MTSIM_TRY(borrow_stream("aclrtLaunchHostFunc", stream, &target));
    return target->push("aclrtLaunchHostFunc", HostFunctionTask{fn, args});
}
