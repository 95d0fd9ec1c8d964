"""Narrow dtypes, which are kept and converted but hardly computed with: floats of 8 bits, complex numbers of two halves.

Their tensors have a key above those of backends, at which each call is settled (`_narrow_dtypes.py`): it goes on to a kernel
that moves or converts elements, is made with wider numbers or with bits, or is refused. So no kernel meets a dtype that it
does not know. Operators that make views or call others, and those of programs, take tensors of any dtype.
"""


cdef inline uint64_t with_narrow(uint64_t keys, dtype d) noexcept:
    """The keys that a tensor has as one of a dtype."""
    return keys | NARROW if d.code >= MT_NARROW else keys & ~NARROW


def is_narrow(Tensor t not None):
    """Whether few operators compute with a tensor's dtype."""
    return t.dt.code >= MT_NARROW
