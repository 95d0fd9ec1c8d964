"""The loss of connectionist temporal classification (Graves and others, 2006), a step of time for all samples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .._ops import ops
from ._arrays import as_array, as_tensor
from ._normalizing import check_floating, check_shape
from .losses import MEAN, reduced

_DTYPES = _core.dtypes
_FLOATS = (_DTYPES["float32"], _DTYPES["float64"])
_INTS = (_DTYPES["int32"], _DTYPES["int64"])


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
) -> tuple[Any, ...]:
    """Log-probabilities (T, N, C), labels with blanks between (N, 2 * S + 1), and the lengths of both, as arrays."""
    import numpy as np

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
    labels = np.full((batch, 2 * max(lengths, default=0) + 1), blank, "int64")
    given = as_array(targets.detach())
    if targets.dim() == 1:
        if sum(lengths) != targets.numel():
            raise RuntimeError(f"ctc_loss: expected {sum(lengths)} targets in one row, got {targets.numel()}")
        ends = np.cumsum([0, *lengths])
        rows = [given[a:b] for a, b in itertools.pairwise(ends)]
    elif targets.dim() == 2 and targets.shape[0] == batch:
        rows = [given[i, :n] for i, n in enumerate(lengths)]
    else:
        raise RuntimeError(
            f"ctc_loss: expected targets (N, S) of {batch} samples, or one row, got {list(targets.shape)}"
        )
    for i, row in enumerate(rows):
        labels[i, 1 : 2 * len(row) : 2] = row
    if labels.size and (labels.min() < 0 or labels.max() >= classes):
        raise RuntimeError(f"ctc_loss: targets must be classes from 0 to {classes - 1}")
    return as_array(log_probs.detach()).astype("float64"), labels, np.asarray(inputs), np.asarray(lengths)


def ctc_loss_kernel(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """Minus the log-probability of each sample; and those of its labels and blanks at each step."""
    import numpy as np

    probs, labels, inputs, lengths = _problem(log_probs, targets, input_lengths, target_lengths, blank)
    steps, batch, _ = probs.shape
    width = labels.shape[1]
    rows = np.arange(batch)
    alpha = np.full((batch, steps, width), -math.inf)
    inside = np.arange(width) < (2 * lengths + 1)[:, None]
    skips = _skips(labels)
    with np.errstate(invalid="ignore"):
        for t in range(steps):
            if t == 0:
                found = np.full((batch, width), -math.inf)
                found[:, :2] = 0
            else:
                found = _joined(alpha[:, t - 1], skips)
            seen = inside & (t < inputs)[:, None]
            alpha[:, t] = np.where(seen, found + probs[t][rows[:, None], labels], -math.inf)
        last = np.full(batch, -math.inf)
        read = inputs > 0
        last[read] = alpha[rows[read], inputs[read] - 1, 2 * lengths[read]]
        with_label = read & (lengths > 0)
        before = alpha[rows[with_label], inputs[with_label] - 1, 2 * lengths[with_label] - 1]
        last[with_label] = np.logaddexp(last[with_label], before)
        last[~read & (lengths == 0)] = 0
    return as_tensor(-last, log_probs.dtype), as_tensor(alpha, log_probs.dtype)


def _skips(labels: Any) -> Any:
    """Where a label may follow the one before it without a blank between: another label than that."""
    import numpy as np

    skips = np.zeros(labels.shape, bool)
    skips[:, 3::2] = labels[:, 3::2] != labels[:, 1:-2:2]
    return skips


def _shifted(found: Any, by: int) -> Any:
    """Each row moved by so many places to the right, or to the left."""
    import numpy as np

    result = np.full_like(found, -math.inf)
    if by > 0:
        result[:, by:] = found[:, :-by]
    else:
        result[:, :by] = found[:, -by:]
    return result


def _joined(found: Any, skips: Any) -> Any:
    """The log-probabilities of staying, of coming from the place before, or where it may be skipped from before it."""
    import numpy as np

    stepped = np.logaddexp(found, _shifted(found, 1))
    return np.logaddexp(stepped, np.where(skips, _shifted(found, 2), -math.inf))


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
    import numpy as np

    probs, labels, inputs, lengths = _problem(log_probs, targets, input_lengths, target_lengths, blank)
    steps, batch, classes = probs.shape
    width = labels.shape[1]
    check_shape("_ctc_loss_backward", "log_alpha", log_alpha, (batch, steps, width))
    for argument, given in (("grad", grad), ("neg_log_likelihood", neg_log_likelihood)):
        check_shape("_ctc_loss_backward", argument, given, (batch,))
    check_floating("_ctc_loss_backward", log_alpha=log_alpha, grad=grad, neg_log_likelihood=neg_log_likelihood)
    rows = np.arange(batch)
    alpha = as_array(log_alpha.detach()).astype("float64")
    losses = as_array(neg_log_likelihood.detach()).astype("float64")
    scale = as_array(grad.detach()).astype("float64")
    skips = np.zeros((batch, width), bool)
    skips[:, :-2] = _skips(labels)[:, 2:]
    places = np.arange(width)
    ends = (places == (2 * lengths)[:, None]) | (places == (2 * lengths - 1)[:, None])
    inside = places < (2 * lengths + 1)[:, None]
    result = np.zeros((steps, batch, classes))
    beta = np.full((batch, width), -math.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        for t in range(steps - 1, -1, -1):
            last = (t == inputs - 1)[:, None]
            stepped = np.logaddexp(beta, _shifted(beta, -1))
            further = np.logaddexp(stepped, np.where(skips, _shifted(beta, -2), -math.inf))
            of_labels = probs[t][rows[:, None], labels]
            beta = np.where(last, np.where(ends, 0.0, -math.inf), further) + of_labels
            beta = np.where(inside & (t < inputs)[:, None], beta, -math.inf)
            posterior = np.exp(alpha[:, t] + beta + losses[:, None] - of_labels)
            taken = np.zeros((batch, classes))
            np.add.at(taken, (rows[:, None], labels), np.where(np.isneginf(alpha[:, t] + beta), 0.0, posterior))
            step = (np.exp(probs[t]) - taken) * scale[:, None]
            result[t] = np.where((t < inputs)[:, None], step, 0.0)
    if zero_infinity:
        result[:, np.isinf(losses)] = 0
    return as_tensor(result, log_probs.dtype)


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
