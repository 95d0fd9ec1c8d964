"""Names that programs of PyTorch use in its modules beside the public ones, and what they mean."""

from __future__ import annotations

import copy
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import mindtorch_v2

BOTH = pytest.mark.parametrize("t", [torch, mindtorch_v2], ids=["torch", "here"])


@BOTH
@pytest.mark.filterwarnings("ignore:TF32 acceleration")
@pytest.mark.parametrize("name", ["cudnn", "mkldnn"])
def test_flags_of_a_library_are_kept_within(t: Any, name: str) -> None:
    library = getattr(t.backends, name)
    assert library.enabled
    with library.flags(enabled=False, deterministic=True):
        assert not library.enabled
        assert library.deterministic
    assert library.enabled
    assert not library.deterministic
    assert library.set_flags(_enabled=True)[:2] == (True, False)


def test_neither_library_is_here() -> None:
    assert not mindtorch_v2.backends.cudnn.is_available()
    assert mindtorch_v2.backends.cudnn.version() is None
    assert not mindtorch_v2.backends.cudnn.is_acceptable(mindtorch_v2.ones(1))
    assert not mindtorch_v2.backends.mkldnn.is_available()


@BOTH
def test_mkldnn_is_switched_by_its_inner_name(t: Any) -> None:
    t._C._set_mkldnn_enabled(False)
    assert not t._C._get_mkldnn_enabled()
    assert not t.backends.mkldnn.enabled
    t._C._set_mkldnn_enabled(True)
    assert t.backends.mkldnn.enabled


@BOTH
@pytest.mark.parametrize("name", ["logsigmoid", "softplus", "softshrink"])
def test_an_activation_writes_to_out(t: Any, name: str) -> None:
    x, out = t.linspace(-3, 3, 12).reshape(3, 4).t(), t.empty(0)
    function = getattr(t.nn.functional, name)
    expected = function(x)
    assert function(x, out=out) is out
    assert out.tolist() == expected.tolist()
    if name != "logsigmoid":
        with pytest.raises(RuntimeError, match="unsupported operation"):
            function(t.ones(3), out=t.ones(1).expand(3))


@BOTH
@pytest.mark.parametrize(("module", "dims"), [("InstanceNorm1d", 2), ("InstanceNorm2d", 3), ("InstanceNorm3d", 4)])
def test_the_rank_of_one_sample(t: Any, module: str, dims: int) -> None:
    assert getattr(t.nn, module)(2)._get_no_batch_dim() == dims


@BOTH
@pytest.mark.parametrize("module", ["RNN", "GRU"])
def test_only_lstm_projects(t: Any, module: str) -> None:
    with pytest.raises(ValueError, match="proj_size argument is only supported for LSTM, not RNN or GRU"):
        getattr(t.nn, module)(3, 4, proj_size=2)


@BOTH
def test_an_lstm_of_before_projections_is_loaded(t: Any) -> None:
    model, x = t.nn.LSTM(2, 3), t.ones(4, 1, 2)
    state = copy.copy(model.__dict__)
    del state["proj_size"]
    loaded = t.nn.LSTM(2, 3)
    loaded.__setstate__(state)
    assert loaded(x)[0].tolist() == model(x)[0].tolist()


@BOTH
@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated")
def test_the_weights_of_a_recurrent_network_in_a_row(t: Any) -> None:
    model = t.nn.LSTM(2, 3, proj_size=1)
    assert [tuple(one.shape) for one in model._flat_weights] == [(12, 2), (12, 1), (12,), (12,), (1, 3)]
    t.nn.utils.weight_norm(model, "weight_hh_l0")
    assert sum(isinstance(one, t.nn.Parameter) for one in model._flat_weights) == 4


@BOTH
def test_a_replica_has_its_parameters_as_attributes(t: Any) -> None:
    model = t.nn.ParameterDict({"a": t.nn.Parameter(t.ones(2)), "b": t.nn.Parameter(t.zeros(3))})
    replica = model._replicate_for_data_parallel()
    assert type(replica) is type(model)
    assert replica._parameters == {}
    for name, parameter in model.named_parameters():
        setattr(replica, name, parameter.view_as(parameter))
    assert [(name, one._base is model[name]) for name, one in replica.items()] == [("a", True), ("b", True)]


@BOTH
def test_the_prefix_of_a_wrapper_is_taken_off(t: Any) -> None:
    wrapped = t.nn.DataParallel(t.nn.Sequential(t.nn.Linear(1, 2), t.nn.BatchNorm1d(2)))
    expected, state = wrapped.module.state_dict(), wrapped.state_dict()
    assert next(iter(state)).startswith("module.")
    t.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == list(expected)
    assert {**state._metadata} == {**expected._metadata}
