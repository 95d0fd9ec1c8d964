// What a thread's calls leave for its next ones.
#pragma once

#include <memory>

#include "device_memory.hpp"
#include "registry.hpp"

namespace mtsim {

class Context;
class Model;
class Stream;

// All in one place that a call looks up once: finding a variable of the thread in a loaded library takes longer than
// most of what a launch does with it.
struct ThreadState {
    std::shared_ptr<Context> context;  // that the thread's calls refer to
    Recollection<Stream> streams;
    Recollection<Model> models;
    FoundMemory memory;

    static ThreadState& get() { return own_ != nullptr ? *own_ : make(); }

private:
    static ThreadState& make();
    static inline thread_local ThreadState* own_ = nullptr;  // no object, which would have to be looked after first
};

}  // namespace mtsim
