#include "event.hpp"

#include "capture.hpp"
#include "error.hpp"
#include "runtime.hpp"
#include "spin.hpp"
#include "stream.hpp"

namespace mtsim {

// ------------------------------------------------------------------------------------------------ Recording

void Recording::complete(aclError status, std::string message) {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        status_ = status;
        message_ = std::move(message);
        time_ = std::chrono::steady_clock::now();
        done_.store(true, std::memory_order_release);
    }
    changed_.notify_all();
}

bool Recording::wait(const std::function<bool()>& give_up,
                     std::optional<std::chrono::steady_clock::time_point> deadline) {
    const auto over = [&] { return done() || give_up(); };
    std::unique_lock<std::mutex> lock(mutex_);
    if (deadline) {
        return changed_.wait_until(lock, *deadline, over);
    }
    changed_.wait(lock, over);
    return true;
}

void Recording::poke() {
    std::lock_guard<std::mutex> lock(mutex_);
    changed_.notify_all();
}

// ---------------------------------------------------------------------------------------------------- Event

Event::Event(EventKind kind, bool timed) : kind_(kind), timed_(timed), latest_(std::make_shared<Recording>()) {
    if (kind == EventKind::kEx) {
        latest_->complete(ACL_SUCCESS, std::string());
    }
}

std::shared_ptr<Recording> Event::begin_recording() {
    std::lock_guard<std::mutex> lock(mutex_);
    // A pending recording that nobody started yet may already be waited for: it is the one to complete.
    if (recorded_ || latest_->done()) {
        latest_ = std::make_shared<Recording>();
    }
    recorded_ = true;
    mark_.reset();
    return latest_;
}

void Event::complete(aclError status, const std::string& message) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (latest_->done()) {
        latest_ = std::make_shared<Recording>();
    }
    recorded_ = true;
    latest_->complete(status, message);
}

void Event::set_mark(Mark mark) {
    std::lock_guard<std::mutex> lock(mutex_);
    mark_ = std::move(mark);
}

std::optional<Mark> Event::mark() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return mark_;
}

void Event::reset() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (recorded_ || latest_->done()) {
        latest_ = std::make_shared<Recording>();
    }
    recorded_ = false;
}

std::shared_ptr<Recording> Event::latest() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return latest_;
}

bool Event::was_recorded() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return recorded_;
}

namespace {

// ---------------------------------------------------------------------------------------------------- tasks

// The tasks of external events read and change the event when they run, every time.
struct SetTask {
    static constexpr bool kAlways = true;
    static constexpr bool kAtOnce = true;
    static constexpr const char* kKind = "event record";
    std::shared_ptr<Event> event;
    void run(Stream& stream) {
        const std::optional<Failure> failure = stream.failure();
        event->complete(failure ? failure->code : ACL_SUCCESS, failure ? failure->message : std::string());
    }
};

struct ClearTask {
    static constexpr bool kAlways = true;
    static constexpr const char* kKind = "event reset";
    std::shared_ptr<Event> event;
    void run(Stream&) { event->reset(); }
};

// A replay that waited for one flag in vain waits for no other. One that failed otherwise does: its update may come.
struct WaitForFlagTask {
    static constexpr bool kAlways = true;
    static constexpr const char* kKind = "event wait";
    std::shared_ptr<Event> event;
    void run(Stream& stream) {
        const std::chrono::seconds limit(Runtime::get().config.timeout);
        if (stream.replay_forsaken()) {
            return;
        }
        if (!stream.wait_for(event->latest(), limit)) {
            stream.forsake_replay();
            stream.set_failure(ACL_ERROR_RT_AICORE_TIMEOUT,
                               format("the wait for the external event %p: nobody recorded it for %lld s, as when a "
                                      "captured graph is replayed without an update (MINDTORCH_SIM_TIMEOUT is the "
                                      "limit in seconds, 0 for none)", event->handle,
                                      static_cast<long long>(limit.count())));
        }
    }
};

// Completes its recording when it runs, and also when it is dropped unrun, as others may wait for it.
class RecordTask {
public:
    static constexpr bool kAlways = true;
    static constexpr const char* kKind = nullptr;

    explicit RecordTask(std::shared_ptr<Recording> recording) : recording_(std::move(recording)) {}
    RecordTask(RecordTask&&) = default;
    ~RecordTask() {
        if (recording_ != nullptr) {
            recording_->complete(ACL_ERROR_RT_INTERNAL_ERROR, "the stream ended before it reached the event");
        }
    }
    void run(Stream& stream) {
        const std::optional<Failure> failure = stream.failure();
        const std::shared_ptr<Recording> recording = std::exchange(recording_, nullptr);
        recording->complete(failure ? failure->code : ACL_SUCCESS, failure ? failure->message : std::string());
    }

    Label label() const { return Label{"event record", std::string()}; }

private:
    std::shared_ptr<Recording> recording_;
};

struct WaitTask {
    static constexpr bool kAlways = true;
    static constexpr const char* kKind = nullptr;
    std::shared_ptr<Recording> recording;
    void run(Stream& stream) { stream.wait_for(recording); }
    Label label() const { return Label{"event wait", std::string()}; }
};

aclError create(const char* function, aclrtEvent* event, EventKind kind, bool timed) {
    MTSIM_TRY(require_pointer(function, "event", event));
    const Context* context = nullptr;
    MTSIM_TRY(require_context(function, &context));
    const auto created = std::make_shared<Event>(kind, timed);
    Runtime::get().events.add(created);
    *event = created->handle;
    return ACL_SUCCESS;
}

// Finds the capture that records `stream`, NULL when none does. Fails when it is an update, where events have no place.
aclError find_capture(const char* function, Stream& stream, std::shared_ptr<Capture>* capture) {
    const std::shared_ptr<Recorder> recorder = stream.recorder();
    *capture = std::dynamic_pointer_cast<Capture>(recorder);
    return recorder != nullptr && *capture == nullptr ? recorder->refuse(function, stream) : ACL_SUCCESS;
}

aclError require_uncaptured(const char* function, const Event& event) {
    const std::shared_ptr<Capture> capture = capture_of(event);
    if (capture == nullptr) {
        return ACL_SUCCESS;
    }
    return capture->invalidate(ACL_ERROR_RT_EVENT_CAPTURED, function,
                               format("the event %p was recorded in a capture, which does not allow this call before "
                                      "aclmdlRICaptureEnd", event.handle));
}

}  // namespace
}  // namespace mtsim

using namespace mtsim;

aclError aclrtCreateEvent(aclrtEvent* event) { return create("aclrtCreateEvent", event, EventKind::kPlain, true); }

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
    constexpr uint32_t known =
        ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE | ACL_EVENT_EXTERNAL;
    if (flag == 0 || (flag & ~known) != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCreateEventExWithFlag",
                    "argument flag: expected a combination of 0x1, 0x2, 0x8 and 0x20, got 0x%x", flag);
    }
    const EventKind kind = (flag & ACL_EVENT_EXTERNAL) != 0 ? EventKind::kExternal : EventKind::kEx;
    return create("aclrtCreateEventExWithFlag", event, kind, (flag & ACL_EVENT_TIME_LINE) != 0);
}

aclError aclrtDestroyEvent(aclrtEvent event) {
    std::shared_ptr<Event> found;
    MTSIM_TRY(Runtime::get().events.require("aclrtDestroyEvent", "event", event, &found));
    Runtime::get().events.remove(event);
    return ACL_SUCCESS;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    std::shared_ptr<Event> found;
    std::shared_ptr<Stream> target;
    MTSIM_TRY(Runtime::get().events.require("aclrtRecordEvent", "event", event, &found));
    MTSIM_TRY(require_stream("aclrtRecordEvent", stream, &target));
    if (found->external()) {
        return target->push("aclrtRecordEvent", SetTask{found});
    }
    std::shared_ptr<Capture> capture;
    MTSIM_TRY(find_capture("aclrtRecordEvent", *target, &capture));
    if (capture != nullptr) {
        Mark mark;
        MTSIM_TRY(capture->mark("aclrtRecordEvent", *target, &mark));
        found->set_mark(std::move(mark));
        return ACL_SUCCESS;
    }
    return target->push("aclrtRecordEvent", RecordTask(found->begin_recording()));
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    const char* function = "aclrtStreamWaitEvent";
    std::shared_ptr<Event> found;
    std::shared_ptr<Stream> target;
    MTSIM_TRY(Runtime::get().events.require(function, "event", event, &found));
    MTSIM_TRY(require_stream(function, stream, &target));
    if (found->external()) {
        return target->push(function, WaitForFlagTask{found});
    }
    Mark mark;
    std::shared_ptr<Capture> capture;
    MTSIM_TRY(find_capture(function, *target, &capture));
    const std::shared_ptr<Capture> recorded_in = capture_of(*found, &mark);
    if (capture != nullptr) {
        return capture->wait(function, *target, recorded_in, mark);
    }
    if (recorded_in != nullptr && stream == nullptr) {
        return recorded_in->invalidate(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, function,
                                       "argument stream: the default stream cannot join a capture, which waiting for "
                                       "an event that was recorded in one does");
    }
    if (recorded_in != nullptr) {
        return recorded_in->join(function, target, mark);
    }
    std::shared_ptr<Recording> recording = found->latest();
    return recording->done() ? ACL_SUCCESS : target->push(function, WaitTask{std::move(recording)});
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    std::shared_ptr<Event> found;
    std::shared_ptr<Stream> target;
    MTSIM_TRY(Runtime::get().events.require("aclrtResetEvent", "event", event, &found));
    MTSIM_TRY(require_stream("aclrtResetEvent", stream, &target));
    if (found->external()) {
        return target->push("aclrtResetEvent", ClearTask{found});
    }
    MTSIM_TRY(require_uncaptured("aclrtResetEvent", *found));
    if (const std::shared_ptr<Recorder> recorder = target->recorder()) {
        return recorder->refuse("aclrtResetEvent", *target);  // only an external event is reset by the stream
    }
    found->reset();  // what was queued before holds its own recording, so nothing has to wait for the stream
    return ACL_SUCCESS;
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
    std::shared_ptr<Event> found;
    MTSIM_TRY(require_pointer("aclrtQueryEventStatus", "status", status));
    MTSIM_TRY(Runtime::get().events.require("aclrtQueryEventStatus", "event", event, &found));
    MTSIM_TRY(require_uncaptured("aclrtQueryEventStatus", *found));
    *status = found->latest()->done() ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
    std::shared_ptr<Event> found;
    MTSIM_TRY(Runtime::get().events.require("aclrtSynchronizeEvent", "event", event, &found));
    MTSIM_TRY(require_uncaptured("aclrtSynchronizeEvent", *found));
    const std::shared_ptr<Recording> recording = found->latest();
    if (!recording->done() && !found->was_recorded() && !found->external()) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSynchronizeEvent",
                    "argument event: expected an event that was recorded since it was created or reset, got %p, which "
                    "was not and would be waited for forever", event);
    }
    static Spin spin;
    if (!spin.until([&] { return recording->done(); })) {
        recording->wait([] { return false; });
    }
    if (recording->status() != ACL_SUCCESS) {
        return fail(recording->status(), "aclrtSynchronizeEvent", "%s", recording->message().c_str());
    }
    return ACL_SUCCESS;
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
    const char* function = "aclrtEventElapsedTime";
    const char* names[] = {"startEvent", "endEvent"};
    const aclrtEvent handles[] = {startEvent, endEvent};
    std::chrono::steady_clock::time_point times[2];
    MTSIM_TRY(require_pointer(function, "ms", ms));
    for (int i = 0; i < 2; ++i) {
        std::shared_ptr<Event> event;
        MTSIM_TRY(Runtime::get().events.require(function, names[i], handles[i], &event));
        MTSIM_TRY(require_uncaptured(function, *event));
        const std::shared_ptr<Recording> recording = event->latest();
        const char* problem = !event->timed()          ? "was created without ACL_EVENT_TIME_LINE"
                              : !event->was_recorded() ? "was not recorded"
                              : !recording->done()     ? "has not completed yet"
                                                       : nullptr;
        if (problem != nullptr) {
            return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, function,
                        "argument %s: expected a completed event with a time stamp, got %p, which %s", names[i],
                        handles[i], problem);
        }
        times[i] = recording->time();
    }
    if (times[1] < times[0]) {
        return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, function,
                    "argument endEvent: expected an event that completed after startEvent, got one that did before");
    }
    *ms = std::chrono::duration<float, std::milli>(times[1] - times[0]).count();
    return ACL_SUCCESS;
}
