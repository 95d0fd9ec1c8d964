#include "stream.hpp"

#include <algorithm>

#include "error.hpp"
#include "event.hpp"

namespace mtsim {
namespace {

thread_local const Stream* stream_of_thread = nullptr;  // set on workers

}  // namespace

Stream::Stream(const Context* owner, std::int32_t device_id)
    : context(owner), device(device_id), slots_(new Slot[kSlots]), queued_(new Queued[kSlots]) {}

Stream::~Stream() { abandon(); }

// ------------------------------------------------------------------------------------------------ producers

aclError Stream::admit(const char* function, std::unique_lock<SpinLock>& lock) {
    const auto full = [this] {
        const std::uint64_t submitted = submitted_.load(std::memory_order_relaxed);
        if (submitted - known_finished_ >= kSlots) {
            known_finished_ = finished_.load(std::memory_order_acquire);
        }
        return submitted - known_finished_ >= kSlots;
    };
    while (full() && !closed_) {
        const std::uint64_t oldest = submitted_.load(std::memory_order_relaxed) - kSlots + 1;
        lock.unlock();
        wait(oldest + kSlots / 8);  // room for many, so that a producer is not woken for each single slot
        lock.lock();
    }
    if (closed_) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument stream: expected a live stream, got %s",
                    "one that is being destroyed");
    }
    if (stopped_.load(std::memory_order_acquire)) {
        const std::optional<Failure> reason = failure();
        return fail(reason->code, function, "the stream stopped on an earlier failure: %s", reason->message.c_str());
    }
    if (!started_) {
        start_worker();
    }
    return ACL_SUCCESS;
}

bool Stream::start_recording(std::shared_ptr<Recorder> recorder) {
    std::lock_guard<SpinLock> lock(push_lock_);
    if (recorder_ != nullptr) {
        return false;
    }
    recorder_ = std::move(recorder);
    return true;
}

void Stream::stop_recording() {
    std::shared_ptr<Recorder> stopped;  // destroyed after the lock is released
    std::lock_guard<SpinLock> lock(push_lock_);
    stopped.swap(recorder_);
}

std::shared_ptr<Recorder> Stream::recorder() const {
    std::lock_guard<SpinLock> lock(push_lock_);
    return recorder_;
}

void Stream::start_worker() {
    std::promise<void> done;
    worker_done_ = done.get_future();
    worker_ = std::thread(
        [this](std::promise<void> finished) {
            struct Announce {  // also when the thread is unwound
                std::promise<void>& promise;
                ~Announce() { promise.set_value(); }
            } announce{finished};
            work();
        },
        std::move(done));
    started_ = true;
}

// For who found it asleep, with the push lock.
void Stream::wake_worker() {
    if (asleep_.exchange(false)) {
        { std::lock_guard<std::mutex> lock(sleep_mutex_); }  // it waits by now, or sees the work
        work_arrived_.notify_one();                          // whoever wakes finds the lock free
    }
}

// After another change than a task that it waits for.
void Stream::rouse_worker() {
    { std::lock_guard<SpinLock> lock(push_lock_); }  // it sleeps by now, or sees the change
    wake_worker();
}

// --------------------------------------------------------------------------------------------------- worker

void Stream::work() {
    stream_of_thread = this;
    for (std::uint64_t position = finished_.load(); next_task(position); ++position) {
        struct Finish {
            Stream& stream;
            std::uint64_t position;
            ~Finish() { stream.finish(position); }
        } finish{*this, position};
        const bool stopped = stopped_.load(std::memory_order_acquire);
        Slot& slot = slots_[position % kSlots];
        if (position + 1 < known_submitted_) {
            slots_[(position + 1) % kSlots].fetch_to_run();
        }
        if (!Timeline::on()) {
            slot.execute(*this, stopped);
            continue;
        }
        running_ = queued_[position % kSlots];
        const Label label = slot.label();
        const std::int64_t begin = Timeline::now();
        slot.execute(*this, stopped);
        Timeline::get().add(label, this, device, 0, running_, begin);
    }
}

// Waits for the task at `position`; false when the stream ends instead.
bool Stream::next_task(std::uint64_t position) {
    if (position < known_submitted_ && !abandoned_.load()) {
        return true;
    }
    const auto ready = [&] {
        return submitted_.load(std::memory_order_acquire) != position || closing_.load() || abandoned_.load();
    };
    if (!idle_.until(ready)) {
        while (true) {
            {
                std::lock_guard<SpinLock> push_lock(push_lock_);
                if (ready()) {
                    break;
                }
                asleep_.store(true, std::memory_order_relaxed);
            }
            std::unique_lock<std::mutex> lock(sleep_mutex_);
            work_arrived_.wait(lock, [&] { return !asleep_.load(std::memory_order_relaxed); });
        }
    }
    known_submitted_ = submitted_.load(std::memory_order_acquire);
    return !abandoned_.load() && known_submitted_ != position;
}

void Stream::finish(std::uint64_t position) {
    if (lost_.load()) {
        return;  // it came back after all, and everything was settled without it
    }
    settle(position);
}

void Stream::settle(std::uint64_t position) {
    finished_.store(position + 1, std::memory_order_seq_cst);
    if (position + 1 >= wanted_.load(std::memory_order_seq_cst)) {
        {
            std::lock_guard<std::mutex> lock(progress_mutex_);
            wanted_.store(kNobody);
        }
        progressed_.notify_all();
    }
}

bool Stream::wait_for(const std::shared_ptr<Recording>& recording, std::chrono::seconds limit) {
    if (event_wait_.until([&] { return recording->done(); })) {
        return true;
    }
    {
        std::lock_guard<std::mutex> lock(failure_mutex_);
        waiting_for_.push_back(recording);
    }
    const auto deadline = limit.count() > 0 ? std::optional(Clock::now() + limit) : std::nullopt;
    const bool in_time = recording->wait([this] { return abandoned_.load(); }, deadline);
    std::lock_guard<std::mutex> lock(failure_mutex_);
    waiting_for_.erase(std::find(waiting_for_.begin(), waiting_for_.end(), recording));
    return in_time;
}

bool Stream::on_worker_thread() const { return stream_of_thread == this; }

bool Stream::on_a_worker_thread() { return stream_of_thread != nullptr; }

void Stream::adopt_thread() const { stream_of_thread = this; }

// -------------------------------------------------------------------------------------------------- waiting

bool Stream::wait(std::uint64_t ticket, std::optional<Clock::time_point> deadline) {
    if (host_wait_.until([&] { return reached(ticket); })) {
        return true;
    }
    std::unique_lock<std::mutex> lock(progress_mutex_);
    while (true) {
        if (ticket < wanted_.load()) {
            wanted_.store(ticket, std::memory_order_seq_cst);
        }
        if (reached(ticket)) {
            return true;
        }
        if (!deadline) {
            progressed_.wait(lock);
        } else if (progressed_.wait_until(lock, *deadline) == std::cv_status::timeout) {
            return reached(ticket);
        }
    }
}

// ------------------------------------------------------------------------------------------------- failures

bool Stream::replay_forsaken() const {
    const Replay* replay = replay_.load(std::memory_order_acquire);
    return replay != nullptr && replay->forsaken.load();
}

void Stream::forsake_replay() {
    if (Replay* replay = replay_.load(std::memory_order_acquire)) {
        replay->forsaken.store(true);
    }
}

void Stream::set_failure(aclError code, std::string message) {
    std::lock_guard<std::mutex> lock(failure_mutex_);
    if (Replay* replay = replay_.load(std::memory_order_acquire)) {
        replay->failed.store(true);
        message = format("captured model %p failed with %d: %s", replay->model, code, message.c_str());
        code = ACL_ERROR_RT_MODEL_EXECUTE;
    }
    if (!failure_) {
        failure_ = Failure{code, std::move(message)};
        stopped_.store(stop_on_failure_.load(), std::memory_order_release);
    }
}

void Stream::add_report(aclError code, const std::string& text) {
    constexpr std::size_t kMost = std::size_t{64} << 10;  // of text: a loop of launches repeats itself
    {
        std::lock_guard<std::mutex> lock(failure_mutex_);
        if (failure_) {
            if (failure_->message.size() + text.size() < kMost) {
                failure_->message += "\n\n" + text;
            }
            return;
        }
    }
    set_failure(code, text);
}

std::optional<Failure> Stream::failure() const {
    std::lock_guard<std::mutex> lock(failure_mutex_);
    return failure_;
}

std::optional<Failure> Stream::take_failure() {
    std::lock_guard<std::mutex> lock(failure_mutex_);
    return stopped_.load() ? failure_ : std::exchange(failure_, std::nullopt);
}

void Stream::stop_on_failure(bool stop) { stop_on_failure_.store(stop); }

// --------------------------------------------------------------------------------------------------- ending

void Stream::drain() {
    {
        std::lock_guard<SpinLock> lock(push_lock_);
        closed_ = true;
    }
    wait(submitted());
    closing_.store(true);
    rouse_worker();
    join(std::nullopt);
}

void Stream::abandon(std::optional<Clock::time_point> deadline) {
    {
        std::lock_guard<SpinLock> lock(push_lock_);
        closed_ = true;
    }
    abandoned_.store(true);
    rouse_worker();
    {
        std::lock_guard<std::mutex> lock(failure_mutex_);
        for (const auto& recording : waiting_for_) {
            recording->poke();
        }
    }
    join(deadline);
}

void Stream::join(std::optional<Clock::time_point> deadline) {
    std::thread worker;
    {
        std::lock_guard<SpinLock> lock(push_lock_);
        worker.swap(worker_);
    }
    // The lock is free while this waits: the worker's running callback may ask for it.
    if (!worker.joinable()) {
        return;
    }
    if (lost_.load() || (deadline && worker_done_.wait_until(*deadline) == std::future_status::timeout)) {
        worker.detach();
        return;
    }
    worker.join();
    std::lock_guard<SpinLock> lock(push_lock_);
    discard_queued();
}

// Tasks that will never run still release what they hold, and those who wait for them.
void Stream::discard_queued() {
    const std::uint64_t end = submitted();
    for (std::uint64_t position = finished_.load(); position != end; ++position) {
        slots_[position % kSlots].discard();
        settle(position);
    }
}

// ------------------------------------------------------------------------------- kernels that never come back

bool Stream::give_up_after(std::chrono::seconds limit) {
    std::uint64_t kernel = kernel_.load(std::memory_order_acquire);
    if (kernel == 0 || kernel != seen_kernel_) {
        seen_kernel_ = kernel;
        seen_since_ = Clock::now();
        return false;
    }
    if (kernel == kGivenUp || Clock::now() - seen_since_ < limit) {
        return false;
    }
    std::lock_guard<SpinLock> lock(push_lock_);
    if (!kernel_.compare_exchange_strong(kernel, kGivenUp)) {
        return false;
    }
    // The kernel is not left until the lock is free, and the position stays.
    const std::uint64_t position = finished_.load();
    abandoned_.store(true);
    lost_.store(true);
    set_failure(ACL_ERROR_RT_VECTOR_CORE_TIMEOUT, describe_timeout(kernel_name_.load(), limit));
    stopped_.store(true);
    const std::uint64_t end = submitted();
    for (std::uint64_t dropped = position + 1; dropped < end; ++dropped) {
        slots_[dropped % kSlots].discard();
    }
    settle(end - 1);
    return true;
}

}  // namespace mtsim
