"""`backward`, `grad`, the grad modes and `gradcheck`, beside PyTorch's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mindtorch_v2
from mindtorch_v2.autograd import Function, GradcheckError, gradcheck
from tests.runtime.both import agree


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0, 3.0), requires_grad=True)


# ---------------------------------------------------------------- backward and grad


def test_gradients_accumulate() -> None:
    def case(torch: Any) -> Any:
        x = leaf(torch)
        (x * 2).sum().backward()
        first = x.grad.clone()
        (x * x).sum().backward()
        return first, x.grad

    agree(case)


def test_a_gradient_of_another_shape_than_ones() -> None:
    def case(torch: Any) -> Any:
        x = leaf(torch)
        (x * 2).backward(torch.tensor([1.0, 10.0, 100.0]))
        return x.grad

    agree(case)


def test_backward_of_several_tensors() -> None:
    def case(torch: Any) -> Any:
        x, y = leaf(torch), leaf(torch)
        torch.autograd.backward([(x * y).sum(), x * 3], [None, torch.ones(3)])
        return x.grad, y.grad

    agree(case)


def test_backward_into_chosen_inputs() -> None:
    def case(torch: Any) -> Any:
        x, y = leaf(torch), leaf(torch)
        (x * y).sum().backward(inputs=[x])
        (x * y).sum().backward(inputs=x)
        return x.grad, y.grad

    agree(case)


def test_grad() -> None:
    def case(torch: Any) -> Any:
        x, y = leaf(torch), leaf(torch)
        z = (x * y).sum()
        grads = torch.autograd.grad(z, [y, x])
        return grads, x.grad, y.grad

    agree(case)


def test_grad_of_an_inner_tensor() -> None:
    def case(torch: Any) -> Any:
        x = leaf(torch)
        h = x * 2
        return torch.autograd.grad((h * h).sum(), [h, x])

    agree(case)


def test_grad_with_grad_outputs() -> None:
    def case(torch: Any) -> Any:
        x = leaf(torch)
        return torch.autograd.grad([x * 2, x * 3], x, [torch.ones(3), torch.tensor([1.0, 2.0, 3.0])])

    agree(case)


def test_unused_inputs() -> None:
    def case(torch: Any) -> Any:
        x, unused = leaf(torch), leaf(torch)
        return (
            torch.autograd.grad((x * 2).sum(), [x, unused], allow_unused=True),
            torch.autograd.grad((x * 2).sum(), [x, unused], materialize_grads=True),
        )

    agree(case)


def test_create_graph() -> None:
    def case(torch: Any) -> Any:
        x = leaf(torch)
        (first,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((first * first).sum(), x)
        return first, second

    agree(case)


def test_a_gradient_penalty() -> None:
    def case(torch: Any) -> Any:
        x, w = leaf(torch), leaf(torch, 2.0, 3.0, 4.0)
        (grad,) = torch.autograd.grad((w * x * x).sum(), x, create_graph=True)
        ((grad * grad).sum() + (w * x).sum()).backward()
        return w.grad, x.grad

    agree(case)


def test_retain_grad_and_hooks() -> None:
    def case(torch: Any) -> Any:
        x = leaf(torch)
        h = x * 2
        h.retain_grad()
        seen: list[Any] = []
        h.register_hook(lambda grad: seen.append(grad.clone()))
        handle = x.register_hook(lambda grad: grad * 10)
        (h * 3).sum().backward()
        first = x.grad.clone()
        handle.remove()
        (x * 1).sum().backward()
        return h.grad, seen, first, x.grad

    agree(case)


def graph_of(torch: Any) -> Any:
    x, y = leaf(torch), leaf(torch)
    z = x * y + x
    return (
        [(type(node).__name__ == "NoneType", number) for node, number in z.grad_fn.next_functions],
        x.grad_fn,
        x.is_leaf,
    )


def test_next_functions() -> None:
    agree(graph_of)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (2, 1), (1, 1), (2, 3), (4, 1, 3), (4, 2, 1), (1, 2, 1)])
def test_gradients_have_their_inputs_shape(shape: tuple[int, ...]) -> None:
    """What broadcasting repeated is summed, so formulas need not."""

    def case(torch: Any) -> Any:
        x = torch.ones(shape, requires_grad=True)
        (x * torch.arange(24.0).reshape(4, 2, 3)).sum().backward()
        return x.grad

    agree(case)


def test_gradients_have_their_inputs_dtype() -> None:
    def case(torch: Any) -> Any:
        x = leaf(torch)
        (x.double() * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)).sum().backward()
        (x * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)).sum().backward()
        return x.grad

    agree(case)


def not_scalar(torch: Any) -> None:
    (leaf(torch) * 2).backward()


def no_grad_needed(torch: Any) -> None:
    torch.ones(1).backward()


def freed(torch: Any) -> None:
    x = leaf(torch)
    y = (x * x).sum()
    y.backward()
    y.backward()


@pytest.mark.parametrize(
    ("case", "quoted"),
    [
        (not_scalar, "grad can be implicitly created only for scalar outputs"),
        (no_grad_needed, "does not require grad and does not have a grad_fn"),
        (freed, "Trying to backward through the graph a second time"),
        (lambda torch: leaf(torch).sum().backward(torch.ones(2)), "Mismatch in shape"),
        (lambda torch: leaf(torch).sum().backward(inputs=[]), "argument to `backward()` cannot be empty"),
        (
            lambda torch: torch.autograd.grad(leaf(torch).sum(), leaf(torch)),
            "appears to not have been used in the graph. Set allow_unused=True",
        ),
        (
            lambda torch: torch.autograd.grad(leaf(torch).sum(), torch.ones(3)),
            "One of the differentiated Tensors does not require grad",
        ),
        (
            lambda torch: torch.autograd.grad(
                leaf(torch).sum(), leaf(torch), allow_unused=False, materialize_grads=True
            ),
            "Expected allow_unused to be True or not passed when materialize_grads=True",
        ),
        (
            lambda torch: leaf(torch).add_(1),
            "a leaf Variable that requires grad is being used in an in-place operation",
        ),
        (lambda torch: torch.ones(2).long().requires_grad_(), "can require gradients"),
    ],
)
def test_mistakes(case: Callable[[Any], Any], quoted: str) -> None:
    agree(case, quoted)


def test_as_many_gradients_as_tensors() -> None:
    """PyTorch drops what is too many."""
    total = leaf(mindtorch_v2).sum()
    with pytest.raises(RuntimeError, match="got 1 tensors and 2 gradients"):
        mindtorch_v2.autograd.backward([total], [None, None])


# ---------------------------------------------------------------- grad modes


def modes(torch: Any) -> Any:
    """Grad mode before, inside and after each way to set it."""
    seen = []

    def note() -> bool:
        seen.append(torch.is_grad_enabled())
        return True

    @torch.no_grad()
    def off() -> bool:
        return note()

    @torch.no_grad
    def off_bare() -> bool:
        return note()

    @torch.enable_grad()
    def on() -> bool:
        return note()

    @torch.set_grad_enabled(False)
    def set_off() -> bool:
        return note()

    note()
    for function in (off, off_bare, on, set_off):
        function()
        note()
    with torch.no_grad():
        note()
        with torch.enable_grad():
            note()
            off()
            note()
        on()
        note()
    note()
    with torch.set_grad_enabled(False):
        note()
    note()
    torch.set_grad_enabled(False)
    note()
    torch.set_grad_enabled(True)
    note()
    return seen


def test_grad_modes() -> None:
    agree(modes)


def test_a_mode_object_may_be_entered_inside_itself() -> None:
    def case(torch: Any) -> Any:
        seen, mode = [], torch.no_grad()
        with mode:
            with torch.enable_grad():
                seen.append(torch.is_grad_enabled())
            seen.append(torch.is_grad_enabled())
        return seen, torch.is_grad_enabled()

    agree(case)
    mode = mindtorch_v2.no_grad()
    with mindtorch_v2.enable_grad(), mode, mode:
        assert not mindtorch_v2.is_grad_enabled()
    assert mindtorch_v2.is_grad_enabled()


@pytest.mark.parametrize("mode", ["no_grad", "enable_grad", "set_grad_enabled"])
def test_an_exception_restores_the_mode(mode: str) -> None:
    torch = mindtorch_v2
    manager: Any = torch.set_grad_enabled(False) if mode == "set_grad_enabled" else getattr(torch, mode)()
    with pytest.raises(KeyError), manager:
        raise KeyError
    assert torch.is_grad_enabled()

    @getattr(torch, mode)(*((False,) if mode == "set_grad_enabled" else ()))
    def fail() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert torch.is_grad_enabled()


def test_a_decorated_generator() -> None:
    """The mode is the generator's while it runs, and the consumer's in between."""

    def case(torch: Any) -> Any:
        seen: list[Any] = []

        @torch.no_grad()
        def generate() -> Iterator[Any]:
            sent = yield torch.is_grad_enabled()
            seen.append(sent)
            try:
                yield torch.is_grad_enabled()
            except ValueError as error:
                seen.append((str(error), torch.is_grad_enabled()))
                yield "handled"
            return "done"

        generator: Any = generate()
        seen += [next(generator), torch.is_grad_enabled()]
        seen += [generator.send("hello"), torch.is_grad_enabled()]
        seen += [generator.throw(ValueError("thrown")), torch.is_grad_enabled()]
        try:
            next(generator)
        except StopIteration as stop:
            seen.append(stop.value)
        return seen, torch.is_grad_enabled()

    agree(case)


def test_a_mode_belongs_to_its_thread() -> None:
    torch, seen = mindtorch_v2, []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_nothing_is_recorded_without_grad() -> None:
    def case(torch: Any) -> Any:
        x = leaf(torch)
        with torch.no_grad():
            y = x * 2
        with torch.no_grad(), torch.enable_grad():
            z = x * 2
        return y.requires_grad, y.grad_fn, z.requires_grad

    agree(case)


# ---------------------------------------------------------------- gradcheck


def doubles(torch: Any) -> tuple[Any, Any]:
    return (
        torch.tensor([[0.5, -1.0], [2.0, 3.0]], dtype=torch.float64, requires_grad=True),
        torch.tensor([1.5, 0.25], dtype=torch.float64, requires_grad=True),
    )


def wrong_function(torch: Any) -> Any:
    members = {
        "forward": staticmethod(lambda ctx, x: x * x),
        "backward": staticmethod(lambda ctx, grad: grad * 2),
    }
    return type("Wrong", (torch.autograd.Function,), members)


def test_gradcheck_accepts_right_gradients() -> None:
    agree(lambda torch: torch.autograd.gradcheck(lambda x, y, k: (x * y * k, x + y), (*doubles(torch), 3)))


def test_gradcheck_finds_wrong_gradients() -> None:
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(wrong_function(mindtorch_v2).apply, doubles(mindtorch_v2)[:1])
    assert not gradcheck(wrong_function(mindtorch_v2).apply, doubles(mindtorch_v2)[:1], raise_exception=False)


def test_gradcheck_finds_a_missing_gradient() -> None:
    class Half(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x * y.sum()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 1.75, None

    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 1"):
        gradcheck(Half.apply, doubles(mindtorch_v2))


def test_gradcheck_needs_an_input_that_requires_grad() -> None:
    agree(
        lambda torch: torch.autograd.gradcheck(lambda x: x * 2, (torch.ones(2, dtype=torch.float64),)),
        "gradcheck expects at least one input tensor to require gradient",
    )


def test_gradcheck_warns_of_single_precision() -> None:
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision floating point"):
        gradcheck(lambda x: x * 2, (leaf(mindtorch_v2),), eps=1e-2, atol=1e-2)
