"""torch.library's functions: `define`, `impl` and the `register_*` family, by qualified name."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _ops
from .._argument_types import names_wrong_types
from .._core import OpOverload
from .._dispatch_keys import DispatchKey
from ._custom_op import (
    CustomOpHandle,
    device_key,
    find_handle,
    require_functional,
    require_positional_tensors,
)
from ._library import Library, canonical_key
from ._references import python_function
from ._rules import autocast_key_for, register_autocast_rule, register_batching_rule, register_dispatch_rule

__all__ = [
    "define",
    "impl",
    "impl_abstract",
    "mindspore_kernel",
    "python_function",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]

Operator = str | OpOverload | CustomOpHandle

_kept_alive: list[Library] = []  # of calls without `lib=`: such registrations stay


@names_wrong_types
def define(qualname: str | Library, schema: str, *, lib: Library | None = None, tags: Sequence[str] = ()) -> Any:
    """Defines the operator ``"ns::name"`` with the schema ``"(Tensor x) -> Tensor"``.

    With a Library in place of the name, ``schema`` holds the operator's name too, and the call is a decorator for its
    default kernel.
    """
    if isinstance(qualname, Library):
        name = qualname.define(schema, tags=tags)
        return impl(qualname, name, "CompositeImplicitAutograd")
    if not isinstance(qualname, str):
        raise ValueError(
            f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname).__name__}"
        )
    namespace, name = _ops.split_name(qualname)
    if not re.match(r"\s*\(.*\)\s*->\s*\S", schema, re.DOTALL):
        raise ValueError(
            f'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but '
            f'got "{schema}"'
        )
    _library_for(namespace, lib).define(name + schema.lstrip(), tags=tags)
    return None


@names_wrong_types
def impl(
    qualname: Operator | Library,
    types: str | Sequence[str],
    func: Callable[..., Any] | str | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers a kernel for device types (``"cpu"``, ``"default"``) or dispatch keys (``"CPU"``).

    ``impl("ns::op", "cpu", fn)``, ``@impl("ns::op", "cpu")``, or with a library ``@impl(lib, "op", "CPU")``.
    """
    if isinstance(qualname, Library):
        name = types.name() if isinstance(types, OpOverload) else str(types)
        return _impl_decorator(qualname, name, "" if func is None else str(func))
    keys = _keys(types, "impl", "types")
    if func is None:
        return lambda function: _register_kernels(_resolve(qualname, "impl"), keys, function, lib)
    _register_kernels(_resolve(qualname, "impl"), keys, func, lib)
    return None


@names_wrong_types
def register_kernel(
    op: Operator,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers a kernel for device types; None: for every device. Usable as a decorator.

    Raises RuntimeError for an operator or a device type that does not exist.
    """
    _require_operator(op, "register_kernel")
    keys = _keys("default" if device_types is None else device_types, "register_kernel", "device_types")
    if func is None:
        return lambda function: register_kernel(op, device_types, function, lib=lib)
    overload = _resolve(op, "register_kernel")
    handle = find_handle(op)
    if handle is not None:
        return handle.register_kernel(device_types, func)
    return _register_kernels(overload, keys, func, lib)


@names_wrong_types
def register_fake(
    op: Operator,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = True,
) -> Any:
    """Registers the rule that gives an operator's outputs (shape, dtype, device) without data. Usable as a decorator.

    Raises RuntimeError for an operator that does not exist or is composed of others, and with
    ``allow_override=False`` for one that has a rule already.
    """
    _require_operator(op, "register_fake")
    if func is None:
        return lambda function: register_fake(op, function, lib=lib, allow_override=allow_override)
    overload = _resolve(op, "register_fake")
    handle = find_handle(op)
    if handle is not None:
        return handle.register_fake(func, allow_override=allow_override)
    _library_for(overload.namespace, lib).register_fake(overload, func, allow_override=allow_override)
    return func


def impl_abstract(
    qualname: str, func: Callable[..., Any] | None = None, *, lib: Library | None = None, _stacklevel: int = 1
) -> Any:
    """The older name of `register_fake`; a rule that is there already is refused."""
    if func is None:
        return lambda function: impl_abstract(qualname, function, lib=lib)
    return register_fake(qualname, func, lib=lib, allow_override=False)


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A `Library` that takes all back at the end of the block."""
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()


@names_wrong_types
def register_autograd(
    op: Operator,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Registers an operator's gradient.

    ``setup_context(ctx, inputs, output)`` runs after forward and saves on ``ctx`` what ``backward(ctx, *grads)`` needs;
    that returns one gradient, or None, per input. Raises RuntimeError for an operator that writes to an argument or
    returns a view, NotImplementedError for keyword-only tensors.
    """
    overload = _resolve(op, "register_autograd")
    handle = find_handle(op)
    if handle is not None:
        handle.register_autograd(backward, setup_context=setup_context)
        return
    require_functional(overload)
    _library_for(overload.namespace, lib).register_autograd(overload, backward, setup_context=setup_context)


@names_wrong_types
def register_autocast(op: Operator, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> None:
    """Under ``torch.autocast(device_type)``, ``op`` has its floating inputs on such devices cast to ``cast_inputs``.

    Raises RuntimeError for an unknown device type, ValueError for one without autocast.
    """
    _require_operator(op, "register_autocast")
    autocast_key_for(device_type)
    overload = _resolve(op, "register_autocast")
    handle = find_handle(op)
    library = handle._lib if handle is not None and lib is None else _library_for(overload.namespace, lib)
    register_autocast_rule(library, overload, device_type, cast_inputs)


@names_wrong_types
def register_vmap(op: Operator, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Registers an operator's batching rule, ``func(info, in_dims, *args) -> (output, out_dims)``.

    ``in_dims`` says for each argument where its batch dimension is, None for none; ``info.batch_size`` its size.
    Usable as a decorator. Raises NotImplementedError for keyword-only tensors.
    """
    overload = _resolve(op, "register_vmap")
    if func is None:
        return functools.partial(_registered_vmap, op, lib)
    require_positional_tensors(overload._schema, "register_vmap")
    handle = find_handle(op)
    library = handle._lib if handle is not None and lib is None else _library_for(overload.namespace, lib)
    register_batching_rule(library, overload, func)
    return None


def _registered_vmap(op: Operator, lib: Library | None, func: Callable[..., Any]) -> Callable[..., Any]:
    """`register_vmap` as a decorator, which leaves its function its name."""
    register_vmap(op, func, lib=lib)
    return func


@names_wrong_types
def register_torch_dispatch(
    op: Operator,
    torch_dispatch_class: type,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Registers what runs for ``op`` in place of a class's ``__torch_dispatch__``. Usable as a decorator.

    ``func(mode, op, types, args, kwargs)`` for a mode, ``func(cls, op, types, args, kwargs)`` for a subclass of Tensor.
    """
    _require_operator(op, "register_torch_dispatch")
    if func is None:
        return lambda function: register_torch_dispatch(op, torch_dispatch_class, function, lib=lib)
    overload = _resolve(op, "register_torch_dispatch")
    register_dispatch_rule(_library_for(overload.namespace, lib), overload, torch_dispatch_class, func)
    return func


def mindspore_kernel(primitive: str, /, **attributes: Any) -> Callable[..., Any]:
    """A MindSpore primitive as a kernel on our tensors; MindSpore is imported at the first call."""
    found: list[Callable[..., Any]] = []

    def call(*args: Any) -> Any:
        if not found:
            module = importlib.import_module("mindtorch_v2.kernels.mindspore")
            found.append(module.primitive(primitive, **attributes))
        return found[0](*args)

    call.__name__ = call.__qualname__ = primitive
    call.__doc__ = f"Calls MindSpore's {primitive}."
    return call


def _impl_decorator(lib: Library, name: str, dispatch_key: str) -> Callable[..., Any]:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        lib.impl(name, function, dispatch_key)
        return function

    return decorate


def _register_kernels(overload: OpOverload, keys: Sequence[str], func: Any, lib: Library | None) -> Any:
    library = _library_for(overload.namespace, lib)
    for key in [canonical_key(overload, key) for key in keys]:  # all are known before the first is registered
        library.impl(overload, func, key)
    return func


def _keys(types: str | Sequence[str], function: str, argument: str) -> list[str]:
    """Dispatch keys of device types (``"cpu"``), or of keys themselves (``"CPU"``)."""
    names = (types,) if isinstance(types, str) else tuple(types)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"{function}(): argument '{argument}' must be str or a sequence of str, not of {type(name).__name__}"
            )
    return [name if name in DispatchKey.__members__ else device_key(name) for name in names]


def _require_operator(op: Any, function: str) -> None:
    """Raises ValueError for what cannot stand for an operator; whether it exists is asked when it is registered for."""
    if not isinstance(op, (str, OpOverload, CustomOpHandle)):
        raise ValueError(f"{function}({op}): got unexpected type for op: {type(op)}")


def _resolve(op: Operator, function: str) -> OpOverload:
    _require_operator(op, function)
    if isinstance(op, CustomOpHandle):
        return op._opoverload
    if isinstance(op, OpOverload):
        return op
    return _ops.find(op)


def _library_for(namespace: str, lib: Library | None) -> Library:
    if lib is not None:
        return lib
    library = Library(namespace, "FRAGMENT")
    _kept_alive.append(library)
    return library
