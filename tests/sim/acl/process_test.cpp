// How a process starts, forks and ends.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "check.hpp"
#include "scenario.hpp"

static void start() {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
}

SCENARIO(exit_while_a_kernel_runs) {
    start();
    static std::atomic<bool> running{false};
    CHECK_OK(mtsim_launch("slow", 4, nullptr, [](const void*) {
        running = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }, nullptr, 0));
    CHECK_OK(mtsim_launch("dropped", 1, nullptr, [](const void*) { std::_Exit(9); }, nullptr, 0));
    while (!running) {
        std::this_thread::yield();
    }
    return 0;
}

SCENARIO(exit_while_a_stream_waits_for_ever) {
    start();
    aclrtEvent event = nullptr;
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK_OK(aclrtStreamWaitEvent(nullptr, event));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return 0;
}

SCENARIO(exit_while_a_graph_waits_for_ever) {
    start();
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    aclmdlRI model = nullptr;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_EXTERNAL));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(aclrtStreamWaitEvent(stream, event));
    CHECK_OK(mtsim_launch("dropped", 1, stream, [](const void*) { std::_Exit(9); }, nullptr, 0));
    CHECK_OK(aclmdlRICaptureEnd(stream, &model));
    CHECK_OK(aclmdlRIExecuteAsync(model, stream));
    CHECK_EQ(aclrtSynchronizeStreamWithTimeout(stream, 20), 507046);
    return 0;
}

SCENARIO(exit_inside_a_callback) {
    start();
    CHECK_OK(aclrtLaunchHostFunc(nullptr, [](void*) { std::exit(3); }, nullptr));
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    return 1;
}

TEST(a_process_exits_cleanly_whatever_its_streams_do) {
    CHECK_EQ(run_scenario("exit_while_a_kernel_runs"), 0);
    CHECK_EQ(run_scenario("exit_while_a_stream_waits_for_ever"), 0);
    CHECK_EQ(run_scenario("exit_while_a_graph_waits_for_ever"), 0);
    CHECK_EQ(WEXITSTATUS(run_scenario("exit_inside_a_callback")), 3);
}

SCENARIO(print_configuration) {
    uint32_t count = 0;
    if (aclError code = aclInit(nullptr)) {
        std::cerr << aclGetRecentErrMsg() << std::endl;
        return code == 100000 ? 4 : 1;
    }
    CHECK_OK(aclrtGetDeviceCount(&count));
    CHECK_OK(aclrtSetDevice(0));
    std::size_t free = 0, total = 0;
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
    if (std::getenv("MTSIM_SOC_NAME") != nullptr) {
        CHECK_EQ(std::string(aclrtGetSocName()), "Ascend910B4-sim");
    }
    return count == 5 ? 5 : total == 65536 ? 6 : 0;
}

TEST(the_environment_configures_the_machine) {
    CHECK_EQ(WEXITSTATUS(run_scenario("print_configuration", "MTSIM_DEVICES", "5")), 5);
    CHECK_EQ(WEXITSTATUS(run_scenario("print_configuration", "MTSIM_DEVICE_MEMORY", "65536")), 6);
    CHECK_EQ(run_scenario("print_configuration", "MTSIM_SOC_NAME", "Ascend910B4"), 0);
    CHECK_EQ(WEXITSTATUS(run_scenario("print_configuration", "MTSIM_DEVICES", "many")), 4);
    CHECK_EQ(WEXITSTATUS(run_scenario("print_configuration", "MTSIM_DEVICES", "0")), 4);
}

#ifndef __SANITIZE_THREAD__  // it does not support threads that start in the child of a threaded process
SCENARIO(fork_and_start_over) {
    // AddressSanitizer's allocator does not survive a fork while another thread is in it, as one that starts may be.
    setenv("MINDTORCH_SIM_TIMEOUT", "0", 1);
    start();
    int* device = upload(std::vector<int>{1});
    CHECK_OK(mtsim_launch("k", 1, nullptr, [](const void*) {}, nullptr, 0));
    CHECK_OK(aclrtSynchronizeStream(nullptr));
    const pid_t child = fork();
    if (child == 0) {
        CHECK_EQ(aclrtSynchronizeStream(nullptr), 107002);  // nothing of the parent's is taken over
        start();
        CHECK_EQ(aclrtFree(device), 107000);
        CHECK_EQ(download(upload(std::vector<int>{2}), 1)[0], 2);
        CHECK_OK(mtsim_launch("k", 4, nullptr, [](const void*) {}, nullptr, 0));
        CHECK_OK(aclrtSynchronizeStream(nullptr));
        std::exit(7);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(download(device, 1)[0], 1);
    return WEXITSTATUS(status);
}

TEST(a_forked_child_starts_over) {
    // The parent's threads do not exist in the child, so what only they held counts as leaked there.
    CHECK_EQ(WEXITSTATUS(run_scenario("fork_and_start_over", "ASAN_OPTIONS", "detect_leaks=0")), 7);
}
#endif
