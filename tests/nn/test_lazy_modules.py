"""Modules that wait for their shapes, containers of parameters, and what a class does with its own state."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.runtime.both import agree

LAZY = [
    ("LazyLinear", (3,), (2, 5)),
    ("LazyConv2d", (4, 3), (1, 2, 6, 6)),
    ("LazyConvTranspose1d", (4, 3), (1, 2, 6)),
    ("LazyBatchNorm2d", (), (2, 3, 4, 4)),
    ("LazyInstanceNorm1d", (), (2, 3, 4)),
]


@pytest.mark.parametrize(("name", "arguments", "shape"), LAZY, ids=[case[0] for case in LAZY])
def test_lazy_modules_become_ordinary_ones(name: str, arguments: tuple[int, ...], shape: tuple[int, ...]) -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(0)
        module = getattr(torch.nn, name)(*arguments)
        waiting = [type(p).__name__ for p in module.parameters()], module.has_uninitialized_params()
        parameter = next(module.parameters())
        module.double()
        y = module(torch.randn(shape, dtype=torch.float64))
        same = parameter is next(module.parameters())
        return y, waiting, type(module).__name__, str(module), same, type(parameter).__name__, list(module.state_dict())

    agree(case)


def test_a_state_dict_gives_a_lazy_module_its_shapes() -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(0)
        lazy = torch.nn.Sequential(torch.nn.LazyLinear(2), torch.nn.ReLU(), torch.nn.LazyLinear(2, bias=False))
        twin = copy.deepcopy(lazy)
        twin(torch.randn(4, 3))
        lazy.load_state_dict(twin.state_dict())
        return lazy(torch.ones(1, 3)), twin(torch.ones(1, 3)), type(lazy[0]).__name__

    agree(case)


@pytest.mark.parametrize("use", [lambda p: p + 1, lambda p: p.sum(), lambda p: p[0], lambda p: p.shape])
def test_what_has_no_shape_is_refused(use: Any) -> None:
    agree(lambda torch: use(torch.nn.UninitializedParameter()), "ninitialized")


def test_buffers_by_assignment() -> None:
    def case(torch: Any) -> Any:
        module = torch.nn.Module()
        module.kept, module.left_out = torch.nn.Buffer(torch.ones(2)), torch.nn.Buffer(torch.ones(2), persistent=False)
        return dict(module.named_buffers()), list(module.state_dict()), isinstance(module.kept, torch.nn.Buffer)

    agree(case)


def test_parameters_by_name() -> None:
    def case(torch: Any) -> Any:
        module = torch.nn.ParameterDict({"b": torch.ones(2, 3), "a": torch.ones(1)})
        module["c"] = 3
        merged = module | torch.nn.ParameterDict({"d": torch.zeros(1)})
        return str(module), list(module), list(merged), module.popitem(), module.get("z", 4), list(module.state_dict())

    agree(case)


def test_sequences_of_modules_change() -> None:
    def case(torch: Any) -> Any:
        nn = torch.nn
        chain = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Identity())
        del chain[1]
        chain.insert(1, nn.GELU())
        doubled, joined, first = str(chain * 2), str(chain + chain), str(chain.pop(0))
        chain *= 2
        listed = nn.ModuleList([nn.ReLU(), nn.Tanh()])
        listed.insert(1, nn.GELU())
        del listed[0]
        return doubled, joined, first, str(chain), str(listed), str(listed + nn.ModuleList([nn.ReLU()]))

    agree(case)


def test_hooks_and_classes_change_what_is_saved_and_loaded() -> None:
    def case(torch: Any) -> Any:
        said: list[Any] = []

        class Own(torch.nn.Linear):  # type: ignore[misc]
            _version = 3

            def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
                super()._save_to_state_dict(destination, prefix, keep_vars)
                destination[f"{prefix}scale"] = torch.ones(1)

            def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
                said.append((prefix, local_metadata.get("version")))
                state_dict.pop(f"{prefix}scale", None)
                super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

        outer = torch.nn.Sequential(Own(1, 1), torch.nn.BatchNorm1d(1))
        outer.register_state_dict_pre_hook(lambda module, prefix, keep: said.append(("before", prefix, keep)))
        outer[0].register_state_dict_post_hook(lambda module, state, prefix, meta: said.append((prefix, list(state))))
        outer[0].register_load_state_dict_pre_hook(lambda _, state, prefix, *rest: said.append((prefix, len(rest))))
        outer.register_load_state_dict_post_hook(lambda module, keys: keys.unexpected_keys.clear())
        state = outer.state_dict()
        state["more"] = torch.ones(1)
        del state["1.num_batches_tracked"]
        state._metadata["1"]["version"] = 1
        loaded = outer.load_state_dict(state)
        return said, list(state), dict(state._metadata), str(loaded)

    agree(case)


def test_adaptive_softmax_and_synchronised_normalisation() -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(0)
        softmax = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [3, 10], div_value=2.0)
        x, target = torch.randn(6, 8, requires_grad=True), torch.tensor([0, 2, 4, 11, 19, 3])
        output, loss = softmax(x, target)
        loss.backward()
        pair = torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.Sequential(torch.nn.BatchNorm1d(8)))
        return output, loss, x.grad, softmax.predict(x), softmax.log_prob(x), str(pair), pair.eval()(x)

    agree(case)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_normalisation_across_channels(size: int) -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(0)
        x = torch.randn(2, 8, 2, 3, dtype=torch.float64, requires_grad=True)
        y = torch.nn.CrossMapLRN2d(size, 0.5, 0.75, 2.0)(x)
        y.pow(2).sum().backward()
        return y, x.grad

    agree(case)


def test_members_by_path() -> None:
    def case(torch: Any) -> Any:
        pair = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 2))
        pair.set_submodule("0", torch.nn.BatchNorm1d(3))
        empty = pair.to_empty(device="cpu").bfloat16()
        return pair.get_parameter("0.weight").shape[0], pair.get_buffer("0.running_mean").dtype.itemsize, str(empty)

    agree(case)
    agree(lambda torch: torch.nn.BatchNorm1d(2).get_parameter("running_mean"), "is not an nn.Parameter")
