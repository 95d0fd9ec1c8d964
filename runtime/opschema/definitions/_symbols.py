"""Symbols: an operator's arguments, and what is computed of them, while its definition runs.

A symbol is a step of what the definition becomes. It knows the step's name, its operands, what kind of value it stands
for and what else there is to say. Equal ones are one object, so that they are compared by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ._conditions import text_of

if TYPE_CHECKING:
    from ._tracer import Tracer

__all__ = [
    "DefinitionError", "Number", "Property", "Several", "Shape", "Symbol", "TensorList", "TensorSymbol", "make_symbol",
    "operands_of",
]  # fmt: skip


class DefinitionError(RuntimeError):
    """A definition says what cannot be carried out; what to do instead is in the message."""


class Symbol:
    """A value that is known when the operator is called."""

    __slots__ = ("args", "kind", "of", "step", "uses_gradient", "what")

    def __init__(self, of: Tracer, kind: str, step: str, args: tuple[Symbol | None, ...], what: Any) -> None:
        self.of, self.kind, self.step, self.args, self.what = of, kind, step, args, what
        self.uses_gradient: bool = step == "grad" or any(a is not None and a.uses_gradient for a in args)

    def __hash__(self) -> int:
        return id(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """A call of an operator with symbols, ``ops.ns.name(x)`` or ``torch.name(x)``, becomes a step."""
        kwargs = kwargs or {}
        tracer = next(s.of for s in operands_of((args, tuple(kwargs.values()))))
        return tracer.call(func, args, kwargs)

    def __iter__(self) -> Iterator[Any]:
        raise DefinitionError(f"{self!r} has no length before the operator is called")

    def __format__(self, spec: str) -> str:
        """In a check's message, its value in the call."""
        return self.of.quote(self)

    def __repr__(self) -> str:
        return text_of(self)

    def spelled(self, operands: Sequence[str]) -> str:
        """How a step that has no form of its own reads."""
        if self.step == "on_device":
            return f"{operands[0]}.is_{self.what}"
        if self.step == "dtype_in":
            return f"one_of({', '.join([operands[0], *map(repr, self.what)])})"
        if self.step == "default":
            return f"{self.what[1]}=..."
        name = self.step
        if name == "call":
            name = self.of.name_of(self.what)
        elif name == "python":
            name = getattr(self.what[0], "__name__", type(self.what[0]).__name__.lower())
        return f"{name}({', '.join(operands)})"


class Number(Symbol):
    """An int, float or bool, or a Scalar, which may be an int or a float."""

    __slots__ = ()
    __hash__ = Symbol.__hash__

    def __bool__(self) -> bool:
        return self.of.decide(self if self.kind == "bool" else self != 0)

    def __neg__(self) -> Any:
        return self.of.arithmetic("neg", self)

    def __pow__(self, other: Any) -> Any:
        return self.of.power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return self.of.power(other, self)

    def __eq__(self, other: object) -> Any:
        return self.of.compare("eq", self, other)

    def __ne__(self, other: object) -> Any:
        equal = self.of.compare("eq", self, other)
        return NotImplemented if equal is NotImplemented else self.of.negation(equal)

    def __lt__(self, other: Any) -> Any:
        return self.of.compare("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return self.of.compare("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return self.of.compare("lt", other, self)

    def __ge__(self, other: Any) -> Any:
        return self.of.compare("le", other, self)


class Property(Symbol):
    """A str, dtype, device or anything else that is compared and passed on."""

    __slots__ = ()
    __hash__ = Symbol.__hash__

    def __eq__(self, other: object) -> Any:
        return self.of.make("bool", "equal", self, self.of.lift(other))

    def __ne__(self, other: object) -> Any:
        return self.of.negation(self == other)

    def _asked(self, kind: str, made: str, step: str) -> Any:
        """A step of what is asked of dtypes, or devices, alone."""
        if self.kind != kind:
            raise AttributeError(f"{self!r} is a {self.kind}, no {kind}")
        return self.of.make(made, step, self)

    @property
    def is_floating_point(self) -> Any:
        return self._asked("dtype", "bool", "is_floating")

    @property
    def is_complex(self) -> Any:
        return self._asked("dtype", "bool", "is_complex")

    @property
    def is_signed(self) -> Any:
        return self._asked("dtype", "bool", "is_signed")

    @property
    def itemsize(self) -> Any:
        return self._asked("dtype", "int", "itemsize")

    @property
    def type(self) -> Any:
        return self._asked("device", "str", "device_type")

    @property
    def index(self) -> Any:
        return self._asked("device", "object", "device_index")


class Shape(Symbol):
    """A sequence of ints whose length may be unknown."""

    __slots__ = ()
    __hash__ = Symbol.__hash__

    def __eq__(self, other: object) -> Any:
        if self.step == "shape_of" and isinstance(other, Shape) and other.step == "shape_of":
            return self.of.make("bool", "same_shape", self.args[0], other.args[0])
        return self.of.make("bool", "same_sizes", self, self.of.shape(other))

    def __ne__(self, other: object) -> Any:
        return self.of.negation(self == other)

    def __getitem__(self, at: Any) -> Any:
        if not isinstance(at, slice):
            return self.of.make("int", "size_at", self, self.of.lift(at))
        if at.step is not None:
            raise DefinitionError(f"{self!r}: a shape is sliced without a step")
        bounds = [None if v is None else self.of.lift(v) for v in (at.start, at.stop)]
        return self.of.make("shape", "slice", self, *bounds)

    def __add__(self, other: Any) -> Any:
        return self.of.make("shape", "concat", self, self.of.shape(other))

    def __radd__(self, other: Any) -> Any:
        return self.of.make("shape", "concat", self.of.shape(other), self)

    def __contains__(self, size: Any) -> bool:
        return bool(self.of.make("bool", "contains", self, self.of.lift(size)))

    def numel(self) -> Any:
        """The product of the sizes."""
        return self.of.make("int", "count", self)

    def rank(self) -> Any:
        """How many sizes there are; ``len`` would have to be a number now."""
        return self.of.make("int", "length", self)


class Several(Symbol):
    """What an operator with several outputs returns."""

    __slots__ = ()
    __hash__ = Symbol.__hash__

    def __getitem__(self, at: int) -> Any:
        return self.of.make("tensor", "item", self, what=at)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self.of.returns_of(self))])


class Listed(Property):
    """A list of tensors or other values, whose length is known in the call."""

    __slots__ = ()
    __hash__ = Symbol.__hash__

    def __getitem__(self, at: Any) -> Any:
        kind = _ELEMENTS[self.kind]
        if isinstance(at, int):
            return self.of.make(kind, "item", self, what=at)
        if isinstance(at, Number) and at.kind == "int":
            return self.of.make(kind, "at", self, at)
        raise DefinitionError(f"{self!r}[{at!r}]: a list's items are taken by number")

    def __contains__(self, value: Any) -> bool:
        return bool(self.of.make("bool", "contains", self, self.of.lift(value)))

    def rank(self) -> Any:
        """How many items there are; ``len`` would have to be a number now."""
        return self.of.make("int", "items", self)


class TensorList(Listed):
    """A list of tensors."""

    __slots__ = ()
    __hash__ = Symbol.__hash__

    def __add__(self, other: Any) -> Any:
        return self.of.make("tensors", "joined", self, self.of.together(other))

    def __radd__(self, other: Any) -> Any:
        return self.of.make("tensors", "joined", self.of.together(other), self)


class TensorSymbol(Symbol):
    """A tensor. Its methods and Python's operators are those of tensors: calls of operators."""

    __slots__ = ()
    __hash__ = Symbol.__hash__

    @property
    def shape(self) -> Any:
        return self.of.make("shape", "shape_of", self)

    @property
    def dtype(self) -> Any:
        return self.of.make("dtype", "dtype", self)

    @property
    def device(self) -> Any:
        return self.of.make("device", "device", self)

    @property
    def ndim(self) -> Any:
        return self.of.make("int", "ndim", self)

    @property
    def is_cpu(self) -> Any:
        return self.of.make("bool", "on_device", self, what="cpu")

    @property
    def is_npu(self) -> Any:
        return self.of.make("bool", "on_device", self, what="npu")

    @property
    def is_cuda(self) -> Any:
        return self.of.make("bool", "on_device", self, what="cuda")

    @property
    def is_mps(self) -> Any:
        return self.of.make("bool", "on_device", self, what="mps")

    @property
    def is_meta(self) -> Any:
        return self.of.make("bool", "on_device", self, what="meta")

    def dim(self) -> Any:
        return self.ndim

    def numel(self) -> Any:
        return self.of.make("int", "numel", self)

    def size(self, dim: Any = None) -> Any:
        return self.shape if dim is None else self.of.make("int", "size", self, self.of.lift(dim))

    def contiguous(self) -> Any:
        return self.of.make("tensor", "contiguous", self)

    def is_contiguous(self) -> Any:
        return self.of.make("bool", "is_contiguous", self)

    def is_floating_point(self) -> Any:
        return self.dtype.is_floating_point

    def is_complex(self) -> Any:
        return self.dtype.is_complex

    def element_size(self) -> Any:
        return self.dtype.itemsize

    @property
    def itemsize(self) -> Any:
        return self.dtype.itemsize

    @property
    def requires_grad(self) -> Any:
        return self.of.make("bool", "requires_grad", self)

    @property
    def nbytes(self) -> Any:
        return self.numel() * self.itemsize

    @property
    def T(self) -> Any:  # noqa: N802  (PyTorch's name)
        return self.of.make("tensor", "transposed", self)

    @property
    def mT(self) -> Any:  # noqa: N802  (PyTorch's name)
        return self.of.make("tensor", "matrix_transposed", self)

    def stride(self, dim: Any = None) -> Any:
        if dim is None:
            return self.of.make("shape", "stride", self)
        return self.of.make("int", "stride_at", self, self.of.lift(dim))

    def storage_offset(self) -> Any:
        return self.of.make("int", "storage_offset", self)

    def __bool__(self) -> bool:
        raise DefinitionError(
            f"the value of {self!r} is data, which a definition cannot depend on: call op.python(...)"
        )

    def __getitem__(self, at: Any) -> Any:
        return self.of.indexed(self, at)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__") or not self.of.has_method(name):
            raise AttributeError(f"{self!r}.{name}: no property that is known before the call, and no operator")
        return lambda *args, **kwargs: self.of.method(name, (self, *args), kwargs)

    def __eq__(self, other: object) -> Any:
        return self.of.operate("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return self.of.operate("ne", self, other)

    def __neg__(self) -> Any:
        return self.of.operate("neg", self)


def _operator(name: str, *, reflected: bool = False) -> Callable[[TensorSymbol, Any], Any]:
    if reflected:
        return lambda self, other: self.of.operate(name, other, self)
    return lambda self, other: self.of.operate(name, self, other)


def _arithmetic(name: str, *, reflected: bool = False) -> Callable[[Number, Any], Any]:
    if reflected:
        return lambda self, other: self.of.arithmetic(name, other, self)
    return lambda self, other: self.of.arithmetic(name, self, other)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(TensorSymbol, f"__{_name}__", _operator(_name))
    setattr(TensorSymbol, f"__r{_name}__", _operator(_name, reflected=True))
for _name in ("lt", "le", "gt", "ge"):
    setattr(TensorSymbol, f"__{_name}__", _operator(_name))
for _name, _step in {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floordiv", "mod": "mod",
}.items():  # fmt: skip
    setattr(Number, f"__{_name}__", _arithmetic(_step))
    setattr(Number, f"__r{_name}__", _arithmetic(_step, reflected=True))

_ELEMENTS = {"tensors": "tensor", "floats": "float", "bools": "bool", "numbers": "number", "strs": "str"}
_CLASSES: dict[str, type[Symbol]] = {
    "tensor": TensorSymbol, "several": Several, "shape": Shape, "int": Number, "float": Number, "bool": Number,
    "number": Number, "tensors": TensorList, "floats": Listed, "bools": Listed, "numbers": Listed, "strs": Listed,
}  # fmt: skip


def make_symbol(of: Tracer, kind: str, step: str, args: tuple[Symbol | None, ...], what: Any) -> Symbol:
    """A symbol of the class for its kind."""
    return _CLASSES.get(kind, Property)(of, kind, step, args, what)


def operands_of(values: Any) -> Iterator[Symbol]:
    """The symbols in nested tuples, lists and slices."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from operands_of(value)
        elif isinstance(value, slice):
            yield from operands_of((value.start, value.stop, value.step))
        elif isinstance(value, Symbol):
            yield value
