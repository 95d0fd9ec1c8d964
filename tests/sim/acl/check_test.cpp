// The checker's C functions, called as a checked kernel calls them.
#include <array>
#include <string>

#include "check.hpp"
#include "mtsim_check.h"
#include "scenario.hpp"

namespace {

constexpr uint32_t kScalar = 0, kVector = 1, kMte2 = 4, kMte3 = 5;  // pipe_t
alignas(32) thread_local std::array<unsigned char, 4096> local;       // a core's memory

// The core of a block, for as long as it runs.
struct Core {
    explicit Core(void* launch = mtsim_check_launch(), uint32_t role = 0, uint32_t sub_block = 0) {
        mtsim_check_begin_core(launch, mtsim_block_idx(), role, sub_block, nullptr);
        mtsim_check_memory(0, "unified buffer", local.data(), local.size());
    }
    ~Core() { mtsim_check_end_core(0); }
};

void touch(uint32_t pipe, uint32_t access, const void* base, uint64_t bytes, const char* name = "Touch") {
    const mtsim_span span{0, bytes};
    mtsim_check_begin(name, pipe, MTSIM_FLOW_USES, nullptr);
    mtsim_check_operand(name, "x", access, 8, base, &span, 1, nullptr);
    mtsim_check_end(0);
}

// What the checker says of a kernel, without the lines' places; empty where it finds nothing.
std::string findings(uint32_t blocks, void (*kernel)(void*), void* argument = nullptr, bool together = false) {
    struct Call {
        void (*kernel)(void*);
        void* argument;
    } const call{kernel, argument};
    const auto body = [](const void* raw) {
        const auto* own = static_cast<const Call*>(raw);
        own->kernel(own->argument);
    };
    CHECK_OK((together ? mtsim_launch_concurrent : mtsim_launch)("checked", blocks, nullptr, body, &call, sizeof call));
    const aclError code = aclrtSynchronizeStream(nullptr);
    const std::string text = aclGetRecentErrMsg();
    if (code == ACL_SUCCESS) {
        return {};
    }
    std::string headlines;
    for (std::size_t at = text.find("error["); at != std::string::npos; at = text.find("error[", at + 1)) {
        headlines += text.substr(at, text.find('\n', at) - at) + "\n";
    }
    return text.find("MINDTORCH_SIM_CHECK") == std::string::npos ? text : headlines;
}

template <class T>
T* alias(T* device) {
    return static_cast<T*>(mtsim_kernel_alias(device));
}

}  // namespace

TEST(calls_outside_of_a_kernel_do_nothing) {
    CHECK_EQ(mtsim_check_launch(), static_cast<void*>(nullptr));
    mtsim_check_begin_core(nullptr, 0, 0, 0, nullptr);
    touch(kVector, MTSIM_WRITES, local.data(), 32);
    mtsim_check_set_flag(kMte2, kVector, 0, nullptr);
    mtsim_check_barrier();
    mtsim_check_end_core(0);
}

TEST(a_kernel_that_is_not_checked_reports_nothing) { CHECK_EQ(findings(4, [](void*) {}), ""); }

TEST(bytes_hold_a_value_once_they_are_written) {
    CHECK_EQ(findings(1, [](void*) {
        Core core;
        touch(kVector, MTSIM_WRITES, local.data(), 100);
        touch(kVector, MTSIM_READS, local.data(), 100);
    }), "");
    CHECK_EQ(findings(1, [](void*) {
        Core core;
        touch(kVector, MTSIM_WRITES, local.data(), 100);
        touch(kVector, MTSIM_READS, local.data(), 101);
    }), "error[uninitialised]: Touch uses bytes of x that hold no value\n");
}

TEST(undefined_values_go_through_lanes_and_moves) {
    const auto kernel = [](void* raw) {
        Core core;
        const bool uses_the_hole = raw != nullptr;
        unsigned char *from = local.data(), *to = local.data() + 512, *moved = local.data() + 1024;
        touch(kVector, MTSIM_WRITES, from, 64);
        const mtsim_span floats{0, 256}, halves{0, 128};  // 64 elements, of which 16 hold a value
        mtsim_check_begin("Narrow", kVector, MTSIM_FLOW_LANES, nullptr);
        mtsim_check_operand("Narrow", "dst", MTSIM_WRITES, 16, to, &halves, 1, nullptr);
        mtsim_check_operand("Narrow", "src", MTSIM_READS, 32, from, &floats, 1, nullptr);
        mtsim_check_end(0);
        mtsim_check_moved(moved, to, 128);
        touch(kVector, MTSIM_READS, moved, uses_the_hole ? 33 : 32);
    };
    CHECK_EQ(findings(1, kernel), "");
    CHECK_EQ(findings(1, kernel, local.data()), "error[uninitialised]: Touch uses bytes of x that hold no value\n");
}

TEST(an_instruction_that_was_not_executed_changes_nothing) {
    CHECK_EQ(findings(1, [](void*) {
        Core core;
        const mtsim_span span{0, 32};
        mtsim_check_begin("Thrown", kVector, MTSIM_FLOW_USES, nullptr);
        mtsim_check_operand("Thrown", "dst", MTSIM_WRITES, 8, local.data(), &span, 1, nullptr);
        mtsim_check_end(1);
        touch(kVector, MTSIM_READS, local.data(), 32);
    }), "error[uninitialised]: Touch uses bytes of x that hold no value\n");
}

TEST(flags_order_pipes_and_what_they_waited_for) {
    const auto kernel = [](void* raw) {
        Core core;
        touch(kMte2, MTSIM_WRITES, local.data(), 64, "Load");
        mtsim_check_set_flag(kMte2, kVector, 0, nullptr);
        mtsim_check_wait_flag(kMte2, kVector, 0, nullptr);
        if (raw == nullptr) {  // MTE3 learns of MTE2 through V
            mtsim_check_set_flag(kVector, kMte3, 0, nullptr);
            mtsim_check_wait_flag(kVector, kMte3, 0, nullptr);
        }
        touch(kMte3, MTSIM_READS, local.data(), 64, "Store");
    };
    CHECK_EQ(findings(1, kernel), "");
    CHECK_EQ(findings(1, kernel, local.data()),
             "error[race]: Store reads what Load on another pipe may still be writing\n");
}

TEST(pipes_may_share_a_block_of_32_bytes) {
    CHECK_EQ(findings(1, [](void*) {
        Core core;
        touch(kVector, MTSIM_WRITES, local.data(), 4);
        touch(kScalar, MTSIM_WRITES, local.data() + 4, 28);
        mtsim_check_barrier();
        touch(kMte3, MTSIM_READS, local.data(), 32);
    }), "");
}

TEST(a_core_forgets_what_ran_before_it) {
    for (int launch = 0; launch < 3; ++launch) {
        CHECK_EQ(findings(1, [](void* raw) {
            Core core;
            touch(raw == nullptr ? kVector : kMte2, MTSIM_WRITES, local.data(), 64);
        }, launch % 2 == 0 ? nullptr : local.data()), "");
    }
}

TEST(queues_order_pipes_and_own_their_buffers) {
    const auto kernel = [](void* raw) {
        Core core;
        mtsim_check_buffers(local.data(), 2, 64, 1, kMte2, kVector, nullptr);
        unsigned char* buffer = local.data() + 64;
        for (int round = 0; round < 3; ++round) {
            mtsim_check_queue(MTSIM_ALLOC, buffer, 0xFF, 0xFF, nullptr);
            touch(kMte2, MTSIM_WRITES, buffer, 64, "Load");
            mtsim_check_queue(MTSIM_ENQUE, buffer, 0xFF, 0xFF, nullptr);
            mtsim_check_queue(MTSIM_DEQUE, buffer, 0xFF, 0xFF, nullptr);
            touch(kVector, MTSIM_READS, buffer, 64, "Use");
            if (round < 2 || raw == nullptr) {
                mtsim_check_queue(MTSIM_FREE, buffer, 0xFF, 0xFF, nullptr);
            }
        }
        if (raw == nullptr) {
            return;
        }
        touch(kVector, MTSIM_READS, local.data(), 1, "Stray");
    };
    CHECK_EQ(findings(1, kernel), "");
    CHECK_EQ(findings(1, kernel, local.data()),
             "error[freed]: Stray reads a tensor that AllocTensor has not given out\n"
             "error[uninitialised]: Stray uses bytes of x that hold no value\n");
}

// A kernel whose queue has one buffer, of which it does so many steps: AllocTensor, EnQue, DeQue, FreeTensor.
static std::string findings_after(std::intptr_t steps) {
    return findings(1, [](void* raw) {
        Core core;
        mtsim_check_buffers(local.data(), 1, 64, 1, kMte2, kVector, nullptr);
        const std::array<uint32_t, 4> life{MTSIM_ALLOC, MTSIM_ENQUE, MTSIM_DEQUE, MTSIM_FREE};
        for (std::intptr_t step = 0; step < reinterpret_cast<std::intptr_t>(raw); ++step) {
            mtsim_check_queue(life[static_cast<std::size_t>(step)], local.data(), 0xFF, 0xFF, nullptr);
        }
    }, reinterpret_cast<void*>(steps));
}

// Whether a tensor that is never freed fails its launch; one that stays in its queue always does.
static bool leaks_are_mistakes() {
    const std::string leak = "error[leak]: a tensor is never freed\n";
    CHECK_EQ(findings_after(0), "");
    CHECK_EQ(findings_after(2), "error[leak]: a tensor is still in its queue when the kernel ends\n");
    CHECK_EQ(findings_after(4), "");
    const std::string allocated = findings_after(1);
    CHECK(allocated.empty() || allocated == leak);
    CHECK_EQ(findings_after(3), allocated);
    CHECK_EQ(findings_after(3), allocated);  // whether it was told before or not
    return !allocated.empty();
}

SCENARIO(leaks) {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    return leaks_are_mistakes() ? 4 : 3;
}

TEST(a_tensor_that_is_never_freed_is_a_note) {
    CHECK(!leaks_are_mistakes());
    CHECK_EQ(WEXITSTATUS(run_scenario("leaks", "MINDTORCH_SIM_CHECK_LEAKS", "0")), 3);
}

TEST(a_tensor_that_is_never_freed_is_a_mistake_where_this_is_asked_for) {
    CHECK_EQ(WEXITSTATUS(run_scenario("leaks", "MINDTORCH_SIM_CHECK_LEAKS", "1")), 4);
}

TEST(blocks_race_for_device_memory_in_any_order_of_running) {
    float* memory = upload(std::vector<float>(256));
    const auto kernel = [](void* raw) {
        Core core;
        touch(kMte3, MTSIM_WRITES, static_cast<float*>(raw) + mtsim_block_idx(), 8);
    };
    const auto apart = [](void* raw) {
        Core core;
        touch(kMte3, MTSIM_WRITES, static_cast<float*>(raw) + 2 * mtsim_block_idx(), 8);
    };
    const auto adding = [](void* raw) {
        Core core;
        touch(kMte3, MTSIM_ATOMIC, raw, 8);
    };
    const std::string race = "error[race]: Touch writes global memory that Touch of another core writes too, in no "
                             "order\n";
    for (int launch = 0; launch < 5; ++launch) {
        CHECK_EQ(findings(100, kernel, alias(memory)), race);
        CHECK_EQ(findings(100, apart, alias(memory)), "");
        CHECK_EQ(findings(100, adding, alias(memory)), "");
    }
}

TEST(barriers_and_signals_order_cores) {
    float* memory = upload(std::vector<float>(256));
    const auto neighbours = [](void* raw) {
        Core core;
        float* words = static_cast<float*>(raw);
        touch(kScalar, MTSIM_WRITES, words + mtsim_block_idx(), 4);
        mtsim_check_arrive(0);
        mtsim_block_barrier();
        mtsim_check_leave(0);
        touch(kScalar, MTSIM_READS, words + (mtsim_block_idx() + 1) % mtsim_block_num(), 4);
    };
    CHECK_EQ(findings(16, neighbours, alias(memory), true), "");
    const auto signalled = [](void* raw) {
        Core core;
        if (mtsim_block_idx() == 0) {
            touch(kScalar, MTSIM_WRITES, raw, 4);
            mtsim_check_signal(7, 0xFF);
        }
        mtsim_block_barrier();  // which the checker does not hear of
        if (mtsim_block_idx() == 1) {
            mtsim_check_await(7);
        }
        if (mtsim_block_idx() > 0) {
            touch(kScalar, MTSIM_READS, raw, 4);
        }
    };
    CHECK_EQ(findings(2, signalled, alias(memory), true), "");
    CHECK_EQ(findings(3, signalled, alias(memory), true),
             "error[race]: Touch reads global memory that Touch of another core writes too, in no order\n");
}

TEST(device_memory_is_unwritten_until_it_is_written) {
    const auto reads = [](void* raw) {
        Core core;
        touch(kScalar, MTSIM_READS, raw, 64);
    };
    const auto writes = [](void* raw) {
        Core core;
        static_cast<char*>(raw)[63] = 1;
        touch(kMte3, MTSIM_WRITES, raw, 64);
    };
    const std::string unwritten = "error[uninitialised]: Touch uses device memory that nobody has written\n";
    void* memory = nullptr;
    CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_EQ(findings(1, reads, alias(memory)), unwritten);
    CHECK_OK(aclrtMemset(memory, 64, 0, 63));
    CHECK_EQ(findings(1, reads, alias(memory)), unwritten);
    CHECK_EQ(findings(1, writes, alias(memory)), "");
    CHECK_EQ(findings(1, reads, alias(memory)), "");
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_EQ(findings(1, reads, alias(memory)), unwritten);
}

TEST(a_report_names_the_source_line) {
    constexpr int kLine = __LINE__ + 3;
    const auto kernel = [](const void*) {
        Core core(mtsim_check_launch(), 2, 1);
        mtsim_check_found("kind", ACL_ERROR_RT_VECTOR_CORE_TIMEOUT, "a message", "some help", nullptr);
    };
    CHECK_OK(mtsim_launch("named", 2, nullptr, kernel, nullptr, 0));
    CHECK_EQ(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_VECTOR_CORE_TIMEOUT);
    const std::string report = aclGetRecentErrMsg();
    const std::string expected = text(
        "aclrtSynchronizeStream: a task queued earlier failed, not this call: MINDTORCH_SIM_CHECK found 1 mistake in "
        "kernel named:\n\n%s:%d: error[kind]: a message\n    |\n%d |   mtsim_check_found(\"kind\", "
        "ACL_ERROR_RT_VECTOR_CORE_TIMEOUT, \"a message\", \"some help\", nullptr);\n    |\n"
        "    = in kernel named, block 0 of 2, vector core 1, and in 1 other core\n    = help: some help",
        __FILE__, kLine, kLine);
    CHECK_EQ(report, expected);
}

TEST(launches_on_several_streams_are_told_apart) {
    std::array<aclrtStream, 4> streams{};
    for (aclrtStream& stream : streams) {
        CHECK_OK(aclrtCreateStream(&stream));
    }
    for (int round = 0; round < 20; ++round) {
        for (std::size_t i = 0; i < streams.size(); ++i) {
            const bool wrong = i % 2 == 1;
            CHECK_OK(mtsim_launch(wrong ? "wrong" : "right", 8, streams[i], [](const void* raw) {
                Core core;
                if (!*static_cast<const bool*>(raw)) {
                    touch(kVector, MTSIM_WRITES, local.data(), 64);
                }
                touch(kVector, MTSIM_READS, local.data(), 64);
            }, &wrong, sizeof wrong));
        }
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
        const aclError code = aclrtSynchronizeStream(streams[i]);
        CHECK_EQ(code, i % 2 == 1 ? ACL_ERROR_RT_VECTOR_CORE_EXCEPTION : ACL_SUCCESS);
        CHECK_OK(aclrtDestroyStream(streams[i]));
    }
}
