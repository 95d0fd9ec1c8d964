"""``torch.utils.flop_counter`` beside PyTorch's: what products and convolutions count, by module, and the table."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from tests.runtime.both import agree, agree_or_raise


def counter(torch: Any, **options: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils.flop_counter").FlopCounterMode(display=False, **options)


def counts(mode: Any) -> dict[str, dict[str, int]]:
    return {module: {str(op): n for op, n in found.items()} for module, found in mode.get_flop_counts().items()}


def model(torch: Any) -> Any:
    nn = torch.nn
    inner = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(4, 2, 2))
    return nn.Sequential(inner, nn.Flatten(), nn.Linear(2 * 36, 8), nn.LayerNorm(8), nn.Linear(8, 2, bias=False))


@pytest.mark.parametrize("backward", [False, True])
def test_a_model(backward: bool) -> None:
    def case(torch: Any) -> Any:
        with counter(torch) as mode:
            found = model(torch)(torch.ones(2, 3, 5, 5, requires_grad=backward)).sum()
            if backward:
                found.backward()
        return counts(mode), mode.get_total_flops(), mode.mod_tracker.parents

    agree(case)


def test_products() -> None:
    def case(torch: Any) -> Any:
        found = []
        x, y = torch.ones(3, 4, 5), torch.ones(3, 5, 2)
        mode = counter(torch)
        for call in (
            lambda: torch.bmm(x, y),
            lambda: torch.baddbmm(torch.ones(3, 4, 2), x, y),
            lambda: torch.mm(x[0], y[0], out=torch.empty(4, 2)),
            lambda: torch.addmm(torch.ones(2), x[0], y[0]),
            lambda: torch.einsum("bij,bjk->bik", x, y),
            lambda: torch.sin(x) * 2,
            lambda: torch.nn.functional.conv1d(torch.ones(1, 4, 9), torch.ones(6, 2, 3), groups=2, stride=2),
        ):
            with mode:
                call()
            found.append(mode.get_total_flops())
        return found

    agree(case)


def test_formulas_of_a_program() -> None:
    def case(torch: Any) -> Any:
        def elements(*args: Any, out_val: Any) -> int:
            return int(out_val.numel())

        elements._get_raw = True  # type: ignore[attr-defined]
        add, mul = torch.ops.aten.add, torch.ops.aten.mul
        mapping = {add: lambda a, b, out_shape: a[0] * 100 + out_shape[1], mul: elements}
        x = torch.ones(2, 3)
        with counter(torch, custom_mapping=mapping) as mode:
            torch.mm(x, (x + x).t()) * 2
        return counts(mode)

    agree(case)


def test_what_is_refused() -> None:
    def of(torch: Any) -> Any:
        return importlib.import_module(f"{torch.__name__}.utils.flop_counter").register_flop_formula

    agree_or_raise(lambda torch: of(torch)(torch.ops.aten.sin.default)(lambda x: x))
    agree_or_raise(lambda torch: of(torch)([torch.ops.aten.mm])(lambda x: x))
    for library in ("mindtorch_v2", "torch"):
        with pytest.warns(UserWarning, match="not needed"):
            counter(importlib.import_module(library), mods=[])


@pytest.mark.parametrize("backward", [False, True])
def test_attention_in_one_kernel(backward: bool) -> None:
    """Scores and sums of values are two products, gradients five; composed, gradients are four."""
    torch = importlib.import_module("mindtorch_v2")
    q, k, v = (torch.ones(2, 3, n, d, requires_grad=backward) for n, d in ((5, 8), (7, 8), (7, 8)))
    one = 2 * 2 * 3 * 5 * 7 * 8
    with counter(torch) as mode:
        found = torch.nn.functional.scaled_dot_product_attention(q, k, v).sum()
        if backward:
            found.backward()
    assert mode.get_total_flops() == one * (2 + 5 * backward)
    with counter(torch) as mode, torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        found = torch.nn.functional.scaled_dot_product_attention(q, k, v).sum()
        if backward:
            found.backward()
    assert mode.get_total_flops() == one * (2 + 4 * backward)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    torch = importlib.import_module("mindtorch_v2")
    tool = importlib.import_module("mindtorch_v2.utils.flop_counter")
    with tool.FlopCounterMode(depth=1):
        model(torch)(torch.ones(2, 3, 5, 5))
    assert capsys.readouterr().out.splitlines() == [
        "Module                  FLOP  % Total",
        "-------------------  -------  -------",
        "Sequential           16.368K  100.00%",
        " - aten.convolution  14.000K   85.53%",
        " - aten.addmm         2.304K   14.08%",
        " - aten.mm            0.064K    0.39%",
    ]
    with tool.FlopCounterMode(display=False) as mode:
        torch.mm(torch.ones(10, 10), torch.ones(10, 10))
        model(torch)(torch.ones(2, 3, 5, 5))
    deep = mode.get_table(2)
    assert [line.split()[0] for line in deep.splitlines()].count("Sequential.0") == 1
    assert deep.splitlines()[2].split() == ["Global", f"{mode.get_total_flops() / 1000:.3f}K", "100.00%"]
    assert tool.convert_num_with_suffix(1_234_567, "M") == "1.235M"
    assert [tool.get_suffix_str(n) for n in (5, 99999, 10**7, 10**10, 10**13, 10**20)] == ["", "K", "M", "B", "T", "T"]
    assert tool.convert_to_percent_str(1, 0) == "0%"
