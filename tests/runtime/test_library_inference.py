"""`infer_schema` beside PyTorch's, for every type that it documents and every mistake that it reports."""

# ruff: noqa: UP006, UP007, UP045  (all spellings of a type are the point here)

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import mindtorch_v2
from mindtorch_v2 import Tensor
from mindtorch_v2.library import infer_schema
from tests.runtime.both import agree, fresh_namespace

BASES: dict[str, Callable[[Any], Any]] = {
    "Tensor": lambda torch: torch.Tensor,
    "int": lambda torch: int,
    "float": lambda torch: float,
    "bool": lambda torch: bool,
    "str": lambda torch: str,
    "Number": lambda torch: typing.Union[int, float, bool],
    "number": lambda torch: int | float | bool,
    "dtype": lambda torch: torch.dtype,
    "device": lambda torch: torch.device,
    "dict": lambda torch: dict,
    "complex": lambda torch: complex,
}
SHAPES: dict[str, Callable[[Any], Any]] = {
    "plain": lambda t: t,
    "optional": lambda t: typing.Optional[t],
    "list": lambda t: list[t],
    "List": lambda t: typing.List[t],
    "Sequence": lambda t: Sequence[t],
    "optional list": lambda t: typing.Optional[list[t]],
    "optional Sequence": lambda t: typing.Optional[Sequence[t]],
    "list of optional": lambda t: list[typing.Optional[t]],
    "Sequence of optional": lambda t: Sequence[typing.Optional[t]],
    "list of list": lambda t: list[list[t]],
    "pair": lambda t: tuple[t, t],
    "any tuple": lambda t: tuple[t, ...],
}


def annotated(parameter: Any, returns: Any) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        return x

    function.__annotations__ = {"x": parameter, "return": returns}
    return function


def supported(case: Callable[[Any], Any]) -> bool:
    """Whether PyTorch infers a schema there; where not, ours must raise a ValueError with the same reason."""
    import torch

    try:
        case(torch)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("base", BASES)
def test_parameter_types(base: str, shape: str) -> None:
    def case(torch: Any) -> Any:
        function = annotated(SHAPES[shape](BASES[base](torch)), torch.Tensor)
        return torch.library.infer_schema(function, mutates_args=())

    agree(case, None if supported(case) else "Parameter x has unsupported type")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("base", BASES)
def test_return_types(base: str, shape: str) -> None:
    def case(torch: Any) -> Any:
        function = annotated(torch.Tensor, SHAPES[shape](BASES[base](torch)))
        return torch.library.infer_schema(function, mutates_args=())

    agree(case, None if supported(case) else "Return has unsupported type")


def test_returns_nothing() -> None:
    agree(lambda torch: torch.library.infer_schema(annotated(torch.Tensor, None), mutates_args=()))


def test_returns_a_tuple_of_different_types() -> None:
    agree(
        lambda torch: torch.library.infer_schema(
            annotated(torch.Tensor, tuple[torch.Tensor, int, list[torch.Tensor]]), mutates_args=()
        )
    )


def with_defaults(torch: Any) -> Callable[..., Any]:
    def function(  # type: ignore[no-untyped-def]
        x,
        k=None,
        i=3,
        f=1e-05,
        z=1,
        b=True,
        s="it's",
        *,
        d=torch.device("cpu:0"),  # noqa: B008
        t=torch.float32,
        n=2,
    ):
        return x

    function.__annotations__ = {
        "x": torch.Tensor,
        "k": typing.Optional[int],
        "i": int,
        "f": float,
        "z": float,
        "b": bool,
        "s": str,
        "d": torch.device,
        "t": torch.dtype,
        "n": int | float | bool,
        "return": torch.Tensor,
    }
    return function


def test_defaults() -> None:
    agree(lambda torch: torch.library.infer_schema(with_defaults(torch), mutates_args=(), op_name="op"))


def test_defaults_reach_the_kernel() -> None:
    """The inferred schema is one that the dispatcher reads back to the very values."""
    seen: list[Any] = []
    template = with_defaults(mindtorch_v2)

    def function(x: Any, *args: Any, **kwargs: Any) -> Any:
        seen.extend([*args, *kwargs.values()])
        return x.clone()

    schema = infer_schema(template, mutates_args=())
    op = mindtorch_v2.library.custom_op(f"{fresh_namespace()}::op", function, mutates_args=(), schema=schema)
    op(mindtorch_v2.ones(1))
    assert seen == [None, 3, 1e-05, 1.0, True, "it's", mindtorch_v2.device("cpu:0"), mindtorch_v2.float32, 2]
    assert isinstance(seen[3], float)


MUTATIONS: dict[str, tuple[Any, str | None]] = {
    "one": (("x",), None),
    "two": (("x", "xs"), None),
    "optional": ({"o"}, None),
    "list of optional": (["os"], None),
    "unknown": ("unknown", None),
    "not an argument": (("nope",), "in mutates_args were not found"),
    "an int": (("n",), "can be mutated"),
    "a plain string": ("x", "string"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutates_args(name: str) -> None:
    mutates_args, quoted = MUTATIONS[name]

    def case(torch: Any) -> Any:
        def function(x, xs, n, o, os):  # type: ignore[no-untyped-def]
            pass

        function.__annotations__ = {
            "x": torch.Tensor,
            "xs": list[torch.Tensor],
            "n": int,
            "o": typing.Optional[torch.Tensor],
            "os": list[typing.Optional[torch.Tensor]],
            "return": None,
        }
        return torch.library.infer_schema(function, mutates_args=mutates_args)

    agree(case, quoted)


def unannotated(x):  # type: ignore[no-untyped-def]
    return x


def no_return(x: int):  # type: ignore[no-untyped-def]
    return x


def varargs(*x: int) -> int:
    return 1


def varkwargs(**x: int) -> int:
    return 1


def positional_only(x: int, /) -> int:
    return 1


def tuple_input(x: tuple[int, int]) -> int:
    return 1


def unknown_type(x: Nope) -> int:  # type: ignore[name-defined]  # noqa: F821
    return 1


def list_default(x: list[int] = [1]) -> int:  # noqa: B006
    return 1


@pytest.mark.parametrize(
    ("function", "quoted"),
    [
        (unannotated, "must have a type annotation"),
        (no_return, "No return type annotation was provided"),
        (varargs, "We do not support positional-only args, varargs, or varkwargs."),
        (varkwargs, "We do not support positional-only args, varargs, or varkwargs."),
        (positional_only, "We do not support positional-only args, varargs, or varkwargs."),
        (tuple_input, "For example, list[int]"),
        (unknown_type, "Unsupported type annotation Nope. It is not a type."),
        (list_default, "unsupported default value type <class 'list'>"),
    ],
)
def test_mistakes(function: Callable[..., Any], quoted: str) -> None:
    agree(lambda torch: torch.library.infer_schema(function, mutates_args=()), quoted)


def test_parameters_are_read_before_names_of_what_is_mutated() -> None:
    agree(lambda torch: torch.library.infer_schema(varargs, mutates_args=[["x"]]), "positional-only args")


def test_string_annotations_are_resolved_in_the_functions_module() -> None:
    def function(x: Tensor, y: Tensor | None = None, sizes: Sequence[int] | None = None) -> list[Tensor]:
        return [x]

    assert infer_schema(function, mutates_args=()) == "(Tensor x, Tensor? y=None, SymInt[]? sizes=None) -> Tensor[]"


def test_string_annotations_may_name_closed_over_types() -> None:
    """PyTorch refuses these; a type that the function closes over is known, so ours does not."""
    Local = Tensor  # noqa: N806

    def function(x: Local) -> Local:
        return Local.detach(x)

    assert infer_schema(function, mutates_args=()) == "(Tensor x) -> Tensor"


def test_a_decorated_function_is_resolved_where_it_was_written() -> None:
    import functools

    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        wrapper = eval("lambda *args: None", {})  # its globals know no Tensor
        return functools.wraps(function)(wrapper)

    def function(x: Tensor) -> Tensor:
        return x

    assert infer_schema(decorator(function), mutates_args=()) == "(Tensor x) -> Tensor"
