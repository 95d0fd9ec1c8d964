"""Tensor: a strided view of a storage, with its autograd state."""

cdef object NOT_GIVEN = object()       # in place of an argument that takes None


cdef inline int check_flag(object value, str what) except -1:
    """Raises TypeError for a flag that is neither True nor False."""
    if not PyBool_Check(value):
        raise TypeError(f"{what} must be bool, not {_type_name(value)}")
    return 0


cdef int64_t MANY_ROWS = 1 << 20


@cython.binding(True)          # methods whose call watched_attributes.pxi can take over
@cython.freelist(256)
cdef class Tensor:
    """A multi-dimensional array of one dtype on one device, with PyTorch's semantics.

    Made by creation functions and operators (``torch.tensor``, ``torch.empty``, ...). Calling the class is PyTorch's legacy
    constructor: ``Tensor(2, 3)`` is uninitialised, ``Tensor([2, 3])`` holds these values, both of the default dtype.
    """

    def __init__(self, *args, **kwargs):
        """What is called with was read by ``__new__``."""

    @staticmethod
    def _make_subclass(cls, Tensor data not None, require_grad=False, *, dispatch_sizes_strides_policy=None,
                       dispatch_device=False, dispatch_layout=False):
        """A tensor of the class `cls` over data's storage, outside the graph; the rest as in `_make_wrapper_subclass`."""
        check_flag(require_grad, "_make_subclass(): argument 'require_grad' (position 3)")
        if not (isinstance(cls, type) and issubclass(cls, Tensor)):
            raise no_subclass(cls)
        if data.keys & PYTHON & ~mt_state.excluded and not isinstance(data, cls) and not issubclass(cls, type(data)):
            raise RuntimeError(f"Creating a new Tensor subclass {cls.__name__} but the raw Tensor object is already associated to a "
                               f"python object of type {_type_name(data)}: what its __torch_dispatch__ makes of detach is one")
        if require_grad and data.dt.category < CATEGORY_FLOAT:
            raise RuntimeError(f"Only Tensors of floating point and complex dtype can require gradients, got {data.dt}")
        cdef Tensor t = new_of_class(cls)
        t.dt, t.dev, t.storage, t.offset = data.dt, data.dev, data.storage, data.offset
        t.keys = data.keys & ~OVERRIDES | override_keys(cls)
        t.keys |= asked_keys(dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
        t.born = data.born
        copy_geometry(data, t)
        set_requires_grad(t, require_grad)
        return t

    @staticmethod
    def _make_wrapper_subclass(cls, size, strides=None, storage_offset=None, memory_format=None, dtype=None, layout=None,
                               device=None, pin_memory=False, requires_grad=False, dispatch_sizes_strides_policy=None,
                               dispatch_device=False, dispatch_layout=False):
        """A tensor of the class `cls` with a shape, dtype and device but no memory: what it wraps has that.

        The class itself answers by ``__torch_dispatch__`` for its strides (policy ``"strides"``), for its sizes, too
        (``"sizes"``), for its device and for its layout, where it is asked to.
        """
        cdef Tensor t = wrapper_tensor(cls, size, strides, dtype, device, 0, storage_offset)
        t.keys |= asked_keys(dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
        set_requires_grad(t, requires_grad)
        return t

    @staticmethod
    def __torch_dispatch__(func, types, args=(), kwargs=None):
        """What calls below autograd do on tensors of a class that does not override this: the operator itself."""
        return hook.default_dispatch(func, tuple(args), {} if kwargs is None else kwargs)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """What calls on tensors of a subclass do unless it overrides this: results are of the subclass too."""
        return hook.default_override(cls, func, types, args, kwargs)

    # ---- geometry
    @property
    def shape(self):
        if tracing():
            return hook.shape_read(self)
        return make_size(self.nd, self.sizes)

    def size(self, dim=None):
        """The shape, or the size of one dimension."""
        if dim is None:
            return self.shape
        if tracing():
            return hook.size_read(self, wrap_dim(self, dim))
        return self.sizes[wrap_dim(self, dim)]

    def stride(self, dim=None):
        """Distances in elements between neighbours along each dimension, or along one."""
        if dim is not None:
            return self.strides[wrap_dim(self, dim)]
        return tuple([self.strides[i] for i in range(self.nd)])

    def storage_offset(self):
        """Index of the first element in the storage."""
        return self.offset

    def dim(self):
        return self.nd

    @property
    def ndim(self):
        return self.nd

    def numel(self):
        if tracing():
            return hook.count_read(self)
        return self.nelem

    def nelement(self):
        return self.numel()

    def is_contiguous(self, *, memory_format=NOT_GIVEN):
        """Whether the elements lie in a memory format without gaps: in row-major order unless one is given."""
        if memory_format is NOT_GIVEN:
            return <bint>self.contig
        return <bint>is_in_format(self, checked_format("is_contiguous", memory_format))

    def contiguous(self, *, memory_format=NOT_GIVEN):
        """The tensor itself if it is contiguous, else a contiguous copy (recorded for backward)."""
        if memory_format is not NOT_GIVEN:
            return aten("contiguous")(self, memory_format=memory_format)
        return self if self.contig else aten("contiguous")(self)

    def element_size(self):
        """Bytes of one element."""
        return self.dt.itemsize

    @property
    def itemsize(self):
        return self.dt.itemsize

    @property
    def nbytes(self):
        return <object>self.nelem * self.dt.itemsize      # of an expanded tensor it may need more than 64 bits

    @property
    def dtype(self):
        return self.dt

    @property
    def device(self):
        return self.dev

    def data_ptr(self):
        """Address of the first element; 0 on meta."""
        own_memory(self.storage)                     # what the caller does with it is not known
        return <uintptr_t>tensor_data(self)

    def untyped_storage(self):
        """The storage that the tensor shows; that of ``t.data`` is t's."""
        return owner_storage(self.storage)

    def is_floating_point(self):
        return self.dt.category == CATEGORY_FLOAT

    def is_complex(self):
        return self.dt.category == CATEGORY_COMPLEX

    @property
    def is_cpu(self):
        return self.dev.type_code == KEY_CPU

    @property
    def is_npu(self):
        return self.dev.type_code == KEY_NPU

    @property
    def is_cuda(self):
        return self.dev.type_code == KEY_CUDA

    @property
    def is_meta(self):
        return self.dev.type_code == KEY_META

    def get_device(self):
        """Index of the tensor's device; -1 on the CPU."""
        return self.dev.index_code

    # ---- autograd state
    @property
    def requires_grad(self):
        return needs_grad(self)

    @requires_grad.setter
    def requires_grad(self, value):
        if not PyBool_Check(value):
            raise RuntimeError(f"requires_grad must be a bool, not {_type_name(value)}")
        set_requires_grad(self, value)

    def requires_grad_(self, requires_grad=True):
        """Sets whether operations on this leaf are recorded; returns the tensor."""
        check_flag(requires_grad, "requires_grad_(): argument 'requires_grad' (position 1)")
        if mt_state.transform:
            raise cold.unsupported_in_transform("requires_grad_", "(or perhaps using torch.autograd.functional.* APIs) ")
        set_requires_grad(self, requires_grad)
        return self

    @property
    def layout(self):
        """How the elements are kept: ``torch.strided``, as of all tensors here, or what a wrapper's class says."""
        return hook.strided

    @property
    def is_leaf(self):
        return current_grad_fn(self) is None

    @property
    def grad_fn(self):
        return current_grad_fn(self)

    @property
    def output_nr(self):
        return self.output_nr_

    @property
    def _version(self):
        if not self.keys & INPLACE_OR_VIEW:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self.storage.version

    @property
    def _base(self):
        return self.base_

    def _is_view(self):
        return self.base_ is not None

    @property
    def grad(self):
        if self.grad_ is None and not self.wants_grad and not self.retains_grad_ and current_grad_fn(self) is not None:
            cold.warn_of_missing_gradient()
        return self.grad_

    @grad.setter
    def grad(self, value):
        cdef Tensor g
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {_type_name(value)}")
            g = <Tensor>value
            if g is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if not same_sizes(g, self):
                raise RuntimeError(f"assigned grad has data of a different size: expected {self.shape}, got {g.shape}")
            check_grad_dtype(self, g)
            if g.dev is not self.dev:
                raise RuntimeError(f"assigned grad has data located on a different device: expected {self.dev}, got {g.dev}")
        self.grad_ = value

    @grad.deleter
    def grad(self):
        self.grad_ = None

    @property
    def grad_dtype(self):
        """The dtype that a leaf's `grad` has: the tensor's unless it is set; None: that of the first gradient that comes.

        Gradients are converted to it. Raises RuntimeError where the tensor is no leaf, or has a `grad` of another dtype.
        """
        if current_grad_fn(self) is not None:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return grad_dtype_of(self)

    @grad_dtype.setter
    def grad_dtype(self, value):
        set_grad_dtype(self, value)

    @grad_dtype.deleter
    def grad_dtype(self):
        raise RuntimeError("cannot delete grad_dtype: set it to None for gradients of any dtype")

    @property
    def data(self):
        """The same memory outside autograd, with a version count of its own."""
        if self.keys & BATCHED:
            raise RuntimeError("accessing `data` under vmap transform is not allowed")
        cdef Tensor t
        if self.keys & OVERRIDES or tracing():
            t = <Tensor?>call1(aten("detach"), self)
            if t is not None and only_claims(t) and t.storage is self.storage:
                t.storage = alias_storage(self.storage)
            return t
        t = shallow_copy(self)
        t.storage = alias_storage(self.storage)
        return t

    @data.setter
    def data(self, value):
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {_type_name(value)}")
        set_data(self, <Tensor>value)

    @data.deleter
    def data(self):
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def __reversed__(self):
        """The rows from the last to the first, as a copy."""
        return self if self.nd == 0 else aten("flip")(self, [0])

    def detach(self):
        """The same memory, outside the graph; in-place changes to either are seen by both and counted."""
        if (self.keys | mt_state.included) & ~mt_state.excluded & (OVERRIDES | TRACING):
            return call1(aten("detach"), self)
        return shallow_copy(self)

    def tolist(self):
        """The elements as nested lists of Python numbers; a number for a tensor without dimensions."""
        if not is_plain(self) or self.nelem > MANY_ROWS:
            return hook.tolist(self)
        return elements_along(self, 0, tensor_data(self)) if self.nd else element(self.dt.code, tensor_data(self))

    def numpy(self, *, force=False):
        """A NumPy array over the same memory, whose size then stays; with ``force`` a copy where that is not possible."""
        array = array_of(self) if force is False else None
        return hook.numpy(self, force) if array is None else array

    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
        """``torch.tensor(data)`` with self's dtype and device unless others are given."""
        made = None
        if dtype is None and device is None and requires_grad is False and is_plain(self) and mt_state.included == MT_ALWAYS:
            made = tensor_of_numbers(data, self.dt)
        return hook.new_tensor(self, data, dtype, device, requires_grad) if made is None else made

    def is_inference(self):
        """Whether the tensor was made in inference mode, so that autograd never sees it."""
        return not self.keys & INPLACE_OR_VIEW

    def retain_grad(self):
        """Makes backward keep the gradient of this non-leaf in ``grad``."""
        if not needs_grad(self):
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if mt_state.transform:
            raise cold.unsupported_in_transform("retain_grad", "")
        cdef Node made_by = current_grad_fn(self)
        if made_by is not None and not self.retains_grad_:
            self.retains_grad_ = True
            made_by.retain(self)

    @property
    def retains_grad(self):
        return <bint>self.retains_grad_

    def register_hook(self, hook):
        """Calls ``hook(grad)`` when the gradient is computed; what it returns, if not None, replaces it.

        Returns a handle with ``remove()``. Raises RuntimeError where the tensor does not require grad.
        """
        if not needs_grad(self):
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if not callable(hook):
            raise TypeError(f"a hook must be callable, not {_type_name(hook)}")
        cdef Node made_by = current_grad_fn(self)
        if made_by is not None:
            return made_by.add_tensor_hook(self.output_nr_, hook)
        if self.hooks is None:
            self.hooks = {}
        return RemovableHandle(self.hooks, hook)

    @property
    def _grad_fn(self):
        return self.grad_fn

    @_grad_fn.deleter
    def _grad_fn(self):
        raise RuntimeError("cannot delete _grad_fn of a tensor: it is the graph's")

    @property
    def _backward_hooks(self):
        return self.hooks

    @_backward_hooks.setter
    def _backward_hooks(self, value):
        self.hooks = None if value is None else dict(value)

    @_backward_hooks.deleter
    def _backward_hooks(self):
        raise RuntimeError("cannot delete _backward_hooks of a tensor: remove them by their handles")

    def register_post_accumulate_grad_hook(self, hook):
        """Calls ``hook(tensor)`` whenever backward has added to this leaf's ``grad``; returns a handle with ``remove()``."""
        if not needs_grad(self):
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if current_grad_fn(self) is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        if not callable(hook):
            raise TypeError(f"a hook must be callable, not {_type_name(hook)}")
        if self.post_hooks is None:
            self.post_hooks = {}
        return RemovableHandle(self.post_hooks, hook)

    def __len__(self):
        if is_overridden(self):
            return hook.overridden_attribute(Tensor.__len__, self)
        if self.nd == 0:
            raise TypeError("len() of a 0-d tensor")
        if tracing():
            hook.length_read(self)
        return self.sizes[0]

    def __hash__(self):
        return <Py_ssize_t>(<uintptr_t><PyObject*>self >> 4)

    # ---- Python's operators: each calls a built-in operator (operator_calls.pxi)
    def __add__(self, other): return binary(OP_ADD, self, other)
    def __sub__(self, other): return binary(OP_SUB, self, other)
    def __mul__(self, other): return binary(OP_MUL, self, other)
    def __truediv__(self, other): return binary(OP_DIV, self, other)
    def __floordiv__(self, other): return binary(OP_FLOOR_DIVIDE, self, other)
    def __mod__(self, other): return binary(OP_REMAINDER, self, other)
    def __and__(self, other): return binary(OP_AND, self, other)
    def __or__(self, other): return binary(OP_OR, self, other)
    def __xor__(self, other): return binary(OP_XOR, self, other)
    def __matmul__(self, other): return binary(OP_MATMUL, self, other) if is_tensor_like(other) else NotImplemented
    def __lshift__(self, other): return binary(OP_LSHIFT, self, other)
    def __rshift__(self, other): return binary(OP_RSHIFT, self, other)
    def __radd__(self, other): return binary(OP_ADD, self, other)
    def __rmul__(self, other): return binary(OP_MUL, self, other)
    def __rsub__(self, other): return binary(OP_RSUB, self, other)
    def __rand__(self, other): return commuted(OP_AND, self, other)
    def __ror__(self, other): return commuted(OP_OR, self, other)
    def __rxor__(self, other): return commuted(OP_XOR, self, other)
    def __rlshift__(self, other): return reflected(OP_LSHIFT, "__rlshift__", self, other)
    def __rrshift__(self, other): return reflected(OP_RSHIFT, "__rrshift__", self, other)
    def __rtruediv__(self, other):
        if attributes_watched and is_overridden(self):
            return overridden_pair("__rdiv__", self, other)
        if operand(other) is None and not hasattr(other, "__array_interface__"):      # an array of NumPy's multiplies
            return NotImplemented
        return call1(aten("reciprocal"), self) * other
    def __rmod__(self, other): return reflected(OP_REMAINDER, "__rmod__", self, other)
    def __rmatmul__(self, other):
        return reflected(OP_MATMUL, "__rmatmul__", self, other) if is_tensor_like(other) or is_overridden(self) else NotImplemented
    def __pow__(self, other, modulo):
        if modulo is not None:
            raise TypeError("pow() of tensors takes no modulo")
        return binary(OP_POW, self, other)
    def __rpow__(self, other, modulo): return reflected(OP_POW, "__rpow__", self, other) if modulo is None else NotImplemented
    def __iadd__(self, other):
        changed = binary(OP_IADD, self, other)
        # What Python asks next of a subclass is this method again, as that of a sequence, whose answer it takes as it is.
        return self + other if changed is NotImplemented else changed
    def __isub__(self, other): return binary(OP_ISUB, self, other)
    def __imul__(self, other): return binary(OP_IMUL, self, other)
    def __itruediv__(self, other): return binary(OP_IDIV, self, other)
    def __ifloordiv__(self, other): return binary(OP_IFLOOR_DIVIDE, self, other)
    def __imod__(self, other): return binary(OP_IREMAINDER, self, other)
    def __iand__(self, other): return binary(OP_IAND, self, other)
    def __ior__(self, other): return binary(OP_IOR, self, other)
    def __ixor__(self, other): return binary(OP_IXOR, self, other)
    def __ilshift__(self, other): return binary(OP_ILSHIFT, self, other)
    def __irshift__(self, other): return binary(OP_IRSHIFT, self, other)
    def __ipow__(self, other): return binary(OP_IPOW, self, other)
    def __eq__(self, other): return binary(OP_EQ, self, array_as_tensor(other))
    def __ne__(self, other): return binary(OP_NE, self, array_as_tensor(other))
    def __lt__(self, other): return binary(OP_LT, self, other)
    def __le__(self, other): return binary(OP_LE, self, other)
    def __gt__(self, other): return binary(OP_GT, self, other)
    def __ge__(self, other): return binary(OP_GE, self, other)
    def __neg__(self): return call1(aten("neg"), self)
    def __abs__(self): return call1(aten("abs"), self)
    def __invert__(self):
        if is_overridden(self):
            return hook.overridden_attribute(Tensor.__invert__, self)
        if self.dt.category >= CATEGORY_FLOAT:
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return call1(aten("bitwise_not"), self)
    def __pos__(self):
        if self.dt.category == CATEGORY_BOOL:
            raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
        return self
    def __rfloordiv__(self, other): return reflected(OP_FLOOR_DIVIDE, "__rfloordiv__", self, other)

    # ---- Python protocols, answered by small modules that are loaded with the package
    def __repr__(self):
        if is_overridden(self):
            return hook.overridden_attribute(Tensor.__repr__, self)
        return hook.tensor_repr(self)

    def __getitem__(self, index):
        if is_overridden(self):
            return hook.overridden_attribute(Tensor.__getitem__, self, index)
        view = plain_view(self, index)
        return hook.getitem(self, index) if view is NotImplemented else view

    def __setitem__(self, index, value):
        if is_overridden(self):
            hook.overridden_attribute(Tensor.__setitem__, self, index, value)
        elif not set_plainly(self, index, value):
            hook.setitem(self, index, value)

    def __delitem__(self, index):
        raise TypeError("Tensor does not support deleting items")

    def __iter__(self):
        if self.nd == 0:
            raise TypeError("iteration over a 0-d tensor")
        if tracing():
            hook.iterated(self)
        if self.sizes[0] > MANY_ROWS:
            return iter(call2(aten("unbind"), self, 0))         # which asks first for the memory that they take
        return iter([self[i] for i in range(self.sizes[0])])

    def __contains__(self, value):
        if is_overridden(self):
            return hook.overridden_attribute(Tensor.__contains__, self, value)
        return hook.contains(self, value)

    __array_priority__ = 1000      # NumPy's operators leave `array + tensor` to the tensor

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return hook.wrap_array(array)

    def __array__(self, dtype=None, copy=None):
        return hook.to_array(self, dtype, copy)

    def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
        return hook.dlpack(self, stream, dl_device, copy)

    def __dlpack_device__(self):
        return hook.dlpack_device(self)

    def __format__(self, spec):
        return hook.format_tensor(self, spec)

    def __copy__(self):
        return hook.shallow_copy(self)

    def __deepcopy__(self, memo):
        return hook.deepcopy(self, memo)

    def __reduce_ex__(self, protocol):
        return hook.reduce_tensor(self)

    def __bool__(self):
        if is_overridden(self):
            return hook.overridden_attribute(Tensor.__bool__, self)
        if self.nelem != 1:
            if self.nelem == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(value_read(self, "boolean"))

    def __float__(self):
        if is_overridden(self):
            return hook.overridden_attribute(Tensor.__float__, self)
        return float(real_value(self, "float", "double"))

    def __int__(self):
        if is_overridden(self):
            return hook.overridden_attribute(Tensor.__int__, self)
        return int(real_value(self, "integer", "int64_t"))

    def __index__(self):
        if is_overridden(self):
            return hook.overridden_attribute(Tensor.__index__, self)
        if self.dt.category > CATEGORY_INT or self.nelem != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(value_read(self, "index"))


cdef object single_value(Tensor t, str kind):
    if t.nelem != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars; this one has {t.nelem}")
    return value_read(t, kind)


cdef object real_value(Tensor t, str kind, str wanted):
    """As `single_value`, of a complex number without an imaginary part the real one."""
    value = single_value(t, kind)
    if not isinstance(value, complex):
        return value
    if value.imag != 0 or wanted == "int64_t" and not -2.0 ** 63 <= value.real < 2.0 ** 63:
        raise RuntimeError(f"value cannot be converted to type {wanted} without overflow: {value}")
    return value.real


cdef object value_read(Tensor t, str kind):
    """The value of a tensor of one element as a Python number; a trace that is being recorded warns."""
    if Py_TYPE(<PyObject*>t) == TensorType and reads_itself(t):
        return element(t.dt.code, tensor_data(t))
    return hook.value_read(t, kind) if tracing() else t.item()


cdef PyTypeObject* TensorType = <PyTypeObject*>Tensor


cdef bint free_sizes(PyObject* o) noexcept:
    """Frees what runs no code as a tensor goes; whether there is more."""
    if (<Tensor>o).sizes != (<Tensor>o).inline_dims:
        free((<Tensor>o).sizes)
    return (<Tensor>o).attributes != NULL or (<Tensor>o).parked != NULL


cdef void free_attributes(PyObject* o) noexcept:
    Py_XDECREF((<Tensor>o).attributes)
    Py_XDECREF((<Tensor>o).parked)


mt_tensor_release_install(TensorType, free_sizes, free_attributes)
cdef Tensor _tensor_probe = Tensor.__new__(Tensor)
mt_tensor_dict_install(TensorType, <char*>&_tensor_probe.attributes - <char*><PyObject*>_tensor_probe)


cdef inline bint is_overridden(Tensor t) noexcept:
    """Whether ``__torch_function__`` of the tensor's class or of a mode sees what is done with a tensor."""
    return (t.keys | mt_state.included) & ~mt_state.excluded & TORCH_FUNCTION != 0


cdef object next_hook = 0


def _restored_handle(dict hooks, id):
    global next_hook
    cdef RemovableHandle handle = RemovableHandle.__new__(RemovableHandle)
    handle.hooks, handle.id = hooks, id
    next_hook = max(next_hook, id + 1)             # keys of later hooks are new ones in that dict, too
    return handle


cdef class RemovableHandle:
    """Takes back a hook: ``handle.remove()``, or leaving ``with handle:``."""
    cdef dict hooks
    cdef readonly object id        # the hook's key: the handle itself as a key would be a cycle

    def __init__(self, dict hooks not None, hook):
        global next_hook
        self.hooks, self.id = hooks, next_hook
        next_hook += 1
        hooks[self.id] = hook

    def hooks_dict_ref(self):
        """The hooks, by the ``id`` of their handles."""
        return self.hooks

    def remove(self):
        self.hooks.pop(self.id, None)

    def __reduce__(self):
        """With its hooks: what was pickled together, a module and its handles, belongs together again."""
        return _restored_handle, (self.hooks, self.id)

    def __enter__(self):
        return self

    def __exit__(self, type, value, tb):
        self.remove()
