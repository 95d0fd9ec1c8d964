"""A transformer's encoder layer in one call, and its attention, beside PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as ours
from tests.runtime.both import agree, agree_or_raise

BATCH, STEPS, WIDTH, HEADS = 2, 3, 4, 2
HIDDEN = {
    "none": (None, None),
    "steps": ([[False, True, True], [False, False, False], [True, False, True]], 0),
    "numbers": ([[0.0, 1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]], 0),
    "padding": ([[False, True, True], [False, False, True]], 1),
    "all padding": ([[False, True, True], [True, True, True]], 1),
    "each": ([[[[i + j == k for k in range(3)] for j in range(3)] for i in range(2)] for _ in range(2)], 2),
}


def weights(t: Any, dtype: str = "float32") -> list[Any]:
    t.manual_seed(3)
    shapes = ((3 * WIDTH, WIDTH), (3 * WIDTH,), (WIDTH, WIDTH), (WIDTH,))
    return [t.randn(shape).to(getattr(t, dtype)) for shape in shapes]


def attention(t: Any, hidden: str, dtype: str = "float32", apart: bool = False, **options: Any) -> Any:
    x = weights(t, dtype)
    inputs = [t.randn(BATCH, STEPS, WIDTH).to(getattr(t, dtype)) for _ in range(3)]
    q, k, v = inputs if apart else inputs[:1] * 3
    mask, kind = HIDDEN[hidden]
    mask = None if mask is None else t.tensor(mask)
    return t._native_multi_head_attention(q, k, v, WIDTH, HEADS, *x, mask=mask, mask_type=kind, **options)


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize(
    "options", [{}, {"need_weights": False}, {"average_attn_weights": False}, {"apart": True}], ids=str
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_attention(hidden: str, options: dict[str, Any], dtype: str) -> None:
    tolerance = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 5e-2}[dtype]
    theirs, mine = (attention(t, hidden, dtype, **options) for t in (pytorch, ours))
    for a, b in zip(theirs, mine, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            as_here = ours.tensor(a.double().tolist(), dtype=ours.float64)
            ours.testing.assert_close(b.double(), as_here, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize(
    ("at", "wrong"),
    [
        (0, lambda t: t.ones(STEPS, WIDTH)), (1, lambda t: t.ones(BATCH, STEPS + 1, WIDTH)),
        (2, lambda t: t.ones(STEPS, WIDTH)), (3, lambda t: 6), (4, lambda t: 3), (5, lambda t: t.ones(8, WIDTH)),
        (5, lambda t: t.ones(3 * WIDTH)), (5, lambda t: t.ones(3 * WIDTH, 3)), (6, lambda t: t.ones(3)),
        (6, lambda t: t.ones(1, 3 * WIDTH)), (9, lambda t: t.ones(STEPS, STEPS)), (9, lambda t: t.ones(BATCH, STEPS)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [None, 0, 1, 2, 3])
def test_attention_of_wrong_shapes(at: int, wrong: Any, kind: int | None) -> None:
    def case(t: Any) -> Any:
        x = t.ones(BATCH, STEPS, WIDTH)
        given = [x, x, x, WIDTH, HEADS, *weights(t), None, False, True, kind]
        given[at] = wrong(t)
        return t._native_multi_head_attention(*given)[0]

    agree_or_raise(case)


def layer(t: Any, use_gelu: bool, norm_first: bool, hidden: str, batch: int = BATCH) -> Any:
    of_attention = weights(t)
    src = t.randn(batch, STEPS, WIDTH)
    shapes = ((WIDTH,),) * 4 + ((6, WIDTH), (6,), (WIDTH, 6), (WIDTH,))
    rest = [t.randn(shape) / 4 for shape in shapes]
    mask, kind = HIDDEN[hidden]
    mask = None if mask is None else t.tensor(mask)
    call = (src, WIDTH, HEADS, *of_attention, use_gelu, norm_first, 1e-5, *rest)
    return t._transformer_encoder_layer_fwd(*call, mask, kind)


@pytest.mark.parametrize(
    ("use_gelu", "norm_first", "hidden"),
    list(itertools.product([False, True], [False, True], ["none", "steps", "padding"])),
)
def test_layer(use_gelu: bool, norm_first: bool, hidden: str) -> None:
    agree(lambda t: layer(t, use_gelu, norm_first, hidden))


def test_layer_of_nothing() -> None:
    agree(lambda t: layer(t, False, False, "none", batch=0).shape)


def test_it_is_what_the_module_computes() -> None:
    ours.manual_seed(0)
    module = ours.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu", norm_first=True).eval()
    attended, src = module.self_attn, ours.randn(3, 5, 8)
    with ours.no_grad():
        found = ours._transformer_encoder_layer_fwd(
            src, 8, 2, attended.in_proj_weight, attended.in_proj_bias, attended.out_proj.weight, attended.out_proj.bias,
            True, True, module.norm1.eps, module.norm1.weight, module.norm1.bias, module.norm2.weight,
            module.norm2.bias, module.linear1.weight, module.linear1.bias, module.linear2.weight, module.linear2.bias,
        )  # fmt: skip
        ours.testing.assert_close(found, module(src))
