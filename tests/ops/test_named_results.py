"""Several results of a function or method are a struct sequence, as in PyTorch: ``x.max(1).values``."""

from __future__ import annotations

import copy
import gc
import pickle
import time
import weakref
from typing import Any

import pytest

import mindtorch_v2 as ours
from mindtorch_v2.library import Library
from tests.runtime.both import Case, agree, agree_or_raise

NAN = float("nan")


def grid(torch: Any) -> Any:
    """Ties, negative numbers and NaN."""
    return torch.tensor([[1.0, 3.0, 3.0], [-2.0, NAN, NAN], [0.0, -0.0, -5.0]])


def whole(torch: Any) -> Any:
    """Distinct numbers, as gradients want them."""
    return torch.tensor([[1.0, 3.0, 2.0], [6.0, 4.0, 5.0]], dtype=torch.float64)


def box(torch: Any) -> Any:
    """Three dimensions of sizes that differ."""
    return torch.arange(24).reshape(2, 3, 4) % 7


def kind(result: Any) -> tuple[Any, ...]:
    """Of which type a result is, and what it says of itself."""
    of = type(result)
    module = of.__module__.rpartition(".")[2]
    return (
        module,
        of.__name__,
        of.__mro__[1:],
        of.__match_args__,
        of.n_fields,
        of.n_sequence_fields,
        of.n_unnamed_fields,
    )


# ---------------------------------------------------------------- what comes out
VALUES: dict[str, Case] = {
    "a method": lambda t: grid(t).max(1),
    "a method, by name": lambda t: grid(t).min(dim=0, keepdim=True),
    "a function": lambda t: t.max(grid(t), 0),
    "a function, by name": lambda t: t.min(grid(t), dim=-1),
    "a function, kept": lambda t: t.max(grid(t), -2, True),
    "the dimension, a tensor": lambda t: t.tensor([[3, 1], [0, 2]]).max(dim=t.tensor(1)),
    "no dimensions": lambda t: [t.tensor(3.0).max(0), t.tensor(NAN).min(-1, True)],
    "not contiguous": lambda t: [grid(t).t().max(1), grid(t)[:, ::2].min(1), grid(t).t()[1:].max(0)],
    "expanded": lambda t: t.tensor([2.0, 1.0]).expand(3, 2).max(0),
    "nothing left": lambda t: [t.empty(3, 0).max(0), t.empty(0, 3).min(1), t.empty(2, 0, 4).max(2, True)],
    "ties": lambda t: [t.ones(2, 5).max(1), t.zeros(40).min(0), t.tensor([NAN, 1.0, NAN]).max(0)],
    "infinite": lambda t: t.tensor([[-float("inf")] * 3, [float("inf")] * 3]).max(1),
    "many": lambda t: [(300 - t.arange(300)).max(0), t.arange(7000).reshape(70, 100).min(1)],
    "three dimensions": lambda t: [box(t).max(dim, kept) for dim in range(-3, 3) for kept in (False, True)],
    "another tensor": lambda t: [t.max(grid(t), -grid(t)), grid(t)[0].min()],
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    agree(VALUES[name])


@pytest.mark.parametrize(
    "dtype",
    ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"],
)
def test_dtypes(dtype: str) -> None:
    def results(t: Any) -> Any:
        x = t.tensor([[0, 1, 1], [1, 0, 0]]).to(getattr(t, dtype))
        return x.max(1), x.min(0), x[:, 1:].max(1, True)

    agree(results)


def test_types() -> None:
    agree(lambda t: [kind(grid(t).max(1)), kind(t.min(grid(t), 0)), kind(grid(t).to("meta").max(0))])
    agree(lambda t: [type(grid(t).max(1)) is t.return_types.max, type(t.min(grid(t), 1)) is t.return_types.min])
    agree(lambda t: [f in t.return_types.all_return_types for f in (t.return_types.max, t.return_types.min)])


def test_operators_return_plain_tuples() -> None:
    agree(lambda t: [type(op(grid(t), 1)) for op in (t.ops.aten.max, t.ops.aten.max.dim, t.ops.aten.min.dim)])


# ---------------------------------------------------------------- as a tuple, as an object
USES: dict[str, Case] = {
    "unpacked": lambda t: [part.tolist() for part in whole(t).max(1)],
    "by name": lambda t: [whole(t).max(1).values, whole(t).min(1).indices],
    "by number": lambda t: [whole(t).max(1)[0], whole(t).max(1)[-1], type(whole(t).max(1)[:1]), len(whole(t).max(1))],
    "joined": lambda t: ((*whole(t).max(1), 1), type(whole(t).max(1) * 2)),
    "shown": lambda t: [repr(whole(t).max(1)), str(t.min(whole(t), 0, True)), f"{t.return_types.max((1, 'a'))}"],
    "made": lambda t: [t.return_types.max((1, 2)), t.return_types.min([1, 2]).indices, t.return_types.max(iter("ab"))],
    "copied": lambda t: [copy.copy(whole(t).max(1)), copy.deepcopy(whole(t).min(0))],
    "pickled": lambda t: [pickle.loads(pickle.dumps(whole(t).max(1), protocol)) for protocol in range(2, 6)],
    "pickled, the parts": lambda t: pickle.loads(pickle.dumps(t.return_types.min((1, 2)))).values,
    "mapped": lambda t: t.utils._pytree.tree_map(lambda leaf: leaf * 2, [whole(t).max(1)]),
    "leaves": lambda t: t.utils._pytree.tree_leaves({"a": whole(t).max(1)}),
    "set": lambda t: setattr(whole(t).max(1), "values", 1),
    "of one": lambda t: t.return_types.max((1,)),
    "of three": lambda t: t.return_types.max((1, 2, 3)),
    "of none": lambda t: t.return_types.max(),
    "of a number": lambda t: t.return_types.max(3),
    "derived from": lambda t: type("derived", (t.return_types.max,), {}),
    "a match": lambda t: matched(whole(t).max(1), t),
}  # fmt: skip


def matched(result: Any, t: Any) -> Any:
    match result:
        case t.return_types.max(values, indices):
            return indices, values
    return None


@pytest.mark.parametrize("name", USES)
def test_uses(name: str) -> None:
    agree_or_raise(USES[name])


def test_results_that_hold_themselves_are_collected() -> None:
    result = ours.ones(2, 2).max(1)
    result.values.own = result
    gone = weakref.ref(result.values)
    del result
    gc.collect()
    assert gone() is None


# ---------------------------------------------------------------- errors
ERRORS: dict[str, tuple[Case, str]] = {
    "an empty dimension": (lambda t: t.empty(3, 0).max(1), "max(): Expected reduction dim 1 to have non-zero size."),
    "from behind": (lambda t: t.empty(0, 3, 2).min(-3), "min(): Expected reduction dim 0 to have non-zero size."),
    "empty, as a function": (lambda t: t.max(t.empty(0), 0), "max(): Expected reduction dim 0 to have non-zero size."),
    "empty, truth values": (lambda t: t.empty(0, dtype=t.bool).min(0), "min(): Expected reduction dim 0 to have"),
    "empty before complex": (lambda t: t.empty(0, dtype=t.complex64).max(0), "max(): Expected reduction dim 0 to have"),
    "complex": (lambda t: t.ones(2, 2, dtype=t.complex64).max(1), "max(): does not support complex input"),
    "complex, empty elsewhere": (lambda t: t.empty(2, 0, dtype=t.complex64).min(0), "min(): does not support complex"),
    "complex, without dimensions": (lambda t: t.tensor(1j).max(0), "max(): does not support complex input"),
    "out of range": (lambda t: t.ones(2, 2).max(2), "(expected to be in range of [-2, 1], but got 2)"),
    "out of range, empty": (lambda t: t.empty(2, 0).min(-3), "(expected to be in range of [-2, 1], but got -3)"),
    "out of range, complex": (lambda t: t.ones(2, 2, dtype=t.complex64).max(5), "(expected to be in range of [-2, 1]"),
    "out of range, no dimensions": (lambda t: t.tensor(1.0).max(1), "(expected to be in range of [-1, 0], but got 1)"),
    "argmax": (lambda t: t.empty(2, 0).argmax(-1), "argmax(): Expected reduction dim 1 to have non-zero size."),
    "argmin": (lambda t: t.empty(0, 2).argmin(-2), "argmin(): Expected reduction dim 0 to have non-zero size."),
    "dimensions": (lambda t: t.ones(2, 2).max((0, 1)), "received an invalid combination of arguments"),
    "a fraction": (lambda t: t.max(t.ones(2, 2), 1.0), "received an invalid combination of arguments"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    agree(*ERRORS[name])


# ---------------------------------------------------------------- gradients and transforms
def gradient(t: Any, function: Any) -> Any:
    x = whole(t).requires_grad_()
    result = function(x)
    (result.values * t.arange(1.0, result.values.numel() + 1).reshape(result.values.shape)).sum().backward()
    return result, type(result.values.grad_fn).__name__, result.indices.requires_grad, x.grad


def second(t: Any) -> Any:
    x = whole(t).requires_grad_()
    (first,) = t.autograd.grad((x * x).max(1).values.pow(2).sum(), x, create_graph=True)
    return first, t.autograd.grad(first.sum(), x)


TRANSFORMED: dict[str, Case] = {
    "a gradient": lambda t: gradient(t, lambda x: x.max(1)),
    "a gradient, kept": lambda t: gradient(t, lambda x: t.min(x, 0, True)),
    "a gradient, of no dimensions": lambda t: gradient(t, lambda x: x[0, 0].max(0)),
    "a gradient, at a tie": lambda t: gradient(t, lambda x: (x * 0).max(1)),
    "a second gradient": second,
    "gradcheck": lambda t: t.autograd.gradcheck(lambda x: x.max(0)[0], whole(t).requires_grad_(True)),
    "gradgradcheck": lambda t: t.autograd.gradgradcheck(lambda x: x.min(1, True)[0], whole(t).requires_grad_()),
    "batched gradients": lambda t: t.func.jacrev(lambda x: x.max(1).values)(whole(t)),
    "func.grad": lambda t: t.func.grad(lambda x: x.max(1).values.sum())(whole(t)),
    "vmap": lambda t: t.func.vmap(lambda x: x.max(0))(whole(t)),
    "vmap, nested": lambda t: t.func.vmap(t.func.vmap(lambda x: t.min(x, 0)))(whole(t)[None]),
    "jvp": lambda t: t.func.jvp(lambda x: x.max(1), (whole(t),), (whole(t) * 2,)),
    "functionalize": lambda t: t.func.functionalize(lambda x: x.max(1))(whole(t)),
    "a trace": lambda t: t.jit.trace(lambda x: x.max(1), (whole(t),))(-whole(t))[0],
    "meta": lambda t: [t.empty(2, 3, device="meta").max(1, True), t.empty(2, 0, 1, device="meta").min(2)],
    "inference mode": lambda t: in_inference_mode(t),
}  # fmt: skip


def in_inference_mode(t: Any) -> Any:
    with t.inference_mode():
        return whole(t).max(1)


@pytest.mark.parametrize("name", TRANSFORMED)
def test_gradients_and_transforms(name: str) -> None:
    agree(TRANSFORMED[name])


# ---------------------------------------------------------------- overrides
def of_a_subclass(t: Any) -> Any:
    class Plain(t.Tensor):  # type: ignore[misc, name-defined]
        pass

    result = whole(t).as_subclass(Plain).max(1)
    return type(result).__name__, [type(part).__name__ for part in result]


def of_a_handler(t: Any) -> Any:
    class Own(t.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return (func.__name__, 2)

    own = whole(t).as_subclass(Own)
    return type(own.max(1)), own.max(1), t.min(own, dim=0)


def of_a_function_mode(t: Any) -> Any:
    seen = []

    class Seeing(t.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            seen.append((func.__name__, type(result).__name__))
            return result

    x = whole(t)
    with Seeing():
        found = type(x.max(1)).__name__, type(t.min(x, dim=1)).__name__
    return found, seen


def of_a_dispatch_mode(t: Any) -> Any:
    seen = []

    class Seeing(t.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            seen.append((str(func), type(result)))
            return list(result) if isinstance(result, tuple) else result

    x = whole(t)
    with Seeing():
        result = x.max(1)
    return result, seen


OVERRIDDEN: dict[str, Case] = {
    "a subclass": of_a_subclass,
    "a subclass that answers": of_a_handler,
    "a function mode": of_a_function_mode,
    "a dispatch mode": of_a_dispatch_mode,
}


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_overrides(name: str) -> None:
    agree(OVERRIDDEN[name])


# ---------------------------------------------------------------- operators of one overload, of one's own
def test_an_operator_of_one_overload() -> None:
    library = Library("aten", "FRAGMENT")
    library.define("halved(Tensor self, int at) -> (Tensor first, Tensor rest)", variants=("function", "method"))
    library.impl("halved", lambda x, at: (x[:at].clone(), x[at:].clone()), "CPU")
    x = ours.arange(5)
    for result in (x.halved(2), ours.halved(x, at=2)):
        assert isinstance(result, ours.return_types.halved)
        assert (result.first.tolist(), result.rest.tolist()) == ([0, 1], [2, 3, 4])
    assert type(ours.ops.aten.halved(x, 2)) is tuple
    with pytest.raises(TypeError, match="argument 'at'"):
        x.halved("two")


def test_operators_without_names_and_of_other_namespaces_return_tuples() -> None:
    library, mine = Library("aten", "FRAGMENT"), Library("named_results", "DEF")
    library.define("unnamed(Tensor self) -> (Tensor, Tensor)", variants=("method",))
    mine.define("in_two(Tensor self) -> (Tensor first, Tensor rest)", variants=("method",))
    for each in (library, mine):
        name = "unnamed" if each is library else "in_two"
        each.impl(name, lambda x: (x[:1].clone(), x[1:].clone()), "CPU")
    assert type(ours.ones(2).unnamed()) is tuple
    assert type(ours.ones(2).in_two()) is tuple


@pytest.mark.parametrize("given", [tuple, time.struct_time, 3, "max"])
def test_a_type_that_was_not_made_for_results_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match=r"aten::max\.dim: expected a type of 2 named results, got "):
        ours.ops.aten.max.dim.set_result_type(given)
    assert isinstance(ours.ones(2, 2).max(1), ours.return_types.max)
