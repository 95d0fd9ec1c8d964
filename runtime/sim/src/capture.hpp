// A capture in progress, and updates of what was captured: the recorders that streams give their tasks to.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "event.hpp"
#include "model.hpp"
#include "recorder.hpp"
#include "stream.hpp"

namespace mtsim {

class Capture final : public Recorder, public std::enable_shared_from_this<Capture> {
public:
    Capture(std::shared_ptr<Model> model, std::shared_ptr<Stream> origin, aclmdlRICaptureMode mode);

    aclError record(const char* function, Stream& stream, std::shared_ptr<CapturedTask> task) override;
    aclError refuse(const char* function, Stream& stream) override;
    aclError bypass(const char* function, Stream& stream) override;

    // Where `stream` is now.
    aclError mark(const char* function, const Stream& stream, Mark* mark);

    // `stream`, which this capture records, waits for the mark of an event that was recorded in capture `other` (NULL:
    // in none). Or joins this capture by waiting for a mark of it.
    aclError wait(const char* function, const Stream& stream, const std::shared_ptr<Capture>& other, const Mark& mark);
    aclError join(const char* function, const std::shared_ptr<Stream>& stream, const Mark& mark);

    aclError begin_group(const char* function, const Stream& stream);
    aclError end_group(const char* function, const Stream& stream, std::vector<std::size_t>* tasks);

    // Ends the capture, with an error where its tasks are no graph. `over` says whether it did end.
    aclError end(const char* function, const Stream& stream, bool* over);
    void cancel();  // without a graph

    // Makes the capture fail at its end, and the calling function now.
    aclError invalidate(aclError code, const char* function, std::string reason);

    // Whether the calling thread may copy synchronously; else fails `function` with `code`.
    aclError allow_synchronous(const char* function, aclError code) const;

    bool over() const;
    bool invalidated() const;
    bool uses(const Context* context) const;
    bool uses_device(std::int32_t device) const;

    const std::shared_ptr<Model> model;
    const aclmdlRICaptureMode mode;

private:
    enum class State { kActive, kInvalidated, kOver };

    struct Member {  // a captured stream; its index is that of its lane
        std::shared_ptr<Stream> stream;
        std::vector<std::size_t> seen;  // of each lane, the steps that happen before this one's next; its own included
        std::size_t last_work = 0;      // steps up to its last task, or to its joining
        std::optional<std::vector<std::size_t>> group;  // the open task group
    };

    aclError require_active(const char* function) const;
    aclError forbid_synchronous(const char* function, aclError code) const;
    aclError find(const char* function, const Stream& stream, std::size_t* lane) const;
    void await(std::size_t lane, const Mark& mark);
    aclError check(const char* function) const;
    void release();

    const std::thread::id thread_ = std::this_thread::get_id();
    mutable std::mutex mutex_;  // guards what follows, and the model until it is ready
    State state_ = State::kActive;
    std::string reason_;
    std::vector<Member> members_;
};

// The capture that records `stream`; NULL when none does.
std::shared_ptr<Capture> capture_of(const Stream& stream);

// The capture in which `event` was last recorded, and where; NULL when in none or when it is over.
std::shared_ptr<Capture> capture_of(const Event& event, Mark* mark = nullptr);

// Takes the tasks that will replace those of a group.
class Update final : public Recorder {
public:
    Update(std::shared_ptr<Model> model, std::shared_ptr<TaskGroup> group);
    ~Update() override;

    aclError record(const char* function, Stream& stream, std::shared_ptr<CapturedTask> task) override;
    aclError refuse(const char* function, Stream& stream) override;
    aclError bypass(const char* function, Stream& stream) override;

    // Queues the replacement on `stream`, which no longer records.
    aclError finish(const char* function, Stream& stream);

private:
    const std::shared_ptr<Model> model_;
    const std::shared_ptr<TaskGroup> group_;
    std::mutex mutex_;
    std::vector<std::shared_ptr<CapturedTask>> tasks_;
    bool mismatched_ = false;
};

// The captures that are not over.
class Captures {
public:
    void add(std::shared_ptr<Capture> capture);
    void remove(const Capture* capture);
    std::vector<std::shared_ptr<Capture>> all() const;

    // Fails `function` with `code`, 107030 or 107041, when some capture's mode forbids it to copy synchronously.
    aclError allow_synchronous(const char* function, aclError code) const;

private:
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<Capture>> captures_;
    std::atomic<std::size_t> count_{0};  // spares copies the lock while nothing is captured
};

}  // namespace mtsim
