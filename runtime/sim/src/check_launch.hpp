// A launch under the checker: what its cores found and did, and the signals between them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "check_clock.hpp"
#include "check_global.hpp"
#include "check_report.hpp"
#include "config.hpp"

namespace mtsim::check {

class Launch {
public:
    Launch(const char* kernel, std::uint32_t blocks, const Config& config)
        : kernel_(kernel), number_(count_.fetch_add(1)), blocks_(blocks), config_(config) {}

    const char* kernel() const { return kernel_; }
    // Which launch of the process it is.
    std::uint64_t number() const { return number_; }
    std::uint32_t blocks() const { return blocks_; }
    const Config& config() const { return config_; }
    // A folder whose files are no user's source.
    void hide(const std::string& folder);
    void add(std::vector<Finding> findings) { findings_.add(std::move(findings)); }
    void add(GlobalHistory history);

    // What cores tell each other: whoever acquires a key knows all that was released under it.
    void release(std::uint64_t key, const Others& known);
    Others acquire(std::uint64_t key);

    // After all cores have ended: the mistakes, which fail the launch. What is only worth a note is told to stderr.
    std::optional<Report> report();

private:
    inline static std::atomic<std::uint64_t> count_{0};

    const char* const kernel_;
    const std::uint64_t number_;
    const std::uint32_t blocks_;
    const Config& config_;
    std::set<std::string> hidden_;
    Findings findings_{&hidden_};
    std::mutex mutex_;  // guards what follows, and hidden_
    std::vector<GlobalHistory> histories_;
    std::map<std::uint64_t, Others> signals_;
};

// The place for a launch's checker, which exists once a checked kernel asked for it.
class LaunchSlot {
public:
    LaunchSlot(const char* kernel, std::uint32_t blocks) : kernel_(kernel), blocks_(blocks) {}
    LaunchSlot(const LaunchSlot&) = delete;
    ~LaunchSlot() { delete launch_.load(); }

    Launch* get();
    // NULL where the kernel was not checked.
    Launch* existing() { return launch_.load(); }

private:
    const char* const kernel_;
    const std::uint32_t blocks_;
    std::mutex mutex_;
    std::atomic<Launch*> launch_{nullptr};
};

// "bytes 0 to 31 of the 4096 bytes of device memory at 0x7f...": the allocation that holds them, by either alias.
std::string place_in_device_memory(std::uintptr_t begin, std::uintptr_t end);

}  // namespace mtsim::check
