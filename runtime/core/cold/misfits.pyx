# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""What is said of a call that does not fit: an operator's schema, its kernels, the shapes and the memory that it is given.

The checks stand where the calls run; the words are made here, once one of them has failed.
"""
from cpython.object cimport PyObject

from mindtorch_v2._core cimport (
    ARG_BOOL, ARG_BOOL_LIST, ARG_DEVICE, ARG_DTYPE, ARG_FLOAT, ARG_FLOAT_LIST, ARG_GENERATOR, ARG_INT, ARG_INT_LIST, ARG_LAYOUT,
    ARG_MEMORY_FORMAT, ARG_OPT_TENSOR_LIST, ARG_SCALAR, ARG_SCALAR_LIST, ARG_STORAGE, ARG_STR, ARG_TENSOR, ARG_TENSOR_LIST,
    ALIAS_AUTOGRAD, BACKEND_KEYS, Bound, KEY_META, KEY_NAMES, NO_DEFAULT, OpOverload, Signature, Tensor, cold, device_types, is_stranger,
    items_shown, tensors_of,
)
from libc.stdint cimport int64_t, uint64_t

from mindtorch_v2._core import ArgumentError, _type_name, key_names

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core
    pass

cdef dict KIND_NAMES = {
    ARG_TENSOR: "Tensor", ARG_TENSOR_LIST: "tuple of Tensors", ARG_OPT_TENSOR_LIST: "tuple of Tensors or None", ARG_INT: "int",
    ARG_FLOAT: "float", ARG_BOOL: "bool", ARG_STR: "str", ARG_SCALAR: "Number", ARG_INT_LIST: "tuple of ints",
    ARG_FLOAT_LIST: "tuple of floats", ARG_BOOL_LIST: "tuple of bools", ARG_SCALAR_LIST: "tuple of Scalars",
    ARG_DTYPE: "torch.dtype", ARG_DEVICE: "torch.device", ARG_LAYOUT: "torch.layout",
    ARG_MEMORY_FORMAT: "torch.memory_format", ARG_GENERATOR: "torch.Generator", ARG_STORAGE: "Storage",
}


# ---------------------------------------------------------------- schemas
cdef str stranger_name(object value):
    cls = type(value)
    return f"{cls.__module__}.{cls.__qualname__}" if is_stranger(value) else cls.__name__


cdef str stranger_hint(tuple values):
    """What to do with another library's tensor, where there is one among the values."""
    if not any([is_stranger(v) and hasattr(v, "__array__") for v in values]):
        return ""
    return "\n  another library's tensor is no Tensor here: take it in as `from_numpy(numpy.asarray(t))`, over the same memory"


cdef object wrong_type(Signature sig, int at, object value):
    spec = sig.args[at]
    expected = KIND_NAMES.get(spec.kind, str(sig.schema.arguments[at].type))
    if spec.optional:
        expected += " or None"
    got = stranger_name(value)
    items = items_shown(value)
    if items:
        got += " of " + ", ".join(sorted({stranger_name(v) for v in items}))
    where = f"position {at + 1}" if at < sig.positional else "keyword-only"
    return ArgumentError(f"{sig.qualname}(): argument '{sig.names[at]}' ({where}) must be {expected}, not {got}"
                     f"{stranger_hint((value, *items))}\n  schema: {sig.schema}")


cdef object too_many(Signature sig, Py_ssize_t nargs):
    plural = "" if sig.positional == 1 else "s"
    return ArgumentError(f"{sig.qualname}() takes {sig.positional} positional argument{plural} but {nargs} were given\n"
                     f"  schema: {sig.schema}")


cdef object unexpected_keyword(Signature sig, object name, int at):
    if at >= 0:
        return ArgumentError(f"{sig.qualname}() got multiple values for argument '{name}'\n  schema: {sig.schema}")
    import difflib
    near = difflib.get_close_matches(name, sig.names, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return ArgumentError(f"{sig.qualname}() got an unexpected keyword argument '{name}'{hint}\n  schema: {sig.schema}")


cdef object missing(Signature sig, Bound* bound):
    names = [f"'{sig.names[i]}'" for i in range(sig.count)
             if bound.slots[i] == NULL and sig.defaults[i] is NO_DEFAULT or bound.slots[i] == <PyObject*>NO_DEFAULT]
    plural = "" if len(names) == 1 else "s"
    return ArgumentError(f"{sig.qualname}() missing {len(names)} required argument{plural}: {', '.join(names)}\n"
                     f"  schema: {sig.schema}")


cdef object no_overload(str name, list candidates, PyObject** args, Py_ssize_t nargs, PyObject* kwnames):
    given = [stranger_name(<object>args[i]) for i in range(nargs)]
    if kwnames != NULL:
        given += [f"{keyword}={stranger_name(<object>args[nargs + i])}" for i, keyword in enumerate(<object>kwnames)]
    schemas = "\n".join([f"  {op._schema}" for op in candidates])
    hint = stranger_hint(tuple([<object>args[i] for i in range(nargs + (0 if kwnames == NULL else len(<object>kwnames)))]))
    return ArgumentError(f"{name}() received an invalid combination of arguments - got "
                     f"({', '.join(given)}), but expected one of:\n{schemas}{hint}")


# ---------------------------------------------------------------- kernels
cdef object missing_kernel(OpOverload op, uint64_t keys):
    backend = key_names(keys & BACKEND_KEYS)[:1] or ["this device"]
    known = sorted([KEY_NAMES[k] for k in op.kernels if k <= KEY_META or k > ALIAS_AUTOGRAD])     # what could run there
    has = f"it has kernels for {', '.join(known)}" if known else "it has no kernels at all"
    found = [kind.name for kind in device_types if kind is not None and kind.backend.key == backend[0]]
    name = found[0] if found else backend[0]
    return NotImplementedError(
        f"Could not run '{op.sig.qualname}' with arguments from the '{backend[0]}' backend: {op._schema.name} does not have a kernel "
        f"registered for {name}; {has}. Register one with `library.impl(\"{op.sig.qualname}\", \"{backend[0]}\")`"
        + (", or a fake rule with `register_fake`" if backend[0] == "Meta" else "") + ".")


cdef int refuse_mutation(OpOverload op, Bound* bound, int at) except -1:
    cdef set written = set()
    cdef int i
    for i in range(op.sig.count):                         # another argument over the same memory may be declared
        if op.aliases[i].written:
            written.update([id(t.untyped_storage()) for t in tensors_of(<object>bound.slots[i])])
    if all([id(t.untyped_storage()) in written for t in tensors_of(<object>bound.slots[at])]):
        return 0
    raise RuntimeError(f"{op.sig.qualname}: the kernel changed argument '{op.sig.names[at]}' in place, but the schema does not declare "
                       f"it. Declare it (`Tensor(a!) {op.sig.names[at]}`), or change a copy.\n  schema: {op._schema}")


# ---------------------------------------------------------------- shapes and memory
cdef object too_large(Tensor t, bint strided):
    if not strided and 0 in [t.sizes[i] for i in range(t.nd)]:
        return RuntimeError(f"Stride calculation overflowed with sizes={[t.sizes[i] for i in range(t.nd)]}: a stride has at most 64 bits")
    strides = f" and strides={[t.strides[i] for i in range(t.nd)]}, storage offset {t.offset}" if strided else ""
    return RuntimeError(f"Storage size calculation overflowed with sizes={[t.sizes[i] for i in range(t.nd)]}{strides}: elements of "
                        f"{t.dt.itemsize} bytes, and a storage has at most 2**63 - 1 bytes")


cdef object not_expandable(Tensor t, int nd, const int64_t* sizes):
    """What is wrong with the sizes for `expanded`."""
    cdef int d, added = nd - t.nd
    cdef int64_t own
    wanted = [sizes[d] for d in range(nd)]
    if added < 0:
        return RuntimeError(f"expand({t.dt}{list(t.shape)}, size={wanted}): the number of sizes provided ({nd}) must be greater or equal "
                            f"to the number of dimensions in the tensor ({t.nd})")
    for d in range(nd):
        own = t.sizes[d - added] if d >= added else 1
        if sizes[d] == -1 and d < added:
            return RuntimeError(f"The expanded size of the tensor ({sizes[d]}) isn't allowed in a leading, non-existing dimension {d}")
        if sizes[d] != -1 and sizes[d] != own and own != 1:
            return RuntimeError(f"The expanded size of the tensor ({sizes[d]}) must match the existing size ({own}) at non-singleton "
                                f"dimension {d}.  Target sizes: {wanted}.  Tensor sizes: {list(t.shape)}")
    return RuntimeError(f"expand: sizes other than -1 must not be negative, got {wanted}")


# ---------------------------------------------------------------- gradients
cdef object hook_name(object hook):
    return getattr(hook, "__name__", hook)


cdef int check_replaced(object value, object replaced, object hook) except -1:
    """Refuses what a hook returns instead of a gradient that is another kind of thing."""
    cdef Tensor old, new
    if value is None:
        raise RuntimeError(f"can't replace a None gradient with a non-None value: hook '{hook_name(hook)}' was given None and returned "
                           f"'{_type_name(replaced)}'")
    if not isinstance(replaced, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{_type_name(replaced)}': hook '{hook_name(hook)}' must return None or a "
                        "Tensor")
    old, new = <Tensor>value, <Tensor>replaced
    if old.dt is not new.dt or old.dev.type_code != new.dev.type_code:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the type of value (was {old.dt} on {old.dev}, got {new.dt} on "
                           f"{new.dev})")
    if old.shape != new.shape:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the size of value (was {list(old.shape)}, got {list(new.shape)})")
    return 0


cdef int warn_of_missing_gradient() except -1:
    import warnings
    warnings.warn("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                  "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
                  "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access "
                  "the leaf Tensor instead.", UserWarning)
    return 0


cold.wrong_type = wrong_type
cold.too_many = too_many
cold.unexpected_keyword = unexpected_keyword
cold.missing = missing
cold.no_overload = no_overload
cold.missing_kernel = missing_kernel
cold.refuse_mutation = refuse_mutation
cold.too_large = too_large
cold.not_expandable = not_expandable
cold.hook_name = hook_name
cold.check_replaced = check_replaced
cold.warn_of_missing_gradient = warn_of_missing_gradient
