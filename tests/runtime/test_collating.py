"""``torch.utils.data._utils``: what programs take from a loader's parts, and the table that they may add to."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

pytorch = pytest.importorskip("torch")
ours = importlib.import_module("mindtorch_v2")


class _Point:
    def __init__(self, x: float) -> None:
        self.x = x


class _Named(str):
    __slots__ = ()


@pytest.mark.parametrize("form", ["alone", "in a list", "in a mapping"])
def test_collating_classes_of_a_program(form: str) -> None:
    """A table says what is made of them; what it does not name is refused, or taken for what it is an instance of."""

    def points(batch: Any, *, collate_fn_map: Any = None) -> Any:
        assert _Point in collate_fn_map
        return [point.x for point in batch]

    shapes = {"alone": lambda p: p, "in a list": lambda p: [p, 1.0], "in a mapping": lambda p: {"p": p, "s": "t"}}
    found = []
    for library in (ours, pytorch):
        tools = library.utils.data._utils.collate
        batch = [shapes[form](_Point(1.5)), shapes[form](_Point(2.5))]
        with pytest.raises(TypeError, match="must contain"):
            tools.default_collate(batch)
        made = tools.collate(batch, collate_fn_map={**tools.default_collate_fn_map, _Point: points})
        tools.default_collate_fn_map[_Point] = points
        try:
            assert str(tools.default_collate(batch)) == str(made)
        finally:
            del tools.default_collate_fn_map[_Point]
        assert tools.default_collate([_Named("a"), _Named("b")]) == ["a", "b"]
        assert tools.collate_float_fn([1.0, 2.0]).dtype is library.float64
        with pytest.raises(TypeError):
            tools.collate([1.0, 2.0])
        found.append(str(made))
    assert found[0] == found[1]


def test_the_parts_of_a_loader() -> None:
    for library in (ours, pytorch):
        parts = library.utils.data._utils
        assert parts.MP_STATUS_CHECK_INTERVAL == 5.0
        assert parts.worker._worker_info is None
        assert parts.worker._generate_state(3, 4) == [2152323536, 2506233986, 1182406498, 2370895279]
        assert parts.pin_memory.pin_memory({"a": [1, "b"]}) == {"a": [1, "b"]}
