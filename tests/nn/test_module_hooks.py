"""Hooks of modules beside PyTorch's: what they see, what they change, in which order, and their errors."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import mindtorch_v2  # noqa: E402
from tests.runtime.both import agree  # noqa: E402


def linear(t: Any) -> Any:
    layer = t.nn.Linear(2, 2, bias=False)
    with t.no_grad():
        layer.weight.copy_(t.tensor([[1.0, 2.0], [3.0, 4.0]]))
    return layer


def row(t: Any, requires_grad: bool = True) -> Any:
    return t.tensor([[1.0, 2.0]], requires_grad=requires_grad)


def several(t: Any) -> Any:
    """A module of two arguments, an option and two tensors beside something else as output."""

    class Several(t.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, a: Any, b: Any, scale: float = 1.0) -> Any:
            return a * b * scale, {"sum": a + b}, a + b

    return Several()


def failing(t: Any) -> Any:
    class Failing(t.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, a: Any) -> Any:
            raise ValueError("forward")

    return Failing()


def seen_by_full_hook(t: Any, module: Any, *args: Any) -> Any:
    seen: list[Any] = []
    module.register_full_backward_hook(lambda m, gi, go: seen.append((m is module, gi, go)))
    output = module(*args)
    (output[0] if isinstance(output, tuple) else output).sum().backward()
    return seen, [a.grad for a in args if isinstance(a, t.Tensor)]


def in_order(t: Any) -> Any:
    module, seen = linear(t), []

    def note(name: str) -> Callable[..., None]:
        return lambda *args: seen.append((name, len(args)))

    module.register_forward_pre_hook(note("pre"))
    module.register_forward_pre_hook(note("pre, first"), prepend=True)
    module.register_forward_pre_hook(note("pre, keywords"), with_kwargs=True)
    module.register_forward_hook(note("forward"))
    module.register_forward_hook(note("forward, keywords first"), prepend=True, with_kwargs=True)
    module.register_full_backward_pre_hook(note("backward pre"))
    module.register_full_backward_pre_hook(note("backward pre, first"), prepend=True)
    module.register_full_backward_hook(note("backward"))
    removed = module.register_full_backward_hook(note("backward, removed"))
    module.register_full_backward_hook(note("backward, first"), prepend=True)
    removed.remove()
    module(row(t)).sum().backward()
    return seen


def everywhere(t: Any) -> Any:
    module, seen, of_all = linear(t), [], t.nn.modules.module

    def note(name: str) -> Callable[..., None]:
        return lambda *args: seen.append(name)

    handles = [
        of_all.register_module_forward_pre_hook(note("pre of all")),
        of_all.register_module_forward_hook(note("forward of all")),
        of_all.register_module_full_backward_pre_hook(note("backward pre of all")),
        of_all.register_module_full_backward_hook(note("backward of all")),
    ]
    try:
        module.register_forward_pre_hook(note("pre"))
        module.register_forward_hook(note("forward"))
        module.register_full_backward_pre_hook(note("backward pre"))
        module.register_full_backward_hook(note("backward"))
        module(row(t)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    module(row(t)).sum().backward()
    return seen


def replacing(t: Any) -> Any:
    module, x, seen = linear(t), row(t), []
    module.register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
    module.register_full_backward_pre_hook(lambda m, go: (go[0] + 1,))
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] * 5,))
    module.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    module(x).sum().backward()
    return seen, x.grad, module.weight.grad


def keywords(t: Any) -> Any:
    module = several(t)
    module.register_forward_pre_hook(lambda m, a, k: ((a[0] * 2, a[1]), {"scale": 3.0}), with_kwargs=True)
    module.register_forward_hook(lambda m, a, k, out: (*out, k), with_kwargs=True)
    return module(row(t), row(t))


def always(t: Any) -> Any:
    module, seen = failing(t), []
    module.register_forward_hook(lambda m, a, out: seen.append(out), always_call=True)
    module.register_forward_hook(lambda m, a, out: seen.append("never"))
    with pytest.raises(ValueError, match="forward"):
        module(row(t))
    return seen


def always_after_a_hook(t: Any) -> Any:
    module, seen = linear(t), []

    def wrong(m: Any, args: Any, output: Any) -> None:
        seen.append("wrong")
        raise KeyError("hook")

    module.register_forward_hook(wrong, always_call=True)
    module.register_forward_hook(lambda m, a, out: seen.append(out), always_call=True)
    with pytest.raises(KeyError):
        module(row(t))
    return seen


def a_chain(t: Any) -> Any:
    net, seen = t.nn.Sequential(linear(t), t.nn.Tanh(), linear(t)), []
    for number, part in enumerate(net):
        part.register_full_backward_hook(lambda m, gi, go, number=number: seen.append((number, gi, go)))
    net(row(t, False)).sum().backward()
    return seen


def twice(t: Any) -> Any:
    module, x, seen = linear(t), row(t), []
    module.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go)))
    output = module(module(x)).sum()
    output.backward(retain_graph=True)
    output.backward()
    return seen, x.grad


def double_backward(t: Any) -> Any:
    module, x = t.nn.Tanh(), row(t)
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
    (first,) = t.autograd.grad(module(x).sum(), x, create_graph=True)
    return first, t.autograd.grad(first.sum(), x)


def without_inputs(t: Any) -> Any:
    class Constant(t.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.value = t.nn.Parameter(t.ones(2))

        def forward(self) -> Any:
            return self.value * 2

    return seen_by_full_hook(t, Constant())


def in_no_grad(t: Any) -> Any:
    module, seen = linear(t), []
    module.register_full_backward_hook(lambda *args: seen.append(args))
    with t.no_grad():
        return module(row(t)).grad_fn, seen


def copied(t: Any) -> Any:
    module, seen = linear(t), []
    module.register_forward_hook(lambda m, a, out: seen.append(out))
    copy.deepcopy(module)(row(t))
    return len(seen)


CASES: dict[str, Callable[[Any], Any]] = {
    "one input": lambda t: seen_by_full_hook(t, linear(t), row(t)),
    "no input requires grad": lambda t: seen_by_full_hook(t, linear(t), row(t, False)),
    "no input": without_inputs,
    "several": lambda t: seen_by_full_hook(t, several(t), row(t), row(t)),
    "several, one requires grad": lambda t: seen_by_full_hook(t, several(t), row(t, False), row(t)),
    "an argument that is no tensor": lambda t: seen_by_full_hook(t, several(t), row(t), row(t), 3.0)[0],
    "order": in_order,
    "of all modules": everywhere,
    "replaced": replacing,
    "keywords": keywords,
    "always": always,
    "always, after a hook": always_after_a_hook,
    "a chain": a_chain,
    "a module that is used twice": twice,
    "double backward": double_backward,
    "no_grad": in_no_grad,
    "deepcopy": copied,
    "the node": lambda t: seen_by_full_hook(t, linear(t), row(t)) and _node_name(t),
}


def _node_name(t: Any) -> str:
    module = linear(t)
    module.register_full_backward_hook(lambda *args: None)
    name: str = module(row(t)).grad_fn.name()
    return name


@pytest.mark.parametrize("name", CASES)
def test_hooks(name: str) -> None:
    agree(CASES[name])


def hooked(t: Any, kind: str, hook: Any) -> Any:
    module = linear(t)
    getattr(module, f"register_{kind}_hook")(hook)
    output = module(row(t))
    output.sum().backward()
    return output


def changed_in_place(t: Any) -> None:
    module = linear(t)
    module.register_full_backward_hook(lambda *args: None)
    module(row(t)).add_(1)


def input_changed_in_place(t: Any) -> None:
    class InPlace(t.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, a: Any) -> Any:
            return a.add_(1)

    module = InPlace()
    module.register_full_backward_hook(lambda *args: None)
    module(row(t) * 1)


def wrong_keywords(t: Any) -> Any:
    module = several(t)
    module.register_forward_pre_hook(lambda m, a, k: a, with_kwargs=True)
    module.register_forward_pre_hook(lambda m, a, k: a[0], with_kwargs=True)
    return module(row(t), row(t))


ERRORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "too many grad_output": (
        lambda t: hooked(t, "full_backward_pre", lambda m, go: (go[0], go[0])),
        "Backward pre hook returned an invalid number of grad_output, got 2, but expected 1",
    ),
    "too many grad_input": (
        lambda t: hooked(t, "full_backward", lambda m, gi, go: (gi[0], gi[0])),
        "Backward hook returned an invalid number of grad_input, got 2, but expected 1",
    ),
    "output in place": (changed_in_place, "is a view and is being modified inplace"),
    "input in place": (input_changed_in_place, "is a view and is being modified inplace"),
    "keywords": (wrong_keywords, "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    agree(*ERRORS[name])


def test_errors_of_our_own() -> None:
    with pytest.raises(RuntimeError, match="must return None or a tuple, one grad_input for each, got Tensor"):
        hooked(mindtorch_v2, "full_backward", lambda m, gi, go: gi[0])
    with pytest.raises(TypeError, match="a hook must be callable, not int"):
        linear(mindtorch_v2).register_full_backward_hook(3)


@pytest.mark.parametrize("t", [torch, mindtorch_v2], ids=["torch", "mindtorch_v2"])
def test_warnings(t: Any) -> None:
    with pytest.warns(UserWarning, match="with respect to module outputs since no inputs require gradients"):
        seen_by_full_hook(t, linear(t), row(t, False))
    module = t.nn.ModuleDict()
    module.forward = lambda a: [a]
    module.register_full_backward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors but received"):
        module(row(t))
    module = failing(t)

    def wrong(m: Any, args: Any, output: Any) -> None:
        raise KeyError("hook")

    module.register_forward_hook(wrong, always_call=True)
    with (
        pytest.warns(UserWarning, match="raised an exception that was silenced as another error was raised in forward"),
        pytest.raises(ValueError, match="forward"),
    ):
        module(row(t))


def test_backward_hooks_make_no_cycles() -> None:
    t, kept = mindtorch_v2, []
    gc.collect()
    gc.disable()
    try:
        module = linear(t)
        module.register_full_backward_hook(lambda m, gi, go: None)
        module.register_full_backward_pre_hook(lambda m, go: None)
        for _ in range(2):
            output = module(row(t))
            kept.append(weakref.ref(output.grad_fn))
            if len(kept) == 1:
                output.sum().backward()
            del output
        assert [reference() for reference in kept] == [None, None]
    finally:
        gc.enable()
