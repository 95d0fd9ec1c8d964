/* A thread's dispatch state: see keys.pxi, which has each thread's, and _core.pxd, which says what the fields are. */
#ifndef MT_THREAD_STATE_H
#define MT_THREAD_STATE_H

#include <stdint.h>

/* What a run of operations is at, which is followed: the part of cold/commands.pyx's `Run` that the call path reads. */
typedef struct {
    void* owner;            /* the `Run`, borrowed */
    void* stream;           /* on which the latest operation has queued its work */
    int code, index;        /* where that operation runs */
    int pieces;             /* that it has queued */
    char inside, viewing;   /* an operation runs; or a view, which is none */
    char holds;             /* a launch or a call is held back */
    char planned;           /* a plan has what comes next: nothing is held back */
} mt_run_t;

typedef struct {
    uint64_t included, excluded, withheld, last_bump;
    int grad_off;
    int64_t forward_hidden, transform, captured;
    void* graph_task;
    void* default_device;
    mt_run_t* run;
    int passes;
} mt_state_t;

#define MT_MAX_NPUS 64
#define mt_highest_bit(x) (63 - __builtin_clzll(x))

#endif
