// aclrtBinaryLoadFromFile, aclrtKernelArgsInit, aclrtLaunchKernelWithConfig and their kin.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "binary.hpp"
#include "check_global.hpp"
#include "error.hpp"
#include "runtime.hpp"

using namespace mtsim;

namespace {

// Device memory that a queued or captured kernel reads its placeholders from.
class DeviceBlock {
public:
    DeviceBlock(DeviceMemory& memory, void* address) : memory_(memory), address_(address) {}
    DeviceBlock(const DeviceBlock&) = delete;
    ~DeviceBlock() { memory_.release(address_); }
    char* address() const { return static_cast<char*>(address_); }

private:
    DeviceMemory& memory_;
    void* const address_;
};

// Behind the kernel in its stream, and in a graph for as long as the graph lives.
struct KeepTask {
    static constexpr bool kAlways = true;
    static constexpr const char* kKind = "kernel data";
    std::shared_ptr<DeviceBlock> block;
    void run(Stream&) {}
};

aclError upload(const char* function, const void* data, std::size_t size, std::shared_ptr<DeviceBlock>* block) {
    const Context* context = nullptr;
    MTSIM_TRY(require_context(function, &context));
    DeviceMemory& memory = context->device->memory;
    void* address = memory.allocate(size);
    if (address == nullptr) {
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, function,
                    "out of memory on device %d: a placeholder needs %zu bytes, %zu of %zu bytes are free",
                    context->device->id, size, memory.available(), memory.capacity());
    }
    *block = std::make_shared<DeviceBlock>(memory, address);
    std::memcpy(memory.kernel_alias(address), data, size);
    check::Unwritten::get().written(memory.kernel_alias(address), size);
    return ACL_SUCCESS;
}

Bytes bytes_of(const void* pointer) {
    Bytes bytes(sizeof pointer);
    std::memcpy(bytes.data(), &pointer, sizeof pointer);
    return bytes;
}

aclError queue(const char* function, const Function& kernel, std::uint32_t blocks, aclrtStream stream,
               const std::vector<Bytes>& values, const std::vector<std::shared_ptr<DeviceBlock>>& data) {
    std::shared_ptr<Stream> target;
    MTSIM_TRY(require_stream(function, stream, &target));
    MTSIM_TRY(static_cast<aclError>(
        call_launch_function(kernel.launch, blocks, stream, kernel.parameters, values)));
    for (const auto& block : data) {
        MTSIM_TRY(target->push(function, KeepTask{block}));
    }
    return ACL_SUCCESS;
}

aclError require_reserve(const char* function, const void* reserve) {
    if (reserve == nullptr) {
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument reserve: expected NULL, got %p", reserve);
}

// The parameter that `list` is about to get; needs the list's lock.
aclError next_parameter(const char* function, const ArgumentList& list, const Parameter** parameter) {
    const Function& kernel = *list.function;
    if (list.final) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                    "kernel %s: expected an argument list that is not final, got one that is", kernel.name.c_str());
    }
    if (list.values.size() == kernel.parameters.size()) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "kernel %s: expected %zu arguments, got one more",
                    kernel.name.c_str(), kernel.parameters.size());
    }
    *parameter = &kernel.parameters[list.values.size()];
    return ACL_SUCCESS;
}

aclError require_size(const char* function, const Function& kernel, std::size_t index, std::size_t size) {
    const Parameter& parameter = kernel.parameters[index];
    if (size == parameter.size) {
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, function, "kernel %s: argument %zu: expected %s, %zu bytes, got %zu bytes",
                kernel.name.c_str(), index, parameter.word.c_str(), parameter.size, size);
}

// A parameter's handle is its position, counted from 1. Needs the list's lock.
aclError find_parameter(const char* function, const ArgumentList& list, aclrtParamHandle handle, bool placeholder,
                        std::size_t* index) {
    *index = reinterpret_cast<std::size_t>(handle) - 1;
    if (*index < list.values.size() && list.placeholders[*index] == placeholder) {
        return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                "argument paramHandle: expected %s of this argument list, got %p",
                placeholder ? "a placeholder" : "an appended parameter", handle);
}

aclrtParamHandle append(ArgumentList& list, Bytes value, bool placeholder) {
    list.values.push_back(std::move(value));
    list.placeholders.push_back(placeholder);
    return reinterpret_cast<aclrtParamHandle>(list.values.size());
}

}  // namespace

// ------------------------------------------------------------------------------------------------- libraries

aclError aclrtBinaryLoadFromFile(const char* binPath, aclrtBinaryLoadOptions* options, aclrtBinHandle* binHandle) {
    const char* function = "aclrtBinaryLoadFromFile";
    (void)options;  // how much to load and for which kind of core, which a library of the host has no choice of
    MTSIM_TRY(require_pointer(function, "binPath", binPath));
    MTSIM_TRY(require_pointer(function, "binHandle", binHandle));
    void* library = dlopen(binPath, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                    "argument binPath: expected a kernel library built for the simulated NPU, got \"%s\": %s", binPath,
                    dlerror());
    }
    const auto binary = std::make_shared<Binary>();
    binary->path = binPath;
    binary->library = library;
    Runtime::get().binaries.add(binary);
    *binHandle = binary->handle;
    return ACL_SUCCESS;
}

aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle) {
    Runtime& runtime = Runtime::get();
    std::shared_ptr<Binary> binary;
    MTSIM_TRY(runtime.binaries.require("aclrtBinaryUnLoad", "binHandle", binHandle, &binary));
    runtime.forget(*binary);
    return ACL_SUCCESS;
}

aclError aclrtBinaryGetFunction(aclrtBinHandle binHandle, const char* kernelName, aclrtFuncHandle* funcHandle) {
    const char* function = "aclrtBinaryGetFunction";
    std::shared_ptr<Binary> binary;
    MTSIM_TRY(require_pointer(function, "kernelName", kernelName));
    MTSIM_TRY(require_pointer(function, "funcHandle", funcHandle));
    MTSIM_TRY(Runtime::get().binaries.require(function, "binHandle", binHandle, &binary));
    void* launch = dlsym(binary->library, format("aclrtlaunch_%s", kernelName).c_str());
    const auto* signature =
        static_cast<const char*>(dlsym(binary->library, format("mtsim_signature_%s", kernelName).c_str()));
    if (launch == nullptr || signature == nullptr) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                    "argument kernelName: expected a kernel of %s, got \"%s\": the library does not export %s_%s",
                    binary->path.c_str(), kernelName, launch == nullptr ? "aclrtlaunch" : "mtsim_signature",
                    kernelName);
    }
    std::optional<std::vector<Parameter>> parameters = parse_signature(signature);
    if (!parameters) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "kernel %s of %s: cannot call a signature like \"%s\"",
                    kernelName, binary->path.c_str(), signature);
    }
    const auto kernel = std::make_shared<Function>();
    kernel->binary = binary;
    kernel->name = kernelName;
    kernel->parameters = std::move(*parameters);
    kernel->launch = launch;
    Runtime::get().functions.add(kernel);
    *funcHandle = kernel->handle;
    return ACL_SUCCESS;
}

// --------------------------------------------------------------------------------------------- argument lists

aclError aclrtKernelArgsInit(aclrtFuncHandle funcHandle, aclrtArgsHandle* argsHandle) {
    const char* function = "aclrtKernelArgsInit";
    const auto list = std::make_shared<ArgumentList>();
    MTSIM_TRY(require_pointer(function, "argsHandle", argsHandle));
    MTSIM_TRY(Runtime::get().functions.require(function, "funcHandle", funcHandle, &list->function));
    Runtime::get().argument_lists.add(list);
    *argsHandle = list->handle;
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsAppend(aclrtArgsHandle argsHandle, void* param, size_t paramSize,
                               aclrtParamHandle* paramHandle) {
    const char* function = "aclrtKernelArgsAppend";
    std::shared_ptr<ArgumentList> list;
    const Parameter* parameter = nullptr;
    MTSIM_TRY(require_pointer(function, "param", param));
    MTSIM_TRY(require_pointer(function, "paramHandle", paramHandle));
    MTSIM_TRY(Runtime::get().argument_lists.require(function, "argsHandle", argsHandle, &list));
    std::lock_guard<std::mutex> lock(list->mutex);
    MTSIM_TRY(next_parameter(function, *list, &parameter));
    MTSIM_TRY(require_size(function, *list->function, list->values.size(), paramSize));
    const auto* bytes = static_cast<const unsigned char*>(param);
    *paramHandle = append(*list, Bytes(bytes, bytes + paramSize), false);
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle argsHandle, aclrtParamHandle* paramHandle) {
    const char* function = "aclrtKernelArgsAppendPlaceHolder";
    std::shared_ptr<ArgumentList> list;
    const Parameter* parameter = nullptr;
    MTSIM_TRY(require_pointer(function, "paramHandle", paramHandle));
    MTSIM_TRY(Runtime::get().argument_lists.require(function, "argsHandle", argsHandle, &list));
    std::lock_guard<std::mutex> lock(list->mutex);
    MTSIM_TRY(next_parameter(function, *list, &parameter));
    if (parameter->kind != Parameter::kPointer) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "kernel %s: argument %zu: expected %s, got a placeholder, "
                    "which is an address", list->function->name.c_str(), list->values.size(), parameter->word.c_str());
    }
    *paramHandle = append(*list, Bytes(), true);
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, size_t dataSize,
                                             void** bufferAddr) {
    const char* function = "aclrtKernelArgsGetPlaceHolderBuffer";
    std::shared_ptr<ArgumentList> list;
    std::size_t index = 0;
    MTSIM_TRY(require_pointer(function, "bufferAddr", bufferAddr));
    MTSIM_TRY(Runtime::get().argument_lists.require(function, "argsHandle", argsHandle, &list));
    std::lock_guard<std::mutex> lock(list->mutex);
    MTSIM_TRY(find_parameter(function, *list, paramHandle, true, &index));
    if (dataSize == 0 || !list->values[index].empty()) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "argument %s",
                    dataSize == 0 ? "dataSize: expected at least 1 byte, got 0"
                                  : "paramHandle: expected a placeholder without a buffer, got one that has it");
    }
    list->values[index].resize(dataSize);
    *bufferAddr = list->values[index].data();
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, void* param,
                                   size_t paramSize) {
    const char* function = "aclrtKernelArgsParaUpdate";
    std::shared_ptr<ArgumentList> list;
    std::size_t index = 0;
    MTSIM_TRY(require_pointer(function, "param", param));
    MTSIM_TRY(Runtime::get().argument_lists.require(function, "argsHandle", argsHandle, &list));
    std::lock_guard<std::mutex> lock(list->mutex);
    MTSIM_TRY(find_parameter(function, *list, paramHandle, false, &index));
    MTSIM_TRY(require_size(function, *list->function, index, paramSize));
    std::memcpy(list->values[index].data(), param, paramSize);
    return ACL_SUCCESS;
}

aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle) {
    const char* function = "aclrtKernelArgsFinalize";
    std::shared_ptr<ArgumentList> list;
    MTSIM_TRY(Runtime::get().argument_lists.require(function, "argsHandle", argsHandle, &list));
    std::lock_guard<std::mutex> lock(list->mutex);
    const Function& kernel = *list->function;
    if (list->values.size() != kernel.parameters.size()) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "kernel %s: expected %zu arguments, got %zu",
                    kernel.name.c_str(), kernel.parameters.size(), list->values.size());
    }
    for (std::size_t i = 0; i < list->values.size(); ++i) {
        if (list->values[i].empty()) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, function, "kernel %s: argument %zu: expected a placeholder with a "
                        "buffer, got one without", kernel.name.c_str(), i);
        }
    }
    list->final = true;
    return ACL_SUCCESS;
}

// -------------------------------------------------------------------------------------------------- launches

aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle funcHandle, uint32_t blockDim, aclrtStream stream,
                                     aclrtLaunchKernelCfg* cfg, aclrtArgsHandle argsHandle, void* reserve) {
    const char* function = "aclrtLaunchKernelWithConfig";
    (void)cfg;  // hints on scheduling
    std::shared_ptr<Function> kernel;
    std::shared_ptr<ArgumentList> list;
    MTSIM_TRY(require_reserve(function, reserve));
    MTSIM_TRY(Runtime::get().functions.require(function, "funcHandle", funcHandle, &kernel));
    MTSIM_TRY(Runtime::get().argument_lists.require(function, "argsHandle", argsHandle, &list));
    std::lock_guard<std::mutex> lock(list->mutex);
    if (list->function != kernel || !list->final) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                    "kernel %s: argument argsHandle: expected a final argument list of this kernel, got %s",
                    kernel->name.c_str(), list->final ? "one of another" : "one before aclrtKernelArgsFinalize");
    }
    std::vector<Bytes> values = list->values;
    std::vector<std::shared_ptr<DeviceBlock>> data;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (list->placeholders[i]) {
            data.emplace_back();
            MTSIM_TRY(upload(function, values[i].data(), values[i].size(), &data.back()));
            values[i] = bytes_of(data.back()->address());
        }
    }
    return queue(function, *kernel, blockDim, stream, values, data);
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle, uint32_t blockDim, aclrtStream stream,
                                       aclrtLaunchKernelCfg* cfg, void* hostArgs, size_t argsSize,
                                       aclrtPlaceHolderInfo* placeHolderArray, size_t placeHolderNum) {
    const char* function = "aclrtLaunchKernelWithHostArgs";
    (void)cfg;
    std::shared_ptr<Function> kernel;
    MTSIM_TRY(Runtime::get().functions.require(function, "funcHandle", funcHandle, &kernel));
    const std::vector<std::size_t> offsets = argument_offsets(kernel->parameters);
    if (argsSize < offsets.back() || (placeHolderNum == 0 && argsSize >= offsets.back() + 8)) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, function, "kernel %s: argument argsSize: expected %zu, got %zu",
                    kernel->name.c_str(), offsets.back(), argsSize);
    }
    MTSIM_TRY(argsSize > 0 ? require_pointer(function, "hostArgs", hostArgs) : ACL_SUCCESS);
    MTSIM_TRY(placeHolderNum > 0 ? require_pointer(function, "placeHolderArray", placeHolderArray) : ACL_SUCCESS);
    const auto* bytes = static_cast<const unsigned char*>(hostArgs);
    std::vector<Bytes> values;
    for (std::size_t i = 0; i < kernel->parameters.size(); ++i) {
        values.emplace_back(bytes + offsets[i], bytes + offsets[i] + kernel->parameters[i].size);
    }
    std::vector<std::shared_ptr<DeviceBlock>> data;
    for (std::size_t i = 0; i < placeHolderNum; ++i) {
        const aclrtPlaceHolderInfo& place = placeHolderArray[i];
        const auto found = std::find(offsets.begin(), offsets.end() - 1, place.addrOffset);
        const auto index = static_cast<std::size_t>(found - offsets.begin());
        if (found == offsets.end() - 1 || kernel->parameters[index].kind != Parameter::kPointer ||
            place.dataOffset >= argsSize) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, function,
                        "kernel %s: placeholder %zu: expected the offset of a pointer and one below %zu, got %u and %u",
                        kernel->name.c_str(), i, argsSize, place.addrOffset, place.dataOffset);
        }
        if (data.empty()) {  // one copy of the buffer holds the data of every placeholder
            data.emplace_back();
            MTSIM_TRY(upload(function, hostArgs, argsSize, &data.back()));
        }
        values[index] = bytes_of(data.back()->address() + place.dataOffset);
    }
    return queue(function, *kernel, blockDim, stream, values, data);
}
