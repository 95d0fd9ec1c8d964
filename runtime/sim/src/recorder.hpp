// Streams that keep their tasks instead of running them: while a graph is captured, or updated.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "acl/acl.h"
#include "timeline.hpp"

namespace mtsim {

class Stream;

// A task that can run any number of times.
class CapturedTask {
public:
    CapturedTask(const char* kind_name, bool runs_always) : kind(kind_name), always(runs_always) {}
    virtual ~CapturedTask() = default;
    virtual void run(Stream& stream) = 0;
    virtual Label label() const = 0;

    const char* const kind;  // "kernel", "copy", ...; tasks of one kind have the very same string
    const bool always;       // also after a failure
};

// Any task of a stream with a name in kKind. Its run() must leave it as it was.
template <class Task>
class CapturedAs final : public CapturedTask {
public:
    template <class... Arguments>
    explicit CapturedAs(Arguments&&... arguments)
        : CapturedTask(Task::kKind, Task::kAlways), task_(std::forward<Arguments>(arguments)...) {}
    void run(Stream& stream) override { task_.run(stream); }
    Label label() const override { return label_of(task_); }

private:
    Task task_;
};

class Recorder {
public:
    virtual ~Recorder() = default;

    // Keeps a task that `function` queued on `stream`.
    virtual aclError record(const char* function, Stream& stream, std::shared_ptr<CapturedTask> task) = 0;

    // Fails `function`, which would do to `stream` what a recording stream does not allow.
    virtual aclError refuse(const char* function, Stream& stream) = 0;

    // Whether `function` may do its work at once, unrecorded, as a synchronous call does.
    virtual aclError bypass(const char* function, Stream& stream) = 0;
};

}  // namespace mtsim
