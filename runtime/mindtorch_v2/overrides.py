"""``__torch_function__`` and ``__torch_dispatch__``: calls that go to Python code, for subclasses and inside modes.

``__torch_function__`` sees a call before autograd, ``__torch_dispatch__`` below it. A mode sees every operator called
while it is entered; while its handler runs it is out of the way, so that the handler may call operators itself. What
answers NotImplemented leaves the call to the next: the innermost mode is asked first, then the arguments' classes.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from . import _core
from ._argument_types import names_wrong_types, unnamed
from ._core import OpOverload, OpOverloadPacket, QuickFunction, Tensor, TupleForm
from ._hooks import hooks
from ._modes import (
    BaseTorchFunctionMode,
    DisableTorchDispatch,
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    EnableTorchFunction,
    TorchDispatchMode,
    TorchFunctionMode,
    handed_on,
    stacks,
    without_innermost,
)
from ._ops import ops

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchDispatch",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchDispatchMode",
    "TorchFunctionMode",
    "dispatch_rules",
    "enable_reentrant_dispatch",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "is_traceable_wrapper_subclass",
    "overridable",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

# (operator, class of a mode or of tensors) -> what runs in place of its __torch_dispatch__
dispatch_rules: dict[tuple[OpOverload, type], Any] = {}

overridable_functions: set[Callable[..., Any]] = set()  # what `overridable` made

_PACKAGE = __name__.partition(".")[0]
Types = tuple[type, ...]
Function = TypeVar("Function", bound=Callable[..., Any])
_AUTOGRAD = _core.key_mask("Autograd", "ADInplaceOrView")
_DISABLED = (_core.disabled_torch_function, Tensor.__torch_dispatch__)


def has_torch_function(relevant_args: Sequence[Any]) -> bool:
    """Whether a mode or any of the arguments overrides ``__torch_function__``, and that is not switched off."""
    if not isinstance(relevant_args, Iterable):
        raise TypeError(f"has_torch_function(): relevant_args: expected a sequence, got {type(relevant_args).__name__}")
    if stacks.function_off:
        return False
    return bool(stacks.function or _function_types(tuple(relevant_args), {}))


def has_torch_function_unary(obj: Any, /) -> bool:
    """`has_torch_function` of one argument."""
    return has_torch_function((obj,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of its arguments."""
    return has_torch_function(args)


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function is a method of Tensor, or what gets or sets an attribute of it."""
    name = getattr(func, "__name__", None)
    return name in ("__get__", "__set__") or (name is not None and getattr(Tensor, name, None) is func)


def wrap_torch_function(dispatcher: Any) -> Any:
    """A decorator for functions: what ``dispatcher`` returns of the arguments may bring a ``__torch_function__``."""

    def decorate(func: Any) -> Any:
        @functools.wraps(func)
        def called(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(called, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return called

    return decorate


def overridable(func: Function, module: str, quick: str = "") -> Function:
    """A function of Python that ``__torch_function__`` of its arguments, and of modes, takes the place of.

    ``module`` is where it is found by its name: ``nn.functional``; ``quick`` the kind of calls that the core answers.
    """

    @functools.wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        if _core.overrides_among(args, kwargs) and not stacks.function_off:
            relevant = (*args, *kwargs.values())
            if stacks.function:
                return handle_torch_function(public, relevant, *args, **kwargs)
            if types := _function_types(relevant, {}):
                with handed_on(types, public, args, kwargs) as first:
                    if first:
                        return handle_torch_function(public, relevant, *args, **kwargs)
        return func(*args, **kwargs)

    called.__module__ = f"{_PACKAGE}.{module}".rstrip(".")
    public: Any = QuickFunction(called, quick) if quick else QuickFunction(called, "direct", *unnamed(func))
    overridable_functions.add(public)
    return public  # type: ignore[no-any-return]


def seen_by_modes(func: Function, quick: str = "") -> Function:
    """A function of the top level that makes tensors of other things: modes take its place, whatever it is given.

    ``quick`` as in `overridable`.
    """

    @functools.wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        if stacks.function and not stacks.function_off:
            return _call_function(f"torch.{func.__name__}", public, (), args, kwargs or None)
        return func(*args, **kwargs)

    called.__module__ = _PACKAGE
    public: Any = QuickFunction(called, quick) if quick else called
    return public  # type: ignore[no-any-return]


@names_wrong_types
def handle_torch_function(public_api: Any, relevant_args: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
    """Calls the ``__torch_function__`` that a Python function's arguments, or a mode, bring with them."""
    types = _function_types(tuple(relevant_args), {})
    module = getattr(public_api, "__module__", "torch")  # an operator is found under torch, and has no module
    name = getattr(public_api, "__name__", type(public_api).__name__)
    return _call_function(f"{module}.{name}", public_api, types, args, kwargs)


def handle_attribute(method: Any, *args: Any, **kwargs: Any) -> Any:
    """What the core calls for a method of an overridden tensor, or for ``Tensor.shape.__get__``."""
    owner: Any = getattr(method, "__self__", None)
    name = method.__name__ if owner is None else f"{_property_name(owner)}.{method.__name__}"
    return _call_function(f"torch.Tensor.{name}", method, _function_types(args, kwargs), args, kwargs or None)


def _property_name(descriptor: Any) -> str:
    named: Any = descriptor.fget if isinstance(descriptor, property) else descriptor
    name: str = named.__name__
    return name


def overridable_property(name: str, getter: Any, setter: Any = None) -> property:
    """A property of tensors, computed by Python code; ``__torch_function__`` sees it read, and written."""

    def read(tensor: Tensor) -> Any:
        return handle_attribute(found.__get__, tensor) if _core.overridden(tensor) else getter(tensor)

    def write(tensor: Tensor, value: Any) -> None:
        if _core.overridden(tensor):
            handle_attribute(found.__set__, tensor, value)
        else:
            setter(tensor, value)

    read.__name__, read.__doc__ = name, getter.__doc__
    found = property(read, write if setter else None)
    return found


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or defines ``__torch_function__``."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor of a subclass says how it is taken apart and put together again."""
    return isinstance(t, Tensor) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """Inside, which is a ``__torch_dispatch__``, operators begin anew: autograd records them, and modes see them."""
    included, excluded = _core.thread_keys()
    _core.set_thread_keys_(included, excluded & ~_AUTOGRAD)
    try:
        yield
    finally:
        _core.set_thread_keys_(included, excluded)


def _enable_torch_function() -> EnableTorchFunction:
    """Inside, ``__torch_function__`` is called, whatever switched it off outside."""
    return EnableTorchFunction()


def redispatch_function(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What a ``__torch_function__`` returns that changes nothing: ``func`` below the classes of its arguments."""
    with DisableTorchFunctionSubclass():
        return func(*args, **({} if kwargs is None else kwargs))


def _list() -> ModuleType:
    from . import _overridable  # which imports all that it lists

    return _overridable


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., int]]:
    """For each function that can be overridden one that takes the same arguments, and returns -1."""
    found: dict[Callable[..., Any], Callable[..., int]] = _list().get_testing_overrides()
    return found


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that ``__torch_function__`` can override, by the module or the class that they are in."""
    found: dict[Any, list[Callable[..., Any]]] = _list().get_overridable_functions()
    return found


def get_ignored_functions() -> set[Callable[..., Any]]:
    """The functions that arguments do not override: they take no tensors, or answer for themselves."""
    found: set[Callable[..., Any]] = _list().get_ignored_functions()
    return found


def resolve_name(f: Any) -> str | None:
    """The name of a function that can be overridden, or of an operator; None where it is neither."""
    name: str | None = _list().resolve_name(f)
    return name


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    """This thread's function modes, the innermost last."""
    return list(stacks.function)


def _get_current_function_mode() -> TorchFunctionMode | None:
    """This thread's innermost function mode, or None."""
    return stacks.function[-1] if stacks.function else None


def _dispatch(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], by_name: bool) -> Any:
    """What the Python key runs: the innermost mode, else the ``__torch_dispatch__`` of the arguments' classes.

    ``by_name`` is whether the overload was called by its own name.
    """
    if not by_name and op._schema.overload in _OVERLOADS_OF_NUMBERS:
        op, args, kwargs = _of_tensors(op, args, kwargs)
    args, kwargs = without_defaults(op, args, kwargs)
    return ask_dispatch(f"torch._ops.{op}", op, args, kwargs)


_OVERLOADS_OF_NUMBERS = {"Scalar": "Tensor", "Scalar_mode": "Tensor_mode"}
_TAKE_NUMBERS = frozenset(("add", "sub", "mul", "div", "add_", "sub_", "mul_", "div_"))


def _of_tensors(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """``x + 2`` as PyTorch calls it: the overload of two tensors, which takes the number for one."""
    if op.namespace != "aten" or op._schema.name not in _TAKE_NUMBERS:
        return op, args, kwargs
    other = getattr(op.overloadpacket, _OVERLOADS_OF_NUMBERS[op._schema.overload])
    given = {**{argument.name: value for argument, value in zip(op._schema.arguments, args, strict=False)}, **kwargs}
    positional = tuple(given[argument.name] for argument in other._schema.positional)
    return other, positional, {argument.name: given[argument.name] for argument in other._schema.kwarg_only}


def by_operator(op: OpOverload) -> Any:
    """What to call for an overload as ``x + 2`` calls it, so that modes are told of that of two tensors."""
    told = op.namespace == "aten" and op._schema.name in _TAKE_NUMBERS and op._schema.overload in _OVERLOADS_OF_NUMBERS
    return op.overloadpacket if told else op


def of_numbers(op: OpOverload, args: Sequence[Any]) -> OpOverload:
    """The overload that runs where a mode was told of one of two tensors: that of a number, where one is given."""
    kinds = {tensor: number for number, tensor in _OVERLOADS_OF_NUMBERS.items()}
    told = op.namespace == "aten" and op._schema.name in _TAKE_NUMBERS and op._schema.overload in kinds
    if not told or len(args) < 2 or isinstance(args[1], Tensor):
        return op
    found: OpOverload = getattr(op.overloadpacket, kinds[op._schema.overload])
    return found


def ask_dispatch(name: str, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the innermost mode, or the first of the arguments that does not decline, answers to a call of ``name``."""
    found = _overriding(args, kwargs, "__torch_dispatch__")
    types = tuple(map(type, found))
    asked: list[Any] = []
    if stacks.dispatch:
        with without_innermost(stacks.dispatch) as mode:
            _refuse_class_method(mode, "__torch_dispatch__")
            rule = dispatch_rules.get((op, type(mode)))
            if rule is not None:
                return rule(mode, op, types, args, kwargs)
            result = mode.__torch_dispatch__(op, types, args, kwargs)
        if result is not NotImplemented:
            return result
        asked.append(mode)
    for cls, value in zip(types, found, strict=True):
        rule = dispatch_rules.get((op, cls))
        if rule is not None:
            return rule(cls, op, types, args, kwargs)
        result = value.__torch_dispatch__(op, types, args, kwargs)  # of the value: it may be a plain method
        if result is not NotImplemented:
            return result
        asked.append(cls)
    raise _nobody_answered(name, "__torch_dispatch__", asked)


def _override(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], is_method: bool) -> Any:
    """What runs for ``__torch_function__``: the innermost mode, else that of the arguments' classes."""
    args, kwargs = without_defaults(op, args, kwargs)
    packet = getattr(_packets(op.namespace), op._schema.name)
    method = getattr(Tensor, op._schema.name, None) if is_method else None
    return _override_call(packet, args, kwargs, method if isinstance(method, (OpOverloadPacket, TupleForm)) else None)


def _override_call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], method: Any = None) -> Any:
    """As `_override`, for arguments that fit no overload; NotImplemented where nothing overrides."""
    types = () if stacks.function_off else _function_types(args, kwargs)
    if not types and (stacks.function_off or not stacks.function):
        return NotImplemented
    form = hooks.published_form(func) if method is None else method
    is_method = method is not None or func.is_method
    within = "torch.Tensor" if is_method else "torch" if func.namespace == "aten" else f"torch.ops.{func.namespace}"
    name = f"{within}.{func.__name__}"
    if stacks.function:  # a mode is out of the way while it is asked
        return _call_function(name, form, types, args, kwargs or None)
    with handed_on(types, func, args, kwargs) as first:
        return _call_function(name, form, types, args, kwargs or None) if first else NotImplemented


def _call_function(name: str, func: Any, types: Types, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    asked: list[Any] = []
    if stacks.function and not stacks.function_off:
        with without_innermost(stacks.function) as mode:
            _refuse_class_method(mode, "__torch_function__")
            result = mode.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
        asked.append(mode)
    for cls in types:
        handler: Any = cls.__torch_function__  # type: ignore[attr-defined]
        if isinstance(handler, FunctionType):
            handler = _of_an_argument(cls, handler, func, args, kwargs or {})
        result = handler(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
        asked.append(cls)
    raise _nobody_answered(name, "__torch_function__", asked)


def _of_an_argument(cls: type, handler: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A handler that is a plain method, which the first argument of its class is the self of; others as they are."""
    if isinstance(inspect.getattr_static(cls, "__torch_function__"), staticmethod):
        return handler
    warnings.warn(
        "Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, "
        "please define it as a classmethod.",
        DeprecationWarning
        if isinstance(func, (FunctionType, QuickFunction))
        else UserWarning,  # as PyTorch's functions, and operators
        stacklevel=4,
    )
    value = next((one for one in _flat((*args, *kwargs.values())) if type(one) is cls), None)
    return handler if value is None else functools.partial(handler, value)


def _refuse_class_method(mode: Any, name: str) -> None:
    if isinstance(getattr(getattr(mode, name), "__self__", None), type):
        raise RuntimeError(
            f"Defining your mode's `{name}` as a classmethod is not supported, please make it a plain method"
        )


def _nobody_answered(name: str, method: str, asked: list[Any]) -> TypeError:
    lines = [f"  - tensor subclass {who}" if isinstance(who, type) else f"  - mode object {who}" for who in asked]
    return TypeError(
        f"Multiple dispatch failed for '{name}'; all {method} handlers returned NotImplemented:\n\n" + "\n".join(lines)
    )


def _packets(namespace: str) -> Any:
    return getattr(ops, namespace)


def _function_types(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Types:
    return () if stacks.subclasses_off else _overriding_types(args, kwargs, "__torch_function__")


def _overriding_types(args: tuple[Any, ...], kwargs: dict[str, Any], method: str) -> Types:
    """Classes of the arguments that define a method, subclasses before their bases, each once."""
    return tuple(map(type, _overriding(args, kwargs, method)))


def _overriding(args: tuple[Any, ...], kwargs: dict[str, Any], method: str) -> list[Any]:
    """The first argument of each of `_overriding_types`."""
    found: list[Any] = []
    for value in _flat((*args, *kwargs.values())):
        cls = type(value)
        handler = getattr(cls, method, None)
        if cls is Tensor or handler is None or handler in _DISABLED or any(type(other) is cls for other in found):
            continue
        at = next((i for i, other in enumerate(found) if issubclass(cls, type(other))), len(found))
        found.insert(at, value)
    return found


def _flat(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(tuple(value))
        else:
            yield value


def without_defaults(
    op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments as a caller would write them: without those, at the end or by keyword, that equal their default."""
    schema = op._schema
    count = len(args)
    while count and _is_default(schema.arguments[count - 1], args[count - 1]):
        count -= 1
    keywords = {a.name: a for a in schema.kwarg_only}
    return args[:count], {name: value for name, value in kwargs.items() if not _is_default(keywords[name], value)}


def _is_default(argument: Any, value: Any) -> bool:
    if not argument.has_default or isinstance(value, Tensor):
        return False
    default = argument.default_value
    return type(default) is type(value) and bool(default == value)


def as_subclass(self: Tensor, cls: type) -> Any:
    """A view of the whole tensor, history included, as an object of ``cls``, a subclass of Tensor."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            f"class inherits from Tensor. Got {cls!r}"
        )
    return _core.change_class(self, cls)


def _below_dispatch(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operator that no ``__torch_dispatch__`` sees."""
    with DisableTorchDispatch():
        return op(*args, **kwargs)


_core.install_method("as_subclass", as_subclass)
_core.hooks.fill(
    default_dispatch=_below_dispatch,
    python_call=_dispatch,
    overridden_call=_override,
    foreign_call=_override_call,
    overridden_attribute=handle_attribute,
)
