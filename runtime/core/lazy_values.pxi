"""Tensors that are not what their memory is: its conjugates, its negatives, or zeros.

Each is a bit of a tensor's keys, which views of it have too. An operator that reads or writes values is called, below
autograd, with what the tensors stand for (`_lazy_values.py`); one that makes views leaves them as they are.
Source of the scheme: PyTorch's conjugate and negative views, and its ZeroTensor.
"""


def kept_otherwise(Tensor t not None, str key not None):
    """A view of the same memory in which the bit of a key (``"Conjugate"``, ``"Negative"``, ``"ZeroTensor"``) is the other way."""
    cdef Tensor view = shallow_copy(t)
    view.keys ^= <uint64_t>1 << key_from_name(key)
    return view


def memory_of_lazy(Tensor t not None):
    """A view of the same memory as what it is, whatever the tensor stands for."""
    cdef Tensor view = shallow_copy(t)
    view.keys &= ~LAZY
    return view


def is_kept(Tensor t not None, str key not None):
    """Whether a tensor has the bit of a key, by itself or in what it wraps."""
    return t.keys >> key_from_name(key) & 1 != 0


def is_lazy(Tensor t not None):
    """Whether a tensor is not what its memory is. One that wraps others, which may be so, has no memory."""
    return t.keys & LAZY != 0 and not t.keys & WRAPPERS


cdef str kept_as(Tensor t):
    return " and ".join([what for bit, what in ((CONJUGATE, "conjugates"), (NEGATIVE, "negatives"), (ZERO_TENSOR, "zeros"))
                         if t.keys & bit]) + " of its memory"


cdef str no_memory_to_show(Tensor t):
    if t.keys & ZERO_TENSOR:
        return "Cannot access data pointer of Tensor that doesn't have storage: it is a ZeroTensor. Use tensor.clone() instead."
    if t.keys & CONJUGATE:
        return "Can't call numpy() on Tensor that has conjugate bit set. Use tensor.resolve_conj().numpy() instead."
    return "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() instead."
