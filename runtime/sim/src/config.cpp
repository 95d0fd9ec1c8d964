#include "config.hpp"

#include <cerrno>
#include <cstdlib>

#include "error.hpp"

namespace mtsim {
namespace {

// Reads an integer variable within [low, high] into `value`; says what is wrong in `error` otherwise.
template <class Integer>
void read_integer(const char* name, std::uint64_t low, std::uint64_t high, Integer* value, std::string* error) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') {
        return;
    }
    char* end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || *text == '-' || number < low || number > high) {
        *error = format("environment variable %s: expected an integer from %llu to %llu, got \"%s\"", name,
                        static_cast<unsigned long long>(low), static_cast<unsigned long long>(high), text);
        return;
    }
    *value = static_cast<Integer>(number);
}

}  // namespace

Config read_config() {
    Config config;
    read_integer("MTSIM_DEVICES", 1, 64, &config.devices, &config.error);
    read_integer("MTSIM_DEVICE_MEMORY", 4096, std::uint64_t{1} << 40, &config.device_memory, &config.error);
    read_integer("MINDTORCH_SIM_ISOLATE", 0, 1, &config.isolate, &config.error);
    read_integer("MINDTORCH_SIM_TIMEOUT", 0, 86400, &config.timeout, &config.error);
    read_integer("MINDTORCH_SIM_CHECK_AUTOSYNC", 0, 1, &config.check_autosync, &config.error);
    read_integer("MINDTORCH_SIM_CHECK_LEAKS", 0, 1, &config.check_leaks, &config.error);
    if (const char* name = std::getenv("MTSIM_SOC_NAME"); name != nullptr && *name != '\0') {
        config.soc_name = name;
        if (config.soc_name.find("sim") == std::string::npos) {
            config.soc_name += "-sim";  // a simulated device never passes for a real one
        }
    }
    return config;
}

}  // namespace mtsim
