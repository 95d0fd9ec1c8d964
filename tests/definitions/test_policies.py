"""What definitions say beside kernels and gradients: messages, tangents, devices, autocast, fallbacks, variants."""

from __future__ import annotations

import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.backends import FallbackWarning
from mindtorch_v2.library import Library
from mindtorch_v2.library.definitions import like

lib = Library("policies", "FRAGMENT")


@lib.operator("matrix(Tensor x, int n) -> Tensor", autocast={"CPU": "bfloat16"}, fallback="cpu")
def matrix(op, x, n):
    op.check(x.dim() == 2, message=f"a matrix is expected, got {x.dim()} dimensions of {x.shape}", error=IndexError)
    op.returns(like(x))
    op.compute(x * n, device="CPU")

    @op.gradient
    def _(grad):
        return {x: grad * n}

    @op.jvp
    def _(x_t, n):
        return x_t * n


@lib.operator("matrix.out(Tensor x, int n, *, Tensor(a!) out) -> Tensor(a!)")
def matrix_out(op):
    op.variant_of(torch.ops.policies.matrix.default)
    op.not_implemented()


@lib.operator("joined(Tensor[] xs, Tensor y) -> Tensor", deprecated="use `cat`")
def joined(op, xs, y):
    op.returns(xs[0] * y)

    @op.gradient
    def _(grad):
        return {xs: [grad * y, None], y: NotImplemented}


@lib.operator("doubled_(Tensor(a!) x) -> Tensor(a!)")
def doubled_(op, x):
    op.returns(x)
    op.compute(x.mul_(2), device="CPU")
    op.compute(x.copy_(x * 3), device="NPU")
    op.not_differentiable()


def test_what_one_device_computes_in_place_changes_nothing_on_another() -> None:
    x = torch.ones(2)
    assert doubled_(x) is x
    assert x.tolist() == [2, 2]
    assert doubled_(torch.ones(2, device="npu")).tolist() == [3, 3]
    assert doubled_(torch.ones(2, device="meta")).shape == (2,)


def test_a_message_has_the_values_of_symbols() -> None:
    with pytest.raises(IndexError, match=r"^a matrix is expected, got 1 dimensions of \[3\]$"):
        matrix(torch.ones(3), 2)
    with pytest.raises(IndexError, match=r"got 3 dimensions"):
        matrix(torch.empty(1, 2, 3, device="meta"), 2)


def test_a_tangent_is_computed_of_values_by_name() -> None:
    _, tangent = torch.func.jvp(lambda x: matrix(x, 3), (torch.ones(1, 2),), (torch.full((1, 2), 5.0),))
    assert tangent.tolist() == [[15, 15]]


def test_autocast_casts_and_a_fallback_runs_over_the_host() -> None:
    with torch.autocast("cpu"):
        assert matrix(torch.ones(1, 2), 2).dtype == torch.bfloat16
    torch.npu.reset_fallback_report()
    with pytest.warns(FallbackWarning, match="policies::matrix has no kernel for npu"):
        moved = matrix(torch.ones(1, 2, device="npu"), 4)
    assert torch.npu.fallback_report()["policies::matrix"] == 1
    assert moved.device.type == "npu"
    assert moved.cpu().tolist() == [[4, 4]]


def test_a_variant_writes_into_what_is_given() -> None:
    out = torch.empty(1, 2)
    assert torch.ops.policies.matrix.out(torch.ones(1, 2), 3, out=out) is out
    assert out.tolist() == [[3, 3]]
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        out = torch.ops.policies.matrix.out(torch.ones(1, 2), 3, out=torch.empty(5))
    assert out.tolist() == [[3, 3]]
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        torch.ops.policies.matrix.out(torch.ones(1, 2), 3, out=torch.empty(1, 2, dtype=torch.int64))


def test_gradients_of_lists_and_those_that_nobody_has_written() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    with pytest.warns(FutureWarning, match="policies::joined is deprecated: use `cat`"):
        joined([x, torch.ones(2)], y).sum().backward()
    assert x.grad.tolist() == [3, 3]
    with pytest.warns(FutureWarning):
        product = joined([torch.ones(2)], y.requires_grad_())
    with pytest.raises(NotImplementedError, match="the gradient for `y` is not implemented"):
        product.sum().backward()


def test_all_programs_can_be_made() -> None:
    lib.check()


ON_FIRST_USE = """
import mindtorch_v2 as torch
from mindtorch_v2.library import Library
lib = Library("first_use", "FRAGMENT")
@lib.operator("total(Tensor x) -> Tensor")
def total(op, x):
    op.returns(x.cumsum(0))
print(torch.ops.first_use.total(torch.tensor([1.0, 2.0])).tolist())
"""


def test_an_operator_that_is_defined_on_first_use_is_called_by_its_name(child_env: dict[str, str]) -> None:
    done = subprocess.run([sys.executable, "-c", ON_FIRST_USE], env=child_env, capture_output=True, text=True)
    assert (done.stderr, done.stdout.split()) == ("", ["[1.0,", "3.0]"])
