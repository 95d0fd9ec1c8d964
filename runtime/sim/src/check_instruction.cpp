// What an instruction does to memory: its operands are collected while it runs and judged at its end, sources first,
// so that a result may lie where a source did.
#include <algorithm>
#include <cmath>
#include <utility>

#include "check_core.hpp"
#include "error.hpp"

namespace mtsim::check {
namespace {

bool reads(std::uint32_t access) { return (access & MTSIM_READS) != 0; }
bool writes(std::uint32_t access) { return (access & MTSIM_WRITES) != 0; }
const char* verb(bool wrote) { return wrote ? "writes" : "reads"; }

}  // namespace

void Core::begin_instruction(const char* name, Pipe pipe, std::uint32_t flow, Site site) {
    if (depth_++ > 0) {
        return;
    }
    instruction_ = {name, site, instruction_.number + 1};
    pipe_ = pipe;
    flow_ = flow;
    operands_.clear();
    spans_.clear();
}

void Core::end_instruction(bool discard) {
    if (depth_ > 0 && --depth_ == 0 && !discard) {
        commit();
    }
}

void Core::operand(const char* name, std::uint32_t access, std::uint32_t bits, const void* base,
                   const mtsim_span* spans, std::size_t count) {
    const std::optional<std::size_t> memory = memory_of(base);
    const std::uint64_t start =
        memory ? memories_[*memory].offset(base) : static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(base));
    const std::size_t first = spans_.size();
    for (std::size_t i = 0; i < count; ++i) {
        if (spans[i].bytes > 0) {
            spans_.push_back({start + spans[i].begin, spans[i].bytes});
        }
    }
    operands_.push_back({name, access, bits, memory, static_cast<std::uintptr_t>(start), first, spans_.size() - first});
}

void Core::commit() {
    for (const Operand& operand : operands_) {
        if (is_owned(operand)) {
            check_order(operand);
        }
    }
    judge_values();
    for (const Span& span : written_) {
        Unwritten::get().written(reinterpret_cast<const void*>(span.begin), span.bytes);
    }
    written_.clear();
    if (trace_) {
        record();
    }
}

// Of a product the operands are two matrices and their result, each of two of its three sizes.
void Core::record() {
    Trace::Work work;
    double elements = 1;
    for (const Operand& operand : operands_) {
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < operand.count; ++i) {
            bytes += spans_[operand.first + i].bytes;
        }
        elements *= static_cast<double>(bytes) * 8 / operand.bits;
        if (operand.memory) {
            work.local = std::max(work.local, bytes);
            work.bits = work.bits == 0 ? operand.bits : std::min(work.bits, operand.bits);
        } else {
            (writes(operand.access) ? work.written : work.read) += bytes;
        }
    }
    if (pipe_ == kMatrix && operands_.size() >= 3) {
        work.products = std::sqrt(elements);
    }
    trace_->instruction(pipe_, instruction_.name, work);
}

void Core::judge_values() {
    if (flow_ == MTSIM_FLOW_LANES) {
        spread_lanes();
        return;
    }
    for (const Operand& operand : operands_) {
        if ((flow_ == MTSIM_FLOW_USES && reads(operand.access)) || (operand.access & MTSIM_USED) != 0) {
            check_defined(operand);
        }
    }
    for (const Operand& operand : operands_) {
        if (flow_ == MTSIM_FLOW_USES && writes(operand.access)) {
            define(operand);
        }
    }
}

bool Core::is_owned(const Operand& operand) {
    if (!operand.memory || operand.count == 0) {
        return true;
    }
    const Span& span = spans_[operand.first];  // all of them lie in one tensor
    Buffers* buffers = buffers_at(*operand.memory, span.begin);
    if (buffers == nullptr || !buffers->queued) {
        return true;
    }
    const Buffers::Slot& slot = buffers->slot(span.begin);
    if (slot.state == Buffers::Slot::kAllocated) {
        return true;
    }
    const bool freed = slot.state == Buffers::Slot::kFree;
    Finding use = finding(freed ? "freed" : "queued",
                          format("%s %s a tensor that %s", instruction_.name, verb(writes(operand.access)),
                                 !freed              ? "is in its queue"
                                 : slot.changed == 0 ? "AllocTensor has not given out"
                                                     : "was freed"), instruction_.site);
    Site made = 0;
    const std::string where = place(*operand.memory, span.begin, span.begin + span.bytes, &made);
    use.notes.push_back({format("%s is %s", operand.name, where.c_str()), made});
    if (slot.changed != 0) {
        use.notes.push_back({freed ? "FreeTensor at {}" : "EnQue at {}", slot.changed});
    }
    use.help = freed ? "its buffer may hold the next tile already: free it after its last use"
                     : "DeQue gives it out again, and waits until it is filled";
    found(std::move(use));
    return false;
}

void Core::check_order(const Operand& operand) {
    for (std::size_t i = 0; i < operand.count; ++i) {
        const Span& span = spans_[operand.first + i];
        if (!operand.memory) {
            const GlobalAccess::Kind kind = operand.access == MTSIM_ATOMIC ? GlobalAccess::kAtomic
                                            : writes(operand.access)       ? GlobalAccess::kWrite
                                                                           : GlobalAccess::kRead;
            if (kind != GlobalAccess::kRead) {
                written_.push_back(span);
            }
            history_->add(kind, span.begin, span.bytes, pipe_, pipes_, others_, instruction_.site,
                          instruction_.name);
            continue;
        }
        while (const auto conflict =
                   memories_[*operand.memory].touch(pipes_, pipe_, writes(operand.access), span, instruction_)) {
            const bool is_ordered = compiler_orders(*operand.memory, *conflict);
            if (!is_ordered) {
                report_race(operand, *conflict);
            } else if (trace_) {
                trace_->waits(pipe_, conflict->pipe);
            }
            pipes_.forgive(pipe_, conflict->pipe, conflict->time);
            if (!is_ordered) {
                break;
            }
        }
    }
}

// CANN's compiler makes the scalar unit and another pipe wait for each other where both touch the same local memory.
// What a queue gave out is new to it: it does not know what filled the buffer.
bool Core::compiler_orders(std::size_t memory, const Conflict& conflict) {
    if (!launch_->config().check_autosync || (pipe_ != kScalar && conflict.pipe != kScalar)) {
        return false;
    }
    Buffers* buffers = buffers_at(memory, conflict.begin);
    return buffers == nullptr || !buffers->queued ||
           conflict.instruction.number > buffers->slot(conflict.begin).given_out;
}

void Core::report_race(const Operand& operand, const Conflict& conflict) {
    const char* before = name_of(conflict.pipe);
    const char* after = name_of(pipe_);
    Finding race = finding("race", format("%s %s what %s on another pipe may still be %s", instruction_.name,
                                          verb(writes(operand.access)), conflict.instruction.name,
                                          conflict.wrote ? "writing" : "reading"), instruction_.site);
    Site made = 0;
    const std::string where = place(*operand.memory, conflict.begin, conflict.end, &made);
    race.notes.push_back({format("%s on pipe %s %s %s: %s", instruction_.name, after, verb(writes(operand.access)),
                                 operand.name, where.c_str()), made});
    race.notes.push_back({format("%s on pipe %s %s them at {}", conflict.instruction.name, before,
                                 conflict.wrote ? "wrote" : "read"), conflict.instruction.site});
    const Buffers* buffers = buffers_at(*operand.memory, conflict.begin);
    std::string way;
    if (buffers != nullptr && buffers->queued) {
        const bool scalar = pipe_ == kScalar || conflict.pipe == kScalar;
        way = scalar ? format("its queue orders pipes %s and %s alone; ", name_of(buffers->producer),
                              name_of(buffers->consumer))
                     : "EnQue and DeQue the tensor, or ";
    }
    race.help = format("nothing orders pipe %s after pipe %s here: %sSetFlag<HardEvent::%s_%s> and WaitFlag "
                       "between them", after, before, way.c_str(), before, after);
    found(std::move(race));
}

bool Core::all_defined(const Operand& operand) const {
    for (std::size_t i = 0; i < operand.count; ++i) {
        const Span& span = spans_[operand.first + i];
        if (operand.memory && memories_[*operand.memory].first_undefined(span.begin, span.bytes)) {
            return false;
        }
    }
    return true;
}

void Core::check_written(const Operand& operand) {
    for (std::size_t i = 0; i < operand.count; ++i) {
        const Span& span = spans_[operand.first + i];
        const auto [begin, end] = Unwritten::get().find(span.begin, span.begin + span.bytes);
        if (begin == end) {
            continue;
        }
        Finding use = finding("uninitialised",
                              format("%s uses device memory that nobody has written", instruction_.name),
                              instruction_.site);
        use.notes.push_back({format("%s is %s", operand.name, place_in_device_memory(begin, end).c_str()), 0});
        use.help = "copy or compute values there before the launch, or write them in the kernel first";
        found(std::move(use));
        return;
    }
}

void Core::check_defined(const Operand& operand) {
    if (!operand.memory) {
        check_written(operand);
        return;
    }
    for (std::size_t i = 0; i < operand.count; ++i) {
        const Span& span = spans_[operand.first + i];
        const LocalMemory& memory = memories_[*operand.memory];
        const auto first = memory.first_undefined(span.begin, span.bytes);
        if (!first) {
            continue;
        }
        const std::uint64_t bytes = memory.undefined_run(*first, span.begin + span.bytes);
        const Reason& why = reasons_[memory.state(*first)];
        Finding use = finding("uninitialised", format("%s uses bytes of %s that hold no value", instruction_.name, operand.name),
                              instruction_.site);
        Site made = 0;
        const std::string where = place(*operand.memory, *first, *first + bytes, &made);
        use.notes.push_back({where, made});
        use.notes.push_back({why.text, why.site});
        found(std::move(use));
        return;
    }
}

void Core::define(const Operand& operand) {
    for (std::size_t i = 0; operand.memory && i < operand.count; ++i) {
        const Span& span = spans_[operand.first + i];
        memories_[*operand.memory].set(span.begin, span.bytes, 0);
    }
}

// Element k of the results holds a value where the elements k of all sources do.
void Core::spread_lanes() {
    lanes_.clear();
    for (const Operand& operand : operands_) {
        if (!reads(operand.access) || all_defined(operand)) {
            continue;
        }
        std::size_t lane = 0;
        for (std::size_t i = 0; i < operand.count; ++i) {
            const Span& span = spans_[operand.first + i];
            for (std::uint64_t byte = 0; byte < span.bytes; ++byte) {
                const Undefined state = memories_[*operand.memory].state(span.begin + byte);
                const std::size_t first = lane + byte * 8 / operand.bits;
                const std::size_t count = operand.bits < 8 ? 8 / operand.bits : 1;
                for (std::size_t each = first; state != 0 && each < first + count; ++each) {
                    lanes_.resize(std::max(lanes_.size(), each + 1));
                    lanes_[each] = state;
                }
            }
            lane += span.bytes * 8 / operand.bits;
        }
    }
    for (const Operand& operand : operands_) {
        if (!writes(operand.access)) {
            continue;
        }
        define(operand);
        std::size_t lane = 0;
        for (std::size_t i = 0; operand.memory && !lanes_.empty() && i < operand.count; ++i) {
            const Span& span = spans_[operand.first + i];
            for (std::uint64_t byte = 0; byte < span.bytes; ++byte) {
                const std::size_t first = lane + byte * 8 / operand.bits;
                const std::size_t count = operand.bits < 8 ? 8 / operand.bits : 1;
                // A byte of bits that is undefined in part counts as defined, as bits have no state of their own.
                const auto begin = lanes_.begin() + static_cast<std::ptrdiff_t>(std::min(first, lanes_.size()));
                const bool whole = first + count <= lanes_.size();
                if (whole && std::all_of(begin, begin + static_cast<std::ptrdiff_t>(count),
                                         [](Undefined state) { return state != 0; })) {
                    memories_[*operand.memory].set(span.begin + byte, 1, *begin);
                }
            }
            lane += span.bytes * 8 / operand.bits;
        }
    }
}

void Core::moved(const void* to, const void* from, std::size_t bytes) {
    const auto target = memory_of(to);
    const auto source = memory_of(from);
    if (!target) {
        return;
    }
    LocalMemory& memory = memories_[*target];
    if (source) {
        memory.move(memory.offset(to), memories_[*source], memories_[*source].offset(from), bytes);
    } else {
        memory.set(memory.offset(to), bytes, 0);
        moved_in(memory, to, reinterpret_cast<std::uintptr_t>(from), bytes);
    }
}

// Device memory that nobody has written holds no value where it is copied to, either.
void Core::moved_in(LocalMemory& memory, const void* to, std::uintptr_t from, std::size_t bytes) {
    const std::uintptr_t stop = from + bytes;
    for (std::uintptr_t at = from; from != 0 && at < stop;) {
        const auto [begin, end] = Unwritten::get().find(at, stop);
        if (begin != end) {
            memory.set(memory.offset(to) + (begin - from), end - begin,
                       reason("they came from device memory that nobody has written, at {}", instruction_.site));
        }
        at = end;
    }
}

void Core::chosen(const void* to, const void* from, std::size_t bytes, const void* bits) {
    const auto target = memory_of(to);
    const auto chooser = bits != nullptr ? memory_of(bits) : std::nullopt;
    if (target && chooser) {
        const Undefined state = memories_[*chooser].state(memories_[*chooser].offset(bits));
        if (state != 0) {
            memories_[*target].set(memories_[*target].offset(to), bytes, state);
            return;
        }
    }
    moved(to, from, bytes);
}

void Core::explain(const void* at, std::size_t bytes, const char* why, Site site) {
    const auto memory = memory_of(at);
    if (!memory) {
        return;
    }
    const std::uint64_t begin = memories_[*memory].offset(at);
    for (std::uint64_t byte = begin; byte < begin + bytes; ++byte) {
        if (memories_[*memory].state(byte) != 0) {
            memories_[*memory].set(byte, 1, reason(why, site));
        }
    }
}

void Core::undefined(const void* at, std::size_t bytes, const char* why, Site site) {
    if (const auto memory = memory_of(at)) {
        memories_[*memory].set(memories_[*memory].offset(at), bytes, reason(why, site));
    }
}

}  // namespace mtsim::check
