"""The operators of operators.py, forward, backward and under everything that PyTorch does with operators."""

from __future__ import annotations

import gc
import math
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import forward_ad, gradcheck, gradgradcheck
from mindtorch_v2.library import opcheck
from tests.definitions.operators import _lib, layer_norm, product, row_sums, scaled_add


def rows(*shape: int, dtype: Any = None, grad: bool = False) -> torch.Tensor:
    """Numbers that are different from each other."""
    numbers = np.sin(np.arange(math.prod(shape), dtype=np.float64) * 1.7 + len(shape)).reshape(shape)
    return torch.tensor(numbers.tolist(), dtype=dtype or torch.float32).reshape(shape).requires_grad_(grad)


def as_array(t: torch.Tensor) -> Any:
    return np.array(t.detach().cpu().tolist())


def close(t: torch.Tensor, expected: Any) -> bool:
    return bool(np.allclose(as_array(t), np.asarray(expected), atol=1e-5))


def norm(x: torch.Tensor, weight: Any = None, bias: Any = None) -> torch.Tensor:
    return layer_norm(x, weight, bias)[0]


@pytest.fixture(autouse=True, scope="module")
def whole_definitions() -> None:
    _lib.check()


# ---------------------------------------------------------------- forward
def test_what_is_launched_gets_contiguous_memory() -> None:
    x, y = rows(4, 3), rows(3, 4).t()
    assert close(scaled_add(x, y, scale=2.0), as_array(x) + 2 * as_array(y))


@pytest.mark.parametrize("shape", [(), (0,), (1,), (5, 0, 2), (70, 70)])
def test_every_shape(shape: tuple[int, ...]) -> None:
    x, y = rows(*shape), rows(*shape)
    out = scaled_add(x, y, scale=-1.5)
    assert out.shape == x.shape
    assert close(out, as_array(x) - 1.5 * as_array(y))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_optional_arguments_are_ways(weighted: bool, biased: bool) -> None:
    x = rows(2, 3, 5, dtype=torch.float64)
    weight, bias = rows(5, dtype=torch.float64), rows(5, dtype=torch.float64)
    given = weight if weighted else None, bias if biased else None
    out, mean, rstd = layer_norm(x, *given)
    array = as_array(x)
    expected = (array - array.mean(-1, keepdims=True)) / np.sqrt(array.var(-1, keepdims=True) + 1e-5)
    expected = expected * (as_array(weight) if weighted else 1) + (as_array(bias) if biased else 0)
    assert close(out, expected)
    assert close(mean, array.mean(-1, keepdims=True))
    assert mean.shape == rstd.shape == (2, 3, 1)


def test_a_struct_is_packed_for_c() -> None:
    x = rows(3, 4)
    assert close(row_sums(x, scale=0.5), 0.5 * as_array(x).sum(-1))


def test_meta_tensors_get_what_is_allocated() -> None:
    x = torch.empty(6, 4, device="meta")
    assert scaled_add(x, x).shape == (6, 4)
    assert [t.shape for t in layer_norm(x)] == [(6, 4), (6, 1), (6, 1)]
    assert scaled_add(x, x).is_meta
    with pytest.raises(
        RuntimeError, match=r"expected x and y to have the same shape, got x.shape = \[6, 4\], y.shape = \[4\]"
    ):
        scaled_add(x, torch.empty(4, device="meta"))


def test_a_mode_without_gradients_records_nothing() -> None:
    x = rows(4, grad=True)
    with torch.no_grad():
        assert not scaled_add(x, x).requires_grad
    with torch.inference_mode():
        assert scaled_add(x, x).is_inference()


# ---------------------------------------------------------------- errors
def test_a_check_says_what_was_expected_and_got() -> None:
    message = r"defined::scaled_add: expected x and y to have the same shape, got x.shape = \[2, 3\], y.shape = \[3\]"
    with pytest.raises(torch.library.CheckError, match=message):
        scaled_add(rows(2, 3), rows(3))
    with pytest.raises(torch.library.CheckError, match=r"expected x to have 2 dimensions, got x.dim\(\) = 1"):
        row_sums(rows(3))


def test_a_wrong_dtype_names_the_argument() -> None:
    message = r"defined::scaled_add: argument 'y': kernel scaled_add, argument 2 .* expected dtype float32, got float64"
    with pytest.raises(RuntimeError, match=message):
        scaled_add(rows(3), rows(3, dtype=torch.float64))


def test_a_number_beyond_its_c_type_names_the_argument() -> None:
    with pytest.raises(OverflowError, match=r"defined::scaled_add: argument 'scale': kernel scaled_add, argument 4"):
        scaled_add(rows(3), rows(3), scale=1e300)


def test_a_wrong_argument_is_explained_by_the_schema() -> None:
    with pytest.raises(TypeError, match=r"argument 'y'.* must be Tensor, not int"):
        scaled_add(rows(3), 3)


# ---------------------------------------------------------------- gradients
def test_gradients_are_what_the_formula_says() -> None:
    x, y = rows(4, 3, grad=True), rows(4, 3, grad=True)
    grad = rows(4, 3)
    product(x, y, 3.0).backward(grad)
    assert close(x.grad, as_array(grad) * as_array(y) * 3)
    assert close(y.grad, as_array(grad) * as_array(x) * 3)


@pytest.mark.parametrize("needed", [(True, False), (False, True), (True, True)])
def test_only_what_requires_grad_gets_one(needed: tuple[bool, bool]) -> None:
    x, y = (rows(3, grad=grad) for grad in needed)
    out = product(x, y)
    assert out.grad_fn.needs_input_grad == (*needed, False)
    out.sum().backward()
    assert [t.grad is not None for t in (x, y)] == list(needed)


def test_what_is_not_read_is_not_saved() -> None:
    x, y = rows(3, grad=True), rows(3)
    saved = product(x, y).grad_fn.saved_tensors
    assert len([t for t in saved if t is not None]) == 1
    assert next(t for t in saved if t is not None) is y
    reference = weakref.ref(x.clone())
    out = scaled_add(x, y)
    assert not [t for t in out.grad_fn.saved_tensors if t is not None]
    assert reference() is None


@pytest.mark.parametrize("shapes", [[(2, 5), (5,), (5,)], [(3, 4)]])
def test_gradcheck_and_gradgradcheck(shapes: list[tuple[int, ...]]) -> None:
    inputs = tuple(rows(*shape, dtype=torch.float64, grad=True) for shape in shapes)
    assert gradcheck(layer_norm, inputs)
    assert gradgradcheck(norm, inputs)


def test_second_derivatives() -> None:
    x, y = rows(3, grad=True), rows(3, grad=True)
    (first,) = torch.autograd.grad(product(x, y, 2.0).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), y)
    assert second.tolist() == [2.0] * 3


def test_a_graph_is_freed_without_the_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        x = rows(2, 3, dtype=torch.float64, grad=True)
        out = norm(x)  # its gradient reads two of its outputs
        reference = weakref.ref(out.grad_fn)
        del out
        assert reference() is None
    finally:
        gc.enable()


def test_a_second_backward_and_a_change_in_place_are_errors() -> None:
    x, y = rows(3, grad=True), rows(3)
    out = product(x, y).sum()
    out.backward()
    with pytest.raises(RuntimeError, match=r"Trying to backward through the graph a second time"):
        out.backward()
    out = product(x, y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*ProductBackward0"):
        out.backward()


def test_retained_graphs_and_hooks() -> None:
    x, y = rows(3, grad=True), rows(3, grad=True)
    out = product(x, y)
    seen = []
    out.register_hook(lambda grad: seen.append(grad.tolist()))
    out.sum().backward(retain_graph=True)
    out.sum().backward()
    assert seen == [[1.0] * 3] * 2
    assert close(x.grad, 2 * as_array(y))


def test_saved_tensor_hooks_see_what_is_saved() -> None:
    x, y = rows(3, grad=True), rows(3)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t * 2):
        out = product(x, y)
    out.sum().backward()
    assert len(packed) == 1
    assert close(x.grad, 2 * as_array(y))


def test_anomaly_mode_names_the_forward_call() -> None:
    x, y = rows(3, grad=True), torch.tensor([1.0, float("nan"), 1.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with (
            pytest.raises(RuntimeError, match=r"'ProductBackward0' returned nan values"),
            torch.autograd.detect_anomaly(),
        ):
            product(x, y).sum().backward()
    assert any("test_anomaly_mode_names_the_forward_call" in str(w.message) for w in caught)


def test_the_gradient_of_an_output_that_nobody_used_counts_as_zeros() -> None:
    x = rows(2, 4, dtype=torch.float64, grad=True)
    _, mean, _ = layer_norm(x)
    (grad,) = torch.autograd.grad(mean.sum(), x)
    assert close(grad, np.full((2, 4), 0.25))


# ---------------------------------------------------------------- transforms
def test_vmap() -> None:
    x, y = rows(5, 3), rows(5, 3)
    found = torch.func.vmap(lambda a, b: product(a, b, 2.0))(x, y)
    assert close(found, 2 * as_array(x) * as_array(y))


def test_jvp_and_hessian() -> None:
    x, y, tangent = rows(3), rows(3), torch.tensor([1.0, 2.0, 3.0])
    _, found = torch.func.jvp(lambda a: product(a, y, 2.0), (x,), (tangent,))
    assert close(found, 2 * as_array(y) * as_array(tangent))
    hessian = torch.func.hessian(lambda a: product(a, a).sum())(x)
    assert close(hessian, 2 * np.eye(3))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        assert close(forward_ad.unpack_dual(product(dual, y)).tangent, as_array(y) * as_array(tangent))


def test_functionalize() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y.add_(product(y, y, 2.0))
        return y

    x = rows(3)
    assert close(torch.func.functionalize(function)(x), as_array(x) + 2 * as_array(x) ** 2)


def test_grad_of_vmap() -> None:
    x, y = rows(4, 3), rows(4, 3)
    found = torch.func.vmap(torch.func.grad(lambda a, b: product(a, b).sum()))(x, y)
    assert close(found, as_array(y))


@pytest.mark.parametrize(
    ("op", "args", "kwargs"),
    [
        (scaled_add, lambda: (rows(2, 3, grad=True), rows(2, 3, grad=True)), {"scale": 2.0}),
        (row_sums, lambda: (rows(2, 3, grad=True),), {"scale": 2.0}),
        (layer_norm, lambda: (rows(2, 3, dtype=torch.float64, grad=True), rows(3, dtype=torch.float64), None), {}),
        (product, lambda: (rows(2, 3, grad=True), rows(2, 3)), {}),
    ],
    ids=["scaled_add", "row_sums", "layer_norm", "product"],
)
def test_opcheck(op: Any, args: Any, kwargs: dict[str, Any]) -> None:
    opcheck(op, args(), kwargs)


def test_a_dispatch_mode_sees_the_call() -> None:
    from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    x = rows(3, grad=True)
    with Log():
        out = product(x, x)
    assert seen[0] is product
    out.sum().backward()
    assert close(x.grad, 2 * as_array(x))


def test_threads() -> None:
    x, y = rows(64, 64, grad=True), rows(64, 64)
    failures = []

    def work() -> None:
        for _ in range(200):
            (grad,) = torch.autograd.grad(product(x, y, 2.0).sum(), x)
            if not close(grad, 2 * as_array(y)):
                failures.append(grad)
                return

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ---------------------------------------------------------------- NPU
def test_npu_forward_and_backward() -> None:
    x, y = rows(100, 33), rows(100, 33)
    a, b = x.to("npu").requires_grad_(), y.to("npu").requires_grad_()
    out = scaled_add(a, b, scale=2.0)
    assert out.is_npu
    assert close(out, as_array(x) + 2 * as_array(y))
    out.sum().backward()
    assert close(b.grad, np.full((100, 33), 2.0))


def test_npu_tiling_and_workspace() -> None:
    x = rows(19, 7)
    a = x.to("npu").requires_grad_()
    out = row_sums(a, scale=0.5)
    assert close(out, 0.5 * as_array(x).sum(-1))
    out.sum().backward()
    assert close(a.grad, np.full((19, 7), 0.5))


def test_npu_errors_name_the_operator() -> None:
    with pytest.raises(
        RuntimeError, match=r"defined::scaled_add: kernel scaled_add, argument 1 .* expected dtype float32"
    ):
        scaled_add(rows(3, dtype=torch.float64).to("npu"), rows(3, dtype=torch.float64).to("npu"))
    with pytest.raises(RuntimeError, match=r"on npu"):
        scaled_add(rows(3).to("npu"), rows(3))


def test_npu_tensors_without_a_kernel_there_are_computed_on_the_cpu() -> None:
    x = rows(2, 3, dtype=torch.float64)
    found = layer_norm(x.to("npu"))[0]
    assert found.is_npu
    assert close(found, as_array(norm(x)))


def test_outputs_without_a_gradient() -> None:
    """What a formula saves beside one: an output, and what an argument was before."""
    lib = torch.library.Library("apart", "DEF")

    @lib.operator("squares(Tensor x) -> (Tensor, Tensor, Tensor)")
    def squares(op: Any, x: Any) -> None:
        op.returns()
        op.python(lambda x: (x * x, x + 0, x > 0), device=["CPU", "Meta"])

        @op.gradient(differentiable=(True, False, False))
        def _(grad: Any, *_more: Any) -> Any:
            return {x: grad * 2 * x}

    @lib.operator("squared(Tensor(a!) x, Tensor(b!) count) -> (Tensor(a!), Tensor(b!))")
    def squared(op: Any, x: Any, count: Any) -> None:
        op.returns()
        op.python(lambda x, count: (x.mul_(x), count.add_(1)), device=["CPU", "Meta"])

        @op.gradient(differentiable=(True, False))
        def _(grad: Any, *_more: Any) -> Any:
            return {x: grad * 2 * op.before(x)}

    lib.check()
    x = rows(3, grad=True)
    for _ in range(2):
        found, same, positive = torch.ops.apart.squares(x)
        assert (found.requires_grad, same.requires_grad, positive.requires_grad) == (True, False, False)
        (grad,) = torch.autograd.grad(found.sum() + same.sum(), x, create_graph=True)
        assert close(grad, 2 * as_array(x))
        assert close(torch.autograd.grad(grad.square().sum(), x)[0], 8 * as_array(x))
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            hooked = torch.ops.apart.squares(x)
        assert [t.requires_grad for t in hooked] == [True, False, False]
        assert close(torch.autograd.grad(hooked[0].sum(), x)[0], 2 * as_array(x))
    count, y = torch.zeros(()), x * 1
    torch.ops.apart.squared(y, count)
    assert close(torch.autograd.grad(y.sum(), x)[0], 2 * as_array(x))
    assert count.item() == 1
    assert close(torch.func.grad(lambda t: torch.ops.apart.squares(t)[0].sum())(x.detach()), 2 * as_array(x))
