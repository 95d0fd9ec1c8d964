"""What is shown beside plain values: charts that a program lays out itself, and meshes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

from ._arrays import as_array
from ._protos import strings, summary_of, tensor_proto, with_plugin

__all__ = ["charts", "mesh"]

_CHARTS_TAG = "custom_scalars__config__"
_MARGIN_TAGS = 3  # the value, and the bounds below and above it


def charts(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> Any:
    """A summary of ``{category: {title: [kind, tags]}}``; the kind is "Multiline" or "Margin".

    Raises AssertionError for a "Margin" without its three tags.
    """
    categories = [
        layout_pb2.Category(title=name, chart=[_chart(title, *of) for title, of in charts.items()])
        for name, charts in layout.items()
    ]
    content = layout_pb2.Layout(category=categories).SerializeToString()
    return summary_of(with_plugin(_CHARTS_TAG, "custom_scalars", strings([content], ())))


def _chart(title: str, kind: str, tags: Sequence[str]) -> Any:
    if kind != "Margin":
        return layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags))
    if len(tags) != _MARGIN_TAGS:
        raise AssertionError(f"a margin chart has {_MARGIN_TAGS} tags: value, lower, upper; got {len(tags)}")
    value, lower, upper = tags
    series = layout_pb2.MarginChartContent.Series(value=value, lower=lower, upper=upper)
    return layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series]))


def mesh(tag: str, vertices: Any, faces: Any, colors: Any, config: Mapping[str, Any] | None) -> Any:
    """A summary of points (B, N, 3), the triangles between them and the points' colours, as far as there are any."""
    parts = {
        MeshPluginData.VERTEX: vertices,
        MeshPluginData.FACE: faces,
        MeshPluginData.COLOR: colors,
    }
    arrays = {kind: as_array(part) for kind, part in parts.items() if part is not None}
    for array in arrays.values():
        if array.ndim != 3:
            raise ValueError(f"a part of a mesh has the shape (B, N, 3), got {array.shape}")
    values = []
    for kind, array in arrays.items():
        content = MeshPluginData(
            name=tag,
            content_type=kind,
            json_config=json.dumps(config or {}, sort_keys=True),
            shape=array.shape,
            components=sum(1 << each for each in arrays),
        )
        name = f"{tag}_{MeshPluginData.ContentType.Name(kind)}"
        values.append(with_plugin(name, "mesh", tensor_proto(array, "float32"), content.SerializeToString()))
    return summary_of(*values)
