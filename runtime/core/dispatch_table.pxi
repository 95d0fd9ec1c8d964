"""The dispatch table: what each key of an operator runs, by the precedence of PyTorch's table.

From first to last: the key's own registration; on a backend the two explicit composites; on a backend or at its autograd
key the implicit composite, unless that backend has a kernel; at an autograd key the alias Autograd; the key's fallback.
"""

cdef dict fallbacks = {}                 # key -> (function, source, with_keyset, exclude), as libraries registered it
cdef dict own_fallbacks = {}             # the runtime's, for what no library's is for; made when a part of it is loaded
cdef str FALLBACK = "backend fallback"   # kinds, as tables print them
cdef str MATH = "math kernel"
cdef str CORE = "mindtorch_v2._core"     # where the core's own behaviour is registered, as tables print it


class Fallthrough:
    """Registered as a kernel: nothing happens at that key, the next lower one decides."""

    def __call__(self):
        raise NotImplementedError("fallthrough_kernel() should never be called: it is for registration only")

    def __repr__(self):
        return "fallthrough_kernel"


class CoreKernel:
    """Stands in a table for what the core does itself at a key."""

    def __init__(self, what):
        self.what = what

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"{self!r} was called: call the operator, or redispatch it to the key")

    def __repr__(self):
        return f"<{self.what} of {CORE}>"


fallthrough_kernel = Fallthrough()
autograd_kernel = CoreKernel("autograd kernel")          # records the call for an operator's gradient formula
_python_kernel = CoreKernel("Python dispatcher")
_no_fake_kernel = CoreKernel("error that asks for a fake rule")
_lazy_kernel = CoreKernel("kernel that works out what tensors stand for")
_narrow_kernel = CoreKernel("kernel for narrow dtypes")

# What happens at a key where nothing else is registered.
cdef dict CORE_FALLBACKS = {
    key: (autograd_kernel, CORE, False) for key in range(KEY_AUTOGRAD_OTHER, KEY_AUTOGRAD_META + 1)}
CORE_FALLBACKS[KEY_PYTHON] = (_python_kernel, CORE, False)
CORE_FALLBACKS[KEY_META] = (_no_fake_kernel, CORE, False)
CORE_FALLBACKS[KEY_NARROW] = (_narrow_kernel, CORE, False)
for _key in (KEY_CONJUGATE, KEY_NEGATIVE, KEY_ZERO_TENSOR):
    CORE_FALLBACKS[_key] = (_lazy_kernel, CORE, False)
for _key in (KEY_BACKEND_SELECT, KEY_AD_INPLACE_OR_VIEW, *range(KEY_AUTOCAST_CPU, KEY_AUTOCAST_LAST + 1)):
    CORE_FALLBACKS[_key] = (fallthrough_kernel, CORE, False)


def set_fallback(str key not None, function, source=None, bint with_keyset=False, exclude=frozenset()):
    """Registers ``function(op, *args, **kwargs)`` for every operator without a kernel at `key`; None removes it.

    With `with_keyset` the call's ``DispatchKeySet`` comes before the operator. Operators whose full names `exclude` holds
    are left alone. Returns what was registered before, as the arguments after `key`.
    """
    cdef int k = key_from_name(key)
    if k >= KEY_COUNT:
        raise ValueError(f"a fallback is registered for one dispatch key, not for the alias {key}")
    before = fallbacks.get(k, (None, None, False, frozenset()))
    if function is None:
        fallbacks.pop(k, None)
    else:
        fallbacks[k] = (function, source, with_keyset, frozenset(exclude))
    for op in operators.values():
        resolve_operator(<OpOverload>op)
    return before


def set_own_fallback(str key not None, function, str source not None, bint with_keyset=False):
    """Registers the runtime's own fallback at `key`, which gives way to a library's whichever comes first."""
    own_fallbacks[key_from_name(key)] = (function, source, with_keyset, frozenset())
    for op in operators.values():
        resolve_operator(<OpOverload>op)


def has_fallback(str key not None):
    """Whether anything happens at a key for an operator that has no kernel there."""
    cdef int k = key_from_name(key)
    return k in fallbacks or k in own_fallbacks or k in CORE_FALLBACKS


cdef int resolve_operator(OpOverload op) except -1:
    """Fills the table that calls index, from what is registered."""
    cdef bint as_kept
    cdef int key
    # A missing backend kernel is found, and explained, at its backend; overrides reach every operator.
    op.active = 0 if op.pending is not None else BACKEND_KEYS | TORCH_FUNCTION
    op.recorded_at = op.composite_at = op.keyset_at = op.planned_at = 0
    if op.pending is not None:                            # the first call finds nothing, and completes the definition
        return 0
    as_kept = leaves_values_alone(op)
    for key in range(KEY_COUNT):
        op.table[key] = NULL
        found = found_at(op, key)
        if found is None:
            continue
        entry, kind = found
        if entry[0] is fallthrough_kernel or entry[0] is _lazy_kernel and as_kept \
                or entry[0] is _narrow_kernel and (as_kept or not op.is_builtin):
            op.active &= ~(<uint64_t>1 << key)
            continue
        op.active |= <uint64_t>1 << key
        if entry[0] is autograd_kernel:
            op.recorded_at |= <uint64_t>1 << key
        elif kind is not FALLBACK:
            op.table[key] = <PyObject*>entry[0]
            if kind is MATH:
                op.composite_at |= <uint64_t>1 << key
            elif key <= KEY_META and runs_as_plan(op, entry[0]):
                op.planned_at |= <uint64_t>1 << key
            if entry[2]:
                op.keyset_at |= <uint64_t>1 << key
    return 0


cdef bint leaves_values_alone(OpOverload op) except -1:
    """Whether an operator takes tensors as they are kept: its result is a view, kept as they are, or it calls others for them."""
    cdef int key
    if "inplace_view" in op.tags or op.makes_views and not op.mutates:
        return True
    for key in range(KEY_CPU, KEY_META + 1):
        if key in op.kernels:
            return False
    return ALIAS_COMPOSITE_IMPLICIT in op.kernels and ALIAS_COMPOSITE_EXPLICIT not in op.kernels


cdef object found_at(OpOverload op, int key):
    """What a key runs, ``(entry, kind)`` with the kinds of PyTorch's table, or None."""
    cdef bint autograd = KEY_AUTOGRAD_OTHER <= key <= KEY_AUTOGRAD_META
    cdef bint backend = KEY_CPU <= key <= KEY_META
    entry = op.kernels.get(key)
    if entry is not None:
        return entry, "kernel"
    explicit = op.kernels.get(ALIAS_COMPOSITE_EXPLICIT)
    if backend:
        entry = op.kernels.get(ALIAS_COMPOSITE_NON_FUNCTIONAL) or explicit
        if entry is not None:
            return entry, "default backend kernel"
    if backend or autograd and explicit is None and KEY_CPU + key - KEY_AUTOGRAD_CPU not in op.kernels:
        entry = op.kernels.get(ALIAS_COMPOSITE_IMPLICIT)
        if entry is not None:
            return entry, MATH
    if autograd and ALIAS_AUTOGRAD in op.kernels:
        return op.kernels[ALIAS_AUTOGRAD], "autograd kernel"
    if key == KEY_VMAP_MODE and "nondeterministic_seeded" not in op.tags:
        return None
    entry = fallback_for(op, key) or CORE_FALLBACKS.get(key)
    return None if entry is None else (entry, FALLBACK)


cdef tuple fallback_for(OpOverload op, int key):
    """The fallback at a key that is for this operator, or None: a backend has none for what a library's excludes."""
    cdef tuple entry = fallbacks.get(key)
    if entry is None or op.sig.qualname not in entry[3]:
        return own_fallbacks.get(key) if entry is None else entry
    return None if key <= KEY_META else own_fallbacks.get(key)
