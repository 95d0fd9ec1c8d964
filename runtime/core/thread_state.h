/* A thread's dispatch state: see keys.pxi, which has each thread's, and _core.pxd, which says what the fields are. */
#ifndef MT_THREAD_STATE_H
#define MT_THREAD_STATE_H

#include <stdint.h>

typedef struct {
    uint64_t included, excluded, withheld, last_bump;
    int grad_off;
    int64_t forward_hidden, transform, captured;
    void* graph_task;
    void* default_device;
    void* run;
    int passes;
} mt_state_t;

#define MT_MAX_NPUS 64
#define mt_highest_bit(x) (63 - __builtin_clzll(x))

#endif
