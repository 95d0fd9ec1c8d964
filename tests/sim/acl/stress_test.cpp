// Many threads, streams and events at once: nothing is lost, nothing hangs, and a sanitizer sees no race.
#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "graph.hpp"

static void in_threads(int count, const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&body, i] {
            CHECK_OK(aclrtSetDevice(i % 2));
            body(i);
            CHECK_OK(aclrtResetDevice(i % 2));
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

struct Add {
    long* target;
    long value;
};

static void add(const void* raw) {
    const auto* args = static_cast<const Add*>(raw);
    if (mtsim_block_idx() == 0) {
        *args->target += args->value;  // not atomic: the order of the stream protects it
    }
}

static uint32_t launch_add(aclrtStream stream, long* device, long value) {
    const Add args{static_cast<long*>(mtsim_kernel_alias(device)), value};
    return mtsim_launch("add", 2, stream, add, &args, sizeof args);
}

TEST(producers_share_one_stream) {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    long* device = upload(std::vector<long>{0});
    in_threads(6, [&](int) {
        CHECK_OK(aclrtSetDevice(0));
        for (int i = 0; i < 3000; ++i) {
            CHECK_OK(launch_add(stream, device, 1));
            if (i % 500 == 0) {
                CHECK_OK(aclrtSynchronizeStream(stream));
            }
        }
        CHECK_OK(aclrtResetDevice(0));
    });
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQ(download(device, 1)[0], 18000);
}

TEST(no_wake_up_is_lost) {
    // One task at a time, with pauses of every length around the point where the worker falls asleep.
    in_threads(2, [](int seed) {
        std::mt19937 random(static_cast<unsigned>(seed));
        aclrtStream stream = nullptr;
        CHECK_OK(aclrtCreateStream(&stream));
        long* device = upload(std::vector<long>{0});
        for (int i = 0; i < 4000; ++i) {
            CHECK_OK(launch_add(stream, device, 1));
            CHECK_OK(aclrtSynchronizeStream(stream));
            const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(random() % 12000);
            while (std::chrono::steady_clock::now() < until) {
            }
        }
        CHECK_EQ(download(device, 1)[0], 4000);
        CHECK_OK(aclrtDestroyStream(stream));
    });
}

TEST(events_order_a_chain_of_streams) {
    in_threads(3, [](int) {
        constexpr int kStreams = 4;
        aclrtStream streams[kStreams];
        aclrtEvent events[kStreams];
        long* device = upload(std::vector<long>{0});
        for (int i = 0; i < kStreams; ++i) {
            CHECK_OK(aclrtCreateStream(&streams[i]));
            CHECK_OK(aclrtCreateEventExWithFlag(&events[i], ACL_EVENT_SYNC));
        }
        for (int step = 0; step < 2000; ++step) {  // every step in the next stream; the sum is only right in order
            const int here = step % kStreams, before = (step + kStreams - 1) % kStreams;
            CHECK_OK(aclrtStreamWaitEvent(streams[here], events[before]));
            CHECK_OK(launch_add(streams[here], device, step));
            CHECK_OK(aclrtRecordEvent(events[here], streams[here]));
        }
        CHECK_OK(aclrtSynchronizeEvent(events[1999 % kStreams]));
        CHECK_EQ(download(device, 1)[0], 1999L * 2000 / 2);
        for (int i = 0; i < kStreams; ++i) {
            CHECK_OK(aclrtDestroyStream(streams[i]));
            CHECK_OK(aclrtDestroyEvent(events[i]));
        }
    });
}

TEST(streams_come_and_go) {
    in_threads(4, [](int) {
        std::atomic<int> runs{0};
        const auto count = [](void* total) { ++*static_cast<std::atomic<int>*>(total); };
        for (int i = 0; i < 60; ++i) {
            aclrtStream stream = nullptr;
            CHECK_OK(aclrtCreateStream(&stream));
            for (int task = 0; task < i % 5; ++task) {
                CHECK_OK(aclrtLaunchHostFunc(stream, count, &runs));
            }
            CHECK_OK(aclrtDestroyStream(stream));
        }
        CHECK_EQ(runs.load(), 120);
        CHECK_OK(aclrtSynchronizeDevice());
    });
}

TEST(memory_comes_and_goes) {
    in_threads(4, [](int seed) {
        std::mt19937 random(static_cast<unsigned>(seed));
        for (int i = 0; i < 500; ++i) {
            const std::size_t count = 1 + random() % 3000;
            const std::vector<int> values(count, static_cast<int>(random()));
            int* device = upload(values);
            CHECK_EQ(download(device, count) == values, true);
            CHECK_OK(aclrtFree(device));
        }
    });
}

TEST(many_streams_share_the_block_pool) {
    in_threads(4, [](int) {
        std::atomic<long> sum{0};
        std::atomic<long>* address = &sum;
        const auto slow = [](const void* raw) {
            for (int i = 0; i < 200; ++i) {
                std::this_thread::yield();
            }
            **static_cast<std::atomic<long>* const*>(raw) += mtsim_block_idx();
        };
        aclrtStream stream = nullptr;
        CHECK_OK(aclrtCreateStream(&stream));
        for (int i = 0; i < 10; ++i) {
            CHECK_OK(mtsim_launch("sum", 16, stream, slow, &address, sizeof address));
        }
        CHECK_OK(aclrtSynchronizeStream(stream));
        CHECK_EQ(sum.load(), 10 * 120);
        CHECK_OK(aclrtDestroyStream(stream));
    });
}

TEST(graphs_are_destroyed_while_others_replay_them) {
    constexpr int kReplaying = 3, kGraphs = 150;
    std::atomic<aclmdlRI> current{nullptr};
    std::atomic<bool> over{false};
    std::atomic<long> replayed{0};
    long* device = upload(std::vector<long>(kReplaying, 0));
    std::vector<std::thread> threads;
    for (int i = 0; i < kReplaying; ++i) {
        threads.emplace_back([&] {
            CHECK_OK(aclrtSetDevice(0));
            const aclrtStream stream = make_stream();
            while (!over) {
                const aclError code = aclmdlRIExecuteAsync(current, stream);
                CHECK(code == 0 || code == 107000);  // it is gone already, or there is none yet
                replayed += code == 0;
                if (replayed % 64 == 0) {
                    CHECK_OK(aclrtSynchronizeStream(stream));
                }
            }
            CHECK_OK(aclrtSynchronizeStream(stream));
            CHECK_OK(aclrtDestroyStream(stream));
            CHECK_OK(aclrtResetDevice(0));
        });
    }
    const aclrtStream captured = make_stream();
    for (int graph = 0; graph < kGraphs; ++graph) {
        begin(captured);
        CHECK_OK(launch_add(captured, device, 1));  // replays of a graph take turns: the sum is only right if all ran
        const aclmdlRI model = end(captured);
        current = model;
        const long before = replayed;
        while (replayed < before + 20) {
            std::this_thread::yield();
        }
        current = nullptr;
        aclError code = 107037;  // while runs of it are queued
        while (code == 107037) {
            code = aclmdlRIDestroy(model);
        }
        CHECK_OK(code);
    }
    over = true;
    for (std::thread& thread : threads) {
        thread.join();
    }
    CHECK_EQ(download(device, 1)[0], replayed.load());
}

TEST(a_context_goes_with_graphs_that_are_queued) {
    aclrtContext mine = nullptr, other = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&mine));
    for (int i = 0; i < 50; ++i) {
        CHECK_OK(aclrtCreateContext(&other, 1));
        const aclrtStream stream = make_stream();
        begin(stream);
        CHECK_OK(aclrtLaunchHostFunc(stream, [](void*) { std::this_thread::yield(); }, nullptr));
        const aclmdlRI model = end(stream);
        for (int run = 0; run < 20; ++run) {
            CHECK_OK(aclmdlRIExecuteAsync(model, stream));
        }
        CHECK_OK(aclrtDestroyContext(other));
        CHECK_OK(aclrtSetCurrentContext(mine));
        CHECK_EQ(aclmdlRIExecuteAsync(model, nullptr), 107000);
    }
}
