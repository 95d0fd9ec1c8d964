/* The checker's entry points: what a kernel that was compiled with -DMTSIM_CHECK tells the simulated NPU while it runs.
 * The AscendC headers call them; MINDTORCH_SIM_CHECK=1 makes the kernel builder compile kernels this way.
 *
 * Each core of a kernel is one thread between mtsim_check_begin_core() and mtsim_check_end_core(); all other calls
 * concern the core of the calling thread and do nothing outside of one. `frame` is the caller's frame address
 * (__builtin_frame_address(0)), from which the user's source line is found later; NULL stops at the call itself. */
#ifndef MTSIM_MTSIM_CHECK_H
#define MTSIM_MTSIM_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "acl/acl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------------- cores */

/* The launch whose block the calling thread runs; NULL outside of a kernel. Valid until the launch has ended. */
MTSIM_API void* mtsim_check_launch(void);

/* `role`: 0 a core that executes everything, 1 a cube core, 2 a vector core; `sub_block` its number among the block's
 * vector cores. `headers` is the path of a header: no file below the folder above it is a user's source. */
MTSIM_API void mtsim_check_begin_core(void* launch, uint32_t block, uint32_t role, uint32_t sub_block,
                                      const char* headers);
/* Reports what a kernel must not leave behind: pending flags, tensors that were never freed. `faulted` says that the
 * core did not come to its end. */
MTSIM_API void mtsim_check_end_core(int faulted);

/* A local memory of the core; `kind` is a number below 8. */
MTSIM_API void mtsim_check_memory(uint32_t kind, const char* name, const void* base, size_t bytes);

/* The number of bytes from `ptr` (device address or translated) to the end of what was asked for, in whole 32-byte
 * blocks; 0 when `ptr` is in no live allocation. The chip would let a kernel go on into the padding behind it. */
MTSIM_API size_t mtsim_check_bytes_available(const void* ptr);

/* ------------------------------------------------------------------------------------------ instructions */

/* What becomes of undefined values that an instruction reads: element k of the result depends on the elements k of the
 * sources alone; they are moved, as mtsim_check_moved() says; or they are used, which is a mistake. */
enum { MTSIM_FLOW_LANES = 0, MTSIM_FLOW_MOVES = 1, MTSIM_FLOW_USES = 2 };

/* An instruction on a pipe (a pipe_t), and its end; nested ones belong to the outermost. `discard`: it was not
 * executed. */
MTSIM_API void mtsim_check_begin(const char* name, uint32_t pipe, uint32_t flow, const void* frame);
MTSIM_API void mtsim_check_end(int discard);

typedef struct mtsim_span {
    uint64_t begin; /* bytes from the operand's base */
    uint64_t bytes;
} mtsim_span;

/* MTSIM_USED: read, and used even where the instruction only moves others. */
enum { MTSIM_READS = 1, MTSIM_WRITES = 2, MTSIM_UPDATES = 3, MTSIM_ATOMIC = 7, MTSIM_USED = 8 };

/* The bytes that the instruction touches of one operand, which has elements of `element_bits`. Outside of an
 * instruction it is one of its own, of the vector pipe, that uses what it reads. */
MTSIM_API void mtsim_check_operand(const char* instruction, const char* operand, uint32_t access,
                                   uint32_t element_bits, const void* base, const mtsim_span* spans, size_t count,
                                   const void* frame);

/* A kernel reads or writes through a pointer of its own, outside of any instruction: 0 where that must not happen, which
 * is reported; the caller ends the block. */
MTSIM_API int mtsim_check_pointer(const void* at, size_t bytes, uint32_t access, const void* frame);
/* Where kernels find device memory: no address outside of it needs mtsim_check_pointer(), save those below 4096. */
MTSIM_API void mtsim_check_window(uintptr_t* begin, uintptr_t* bytes);

/* Bytes of local memory that became what others are, defined or not; and bytes that hold no value any more. */
MTSIM_API void mtsim_check_moved(const void* to, const void* from, size_t bytes);
/* `to` became what `from` is (NULL: a value), chosen by bits at `bits`, which may be undefined themselves (NULL: not). */
MTSIM_API void mtsim_check_chosen(const void* to, const void* from, size_t bytes, const void* bits);
MTSIM_API void mtsim_check_undefined(const void* at, size_t bytes, const char* why, const void* frame);

/* Says why those of the bytes that hold no value hold none. "{}" in `why` becomes the place of the call. */
MTSIM_API void mtsim_check_explain(const void* at, size_t bytes, const char* why, const void* frame);

/* A mistake that does not stop the block: `kind` is its name in the report. */
MTSIM_API void mtsim_check_found(const char* kind, uint32_t code, const char* message, const char* help,
                                 const void* frame);
/* A mistake that ends the block; `subject` is the address it is about, or NULL. */
MTSIM_API void mtsim_check_fault(const char* kind, uint32_t code, const char* message, const void* subject,
                                 const void* frame);

/* -------------------------------------------------------------------------------- buffers and their queues */

/* `count` buffers of `bytes` bytes each, from InitBuffer; `queued`: they belong to a queue, filled by one pipe and
 * emptied by another. mtsim_check_no_buffers() forgets them all. */
MTSIM_API void mtsim_check_buffers(const void* begin, uint32_t count, uint32_t bytes, int queued, uint32_t producer,
                                   uint32_t consumer, const void* frame);
MTSIM_API void mtsim_check_no_buffers(void);
/* The same for those that lie in a range. */
MTSIM_API void mtsim_check_forget_buffers(const void* begin, size_t bytes);

enum { MTSIM_ALLOC = 0, MTSIM_ENQUE = 1, MTSIM_DEQUE = 2, MTSIM_FREE = 3 };
/* A queue's buffer goes on to its next state; 0xFF for the pipes means those of mtsim_check_buffers(). */
MTSIM_API void mtsim_check_queue(uint32_t step, const void* buffer, uint32_t producer, uint32_t consumer,
                                 const void* frame);

/* -------------------------------------------------------------------------------------------------- order */

MTSIM_API void mtsim_check_set_flag(uint32_t from, uint32_t to, int32_t id, const void* frame);
MTSIM_API void mtsim_check_wait_flag(uint32_t from, uint32_t to, int32_t id, const void* frame);
/* What all pipes did so far comes before all that they do from now on. */
MTSIM_API void mtsim_check_barrier(void);

/* Between cores: what the core did before a signal of `key` comes before what another does after it waited for that
 * key. `pipe` is the one that gives the signal, or 0xFF for all. */
MTSIM_API void mtsim_check_signal(uint64_t key, uint32_t pipe);
MTSIM_API void mtsim_check_await(uint64_t key);

/* Around a barrier of all cores that share `scope`. */
MTSIM_API void mtsim_check_arrive(uint32_t scope);
MTSIM_API void mtsim_check_leave(uint32_t scope);

/* -------------------------------------------------------------------------------------------------- traces */

/* From now on checked kernels record what their cores do, until mtsim_trace_stop(), which gives the lines (see
 * check_trace.hpp) to whoever frees them. Kernels in processes of their own record nothing. */
MTSIM_API void mtsim_trace_start(void);
MTSIM_API char* mtsim_trace_stop(void);

#ifdef __cplusplus
}
#endif

#endif /* MTSIM_MTSIM_CHECK_H */
