"""Bound kernels: calling a C symbol by declared types.

Where each argument goes is settled once, when the kernel is bound; a call converts, checks and jumps.
"""

include "c_types.pxi"

cdef extern from "trampoline.h":
    int32_t mt_invoke(void* fn, const mt_frame* frame, int floats, int words) nogil

cdef extern from "mindtorch_kernel.h":
    ctypedef struct mt_tensor:
        void* data
        int64_t ndim
        const int64_t* shape
        const int64_t* strides
        int32_t dtype
        int32_t itemsize

cdef extern from *:
    """
    #include <time.h>

    /* What kernels ask by mt_interrupted(). Ten times a second a thread really looks: that takes the interpreter's lock.
       A handler's exception, KeyboardInterrupt at Ctrl-C, stays pending until the launch returns; then it is raised. */
    static volatile int mt_stopped;

    static int mt_ask_interpreter(void) {
        static __thread int64_t asked;
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t tick = (int64_t)now.tv_sec * 10 + now.tv_nsec / 100000000;
        /* A thread that the kernel started has no Python state; its launcher may hold the lock while it waits for it. */
        if (tick == asked || PyGILState_GetThisThreadState() == NULL) return 0;
        asked = tick;
        PyGILState_STATE held = PyGILState_Ensure();
        int stop = PyErr_Occurred() != NULL || PyErr_CheckSignals() != 0;
        if (stop) mt_stopped = 1;
        PyGILState_Release(held);
        return stop;
    }

    /* After a launch, with the lock: -1 where an exception waits to be raised. */
    static int mt_check_stopped(void) {
        if (PyErr_Occurred() == NULL) return 0;
        mt_stopped = 0;
        return -1;
    }
    """
    int mt_stopped
    int mt_ask_interpreter() noexcept nogil
    int mt_check_stopped() except -1

cdef extern from *:
    char* PyBytes_AS_STRING(object value)
    bint PyBytes_Check(object value)
    Py_ssize_t PyBytes_GET_SIZE(object value)
    object PyMemoryView_FromObject(object value)
    Py_buffer* PyMemoryView_GET_BUFFER(object view)
    bint PyBuffer_IsContiguous(Py_buffer* view, char order)


cdef struct Launch:            # one call under way
    mt_frame frame
    mt_tensor descriptors[MAX_KERNEL_ARGS]
    int64_t elements           # of all tensors, joined by `or`: reaches a power of two where one does, and never overflows
    int device                 # index the arguments live on; -1: none seen
    int device_from            # position of the argument that decided; -1: the stream did


@cython.final
cdef class Kernel:
    """A C function with declared argument types.

    ``abi="ascendc"``: called as ``kernel(block_dim, *args)`` on the current stream of the arguments' NPU, for a symbol
    ``uint32_t f(uint32_t block_dim, void* stream, ...)``. ``abi="c"``: called as ``kernel(*args)``, for a symbol
    ``int f(...)`` on CPU memory. Either returns 0 for success; anything else raises, see cold/failures.pyx.

    ``address`` is the function's address, or a callable that is asked for it at the first launch; it returns the address,
    or a pair of the address and the sizes in bytes that ``host`` arguments must have, {position: size}. ``dtypes`` are those the
    kernel is compiled for: one tuple for all tensors (a tensor of a category that is not listed, such as an integer
    workspace of a float kernel, is not checked), or one entry an argument, each a tuple of dtypes or None.
    """

    def __init__(self, str name not None, address, types, *, str abi="ascendc", dtypes=None):
        self.vectorcall = <vectorcallfunc>call_kernel
        if abi not in ("ascendc", "c"):
            raise ValueError(f"kernel {name}: abi must be 'ascendc' or 'c', got {abi!r}")
        self.name, self.abi, self.types, self.ascendc = name, abi, tuple(types), abi == "ascendc"
        self.dtypes = None if dtypes is None else tuple(dtypes)
        if callable(address):
            self.resolve = address
        else:
            self.address = <void*><uintptr_t>address
        place_arguments(self)
        set_allowed_dtypes(self)

    def launch_on(self, int index, uintptr_t stream, block_dim, tuple args not None):
        """Launches on a stream of NPU `index` given by its handle; the arguments must live on that NPU."""
        if not self.ascendc:
            raise TypeError(f"kernel {self.name}: a kernel of abi 'c' runs on the CPU and takes no stream")
        previous = npu_swap_stream(index, stream)
        try:
            launch_on_npu(self, read_block_dim(self, block_dim), <PyObject**>&(<PyTupleObject*>args).ob_item[0],
                          PyTuple_GET_SIZE(args), index)
        finally:
            npu_swap_stream(index, previous)

    def launch(self, block_dim, tuple args not None):
        """As calling a kernel of abi 'ascendc', with the arguments in a tuple."""
        if not self.ascendc:
            raise TypeError(f"kernel {self.name}: a kernel of abi 'c' has no block_dim")
        launch_on_npu(self, read_block_dim(self, block_dim), <PyObject**>&(<PyTupleObject*>args).ob_item[0],
                      PyTuple_GET_SIZE(args), -1)

    def __repr__(self):
        return f"<Kernel {self.name}({', '.join([t.name for t in self.types])}), abi={self.abi!r}>"

cdef Kernel _kernel_probe = Kernel.__new__(Kernel)
mt_enable_vectorcall(<PyTypeObject*>Kernel, <char*>&_kernel_probe.vectorcall - <char*><PyObject*>_kernel_probe, 0)
mt_whole_kernel_install(<PyTypeObject*>Kernel)


# ---------------------------------------------------------------- at binding
cdef int place_arguments(Kernel self) except -1:
    """Gives every argument its register or stack word, by the rules of trampoline.h."""
    cdef int i, ints = 2 if self.ascendc else 0, floats = 0, words = 0
    cdef CType t
    if len(self.types) > MAX_KERNEL_ARGS - 2:
        raise ValueError(f"kernel {self.name}: at most {MAX_KERNEL_ARGS - 2} arguments, got {len(self.types)}")
    self.nargs = len(self.types)
    for i, declared in enumerate(self.types):
        if not isinstance(declared, CType):
            raise TypeError(f"kernel {self.name}, argument {i + 1}: expected a C type (ptr, host, desc, context, {SCALAR_NAMES}), "
                            f"got {describe(declared)}")
        t = <CType>declared
        if t.kind in (C_DESC, C_GENERATOR) and self.ascendc:
            raise TypeError(f"kernel {self.name}, argument {i + 1}: npu.{t.name} is for kernels of abi 'c'; an "
                            "AscendC kernel takes npu.ptr")
        self.kinds[i] = t.kind
        self.has_host = self.has_host or t.kind == C_HOST
        self.takes_context = self.takes_context or t.kind == C_CONTEXT
        self.has_generator = self.has_generator or t.kind == C_GENERATOR
        # A half is _Float16 in C, but uint16_t in AscendC launch stubs; a bfloat16 is a struct of one uint16_t in both.
        if t.kind >= C_F32 or (t.kind == C_F16 and not self.ascendc):
            if floats < MT_FLOAT_REGISTERS:
                self.slots[i] = MT_INT_REGISTERS + floats
                floats += 1
                continue
        elif ints < MT_INT_REGISTERS:
            self.slots[i] = ints
            ints += 1
            continue
        self.slots[i] = MT_INT_REGISTERS + MT_FLOAT_REGISTERS + words
        words += 1
    self.floats, self.words = floats, words
    return 0


cdef int set_allowed_dtypes(Kernel self) except -1:
    cdef int i
    cdef tuple given = self.dtypes
    for i in range(MAX_KERNEL_ARGS):
        self.allowed[i] = 0xFFFFFFFF
    if given is None:
        return 0
    if all([isinstance(item, dtype) for item in given]):
        mask = allowed_mask(given)
        for item in dtype_by_code:
            if (<dtype>item).category not in {(<dtype>listed).category for listed in given}:
                mask |= 1 << (<dtype>item).code
        for i in range(self.nargs):
            self.allowed[i] = mask
    elif len(given) == self.nargs:
        for i, item in enumerate(given):
            if item is not None:
                self.allowed[i] = allowed_mask(item)
    else:
        raise TypeError(f"kernel {self.name}: dtypes must be a tuple of dtypes, or one entry for each of its {self.nargs} "
                        f"arguments, got {given!r}")
    return 0


cdef object allowed_mask(object given):
    mask = 0
    for item in given:
        mask |= 1 << (<dtype?>item).code
    return mask


cdef int resolve_address(Kernel self) except -1:
    address = self.resolve()
    if isinstance(address, tuple):
        address, self.host_sizes = address
    self.address = <void*><uintptr_t>address
    return 0


def interrupt_poll():
    """The address of what a library's ``mt_poll`` is to point to, see mindtorch_kernel.h."""
    return <uintptr_t>mt_ask_interpreter


# ---------------------------------------------------------------- the call
cdef object call_kernel(object callable, PyObject** args, size_t nargsf, PyObject* kwnames):
    cdef Kernel self = <Kernel>callable
    cdef Py_ssize_t n = PyVectorcall_NARGS(nargsf)
    if kwnames != NULL and PyTuple_GET_SIZE(<object>kwnames) > 0:
        raise TypeError(f"kernel {self.name} takes no keyword arguments, got {(<tuple>kwnames)[0]!r}")
    if not self.ascendc:
        return launch_on_cpu(self, args, n)
    if n == 0:
        cold.raise_wrong_count(self, 0)
    return launch_on_npu(self, read_block_dim(self, <object>args[0]), args + 1, n - 1, -1)


cdef object launch_on_cpu(Kernel self, PyObject** args, Py_ssize_t n):
    cdef Launch call
    cdef int32_t status
    cdef void* address
    cdef list held = [] if self.has_host else None
    if self.address == NULL:
        resolve_address(self)
    address = self.address                                # while it is ours to read: another thread may find it, too
    call.elements, call.device = 0, 0
    fill_arguments(self, args, n, &call, held)
    if self.has_generator:
        status = launch_drawing(self, args, n, &call)
    elif call.elements < RELEASE_GIL_FROM:
        status = mt_invoke(address, &call.frame, self.floats, self.words)
    else:
        with nogil:
            status = mt_invoke(address, &call.frame, self.floats, self.words)
    if status != 0 or mt_stopped:
        mt_check_stopped()
        if status != 0:
            raise cold.kernel_failure(self, status, args, n)
    return None


cdef int32_t launch_drawing(Kernel self, PyObject** args, Py_ssize_t n, Launch* call) except? -1:
    """With the lock of the generator held that the kernel draws from."""
    cdef int32_t status
    cdef int i = 0
    while self.kinds[i] != C_GENERATOR:
        i += 1
    source = cold.find_generator(<object>args[i])
    (<uint64_t*>&call.frame)[self.slots[i]] = <uint64_t>cold.take_generator(<PyObject*>source)
    if call.elements < RELEASE_GIL_FROM:
        status = mt_invoke(self.address, &call.frame, self.floats, self.words)
    else:
        with nogil:
            status = mt_invoke(self.address, &call.frame, self.floats, self.words)
    cold.give_generator(<PyObject*>source)
    return status


cdef object launch_on_npu(Kernel self, uint32_t block_dim, PyObject** args, Py_ssize_t n, int index):
    """Queues on the current stream of NPU `index`; -1: of the arguments' NPU. The GIL is kept: queueing is short."""
    cdef Launch call
    cdef Py_ssize_t i
    cdef void* stream
    cdef list held = [] if self.has_host else None
    if self.address == NULL:
        resolve_address(self)
    call.elements, call.device, call.device_from = 0, index, -1
    fill_arguments(self, args, n, &call, held)
    if call.device < 0:
        call.device = npu_current()
    stream = npu_stream_of(call.device)
    if self.takes_context:
        context_at(KEY_NPU, call.device)
    call.frame.ints[0], call.frame.ints[1] = block_dim, <uint64_t>stream
    if holds_launch(self, &call.frame, call.device, stream, args, n, held):
        return None
    queue_launch(self, &call.frame, call.device, stream, args, n)
    return None


cdef int queue_launch(Kernel self, mt_frame* frame, int index, void* stream, PyObject** args, Py_ssize_t n) except -1:
    """Queues a launch whose frame is filled in; `args` are the arguments that it was filled from."""
    cdef int32_t status
    cdef int previous = npu_enter(index)
    cdef int64_t span
    if watched & WATCH_PROFILE:
        span = cold.open_span("launch", self.name)
        status = mt_invoke(self.address, frame, self.floats, self.words)
        cold.close_span(span)
    else:
        status = mt_invoke(self.address, frame, self.floats, self.words)
    npu_note_launch(index, stream, self.name)
    if npu_streams_in_use and status == 0:
        cold.mark_tensors(args, n, stream)
    if previous != index:
        npu_enter(previous)
    if status != 0:
        raise npu_error(status, f"kernel {self.name}")
    if npu_blocking and npu_recordings == 0:
        npu_wait_for(index, stream, self.name)
    return note_in_run(index, stream, self.name)


cdef inline uint32_t read_block_dim(Kernel self, object value) except 0:
    cdef int64_t number
    if not PyLong_Check(value):
        if not PyIndex_Check(value) or isinstance(value, Tensor):
            raise TypeError(f"kernel {self.name}: block_dim must be an int from 1 to {MAX_BLOCK_DIM}, got {describe(value)}")
        value = PyNumber_Index(value)
    cdef int overflow
    number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow or not 1 <= number <= MAX_BLOCK_DIM:
        raise ValueError(f"kernel {self.name}: block_dim must be an int from 1 to {MAX_BLOCK_DIM}, got {value}")
    return number


cdef int fill_arguments(Kernel self, PyObject** args, Py_ssize_t n, Launch* call, list held) except -1:
    """Checks and converts the arguments into the frame. `held` keeps what host pointers point into."""
    cdef uint64_t* frame = <uint64_t*>&call.frame
    cdef uint64_t* word
    cdef int i, kind, status
    cdef object value
    if n != self.nargs:
        cold.raise_wrong_count(self, n)
    for i in range(self.nargs):
        kind = self.kinds[i]
        word = frame + self.slots[i]
        if kind == C_PTR or kind == C_DESC:
            if is_tensor(args[i]):
                own_memory((<Tensor>args[i]).storage)
                check_tensor(self, i, args[i], call)
                if kind == C_PTR:
                    word[0] = <uint64_t>data_at(args[i])
                else:
                    describe_tensor(<Tensor>args[i], &call.descriptors[i])
                    word[0] = <uint64_t>&call.descriptors[i]
            elif kind == C_PTR and args[i] == <PyObject*>None:
                word[0] = 0
            else:
                word[0] = read_pointer(self, i, <object>args[i], call)
            continue
        value = <object>args[i]
        if kind == C_CONTEXT:
            if value is not None:
                raise TypeError(f"{where(self, i)}: expected None, as the runtime says what the context is, got {describe(value)}")
            word[0] = <uint64_t>context_at(KEY_NPU if self.ascendc else KEY_CPU, -1)      # of an NPU: settled below
            continue
        if kind == C_GENERATOR:                     # its address is known once its lock is held
            continue
        if kind == C_HOST:
            word[0] = <uint64_t>host_address(self, i, value, held)
            continue
        if isinstance(value, TypedScalar):
            value = untyped(self, i, <TypedScalar>value)
        status = convert_scalar(kind, value, word)
        if status != CONVERTED:
            cold.raise_bad_argument(self, i, value, status)
    return 0


cdef inline int check_tensor(Kernel self, int i, PyObject* t, Launch* call) except -1:
    cdef PyObject* dev = <PyObject*>(<Tensor>t).dev
    if self.ascendc:
        if (<device>dev).type_code != KEY_NPU or (call.device >= 0 and (<device>dev).index_code != call.device):
            cold.raise_wrong_device(self, i, "a tensor", <device>dev, call.device, call.device_from)
        if call.device < 0:
            call.device, call.device_from = (<device>dev).index_code, i
    elif (<device>dev).type_code != KEY_CPU:
        cold.raise_wrong_device(self, i, "a tensor", <device>dev, call.device, call.device_from)
    if not self.allowed[i] >> (<Tensor>t).dt.code & 1:
        cold.raise_wrong_dtype(self, i, <Tensor>t)
    if (self.kinds[i] == C_PTR and not (<Tensor>t).contig) or ((<Tensor>t).storage.data == NULL and (<Tensor>t).nelem > 0) \
            or (<Tensor>t).keys & LAZY:
        cold.raise_unusable(self, i, <Tensor>t)
    call.elements |= (<Tensor>t).nelem
    return 0


cdef inline void describe_tensor(Tensor t, mt_tensor* descriptor) noexcept:
    descriptor.data, descriptor.ndim = tensor_data(t), t.nd
    descriptor.shape, descriptor.strides = t.sizes, t.strides
    descriptor.dtype, descriptor.itemsize = t.dt.code, t.dt.itemsize


cdef uint64_t read_pointer(Kernel self, int i, object value, Launch* call) except? 0:
    """The address in a DevicePointer, or the handle of a stream (for a kernel that queues work itself)."""
    if self.kinds[i] == C_PTR and isinstance(value, DevicePointer):
        check_pointer_device(self, i, "a pointer", value.device, call)
        return int(value)
    if self.kinds[i] == C_PTR and hasattr(value, "npu_stream"):
        check_pointer_device(self, i, "a stream", value.device, call)
        return value.npu_stream
    hint = ""
    if isinstance(value, (int, float)):
        hint = f"; where a number is meant, declare its C type: {SCALAR_NAMES}"
    raise TypeError(f"{where(self, i)}: expected {EXPECTED[self.kinds[i]]}, got {describe(value)}{hint}")


cdef int check_pointer_device(Kernel self, int i, str what, device dev, Launch* call) except -1:
    if self.ascendc:
        if dev.type_code != KEY_NPU or (call.device >= 0 and dev.index_code != call.device):
            cold.raise_wrong_device(self, i, what, dev, call.device, call.device_from)
        if call.device < 0:
            call.device, call.device_from = dev.index_code, i
    elif dev.type_code != KEY_CPU:
        cold.raise_wrong_device(self, i, what, dev, call.device, call.device_from)
    return 0


cdef void* host_address(Kernel self, int i, object value, list held) except? NULL:
    cdef Py_buffer* buffer
    if PyBytes_Check(value):
        check_host_size(self, i, PyBytes_GET_SIZE(value))
        return PyBytes_AS_STRING(value)
    try:
        view = PyMemoryView_FromObject(value)
    except TypeError:
        raise TypeError(f"{where(self, i)}: expected bytes-like data, got {describe(value)}") from None
    buffer = PyMemoryView_GET_BUFFER(view)
    if isinstance(value, Tensor) or not PyBuffer_IsContiguous(buffer, b"C"):
        raise TypeError(f"{where(self, i)}: expected contiguous bytes-like data, got {describe(value)}")
    check_host_size(self, i, buffer.len)
    held.append(view)
    return buffer.buf


cdef int check_host_size(Kernel self, int i, Py_ssize_t nbytes) except -1:
    if self.host_sizes is not None:
        expected = self.host_sizes.get(i)
        if expected is not None and expected != nbytes:
            raise ValueError(f"{where(self, i)}: expected {expected} bytes, the size of the kernel's struct, got {nbytes}")
    return 0


cdef object untyped(Kernel self, int i, TypedScalar value):
    if value.ctype is not self.types[i]:
        raise TypeError(f"{where(self, i)}: expected {EXPECTED[self.kinds[i]]} or npu.{self.types[i].name}(...), "
                        f"got {value!r}")
    return value.value


# ---------------------------------------------------------------- errors
cdef str where(Kernel self, int i):
    return f"kernel {self.name}, argument {i + 1} (npu.{self.types[i].name})"


# ---------------------------------------------------------------- launches without declared types
def argument_types(str name not None, args):
    """The C types that launch arguments carry themselves, for a launch without a binding.

    A tensor, a pointer or None is ``ptr``, bytes are ``host``, a TypedScalar is its own type. Raises TypeError for a
    bare number: nothing says what it is in C.
    """
    cdef list types = []
    for i, value in enumerate(args):
        carried = carried_type(value)
        if carried is None and isinstance(value, (int, float)):
            raise TypeError(f"kernel {name}, argument {i + 1}: a bare number has no C type, got {describe(value)}; "
                            f"write npu.f32({value!r}) or another of {SCALAR_NAMES}, as the kernel declares it")
        if carried is None:
            raise TypeError(f"kernel {name}, argument {i + 1}: expected a tensor, tensor_ptr(tensor), None, bytes or a "
                            f"typed scalar ({SCALAR_NAMES}), got {describe(value)}")
        types.append(carried)
    return tuple(types)


cdef inline bint carries(PyObject* value, PyObject* declared):
    """Whether `declared` is what `carried_type` says of a value, which is mostly a tensor or a typed scalar."""
    if is_tensor(value):
        return declared == <PyObject*>ctype_ptr
    if Py_TYPE(value) == <PyTypeObject*>TypedScalar:
        return declared == <PyObject*>(<TypedScalar>value).ctype
    carried = carried_type(<object>value)
    return declared == <PyObject*>carried


cdef bint accepts_types(Kernel kernel, tuple args) except -1:
    """Whether these arguments carry exactly this kernel's types, see `argument_types`."""
    cdef int i
    if PyTuple_GET_SIZE(args) != kernel.nargs:
        return False
    for i in range(kernel.nargs):
        if not carries(PyTuple_GET_ITEM(args, i), PyTuple_GET_ITEM(kernel.types, i)):
            return False
    return True


cdef CType carried_type(object value):
    """The C type that a value says itself; None where it says none."""
    if isinstance(value, TypedScalar):
        return (<TypedScalar>value).ctype
    if value is None or isinstance(value, (Tensor, DevicePointer)):
        return ctype_ptr
    if isinstance(value, (bytes, bytearray, memoryview)):
        return ctype_host
    return None


def tensor_ptr(Tensor t not None):
    """The address of the tensor's first element, storage offset included, as a DevicePointer.

    It does not keep the memory alive: hold the tensor until the launch has returned.
    """
    own_memory(t.storage)
    return DevicePointer(<uintptr_t>tensor_data(t), t.dev)
