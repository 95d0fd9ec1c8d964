// Short names for what every test of graph capture does.
#pragma once

#include "check.hpp"

inline aclrtStream make_stream() {
    aclrtStream stream = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    return stream;
}

inline aclrtEvent make_event(uint32_t flag = ACL_EVENT_SYNC) {
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEventExWithFlag(&event, flag));
    return event;
}

inline void begin(aclrtStream stream, aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL) {
    CHECK_OK(aclmdlRICaptureBegin(stream, mode));
}

inline aclmdlRI end(aclrtStream stream) {
    aclmdlRI model = nullptr;
    CHECK_OK(aclmdlRICaptureEnd(stream, &model));
    CHECK(model != nullptr);
    return model;
}

inline aclmdlRICaptureStatus status_of(aclrtStream stream, aclmdlRI* model = nullptr) {
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    aclmdlRI found = nullptr;
    CHECK_OK(aclmdlRICaptureGetInfo(stream, &status, &found));
    if (model != nullptr) {
        *model = found;
    }
    return status;
}

// The capture of `stream` was invalidated by the call that `cause` starts the message of; ends it.
inline void check_invalidated(aclrtStream stream, const std::string& cause) {
    CHECK_EQ(status_of(stream), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
    CHECK_EQ(aclrtLaunchHostFunc(stream, [](void*) {}, nullptr), 507903);
    int none = 0;
    aclmdlRI model = &none;
    CHECK_EQ(aclmdlRICaptureEnd(stream, &model), 507903);
    const std::string start = "aclmdlRICaptureEnd: the capture was invalidated before by " + cause;
    CHECK_EQ(std::string(aclGetRecentErrMsg()).substr(0, start.size()), start);
    CHECK_EQ(model, nullptr);
    CHECK_EQ(status_of(stream), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
}

// Queues *target = *target * 10 + digit, so that a number shows the order in which tasks ran.
struct Digit {
    long* target;
    long digit;
};

inline void append_digit(const void* raw) {
    const auto* args = static_cast<const Digit*>(raw);
    *args->target = *args->target * 10 + args->digit;
}

inline void append(aclrtStream stream, long* device, long digit) {
    const Digit args{static_cast<long*>(mtsim_kernel_alias(device)), digit};
    CHECK_OK(mtsim_launch("append", 1, stream, append_digit, &args, sizeof args));
}

inline long* make_number() { return upload(std::vector<long>{0}); }

inline void run(aclmdlRI model, aclrtStream stream) {
    CHECK_OK(aclmdlRIExecuteAsync(model, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
}
