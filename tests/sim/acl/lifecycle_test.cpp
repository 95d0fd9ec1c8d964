// aclInit, devices, contexts, error messages.
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <thread>

#include "check.hpp"

static const char* const kNoContext =
    "expected the calling thread to have a context, and it has %s: call aclrtSetDevice on this thread first";

TEST(init_repeats_and_finalize_ends) {
    CHECK_FAILS(aclInit(nullptr), 100002, "aclInit: called before in this process; that may be ignored");
    CHECK_OK(aclFinalize());
    const char* uninitialised = ": expected aclInit to have been called before, and it was not";
    CHECK_FAILS(aclrtSetDevice(0), 100001, std::string("aclrtSetDevice") + uninitialised);
    CHECK_FAILS(aclFinalize(), 100001, std::string("aclFinalize") + uninitialised);
    CHECK_OK(aclInit(nullptr));
}

TEST(there_are_two_devices_that_say_they_are_simulated) {
    uint32_t count = 0;
    CHECK_OK(aclrtGetDeviceCount(&count));
    CHECK_EQ(count, 2u);
    CHECK(std::strstr(aclrtGetSocName(), "sim") != nullptr);
    CHECK_FAILS(aclrtSetDevice(2), 107001, "aclrtSetDevice: argument deviceId: expected 0 to 1, got 2");
    CHECK_FAILS(aclrtSetDevice(-1), 107001, "aclrtSetDevice: argument deviceId: expected 0 to 1, got -1");
}

TEST(set_and_reset_are_counted) {
    void* pointer = nullptr;
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtMalloc(&pointer, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclrtMemset(pointer, 16, 1, 16));  // set twice, reset once
    CHECK_OK(aclrtResetDevice(0));
    CHECK_FAILS(aclrtMemset(pointer, 16, 1, 16), 107002, "aclrtMemset: " + text(kNoContext, "one that was destroyed"));
    CHECK_FAILS(aclrtResetDevice(0), 107002,
                "aclrtResetDevice: argument deviceId: expected a device that aclrtSetDevice was called for, got 0, "
                "which is not set or was reset as often as it was set");
    CHECK_OK(aclrtSetDevice(0));
    CHECK_FAILS(aclrtFree(pointer), 107000,
                "aclrtFree: argument devPtr: expected an address that aclrtMalloc returned, got " +
                    text("%p", pointer) + ", which was freed or never allocated");
}

TEST(a_thread_starts_without_a_context_and_shares_the_device_default) {
    aclrtContext here = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&here));
    std::thread([here] {
        int32_t device = -1;
        aclrtContext there = nullptr;
        CHECK_FAILS(aclrtGetDevice(&device), 107002, "aclrtGetDevice: " + text(kNoContext, "none"));
        CHECK_FAILS(mtsim_launch("k", 1, nullptr, [](const void*) {}, nullptr, 0), 107002,
                    "mtsim_launch: " + text(kNoContext, "none"));
        CHECK_OK(aclrtSetDevice(0));
        CHECK_OK(aclrtGetCurrentContext(&there));
        CHECK_EQ(there, here);
        CHECK_OK(aclrtGetDevice(&device));
        CHECK_EQ(device, 0);
        CHECK_OK(aclrtResetDevice(0));
    }).join();
}

TEST(contexts_are_created_made_current_and_destroyed) {
    aclrtContext primary = nullptr, created = nullptr, current = nullptr;
    int32_t device = -1;
    CHECK_OK(aclrtGetCurrentContext(&primary));
    CHECK_OK(aclrtCreateContext(&created, 1));
    CHECK_OK(aclrtGetCurrentContext(&current));
    CHECK_EQ(current, created);
    CHECK_OK(aclrtGetDevice(&device));
    CHECK_EQ(device, 1);
    CHECK_OK(aclrtSetCurrentContext(primary));
    CHECK_OK(aclrtDestroyContext(created));
    CHECK_FAILS(aclrtSetCurrentContext(created), 107000,
                text("aclrtSetCurrentContext: argument context: expected a live context, got the context %p, which was "
                     "destroyed", created));
    CHECK_FAILS(aclrtDestroyContext(primary), 107000,
                "aclrtDestroyContext: argument context: expected one made by aclrtCreateContext, got the default "
                "context of device 0, which aclrtResetDevice destroys");
}

TEST(an_error_message_belongs_to_its_thread_and_reading_clears_it) {
    CHECK_EQ(aclrtFree(nullptr), 107000);
    std::thread([] { CHECK_EQ(std::string(aclGetRecentErrMsg()), ""); }).join();
    CHECK_EQ(std::string(aclGetRecentErrMsg()), "aclrtFree: argument devPtr: expected an address, got NULL");
    CHECK_EQ(std::string(aclGetRecentErrMsg()), "");
}

// Calls `destroy` while `callback(stream)` runs as a host function of a stream.
static void destroy_during(const std::function<void(aclrtStream)>& callback, const std::function<void()>& destroy) {
    struct Call {
        const std::function<void(aclrtStream)>& function;
        aclrtStream stream;
        std::promise<void> started;
    } call{callback, nullptr, {}};
    CHECK_OK(aclrtCreateStream(&call.stream));
    CHECK_OK(aclrtLaunchHostFunc(call.stream, [](void* argument) {
        Call& running = *static_cast<Call*>(argument);
        running.started.set_value();
        running.function(running.stream);
    }, &call));
    call.started.get_future().wait();  // what has not begun would be dropped
    destroy();
}

// Waits on a worker until the stream's context is being destroyed: then the stream is not found any more.
static void wait_until_destroyed(aclrtStream stream) {
    while (aclrtSynchronizeStream(stream) != 107000 ||
           std::string(aclGetRecentErrMsg()).find("which was destroyed") == std::string::npos) {
        std::this_thread::yield();
    }
}

TEST(a_host_function_sets_the_device_while_it_is_reset) {
    aclError set_again = -1, reset_again = -1, launched = -1;
    CHECK_OK(aclrtSetDevice(1));
    destroy_during([&](aclrtStream stream) {
        CHECK_OK(aclrtSetDevice(0));
        wait_until_destroyed(stream);
        reset_again = aclrtResetDevice(1);
        set_again = aclrtSetDevice(1);
        launched = aclrtLaunchHostFunc(nullptr, [](void*) {}, nullptr);
    }, [] { CHECK_OK(aclrtResetDevice(1)); });
    CHECK_EQ(set_again, 0);
    CHECK_EQ(launched, 0);
    CHECK_EQ(reset_again, 107002);  // it is reset already
    CHECK_OK(aclrtResetDevice(1));  // what the host function set
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclrtSetDevice(0));
}

TEST(a_host_function_resets_a_device_while_another_is_reset) {
    aclError reset_again = -1;
    CHECK_OK(aclrtSetDevice(1));
    destroy_during([&](aclrtStream stream) {
        CHECK_OK(aclrtSetDevice(0));
        wait_until_destroyed(stream);
        reset_again = aclrtResetDevice(0);
    }, [] { CHECK_OK(aclrtResetDevice(1)); });
    CHECK_EQ(reset_again, 107000);  // no worker may: it could wait for itself
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclrtSetDevice(0));
}

TEST(a_host_function_sets_the_device_while_its_context_is_destroyed) {
    aclError set_again = -1;
    aclrtContext created = nullptr, before = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&before));
    CHECK_OK(aclrtCreateContext(&created, 1));
    destroy_during([&](aclrtStream stream) {
        CHECK_OK(aclrtSetDevice(0));
        wait_until_destroyed(stream);
        set_again = aclrtSetDevice(1);
    }, [created] { CHECK_OK(aclrtDestroyContext(created)); });
    CHECK_EQ(set_again, 0);
    CHECK_OK(aclrtResetDevice(1));
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclrtSetCurrentContext(before));
}

TEST(a_host_function_sets_the_device_while_all_ends) {
    aclError set_again = -1;
    destroy_during([&](aclrtStream) {
        while ((set_again = aclrtSetDevice(1)) == 0) {  // until aclFinalize is told to end everything
            std::this_thread::yield();
        }
    }, [] { CHECK_OK(aclFinalize()); });
    CHECK_EQ(set_again, 100001);
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    void* pointer = nullptr;
    CHECK_OK(aclrtMalloc(&pointer, 16, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtFree(pointer));
}
