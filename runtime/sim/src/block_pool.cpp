#include "block_pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace mtsim {
namespace {

constexpr std::chrono::microseconds kWorthSharing{20};  // several times what waking a thread costs

}  // namespace

struct BlockPool::Job {
    const std::function<void(std::uint32_t)>& body;
    const std::uint32_t count;
    std::atomic<std::uint32_t> next;
    unsigned active = 0;  // helpers inside; guarded by the pool's mutex

    void work() {
        for (std::uint32_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
            body(i);
        }
    }
};

void BlockPool::run(std::uint32_t count, const std::function<void(std::uint32_t)>& body) {
    const auto start = std::chrono::steady_clock::now();
    std::uint32_t done = 0;
    while (done < count) {
        body(done++);
        // The blocks so far predict the rest; sharing starts when that is long enough.
        const auto elapsed = std::chrono::steady_clock::now() - start;
        if (helpers_wanted_ > 0 && count - done > 1 && elapsed / done * (count - done) > kWorthSharing) {
            break;
        }
    }
    if (done < count) {
        Job job{body, count, {done}};
        share(job);
    }
}

void BlockPool::share(Job& job) {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        while (!stopped_ && helpers_.size() < helpers_wanted_) {
            helpers_.emplace_back([this] { help(); });
        }
        jobs_.push_back(&job);
        work_.notify_all();
    }
    job.work();
    std::unique_lock<std::mutex> lock(mutex_);
    jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
    left_.wait(lock, [&] { return job.active == 0; });
}

void BlockPool::help() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        const auto open = std::find_if(jobs_.begin(), jobs_.end(), [](Job* job) { return job->next < job->count; });
        if (open != jobs_.end()) {
            Job* job = *open;
            ++job->active;
            lock.unlock();
            job->work();
            lock.lock();
            --job->active;
            left_.notify_all();
        } else if (stopped_) {
            return;
        } else {
            work_.wait(lock);
        }
    }
}

void BlockPool::stop() {
    std::vector<std::thread> helpers;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        stopped_ = true;
        helpers.swap(helpers_);
        work_.notify_all();
        if (!jobs_.empty()) {  // a kernel that did not end in time: its helpers are left behind with it
            for (std::thread& helper : helpers) {
                helper.detach();
            }
            return;
        }
    }
    for (std::thread& helper : helpers) {
        helper.join();
    }
}

}  // namespace mtsim
