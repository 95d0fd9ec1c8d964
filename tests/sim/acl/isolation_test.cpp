// Kernels in processes of their own, kernels that never end, and what is said of a host that touches device memory.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "check.hpp"
#include "scenario.hpp"

static void start() {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
}

static const char kLate[] = "aclrtSynchronizeStream: a task queued earlier failed, not this call: ";

#ifndef __SANITIZE_THREAD__  // it does not support threads that start in the child of a threaded process
// The message of the failure that the next synchronisation reports.
static std::string failure_of(const char* name, uint32_t blocks, mtsim_kernel_fn kernel, void* argument, int code) {
    CHECK_OK(mtsim_launch(name, blocks, nullptr, kernel, &argument, sizeof argument));
    CHECK_EQ(aclrtSynchronizeStream(nullptr), code);
    return aclGetRecentErrMsg();
}

static char* kernel_address(void* device) { return static_cast<char*>(mtsim_kernel_alias(device)); }

SCENARIO(crashes_are_survived) {
    start();
    void* memory = upload(std::vector<char>(100));
    const auto null = [](const void*) { *static_cast<volatile int*>(nullptr) = 1; };
    CHECK_EQ(failure_of("null", 1, null, memory, 507035),
             std::string(kLate) + "kernel null, block 0 of 1: crashed with SIGSEGV at 0x0, which is no pointer");
    const auto far = [](const void* raw) {  // into the guard page, which no allocation has
        char* memory = kernel_address(*static_cast<void* const*>(raw));
        if (mtsim_block_idx() == 2) {
            *static_cast<volatile char*>(*static_cast<char* const*>(raw)) = 1;  // never translated
        }
        memory[mtsim_block_idx()] = 7;
    };
    CHECK_EQ(failure_of("far", 3, far, memory, 507035),
             std::string(kLate) + text("kernel far, block 2 of 3: crashed with SIGSEGV at %p of device 0, byte 0 of an "
                                       "allocation of 100 bytes", memory));
    // Blocks that ran before the crash wrote to memory that this process has too.
    CHECK(download(static_cast<char*>(memory), 3) == (std::vector<char>{7, 7, 0}));
    const auto aborts = [](const void*) { std::abort(); };
    CHECK_EQ(failure_of("aborts", 1, aborts, memory, 507035),
             std::string(kLate) + "kernel aborts, block 0 of 1: crashed with SIGABRT");
    const auto leaves = [](const void*) { std::_Exit(3); };
    CHECK_EQ(failure_of("leaves", 1, leaves, memory, 507035),
             std::string(kLate) + "kernel leaves: ended its process with status 3");
    const auto killed = [](const void*) { raise(SIGKILL); };
    CHECK_EQ(failure_of("killed", 1, killed, memory, 507035), std::string(kLate) + "kernel killed: was killed by Killed");
    const auto throws = [](const void*) { throw std::runtime_error("no such tile"); };
    CHECK_EQ(failure_of("throws", 2, throws, memory, 507035),
             std::string(kLate) + "kernel throws, block 0 of 2: no such tile");
    const auto recurses = [](const void*) {
        struct Deep {
            static int down(int level) {
                volatile char room[4096] = {static_cast<char>(level)};
                return level < 0 ? 0 : room[0] + down(level + 1) + room[1];
            }
        };
        mtsim_kernel_fault(0, Deep::down(0) > 0 ? "deep" : "deeper");
    };
    const std::string overflow = failure_of("recurses", 1, recurses, memory, 507035);
    CHECK_EQ(overflow.substr(0, std::strlen(kLate) + 54),
             std::string(kLate) + "kernel recurses, block 0 of 1: crashed with SIGSEGV at");
    CHECK_OK(aclrtSynchronizeDevice());
    return 0;
}

// Writes a byte so far behind the memory that it is given.
template <std::size_t distance>
static void writes_behind(const void* raw) {
    static_cast<volatile char*>(kernel_address(*static_cast<void* const*>(raw)))[distance] = 1;
}

SCENARIO(overruns_are_found) {
    start();
    void* memory = upload(std::vector<char>(5000));
    void* neighbour = upload(std::vector<char>(64));
    const std::string behind = std::string(kLate) + "kernel %s: wrote past the end of an allocation of 5000 bytes of "
                                                    "device 0";
    for (int round = 0; round < 2; ++round) {  // what one kernel did is not the next one's fault
        CHECK_EQ(failure_of("near", 2, writes_behind<5024>, memory, 507035), text(behind.c_str(), "near"));
        CHECK_EQ(failure_of("within", 2, writes_behind<4999>, memory, 0), "");
        CHECK_EQ(failure_of("padding", 2, writes_behind<5023>, memory, 0), "");  // a block of 32 bytes, as copies fill up
        CHECK_EQ(failure_of("last", 2, writes_behind<8191>, memory, 507035), text(behind.c_str(), "last"));
        const std::string far = failure_of("far", 1, writes_behind<8192>, memory, 507035);
        CHECK(far.find("kernel far, block 0 of 1: crashed with SIGSEGV at") != std::string::npos);
        CHECK(far.find(", 3192 bytes after the end of an allocation of 5000 bytes") != std::string::npos);
    }
    CHECK_EQ(download(static_cast<char*>(neighbour), 1)[0], 0);
    CHECK_OK(aclrtFree(memory));
    CHECK_EQ(failure_of("gone", 1, writes_behind<0>, neighbour, 0), "");
    return 0;
}

SCENARIO(isolated_kernels_work) {
    start();
    int* values = upload(std::vector<int>(8, 1));
    const auto adds = [](const void* raw) {
        int* memory = reinterpret_cast<int*>(kernel_address(*static_cast<void* const*>(raw)));
        memory[mtsim_block_idx()] += static_cast<int>(mtsim_block_idx());
    };
    void* argument = values;
    for (int i = 0; i < 10; ++i) {
        CHECK_OK(mtsim_launch("adds", 8, nullptr, adds, &argument, sizeof argument));
    }
    const auto meets = [](const void* raw) {
        int* memory = reinterpret_cast<int*>(kernel_address(*static_cast<void* const*>(raw)));
        const uint32_t own = mtsim_block_idx();
        memory[own] = static_cast<int>(own);
        mtsim_block_barrier();
        const int next = memory[(own + 1) % mtsim_block_num()];
        mtsim_block_barrier();
        memory[own] = next;
    };
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    CHECK_EQ(download(values, 8)[3], 31);
    CHECK_OK(mtsim_launch_concurrent("meets", 8, nullptr, meets, &argument, sizeof argument));
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    CHECK_EQ(download(values, 8)[7], 0);
    CHECK_EQ(download(values, 8)[2], 3);
    return 0;
}

SCENARIO(an_isolated_kernel_that_never_ends_is_killed) {
    start();
    const auto loops = [](const void*) {
        while (true) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    };
    CHECK_EQ(failure_of("loops", 1, loops, nullptr, 507034),
             std::string(kLate) + "kernel loops: still running after 1 s: a flag that nobody sets, or a loop without an "
                                  "end (MINDTORCH_SIM_TIMEOUT is the limit in seconds, 0 for none)");
    CHECK_OK(mtsim_launch("fine", 1, nullptr, [](const void*) {}, nullptr, 0));
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    return 0;
}

TEST(writes_behind_memory_are_found) {
    CHECK_EQ(run_scenario("overruns_are_found", "MINDTORCH_SIM_ISOLATE"), 0);
}

TEST(a_kernel_may_do_what_it_wants_in_a_process_of_its_own) {
    CHECK_EQ(run_scenario("crashes_are_survived", "MINDTORCH_SIM_ISOLATE", "1"), 0);
    CHECK_EQ(run_scenario("isolated_kernels_work", "MINDTORCH_SIM_ISOLATE", "1"), 0);
    setenv("MINDTORCH_SIM_TIMEOUT", "1", 1);
    CHECK_EQ(run_scenario("an_isolated_kernel_that_never_ends_is_killed", "MINDTORCH_SIM_ISOLATE", "1"), 0);
    unsetenv("MINDTORCH_SIM_TIMEOUT");
}
#endif

SCENARIO(a_kernel_never_ends) {
    start();
    static std::atomic<bool> release{false};
    aclrtStream stuck = nullptr, other = nullptr;
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateStream(&stuck));
    CHECK_OK(aclrtCreateStream(&other));
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    const auto loops = [](const void*) {
        while (!release) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    };
    CHECK_OK(mtsim_launch("loops", 2, stuck, loops, nullptr, 0));
    CHECK_OK(mtsim_launch("dropped", 1, stuck, [](const void*) { std::_Exit(9); }, nullptr, 0));
    CHECK_OK(aclrtRecordEvent(event, stuck));
    CHECK_OK(aclrtStreamWaitEvent(other, event));
    const std::string why =
        "kernel loops: still running after 1 s: a flag that nobody sets, or a loop without an end "
        "(MINDTORCH_SIM_TIMEOUT is the limit in seconds, 0 for none)";
    CHECK_FAILS(aclrtSynchronizeStream(stuck), 507034, std::string(kLate) + why);
    CHECK_OK(aclrtSynchronizeStream(other));  // nobody waits for it any more
    CHECK_FAILS(mtsim_launch("late", 1, stuck, loops, nullptr, 0), 507034,
                "mtsim_launch: the stream stopped on an earlier failure: " + why);
    CHECK_OK(mtsim_launch("fine", 4, other, [](const void*) {}, nullptr, 0));
    CHECK_OK(aclrtSynchronizeStream(other));
    CHECK_OK(aclrtDestroyStream(stuck));
    release = true;  // it comes back, to a stream that is gone
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return 0;
}

TEST(those_who_wait_for_a_kernel_that_never_ends_are_told) {
    CHECK_EQ(run_scenario("a_kernel_never_ends", "MINDTORCH_SIM_TIMEOUT", "1"), 0);
}

// Leaves in two files what it expects to be told on stderr, and what it was told before it ended by SIGSEGV.
static void touch(std::ptrdiff_t offset, const char* where) {
    start();
    char* memory = upload(std::vector<char>(100)) + offset;
    std::ofstream(std::string(std::getenv("MTSIM_WORDS")) + ".expected")
        << text("simulated NPU: the host touched device memory at %p of device 0, %s. Copy it with aclrtMemcpy (or "
                "`tensor.cpu()`); in a kernel, read addresses that are found in memory through "
                "GlobalTensor::SetGlobalBuffer.\n", static_cast<void*>(memory), where);
    std::freopen(std::getenv("MTSIM_WORDS"), "w", stderr);
    *static_cast<volatile char*>(memory) = 1;
}

SCENARIO(the_host_writes_into_device_memory) {
    touch(5, "byte 5 of an allocation of 100 bytes");
    return 0;
}

SCENARIO(the_host_writes_behind_device_memory) {
    touch(300, "200 bytes after the end of an allocation of 100 bytes");
    return 0;
}

static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(a_host_that_touches_device_memory_is_told) {
    char path[] = "/tmp/mtsim-words-XXXXXX";
    close(mkstemp(path));
    for (const char* name : {"the_host_writes_into_device_memory", "the_host_writes_behind_device_memory"}) {
        CHECK(run_scenario(name, "MTSIM_WORDS", path) != 0);
        const std::string expected = content(std::string(path) + ".expected");
        CHECK(!expected.empty());
        CHECK_EQ(content(path).substr(0, expected.size()), expected);
    }
    unlink((std::string(path) + ".expected").c_str());
    unlink(path);
}
