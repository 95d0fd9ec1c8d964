"""Binding arguments, choosing overloads and kernels; beside PyTorch's where it has the behaviour."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

import mindtorch_v2
from mindtorch_v2.library import Library
from tests.runtime.both import agree, fresh_namespace


def operator(torch: Any, schema: str, kernel: Callable[..., Any] | None = None, key: str = "CPU") -> Any:
    """The overload of a new operator; the library lives on as an attribute of torch.ops' namespace."""
    namespace = fresh_namespace()
    torch.library.define(f"{namespace}::op", schema)
    if kernel is not None:
        torch.library.impl(f"{namespace}::op", key, kernel)
    return getattr(torch.ops, namespace).op


def arguments_seen(torch: Any, schema: str, call: Callable[[Any, Any], Any]) -> Any:
    """What the kernel sees of a call."""
    seen: list[Any] = []

    def kernel(x: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append((list(args), kwargs))
        return x.clone()

    call(operator(torch, schema, kernel), torch.ones(2))
    return seen


# ---------------------------------------------------------------- binding

BOUND: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "positional": ("(Tensor x, int i, float f, bool b, str s) -> Tensor", lambda op, x: op(x, 1, 2.5, True, "s")),
    "keywords in any order": ("(Tensor x, int i, float f) -> Tensor", lambda op, x: op(f=2.5, x=x, i=1)),
    "an int for a float": ("(Tensor x, float f) -> Tensor", lambda op, x: op(x, 2)),
    "numbers": ("(Tensor x, Scalar a, Scalar b, Scalar c) -> Tensor", lambda op, x: op(x, 1, 2.5, True)),
    "optional": ("(Tensor x, int? i, float? f) -> Tensor", lambda op, x: op(x, None, 1.5)),
    "lists": (
        "(Tensor x, int[] i, float[] f, bool[] b) -> Tensor",
        lambda op, x: op(x, [1, 2], [1.5, 2.0], [True, False]),
    ),
    "ints in a list of floats": ("(Tensor x, float[] f) -> Tensor", lambda op, x: op(x, [1, 2.5])),
    "a tuple for a list": ("(Tensor x, int[] i) -> Tensor", lambda op, x: op(x, (1, 2))),
    "an empty list": ("(Tensor x, int[] i) -> Tensor", lambda op, x: op(x, [])),
    "an int for a sized list": ("(Tensor x, int[2] i) -> Tensor", lambda op, x: op(x, 3)),
    "an optional list": ("(Tensor x, int[]? i, int[]? j) -> Tensor", lambda op, x: op(x, None, [1])),
    "a shape": ("(Tensor x, int[] i) -> Tensor", lambda op, x: op(x, list(x.shape))),
    "SymInt": ("(Tensor x, SymInt i, SymInt[] j) -> Tensor", lambda op, x: op(x, 3, [4])),
}


@pytest.mark.parametrize("name", BOUND)
def test_binding(name: str) -> None:
    schema, call = BOUND[name]
    agree(lambda torch: arguments_seen(torch, schema, call))


def test_keyword_only_arguments_reach_the_kernel_by_keyword() -> None:
    agree(
        lambda torch: arguments_seen(
            torch, "(Tensor x, int i, *, float f, str s) -> Tensor", lambda op, x: op(x, s="s", f=1, i=2)
        )
    )


def test_defaults_are_filled_in() -> None:
    """PyTorch leaves them to the kernel's own defaults."""
    seen = arguments_seen(
        mindtorch_v2,
        "(Tensor x, int i=3, float f=1, *, str s='a', int[2] k=[1,2], int[2] n=5, bool? b=None) -> Tensor",
        lambda op, x: op(x, f=2),
    )
    assert seen == [([3, 2.0], {"s": "a", "k": [1, 2], "n": [5, 5], "b": None})]


def test_dtype_and_device_arguments() -> None:
    def case(torch: Any) -> Any:
        seen: list[Any] = []

        def kernel(x: Any, dtype: Any, device: Any) -> Any:
            seen.append((dtype is torch.float64, str(device)))
            return x.clone()

        operator(torch, "(Tensor x, ScalarType dtype, Device device) -> Tensor", kernel)(
            torch.ones(1), torch.float64, torch.device("meta")
        )
        return seen

    agree(case)


def test_a_device_may_be_a_string() -> None:
    def case(torch: Any) -> Any:
        op = operator(torch, "(Tensor x, Device device) -> Tensor", lambda x, device: x + (device.type == "meta"))
        return op(torch.ones(1), "meta")

    agree(case)


MISBOUND: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "missing": (lambda op, x: op(), "missing 2 required arguments: 'x', 'k'"),
    "missing one": (lambda op, x: op(x), "missing 1 required argument: 'k'"),
    "too many": (lambda op, x: op(x, 1, 2.0, 3), "takes 3 positional arguments but 4 were given"),
    "unknown keyword": (
        lambda op, x: op(x, 1, sclae=2.0),
        "unexpected keyword argument 'sclae'; did you mean 'scale'?",
    ),
    "twice": (lambda op, x: op(x, 1, k=2), "got multiple values for argument 'k'"),
    "a wrong type": (lambda op, x: op(x, "1"), "argument 'k' (position 2) must be int, not str"),
    "a float for an int": (lambda op, x: op(x, 1.5), "argument 'k' (position 2) must be int, not float"),
    "no tensor": (lambda op, x: op(3, 1), "argument 'x' (position 1) must be Tensor, not int"),
    "None for a tensor": (lambda op, x: op(None, 1), "argument 'x' (position 1) must be Tensor, not NoneType"),
}


@pytest.mark.parametrize("name", MISBOUND)
def test_calls_that_do_not_fit(name: str) -> None:
    """The message names operator, argument, expected and got, and shows the schema; the class is PyTorch's."""
    call, message = MISBOUND[name]
    schema = "(Tensor x, int k, float scale=1.0) -> Tensor"
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError):
        call(operator(torch, schema, lambda x, k, scale: x), torch.ones(1))
    op = operator(mindtorch_v2, schema, lambda x, k, scale: x)
    with pytest.raises(RuntimeError) as info:
        call(op.default, mindtorch_v2.ones(1))
    assert message in str(info.value)
    assert op._qualified_op_name in str(info.value)
    assert schema in str(info.value)


# ---------------------------------------------------------------- overloads


def overloaded(torch: Any) -> Any:
    lib = (
        Library(fresh_namespace(), "DEF") if torch is mindtorch_v2 else torch.library.Library(fresh_namespace(), "DEF")
    )
    for name, schema in {
        "f.Tensor": "(Tensor x, Tensor y) -> Tensor",
        "f.Scalar": "(Tensor x, Scalar y) -> Tensor",
        "f.list": "(Tensor x, int[] y) -> Tensor",
        "f.dim": "(Tensor x, *, int dim) -> Tensor",
    }.items():
        lib.define(name + schema)
    lib.impl("f.Tensor", lambda x, y: x + y, "CPU")
    lib.impl("f.Scalar", lambda x, y: x + y * 10, "CPU")
    lib.impl("f.list", lambda x, y: x + len(y) * 100, "CPU")
    lib.impl("f.dim", lambda x, *, dim: x + dim * 1000, "CPU")
    return lib, getattr(torch.ops, lib.ns).f


def test_the_first_overload_that_fits() -> None:
    def case(torch: Any) -> Any:
        _lib, f = overloaded(torch)
        x = torch.ones(1)
        return f(x, x), f(x, 2), f(x, 2.5), f(x, [1, 2]), f(x, dim=3), f.Tensor(x, x), f.list(x, y=(1, 2, 3))

    agree(case)


def test_no_overload_fits() -> None:
    _lib, f = overloaded(mindtorch_v2)
    with pytest.raises(RuntimeError) as info:
        f(mindtorch_v2.ones(1), "s", k=None)
    message = str(info.value)
    assert "received an invalid combination of arguments - got (Tensor, str, k=NoneType)" in message
    for overload in ("f.Tensor(Tensor x, Tensor y)", "f.dim(Tensor x, *, int dim)"):
        assert overload in message


# ---------------------------------------------------------------- keys


def test_a_missing_kernel_names_what_there_is() -> None:
    op = operator(mindtorch_v2, "(Tensor x) -> Tensor", lambda x: x, "CUDA")
    with pytest.raises(NotImplementedError) as info:
        op(mindtorch_v2.ones(1))
    message = str(info.value)
    assert f"Could not run '{op._qualified_op_name}' with arguments from the 'CPU' backend" in message
    assert "does not have a kernel registered for cpu; it has kernels for CUDA" in message


def test_a_missing_kernel_is_pytorchs_error() -> None:
    agree(lambda torch: operator(torch, "(Tensor x) -> Tensor")(torch.ones(1)), "'CPU' backend")


def test_a_missing_fake_rule_names_register_fake() -> None:
    op = operator(mindtorch_v2, "(Tensor x) -> Tensor", lambda x: x)
    with pytest.raises(NotImplementedError, match="register_fake"):
        op(mindtorch_v2.empty(1, device="meta"))


@pytest.mark.parametrize("composite", ["CompositeImplicitAutograd", "CompositeExplicitAutograd"])
def test_a_backends_own_kernel_stands_before_a_composite_one(composite: str) -> None:

    def case(torch: Any) -> Any:
        namespace, results = fresh_namespace(), []
        lib = torch.library.Library(namespace, "DEF")
        lib.define("op(Tensor x) -> Tensor")
        op = getattr(torch.ops, namespace).op
        for key, amount in ((composite, 1), ("CPU", 2)):
            lib.impl("op", lambda x, amount=amount: x + amount, key)
            results.append(op(torch.zeros(1)))
        return results

    agree(case)


def test_composite_kernels_and_gradients() -> None:
    """Implicit: recorded by what it calls. Explicit: below autograd, with a formula of its own."""

    def case(torch: Any) -> Any:
        results = []
        for key in ("CompositeImplicitAutograd", "CompositeExplicitAutograd"):
            namespace = fresh_namespace()
            torch.library.define(f"{namespace}::op", "(Tensor x) -> Tensor")
            torch.library.impl(f"{namespace}::op", key, lambda x: x * 3)
            if key == "CompositeExplicitAutograd":
                torch.library.register_autograd(f"{namespace}::op", lambda ctx, grad: grad * 30)
            x = torch.tensor([1.0], requires_grad=True)
            getattr(torch.ops, namespace).op(x).sum().backward()
            results.append(x.grad)
        return results

    agree(case)


def test_an_autograd_kernel_stands_before_the_formula() -> None:
    def case(torch: Any) -> Any:
        class Triple(torch.autograd.Function):  # type: ignore[misc]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 3

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 300

        namespace = fresh_namespace()
        lib = torch.library.Library(namespace, "DEF")
        lib.define("op(Tensor x) -> Tensor")
        lib.impl("op", lambda x: x * 3, "CPU")
        lib.impl("op", Triple.apply, "Autograd")
        x = torch.tensor([1.0], requires_grad=True)
        y = getattr(torch.ops, namespace).op(x)
        y.sum().backward()
        return y, x.grad

    agree(case)


def test_a_tensor_in_a_list_chooses_the_backend() -> None:
    op = operator(mindtorch_v2, "(Tensor?[] xs) -> Tensor", lambda xs: xs[1].clone())
    mindtorch_v2.library.register_fake(op._qualified_op_name, lambda xs: mindtorch_v2.empty_like(xs[1]))
    assert op([None, mindtorch_v2.ones(2)]).device.type == "cpu"
    assert op([None, mindtorch_v2.empty(2, device="meta")]).device.type == "meta"


def test_a_factory_runs_on_its_device() -> None:
    def case(torch: Any) -> Any:
        namespace = fresh_namespace()
        torch.library.define(f"{namespace}::make", "(int n, *, Device? device=None) -> Tensor")
        make = getattr(torch.ops, namespace).make
        torch.library.impl(f"{namespace}::make", "default", lambda n, device=None: torch.ones(n, device=device))
        return make(2), make(3, device=torch.device("cpu"))

    agree(case)


def test_npu_is_privateuse1() -> None:
    op = operator(mindtorch_v2, "(Tensor x) -> Tensor", lambda x: x, "PrivateUse1").default
    assert op.has_kernel("NPU")
    assert list(op.kernel_sources()) == ["NPU"]


@pytest.mark.parametrize("keys", [-1, 2**64, 1e300, float("nan"), "CPU", None])
def test_redispatch_takes_a_key_set(keys: Any) -> None:
    with pytest.raises(TypeError):
        torch.ops.aten.add.Tensor.redispatch(keys, torch.ones(1), torch.ones(1))
    with pytest.raises(TypeError, match="takes a DispatchKeySet first"):
        mindtorch_v2.ops.aten.add.Tensor.redispatch(keys, mindtorch_v2.ones(1), mindtorch_v2.ones(1))


def test_operators_are_pickled_by_name() -> None:
    packet = mindtorch_v2.ops.aten.add
    assert pickle.loads(pickle.dumps([packet, packet.Tensor])) == [packet, packet.Tensor]
