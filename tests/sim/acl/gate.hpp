// Holds a stream at a task until the test opens it.
#pragma once

#include <condition_variable>
#include <mutex>

#include "check.hpp"

class Gate {
public:
    ~Gate() { open(); }

    void block(aclrtStream stream) {
        CHECK_OK(aclrtLaunchHostFunc(stream, [](void* gate) { static_cast<Gate*>(gate)->wait(); }, this));
    }

    void open() {
        std::lock_guard<std::mutex> lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

private:
    void wait() {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return open_; });
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};
