"""Optimizers beside PyTorch's, over its own database of them: 50 steps, states that both load, and what is refused."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as ours

pytorch = pytest.importorskip("torch")
from torch.testing._internal import common_optimizers as database  # noqa: E402

STEPS = 50
SHAPES = {"all": ((3, 4), (5, 2)), "vectors": ((3, 4), (6,), (), (2, 3, 2))}
INFOS = {info.name: info for info in database.optim_db}


def converted(value: Any, module: Any) -> Any:
    """Tensors in a value as those of a library."""
    if isinstance(value, (ours.Tensor, pytorch.Tensor)):
        made = module.from_numpy(value.detach().resolve_conj().numpy().copy())
        return made.requires_grad_() if value.requires_grad and value.is_leaf else made
    if isinstance(value, dict):
        return {key: converted(item, module) for key, item in value.items()}
    return type(value)(converted(item, module) for item in value) if isinstance(value, (list, tuple)) else value


def described(value: Any) -> Any:
    """A state as plain values, tensors as arrays: their dtypes and order of names are compared, too."""
    if isinstance(value, (ours.Tensor, pytorch.Tensor)):
        return str(value.dtype).replace("mindtorch_v2", "torch"), value.detach().numpy().copy()
    if isinstance(value, dict):
        return [(key, described(item)) for key, item in value.items()]
    return [described(item) for item in value] if isinstance(value, (list, tuple)) else value


def assert_same(mine: Any, theirs: Any, rtol: float = 2e-4, atol: float = 2e-5) -> None:
    if isinstance(theirs, (list, tuple)):
        assert len(mine) == len(theirs), (mine, theirs)
        for a, b in zip(mine, theirs, strict=True):
            assert_same(a, b, rtol, atol)
    elif isinstance(theirs, (np.ndarray, float)):
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=atol)
    else:
        assert mine == theirs


def shapes_of(name: str) -> tuple[tuple[int, ...], ...]:
    return SHAPES["all" if name == "Muon" else "vectors"]


def values(name: str, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    made = [np.asarray(rng.standard_normal(shape)) for shape in shapes_of(name)]
    return [(a + 1j * a[::-1] if dtype.startswith("c") and a.ndim else a).astype(dtype) for a in made]


class Run:
    """An optimizer of one library, and the parameters that it steps."""

    def __init__(self, module: Any, name: str, options: dict[str, Any], dtype: str) -> None:
        self.module = module
        self.params = [module.from_numpy(a).requires_grad_() for a in values(name, dtype)]
        if options.get("differentiable"):
            self.params = [p.clone() for p in self.params]
        groups: Any = [{"params": self.params[:1]}, {"params": self.params[1:]}]
        if name == "LBFGS":
            groups = self.params
        elif "lr" not in options:
            groups[1]["lr"] = 0.02
        self.made = getattr(module.optim, name)(groups, **converted(options, module))
        self.rng = np.random.default_rng(4)

    def step(self) -> Any:
        if isinstance(self.made, self.module.optim.LBFGS):
            return self.made.step(self.loss)
        for p in self.params:
            noise = np.asarray(self.rng.standard_normal(tuple(p.shape)) * 0.3)
            p.grad = (p.detach() * 0.5 + self.module.from_numpy(noise).to(p.dtype)).detach()
        return self.made.step()

    def loss(self) -> Any:
        self.made.zero_grad()
        loss = sum(((p - 0.3).abs() ** 2 * (i + 1) + (p.abs() ** 4) / 4).sum() for i, p in enumerate(self.params))
        loss.backward()
        return loss

    def seen(self) -> Any:
        return described([self.params, self.made.state_dict()])


def stepped(module: Any, name: str, options: dict[str, Any], dtype: str, steps: int) -> Any:
    """A run after some steps, or the error that it ended with."""
    try:
        run = Run(module, name, options, dtype)
        for _ in range(steps):
            run.step()
    except (RuntimeError, ValueError) as error:
        return error
    return run


def cases() -> Iterator[Any]:
    """Each input of the database once, the ways to step in turn; and without options in every way."""
    for name, info in INFOS.items():
        if info.only_supports_sparse_grads:
            continue
        ways = ["plain", *info.supported_impls, *(["complex"] if info.supports_complex else [])]
        for i, given in enumerate(info.optim_inputs_func("cpu")):
            for way in ways if i == 0 else ways[i % len(ways) :][:1]:
                yield pytest.param(name, given.kwargs, way, id=f"{name}-{i}-{way}")


@pytest.mark.parametrize(("name", "given", "way"), list(cases()))
def test_steps_and_states_are_pytorchs(name: str, given: dict[str, Any], way: str) -> None:
    options = copy.deepcopy(given)
    if way not in ("plain", "complex"):
        options[way] = True
    dtype = "complex128" if way == "complex" else "float32"
    steps, close = STEPS, {}
    if name == "LBFGS":  # few steps: at the minimum directions are noise
        steps, dtype = 2, "complex128" if way == "complex" else "float64"
        options["max_iter"] = 5
    if name == "Muon":  # it computes in bfloat16
        steps, close = 5, {"rtol": 1e-2, "atol": 2e-3}
    theirs, mine = (stepped(module, name, options, dtype, steps) for module in (pytorch, ours))
    if isinstance(theirs, Exception):  # what PyTorch refuses is refused
        assert type(mine) is type(theirs)
    else:
        assert_same(mine.seen(), theirs.seen(), **close)
        assert repr(mine.made) == repr(theirs.made)


def error_cases() -> Iterator[Any]:
    """The inputs that each refuses; those that all refuse for two of them."""
    every = database.get_error_inputs_for_all_optims("cpu", pytorch.float32)
    common = {given.optimizer_error_input.desc for given in every}
    for name, info in INFOS.items():
        for i, given in enumerate(info.optim_error_inputs_func("cpu", pytorch.float32)):
            if given.optimizer_error_input.desc in common and name not in ("LBFGS", "SGD"):
                continue
            if "SparseAdam requires dense parameter tensors" not in given.error_regex:  # none are sparse here
                yield pytest.param(name, given, id=f"{name}-{i}")


def outcome(module: Any, name: str, given: Any) -> Any:
    """The error or warning that an input leads to, at once or in the first step."""
    shape = (1, 1)
    params = [module.ones(shape).requires_grad_()] if given.params is None else parameters(given.params, module, {})
    try:
        made = getattr(module.optim, name)(params, **converted(given.kwargs, module))
        if given.params is not None:
            for p in made.param_groups[0]["params"]:
                p.grad = module.ones_like(p).detach()
        made.step()
    except (Exception, Warning) as error:
        return error
    return None


def parameters(given: Any, module: Any, known: dict[int, Any]) -> Any:
    """Parameters of the database as those of a library: the same ones are the same."""
    if isinstance(given, pytorch.Tensor):
        return known.setdefault(id(given), module.from_numpy(given.detach().numpy().copy()).requires_grad_())
    if isinstance(given, dict):
        return {key: parameters(value, module, known) for key, value in given.items()}
    return type(given)(parameters(item, module, known) for item in given) if isinstance(given, (list, tuple)) else given


@pytest.mark.parametrize(("name", "given"), list(error_cases()))
def test_errors_are_pytorchs(name: str, given: Any) -> None:
    mine, theirs = (outcome(module, name, given.optimizer_error_input) for module in (ours, pytorch))
    assert type(mine) is type(theirs)
    assert str(mine) == str(theirs).replace("torch.nn.parameter.Parameter", "torch.FloatTensor")
