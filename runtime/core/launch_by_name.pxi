"""Launches of kernels by name, whose arguments say their C types themselves: what `npu.KernelLauncher` is made of."""

cdef class KernelsByName:
    """A library's kernels, a list for each name: one for each list of types that it was launched with."""
    cdef dict kernels

    def __cinit__(self):
        self.kernels = {}

    def launch(self, name, *, block_dim, args=(), stream=None):
        """Launches an AscendC kernel whose arguments say their C types themselves, on the current stream or ``stream``.

        Each argument is a tensor, a pointer (``tensor_ptr``), None, bytes (a struct by value), or a typed scalar such
        as ``npu.f32(2.0)``. A bare number is refused: nothing would say what it is in C.
        """
        cdef tuple given = tuple(args)
        cdef Kernel kernel = kernel_for(self, name, given)
        if stream is None:
            launch_on_npu(kernel, read_block_dim(kernel, block_dim), <PyObject**>&(<PyTupleObject*>given).ob_item[0],
                          PyTuple_GET_SIZE(given), -1)
        else:
            self.launch_on(kernel, stream, block_dim, given)


cdef Kernel kernel_for(KernelsByName self, object name, tuple given):
    """The kernel of that name for these arguments; bound where it is launched with such ones for the first time."""
    cdef list known = <list>self.kernels.get(name)
    cdef Kernel kernel
    if known is not None:
        for kernel in known:
            if accepts_types(kernel, given):
                return kernel
    kernel = <Kernel?>self.bound_for(name, given)
    self.kernels.setdefault(name, []).append(kernel)
    return kernel
