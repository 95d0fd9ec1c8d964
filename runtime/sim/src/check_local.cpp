#include "check_local.hpp"

#include <algorithm>
#include <cstring>

namespace mtsim::check {

Pipe pipe_of(std::uint32_t number) {
    constexpr std::uint32_t kNumberOfFix = 10;
    return number <= kMte3 ? static_cast<Pipe>(number) : number == kNumberOfFix ? kFix : kOther;
}

const char* name_of(Pipe pipe) {
    constexpr std::array<const char*, kPipes> kNames{"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX", "other"};
    return kNames[pipe];
}

void LocalMemory::start(const char* called, const void* at, std::size_t bytes, Undefined reason) {
    name = called;
    base = reinterpret_cast<std::uintptr_t>(at);
    size = bytes;
    undefined_.assign(bytes, reason);
    cells_.resize((bytes + kBlock - 1) / kBlock);
}

void LocalMemory::set(std::uint64_t begin, std::uint64_t bytes, Undefined reason) {
    std::memset(undefined_.data() + begin, reason, bytes);
}

void LocalMemory::move(std::uint64_t to, const LocalMemory& from, std::uint64_t begin, std::uint64_t bytes) {
    std::memmove(undefined_.data() + to, from.undefined_.data() + begin, bytes);
}

std::optional<std::uint64_t> LocalMemory::first_undefined(std::uint64_t begin, std::uint64_t bytes) const {
    const auto start = undefined_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto end = start + static_cast<std::ptrdiff_t>(bytes);
    const auto found = std::find_if(start, end, [](Undefined reason) { return reason != 0; });
    if (found == end) {
        return std::nullopt;
    }
    return static_cast<std::uint64_t>(found - undefined_.begin());
}

std::uint64_t LocalMemory::undefined_run(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t at = begin;
    while (at < end && undefined_[at] != 0) {
        ++at;
    }
    return at - begin;
}

// The newest access to a byte is kept; what a newer one leaves of an older one is forgotten, which can hide a race but
// never invent one.
void LocalMemory::Mark::add(std::uint32_t now, std::uint32_t touched, const Instruction& by) {
    bytes = time == now ? bytes | touched : touched;
    time = now;
    instruction = by;
}

std::optional<Conflict> LocalMemory::touch(const Pipes& pipes, Pipe pipe, bool writes, const Span& span,
                                           const Instruction& instruction) {
    std::optional<Conflict> found;
    const std::uint64_t end = span.begin + span.bytes;
    for (std::uint64_t at = span.begin; at < end;) {
        const std::uint64_t block = at / kBlock;
        const std::uint64_t stop = std::min(end, (block + 1) * kBlock);
        const auto first = static_cast<std::uint32_t>(at % kBlock);
        const auto count = static_cast<std::uint32_t>(stop - at);
        const std::uint32_t bits = (count == kBlock ? ~0u : (1u << count) - 1) << first;
        Cell& cell = cells_[block];
        const auto meet = [&](const Mark& mark, Pipe other, bool wrote) {
            if ((mark.bytes & bits) == 0 || pipes.knows(pipe, other, mark.time)) {
                return;
            }
            const bool first = !found || found->begin == at;
            if (!found || (first && found->instruction.number < mark.instruction.number)) {
                found = Conflict{other, wrote, mark.time, mark.instruction, at, stop};
            } else if (!first && found->instruction.number == mark.instruction.number && found->wrote == wrote &&
                       found->end == at) {
                found->end = stop;
            }
        };
        for (std::uint32_t other = 0; other < kPipes; ++other) {
            if (other != pipe) {
                meet(cell.writes[other], static_cast<Pipe>(other), true);
                if (writes) {
                    meet(cell.reads[other], static_cast<Pipe>(other), false);
                }
            }
        }
        if (!writes && pipe == kScalar) {  // it waits for what it reads before it issues anything else
            at = stop;
            continue;
        }
        (writes ? cell.writes : cell.reads)[pipe].add(pipes.now(pipe), bits, instruction);
        at = stop;
    }
    return found;
}

}  // namespace mtsim::check
