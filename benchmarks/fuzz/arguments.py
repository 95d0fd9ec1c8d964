"""Draws a call: arguments that fit first, of one shape, dtype and device; then one or two of them spoiled."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchmarks.fuzz.odd import (
    CLASS_TEXTS,
    DEVICES,
    FUNCTIONS,
    HUGE,
    ODD_ANYTHING,
    ODD_DEVICES,
    ODD_INTS,
    ODD_ITEMS,
    ODD_NUMBERS,
    OPERATORS,
    STRINGS,
)
from benchmarks.fuzz.program import Argument, Call
from benchmarks.fuzz.targets import Parameter, Target
from benchmarks.fuzz.values import AliasValue, ListValue, PlainValue, TensorValue, Value, dtype_kind, tensors_in

__all__ = ["Pool", "draw", "fitting"]

# Square ones fit most of what wants a matrix; the last two are for what is empty and what has no dimension.
SHAPES = ((3,), (2, 3), (3, 3), (3, 3), (2, 3, 3), (2, 1, 3), (4,), (2, 2, 3, 3), (0,), (2, 0), ())
DTYPES = (
    *("float32",) * 10, *("float64",) * 3, *("int64",) * 3, "bool", "int32", "uint8", "complex64", "bfloat16",
    "float16",
)  # fmt: skip
ALL_DTYPES = (
    "float32", "float64", "float16", "bfloat16", "complex64", "complex128", "bool", "uint8", "int8", "int16", "int32",
    "int64", "uint16", "uint32", "uint64",
)  # fmt: skip
LAYOUTS = ("plain", "transposed", "strided", "expanded", "offset", "window")
INDEX_NAMES = frozenset(("index", "indices", "target"))
MASK_NAMES = frozenset(("mask", "condition"))
DIM_NAMES = frozenset(
    ("dim", "dim0", "dim1", "dim2", "start_dim", "end_dim", "source", "destination", "axis", "axis0", "axis1")
)
WINDOWS = ("", "[:-1]", "[1:]", "[:1]", ".t()", ".reshape(-1)")
ODD_SHAPES = (*SHAPES, (5,), (1,), (7, 2), (1, 1, 1, 1, 1, 2), (3, 0, 2), (0, 0))
DRAWN = 6  # values of a type, where they are to fit another argument
SPOILS = ("dtype", "layout", "shape", "device", "content", "grad", "subclass", "alias", "number", "huge")


class Pool:
    """Targets to draw from. A target that is added or goes changes only the calls that draw it.

    A call takes the target whose random time is the smallest (an exponential race: a target wins as often as its weight
    says), and a target's time depends on the call's number and on its own name, not on what else there is.
    """

    def __init__(self, targets: Sequence[Target]) -> None:
        self.targets = sorted(targets, key=lambda target: (target.path, target.form))
        self._weights = np.array([_WEIGHTS.get(t.group, _WEIGHT) for t in self.targets])
        self._hashes = np.array([_hash(f"{t.form} {t.path}") for t in self.targets], dtype=np.uint64)

    def target(self, seed: int, number: int) -> Target:
        """What the call of that number calls."""
        mixed = _mixed(self._hashes ^ np.uint64(_hash(f"{seed}:{number}")))
        uniform = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return self.targets[int(np.argmin(-np.log1p(-uniform) / self._weights))]


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): words that differ in a bit differ in half of them."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = words ^ (words >> np.uint64(31))
    return mixed


def draw(pool: Pool, seed: int, number: int) -> Call:
    """The call of that number: it depends on nothing else, but for the targets."""
    target = pool.target(seed, number)
    rng = random.Random(f"{seed}:{number}")
    call = _Drawing(rng).call(target)
    for _ in range(rng.choices((0, 1, 2), (35, 45, 20))[0]):
        call = _Spoiling(rng, call).spoiled()
    return call


def fitting(call: Call, place: int, rng: random.Random) -> Iterator[Value]:
    """Values for an argument: of its parameter's type, and tensors of the shape and the dtype of another one."""
    parameter = call.parameter(place)
    if parameter is None:
        return
    if parameter.type == "any":
        yield from (TensorValue((3,)), ListValue((TensorValue((3,)),)))
    drawing = _Drawing(rng)
    others = [tensor for i, a in enumerate(call.arguments) if i != place for tensor in tensors_in(a.value)]
    for tensor in others or [TensorValue((3,))]:
        drawing.shape, drawing.dtype, drawing.device = tensor.shape, tensor.dtype, tensor.device
        for _ in range(DRAWN):
            yield drawing.value(parameter)


# How often a member of a group is drawn, beside another group's: by target, not by group, so that a new one takes
# nothing from its group's others. Groups that have most members of little interest are drawn less.
_WEIGHTS = {
    "operators": 0.098, "methods": 0.087, "functions": 0.06, "nn.functional": 0.33, "func": 0.16, "objects": 0.0124,
    "_core": 0.019, "npu": 0.038,
}  # fmt: skip
_WEIGHT = 0.1


class _Drawing:
    """Arguments that fit each other."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.shape: tuple[int, ...] = rng.choice(SHAPES)
        self.dtype = rng.choice(DTYPES)
        self.device = rng.choices(("cpu", "npu", "meta"), (84, 10, 6))[0]

    def call(self, target: Target) -> Call:
        arguments = []
        by_name = False
        for parameter in target.parameters:
            if not parameter.required and self.rng.random() < 0.6:
                by_name = True
                continue
            name = parameter.name if by_name or parameter.kwarg_only else None
            if target.form != "function" and parameter is target.parameters[0]:
                name = None
            arguments.append(Argument(self.value(parameter), name))
        return Call(target, tuple(arguments))

    def value(self, parameter: Parameter) -> Value:
        type_, name, rng = parameter.type, parameter.name, self.rng
        if type_.endswith("?") and not type_.endswith("[]?") and rng.random() < 0.3:
            return PlainValue("None")
        type_ = type_.removesuffix("?").replace("SymInt", "int")
        if type_ == "Tensor":
            return self.tensor(name)
        if type_.startswith("Tensor") and "[" in type_:
            count = rng.randint(1, 3)
            return ListValue(tuple(self.tensor("index" if "?" in type_ else name) for _ in range(count)))
        if type_.startswith("int["):
            return self.ints(name, type_)
        if "[" in type_:
            inner = replace(parameter, type=type_[: type_.index("[")])
            return ListValue(tuple(self.value(inner) for _ in range(rng.randint(0, 2))))
        return PlainValue(self.text(type_, name))

    def text(self, type_: str, name: str) -> str:
        rng = self.rng
        dims = max(1, len(self.shape))
        if type_ == "int":
            if name in DIM_NAMES:
                return str(rng.randrange(-dims, dims))
            return str(-100 if name == "ignore_index" else rng.randrange(3) if name == "index" else rng.randint(0, 3))
        choices: dict[str, tuple[str, ...]] = {
            "float": ("0.5", "1.0", "2.0", "0.0", "1e-5"),
            "Scalar": ("2", "0.5", "1", "-1", "True"),
            "number": ("2", "0.5"),
            "bool": ("True", "False"),
            "ScalarType": tuple(f"torch.{name}" for name in DTYPES),
            "Layout": ("None",),
            "MemoryFormat": ("None",),
            "Generator": ("None",),
            "Device": DEVICES[:3],
            "str": STRINGS[:10],
            "function": FUNCTIONS,
            "class": CLASS_TEXTS,
            "operator": OPERATORS,
            "dict": ("{}", "{'a': 1}"),
        }
        return rng.choice(choices.get(type_, ODD_ANYTHING))

    def tensor(self, name: str) -> Value:
        rng, shape = self.rng, self.shape
        if name != "self" and name != "input":
            shape = rng.choices((shape, shape[1:], shape[-1:], tuple(1 for _ in shape), ()), (80, 5, 8, 4, 3))[0]
        made = TensorValue(shape, self.dtype, device=self.device)
        if name in INDEX_NAMES:
            return replace(made, dtype="int64", content="index")
        if name in MASK_NAMES:
            return replace(made, dtype="bool")
        made = replace(made, layout=rng.choices(LAYOUTS[:5], (60, 15, 10, 5, 10))[0])
        if dtype_kind(made.dtype) in "fc" and rng.random() < 0.15:
            made = replace(made, grad=rng.choice(("leaf", "nonleaf")))
        return made

    def ints(self, name: str, type_: str) -> Value:
        rng, shape = self.rng, self.shape
        if "dim" in name or name == "axis":
            dims = list(range(len(shape)))
            rng.shuffle(dims)
            items = dims if name == "dims" else dims[: rng.randint(0, len(dims))]
        elif "stride" in name:
            items = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        elif "size" in name or "shape" in name:
            items = list(rng.choice((shape, (math.prod(shape),), (2, *shape), (-1,), shape[::-1])))
        else:
            items = [rng.randint(0, 2) for _ in range(max(1, len(shape)))]
        return ListValue(tuple(PlainValue(str(item), ("1",)) for item in items), *rng.choice((("[", "]"), ("(", ")"))))


class _Spoiling:
    """One argument made odd, dropped, or added."""

    def __init__(self, rng: random.Random, call: Call) -> None:
        self.rng, self.call = rng, call

    def spoiled(self) -> Call:
        rng, arguments = self.rng, self.call.arguments
        chance = rng.random()
        if not arguments or chance < 0.04:
            extra = Argument(PlainValue(rng.choice(ODD_ANYTHING)), rng.choice((None, "dim", "out", "no_such_name")))
            if extra.name is None and any(a.name for a in arguments):
                extra = replace(extra, name="other")
            if any(a.name == extra.name for a in arguments if a.name):
                return self.call
            return replace(self.call, arguments=(*arguments, extra))
        place = rng.randrange(len(arguments))
        is_owner = place == 0 and self.call.has_owner
        if chance < 0.08 and not is_owner and not any(isinstance(a.value, AliasValue) for a in arguments):
            return replace(self.call, arguments=arguments[:place] + arguments[place + 1 :])
        changed = replace(arguments[place], value=self._value(place, arguments[place].value))
        return replace(self.call, arguments=(*arguments[:place], changed, *arguments[place + 1 :]))

    def _value(self, place: int, value: Value) -> Value:
        rng = self.rng
        owner = place == 0 and self.call.has_owner
        if owner and isinstance(value, PlainValue):
            return value  # a tensor, made huge: a method of something else is another matter
        if not owner and rng.random() < 0.12:
            return PlainValue(rng.choice(ODD_ANYTHING), ("None", "1", "'x'", "object()"))
        if isinstance(value, TensorValue):
            made = self._tensor(place, value)
            return value if owner and isinstance(made, PlainValue) and made.text in ODD_NUMBERS else made
        if isinstance(value, ListValue):
            return self._list(place, value)
        if isinstance(value, PlainValue):
            return PlainValue(rng.choice(self._odd_texts(value.text)), ("0", "1", "-1", "None"))
        return value

    def _odd_texts(self, text: str) -> Sequence[str]:
        if text.lstrip("-").isdigit():
            return ODD_INTS
        if text[:1].isdigit() or text in ("True", "False"):
            return ODD_NUMBERS
        if text.startswith("torch.") and text[6:] in ALL_DTYPES:
            return [f"torch.{name}" for name in ALL_DTYPES] + ["int", "float", "bool", "'float32'"]
        if text in DEVICES:
            return DEVICES + ODD_DEVICES
        if text in STRINGS:
            return STRINGS
        if text in FUNCTIONS:
            return FUNCTIONS
        return (*ODD_ANYTHING, *ODD_INTS, *ODD_NUMBERS, *DEVICES, *(f"torch.{name}" for name in ALL_DTYPES))

    def _tensor(self, place: int, value: TensorValue) -> Value:
        rng = self.rng
        earlier = [
            i for i, a in enumerate(self.call.arguments[:place])
            if isinstance(a.value, TensorValue) and a.value.shape
        ]  # fmt: skip
        how = rng.choice(SPOILS)
        if how == "alias" and earlier:
            return AliasValue(rng.choice(earlier), rng.choice(WINDOWS))
        if how == "dtype":
            return replace(value, dtype=rng.choice(ALL_DTYPES))
        if how == "shape":
            return replace(value, shape=rng.choice(ODD_SHAPES))
        if how == "device":
            return replace(value, device=rng.choice(("meta", "npu", "cpu")))
        if how == "content":
            return replace(value, content=rng.choice(("special", "zero", "index", "ramp")))
        if how == "grad" and dtype_kind(value.dtype) in "fc":
            return replace(value, grad=rng.choice(("leaf", "nonleaf")))
        if how == "subclass":
            return replace(value, subclass=True)
        if how == "number":
            return PlainValue(rng.choice(ODD_NUMBERS), ("1", "None", "2.5"))
        if how == "huge":
            return PlainValue(rng.choice(HUGE), ("torch.ones(1).expand(2**40)", "torch.empty((3,), device='meta')"))
        return replace(value, layout=rng.choice(LAYOUTS))

    def _list(self, place: int, value: ListValue) -> Value:
        rng, items = self.rng, list(value.items)
        how = rng.choice(("item", "item", "item", "drop", "add", "class", "double", "empty", "shrink"))
        if how == "item" and items:
            at = rng.randrange(len(items))
            if isinstance(items[at], TensorValue):
                items[at] = self._tensor(place, items[at])  # type: ignore[arg-type]
            else:
                items[at] = PlainValue(rng.choice(ODD_ITEMS), ("0", "1", "-1"))
        elif how == "drop" and items:
            items.pop(rng.randrange(len(items)))
        elif how == "add":
            items.insert(rng.randint(0, len(items)), PlainValue(rng.choice(ODD_ITEMS), ("1",)))
        elif how == "class":
            return ListValue(tuple(items), rng.choice(("BadIter([", "LongLen([")), "])")
        elif how == "double":
            items += items
        elif how == "empty":
            items = []
        elif how == "shrink" and items:
            items[rng.randrange(len(items))] = PlainValue("Shrinks([1, 2])", ("1",))
        return replace(value, items=tuple(items))
