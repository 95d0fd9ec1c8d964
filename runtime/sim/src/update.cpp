// Updates of a captured graph: the recorder that takes the new tasks, and the task that puts them in place.
#include <cstring>

#include "capture.hpp"
#include "error.hpp"

namespace mtsim {
namespace {

struct UpdateTask {
    static constexpr bool kAlways = false;
    static constexpr bool kAtOnce = true;
    static constexpr const char* kKind = nullptr;
    std::shared_ptr<Model> model;
    std::shared_ptr<TaskGroup> group;
    std::vector<std::shared_ptr<CapturedTask>> tasks;
    void run(Stream&) { model->replace(group->tasks, tasks); }
    Label label() const { return Label{"graph update", format("graph %p", model->handle)}; }
};

}  // namespace

Update::Update(std::shared_ptr<Model> model, std::shared_ptr<TaskGroup> group)
    : model_(std::move(model)), group_(std::move(group)) {}

Update::~Update() { group_->updating.store(false); }

aclError Update::record(const char* function, Stream&, std::shared_ptr<CapturedTask> task) {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::size_t index = tasks_.size();
    const char* wanted = index < group_->tasks.size() ? model_->kind_of(group_->tasks[index]) : nullptr;
    if (wanted == nullptr || std::strcmp(wanted, task->kind) != 0) {
        mismatched_ = true;
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, function,
                    "task %zu of the update: expected %s, as in the task group %p, got: %s", index,
                    wanted != nullptr ? wanted : "no more tasks", group_->handle, task->kind);
    }
    tasks_.push_back(std::move(task));
    return ACL_SUCCESS;
}

aclError Update::refuse(const char* function, Stream& stream) {
    return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, function,
                "the stream %p is updating the task group %p, which does not allow this call before "
                "aclmdlRICaptureTaskUpdateEnd", stream.handle, group_->handle);
}

aclError Update::bypass(const char* function, Stream& stream) { return refuse(function, stream); }

aclError Update::finish(const char* function, Stream& stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (mismatched_ || tasks_.size() != group_->tasks.size()) {
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, function,
                    "expected the %zu tasks of the task group %p in their order, got %s; nothing was updated",
                    group_->tasks.size(), group_->handle,
                    mismatched_ ? "others" : format("the first %zu", tasks_.size()).c_str());
    }
    return stream.push(function, UpdateTask{model_, group_, std::move(tasks_)});
}

}  // namespace mtsim
