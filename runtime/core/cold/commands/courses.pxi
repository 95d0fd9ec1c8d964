"""Plans, as a run compares them with the operations that arrive."""

cdef struct Planned:
    PyObject* op               # borrowed from the course; None where there is no such operator
    int kind, code, index      # index -1: any
    int64_t* sizes             # of the tensors among the arguments: how many dimensions, and each
    int64_t count              # of these numbers


@cython.final
cdef class Course:
    """A plan's operations, as a run compares them: made of ``(name, is_delegate, device, shapes)`` for each, in order."""
    cdef Planned* steps
    cdef int64_t* sizes
    cdef readonly int64_t count
    cdef list held

    def __cinit__(self, list operations not None):
        cdef Py_ssize_t i, at = 0
        cdef list flat = []
        cdef device where
        self.held = []
        operations = list(operations)                    # which nobody changes meanwhile
        self.steps = <Planned*>malloc((len(operations) + 1) * sizeof(Planned))
        if self.steps == NULL:
            raise MemoryError()
        for i, (name, is_delegate, place, shapes) in enumerate(operations):
            op = operators.get(name)
            self.held.append(op)
            self.steps[i].op = <PyObject*>op                  # None is no operator
            self.steps[i].kind = MT_NEXT_DELEGATE if is_delegate else MT_NEXT_KERNEL
            where = device(place)
            self.steps[i].code, self.steps[i].index = where.type_code, where.index_code
            numbers = [number for shape in shapes for number in (len(shape), *shape)]
            self.steps[i].count = len(numbers)
            flat += numbers
        self.sizes = <int64_t*>malloc((len(flat) + 1) * sizeof(int64_t))
        if self.sizes == NULL:
            raise MemoryError()
        for i, number in enumerate(flat):
            self.sizes[i] = number
        for i in range(len(self.held)):
            self.steps[i].sizes = self.sizes + at
            at += self.steps[i].count
        self.count = len(self.held)

    def __dealloc__(self):
        free(self.steps)
        free(self.sizes)


cdef bint as_planned(Planned* step, OpOverload op, int code, int index, Bound* bound) except -1:
    """Whether an operation is the one that the plan has there."""
    cdef int64_t* expected = step.sizes
    cdef int64_t* end = step.sizes + step.count
    cdef PyObject* value
    cdef PyObject** items                                # of a list or a tuple, as a bound call has them
    cdef Py_ssize_t k
    cdef int i
    if step.op != <PyObject*>op or step.code != code or step.index >= 0 and step.index != index:
        return False
    if not op.sig.has_lists:
        for i in range(op.sig.tensor_args):
            value = bound.slots[op.sig.tensor_at[i]]
            if value != <PyObject*>None and not same_sizes(&expected, end, <Tensor>value):
                return False
        return expected == end
    for i in range(op.sig.count):
        value = bound.slots[i]
        if value == <PyObject*>None:
            continue
        if op.sig.args[i].kind == ARG_TENSOR:
            if not same_sizes(&expected, end, <Tensor>value):
                return False
        elif op.sig.args[i].kind in (ARG_TENSOR_LIST, ARG_OPT_TENSOR_LIST):
            items = PySequence_Fast_ITEMS(<object>value)
            for k in range(PySequence_Fast_GET_SIZE(<object>value)):
                if items[k] != <PyObject*>None and not same_sizes(&expected, end, <Tensor>items[k]):
                    return False
    return expected == end


cdef inline bint same_sizes(int64_t** expected, int64_t* end, Tensor t) noexcept:
    cdef int i
    if expected[0] + t.nd >= end or expected[0][0] != t.nd:
        return False
    for i in range(t.nd):
        if expected[0][i + 1] != t.sizes[i]:
            return False
    expected[0] += t.nd + 1
    return True


cdef list tensors_of(OpOverload op, Bound* bound):
    """The tensors among a call's arguments, those in lists too, in order."""
    cdef list found = []
    cdef int i
    for i in range(op.sig.count):
        value = <object>bound.slots[i]
        if isinstance(value, Tensor):
            found.append(value)
        elif op.sig.args[i].kind in (ARG_TENSOR_LIST, ARG_OPT_TENSOR_LIST) and value is not None:
            found += [item for item in value if item is not None]
    return found
