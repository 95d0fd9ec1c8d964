"""Steps of optimizers in one pass over memory: every number is that of the step that is composed of operators."""

import itertools
import math

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

SIZES = (0,), (1,), (3, 5), (70_001,)
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-42, -1e-42, 3e38, 1e-30]

ADAM = [
    {"weight_decay": decay, "amsgrad": amsgrad, "maximize": maximize}
    for decay, amsgrad, maximize in itertools.product((0, 0.1), (False, True), (False, True))
]
SGD = [
    {"lr": 0.1, "weight_decay": decay, "maximize": maximize, **moving}
    for decay, maximize in itertools.product((0, 0.1), (False, True))
    for moving in ({}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.3}, {"momentum": 0.9, "nesterov": True})
]
CASES = [
    *(("Adam", options) for options in [*ADAM, {"betas": (0.3, 0.4), "eps": 0.0}]),
    *(("AdamW", options) for options in ADAM),
    *(("SGD", options) for options in SGD),
]


class Composed(TorchDispatchMode):
    """Sees the operators of a step, which is so composed of them."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.add(func.name())
        return func(*args, **(kwargs or {}))


def numbers(shape, seed, dtype):
    values = np.random.default_rng(seed).standard_normal(shape)
    flat = values.reshape(-1)
    taken = SPECIAL[: max(len(flat) - 4, 0)]
    flat[: len(taken)] = taken
    return torch.tensor(values, dtype=dtype)


def steps(name, options, dtype, composed):
    params = [numbers(shape, i, dtype).requires_grad_() for i, shape in enumerate(SIZES)]
    optimizer = getattr(torch.optim, name)(params, **options)
    for step in range(3):
        for i, param in enumerate(params):
            param.grad = numbers(param.shape, 100 * step + i + 7, dtype)
        if composed:
            with Composed() as mode:
                optimizer.step()
            assert "aten::add_.Tensor" in mode.seen
        else:
            optimizer.step()
    states = [value for state in optimizer.state.values() for _, value in sorted(state.items()) if value is not None]
    return [bits(tensor.detach()) for tensor in (*params, *states)]


def bits(tensor):
    """The memory of a tensor, by which NaN is NaN and -0.0 is not 0.0."""
    return tensor.reshape(-1).view(torch.uint8).tolist() if tensor.numel() else []


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_a_step_in_one_pass_gives_the_same_bits(name, options, dtype):
    assert steps(name, options, dtype, composed=False) == steps(name, options, dtype, composed=True)


def operators(optimizer):
    with profile() as profiled:
        optimizer.step()
    return {row.key for row in profiled.key_averages()}


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
def test_where_a_step_is_one_pass(name):
    one = {"Adam": "aten::_fused_adam_", "AdamW": "aten::_fused_adamw_", "SGD": "aten::_fused_sgd_"}[name]
    make = getattr(torch.optim, name)
    param = torch.ones(4, requires_grad=True)
    param.grad = torch.ones(4)
    assert one in operators(make([param], lr=0.1))
    assert one not in operators(make([param], lr=0.1, foreach=True))
    assert one not in operators(make([param], lr=torch.tensor(0.1)))
    param.grad = param.detach()  # in the same memory
    assert one not in operators(make([param], lr=0.1))
    param.grad = torch.ones(8)[::2]
    assert one not in operators(make([param], lr=0.1))
    with torch.npu.lookahead():
        assert one not in operators(make([param], lr=0.1))


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
@pytest.mark.parametrize("case", ["same memory", "steps between", "transposed"])
def test_steps_that_are_not_one_pass_agree_with_pytorch(name, case):
    pytorch = pytest.importorskip("torch")

    def run(module):
        param = module.arange(6.0).reshape(2, 3).requires_grad_()
        optimizer = getattr(module.optim, name)([param], lr=0.1, weight_decay=0.1)
        for _ in range(3):
            given = {
                "same memory": lambda: param.detach(),
                "steps between": lambda: module.linspace(-1, 1, 12).reshape(2, 6)[:, ::2],
                "transposed": lambda: module.linspace(-1, 1, 6).reshape(3, 2).T,
            }
            param.grad = given[case]()
            optimizer.step()
        return param.detach().numpy()

    np.testing.assert_allclose(run(torch), run(pytorch), rtol=1e-6)


def test_a_step_counts_as_a_change():
    param = torch.ones(3, requires_grad=True)
    used = (param * param).sum()
    param.grad = torch.ones(3)
    torch.optim.AdamW([param]).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        used.backward()


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_numbers_that_the_dtype_does_not_hold(name):
    pytorch = pytest.importorskip("torch")
    for module in (torch, pytorch):
        param = module.ones(3, requires_grad=True)
        param.grad = module.ones(3)
        with pytest.raises(RuntimeError, match="without overflow"):
            getattr(module.optim, name)([param], lr=1e300).step()
