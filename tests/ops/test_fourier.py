"""Fourier transforms of few elements, which C++ computes, beside PyTorch's."""

from __future__ import annotations

import math
from typing import Any

import pytest

import mindtorch_v2 as ours
from tests.runtime import both

# Products of the small factors, with larger primes, and primes of which a transform is a convolution.
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 22, 29, 31, 37, 48, 62, 74, 97, 100, 127, 128, 210, 289, 509, 512, 1009)
DTYPES = ("float32", "float64", "complex64", "complex128")


def numbers(torch: Any, *shape: int, dtype: str = "float64") -> Any:
    """Elements that differ from those beside them."""
    count = math.prod(shape)
    parts = [torch.tensor([((k * i * i + 3 * i) % 19 - 8) / 4 for i in range(count)]).double() for k in (7, 5)]
    kind = getattr(torch, dtype)
    found = torch.complex(*parts) if kind.is_complex else parts[0]
    return found.reshape(shape).to(kind)


def shown(value: Any) -> Any:
    """A result with complex tensors as real ones, by their largest element, beside which errors count."""
    if isinstance(value, (list, tuple)):
        return [shown(part) for part in value]
    if not hasattr(value, "is_complex") or value.device.type == "meta" or not value.numel():
        return value
    x = value.detach().resolve_conj()
    x = x.abs().new_tensor([x.real.tolist(), x.imag.tolist()]) if x.is_complex() else x
    return str(value.dtype), x.double() / max(1.0, float(x.double().nan_to_num(0, 0, 0).abs().max()))


def agree(case: both.Case) -> None:
    """Both give equal values."""
    both.agree(lambda torch: shown(case(torch)))


def agree_or_raise(case: both.Case) -> None:
    """Both give equal values, or raise errors of one class."""
    both.agree_or_raise(lambda torch: shown(case(torch)))


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n: int, dtype: str, norm: str | None) -> None:
    def case(torch: Any) -> Any:
        x, half = numbers(torch, 2, n, dtype=dtype), numbers(torch, 3, n // 2 + 1, dtype="complex128")
        found = [torch.fft.fft(x, norm=norm), torch.fft.ifft(x, norm=norm)]
        found += [torch.fft.irfft(half, n=n, norm=norm), torch.fft.hfft(half.to(torch.complex64), n=n, norm=norm)]
        if not x.is_complex():
            found += [torch.fft.rfft(x, norm=norm), torch.fft.ihfft(x, norm=norm)]
        return found

    agree(case)


@pytest.mark.parametrize("n", [8, 31, 360, 509])
@pytest.mark.parametrize("name", ["fft", "ifft"])
def test_precision(name: str, n: int) -> None:
    x = numbers(ours, n, dtype="complex128")
    sign = -1 if name == "fft" else 1
    angles = [[sign * math.tau * (i * k % n) / n for k in range(n)] for i in range(n)]
    exact = [
        (
            math.fsum(z.real * math.cos(a) - z.imag * math.sin(a) for z, a in zip(x.tolist(), row, strict=True)),
            math.fsum(z.real * math.sin(a) + z.imag * math.cos(a) for z, a in zip(x.tolist(), row, strict=True)),
        )
        for row in angles
    ]
    found = getattr(ours.fft, name)(x, norm="backward" if name == "fft" else "forward").tolist()
    largest = max(abs(complex(*z)) for z in exact)
    assert max(abs(z - complex(*e)) for z, e in zip(found, exact, strict=True)) <= 1e-15 * largest


@pytest.mark.parametrize(
    "dims", [(0,), (1,), (-1,), (0, 1), (1, 0), (-1, 0), (0, 2), (2, 1), (0, 1, 2), (1, 1), (3,), ()]
)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"])
def test_dimensions(name: str, dims: tuple[int, ...]) -> None:
    def case(torch: Any) -> Any:
        dtype = "float64" if name in ("rfftn", "ihfftn") else "complex128"
        x = numbers(torch, 4, 6, 5, dtype=dtype)
        parts = x, x.transpose(0, 2), x[:, ::2], x[:1].expand(3, 6, 5), x[:, :, 1:], x.flip(0)
        return [getattr(torch.fft, name)(part, dim=dims) for part in parts]

    agree_or_raise(case)


@pytest.mark.parametrize("dim", [(-2, -1), (0, 1), (1, 0), (0, 0), (0,), (0, 5)])
@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"])
def test_two_dimensions(name: str, dim: tuple[int, ...]) -> None:
    def case(torch: Any) -> Any:
        x = numbers(torch, 4, 6, dtype="float32" if name in ("rfft2", "ihfft2") else "complex64")
        return getattr(torch.fft, name)(x, dim=dim), getattr(torch.fft, name)(x.T, dim=dim, norm="ortho")

    agree_or_raise(case)


def slopes(torch: Any, call: Any, x: Any) -> Any:
    """A result, and its gradients of first and second order."""
    x = x.requires_grad_()
    found = call(x)
    first = torch.autograd.grad(
        torch.view_as_real(found.to(torch.complex128).resolve_conj()).pow(3).sum(), x, create_graph=True
    )
    return found, first, torch.autograd.grad(sum(g.abs().pow(2).sum() for g in first), x)


SLOPES: dict[str, both.Case] = {
    "fft": lambda torch: slopes(torch, torch.fft.fft, numbers(torch, 2, 6, dtype="complex128")),
    "fft of reals": lambda torch: slopes(torch, torch.fft.fft, numbers(torch, 2, 5)),
    "ifft": lambda torch: slopes(torch, torch.fft.ifft, numbers(torch, 7, dtype="complex128")),
    "rfft": lambda torch: slopes(torch, torch.fft.rfft, numbers(torch, 2, 6)),
    "odd rfft": lambda torch: slopes(torch, torch.fft.rfft, numbers(torch, 2, 7)),
    "irfft": lambda torch: slopes(torch, torch.fft.irfft, numbers(torch, 2, 5, dtype="complex128")),
    "odd irfft": lambda torch: slopes(torch, lambda x: torch.fft.irfft(x, n=9), numbers(torch, 5, dtype="complex128")),
    "hfft": lambda torch: slopes(torch, torch.fft.hfft, numbers(torch, 2, 5, dtype="complex128")),
    "ihfft": lambda torch: slopes(torch, torch.fft.ihfft, numbers(torch, 2, 6)),
    "fft2": lambda torch: slopes(torch, torch.fft.fft2, numbers(torch, 3, 4, dtype="complex128")),
    "irfft2": lambda torch: slopes(torch, torch.fft.irfft2, numbers(torch, 3, 4, dtype="complex128")),
    "jvp": lambda torch: torch.func.jvp(torch.fft.rfft, (numbers(torch, 6),), (numbers(torch, 6) + 1,)),
    "vmap": lambda torch: torch.vmap(torch.fft.fft, in_dims=1, out_dims=1)(numbers(torch, 6, 3, dtype="complex128")),
}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name: str) -> None:
    agree(SLOPES[name])


UNUSUAL: dict[str, both.Case] = {
    "a conjugate": lambda torch: torch.fft.fft(numbers(torch, 6, dtype="complex128").conj()),
    "a negative": lambda torch: torch.fft.rfft(numbers(torch, 6, dtype="complex128").conj().imag),
    "other parts of a half": lambda torch: torch.fft.irfft(numbers(torch, 5, dtype="complex128") * 1j),
    "integers": lambda torch: torch.fft.fft(torch.arange(5)),
    "an n": lambda torch: (torch.fft.fft(numbers(torch, 5), n=8), torch.fft.irfft(numbers(torch, 5), n=4)),
    "no elements": lambda torch: torch.fft.fft(torch.ones(0)),
    "no dimensions": lambda torch: torch.fft.fft(torch.tensor(1.0)),
    "another dimension": lambda torch: torch.fft.fft(torch.ones(3), dim=1),
    "a lone element of a half": lambda torch: torch.fft.irfft(torch.ones(1, dtype=torch.complex64)),
    "a dtype": lambda torch: torch.fft.fft(torch.ones(3, dtype=torch.bfloat16)),
    "meta": lambda torch: [
        (call(torch.ones(2, 6, device="meta")).shape, call(torch.ones(2, 6, device="meta")).dtype)
        for call in (torch.fft.fft, torch.fft.rfft, torch.fft.irfft, torch.fft.fft2)
    ],
    "meta, refused": lambda torch: torch.ops.aten._fft_c2c(torch.ones(2, device="meta"), [0], 0, True),
    "meta, another dimension": lambda torch: torch.ops.aten._fft_c2c(
        torch.ones(2, device="meta", dtype=torch.complex64), [1], 0, True
    ),
    "inner": lambda torch: [
        torch.ops.aten._fft_c2r(numbers(torch, 3, 4, dtype="complex64"), [0, 1], 1, 6),
        torch.ops.aten._fft_r2c(numbers(torch, 3, 4), [0, 1], 2, False),
        torch.ops.aten._fft_c2c(numbers(torch, 3, 4, dtype="complex64"), [1, 0], 1, False),
    ],
    "out": lambda torch: torch.fft.fft(numbers(torch, 6), out=torch.empty(6, dtype=torch.complex128)),
    "windows": lambda torch: torch.stft(
        numbers(torch, 2, 70), 16, 5, window=torch.hann_window(16).double(), return_complex=True
    ),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual(name: str) -> None:
    agree_or_raise(UNUSUAL[name])


def test_few_elements_need_no_other_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str) -> Any:
        raise AssertionError(name)

    monkeypatch.setattr("mindtorch_v2.kernels.fft.scipy", refused)
    x = numbers(ours, 8, dtype="complex64")
    back = ours.fft.irfft(ours.fft.rfft(x.real.contiguous()))
    assert ours.allclose(ours.fft.ifft(ours.fft.fft(x)), x)
    assert ours.allclose(back, x.real)
    assert ours.allclose(ours.fft.ifft2(ours.fft.fft2(x.reshape(2, 4))), x.reshape(2, 4))
