"""A lane: draws calls, has them made under both libraries, judges, and makes the findings small."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.fuzz.arguments import Pool, draw
from benchmarks.fuzz.faults import are_both_right, fits_the_kernel
from benchmarks.fuzz.judge import Finding, judge, judge_alone
from benchmarks.fuzz.minimise import minimise
from benchmarks.fuzz.outcome import Outcome
from benchmarks.fuzz.pair import Limits, Worker
from benchmarks.fuzz.program import Call
from benchmarks.fuzz.targets import Target

__all__ = ["BATCH", "Found", "Lane"]

OURS = "mindtorch_v2"
BATCH = 200
TOGETHER = 20  # calls that change the process made in one, where they are not compared: a fork costs what ten do
STOP = 0.5  # seconds of processor time, where calls are made alone
FRESH = 5_000  # calls after which a process is started again, so that memory that is kept does not add up


@dataclass(frozen=True)
class Found:
    """A finding, of the call of that number, made small where it is the first of its group."""

    number: int
    call: Call
    finding: Finding


class Lane:
    """Processes that make calls, in pairs: of those that stay, and of those that make each call in a child.

    ``before`` is Python that ours run when they start, and ``before_torch`` PyTorch's. ``alone`` leaves PyTorch out:
    what is looked for is what ends a process, or does not end.
    """

    def __init__(
        self,
        limits: Limits,
        stage: Path | None = None,
        tries: int = 80,
        before: str = "",
        before_torch: str = "",
        alone: bool = False,
    ) -> None:
        if alone:
            limits = replace(limits, stop=STOP)
        children = TOGETHER if alone else 1
        self.ours = {forks: Worker(OURS, limits, forks * children, stage, before) for forks in (False, True)}
        self.theirs = (
            {} if alone else {forks: Worker("torch", limits, forks, None, before_torch) for forks in (False, True)}
        )
        self.tries = tries
        self._has: dict[str, bool] = {}

    def find_targets(self) -> list[Target]:
        """What there is to be called."""
        worker = self.ours[False]  # what makes children may not have used the NPU
        found: list[Target] = worker.ask(f"benchmarks.fuzz.targets find_targets {OURS}")
        return found

    def has(self, target: Target) -> bool:
        """Whether PyTorch has it too, and is asked."""
        if not self.theirs:
            return False
        name = f"torch.Tensor.{target.path}" if target.form in ("method", "property", "setter") else target.path
        if name not in self._has:
            self._has[name] = self.theirs[True].ask(f"benchmarks.fuzz.search has_name {name}")
        return self._has[name]

    def run(self, pool: Pool, seed: int, numbers: Sequence[int], seen: set[str]) -> Iterator[Found]:
        """Make the calls of these numbers; findings of groups in ``seen``, which grows, are not made small."""
        for start in range(0, len(numbers), BATCH):
            batch = [(n, draw(pool, seed, n)) for n in numbers[start : start + BATCH]]
            for number, call, ours, theirs in self._made(batch):
                found = self.found(number, call, ours, theirs, seen)
                if found is not None:
                    yield found

    def found(self, number: int, call: Call, ours: Outcome, theirs: Outcome | None, seen: set[str]) -> Found | None:
        """The finding that came of a call, if any, made small unless its group is in ``seen``, where it is added.

        The small call has no faults but those that matter: whether both libraries are right is asked of it, too.
        """
        finding = self._judge(call, ours, theirs)
        if finding is None or self._both_right(call, finding, ours, theirs):
            return None
        if finding.group not in seen:
            call, finding = minimise(call, finding, self.check, self.tries)
            if self._both_right(call, finding, *self.outcomes(call)):
                return None
            seen.add(finding.group)
        return Found(number, call, finding)

    def check(self, call: Call) -> Finding | None:
        """Make one call, and judge it by itself."""
        return self._judge(call, *self.outcomes(call))

    def outcomes(self, call: Call) -> tuple[Outcome, Outcome | None]:
        """Make one call, and give what came of it under both libraries."""
        return self._outcomes([call])[0]

    def _outcomes(self, calls: Sequence[Call]) -> list[tuple[Outcome, Outcome | None]]:
        return [(ours, theirs) for _, _, ours, theirs in self._made(list(enumerate(calls)))]

    def _judge(self, call: Call, ours: Outcome, theirs: Outcome | None) -> Finding | None:
        return judge(call, ours, theirs) if self.theirs else judge_alone(call, ours)

    def _both_right(self, call: Call, finding: Finding, ours: Outcome, theirs: Outcome | None) -> bool:
        if finding.kind == "accepted":
            return fits_the_kernel(call, self._outcomes)
        return finding.kind == "error" and are_both_right(call, ours, theirs, self._outcomes)

    def _made(self, batch: Sequence[tuple[int, Call]]) -> Iterator[tuple[int, Call, Outcome, Outcome | None]]:
        """The libraries make the calls at the same time."""
        for forks in (False, True):
            calls = [(number, call) for number, call in batch if call.target.isolated == forks]
            if not calls:
                continue
            mine = [(number, call.source()) for number, call in calls]
            other = [(number, on_cpu(call.source())) for number, call in calls if self.has(call.target)]
            pairs = [(self.ours[forks], mine)]
            if self.theirs:
                pairs.append((self.theirs[forks], other))
            for worker, sources in pairs:
                worker.renew(FRESH)
                worker.send(sources)
            outcomes, *rest = [worker.receive(sources) for worker, sources in pairs]
            peers = dict(zip((number for number, _ in other), rest[0], strict=True)) if rest else {}
            for (number, call), outcome in zip(calls, outcomes, strict=True):
                yield number, call, outcome, peers.get(number)

    def close(self) -> None:
        """End the processes."""
        for worker in (*self.ours.values(), *self.theirs.values()):
            worker.close()


def on_cpu(source: str) -> str:
    """A call for PyTorch, which has no NPU: on the CPU."""
    return re.sub(r"npu(?=[:'\"])", "cpu", source)


def has_name(path: str) -> bool:
    """Whether PyTorch has something of that name; runs in its process."""
    import torch

    try:
        eval(path, {"torch": torch})  # an attribute, of a module or of an object that an expression makes
    except (AttributeError, RuntimeError, TypeError):
        return False
    return True
