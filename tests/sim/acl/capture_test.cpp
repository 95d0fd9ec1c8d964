// Graph capture: what is kept, how it runs again, and which calls a capture forbids.
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

// ------------------------------------------------------------------------------------------------- begin, end

TEST(bad_begins_and_ends_are_refused) {
    const aclrtStream stream = make_stream(), joined = make_stream();
    aclmdlRI model = nullptr;
    CHECK_FAILS(aclmdlRICaptureBegin(nullptr, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 107031,
                "aclmdlRICaptureBegin: argument stream: the default stream cannot be captured; create another one");
    CHECK_FAILS(aclmdlRICaptureBegin(stream, static_cast<aclmdlRICaptureMode>(3)), 107000,
                "aclmdlRICaptureBegin: argument mode: expected 0 (GLOBAL), 1 (THREAD_LOCAL) or 2 (RELAXED), got 3");
    CHECK_FAILS(aclmdlRICaptureEnd(stream, &model), 107029,
                text("aclmdlRICaptureEnd: argument stream: expected a stream that is being captured, got %p, which is "
                     "not", stream));
    begin(stream);
    CHECK_FAILS(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 107027,
                text("aclmdlRICaptureBegin: argument stream: expected one that is not being captured or updating a "
                     "task group, got %p, which is", stream));
    const aclrtEvent event = make_event();
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtStreamWaitEvent(joined, event));
    CHECK_FAILS(aclmdlRICaptureEnd(joined, &model), 107036,
                text("aclmdlRICaptureEnd: argument stream: expected %p, where the capture began, got %p, which joined "
                     "it", stream, joined));
    std::thread([&] {
        CHECK_OK(aclrtSetDevice(0));
        CHECK_FAILS(aclmdlRICaptureEnd(stream, &model), 107038,
                    text("aclmdlRICaptureEnd: expected a call from the thread that began the capture of stream %p, "
                         "whose mode is not RELAXED", stream));
        CHECK_OK(aclrtResetDevice(0));
    }).join();
    CHECK_EQ(aclmdlRICaptureEnd(stream, nullptr), 107000);
    CHECK_OK(aclrtRecordEvent(event, joined));
    CHECK_OK(aclrtStreamWaitEvent(stream, event));
    end(stream);  // none of these calls harmed the capture
}

TEST(a_relaxed_capture_may_end_on_another_thread) {
    const aclrtStream stream = make_stream();
    begin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
    std::thread([=] {
        CHECK_OK(aclrtSetDevice(0));
        run(end(stream), stream);
        CHECK_OK(aclrtResetDevice(0));
    }).join();
}

TEST(get_info_tells_the_state_and_the_model) {
    const aclrtStream stream = make_stream();
    aclmdlRI during = nullptr, none = stream;
    CHECK_EQ(status_of(stream, &none), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    CHECK_EQ(none, nullptr);
    begin(stream);
    CHECK_EQ(status_of(stream, &during), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
    const std::string message = text(": argument modelRI: expected a model whose capture has ended, got %p, which is "
                                     "being captured", during);
    CHECK_FAILS(aclmdlRIExecuteAsync(during, nullptr), 107026, "aclmdlRIExecuteAsync" + message);
    CHECK_FAILS(aclmdlRIDestroy(during), 107026, "aclmdlRIDestroy" + message);
    CHECK_EQ(end(stream), during);
    CHECK_OK(aclmdlRIDestroy(during));
    CHECK_FAILS(aclmdlRIExecuteAsync(during, stream), 107000,
                text("aclmdlRIExecuteAsync: argument modelRI: expected a live model, got the model %p, which was "
                     "destroyed", during));
    aclmdlRICaptureStatus status;
    CHECK_EQ(aclmdlRICaptureGetInfo(stream, nullptr, &none), 107000);
    CHECK_EQ(aclmdlRICaptureGetInfo(stream, &status, nullptr), 107000);
}

TEST(a_graph_that_is_queued_or_runs_is_not_destroyed) {
    const aclrtStream stream = make_stream(), replay = make_stream();
    Gate gate;
    begin(stream);
    gate.block(stream);
    const aclmdlRI model = end(stream);
    CHECK_OK(aclmdlRIExecuteAsync(model, replay));
    CHECK_OK(aclmdlRIExecuteAsync(model, replay));
    CHECK_FAILS(aclmdlRIDestroy(model), 107037,
                text("aclmdlRIDestroy: argument modelRI: expected a model that is neither running nor queued, got %p "
                     "with 2 unfinished runs: synchronise the stream first", model));
    gate.open();
    CHECK_OK(aclrtSynchronizeStream(replay));
    CHECK_OK(aclmdlRIDestroy(model));
}

TEST(a_graph_runs_in_its_context_only) {
    aclrtContext mine = nullptr, other = nullptr;
    const aclrtStream stream = make_stream();
    begin(stream);
    const aclmdlRI model = end(stream);
    CHECK_OK(aclrtGetCurrentContext(&mine));
    CHECK_OK(aclrtCreateContext(&other, 1));
    CHECK_EQ(aclmdlRIExecuteAsync(model, nullptr), 107004);
    CHECK_EQ(aclmdlRIExecuteAsync(model, stream), 107003);
    CHECK_OK(aclrtSetCurrentContext(mine));
    CHECK_OK(aclrtDestroyContext(other));
}

TEST(a_context_takes_its_captures_and_graphs_with_it) {
    aclrtContext mine = nullptr, other = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&mine));
    CHECK_OK(aclrtCreateContext(&other, 1));
    const aclrtStream done = make_stream(), open = make_stream();
    const aclrtEvent never = make_event(ACL_EVENT_EXTERNAL);
    begin(done);
    CHECK_OK(aclrtStreamWaitEvent(done, never));
    const aclmdlRI model = end(done);
    CHECK_OK(aclmdlRIExecuteAsync(model, done));  // waits for ever
    CHECK_OK(aclmdlRIExecuteAsync(model, nullptr));
    begin(open, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
    CHECK_OK(aclrtDestroyContext(other));
    CHECK_OK(aclrtSetCurrentContext(mine));
    CHECK_EQ(aclmdlRIDestroy(model), 107000);
    CHECK_EQ(download(make_number(), 1)[0], 0);  // the open capture forbids nothing any more
}

// ------------------------------------------------------------------------------------------- what is forbidden

TEST(waiting_for_a_captured_stream_invalidates_the_capture) {
    const aclrtStream stream = make_stream();
    aclrtStreamStatus status;
    struct Call {
        const char* name;
        aclError (*call)(aclrtStream, aclrtStreamStatus*);
    };
    const Call calls[] = {
        {"aclrtSynchronizeStream", [](aclrtStream s, aclrtStreamStatus*) { return aclrtSynchronizeStream(s); }},
        {"aclrtSynchronizeStreamWithTimeout",
         [](aclrtStream s, aclrtStreamStatus*) { return aclrtSynchronizeStreamWithTimeout(s, 5); }},
        {"aclrtStreamQuery", [](aclrtStream s, aclrtStreamStatus* out) { return aclrtStreamQuery(s, out); }},
        {"aclrtDestroyStream", [](aclrtStream s, aclrtStreamStatus*) { return aclrtDestroyStream(s); }}};
    for (const Call& call : calls) {
        for (const auto mode : {ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, ACL_MODEL_RI_CAPTURE_MODE_RELAXED}) {
            begin(stream, mode);
            const std::string message = call.name + text(": the stream %p is being captured, which does not allow this "
                                                         "call before aclmdlRICaptureEnd", stream);
            CHECK_FAILS(call.call(stream, &status), 107027, message);
            check_invalidated(stream, message);
        }
    }
    begin(stream);
    const std::string message = "aclrtSynchronizeDevice: a stream of device 0 is being captured, which does not allow "
                                "this call before aclmdlRICaptureEnd";
    CHECK_FAILS(aclrtSynchronizeDevice(), 107027, message);
    check_invalidated(stream, message);
    CHECK_OK(aclrtSynchronizeDevice());
}

TEST(other_streams_and_devices_may_be_waited_for) {
    const aclrtStream stream = make_stream(), other = make_stream();
    begin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
    CHECK_OK(aclrtSynchronizeStream(other));
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    CHECK_OK(aclrtSetDevice(1));
    CHECK_OK(aclrtSynchronizeDevice());
    CHECK_OK(aclrtResetDevice(1));
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtResetDevice(0));
    end(stream);
}

TEST(a_captured_event_cannot_be_waited_for_by_the_host) {
    const aclrtStream stream = make_stream();
    const aclrtEvent event = make_event(ACL_EVENT_TIME_LINE), whole = make_event(ACL_EVENT_TIME_LINE);
    CHECK_OK(aclrtRecordEvent(whole, stream));
    CHECK_OK(aclrtSynchronizeEvent(whole));
    using Call = std::pair<const char*, aclError (*)(aclrtEvent, aclrtEvent, aclrtStream)>;
    const Call calls[] = {
        {"aclrtSynchronizeEvent", [](aclrtEvent e, aclrtEvent, aclrtStream) { return aclrtSynchronizeEvent(e); }},
        {"aclrtQueryEventStatus", [](aclrtEvent e, aclrtEvent, aclrtStream) {
             aclrtEventRecordedStatus status;
             return aclrtQueryEventStatus(e, &status);
         }},
        {"aclrtEventElapsedTime", [](aclrtEvent e, aclrtEvent start, aclrtStream) {
             float ms;
             return aclrtEventElapsedTime(&ms, start, e);
         }},
        {"aclrtResetEvent", [](aclrtEvent e, aclrtEvent, aclrtStream s) { return aclrtResetEvent(e, s); }}};
    for (const Call& call : calls) {
        begin(stream);
        CHECK_OK(aclrtRecordEvent(event, stream));
        const std::string message = call.first + text(": the event %p was recorded in a capture, which does not allow "
                                                      "this call before aclmdlRICaptureEnd", event);
        CHECK_FAILS(call.second(event, whole, stream), 107028, message);
        check_invalidated(stream, message);
    }
    begin(stream);
    CHECK_EQ(aclrtResetEvent(whole, stream), 107027);
    check_invalidated(stream, "aclrtResetEvent");
    begin(stream);
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtRecordEvent(event, nullptr));  // recorded outside, it is free again
    CHECK_OK(aclrtSynchronizeEvent(event));
    end(stream);
}

TEST(a_dependency_that_leaves_the_capture_invalidates_it) {
    const aclrtStream stream = make_stream(), second = make_stream();
    const aclrtEvent outside = make_event(), never = make_event(), inside = make_event();
    CHECK_OK(aclrtRecordEvent(outside, nullptr));
    for (const aclrtEvent event : {outside, never}) {
        begin(stream);
        CHECK_FAILS(aclrtStreamWaitEvent(stream, event), 107024,
                    text("aclrtStreamWaitEvent: argument event: the captured stream %p can only wait for an event that "
                         "was recorded in the same capture, or for an external one", stream));
        check_invalidated(stream, "aclrtStreamWaitEvent");
    }
    begin(stream);
    CHECK_OK(aclrtRecordEvent(inside, stream));
    CHECK_FAILS(aclrtStreamWaitEvent(nullptr, inside), 107031,
                "aclrtStreamWaitEvent: argument stream: the default stream cannot join a capture, which waiting for an "
                "event that was recorded in one does");
    check_invalidated(stream, "aclrtStreamWaitEvent");
    begin(stream);
    begin(second);
    CHECK_OK(aclrtRecordEvent(inside, stream));
    CHECK_FAILS(aclrtStreamWaitEvent(second, inside), 107032,
                text("aclrtStreamWaitEvent: argument event: expected one that was recorded in the capture of stream "
                     "%p, got one of another capture", second));
    check_invalidated(stream, "aclrtStreamWaitEvent");
    check_invalidated(second, "aclrtStreamWaitEvent");
}

TEST(a_graph_cannot_be_captured_into_another) {
    const aclrtStream stream = make_stream();
    begin(stream);
    const aclmdlRI model = end(stream);
    begin(stream);
    CHECK_EQ(aclmdlRIExecuteAsync(model, stream), 107027);
    check_invalidated(stream, "aclmdlRIExecuteAsync");
    CHECK_OK(aclmdlRIDestroy(model));  // the refused run does not count
}

TEST(the_mode_says_who_may_copy_synchronously) {
    const aclrtStream stream = make_stream(), other = make_stream();
    int* device = upload(std::vector<int>{0, 0});
    int value = 5;
    const auto copies = [&](aclError sync, aclError async) {
        CHECK_EQ(aclrtMemcpy(device, 8, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE), sync);
        CHECK_EQ(aclrtMemset(device, 8, 0, 4), sync);
        CHECK_EQ(aclrtMemcpyAsync(device, 8, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE, other), async);
        CHECK_EQ(aclrtMemsetAsync(&value, 4, 5, 4, other), async);
    };
    struct Expected {
        aclmdlRICaptureMode mode;
        bool here, elsewhere;
    };
    for (const Expected& expected : {Expected{ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, false, false},
                                     Expected{ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL, false, true},
                                     Expected{ACL_MODEL_RI_CAPTURE_MODE_RELAXED, true, true}}) {
        begin(stream, expected.mode);
        copies(expected.here ? 0 : 107030, expected.here ? 0 : 107041);
        std::thread([&] {
            CHECK_OK(aclrtSetDevice(0));
            copies(expected.elsewhere ? 0 : 107030, expected.elsewhere ? 0 : 107041);
            CHECK_OK(aclrtResetDevice(0));
        }).join();
        end(stream);  // still valid
        copies(0, 0);
    }
    begin(stream);
    CHECK_FAILS(aclrtMemcpy(device, 8, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE), 107030,
                "aclrtMemcpy: a synchronous copy is not allowed during a capture in mode THREAD_LOCAL: copy "
                "asynchronously with memory of aclrtMallocHost, or capture in mode RELAXED");
    CHECK_FAILS(aclrtMemcpyAsync(device, 8, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream), 107041,
                "aclrtMemcpyAsync: pageable host memory makes this copy synchronous, which is not allowed during a "
                "capture in mode THREAD_LOCAL: copy asynchronously with memory of aclrtMallocHost, or capture in mode "
                "RELAXED");
    end(stream);
}

TEST(a_relaxed_capture_keeps_nothing_of_a_copy_that_became_synchronous) {
    const aclrtStream stream = make_stream();
    int* device = upload(std::vector<int>{0});
    int value = 5;
    begin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
    CHECK_OK(aclrtMemcpyAsync(device, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    CHECK_EQ(download(device, 1)[0], 5);
    CHECK_OK(aclrtMemset(device, 4, 0, 4));
    run(end(stream), stream);
    CHECK_EQ(download(device, 1)[0], 0);
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
