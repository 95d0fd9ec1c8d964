// Scenarios: what has to run in a process of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "check.hpp"

// The wait status of this program, started anew with `--scenario name` and an extra environment variable.
inline int run_scenario(const char* name, const char* variable = "MTSIM_UNUSED", const char* value = "1") {
    std::cout.flush();
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        setenv(variable, value, 1);
        execl("/proc/self/exe", "sim_tests", "--scenario", name, static_cast<char*>(nullptr));
        _exit(127);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}
