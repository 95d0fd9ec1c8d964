"""Values are as the standard library would have made them."""

from __future__ import annotations

import dataclasses
import pickle
from functools import cached_property
from types import ModuleType

import pytest

from mtcodegen import values

SOURCE = '''
@{0}.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where."""
    offset: int = {0}.field(default=0, compare=False)
    length: int = {0}.field(default=0, compare=False)

@{0}.dataclass(frozen=True, slots=True)
class Name(Place):
    """What."""
    id: str
    parts: tuple = ()

@{0}.dataclass(frozen=True)
class Plan:
    """How."""
    name: str
    options: dict = {0}.field(default_factory=dict)
    title: str = {0}.field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "title", self.name.title())

@{0}.dataclass(frozen=True, eq=False)
class Tree:
    """Compared by identity."""
    items: list

@{0}.dataclass
class Open:
    """Changes."""
    names: list = {0}.field(default_factory=list)
    done: bool = False

@{0}.dataclass(frozen=True)
class Nothing:
    """Has no fields."""
'''


def _made_by(module: ModuleType) -> dict:
    found: dict = {"__name__": __name__}
    exec(SOURCE.format(module.__name__), found | {"dataclasses": dataclasses, "mtcodegen": _package()}, found)
    return found


def _package() -> ModuleType:
    package = ModuleType("mtcodegen")
    package.values = values  # type: ignore[attr-defined]
    return package


OURS, THEIRS = _made_by(values), _made_by(dataclasses)
CALLS = [
    "Place()",
    "Place(length=3)",
    "Name('a')",
    "Name('a', offset=1)",
    "Name('b', (1, 2), length=5)",
    "Name(id='a', parts=())",
    "Plan('one')",
    "Plan('one', {'a': 1})",
    "Plan('one', options={})",
    "Open()",
    "Open(['x'], True)",
    "Nothing()",
]


@pytest.mark.parametrize("first", CALLS)
def test_as_the_standard_librarys(first: str) -> None:
    ours, theirs = eval(first, OURS), eval(first, THEIRS)
    assert repr(ours) == repr(theirs)
    assert ours.__match_args__ == theirs.__match_args__
    assert hasattr(ours, "__dict__") is hasattr(theirs, "__dict__")
    for second in CALLS:
        assert (ours == eval(second, OURS)) is (theirs == eval(second, THEIRS))
    try:
        hash(theirs)
    except TypeError:
        with pytest.raises(TypeError):
            hash(ours)
    else:
        assert hash(ours) == hash(eval(first, OURS))


@pytest.mark.parametrize("call", ["Place(1)", "Name()", "Name('a', (), 3)", "Plan('a', title='A')", "Nothing(1)"])
def test_wrong_calls_are_refused(call: str) -> None:
    with pytest.raises(TypeError):
        eval(call, THEIRS)
    with pytest.raises(TypeError):
        eval(call, OURS)


def test_replace_makes_another() -> None:
    first = OURS["Name"]("a", (1,), offset=2)
    assert repr(values.replace(first, id="b")) == "Name(offset=2, length=0, id='b', parts=(1,))"
    assert first.id == "a"
    plan = OURS["Plan"]("one", {"a": 1})
    assert repr(values.replace(plan, name="two")) == "Plan(name='two', options={'a': 1}, title='Two')"
    with pytest.raises(TypeError):
        values.replace(first, nothing=1)


def test_replace_takes_the_standard_librarys_too() -> None:
    assert values.replace(THEIRS["Name"]("a"), id="b") == THEIRS["Name"]("b")


def test_factories_are_called_for_each() -> None:
    assert OURS["Open"]().names is not OURS["Open"]().names


def test_identity_where_values_are_not_compared() -> None:
    tree = OURS["Tree"]([])
    assert tree == tree
    assert tree != OURS["Tree"]([])
    assert len({tree, OURS["Tree"]([])}) == 2


@values.dataclass(frozen=True)
class Kept:
    """Has room for what is computed once."""

    text: str

    @cached_property
    def upper(self) -> str:
        """Computed once."""
        return self.text.upper()


@values.dataclass(frozen=True, slots=True)
class Slim:
    """Has no room."""

    text: str


def test_pickled() -> None:
    kept = Kept("a")
    assert kept.upper == "A"
    assert pickle.loads(pickle.dumps(kept)) == kept
    assert pickle.loads(pickle.dumps(Slim("a"))) == Slim("a")
