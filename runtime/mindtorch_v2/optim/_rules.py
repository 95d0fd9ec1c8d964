"""An optimizer is a table of what it remembers of a parameter and one formula, which is written once and runs on
tensors one by one, on lists of them, or out of place where autograd goes through the step.

A formula is ``formula(p, g, s, o)``: the parameter and its gradient, which are a `Tensor` or a `Many` with the same
methods; the state ``s``, an attribute each; the options ``o``. It changes ``p`` and tensors of ``s`` in place, or
assigns to ``s``: what it has assigned is what is remembered. Numbers of ``s`` (the step, already counted) are floats,
or tensors where the step is to be captured into a graph.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from .. import _core, _creation
from .._C import _get_privateuse1_backend_name
from .._core import Tensor
from .._ops import ops
from ..nn.parameter import Parameter

__all__ = [
    "WAYS",
    "Many",
    "Rule",
    "State",
    "add_product",
    "add_quotient",
    "add_scaled",
    "at_least",
    "check_fused",
    "decayed",
    "each",
    "is_tensor",
    "move_toward",
    "run",
]

Formula = Callable[[Any, Any, SimpleNamespace, SimpleNamespace], None]
WAYS: Mapping[str, Any] = {"foreach": None, "maximize": False, "capturable": False, "differentiable": False}
Lists = dict[str, list[Any]]


@dataclass(frozen=True)
class State:
    """Something that is remembered of a parameter: a tensor like it, or a number, in a tensor of its own.

    ``start(param, group)`` is what a number begins with, or makes the tensor; ``when(param, group)`` says where there
    is one from the start: elsewhere a formula finds None, and may assign one.
    """

    name: str
    start: Callable[[Tensor, dict[str, Any]], Any] = lambda param, group: _creation.zeros_like(param)
    number: bool = False
    when: Callable[[Tensor, dict[str, Any]], bool] = lambda param, group: True


@dataclass(frozen=True)
class Rule:
    """How an optimizer steps: its states in order, its formula, and that of a fused operator where there is one.

    ``parts`` names the members of options that are tuples; ``later`` are options that older states lack, and what they
    are there; ``numbers_on_device``: numbers are always where the parameter is; ``lists_by_default``: devices that have
    operators on lists use them unless told otherwise.
    """

    states: tuple[State, ...]
    formula: Formula
    fused: Callable[..., None] | None = None
    parts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    later: Mapping[str, Any] = field(default_factory=lambda: WAYS)
    numbers_on_device: bool = False
    lists_by_default: bool = True

    def numbers(self) -> list[str]:
        """The names of states that are numbers."""
        return [state.name for state in self.states if state.number]


class Many:
    """Tensors, or numbers, of several parameters, with the methods of one: each is a ``torch._foreach_`` operator.

    With ``pure`` what works in place is computed out of place, and put here: the tensors that autograd has saved of
    earlier steps stay as they are.
    """

    __slots__ = ("items", "pure")

    def __init__(self, items: Sequence[Any], pure: bool = False) -> None:
        self.items, self.pure = list(items), pure

    def __neg__(self) -> Any:
        return each(operator.neg, self)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return functools.partial(self._pure if self.pure else self._listed, name)

    def _listed(self, name: str, *args: Any, **kwargs: Any) -> Many:
        given = [arg.items if isinstance(arg, Many) else arg for arg in args]
        result = getattr(ops.aten, f"_foreach_{name}")(self.items, *given, **kwargs)
        return self if name.endswith("_") else Many(result)

    def _pure(self, name: str, *args: Any, **kwargs: Any) -> Many:
        called = name.removesuffix("_")
        result: Many = each(lambda item, *given: getattr(item, called)(*given, **kwargs), self, *args)
        if called == name:
            return result
        self.items = result.items
        return self


def _operator(function: Callable[[Any, Any], Any], reflected: bool = False) -> Callable[[Many, Any], Any]:
    def apply(self: Many, other: Any) -> Any:
        return each(function, other, self) if reflected else each(function, self, other)

    return apply


for _name in ("add", "sub", "mul", "truediv", "pow"):
    setattr(Many, f"__{_name}__", _operator(getattr(operator, _name)))
    setattr(Many, f"__r{_name}__", _operator(getattr(operator, _name), reflected=True))


def each(function: Callable[..., Any], *values: Any) -> Any:
    """``function`` of the values; where some are of several parameters, of those of each."""
    many = [value for value in values if isinstance(value, Many)]
    if not many:
        return function(*values)
    count = len(many[0].items)
    columns = [value.items if isinstance(value, Many) else [value] * count for value in values]
    return Many([function(*row) for row in zip(*columns, strict=True)], many[0].pure)


def is_tensor(value: Any) -> bool:
    """Whether a value of a formula is a tensor, or several."""
    return isinstance(value, (Tensor, Many))


def add_scaled(target: Any, x: Any, scale: Any) -> Any:
    """``target += scale * x``, in place; the scale may be a tensor."""
    return target.add_(x * scale) if is_tensor(scale) else target.add_(x, alpha=scale)


def add_product(target: Any, x: Any, y: Any, scale: Any) -> Any:
    """``target += scale * x * y``, in place; the scale may be a tensor."""
    return target.addcmul_(x * scale, y) if is_tensor(scale) else target.addcmul_(x, y, value=scale)


def add_quotient(target: Any, x: Any, y: Any, scale: Any) -> Any:
    """``target += scale * x / y``, in place; the scale may be a tensor."""
    return target.addcdiv_(x * scale, y) if is_tensor(scale) else target.addcdiv_(x, y, value=scale)


def move_toward(target: Any, x: Any, share: Any) -> Any:
    """``target += share * (x - target)``, in place; the share may be a tensor."""
    return target.add_((x - target) * share) if is_tensor(share) else target.lerp_(x, share)


def decayed(p: Any, g: Any, o: SimpleNamespace) -> Any:
    """The gradient with the decay of the weights in it; where that is decoupled they shrink by themselves."""
    decay = o.weight_decay
    if not is_tensor(decay) and decay == 0:
        return g
    if getattr(o, "decoupled_weight_decay", False):
        p.mul_(1 - o.lr * decay)
        return g
    return g + p * decay if is_tensor(decay) else g.add(p, alpha=decay)


def at_least(value: Any, least: float) -> Any:
    """The value, or the least one where it is below."""
    return each(lambda item: item.clamp_min(least) if isinstance(item, Tensor) else max(item, least), value)


def _plain(value: Any, kept: bool) -> Any:
    """An option that is a tensor as a number, unless the step is captured or its gradient is asked for."""
    if not isinstance(value, Tensor):
        return value
    return value.reshape(()) if kept or value.requires_grad else value.item()


def run(
    rule: Rule,
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    states: Lists,
    options: Mapping[str, Any],
    *,
    foreach: bool | None = None,
    fused: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    maximize: bool = False,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    """Steps parameters by their gradients: each list of ``states`` has an item for each, None where it has none.

    Raises TypeError for what are no lists of tensors, ValueError for lists of several lengths, RuntimeError for numbers
    that are not in tensors, AssertionError for a step that is captured on a device
    without graphs, or goes over lists and is differentiated.
    """
    _check_lists(params, grads, states)
    for name in rule.numbers():
        if not all(isinstance(number, Tensor) for number in states[name]):
            what = "state_steps" if name == "step" else f"{name}s"
            raise RuntimeError(f"API has changed, `{what}` argument must contain a list of singleton tensors")
    if not params:
        return
    one_pass = foreach is not True and not capturable and not differentiable and grad_scale is found_inf is None
    if rule.fused is not None and (fused or (one_pass and _fit_one_pass(params, grads, states, options))):
        o = SimpleNamespace(**options, maximize=maximize, differentiable=differentiable)
        rule.fused(params, grads, states, o, grad_scale, found_inf)
        return
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")
    if capturable:
        _check_capturable(rule, params, states)
    if foreach is None:
        foreach = rule.lists_by_default and not differentiable and all(map(lists_run_on, params))
    if foreach and differentiable:
        raise AssertionError("_foreach ops don't support autograd")
    o = SimpleNamespace(**{name: _plain(value, capturable) for name, value in options.items()})
    form: Callable[[Sequence[Any]], Any] = _copies if differentiable else Many if foreach else _single
    numbers = frozenset(rule.numbers())
    going = _Run(rule.formula, params, grads, states, o, form, numbers, capturable, maximize)
    for places in _alike(going) if foreach else ([i] for i in range(len(params))):
        going.step(places)


def _fit_one_pass(params: Sequence[Tensor], grads: Sequence[Tensor], states: Lists, options: Mapping[str, Any]) -> bool:
    """Whether a fused operator gives what the formula would, to the last bit, where nobody looks at its operators."""
    if any(isinstance(value, Tensor) for value in options.values()) or not all(p.is_floating_point() for p in params):
        return False
    columns = [column for name, column in states.items() if name != "step" and column and column[0] is not None]
    return all(_core.lie_apart([*row]) for row in zip(params, grads, *columns, strict=True)) and not any(
        column[0] is None and any(item is not None for item in column) for column in states.values()
    )


def _check_lists(params: Any, grads: Any, states: Mapping[str, Any]) -> None:
    for name, given in (("params", params), ("grads", grads), *states.items()):
        if not isinstance(given, (list, tuple)):
            raise TypeError(f"{name}: expected a list of tensors, got {type(given).__name__}")
        if len(given) != len(params):
            raise ValueError(f"{name}: expected as many tensors as params has, {len(params)}, got {len(given)}")
    for tensor in (*params, *grads):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"params and grads: expected tensors, got {type(tensor).__name__}")


def _single(items: Sequence[Any]) -> Any:
    return items[0]


def _copies(items: Sequence[Any]) -> Many:
    """Tensors for a step that autograd goes through: what it saves of them is not what is stepped."""
    return Many([item.clone() for item in items], pure=True)


@dataclass(frozen=True)
class _Run:
    """What a formula is run on, and how: ``form`` makes of tensors what it takes."""

    formula: Formula
    params: Sequence[Tensor]
    grads: Sequence[Tensor]
    states: Lists
    o: SimpleNamespace
    form: Callable[[Sequence[Any]], Any]
    numbers: frozenset[str]
    captured: bool
    maximize: bool

    def step(self, places: list[int]) -> None:
        """Steps the parameters at some places, whose numbers are all the same.

        Complex ones are stepped as pairs of real ones, in the same memory.
        """
        paired = self.params[places[0]].is_complex()
        before: dict[str, list[Any]] = {}
        given: dict[str, Any] = {}
        for name, column in self.states.items():
            before[name] = items = [column[i] for i in places]
            if items[0] is None:
                given[name] = None
            elif name in self.numbers:
                if name == "step":
                    for item in items:
                        item.add_(1)
                given[name] = self.form(items) if self.captured else items[0].item()
            else:
                before[name] = items = _real(items) if paired else items
                given[name] = self.form(items)
        params, grads = [self.params[i] for i in places], [self.grads[i] for i in places]
        if paired:
            params, grads = _real(params), _real(grads)
        p, g, s = self.form(params), self.form(grads), SimpleNamespace(**given)
        self.formula(p, -g if self.maximize else g, s, self.o)
        _keep(params, p)
        for name, value in vars(s).items():
            if given[name] is None and value is not None:
                made = value.items if isinstance(value, Many) else [value]
                for i, item in zip(places, made, strict=True):
                    self.states[name][i] = ops.aten.view_as_complex(item) if paired else item
            elif value is not given[name] or isinstance(value, Many):
                _keep(before[name], value)


def _real(tensors: Sequence[Tensor]) -> list[Any]:
    return [ops.aten.view_as_real(tensor) for tensor in tensors]


def _keep(old: list[Any], value: Any) -> None:
    """Puts what a formula has computed where it is remembered, unless it is there."""
    for tensor, item in zip(old, value.items if isinstance(value, Many) else [value] * len(old), strict=True):
        if isinstance(item, Tensor):
            if item is not tensor:
                tensor.copy_(item)
        else:
            tensor.fill_(item)


def _alike(run: _Run) -> Iterator[list[int]]:
    """The places of parameters that take the same step: of one device and dtype, with the same numbers and states."""
    numbers = frozenset() if run.captured else run.numbers
    groups: dict[Any, list[int]] = {}
    for i, param in enumerate(run.params):
        items = [(name, column[i]) for name, column in run.states.items()]
        kind = tuple(item.item() if name in numbers else item is None for name, item in items)
        groups.setdefault((param.device, param.dtype, kind), []).append(i)
    return iter(groups.values())


def lists_run_on(param: Tensor) -> bool:
    """Whether a parameter's device has operators on lists, which are then used unless a step is told otherwise."""
    return type(param) in (Tensor, Parameter) and param.device.type in devices_of_lists()


def devices_of_lists() -> list[str]:
    """The device types with operators on lists."""
    return _devices("cuda", "xpu", "mtia")


def devices_of_fused_steps() -> list[str]:
    """The device types on which a step can be one call for all parameters."""
    return ["mps", *_devices("cuda", "xpu", "hpu", "cpu", "mtia")]


def check_fused(param: Tensor) -> None:
    """Raises RuntimeError for a parameter that no fused operator can step."""
    devices = devices_of_fused_steps()
    if param.device.type not in devices or not param.is_floating_point():
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported devices: "
            f"{devices} but {param.dtype} and {param.device.type}"
        )


def _check_capturable(rule: Rule, params: Sequence[Tensor], states: Lists) -> None:
    devices = _devices("cuda", "xpu", "hpu", "xla")
    for name in rule.numbers():
        for param, number in zip(params, states[name], strict=True):
            if param.device.type != number.device.type or param.device.type not in devices:
                raise AssertionError(
                    f"If capturable=True, params and state_steps must be on supported devices: {devices}."
                )


def _devices(*names: str) -> list[str]:
    return [*names, _get_privateuse1_backend_name()]
