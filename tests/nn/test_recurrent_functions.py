"""Recurrent networks as functions, and the loss of a linear layer some rows at a time, beside PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import mindtorch_v2 as ours

FUNCTIONS = {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"bidirectional": True, "num_layers": 2},
    {"bias": False, "batch_first": True},
    {"proj_size": 2},
)


def _run(torch: Any, kind: str, options: dict[str, Any], packed: bool) -> list[np.ndarray]:
    torch.manual_seed(0)
    module = getattr(torch.nn, kind)(3, 4, **options)
    usual = {"num_layers": 1, "bidirectional": False, "batch_first": False, "bias": True, "proj_size": 4, **options}
    layers, both, first = usual["num_layers"], usual["bidirectional"], usual["batch_first"]
    states = [torch.ones(layers * (2 if both else 1), 2, size) for size in (usual["proj_size"], 4)]
    hx = states if kind == "LSTM" else states[1]
    params = [each for cell in module.all_weights for each in cell]
    x = torch.arange(30.0).div(30).reshape((2, 5, 3) if first else (5, 2, 3))
    rest = (params, usual["bias"], layers, 0.0, False, both)
    function = getattr(torch, FUNCTIONS[kind])
    if packed:
        found = function(x.reshape(10, 3)[:8], torch.tensor([2, 2, 2, 1, 1]), hx, *rest)
    else:
        found = function(x, hx, *rest, first)
    found[0].sum().backward()
    return [each.detach().numpy() for each in (*found, *(p.grad for p in params))]


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("packed", [False, True])
def test_functions_of_sequences(kind: str, packed: bool) -> None:
    for options in OPTIONS:
        if (packed and "batch_first" in options) or (kind != "LSTM" and "proj_size" in options):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's, of what oneDNN has not
            expected = _run(pytorch, kind, options, packed)
        for theirs, mine in zip(expected, _run(ours, kind, options, packed), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_parameters_are_counted() -> None:
    for torch in (pytorch, ours):
        x, h, w = torch.ones(2, 1, 3), torch.zeros(1, 1, 4), torch.ones(4, 3)
        with pytest.raises(RuntimeError, match="incorrect number of RNN parameters"):
            torch.gru(x, h, [w], True, 1, 0.0, False, False, False)
        with pytest.raises(RuntimeError, match="two hidden states"):
            torch.lstm_cell(x[0], [h[0]], torch.ones(16, 3), torch.ones(16, 4))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_loss_of_a_layer_in_parts_is_that_of_the_whole(reduction: str) -> None:
    torch = ours
    torch.manual_seed(0)
    target = torch.tensor([0, 3, -100, 6, 1])
    classes = torch.rand(7)
    found = []
    for options in (None, torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2)):
        torch.manual_seed(0)
        module = torch.nn.LinearCrossEntropyLoss(4, 7, bias=True, weight=classes, reduction=reduction, options=options)
        x = torch.arange(20.0).reshape(5, 4).div(10).requires_grad_()
        loss = module(x, target)
        loss.sum().backward()
        found.append([t.detach().numpy() for t in (loss, x.grad, module.linear.weight.grad, module.linear.bias.grad)])
    for whole, parts in zip(*found, strict=True):
        np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-6)


WRONG: tuple[tuple[str, Any], ...] = (
    ("acc_policy", "no"),
    ("chunking_method", "aspect_ratio:0"),
    ("batch_chunk_size", 0),
    ("acc_dtype", int),
)


@pytest.mark.parametrize("name", dict(WRONG))
def test_options_of_the_loss_are_checked(name: str) -> None:
    for torch in (pytorch, ours):
        with pytest.raises(ValueError, match=name):
            torch.nn.LinearCrossEntropyOptions(**{name: dict(WRONG)[name]})


def test_options_that_do_nothing_are_warned_of() -> None:
    for torch in (pytorch, ours):
        options = torch.nn.LinearCrossEntropyOptions()
        x, weight, target = torch.ones(2, 3), torch.ones(4, 3), torch.tensor([0, 1])
        with pytest.warns(UserWarning, match="options"):
            torch.nn.functional.linear_cross_entropy(x, weight, target, label_smoothing=0.1, options=options)


def test_a_float_power_in_place_needs_double() -> None:
    for torch in (pytorch, ours):
        x = torch.tensor([2.0, 3.0], dtype=torch.float64)
        assert x.float_power_(2).tolist() == [4, 9]
        assert x.float_power_(torch.tensor([0.5, 1.0])).tolist() == [2, 9]
        with pytest.raises(RuntimeError, match="the operation's result requires dtype"):
            torch.ones(2).float_power_(2)


def test_changes_that_nobody_saw_are_counted() -> None:
    for torch in (pytorch, ours):
        x = torch.ones(2, requires_grad=True)
        y = x * 1
        z = y * y
        torch.autograd.graph.increment_version([y])
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()
        with pytest.raises(RuntimeError, match="to be a tensor"):
            torch.autograd.graph.increment_version([3])
