// Kernels: blocks, arguments, faults.
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "check.hpp"
#include "gate.hpp"

struct Fill {
    int* target;
    int value;
};

static void fill(const void* raw) {
    const auto* args = static_cast<const Fill*>(raw);
    args->target[mtsim_block_idx()] = args->value + static_cast<int>(mtsim_block_num());
}

template <class Args>
static uint32_t launch(uint32_t blocks, mtsim_kernel_fn function, const Args& args, aclrtStream stream = nullptr) {
    return mtsim_launch("kernel", blocks, stream, function, &args, sizeof args);
}

static int* alias_of(int* device) { return static_cast<int*>(mtsim_kernel_alias(device)); }

TEST(every_block_runs_once) {
    for (const uint32_t blocks : {1u, 2u, 40u, 65535u}) {
        std::vector<int> zeros(blocks);
        int* device = upload(zeros);
        CHECK_OK(launch(blocks, fill, Fill{alias_of(device), 5}));
        CHECK_OK(aclrtSynchronizeStream(nullptr));
        CHECK_EQ(download(device, blocks) == std::vector<int>(blocks, 5 + static_cast<int>(blocks)), true);
    }
    CHECK_EQ(mtsim_block_idx(), 0u);
    CHECK_EQ(mtsim_block_num(), 1u);
}

TEST(long_blocks_are_shared_between_threads_and_run_once) {
    struct Args {
        std::atomic<int>* runs;
    };
    std::array<std::atomic<int>, 64> runs{};
    const auto slow = [](const void* raw) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        ++static_cast<const Args*>(raw)->runs[mtsim_block_idx()];
    };
    for (int i = 0; i < 5; ++i) {
        CHECK_OK(launch(64, slow, Args{runs.data()}));
    }
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    for (const auto& count : runs) {
        CHECK_EQ(count.load(), 5);
    }
}

TEST(arguments_and_name_are_copied_at_launch) {
    struct Big {
        const int* last;
        int* out;
        int values[1000];
    };
    int* device = upload(std::vector<int>{0, 0});
    Big big{nullptr, alias_of(device), {}};
    big.values[999] = 42;
    char name[] = "temporary";
    Fill small{alias_of(device) + 1, 6};
    Gate gate;
    gate.block(nullptr);
    CHECK_OK(mtsim_launch(name, 1, nullptr, [](const void* raw) {
        const auto* args = static_cast<const Big*>(raw);
        CHECK_EQ(reinterpret_cast<std::uintptr_t>(raw) % 16, 0u);
        args->out[0] = args->values[999];
        mtsim_kernel_fault(507015, "look at the name");
    }, &big, sizeof big));
    CHECK_OK(launch(1, fill, small));
    std::memset(&big, 0, sizeof big);
    std::memset(name, 'x', sizeof name - 1);
    small = Fill{nullptr, 0};
    gate.open();
    CHECK_FAILS(aclrtSynchronizeStream(nullptr), 507015,
                "aclrtSynchronizeStream: a task queued earlier failed, not this call: kernel temporary, block 0 of 1: "
                "look at the name");
    CHECK_EQ(download(device, 2) == std::vector<int>({42, 7}), true);
}

TEST(arguments_and_names_of_every_length_arrive) {
    static std::vector<unsigned char> seen;
    static std::size_t bytes;
    for (bytes = 0; bytes < 400; ++bytes) {
        std::vector<unsigned char> args(bytes);
        std::iota(args.begin(), args.end(), static_cast<unsigned char>(bytes));
        const std::string name(1 + bytes % 90, static_cast<char>('a' + bytes % 26));
        CHECK_OK(mtsim_launch(name.c_str(), 1, nullptr, [](const void* raw) {
            const auto* from = static_cast<const unsigned char*>(raw);
            seen.assign(from, from + bytes);
            mtsim_kernel_fault(507015, "");
        }, args.data(), bytes));
        CHECK_FAILS(aclrtSynchronizeStream(nullptr), 507015,
                    "aclrtSynchronizeStream: a task queued earlier failed, not this call: kernel " +
                        name.substr(0, 63) + ", block 0 of 1: ");
        CHECK_EQ(seen == args, true);
    }
}

TEST(bad_launches_are_refused) {
    const auto nothing = [](const void*) {};
    CHECK_FAILS(mtsim_launch("k", 0, nullptr, nothing, nullptr, 0), 107000,
                "mtsim_launch: kernel k: argument block_dim: expected 1 to 65535, got 0");
    CHECK_FAILS(mtsim_launch("k", 65536, nullptr, nothing, nullptr, 0), 107000,
                "mtsim_launch: kernel k: argument block_dim: expected 1 to 65535, got 65536");
    CHECK_FAILS(mtsim_launch(nullptr, 1, nullptr, nothing, nullptr, 0), 107000,
                "mtsim_launch: argument name: expected an address, got NULL");
    CHECK_FAILS(mtsim_launch("k", 1, nullptr, nullptr, nullptr, 0), 107000,
                "mtsim_launch: argument fn: expected an address, got NULL");
    CHECK_FAILS(mtsim_launch("k", 1, nullptr, nothing, nullptr, 8), 107000,
                "mtsim_launch: kernel k: argument args: expected 8 bytes, got NULL");
    CHECK_EQ(mtsim_launch_concurrent("k", MTSIM_CORES + 1, nullptr, nothing, nullptr, 0), 107000u);
}

TEST(pointer_arguments_are_translated_and_checked) {
    int* device = upload(std::vector<int>(8));
    void* alias = nullptr;
    CHECK_OK(mtsim_kernel_arg("k", 0, device + 3, &alias));
    CHECK_EQ(alias, static_cast<void*>(alias_of(device) + 3));
    CHECK_OK(mtsim_kernel_arg("k", 0, nullptr, &alias));
    CHECK_EQ(alias, static_cast<void*>(nullptr));
    int local = 0;
    const std::string start = "k: argument 2: expected memory of device 0, got ";
    CHECK_FAILS(mtsim_kernel_arg("k", 2, &local, &alias), 107000, start + text("%p, which is host memory", &local));
    CHECK_OK(aclrtFree(device));
    CHECK_FAILS(mtsim_kernel_arg("k", 2, device, &alias), 107000,
                start + text("%p, which is freed or was never allocated", device));
    CHECK_OK(aclrtSetDevice(1));
    int* other = upload(std::vector<int>(1));
    CHECK_OK(aclrtSetDevice(0));
    CHECK_FAILS(mtsim_kernel_arg("k", 2, other, &alias), 107000,
                start + text("%p, which is memory of device 1", other));
    CHECK_OK(aclrtResetDevice(1));
    CHECK_OK(aclrtResetDevice(0));
}

TEST(a_fault_is_reported_once_at_a_later_synchronise) {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    int* device = upload(std::vector<int>{0, 0});
    CHECK_OK(launch(3, [](const void*) {
        if (mtsim_block_idx() == 1) {
            mtsim_kernel_fault(0, "unaligned");
            mtsim_kernel_fault(507015, "a second fault is not the cause");
        }
    }, 0, stream));
    CHECK_OK(launch(1, fill, Fill{alias_of(device), 1}, stream));  // the stream goes on
    const std::string message = "a task queued earlier failed, not this call: kernel kernel, block 1 of 3: unaligned";
    CHECK_FAILS(aclrtSynchronizeDevice(), 507035, "aclrtSynchronizeDevice: " + message);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQ(download(device, 1)[0], 2);
}

TEST(a_stream_can_stop_on_failure) {
    aclrtStream stream = nullptr;
    int* device = upload(std::vector<int>{0});
    Gate gate;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_FAILS(aclrtSetStreamFailureMode(stream, 2), 107000,
                "aclrtSetStreamFailureMode: argument mode: expected 0 (continue) or 1 (stop), got 2");
    CHECK_OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    gate.block(stream);
    CHECK_OK(launch(1, [](const void*) { mtsim_kernel_fault(507015, "stop here"); }, 0, stream));
    CHECK_OK(launch(1, fill, Fill{alias_of(device), 1}, stream));
    gate.open();
    const std::string cause = "kernel kernel, block 0 of 1: stop here";
    for (int i = 0; i < 2; ++i) {
        CHECK_FAILS(aclrtSynchronizeStream(stream), 507015,
                    "aclrtSynchronizeStream: a task queued earlier failed, not this call: " + cause);
    }
    CHECK_FAILS(launch(1, fill, Fill{alias_of(device), 1}, stream), 507015,
                "mtsim_launch: the stream stopped on an earlier failure: " + cause);
    CHECK_EQ(download(device, 1)[0], 0);
    CHECK_OK(aclrtDestroyStream(stream));
}

TEST(an_exception_that_leaves_a_kernel_is_a_fault) {
    CHECK_OK(launch(1, [](const void*) { throw std::runtime_error("too large"); }, 0));
    const std::string start = "aclrtSynchronizeStream: a task queued earlier failed, not this call: kernel kernel, ";
    CHECK_FAILS(aclrtSynchronizeStream(nullptr), 507035, start + "block 0 of 1: too large");
    CHECK_OK(launch(1, [](const void*) { throw 5; }, 0));
    CHECK_FAILS(aclrtSynchronizeStream(nullptr), 507035,
                start + "block 0 of 1: an exception of an unknown type left the kernel");
    CHECK_OK(launch(1, [](const void*) {
        mtsim_kernel_fault(507015, "the cause");
        throw 5;
    }, 0));
    CHECK_FAILS(aclrtSynchronizeStream(nullptr), 507015, start + "block 0 of 1: the cause");
}

struct Shift {
    int* from;
    int* to;
};

TEST(concurrent_blocks_can_wait_for_each_other) {
    std::vector<int> zeros(MTSIM_CORES);
    int* from = upload(zeros);
    int* to = upload(zeros);
    const Shift args{alias_of(from), alias_of(to)};
    const auto shift = [](const void* raw) {
        const auto* arrays = static_cast<const Shift*>(raw);
        const uint32_t me = mtsim_block_idx(), count = mtsim_block_num();
        for (int round = 0; round < 10; ++round) {
            arrays->from[me] = static_cast<int>(me) + round;
            mtsim_block_barrier();
            arrays->to[me] = arrays->from[(me + 1) % count];
            mtsim_block_barrier();
        }
        if (me == 0) {
            return;  // the others do not wait for a block that ended
        }
        mtsim_block_barrier();
    };
    CHECK_OK(mtsim_launch_concurrent("shift", MTSIM_CORES, nullptr, shift, &args, sizeof args));
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    std::vector<int> expected(MTSIM_CORES);
    std::iota(expected.begin(), expected.end(), 10);
    expected.back() = 9;
    CHECK_EQ(download(to, MTSIM_CORES) == expected, true);
    CHECK_OK(mtsim_launch("shift", MTSIM_CORES, nullptr, [](const void*) { mtsim_block_barrier(); }, nullptr, 0));
    CHECK_EQ(aclrtSynchronizeStream(nullptr), 507034);
}
