// aclmdlRICaptureBegin, aclmdlRIExecuteAsync and their kin.
#include "capture.hpp"
#include "error.hpp"
#include "runtime.hpp"

using namespace mtsim;

namespace {

class ExecuteTask {
public:
    static constexpr bool kAlways = false;
    static constexpr const char* kKind = nullptr;

    explicit ExecuteTask(Model& model) : model_(model) {}
    ExecuteTask(const ExecuteTask&) = delete;
    ~ExecuteTask() { model_.end(); }
    void run(Stream& stream) { model_.run(stream); }
    Label label() const { return Label{"graph", format("graph %p", model_.handle)}; }

private:
    Model& model_;  // of which the run was announced
};

// A model whose capture has ended; the thread's recollection keeps it until another one is asked for.
aclError borrow_model(const char* function, aclmdlRI handle, Model** model, ThreadState& thread) {
    const auto& models = Runtime::get().models;
    *model = models.recall(handle, thread.models).get();
    if (*model == nullptr) {
        return models.refuse(function, "modelRI", handle);
    }
    if ((*model)->ready.load()) {
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_MODEL_CAPTURED, function,
                "argument modelRI: expected a model whose capture has ended, got %p, which is being captured", handle);
}

aclError require_capture(const char* function, aclrtStream handle, std::shared_ptr<Stream>* stream,
                         std::shared_ptr<Capture>* capture) {
    MTSIM_TRY(require_stream(function, handle, stream));
    *capture = capture_of(**stream);
    if (*capture != nullptr) {
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, function,
                "argument stream: expected a stream that is being captured, got %p, which is not", handle);
}

}  // namespace

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
    const char* function = "aclmdlRICaptureBegin";
    std::shared_ptr<Stream> origin;
    MTSIM_TRY(require_stream(function, stream, &origin));
    if (stream == nullptr) {
        return fail(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, function,
                    "argument stream: the default stream cannot be captured; create another one");
    }
    if (static_cast<unsigned>(mode) > ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                    "argument mode: expected 0 (GLOBAL), 1 (THREAD_LOCAL) or 2 (RELAXED), got %d",
                    static_cast<int>(mode));
    }
    const auto model = std::make_shared<Model>(origin->context);
    const auto capture = std::make_shared<Capture>(model, origin, mode);
    if (!origin->start_recording(capture)) {
        const bool captured = capture_of(*origin) != nullptr;
        return fail(captured ? ACL_ERROR_RT_STREAM_CAPTURED : ACL_ERROR_STREAM_TASK_GROUP_STATUS, function,
                    "argument stream: expected one that is not being captured or updating a task group, got %p, which "
                    "is", stream);
    }
    Runtime::get().models.add(model);
    Runtime::get().captures.add(capture);
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* modelRI) {
    const char* function = "aclmdlRICaptureEnd";
    std::shared_ptr<Stream> origin;
    std::shared_ptr<Capture> capture;
    MTSIM_TRY(require_pointer(function, "modelRI", modelRI));
    MTSIM_TRY(require_capture(function, stream, &origin, &capture));
    *modelRI = nullptr;
    bool over = false;
    const aclError code = capture->end(function, *origin, &over);
    if (over) {
        Runtime::get().captures.remove(capture.get());
    }
    if (code == ACL_SUCCESS) {
        capture->model->ready.store(true);
        *modelRI = capture->model->handle;
    } else if (over) {
        Runtime::get().forget(*capture->model);
    }
    return code;
}

aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status, aclmdlRI* modelRI) {
    const char* function = "aclmdlRICaptureGetInfo";
    std::shared_ptr<Stream> found;
    MTSIM_TRY(require_pointer(function, "status", status));
    MTSIM_TRY(require_pointer(function, "modelRI", modelRI));
    MTSIM_TRY(require_stream(function, stream, &found));
    const std::shared_ptr<Capture> capture = capture_of(*found);
    *modelRI = capture != nullptr ? capture->model->handle : nullptr;
    *status = capture == nullptr        ? ACL_MODEL_RI_CAPTURE_STATUS_NONE
              : capture->invalidated() ? ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED
                                       : ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
    return ACL_SUCCESS;
}

aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
    const char* function = "aclmdlRIExecuteAsync";
    Model* model = nullptr;
    Stream* target = nullptr;
    ThreadState& thread = ThreadState::get();
    MTSIM_TRY(borrow_model(function, modelRI, &model, thread));
    MTSIM_TRY(borrow_stream(function, stream, &target, thread));
    if (model->context != target->context) {
        return fail(ACL_ERROR_RT_MODEL_CONTEXT, function,
                    "argument modelRI: expected a model that was captured in the stream's context %p, got %p of %p",
                    static_cast<const void*>(target->context), modelRI, static_cast<const void*>(model->context));
    }
    if (!model->announce()) {
        return Runtime::get().models.refuse(function, "modelRI", modelRI);
    }
    const aclError code = target->emplace<ExecuteTask>(function, nullptr, *model);
    if (code != ACL_SUCCESS) {
        model->end();
    }
    return code;
}

aclError aclmdlRIDestroy(aclmdlRI modelRI) {
    const char* function = "aclmdlRIDestroy";
    Model* model = nullptr;
    MTSIM_TRY(borrow_model(function, modelRI, &model, ThreadState::get()));
    model->retire();
    if (const auto runs = static_cast<unsigned long long>(model->unfinished())) {
        model->revive();
        return fail(ACL_ERROR_RT_MODEL_RUNNING, function,
                    "argument modelRI: expected a model that is neither running nor queued, got %p with %llu "
                    "unfinished run%s: synchronise the stream first", modelRI, runs, runs == 1 ? "" : "s");
    }
    Runtime::get().forget(*model);
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream) {
    const char* function = "aclmdlRICaptureTaskGrpBegin";
    std::shared_ptr<Stream> found;
    std::shared_ptr<Capture> capture;
    MTSIM_TRY(require_capture(function, stream, &found, &capture));
    return capture->begin_group(function, *found);
}

aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp* handle) {
    const char* function = "aclmdlRICaptureTaskGrpEnd";
    std::shared_ptr<Stream> found;
    std::shared_ptr<Capture> capture;
    MTSIM_TRY(require_pointer(function, "handle", handle));
    MTSIM_TRY(require_capture(function, stream, &found, &capture));
    const auto group = std::make_shared<TaskGroup>();
    MTSIM_TRY(capture->end_group(function, *found, &group->tasks));
    group->model = capture->model;
    Runtime::get().groups.add(group);
    *handle = group->handle;
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle) {
    const char* function = "aclmdlRICaptureTaskUpdateBegin";
    std::shared_ptr<Stream> found;
    std::shared_ptr<TaskGroup> group;
    MTSIM_TRY(require_stream(function, stream, &found));
    MTSIM_TRY(Runtime::get().groups.require(function, "handle", handle, &group));
    std::shared_ptr<Model> model = group->model.lock();
    if (model == nullptr || !model->ready.load()) {
        return fail(ACL_ERROR_RT_MODEL_CAPTURED, function,
                    "argument handle: expected a task group of a model whose capture has ended, got %p", handle);
    }
    if (group->updating.exchange(true)) {
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, function,
                    "argument handle: expected a task group that no other update has open, got %p", handle);
    }
    if (!found->start_recording(std::make_shared<Update>(std::move(model), group))) {  // whose end clears `updating`
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, function,
                    "argument stream: expected one that is not being captured or updating a task group, got %p, which "
                    "is", stream);
    }
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream) {
    const char* function = "aclmdlRICaptureTaskUpdateEnd";
    std::shared_ptr<Stream> found;
    MTSIM_TRY(require_stream(function, stream, &found));
    const auto update = std::dynamic_pointer_cast<Update>(found->recorder());
    if (update == nullptr) {
        return fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, function,
                    "argument stream: expected one that is updating a task group, got %p, which is not", stream);
    }
    found->stop_recording();
    return update->finish(function, *found);
}
