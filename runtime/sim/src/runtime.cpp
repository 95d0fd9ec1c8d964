#include "runtime.hpp"

#include "address.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace mtsim {
namespace {

// A kernel or callback that is running when the process exits may finish within this time; then it is left behind.
constexpr std::chrono::seconds kExitPatience{2};

std::atomic<Runtime*> instance{nullptr};
std::mutex creation;

bool keeps_machine = false;  // guarded by forking: the child runs a kernel on the parent's machine
std::mutex forking;

void start_over_in_child() {
    if (keeps_machine) {
        return;
    }
    // The parent's object is abandoned as it is: its locks may be held by threads that do not exist here.
    instance.store(nullptr);
    new (&creation) std::mutex();
}

}  // namespace

Runtime& Runtime::get() {
    Runtime* runtime = instance.load(std::memory_order_acquire);
    return runtime != nullptr ? *runtime : *create();
}

Runtime* Runtime::create() {
    std::lock_guard<std::mutex> lock(creation);
    if (instance.load() == nullptr) {
        static bool hooked = false;  // a child inherits the hooks
        if (!hooked) {
            pthread_atfork(nullptr, nullptr, start_over_in_child);
            std::atexit(stop_threads);
            explain_host_accesses();
            hooked = true;
        }
        instance.store(new Runtime(), std::memory_order_release);
    }
    return instance.load();
}

Runtime::Runtime()
    : config(read_config()),
      blocks(std::thread::hardware_concurrency()),
      watchdog(std::chrono::seconds(config.timeout), [this] { return streams.all(); }) {
    for (std::uint32_t id = 0; id < config.devices; ++id) {
        devices.push_back(std::make_unique<Device>(static_cast<std::int32_t>(id), config.device_memory));
    }
}

pid_t Runtime::fork_with_memory() {
    std::lock_guard<std::mutex> lock(forking);
    std::vector<std::shared_lock<std::shared_mutex>> frozen;
    for (const auto& device : devices) {
        frozen.push_back(device->memory.freeze());
    }
    std::fflush(stdout);  // or the child would print it again
    keeps_machine = true;
    const pid_t child = fork();
    keeps_machine = false;
    return child;
}

void Runtime::forget(const Model& model) {
    for (const auto& group : groups.all()) {
        if (group->model.lock().get() == &model) {
            groups.remove(group->handle);
        }
    }
    void* const handle = model.handle;
    std::shared_ptr<Model> removed = models.remove(handle);
    ThreadState::get().models.forget(handle);
    if (removed == nullptr) {
        return;
    }
    removed->retire();
    std::vector<std::shared_ptr<Model>> ended;  // destroyed after the lock is released
    std::lock_guard<std::mutex> lock(retired_mutex_);
    retired_.push_back(std::move(removed));
    const auto running = [](const std::shared_ptr<Model>& each) { return each->unfinished() > 0; };
    const auto first = std::partition(retired_.begin(), retired_.end(), running);
    std::move(first, retired_.end(), std::back_inserter(ended));
    retired_.erase(first, retired_.end());
}

void Runtime::forget(const Binary& binary) {
    binaries.remove(binary.handle);
    for (const auto& function : functions.all()) {
        if (function->binary.get() == &binary) {
            functions.remove(function->handle);
        }
    }
    for (const auto& list : argument_lists.all()) {
        if (list->function->binary.get() == &binary) {
            argument_lists.remove(list->handle);
        }
    }
}

std::string Runtime::problem() const {
    if (!config.error.empty()) {
        return config.error;
    }
    for (const auto& device : devices) {
        if (!device->memory.error().empty()) {
            return device->memory.error();
        }
    }
    return std::string();
}

// At exit: no kernel may run while the libraries that hold it are torn down.
void Runtime::stop_threads() {
    Runtime* runtime = instance.load();
    if (runtime == nullptr) {
        return;
    }
    runtime->watchdog.stop();
    const auto deadline = Stream::Clock::now() + kExitPatience;
    for (const auto& stream : runtime->streams.all()) {
        if (!stream->on_worker_thread()) {
            stream->abandon(deadline);
        }
    }
    runtime->blocks.stop();
}

}  // namespace mtsim
