"""Built-in operators on every dtype, with tensors, 0-d tensors and Python numbers, in place too, beside PyTorch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.ops.sweep import DTYPES, EDGES, FLOATS, NUMBERS, Case, differences, first, second

ARITHMETIC = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "fmod",
    "pow",
    "maximum",
    "minimum",
    "atan2",
    "rsub",
]
COMPARISONS = [
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
]
IN_PLACE = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "fmod",
    "pow",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
]
WITH_NUMBERS = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "fmod",
    "pow",
    "rsub",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "bitwise_and",
    "bitwise_or",
]
EXACT_UNARY = [
    "neg",
    "abs",
    "sign",
    "square",
    "floor",
    "ceil",
    "round",
    "trunc",
    "relu",
    "sqrt",
    "logical_not",
    "isnan",
    "isinf",
    "isfinite",
    "bitwise_not",
]
FLOAT_UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "rsqrt",
    "reciprocal",
    "sigmoid",
    "tanh",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
]
FLOAT_UNARY += ["sinh", "cosh", "erf"]
REDUCTIONS = ["sum", "mean", "prod", "max", "min", "amax", "amin", "argmax", "argmin", "any", "all"]
ROUGH = {"pow": 4e-3, "atan2": 2e-3}  # transcendental, in half precision too


def check(cases: Iterator[Case]) -> None:
    found = differences(cases)
    assert not found, f"{len(found)} differ:\n" + "\n".join(found[:12])


def subtracts_truth(name: str, number: Any) -> bool:
    """A float tensor minus True is 1 less here; PyTorch refuses it, which would cost every `x - 1.0` a look."""
    return name in ("sub", "rsub") and isinstance(number, bool)


@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS])
def test_two_tensors(name: str) -> None:
    def cases() -> Iterator[Case]:
        for d in DTYPES:
            for e in DTYPES:
                for dims in ((True, True), (True, False), (False, True), (False, False)):

                    def call(torch: Any, d: str = d, e: str = e, dims: tuple[bool, bool] = dims) -> Any:
                        return getattr(torch, name)(first(torch, d, dims[0]), second(torch, e, dims[1]))

                    yield Case(f"{d}, {e}, {dims}", call, ROUGH.get(name, 0))

    check(cases())


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    def cases() -> Iterator[Case]:
        for d in DTYPES:
            for e in DTYPES:
                for dims in (True, False):

                    def call(torch: Any, d: str = d, e: str = e, dims: bool = dims) -> Any:
                        return getattr(first(torch, d), name + "_")(second(torch, e, dims))

                    yield Case(f"{d}, {e}, {dims}", call, ROUGH.get(name, 0))
            for text, number in NUMBERS.items():
                if subtracts_truth(name, number):
                    continue

                def with_number(torch: Any, d: str = d, number: Any = number) -> Any:
                    return getattr(first(torch, d), name + "_")(number)

                yield Case(f"{d}, {text}", with_number, ROUGH.get(name, 0))

    check(cases())


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_a_tensor_and_a_number(name: str) -> None:
    def cases() -> Iterator[Case]:
        for d in DTYPES:
            for dims in (True, False):
                for text, number in NUMBERS.items():
                    if subtracts_truth(name, number):
                        continue

                    def call(torch: Any, d: str = d, dims: bool = dims, number: Any = number) -> Any:
                        return getattr(torch, name)(first(torch, d, dims), number)

                    yield Case(f"{d}, {dims}, {text}", call, ROUGH.get(name, 0))

    check(cases())


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "eq", "lt"]
}


@pytest.mark.parametrize("name", OPERATORS)
def test_a_number_first(name: str) -> None:
    def cases() -> Iterator[Case]:
        for d in DTYPES:
            for text, number in NUMBERS.items():
                if not subtracts_truth(name, number):
                    rough = 1e-2 if name in ("pow", "truediv") else 0.0
                    yield Case(f"{text}, {d}", lambda t, d=d, n=number: OPERATORS[name](n, first(t, d)), rough)

    check(cases())


@pytest.mark.parametrize("name", ["add", "sub"])
def test_alpha(name: str) -> None:
    """A factor of an integer operation is an integer."""

    def cases() -> Iterator[Case]:
        for d in DTYPES:
            for alpha in (2, -3, 2.5, float("nan")):
                for other in ("same", "number", "float32", "int64"):

                    def call(torch: Any, d: str = d, alpha: Any = alpha, other: str = other) -> Any:
                        right = 2 if other == "number" else second(torch, d if other == "same" else other)
                        return getattr(torch, name)(first(torch, d), right, alpha=alpha)

                    yield Case(f"{d}, {other}, alpha={alpha}", call, 1e-2)

    check(cases())


@pytest.mark.parametrize("mode", ["floor", "trunc", None])
def test_rounded_division(mode: str | None) -> None:
    """To the bit, in half precision too, where the quotient is rounded before its fraction is dropped."""

    def cases() -> Iterator[Case]:
        for d in DTYPES:
            for e in DTYPES:
                yield Case(f"{d}, {e}", lambda t, d=d, e=e: t.div(first(t, d), second(t, e), rounding_mode=mode))
            for text, number in NUMBERS.items():
                yield Case(f"{d}, {text}", lambda t, d=d, n=number: t.div(first(t, d), n, rounding_mode=mode))
        for d in ("float16", "bfloat16"):
            yield Case(f"{d}, many", lambda t, d=d: t.div(_grid(t, d, 97), _grid(t, d, 89), rounding_mode=mode))
            yield Case(f"{d}, floor_divide", lambda t, d=d: t.floor_divide(_grid(t, d, 97), _grid(t, d, 89)))
            yield Case(f"{d}, remainder", lambda t, d=d: t.remainder(_grid(t, d, 97), _grid(t, d, 89)))
            yield Case(f"{d}, fmod", lambda t, d=d: t.fmod(_grid(t, d, 97), _grid(t, d, 89)))

    check(cases())


def _grid(torch: Any, dtype: str, step: int) -> Any:
    """Numbers of both signs and many magnitudes, none of them 0."""
    values = [((i * step) % 2003 - 1001 + 0.5) * 1.37 ** (i % 13 - 6) for i in range(2000)]
    return torch.tensor(values, dtype=torch.float64).to(getattr(torch, dtype))


SPECIAL = [float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 0.5, -0.5, 1.5, 2.5, -1.5, 1e-3, 60000.0]


@pytest.mark.parametrize("name", [*EXACT_UNARY, *FLOAT_UNARY])
def test_one_tensor(name: str) -> None:
    # PyTorch's sqrt, MKL's on processors of Intel, is up to an ulp of float64 from the correctly rounded one, ours.
    rough = 3e-16 if name == "sqrt" else 0.0 if name in EXACT_UNARY else 8e-3

    def cases() -> Iterator[Case]:
        for d in DTYPES:
            for dims in (True, False):
                yield Case(f"{d}, {dims}", lambda t, d=d, dims=dims: getattr(t, name)(first(t, d, dims)), rough)
            yield Case(f"{d}, empty", lambda t, d=d: getattr(t, name)(t.zeros((0, 3), dtype=getattr(t, d))))
            if name not in ("square", "logical_not", "isnan", "isinf", "isfinite", "bitwise_not"):
                yield Case(f"{d}, in place", lambda t, d=d: getattr(first(t, d), name + "_")(), rough)
        for d in FLOATS:
            yield Case(f"{d}, special", lambda t, d=d: getattr(t, name)(t.tensor(SPECIAL, dtype=getattr(t, d))), rough)

    check(cases())


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str) -> None:
    rough = 1e-2 if name in ("sum", "mean", "prod") else 0.0

    def cases() -> Iterator[Case]:
        for d in DTYPES:
            if d == "complex64" and name.startswith("arg"):
                continue  # both refuse it; an empty one is refused for another reason first
            for shape in ((4,), (2, 2), (), (0,), (0, 2)):

                def made(torch: Any, d: str = d, shape: tuple[int, ...] = shape) -> Any:
                    if 0 in shape:
                        return torch.zeros(shape, dtype=getattr(torch, d))
                    return first(torch, d).reshape(shape) if shape else first(torch, d, False)

                yield Case(f"{d}, {shape}", lambda t, made=made: getattr(t, name)(made(t)), rough)
                yield Case(f"{d}, {shape}, 0", lambda t, made=made: getattr(t, name)(made(t), 0), rough)
                yield Case(f"{d}, {shape}, -1", lambda t, made=made: getattr(t, name)(made(t), -1, True), rough)
                for e in DTYPES if name in ("sum", "mean", "prod") else ():
                    wanted = lambda t, made=made, e=e: getattr(t, name)(made(t), dtype=getattr(t, e))  # noqa: E731
                    yield Case(f"{d}, {shape}, dtype={e}", wanted, rough)

    check(cases())


FILLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "tensor": lambda t, d, v: t.tensor([v], dtype=d),
    "scalar_tensor": lambda t, d, v: t.scalar_tensor(v, dtype=d),
    "full": lambda t, d, v: t.full((2,), v, dtype=d),
    "full_like": lambda t, d, v: t.full_like(t.zeros(2, dtype=d), v),
    "new_full": lambda t, d, v: t.zeros(2, dtype=d).new_full((2,), v),
    "fill_": lambda t, d, v: t.zeros(2, dtype=d).fill_(v),
    "setitem": lambda t, d, v: _set(t.zeros(2, dtype=d), 0, v),
    "setitem by mask": lambda t, d, v: _set(t.zeros(2, dtype=d), t.tensor([True, False]), v),
    "masked_fill": lambda t, d, v: t.zeros(2, dtype=d).masked_fill(t.tensor([True, False]), v),
    "masked_fill_": lambda t, d, v: t.zeros(2, dtype=d).masked_fill_(t.tensor([True, False]), v),
    "masked_fill with a tensor": lambda t, d, v: t.zeros(2, dtype=d).masked_fill(t.tensor([True, False]), t.tensor(v)),
    "where": lambda t, d, v: t.where(t.tensor([True, False]), t.ones(2, dtype=d), v),
    "add": lambda t, d, v: t.add(t.ones(2, dtype=d), v),
    "mul": lambda t, d, v: t.mul(t.ones(2, dtype=d), v),
    "lt": lambda t, d, v: t.lt(t.ones(2, dtype=d), v),
    "remainder": lambda t, d, v: t.remainder(t.ones(2, dtype=d), v),
    "clamp from": lambda t, d, v: t.clamp(t.ones(2, dtype=d), v, None),
    "clamp to": lambda t, d, v: t.clamp(t.ones(2, dtype=d), 0, v),
}


def _set(tensor: Any, index: Any, value: Any) -> Any:
    tensor[index] = value
    return tensor


@pytest.mark.parametrize("name", FILLS)
def test_numbers_at_the_edges_of_dtypes(name: str) -> None:
    """What a dtype cannot hold is refused by fills and wraps in arithmetic."""

    def cases() -> Iterator[Case]:
        for d in DTYPES:
            for value in EDGES:
                if (name, d) == ("setitem by mask", "float16"):
                    continue  # a fill refuses what PyTorch makes infinite: it writes a tensor there
                yield Case(f"{d}, {value}", lambda t, d=d, v=value: FILLS[name](t, getattr(t, d), v))

    check(cases())


RANGES = [(0, 5, 1), (-0.9, 2.1, 2.0), (5, 0, -1), (5, 0, -2), (0.5, 3.5, 0.7), (3.9, -2.2, -1.25), (0, -5, -0.5)]
RANGES += [(-3, 3, 0.5), (1, 1, 1), (0, 300, 50), (2**31 - 2, 2**31 + 2, 1), (2**53, 2**53 + 3, 1), (0, 5, 0)]
RANGES += [(0, 5, -1), (float("nan"), 1, 1), (0, float("inf"), 1), (-5, 250, 60.5), (0, 1, 0.3), (True, 5, 1)]
LINES = [(4.3, -3, 50), (0, 1, 5), (0, 10, 4), (-3, 4, 7), (0, 255, 10), (0, 300, 4), (5, -5, 3), (0, 1, 2), (0, 1, 0)]
LINES += [(0, 1, -1), (-0.9, 2.9, 5), (2.7, 9.1, 2), (0, 2**40, 5), (float("nan"), 1, 3), (-128, 127, 9), (3, 7, 1)]


@pytest.mark.parametrize("d", DTYPES)
def test_ranges(d: str) -> None:
    """Integer dtypes count in whole numbers from the start."""
    rough = {"float16": 4e-3, "bfloat16": 4e-2}.get(d, 1e-6 if d in FLOATS or d == "complex64" else 0.0)

    def cases() -> Iterator[Case]:
        for r in RANGES:
            yield Case(f"arange{r}", lambda t, r=r: t.arange(*r, dtype=getattr(t, d)), rough)
        for r in LINES if d != "bool" else ():
            yield Case(f"linspace{r}", lambda t, r=r: t.linspace(*r, dtype=getattr(t, d)), rough)

    check(cases())


PAIRS: dict[str, tuple[Callable[[Any, str, str], Any], float]] = {
    "promote_types": (lambda t, d, e: str(t.promote_types(getattr(t, d), getattr(t, e))), 0),
    "can_cast": (lambda t, d, e: t.can_cast(getattr(t, d), getattr(t, e)), 0),
    "copy_": (lambda t, d, e: t.zeros(4, dtype=getattr(t, d)).copy_(first(t, e)), 0),
    "where": (lambda t, d, e: t.where(first(t, d), first(t, e), second(t, e)), 0),
    "cat": (lambda t, d, e: t.cat([first(t, d), second(t, e)]), 0),
    "index_put": (lambda t, d, e: t.index_put(first(t, d), [t.tensor([0])], first(t, e)[:1]), 0),
    "setitem": (lambda t, d, e: _set(first(t, d), t.tensor([0, 1]), first(t, e)[:2]), 0),
    "setitem by mask": (lambda t, d, e: _set(first(t, d), t.tensor([True] * 4), second(t, e, False)), 0),
    "setitem of a slice": (lambda t, d, e: _set(first(t, d), slice(0, 2), second(t, e)[:2]), 0),
    "index": (lambda t, d, e: first(t, d)[t.tensor([1, 0, 1, 0], dtype=getattr(t, e))], 0),
    "index_select": (lambda t, d, e: t.index_select(first(t, d), 0, t.tensor([1, 0], dtype=getattr(t, e))), 0),
    "gather": (lambda t, d, e: t.gather(first(t, d), 0, t.tensor([1, 0], dtype=getattr(t, e))), 0),
    "scatter_add": (lambda t, d, e: t.scatter_add(first(t, d), 0, t.tensor([1, 0, 1]), first(t, e)), 0),
    "addcmul": (lambda t, d, e: t.addcmul(first(t, d), first(t, e), first(t, e), value=2), 1e-2),
    "addcdiv": (lambda t, d, e: t.addcdiv(first(t, d), first(t, e), second(t, e), value=2), 1e-2),
    "lerp": (lambda t, d, e: t.lerp(first(t, d), first(t, e), 0.5), 1e-2),
    "mm": (lambda t, d, e: t.mm(first(t, d).reshape(2, 2), first(t, e).reshape(2, 2)), 1e-2),
    "max": (lambda t, d, e: t.max(first(t, d), first(t, e, False)), 0),
    "max of a number": (lambda t, d, e: t.max(first(t, d), t.tensor(1, dtype=getattr(t, e))), 0),
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_dtypes(name: str) -> None:
    call, rough = PAIRS[name]
    check(Case(f"{d}, {e}", lambda t, d=d, e=e: call(t, d, e), rough) for d in DTYPES for e in DTYPES)


def test_result_types() -> None:
    def cases() -> Iterator[Case]:
        for d in DTYPES:
            for e in DTYPES:
                for dims in ((True, False), (False, True), (False, False)):

                    def call(torch: Any, d: str = d, e: str = e, dims: tuple[bool, bool] = dims) -> Any:
                        return str(torch.result_type(first(torch, d, dims[0]), second(torch, e, dims[1])))

                    yield Case(f"{d}, {e}, {dims}", call)

    check(cases())


def test_wide_unsigned_types_are_not_promoted() -> None:
    wide = ["uint16", "uint32", "uint64"]
    cases = [(a, b) for a in wide for b in [*wide, *DTYPES]]
    check(Case(f"{a}, {b}", lambda t, a=a, b=b: str(t.promote_types(getattr(t, a), getattr(t, b)))) for a, b in cases)
