"""The expressions of an entry, and whether it names Python functions, whose code is not analysed."""

from __future__ import annotations

from collections.abc import Iterator

from mtcodegen.entries.model import Compute, FakeRule, Formula, KernelSpec, Launch, Mindspore, OpSpec, PythonFunction

__all__ = ["composed", "every_formula", "gradients", "reads_in_python"]


def every_formula(spec: OpSpec) -> Iterator[Formula]:
    """Every expression: of checks, fake rules, kernels, gradients and tangents."""
    for check in spec.checks:
        yield check.condition
        yield from (part for part in check.message if isinstance(part, Formula))
    for rule in spec.fakes:
        yield from _of_rule(rule)
    for kernel in spec.kernels:
        yield from _of_kernel(kernel)
    yield from gradients(spec)
    for tangent in spec.forward.tangents if spec.forward is not None else ():
        if tangent.formula is not None:
            yield tangent.formula


def _of_rule(rule: FakeRule) -> Iterator[Formula]:
    shape = rule.shape if isinstance(rule.shape, tuple) else (rule.shape,)
    yield from (item for item in (rule.like, *shape, rule.dtype, rule.device) if item is not None)


def _of_kernel(kernel: KernelSpec) -> Iterator[Formula]:
    if kernel.when is not None:
        yield kernel.when
    match kernel.body:
        case Launch() as launch:
            yield from (item.value for item in (*launch.args, *launch.tiling.values()))
            yield from (item for item in (launch.block_dim, launch.workspace) if item is not None)
        case Compute(formulas=formulas):
            yield from formulas
        case Mindspore(args=args, attrs=attrs):
            yield from (*(args or ()), *attrs.values())


def composed(spec: OpSpec) -> Iterator[Formula]:
    """What kernels compute by calling other operators."""
    for kernel in spec.kernels:
        if isinstance(kernel.body, Compute):
            yield from kernel.body.formulas


def gradients(spec: OpSpec) -> Iterator[Formula]:
    """The formulas of ``backward``, those for single devices included."""
    for derivative in spec.backward.derivatives if spec.backward is not None else ():
        if derivative.formula is not None:
            yield derivative.formula
        yield from derivative.by_device.values()


def reads_in_python(spec: OpSpec) -> bool:
    """Whether a function written in Python gets the operator's arguments: it may read any of them."""
    by_hand = [spec.fake_function]
    if spec.backward is not None:
        by_hand += [spec.backward.function, spec.backward.setup_context]
    if spec.forward is not None:
        by_hand.append(spec.forward.function)
    return any(by_hand) or any(isinstance(kernel.body, PythonFunction) for kernel in spec.kernels)
