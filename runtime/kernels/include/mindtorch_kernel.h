/* The interface between mindtorch_v2 and compiled kernels with the C calling convention (`abi: c`).
 *
 * A kernel is `int name(const mt_tensor* x, ..., double scale, ...)` with C linkage. Descriptors live for the
 * duration of the call only. It returns MT_OK, or one of the errors below, which the runtime raises.
 */
#ifndef MINDTORCH_KERNEL_H
#define MINDTORCH_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A strided tensor. `data` is the address of the first element, the storage offset included. */
typedef struct mt_tensor {
  void* data;
  int64_t ndim;
  const int64_t* shape;
  const int64_t* strides; /* in elements */
  int32_t dtype;          /* enum mt_dtype */
  int32_t itemsize;       /* bytes an element */
} mt_tensor;

enum mt_dtype {
  MT_BOOL,
  MT_U8,
  MT_I8,
  MT_I16,
  MT_I32,
  MT_I64,
  MT_F16,
  MT_BF16,
  MT_F32,
  MT_F64,
  MT_C64,
  MT_C128,
  MT_U16,
  MT_U32,
  MT_U64,
  MT_F8_E4M3FN, /* from here on: dtypes that few operators compute with */
  MT_F8_E5M2,
  MT_F8_E4M3FNUZ,
  MT_F8_E5M2FNUZ,
  MT_C32
};

enum mt_status {
  MT_OK = 0,
  MT_ERROR_DTYPE = 1,     /* the kernel has no code for this dtype, or for this pair of dtypes */
  MT_ERROR_SHAPE = 2,     /* shapes that do not fit one another, or more than 64 dimensions */
  MT_ERROR_DIVISION = 3,  /* integer division by zero */
  MT_ERROR_INDEX = 4,     /* an index outside its dimension */
  MT_ERROR_MEMORY = 5,    /* no memory for a temporary */
  MT_ERROR_INTERRUPTED = 6, /* mt_interrupted() said so */
  MT_ERROR_FACTOR = 7,    /* a factor with a fraction, for integers */
  MT_ERROR_OVERFLOW = 8,  /* a number that its dtype cannot hold */
  MT_ERROR_PROBABILITY = 9, /* a probability that is not between 0 and 1 */
  MT_ERROR_TARGET = 10    /* a target that is no class */
};

/* What a kernel is told of where it runs and of what comes next: a kernel that declares `context` among its arguments gets
 * `const mt_context*`, valid for the duration of the call; an AscendC kernel gets the struct by value.
 *
 * The runtime fills in `size`, the bytes that it knows of: fields are only ever added at the end, so a kernel that was
 * compiled with a newer header than the runtime's asks `mt_context_has(context, field)` before it reads one of them.
 */
enum mt_next {
  MT_NEXT_UNKNOWN = 0,  /* nothing is known of what comes next */
  MT_NEXT_END = 1,      /* nothing comes next: the plan ends */
  MT_NEXT_KERNEL = 2,
  MT_NEXT_DELEGATE = 3  /* a lowered module */
};

enum mt_device { MT_DEVICE_NONE = 0, MT_DEVICE_CPU = 1, MT_DEVICE_CUDA = 2, MT_DEVICE_MPS = 3, MT_DEVICE_NPU = 4 };

typedef struct mt_context {
  uint32_t size;
  int32_t next;                /* enum mt_next */
  int32_t device;              /* where this operation runs: enum mt_device, or the number of a device from outside */
  int32_t device_index;        /* -1: the device has none */
  int32_t next_device;         /* of the next operation; MT_DEVICE_NONE where that is not known */
  int32_t next_device_index;
  int32_t commit_and_continue; /* 1: work may stay encoded; 0: the command buffer is committed after this operation */
  int32_t encoded;             /* operations that the command buffer holds already */
  int64_t position;            /* of this operation in the plan, or since the lookahead began; -1: there is neither */
  int64_t operations;          /* of the plan; -1: there is none */
} mt_context;

#define mt_context_has(context, field) \
  ((context)->size >= offsetof(mt_context, field) + sizeof((context)->field))

/* Ctrl-C in a kernel that runs for long: between blocks of some milliseconds of work,
 *
 *   if (mt_interrupted()) return MT_ERROR_INTERRUPTED;
 *
 * The exception of Python's signal handler is then raised where the kernel was called. It costs a look at the clock; ten
 * times a second it takes the interpreter's lock. Threads that the kernel starts always get 0. The runtime sets `mt_poll`
 * when it loads the library.
 */
__attribute__((weak, visibility("default"))) int (*mt_poll)(void);
static inline int mt_interrupted(void) { return mt_poll != 0 && mt_poll(); }

#ifdef __cplusplus
}
#endif
#endif
