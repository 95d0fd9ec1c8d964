#include "isolation.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

#include "address.hpp"
#include "error.hpp"
#include "runtime.hpp"

namespace mtsim {
namespace {

struct Signal {
    int number;
    const char* name;
};
constexpr Signal kSignals[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}};
constexpr std::size_t kSignalStack = std::size_t{64} << 10;

// In memory that parent and child share.
struct Report {
    enum State : int { kRunning, kWriting, kFault, kDone };
    std::atomic<int> state{kRunning};
    aclError code = ACL_SUCCESS;
    char message[std::size_t{32} << 10] = {};  // room for what the checker has to tell

    // The first to come is the one that counts.
    void write(aclError fault, const char* text) {
        int expected = kRunning;
        if (state.compare_exchange_strong(expected, kWriting)) {
            code = fault;
            std::snprintf(message, sizeof message, "%s", text);
            state.store(kFault);
        }
    }
};

Report* own_report = nullptr;  // set in a child
const char* own_kernel = nullptr;
BlockPlace (*own_place)() = nullptr;

const char* signal_name(int number) {
    for (const Signal& known : kSignals) {
        if (known.number == number) {
            return known.name;
        }
    }
    return strsignal(number);
}

// On a stack of its own where the kernel's may be used up; allocates nothing.
void on_crash(int number, siginfo_t* info, void*) {
    char where[256] = "";
    if (number == SIGSEGV || number == SIGBUS) {
        describe_address(info->si_addr, where, sizeof where);
    }
    char text[448];
    const BlockPlace place = own_place();
    std::snprintf(text, sizeof text, "kernel %s, block %u of %u: crashed with %s%s%s", own_kernel, place.index,
                  place.count, signal_name(number), *where != '\0' ? " at " : "", where);
    own_report->write(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, text);
    _exit(1);
}

// A write behind an allocation that met no other page.
void tell_of_overruns() {
    for (const auto& device : Runtime::get().devices) {
        if (const std::optional<Allocation> allocation = device->memory.overrun()) {
            const std::string text = format("kernel %s: wrote past the end of an allocation of %zu bytes of device %d",
                                            own_kernel, allocation->requested, device->id);
            own_report->write(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, text.c_str());
        }
    }
}

[[noreturn]] void run_child(const std::function<void()>& blocks) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    static char stack[kSignalStack];
    const stack_t alternate{stack, 0, sizeof stack};
    sigaltstack(&alternate, nullptr);
    for (const Signal& signal : kSignals) {
        struct sigaction action {};
        action.sa_sigaction = on_crash;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaction(signal.number, &action, nullptr);
    }
    for (const auto& device : Runtime::get().devices) {
        device->memory.close_gaps();
    }
    blocks();
    tell_of_overruns();
    std::fflush(stdout);
    int running = Report::kRunning;
    own_report->state.compare_exchange_strong(running, Report::kDone);
    _exit(0);
}

// The child's wait status; nothing when it had to be killed.
std::optional<int> wait_for(pid_t child, std::chrono::seconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    auto pause = std::chrono::microseconds(20);
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (limit.count() > 0 && std::chrono::steady_clock::now() > deadline) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return std::nullopt;
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(2000));
    }
    return status;
}

std::optional<Failure> outcome(const char* kernel, const Report& report, std::optional<int> status,
                               std::chrono::seconds limit) {
    if (!status) {
        return Failure{ACL_ERROR_RT_VECTOR_CORE_TIMEOUT, describe_timeout(kernel, limit)};
    }
    if (report.state == Report::kFault) {
        return Failure{report.code, report.message};
    }
    if (report.state == Report::kDone) {
        return std::nullopt;
    }
    const std::string how = WIFSIGNALED(*status) ? format("was killed by %s", signal_name(WTERMSIG(*status)))
                                                 : format("ended its process with status %d", WEXITSTATUS(*status));
    return Failure{ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, format("kernel %s: %s", kernel, how.c_str())};
}

}  // namespace

std::optional<Failure> run_isolated(const char* kernel, std::chrono::seconds limit, BlockPlace (*place)(),
                                    const std::function<void()>& blocks) {
    void* shared = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return Failure{ACL_ERROR_RT_INTERNAL_ERROR, format("kernel %s: no memory to isolate it", kernel)};
    }
    Report* report = new (shared) Report();
    const pid_t child = Runtime::get().fork_with_memory();
    if (child == 0) {
        own_report = report;
        own_kernel = kernel;
        own_place = place;
        run_child(blocks);
    }
    std::optional<Failure> failure;
    if (child < 0) {
        failure = Failure{ACL_ERROR_RT_INTERNAL_ERROR,
                          format("kernel %s: cannot fork a process for it: %s", kernel, std::strerror(errno))};
    } else {
        failure = outcome(kernel, *report, wait_for(child, limit), limit);
    }
    munmap(shared, sizeof(Report));
    return failure;
}

bool report_to_parent(aclError code, const std::string& message) {
    if (own_report == nullptr) {
        return false;
    }
    own_report->write(code, message.c_str());
    return true;
}

}  // namespace mtsim
