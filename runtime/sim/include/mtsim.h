/* Entry points of the simulated NPU that real hardware has no counterpart of: how a kernel compiled for the host is
 * launched, and what it may ask while it runs. Used by the launch stubs and by the AscendC headers. */
#ifndef MTSIM_MTSIM_H
#define MTSIM_MTSIM_H

#include <stddef.h>
#include <stdint.h>

#include "acl/acl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs one block of a kernel. An exception that leaves it is recorded as a fault of the block. */
typedef void (*mtsim_kernel_fn)(const void* args);

/* --------------------------------------------------------------------------------- on the host, to launch */

/* Queues `fn` for blocks 0 .. block_dim-1 on `stream` (NULL: the default stream of the thread's context). `name` and
 * the `args_size` bytes at `args` are copied before the call returns; the copy is 16-byte aligned. Blocks run in any
 * order and not necessarily at the same time. Returns ACL_SUCCESS, or the aclError of a refused submission: 107000 (a
 * bad parameter), 107002 (no context), 107003 (a stream of another context or device). */
MTSIM_API uint32_t mtsim_launch(const char* name, uint32_t block_dim, void* stream, mtsim_kernel_fn fn,
                                const void* args, size_t args_size);

/* The same for a kernel whose blocks wait for each other: every block has a thread of its own and all are alive at
 * once, so mtsim_block_barrier() works. block_dim is at most MTSIM_CORES, as more could never be alive together. */
#define MTSIM_CORES 48
MTSIM_API uint32_t mtsim_launch_concurrent(const char* name, uint32_t block_dim, void* stream, mtsim_kernel_fn fn,
                                           const void* args, size_t args_size);

/* Translates argument `index` of `kernel` from the device address that the host holds to the one that kernels may
 * touch. NULL stays NULL. Returns 107000 when the address is not inside a live allocation of the current device:
 * host memory, freed memory, or memory of another device. */
MTSIM_API uint32_t mtsim_kernel_arg(const char* kernel, uint32_t index, const void* device_ptr, void** alias);

/* ------------------------------------------------------------------------------------ inside a kernel */

/* Block index and number of blocks of the kernel that the calling thread runs; 0 and 1 outside of one. */
MTSIM_API uint32_t mtsim_block_idx(void);
MTSIM_API uint32_t mtsim_block_num(void);

/* Device address -> address kernels may touch. Any other address, an already translated one included, is returned
 * unchanged. */
MTSIM_API void* mtsim_kernel_alias(const void* device_ptr);

/* The number of bytes from `ptr` (device address or translated) to the end of its live allocation, with the padding
 * that aclrtMalloc adds (sizes are rounded up to 32, plus 32); 0 when `ptr` is in no live allocation. */
MTSIM_API size_t mtsim_bytes_available(const void* ptr);

/* Records an asynchronous error (507015, 507035, ...; 0 means 507035) for the stream of the running kernel: the next
 * synchronisation returns `code`, and its message names the kernel, the block and `message`. The first fault of a
 * stream wins. The block itself goes on; throw to leave it. Outside of a kernel it prints the message to stderr. */
MTSIM_API void mtsim_kernel_fault(uint32_t code, const char* message);

/* Waits until every live block of a kernel launched with mtsim_launch_concurrent() got here. In a kernel launched
 * otherwise with more than one block it records a fault. */
MTSIM_API void mtsim_block_barrier(void);

/* --------------------------------------------------------------------------- on the host, what ran when */

/* One thing that a stream did, or a thread of the host with the device's memory (stream NULL: a synchronous copy).
 * Times are nanoseconds of CLOCK_MONOTONIC, the clock of std::chrono::steady_clock. */
typedef struct mtsim_timed {
    int64_t queued; /* when it was queued; 0: before the recording */
    int64_t begin;
    int64_t end;
    uint64_t bytes;  /* of a copy or a fill */
    void* stream;
    int32_t device;
    uint32_t thread; /* of the host, as gettid() gives it, that queued it */
    uint32_t lane;   /* which stream of a captured graph; 0 elsewhere */
    uint32_t blocks; /* of a kernel */
    char kind[24];   /* "kernel", "copy", "fill", "graph", "event wait", "event record", "host function", ... */
    char name[64];   /* a kernel's, a copy's way ("host to device") */
} mtsim_timed;

/* From now on what streams do is recorded, until mtsim_timeline_stop(): at most `most` spans, which take 144 bytes each;
 * the rest is counted. What was recorded before is forgotten. What began before the start is left out; a task that runs
 * at the stop is recorded when it ends, so synchronise before. Of a graph each run is a span and each of its tasks. */
MTSIM_API void mtsim_timeline_start(size_t most);
MTSIM_API void mtsim_timeline_stop(void);

/* Moves the oldest spans, in the order in which they ended, to `spans`, at most `room`; returns how many. */
MTSIM_API size_t mtsim_timeline_take(mtsim_timed* spans, size_t room);

/* How many spans found no room since the start. */
MTSIM_API size_t mtsim_timeline_dropped(void);

#ifdef __cplusplus
}
#endif

#endif /* MTSIM_MTSIM_H */
