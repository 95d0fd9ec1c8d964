"""What OpInfo's samples do not reach: second gradients of kernels, and attention over several blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import gradcheck, gradgradcheck
from tests.needs import needed

F = torch.nn.functional


def random(*shape: int) -> Any:
    return torch.randn(*shape, dtype=torch.float64).requires_grad_()


INDICES = torch.tensor([0, 2, 2, 1, 4])
OFFSETS = torch.tensor([0, 2, 2])
CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (3, 4), w, b), [(2, 3, 4), (3, 4), (3, 4)]),
    "layer_norm without parameters": (lambda x: F.layer_norm(x, (4,)), [(2, 3, 4)]),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w), [(2, 3, 4), (4,)]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [(2, 4, 3), (4,), (4,)]),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [(3, 2, 4), (2,), (2,)]),
    "batch_norm by running statistics": (
        lambda x, w: F.batch_norm(x, torch.zeros(2).double(), torch.ones(2).double(), w),
        [(3, 2, 4), (2,)],
    ),
    "attention": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [(1, 2, 3, 4)] * 3),
    "attention of groups": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        [(1, 4, 3, 2), (1, 2, 3, 2), (1, 2, 3, 2)],
    ),
    "embedding": (lambda w: F.embedding(INDICES, w, padding_idx=1, scale_grad_by_freq=True), [(5, 3)]),
    "embedding_bag": (lambda w: F.embedding_bag(INDICES, w, OFFSETS, mode="mean"), [(5, 3)]),
    "embedding_bag with factors": (
        lambda w, f: F.embedding_bag(INDICES, w, OFFSETS, mode="sum", per_sample_weights=f),
        [(5, 3), (5,)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str) -> None:
    function, shapes = CASES[name]
    torch.manual_seed(0)
    inputs = [random(*shape) for shape in shapes]
    by_freq = name == "embedding"  # its gradient is not its derivative: it is divided by how often a row is used
    assert by_freq or gradcheck(function, inputs)
    assert by_freq or gradgradcheck(function, inputs)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_over_blocks(dtype: str, causal: bool) -> None:
    """Queries and keys that no block divides, beside attention that is composed."""
    torch.manual_seed(1)
    kind = getattr(torch, dtype)
    query, key, value = (torch.randn(1, 2, n, 8).to(kind).requires_grad_() for n in (300, 1100, 1100))
    blocks = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    whole = torch.ops.aten._scaled_dot_product_attention_math(query, key, value, None, 0.0, causal)[0]
    close = 3e-2 if dtype == "bfloat16" else 1e-5
    assert torch.allclose(blocks.float(), whole.float(), rtol=close, atol=close)
    grad = torch.randn(*blocks.shape).to(kind)
    for mine, theirs in zip(
        torch.autograd.grad(blocks, (query, key, value), grad),
        torch.autograd.grad(whole, (query, key, value), grad),
        strict=True,
    ):
        assert torch.allclose(mine.float(), theirs.float(), rtol=close, atol=close)


def test_a_query_that_sees_nothing_gets_zeros() -> None:
    mask = torch.tensor([[True, False], [False, False]])
    x = torch.randn(1, 1, 2, 4).requires_grad_()
    out = F.scaled_dot_product_attention(x, x, x, mask)
    assert out[0, 0, 1].tolist() == [0.0] * 4
    (grad,) = torch.autograd.grad(out.sum(), x)
    assert bool(grad.isfinite().all())


def test_bits_of_dropout_are_pytorchs() -> None:
    needed("torch")
    import torch as pytorch

    for name in ("dropout1d", "alpha_dropout", "feature_alpha_dropout", "rrelu", "gumbel_softmax"):
        found = []
        for library in (torch, pytorch):
            library.manual_seed(3)
            x = library.arange(24).reshape(2, 3, 4) / 12 - 1
            function = getattr(library.nn.functional, name)
            found.append(function(x) if name == "gumbel_softmax" else function(x, training=True))
        assert found[0].numpy() == pytest.approx(found[1].numpy(), rel=1e-5, abs=1e-6), name


def test_batch_norm_of_what_does_not_vary_without_eps() -> None:
    def normalise(torch: Any) -> Any:
        x = torch.tensor([[1.0, 2.0], [1.0, 3.0]])
        return [part.tolist() for part in torch.ops.aten.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)]

    assert normalise(torch) == normalise(needed("torch"))


BY_KERNEL: dict[str, tuple[str, Callable[..., Any]]] = {
    "group_norm": (
        "aten::native_group_norm_backward",
        lambda t, x: t.nn.functional.group_norm(x, 4, t.ones(8, dtype=x.dtype, requires_grad=True)),
    ),
    "rms_norm": (
        "aten::_fused_rms_norm_backward",
        lambda t, x: t.nn.functional.rms_norm(x, (40,), t.ones(40, dtype=x.dtype, requires_grad=True)),
    ),
}


@pytest.mark.parametrize("name", BY_KERNEL)
def test_the_kernel_of_the_gradient_is_taken(name: str) -> None:
    """A composition, as for gradients of the statistics, rounds bfloat16 at each step."""
    operator, call = BY_KERNEL[name]

    def gradient(t: Any) -> Any:
        x = (t.arange(3 * 8 * 40).remainder(17) / 16 - 0.4).reshape(3, 8, 40).bfloat16().requires_grad_()
        weights = (t.arange(3 * 8 * 40).remainder(23) / 22 - 0.5).reshape(3, 8, 40).bfloat16()
        out = call(t, x)
        with t.profiler.profile() as profile:
            out.backward(weights)
        assert operator in {event.key for event in profile.key_averages()}
        return x.grad.float().tolist()

    if name == "group_norm":
        assert gradient(torch) == gradient(needed("torch"))
    else:
        gradient(torch)
