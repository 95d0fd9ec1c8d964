#include "context.hpp"

#include "error.hpp"
#include "runtime.hpp"

#include <vector>

namespace mtsim {
namespace {

aclError require_initialised(const char* function, const Runtime& runtime) {
    if (runtime.initialised) {
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_UNINITIALIZE, function, "expected aclInit to have been called before, and it was not");
}

aclError require_device(const char* function, const Runtime& runtime, std::int32_t id, Device** device) {
    if (id < 0 || static_cast<std::size_t>(id) >= runtime.devices.size()) {
        return fail(ACL_ERROR_RT_INVALID_DEVICEID, function, "argument deviceId: expected 0 to %zu, got %d",
                    runtime.devices.size() - 1, id);
    }
    *device = runtime.devices[static_cast<std::size_t>(id)].get();
    return ACL_SUCCESS;
}

std::shared_ptr<Context> create_context(Runtime& runtime, Device* device, bool primary) {
    auto context = std::make_shared<Context>(&runtime, device, primary);
    runtime.contexts.add(context);
    runtime.streams.add(context->default_stream);
    ++device->contexts;
    return context;
}

// Captures of the context's streams end without a graph, and the context's graphs go with it.
void destroy_graphs(Runtime& runtime, const Context* context) {
    for (const auto& capture : runtime.captures.all()) {
        if (capture->uses(context)) {
            capture->cancel();
            runtime.captures.remove(capture.get());
            runtime.forget(*capture->model);
        }
    }
    for (const auto& model : runtime.models.all()) {
        if (model->context == context) {
            runtime.forget(*model);
        }
    }
}

// Destroys a context in two steps. With the lifecycle lock, nobody finds it and its streams any more. Without the lock,
// its streams' running tasks are waited for: they may be callbacks that call aclrtSetDevice.
class Destruction {
public:
    Destruction(Runtime& runtime, const std::shared_ptr<Context>& context) : runtime_(runtime), context_(context) {
        context->alive.store(false);
        runtime.contexts.remove(context->handle);
        destroy_graphs(runtime, context.get());
        for (const auto& stream : runtime.streams.all()) {
            if (stream->context == context.get() && runtime.streams.remove(stream->handle) != nullptr) {
                ThreadState::get().streams.forget(stream->handle);
                streams_.push_back(stream);
            }
        }
    }

    // The last context takes the device's memory with it.
    void finish() {
        for (const auto& stream : streams_) {
            stream->abandon();
        }
        std::lock_guard<std::mutex> lock(runtime_.lifecycle);
        if (--context_->device->contexts == 0) {
            context_->device->memory.release_all();
        }
    }

private:
    Runtime& runtime_;
    std::shared_ptr<Context> context_;
    std::vector<std::shared_ptr<Stream>> streams_;
};

bool usable(const std::shared_ptr<Context>& context) {
    return context != nullptr && context->runtime == &Runtime::get() && context->alive.load(std::memory_order_acquire);
}

aclError recall_stream(const char* function, void* handle, const std::shared_ptr<Stream>** stream,
                       ThreadState& thread) {
    const Context* context = nullptr;
    MTSIM_TRY(require_context(function, &context, thread));
    if (handle == nullptr) {
        *stream = &context->default_stream;
        return ACL_SUCCESS;
    }
    const std::shared_ptr<Stream>& found = context->runtime->streams.recall(handle, thread.streams);
    if (found == nullptr) {
        return context->runtime->streams.refuse(function, "stream", handle);
    }
    *stream = &found;
    if (found->context == context) {
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_STREAM_CONTEXT, function,
                "argument stream: expected a stream of the thread's context %p on device %d, got %p of the context %p "
                "on device %d", context->handle, context->device->id, handle,
                static_cast<const void*>(found->context), found->device);
}

// Destroying a stream joins its worker, which a callback on that worker would wait for forever.
aclError require_no_worker(const char* function) {
    if (!Stream::on_a_worker_thread()) {
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                "expected a call from outside of the streams, got one from a host function");
}

}  // namespace

Context::Context(Runtime* owner, Device* on, bool is_primary)
    : runtime(owner), device(on), primary(is_primary), default_stream(std::make_shared<Stream>(this, on->id)) {}

aclError require_context(const char* function, const Context** context, const ThreadState& thread) {
    if (usable(thread.context)) {
        *context = thread.context.get();
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_CONTEXT_NULL, function,
                "expected the calling thread to have a context, and it has %s: "
                "call aclrtSetDevice on this thread first",
                thread.context == nullptr ? "none" : "one that was destroyed");
}

aclError require_stream(const char* function, void* handle, std::shared_ptr<Stream>* stream) {
    const std::shared_ptr<Stream>* found = nullptr;
    MTSIM_TRY(recall_stream(function, handle, &found, ThreadState::get()));
    *stream = *found;
    return ACL_SUCCESS;
}

aclError borrow_stream(const char* function, void* handle, Stream** stream, ThreadState& thread) {
    const std::shared_ptr<Stream>* found = nullptr;
    MTSIM_TRY(recall_stream(function, handle, &found, thread));
    *stream = found->get();
    return ACL_SUCCESS;
}

Device* device_of(const void* pointer) {
    for (const auto& device : Runtime::get().devices) {
        if (device->memory.in_host_alias(pointer)) {
            return device.get();
        }
    }
    return nullptr;
}

void destroy_all(Runtime& runtime, std::unique_lock<std::mutex> lifecycle) {
    std::vector<Destruction> contexts;
    for (const auto& context : runtime.contexts.all()) {
        contexts.emplace_back(runtime, context);
    }
    for (const auto& device : runtime.devices) {
        device->primary.reset();
        device->set_count = 0;
    }
    lifecycle.unlock();
    for (Destruction& context : contexts) {
        context.finish();
    }
    for (const auto& event : runtime.events.all()) {
        runtime.events.remove(event->handle);
    }
    for (const auto& binary : runtime.binaries.all()) {
        runtime.forget(*binary);
    }
    runtime.host.release_all();
}

}  // namespace mtsim

using namespace mtsim;

// ----------------------------------------------------------------------------------------------- life cycle

aclError aclInit(const char* configPath) {
    (void)configPath;  // a file with settings of profilers and dumps, none of which the simulator has
    Runtime& runtime = Runtime::get();
    std::lock_guard<std::mutex> lock(runtime.lifecycle);
    if (const std::string problem = runtime.problem(); !problem.empty()) {
        return fail(ACL_ERROR_INVALID_PARAM, "aclInit", "%s", problem.c_str());
    }
    if (runtime.initialised) {
        return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit", "called before in this process; that may be ignored");
    }
    runtime.initialised = true;
    return ACL_SUCCESS;
}

aclError aclFinalize() {
    Runtime& runtime = Runtime::get();
    std::unique_lock<std::mutex> lock(runtime.lifecycle);
    MTSIM_TRY(require_initialised("aclFinalize", runtime));
    MTSIM_TRY(require_no_worker("aclFinalize"));
    runtime.initialised = false;  // first: what runs meanwhile makes no new context
    destroy_all(runtime, std::move(lock));
    return ACL_SUCCESS;
}

aclError aclrtSetDevice(int32_t deviceId) {
    Runtime& runtime = Runtime::get();
    Device* device = nullptr;
    std::lock_guard<std::mutex> lock(runtime.lifecycle);
    MTSIM_TRY(require_initialised("aclrtSetDevice", runtime));
    MTSIM_TRY(require_device("aclrtSetDevice", runtime, deviceId, &device));
    if (device->set_count++ == 0) {
        device->primary = create_context(runtime, device, true);
    }
    if (std::shared_ptr<Context>& current = ThreadState::get().context; current != device->primary) {
        current = device->primary;
    }
    return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t deviceId) {
    Runtime& runtime = Runtime::get();
    Device* device = nullptr;
    std::unique_lock<std::mutex> lock(runtime.lifecycle);
    MTSIM_TRY(require_initialised("aclrtResetDevice", runtime));
    MTSIM_TRY(require_device("aclrtResetDevice", runtime, deviceId, &device));
    if (device->set_count == 0) {
        return fail(ACL_ERROR_RT_CONTEXT_NULL, "aclrtResetDevice",
                    "argument deviceId: expected a device that aclrtSetDevice was called for, got %d, which is not set "
                    "or was reset as often as it was set", deviceId);
    }
    MTSIM_TRY(require_no_worker("aclrtResetDevice"));
    if (--device->set_count == 0) {
        Destruction context(runtime, device->primary);
        device->primary.reset();
        lock.unlock();
        context.finish();
    }
    return ACL_SUCCESS;
}

aclError aclrtGetDevice(int32_t* deviceId) {
    const Context* context = nullptr;
    MTSIM_TRY(require_pointer("aclrtGetDevice", "deviceId", deviceId));
    MTSIM_TRY(require_context("aclrtGetDevice", &context));
    *deviceId = context->device->id;
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t* count) {
    MTSIM_TRY(require_pointer("aclrtGetDeviceCount", "count", count));
    *count = static_cast<uint32_t>(Runtime::get().devices.size());
    return ACL_SUCCESS;
}

const char* aclrtGetSocName() { return Runtime::get().config.soc_name.c_str(); }

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
    Runtime& runtime = Runtime::get();
    Device* device = nullptr;
    MTSIM_TRY(require_pointer("aclrtCreateContext", "context", context));
    std::lock_guard<std::mutex> lock(runtime.lifecycle);
    MTSIM_TRY(require_initialised("aclrtCreateContext", runtime));
    MTSIM_TRY(require_device("aclrtCreateContext", runtime, deviceId, &device));
    const std::shared_ptr<Context> created = create_context(runtime, device, false);
    ThreadState::get().context = created;
    *context = created->handle;
    return ACL_SUCCESS;
}

aclError aclrtDestroyContext(aclrtContext context) {
    Runtime& runtime = Runtime::get();
    std::shared_ptr<Context> found;
    std::unique_lock<std::mutex> lock(runtime.lifecycle);
    MTSIM_TRY(runtime.contexts.require("aclrtDestroyContext", "context", context, &found));
    if (found->primary) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtDestroyContext",
                    "argument context: expected one made by aclrtCreateContext, got the default context of device %d, "
                    "which aclrtResetDevice destroys", found->device->id);
    }
    MTSIM_TRY(require_no_worker("aclrtDestroyContext"));
    Destruction destroyed(runtime, found);
    lock.unlock();
    destroyed.finish();
    return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context) {
    std::shared_ptr<Context> found;
    MTSIM_TRY(Runtime::get().contexts.require("aclrtSetCurrentContext", "context", context, &found));
    ThreadState::get().context = found;
    return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
    const Context* found = nullptr;
    MTSIM_TRY(require_pointer("aclrtGetCurrentContext", "context", context));
    MTSIM_TRY(require_context("aclrtGetCurrentContext", &found));
    *context = found->handle;
    return ACL_SUCCESS;
}
