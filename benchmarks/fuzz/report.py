"""Findings as lines that reproduce them, grouped; and the run as a section of ``docs/benchmarks.md``."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping

from benchmarks.fuzz.reasons import LEFT_OUT, REASONS
from benchmarks.fuzz.search import Found

__all__ = ["Totals", "section", "text_of"]

KINDS = {
    "crash": "ended its process, or a sanitizer's report",
    "hang": "did not end",
    "value": "another value, dtype, shape or device than PyTorch's",
    "accepted": "PyTorch raises",
    "refused": "PyTorch does not raise",
    "error": "another class of error",
    "text": "a message about how something is made",
}
ALONE = ("crash", "hang")  # what is found without PyTorch
LINES = 14  # of what is said of a finding


class Totals:
    """How many calls were made, and what was found."""

    def __init__(self) -> None:
        self.calls = 0
        self.groups: Counter[str] = Counter()

    def add(self, found: Found) -> bool:
        """Count a finding; says whether it is the first of its group."""
        group = found.finding.group
        self.groups[group] += 1
        return self.groups[group] == 1

    def lines(self) -> Iterator[str]:
        """The groups, those of most findings first."""
        for group, count in self.groups.most_common():
            yield f"{count:6} {group}"

    def summary(self, seconds: float) -> str:
        """One line."""
        return (
            f"{self.calls:,} calls in {seconds:.0f} s ({self.calls / max(seconds, 1e-9):.0f} a second), "
            f"{sum(self.groups.values()):,} findings in {len(self.groups):,} groups"
        )

    def by_kind(self) -> Mapping[str, tuple[int, int]]:
        """Findings and groups of each kind."""
        return {
            kind: (
                sum(count for group, count in self.groups.items() if group.startswith(f"{kind}:")),
                sum(group.startswith(f"{kind}:") for group in self.groups),
            )
            for kind in KINDS
        }


def text_of(found: Found) -> str:
    """A finding, as lines of Python that reproduce it."""
    said = "\n".join(f"# {line}" for line in found.finding.what.splitlines()[:LINES])
    source = re.sub(r"^result = ", "print(", found.call.source().rstrip(), flags=re.MULTILINE)
    source = f"{source})" if source != found.call.source().rstrip() else source
    return f"# {found.number}: {found.finding.group}\nimport mindtorch_v2 as torch\n\n{source}\n{said}"


def section(totals: Totals, seconds: float, command: str, sanitized: bool = False, alone: bool = False) -> str:
    """What docs/benchmarks.md says."""
    under = " under AddressSanitizer and UndefinedBehaviorSanitizer" if sanitized else ""
    against = (
        "looked at for what ends a process, does not end, or is reported by a sanitizer; a call whose operands say "
        "that they are huge may be long, and is stopped as by Ctrl-C. "
        if alone
        else "each beside the same call of PyTorch where that has the name: the value, or the class of the error. "
        f"Where a difference is meant, `benchmarks/fuzz/reasons.py` says why: {len(REASONS)} reasons. "
        "Two classes of errors may both be right: of two faults each library tells one first. That PyTorch raises ours "
        "for the other, once its own is mended, calls with arguments mended show; else it is a finding. "
    )
    text = (
        f"{totals.calls:,} calls of what is public in `mindtorch_v2`{under} in {seconds:.0f} s "
        f"({totals.calls / max(seconds, 1e-9):.0f} a second), with arguments of odd shapes, strides, dtypes, devices, "
        f"sizes and types, in processes with a limit of time and memory, {against}{len(LEFT_OUT)} names that take "
        f"addresses are not called. Run by `{command}`; `--only N` makes a call again."
    )
    kinds = ALONE if alone else KINDS
    rows = [("finding", "what it is", "calls", "groups"), ("---",) * 4]
    rows += [(kind, KINDS[kind], f"{n:,}", f"{g:,}") for kind, (n, g) in totals.by_kind().items() if kind in kinds]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{textwrap.fill(text, 120, break_on_hyphens=False, break_long_words=False)}\n\n{table}\n"
