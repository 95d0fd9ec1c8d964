"""What can be called: operators by their schemas, methods, and functions by their signatures.

``find_targets`` looks at the package itself, so that what is added to it is searched from then on. It runs in a worker;
what it gives is plain, and sorted, so that a seed and a number mean the same call wherever they are drawn.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from types import GenericAlias, ModuleType
from typing import Any

from benchmarks.fuzz.modules import MODULES
from benchmarks.fuzz.objects import OBJECTS, class_of
from benchmarks.fuzz.reasons import LEFT_OUT

__all__ = ["Parameter", "Target", "find_targets"]

# Functions that give functions: what they give is called.
APPLIED = frozenset(("grad", "grad_and_value", "vmap", "jacrev", "jacfwd", "hessian", "functionalize", "trace"))
# What changes the process for whoever comes next runs in a child of it.
_CHANGES = re.compile(
    r"^_?(un)?(set|push|pop|register|install|uninstall|impl|define|use|reset|count|hide|change|add$|discard|remove|py_impl|"
    r"autocast_|clear|enter_|exit_|take_|rename|generate_methods|__enter__|__call__$)"
)
_CHANGING_MODULES = ("library.", "overrides.", "npu.", "_core.npu_")
# Where a name that an operator has is that operator, or calls it with the same arguments.
_OF_OPERATORS = ("", "nn.functional", "func")
# Methods of every object, that would say nothing of this one; and those that are not called with a self.
_OF_EVERY_OBJECT = frozenset((
    "__class__", "__class_getitem__", "__delattr__", "__dict__", "__dir__", "__doc__", "__getattribute__",
    "__init_subclass__", "__module__", "__new__", "__pyx_vtable__", "__setattr__", "__sizeof__", "__subclasshook__",
    "__weakref__", "__slotnames__",
    "__dataclass_fields__", "__dataclass_params__",
    "__annotations__", "__slots__", "__abstractmethods__", "__match_args__", "__orig_bases__", "__parameters__",
))  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """One parameter; ``type`` is written as in a schema, with ``function``, ``any``, … beside a schema's types."""

    name: str
    type: str
    required: bool = True
    kwarg_only: bool = False
    written: bool = False


@dataclass(frozen=True)
class Target:
    """Something to call.

    ``form`` is how: function; method, property or setter of a tensor; attribute; or applied, of what gives a function.
    """

    path: str
    form: str
    group: str
    parameters: tuple[Parameter, ...]
    isolated: bool = False

    @property
    def name(self) -> str:
        """How findings are grouped: without the overload."""
        if self.form in ("method", "property", "setter"):
            return f"torch.Tensor.{self.path}"
        is_overload = self.path.startswith("torch.ops.") and self.group != "objects"
        return self.path.rpartition(".")[0] if is_overload else self.path


def find_targets(library: str) -> list[Target]:
    """Everything public of the package of that name."""
    torch = importlib.import_module(library)
    for module in MODULES:  # first: some give tensors methods as they are imported
        importlib.import_module(f"{library}.{module}" if module else library)
    schemas = _schemas(torch)
    stubs = _stub_signatures(Path(torch.__file__ or "").parent / "_core.pyi")
    found: dict[str, Target] = {}
    for targets in (
        _operators(schemas),
        _tensor_methods(torch, schemas),
        _object_methods(torch),
        *(_functions(torch, library, module, schemas, stubs) for module in MODULES),
    ):
        for target in targets:
            if target.path not in LEFT_OUT:
                found.setdefault(f"{target.form} {target.path}", target)
    return [found[key] for key in sorted(found)]


# ---------------------------------------------------------------- operators and methods


def _schemas(torch: Any) -> dict[str, list[tuple[str, tuple[Parameter, ...]]]]:
    """The operators' names → path and parameters of each overload."""
    found: dict[str, list[tuple[str, tuple[Parameter, ...]]]] = {}
    for qualname in sorted(torch._core.operator_names()):
        if qualname.startswith("fuzz_op::"):
            continue  # defined where an object of `OBJECTS` is made
        op = torch._core.find_operator(qualname)
        name, overload = op._schema.name, op._overloadname or "default"
        parameters = tuple(
            Parameter(a.name, str(a.type), not a.has_default, a.kwarg_only, a.is_write) for a in op._schema.arguments
        )
        packet = f"torch.ops.{op.namespace}.{name}"
        path = f"getattr({packet}, {overload!r})" if iskeyword(overload) else f"{packet}.{overload}"
        found.setdefault(name, []).append((path, parameters))
    return found


def _operators(schemas: dict[str, list[tuple[str, tuple[Parameter, ...]]]]) -> Iterator[Target]:
    for overloads in schemas.values():
        for path, parameters in overloads:
            yield Target(path, "function", "operators", parameters)


_SELF = Parameter("self", "Tensor")


def _tensor_methods(torch: Any, schemas: dict[str, list[tuple[str, tuple[Parameter, ...]]]]) -> Iterator[Target]:
    for name in dir(torch.Tensor):
        if name in _OF_EVERY_OBJECT:
            continue
        value = inspect.getattr_static(torch.Tensor, name)
        if isinstance(value, staticmethod):
            yield Target(f"torch.Tensor.{name}", "function", "methods", _signature(value.__func__))
        elif callable(value) or hasattr(value, "__func__"):
            parameters = schemas[name][0][1] if name in schemas else (_SELF, *_signature(value)[1:])
            yield Target(name, "method", "methods", parameters, _changes(name))
        else:
            yield Target(name, "property", "methods", (_SELF,))
            yield Target(name, "setter", "methods", (_SELF, Parameter("value", "any")))


def _object_methods(torch: Any) -> Iterator[Target]:
    seen: dict[int, Any] = {}  # what is called on an earlier one, by its identity, which is another's once it is gone
    for maker in OBJECTS:
        kind = class_of(maker, torch)
        for name in dir(kind):
            if name in _OF_EVERY_OBJECT or name == "__init__":
                continue
            value = inspect.getattr_static(kind, name)
            if inspect.getattr_static(object, name, None) is value or id(value) in seen:
                continue  # Python's own
            seen[id(value)] = value
            if (
                (inspect.isfunction(value) or isinstance(value, type))
                and name.startswith("_")
                and not name.endswith("__")
            ):
                continue  # a class's own, in Python: its callers answer for what it is given
            if callable(value) or hasattr(value, "__func__"):
                yield Target(f"{maker}.{name}", "function", "objects", _method_signature(value), _changes(name))
            else:
                yield Target(f"{maker}.{name}", "attribute", "objects", ())


def _method_signature(value: Any) -> tuple[Parameter, ...]:
    """Without ``self``."""
    if isinstance(value, staticmethod):
        return _signature(value.__func__)
    return _signature(getattr(value, "__func__", value))[1:]


# ---------------------------------------------------------------- functions


def _functions(
    torch: Any,
    library: str,
    module_name: str,
    schemas: dict[str, list[tuple[str, tuple[Parameter, ...]]]],
    stubs: dict[str, tuple[Parameter, ...]],
) -> Iterator[Target]:
    prefix = f"torch.{module_name}." if module_name else "torch."
    group = module_name or "functions"
    is_core = module_name == "_core"
    for name, value in _public_callables(library, module_name):
        path, isolated = prefix + name, _changes(name) or path_changes(f"{module_name}.{name}")
        if name in schemas and module_name in _OF_OPERATORS:
            parameters = schemas[name][0][1]
        else:
            parameters = stubs[name] if is_core and name in stubs else _signature(value)
        yield Target(path, "function", group, parameters, isolated)
        if name in APPLIED and module_name in ("", "func"):
            yield Target(path, "applied", group, (Parameter("func", "function"), Parameter("args", "Tensor"),
                                                  Parameter("more", "Tensor", False)))  # fmt: skip


def _public_callables(library: str, module_name: str) -> Iterator[tuple[str, Any]]:
    """What a module lists in ``__all__``, or has of its own; the package and its core, what is not imported.

    What its package has under the same name is called there.
    """
    module = importlib.import_module(f"{library}.{module_name}" if module_name else library)
    parent = importlib.import_module(module.__name__.rpartition(".")[0]) if module_name else None
    lazy = frozenset(getattr(module, "_LAZY_NAMES", ()))
    listed = getattr(module, "__all__", None) if module_name else None
    for name in sorted({*dir(module), *lazy} if listed is None else listed):
        value = getattr(module, name)
        if not callable(value) or isinstance(value, (ModuleType, GenericAlias)) or name.startswith("__"):
            continue
        if module_name == "_core":
            yield name, value
            continue
        if name.startswith("_") or getattr(parent, name, None) is value:
            continue
        if listed is not None or name in lazy or _is_own(value, module):
            yield name, value


def _is_own(value: Any, module: ModuleType) -> bool:
    home = getattr(value, "__module__", module.__name__)
    if "." in module.__name__:
        return bool(home == module.__name__)
    return home.partition(".")[0] in (module.__name__, "torch", "builtins", "_cython_3_0", "")  # torch: of packets


def path_changes(path: str) -> bool:
    """Whether calls of a module's functions change the process."""
    return path.startswith(_CHANGING_MODULES)


def _changes(name: str) -> bool:
    return _CHANGES.match(name) is not None and not name.startswith("set_data")


def _signature(function: Any) -> tuple[Parameter, ...]:
    """By annotations, else by names; what has no signature is called with anything."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return (Parameter("self", "any"), Parameter("other", "Tensor"))
    found = []
    for p in parameters:
        if p.kind == p.VAR_KEYWORD:
            continue
        type_ = _type_of(p.annotation if isinstance(p.annotation, str) else "", p.name)
        if p.kind == p.VAR_POSITIONAL:
            found += [Parameter(p.name, type_, False), Parameter(f"{p.name}2", type_, False)]
        else:
            found.append(Parameter(p.name, type_, p.default is p.empty, p.kind == p.KEYWORD_ONLY))
    return tuple(found)


def _stub_signatures(path: Path) -> dict[str, tuple[Parameter, ...]]:
    """Of the compiled functions, which have none at run time."""
    found = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        init = node
        if isinstance(node, ast.ClassDef):
            init = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), node)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and isinstance(init, ast.FunctionDef):
            found[node.name] = tuple(_stub_parameters(init.args, skip=isinstance(node, ast.ClassDef)))
    return found


def _stub_parameters(args: ast.arguments, skip: bool) -> Iterator[Parameter]:
    names = args.args[1:] if skip else args.args
    first_default = len(names) - len(args.defaults)
    for i, arg in enumerate(names):
        yield Parameter(arg.arg, _type_of(_text(arg.annotation), arg.arg), i < first_default)
    if args.vararg is not None:
        yield Parameter(args.vararg.arg, _type_of(_text(args.vararg.annotation), args.vararg.arg), False)
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield Parameter(arg.arg, _type_of(_text(arg.annotation), arg.arg), default is None, True)


def _text(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node)


# An annotation contains the one → the type is the other; the first that fits.
_BY_ANNOTATION = (
    ("Callable", "function"),
    ("Sequence[Tensor", "Tensor[]"),
    ("tuple[Tensor", "Tensor[]"),
    ("Iterable[Tensor", "Tensor[]"),
    ("Tensor", "Tensor"),
    ("OpOverload", "operator"),
    ("dtype", "ScalarType?"),
    ("DType", "ScalarType?"),
    ("device", "Device?"),
    ("Sequence[int", "int[]"),
    ("tuple[int", "int[]"),
    ("Size", "int[]"),
    ("bool", "bool"),
    ("float", "float"),
    ("int", "int"),
    ("str", "str"),
    ("Mapping", "dict"),
    ("dict", "dict"),
    ("type", "class"),
)
_BY_NAME = (
    (r"^(self|input|tensor|x|a|b|other|t|grad|grad_output|target|weight|data|value|values|params?)$", "Tensor"),
    (r"^(tensors|outputs|inputs|args|primals|tangents|cotangents|grad_outputs|parameters)2?$", "Tensor[]"),
    (r"^(func|function|fn|f|hook|kernel|model)$", "function"),
    (r"^(size|shape|sizes|dims|strides?)2?$", "int[]"),
    (r"^(dim|n|index|step|offset|in_dims|out_dims|argnums|chunk_size|device_index)$", "int"),
    (r"^(dtype)$", "ScalarType?"),
    (r"^(device|device_type)$", "Device?"),
    (r"^(name|qualname|schema|key|ns|namespace)$", "str"),
    (r"^(is_|has_|allow|create_|retain_|strict|enabled|mode|requires_grad|inplace)", "bool"),
)


def _type_of(annotation: str, name: str) -> str:
    for part, type_ in _BY_ANNOTATION:
        if part in annotation:
            return type_
    for pattern, type_ in _BY_NAME:
        if re.search(pattern, name):
            return type_
    return "any"
