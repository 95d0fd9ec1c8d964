// Events: marks in a stream that others can wait for.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "acl/acl.h"

namespace mtsim {

// One recording of an event. Waiters hold the recording, not the event, so that a later record, reset or destroy of the
// event cannot change what they wait for.
class Recording {
public:
    // Called once, by the stream that reached it; `status` and `message` are the stream's failure, if it has one.
    void complete(aclError status, std::string message);

    bool done() const { return done_.load(std::memory_order_acquire); }

    // Blocks until done, or until `give_up()` is true after a poke(), or until `deadline`: false only in that case.
    bool wait(const std::function<bool()>& give_up,
              std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt);
    void poke();

    // Only once done.
    aclError status() const { return status_; }
    const std::string& message() const { return message_; }
    std::chrono::steady_clock::time_point time() const { return time_; }

private:
    std::atomic<bool> done_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    aclError status_ = ACL_SUCCESS;
    std::string message_;
    std::chrono::steady_clock::time_point time_;
};

class Capture;

// A point in a captured stream: where an event was recorded.
struct Mark {
    std::weak_ptr<Capture> capture;
    std::size_t lane = 0;           // the stream's
    std::vector<std::size_t> seen;  // of each lane, the steps that happen before this point
};

enum class EventKind {
    kPlain,     // not ready until it is recorded
    kEx,        // complete until it is recorded
    kExternal,  // a flag that is set and cleared when the stream gets there, and not when the call is made
};

class Event {
public:
    Event(EventKind kind, bool timed);

    // The recording that the next record in a stream completes.
    std::shared_ptr<Recording> begin_recording();
    void reset();

    // Sets the flag of an external event.
    void complete(aclError status, const std::string& message);

    // Where it was last recorded, if that was in a capture.
    void set_mark(Mark mark);
    std::optional<Mark> mark() const;

    std::shared_ptr<Recording> latest() const;
    bool was_recorded() const;  // since it was created or reset
    bool timed() const { return timed_; }
    bool external() const { return kind_ == EventKind::kExternal; }

    void* handle = nullptr;

private:
    const EventKind kind_;
    const bool timed_;
    mutable std::mutex mutex_;
    std::shared_ptr<Recording> latest_;
    bool recorded_ = false;
    std::optional<Mark> mark_;
};

}  // namespace mtsim
