"""How operators are captured and updated: `NpuGraphOpHandler`, and the registry of the classes that derive from it.

A handler is a class and is never made an instance of, so that it cannot keep the state of one call for the next. What
``graph:`` in YAML, or `Library.register_graph`, says of an operator makes such a class, too.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn

from .._core import OpOverload
from .._hooks import hooks
from ..library._graph import HOOKS, NAMED, GraphDeclaration, declarations
from ..library._references import python_function
from .graph_outputs import given_outputs, into_outputs
from .graph_records import DispatchRecord, argument_names, wrapped

__all__ = ["NpuGraphOpHandler", "handler_of", "register_npu_graph_handler", "replacement_of"]

Call = tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]]
Spec = tuple[str, int | str, str]

_HOOKS = {
    "prepare_capture": ("func", "args", "kwargs"),
    "postprocess_result": ("result", "kwargs"),
    "get_update_specs": ("op_name",),
    "update_args": ("dispatch_record", "update_input"),
    "record_wrap_kwarg": ("key", "value", "tensor_param_names"),
}


class NpuGraphOpHandler:
    """How an operator is captured into a graph and updated later; derive from it, and override class methods.

    ``UPDATE_SPECS`` says for each operator, by its ``__name__``, which arguments an update may give new values:
    ``("arg", index, key)`` for a positional one, ``("kwarg", name, key)`` for one by its name; ``key`` is the name that
    ``NPUGraph.update`` has for it. ``("arg", ...)`` of an argument that a call left out, or gave by its name, is that
    argument all the same.
    """

    UPDATE_SPECS: ClassVar[Mapping[str, Sequence[Spec]]] = {}
    _declared: ClassVar[bool] = False  # made from what a file says of one operator

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuses: handlers are classes."""
        raise TypeError(
            f"{cls.__name__} is a handler of graphs, which is used as a class and never made an instance of"
        )

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, parameters in _HOOKS.items():
            _check_hook(cls, name, parameters)
        _check_specs(cls)

    @classmethod
    def prepare_capture(cls, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
        """The call that is captured in the place of ``func(*args, **kwargs)``.

        It runs before anything of the call is captured: outputs and workspaces are allocated here. Where the function
        is another one, the handler of that one updates it, and has to know the same keys.
        """
        return func, args, kwargs

    @classmethod
    def postprocess_result(cls, result: Any, kwargs: Mapping[str, Any]) -> Any:
        """What the caller gets, of what the captured call returned."""
        return result

    @classmethod
    def get_update_specs(cls, op_name: str) -> Sequence[Spec]:
        """The entries of ``UPDATE_SPECS`` for an operator; ``f`` and ``f.default`` are one."""
        found = cls.UPDATE_SPECS.get(op_name)
        if found is None:
            other = op_name.removesuffix(".default") if op_name.endswith(".default") else f"{op_name}.default"
            found = cls.UPDATE_SPECS.get(other, ())
        return found

    @classmethod
    def update_args(cls, dispatch_record: DispatchRecord, update_input: Mapping[str, Any]) -> None:
        """Assigns new values to the arguments of a record: as ``UPDATE_SPECS`` says.

        Keyword arguments whose name is a key of the update have its value already.
        """
        args, kwargs = dispatch_record.args, dispatch_record.kwargs
        for _, where, key in dispatch_record.specs:
            if key in update_input:
                dispatch_record.assign(args, kwargs, where, update_input[key])

    @classmethod
    def overrides_update_args(cls) -> bool:
        """Whether a class assigns to arguments by code of its own."""
        return cls.update_args.__func__ is not NpuGraphOpHandler.update_args.__func__  # type: ignore[attr-defined]

    @classmethod
    def record_wrap_kwarg(cls, key: str, value: Any, tensor_param_names: Sequence[str]) -> Any:
        """What a record keeps of a keyword argument.

        None stays; tensors of an NPU become weak references, alone or in a list or tuple, whose type stays; everything
        else is copied deeply. ``tensor_param_names`` are the arguments that the schema has as tensors.
        """
        return wrapped(value)


# ---------------------------------------------------------------- checks of a class
def _check_hook(cls: type, name: str, parameters: tuple[str, ...]) -> None:
    found = inspect.getattr_static(cls, name)
    if not isinstance(found, classmethod):
        kind = "a plain method" if inspect.isfunction(found) else f"{type(found).__name__}"
        raise TypeError(f"{cls.__name__}.{name} must be a classmethod, got {kind}: write @classmethod above it")
    try:
        inspect.signature(found.__func__).bind(cls, *parameters)
    except TypeError as error:
        raise TypeError(f"{cls.__name__}.{name}(cls, {', '.join(parameters)}): {error}") from None


def _check_specs(cls: type[NpuGraphOpHandler]) -> None:
    if not isinstance(cls.UPDATE_SPECS, Mapping):
        raise TypeError(f"{cls.__name__}.UPDATE_SPECS must be a mapping, got {type(cls.UPDATE_SPECS).__name__}")
    for op_name, specs in cls.UPDATE_SPECS.items():
        for spec in specs:
            if not _is_spec(spec):
                raise TypeError(
                    f"{cls.__name__}.UPDATE_SPECS[{op_name!r}]: expected ('arg', index, key) or ('kwarg', name, key), "
                    f"got {spec!r}"
                )


def _is_spec(spec: Any) -> bool:
    if not (isinstance(spec, (tuple, list)) and len(spec) == 3 and isinstance(spec[2], str)):
        return False
    kind, where, _ = spec
    if kind == "arg":
        return isinstance(where, int) and not isinstance(where, bool) and where >= 0
    return kind == "kwarg" and isinstance(where, str)


# ---------------------------------------------------------------- the registry
# Name of an operator (`f`, `f.default`, `f.out`, or with its namespace, `ns::f.out`) -> the class. Users' classes win
# over those of files, which are found by the whole name of their operator, as two namespaces may have one name.
_NPU_GRAPH_OP_HANDLERS: dict[str, type[NpuGraphOpHandler]] = {}
_from_declarations: dict[str, type[NpuGraphOpHandler]] = {}  # `OpOverload.name()` -> the class


def register_npu_graph_handler(
    op_names: str | Sequence[str],
) -> Callable[[type[NpuGraphOpHandler]], type[NpuGraphOpHandler]]:
    """Decorator: makes a class the handler of operators, by name: ``f``, ``f.default``, ``f.out`` or ``ns::f.out``.

    Warns where it takes the place of another class. A capture that is under way asks for the handler at each call, so
    that one registered during it counts from then on. Raises TypeError for what is no class derived from
    `NpuGraphOpHandler`, RuntimeError where overloads of one operator, of which one may be captured in the place of
    another, would not be updated alike.
    """
    names = [op_names] if isinstance(op_names, str) else list(op_names) if isinstance(op_names, Sequence) else []
    if not names or not all(isinstance(name, str) and name for name in names):
        raise TypeError(f"register_npu_graph_handler: expected the name of an operator, or several, got {op_names!r}")

    def register(cls: type[NpuGraphOpHandler]) -> type[NpuGraphOpHandler]:
        if not (isinstance(cls, type) and issubclass(cls, NpuGraphOpHandler)):
            what = f"an instance of {type(cls).__name__}" if not isinstance(cls, type) else f"the class {cls.__name__}"
            raise TypeError(f"register_npu_graph_handler: expected a class derived from NpuGraphOpHandler, got {what}")
        _check_overloads(cls, names)
        for name in names:
            known = _NPU_GRAPH_OP_HANDLERS.get(name)
            if known is not None and known is not cls:
                warnings.warn(
                    f"the graph handler of {name!r} is overridden: {known.__name__} -> {cls.__name__}", stacklevel=2
                )
            _NPU_GRAPH_OP_HANDLERS[name] = cls
        return cls

    return register


def handler_of(function: Callable[..., Any]) -> type[NpuGraphOpHandler] | None:
    """The handler of an operator, or of a function by its ``__name__``; None: it is captured as any other."""
    if not isinstance(function, OpOverload):
        return _NPU_GRAPH_OP_HANDLERS.get(getattr(function, "__name__", ""))
    whole, name = function.name(), function.__name__
    found = _NPU_GRAPH_OP_HANDLERS.get(whole) or _NPU_GRAPH_OP_HANDLERS.get(name)
    if (found is None or found._declared) and name.endswith(".default"):
        found = _NPU_GRAPH_OP_HANDLERS.get(name.removesuffix(".default")) or found
    return _from_declarations.get(whole) if found is None or found._declared else found


def _updates_like(one: type[NpuGraphOpHandler], name: str, other: type[NpuGraphOpHandler], other_name: str) -> bool:
    """Whether two handlers take the same keys, as far as one can see: by one ``update_args``, or one set of keys."""
    if one is other:
        return True
    keys = {key for _, _, key in one.get_update_specs(name)}
    if keys or other.get_update_specs(other_name):
        return keys == {key for _, _, key in other.get_update_specs(other_name)}
    return one.update_args.__func__ is other.update_args.__func__  # type: ignore[attr-defined]


def _replaces(cls: type[NpuGraphOpHandler]) -> bool:
    return cls.prepare_capture.__func__ is not NpuGraphOpHandler.prepare_capture.__func__  # type: ignore[attr-defined]


def _check_overloads(cls: type[NpuGraphOpHandler], names: Sequence[str]) -> None:
    """Refuses a class that may capture another overload, which another class would update otherwise."""
    for name in names:
        base = name.partition(".")[0]
        for known_name, known in _NPU_GRAPH_OP_HANDLERS.items():
            if known_name.partition(".")[0] != base or known_name in names or known._declared:
                continue
            if (_replaces(cls) or _replaces(known)) and not _updates_like(cls, name, known, known_name):
                raise RuntimeError(
                    f"{cls.__name__} for {name!r} and {known.__name__} for {known_name!r}: one overload may be "
                    "captured in the place of the other (prepare_capture), so both need the same keys in update_args; "
                    "derive both from one class that has it, or register one class for both"
                )


def replacement_of(
    handler: type[NpuGraphOpHandler], function: Callable[..., Any], actual: Callable[..., Any]
) -> type[NpuGraphOpHandler]:
    """The handler of a function that is captured in another's place. Raises RuntimeError where it updates otherwise."""
    name, actual_name = getattr(function, "__name__", ""), getattr(actual, "__name__", "")
    found = handler_of(actual)
    if found is None or not _updates_like(handler, name, found, actual_name):
        how = "has no handler" if found is None else f"has the handler {found.__name__}, which takes other keys"
        raise RuntimeError(
            f"{handler.__name__}.prepare_capture captures {actual_name!r} in the place of {name!r}, and "
            f"{actual_name!r} {how}: register one for it whose update_args takes the same keys"
        )
    return found


# ---------------------------------------------------------------- handlers from declarations
def declared_handler(overload: OpOverload, declaration: GraphDeclaration) -> None:
    """Makes the handler class of what a file, or `Library.register_graph`, says of an operator, and registers it."""
    name = overload.__name__
    names = argument_names(overload)
    specs = [("arg", names.index(key), key) for key in declaration.update]
    members: dict[str, Any] = {"UPDATE_SPECS": {name: specs}, "_declared": True, "__module__": __name__}
    for hook, reference in declaration.hooks.items():
        members.update(_hook_members(hook, reference))
    cls = type(f"{overload._schema.name}_{overload._overloadname}_graph", (NpuGraphOpHandler,), members)
    _from_declarations[overload.name()] = cls
    for key in (name, overload._schema.name) if name.endswith(".default") else (name,):
        if key not in _NPU_GRAPH_OP_HANDLERS or _NPU_GRAPH_OP_HANDLERS[key]._declared:
            _NPU_GRAPH_OP_HANDLERS[key] = cls


def _forget_declared(overload: OpOverload) -> None:
    cls = _from_declarations.pop(overload.name(), None)
    for key in [key for key, known in _NPU_GRAPH_OP_HANDLERS.items() if known is cls]:
        del _NPU_GRAPH_OP_HANDLERS[key]


def _hook_members(hook: str, reference: str) -> dict[str, Any]:
    """The class methods that a named hook, or a Python function ``module:function``, gives a handler."""
    if reference in NAMED.get(hook, ()):  # the only one there is: into outputs that are allocated before
        return {"prepare_capture": classmethod(into_outputs), "postprocess_result": classmethod(given_outputs)}

    function = python_function(reference)

    def call(cls: type[NpuGraphOpHandler], *arguments: Any) -> Any:
        return function(*arguments)

    return {HOOKS[hook]: classmethod(call)}


hooks.fill(graph_declared=declared_handler, graph_forgotten=_forget_declared)
for _overload, _declaration in declarations.values():
    declared_handler(_overload, _declaration)
