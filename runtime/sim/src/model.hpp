// A captured graph: what each captured stream does, in order, and where one waits for another.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "recorder.hpp"

namespace mtsim {

class Context;
class Recording;
class Stream;

// Either runs task `index`, or waits until lane `index` has finished its first `count` steps.
struct Step {
    enum Kind { kTask, kAwait } kind;
    std::size_t index;
    std::size_t count;
};

// The steps of one captured stream.
using Lane = std::vector<Step>;

class Model {
public:
    explicit Model(const Context* owner) : context(owner) {}

    // While it is captured; the caller sees to it that one thread at a time does so.
    std::size_t add_lane();
    std::size_t add_task(std::size_t lane, std::shared_ptr<CapturedTask> task);
    void add_wait(std::size_t lane, std::size_t awaited, std::size_t count);
    std::size_t length(std::size_t lane) const { return lanes_[lane].size(); }

    // Runs the graph on a thread that runs `stream`'s tasks, after any other run that began before.
    void run(Stream& stream);

    // Puts other tasks in the place of those at `indices`. One that is running ends as it was, and lives until the
    // run's end.
    void replace(const std::vector<std::size_t>& indices, const std::vector<std::shared_ptr<CapturedTask>>& tasks);
    const char* kind_of(std::size_t task) const;

    void* handle = nullptr;
    const Context* const context;    // compared, never dereferenced: the context may be gone
    std::atomic<bool> ready{false};  // the capture has ended; the lanes no longer change
    std::atomic<int> unfinished{0};  // runs that were queued and have not ended

private:
    friend class Run;

    // A task in its place, which a run reads without the lock.
    struct Place {
        explicit Place(std::shared_ptr<CapturedTask> task) : owner(std::move(task)), current(owner.get()) {}
        std::shared_ptr<CapturedTask> owner;  // guarded by mutex_
        std::atomic<CapturedTask*> current;
    };

    bool await_turn(Stream& stream);
    void end_run();

    std::vector<Lane> lanes_;
    std::deque<Place> tasks_;
    mutable std::mutex mutex_;  // guards what follows
    bool running_ = false;
    std::deque<std::shared_ptr<Recording>> waiting_;       // runs that have to wait, the next one first
    std::vector<std::shared_ptr<CapturedTask>> replaced_;  // during the run under way
};

// Tasks of a model that were captured between the begin and the end of a group.
struct TaskGroup {
    void* handle = nullptr;
    std::weak_ptr<Model> model;
    std::vector<std::size_t> tasks;
    std::atomic<bool> updating{false};
};

}  // namespace mtsim
