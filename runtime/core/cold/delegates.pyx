# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""What every call of a lowered module does: its inputs are compared, its outputs made, and a captured graph replayed."""
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uintptr_t
from libc.string cimport memcmp

from mindtorch_v2._core cimport (
    WATCH_PROFILE, Tensor, acl, alloc_sizes, cold, device, mt_run_t, note_queued, npu_enter, npu_error, npu_stream_of,
    npu_streams_in_use, release_held, thread_state, watched,
)

from mindtorch_v2._core_commands import runtime_context

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core
    pass

cdef enum:
    ACL_DEVICE_TO_DEVICE = 3
    ACL_EVENT_SYNC = 1


@cython.final
cdef class Forms:
    """What tensors look like that are all on one device: made of a meta tensor for each, and of the device."""
    cdef list examples
    cdef device dev

    def __init__(self, list examples not None, device dev not None):
        for example in examples:
            if not isinstance(example, Tensor):
                raise TypeError(f"Forms: expected a list of tensors, got {type(example).__name__} among them")
        self.examples, self.dev = list(examples), dev

    cdef bint fit(self, list values):
        """Whether these are tensors, as many, and of the same shapes and dtypes on the device."""
        cdef Py_ssize_t i
        cdef Tensor expected, given
        if len(values) != len(self.examples):
            return False
        for i in range(len(values)):
            value = values[i]
            if not isinstance(value, Tensor):
                return False
            given, expected = <Tensor>value, <Tensor>self.examples[i]
            if (given.nd != expected.nd or given.dt is not expected.dt or given.dev.type_code != self.dev.type_code
                    or given.dev.index_code != self.dev.index_code
                    or memcmp(given.sizes, expected.sizes, given.nd * sizeof(int64_t)) != 0):
                return False
        return True

    cdef list made(self):
        cdef list tensors = []
        cdef Tensor example
        for item in self.examples:
            example = <Tensor>item
            tensors.append(alloc_sizes(example.nd, example.sizes, example.dt, self.dev))
        return tensors

    def empty(self):
        """Uninitialised tensors of these forms."""
        return self.made()


@cython.final
cdef class LoweredKernel:
    """The kernel of a lowered module's operator: makes its outputs, and has a delegate's ``execute`` fill them.

    ``misfit`` makes the error for inputs, or parameters and buffers, of other forms.
    """
    cdef Forms inputs, state, outputs
    cdef object execute, misfit

    def __init__(self, Forms inputs not None, Forms state not None, Forms outputs not None, execute not None, misfit not None):
        self.inputs, self.state, self.outputs, self.execute, self.misfit = inputs, state, outputs, execute, misfit

    def run(self, list inputs not None, list state not None):
        """The outputs for these inputs, parameters and buffers: filled, or to be filled when the next operation is known."""
        cdef list made
        cdef mt_run_t* run
        if not self.inputs.fit(inputs) or not self.state.fit(state):
            raise self.misfit(inputs, state)
        made = self.outputs.made()
        run = thread_state().run
        if run == NULL or run.planned or not cold.hold_delegate(run, self.execute, inputs, state, made):
            execute_delegate(self.execute, inputs, state, made)
        return made


cdef int execute_delegate(object execute, list inputs, list state, list outputs) except -1:
    """A delegate's ``execute``, which is told of the operation that it is where it asks."""
    if type(execute) is GraphReplay:
        (<GraphReplay>execute).queue(inputs, state, outputs)
    else:
        execute(runtime_context(), inputs, state, outputs)
    return 0


@cython.final
cdef class LoweredCall:
    """What calls a lowered module's operator as its module is called.

    ``places`` are a dict and a key for each parameter and buffer. ``result`` makes what the module returns of a list of
    outputs; ``misfit`` the error for inputs of other forms, before a mode or autograd sees them.
    """
    cdef object op, result, misfit
    cdef Forms inputs
    cdef list places

    def __init__(self, op not None, Forms inputs not None, list places not None, result not None, misfit not None):
        self.op, self.inputs, self.places, self.result, self.misfit = op, inputs, places, result, misfit

    def __call__(self, *inputs):
        cdef list given = list(inputs), state = []
        if not self.inputs.fit(given):
            raise self.misfit(given)
        for registry, key in self.places:
            state.append((<dict?>registry)[key])
        return self.result(self.op(given, state))


@cython.final
cdef class GraphReplay:
    """A captured graph, with the handle of its model and the contiguous tensors that it reads and writes; called as a delegate's ``execute``.

    ``moved`` makes the error for a parameter or buffer, by its place, that is not where it was captured. The GIL is kept
    from the first piece that is queued to the last: replays of several threads do not mix.
    """
    cdef object graph          # whose model it is, kept alive
    cdef void* model
    cdef int index             # of the NPU
    cdef list inputs, state, outputs
    cdef str name
    cdef object moved
    cdef void* stream          # of the latest replay
    cdef void* fence           # which replays on another stream wait for

    def __init__(self, str name not None, int index, graph not None, uintptr_t model, list inputs not None,
                 list state not None, list outputs not None, moved not None):
        self.name, self.index, self.graph, self.model, self.moved = name, index, graph, <void*>model, moved
        self.inputs, self.state, self.outputs = inputs, state, outputs
        self.stream = npu_stream_of(index)

    def __dealloc__(self):
        if self.fence != NULL:
            acl.destroy_event(self.fence)

    def __call__(self, context, list inputs not None, list state not None, list outputs not None):
        """Queues copies of the inputs, a replay, and copies of its results, on the current stream.

        The lists are those of a `LoweredKernel`, which has compared them with what the graph was captured with.
        """
        self.queue(inputs, state, outputs)

    cdef int queue(self, list inputs, list state, list outputs) except -1:
        cdef Py_ssize_t i
        cdef int previous
        for i in range(len(state)):
            if address(<Tensor?>state[i]) != address(<Tensor>self.state[i]):
                raise self.moved(i)
        for i in range(len(inputs)):
            if not (<Tensor>inputs[i]).contig:
                inputs = [each.contiguous() for each in inputs]
                break
        previous = npu_enter(self.index)
        try:
            release_held()
            self.turn_to(npu_stream_of(self.index))
            for i in range(len(self.inputs)):
                self.copy(<Tensor>self.inputs[i], <Tensor>inputs[i])
            self.replay()
            for i in range(len(self.outputs)):
                self.copy(<Tensor?>outputs[i], <Tensor>self.outputs[i])
        finally:
            npu_enter(previous)
        return note_queued(self.index, self.stream, "a captured graph")

    cdef int turn_to(self, void* stream) except -1:
        """On another stream than the latest replay's: behind that."""
        if stream == self.stream:
            return 0
        if self.fence == NULL:
            self.checked(acl.create_event(&self.fence, ACL_EVENT_SYNC), "aclrtCreateEventExWithFlag")
        self.checked(acl.record_event(self.fence, self.stream), "aclrtRecordEvent")
        self.checked(acl.wait_event(stream, self.fence), "aclrtStreamWaitEvent")
        self.stream = stream
        return 0

    cdef int copy(self, Tensor target, Tensor source) except -1:
        cdef size_t nbytes = target.nelem * target.dt.itemsize
        cdef int64_t span = cold.open_span("copy", "aclrtMemcpyAsync") if watched & WATCH_PROFILE else -1
        cdef int status = acl.copy(address(target), nbytes, address(source), nbytes, ACL_DEVICE_TO_DEVICE, self.stream)
        cdef PyObject* used[2]
        cold.close_span(span)
        self.checked(status, "aclrtMemcpyAsync")
        if npu_streams_in_use:
            used[0], used[1] = <PyObject*>target, <PyObject*>source
            cold.mark_tensors(used, 2, self.stream)
        return 0

    cdef int replay(self) except -1:
        cdef int64_t span = cold.open_span("replay", "aclmdlRIExecuteAsync") if watched & WATCH_PROFILE else -1
        cdef int status = acl.execute(self.model, self.stream)
        cold.close_span(span)
        return self.checked(status, "aclmdlRIExecuteAsync")

    cdef int checked(self, int status, str symbol) except -1:
        if status != 0:
            raise npu_error(status, f"{self.name}: {symbol}")
        return 0


cdef inline void* address(Tensor t) noexcept:
    return <char*>t.storage.data + t.offset * t.dt.itemsize


cold.execute_delegate = execute_delegate
