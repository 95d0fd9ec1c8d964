// Devices, and the contexts through which threads use them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "acl/acl.h"
#include "device_memory.hpp"
#include "thread_state.hpp"

namespace mtsim {

class Context;
class Runtime;
class Stream;

struct Device {
    Device(std::int32_t number, std::size_t capacity) : id(number), memory(capacity) {}

    const std::int32_t id;
    DeviceMemory memory;

    // Guarded by Runtime::lifecycle.
    std::shared_ptr<Context> primary;  // the context that aclrtSetDevice gives every thread
    int set_count = 0;                 // aclrtSetDevice minus aclrtResetDevice
    int contexts = 0;                  // live ones, the primary included
};

// A context owns a default stream and is what a thread's calls refer to.
class Context {
public:
    Context(Runtime* owner, Device* on, bool is_primary);

    Runtime* const runtime;
    Device* const device;
    const bool primary;
    std::shared_ptr<Stream> default_stream;
    std::atomic<bool> alive{true};
    void* handle = nullptr;
};

// The calling thread's context, which lives until the thread takes another, or 107002.
aclError require_context(const char* function, const Context** context, const ThreadState& thread = ThreadState::get());

// The stream of `handle` (NULL: the default one), or 107000 for a stale handle and 107003 for another context's.
aclError require_stream(const char* function, void* handle, std::shared_ptr<Stream>* stream);

// The same for a call that only queues something: the stream lives until the thread asks for another.
aclError borrow_stream(const char* function, void* handle, Stream** stream, ThreadState& thread = ThreadState::get());

// The device that holds `pointer` in its host alias; NULL for any other address.
Device* device_of(const void* pointer);

// Destroys every context of the process and frees all memory; the queued tasks are dropped. Takes the lifecycle lock.
void destroy_all(Runtime& runtime, std::unique_lock<std::mutex> lifecycle);

}  // namespace mtsim
