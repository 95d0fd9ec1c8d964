"""Embeddings with their options: the same code under PyTorch and under mindtorch_v2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytorch = pytest.importorskip("torch")

import mindtorch_v2 as ours  # noqa: E402
from tests.ops.both import agree, raised  # noqa: E402

TABLE = np.random.default_rng(6).standard_normal((5, 3)).astype("f4")
ROWS = np.array([[0, 2, 2], [4, 0, 2]])

OPTIONS: dict[str, dict[str, Any]] = {
    "none": {},
    "padding": {"padding_idx": 2},
    "padding from the end": {"padding_idx": -1},
    "padding of the first row": {"padding_idx": 0},
    "by frequency": {"scale_grad_by_freq": True},
    "by frequency, with padding": {"scale_grad_by_freq": True, "padding_idx": 2},
}
NORMS: dict[str, tuple[float, float]] = {"2": (1.0, 2.0), "1": (0.5, 1.0), "inf": (0.5, float("inf"))}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("rows", [ROWS, ROWS[0], ROWS[0, 0], ROWS[:0]], ids=["2-d", "1-d", "0-d", "none"])
def test_values_and_gradients(name: str, rows: np.ndarray) -> None:
    options = OPTIONS[name]
    agree(lambda torch, w, i: torch.nn.functional.embedding(i, w, **options), {"w": TABLE, "i": rows})


@pytest.mark.parametrize("name", OPTIONS)
def test_second_derivatives_with_padding(name: str) -> None:
    if OPTIONS[name].get("scale_grad_by_freq"):
        pytest.skip("PyTorch has none")

    def curvature(torch: Any, w: Any, i: Any) -> Any:
        out = torch.nn.functional.embedding(i, w, **OPTIONS[name])
        (grad,) = torch.autograd.grad((out**3).sum(), w, create_graph=True)
        return grad

    agree(curvature, {"w": TABLE, "i": ROWS})


@pytest.mark.parametrize("norm", NORMS)
def test_rows_are_limited_in_the_table_itself(norm: str) -> None:
    def limited(torch: Any, w: Any, i: Any) -> Any:
        table = w.detach().clone().requires_grad_()
        before = table._version
        out = torch.nn.functional.embedding(i, table, None, *NORMS[norm])
        assert table._version > before
        return out, table

    agree(limited, {"w": TABLE, "i": ROWS})


def test_the_module_hands_its_options_on() -> None:
    def outputs(torch: Any, w: Any, i: Any) -> Any:
        found = torch.nn.Embedding.from_pretrained(w.detach().clone(), False, 2, 1.0, 1.0, True)
        assert found.weight.requires_grad
        out = found(i)
        (grad,) = torch.autograd.grad((out**2).sum(), found.weight)
        return out.detach(), grad

    agree(outputs, {"w": TABLE, "i": ROWS})


def test_the_module_says_what_it_is() -> None:
    texts = [
        [repr(torch.nn.Embedding(5, 3)), repr(torch.nn.Embedding(5, 3, -1, 2.0, 1.0, True))]
        for torch in (ours, pytorch)
    ]
    assert texts[0] == texts[1]


def test_the_row_of_padding_starts_at_zero() -> None:
    table = ours.nn.Embedding(5, 3, padding_idx=-1)
    assert table.padding_idx == 4
    assert table.weight[4].tolist() == [0.0, 0.0, 0.0]
    assert table.weight.requires_grad
    assert not ours.nn.Embedding.from_pretrained(ours.ones(2, 2)).weight.requires_grad


REFUSED = {
    "a row of padding that is not there": lambda torch, w, i: torch.nn.functional.embedding(i, w, 5),
    "nor from the end": lambda torch, w, i: torch.nn.Embedding(5, 3, -6),
    "a table of another size": lambda torch, w, i: torch.nn.Embedding(5, 3, _weight=w[:2]),
    "a vector as the table": lambda torch, w, i: torch.nn.functional.embedding(i, w[0]),
    "a row that is not there": lambda torch, w, i: torch.nn.functional.embedding(i + 5, w),
    "a row below 0": lambda torch, w, i: torch.nn.functional.embedding(i - 5, w),
    "floats as indices": lambda torch, w, i: torch.nn.functional.embedding(i.float(), w),
    "a number as the table, with padding": lambda torch, w, i: torch.nn.functional.embedding(i, w[0, 0], 1),
    "a number as the table": lambda torch, w, i: torch.nn.functional.embedding(i, 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_of_pytorchs_class(name: str) -> None:
    mine, theirs = raised(lambda torch: REFUSED[name](torch, torch.ones(5, 3), torch.tensor([0])))
    assert isinstance(mine, type(theirs)), f"{mine!r} for {theirs!r}"


def test_sparse_gradients_are_refused_with_a_reason() -> None:
    with pytest.raises(NotImplementedError, match="gradients are dense"):
        ours.nn.functional.embedding(ours.tensor([0]), ours.ones(5, 3, requires_grad=True), sparse=True)
    assert ours.nn.functional.embedding(ours.tensor([0]), ours.ones(5, 3), sparse=True).tolist() == [[1, 1, 1]]


def test_on_npu() -> None:
    table = ours.tensor(TABLE, device="npu", requires_grad=True)
    out = ours.nn.functional.embedding(ours.tensor(ROWS, device="npu"), table, 2)
    out.sum().backward()
    assert out.device.type == "npu"
    assert table.grad.cpu().tolist() == [[2.0] * 3, [0.0] * 3, [0.0] * 3, [0.0] * 3, [1.0] * 3]
