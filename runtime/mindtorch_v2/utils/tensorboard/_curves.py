"""Precision over recall: how many of the labels are found, and how many of those found are right."""

from __future__ import annotations

from typing import Any

import numpy as np
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

from ._protos import summary_of, tensor_proto, with_plugin

__all__ = ["MOST_THRESHOLDS", "curve", "curve_of"]

MOST_THRESHOLDS = 127
_FEWEST = 1e-7  # so that a precision of none found is 0


def curve_of(labels: Any, predictions: Any, thresholds: int, weights: Any) -> Any:
    """The counts for each threshold from 0 to 1, as rows: true and false positives and negatives, precision, recall."""
    labels = labels.astype(bool)
    weights = np.broadcast_to(1.0 if weights is None else weights, labels.shape)
    levels = np.floor(predictions * (thresholds - 1)).astype(np.int64)

    def above(chosen: Any) -> Any:
        """What lies at or above each threshold, by weight."""
        counts, _ = np.histogram(levels, bins=thresholds, range=(0, thresholds - 1), weights=chosen * weights)
        return counts[::-1].cumsum()[::-1]

    hits, errors = above(labels), above(~labels)
    missed, refused = hits[0] - hits, errors[0] - errors
    precision = hits / np.maximum(_FEWEST, hits + errors)
    recall = hits / np.maximum(_FEWEST, hits + missed)
    return np.stack([hits, errors, refused, missed, precision, recall])


def curve(tag: str, rows: Any, thresholds: int) -> Any:
    """A summary of these six rows."""
    content = PrCurvePluginData(version=0, num_thresholds=thresholds).SerializeToString()
    return summary_of(with_plugin(tag, "pr_curves", tensor_proto(rows, "float32"), content))
