#include "check_core.hpp"

#include <algorithm>
#include <utility>

#include "error.hpp"

namespace mtsim::check {
namespace {

thread_local Core own;  // its memories are kept from launch to launch
thread_local bool is_running = false;

constexpr std::size_t kMostFindings = 64;  // of one core

}  // namespace

Core* Core::running() { return is_running ? &own : nullptr; }

void Core::begin(Launch* launch, const Where& where) {
    own.launch_ = launch;
    own.where_ = where;
    for (LocalMemory& memory : own.memories_) {
        memory.size = 0;
    }
    own.buffers_.clear();
    own.reasons_ = {{"", 0}, {"nothing was written there", 0}};
    own.pipes_.barrier();  // what the thread ran before is over
    own.flags_.clear();
    own.others_ = std::make_shared<const Others>();
    own.rounds_.clear();
    own.history_.emplace(where);
    own.trace_.reset();
    if (Traces::get().recording()) {
        own.trace_.emplace(launch->kernel(), launch->number(), launch->blocks(), where);
    }
    own.seen_.clear();
    own.findings_.clear();
    own.depth_ = 0;
    own.operands_.clear();
    own.spans_.clear();
    is_running = true;
}

void Core::end(bool faulted) {
    if (!faulted) {
        forget_buffers();
        for (const auto& [key, flag] : flags_) {
            if (flag.pending) {
                const auto [from, to, id] = key;
                Finding leftover = finding("flag", format("flag %d from %s to %s is set and nobody waits for it", id,
                                                          name_of(from), name_of(to)), flag.site);
                leftover.help = format("the next kernel on this core would find it set: WaitFlag<HardEvent::%s_%s>(%d) "
                                       "is missing", name_of(from), name_of(to), id);
                found(std::move(leftover));
            }
        }
    }
    launch_->add(std::move(findings_));
    launch_->add(std::move(*history_));
    if (trace_) {
        Traces::get().add(*trace_);
        trace_.reset();
    }
    history_.reset();
    is_running = false;
}

void Core::add_memory(std::size_t kind, const char* name, const void* base, std::size_t bytes) {
    memories_[kind].start(name, base, bytes, 1);
}

std::optional<std::size_t> Core::memory_of(const void* at) const {
    for (std::size_t kind = 0; kind < kMemories; ++kind) {
        if (memories_[kind].holds(at)) {
            return kind;
        }
    }
    return std::nullopt;
}

Undefined Core::reason(const std::string& text, Site site) {
    for (std::size_t i = 1; i < reasons_.size(); ++i) {
        if (reasons_[i].site == site && reasons_[i].text == text) {
            return static_cast<Undefined>(i);
        }
    }
    constexpr std::size_t kMost = 255;
    if (reasons_.size() == kMost) {
        return 1;
    }
    reasons_.push_back({text, site});
    return static_cast<Undefined>(reasons_.size() - 1);
}

// -------------------------------------------------------------------------------------------------- findings

Finding Core::finding(const char* kind, std::string headline, Site site) const {
    Finding result;
    result.kind = kind;
    result.headline = std::move(headline);
    result.site = site;
    result.where = where_;
    if (where_.role == Where::kCube) {
        result.code = ACL_ERROR_RT_AICORE_EXCEPTION;
    }
    return result;
}

// Once for each place and what it meets there.
void Core::found(Finding finding) {
    const Site other = finding.notes.size() > 1 ? finding.notes[1].site : 0;
    if (findings_.size() < kMostFindings && seen_.emplace(std::tuple(finding.kind, finding.site, other), true).second) {
        finding.where = where_;
        findings_.push_back(std::move(finding));
    }
}

void Core::fault(Finding finding, const void* subject) {
    if (where_.role == Where::kCube) {
        finding.code = finding.code == ACL_ERROR_RT_VECTOR_CORE_TIMEOUT ? ACL_ERROR_RT_AICORE_TIMEOUT
                                                                        : ACL_ERROR_RT_AICORE_EXCEPTION;
    }
    if (finding.kind == "limit") {
        std::map<std::tuple<Site, std::size_t, std::uint32_t>, std::size_t> counts;
        for (const Buffers& buffers : buffers_) {
            counts[{buffers.made, buffers.memory, buffers.bytes}] += buffers.slots.size();
        }
        for (const auto& [key, count] : counts) {
            const auto& [made, memory, bytes] = key;
            finding.notes.push_back({format("%zu x %u bytes of the %s: InitBuffer at {}", count, bytes,
                                            memories_[memory].name), made});
        }
    } else if (subject != nullptr) {
        if (const auto memory = memory_of(subject)) {
            Site made = 0;
            const std::uint64_t offset = memories_[*memory].offset(subject);
            finding.notes.push_back({"it starts at " + place(*memory, offset, offset + 1, &made), made});
            Buffers* buffers = buffers_at(*memory, offset);
            if (const Buffers::Slot* slot = buffers != nullptr && buffers->queued ? &buffers->slot(offset) : nullptr;
                slot != nullptr && finding.kind == "queue" && slot->changed != 0) {
                finding.notes.push_back({slot->state == Buffers::Slot::kFree     ? "it was freed: FreeTensor at {}"
                                         : slot->state == Buffers::Slot::kQueued ? "it is in its queue: EnQue at {}"
                                                                                 : "it was given out at {}",
                                         slot->changed});
            }
        } else {
            const auto at = reinterpret_cast<std::uintptr_t>(subject);
            finding.notes.push_back({"it starts at " + place_in_device_memory(at, at + 1), 0});
        }
    }
    found(std::move(finding));
}

// Where bytes are in terms of the kernel's buffers; `made` is the line of "{}".
std::string Core::place(std::size_t memory, std::uint64_t begin, std::uint64_t end, Site* made) {
    const auto bytes = [&](std::uint64_t from) {
        return end - begin == 1 ? format("byte %zu", static_cast<std::size_t>(from))
                                : format("bytes %zu to %zu", static_cast<std::size_t>(from),
                                         static_cast<std::size_t>(from + (end - begin) - 1));
    };
    if (const Buffers* buffers = buffers_at(memory, begin)) {
        const std::uint64_t slot = (begin - buffers->begin) / buffers->bytes;
        *made = buffers->made;
        const std::string which =
            buffers->slots.size() == 1 ? "the buffer" : format("buffer %zu of the %zu", static_cast<std::size_t>(slot),
                                                               buffers->slots.size());
        return bytes(begin - buffers->begin - slot * buffers->bytes) +
               format(" of %s of %u bytes that InitBuffer made at {}", which.c_str(), buffers->bytes);
    }
    return bytes(begin) + format(" of the %s", memories_[memory].name);
}

// --------------------------------------------------------------------------------------------------- buffers

Buffers* Core::buffers_at(std::size_t memory, std::uint64_t offset) {
    for (Buffers& buffers : buffers_) {
        if (buffers.holds(memory, offset)) {
            return &buffers;
        }
    }
    return nullptr;
}

void Core::add_buffers(const void* begin, std::uint32_t count, std::uint32_t bytes, bool queued, Pipe producer,
                       Pipe consumer, Site site) {
    const auto memory = memory_of(begin);
    if (!memory) {
        return;
    }
    const std::uint64_t offset = memories_[*memory].offset(begin);
    buffers_.push_back({*memory, offset, bytes, queued, producer, consumer, site, std::vector<Buffers::Slot>(count)});
    memories_[*memory].set(offset, std::uint64_t{count} * bytes,
                           reason("nothing was written there since InitBuffer at {}", site));
}

void Core::forget_buffers() {
    std::for_each(buffers_.begin(), buffers_.end(), [this](const Buffers& buffers) { check_leak(buffers); });
    buffers_.clear();
}

void Core::forget_buffers(const void* begin, std::size_t bytes) {
    const auto memory = memory_of(begin);
    if (!memory) {
        return;
    }
    const std::uint64_t offset = memories_[*memory].offset(begin);
    const auto gone = std::stable_partition(buffers_.begin(), buffers_.end(), [&](const Buffers& buffers) {
        return buffers.memory != *memory || buffers.begin - offset >= bytes;
    });
    std::for_each(gone, buffers_.end(), [this](const Buffers& buffers) { check_leak(buffers); });
    buffers_.erase(gone, buffers_.end());
}

void Core::check_leak(const Buffers& buffers) {
    for (const Buffers::Slot& slot : buffers.slots) {
        if (!buffers.queued || slot.state == Buffers::Slot::kFree) {
            continue;
        }
        const bool queued = slot.state == Buffers::Slot::kQueued;
        Finding leak = finding("leak", queued ? "a tensor is still in its queue when the kernel ends"
                                              : "a tensor is never freed", slot.allocated);
        leak.notes.push_back({format("it is a buffer of %u bytes of the queue that InitBuffer made at {}",
                                     buffers.bytes), buffers.made});
        if (slot.changed != slot.allocated) {
            leak.notes.push_back({queued ? "EnQue at {}" : "DeQue at {}", slot.changed});
        }
        leak.is_note = !queued && !launch_->config().check_leaks;
        leak.help = queued ? "DeQue and FreeTensor are missing" : "FreeTensor is missing";
        found(std::move(leak));
    }
}

void Core::step(std::uint32_t step, const void* buffer, std::optional<Pipe> producer, std::optional<Pipe> consumer,
                Site site) {
    const auto memory = memory_of(buffer);
    Buffers* buffers = memory ? buffers_at(*memory, memories_[*memory].offset(buffer)) : nullptr;
    if (buffers == nullptr) {
        return;
    }
    const std::uint64_t offset = memories_[*memory].offset(buffer);
    Buffers::Slot& slot = buffers->slot(offset);
    const Pipe from = producer.value_or(buffers->producer);
    const Pipe to = consumer.value_or(buffers->consumer);
    slot.changed = site;
    if (trace_) {  // of a buffer, one key for each direction
        const std::uint64_t key = std::uint64_t{*memory} << 40 | offset << 1;
        switch (step) {
            case MTSIM_ALLOC: trace_->takes(from, key); break;
            case MTSIM_ENQUE: trace_->gives(from, key | 1); break;
            case MTSIM_DEQUE: trace_->takes(to, key | 1); break;
            default: trace_->gives(to, key); break;
        }
    }
    switch (step) {
        case MTSIM_ALLOC: {
            slot.state = Buffers::Slot::kAllocated;
            slot.allocated = site;
            pipes_.acquire(from, slot.given_back);
            const std::uint64_t index = (offset - buffers->begin) / buffers->bytes;
            memories_[*memory].set(buffers->begin + index * buffers->bytes, buffers->bytes,
                                   reason("nothing was written there since AllocTensor at {}", site));
            break;
        }
        case MTSIM_ENQUE:
            slot.state = Buffers::Slot::kQueued;
            slot.passed_on = pipes_.release(from);
            break;
        case MTSIM_DEQUE:
            slot.state = Buffers::Slot::kAllocated;
            pipes_.acquire(to, slot.passed_on);
            slot.given_out = instruction_.number;
            break;
        default:
            slot.state = Buffers::Slot::kFree;
            slot.given_back = pipes_.release(to);
            break;
    }
}

// ----------------------------------------------------------------------------------------------------- order

namespace {
// Keys of flags have the highest bit, those of buffers do not.
std::uint64_t flag_key(Pipe from, Pipe to, std::int32_t id) {
    return std::uint64_t{1} << 63 | std::uint64_t{from} << 48 | std::uint64_t{to} << 40 | static_cast<std::uint32_t>(id);
}
}  // namespace

void Core::set_flag(Pipe from, Pipe to, std::int32_t id, Site site) {
    if (trace_) {
        trace_->gives(from, flag_key(from, to, id));
    }
    Flag& flag = flags_[{from, to, id}];
    if (flag.pending) {
        Finding twice = finding("flag", format("SetFlag: flag %d from %s to %s is set already and nobody has waited "
                                               "for it", id, name_of(from), name_of(to)), site);
        twice.notes.push_back({"it was set at {}", flag.site});
        twice.help = "WaitFlag is missing between the two, or they need ids of their own";
        found(std::move(twice));
    }
    flag = {true, site, pipes_.release(from)};
}

void Core::wait_flag(Pipe from, Pipe to, std::int32_t id) {
    Flag& flag = flags_[{from, to, id}];
    flag.pending = false;
    pipes_.acquire(to, flag.clock);
    if (trace_) {
        trace_->takes(to, flag_key(from, to, id));
    }
}

void Core::barrier() {
    pipes_.barrier();
    if (trace_) {
        trace_->meets();
    }
}

void Core::signal(std::uint64_t key, std::optional<Pipe> pipe) {
    Clock clock;
    if (pipe) {  // what the scalar unit did before it issued the signal is over, too
        clock = pipes_.release(*pipe);
        clock.join(pipes_.release(kScalar));
    } else {
        clock = pipes_.release_all();
    }
    Others known = *others_;
    known.clocks[where_.number()].join(clock);
    launch_->release(key, known);
}

void Core::await(std::uint64_t key) {
    Others known = launch_->acquire(key);
    known.join(*others_);
    others_ = std::make_shared<const Others>(std::move(known));
}

namespace {
// Keys of barriers have the highest bit, those of the headers do not.
std::uint64_t barrier_key(std::uint32_t scope, std::uint32_t round) {
    return std::uint64_t{1} << 63 | std::uint64_t{scope} << 32 | round;
}
}  // namespace

void Core::arrive(std::uint32_t scope) {
    barrier();
    signal(barrier_key(scope, rounds_[scope]), std::nullopt);
}

void Core::leave(std::uint32_t scope) {
    await(barrier_key(scope, rounds_[scope]++));
    pipes_.barrier();
}

}  // namespace mtsim::check
