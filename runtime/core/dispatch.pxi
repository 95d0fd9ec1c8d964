"""Operators and their call path: bind, compute the key set, run the highest key that has something to do."""

cdef dict operators = {}                 # "ns::name.overload" -> OpOverload ("ns::name" for the default overload)

cdef bint show_trace = any([int(os.environ.get(name) or "0")
                           for name in ("TORCH_SHOW_DISPATCH_TRACE", "MINDTORCH_SHOW_DISPATCH_TRACE")])
cdef int watched = WATCH_TRACE if show_trace else 0


class TraceDepth(threading.local):
    depth = 0


cdef object trace_depth = TraceDepth()


cdef int trace_line(str what, OpOverload op, int key) except -1:
    """One line of the dispatch trace, nested by depth, as PyTorch's TORCH_SHOW_DISPATCH_TRACE prints it."""
    print(f"{' ' * trace_depth.depth}[{what}] op=[{op.sig.qualname}], key=[{KEY_NAMES.get(key, 'TorchFunction')}]",
          file=sys.stderr)
    return 0


TORCH_FUNCTION_MASK = TORCH_FUNCTION       # the key that has no name: no kernel is registered at it


# The operators that take a Python number for a tensor. PyTorch names them; there is no rule that others could follow.
cdef object NUMBERS_FOR_TENSORS = frozenset((
    "_to_copy", "add", "copy", "div", "divide", "floor_divide", "mul", "multiply", "sub", "subtract", "to", "true_divide",
))

# Those that write to their argument `dst` and return it, of which PyTorch's schemas say nothing.
cdef object WRITE_TO_DST = frozenset(("_copy_from", "_copy_from_and_resize"))


cdef class OpOverload:
    """One operator overload: a schema, kernels by dispatch key, and a gradient formula.

    Called like the function its schema describes. Arguments are bound once; kernels, setup and backward see the bound
    values: positional arguments positionally, keyword-only ones by keyword, defaults filled in.
    """

    def __init__(self, str namespace not None, schema, source=None, tags=(), doc=None, device_check="NoCheck", overlap_check=()):
        cdef int i
        self.vectorcall = <vectorcallfunc>call_operator
        self.namespace, self._schema, self.source, self.tags, self.doc = namespace, schema, source, list(tags), doc
        self.is_builtin = self.refuses_aliases = namespace == "aten"
        overload = "." + schema.overload if schema.overload else ""
        self.sig = Signature(schema, f"{namespace}::{schema.name}{overload}")
        self.device_check = read_device_check(schema, device_check)
        self.overlap_check = read_overlap_check(schema, overlap_check)
        self.kernels = {}
        self.node_name = node_name_of(namespace, schema)
        for i, argument in enumerate(schema.arguments):
            if argument.alias is not None:
                self.aliases[i].declared = True
                self.aliases[i].written = argument.alias.write
                self.mutates = self.mutates or argument.alias.write
                self.makes_views = self.makes_views or not argument.alias.write
            elif argument.name == "dst" and self.is_builtin and schema.name in WRITE_TO_DST:
                self.aliases[i].declared = self.aliases[i].written = self.mutates = True
                self.aliased_returns = 1
        for i, output in enumerate(schema.returns):
            if output.alias is not None:
                self.aliased_returns |= <uint64_t>1 << i
        self.writes_first = not self.sig.has_lists and self.sig.tensor_args > 0 and self.sig.args[0].kind == ARG_TENSOR \
            and [i for i, argument in enumerate(schema.arguments) if argument.is_write] == [0]
        self.returns = len(schema.returns)
        kinds = {arg_spec(output.type).kind for output in schema.returns}
        self.return_kind = kinds.pop() if len(kinds) == 1 else ARG_ANY
        self.returns_self = self.returns == 1 and schema.returns[0].alias is not None and schema.returns[0].alias.write
        self.takes_numbers = namespace == "aten" and schema.name.rstrip("_") in NUMBERS_FOR_TENSORS
        self.broadcasts_into = "pointwise" in self.tags and any([a.is_write and not a.kwarg_only for a in schema.arguments])
        self.keeps_layout = read_layout(self)
        resolve_operator(self)

    def __get__(self, instance, owner):
        return self if instance is None else PyMethod_New(self, instance)

    def __reduce__(self):
        return hook.find_operator, (self.name(),)

    @property
    def __doc__(self):
        return self.doc

    @property
    def __name__(self):
        return f"{self._schema.name}.{self._overloadname}"

    @property
    def __module__(self):
        """Where PyTorch has operators: a module for each namespace."""
        return f"torch._ops.{self.namespace}"

    @property
    def overloadpacket(self):
        """All overloads of the operator."""
        return hook.find_packet(f"{self.namespace}::{self._schema.name}")

    @property
    def _overloadpacket(self):
        return self.overloadpacket

    @property
    def _name(self):
        return self.sig.qualname

    @property
    def _opname(self):
        return self._schema.name

    @property
    def _overloadname(self):
        return self._schema.overload or "default"

    @property
    def _defined_in_python(self):
        """Whether a program defined the operator; false of the built-in ones."""
        return not self.is_builtin

    @property
    def devices(self):
        """The types of the devices that a kernel is declared for, in the order of declaration: ``("npu", "cpu")``.

        Empty of an operator that runs wherever those do that it is composed of.
        """
        complete(self)
        if self.declared_devices is not None:
            return self.declared_devices
        return tuple([type_of(key).name for key in self.kernels if KEY_CPU <= key < KEY_META])

    def declare_devices(self, tuple types not None):
        """Sets ``devices`` to what a declaration says; else they are those that have a kernel."""
        self.declared_devices = types

    def name(self):
        """``ns::name`` or ``ns::name.overload``."""
        return self.sig.qualname

    def __repr__(self):
        return f"<OpOverload(op='{self.namespace}.{self._schema.name}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"{self.namespace}.{self._schema.name}.{self._overloadname}"

    # ---- registration
    def set_kernel(self, str key not None, function, source=None, bint with_keyset=False):
        """Registers what runs at a dispatch key (``"CPU"``, ``"Autograd"``, ``"CompositeImplicitAutograd"``, ...).

        With `with_keyset` the kernel's first argument is the call's ``DispatchKeySet``, for redispatching.
        """
        complete(self)
        if not callable(function):
            raise TypeError(f"{self.sig.qualname}: the kernel for {key} must be callable, not {_type_name(function)}")
        cdef int k = key_from_name(key)
        if k == ALIAS_AUTOGRAD:
            forget_formula(self)
        self.kernels[k] = (function, source, with_keyset)
        resolve_operator(self)

    def remove_kernel(self, str key not None):
        """Takes a registration back; unknown ones are ignored."""
        cdef int k = key_from_name(key)
        if k == ALIAS_AUTOGRAD:
            forget_formula(self)
        self.kernels.pop(k, None)
        resolve_operator(self)

    def kernel(self, str key not None):
        """The callable registered under exactly this key, or None."""
        complete(self)
        entry = self.kernels.get(key_from_name(key))
        return None if entry is None else entry[0]

    def writes_nothing(self):
        """What the schema has as written is not, as `record_stream`'s tensor: no change is counted, none refused."""
        self.mutates = False

    def has_kernel(self, str key not None):
        complete(self)
        return key_from_name(key) in self.kernels

    def kernel_sources(self):
        """{key name: where it was registered}."""
        complete(self)
        return {KEY_NAMES[key]: entry[1] for key, entry in self.kernels.items()}

    def set_autograd(self, backward, setup_context=None, source=None):
        """Registers the gradient, ``setup_context(ctx, inputs, output)`` and ``backward(ctx, *grads)``, at the key Autograd.

        Without `backward` the call is recorded all the same, and running it backward is an error. ``setup_context.constants``
        names the arguments that have no gradient: a call in which one requires it is refused before the kernel runs.
        """
        complete(self)
        self.constants_read = False
        self.backward_function, self.setup_function = backward, setup_context
        self.gradient = backward if isinstance(backward, Gradient) and not self.sig.has_lists else None
        self.kernels[ALIAS_AUTOGRAD] = (autograd_kernel, source, False)
        self.setup_takes_keywords = False
        if setup_context is not None and self.sig.kwnames is not None:
            code = getattr(setup_context, "__code__", None)
            self.setup_takes_keywords = code is not None and "keyword_only_inputs" in code.co_varnames[:code.co_argcount]
        resolve_operator(self)

    def set_result_type(self, type):
        """Sets what functions and methods return several results as, a type made by `named_result_type`; None: a tuple."""
        if type is not None and (type not in result_types or type.n_fields != self.returns):
            raise ValueError(f"{self.sig.qualname}: expected a type of {self.returns} named results, got {type!r}")
        self.result_type = type

    def set_pending(self, pending):
        """Sets what registers the operator's kernels and gradient, called before its first call or the first look at them.

        It registers everything, and then sets None, or what is to be called then. While a module is imported that defines
        the operator, it is `hold`'s.
        """
        self.pending = pending
        resolve_operator(self)

    def hold(self):
        """Until something else is pending, the next call waits until the module that defines the operator is imported whole."""
        self.set_pending(HeldOverload(self))

    def complete(self):
        """Lets a definition register what it has not registered so far."""
        complete(self)

    def set_jvp(self, function, source=None):
        """Registers the forward-mode formula, ``f(inputs, tangents, output)`` (see `Library.register_jvp`); None removes it."""
        self.jvp_function, self.jvp_source = function, source

    def computed(self, str key not None):
        """What a call finds at a key, ``(kind, callable, source, takes_keyset)`` with PyTorch's kinds, or None."""
        complete(self)
        found = found_at(self, key_from_name(key))
        return None if found is None else (found[1], *found[0][:3])

    def call_kernel(self, kernel, *args, **kwargs):
        """Calls ``kernel`` with the arguments as this operator's kernels see them: bound, converted, defaults filled in."""
        cdef Bound bound
        bind_python(self.sig, args, kwargs, &bound)
        try:
            return run_kernel(self, <PyObject*>kernel, &bound)
        finally:
            release_bound(&bound)

    def redispatch(self, keyset, *args, **kwargs):
        """Calls the highest of `keyset`'s keys at which this operator does something."""
        cdef Bound bound
        cdef uint64_t keys = keys_of_set(self, keyset)
        bind_python(self.sig, args, kwargs, &bound)
        try:
            if watched and keys & self.active:            # a profiler has recorded the call
                return dispatch_shown(self, mt_highest_bit(keys & self.active), &bound, keys, "redispatch")
            return dispatch(self, &bound, keys)
        finally:
            release_bound(&bound)

    def __reduce__(self):
        return find_operator, (self.sig.qualname,)


@cython.final
cdef class HeldOverload:
    """What is pending of an operator while the module that defines it is imported: waiting for it."""
    cdef OpOverload op

    def __init__(self, OpOverload op not None):
        self.op = op

    def __call__(self):
        if hook.load_operators(self.op.sig.qualname) and self.op.pending is self:
            self.op.set_pending(None)


cdef uint64_t keys_of_set(OpOverload op, object keyset) except? 0:
    """The bits of a DispatchKeySet, or of an int that has them."""
    number = guarded_number(to_index, keyset) if PyIndex_Check(keyset) else NO_DEFAULT
    if number is NO_DEFAULT or not 0 <= number < 1 << 64:
        raise TypeError(f"{op.sig.qualname}: redispatch() takes a DispatchKeySet first, not {_type_name(keyset)} {keyset!r:.60}")
    return number


cdef OpOverload _probe = OpOverload.__new__(OpOverload)
mt_enable_vectorcall(<PyTypeObject*>OpOverload, <char*>&_probe.vectorcall - <char*><PyObject*>_probe, 1)
mt_whole_overload_install(<PyTypeObject*>OpOverload)


def register_operator(OpOverload op not None):
    """Makes an operator known by its name. Raises RuntimeError where the name is taken."""
    if op.sig.qualname in operators:
        earlier = (<OpOverload>operators[op.sig.qualname]).source
        raise RuntimeError(f"operator {op.sig.qualname} is already defined{f' at {earlier}' if earlier else ''}; "
                           "none can be defined multiple times; an overload of it needs a name of its own, as in `name.overload(...)`")
    operators[op.sig.qualname] = op


def unregister_operator(OpOverload op not None):
    operators.pop(op.sig.qualname, None)


def find_operator(str qualname not None):
    """The operator of that full name, or None."""
    found = operators.get(qualname)
    if found is None and hook.load_operators is not None:
        hook.load_operators(qualname)
        found = operators.get(qualname)
    return found


def operator_names():
    """The full names of all operators."""
    if hook.load_operators is not None:
        hook.load_operators(None)
    return sorted(operators)


cdef int forget_formula(OpOverload op) except -1:
    op.backward_function = op.setup_function = op.gradient = None
    op.setup_takes_keywords = op.constants_read = False
    return 0


cdef inline int complete(OpOverload op) except -1:
    if op.pending is not None:
        complete_all(op)
    return 0


cdef int complete_all(OpOverload op) except -1:
    """What is pending may leave another behind, or itself, where it is what asks."""
    before = None
    while op.pending is not None and op.pending is not before:
        before = op.pending
        before()
    return 0


cdef object call_unready(OpOverload op, Bound* bound, uint64_t keys):
    """A call for which nothing is registered, or nothing yet."""
    complete(op)
    if op.pending is None and keys & op.active:          # another thread may have completed it since it was looked at
        return dispatch(op, bound, keys)
    raise cold.missing_kernel(op, keys)


cdef PyObject* call_operator(PyObject* callable, PyObject** args, size_t nargsf, PyObject* kwnames) except NULL:
    return call_overload(<OpOverload>callable, args, PyVectorcall_NARGS(nargsf), kwnames, BIND_CAST)


cdef inline PyObject* call_overload(OpOverload op, PyObject** args, Py_ssize_t nargs, PyObject* kwnames, int mode) except NULL:
    cdef Bound bound
    result = None
    try:
        if bind(op.sig, args, nargs, kwnames, &bound, mode):
            result = call_bound(op, &bound, mode)
        else:
            result = call_that_does_not_fit(op, args, nargs, kwnames, mode)
    finally:
        release_bound(&bound)
    Py_INCREF(result)
    return <PyObject*>result


cdef inline object call_bound(OpOverload op, Bound* bound, int mode):
    """A call whose arguments are bound, in the form that `mode` asks for."""
    if mode & BIND_NAMED and op.result_type is not None:
        return call_published(op, bound)
    return dispatch(op, bound, call_keys(op, bound))


cdef object call_with_lists(OpOverload op, Bound* bound, PyObject** lists):
    """A call of an operator whose arguments are lists of tensors, and are that already."""
    cdef int i
    for i in range(op.sig.count):
        bound.slots[i] = lists[i]
    bound.made_count, bound.mode, bound.unread = 0, BIND_CAST, 0
    return dispatch(op, bound, call_keys(op, bound))


cdef object call_that_does_not_fit(OpOverload op, PyObject** args, Py_ssize_t nargs, PyObject* kwnames, int mode):
    """A second look: numbers may stand for tensors, and an argument may define ``__torch_function__`` without being one."""
    cdef Bound bound
    if op.takes_numbers:
        try:
            if bind(op.sig, args, nargs, kwnames, &bound, mode | BIND_WRAP):
                return call_bound(op, &bound, mode)
        finally:
            release_bound(&bound)
        if mode & BIND_CAST:
            check_widths(op.sig, args, nargs)
    packet = hook.find_packet(f"{op.namespace}::{op._schema.name}")
    result = ask_strangers(OpOverloadPacket.as_method(packet) if mode & BIND_METHOD else packet, args, nargs, kwnames)
    if result is NotImplemented:
        try:
            bind(op.sig, args, nargs, kwnames, &bound, mode | BIND_EXPLAIN)     # raises, and says what is wrong
        finally:
            release_bound(&bound)
    return result


cdef int check_widths(Signature sig, PyObject** args, Py_ssize_t nargs) except -1:
    """Raises OverflowError for an integer in place of a tensor that has more than 64 bits: PyTorch takes it before all else."""
    cdef Py_ssize_t i
    for i in range(min(nargs, sig.positional)):
        if sig.args[i].kind == ARG_TENSOR and PyLong_Check(<object>args[i]):
            dtype_of_integer(<object>args[i])
    return 0


cdef object ask_strangers(object packet, PyObject** args, Py_ssize_t nargs, PyObject* kwnames):
    """What the ``__torch_function__`` makes of a call of arguments that are no tensors, or tensors in the place of numbers,
    or NotImplemented."""
    names = () if kwnames == NULL else <object>kwnames
    values = [<object>args[i] for i in range(nargs + len(names))]
    for value in values:
        if any([answers_for_itself(item) for item in items_shown(value) or (value,)]):
            return hook.foreign_call(packet, tuple(values[:nargs]), dict(zip(names, values[nargs:])))
    return NotImplemented


cdef int bind_python(Signature sig, tuple args, dict kwargs, Bound* bound) except -1:
    """As `bind`, for arguments in a tuple and a dict (paths that are not hot)."""
    cdef PyObject* flat[2 * MAX_ARGS]
    cdef Py_ssize_t i = 0
    if len(args) + len(kwargs) > 2 * MAX_ARGS:
        raise cold.too_many(sig, len(args))
    for value in args:
        flat[i] = <PyObject*>value
        i += 1
    for value in kwargs.values():
        flat[i] = <PyObject*>value
        i += 1
    names = tuple(kwargs)
    return bind(sig, flat, len(args), <PyObject*>names if names else NULL, bound, BIND_EXPLAIN | BIND_CAST)


cdef inline uint64_t call_keys(OpOverload op, Bound* bound):
    """The keys of all tensors of a call; of a factory: of its device."""
    cdef uint64_t keys = list_keys(op, bound) if op.sig.has_lists else 0
    cdef PyObject* tensor
    cdef int i
    for i in range(op.sig.tensor_args):
        tensor = bound.slots[op.sig.tensor_at[i]]
        if tensor != <PyObject*>None:
            keys |= (<Tensor>tensor).keys
    if keys == 0:
        keys = factory_keys(op, bound)
    return (keys | mt_state.included) & ~mt_state.excluded


cdef uint64_t list_keys(OpOverload op, Bound* bound):
    """The keys of the tensors in a call's lists."""
    cdef uint64_t keys = 0
    cdef int i
    for i in range(op.sig.count):
        if op.sig.args[i].kind == ARG_TENSOR_LIST or op.sig.args[i].kind == ARG_OPT_TENSOR_LIST:
            if bound.slots[i] != <PyObject*>None:
                for item in <object>bound.slots[i]:
                    if item is not None:
                        keys |= (<Tensor>item).keys
    return keys


cdef uint64_t factory_keys(OpOverload op, Bound* bound):
    """Of the device that a call names, or the thread's default, which the kernel is then told: it may be any of its type."""
    cdef int at = op.sig.device_arg
    cdef device where
    if at < 0:
        return device_keys(default_device().type_code)
    where = as_device(<object>bound.slots[at])
    if bound.slots[at] == <PyObject*>None and where is not device_cpu:
        bound.slots[at] = <PyObject*>where                # concrete devices live as long as the process
    return device_keys(where.type_code)


cdef inline object dispatch(OpOverload op, Bound* bound, uint64_t keys):
    cdef uint64_t live = keys & op.active
    cdef int key
    if live == 0:
        return call_unready(op, bound, keys)
    key = mt_highest_bit(live)
    if key >= KEY_BATCHED and (key == KEY_BATCHED or key == KEY_VMAP_MODE and keys & BATCHED) and cold.goes_above_batch(op, bound, live & AUTOGRAD_KEYS):
        key = mt_highest_bit(live & AUTOGRAD_KEYS)
    if watched:
        return dispatch_watched(op, key, bound, keys)
    return dispatch_at(op, key, bound, keys)


cdef object dispatch_watched(OpOverload op, int key, Bound* bound, uint64_t keys):
    """A call of which a profiler, or the dispatch trace, is told."""
    cdef int64_t span
    if not watched & WATCH_PROFILE or key == KEY_TORCH_FUNCTION:      # there a function runs, which calls the operator again
        return dispatch_shown(op, key, bound, keys, "call")
    span = cold.open_call(op, bound, keys)
    try:
        return dispatch_shown(op, key, bound, keys, "call")
    finally:
        cold.close_span(span)


cdef object dispatch_shown(OpOverload op, int key, Bound* bound, uint64_t keys, str what):
    return dispatch_traced(op, key, bound, keys, what) if show_trace else dispatch_at(op, key, bound, keys)


cdef object dispatch_traced(OpOverload op, int key, Bound* bound, uint64_t keys, str what):
    # Which backend makes a tensor is settled at the call here; in PyTorch a kernel at BackendSelect finds it and calls on.
    cdef bint recorded = op.recorded_at >> key & 1
    cdef bint selects = op.sig.device_arg >= 0 and not op.sig.tensor_args and not op.sig.has_lists and what == "call" \
        and (recorded or key <= KEY_META)
    trace_line(what, op, KEY_BACKEND_SELECT if selects else key)
    trace_depth.depth += 1
    try:
        if selects and not recorded:
            return dispatch_traced(op, key, bound, keys, "redispatch")
        return dispatch_at(op, key, bound, keys)
    finally:
        trace_depth.depth -= 1


cdef inline object dispatch_at(OpOverload op, int key, Bound* bound, uint64_t keys):
    cdef int64_t level
    if op.recorded_at >> key & 1:
        if op.mutates and mt_state.captured:
            cold.refuse_captured(op, bound)
        if forward_levels and not mt_state.withheld:
            level = cold.level_of_call(op, bound)
            if level:
                return call_with_tangents(op, bound, keys, level)
        return call_below_autograd(op, bound, keys & ~AUTOGRAD_KEYS)
    if key <= KEY_META and not op.composite_at >> key & 1:
        return call_backend(op, key, bound, keys)
    result = run_at(op, key, bound, keys)
    if key == KEY_PYTHON:
        check_answer(op, bound, result)
    elif key != KEY_TORCH_FUNCTION:
        check_types(op, result)
    return result


cdef object call_backend(OpOverload op, int key, Bound* bound, uint64_t keys):
    """A backend's kernel where autograd is not in between: inside another kernel, in inference mode, by redispatch."""
    cdef uint64_t start = bumps
    if op.planned_at >> key & 1 and not (op.device_check and keys & NOT_CPU):
        return run_plan(<Plan>op.table[key], key, bound, 0)
    if begins_operation(op, key, bound):
        try:
            return call_backend(op, key, bound, keys)
        finally:
            end_operation()
    if op.mutates:
        refuse_inference_tensors(op, bound)
    result = run_at(op, key, bound, keys)
    check_types(op, result)
    if op.refuses_aliases:
        check_aliases(op, bound, result)
    check_unchanged(op, bound, start)
    if mt_state.last_bump > start:
        begin_versions(<PyObject*>result)
    if op.keeps_layout and is_laid_out(op, bound.slots):
        keep_layout(op, bound.slots, result)
    if op.mutates:
        bump_mutated(op, bound, start)                    # called by a kernel: its own operator finds out by this
    return result


cdef inline object run_at(OpOverload op, int key, Bound* bound, uint64_t keys):
    """What is registered at a key, once the arguments go together as the operator's declaration asks."""
    cdef bint composite = op.composite_at >> key & 1      # its own operators compare devices
    if lazy_storages and op.mutates and key <= KEY_META:
        own_written(op, bound)
    if op.overlap_check and (composite or key <= KEY_META) and not plainly_apart(op, bound):
        check_overlap(op, bound)
    if key == KEY_META and op.broadcasts_into:            # no kernel runs that would refuse it
        cold.check_broadcasts_into(op, bound)
        cold.check_casts_into(op, bound)
    if op.device_check and keys & NOT_CPU and key <= KEY_META and not composite and not on_one_device(op, bound):
        return run_across_devices(op, key, bound, keys)
    return run_unchecked(op, key, bound, keys)


cdef inline object run_unchecked(OpOverload op, int key, Bound* bound, uint64_t keys):
    """What is registered at a key: the operator's kernel, Python's handlers, or the key's fallback."""
    if op.table[key] != NULL and not op.keyset_at >> key & 1:
        return run_kernel(op, op.table[key], bound)
    return run_in_python(op, key, bound, keys)


cdef object run_in_python(OpOverload op, int key, Bound* bound, uint64_t keys):
    """What is no kernel that takes the bound arguments as they are."""
    args, kwargs = bound_to_python(op.sig, bound)
    if op.table[key] != NULL:
        return (<object>op.table[key])(hook.key_set(keys), *args, **kwargs)
    if key == KEY_PYTHON and hook.python_call is not None:
        return hook.python_call(op, args, kwargs, bound.mode & BIND_CAST != 0)
    if key == KEY_TORCH_FUNCTION and hook.overridden_call is not None:
        return hook.overridden_call(op, args, kwargs, bound.mode & BIND_METHOD != 0)
    fallback = fallback_for(op, key)      # backend keys are always tried: here it is settled whether there is one
    if fallback is None and key == KEY_NARROW:
        return hook.call_with_narrow(op, keys & ~NARROW, args, kwargs)
    if fallback is None and KEY_CONJUGATE <= key <= KEY_ZERO_TENSOR:
        return hook.call_with_values(op, keys & ~LAZY, args, kwargs)
    if fallback is None:
        raise cold.missing_kernel(op, keys)
    if fallback[2]:
        return fallback[0](hook.key_set(keys), op, *args, **kwargs)
    return fallback[0](op, *args, **kwargs)


cdef inline object run_kernel(OpOverload op, PyObject* kernel, Bound* bound):
    cdef PyObject* result = mt_vectorcall(kernel, bound.slots, op.sig.positional,
                                          <PyObject*>op.sig.kwnames if op.sig.kwnames is not None else NULL)
    if result == NULL:
        cold.explain_kernel_failure(op, bound)
    return mt_new_reference(result)


cdef object run_backend(OpOverload op, int key, Bound* bound):
    """What is registered at a key, where that is a kernel that takes the arguments as they are bound."""
    return run_kernel(op, op.table[key], bound)


cdef tuple bound_to_python(Signature sig, Bound* bound):
    args = tuple_of(bound.slots, sig.positional)
    return args, {sig.names[i]: <object>bound.slots[i] for i in range(sig.positional, sig.count)}
