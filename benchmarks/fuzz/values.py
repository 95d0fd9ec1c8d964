"""Arguments as descriptions: each renders to Python that makes it under either library, and knows what is simpler.

In the rendered text ``torch`` is the library under test. A tensor gets a variable, so that it can be looked at after
the call, and so that another argument can be a window of its memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

__all__ = [
    "CLASSES",
    "AliasValue",
    "ListValue",
    "PlainValue",
    "TensorValue",
    "Value",
    "dtype_kind",
    "tensors_in",
    "values_in",
]

# What tests the patience of whoever binds arguments; a call's text begins with those it uses.
CLASSES = {
    "Sub": "class Sub(torch.Tensor):\n    pass",
    "BadIndex": 'class BadIndex:\n    def __index__(self):\n        raise ValueError("no index")',
    "FloatIndex": "class FloatIndex:\n    def __index__(self):\n        return 1.5",
    "HugeIndex": "class HugeIndex:\n    def __index__(self):\n        return 2**80",
    "BadIter": "class BadIter(list):\n    def __iter__(self):\n        raise ValueError('no items')",
    "LongLen": "class LongLen(list):\n    def __len__(self):\n        return 2**40",
    "Shrinks": (
        "class Shrinks:\n    def __init__(self, items):\n        self.items = items\n"
        "    def __index__(self):\n        self.items.clear()\n        return 1"
    ),
    "Anything": "class Anything:\n    def __getattr__(self, name):\n        return self",
    "BadBool": "class BadBool:\n    def __bool__(self):\n        raise ValueError('no truth')",
}


@dataclass(frozen=True)
class PlainValue:
    """An expression without tensors; ``simpler_texts`` are expressions to try in its place."""

    text: str
    simpler_texts: tuple[str, ...] = ()

    def moved(self, before: str, after: str) -> PlainValue:
        """On another device, where it is on, or is, that one."""
        return replace(self, text=re.sub(rf"\b{before}(?=[:'])", after, self.text))

    def simpler(self) -> Iterator[Value]:
        """Values to try in its place, the simplest first."""
        for text in self.simpler_texts:
            if text != self.text:
                yield PlainValue(text)


@dataclass(frozen=True)
class TensorValue:
    """A tensor: shape and dtype, how its elements lie, where, what they are."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    layout: str = "plain"  # or transposed, strided, expanded, offset, window
    device: str = "cpu"
    content: str = "ramp"  # or special, zero, index
    grad: str = ""  # or leaf, nonleaf
    subclass: bool = False

    def moved(self, before: str, after: str) -> TensorValue:
        """On another device, where it is on that one."""
        return replace(self, device=after) if self.device == before else self

    def simpler(self) -> Iterator[Value]:
        """Tensors to try in its place, the simplest first."""
        plain = TensorValue(self.shape)
        for other in (
            replace(self, shape=(3,), layout="plain"),
            plain,
            replace(self, device="cpu"),
            replace(self, subclass=False),
            replace(self, grad=""),
            replace(self, grad="leaf" if self.grad else ""),
            replace(self, layout="plain"),
            replace(self, content="ramp"),
            replace(self, dtype="float32"),
            replace(self, dtype="int64"),
            replace(self, shape=(), layout="plain"),
            replace(self, shape=(2,), layout="plain"),
            replace(self, shape=(2, 2), layout="plain"),
            replace(self, shape=(0,), layout="plain"),
            *(replace(self, shape=self.shape[:i] + self.shape[i + 1 :]) for i in range(len(self.shape))),
        ):
            if other != self:
                yield other

    def expression(self) -> str:
        """The Python that makes it."""
        shape, after = self.shape, ""
        if self.layout == "transposed" and len(shape) > 1:
            shape, after = (*shape[:-2], shape[-1], shape[-2]), ".transpose(-1, -2)"
        elif self.layout == "strided" and shape:
            shape, after = (*shape[:-1], 2 * shape[-1]), "[..., ::2]"
        elif self.layout == "expanded" and shape:
            shape, after = (1, *shape[1:]), f".expand({', '.join(map(str, shape))})"
        elif self.layout == "offset":
            shape, after = (2, *shape), "[1]"
        elif self.layout == "window":
            count, ones = sum(shape) + 1, ", ".join("1" for _ in shape)
            after = f".as_strided(({_joined(shape)}), ({ones}{',' if len(shape) == 1 else ''}), 0)"
            shape = (count,)
        options = f", dtype=torch.{self.dtype}"
        if self.device == "meta":
            text = f"torch.empty(({_joined(shape)}){options}, device='meta')"
        elif math.prod(shape) == 0:
            text = f"torch.zeros(({_joined(shape)}){options}{self._device()})"
        else:
            text = f"torch.tensor({_literal(shape, self._numbers(math.prod(shape)))}{options}{self._device()})"
        text += after
        if self.subclass:
            text += ".as_subclass(Sub)"
        if self.grad:
            text += ".detach().requires_grad_()" if after else ".requires_grad_()"
            text += ".clone()" if self.grad == "nonleaf" else ""
        return text

    def _device(self) -> str:
        return f", device='{self.device}'" if self.device != "cpu" else ""

    def _numbers(self, count: int) -> list[str]:
        kind = dtype_kind(self.dtype)
        if self.content == "index":
            numbers = [(2 * i + 1) % 3 for i in range(count)]
            return [str(bool(n)) if kind == "b" else str(n) for n in numbers]
        if kind == "b":
            return [str(self.content != "zero" and i % 3 != 1) for i in range(count)]
        if self.content == "zero":
            return ["0"] * count
        if self.content == "special":
            return [_SPECIAL[kind][i % len(_SPECIAL[kind])] for i in range(count)]
        steps = [(5 * i + 2) % 13 for i in range(count)]
        if kind == "u":
            return [str(n) for n in steps]
        if kind == "i":
            return [str(n - 4) for n in steps]
        if kind == "c":
            return [f"{n - 4}+{n % 3 - 1}j".replace("+-", "-") for n in steps]
        return [str((n - 4) / 2) for n in steps]


_INF, _NAN = "float('inf')", "float('nan')"
_SPECIAL = {
    "f": ["1.5", _INF, _NAN, f"-{_INF}", "-0.0", "6e4", "-3.5"],
    "c": ["1+1j", f"complex({_INF}, 0)", f"complex(0, {_NAN})", "0", "-2-1j"],
    "i": ["127", "-128", "0", "-1", "1"],
    "u": ["255", "0", "128", "1"],
}


def dtype_kind(name: str) -> str:
    """NumPy's letter for the kind of a dtype."""
    return {"bool": "b", "bfloat16": "f"}.get(name, name[0])


def _joined(shape: Sequence[int]) -> str:
    return ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")


def _literal(shape: Sequence[int], numbers: list[str]) -> str:
    if not shape:
        return numbers[0]
    step = len(numbers) // shape[0]
    parts = (_literal(shape[1:], numbers[i * step : (i + 1) * step]) for i in range(shape[0]))
    return f"[{', '.join(parts)}]"


@dataclass(frozen=True)
class AliasValue:
    """A window of the tensor of an earlier argument: the tensor itself where ``window`` is empty."""

    of: int  # the argument's place
    window: str

    def moved(self, before: str, after: str) -> AliasValue:
        """Itself: it is where the other argument is."""
        return self

    def simpler(self) -> Iterator[Value]:
        """The whole tensor; and one of its own."""
        if self.window:
            yield AliasValue(self.of, "")
        yield TensorValue((3,))


@dataclass(frozen=True)
class ListValue:
    """A list, a tuple, or a list of a class of ``CLASSES``, of other values."""

    items: tuple[Value, ...]
    opening: str = "["
    closing: str = "]"

    def moved(self, before: str, after: str) -> ListValue:
        """With what is in it on another device."""
        return replace(self, items=tuple(item.moved(before, after) for item in self.items))

    def simpler(self) -> Iterator[Value]:
        """Shorter lists, then lists of simpler items."""
        if (self.opening, self.closing) != ("[", "]"):
            yield ListValue(self.items)
        for i in range(len(self.items)):
            yield replace(self, items=self.items[:i] + self.items[i + 1 :])
        for i, item in enumerate(self.items):
            for other in item.simpler():
                yield replace(self, items=(*self.items[:i], other, *self.items[i + 1 :]))


Value = PlainValue | TensorValue | AliasValue | ListValue


def values_in(value: Value) -> Iterator[Value]:
    """The values of a list, and of the lists in it; any other value itself."""
    if isinstance(value, ListValue):
        for item in value.items:
            yield from values_in(item)
    else:
        yield value


def tensors_in(value: Value) -> Iterator[TensorValue]:
    """The tensors of a value, those in lists too."""
    return (item for item in values_in(value) if isinstance(item, TensorValue))
