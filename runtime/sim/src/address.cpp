#include "address.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "runtime.hpp"

namespace mtsim {
namespace {

struct sigaction handler_before;

const Device* device_that_holds(const void* address) {
    for (const auto& device : Runtime::get().devices) {
        if (device->memory.in_host_alias(address) || device->memory.in_kernel_alias(address)) {
            return device.get();
        }
    }
    return nullptr;
}

void on_fault(int number, siginfo_t* info, void*) {
    const Device* device = device_that_holds(info->si_addr);
    if (device != nullptr && device->memory.in_host_alias(info->si_addr)) {
        char where[256];
        describe_address(info->si_addr, where, sizeof where);
        char text[512];
        const int length = std::snprintf(
            text, sizeof text,
            "simulated NPU: the host touched device memory at %s. Copy it with aclrtMemcpy (or `tensor.cpu()`); in a "
            "kernel, read addresses that are found in memory through GlobalTensor::SetGlobalBuffer.\n", where);
        if (write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) {
            // There is nobody left to tell.
        }
    }
    sigaction(number, &handler_before, nullptr);  // and the access faults again, for whoever was there before
}

}  // namespace

bool is_accessible(const void* address, std::size_t bytes) {
    if (reinterpret_cast<std::uintptr_t>(address) < 4096) {
        return false;
    }
    const Device* device = device_that_holds(address);
    if (device == nullptr || device->memory.in_host_alias(address)) {
        return true;  // the host's own memory; what cannot be touched at all faults by itself
    }
    const std::optional<Allocation> near = device->memory.nearest_before(address);
    return near && device->memory.offset(address) - near->offset + bytes <= near->requested;
}

void describe_address(const void* address, char* text, std::size_t size) {
    char number[24];
    std::snprintf(number, sizeof number, "0x%zx", reinterpret_cast<std::size_t>(address));
    const Device* device = device_that_holds(address);
    if (device == nullptr) {
        const bool null = reinterpret_cast<std::uintptr_t>(address) < 4096;
        std::snprintf(text, size, "%s, which is %s", number, null ? "no pointer" : "no device memory");
        return;
    }
    const std::optional<Allocation> near = device->memory.nearest_before(address);
    const std::size_t offset = device->memory.offset(address);
    if (!near) {
        std::snprintf(text, size, "%s of device %d, which is allocated to nobody", number, device->id);
    } else if (offset - near->offset < near->requested) {
        std::snprintf(text, size, "%s of device %d, byte %zu of an allocation of %zu bytes", number, device->id,
                      offset - near->offset, near->requested);
    } else {
        std::snprintf(text, size, "%s of device %d, %zu bytes after the end of an allocation of %zu bytes", number,
                      device->id, offset - near->offset - near->requested, near->requested);
    }
}

void explain_host_accesses() {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &handler_before);
}

}  // namespace mtsim
