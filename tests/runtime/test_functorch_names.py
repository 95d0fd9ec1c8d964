"""What programs of the time when `torch.func` was the package functorch import: beside PyTorch's."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as ours

PAIRS = [(ours, "mindtorch_v2._functorch.functorch"), (pytorch, "functorch")]
BOTH = pytest.mark.parametrize(("torch", "package"), PAIRS, ids=["ours", "pytorch"])


def tied(torch: Any) -> Any:
    """A module with a parameter under two names, and a buffer under two."""

    class Tied(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.bias = torch.nn.Parameter(torch.arange(3.0))
            self.linear = torch.nn.Linear(3, 3)
            self.linear.bias = self.bias
            self.register_buffer("one", torch.ones(3))
            self.register_buffer("another", self.one)

        def forward(self, x: Any, scale: float = 1.0) -> Any:
            return (self.linear(x) + self.bias + self.one * self.another) * scale

    return Tied()


@BOTH
@pytest.mark.parametrize("name", ["grad", "jacrev", "jacfwd", "grad_and_value", "hessian", "functionalize", "vmap"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what PyTorch's forward mode scripts as it is first used
def test_the_older_names_say_what_to_use(torch: Any, package: str, name: str) -> None:
    now = "torch.vmap" if name == "vmap" else f"torch.func.{name}"
    with pytest.warns(FutureWarning, match=f"functorch.{name}` is deprecated .*Please use `{now}` instead") as told:
        older = getattr(import_module(package), name)(torch.sin)
    assert told[0].filename == __file__
    x = torch.tensor(0.5)
    newer = getattr(torch.func, name)(torch.sin)
    if name != "vmap":
        found, expected = older(x), newer(x)
        assert (
            torch.equal(torch.stack(list(found)), torch.stack(list(expected)))
            if name == "grad_and_value"
            else (found == expected)
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert import_module(f"{package}.experimental").functionalize is torch.func.functionalize


@BOTH
@pytest.mark.parametrize("untracked", [False, True])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_module_as_a_function(torch: Any, package: str, untracked: bool) -> None:
    functorch, module, x = import_module(package), tied(torch), torch.ones(2, 3)
    func, params, buffers = functorch.make_functional_with_buffers(module, disable_autograd_tracking=untracked)
    assert (len(params), len(buffers)) == (2, 1)
    assert all(p.requires_grad is not untracked for p in params)
    assert all(p is not q and torch.equal(p, q) for p, q in zip(params, module.parameters(), strict=True))
    assert torch.equal(func(params, buffers, x, scale=2.0), module(x, 2.0))
    others = tuple(p.detach() + 1 for p in params)
    assert not torch.equal(func(others, buffers, x), module(x))
    with pytest.raises(RuntimeError, match=r"`model` has buffers\. Please use make_functional_with_buffers"):
        functorch.make_functional(module)
    func, params = functorch.make_functional(torch.nn.Linear(3, 1))
    gradients = torch.func.grad(lambda p: func(p, x).sum())(params)
    assert gradients[0].tolist() == [[2.0] * 3]
    assert gradients[1].tolist() == [2.0]


@BOTH
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_an_ensemble(torch: Any, package: str) -> None:
    models, x = [torch.nn.BatchNorm1d(3).eval() for _ in range(2)], torch.rand(4, 3)
    func, params, buffers = import_module(package).combine_state_for_ensemble(models)
    assert [tuple(p.shape) for p in (*params, *buffers)] == [(2, 3), (2, 3), (2, 3), (2, 3), (2,)]
    assert torch.equal(torch.vmap(func, (0, 0, None))(params, buffers, x)[1], models[1](x))
    models[0].weight.requires_grad_(False)
    with pytest.raises(RuntimeError, match=r"same \.requires_grad"):
        torch.func.stack_module_state(models)


@BOTH
def test_models_are_made(torch: Any, package: str) -> None:
    made = import_module(f"{torch.__name__}._functorch.make_functional")
    weights, func, names = made.functional_init(torch.nn.Linear, (5,))(3, 2)
    assert [tuple(w.shape) for w in weights] == [(5, 2, 3), (5, 2)]
    assert tuple(names) == ("weight", "bias")
    assert torch.vmap(func)(weights, (torch.ones(5, 4, 3),)).shape == (5, 4, 2)
    _, buffers, _, _, names = made.functional_init_with_buffers(torch.nn.BatchNorm1d, (5,))(3)
    assert tuple(names) == ("running_mean", "running_var", "num_batches_tracked")
    assert buffers[2].shape == (5,)
    for shape, words in (((1, 2), "more than 1 element"), ((0,), "num_models 0 should be > 0")):
        with pytest.raises(ValueError, match=words):
            made.functional_init(torch.nn.Linear, shape)(3, 2)


@BOTH
def test_arguments_by_position(torch: Any, package: str) -> None:
    chosen = import_module(f"{torch.__name__}._functorch.eager_transforms")._slice_argnums
    assert (chosen("abc", 1), chosen("abc", (0, -1)), chosen("abc", 1, as_tuple=False)) == (("b",), ("a", "c"), "b")
    with pytest.raises(RuntimeError, match="positional inputs"):
        chosen("abc", 3)


def test_the_package_beside_torch() -> None:
    program = """
import mindtorch_v2; mindtorch_v2.install_as_torch()
import functorch, torch
from functorch.experimental import replace_all_batch_norm_modules_
assert functorch.make_fx is torch.fx.experimental.proxy_tensor.make_fx and "mindtorch" in functorch.__file__
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize("torch", [ours, pytorch], ids=["ours", "pytorch"])
def test_what_transforms_refuse(torch: Any) -> None:
    def zeros(output: Callable[[Any], Any], dims: Any) -> Any:
        class Zeros(torch.autograd.Function):  # type: ignore[misc,name-defined]
            @staticmethod
            def forward(x: Any) -> Any:
                return output(torch.zeros_like(x))

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

            @staticmethod
            def vmap(info: Any, in_dims: Any, x: Any) -> Any:
                return output(torch.zeros_like(x[0])), dims

        return Zeros

    x = torch.ones(2, 3)
    for function in (zeros(lambda made: made, (None,)), zeros(lambda made: [made], (None,))):
        with pytest.raises(RuntimeError, match="returned an incompatible"):
            torch.vmap(function.apply)(x)
    with pytest.raises(RuntimeError, match="vmap: We do not support batching operators that can output dynamic shape"):
        torch.vmap(torch.nonzero)(x)


@pytest.mark.parametrize("torch", [ours, pytorch], ids=["ours", "pytorch"])
def test_a_jacobian_row_by_row(torch: Any) -> None:
    """Without `vmap`, for gradients that it does not take."""

    class Identity(torch.autograd.Function):  # type: ignore[misc,name-defined]
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            gradient.nonzero()
            return gradient

    x = torch.ones(3)
    assert torch.equal(torch.func.jacrev(Identity.apply, chunk_size=1)(x), torch.eye(3))
    with pytest.raises(RuntimeError, match="dynamic shape"):
        torch.func.jacrev(Identity.apply, chunk_size=2)(x)


@pytest.mark.parametrize("torch", [ours, pytorch], ids=["ours", "pytorch"])
def test_a_pullback_takes_autograds_options(torch: Any) -> None:
    x = torch.tensor(0.5, requires_grad=True)
    _, pull_back = torch.func.vjp(lambda a: a**3, x)
    (kept,) = pull_back(torch.ones(()), True, True)
    assert torch.autograd.grad(kept, x)[0].item() == 3.0
    pull_back(torch.ones(()), retain_graph=False)
    with pytest.raises(RuntimeError, match="second time"):
        pull_back(torch.ones(()))
