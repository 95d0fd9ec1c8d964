// The timeline: what ran on which stream and when, on the clock of the host, and nothing where nobody records.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "check.hpp"
#include "gate.hpp"
#include "graph.hpp"

static std::vector<mtsim_timed> take_all() {
    std::vector<mtsim_timed> spans;
    mtsim_timed some[7];
    while (const size_t count = mtsim_timeline_take(some, 7)) {
        spans.insert(spans.end(), some, some + count);
    }
    return spans;
}

static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

static void nothing(const void*) {}

static void launch_nothing(aclrtStream stream, const char* name = "nothing", uint32_t blocks = 1) {
    CHECK_OK(mtsim_launch(name, blocks, stream, nothing, nullptr, 0));
}

TEST(kernels_have_a_begin_and_an_end_on_the_clock_of_the_host) {
    aclrtStream stream = make_stream();
    launch_nothing(stream, "before");
    CHECK_OK(aclrtSynchronizeStream(stream));
    const int64_t start = now();
    mtsim_timeline_start(1000);
    launch_nothing(stream, "first", 3);
    launch_nothing(stream, "second");
    CHECK_OK(aclrtSynchronizeStream(stream));
    mtsim_timeline_stop();
    const int64_t stop = now();
    launch_nothing(stream, "after");
    CHECK_OK(aclrtSynchronizeStream(stream));
    const std::vector<mtsim_timed> spans = take_all();
    CHECK_EQ(spans.size(), size_t{2});
    CHECK_EQ(std::string(spans[0].name), "first");
    CHECK_EQ(std::string(spans[1].name), "second");
    int64_t last = start;
    for (const mtsim_timed& span : spans) {
        CHECK_EQ(std::string(span.kind), "kernel");
        CHECK_EQ(span.stream, stream);
        CHECK_EQ(span.thread, static_cast<uint32_t>(syscall(SYS_gettid)));
        CHECK(start <= span.queued && span.queued <= span.begin);
        CHECK(last <= span.begin && span.begin <= span.end);  // one after the other
        CHECK(span.end <= stop);
        last = span.end;
    }
    CHECK_EQ(spans[0].blocks, 3u);
    CHECK_EQ(mtsim_timeline_dropped(), size_t{0});
}

TEST(copies_fills_and_events_are_told_apart) {
    aclrtStream stream = make_stream(), other = make_stream();
    aclrtEvent event = make_event();
    long* device = upload(std::vector<long>(64));
    void* host = nullptr;
    CHECK_OK(aclrtMallocHost(&host, 512));
    Gate gate;
    mtsim_timeline_start(1000);
    CHECK_OK(aclrtMemcpyAsync(host, 512, device, 512, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    CHECK_OK(aclrtMemsetAsync(device, 512, 0, 256, stream));
    gate.block(stream);
    CHECK_OK(aclrtRecordEvent(event, stream));
    CHECK_OK(aclrtStreamWaitEvent(other, event));
    gate.open();
    CHECK_OK(aclrtSynchronizeStream(other));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtMemcpy(device, 512, host, 128, ACL_MEMCPY_HOST_TO_DEVICE));
    mtsim_timeline_stop();
    std::string kinds;
    for (const mtsim_timed& span : take_all()) {
        const std::string kind = span.kind;
        if (kind == "event wait") {
            CHECK_EQ(span.stream, other);
        } else if (kind == "event record") {
            CHECK_EQ(span.stream, stream);
        } else {
            kinds += text("%s %s %d, ", span.kind, span.name, static_cast<int>(span.bytes));
            CHECK_EQ(span.stream, span.bytes == 128 ? nullptr : stream);  // the host's own copy
        }
    }
    CHECK_EQ(kinds, "copy device to host 512, fill  256, host function  0, copy host to device 128, ");
    CHECK_OK(aclrtFreeHost(host));
}

TEST(a_graph_is_a_span_around_its_kernels) {
    aclrtStream stream = make_stream(), side = make_stream();
    aclrtEvent fork = make_event(), join = make_event();
    begin(stream);
    launch_nothing(stream, "main");
    CHECK_OK(aclrtRecordEvent(fork, stream));
    CHECK_OK(aclrtStreamWaitEvent(side, fork));
    launch_nothing(side, "side");
    CHECK_OK(aclrtRecordEvent(join, side));
    CHECK_OK(aclrtStreamWaitEvent(stream, join));
    aclmdlRI model = end(stream);
    mtsim_timeline_start(1000);
    CHECK_OK(aclmdlRIExecuteAsync(model, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    mtsim_timeline_stop();
    const std::vector<mtsim_timed> spans = take_all();
    CHECK_EQ(spans.size(), size_t{3});
    const mtsim_timed& graph = spans[2];
    CHECK_EQ(std::string(graph.kind), "graph");
    uint32_t lanes = 0;
    for (size_t i = 0; i < 2; ++i) {
        CHECK_EQ(std::string(spans[i].name), spans[i].lane == 0 ? "main" : "side");
        CHECK(graph.begin <= spans[i].begin && spans[i].end <= graph.end);
        CHECK_EQ(spans[i].queued, graph.queued);
        lanes += spans[i].lane;
    }
    CHECK_EQ(lanes, 1u);
    CHECK_OK(aclmdlRIDestroy(model));
}

TEST(no_more_is_kept_than_was_asked_for) {
    aclrtStream stream = make_stream();
    mtsim_timeline_start(10);
    for (int i = 0; i < 25; ++i) {
        launch_nothing(stream);
    }
    CHECK_OK(aclrtSynchronizeStream(stream));
    mtsim_timeline_stop();
    CHECK_EQ(mtsim_timeline_dropped(), size_t{15});
    CHECK_EQ(take_all().size(), size_t{10});
    mtsim_timeline_start(10);  // anew
    CHECK_EQ(mtsim_timeline_dropped(), size_t{0});
    mtsim_timeline_stop();
}

TEST(a_task_from_before_the_recording_is_left_out_and_a_stamp_too) {
    aclrtStream stream = make_stream();
    Gate gate;
    mtsim_timeline_start(10);
    launch_nothing(stream, "stamped");
    CHECK_OK(aclrtSynchronizeStream(stream));
    mtsim_timeline_stop();
    gate.block(stream);
    launch_nothing(stream, "queued before");
    mtsim_timeline_start(10);
    gate.open();
    CHECK_OK(aclrtSynchronizeStream(stream));
    mtsim_timeline_stop();
    for (const mtsim_timed& span : take_all()) {
        CHECK_EQ(span.queued, int64_t{0});  // nobody noted it
        CHECK_EQ(span.thread, 0u);
    }
}

TEST(streams_record_while_the_timeline_comes_and_goes) {
    std::vector<std::thread> threads;
    std::atomic<bool> done{false};
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            CHECK_OK(aclrtSetDevice(0));
            aclrtStream stream = make_stream();
            while (!done.load()) {
                for (int k = 0; k < 50; ++k) {
                    launch_nothing(stream, "busy", 2);
                }
                CHECK_OK(aclrtSynchronizeStream(stream));
            }
            CHECK_OK(aclrtDestroyStream(stream));
        });
    }
    size_t seen = 0;
    for (int round = 0; round < 40; ++round) {
        mtsim_timeline_start(5000);
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        seen += take_all().size();  // also while it runs
        mtsim_timeline_stop();
        for (const mtsim_timed& span : take_all()) {
            CHECK(span.begin <= span.end);
            CHECK(span.queued == 0 || span.queued <= span.begin);
            ++seen;
        }
    }
    done.store(true);
    for (std::thread& thread : threads) {
        thread.join();
    }
    CHECK(seen > 0);
}
