"""What to suggest for a word that is nearly right. Used only once something is wrong."""

from __future__ import annotations

from collections.abc import Iterable

# Spellings of other languages and libraries, and what this grammar calls them.
_FOREIGN = {
    "int64_t": "Use `SymInt` or `int`",
    "int32_t": "Use `SymInt` or `int`",
    "int64": "Use `SymInt` or `int`",
    "int32": "Use `SymInt` or `int`",
    "long": "Use `SymInt` or `int`",
    "size_t": "Use `SymInt` or `int`",
    "double": "Use `float`",
    "float32": "Use `float`",
    "float64": "Use `float`",
    "string": "Use `str`",
    "Number": "Use `Scalar`",
    "number": "Use `Scalar`",
    "dtype": "Use `ScalarType`",
    "TensorList": "Use `Tensor[]`",
    "IntArrayRef": "Use `int[]`",
    "SymIntArrayRef": "Use `SymInt[]`",
    "List": "Write a list as its element's type and `[]`, for instance `int[]`",
    "Optional": "Write an optional as its type and `?`, for instance `Tensor?`",
}


def near(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate nearest to ``word``, or None where none is near."""
    from difflib import get_close_matches  # late: start-up does not pay for it

    names = list(candidates)
    for name in names:
        if name.lower() == word.lower():
            return name
    matches = get_close_matches(word[:80], names, n=1, cutoff=0.6)
    return matches[0] if matches else None


def type_hint(word: str, candidates: Iterable[str]) -> str | None:
    """A hint for an unknown type."""
    if word in _FOREIGN:
        return _FOREIGN[word]
    name = near(word, candidates)
    return f"did you mean `{name}`?" if name else None
