"""Where PyTorch's fused path of attention shows: queries without a key, and padding of whole encoders."""

from __future__ import annotations

import warnings

import pytest
import torch as pytorch

import mindtorch_v2 as ours

PADDINGS = {
    "none": [[0, 0, 0], [0, 0, 0]],
    "at the end": [[0, 0, 1], [0, 0, 0]],
    "at the begin": [[1, 0, 0], [0, 0, 0]],
    "a whole sequence": [[1, 1, 1], [0, 0, 1]],
    "in the middle": [[0, 1, 0], [0, 1, 1]],
}
ENCODERS = {
    "as it is": ({}, {}),
    "norm first": ({"norm_first": True}, {}),
    "odd heads": ({"nhead": 1}, {}),
    "another activation": ({"activation": "tanh"}, {}),
    "no nested tensor": ({}, {"enable_nested_tensor": False}),
    "no check": ({}, {"mask_check": False}),
}
OPTIONS = [{}, {"batch_first": False}, {"num_heads": 1}, {"bias": False}, {"add_bias_kv": True}]


def _filled(torch, module):
    with torch.no_grad():
        for i, parameter in enumerate(module.parameters()):
            parameter.copy_((torch.arange(parameter.numel()) * (i + 2) % 7 / 10).reshape(parameter.shape))
    return module


def _x(torch):
    return (torch.arange(24.0) * 5 % 11 / 10).reshape(2, 3, 4)


def _layer(torch, nhead=2, activation="relu", batch_first=True, **options):
    activation = torch.tanh if activation == "tanh" else activation
    return torch.nn.TransformerEncoderLayer(4, nhead, 8, 0.0, activation=activation, batch_first=batch_first, **options)


def _encoded(torch, options, of_stack, padding, floating, grad, mask=None, fast=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of nested tensors, which PyTorch says are a prototype
        stack = torch.nn.TransformerEncoder(_layer(torch, **options), 2, **of_stack)
        encoder = _filled(torch, stack).eval()
        hidden = torch.tensor(padding).bool()
        if floating:
            hidden = torch.zeros(2, 3).masked_fill(hidden, -torch.inf)
        given = None if mask is None else torch.tensor(mask).bool()
        torch.backends.mha.set_fastpath_enabled(fast)
        try:
            with torch.set_grad_enabled(grad):
                return encoder(_x(torch), mask=given, src_key_padding_mask=hidden).tolist()
        finally:
            torch.backends.mha.set_fastpath_enabled(True)


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_an_encoder_gives_pytorchs_padding(encoder, padding, floating, grad):
    if encoder == "no check" and padding in ("at the begin", "in the middle"):
        pytest.skip("PyTorch reads another sequence than was given")
    given = (*ENCODERS[encoder], PADDINGS[padding], floating, grad)
    expected = pytorch.tensor(_encoded(pytorch, *given))
    pytorch.testing.assert_close(pytorch.tensor(_encoded(ours, *given)), expected, equal_nan=True)


@pytest.mark.parametrize(
    ("mask", "fast"), [(None, False), ([[0, 1, 1], [0, 0, 1], [0, 0, 0]], True), ([[1, 1, 1]] * 3, True)]
)
def test_an_encoder_with_a_mask_or_without_the_path(mask, fast):
    given = ({}, {}, PADDINGS["at the end"], False, False, mask, fast)
    expected = pytorch.tensor(_encoded(pytorch, *given))
    pytorch.testing.assert_close(pytorch.tensor(_encoded(ours, *given)), expected, equal_nan=True)


@pytest.mark.parametrize("encoder", ["norm first", "odd heads", "another activation", "as it is"])
def test_an_encoder_says_why_padding_stays(encoder):
    options, said = ENCODERS[encoder][0], []
    for torch in (pytorch, ours):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            stack = torch.nn.TransformerEncoder(_layer(torch, **options), 1)
        said.append((stack.use_nested_tensor, [str(each.message) for each in caught]))
    assert said[0] == said[1]


@pytest.mark.parametrize("needs_weights", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"batch_first": False}, {"num_heads": 1}, {"bias": False}, {"add_bias_kv": True}]
)
@pytest.mark.parametrize("which", ["key_padding_mask", "attn_mask"])
def test_a_query_without_keys(which, options, training, needs_weights):
    results = []
    for torch in (pytorch, ours):
        given = {"embed_dim": 4, "num_heads": 2, "batch_first": True, **options}
        attention = _filled(torch, torch.nn.MultiheadAttention(**given)).train(training)
        x = _x(torch) if given["batch_first"] else _x(torch).transpose(0, 1)
        hidden = torch.tensor([[True] * 3, [False, False, True]])
        mask = hidden if which == "key_padding_mask" else torch.tensor([[True] * 3, [False, False, True], [False] * 3])
        with torch.no_grad():
            found = attention(x, x, x, need_weights=needs_weights, **{which: mask})
        results.append([None if each is None else pytorch.tensor(each.tolist()) for each in found])
    pytorch.testing.assert_close(results[1], results[0], equal_nan=True)
