// Order, asynchrony, waiting and misuse of streams.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "check.hpp"
#include "gate.hpp"

static aclrtStream make_stream() {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    return stream;
}

static aclrtStreamStatus query(aclrtStream stream) {
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    CHECK_OK(aclrtStreamQuery(stream, &status));
    return status;
}

TEST(tasks_run_in_order_and_asynchronously) {
    const aclrtStream stream = make_stream();
    Gate gate;
    int* device = upload(std::vector<int>{0});
    void* pinned = nullptr;
    CHECK_OK(aclrtMallocHost(&pinned, sizeof(int)));
    gate.block(stream);
    CHECK_OK(aclrtMemsetAsync(device, 4, 1, 4, stream));
    CHECK_OK(aclrtMemcpyAsync(pinned, 4, device, 4, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK_OK(aclrtMemsetAsync(device, 4, 2, 4, stream));
    CHECK_EQ(query(stream), ACL_STREAM_STATUS_NOT_READY);
    CHECK_EQ(download(device, 1)[0], 0);  // nothing of the stream has run yet
    gate.open();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQ(query(stream), ACL_STREAM_STATUS_COMPLETE);
    CHECK_EQ(*static_cast<int*>(pinned), 0x01010101);
    CHECK_EQ(download(device, 1)[0], 0x02020202);
}

TEST(an_asynchronous_copy_from_pageable_memory_waits_its_turn) {
    const aclrtStream stream = make_stream();
    int* device = upload(std::vector<int>{0, 0});
    Gate gate;
    gate.block(stream);
    CHECK_OK(aclrtMemsetAsync(device, 8, 1, 8, stream));
    std::atomic<bool> returned{false};
    std::thread other([&] {
        CHECK_OK(aclrtSetDevice(0));
        int value = 5;
        CHECK_OK(aclrtMemcpyAsync(device, 8, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
        returned = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(!returned);
    gate.open();
    other.join();
    CHECK_EQ(download(device, 2) == std::vector<int>({5, 0x01010101}), true);
}

TEST(streams_run_beside_each_other) {
    const aclrtStream blocked = make_stream();
    Gate gate;
    gate.block(blocked);
    int* device = upload(std::vector<int>{0});
    CHECK_OK(aclrtMemsetAsync(device, 4, 3, 4, nullptr));
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    CHECK_EQ(query(blocked), ACL_STREAM_STATUS_NOT_READY);
    gate.open();
    CHECK_OK(aclrtSynchronizeDevice());
    CHECK_EQ(query(blocked), ACL_STREAM_STATUS_COMPLETE);
}

TEST(a_synchronise_can_time_out) {
    const aclrtStream stream = make_stream();
    Gate gate;
    gate.block(stream);
    CHECK_FAILS(aclrtSynchronizeStreamWithTimeout(stream, 5), 507046,
                text("aclrtSynchronizeStreamWithTimeout: stream %p has unfinished tasks after 5 ms: a kernel that does "
                     "not end, or a wait for an event that nothing records", stream));
    CHECK_FAILS(aclrtSynchronizeStreamWithTimeout(stream, 0), 107000,
                "aclrtSynchronizeStreamWithTimeout: argument timeout: expected -1 (no limit) or a positive number of "
                "milliseconds, got 0");
    gate.open();
    CHECK_OK(aclrtSynchronizeStreamWithTimeout(stream, -1));
}

TEST(destroying_a_stream_runs_what_was_queued) {
    const aclrtStream stream = make_stream();
    std::atomic<int> runs{0};
    for (int i = 0; i < 100; ++i) {
        CHECK_OK(aclrtLaunchHostFunc(stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &runs));
    }
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_EQ(runs.load(), 100);
    CHECK_FAILS(aclrtSynchronizeStream(stream), 107000,
                text("aclrtSynchronizeStream: argument stream: expected a live stream, got the stream %p, which was "
                     "destroyed", stream));
}

TEST(a_full_queue_holds_the_producer_back) {
    const aclrtStream stream = make_stream();
    Gate gate;
    std::atomic<int> runs{0};
    std::atomic<int> queued{0};
    gate.block(stream);
    std::thread producer([&] {
        CHECK_OK(aclrtSetDevice(0));
        for (int i = 0; i < 10000; ++i, ++queued) {
            CHECK_OK(aclrtLaunchHostFunc(stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &runs));
        }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(queued < 10000);
    gate.open();
    producer.join();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQ(runs.load(), 10000);
}

TEST(wrong_streams_are_refused) {
    const aclrtStream stream = make_stream();
    aclrtEvent event = nullptr;
    int local = 0;
    CHECK_OK(aclrtCreateEvent(&event));
    const std::string start = "aclrtSynchronizeStream: argument stream: expected a live stream, got ";
    CHECK_FAILS(aclrtSynchronizeStream(event), 107000, start + text("the event %p", event));
    CHECK_FAILS(aclrtSynchronizeStream(&local), 107000, start + text("%p, which is no handle", &local));
    void* cut = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(stream) & 0xFFFFFFFF);
    CHECK_FAILS(aclrtSynchronizeStream(cut), 107000, start + text("%p, which is no handle", cut));
    CHECK_FAILS(aclrtDestroyStream(nullptr), 107000,
                "aclrtDestroyStream: argument stream: expected an address, got NULL");
    aclrtContext mine = nullptr, other = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&mine));
    CHECK_OK(aclrtSetDevice(1));
    CHECK_OK(aclrtGetCurrentContext(&other));
    CHECK_EQ(aclrtSynchronizeStream(stream), 107003);
    const std::string message = aclGetRecentErrMsg();
    CHECK(message.find(text("expected a stream of the thread's context %p on device 1, got %p of the context", other,
                            stream)) != std::string::npos);
    CHECK(message.find("on device 0") != std::string::npos);
    CHECK_OK(aclrtResetDevice(1));
    CHECK_OK(aclrtSetCurrentContext(mine));
}

TEST(a_stream_that_another_thread_destroys_is_gone_at_once) {
    const auto nothing = [](const void*) {};
    for (int i = 0; i < 100; ++i) {
        const aclrtStream stream = make_stream(), kept = make_stream();
        CHECK_OK(mtsim_launch("k", 1, stream, nothing, nullptr, 0));
        CHECK_OK(mtsim_launch("k", 1, kept, nothing, nullptr, 0));
        std::thread([stream] {
            CHECK_OK(aclrtSetDevice(0));
            CHECK_OK(aclrtDestroyStream(stream));
            CHECK_OK(aclrtResetDevice(0));
        }).join();
        CHECK_FAILS(mtsim_launch("k", 1, stream, nothing, nullptr, 0), 107000,
                    text("mtsim_launch: argument stream: expected a live stream, got the stream %p, which was "
                         "destroyed", stream));
        CHECK_OK(mtsim_launch("k", 1, kept, nothing, nullptr, 0));
        CHECK_OK(aclrtDestroyStream(kept));
        CHECK_EQ(mtsim_launch("k", 1, kept, nothing, nullptr, 0), 107000u);
    }
}

TEST(streams_are_destroyed_while_others_queue) {
    for (int round = 0; round < 200; ++round) {
        const aclrtStream stream = make_stream();
        std::atomic<int> runs{0}, queued{0};
        std::vector<std::thread> producers;
        for (int i = 0; i < 3; ++i) {
            producers.emplace_back([&] {
                CHECK_OK(aclrtSetDevice(0));
                const auto count = [](void* runs) { ++*static_cast<std::atomic<int>*>(runs); };
                while (aclrtLaunchHostFunc(stream, count, &runs) == ACL_SUCCESS) {
                    ++queued;
                }
                CHECK_OK(aclrtResetDevice(0));
            });
        }
        while (queued < round) {
        }
        CHECK_OK(aclrtDestroyStream(stream));
        for (std::thread& producer : producers) {
            producer.join();
        }
        CHECK_EQ(runs.load(), queued.load());
    }
}

TEST(a_callback_cannot_wait_for_its_own_stream) {
    static aclrtStream stream;
    static aclError code;
    stream = make_stream();
    CHECK_OK(aclrtLaunchHostFunc(stream, [](void*) {
        CHECK_EQ(aclrtSynchronizeStream(stream), 107002);  // a callback's thread has no context of its own
        CHECK_OK(aclrtSetDevice(0));
        code = aclrtSynchronizeStream(stream);
        CHECK_EQ(aclrtDestroyStream(stream), 107000);
        CHECK_EQ(aclrtSynchronizeDevice(), 107000);
    }, nullptr));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQ(code, 107000);
}

// The state letter of every other thread of this process: S for sleeping, R for running.
static std::string states_of_other_threads() {
    std::string states;
    const std::string self = std::to_string(syscall(SYS_gettid));
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(entry.path() / "stat");
        std::string line;
        if (entry.path().filename() != self && std::getline(file, line)) {
            states += line[line.rfind(')') + 2];
        }
    }
    return states;
}

TEST(an_idle_stream_sleeps) {
    const aclrtStream stream = make_stream();
    CHECK_OK(aclrtLaunchHostFunc(stream, [](void*) {}, nullptr));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(!states_of_other_threads().empty());
    // A worker that kept looking for work would never be seen asleep several times running.
    for (int asleep = 0, tries = 0; asleep < 20; ++tries) {
        CHECK(tries < 1000);
        asleep = states_of_other_threads().find('R') == std::string::npos ? asleep + 1 : 0;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}
