// What an address is, in words, for reports of accesses that the machine refused.
#pragma once

#include <cstddef>

namespace mtsim {

// Writes "0x...: ..." into `text`, which says what is there: NULL, a device's memory and how far from an allocation,
// or "host memory". Allocates nothing, so that a signal handler may call it.
void describe_address(const void* address, char* text, std::size_t size);

// From now on a host access to device memory is explained on stderr before the process ends by its signal, as it would
// have without. Other faults go to whoever handled them before.
void explain_host_accesses();

// Whether a kernel may touch these bytes: not where they are device memory that is not allocated, nor near NULL.
bool is_accessible(const void* address, std::size_t bytes);

}  // namespace mtsim
