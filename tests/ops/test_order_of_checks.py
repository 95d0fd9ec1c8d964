"""What operators refuse, in PyTorch's order of checks, and what odd arguments that fit give: beside PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch as pytorch

import mindtorch_v2 as ours
from tests.runtime.both import Outcome, agree, outcome

Case = Callable[[Any], Any]


def refused_alike(case: Case) -> None:
    """Both raise, ours PyTorch's class or a subclass."""
    theirs, mine = outcome(pytorch, case), outcome(ours, case)
    assert theirs.error is not None, f"PyTorch gives {theirs.value}"
    assert isinstance(mine.error, type(theirs.error)), f"PyTorch: {theirs.error!r}; ours: {shown(mine)}"


class Index:
    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def shown(result: Outcome) -> str:
    return repr(result.value if result.error is None else result.error)


def ones(torch: Any, dtype: str = "float32", *size: int, **options: Any) -> Any:
    return torch.ones(size or (3,), dtype=getattr(torch, dtype), **options)


BOOLS: dict[str, Case] = {
    "add.Tensor": lambda torch: torch.ops.aten.add.Tensor(ones(torch), ones(torch), alpha=True),
    "add.Scalar": lambda torch: torch.ops.aten.add.Scalar(ones(torch), 1, True),
    "add_.Tensor": lambda torch: torch.ops.aten.add_.Tensor(ones(torch), ones(torch), alpha=True),
    "add of bools and a number": lambda torch: torch.ops.aten.add.Scalar(ones(torch, "bool"), 1, True),
    "add": lambda torch: torch.add(ones(torch), ones(torch), alpha=True),
    "sub.Tensor": lambda torch: torch.ops.aten.sub.Tensor(ones(torch), ones(torch), alpha=True),
    "sub.Scalar": lambda torch: torch.ops.aten.sub.Scalar(ones(torch), True),
    "sub_": lambda torch: ones(torch).sub_(True),
    "-": lambda torch: ones(torch) - True,
    "rsub.Scalar": lambda torch: torch.ops.aten.rsub.Scalar(ones(torch), True),
    "rsub.Tensor": lambda torch: torch.ops.aten.rsub.Tensor(ones(torch), ones(torch), alpha=True),
}


@pytest.mark.parametrize("name", BOOLS)
def test_a_bool_is_no_factor_and_is_not_subtracted(name: str) -> None:
    refused_alike(BOOLS[name])


def test_a_bool_is_a_factor_of_bools() -> None:
    agree(lambda torch: torch.ops.aten.add.Tensor(ones(torch, "bool"), ones(torch, "bool"), alpha=True))


REFUSED: dict[str, Case] = {
    "index: none": lambda torch: torch.ops.aten.index.Tensor(ones(torch), []),
    "index: too many": lambda torch: torch.ops.aten.index.Tensor(ones(torch), [torch.tensor([0])] * 2),
    "index: shapes": lambda torch: torch.ops.aten.index.Tensor(
        ones(torch, "float32", 3, 3), [torch.tensor([9, 9, 9]), torch.tensor([0, 1])]
    ),
    "index_put: dtype before range": lambda torch: torch.ops.aten.index_put.default(
        ones(torch), [torch.tensor([7])], torch.tensor(1)
    ),
    "index_put: shape before range": lambda torch: torch.ops.aten.index_put.default(
        ones(torch), [torch.tensor([7])], ones(torch, "float32", 4)
    ),
    "index_put: empty values": lambda torch: torch.ops.aten.index_put.default(
        ones(torch), [torch.tensor([0, 1])], torch.zeros(0)
    ),
    "index_put: range": lambda torch: torch.ops.aten.index_put.default(
        ones(torch), [torch.tensor([7])], torch.zeros(1)
    ),
    "index_select: an empty dimension": lambda torch: torch.ops.aten.index_select.default(
        torch.zeros(2, 0), 1, torch.tensor(1)
    ),
    "scatter_add: index's dtype": lambda torch: torch.scatter_add(ones(torch), 0, ones(torch), torch.tensor(1.0)),
    "scatter_add: src's rank": lambda torch: torch.scatter_add(
        torch.zeros(3, 3), 1, torch.full((3, 3), 9), torch.tensor(1.0)
    ),
    "scatter_add: src's rank on meta": lambda torch: torch.scatter_add(
        torch.zeros(3, 3, device="meta"), 1, torch.zeros(3, 3, dtype=torch.int64, device="meta"),
        torch.zeros((), device="meta"),
    ),
    "scatter_add: dimension on meta": lambda torch: torch.scatter_add(
        torch.zeros((), device="meta"), 1, torch.zeros((), device="meta"), torch.zeros((), device="meta")
    ),
    "gather: index's rank on meta": lambda torch: torch.gather(
        torch.zeros(3, 3, device="meta"), -2, torch.zeros((), dtype=torch.int64, device="meta")
    ),
    "var: a correction twice": lambda torch: torch.var(ones(torch), True, correction=1.0),
    "var: a keepdim that is no bool": lambda torch: torch.var(ones(torch), 0, keepdim=1),
    "var: of integers": lambda torch: torch.var(ones(torch, "int64")),
    "var: a dimension twice": lambda torch: torch.var(ones(torch), (0, 0)),
    "var: a dimension that is not there": lambda torch: torch.var(torch.tensor(1.0), 5),
    "std: an index that fails": lambda torch: torch.std(ones(torch), 0.5),
    "isclose: a class": lambda torch: torch.isclose(ones(torch), torch.Tensor),
    "set_autocast_enabled: a number": lambda torch: torch.set_autocast_enabled("x", 0),
    "set_autocast_dtype: None": lambda torch: torch.set_autocast_dtype("x", None),
    "set_autocast_cache_enabled: a number": lambda torch: torch.set_autocast_cache_enabled(0),
    "nll_loss's gradient: several weights": lambda torch: torch.ops.aten.nll_loss_backward.default(
        torch.zeros(0), torch.zeros(0), torch.zeros(0, dtype=torch.int64), None, 0, -100, ones(torch)
    ),
    "nll_loss's gradient: a gradient a target": lambda torch: torch.ops.aten.nll_loss_backward.default(
        ones(torch), ones(torch), torch.zeros(3, dtype=torch.int64), None, 1, -100, torch.tensor(1.0)
    ),
    "nll_loss's gradient: fewer gradients than rows": lambda torch: torch.ops.aten.nll_loss_backward.default(
        torch.zeros(3), torch.zeros(2, 3), torch.zeros(2, dtype=torch.int64), None, 0, -100, torch.tensor(1.0)
    ),
    "a mask on meta": lambda torch: torch.empty(3, device="meta")[torch.empty(3, dtype=torch.bool, device="meta")],
    "nonzero on meta": lambda torch: torch.nonzero(torch.empty(3, device="meta")),
    "numpy of a meta tensor that requires grad": lambda torch: ones(torch, device="meta", requires_grad=True).numpy(),
    "gather: ranks, of more than memory": lambda torch: torch.tensor(3).expand(2**62).gather(
        -1, torch.zeros(2, 3, dtype=torch.int64)
    ),
    "linearize: what func says first": lambda torch: torch.func.linearize(torch.sin, b"x"),
    "one meta number": lambda torch: torch.bitwise_xor(torch.empty((), device="meta")),
    "a method of one meta number": lambda torch: torch.empty((), device="meta").remainder(),
    "a method of one meta number and a text": lambda torch: torch.empty((), device="meta").remainder("1"),
    "split into more than memory": lambda torch: torch.tensor(1.0).expand(2**40).split(1),
    "chunks of nothing, more than memory": lambda torch: torch.zeros(0).chunk(2**40),
    "unbind into more than memory": lambda torch: torch.ops.aten.unbind.int(torch.empty(2**40, device="meta")),
    "linearize: of lists": lambda torch: torch.func.linearize(torch.add, [torch.tensor(1)]),
    "linearize: of integers": lambda torch: torch.func.linearize(torch.neg, torch.tensor(1)),
    "cross_entropy: an index of 81 bits": lambda torch: torch.nn.functional.cross_entropy(
        ones(torch), ones(torch), ignore_index=Index(2**80)
    ),
    "nll_loss: an index that is a bool": lambda torch: torch.nn.functional.nll_loss(
        torch.zeros(2, 3), torch.zeros(2, dtype=torch.int64), ignore_index=True
    ),
    "nll_loss: a target before weights": lambda torch: torch.nn.functional.nll_loss(
        ones(torch), torch.zeros(0, dtype=torch.int64), torch.zeros(0)
    ),
    "an index of no rows": lambda torch: torch.ops.aten.index.Tensor(torch.zeros(0, 2), [torch.tensor([0])]),
    "index_put beyond more than memory": lambda torch: torch.ops.aten.index_put_.default(
        torch.tensor(3.0).expand(2**62), [torch.tensor([2**62])], torch.tensor(1.0)
    ),
    "index_put at no rows": lambda torch: torch.zeros(0, 2).index_put([torch.tensor([0])], torch.tensor(1.0)),
    "leaky_relu: a slope of two": lambda torch: torch.nn.functional.leaky_relu(torch.zeros(0), torch.tensor([1, 2])),
    "leaky_relu: a slope that requires grad": lambda torch: torch.nn.functional.leaky_relu(
        torch.zeros(0), torch.tensor(0.5, requires_grad=True)
    ),
    "autocast's dtype on meta": lambda torch: torch.get_autocast_dtype("meta"),
    "whether autocast is on on meta": lambda torch: torch.is_autocast_enabled("meta"),
    "a tangent's level of 64 bits": lambda torch: torch.autograd.forward_ad.unpack_dual(ones(torch), level=2**63),
    "a dual tensor's level of 64 bits": lambda torch: torch.autograd.forward_ad.make_dual(
        ones(torch), ones(torch), level=2**64 + 3
    ),
    "+ of bools": lambda torch: +ones(torch, "bool"),
    "+ of no bools": lambda torch: +torch.zeros(0, dtype=torch.bool, device="meta"),
    "del of an item": lambda torch: ones(torch).__delitem__(0),
    "nll_loss: a target of no rows": lambda torch: torch.ops.aten.nll_loss.default(
        torch.zeros(0), torch.zeros(0, dtype=torch.int64)
    ),
    "dot: dtypes": lambda torch: torch.dot(ones(torch), ones(torch, "int32")),
    "matmul of vectors: dtypes": lambda torch: torch.matmul(ones(torch), ones(torch, "bool")),
    "dropout of integers": lambda torch: torch.ops.aten.dropout.default(ones(torch, "int64"), 0.5, True),
    "clamp_ of integers by a float": lambda torch: ones(torch, "int64").clamp_(-0.5),
    "clamp_ of integers by a second float": lambda torch: ones(torch, "int64").clamp_(0, 2.5),
    "gelu_backward: approximate": lambda torch: torch.ops.aten.gelu_backward.default(
        ones(torch), ones(torch), approximate="sum"
    ),
    "squeeze: a dimension twice": lambda torch: torch.ops.aten.squeeze.dims(torch.zeros(2, 1), [1, -1]),
    "softmax's gradient: shapes": lambda torch: torch.ops.aten._softmax_backward_data.default(
        ones(torch), torch.zeros(2), 7, torch.float32
    ),
    "linspace: complex into floats": lambda torch: torch.linspace(1j, 1, 3, dtype=torch.float32),
    "_local_scalar_dense of nothing": lambda torch: torch.ops.aten._local_scalar_dense.default(torch.zeros(0)),
    "item of two": lambda torch: ones(torch, "float32", 2).item(),
    "add: a number of 71 bits": lambda torch: torch.ops.aten.add.Scalar(ones(torch), -1, 2**70),
    "gt: a number of 65 bits": lambda torch: torch.gt(ones(torch), 2**64 + 3),
    "an extra argument and a number of 64 bits": lambda torch: torch.ops.aten.mul_.Scalar(
        ones(torch), -(2**63) - 1, dim=1
    ),
    "sigmoid_ of integers on meta": lambda torch: torch.ops.aten.sigmoid_.default(
        torch.ones(3, dtype=torch.int64, device="meta")
    ),
    "exp2_ of bools on meta": lambda torch: torch.ops.aten.exp2_.default(
        torch.ones(3, dtype=torch.bool, device="meta")
    ),
    "div_ of integers on meta": lambda torch: torch.ones(3, dtype=torch.int64, device="meta").div_(2),
    "floor_divide's gradient": lambda torch: torch.floor_divide(ones(torch, requires_grad=True), 2).sum().backward(),
    "detach_copy's gradient": lambda torch: torch.ops.aten.detach_copy.default(
        ones(torch, requires_grad=True)
    ).sum().backward(),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_by_pytorch(name: str) -> None:
    refused_alike(REFUSED[name])


GIVEN: dict[str, Case] = {
    "floor_divide is recorded": lambda torch: torch.floor_divide(ones(torch), ones(torch, requires_grad=True)),
    "detach_copy is recorded": lambda torch: torch.ops.aten.detach_copy.default(ones(torch, requires_grad=True)),
    "_local_scalar_dense of two": lambda torch: torch.ops.aten._local_scalar_dense.default(torch.tensor([2.5, 1.0])),
    "movedim of no dimension": lambda torch: torch.movedim(torch.tensor(1.0), 0, -1),
    "var of no dimension": lambda torch: torch.var(torch.tensor(1.0), -1),
    "var of nothing": lambda torch: torch.var(torch.zeros(2, 0), 1),
    "var of nothing along the other": lambda torch: torch.var(torch.zeros(2, 0), 0),
    "var of all": lambda torch: torch.var(torch.arange(6.0).reshape(2, 3), None, False, True),
    "std along one": lambda torch: torch.std(torch.arange(6.0).reshape(2, 3), 1, correction=0),
    "std, biased": lambda torch: torch.std(torch.arange(6.0), False),
    "nonzero of much nothing": lambda torch: torch.nonzero(torch.empty(0, 2**62)),
    "nll_loss of one row": lambda torch: torch.ops.aten.nll_loss_forward.default(
        torch.tensor([1.0, 2.0]), torch.tensor([1]), None, 0, -100
    )[0],
    "nll_loss's gradient of one row": lambda torch: torch.ops.aten.nll_loss_backward.default(
        torch.tensor([2.0]), torch.zeros(3), torch.tensor([1, 0, 2]), None, 2, -100, torch.tensor(1.0)
    ),
    "an index beyond, of nothing": lambda torch: torch.ops.aten.index.Tensor(
        torch.zeros(2, 0), [torch.zeros(0, dtype=torch.int64), torch.tensor(1)]
    ),
    "an index beyond, of empty rows": lambda torch: torch.zeros(2, 0)[torch.tensor([5])],
    "index_put beyond, of nothing": lambda torch: torch.zeros(2, 3).index_put(
        [torch.zeros(0, dtype=torch.int64), torch.tensor(5)], torch.tensor(1.0)
    ),
    "index_put beyond, of empty rows": lambda torch: torch.zeros(2, 0).index_put(
        [torch.tensor([5])], torch.tensor(1.0), accumulate=True
    ),
    "an index of much nothing": lambda torch: list(torch.empty(0, 2**62)[torch.zeros(0, dtype=torch.int64)].shape),
    "index_select of much nothing": lambda torch: list(
        torch.empty(0, 2**62).index_select(0, torch.zeros(0, dtype=torch.int64)).shape
    ),
    "tolist of much nothing": lambda torch: torch.empty(0, 2**62).tolist(),
    "tolist of nothing": lambda torch: torch.empty(2, 0, 3).tolist(),
    "rand of much nothing": lambda torch: list(torch.rand(2**62, 0).shape),
    "randint of much nothing": lambda torch: list(torch.randint(3, (2**62, 0)).shape),
    "leaky_relu: a slope of one": lambda torch: torch.nn.functional.leaky_relu(-ones(torch), torch.tensor(0.5)),
    "a tangent at a level as NumPy's number": lambda torch: torch.autograd.forward_ad.unpack_dual(
        ones(torch), level=numpy.int64(1)
    )[1],
    "a tangent at a level as a tensor": lambda torch: torch.autograd.forward_ad.unpack_dual(
        ones(torch), level=torch.tensor(1)
    )[1],
    "cross_entropy: an index with an __index__": lambda torch: torch.nn.functional.cross_entropy(
        torch.zeros(2, 3), torch.tensor([0, 1]), ignore_index=Index(1)
    ),
    "+ of integers": lambda torch: +ones(torch, "int64"),
    "linspace of complex numbers": lambda torch: torch.linspace(1j, 1, 3),
    "randint with dtype=None": lambda torch: torch.ops.aten.randint.default(1, [2], dtype=None),
    "torch.randint with dtype=None": lambda torch: torch.randint(1, [2], dtype=None),
    "dropout of integers that keeps all": lambda torch: torch.ops.aten.dropout.default(ones(torch, "int64"), 0, True),
    "as_strided_scatter of every other": lambda torch: torch.as_strided_scatter(
        torch.arange(6.0)[::2], torch.full((3,), 9.0), [3], [1]
    ),
    "as_strided_scatter of the rest": lambda torch: torch.as_strided_scatter(
        torch.arange(6.0)[1:4], torch.full((2,), 9.0), [2], [1]
    ),
    "as_strided_scatter of an expanded one": lambda torch: torch.as_strided_scatter(
        torch.ones(1).expand(4), torch.zeros(2), [2], [1]
    ),
}


@pytest.mark.parametrize("name", GIVEN)
def test_given_as_by_pytorch(name: str) -> None:
    agree(GIVEN[name])


@pytest.mark.parametrize("numbers", [(1, "int64"), (True, "int64"), (1, "bool"), (True, "bool"), (2**40, "int32")])
@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bits_of_a_number_and_a_tensor(name: str, numbers: tuple[int, str]) -> None:
    number, dtype = numbers
    agree(lambda torch: getattr(torch, name)(number, torch.tensor([1, 0], dtype=getattr(torch, dtype))))
    agree(lambda torch: getattr(torch.ops.aten, name).Scalar_Tensor(number, torch.tensor([1], device="meta")).is_meta)
    refused_alike(lambda torch: getattr(torch, name)(number, torch.ones(2)))
    refused_alike(lambda torch: getattr(torch, name)(number, number))


@pytest.mark.parametrize("dims", [None, (), (0,), [1, 0], (-1,), (0, 0), (5,)])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32"])
@pytest.mark.parametrize("name", ["any", "all"])
def test_truth_along_several_dimensions(name: str, dtype: str, dims: Any) -> None:
    def case(torch: Any) -> Any:
        x = torch.tensor([[1, 0, 1], [1, 0, 0]], dtype=getattr(torch, dtype))
        on_meta = getattr(x.to("meta"), name)(dims, True)
        return getattr(torch, name)(x, dim=dims), getattr(x, name)(dims, keepdim=True), list(on_meta.shape)

    if dims in ((0, 0), (5,)):
        refused_alike(case)
    else:
        agree(case)


GRADIENTS = ("threshold_backward", "sigmoid_backward", "tanh_backward", "silu_backward", "gelu_backward")


@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("float32", "float64"), ("float64", "float64")])
@pytest.mark.parametrize("shapes", [((), (3,)), ((2,), (3, 1)), ((0,), ())])
@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradients_of_activations_broadcast(
    name: str, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[str, str]
) -> None:
    if name == "gelu_backward" and "float64" not in dtypes[1:]:
        pytest.skip("PyTorch hands float32 to a library that does not broadcast")

    def case(torch: Any) -> Any:
        grad, saved = (torch.full(s, 0.5, dtype=getattr(torch, d)) for s, d in zip(shapes, dtypes, strict=True))
        numbers = (0.25,) if name == "threshold_backward" else ()
        return getattr(torch.ops.aten, name).default(grad, saved, *numbers)

    agree(case)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradients_of_activations_refuse_other_shapes(name: str, device: str) -> None:
    numbers = (0.25,) if name == "threshold_backward" else ()
    refused_alike(
        lambda torch: getattr(torch.ops.aten, name).default(
            torch.ones(2, device=device), torch.ones(3, device=device), *numbers
        )
    )


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_the_gradient_of_nll_loss_checks_on_meta_what_it_checks_on_the_cpu(device: str) -> None:
    """PyTorch's rule for meta asserts."""
    one, row = ours.zeros((), device=device), ours.zeros(4, device=device)
    target = ours.zeros((), dtype=ours.int64, device=device)
    with pytest.raises(RuntimeError, match="total_weight to be a single element"):
        ours.ops.aten.nll_loss_backward(one, row, target, None, 1, -100, row)
    with pytest.raises(RuntimeError, match="1D or 2D"):
        ours.ops.aten.nll_loss_backward(one, one, target, None, 0, -100, one)
