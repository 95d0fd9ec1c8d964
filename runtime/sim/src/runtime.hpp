// The process's one simulated machine.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>
#include <vector>

#include "binary.hpp"
#include "block_pool.hpp"
#include "capture.hpp"
#include "config.hpp"
#include "context.hpp"
#include "event.hpp"
#include "host_memory.hpp"
#include "model.hpp"
#include "registry.hpp"
#include "stream.hpp"
#include "watchdog.hpp"

namespace mtsim {

// Made on first use and never destroyed: threads that are still running when the process exits go on finding it. A
// forked child gets a fresh one, as none of the worker threads exist there.
class Runtime {
public:
    static Runtime& get();

    const Config config;
    std::vector<std::unique_ptr<Device>> devices;
    Registry<Context, HandleKind::kContext> contexts;
    Registry<Stream, HandleKind::kStream> streams;
    Registry<Event, HandleKind::kEvent> events;
    Registry<Model, HandleKind::kModel> models;
    Registry<TaskGroup, HandleKind::kTaskGroup> groups;
    Captures captures;
    Registry<Binary, HandleKind::kBinary> binaries;
    Registry<Function, HandleKind::kFunction> functions;
    Registry<ArgumentList, HandleKind::kArgumentList> argument_lists;
    HostMemory host;
    BlockPool blocks;
    Watchdog watchdog;

    std::mutex lifecycle;      // initialise, finalise, contexts, device counts
    bool initialised = false;  // guarded by lifecycle

    void forget(const Model& model);    // and its task groups
    void forget(const Binary& binary);  // and its functions, and their argument lists
    // fork(), with a child that goes on using this machine's memory; it may run one kernel and exit, no more.
    pid_t fork_with_memory();
    std::string problem() const;  // why the machine cannot be used; empty when it can

private:
    Runtime();
    static Runtime* create();
    static void stop_threads();

    std::mutex retired_mutex_;
    std::vector<std::shared_ptr<Model>> retired_;  // forgotten ones with runs that have not ended; looked at with the next
};

}  // namespace mtsim
