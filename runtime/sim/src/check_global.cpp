#include "check_global.hpp"

#include <pthread.h>

#include <algorithm>

#include "check_launch.hpp"
#include "error.hpp"

namespace mtsim::check {
namespace {

constexpr unsigned char kPoison = 0xFF;  // what aclrtMalloc fills memory with

const char* verb(GlobalAccess::Kind kind) {
    return kind == GlobalAccess::kRead ? "reads" : kind == GlobalAccess::kWrite ? "writes" : "updates";
}

bool can_race(const GlobalAccess& a, const GlobalAccess& b) {
    return a.kind != b.kind || a.kind == GlobalAccess::kWrite;
}

class Sweep {
public:
    Sweep(const std::vector<GlobalHistory>& cores, std::uint32_t blocks) : cores_(cores), blocks_(blocks) {}

    std::vector<Finding> run() {
        std::vector<const GlobalAccess*> all;
        for (const GlobalHistory& core : cores_) {
            for (const GlobalAccess& access : core.accesses) {
                all.push_back(&access);
            }
        }
        std::sort(all.begin(), all.end(), [](const GlobalAccess* a, const GlobalAccess* b) {
            return a->begin != b->begin ? a->begin < b->begin : a->core < b->core;
        });
        for (const GlobalAccess* access : all) {
            for (std::size_t kind = 0; kind < 3; ++kind) {
                meet(*access, open_[kind]);
            }
            open_[access->kind].push_back(access);
        }
        return std::move(findings_);
    }

private:
    void meet(const GlobalAccess& access, std::vector<const GlobalAccess*>& open) {
        if (!open.empty() && !can_race(access, *open.front())) {
            return;
        }
        std::size_t kept = 0;
        for (const GlobalAccess* other : open) {
            if (other->end <= access.begin) {
                continue;  // nothing that is still to come can reach it
            }
            open[kept++] = other;
            if (!before(access, *other) && !before(*other, access)) {
                add(*other, access);
            }
        }
        open.resize(kept);
    }

    bool before(const GlobalAccess& first, const GlobalAccess& second) const {
        const GlobalHistory::View& view = cores_[second.core].views[second.view];
        if (first.core == second.core) {
            if (first.pipe == kScalar && first.kind == GlobalAccess::kRead) {
                return &first < &second;  // it waits for what it reads before it issues anything else
            }
            return view.own[first.pipe] >= first.time;
        }
        return view.others->knows(cores_[first.core].where.number(), first.pipe, first.time);
    }

    // Named after the later block's access, or after that which comes later in the source.
    void add(const GlobalAccess& a, const GlobalAccess& b) {
        const bool swap = a.core != b.core ? cores_[b.core].where < cores_[a.core].where : b.site < a.site;
        const GlobalAccess& first = swap ? b : a;
        const GlobalAccess& second = swap ? a : b;
        if (!seen_.insert({first.site, second.site}).second) {
            return;
        }
        const bool same_core = first.core == second.core;
        const std::uintptr_t begin = std::max(first.begin, second.begin), end = std::min(first.end, second.end);
        Finding finding;
        finding.kind = "race";
        finding.where = cores_[second.core].where;
        finding.site = second.site;
        finding.headline = format("%s %s global memory that %s of %s %s too, in no order", second.instruction,
                                  verb(second.kind), first.instruction,
                                  same_core ? "the same core" : "another core", verb(first.kind));
        finding.notes.push_back({place(second, begin, end), 0});
        const std::string who = same_core ? std::string() : cores_[first.core].where.text(blocks_) + ": ";
        finding.notes.push_back({who + format("%s on pipe %s %s them at {}", first.instruction, name_of(first.pipe),
                                              verb(first.kind)), first.site});
        finding.help = same_core
                           ? format("nothing orders pipe %s and pipe %s here: SetFlag<HardEvent::%s_%s> after the "
                                    "first and WaitFlag before the second, or PipeBarrier<PIPE_ALL>()",
                                    name_of(first.pipe), name_of(second.pipe), name_of(first.pipe),
                                    name_of(second.pipe))
                           : "nothing orders the two cores here: SyncAll() or a cross-core flag between them, bytes of "
                             "their own for each, or atomic additions by both";
        findings_.push_back(std::move(finding));
    }

    static std::string place(const GlobalAccess& access, std::uintptr_t begin, std::uintptr_t end) {
        return format("%s on pipe %s %s %s", access.instruction, name_of(access.pipe), verb(access.kind),
                      place_in_device_memory(begin, end).c_str());
    }

    const std::vector<GlobalHistory>& cores_;
    const std::uint32_t blocks_;
    std::array<std::vector<const GlobalAccess*>, 3> open_;  // by kind
    std::set<std::pair<Site, Site>> seen_;
    std::vector<Finding> findings_;
};

bool is_poison(std::uintptr_t begin, std::uintptr_t end) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(begin);
    return std::all_of(bytes, bytes + (end - begin), [](unsigned char byte) { return byte == kPoison; });
}

}  // namespace

Unwritten& Unwritten::get() {
    static Unwritten* const instance = make();  // threads may outlive static destruction
    return *instance;
}

// A forked child must not find the mutex held by a thread that it does not have.
Unwritten* Unwritten::make() {
    pthread_atfork([] { get().mutex_.lock(); }, [] { get().mutex_.unlock(); }, [] { get().mutex_.unlock(); });
    return new Unwritten;
}

void Unwritten::track() { tracking_.store(true); }

void Unwritten::allocated(const void* at, std::size_t bytes) {
    if (!tracking_.load(std::memory_order_relaxed)) {
        return;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_[begin] = begin + bytes;
}

void Unwritten::written(const void* at, std::size_t bytes) {
    if (!tracking_.load(std::memory_order_relaxed)) {
        return;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    const std::uintptr_t end = begin + bytes;
    const std::lock_guard<std::mutex> lock(mutex_);
    auto range = ranges_.upper_bound(begin);
    if (range != ranges_.begin() && std::prev(range)->second > begin) {
        --range;
    }
    while (range != ranges_.end() && range->first < end) {
        const auto [low, high] = *range;
        range = ranges_.erase(range);
        if (low < begin) {
            ranges_[low] = begin;
        }
        if (high > end) {
            ranges_[end] = high;
        }
    }
}

std::pair<std::uintptr_t, std::uintptr_t> Unwritten::find(std::uintptr_t begin, std::uintptr_t end) const {
    if (!tracking_.load(std::memory_order_relaxed)) {
        return {end, end};
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    auto range = ranges_.upper_bound(begin);
    if (range != ranges_.begin() && std::prev(range)->second > begin) {
        --range;
    }
    for (; range != ranges_.end() && range->first < end; ++range) {
        const std::uintptr_t low = std::max(begin, range->first), high = std::min(end, range->second);
        if (is_poison(low, high)) {
            return {low, high};
        }
    }
    return {end, end};
}

std::uint32_t GlobalHistory::view_of(Pipe pipe, const Pipes& pipes, const std::shared_ptr<const Others>& others) {
    if (newest_[pipe] != 0) {
        const View& last = views[newest_[pipe] - 1];
        if (last.own.time == pipes.known(pipe).time && last.others == others) {
            return newest_[pipe] - 1;
        }
    }
    views.push_back({pipes.known(pipe), others});
    newest_[pipe] = static_cast<std::uint32_t>(views.size());
    return newest_[pipe] - 1;
}

void GlobalHistory::add(GlobalAccess::Kind kind, std::uintptr_t begin, std::uint64_t bytes, Pipe pipe,
                        const Pipes& pipes, const std::shared_ptr<const Others>& others, Site site,
                        const char* instruction) {
    if (bytes == 0 || accesses.size() >= kMost) {
        return;
    }
    const GlobalAccess access{begin, begin + bytes, kind, pipe, 0, pipes.now(pipe), view_of(pipe, pipes, others),
                              site, instruction};
    if (!accesses.empty()) {
        GlobalAccess& last = accesses.back();
        if (last.end == begin && last.kind == kind && last.pipe == pipe && last.time == access.time &&
            last.view == access.view && last.site == site) {
            last.end = access.end;
            return;
        }
    }
    accesses.push_back(access);
}

std::vector<Finding> findings_in(std::vector<GlobalHistory>& cores, std::uint32_t blocks) {
    std::sort(cores.begin(), cores.end(),
              [](const GlobalHistory& a, const GlobalHistory& b) { return a.where < b.where; });
    for (std::size_t core = 0; core < cores.size(); ++core) {
        for (GlobalAccess& access : cores[core].accesses) {
            access.core = static_cast<std::uint32_t>(core);
        }
    }
    return Sweep(cores, blocks).run();
}

}  // namespace mtsim::check
