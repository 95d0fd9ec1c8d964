"""A weight that gets a gradient for each sample of a batch: `ExpandedWeight`, and the functions that take it.

A function that treats samples apart is called with its weights as they are. Its backward is `func.vmap`, over the
samples of the batch, of `func.vjp` of the same function on a batch of one: the rows that come of a weight are its
gradients by sample, and those of the input together are the input's gradient. So no layer has a formula here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ...._core import Tensor
from ...._ops import ops
from ....autograd import Function
from ....func import vjp, vmap
from ....kernels import recurrence
from ... import functional as F

__all__ = ["ExpandedWeight"]

_DIMENSIONS: dict[Any, int] = {F.conv1d: 3, F.conv2d: 4, F.conv3d: 5}  # of a batch
_LINEAR: tuple[Any, ...] = (F.linear, *_DIMENSIONS)  # operators, too
_NAMED: tuple[Any, ...] = (*_LINEAR, F.embedding, F.layer_norm, F.group_norm, F.instance_norm)
# What is called, and the same as a function of named arguments, the first of which is the batch.
_HANDLED: dict[Any, Any] = {each: each for each in _NAMED} | {getattr(ops.aten, f.__name__): f for f in _LINEAR}
# Recurrent networks, of a sequence and of packed data: these call linear layers, a step of the batch each.
_RECURRENT: dict[Any, tuple[Callable[..., Any], Callable[..., Any]]] = {
    ops.aten.lstm: (recurrence.lstm, recurrence.lstm_packed),
    ops.aten.gru: (recurrence.gru, recurrence.gru_packed),
    ops.aten.rnn_tanh: (recurrence.rnn_tanh, recurrence.rnn_tanh_packed),
    ops.aten.rnn_relu: (recurrence.rnn_relu, recurrence.rnn_relu_packed),
}
_signature = functools.cache(inspect.signature)


class ExpandedWeight(Tensor):
    """Stands for the weight ``orig_weight`` in calls on batches of ``batch_size`` samples.

    What is computed is what the weight itself gives. Backward leaves its ``grad`` alone, and adds to its
    ``grad_sample``, of shape (batch_size, \\*orig_weight.shape), row i: the gradient of sample i alone, times the batch
    size where ``loss_reduction`` is ``"mean"``, as the loss then has divided by it.

    ``nn.functional.linear``, ``conv1d``, ``conv2d``, ``conv3d``, ``embedding``, ``layer_norm``, ``group_norm`` and
    ``instance_norm`` take it, and recurrent networks, where a step may be of the first samples alone: the sequences of
    the others have ended. Anything else raises RuntimeError, as do an input without a batch, one of another size, and
    weights of different reductions; backward does where another argument that is no ExpandedWeight requires grad.

    Raises:
        RuntimeError: ``orig_weight`` is no tensor, or does not require grad.
    """

    orig_weight: Tensor
    batch_size: int
    loss_reduction: str

    def __new__(cls, orig_weight: Tensor, batch_size: int, loss_reduction: str) -> ExpandedWeight:
        """See the class."""
        if not isinstance(orig_weight, Tensor):
            raise RuntimeError(f"Can only make Expanded Weights of Tensors, got {type(orig_weight).__name__}")
        if not orig_weight.requires_grad:
            raise RuntimeError("Can only build ExpandedWeights objects of tensors that requires_grad")
        made: ExpandedWeight = Tensor._make_subclass(cls, orig_weight, True)
        return made

    def __init__(self, orig_weight: Tensor, batch_size: int, loss_reduction: str) -> None:
        self.orig_weight, self.batch_size, self.loss_reduction = orig_weight, batch_size, loss_reduction

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Calls a function that can be taken apart by samples. Raises RuntimeError for others."""
        kwargs = kwargs or {}
        if func in _RECURRENT:
            packed = isinstance(args[3], (list, tuple))  # its weights; a sequence has them in the place before
            return _RECURRENT[func][packed](*args, **kwargs)
        if func not in _HANDLED:
            raise RuntimeError(f"Expanded Weights encountered but cannot handle function {func.__name__}")
        function: Callable[..., Any] = _HANDLED[func]
        bound = _signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        _check(function, bound.arguments, allow_smaller=func == ops.aten.linear)
        return _BySample.apply(function, tuple(bound.arguments), *bound.arguments.values())

    # What layers ask of their weights is answered by the weight; all else is a function that cannot be handled.
    dtype = property(lambda self: self.orig_weight.dtype)
    data = property(lambda self: self.orig_weight.data)
    shape = property(lambda self: self.orig_weight.shape)
    device = property(lambda self: self.orig_weight.device)
    is_cuda = property(lambda self: self.orig_weight.is_cuda)

    def data_ptr(self) -> int:
        """The address of the weight's memory."""
        return self.orig_weight.data_ptr()

    def get_device(self) -> int:
        """The number of the weight's device."""
        return self.orig_weight.get_device()


def _check(function: Callable[..., Any], arguments: dict[str, Any], allow_smaller: bool) -> None:
    """Raises RuntimeError where the input is no batch that fits the weights, or these do not fit one another."""
    input, name = arguments["input"], function.__name__
    if isinstance(input, ExpandedWeight):
        raise RuntimeError(
            "Expanded Weights do not support inputs that are also ExpandedWeights. Input must be a Tensor, got "
            f"ExpandedWeight in function {name}"
        )
    if not isinstance(input, Tensor):
        raise RuntimeError(
            "Expanded Weights requires a Tensor as the first input to get the batch dimension, got "
            f"{type(input).__name__} in function {name}"
        )
    _check_dimensions(function, input, arguments)
    if input.size(0) == 0:
        raise RuntimeError(
            f"0 is not a valid batch size for Expanded Weights but got input tensor of {input} in function {name}"
        )
    weights = [each for each in arguments.values() if isinstance(each, ExpandedWeight)]
    for weight in weights:
        if input.size(0) > weight.batch_size or (input.size(0) < weight.batch_size and not allow_smaller):
            raise RuntimeError(
                "Expected ExpandedWeights to have batch size matching input but got input batch size of "
                f"{input.size(0)} with ExpandedWeight of batch size {weight.batch_size}"
            )
        if weight.loss_reduction != weights[0].loss_reduction:
            raise RuntimeError(
                "Expected ExpandedWeights to all have the same loss_reduction argument but got one with "
                f"{weights[0].loss_reduction} and one with {weight.loss_reduction}"
            )


def _check_dimensions(function: Callable[..., Any], input: Tensor, arguments: dict[str, Any]) -> None:
    rank = input.dim()
    if function is F.linear and rank <= 1:
        raise RuntimeError(
            "Input does not have a batch dimension. Expanded Weights expected input of at least rank 2, got of rank "
            f"{rank}"
        )
    if rank == 0:
        raise RuntimeError(
            f"Expanded Weights requires a batch dimension but got an input of size 0 in function {function.__name__}"
        )
    if function is F.embedding and rank == 1:
        raise RuntimeError(f"Expanded Weights needs an input with a batch size, got a 1D tensor, {input}")
    if function is F.layer_norm and rank <= len(arguments["normalized_shape"]):
        raise RuntimeError(
            "Expanded Weights: Layer norm should not normalize over batch dimension for per sample gradient"
            f"computations but got that normalized shape, {arguments['normalized_shape']}, matched input shape."
        )
    expected = _DIMENSIONS.get(function, rank)
    if rank != expected:
        raise RuntimeError(
            f"Expanded Weights only support convolution with batched input, got {function.__name__} with an unbatched "
            f"input of dim {rank}, expected input of dim {expected}"
        )


def _weight(value: Any) -> Any:
    return value.orig_weight if isinstance(value, ExpandedWeight) else value


class _BySample(Function):
    """A call of a function whose weights get their gradients apart: the function, its arguments' names, and these."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], names: tuple[str, ...], *values: Any) -> Any:
        arguments = dict(zip(names, values, strict=True))
        output = function(**{name: _weight(value) for name, value in arguments.items()})
        tensors = {name: _weight(value) for name, value in arguments.items() if isinstance(value, Tensor)}
        # What forward has written, and the next call writes, backward neither writes nor reads.
        if function is F.embedding:
            arguments["max_norm"], tensors["weight"] = None, tensors["weight"].data
        elif function is F.instance_norm and arguments["use_input_stats"]:
            for name in ("running_mean", "running_var"):
                arguments[name] = None
                tensors.pop(name, None)
        ctx.save_for_backward(*tensors.values())
        ctx.function, ctx.names = function, tuple(tensors)
        ctx.weights = {name: value for name, value in arguments.items() if isinstance(value, ExpandedWeight)}
        ctx.options = {name: value for name, value in arguments.items() if name not in tensors}
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        tensors = dict(zip(ctx.names, ctx.saved_tensors, strict=True))
        input = tensors.pop("input")
        if any(tensor.requires_grad and name not in ctx.weights for name, tensor in tensors.items()):
            raise RuntimeError(
                "ExpandedWeights currently does not support a mixture of ExpandedWeight parameters and normal "
                "Parameters. Please file and issue with pytorch/pytorch"
            )
        wanted = {name: tensors.pop(name) for name in ctx.weights}
        for_input = ctx.needs_input_grad[2]

        def of_sample(sample: Tensor, cotangent: Tensor) -> Any:
            def call(primals: dict[str, Tensor]) -> Any:
                batch = {"input": primals.get("input", sample).unsqueeze(0)}
                return ctx.function(**ctx.options, **tensors, **{**primals, **batch})

            primals = {**wanted, "input": sample} if for_input else wanted
            return vjp(call, primals)[1](cotangent.unsqueeze(0))[0]

        found = vmap(of_sample)(input, grad)
        for name, weight in ctx.weights.items():
            _add(weight, found[name])
        return None, None, found.get("input"), *[None] * (len(ctx.needs_input_grad) - 3)


def _add(weight: ExpandedWeight, found: Tensor) -> None:
    """Adds gradients by sample (samples, \\*shape) to those of the weight, zeros for the samples that there are not."""
    if weight.loss_reduction == "mean":
        found = found * weight.batch_size
    missing = weight.batch_size - found.size(0)
    if missing:
        found = ops.aten.cat([found, found.new_zeros(missing, *found.shape[1:])])
    original: Any = weight.orig_weight
    before = getattr(original, "grad_sample", None)
    original.grad_sample = found if before is None else before + found
