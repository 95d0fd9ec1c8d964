"""Who is asked about a call, in which order: modes, subclasses, and strangers with ``__torch_function__``."""

from __future__ import annotations

import importlib
import operator
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree


def dispatch_mode(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode


def subclass(torch: Any, label: str, log: list[Any], refuses: bool = False, base: Any = None) -> Any:
    """A tensor of a new class, whose ``__torch_function__`` logs what it is asked."""

    class Sub(base or torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append((label, func.__name__, [t.__name__ for t in types]))
            return NotImplemented if refuses else super().__torch_function__(func, types, args, kwargs or {})

    Sub.__name__ = label
    return Sub


def of(torch: Any, cls: Any) -> Any:
    return torch.Tensor._make_subclass(cls, torch.ones(2))


def function_mode(torch: Any, label: str, log: list[Any], refuses: bool = False) -> Any:
    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append((label, func.__name__, [t.__name__ for t in types]))
            return NotImplemented if refuses else func(*args, **(kwargs or {}))

    return Mode()


def wrapper(torch: Any, label: str, log: list[Any], refuses: bool = False, base: Any = None) -> Any:
    class Wrap(base or torch.Tensor):  # type: ignore[misc]
        @staticmethod
        def __new__(cls, inner: Any) -> Any:
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append((label, str(func), [t.__name__ for t in types]))
            return NotImplemented if refuses else func(*[getattr(a, "inner", a) for a in args], **(kwargs or {}))

    Wrap.__name__ = label
    return Wrap


def logging_mode(torch: Any, label: str, log: list[Any], refuses: bool = False) -> Any:
    class Mode(dispatch_mode(torch)):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append((label, str(func), [t.__name__ for t in types]))
            return NotImplemented if refuses else func(*args, **(kwargs or {}))

    return Mode()


# ---------------------------------------------------------------- order


def subclasses_stand_before_their_bases(torch: Any) -> Any:
    log: list[Any] = []
    a = subclass(torch, "A", log)
    b = subclass(torch, "B", log, base=a)
    results = [type(torch.add(of(torch, x), of(torch, y))).__name__ for x, y in ((a, b), (b, a), (a, a))]
    return results, log


def unrelated_classes_are_asked_from_left_to_right(torch: Any) -> Any:
    log: list[Any] = []
    a, b = subclass(torch, "A", log, refuses=True), subclass(torch, "B", log, refuses=True)
    for x, y in ((a, b), (b, a)):
        with pytest.raises(TypeError):
            torch.add(of(torch, x), of(torch, y))
    return log


def a_base_answers_for_a_subclass_that_refuses(torch: Any) -> Any:
    log: list[Any] = []

    class Base(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append("Base")
            return "answered"

    b = subclass(torch, "B", log, refuses=True, base=Base)
    return torch.add(of(torch, Base), of(torch, b)), log


def lists_are_searched(torch: Any) -> Any:
    log: list[Any] = []
    torch.cat([torch.ones(2), of(torch, subclass(torch, "A", log))])
    return log


def a_mode_is_asked_before_subclasses(torch: Any) -> Any:
    log: list[Any] = []
    x = of(torch, subclass(torch, "A", log))
    with function_mode(torch, "outer", log), function_mode(torch, "inner", log):
        torch.add(x, 1)
    return log


def a_mode_that_refuses_leaves_it_to_subclasses(torch: Any) -> Any:
    log: list[Any] = []

    class Base(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "answered"

    x = of(torch, Base)
    with function_mode(torch, "outer", log), function_mode(torch, "inner", log, refuses=True):
        return torch.add(x, 1), log


def dispatch_order(torch: Any) -> Any:
    log: list[Any] = []
    a = wrapper(torch, "A", log, refuses=True)
    b = wrapper(torch, "B", log, refuses=True, base=a)
    x, y = a(torch.ones(2)), b(torch.ones(2))
    with pytest.raises(TypeError):
        torch.add(x, y)
    return log


def a_dispatch_mode_that_refuses_leaves_it_to_subclasses(torch: Any) -> Any:
    log: list[Any] = []
    x = wrapper(torch, "A", log)(torch.ones(2))

    class Once(dispatch_mode(torch)):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(("mode", [t.__name__ for t in types]))
            return NotImplemented if types else func(*args, **(kwargs or {}))

    with Once():
        y = torch.sin(x)
    return log, y


# ---------------------------------------------------------------- switching off


def switched_off(torch: Any) -> Any:
    log: list[Any] = []
    x, c = of(torch, subclass(torch, "A", log)), torch._C

    def flags() -> Any:
        return (
            c._is_torch_function_enabled(), c._is_torch_function_all_disabled(), c._is_torch_function_mode_enabled(),
            c._len_torch_function_stack(), torch.overrides.has_torch_function((x,)),
        )  # fmt: skip

    for guard in (c.DisableTorchFunctionSubclass, c.DisableTorchFunction):
        with guard():
            torch.add(x, 1)
            log.append(flags())
            with function_mode(torch, "mode", log):
                torch.add(x, 1)
                log.append(flags())
                with guard():
                    torch.add(x, 1)
            torch.add(x, 1)
        with function_mode(torch, "mode", log):
            with guard():
                torch.add(x, 1)
                log.append(flags())
            torch.add(x, 1)
        torch.add(x, 1)
        log.append(flags())
    return log


def dispatch_switched_off(torch: Any) -> Any:
    log: list[Any] = []
    x = torch.ones(2)
    with logging_mode(torch, "mode", log):
        with torch._C._DisableTorchDispatch():
            torch.sin(x)
            log.append("off")
        torch.cos(x)
    return log


def indexing(torch: Any) -> Any:
    log: list[Any] = []
    x = of(torch, subclass(torch, "A", log))
    plain = torch.ones(2, 2)
    kept = type(x[0]).__name__, type(x[:1]).__name__
    x[0] = 5.0
    with function_mode(torch, "mode", log):
        row = plain[0]
        plain[1] = row * 3
    return kept, list(log), plain, x.as_subclass(torch.Tensor).tolist()


def disabled_by_the_class(torch: Any) -> Any:
    class Plain(torch.Tensor):  # type: ignore[misc]
        __torch_function__ = torch._C._disabled_torch_function_impl

    x = of(torch, Plain)
    return type(torch.add(x, 1)).__name__, type(x).__name__, torch.overrides.has_torch_function((x,))


# ---------------------------------------------------------------- nesting and failures


def a_mode_entered_by_its_own_handler(torch: Any) -> Any:
    log: list[Any] = []

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(func.__name__)
            with self:
                return func(*args, **(kwargs or {})) if len(log) < 4 else None

    x = torch.ones(2)
    with Mode():
        torch.add(x, 1)
    return log


def a_function_mode_that_fails(torch: Any) -> Any:
    log: list[Any] = []

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(func.__name__)
            raise ValueError("no")

    x = torch.ones(2)
    with Mode():
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                torch.add(x, 1)
        log.append(torch._C._len_torch_function_stack())
    torch.add(x, 1)
    return log, torch._C._len_torch_function_stack()


def leaving_a_mode_that_was_not_entered(torch: Any) -> Any:
    with pytest.raises(IndexError):
        logging_mode(torch, "mode", []).__exit__(None, None, None)
    return torch._C._len_torch_dispatch_stack()


def stacks(torch: Any) -> Any:
    outer, inner = torch.overrides.BaseTorchFunctionMode(), torch.overrides.BaseTorchFunctionMode()
    with outer, inner:
        entered = torch.overrides._get_current_function_mode_stack()
        seen = [mode is outer for mode in entered], torch.overrides._get_current_function_mode() is inner
    return seen, torch.overrides._get_current_function_mode()


def strangers(torch: Any) -> Any:
    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "duck", func.__name__, [t.__name__ for t in types], len(args), sorted(kwargs or {})

    duck, x = Duck(), torch.ones(1)
    return torch.add(duck, 1), torch.add(x, duck), x + duck, torch.add(x, duck, alpha=2), torch.cat([x, duck])


def handlers_find_functions_by_identity(torch: Any) -> Any:
    known = {torch.split: "split", torch.unbind: "unbind", torch.sin: "sin", torch.cat: "cat"}
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(known.get(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, 2)
    with Mode():
        results = torch.split(x, 1), torch.unbind(x), torch.sin(x), torch.cat([x, x])
    return seen, [type(result).__name__ for result in results]


def wrappers(torch: Any) -> Any:
    cls = wrapper(torch, "A", [])
    made = torch.Tensor._make_wrapper_subclass(
        cls, (2, 3), strides=(1, 2), dtype=torch.float64, device="cpu", requires_grad=True
    )
    kept = torch.Tensor._make_subclass(cls, torch.ones(2))
    return (
        tuple(made.shape), made.stride(), str(made.dtype), made.device.type, made.requires_grad, made.is_leaf,
        type(made).__name__, type(kept).__name__, kept.requires_grad, isinstance(made, torch.Tensor),
    )  # fmt: skip


AGREE = (
    subclasses_stand_before_their_bases, unrelated_classes_are_asked_from_left_to_right,
    a_base_answers_for_a_subclass_that_refuses, lists_are_searched, a_mode_is_asked_before_subclasses,
    a_mode_that_refuses_leaves_it_to_subclasses, dispatch_order, a_dispatch_mode_that_refuses_leaves_it_to_subclasses,
    switched_off, indexing, dispatch_switched_off, disabled_by_the_class, a_mode_entered_by_its_own_handler,
    a_function_mode_that_fails, leaving_a_mode_that_was_not_entered, stacks, strangers, wrappers,
    handlers_find_functions_by_identity,
)  # fmt: skip


@pytest.mark.parametrize("case", AGREE, ids=lambda case: case.__name__)
def test_overrides(case: Callable[[Any], Any]) -> None:
    before = mindtorch_v2._core.thread_keys()
    agree(case)
    assert mindtorch_v2._core.thread_keys() == before


def all_subclasses_refuse(torch: Any) -> None:
    log: list[Any] = []
    a, b = subclass(torch, "A", log, refuses=True), subclass(torch, "B", log, refuses=True)
    torch.add(of(torch, a), of(torch, b))


def a_mode_refuses(torch: Any) -> None:
    x = torch.ones(2)
    with function_mode(torch, "outer", []), function_mode(torch, "inner", [], refuses=True):
        torch.add(x, 1)


def a_dispatch_mode_refuses(torch: Any) -> None:
    x = torch.ones(2)
    with logging_mode(torch, "mode", [], refuses=True):
        torch.add(x, x)


def dispatch_subclasses_refuse(torch: Any) -> None:
    x = wrapper(torch, "A", [], refuses=True)(torch.ones(2))
    torch.add(x, x)


def a_mode_returns_an_int(torch: Any) -> None:
    class Three(dispatch_mode(torch)):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return 3

    x = torch.ones(2)
    with Three():
        torch.sin(x)


FUNCTION = "Multiple dispatch failed for 'torch.add'; all __torch_function__ handlers returned NotImplemented:\n\n  - "
DISPATCH = (
    "Multiple dispatch failed for 'torch._ops.aten.add.Tensor'; all __torch_dispatch__ handlers returned "
    "NotImplemented:\n\n  - "
)
NO_SUBCLASS = (
    "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class "
    "inherits from Tensor."
)


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (all_subclasses_refuse, FUNCTION + "tensor subclass <class '"),
        (a_mode_refuses, FUNCTION + "mode object <"),
        (a_dispatch_mode_refuses, DISPATCH + "mode object <"),
        (dispatch_subclasses_refuse, DISPATCH + "tensor subclass <class '"),
        (a_mode_returns_an_int, "Tensor"),
        (lambda t: t.Tensor._make_wrapper_subclass(t.Tensor, (2,)), "Tensor must define __torch_dispatch__"),
        (
            lambda t: t.Tensor._make_wrapper_subclass(type("Z", (t.Tensor,), {}), (2,)),
            "Z must define __torch_dispatch__",
        ),
        (lambda t: t.Tensor._make_subclass(int, t.ones(2)), NO_SUBCLASS),
        (lambda t: t.ones(2).as_subclass(int), NO_SUBCLASS),
        (
            lambda t: t.Tensor._make_subclass(type("Z", (t.Tensor,), {}), t.tensor([1]), True),
            "Only Tensors of floating point and complex dtype can require gradients",
        ),
    ],
)
def test_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def answering(base: Any, log: list[Any]) -> Any:
    """A class, whose ``__torch_function__`` notes what is called, and returns -1."""

    class Answer(*([] if base is None else [base])):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            log.append(getattr(func, "__name__", func))
            return -1

    return Answer


@pytest.mark.parametrize("stranger", [True, False])
def test_what_is_indexed_by_answers(stranger: bool) -> None:
    def case(torch: Any) -> Any:
        log: list[Any] = []
        item = answering(None if stranger else torch.Tensor, log)()
        t = torch.tensor([5])
        found = [t[item], t[5, item], t[[item]]]
        t[item] = 1
        t[5, item] = 1
        t[0] = item
        return found, log, t

    agree(case)


def test_a_subclass_in_the_place_of_a_size_answers() -> None:
    def case(torch: Any) -> Any:
        log: list[Any] = []
        cls = answering(torch.Tensor, log)
        t = torch.Tensor._make_subclass(cls, torch.ones(1))
        other = torch.Tensor._make_subclass(cls, torch.tensor([5]))
        return [t.expand(other), t.view(other), t.repeat(other), t.reshape(other), t.tile(other)], [
            name
            for name in log
            if name != "item"  # ours asks first whether it is a number
        ]

    agree(case)


def test_functions_of_unknown_sizes_are_overridden() -> None:
    names = ("sym_float", "sym_int", "sym_not", "_sym_sqrt", "_sym_cos", "_sym_atan", "_sym_log2")

    def case(torch: Any) -> Any:
        log: list[Any] = []
        item = answering(None, log)()
        found = [getattr(torch, name)(item) for name in names]
        found += [torch.sym_max(item, 1), torch.sym_min(1, item), torch.sym_ite(item, 1, 2)]
        return found, log, [getattr(torch, name)(2.0) for name in names]

    agree(case)


def test_grad_of_what_is_no_tensor() -> None:
    def case(torch: Any) -> Any:
        seen: list[Any] = []

        class Other:
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.append([type(a).__name__ for a in args])
                return -1

        return torch.autograd.grad(Other(), Other()), seen

    agree(case)


def test_parameters_of_distributions_that_are_no_tensors() -> None:
    def case(torch: Any) -> Any:
        log: list[Any] = []
        utils = importlib.import_module(f"{torch.__name__}.distributions.utils")
        return utils.broadcast_all(answering(None, log)(), torch.ones(1)), log

    agree(case)


@pytest.mark.parametrize("name", ["abs", "nn.functional.dropout"])
@pytest.mark.parametrize("of_tensors", [False, True])
@pytest.mark.parametrize("static", [False, True])
def test_a_handler_that_is_a_plain_method(name: str, of_tensors: bool, static: bool) -> None:
    def case(torch: Any) -> Any:
        log: list[Any] = []

        class Plain(torch.Tensor if of_tensors else object):  # type: ignore[misc]
            def __torch_function__(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                log.append((type(self).__name__, func.__name__, [t.__name__ for t in types], len(args)))
                return 5

        class Static:
            @staticmethod
            def __torch_function__(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                log.append((func.__name__, [t.__name__ for t in types], len(args)))
                return 5

        torch.set_warn_always(True)  # PyTorch's operators warn once in a process
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = operator.attrgetter(name)(torch)((Static if static else Plain)())
            finally:
                torch.set_warn_always(False)
        return found, log, [(one.category, "plain method" in str(one.message)) for one in caught]

    agree(case)
