# cython: language_level=3, boundscheck=False, binding=False, cdivision=True, initializedcheck=False
# cython: nonecheck=False, auto_pickle=False, embedsignature=True, embedsignature.format=clinic
"""What a kernel's status becomes: PyTorch's error, made where the operator is known, here and nowhere else.

A launch that fails raises a KernelError, which names kernel and status. Where the kernel was an operator's, `run_kernel`
comes here: the statuses of mindtorch_kernel.h become PyTorch's class and words about the operator's arguments; a status of
the kernel's own keeps both, with the operator before them. What a launch refuses before it calls a kernel is said here, too.
"""
from cpython.object cimport PyObject

from mindtorch_v2._core cimport (
    ARG_FLOAT, ARG_SCALAR, Bound, CType, Kernel, KEY_META, KEY_NPU, LAZY, OpOverload, Tensor, cold, device, dtype, dtype_c64, kept_as,
    operators, raise_bad_scalar, run_backend, where,
)

from mindtorch_v2._core import broadcast_shapes, common_dtype, dtypes, scalar_types

cdef extern from "cpython_glue.h":      # for tracebacks without frames of the core
    pass

cdef extern from "mindtorch_kernel.h":
    enum:
        MT_ERROR_DTYPE, MT_ERROR_SHAPE, MT_ERROR_DIVISION, MT_ERROR_INDEX, MT_ERROR_MEMORY, MT_ERROR_FACTOR
        MT_ERROR_OVERFLOW, MT_ERROR_PROBABILITY, MT_ERROR_TARGET

cdef extern from *:
    """
    /* The exception that is being raised, for `try ... except` to look at. */
    static int mt_raise_pending(void) { return -1; }
    """
    int mt_raise_pending() except -1

# What the statuses of mindtorch_kernel.h mean where no operator is known; a kernel may return codes of its own.
cdef dict C_STATUS = {
    MT_ERROR_DTYPE: "no code for this dtype, or for this combination of dtypes",
    MT_ERROR_SHAPE: "shapes that do not fit one another, or more than 64 dimensions",
    MT_ERROR_DIVISION: "integer division by zero",
    MT_ERROR_INDEX: "an index outside its dimension",
    MT_ERROR_MEMORY: "no memory for a temporary",
    MT_ERROR_FACTOR: "a factor with a fraction, for integers",
    MT_ERROR_OVERFLOW: "a number that its dtype cannot hold",
    MT_ERROR_PROBABILITY: "a probability that is not between 0 and 1",
    MT_ERROR_TARGET: "a target that is no class",
}

# C's names of types where a number does not fit one.
cdef dict C_NAMES = {"i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "u8": "uint8_t", "u16": "uint16_t",
                     "u32": "uint32_t", "u64": "uint64_t", "f32": "float", "f64": "double"}


class KernelError(RuntimeError):
    """A kernel returned another status than 0. ``kernel`` is its name, ``status`` what it returned."""

    def __init__(self, message, kernel="", status=0, dtypes=()):
        super().__init__(message)
        self.kernel, self.status, self._dtypes = kernel, status, dtypes


class KernelArgumentError(TypeError):
    """A value of another kind than the C type that a kernel declares; ``value`` is what it got."""

    def __init__(self, message, value=None):
        super().__init__(message)
        self.value = value


class KernelOverflowError(OverflowError):
    """A number beyond the C type that a kernel declares; ``ctype`` names the type."""

    def __init__(self, message, ctype=""):
        super().__init__(message)
        self.ctype = ctype


cdef int raise_bad_argument(Kernel self, int i, object value, int status) except -1:
    try:
        raise_bad_scalar(where(self, i), <CType>self.types[i], value, status)
    except TypeError as error:
        raise KernelArgumentError(str(error), value) from None
    except OverflowError as error:
        raise KernelOverflowError(str(error), (<CType>self.types[i]).name) from None
    return 0


cdef int raise_wrong_count(Kernel self, Py_ssize_t n) except -1:
    names = ", ".join([t.name for t in self.types])
    if self.ascendc:
        raise TypeError(f"kernel {self.name}: expected block_dim and {self.nargs} arguments ({names}), got {n}")
    raise TypeError(f"kernel {self.name}: expected {self.nargs} arguments ({names}), got {n}")


cdef int raise_wrong_device(Kernel self, int i, str what, device got, int at, int at_from) except -1:
    if not self.ascendc:
        expected = f"{what} on cpu"
    elif at < 0 or (got.type_code != KEY_NPU and at_from >= 0):
        expected = f"{what} on npu"
    elif at_from < 0:
        expected = f"{what} on npu:{at}, the stream's device"
    else:
        expected = f"{what} on npu:{at} like argument {at_from + 1}"
    raise RuntimeError(f"{where(self, i)}: expected {expected}, got {what} on {got}")


cdef int raise_wrong_dtype(Kernel self, int i, Tensor t) except -1:
    allowed = [d for d in dtypes.values() if self.allowed[i] >> (<dtype>d).code & 1]
    alike = [d for d in allowed if (<dtype>d).category == t.dt.category]
    names = " or ".join([(<dtype>d).name for d in alike or allowed])
    raise RuntimeError(f"{where(self, i)}: expected dtype {names}, got {t.dt.name}")


cdef int raise_unusable(Kernel self, int i, Tensor t) except -1:
    if t.storage.data == NULL and t.nelem > 0:
        raise RuntimeError(f"{where(self, i)}: expected a tensor with memory, got one whose storage was freed")
    if t.keys & LAZY:
        raise RuntimeError(f"{where(self, i)}: expected a tensor whose memory holds its values, got {kept_as(t)}; "
                           "pass x.resolve_conj().resolve_neg()")
    raise RuntimeError(f"{where(self, i)}: expected a contiguous tensor, got shape {list(t.shape)} with strides "
                       f"{list(t.stride())}; pass x.contiguous(), in YAML contiguous(x)")


cdef object kernel_failure(Kernel self, int status, PyObject** args, Py_ssize_t n):
    """The error for a status that is not 0, as it is where no operator is known."""
    cdef Py_ssize_t i
    cdef list given = []
    for i in range(n):
        if isinstance(<object>args[i], Tensor) and (<Tensor>args[i]).dt not in given:
            given.append((<Tensor>args[i]).dt)
    text = f"kernel {self.name} returned {status} " \
           f"({C_STATUS.get(status, 'a code of its own; a kernel returns int, 0 for success')})"
    return KernelError(text, self.name, status, given)


cdef int explain_kernel_failure(OpOverload op, Bound* bound) except -1:
    """Replaces the error of a launch by the operator's; any other exception passes."""
    try:
        mt_raise_pending()
    except KernelError as error:
        failure = error
    except KernelArgumentError as error:
        if op._defined_in_python or not isinstance(error.value, complex):
            raise
        raise not_implemented(op, [dtype_c64]) from None
    except KernelOverflowError as error:
        if op._defined_in_python:
            raise
        raise RuntimeError(f"value cannot be converted to type {C_NAMES.get(error.ctype, error.ctype)} without overflow") from None
    if failure.status in C_STATUS:
        raise status_error(op, bound, failure.status, failure._dtypes)
    failure.args = (f"{op.sig.qualname}: {failure}",)
    raise failure


class IndexOutOfRangeError(IndexError, RuntimeError):
    """An index outside its dimension, as a kernel finds it: PyTorch's raise IndexError or RuntimeError, by the layout."""


cdef object status_error(OpOverload op, Bound* bound, int status, list given):
    """PyTorch's error for a status of mindtorch_kernel.h."""
    if status == MT_ERROR_DTYPE:
        if "pointwise" in op.tags:
            common_dtype(*tensors_given(op, bound))       # raises, where the operands have none
        return not_implemented(op, given)
    if status == MT_ERROR_OVERFLOW:
        return RuntimeError(number_that_does_not_fit(op, bound))
    if status == MT_ERROR_SHAPE:
        return RuntimeError(shapes_that_do_not_fit(op, bound))
    if status == MT_ERROR_DIVISION:
        return RuntimeError("ZeroDivisionError")
    if status == MT_ERROR_FACTOR:
        return RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if status == MT_ERROR_PROBABILITY:
        return RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true: a probability lies between 0 and 1")
    if status == MT_ERROR_TARGET:
        return IndexError(target_that_is_no_class(op, bound))
    if status == MT_ERROR_INDEX:
        return IndexOutOfRangeError(index_out_of_range(op, bound))
    return MemoryError(f"{op.sig.qualname}: out of memory: no room for a temporary of the size of its arguments: "
                       f"{listed_shapes(op, bound)}")


cdef list tensors_given(OpOverload op, Bound* bound):
    return [<object>bound.slots[i] for i in range(op.sig.count) if isinstance(<object>bound.slots[i], Tensor)]


cdef str number_that_does_not_fit(OpOverload op, Bound* bound):
    numbers = [f"{op.sig.names[i]}={<object>bound.slots[i]}" for i in range(op.sig.count)
               if op.sig.args[i].kind in (ARG_SCALAR, ARG_FLOAT)]
    return (f"value cannot be converted to type {common_dtype(*tensors_given(op, bound)).name} without overflow: "
            f"{op.sig.qualname}() got {', '.join(numbers)}")


cdef str target_that_is_no_class(OpOverload op, Bound* bound):
    """Of a loss of scores (classes) or (N, classes, ...), or of its gradient: the first of its targets that is refused."""
    cdef dict given = {op.sig.names[i]: <object>bound.slots[i] for i in range(op.sig.count)}
    classes, ignored = given["self"].shape[:2][-1], given["ignore_index"]
    wrong = next(label for label in given["target"].reshape((-1,)).tolist() if label != ignored and not 0 <= label < classes)
    return f"Target {wrong} is out of bounds: there are {classes} classes."


cdef str index_out_of_range(OpOverload op, Bound* bound):
    """The first index that is refused, where a call has an index along a dimension."""
    cdef dict given = {op.sig.names[i]: <object>bound.slots[i] for i in range(op.sig.count)}
    index, dim, self = given.get("index"), given.get("dim"), given.get("self")
    if isinstance(index, Tensor) and isinstance(dim, int) and isinstance(self, Tensor):
        size = self.size(dim) if self.dim() else 1
        for wrong in index.reshape((-1,)).tolist():
            if not 0 <= wrong < size:
                said = f"index {wrong} is out of bounds for dimension {dim % max(self.dim(), 1)} with size {size}"
                if op._schema.name != "index_select":
                    return said
                return f"INDICES element is out of DATA bounds, id={wrong} axis_dim={size}" if self.dim() > 1 \
                    else f"index out of range in self: {said}"
    return f"{op.sig.qualname}: index out of range: {listed_shapes(op, bound)}"


cdef str scalar_type(dtype dt):
    return f"'{scalar_types.get(dt.name, dt.name)}'"


cdef object not_implemented(OpOverload op, list given):
    """`given`: the dtypes that the kernel got."""
    if op._schema.name in ("sub", "sub_", "rsub") and any([(<dtype>dt).name == "bool" for dt in given]):
        both = all([(<dtype>dt).name == "bool" for dt in given])
        return RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
                            "operator instead." if both else
                            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
                            "use the `~` or `logical_not()` operator instead.")
    cdef list names = [name for _, name in sorted([(-(<dtype>dt).category, scalar_type(<dtype>dt)) for dt in given])]
    others = f" with {' and '.join(names[1:])}" if len(names) > 1 else ""
    return NotImplementedError(f"\"{op._schema.name.strip('_')}_cpu\" not implemented for {names[0] if names else 'these arguments'}{others}")


cdef int check_broadcasts_into(OpOverload op, Bound* bound) except -1:
    """Raises where the arguments of an operator that works element by element do not fit what it writes to."""
    cdef int i
    cdef list shapes = [(<Tensor>t).shape for t in tensors_given(op, bound)]
    whole = broadcast_shapes(*shapes)
    for i in range(op.sig.count):
        if op.aliases[i].written and isinstance(<object>bound.slots[i], Tensor) and whole != (<Tensor>bound.slots[i]).shape:
            raise RuntimeError(shapes_that_do_not_fit(op, bound))
    return 0


cdef int check_casts_into(OpOverload op, Bound* bound) except -1:
    """Raises where what an operator is written to cannot hold what its form that returns a new tensor would."""
    cdef str name = op._schema.name
    cdef OpOverload functional = <OpOverload?>operators.get(op.sig.qualname.replace(name, name.rstrip("_"), 1), op)
    if functional is op or functional.sig.names != op.sig.names or KEY_META not in functional.kernels \
            or functional.keyset_at >> KEY_META & 1 or not isinstance(<object>bound.slots[0], Tensor):
        return 0
    made = run_backend(functional, KEY_META, bound)
    if isinstance(made, Tensor) and (<Tensor>made).dt.category > (<Tensor>bound.slots[0]).dt.category:
        raise RuntimeError(f"result type {scalar_types[(<Tensor>made).dt.name]} can't be cast to the desired output type "
                           f"{scalar_types[(<Tensor>bound.slots[0]).dt.name]}")
    return 0


cdef str shapes_that_do_not_fit(OpOverload op, Bound* bound):
    """As PyTorch says it of operands that are broadcast against one another, and into one that is written to."""
    cdef int i
    cdef list shapes = [(<Tensor>t).shape for t in tensors_given(op, bound)]
    for i in range(op.sig.count):
        if op.aliases[i].written and isinstance(<object>bound.slots[i], Tensor):
            try:
                whole = broadcast_shapes(*shapes)
            except RuntimeError as error:
                return str(error)
            if whole != (<Tensor>bound.slots[i]).shape:
                return (f"output with shape {list((<Tensor>bound.slots[i]).shape)} doesn't match the broadcast shape "
                        f"{list(whole)}")
    return f"{op.sig.qualname}: the shapes of its arguments do not fit one another: {listed_shapes(op, bound)}"


cdef str listed_shapes(OpOverload op, Bound* bound):
    cdef int i
    return ", ".join([f"{op.sig.names[i]} {list((<Tensor>bound.slots[i]).shape)}" for i in range(op.sig.count)
                      if isinstance(<object>bound.slots[i], Tensor)])


cold.raise_bad_argument = raise_bad_argument
cold.kernel_failure = kernel_failure
cold.explain_kernel_failure = explain_kernel_failure
cold.check_broadcasts_into = check_broadcasts_into
cold.check_casts_into = check_casts_into
cold.raise_wrong_count = raise_wrong_count
cold.raise_wrong_device = raise_wrong_device
cold.raise_wrong_dtype = raise_wrong_dtype
cold.raise_unusable = raise_unusable
