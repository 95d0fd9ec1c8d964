"""What modules keep besides tensors, and what happens to tensors that `_apply` changes."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import torch

import mindtorch_v2
from tests.runtime.both import agree


def counting(torch: Any) -> Any:
    """A module with a parameter and a count as its extra state."""

    class Counting(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.count: Any = 0
            self.scale = torch.nn.Parameter(torch.zeros(1))

        def get_extra_state(self) -> Any:
            return self.count

        def set_extra_state(self, state: Any) -> None:
            self.count = state

    return Counting()


def nested(torch: Any) -> Any:
    return torch.nn.Sequential(counting(torch), torch.nn.ReLU(), torch.nn.Sequential(counting(torch)))


@pytest.mark.parametrize("state", [3, None, {"a": [1, 2]}])
def test_extra_state_is_saved_and_loaded(state: Any) -> None:
    def case(torch: Any) -> Any:
        module, twin = nested(torch), nested(torch)
        module[0].count, module[2][0].count = state, 7
        saved = module.state_dict()
        result = twin.load_state_dict(saved)
        return list(saved), twin[0].count, twin[2][0].count, str(result), list(result)

    agree(case)


def test_extra_state_that_is_missing() -> None:
    def case(torch: Any, strict: bool = False) -> Any:
        return str(counting(torch).load_state_dict({"scale": torch.ones(1)}, strict=strict))

    agree(case)
    agree(lambda torch: case(torch, True), 'Missing key(s) in state_dict: "_extra_state".')


def test_extra_state_that_nobody_takes() -> None:
    def case(torch: Any, strict: bool = False) -> Any:
        class Gives(torch.nn.Module):  # type: ignore[misc]
            def get_extra_state(self) -> Any:
                return 3

        module = Gives()
        return str(module.load_state_dict(module.state_dict(), strict=strict))

    agree(case)
    agree(lambda torch: case(torch, True), 'Unexpected key(s) in state_dict: "_extra_state".')


@pytest.mark.parametrize("method", ["get_extra_state", "set_extra_state"])
def test_a_module_without_extra_state(method: str) -> None:
    agree(lambda torch: getattr(torch.nn.ReLU(), method)(*[1] * (method == "set_extra_state")), "extra_state")


def test_a_state_dict_of_something_else() -> None:
    agree(lambda torch: torch.nn.Linear(1, 1).load_state_dict([1]), "Expected state_dict to be dict-like")
    agree(
        lambda torch: torch.nn.Linear(1, 1).load_state_dict({"weight": 3, "bias": torch.ones(1)}),
        'While copying the parameter named "weight", expected torch.Tensor or Tensor-like object from checkpoint',
    )


def test_what_apply_changes_in_place_is_counted() -> None:
    def case(torch: Any) -> Any:
        layer = torch.nn.Linear(2, 2)
        (layer.weight * layer.weight).sum().backward()
        weight, grad = layer.weight, layer.weight.grad
        before = weight._version, grad._version
        layer._apply(lambda t: t.mul_(2))
        changes = weight._version - before[0], grad._version - before[1]
        return changes, layer.weight is weight, weight.grad is grad

    agree(case)


def test_backward_refuses_what_apply_changed() -> None:
    def case(torch: Any) -> Any:
        layer = torch.nn.Linear(2, 2)
        loss = (layer.weight * layer.weight).sum()
        layer._apply(lambda t: t.mul_(2))
        loss.backward()

    agree(case, "modified by an inplace operation")


def test_a_conversion_keeps_the_parameters_and_their_gradients() -> None:
    def case(torch: Any) -> Any:
        layer = torch.nn.Linear(2, 2)
        layer(torch.ones(2)).sum().backward()
        weight, grad = layer.weight, layer.weight.grad
        layer.double()
        return layer.weight is weight, weight.dtype == torch.float64, weight.grad is grad, grad.dtype == torch.float64

    agree(case)


def test_meta_has_no_memory_to_take_over() -> None:
    def case(torch: Any) -> Any:
        layer = torch.nn.Linear(2, 2).requires_grad_(False)
        weight = layer.weight
        layer.to("meta")
        parameter = layer.weight
        return (
            parameter is weight,
            type(parameter).__name__,
            parameter.device.type,
            parameter.requires_grad,
            weight.device,
        )

    agree(lambda torch: [str(value) for value in case(torch)])


def test_apply_to_one_module_alone() -> None:
    def case(torch: Any) -> Any:
        pair = torch.nn.Sequential(torch.nn.Linear(1, 1))
        pair.register_buffer("own", torch.ones(1))
        pair._apply(lambda t: t * 2, recurse=False)
        pair[0].register_buffer("inner", torch.ones(1))
        return pair.own, pair[0].inner

    agree(case)


def test_apply_of_what_gives_no_tensor() -> None:
    def case(torch: Any) -> None:
        torch.nn.Linear(1, 1)._apply(lambda t: 3)

    agree(case, "must")


def test_a_conversion_is_no_change_in_place() -> None:
    def case(torch: Any) -> Any:
        layer = torch.nn.Linear(2, 2)
        with torch.no_grad():
            layer.weight.fill_(2.0)
        loss, before = (layer.weight * layer.weight).sum(), layer.weight._version
        layer.double()
        loss.backward()
        same = layer.weight._version - before
        layer.to(torch.float64)
        return same, layer.weight._version - before, layer.weight.grad.tolist()

    agree(case)


@pytest.mark.parametrize("t", [mindtorch_v2, torch], ids=["ours", "pytorch"])
def test_what_older_versions_did_not_keep_may_lack(t: Any) -> None:
    parts = t.nn.ParameterList([t.nn.Parameter(t.ones(2))])
    parts.register_forward_pre_hook(lambda module, args: None)
    del parts._forward_pre_hooks, parts._state_dict_hooks, parts._load_state_dict_pre_hooks
    del parts._non_persistent_buffers_set
    loaded = pickle.loads(pickle.dumps(parts))
    assert not loaded._forward_pre_hooks
    loaded.register_buffer("kept", t.ones(1), persistent=False)
    assert list(loaded.state_dict()) == ["0"]
