"""Makes a call that is a finding smaller, for as long as it stays the same finding."""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmarks.fuzz.judge import Finding
from benchmarks.fuzz.program import Call

__all__ = ["minimise"]

_DTYPE = re.compile(r"torch\.(?:float|bfloat|int|uint|complex|bool)\d*")


def minimise(
    call: Call, finding: Finding, run: Callable[[Call], Finding | None], tries: int = 80
) -> tuple[Call, Finding]:
    """The smallest call found within so many tries, with its finding. ``run`` makes a call and judges it."""
    tried = {call.source()}
    while True:
        for other in call.simpler():
            source = other.source()
            if source in tried or _cost(source) >= _cost(call.source()):
                continue
            if tries <= 0:
                return call, finding
            tried.add(source)
            tries -= 1
            found = run(other)
            if found is not None and found.group == finding.group:
                call, finding = other, found
                break
        else:
            return call, finding


def _cost(source: str) -> int:
    """What there is to read; of dtypes float32 is the plainest."""
    odd = sum(match[0] != "torch.float32" for match in _DTYPE.finditer(source))
    return len(_DTYPE.sub("", source)) + 20 * odd
