"""A layer of LSTM by itself: outputs and gradients are PyTorch's, in either direction."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch_v2
from tests.runtime.both import agree

STEPS, BATCH, FEATURES, HIDDEN, LSTM = 3, 2, 4, 5, 2


def numbers(torch: Any, *shape: int) -> Any:
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count, dtype=torch.float32) * 0.7).sin().reshape(shape)


def tensors(torch: Any) -> list[Any]:
    """Input, weights of input and state, both biases, state and memory."""
    gates = 4 * HIDDEN
    shapes = [(STEPS, BATCH, FEATURES), (gates, FEATURES), (gates, HIDDEN), (gates,), (gates,), (BATCH, HIDDEN)]
    return [numbers(torch, *shape) for shape in (*shapes, (BATCH, HIDDEN))]


def options(reverse: bool) -> tuple[Any, ...]:
    return reverse, [], LSTM, HIDDEN, 1, True, False, False, True


@pytest.mark.parametrize("reverse", [False, True])
def test_outputs_and_gradients(reverse: bool) -> None:
    def case(torch: Any) -> Any:
        given = [x.requires_grad_() for x in tensors(torch)]
        outputs = torch.ops.aten.mkldnn_rnn_layer(*given, *options(reverse))[:3]
        total = sum((x * numbers(torch, *x.shape)).sum() for x in outputs)
        return outputs, torch.autograd.grad(total, given)

    agree(case)


@pytest.mark.parametrize("missing", [(), (0,), (1, 2)])
@pytest.mark.parametrize("reverse", [False, True])
def test_backward_by_itself(reverse: bool, missing: tuple[int, ...]) -> None:
    """It is what autograd finds; without the gradient of an output, as if that were zeros."""
    torch = mindtorch_v2
    given = [x.requires_grad_() for x in tensors(torch)]
    *outputs, workspace = torch.ops.aten.mkldnn_rnn_layer(*given, *options(reverse))
    grads = [None if i in missing else numbers(torch, *x.shape) for i, x in enumerate(outputs)]
    told = (reverse, LSTM, HIDDEN, 1, True, True, False, [], False, workspace)
    found = torch.ops.aten.mkldnn_rnn_layer_backward(*given, *outputs, *grads, *told)
    total = sum((x * g).sum() for x, g in zip(outputs, grads, strict=True) if g is not None)
    for ours, expected in zip(found, torch.autograd.grad(total, given), strict=True):
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("change", [{2: 0}, {4: 2}, {1: [2, 1]}], ids=["cell", "layers", "packed"])
def test_what_it_is_not_for_is_refused(change: dict[int, Any]) -> None:
    given = [change.get(i, value) for i, value in enumerate(options(False))]
    with pytest.raises(RuntimeError, match="expected a layer of LSTM"):
        mindtorch_v2.ops.aten.mkldnn_rnn_layer(*tensors(mindtorch_v2), *given)
