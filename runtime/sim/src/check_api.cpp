// The checker's C functions: calls from kernels, turned into calls of the core that the thread runs.
#include <algorithm>
#include <cstring>
#include <string>

#include "address.hpp"
#include "check_core.hpp"
#include "error.hpp"
#include "mtsim.h"
#include "runtime.hpp"

using namespace mtsim::check;

// The place of the call: this function must be the one that the kernel called.
#define MTSIM_HERE site_of(__builtin_return_address(0), frame)

namespace {

std::optional<Pipe> some_pipe(std::uint32_t number) {
    return number == kAllPipes ? std::nullopt : std::optional(pipe_of(number));
}

Finding make_finding(const char* kind, std::uint32_t code, const char* message, const char* help, Site site) {
    Finding finding;
    finding.kind = kind;
    finding.code = static_cast<aclError>(code);
    finding.headline = message;
    finding.help = help;
    finding.site = site;
    return finding;
}

}  // namespace

void mtsim_check_begin_core(void* launch, uint32_t block, uint32_t role, uint32_t sub_block, const char* headers) {
    if (launch == nullptr) {
        return;
    }
    auto* checked = static_cast<Launch*>(launch);
    if (headers != nullptr) {
        const std::string path = headers;
        const std::size_t folder = path.rfind('/');
        checked->hide(path.substr(0, folder == std::string::npos ? 0 : path.rfind('/', folder - 1) + 1));
    }
    Core::begin(checked, Where{block, static_cast<Where::Role>(role), sub_block});
}

void mtsim_check_end_core(int faulted) {
    if (Core* core = Core::running()) {
        core->end(faulted != 0);
    }
}

void mtsim_check_memory(uint32_t kind, const char* name, const void* base, size_t bytes) {
    if (Core* core = Core::running(); core != nullptr && kind < kMemories) {
        core->add_memory(kind, name, base, bytes);
    }
}

void mtsim_check_begin(const char* name, uint32_t pipe, uint32_t flow, const void* frame) {
    if (Core* core = Core::running()) {
        core->begin_instruction(name, pipe_of(pipe), flow, core->in_instruction() ? 0 : MTSIM_HERE);
    }
}

void mtsim_check_end(int discard) {
    if (Core* core = Core::running()) {
        core->end_instruction(discard != 0);
    }
}

void mtsim_check_operand(const char* instruction, const char* operand, uint32_t access, uint32_t element_bits,
                         const void* base, const mtsim_span* spans, size_t count, const void* frame) {
    Core* core = Core::running();
    if (core == nullptr) {
        return;
    }
    const bool alone = !core->in_instruction();
    if (alone) {
        core->begin_instruction(instruction, kVectorPipe, MTSIM_FLOW_USES, MTSIM_HERE);
    }
    core->operand(operand, access, element_bits, base, spans, count);
    if (alone) {
        core->end_instruction(false);
    }
}

int mtsim_check_pointer(const void* at, size_t bytes, uint32_t access, const void* frame) {
    Core* core = Core::running();
    if (core == nullptr || core->in_instruction() || mtsim::is_accessible(at, bytes)) {
        return 1;
    }
    char where[256];
    mtsim::describe_address(at, where, sizeof where);
    const std::string message = mtsim::format("a plain pointer %s %zu byte%s at %s",
                                              (access & MTSIM_WRITES) != 0 ? "writes" : "reads", bytes,
                                              bytes == 1 ? "" : "s", where);
    core->fault(make_finding("out-of-range", ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, message.c_str(), "", MTSIM_HERE),
                nullptr);
    return 0;
}

void mtsim_check_window(uintptr_t* begin, uintptr_t* bytes) {
    std::uintptr_t first = UINTPTR_MAX, last = 0;
    for (const auto& device : mtsim::Runtime::get().devices) {
        const auto start = reinterpret_cast<std::uintptr_t>(device->memory.kernel_begin());
        first = std::min(first, start);
        last = std::max(last, start + device->memory.span());
    }
    *begin = first;
    *bytes = last - first;
}

void mtsim_check_moved(const void* to, const void* from, size_t bytes) {
    if (Core* core = Core::running()) {
        core->moved(to, from, bytes);
    }
}

void mtsim_check_chosen(const void* to, const void* from, size_t bytes, const void* bits) {
    if (Core* core = Core::running()) {
        core->chosen(to, from, bytes, bits);
    }
}

void mtsim_check_undefined(const void* at, size_t bytes, const char* why, const void* frame) {
    if (Core* core = Core::running()) {
        core->undefined(at, bytes, why, MTSIM_HERE);
    }
}

void mtsim_check_explain(const void* at, size_t bytes, const char* why, const void* frame) {
    if (Core* core = Core::running()) {
        core->explain(at, bytes, why, MTSIM_HERE);
    }
}

void mtsim_check_found(const char* kind, uint32_t code, const char* message, const char* help, const void* frame) {
    if (Core* core = Core::running()) {
        core->found(make_finding(kind, code, message, help, MTSIM_HERE));
    }
}

void mtsim_check_fault(const char* kind, uint32_t code, const char* message, const void* subject, const void* frame) {
    if (Core* core = Core::running()) {
        core->fault(make_finding(kind, code, message, "", MTSIM_HERE), subject);
    } else {
        mtsim_kernel_fault(code, message);
    }
}

void mtsim_check_buffers(const void* begin, uint32_t count, uint32_t bytes, int queued, uint32_t producer,
                         uint32_t consumer, const void* frame) {
    if (Core* core = Core::running()) {
        core->add_buffers(begin, count, bytes, queued != 0, pipe_of(producer), pipe_of(consumer), MTSIM_HERE);
    }
}

void mtsim_check_no_buffers(void) {
    if (Core* core = Core::running()) {
        core->forget_buffers();
    }
}

void mtsim_check_forget_buffers(const void* begin, size_t bytes) {
    if (Core* core = Core::running()) {
        core->forget_buffers(begin, bytes);
    }
}

void mtsim_check_queue(uint32_t step, const void* buffer, uint32_t producer, uint32_t consumer, const void* frame) {
    if (Core* core = Core::running()) {
        core->step(step, buffer, some_pipe(producer), some_pipe(consumer), MTSIM_HERE);
    }
}

void mtsim_check_set_flag(uint32_t from, uint32_t to, int32_t id, const void* frame) {
    if (Core* core = Core::running()) {
        core->set_flag(pipe_of(from), pipe_of(to), id, MTSIM_HERE);
    }
}

void mtsim_check_wait_flag(uint32_t from, uint32_t to, int32_t id, const void*) {
    if (Core* core = Core::running()) {
        core->wait_flag(pipe_of(from), pipe_of(to), id);
    }
}

void mtsim_check_barrier(void) {
    if (Core* core = Core::running()) {
        core->barrier();
    }
}

void mtsim_check_signal(uint64_t key, uint32_t pipe) {
    if (Core* core = Core::running()) {
        core->signal(key, some_pipe(pipe));
    }
}

void mtsim_check_await(uint64_t key) {
    if (Core* core = Core::running()) {
        core->await(key);
    }
}

void mtsim_check_arrive(uint32_t scope) {
    if (Core* core = Core::running()) {
        core->arrive(scope);
    }
}

void mtsim_check_leave(uint32_t scope) {
    if (Core* core = Core::running()) {
        core->leave(scope);
    }
}

void mtsim_trace_start(void) { Traces::get().start(); }

char* mtsim_trace_stop(void) { return strdup(Traces::get().stop().c_str()); }
