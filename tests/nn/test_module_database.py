"""Modules on the samples of PyTorch's own database of them: made from one seed, with one repr, the same outputs,
gradients and states."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytorch = pytest.importorskip("torch")

from torch.testing._internal.common_modules import module_db  # noqa: E402

import mindtorch_v2 as ours  # noqa: E402

SAMPLES = 12  # of a module, in training and in evaluation
# Why a module is left out.
LEFT_OUT = {
    "FractionalMaxPool2d": "PyTorch refuses its own samples: of another dtype than the input",
    "FractionalMaxPool3d": "as FractionalMaxPool2d",
}


def named(info: Any) -> str:
    return info.module_cls.__name__


INFOS = {
    named(info): info
    for info in module_db
    if info.module_cls.__module__.startswith("torch.nn.modules")
    and named(info) in ours.nn.__all__
    and named(info) not in LEFT_OUT
}


def mine(value: Any) -> Any:
    """A value of PyTorch's as ours."""
    if isinstance(value, pytorch.nn.TransformerEncoderLayer):
        return layer(value)
    if isinstance(value, pytorch.nn.Module):
        return getattr(ours.nn, type(value).__name__)()
    if callable(value) and getattr(value, "__name__", "") in ours.nn.functional.__all__:
        return getattr(ours.nn.functional, value.__name__)
    if isinstance(value, pytorch.Tensor):
        dtype = getattr(ours, str(value.dtype).removeprefix("torch."))
        made = ours.from_numpy(np.ascontiguousarray(value.detach().to(pytorch.float64).numpy())).to(dtype)
        made.requires_grad_(value.requires_grad)
        return made if value.is_leaf else made * 1
    if isinstance(value, pytorch.dtype):
        return getattr(ours, str(value).removeprefix("torch."))
    if isinstance(value, (list, tuple)):
        return type(value)(map(mine, value))
    if isinstance(value, dict):
        return {key: mine(each) for key, each in value.items()}
    return value


def layer(theirs: Any) -> Any:
    """A transformer's layer as ours, with its parameters."""
    attention = theirs.self_attn
    sizes = attention.embed_dim, attention.num_heads, theirs.linear1.out_features, theirs.dropout.p
    made = ours.nn.TransformerEncoderLayer(
        *sizes,
        mine(theirs.activation),
        theirs.norm1.eps,
        attention.batch_first,
        theirs.norm_first,
        bias=theirs.linear1.bias is not None,
    )
    made.load_state_dict({name: mine(value.detach()) for name, value in theirs.state_dict().items()})
    return made


def array(value: Any) -> np.ndarray:
    return np.asarray(value.detach().to({"torch": pytorch, "mindtorch_v2": ours}[root(value)].float64).numpy())


def root(value: Any) -> str:
    return "mindtorch_v2" if isinstance(value, ours.Tensor) else "torch"


def tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, (ours.Tensor, pytorch.Tensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def same(got: Any, expected: Any, what: str) -> None:
    got, expected = list(tensors(got)), list(tensors(expected))
    assert len(got) == len(expected), what
    for one, other in zip(got, expected, strict=True):
        assert str(one.dtype) == str(other.dtype), what
        found, wanted = array(one), array(other)
        largest = np.abs(wanted, where=np.isfinite(wanted), out=np.zeros_like(wanted)).max(initial=1.0)
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=5e-5 * largest, err_msg=what)


def run(library: Any, cls: Any, sample: Any, training: bool) -> tuple[Any, Any, list[Any]]:
    """The module, its outputs, and the tensors that gradients flow to."""
    convert = mine if library is ours else lambda value: value
    arguments, given = sample.constructor_input, sample.forward_input
    library.manual_seed(3)
    module = cls(*convert(list(arguments.args)), **convert(arguments.kwargs)).train(training)
    args, kwargs = convert(list(given.args)), convert(given.kwargs)
    library.manual_seed(4)
    outputs = module(*args, **kwargs)
    floating = [each for each in tensors(outputs) if each.requires_grad]
    reached = (*tensors([*args, *kwargs.values()]), *module.parameters())
    leaves = [each for each in reached if each.requires_grad and each.is_leaf]
    for each in leaves:
        each.grad = None
    if floating:
        sum(((each * each).sum() for each in floating), library.zeros(())).backward()
    return module, outputs, leaves


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("name", INFOS)
def test_a_module_does_what_pytorchs_does(name: str, training: bool) -> None:
    info, cls = INFOS[name], getattr(ours.nn, name)
    inputs = info.module_inputs_func(info, device="cpu", dtype=pytorch.float32, requires_grad=True, training=training)
    compared = 0
    for sample in inputs[:SAMPLES]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs, expected, their_leaves = run(pytorch, info.module_cls, sample, training)
            module, got, leaves = run(ours, cls, sample, training)
        assert repr(module) == repr(theirs)
        assert list(module.state_dict()) == list(theirs.state_dict())
        same(list(module.state_dict().values()), list(theirs.state_dict().values()), f"{sample.desc}: state")
        same(got, expected, f"{sample.desc}: output")
        assert len(leaves) == len(their_leaves)
        for leaf, other in zip(leaves, their_leaves, strict=True):
            assert (leaf.grad is None) == (other.grad is None), sample.desc
            same(leaf.grad, other.grad, f"{sample.desc}: gradient")
        assert repr(pickle.loads(pickle.dumps(module))) == repr(theirs)
        compared += 1
    assert compared, name


def test_how_many_there_are() -> None:
    assert len(INFOS) > 90
