// One local memory of a core, byte for byte: which bytes hold a value, and which pipe touched them last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "check_clock.hpp"
#include "check_site.hpp"

namespace mtsim::check {

// Why bytes hold no value: an index into the core's list of reasons; 0 is that they hold one.
using Undefined = std::uint8_t;

struct Span {
    std::uint64_t begin, bytes;
};

// What touched memory: the instructions of a core are numbered as it issues them.
struct Instruction {
    const char* name = "";
    Site site = 0;
    std::uint32_t number = 0;
};

// An access that another one meets without anything that orders the two.
struct Conflict {
    Pipe pipe;
    bool wrote;
    std::uint32_t time;
    Instruction instruction;
    std::uint64_t begin, end;  // the bytes that both touch, in the memory
};

class LocalMemory {
public:
    const char* name = "";
    std::uintptr_t base = 0;
    std::size_t size = 0;

    void start(const char* called, const void* at, std::size_t bytes, Undefined reason);
    bool holds(const void* at) const { return reinterpret_cast<std::uintptr_t>(at) - base < size; }
    std::uint64_t offset(const void* at) const { return reinterpret_cast<std::uintptr_t>(at) - base; }

    // ------------------------------------------------------------------------------------- defined or not
    Undefined state(std::uint64_t byte) const { return undefined_[byte]; }
    void set(std::uint64_t begin, std::uint64_t bytes, Undefined reason);
    void move(std::uint64_t to, const LocalMemory& from, std::uint64_t begin, std::uint64_t bytes);
    // The first byte of a range that holds no value.
    std::optional<std::uint64_t> first_undefined(std::uint64_t begin, std::uint64_t bytes) const;
    std::uint64_t undefined_run(std::uint64_t begin, std::uint64_t end) const;

    // ---------------------------------------------------------------------------------------------- races
    // Records an access, and returns what it races with: the latest one that touched the first such bytes.
    std::optional<Conflict> touch(const Pipes& pipes, Pipe pipe, bool writes, const Span& span,
                                  const Instruction& instruction);

private:
    static constexpr std::uint64_t kBlock = 32;

    struct Mark {
        std::uint32_t time = 0;
        std::uint32_t bytes = 0;  // a bit each
        Instruction instruction;

        void add(std::uint32_t now, std::uint32_t touched, const Instruction& by);
    };
    struct Cell {
        std::array<Mark, kPipes> writes, reads;
    };

    std::vector<Undefined> undefined_;
    std::vector<Cell> cells_;
};

}  // namespace mtsim::check
