/* The part of the Ascend Computing Language (ACL) runtime that the simulated NPU implements.
 *
 * Prototypes, constants and error codes are those of the public ACL interface, so that a program built against this
 * header and one that resolves the symbols by name (ctypes, dlsym) both run on the simulator and on real hardware. */
#ifndef MTSIM_ACL_ACL_H
#define MTSIM_ACL_ACL_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MTSIM_API __attribute__((visibility("default")))
#else
#define MTSIM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef int aclError;
typedef void* aclrtStream;
typedef void* aclrtEvent;
typedef void* aclrtContext;
typedef void* aclmdlRI;     /* a captured graph: "model running instance" */
typedef void* aclrtTaskGrp; /* tasks of a captured graph that can be updated together */
typedef void* aclrtBinHandle;
typedef void* aclrtFuncHandle;
typedef void* aclrtArgsHandle;
typedef void* aclrtParamHandle;

/* ------------------------------------------------------------------------------------------------ error codes */

#define ACL_SUCCESS 0
#define ACL_ERROR_NONE 0
#define ACL_ERROR_INVALID_PARAM 100000
#define ACL_ERROR_UNINITIALIZE 100001
#define ACL_ERROR_REPEAT_INITIALIZE 100002
#define ACL_ERROR_RT_PARAM_INVALID 107000
#define ACL_ERROR_RT_INVALID_DEVICEID 107001
#define ACL_ERROR_RT_CONTEXT_NULL 107002
#define ACL_ERROR_RT_STREAM_CONTEXT 107003
#define ACL_ERROR_RT_MODEL_CONTEXT 107004
#define ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID 107006
#define ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL 107007
#define ACL_ERROR_RT_CAPTURE_DEPENDENCY 107024
#define ACL_ERROR_RT_STREAM_UNJOINED 107025
#define ACL_ERROR_RT_MODEL_CAPTURED 107026
#define ACL_ERROR_RT_STREAM_CAPTURED 107027
#define ACL_ERROR_RT_EVENT_CAPTURED 107028
#define ACL_ERROR_RT_STREAM_NOT_CAPTURED 107029
#define ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT 107030
#define ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT 107031
#define ACL_ERROR_STREAM_CAPTURE_CONFLICT 107032
#define ACL_ERROR_STREAM_TASK_GROUP_STATUS 107033
#define ACL_ERROR_STREAM_TASK_GROUP_INTR 107034
#define ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED 107036
#define ACL_ERROR_RT_MODEL_RUNNING 107037
#define ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD 107038
#define ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC 107041
#define ACL_ERROR_RT_MEMORY_ALLOCATION 207001
#define ACL_ERROR_RT_INTERNAL_ERROR 507000
#define ACL_ERROR_RT_MODEL_EXECUTE 507011
#define ACL_ERROR_RT_AICORE_TIMEOUT 507014
#define ACL_ERROR_RT_AICORE_EXCEPTION 507015
#define ACL_ERROR_RT_VECTOR_CORE_TIMEOUT 507034
#define ACL_ERROR_RT_VECTOR_CORE_EXCEPTION 507035
#define ACL_ERROR_RT_STREAM_SYNC_TIMEOUT 507046
#define ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED 507903

/* -------------------------------------------------------------------------------------------------- constants */

typedef enum aclrtMemMallocPolicy {
    ACL_MEM_MALLOC_HUGE_FIRST = 0,
    ACL_MEM_MALLOC_HUGE_ONLY = 1,
    ACL_MEM_MALLOC_NORMAL_ONLY = 2
} aclrtMemMallocPolicy;

typedef enum aclrtMemcpyKind {
    ACL_MEMCPY_HOST_TO_HOST = 0,
    ACL_MEMCPY_HOST_TO_DEVICE = 1,
    ACL_MEMCPY_DEVICE_TO_HOST = 2,
    ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
    ACL_MEMCPY_DEFAULT = 4
} aclrtMemcpyKind;

typedef enum aclrtMemAttr { ACL_HBM_MEM = 1 } aclrtMemAttr;

typedef enum aclrtStreamStatus {
    ACL_STREAM_STATUS_COMPLETE = 0,
    ACL_STREAM_STATUS_NOT_READY = 1
} aclrtStreamStatus;

typedef enum aclrtEventRecordedStatus {
    ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
    ACL_EVENT_RECORDED_STATUS_COMPLETE = 1
} aclrtEventRecordedStatus;

#define ACL_EVENT_SYNC 0x00000001U
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002U
#define ACL_EVENT_TIME_LINE 0x00000008U
#define ACL_EVENT_EXTERNAL 0x00000020U

typedef enum aclmdlRICaptureMode {
    ACL_MODEL_RI_CAPTURE_MODE_GLOBAL = 0,
    ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL = 1,
    ACL_MODEL_RI_CAPTURE_MODE_RELAXED = 2
} aclmdlRICaptureMode;

typedef enum aclmdlRICaptureStatus {
    ACL_MODEL_RI_CAPTURE_STATUS_NONE = 0,
    ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE = 1,
    ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED = 2
} aclmdlRICaptureStatus;

#define ACL_CONTINUE_ON_FAILURE 0U
#define ACL_STOP_ON_FAILURE 1U

typedef void (*aclrtHostFunc)(void* args);

/* ------------------------------------------------------------------------------------------------- life cycle */

MTSIM_API aclError aclInit(const char* configPath);
MTSIM_API aclError aclFinalize(void);
MTSIM_API aclError aclrtSetDevice(int32_t deviceId);
MTSIM_API aclError aclrtResetDevice(int32_t deviceId);
MTSIM_API aclError aclrtGetDevice(int32_t* deviceId);
MTSIM_API aclError aclrtGetDeviceCount(uint32_t* count);
MTSIM_API const char* aclrtGetSocName(void);
MTSIM_API aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);
MTSIM_API aclError aclrtDestroyContext(aclrtContext context);
MTSIM_API aclError aclrtSetCurrentContext(aclrtContext context);
MTSIM_API aclError aclrtGetCurrentContext(aclrtContext* context);

/* The calling thread's most recent error message ("" when there is none). Reading clears it; the text stays valid
 * until the thread's next call of this function. */
MTSIM_API const char* aclGetRecentErrMsg(void);

/* ----------------------------------------------------------------------------------------------------- memory */

MTSIM_API aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);
MTSIM_API aclError aclrtFree(void* devPtr);
MTSIM_API aclError aclrtMallocHost(void** hostPtr, size_t size);
MTSIM_API aclError aclrtFreeHost(void* hostPtr);
MTSIM_API aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind);
MTSIM_API aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                                    aclrtStream stream);
MTSIM_API aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count);
MTSIM_API aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream);
MTSIM_API aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total);

/* ---------------------------------------------------------------------------------------------------- streams */

MTSIM_API aclError aclrtCreateStream(aclrtStream* stream);
MTSIM_API aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag);
MTSIM_API aclError aclrtDestroyStream(aclrtStream stream);
MTSIM_API aclError aclrtSynchronizeStream(aclrtStream stream);
MTSIM_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);
MTSIM_API aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status);
MTSIM_API aclError aclrtSynchronizeDevice(void);
MTSIM_API aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);
MTSIM_API aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args);

/* ----------------------------------------------------------------------------------------------------- events

 * An event with ACL_EVENT_EXTERNAL is a flag on the device: its record sets the flag, its reset clears it and its wait
 * blocks until it is set, each when the stream reaches it. It starts cleared. Captured, the three become tasks of the
 * graph and make no dependency between the captured streams. */

MTSIM_API aclError aclrtCreateEvent(aclrtEvent* event);
MTSIM_API aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);
MTSIM_API aclError aclrtDestroyEvent(aclrtEvent event);
MTSIM_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
MTSIM_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
MTSIM_API aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);
MTSIM_API aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status);
MTSIM_API aclError aclrtSynchronizeEvent(aclrtEvent event);
MTSIM_API aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent);

/* --------------------------------------------------------------------------------- kernel libraries, launches

 * A kernel library of the simulator is a shared object for the host that exports, for each kernel, aclrtlaunch_<kernel>
 * and the text mtsim_signature_<kernel>; its arguments are checked against that text. Functions and argument lists live
 * until their library is unloaded. */

typedef struct aclrtBinaryLoadOptions aclrtBinaryLoadOptions;
typedef struct aclrtLaunchKernelCfg aclrtLaunchKernelCfg;

/* In an argument buffer: the kernel's pointer at addrOffset becomes the address of a copy of what is at dataOffset. */
typedef struct aclrtPlaceHolderInfo {
    uint32_t addrOffset;
    uint32_t dataOffset;
} aclrtPlaceHolderInfo;

MTSIM_API aclError aclrtBinaryLoadFromFile(const char* binPath, aclrtBinaryLoadOptions* options,
                                           aclrtBinHandle* binHandle);
MTSIM_API aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle);
MTSIM_API aclError aclrtBinaryGetFunction(aclrtBinHandle binHandle, const char* kernelName,
                                          aclrtFuncHandle* funcHandle);

/* A list gets one argument after the other, by value (a struct too) or as a placeholder: a buffer for data that the
 * kernel gets the device address of. A final list can be launched any number of times. */
MTSIM_API aclError aclrtKernelArgsInit(aclrtFuncHandle funcHandle, aclrtArgsHandle* argsHandle);
MTSIM_API aclError aclrtKernelArgsAppend(aclrtArgsHandle argsHandle, void* param, size_t paramSize,
                                         aclrtParamHandle* paramHandle);
MTSIM_API aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle argsHandle, aclrtParamHandle* paramHandle);
MTSIM_API aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle,
                                                       size_t dataSize, void** bufferAddr);
MTSIM_API aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle argsHandle, aclrtParamHandle paramHandle, void* param,
                                             size_t paramSize);
MTSIM_API aclError aclrtKernelArgsFinalize(aclrtArgsHandle argsHandle);

MTSIM_API aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle funcHandle, uint32_t blockDim, aclrtStream stream,
                                               aclrtLaunchKernelCfg* cfg, aclrtArgsHandle argsHandle, void* reserve);

/* The buffer holds the arguments in order, each aligned to its size, but to at least 4 bytes and a struct to 8; what
 * placeholders refer to follows. */
MTSIM_API aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle, uint32_t blockDim, aclrtStream stream,
                                                 aclrtLaunchKernelCfg* cfg, void* hostArgs, size_t argsSize,
                                                 aclrtPlaceHolderInfo* placeHolderArray, size_t placeHolderNum);

/* ---------------------------------------------------------------------------------------------- graph capture

 * Between begin and end, what is queued on the stream, and on streams that joined by waiting for an event recorded in
 * the capture, is kept and not run. A call that would break the order of the captured tasks (synchronising with or
 * querying a captured stream, event or device, a wait from or for the outside) fails and invalidates the capture, which
 * then ends with 507903. Synchronous copies fail with 107030, asynchronous ones from or to pageable host memory with
 * 107041, everywhere (GLOBAL), on the capturing thread (THREAD_LOCAL) or nowhere (RELAXED); they leave it valid. */

MTSIM_API aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode);
MTSIM_API aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* modelRI);
MTSIM_API aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status, aclmdlRI* modelRI);

/* Runs of one graph never overlap. A task that fails ends its run, and the stream's next synchronisation returns
 * 507011. A graph that is queued or running cannot be destroyed (107037). */
MTSIM_API aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream);
MTSIM_API aclError aclmdlRIDestroy(aclmdlRI modelRI);

/* What is captured on the stream between begin and end can be replaced later: an update keeps what is queued on its
 * stream instead of running it, and replaces the group's tasks when the stream gets there. It must bring the same
 * number and kinds of tasks (107033). */
MTSIM_API aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream);
MTSIM_API aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp* handle);
MTSIM_API aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle);
MTSIM_API aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif /* MTSIM_ACL_ACL_H */
