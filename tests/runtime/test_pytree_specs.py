"""Trees of containers: taken apart, put together, registered; beside PyTorch."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindtorch_v2.utils import _pytree as ours
from tests.needs import needed

Named = namedtuple("Named", "x y")
BRANCHES: tuple[Callable[[list[Any]], Any], ...] = (
    list,
    tuple,
    lambda items: {f"k{i}": item for i, item in enumerate(items)},
    lambda items: OrderedDict((i, item) for i, item in enumerate(items)),
    lambda items: defaultdict(list, dict(enumerate(items))),
    lambda items: deque(items, 7),
    lambda items: Named(items, None),
)
leaves = st.one_of(st.integers(), st.none(), st.text(max_size=2))
trees = st.recursive(
    leaves,
    lambda inner: st.builds(lambda make, items: make(items), st.sampled_from(BRANCHES), st.lists(inner, max_size=3)),
)


def pytrees() -> tuple[ModuleType, ModuleType]:
    return ours, needed("torch.utils._pytree")


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (ValueError, TypeError) as error:
        return type(error)


@given(trees, trees)
def test_trees_as_pytorch(tree: Any, other: Any) -> None:
    def looked_into(module: Any) -> list[Any]:
        found, spec = module.tree_flatten(tree)
        paths = [(module.keystr(path), leaf) for path, leaf in module.tree_leaves_with_path(tree)]
        counts = spec.num_leaves, spec.num_nodes, spec.num_children, spec.is_leaf()
        together = outcome(lambda: module.tree_map(lambda a, b: (a, b), tree, other))
        spread = module._broadcast_to_and_flatten(other, spec)
        strings = module.tree_map_only(str, len, tree)
        return [found, repr(spec), module.tree_unflatten(found, spec), paths, counts, together, spread, strings]

    own, theirs = map(looked_into, pytrees())
    assert own == theirs


@pytest.mark.parametrize("module", ["ours", "PyTorch's"])
def test_what_programs_register(module: str) -> None:
    pytree: Any = pytrees()[module != "ours"]

    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    @dataclasses.dataclass
    class Point:
        x: int
        y: Any = 3
        z: Any = None

    @dataclasses.dataclass(frozen=True)
    class Constant:
        value: int

    class NoConstant:
        pass

    pytree.register_pytree_node(Pair, lambda pair: ([pair.a, pair.b], "note"), lambda children, _: Pair(*children))
    pytree.register_dataclass(Point)
    pytree.register_constant(Constant)
    assert pytree.tree_leaves([Pair(1, [2]), Point(4), Constant(5)]) == [1, 2, 4, 3]
    assert repr(pytree.tree_structure(Pair(1, 2))) == "TreeSpec(Pair, note, [*,\n  *])"
    assert pytree.tree_map(lambda x: x + 1, Point(1, 2)) == Point(2, 3)
    assert pytree.tree_structure(Constant(1)) != pytree.tree_structure(Constant(2))
    assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path({"a": Point(1)})] == ["['a'].x", "['a'].y"]
    with pytest.raises(ValueError, match="already registered as pytree node"):
        pytree.register_pytree_node(Pair, lambda pair: ([], None), lambda children, _: Pair(1, 2))
    with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn"):
        pytree.tree_leaves_with_path(Pair(1, 2))
    with pytest.raises(ValueError, match="not a dataclass"):
        pytree.register_dataclass(NoConstant)
    with pytest.raises(TypeError, match="__eq__"):
        pytree.register_constant(NoConstant)
    with pytest.raises(ValueError, match="holds 2 items"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))
    with pytest.raises(TypeError, match="treespec"):
        pytree.tree_unflatten([1], "spec")


def test_what_looks_like_a_dict_is_taken_apart_as_one() -> None:
    """By PyTorch's own names, as transformers registers its outputs."""
    for tools in (ours, needed("torch.utils._pytree")):
        children, context = tools._dict_flatten_with_keys({"a": 1, "b": 2})
        assert [(str(key), value) for key, value in children] == [("['a']", 1), ("['b']", 2)]
        assert list(context) == ["a", "b"]
