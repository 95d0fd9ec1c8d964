"""Orders of a tensor's elements in memory: which one a tensor has, and memory for one that is made in it.

A format is known here by its name, which ``torch.channels_last`` and the like in Python are equal to.
"""


cdef class TopName:
    """A name of the top level that stands for itself, as ``torch.channels_last``: equal to that name, and no string."""

    cdef readonly str name

    def __init__(self, str name not None):
        self.name = name

    def __eq__(self, other):
        if isinstance(other, str):
            return self.name == other
        return (type(self) is type(other) and self.name == (<TopName>other).name) if isinstance(other, TopName) else NotImplemented

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name                 # that in the module


cdef int* CHANNELS_LAST = [1, 3, 2, 0]                    # dimensions from the innermost
cdef int* CHANNELS_LAST_3D = [1, 4, 3, 2, 0]


cdef const int* order_of_format(object format, int nd) except? NULL:
    """The dimensions of a format from the innermost, or NULL for those of rows. Raises where the rank is another."""
    if format == "channels_last":
        if nd != 4:
            raise RuntimeError("required rank 4 tensor to use channels_last format")
        return CHANNELS_LAST
    if format == "channels_last_3d":
        if nd != 5:
            raise RuntimeError("required rank 5 tensor to use channels_last_3d format")
        return CHANNELS_LAST_3D
    if format == "preserve_format":
        raise RuntimeError("unsupported memory format option Preserve: there is no tensor whose format it could be")
    return NULL


cdef int set_dense(Tensor t, const int* order) except -1:
    """Strides without gaps, of dimensions in an order from the innermost."""
    cdef int64_t step = 1
    cdef int i
    set_row_major(t)                                      # which judges the sizes
    for i in range(t.nd):
        t.strides[order[i]] = step
        step *= max(t.sizes[order[i]], 1)
    return finish_geometry(t)


cdef Tensor room_in_format(int nd, const int64_t* sizes, dtype dt, device dev, object format):
    """Uninitialised memory in a format; None is that of rows."""
    cdef Tensor t = shape_sizes(nd, sizes, dt, dev)
    cdef const int* order = NULL if format is None else order_of_format(format, nd)
    if order != NULL:
        set_dense(t, order)
    note_halves(dt)
    t.storage = new_storage(bytes_of(t), dev)
    return t


cdef Tensor room_like(Tensor t, dtype dt, device dev, object format):
    """Uninitialised memory of t's shape in a format; None and ``preserve_format`` keep the order of t's dimensions."""
    cdef int order[MAX_DIMS]
    cdef Tensor made
    if format is not None and format != "preserve_format":
        return room_in_format(t.nd, t.sizes, dt, dev, format)
    if t.contig or is_dense(t):
        made = bare_tensor(dt, dev)
        copy_geometry(t, made)
    else:
        made = shape_sizes(t.nd, t.sizes, dt, dev)
        from_the_innermost(t, order)
        set_dense(made, order)
    note_halves(dt)
    made.storage = new_storage(bytes_of(made), dev)
    return made


cdef void from_the_innermost(Tensor t, int* order) noexcept:
    """The dimensions by rising strides."""
    cdef PyObject* one = <PyObject*>t
    order_of_all(t.nd, t.sizes, &one, 1, order)


cdef void order_of_all(int nd, const int64_t* sizes, PyObject** tensors, int count, int* order) noexcept:
    """The dimensions from the innermost that the strides of tensors, broadcast to these sizes, say, the first's first.

    As PyTorch sorts them: a dimension that a tensor is expanded along says nothing, of equal strides the size decides.
    """
    cdef int last, mine, other, said
    for last in range(nd):
        order[last] = nd - 1 - last
    for last in range(1, nd):
        mine = last
        for other in range(last - 1, -1, -1):
            said = compared(order[other], order[mine], nd, sizes, tensors, count)
            if said < 0:
                break
            if said > 0:
                order[other], order[mine] = order[mine], order[other]
                mine = other


cdef int compared(int inner, int outer, int nd, const int64_t* sizes, PyObject** tensors, int count) noexcept:
    """Below 0 where a dimension is inside of another, above 0 where it is outside, 0 where no tensor says."""
    cdef int64_t a, b
    cdef int i
    for i in range(count):
        a, b = step_along(tensors[i], inner, nd, sizes), step_along(tensors[i], outer, nd, sizes)
        if a == 0 or b == 0:
            continue
        if a != b:
            return -1 if a < b else 1
        if sizes[inner] > sizes[outer]:
            return 1
    return 0


cdef inline int64_t step_along(PyObject* t, int d, int nd, const int64_t* sizes) noexcept:
    """A tensor's stride along a dimension of what it is broadcast to."""
    cdef int own = d - nd + (<Tensor>t).nd
    return 0 if own < 0 or (<Tensor>t).sizes[own] == 1 and sizes[d] != 1 else (<Tensor>t).strides[own]


cdef bint is_in_format(Tensor t, object format) except -1:
    """Whether the elements lie in a format without gaps; a dimension of size 1 may have any stride."""
    cdef const int* order
    cdef int64_t step = 1
    cdef int i
    if format == "contiguous_format" or format == "preserve_format":
        return t.contig
    if t.nd != (4 if format == "channels_last" else 5):
        return False
    order = order_of_format(format, t.nd)
    for i in range(t.nd):
        if t.sizes[order[i]] != 1:
            if t.strides[order[i]] != step:
                return False
            step *= t.sizes[order[i]]
    return True


cdef object checked_format(str function, object format):
    """A memory format. Raises TypeError for what is none."""
    if isinstance(format, (str, TopName)) and format in MEMORY_FORMATS:
        return format
    raise TypeError(f"{function}(): argument 'memory_format' must be torch.memory_format, not {_type_name(format)}")


cdef bint steps_like(Tensor t, const int* order) noexcept:
    """Whether a tensor's strides rise in that order, which gaps do not change."""
    cdef int64_t least = 0
    cdef int i, d
    if t.strides[1] == 0:
        return False
    for i in range(t.nd):
        d = order[i]
        if t.sizes[d] == 0 or t.strides[d] < least or d == 0 and least == t.strides[1]:
            return False
        least = t.strides[d] * max(t.sizes[d], 1)
    return True


def suggested_format(Tensor t not None):
    """The name of the format that what is computed of a tensor has: with the channels last where its strides say so."""
    if t.nd == 4 and steps_like(t, CHANNELS_LAST):
        return "channels_last"
    if t.nd == 5 and steps_like(t, CHANNELS_LAST_3D):
        return "channels_last_3d"
    return "contiguous_format"


def alloc_in_format(size, dtype=None, device=None, memory_format=None):
    """As `alloc`, in a memory format."""
    cdef int64_t sizes[MAX_DIMS]
    cdef int nd = read_ints(size, sizes, "empty(): argument 'size'")
    return room_in_format(nd, sizes, default_dtype_ if dtype is None else given_dtype("empty", dtype), as_device(device), memory_format)


def alloc_in_format_of(Tensor t not None, dtype=None, device=None, memory_format=None):
    """An uninitialised tensor of t's shape, dtype and device but for those given; None: in the order of t's dimensions."""
    return room_like(t, t.dt if dtype is None else given_dtype("empty_like", dtype), t.dev if device is None else as_device(device),
                     memory_format)


# ---------------------------------------------------------------- layouts that results keep
cdef enum:
    LAYOUT_OF_ALL = 1          # the order of dimensions that the arguments' strides say
    LAYOUT_OF_FIRST = 2        # the channels last where they are so in the first argument
    LAYOUT_OF_TWO = 3          # ... or in the second
    LAYOUT_OF_DENSE = 4        # ... where a size of 1 may have any stride in the first
    LAYOUT_BESIDE_NUMBER = 5   # as LAYOUT_OF_ALL, where a number counts as a tensor of another shape
    LAYOUT_OF_SECOND = 6       # as LAYOUT_OF_FIRST, by the second argument: a gradient comes before what it is of
    LAYOUT_OF_NEXT_TWO = 7     # ... or by the third

cdef dict LAYOUTS_KEPT = {
    "flip": LAYOUT_OF_ALL,
    "aten::pow.Scalar": 0, "masked_fill": 0,               # pointwise, and in rows nevertheless
    "convolution": LAYOUT_OF_TWO,
    "convolution_backward": LAYOUT_OF_NEXT_TWO,
    "native_batch_norm": LAYOUT_OF_DENSE,
    **dict.fromkeys((
        "avg_pool2d", "max_pool2d_with_indices", "max_pool3d_with_indices", "_adaptive_avg_pool2d",
        "adaptive_max_pool2d", "native_group_norm", "upsample_nearest2d", "_upsample_nearest_exact2d",
        "upsample_nearest3d", "_upsample_nearest_exact3d", "upsample_bilinear2d", "upsample_bicubic2d", "upsample_trilinear3d",
        "_upsample_bilinear2d_aa",
        "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa", "constant_pad_nd", "reflection_pad2d", "reflection_pad3d",
        "replication_pad2d", "replication_pad3d", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle",
        "max_unpool2d", "upsample_nearest2d_backward", "_upsample_nearest_exact2d_backward", "upsample_bilinear2d_backward",
        "upsample_trilinear3d_backward",
    ), LAYOUT_OF_FIRST),
    **dict.fromkeys((
        "max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward", "avg_pool2d_backward", "_adaptive_avg_pool2d_backward",
        "adaptive_max_pool2d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward", "replication_pad2d_backward",
        "replication_pad3d_backward", "native_group_norm_backward",
    ), LAYOUT_OF_SECOND),
}


cdef int read_layout(OpOverload op) except -1:
    """Whose layout the result of an operator has; 0: it is in rows, whatever the arguments are, or up to the kernel."""
    if op.mutates or op.makes_views or op.sig.has_lists or not op.is_builtin:
        return 0
    kept = LAYOUTS_KEPT.get(op.sig.qualname, LAYOUTS_KEPT.get(op._schema.name))
    if kept is not None or "pointwise" not in op.tags:
        return kept or 0
    numbers = [argument for argument in op._schema.arguments if argument.name == "other" and str(argument.type) == "Scalar"]
    return LAYOUT_BESIDE_NUMBER if numbers else LAYOUT_OF_ALL


cdef inline bint is_laid_out(OpOverload op, PyObject** slots) noexcept:
    """Whether some argument is not in rows, or is so only as sizes of 1 may have any stride."""
    cdef PyObject* t
    cdef int i
    for i in range(op.sig.tensor_args):
        t = slots[op.sig.tensor_at[i]]
        if t != <PyObject*>None and (not (<Tensor>t).contig or (<Tensor>t).nd > 1 and (<Tensor>t).strides[(<Tensor>t).nd - 1] != 1):
            return True
    return False


cdef bint are_rows_of_one_shape(PyObject** given, int count) noexcept:
    """Whether tensors are all in rows and of one shape: strides of sizes of 1 say nothing then."""
    cdef int i
    for i in range(count):
        if not (<Tensor>given[i]).contig or not same_sizes(<Tensor>given[i], <Tensor>given[0]):
            return False
    return True


cdef inline bint has_layout(int kept, Tensor t, int nd, const int* order) except -1:
    """Whether a result has the channels last as an argument has."""
    if t.nd != nd:
        return False
    if steps_like(t, order):
        return True
    return kept == LAYOUT_OF_DENSE and not t.contig and is_in_format(t, "channels_last" if t.nd == 4 else "channels_last_3d")


cdef bint is_wanted(int kept, PyObject** given, int count, int nd, const int* order) except -1:
    """Whether one of the arguments that an operator looks at has the channels last."""
    cdef int first = 1 if kept == LAYOUT_OF_SECOND or kept == LAYOUT_OF_NEXT_TWO else 0
    cdef int last = first + (2 if kept == LAYOUT_OF_TWO or kept == LAYOUT_OF_NEXT_TWO else 1)
    cdef int i
    for i in range(first, min(last, count)):
        if has_layout(kept, <Tensor>given[i], nd, order):
            return True
    return False


cdef int tensors_given(OpOverload op, PyObject** slots, PyObject** given) noexcept:
    """The tensors among an operator's arguments; returns how many."""
    cdef int i, count = 0
    for i in range(op.sig.tensor_args):
        if slots[op.sig.tensor_at[i]] != <PyObject*>None:
            given[count] = slots[op.sig.tensor_at[i]]
            count += 1
    return count


cdef inline bint follows_all(OpOverload op) noexcept:
    """Whether results have the order of dimensions that all arguments say."""
    return op.keeps_layout == LAYOUT_OF_ALL or op.keeps_layout == LAYOUT_BESIDE_NUMBER


cdef int lay_room_out(OpOverload op, PyObject** slots, Tensor made) except -1:
    """Gives memory that a kernel will fill the order of dimensions that the result is to have: nothing has to be moved then."""
    cdef PyObject* given[MAX_ARGS]
    cdef int order[MAX_DIMS]
    cdef int count
    if made.nd < 2 or made.dev.type_code != KEY_CPU and made.dev.type_code != KEY_META:
        return 0
    count = tensors_given(op, slots, given)
    if op.keeps_layout == LAYOUT_OF_ALL and are_rows_of_one_shape(given, count):
        return 0
    order_of_all(made.nd, made.sizes, given, count, order)
    return set_dense(made, order)


cdef int keep_layout(OpOverload op, PyObject** slots, object result) except -1:
    """Lays what a kernel made in rows out as the arguments are, in place."""
    cdef PyObject* given[MAX_ARGS]
    cdef int order[MAX_DIMS]
    cdef const int* wanted = NULL
    cdef int nd, count = tensors_given(op, slots, given)
    if op.keeps_layout == LAYOUT_OF_ALL and are_rows_of_one_shape(given, count):
        return 0
    if not follows_all(op):
        nd = (<Tensor>given[0]).nd
        if nd != 4 and nd != 5:
            return 0
        wanted = CHANNELS_LAST if nd == 4 else CHANNELS_LAST_3D
        if not is_wanted(op.keeps_layout, given, count, nd, wanted):
            return 0
    for t in result if isinstance(result, (tuple, list)) else (result,):
        if not isinstance(t, Tensor) or not (<Tensor>t).contig or is_given((<Tensor>t).storage, given, count):
            continue
        if (<Tensor>t).dev.type_code != KEY_CPU and (<Tensor>t).dev.type_code != KEY_META:
            return 0                                      # kernels elsewhere make rows, which nothing moves behind their back
        if wanted != NULL:
            if (<Tensor>t).nd == nd:
                lay_out(<Tensor>t, wanted)
        elif (<Tensor>t).nd > 1:
            order_of_all((<Tensor>t).nd, (<Tensor>t).sizes, given, count, order)
            lay_out(<Tensor>t, order)
    return 0


cdef bint is_given(UntypedStorage memory, PyObject** given, int count) noexcept:
    """Whether memory is that of an argument."""
    cdef int i
    for i in range(count):
        if (<Tensor>given[i]).storage is memory:
            return True
    return False


cdef int lay_out(Tensor t, const int* order) except -1:
    """Gives a tensor that nobody else has seen dense strides in an order from the innermost; the values stay."""
    cdef Tensor made = shape_sizes(t.nd, t.sizes, t.dt, t.dev)
    set_dense(made, order)
    if same_steps(made, t):
        return 0
    if made.contig:                                       # the elements lie as they did
        memcpy(t.strides, made.strides, t.nd * sizeof(int64_t))
        return 0
    made.storage = new_storage(bytes_of(made), t.dev)
    if t.dev.type_code != KEY_META:
        call2(aten("copy_"), made, t)
        made.storage.version = 0
    t.storage, t.offset = made.storage, 0
    copy_geometry(made, t)
    return 0
