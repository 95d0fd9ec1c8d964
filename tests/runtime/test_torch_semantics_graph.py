"""What nodes, schemas, warnings and views of one call are in PyTorch: the same code under both libraries."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.runtime.both import fresh_namespace
from tests.runtime.semantics import Entry, check, defined, function, leaf, table


def saved_in_forward(torch: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        seen.append(ctx.saved_tensors)
        ctx.save_for_backward(x)
        seen.append(ctx.saved_tensors)
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(len(ctx.saved_tensors))
        return g

    function(torch, forward, backward).apply(leaf(torch)).sum().backward()
    return seen


def names(torch: Any) -> Any:
    x = leaf(torch)
    y = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x)
    nodes = [(x + 1).grad_fn, (x * x).grad_fn, y.grad_fn, y.grad_fn.next_functions[0][0]]
    return [(node.name(), repr(node).split(" at ")[0]) for node in nodes]


NODES: dict[str, Entry] = {"saved_tensors inside forward": saved_in_forward, "names and repr": names}


def arguments(schema: str) -> Any:
    def described(torch: Any) -> Any:
        op, _lib = defined(torch, schema)
        found = []
        for a in op._schema.arguments:
            info = a.alias_info
            sets = None if info is None else (sorted(info.before_set), sorted(info.after_set), info.is_write)
            found.append((a.name, a.N, a.kwarg_only, a.is_out, a.has_default_value(), a.default_value, sets))
        return found

    return described


def results(torch: Any) -> Any:
    op, _lib = defined(torch, "(Tensor(a) x) -> Tensor(a)[]")
    (result,) = op._schema.returns
    info = result.alias_info
    return (
        result.N, result.kwarg_only, result.is_out, result.has_default_value(), result.default_value,
        sorted(info.before_set), sorted(info.after_set), info.is_write,
    )  # fmt: skip


SCHEMAS: dict[str, Entry] = {
    "arguments": arguments(
        "(Tensor x, Tensor? y, int[2] n=3, *, float k=1.5, str? s=None, bool b=True, int[3] m, Tensor(c!) out)"
        " -> Tensor(c!)"),
    "annotated arguments": arguments("(Tensor(a!)[] x, Tensor(b!)? y, Tensor(d -> *) w, int[2]? z=None) -> ()"),
    "results": results,
    "an overload name of Python's": (
        lambda t: t.library.Library(fresh_namespace(), "FRAGMENT").define("f.__x(Tensor x) -> Tensor"),
        "__x"),
}  # fmt: skip


def transformed(transform: Any) -> Entry:
    def run(torch: Any) -> Any:
        old = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2)
        return transform(torch.func, old.apply, torch.ones(3))

    return run, "it must override the setup_context staticmethod"


TRANSFORMS: dict[str, Entry] = {
    "grad": transformed(lambda f, apply, x: f.grad(lambda x: apply(x).sum())(x)),
    "grad, of a constant": transformed(lambda f, apply, x: f.grad(lambda y: (apply(x) + y).sum())(x)),
    "vjp": transformed(lambda f, apply, x: f.vjp(apply, x)),
    "vmap": transformed(lambda f, apply, x: f.vmap(apply)(x)),
    "jvp": transformed(lambda f, apply, x: f.jvp(apply, (x,), (x,))),
    "jacrev": transformed(lambda f, apply, x: f.jacrev(apply)(x)),
    "jacfwd": transformed(lambda f, apply, x: f.jacfwd(apply)(x)),
    "functionalize": transformed(lambda f, apply, x: f.functionalize(apply)(x)),
}


def after_a_transform(torch: Any) -> Any:
    """That a transform failed is forgotten: old style works again."""
    old = function(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 2)
    with contextlib.suppress(RuntimeError):
        torch.func.grad(lambda x: old.apply(x).sum())(torch.ones(3))
    return old.apply(leaf(torch))


TRANSFORMS["after one that failed"] = after_a_transform

SEVERAL = "This view is the output of a function that returns multiple views."
PARTS: dict[str, Any] = {
    "unbind": lambda y: y.unbind(0),
    "split": lambda y: y.split(1),
    "split sizes": lambda y: y.split([1, 1]),
    "chunk": lambda y: y.chunk(2),
}


def noted(torch: Any, part: Any) -> Any:
    x = leaf(torch)
    y = x * 1
    parts = part(y)
    with torch.no_grad():
        parts[0].mul_(2)
    parts[1].detach().mul_(3)
    return y


def views(part: Any) -> dict[str, Entry]:
    def of_base(torch: Any) -> Any:
        y = leaf(torch) * 1
        parts = part(y)
        y.mul_(2)
        return parts[0].grad_fn

    def plain_base(torch: Any) -> Any:
        return part(torch.ones(2))[0].mul_(leaf(torch).sum())

    return {
        "a tuple": lambda t: type(part(leaf(t))).__name__,
        "the first": (lambda t: part(leaf(t) * 1)[0].mul_(2), "Output 0 of "),
        "the second": (lambda t: part(leaf(t) * 1)[1].mul_(2), f"is a view and is being modified inplace. {SEVERAL}"),
        "of a leaf": (lambda t: part(leaf(t))[0].mul_(2), SEVERAL),
        "a view of one": (lambda t: part(leaf(t) * 1)[0].view_as(part(leaf(t))[0]).mul_(2), SEVERAL),
        "the base": (of_base, f"its base or another view of its base has been modified inplace. {SEVERAL}"),
        "what needs no gradient": lambda t: part(t.ones(2))[0].mul_(2),
        "by what needs one": (plain_base, SEVERAL),
        "where nothing is recorded": lambda t: noted(t, part).detach(),
    }


def kinds(torch: Any) -> Any:
    x, aten = torch.ones(4), torch.ops.aten
    found = [torch.unbind(x), torch.split(x, 2), torch.split_with_sizes(x, [1, 3]), torch.chunk(x, 2)]
    found += [aten.unbind(x), aten.split(x, 2), aten.split_with_sizes(x, [1, 3]), aten.chunk(x, 2)]
    return [type(f).__name__ for f in found]


LISTS: dict[str, Entry] = {"tuples, lists of torch.ops": kinds}

BITWISE: dict[str, Entry] = {
    **{
        f"{name}, {dtype}": (
            lambda t, name=name, dtype=dtype: getattr(t, name)(*[t.ones(2, dtype=getattr(t, dtype))] * 2),
            f'"{name}_cpu" not implemented for ')
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
        for dtype in ("float32", "float64", "float16")
    },
    "a float operand": (
        lambda t: t.bitwise_and(t.tensor([1, 2]), 1.5), "\"bitwise_and_cpu\" not implemented for 'Float'"),
    "bitwise_not": (lambda t: t.bitwise_not(t.ones(2)), "\"bitwise_not_cpu\" not implemented for 'Float'"),
    "~": (lambda t: ~t.ones(2), "~ (operator.invert) is only implemented on integer and Boolean-type tensors"),
    "~, whole numbers": lambda t: ~t.tensor([1, 2]),
    "~, bool": lambda t: ~t.tensor([True, False]),
}  # fmt: skip

TABLE = table({
    "nodes": NODES, "schemas": SCHEMAS, "transforms": TRANSFORMS, "bitwise": BITWISE, "lists": LISTS,
    **{name: views(part) for name, part in PARTS.items()},
})  # fmt: skip


@pytest.mark.parametrize("statement", TABLE)
def test_semantics(statement: str) -> None:
    check(TABLE[statement])


# ---------------------------------------------------------------- warnings

# Each library in a process of its own: PyTorch says some things once.
WARNED = """
import warnings
import {} as torch

def told(run):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return [(w.category.__name__, str(w.message).split(". ")[0]) for w in caught]

def retained():
    y = x * 2
    y.retain_grad()
    return y.grad

x = torch.ones(2, requires_grad=True)
y = x * 2
print(told(lambda: y.grad), told(lambda: y.detach().grad), told(lambda: x.grad), told(retained))
cost = lambda: (x * x).sum()
print(told(lambda: torch.autograd.grad(cost(), x, create_graph=True)))
print(told(lambda: cost().backward()))
print(told(lambda: cost().backward(create_graph=True)))
print(told(lambda: cost().backward(create_graph=True)))
"""


def said(library: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", WARNED.format(library)], env=os.environ, capture_output=True, text=True, check=True
    )
    return run.stdout


def test_warnings() -> None:
    theirs = said("torch")
    assert "is not a leaf" in theirs
    assert "create_graph=True" in theirs
    assert said("mindtorch_v2") == theirs
