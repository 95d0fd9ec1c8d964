"""Narrow dtypes, which are kept and converted but hardly computed with: floats of 8 bits, complex numbers of two halves.

Their tensors have a key above those of backends, at which each call is settled (`_narrow_dtypes.py`): it goes on to a kernel
that moves or converts elements, is made with wider numbers or with bits, or is refused. So no kernel meets a dtype that it
does not know. Operators that make views or call others, and those of programs, take tensors of any dtype.
"""


cdef inline uint64_t with_narrow(uint64_t keys, dtype d) noexcept:
    """The keys that a tensor has as one of a dtype."""
    return keys | NARROW if d.code >= MT_NARROW else keys & ~NARROW


cdef inline int note_halves(dtype d) except -1:
    """Warns where new memory is for complex numbers of two halves."""
    if d.code == MT_C32 and hook.warn_experimental is not None:
        hook.warn_experimental()
    return 0
