"""Names that the library does not have, while a file of PyTorch's tests is imported.

A file of a thousand tests imports what one of them needs, and runs calls of the library as its classes are made. Here
an absent name becomes an `Absent` until the file is imported: it may be named, called, subclassed and decorated with.
A test that uses one later fails with `AbsentName`, which is no Exception, so that no test can catch it. For that the
code of modules and classes is changed as it is compiled; that of functions, the tests, stays as it is, but for what
PyTorch's tools do as they make tests.
"""

from __future__ import annotations

import ast
import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, NoReturn

__all__ = ["Absent", "AbsentName", "collected", "forgiving", "run"]

LIBRARY = ("torch", "functorch", "torchgen", "torchvision")
# Element types that PyTorch's tools list.
TYPES = {"complex32", "chalf", "quint8", "qint8", "qint32", "quint4x2", "quint2x4", "float8_e4m3fn", "float8_e4m3fnuz"}
TYPES |= {"float8_e5m2", "float8_e5m2fnuz", "bits8", "bits16"}
# These look at the frame that calls them.
OF_FRAMES = ("globals", "locals", "vars", "dir", "super", "eval", "exec", "instantiate_device_type_tests")
FROM, IMPORT, CALL, ATTRIBUTE = "__absent_from__", "__absent_import__", "__absent_call__", "__absent_attribute__"

_collecting = True


class AbsentName(BaseException):
    """A test used a name that was absent when its file was imported."""


def collected() -> None:
    """The file is imported: from now on an absent name fails the test that uses it."""
    global _collecting
    _collecting = False


def _stands(name: str) -> Absent:
    if not _collecting:
        _fail(name)
    return Absent(name)


def _fail(name: str) -> NoReturn:
    raise AbsentName(f"absent: {name}")


class Absent:
    """Stands for an absent name."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_absent", name)

    def __getattr__(self, attribute: str) -> Any:
        if attribute in ("__name__", "__qualname__"):
            return self._absent.split(".")[-1]
        if attribute.startswith("__") and attribute.endswith("__"):
            raise AttributeError(attribute)
        return _stands(f"{self._absent}.{attribute}")

    def __setattr__(self, attribute: str, value: Any) -> None:
        _stands(self._absent)

    def __setitem__(self, key: Any, value: Any) -> None:
        _stands(self._absent)

    def __getitem__(self, key: Any) -> Absent:
        return _stands(f"{self._absent}[]")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = _stands(f"{self._absent}()")
        decorated = args[0] if len(args) == 1 and not kwargs else None
        if isinstance(decorated, type):
            return decorated
        return _failing(decorated, self._absent) if isinstance(decorated, FunctionType) else result

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type]:
        name = self._absent

        class AbsentBase:
            def __new__(cls, *args: Any, **kwargs: Any) -> Any:
                return _stands(f"{name}()")

        return (AbsentBase,)

    def __iter__(self) -> Iterator[Any]:
        _stands(self._absent)
        return iter(())

    def __instancecheck__(self, instance: Any) -> bool:
        return False  # as there is no such class, nothing is of it

    __subclasscheck__ = __instancecheck__

    def __enter__(self) -> NoReturn:
        _fail(self._absent)

    def __exit__(self, *exception: object) -> None:
        """Was not entered."""

    def __or__(self, other: Any) -> Absent:
        return self

    __ror__ = __or__

    def __bool__(self) -> bool:
        _stands(self._absent)
        return False

    def __repr__(self) -> str:
        return str(self._absent)


class AbsentType(Absent):
    """Stands for an absent element type: tools ask of what they list whether it is one."""

    @property
    def __class__(self) -> Any:
        return importlib.import_module("torch").dtype

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError("an element type has one class")

    def __bool__(self) -> bool:
        return True  # as a type is: tests made for several are told apart by it


def _failing(test: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A test with an absent decorator."""

    @functools.wraps(test)
    def fails(*args: Any, **kwargs: Any) -> NoReturn:
        _fail(name)

    return fails


def _attribute(value: Any, name: str) -> Any:
    try:
        return getattr(value, name)
    except AttributeError:
        if not _collecting:
            raise
        absent = AbsentType if name in TYPES else Absent
        return absent(f"{getattr(value, '__name__', type(value).__name__)}.{name}")


def _from(module: str, name: str) -> Any:
    """``from module import name``."""
    try:
        found = importlib.import_module(module)
    except ImportError:
        return Absent(f"{module}.{name}")
    try:
        return getattr(found, name)
    except AttributeError:
        pass
    try:
        return importlib.import_module(f"{module}.{name}")
    except ImportError:
        return Absent(f"{module}.{name}")


def _import(module: str, top: bool) -> Any:
    """``import a.b.c``, which gives ``a``, or ``import a.b.c as d``, which gives ``c``."""
    root = module.partition(".")[0]
    try:
        found = importlib.import_module(module)
    except ImportError:
        return sys.modules.get(root, Absent(root)) if top else Absent(module)
    return sys.modules[root] if top else found


def _call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A call as a module or class is made: where it raises, what it gives is absent, not the whole file."""
    try:
        return function(*args, **kwargs)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        return Absent(f"{getattr(function, '__qualname__', function)}(), which raises {type(error).__name__}")


class _ForgivingAttributes(ast.NodeTransformer):
    """Makes reads of attributes forgiving."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return _through(node, ATTRIBUTE, node.value, node.attr) if isinstance(node.ctx, ast.Load) else node


class _Forgiving(_ForgivingAttributes):
    """Makes the code of modules and classes forgiving, and in tools reads of attributes in functions."""

    def __init__(self, tool: bool) -> None:
        self.tool = tool

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """What runs as the function is made: its decorators and defaults."""
        if self.tool:
            attributes = _ForgivingAttributes()
            node.body = [attributes.visit(one) for one in node.body]
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        node.args.defaults = [self.visit(one) for one in node.args.defaults]
        node.args.kw_defaults = [one and self.visit(one) for one in node.args.kw_defaults]
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in OF_FRAMES:
            return node
        return _through(node, CALL, node.func, *node.args, keywords=node.keywords)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        if node.level or not _of_library(node.module or "") or any(one.name == "*" for one in node.names):
            return node
        return [_assigned(node, one.asname or one.name, FROM, node.module, one.name) for one in node.names]

    def visit_Import(self, node: ast.Import) -> Any:
        return [
            _assigned(node, one.asname or one.name.partition(".")[0], IMPORT, one.name, one.asname is None)
            if _of_library(one.name)
            else ast.copy_location(ast.Import(names=[one]), node)
            for one in node.names
        ]


def _of_library(module: str) -> bool:
    return module.partition(".")[0] in LIBRARY


def _through(node: ast.expr, function: str, *args: Any, keywords: list[ast.keyword] | None = None) -> ast.Call:
    values = [one if isinstance(one, ast.expr) else ast.Constant(one) for one in args]
    call = ast.Call(func=ast.Name(function, ast.Load()), args=values, keywords=keywords or [])
    return ast.fix_missing_locations(ast.copy_location(call, node))


def _assigned(node: ast.stmt, target: str, function: str, *args: Any) -> ast.stmt:
    call = ast.Call(func=ast.Name(function, ast.Load()), args=[ast.Constant(one) for one in args], keywords=[])
    statement = ast.Assign(targets=[ast.Name(target, ast.Store())], value=call)
    return ast.fix_missing_locations(ast.copy_location(statement, node))


def forgiving(source: str, path: str, tool: bool) -> Any:
    """The code of a file of tests, or of a tool for them, compiled so that absent names do not end an import."""
    return compile(_Forgiving(tool).visit(ast.parse(source, path)), path, "exec")


def run(code: Any, module: ModuleType) -> None:
    """Runs what `forgiving` compiled as the code of a module."""
    # Who notes where it is called from, as a registration does, finds the module's file.
    call = FunctionType(_call.__code__.replace(co_filename=code.co_filename), globals())
    vars(module).update({FROM: _from, IMPORT: _import, CALL: call, ATTRIBUTE: _attribute})
    exec(code, vars(module))
