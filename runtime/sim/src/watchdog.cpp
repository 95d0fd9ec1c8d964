#include "watchdog.hpp"

namespace mtsim {
namespace {

constexpr int kLooks = 8;  // within the time that a kernel may take

}  // namespace

void Watchdog::start_thread() {
    std::call_once(started_, [this] { thread_ = std::thread([this] { watch(); }); });
    watching_.store(true, std::memory_order_release);
}

void Watchdog::watch() {
    const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(limit_) / kLooks;
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopping_.wait_for(lock, pause, [this] { return stopped_; })) {
        for (const std::shared_ptr<Stream>& stream : streams_()) {
            if (stream->give_up_after(limit_)) {
                lost_.push_back(stream);
            }
        }
    }
}

void Watchdog::stop() {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        stopped_ = true;
        stopping_.notify_all();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

}  // namespace mtsim
