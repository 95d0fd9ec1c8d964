# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""What every call of a lowered module does: its inputs are compared, its outputs made, and a captured graph replayed."""
cimport cython
from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uintptr_t
from libc.stdlib cimport free, malloc

from mindtorch_v2._core cimport (
    KEY_CPU, WATCH_PROFILE, Bound, OpOverload, Tensor, acl, alloc_sizes, call_with_lists, cold, device, device_at, dtype, mt_run_t,
    note_queued, npu_enter, npu_error, npu_stream_of, npu_streams_in_use, release_held, thread_state, vectorcallfunc, watched,
)

from mindtorch_v2._core_commands import runtime_context

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core, too
    void mt_enable_vectorcall(PyTypeObject* type, Py_ssize_t offset, int method_descriptor)
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf) nogil

cdef enum:
    ACL_DEVICE_TO_DEVICE = 3
    ACL_EVENT_SYNC = 1


cdef struct Form:
    int nd
    PyObject* dt                # borrowed: dtypes live as long as the process
    int64_t* sizes


@cython.final
cdef class Forms:
    """What tensors look like that are all on one device: made of a meta tensor for each, and of the device."""
    cdef Form* forms            # in one piece of memory with their sizes: every call reads them
    cdef Py_ssize_t count
    cdef device dev

    def __cinit__(self, list examples not None, device dev not None):
        cdef int64_t* sizes
        cdef Tensor example
        cdef Py_ssize_t i
        cdef int k
        for item in examples:
            if not isinstance(item, Tensor):
                raise TypeError(f"Forms: expected a list of tensors, got {type(item).__name__} among them")
        self.dev, self.count = dev, len(examples)
        self.forms = <Form*>malloc(self.count * sizeof(Form) + sum([item.dim() for item in examples]) * sizeof(int64_t) + 1)
        if self.forms == NULL:
            raise MemoryError()
        sizes = <int64_t*>(self.forms + self.count)
        for i in range(self.count):
            example = <Tensor>examples[i]
            self.forms[i].nd, self.forms[i].dt, self.forms[i].sizes = example.nd, <PyObject*>example.dt, sizes
            for k in range(example.nd):
                sizes[k] = example.sizes[k]
            sizes += example.nd

    def __dealloc__(self):
        free(self.forms)

    cdef bint fit(self, list values):
        """Whether these are tensors, as many, and of the same shapes and dtypes on the device."""
        cdef Py_ssize_t i
        if len(values) != self.count:
            return False
        for i in range(self.count):
            value = values[i]
            if not isinstance(value, Tensor) or not has_form(<Tensor>value, &self.forms[i], self.dev):
                return False
        return True

    cdef list made(self):
        cdef list tensors = []
        cdef Py_ssize_t i
        for i in range(self.count):
            tensors.append(alloc_sizes(self.forms[i].nd, self.forms[i].sizes, <dtype>self.forms[i].dt, self.dev))
        return tensors

    def empty(self):
        """Uninitialised tensors of these forms."""
        return self.made()


cdef inline bint has_form(Tensor t, Form* form, device dev) noexcept:
    cdef int i
    if (t.nd != form.nd or <PyObject*>t.dt != form.dt or t.dev.type_code != dev.type_code
            or t.dev.index_code != dev.index_code):
        return False
    for i in range(t.nd):
        if t.sizes[i] != form.sizes[i]:
            return False
    return True


@cython.final
cdef class LoweredKernel:
    """The kernel of a lowered module's operator, called with lists of its inputs and of its parameters and buffers.

    It makes the outputs and has a delegate's ``execute`` fill them, or sees to it once the next operation is known.
    ``misfit`` makes the error for inputs, or parameters and buffers, of other forms.
    """
    cdef vectorcallfunc vectorcall
    cdef Forms inputs, state, outputs
    cdef object execute, misfit

    def __cinit__(self, Forms inputs not None, Forms state not None, Forms outputs not None, execute not None, misfit not None):
        self.vectorcall = <vectorcallfunc>call_lowered
        self.inputs, self.state, self.outputs, self.execute, self.misfit = inputs, state, outputs, execute, misfit

    cdef list run(self, list inputs, list state):
        cdef list made
        cdef mt_run_t* run
        if not self.inputs.fit(inputs) or not self.state.fit(state):
            raise self.misfit(inputs, state)
        made = self.outputs.made()
        run = thread_state().run
        if run == NULL or run.planned or not cold.hold_delegate(run, self.execute, inputs, state, made):
            execute_delegate(self.execute, inputs, state, made)
        return made


cdef object call_lowered(object kernel, PyObject** args, size_t nargsf, PyObject* kwnames):
    if PyVectorcall_NARGS(nargsf) != 2 or kwnames != NULL:
        raise TypeError("the kernel of a lowered module takes its inputs, and its parameters and buffers: two lists")
    return (<LoweredKernel>kernel).run(<list?><object>args[0], <list?><object>args[1])


cdef Forms _none = Forms([], device_at(KEY_CPU, -1))
cdef LoweredKernel _probe = LoweredKernel(_none, _none, _none, runtime_context, runtime_context)
mt_enable_vectorcall(<PyTypeObject*>LoweredKernel, <char*>&_probe.vectorcall - <char*><PyObject*>_probe, 0)


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
    outputs; None: it returns the only one. ``misfit`` makes the error for inputs of other forms, before a mode or autograd
    sees them.
    """
    cdef OpOverload op
    cdef object result, misfit
    cdef Forms inputs
    cdef list places
    cdef list state            # of the latest call; never changed, as a call that is held back has it

    def __cinit__(self, OpOverload op not None, Forms inputs not None, list places not None, result, misfit not None):
        self.op, self.inputs, self.places, self.result, self.misfit = op, inputs, places, result, misfit
        self.state = []

    def __call__(self, *inputs):
        cdef list given = list(inputs), state
        cdef PyObject* lists[2]
        cdef Bound bound
        if not self.inputs.fit(given):
            raise self.misfit(given)
        state = self.state                               # another thread may call with others meanwhile
        if not self.is_of_now(state):
            state = [(<dict?>registry)[key] for registry, key in self.places]
            if not all([isinstance(value, Tensor) for value in state]):
                return self.op(given, state)             # raises, and says what is wrong
            self.state = state
        lists[0], lists[1] = <PyObject*>given, <PyObject*>state
        made = call_with_lists(self.op, &bound, lists)
        return made[0] if self.result is None else self.result(made)

    cdef bint is_of_now(self, list state) except -1:
        """Whether these are the parameters and buffers that there are."""
        cdef Py_ssize_t i
        if len(state) != len(self.places):
            return False
        for i in range(len(state)):
            registry, key = <tuple>self.places[i]
            if (<dict?>registry)[key] is not state[i]:
                return False
        return True


cdef struct Piece:
    void* at
    size_t nbytes


@cython.final
cdef class GraphReplay:
    """A captured graph, with the handle of its model and the contiguous tensors that it reads and writes.

    It is called as a delegate's ``execute``. ``moved`` makes the error for a parameter or buffer, by its place, that is not
    where it was captured. The GIL is kept from the first piece that is queued to the last: replays of several threads do not
    mix.
    """
    cdef object graph          # whose model it is, kept alive
    cdef void* model
    cdef int index             # of the NPU
    cdef Piece* pieces         # where the graph reads and writes: inputs, state, outputs
    cdef Py_ssize_t inputs, state, outputs         # how many
    cdef void* stream          # of the latest replay
    cdef str name
    cdef object moved
    cdef list tensors          # whose memory that is
    cdef void* fence           # which replays on another stream wait for

    def __cinit__(self, str name not None, int index, graph not None, uintptr_t model, list inputs not None,
                 list state not None, list outputs not None, moved not None):
        cdef Py_ssize_t i
        cdef Tensor t
        self.name, self.index, self.graph, self.model, self.moved = name, index, graph, <void*>model, moved
        self.inputs, self.state, self.outputs = len(inputs), len(state), len(outputs)
        self.tensors = [*inputs, *state, *outputs]
        self.pieces = <Piece*>malloc(len(self.tensors) * sizeof(Piece) + 1)
        if self.pieces == NULL:
            raise MemoryError()
        for i in range(len(self.tensors)):
            t = <Tensor?>self.tensors[i]
            self.pieces[i].at, self.pieces[i].nbytes = address(t), t.nelem * t.dt.itemsize
        self.run_on(npu_stream_of(index))

    def __dealloc__(self):
        free(self.pieces)
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
        cdef Piece* pieces = self.pieces
        if len(inputs) != self.inputs or len(state) != self.state or len(outputs) != self.outputs:
            raise ValueError(f"{self.name}: the graph has {self.inputs} inputs, {self.state} parameters and buffers, and "
                             f"{self.outputs} outputs, got {len(inputs)}, {len(state)} and {len(outputs)}")
        for i in range(self.state):
            if address(<Tensor?>state[i]) != pieces[self.inputs + i].at:
                raise self.moved(i)
        for i in range(self.inputs):
            if not (<Tensor?>inputs[i]).contig:
                inputs = [each.contiguous() for each in inputs]
                break
        previous = npu_enter(self.index)
        try:
            release_held()
            if self.stream != npu_stream_of(self.index):
                self.turn_to(npu_stream_of(self.index))
            for i in range(self.inputs):
                self.copy(pieces[i].at, address(<Tensor>inputs[i]), pieces[i].nbytes, <PyObject*>inputs[i])
            self.replay()
            pieces += self.inputs + self.state
            for i in range(self.outputs):
                self.copy(address(<Tensor?>outputs[i]), pieces[i].at, pieces[i].nbytes, <PyObject*>outputs[i])
        finally:
            npu_enter(previous)
        return note_queued(self.index, self.stream, "a captured graph")

    cdef int run_on(self, void* stream) except -1:
        """The next replay is on this stream, which then uses the graph's memory."""
        cdef PyObject* used
        self.stream = stream
        for t in self.tensors:
            used = <PyObject*>t
            cold.mark_tensors(&used, 1, stream)
        return 0

    cdef int turn_to(self, void* stream) except -1:
        """On another stream than the latest replay's: behind that."""
        if self.fence == NULL:
            self.checked(acl.create_event(&self.fence, ACL_EVENT_SYNC), "aclrtCreateEventExWithFlag")
        self.checked(acl.record_event(self.fence, self.stream), "aclrtRecordEvent")
        self.checked(acl.wait_event(stream, self.fence), "aclrtStreamWaitEvent")
        return self.run_on(stream)

    cdef int copy(self, void* target, void* source, size_t nbytes, PyObject* given) except -1:
        """To or from a tensor that is given."""
        cdef int64_t span = cold.open_span("copy", "aclrtMemcpyAsync") if watched & WATCH_PROFILE else -1
        cdef int status = acl.copy(target, nbytes, source, nbytes, ACL_DEVICE_TO_DEVICE, self.stream)
        cold.close_span(span)
        self.checked(status, "aclrtMemcpyAsync")
        if npu_streams_in_use:
            cold.mark_tensors(&given, 1, self.stream)
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
