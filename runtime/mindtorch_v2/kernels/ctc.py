"""The loss of connectionist temporal classification (Graves and others, 2006), of samples one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._arrays import as_tensor
from ._native import native
from ._normalizing import check_floating, check_shape
from .losses import MEAN, reduced

_DTYPES = _core.dtypes
_FLOATS = (_DTYPES["float32"], _DTYPES["float64"])
_INTS = (_DTYPES["int32"], _DTYPES["int64"])
_CPU = _core.device("cpu")


def _lengths(name: str, given: Any, batch: int, least: int, most: int) -> Sequence[int]:
    found = _listed(given)
    if len(found) != batch:
        raise RuntimeError(f"{name} must be of size batch_size: {batch}, but got {len(found)}")
    for n in found:
        if n < least:
            raise RuntimeError(f"Expected {name} to have value at least {least}, but got value {n}")
        if n > most:
            raise RuntimeError(f"Expected {name} to have value at most {most}, but got value {n}")
    return found


def _problem(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int
) -> tuple[list[Tensor], int]:
    """Log-probabilities (T, N, C), targets, and the lengths of both, as a kernel takes them; and the longest target."""
    if log_probs.dtype not in _FLOATS:
        raise NotImplementedError(f'"ctc_loss_cpu" not implemented for {log_probs.dtype}')
    if targets.dtype not in _INTS:
        raise RuntimeError(f"ctc_loss: expected targets of dtype int32 or int64, got {targets.dtype}")
    if log_probs.dim() != 3:
        raise RuntimeError(f"_ctc_loss: expected log_probs (T, N, C), got {log_probs.dim()} dimensions")
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    widest = targets.numel() if targets.dim() == 1 else targets.shape[1]
    inputs = _lengths("input_lengths", input_lengths, batch, 0, steps)
    lengths = _lengths("target_lengths", target_lengths, batch, 0, widest)
    if targets.dim() == 1:
        if sum(lengths) != targets.numel():
            raise RuntimeError(f"ctc_loss: expected {sum(lengths)} targets in one row, got {targets.numel()}")
    elif targets.dim() != 2 or targets.shape[0] != batch:
        raise RuntimeError(
            f"ctc_loss: expected targets (N, S) of {batch} samples, or one row, got {list(targets.shape)}"
        )
    given = [log_probs, targets, as_tensor(inputs, _INTS[1]), as_tensor(lengths, _INTS[1])]
    return given, max(lengths, default=0)


def _run(name: str, tensors: list[Tensor], *numbers: int) -> None:
    """Calls the C function. Raises RuntimeError for a target that is no class."""
    try:
        native(name, *["desc"] * len(tensors), *["i64"] * len(numbers))(*tensors, *numbers)
    except _core.KernelError as failure:
        if "no class" not in str(failure):
            raise
        raise RuntimeError("ctc_loss: targets must be classes of log_probs, from 0 on") from None


def ctc_loss_kernel(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """Minus the log-probability of each sample; and those of its labels and blanks at each step."""
    given, longest = _problem(log_probs, targets, input_lengths, target_lengths, blank)
    steps, batch, _classes = log_probs.shape
    losses = _core.alloc((batch,), log_probs.dtype, _CPU)
    alpha = _core.alloc((batch, steps, 2 * longest + 1), log_probs.dtype, _CPU)
    _run("mt_ctc_loss", [*given, losses, alpha], blank)
    return losses, alpha


def ctc_loss_kernel_fake(log_probs: Tensor, targets: Tensor, *_rest: Any) -> tuple[Tensor, Tensor]:
    """Refuses: how wide the second output is, the target's lengths tell."""
    raise NotImplementedError("_ctc_loss: shapes depend on the targets' lengths, which a meta tensor has not")


def ctc_loss_backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> Tensor:
    """The gradient of log-probabilities that `log_softmax` made, whose sum for each step is 0, as in PyTorch."""
    given, longest = _problem(log_probs, targets, input_lengths, target_lengths, blank)
    steps, batch, _classes = log_probs.shape
    check_shape("_ctc_loss_backward", "log_alpha", log_alpha, (batch, steps, 2 * longest + 1))
    numbers = {"grad": grad, "neg_log_likelihood": neg_log_likelihood}
    for argument, tensor in numbers.items():
        check_shape("_ctc_loss_backward", argument, tensor, (batch,))
    check_floating("_ctc_loss_backward", log_alpha=log_alpha, **numbers)
    slope, losses, alpha = (each.to(log_probs.dtype).contiguous() for each in (grad, neg_log_likelihood, log_alpha))
    out: Tensor = _core.alloc(log_probs.shape, log_probs.dtype, _CPU).zero_()
    _run("mt_ctc_loss_backward", [slope, *given, losses, alpha, out], blank, int(zero_infinity))
    return out


def ctc_loss_backward_fake(grad: Tensor, log_probs: Tensor, *_rest: Any) -> Tensor:
    """A gradient like the log-probabilities."""
    return _core.alloc(log_probs.shape, log_probs.dtype, log_probs.device)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = MEAN,
    zero_infinity: bool = False,
) -> Tensor:
    """`ctc_loss_kernel`, of one sample too, reduced; the mean is of losses over their targets' lengths."""
    batched = log_probs.dim() == 3
    given = log_probs if batched else log_probs.unsqueeze(1)
    lengths = _listed(target_lengths)
    if not batched and targets.dim() == 1:
        targets = targets.unsqueeze(0)
    losses = ops.aten._ctc_loss(given, targets, _listed(input_lengths), lengths, blank, zero_infinity)[0]
    if zero_infinity:
        losses = ops.aten.where(losses == math.inf, losses.new_zeros(()), losses)
    if reduction == MEAN:
        losses = losses / as_tensor([max(n, 1) for n in lengths], losses.dtype).to(losses.device)
    elif not batched:
        losses = losses.squeeze(0)
    return reduced(losses, reduction)


def _listed(lengths: Any) -> Sequence[int]:
    """Lengths as a list. Raises RuntimeError for a tensor of numbers that are no integers."""
    if not isinstance(lengths, Tensor):
        return [int(n) for n in lengths]
    if lengths.is_floating_point() or lengths.is_complex():
        raise RuntimeError("ctc_loss: input_lengths and target_lengths must be integral")
    found: list[int] = lengths.reshape((-1,)).tolist()
    return found
