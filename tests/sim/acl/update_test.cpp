// External events, task groups and their update: how a captured graph gets new arguments for each run.
#include <atomic>
#include <cstring>
#include <thread>

#include "gate.hpp"
#include "graph.hpp"
#include "scenario.hpp"

static aclrtEventRecordedStatus query(aclrtEvent event) {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    CHECK_OK(aclrtQueryEventStatus(event, &status));
    return status;
}

static aclrtTaskGrp end_group(aclrtStream stream) {
    aclrtTaskGrp group = nullptr;
    CHECK_OK(aclmdlRICaptureTaskGrpEnd(stream, &group));
    CHECK(group != nullptr);
    return group;
}

// -------------------------------------------------------------------------------------------- external events

TEST(an_external_event_is_a_flag_that_streams_set_and_clear) {
    const aclrtStream stream = make_stream(), other = make_stream();
    const aclrtEvent event = make_event(ACL_EVENT_EXTERNAL | ACL_EVENT_TIME_LINE);
    CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_OK(aclrtStreamWaitEvent(stream, event));  // before any record: it blocks
    CHECK_OK(aclrtResetEvent(event, stream));
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(stream, 10), 507046);
    CHECK_OK(aclrtRecordEvent(event, other));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);  // the reset ran after the wait
    Gate gate;
    CHECK_OK(aclrtRecordEvent(event, other));
    CHECK_OK(aclrtSynchronizeEvent(event));
    gate.block(stream);
    CHECK_OK(aclrtResetEvent(event, stream));
    CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);  // queued, it has not cleared anything yet
    float ms = -1;
    CHECK_OK(aclrtEventElapsedTime(&ms, event, event));
    CHECK_EQ(ms, 0.0f);
    gate.open();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
}

TEST(the_host_can_wait_for_an_external_event) {
    const aclrtStream stream = make_stream();
    const aclrtEvent event = make_event(ACL_EVENT_EXTERNAL);
    Gate gate;
    gate.block(stream);
    CHECK_OK(aclrtRecordEvent(event, stream));  // queued, not run: the wait below is not refused
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        gate.open();
    });
    CHECK_OK(aclrtSynchronizeEvent(event));
    opener.join();
}

TEST(a_captured_external_wait_blocks_each_run_until_a_record) {
    const aclrtStream stream = make_stream(), side = make_stream();
    const aclrtEvent event = make_event(ACL_EVENT_EXTERNAL);
    long* number = make_number();
    begin(stream);
    append(stream, number, 1);
    CHECK_OK(aclrtStreamWaitEvent(stream, event));
    CHECK_OK(aclrtResetEvent(event, stream));
    append(stream, number, 2);
    const aclmdlRI model = end(stream);
    for (int i = 0; i < 2; ++i) {
        CHECK_OK(aclmdlRIExecuteAsync(model, stream));
        CHECK_EQ(aclrtSynchronizeStreamWithTimeout(stream, 10), 507046);
        CHECK_OK(aclrtRecordEvent(event, side));
        CHECK_OK(aclrtSynchronizeStream(stream));
    }
    CHECK_OK(aclrtRecordEvent(event, side));  // before the run: then it does not block
    CHECK_OK(aclrtSynchronizeStream(side));
    run(model, stream);
    CHECK_EQ(download(number, 1)[0], 121212);
}

TEST(a_captured_external_record_tells_the_outside) {
    const aclrtStream stream = make_stream();
    const aclrtEvent event = make_event(ACL_EVENT_EXTERNAL);
    begin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL);
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);  // which is legal, the event belongs to no capture
    const aclmdlRI model = end(stream);
    run(model, stream);
    CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
}

TEST(an_external_event_makes_no_stream_join) {
    const aclrtStream stream = make_stream(), other = make_stream();
    const aclrtEvent event = make_event(ACL_EVENT_EXTERNAL);
    begin(stream);
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtStreamWaitEvent(other, event));
    CHECK_EQ(status_of(other), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    const aclmdlRI model = end(stream);
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(other, 5), 507046);
    run(model, stream);
    CHECK_OK(aclrtSynchronizeStream(other));
}

TEST(a_wait_in_one_captured_stream_does_not_hold_the_others) {
    const aclrtStream first = make_stream(), second = make_stream(), side = make_stream();
    const aclrtEvent fork = make_event(), join = make_event();
    const aclrtEvent inner = make_event(ACL_EVENT_EXTERNAL), outer = make_event(ACL_EVENT_EXTERNAL);
    long* number = make_number();
    begin(first);
    CHECK_OK(aclrtRecordEvent(fork, first));
    CHECK_OK(aclrtStreamWaitEvent(second, fork));
    CHECK_OK(aclrtStreamWaitEvent(second, outer));
    append(second, number, 2);
    CHECK_OK(aclrtRecordEvent(join, second));
    append(first, number, 1);
    CHECK_OK(aclrtRecordEvent(inner, first));
    CHECK_OK(aclrtStreamWaitEvent(first, join));
    append(first, number, 3);
    CHECK_OK(aclmdlRIExecuteAsync(end(first), first));
    CHECK_OK(aclrtSynchronizeEvent(inner));
    CHECK_EQ(download(number, 1)[0], 1);
    CHECK_OK(aclrtRecordEvent(outer, side));
    CHECK_OK(aclrtSynchronizeStream(first));
    CHECK_EQ(download(number, 1)[0], 123);
}

// ------------------------------------------------------------------------------------------- groups and updates

// An operator whose arguments change from run to run, captured as torch_npu does: an external wait and a reset before
// the task group.
struct Updatable {
    aclrtStream capture = make_stream(), updates = make_stream();
    aclrtEvent event = make_event(ACL_EVENT_EXTERNAL);
    long* number = make_number();
    aclrtTaskGrp group = nullptr;
    aclmdlRI model = nullptr;

    Updatable() {
        begin(capture);
        append(capture, number, 1);
        CHECK_OK(aclrtStreamWaitEvent(capture, event));
        CHECK_OK(aclrtResetEvent(event, capture));
        CHECK_OK(aclmdlRICaptureTaskGrpBegin(capture));
        append(capture, number, 2);
        append(capture, number, 3);
        group = end_group(capture);
        append(capture, number, 4);
        model = end(capture);
    }

    void update(long second, long third) {
        CHECK_OK(aclmdlRICaptureTaskUpdateBegin(updates, group));
        append(updates, number, second);
        append(updates, number, third);
        CHECK_OK(aclmdlRICaptureTaskUpdateEnd(updates));
        CHECK_OK(aclrtRecordEvent(event, updates));
    }

    long value() { return download(number, 1)[0]; }
};

TEST(capture_update_replay) {
    Updatable op;
    const aclrtStream replay = make_stream();
    op.update(5, 6);
    CHECK_OK(aclmdlRIExecuteAsync(op.model, replay));
    CHECK_OK(aclrtSynchronizeStream(replay));
    CHECK_EQ(op.value(), 1564);
    CHECK_OK(aclmdlRIExecuteAsync(op.model, replay));  // the replay first, then its update
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(replay, 10), 507046);
    op.update(7, 8);
    CHECK_OK(aclrtSynchronizeStream(replay));
    CHECK_EQ(op.value(), 15641784);
}

TEST(a_replay_without_its_update_hangs_until_it_is_recorded) {
    Updatable op;
    op.update(5, 6);
    run(op.model, op.capture);
    CHECK_OK(aclmdlRIExecuteAsync(op.model, op.capture));
    CHECK_FAILS(aclrtSynchronizeStreamWithTimeout(op.capture, 20), 507046,
                text("aclrtSynchronizeStreamWithTimeout: stream %p has unfinished tasks after 20 ms: a kernel that "
                     "does not end, or a wait for an event that nothing records", op.capture));
    CHECK_OK(aclrtRecordEvent(op.event, op.updates));
    CHECK_OK(aclrtSynchronizeStream(op.capture));
    CHECK_EQ(op.value(), 15641564);  // the tasks of the last update
}

TEST(a_run_that_fails_uses_up_its_update_all_the_same) {
    const aclrtStream stream = make_stream(), updates = make_stream();
    const aclrtEvent event = make_event(ACL_EVENT_EXTERNAL);
    begin(stream);
    CHECK_OK(mtsim_launch("bad", 1, stream, [](const void*) { mtsim_kernel_fault(507015, "broken"); }, nullptr, 0));
    CHECK_OK(aclrtStreamWaitEvent(stream, event));
    CHECK_OK(aclrtResetEvent(event, stream));
    const aclmdlRI model = end(stream);
    for (int i = 0; i < 2; ++i) {
        CHECK_OK(aclmdlRIExecuteAsync(model, stream));
        CHECK_EQ(aclrtSynchronizeStreamWithTimeout(stream, 10), 507046);
        CHECK_OK(aclrtRecordEvent(event, updates));
        CHECK_EQ(aclrtSynchronizeStream(stream), 507011);
    }
}

TEST(updates_and_replays_take_turns) {
    Updatable op;
    const aclrtStream replay = make_stream();
    for (int i = 0; i < 300; ++i) {
        CHECK_OK(aclrtMemsetAsync(op.number, 8, 0, 8, replay));
        CHECK_OK(aclmdlRIExecuteAsync(op.model, replay));
        op.update(i % 10, (i + 1) % 10);
        CHECK_OK(aclrtSynchronizeStream(replay));
        CHECK_EQ(op.value(), 1004 + i % 10 * 100 + (i + 1) % 10 * 10);
    }
}

TEST(an_update_is_a_task_of_its_stream) {
    Updatable op;
    Gate gate;
    gate.block(op.updates);
    op.update(5, 6);
    CHECK_OK(aclrtRecordEvent(op.event, nullptr));  // lets a run through before the update
    run(op.model, op.capture);
    CHECK_EQ(op.value(), 1234);
    gate.open();
    run(op.model, op.capture);
    CHECK_EQ(op.value(), 12341564);
}

TEST(arguments_are_copied_when_they_are_updated) {
    Updatable op;
    Digit args{static_cast<long*>(mtsim_kernel_alias(op.number)), 8};
    Gate gate;
    gate.block(op.updates);
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(op.updates, op.group));
    for (int i = 0; i < 2; ++i) {
        CHECK_OK(mtsim_launch("append", 1, op.updates, append_digit, &args, sizeof args));
    }
    std::memset(&args, 0, sizeof args);
    CHECK_OK(aclmdlRICaptureTaskUpdateEnd(op.updates));
    CHECK_OK(aclrtRecordEvent(op.event, op.updates));
    gate.open();
    run(op.model, op.capture);
    CHECK_EQ(op.value(), 1884);
}

TEST(groups_hold_every_kind_of_task_and_each_stream_has_its_own) {
    const aclrtStream first = make_stream(), second = make_stream();
    const aclrtEvent fork = make_event(), join = make_event();
    int* device = upload(std::vector<int>{0, 0});
    std::atomic<int> calls[2] = {};
    const auto count = [](void* calls) { ++*static_cast<std::atomic<int>*>(calls); };
    begin(first);
    CHECK_OK(aclrtRecordEvent(fork, first));
    CHECK_OK(aclrtStreamWaitEvent(second, fork));
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(first));
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(second));
    CHECK_OK(aclrtMemsetAsync(device, 4, 1, 4, first));
    CHECK_OK(aclrtLaunchHostFunc(second, count, &calls[0]));  // between the other group's tasks
    CHECK_OK(aclrtMemcpyAsync(device + 1, 4, device, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, first));
    const aclrtTaskGrp tasks = end_group(first), call = end_group(second);
    CHECK_OK(aclrtRecordEvent(join, second));
    CHECK_OK(aclrtStreamWaitEvent(first, join));
    const aclmdlRI model = end(first);
    run(model, first);
    CHECK_EQ(download(device, 2)[1], 0x01010101);
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(first, tasks));
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(second, call));
    CHECK_OK(aclrtLaunchHostFunc(second, count, &calls[1]));
    CHECK_OK(aclrtMemsetAsync(device, 8, 2, 8, first));
    CHECK_OK(aclrtMemcpyAsync(device, 4, device + 1, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, first));
    CHECK_OK(aclmdlRICaptureTaskUpdateEnd(second));
    CHECK_OK(aclmdlRICaptureTaskUpdateEnd(first));
    CHECK_OK(aclrtSynchronizeStream(second));
    run(model, first);
    CHECK_EQ(download(device, 2) == std::vector<int>({0x02020202, 0x02020202}), true);
    CHECK_EQ(calls[0].load() * 10 + calls[1].load(), 11);
}

TEST(an_update_must_bring_the_same_tasks) {
    Updatable op;
    const aclrtStream updates = op.updates;
    const std::string rest = text(", as in the task group %p, got: ", op.group);
    const auto nothing = [](void*) {};
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(updates, op.group));
    append(updates, op.number, 9);
    CHECK_FAILS(aclrtLaunchHostFunc(updates, nothing, nullptr), 107033,
                "aclrtLaunchHostFunc: task 1 of the update: expected kernel" + rest + "host function");
    CHECK_FAILS(aclmdlRICaptureTaskUpdateEnd(updates), 107033,
                text("aclmdlRICaptureTaskUpdateEnd: expected the 2 tasks of the task group %p in their order, got "
                     "others; nothing was updated", op.group));
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(updates, op.group));
    append(updates, op.number, 9);
    CHECK_FAILS(aclmdlRICaptureTaskUpdateEnd(updates), 107033,
                text("aclmdlRICaptureTaskUpdateEnd: expected the 2 tasks of the task group %p in their order, got "
                     "the first 1; nothing was updated", op.group));
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(updates, op.group));
    append(updates, op.number, 9);
    append(updates, op.number, 9);
    CHECK_FAILS(aclrtLaunchHostFunc(updates, nothing, nullptr), 107033,
                "aclrtLaunchHostFunc: task 2 of the update: expected no more tasks" + rest + "host function");
    CHECK_EQ(aclmdlRICaptureTaskUpdateEnd(updates), 107033);
    CHECK_OK(aclrtRecordEvent(op.event, updates));
    run(op.model, op.capture);
    CHECK_EQ(op.value(), 1234);
}

TEST(a_stream_that_updates_takes_no_other_calls) {
    Updatable op;
    const aclrtEvent event = make_event();
    aclrtStreamStatus status;
    int value = 0, *device = upload(std::vector<int>{0});
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(op.updates, op.group));
    CHECK_FAILS(aclrtSynchronizeStream(op.updates), 107033,
                text("aclrtSynchronizeStream: the stream %p is updating the task group %p, which does not allow this "
                     "call before aclmdlRICaptureTaskUpdateEnd", op.updates, op.group));
    CHECK_EQ(aclrtStreamQuery(op.updates, &status), 107033);
    CHECK_EQ(aclrtDestroyStream(op.updates), 107033);
    CHECK_EQ(aclrtRecordEvent(event, op.updates), 107033);
    CHECK_EQ(aclrtStreamWaitEvent(op.updates, event), 107033);
    CHECK_EQ(aclrtResetEvent(event, op.updates), 107033);
    CHECK_EQ(aclmdlRIExecuteAsync(op.model, op.updates), 107033);
    CHECK_EQ(aclrtMemcpyAsync(device, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE, op.updates), 107033);
    CHECK_EQ(aclmdlRICaptureBegin(op.updates, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 107033);
    CHECK_EQ(status_of(op.updates), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    append(op.updates, op.number, 5);  // none of these harmed the update
    append(op.updates, op.number, 6);
    CHECK_OK(aclmdlRICaptureTaskUpdateEnd(op.updates));
    CHECK_OK(aclrtRecordEvent(op.event, op.updates));
    run(op.model, op.capture);
    CHECK_EQ(op.value(), 1564);
}

TEST(groups_and_updates_come_in_pairs) {
    Updatable op;
    const aclrtStream stream = make_stream();
    aclrtTaskGrp group = nullptr;
    CHECK_FAILS(aclmdlRICaptureTaskGrpBegin(stream), 107029,
                text("aclmdlRICaptureTaskGrpBegin: argument stream: expected a stream that is being captured, got %p, "
                     "which is not", stream));
    CHECK_EQ(aclmdlRICaptureTaskGrpEnd(stream, &group), 107029);
    begin(stream);
    CHECK_FAILS(aclmdlRICaptureTaskGrpEnd(stream, &group), 107033,
                text("aclmdlRICaptureTaskGrpEnd: expected an open task group on the stream %p, and none is open",
                     stream));
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(stream));
    CHECK_FAILS(aclmdlRICaptureTaskGrpBegin(stream), 107033,
                text("aclmdlRICaptureTaskGrpBegin: expected no open task group on the stream %p, and one is open",
                     stream));
    CHECK_FAILS(aclmdlRICaptureTaskUpdateBegin(stream, op.group), 107033,
                text("aclmdlRICaptureTaskUpdateBegin: argument stream: expected one that is not being captured or "
                     "updating a task group, got %p, which is", stream));
    CHECK_EQ(aclmdlRICaptureTaskGrpEnd(stream, nullptr), 107000);
    aclmdlRI model = nullptr;
    CHECK_FAILS(aclmdlRICaptureEnd(stream, &model), 107033,
                text("aclmdlRICaptureEnd: the task group on the stream %p was begun and not ended", stream));
    CHECK_FAILS(aclmdlRICaptureTaskUpdateEnd(stream), 107033,
                text("aclmdlRICaptureTaskUpdateEnd: argument stream: expected one that is updating a task group, got "
                     "%p, which is not", stream));
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(stream, op.group));
    CHECK_FAILS(aclmdlRICaptureTaskUpdateBegin(op.updates, op.group), 107033,
                text("aclmdlRICaptureTaskUpdateBegin: argument handle: expected a task group that no other update has "
                     "open, got %p", op.group));
    CHECK_EQ(aclmdlRICaptureTaskUpdateEnd(stream), 107033);  // without tasks
    op.update(5, 6);
}

TEST(a_task_beside_an_open_group_interrupts_the_capture) {
    const aclrtStream first = make_stream(), second = make_stream();
    const aclrtEvent fork = make_event();
    begin(first);
    CHECK_OK(aclrtRecordEvent(fork, first));
    CHECK_OK(aclrtStreamWaitEvent(second, fork));
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(first));
    CHECK_FAILS(aclrtLaunchHostFunc(second, [](void*) {}, nullptr), 107034,
                text("aclrtLaunchHostFunc: while a task group is open, expected tasks on its stream only, got one on "
                     "the captured stream %p", second));
    check_invalidated(first, "aclrtLaunchHostFunc: while a task group is open");
}

TEST(a_group_lives_as_long_as_its_graph) {
    Updatable op;
    const aclrtStream stream = make_stream();
    begin(stream);
    CHECK_OK(aclmdlRICaptureTaskGrpBegin(stream));
    const aclrtTaskGrp early = end_group(stream);
    CHECK_FAILS(aclmdlRICaptureTaskUpdateBegin(op.updates, early), 107026,
                text("aclmdlRICaptureTaskUpdateBegin: argument handle: expected a task group of a model whose capture "
                     "has ended, got %p", early));
    CHECK_EQ(aclrtStreamWaitEvent(nullptr, early), 107000);
    CHECK_OK(aclmdlRIDestroy(end(stream)));
    const std::string destroyed = "aclmdlRICaptureTaskUpdateBegin: argument handle: expected a live task group, got "
                                  "the task group %p, which was destroyed";
    CHECK_FAILS(aclmdlRICaptureTaskUpdateBegin(op.updates, early), 107000, text(destroyed.c_str(), early));
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(op.updates, op.group));
    append(op.updates, op.number, 5);
    append(op.updates, op.number, 6);
    CHECK_OK(aclmdlRIDestroy(op.model));
    CHECK_OK(aclmdlRICaptureTaskUpdateEnd(op.updates));  // changes what nobody can run, and harms nothing
    CHECK_FAILS(aclmdlRICaptureTaskUpdateBegin(op.updates, op.group), 107000, text(destroyed.c_str(), op.group));
    CHECK_OK(aclrtSynchronizeStream(op.updates));
}

// A graph of two streams that both wait for what nobody records.
static aclmdlRI make_endless(aclrtStream first) {
    const aclrtStream second = make_stream();
    const aclrtEvent fork = make_event(), join = make_event(), never = make_event(ACL_EVENT_EXTERNAL);
    begin(first);
    CHECK_OK(aclrtRecordEvent(fork, first));
    CHECK_OK(aclrtStreamWaitEvent(second, fork));
    CHECK_OK(aclrtStreamWaitEvent(second, never));
    CHECK_OK(aclrtRecordEvent(join, second));
    CHECK_OK(aclrtStreamWaitEvent(first, never));
    CHECK_OK(aclrtStreamWaitEvent(first, join));
    return end(first);
}

TEST(replays_that_wait_for_ever_do_not_hold_up_the_end) {
    const Updatable op;
    CHECK_OK(aclmdlRIExecuteAsync(op.model, op.capture));
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(op.updates, op.group));
    const aclrtStream next = make_stream(), stream = make_stream();
    CHECK_OK(aclmdlRIExecuteAsync(op.model, next));  // after the first run
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(next, 20), 507046);
    CHECK_OK(aclmdlRIExecuteAsync(make_endless(stream), stream));
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    CHECK_OK(aclFinalize());  // returns, whatever still waits
    CHECK_OK(aclInit(nullptr));
}

// ------------------------------------------------------------------------------------------- updates that never come

// Run with MINDTORCH_SIM_TIMEOUT=1. The second wait of the failed run does not block again, and the flags are in step.
SCENARIO(a_run_without_a_record) {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    const aclrtStream stream = make_stream(), side = make_stream();
    const aclrtEvent first = make_event(ACL_EVENT_EXTERNAL), second = make_event(ACL_EVENT_EXTERNAL);
    long* number = make_number();
    begin(stream);
    for (const aclrtEvent event : {first, second}) {
        CHECK_OK(aclrtStreamWaitEvent(stream, event));
        CHECK_OK(aclrtResetEvent(event, stream));
        append(stream, number, 1);
    }
    const aclmdlRI model = end(stream);
    CHECK_OK(aclmdlRIExecuteAsync(model, stream));
    const auto started = std::chrono::steady_clock::now();
    CHECK_EQ(aclrtSynchronizeStream(stream), 507011);
    const auto took = std::chrono::steady_clock::now() - started;
    CHECK(took > std::chrono::milliseconds(900));
    CHECK(took < std::chrono::milliseconds(1900));  // one wait, not two
    const std::string message = aclGetRecentErrMsg();
    CHECK(message.find("nobody recorded it for 1 s") != std::string::npos);
    CHECK_EQ(download(number, 1)[0], 0);
    for (const aclrtEvent event : {first, second}) {
        CHECK_OK(aclrtRecordEvent(event, side));
    }
    run(model, stream);
    CHECK_EQ(download(number, 1)[0], 11);
    return 0;
}

TEST(a_run_that_nobody_lets_go_fails_in_time) {
    CHECK_EQ(run_scenario("a_run_without_a_record", "MINDTORCH_SIM_TIMEOUT", "1"), 0);
}

TEST(what_an_idle_stream_does_at_once_comes_after_what_was_queued) {
    const aclrtStream stream = make_stream(), side = make_stream();
    const aclrtEvent event = make_event(ACL_EVENT_EXTERNAL);
    CHECK_OK(aclrtRecordEvent(event, side));  // nothing is queued: it is set when the call returns
    CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK_OK(aclrtResetEvent(event, side));
    Gate gate;
    gate.block(stream);
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtSynchronizeStream(side));
    CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    gate.open();
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
}
