"""Hooks of a module's last node, of registration, and the settings of conversions; beside PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as ours

pytest.importorskip("torch")


from tests.runtime.both import agree


def run(torch: Any, module: Any, register: Callable[..., Any]) -> Any:
    seen: list[Any] = []
    w = torch.tensor([0.5, -0.5], requires_grad=True)
    with register(lambda m, ins, outs: seen.append((ins, outs)) or tuple(g * 2 for g in ins)):
        module(w).backward(torch.tensor([1.0, 2.0]))
    return w.grad, seen


def of_a_module(torch: Any) -> Any:
    module = torch.nn.Sigmoid()
    return run(torch, module, module.register_backward_hook)


def of_all_modules(torch: Any) -> Any:
    place = torch.nn.modules.module
    found = run(torch, torch.nn.Sigmoid(), place.register_module_backward_hook)
    place._global_is_full_backward_hook = None  # PyTorch remembers the kind when there are no such hooks any more
    return found


def both_kinds(torch: Any) -> Any:
    module = torch.nn.Sigmoid()
    module.register_full_backward_hook(lambda *args: None)
    module.register_backward_hook(lambda *args: None)


def what_it_does_not_see(torch: Any) -> Any:
    """The warnings of modules whose last node does not have all their gradients."""

    def warned(forward: Callable[..., Any], *args: Any) -> list[str]:
        module = type("M", (torch.nn.Module,), {"forward": lambda self, *values: forward(*values)})()
        module.register_backward_hook(lambda *given: None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module(*args)
        return [str(w.message).partition(" is deprecated")[0] for w in caught]

    a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    return (
        warned(lambda values: values[0].clone(), [a, b]), warned(lambda x, y: [x.clone(), y.clone()], a, b),
        warned(lambda x, y: (x.clone(), y.clone()), a, b), warned(lambda x: x.clone().clone(), a),
        warned(lambda x: x.sin(), a), warned(lambda x: x.sin(), a * 2),
    )  # fmt: skip


def registrations(torch: Any) -> Any:
    place, seen = torch.nn.modules.module, []
    handles = [
        getattr(place, f"register_module_{kind}_registration_hook")(
            lambda m, name, v, kind=kind: seen.append((kind, name))
        )
        for kind in ("parameter", "buffer", "module")
    ]
    try:
        torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    finally:
        for handle in handles:
            handle.remove()
    torch.nn.Linear(2, 2)
    return seen


def replaced_on_registration(torch: Any) -> Any:
    place, module = torch.nn.modules.module, torch.nn.Module()
    with place.register_module_parameter_registration_hook(lambda m, n, p: torch.nn.Parameter(p.detach() * 2)):
        module.w = torch.nn.Parameter(torch.ones(2))
    return module.w


def overwritten(torch: Any) -> Any:
    setting = torch.__future__
    module = torch.nn.Linear(2, 2)
    before = module.weight
    setting.set_overwrite_module_params_on_conversion(True)
    try:
        return module.double().weight is before, setting.get_overwrite_module_params_on_conversion()
    finally:
        setting.set_overwrite_module_params_on_conversion(False)


def swapped(torch: Any) -> Any:
    setting = torch.__future__
    module, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    before = module.weight
    setting.set_swap_module_params_on_conversion(True)
    try:
        module.load_state_dict(other.state_dict())
        return module.weight is before, torch.equal(module.weight, other.weight), module.weight.requires_grad
    finally:
        setting.set_swap_module_params_on_conversion(False)


def inner_names(torch: Any) -> Any:
    module = torch.nn.Linear(2, 2)
    one = module.register_forward_hook(lambda *a: None, with_kwargs=True, always_call=True)
    two = module.register_forward_pre_hook(lambda *a: None)
    return (
        one.id in module._forward_hooks_with_kwargs, one.id in module._forward_hooks_always_called,
        two.id in module._forward_pre_hooks, len(module._backward_hooks), len(one.hooks_dict_ref()),
    )  # fmt: skip


def a_hook_registered_twice(torch: Any) -> Any:
    module = torch.nn.Linear(2, 2)

    def hook(*args: Any) -> None:
        """Nothing."""

    module.register_state_dict_post_hook(hook)
    module._register_state_dict_hook(hook)


CASES = [
    of_a_module, of_all_modules, what_it_does_not_see, registrations, replaced_on_registration, overwritten, swapped,
    inner_names,
]  # fmt: skip
ERRORS = {
    both_kinds: "Cannot use both regular backward hooks and full backward hooks on a single Module",
    a_hook_registered_twice: "previously registered via register_state_dict_post_hook",
}


@pytest.mark.parametrize("case", CASES)
def test_as_in_pytorch(case: Callable[[Any], Any]) -> None:
    agree(case)


@pytest.mark.parametrize(("case", "quoted"), ERRORS.items())
def test_errors_as_in_pytorch(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def test_hooks_of_all_modules_are_replaced_by_none() -> None:
    """As PyTorch's tests clear them: by assignment to the module's attributes."""
    place = ours.nn.modules.module
    called: list[str] = []
    place.register_module_forward_hook(lambda module, given, out: called.append("forward"))
    place.register_module_forward_pre_hook(lambda module, given: called.append("before"))
    kept = dict(place._global_forward_hooks)
    ours.nn.ReLU()(ours.ones(2))
    place._global_forward_pre_hooks = {}
    place._global_forward_hooks = kept
    ours.nn.ReLU()(ours.ones(2))
    place._global_forward_hooks = {}
    ours.nn.ReLU()(ours.ones(2))
    assert called == ["before", "forward", "forward"]
    assert not place._global_forward_hooks
    with pytest.raises(AttributeError, match="no attribute '_global_others'"):
        place._global_others  # noqa: B018
