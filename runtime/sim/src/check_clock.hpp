// Order between the pipes of a core and between cores, as vector clocks: an access is known to be over where the clock
// that its pipe had is known.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

namespace mtsim::check {

enum Pipe : std::uint32_t { kScalar, kVectorPipe, kMatrix, kMte1, kMte2, kMte3, kFix, kOther, kPipes };
constexpr std::uint32_t kAllPipes = 0xFF;

Pipe pipe_of(std::uint32_t number);  // of a pipe_t
const char* name_of(Pipe pipe);

// A time for each pipe of one core.
struct Clock {
    std::array<std::uint32_t, kPipes> time{};

    void join(const Clock& other) {
        for (std::size_t pipe = 0; pipe < kPipes; ++pipe) {
            time[pipe] = std::max(time[pipe], other.time[pipe]);
        }
    }
    std::uint32_t operator[](std::size_t pipe) const { return time[pipe]; }
};

// What is known of other cores, by their numbers.
struct Others {
    std::map<std::uint32_t, Clock> clocks;

    void join(const Others& other) {
        for (const auto& [core, clock] : other.clocks) {
            clocks[core].join(clock);
        }
    }
    bool knows(std::uint32_t core, Pipe pipe, std::uint32_t time) const {
        const auto found = clocks.find(core);
        return found != clocks.end() && found->second[pipe] >= time;
    }
};

// The pipes of one core: each has a time of its own, which passes when it gives a signal, and knows times of others.
class Pipes {
public:
    std::uint32_t now(Pipe pipe) const { return known_[pipe][pipe]; }
    const Clock& known(Pipe pipe) const { return known_[pipe]; }
    bool knows(Pipe reader, Pipe pipe, std::uint32_t time) const { return known_[reader][pipe] >= time; }

    // What `pipe` did so far and knows, for another to acquire.
    Clock release(Pipe pipe) {
        const Clock clock = known_[pipe];
        ++known_[pipe].time[pipe];
        return clock;
    }

    // The scalar unit issues every instruction: what it waited for is over for all that comes later.
    void acquire(Pipe pipe, const Clock& clock) {
        for (std::size_t each = 0; each < kPipes; ++each) {
            if (pipe == kScalar || each == pipe) {
                known_[each].join(clock);
            }
        }
    }

    // `pipe` counts as having waited for another up to a time: a race that was told is not told again.
    void forgive(Pipe pipe, Pipe other, std::uint32_t time) {
        Clock clock = known_[other];
        clock.time[other] = time;
        acquire(pipe, clock);
    }

    Clock release_all() {
        Clock all;
        for (std::size_t pipe = 0; pipe < kPipes; ++pipe) {
            all.join(known_[pipe]);
            ++known_[pipe].time[pipe];
        }
        return all;
    }
    void barrier() { acquire(kScalar, release_all()); }

private:
    std::array<Clock, kPipes> known_ = first_times();

    // Zero is a time before every access.
    static std::array<Clock, kPipes> first_times() {
        std::array<Clock, kPipes> clocks{};
        for (std::size_t pipe = 0; pipe < kPipes; ++pipe) {
            clocks[pipe].time[pipe] = 1;
        }
        return clocks;
    }
};

}  // namespace mtsim::check
