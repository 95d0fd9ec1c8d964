"""What the call path knows of forward mode: whether a level is open, and where a tensor's tangents are (cold/forward.pyx)."""

cdef int forward_levels = 0


cdef class Tangents:
    """A tensor's tangents by level, shared with the alias that a node saves; None stands for a zero that is known."""

    def __cinit__(self):
        self.by_level = {}

    def clear(self, int64_t level):
        """Forgets a level that was closed."""
        self.by_level.pop(level, None)


cdef Tangents tangents_of(Tensor t):
    """The tensor's own tangents, made on first use."""
    if t.tangents is None:
        t.tangents = Tangents.__new__(Tangents)
    return t.tangents


def count_forward_levels_(int change):
    """Counts levels that open (1) or close (-1)."""
    global forward_levels
    if change != 1 and change != -1:
        raise ValueError(f"count_forward_levels_(): a level opens (1) or closes (-1), got {change}")
    forward_levels += change


cdef object call_with_tangents(OpOverload op, Bound* bound, uint64_t keys, int64_t level):
    args, kwargs = bound_to_python(op.sig, bound)
    return hook.call_with_tangents(op, keys, level, args, kwargs)
