"""Steps over shapes, and the memory that programs allocate."""

cdef int shape_step(Program p, Frame* f, Step* s) except -1:
    cdef ShapeRef* a
    cdef Word* w = f.words
    cdef int64_t count = 1
    cdef int i
    if s.code < STEP_SAME_SIZES:                           # of which some read no shape: s.a is none then
        new_shape(p, f, s)
        return 0
    if s.code == STEP_DIM_BITS:
        w[s.made].i = <int64_t>bits_of_dims(f.objects[s.a], <int>w[s.b].i)
        return 0
    a = &f.shapes[s.a]
    if s.code == STEP_SAME_SIZES:
        w[s.made].i = same_shapes(a, &f.shapes[s.b])
    elif s.code == STEP_SIZE_AT:
        i = <int>w[s.b].i + (a.nd if w[s.b].i < 0 else 0)
        if not 0 <= i < a.nd:
            raise IndexError(f"{p.op.sig.qualname}: dimension {w[s.b].i} of a shape of {a.nd}")
        w[s.made].i = a.sizes[i]
    elif s.code == STEP_LENGTH:
        w[s.made].i = a.nd
    else:
        for i in range(a.nd):
            count = int_step(p, STEP_MUL, count, a.sizes[i])
        w[s.made].i = count
    return 0


cdef bint same_shapes(ShapeRef* a, ShapeRef* b) noexcept:
    cdef int i
    if a.nd != b.nd:
        return False
    for i in range(a.nd):
        if a.sizes[i] != b.sizes[i]:
            return False
    return True


cdef int new_shape(Program p, Frame* f, Step* s) except -1:
    """A shape whose sizes lie in the frame."""
    cdef int64_t* to = f.sizes + f.sizes_used
    cdef int i, n
    cdef int64_t first, last
    cdef ShapeRef* a
    cdef ShapeRef* b
    if f.sizes_used + 2 * MAX_DIMS > PLAN_SIZES:
        raise RuntimeError(f"{p.op.sig.qualname}: the shapes of its definition have more than {PLAN_SIZES} sizes together")
    if s.code == STEP_SHAPE_OF:                            # a copy: a function that is called may resize the tensor
        n = (<Tensor>f.objects[s.a]).nd
        memcpy(to, (<Tensor>f.objects[s.a]).sizes, n * sizeof(int64_t))
    elif s.code == STEP_INTS:
        n = read_ints(<object>f.objects[s.a], to, p.op.sig.qualname)
    elif s.code == STEP_SHAPE:
        n = s.b
        for i in range(n):
            to[i] = f.words[p.pool[s.a + i]].i
    elif s.code == STEP_BROADCAST:
        a, b = &f.shapes[s.a], &f.shapes[s.b]
        n = broadcast_into(a.nd, a.sizes, b.nd, b.sizes, to)
    elif s.code == STEP_REDUCED:
        n = reduced_into(f, s, to)
    elif s.code == STEP_SLICE:                             # -1 in place of a word: from the start, to the end
        a = &f.shapes[s.a]
        first = 0 if s.b < 0 else f.words[s.b].i
        last = a.nd if s.c < 0 else f.words[s.c].i
        first = max(0, first + a.nd) if first < 0 else min(first, a.nd)
        last = max(0, last + a.nd) if last < 0 else min(last, a.nd)
        n = max(0, last - first)
        memcpy(to, a.sizes + first, n * sizeof(int64_t))
    else:
        a, b = &f.shapes[s.a], &f.shapes[s.b]
        n = a.nd + b.nd
        if n > MAX_DIMS:
            raise RuntimeError(f"{p.op.sig.qualname}: a shape of its definition has {n} dimensions, at most {MAX_DIMS} are supported")
        memcpy(to, a.sizes, a.nd * sizeof(int64_t))
        memcpy(to + a.nd, b.sizes, b.nd * sizeof(int64_t))
    f.shapes[s.made].nd, f.shapes[s.made].sizes = n, to
    f.sizes_used += n
    return 0


cdef int broadcast_into(int nd, const int64_t* sizes, int other_nd, const int64_t* others, int64_t* to) except -1:
    """The shape that two broadcast to; returns its length."""
    cdef int i, n = max(nd, other_nd), shift = n - nd, other_shift = n - other_nd
    cdef int64_t x, y
    for i in range(n):
        x = sizes[i - shift] if i >= shift else 1
        y = others[i - other_shift] if i >= other_shift else 1
        if x != y and x != 1 and y != 1:
            broadcast_shapes(make_size(nd, sizes), make_size(other_nd, others))       # raises, in PyTorch's words
        to[i] = y if x == 1 else x
    return n


cdef uint64_t bits_of_dims(PyObject* listed, int nd) except? 0:
    """Dimensions in a list, or one, as bits; of None and of an empty list all of them."""
    cdef int64_t dims[MAX_DIMS]
    cdef uint64_t found = 0, bit
    cdef int i, given = 0
    if listed != <PyObject*>None:
        given = read_ints(<object>listed, dims, "dim")
    for i in range(given):
        dims[i] = counted_dim(dims[i], nd)
    for i in range(given):
        bit = <uint64_t>1 << dims[i]
        if found & bit:
            raise RuntimeError(f"dim {dims[i]} appears multiple times in the list of dims")
        found |= bit
    return found if given else <uint64_t>-1


cdef int reduced_into(Frame* f, Step* s, int64_t* to) except -1:
    """A shape without the dimensions in a list, or with 1 in their place; None or an empty list: all. Returns its length."""
    cdef ShapeRef* a = &f.shapes[s.a]
    cdef uint64_t gone = bits_of_dims(f.objects[s.b], a.nd)
    cdef int i, n = 0
    for i in range(a.nd):
        if not gone >> i & 1:
            to[n] = a.sizes[i]
        elif f.words[s.c].i:
            to[n] = 1
        else:
            continue
        n += 1
    return n


cdef Tensor broadcast_of(Tensor a, Tensor b):
    """An uninitialised tensor of the shape that two broadcast to and of their result type, on the first one's device."""
    cdef int64_t sizes[MAX_DIMS]
    cdef dtype d = a.dt if a.dt is b.dt and not a.wrapped else <dtype>common_dtype(a, b)
    if same_sizes(a, b):
        return like_of(a, d)
    return alloc_sizes(broadcast_into(a.nd, a.sizes, b.nd, b.sizes, sizes), sizes, d, a.dev)
