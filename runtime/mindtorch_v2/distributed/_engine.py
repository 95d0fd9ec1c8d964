"""What carries tensors from process to process: an existing library, behind one interface.

An engine counts processes by their place in a group. Its calls begin something and return a request; whoever waits asks
the request. Tensors that a library cannot take as they are (on another device, of a dtype it does not know) travel as
copies, which `Engine.stage` makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .._core import Tensor
from ._reduce_op import RedOpType

__all__ = ["Engine", "Request", "Staged"]


@dataclass(frozen=True)
class Staged:
    """A tensor as a library takes it: what of ours shows the same memory, and what the library is given."""

    shown: Tensor
    native: Any


class Request(Protocol):
    """Something begun."""

    def done(self) -> bool:
        """Whether it has ended; never waits."""

    def source(self) -> int:
        """Who sent what was received, by its place in the group."""


class Engine(Protocol):
    """A library that is in use; groups are its own objects."""

    name: str

    def world(self) -> Any:
        """The group of all processes."""

    def place(self, group: Any) -> tuple[int, int]:
        """This process's number in a group, and how many there are."""

    def part(self, ranks: Sequence[int], together: bool) -> Any:
        """A group of some processes, None in others; with ``together`` all processes call it, else only these."""

    def free(self, group: Any) -> None:
        """Ends a group."""

    def abort(self) -> None:
        """Ends all processes, as this one failed."""

    def stage(self, tensor: Tensor, reduces: bool) -> Staged:
        """A tensor for a call, which combines elements where it ``reduces``: its own memory, or a copy."""

    def all_reduce(self, group: Any, data: Staged, op: RedOpType) -> Request:
        """Every process's ``data`` becomes what all of them combine to; RedOpType.AVG is never asked for."""

    def reduce(self, group: Any, data: Staged, op: RedOpType, root: int) -> Request:
        """The same in process ``root`` alone."""

    def broadcast(self, group: Any, data: Staged, root: int) -> Request:
        """``data`` of ``root`` in every process."""

    def all_gather(self, group: Any, output: Staged, input: Staged) -> Request:
        """Everyone's ``input`` behind one another, in every process."""

    def gather(self, group: Any, output: Staged | None, input: Staged, root: int) -> Request:
        """The same in process ``root`` alone."""

    def scatter(self, group: Any, output: Staged, input: Staged | None, root: int) -> Request:
        """A part of ``root``'s ``input`` in each process."""

    def reduce_scatter(self, group: Any, output: Staged, input: Staged, op: RedOpType) -> Request:
        """In each process its part of what all ``input`` combine to."""

    def all_to_all(
        self, group: Any, output: Staged, output_counts: Sequence[int], input: Staged, input_counts: Sequence[int]
    ) -> Request:
        """A part of each process's ``input`` in each, by numbers of elements."""

    def send(self, group: Any, data: Staged, to: int, tag: int) -> Request:
        """A message to one process."""

    def receive(self, group: Any, data: Staged, source: int | None, tag: int) -> Request:
        """A message from one process, or from whoever sends one."""

    def barrier(self, group: Any) -> Request:
        """Done when every process has come to it."""
