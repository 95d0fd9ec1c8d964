// What streams ran, and when, while somebody records. Off, it costs a task one look at a flag.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <type_traits>

#include "mtsim.h"

namespace mtsim {

class Stream;

// When a task was queued, and by which thread of the host.
struct Queued {
    std::int64_t time = 0;
    std::uint32_t thread = 0;
};

// What is told of a task: what kind it is, and of kernels their name and blocks, of copies their way and bytes.
struct Label {
    const char* kind;
    std::string name;
    std::uint32_t blocks = 0;
    std::uint64_t bytes = 0;
};

template <class Task, class = void>
struct HasLabel : std::false_type {};
template <class Task>
struct HasLabel<Task, std::void_t<decltype(std::declval<const Task&>().label())>> : std::true_type {};

// A task's own label(), or the name that it has in a captured graph.
template <class Task>
Label label_of(const Task& task) {
    if constexpr (HasLabel<Task>::value) {
        return task.label();
    } else {
        static_assert(Task::kKind != nullptr, "a task that no graph keeps says itself what it is: label()");
        return Label{Task::kKind, std::string()};
    }
}

class Timeline {
public:
    static Timeline& get();

    static bool on() { return on_.load(std::memory_order_relaxed); }
    static std::int64_t now();
    static Queued stamp();  // of the calling thread, now

    void start(std::size_t most);
    void stop();
    std::size_t take(mtsim_timed* spans, std::size_t room);
    std::size_t dropped();

    // A span that ends now. `stream` is NULL for what the calling thread does itself.
    void add(const Label& label, const Stream* stream, std::int32_t device, std::uint32_t lane, Queued queued,
             std::int64_t begin);

private:
    static inline std::atomic<bool> on_{false};
    std::mutex mutex_;  // guards what follows
    std::int64_t started_ = 0;
    std::size_t most_ = 0;
    std::size_t dropped_ = 0;
    std::deque<mtsim_timed> spans_;
};

// Runs `body`, and tells of it where somebody records.
template <class Task, class Body>
void run_told(const Task& task, const Stream* stream, std::int32_t device, Body body) {
    if (!Timeline::on()) {
        body();
        return;
    }
    const Label label = label_of(task);
    const Queued queued = Timeline::stamp();
    body();
    Timeline::get().add(label, stream, device, 0, queued, queued.time);
}

}  // namespace mtsim
