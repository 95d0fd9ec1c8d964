#include "timeline.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "stream.hpp"

namespace mtsim {

static_assert(sizeof(mtsim_timed) == 144, "the Python side reads spans of this layout");

Timeline& Timeline::get() {
    static Timeline* const timeline = new Timeline;  // never destroyed: workers outlive static objects
    return *timeline;
}

std::int64_t Timeline::now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

Queued Timeline::stamp() {
    thread_local const auto thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
    return Queued{now(), thread};
}

void Timeline::start(std::size_t most) {
    std::lock_guard<std::mutex> lock(mutex_);
    spans_.clear();
    started_ = now();
    most_ = most;
    dropped_ = 0;
    on_.store(true);
}

void Timeline::stop() { on_.store(false); }

std::size_t Timeline::take(mtsim_timed* spans, std::size_t room) {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::size_t count = std::min(room, spans_.size());
    std::copy_n(spans_.begin(), count, spans);
    spans_.erase(spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
}

std::size_t Timeline::dropped() {
    std::lock_guard<std::mutex> lock(mutex_);
    return dropped_;
}

void Timeline::add(const Label& label, const Stream* stream, std::int32_t device, std::uint32_t lane, Queued queued,
                   std::int64_t begin) {
    mtsim_timed span{};
    span.end = now();
    std::lock_guard<std::mutex> lock(mutex_);
    if (begin < started_) {
        return;  // began before the recording, perhaps in an earlier one
    }
    if (spans_.size() >= most_) {
        ++dropped_;
        return;
    }
    span.begin = begin;
    if (queued.time >= started_) {  // else nobody noted it
        span.queued = queued.time;
        span.thread = queued.thread;
    }
    span.stream = stream != nullptr ? stream->handle : nullptr;
    span.device = device;
    span.lane = lane;
    span.blocks = label.blocks;
    span.bytes = label.bytes;
    std::strncpy(span.kind, label.kind, sizeof(span.kind) - 1);
    std::strncpy(span.name, label.name.c_str(), sizeof(span.name) - 1);
    spans_.push_back(span);
}

}  // namespace mtsim

using namespace mtsim;

void mtsim_timeline_start(size_t most) { Timeline::get().start(most); }

void mtsim_timeline_stop() { Timeline::get().stop(); }

size_t mtsim_timeline_take(mtsim_timed* spans, size_t room) { return Timeline::get().take(spans, room); }

size_t mtsim_timeline_dropped() { return Timeline::get().dropped(); }
