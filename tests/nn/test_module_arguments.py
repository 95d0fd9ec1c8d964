"""What modules, containers, initialisations and optimisers take and refuse: the same code under both libraries."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

pytorch = pytest.importorskip("torch")

import mindtorch_v2 as ours  # noqa: E402
from tests.ops.both import agree, raised  # noqa: E402
from tests.runtime.both import agree as agree_plainly  # noqa: E402

# ---------------------------------------------------------------- initialisation


@pytest.mark.parametrize(
    "name", ["uniform_", "normal_", "kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_"]
)
def test_a_generator_of_the_callers(name: str) -> None:
    def drawn() -> list[Any]:
        generator = ours.Generator().manual_seed(3)
        return getattr(ours.nn.init, name)(ours.zeros(4, 3), generator=generator).tolist()

    ours.manual_seed(0)
    first = drawn()
    ours.manual_seed(1)
    assert drawn() == first


@pytest.mark.parametrize("name", ["kaiming_uniform_", "kaiming_normal_"])
def test_a_tensor_without_elements_stays_with_a_warning(name: str) -> None:
    def untouched(torch: Any) -> Any:
        with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
            return getattr(torch.nn.init, name)(torch.zeros(0), mode="no", nonlinearity="no")

    agree_plainly(untouched)


@pytest.mark.parametrize("nonlinearity", ["linear", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu", "selu"])
def test_gains(nonlinearity: str) -> None:
    agree_plainly(lambda torch: float(torch.nn.init.calculate_gain(nonlinearity)))


@pytest.mark.parametrize("param", [None, 0, 2, 0.3])
def test_gain_of_a_slope(param: Any) -> None:
    agree_plainly(lambda torch: torch.nn.init.calculate_gain("leaky_relu", param))


@pytest.mark.parametrize("std", [0.0, -0.0])
def test_no_spread(std: float) -> None:
    agree_plainly(lambda torch: torch.nn.init.normal_(torch.zeros(2), 1.5, std))


def test_a_huge_tensor_without_elements_is_filled() -> None:
    agree_plainly(lambda torch: torch.nn.init.normal_(torch.empty(2**62, 0)).shape[0])


# ---------------------------------------------------------------- softmax without a dimension


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 2), (2, 2, 2, 2)], ids=str)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_chooses_a_dimension_and_warns(name: str, shape: tuple[int, ...]) -> None:
    def chosen(torch: Any, x: Any) -> Any:
        kind = {"softmax": "Softmax", "log_softmax": "LogSoftmax"}[name]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = [getattr(torch.nn.functional, name)(x), getattr(torch.nn, kind)()(x)]
        assert [f"Implicit dimension choice for {name}" in str(w.message) for w in caught] == [True, True]
        return result

    agree(chosen, {"x": np.linspace(-1, 1, math.prod(shape), dtype="f4").reshape(shape)})


# ---------------------------------------------------------------- modules


def shared(torch: Any) -> Any:
    """A module whose submodule, parameters and buffer have two names each."""
    inner = torch.nn.Linear(2, 2)
    outer = torch.nn.Sequential(inner, inner)
    outer.register_buffer("a", torch.ones(1))
    outer.register_buffer("b", outer.a)
    return outer


@pytest.mark.parametrize("remove_duplicate", [True, False])
def test_what_has_two_names(remove_duplicate: bool) -> None:
    def names(torch: Any) -> Any:
        module = shared(torch)
        found = [
            [name for name, _ in listing("p", remove_duplicate=remove_duplicate)]
            for listing in (module.named_parameters, module.named_buffers)
        ]
        found.append([name for name, _ in module.named_modules(None, "p", remove_duplicate)])
        return found, len(list(module.modules(remove_duplicate)))

    agree_plainly(names)


TO = {
    "nothing": lambda torch, m: m.to(),
    "dtype": lambda torch, m: m.to(torch.float64, True),
    "device and dtype": lambda torch, m: m.to("cpu", torch.float64, True),
    "device, by names": lambda torch, m: m.to(device="cpu", dtype=torch.float64, non_blocking=False),
    "tensor": lambda torch, m: m.to(torch.ones(1, dtype=torch.float64)),
    "tensor by its name": lambda torch, m: m.to(tensor=torch.ones(1, dtype=torch.float64)),
}


@pytest.mark.parametrize("name", TO)
def test_to(name: str) -> None:
    agree_plainly(lambda torch: TO[name](torch, torch.nn.Linear(2, 2)).weight.detach() * 0)


@pytest.mark.parametrize("keep_vars", [False, True])
def test_a_state_dict_by_positions(keep_vars: bool) -> None:
    def state(torch: Any) -> Any:
        given: dict[str, Any] = {}
        with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
            found = torch.nn.Linear(2, 2).state_dict(given, "p.", keep_vars)
        return found is given, list(found), [value.requires_grad for value in found.values()]

    agree_plainly(state)


def test_a_state_dict_that_is_assigned() -> None:
    def assigned(torch: Any) -> Any:
        module = torch.nn.Linear(2, 2, device="meta")
        module.register_buffer("b", torch.ones(1, device="meta"))
        module.bias.requires_grad_(False)
        state = {
            "weight": torch.ones(2, 2, dtype=torch.float64),
            "bias": torch.nn.Parameter(torch.ones(2)),
            "b": torch.zeros(1),
        }
        keys = module.load_state_dict(state, assign=True)
        same = [state["bias"] is module.bias, state["b"] is module.b, type(module.weight) is torch.nn.Parameter]
        return keys.missing_keys, same, module.weight, module.bias, module.b

    agree_plainly(assigned)


@pytest.mark.parametrize("name", ["cpu", "weight", "no"])
def test_get_submodule_says_what_is_no_module(name: str) -> None:
    mine, theirs = raised(lambda torch: torch.nn.Linear(2, 2).get_submodule(name))
    assert (type(mine), str(mine)) == (type(theirs), str(theirs))


# ---------------------------------------------------------------- containers


def test_containers_of_what_they_take() -> None:
    def contents(torch: Any) -> Any:
        relu, tanh = torch.nn.ReLU(), torch.nn.Tanh()
        pairs = torch.nn.ModuleDict([("a", relu), ["b", tanh]])
        pairs.update(torch.nn.ModuleDict({"c": relu}))
        modules = torch.nn.ModuleList(iter([relu, tanh]))
        modules += [relu]
        modules[-1] = tanh
        mixed = torch.nn.ParameterList([torch.ones(1), 3, torch.nn.Parameter(torch.zeros(1))])
        mixed[1] = 4
        mixed += (5,)
        sliced = mixed[1:]
        row = torch.nn.Sequential(relu, tanh)
        row[-1] = relu
        return (
            list(pairs), [m is relu for m in pairs.values()], [m is tanh for m in modules], row[1] is relu,
            [value if isinstance(value, int) else type(value).__name__ for value in mixed],
            len(sliced), sliced[0], [name for name, _ in mixed.named_parameters()],
        )  # fmt: skip

    agree_plainly(contents)


REFUSED = {
    "a word as a dict of modules": lambda torch: torch.nn.ModuleDict("sum"),
    "no pairs": lambda torch: torch.nn.ModuleDict([None]),
    "triples": lambda torch: torch.nn.ModuleDict([("a", "b", "c")]),
    "a number as a dict of modules": lambda torch: torch.nn.ModuleDict(3),
    "a number as a list of modules": lambda torch: torch.nn.ModuleList(3),
    "a number as a list of parameters": lambda torch: torch.nn.ParameterList(3),
    "a tensor as a list of parameters": lambda torch: torch.nn.ParameterList(torch.ones(2)),
    "a call of a list of parameters": lambda torch: torch.nn.ParameterList([torch.ones(2)])(),
    "a float as a position": lambda torch: torch.nn.Sequential(torch.nn.ReLU())[1.0],
    "a position that is not there": lambda torch: torch.nn.ModuleList([torch.nn.ReLU()])[1],
    "a number as a module of a bad name": lambda torch: torch.nn.ReLU().add_module("a.b", 3),
    "to of a wrong name": lambda torch: torch.nn.ReLU().to(no_such_name=1),
    "to of a list": lambda torch: torch.nn.ReLU().to([]),
    "to of two dtypes": lambda torch: torch.nn.ReLU().to(torch.float64, torch.float64),
    "to of integers": lambda torch: torch.nn.ReLU().to(torch.int64),
    "init of integers": lambda torch: torch.nn.init.normal_(torch.zeros(2, dtype=torch.int32)),
    "init of integers, evenly": lambda torch: torch.nn.init.uniform_(torch.zeros(2, dtype=torch.int32)),
    "init of integers on meta": lambda torch: torch.nn.init.normal_(torch.zeros(2, dtype=torch.int32, device="meta")),
    "an end that is no number": lambda torch: torch.nn.init.uniform_(torch.zeros(0), 0.0, math.nan),
    "an end that the dtype lacks": lambda torch: torch.zeros(2, dtype=torch.float16).uniform_(0, 7e4),
    "a range that the dtype lacks": lambda torch: torch.zeros(2).uniform_(-3e38, 3e38),
    "a spread that is no number": lambda torch: torch.nn.init.normal_(torch.zeros(0), 0.0, math.nan),
    "a path of numbers": lambda torch: torch.nn.ReLU().get_submodule(torch.tensor([1, 2])),
    "a mode": lambda torch: torch.nn.init.kaiming_uniform_(torch.ones(2, 2), mode="no"),
    "a slope": lambda torch: torch.nn.init.kaiming_uniform_(torch.ones(2, 2), []),
    "a nonlinearity": lambda torch: torch.nn.init.calculate_gain(slice(3)),
    "gain of nothing": lambda torch: torch.nn.init.xavier_uniform_(torch.ones(0, 0)),
    "a vector's fans": lambda torch: torch.nn.init.kaiming_normal_(torch.ones(2)),
    "a slope of integers": lambda torch: torch.nn.functional.leaky_relu(torch.ones(2, dtype=torch.int64)),
    "dropout of integers": lambda torch: torch.nn.functional.dropout(torch.ones(2, dtype=torch.int64)),
    "a vector as linear's weight": lambda torch: torch.nn.functional.linear(*[torch.ones(3)] * 2, torch.ones(2)),
    "a bias that makes the result larger": lambda torch: torch.nn.functional.linear(
        torch.ones(2, 2, 3), torch.ones(1, 3), torch.ones(4)
    ),
    "gelu's way by its place": lambda torch: torch.nn.functional.gelu(torch.ones(2), "tanh"),
    "dropout's flag as a number": lambda torch: torch.nn.functional.dropout(torch.ones(2), 0.5, 1),
    "embedding's flag as a number": lambda torch: torch.nn.functional.embedding(
        torch.zeros(1, dtype=torch.int64), torch.ones(2, 2), sparse=0
    ),
    "a prefix that is no text": lambda torch: torch.nn.Sequential(torch.nn.ReLU()).state_dict(prefix=0),
    "two learning rates": lambda torch: torch.optim.SGD([torch.ones(1)], torch.ones(2)),
    "a device as a device type": lambda torch: torch.amp.is_autocast_available(torch.device("cpu")),
    "an empty state of a scaler": lambda torch: torch.amp.GradScaler("cpu").load_state_dict(""),
    "a number as a scaler's state": lambda torch: torch.amp.GradScaler("cpu").load_state_dict(1),
    "parameters before ways": lambda torch: torch.optim.Adam(torch.ones(1), fused=True, foreach=True),
    "products of two dtypes": lambda torch: torch.ones(2) @ torch.ones(2, dtype=torch.int64),
    "ways that exclude each other": lambda torch: torch.optim.SGD([torch.ones(1)], fused=True, foreach=True),
    "a set of parameters": lambda torch: torch.optim.SGD([{"params": {torch.ones(1)}}]),
    "names for some": lambda torch: torch.optim.SGD([("a", torch.ones(1)), torch.zeros(1)]),
    "integers as betas": lambda torch: torch.optim.Adam([torch.ones(1)], betas=(0, 0.9)),
    "no learning rate": lambda torch: torch.optim.AdamW([torch.ones(1)], lr=math.nan),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_of_pytorchs_class(name: str) -> None:
    mine, theirs = raised(REFUSED[name])
    assert isinstance(mine, type(theirs)), f"{mine!r} for {theirs!r}"


def test_what_is_no_state_of_an_optimizer_is_named() -> None:
    with pytest.raises(TypeError, match=r"load_state_dict\(\) expects what state_dict\(\) gave, got str"):
        ours.optim.SGD([ours.ones(1)]).load_state_dict("float32")


@pytest.mark.parametrize("name", ["uniform_", "normal_", "constant_", "kaiming_normal_", "xavier_uniform_"])
def test_init_names_what_is_no_tensor(name: str) -> None:
    arguments = {"val": 1.0} if name == "constant_" else {}
    with pytest.raises(TypeError, match=rf"{name}\(\): argument 'tensor' \(position 1\) must be Tensor, not NoneType"):
        getattr(ours.nn.init, name)(None, **arguments)


# ---------------------------------------------------------------- optimisers

OPTIMIZERS = {
    "sgd": lambda optim, p: optim.SGD(p, foreach=True),
    "adam": lambda optim, p: optim.Adam(p, 0.1, weight_decay=0.1, foreach=False, fused=False),
    "adam, decoupled": lambda optim, p: optim.Adam(p, 0.1, weight_decay=0.1, decoupled_weight_decay=True),
    "adamw": lambda optim, p: optim.AdamW(p, 0.1, maximize=True, foreach=None),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_and_what_they_are_saved_as(name: str) -> None:
    def stepped(torch: Any) -> Any:
        p = torch.tensor([1.0, -2.0], requires_grad=True)
        optimizer = OPTIMIZERS[name](torch.optim, [("p", p)])
        for _ in range(3):
            (p * p).sum().backward()
            optimizer.step()
        group = optimizer.state_dict()["param_groups"][0]
        return p.detach(), {key: list(value) if key == "betas" else value for key, value in group.items()}

    agree_plainly(stepped)


def test_a_parameter_given_twice_is_warned_of() -> None:
    p = ours.ones(1)
    with pytest.warns(UserWarning, match="duplicate parameters") as caught:
        ours.optim.SGD([p, p])
    assert len(caught) == 1


def test_dtypes_of_python() -> None:
    agree_plainly(lambda torch: torch.nn.functional.softmax(torch.ones(2), 0, 3, float))


def test_dropout_of_nothing_is_what_it_was() -> None:
    agree_plainly(lambda torch: torch.nn.functional.dropout(torch.zeros(0, dtype=torch.int64)))


def test_products_of_integers_stay_integers() -> None:
    agree_plainly(lambda torch: torch.ones(3, dtype=torch.int32) @ torch.ones(3, dtype=torch.int32))
