#include "capture.hpp"

#include <algorithm>

#include "error.hpp"

namespace mtsim {

Capture::Capture(std::shared_ptr<Model> graph, std::shared_ptr<Stream> origin, aclmdlRICaptureMode chosen)
    : model(std::move(graph)), mode(chosen) {
    Member member;
    member.stream = std::move(origin);
    member.seen.resize(model->add_lane() + 1);
    members_.push_back(std::move(member));
}

// ---------------------------------------------------------------------------------------------------- tasks

aclError Capture::record(const char* function, Stream& stream, std::shared_ptr<CapturedTask> task) {
    std::unique_lock<std::mutex> lock(mutex_);
    std::size_t lane = 0;
    MTSIM_TRY(require_active(function));
    MTSIM_TRY(find(function, stream, &lane));
    Member& member = members_[lane];
    const auto has_group = [](const Member& other) { return other.group.has_value(); };
    if (!member.group && std::any_of(members_.begin(), members_.end(), has_group)) {
        lock.unlock();
        return invalidate(ACL_ERROR_STREAM_TASK_GROUP_INTR, function,
                          format("while a task group is open, expected tasks on its stream only, got one on the "
                                 "captured stream %p", stream.handle));
    }
    const std::size_t index = model->add_task(lane, std::move(task));
    if (member.group) {
        member.group->push_back(index);
    }
    member.last_work = member.seen[lane] = model->length(lane);
    return ACL_SUCCESS;
}

aclError Capture::refuse(const char* function, Stream& stream) {
    return invalidate(ACL_ERROR_RT_STREAM_CAPTURED, function,
                      format("the stream %p is being captured, which does not allow this call before "
                             "aclmdlRICaptureEnd", stream.handle));
}

aclError Capture::bypass(const char* function, Stream&) {
    const bool relaxed = mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    return relaxed ? ACL_SUCCESS : forbid_synchronous(function, ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC);
}

// --------------------------------------------------------------------------------------------------- events

aclError Capture::mark(const char* function, const Stream& stream, Mark* mark) {
    std::lock_guard<std::mutex> lock(mutex_);
    MTSIM_TRY(require_active(function));
    MTSIM_TRY(find(function, stream, &mark->lane));
    mark->capture = weak_from_this();
    mark->seen = members_[mark->lane].seen;
    return ACL_SUCCESS;
}

aclError Capture::wait(const char* function, const Stream& stream, const std::shared_ptr<Capture>& other,
                       const Mark& mark) {
    if (other == nullptr) {
        return invalidate(ACL_ERROR_RT_CAPTURE_DEPENDENCY, function,
                          format("argument event: the captured stream %p can only wait for an event that was recorded "
                                 "in the same capture, or for an external one", stream.handle));
    }
    if (other.get() != this) {
        const std::string reason = format("argument event: expected one that was recorded in the capture of stream "
                                          "%p, got one of another capture", stream.handle);
        other->invalidate(ACL_ERROR_STREAM_CAPTURE_CONFLICT, function, reason);
        return invalidate(ACL_ERROR_STREAM_CAPTURE_CONFLICT, function, reason);
    }
    std::lock_guard<std::mutex> lock(mutex_);
    std::size_t lane = 0;
    MTSIM_TRY(require_active(function));
    MTSIM_TRY(find(function, stream, &lane));
    if (members_[lane].seen[mark.lane] < mark.seen[mark.lane]) {  // else it has waited for as much before
        await(lane, mark);
    }
    return ACL_SUCCESS;
}

aclError Capture::join(const char* function, const std::shared_ptr<Stream>& stream, const Mark& mark) {
    if (!stream->start_recording(shared_from_this())) {
        return fail(ACL_ERROR_STREAM_CAPTURE_CONFLICT, function, "the stream %p began to record on another thread",
                    stream->handle);
    }
    std::unique_lock<std::mutex> lock(mutex_);
    if (aclError code = require_active(function)) {
        lock.unlock();
        stream->stop_recording();
        return code;
    }
    const std::size_t lane = model->add_lane();
    for (Member& member : members_) {
        member.seen.resize(lane + 1);
    }
    members_.push_back(Member{stream, std::vector<std::size_t>(lane + 1), 0, std::nullopt});
    await(lane, mark);
    members_[lane].last_work = model->length(lane);  // so that even a stream without tasks has to come back
    return ACL_SUCCESS;
}

// Needs the lock.
void Capture::await(std::size_t lane, const Mark& mark) {
    std::vector<std::size_t>& seen = members_[lane].seen;
    model->add_wait(lane, mark.lane, mark.seen[mark.lane]);
    for (std::size_t i = 0; i < mark.seen.size(); ++i) {  // lanes that are newer than the mark are not in it
        seen[i] = std::max(seen[i], mark.seen[i]);
    }
    seen[lane] = model->length(lane);
}

// ---------------------------------------------------------------------------------------------- task groups

aclError Capture::begin_group(const char* function, const Stream& stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::size_t lane = 0;
    MTSIM_TRY(require_active(function));
    MTSIM_TRY(find(function, stream, &lane));
    if (members_[lane].group) {
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, function,
                    "expected no open task group on the stream %p, and one is open", stream.handle);
    }
    members_[lane].group.emplace();
    return ACL_SUCCESS;
}

aclError Capture::end_group(const char* function, const Stream& stream, std::vector<std::size_t>* tasks) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::size_t lane = 0;
    MTSIM_TRY(require_active(function));
    MTSIM_TRY(find(function, stream, &lane));
    if (!members_[lane].group) {
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, function,
                    "expected an open task group on the stream %p, and none is open", stream.handle);
    }
    *tasks = std::move(*members_[lane].group);
    members_[lane].group.reset();
    return ACL_SUCCESS;
}

// ------------------------------------------------------------------------------------------------------ end

aclError Capture::end(const char* function, const Stream& stream, bool* over) {
    std::unique_lock<std::mutex> lock(mutex_);
    *over = false;
    if (members_[0].stream.get() != &stream) {
        return fail(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, function,
                    "argument stream: expected %p, where the capture began, got %p, which joined it",
                    members_[0].stream->handle, stream.handle);
    }
    if (mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED && thread_ != std::this_thread::get_id()) {
        return fail(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, function,
                    "expected a call from the thread that began the capture of stream %p, whose mode is not RELAXED",
                    stream.handle);
    }
    const aclError code = check(function);
    lock.unlock();
    release();
    *over = true;
    return code;
}

void Capture::cancel() { release(); }

// Whether the tasks are a graph; needs the lock.
aclError Capture::check(const char* function) const {
    MTSIM_TRY(require_active(function));
    for (std::size_t lane = 0; lane < members_.size(); ++lane) {
        const Member& member = members_[lane];
        if (member.group) {
            return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, function,
                        "the task group on the stream %p was begun and not ended", member.stream->handle);
        }
        if (members_[0].seen[lane] < member.last_work) {
            return fail(ACL_ERROR_RT_STREAM_UNJOINED, function,
                        "the stream %p joined the capture of stream %p and did not come back: record an event after "
                        "its last task and make %p wait for it", member.stream->handle, members_[0].stream->handle,
                        members_[0].stream->handle);
        }
    }
    return ACL_SUCCESS;
}

void Capture::release() {
    std::unique_lock<std::mutex> lock(mutex_);
    state_ = State::kOver;
    std::vector<Member> members;
    members.swap(members_);
    lock.unlock();  // a stream's lock is never taken inside of this one
    for (const Member& member : members) {
        member.stream->stop_recording();
    }
}

// ---------------------------------------------------------------------------------------------------- state

aclError Capture::invalidate(aclError code, const char* function, std::string reason) {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (state_ == State::kActive) {
            state_ = State::kInvalidated;
            reason_ = std::string(function) + ": " + reason;
        }
    }
    return fail(code, function, "%s", reason.c_str());
}

// Needs the lock, as the following does.
aclError Capture::require_active(const char* function) const {
    if (state_ == State::kActive) {
        return ACL_SUCCESS;
    }
    if (state_ == State::kOver) {
        return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, function, "the capture ended meanwhile, on another thread");
    }
    return fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, function, "the capture was invalidated before by %s",
                reason_.c_str());
}

aclError Capture::find(const char* function, const Stream& stream, std::size_t* lane) const {
    const auto found = std::find_if(members_.begin(), members_.end(),
                                    [&](const Member& member) { return member.stream.get() == &stream; });
    if (found == members_.end()) {
        return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, function, "the stream %p is joining a capture on another thread",
                    stream.handle);
    }
    *lane = static_cast<std::size_t>(found - members_.begin());
    return ACL_SUCCESS;
}

aclError Capture::allow_synchronous(const char* function, aclError code) const {
    const bool here = mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL ||
                      (mode == ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL && thread_ == std::this_thread::get_id());
    return here && !over() ? forbid_synchronous(function, code) : ACL_SUCCESS;
}

aclError Capture::forbid_synchronous(const char* function, aclError code) const {
    constexpr const char* kNames[] = {"GLOBAL", "THREAD_LOCAL"};
    const char* what = code == ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC
                           ? "pageable host memory makes this copy synchronous, which"
                           : "a synchronous copy";
    return fail(code, function, "%s is not allowed during a capture in mode %s: copy asynchronously with memory of "
                "aclrtMallocHost, or capture in mode RELAXED", what, kNames[mode]);
}

bool Capture::over() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return state_ == State::kOver;
}

bool Capture::invalidated() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return state_ == State::kInvalidated;
}

bool Capture::uses(const Context* context) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::any_of(members_.begin(), members_.end(),
                       [=](const Member& member) { return member.stream->context == context; });
}

bool Capture::uses_device(std::int32_t device) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::any_of(members_.begin(), members_.end(),
                       [=](const Member& member) { return member.stream->device == device; });
}

std::shared_ptr<Capture> capture_of(const Stream& stream) {
    return std::dynamic_pointer_cast<Capture>(stream.recorder());
}

std::shared_ptr<Capture> capture_of(const Event& event, Mark* mark) {
    const std::optional<Mark> found = event.mark();
    std::shared_ptr<Capture> capture = found ? found->capture.lock() : nullptr;
    if (capture == nullptr || capture->over()) {
        return nullptr;
    }
    if (mark != nullptr) {
        *mark = *found;
    }
    return capture;
}

// ------------------------------------------------------------------------------------------------- Captures

void Captures::add(std::shared_ptr<Capture> capture) {
    std::lock_guard<std::mutex> lock(mutex_);
    captures_.push_back(std::move(capture));
    count_.store(captures_.size());
}

void Captures::remove(const Capture* capture) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto is_it = [=](const std::shared_ptr<Capture>& other) { return other.get() == capture; };
    captures_.erase(std::remove_if(captures_.begin(), captures_.end(), is_it), captures_.end());
    count_.store(captures_.size());
}

std::vector<std::shared_ptr<Capture>> Captures::all() const {
    if (count_.load() == 0) {
        return {};
    }
    std::lock_guard<std::mutex> lock(mutex_);
    return captures_;
}

aclError Captures::allow_synchronous(const char* function, aclError code) const {
    for (const auto& capture : all()) {
        MTSIM_TRY(capture->allow_synchronous(function, code));
    }
    return ACL_SUCCESS;
}

}  // namespace mtsim
