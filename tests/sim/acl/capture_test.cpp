// Graph capture: what is kept, how it runs again, and how it fails.
#include <atomic>
#include <cstring>
#include <thread>

#include "gate.hpp"
#include "graph.hpp"

TEST(captured_tasks_run_only_when_the_graph_does) {
    const aclrtStream stream = make_stream(), other = make_stream();
    long* number = make_number();
    append(stream, number, 1);
    begin(stream);
    append(stream, number, 2);
    append(stream, number, 3);
    const aclmdlRI model = end(stream);
    append(stream, number, 4);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQ(download(number, 1)[0], 14);
    run(model, stream);
    CHECK_EQ(download(number, 1)[0], 1423);
    run(model, other);  // on any stream
    run(model, nullptr);
    CHECK_EQ(download(number, 1)[0], 14232323);
    CHECK_OK(aclmdlRIDestroy(model));
}

TEST(every_kind_of_task_is_captured) {
    const aclrtStream stream = make_stream();
    int* device = upload(std::vector<int>{1, 2});
    void* pinned = nullptr;
    CHECK_OK(aclrtMallocHost(&pinned, sizeof(int)));
    std::memset(pinned, 0, sizeof(int));
    std::atomic<int> calls{0};
    begin(stream);
    CHECK_OK(aclrtMemsetAsync(device, 4, 1, 4, stream));
    CHECK_OK(aclrtMemcpyAsync(device + 1, 4, device, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    CHECK_OK(aclrtMemcpyAsync(pinned, 4, device + 1, 4, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK_OK(aclrtLaunchHostFunc(stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &calls));
    const aclmdlRI model = end(stream);
    CHECK_EQ(download(device, 2) == std::vector<int>({1, 2}), true);
    run(model, stream);
    CHECK_EQ(*static_cast<int*>(pinned), 0x01010101);
    run(model, stream);
    CHECK_EQ(calls.load(), 2);
}

TEST(arguments_are_copied_when_they_are_captured) {
    struct Big {
        long* target;
        long values[100];
    };
    const aclrtStream stream = make_stream();
    long* number = make_number();
    Big big{static_cast<long*>(mtsim_kernel_alias(number)), {}};
    big.values[99] = 7;
    const auto add_last = [](const void* raw) {
        const auto* args = static_cast<const Big*>(raw);
        *args->target += args->values[99];
    };
    begin(stream);
    CHECK_OK(mtsim_launch("big", 1, stream, add_last, &big, sizeof big));
    const aclmdlRI model = end(stream);
    std::memset(&big, 0, sizeof big);
    run(model, stream);
    run(model, stream);
    CHECK_EQ(download(number, 1)[0], 14);
}

TEST(an_empty_capture_is_a_graph) {
    const aclrtStream stream = make_stream();
    begin(stream);
    run(end(stream), stream);
}

// ------------------------------------------------------------------------------------------- several streams

// Two branches between a fork and a join; each step only gives the right number after those before it.
struct Diamond {
    aclrtStream first = make_stream(), second = make_stream();
    long* left = make_number();
    long* right = make_number();
    aclmdlRI model = nullptr;

    Diamond() {
        const aclrtEvent fork = make_event(), join = make_event();
        begin(first);
        append(first, right, 1);
        CHECK_OK(aclrtRecordEvent(fork, first));
        CHECK_OK(aclrtStreamWaitEvent(second, fork));
        CHECK_EQ(status_of(second), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
        append(second, right, 2);
        CHECK_OK(aclrtRecordEvent(join, second));
        append(first, left, 3);
        CHECK_OK(aclrtStreamWaitEvent(first, join));
        append(first, right, 4);
        model = end(first);
        CHECK_EQ(status_of(second), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
        CHECK_OK(aclrtDestroyEvent(fork));
        CHECK_OK(aclrtDestroyEvent(join));
    }
};

TEST(a_graph_keeps_the_dependencies_between_streams) {
    Diamond diamond;
    const aclrtStream replay = make_stream();
    for (int i = 0; i < 3; ++i) {
        CHECK_OK(aclmdlRIExecuteAsync(diamond.model, replay));
    }
    CHECK_OK(aclrtSynchronizeStream(replay));
    CHECK_EQ(download(diamond.right, 1)[0], 124124124);
    append(diamond.second, diamond.left, 9);  // the captured streams are free again
    CHECK_OK(aclrtSynchronizeStream(diamond.second));
    CHECK_EQ(download(diamond.left, 1)[0], 3339);
}

TEST(captured_streams_run_beside_each_other) {
    // Each branch waits for the other to be there: on one thread this would never end.
    struct Meeting {
        std::atomic<int> arrived{0};
        static void arrive(void* raw) {
            auto* meeting = static_cast<Meeting*>(raw);
            for (++meeting->arrived; meeting->arrived < 2;) {
                std::this_thread::yield();
            }
        }
    } meeting;
    const aclrtStream first = make_stream(), second = make_stream();
    const aclrtEvent fork = make_event(), join = make_event();
    begin(first);
    CHECK_OK(aclrtRecordEvent(fork, first));
    CHECK_OK(aclrtStreamWaitEvent(second, fork));
    CHECK_OK(aclrtLaunchHostFunc(second, Meeting::arrive, &meeting));
    CHECK_OK(aclrtRecordEvent(join, second));
    CHECK_OK(aclrtLaunchHostFunc(first, Meeting::arrive, &meeting));
    CHECK_OK(aclrtStreamWaitEvent(first, join));
    run(end(first), first);
    CHECK_EQ(meeting.arrived.load(), 2);
}

TEST(a_captured_callback_cannot_wait_for_the_stream_it_runs_in) {
    static aclrtStream replay;
    static std::atomic<int> refused;
    replay = make_stream();
    refused = 0;
    const auto callback = [](void*) {
        CHECK_OK(aclrtSetDevice(0));
        refused += aclrtSynchronizeStream(replay) == 107000;
    };
    const aclrtStream first = make_stream(), second = make_stream();
    const aclrtEvent fork = make_event(), join = make_event();
    begin(first);
    CHECK_OK(aclrtLaunchHostFunc(first, callback, nullptr));
    CHECK_OK(aclrtRecordEvent(fork, first));
    CHECK_OK(aclrtStreamWaitEvent(second, fork));
    CHECK_OK(aclrtLaunchHostFunc(second, callback, nullptr));
    CHECK_OK(aclrtRecordEvent(join, second));
    CHECK_OK(aclrtStreamWaitEvent(first, join));
    run(end(first), replay);
    CHECK_EQ(refused.load(), 2);
}

TEST(runs_of_one_graph_do_not_overlap) {
    Diamond diamond;
    std::vector<aclrtStream> streams;
    for (int i = 0; i < 4; ++i) {
        streams.push_back(make_stream());
        CHECK_OK(aclmdlRIExecuteAsync(diamond.model, streams.back()));
    }
    for (const aclrtStream stream : streams) {
        CHECK_OK(aclrtSynchronizeStream(stream));
    }
    CHECK_EQ(download(diamond.right, 1)[0], 124124124124);
    CHECK_EQ(download(diamond.left, 1)[0], 3333);
}

TEST(runs_take_turns_in_the_order_in_which_streams_reach_them) {
    const aclrtStream first = make_stream(), side = make_stream();
    const aclrtEvent go = make_event(ACL_EVENT_EXTERNAL);
    long* number = make_number();
    begin(first);
    CHECK_OK(aclrtStreamWaitEvent(first, go));
    CHECK_OK(aclrtResetEvent(go, first));
    append(first, number, 1);
    const aclmdlRI model = end(first);
    const std::vector<aclrtStream> streams{first, make_stream(), make_stream(), make_stream()};
    for (const aclrtStream stream : streams) {
        CHECK_OK(aclmdlRIExecuteAsync(model, stream));
        CHECK_EQ(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);  // it waits for its turn by now
    }
    for (const aclrtStream stream : streams) {
        CHECK_OK(aclrtRecordEvent(go, side));
        CHECK_OK(aclrtSynchronizeStreamWithTimeout(stream, 10000));
    }
    CHECK_EQ(download(number, 1)[0], 1111);
}

TEST(a_stream_may_join_come_back_and_wait_again) {
    const aclrtStream first = make_stream(), second = make_stream(), third = make_stream();
    const aclrtEvent event = make_event();
    long* number = make_number();
    begin(first);
    const aclrtStream chain[] = {first, second, third, second, first, third, first};
    for (int i = 0; i < 7; ++i) {
        append(chain[i], number, i + 1);
        CHECK_OK(aclrtRecordEvent(event, chain[i]));  // recorded again and again, each wait means the latest
        if (i < 6) {
            CHECK_OK(aclrtStreamWaitEvent(chain[i + 1], event));
        }
    }
    CHECK_OK(aclrtStreamWaitEvent(second, event));  // without a task after it, nothing is left to join
    const aclmdlRI model = end(first);
    run(model, third);
    CHECK_EQ(download(number, 1)[0], 1234567);
}

TEST(a_stream_that_never_comes_back_fails_the_capture) {
    const aclrtStream first = make_stream(), second = make_stream();
    const aclrtEvent fork = make_event(), join = make_event();
    long* number = make_number();
    for (const int tasks_after_join : {-1, 0, 1}) {  // -1: it does not even record
        begin(first);
        CHECK_OK(aclrtRecordEvent(fork, first));
        CHECK_OK(aclrtStreamWaitEvent(second, fork));
        if (tasks_after_join >= 0) {
            CHECK_OK(aclrtRecordEvent(join, second));
        }
        if (tasks_after_join == 1) {
            CHECK_OK(aclrtStreamWaitEvent(first, join));
            append(second, number, 1);
        }
        aclmdlRI model = number;
        CHECK_FAILS(aclmdlRICaptureEnd(first, &model), 107025,
                    text("aclmdlRICaptureEnd: the stream %p joined the capture of stream %p and did not come back: "
                         "record an event after its last task and make %p wait for it", second, first, first));
        CHECK_EQ(model, nullptr);
        append(second, number, 2);  // both streams are free again
        CHECK_OK(aclrtSynchronizeStream(second));
        CHECK_OK(aclrtSynchronizeStream(first));
    }
    CHECK_EQ(download(number, 1)[0], 222);
}

TEST(an_event_of_a_capture_that_is_over_is_as_before) {
    const aclrtStream first = make_stream(), second = make_stream();
    const aclrtEvent event = make_event();
    begin(first);
    CHECK_OK(aclrtRecordEvent(event, first));
    CHECK_OK(aclmdlRIDestroy(end(first)));
    CHECK_OK(aclrtStreamWaitEvent(second, event));
    CHECK_OK(aclrtSynchronizeEvent(event));
    CHECK_EQ(status_of(second), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
}

// -------------------------------------------------------------------------------------------------- failures

TEST(a_failing_graph_is_reported_at_the_next_synchronise) {
    const aclrtStream stream = make_stream(), replay = make_stream();
    long* number = make_number();
    begin(stream);
    append(stream, number, 1);
    CHECK_OK(mtsim_launch("bad", 1, stream, [](const void*) { mtsim_kernel_fault(507015, "broken"); }, nullptr, 0));
    append(stream, number, 2);
    const aclmdlRI model = end(stream);
    for (int i = 0; i < 2; ++i) {
        CHECK_OK(aclmdlRIExecuteAsync(model, replay));
        append(replay, number, 3);  // the stream goes on, the graph does not
        CHECK_FAILS(aclrtSynchronizeStream(replay), 507011,
                    text("aclrtSynchronizeStream: a task queued earlier failed, not this call: captured model %p "
                         "failed with 507015: kernel bad, block 0 of 1: broken", model));
    }
    CHECK_EQ(download(number, 1)[0], 1313);
    CHECK_OK(mtsim_launch("bad", 1, replay, [](const void*) { mtsim_kernel_fault(507015, "broken"); }, nullptr, 0));
    CHECK_EQ(aclrtSynchronizeStream(replay), 507015);  // outside of the graph it is the kernel's own code again
}

TEST(a_failure_in_one_captured_stream_ends_the_others) {
    const aclrtStream first = make_stream(), second = make_stream();
    const aclrtEvent fork = make_event(), join = make_event();
    long* number = make_number();
    begin(first);
    CHECK_OK(aclrtRecordEvent(fork, first));
    CHECK_OK(aclrtStreamWaitEvent(second, fork));
    CHECK_OK(mtsim_launch("bad", 1, second, [](const void*) { throw 1; }, nullptr, 0));
    CHECK_OK(aclrtRecordEvent(join, second));
    CHECK_OK(aclrtStreamWaitEvent(first, join));
    append(first, number, 1);
    CHECK_OK(aclmdlRIExecuteAsync(end(first), first));
    CHECK_EQ(aclrtSynchronizeStream(first), 507011);
    CHECK_EQ(download(number, 1)[0], 0);
}

TEST(a_stream_that_stopped_runs_no_graph) {
    const aclrtStream stream = make_stream();
    long* number = make_number();
    Gate gate;
    begin(stream);
    append(stream, number, 1);
    const aclmdlRI model = end(stream);
    CHECK_OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    gate.block(stream);
    CHECK_OK(mtsim_launch("bad", 1, stream, [](const void*) { mtsim_kernel_fault(507015, "broken"); }, nullptr, 0));
    CHECK_OK(aclmdlRIExecuteAsync(model, stream));
    gate.open();
    CHECK_EQ(aclrtSynchronizeStream(stream), 507015);
    CHECK_EQ(aclmdlRIExecuteAsync(model, stream), 507015);
    CHECK_EQ(download(number, 1)[0], 0);
    CHECK_OK(aclmdlRIDestroy(model));
}

TEST(threads_capture_and_replay_at_once) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([] {
            CHECK_OK(aclrtSetDevice(0));
            for (int round = 0; round < 10; ++round) {
                Diamond diamond;
                CHECK_OK(aclmdlRIExecuteAsync(diamond.model, diamond.first));
                CHECK_OK(aclmdlRIExecuteAsync(diamond.model, diamond.second));
                CHECK_OK(aclrtSynchronizeStream(diamond.first));
                CHECK_OK(aclrtSynchronizeStream(diamond.second));
                CHECK_EQ(download(diamond.right, 1)[0], 124124);
                CHECK_OK(aclmdlRIDestroy(diamond.model));
                CHECK_OK(aclrtDestroyStream(diamond.first));
                CHECK_OK(aclrtDestroyStream(diamond.second));
            }
            CHECK_OK(aclrtResetDevice(0));
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}
