"""`opcheck`'s ``test_aot_dispatch_dynamic``: forward and backward, recorded ahead of time, against an eager call.

What it finds are operators that cannot be compiled: that read data while they are recorded, depend on state, or whose
backward does what only an eager call survives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _core, autograd
from .._core import OpOverload, Tensor
from .._functional import allclose
from .._generators import default_generator
from .._ops import ops
from ..autograd._levels import in_transform
from ._fake import dynamic_sizes
from ._samples import map_tensors, tensors_in, without_data

__all__ = ["check_function", "check_recorded"]

Joint = Callable[..., dict[str, Tensor]]

_NUMBERS = frozenset(("number", "integer", "float"))  # of these the flow can be followed; of other reads it cannot
_TOLERANCES = {"float16": 1e-3, "bfloat16": 1.6e-2, "float64": 1e-7, "complex128": 1e-7}
_SEED = 42


def check_recorded(
    op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], rtol: float | None, atol: float | None
) -> None:
    """Raises AssertionError where the recorded graph gives other outputs or gradients, and what recording raised."""
    eager, recorded = _both(_joint(op, args, kwargs, True), tensors_in((args, kwargs)))
    _compare(op.name(), eager, recorded, lambda a, b: _close(a, b, rtol, atol))


def check_function(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    gradients: bool,
    close: Callable[[Tensor, Tensor], object],
) -> None:
    """As `check_recorded`, of any function; ``close`` raises AssertionError for results that differ."""

    def agree(a: Tensor, b: Tensor) -> bool:
        close(a, b)
        return True

    eager, recorded = _both(_joint(function, args, kwargs, gradients), tensors_in((args, kwargs)))
    _compare(getattr(function, "__name__", repr(function)), eager, recorded, agree)


def _both(joint: Joint, samples: list[Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """What an eager call gives, and the graph that is recorded of one."""
    from ..func._functionalize import functionalize  # imported here: both are built on this package
    from ..jit import TracingState, recording, run_graph

    with _seeded():
        eager = joint(*_copies(samples))
    reads: list[str] = []
    state = TracingState(on_read=lambda what: _note_read(reads, what))
    inputs = _copies(samples)
    for tensor in inputs:
        state.add_input(tensor)
    with _seeded(), recording(state):
        state.add_output(functionalize(joint)(*inputs))
    if not reads:
        _run_without_data(joint, samples)
    with _seeded():
        return eager, run_graph(state.graph, _copies(samples))


def _joint(op: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], with_gradients: bool) -> Joint:
    """Forward and backward as one function of the tensors among the arguments."""
    wanted = [sample.requires_grad for sample in tensors_in((args, kwargs))]

    def joint(*tensors: Tensor) -> dict[str, Tensor]:
        from ..func._functional_levels import record_inside

        record_inside()
        with in_transform(0), autograd.enable_grad():  # the call is as in a program, which is in no transform
            leaves = [_core.leaf(t) if wants else t for t, wants in zip(tensors, wanted, strict=True)]
            given = iter(
                [leaf * 1 if leaf.requires_grad else leaf for leaf in leaves]
            )  # which the operator may write to
            call_args, call_kwargs = map_tensors((args, kwargs), lambda _: next(given))
            outputs = tensors_in(op(*call_args, **call_kwargs))
            gradients = _gradients(outputs, leaves) if with_gradients else ()
        found = {f"output {i}": output.detach() for i, output in enumerate(outputs)}
        found |= {f"argument {i}": t.detach() for i, t in enumerate(tensors_in((call_args, call_kwargs)))}
        return found | {f"gradient {i}": gradient for i, gradient in enumerate(gradients) if gradient is not None}

    return joint


def _gradients(outputs: Sequence[Tensor], leaves: Sequence[Tensor]) -> Sequence[Tensor | None]:
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    sums = [output.sum().abs() for output in outputs if output.requires_grad]
    if not wanted or not sums:
        return ()
    total = sums[0]
    for other in sums[1:]:
        total = total + other
    found: Sequence[Tensor | None] = autograd.grad(total, wanted, allow_unused=True)
    return found


def _note_read(reads: list[str], what: str) -> None:
    reads.append(what)
    if what not in _NUMBERS:
        raise RuntimeError(
            f"data of a tensor was read while the operator was recorded, as a {what}: what depends on it is the same "
            "for every later input. Compute it by operators, or in a kernel of the operator."
        )


def _run_without_data(joint: Joint, samples: Sequence[Tensor]) -> None:
    """Forward by the fake rule, and backward, on tensors without data: both must do with shapes alone."""
    try:
        with dynamic_sizes():
            joint(*(without_data(sample) for sample in samples))
    except NotImplementedError:  # an operator on the way has no fake rule; the one that is checked does
        return


def _compare(
    name_of: str,
    eager: dict[str, Tensor],
    recorded: dict[str, Tensor],
    close: Callable[[Tensor, Tensor], bool],
) -> None:
    if eager.keys() != recorded.keys():
        raise AssertionError(
            f"{name_of}: an eager call gives {', '.join(eager)}, its recorded graph {', '.join(recorded)}: what has "
            "a gradient must not depend on the call"
        )
    for name, expected in eager.items():
        if not close(recorded[name], expected):
            raise AssertionError(
                f"eager-mode PyTorch vs AOTAutograd: {name_of}: {name} of the recorded graph differs from that of an "
                "eager call: "
                f"{_text(recorded[name])} instead of {_text(expected)}. The operator or its gradient depends on state, "
                "on data that was read while it was recorded, or on memory that it changes without saying so."
            )


def _close(a: Tensor, b: Tensor, rtol: float | None, atol: float | None) -> bool:
    if a.dtype is not b.dtype or a.shape != b.shape or a.device != b.device:
        return False
    if not a.is_floating_point() and not a.is_complex():
        return bool(a.tolist() == b.tolist())
    relative = _TOLERANCES.get(a.dtype.name, 1.3e-6) if rtol is None else rtol
    return allclose(a, b, relative, 1e-5 if atol is None else atol, equal_nan=True)


def _text(tensor: Tensor) -> str:
    values = str(tensor.tolist())
    return f"{tensor.dtype} {list(tensor.shape)} {values if len(values) < 80 else values[:77] + '...'}"


def _copies(samples: Sequence[Tensor]) -> list[Tensor]:
    return [ops.aten.clone(sample.detach()) for sample in samples]


@contextmanager
def _seeded() -> Iterator[None]:
    """Inside, random numbers are the same each time; those outside go on as if nothing had been drawn."""
    before = default_generator.get_state()
    default_generator.manual_seed(_SEED)
    try:
        yield
    finally:
        default_generator.set_state(before)
