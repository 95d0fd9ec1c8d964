// Events: marks in a stream that others can wait for.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "acl/acl.h"

namespace mtsim {

// One recording of an event. Waiters hold the recording, not the event, so that a later record, reset or destroy of the
// event cannot change what they wait for.
class Recording {
public:
    // Called once, by the stream that reached it; `status` and `message` are the stream's failure, if it has one.
    void complete(aclError status, std::string message);

    bool done() const { return done_.load(std::memory_order_acquire); }

    // Blocks until done, or until `give_up()` is true after a poke().
    void wait(const std::function<bool()>& give_up);
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

class Event {
public:
    // An Ex event counts as complete until it is recorded; a plain one as not ready.
    Event(bool ex, bool timed);

    // The recording that the next record in a stream completes.
    std::shared_ptr<Recording> begin_recording();
    void reset();

    std::shared_ptr<Recording> latest() const;
    bool was_recorded() const;  // since it was created or reset
    bool timed() const { return timed_; }

    void* handle = nullptr;

private:
    const bool timed_;
    mutable std::mutex mutex_;
    std::shared_ptr<Recording> latest_;
    bool recorded_ = false;
};

}  // namespace mtsim
