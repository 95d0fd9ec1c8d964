"""What to suggest for a word that is nearly right. Used only once something is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

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
    """The candidate that ``word`` was meant to be: the one with the fewest mistakes, where there are few; or None.

    A letter in three may be wrong, missing or too many, or have changed places with the next, and one in a shorter name
    of the same letters: ``xx`` for ``x``. Case is no mistake, and a namespace that both begin with makes two names no
    nearer. Else it may be one of the words of a name, or such a name for one of its words: ``lens`` for ``seq_lens``.
    """
    if len(word) > _LONGEST:
        return None
    candidates = list(candidates)
    best: tuple[int, str] | None = None
    lower, letters = word.lower(), _letters(word.lower())
    for name in candidates:
        other = name.lower()
        others = _letters(other)
        length = max(len(lower.rpartition("::")[2]), len(other.rpartition("::")[2]))
        most = max(length // 3, letters == others)
        # Counting letters that only one of the two has is quick, and all that most names take.
        least = max(abs(len(lower) - len(other)), (letters & ~others).bit_count(), (others & ~letters).bit_count())
        if least <= most and (mistakes := _mistakes(lower, other)) <= most:
            best = min(best or (mistakes, name), (mistakes, name))
    if best is None:
        return min((name for name in candidates if _is_word_of(word, name) or _is_word_of(name, word)), default=None)
    return best[1]


def _is_word_of(word: str, name: str) -> bool:
    """Whether a name has ``word`` among its words, and little else."""
    return 2 * len(word) >= len(name) and word in name.split("_")


_LONGEST = 200  # letters: comparing takes their square, and nobody misspells a name that long


@lru_cache(maxsize=16384)
def _letters(name: str) -> int:
    """The set of a name's characters as bits; different characters may share one."""
    bits = 0
    for char in set(name):
        bits |= 1 << ord(char) % 128
    return bits


def _mistakes(word: str, meant: str) -> int:
    """How many letters have to be changed, added, removed or exchanged with the next to make one of the other."""
    before: list[int] = []
    row = list(range(len(meant) + 1))
    for i, char in enumerate(word):
        two_before, before, row = before, row, [i + 1]
        for j, other in enumerate(meant):
            mistakes = min(before[j] + (char != other), before[j + 1] + 1, row[j] + 1)
            if i and j and char == meant[j - 1] and word[i - 1] == other:
                mistakes = min(mistakes, two_before[j - 1] + 1)
            row.append(mistakes)
    return row[-1]


def type_hint(word: str, candidates: Iterable[str]) -> str | None:
    """A hint for an unknown type."""
    if word in _FOREIGN:
        return _FOREIGN[word]
    name = near(word, candidates)
    return f"did you mean `{name}`?" if name else None
