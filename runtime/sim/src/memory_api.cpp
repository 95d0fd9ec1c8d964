// aclrtMalloc and its kin.
#include "error.hpp"
#include "runtime.hpp"

using namespace mtsim;

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
    const char* function = "aclrtMalloc";
    const Context* context = nullptr;
    MTSIM_TRY(require_pointer(function, "devPtr", devPtr));
    MTSIM_TRY(require_context(function, &context));
    if (size == 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument size: expected at least 1 byte, got 0");
    }
    if (static_cast<unsigned>(policy) > ACL_MEM_MALLOC_NORMAL_ONLY) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument policy: expected 0, 1 or 2, got %d",
                    static_cast<int>(policy));
    }
    DeviceMemory& memory = context->device->memory;
    void* pointer = memory.allocate(size);
    if (pointer == nullptr) {
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, function,
                    "out of memory on device %d: requested %zu bytes, %zu of %zu bytes are free", context->device->id,
                    size, memory.available(), memory.capacity());
    }
    *devPtr = pointer;
    return ACL_SUCCESS;
}

aclError aclrtFree(void* devPtr) {
    MTSIM_TRY(require_pointer("aclrtFree", "devPtr", devPtr));
    Device* device = device_of(devPtr);
    if (device != nullptr && device->memory.release(devPtr)) {
        return ACL_SUCCESS;
    }
    const char* what = device == nullptr               ? "which is not device memory"
                       : device->memory.find(devPtr) ? "which is inside of an allocation"
                                                     : "which was freed or never allocated";
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtFree",
                "argument devPtr: expected an address that aclrtMalloc returned, got %p, %s", devPtr, what);
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
    const char* function = "aclrtMallocHost";
    const Context* context = nullptr;
    MTSIM_TRY(require_pointer(function, "hostPtr", hostPtr));
    MTSIM_TRY(require_context(function, &context));
    if (size == 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument size: expected at least 1 byte, got 0");
    }
    void* pointer = context->runtime->host.allocate(size);
    if (pointer == nullptr) {
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, function, "out of host memory: requested %zu bytes", size);
    }
    *hostPtr = pointer;
    return ACL_SUCCESS;
}

aclError aclrtFreeHost(void* hostPtr) {
    MTSIM_TRY(require_pointer("aclrtFreeHost", "hostPtr", hostPtr));
    if (Runtime::get().host.release(hostPtr)) {
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtFreeHost",
                "argument hostPtr: expected an address that aclrtMallocHost returned and that was not freed, got %p",
                hostPtr);
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
    const char* function = "aclrtGetMemInfo";
    const Context* context = nullptr;
    MTSIM_TRY(require_pointer(function, "free", free));
    MTSIM_TRY(require_pointer(function, "total", total));
    MTSIM_TRY(require_context(function, &context));
    if (attr != ACL_HBM_MEM) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument attr: expected 1 (ACL_HBM_MEM), got %d",
                    static_cast<int>(attr));
    }
    *free = context->device->memory.available();
    *total = context->device->memory.capacity();
    return ACL_SUCCESS;
}
