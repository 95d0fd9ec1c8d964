"""Every operator that is declared in the namespace aten has PyTorch's own schema."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch

pytorch = pytest.importorskip("torch")


def declared() -> list[str]:
    names = []
    for name, packet in vars(torch.ops.aten).items():
        if isinstance(packet, torch._core.OpOverloadPacket):
            names += [f"{name}.{overload}" for overload in packet.overloads()]
    return sorted(names)


def canonical(schema: str) -> str:
    """PyTorch prints `SymInt` and its defaults where our schemas say the same; spacing and number forms are alike."""
    return str(schema)


# Of ours, not PyTorch's: what formulas and kernels are made of.
PARTS = [
    "_clone_in_rows.default",
    "_cumsum_backward.default",
    "_fft_c2r_backward.default",
    "_fft_r2c_backward.default",
    "_floating.default",
    "_logcumsumexp_backward.default",
    "_huber.default",
    "_huber_slope.default",
    "_max_pool1d.default",
    "_phase.default",
    "_smooth_l1.default",
    "_smooth_l1_slope.default",
]


def test_what_is_not_pytorchs_is_a_part_of_what_is() -> None:
    assert not [name for name in PARTS if hasattr(pytorch.ops.aten, name.partition(".")[0])]


@pytest.mark.parametrize("qualname", [name for name in declared() if name not in PARTS])
def test_schema_is_pytorchs(qualname: str) -> None:
    name, overload = qualname.rsplit(".", 1)
    ours = getattr(getattr(torch.ops.aten, name), overload)._schema
    theirs = getattr(getattr(pytorch.ops.aten, name), overload)._schema
    parsed = pytorch._C.parse_schema(str(ours))
    assert parsed == theirs, f"ours:   {ours}\ntheirs: {theirs}"


def test_there_are_enough_operators() -> None:
    assert len(declared()) > 250
