// One core of a checked launch, on the thread that runs it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "check_clock.hpp"
#include "check_global.hpp"
#include "check_launch.hpp"
#include "check_local.hpp"
#include "check_trace.hpp"
#include "check_report.hpp"
#include "mtsim_check.h"

namespace mtsim::check {

constexpr std::size_t kMemories = 8;

// Buffers from one InitBuffer: of a queue, or on their own.
struct Buffers {
    struct Slot {
        enum State : std::uint8_t { kFree, kAllocated, kQueued } state = kFree;
        Site changed = 0;    // where the state began
        Site allocated = 0;  // by AllocTensor
        Clock passed_on;     // by EnQue
        Clock given_back;    // by FreeTensor
        std::uint32_t given_out = 0;  // by DeQue: the last instruction before it
    };
    std::size_t memory;
    std::uint64_t begin;
    std::uint32_t bytes;
    bool queued;
    Pipe producer, consumer;
    Site made;
    std::vector<Slot> slots;

    bool holds(std::size_t in, std::uint64_t offset) const {
        return in == memory && offset - begin < std::uint64_t{bytes} * slots.size();
    }
    Slot& slot(std::uint64_t offset) { return slots[(offset - begin) / bytes]; }
};

class Core {
public:
    // That of the calling thread; NULL outside of a checked kernel.
    static Core* running();
    static void begin(Launch* launch, const Where& where);
    void end(bool faulted);

    void add_memory(std::size_t kind, const char* name, const void* base, std::size_t bytes);

    void begin_instruction(const char* name, Pipe pipe, std::uint32_t flow, Site site);
    void end_instruction(bool discard);
    bool in_instruction() const { return depth_ > 0; }
    void operand(const char* name, std::uint32_t access, std::uint32_t bits, const void* base,
                 const mtsim_span* spans, std::size_t count);
    void moved(const void* to, const void* from, std::size_t bytes);
    void chosen(const void* to, const void* from, std::size_t bytes, const void* bits);
    void undefined(const void* at, std::size_t bytes, const char* why, Site site);
    void explain(const void* at, std::size_t bytes, const char* why, Site site);

    void found(Finding finding);
    void fault(Finding finding, const void* subject);

    void add_buffers(const void* begin, std::uint32_t count, std::uint32_t bytes, bool queued, Pipe producer,
                     Pipe consumer, Site site);
    void forget_buffers();
    void forget_buffers(const void* begin, std::size_t bytes);
    void step(std::uint32_t step, const void* buffer, std::optional<Pipe> producer, std::optional<Pipe> consumer,
              Site site);

    void set_flag(Pipe from, Pipe to, std::int32_t id, Site site);
    void wait_flag(Pipe from, Pipe to, std::int32_t id);
    void barrier();
    void signal(std::uint64_t key, std::optional<Pipe> pipe);
    void await(std::uint64_t key);
    void arrive(std::uint32_t scope);
    void leave(std::uint32_t scope);

private:
    struct Operand {
        const char* name;
        std::uint32_t access;
        std::uint32_t bits;
        std::optional<std::size_t> memory;  // empty: device memory
        std::uintptr_t base;
        std::size_t first, count;  // of spans_
    };
    struct Reason {
        std::string text;  // "{}" stands for the site's line
        Site site;
    };
    struct Flag {
        bool pending = false;
        Site site = 0;
        Clock clock;
    };

    std::optional<std::size_t> memory_of(const void* at) const;
    Undefined reason(const std::string& text, Site site);
    Buffers* buffers_at(std::size_t memory, std::uint64_t offset);
    std::string place(std::size_t memory, std::uint64_t begin, std::uint64_t end, Site* made);

    void commit();
    void record();
    bool is_owned(const Operand& operand);
    void judge_values();
    void check_defined(const Operand& operand);
    void check_written(const Operand& operand);
    void moved_in(LocalMemory& memory, const void* to, std::uintptr_t from, std::size_t bytes);
    void check_order(const Operand& operand);
    bool compiler_orders(std::size_t memory, const Conflict& conflict);
    void report_race(const Operand& operand, const Conflict& conflict);
    void spread_lanes();
    bool all_defined(const Operand& operand) const;
    void define(const Operand& operand);
    void check_leak(const Buffers& buffers);
    Finding finding(const char* kind, std::string headline, Site site) const;

    Launch* launch_ = nullptr;
    Where where_;
    std::array<LocalMemory, kMemories> memories_;
    std::vector<Buffers> buffers_;
    std::vector<Reason> reasons_;
    Pipes pipes_;
    std::map<std::tuple<Pipe, Pipe, std::int32_t>, Flag> flags_;
    std::shared_ptr<const Others> others_;
    std::map<std::uint32_t, std::uint32_t> rounds_;  // barriers passed, by scope
    std::optional<GlobalHistory> history_;
    std::optional<Trace> trace_;  // while somebody records
    std::map<std::tuple<std::string, Site, Site>, bool> seen_;
    std::vector<Finding> findings_;

    // The instruction that runs.
    std::uint32_t depth_ = 0;
    Instruction instruction_;
    Pipe pipe_ = kVectorPipe;
    std::uint32_t flow_ = MTSIM_FLOW_USES;
    std::vector<Operand> operands_;
    std::vector<Span> spans_;
    std::vector<Span> written_;  // of device memory
    std::vector<Undefined> lanes_;
};

}  // namespace mtsim::check
