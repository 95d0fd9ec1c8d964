"""``torch.utils._pytree``: what nests, and what is a leaf, as in PyTorch."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest

pytest.importorskip("torch")

from mindtorch_v2.utils._pytree import tree_map
from tests.runtime.both import agree

Point = namedtuple("Point", "x y")


class Items(list[Any]):
    """A list of the user's own: a leaf."""


TREES = {
    "a leaf": 1,
    "a tuple": (1, [2, {"a": 3}]),
    "a named tuple": Point(1, (2,)),
    "an ordered dict": OrderedDict(b=1, a=[2]),
    "a default dict": defaultdict(list, {"a": 1}),
    "a deque": deque([1, (2,)], maxlen=3),
    "a list of the user's": (1, Items([2, 3])),
    "nothing": ((), [], {}, None),
}


@pytest.mark.parametrize("name", TREES)
def test_tree(name: str) -> None:
    def case(torch: Any) -> Any:
        pytree = torch.utils._pytree
        mapped = pytree.tree_map(lambda leaf: ("mapped", leaf), TREES[name])
        whole = pytree.tree_map(type, TREES[name], is_leaf=lambda node: isinstance(node, list))
        return str(mapped), str(whole), str(pytree.tree_leaves(TREES[name])), type(mapped).__name__

    agree(case)


def test_several_trees_and_predicates() -> None:
    def case(torch: Any) -> Any:
        pytree = torch.utils._pytree
        only = pytree.tree_map_only(lambda leaf: leaf == 1, lambda leaf: "one", [1, (2, 1)])
        sizes = pytree.tree_map(str, torch.Size([2, 3]))
        return only, sizes, pytree.tree_map(lambda *leaves: leaves, {"a": 1, "b": (2,)}, {"b": ([3],), "a": 4})

    agree(case)


@pytest.mark.parametrize("other", [[1, 2], (1,), 3, {"a": 1}], ids=str)
def test_trees_that_nest_differently(other: Any) -> None:
    agree(lambda torch: torch.utils._pytree.tree_map(print, (1, 2), other), "")


def test_what_says_what_a_leaf_is_can_be_called() -> None:
    with pytest.raises(TypeError, match="'is_leaf' must be callable, not bool"):
        tree_map(abs, [1], is_leaf=True)
