// What may be called while a graph is captured, and what each other call returns.
#include <thread>
#include <utility>

#include "gate.hpp"
#include "graph.hpp"

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
            // On the captured stream itself it is not the thread that matters.
            CHECK_EQ(aclrtMemcpyAsync(device, 8, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream),
                     expected.mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED ? 0 : 107041);
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
