// What the environment says about the simulated machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mtsim {

struct Config {
    std::uint32_t devices = 2;                       // MTSIM_DEVICES, 1 .. 64
    std::size_t device_memory = std::size_t{4} << 30;  // MTSIM_DEVICE_MEMORY, bytes of each device
    std::string soc_name = "Ascend910B1-sim";        // MTSIM_SOC_NAME; "-sim" is added where it is missing
    bool isolate = false;                            // MINDTORCH_SIM_ISOLATE=1: every kernel in a process of its own
    std::uint32_t timeout = 300;                     // MINDTORCH_SIM_TIMEOUT, seconds a kernel may run; 0: any time
    bool check_autosync = true;                      // MINDTORCH_SIM_CHECK_AUTOSYNC=0: built with --cce-auto-sync=off
    bool check_leaks = false;                        // MINDTORCH_SIM_CHECK_LEAKS=1: a tensor never freed is a mistake
    std::string error;                               // a malformed variable; aclInit reports it
};

Config read_config();

}  // namespace mtsim
