"""Whether what came of a call is a finding: beside what came of it under PyTorch, and by itself."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchmarks.fuzz.outcome import Died, Outcome, Raised, Returned
from benchmarks.fuzz.program import Call
from benchmarks.fuzz.reasons import reason
from benchmarks.fuzz.sameness import difference

__all__ = ["Finding", "judge", "judge_alone", "normal"]

# Texts of the interpreter's, of NumPy's or of ours that say how something is made, not what is wrong with an argument.
INTERNAL = re.compile(
    r"has no attribute|object is not (?:callable|iterable|subscriptable)|is not subscriptable|unsupported operand|"
    r"local variable|referenced before assignment|cannot unpack|not enough values to unpack|too many values to unpack|"
    r"(?:list|tuple|string) index out of range|\.pxi|Cannot cast|"
    r"(?<!tensor to )(?<!got )(?<!not )(?<!<class ')numpy|.NoneType. object|"
    r"must be real number|"
    r"storage was freed|status \d|returned -?\d+$|object has no len|bad operand type|"
    r"assignment index|^$|^-?\d+$|<no message|maximum recursion|dictionary changed|deque|\bmath domain|ufunc|"
    r"could not broadcast|unhashable"
)
NEVER = frozenset(("AssertionError", "SystemError", "UnboundLocalError", "RecursionError", "NameError", "UnicodeError"))
_SANITIZER = re.compile(r"(?:ERROR: AddressSanitizer: ([\w-]+))|(runtime error: [^\n]+)")
_FRAME = re.compile(r"#\d+ \S+ in (\S+) (?!/usr|\.\./)(\S*/)?([\w.]+\.(?:pxi|pyx|cpp|h|c)\b)?")
_BIG = re.compile(r"2\*\*\d\d|\d{6}|e\d\d|HugeIndex|LongLen")


@dataclass(frozen=True)
class Finding:
    """What is wrong with a call; findings of one cause have one ``group``."""

    kind: str  # crash, hang, refused, accepted, error, text, value
    group: str
    what: str


def judge(call: Call, ours: Outcome, theirs: Outcome | None) -> Finding | None:
    """Compare; ``theirs`` is None where PyTorch does not have it."""
    if isinstance(ours, Died):
        return _death(call, ours, theirs)
    if isinstance(theirs, Died):  # PyTorch's own fault
        theirs = None
    found = _raised(call, ours, theirs) if isinstance(ours, Raised) else _returned(call, ours, theirs)
    if found is not None and reason(call, found.kind, ours, theirs) is not None:
        return None
    return found


def judge_alone(call: Call, ours: Outcome) -> Finding | None:
    """Whether it ended its process, or had to be stopped though nothing in it is big."""
    if isinstance(ours, Raised) and ours.bases[0] == "Stopped" and not _BIG.search(call.source()):
        return _finding(call, "hang", "until it was stopped", f"at {', '.join(ours.frames)}")
    return _death(call, ours, None) if isinstance(ours, Died) else None


def _finding(call: Call, kind: str, detail: str, what: str) -> Finding:
    return Finding(kind, f"{kind}: {call.target.name}: {detail}", what)


def _death(call: Call, ours: Died, theirs: Outcome | None) -> Finding | None:
    if ours.hung:
        if (isinstance(theirs, Died) and theirs.hung) or reason(call, "hang", ours, theirs) is not None:
            return None
        return _finding(call, "hang", "", f"no end: {ours.report[-500:]}")
    match = _SANITIZER.search(ours.report)
    if match:
        frame = _FRAME.search(ours.report[match.start() :])
        detail = f"{match[1] or match[2]} in {frame[1] if frame else '?'}"
        return _finding(call, "crash", detail, ours.report[match.start() : match.start() + 1500])
    return _finding(call, "crash", f"signal {ours.signal}, status {ours.status}", ours.report[-800:])


def _raised(call: Call, ours: Raised, theirs: Outcome | None) -> Finding | None:
    said = f"{ours.bases[0]}: {ours.message} ({', '.join(ours.frames)})"
    short = normal(ours.message)
    if isinstance(theirs, Returned):
        what = f"PyTorch gives {theirs.value!r:.300}\nours {said}"
        return _finding(call, "refused", f"{ours.bases[0]}: {short}", what)
    if isinstance(theirs, Raised):
        if ours.making and not theirs.making:
            return _finding(call, "refused", f"an argument: {short}", f"PyTorch makes the arguments; ours {said}")
        if not ours.is_of_class(theirs):
            what = f"PyTorch raises {theirs.bases[0]}: {theirs.message:.300}\nours {said}"
            return _finding(call, "error", f"{ours.bases[0]} for {theirs.bases[0]}: {short}", what)
    expected = theirs.bases[:1] if isinstance(theirs, Raised) else ()  # gradcheck's AssertionErrors are its interface
    internal = NEVER & set(ours.bases) - set(expected) or INTERNAL.search(ours.message)
    if internal and not ours.making:
        if isinstance(theirs, Raised):
            if INTERNAL.search(theirs.message):
                return None
            said += f"\nPyTorch: {theirs.message:.200}"
        return _finding(call, "text", f"{ours.bases[0]}: {short}", said)
    return None


def normal(message: str) -> str:
    """A message without what differs from call to call."""
    line = message.splitlines()[0] if message else ""
    return re.sub(r"0x[0-9a-f]+|-?\d[\d.e+]*|\[[^\]]*\]|\([^)]*\)|'[^']*'", "_", line)[:90]


def _returned(call: Call, ours: Returned, theirs: Outcome | None) -> Finding | None:
    if isinstance(theirs, Raised):
        what = f"PyTorch raises {theirs.bases[0]}: {theirs.message:.300}\nours gives {ours.value!r:.300}"
        return _finding(call, "accepted", f"{theirs.bases[0]}: {normal(theirs.message)}", what)
    if isinstance(theirs, Returned):
        differs = difference(ours.value, theirs.value)
        if differs:
            return _finding(call, "value", differs, f"PyTorch gives {theirs.value!r:.400}\nours {ours.value!r:.400}")
        for name, theirs_after in theirs.tensors.items():
            differs = difference(ours.tensors.get(name), theirs_after)
            if differs:
                what = f"afterwards {name} is, in PyTorch, {theirs_after!r:.400}\nours {ours.tensors.get(name)!r:.400}"
                return _finding(call, "value", f"an argument afterwards: {differs}", what)
    return None
