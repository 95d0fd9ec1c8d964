"""What became of tests: which apply here, which pass, and why the others do not.

A test applies if PyTorch itself passes it on this machine and `exclusions.yaml` does not name it. That table says, by
name or pattern, which parts of PyTorch are none of this runtime's; a test is never in it because it fails.
"""

from __future__ import annotations

import collections
import fnmatch
import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

__all__ = ["Excluded", "Outcome", "Record", "exclusions", "outcome", "ranked", "read", "reason"]

TABLE = Path(__file__).with_name("exclusions.yaml")


@dataclass(frozen=True)
class Record:
    """What became of a test."""

    test: str
    status: str  # pass, fail, skip, crash or hang
    seconds: float = 0.0
    kind: str = ""
    message: str = ""
    at: str = ""
    inside: str = ""


NEVER = Record("", "never made")


@dataclass(frozen=True)
class Excluded:
    """A reason why tests do not apply, and the patterns of their names, by file."""

    reason: str
    tests: Mapping[str, tuple[str, ...]]

    def names(self, file: str, test: str) -> bool:
        """Whether the test is one of them."""
        return any(fnmatch.fnmatchcase(test, pattern) for pattern in self.tests.get(file, ()))


@dataclass(frozen=True)
class Outcome:
    """A file's tests by what became of them."""

    file: str
    passing: tuple[str, ...]
    failing: Mapping[str, Record]
    excluded: Mapping[str, str]  # with the reason
    peer_fails: int  # that PyTorch itself skips or fails here

    @property
    def applicable(self) -> int:
        """How many apply."""
        return len(self.passing) + len(self.failing)

    @property
    def share(self) -> float:
        """Those that pass of those that apply."""
        return len(self.passing) / self.applicable if self.applicable else 1.0


def read(path: Path) -> dict[str, Record]:
    """The records that a run of a file wrote."""
    lines = (json.loads(line) for line in path.read_text().splitlines())
    return {line["test"]: Record(**line) for line in lines if "test" in line}


@functools.cache
def exclusions(path: Path = TABLE) -> tuple[Excluded, ...]:
    """The table of tests that do not apply."""
    return tuple(
        Excluded(one["reason"], {file: tuple(names) for file, names in one["tests"].items()})
        for one in yaml.safe_load(path.read_text())
    )


def outcome(
    file: str, ours: Mapping[str, Record], peer: Mapping[str, Record], table: Iterable[Excluded] = ()
) -> Outcome:
    """What became of a file's tests here, beside what PyTorch makes of them."""
    table = tuple(table)
    good = [test for test, record in peer.items() if record.status == "pass"]
    excluded = {}
    for test in good:
        found = next((one.reason for one in table if one.names(file, test)), None)
        if found is not None:
            excluded[test] = found
    applies = {test: ours.get(test, NEVER) for test in good if test not in excluded}
    passing = tuple(test for test, record in applies.items() if record.status == "pass")
    failing = {test: record for test, record in applies.items() if record.status != "pass"}
    return Outcome(file, passing, failing, excluded, len(peer) - len(good))


# What an error is counted as, by its message; the first that fits.
FORMS = (
    (r"absent: ([\w.]+)", "missing {0}"),
    (r"module '([\w.]+)'.*? has no attribute '(\w+)'", "missing {0}.{1}"),
    (r"'(?:mindtorch_v2\.\S*?)?(\w+)' object has no attribute '(\w+)'", "missing {0}.{1}"),
    (r"type object '([\w.]+)' has no attribute '(\w+)'", "missing {0}.{1}"),
    (r"No module named '([\w.]+)'", "missing module {0}"),
    (r"cannot import name '(\w+)' from '([\w.]+)'", "missing {1}.{0}"),
    (r"unexpected keyword argument '(\w+)'", "unknown argument {0}"),
    (r"(aten::\w+)\(\) received an invalid combination", "arguments of {0}"),
    (r"(aten::\w+)\(\) takes \d+ positional", "arguments of {0}"),
    (r"(aten::\w+)\(\): argument '(\w+)'.* must be", "type of {1} of {0}"),
    (r"(\w+ not raised)", "{0}"),
    (r'(".*" does not match)', "another message"),
    (r"(not close|not equal|mismatch|do not match|differ)", "another value"),
)


def reason(record: Record) -> str:
    """In short, why a test does not pass."""
    if record.status in ("crash", "hang"):
        return f"{record.status}: {record.kind}" if record.status == "crash" else "hang"
    if record.status == "skip":
        return f"skipped: {record.message[:80]}"
    if record.status == NEVER.status:
        return "the test is not made"
    for pattern, form in FORMS:
        if found := re.search(pattern, record.message):
            return form.format(*found.groups()).replace("mindtorch_v2", "torch")
    first = record.message.strip().splitlines()[:1]
    return re.sub(r"0x\w+|\d+", "#", f"{record.kind}: {''.join(first)[:80]}")


def ranked(found: Iterable[Outcome]) -> list[tuple[str, int, str]]:
    """Why tests fail: the reason, how many tests it is, and one of them; most first."""
    counts: collections.Counter[str] = collections.Counter()
    examples: dict[str, str] = {}
    for one in found:
        for test, record in one.failing.items():
            why = reason(record)
            counts[why] += 1
            examples.setdefault(why, f"{one.file}: {test}")
    return [(why, count, examples[why]) for why, count in counts.most_common()]
