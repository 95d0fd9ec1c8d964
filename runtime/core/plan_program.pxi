"""Programs: what a definition says of an operator, as steps that run without a Python frame.

A step works on three kinds of registers: objects (tensors, lists, strings), words (integers, floats, truth values, dtypes) and
shapes. The inputs are the first objects, temporaries come after them, constants lie at the end and count down. Programs are made
by `mindtorch_v2.library.definitions`, from what a function said of symbols.
"""

cdef enum:
    PLAN_WORDS = 96
    PLAN_SHAPES = 40
    PLAN_SIZES = 640           # of all shapes together

cdef enum PlanStep:
    # what nearly every program does
    STEP_CONTIGUOUS, STEP_LIKE, STEP_NUMEL, STEP_SAME_SHAPE, STEP_CHECK, STEP_LAUNCH, STEP_CALL, STEP_RETURN, STEP_BRANCH, STEP_FAIL
    STEP_BROADCAST_LIKE, STEP_SETTLED
    LAST_COMMON = STEP_SETTLED
    # words (plan_numbers.pxi)
    STEP_CONSTANT, STEP_INT, STEP_FLOAT, STEP_BOOL, STEP_DTYPE_CODE, STEP_NDIM, STEP_SIZE, STEP_DTYPE, STEP_IS_NONE, STEP_EQUAL
    STEP_IS_CONTIGUOUS, STEP_ON_DEVICE, STEP_IS_FLOATING, STEP_DTYPE_IN, STEP_CAN_CAST, STEP_PROMOTE, STEP_RESULT_TYPE
    STEP_ADD, STEP_SUB, STEP_MUL, STEP_FLOORDIV, STEP_MOD, STEP_CEILDIV, STEP_MIN, STEP_MAX, STEP_NEG, STEP_EQ, STEP_LT, STEP_LE
    STEP_FADD, STEP_FSUB, STEP_FMUL, STEP_FDIV, STEP_FMIN, STEP_FMAX, STEP_FNEG, STEP_FEQ, STEP_FLT, STEP_FLE
    STEP_TO_FLOAT, STEP_NOT, STEP_AND, STEP_OR
    LAST_WORD = STEP_OR
    # shapes (plan_shapes.pxi)
    STEP_SHAPE_OF, STEP_INTS, STEP_SHAPE, STEP_BROADCAST, STEP_SLICE, STEP_CONCAT, STEP_REDUCED
    STEP_SAME_SIZES, STEP_SIZE_AT, STEP_LENGTH, STEP_COUNT, STEP_DIM_BITS
    LAST_SHAPE = STEP_DIM_BITS
    # objects (plan_objects.pxi)
    STEP_LIKE_AS, STEP_EMPTY, STEP_ITEM, STEP_PYTHON, STEP_DEVICE
    STEP_BOX_INT, STEP_BOX_FLOAT, STEP_BOX_BOOL, STEP_BOX_DTYPE, STEP_BOX_SHAPE
    STEP_END                   # follows a program's last step

# What Python builds programs from: a step's name, its code, what it makes and from what. o: an object, w: a word, d: a shape,
# n: a number as it stands, k: the number of a constant, v: a word or -1; O and W: a run of the pool (its start, how many), whose entries are objects or
# words, L: one of a launch's operands.
PLAN_STEPS = {
    "contiguous": (STEP_CONTIGUOUS, "o", "o"), "like": (STEP_LIKE, "o", "o"), "numel": (STEP_NUMEL, "w", "o"),
    "same_shape": (STEP_SAME_SHAPE, "w", "oo"), "check": (STEP_CHECK, "", "wn"), "launch": (STEP_LAUNCH, "v", "Ln"),
    "call": (STEP_CALL, "o", "O"), "return": (STEP_RETURN, "n", "O"), "branch": (STEP_BRANCH, "", "wn"), "fail": (STEP_FAIL, "", "n"),
    "broadcast_like": (STEP_BROADCAST_LIKE, "o", "oo"), "settled": (STEP_SETTLED, "w", "wnn"),
    "constant": (STEP_CONSTANT, "w", "k"), "int": (STEP_INT, "w", "o"), "float": (STEP_FLOAT, "w", "o"), "bool": (STEP_BOOL, "w", "o"),
    "dtype_code": (STEP_DTYPE_CODE, "w", "o"), "ndim": (STEP_NDIM, "w", "o"), "size": (STEP_SIZE, "w", "ow"),
    "dtype": (STEP_DTYPE, "w", "o"), "is_none": (STEP_IS_NONE, "w", "o"), "equal": (STEP_EQUAL, "w", "oo"),
    "is_contiguous": (STEP_IS_CONTIGUOUS, "w", "o"), "on_device": (STEP_ON_DEVICE, "w", "on"),
    "is_floating": (STEP_IS_FLOATING, "w", "w"), "dtype_in": (STEP_DTYPE_IN, "w", "wk"), "can_cast": (STEP_CAN_CAST, "w", "ww"),
    "promote": (STEP_PROMOTE, "w", "ww"), "result_type": (STEP_RESULT_TYPE, "w", "O"),
    "add": (STEP_ADD, "w", "ww"), "sub": (STEP_SUB, "w", "ww"), "mul": (STEP_MUL, "w", "ww"), "floordiv": (STEP_FLOORDIV, "w", "ww"),
    "mod": (STEP_MOD, "w", "ww"), "ceildiv": (STEP_CEILDIV, "w", "ww"), "min": (STEP_MIN, "w", "ww"), "max": (STEP_MAX, "w", "ww"),
    "neg": (STEP_NEG, "w", "w"), "eq": (STEP_EQ, "w", "ww"), "lt": (STEP_LT, "w", "ww"), "le": (STEP_LE, "w", "ww"),
    "fadd": (STEP_FADD, "w", "ww"), "fsub": (STEP_FSUB, "w", "ww"), "fmul": (STEP_FMUL, "w", "ww"), "fdiv": (STEP_FDIV, "w", "ww"),
    "fmin": (STEP_FMIN, "w", "ww"), "fmax": (STEP_FMAX, "w", "ww"), "fneg": (STEP_FNEG, "w", "w"), "feq": (STEP_FEQ, "w", "ww"),
    "flt": (STEP_FLT, "w", "ww"), "fle": (STEP_FLE, "w", "ww"), "to_float": (STEP_TO_FLOAT, "w", "w"), "not": (STEP_NOT, "w", "w"),
    "and": (STEP_AND, "w", "ww"), "or": (STEP_OR, "w", "ww"),
    "shape_of": (STEP_SHAPE_OF, "d", "o"), "ints": (STEP_INTS, "d", "o"), "shape": (STEP_SHAPE, "d", "W"),
    "broadcast": (STEP_BROADCAST, "d", "dd"), "slice": (STEP_SLICE, "d", "dvv"), "concat": (STEP_CONCAT, "d", "dd"),
    "reduced": (STEP_REDUCED, "d", "dow"), "same_sizes": (STEP_SAME_SIZES, "w", "dd"), "size_at": (STEP_SIZE_AT, "w", "dw"),
    "length": (STEP_LENGTH, "w", "d"), "count": (STEP_COUNT, "w", "d"), "dim_bits": (STEP_DIM_BITS, "w", "ow"),
    "like_as": (STEP_LIKE_AS, "o", "ow"), "empty": (STEP_EMPTY, "o", "dwo"), "item": (STEP_ITEM, "o", "on"),
    "python": (STEP_PYTHON, "o", "O"), "device": (STEP_DEVICE, "o", "o"), "box_int": (STEP_BOX_INT, "o", "w"),
    "box_float": (STEP_BOX_FLOAT, "o", "w"), "box_bool": (STEP_BOX_BOOL, "o", "w"), "box_dtype": (STEP_BOX_DTYPE, "o", "w"),
    "box_shape": (STEP_BOX_SHAPE, "o", "d"),
}
PLAN_LIMITS = (PLAN_OBJECTS, PLAN_WORDS, PLAN_SHAPES)

cdef union Word:
    int64_t i                  # also a truth value, or a dtype's code
    double d

cdef struct ShapeRef:
    int nd
    int64_t* sizes             # in the frame

cdef struct Step:
    int code, made, a, b, c
    PyObject* what             # a kernel, an operator or a function: borrowed from the program's `held`

cdef struct Frame:             # one run
    PyObject** objects         # PLAN_OBJECTS of them; inputs and constants are borrowed, what steps make is owned
    Word words[PLAN_WORDS]
    ShapeRef shapes[PLAN_SHAPES]
    int64_t sizes[PLAN_SIZES]
    int sizes_used
    int way                    # which return was reached
    int returns, returned      # where in the pool its operands are, and how many
    Bound* bound               # of the operator's call, for errors; NULL where a caller explains them
    bint laid_out              # whether what is allocated has the order of dimensions of the arguments


@cython.final
cdef class Program:
    """Steps over registers. ``explain(kind, at, inputs)`` makes the error of a check, or the text of a launch's argument."""
    cdef Step* steps
    cdef int* pool             # operands of steps that take many
    cdef Word* numbers
    cdef int step_count, pool_count, number_count, constant_count, inputs, objects, words, shapes
    cdef tuple constants
    cdef list held
    cdef OpOverload op
    cdef object explain
    cdef uint64_t fresh        # bit i: what return i gives is memory of its own, of the declared types

    def __init__(self, OpOverload op not None, int inputs, tuple registers not None, list steps not None, list pool not None,
                 list numbers not None, tuple constants not None, explain, uint64_t fresh=0):
        cdef int i
        self.op, self.inputs, self.constants, self.explain, self.fresh = op, inputs, constants, explain, fresh
        self.constant_count = len(constants)
        self.objects, self.words, self.shapes = registers
        if not 0 <= inputs <= self.objects <= PLAN_OBJECTS - len(constants) or not 0 <= self.words <= PLAN_WORDS \
                or not 0 <= self.shapes <= PLAN_SHAPES:
            raise ValueError(f"{op.sig.qualname}: a program of {registers} registers and {len(constants)} constants; there are "
                             f"{PLAN_LIMITS}")
        self.held = [step[5] for step in steps]
        self.steps = <Step*>malloc((len(steps) + 1) * sizeof(Step))
        self.pool = <int*>malloc((len(pool) + 1) * sizeof(int))
        self.numbers = <Word*>malloc((len(numbers) + 1) * sizeof(Word))
        if self.steps == NULL or self.pool == NULL or self.numbers == NULL:
            raise MemoryError()
        for i in range(len(pool)):
            self.pool[i] = pool[i]
        self.pool_count = len(pool)
        for i in range(len(numbers)):
            if isinstance(numbers[i], float):
                self.numbers[i].d = numbers[i]
            else:
                self.numbers[i].i = numbers[i]
        self.number_count = len(numbers)
        for i in range(len(steps)):
            code, made, a, b, c, _ = steps[i]
            self.steps[i].code, self.steps[i].made, self.steps[i].a, self.steps[i].b, self.steps[i].c = code, made, a, b, c
            self.steps[i].what = <PyObject*>self.held[i]
            check_step(self, &self.steps[i], len(steps))
        self.step_count = len(steps)
        self.steps[self.step_count].code = STEP_END

    def __dealloc__(self):
        free(self.steps)
        free(self.pool)
        free(self.numbers)

    def __call__(self, *inputs):
        """Runs the program: ``(which return was reached, what it returned)``."""
        cdef Frame f
        cdef PyObject* objects[PLAN_OBJECTS]
        cdef int i
        if len(inputs) != self.inputs:
            raise TypeError(f"a program of {self.inputs} inputs, got {len(inputs)}")
        enter_frame(self, &f, objects, NULL)
        for i in range(self.inputs):
            f.objects[i] = <PyObject*>inputs[i]
        try:
            run_program(self, &f)
            return f.way, returned_values(self, &f)
        finally:
            leave_frame(self, &f)


mt_whole_program_install(<PyTypeObject*>Program)

cdef dict STEP_FORMS = {code: (made, operands) for code, made, operands in PLAN_STEPS.values()}


cdef int check_step(Program p, Step* s, int count) except -1:
    """Refuses a step whose operands lie outside of the frame."""
    cdef int i, at = 0
    cdef int[3] operands = [s.a, s.b, s.c]
    if s.code not in STEP_FORMS:
        raise ValueError(f"unknown step {s.code}")
    made, kinds = STEP_FORMS[s.code]
    require_register(p, made, s.made)
    for kind in kinds:
        if kind in "OWL":
            if not (0 <= operands[at] and 0 <= operands[at + 1] <= MAX_ARGS * 2 and operands[at] + operands[at + 1] <= p.pool_count):
                raise ValueError("a step's operands lie outside of the pool")
            for i in range(operands[at], operands[at] + operands[at + 1]):
                if kind != "L":
                    require_register(p, "r" if s.code == STEP_RETURN else "o" if kind == "O" else "w", p.pool[i])
            at += 1
        else:
            require_register(p, kind, operands[at])
        at += 1
    if s.code == STEP_LAUNCH:
        check_launch(p, s)
    if s.code == STEP_CALL and (not isinstance(<object>s.what, OpOverload) or s.b != (<OpOverload>s.what).sig.count):
        raise ValueError("a call has an operator and an operand for each of its arguments")
    if s.code in (STEP_BRANCH, STEP_SETTLED) and not 0 <= s.b < count:
        raise ValueError("a branch leads outside of the program")
    return 0


cdef int require_register(Program p, str kind, int at) except -1:
    if kind in ("o", "r"):
        if 0 <= at < p.objects or PLAN_OBJECTS - len(p.constants) <= at < PLAN_OBJECTS or kind == "r" and at == -1:
            return 0
    elif kind == "w" and 0 <= at < p.words or kind == "v" and -1 <= at < p.words or kind == "d" and 0 <= at < p.shapes \
            or kind == "k" and 0 <= at < p.number_count or kind in ("n", ""):
        return 0
    raise ValueError(f"a step's register {at} lies outside of the frame")


# ---------------------------------------------------------------- a run
cdef inline void enter_frame(Program p, Frame* f, PyObject** objects, Bound* bound) noexcept:
    """Puts the constants into their registers and empties those of temporaries; the caller fills in the inputs."""
    cdef int i
    for i in range(p.constant_count):
        objects[PLAN_OBJECTS - 1 - i] = <PyObject*>PyTuple_GET_ITEM(p.constants, i)
    for i in range(p.inputs, p.objects):
        objects[i] = NULL
    f.objects, f.bound, f.sizes_used, f.laid_out = objects, bound, 0, False


cdef inline void leave_frame(Program p, Frame* f) noexcept:
    cdef int i
    for i in range(p.inputs, p.objects):
        Py_XDECREF(f.objects[i])


cdef inline int put(Frame* f, int at, object value) except -1:
    """An owned temporary."""
    Py_INCREF(value)
    f.objects[at] = <PyObject*>value
    return 0


cdef inline int put_room(Program p, Frame* f, int at, Tensor made) except -1:
    """Memory that a launch will fill."""
    if f.laid_out:
        lay_room_out(p.op, f.bound.slots, made)
    return put(f, at, made)


cdef inline object returned_value(Program p, Frame* f, int i):
    cdef int at = p.pool[f.returns + i]
    return None if at < 0 else <object>f.objects[at]


cdef tuple returned_values(Program p, Frame* f):
    cdef tuple values = PyTuple_New(f.returned)
    cdef PyObject* value
    cdef int i, at
    for i in range(f.returned):
        at = p.pool[f.returns + i]
        value = <PyObject*>None if at < 0 else f.objects[at]
        Py_INCREF(<object>value)
        PyTuple_SET_ITEM(values, i, <object>value)
    return values


cdef int run_program(Program p, Frame* f) except -1:
    cdef Step* s = p.steps
    cdef Word* w = f.words
    cdef PyObject* t
    while True:
        if s.code == STEP_CONTIGUOUS:
            t = f.objects[s.a]
            if (<Tensor>t).contig:
                Py_INCREF(<object>t)
                f.objects[s.made] = t
            else:
                put(f, s.made, call1(aten("contiguous"), <object>t))
        elif s.code == STEP_LIKE:
            t = f.objects[s.a]
            put_room(p, f, s.made, like_at(t, <PyObject*>(<Tensor>t).dt))
        elif s.code == STEP_NUMEL:
            w[s.made].i = (<Tensor>f.objects[s.a]).nelem
        elif s.code == STEP_SAME_SHAPE:
            w[s.made].i = same_sizes_at(f.objects[s.a], f.objects[s.b])
        elif s.code == STEP_CHECK:
            if not w[s.a].i:
                fail(p, f, "check", s.b)
        elif s.code == STEP_LAUNCH:
            launch_step(p, f, s, <Kernel>s.what)
        elif s.code == STEP_CALL:
            call_step(p, f, s, <OpOverload>s.what)
        elif s.code == STEP_RETURN:
            f.way, f.returns, f.returned = s.made, s.a, s.b
            return 0
        elif s.code == STEP_BRANCH:
            if not w[s.a].i:
                s = p.steps + s.b
                continue
        elif s.code == STEP_FAIL:
            fail(p, f, "fail", s.a)
        elif s.code == STEP_BROADCAST_LIKE:
            put_room(p, f, s.made, broadcast_of(<Tensor>f.objects[s.a], <Tensor>f.objects[s.b]))
        elif s.code == STEP_SETTLED:                # skips the second operand of `and` or `or` where the first decides
            w[s.made].i = w[s.a].i
            if w[s.a].i == s.c:
                s = p.steps + s.b
                continue
        elif s.code <= LAST_WORD:
            word_step(p, f, s)
        elif s.code <= LAST_SHAPE:
            shape_step(p, f, s)
        elif s.code < STEP_END:
            object_step(p, f, s)
        else:
            raise SystemError("a program ended without a return")
        s += 1


cdef int fail(Program p, Frame* f, str kind, int at) except -1:
    """Raises the error of a check that does not hold, or of a way through the definition that has no result."""
    raise p.explain(kind, at, tuple_of(f.objects, p.inputs))


cdef int call_step(Program p, Frame* f, Step* s, OpOverload op) except -1:
    """A call of an operator; the pool has a register for every argument of its schema, in order."""
    cdef Bound bound
    cdef int i
    bound.made_count = bound.mode = 0
    for i in range(s.b):
        bound.slots[i] = f.objects[p.pool[s.a + i]]
    result = dispatch(op, &bound, call_keys(op, &bound))
    if result is None and op.return_kind == ARG_TENSOR and op.returns == 1:
        raise RuntimeError(f"{op.sig.qualname}: expected a tensor as the result, but got None: what its __torch_dispatch__ answered")
    put(f, s.made, result)
    return 0


# ---------------------------------------------------------------- what building programs asks of operators
def builtin_packet(str name not None):
    """The built-in operator of that name, all overloads of it, or None."""
    return aten_packets.get(name)


def bound_default(OpOverload op not None, str name not None):
    """What a kernel gets for an argument that a call leaves out."""
    return op.sig.defaults[op.sig.names.index(name)]
