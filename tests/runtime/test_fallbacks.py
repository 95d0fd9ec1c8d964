"""Fallbacks: for every operator, for one, with exceptions, at autograd keys; and operators that have no gradient.

PyTorch takes no fallback where its own C++ has one, so what is ours alone is tested against its documented rules.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import mindtorch_v2
from mindtorch_v2 import _C
from mindtorch_v2.library import Library, fallthrough_kernel
from tests.runtime.both import agree, fresh_namespace


def operator(torch: Any, schema: str = "(Tensor x) -> Tensor", **kernels: Callable[..., Any]) -> tuple[Any, Any]:
    lib = torch.library.Library(fresh_namespace(), "FRAGMENT")
    name = lib.define(f"op{schema}")
    for key, kernel in kernels.items():
        lib.impl(name, kernel, key)
    return getattr(torch.ops, lib.ns).op.default, lib


@contextmanager
def everywhere(function: Callable[..., Any], key: str, **options: Any) -> Iterator[None]:
    """A fallback for all operators, inside ``with``."""
    lib = Library("_", "IMPL")
    lib.fallback(function, key, **options)
    try:
        yield
    finally:
        lib._destroy()


def double(x: Any) -> Any:
    return x * 2


# ---------------------------------------------------------------- for every operator


def test_a_fallback_at_an_autograd_key_runs_for_operators_without_a_gradient() -> None:
    op, _lib = operator(mindtorch_v2, CPU=double)
    seen = []

    def record(keys: Any, called: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(called.name())
        return called.redispatch(keys & _C._after_autograd_keyset, *args, **kwargs)

    x = mindtorch_v2.ones(2, requires_grad=True)
    with everywhere(record, "AutogradCPU", with_keyset=True):
        assert "test_fallbacks.py" in _C._dispatch_dump_table(op.name()).partition("AutogradCPU")[2].splitlines()[0]
        y = op(x)
        x.sin()  # which has a gradient of its own
    assert seen == [op.name()]
    assert y.tolist() == [2.0, 2.0]
    assert op(x).grad_fn.name() == "OpBackward0"
    assert seen == [op.name()]


@pytest.mark.parametrize("key", ["AutogradCPU", "Autograd"])
def test_a_fallthrough_at_an_autograd_key_leaves_recording_to_the_kernel(key: str) -> None:
    op, _lib = operator(mindtorch_v2, CPU=double)
    x = mindtorch_v2.ones(2, requires_grad=True)
    with everywhere(fallthrough_kernel, key):
        op(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="no autograd formula"):
        op(x).sum().backward()


def test_an_alias_stands_for_all_its_keys() -> None:
    op, _lib = operator(mindtorch_v2, CPU=double)
    with everywhere(fallthrough_kernel, "Autograd"):
        rows = _C._dispatch_dump_table(op.name()).splitlines()
        falling = [row.partition(":")[0] for row in rows if "test_fallbacks.py" in row and "fallthrough" in row]
    assert falling == [f"Autograd{backend}" for backend in ("Other", *mindtorch_v2._core.backend_keys())]
    assert "test_fallbacks.py" not in _C._dispatch_dump_table(op.name()).partition("AutogradOther")[2]


def test_excluded_operators_are_left_alone() -> None:
    def on_cuda(op: Any, *args: Any) -> Any:
        return "ran"

    one, keep_one = operator(mindtorch_v2, "(int n, *, Device device) -> int", CPU=lambda n, *, device: n)
    other, keep_other = operator(mindtorch_v2, "(int n, *, Device device) -> int", CPU=lambda n, *, device: n)
    with everywhere(lambda op, n, *, device: n + 100, "CUDA", exclude=[other]):
        assert one(1, device="cuda") == 101
        with pytest.raises(NotImplementedError, match="does not have a kernel registered for cuda"):
            other(1, device="cuda")
        assert not _C._dispatch_has_computed_kernel_for_dispatch_key(other.name(), "CUDA")
    with pytest.raises(NotImplementedError, match="does not have a kernel registered for cuda"):
        one(1, device="cuda")
    del keep_one, keep_other


def test_excluding_at_an_autograd_key_leaves_the_cores_recording() -> None:
    op, _lib = operator(mindtorch_v2, CPU=double)
    with everywhere(fallthrough_kernel, "AutogradCPU", exclude=[op.name()]):
        assert op(mindtorch_v2.ones(1, requires_grad=True)).grad_fn.name() == "OpBackward0"


def test_excluding_an_unknown_operator_registers_nothing() -> None:
    with pytest.raises(RuntimeError, match="nope::nope does not exist"):
        Library("_", "IMPL").fallback(fallthrough_kernel, "CUDA", exclude=["nope::nope"])
    assert not _C._dispatch_has_backend_fallback("CUDA")


def second_fallback(torch: Any) -> None:
    first = torch.library.Library("_", "IMPL")
    first.fallback(lambda op, *args: None, "CUDA")
    try:
        torch.library.Library("_", "IMPL").fallback(lambda op, *args: None, "CUDA")
    finally:
        first._destroy()


def test_a_second_fallback_at_a_key_is_an_error() -> None:
    agree(second_fallback, "Tried to register multiple backend fallbacks for the same dispatch key CUDA")
    assert not _C._dispatch_has_backend_fallback("CUDA")


def test_an_unknown_key() -> None:
    agree(lambda t: t.library.Library("_", "IMPL").fallback(lambda op: None, "NoKey"), "could not parse dispatch key")


# ---------------------------------------------------------------- for one operator


def test_a_fallback_for_one_operator() -> None:
    op, lib = operator(mindtorch_v2, CPU=double)
    seen = []

    def boxed(keys: Any, called: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(called)
        return called.redispatch(keys & _C._after_autograd_keyset, *args, **kwargs) + 1

    lib.impl_fallback("op", boxed, "Autograd", with_keyset=True)
    assert op(mindtorch_v2.ones(1)).tolist() == [3.0]
    lib.impl_fallback("op", lambda called, x: x.clone() * 10, "CPU")
    assert op(mindtorch_v2.ones(1)).tolist() == [11.0]
    lib.impl_fallback("op", fallthrough_kernel, "Autograd")
    assert op(mindtorch_v2.ones(1)).tolist() == [10.0]
    assert seen == [op, op]


# ---------------------------------------------------------------- operators without a gradient


@contextmanager
def mode(torch: Any, name: str) -> Iterator[list[str]]:
    """The process in an autograd fallback mode; gives the warnings about missing gradients."""
    before, told = torch._C._get_autograd_fallback_mode(), []
    torch._C._set_autograd_fallback_mode(name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield told
        finally:
            torch._C._set_autograd_fallback_mode(before)
            quoted = "registered to the Autograd key(s) but we are trying to backprop through it"
            told += ["warned" for w in caught if quoted in str(w.message)]


def through_numpy(torch: Any) -> Callable[[Any], Any]:
    """A kernel whose own operators record nothing."""
    return lambda x: torch.tensor(x.detach().tolist()) * 3


def no_gradient_at_all(torch: Any, name: str) -> Any:
    """For each kind of operator: whether outputs require grad, and what backward gives or says."""
    results = []
    cases: list[tuple[str, Callable[..., Any], bool]] = [
        ("(Tensor x) -> Tensor", double, False),
        ("(Tensor x) -> Tensor", through_numpy(torch), False),
        ("(Tensor x) -> (Tensor, Tensor)", lambda x: (through_numpy(torch)(x), x * 2), False),
        ("(Tensor x) -> Tensor[]", lambda x: [through_numpy(torch)(x)], False),
        ("(Tensor(a!) x) -> Tensor(a!)", lambda x: x.mul_(2), True),
        ("(Tensor(a) x) -> Tensor(a)", lambda x: x.view(-1), False),
        ("(Tensor x) -> Tensor", lambda x: torch.tensor([1, 2]), False),
    ]
    for schema, kernel, in_place in cases:
        op, _lib = operator(torch, schema, CPU=kernel)
        x = torch.ones(2, requires_grad=True)
        with mode(torch, name) as told:
            y = op(x * 1 if in_place else x)
            last = y[-1] if isinstance(y, (list, tuple)) else y
            required = [t.requires_grad for t in (y if isinstance(y, (list, tuple)) else [y])]
            if last.requires_grad:
                (last * x.detach()).sum().backward()
        results.append((required, x.grad, last._is_view(), told))
    op, _lib = operator(torch, CPU=through_numpy(torch))
    with mode(torch, name), torch.no_grad():
        results.append(op(torch.ones(2, requires_grad=True)))
    return results


@pytest.mark.parametrize("name", ["nothing", "warn"])
def test_pytorchs_modes(name: str) -> None:
    agree(lambda torch: no_gradient_at_all(torch, name))


def test_an_unknown_mode() -> None:
    with pytest.raises(RuntimeError, match="must be one of 'error', 'warn', 'nothing', got 'shout'"):
        _C._set_autograd_fallback_mode("shout")
    assert _C._get_autograd_fallback_mode() == "error"


def test_by_default_backward_is_an_error() -> None:
    """PyTorch's `autogradNotImplementedFallback`, which its own operators ask for one by one."""
    op, _lib = operator(mindtorch_v2, CPU=double)
    y = op(mindtorch_v2.ones(2, requires_grad=True))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match=f"derivative for {op.name()} is not implemented"):
        y.sum().backward()


def test_in_place_without_a_gradient() -> None:
    op, _lib = operator(mindtorch_v2, "(Tensor(a!) x) -> Tensor(a!)", CPU=lambda x: x.mul_(2))
    leaf = mindtorch_v2.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        op(leaf)
    x = leaf * 1
    assert op(x) is x
    assert x._version == 1
    with pytest.raises(RuntimeError, match="is not implemented"):
        x.sum().backward()
    base = leaf * 1
    op(base[:1])
    with pytest.raises(RuntimeError, match="is not implemented"):
        base.sum().backward()


def test_a_view_without_a_gradient() -> None:
    op, _lib = operator(mindtorch_v2, "(Tensor(a) x) -> Tensor(a)", CPU=lambda x: x.view(-1))
    x = mindtorch_v2.ones(2, 2, requires_grad=True)
    y = op(x)
    assert y.requires_grad
    assert y._base is x
    with pytest.raises(RuntimeError, match="is not implemented"):
        y.sum().backward()


def test_integer_outputs_need_no_gradient() -> None:
    op, _lib = operator(mindtorch_v2, CPU=lambda x: mindtorch_v2.tensor([1, 2]))
    assert not op(mindtorch_v2.ones(2, requires_grad=True)).requires_grad


LAZY = """
import mindtorch_v2 as torch
seen = []
def fallback(keys, op, *args, **kwargs):
    seen.append(op.name())
    return op.redispatch(keys.remove("Tracing"), *args, **kwargs)
library = torch.library.Library("_", "IMPL")
library.fallback(fallback, "Tracing", with_keyset=True)
torch.jit.trace  # loads what has a fallback of its own at the key
with torch._C._IncludeDispatchKeyGuard(torch._C.DispatchKeySet("Tracing")):
    torch.ones(1).add_(1)
print(seen)
library._destroy()
print([node.kind() for node in torch.jit.trace(lambda x: x + x, (torch.ones(1),)).graph.nodes()])
"""


def test_a_librarys_fallback_goes_before_one_that_the_runtime_loads_later_and_leaves_that_behind(child_env) -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, env=child_env, check=False)
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first == "['aten::ones', 'aten::add_.Scalar']"
    assert second == "['prim::Constant', 'aten::add']"
