#include "check_trace.hpp"

#include <utility>

#include "error.hpp"

namespace mtsim::check {

Trace::Trace(const char* kernel, std::uint64_t launch, std::uint32_t blocks, const Where& where) {
    text_ = format("core %llu %u %u %u %u %s\n", static_cast<unsigned long long>(launch), blocks, where.block,
                   static_cast<unsigned>(where.role), where.sub_block, kernel);
}

void Trace::instruction(Pipe pipe, const char* name, const Work& work) {
    text_ += format("do %s %s %llu %llu %llu %.0f %u\n", name_of(pipe), name,
                    static_cast<unsigned long long>(work.read), static_cast<unsigned long long>(work.written),
                    static_cast<unsigned long long>(work.local), work.products, work.bits);
}

void Trace::waits(Pipe pipe, Pipe other) { text_ += format("wait %s %s\n", name_of(pipe), name_of(other)); }

void Trace::add(const char* what, Pipe pipe, std::uint64_t key) {
    text_ += format("%s %s %llu\n", what, name_of(pipe), static_cast<unsigned long long>(key));
}

Traces& Traces::get() {
    static Traces* const traces = new Traces;  // threads may outlive static destruction
    return *traces;
}

void Traces::start() {
    const std::lock_guard<std::mutex> lock(mutex_);
    text_.clear();
    recording_.store(true);
}

std::string Traces::stop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    recording_.store(false);
    return std::exchange(text_, {});
}

void Traces::add(const Trace& trace) {
    const std::lock_guard<std::mutex> lock(mutex_);
    text_ += trace.text();
}

}  // namespace mtsim::check
