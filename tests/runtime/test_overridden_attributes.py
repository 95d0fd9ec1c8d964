"""Attributes, methods and Python's protocols as ``__torch_function__`` sees them, of subclasses and of modes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")


from tests.runtime.both import agree

PROPERTIES = (
    "shape", "grad", "T", "mT", "dtype", "device", "requires_grad", "is_leaf", "grad_fn", "data", "ndim", "itemsize",
    "nbytes", "_version", "is_cpu", "is_cuda", "is_meta", "output_nr", "retains_grad",
)  # fmt: skip
METHODS = (
    "size", "dim", "numel", "stride", "storage_offset", "is_contiguous", "contiguous", "element_size", "data_ptr",
    "untyped_storage", "is_floating_point", "is_complex", "get_device", "requires_grad_", "detach",
    "is_inference", "retain_grad", "tolist", "cpu", "clone", "t", "float", "double", "long", "sum", "type", "__len__",
    "__repr__", "__bool__", "__float__", "__int__", "__index__",
)  # fmt: skip
Action = Callable[[Any, Any], Any]
ACTIONS: dict[str, Action] = {
    **{name: lambda t, x, name=name: getattr(x, name) for name in PROPERTIES},
    **{f"{name}()": lambda t, x, name=name: getattr(x, name)() for name in METHODS},
    "grad = None": lambda t, x: setattr(x, "grad", None),
    "grad = g": lambda t, x: (setattr(x, "grad", t.ones(2, 2)), x.grad)[1],
    "del grad": lambda t, x: delattr(x, "grad"),
    "requires_grad = True": lambda t, x: setattr(x, "requires_grad", True),
    "data = d": lambda t, x: setattr(x, "data", x.detach()),
    "size(0)": lambda t, x: x.size(0),
    "stride(0)": lambda t, x: x.stride(0),
    "size(dim=0)": lambda t, x: x.size(dim=0),
    "to": lambda t, x: x.to(t.float64),
    "backward": lambda t, x: x.sum().backward(),
    "autograd.backward": lambda t, x: t.autograd.backward(x.sum()),
    "autograd.grad": lambda t, x: t.autograd.grad(x.sum(), x),
    "register_hook": lambda t, x: type(x.register_hook(lambda g: None)).__name__,
    "format": lambda t, x: f"{x}"[:7],
    "contains": lambda t, x: 1.0 in x,
    "numpy": lambda t, x: x.detach().numpy().shape,
    "add": lambda t, x: x + 1,
    "2 * (x + x.shape[0])": lambda t, x: 2 * (x + x.shape[0]),
    "linear": lambda t, x: t.nn.functional.linear(x, x),
    "torch.numel": lambda t, x: t.numel(x),
    "as_subclass": lambda t, x: type(x.as_subclass(t.Tensor)).__name__ if type(x) is not t.Tensor else None,
    "mul_": lambda t, x: x.detach().mul_(2),
    "float of several": lambda t, x: float(x),
    "int of several": lambda t, x: int(x),
}


def name_of(function: Any) -> Any:
    """``("shape", "__get__")`` or ``"size"``."""
    if function.__name__ in ("__get__", "__set__", "__delete__"):
        owner = function.__self__
        return getattr(owner, "__name__", None) or owner.fget.__name__, function.__name__
    return function.__name__


def outcome_of(action: Action, t: Any, x: Any) -> Any:
    try:
        result = action(t, x)
    except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
        return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins"), str(error)[:50]
    if isinstance(result, t.Tensor):
        return type(result).__name__, tuple(result.shape)
    return result if isinstance(result, (int, float, bool, list)) else type(result).__name__


def seen_by_a_mode(t: Any, action: Action) -> Any:
    log: list[Any] = []

    class Mode(t.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(name_of(func))
            return func(*args, **(kwargs or {}))

    x = t.ones(2, 2, requires_grad=True)
    with Mode():
        outcome = outcome_of(action, t, x)
    return outcome, [entry for entry in log if entry != ("shape", "__get__") or action is ACTIONS["shape"]]


def seen_by_a_class(t: Any, action: Action) -> Any:
    log: list[Any] = []

    class Sub(t.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append((name_of(func), [c.__name__ for c in types], len(args)))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = t.ones(2, 2).as_subclass(Sub).requires_grad_()
    log.clear()
    return outcome_of(action, t, x), log


@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.parametrize("seen", [seen_by_a_mode, seen_by_a_class])
def test_attributes(seen: Any, name: str) -> None:
    if name == "data_ptr()":
        agree(lambda t: seen(t, lambda t, x: x.data_ptr() != 0))
    else:
        agree(lambda t: seen(t, ACTIONS[name]))


def answers(t: Any) -> Any:
    """A class may answer in the attribute's place; the plain tensor stays as it is."""

    class Odd(t.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func == t.Tensor.shape.__get__:
                return "shape"
            if func is t.Tensor.size:
                return "size", args[1:], kwargs
            if func == t.Tensor.grad.__set__:
                raise ValueError("not this one")
            return super().__torch_function__(func, types, args, kwargs or {})

    x, plain = t.ones(2).as_subclass(Odd), t.ones(2)
    with pytest.raises(ValueError, match="not this one"):
        x.grad = plain
    return x.shape, x.size(0), x.size(dim=0), tuple(plain.shape), plain.size(0), x.grad, x.dim()


def nested(t: Any) -> Any:
    """The inner mode's call reaches the outer mode, and that one's the class."""
    log: list[Any] = []

    def mode(label: str) -> Any:
        class Mode(t.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                log.append((label, name_of(func)))
                return func(*args, **(kwargs or {}))

        return Mode()

    class Sub(t.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(("class", name_of(func)))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = t.ones(2, 2).as_subclass(Sub)
    with mode("outer"), mode("inner"):
        results = tuple(x.shape), x.size(1), x.to(t.float64).dtype is t.float64, len(x)
    with t._C.DisableTorchFunctionSubclass():
        x.size(0)
        log.append(tuple(x.shape))
    return results, log


def the_gradient_stays_plain(t: Any) -> Any:
    class Sub(t.Tensor):  # type: ignore[misc, name-defined]
        pass

    x = t.ones(2).as_subclass(Sub).requires_grad_()
    (x * 2).sum().backward()
    return type(x.grad).__name__, type(x.data).__name__, type(x.T).__name__, type(x.shape).__name__


def parameters_are_left_alone(t: Any) -> Any:
    parameter = t.nn.Parameter(t.ones(2))
    return tuple(parameter.shape), parameter.size(0), parameter.grad, type(parameter.data).__name__


def numbers_first(t: Any) -> Any:
    x, n = t.tensor([1.0, 2.0, 3.5]), t.tensor([2, 3])
    return 7 // x, 7 // n, 7.5 // n, 2**x, 7 % n, x == "a", divmod is not None


@pytest.mark.parametrize(
    "case",
    [answers, nested, the_gradient_stays_plain, parameters_are_left_alone, numbers_first],
    ids=lambda case: case.__name__,
)
def test_overridden(case: Callable[[Any], Any]) -> None:
    agree(case)


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (lambda t: float(t.ones(2)), "only one element tensors can be converted to Python scalars"),
        (lambda t: int(t.ones(2)), "only one element tensors can be converted to Python scalars"),
        (lambda t: t.ones(2) @ 2, "unsupported operand type(s) for @"),
        (lambda t: operator.matmul(2, t.ones(2)), "unsupported operand type(s) for @"),
        (
            lambda t: refused(t).shape,
            "Multiple dispatch failed for 'torch.Tensor.shape.__get__'; all __torch_function__ handlers returned "
            "NotImplemented",
        ),
        (lambda t: refused(t).size(), "Multiple dispatch failed for 'torch.Tensor.size'"),
    ],
)
def test_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def refused(t: Any) -> Any:
    class Refuses(t.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    return t.ones(2).as_subclass(Refuses)
