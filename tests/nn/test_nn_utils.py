"""``torch.nn.utils``: gradients, packed sequences, parametrizations and fusion give what PyTorch's do."""

from __future__ import annotations

import copy
import importlib
import pickle
from typing import Any

import pytest

from tests.runtime.both import agree


def utils(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.nn.utils")


def stepped(torch: Any) -> Any:
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 2)
    layer(torch.randn(4, 3)).pow(2).sum().backward()
    return layer


@pytest.mark.parametrize("norm", [2.0, 1.0, float("inf")])
@pytest.mark.parametrize("foreach", [None, True])
def test_gradients_are_clipped(norm: float, foreach: bool | None) -> None:
    def case(torch: Any) -> Any:
        layer, nn_utils = stepped(torch), utils(torch)
        total = nn_utils.clip_grad_norm_(layer.parameters(), 0.5, norm, foreach=foreach)
        first = layer.weight.grad.clone()
        nn_utils.clip_grad_value_(layer.parameters(), 0.1, foreach=foreach)
        both = nn_utils.get_total_norm([first, first], norm), nn_utils.get_total_norm([])
        return total, first, layer.weight.grad, both

    agree(case)


def test_a_norm_that_is_not_finite() -> None:
    def case(torch: Any) -> None:
        layer = stepped(torch)
        layer.weight.grad[0, 0] = float("nan")
        utils(torch).clip_grad_norm_(layer.parameters(), 1.0, error_if_nonfinite=True)

    agree(case, "is non-finite, so it cannot be clipped")


def test_parameters_as_a_vector_and_back() -> None:
    def case(torch: Any) -> Any:
        layer, nn_utils = stepped(torch), utils(torch)
        vector = nn_utils.parameters_to_vector(layer.parameters())
        nn_utils.vector_to_parameters(vector * 2, layer.parameters())
        return vector, layer.weight, layer.bias

    agree(case)


def sequences(torch: Any) -> Any:
    torch.manual_seed(1)
    return [torch.randn(n, 3, requires_grad=True) for n in (2, 4, 3)]


def test_packing_and_padding() -> None:
    def case(torch: Any) -> Any:
        rnn, given = utils(torch).rnn, sequences(torch)
        packed = rnn.pack_sequence(given, enforce_sorted=False)
        padded = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=5)
        padded[0].pow(2).sum().backward()
        left = rnn.pad_sequence(given, padding_side="left")
        unpacked, wide = rnn.unpack_sequence(packed), packed.double().data
        return list(packed), padded, given[0].grad, unpacked, left, wide

    agree(case)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}])
def test_recurrent_networks_read_packed_sequences(kind: str, options: dict[str, Any]) -> None:
    def case(torch: Any) -> Any:
        given = sequences(torch)
        packed = utils(torch).rnn.pack_sequence(given, enforce_sorted=False)
        network = getattr(torch.nn, kind)(3, 2, **options)
        _, ends = network(packed)
        start = torch.randn_like(ends[0] if kind == "LSTM" else ends)
        output, ends = network(packed, (start, start * 2) if kind == "LSTM" else start)
        last = ends[0] if kind == "LSTM" else ends
        (output.data.sum() + last.pow(2).sum()).backward()
        return output.data, output.batch_sizes, ends, given[0].grad, network.weight_ih_l0.grad

    agree(case)


@pytest.mark.parametrize(
    ("lengths", "said"),
    [([1, 2], "must be sorted in decreasing order"), ([1, 0], "greater than 0"), ([1], "to be equal to batch_size")],
)
def test_lengths_that_do_not_fit(lengths: list[int], said: str) -> None:
    agree(lambda torch: utils(torch).rnn.pack_padded_sequence(torch.zeros(3, 2, 1), lengths), said)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("spectral_norm", {}),
        ("weight_norm", {}),
        *(("orthogonal", {"orthogonal_map": name}) for name in ("matrix_exp", "cayley", "householder")),
        ("orthogonal", {"use_trivialization": False, "orthogonal_map": "householder"}),
    ],
)
def test_parametrizations(name: str, options: dict[str, Any], shape: tuple[int, int]) -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(2)
        layer = torch.nn.Linear(*shape)
        getattr(utils(torch).parametrizations, name)(layer, **options)
        x = torch.randn(2, shape[0], requires_grad=True)
        y = layer(x)
        y.pow(3).sum().backward()
        grads = [(name, p, p.grad) for name, p in layer.named_parameters()]
        shown, state = str(layer), list(layer.state_dict())
        utils(torch).parametrize.remove_parametrizations(layer, "weight")
        return y, x.grad, grads, shown, state, layer.weight, type(layer).__name__

    agree(case)


def symmetric(torch: Any) -> Any:
    class Symmetric(torch.nn.Module):  # type: ignore[misc]
        def forward(self, whole: Any) -> Any:
            return whole.triu() + whole.triu(1).mT

        def right_inverse(self, value: Any) -> Any:
            return value.triu()

    layer = torch.nn.Linear(3, 3)
    return utils(torch).parametrize.register_parametrization(layer, "weight", Symmetric())


def test_a_parametrization_of_ones_own() -> None:
    def case(torch: Any) -> Any:
        layer, parametrize = symmetric(torch), utils(torch).parametrize
        layer.weight = torch.arange(9.0).view(3, 3).triu() + torch.arange(9.0).view(3, 3).triu(1).mT
        with parametrize.cached():
            once = layer.weight is layer.weight
        twin = parametrize.transfer_parametrizations_and_params(layer, torch.nn.Linear(3, 3))
        return layer.weight, once, copy.deepcopy(layer).weight, twin.weight, type(layer).__name__

    agree(case)
    agree(lambda torch: pickle.dumps(symmetric(torch)), "only supported through state_dict")


def test_a_parametrization_that_changes_the_shape() -> None:
    def case(torch: Any) -> None:
        utils(torch).parametrize.register_parametrization(torch.nn.Linear(2, 3), "weight", torch.nn.Linear(2, 5))

    agree(case, "may not change the shape of the tensor")


def test_the_old_norms_of_weights() -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(3)
        nn_utils = utils(torch)
        conv = nn_utils.weight_norm(torch.nn.Conv2d(2, 3, 2))
        conv(torch.randn(1, 2, 3, 3)).sum().backward()
        grads, state = (conv.weight_g.grad, conv.weight_v.grad), conv.state_dict()
        newer = nn_utils.parametrizations.weight_norm(torch.nn.Conv2d(2, 3, 2))
        loaded = str(newer.load_state_dict(state))
        nn_utils.remove_weight_norm(conv)
        spectral = nn_utils.spectral_norm(torch.nn.ConvTranspose1d(2, 3, 2))
        spectral(torch.randn(1, 2, 3)).sum().backward()
        state = spectral.state_dict()
        spectral.load_state_dict(state)
        grads = *grads, spectral.weight_orig.grad
        nn_utils.remove_spectral_norm(spectral)
        return grads, list(state), dict(state._metadata), loaded, newer.weight, conv.weight, spectral.weight

    agree(case)


def test_fused_layers_and_layers_without_values() -> None:
    def case(torch: Any) -> Any:
        torch.manual_seed(4)
        nn_utils = utils(torch)
        conv, norm = torch.nn.Conv2d(2, 3, 2, bias=False).eval(), torch.nn.BatchNorm2d(3).eval()
        norm.running_mean.normal_()
        x = torch.randn(1, 2, 4, 4)
        linear, norm1 = torch.nn.Linear(2, 3).eval(), torch.nn.BatchNorm1d(3).eval()
        norm1.running_mean.normal_()
        fused = nn_utils.fuse_conv_bn_eval(conv, norm)(x), nn_utils.fuse_linear_bn_eval(linear, norm1)(x[0, 0, :, :2])
        skipped = nn_utils.skip_init(torch.nn.Linear, 2, 3)
        return fused, tuple(skipped.weight.shape), str(skipped.weight.device)

    agree(case)
    agree(lambda torch: utils(torch).skip_init(torch.nn.ReLU), "must support a 'device' arg")
