// Kernel libraries, the kernels in them, and argument lists under construction.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernel_call.hpp"

namespace mtsim {

// A library that exports aclrtlaunch_<kernel> and mtsim_signature_<kernel>. It stays loaded when its handle is gone,
// because queued tasks and captured graphs hold addresses of its code.
struct Binary {
    void* handle = nullptr;
    std::string path;
    void* library;  // dlopen's
};

struct Function {
    void* handle = nullptr;
    std::shared_ptr<Binary> binary;
    std::string name;
    std::vector<Parameter> parameters;
    void* launch;
};

struct ArgumentList {
    void* handle = nullptr;
    std::shared_ptr<Function> function;

    std::mutex mutex;  // guards what follows
    std::vector<Bytes> values;
    std::vector<bool> placeholders;  // whose value is data that the kernel gets the address of
    bool final = false;
};

}  // namespace mtsim
