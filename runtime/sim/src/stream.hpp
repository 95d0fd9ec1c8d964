// A stream: an in-order queue of tasks with a worker thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "recorder.hpp"
#include "spin.hpp"
#include "spin_lock.hpp"
#include "timeline.hpp"

namespace mtsim {

class Context;
class Recording;
class Stream;

struct Failure {
    aclError code;
    std::string message;
};

// One run of a captured graph. The stream's failures during it are failures of the graph.
struct Replay {
    const void* const model;
    std::atomic<bool> failed{false};
    std::atomic<bool> forsaken{false};  // it waited in vain for an event, and waits for no other
};

// One place in a stream's ring. A task is any type with `void run(Stream&)`, `static constexpr bool kAlways`, which
// says whether it runs after the stream stopped on a failure, and `static constexpr const char* kKind`, its name in a
// captured graph (NULL: it cannot be captured). It is made in the slot, so queueing allocates nothing, and of the
// slot's cache lines, which the worker's core has to fetch, no more are touched than it fills.
class alignas(64) Slot {
public:
    static constexpr std::size_t kCapacity = 240;

    template <class T, class... Arguments>
    void emplace(Arguments&&... arguments) {
        static_assert(sizeof(T) <= kCapacity && alignof(T) <= 16, "a task must fit its slot");
        new (storage_) T(std::forward<Arguments>(arguments)...);
        execute_ = [](void* storage, Stream& stream, bool stopped) {
            T* self = std::launder(static_cast<T*>(storage));
            struct Destroy {  // even when the thread is unwound, as an exiting interpreter does inside a callback
                T* task;
                ~Destroy() { task->~T(); }
            } destroy{self};
            if (T::kAlways || !stopped) {
                self->run(stream);
            }
        };
        rest_ = [](void* storage, Label* label) {
            T* self = std::launder(static_cast<T*>(storage));
            if (label != nullptr) {
                *label = label_of(*self);
            } else {
                self->~T();
            }
        };
    }
    // Ask for the cache lines that most tasks fill: before they are filled, as the worker's core had them last, and
    // before they are read.
    void fetch_to_fill() const {
        fetch_to_write(this);
        fetch_to_write(storage_ + 64);
    }
    void fetch_to_run() const {
        __builtin_prefetch(this);
        __builtin_prefetch(storage_ + 64);
    }
    void execute(Stream& stream, bool stopped) { execute_(storage_, stream, stopped); }
    void discard() { rest_(storage_, nullptr); }
    Label label() {
        Label label{};
        rest_(storage_, &label);
        return label;
    }

private:
    void (*execute_)(void*, Stream&, bool) = nullptr;
    void (*rest_)(void*, Label*) = nullptr;  // says what the task is, or without a label drops it
    alignas(16) unsigned char storage_[kCapacity];
};

// Whether a task is so short that an idle stream's caller may run it, which spares waking the worker: its type says
// `static constexpr bool kAtOnce = true`.
template <class Task, class = void>
struct runs_at_once : std::false_type {};
template <class Task>
struct runs_at_once<Task, std::void_t<decltype(Task::kAtOnce)>> : std::bool_constant<Task::kAtOnce> {};

class Stream {
public:
    using Clock = std::chrono::steady_clock;

    Stream(const Context* context, std::int32_t device);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // Queues a task, made of `arguments`, and returns its ticket through `ticket` (may be NULL); blocks while the ring
    // is full. Fails with the stream's own error once it stopped on a failure, and with 107000 once it was destroyed. A
    // recorder takes the task instead, and then there is no ticket.
    template <class Task, class... Arguments>
    aclError emplace(const char* function, std::uint64_t* ticket, Arguments&&... arguments) {
        std::unique_lock<SpinLock> lock(push_lock_);
        if (const std::shared_ptr<Recorder> recorder = recorder_) {
            lock.unlock();
            if constexpr (Task::kKind != nullptr) {
                return recorder->record(function, *this,
                                        std::make_shared<CapturedAs<Task>>(std::forward<Arguments>(arguments)...));
            } else {
                return recorder->refuse(function, *this);
            }
        }
        if (aclError code = admit(function, lock)) {
            return code;
        }
        const std::uint64_t position = submitted_.load(std::memory_order_relaxed);
        if constexpr (runs_at_once<Task>::value) {
            if (reached(position)) {  // there is nothing to wait for, and nobody else can queue anything now
                Task(std::forward<Arguments>(arguments)...).run(*this);
                if (ticket != nullptr) {
                    *ticket = position;
                }
                return ACL_SUCCESS;
            }
        }
        slots_[position % kSlots].template emplace<Task>(std::forward<Arguments>(arguments)...);
        if (Timeline::on()) {
            queued_[position % kSlots] = Timeline::stamp();
        }
        slots_[(position + kAhead) % kSlots].fetch_to_fill();
        submitted_.store(position + 1, std::memory_order_release);
        const bool asleep = asleep_.load(std::memory_order_relaxed);
        lock.unlock();
        if (ticket != nullptr) {
            *ticket = position + 1;
        }
        if (asleep) {
            wake_worker();
        }
        return ACL_SUCCESS;
    }

    // The same with a task that exists.
    template <class Task>
    aclError push(const char* function, Task&& task, std::uint64_t* ticket = nullptr) {
        return emplace<std::decay_t<Task>>(function, ticket, std::forward<Task>(task));
    }

    // From now on `recorder` gets the tasks; false when the stream has one already.
    bool start_recording(std::shared_ptr<Recorder> recorder);
    void stop_recording();
    std::shared_ptr<Recorder> recorder() const;

    std::uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
    bool reached(std::uint64_t ticket) const { return finished_.load(std::memory_order_seq_cst) >= ticket; }

    // Blocks until the task of `ticket` has run; false when `deadline` passed first.
    bool wait(std::uint64_t ticket, std::optional<Clock::time_point> deadline = std::nullopt);

    // Blocks a thread that runs the stream's tasks until the recording is complete or the stream is abandoned; false
    // when `limit` passed first, of which 0 is none.
    bool wait_for(const std::shared_ptr<Recording>& recording, std::chrono::seconds limit = std::chrono::seconds(0));
    bool abandoned() const { return abandoned_.load(); }

    // When the task that runs was queued, if that was noted. Only the worker, and who helps it, asks.
    Queued running() const { return running_; }

    // NULL after the run. Only the worker calls this; the others only while they run something for it.
    void set_replay(Replay* replay) { replay_.store(replay, std::memory_order_release); }
    bool replay_forsaken() const;  // the one under way, if there is one
    void forsake_replay();

    // Records an asynchronous failure; the first one wins.
    void set_failure(aclError code, std::string message);
    // The same for the checker's report on a launch, of which there may be several: each is told.
    void add_report(aclError code, const std::string& text);
    std::optional<Failure> failure() const;
    // The failure to report at a synchronisation. It is reported once, unless the stream stops on failures.
    std::optional<Failure> take_failure();
    void stop_on_failure(bool stop);

    // What the worker runs, or who helps it, for whom it may concern when it does not come back. What begin_kernel
    // returns is handed to end_kernel; the name lives until then.
    std::uint64_t begin_kernel(const char* name) {
        const std::uint64_t kernel = 2 * kernels_.fetch_add(1, std::memory_order_relaxed) + 1;
        kernel_name_.store(name, std::memory_order_relaxed);
        kernel_.store(kernel, std::memory_order_release);
        return kernel;
    }
    void end_kernel(std::uint64_t kernel) {
        if (!kernel_.compare_exchange_strong(kernel, 0) && kernel == kGivenUp) {
            std::lock_guard<SpinLock> lock(push_lock_);  // the name is still being read
        }
    }

    // Gives the stream up when its worker is found in the same kernel for longer than `limit`: the failure is reported
    // from then on, what is queued is dropped, and nobody waits any more. The worker may still be in the kernel, so the
    // stream must outlive it: true when that happened. Only the watchdog calls this.
    bool give_up_after(std::chrono::seconds limit);

    // Ends the worker: after the last task (drain), or after the running one (abandon). An abandoned worker that does
    // not come back by `deadline` is left behind. Neither may be called on the worker's own thread.
    void drain();
    void abandon(std::optional<Clock::time_point> deadline = std::nullopt);

    bool on_worker_thread() const;
    static bool on_a_worker_thread();  // of any stream, one that is being destroyed included

    // Makes the calling thread count as this stream's worker, which it helps with a graph.
    void adopt_thread() const;

    void* handle = nullptr;
    const Context* const context;  // compared, never dereferenced: the context may be gone
    const std::int32_t device;

private:
    // Deep enough to run ahead of the device, small enough to bound what a runaway producer can queue.
    static constexpr std::uint64_t kSlots = 2048;
    // How long before its turn a slot is fetched: about as many small launches as a cache line takes to come.
    static constexpr std::uint64_t kAhead = 4;

    aclError admit(const char* function, std::unique_lock<SpinLock>& lock);
    void start_worker();
    void wake_worker();
    void rouse_worker();
    bool next_task(std::uint64_t position);
    void work();
    void finish(std::uint64_t position);
    void settle(std::uint64_t position);
    void discard_queued();
    void join(std::optional<Clock::time_point> deadline);

    // What one side writes is apart from what the other does: each line that both touch costs a task as much as most of
    // the rest. First the producers' own.
    mutable SpinLock push_lock_;  // also guards what follows
    bool closed_ = false;
    bool started_ = false;
    std::shared_ptr<Recorder> recorder_;
    std::uint64_t known_finished_ = 0;  // at least so many, so that the worker's own counter is rarely looked at
    std::thread worker_;
    std::future<void> worker_done_;
    const std::unique_ptr<Slot[]> slots_;
    const std::unique_ptr<Queued[]> queued_;  // beside the slots: of tasks queued while a timeline was recorded

    // The counters only grow; the task of position p is in slot p % kSlots and has the ticket p + 1.
    alignas(64) std::atomic<std::uint64_t> submitted_{0};

    // Sequentially consistent, as is wanted_: each side publishes its own and then reads the other's, so one of them
    // always sees that the other sleeps or that it is done.
    alignas(64) std::atomic<std::uint64_t> finished_{0};

    // What both read and rarely anyone writes.
    static constexpr std::uint64_t kNobody = UINT64_MAX;
    alignas(64) std::atomic<std::uint64_t> wanted_{kNobody};  // the smallest ticket that someone sleeps for
    std::atomic<bool> asleep_{false};  // the worker; set with the push lock, as whoever queues looks with it
    std::atomic<bool> stop_on_failure_{false};
    std::atomic<bool> stopped_{false};
    std::atomic<bool> abandoned_{false};
    std::atomic<bool> closing_{false};
    std::atomic<bool> lost_{false};  // the worker never came back from a kernel

    // The worker's own: the kernel begun last, by an odd number of its own, if it still runs; given up by the watchdog.
    static constexpr std::uint64_t kGivenUp = UINT64_MAX - 1;
    alignas(64) std::atomic<std::uint64_t> kernel_{0};
    std::atomic<std::uint64_t> kernels_{0};
    std::atomic<const char*> kernel_name_{nullptr};
    std::uint64_t known_submitted_ = 0;  // at least so many, so that the producers' own counter is looked at less often
    Queued running_;
    std::atomic<Replay*> replay_{nullptr};
    Spin idle_, event_wait_;  // for a task, and for others

    alignas(64) Spin host_wait_;  // others' for the worker
    std::mutex sleep_mutex_;
    std::condition_variable work_arrived_;
    std::mutex progress_mutex_;
    std::condition_variable progressed_;

    mutable std::mutex failure_mutex_;  // also guards waiting_for_
    std::optional<Failure> failure_;
    std::vector<std::shared_ptr<Recording>> waiting_for_;  // several when a graph runs on several threads

    std::uint64_t seen_kernel_ = 0;  // the watchdog's: where it last found the worker, and since when
    Clock::time_point seen_since_;
};

}  // namespace mtsim
