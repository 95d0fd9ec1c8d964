"""Plans: the operations that a module will run, made ahead of time on fake tensors, and followed by its runs."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .._core import Course, OpOverload, Run
from .commands import Log
from .errors import PlanError
from .runtime import opened
from .tracing import Call, Function, trace

__all__ = ["ExecutionPlan", "Operation", "plan"]

Shape = tuple[int, ...]
_FORMAT = 1  # of the JSON files


@dataclass(frozen=True)
class Operation:
    """One operation of a plan. Shapes are those of the tensors among its arguments, and of its results."""

    operator: str
    device: str
    is_delegate: bool
    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]


@dataclass(frozen=True)
class ExecutionPlan:
    """Operations in the order in which a module runs them. ``print(plan)`` shows a table."""

    operations: tuple[Operation, ...]

    def follow(self, log: Log | None = None) -> Run:
        """``with plan.follow():`` the block runs what is planned, and its operations know what comes next.

        An operation that is not the planned one raises ``PlanError`` before it runs, and so does the end of a block
        that has left some out. ``log`` gets ``("encode" | "commit" | "wait", device, operation)`` as they happen.
        """
        opened()
        return Run(self._course, self, log)

    @functools.cached_property
    def _course(self) -> Course:
        return Course([(o.operator, o.is_delegate, o.device, o.inputs) for o in self.operations])

    def departure(self, position: int, op: OpOverload, device: Any, shapes: Sequence[Shape]) -> PlanError:
        """The error for an operation that is not the planned one, which names the first difference."""
        got = f"{op.name()} on {device} with shapes {_listed(shapes)}"
        if position >= len(self.operations):
            problem = f"the plan has {len(self.operations)} operations, and {got} comes after them"
        else:
            planned = self.operations[position]
            differs = next(
                (
                    what
                    for what, one, other in (
                        ("another operator", planned.operator, op.name()),
                        ("another device", planned.device, str(device)),
                        ("other shapes", list(planned.inputs), [tuple(shape) for shape in shapes]),
                    )
                    if one != other
                ),
                "an operator that was defined anew",
            )
            problem = (
                f"{differs} at operation {position}: planned was {planned.operator} on {planned.device} with "
                f"shapes {_listed(planned.inputs)}, got {got}"
            )
        return PlanError(
            f"the run departs from its plan: {problem}. Make a plan of what runs: torch.npu.plan(module, *inputs)",
            position,
        )

    def unfinished(self, position: int) -> PlanError:
        """The error for a run that ended before an operation of the plan."""
        left = self.operations[position]
        return PlanError(
            f"the run departs from its plan: it ended before operation {position} of {len(self.operations)}, "
            f"{left.operator} on {left.device}",
            position,
        )

    # ---- as text and as a file
    def __str__(self) -> str:
        head = ("", "operator", "device", "kind", "inputs", "outputs")
        rows = [head]
        for number, o in enumerate(self.operations):
            kind = "delegate" if o.is_delegate else "kernel"
            rows.append((str(number), o.operator, o.device, kind, _listed(o.inputs), _listed(o.outputs)))
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows)

    def to_json(self) -> str:
        """The plan as a JSON text."""
        return json.dumps({"format": _FORMAT, "operations": [asdict(each) for each in self.operations]}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> ExecutionPlan:
        """The plan in a JSON text. Raises ValueError, which says where, for what is not one."""
        try:
            read = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"an execution plan is a JSON text: {error}") from None
        if not isinstance(read, dict) or read.get("format") != _FORMAT or not isinstance(read.get("operations"), list):
            raise ValueError(f'an execution plan is a JSON object of "format": {_FORMAT} and "operations": [...]')
        return cls(tuple(_operation(number, entry) for number, entry in enumerate(read["operations"])))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan to a JSON file."""
        Path(path).write_text(self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ExecutionPlan:
        """Reads a plan that `save` wrote. Raises ValueError for what is not one."""
        try:
            return cls.from_json(Path(path).read_text())
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None


def plan(module: Function, *example_inputs: Any) -> ExecutionPlan:
    """The operations that ``module(*example_inputs)`` runs, found on fake tensors: nothing is computed.

    An operation is an operator's call on a device, outside of any other; what only looks at memory in another way, a
    view, is none. Raises ``PlanError`` where what runs depends on the values of tensors.
    """
    return ExecutionPlan(tuple(map(_planned, trace(module, example_inputs).calls)))


def _planned(call: Call) -> Operation:
    inputs = tuple(tuple(value.shape) for value in call.inputs)
    outputs = tuple(tuple(value.shape) for value in call.outputs)
    return Operation(call.op.name(), call.device, call.op.is_delegate, inputs, outputs)


def _listed(shapes: Sequence[Shape]) -> str:
    return " ".join(f"[{', '.join(map(str, shape))}]" for shape in shapes)


def _operation(number: int, entry: Any) -> Operation:
    """An operation of a file. Raises ValueError for what is none."""
    kinds = {"operator": str, "device": str, "is_delegate": bool, "inputs": list, "outputs": list}
    if not isinstance(entry, dict) or set(entry) != set(kinds):
        raise ValueError(f"operation {number}: expected an object of {', '.join(kinds)}")
    for name, kind in kinds.items():
        if not isinstance(entry[name], kind):
            raise ValueError(f"operation {number}: {name!r} must be of type {kind.__name__}, got {entry[name]!r}")
    shapes = [_shapes(number, name, entry[name]) for name in ("inputs", "outputs")]
    return Operation(entry["operator"], entry["device"], entry["is_delegate"], *shapes)


def _shapes(number: int, name: str, listed: list[Any]) -> tuple[Shape, ...]:
    for shape in listed:
        if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError(f"operation {number}: {name!r} must be a list of shapes, got {shape!r} among them")
    return tuple(tuple(shape) for shape in listed)
