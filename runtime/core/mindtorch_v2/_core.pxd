"""What the core's parts know of one another: the objects, and what each part offers and asks for.

`_core` is what runs on every call. What calls seldom come to are modules of their own (`cold/`), which see the core by this
file. The core reaches them by one table, `Cold`, which each fills as it is imported.
"""
cimport cython
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t

cdef extern from *:
    ctypedef PyObject* (*vectorcallfunc)(PyObject*, PyObject**, size_t, PyObject*)

# ---------------------------------------------------------------- dtypes, keys, devices, memory

cdef enum:                     # categories of promotion, by rising rank
    CATEGORY_BOOL, CATEGORY_INT, CATEGORY_FLOAT, CATEGORY_COMPLEX


@cython.final
cdef class dtype:
    cdef readonly str name
    cdef readonly int itemsize
    cdef readonly int code
    cdef readonly bint is_signed
    cdef int category
    cdef str buffer_format   # struct-module format; None where the buffer protocol has none, as of bfloat16

cdef enum:                     # dispatch keys: bit positions by rising priority
    KEY_UNDEFINED
    KEY_CPU, KEY_CUDA, KEY_MPS, KEY_NPU, KEY_PRIVATE1, KEY_PRIVATE2, KEY_PRIVATE3, KEY_META    # a device type's code is its key here
    KEY_NARROW                                               # of dtypes that few operators compute with: narrow_dtypes.pxi
    KEY_BACKEND_SELECT, KEY_PYTHON, KEY_FUNCTIONALIZE
    KEY_CONJUGATE, KEY_NEGATIVE, KEY_ZERO_TENSOR              # of tensors that are not what their memory is: lazy_values.pxi
    KEY_AD_INPLACE_OR_VIEW
    KEY_AUTOGRAD_OTHER
    KEY_AUTOGRAD_CPU                                         # and of the other backends, in their order
    KEY_AUTOGRAD_META = KEY_AUTOGRAD_CPU + KEY_META - KEY_CPU
    KEY_TRACING
    KEY_AUTOCAST_CPU                                         # and of the other backends but Meta, in their order
    KEY_AUTOCAST_LAST = KEY_AUTOCAST_CPU + KEY_PRIVATE3 - KEY_CPU
    KEY_BATCHED
    KEY_VMAP_MODE                                            # of all calls inside of a `vmap`, for operators that draw numbers
    KEY_TESTING_WRAPPER, KEY_TESTING_MODE                    # of no tensor: programs, and tests, give them fallbacks
    KEY_TORCH_FUNCTION                                       # __torch_function__ overrides; above all, never registered
    KEY_COUNT
    # aliases: a registration under one of these stands for several keys
    ALIAS_AUTOGRAD, ALIAS_COMPOSITE_IMPLICIT, ALIAS_COMPOSITE_EXPLICIT, ALIAS_COMPOSITE_NON_FUNCTIONAL

cdef extern from "thread_state.h":
    ctypedef struct mt_run_t:            # see there
        void* owner
        void* stream
        int code, index
        int pieces
        char inside, viewing
        char holds
        char planned
    ctypedef struct mt_state_t:
        uint64_t included
        uint64_t excluded
        uint64_t withheld                # keys that new tensors do not get: in inference mode those of autograd
        uint64_t last_bump               # see versions.pxi
        int grad_off
        int64_t forward_hidden           # tangents at this level and above are not seen
        int64_t transform                # the number of the innermost transform of `func` that runs; 0: none
        int64_t captured                 # what was made below this number may not be changed in place; 0: anything may
        void* graph_task                 # the backward pass that runs, borrowed; see engine.pxi
        void* default_device             # of what names none, borrowed from `default_devices`; NULL: the CPU
        int passes                       # backward passes that run one inside another
        mt_run_t* run                    # the run of operations that is followed, borrowed; see cold/commands.pyx
    enum:
        MT_MAX_NPUS
    int mt_highest_bit(uint64_t) nogil


@cython.final
cdef class device:
    cdef readonly int type_code
    cdef readonly int index_code   # -1: no index


cdef class Allocator:
    cdef void* allocate(self, size_t nbytes, int index) except NULL
    cdef void release(self, void* pointer, size_t nbytes, int index) noexcept


@cython.final
cdef class Sharing:
    cdef object owner                  # of memory that is not the storage's own
    cdef size_t room                   # bytes that `data` has, or had before it was freed
    cdef int64_t lent                  # how many arrays, memoryviews and borrowed storages hold the address
    cdef bint fixed                    # its size stays, as its address was given away for good
    cdef bint claimed                  # it stands for the memory of a wrapper, which has none
    cdef bint lazy                     # `owner` is a storage whose memory lazy clones share, see copy_on_write.pxi
    cdef bint alias                    # the storage shows the memory of `owner`, another one, with a version of its own
    cdef list counted_with             # weak references to storages that this one's changes count for, too, itself among them; or None
    cdef PyObject* aliases             # borrowed: the first of the aliases of this storage
    cdef PyObject* next_alias          # of an alias: the next one of the same owner


cdef class UntypedStorage:
    cdef void* data
    cdef size_t nbytes_
    cdef device dev
    cdef Allocator allocator           # None: the memory belongs to another, see `sharing`
    cdef Sharing sharing               # None: nobody else holds the address, and there is memory for `nbytes_`
    cdef int64_t version
    cdef uint64_t bump                 # the last change's number, and whose it was; see versions.pxi
    cdef void* bumped_by
    cdef PyObject* attributes          # a dict once Python code has set one
    cdef object __weakref__


# ---------------------------------------------------------------- tensors

cdef enum ViewMaker:
    MADE_BY_OPERATOR, MADE_BY_FUNCTION, MADE_WITH_OTHERS      # by a custom Function; as one of several of its outputs
    MADE_IN_NO_GRAD, MADE_IN_INFERENCE                        # where nothing was recorded
    MADE_FOR_TRANSFORM                                        # an input of a transform, to which it is a leaf

cdef enum:
    INLINE_DIMS = 4            # shapes up to this rank live inside the object
    MAX_DIMS = 64


cdef class Node                # below


cdef class PlaceInBase:                  # of a view: views.pxi
    cdef tuple size, stride
    cdef int64_t offset                  # behind the base's start
    cdef int pairs                       # see `pairs_between`
    cdef uint64_t lazily                 # see `lazily_between`

cdef class Tangents:
    cdef dict by_level
    cdef object __weakref__


cdef class Tensor:
    cdef UntypedStorage storage
    cdef int64_t offset            # in elements
    cdef int64_t nelem
    cdef int64_t* sizes
    cdef int64_t* strides          # in elements
    cdef int64_t inline_dims[2 * INLINE_DIMS]
    cdef int output_nr_            # which output of grad_fn_ this is
    cdef int seen_version          # of a view: the storage's version (its low bits) when its history was last looked up
    cdef uint8_t nd                # at most MAX_DIMS
    cdef uint8_t contig
    cdef uint8_t wants_grad        # requires_grad of a leaf
    cdef uint8_t retains_grad_
    cdef uint8_t grad_dtype_       # of a leaf's grad, a GradDtype: the tensor's own, any, or behind these a dtype's code
    cdef uint8_t made              # a ViewMaker: whether a view may be changed in place
    cdef uint8_t wrapped           # a number that stands for a tensor: it takes part in type promotion as a number
    cdef dtype dt
    cdef device dev
    cdef uint64_t keys
    # autograd
    cdef Node grad_fn_
    cdef PyObject* accumulator     # borrowed: the AccumulateGrad node holds the tensor, not the reverse (no cycle)
    cdef PyObject* parked          # owned: the AccumulateGrad node while no graph has it, see parking.pxi
    cdef Tensor base_              # what this is a view of
    cdef int64_t born              # in which transform its memory was made: its number, or 0
    cdef object grad_
    cdef Tangents tangents         # of forward-mode AD, or None
    cdef object hooks              # of a leaf: {id: hook}, or None
    cdef object post_hooks         # of a leaf, run after its gradient was accumulated
    cdef PyObject* attributes      # a dict once Python code has set one
    cdef object __weakref__


# ---------------------------------------------------------------- the backward graph

cdef enum GradDtype:
    GRAD_OF_OWN_DTYPE, GRAD_OF_ANY_DTYPE, GRAD_OF_DTYPE


cdef enum:
    INLINE_EDGES = 4
    INLINE_META_DIMS = 4


cdef union MetaSizes:
    int64_t here[INLINE_META_DIMS]
    int64_t* apart                                 # malloc'ed, of more dimensions


cdef enum MetaKnown:
    META_UNKNOWN, META_KNOWN, META_ANY_DTYPE       # any: of a leaf that takes gradients of each


cdef struct OutputMeta:
    # What a gradient must look like to flow into this output.
    uint8_t known, nd, dt                          # known: a MetaKnown; dt: the dtype's code
    MetaSizes sizes
    PyObject* dev                                  # concrete devices are never freed


cdef struct NodeState:
    # A node's place in one backward pass.
    PyObject* node                                 # owned
    NodeState* after                               # of the node that the pass reached next
    int dependencies
    bint needed                                    # whether it runs
    bint wanted                                    # whether the pass is for a gradient that arrives here
    bint captured                                  # whether it is returned, and no `grad` touched
    bint queued
    int visited                                    # edges followed so far by `mark_needed`; -1: not seen
    int outputs
    PyObject* grads[1]                             # one per output: owned references, NULL where nothing has arrived


@cython.final
cdef class NodeHooks:
    cdef dict tensor                               # {output number: {id: hook}}
    cdef dict retained                             # {output number: weak reference to the tensor that retains its grad}
    cdef dict before, after                        # {id: hook}
    cdef dict metadata                             # what users keep with the node; None until asked for


cdef class Node:
    cdef tuple next_nodes                          # a Node, or None where the input needs no gradient
    cdef int* next_outputs                         # which output of the next node
    cdef int inline_next[INLINE_EDGES]
    cdef int next_count, output_count
    cdef OutputMeta first_meta
    cdef OutputMeta* more_meta                     # of outputs 1, 2, ...
    cdef uint64_t sequence
    cdef NodeState* state                          # of the pass that runs over this node, see graph_task.pxi
    cdef str node_name
    cdef NodeHooks hooks                           # None until there is one
    # Of contexts (context.pxi), here because every class with a `__dealloc__` makes freeing a node dearer:
    cdef int64_t* versions                         # of what was saved, where these are many; else NULL
    cdef PyObject* attributes                      # a dict once forward or setup_context has set one
    cdef object __weakref__
    cdef object apply(self, list grads)
    cdef int release_saved(self) except -1
    @cython.final
    cdef int set_edge_count(self, int count) except -1
    @cython.final
    cdef int set_edge(self, int slot, object tensor) except -1
    @cython.final
    cdef int set_output_count(self, int count) except -1
    @cython.final
    cdef OutputMeta* meta(self, int output) noexcept
    cdef NodeHooks hooked(self)
    cdef int retain(self, Tensor t) except -1
    cdef object add_tensor_hook(self, int output, hook)


@cython.final
cdef class AccumulateGrad(Node):
    cdef readonly Tensor variable
    cdef bint swapped                              # the variable is another tensor by now: see `swap_`
    cdef object lock                               # None until a gradient comes whose addition lets other threads in

cdef enum:
    INLINE_SAVED = 2


@cython.final
cdef class RareState:
    cdef tuple dirty, non_differentiable    # of autograd.Function: as marked
    cdef tuple to_save_forward              # as given to save_for_forward
    cdef bint keeps_marks                   # whether the marks stay once forward is done
    cdef tuple unpack                       # of saved-tensor hooks, where `saved` holds what pack returned; None elsewhere
    cdef tuple histories                    # of saved-tensor hooks: (node, output number, tangents) of what was saved
    cdef tuple recorded_at                  # in anomaly mode: the stack of the forward call; of one in backward, its node's name and this
    cdef Node change                        # while backward runs for a change of a view: the node that stands for it in the graph


cdef class FunctionCtx(Node):
    cdef object function                    # an OpOverload, or a subclass of autograd.Function
    cdef tuple to_save                      # as given to save_for_backward
    cdef tuple saved                        # as stored: own outputs as detached aliases, so that no cycle arises
    cdef int64_t inline_versions[INLINE_SAVED]
    cdef uint64_t saved_outputs             # bit i: saved[i] is an output of this node
    cdef uint64_t saved_results             # bit i: saved[i] had a history, of another node
    cdef uint8_t freed, materialize, materialize_others, is_operator
    cdef tuple list_lengths                 # per argument: length of a tensor list, None elsewhere; None if there is no list
    cdef uint64_t plain_inputs              # of autograd.Function: bit i: argument i is no tensor
    cdef public object needs_input_grad
    cdef RareState rare                     # None until something of it is set
    @cython.final
    cdef tuple saved_values(self)
    @cython.final
    cdef int without_history(self, Tensor output, int number) except -1
    cdef RareState rarely(self)
    @cython.final
    cdef int finish_saving(self) except -1
    cdef int materialize_gradients(self, list grads) except -1


# ---------------------------------------------------------------- operators and kernels

cdef enum:                     # what an argument takes
    ARG_TENSOR, ARG_TENSOR_LIST, ARG_OPT_TENSOR_LIST, ARG_INT, ARG_FLOAT, ARG_BOOL, ARG_STR, ARG_SCALAR
    ARG_INT_LIST, ARG_FLOAT_LIST, ARG_BOOL_LIST, ARG_SCALAR_LIST, ARG_DTYPE, ARG_DEVICE
    ARG_LAYOUT, ARG_MEMORY_FORMAT, ARG_GENERATOR, ARG_STORAGE, ARG_ANY

cdef enum:
    MAX_ARGS = 64
    PLAN_OBJECTS = 96          # object registers of a program: the arguments, what its steps make, and its constants


cdef struct ArgSpec:
    int kind
    bint optional
    bint symbolic          # a SymInt, or a list of them
    bint refuses_bool      # a number of additions and subtractions that is no bool, but for results that are
    bint is_factor         # one of them that is of a kind that the result's dtype has
    int list_size          # of `int[2]`: one int stands for that many; 0 elsewhere


cdef struct Bound:
    # Borrowed references in schema order, which is also vectorcall's order; `made` owns what conversion created. A program
    # that runs the call has its registers here.
    PyObject* slots[PLAN_OBJECTS]
    PyObject* made[2 * MAX_ARGS]          # a list may be copied and then converted
    int made_count
    int mode                   # BIND_EXACT, BIND_WRAP, BIND_CAST
    uint64_t unread            # a bit for each argument whose tensor is to be read for a number


@cython.final
cdef class Signature:
    cdef ArgSpec args[MAX_ARGS]
    cdef int count, positional
    cdef int required               # how many arguments have no default
    cdef tuple names                # interned
    cdef tuple kwnames              # names of the keyword-only arguments, or None
    cdef tuple defaults             # a value, or NO_DEFAULT
    cdef object schema
    cdef str qualname
    cdef int varargs                # the int list that takes the rest of the positional arguments; -1 if there is none
    cdef int device_arg             # the argument that chooses the device of a factory; -1
    cdef bint has_lists             # of tensors
    cdef int tensor_args            # how many arguments are one tensor
    cdef uint8_t tensor_at[MAX_ARGS]        # which they are
    cdef dict needs                 # mask of arguments that require grad -> needs_input_grad, shared by all calls


cdef struct Alias:
    bint declared                        # `Tensor(a)`: an output may share this argument's memory
    bint written                         # `Tensor(a!)`


cdef class OpOverload:
    cdef vectorcallfunc vectorcall
    cdef Signature sig
    cdef readonly str namespace
    cdef readonly object _schema
    cdef readonly object source          # where it was defined: "ops.yaml:3" or "file.py:12"
    cdef readonly list tags
    cdef str doc
    cdef str node_name                   # of the nodes of its calls, and their classes:
    cdef PyTypeObject* plan_node_type    # of calls recorded with a formula; NULL until there is one
    cdef PyTypeObject* context_type      # of others
    cdef dict kernels                    # key -> (callable, source, whether it takes the key set), as registered
    cdef PyObject* table[KEY_COUNT]      # resolved: what runs at each key; borrowed from `kernels` and fallbacks
    cdef uint64_t active                 # keys at which something happens
    cdef uint64_t keyset_at              # keys whose kernel takes the call's DispatchKeySet before the arguments
    cdef uint64_t recorded_at            # autograd keys at which the core records the call itself
    cdef uint64_t planned_at             # backend keys whose kernel is a plan that the call path runs itself
    cdef uint64_t composite_at           # backend keys that run an implicit composite, whose own operators are checked
    cdef public bint is_delegate         # calls run a lowered module
    cdef tuple declared_devices          # or None
    cdef Alias aliases[MAX_ARGS]
    cdef public bint refuses_aliases     # a kernel's result may share no memory that the schema does not declare, recorded or not
    cdef bint mutates, makes_views, returns_self, is_builtin
    cdef int keeps_layout                # whose layout the result has: memory_formats.pxi
    cdef bint writes_first               # to its first argument alone, a tensor, and takes no lists of tensors
    cdef bint broadcasts_into            # what it writes to, but `out`, all tensors must be broadcast to its shape
    cdef int device_check, overlap_check # what is asked of the arguments before a kernel runs: devices.pxi, overlap.pxi
    cdef bint takes_numbers              # for tensors
    cdef uint64_t aliased_returns        # bit i: the schema declares that output i shares memory with an argument
    cdef int returns                     # number of declared returns
    cdef int return_kind                 # of each: ARG_TENSOR, ARG_TENSOR_LIST or ARG_ANY
    cdef object result_type              # of what functions and methods return, where several results have names; or None
    cdef readonly object backward_function, setup_function
    cdef readonly object jvp_function, jvp_source
    cdef bint setup_takes_keywords
    cdef bint constants_read             # `constants` is set, at the first call that is recorded
    cdef uint64_t constants              # bit i: argument i must not require grad where a call is recorded
    cdef object gradient                 # a Gradient, where the formula is a definition's and its calls can be recorded as plans
    cdef object pending                  # callable() that registers the rest of a definition, before the first call; or None
    cdef dict __dict__
    cdef object __weakref__

cdef extern from "trampoline.h":
    enum:
        MT_INT_REGISTERS, MT_FLOAT_REGISTERS, MT_STACK_WORDS
    ctypedef struct mt_frame:
        uint64_t ints[8]

cdef extern from "mindtorch_kernel.h":
    enum:
        MT_NEXT_UNKNOWN, MT_NEXT_END, MT_NEXT_KERNEL, MT_NEXT_DELEGATE
    ctypedef struct mt_context:
        uint32_t size
        int32_t next, device, device_index, next_device, next_device_index, commit_and_continue, encoded
        int64_t position, operations

cdef enum:
    MAX_KERNEL_ARGS = 64
    MAX_BLOCK_DIM = 65535
    RELEASE_GIL_FROM = 4096    # elements, a power of two: below, giving the GIL up and taking it back costs more than the kernel


@cython.final
cdef class CType:
    cdef readonly str name
    cdef readonly int size       # bytes
    cdef int kind


@cython.final
cdef class Kernel:
    cdef vectorcallfunc vectorcall
    cdef void* address
    cdef int nargs, floats, words
    cdef bint ascendc, has_host, takes_context, has_generator
    cdef uint8_t kinds[MAX_KERNEL_ARGS]
    cdef uint8_t slots[MAX_KERNEL_ARGS]      # index into the frame seen as one array of words
    cdef uint32_t allowed[MAX_KERNEL_ARGS]   # bit per dtype code
    cdef readonly str name, abi
    cdef readonly tuple types, dtypes
    cdef object resolve
    cdef dict host_sizes                     # position -> bytes; None: nothing known
    cdef object __weakref__


# ---------------------------------------------------------------- what the core offers
cdef mt_state_t* thread_state() noexcept
cdef uint64_t next_sequence              # of nodes: the number of the next
cdef int forward_levels                  # of forward mode that are open in this process; while it is 0, no call looks for tangents
cdef dict operators                      # "ns::name.overload" -> OpOverload ("ns::name" for the default overload)
cdef dtype dtype_c64

cdef object aten(str name)
cdef object make_size(int nd, const int64_t* sizes)
cdef Tensor alloc_sizes(int nd, const int64_t* sizes, dtype dt, device dev)
cdef Tensor same_value(Tensor source)
cdef void bump_version(UntypedStorage s) noexcept
cdef int set_requires_grad(Tensor t, bint value) except -1
cdef bint needs_grad(Tensor t) noexcept
cdef bint holds(tuple tensors, object value)
cdef Tangents tangents_of(Tensor t)

cdef int set_history(Tensor t, Node node, int number) except -1
cdef int check_writable(str name, Tensor t) except -1
cdef int refuse_inference_tensor(Tensor t) except -1
cdef int copy_geometry_at(PyObject* source, Tensor target) except -1
cdef int record_meta(OutputMeta* meta, Tensor t) except -1
cdef Node gradient_node(Tensor t)
cdef object zeros_for(OutputMeta* meta)
cdef PlaceInBase place_in_base(Tensor view, Tensor base)
cdef bint is_all_of(Tensor view, Tensor base) noexcept
cdef object shown_at(PlaceInBase place, object whole)
cdef PyTypeObject* named_type(PyTypeObject* base, str name) except NULL
cdef FunctionCtx function_context(object cls)
cdef object class_attribute(object owner, str name)
cdef tuple tensor_list_lengths(OpOverload op, Bound* bound)
cdef object call_setup(OpOverload op, Bound* bound, FunctionCtx ctx, object output)
cdef object backward_callable(FunctionCtx ctx)
cdef object align_gradients(FunctionCtx ctx, object result)
cdef object saved_tensor_hooks           # an object with `pairs`, this thread's (pack, unpack), innermost last
cdef bint anomaly_enabled
cdef Tensor saved_alias(Tensor t)
cdef object unpack_at(FunctionCtx ctx, Py_ssize_t i)
cdef object graph_freed()
cdef object said_by_setup(OpOverload op, str what, object default)
cdef tuple saved_by_formula(FunctionCtx node)
cdef dict gradient_names(OpOverload op)

cdef int bind_python(Signature sig, tuple args, dict kwargs, Bound* bound) except -1
cdef void release_bound(Bound* bound) noexcept
cdef object call_with_lists(OpOverload op, Bound* bound, PyObject** lists)
cdef object run_backend(OpOverload op, int key, Bound* bound)
cdef int raise_bad_scalar(str where, CType ctype, object value, int status) except -1
cdef str where(Kernel self, int i)
cdef str kept_as(Tensor t)
cdef object NO_DEFAULT                   # in the place of an argument's default where there is none
cdef bint is_stranger(object value)
cdef tuple items_shown(object value)
cdef list tensors_of(object value)
cdef dict KEY_NAMES                      # key -> its first name
cdef uint64_t BACKEND_KEYS, LAZY
cdef list device_types                   # by their backends' keys

cdef struct AclEntryPoints:
    int (*set_device)(int32_t) noexcept nogil
    int (*malloc)(void**, size_t, int) noexcept nogil
    int (*free)(void*) noexcept nogil
    int (*memory_info)(int, size_t*, size_t*) noexcept nogil
    int (*synchronize_device)() noexcept nogil
    int (*synchronize_stream)(void*) noexcept nogil
    int (*synchronize_within)(void*, int32_t) noexcept nogil     # a stream, and milliseconds
    int (*create_event)(void**, uint32_t) noexcept nogil
    int (*destroy_event)(void*) noexcept nogil
    int (*record_event)(void*, void*) noexcept nogil
    int (*wait_event)(void*, void*) noexcept nogil
    int (*query_event)(void*, int*) noexcept nogil
    int (*execute)(void*, void*) noexcept nogil                  # a captured graph; NULL where CANN is too old to capture
    int (*copy)(void*, size_t, void*, size_t, int, void*) noexcept nogil
    int (*capture_info)(void*, int*, void**) noexcept nogil      # NULL where CANN is too old to capture
    int (*begin_update)(void*, void*) noexcept nogil             # of the tasks of a captured graph; NULL as above
    int (*end_update)(void*) noexcept nogil

cdef AclEntryPoints acl

cdef enum:                               # who watches calls, as bits
    WATCH_TRACE = 1                      # the dispatch trace, on stderr
    WATCH_PROFILE = 2                    # a profiler: cold/profiling.pyx
    WATCH_MEMORY = 4                     # one that wants to hear of memory, too

cdef int watched                         # nobody: 0, which is all that calls look at
cdef int npu_recordings                  # captures and updates under way, in all threads
cdef bint npu_streams_in_use             # some thread has used a stream other than the default one
cdef int bind_acl(dict addresses, object error_factory) except -1
cdef int npu_enter(int index) except -1
cdef int checked_npu(int index) except -1
cdef void* npu_stream_of(int index) noexcept
cdef object npu_error(int code, str what)
cdef int release_held() except -1
cdef int note_queued(int index, void* stream, str what) except -1
cdef mt_context* kernel_context() noexcept             # what this thread's kernels are told
cdef int queue_launch(Kernel self, mt_frame* frame, int index, void* stream, PyObject** args, Py_ssize_t n) except -1
cdef device device_at(int code, int index)
cdef device as_device(object value)
cdef int set_allocator(int key, Allocator allocator) except -1


# ---------------------------------------------------------------- what the core asks for: filled by the modules of `cold/`
cdef struct Cold:
    # failures
    int (*raise_bad_argument)(Kernel self, int i, object value, int status) except -1
    object (*kernel_failure)(Kernel self, int status, PyObject** args, Py_ssize_t n)
    int (*explain_kernel_failure)(OpOverload op, Bound* bound) except -1
    int (*check_broadcasts_into)(OpOverload op, Bound* bound) except -1
    int (*check_casts_into)(OpOverload op, Bound* bound) except -1
    int (*raise_wrong_count)(Kernel self, Py_ssize_t n) except -1
    int (*raise_wrong_device)(Kernel self, int i, str what, device got, int at, int at_from) except -1
    int (*raise_wrong_dtype)(Kernel self, int i, Tensor t) except -1
    int (*raise_unusable)(Kernel self, int i, Tensor t) except -1
    # misfits: those that return an object make the error that is raised
    object (*wrong_type)(Signature sig, int at, object value)
    object (*too_many)(Signature sig, Py_ssize_t nargs)
    object (*unexpected_keyword)(Signature sig, object name, int at)
    object (*missing)(Signature sig, Bound* bound)
    object (*no_overload)(str name, list candidates, PyObject** args, Py_ssize_t nargs, PyObject* kwnames)
    object (*missing_kernel)(OpOverload op, uint64_t keys)
    int (*refuse_mutation)(OpOverload op, Bound* bound, int at) except -1
    object (*too_large)(Tensor t, bint strided)
    object (*not_expandable)(Tensor t, int nd, const int64_t* sizes)
    object (*hook_name)(object hook)
    int (*check_replaced)(object value, object replaced, object hook) except -1
    int (*warn_of_missing_gradient)() except -1
    # saved_values
    int (*record_hooked)(FunctionCtx ctx) except -1
    Tensor (*unpack_hooked)(FunctionCtx ctx, Py_ssize_t at)
    int (*explain_failure)(Node node) except -1
    int (*refuse_nan)(Node node, object grads) except -1
    object (*saved_tensor)(FunctionCtx node, Py_ssize_t at)
    object (*saved_by_name)(FunctionCtx node, str name)
    list (*saved_attributes)(FunctionCtx node)
    # forward
    int64_t (*level_of_tensor)(Tensor t) except -1
    int64_t (*level_of_call)(OpOverload op, Bound* bound) except -1
    bint (*goes_above_batch)(OpOverload op, Bound* bound, uint64_t autograd_keys) except -1
    int (*refuse_captured)(OpOverload op, Bound* bound) except -1
    object (*unsupported_in_transform)(str method, str besides)
    # inplace_views
    int (*rebase_view)(Tensor view, FunctionCtx operation, int output, int at) except -1
    int (*refresh_view)(Tensor view) except -1
    object (*forbidden_on_view)(Tensor view, str happened)
    bint (*is_changed_by)(Tensor view, FunctionCtx ctx) except -1
    int (*output_of_change)(Tensor view) except -1
    int (*give_history_of_change)(Node change, Tensor t) except -1
    # commands
    int (*begin_operation)(mt_run_t* run, OpOverload op, int key, Bound* bound) except -1
    int (*close_operation)(mt_run_t* run) except -1
    bint (*hold_launch)(mt_run_t* run, Kernel kernel, mt_frame* frame, int index, void* stream, PyObject** args, Py_ssize_t n,
                        list views) except -1
    bint (*hold_delegate)(mt_run_t* run, object execute, list inputs, list state, list outputs) except -1
    int (*queued_alone)(mt_run_t* run, int index, void* stream, str what) except -1
    int (*release)(mt_run_t* run) except -1
    # delegates
    int (*execute_delegate)(object execute, list inputs, list state, list outputs) except -1
    # random
    object (*find_generator)(object value)
    void* (*take_generator)(PyObject* source) except NULL
    int (*give_generator)(PyObject* source) noexcept
    # npu_memory
    int (*mark_tensors)(PyObject** args, Py_ssize_t n, void* stream) except -1
    # profiling: a span's number, or -1 where none is recorded, which `close_span` takes as well
    int64_t (*open_call)(OpOverload op, Bound* bound, uint64_t keys) except -2
    int64_t (*open_node)(Node node, list grads) except -2
    int64_t (*open_span)(str category, str name) except -2
    void (*close_span)(int64_t span) noexcept
    void (*note_memory)(void* address, int64_t nbytes, device dev) noexcept

cdef Cold cold
