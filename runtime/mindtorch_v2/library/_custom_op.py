"""`custom_op`: an operator from one Python function."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, overload

from opschema import Schema, SchemaKind, base_of

from .. import _ops
from .._argument_types import names_wrong_types
from .._core import OpOverload, device
from .._inheritance import inherited
from ..backends import backend_of
from ._inference import infer_schema
from ._library import Library, as_tags, caller, parse, require_namespace
from ._registrations import formula, registrations, suspend
from ._rules import register_autocast_rule, register_batching_rule, register_dispatch_rule
from ._tags import Tag

__all__ = [
    "CustomOpHandle",
    "custom_op",
    "device_key",
    "find_handle",
    "require_functional",
    "require_positional_tensors",
]

Function = TypeVar("Function", bound=Callable[..., Any])
DeviceTypes = str | Sequence[str] | None
Tags = str | Sequence[str] | None

_LOGGER = "torch._library.custom_ops"  # PyTorch's, which programs set up by its name

_handles: dict[str, CustomOpHandle] = {}


class _Compiled(threading.local):
    depth = 0  # of calls of what `torch.compile` returned


_compiled = inherited(_Compiled())


@contextmanager
def compiled_call() -> Iterator[None]:
    """Inside, which is a function that PyTorch would compile, an operator without a fake rule is an error as there."""
    _compiled.depth += 1
    try:
        yield
    finally:
        _compiled.depth -= 1


class CustomOpHandle:
    """An operator made by `custom_op`: callable, and where its other kernels and rules are registered.

    PyTorch calls this class ``CustomOpDef``. There is one handle per name: `custom_op` for the same operator gives the
    same handle the new definition. Made by itself it has no kernel until one is registered.
    """

    @names_wrong_types
    def __init__(self, namespace: str, name: str, schema: str, fn: Callable[..., Any], tags: Tags = None) -> None:
        self._lib: Library
        self._opoverload: OpOverload
        self._init_fn: Callable[..., Any]
        if not isinstance(namespace, str):
            raise TypeError("a namespace is a str")  # which the decorator words
        parsed = parse(name + schema.lstrip())
        as_tags(tags)
        require_namespace(parsed, namespace)
        if namespace:
            _ops.split_name(f"{namespace}::{name}")
        if not schema.lstrip().startswith("("):
            raise AttributeError(f"schema {schema!r} goes on with the name: there would be no operator {name!r}")
        parse(f"{namespace}::{_full_name(parsed)}{schema.lstrip()}")
        self._namespace, self._name = namespace, _full_name(parsed)
        self._define(parsed, fn, tags)
        _handles[self._qualname] = self

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _compiled.depth and self._opoverload.kernel("Meta") == self._no_fake_rule:
            self._no_fake_rule()
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: DeviceTypes, fn: Function | None = None, /) -> Any:
        """Registers what runs on devices of these types; with None, on all that have no kernel of their own.

        Usable as a decorator. Raises ValueError where the operator takes neither a tensor nor a device to choose by.
        """
        if fn is None:
            return lambda function: self.register_kernel(device_types, function)
        keys = device_keys(device_types)
        _require_choice_of_device(self._opoverload._schema, device_types)
        for key in keys:
            self._lib.impl(self._opoverload, fn, key)
        return fn

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Inside ``with``: the kernel of a device type is off (or on again); calls run what there is without it.

        Where there is none, of a device type that is not known either, a warning is logged.
        """
        action = "enable" if enabled else "disable"
        without = f"Attempted to {action} kernel for {device_type} but no kernel was registered for this device type."
        try:
            key = device_key(device_type)
        except RuntimeError:
            _log(without)
            yield
            return
        if not any(k.function for k in registrations(self._opoverload, key)):
            _log(without)
        before = suspend(self._opoverload, key, not enabled)
        if before is not enabled:
            _log(f"Attempted to {action} kernel for {device_type} but it was already {action}d.")
        try:
            yield
        finally:
            suspend(self._opoverload, key, before)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> Any:
        """Under `torch.autocast` of that device, floating inputs are cast to the dtype ``cast_inputs``.

        Returns the function that casts, and calls. Raises ValueError for what is no device type with autocast.
        """
        return register_autocast_rule(self._lib, self._opoverload, device_type, cast_inputs)

    def register_vmap(self, func: Function | None = None) -> Any:
        """Registers the batching rule, ``func(info, in_dims, *args) -> (output, out_dims)``. Usable as a decorator."""
        if func is None:
            return self.register_vmap
        require_positional_tensors(self._opoverload._schema, "register_vmap")
        register_batching_rule(self._lib, self._opoverload, func)
        return func

    def register_torch_dispatch(self, torch_dispatch_class: type, fn: Function | None = None, /) -> Any:
        """Registers what runs for a ``__torch_dispatch__`` class or mode: ``fn(mode, func, types, args, kwargs)``."""
        if fn is None:
            return lambda function: self.register_torch_dispatch(torch_dispatch_class, function)
        register_dispatch_rule(self._lib, self._opoverload, torch_dispatch_class, fn)
        return fn

    def register_fake(self, fn: Function, /, *, allow_override: bool = True) -> Function:
        """Registers the rule that gives outputs without data: shape, dtype and device. Usable as a decorator."""
        self._lib.register_fake(self._opoverload, fn, allow_override=allow_override)
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Registers the gradient formula; see `library.register_autograd`."""
        require_functional(self._opoverload)
        self._lib.register_autograd(self._opoverload, backward, setup_context=setup_context)

    def _define(self, schema: Schema, fn: Callable[..., Any], tags: Tags) -> None:
        require_positional_tensors(schema, "custom_op")
        lib, before = Library(self._namespace, "FRAGMENT"), _handles.get(self._qualname)
        if before is not None:
            before._lib._destroy()
        all_tags = dict.fromkeys((Tag.pt2_compliant_tag, *as_tags(tags)))
        lib.define(str(schema), tags=tuple(all_tags), doc=fn.__doc__)
        self._lib, self._init_fn = lib, fn
        self._opoverload = _ops.find(self._qualname)
        self._opoverload.refuses_aliases = True
        lib.register_placeholder(self._opoverload, "Meta", self._no_fake_rule)
        lib._push(self._opoverload, "Autograd", formula(None, None, caller()))

    def _no_fake_rule(self, *args: Any, **kwargs: Any) -> Any:
        name = getattr(self._init_fn, "__name__", self._name)
        raise RuntimeError(
            f"There was no fake impl registered for {self!r}.\n"
            "This is necessary for torch.compile/export/fx tracing to work.\n"
            f"Please use `{name}.register_fake` to add an fake impl."
        )


@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tags = None,
) -> Callable[[Callable[..., Any]], CustomOpHandle]: ...


@overload
def custom_op(
    name: str,
    fn: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tags = None,
) -> CustomOpHandle: ...


@names_wrong_types
def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tags = None,
) -> CustomOpHandle | Callable[[Callable[..., Any]], CustomOpHandle]:
    """Makes the operator ``name`` (``"ns::op"``) of a Python function; usable as a decorator.

    The schema comes from the annotations unless ``schema`` (``"(Tensor x) -> Tensor"``) is given. ``mutates_args``
    names the arguments the function writes to. ``device_types`` are those it runs on; None: all. A second call with
    the same name replaces the first. Raises ValueError for a name without namespace or a schema that disagrees with
    ``mutates_args``, and NotImplementedError for keyword-only tensors.
    """

    def make(function: Callable[..., Any]) -> CustomOpHandle:
        if not callable(function):
            raise TypeError(f"custom_op({name!r}, fn): fn must be callable, not {type(function).__name__}")
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        namespace, op_name = _ops.split_name(name)
        parsed = parse(op_name + text.lstrip())
        if not text.lstrip().startswith("("):
            raise ValueError(f'expected schema to look like e.g. "(Tensor x) -> Tensor" but got "{text}"')
        if schema is not None:
            _require_same_mutations(parsed, mutates_args)
        require_positional_tensors(parsed, "custom_op")
        device_keys(device_types)
        _require_choice_of_device(parsed, device_types)
        handle = _handles.get(f"{namespace}::{_full_name(parsed)}")
        if handle is None:
            handle = CustomOpHandle(namespace, op_name, text, function, tags)
        else:
            handle._define(parsed, function, tags)
        handle.register_kernel(device_types, _with_devices_as_written(function, parsed))
        return handle

    return make if fn is None else make(fn)


def _with_devices_as_written(function: Callable[..., Any], schema: Schema) -> Callable[..., Any]:
    """A kernel that sees a default that is the name of a device as its author wrote it, as in PyTorch: no `device`."""
    at_devices = [at for at, argument in enumerate(schema.arguments) if base_of(argument.type).name == "Device"]
    if not at_devices:
        return function
    parameters = inspect.signature(function).parameters
    defaults = {at: parameters[name].default for at in at_devices if (name := schema.arguments[at].name) in parameters}
    written = {at: default for at, default in defaults.items() if isinstance(default, str)}
    names = [argument.name for argument in schema.arguments]

    @functools.wraps(function)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        values = list(args)
        for at, default in written.items():
            if at < len(values):
                values[at] = default if values[at] == device(default) else values[at]
            elif kwargs.get(names[at]) == device(default):
                kwargs[names[at]] = default
        return function(*values, **kwargs)

    return kernel


def _full_name(schema: Schema) -> str:
    """The operator's name, with its overload's where it has one."""
    return f"{schema.name}.{schema.overload}" if schema.overload else schema.name


def find_handle(op: Any) -> CustomOpHandle | None:
    """The handle that a name, an overload or a handle stands for; None where `custom_op` did not make it."""
    if isinstance(op, CustomOpHandle):
        return op
    if isinstance(op, OpOverload):
        op = op.name()
    return _handles.get(op.removesuffix(".default")) if isinstance(op, str) else None


def device_key(device_type: str | None) -> str:
    """A device type's dispatch key; ``"default"``, or None, stands for every device.

    Raises RuntimeError for unknown ones.
    """
    if device_type is None or device_type == "default":
        return "CompositeExplicitAutograd"
    found = device(device_type)
    if found.index is not None:
        raise RuntimeError(f"Expected device_type string to not have a device index; got {device_type}")
    return backend_of(found).key


def device_keys(device_types: DeviceTypes) -> list[str]:
    """`device_key` of one type or of several; None stands for every device."""
    if device_types is None:
        device_types = "default"
    return [device_key(t) for t in ((device_types,) if isinstance(device_types, str) else device_types)]


def require_functional(op: OpOverload) -> None:
    """Raises where an operator cannot have a gradient formula of the user's."""
    schema = op._schema
    if schema.kind is not SchemaKind.OUT and any(argument.alias is not None for argument in schema.arguments):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op} with schema {schema}. Please create a "
            "functional operator and register an autograd formula for that."
        )
    require_positional_tensors(schema, "register_autograd")


def require_positional_tensors(schema: Schema, caller: str) -> None:
    # `out` arguments are keyword-only by nature.
    tensors = [a.name for a in schema.kwarg_only if base_of(a.type).name == "Tensor" and not a.is_write]
    if tensors:
        raise NotImplementedError(
            f"{caller} with kwarg-only Tensor args. Please make your tensors not kwarg-only: {', '.join(tensors)}. "
            f"Got: {schema}"
        )


def _require_same_mutations(schema: Schema, mutates_args: str | Iterable[str]) -> None:
    mutated = {argument.name for argument in schema.arguments if argument.is_write}
    if mutates_args == "unknown" or set(mutates_args) == mutated:
        return
    raise ValueError(
        f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}`. The schema "
        f"suggests that the op mutates {mutated or '{}'} which is different from what was provided to us in "
        "`mutates_args`. Please make these consistent."
    )


def _require_choice_of_device(schema: Schema, device_types: DeviceTypes) -> None:
    if device_types is None:
        return
    names = {base_of(argument.type).name for argument in schema.arguments}
    if "Tensor" not in names and "Device" not in names:
        raise ValueError(
            "Functions without tensor inputs are required to have a `device: torch.device` argument, by which the "
            f"kernel is chosen. Got: {schema}"
        )


def _log(message: str) -> None:
    import logging  # a tenth of what importing this package takes; nobody else here needs it

    logging.getLogger(_LOGGER).warning(message)
