// Events: order between streams, snapshots, time stamps.
#include <atomic>
#include <thread>

#include "check.hpp"
#include "gate.hpp"

static aclrtStream make_stream() {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    return stream;
}

static aclrtEvent make_event() {
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEvent(&event));
    return event;
}

static aclrtEvent make_event_ex(uint32_t flag) {
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEventExWithFlag(&event, flag));
    return event;
}

static aclrtEventRecordedStatus query(aclrtEvent event) {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    CHECK_OK(aclrtQueryEventStatus(event, &status));
    return status;
}

TEST(a_stream_waits_for_an_event_of_another) {
    const aclrtStream producer = make_stream(), consumer = make_stream();
    const aclrtEvent event = make_event_ex(ACL_EVENT_SYNC);
    Gate gate;
    int* device = upload(std::vector<int>{0, 0});
    gate.block(producer);
    CHECK_OK(aclrtMemsetAsync(device, 4, 1, 4, producer));
    CHECK_OK(aclrtRecordEvent(event, producer));
    CHECK_OK(aclrtStreamWaitEvent(consumer, event));
    CHECK_OK(aclrtMemcpyAsync(device + 1, 4, device, 4, ACL_MEMCPY_DEVICE_TO_DEVICE, consumer));
    CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(consumer, 5), 507046);
    gate.open();
    CHECK_OK(aclrtSynchronizeStream(consumer));
    CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK_EQ(download(device, 2)[1], 0x01010101);
}

TEST(a_wait_takes_a_snapshot_of_the_latest_record) {
    const aclrtStream first = make_stream(), second = make_stream(), waiter = make_stream();
    const aclrtEvent event = make_event_ex(ACL_EVENT_SYNC);
    Gate gate;
    CHECK_OK(aclrtRecordEvent(event, first));
    CHECK_OK(aclrtSynchronizeStream(first));
    CHECK_OK(aclrtStreamWaitEvent(waiter, event));
    gate.block(second);
    CHECK_OK(aclrtRecordEvent(event, second));  // again, and not done: the wait above must not care
    CHECK_OK(aclrtSynchronizeStream(waiter));
    CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_OK(aclrtStreamWaitEvent(waiter, event));
    CHECK_OK(aclrtDestroyEvent(event));  // nor does a queued wait need the event
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(waiter, 5), 507046);
    gate.open();
    CHECK_OK(aclrtSynchronizeStream(waiter));
    CHECK_FAILS(aclrtRecordEvent(event, first), 107000,
                text("aclrtRecordEvent: argument event: expected a live event, got the event %p, which was destroyed",
                     event));
}

TEST(an_unrecorded_ex_event_is_complete_and_a_plain_one_is_not) {
    const aclrtEvent ex = make_event_ex(ACL_EVENT_SYNC), plain = make_event();
    CHECK_EQ(query(ex), ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK_OK(aclrtSynchronizeEvent(ex));
    CHECK_EQ(query(plain), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_FAILS(aclrtSynchronizeEvent(plain), 107000,
                text("aclrtSynchronizeEvent: argument event: expected an event that was recorded since it was created "
                     "or reset, got %p, which was not and would be waited for forever", plain));
}

TEST(a_plain_event_can_be_waited_for_before_it_is_recorded) {
    const aclrtStream producer = make_stream(), consumer = make_stream();
    const aclrtEvent event = make_event();
    for (int round = 0; round < 2; ++round) {
        CHECK_OK(aclrtStreamWaitEvent(consumer, event));
        CHECK_EQ(aclrtSynchronizeStreamWithTimeout(consumer, 5), 507046);
        CHECK_OK(aclrtRecordEvent(event, producer));
        CHECK_OK(aclrtSynchronizeStream(consumer));
        CHECK_OK(aclrtSynchronizeEvent(event));
        CHECK_OK(aclrtResetEvent(event, consumer));
        CHECK_EQ(query(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    }
}

TEST(elapsed_time_needs_two_completed_time_stamps) {
    const aclrtStream stream = make_stream();
    const aclrtEvent start = make_event(), end = make_event_ex(ACL_EVENT_TIME_LINE);
    const aclrtEvent untimed = make_event_ex(ACL_EVENT_SYNC);
    float ms = -1;
    CHECK_OK(aclrtRecordEvent(start, stream));
    CHECK_OK(aclrtSynchronizeEvent(start));
    const std::string wanted = "expected a completed event with a time stamp, got ";
    CHECK_FAILS(aclrtEventElapsedTime(&ms, start, untimed), 107006,
                "aclrtEventElapsedTime: argument endEvent: " + wanted +
                    text("%p, which was created without ACL_EVENT_TIME_LINE", untimed));
    CHECK_FAILS(aclrtEventElapsedTime(&ms, end, start), 107006,
                "aclrtEventElapsedTime: argument startEvent: " + wanted + text("%p, which was not recorded", end));
    const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(3)); };
    CHECK_OK(aclrtLaunchHostFunc(stream, sleep, nullptr));
    CHECK_OK(aclrtRecordEvent(end, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtEventElapsedTime(&ms, start, end));
    CHECK(ms >= 3.0f);
    CHECK_EQ(aclrtEventElapsedTime(&ms, end, start), 107007);
}

TEST(event_flags_are_checked) {
    aclrtEvent event = nullptr;
    CHECK_FAILS(aclrtCreateEventExWithFlag(&event, 0x4), 107000,
                "aclrtCreateEventExWithFlag: argument flag: expected a combination of 0x1, 0x2, 0x8 and 0x20, got 0x4");
    CHECK_FAILS(aclrtCreateEvent(nullptr), 107000, "aclrtCreateEvent: argument event: expected an address, got NULL");
}

TEST(an_event_reports_the_failure_of_its_stream) {
    const aclrtStream stream = make_stream();
    const aclrtEvent event = make_event_ex(ACL_EVENT_SYNC);
    CHECK_OK(mtsim_launch("bad", 1, stream, [](const void*) { mtsim_kernel_fault(507015, "broken"); }, nullptr, 0));
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_FAILS(aclrtSynchronizeEvent(event), 507015, "aclrtSynchronizeEvent: kernel bad, block 0 of 1: broken");
    CHECK_EQ(aclrtSynchronizeStream(stream), 507015);
}

TEST(a_stream_that_ends_releases_those_who_wait_for_its_events) {
    const aclrtStream waiter = make_stream();
    aclrtContext mine = nullptr, other = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&mine));
    CHECK_OK(aclrtCreateContext(&other, 1));
    const aclrtEvent never = make_event(), event = make_event();
    CHECK_OK(aclrtStreamWaitEvent(nullptr, never));  // holds the other context's stream for good
    CHECK_OK(aclrtRecordEvent(event, nullptr));
    CHECK_OK(aclrtSetCurrentContext(mine));
    CHECK_OK(aclrtStreamWaitEvent(waiter, event));
    CHECK_OK(aclrtDestroyContext(other));
    CHECK_OK(aclrtSynchronizeStream(waiter));
    CHECK_FAILS(aclrtSynchronizeEvent(event), 507000,
                "aclrtSynchronizeEvent: the stream ended before it reached the event");
}
