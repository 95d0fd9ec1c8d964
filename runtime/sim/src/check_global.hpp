// Device memory: which bytes of an allocation were never written, and what the cores of a launch did to it in which
// order.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "check_clock.hpp"
#include "check_report.hpp"

namespace mtsim::check {

// Bytes of device memory that nobody wrote since they were allocated, by the addresses that kernels use. What was
// allocated before tracking began counts as written.
class Unwritten {
public:
    static Unwritten& get();

    void track();
    void allocated(const void* at, std::size_t bytes);
    void written(const void* at, std::size_t bytes);  // also for what was freed

    // The first unwritten range within [begin, end) that holds what aclrtMalloc left there (a kernel may also write
    // through plain pointers, which nobody sees); an empty one where there is none.
    std::pair<std::uintptr_t, std::uintptr_t> find(std::uintptr_t begin, std::uintptr_t end) const;

private:
    static Unwritten* make();
    std::atomic<bool> tracking_{false};
    mutable std::mutex mutex_;
    std::map<std::uintptr_t, std::uintptr_t> ranges_;  // begin -> end
};

struct GlobalAccess {
    enum Kind : std::uint8_t { kRead, kWrite, kAtomic };
    std::uintptr_t begin, end;
    Kind kind;
    Pipe pipe;
    std::uint32_t core;  // into GlobalLog::cores
    std::uint32_t time;
    std::uint32_t view;  // what the pipe knew: into the core's views
    Site site;
    const char* instruction;
};

// What one core did to device memory.
class GlobalHistory {
public:
    explicit GlobalHistory(Where core) : where(core) {}

    void add(GlobalAccess::Kind kind, std::uintptr_t begin, std::uint64_t bytes, Pipe pipe, const Pipes& pipes,
             const std::shared_ptr<const Others>& others, Site site, const char* instruction);

    struct View {
        Clock own;
        std::shared_ptr<const Others> others;
    };
    Where where;
    std::vector<GlobalAccess> accesses;
    std::vector<View> views;

private:
    static constexpr std::size_t kMost = 200'000;  // of one core: then it goes on unwatched
    std::uint32_t view_of(Pipe pipe, const Pipes& pipes, const std::shared_ptr<const Others>& others);
    std::array<std::uint32_t, kPipes> newest_{};  // view of each pipe, counted from 1
};

// The races between the cores' accesses.
std::vector<Finding> findings_in(std::vector<GlobalHistory>& cores, std::uint32_t blocks);

}  // namespace mtsim::check
