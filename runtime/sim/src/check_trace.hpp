// What the cores of checked kernels did, in the order of their programs: the raw material of a profile.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "check_clock.hpp"
#include "check_report.hpp"

namespace mtsim::check {

// One core's lines, of which a launch has a number and so many blocks.
//   core LAUNCH BLOCKS BLOCK ROLE SUB_BLOCK KERNEL
//   do PIPE NAME GLOBAL_READ GLOBAL_WRITTEN LOCAL PRODUCTS BITS   an instruction: bytes, multiplications, their width
//   give PIPE KEY     what the pipe did so far is over for whoever takes the key
//   take PIPE KEY
//   meet              all pipes wait for all
//   wait PIPE OTHER   the compiler's own synchronisation
class Trace {
public:
    struct Work {
        std::uint64_t read = 0, written = 0, local = 0;
        double products = 0;
        std::uint32_t bits = 0;
    };

    Trace(const char* kernel, std::uint64_t launch, std::uint32_t blocks, const Where& where);
    void instruction(Pipe pipe, const char* name, const Work& work);
    void gives(Pipe pipe, std::uint64_t key) { add("give", pipe, key); }
    void takes(Pipe pipe, std::uint64_t key) { add("take", pipe, key); }
    void waits(Pipe pipe, Pipe other);
    void meets() { text_ += "meet\n"; }
    const std::string& text() const { return text_; }

private:
    void add(const char* what, Pipe pipe, std::uint64_t key);

    std::string text_;
};

// Those of all cores while somebody records.
class Traces {
public:
    static Traces& get();
    void start();
    std::string stop();
    bool recording() const { return recording_.load(); }
    void add(const Trace& trace);

private:
    std::atomic<bool> recording_{false};
    std::mutex mutex_;
    std::string text_;
};

}  // namespace mtsim::check
