"""The codes of commands other than generation. Stable: a meaning never changes, and a code is never used again."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

__all__ = ["COMMAND_CODES", "CommandCode", "all_command_codes", "command_explanation"]


@dataclass(frozen=True)
class CommandCode:
    """What a code means; ``fix`` says what ``lint --fix`` does about it, "" where nothing."""

    title: str
    text: str
    fix: str = ""


_SAVED = "Programs that were saved with the old schema, and callers written for it,"

COMMAND_CODES = {
    "MT701": CommandCode("an operator that is gone", f"{_SAVED} find no operator of this name and overload."),
    "MT702": CommandCode(
        "an argument that is gone", f"{_SAVED} still pass it. A renamed argument is one gone and one new."
    ),
    "MT703": CommandCode(
        "a new argument that must be given",
        f"{_SAVED} do not pass it. An argument added at the end with a default breaks nothing.",
    ),
    "MT704": CommandCode(
        "a default that has changed",
        f"{_SAVED} leave it out and get another result without an error; without a default any more, they fail.",
    ),
    "MT705": CommandCode(
        "an argument's type that has changed",
        f"{_SAVED} pass values that the new type does not take. A type that takes more (`int` to `int?`) is fine.",
    ),
    "MT706": CommandCode(
        "an argument that has moved",
        f"{_SAVED} pass arguments by position. Saved programs do so for keyword-only ones too, so that their order "
        "matters, and a new argument goes behind the old ones.",
    ),
    "MT707": CommandCode("an argument that has another name", f"{_SAVED} may pass it by its old name."),
    "MT708": CommandCode(
        "an argument that is keyword-only now", f"{_SAVED} pass it by position. The other way round breaks nothing."
    ),
    "MT709": CommandCode(
        "returns that have changed",
        f"{_SAVED} unpack the old number of values, of the old types, by the old names.",
    ),
    "MT710": CommandCode(
        "aliasing that has changed",
        "Compilers and autograd rely on which arguments are written to and which outputs are views: what was right "
        "with the old annotations is silently wrong with the new ones.",
    ),
    "MT711": CommandCode(
        "the old files cannot be read",
        "The revision, or the file at it, cannot be read, so that nothing can be said about what broke.",
    ),
    "MT801": CommandCode("an operator without `doc`", "`help()`, editors and the documentation show `doc`."),
    "MT802": CommandCode(
        "a key that gives the default",
        "The entry means the same without it, and what stands there should matter.",
        "removes the key",
    ),
    "MT803": CommandCode(
        "a condition that always holds",
        "`x.shape == x.shape`, `x.numel() >= 0`: it checks nothing, and was probably meant to compare something else.",
        "removes it",
    ),
    "MT804": CommandCode(
        "a condition that never holds",
        "Every call fails, or the kernel is never chosen: one side is probably misspelt.",
    ),
    "MT805": CommandCode(
        "a kernel that is never run",
        "The first kernel that fits the device, `dtypes` and `when` wins, and an earlier one takes all that this one "
        "would.",
        "removes the kernel",
    ),
    "MT806": CommandCode(
        "an argument that nothing reads",
        "No kernel, shape rule, check or gradient reads it: callers set it to no effect, and a kernel may lack it.",
    ),
    "MT807": CommandCode(
        "a formula that saves more than it needs",
        "A tensor is read only for its shape or dtype, through an operator such as `view_as` or `zeros_like`; given "
        "the shape itself, only that is saved, and the tensor's memory is free until the gradient runs.",
        "reads the shape instead, where there is an operator that takes one",
    ),
    "MT808": CommandCode("a check that is made twice", "The second one can never fail.", "removes the second"),
    "MT809": CommandCode(
        "an item that is given twice",
        "A device, dtype, tag or variant is in a list twice, which means the same as once.",
        "removes the second",
    ),
    "MT901": CommandCode("a file that is not formatted", "`mtcodegen fmt` writes it as it should be."),
    "MT902": CommandCode(
        "a file that cannot be formatted",
        "The file is unusual enough YAML that formatting it would change what it says; it is left as it is.",
    ),
}


def all_command_codes() -> dict[str, CommandCode]:
    """With those of `mtcodegen import`, by code."""
    from mtcodegen.importer.pytorch.codes import CODES as IMPORT_CODES

    return {code: CommandCode(title, text) for code, (title, text) in IMPORT_CODES.items()} | COMMAND_CODES


def command_explanation(code: str) -> str | None:
    """What ``mtcodegen explain`` prints; None for a code that is none of these."""
    found = all_command_codes().get(code)
    if found is None:
        return None
    fix = f"\n`mtcodegen lint --fix` {found.fix}.\n" if found.fix else ""
    return f"{code}: {found.title}\n\n{textwrap.fill(found.text, 100, break_on_hyphens=False)}\n{fix}"
