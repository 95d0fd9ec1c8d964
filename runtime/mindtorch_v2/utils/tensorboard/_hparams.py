"""Hyperparameters: what a run was made with, beside what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.struct_pb2 import ListValue, Value
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo

from ..._core import Tensor
from ._arrays import as_array
from ._protos import summary_of, with_plugin

__all__ = ["hyperparameters"]

_TAG = "_hparams_/"
_KINDS = (str, int, float, bool, Tensor)


def hyperparameters(
    values: Mapping[str, Any], metrics: Mapping[str, Any], domains: Mapping[str, Sequence[Any]] | None
) -> tuple[Any, Any, Any]:
    """The summaries of an experiment, of its start and of its end.

    ``values`` may be numbers, bools, strings, tensors of one element, or None, which is left out; ``domains`` are all
    the values that some of them can have. Raises TypeError or ValueError for others.
    """
    if not isinstance(values, dict) or not isinstance(metrics, dict):
        raise TypeError("hparam_dict and metric_dict should be dictionary.")
    domains = {} if domains is None else domains
    if not isinstance(domains, dict):
        raise TypeError("hparam_domain_discrete should be a dictionary.")
    for name, domain in domains.items():
        held = values.get(name)
        if held is None or not isinstance(domain, list) or not all(isinstance(each, type(held)) for each in domain):
            raise TypeError(f"hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}].")
    protos = {name: _value(value) for name, value in values.items() if value is not None}
    infos = [api_pb2.HParamInfo(name=name, **_kind(value, domains.get(name))) for name, value in protos.items()]
    names = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in metrics]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=names)
    return (
        _summary("experiment", experiment=experiment),
        _summary("session_start_info", session_start_info=SessionStartInfo(hparams=protos)),
        _summary("session_end_info", session_end_info=SessionEndInfo(status="STATUS_SUCCESS")),
    )


def _value(value: Any) -> Any:
    if not isinstance(value, _KINDS):
        raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
    if isinstance(value, str):
        return Value(string_value=value)
    return Value(number_value=as_array(value).item() if isinstance(value, Tensor) else value)


def _kind(value: Any, domain: Sequence[Any] | None) -> dict[str, Any]:
    kind = "DATA_TYPE_STRING" if value.HasField("string_value") else "DATA_TYPE_FLOAT64"
    return {"type": kind} | ({"domain_discrete": ListValue(values=map(_value, domain))} if domain else {})


def _summary(tag: str, **content: Any) -> Any:
    return summary_of(with_plugin(_TAG + tag, "hparams", content=HParamsPluginData(**content).SerializeToString()))
