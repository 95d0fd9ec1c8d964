"""A gradient for each sample of a batch in one backward: beside PyTorch, and beside a backward for each sample."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
import torch as pytorch

import mindtorch_v2 as ours
from tests.runtime.both import agree

IMPORTS = """
import sys
import mindtorch_v2
assert not any("_expanded_weights" in name or "_per_sample" in name for name in sys.modules)
mindtorch_v2.install_as_torch()
import torch
import torch.nn.utils._expanded_weights.expanded_weights_impl as place
from torch.nn.utils._expanded_weights import ExpandedWeight
from torch.nn.utils._per_sample_grad import call_for_per_sample_grads
assert place.ExpandedWeight is ExpandedWeight
layer = torch.nn.Linear(2, 3)
call_for_per_sample_grads(layer)(torch.ones(4, 2)).sum().backward()
assert layer.weight.grad is None and layer.weight.grad_sample.tolist() == torch.ones(4, 3, 2).tolist()
"""


def per_sample(torch: Any) -> Callable[..., Any]:
    call: Callable[..., Any] = import_module(f"{torch.__name__}.nn.utils._per_sample_grad").call_for_per_sample_grads
    return call


def expanded(torch: Any, *shape: int, size: int = 5, reduction: str = "sum") -> Any:
    """An ExpandedWeight of numbers."""
    cls = import_module(f"{torch.__name__}.nn.utils._expanded_weights").ExpandedWeight
    return cls(numbers(torch, *shape).requires_grad_(), size, reduction)


def numbers(torch: Any, *shape: int, first: int = 0) -> Any:
    count = pytorch.Size(shape).numel()
    return ((torch.arange(count) * 7 + first) % 11).reshape(shape).to(torch.float64) / 11 - 0.4


def filled(torch: Any, module: Any) -> Any:
    """The module in float64 with parameters that are the same in both libraries."""
    module = module.to(torch.float64)
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_(numbers(torch, *parameter.shape, first=number))
    return module


def loss_of(torch: Any, output: Any, size: int, reduction: str) -> Any:
    """Of samples apart, weighted so that all elements count differently; ``size`` samples."""
    while not hasattr(output, "requires_grad"):  # of a network: its output is first, packed or not
        output = output[0]
    total = (output * numbers(torch, *output.shape, first=3)).sum()
    return total if reduction == "sum" else total / size


def gradients(torch: Any, module: Any) -> Any:
    return [(name, p.grad, getattr(p, "grad_sample", None)) for name, p in module.named_parameters()]


def tokens(torch: Any) -> Any:
    return torch.tensor([[1, 2], [0, 1], [3, 3], [1, 1], [5, 4]])


def packed(torch: Any) -> Any:
    lengths = torch.tensor([3, 1, 2, 3, 2])
    pack = torch.nn.utils.rnn.pack_padded_sequence
    return pack(numbers(torch, 5, 3, 4), lengths, batch_first=True, enforce_sorted=False)


def untrained(module: Any) -> Any:
    module.eval()
    return module


def frozen(torch: Any) -> Any:
    module = torch.nn.Sequential(torch.nn.Conv1d(4, 2, 2), torch.nn.Flatten(), torch.nn.Linear(4, 2))
    module[0].bias.requires_grad_(False)
    module[2].weight.requires_grad_(False)
    return module


LAYERS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "linear": lambda t: (t.nn.Linear(4, 3), numbers(t, 5, 4)),
    "linear of rows": lambda t: (t.nn.Linear(4, 3, bias=False), numbers(t, 5, 2, 3, 4)),
    "conv1d": lambda t: (t.nn.Conv1d(4, 2, 3, padding=1), numbers(t, 5, 4, 7)),
    "conv2d": lambda t: (t.nn.Conv2d(4, 2, 3, stride=2, bias=False), numbers(t, 5, 4, 7, 6)),
    "conv2d in groups": lambda t: (
        t.nn.Conv2d(4, 2, 3, padding="same", dilation=2, groups=2),
        numbers(t, 5, 4, 7, 7),
    ),
    "conv2d in circles": lambda t: (t.nn.Conv2d(4, 2, 3, padding=1, padding_mode="circular"), numbers(t, 5, 4, 5, 5)),
    "conv3d": lambda t: (t.nn.Conv3d(2, 2, (1, 2, 2)), numbers(t, 5, 2, 3, 3, 3)),
    "embedding": lambda t: (t.nn.Embedding(6, 3), tokens(t)),
    "embedding with a norm": lambda t: (t.nn.Embedding(6, 3, max_norm=0.3), tokens(t)),
    "layer_norm": lambda t: (t.nn.LayerNorm((2, 4)), numbers(t, 5, 3, 2, 4)),
    "layer_norm without a bias": lambda t: (t.nn.LayerNorm(4, bias=False), numbers(t, 5, 4)),
    "group_norm": lambda t: (t.nn.GroupNorm(2, 4), numbers(t, 5, 4, 3)),
    "instance_norm": lambda t: (t.nn.InstanceNorm1d(4, affine=True), numbers(t, 5, 4, 3)),
    "instance_norm that counts": lambda t: (
        t.nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
        numbers(t, 5, 4, 3, 2),
    ),
    "rnn_tanh": lambda t: (t.nn.RNN(4, 3, 2, batch_first=True), numbers(t, 5, 3, 4)),
    "rnn_relu": lambda t: (t.nn.RNN(4, 3, nonlinearity="relu"), numbers(t, 3, 5, 4), {"batch_first": False}),
    "lstm": lambda t: (t.nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True), numbers(t, 5, 3, 4)),
    "lstm projected": lambda t: (t.nn.LSTM(4, 3, proj_size=2, batch_first=True), numbers(t, 5, 3, 4)),
    "gru": lambda t: (t.nn.GRU(4, 3, bias=False, batch_first=True), numbers(t, 5, 3, 4)),
    "lstm packed": lambda t: (t.nn.LSTM(4, 3, bidirectional=True), packed(t), {"batch_size": 5}),
    "gru packed": lambda t: (t.nn.GRU(4, 3), packed(t), {"batch_size": 5}),
    "parameters that are frozen": lambda t: (frozen(t), numbers(t, 5, 4, 3)),
    "no parameters": lambda t: (t.nn.Tanh(), numbers(t, 5, 4)),
}


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("name", LAYERS)
def test_each_sample_has_pytorchs_gradients(name: str, reduction: str) -> None:
    def case(torch: Any) -> Any:
        module, batch, *options = LAYERS[name](torch)
        module = filled(torch, module)
        if hasattr(batch, "is_floating_point") and batch.is_floating_point():
            batch.requires_grad_()
        call = per_sample(torch)(module, loss_reduction=reduction, **(options[0] if options else {}))
        loss = loss_of(torch, call(batch), 5, reduction)
        loss.backward()
        return loss, gradients(torch, module), getattr(batch, "grad", None), list(module.buffers())

    agree(case)


OWN: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "embedding": lambda t: (t.nn.Embedding(6, 3), tokens(t)),
    "embedding with padding": lambda t: (t.nn.Embedding(6, 3, padding_idx=1), tokens(t)),
    "embedding by frequency": lambda t: (t.nn.Embedding(6, 3, scale_grad_by_freq=True), tokens(t)),
    "instance_norm by what it counted": lambda t: (
        untrained(t.nn.InstanceNorm1d(4, affine=True, track_running_stats=True)),
        numbers(t, 5, 4, 3),
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_they_are_those_of_a_sample_alone(name: str) -> None:
    """PyTorch's formulas leave out padding, frequencies and running statistics; the function itself has them."""
    module, batch = OWN[name](ours)
    filled(ours, module)
    call = per_sample(ours)(module)
    (call(batch) ** 2).sum().backward()
    for sample in range(5):
        module.zero_grad()
        (module(batch[sample : sample + 1]) ** 2).sum().backward()
        for parameter in module.parameters():
            assert ours.allclose(parameter.grad_sample[sample], parameter.grad)


def test_calls_add_to_one_another() -> None:
    """Several calls of the function do, and several uses of a weight in one; a new function is refused."""

    def twice(torch: Any) -> Any:
        module = filled(torch, torch.nn.Linear(4, 3))
        call = per_sample(torch)(module)
        for _ in range(2):
            call(numbers(torch, 5, 4)).sum().backward()
        return gradients(torch, module), call.__name__

    agree(twice)

    def again(torch: Any) -> Any:
        module = torch.nn.Linear(4, 3)
        per_sample(torch)(module)(torch.ones(5, 4)).sum().backward()
        per_sample(torch)(module)

    agree(again, "Current Expanded Weights accumulates the gradients")

    module = filled(ours, ours.nn.Linear(4, 4))
    tied = ours.nn.Sequential(module, ours.nn.Tanh(), module)
    batch = numbers(ours, 5, 4)
    per_sample(ours)(tied)(batch).sum().backward()
    tied(batch).sum().backward()
    for parameter in module.parameters():
        assert ours.allclose(parameter.grad_sample.sum(0), parameter.grad)


def test_an_embedding_that_is_written_to_after_the_call() -> None:
    """By the norm that the next call gives it, and by a program; its gradients do not depend on what it holds."""

    def case(torch: Any) -> Any:
        embedding = filled(torch, torch.nn.Embedding(6, 3, max_norm=0.3))
        call = per_sample(torch)(embedding)
        loss = sum(loss_of(torch, call(each), 5, "sum") for each in (tokens(torch), tokens(torch).flip(0)))
        with torch.no_grad():
            embedding.weight.mul_(10)
        loss.backward()
        return embedding.weight, gradients(torch, embedding)

    agree(case)


def test_functions_take_them_beside_tensors() -> None:
    def case(torch: Any) -> Any:
        linear = torch.nn.functional.linear
        weight, bias = expanded(torch, 3, 4, reduction="mean"), expanded(torch, 3, reduction="mean")
        outputs = [
            linear(numbers(torch, 5, 4), weight, numbers(torch, 3)),
            linear(numbers(torch, 5, 2, 4), numbers(torch, 3, 4), bias),
            torch._C._nn.linear(numbers(torch, 5, 4), weight),
            torch.conv1d(numbers(torch, 5, 4, 3), numbers(torch, 3, 4, 2), bias),
        ]
        sum((output**2).sum() for output in outputs).backward()
        return outputs, weight.orig_weight.grad_sample, bias.orig_weight.grad_sample, weight.orig_weight.grad

    agree(case)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("sizes", [None, [5, 3]])
@pytest.mark.filterwarnings("ignore:TF32 acceleration")  # PyTorch, as its flags are read
def test_recurrent_functions(name: str, sizes: list[int] | None) -> None:
    """Of a sequence, and of packed data, in which the sequences of some samples end first."""

    def case(torch: Any) -> Any:
        rows = {"lstm": 12, "gru": 9}.get(name, 3)
        weights = [expanded(torch, *shape) for shape in ((rows, 4), (rows, 3), (rows,), (rows,))]
        state = numbers(torch, 1, 5, 3)
        states = (state, state) if name == "lstm" else state
        if sizes is None:
            args = numbers(torch, 5, 2, 4), states, weights, True, 1, 0.0, True, False, True
        else:
            args = numbers(torch, 8, 4), torch.tensor(sizes), states, weights, True, 1, 0.0, True, False
        outputs = getattr(torch, name)(*args)
        (outputs[0] ** 2).sum().backward()
        return list(outputs), [weight.orig_weight.grad_sample for weight in weights]

    with pytorch.backends.mkldnn.flags(enabled=False):  # of PyTorch, a kernel for `lstm` which it does not handle
        agree(case)


def test_gradients_of_gradients() -> None:
    """With ``create_graph`` those of the samples, and of the input, have a history; without, they have none."""

    def case(torch: Any) -> Any:
        module, x = filled(torch, torch.nn.Linear(4, 3)), numbers(torch, 5, 4).requires_grad_()
        output = per_sample(torch)(module)(x)
        (gradient,) = torch.autograd.grad((output**2).sum(), x, create_graph=True)
        sample = module.weight.grad_sample
        (gradient**2).sum().backward()
        return gradient, sample, module.weight.grad, x.grad

    agree(case)


def test_what_is_asked_of_a_weight() -> None:
    def case(torch: Any) -> Any:
        weight = expanded(torch, 3, 4)
        assert weight.data_ptr() == weight.orig_weight.data_ptr()
        return (
            tuple(weight.shape),
            str(weight.dtype),
            weight.data,
            str(weight.device),
            weight.is_cuda,
            weight.get_device(),
        )

    agree(case)


def module_call(make: Callable[[Any], Any], *shape: int, **options: Any) -> Callable[[Any], Any]:
    return lambda t: per_sample(t)(make(t).to(t.float64), **options)(numbers(t, *shape))


class _Loose:
    """An argument of a kind that trees of containers do not know."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


def linear_of_two(torch: Any) -> Any:
    class Two(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 3)

        def forward(self, x: Any, other: Any = None) -> Any:
            return self.linear(x.tensor if isinstance(x, _Loose) else x)

    return Two()


def mixture(torch: Any) -> Any:
    bias = torch.ones(3, requires_grad=True, dtype=torch.float64)
    output = torch.nn.functional.linear(numbers(torch, 5, 4), expanded(torch, 3, 4), bias)
    return output.sum().backward()


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "batch_norm": (module_call(lambda t: t.nn.BatchNorm1d(4), 5, 4), "but cannot handle function batch_norm"),
    "prelu": (module_call(lambda t: t.nn.PReLU(), 5, 4), "Weights encountered but cannot handle function prelu"),
    "conv_transpose1d": (
        module_call(lambda t: t.nn.ConvTranspose1d(4, 2, 2), 5, 4, 3),
        "Expanded Weights encountered but cannot handle function conv_transpose1d",
    ),
    "bilinear": (
        lambda t: t.nn.functional.bilinear(numbers(t, 5, 4), numbers(t, 5, 4), expanded(t, 2, 4, 4)),
        "cannot handle function bilinear",
    ),
    "an operator": (lambda t: expanded(t, 4) + numbers(t, 5, 4), "cannot handle function add"),
    "an operator after": (lambda t: numbers(t, 5, 4) + expanded(t, 4), "cannot handle function add"),
    "a method": (lambda t: expanded(t, 4).sum(), "cannot handle function sum"),
    "an attribute": (lambda t: expanded(t, 4).grad, "cannot handle function __get__"),
    "printing": (lambda t: repr(expanded(t, 4)), "cannot handle function __repr__"),
    "the operator layer_norm": (
        lambda t: t.layer_norm(numbers(t, 5, 4), (4,), expanded(t, 4)),
        "cannot handle function layer_norm",
    ),
    "of no tensor": (
        lambda t: import_module(f"{t.__name__}.nn.utils._expanded_weights").ExpandedWeight(3, 5, "sum"),
        "Can only make Expanded Weights of Tensors, got int",
    ),
    "of what needs no grad": (
        lambda t: import_module(f"{t.__name__}.nn.utils._expanded_weights").ExpandedWeight(t.ones(3), 5, "sum"),
        "Can only build ExpandedWeights objects of tensors that requires_grad",
    ),
    "as an input": (
        lambda t: t.nn.functional.linear(expanded(t, 5, 4), expanded(t, 3, 4)),
        "do not support inputs that are also ExpandedWeights. Input must be a Tensor, got ExpandedWeight in function",
    ),
    "two reductions": (
        lambda t: t.nn.functional.linear(numbers(t, 5, 4), expanded(t, 3, 4), expanded(t, 3, reduction="mean")),
        "Expected ExpandedWeights to all have the same loss_reduction argument but got one",
    ),
    "another batch size": (
        module_call(lambda t: t.nn.Linear(4, 3), 5, 4, batch_size=3),
        "input batch size of 5 with ExpandedWeight of batch size 3",
    ),
    "a batch too small": (
        module_call(lambda t: t.nn.Linear(4, 3), 5, 4, batch_size=7),
        "input batch size of 5 with ExpandedWeight of batch size 7",
    ),
    "batch second": (
        module_call(lambda t: t.nn.Linear(4, 3), 5, 3, 4, batch_first=False),
        "input batch size of 5 with ExpandedWeight of batch size 3",
    ),
    "a batch too large in a network": (
        module_call(lambda t: t.nn.LSTM(4, 3, batch_first=True), 5, 3, 4, batch_size=3),
        "input batch size of 5 with ExpandedWeight of batch size 3",
    ),
    "no batch, linear": (module_call(lambda t: t.nn.Linear(4, 3), 4), "at least rank 2, got of rank 1"),
    "no batch, convolution": (
        module_call(lambda t: t.nn.Conv1d(4, 3, 2), 4, 5),
        "Expanded Weights only support convolution with batched input",
    ),
    "no batch, layer_norm": (
        module_call(lambda t: t.nn.LayerNorm((2, 4)), 2, 4),
        "Layer norm should not normalize over batch dimension for per sample gradientcomputations",
    ),
    "no batch, embedding": (
        lambda t: per_sample(t)(t.nn.Embedding(6, 3))(t.tensor([1, 2])),
        "Expanded Weights needs an input with a batch size, got a 1D tensor",
    ),
    "no dimension": (
        lambda t: t.nn.functional.embedding(t.tensor(1), expanded(t, 6, 3)),
        "requires a batch dimension but got an input of size 0 in function embedding",
    ),
    "no sample": (
        module_call(lambda t: t.nn.Linear(4, 3), 0, 4),
        "0 is not a valid batch size for Expanded Weights but got input tensor of",
    ),
    "normal parameters beside": (mixture, "does not support a mixture of ExpandedWeight parameters and normal"),
    "reduction": (module_call(lambda t: t.nn.Linear(4, 3), 5, 4, loss_reduction="none"), "to be sum or mean, got none"),
    "no module": (lambda t: per_sample(t)(3), "Module passed must be nn.Module, got int"),
    "batch size of a kind": (
        module_call(lambda t: t.nn.Linear(4, 3), 5, 4, batch_size=1.5),
        "Batch size passed must be None or an integer, got float",
    ),
    "batch size of none": (
        module_call(lambda t: t.nn.Linear(4, 3), 5, 4, batch_size=0),
        "Batch size must be positive, got 0",
    ),
    "two batch sizes": (
        lambda t: per_sample(t)(linear_of_two(t))(t.ones(5, 4), other=t.ones(3)),
        "found at least one input with batch size 5 and one with batch size 3",
    ),
    "no tensor": (
        lambda t: per_sample(t)(linear_of_two(t))(_Loose(t.ones(5, 4))),
        "Unable to find a tensor in the passed args and kwargs",
    ),
    "by position": (lambda t: per_sample(t)(t.nn.Linear(4, 3), 5), "takes 1 positional argument but 2 were given"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    case, quoted = REFUSED[name]
    agree(case, quoted)


def test_a_batch_size_that_is_given() -> None:
    """Needed where tensors are of other sizes, or in containers that are not known."""

    def case(torch: Any) -> Any:
        module = filled(torch, linear_of_two(torch))
        x = numbers(torch, 5, 4)
        for given in ((x, numbers(torch, 3)), (_Loose(x),)):
            per_sample(torch)(module, batch_size=5)(*given).sum().backward()
            yield gradients(torch, module)
            for parameter in module.parameters():
                parameter.grad_sample = None

    agree(lambda torch: list(case(torch)))


def test_they_are_imported_from_pytorchs_places_and_when_asked_for(child_env: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", IMPORTS], env=child_env, check=True)
