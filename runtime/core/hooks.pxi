"""How the core reaches Python: one table of functions, which modules of the package fill in as they are imported.

The core imports no module that stands above it. An entry is None until its module is imported; `nn`, `jit` and
`func` are imported when they are first used, and what asks for theirs runs only then.
"""


@cython.final
cdef class Hooks:
    """The functions (and classes) that the core calls, each with the arguments in its comment."""
    # calls: overrides, _ops, _dispatch_keys, library
    cdef public object python_call           # (op, args, kwargs, by_name): modes and __torch_dispatch__
    cdef public object asked_attribute       # (tensor, name, args, kwargs): an attribute that a wrapper's class answers for
    cdef public object overridden_call       # (op, args, kwargs, is_method): __torch_function__ of tensors
    cdef public object foreign_call          # (packet, args, kwargs): __torch_function__ of an object that is no tensor
    cdef public object overridden_attribute  # (descriptor, *args, **kwargs): __torch_function__ of an attribute or method
    cdef public object default_dispatch      # (op, args, kwargs): Tensor.__torch_dispatch__
    cdef public object default_override      # (cls, func, types, args, kwargs): Tensor.__torch_function__
    cdef public object find_operator         # ("ns::name.overload")
    cdef public object find_packet           # ("ns::name")
    cdef public object user_stacklevel       # (): the stacklevel of a warning at the user's line
    cdef public object load_operators        # ("ns::name.overload", or None: all): loads what may define it; whether it is whole
    cdef public object key_set               # (mask): a DispatchKeySet
    cdef public object call_with_values      # (op, keys, args, kwargs): a call with tensors that are not what their memory is
    cdef public object older_form            # (name, factors): a call of a form that is deprecated; warns
    # forward mode and transforms: autograd.forward_ad, func
    cdef public object call_with_tangents    # (op, keys, level, args, kwargs)
    cdef public object copy_tangents         # (tensor, copy, level): those from a level on, to a copy
    cdef public object apply_transformed     # (cls, args): Function.apply of tangents or batches
    cdef public object apply_functionalized  # (cls, args): the same under functionalize; NotImplemented where it is not
    # tensors as Python objects: _printing, _indexing, _tensor_protocols, _creation, kernels.random
    cdef public object tensor_repr           # (tensor)
    cdef public object getitem               # (tensor, index)
    cdef public object setitem               # (tensor, index, value)
    cdef public object contains              # (tensor, value)
    cdef public object format_tensor         # (tensor, spec)
    cdef public object to_array              # (tensor, dtype, copy)
    cdef public object dlpack                # (tensor, stream, dl_device, copy)
    cdef public object dlpack_device         # (tensor)
    cdef public object wrap_array            # (array): a result of NumPy's
    cdef public object from_array            # (array): an operand
    cdef public object shallow_copy          # (tensor)
    cdef public object deepcopy              # (tensor, memo)
    cdef public object reduce_tensor         # (tensor)
    cdef public object reduce_storage        # (storage)
    cdef public object storage_from_file     # (filename, shared, nbytes)
    cdef public object storage_item          # (storage, index)
    cdef public object set_storage_item      # (storage, index, value)
    cdef public object legacy_tensor         # (cls, *args, **kwargs): the constructor Tensor(...)
    cdef public object python_kernel         # ("module:name"): one of the package kernels, of calls that the core leaves to it
    cdef public object strided               # torch.strided
    cdef public object tolist                # (tensor)
    cdef public object numpy                 # (tensor, force)
    cdef public object new_tensor            # (tensor, data, dtype, device, requires_grad)
    cdef public object generator_type        # torch.Generator
    # threads: _inheritance
    cdef public object on_another_thread     # (function): its result, of a thread that goes on for this one
    # what a trace hears of besides calls: jit
    cdef public object shape_read            # (tensor)
    cdef public object size_read             # (tensor, dim)
    cdef public object count_read            # (tensor)
    cdef public object length_read           # (tensor)
    cdef public object value_read            # (tensor, what)
    cdef public object number_taken          # (tensor)
    cdef public object iterated              # (tensor)
    cdef public object apply_traced          # (cls, args): Function.apply
    # modules: nn.hooks
    cdef public object call_with_hooks       # (module, args, kwargs): a call of a module that has hooks
    cdef public list hooks_of_all_modules    # empty while there are none
    # dtypes that few operators compute with: _narrow_dtypes
    cdef public object call_with_narrow      # (op, keys, args, kwargs)
    cdef public object warn_experimental     # (): of a new tensor of complex numbers of two halves
    # other devices' memory: backends._copies
    cdef public object copy_elsewhere        # (destination, source): of tensors of one shape, at least one not on the CPU

    def fill(self, **functions):
        """Sets entries by name. Raises AttributeError for a name that is not in the table."""
        for name, function in functions.items():
            setattr(self, name, function)


cdef Hooks hook = Hooks()
hooks = hook
