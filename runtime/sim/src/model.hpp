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

    // Announces a run that is to be queued; false once the model is retired. Until `end` the model lives, though nobody
    // counts references: those a queue would share with its worker cost more than the rest of queueing.
    bool announce() {
        queued_.fetch_add(1);
        if (!retired_.load()) {
            return true;
        }
        end();
        return false;
    }
    void end() { ended_.fetch_add(1, std::memory_order_release); }

    // Runs that were announced and have not ended.
    std::uint64_t unfinished() const {
        const std::uint64_t ended = ended_.load(std::memory_order_acquire);
        return queued_.load() - ended;
    }

    // From now on no run is announced, until `revive`. Of one that is announced meanwhile at least one side hears.
    void retire() { retired_.store(true); }
    void revive() { retired_.store(false); }

    void* handle = nullptr;
    const Context* const context;    // compared, never dereferenced: the context may be gone
    std::atomic<bool> ready{false};  // the capture has ended; the lanes no longer change

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

    std::atomic<bool> retired_{false};
    std::atomic<std::uint64_t> queued_{0};

    // What workers write is apart from what is above, which those who queue look at.
    alignas(64) std::atomic<std::uint64_t> ended_{0};
    mutable std::mutex mutex_;  // guards what follows
    bool running_ = false;
    std::deque<std::shared_ptr<Recording>> waiting_;       // runs that have to wait, the next one first
    std::vector<std::shared_ptr<CapturedTask>> replaced_;  // during the run under way

    alignas(64) std::vector<Lane> lanes_;
    std::deque<Place> tasks_;
};

// Tasks of a model that were captured between the begin and the end of a group.
struct TaskGroup {
    void* handle = nullptr;
    std::weak_ptr<Model> model;
    std::vector<std::size_t> tasks;
    std::atomic<bool> updating{false};
};

}  // namespace mtsim
