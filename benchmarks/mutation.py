"""Mutants of YAML files: bytes, characters, lines, words and trees changed at random, the same for the same seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import yaml

__all__ = ["mutant"]

_MARKS = [
    *"-:{}[]'\"|>#&*!,%\\?@`=()",
    "- ",
    ": ",
    "&a ",
    "*a",
    "!!x ",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "  ",
    "\n  ",
    "\0",
    "é",
]
_MARKS += [
    "!!python/object/apply:os.system ",
    "<<: *a",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "\ufeff",
    "\x07",
    "\U0001f600",
]
_WORDS = (
    "Tensor Tensor? Tensor[] Tensor(a!) Tensor(a) int int[2] SymInt[] Scalar float= str= -> () None null true 0 -1 1.5"
)
_WORDS += " lambda import __ class async x self out grad grads[0] result result1 f32( desc( ns:: aten.add ** @ if else"
_WORDS += (
    " 99999999999999999999 1e400 0x1F .inf like shape dtype device default python symbol compute not_differentiable"
)
_NASTY = [
    '"""',
    "'''",
    "\\N{DASH}",
    "{{ 7 }}",
    "{% if %}",
    "{# #}",
    "${HOME}",
    "../",
    "/etc/x",
    "../../../tmp/out",
    "\\u0000",
]
_NASTY += [
    "exec('1')",
    "__import__('os').system('true')",
    "eval(open('/etc/passwd').read())",
    ";import os",
    "x\n    import os",
]
SPICE: list[str] = [*_MARKS, *_WORDS.split(), *_NASTY]
_WORD: re.Pattern[str] = re.compile(r"[A-Za-z_]\w*|\d+", re.ASCII)
_RAW = [
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\x00",
    b"\r",
    b"\x85",
    b"\xe2\x80\xa8",
    b"\x1b",
    b"\xf0\x9f",
]


def mutant(texts: Sequence[str], rng: random.Random) -> bytes:
    """A file that is one of ``texts``, or near it: a few changes of one kind or of several.

    Half of them are of the tree alone: what comes out is YAML, and comes further than the reader.
    """
    text = rng.choice(texts)
    if rng.random() < 0.5:
        return _changed_tree(text, rng.choice(texts), rng).encode("utf-8", "surrogatepass")
    for _ in range(rng.choice([1, 1, 1, 2, 3, 4])):
        text = rng.choice(_CHANGES)(text, rng)
    if rng.random() < 0.1:
        text = _shared(text, rng.choice(texts), rng)
    data = text.encode("utf-8", "surrogatepass")
    return _changed_bytes(data, rng) if rng.random() < 0.1 else data


# ---------------------------------------------------------------- characters, lines and words


def _changed_characters(text: str, rng: random.Random) -> str:
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.randint(0, 12))
    other = rng.randrange(len(text) + 1)
    new = rng.choice(["", text[start:end] * 2, text[other : other + rng.randint(1, 20)], rng.choice(SPICE)])
    return text[:start] + new + text[end:]


def _changed_lines(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines[at] = " " * rng.randint(1, 3) + lines[at]
        case _:
            lines[at] = lines[at][rng.randint(1, 3) :]
    return "\n".join(lines)


def _changed_word(text: str, rng: random.Random) -> str:
    """A word exchanged for another one of the file, or for one that means something."""
    words = list(_WORD.finditer(text))
    if not words:
        return text
    found = rng.choice(words)
    return text[: found.start()] + rng.choice([str(rng.choice(words)[0]), rng.choice(SPICE)]) + text[found.end() :]


def _shared(text: str, other: str, rng: random.Random) -> str:
    """The start of one file and the end of another."""
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other) + 1) :]


def _changed_bytes(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice([*_RAW, bytes([rng.randrange(256)])]) + data[at + rng.randint(0, 2) :]


_CHANGES: list[Callable[[str, random.Random], str]] = [
    _changed_characters,
    _changed_lines,
    _changed_word,
    _changed_word,
]


# ---------------------------------------------------------------- trees


def _changed_tree(text: str, other: str, rng: random.Random) -> str:
    """Values moved, exchanged with those of another file, nested, doubled or of another type, in what stays YAML."""
    document, donors = _read(text), _places(_read(other))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        places = _places(document)
        if not places:
            break
        node, key = rng.choice(places)
        same = [(donor, name) for donor, name in donors if name == key]
        if same and rng.random() < 0.6:
            node[key] = _copy(*rng.choice(same))
        elif isinstance(node[key], str) and rng.random() < 0.6:
            node[key] = _changed_word(node[key], rng)
        else:
            _change_at(node, key, places, rng)
    flow = rng.choice([None, False, True])
    return str(yaml.dump(document, Dumper=_DUMPER, sort_keys=False, default_flow_style=flow, width=200))


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def _read(text: str) -> Any:
    return yaml.load(text, Loader=_LOADER)


def _copy(node: Any, key: Any) -> Any:
    """A value of its own: YAML would write an alias for one that is there twice, and aliases are refused at once."""
    return _read(yaml.dump(node[key], Dumper=_DUMPER))


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every mapping or list of a document, with each of its keys."""
    found: list[tuple[Any, Any]] = []
    stack = [document]
    while stack:
        node = stack.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            found.append((node, key))
            stack.append(node[key])
    return found


def _change_at(node: Any, key: Any, places: list[tuple[Any, Any]], rng: random.Random) -> None:
    other, name = rng.choice(places)
    copied = _copy(other, name)
    match rng.randrange(5):
        case 0:
            node[key] = copied
        case 1:
            del node[key]
        case 2:
            node[key] = rng.choice([None, True, -1, 10**30, 1e400, "", [], {}, rng.choice(SPICE)])
        case 3:
            node[key] = rng.choice([[copied], {"a": copied}, [node[key], copied], {str(name): node[key]}])
        case _ if isinstance(node, dict):
            node[str(name) if rng.random() < 0.5 else rng.choice(SPICE)] = copied
        case _:
            node.append(copied)
