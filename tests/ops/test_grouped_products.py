"""Products of groups of matrices, of 8 bits, and with an activation behind, beside PyTorch's or a loop."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2 as torch
from tests.runtime.both import agree, agree_or_raise

SIDES = {
    "rows": ((6, 8), (3, 8, 16), [1, 4, 6]), "rows left over": ((9, 8), (3, 8, 16), [1, 4, 6]),
    "no rows": ((6, 8), (3, 8, 16), [0, 6, 6]), "columns": ((3, 8, 16), (16, 24), [8, 16, 24]),
    "inner": ((8, 24), (24, 16), [8, 8, 24]), "batches": ((3, 6, 8), (3, 8, 16), None),
}  # fmt: skip


def sides(t: Any, name: str, dtype: str = "float32") -> tuple[Any, Any, Any]:
    t.manual_seed(1)
    first, second, ends = SIDES[name]
    offs = None if ends is None else t.tensor(ends, dtype=t.int32)
    return t.randn(first).to(getattr(t, dtype)), t.randn(second).to(getattr(t, dtype)), offs


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", SIDES)
def test_grouped(name: str, dtype: str) -> None:
    last = None if name != "rows left over" else 6  # PyTorch leaves those behind as they were
    agree(lambda t: t.nn.functional.grouped_mm(*(x := sides(t, name, dtype))[:2], offs=x[2])[:last].float())
    a, b, offs = sides(torch, name, dtype)
    fake = torch._grouped_mm(a.to("meta"), b.to("meta"), None if offs is None else offs.to("meta"))
    real = torch._grouped_mm(a, b, offs)
    assert (fake.shape, fake.dtype) == (real.shape, real.dtype)
    if last is not None:
        assert not real[last:].any()


@pytest.mark.parametrize("name", SIDES)
def test_gradients_are_those_of_a_loop(name: str) -> None:
    """PyTorch's CPU refuses its own gradients of a sum."""
    a, b, offs = sides(torch, name)
    a.requires_grad_()
    b.requires_grad_()
    ends = [] if offs is None else offs.tolist()
    spans = list(zip([0, *ends], ends, strict=False))
    parts = {
        "batches": lambda: torch.stack([x @ y for x, y in zip(a, b, strict=True)]),
        "inner": lambda: torch.stack([a[:, i:j] @ b[i:j] for i, j in spans]),
        "columns": lambda: torch.cat([x @ b[:, i:j] for x, (i, j) in zip(a, spans, strict=True)], 1),
    }.get(name, lambda: torch.cat([a[i:j] @ y for y, (i, j) in zip(b, spans, strict=True)]))
    looped, found = parts(), torch._grouped_mm(a, b, offs)[: 6 if name == "rows left over" else None]
    weights = torch.randn(looped.shape)
    torch.testing.assert_close(found, looped)
    expected = torch.autograd.grad((looped * weights).sum(), [a, b], create_graph=True)
    given = torch.autograd.grad((found * weights).sum(), [a, b], create_graph=True)
    for one, other in zip(given, expected, strict=True):
        torch.testing.assert_close(one, other)
    squares = [sum((grad**2).sum() for grad in grads) for grads in (given, expected)]
    second = [torch.autograd.grad(square, [a, b]) for square in squares]
    for one, other in zip(*second, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(
    "case",
    [
        lambda t, a, b, offs: t._grouped_mm(a.double(), b, offs),
        lambda t, a, b, offs: t._grouped_mm(a, b.int(), offs),
        lambda t, a, b, offs: t._grouped_mm(a.half(), b, offs),
        lambda t, a, b, offs: t._grouped_mm(a[0], b, offs),
        lambda t, a, b, offs: t._grouped_mm(a, b[None], offs),
        lambda t, a, b, offs: t._grouped_mm(a, b),
        lambda t, a, b, offs: t._grouped_mm(a, b, offs.long()),
        lambda t, a, b, offs: t._grouped_mm(a, b, offs[:2]),
        lambda t, a, b, offs: t._grouped_mm(a, b, offs[None]),
        lambda t, a, b, offs: t._grouped_mm(a, b[:, :4], offs),
        lambda t, a, b, offs: t._grouped_mm(a, b, offs, t.ones(16)),
        lambda t, a, b, offs: t._grouped_mm(a, b, offs, out_dtype=t.bfloat16),
        lambda t, a, b, offs: t._grouped_mm(b[:2].mT, b),
        lambda t, a, b, offs: t._grouped_mm(b.mT, b, offs),
    ],
)
def test_what_is_refused(case: Any) -> None:
    agree_or_raise(lambda t: case(t, *sides(t, "rows")))


@pytest.mark.parametrize("ends", [[1, 2, 9], [4, 2, 6], [-1, 2, 6]])
def test_offsets_outside(ends: list[int]) -> None:
    a, b, _ = sides(torch, "rows")
    with pytest.raises(RuntimeError, match="expected offsets that rise from 0 to at most 6"):
        torch._grouped_mm(a, b, torch.tensor(ends, dtype=torch.int32))


@pytest.mark.parametrize(
    "case",
    [
        lambda t, a, b: t._int_mm(a, b),
        lambda t, a, b: t._int_mm(a.int(), b),
        lambda t, a, b: t._int_mm(a, b.short()),
        lambda t, a, b: t._int_mm(a[0], b),
        lambda t, a, b: t._int_mm(a, b[:5]),
        lambda t, a, b: t._int_mm(a, b, out=t.empty(17, 16, dtype=t.int32)),
    ],
)
def test_of_8_bits(case: Any) -> None:
    def drawn(t: Any) -> Any:
        t.manual_seed(0)
        return case(t, t.randint(-128, 127, (17, 8), dtype=t.int8), t.randint(-128, 127, (8, 16), dtype=t.int8))

    agree_or_raise(drawn)


@pytest.mark.parametrize("options", [{}, {"use_gelu": True}, {"beta": 2, "alpha": 0.5, "use_gelu": True}], ids=str)
def test_with_an_activation(options: dict[str, Any]) -> None:
    def case(t: Any) -> Any:
        t.manual_seed(0)
        return t._addmm_activation(t.randn(5), t.randn(3, 4), t.randn(4, 5), **options)

    agree(case)
