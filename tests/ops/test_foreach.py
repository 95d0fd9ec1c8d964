"""Operators that are repeated for each tensor of a list, and steps of optimisers, beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as ours

pytorch = pytest.importorskip("torch")

SHAPES = [(3,), (2, 4), (), (0, 2)]
LISTS = {"scalars": [1.5, 2.0, 0.5, 3.0], "weight": [0.25, 0.5, 0.0, 1.0], "exponent": [2.0, 0.5, 3.0, 1.0]}


def names() -> list[str]:
    found = []
    for name, packet in vars(ours.ops.aten).items():
        if name.startswith("_foreach_") and isinstance(packet, ours._core.OpOverloadPacket):
            found += [f"{name}.{overload}" for overload in packet.overloads() if not overload.endswith("out")]
    return sorted(found)


def tensors(library: Any, dtype: str, seed: int) -> list[Any]:
    source = np.random.default_rng(seed)
    return [
        library.from_numpy(np.array(source.uniform(0.1, 0.9, shape))).to(getattr(library, dtype)) for shape in SHAPES
    ]


def arguments(library: Any, schema: Any, dtype: str) -> list[Any]:
    values: list[Any] = []
    for at, argument in enumerate(schema.arguments):
        kind, name = str(argument.type), argument.name
        if kind.startswith("Tensor") and kind.endswith("[]"):
            values.append(tensors(library, dtype, at))
        elif kind == "Scalar[]":
            values.append(LISTS[name])
        elif kind == "Scalar":
            values.append(2)
        elif kind == "Tensor":
            whole = library.from_numpy(np.array(LISTS["scalars"] if name == "scalars" else 1.5))
            values.append(whole.to(getattr(library, dtype)))
        else:
            break  # the rest has defaults
    return values


def result(library: Any, qualname: str, schema: Any, dtype: str) -> Any:
    name, overload = qualname.split(".")
    args = arguments(library, schema, dtype)
    keywords = {a.name: v for a, v in zip(schema.arguments, args, strict=False) if a.kwarg_only}
    positional = [v for a, v in zip(schema.arguments, args, strict=False) if not a.kwarg_only]
    try:
        found = getattr(getattr(library.ops.aten, name), overload)(*positional, **keywords)
    except (RuntimeError, IndexError) as error:
        return type(error)
    return [(str(t.dtype), t.double().numpy()) for t in (args[0] if found is None else found)]


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "int64"])
@pytest.mark.parametrize("qualname", names())
def test_what_is_repeated(qualname: str, dtype: str) -> None:
    if "_max" in qualname and "clamp" not in qualname and "maximum" not in qualname:
        pytest.skip("one of the tensors is empty")
    name, overload = qualname.split(".")
    schema = getattr(getattr(ours.ops.aten, name), overload)._schema
    mine, theirs = (result(library, qualname, schema, dtype) for library in (ours, pytorch))
    if isinstance(theirs, type):
        assert isinstance(mine, type)
        assert issubclass(mine, theirs)
        return
    assert not isinstance(mine, type)
    for (one, values), (other, expected) in zip(mine, theirs, strict=True):
        assert one == other
        tolerance = 2e-2 if dtype == "bfloat16" else 1e-6
        np.testing.assert_allclose(values, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t._foreach_add([], 1),
        lambda t: t._foreach_add([t.ones(2)], [1.0, 2.0]),
        lambda t: t._foreach_add([t.ones(2)], [t.ones(2), t.ones(2)]),
        lambda t: t._foreach_mul([t.ones(2)], t.ones(2)),
        lambda t: t._foreach_addcmul([t.ones(2)], [t.ones(2)], [t.ones(2)], t.ones(2, 2)),
        lambda t: t._foreach_sin([t.ones(2), 3]),
    ],
)
def test_wrong_lists(call: Any) -> None:
    kinds = []
    for library in (ours, pytorch):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            call(library)
        kinds.append(caught.type)
    assert issubclass(kinds[0], kinds[1])


def test_gradients_of_lists_in_place() -> None:
    grads = []
    for library in (ours, pytorch):
        leaf = library.ones(3, requires_grad=True)
        changed = [leaf * 2, leaf * 3]
        library._foreach_mul_(changed, [4.0, 5.0])
        (changed[0] + changed[1] * changed[1]).sum().backward()
        grads.append(leaf.grad.tolist())
    assert grads[0] == grads[1]


STEPS: list[tuple[str, int, dict[str, Any]]] = [
    *(
        (name, 5, {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, **options})
        for name in ("adam", "adamw")
        for options in (
            {"weight_decay": 0.0, "amsgrad": False, "maximize": False},
            {"weight_decay": 0.1, "amsgrad": True, "maximize": True},
        )
    ),
    ("sgd", 3, {"weight_decay": 0.1, "momentum": 0.9, "lr": 0.1, "dampening": 0.2, "nesterov": False, "maximize": False,
                "is_first_step": False}),
    ("sgd", 3, {"weight_decay": 0.0, "momentum": 0.9, "lr": 0.1, "dampening": 0.0, "nesterov": True, "maximize": True,
                "is_first_step": True}),
    ("adagrad", 3, {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "eps": 1e-10, "maximize": False}),
]  # fmt: skip


@pytest.mark.parametrize("found", [None, 0.0, 1.0])
@pytest.mark.parametrize(("name", "count", "options"), STEPS)
def test_a_step(name: str, count: int, options: dict[str, Any], found: float | None) -> None:
    states = []
    for library in (ours, pytorch):
        source = np.random.default_rng(0)
        lists = [
            [library.from_numpy(source.uniform(0.1, 0.9, shape).astype("float32")) for shape in ((3,), (2, 4))]
            for _ in range(count)
        ]
        if not options.get("amsgrad", True):
            lists[4] = []
        steps = [] if name == "sgd" else [[library.full((), 3.0), library.full((), 3.0)]]
        scale = {} if found is None else {"grad_scale": library.tensor(2.0), "found_inf": library.tensor(found)}
        getattr(library, f"_fused_{name}_")(*lists, *steps, **options, **scale)
        states.append([tensor.numpy() for tensors in lists for tensor in tensors])
    for mine, theirs in zip(*states, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_lists_of_meta_tensors_are_checked_as_others() -> None:
    x, y = (ours.ones(2, device="meta") for _ in range(2))
    ours._foreach_add_([x], [y])
    with pytest.raises(RuntimeError, match="size"):
        ours._foreach_add_([x], [ours.ones(3, device="meta")])
