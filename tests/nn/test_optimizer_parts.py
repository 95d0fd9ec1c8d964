"""What optimizers have beside their steps, as PyTorch has it: states, hooks, gradients of steps, averages."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as ours

pytorch = pytest.importorskip("torch")
from tests.nn.test_optimizers import INFOS, Run, assert_same, converted, described  # noqa: E402

RULED = ("ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD")
NAMES = [name for name, info in INFOS.items() if not info.only_supports_sparse_grads]


def options_of(name: str) -> dict[str, Any]:
    return {"SGD": {"momentum": 0.9}, "Adam": {"amsgrad": True}, "RMSprop": {"momentum": 0.5, "centered": True}}.get(
        name, {}
    )


def close_to(name: str) -> dict[str, float]:
    return {"rtol": 1e-2, "atol": 2e-3} if name == "Muon" else {}  # it computes in bfloat16


@pytest.mark.parametrize("name", NAMES)
def test_states_are_loaded_by_both(name: str) -> None:
    options, dtype = options_of(name), "float64" if name == "LBFGS" else "float32"
    runs = [Run(module, name, options, dtype) for module in (ours, pytorch)]
    steps = 1 if name == "LBFGS" else 5
    for run in runs:
        for _ in range(steps):
            run.step()
    before = [copy.deepcopy(run.made.state_dict()) for run in runs]
    for run, state in zip(runs, reversed(before), strict=True):
        new = Run(run.module, name, options, dtype)
        for p, q in zip(new.params, run.params, strict=True):
            p.data.copy_(q.detach())
        new.made.load_state_dict(converted(state, run.module))
        new.rng, run.made, run.params = run.rng, new.made, new.params
        for _ in range(steps):
            run.step()
    assert_same(runs[0].seen(), runs[1].seen(), **close_to(name))


@pytest.mark.parametrize("name", NAMES)
def test_copies_go_on_and_older_states_are_understood(name: str) -> None:
    made = Run(ours, name, options_of(name), "float32")
    made.step()
    for again in (copy.deepcopy(made.made), pickle.loads(pickle.dumps(made.made))):
        assert repr(again) == repr(made.made)
        assert_same(described(again.state_dict()), described(made.made.state_dict()))
    runs = [Run(module, name, options_of(name), "float32") for module in (ours, pytorch)]
    for run in runs:
        run.step()
        old = run.made.state_dict()
        for group in old["param_groups"]:
            for option in ("foreach", "maximize", "capturable", "differentiable", "fused"):
                group.pop(option, None)
        for state in old["state"].values():
            state.update({key: state[key].item() for key in ("step", "eta", "mu", "mu_product") if key in state})
        run.made.load_state_dict(old)
    groups = [described([dict(sorted(group.items())) for group in run.made.param_groups]) for run in runs]
    assert_same(*groups, **close_to(name))
    if name != "LBFGS":  # whose state is noise after 20 iterations
        assert_same(*(described(run.made.state_dict()["state"]) for run in runs), **close_to(name))


def inner(module: Any) -> Any:
    return importlib.import_module(f"{module.__name__}.optim.optimizer")


def hooked(module: Any) -> list[str]:
    """The order in which hooks are called."""
    seen: list[str] = []
    param = module.ones(2).requires_grad_()
    made = module.optim.SGD([param], lr=0.1)
    handles = [
        inner(module).register_optimizer_step_pre_hook(lambda *args: seen.append("all before")),
        inner(module).register_optimizer_step_post_hook(lambda *args: seen.append("all after")),
        made.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: seen.append("closure")})),
        made.register_step_post_hook(lambda o, args, kwargs: seen.append(f"after {sorted(kwargs)}")),
        made.register_state_dict_pre_hook(lambda o: seen.append("state before")),
        made.register_state_dict_post_hook(lambda o, state: {**state, "more": 1}),
        made.register_load_state_dict_pre_hook(lambda o, state: seen.append(f"load {sorted(state)}")),
        made.register_load_state_dict_pre_hook(lambda o, state: seen.append("load first"), prepend=True),
        made.register_load_state_dict_post_hook(lambda o: seen.append("loaded")),
    ]
    made.step()
    made.load_state_dict(made.state_dict())
    for handle in handles:
        handle.remove()
    made.step()
    made.load_state_dict(made.state_dict())
    made.register_step_pre_hook(lambda *args: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        made.step()
    return seen


def test_hooks_are_called_in_pytorchs_order() -> None:
    seen = hooked(ours)
    assert seen == hooked(pytorch)
    assert len(seen) == 8


class Own:
    """A class of a user's, made of either library's."""

    @staticmethod
    def of(module: Any) -> Any:
        required = inner(module).required

        class Halving(module.optim.Optimizer):  # type: ignore[misc]
            def __init__(self, params: Any, rate: Any = required) -> None:
                super().__init__(params, {"rate": rate})

            def step(self) -> str:
                for group in self.param_groups:
                    for p in group["params"]:
                        p.data.mul_(group["rate"])
                return "done"

        return Halving


def test_a_users_optimizer() -> None:
    for module in (ours, pytorch):
        kind, param = Own.of(module), module.ones(2).requires_grad_()
        made = kind([{"params": [("weight", param)], "rate": 0.5}])
        seen: list[Any] = []
        made.register_step_post_hook(lambda *args: seen.append(args[1]))  # noqa: B023
        assert made.step() == "done"
        assert len(seen) == 1
        assert param.tolist() == [0.5, 0.5]
        assert made.state_dict()["param_groups"] == [{"rate": 0.5, "param_names": ["weight"], "params": [0]}]
        state = made.state_dict()
        del state["param_groups"][0]["param_names"]
        made.load_state_dict(state)
        assert made.param_groups[0]["param_names"] == ["weight"]
        with pytest.raises(ValueError, match="parameter group didn't specify a value of required"):
            kind([param])
        with pytest.raises(ValueError, match="cannot add param group without names to the optimizer"):
            made.add_param_group({"params": [module.ones(1)], "rate": 1})


def after_steps(module: Any, name: str, values: list[Any], differentiable: bool) -> Any:
    """A number of what three steps make of parameters, by gradients, at a rate: the values, in this order."""
    start, *grads, rate = values
    param = start.clone()
    made = getattr(module.optim, name)([param], rate, differentiable=differentiable, **GRADIENT_OPTIONS.get(name, {}))
    for grad in grads:
        param.grad = grad
        made.step()
    return (param * module.tensor([1.0, 2.0, 3.0], dtype=module.float64)).sum()


# Without momentum for SGD: the first is the gradient, detached. ASGD and Rprop remember the rate as a number.
GRADIENT_OPTIONS = {"Adam": {"amsgrad": True}, "RMSprop": {"momentum": 0.5, "centered": True}}


@pytest.mark.parametrize("name", RULED)
def test_gradients_of_steps(name: str) -> None:
    """They are the differences of PyTorch's steps."""
    arrays = [np.array(x) for x in ([0.5, -1.0, 2.0], [0.3, -0.2, 0.1], [1.3, -0.4, 0.2], [2.3, -0.1, 0.3], 0.1)]
    values = [ours.from_numpy(x.copy()).requires_grad_() for x in arrays]
    if name in ("ASGD", "Rprop"):
        values[-1] = 0.1
    after_steps(ours, name, values, True).backward()
    for at, value in enumerate(values[: None if isinstance(values[-1], ours.Tensor) else -1]):
        found = np.zeros(value.shape) if value.grad is None else value.grad.numpy()
        for place in np.ndindex(arrays[at].shape):
            ends = []
            for change in (1e-5, -1e-5):
                moved = [x.copy() for x in arrays]
                moved[at][place] += change
                given = [*(pytorch.from_numpy(x) for x in moved[:-1]), float(moved[-1])]
                ends.append(after_steps(pytorch, name, given, False).item())
            np.testing.assert_allclose(found[place], (ends[0] - ends[1]) / 2e-5, rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in RULED if INFOS[name].has_capturable_arg])
def test_steps_that_are_captured(name: str) -> None:
    """Numbers stay on the device; there, one by one and in lists, a step is what it is elsewhere."""
    with pytest.raises(AssertionError, match="If capturable=True, params and state_steps must be on supported devices"):
        Run(ours, name, {"capturable": True}, "float32").step()
    found = []
    for given in ({}, {"capturable": True, "foreach": False}, {"capturable": True, "foreach": True}):
        params = [(ours.arange(3.0) * (i + 1)).to("npu").requires_grad_() for i in range(2)]
        made = getattr(ours.optim, name)(params, **given)
        for k in range(7):
            for p in params:
                p.grad = p.detach() * 0.5 - k * 0.3
            if k == 0:
                params[1].grad = None  # from here on the numbers of the two differ
            made.step()
        found.append([p.detach().cpu().numpy() for p in params])
        assert not given or made.state[params[0]]["step"].device.type == "npu"
    assert_same(found[1:], [found[0]] * 2)


@pytest.mark.parametrize("name", RULED)
def test_functions_of_lists(name: str) -> None:
    both = []
    for module in (ours, pytorch):
        function = getattr(module.optim._functional, name.lower())
        names = inspect.signature(function).parameters.values()
        given: dict[str, Any] = (
            {"has_complex": False} if "has_complex" in inspect.signature(function).parameters else {}
        )
        numbers = {"lr": 0.1, "rho": 0.9, "eps": 1e-8, "etaminus": 0.5, "etaplus": 1.2, "lambd": 0.1, "t0": 1.0}
        for p in names:
            if p.kind is p.KEYWORD_ONLY:
                flag = p.name in ("maximize", "amsgrad", "centered", "nesterov")
                given[p.name] = p.name == "maximize" if flag else numbers.get(p.name, 0.5)
        count = sum(p.default is p.empty and p.kind is not p.KEYWORD_ONLY for p in names)
        lists = [[module.arange(1.0, 4.0) * (i + 1)] for i in range(count)]
        for p, column in zip(names, lists, strict=False):
            if p.name in ("state_steps", "mus", "etas", "mu_products"):
                column[0] = module.tensor(3.0)
        function(*lists, **given)
        both.append((described(lists), [(p.name, p.kind.name, p.default) for p in names]))
    assert_same(both[0][0], both[1][0])
    assert [(n, k) for n, k, d in both[0][1]] == [(n, k) for n, k, d in both[1][1]]


@pytest.mark.parametrize("name", [name for name in RULED if "fused" in INFOS[name].supported_impls])
def test_fused_steps_with_all_that_they_remember(name: str) -> None:
    runs = [Run(module, name, {**options_of(name), "fused": True}, "float32") for module in (ours, pytorch)]
    for run in runs:
        for _ in range(5):
            run.step()
    assert_same(*(run.seen() for run in runs))


def valley(module: Any, options: dict[str, Any]) -> tuple[list[float], dict[str, Any]]:
    """Where L-BFGS goes in Rosenbrock's valley."""
    point = module.tensor([-1.2, 1.0, 0.5], dtype=module.float64, requires_grad=True)
    made = module.optim.LBFGS([point], max_iter=14, **options)

    def loss() -> Any:
        made.zero_grad()
        value = (100 * (point[1:] - point[:-1] ** 2) ** 2 + (1 - point[:-1]) ** 2).sum()
        value.backward()
        return value

    made.step(loss)
    return point.tolist(), {key: made.state[point][key] for key in ("func_evals", "n_iter")}


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("lr", [0.002, 1, 40])
def test_lbfgs_in_a_valley(search: str | None, lr: float) -> None:
    options = {"line_search_fn": search, "lr": lr if search else min(lr, 0.01), "history_size": 3}
    (place, counts), (their_place, their_counts) = (valley(module, options) for module in (ours, pytorch))
    assert counts == their_counts
    np.testing.assert_allclose(place, their_place, rtol=1e-6)


def averaged(module: Any, function: str, buffers: bool) -> Any:
    rng, nn, utils = np.random.default_rng(5), module.nn, module.optim.swa_utils
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    kinds = {
        "mean": {},
        "swa": {"avg_fn": utils.get_swa_avg_fn()},
        "ema": {"avg_fn": utils.get_ema_avg_fn(0.8)},
        "swa_multi": {"multi_avg_fn": utils.get_swa_multi_avg_fn()},
        "ema_multi": {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.8)},
    }
    mean = utils.AveragedModel(model, use_buffers=buffers, **kinds[function])
    for _ in range(4):
        for p in (*model.parameters(), *(b for b in model.buffers() if b.ndim)):
            p.data.copy_(module.from_numpy(rng.standard_normal(tuple(p.shape))))
        mean.update_parameters(model)
    batches = [(module.from_numpy(rng.standard_normal((4, 3)).astype("f4")),) for _ in range(3)]
    before = described(dict(mean.state_dict()))
    utils.update_bn(batches, mean)
    assert mean.module[1].momentum == 0.1
    return before, described(dict(mean.state_dict())), described(mean.eval()(batches[0][0]))


@pytest.mark.parametrize(
    ("function", "buffers"),
    [
        *((name, False) for name in ("mean", "swa", "ema", "swa_multi", "ema_multi")),
        ("mean", True),
        ("ema_multi", True),
    ],
)
def test_averages_of_weights(function: str, buffers: bool) -> None:
    assert_same(averaged(ours, function, buffers), averaged(pytorch, function, buffers))


@pytest.mark.parametrize(("epochs", "strategy"), [(5, "cos"), (4, "linear"), (0, "cos")])
def test_rates_for_averages(epochs: int, strategy: str) -> None:
    rates = []
    for module in (ours, pytorch):
        made = module.optim.SGD([{"params": [module.ones(1)], "lr": lr} for lr in (0.1, 0.4)], lr=0.1)
        schedule = module.optim.swa_utils.SWALR(made, [0.05, 0.5], epochs, strategy)
        seen = [schedule.get_last_lr()]
        for _ in range(7):
            made.step()
            schedule.step()
            seen.append(schedule.get_last_lr())
        rates.append((seen, list(schedule.state_dict())))
    assert_same(rates[0][0], rates[1][0])
    assert set(rates[0][1]) == set(rates[1][1])


def test_other_parameters_for_a_while() -> None:
    for module in (ours, pytorch):
        param, other = module.ones(2).requires_grad_(), module.zeros(2).requires_grad_()
        made = module.optim.SGD([param], lr=0.1, momentum=0.9)
        swap = module.optim.swap_in_optimizer_params_and_state
        with pytest.raises(RuntimeError, match="requires initialized optimizer state"), swap(made, {}, {}):
            pass
        param.grad = module.ones(2)
        made.step()
        state = copy.deepcopy(made.state_dict())
        state["param_groups"][0]["lr"] = 1.0
        with swap(made, {"weight": other}, state):
            other.grad = module.ones(2)
            made.step()
        np.testing.assert_allclose(other.tolist(), [-1.9, -1.9], rtol=1e-6)
        np.testing.assert_allclose(param.tolist(), [0.9, 0.9], rtol=1e-6)
        assert made.param_groups[0]["lr"] == 0.1
        assert list(made.state) == [param] or made.state[param]["momentum_buffer"].tolist() == [1.0, 1.0]
